"""TrieHH, with noisy votes and without: what it does, line by line; what it and its votes cost; and what attacks see."""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldpaudit import Enclosure, Neighbours, Rigour, Unsupported, account, audit
from ldpaudit.accountants.sampling.discovery import discovery_rate
from ldpaudit.attacks.shared.noisy_votes import Apart
from ldpaudit.attacks.trie_heavy_hitter import attack
from ldpaudit.derivation import proofs_of
from ldpaudit.mechanisms import NoisyTrieHeavyHitter, TrieHeavyHitter
from ldpaudit.mechanisms.shared.trie.one_round import Data, Words, alike as grouped
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.proofs._kernel import Theorem
from tests.helpers import at_most, raises
from tests.oracles.shuffle import divergence, law_of
from tests.oracles.trie import literal
from tests.samples import around, fits


def law(m: Any, x: Data) -> dict[Any, Fraction]:
    return dict(m.law(x).items())


def alike(users: Sequence[Words]) -> Data:
    return tuple(sorted(Counter(users).items()))


WORDS = ("", "a", "b", "aa", "ab", "ba", "abb")


@pytest.mark.parametrize("seed", range(15))
def test_the_law_is_that_of_the_pseudocode_over_all_batches_and_choices(seed: int) -> None:
    rng = random.Random(seed)
    n, several = rng.randint(2, 4), seed % 3
    users = [tuple(rng.choices(WORDS, k=rng.choice([1, several + 1]))) for _ in range(n)]
    m = TrieHeavyHitter(n, rng.randint(1, n), rng.randint(1, 3), levels=2, words=3)
    assert law(m, alike(users)) == literal(users, m.batch, m.threshold, m.levels)


def test_units_of_two_letters_are_letters_of_another_alphabet() -> None:
    data: Data = ((("ab",), 3), (("ac",), 2), (("b",), 2))
    doubled: Data = ((("aabb",), 3), (("aac",), 2), (("b",), 2))  # the last unit of a word may be shorter
    one, two = TrieHeavyHitter(7, 4, 2, 2), TrieHeavyHitter(7, 4, 2, 2, unit=2)
    names = {"a": "aa", "ab": "aabb", "ac": "aac", "b": "b"}
    assert {frozenset(names[p] for p in trie): p for trie, p in law(one, data).items()} == law(two, doubled)


def votes_too(users: Sequence[Words], batch: int, threshold: int, levels: int) -> dict[Any, Fraction]:
    """Algorithm 1, with the votes of what grows: every batch of every round."""
    views = []
    for rounds in product(combinations(users, batch), repeat=levels):
        trie: dict[str, int] = {}
        for level, drawn in enumerate(rounds):
            votes = Counter(w[: level + 1] for (w,) in drawn if len(w) > level and (not level or w[:level] in trie))
            trie |= {prefix: n for prefix, n in votes.items() if n >= threshold}
        views.append(frozenset(trie.items()))
    return law_of((view, Fraction(1, len(views))) for view in views)


HELD = ("", "a", "b", "aa", "ab")


@pytest.mark.parametrize(("n", "m", "t", "levels"), [(2, 2, 1, 1), (3, 2, 2, 1), (4, 3, 2, 1), (3, 2, 1, 2), (3, 2, 2, 2)])
def test_the_votes_tell_of_the_user_whenever_he_is_drawn_and_of_nothing_else(n: int, m: int, t: int, levels: int) -> None:
    # Over all data sets of n words, and one more or two alternatives: the delta is the same at every epsilon.
    words = [w for w in HELD if len(w) <= levels]
    mechanism = TrieHeavyHitter(n, m, t, levels, counts=1)
    added = account(mechanism)
    replaced = account(replace(mechanism, users=n + 1), REPLACE_ONE)
    for c in (Fraction(1), Fraction(3, 2), Fraction(10)):
        change = swap = Fraction(0)
        for data in ([(w,) for w in chosen] for chosen in combinations_with_replacement(words, n)):
            before = votes_too(data, m, t, levels)
            laws = [votes_too([*data, (w,)], m, t, levels) for w in words]
            change = max(change, *(max(divergence(x, before, c), divergence(before, x, c)) for x in laws))
            swap = max(swap, *(divergence(x, y, c) for x in laws for y in laws))
        assert change == 1 - (1 - Fraction(m, n + 1)) ** levels
        assert swap == change
        assert added.delta(math.log(c)).rigour is Rigour.EXACT
        assert added.delta(math.log(c)).low <= change <= added.delta(math.log(c)).high
        assert replaced.delta(math.log(c)).low <= swap <= replaced.delta(math.log(c)).high


USERS: list[Words] = [("ab", "b"), ("ab", "ab", "ac"), ("ab",), ("b",), ("",), ("ac", "ab"), ("b", "ba")]


@pytest.mark.parametrize("m", [
    *(TrieHeavyHitter(users=7, batch=5, threshold=2, levels=2, words=2, counts=counts) for counts in (0, 1)),
    *(NoisyTrieHeavyHitter(7, 5, threshold, levels, Fraction(1, 2), 1, words=2) for threshold, levels in ((1, 1), (3, 2))),
], ids=str)  # fmt: skip
def test_samples_and_runs_of_several_words_a_user_match_the_law(m: TrieHeavyHitter) -> None:
    expected, rng = law(m, alike(USERS)), np.random.default_rng(5)
    assert sum(expected.values()) == 1
    assert fits(Counter(m.sample(alike(USERS), 20_000, rng)), expected)
    assert fits(Counter(m.run(USERS, rng) for _ in range(3_000)), expected)


def test_every_round_draws_a_batch_of_its_own() -> None:
    # Two users of two, one drawn: both rounds draw the same one half of the times.
    m = TrieHeavyHitter(users=2, batch=1, threshold=1, levels=2)
    assert law(m, ((("aa",), 1), (("bb",), 1)))[frozenset({"a"})] == Fraction(1, 4)


def test_many_users_are_run_in_seconds() -> None:
    rng = np.random.default_rng(3)
    words = np.char.add(np.char.mod("%d", rng.zipf(1.3, 10**5) % 10**6), "$")
    found = TrieHeavyHitter(users=10**5, batch=10**4, threshold=15, levels=7).run(words, rng)
    assert "1$" in found
    assert {w[:-1] for w in found if len(w) > 1} <= found
    several = TrieHeavyHitter(users=10**5, batch=10**4, threshold=15, levels=4, unit=2, words=2)
    pairs = list(zip(words.tolist(), reversed(words.tolist()), strict=True))
    assert "1$" in several.run(pairs, rng)


def test_what_is_released_is_on_average_less_than_a_batch_of_everybody_would() -> None:
    data = ["star$"] * 30 + ["sun$"] * 40 + ["moon$"] * 40 + [f"{i:03}$" for i in range(90)]
    m = TrieHeavyHitter(users=200, batch=100, threshold=12, levels=5)
    rng = np.random.default_rng(1)
    views = [m.run(data, rng) for _ in range(50)]
    truth = m.truth(data)
    # s, m and 0; st, su, mo, and 00 to 08 are too rare; sta, sun, moo; ...
    assert truth.tolist() == [3, 3, 3, 3, 2]
    assert np.all(m.estimate(views) <= truth)
    assert m.estimate(views).sum() > 5
    everybody = replace(m, batch=200)
    assert everybody.estimate([everybody.run(data, rng)]).tolist() == truth.tolist()


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_a_missing_vote_tells_however_small_delta_is(relation: Any) -> None:
    m = TrieHeavyHitter(users=10**4, batch=100, threshold=10, levels=2, counts=1)
    assert audit(m, delta=0.01, neighbours=relation, trials=200_000, seed=1).epsilon_lower > 3
    assert account(m, relation).epsilon(0.01).low == math.inf
    assert account(m, relation).epsilon(0.02).high == 0


@pytest.mark.parametrize("delta", [0.0, 1e-4, 1e-2, 0.05])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize(
    "m", [*(TrieHeavyHitter(60, 12, 3, levels) for levels in (1, 3)), NoisyTrieHeavyHitter(12, 6, 2, 2, Fraction(1, 2), 1)], ids=str
)
def test_the_attacker_plays_neighbours_and_scores_by_their_laws(m: TrieHeavyHitter, relation: Any, delta: float) -> None:
    found = attack(m, relation, delta)
    first, second = found.pair
    assert [sum(n for _, n in x) for x in found.pair] == [m.users + (relation == ADD_REMOVE), m.users]
    change = Counter(dict(first))
    change.subtract(dict(second))
    assert sum(abs(n) for n in change.values()) == (2 if relation == REPLACE_ONE else 1)
    p, q = law(m, first), law(m, second)
    for view in {*p, *q}:
        (score,) = found.score([view])
        if view in p and view in q:
            assert score == pytest.approx(math.log(p[view] / q[view]), abs=1e-9)
        else:
            assert score == (math.inf if view in p else -math.inf)
    raises(ValueError, "a view is a frozenset of prefixes that somebody holds", found.score, [frozenset({"nobody's"})])


def test_votes_are_as_much_likelier_as_proved() -> None:
    n, batch, w = 9, 5, 4
    m = TrieHeavyHitter(n, batch, 1, 1, counts=1)
    before, after = law(m, ((("a",), w), (("b",), n - w))), law(m, ((("a",), w + 1), (("b",), n - w)))
    for view, p in before.items():
        j = dict(view).get("a", 0)
        assert after[view] / p == (1 - Fraction(batch, n + 1)) * Fraction(w + 1, w + 1 - j)


def test_all_steps_are_checked_and_what_is_not_is_admitted() -> None:
    proofs = proofs_of("trie_heavy_hitter")
    assert all(p.steps for p in proofs)
    assert sum(len(p.admissions) for p in proofs) == 4
    theorems = [p for p in proofs if isinstance(p, Theorem)]
    for declared in (TrieHeavyHitter(10, 3, 4, 2), NoisyTrieHeavyHitter(10, 3, 6, 2, Fraction(1, 2), 2)):
        covering = [p.at(declared) for p in theorems if p.mechanism == type(declared).__name__]
        assert covering == [[(Fraction(1), Fraction(1), False)]] * 2
    assert all(p.at(NoisyTrieHeavyHitter(10, 3, 5, 2, Fraction(1, 2), 2)) is None for p in proofs)
    assert all(p.at(TrieHeavyHitter(10, 4, 4, 2)) is None for p in proofs)


@pytest.mark.parametrize("m", [TrieHeavyHitter(1, 1, 1, 1), NoisyTrieHeavyHitter(1, 1, 1, 1, Fraction(1, 2), 1)], ids=str)
def test_one_user_alone_cannot_be_replaced(m: TrieHeavyHitter) -> None:
    raises(Unsupported, "at least two users", account, m, REPLACE_ONE)


def test_no_sample_of_more_users_than_numpy_draws_from() -> None:
    most = TrieHeavyHitter(10**9 - 2, 1_000, 3, 1)
    assert len(most.sample(most.inputs[0], 5, np.random.default_rng(0))) == 5
    more = TrieHeavyHitter(10**9 - 1, 1_000, 3, 1)
    raises(Unsupported, "fewer than 999999999 users", more.sample, more.inputs[0], 5, np.random.default_rng(0))


def test_a_pair_is_found_in_no_time_for_many_users_and_levels() -> None:
    # 658,769 users and ten levels: what is not counted by the few holders takes minutes.
    assert [len(x) for x in attack(TrieHeavyHitter(658_769, 14_478, 15, 10), delta=1e-6).pair] == [2, 2]


def test_as_printed_takes_gamma_times_the_root_of_the_users() -> None:
    assert TrieHeavyHitter.as_printed(10**4, 1, 10, 1).batch == 100
    assert TrieHeavyHitter.as_printed(10**4, Fraction(3, 2), 10, 1).batch == 150
    assert TrieHeavyHitter.as_printed(20_000, 1, 10, 1).batch == 141


def test_lost_users_vote_for_nothing_and_are_lost_whatever_they_hold() -> None:
    # One round: of five who hold the word four are drawn, and two votes are needed, each of which arrives with 3/5.
    m, rng = TrieHeavyHitter(users=8, batch=4, threshold=2, levels=1), np.random.default_rng(4)
    data = ["a"] * 5 + ["b"] * 3
    found = Counter("a" in m.run_with_dropouts(data, Fraction(2, 5), rng) for _ in range(4_000))
    expected = discovery_rate(8, 5, 4, 2, share=Fraction(3, 5)).low
    assert stats.binomtest(found[True], found.total(), expected).pvalue > 1e-6
    assert m.run_with_dropouts(data, 0, np.random.default_rng(1)) == m.run(data, np.random.default_rng(1))


def test_who_holds_too_many_words_keeps_a_uniform_choice_of_them_as_often_as_before() -> None:
    m, rng = TrieHeavyHitter(users=3_000, batch=10, threshold=2, levels=2, words=2), np.random.default_rng(4)
    kept = m.cut([("a", "b", "a", "c")] * 2_999 + ["word"], rng)
    assert kept[-1] == "word"
    often = Counter(kept[:-1])
    assert set(often) == {("a", "b", "a"), ("a", "a", "c"), ("b", "c")}
    assert all(abs(n - 1_000) < 150 for n in often.values())
    m.run(kept, rng)


HALF = Fraction(1, 2)
Law = dict[Any, Fraction]


def noises(m: NoisyTrieHeavyHitter) -> dict[int, Fraction]:
    weights = {i: m.alpha ** abs(i) for i in range(-m.bound, m.bound + 1)}
    return {i: weight / sum(weights.values()) for i, weight in weights.items()}


def noisy_literal(m: NoisyTrieHeavyHitter, users: Sequence[str]) -> Law:
    """The definition: every batch, and a noise for every prefix over the letters a and b, whether anybody votes or not."""

    def rounds(level: int, alive: frozenset[str], trie: frozenset[Any], p: Fraction) -> Iterator[tuple[Any, Fraction]]:
        prefixes = [q + c for q in sorted(alive) for c in "ab"]
        if level > m.levels or not prefixes:
            yield trie, p
            return
        batches = list(combinations(users, m.batch))
        for drawn, noise in product(batches, product(noises(m).items(), repeat=len(prefixes))):
            votes = Counter(w[:level] for w in drawn if len(w) >= level)
            numbers = {q: votes[q] + i for q, (i, _) in zip(prefixes, noise, strict=True)}
            new = {(q, n) for q, n in numbers.items() if n >= max(m.threshold, m.bound + 1)}
            chance = math.prod((c for _, c in noise), start=Fraction(1, len(batches)))
            yield from rounds(level + 1, frozenset(q for q, _ in new), trie | new, p * chance)

    return law_of(rounds(1, frozenset({""}), frozenset(), Fraction(1)))


@pytest.mark.parametrize("seed", range(4))
def test_the_law_is_that_of_noise_on_every_prefix_with_votes_or_without(seed: int) -> None:
    rng = random.Random(seed)
    users = rng.choices(["a", "b", "aa", "ab", "ba"], k=4)
    m = NoisyTrieHeavyHitter(4, rng.randint(2, 4), rng.randint(1, 3), 2, Fraction(rng.randint(1, 4), 5), 1)
    assert law(m, alike([(w,) for w in users])) == noisy_literal(m, users)


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

    return lambda c: max(np.maximum(table(n + more, w + 1) - c * table(n, w), 0).sum() for w in range(n + more))


@pytest.mark.parametrize(("n", "m", "k", "epsilon0", "epsilon", "delta"), [
    (40, 12, 3, 1.0, 1.05430, 0.0136748), pytest.param(60, 20, 2, 0.7, 0.693999, 0.0618108, marks=pytest.mark.slow),
])  # fmt: skip
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
            assert brute(math.exp(share * at)) <= account(declared, relation).delta(share * at).high * (1 + 1e-9)
    at = math.log(1 + m / (n + 1) * math.expm1(2 * epsilon0))
    assert at == pytest.approx(epsilon, abs=1e-5)
    assert account(declared).delta(at).high == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize(("n", "m", "t", "levels"), [(3, 2, 1, 1), (3, 3, 2, 1), (3, 2, 1, 2), (3, 3, 1, 2), (4, 4, 3, 1)])
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
        assert around(found.delta(math.log(c)), truth)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_the_limit_of_delta_from_below_is_that_of_a_user_alone_with_a_word(levels: int, relation: Neighbours) -> None:
    m = NoisyTrieHeavyHitter(6, 5, 1, levels, Fraction(2, 3), 1)
    there, without = (law(m, x) for x in m.one_apart(0, replaced=relation == REPLACE_ONE))
    beyond = max(divergence(there, without, Fraction(10**30)), divergence(without, there, Fraction(10**30)))
    assert account(m, relation).delta(math.inf).low == pytest.approx(float(beyond), rel=1e-12)


@pytest.mark.parametrize(("n", "batch", "theta", "delta", "epsilon0", "k", "sd"), [
    (10**4, 100, 10, 3.149e-7, 1.2471, 9, 1.063), (10**6, 1000, 12, 2.320e-9, 1.2880, 11, 1.026),
])  # fmt: skip
def test_noise_of_about_one_vote_is_enough_at_the_budgets_of_table_1(
    n: int, batch: int, theta: int, delta: float, epsilon0: float, k: int, sd: float
) -> None:
    epsilon = -math.log(1 - batch * theta / n)
    m = NoisyTrieHeavyHitter.for_budget(n, batch, theta, 1, epsilon, delta)
    assert (round(-math.log(m.alpha), 4), m.bound, m.least) == (epsilon0, k, theta)
    assert math.sqrt(sum(i * i * float(p) for i, p in noises(m).items())) == pytest.approx(sd, abs=5e-4)
    assert account(m).delta(epsilon).high <= delta
    assert account(replace(m, bound=k - 1, threshold=k)).delta(math.inf).low > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.32), (2.0, 0.3)])
def test_the_noise_of_a_budget_is_the_least_that_keeps_its_formula(epsilon: float, delta: float) -> None:
    m, rate = NoisyTrieHeavyHitter.for_budget(9, 9, 2, 1, epsilon, delta), Fraction(9, 10)
    assert float(m.alpha**-2) == pytest.approx(1 + math.expm1(epsilon) / 0.9, rel=1e-12)
    largest = (noises(replace(m, bound=k))[k] for k in range(1, m.bound + 1))
    assert [rate * (1 - (1 - p) ** 2) <= Fraction(delta) for p in largest] == [False] * (m.bound - 1) + [True]


def test_rows_of_votes_are_taken_for_one_where_they_are_equal() -> None:
    rows = np.array([*product(range(4), repeat=2)] * 2, dtype=np.int64)
    different, which = grouped(rows, 3)
    assert (len(different), different[which].tolist()) == (16, rows.tolist())


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
    with at_most(10):  # seconds: one or two; 4 million pairs of noises took minutes
        m = NoisyTrieHeavyHitter(10**4, 100, 10, 5, alpha=Fraction(1 - 1e-12), bound=1000)
        found = account(m).delta(1.0)
        noise = 1 / 2001  # of which the largest is as likely as any other: alpha is nearly 1
        assert found.low == pytest.approx(100 / 10_001 * noise * (m.least == m.bound + 1), rel=1e-6)
        assert found.low <= found.high < 5 * 100 / 10_001 * 2 * noise * (1 + 1e-6)
