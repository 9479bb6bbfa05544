"""Users drawn without replacement: the theorem's bound against every data set, and where one is drawn, the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ldpaudit import Aggregate, Compose, Mechanism, Plan, Poisson, Repeat, Run, Shuffle, Subsample, Unsupported, account, audit
from ldpaudit.accountants.pld.sampled import SubsampledProfile
from ldpaudit.attacks.games.plans import target
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms import Channel, KaryRandomizedResponse, Laplace, ShuffledHadamard, SubsetSelection, TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from tests.helpers import raises
from tests.oracles import shuffle as oracle
from tests.oracles.pairs import Views, excess, joint
from tests.samples import near

F = Fraction
ROUNDED = 1e-15
"""By how much delta may be larger at an epsilon that was rounded down to a float."""


def worst(m: Mechanism, users: int, batch: int, exp_epsilon: Fraction) -> Fraction:
    """The largest divergence over all data sets, the views of all batches listed."""
    channel, size = oracle.laws(m), len(m.inputs)

    def view(data: tuple[int, ...]) -> dict[tuple[object, ...], Fraction]:
        batches = list(combinations(data, batch))
        views = (oracle.shuffled(channel[x] for x in drawn).items() for drawn in batches)
        return oracle.law_of((y, p / len(batches)) for law in views for y, p in law)

    found = F(0)
    for others in combinations_with_replacement(range(size), users - 1):
        views = [view((x, *others)) for x in range(size)]
        for one, two in product(views, repeat=2):
            found = max(found, oracle.divergence(one, two, exp_epsilon))
    return found


@pytest.mark.parametrize(
    ("m", "users", "batch"),
    [(KaryRandomizedResponse(2, F(3, 4)), 4, 2), (KaryRandomizedResponse(2, F(9, 10)), 5, 3),
     (KaryRandomizedResponse(3, F(2, 3)), 3, 2),
     (Channel([[F(1, 9), F(5, 9), F(1, 3)], [F(1, 2), F(1, 4), F(1, 4)]]), 4, 3),
     (Channel([[F(1, 10), F(9, 10)], [F(3, 7), F(4, 7)], [F(2, 3), F(1, 3)]]), 4, 2)], ids=str,
)  # fmt: skip
@pytest.mark.parametrize("exp_epsilon", [F(1), F(11, 10), F(3, 2), F(2)])
def test_no_data_set_costs_more(m: Mechanism, users: int, batch: int, exp_epsilon: Fraction) -> None:
    truth = worst(m, users, batch, exp_epsilon)
    found = account(Subsample(Shuffle(m, batch), users, batch)).delta(math.log(exp_epsilon))
    assert found.low <= truth + ROUNDED
    assert truth <= found.high * (1 + 1e-12)
    assert found.rigour is Rigour.INTERVAL
    assert found.high <= max(batch * truth, F(batch, users))


@pytest.mark.parametrize("m", [KaryRandomizedResponse(3, F(2, 3)), SubsetSelection(4, 2, F(3, 4))], ids=str)
@pytest.mark.parametrize("exp_epsilon", [F(1), F(11, 10), F(3, 2)])
def test_where_one_user_is_drawn_it_is_the_truth(m: Mechanism, exp_epsilon: Fraction) -> None:
    found = account(Subsample(m, 3, 1)).delta(math.log(exp_epsilon))
    assert found.rigour is Rigour.EXACT
    assert abs(worst(m, 3, 1, exp_epsilon) - F(found.high)) <= 1e-14


@given(st.integers(2, 10**9), st.floats(1e-12, 0.5), st.fractions(F(51, 100), F(99, 100), max_denominator=100))
def test_epsilon_is_where_delta_is_reached(users: int, delta: float, p: Fraction) -> None:
    profile = account(Subsample(KaryRandomizedResponse(2, p), users, 1))
    found = profile.epsilon(delta)
    assert found.relative_width < 1e-9 or found.high < 1e-15
    assert profile.delta(found.high).low <= delta * (1 + 1e-9)
    assert found.low == 0 or profile.delta(found.low).high >= delta * (1 - 1e-9)


def test_what_is_known_of_a_sample_is_as_rigorous_as_the_less_rigorous_end() -> None:
    found = Enclosure(0.5, 0.5, Rigour.EXACT, ""), Enclosure(0.5, 0.5, Rigour.INTERVAL, "")
    inner: Any = SimpleNamespace(delta=lambda e: found[e >= 2], epsilon=lambda delta: found[delta > F(0.1) * 3])
    sample, at = SubsampledProfile(inner, F(1, 3), True), math.log1p((math.exp(2) - 1) / 3)  # of the sample what 2 is of all drawn
    assert [sample.delta(each).rigour for each in (0.5, at, 2)] == [Rigour.EXACT, Rigour.INTERVAL, Rigour.INTERVAL]
    assert [sample.epsilon(each).rigour for each in (0.05, 0.1, 0.2)] == [Rigour.EXACT, Rigour.INTERVAL, Rigour.INTERVAL]


@given(st.integers(10, 10**6), st.floats(0.0, 2.0))
def test_drawing_never_costs_and_a_smaller_share_costs_less(users: int, epsilon: float) -> None:
    m = Laplace.for_epsilon(2)
    whole, tenth, third = account(m), *(account(Subsample(m, n, 1)) for n in (users, users // 3))
    assert tenth.delta(epsilon).high <= third.delta(epsilon).high <= whole.delta(epsilon).high
    assert account(Subsample(m, 1, 1)).delta(epsilon) == whole.delta(epsilon)


def test_reports_that_are_not_shuffled_tell_who_was_drawn() -> None:
    m = KaryRandomizedResponse(2, F(3, 4))
    raises(Unsupported, "shuffled together", account, Subsample(m, 10, 2))
    raises(Unsupported, r"is of 3 users, but the number drawn is 2", account, Subsample(Shuffle(m, 3), 10, 2))
    raises(Unsupported, "replace-one", account, Subsample(m, 10, 1), ADD_REMOVE)


ROWS = st.integers(2, 3).flatmap(
    lambda views: st.lists(st.lists(st.integers(1, 9), min_size=views, max_size=views), min_size=2, max_size=3)
)


@given(rows=ROWS, tenths=st.integers(1, 9), users=st.integers(2, 4))
def test_a_shuffle_of_users_who_take_part_by_coins_is_that_of_one_more_view(rows: list[list[int]], tenths: int, users: int) -> None:
    """Against every data set of the mechanism that shows nothing with the rest of the probability, listed."""
    laws, rate = [[F(w, sum(row)) for w in row] for row in rows], F(tenths, 10)
    more = Channel([[*(rate * p for p in law), 1 - rate] for law in laws])
    plan = Shuffle(Poisson(Channel(laws), rate), users)
    for exp_epsilon in (F(1), F(11, 10), F(3, 2)):
        (truth,) = oracle.worst(oracle.laws(more), users, exp_epsilon)
        assert near(account(plan).delta(math.log(exp_epsilon)), truth, ROUNDED)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "m", [KaryRandomizedResponse(3, F(2, 3)), Laplace(F(1)), Channel([[F(1, 10), F(9, 10)], [F(3, 7), F(4, 7)]])], ids=str
)
def test_who_takes_part_alone_has_a_part_of_delta(m: Mechanism) -> None:
    whole, part = account(m), account(Poisson(m, F(1, 4)))
    for epsilon in (0.0, 0.1, 0.4):
        assert part.delta(epsilon).high == pytest.approx(whole.delta(epsilon).high / 4, rel=1e-12)
    assert part.epsilon(0).high == pytest.approx(whole.epsilon(0).high, rel=1e-12)
    assert part.delta(0.1).rigour is Rigour.EXACT
    twice = Poisson(Poisson(m, F(1, 2)), F(1, 2))
    for one, other in ((Poisson(m, F(1)), Run(m)), (twice, Poisson(m, F(1, 4)))):
        assert account(one).delta(0.1) == account(other).delta(0.1)
        assert account(Shuffle(one, 5)).delta(0.1) == account(Shuffle(other, 5)).delta(0.1)
    few = account(Shuffle(Poisson(m, F(1, 2)), 5)).delta(0.05)
    assert few.high <= few.low * 1.25


@pytest.mark.parametrize(
    "m", [KaryRandomizedResponse(2, F(3, 4)), Laplace(F(1)), Repeat(KaryRandomizedResponse(3, F(1, 2)), 2)], ids=str
)
def test_among_many_users_coins_are_as_good_as_a_sample_of_as_many(m: Mechanism | Plan) -> None:
    coins = account(Shuffle(Poisson(m, F(1, 100)), 10**7)).epsilon(1e-8)
    drawn = account(Subsample(Shuffle(m, 10**5), 10**7, 10**5)).epsilon(1e-8)
    assert coins.high <= coins.low * 1.01
    assert coins.high == pytest.approx(drawn.high, rel=2e-3)


def test_users_take_part_one_by_one() -> None:
    m = KaryRandomizedResponse(2, F(3, 4))
    for rate in (F(0), F(2)):
        raises(ValueError, rf"Poisson needs 0 < rate <= 1, got rate={rate}", Poisson, m, rate)
    for plan in (Poisson(Shuffle(m, 9), F(1, 2)), Poisson(Aggregate(m, 9), F(1, 2)), Aggregate(Poisson(m, F(1, 2)), 9)):
        raises(Unsupported, r"one by one|reports of one mechanism", account, plan)
    for some in (Poisson(m, F(1, 2)), Shuffle(Poisson(m, F(1, 2)), 9)):  # who is absent shows no less than who takes no part
        raises(Unsupported, "replace-one", account, some, ADD_REMOVE)


def revealing(x: int) -> int:
    return x


def test_an_audit_draws_reports_as_often_as_they_are_sent() -> None:
    m, loss, views = KaryRandomizedResponse(2, F(3, 4)), math.log(3), 40_000
    for side, right in ((0, loss), (1, -loss)):
        scores = target(Poisson(m, F(1, 4)), None).draw(side, views, np.random.default_rng(side))
        for score, chance in ((0.0, 3 / 4), (right, 3 / 16), (-right, 1 / 16)):
            assert abs(np.isclose(scores, score).mean() - chance) < 5 / math.sqrt(views)
    assert 0.9 * loss < audit(Poisson(m, F(1, 4)), trials=views, seed=1).epsilon_lower <= loss
    # Of all 27 outcomes of three users, the others with the first value, the truth is .46090.
    assert 0.3 < audit(Shuffle(Poisson(m, F(1, 2)), 3), trials=views, delta=0.05, seed=1).epsilon_lower < 0.46090
    assert audit(Poisson(m, F(1, 4)), implementation=revealing, trials=views, seed=1).epsilon_lower > 3 * loss
    mixed = target(Poisson(m, F(1, 4)), None, revealing).mixed
    assert mixed is not None
    for scores, right in zip(mixed(np.repeat([0, 1], 3000)), (loss, -loss), strict=True):
        assert np.unique(scores) == pytest.approx(sorted((0.0, right)))
        assert len(scores) == 3000
        assert abs(np.count_nonzero(scores) - 750) < 150


Rows = list[list[Fraction]]


def some_of_two_runs(rows: Rows, rate: Fraction) -> Iterator[Views]:
    """Of a user who runs a channel twice with this probability."""
    pairs = [list(zip(a, b, strict=True)) for a, b in permutations(rows, 2)]
    for runs in product(pairs, repeat=2):
        yield [*((rate * p, rate * q) for p, q in joint(*runs)), (1 - rate, 1 - rate)]


def one_drawn(rows: Rows, rate: Fraction) -> Iterator[Views]:
    """Of a user who is drawn with this probability, and else one of others who all hold one value."""
    for a, b in permutations(rows, 2):
        for other in rows:
            yield [(rate * p + (1 - rate) * r, rate * q + (1 - rate) * r) for p, q, r in zip(a, b, other, strict=True)]


def three_users(rows: Rows, _: Fraction) -> Iterator[Views]:
    laws = oracle.channel(rows)
    for (x, x2), others in oracle.datasets(laws, 3):
        one, two = (oracle.shuffled(laws[each] for each in (own, *others)) for own in (x, x2))
        yield [(one[y], two.get(y, F(0))) for y in one]


@pytest.mark.parametrize(
    ("once", "pairs"),
    [(lambda m, rate: Poisson(Repeat(m, 2), rate), some_of_two_runs),
     (lambda m, rate: Subsample(m, rate.denominator, 1), one_drawn), (lambda m, _: Shuffle(m, 3), three_users)],
    ids=["some of two runs", "one drawn", "three users"],
)  # fmt: skip
@given(rows=ROWS, rate=st.sampled_from([F(1, 2), F(1, 10)]), exp_epsilon=st.sampled_from([F(1), F(11, 10), F(3, 2), F(6)]))
def test_what_is_run_twice_costs_what_its_worst_pairs_do(
    once: Callable[[Mechanism, Fraction], Plan], pairs: Callable[[Rows, Fraction], Iterator[Views]], rows: list[list[int]],
    rate: Fraction, exp_epsilon: Fraction,
) -> None:  # fmt: skip
    """Against any two pairs of inputs, one a run, listed."""
    laws = [[F(w, sum(row)) for w in row] for row in rows[:2]]
    truth = max(excess(joint(*runs), exp_epsilon) for runs in combinations_with_replacement(list(pairs(laws, rate)), 2))
    assert near(account(Repeat(once(Channel(laws), rate), 2)).delta(math.log(exp_epsilon)), truth, ROUNDED)


ANSWER, NUMBER = KaryRandomizedResponse(4, F(1, 2)), Laplace(F(1))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "plan",
    [Repeat(Poisson(Repeat(ANSWER, 30), F(1, 2)), 40), Repeat(Poisson(NUMBER, F(1, 3)), 50), Repeat(Subsample(ANSWER, 100, 1), 500),
     Repeat(Subsample(NUMBER, 100, 1), 5),
     Repeat(Poisson(Compose([Repeat(NUMBER, 3), ANSWER]), F(1, 10)), 10), Repeat(Shuffle(NUMBER, 2), 5)], ids=str,
)  # fmt: skip
def test_runs_of_samples_and_of_few_users_are_known_to_a_thousandth(plan: Plan) -> None:
    found = account(plan).epsilon(1e-6)
    assert found.high <= 1.001 * found.low


@pytest.mark.parametrize("inner", [Shuffle(ANSWER, 10), Aggregate(ANSWER, 10), Repeat(Shuffle(ANSWER, 10), 2)], ids=str)
def test_a_plan_of_ten_users_is_none_of_the_one_who_is_drawn(inner: Plan) -> None:
    raises(Unsupported, r"\w+\(.*\) is of 10 users, but the number drawn is 1", account, Subsample(inner, 100, 1))


@pytest.mark.parametrize("around", [lambda plan: Poisson(plan, F(1, 3)), lambda plan: Subsample(plan, 10, 1)])
def test_a_mechanism_of_many_users_is_run_by_none_of_them(around: Callable[[Plan], Plan]) -> None:
    for m in (ShuffledHadamard(2, 4, 1, 1), TrieHeavyHitter(users=81, batch=9, threshold=5, levels=1)):
        raises(Unsupported, r"of all (users|of them)", account, around(Repeat(m, 2)), REPLACE_ONE)


@pytest.mark.parametrize("around", [lambda plan: Poisson(plan, F(1, 3)), lambda plan: Subsample(plan, 10, 1)])
def test_the_upper_end_of_a_sample_is_that_of_the_plan_on_it(around: Callable[[Plan], Plan]) -> None:
    found = account(around(Compose([Repeat(Laplace(F(3)), 3), KaryRandomizedResponse(3, F(1, 2))])))
    for epsilon in (0.0, 0.1, 1.0, math.inf):
        assert found.delta(epsilon).high <= found.upper_end().delta(epsilon).high <= found.delta(epsilon).high * (1 + 1e-5)
    assert found.upper_end().delta(0.1).low == 0 < found.delta(0.1).low
