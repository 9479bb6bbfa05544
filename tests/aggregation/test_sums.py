"""What a sum of reports costs: references of 30 digits, brute force, and what follows from the definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from ldpaudit import Aggregate, Compose, Guarantee, Mechanism, Repeat, Shuffle, Unsupported, account
from ldpaudit.accountants.aggregation.bits import BitsProfile
from ldpaudit.accountants.aggregation.envelope import CountLaw, Others, coin, envelope
from ldpaudit.accountants.numerics import float_masses
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import dyadic
from ldpaudit.mechanisms import DiscreteLaplace, LaplaceHistogram, PolyaNoise, ShuffledHadamard, SubsetSelection, UnaryEncoding
from ldpaudit.mechanisms.one_bit import OneBitMean
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.mechanisms.shared.parameters import ball
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours, group
from ldpaudit.profile import DataSet, Witness
from tests.helpers import raises, some
from tests.oracles.polya import polya
from tests.oracles.sums import Outcomes, divergence, neighbouring, summed, worst, worst_of_both
from tests.samples import near

USERS, DELTA = 100_000, Fraction(1, 10**9)
HALF = Fraction(1, 2)


def symmetric(epsilon0: Fraction | int, k: int = 8) -> UnaryEncoding:
    """Bits flipped with probability ``1/(1 + e**epsilon0)``, to 200 bits."""
    with working_precision(256):
        return UnaryEncoding.flips(dyadic((1 / (1 + ball(Fraction(epsilon0)).exp())).lower()), k)


def test_a_sum_has_the_renyi_divergence_of_its_worst_data_set_or_a_little_more() -> None:
    """The reference is of the data set where all others hold what user 1 holds first; from 300 bits."""
    found = account(Aggregate(symmetric(5), USERS)).renyi(2)
    assert 0.0029348568594865708708 in found
    assert found.high < 0.0029348568594865708708 * 1.04
    assert found.low > 0.0029348568594865708708 * (1 - 1e-8)


def test_few_reports_have_the_renyi_divergence_of_the_worst_data_set() -> None:
    """Three users, four symmetric bits that flip with probability 1/4: all data sets, all sums."""
    m, order = UnaryEncoding.flips(Fraction(1, 4), 4), Fraction(5, 2)
    truth = 0.0
    for others in product(range(4), repeat=2):
        first, second = (summed([dict(m.law(y).items()) for y in (x, *others)]) for x in (0, 1))
        moment = sum(float(p) ** float(order) * float(second[y]) ** (1 - float(order)) for y, p in first.items())
        truth = max(truth, math.log(moment) / float(order - 1))
    found = account(Aggregate(m, 3)).renyi(order)
    assert found.low * (1 - 1e-12) <= truth <= found.high
    assert found.low > truth * (1 - 1e-9)


@pytest.mark.parametrize(
    ("m", "users", "delta", "reference", "highest"),
    [(symmetric(5), USERS, DELTA, 0.29740815475882850463, 0.29785),
     (symmetric(Fraction(13, 2)), USERS, DELTA, 0.70016450349840528742, 0.7011),
     (symmetric(7), USERS, DELTA, 0.95045693575568874976, 0.9518),
     (UnaryEncoding(8, Fraction(99, 100), Fraction(1, 3)), 10**4, Fraction(1, 10**6), 0.27832179883685204841, 0.2805)],
)  # fmt: skip
def test_a_sum_is_known_to_a_hundredth(m: UnaryEncoding, users: int, delta: Fraction, reference: float, highest: float) -> None:
    """References A02, A06 of 30 digits, where all others hold what user 1 holds first."""
    found = account(Aggregate(m, users)).epsilon(delta)
    assert reference * (1 - 1e-9) <= found.low <= reference * (1 + 1e-12)
    assert reference < found.high < highest


def test_optimized_unary_encoding_is_the_least_private_where_nobody_holds_either_value() -> None:
    """Reference A05."""
    with working_precision(256):
        m = UnaryEncoding(8, HALF, dyadic((1 / (1 + ball(Fraction(5)).exp())).lower()))
    found = account(Aggregate(m, USERS)).epsilon(DELTA)
    assert found.low == pytest.approx(0.13747803483549212364, rel=1e-9)
    assert found.low < found.high < 0.1378


def test_upper_ends_of_a_sum_are_asked_for_without_data_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = account(Aggregate(symmetric(1), 1000))
    wanted = [sums.epsilon(0).high, sums.epsilon(1e-6).high, *(sums.delta(epsilon).high for epsilon in (0, 0.1, math.inf))]
    monkeypatch.setattr(BitsProfile, "_tried", lambda _: pytest.fail("data sets are looked at"))
    above = sums.upper_end()
    found = [above.epsilon(0), above.epsilon(1e-6), *(above.delta(epsilon) for epsilon in (0, 0.1, math.inf))]
    assert [each.high for each in found] == wanted
    assert not any(each.low for each in found)


def test_an_absent_report_moves_one_coordinate() -> None:
    """Reference A04 is of others who all hold a one; where three of them do not, epsilon is larger by a millionth."""
    found = account(Aggregate(symmetric(5), USERS), ADD_REMOVE).epsilon(DELTA)
    assert 0.21195244259949037932 * (1 + 1e-6) < found.low == pytest.approx(0.21195244259949037932, rel=2e-6)
    assert found.relative_width < 1e-9
    skewed = account(Aggregate(UnaryEncoding(8, HALF, Fraction(1, 20)), USERS), ADD_REMOVE).epsilon(DELTA)
    assert 0 < skewed.low < skewed.high < 1.005 * skewed.low


probabilities = st.fractions(Fraction(1, 40), Fraction(39, 40), max_denominator=40)
two_probabilities = st.tuples(probabilities, probabilities).filter(lambda pair: pair[0] > pair[1])
ratios = st.sampled_from([Fraction(1), Fraction(9, 8), Fraction(3, 2), Fraction(3), Fraction(20)])


@given(two_probabilities, st.integers(2, 4), ratios, st.booleans(), st.data())
def test_a_sum_costs_what_brute_force_over_all_data_sets_and_outcomes_finds(
    bits: tuple[Fraction, Fraction], users: int, x: Fraction, deletion: bool, data: st.DataObject
) -> None:
    m = UnaryEncoding(data.draw(st.integers(2, 3 if users < 4 else 2)), *bits)
    truth = worst(m, users, x, deletion)
    # Where x is the exponential of no float, the nearest two floats enclose it.
    profile = account(Aggregate(m, users), ADD_REMOVE if deletion else REPLACE_ONE)
    epsilon = math.log(x)
    found = profile.delta(max(0.0, math.nextafter(epsilon, 0))), profile.delta(math.nextafter(epsilon, 9))
    assert found[1].low <= truth <= found[0].high
    assert found[0].high <= truth + Fraction(1, 10**12)
    assert truth - Fraction(1, 10**12) <= found[1].low


def test_no_corner_is_always_the_worst_data_set() -> None:
    """References A22: the worst others are mixed, or nobody holds the first value, and all of them are looked at."""
    found = account(Aggregate(UnaryEncoding.flips(Fraction(1, 4), 3), 3)).delta(math.log(3))
    assert found.high == pytest.approx(135 / 1024, abs=1e-12)
    assert found.high > 243 / 2048
    found = account(Aggregate(UnaryEncoding(3, HALF, Fraction(1, 20)), 3)).delta(0)
    assert found.high == pytest.approx(66951 / 160000, abs=1e-12)
    assert found.low > 654849 / 1600000


_MEMOIZED = Rappor(2, 1, Fraction(1, 5), Fraction(1, 10), Fraction(4, 5), 3)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("one", "zero", "users"),
    [(coin(HALF), coin(Fraction(1, 20)), 3000), (coin(HALF), coin(Fraction(1, 20)), 100_000),
     (coin(Fraction(3, 4)), coin(Fraction(1, 4)), 3000), (coin(Fraction(3, 4)), coin(Fraction(1, 4)), 100_000),
     (coin(Fraction(19, 20)), coin(Fraction(1, 3)), 3000), (_MEMOIZED.bit_law(1), _MEMOIZED.bit_law(0), 3000)],
)  # fmt: skip
def test_an_envelope_lies_closely_above_every_data_set(one: CountLaw, zero: CountLaw, users: int) -> None:
    others = Others(users, one, zero)
    curves, deviation = envelope(others), math.sqrt(users * max(float(p * (1 - p)) for p in (one[0], zero[0])))
    nodes = np.exp(np.array([-20, -3, -1, -0.1, 0, 0.1, 1, 3, 5]) / deviation)
    ups, downs = (np.array([curve.value(x) for x in nodes]) for curve in (curves.ups, curves.downs))
    pairs = [others.holding(m) for m in range(0, users + 1, users // 60)]
    worst_up, worst_down = (np.max([pair.low(nodes) for pair in ways], axis=0) for ways in (pairs, [p.reversed for p in pairs]))
    for highs, lows in ((ups, worst_up), (downs, worst_down)):
        assert (lows <= highs).all()
        assert (highs[lows > 1e-20] < 1.08 * lows[lows > 1e-20]).all()
    if users > 3000:
        return
    at = np.array([0.9, 1.0, 1.1])
    range_ = others.within(0, 3000).high(at), others.within(1000, 1400).high(at)
    assert all((others.holding(m).low(at) <= range_[m > 0]).all() for m in (0, 1000, 1200, 1400))


@given(two_probabilities, st.integers(34, 400), st.sampled_from([1e-2, 1e-4, 1e-8]))
@settings(max_examples=settings().max_examples // 4)
def test_a_sum_costs_at_most_a_shuffle_and_more_users_never_cost(bits: tuple[Fraction, Fraction], users: int, delta: float) -> None:
    m = UnaryEncoding(3, *bits)
    found = account(Aggregate(m, users)).epsilon(delta)
    assert found.low <= account(m).epsilon(0).high
    assert account(Aggregate(m, users + 60)).epsilon(delta).low <= found.high
    assert found.high <= max(1.1 * found.low, found.low + 1e-3), "the ends are within a tenth of each other"


def test_a_sum_of_one_hot_reports_or_of_bits_tells_the_multiset() -> None:
    for m in (KaryRandomizedResponse(4, HALF), SubsetSelection(4, 1, Fraction(3, 4)), SubsetSelection(4, 3, Fraction(7, 8))):
        shuffled = account(Shuffle(m, 20)).epsilon(1e-4)
        found = account(Aggregate(m, 20)).epsilon(1e-4)
        assert (found.low, found.high) == (shuffled.low, shuffled.high)


def test_rounds_are_summed_one_by_one() -> None:
    m = symmetric(5)
    one, four = (account(plan).epsilon(DELTA) for plan in (Aggregate(m, USERS), Repeat(Aggregate(m, USERS), 4)))
    assert account(Aggregate(Repeat(m, 4), USERS)).epsilon(DELTA) == four
    assert one.high < four.low < four.high < 1.01 * four.low
    assert four.high < 4 * one.low
    noisy = Aggregate(symmetric(1), 20, [DiscreteLaplace(HALF)])
    assert account(Repeat(noisy, 2)).epsilon(1e-3) == account(Aggregate(Repeat(symmetric(1), 2), 20, noisy.noise)).epsilon(1e-3)
    assert account(noisy).epsilon(1e-3).high < account(Repeat(noisy, 2)).epsilon(1e-3).high < account(noisy.plan).epsilon(0).low * 2


@pytest.mark.few(1)
@pytest.mark.parametrize(("m", "runs", "most"), [
    (UnaryEncoding(2, Fraction(9, 10), Fraction(1, 2)), 5, 1.002), (UnaryEncoding(2, Fraction(9, 10), Fraction(1, 2)), 500, 1.02),
    (Rappor(3, 1, Fraction(0), Fraction(1, 10), Fraction(1, 3), domain=3), 500, 1.005),
], ids=str)  # fmt: skip
def test_many_rounds_of_bits_are_known_by_single_ones(m: Mechanism, runs: int, most: float) -> None:
    once, found = account(Aggregate(m, 100)).epsilon(1e-6), account(Repeat(Aggregate(m, 100), runs)).epsilon(1e-6)
    assert once.high < found.low <= found.high <= most * found.low
    assert account(Repeat(Aggregate(m, 100), runs)).delta(found.high).high <= 1.001e-6


def test_nothing_links_the_reports_that_are_summed_in_different_rounds() -> None:
    """Two sums of one-hot reports tell two multisets, and not one of pairs of reports."""
    m = KaryRandomizedResponse(3, Fraction(13, 16))
    one, two = (account(Aggregate(Repeat(m, rounds), 20)) for rounds in (1, 2))
    found = two.delta(0.1)
    assert one.delta(0.1).high < found.low <= 2 * one.delta(0.05).high
    assert found.relative_width < 0.01


def test_rounds_have_noise_of_their_own() -> None:
    """Noise was once forgotten where sums are repeated, so that the lower end was 10 instead of 0.4."""
    m, noise = UnaryEncoding.flips(Fraction(1, 150), 8), [DiscreteLaplace(Fraction(9, 10))]
    one, two = (account(Repeat(Aggregate(m, 1000, noise), times)).epsilon(1e-6) for times in (1, 2))
    assert one.high < two.low < two.high < 2 * one.high * 1.02
    plans = Repeat(Aggregate(Repeat(m, 2), 1000, noise), 3), Aggregate(Repeat(m, 6), 1000, noise)
    first, second = (account(plan).epsilon(1e-6) for plan in plans)
    assert first == second


@pytest.mark.slow
def test_different_sums_compose() -> None:
    parts = [Aggregate(symmetric(5), USERS), Aggregate(symmetric(6), USERS)]
    first, second = (account(part).epsilon(DELTA) for part in parts)
    both = account(Compose(parts)).epsilon(DELTA)
    assert second.high < both.low < both.high < 1.002 * both.low
    assert both.high < first.high + second.high
    alike = account(Compose([Aggregate(symmetric(5), USERS, [DiscreteLaplace(HALF)]), Aggregate(symmetric(5), USERS)]))
    twice = account(Repeat(parts[0], 2)).epsilon(DELTA)
    assert twice.low * 0.998 < alike.epsilon(DELTA).low < twice.high
    deleted = account(Compose(parts), ADD_REMOVE).epsilon(DELTA)
    assert deleted.high < 1.002 * deleted.low < 0.8 * both.low


@given(two_probabilities, st.integers(2, 3), ratios, st.booleans(), st.sampled_from(["other", "twice", "one bit"]))
@example((Fraction(19, 20), Fraction(17, 20)), 3, Fraction(3, 2), True, "twice")  # present in one round, absent in the other
@settings(max_examples=20, deadline=None)
def test_composed_sums_cost_at_least_what_is_certified_and_at_most(
    bits: tuple[Fraction, Fraction], users: int, x: Fraction, deletion: bool, kind: str
) -> None:
    """Against the neighbouring data sets of both sums, all of them, outcome by outcome; two values may differ in one bit only."""
    m: Mechanism = UnaryEncoding(2, *bits)
    if kind == "one bit":
        m, deletion = Rappor(2, 2, Fraction(0), bits[1], bits[0], 1, 2), False
    parts = [(m, users), (m, users) if kind != "other" else (UnaryEncoding(2, Fraction(3, 4), Fraction(1, 8)), 2)]
    plan = Compose([Aggregate(*part) for part in parts])
    found = account(plan, ADD_REMOVE if deletion else REPLACE_ONE).delta(math.log(x))
    first, second = (neighbouring(*part, deletion) for part in parts)
    assert near(found, worst_of_both(first, second, x), Fraction(1, 10**12))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "m", [UnaryEncoding(2, Fraction(9, 10), HALF), Rappor(3, 1, Fraction(0), Fraction(1, 10), Fraction(1, 3), 1, 3)]
)
def test_rounds_of_unequal_bits_are_known_to_a_hundredth(m: Mechanism) -> None:
    """Others who hold both of two bits were once allowed for, and those who hold neither not looked at."""
    found = account(Repeat(Aggregate(m, 1000), 3)).epsilon(1e-6)
    assert account(Aggregate(m, 1000)).epsilon(1e-6).high < found.low < found.high < 1.01 * found.low
    beside = account(Compose([Repeat(Aggregate(m, 1000), 3), Aggregate(m, 10**4)])).epsilon(1e-6)
    assert found.low < beside.high < 1.05 * found.high


def test_noise_of_clients_and_of_aggregators_is_convolved() -> None:
    """Less than either costs alone, than the sum of both epsilons, and than what two aggregators' noise leaves out."""
    m, noise = symmetric(5), DiscreteLaplace(Fraction(9, 10))
    clients = account(Aggregate(m, USERS)).epsilon(DELTA)
    alone = account(DiscreteLaplace(Fraction(9, 10), (1, -1))).epsilon(DELTA)
    one, two = (account(Aggregate(m, USERS, [noise] * times)).epsilon(DELTA) for times in (1, 2))
    single = account(Aggregate(m, 1, [noise])).epsilon(DELTA)
    assert two.high < one.low < one.high < single.low < single.high < alone.low < clients.low
    assert max(each.relative_width for each in (one, two, single)) < 1e-3
    assert (
        alone.low * 0.999
        < account(Aggregate(m, USERS, [noise])).epsilon(0).high
        <= account(DiscreteLaplace(Fraction(9, 10), (1, -1))).epsilon(0).high
    )


@given(two_probabilities, st.integers(1, 3), ratios, st.booleans(), st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(1, 20)]))
@settings(max_examples=settings().max_examples // 3)
@example((Fraction(3, 4), Fraction(1, 4)), 3, Fraction(3, 2), False, Fraction(1, 20))
def test_a_noisy_sum_costs_what_brute_force_finds(
    bits: tuple[Fraction, Fraction], users: int, x: Fraction, deletion: bool, shape: Fraction
) -> None:
    """Also where the noise is not log-concave: shares of which some are missing."""
    m, noise = UnaryEncoding(2, *bits), PolyaNoise(Fraction(1, 5), shape)
    half = [Fraction(round(p * 2**80), 2**80) for p in polya(Fraction(1, 5), shape, 12)]
    one = {(z,): half[abs(z)] / (2 * sum(half) - half[0]) for z in range(-12, 13)}
    truth = worst(m, users, x, deletion, {(*a, *b): p * q for a, p in one.items() for b, q in one.items()})
    profile = account(Aggregate(m, users, [noise]), ADD_REMOVE if deletion else REPLACE_ONE)
    found = profile.delta(max(0.0, math.log(x)))
    left = Fraction(1, 5) ** 11
    assert near(found, truth, left + Fraction(1, 10**12))
    assert found.high - found.low < 1e-9


@given(two_probabilities, st.integers(1, 3), ratios, st.integers(1, 2), st.sampled_from([Fraction(0), Fraction(1, 4)]))
@settings(max_examples=settings().max_examples // 3)
def test_a_noisy_sum_of_rounded_numbers_costs_what_brute_force_finds(
    bits: tuple[Fraction, Fraction], users: int, x: Fraction, reports: int, gamma: Fraction
) -> None:
    """Whatever numbers between the ends the others hold, or user 1."""
    m, noise = OneBitMean(min(bits), max(bits), gamma, reports), DiscreteLaplace(Fraction(1, 5))
    one: Outcomes = {(z,): Fraction(2, 3) * Fraction(1, 5) ** abs(z) for z in range(-12, 13)}
    found = account(Aggregate(m, users, [noise])).delta(max(0.0, math.log(x)))
    assert near(found, worst(m, users, x, noise=one), Fraction(1, 5) ** 11 + Fraction(1, 10**12))
    assert found.high - found.low < 1e-9


def test_several_reports_that_are_all_alike_cost_what_one_does_unless_noise_is_added_to_their_sum() -> None:
    """A rounded number that is kept, and sent without flips."""
    once, again = (OneBitMean(Fraction(1, 8), Fraction(7, 8), Fraction(0), reports) for reports in (1, 3))
    found, whole = (account(Aggregate(each, 1000)).epsilon(DELTA) for each in (again, once))
    assert (found.low, found.high) == (whole.low, whole.high)
    noisy = [account(Aggregate(each, 1000, [DiscreteLaplace(Fraction(9, 10))])).epsilon(DELTA) for each in (once, again)]
    assert noisy[0].high < noisy[1].low


def test_noise_is_noise_on_counts() -> None:
    raises(TypeError, "needs noise on counts, such as DiscreteLaplace, got", Aggregate, symmetric(1), 9, [symmetric(1)])


def test_a_group_costs_what_the_same_move_of_all_does() -> None:
    """Reference A25."""
    found = account(Aggregate(symmetric(5), USERS), group(2)).epsilon(DELTA)
    assert found.low == pytest.approx(0.61285075384638233720, rel=1e-9)
    assert found.low < found.high < 0.6145
    assert account(Aggregate(symmetric(5), USERS), group(1)).epsilon(DELTA) == account(
        Aggregate(symmetric(5), USERS)
    ).epsilon(DELTA)
    assert account(Aggregate(symmetric(5), USERS), group(3)).epsilon(DELTA).low > found.high


def test_losses_beyond_floats_are_bounded_by_what_one_report_costs() -> None:
    plan = Aggregate(UnaryEncoding.flips(Fraction(1, 10**400), 3), 40)
    found, local = (account(each).epsilon(1e-6) for each in (plan, plan.plan))
    assert found.low <= found.high == local.high
    assert account(plan).delta(720).high <= 1
    many = account(Aggregate(UnaryEncoding.flips(Fraction(1, 10**5), 3), 200), group(100))
    assert many.delta(1500).low == 0, "no event is looked at where e**epsilon is no float"
    assert account(Aggregate(symmetric(5), USERS)).epsilon(Fraction(1, 10**400)).low <= 10


def test_a_group_of_two_among_three_costs_at_least_what_brute_force_finds() -> None:
    m, x = UnaryEncoding(3, Fraction(3, 4), Fraction(1, 8)), Fraction(100)
    laws = [dict(m.law(value).items()) for value in m.inputs]
    truth = max(
        divergence(summed([laws[a], laws[b], laws[rest]]), summed([laws[c], laws[d], laws[rest]]), x)
        for a, b, c, d, rest in product(range(3), repeat=5)
    )
    found = account(Aggregate(m, 3), group(2)).delta(math.log(100))
    assert found.low <= truth + Fraction(1, 10**12)
    assert truth * (1 - Fraction(1, 10**12)) <= found.high < 10 * truth


def test_a_filter_of_a_value_moves_several_coordinates() -> None:
    found = account(Aggregate(PermanentRappor(bits=16, hashes=2, f=HALF), 10**4)).epsilon(1e-6)
    one = account(Aggregate(UnaryEncoding.flips(Fraction(1, 4), 4), 10**4)).epsilon(1e-6)
    assert one.high < found.low <= found.high < 1.01 * found.low
    assert found.high < 2 * one.low


@given(st.integers(2, 3), ratios, st.integers(2, 3), st.sampled_from([HALF, Fraction(1, 10), Fraction(9, 10)]))
@settings(max_examples=12, deadline=None)
def test_counts_of_several_reports_cost_what_brute_force_finds(users: int, x: Fraction, reports: int, f: Fraction) -> None:
    """Of memoized bits: these counts' laws are mixtures, and not log-concave where little is memoized wrongly."""
    m = Rappor(2, 1, f, Fraction(1, 10), Fraction(4, 5), reports, domain=2)
    truth = worst(m, users, x)
    found = account(Aggregate(m, users)).delta(math.log(x))
    assert found.low - Fraction(1, 10**12) <= truth <= found.high + Fraction(1, 10**12)
    assert m.differences != {(1, 1): (0, 1)} or found.low >= truth * Fraction(99, 100) - Fraction(1, 10**12)


@pytest.mark.slow
def test_more_reports_of_a_memoized_bit_cost_more_but_never_more_than_the_bit() -> None:
    found = [
        account(Aggregate(Rappor(32, 2, HALF, Fraction(1, 4), Fraction(3, 4), reports), 1000)).epsilon(1e-6)
        for reports in (1, 4)
    ]
    lifetime = account(Aggregate(PermanentRappor(32, 2, HALF), 1000)).epsilon(1e-6)
    assert found[0].high < found[1].low < found[1].high < lifetime.high
    assert all(each.high < 1.02 * each.low for each in found)


def test_a_single_report_is_its_own_sum() -> None:
    m = UnaryEncoding.flips(Fraction(1, 4), 3)
    assert account(Aggregate(m, 1)).epsilon(0.1) == account(m).epsilon(0.1)
    pure = account(Aggregate(m, 100)).epsilon(0)
    assert (pure.low, pure.high) == (account(m).epsilon(0).low, account(m).epsilon(0).high)
    assert account(Aggregate(m, 100)).delta(pure.high).high == 0


def laws_of(m: Mechanism, found: Witness) -> list[Outcomes]:
    """The sum's, in both data sets."""
    rest = [x for x, count in found.others.counts for _ in range(count)]
    return [summed(dict(m.law(each).items()) for each in (own, *rest)) for own in found.values]


@given(two_probabilities, st.integers(2, 4), ratios, st.booleans(), st.integers(2, 3))
@settings(deadline=None)
def test_a_witness_attains_the_lower_end(bits: tuple[Fraction, Fraction], users: int, x: Fraction, deletion: bool, k: int) -> None:
    m = UnaryEncoding(k, *bits)
    profile = account(Aggregate(m, users), ADD_REMOVE if deletion else REPLACE_ONE)
    epsilon = math.nextafter(math.log(x), 9)
    low, found = profile.delta(epsilon).low, profile.witness(epsilon)
    if found is None:
        assert low == 0
        return
    laws = laws_of(m, found)
    assert low <= divergence(laws[0], laws[1], x) <= low + Fraction(1, 10**12)
    assert (found.plan, found.epsilon, found.others.users) == (Aggregate(m, users), epsilon, users - 1)


def test_a_witness_of_signatures_holds_two_values_that_differ_most() -> None:
    m = PermanentRappor(bits=4, hashes=1, f=HALF, domain=4)
    profile = account(Aggregate(m, 3))
    low, found = profile.delta(0.5).low, some(profile.witness(0.5))
    assert found.values in m.differences.values()
    laws = laws_of(m, found)
    assert low == pytest.approx(float(divergence(laws[0], laws[1], Fraction(math.exp(0.5)))), abs=1e-6)
    assert some(account(Aggregate(Repeat(m, 2), 3)).witness(0.5)).values in m.differences.values()


@pytest.mark.few(1)
@pytest.mark.parametrize(("bits", "domain", "different"), [(3, 3, 2), (8, 9, 3)])
def test_rappor_of_one_hash_is_unary_encoding_of_its_signatures(bits: int, domain: int, different: int) -> None:
    m = Rappor(bits, 1, HALF, Fraction(1, 10), Fraction(4, 5), domain=domain)
    assert len({m.signature(x).tobytes() for x in range(domain)}) == different
    unary = UnaryEncoding(different, m.bit_law(1)[1], m.bit_law(0)[1])
    for users in (40, 1000):
        found, expected = (account(Aggregate(each, users)).epsilon(1e-6) for each in (m, unary))
        assert (found.low, found.high) == (expected.low, expected.high)


def test_sums_of_reports_that_tell_nearly_everything_stay_among_floats() -> None:
    """Likelihood ratios of ten permanent responses, whose products are no floats."""
    found = account(Aggregate(Repeat(PermanentRappor(bits=4, hashes=1, f=HALF, domain=9), 10), 100)).epsilon(1e-6)
    assert 2 < found.low <= found.high <= 1.05 * found.low


def test_a_witness_of_one_hot_reports_is_of_the_sum() -> None:
    plan = Aggregate(KaryRandomizedResponse(4, HALF), 50)
    found, shuffled = (some(account(each).witness(0.1)) for each in (plan, Shuffle(plan.plan, 50)))
    assert (found.plan, found.pair) == (plan, shuffled.pair)


def test_a_witness_of_a_sum_may_lack_one_report_and_holds_as_many_as_are_summed() -> None:
    plan, all_, one = Aggregate(symmetric(1), 3), DataSet.of({0: 3}), DataSet.of({0: 2})
    assert Witness(plan, (all_, one), "").values == (0, None)
    assert Witness(plan, (one, all_), "").values == (None, 0)
    for pair in ((one, DataSet.of({0: 1})), (one, DataSet.of({0: 1, 1: 1})), (all_, DataSet.of({1: 3}))):
        raises(ValueError, "differ in one user", Witness, plan, pair, "")


@pytest.mark.parametrize(
    ("plan", "neighbours", "why"),
    [(Aggregate(Guarantee(Fraction(1)), 9), None, "a sum needs the reports of one mechanism"),
     (Aggregate(Compose([symmetric(1), symmetric(2)]), 9), None, "a sum needs the reports of one mechanism"),
     (Aggregate(ShuffledHadamard(9, 8, 1, 1), 9), None, "needs a mechanism for one user, but this one is shuffled"),
     (Aggregate(LaplaceHistogram(3, HALF), 9), None, "the reports of this mechanism have no sum"),
     (Aggregate(KaryRandomizedResponse(4, HALF), 9), ADD_REMOVE, "its inputs have the relations replace-one, not add-remove"),
     (Aggregate(Rappor(16, 2, HALF, Fraction(1, 4), Fraction(3, 4), 65), 9), None, "are not accounted for under replace-one"),
     (Aggregate(symmetric(1), 9), group(10), "a group of 10 users does not fit into its 9")],
)  # fmt: skip
def test_a_plan_without_a_bound_names_what_is_missing(plan: Aggregate, neighbours: Neighbours | None, why: str) -> None:
    raises(Unsupported, why, account, plan, neighbours)


@pytest.mark.parametrize("wide", [False, True])
def test_masses_in_floats_are_as_right_as_they_say(wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a sum is made of tilted transforms."""
    monkeypatch.setattr(float_masses, "_WORK", 0 if wide else 1 << 40)
    found = Masses.binomial(900, HALF).plus(Masses.binomial(1500, Fraction(1, 5))).plus(Masses.counts(coin(Fraction(1, 3))))
    ways = flint.fmpz_poly([1, 1]) ** 900 * flint.fmpz_poly([4, 1]) ** 1500 * flint.fmpz_poly([2, 1])
    truth = [Fraction(int(c), 2**900 * 5**1500 * 3) for c in ways.coeffs()]
    listed = dict(enumerate(map(Fraction, found.values.tolist()), found.first))
    error = Fraction(found.error)
    assert error < 1e-8
    assert all(value * (1 - error) <= truth[at] for at, value in listed.items())
    left = sum(max(Fraction(0), mass - listed.get(at, Fraction(0)) * (1 + error)) for at, mass in enumerate(truth))
    assert left <= found.outside < 1e-19
    middle = [abs(listed[at] / truth[at] - 1) for at in range(720, 780)]
    assert max(middle) > 1e-18, "floats are not exact"
