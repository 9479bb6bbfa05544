"""Sums of one-hot vectors and of subsets against brute force over all data sets; and pairs of laws in floats."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ldpaudit import Aggregate, Mechanism, Repeat, Run, Shuffle, account
from ldpaudit.accountants.aggregation import noisy_counts
from ldpaudit.accountants.aggregation.coordinate import Floats, Pair, TwoCoordinates, below_exp, largest_low
from ldpaudit.accountants.aggregation.exchanged import ExchangedProfile, OneOf
from ldpaudit.accountants.aggregation.hidden_total import HiddenTotal
from ldpaudit.accountants.aggregation.noisy_counts import NoisyCounts
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.mechanisms import BinomialNoise, DiscreteGaussian, DiscreteLaplace, Rappor, SubsetSelection, UnaryEncoding
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.independent_bits import binomial_law
from tests.helpers import some, typed
from tests.oracles.sums import Outcomes, worst
from tests.samples import near

F = Fraction
ROUNDED = F(1, 10**12)
"""Of floats."""
mechanisms = st.sampled_from(
    [
        KaryRandomizedResponse(2, F(2, 3)), KaryRandomizedResponse(3, F(1, 2)), KaryRandomizedResponse(4, F(4, 5)),
        SubsetSelection(3, 1, F(3, 4)), SubsetSelection(4, 2, F(2, 3)),
    ]
)


def noise_of(trials: int, p: Fraction, coordinates: int) -> Outcomes:
    """Of independent binomial noise on every coordinate."""
    one = dict(enumerate(binomial_law(trials, p)))
    return {places: math.prod((one[z] for z in places), start=F(1)) for places in product(one, repeat=coordinates)}


@given(mechanisms, st.integers(2, 3), st.sampled_from([F(1), F(6, 5), F(2), F(5)]), st.sampled_from([0, 1]))
@settings(max_examples=12, deadline=None)
def test_a_sum_costs_what_brute_force_over_all_data_sets_and_outcomes_finds(
    m: Mechanism, users: int, x: Fraction, trials: int
) -> None:
    p = F(1, 3)
    noise = [BinomialNoise(trials, p)] if trials else []
    truth = worst(m, users, x, noise=noise_of(trials, p, len(m.inputs)) if trials else None)
    assert near(account(Aggregate(m, users, noise)).delta(math.log(x)), truth, ROUNDED)


def test_two_noisy_counts_or_their_difference_tell_nearly_as_much_as_the_sum() -> None:
    m = KaryRandomizedResponse.for_epsilon(5, 8)
    without = account(Shuffle(m, 10**5)).epsilon(1e-9)
    noisy = account(Aggregate(m, 10**5, [DiscreteGaussian(F(85402, 10**4))])).epsilon(1e-9)
    assert noisy.high < 1.015 * noisy.low < 0.97 * without.low
    alone = account(Run(DiscreteLaplace(F(99, 100), (1, -1)))).epsilon(1e-9)
    noisy = account(Aggregate(m, 10**4, [DiscreteLaplace(F(99, 100))])).epsilon(1e-9)
    assert 0.85 * alone.high < noisy.low < noisy.high < 0.96 * alone.high
    left_out = account(Aggregate(SubsetSelection(6, 5, F(15, 16)), 1000, [DiscreteLaplace(F(9, 10))])).epsilon(1e-6)
    assert 0.0259 < left_out.low < left_out.high < 1.14 * left_out.low
    subsets = account(Aggregate(SubsetSelection(8, 3, F(3, 4)), 1000)).epsilon(1e-6)
    assert subsets.high == account(Shuffle(SubsetSelection(8, 3, F(3, 4)), 1000)).epsilon(1e-6).high
    assert 0.65 * subsets.high < subsets.low


@pytest.mark.few(1)
@pytest.mark.parametrize("m", [KaryRandomizedResponse(4, F(1, 2)), SubsetSelection(5, 2, F(1, 2))], ids=str)
def test_rounds_cost_more_and_users_less(m: Mechanism) -> None:
    noise = [DiscreteLaplace(F(1, 2))]
    one, two, more = (
        account(plan).epsilon(1e-4)
        for plan in (Aggregate(m, 10, noise), Repeat(Aggregate(m, 10, noise), 2), Aggregate(m, 40, noise))
    )
    assert 0 < more.low < one.low < two.low < two.high
    pure = account(Aggregate(m, 10, noise)).epsilon(0)
    assert one.low < pure.low < pure.high <= account(m).epsilon(0).high


def test_a_repeated_law_is_as_right_as_it_says() -> None:
    one, times = {-1: F(1, 10), 0: F(7, 10), 1: F(1, 5)}, 300
    found = Masses(-1, np.array(list(map(float, one.values()))), 1e-16, 0.0).times(times)
    scaled = reduce(np.convolve, [np.array([1, 7, 2], dtype=object)] * times)  # in tenths
    truth = {at: F(ways, 10**times) for at, ways in enumerate(scaled, -times)}
    listed = dict(enumerate(map(F, found.values.tolist()), found.first))
    error = F(found.error)
    assert error < 1e-11
    assert all(value * (1 - error) <= truth[at] for at, value in listed.items())
    left = sum(max(F(0), mass - listed.get(at, F(0)) * (1 + error)) for at, mass in truth.items())
    assert left <= found.outside < 1e-38


RATIOS = np.exp(np.linspace(-3, 3, 400))
"""Among them those next to which groups begin and end."""


def pair_of(seed: int, size: int, empty: int) -> Pair:
    """Two random laws, of which each leaves out `empty` integers."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
    p[:empty], q[-empty:] = 0, 0
    order = np.argsort(-np.divide(p, q, out=np.full(size, np.inf), where=q > 0))
    return Pair(p[order], q[order], 0.0, 0.0)


def divergence(pair: Pair, x: Floats) -> Floats:
    return np.asarray(np.maximum(pair.p[:, None] - x * pair.q[:, None], 0).sum(axis=0))


@pytest.mark.parametrize(("groups", "levels"), [(1, 0), (4, 0), (30, 0), (200, 0), (1, 20), (30, 40)])
@pytest.mark.parametrize("seed", range(5))
def test_a_spread_pair_dominates_and_a_coarse_pair_is_dominated(seed: int, groups: int, levels: int) -> None:
    pair = pair_of(seed, 300, 5)
    x = np.concatenate([RATIOS, pair.ratios[np.isfinite(pair.ratios) & (pair.ratios > 0)]])
    truth = divergence(pair, x)
    spread = pair.spread(groups, levels)
    assert (spread.high(x) >= truth).all()
    assert (pair.coarse(groups).low(x) <= truth).all()
    assert len(spread.p) <= 2 * (groups + levels) + 2


def test_a_spread_pair_is_near_where_groups_are_many() -> None:
    pair = pair_of(7, 4000, 5)
    assert (pair.spread(400, 0).high(RATIOS) <= divergence(pair, RATIOS) + 1e-3).all()
    assert pair.spread(4000, 0) is pair
    spread = pair.spread(50, 0)
    assert spread.p[spread.q == 0].sum() == pytest.approx(pair.p[pair.q == 0].sum(), rel=1e-9)


def test_all_pairs_of_two_coordinates_are_both_together() -> None:
    first, second = pair_of(1, 20, 2), pair_of(2, 30, 3)
    both = first.product(second)
    p, q = (np.outer(getattr(first, side), getattr(second, side)).ravel() for side in "pq")
    truth = np.maximum(p[:, None] - RATIOS * q[:, None], 0).sum(axis=0)
    assert (both.low(RATIOS) <= truth).all()
    assert (truth <= both.high(RATIOS)).all()
    assert (both.high(RATIOS) - both.low(RATIOS) < 1e-11).all()


@pytest.mark.parametrize(("k", "p", "left_out"), [
    (2, F(4, 5), False), (3, F(1, 2), False), (3, F(9, 10), False), (3, F(1, 5), True), (3, F(1, 4), True),
])  # fmt: skip
@pytest.mark.parametrize(("coins", "share"), [(2, F(1, 2)), (6, F(1, 3)), (3, F(1, 20))])
def test_the_ends_of_noisy_counts_contain_the_worst_of_all_data_sets(
    k: int, p: Fraction, left_out: bool, coins: int, share: Fraction
) -> None:
    """Of seven users, in floats: of one value, or of all but one, which is the value held with probability p."""
    m: Mechanism = SubsetSelection(k, k - 1, 1 - p) if left_out else KaryRandomizedResponse(k, p)
    users, noise = 7, BinomialNoise(coins, share)
    places = [tuple(int((i == y) != left_out) for i in range(k)) for y in range(k)]
    size = users + coins + 1

    def reported(law: Floats, x: int) -> Floats:
        """Of the sum with one more report of this value."""
        shifted = [np.roll(law, place, axis=range(k)) for place in places]
        return sum((float(p if y == x else (1 - p) / (k - 1)) * each for y, each in enumerate(shifted)), np.zeros_like(law))

    one = np.zeros(size)
    one[: coins + 1] = [float(each) for each in binomial_law(coins, share)]
    alone = reduce(np.multiply.outer, [one] * k)
    sums = [reduce(reported, held, alone) for held in combinations_with_replacement(range(k), users - 1)]
    pairs = [(reported(law, x), reported(law, y)) for law in sums for x, y in permutations(range(k), 2)]
    profile = account(Aggregate(m, users, [noise]))
    # All others hold the last value, or the first where it is reported less than others.
    alike = [reported(sums[0 if left_out else -1], x) for x in (0, 1)]
    for x in (1.0, 1.5, 4.0, 8.0):
        truth = max(float(np.maximum(first - x * second, 0).sum()) for first, second in pairs)
        found = profile.delta(math.log(x))
        assert found.low <= truth * (1 + 1e-9)
        # Where the value held is the least likely, most reports are no uniform draws, and told.
        assert truth * (1 - 1e-9) <= found.high <= (4 if left_out else 2) * truth + 1e-15
        assert found.low >= (0.5 if k == 2 or left_out else 0.7) * truth
        shown = max(float(np.maximum(a - x * b, 0).sum()) for a, b in permutations(alike))
        assert found.low >= 0.85 * shown - 1e-9


@pytest.mark.few(3)
@pytest.mark.parametrize(("k", "p", "users", "alpha", "reach"), [
    (3, F(1, 2), 5, F(1, 2), 28), (3, F(9, 10), 4, F(1, 2), 28), (3, F(1, 5), 4, F(1, 2), 28), (3, F(1, 10), 5, F(1, 2), 28),
    (4, F(4, 5), 4, F(1, 8), 8), (4, F(1, 8), 3, F(1, 8), 8),
])  # fmt: skip
def test_three_noisy_counts_tell_no_less_than_the_worst_of_all_data_sets_and_less_than_two_with_their_total(
    k: int, p: Fraction, users: int, alpha: Fraction, reach: int
) -> None:
    z, chances = np.arange(-reach, reach + 1.0), [float(p)] + [float((1 - p) / (k - 1))] * (k - 1)
    one = np.append(float((1 - alpha) / (1 + alpha)) * float(alpha) ** np.abs(z), np.zeros(users))

    def reported(law: Floats, x: int) -> Floats:
        return sum((chances[(y - x) % k] * np.roll(law, 1, axis=y) for y in range(k)), np.zeros_like(law))

    alone = reduce(np.multiply.outer, [one] * k)
    sums = [reduce(reported, held, alone) for held in combinations_with_replacement(range(k), users - 1)]
    pairs = [(reported(law, x), reported(law, y)) for law in sums for x, y in permutations(range(k), 2)]
    m: Mechanism = KaryRandomizedResponse(k, p) if p > F(1, k) else SubsetSelection(k, k - 1, 1 - p)
    profile = typed(ExchangedProfile, account(Aggregate(m, users, [DiscreteLaplace(alpha)])))
    hidden = typed(HiddenTotal, profile.above)
    for x in (1.0, 1.1, 1.3, 1.6):
        truth = max(float(np.maximum(first - x * second, 0).sum()) for first, second in pairs)
        bound, told = (each._high(math.log(x)) for each in (hidden, hidden.bound))
        assert truth <= bound * (1 + 1e-9) + 1e-7
        assert bound <= (1.1 if p > F(1, k) else 10) * truth + 1e-7
        assert bound <= told + 1e-9
        assert truth < 1e-4 or x == 1 or bound < 0.999 * told
    assert hidden._high(hidden.epsilon(F(1, 100)).high) <= 0.01


@pytest.mark.parametrize("p", [F(4, 5), F(1, 10)])
def test_noisy_counts_beyond_all_counts_tell_what_the_last_one_does(p: Fraction) -> None:
    """Listed one by one, what they tell of seven draws from three values is the same."""
    draws, alpha, x, least = 7, F(1, 2), 1.2, 1.3
    told = NoisyCounts(account(KaryRandomizedResponse(3, F(1, 2))), OneOf(3, p, (1 - p) / 2), 9, Masses.point(0))
    hidden = HiddenTotal(told, alpha, lambda: None)
    (mass, first, second, until), _ = hidden._means(draws, x, least) or ([], 0.0)
    y = np.arange(-30, 38)
    noise = Masses.discrete_laplace(alpha).at(y - np.arange(draws + 1)[:, None])
    seen: list[Floats] = [np.zeros((len(y),) * 3) for _ in range(3)]
    for a, b in product(range(draws + 1), repeat=2):
        if a + b <= draws:
            c = draws - a - b
            chance = math.factorial(draws) / math.prod(map(math.factorial, (a, b, c))) / 3**draws
            law = chance * reduce(np.multiply.outer, noise[[a, b, c]])
            seen = [each + law * part for each, part in zip(seen, (1, a / draws, b / draws), strict=True)]
    both = [(f - x * s if p > F(1, 3) else x * f - s) - (x - 1) * least * m for m, f, s in ((mass, first, second), seen)]
    gains = [np.maximum(each, 0).sum() for each in both]
    assert gains[0] == pytest.approx(gains[1], rel=1e-6, abs=1e-9)
    assert (until <= -x).all()


@pytest.mark.parametrize("noise", [Masses.discrete_laplace(F(1, 2)), Masses.binomial(9, F(1, 4))], ids=["even", "skewed"])
def test_with_a_coin_more_a_coin_is_known_less_in_convex_order(noise: Masses) -> None:
    thresholds = np.linspace(0, 0.5, 101)
    shared, means = some(noisy_counts._shared(noise)), []
    for coins in (1, 2, 3, 7, 8, 40):
        known = some(noisy_counts._excess(coins, noise, shared))
        means.append(np.interp(thresholds, known.at, known.mean, right=0.0))
    assert all((more <= fewer + 1e-4).all() for fewer, more in pairwise(means))
    assert (means[0] - means[-1]).max() > 0.05


@pytest.mark.parametrize(("p", "q"), [(F(1, 2), F(1, 4)), (F(1, 2), F(1, 150)), (F(99, 100), F(1, 3)), (F(9, 10), F(1, 10))])
def test_others_who_hold_one_of_two_values_set_one_of_two_bits_each(p: Fraction, q: Fraction) -> None:
    """All data sets of 60 users, in floats: where many set the first bit, few set the second."""
    users = 60

    def holding(m: int, own: Fraction) -> Floats:
        laws = [binomial_law(m, p), binomial_law(users - 1 - m, q), (1 - own, own)]
        return reduce(np.convolve, [np.array([float(mass) for mass in law]) for law in laws])

    pairs = [
        (np.outer(holding(m, p), holding(users - 1 - m, q)), np.outer(holding(m, q), holding(users - 1 - m, p)))
        for m in range(users)
    ]
    profile = account(Aggregate(UnaryEncoding(2, p, q), users))
    for epsilon in (0.0, 0.5, 1.5):
        truth = max(float(np.maximum(first - math.exp(epsilon) * second, 0).sum()) for first, second in pairs)
        found = profile.delta(epsilon)
        assert found.low <= truth * (1 + 1e-9)
        assert truth * (1 - 1e-9) <= found.high <= 1.08 * truth


@pytest.mark.parametrize("rounds", [1, 2, 3, 6, 7])
def test_rounds_are_multiplied_by_squaring_and_stay_below_all_of_them_together(rounds: int) -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    power = TwoCoordinates(Pair(p, q, 0.0, 0.0).power(rounds))
    first, second = (reduce(np.multiply.outer, [law] * rounds).ravel() for law in (p, q))
    for x in (1.0, 1.5, 4.0):
        truth = float(np.maximum(first - x * second, 0).sum())
        assert 0.98 * truth <= largest_low([power], math.log(x)) <= truth * (1 + 1e-12)


def test_reports_that_tell_nothing_cost_nothing_with_noise() -> None:
    profile = account(Aggregate(KaryRandomizedResponse(3, F(1, 3)), 5, [BinomialNoise(4, F(1, 2))]))
    assert profile.delta(0.5).high == profile.epsilon(1e-6).high == 0


@pytest.mark.parametrize("users", [12, 40])
def test_a_third_value_that_sets_both_bits_is_held_by_others(users: int) -> None:
    """RAPPOR's signatures of three values, of which the first and the last differ in one bit each way, and the second sets both."""
    m = Rappor(2, 2, F(1, 100), F(1, 2), F(99, 100), domain=3)
    assert [m.signature(x).tolist() for x in m.inputs] == [[1, 0], [1, 1], [0, 1]]
    one, zero = (np.array([float(p) for p in m.bit_law(bit)]) for bit in (1, 0))
    others = reduce(np.convolve, [one] * (users - 1))
    first, second = (np.outer(np.convolve(others, a), np.convolve(others, b)) for a, b in ((one, zero), (zero, one)))
    profile = account(Aggregate(m, users))
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        assert np.maximum(first - math.exp(epsilon) * second, 0).sum() <= profile.delta(epsilon).high * (1 + 1e-9)


@pytest.mark.parametrize(("users", "p"), [(1, F(1, 3)), (40, F(1, 3)), (1000, F(1, 3))])
def test_slices_of_a_law_are_all_of_it(users: int, p: Fraction) -> None:
    law = Masses.binomial(users, p)
    chances, starts = law.slices(0.1, 0.5, 1e-3)
    exact = [float(mass) for mass in binomial_law(users, p)]
    for chance, (start, end) in zip(chances, pairwise([*starts, users + 1]), strict=True):
        assert sum(exact[start:end]) - law.outside <= chance <= sum(exact[start:end]) * (1 + 1e-9)
        part = 0.1 if 1e-3 < sum(exact[: start + 1]) < 0.99 else 0.5
        assert end - start <= max(1, part * start) or end == users + 1


def test_an_epsilon_that_is_no_float_is_rounded_to_the_safe_side() -> None:
    """Between two floats: the one below is for upper ends, the one above for lower ends."""
    below, between, above = 50.0, F(50) + F(5, 1 << 50), math.nextafter(50.0, 51)
    assert float(between) == above
    pair = TwoCoordinates(Pair(np.array([1.0]), np.array([math.exp(-50.5)]), 0.0, 0.0))
    assert below_exp(between) == below_exp(below) < below_exp(above)
    assert largest_low([pair], between) == largest_low([pair], above) < largest_low([pair], below)
    assert largest_low([pair], F(50) + F(1, 1 << 50)) == largest_low([pair], above)
    two = [TwoCoordinates(pair_of(1, 20, 1)).renyi_low(F(order)) for order in (2, F(2) + F(1, 1 << 60), math.nextafter(2, 3))]
    assert two[0] == two[1] < two[2]


def test_a_renyi_divergence_of_which_floats_tell_nothing_is_at_least_0() -> None:
    apart = Pair(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0, 0.0)
    assert TwoCoordinates(apart).renyi_low(F(2)) == TwoCoordinates(pair_of(1, 20, 1)).renyi_low(F(10**17)) == 0
