"""Sets, quantiles, questions and labels whose messages are counted after a shuffler: cost whatever the others hold, and error."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ldpaudit import Repeat, Shuffle, Unsupported, account, audit
from ldpaudit.accountants import sampled_answer, shuffled_binary_sums, shuffled_selection as selection
from ldpaudit.accountants.claims import sparse_statistical_queries as claims
from ldpaudit.accountants.claims.shuffled_quantiles import loss_bound, prefix_error
from ldpaudit.accountants.counting.count_min import worst_replaced
from ldpaudit.accountants.limits.selection import selection_users
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile, law_atoms
from ldpaudit.accountants.shuffling.hidden_message import HiddenTuple, Seen
from ldpaudit.mechanisms import RangeQueries, SampledAnswer, ShuffledBinarySums, ShuffledQuantiles, ShuffledSelection
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.yes_no_answers import Answers
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries, apart
from ldpaudit.neighbours import ADD_REMOVE
from tests.helpers import at_most, raises
from tests.oracles.hadamard import Oracle
from tests.oracles.shuffle import divergence, laws, worst
from tests.oracles.sums import Outcomes, summed
from tests.samples import around, fits, meet, same_law

BETA, ERROR = Fraction(1, 3), Fraction(1, 10)


FEW = [(SampledAnswer(2, Fraction(1, 2)), 3), (SampledAnswer(2, Fraction(1, 5)), 3), (SampledAnswer(3, Fraction(1, 2)), 2)]


@pytest.mark.parametrize(("m", "users"), FEW)
def test_whatever_users_answer_their_shuffled_messages_cost_what_binary_response_costs(m: SampledAnswer, users: int) -> None:
    ratios = (Fraction(3, 2), Fraction(2), Fraction(3))
    found = worst(laws(m), users, *ratios)
    assert found == worst(laws(KaryRandomizedResponse(2, m.truthful)), users, *ratios)
    for delta, ratio in zip(found, ratios, strict=True):
        assert around(account(Shuffle(m, users)).delta(math.log(ratio)), delta)


def test_the_number_of_questions_does_not_change_what_a_message_costs() -> None:
    found = {str(account(Shuffle(SampledAnswer(questions, Fraction(1, 100)), 10_000)).epsilon(1e-6)) for questions in (2, 7, 1000)}
    assert len(found) == 1
    alike = account(Shuffle(KaryRandomizedResponse(2, Fraction(199, 200)), 10_000)).epsilon(1e-6)
    ours = account(Shuffle(SampledAnswer(2, Fraction(1, 100)), 10_000)).epsilon(1e-6)
    assert 0.999 * alike.low < ours.low <= alike.high < ours.high < 1.3 * alike.high


def test_the_fewest_coins_are_certified_and_fewer_are_not() -> None:
    m = sampled_answer.for_privacy(1, Fraction(1, 10**9), 33_749, 64)
    assert float(m.gamma) == pytest.approx(0.0034215, rel=1e-4)
    fewer = SampledAnswer(64, m.gamma * Fraction(999, 1000))
    assert account(Shuffle(m, 33_749)).delta(1).high <= 1e-9 < account(Shuffle(fewer, 33_749)).delta(1).high


def test_the_users_that_suffice_are_a_hundred_times_the_questions_and_a_logarithm() -> None:
    users, m = sampled_answer.sufficient_users(64, 1, Fraction(1, 10**9), BETA, ERROR)
    assert sampled_answer.failure(m, users, ERROR).high <= BETA < sampled_answer.failure(m, users * 999 // 1000, ERROR).high
    assert account(Shuffle(m, users)).delta(1).high <= 1e-9
    assert users == pytest.approx(100 * 64 * math.log(3 * 63), rel=0.01)
    assert selection_users(64, Fraction(1, 3), 1, Fraction(1, 10**9), shuffled=1) < users / 1000


def test_questions_that_are_all_just_too_far_from_the_best_are_named_less_often_than_the_bound_says() -> None:
    m, users, rng = SampledAnswer(4, Fraction(1, 10)), 400, np.random.default_rng(0)
    best = {(0,): users // 2 + 21, (1, 2, 3): users // 2 - 21}
    wrong = np.mean([np.argmax(m.run_on_counts(best, rng)) > 0 for _ in range(2000)])
    assert 0.05 < wrong < sampled_answer.failure(m, users, ERROR).high < 12 * wrong


def test_a_million_users_are_run_by_their_counts() -> None:
    plan = Shuffle(SampledAnswer(50, Fraction(1, 100)), 10**6)
    found = plan.run({(3, 49): 600_000, (): 300_000, tuple(range(50)): 100_000}, np.random.default_rng(1))
    assert found.argmax() in (3, 49)
    truth = np.full(50, 100_000.0)
    truth[[3, 49]] = 700_000
    assert np.abs(found - truth).max() < 4.5 * math.sqrt(10**6 * 50) / 2


@pytest.mark.parametrize(("questions", "users"), [(3, 20), (5, 60), (100, 2000)])
def test_the_bound_of_a_wrong_choice_is_never_below_the_formula_in_rationals(questions: int, users: int) -> None:
    m = SampledAnswer(questions, Fraction(1, 5))
    found = sampled_answer.failure(m, users, Fraction(3, 4))  # alpha (1 - gamma) is 3/5, and the root of 1 - 9/25 is 4/5
    truth = (questions - 1) * (1 - Fraction(2, questions) / 5) ** users
    assert Fraction(found.high) > truth > Fraction(math.nextafter(math.nextafter(found.high, 0), 0))


TEN_THOUSANDTH = Fraction(1, 10**4)
SELECT = ShuffledSelection(users=2, questions=2, coins=2)


def messages(random: Sequence[Fraction], data: Sequence[Sequence[int]]) -> Outcomes:
    """Law of the multiset of all messages, user by user: of each label its own ones, and random ones by the law of their number."""
    heads = list(product(range(len(random)), repeat=len(data[0])))
    chances = [math.prod((random[h] for h in each), start=Fraction(1)) for each in heads]
    return summed({tuple(map(sum, zip(own, each, strict=True))): p for each, p in zip(heads, chances, strict=True)} for own in data)


def coins_and_answers(m: ShuffledSelection, data: tuple[Answers, ...]) -> Outcomes:
    coins = [Fraction(math.comb(m.coins, h), 1 << m.coins) for h in range(m.coins + 1)]
    return messages(coins, [[int(j in x) for j in range(m.questions)] for x in data])


@pytest.mark.parametrize("m", [SELECT, ShuffledSelection(3, 2, 1), ShuffledSelection(1, 3, 2)], ids=str)
def test_whatever_the_others_answer_the_most_is_seen_where_all_answers_differ(m: ShuffledSelection) -> None:
    profile = account(m)
    for ratio in (Fraction(1), Fraction(3, 2), Fraction(3)):
        by_distance = defaultdict(set)
        for others in combinations_with_replacement(m.inputs, m.users - 1):
            for x, other in combinations(m.inputs, 2):
                found = divergence(coins_and_answers(m, (x, *others)), coins_and_answers(m, (other, *others)), ratio)
                by_distance[len(set(x) ^ set(other))].add(found)
        assert all(len(found) == 1 for found in by_distance.values())  # neither the others nor which questions matter
        deltas = [found.pop() for _, found in sorted(by_distance.items())]
        assert deltas == sorted(deltas)
        assert around(profile.delta(math.log(ratio)), deltas[-1])


def test_the_fewest_coins_are_certified_and_a_hundredth_less_are_not() -> None:
    coins = selection.sufficient_coins(1, TEN_THOUSANDTH, 16)
    assert selection.of_coins(coins, 16).delta(1).high <= TEN_THOUSANDTH < selection.of_coins(coins * 99 // 100, 16).delta(1).low
    assert selection.for_privacy(1, TEN_THOUSANDTH, 30, 16).coins == -(-coins // 30)


def test_the_users_that_suffice_keep_both_promises_and_a_twentieth_less_do_not() -> None:
    users, m = selection.sufficient_users(16, 1, TEN_THOUSANDTH, BETA, ERROR)
    assert account(m).delta(1).high <= TEN_THOUSANDTH
    assert selection.failure(m, ERROR).high <= BETA < selection.failure(replace(m, users=users * 19 // 20), ERROR).high
    assert users < 100 * 16 * math.log(3 * 16) / 10  # what one message takes, and a tenth of it


def test_a_question_is_named_wrongly_as_often_as_two_binomial_laws_say() -> None:
    m, rng = ShuffledSelection(users=100, questions=2, coins=10), np.random.default_rng(1)
    data = {(0,): 56, (1,): 44}  # of 2 questions; ties name the first, so that the second one is best
    wrong = np.mean([np.argmax(m.run_on_counts({(1,): 56, (0,): 44}, rng)) == 0 for _ in range(20_000)])
    bound = selection.failure(m, Fraction(1, 10)).high
    assert sum(data.values()) == m.users
    assert 0.3 < wrong < bound
    assert selection.failure(m, Fraction(119, 1000)).high == pytest.approx(wrong, abs=0.01)


@pytest.mark.slow
def test_several_selections_cost_what_one_of_all_their_questions_costs() -> None:
    with at_most(8):  # seconds: one or two; the curve of one selection took minutes
        several = account(Repeat(ShuffledSelection(users=8, questions=10, coins=10), 3))
        one = account(ShuffledSelection(users=8, questions=30, coins=10))
        for delta in (Fraction(1, 4), Fraction(1, 10**6)):
            found, truth = several.epsilon(delta), one.epsilon(delta)
            assert truth.low <= found.high <= truth.high * (1 + 1e-3)  # two lattices, each known to some 1e-4


F = Fraction
SMALL = ShuffledBinarySums(users=3, values=3, gamma=F(1, 3))
SETTINGS = [
    (10**6, 10**4, F(1), F(1, 10**9), 72.17, 1.72, 41.0),
    pytest.param(10**8, 10**6, F(1), F(1, 10**10), 82.27, 1.82, 53.5, marks=pytest.mark.slow),
    pytest.param(10**5, 10**3, F(1, 2), F(1, 10**8), 204.7, 3.05, 58.3, marks=pytest.mark.slow),
]
"""users, values, epsilon, delta; the mean of a blanket, messages per user, expected error: as a coarser accountant found them."""


def labels_and_blankets(m: ShuffledBinarySums, data: tuple[int, ...]) -> Outcomes:
    return messages((1 - m.gamma, m.gamma), [[int(x == label) for label in range(m.values)] for x in data])


@pytest.mark.parametrize("m", [SMALL, ShuffledBinarySums(2, 2, F(1, 4)), ShuffledBinarySums(1, 3, F(1, 2))], ids=str)
def test_whatever_the_others_hold_the_shuffled_messages_cost_what_the_accountant_says(m: ShuffledBinarySums) -> None:
    profile = account(m)
    for ratio in (F(1), F(3, 2), F(2), F(5)):
        found = {
            divergence(labels_and_blankets(m, (0, *others)), labels_and_blankets(m, (1, *others)), ratio)
            for others in product(range(m.values), repeat=m.users - 1)
        }
        assert len(found) == 1
        assert around(profile.delta(math.log(ratio)), found.pop())


@pytest.mark.parametrize(("users", "values", "epsilon", "delta", "mean", "sent", "error"), SETTINGS)
def test_the_least_blanket_is_certified_and_the_next_thinner_one_is_not(
    users: int, values: int, epsilon: Fraction, delta: Fraction, mean: float, sent: float, error: float
) -> None:
    m = shuffled_binary_sums.for_privacy(epsilon, delta, users, values)
    assert m.gamma * users == pytest.approx(mean, rel=5e-3)
    assert m.gamma * users < mean
    assert account(m).delta(epsilon).high <= delta < account(replace(m, gamma=m.gamma * F(9999, 10**4))).delta(epsilon).high
    assert float(m.expected_messages) == pytest.approx(sent, rel=5e-3)
    assert shuffled_binary_sums.expected_error_bound(m).high == pytest.approx(error, rel=5e-3)
    assert 0.8 * error < shuffled_binary_sums.expected_error(m).high < 0.9 * error


def test_a_pair_of_counts_is_a_hidden_tuple_where_messages_are_rare() -> None:
    users, delta = 10**8, F(1, 10**9)
    m = ShuffledBinarySums(users, 2, F(7206, 100 * users))
    tuples = HiddenTuple(users - 1, m.gamma, Seen.ALL, "one message among random ones")
    assert account(m).epsilon(delta).low == pytest.approx(tuples.epsilon(delta).low, abs=1e-5) == pytest.approx(1, abs=1e-4)


def test_it_is_a_row_of_count_min_without_collisions() -> None:
    m = ShuffledBinarySums(10**4, 100, F(1, 100))
    assert account(m).epsilon(F(1, 10**6)) == worst_replaced(m.users, m.gamma, 1, 1).epsilon(F(1, 10**6))


def test_a_user_more_or_less_costs_what_enumeration_says() -> None:
    profile = account(SMALL, ADD_REMOVE)
    oracle = FiniteProfile(both_directions(law_atoms(SMALL.law(0), SMALL.law(None))), "enumeration")
    for epsilon in (0.0, 0.5, 2.0):
        ours, truth = profile.delta(epsilon), oracle.delta(epsilon)
        assert meet(ours, truth)
    wide = ShuffledBinarySums(60, values=40, gamma=F(1, 10))
    found = audit(wide, neighbours=ADD_REMOVE, delta=0.01, epsilon=1.0, trials=100_000, seed=3)
    exact = account(wide, ADD_REMOVE).epsilon(0.01)
    assert found.pair == (0, None)
    assert 0.7 * exact.low < found.epsilon_lower < exact.high


def test_a_view_of_many_labels_shows_two_and_the_total_of_the_others() -> None:
    m = ShuffledBinarySums(50, values=17, gamma=F(1, 5))
    assert (m.shown, SMALL.shown) == (2, 3)
    for x, means in ((0, (11, 10, 150)), (5, (10, 10, 151)), (None, (9.8, 9.8, 147))):
        views = m.sample(x, 40_000, np.random.default_rng(1))
        assert views.mean(axis=0) == pytest.approx(means, abs=0.2)


@pytest.mark.parametrize(
    ("m", "data", "law_of", "noise"),
    [(SELECT, ((0,), (0, 1)), coins_and_answers, SELECT.noise / 2), (SMALL, (0, 0, 2), labels_and_blankets, SMALL.expected_noise)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_run_has_the_law_of_the_counts_of_all_messages(m: Any, data: Any, law_of: Callable[..., Outcomes], noise: float) -> None:
    rng = np.random.default_rng(5)
    runs = np.rint(np.array([m.run(data, rng) for _ in range(10_000)]) + float(noise)).astype(int)
    assert fits(Counter(map(tuple, runs.tolist())), law_of(m, data))


def test_more_coins_than_are_counted_are_refused() -> None:
    raises(Unsupported, r"2\*\*63 coins", ShuffledBinarySums(1 << 60, 1 << 20, F(1, 2)).sample, 0, 1, np.random.default_rng(0))


def test_a_hundred_million_users_cost_what_their_counts_cost() -> None:
    m = ShuffledBinarySums(10**8, values=10**4, gamma=F(72, 10**8))
    found = m.run_on_counts({0: 10**8 - 5000, 9999: 5000}, np.random.default_rng(0))
    off = np.abs(found - np.eye(1, 10**4)[0] * (10**8 - 5000) - 5000 * np.eye(1, 10**4, 9999)[0])
    assert 25 < off.max() < 60
    assert shuffled_binary_sums.failure(m, 60).high < 1e-6
    assert shuffled_binary_sums.failure(m, 25).low > 0.99


def test_how_likely_any_error_is_and_its_mean_are_those_of_simulated_noise() -> None:
    m = ShuffledBinarySums(500, values=30, gamma=F(1, 25))
    rng = np.random.default_rng(2)
    off = np.array([np.abs(m.run_on_counts({3: 500}, rng) - 500 * np.eye(1, 30, 3)[0]).max() for _ in range(4000)])
    assert shuffled_binary_sums.expected_error(m).low == pytest.approx(off.mean(), rel=0.01)
    assert shuffled_binary_sums.failure(m, 10).low == pytest.approx(np.mean(off > 10), abs=0.03)
    assert shuffled_binary_sums.expected_error(m).high < shuffled_binary_sums.expected_error_bound(m).high


SHARES = (F(1, 10), F(1, 2), F(9, 10))


def loss(data: np.ndarray[Any, Any], y: float, share: float) -> float:
    above = np.maximum(data - y, 0).sum()
    return float(share * above + (1 - share) * np.maximum(y - data, 0).sum())


def test_quantiles_of_known_counts_are_midpoints_of_the_first_cell_that_reaches_them() -> None:
    m = ShuffledQuantiles(users=10, cells=8, tau=2, rho=1)
    prefixes = np.cumsum([1, 0, 3, 2, 0, 0, 4, 0]).astype(float)
    assert [m.quantile(prefixes, share) for share in SHARES] == [0.0625, 0.4375, 0.8125]


def test_a_number_lies_in_the_cell_that_ends_at_or_after_it() -> None:
    m = ShuffledQuantiles(users=5, cells=4, tau=2, rho=1)
    assert m.cell([0, 0.25, 0.26, 0.5, 1]).tolist() == [0, 0, 1, 1, 3]
    assert m.truth([0, 0.25, 0.26, 0.5, 1]).tolist() == [2, 4, 4, 5]


@given(
    st.integers(2, 9),
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.floats(0, 4),
    st.sampled_from(SHARES),
    st.integers(0, 2**32),
)
def test_the_loss_and_the_rank_are_within_their_bounds_for_any_noise(
    cells: int, numbers: list[float], alpha: float, share: Fraction, seed: int
) -> None:
    m, data = ShuffledQuantiles(len(numbers), cells, 2, 1), np.array(numbers)
    truth, rng = m.truth(data), np.random.default_rng(seed)
    noisy = truth + alpha * rng.choice([-1, 1, 0.5], cells)
    noisy[-1] = len(data)
    found = m.quantile(noisy, share)
    least = min(loss(data, y, float(share)) for y in data)
    assert loss(data, found, float(share)) <= least + loss_bound(alpha, len(data), cells, share) + 1e-9
    cell, goal = round(found * cells - 0.5), float(share) * len(data)
    assert truth[cell] >= goal - alpha - 1e-9
    assert cell == 0 or truth[cell - 1] < goal + alpha + 1e-9


@given(st.integers(0, 2**32))
def test_a_larger_share_never_has_a_smaller_quantile(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, prefixes = ShuffledQuantiles(50, 16, 2, 1), rng.normal(25, 20, 16)
    prefixes[-1] = 50
    found = [m.quantile(prefixes, F(i, 20)) for i in range(1, 20)]
    assert found == sorted(found)


def test_quantiles_cost_what_the_range_queries_cost() -> None:
    m = ShuffledQuantiles(10**4, 1024, 14, 400)
    assert account(m).epsilon(1e-6) == account(RangeQueries(10**4, 1024, 14, 400)).epsilon(1e-6)


def test_a_million_users_have_their_median_within_the_certified_rank() -> None:
    m, rng = ShuffledQuantiles(10**6, 1 << 10, 20, 377), np.random.default_rng(4)
    data = rng.random(10**6) ** 3
    prefixes = m.run(data, rng)
    assert prefixes[-1] == 10**6
    alpha = prefix_error(m.ranges, F(1, 10**6)).high
    for share in SHARES:
        rank = np.count_nonzero(data <= m.quantile(prefixes, share) + 0.5 / m.cells)
        assert float(share) * 10**6 - alpha <= rank
        assert np.count_nonzero(data <= m.quantile(prefixes, share) - 0.5 / m.cells) <= float(share) * 10**6 + alpha


TWO = math.log(2)


def subsets(queries: int, k: int) -> list[tuple[int, ...]]:
    return [each for size in range(k + 1) for each in combinations(range(queries), size)]


def test_as_many_elements_are_replaced_as_the_larger_set_does_not_share() -> None:
    m = SparseStatisticalQueries(3, 6, 3, 3, 2, 2)
    for a, b in combinations(subsets(6, 3), 2):
        replaced = len(set(m.oracle.elements(a)) - set(m.oracle.elements(b)))
        assert replaced == apart(a, b) == apart(b, a)


@pytest.mark.parametrize(("k", "changed"), [(1, 1), (2, 1), (2, 2)])
def test_sets_within_the_promise_cost_no_more_than_the_bound_by_all_multisets(k: int, changed: int) -> None:
    m = SparseStatisticalQueries(1, 3, k, changed, 1, 1)
    oracle, profile, sets = Oracle(m.oracle.domain, 1), account(m), subsets(3, k)
    near = [(a, b) for a, b in combinations(sets, 2) if apart(a, b) <= changed]
    for epsilon in (0.0, TWO, 1.5):
        costs = [oracle.pair(1, (), m.oracle.elements(a), m.oracle.elements(b)).delta(epsilon).low for a, b in near]
        found = profile.delta(epsilon)
        assert around(found, max(costs))
        if k == 1:
            assert max(costs) == pytest.approx(found.high, rel=1e-12)


def test_two_users_cost_no_more_than_the_bound_whatever_the_other_holds() -> None:
    m, oracle, sets = SparseStatisticalQueries(2, 2, 1, 1, 1, 1), Oracle(2, 1), [(1,), (2,), (3,)]
    worst = max(oracle.pair(2, o, a, b).delta(TWO).low for o in sets for a, b in combinations(sets, 2))
    found = account(m).delta(TWO)
    assert found.low <= worst <= found.high * (1 + 1e-12)
    assert worst == pytest.approx(5 / 32, rel=1e-12)


def test_a_promise_of_less_changed_elements_costs_less_than_of_k() -> None:
    costs = [account(SparseStatisticalQueries(10**4, 1000, 4, d, 14, 1000)).epsilon(1e-6).high for d in (1, 2, 4)]
    assert costs[0] < costs[1] / 1.4 < costs[2] / 1.96, "about the root of their number"
    tight = account(SparseStatisticalQueries(10**4, 1000, 4, 1, 14, 1000)).epsilon(1e-6)
    assert tight.low > 0.99 * tight.high


def test_run_has_the_joint_law_of_the_oracle_s_estimates_on_everybodys_messages() -> None:
    m, rng, data = SparseStatisticalQueries(3, 3, 2, 2, 3, 1), np.random.default_rng(5), [(2,), (0, 1), (2,)]

    def literal() -> Any:
        return m.oracle.estimate(np.concatenate([m.oracle.randomize(x, rng) for x in data]))[:3]

    assert same_law([m.run(data, rng).round(6) for _ in range(500)], [literal().round(6) for _ in range(500)])
    assert m.truth(data).tolist() == [1, 1, 2]


def test_answers_are_shares_of_users_and_within_the_error_that_is_certified() -> None:
    m, rng = SparseStatisticalQueries(10**5, 130, 8, 8, 17, 3000), np.random.default_rng(1)
    prefixes = [[(1 << length) - 2 + (x >> (6 - length)) for length in range(1, 7)] for x in range(64)]
    data = rng.binomial(63, 0.3, m.users)
    found = m.answer(prefixes, data, rng)
    truth = m.truth([tuple(prefixes[x]) for x in data.tolist()]) / m.users
    assert truth[:2].sum() == 1
    assert np.all((found >= 0) & (found <= 1))
    assert np.abs(found - truth).max() < m.error_of_answers(F(1, 10**6)) / m.users < 0.02


def test_sets_that_differ_by_more_than_is_promised_are_refused() -> None:
    rng, m = np.random.default_rng(0), SparseStatisticalQueries(2, 9, 3, 1, 3, 1)
    digits = [(x, 4 + x, 8) for x in range(4)]
    assert SparseStatisticalQueries(2, 9, 3, 2, 3, 1).answer(digits, [0, 3], rng).shape == (9,)
    raises(ValueError, "differ by at most 1 elements, got 2", m.answer, digits, [0, 3], rng)
    many = SparseStatisticalQueries(2, 4000, 2, 1, 13, 1)
    raises(Unsupported, "take changed = k = 2", many.answer, [(x,) for x in range(3000)], [0, 3], rng)


def test_the_listed_inputs_are_as_far_apart_as_is_promised_and_their_elements_independent() -> None:
    for queries, k, changed in ((2, 1, 1), (3, 3, 2), (255, 6, 5), (256, 3, 2)):
        m = SparseStatisticalQueries(4, queries, k, changed, 3, 1)
        first, second = (m.oracle.elements(x)[: m.compared] for x in m.inputs)
        assert apart(*m.inputs) == m.compared <= changed
        assert max(*m.inputs[0], *m.inputs[1]) < queries
        assert len({sum(chosen) for size in range(9) for chosen in combinations(first + second, size)}) == 4**m.compared


def test_corollary_b_1_s_two_terms_are_small_enough_from_a_number_of_users_on() -> None:
    first, _, third = claims.EXAMPLES
    assert [claims.sufficient_users(s) for s in (first, third)] == [first.users, first.users]
    sampled = 2 * first.queries * math.exp(-first.users * float(first.tolerance) ** 2 / 2)
    assert sampled < claims.failure(first, first.users).high < 2 * sampled


@pytest.mark.parametrize("users", [1 << 12, 1 << 15, 1 << 18])
@pytest.mark.parametrize("tolerance", [Fraction(1, 50), Fraction(1, 5), Fraction(1, 2)])
def test_the_failure_of_an_answer_is_hoeffding_s_bound_and_bernstein_s(users: int, tolerance: Fraction) -> None:
    s = claims.Setting(Fraction(1), Fraction(1, 10**6), users, 100, 3, tolerance)
    m = s.of(users)
    t, p = float(tolerance), float(m.hit)
    x, v = users * t / 2 * (1 - p), (m.rho + m.k) * users * p
    truth = 200 * math.exp(-users * t * t / 2) + 200 * math.exp(-x * x / (2 * (v + x / 3)))
    assert claims.failure(s, users).high == pytest.approx(truth, rel=1e-9, abs=1e-300)
