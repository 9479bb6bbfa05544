"""Laws that plans obey: more of what protects never costs, more of what tells never protects."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpaudit import account
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import Rappor
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.plan import Compose, Guarantee, Plan, Repeat, Run, Shuffle, Subsample
from ldpaudit.profile import PrivacyProfile

F = Fraction
SLACK = 1e-6  # relative: the accuracy at which theorems that are themselves not tight are computed

Maker = Callable[[float], Plan]  # a report's epsilon to what one user sends

REPORTS: dict[str, Maker] = {
    "binary": lambda e: Run(KaryRandomizedResponse.for_epsilon(e, 2)),
    "10-ary": lambda e: Run(KaryRandomizedResponse.for_epsilon(e, 10)),
    "unary": lambda e: Run(UnaryEncoding.symmetric(e, 6)),
    "guarantee": lambda e: Guarantee(F(e)),
}
ROUNDS: dict[str, Callable[[Plan, int], Plan]] = {
    "repeated": Repeat,
    "composed": lambda plan, times: Compose([Repeat(plan, times), KaryRandomizedResponse(3, F(1, 2))]),
}
CROWDS: dict[str, Callable[[Plan, int], Plan]] = {
    "shuffled": Shuffle,
    "shuffled as a pair": lambda plan, users: Shuffle(Repeat(plan, 2), users),
    "one drawn": lambda plan, users: Subsample(plan, users, 1),
    "half drawn and shuffled": lambda plan, users: Subsample(Shuffle(plan, users), 2 * users, users),
    "forty drawn and shuffled": lambda plan, users: Subsample(Shuffle(plan, 40), 40 + users, 40),
}

reports = st.sampled_from(sorted(REPORTS))
locals_ = st.floats(0.05, 3)
shares = st.floats(0, 1.1)
deltas = st.one_of(st.floats(1e-12, 0.3), st.floats(-60, -1).map(lambda log: 10.0**log))
few = st.integers(2, 40)
many = st.one_of(st.integers(2, 9), st.integers(100, 10**4))
quick = settings(max_examples=8)


def sound(found: Enclosure, most: float = math.inf) -> Enclosure:
    assert 0 <= found.low <= found.high <= most, found  # nothing that is not a number passes
    assert found.rigour is not Rigour.FLOAT
    return found


def rises(fewer: Enclosure, more: Enclosure) -> None:
    """The second is not less than the first: as enclosures, and the upper ends up to the arithmetic."""
    assert fewer.low <= more.high, (fewer, more)
    assert fewer.high <= more.high * (1 + SLACK) + 1e-300, (fewer, more)


def plans() -> st.SearchStrategy[Plan]:
    """Plans of every kind."""
    rounds = st.builds(
        lambda how, m, e, t: ROUNDS[how](REPORTS[m](e), t), st.sampled_from(sorted(ROUNDS)), reports, locals_, few
    )
    crowds = st.builds(
        lambda how, m, e, n: CROWDS[how](REPORTS[m](e), n), st.sampled_from(sorted(CROWDS)), reports, locals_, many
    )
    return st.one_of(rounds, crowds)


def epsilon_of(profile: PrivacyProfile, share: float) -> float:
    """A share of what the plan costs at delta = 0; most of what there is to see is near 0."""
    return profile.epsilon(0).high * share**3


@settings(max_examples=12)
@given(plans(), st.tuples(shares, shares), st.tuples(deltas, deltas))
def test_delta_falls_with_epsilon_and_epsilon_with_delta(
    plan: Plan, at: tuple[float, float], two: tuple[float, float]
) -> None:
    found = account(plan)
    near, far = (sound(found.delta(epsilon_of(found, share)), 1.0) for share in sorted(at))
    rises(far, near)
    small, large = (sound(found.epsilon(delta)) for delta in sorted(two))
    rises(large, small)


@given(plans(), deltas)
def test_an_epsilon_is_enough_and_less_than_its_lower_end_is_not(plan: Plan, delta: float) -> None:
    found = account(plan)
    epsilon = sound(found.epsilon(delta))
    there = found.delta(epsilon.high)
    assert there.low <= delta
    assert there.high <= delta * (1 + SLACK)
    assert epsilon.low == 0 or found.delta(epsilon.low * (1 - SLACK)).high >= delta


@quick
@given(st.sampled_from(sorted(ROUNDS)), reports, locals_, few, st.integers(1, 9), shares, deltas)
def test_more_rounds_cost_more(how: str, m: str, e: float, times: int, more: int, share: float, delta: float) -> None:
    one, other = (account(ROUNDS[how](REPORTS[m](e), t)) for t in (times, times + more))
    epsilon = epsilon_of(one, share)
    rises(one.delta(epsilon), other.delta(epsilon))
    rises(one.epsilon(delta), other.epsilon(delta))


@quick
@given(st.sampled_from(sorted(CROWDS)), reports, locals_, many, st.floats(1.01, 4), shares, deltas)
def test_more_users_hide_better(
    how: str, m: str, e: float, users: int, grown: float, share: float, delta: float
) -> None:
    more, fewer = (account(CROWDS[how](REPORTS[m](e), n)) for n in (math.ceil(users * grown), users))
    epsilon = epsilon_of(fewer, share)
    rises(more.delta(epsilon), fewer.delta(epsilon))
    rises(more.epsilon(delta), fewer.epsilon(delta))


@settings(max_examples=10)
@given(st.sampled_from(sorted(ROUNDS | CROWDS)), reports, locals_, st.floats(1.001, 2), few, shares, deltas)
def test_reports_that_tell_more_cost_more(
    how: str, m: str, e: float, factor: float, size: int, share: float, delta: float
) -> None:
    quieter, louder = (account((ROUNDS | CROWDS)[how](REPORTS[m](each), size)) for each in (e, e * factor))
    epsilon = epsilon_of(quieter, share)
    rises(quieter.delta(epsilon), louder.delta(epsilon))
    rises(quieter.epsilon(delta), louder.epsilon(delta))


@settings(max_examples=10)
@given(st.sampled_from(sorted(CROWDS)), reports, locals_, many, shares, deltas)
def test_a_crowd_is_never_worse_than_none(how: str, m: str, e: float, users: int, share: float, delta: float) -> None:
    report = Repeat(REPORTS[m](e), 2) if how == "shuffled as a pair" else REPORTS[m](e)
    alone, hidden = account(report), account(CROWDS[how](REPORTS[m](e), users))
    epsilon = epsilon_of(alone, share)
    assert hidden.delta(epsilon).high <= alone.delta(epsilon).high
    assert hidden.epsilon(delta).high <= alone.epsilon(0).high
    assert hidden.epsilon(delta).low <= alone.epsilon(delta).high


@pytest.mark.parametrize(
    "m", [KaryRandomizedResponse.for_epsilon(2, 5), Rappor(8, 1, F(1, 2), F(1, 4), F(3, 4), 1, 9)], ids=str
)
@pytest.mark.parametrize(("users", "delta"), [(2, 1e-300), (2, 1e-3), (30, 1e-30), (400, 1e-3)])
def test_an_epsilon_that_is_only_the_unshuffled_one_says_so(m: Mechanism, users: int, delta: float) -> None:
    for plan in (Shuffle(m, users), Shuffle(Repeat(m, 2), users), Shuffle(Guarantee(F(2)), users)):
        found, alone = account(plan).epsilon(delta), account(plan.plan).epsilon(0)
        assert ("as if it were not shuffled" in found.source) == (found.high >= alone.high)
        there = account(plan).delta(found.high / 2)
        assert ("as if it were not shuffled" in there.source) == (
            there.high >= account(plan.plan).delta(found.high / 2).high
        )
