"""Shuffled numbers plus Laplace noise: a table of independent digits, few users by integration, and the worst pair of inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import laplace

from ldpaudit.accountants import account
from ldpaudit.accountants.numerics.balls import as_ball, ball
from ldpaudit.accountants.shuffling.blanket import precision
from ldpaudit.accountants.shuffling.laplace_noise import bound
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.plan import Guarantee, Repeat, Shuffle

ONE = Laplace(Fraction(1))
CUT = 3e-4
"""By how much of itself the cuts and the tolerance may move an epsilon at s = 1, from a thousand users on."""
FEW_CUT = 2e-2
"""By how much of itself they may move a delta of two or three users."""
INTEGRAL = 1e-4
"""Relative error of the sums that stand for integrals: their steps are 1/100 of a scale."""
PRINTED = 1e-7
"""Relative precision of the table's digits."""

# Epsilon at delta = 1e-6, by a contour integral in 30 digits or in floats: all others hold 0, and user 1 does under the first
# data set, or under the second one, or all others hold 1/2; the blanket.
TABLE = {
    10**3: (0.1104735685628393, 0.103163417, 0.099559563, 0.130197758507039),
    10**4: (0.031302898, 0.030680932, 0.028897489, 0.037843084),
    10**6: (0.0024971041, 0.0024929425, 0.0023213419, 0.0030656836),
}


def divergences(s: float, users: int, epsilon: float) -> list[Any]:
    """Three data sets and the blanket, in the table's order."""
    found = bound(Fraction(s), (0.0, s), users)
    assert found is not None
    with working_precision(precision(users)):
        e = ball(Fraction(epsilon)).exp()
        return [b.delta(e, users, 1e-4) for b in (*(each.blanket for each in found.data_sets), *found.blankets)]


@pytest.mark.parametrize("users", TABLE)
def test_epsilon_lies_between_the_best_data_set_and_the_blanket(users: int) -> None:
    found = account(Shuffle(ONE, users)).epsilon(1e-6)
    *attained, blanket = TABLE[users]
    assert max(attained) * (1 - CUT) <= found.low <= max(attained) * (1 + PRINTED)
    assert blanket * (1 - PRINTED) <= found.high <= blanket * (1 + CUT)


@pytest.mark.parametrize("users", TABLE)
def test_every_data_set_and_the_blanket_reach_delta_where_the_table_has_it(users: int) -> None:
    for i, side in enumerate((-1, -1, -1, 1)):
        at, cut, printed = (divergences(1.0, users, TABLE[users][i] * (1 + side * by))[i] for by in (-PRINTED, CUT, -CUT))
        if side < 0:
            assert at.lower() <= 1e-6 <= cut.upper()
            assert printed.upper() < 1e-6
        else:
            assert cut.lower() <= 1e-6 <= at.upper()
            assert printed.lower() > 1e-6


def reports(x: float, s: float, pieces: int = 100) -> NDArray[np.float64]:
    """Probabilities of narrow intervals, by the density in their middles, and of both tails."""
    middles = (np.arange(pieces) + 0.5) * s / pieces
    return np.array([laplace.cdf(-x), *laplace.pdf(middles - x) * s / pieces, laplace.sf(s - x)])


def shuffled(*laws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Law of the reports in random order."""
    product: NDArray[np.float64] = reduce(np.multiply.outer, laws)
    orders = list(permutations(range(len(laws))))
    return np.asarray(sum(product.transpose(order) for order in orders) / len(orders))


def divergence(first: Sequence[NDArray[np.float64]], second: Sequence[NDArray[np.float64]], epsilon: float) -> float:
    return float(np.maximum(shuffled(*first) - math.exp(epsilon) * shuffled(*second), 0).sum())


@pytest.mark.parametrize(("users", "epsilon"), [(2, 0.0), (2, 0.2), (2, 0.7), (3, 0.3)])
@pytest.mark.parametrize("s", [0.5, 1.0])
def test_few_users_by_integration(users: int, epsilon: float, s: float) -> None:
    if epsilon >= s:
        assert all(found == 0 for found in divergences(s, users, epsilon))
        return
    zero, one, half = (reports(x, s) for x in (0.0, s, s / 2))
    kept, changed, hidden = [zero] * users, [one, *[zero] * (users - 1)], [half] * (users - 1)
    truths = [
        divergence(kept, changed, epsilon),
        divergence(changed, kept, epsilon),
        divergence([zero, *hidden], [one, *hidden], epsilon),
    ]
    *attained, blanket = divergences(s, users, epsilon)
    for found, truth in zip(attained, truths, strict=True):
        assert truth * (1 - FEW_CUT) <= found.upper()
        assert found.lower() <= truth * (1 + INTEGRAL)
    mixed = [zero, one][: users - 1]
    assert max(*truths, divergence([zero, *mixed], [one, *mixed], epsilon)) * (1 - INTEGRAL) <= blanket.upper()


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7])
def test_the_blanket_of_two_users_by_integration(epsilon: float) -> None:
    zero, one = reports(0.0, 1.0), reports(1.0, 1.0)
    b = np.minimum(zero, one)
    gains, silent = (zero - math.exp(epsilon) * one) / b, 1 - b.sum()
    truth = float(b @ np.add.outer(gains, gains).clip(0) @ b + 2 * silent * (b @ gains.clip(0))) / 2
    blanket = divergences(1.0, 2, epsilon)[-1]
    assert truth * (1 - INTEGRAL) <= blanket.upper()
    assert blanket.lower() <= truth * (1 + FEW_CUT)


@pytest.mark.parametrize("s", [0.5, 1.0, 4.0])
def test_the_ends_are_the_worst_pair_in_the_convex_order(s: float) -> None:
    y = (np.arange(20_000) + 0.5) * s / 20_000
    ends = laplace.pdf(y), laplace.pdf(y - s)
    rng = np.random.default_rng(5)
    for _ in range(60):
        x, x2, epsilon = rng.uniform(0, s, 3)
        c = rng.uniform(-2 * math.exp(epsilon), 2) * math.exp(s)

        def positive(x: float, x2: float, e: float = math.exp(epsilon), c: float = c) -> float:
            inside = laplace.pdf(y - x) - e * laplace.pdf(y - x2) - c * np.minimum(*ends)
            tails = laplace.cdf(-x) - e * laplace.cdf(-x2), laplace.sf(s - x) - e * laplace.sf(s - x2)
            return float(inside.clip(0).sum() * s / len(y) + sum(max(each - c * math.exp(-s) / 2, 0) for each in tails))

        assert positive(x, x2) <= positive(0, s) + 1e-7  # the middles' rule, at kinks
        assert positive(0, s) == pytest.approx(positive(s, 0), rel=1e-9)


@pytest.mark.parametrize("s", [1e-6, 1.0, 12.0, 40.0])
def test_all_laws_sum_to_one_and_no_part_is_negative(s: float) -> None:
    found = bound(Fraction(s), (0.0, s), 100)
    assert found is not None
    with working_precision(precision(100)):
        for blanket in (*found.blankets, *(each.blanket for each in found.data_sets)):
            first, second, others = (sum(map(as_ball, column), as_ball(Fraction(0))) for column in zip(*blanket.cells, strict=True))
            for total in (first, second, others + as_ball(blanket.silence)):
                assert total.contains(1)
                assert total.rad() < 1e-25
            assert all(as_ball(part) > 0 for cell in blanket.cells for part in cell)


def test_more_users_cost_each_of_them_less() -> None:
    found = [account(Shuffle(ONE, n)).epsilon(1e-6) for n in (2, 50, 10**4, 10**5, 10**9)]
    assert all(0 < each.low <= each.high <= 1 for each in found)
    assert all(few.high >= many.high and few.low >= many.low for few, many in pairwise(found))


def test_delta_falls_with_epsilon_down_to_zero() -> None:
    profile = account(Shuffle(ONE, 10**5))
    deltas = [profile.delta(epsilon) for epsilon in (0, 0.005, 0.01, 0.02, 1)]
    assert all(near.low >= far.low and near.high >= far.high for near, far in pairwise(deltas))
    assert deltas[-1].high == 0


def test_composed_curves_use_a_wider_bound_which_is_not_much_wider() -> None:
    found = bound(Fraction(1), (0.0, 1.0), 10**5)
    assert found is not None
    for epsilon in (0.001, 0.01):
        fine, quick = ((b.low(Fraction(epsilon), 1e-5), b.high(Fraction(epsilon), 1e-5)) for b in (found, found.quick))
        assert quick[0].lower() < fine[0].lower() < fine[1].upper() < quick[1].upper()
        assert quick[0].lower() > fine[0].lower() * (1 - FEW_CUT)
        assert quick[1].upper() < fine[1].upper() * (1 + FEW_CUT)


def test_shuffles_of_laplace_noise_compose() -> None:
    once, thrice = (account(plan).epsilon(1e-6) for plan in (Shuffle(ONE, 10**6), Repeat(Shuffle(ONE, 10**6), 3)))
    assert once.low < thrice.low < thrice.high < 3 * once.high


def test_at_delta_zero_shuffling_buys_nothing() -> None:
    found = account(Shuffle(Laplace(Fraction(1, 2)), 100)).epsilon(0)
    assert (found.low, found.high) == (2, 2)


def test_only_the_distance_in_scales_counts() -> None:
    elsewhere = Laplace(Fraction(8), Fraction(-5), Fraction(3))
    one, wide = (account(Shuffle(m, 10**5)).epsilon(1e-6) for m in (ONE, elsewhere))
    assert (one.low, one.high) == (wide.low, wide.high)


def test_the_witness_is_a_pair_of_data_sets_whose_other_users_all_hold_one_end() -> None:
    witness = account(Shuffle(Laplace(Fraction(3), Fraction(2), Fraction(5)), 1000)).witness(0.1)
    assert witness is not None
    assert [dict(each.counts) for each in witness.pair] == [{2.0: 1000}, {2.0: 999, 5.0: 1}]


def test_the_blanket_is_below_the_clones_of_the_same_epsilon() -> None:
    for users in (100, 10**4):
        clones = account(Shuffle(Guarantee(Fraction(1)), users)).epsilon(1e-6)
        assert account(Shuffle(ONE, users)).epsilon(1e-6).high < clones.high


@pytest.mark.parametrize("m", [LaplaceHistogram(3, Fraction(2)), Laplace(Fraction(1, 50)), Laplace(Fraction(2**40))], ids=str)
def test_histograms_and_ends_too_near_or_too_far_apart_have_their_clones(m: Any) -> None:
    found = account(Shuffle(m, 10**6)).delta(1e-13)
    assert "clones" in found.source or "not shuffled" in found.source
    assert found.low == 0
