"""How often words are found: the curves of TrieHH's Proposition 1, and what inverts them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.discovery import recalls
from benchmarks.discovery_systems import Lexicon, People, Trie, certified, coins, printed
from ldpaudit.accountants.sampling.discovery import discovery_rate, least_holders, least_threshold
from ldpaudit.accountants.sampling.theorems import triehh_corollary_2, triehh_delta
from ldpaudit.accountants.sampling.thresholded import FixedBatch, PoissonBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter

LEVELS = 10


def batch_of(users: int, epsilon: int) -> tuple[int, int]:
    theta = least_threshold(Fraction(1, users**2))
    return triehh_corollary_2(users, theta, LEVELS, epsilon), theta


@pytest.mark.parametrize(("users", "theta"), [(10**4, 12), (10**5, 14), (10**6, 15), (658_769, 15)])
def test_the_threshold_is_the_least_with_the_theorem_s_delta(users: int, theta: int) -> None:
    assert least_threshold(Fraction(1, users**2)) == theta
    assert triehh_delta(theta) <= Fraction(1, users**2) < triehh_delta(theta - 1)


@pytest.mark.parametrize(
    ("users", "epsilon", "share", "rate"),
    [(10**6, 4, 0.001, 0.622497), (10**5, 4, 0.01, 0.883563), (10**4, 8, 0.05, 0.967002)],
)
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
    with pytest.raises(ValueError, match="0 < rate <= 1, got rate=0"):
        least_holders(100, 5, 3, 1, 0)
    with pytest.raises(ValueError, match="delta > 0, got delta=0"):
        least_threshold(0)


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

    def run(_: People, __: np.random.Generator) -> NDArray[np.bool_]:
        return np.array([True, False, True, True, False])

    found = recalls(people, run, (1, 2, 4), 3, np.random.default_rng(1))
    assert found.tolist() == [[1.0, 0.5, 0.75]] * 3


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
