"""Shuffled reports of users who do not all run the same plan."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from ldpaudit import Aggregate, Guarantee, Plan, Repeat, Run, Shuffle, Subsample, Unsupported, account
from ldpaudit.accountants import _summands
from ldpaudit.accountants.aggregation.exchanged import Step
from ldpaudit.accountants.aggregation.mixed import _above, _response, _uniform
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import KaryRandomizedResponse, UnaryEncoding
from ldpaudit.neighbours import ADD_REMOVE
from tests.helpers import raises, some
from tests.oracles.sums import divergence, outcomes, summed
from tests.samples import around

F = Fraction
CAUTIOUS, USUAL, OPEN = (KaryRandomizedResponse.for_epsilon(e, k=10) for e in (F(1, 2), 2, 4))


def worst(groups: Sequence[tuple[KaryRandomizedResponse, int]], epsilon: float) -> Fraction:
    """The largest delta of all pairs of neighbouring data sets."""
    k, found = groups[0][0].k, F(0)
    for own, _ in groups:
        others = [m for m, users in groups for _ in range(users - (m is own))]
        for held in product(range(k), repeat=len(others)):
            rest = summed(map(outcomes, others, held))
            laws = [summed([rest, outcomes(own, x)]) for x in range(k)]
            found = max(found, *(divergence(*pair, F(math.exp(epsilon))) for pair in permutations(laws, 2)))
    return found


@pytest.mark.parametrize("groups", [
    [(KaryRandomizedResponse(2, F(3, 5)), 2), (KaryRandomizedResponse(2, F(9, 10)), 3)],
    [(KaryRandomizedResponse(3, F(2, 5)), 3), (KaryRandomizedResponse(3, F(4, 5)), 2)],
    [(KaryRandomizedResponse(4, F(1, 4)), 2), (KaryRandomizedResponse(4, F(1, 2)), 1), (KaryRandomizedResponse(4, F(4, 5)), 1)],
])  # fmt: skip
def test_ends_hold_the_worst_of_all_data_sets(groups: list[tuple[KaryRandomizedResponse, int]]) -> None:
    profile = account(Shuffle(groups))
    for epsilon in (0, F(1, 10), F(1, 2), 1, 2):
        found, truth = profile.delta(epsilon), worst(groups, float(epsilon))
        assert around(found, truth)
        assert found.low > 0 or truth < 1e-12


@pytest.mark.parametrize("users", [1000, 10**5, 10**8])
def test_groups_hide_each_other_and_both_ends_meet(users: int) -> None:
    both = account(Shuffle([(CAUTIOUS, users), (USUAL, users)])).epsilon(1e-6)
    assert both.high < 1.01 * both.low
    assert account(Shuffle(CAUTIOUS, 2 * users)).epsilon(1e-6).high < both.low
    assert both.high < 0.9 * account(Shuffle(USUAL, 2 * users)).epsilon(1e-6).low


def test_a_group_of_nobody_else_changes_little_and_its_order_nothing() -> None:
    alone = account(Shuffle(USUAL, 10**5)).epsilon(1e-6)
    for groups in ([(CAUTIOUS, 1), (USUAL, 10**5)], [(USUAL, 10**5), (CAUTIOUS, 1)]):
        found = account(Shuffle(groups)).epsilon(1e-6)
        assert found.low <= alone.high
        assert alone.low <= 1.001 * found.high
        assert found == account(Shuffle(groups[::-1])).epsilon(1e-6)


def test_the_worst_user_is_of_the_group_that_says_most() -> None:
    among = [(CAUTIOUS, 5000), (USUAL, 5000)]
    less, more = account(Shuffle(among)), account(Shuffle([*among, (OPEN, 1)]))
    assert more.epsilon(1e-6).low > 2 * less.epsilon(1e-6).high
    top = account(OPEN).epsilon(0)
    assert (more.epsilon(0).low, more.epsilon(0).high) == (top.low, top.high)


def test_any_other_plans_are_hidden_by_their_own_group_alone() -> None:
    bits = UnaryEncoding.optimized(1, k=10)
    groups: list[tuple[Plan, int]] = [(Run(bits), 10**4), (Run(USUAL), 10**5), (Guarantee(F(1)), 10**4)]
    found = account(Shuffle(groups)).epsilon(1e-6)
    alone = [account(Shuffle(each, users)).epsilon(1e-6).high for each, users in groups]
    assert (found.low, found.high) == (0.0, max(alone))


def test_one_plan_is_no_group() -> None:
    assert Shuffle([(USUAL, 10), (USUAL, 20)]) == Shuffle(USUAL, 30)
    both = Shuffle([(USUAL, 10), (CAUTIOUS, 20)])
    assert (both.users, both) == (30, Shuffle(both.plan, 30))
    assert str(both) == f"Shuffle([({USUAL}, 10), ({CAUTIOUS}, 20)])"


def test_what_is_composed_and_sampled_costs_more_and_less() -> None:
    both = Shuffle([(CAUTIOUS, 5000), (USUAL, 5000)])
    once, again = (account(each).epsilon(1e-6) for each in (both, Repeat(both, 10)))
    assert once.low < again.low < again.high < 1.01 * again.low
    assert account(Subsample(both, 20_000, 10_000)).epsilon(1e-6).high < once.high


@pytest.mark.parametrize(("make", "error", "needs"), [
    (lambda: Shuffle([]), ValueError, "needs at least one group, got none"),
    (lambda: Shuffle([USUAL]), TypeError, "needs pairs of a plan and a number of users, got KaryRandomizedResponse"),  # type: ignore[list-item]
    (lambda: Shuffle([(USUAL, 0)]), ValueError, "needs a number of users >= 1 in each group, got 0"),
    (lambda: Shuffle([(USUAL, 1), (CAUTIOUS, 1)], 3), ValueError, "as many users as its groups have, 2, got users=3"),
    (lambda: Shuffle(USUAL), TypeError, "needs an integer users, got None"),
    (lambda: account(Shuffle([(USUAL, 1), (CAUTIOUS, 1)]).plan), Unsupported, "no accountant for Mixed"),
    (lambda: account(Aggregate(Shuffle([(USUAL, 1), (CAUTIOUS, 1)]).plan, 2)), Unsupported, "needs the reports of one mechanism"),
    (lambda: account(Shuffle([(USUAL, 1), (CAUTIOUS, 1)]), ADD_REMOVE), Unsupported, "needs replace-one neighbours"),
    (lambda: Shuffle([(USUAL, 1), (CAUTIOUS, 1)]).run([0, 1], np.random.default_rng(0)), Unsupported, "not of a composition"),
])  # fmt: skip
def test_bad_groups_are_refused(make: Callable[[], object], error: type[Exception], needs: str) -> None:
    raises(error, needs, make)


@pytest.mark.parametrize("truths", [(F(3, 5), F(3, 10)), (F(3, 5), F(19, 20)), (F(13, 50), F(9, 10))])
@pytest.mark.parametrize("users", [(1, 1), (2, 30), (9, 4), (40, 40)])
def test_a_binomial_number_of_uniform_reports_hides_no_more_than_theirs_does(truths: list[Fraction], users: list[int]) -> None:
    own, other = (some(_response(Run(KaryRandomizedResponse(4, q)), _summands)) for q in truths)
    found = some(_uniform(own, ((own, users[0]), (other, users[1]))))
    truth, lie = 1 - 3 * own.lie, own.lie
    among = Blanket.of([(truth, lie, F(1, 4)), (lie, truth, F(1, 4)), (2 * lie, 2 * lie, F(1, 2))])
    number = Masses.binomial(users[0], 4 * own.lie).plus(Masses.binomial(users[1], 4 * other.lie))
    fewer = Masses.binomial(found.users - 1, 1 - F(found.blankets[0].silence))  # type: ignore[arg-type]
    assert _above(number, fewer) <= found.apart + 1e-19
    for epsilon in (F(1, 100), F(1, 5), F(1, 2), F(3, 4)):
        with working_precision(precision(100)):
            costs = [float(among.delta(ball(epsilon).exp(), number.first + m + 1, 1e-9)) for m in range(len(number.values))]
            high = float(found.high(epsilon, 1e-9))
            assert float(number.values @ costs) <= high * (1 + 1e-6)
            assert float(replace(found, apart=0.25).high(epsilon, 1e-9)) == pytest.approx(high - found.apart + 0.25)


def test_a_law_that_is_smaller_is_known_as_such_and_none_else() -> None:
    number, fewer = Masses.binomial(1000, F(1, 2)), Masses.binomial(990, F(1, 2))
    assert _above(number, fewer) < 1e-20
    assert _above(fewer, number) == pytest.approx(0.126, abs=0.001)


@pytest.mark.parametrize("step", [Step(F(1, 10), F(1, 10), F(0)), Step(F(1, 4), F(1, 9), F(1, 8)), Step(F(4, 5), F(1, 10), F(0))])
def test_steps_add_up_as_their_law_does(step: Step) -> None:
    for users in (0, 1, 2, 7, 3000):
        found, summed = step.times(users), step.masses.times(users)
        at = np.arange(-users, users + 1)
        assert np.allclose(found.at(at), summed.at(at), rtol=1e-9, atol=1e-25)
