"""Repeated shuffles whose views are counts, against convolutions of their losses, rounded down and rounded up."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal, stats

from ldpaudit.accountants import account
from ldpaudit.accountants.composition.compose import compose
from ldpaudit.accountants.counting.compose import CountersProfile
from ldpaudit.accountants.counting.counter import HitCounter, shown
from ldpaudit.accountants.counting.hits import ComposedHits, HiddenHits
from ldpaudit.accountants.pld.distribution import infinite_mass
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, RangeQueries
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.plan import Compose, Repeat

STEP = 2.0**-13  # nats to which losses are rounded
Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]  # probabilities of each count under both inputs


def delta(pairs: list[tuple[Pair, int]], epsilon: float, rounded: Callable[[Floats], Floats]) -> float:
    """Of all these counts together."""
    law, start, infinite = np.ones(1), 0, 1.0
    for (p, q), times in pairs:
        seen = (p > 0) & (q > 0)
        indices = rounded(np.log(p[seen] / q[seen]) / STEP).astype(np.int64)
        masses = np.bincount(indices - indices.min(), p[seen])
        for _ in range(times):
            law, start = signal.fftconvolve(law, masses), start + int(indices.min())
            infinite *= float(p[q > 0].sum())
    losses = (start + np.arange(len(law))) * STEP
    return 1 - infinite + float(np.sum(law * np.maximum(-np.expm1(epsilon - losses), 0)))


def hits(messages: int, p: float) -> Pair:
    """A message that speaks for an element, among random ones; and one more of these."""
    counts = np.arange(messages + 2)
    return stats.binom.pmf(counts - 1, messages, p), stats.binom.pmf(counts, messages + 1, p)


def sums(users: int, gamma: float) -> Pair:
    """A count with one more in it; the one that the user left is like it from above."""
    counts = np.arange(users + 2)
    return stats.binom.pmf(counts - 1, users, gamma), stats.binom.pmf(counts, users, gamma)


def both(pair: Pair) -> list[Pair]:
    return [pair, (pair[1], pair[0])]


CASES: dict[str, tuple[Mechanism, list[Pair]]] = {
    "binary sums": (ShuffledBinarySums(400, 5, Fraction(1, 5)), both(sums(400, 0.2))),
    "thin binary sums": (ShuffledBinarySums(60, 5, Fraction(1, 10)), both(sums(60, 0.1))),
    "one oracle": (ShuffledHadamard(400, 8, 8, 40), both(hits(16_000, 2.0**-8))),
    "an oracle per width": (RangeQueries(300, 4, 9, 50), [each for each in both(hits(15_000, 2.0**-9)) for _ in range(2)]),
}


@pytest.mark.parametrize("times", [2, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_repeated_shuffles_are_enclosed_closely(name: str, times: int) -> None:
    """From above the others' messages are known, which they are in the oracle; what they hide is a share of p."""
    m, pairs = CASES[name]
    found, once = account(Repeat(m, times)), account(m)
    for epsilon in (0.2, 0.8, 1.6):
        low, high = (delta([(pair, times) for pair in pairs], epsilon, way) for way in (np.floor, np.ceil))
        at = found.delta(epsilon)
        assert at.high >= low * (1 - 1e-9) - 1e-13
        assert at.low <= high * (1 + 1e-9) + 1e-13
        assert at.low > once.delta(epsilon).low
    goal = found.delta(0.8).high
    at = found.epsilon(goal)
    assert at.relative_width < 0.05
    assert at.low <= 0.8 <= at.high * (1 + 1e-9)


def test_different_shuffles_are_composed_from_below_too() -> None:
    first, second = CASES["binary sums"], CASES["one oracle"]
    found = account(Compose([Repeat(first[0], 2), second[0]])).delta(0.5)
    pairs = [(pair, 2) for pair in first[1]] + [(pair, 1) for pair in second[1]]
    low, high = (delta(pairs, 0.5, way) for way in (np.floor, np.ceil))
    assert found.low <= high
    assert low <= found.high
    assert found.relative_width < 0.05


def test_cells_that_are_left_out_lower_the_infinite_loss_mass() -> None:
    """Of views that are listed with probability t, of which m have an infinite loss: t**n - (t - m)**n at least."""
    pair = shown(HitCounter(40, Fraction(1, 10)), True).pair
    assert pair.listed.contains(1)  # type: ignore[union-attr]
    m, t = 0.9**41, 1 - 0.1
    (law, _), _ = HiddenHits(ComposedHits(40, Fraction(1, 10), 1)).occurring[0]
    assert float(law.listed) == pytest.approx(t)
    for times in (1, 7):
        assert float(infinite_mass(((pair, times),))) == pytest.approx(1 - (1 - m) ** times)
        assert float(infinite_mass(((law, times), (pair, times)))) == pytest.approx(t**times * (1 - (1 - m) ** times))
    assert math.isinf(account(Repeat(ShuffledHadamard(1, 4, 3, 3), 2)).epsilon(1e-3).low)


def test_what_others_hide_is_a_lower_bound_however_often_it_is_repeated() -> None:
    known = ComposedHits(2000, Fraction(1, 50), 2)
    hidden, all_at_once = HiddenHits(known), HiddenHits(ComposedHits(2000, Fraction(1, 50), 6))
    assert hidden.dominating is None
    (groups,) = hidden.occurring
    composed = compose(tuple((law, 3 * times) for law, times in groups), "three of them")
    for epsilon in (0.3, 1.0):
        assert composed.delta(epsilon).low == pytest.approx(all_at_once.delta(epsilon).low, rel=2e-3)


@pytest.mark.parametrize(
    ("m", "times", "at_delta"),
    [(CountMinRangeQueries(400, 4, 1, 64, Fraction(1, 4)), 2, 1e-2),
     pytest.param(CountMinRangeQueries(2000, 4, 3, 64, Fraction(1, 10)), 3, 1e-4, marks=pytest.mark.slow)],
    ids=str,
)  # fmt: skip
def test_the_worse_of_several_pairs_composes_by_the_curve_of_their_upper_ends(m: Mechanism, times: int, at_delta: float) -> None:
    """Boxes in one dimension: more counters go down than up, or more up than down."""
    once, found = account(m), account(Repeat(m, times))
    assert isinstance(once, CountersProfile)
    assert len(once.pairs) > 1
    at = found.epsilon(at_delta)
    assert at.low > once.epsilon(at_delta).high
    assert at.relative_width < 0.02
