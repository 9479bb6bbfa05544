"""Samples with a threshold: what makes queries quick, against sums in rationals and at 60 digits; and how quick they are."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.hypergeometric import _urn_factor as urn_factor, hypergeometric_tail
from ldpaudit.accountants.sampling import thresholded
from ldpaudit.accountants.sampling.other_prefixes import largest_slope
from ldpaudit.accountants.sampling.rounds import Curve, Grid
from ldpaudit.accountants.sampling.thresholded import FixedBatch, PoissonBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.enclosure import Enclosure
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from tests.oracles.trie import at_least, heads

NARROW = 1e-9
"""Relative width of an epsilon where one prefix decides."""


def is_near(found: flint.arb, truth: Fraction) -> bool:
    return bool(found.overlaps(ball(truth)) and found.rad() <= 1e-30)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_what_one_holder_more_gains_is_the_difference_of_two_tails(n: int) -> None:
    with flint.ctx.workprec(128):
        for m in range(1, n + 1):
            s = FixedBatch(n, m)
            for w in range(n + 1):
                for t in range(1, m + 2):
                    for users, relation in ((n, ADD_REMOVE), (n + 1, REPLACE_ONE)):
                        before, (more, fewer) = at_least(users, w, m, t), s.gain(w, t, relation)
                        assert is_near(fewer, before)
                        assert is_near(more, at_least(n + 1, w + 1, m, t) - before)


def test_what_one_tosser_more_gains_is_the_difference_of_two_tails() -> None:
    p = Fraction(2, 7)
    with flint.ctx.workprec(128):
        for w in range(9):
            for t in range(1, 6):
                more, fewer = PoissonBatch(20, p).gain(w, t)
                assert is_near(fewer, heads(w, p, t))
                assert is_near(more, heads(w + 1, p, t) - heads(w, p, t))


@pytest.mark.parametrize(("n", "m", "t"), [(6, 3, 2), (9, 4, 1), (9, 4, 4), (12, 10, 3)])
def test_who_leaves_is_told_by_the_silence_of_the_worst_number_of_holders(n: int, m: int, t: int) -> None:
    for c in (Fraction(1), Fraction(101, 100), Fraction(5, 4), Fraction(13, 9), Fraction(9)):
        truth = max(1 - at_least(n, w, m, t) - c * (1 - at_least(n + 1, w + 1, m, t)) for w in range(n + 1))
        with flint.ctx.workprec(128):
            assert is_near(thresholded.removed_prefix(FixedBatch(n, m), t, ball(c)), max(truth, Fraction(0)))


def test_the_sum_of_ratios_next_to_the_mode_of_a_wide_law_is_enclosed() -> None:
    marked, draws, left, k = 4 * 10**9, 10**6, 10**12 - 4 * 10**9 - 10**6, 4_010
    with flint.ctx.workprec(96):
        found = urn_factor(marked, draws, left, k)
        assert found.rel_accuracy_bits() > 88
    with flint.ctx.workprec(300):
        term = total = flint.arb(1)
        for j in range(k, k + 3_000):
            term *= flint.arb((marked - j) * (draws - j)) / ((j + 1) * (left + j + 1))
            total += term
        assert term < 1e-90
        assert found.contains(total)


def test_below_the_mean_ratios_are_not_summed() -> None:
    with pytest.raises(ArithmeticError, match="above the mean"):
        urn_factor(500, 500, 0, 200)


@pytest.mark.parametrize("k", [0, 3, 30, 59, 60, 61, 90, 120, 121])
def test_a_tail_and_its_first_term_go_together(k: int) -> None:
    with flint.ctx.workprec(128):
        tail, point = hypergeometric_tail(400, 200, 120, k)
        assert is_near(tail, at_least(400, 200, 120, k))
        assert is_near(point, at_least(400, 200, 120, k) - at_least(400, 200, 120, k + 1))


@pytest.mark.parametrize("seed", range(40))
def test_the_largest_slope_is_above_every_size_and_hardly_above_the_best(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(4, 400)
    k = rng.randint(1, min(12, n - 2))
    d = rng.randint(k, n - 1)
    level = Fraction(0) if seed % 2 else Fraction(10 ** rng.uniform(-3, 1.5))
    slope = Fraction(10 ** rng.uniform(-3, 0.5)) if seed % 3 or not level else Fraction(0)
    with flint.ctx.workprec(64):
        found = largest_slope(n, d, k, ball(slope), ball(level))
    with mpmath.workdps(40):
        a, b = (mpmath.mpf(x.numerator) / x.denominator for x in (slope, level))
        p = mpmath.mpf(d) / n
        best = max(
            mpmath.log1p(mpmath.binomial(w, k) * p**k * (1 - p) ** (w - k) * mpmath.expm1(a * (w - k) + b)) / w
            for w in range(k, n + 1)
        )
        high = mpmath.mpf(str(found.upper().str(30, radius=False)))
        # The sizes between integers count too: of few users, the best is not one of them.
        assert best <= high * (1 + mpmath.mpf(10) ** -15)
        assert n * (high - best) <= 0.002 + n * best * (2e-5 + k / mpmath.mpf(k + 1) ** 2)


@pytest.mark.parametrize("place", [0.0, 0.004, 0.0123, 0.02, 0.021, 0.0217])
def test_a_curve_is_above_its_convex_profile_between_and_beyond_its_points(place: float) -> None:
    # A profile that is one loss of 0.0215, of mass 1/2: convex in e**epsilon, and no chord of it lies below.
    lattice = Grid(Fraction(1, 100), -3, 2)
    points = [max(0.0, -math.expm1(i / 100 - 0.0215)) / 2 for i in range(-3, 3)]
    found = Curve(lattice, np.array(points), 0.0, 0.0).at(Fraction(place))
    truth = max(0.0, -math.expm1(place - 0.0215)) / 2
    assert truth * (1 - 1e-15) <= found <= truth * (1 + 1e-13) + 0.001


@pytest.mark.parametrize(
    ("sampling", "threshold", "delta"),
    [(FixedBatch(10**4, 2000), 10, 2e-7), (FixedBatch(10**4, 2000), 10, 0.029), (FixedBatch(10**12, 10**6), 64, 1e-280),
     (FixedBatch(10**9, 10**8), 2_000, 1e-40), (PoissonBatch(10**12, Fraction(1, 1000)), 30, 1e-80)],
)  # fmt: skip
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_the_guess_of_an_epsilon_is_where_one_prefix_costs_delta(
    sampling: thresholded.Sampling, threshold: int, delta: float, relation: Neighbours
) -> None:
    found = thresholded.prefix_inverse(sampling, threshold, delta, relation)
    with flint.ctx.workprec(128):
        c = thresholded.exp_ball(found)
        more, fewer = sampling.gain(thresholded.worst_holders(sampling, threshold, c)[0], threshold, relation)
        assert float(more - (c - 1) * fewer) == pytest.approx(delta, rel=1e-9)


QUERIES: tuple[tuple[int, int, int, float], ...] = (
    (10**4, 100, 10, 1e-9),
    (10**6, 10**3, 12, 1e-12),
    (658769, 14478, 15, 1e-24),
    (10**9, 31622, 15, 1e-13),
    (10**12, 10**6, 18, 1e-15),
    (10**12, 10**6, 64, 1e-280),
    (10**12, 10**9, 2000, 1e-30),
)
MOST_SECONDS = 0.5
"""Process time of one certified query: ten times what it takes, for slow machines."""


@pytest.mark.parametrize(("n", "m", "t", "delta"), QUERIES)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_a_query_is_quick_and_inverts(n: int, m: int, t: int, delta: float, relation: Neighbours) -> None:
    ThresholdProfile(FixedBatch(50, 5), 3).epsilon(1e-3)  # what is imported late is not timed
    profile = ThresholdProfile(FixedBatch(n, m), t, neighbours=relation)
    start = time.process_time()
    found = profile.epsilon(delta)
    middle = time.process_time()
    there, before = profile.delta(found.high), profile.delta(found.low * (1 - 1e-8))
    end = time.process_time()
    assert middle - start < MOST_SECONDS
    assert end - middle < 2 * MOST_SECONDS
    assert there.high <= delta < before.low


@pytest.mark.parametrize(("n", "m", "t", "delta"), [query for query in QUERIES if query[1] > 200])
def test_an_epsilon_is_narrow_where_other_prefixes_do_not_tell(n: int, m: int, t: int, delta: float) -> None:
    if t < 1000:
        assert ThresholdProfile(FixedBatch(n, m), t).epsilon(delta).relative_width < NARROW


def test_a_cost_below_the_smallest_floats_is_a_delta_and_not_an_error() -> None:
    # One prefix costs less than 1e-320 there; what others tell was looked at relative to that.
    found = ThresholdProfile(FixedBatch(970423859, 1824), 226, neighbours=REPLACE_ONE).delta(0.00011268420434442881)
    assert 0 <= found.low <= found.high < 1e-16
    epsilon: Enclosure = ThresholdProfile(FixedBatch(1512266, 853), 98).epsilon(1.24e-13)
    assert 0 < epsilon.low <= epsilon.high < 0.02
