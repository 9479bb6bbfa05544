"""What a black-box audit sees of a report: every bit of every number, every place of a long one, and lengths of any kind."""

import math
import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from ldpaudit import audit
from ldpaudit.adapters.callables import ROW, in_a_row, in_order
from ldpaudit.attacks import Reading
from ldpaudit.attacks.blackbox import folding, target
from ldpaudit.attacks.blackbox.bits import PARITY, Bit, leading_bits, leading_places
from ldpaudit.attacks.blackbox.encoding import between, encode, join
from ldpaudit.attacks.blackbox.features import added, counted, features
from ldpaudit.attacks.blackbox.folding import Kept, fold, in_short
from ldpaudit.evidence import Form
from tests.helpers import slow, some

ALL = 1 << 64
X87 = np.finfo(np.longdouble).nmant == 63

Many = Callable[[int, int, np.random.Generator], Any]


def with_bit(words: Any, bit: int, value: int) -> Any:
    """Words with one bit set to a value."""
    return (words & np.uint64(ALL - 1 - (1 << bit))) | np.uint64(value << bit)


def parity(words: Any) -> Any:
    for half in (32, 16, 8, 4, 2, 1):
        words = words ^ (words >> np.uint64(half))
    return words & np.uint64(1)


def in_bit(bit: int) -> Many:
    """Normal noise, a bit of which is the input."""
    return lambda x, size, rng: with_bit(rng.normal(size=size).view(np.uint64), bit, x).view(np.float64)


def in_single(x: int, size: int, rng: np.random.Generator) -> Any:
    """The same in single precision."""
    words = rng.normal(size=size).astype(np.float32).view(np.uint32)
    return ((words & np.uint32(0xFFFFFFFE)) | np.uint32(x)).view(np.float32)


def sometimes(kind: tuple[float, float], width: int, place: int, x: int, size: int, rng: np.random.Generator) -> Any:
    """Normal noise, in which one number of twenty at a place is one of two special ones, by the input."""
    rows = rng.normal(size=(size, width))
    rows[:, place] = np.where(rng.random(size) < 0.05, kind[x], rows[:, place])
    return rows


def anywhere(x: int, size: int, rng: np.random.Generator) -> Any:
    """Forty noises, one of which is a zero in one report of ten; the input is its sign."""
    rows, place = rng.normal(size=(size, 40)), rng.integers(0, 40, size)
    rows[np.arange(size), place] = np.where(rng.random(size) < 0.1, (0.0, -0.0)[x], 1.0)
    return rows


def in_a_long_double(x: int, size: int, rng: np.random.Generator) -> Any:
    """Normal noise; the input is the lowest bit of a long double, below those of a double."""
    words = rng.normal(size=size).astype(np.longdouble).view(np.uint64).reshape(size, 2).copy()
    words[:, 0] = with_bit(words[:, 0] ^ rng.integers(0, 1 << 11, size, dtype=np.uint64), 0, x)
    return words.view(np.longdouble)[:, 0]


def in_parity(x: int, size: int, rng: np.random.Generator) -> Any:
    """Fair bits, 64 of them; the input is their exclusive or."""
    words = rng.integers(0, ALL - 1, size, dtype=np.uint64, endpoint=True)
    return words ^ parity(words) ^ np.uint64(x)


def in_wide_parity(x: int, size: int, rng: np.random.Generator) -> Any:
    """The same of 128 bits, as an integer of Python's."""
    made = [int.from_bytes(rng.bytes(16)) for _ in range(size)]
    return [value ^ (value.bit_count() & 1) ^ x for value in made]


def in_shares(x: int, size: int, rng: np.random.Generator) -> Any:
    """Two words, each of fair bits; the input is a bit of their exclusive or."""
    first, rest = rng.integers(0, ALL - 1, (2, size), dtype=np.uint64, endpoint=True)
    return np.stack([first, first ^ with_bit(rest, 40, x)], axis=1)


def payload(value: int) -> float:
    return float(np.array([0x7FF8000000000000 + value], dtype=np.uint64).view(np.float64)[0])


IN_BITS: dict[str, Many] = {
    **{f"bit {bit} of a double": in_bit(bit) for bit in (0, 17, 31, 51)},
    "the lowest bit of a single": in_single,
    "a sign of zero beside other floats": partial(sometimes, (0.0, -0.0), 1, 0),
    "a sign of zero in the middle": partial(sometimes, (0.0, -0.0), 3, 1),
    "a sign of zero anywhere": anywhere,
    "a sign of zero that is always there":
        lambda x, size, rng: np.stack([rng.normal(size=size), np.full(size, (0.0, -0.0)[x])], axis=1),
    "what a not-a-number carries": partial(sometimes, (payload(0), payload(1)), 2, 0),
    "a not-a-number's sign": partial(sometimes, (math.nan, -math.nan), 2, 1),
    "the exclusive or of a word's bits": in_parity,
    "the exclusive or of 128 bits": in_wide_parity,
    "the exclusive or of two words": in_shares,
}
if X87:
    IN_BITS["the lowest bit of a long double"] = in_a_long_double


@pytest.mark.few(7)
@pytest.mark.parametrize("leak", [pytest.param(leak, marks=[pytest.mark.slow] * ("anywhere" in leak)) for leak in IN_BITS])
def test_a_leak_in_the_bits_of_a_number_is_found(leak: str) -> None:
    assert audit(IN_BITS[leak], inputs=[0, 1], trials=20_000, epsilon=4.0).epsilon_lower > 4


@pytest.mark.parametrize("leak", ["bit 0 of a double", "bit 17 of a double", "a sign of zero in the middle"])
def test_what_rounding_drops_is_not_refuted_of_rounded_floats(leak: str) -> None:
    function: Callable[..., Any] = IN_BITS[leak]
    assert audit(function, inputs=[0, 1], trials=20_000, reading=Reading(Form.CANONICAL), confidence=0.999).epsilon_lower == 0


def test_the_rest_of_a_long_doubles_bytes_says_nothing() -> None:
    values = np.array([1.5, 1.5], dtype=np.longdouble)
    if values.dtype.itemsize < 16:
        pytest.skip("a long double is a double here")
    values.view(np.uint8)[15] = 0xAB if X87 else 0
    ((_, group),) = encode(values, 2, 0).items()
    assert len(set(group.whole().tolist())) == 1
    assert np.array_equal(group.words(0)[0], group.words(0)[1])


def test_numbers_that_are_equal_and_not_the_same_or_in_another_order_have_other_words_and_other_fingerprints() -> None:
    values = np.array([0.0, -0.0, math.nan, -math.nan, payload(1), 1.0, math.nextafter(1.0, 2)])
    ((_, group),) = encode(values, len(values), 0).items()
    assert len(set(group.words(0)[:, 0].tolist())) == len(set(group.whole().tolist())) == len(values)
    assert group.leaves[0][0] == group.leaves[0][1]
    assert group.leaves[0][2] == group.leaves[0][4] == np.finfo(np.float64).max
    ((_, ordered),) = encode(np.array([[1, 2], [2, 1]]), 2, 0).items()
    assert len(set(ordered.whole().tolist())) == 2


def test_the_leading_bits_are_those_that_differ_and_noise_has_hardly_any() -> None:
    rng = np.random.default_rng(1)
    first, second = (encode(rng.normal(size=(500, 20)), 500, x) for x in (0, 1))
    groups = [*first.values(), *second.values()]
    assert len(leading_bits(groups, np.ones(20, dtype=np.bool_))) <= 2
    table = groups[1].blocks[0]
    table[:, 7] = with_bit(table[:, 7].copy().view(np.uint64), 30, 1).view(np.float64)
    assert Bit(7, 0, 30) in leading_bits(groups, np.ones(20, dtype=np.bool_))
    assert Bit(7, 0, 30) not in leading_bits(groups, np.arange(20) != 7)


def test_the_parity_of_a_number_is_one_of_its_bits() -> None:
    values = np.array([0, 1, 3, 7, -1, 1 << 40])
    ((_, group),) = encode(values, len(values), 0).items()
    assert Bit(0, 0, PARITY)(group).tolist() == [0, 1, 0, 1, 0, 1]
    assert Bit(None, 0, 1)(group).tolist() == [0, 0, 1, 1, 1, 0]


def test_a_place_is_found_by_values_of_which_no_single_bit_and_no_parity_tells() -> None:
    rng = np.random.default_rng(2)
    tables = [np.array([0, 1, 6, 7])[rng.integers(0, 4, (400, 3_000))] for _ in range(2)]
    tables[1][:, 2_500] = np.array([2, 3, 4, 5])[rng.integers(0, 4, 400)]
    groups = [group for table in tables for group in encode(table, 400, 0).values()]
    assert 2_500 in leading_places(groups)


def at(place: int, width: int, write: Callable[[Any], Any]) -> Callable[[int], Any]:
    """Fair bits, one of which is the input, with a generator of its own."""
    rng = np.random.default_rng(3)

    def report(x: int) -> Any:
        row = rng.random(width) < 0.5
        row[place] = x
        return write(row)

    return report


def many_at(x: int, size: int, rng: np.random.Generator) -> Any:
    """Numbers below 8, none of whose bits tells what number 2,500 is."""
    rows = np.array([0, 1, 6, 7], dtype=np.int8)[rng.integers(0, 4, (size, 3_000))]
    rows[:, 2_500] = np.array([[0, 1, 6, 7], [2, 3, 4, 5]])[x][rng.integers(0, 4, size)]
    return rows


LONG: dict[str, tuple[Callable[..., Any], int]] = {
    "a bit at place 3,000 of a list": (at(3_000, 4_000, lambda row: row.astype(int).tolist()), 600),
    "a byte at place 1,200": (at(1_200, 1_500, lambda row: row.astype(np.uint8).tobytes()), 600),
    "a bit at place 50,000 of an array": (at(50_000, 51_000, lambda row: row), 400),
    "a number at place 2,500": (many_at, 3_000),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("leak", [slow(leak) if "a bit at" in leak else leak for leak in LONG])
def test_a_leak_beyond_the_first_thousand_numbers_is_found(leak: str) -> None:
    function, trials = LONG[leak]
    assert audit(function, inputs=[0, 1], trials=trials, epsilon=3.0).epsilon_lower > 3


@pytest.mark.parametrize(("trials", "share"), [(3_000, 0.55), slow(10_000, 0.75)])
def test_a_randomized_bit_far_inside_a_report_shows_its_epsilon(trials: int, share: float) -> None:
    def function(x: int, size: int, rng: np.random.Generator) -> Any:
        rows = rng.random((size, 2_000)) < 0.5
        rows[:, 1_500] = (rng.random(size) < math.e / (1 + math.e)) == x
        return rows

    assert share < audit(function, inputs=[0, 1], trials=trials, confidence=0.99).epsilon_lower <= 1


def of_length(low: int, high: int, write: Callable[[Any], Any]) -> Callable[[int], Any]:
    """Fair bits, so many that the input is whether they are more than so many."""
    rng = np.random.default_rng(4)
    return lambda x: write((rng.random(int(rng.integers(low, high)) + (high - low) * x) < 0.5).astype(np.uint8))


OF_LENGTHS: dict[str, Callable[[int], Any]] = {
    "lists of 500 to 1,500 numbers": of_length(500, 1_000, lambda row: row.tolist()),
    "texts": of_length(200, 500, lambda row: "".join(map(str, row.tolist()))),
    "bytes": of_length(500, 1_000, bytes),
    "arrays in a dict": of_length(300, 600, lambda row: {"bits": row}),
    "lists of about a hundred numbers": of_length(70, 120, lambda row: row.tolist()),
}


FEW_LENGTHS = ("bytes", "lists of about a hundred numbers")


@pytest.mark.few(1)
@pytest.mark.parametrize("leak", [leak if leak in FEW_LENGTHS else slow(leak) for leak in OF_LENGTHS])
def test_a_leak_in_lengths_that_hardly_ever_come_twice_is_found(leak: str) -> None:
    evidence = audit(OF_LENGTHS[leak], inputs=[0, 1], trials=2_000, epsilon=2.0)
    assert evidence.epsilon_lower > 2
    assert "in short" in evidence.event


def test_reports_that_are_too_long_to_keep_are_looked_at_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "MOST_NUMBERS", 40_000)  # 1,250 a report

    def function(x: int, size: int, rng: np.random.Generator) -> Any:
        rows = (rng.random((size, 2_000)) < 0.5).astype(np.int8)
        rows[:, -3] = x
        return rows

    evidence = audit(function, inputs=[0, 1], epsilon=2.0, trials=2_000)
    assert evidence.epsilon_lower > 2
    assert "in short" in evidence.event


def test_a_folded_report_has_its_length_its_ends_and_something_of_every_number() -> None:
    reports = [list(range(size)) for size in (300, 900, 300, 10)]
    reports[2][150] = 7
    folded = fold(encode(reports, 4, 0), Kept(frozenset(), 10_000))
    ((skeleton, group),) = ((s, g) for s, g in folded.items() if in_short(s))
    assert skeleton == ("list", "int", folding.FOLDED)
    assert group.rows.tolist() == [0, 1, 2]
    assert group.leaves[0].tolist() == [300, 900, 300]
    told, ends = group.blocks[0], group.blocks[1][:, : 2 * folding.ENDS]
    assert ends[1].tolist() == [*range(16), *range(884, 900)]
    sums = group.blocks[1][:, 2 * folding.ENDS :]
    assert sums.tolist() == [[sum(report[g :: folding.GROUPS]) for g in range(folding.GROUPS)] for report in reports[:3]]
    assert told[:, 3:].sum(axis=1).tolist() == [300, 900, 300]
    assert np.array_equal(ends[0], ends[2])
    assert np.count_nonzero(told[0] != told[2]) >= 2
    assert len(folded) == 2  # the short one is kept


def test_a_long_report_in_a_known_form_is_kept_unless_it_is_too_long() -> None:
    encoded = encode(np.zeros((3, 500)), 3, 0)
    assert fold(encoded, Kept(frozenset(encoded), 500)) == encoded
    for kept in (Kept(frozenset(encoded), 499), Kept(frozenset(), 500)):
        assert all(map(in_short, fold(encoded, kept)))


@pytest.mark.parametrize("size", range(7))
def test_reports_split_and_joined_are_the_same_reports(size: int) -> None:
    encoded = encode([[1.5, 2.5], (1, 2), [3.5, 4.5], "ab", [5.5, 6.5], (3, 4)], 6, 0)
    first, second = between(encoded, 0, size), between(encoded, size, 6)
    assert sum(len(group.rows) for group in first.values()) == size
    joined = join([(first, size), (second, 6 - size)])
    assert joined.keys() == encoded.keys()
    for skeleton, group in encoded.items():
        assert joined[skeleton].rows.tolist() == group.rows.tolist()
        assert np.array_equal(joined[skeleton].whole(), group.whole())


def test_numbers_that_are_looked_at_together_are_counted_and_added_up_as_each_by_itself() -> None:
    rng = np.random.default_rng(0)

    def reports() -> list[Any]:
        return [(rng.integers(0, 7, 9).tolist(), rng.integers(0, 3, 9).astype(float).tolist(), 3) for _ in range(300)]

    first, second = (next(iter(encode(reports(), 300, x).values())) for x in (0, 1))
    made = list(features([first, second]))
    made = [made[i] for i in rng.permutation(len(made))]
    for alone, together in zip(made, counted(made, [second, None, first]), strict=True):
        assert np.array_equal(alone.count([second, None, first]), together.counts)
    terms = [(each, np.asarray(rng.normal(0.0, 1.0, each.counts.shape[1]))) for each in made]
    expected = np.sum([weights[each.places(first)] for each, weights in terms], axis=0)
    assert np.allclose(added(terms, first), expected, rtol=1e-12, atol=1e-12)


class Listed(list[Any]):
    """A list of somebody's."""


BARE: dict[type, list[Any]] = {
    int: [0, 1, -1, 255, 256, 2**31 - 1, -(2**31), *range(ROW)],
    bool: [True, False, *[True] * ROW],
    float: [0.0, -0.0, math.inf, math.nan, 1e-310, 0.1, *[1.0] * ROW],
}
WIDE = [2**31, -(2**31) - 1]
ODD: list[Any] = [1, True, 1.0, signal.SIGINT, np.int64(1), np.float64(1), np.bool_(True), None, "i", b"", b"iiii", [1], *WIDE]


@pytest.mark.parametrize("container", [list, tuple])
@pytest.mark.parametrize("kind", BARE)
def test_a_row_of_numbers_is_of_one_type_exactly_and_holds_each_bit(kind: type, container: type) -> None:
    row = container(BARE[kind])
    found = some(in_a_row(row))
    assert (found.dtype, found.tobytes()) == (np.array(row).dtype, np.array(row).tobytes())
    (known,), made = in_order(lambda x: row, [0], [0] * 3), [encode([row] * 3, 3, 0)]
    for encoded in (*made, encode(known, 3, 0)):
        assert [(skeleton, group.leaves[1].tolist()) for skeleton, group in encoded.items()] == [
            (((container.__name__, len(row), kind.__name__),), [row[1]] * 3)
        ]
    assert known[0] is not row or container is tuple
    odd = [each for each in ODD if type(each) is not kind or each in WIDE]
    for place in (0, 1, ROW):
        assert all(in_a_row(container([*row[:place], each, *row[place + 1 :]])) is None for each in odd)
    assert in_a_row(row[: ROW - 1]) is None is in_a_row(Listed(row))
