"""Shuffling: every bound against enumeration in rationals, and against every other bound."""

import math
from fractions import Fraction
from functools import cache
from typing import Any
from unittest.mock import Mock, patch

import flint
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ldpaudit import Compose, Enclosure, Guarantee, PostProcess, Repeat, Rigour, Run, Shuffle, Unsupported, account
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.shuffling import products, shuffled
from ldpaudit.accountants.shuffling.binary_bound import BinaryBound
from ldpaudit.accountants.shuffling.blanket import Blanket, largest, precision
from ldpaudit.accountants.shuffling.bounds import BlanketBound
from ldpaudit.accountants.shuffling.calibrate import largest_local_epsilon, users_needed
from ldpaudit.accountants.shuffling.clones import CloneProfile, Clones, among
from ldpaudit.accountants.shuffling.randomizers import of_mechanism
from ldpaudit.accountants.shuffling.shuffled import ShuffleProfile
from ldpaudit.core.expression import parse
from ldpaudit.mechanism import Law, Mechanism
from ldpaudit.mechanisms import HadamardResponse, Laplace, LocalHashing, SignOracle, SubsetSelection, UnaryEncoding
from ldpaudit.mechanisms.geometric import TruncatedGeometric
from ldpaudit.mechanisms.one_bit import DBitFlip, OneBitMean, PerturbedDBitFlip
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.range_queries import HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from ldpaudit.neighbours import ADD_REMOVE
from ldpaudit.profile import DataSet
from tests.helpers import raises, some, typed
from tests.oracles import shuffle as oracle

F = Fraction
E = F(3, 2)
EPSILON = math.log(1.5)
AT = (F(1), F(11, 10), E)
ROUNDING = 1e-9
"""Relative: epsilon as a float is not log(3/2), and delta moves by some 1e-16 of a probability."""
NEARLY = 2e-3
"""Relative: how far apart the two ends of a binary data set are at most, where not all of them are looked at."""
NEXT_TO_ZERO = 1e-7
"""Relative: the width that many clones' delta has next to epsilon = 0; everywhere else it is 1e-9."""


def profile(plan: Shuffle) -> ShuffleProfile:
    return typed(ShuffleProfile, account(plan))


def delta(blanket: Blanket, exp_epsilon: Fraction, users: int, tolerance: float = 1e-10) -> flint.arb:
    with flint.ctx.workprec(precision(users)):
        return blanket.delta(ball(exp_epsilon), users, tolerance)


def holds(truth: Fraction, found: flint.arb) -> bool:
    with flint.ctx.workprec(600):
        return bool(found.contains(ball(truth)))


def close(truth: Fraction, low: float, high: float) -> bool:
    return low <= float(truth) * (1 + ROUNDING) + 1e-15 and high >= float(truth) * (1 - ROUNDING) - 1e-15


SMALL: list[tuple[Mechanism, int]] = [
    (KaryRandomizedResponse(3, F(1, 2)), 5),
    (KaryRandomizedResponse(3, F(3, 4)), 6),
    (KaryRandomizedResponse(4, F(2, 5)), 4),
    (KaryRandomizedResponse(5, F(1, 2)), 3),
    (UnaryEncoding(2, F(3, 4), F(1, 4)), 4),
    (UnaryEncoding(3, F(2, 3), F(1, 5)), 3),
    (SubsetSelection(4, 2, F(3, 4)), 3),
    (HadamardResponse(2, F(3, 4)), 4),
    (HadamardResponse(3, F(3, 4)), 4),
    (HadamardResponse(5, F(3, 4)), 2),
    (LocalHashing(2, F(3, 4), 3, 3), 2),
    (LocalHashing(3, F(1, 2), 5, 5), 2),  # others may hold the third value of an arithmetic progression
    (Rappor(3, 1, F(1, 2), F(1, 4), F(3, 4), 1, 4), 3),
    (Rappor(4, 2, F(1, 2), F(1, 4), F(3, 4), 1, 5), 2),
    (PermanentRappor(3, 2, F(1, 2), 3), 3),
    (DBitFlip(3, 2, F(2, 3)), 3),
    (DBitFlip(4, 1, F(3, 4)), 3),
    (DBitFlip(2, 2, F(3, 4)), 4),
    (PerturbedDBitFlip(3, 2, F(3, 4), F(1, 4), reports=2), 3),
    (PerturbedDBitFlip(3, 1, F(3, 4), F(1, 4), reports=2), 3),
    (PerturbedDBitFlip(2, 2, F(2, 3), F(1, 10), reports=2), 4),
    (OneBitMean(F(1, 4), F(2, 3)), 6),
    (OneBitMean(F(1, 4), F(3, 4), F(1, 10), 2), 4),
    (TruncatedGeometric(2, F(1, 2)), 5),
    (TruncatedGeometric(4, F(4, 5)), 3),
]


@cache
def worst_of(m: Mechanism, users: int) -> list[Fraction]:
    """At each of `AT`."""
    return oracle.worst(oracle.laws(m), users, *AT)


@pytest.mark.few(13)
@pytest.mark.parametrize(("m", "users"), SMALL, ids=str)
def test_the_worst_data_set_lies_within_the_enclosure(m: Mechanism, users: int) -> None:
    for exp_epsilon, truth in zip(AT, worst_of(m, users), strict=True):
        found = profile(Shuffle(m, users)).delta(math.log(exp_epsilon))
        assert close(truth, found.low, found.high), (truth, found)


def test_lower_ends_of_a_shuffle_are_asked_for_without_its_theorems(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Shuffle(KaryRandomizedResponse(3, Fraction(1, 2)), 50)
    found, alone = account(plan), account(plan.plan)
    wanted = found.epsilon(1e-6).low, found.delta(0.3).low
    monkeypatch.setattr(ShuffleProfile, "_hidden", lambda *_: pytest.fail("theorems are looked at"))
    epsilon, delta = found.from_below().epsilon(1e-6), found.from_below().delta(0.3)
    assert (epsilon.low, delta.low) == wanted
    assert (epsilon.high, delta.high) == (alone.epsilon(1e-6).high, alone.delta(0.3).high)


def test_where_ends_are_far_apart_rounds_of_what_takes_long_are_composed_of_half_the_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Repeat(Shuffle(Repeat(Laplace(F(2)), 2), 1000), 3)
    looks = Mock(side_effect=ShuffleProfile._hidden, autospec=True)
    monkeypatch.setattr(ShuffleProfile, "_hidden", lambda *asked: looks(*asked))
    far, half = account(plan).epsilon(1e-6), looks.call_count
    monkeypatch.setattr(shuffled, "_LOOSE", 0.9)
    near = account(plan).epsilon(1e-6)
    assert looks.call_count == 3 * half
    assert far.low < near.low < near.high < far.high
    assert near.low < far.low * 1.005
    assert far.high < near.high * 1.005


def test_estimates_far_below_the_largest_are_left_out_of_a_search_but_not_of_a_curve() -> None:
    near, far = Mock(side_effect=lambda epsilon: -epsilon), Mock(side_effect=lambda epsilon: -5 * epsilon)
    for apart, asked in ((math.inf, 3), (1.0, 2)):
        far.reset_mock()
        at = largest([far, near], apart)
        assert [at(epsilon) for epsilon in (0.0, 1.0, 0.1)] == [0.0, -1.0, -0.1]
        assert far.call_count == asked


@pytest.mark.parametrize(("m", "users"), [(KaryRandomizedResponse(3, F(9, 10)), 3), (UnaryEncoding(2, F(9, 10), F(1, 20)), 3),
                                          (SubsetSelection(4, 2, F(19, 20)), 2)], ids=str)  # fmt: skip
def test_a_crowd_hides_at_most_the_logarithm_of_its_number_of_users(m: Mechanism, users: int) -> None:
    found, ratios = profile(Shuffle(m, users)), (F(1), F(2), F(4), F(8))
    for ratio, truth in zip(ratios, oracle.worst(oracle.laws(m), users, *ratios), strict=True):
        told = found._told(F(math.log(ratio)))
        assert told == pytest.approx(account(m).delta(math.log(ratio * users)).low, rel=1e-9)
        assert told <= truth * (1 + F(1, 10**9))
    assert found._told(F(0)) > F(1, 2)
    bundle = Repeat(KaryRandomizedResponse(4, F(1, 2)), 100)
    assert account(Shuffle(bundle, 10**4)).epsilon(1e-6).low >= account(bundle).epsilon(1e-6).low - math.log(10**4) - 1e-9 > 63


def test_where_the_best_data_set_is_not_known_at_0_it_may_be_from_what_a_crowd_leaves_on() -> None:
    found = account(Shuffle(Laplace(F(1, 20)), 10))
    assert 0.9998 < found.delta(0).low < found.delta(0).high
    assert 19.96 < (known := found.epsilon(1e-6)).low < known.high <= 20


@pytest.mark.parametrize(("m", "users"), SMALL, ids=str)
def test_all_others_alike_is_what_a_blanket_computes(m: Mechanism, users: int) -> None:
    found, channel = typed(BlanketBound, profile(Shuffle(m, users)).bound), oracle.laws(m)
    for each in found.data_sets:
        x, x2, other = (list(m.inputs).index(v) for v in (*each.pair, each.other))
        first, second = (oracle.shuffled([channel[v], *[channel[other]] * (users - 1)]) for v in (x, x2))
        truth = oracle.divergence(first, second, F(11, 10))
        assert holds(truth, delta(each.blanket, F(11, 10), users))


UNLISTED = LocalHashing | Rappor | PermanentRappor | OneBitMean
LISTED = [(m, n) for m, n in SMALL if not isinstance(m, UNLISTED) and n * len(m.inputs) < 16]


@pytest.mark.parametrize(("m", "users"), LISTED, ids=str)
def test_few_users_have_their_worst_data_set_as_the_lower_bound(m: Mechanism, users: int) -> None:
    for bound in (profile(Shuffle(m, users)).bound, of_mechanism(m, users)):
        found = typed(BlanketBound, bound)
        if found.few is not None:
            value, pair, others = found.few.worst(ball(AT[1]))
            assert holds(worst_of(m, users)[1], value)
            assert sum(others.values()) == users - 1
            assert pair[0] != pair[1]
    assert found.few is not None


def test_a_law_of_two_mirrored_inputs_is_binary_randomized_response() -> None:
    signs = SignOracle(9, 7, F(3, 4), seed=4, index=2)
    bound = typed(BinaryBound, of_mechanism(signs, 30))
    assert bound.p == F(3, 4)
    first, second = bound.values
    assert str(max(signs.law(first).items(), key=lambda each: each[1])[0]) == bound.first_view
    assert signs.law(second).probability((2, 1)) == 1 - signs.law(first).probability((2, 1))


@pytest.mark.parametrize("users", [2, 10**4, pytest.param(10**6, marks=pytest.mark.slow)])
def test_two_inputs_of_one_law_cost_nothing(users: int) -> None:
    alike = Blanket.of([(F(3, 4), F(3, 4), F(1, 4)), (F(1, 4), F(1, 4), F(1, 4))])
    for epsilon in (0, 1e-58, 1e-3, 1):
        with flint.ctx.workprec(precision(users)):
            value = alike.delta(ball(F(epsilon)).exp(), users, 1e-7)
        assert value.contains(0)
        assert value < 1e-40
    m = KaryRandomizedResponse(2, F(731059, 10**6))
    for delta in (1e-12, 1e-2, 0.5):
        found = account(Shuffle(m, users)).epsilon(delta)
        assert 0 <= found.low <= found.high <= 1.0001


@pytest.mark.parametrize("users", [2, 3, 7, 10, 36])
@pytest.mark.parametrize("p", [F(3, 5), F(19, 20)])
def test_shuffled_binary_randomized_response_is_exact(users: int, p: Fraction) -> None:
    for exp_epsilon in (F(1), F(21, 20), F(149, 100)):
        truth = max(oracle.binary(p, users, exp_epsilon))
        found = profile(Shuffle(KaryRandomizedResponse(2, p), users)).delta(math.log(exp_epsilon))
        assert close(truth, found.low, found.high)
        assert found.rigour is Rigour.EXACT or (users > 33 and found.relative_width < NEARLY)


def test_all_alike_is_not_always_the_worst_binary_data_set() -> None:
    by_t = oracle.binary(F(731, 1000), 20, F(26, 25))
    assert max(by_t) > by_t[0]
    assert max(by_t) > by_t[-1]
    found = profile(Shuffle(KaryRandomizedResponse(2, F(731, 1000)), 20)).delta(math.log(1.04))
    assert close(max(by_t), found.low, found.high)


def test_the_specification_s_example_is_met() -> None:
    found = profile(Shuffle(KaryRandomizedResponse.for_epsilon(F(1, 2), 3), 5)).delta(F(3, 10))
    assert 0.0077205 < found.low < 0.0077215
    witness = some(profile(Shuffle(KaryRandomizedResponse.for_epsilon(F(1, 2), 3), 5)).witness(F(3, 10)))
    assert witness.pair == (DataSet.of({0: 3, 2: 2}), DataSet.of({0: 2, 1: 1, 2: 2}))
    assert (witness.values, witness.others) == ((0, 1), DataSet.of({0: 2, 2: 2}))
    three = typed(BlanketBound, profile(Shuffle(KaryRandomizedResponse.for_epsilon(F(1, 2), 3), 5)).bound).data_sets
    with flint.ctx.workprec(200):
        third = three[2].blanket.delta(ball(F(3, 10)).exp(), 5, 1e-10)
    assert 0.0069375 < third < 0.0069385


@pytest.mark.parametrize(
    "plan",
    [Shuffle(KaryRandomizedResponse(3, F(1, 2)), 5), Shuffle(KaryRandomizedResponse(2, F(3, 4)), 6),
     Shuffle(UnaryEncoding(3, F(2, 3), F(1, 5)), 4)], ids=str,
)  # fmt: skip
def test_the_witness_attains_the_lower_end(plan: Shuffle) -> None:
    found, lower = profile(plan).witness(EPSILON), profile(plan).delta(EPSILON).low
    assert found is not None
    channel = oracle.laws(plan.plan.mechanism)  # type: ignore[attr-defined]
    first, second = (oracle.shuffled(channel[x] for x, count in data.counts for _ in range(count)) for data in found.pair)
    assert math.isclose(float(oracle.divergence(first, second, E)), lower, rel_tol=ROUNDING)


@pytest.mark.parametrize("users", [1, 2, 3, 8, 25])
@pytest.mark.parametrize(("exp_epsilon0", "exp_epsilon"), [(F(2), F(1)), (F(3), E), (F(50), F(4)), (F(3), F(299, 100))])
def test_the_clones_pair_is_computed_exactly(users: int, exp_epsilon0: Fraction, exp_epsilon: Fraction) -> None:
    truth = oracle.clone_pair(exp_epsilon0, users, 1 / exp_epsilon0, exp_epsilon)
    with flint.ctx.workprec(precision(users)):
        found = delta(among(ball(exp_epsilon0).log(), ball(1 / exp_epsilon0)), exp_epsilon, users)
    assert holds(truth, found)
    assert found.rad() <= 1e-10 * found.mid()


@pytest.mark.parametrize("seed", range(6))
def test_a_message_that_nobody_else_sends_is_seen(seed: int) -> None:
    weights = np.random.default_rng(seed).integers(0, 5, (3, 4)) + np.array([1, 0, 0, 0])
    first, second, others = ({y: F(int(w), int(row.sum())) for y, w in enumerate(row)} for row in weights)
    one, two = (oracle.shuffled([law, others, others]) for law in (first, second))
    cells = Blanket.of(zip(first.values(), second.values(), others.values(), strict=True))
    for exp_epsilon in AT:
        assert holds(oracle.divergence(one, two, exp_epsilon), delta(cells, exp_epsilon, 3))


@pytest.mark.parametrize("seed", range(12))
def test_no_data_set_of_a_random_channel_exceeds_its_blanket_or_its_clones(seed: int) -> None:
    weights = np.random.default_rng(seed).integers(1, 9, (3, 3))
    channel = [{y: F(int(w), int(row.sum())) for y, w in enumerate(row)} for row in weights]
    ratio = max(a[y] / b[y] for a in channel for b in channel for y in range(3))
    for users in (2, 4):
        for exp_epsilon in (F(1), (1 + ratio) / 2):
            (truth,) = oracle.worst(channel, users, exp_epsilon)
            below = [min(law[y] for law in channel) for y in range(3)]
            cells = [Blanket.of(zip(a.values(), b.values(), below, strict=True)) for a in channel for b in channel]
            bound = max(float(delta(blanket, exp_epsilon, users).abs_upper()) for blanket in cells)
            clones = oracle.clone_pair(ratio, users, 1 / ratio, exp_epsilon)
            assert truth <= F(bound) * (1 + F(1, 10**12))
            assert F(bound) <= clones * (1 + F(1, 10**12)) + F(1, 10**15)


@pytest.mark.parametrize("users", [3, 1000, 10**9])
@pytest.mark.parametrize(
    "m",
    [KaryRandomizedResponse(4, F(1, 2)), UnaryEncoding(4, F(2, 3), F(1, 5)), HadamardResponse(3, F(3, 4)),
     SubsetSelection(5, 2, F(3, 5))], ids=str,
)  # fmt: skip
def test_the_blanket_is_never_above_the_clones_and_never_below_a_data_set(m: Mechanism, users: int) -> None:
    bound, all_clones = typed(BlanketBound, profile(Shuffle(m, users)).bound), Clones(F(account(m).epsilon(0).high))
    for epsilon in (F(0), F(1, 100), F(3, 10)):
        high, clones = bound.high(epsilon, 1e-10), all_clones.delta(epsilon, users)
        assert bound.attained(epsilon, 1e-10).value.lower() <= high.upper()
        assert not high > clones * (1 + 1e-3) + flint.arb(2) ** -1000  # the contour of few users is right to 1e-3


LISTED_INPUTS = [(m, n) for m, n in SMALL if not isinstance(m, Rappor | PermanentRappor | OneBitMean)]


@pytest.mark.parametrize(("m", "users"), [*LISTED_INPUTS, (KaryRandomizedResponse(6, F(1, 2)), 3)], ids=str)
def test_matched_laws_hide_no_better_than_listed_ones(m: Mechanism, users: int) -> None:
    matched, listed = (typed(BlanketBound, bound) for bound in (profile(Shuffle(m, users)).bound, of_mechanism(m, users)))
    values = [[float(delta(b, F(11, 10), users).mid()) for b in found.blankets] for found in (matched, listed)]
    assert max(values[0]) >= max(values[1]) * (1 - ROUNDING)
    if not isinstance(m, HadamardResponse | LocalHashing):  # of whose inputs not all are alike
        assert set(matched.blankets) <= set(listed.blankets)
    assert {each.blanket for each in matched.data_sets} <= {each.blanket for each in listed.data_sets}


@pytest.mark.parametrize("m", [TruncatedGeometric(3, F(4, 5)), TruncatedGeometric(4, F(1, 2))], ids=str)
def test_the_blanket_of_geometric_noise_is_worst_for_the_ends(m: TruncatedGeometric) -> None:
    worst, every = (typed(BlanketBound, bound) for bound in (profile(Shuffle(m, 9)).bound, of_mechanism(m, 9)))
    assert len(worst.blankets) == 1
    assert worst.blankets[0] in every.blankets
    for exp_epsilon, users in ((F(1), 2), (F(11, 10), 9), (F(21, 20), 10**3)):
        values = [float(delta(b, exp_epsilon, users).mid()) for b in (*worst.blankets, *every.blankets)]
        assert values[0] >= max(values) * (1 - ROUNDING)


@given(epsilon0=st.floats(0.01, 50), users=st.integers(1, 10**12), epsilon=st.floats(0, 55))
def test_the_clones_are_a_probability_at_every_scale(epsilon0: float, users: int, epsilon: float) -> None:
    found = CloneProfile(F(epsilon0), users).delta(epsilon)
    assert 0 <= found.low <= found.high <= 1
    assert found.relative_width < NEXT_TO_ZERO or found.high < 1e-300
    assert (found.high == 0) == (epsilon >= epsilon0)


@given(epsilon0=st.floats(0.1, 10), users=st.integers(2, 10**9), epsilon=st.floats(0, 2), more=st.floats(1.01, 3))
def test_delta_falls_with_epsilon_and_with_users_and_rises_with_local_epsilon(
    epsilon0: float, users: int, epsilon: float, more: float
) -> None:
    here = CloneProfile(F(epsilon0), users).delta(epsilon)
    assert CloneProfile(F(epsilon0), users).delta(epsilon * more).low <= here.high
    assert CloneProfile(F(epsilon0), int(users * more) + 1).delta(epsilon).low <= here.high
    assert CloneProfile(F(epsilon0) * F(more), users).delta(epsilon).high >= here.low


PLANS = [
    Shuffle(KaryRandomizedResponse.for_epsilon(1, 2), 1000),
    Shuffle(KaryRandomizedResponse.for_epsilon(1, 10), 10**4),
    Shuffle(UnaryEncoding.symmetric(2, 100), 10**9),
    *(pytest.param(Shuffle(m, 10**9), marks=pytest.mark.slow)
      for m in (KaryRandomizedResponse.for_epsilon(4, 2), Laplace.for_epsilon(1.0))),
    Shuffle(Guarantee(F(2)), 10**5),
]  # fmt: skip


def test_a_lower_end_of_which_nothing_is_known_at_0_is_looked_for_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    known, low = profile(Shuffle(KaryRandomizedResponse(3, Fraction(3, 4)), 9)), Mock(return_value=flint.arb(0.5, 0.5))
    before = known.epsilon(1e-6)
    monkeypatch.setattr(type(known.bound), "low", low)
    found = known.epsilon(1e-6)
    assert found.low == 0
    assert found.high == pytest.approx(before.high, rel=known.bound.finest)
    assert [call.args[0] for call in low.call_args_list] == [0]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_epsilon_and_delta_are_inverse_to_each_other(plan: Shuffle) -> None:
    found = profile(plan)
    epsilon = found.epsilon(1e-6)
    assert 0 <= epsilon.low <= epsilon.high < found.local.epsilon(0).high
    assert found.delta(epsilon.high).high <= 1e-6
    assert epsilon.low == 0 or found.delta(epsilon.low).low > 1e-6 * (1 - 1e-3)
    # Shuffling buys nothing at delta = 0, and never costs anything.
    local = account(plan.plan)
    assert (found.epsilon(0).low, found.epsilon(0).high) == (local.epsilon(0).low, local.epsilon(0).high)
    for at in (0, 0.1, local.epsilon(0).high, math.inf):
        assert found.delta(at).high <= local.delta(at).high


def test_one_user_shuffled_is_not_shuffled() -> None:
    m = KaryRandomizedResponse(3, F(1, 2))
    assert account(Shuffle(m, 1)).delta(EPSILON) == account(m).delta(EPSILON)


def test_a_coin_without_bias_hides_everything() -> None:
    found = account(Shuffle(KaryRandomizedResponse(2, F(1, 2)), 10)).delta(0)
    assert (found.low, found.high) == (0, 0)


def test_a_composition_is_shuffled_as_one_randomizer() -> None:
    m = KaryRandomizedResponse(2, F(3, 5))
    both = {(a, b): p * q for a, p in m.law(0).items() for b, q in m.law(0).items()}
    channel = [
        {tuple(y ^ x for y, x in zip(view, (x1, x2), strict=True)): p for view, p in both.items()}
        for x1 in (0, 1)
        for x2 in (0, 1)
    ]
    (truth,) = oracle.worst(channel, 3, F(11, 10))
    for plan in (Repeat(m, 2), Compose([m, m]), PostProcess(Repeat(m, 2), "the pair")):
        found = account(Shuffle(plan, 3)).delta(math.log(1.1))
        assert close(truth, found.low, found.high)
        assert (found.low > 0) != ("no data set is evaluated" in found.source)


class Shade(Mechanism):
    """Names the colour, the other one, or nothing."""

    title = "a shade"
    inputs = ("black", "white")

    def law(self, x: str) -> Law:
        table = {x: F(1, 2), self.inputs[1 - self.inputs.index(x)]: F(1, 8), "grey": F(3, 8)}
        return Law(lambda y: table[y], lambda: table, 3)

    def sample(self, x: str, size: int, rng: np.random.Generator) -> Any:
        return rng.choice(list(dict(self.law(x).items())), size, p=[0.5, 0.125, 0.375])

    def estimate(self, views: Any) -> Any:
        return np.array([np.count_nonzero(views == x) for x in self.inputs])

    def __str__(self) -> str:
        return self.title


class AnyShade(Shade):
    """More colours are taken than it lists."""

    def require_input(self, x: str) -> None:
        """Any."""


@pytest.mark.parametrize("users", [2, 3])
def test_a_law_of_inputs_in_a_tuple_is_shuffled_by_that_law(users: int) -> None:
    m = Shade()
    for ratio, truth in zip((F(11, 10), F(2)), oracle.worst(oracle.laws(m), users, F(11, 10), F(2)), strict=True):
        found = account(Shuffle(m, users)).delta(math.log(ratio))
        assert close(truth, found.low, found.high)
        assert found.low > 0
        assert found.high < account(Shuffle(Guarantee(F(account(m).epsilon(0).high)), users)).delta(math.log(ratio)).high
    listed = account(Shuffle(m, 1000)).epsilon(F(1, 10**6))
    assert 0.5 * listed.high < listed.low
    more = account(Shuffle(AnyShade(), 1000)).epsilon(F(1, 10**6))
    assert "clones" in more.source
    assert more.high > listed.high


def test_what_no_theorem_covers_is_refused() -> None:
    m = UnaryEncoding(3, F(2, 3), F(1, 5))
    for plan, relation in (
        (Shuffle(m, 5), ADD_REMOVE),
        (Shuffle(Shuffle(m, 5), 5), None),
        (Shuffle(Repeat(Guarantee(F(1), F(1, 10)), 2), 5), None),
    ):
        raises(Unsupported, None, account, plan, relation)


def test_the_number_of_views_reveals_an_absent_user_who_sends_nothing() -> None:
    m = KaryRandomizedResponse(3, F(2, 3))
    for plan in (Shuffle(m, 5), Shuffle(Repeat(m, 2), 5)):
        found = account(plan, ADD_REMOVE)
        assert found.delta(20.0) == found.delta(0) == Enclosure(1.0, 1.0, Rigour.EXACT, found.delta(0).source)
        assert found.epsilon(0.999).low == math.inf
        assert "the number of views reveals that a user is absent" in found.delta(1).source


@pytest.mark.parametrize(
    "m",
    [RangeQueries(8, 4, tau=3, rho=3), HadamardRangeQueries(8, 4, tau=3, rho=3),
     ShuffledHeavyHitters(8, 4, tau=3, rho=3, threshold=2), ShuffledQuantiles(8, 4, tau=3, rho=3),
     SparseStatisticalQueries(8, 4, k=2, changed=1, tau=3, rho=3), ShuffledHadamard(8, 4, tau=3, rho=3, k=1)],
     ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_where_every_user_sends_as_many_messages_their_number_reveals_an_absent_user(m: Mechanism) -> None:
    found = account(m, ADD_REMOVE)
    assert (found.delta(30.0).low, found.epsilon(0.5).low) == (1, math.inf)
    assert found.delta(1).source == "the number of messages reveals that a user is absent"


def test_users_needed_are_enough_and_one_less_is_not_shown_to_be() -> None:
    users = users_needed(4, F(1, 2), 1e-9)
    assert Clones(F(4)).delta(F(1, 2), users) <= 1e-9
    assert not Clones(F(4)).delta(F(1, 2), users - 1) <= 1e-9
    assert users_needed(1, 1, 0) == 1
    raises(Unsupported, "delta = 0", users_needed, 1, F(1, 2), 0)


def test_the_largest_local_epsilon_reaches_the_goal_and_a_larger_one_is_not_shown_to() -> None:
    found = largest_local_epsilon(10**6, 1, 1e-6)
    assert Clones(F(found)).delta(F(1), 10**6) <= 1e-6
    assert not Clones(F(found) * F(1 + 1e-9)).delta(F(1), 10**6) <= 1e-6
    assert largest_local_epsilon(10, F(1, 3), 0) in (1 / 3, math.nextafter(1 / 3, 0))


@pytest.mark.parametrize(("epsilon0", "users"), [(F(1), 0), (F(0), 5), (F(-1), 5)])
def test_there_is_no_pair_of_clones_without_users_or_loss(epsilon0: F, users: int) -> None:
    raises(ValueError, "needs epsilon0 > 0 and users >= 1", CloneProfile, epsilon0, users)


def test_next_to_the_epsilon_of_one_report_a_shuffle_is_still_enclosed() -> None:
    """The truth's probability exceeds that of an epsilon of 5 by some 1e-40, so that delta at 5 is not 0."""
    p = parse("1 - 1/(1+exp(5))") + Fraction(1, 10**40)
    found = account(Shuffle(KaryRandomizedResponse(2, p), 100_000)).delta(5)
    assert 0 <= found.low <= found.high < 1e-40


@pytest.mark.parametrize(("epsilon0", "users", "epsilon"), [
    (1, 10**4, 0.06), (4, 10**6, 0.05), (1, 10**6, 0.005), (8, 10**9, 0.004), (0.1, 10**9, 1e-5), (1, 10**9, 2.5e-4),
    (1, 10**9, 1.7e-3), (20, 10**12, 0.05), (1, 10**12, 4e-5), (50, 10**12, 3),
])  # fmt: skip
def test_the_clones_are_exact_at_every_scale(epsilon0: float, users: int, epsilon: float) -> None:
    found = CloneProfile(F(epsilon0), users).delta(epsilon)
    assert found.rigour is Rigour.EXACT
    assert found.relative_width < 1e-9


def test_bundles_of_long_fractions_are_told_apart_and_never_multiplied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "product_kinds", lambda runs, most: pytest.fail("fractions of thousands of bits"))
    answers = Repeat(Run(KaryRandomizedResponse(2, Fraction(6 * 10**9 + 1, 10**10))), 200)
    found, alone = account(Shuffle(answers, 10)).epsilon(1e-6), account(answers).epsilon(1e-6)
    assert 0 < found.low <= found.high <= alone.high


def test_a_bundle_that_nothing_hides_is_not_searched() -> None:
    bundle = Repeat(Run(KaryRandomizedResponse(4, Fraction(9, 10))), 8)
    found = account(Shuffle(Compose([bundle, Guarantee(Fraction(1, 2))]), 10**4))
    with patch.object(ShuffleProfile, "_high", autospec=True, side_effect=ShuffleProfile._high) as high:
        assert found.epsilon(1e-6).high > 26
    assert 0 < high.call_count <= 2
