"""One memoized bit of a stream: the lifetime's epsilon against an enumeration of all pairs of streams, and the numbers of peers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ldpaudit import account
from ldpaudit.accountants.composition import memoized_bits
from ldpaudit.accountants.composition.memoized_bits import MOST_EPOCHS, MemoizedNoise, lifetime_epsilon
from ldpaudit.accountants.memoized_bit import kept, repeated, same_pattern
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.memoized_bit import MemoizedBit
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Repeat

HALF = Fraction(1, 2)
BIT = MemoizedBit(2, HALF, HALF, Fraction(3, 4))
SLACK = 1e-9


def partitions(items: tuple[int, ...]) -> Iterator[list[list[int]]]:
    """Every way to hold equal values in some epochs."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for others in partitions(rest):
        yield [[first], *others]
        for i, block in enumerate(others):
            yield [*others[:i], [first, *block], *others[i + 1 :]]


def largest_ratio(m: MemoizedBit) -> Fraction:
    """Over all transcripts, the largest probability over the smallest, from the law that the pseudocode states."""
    worst, lost = Fraction(1), m.f / 2
    spreads = list(partitions(tuple(range(m.epochs))))
    for view in product((0, 1), repeat=m.epochs):
        seen = []
        for blocks in spreads:
            for bits in product((0, 1), repeat=len(blocks)):
                chance = Fraction(1)
                for block, bit in zip(blocks, bits, strict=True):
                    right, wrong = (
                        math.prod((p if view[t] else 1 - p for t in block), start=Fraction(1))
                        for p in ((m.q, m.p) if bit else (m.p, m.q))
                    )
                    chance *= (1 - lost) * right + lost * wrong
                seen.append(chance)
        worst = max(worst, max(seen) / min(seen))
    return worst


@pytest.mark.parametrize("m", [
    MemoizedBit(4, HALF, HALF, Fraction(3, 4)), MemoizedBit(4, Fraction(9, 10), Fraction(1, 20), Fraction(19, 20)),
    MemoizedBit(3, Fraction(9, 10), Fraction(1, 20), Fraction(4, 5)), MemoizedBit(3, Fraction(0), Fraction(1, 5), Fraction(1, 3)),
    MemoizedBit(4, Fraction(19, 20), Fraction(1, 3), Fraction(2, 3)), MemoizedBit(1, HALF, HALF, Fraction(3, 4)),
    *(MemoizedBit(3, lost, Fraction(1, 3**999), Fraction(9, 10)) for lost in map(Fraction, ("0", "1e-6", "1e-400"))),
], ids=str)  # fmt: skip
def test_no_two_streams_are_told_apart_better_than_the_lifetime_s_epsilon_and_some_are_as_well(m: MemoizedBit) -> None:
    found = lifetime_epsilon(MemoizedNoise(m.f / 2, m.p, m.q), m.epochs)
    ratio = largest_ratio(m)  # which may be beyond floats
    truth = math.log(ratio.numerator) - math.log(ratio.denominator)
    assert found.low - SLACK <= truth <= found.high + SLACK
    assert found.high - found.low < SLACK
    assert account(m).epsilon(0).low == pytest.approx(truth, abs=SLACK)


def test_a_search_agrees_with_the_closed_form_where_values_that_never_repeat_are_the_least_likely() -> None:
    noise = MemoizedNoise(Fraction(1, 4), HALF, Fraction(3, 4))
    for epochs in (1, 2, 12, 30):
        searched, closed = memoized_bits._searched(noise, epochs), lifetime_epsilon(noise, epochs)
        assert searched.low <= closed.high
        assert closed.low <= searched.high
        assert searched.high - searched.low < SLACK


def test_between_streams_of_the_same_pattern_memoization_costs_what_is_published() -> None:
    assert same_pattern(BIT, [1]).epsilon(0).high == pytest.approx(0.3364722, abs=5e-8)
    assert same_pattern(BIT, [7]).epsilon(0).high == pytest.approx(1.0780460, abs=5e-8)
    assert kept(BIT).high == pytest.approx(1.0986123, abs=5e-8)
    assert same_pattern(BIT, [1, 1]).epsilon(0).high == pytest.approx(0.67294, abs=5e-6)
    assert same_pattern(BIT, [3, 2]).epsilon(0).high == pytest.approx(
        same_pattern(BIT, [3]).epsilon(0).high + same_pattern(BIT, [2]).epsilon(0).high, abs=SLACK)  # fmt: skip


@pytest.mark.parametrize("times", [1, 2, 3])
def test_where_ones_tell_more_than_zeros_a_value_costs_most_where_all_reports_are_ones(times: int) -> None:
    f, p, q = Fraction(1, 5), Fraction(1, 10), Fraction(3, 5)
    m = MemoizedBit(2, f, p, q)

    def told(ratio: Fraction) -> Fraction:
        return ((1 - f / 2) + f / 2 * ratio**times) / (f / 2 + (1 - f / 2) * ratio**times)

    ones, zeros = 1 / told(q / p), told((1 - q) / (1 - p))
    assert ones > zeros
    assert same_pattern(m, [times]).epsilon(0).high == pytest.approx(math.log(ones), rel=1e-12)
    # At delta above 0 too, against all words of reports of both inputs.
    laws = [[sum(kept * math.prod(c if y else 1 - c for y in word) for kept, c in zip(shares, (p, q), strict=True))
             for word in product((0, 1), repeat=times)] for shares in ((1 - f / 2, f / 2), (f / 2, 1 - f / 2))]  # fmt: skip
    found = same_pattern(m, [times]).delta(0.25)
    truth = max(sum(max(0.0, a - math.exp(0.25) * b) for a, b in zip(x, y, strict=True)) for x, y in (laws, laws[::-1]))
    assert found.low * (1 - 1e-12) <= truth <= found.high * (1 + 1e-12)


def test_against_any_pattern_memoization_costs_more_and_ever_more() -> None:
    assert account(BIT).epsilon(0).high == pytest.approx(0.73237, abs=5e-6)
    month, year = (account(MemoizedBit(epochs, HALF, HALF, Fraction(3, 4))).epsilon(0) for epochs in (30, 365))
    # All zeros, under a value of bit 0 held throughout and under 30 values of bit 1.
    assert month.low == pytest.approx(math.log((0.75 * 0.5**30 + 0.25 * 0.25**30) / 0.3125**30), abs=SLACK)
    assert year.low > 12 * month.low
    # All ones, under one value of bit 1 and under 30 of them: even streams of equal bits are told apart.
    ones = math.log((0.75 * 0.75**30 + 0.25 * 0.5**30) / 0.6875**30)
    assert ones == pytest.approx(2.3227, abs=5e-5)
    assert month.low > ones


def test_a_fresh_response_in_each_epoch_composes_exactly() -> None:
    fresh = Repeat(KaryRandomizedResponse.for_epsilon(Fraction(1, 10), k=2), 365)
    assert account(fresh).epsilon(0).high == pytest.approx(36.5, abs=SLACK)
    assert account(fresh).epsilon(Fraction(1, 10**6)).high == pytest.approx(10.31386, abs=5e-6)


def test_the_profile_of_two_streams_is_that_of_their_laws() -> None:
    m = MemoizedBit(4, HALF, HALF, Fraction(3, 4))
    streams = ((0,) * 4, (1, 3, 5, 7), (1,) * 4, (0, 2, 4, 6))
    for epsilon in (0.0, 0.5, 1.0):
        laws = [[m.law(x).probability(y) for y in product((0, 1), repeat=4)] for x in streams]
        deltas = [
            sum(max(0.0, float(p) - math.exp(epsilon) * float(q)) for p, q in zip(a, b, strict=True))
            for i in (0, 2) for a, b in ((laws[i], laws[i + 1]), (laws[i + 1], laws[i]))
        ]  # fmt: skip
        assert repeated(m).delta(epsilon).low == pytest.approx(max(deltas), abs=SLACK)


def test_values_that_repeat_share_their_copy_and_others_do_not() -> None:
    m, rng = MemoizedBit(3, HALF, Fraction(1, 10**9), 1 - Fraction(1, 10**9)), np.random.default_rng(5)
    views = m.sample((1, 3, 1), 20_000, rng)
    assert np.mean(views[:, 0] == views[:, 2]) > 0.999
    assert np.mean(views[:, 0] == views[:, 1]) == pytest.approx(0.75**2 + 0.25**2, abs=0.02)


def test_a_run_counts_the_users_who_hold_a_one_in_each_epoch() -> None:
    m, rng = MemoizedBit(3, HALF, Fraction(1, 4), Fraction(3, 4)), np.random.default_rng(6)
    data = np.concatenate([np.tile([1, 0, 5], (30_000, 1)), np.tile([2, 2, 3], (10_000, 1))])
    assert m.truth(data).tolist() == [30_000, 0, 40_000]
    assert np.abs(m.run(data, rng) - m.truth(data)).max() < 5 * 4 * math.sqrt(40_000 / 4)


def test_what_cannot_be_searched_is_refused() -> None:
    with pytest.raises(Unsupported, match=f"searched up to {MOST_EPOCHS} epochs, got 401"):
        account(MemoizedBit(401, Fraction(9, 10), Fraction(1, 20), Fraction(19, 20)))


@pytest.mark.parametrize("stream", [(0,), (0, 4), (0, -1), [0, 1], (0, 1.0), (True, 1), None])
def test_what_is_no_stream_is_refused(stream: object) -> None:
    with pytest.raises(ValueError, match="needs 2 values from 0 to 3"):
        BIT.require_input(stream)


@pytest.mark.parametrize("data", [[[0, 4]], [[0]], [0, 1], [[0.5, 1]], np.zeros((0, 2), dtype=int)])
def test_data_that_are_no_streams_are_refused(data: object) -> None:
    with pytest.raises(ValueError, match="needs 2 values from 0 to 3 of each user"):
        BIT.run(data, np.random.default_rng(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("reports", [[], [0], [2, -1]])
def test_a_pattern_needs_reports(reports: list[int]) -> None:
    with pytest.raises(ValueError, match="at least one value, each with at least 1 report"):
        same_pattern(BIT, reports)
