"""dBitFlip over a lifetime: the bits of a value are kept. Against an enumeration of drawn buckets and bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, permutations, product

import pytest

from ldpaudit import account
from ldpaudit.accountants.one_bit import memoized_values
from ldpaudit.mechanisms.one_bit import DBitFlip

P = Fraction(3, 4)
Keep = Callable[[int, tuple[int, ...]], object]
"""By which name a value's bits are kept, given the drawn buckets."""


def per_value(value: int, drawn: tuple[int, ...]) -> object:
    return value


def per_drawn_bucket(value: int, drawn: tuple[int, ...]) -> object:
    return value if value in drawn else None


def laws(m: DBitFlip, stream: tuple[int, ...], keep: Keep) -> Iterator[dict[tuple[tuple[int, ...], ...], Fraction]]:
    """For each choice of the drawn buckets, the law of what all epochs report."""
    for drawn in combinations(range(m.k), m.d):
        names = [keep(value, drawn) for value in stream]
        own = dict(zip(names, stream, strict=True))
        law: dict[tuple[tuple[int, ...], ...], Fraction] = {}
        for bits in product(product((0, 1), repeat=m.d), repeat=len(own)):
            kept = dict(zip(own, bits, strict=True))
            true = [bit == (bucket == own[name]) for name in own for bucket, bit in zip(drawn, kept[name], strict=True)]
            chance = math.prod((m.p if each else 1 - m.p for each in true), start=Fraction(1))
            shown = tuple(kept[name] for name in names)
            law[shown] = law.get(shown, Fraction(0)) + chance
        yield law


def epsilon(m: DBitFlip, first: tuple[int, ...], second: tuple[int, ...], keep: Keep = per_value) -> float:
    worst = Fraction(1)
    for there, back in zip(laws(m, first, keep), laws(m, second, keep), strict=True):
        for view, p in there.items():
            if not back.get(view):
                return math.inf
            worst = max(worst, p / back[view])
    return math.log(worst)


@pytest.mark.parametrize(("k", "d", "values"), [
    (3, 1, 1), (3, 2, 1), (3, 1, 2), (3, 2, 2), (3, 3, 2), (3, 1, 3), (3, 2, 3), (4, 1, 2),
])  # fmt: skip
def test_kept_bits_cost_what_the_enumeration_of_streams_of_one_pattern_shows(k: int, d: int, values: int) -> None:
    m = DBitFlip(k, d, P)
    streams = list(permutations(range(k), values))
    truth = max(epsilon(m, streams[0], other) for other in streams)
    assert memoized_values(m, values).high == pytest.approx(truth, abs=1e-12)


def test_one_value_costs_what_one_report_costs() -> None:
    for d in (1, 2, 3):
        one, report = memoized_values(DBitFlip(4, d, P), 1), account(DBitFlip(4, d, P)).epsilon(0)
        assert (one.low, one.high) == (report.low, report.high)


def test_against_another_pattern_kept_bits_hide_nothing() -> None:
    assert epsilon(DBitFlip(3, 1, P), (0, 1), (0, 0)) == math.inf


def test_bits_that_are_kept_per_drawn_bucket_show_which_values_are_not_drawn() -> None:
    m = DBitFlip(3, 1, P)
    assert epsilon(m, (1, 2), (0, 1), per_value) < math.inf
    assert epsilon(m, (0, 1), (1, 2), per_drawn_bucket) == math.inf
    # Of two drawn buckets of three, one value at most is not drawn.
    assert epsilon(DBitFlip(3, 2, P), (0, 1), (1, 2), per_drawn_bucket) < math.inf


@pytest.mark.parametrize("values", [0, 5])
def test_no_user_holds_more_values_than_there_are(values: int) -> None:
    with pytest.raises(ValueError, match="needs from 1 to 4 values"):
        memoized_values(DBitFlip(4, 2, P), values)
