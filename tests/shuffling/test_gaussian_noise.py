"""Shuffled numbers plus Gaussian noise: a table, quadrature, convolution, few users by integration; and laws of either noise."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import norm

from ldpaudit import Enclosure, Repeat, Run, Shuffle, Subsample, Unsupported, account
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.positive_part import positive_part
from ldpaudit.accountants.shuffling.blanket import precision
from ldpaudit.accountants.shuffling.gaussian_cells import Guide
from ldpaudit.accountants.shuffling.gaussian_noise import _blanket, _Cut, _Focused, _near
from ldpaudit.accountants.shuffling.gaussian_types import Line, below
from ldpaudit.accountants.shuffling.laplace_noise import CutBlanket
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import GaussianReport, Laplace
from tests.helpers import raises, some
from tests.oracles.shuffle import short_of_mixtures
from tests.shuffling import test_laplace_noise as sharp
from tests.shuffling.test_laplace_noise import shuffled

F = Fraction
Floats = NDArray[np.float64]
Noise = GaussianReport | Laplace
ONE = GaussianReport(F(1))
PRINTED = 1e-7
"""Relative precision of the table's digits."""
CUT, APART = {10**3: 2e-3, 10**4: 5e-4, 10**6: 2e-4}, {10**3: 0.1, 10**4: 0.01, 10**6: 2e-3}
"""By how much of themselves cells may move the lower end, and the upper end may lie above the truth."""
SHOWN = 0.02
"""By how much of itself the blanket's delta may lie above the table's, of cells that are a tenth of a deviation wide."""
INTEGRAL = 2e-3
"""Relative error of sums that stand for integrals: their steps are a tenth of a deviation."""

# Epsilon at delta = 1e-6: all others hold 0, and user 1 does under the first data set, or under the second one; others hold 1/2;
# the blanket. The first column by an integral in 30 digits.
TABLE = {
    10**3: (0.149430955, 0.1717287, 0.116573367, 0.212235449),
    10**4: (0.044512455, 0.0458222, 0.033862987, 0.060095148),
    10**6: (0.0036659053, 0.0036744447, 0.0027339758, 0.0049225988),
}


def bounds(s: Fraction, users: int) -> _Cut:
    return _near(s, (0.0, float(s)), users, False, 1e-6)


@cache
def hidden(m: Noise, users: int) -> Enclosure:
    """Its epsilon at delta = 1e-6 among so many users, which several laws ask for."""
    return account(Shuffle(m, users)).epsilon(1e-6)


NOISES = [(ONE, TABLE, CUT, APART), (sharp.ONE, sharp.TABLE, dict.fromkeys(TABLE, sharp.CUT), sharp.REPLACED)]
BOTH = pytest.mark.parametrize("m", [ONE, sharp.ONE], ids=str)


@pytest.mark.few(2)
@pytest.mark.parametrize("users", [10**3, 10**6, pytest.param(10**4, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("m", "table", "cut", "apart"), NOISES, ids=["Gaussian", "Laplace"])
def test_epsilon_is_that_of_the_best_data_set_or_little_more_and_below_the_blanket(
    m: Noise, table: dict[int, tuple[float, ...]], cut: dict[int, float], apart: dict[int, float], users: int
) -> None:
    found = hidden(m, users)
    *attained, blanket = table[users]
    assert max(attained) * (1 - cut[users]) <= found.low <= max(attained) * (1 + PRINTED)
    assert max(attained) * (1 - PRINTED) <= found.high <= min(max(attained) * (1 + apart[users]), blanket)


@pytest.mark.parametrize("users", [10**6, 10**3, pytest.param(10**4, marks=pytest.mark.slow)])
def test_every_data_set_and_the_blanket_reach_delta_where_the_table_has_it(users: int) -> None:
    kept, changed, _, hidden = bounds(F(1), users).data_sets
    *attained, above = TABLE[users]
    with working_precision(precision(users)):
        for data_set, epsilon in zip((kept, changed, hidden), attained, strict=True):
            at, before = (data_set.blanket.delta(ball(F(epsilon * by)).exp(), users, 1e-5) for by in (1 + PRINTED, 1 - CUT[users]))
            assert at.lower() < 1e-6 < before.lower()
        blanket = CutBlanket(_blanket(F(1), Guide(1.0, users, 1e-6).blanket_cuts(192)), 1 - 2 * below(F(-1, 2)))
        assert 1e-6 < blanket.delta(ball(F(above * (1 - PRINTED))).exp(), users, 1e-4).upper() < 1e-6 * (1 + SHOWN)


def in_cells(x: float, cuts: Floats) -> Floats:
    """Probabilities of a report of x, right to their last digits on both sides."""
    found: Floats = np.where(cuts[:-1] < x, np.diff(ndtr(cuts - x)), -np.diff(ndtr(x - cuts)))
    return found


def convolved(laws: tuple[float, ...], users: int, epsilon: float, step: float = 0.02, size: int = 1 << 19) -> float:
    """Delta where user 1 holds one of the first two numbers, and all others the third: W is spread to a lattice, and convolved."""
    first, second, others = (in_cells(x, np.linspace(-9, 9, 100_001)) for x in laws)
    keep = others > 1e-40
    values, law = (first - math.exp(epsilon) * second)[keep] / others[keep] / step, np.zeros(size)
    places = np.floor(values).astype(int)
    np.add.at(law, places % size, others[keep] * (1 - values + places))
    np.add.at(law, (places + 1) % size, others[keep] * (values - places))
    found = np.fft.irfft(np.fft.rfft(law) ** users, size)[: size // 2]
    return float(found @ np.arange(size // 2)) * step / users


@pytest.mark.parametrize(
    ("laws", "epsilon"), [((1.0, 0.0, 0.0), 0.1717287), ((0.0, 1.0, 0.0), 0.149430955), ((0.0, 1.0, 0.3), 0.12)]
)
def test_delta_of_a_thousand_users_is_around_what_convolution_on_a_lattice_says(
    laws: tuple[float, float, float], epsilon: float
) -> None:
    found, truth = account(Shuffle(ONE, 1000)).delta(epsilon), convolved(laws, 1000, epsilon)
    assert truth * (1 - 1e-3) <= found.high
    if laws[2] == 0.0:  # the lattice adds a little
        assert truth == pytest.approx(1e-6, rel=1e-3)
    if laws == (1.0, 0.0, 0.0):  # the worst of them
        assert truth * (1 - 0.05) <= found.low <= truth
        assert found.high <= 4 * truth
        _near.cache_clear()
        assert account(Shuffle(ONE, 1000)).bound.high(Fraction(epsilon), 1e-2) > 0  # type: ignore[attr-defined]
        assert _near.cache_info().misses == 1, "cells for a larger delta are made only where those for this one show little"


def reports(x: float, s: float, pieces: int = 80) -> Floats:
    """Probabilities of narrow intervals and of both tails."""
    cuts = np.concatenate([[-np.inf], np.linspace(-4, s + 4, pieces + 1), [np.inf]])
    return np.diff(norm.cdf(cuts - x))


@pytest.mark.few(2)
@pytest.mark.parametrize(("users", "drawn", "epsilon"), [
    (3, 2, 0.2), (2, 2, 0.0), (2, 2, 0.5), pytest.param(3, 3, 0.3, marks=pytest.mark.slow),
])  # fmt: skip
@pytest.mark.parametrize("s", [0.5, 1.0, 2.0])
def test_few_users_by_integration_over_data_sets_of_five_numbers(users: int, drawn: int, epsilon: float, s: float) -> None:
    """Of all users, or of a secret sample of them."""
    held = {x: reports(x, s) for x in (0.0, s, s / 2, 0.1 * s, 0.8 * s)}
    of_batch = cache(lambda *batch: shuffled(*(held[x] for x in batch)))

    def divergence(first: float, second: float, others: Sequence[float]) -> float:
        one, other = (np.mean([of_batch(*each) for each in combinations((x, *others), drawn)], axis=0) for x in (first, second))
        return float(np.maximum(one - math.exp(epsilon) * other, 0).sum())

    pairs = [(0.0, s), (s, 0.0)] if users == 3 else list(permutations(held, 2))
    others = [each for each in product(held, repeat=users - 1) if list(each) == sorted(each)]
    truth = max(divergence(*pair, each) for pair in pairs for each in others)
    shuffle = Shuffle(GaussianReport(1 / F(s)), drawn)
    found = account(shuffle if drawn == users else Subsample(shuffle, users, drawn)).delta(epsilon)
    assert found.low <= truth * (1 + INTEGRAL)
    assert truth <= found.high
    assert found.low >= truth * (0.75 if users == 2 else 0.4)  # others may hold different numbers


def stop_loss(values: Floats, masses: Floats, c: Floats) -> Floats:
    return np.maximum(values[:, None] - c, 0).T @ masses


@pytest.mark.few(3)
@pytest.mark.parametrize("s", [0.25, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_any_three_numbers_are_below_a_mixture_of_types_in_the_convex_order(s: float, seed: int) -> None:
    """User 1's two inputs and another user's, seen in cells, which tell less; the mixture is found by linear programming."""
    rng, cells = np.random.default_rng(seed), np.linspace(-8, s + 8, 2001)
    epsilon = (0.02, 0.3, 1.0)[seed]
    e = math.exp(epsilon)
    with working_precision(200):
        exact = ball(F(epsilon)).exp()
        line = Line.of(F(s), [F(each) for each in np.linspace(-7, s + 7.5, 400).tolist()], 0.02)
        laws, added = line.terms(exact, 0.0)
        assert len(laws) == len(line.held)
    corners = [(0, 1, 0), (1, 0, 0), (0, 1, 1), (1, 0.05, 0), (1, 0.6, 0), (1, 0.99, 0), (0.3, 1, 0), (0.95, 1, 0), (0.2, 0.5, 0.9)]
    for x1, x2, x in s * np.array([*corners, *rng.uniform(0, 1, (10, 3))]):
        first, second, masses = (in_cells(z, cells) for z in (x1, x2, x))
        values = (first - e * second) / masses
        c = np.concatenate([np.linspace(-e * math.exp(s * s), math.exp(s * s), 60), np.linspace(-2 * e, 2, 60)])
        truth = stop_loss(values, masses, c)
        above = np.stack([stop_loss(each.values, each.masses, c) for each in laws], axis=1)
        assert short_of_mixtures(truth, above) <= float(added) + 1e-8 * math.exp(s * s), (x1, x2, x)


@pytest.mark.parametrize(("s", "epsilon"), [(1.0, 0.17), (1.0, 1.0), (2.0, 0.5), (0.5, 2.0)])
def test_the_type_of_a_user_outside_has_the_calls_of_one_law_and_the_larger_puts_of_two(s: float, epsilon: float) -> None:
    """Of :math:`f_0/f_s - E` and of :math:`(1 - E) f_0/f_s`, in closed form."""
    e, k = math.exp(epsilon), np.geomspace(1e-3, 1e3, 200)
    with working_precision(200):
        found = Line.of(F(s), [F(each) for each in np.linspace(-8, s + 8, 1200).tolist()], 0.1).outside(ball(F(epsilon)).exp())
    below = s / 2 - np.log(np.maximum(e - k, 1e-300)) / s, s / 2 - np.log(k / (e - 1)) / s
    own = np.where(k < e, (e - k) * ndtr(s - below[0]) - ndtr(-below[0]), 0)
    equal = (e - 1) * ndtr(below[1]) - k * ndtr(below[1] - s)
    puts, truth = np.maximum(-k - found.values[:, None], 0).T @ found.masses, np.maximum(own, equal)
    assert (equal > own).any()
    assert (own > equal).any()
    assert (truth - 1e-9 <= puts).all()
    assert puts == pytest.approx(truth, rel=1e-2, abs=1e-5)
    end = s / 2 - np.log(e + k) / s
    assert stop_loss(found.values, found.masses, k) == pytest.approx(ndtr(end) - (e + k) * ndtr(end - s), rel=1e-2, abs=1e-6)


def test_all_laws_sum_to_one_and_no_part_is_negative() -> None:
    for s, users in ((F(1, 100), 100), (F(1), 10**4), (F(5, 3), 50)):
        found = bounds(s, users)
        with working_precision(precision(users)):
            sharp.require_laws(found)
            line = Line.of(s, Guide(float(s), users, 1e-6).all_cuts(48), 0.05)
            for law in line.terms(ball(F(1, 10)).exp(), 1e-9)[0]:
                assert math.fsum(law.masses) == pytest.approx(1, abs=1e-15)
                assert (law.masses >= 0).all()


@pytest.mark.parametrize("users", [5, pytest.param(17, marks=pytest.mark.slow)])
def test_few_users_are_told_apart_by_whether_a_report_lies_far_out(users: int) -> None:
    """By the closed form of that event, at the best of some thresholds."""
    found, t = account(Shuffle(ONE, users)).epsilon(1e-6), np.linspace(1, 9, 2000)
    own, other = ndtr(1 - t), ndtr(-t)

    def told(epsilon: float) -> float:
        one = 1 - (1 - own) * (1 - other) ** (users - 1)
        return float((one - math.exp(epsilon) * -np.expm1(users * np.log1p(-other))).max())

    assert told(found.low) <= 1e-6 * (1 + 0.05) <= told(found.low * 0.98) * 1.1
    assert found.high < 1.5 * found.low


@pytest.mark.few(1)
@BOTH
def test_delta_falls_with_epsilon_and_no_less_than_alone_is_enough_for_none(m: Noise) -> None:
    profile = account(Shuffle(m, 10**6))
    deltas = [profile.delta(epsilon) for epsilon in (0, 1e-20, 0.003, 1, 80, math.inf)]
    assert all(near.low >= far.low and near.high >= far.high for near, far in pairwise(deltas))
    assert deltas[-1].high == 0
    assert profile.epsilon(0).low == account(m).epsilon(0).low


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("users", "delta", "apart"), [(10**6, 1e-3, 1.0), (10**6, 1e-12, 1.02), *(pytest.param(*each, marks=pytest.mark.slow)
     for each in ((10**9, 1e-6, 1.01), (1000, 1e-9, 1.15)))],
)  # fmt: skip
def test_cells_are_made_for_the_delta_that_is_asked_for(users: int, delta: float, apart: float) -> None:
    found = account(Shuffle(ONE, users)).epsilon(delta)
    assert found.low <= found.high <= apart * found.low


@pytest.mark.parametrize("kind", [GaussianReport, Laplace])
def test_the_witness_is_a_pair_of_data_sets_whose_other_users_all_hold_one_end(kind: type[Noise]) -> None:
    witness = some(account(Shuffle(kind(F(3), F(2), F(5)), 1000)).witness(0.1))
    assert {frozenset(each.counts) for each in witness.pair} == {frozenset({(2.0, 1000)}), frozenset({(2.0, 999), (5.0, 1)})}


@pytest.mark.parametrize("sigma", [F(1, 5), F(10**4)])
def test_ends_too_near_or_too_far_apart_cost_what_they_do_alone_or_a_crowd_less(sigma: Fraction) -> None:
    m = GaussianReport(sigma)
    found, alone = hidden(m, 10**6), account(m).epsilon(1e-6)
    assert found.low == pytest.approx(max(0, alone.low - math.log(10**6)), rel=1e-9)
    assert found.high == pytest.approx(alone.high, rel=1e-6)


@pytest.mark.parametrize(("sigma", "users", "delta"), [
    (F(1, 4), 2, 1e-40), pytest.param(F(1, 3), 1000, 1e-6, marks=pytest.mark.slow),
])  # fmt: skip
def test_far_ends_are_hidden_by_hardly_anybody(sigma: Fraction, users: int, delta: float) -> None:
    found, alone = (account(plan).epsilon(delta) for plan in (Shuffle(GaussianReport(sigma), users), GaussianReport(sigma)))
    assert 0.6 * found.high < found.low < found.high <= alone.high


@pytest.mark.slow
def test_the_blanket_is_found_to_hide_far_ends_where_no_float_says_so() -> None:
    assert account(Shuffle(GaussianReport(F(1, 3)), 10**7)).epsilon(1e-6).high < 4


def test_a_bundle_is_refused() -> None:
    raises(Unsupported, "shuffling theorems need it finite", account, Shuffle(Repeat(Run(ONE), 2), 100))


@pytest.mark.parametrize("users", [200, 400])
def test_a_sum_of_values_none_of_which_is_likely_is_known(users: int) -> None:
    """Eighty equally likely values on a lattice: by convolution."""
    values = np.arange(-50, 30)
    law = reduce(lambda one, _: np.convolve(one, np.full(80, 1 / 80)), range(users), np.ones(1)) if users == 200 else None
    with working_precision(192):
        found = positive_part([(ball(int(v)), ball(F(1, 80))) for v in values], users, 1e-4)
    assert found > 0
    assert found.rad() <= found.mid() * 1e-2
    if law is not None:
        truth = float(law @ np.maximum(np.arange(len(law)) - 50 * users, 0))
        assert abs(found.mid() - truth) <= found.rad() + 1e-9 * truth


@pytest.mark.slow
@pytest.mark.parametrize("m", [pytest.param(ONE, marks=pytest.mark.slow), sharp.ONE], ids=str)
def test_shuffles_of_noise_compose(m: Noise) -> None:
    once, thrice = hidden(m, 10**6), account(Repeat(Shuffle(m, 10**6), 3)).epsilon(1e-6)
    assert once.low < thrice.low < thrice.high < 3 * once.high


@pytest.mark.parametrize("delta", [1e-9, 1e-12, 1e-16])
def test_a_curve_from_which_rounds_are_composed_knows_small_deltas(delta: float) -> None:
    bound, found = _Focused(F(1, 2), (0.0, 0.5), 10**4, is_quick=True), account(Shuffle(GaussianReport(F(2)), 10**4)).epsilon(delta)
    low, high = bound.attained(F(found.low), 1e-2).value, bound.high(F(found.low), 1e-2)
    assert delta * 0.9 < low < high < delta * 1.2
