"""How often words are found, what inverts that, and what a round costs in which votes get lost, against the law by counting."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from benchmarks.discovery import recalls
from benchmarks.discovery_systems import Lexicon, People, Trie, certified, coins, printed
from ldpaudit import Unsupported, account
from ldpaudit.accountants.sampling.discovery import ThinnedRound, discovery_rate, least_holders, least_threshold
from ldpaudit.accountants.sampling.theorems import triehh_corollary_2, triehh_delta, triehh_epsilon
from ldpaudit.accountants.sampling.thresholded import FixedBatch, PoissonBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.accountants.trie_heavy_hitter import with_dropouts
from ldpaudit.mechanisms.shared.trie.one_round import Round
from ldpaudit.mechanisms.shared.trie.rounds import TrieRounds
from ldpaudit.mechanisms.trie_heavy_hitter import NoisyTrieHeavyHitter, TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from tests.helpers import raises
from tests.mechanisms.test_trie_heavy_hitter import alike
from tests.oracles.shuffle import divergence

LEVELS = 10


def batch_of(users: int, epsilon: int) -> tuple[int, int]:
    theta = least_threshold(Fraction(1, users**2))
    return triehh_corollary_2(users, theta, LEVELS, epsilon), theta


@pytest.mark.parametrize(("users", "theta"), [(10**4, 12), (10**5, 14), (10**6, 15), (658_769, 15)])
def test_the_threshold_is_the_least_with_the_theorem_s_delta(users: int, theta: int) -> None:
    assert least_threshold(Fraction(1, users**2)) == theta
    assert triehh_delta(theta) <= Fraction(1, users**2) < triehh_delta(theta - 1)


@pytest.mark.parametrize(("users", "epsilon", "share", "rate"), [
    (10**6, 4, 0.001, 0.622497), (10**5, 4, 0.01, 0.883563), (10**4, 8, 0.05, 0.967002),
])  # fmt: skip
def test_words_are_found_as_often_as_the_specification_says(users: int, epsilon: int, share: float, rate: float) -> None:
    found = discovery_rate(users, round(share * users), *batch_of(users, epsilon), LEVELS)
    assert found.relative_width < 1e-9
    assert found.high == pytest.approx(rate, abs=5e-7)


def test_the_rate_is_the_chance_of_theta_votes_in_every_round_by_counting_batches() -> None:
    users, held, batch, theta = 40, 9, 12, 3
    ways = sum(math.comb(held, i) * math.comb(users - held, batch - i) for i in range(theta, held + 1))
    exact = Fraction(ways, math.comb(users, batch)) ** 4
    found = discovery_rate(users, held, batch, theta, 4)
    assert found.low <= exact <= found.high


@pytest.mark.parametrize(("epsilon", "holders"), [(1, 3987), (2, 2092), (4, 1148), (8, 685)])
def test_the_fewest_holders_are_those_of_the_specification(epsilon: int, holders: int) -> None:
    sizes = batch_of(10**6, epsilon)
    assert least_holders(10**6, *sizes, LEVELS, 0.9) == holders
    assert discovery_rate(10**6, holders - 1, *sizes, LEVELS).high < 0.9 <= discovery_rate(10**6, holders, *sizes, LEVELS).low


@pytest.mark.parametrize(("epsilon", "users"), [(2, 184_800), (4, 101_400), (8, 53_000)])
def test_a_word_of_one_percent_is_found_nine_times_of_ten_from_so_many_users_on(epsilon: int, users: int) -> None:
    rates = [discovery_rate(n, n // 100, *batch_of(n, epsilon), LEVELS) for n in (users - 100, users)]
    assert rates[0].high < 0.9 <= rates[1].low


def test_where_no_number_of_holders_is_enough_there_is_none_and_bad_goals_are_named() -> None:
    assert least_holders(100, 5, 6, 1, 0.5) is None
    raises(ValueError, "0 < rate <= 1, got rate=0", least_holders, 100, 5, 3, 1, 0)
    raises(ValueError, "delta > 0, got delta=0", least_threshold, 0)


def crowd() -> tuple[People, list[str]]:
    words = ["to", "an", "a", "tin", "ten"]
    counts = [24, 14, 10, 11, 10]
    held = np.repeat(np.arange(5), counts)[:, None]
    return People(Lexicon(words), held), [words[i] + "$" for i in held[:, 0].tolist()]


@pytest.mark.parametrize("unit", [1, 2])
def test_the_benchmark_s_runs_find_what_the_mechanism_finds_as_often(unit: int) -> None:
    people, data = crowd()
    trie, m = Trie(28, 4, 4, unit), TrieHeavyHitter(people.users, 28, 4, 4, unit=unit)
    rng, runs = np.random.default_rng(3), 1_500
    fast = np.mean([trie(people, rng) for _ in range(runs)], axis=0)
    views = [m.run(data, rng) for _ in range(runs)]
    slow = np.array([np.mean([word + "$" in view for view in views]) for word in people.lexicon.words])
    assert np.all(abs(fast - slow) < 0.08)
    assert 0.1 < fast.min() < 0.5 < fast.max()


def test_a_batch_of_a_few_thresholds_is_not_certified_for_what_is_printed_of_it() -> None:
    # Other prefixes reveal the user there: the next smaller batch that is certified never releases anything.
    paper, found = printed(2_000, 2), certified(2_000, 2)
    assert found.batch < found.threshold == 11 < paper.batch == 32


def test_recall_is_the_part_of_the_most_frequent_words_that_is_found() -> None:
    people, _ = crowd()
    run = Mock(return_value=np.array([True, False, True, True, False]))
    assert recalls(people, run, (1, 2, 4), 3, np.random.default_rng(1)).tolist() == [[1.0, 0.5, 0.75]] * 3


def test_the_certified_batch_and_coin_keep_the_guarantee_and_the_batch_exceeds_the_paper_s() -> None:
    users, epsilon = 10_000, 2
    paper, larger, sampled = printed(users, epsilon), certified(users, epsilon), coins(users, epsilon)
    assert larger.batch > 2 * paper.batch
    profiles = (
        ThresholdProfile(FixedBatch(users, larger.batch), larger.threshold, larger.levels),
        ThresholdProfile(PoissonBatch(users, sampled.coin), sampled.threshold),
    )
    assert all(profile.delta(epsilon).high <= Fraction(1, users**2) for profile in profiles)
    one_more = Fraction(sampled.coin) + Fraction(1, 1 << 20)
    assert ThresholdProfile(PoissonBatch(users, one_more), sampled.threshold).delta(epsilon).high > Fraction(1, users**2)


@pytest.mark.parametrize(("holders", "share", "chance"), [
    (1500, Fraction(1), 0.9458), (1500, Fraction(4, 5), 0.7754), (2000, Fraction(1, 2), 0.548974), (1000, 1, 0.549307),
])  # fmt: skip
def test_a_prefix_is_released_as_often_as_the_specification_says(holders: int, share: Fraction, chance: float) -> None:
    found = discovery_rate(10**4, holders, 100, 10, share=share)
    assert found.relative_width < 1e-9
    assert found.high == pytest.approx(chance, abs=5e-5 if chance in (0.9458, 0.7754) else 5e-7)


def test_a_prefix_that_only_the_user_can_lift_costs_as_often_less_as_all_its_votes_arrive() -> None:
    whole, lossy = (ThinnedRound(10**4, 100, 10, share).one_prefix(math.inf).high for share in (Fraction(1), Fraction(4, 5)))
    assert lossy / whole == pytest.approx(0.8**10, rel=1e-12)


@pytest.mark.parametrize("each", [ThinnedRound(4, 4, 2, Fraction(1, 2)), ThinnedRound(10**6, 10**4, 15, Fraction(9, 10))], ids=str)
def test_the_lower_end_is_never_below_that_of_a_larger_epsilon(each: ThinnedRound) -> None:
    lows = [each.one_prefix(epsilon).low for epsilon in (0.0, 0.1, 0.3, 1.0, math.inf)]
    assert lows == sorted(lows, reverse=True)
    assert lows[-1] > 0


def laws(users: int, groups: tuple[int, ...], batch: int, theta: int, share: Fraction) -> dict[tuple[int, ...], Fraction]:
    """Law of the trie of one round; every group's vote is a word of its own, cast with probability `share`."""
    voters = tuple((((i, share),), n) for i, n in enumerate(groups) if n)
    each = Round(tuple(map(str, range(len(groups)))), voters, users - sum(groups), batch, theta)
    return each.law(counts=False)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, math.inf])
def test_no_data_set_costs_more_than_the_upper_end_and_one_prefix_as_much_as_the_lower(epsilon: float) -> None:
    n, m, theta, share = 8, 4, 2, Fraction(7, 10)
    c = Fraction(math.exp(min(epsilon, 600.0)))
    worst = Fraction(0)
    for own, *rest in product(range(n + 1), range(n + 1), range(n + 1)):
        if own + sum(rest) > n or rest[0] < rest[1]:
            continue
        p, q = laws(n + 1, (own + 1, *rest), m, theta, share), laws(n, (own, *rest), m, theta, share)
        worst = max(worst, divergence(p, q, c), divergence(q, p, c))
    found = ThinnedRound(n, m, theta, share).delta(epsilon)
    assert found.low * (1 - 1e-12) <= worst <= found.high * (1 + 1e-12)
    assert found.low > 0


def test_the_theorem_s_guarantee_holds_with_losses_and_nothing_changes_without() -> None:
    epsilon = triehh_epsilon(10**4, 100, 10, 1).low
    assert ThinnedRound(10**4, 100, 10, Fraction(4, 5)).delta(epsilon).high < triehh_delta(10)
    whole = ThinnedRound(10**4, 100, 10, Fraction(1)).delta(epsilon)
    assert (whole.low, whole.high) == pytest.approx((1.1562e-10, 3.860e-9), rel=1e-3)
    assert whole.high == pytest.approx(ThresholdProfile(FixedBatch(10**4, 100), 10).delta(epsilon).high, rel=1e-12)


def test_half_of_the_users_who_answer_make_the_theorem_s_epsilon_twice_as_large() -> None:
    found = [triehh_epsilon(users, 100, 10, 1).high for users in (10**4, 5_000)]
    assert found == pytest.approx([0.1054, 0.2231], abs=5e-5)


def test_a_share_outside_its_domain_is_named() -> None:
    raises(ValueError, "0 < share <= 1 is needed, got share=0", discovery_rate, 10, 5, 4, 2, share=0)


def lossy(m: TrieRounds, x: Any, lost: Fraction) -> dict[Any, Fraction]:
    """Law of one round in which each drawn user is lost: by the number of those who are not."""
    found: dict[Any, Fraction] = {frozenset(): lost**m.batch}
    for votes in range(1, m.batch + 1):
        chance = math.comb(m.batch, votes) * (1 - lost) ** votes * lost ** (m.batch - votes)
        for view, p in replace(m, batch=votes).law(x).items():  # type: ignore[type-var]
            found[view] = found.get(view, Fraction(0)) + chance * p
    return found


@pytest.mark.parametrize(
    "m",
    [TrieHeavyHitter(5, 3, 2, 1), TrieHeavyHitter(5, 4, 2, 1, counts=1),
     NoisyTrieHeavyHitter(5, 4, 1, 1, Fraction(1, 2), 1), NoisyTrieHeavyHitter(5, 3, 3, 1, Fraction(1, 3), 2)], ids=str,
)  # fmt: skip
def test_with_lost_users_no_data_set_costs_more_than_bounded(m: TrieRounds) -> None:
    lost, most = Fraction(1, 3), dict.fromkeys((Fraction(1), Fraction(3, 2), Fraction(20)), Fraction(0))
    for others in combinations_with_replacement(["", "a", "b"], m.users):
        without = lossy(m, alike([(w,) for w in others]), lost)
        for word in "abc":
            there = lossy(m, alike([(w,) for w in (*others, word)]), lost)
            for c in most:
                most[c] = max(most[c], divergence(there, without, c), divergence(without, there, c))
    for c, truth in most.items():
        found = with_dropouts(m, lost).delta(math.log(c))
        assert found.low * (1 - 1e-12) <= truth <= found.high * (1 + 1e-12)


def test_rounds_with_lost_users_cost_at_least_one_and_at_most_all_of_them_divided() -> None:
    one, ten = (with_dropouts(TrieHeavyHitter(10**4, 100, 10, levels), Fraction(1, 5)) for levels in (1, 10))
    assert ten.delta(1.0).low == one.delta(1.0).low > 0
    assert ten.delta(1.0).high == pytest.approx(10 * one.delta(Fraction(1, 10)).high)


def test_what_lost_users_cost_is_refused_where_it_is_not_known() -> None:
    m = TrieHeavyHitter(10, 5, 2, 1)
    assert with_dropouts(m, 0).delta(1.0) == account(m).delta(1.0)
    for declared, relation in ((m, REPLACE_ONE), (replace(m, words=2), ADD_REMOVE)):
        raises(Unsupported, "only for one user more or less", with_dropouts, declared, 0.5, relation)
    raises(ValueError, "0 <= rate < 1, got rate=1", with_dropouts, m, 1)
