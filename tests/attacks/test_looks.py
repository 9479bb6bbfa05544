"""Raw and canonical reports, two users of one program, a classifier: each finds its planted leak, and refutes nothing true."""

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ldpaudit import audit
from ldpaudit.attacks import Reading
from ldpaudit.attacks.blackbox.canonical import BITS, canonical, rounded, unordered
from ldpaudit.attacks.blackbox.encoding import encode
from ldpaudit.attacks.blackbox.features import _NO_BIT, _lowest_bit
from ldpaudit.errors import ImplementationError, Unsupported
from ldpaudit.evidence import Form
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests.broken_callables import plain_noise
from tests.helpers import raises, slow

BOTH = (Form.RAW, Form.CANONICAL)
CERTAIN = 5.0
"""A bound that a leak of the input itself exceeds."""
BINARY = KaryRandomizedResponse.for_epsilon(1.0, k=2)


def table(x: int, size: int, rng: np.random.Generator) -> Any:
    return np.eye(3)[x] + rng.laplace(scale=2.0, size=(size, 3))


@pytest.mark.parametrize(("function", "inputs"), [(plain_noise, [0.0, 1.0]), (table, [0, 1])])
def test_the_low_bits_of_laplace_noise_betray_the_input_and_nothing_is_left_of_it_in_rounded_ones(
    function: Callable[..., Any], inputs: list[Any]
) -> None:
    raw, canonical_ = (audit(function, inputs=inputs, trials=40_000, reading=Reading(form), confidence=0.999) for form in BOTH)
    assert raw.epsilon_lower > CERTAIN
    assert "grid" in raw.event
    assert 0.4 < canonical_.epsilon_lower <= 1
    assert canonical_.event.startswith("canonical")


def test_the_lowest_bit_is_the_grid_that_a_float_lies_on() -> None:
    values = np.array([1.0, 3.0, 0.75, -6.0, 5e-324, 2.0**1000, 1 + 2.0**-52, 0.0, np.inf])
    ((_, group),) = encode(values, len(values), 0).items()
    assert _lowest_bit(0, group).tolist() == [0, 0, -2, 1, -1074, 1000, -52, _NO_BIT, _NO_BIT]


RNG = np.random.default_rng(5)
ONLY_RAW: dict[str, Callable[[int], Any]] = {
    "the order of a set": lambda x: {8, 0} if x else {0, 8},  # both fall into one place of the table
    "the order of keys": lambda x: {"a": 1, "b": 2} if x else {"b": 2, "a": 1},
    "the type": lambda x: np.int64(1) if x else 1,
    "the truth value": lambda x: True if x else 1,
    "the kind of container": lambda x: (1, 1) if x else [1, 1],
    "the sign of zero": lambda x: -0.0 if x else 0.0,
    "a float's last bit": lambda x: math.nextafter(0.5, x),
    "a small residue": lambda x: [RNG.integers(1, 5) + x * 1e-9],
}


@pytest.mark.parametrize("leak", ONLY_RAW)
def test_what_is_in_order_types_or_low_bits_alone_is_refuted_raw_and_not_canonical(leak: str) -> None:
    raw, canonical_ = (audit(ONLY_RAW[leak], inputs=[0, 1], epsilon=1.0, trials=3_000, reading=Reading(form)) for form in BOTH)
    assert raw.epsilon_lower > 1
    assert canonical_.epsilon_lower == 0


PERMUTING = np.random.default_rng(11)
IN_LISTS: dict[str, Callable[..., Any]] = {
    "one bit of two": lambda x: [x, 1 - x],
    "a ballot": lambda x: ["yes", "no"][:: 1 - 2 * x],
    "a permutation in a list": lambda x: [[int(i) for i in PERMUTING.permutation(3)], [x + 1, 2 - x]],
    "an array": lambda x: np.eye(3)[x],
    "rows of an array": lambda x: np.eye(2)[[x, 1 - x]],
    "many arrays": lambda x, size, rng: np.tile(np.eye(3)[x], (size, 1)),
    "many arrays of rows": lambda x, size, rng: np.tile(np.eye(2)[[x, 1 - x]], (size, 1, 1)),
}


@pytest.mark.parametrize("leak", IN_LISTS)
def test_the_order_of_a_list_says_something_unless_the_user_says_that_it_stands_for_a_set(leak: str) -> None:
    raw, canonical_, unordered_ = (
        audit(IN_LISTS[leak], inputs=[0, 1], epsilon=1.0, trials=3_000, reading=Reading(form)) for form in Form
    )
    assert raw.epsilon_lower > 1
    assert canonical_.epsilon_lower > 1
    assert unordered_.epsilon_lower == 0
    assert unordered_.event.startswith("unordered")


@pytest.mark.parametrize("report", [[0, 1, 1], (2, 1), "text", {"a": (1, 2)}, [[1, 2], [3]], np.eye(2)])
def test_what_is_no_order_of_a_list_survives_where_lists_are_sets(report: Any) -> None:
    others: list[Any] = [[1, 0, 0], (1, 2), "txet", {"a": (2, 1)}, [[1], [2, 3]], np.ones((2, 2))]
    assert all(repr(unordered(report)) != repr(unordered(other)) for other in others)


@pytest.mark.parametrize("report", [[0, 1, 1], [2, 1], {2: 1}, "text", b"bytes", (3, 1), None, {"a": [1, 2]}, [0.5, 0.25]])
def test_what_says_something_survives(report: Any) -> None:
    others: list[Any] = [[1, 0, 1], [1, 2], {1: 2}, "txet", b"setyb", (1, 2), 0, {"a": [1, 3]}, [0.25, 0.5]]
    assert all(repr(canonical(report)) != repr(canonical(other)) for other in others)


def test_rounded_floats_are_near_and_rounding_again_changes_nothing() -> None:
    values = np.random.default_rng(0).normal(size=10_000) * 10.0 ** np.arange(-300, 300).repeat(17)[:10_000]
    near = rounded(values)
    assert np.all(np.abs(near - values) <= np.abs(values) * 2.0**-BITS)
    assert np.array_equal(rounded(near), near)
    assert len(np.unique(rounded(1 + np.arange(2**12) * 2.0**-40))) == 1
    assert np.isnan(rounded(np.nan))


def same_seed(x: float) -> float:
    """A generator that is made anew, with one seed, in each call."""
    return x + np.random.default_rng(7).laplace()


def shared_noise() -> Callable[[float], float]:
    """Noise that is drawn for every second call."""
    rng, kept = np.random.default_rng(8), [0.0, 0.0]

    def report(x: float) -> float:
        kept[0], kept[1] = (kept[1], 0.0) if kept[1] else (value := float(rng.laplace()), value)
        return float(rounded(x + kept[0]))

    return report


def shared_coins(x: int, size: int, rng: np.random.Generator) -> Any:
    return BINARY.sample(x, size, np.random.default_rng(size))


def test_noise_that_two_users_share_is_found_by_both_together_and_not_by_one() -> None:
    alone = audit(shared_noise(), inputs=[0.0, 1.0], trials=8_000, confidence=0.999)
    both = audit(shared_noise(), inputs=[0.0, 1.0], trials=8_000, reading=Reading(users=2), confidence=0.999)
    assert alone.epsilon_lower <= 1
    assert both.epsilon_lower > CERTAIN
    assert both.pair == ((0.0, 0.0), (1.0, 0.0))


@pytest.mark.parametrize(("function", "inputs"), [(same_seed, [0.0, 1.0]), (shared_coins, [0, 1])])
def test_a_seed_that_is_fixed_inside_is_found(function: Callable[..., Any], inputs: list[Any]) -> None:
    assert audit(function, inputs=inputs, trials=5_000, reading=Reading(users=2)).epsilon_lower > CERTAIN


def _same_seed_in(write: Callable[[list[int]], Any]) -> Callable[[int], Any]:
    """Three fair bits from a generator that is new in each second, and the input's bit flipped into them."""
    clock, calls = np.random.default_rng(9), [0, 0]

    def report(x: int) -> Any:
        if calls[0] % 2 == 0:  # two calls a second
            calls[1] = int(clock.integers(1 << 30))
        calls[0] += 1
        bits = np.random.default_rng(calls[1]).integers(0, 2, 3)
        return write((bits ^ [x, 0, 0]).tolist())

    return report


@pytest.mark.few(1)
@pytest.mark.parametrize("write", [
    bytes, np.array,
    slow(lambda b: "".join(map(str, b))), slow(lambda b: [i for i in range(3) if b[i]]), slow(lambda b: {"b": b}),
])  # fmt: skip
def test_a_seed_that_two_calls_share_is_found_whatever_reports_are_made_of(write: Callable[[list[int]], Any]) -> None:
    report = _same_seed_in(write)
    assert audit(report, inputs=[0, 1], trials=4_000, confidence=0.999, epsilon=0.1).epsilon_lower == 0
    report = _same_seed_in(write)
    assert audit(report, inputs=[0, 1], trials=4_000, reading=Reading(users=2)).epsilon_lower > CERTAIN


def test_two_users_who_are_told_nothing_are_an_error() -> None:
    raises(ImplementationError, "got None", audit, lambda x: None, inputs=[0, 1], trials=1_000, reading=Reading(users=2))
    big: Callable[[int], int] = lambda x: 10**400 + x  # noqa: E731
    assert audit(big, inputs=[0, 1], trials=3_000, reading=Reading(users=2)).epsilon_lower > CERTAIN


def test_two_users_show_the_epsilon_of_one() -> None:
    found = audit(BINARY.sample, inputs=[0, 1], trials=20_000, reading=Reading(users=2), confidence=0.999)
    assert 0.8 < found.epsilon_lower <= 1


def of_signs(x: int, size: int, rng: np.random.Generator) -> Any:
    """The input is whether two of three numbers have one sign, where both are small; no number tells, nor a sum."""
    rows = rng.normal(size=(size, 3)) * (1.0, 30.0, 1.0)
    small = np.abs(rows[:, ::2]).max(axis=1) < 1
    flip = small & ((rows[:, 0] * rows[:, 2] > 0) != (x == 0))
    rows[:, 2] = np.where(flip, -rows[:, 2], rows[:, 2])
    return rows


def test_a_classifier_finds_what_no_single_number_shows() -> None:
    pytest.importorskip("sklearn")
    function: Callable[..., Any] = of_signs
    without, with_ = (
        audit(function, inputs=[0, 1], trials=15_000, reading=Reading(Form.CANONICAL, learned=learned)) for learned in (False, True)
    )
    assert without.epsilon_lower < 1 < 2.5 < with_.epsilon_lower
    assert "classifier" in with_.event


def test_a_learned_score_without_scikit_learn_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    raises(Unsupported, r"install ldpaudit\[ml\]", audit, BINARY.sample, inputs=[0, 1], trials=5_000, reading=Reading(learned=True))


def test_a_reading_is_for_callables_and_users_are_one_or_two() -> None:
    for reading in (Reading(Form.CANONICAL), Reading(users=2), Reading(learned=True)):
        raises(ValueError, "for callables", audit, BINARY, reading=reading)
    raises(ValueError, "users to be 1 or 2, got 3", Reading, users=3)
    raises(ValueError, "'round'", Reading, "round")
