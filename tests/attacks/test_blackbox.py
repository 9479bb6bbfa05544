"""Functions of which nothing is known: what leaks is found, and what does not is not refuted."""

import itertools
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.audit import CASES, blackbox_used, guess_game
from ldpaudit import audit
from ldpaudit.adapters import callables
from ldpaudit.attacks import Execution, Reading
from ldpaudit.attacks.blackbox.encoding import encode
from ldpaudit.attacks.blackbox.weights import monotone_ratio
from ldpaudit.certificates.certificate import EvidenceRecord
from ldpaudit.errors import ImplementationError
from ldpaudit.evidence import Form, Mode
from ldpaudit.mechanisms import HadamardResponse, KaryRandomizedResponse, Laplace, LaplaceHistogram, SubsetSelection
from tests.helpers import raises

SIGMA = math.e / (1 + math.e)
SURE = 0.99
"""Confidence where a bound must not exceed the truth: such a test fails by luck for one seed in a hundred."""
CERTAIN = 5.0
"""A bound that a leak of the input itself exceeds at the budgets below."""


def coin(seed: int, p: float = SIGMA) -> Callable[[int], int]:
    """Binary randomized response, as a plain function with a generator of its own."""
    rng = np.random.default_rng(seed)
    return lambda x: x if rng.random() < p else 1 - x


def bits(seed: int, k: int) -> Callable[[int], list[int]]:
    """Optimized unary encoding of epsilon 1, as a list of k bits."""
    rng = np.random.default_rng(seed)

    def report(x: int) -> list[int]:
        row: list[int] = (rng.random(k) < 1 / (1 + math.e)).astype(int).tolist()
        row[x] = int(rng.random() < 0.5)
        return row

    return report


def test_thresholds_show_epsilon_at_a_delta() -> None:
    exact = 1 + 2 * math.log1p(-0.05)
    options: dict[str, Any] = {"trials": 60_000, "confidence": SURE, "reading": Reading(Form.CANONICAL)}
    found = audit(Laplace.for_epsilon(1).sample, inputs=[0.0, 1.0], delta=0.05, **options)
    assert 0.75 * exact <= found.epsilon_lower <= exact


WRITTEN: dict[str, Callable[[list[int]], Any]] = {
    "a list": list,
    "a tuple": tuple,
    "text": lambda row: "".join(map(str, row)),
    "bytes": bytes,
    "an integer": lambda row: int("".join(map(str, row)), 2),
    "the places of the ones": lambda row: [i for i, bit in enumerate(row) if bit],
    "an array": np.array,
    "a dict": lambda row: {"version": 1, "bits": row},
}
def shown(name: str, function: Any, inputs: list[Any], form: Form, trials: int, share: float, nightly: bool = False) -> Any:
    return pytest.param(function, inputs, form, trials, share, id=f"{name}, {trials} views", marks=[pytest.mark.slow] * nightly)


def written(way: str, k: int, seed: int) -> Callable[[int], Any]:
    row = bits(seed, k)
    return lambda x: WRITTEN[way](row(x))


LAPLACE = np.random.default_rng(2).laplace
SAMPLERS = [
    KaryRandomizedResponse.for_epsilon(1.0, k=30), SubsetSelection.optimal(1.0, k=10),
    HadamardResponse.for_epsilon(1.0, k=10), LaplaceHistogram.for_epsilon(1.0, k=4),
]
SHOWN = [
    *(shown("a coin", coin(1), [0, 1], Form.RAW, *size) for size in ((100_000, 0.9), (1_000_000, 0.95, True))),
    *(shown("Laplace noise, rounded", lambda x: x + LAPLACE(), [0.0, 1.0], Form.CANONICAL, *size)
      for size in ((40_000, 0.75), (200_000, 0.85, True))),
    *(shown(str(m), m.sample, list(m.inputs)[:6], Form.CANONICAL, *size)
      for m in SAMPLERS for size in ((100_000, 0.8), (600_000, 0.9, True))),
    *(shown(f"bits as {way}", written(way, 16, 3), [0, 5, 15], Form.RAW, 25_000, 0.85, way not in ("a list", "bytes", "an integer"))
      for way in WRITTEN),
    shown("bits as an integer of more than a word", written("an integer", 130, 4), [0, 129], Form.RAW, 20_000, 0.8, True),
    # By places alone these show 0.3.
    shown("a set of 16 in a list", written("the places of the ones", 16, 5), [8, 9], Form.RAW, 6_000, 0.55),
    shown("a set of 40 in a list", written("the places of the ones", 40, 5), [20, 21], Form.RAW, 20_000, 0.7, True),
]  # fmt: skip


@pytest.mark.few(5)
@pytest.mark.parametrize(("function", "inputs", "form", "trials", "share"), SHOWN)
def test_a_function_of_which_nothing_is_known_shows_its_epsilon(
    function: Callable[..., Any], inputs: list[Any], form: Form, trials: int, share: float
) -> None:
    evidence = audit(function, inputs=inputs, trials=trials, seed=1, confidence=SURE, reading=Reading(form))
    assert share <= evidence.epsilon_lower <= 1


RNG, FAIR = np.random.default_rng(5), coin(6, 0.5)
LEAKS: dict[str, Callable[..., Any]] = {
    "length": lambda x: [FAIR(0)] * (2 + x),
    "length of text": lambda x: "7" * (2 + x),
    "a key": lambda x: {"ab"[x]: FAIR(0)},
    "an absent part": lambda x: (FAIR(0), None if x else 0),
    "type inside an array": lambda x: np.array([FAIR(0)], dtype=(np.int32, np.int64)[x]),
    "the type of an array of reports": lambda x, size, rng: np.zeros(size, dtype=(np.int32, np.int64)[x]),
    "a number that is none": lambda x: (math.nan, FAIR(0)) if x else (0.5, FAIR(0)),
    "what is beside numbers that are none": lambda x: math.nan if RNG.random() < 0.3 else 20 * x + RNG.normal(),
    "one view in fifty": lambda x: FAIR(0) if x == 0 or RNG.random() < 0.98 else float(FAIR(0)),
    "a noise that all share": lambda x: (np.eye(3)[x] + RNG.uniform(0, 100)).tolist(),
    "the sum": lambda x: (v := RNG.normal(), x + 1e-3 * RNG.normal() - v),
}


@pytest.mark.few(6)
@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_found_and_shown_by_a_report(leak: str) -> None:
    evidence = audit(LEAKS[leak], inputs=[0, 1], trials=200_000 if leak == "one view in fifty" else 30_000)
    assert evidence.epsilon_lower > CERTAIN, evidence
    assert "the event fired on " in (evidence.clue or "")


def test_a_rare_extreme_is_found() -> None:
    def function(x: int, size: int, rng: np.random.Generator) -> Any:
        return rng.normal(size=size) + 8 * x * (rng.random(size) < 0.02)

    assert audit(function, inputs=[0, 1], trials=300_000).epsilon_lower > 4  # in bins it shows 0.6


def test_a_little_in_each_of_many_numbers_adds_up() -> None:
    def function(x: int, size: int, rng: np.random.Generator) -> Any:
        rows = rng.random((size, 200)) < 0.5
        rows[:, :40] = rng.random((size, 40)) < 0.45 + 0.1 * x
        return rows

    assert audit(function, inputs=[0, 1], trials=8_000).epsilon_lower > 1.5  # a single number shows 0.2


@pytest.mark.slow
def test_the_one_pair_of_inputs_that_leaks_is_found() -> None:
    rng = np.random.default_rng(7)

    def one(x: int) -> Any:
        return (17 if x == 17 else 40) if rng.random() < 0.3 else int(rng.integers(0, 40))

    evidence = audit(one, inputs=list(range(40)), trials=200_000)
    assert 17 in evidence.pair
    assert evidence.epsilon_lower > 3


@pytest.mark.parametrize("inputs", [[0, 1], list(range(10))])
def test_a_gross_leak_is_refuted_long_before_the_budget_is_learned_from(inputs: list[int]) -> None:
    leak = KaryRandomizedResponse.for_epsilon(2, k=len(inputs))
    evidence = audit(leak.sample, inputs=inputs, epsilon=1, trials=1_000_000)
    assert evidence.epsilon_lower > 1
    assert evidence.trials < 5_000


def test_where_nothing_is_to_be_refuted_the_whole_share_is_learned_from() -> None:
    m = KaryRandomizedResponse.for_epsilon(2, k=2)
    for options in ({}, {"epsilon": 1.0, "mode": Mode.FIXED}, {"epsilon": 2.0}):
        evidence = audit(m.sample, inputs=[0, 1], trials=20_000, **options)
        assert evidence.trials == 20_000
        assert 0.69 * 20_000 < evidence.measured < 0.86 * 20_000


def _raises(x: int) -> int:
    raise RuntimeError("no")


def _hangs(x: int) -> int:
    time.sleep(1)
    return 1


@pytest.mark.parametrize(("function", "message"), [
    (_raises, "raised RuntimeError: no"),
    (lambda x: None, "got None"),
    (_hangs, "hangs"),
    (lambda x: object(), "containers of these, got object"),
    (lambda x, size, rng: 3, "needs 1 reports, got int"),
    (lambda x, size, rng: [1] * (size + 1), "needs 1 reports, got 2"),
    (lambda x, size, rng: np.array(1.0), "needs 1 reports"),
])  # fmt: skip
def test_what_is_no_function_of_reports_is_said_to_be_none(
    function: Callable[..., Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callables.probe, "__defaults__", (0.2,))
    raises(ImplementationError, message, audit, function, inputs=[0, 1], epsilon=1.0, trials=1_000)


def test_fewer_inputs_than_two_or_too_few_trials_are_refused() -> None:
    for inputs in (None, [], [0]):
        raises(ValueError, "at least two inputs", audit, coin(1), inputs=inputs, epsilon=1.0)
    raises(ValueError, "trials >= 214, got 213", audit, coin(1), inputs=[0, 1], epsilon=1.0, trials=213)
    assert audit(coin(1), inputs=[0, 1], epsilon=1.0, trials=214).trials <= 214


def test_a_monotone_ratio_pools_what_luck_has_put_out_of_order() -> None:
    first = np.array([100.0, 120, 90, 310, 300, 305, 0])
    second = np.array([300.0, 310, 305, 100, 110, 95, 0])
    weights = monotone_ratio(first, second)
    assert len(set(weights.tolist())) == 3
    assert np.all(np.diff(weights) >= 0)
    assert weights[0] == weights[2] < -0.8 < 0.8 < weights[3] == weights[4]
    assert np.array_equal(monotone_ratio(second, first), -weights)
    assert np.array_equal(monotone_ratio(first[::-1], second[::-1]), weights[::-1])


@pytest.mark.slow
def test_a_black_box_comes_close_to_the_fewest_views() -> None:
    for case in (CASES[0], CASES[3], CASES[9]):
        assert blackbox_used(case, 1.0, guess_game(case.fires(case.make(1.0)), 1.0), seeds=2) <= 2


def test_reports_that_an_adversary_tells_apart_are_encoded_apart() -> None:
    reports = [1, True, 1.0, "1", b"1", [1], [True], [1.0], (1,), {1}, {1: 1}, np.int64(1), np.float32(1), np.array([1]),
               None, [None], [[1]], [1, 1], "11", 1 << 62, -(1 << 62), (1 << 62) + 1, 1 << 200, [(1, 1), 1], [1, (1, 1)],
               [], (), ""]
    seen = set()
    for report in reports:
        ((skeleton, group),) = encode([report], 1, 0).items()
        seen.add((skeleton, *(leaf.item() for leaf in group.leaves)))
    assert len(seen) == len(reports)


@pytest.mark.parametrize("mode", [Mode.FIXED, pytest.param(Mode.SEQUENTIAL, marks=pytest.mark.slow)])
def test_what_a_report_shows_of_those_before_it_is_no_leak(mode: Mode) -> None:
    calls = itertools.count()
    rng = np.random.default_rng(6)

    def numbered(x: int) -> tuple[int, int]:
        return next(calls) // 2_048 % 2, x if rng.random() < SIGMA else 1 - x

    evidence = audit(numbered, inputs=[0, 1], epsilon=1.0, trials=40_000, confidence=SURE, mode=mode)
    assert 0.7 < evidence.epsilon_lower < 1


@pytest.mark.parametrize("k", [2, 3])
def test_nor_is_it_one_of_a_declared_mechanisms_code(k: int) -> None:
    # Of 4,096 views each part was on one input, in this order.
    m, calls = KaryRandomizedResponse.for_epsilon(1, k), itertools.count()
    evidence = audit(m, implementation=lambda x: next(calls) * k // 4_096 % k, epsilon=1.0, trials=80_000, mode=Mode.FIXED)
    assert evidence.epsilon_lower < 0.1


def test_reports_that_tell_of_the_others_of_their_call_are_no_reports() -> None:
    def typed(x: int, size: int, rng: np.random.Generator) -> Any:
        return np.array([0.5 if u < 3e-4 * math.e**x else 0 for u in rng.random(size)])

    def padded(x: int, size: int, rng: np.random.Generator) -> Any:
        lengths = 1 + (rng.random(size) < 3e-4 * math.e**x)
        return np.arange(lengths.max()) * (np.arange(lengths.max()) < lengths[:, None])

    functions: tuple[Callable[..., Any], ...] = (typed, padded)
    for function in functions:
        with pytest.raises(ImplementationError, match="arrays of one type and shape"):
            audit(function, inputs=[0, 1], epsilon=1.0, trials=20_000, mode=Mode.FIXED)


@pytest.mark.parametrize("inputs", [np.array([0, 1]), np.eye(2, dtype=int)])
def test_inputs_may_be_the_rows_of_an_array(inputs: Any, tmp_path: Path) -> None:
    def function(x: Any, size: int, rng: np.random.Generator) -> Any:
        return np.full(size, np.ravel(x)[-1])

    options: dict[str, Any] = {"inputs": inputs, "epsilon": 1.0, "trials": 2_000}
    options["execution"] = Execution(checkpoint=tmp_path / "audit.json")
    found = [EvidenceRecord.of(audit(function, **options)) for _ in range(2)]
    assert found[0].epsilon_lower > 1
    assert found[0].model_dump_json() == found[1].model_dump_json()
