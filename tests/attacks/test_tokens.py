"""What a report holds wherever it stands: tokens, keys, equal entries, sums modulo small numbers, pairs; and less usual types."""

import array
import dataclasses
import datetime
import enum
import itertools
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import pytest

from ldpaudit import audit
from ldpaudit.adapters.callables import LARGEST, as_it_is_now
from ldpaudit.attacks import Reading
from ldpaudit.attacks.blackbox import tokens
from ldpaudit.attacks.blackbox.canonical import canonical
from ldpaudit.attacks.blackbox.counts import FeatureCounts
from ldpaudit.attacks.blackbox.encoding import encode
from ldpaudit.attacks.blackbox.folding import Items, beyond, in_short
from ldpaudit.attacks.blackbox.scores import ratios
from ldpaudit.errors import ImplementationError
from ldpaudit.evidence import Form

Many = Callable[[int, int, np.random.Generator], Any]
TRUTH = math.e / (1 + math.e)
WORDS = [f"{first}{middle}{last}" for first in "bcdfg" for middle in "aeiou" for last in ("lot", "nim", "rask", "ster")]


def told(x: int, size: int, rng: np.random.Generator, truth: float) -> Any:
    return np.where(rng.random(size) < truth, x, 1 - x)


def letters(rng: np.random.Generator, low: int, high: int) -> str:
    return "".join(map(chr, rng.integers(97, 123, int(rng.integers(low, high + 1))).tolist()))


def with_word(low: int, high: int, x: int, size: int, rng: np.random.Generator) -> Any:
    """Random letters; in a third of the texts three of them somewhere are a word that names the input."""
    texts = [letters(rng, low, high) for _ in range(size)]
    places = [int(rng.integers(len(text) - 2)) if rng.random() < 1 / 3 else None for text in texts]
    word = ("yes", "nop")[x]
    return [text if p is None else text[:p] + word + text[p + 3 :] for text, p in zip(texts, places, strict=True)]


def among_many(x: int, size: int, rng: np.random.Generator) -> Any:
    """Twenty of 5,000 numbers; one of them names the input in a third of the reports."""
    rows = rng.integers(0, 5_000, (size, 20))
    rows[np.arange(size), rng.integers(0, 20, size)] = np.where(rng.random(size) < 1 / 3, 17 + x, 0)
    return rows.tolist()


def subsets(x: int, size: int, rng: np.random.Generator) -> Any:
    """A hundred of 600 values in order; the input's own with probability .9."""
    own = np.where(rng.random((size, 1)) < 0.9, -1.0, 2.0)
    order = np.argsort(np.where(np.arange(600) == 7 + 300 * x, own, rng.random((size, 600))))
    return np.sort(order[:, :100], axis=1)


def equal_numbers(x: int, size: int, rng: np.random.Generator) -> Any:
    rows, place = rng.normal(size=(size, 6)), rng.integers(0, 6, size)
    same = (rng.random(size) < 0.5 * x)[:, None] & (np.arange(6) == (place[:, None] + rng.integers(1, 6, (size, 1))) % 6)
    return np.where(same, rows[np.arange(size), place][:, None], rows)


def shares(x: int, size: int, rng: np.random.Generator) -> Any:
    """Three numbers whose sum modulo 1,000 is 0 or 500, and often enough not."""
    rows = rng.integers(0, 1_000, (size, 3))
    rows[:, 2] = (500 * told(x, size, rng, 0.9) - rows[:, 0] - rows[:, 1]) % 1_000
    return rows


def two_places(kinds: int, width: int, truth: float, x: int, size: int, rng: np.random.Generator) -> Any:
    """Fair numbers; the sum of two of them, modulo how many there are, tells."""
    rows = rng.integers(0, kinds, (size, width))
    rows[:, width - 3] = (told(x, size, rng, truth) - rows[:, 4]) % kinds
    return rows


def records(truth: float, x: int, size: int, rng: np.random.Generator) -> Any:
    """Objects with texts and lists of any length, and one value that tells."""
    seen = [rng.integers(0, 99, int(rng.integers(20))).tolist() for _ in range(size)]
    made = zip(seen, told(x, size, rng, truth).tolist(), strict=True)
    return [{"name": letters(rng, 1, 20), "seen": row, "v": value, "of": letters(rng, 1, 15)} for row, value in made]


def lists_of_words(x: int, size: int, rng: np.random.Generator) -> Any:
    """Ten to thirty words, the first of which is in a third of the reports one of two that name the input."""
    made = [[WORDS[i] for i in rng.integers(2, len(WORDS), int(rng.integers(10, 30)))] for _ in range(size)]
    return [[WORDS[x], *words] if rng.random() < 1 / 3 else words for words in made]


def pixels(x: int, size: int, rng: np.random.Generator) -> Any:
    """Whether the low bits of two pixels of 64 are equal tells."""
    rows = rng.integers(0, 256, (size, 8, 8), dtype=np.uint8)
    rows[:, 1, 1] = rows[:, 1, 1] & 254 | (rows[:, 6, 2] & 1 ^ told(x, size, rng, 0.85))
    return rows


def half(x: int, size: int, rng: np.random.Generator) -> Any:
    """The half of the report in which its only 0 stands tells."""
    rows = rng.integers(1, 256, (size, 64), dtype=np.uint8)
    rows[np.arange(size), 32 * told(x, size, rng, 0.85) + rng.integers(0, 32, size)] = 0
    return rows


def in_order(x: int, size: int, rng: np.random.Generator) -> Any:
    """Which of 2 and 7 comes first in a permutation tells."""
    rows, names = rng.permuted(np.tile(np.arange(12), (size, 1)), axis=1), told(x, size, rng, 0.85)
    places = np.sort(np.nonzero((rows == 2) | (rows == 7))[1].reshape(size, 2), axis=1)
    np.put_along_axis(rows, places, np.array([[2, 7], [7, 2]])[names], axis=1)
    return rows.tolist()


LEAKS: dict[str, Many] = {
    "two equal low bits among 64 numbers": pixels,
    "the half of the only 0": half,
    "a word somewhere in a text": partial(with_word, 40, 40),
    "a word somewhere in texts of any length": partial(with_word, 30, 200),
    "one of 5,000 numbers": among_many,
    "one of 600 values of a subset": subsets,
    "two equal numbers": equal_numbers,
    "a sum modulo 1,000": shares,
    "the exclusive or of two of 40 bits": partial(two_places, 2, 40, 0.85),
    "the sum of two of 30 numbers modulo 5": partial(two_places, 5, 30, 0.85),
    "a value in objects of any form": partial(records, 0.9),
    "a word in lists of words": lists_of_words,
}


@pytest.mark.few(6)
@pytest.mark.parametrize("leak", [pytest.param(leak, marks=[pytest.mark.slow] * ("any length" in leak)) for leak in LEAKS])
def test_a_leak_that_has_no_place_of_its_own_is_refuted_in_few_views(leak: str) -> None:
    assert audit(LEAKS[leak], inputs=[0, 1], epsilon=1.0, trials=6_000).refutes(1)


@pytest.mark.parametrize("leak", ["a word in lists of words", "a value in objects of any form", "one of 5,000 numbers"])
def test_what_a_score_says_of_a_report_does_not_depend_on_the_others(leak: str) -> None:
    rng = np.random.default_rng(1)
    drawn = [LEAKS[leak](x, 150, rng) for x in (0, 1)]
    book = FeatureCounts.of([encode(reports, 150, x) for x, reports in enumerate(drawn)])
    scores = [score for score in ratios(book, 0, 1) if score.terms]
    assert any("token" in score.name for score in scores)
    reports = LEAKS[leak](0, 20, rng)
    for score in scores:
        assert score(encode(reports, 20, 0), 20).tolist() == [score(encode([report], 1, 0), 1)[0] for report in reports]


def test_reports_in_short_have_the_items_of_their_own_form() -> None:
    reports: list[Any] = [{"a": 1, "b": "xy"}, ["xy", 2.5], {"a": 1, "b": "z", "c": [4, 5]}, "", None, ["xy"]]
    encoded = encode(reports, len(reports), 0)
    found = beyond(encoded, frozenset())
    assert all(map(in_short, found))
    assert sorted(row for group in found.values() for row in group.rows.tolist()) == list(range(len(reports)))
    for group in found.values():
        assert group.items is not None
        one_by_one = [Items.of([(s, g)]) for row in group.rows.tolist() for s, g in encoded.items() if row in g.rows]
        assert group.items.bits.tolist() == [word for each in one_by_one for word in each.bits.tolist()]
        assert group.items.sizes.tolist() == [size for each in one_by_one for size in each.sizes.tolist()]


def test_tokens_are_counted_once_a_report_and_said_in_its_own_terms() -> None:
    drawn = [["abyesyes", "yesnabcd"] * 40, ["abcdefgh", "stuvwxab"] * 40]
    fitting = [group for x, reports in enumerate(drawn) for group in encode(reports, 80, x).values()]
    (skeleton,) = encode(drawn[0], 80, 0)
    found = {f.name: f.counts for f in tokens.with_tokens(skeleton, fitting, fitting) if f.family == "token"}
    assert found["whether it holds 'yes' (3 in a row)"].tolist() == [[0, 80, 0], [80, 0, 0]]


def test_which_of_two_values_comes_first_is_told_of_rows_that_lack_one_of_them_too() -> None:
    table = np.array([[1, 2, 1, 4], [3, 3, 2, 1], [4, 4, 4, 4], [2, 4, 3, 3]])
    ((_, group),) = encode(table, 4, 0).items()
    assert tokens._first_places(np.array([1, 2, 3, 4]), table).tolist() == [[0, 1, 4, 3], [3, 2, 0, 4], [4, 4, 4, 0], [4, 0, 2, 1]]
    assert tokens._comes_before(1, 2, group).tolist() == [1, 0, 0, 0]
    assert tokens._comes_before(2, 1, group).tolist() == [0, 1, 0, 1]
    rng = np.random.default_rng(1)
    ((skeleton, first),), ((_, second),) = (encode(in_order(x, 200, rng), 200, x).items() for x in (0, 1))
    told = {f.name for f in tokens.with_tokens(skeleton, [first, second], [first, second])}
    assert {"whether 2 comes before 7", "whether 7 comes before 2"} <= told


def test_the_number_of_equal_entries_and_sums_are_what_they_are_called() -> None:
    ((_, group),) = encode(np.array([[1, 2, 1, 1], [3, 3, 4, 4], [5, 6, 7, 8]]), 3, 0).items()
    assert tokens._equal(False, group).tolist() == [2, 2, 4]
    assert tokens._equal(True, group).tolist() == [3, 2, 1]
    assert tokens._sum_modulo(7, group).tolist() == [5, 0, 5]


class Colour(enum.Enum):
    RED, BLUE = "red", "blue"


class Level(enum.IntEnum):
    ONE = 1


class Hinted(int):
    hint: int


@dataclasses.dataclass
class Report:
    value: float
    note: Any


class Column:
    """A tensor of somebody's, which says what array it is."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.values, dtype=dtype)


def hinted(x: int) -> Hinted:
    value = Hinted(3)
    value.hint = x
    return value


def record(x: int) -> Any:
    made = np.zeros(2, dtype=[("a", "i4"), ("b", "f8")])
    made["a"][1] = x
    return made


PAIRS: dict[str, Callable[[int], Any]] = {
    "a zip and a list": lambda x: zip([1], [2], strict=True) if x else [(1, 2)],
    "what a generator gives": lambda x: (value for value in (7, x)),
    "the keys of a dictionary": lambda x: {x: 1}.keys(),
    "the digits of a decimal": lambda x: Decimal("1.50") if x else Decimal("1.5"),
    "a fraction": lambda x: Fraction(x + 1, 7),
    "the imaginary part": lambda x: complex(1, x),
    "a complex array": lambda x: np.array([1j, x]),
    "a field of a dataclass": lambda x: Report(1.0, [x]),
    "a field of a dataclass's own": lambda x: Report(1.0, Report(x, "")),
    "a member of an enum": lambda x: list(Colour)[x],
    "an integer of an enum and one that is none": lambda x: Level.ONE if x else 1,
    "an attribute of an integer": hinted,
    "order in memory": lambda x: np.zeros((2, 3)) if x else np.zeros((3, 2)).T,
    "a scalar of another width": lambda x: (np.float32, np.float64)[x](1),
    "a record": record,
    "a moment": lambda x: np.datetime64("2026-01-01", "s") + x,
    "a span": lambda x: np.timedelta64(x, "s"),
    "the zone of a time": lambda x: datetime.datetime(2026, 1, 1, tzinfo=(None, datetime.UTC)[x]),
    "a day": lambda x: datetime.date(2026, 1, 1 + x),
    "a duration": lambda x: datetime.timedelta(seconds=x),
    "an identifier": lambda x: UUID(int=x),
    "a path": lambda x: PurePosixPath(str(x)),
    "a range": lambda x: range(x),
    "an array of the standard library": lambda x: array.array("hi"[x], [1]),
    "the bytes of a view": lambda x: memoryview(bytes([x])),
    "a frame": lambda x: pl.DataFrame({"a": [1, x]}),
    "the type of a frame's column": lambda x: pl.DataFrame({"a": [1]}, schema={"a": (pl.Int32, pl.Int64)[x]}),
    "the name of a series": lambda x: pl.Series("ab"[x], [1]),
    "a missing value of a series": lambda x: pl.Series("a", [1, None if x else 0]),
    "a tensor": lambda x: Column([1, x]),
}
HELD = ("what a generator gives", "a fraction", "a field of a dataclass", "a member of an enum", "a frame", "a moment")
DROPPED = ("a zip and a list", "the digits of a decimal", "a scalar of another width", "an integer of an enum and one that is none")


def encoded(kind: str, x: int) -> Any:
    """What is seen of a report: its forms, and their numbers."""
    return [(skeleton, group.whole().tolist()) for skeleton, group in encode([as_it_is_now(PAIRS[kind](x), x)], 1, x).items()]


@pytest.mark.parametrize("kind", PAIRS)
def test_what_is_sent_with_a_value_of_any_type_is_told_apart(kind: str) -> None:
    assert encoded(kind, 0) != encoded(kind, 1)
    assert encoded(kind, 0) == encoded(kind, 0)


@pytest.mark.parametrize("kind", HELD)
def test_the_canonical_form_keeps_what_such_a_value_holds(kind: str) -> None:
    first, second = (canonical(as_it_is_now(PAIRS[kind](x), x)) for x in (0, 1))
    assert first != second


@pytest.mark.parametrize("kind", DROPPED)
def test_the_canonical_form_drops_types_and_digits(kind: str) -> None:
    assert canonical(PAIRS[kind](0)) == canonical(PAIRS[kind](1))


@pytest.mark.parametrize(("form", "share"), [(Form.RAW, True), (Form.CANONICAL, False)])
def test_a_type_that_one_input_shows_in_a_tenth_of_its_reports_is_a_refutation(form: Form, share: bool) -> None:
    rng = np.random.default_rng(1)

    def client(x: int) -> Any:
        pairs = list(zip(rng.integers(0, 2, 2).tolist(), (1, 2), strict=True))
        return iter(pairs) if x and rng.random() < 0.1 else pairs

    assert audit(client, inputs=[0, 1], epsilon=2.0, trials=8_000, reading=Reading(form)).refutes(2.0) is share


def test_an_iterator_without_an_end_and_an_object_that_is_not_known_are_errors() -> None:
    endless: Callable[[int], Iterator[int]] = lambda x: itertools.count(x)  # noqa: E731
    with pytest.raises(ImplementationError, match=f"at most {LARGEST} numbers"):
        audit(endless, inputs=[0, 1], trials=1_000)
    with pytest.raises(ImplementationError, match=r"dataclasses, arrays, frames .* got object"):
        audit(lambda x: object(), inputs=[0, 1], trials=1_000)


def test_numbers_of_unusual_size_have_a_canonical_form_too() -> None:
    assert canonical(Decimal("1e999")) == math.inf
    assert canonical(Fraction(10**999)) == (10**999, 1)
    assert canonical(np.array(1 + 2j)) == (1, 2)
