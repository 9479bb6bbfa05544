"""Laws that plans obey: what protects never costs, what tells never protects; and repeated shuffles of counts by convolution."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy import signal, stats

from ldpaudit import Enclosure, Mechanism, PrivacyProfile, Rigour, Unsupported, account
from ldpaudit.accountants.composition.compose import compose
from ldpaudit.accountants.counting.compose import CountersProfile
from ldpaudit.accountants.counting.counter import HitCounter, shown
from ldpaudit.accountants.counting.hits import ComposedHits, HiddenHits
from ldpaudit.accountants.pld.distribution import infinite_mass
from ldpaudit.mechanisms import KaryRandomizedResponse, Rappor, ShuffledBinarySums, ShuffledHadamard, UnaryEncoding
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, RangeQueries
from ldpaudit.plan import Aggregate, Compose, Guarantee, Plan, Repeat, Run, Shuffle, Subsample
from tests.zoo import ONE_EACH

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
    "a hundred drawn and shuffled": lambda plan, users: Subsample(Shuffle(plan, 100), 100 + users, 100),
}

reports = st.sampled_from(sorted(REPORTS))
locals_ = st.floats(0.05, 3)
shares = st.floats(0, 1.1)
deltas = st.one_of(st.floats(1e-12, 0.3), st.floats(-60, -1).map(lambda log: 10.0**log))
few = st.integers(2, 40)
many = st.one_of(st.integers(2, 9), st.integers(100, 10**4))
quick = settings(max_examples=settings().max_examples // 3)


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
    rounds = st.builds(lambda how, m, e, t: ROUNDS[how](REPORTS[m](e), t), st.sampled_from(sorted(ROUNDS)), reports, locals_, few)
    crowds = st.builds(lambda how, m, e, n: CROWDS[how](REPORTS[m](e), n), st.sampled_from(sorted(CROWDS)), reports, locals_, many)
    return st.one_of(rounds, crowds)


def epsilon_of(profile: PrivacyProfile, share: float) -> float:
    """A share of what the plan costs at delta = 0; most of what there is to see is near 0."""
    return profile.epsilon(0).high * share**3


FORMS: tuple[Callable[[Plan], Plan], ...] = (
    lambda plan: Repeat(plan, 1), lambda plan: Compose([plan]), lambda plan: Repeat(Compose([Repeat(plan, 1)]), 1),
)  # fmt: skip


def ends(plan: Plan) -> tuple[object, ...]:
    try:
        found = account(plan).epsilon(1e-3)
    except Unsupported:
        return ("refused",)
    return found.low, found.high, found.rigour


LISTED_LONG = "TruncatedGeometric", "ShuffledHadamard"


@pytest.mark.parametrize("m", [
    pytest.param(m, marks=[pytest.mark.slow] * (type(m).__name__ in LISTED_LONG)) for m in ONE_EACH
], ids=str)  # fmt: skip
def test_what_runs_once_by_other_nouns_is_the_same_plan(m: Mechanism) -> None:
    """Alone; and, where its reports are summed, within a sum and around it, which may be repeated."""
    makers: list[Callable[[Callable[[Plan], Plan]], Plan]] = [lambda form: form(Run(m))]
    if m.summed:
        makers += [lambda form: Aggregate(form(Run(m)), 2), lambda form: form(Aggregate(m, 2))]
    if isinstance(m, UnaryEncoding):
        makers += [lambda form: Repeat(form(Aggregate(m, 40)), 2), lambda form: Compose([Aggregate(form(Run(m)), 40)] * 2)]
    for make in makers:
        found = [ends(make(form)) for form in (lambda plan: plan, *FORMS)]
        assert len(set(found)) == 1, found


@quick
@given(plans(), st.tuples(shares, shares), st.tuples(deltas, deltas))
def test_delta_falls_with_epsilon_and_epsilon_with_delta(plan: Plan, at: tuple[float, float], two: tuple[float, float]) -> None:
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


def ordered() -> st.SearchStrategy[tuple[Plan, Plan]]:
    """A plan, and one that costs no less: of more rounds, of fewer users, or of reports that tell more."""
    ways, more = ROUNDS | CROWDS, st.integers(1, 9)
    return st.one_of(
        st.builds(lambda how, m, e, t, more: (ROUNDS[how](REPORTS[m](e), t), ROUNDS[how](REPORTS[m](e), t + more)),
                  st.sampled_from(sorted(ROUNDS)), reports, locals_, few, more),
        st.builds(lambda how, m, e, n, by: (CROWDS[how](REPORTS[m](e), math.ceil(n * by)), CROWDS[how](REPORTS[m](e), n)),
                  st.sampled_from(sorted(CROWDS)), reports, locals_, many, st.floats(1.01, 4)),
        st.builds(lambda how, m, e, by, n: (ways[how](REPORTS[m](e), n), ways[how](REPORTS[m](e * by), n)),
                  st.sampled_from(sorted(ways)), reports, locals_, st.floats(1.001, 2), few),
    )  # fmt: skip


@settings(max_examples=settings().max_examples // 4)
@given(ordered(), shares, deltas)
def test_more_rounds_and_fewer_users_and_reports_that_tell_more_cost_more(
    pair: tuple[Plan, Plan], share: float, delta: float
) -> None:
    less, more = map(account, pair)
    epsilon = epsilon_of(less, share)
    rises(less.delta(epsilon), more.delta(epsilon))
    rises(less.epsilon(delta), more.epsilon(delta))


@quick
@given(st.sampled_from(sorted(CROWDS)), reports, locals_, many, shares, deltas)
def test_a_crowd_is_never_worse_than_none(how: str, m: str, e: float, users: int, share: float, delta: float) -> None:
    report = Repeat(REPORTS[m](e), 2) if how == "shuffled as a pair" else REPORTS[m](e)
    alone, hidden = account(report), account(CROWDS[how](REPORTS[m](e), users))
    epsilon = epsilon_of(alone, share)
    assert hidden.delta(epsilon).high <= alone.delta(epsilon).high
    assert hidden.epsilon(delta).high <= alone.epsilon(0).high
    assert hidden.epsilon(delta).low <= alone.epsilon(delta).high


@pytest.mark.few(4)
@pytest.mark.parametrize("m", [KaryRandomizedResponse.for_epsilon(2, 5), Rappor(8, 1, F(1, 2), F(1, 4), F(3, 4), 1, 9)], ids=str)
@pytest.mark.parametrize(("users", "delta"), [(2, 1e-300), (2, 1e-3), (30, 1e-30), (400, 1e-3)])
def test_an_epsilon_that_is_only_the_unshuffled_one_says_so(m: Mechanism, users: int, delta: float) -> None:
    for plan in (Shuffle(m, users), Shuffle(Repeat(m, 2), users), Shuffle(Guarantee(F(2)), users)):
        found, alone = account(plan).epsilon(delta), account(plan.plan).epsilon(0)
        assert ("as if it were not shuffled" in found.source) == (found.high >= alone.high)
        there = account(plan).delta(found.high / 2)
        assert ("as if it were not shuffled" in there.source) == (there.high >= account(plan.plan).delta(found.high / 2).high)


STEP = 2.0**-13  # nats to which losses are rounded
Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]  # probabilities of each count under both inputs


def delta(pairs: list[tuple[Pair, int]], epsilon: float, rounded: Callable[[Floats], Floats]) -> float:
    """Of all these counts together."""
    law, start, infinite = np.ones(1), 0, 1.0
    for (p, q), times in pairs:
        seen = (p > 0) & (q > 0)
        indices = rounded(np.log(p[seen] / q[seen]) / STEP).astype(np.int64)
        masses = np.bincount(indices - indices.min(), p[seen])
        for _ in range(times):
            law, start = signal.fftconvolve(law, masses), start + int(indices.min())
            infinite *= float(p[q > 0].sum())
    losses = (start + np.arange(len(law))) * STEP
    return 1 - infinite + float(np.sum(law * np.maximum(-np.expm1(epsilon - losses), 0)))


def both(messages: int, p: float, more: int) -> list[Pair]:
    """One message that counts, among random ones, and so many more of these in its place; in either direction."""
    counts = np.arange(messages + 2)
    with_it, without = stats.binom.pmf(counts - 1, messages, p), stats.binom.pmf(counts, messages + more, p)
    return [(with_it, without), (without, with_it)]


CASES: dict[str, tuple[Mechanism, list[Pair]]] = {
    "binary sums": (ShuffledBinarySums(400, 5, Fraction(1, 5)), both(400, 0.2, 0)),
    "thin binary sums": (ShuffledBinarySums(60, 5, Fraction(1, 10)), both(60, 0.1, 0)),
    "one oracle": (ShuffledHadamard(400, 8, 8, 40), both(16_000, 2.0**-8, 1)),
    "an oracle per width": (RangeQueries(300, 4, 9, 50), [each for each in both(15_000, 2.0**-9, 1) for _ in range(2)]),
}
LONG = {"binary sums", "an oracle per width"}


@pytest.mark.few(1)
@pytest.mark.parametrize("times", [2, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in CASES])
def test_repeated_shuffles_are_enclosed_closely(name: str, times: int) -> None:
    """From above the others' messages are known, which they are in the oracle; what they hide is a share of p."""
    m, pairs = CASES[name]
    found, once = account(Repeat(m, times)), account(m)
    for epsilon in (0.2, 0.8, 1.6):
        low, high = (delta([(pair, times) for pair in pairs], epsilon, way) for way in (np.floor, np.ceil))
        at = found.delta(epsilon)
        assert at.high >= low * (1 - 1e-9) - 1e-13
        assert at.low <= high * (1 + 1e-9) + 1e-13
        assert at.low > once.delta(epsilon).low
    at = found.epsilon(found.delta(0.8).high)
    assert at.relative_width < 0.05
    assert at.low <= 0.8 <= at.high * (1 + 1e-9)


def test_different_shuffles_are_composed_from_below_too() -> None:
    first, second = CASES["binary sums"], CASES["one oracle"]
    found = account(Compose([Repeat(first[0], 2), second[0]])).delta(0.5)
    pairs = [(pair, 2) for pair in first[1]] + [(pair, 1) for pair in second[1]]
    low, high = (delta(pairs, 0.5, way) for way in (np.floor, np.ceil))
    assert found.low <= high
    assert low <= found.high
    assert found.relative_width < 0.05


def test_cells_that_are_left_out_lower_the_infinite_loss_mass() -> None:
    """Of views that are listed with probability t, of which m have an infinite loss: t**n - (t - m)**n at least."""
    pair = shown(HitCounter(40, Fraction(1, 10)), True).pair
    assert pair.listed.contains(1)  # type: ignore[union-attr]
    m, t = 0.9**41, 1 - 0.1
    (law, _), _ = HiddenHits(ComposedHits(40, Fraction(1, 10), 1)).occurring[0]
    assert float(law.listed) == pytest.approx(t)
    for times in (1, 7):
        assert float(infinite_mass(((pair, times),))) == pytest.approx(1 - (1 - m) ** times)
        assert float(infinite_mass(((law, times), (pair, times)))) == pytest.approx(t**times * (1 - (1 - m) ** times))
    assert math.isinf(account(Repeat(ShuffledHadamard(1, 4, 3, 3), 2)).epsilon(1e-3).low)


def test_what_others_hide_is_a_lower_bound_however_often_it_is_repeated() -> None:
    known = ComposedHits(2000, Fraction(1, 50), 2)
    hidden, all_at_once = HiddenHits(known), HiddenHits(ComposedHits(2000, Fraction(1, 50), 6))
    assert hidden.dominating is None
    (groups,) = hidden.occurring
    composed = compose(tuple((law, 3 * times) for law, times in groups), "three of them")
    for epsilon in (0.3, 1.0):
        assert composed.delta(epsilon).low == pytest.approx(all_at_once.delta(epsilon).low, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "times", "at_delta"),
    [(CountMinRangeQueries(40, 4, 1, 16, Fraction(1, 4)), 2, 1e-1),
     pytest.param(CountMinRangeQueries(400, 4, 1, 64, Fraction(1, 4)), 2, 1e-2, marks=pytest.mark.slow),
     pytest.param(CountMinRangeQueries(2000, 4, 3, 64, Fraction(1, 10)), 3, 1e-4, marks=pytest.mark.slow)], ids=str,
)  # fmt: skip
def test_the_worse_of_several_pairs_composes_by_the_curve_of_their_upper_ends(m: Mechanism, times: int, at_delta: float) -> None:
    """Boxes in one dimension: more counters go down than up, or more up than down."""
    once, found = account(m), account(Repeat(m, times))
    assert isinstance(once, CountersProfile)
    assert len(once.pairs) > 1
    at = found.epsilon(at_delta)
    assert at.low > once.epsilon(at_delta).high
    assert at.relative_width < 0.02
