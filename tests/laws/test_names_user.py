"""Reports that name their users: which do, by what a run really sends, and what a shuffler is worth to them."""

import inspect
import math
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

import ldpaudit as ldp
from ldpaudit import Mechanism, Rigour, Unsupported, account
from ldpaudit.accountants.claims.published import published
from ldpaudit.mechanisms import GenProt, GenProtBit, JLHeavyHitter, SignOracle, classes
from ldpaudit.plan import Compose, Plan, PostProcess, Repeat, Run, Shuffle, Subsample
from ldpaudit.studies.design import Goal, design
from tests.helpers import raises
from tests.oracles import shuffle as oracle
from tests.zoo import AT_ONE, ONE_EACH, SMALL, STEMS

F = Fraction
USERS = 12
NAMED = [m for m in {type(m): m for m in [*SMALL, *AT_ONE]}.values() if m.names_user]
ORACLE = SignOracle.for_epsilon(2, users=2000, domain=16)
HIDES_NOBODY = "what it costs alone, since reports, or what is public of them, name their users: shuffling hides nobody"


def test_every_class_is_looked_at() -> None:
    assert {type(m) for m in ONE_EACH} == {owner for stem in STEMS for owner in classes(stem).values()}


@pytest.mark.parametrize("m", [m for m in ONE_EACH if m.model == "local"], ids=str)
def test_a_mechanism_names_its_users_just_where_what_it_sends_does(m: Mechanism) -> None:
    assert m.names_user == (_has_names(m) or _has_public_draws(m))


def test_what_is_no_user_s_own_view_names_nobody() -> None:
    assert not any(m.names_user for m in ONE_EACH if m.model != "local")


def _has_names(m: Mechanism) -> bool:
    """Whether some number of a report is another one for every user, and for each the same whatever users hold and coins say.

    Looked for in all that is made or decoded in real runs of as many users as there may be, on all kinds of data.
    """
    sizes = {"users": USERS, "index": 0} if "index" in {f.name for f in fields(m)} else {}  # type: ignore[arg-type]
    small = replace(m, **sizes)  # type: ignore[type-var]
    first, last = small.inputs[0], small.inputs[-1]
    data = [first] * USERS, [last] * USERS, [first, last] * (USERS // 2)
    runs = [_columns(small, held, np.random.default_rng(seed)) for seed, held in enumerate(data)]
    return any(len(set(column)) == USERS for column in set.intersection(*runs))


def _columns(m: Mechanism, data: list[Any], rng: np.random.Generator) -> set[tuple[Any, ...]]:
    """Of a run, every number of all users' reports, in order of size; what is summed up where it is made is no report."""
    heard: list[NDArray[Any]] = []

    def listened(name: str, told: Callable[[Any, tuple[Any, ...]], Any]) -> Any:
        known = getattr(type(m), name)

        def listening(*given: Any) -> Any:
            found = known(*given)
            heard.append(np.array(told(found, given)))
            return found

        return mock.patch.object(type(m), name, listening)

    maker = "reports" if hasattr(m, "index") else "sample"
    with listened(maker, lambda made, _: made), listened("estimate", lambda _, given: given[1]):
        m.run(data, rng)
    reports = (each.reshape(USERS, -1) for each in heard if len(each) == USERS)
    return {tuple(sorted(column.tolist())) for each in reports for column in each.T}


def _has_public_draws(m: Mechanism) -> bool:
    """Whether part of a view is drawn in public, for each user anew, before there is any input."""
    draws = getattr(type(m), "public", None)
    return callable(draws) and "size" in inspect.signature(draws).parameters


@pytest.mark.parametrize("make", [partial(GenProt.of_response, slots=8), GenProtBit.of_response])
def test_answers_to_public_draws_say_nothing_without_their_users(make: Callable[..., Mechanism]) -> None:
    m, rng = make(F(1, 3), k=2), np.random.default_rng(0)
    views = m.sample(0, 200_000, rng)
    mixed = np.concatenate([views[:, :-1], rng.permutation(views[:, -1:])], axis=1)
    right, wrong = (found[0] - found[1] for found in map(m.estimate, (views, mixed)))
    assert right > 150_000
    assert abs(wrong) < 20_000


def test_permuting_which_user_sent_which_report_changes_what_is_found() -> None:
    m = SignOracle.for_epsilon(20, users=64, domain=8)
    views = m.collect([3] * 64, np.random.default_rng(0))
    mixed = np.stack([np.roll(views[:, 0], 1), views[:, 1]], axis=1)
    assert np.argmax(m.estimate(views)) == 3
    assert m.estimate(views)[3] > 60
    assert m.estimate(mixed)[3] < 40


def test_the_sign_oracle_s_reports_cost_shuffled_what_all_multisets_of_named_reports_say() -> None:
    m = SignOracle(users=3, domain=4, p=F(3, 4), seed=1)
    channels = [[dict(replace(m, index=i).law(x).items()) for x in m.inputs] for i in range(3)]
    profile = account(Shuffle(m, 3))
    for ratio in (F(1), F(3, 2), F(5, 2), F(3)):
        truth = max(
            oracle.divergence(oracle.shuffled([channels[0][x], *others]), oracle.shuffled([channels[0][y], *others]), ratio)
            for x, y in permutations(range(4), 2)
            for others in product(channels[1], channels[2])
        )
        found = profile.delta(math.log(ratio))
        assert found.low <= truth + F(1, 10**12)
        assert truth <= F(found.high) + F(1, 10**12)
        assert found.rigour is Rigour.EXACT


def test_the_report_of_a_shuffled_run_is_found_by_its_name() -> None:
    rng, (first, second) = np.random.default_rng(0), ORACLE.apart
    told = [0, 0]
    for side, x in enumerate((first, second)):
        data = np.full(2000, 5)
        data[7] = x
        for _ in range(300):
            views = rng.permutation(ORACLE.reports(data, (np.arange(2000) - 7) % 2000, rng))
            (own,) = views[views[:, 0] == ORACLE.index]
            told[side] += own[1] == ORACLE.signs(first, ORACLE.index)
    right, wrong = 0.8808 * 300, 0.1192 * 300
    assert told[0] == pytest.approx(right, abs=30)
    assert told[1] == pytest.approx(wrong, abs=30)


def test_the_shuffled_sign_oracle_of_two_thousand_users_is_not_hidden_at_all() -> None:
    found = account(Shuffle(ORACLE, 2000))
    assert found.epsilon(F(1, 10**6)).low > 1.999
    assert found.delta(F("0.2152")).low == pytest.approx(0.733, abs=1e-3)


@pytest.mark.parametrize("m", NAMED, ids=str)
def test_what_names_its_user_costs_shuffled_what_it_costs_alone_and_says_why(m: Mechanism) -> None:
    alone, shuffled = account(m), account(Shuffle(m, 40))
    for delta in (0, F(1, 10**6), F(1, 10)):
        one, other = alone.epsilon(delta), shuffled.epsilon(delta)
        assert (one.low, one.high, one.rigour) == (other.low, other.high, other.rigour)
        assert 0 < other.low <= other.high
        assert other.source.startswith(HIDES_NOBODY)
    assert shuffled.delta(F(1, 2)).low == alone.delta(F(1, 2)).low > 0


@pytest.mark.parametrize(("whole", "alone"), [
    (Shuffle(Repeat(ORACLE, 3), 2000), Repeat(ORACLE, 3)),
    (Repeat(Shuffle(ORACLE, 2000), 3), Repeat(ORACLE, 3)),
    (Shuffle(Compose([ORACLE, AT_ONE[0]]), 9), Compose([ORACLE, AT_ONE[0]])),
    (Compose([Shuffle(ORACLE, 5), Shuffle(replace(ORACLE, p=F(2, 3)), 5)]), Compose([ORACLE, replace(ORACLE, p=F(2, 3))])),
], ids=str)  # fmt: skip
def test_several_reports_one_of_which_names_its_user_are_not_hidden(whole: Plan, alone: Plan) -> None:
    for delta in (0, F(1, 10**6), F(1, 10)):
        found, truth = account(whole).epsilon(delta), account(alone).epsilon(delta)
        assert (found.low, found.high) == (truth.low, truth.high)


def test_what_is_made_of_a_named_report_may_still_name_it() -> None:
    found = account(Shuffle(PostProcess(Run(ORACLE), "anything"), 2000)).epsilon(F(1, 10**6))
    assert found.low == 0
    assert found.high == account(ORACLE).epsilon(F(1, 10**6)).high


@pytest.mark.parametrize("batch", [1, 50])
def test_who_was_drawn_is_no_secret_where_reports_name_their_users(batch: int) -> None:
    plan = Subsample(Shuffle(ORACLE, batch), 200, batch)
    rate, p = F(batch, 200), ORACLE.p
    found = account(plan)
    assert found.epsilon(0).low == account(ORACLE).epsilon(0).low
    for ratio in (F(1), F(3), F(7)):
        truth = rate * (p - ratio * (1 - p))
        assert float(truth) == pytest.approx(found.delta(math.log(ratio)).high, rel=1e-12)
        assert found.delta(math.log(ratio)).rigour is Rigour.EXACT
    assert found.epsilon(rate).high == 0
    assert "names its user" in found.epsilon(F(1, 10**3)).source
    assert published(plan, F(1, 10**3), found.epsilon(F(1, 10**3))) == ()


def test_more_users_than_names_are_refused_by_accountants_and_by_attacks() -> None:
    for ask in (account, ldp.audit):
        raises(Unsupported, "of whom there are 2001, by 2000 indices", ask, Shuffle(ORACLE, 2001))
    raises(Unsupported, "by 2000 indices", account, Subsample(Shuffle(ORACLE, 50), 10**6, 50))


def test_theorems_of_shuffling_are_not_cited_of_reports_that_name_their_users() -> None:
    plan = Shuffle(ORACLE, 2000)
    assert published(plan, F(1, 10**6), account(plan).epsilon(F(1, 10**6))) == ()


def test_no_number_of_users_is_designed_where_reports_name_them() -> None:
    parameters = {"users": 10**6, "domain": 16, "epsilon": 2, "constructor": "for_epsilon"}
    with pytest.raises(ValueError, match="reports name their users, and no number of users hides one"):
        design("sign_oracle", parameters, Goal(F(1, 2), F(1, 10**6)))
    assert design("sign_oracle", parameters, Goal(F(2), F(1, 10**6))).value == 1


@pytest.mark.parametrize("m", [*NAMED[:2], NAMED[-1], *(pytest.param(m, marks=pytest.mark.slow) for m in NAMED[2:-1])], ids=str)
def test_an_attack_on_shuffled_reports_that_name_their_users_measures_what_one_alone_costs(m: Mechanism) -> None:
    exact = account(m).epsilon(F(1, 100))
    evidence = ldp.audit(Shuffle(m, 1000), epsilon=exact.high, delta=0.01, trials=25_000, confidence=0.999, seed=2)
    assert 0.6 * exact.low < evidence.epsilon_lower <= exact.high
    assert evidence.event.startswith("{the report that names user 1")
    assert evidence.pair[0].users == evidence.pair[1].users == 1000


def test_named_code_that_is_louder_than_declared_is_refuted_through_a_shuffler() -> None:
    loud = replace(ORACLE, p=F(99, 100))
    evidence = ldp.audit(Shuffle(ORACLE, 2000), implementation=loud, epsilon=2.0, trials=50_000, confidence=0.999)
    assert evidence.epsilon_lower > 2.01


def test_a_mechanism_of_one_s_own_says_that_its_reports_name_their_users() -> None:
    class Named(ldp.mechanisms.KaryRandomizedResponse):
        names_user = True

    raises(Unsupported, "a subclass of KaryRandomizedResponse", account, Shuffle(Named(3, F(1, 2)), 9))
    assert JLHeavyHitter.names_user is False
