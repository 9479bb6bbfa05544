"""Reports of less usual types: what is sent with a value is seen, and a type that only one input shows is a refutation."""

from __future__ import annotations

import array
import dataclasses
import datetime
import enum
import itertools
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import pytest

from ldpaudit import audit
from ldpaudit.adapters.callables import LARGEST, as_it_is_now
from ldpaudit.attacks import Reading
from ldpaudit.attacks.blackbox.canonical import canonical
from ldpaudit.attacks.blackbox.encoding import encode
from ldpaudit.errors import ImplementationError
from ldpaudit.evidence import Form


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
