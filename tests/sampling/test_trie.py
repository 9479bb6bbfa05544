"""Sampling and a threshold, against enumeration over all data sets in rationals."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, permutations

import flint
import mpmath
import pytest

from ldpaudit import Neighbours, PrivacyProfile, Rigour, Unsupported
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.sampling import rounds
from ldpaudit.accountants.sampling.other_prefixes import critical, mean_verge, tail, verge, verge_leak
from ldpaudit.accountants.sampling.other_prefixes_low import OtherPrefixes, other_prefixes_excess
from ldpaudit.accountants.sampling.theorems import sample_and_threshold, triehh_corollary_1, triehh_corollary_2, triehh_theorem_1
from ldpaudit.accountants.sampling.thresholded import FixedBatch, PoissonBatch, Sampling, single_prefix, worst_holders
from ldpaudit.accountants.sampling.trie import ThresholdProfile, WorstCase, largest_batch, prefix_cost
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, USER_LEVEL
from tests.helpers import at_most, raises, some, typed
from tests.oracles.trie import at_least, divergence, heads, joined, law

EPSILONS = (0.0, 0.05, 0.3, 1.0, 3.0)
FLOAT_OF_EXP = Fraction(1, 10**9)
"""The oracle takes a float for e**epsilon: delta moves by less than this, relatively."""

def worst_case(profile: ThresholdProfile, epsilon: float) -> WorstCase:
    return some(profile.worst_case(epsilon))


@cache
def votes(groups: tuple[int, ...], batch: int) -> dict[tuple[int, ...], Fraction]:
    """Law of the groups' numbers of sampled users, by counting samples."""
    ways: dict[tuple[int, ...], int] = {(): 1}
    for size in groups:
        ways = {(*v, j): w * math.comb(size, j) for v, w in ways.items() for j in range(min(size, batch - sum(v)) + 1)}
    total = math.comb(sum(groups), batch)
    return {v: Fraction(w, total) for v, w in ways.items() if sum(v) == batch}


def holds(profile: PrivacyProfile, epsilon: float, truth: Fraction) -> bool:
    found = profile.delta(epsilon)
    return found.low <= truth * (1 + FLOAT_OF_EXP) and truth <= Fraction(found.high) * (1 + FLOAT_OF_EXP)


@pytest.mark.parametrize("n", [3, 5, 8, 11])
def test_the_worst_number_of_holders_is_where_the_formula_says(n: int) -> None:
    for m in range(1, n + 1):
        for t in range(1, m + 1):
            for c in (Fraction(9, 10), Fraction(1), Fraction(101, 100), Fraction(3, 2), Fraction(9)):
                excess = [at_least(n + 1, w + 1, m, t) - c * at_least(n, w, m, t) for w in range(n + 1)]
                with flint.ctx.workprec(128):
                    found, w = single_prefix(FixedBatch(n, m), t, c)
                    assert found.overlaps(ball(max(excess)))
                    assert found.rad() < 1e-30
                assert excess[w] == max(excess)


def test_the_worst_number_of_holders_is_not_always_one_short_of_the_threshold() -> None:
    assert worst_case(ThresholdProfile(FixedBatch(10**4, 100), 10), 0.105).holders == (82,)


def test_where_any_of_three_numbers_of_holders_may_be_the_worst_the_cost_is_enclosed() -> None:
    batch, c = FixedBatch(1000, 100), Fraction(1109, 1000)
    with flint.ctx.workprec(128):
        near = flint.arb(ball(c).mid(), 0.005)
        assert worst_holders(batch, 9, near) == (41, 43)
        assert (found := single_prefix(batch, 9, near)[0]).is_finite()
        assert found.contains(single_prefix(batch, 9, c)[0])


def test_who_holds_many_words_may_vote_for_a_rare_one_in_every_round() -> None:
    """Whatever is released, nearly all words that the user may vote for have a prefix of this round that three others hold."""
    shown = Fraction(math.comb(1001 - 4, 100 - 4), math.comb(1001, 100))  # the three and the user are drawn
    attained = 1 - (1 - shown * Fraction(999, 1000)) ** 4  # without the user never
    assert attained < ThresholdProfile(FixedBatch(1000, 100), 4, 4, words=10**12).delta(5).high < attained * Fraction(101, 100)


def path(holders: Sequence[int], s: Fraction, t: int) -> list[Fraction]:
    """Law of how many of nested prefixes are released, of this many holders, with Poisson sampling."""
    found, alive = [], Fraction(1)
    for w in holders:
        g = heads(w, s, t)
        found.append(alive * (1 - g))
        alive *= g
    return [*found, alive]


@pytest.mark.parametrize(("n", "s", "t", "levels"), [
    (12, Fraction(1, 5), 3, 1), (12, Fraction(1, 5), 3, 2), (30, Fraction(1, 20), 3, 2), (9, Fraction(1, 2), 4, 3),
])  # fmt: skip
def test_poisson_sampling_holds_over_all_nested_prefixes(n: int, s: Fraction, t: int, levels: int) -> None:
    # Votes are independent, so nobody else's prefix matters.
    profile = ThresholdProfile(PoissonBatch(n, s), t, levels)
    laws = [(path(ws, s, t), path([w + 1 for w in ws], s, t)) for ws in combinations_with_replacement(range(n, -1, -1), levels)]
    for epsilon in EPSILONS:
        c = Fraction(math.exp(epsilon))
        truth = max(divergence(dict(enumerate(x)), dict(enumerate(y)), c) for p, q in laws for x, y in ((p, q), (q, p)))
        assert holds(profile, epsilon, truth)
        if levels == 1:
            assert profile.delta(epsilon).rigour is Rigour.EXACT
            assert profile.delta(epsilon).relative_width < 1e-9
        elif epsilon == 3 and s < Fraction(1, 2):
            assert profile.delta(epsilon).high < 1.3 * truth


def test_with_poisson_sampling_showing_the_counts_costs_no_more() -> None:
    n, s, t = 15, Fraction(1, 4), 3

    def counts(w: int) -> dict[int, Fraction]:
        return dict(enumerate([1 - heads(w, s, t), *(heads(w, s, j) - heads(w, s, j + 1) for j in range(t, n + 2))]))

    laws = [counts(w) for w in range(n + 2)]
    for epsilon in EPSILONS:
        c = Fraction(math.exp(epsilon))
        worst = max(divergence(x, y, c) for neighbours in pairwise(laws) for x, y in permutations(neighbours))
        assert holds(ThresholdProfile(PoissonBatch(n, s), t), epsilon, worst)


def test_poisson_replacement_stays_within_its_enclosure() -> None:
    n, s, t = 7, Fraction(1, 4), 2
    profile = ThresholdProfile(PoissonBatch(n, s), t, neighbours=REPLACE_ONE)
    g = [heads(w, s, t) for w in range(n + 1)]
    for epsilon in EPSILONS:
        c, worst = Fraction(math.exp(epsilon)), Fraction(0)
        for v in range(n):
            for w in range(n - v):
                # The user leaves a prefix of v others for one of w others.
                p = [a * b for a in (g[v], 1 - g[v]) for b in (g[w + 1], 1 - g[w + 1])]
                q = [a * b for a in (g[v + 1], 1 - g[v + 1]) for b in (g[w], 1 - g[w])]
                worst = max(worst, divergence(dict(enumerate(p)), dict(enumerate(q)), c))
        assert holds(profile, epsilon, worst)


def test_theorem_1_fails_at_ten_thousand_users_too() -> None:
    n, m, t = 10**4, 100, 20
    epsilon, delta = triehh_theorem_1(n, m, t, 1)
    assert ThresholdProfile(FixedBatch(n, m), t).delta(epsilon.high).low > 10**6 * delta.high


def test_the_probability_that_nothing_is_released_is_counted_right() -> None:
    n, m, t, c = 14, 6, 3, Fraction(3, 2)
    data = tuple(((word,), size) for word, size in zip("uabxyz", (2, 5, 4, 1, 1, 1), strict=True))
    # The user's prefix is released, or nothing is.
    laws = [law(each, m, t, 1) for each in (data, joined(data, "u"))]
    p, q = (sum((x for trie, x in each.items() if "u" in trie or not trie), Fraction(0)) for each in laws)
    with flint.ctx.workprec(128):
        found = other_prefixes_excess(FixedBatch(n, m), t, ball(c), OtherPrefixes(holders=2, prefixes=2, loners=3))
        assert found.overlaps(ball(q - c * p))
        assert found.rad() < 1e-30


@pytest.mark.parametrize("groups", [(15, 15), (10, 10, 10), (6, 6, 6, 6, 6), (20, 4, 3, 2, 1), (13, 9, 5, 3)])
def test_prefixes_are_on_the_verge_no_more_often_than_bounded(groups: tuple[int, ...]) -> None:
    n, m, t = 30, 10, 4
    sampling = FixedBatch(n, m)
    drawn = votes(groups, m - 1)

    def rho(v: tuple[int, ...]) -> Fraction:
        verge = sum(size - x for size, x in zip(groups, v, strict=True) if x == t - 1)
        return 1 - Fraction(verge, n - m + 1)

    assert sum(p * (1 - rho(v)) for v, p in drawn.items()) <= Fraction(float(mean_verge(sampling, t).upper()))
    for kappa in (1, 2, 5, 30):
        leak = sum(p * max(Fraction(0), 1 - kappa * rho(v)) for v, p in drawn.items())
        assert leak <= Fraction(float(verge_leak(sampling, t, flint.arb(kappa)).upper()))
    for part in (0.2, 0.5, 0.8):
        assert sum(p for v, p in drawn.items() if rho(v) < part) <= Fraction(float(tail(verge(sampling, t), 1 - part).upper()))
        share = sum(p for v, p in votes(groups, m).items() if Fraction(t * v.count(t), m) > part)
        assert share <= Fraction(float(tail(critical(sampling, t), part).upper()))


def test_the_bounds_on_other_prefixes_are_not_trivial() -> None:
    sampling = FixedBatch(10**6, 10**4)
    with flint.ctx.workprec(64):
        assert tail(verge(sampling, 10), 0.5) < 1e-100
        assert tail(critical(sampling, 10), 0.5) < 1e-100
        assert verge_leak(sampling, 10, flint.arb(3)) < 1e-100


@pytest.mark.parametrize("users", [10**4, 10**6, 10**8, 10**10])
def test_table_1_of_triehh_is_valid_though_loose(users: int) -> None:
    threshold, _, delta = triehh_corollary_1(users, 1)
    batch = math.isqrt(users)
    for levels in (1, 10):
        claimed, sharper = triehh_theorem_1(users, batch, threshold, levels)
        assert sharper.high <= delta.low
        found = ThresholdProfile(FixedBatch(users, batch), threshold, levels).delta(claimed.low)
        assert found.high <= sharper.low
        assert found.high < sharper.low / 50 or levels == 10


def test_the_upper_bound_over_ten_levels_is_near_the_lower_one() -> None:
    found = ThresholdProfile(FixedBatch(10**8, 10**4), 14, 10).delta(0.014)
    assert found.relative_width < 0.1
    assert found.rigour is Rigour.INTERVAL


def test_more_levels_more_votes_for_all_and_several_values_never_cost_less() -> None:
    def high(levels: int, words: int = 1) -> float:
        return ThresholdProfile(FixedBatch(10**6, 10**3), 12, levels, words=words).delta(0.02).high

    assert high(1) <= high(2) <= high(5) <= high(5, words=2)


def release_chance(sampling: Sampling, users: int, holders: int, votes_needed: int) -> mpmath.mpf:
    """P[at least so many votes], term by term."""

    def pmf(j: int) -> mpmath.mpf:
        if isinstance(sampling, PoissonBatch):
            s = mpmath.mpf(sampling.coin.numerator) / sampling.coin.denominator
            return mpmath.binomial(holders, j) * s**j * (1 - s) ** (holders - j)
        m = typed(FixedBatch, sampling).batch
        return mpmath.binomial(holders, j) * mpmath.binomial(users - holders, m - j) / mpmath.binomial(users, m)

    return mpmath.fsum(pmf(j) for j in range(votes_needed, min(holders, votes_needed + 250) + 1))


@pytest.mark.parametrize(
    ("sampling", "threshold", "epsilon"),
    [(FixedBatch(10**12, 10**6), 18, 1e-5), (FixedBatch(10**9, 10**7), 60, 0.4),
     (PoissonBatch(10**12, Fraction(1, 1000)), 40, 0.05)],
)  # fmt: skip
def test_one_prefix_agrees_with_mpmath_at_large_n(sampling: Sampling, threshold: int, epsilon: float) -> None:
    profile = ThresholdProfile(sampling, threshold)
    (w,) = worst_case(profile, epsilon).holders
    found = profile.delta(epsilon)
    with mpmath.workdps(60):
        more, fewer = (release_chance(sampling, sampling.users + i, w + i, threshold) for i in (1, 0))
        assert abs(found.low / (more - mpmath.exp(epsilon) * fewer) - 1) < 1e-9
    assert found.high / found.low - 1 < 1e-9


def test_delta_reaches_down_to_the_smallest_floats() -> None:
    found = ThresholdProfile(FixedBatch(10**12, 10**6), 64).delta(0.1)
    assert 0 < found.low <= found.high < 1e-290
    assert found.relative_width < 1e-9
    below = ThresholdProfile(FixedBatch(10**12, 10**6), 90).delta(0.1)
    assert below.low == 0 < prefix_cost(FixedBatch(10**12, 10**6), 90, 0.1).high < below.high < 1e-300


@pytest.mark.parametrize("delta", [1e-4, 1e-9, 1e-60, 1e-300])
@pytest.mark.parametrize("neighbours_are", [ADD_REMOVE, REPLACE_ONE])
def test_epsilon_of_delta_inverts_delta(delta: float, neighbours_are: Neighbours) -> None:
    for sampling in (FixedBatch(10**9, 10**6), PoissonBatch(10**9, Fraction(1, 1001))):
        profile = ThresholdProfile(sampling, 20, neighbours=neighbours_are)
        found = profile.epsilon(delta)
        if math.isfinite(found.high):
            assert profile.delta(found.high).high <= delta
        if 0 < found.low < math.inf:
            assert profile.delta(found.low * (1 - 1e-9)).low > delta
        most = profile.delta(math.inf).high
        assert math.isfinite(profile.epsilon(most).high), "upper bounds of delta fall to their least at a finite epsilon"
        # A prefix that theta - 1 others hold is never released without the new user.
        with flint.ctx.workprec(128):
            never = profile.base.release(19, 20)[0]
        assert (found.low == math.inf) == bool(never > delta)


def test_epsilon_over_several_levels_is_certified() -> None:
    profile = ThresholdProfile(PoissonBatch(10**6, Fraction(1, 100)), 12, 2)
    found = profile.epsilon(1e-9)
    assert profile.delta(found.high).high <= 1e-9
    assert profile.delta(found.low * (1 - 1e-4)).low > 1e-9
    assert found.high < 1.5 * found.low


def test_the_largest_batch_is_certified_and_one_more_is_not() -> None:
    users, threshold, epsilon, delta = 10**5, 12, 0.1, 1e-9
    batch = largest_batch(users, threshold, 1, epsilon, delta)
    assert ThresholdProfile(FixedBatch(users, batch), threshold).delta(epsilon).high <= delta
    assert ThresholdProfile(FixedBatch(users, batch + 1), threshold).delta(epsilon).high > delta
    assert batch > 2 * triehh_corollary_2(users, threshold, 1, epsilon)


def test_corollary_2_is_the_batch_of_theorem_1() -> None:
    batch = triehh_corollary_2(658769, 15, 10, 4)
    assert batch == 14478
    assert triehh_theorem_1(658769, batch, 15, 10)[0].high <= 4 < triehh_theorem_1(658769, batch + 1, 15, 10)[0].low


@pytest.mark.parametrize(
    ("users", "batch", "threshold", "hypothesis"),
    [(10**4, 100, 3, "4 <= theta"), (10**4, 100, 101, "theta <= sqrt(n)"), (10**4, 99, 10, "gamma = m / sqrt(n) >= 1"),
     (10**4, 1000, 10, "gamma <= sqrt(n) / (theta + 1)")],
)  # fmt: skip
def test_theorem_1_names_the_hypothesis_that_fails(users: int, batch: int, threshold: int, hypothesis: str) -> None:
    raises(ValueError, re.escape(hypothesis), triehh_theorem_1, users, batch, threshold, 1)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_sample_and_threshold_is_valid_and_sharper_than_its_printed_form(alpha: float, epsilon: float) -> None:
    coin = Fraction(alpha * (1 - math.exp(-epsilon)))
    for threshold in (1, 5, 30):
        formula = sample_and_threshold(coin, epsilon, threshold)
        assert ThresholdProfile(PoissonBatch(10**9, coin), threshold).delta(epsilon).high <= formula.low
        assert formula.high <= math.exp(-threshold * (math.log(1 / alpha) - 1 / (1 + alpha)))


def test_sample_and_threshold_needs_a_small_coin() -> None:
    raises(ValueError, re.escape("s <= 1 - exp(-epsilon)"), sample_and_threshold, Fraction(1, 2), 0.1, 5)


def test_a_threshold_above_the_batch_releases_nothing() -> None:
    assert ThresholdProfile(FixedBatch(100, 5), 6).delta(0).high == 0


def test_a_threshold_of_one_shows_whoever_is_sampled() -> None:
    found = ThresholdProfile(FixedBatch(99, 10), 1).delta(5.0)
    assert 0.1 in found
    assert found.relative_width < 1e-9


def test_other_relations_are_not_supported() -> None:
    raises(Unsupported, "user-level", ThresholdProfile, FixedBatch(10, 5), 2, neighbours=USER_LEVEL)


def test_the_largest_batch_is_not_missed_where_other_prefixes_reveal_users_in_small_ones() -> None:
    # 2.6 times what Theorem 1 allows for the same guarantee; and a batch of 10 to 60 is refused.
    users, threshold, epsilon, delta = 10**4, 10, 0.1053, 1 / (300 * 10**4)
    batch = largest_batch(users, threshold, 1, epsilon, delta)
    assert batch == 261
    assert ThresholdProfile(FixedBatch(users, batch), threshold).delta(epsilon).high <= delta
    assert ThresholdProfile(FixedBatch(users, 20), threshold).delta(epsilon).high > delta


@pytest.mark.slow
def test_a_million_rounds_are_bounded_in_seconds() -> None:
    with at_most(10, time.process_time):  # seconds: two; round by round they took minutes
        few, many = (ThresholdProfile(FixedBatch(2, 1), 1, levels) for levels in (50, 10**6))
        assert few.delta(0.0).low <= few.delta(0.0).high <= many.delta(0.0).high <= 1
        slow = ThresholdProfile(FixedBatch(10**6, 1000), 20, 10**5).delta(1.0)
        assert 0 < slow.low <= slow.high <= 1


def test_rounds_after_those_that_are_composed_only_raise_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = ThresholdProfile(FixedBatch(200, 20), 4, 6)
    truth = [exact.delta(epsilon).high for epsilon in (0.1, 1.0, 3.0)]
    monkeypatch.setattr(rounds, "_MOST_ROUNDS", 2)
    rounds.rounds_high.cache_clear()
    coarse = [exact.delta(epsilon).high for epsilon in (0.1, 1.0, 3.0)]
    rounds.rounds_high.cache_clear()
    assert all(less <= more <= 1 for less, more in zip(truth, coarse, strict=True))
    assert truth != coarse


def test_where_delta_is_large_the_upper_ends_of_delta_and_epsilon_agree() -> None:
    profile = ThresholdProfile(FixedBatch(10_000, 5_000), 50, 4)
    assert profile.delta(0.0).high < 0.5
    deltas = (0.05, 0.1, 0.2, 0.3, 0.4)
    ends = [profile.epsilon(delta).high for delta in deltas]
    assert ends == sorted(ends, reverse=True)
    assert all(profile.delta(end).high <= delta for end, delta in zip(ends, deltas, strict=True))
    assert all(profile.delta(end * (1 - 1e-3)).high >= delta * (1 - 0.1) for end, delta in zip(ends, deltas, strict=True) if end)
