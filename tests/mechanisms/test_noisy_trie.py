"""TrieHH with noisy votes: what it does, line by line; what its rounds cost; and what attacks see."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldpaudit import account
from ldpaudit.attacks.shared.noisy_votes import Apart
from ldpaudit.attacks.trie_heavy_hitter import attack
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.trie_heavy_hitter import NoisyTrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from tests.mechanisms.test_trie_heavy_hitter import alike
from tests.oracles.shuffle import divergence
from tests.samples import around, fits

HALF = Fraction(1, 2)
Law = dict[Any, Fraction]


def law(m: NoisyTrieHeavyHitter, x: Any) -> Law:
    return dict(m.law(x).items())


def noises(m: NoisyTrieHeavyHitter) -> dict[int, Fraction]:
    weights = {i: m.alpha ** abs(i) for i in range(-m.bound, m.bound + 1)}
    return {i: weight / sum(weights.values()) for i, weight in weights.items()}


def literal(m: NoisyTrieHeavyHitter, users: Sequence[str]) -> Law:
    """The definition: every batch, and a noise for every prefix over the letters a and b, whether anybody votes or not."""

    def rounds(level: int, alive: frozenset[str], trie: frozenset[Any], p: Fraction) -> None:
        prefixes = [q + c for q in sorted(alive) for c in "ab"]
        if level > m.levels or not prefixes:
            found[trie] = found.get(trie, Fraction(0)) + p
            return
        batches = list(combinations(users, m.batch))
        for drawn, noise in product(batches, product(noises(m).items(), repeat=len(prefixes))):
            votes = Counter(w[:level] for w in drawn if len(w) >= level)
            numbers = {q: votes[q] + i for q, (i, _) in zip(prefixes, noise, strict=True)}
            new = {(q, n) for q, n in numbers.items() if n >= max(m.threshold, m.bound + 1)}
            chance = math.prod((c for _, c in noise), start=Fraction(1, len(batches)))
            if new:
                rounds(level + 1, frozenset(q for q, _ in new), trie | new, p * chance)
            else:
                found[trie] = found.get(trie, Fraction(0)) + p * chance

    found: Law = {}
    rounds(1, frozenset({""}), frozenset(), Fraction(1))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_law_is_that_of_noise_on_every_prefix_with_votes_or_without(seed: int) -> None:
    rng = random.Random(seed)
    users = rng.choices(["a", "b", "aa", "ab", "ba"], k=4)
    m = NoisyTrieHeavyHitter(4, rng.randint(2, 4), rng.randint(1, 3), 2, Fraction(rng.randint(1, 4), 5), 1)
    assert law(m, alike([(w,) for w in users])) == literal(m, users)


def deltas_of_all_holders(n: int, m: int, k: int, epsilon0: float, more: bool) -> Any:
    """For each W the hockey-stick divergence of the two numbers with and without one more holder, the rest on one word."""
    steps = np.arange(-k, k + 1)
    noise = np.exp(-epsilon0 * abs(steps))
    noise /= noise.sum()

    def table(users: int, holders: int) -> Any:
        found = np.zeros((m + k + 1, m + k + 1))
        for votes in range(m + 1):
            chance = stats.hypergeom.pmf(votes, users, holders, m)
            rows = np.where(votes + steps > k, votes + steps, 0)
            columns = np.where(m - votes + steps > k, m - votes + steps, 0)
            np.add.at(found, (rows[:, None], columns[None, :]), chance * np.outer(noise, noise))
        return found

    return lambda c: max(
        np.maximum(table(n + more, w + 1) - c * table(n, w), 0).sum() for w in range(n + more)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("n", "m", "k", "epsilon0", "epsilon", "delta"),
    [(40, 12, 3, 1.0, 1.05430, 0.0136748), (60, 20, 2, 0.7, 0.693999, 0.0618108)],
)
def test_one_round_costs_exactly_what_is_found_over_all_numbers_of_holders(
    n: int, m: int, k: int, epsilon0: float, epsilon: float, delta: float
) -> None:
    declared = NoisyTrieHeavyHitter(n, m, 1, 1, Fraction(math.exp(-epsilon0)), k)
    for relation, rate in ((ADD_REMOVE, m / (n + 1)), (REPLACE_ONE, m / n)):
        at = math.log(1 + rate * math.expm1(2 * epsilon0))
        found = account(declared, relation).delta(at)
        brute = deltas_of_all_holders(n, m, k, epsilon0, more=relation == ADD_REMOVE)
        assert found.relative_width < 1e-12
        assert brute(math.exp(at)) == pytest.approx(found.high, rel=1e-9)
        for share in (0.0, 0.3, 0.7):
            between = account(declared, relation).delta(share * at)
            assert brute(math.exp(share * at)) <= between.high * (1 + 1e-9)
    at = math.log(1 + m / (n + 1) * math.expm1(2 * epsilon0))
    assert at == pytest.approx(epsilon, abs=1e-5)
    assert account(declared).delta(at).high == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize(
    ("n", "m", "t", "levels"), [(3, 2, 1, 1), (3, 3, 2, 1), (3, 2, 1, 2), (3, 3, 1, 2), (4, 4, 3, 1)]
)
@pytest.mark.parametrize("c", [Fraction(1), Fraction(5, 4), Fraction(3), Fraction(100)])
def test_no_data_sets_cost_more_than_the_upper_end_and_some_as_much_as_the_lower(
    n: int, m: int, t: int, levels: int, c: Fraction
) -> None:
    declared = NoisyTrieHeavyHitter(n, m, t, levels, Fraction(2, 3), 1)
    words = [w for w in ("", "a", "b", "aa", "ab") if len(w) <= levels]
    added, replaced = account(declared), account(replace(declared, users=n), REPLACE_ONE)
    change = swap = Fraction(0)
    for data in combinations_with_replacement(words, n):
        before = law(declared, alike([(w,) for w in data]))
        for w in words:
            with_user = law(declared, alike([(v,) for v in (*data, w)]))
            instead = law(declared, alike([(v,) for v in (*data[1:], w)]))
            change = max(change, divergence(with_user, before, c), divergence(before, with_user, c))
            swap = max(swap, divergence(before, instead, c), divergence(instead, before, c))
    for found, truth in ((added, change), (replaced, swap)):
        enclosure = found.delta(math.log(c))
        assert around(enclosure, truth)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_the_limit_of_delta_from_below_is_that_of_a_user_alone_with_a_word(levels: int, relation: Neighbours) -> None:
    m = NoisyTrieHeavyHitter(6, 5, 1, levels, Fraction(2, 3), 1)
    there, without = (law(m, x) for x in m.one_apart(0, replaced=relation == REPLACE_ONE))
    beyond = max(divergence(there, without, Fraction(10**30)), divergence(without, there, Fraction(10**30)))
    assert account(m, relation).delta(math.inf).low == pytest.approx(float(beyond), rel=1e-12)


@pytest.mark.parametrize(
    ("n", "batch", "theta", "delta", "epsilon0", "k", "sd"),
    [(10**4, 100, 10, 3.149e-7, 1.2471, 9, 1.063), (10**6, 1000, 12, 2.320e-9, 1.2880, 11, 1.026)],
)
def test_noise_of_about_one_vote_is_enough_at_the_budgets_of_table_1(
    n: int, batch: int, theta: int, delta: float, epsilon0: float, k: int, sd: float
) -> None:
    epsilon = -math.log(1 - batch * theta / n)
    m = NoisyTrieHeavyHitter.for_budget(n, batch, theta, 1, epsilon, delta)
    assert (round(-math.log(m.alpha), 4), m.bound, m.least) == (epsilon0, k, theta)
    assert math.sqrt(sum(i * i * float(p) for i, p in noises(m).items())) == pytest.approx(sd, abs=5e-4)
    assert account(m).delta(epsilon).high <= delta
    looser = replace(m, bound=k - 1, threshold=k)
    assert account(looser).delta(math.inf).low > delta


def test_ten_rounds_composed_cost_less_than_half_of_ten_times_one() -> None:
    epsilon, delta = -math.log(1 - 0.1), 3.149e-7
    m = NoisyTrieHeavyHitter.for_budget(10**4, 100, 10, 10, 10 * epsilon, 10 * delta)
    found = account(m).epsilon(10 * delta)
    assert 0.17 < found.low < found.high < 0.49 < 10 * epsilon / 2
    assert account(m).epsilon(9 * delta).high < math.inf


def test_where_all_are_drawn_the_two_ends_agree_at_every_epsilon() -> None:
    m = NoisyTrieHeavyHitter(10**5, 10**5, 8, 3, Fraction(3, 5), 7)
    for delta in (0.08, 0.12, 0.2):
        found: Enclosure = account(m).epsilon(delta)
        assert found.low > 0
        assert found.relative_width < 1e-3
    assert account(m, REPLACE_ONE).epsilon(0.1).relative_width < 1e-3


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_the_attacker_compares_data_sets_by_what_all_rounds_show(levels: int) -> None:
    m = NoisyTrieHeavyHitter(8, 6, 2, levels, HALF, 1)
    atoms = Apart(m, 3, replaced=False).atoms
    there, without = (law(m, x) for x in m.one_apart(3))
    assert [sum(column) for column in zip(*atoms, strict=True)] == pytest.approx([1, 1])
    for c in (Fraction(1), Fraction(3, 2), Fraction(3)):
        found = sum(max(p - float(c) * q, 0.0) for p, q in atoms)
        assert found == pytest.approx(float(divergence(there, without, c)), rel=0.01)


PART = NoisyTrieHeavyHitter(10_000, 6_000, 6, 1, Fraction("0.49647842805715"), 5)
MOST = NoisyTrieHeavyHitter(10_000, 9_000, 4, 3, HALF, 3)


@pytest.mark.parametrize(
    ("m", "delta", "shared"), [(PART, 0.0248, (5, 6)), (PART, 0.05, (0,)), (PART, 0.015, (5,)), (MOST, 0.25, (4, 5))]
)
def test_the_attacker_s_user_shares_a_word_with_as_many_as_tell_most(
    m: NoisyTrieHeavyHitter, delta: float, shared: tuple[int, ...]
) -> None:
    first, second = (dict(x) for x in attack(m, delta=delta).pair)
    assert second.get((m.word,), 0) in shared
    assert first[m.word,] == second.get((m.word,), 0) + 1


@pytest.mark.parametrize(("alpha", "bound"), [(Fraction(2, 3), 3), (Fraction(9, 10), 12), (Fraction(1, 5), 2)])
def test_noises_are_drawn_with_their_law(alpha: Fraction, bound: int) -> None:
    noise = NoisyTrieHeavyHitter(10, 5, 1, 1, alpha, bound).noise
    expected = {i: noise.probability(i) for i in range(-bound, bound + 1)}
    assert sum(expected.values()) == 1
    drawn = noise.sample((10_000, 2), np.random.default_rng(7))
    assert drawn.shape == (10_000, 2)
    assert fits(Counter(drawn.ravel().tolist()), expected)


def test_shares_are_those_of_the_users_on_average() -> None:
    data = ["sun$"] * 600 + ["moon$"] * 300 + [f"{i:03}$" for i in range(100)]
    m = NoisyTrieHeavyHitter(1_000, 200, 10, 5, HALF, 8)
    rng = np.random.default_rng(1)
    found = [m.shares(m.run(data, rng)) for _ in range(60)]
    assert np.mean([each["sun$"] for each in found]) == pytest.approx(0.6, abs=0.02)
    assert np.mean([each["moon$"] for each in found]) == pytest.approx(0.3, abs=0.02)


def test_a_large_noise_of_many_digits_is_accounted_in_seconds() -> None:
    start = time.perf_counter()
    m = NoisyTrieHeavyHitter(10**4, 100, 10, 5, alpha=Fraction(1 - 1e-12), bound=1000)
    found = account(m).delta(1.0)
    noise = 1 / 2001  # of which the largest is as likely as any other: alpha is nearly 1
    assert found.low == pytest.approx(100 / 10_001 * noise * (m.least == m.bound + 1), rel=1e-6)
    assert found.low <= found.high < 5 * 100 / 10_001 * 2 * noise * (1 + 1e-6)
    assert time.perf_counter() - start < 10  # seconds: one or two; 4 million pairs of noises took minutes
