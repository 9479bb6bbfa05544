"""Composition against enumeration in rationals, against mpmath at 60 digits, and against the laws it must obey."""

import math
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from itertools import permutations, product
from typing import Any
from unittest.mock import Mock

import flint
import mpmath
import pytest
from hypothesis import given, strategies as st

from ldpaudit import Aggregate, Compose, Guarantee, Mechanism, Plan, PostProcess, Repeat, Run, Shuffle, Subsample, account
from ldpaudit.accountants.composition import composed, plan as composition
from ldpaudit.accountants.composition.coins import BinomialCoins, TrinomialCoins
from ldpaudit.accountants.composition.compose import compose
from ldpaudit.accountants.composition.composed import ComposedProfile
from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates, together
from ldpaudit.accountants.pld.exact import ExactPLD, both_directions, dominating_pair, guarantee
from ldpaudit.accountants.pld.finite import FiniteProfile, law_atoms
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms import BucketHeavyHitter, Channel, GlpsHeavyHitter, HadamardResponse, JLHeavyHitter, Rappor, UnaryEncoding
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, USER_LEVEL, group
from ldpaudit.plan import Poisson
from ldpaudit.profile import Number, PrivacyProfile
from tests.helpers import raises, typed
from tests.oracles.pairs import joint
from tests.oracles.shuffle import law_of
from tests.samples import meet

HALF, NARROW = Fraction(1, 2), 1e-14  # relative width that an EXACT enclosure has at most: a few floats

epsilons = st.floats(0, 6)
deltas = st.sampled_from([Fraction(1, 2), Fraction(1, 10), 1e-3, 1e-6, 1e-12, Fraction(1, 10**30)])
lengths = st.fractions(0, 2, max_denominator=60).map(float)
arities = st.integers(2, 5)


def rr(ratio: Fraction | int, k: int = 2) -> KaryRandomizedResponse:
    """With likelihood ratio `ratio`."""
    return KaryRandomizedResponse(k, Fraction(ratio) / (Fraction(ratio) + k - 1))


def enumerated(pairs: list[ExactPLD]) -> FiniteProfile:
    """The obvious oracle: every sum of losses, in rationals."""
    law, kept = {Fraction(1): Fraction(1)}, Fraction(1)
    for pair in pairs:
        law = law_of((a * b, p * q) for (a, p), (b, q) in product(law.items(), pair.atoms))
        kept *= 1 - pair.infinite
    atoms = [(mass, mass / ratio) for ratio, mass in law.items()]
    return FiniteProfile((ExactPLD.of([*atoms, (1 - kept, Fraction(0))]),), "enumeration")


def assert_meets(found: Enclosure, truth: Enclosure) -> None:
    assert meet(found, truth), (found, truth)


def worst_of_all_pairs(mechanisms: list[Mechanism]) -> FiniteProfile:
    """Every pair of input streams: for each run any two inputs, in any order, and the law table of all views."""
    pairs = set()
    for choice in product(*(list(permutations(m.inputs, 2)) for m in mechanisms)):
        laws = (law_atoms(m.law(x), m.law(y)) for m, (x, y) in zip(mechanisms, choice, strict=True))
        pairs.add(ExactPLD.of(joint(*laws)))
    return FiniteProfile(tuple(pairs), "all pairs of streams")


STREAMS: list[list[Mechanism]] = [
    [rr(3, 3), rr(3, 3)],
    [rr(3), rr(Fraction(7, 2), 3)],
    [HadamardResponse(3, Fraction(3, 4)), rr(2)],
    [UnaryEncoding(2, Fraction(3, 4), Fraction(1, 5))] * 2,
    [Rappor(2, 1, Fraction(1, 3), Fraction(1, 4), Fraction(3, 4), domain=3)] * 2,
]


@pytest.mark.parametrize("mechanisms", STREAMS, ids=lambda ms: " ".join(type(m).__name__ for m in ms))
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 1.7, 2.4])
def test_composition_encloses_the_worst_of_all_pairs_of_streams(mechanisms: list[Mechanism], epsilon: float) -> None:
    found, truth = account(Compose(mechanisms)).delta(epsilon), worst_of_all_pairs(mechanisms).delta(epsilon)
    assert_meets(found, truth)
    if found.rigour is Rigour.EXACT:
        assert found.high - found.low <= NARROW * found.high
    else:
        assert found.low <= truth.low
        assert found.high >= truth.high


def test_composition_encloses_the_worst_streams_of_a_channel_that_is_not_symmetric() -> None:
    pair = both_directions([(Fraction(1, 2), Fraction(1, 10)), (Fraction(1, 2), Fraction(9, 10))])
    assert len(pair) == 2
    there = [each.complete() for each in pair]
    upper = compose(((dominating_pair(pair), 3),), "x")
    for epsilon in (0.0, 0.2, 1.0, 2.0, 4.0):
        truth = max(enumerated(list(chosen)).delta(epsilon).high for chosen in product(there, repeat=3))
        assert upper.delta(epsilon).high >= truth


@given(st.fractions(Fraction(11, 10), 20, max_denominator=50), arities, st.integers(1, 7), epsilons, deltas)
def test_equal_runs_of_randomized_response_are_their_enumeration(
    ratio: Fraction, k: int, times: int, epsilon: float, delta: Number
) -> None:
    m = rr(ratio, k)
    found, truth = account(Repeat(m, times)), enumerated([dominating_pair(FINITE(m))] * times)
    coins = (BinomialCoins if k == 2 else TrinomialCoins)(dominating_pair(FINITE(m)), times, "by formula")
    for ours in (found, coins):
        for mine, theirs in ((ours.delta(epsilon), truth.delta(epsilon)), (ours.epsilon(delta), truth.epsilon(delta))):
            assert_meets(mine, theirs)
            assert mine.rigour is Rigour.EXACT
            assert mine.high - mine.low <= NARROW * mine.high + 1e-300


def FINITE(m: Mechanism) -> tuple[ExactPLD, ...]:
    return typed(FiniteProfile, account(m)).pairs


@pytest.mark.parametrize(("times", "epsilon", "at"), [(10_000, Fraction(1, 100), 4.9), (100_000, Fraction(1, 500), 9)])
def test_ten_thousand_coins_are_what_mpmath_sums_at_60_digits(times: int, epsilon: Fraction, at: float) -> None:
    with mpmath.workdps(60):
        e0, e = mpmath.mpf(epsilon.numerator) / epsilon.denominator, mpmath.mpf(at)
        p, q = 1 / (1 + mpmath.exp(-e0)), 1 / (1 + mpmath.exp(e0))
        first = int((times + e / e0) / 2) + 1
        total, ways = mpmath.mpf(0), mpmath.binomial(times, first)
        for i in range(first, times + 1):
            here = ways * (p**i * q ** (times - i) - mpmath.exp(e) * q**i * p ** (times - i))
            total, ways = total + here, ways * (times - i) / (i + 1)
            if here < total * mpmath.mpf(10) ** -50:
                break
        truth = Fraction(str(mpmath.nstr(total, 45)))
    found = account(Repeat(Guarantee(epsilon), times)).delta(at)
    exact = BinomialCoins(guarantee(epsilon, Fraction(0)), times, "by formula").delta(at)
    assert truth in exact
    assert exact.relative_width < NARROW
    assert (found.low, found.high) == (0.0, exact.high)


@pytest.mark.parametrize("delta", [1e-6, 1e-30, 1e-300])
def test_a_billion_runs_are_exact_down_to_deltas_of_1e_300(delta: float) -> None:
    coins = BinomialCoins(guarantee(Fraction(1, 10**5), Fraction(0)), 10**9, "by formula")
    epsilon = coins.epsilon(delta)
    assert epsilon.relative_width < NARROW
    # 1e-9 is what a float step of epsilon, times its slope, changes in delta.
    assert coins.delta(epsilon.high).low <= delta
    assert coins.delta(epsilon.low).high >= delta * (1 - 1e-9)


@given(st.lists(st.tuples(arities, st.integers(2, 9)), min_size=1, max_size=3), epsilons, deltas)
def test_the_order_of_parts_and_how_they_are_bracketed_do_not_matter(
    shapes: list[tuple[int, int]], epsilon: float, delta: Number
) -> None:
    parts: list[Plan] = [Run(rr(ratio, k)) for k, ratio in shapes]
    flat = account(Compose([*parts, *parts]))
    for plan in (Compose([*parts[::-1], *parts]), Repeat(Compose(parts), 2), Compose([Compose(parts), *parts])):
        other = account(plan)
        for mine, theirs in ((flat.delta(epsilon), other.delta(epsilon)), (flat.epsilon(delta), other.epsilon(delta))):
            assert_meets(mine, theirs)


@given(arities, st.integers(2, 9), st.integers(1, 30), epsilons)
def test_more_runs_cost_more_and_at_most_the_sum_of_epsilons(k: int, ratio: int, n: int, epsilon: float) -> None:
    fewer, more = (account(Repeat(rr(ratio, k), times)) for times in (n, n + 1))
    assert fewer.delta(epsilon).low <= more.delta(epsilon).high
    pure = more.epsilon(0)
    assert Fraction(pure.low) <= (n + 1) * Fraction(account(rr(ratio, k)).epsilon(0).high)
    assert more.epsilon(1e-9).high <= pure.high
    assert more.delta(pure.high).high == 0


def test_repeating_once_is_not_repeating_and_a_whole_stream_is_replaced_run_by_run() -> None:
    assert account(Repeat(rr(3), 1)) == account(rr(3))
    assert account(Compose([Compose([rr(3)])])) == account(rr(3))
    assert account(Repeat(rr(3), 10), USER_LEVEL).epsilon(0.01) == account(Repeat(rr(3), 10)).epsilon(0.01)


def mpmath_delta(parts: list[tuple[float, float]], epsilon: float) -> mpmath.mpf:
    """Every outcome of randomized responses that reveal the input with probability delta, at 60 digits."""
    finite, kept = mpmath.mpf(0), mpmath.mpf(1)
    for _, d in parts:
        kept *= 1 - mpmath.mpf(d)
    for signs in product((1, -1), repeat=len(parts)):
        p = q = mpmath.mpf(1)
        for sign, (e, _) in zip(signs, parts, strict=True):
            p, q = p / (1 + mpmath.exp(-sign * mpmath.mpf(e))), q / (1 + mpmath.exp(sign * mpmath.mpf(e)))
        finite += max(mpmath.mpf(0), p - mpmath.exp(mpmath.mpf(epsilon)) * q)
    return 1 - kept + kept * finite


@given(st.lists(st.tuples(lengths, st.sampled_from([0.0, 1e-9, 0.01])), min_size=2, max_size=6), st.floats(0, 1))
def test_different_guarantees_cost_what_their_worst_maps_cost(parts: list[tuple[float, float]], share: float) -> None:
    epsilon = share * sum(e for e, _ in parts)
    found = account(Compose([Guarantee(Fraction(e), Fraction(d)) for e, d in parts])).delta(epsilon)
    with mpmath.workdps(60):
        truth = mpmath_delta(parts, epsilon)
        assert found.low == 0
        # mpmath's own rounding, and then a few floats.
        assert found.high >= truth - mpmath.mpf(10) ** -50
        assert found.high <= truth * (1 + mpmath.mpf(10) ** -14) + mpmath.mpf(10) ** -50


def test_a_guarantee_is_known_from_above_only() -> None:
    found = account(Guarantee(Fraction(1), Fraction(1, 100)))
    assert found.delta(1.0) == found.delta(math.inf)
    assert found.delta(1.0).low == 0
    assert Fraction(1, 100) in found.delta(1.0)
    assert found.epsilon(0.005).high == math.inf
    assert found.epsilon(0.01).high == 1.0
    assert account(Guarantee(Fraction(0), Fraction(1, 100))).epsilon(0.01).high == 0


def test_a_run_beside_a_guarantee_costs_at_least_what_it_costs_alone_and_no_pair_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Poisson(Repeat(UnaryEncoding(3, HALF, Fraction(1, 4)), 20), HALF)
    alone = account(run)
    monkeypatch.setattr(composed, "dominated_pair", lambda *_: pytest.fail("pairs are looked for"))
    both = account(Compose([run, Guarantee(HALF)]))
    assert both.epsilon(1e-6).low == alone.epsilon(1e-6).low > 0
    assert both.delta(1.0).low == alone.delta(1.0).low > 0


@pytest.mark.parametrize(("m", "asked"), [(rr(2, 3), 1), (Channel([[HALF, HALF], [Fraction(1, 5), Fraction(4, 5)]]), 3)])
def test_runs_that_are_their_own_reverse_are_composed_once(m: Mechanism, asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Mock(side_effect=compose)
    monkeypatch.setattr(composed, "compose", whole)
    assert account(Repeat(Poisson(Repeat(m, 5), HALF), 2)).epsilon(1e-6).low > 0
    assert sum(call.args[1] == "a pair that occurs" for call in whole.call_args_list) == asked


LAPLACE = Laplace(Fraction(2)), LaplaceHistogram(4, Fraction(2)), Laplace(Fraction(1))
"""Shifted by half a scale, in two coordinates by half a scale each, and by a scale."""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "plan",
    [Repeat(LAPLACE[0], 2), Repeat(LAPLACE[1], 4), Compose([Repeat(LAPLACE[2], 3), Repeat(LAPLACE[0], 2)]),
     pytest.param(Repeat(LAPLACE[1], 30), marks=pytest.mark.slow),
     pytest.param(Compose([Repeat(LAPLACE[0], 7), LAPLACE[1]]), marks=pytest.mark.slow),
     pytest.param(Compose([Repeat(LAPLACE[2], 20), Repeat(LAPLACE[0], 9)]), marks=pytest.mark.slow)],
)  # fmt: skip
def test_composed_laplace_noise_is_exact_and_what_a_lattice_encloses(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    found = account(plan)
    formula = [found.epsilon(1e-6), found.delta(0.7)]
    monkeypatch.setattr(composed, "together", lambda groups, source: None)
    other = account(plan)
    for mine, theirs in zip(formula, (other.epsilon(1e-6), other.delta(0.7)), strict=True):
        assert mine.rigour is Rigour.EXACT
        assert mine.relative_width < 1e-12 < theirs.relative_width < 1e-3
        assert meet(theirs, mine)


@pytest.mark.parametrize("times", [10, 1000])
def test_runs_of_a_plan_that_is_known_between_two_are_known_between_the_runs_of_these(times: int) -> None:
    """Whose words are too many, or whose scale is irrational: each end is Laplace noise in closed form."""
    bucket, rows = BucketHeavyHitter(1 << 30, 2, 1, Fraction(1), 0), JLHeavyHitter(16, 2, Fraction(1), 0)
    for m in (bucket, rows):
        apart = account(m)
        found = account(Repeat(m, times)).epsilon(1e-6)
        low, high = (each.groups for each in (apart.low, apart.high))  # type: ignore[attr-defined]
        ends = [LaplaceCoordinates(n * times, step, "").epsilon(1e-6) for ((n, step),) in (low, high)]
        assert (found.low, found.high) == (ends[0].low, ends[1].high)
        assert found.rigour is Rigour.INTERVAL


def test_of_several_pairs_that_occur_the_best_is_repeated() -> None:
    m = GlpsHeavyHitter(1 << 23, 2, 1, 8, Fraction(900), 0)
    found = account(Repeat(m, 1000)).epsilon(1e-6)
    pairs = account(m).profiles  # type: ignore[attr-defined]
    many = [together(tuple((n * 1000, step) for n, step in pair.groups), "") for pair in pairs]
    alone = [each.epsilon(1e-6).low for each in many if each is not None]
    assert len(pairs) > 1
    assert found.low == max(alone) > 40 * account(m).epsilon(1e-6).low


@pytest.mark.slow
def test_a_composition_costs_at_least_what_many_runs_of_one_part_do() -> None:
    """A lattice of a million different losses is too wide to say more than 0."""
    many, noise = Repeat(rr(Fraction(3, 2)), 10**6), Repeat(LAPLACE[0], 10**4)
    for alone in (many, noise):
        least, found = account(alone).epsilon(1e-6), account(Compose([alone, rr(2)])).epsilon(1e-6)
        assert least.low <= found.low <= found.high <= least.high + 1


def test_below_the_probability_of_an_infinite_loss_epsilon_is_infinite() -> None:
    found = account(Repeat(Guarantee(Fraction(1, 10), Fraction(1, 10**6)), 1000))
    lost = 1 - (1 - Fraction(1, 10**6)) ** 1000
    assert found.epsilon(lost - Fraction(1, 10**12)).high == math.inf
    assert found.epsilon(lost + Fraction(1, 10**12)).high <= 100
    assert lost in found.delta(math.inf)


@pytest.mark.parametrize("inner", [Run(rr(3, 4)), Aggregate(UnaryEncoding.flips(Fraction(1, 4), 2), 10)], ids=str)
def test_what_is_computed_from_each_of_some_views_is_computed_from_all(inner: Plan) -> None:
    each, all_ = PostProcess(inner, "rounding"), account(PostProcess(Repeat(inner, 2), "rounding")).epsilon(1e-3)
    for plan in (Repeat(each, 2), Compose([each, each]), Compose([Repeat(each, 2)])):
        assert account(plan).epsilon(1e-3) == all_
    assert all_.high == account(Repeat(inner, 2)).epsilon(1e-3).high


def test_what_a_part_does_is_not_known_from_its_post_processing() -> None:
    inner = account(Repeat(rr(3), 40))
    found = account(Repeat(PostProcess(Repeat(rr(3), 20), "mode"), 2))
    assert found.delta(5.0).low == 0
    assert found.delta(5.0).high == inner.delta(5.0).high
    assert found.epsilon(0).high >= inner.epsilon(0).low


CYCLE = Channel([[Fraction(p, 7) for p in row] for row in ((4, 2, 1), (1, 4, 2), (2, 1, 4))])  # of which no pair dominates


@pytest.mark.parametrize("inner", [Repeat(Shuffle(rr(3), 50), 3), Repeat(CYCLE, 3)], ids=str)
def test_of_a_post_processed_composition_no_pairs_that_occur_are_looked_for(inner: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    both = account(inner)
    wanted = both.epsilon(1e-3).high, both.delta(0.1).high
    if isinstance(inner.plan, Shuffle):  # type: ignore[attr-defined]
        monkeypatch.setattr(composed.Part, "lowers", property(lambda self: pytest.fail("pairs are looked for")))
    found = account(PostProcess(inner, "rounding"))
    assert (found.epsilon(1e-3).high, found.delta(0.1).high) == wanted
    assert found.epsilon(1e-3).low == found.delta(0.1).low == 0


class _Guess(PrivacyProfile):
    """Computed, but not enclosed."""

    def delta(self, epsilon: Number) -> Enclosure:
        high = 0.0 if epsilon >= 1 else 0.5 * (1 - float(epsilon)) ** 2
        return Enclosure(0.9 * high, high, Rigour.FLOAT, "a guess")


def test_a_float_part_makes_a_float_composition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composition, "account", lambda plan, neighbours: _Guess())
    for found in (guessed := composition.profile(Repeat(rr(3), 3)), guessed.upper_end(), guessed.from_above()):
        assert found.delta(0.5).rigour is Rigour.FLOAT


def _never_silent(plan: Plan) -> Iterator[Enclosure]:
    found = typed(ComposedProfile, account(plan))
    for epsilon in (0, 1e-300, 1.0, 1e3, 1e300, math.inf):
        yield found.delta(epsilon)
    for delta in (0, 5e-324, 1e-100, 1e-9, 0.999, 1 - 2.0**-53):
        yield found.epsilon(delta)


@pytest.mark.parametrize(
    "plan",
    [Repeat(rr(3), 5), Repeat(rr(1, 3), 5), Repeat(rr(Fraction(10**30 + 1, 10**30)), 10**9), Repeat(rr(10**30), 4),
     Compose([rr(10**30), rr(3, 7), rr(Fraction(10**9 + 1, 10**9))]),
     Repeat(Guarantee(Fraction(1, 3), Fraction(1, 10**9)), 10**6),
     Compose([Guarantee(Fraction(0)), Guarantee(Fraction(0), Fraction(1, 7))]),
     Compose([Repeat(Guarantee(Fraction(0), Fraction(1, 7)), 9), Guarantee(Fraction(50))])], ids=str,
)  # fmt: skip
def test_no_question_is_answered_with_a_nan_or_out_of_range(plan: Plan) -> None:
    for i, found in enumerate(_never_silent(plan)):
        assert 0 <= found.low <= found.high
        assert i >= 6 or found.high <= 1
    for epsilon in (0, 0.5, 1e3, math.inf):
        found = account(plan).delta(epsilon)
        assert found.low <= account(plan).upper_end().delta(epsilon).high == pytest.approx(found.high, rel=1e-9)


def test_a_sum_in_a_composition_is_asked_for_nothing_from_below(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Aggregate(Repeat(CountMeanSketch(2, 2, Fraction(2, 3), domain=2), 2), 4)
    wanted = [account(plan).delta(epsilon).high for epsilon in (0.1, 0.5)]
    monkeypatch.setattr(ComposedProfile, "lowers", property(lambda _: pytest.fail("pairs are looked for")))
    for above in (account(plan).upper_end(), account(plan).from_above()):
        found = [above.delta(epsilon) for epsilon in (0.1, 0.5)]
        assert [each.low for each in found] == [0, 0]
        assert [each.high for each in found] == pytest.approx(wanted, rel=1e-3)


def test_no_choices_of_pairs_are_listed_where_a_part_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composed, "combinations_with_replacement", lambda *_: pytest.fail("choices are listed"))
    assert composed._all(account(Repeat(Compose([Run(HadamardResponse(2, Fraction(3, 4))), Guarantee(Fraction(1))]), 100))) == ()


def test_pairs_of_inputs_are_mixed_where_runs_are_not_many() -> None:
    lopsided = Run(Channel([[Fraction(1, 10), Fraction(9, 10)], [Fraction(2, 5), Fraction(3, 5)]]))
    few, many = (composed._pairs(account(Repeat(lopsided, runs))) for runs in (1000, 1001))
    assert [sum(times for _, times in groups) for groups in few] == [1000, *[1000] * len(many)]
    assert len(many) < len(few)


def test_the_sum_of_epsilons_is_known_without_the_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(_: PrivacyProfile) -> Any:
        raise AssertionError("losses are found where a delta is asked for")

    monkeypatch.setattr(composed, "_upper", asked)
    once = Subsample(Run(KaryRandomizedResponse.for_epsilon(1, k=4)), 100, 1)
    found = composition.profile(Repeat(once, 7))
    assert found.epsilon(0).high == pytest.approx(7 * account(once).epsilon(0).high)
    raises(AssertionError, "where a delta is asked for", found.epsilon, 0.1)


def test_a_curve_between_floats_that_have_none_between_them_has_an_end() -> None:
    tiny = Run(KaryRandomizedResponse.for_epsilon(Fraction(1, 10**320), k=4))
    assert account(Repeat(Subsample(tiny, 100, 1), 4)).epsilon(0.25).high == 0


def of(stem: str, kind: str, *parameters: Any) -> Any:
    return getattr(import_module(f"ldpaudit.mechanisms.{stem}"), kind)(*parameters)


def test_composed_with_a_part_that_reveals_everything_everything_is_revealed() -> None:
    revealing = of("shuffled_hadamard", "ShuffledHadamard", 2, 4, 1, 1)
    for plan in (Compose([revealing, Guarantee(Fraction(1))]), Repeat(revealing, 9)):
        found = account(plan, ADD_REMOVE)
        assert found.delta(0.0).high == found.delta(50.0).high == 1
        assert (found.epsilon(0.999).high, found.epsilon(0).high) == (math.inf, math.inf)


def test_a_counter_of_which_no_finite_loss_is_known_to_be_likely_still_has_its_infinite_losses() -> None:
    # Ten messages more or less, where all users together hardly ever send one by chance.
    found = account(of("range_queries", "CountMinRangeQueries", 100, 1024, 3, 16, Fraction(1, 10**7)))
    for epsilon in (0.0, 1.0, 50.0):
        assert 0.9999 < found.delta(epsilon).low <= found.delta(epsilon).high <= 1
    assert found.epsilon(0.5).low == math.inf


@pytest.mark.parametrize("batch", [400, *(pytest.param(batch, marks=pytest.mark.slow) for batch in (100, 1000))])
def test_the_infinite_losses_of_equal_runs_compose_as_independent_chances(batch: int) -> None:
    one = of("trie_heavy_hitter", "TrieHeavyHitter", 10**4, batch, 10, 1)
    alone, twice = account(one), account(Repeat(one, 2))
    high = alone.delta(math.inf).high
    assert alone.delta(math.inf).low <= twice.delta(math.inf).low
    either = 1 - (1 - Fraction(high)) ** 2
    assert either <= Fraction(twice.delta(math.inf).high) <= either * (1 + Fraction(1, 10**6))
    for delta in (4 * high, 1000 * high):
        if delta < 1:  # no more than basic composition, and no less than one run
            assert alone.epsilon(delta).low <= twice.epsilon(delta).high <= 2 * alone.epsilon(delta / 2).high


def test_parts_without_one_usual_relation_need_one_that_is_named() -> None:
    trie, response = of("trie_heavy_hitter", "TrieHeavyHitter", 1000, 30, 5, 1), KaryRandomizedResponse(3, HALF)
    for plan in (Compose([trie, response]), PostProcess(Compose([response, Repeat(trie, 2)]), "a sum")):
        raises(Unsupported, "different default neighbours, add-remove and replace-one; name one", account, plan)
    assert account(Compose([trie, response]), REPLACE_ONE).epsilon(0.5).high < math.inf
    assert account(Repeat(trie, 2)).delta(1.0) == account(Repeat(trie, 2), ADD_REMOVE).delta(1.0)
    mixed = Compose([of("memoized_bit", "MemoizedBit", 2, HALF, HALF, Fraction(3, 4)), response])
    assert account(mixed).delta(0.5) == account(mixed, USER_LEVEL).delta(0.5)


@pytest.mark.parametrize("delta", [Fraction(1, 10**4000), 1e-300, 1e-6, 0.999, 1 - 2.0**-53, Fraction(2**60 - 1, 2**60)])
@pytest.mark.parametrize("users", [10, 1000])
def test_a_group_s_epsilon_is_called_exact_only_where_its_ends_meet(users: int, delta: Number) -> None:
    one = of("geometric", "Geometric", 10, Fraction(23, 100))
    found = account(one, group(users)).epsilon(delta)
    assert found.low <= found.high <= users * account(one).epsilon(0).high * (1 + 1e-12)
    assert (found.rigour is Rigour.EXACT) == (found.high - found.low <= 1e-9 * found.high)
    if delta < 1e-100:
        assert found.low > users * account(one).epsilon(0).low * (1 - 1e-9)


def test_a_guarantee_for_a_group_covers_noise_on_a_count_of_all_users() -> None:
    found = account(Guarantee(Fraction(1)), group(100))
    count = account(of("geometric", "Geometric", 100, round_up(flint.arb(-1).exp())))
    for epsilon in (0.0, 50.0, 83.6, 90.0, 99.0):
        assert count.delta(epsilon).low > 0.1
        assert found.delta(epsilon).high >= count.delta(epsilon).low
    assert found.epsilon(Fraction(1, 10**6)).high >= count.epsilon(Fraction(1, 10**6)).low > 99.9


def test_the_delta_of_a_guarantee_for_a_group_is_summed_over_its_users_and_refused_from_1_on() -> None:
    users, epsilon, delta = 20, Fraction(1, 10), Fraction(1, 10**9)
    lost = sum(math.exp(i * epsilon) for i in range(users)) * float(delta)
    found = account(Guarantee(epsilon, delta), group(users))
    assert found.delta(users * epsilon).high == pytest.approx(lost, rel=1e-12)
    assert account(Guarantee(Fraction(0), delta), group(users)).delta(0).high == pytest.approx(20e-9, rel=1e-12)
    raises(Unsupported, "it guarantees nothing for a group of 100 users", account, Guarantee(Fraction(1), delta), group(100))
    # Beside it, what each user runs alone: as many runs.
    both = Compose([KaryRandomizedResponse(2, Fraction(3, 4)), Repeat(Guarantee(epsilon), 2)])
    assert account(both, group(4)).epsilon(0).high == pytest.approx(4 * math.log(3) + 4 * 2 * 0.1, rel=1e-12)
