"""The inverse questions: certified at the answer, refused next to it; protocols, noise and repairs that keep a goal."""

import math
import re
import shlex
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from ldpaudit import Aggregate, Repeat, Run, Shuffle, Unsupported, account
from ldpaudit.accountants.claims.bucket_heavy_hitter import whatever_the_vectors
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.shuffling.calibrate import largest_local_epsilon, users_needed
from ldpaudit.certificates.exhibits import Repair, repair
from ldpaudit.files.deployment import Deployment, load, loads
from ldpaudit.mechanisms import BucketHeavyHitter, Geometric, KaryRandomizedResponse
from ldpaudit.registry import ParameterError
from ldpaudit.studies.design import Goal, _Question, design
from ldpaudit.studies.frequencies import Noisy, any_messages, least_noise, least_users, one_message
from tests.helpers import ROOT, deployment, raises, run, slow, some, stdout, typed

BUCKET = {"domain": 64, "rows": 8, "trials": 4}
GOAL = Goal(Fraction(1, 2), Fraction(1, 10**6))
ONE = Goal(Fraction(1), Fraction(1, 10**6))
COUNTED, SUMMED = Goal(Fraction(1), Fraction(1, 10**9)), Goal(Fraction(1), Fraction(1, 1000))
"""Of protocols that count values, and of noise on sums."""
RUNS, SURE = 2000, 5
"""A standard deviation of this many runs is within 5 of its standard errors but once in a million."""


@pytest.mark.parametrize(("name", "parameters", "goal", "more", "asked", "best"), [
    ("guarantee", {}, GOAL, {"users": 1000}, "epsilon", "largest"),
    ("guarantee", {"epsilon": 1}, GOAL, {}, "users", "smallest"),
    ("randomized_response", {"k": 3}, GOAL, {"users": 1000}, "epsilon", "largest"),
    ("randomized_response", {"k": 2}, ONE, {"repeat": 20}, "epsilon", "largest"),
    ("guarantee", {}, ONE, {"repeat": 5}, "epsilon", "largest"),
    ("randomized_response", {"k": 3, "epsilon": 1}, GOAL, {}, "users", "smallest"),
    ("laplace", {"low": 0, "high": 1}, GOAL, {}, "scale", "smallest"),
    ("laplace:histogram", {"k": 4}, GOAL, {}, "scale", "smallest"),
    ("trie_heavy_hitter", {"users": 10**6, "threshold": 15, "levels": 1}, ONE, {}, "batch", "largest"),
    ("shuffled_hadamard", {"users": 2**12, "domain": 64, "tau": 8}, ONE, {}, "rho", "smallest"),
    *(slow("shuffled_count_min", {"users": users, "domain": 8, "rows": rows, "buckets": 50 * rows}, ONE, {}, "gamma", "smallest")
      for users, rows in ((10**3, 1), (10**4, 2))),
    slow("shuffled_binary_sums", {"users": 10**4, "values": 8}, ONE, {}, "gamma", "smallest"),
    ("unary_encoding", {"k": 10**4, "constructor": "symmetric"}, ONE, {"users": 10**6}, "epsilon", "largest"),
    ("bucket_heavy_hitter", BUCKET, ONE, {}, "scale", "smallest"),
    ("binomial_noise", {"n": 10**4, "k": 2}, ONE, {}, "gamma", "smallest"),
])  # fmt: skip
def test_an_answer_keeps_the_goal_and_the_next_value_does_not(
    name: str, parameters: dict[str, Any], goal: Goal, more: dict[str, Any], asked: str, best: str
) -> None:
    answer = design(name, parameters, goal, **more)
    assert (answer.parameter, answer.best) == (asked, best)
    assert answer.certified.high <= goal.delta
    assert answer.refused is not None
    assert some(answer.beyond).high > goal.delta
    assert (answer.refused > answer.value) == (best == "largest")
    assert abs(Decimal(answer.refused) - answer.value) <= max(Decimal(1), Decimal(answer.value) / 10**5)


def test_what_is_certified_is_what_the_accountant_says_of_the_answer() -> None:
    answer = design("randomized_response", {"k": 3}, GOAL, users=1000)
    m = KaryRandomizedResponse.for_epsilon(Fraction(answer.value), k=3)
    assert account(Shuffle(m, 1000)).delta(GOAL.epsilon) == answer.certified
    repeated = design("randomized_response", {"k": 2}, ONE, repeat=20)
    m = KaryRandomizedResponse.for_epsilon(Fraction(repeated.value), k=2)
    assert account(Repeat(m, 20)).delta(ONE.epsilon) == repeated.certified
    bucket = BucketHeavyHitter(64, 8, 4, Fraction(design("bucket_heavy_hitter", BUCKET, ONE).value))
    assert whatever_the_vectors(bucket).delta(ONE.epsilon).high <= ONE.delta  # not only for the vectors of one seed
    noise = design("binomial_noise", {"n": 1000, "k": 1}, ONE)
    assert ShiftProfile(1000, Fraction(noise.value), 1).delta(ONE.epsilon) == noise.certified


@pytest.mark.slow
def test_a_pure_goal_is_searched_without_curves() -> None:
    watched: list[Mock] = []

    def profile(m: Any) -> Mock:
        watched.append(Mock(wraps=account(m)))
        return watched[-1]

    def plan(epsilon: Fraction) -> Repeat:
        return Repeat(Shuffle(Geometric.for_epsilon(epsilon, 1), 9), 3)

    answer = _Question(Goal(Fraction(2)), "epsilon", "largest", plan, 0.5, profile=profile).real()
    assert (answer.value, answer.refused) == (Decimal("0.666666"), Decimal("0.666667"))
    assert sum(each.delta.call_count for each in watched) <= 3


@pytest.mark.slow
def test_of_any_randomizer_the_answers_are_better_than_those_of_the_clones() -> None:
    """And nearly those of ternary response, which is one."""
    largest, clones = float(design("guarantee", {}, GOAL, users=1000).value), largest_local_epsilon(1000, *_pair(GOAL))
    ternary = float(design("randomized_response", {"k": 3}, GOAL, users=1000).value)
    assert 1.2 * clones < largest < ternary < 1.01 * largest
    needed = design("guarantee", {"epsilon": 2}, GOAL).value
    assert design("randomized_response", {"k": 3, "epsilon": 2}, GOAL).value < needed < 0.6 * users_needed(2, *_pair(GOAL))


def _pair(goal: Goal) -> tuple[Fraction, Fraction]:
    return goal.epsilon, goal.delta


def test_where_no_noise_is_enough_it_says_so_and_the_largest_may_be_where_the_mechanism_ends() -> None:
    raises(ValueError, "out of reach", design, "laplace", {"low": 0, "high": 1}, Goal(Fraction(0)))
    raises(ValueError, "out of reach", design, "binomial_noise", {"n": 10, "k": 1}, ONE)
    raises(ValueError, "out of reach: at delta = 0", design, "randomized_response", {"k": 2, "epsilon": 1}, Goal(Fraction(1, 2)))
    raises(ValueError, "0 <= delta < 1", Goal, Fraction(1), Fraction(1))
    answer = design("rappor", {"bits": 8, "hashes": 1, "f": Fraction(1, 2), "domain": 10}, Goal(Fraction(3)))
    assert (answer.refused, answer.beyond) == (answer.value + Decimal("0.00001"), None)


@pytest.mark.parametrize(("name", "parameters", "more", "says"), [
    ("randomized_response", {}, {}, "needs all of .*or all but one that is to be found \\(epsilon, batch"),
    ("randomized_response", {"k": 2, "epsilon": 1}, {"users": 10}, "needs one parameter left out"),
    ("randomised", {"k": 2}, {}, "needs one of"),
    ("guarantee", {"k": 2}, {"users": 10}, "needs no parameter but epsilon"),
    ("binomial_noise", {"n": 2}, {}, r"needs \(n, k\), got \(n\)"),
    ("laplace", {"low": 0, "high": 1}, {"users": 10}, "needs no --shuffle"),
    ("unary_encoding", {"k": 3}, {"users": 10}, "needs constructor = one of optimized, symmetric"),
])  # fmt: skip
def test_what_leaves_no_single_question_is_refused(name: str, parameters: dict[str, Any], more: dict[str, Any], says: str) -> None:
    raises((ParameterError, ValueError, Unsupported), says, design, name, parameters, GOAL, **more)


def titles(users: int, values: int, goal: Goal = COUNTED) -> list[str]:
    return [each.plan.plan.mechanism.title for each in one_message(goal, users, values)]  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_vector_of_bits_is_better_from_a_number_of_values_on_that_is_about_the_root_of_that_of_users() -> None:
    users, needed = 10**6, 72.06
    # sqrt(needed B) = sqrt(2 ln(2B)) (needed n)**(1/4), the normal readings of both errors, at about B = 1900.
    border = 1900
    assert border == pytest.approx(2 * math.log(2 * border) * (users / needed) ** 0.5, rel=0.03)
    assert titles(users, round(border / 1.6))[0] == "k-ary randomized response"
    assert titles(users, round(1.6 * border))[0] == "unary encoding"


@pytest.mark.slow
def test_every_protocol_keeps_the_goal_ordered_by_errors_and_what_no_noise_makes_private_is_left_out() -> None:
    found = any_messages(COUNTED, 10**5, 256)
    assert len(found) == 3
    assert all(account(each.plan).delta(COUNTED.epsilon).high <= COUNTED.delta for each in found)
    assert all(a.error.high <= b.error.high for a, b in pairwise(found))
    assert [each.messages == 1 for each in found] == [isinstance(each.plan, Shuffle) for each in found] == [False, True, True]
    assert {each.bits for each in found} == {8, 256}
    found = any_messages(Goal(Fraction(1, 10), Fraction(1, 1000)), 100, 4)
    assert len(found) == 2, "binary sums of a hundred users are never so private"
    assert all(each.messages == 1 for each in found)


def test_what_no_protocol_or_sum_answers_is_refused() -> None:
    tenth = Goal(Fraction(0), Fraction(1, 10))
    for goal, users, values in ((tenth, 9, 4), (COUNTED, 9, 1), (COUNTED, 0, 4)):
        raises(ValueError, "protocols need", one_message, goal, users, values)
    for asked in ((tenth, 9, 4, 2), (Goal(Fraction(1)), 9, 4, 2), (SUMMED, 1, 4, 2), (SUMMED, 9, 1, 2), (SUMMED, 9, 4, 0)):
        raises(ValueError, "sums need", least_noise, *asked)
    raises(ValueError, "sums need an error", least_users, SUMMED, Fraction(1), 4)


@pytest.fixture(scope="module")
def summed() -> tuple[Noisy, ...]:
    return least_noise(SUMMED, 100, 3)


def test_every_way_keeps_the_goal_with_hardly_any_room_and_the_least_error_comes_first(summed: tuple[Noisy, ...]) -> None:
    assert len(summed) == 4
    for each in summed:
        kept = account(each.plan)
        assert kept.delta(SUMMED.epsilon).high <= SUMMED.delta
        assert 0.99 < kept.epsilon(SUMMED.delta).high <= 1
    assert all(a.error.high <= b.error.high for a, b in pairwise(summed))
    assert [each.parties for each in summed if isinstance(each.plan, Run)] == [2, 2, 2]


def test_the_error_is_that_of_estimates_that_are_drawn(summed: tuple[Noisy, ...]) -> None:
    (clients,) = (each for each in summed if not each.parties)
    (laplace,) = (each for each in summed if str(each.plan).startswith("DiscreteLaplace"))
    rng, data = np.random.default_rng(4), {0: 100}
    drawn = np.array([typed(Aggregate, clients.plan).run(data, rng) for _ in range(RUNS)]).std(axis=0)
    m = typed(Run, laplace.plan).mechanism
    noise = np.std(m.noise(RUNS, rng) + m.noise(RUNS, rng))  # type: ignore[attr-defined]
    assert np.all(np.abs(drawn / clients.error.high - 1) < SURE / math.sqrt(2 * RUNS))
    assert abs(noise / laplace.error.high - 1) < SURE * math.sqrt(5 / (4 * RUNS)), "its kurtosis is 6 at most"


@pytest.mark.slow
def test_about_the_fewest_users_have_the_error_and_one_aggregator_adds_the_root_of_half(summed: tuple[Noisy, ...]) -> None:
    share = Fraction(1, 10)
    for each in least_users(SUMMED, share, 3):
        assert each.error.high <= share * each.users
        assert each.error.high > share * (each.users - 1) * Fraction(99, 100)
        assert account(each.plan).delta(SUMMED.epsilon).high <= SUMMED.delta
    ways = (least_noise(SUMMED, 100, 3, 1), summed)
    errors = [{str(each.plan): each.error.high for each in found if each.parties} for found in ways]
    assert errors[1] == pytest.approx({plan: math.sqrt(2) * error for plan, error in errors[0].items()})


FILE = deployment("{mechanism}", 'id = "c"\nepsilon = "{epsilon}"\ndelta = "{delta}"\nneighbours = "{neighbours}"')
TRIE = 'kind = "trie_heavy_hitter"\nusers = 10_000\nthreshold = 10\nlevels = 8\nbatch = 300'
RESPONSE = 'kind = "randomized_response"\nk = 5\nrho = "2/(1+exp(8))"'


def asked(mechanism: str, epsilon: str, delta: str = "0", neighbours: str = "replace-one") -> tuple[Deployment, Repair]:
    whole = loads(FILE.format(mechanism=mechanism, epsilon=epsilon, delta=delta, neighbours=neighbours))
    return whole, repair(whole, whole.claims[0])


def number(pattern: str, found: Repair) -> Fraction:
    (value,) = re.findall(pattern, " ".join(found.sentences))
    return Fraction(value)


@pytest.mark.parametrize(("epsilon", "delta"), [("8", "0"), ("8", "1/1000"), ("1/2", "1/3")])
def test_the_nearest_claims_hold_as_they_are_printed_and_hardly_less_does(epsilon: str, delta: str) -> None:
    whole, found = asked(RESPONSE, epsilon, delta)
    profile, claim = account(whole.plan), whole.claims[0]
    wanted = number(r"delta an epsilon of ([0-9.e-]+)", found)
    assert profile.epsilon(claim.delta).high <= wanted * (1 + Fraction(1, 10**9))
    assert profile.epsilon(claim.delta).low > wanted * (1 - Fraction(1, 10**5))
    allowed = number(r"epsilon a delta of ([0-9.e-]+)", found)
    assert profile.delta(Fraction(epsilon)).high <= allowed
    assert profile.delta(Fraction(epsilon)).low > allowed * (1 - Fraction(1, 10**5))


def test_where_no_epsilon_holds_it_says_below_which_delta_and_what_holds_above_it() -> None:
    whole, found = asked(TRIE, "2", neighbours="add-remove")
    profile = account(whole.plan)
    below = number(r"below delta = ([0-9.e-]+) no epsilon", found)
    assert profile.epsilon(below * Fraction(999, 1000)).low == float("inf")
    above, epsilon = (number(pattern, found) for pattern in (r"at delta = ([0-9.e-]+),", r"epsilon is at most ([0-9.e-]+)"))
    assert above > below
    assert profile.epsilon(above).high <= epsilon
    assert "at this delta" not in " ".join(found.sentences)


@pytest.mark.parametrize("name", ["attribution-navigation", "apple-lookup-hints"])
def test_the_command_of_a_claim_that_fails_finds_what_keeps_it(name: str) -> None:
    whole = load(ROOT / f"deployments/{name}.toml")
    (claim,) = (c for c in whole.claims if c.expect in ("refuted", "undecided"))
    found = repair(whole, claim)
    verb, *words = shlex.split(found.command)
    assert verb == "ldpaudit"
    shown = stdout(run(*words))
    (value,) = re.findall(r"^epsilon = ([0-9.]+) is the largest found that keeps \(", shown, re.MULTILINE)
    assert f"epsilon = {value} is the largest" in found.answer
    assert f"that keeps ({float(claim.epsilon or 0):g}, {float(claim.delta):g})" in shown


def test_no_command_is_offered_for_another_relation_than_the_one_it_answers_for() -> None:
    bits = 'kind = "unary_encoding"\nk = 2\nrho = "1/(1+exp(8))"'
    one_bit, vector = (asked(bits, "8", neighbours=relation)[1] for relation in ("add-remove", "replace-one"))
    assert one_bit.command == ""
    assert vector.command.startswith("ldpaudit design unary_encoding k=2")


def test_a_batch_is_found_for_a_trie_that_no_epsilon_keeps_and_nothing_for_what_is_out_of_reach() -> None:
    _, found = asked(TRIE, "1", neighbours="add-remove")
    assert found.command == "ldpaudit design trie_heavy_hitter users=10000 threshold=10 levels=8 --epsilon 1"
    assert found.answer.startswith("batch = ")
    _, found = asked(RESPONSE, "0")
    assert found.sentences
    assert (found.command, found.answer) == ("", "")
    _, found = asked(RESPONSE, "8")
    assert found.lines == (*found.sentences, f"{found.answer}: {found.command}")
    assert Repair(("a",)).lines == ("a",)
