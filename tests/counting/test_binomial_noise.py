"""Binomial noise, smoothness, and cpSGD's mechanism, against enumeration in rationals and by independent routes."""

import math
import re
from fractions import Fraction
from itertools import accumulate
from math import comb

import flint
import mpmath
import pytest
from hypothesis import assume, example, given, strategies as st
from scipy.stats import binom

from ldpaudit import PrivacyProfile, Rigour
from ldpaudit.accountants.claims.published import published
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.accountants.counting import count_min, theorems
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.numerics import binomial
from ldpaudit.accountants.numerics.precision import at_most
from ldpaudit.accountants.numerics.search import crossing, first
from tests.helpers import raises, slow
from tests.numerics.test_counting_laws import log_comb
from tests.oracles.pairs import excess, heads, joint

F = Fraction
FLOAT_OF_EXP = F(1, 10**9)
"""The oracle takes a float for e**epsilon: delta moves by less than this, relatively."""

small = st.tuples(st.integers(1, 14), st.fractions(F(1, 20), F(19, 20), max_denominator=20), st.integers(1, 16))
epsilons = st.sampled_from([0.0, 0.01, 0.3, 1.0, 2.5, 6.0])


def pair(n: int, gamma: Fraction, shift: int) -> list[tuple[Fraction, Fraction]]:
    """(P(y), Q(y)) of the shifted and the plain law, for a shift of either sign, wherever one is positive."""
    law = dict(enumerate(heads(n, gamma)))
    ends = min(0, shift), n + max(0, shift)
    return [(law.get(y - shift, F(0)), law.get(y, F(0))) for y in range(ends[0], ends[1] + 1)]


def worst(n: int, gamma: Fraction, k: int, c: Fraction) -> Fraction:
    return max(excess(pair(n, gamma, s), c) for s in (k, -k))


@given(small, epsilons)
def test_delta_is_what_enumeration_gives(parameters: tuple[int, Fraction, int], epsilon: float) -> None:
    n, gamma, k = parameters
    found, truth = ShiftProfile(n, gamma, k).delta(epsilon), worst(n, gamma, k, F(math.exp(epsilon)))
    assert found.low <= truth * (1 + FLOAT_OF_EXP)
    assert truth <= F(found.high) * (1 + FLOAT_OF_EXP)
    assert found.relative_width < 1e-9
    assert found.rigour is Rigour.EXACT


@given(small)
def test_at_epsilon_0_and_infinity_delta_is_a_rational_inside(parameters: tuple[int, Fraction, int]) -> None:
    assert worst(*parameters, F(1)) in ShiftProfile(*parameters).delta(0)
    infinite = max(sum((p for p, q in pair(parameters[0], parameters[1], s) if q == 0), F(0)) for s in (1, -1))
    assert infinite in ShiftProfile(parameters[0], parameters[1], 1).delta(math.inf)


@given(small, st.sampled_from([F(1, 2), F(1, 10), F(1, 1000), F(1, 10**9)]))
def test_epsilon_inverts_delta(parameters: tuple[int, Fraction, int], delta: Fraction) -> None:
    n, gamma, k = parameters
    found = ShiftProfile(n, gamma, k).epsilon(delta)
    assert found.relative_width < 1e-9 or found.high < 1e-15
    if math.isinf(found.high):
        assert max(sum((p for p, q in pair(n, gamma, s) if q == 0), F(0)) for s in (k, -k)) > delta
        return
    with mpmath.workdps(60):
        low, high = (F(int(mpmath.exp(mpmath.mpf(end)) * 10**50), 10**50) for end in (found.low, found.high))
    assert found.low == 0 or worst(n, gamma, k, low * (1 - F(1, 10**12))) >= delta
    assert worst(n, gamma, k, high * (1 + F(1, 10**12))) <= delta


def test_a_tie_with_the_mass_outside_the_support_is_decided() -> None:
    # n = 1, gamma = 1/2: at every epsilon delta is exactly 1/2.
    assert ShiftProfile(1, F(1, 2)).epsilon(F(1, 2)).high < 1e-300
    assert ShiftProfile(1, F(1, 2)).epsilon(F(1, 2) - F(1, 10**30)).low == math.inf


@given(small, epsilons)
def test_a_longer_shift_never_costs_less(parameters: tuple[int, Fraction, int], epsilon: float) -> None:
    n, gamma, k = parameters
    assert ShiftProfile(n, gamma, k).delta(epsilon).low <= ShiftProfile(n, gamma, k + 1).delta(epsilon).high


def test_the_two_directions_differ_and_the_larger_one_is_taken() -> None:
    n, gamma, c = 10, F(1, 10), F(2)
    there, back = (excess(pair(n, gamma, s), c) for s in (1, -1))
    assert there != back
    assert abs(F(ShiftProfile(n, gamma).delta(math.log(2)).high) / max(there, back) - 1) < FLOAT_OF_EXP


@pytest.mark.parametrize(("n", "gamma", "sensitivity", "value"), [
    (10, F(1, 2), 0, 0), (10, F(1, 2), 11, 1), (10, F(0), 1, 1), (10, F(1), 1, 1), (0, F(1, 2), 1, 1),
])  # fmt: skip
def test_without_noise_or_shift_the_profile_is_flat(n: int, gamma: Fraction, sensitivity: int, value: int) -> None:
    profile = ShiftProfile(n, gamma, sensitivity)
    assert (profile.delta(3.0).low, profile.delta(3.0).high) == (value, value)
    assert profile.epsilon(F(1, 10)).high == (math.inf if value else 0)


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("gamma", [F(1, 2), F(1, 100), F(1, 4000)])
@pytest.mark.parametrize("delta", [1e-7, 1e-30, 1e-300])
def test_at_large_n_delta_and_epsilon_invert_each_other(n: int, gamma: Fraction, delta: float) -> None:
    for k in (1, 30):
        profile = ShiftProfile(n, gamma, k)
        epsilon = profile.epsilon(delta)
        if math.isinf(epsilon.high):
            assert profile.delta(math.inf).low > delta
        elif epsilon.high == 0:
            assert profile.delta(0).high <= delta
        else:
            assert epsilon.relative_width < 1e-9
            found = profile.delta(epsilon.high)
            assert found.relative_width < 1e-9
            assert abs(found.high / delta - 1) < 1e-9


@pytest.mark.parametrize(("n", "gamma", "k", "epsilon"), [(10**8, F(1, 2), 1, 6e-4), (10**12, F(1, 10**6), 7, 0.05)])
def test_delta_agrees_with_sums_in_mpmath_at_large_n(n: int, gamma: Fraction, k: int, epsilon: float) -> None:
    # All terms from the best event's start on, until they no longer count: an independent, slow route.
    with mpmath.workdps(50):
        g, c = mpmath.mpf(gamma.numerator) / gamma.denominator, mpmath.exp(mpmath.mpf(epsilon))
        best = mpmath.mpf(0)
        for p in {g, 1 - g}:
            sigma = float(mpmath.sqrt(n * p * (1 - p)))
            x = int(n * p + sigma**2 * epsilon / k) - 3 * int(sigma / 100) - k
            # log-probability at x by Stirling, then ratios
            term = mpmath.exp(log_comb(n, x) + x * mpmath.log(p) + (n - x) * mpmath.log(1 - p))
            window, total, odds = [], mpmath.mpf(0), p / (1 - p)
            for y in range(x, x + int(9 * sigma)):
                window.append(term)
                if len(window) > k:
                    total += max(mpmath.mpf(0), window[-1 - k] - c * term)
                term *= odds * (n - y) / (y + 1)
            best = max(best, total)
        assert abs(best / ShiftProfile(n, gamma, k).delta(epsilon).low - 1) < 1e-9


@pytest.mark.parametrize("precision", [64, 128])
@pytest.mark.parametrize("n", [10**5, 10**7, 10**9])
@pytest.mark.parametrize("p", [F(1, 2), F(1, 50), F(49, 50)])
def test_tails_near_the_mode_agree_with_the_continued_fraction(precision: int, n: int, p: Fraction) -> None:
    sigma = math.sqrt(n * p * (1 - p))
    with flint.ctx.workprec(precision):
        for distance in (-1.7, -0.6, 0.6, 1.1, 1.9):
            k = round(n * p + distance * sigma)
            wide = binomial.binomial_upper(n, p, k)
            low, high = (k, p) if k > n * p else (n - k + 1, 1 - p)
            fraction = binomial.binomial_pmf(n, high, low) * binomial._binomial_factor(n, high, 1 - high, low)
            other = fraction if k > n * p else 1 - fraction
            assert sigma < 200 or binomial.near_the_mode(n * float(p), sigma, k - n * float(p))
            assert wide.overlaps(other)
            assert wide.rel_accuracy_bits() > precision - 8


def test_tails_near_the_mode_of_a_law_as_wide_as_half_a_million_are_symmetric() -> None:
    n = 10**12
    with flint.ctx.workprec(80):
        for k in (n // 2 + 1, n // 2 + 250_000, n // 2 + 700_000):
            up, down = binomial.binomial_upper(n, F(1, 2), k), binomial.binomial_upper(n, F(1, 2), n - k + 1)
            assert (up + down).contains(1)
            step = up - binomial.binomial_upper(n, F(1, 2), k + 1)
            assert step.overlaps(binomial.binomial_pmf(n, F(1, 2), k))


@given(st.integers(-50, 50), st.integers(-60, 60), st.integers(-40, 0), st.integers(0, 40))
def test_the_galloping_search_finds_the_first(border: int, start: int, low: int, high: int) -> None:
    assert first(lambda x: x >= border, start, low, high) == min(max(border, low), high)


@given(st.floats(1e-8, 1e8), st.floats(1e-9, 1e9), st.floats(1.01, 100))
def test_the_search_for_a_crossing_brackets_it(root: float, start: float, factor: float) -> None:
    low, high = crossing(lambda x: root / x, 1.0, start, factor, 2.0**-30)
    assert low < root <= high <= low * (1 + 2.0**-27)


def test_a_comparison_that_balls_cannot_decide_says_so() -> None:
    assert at_most(lambda: flint.arb(1) / 3, F(1, 3)) is None
    assert at_most(lambda: flint.arb(1) / 3, F(1, 3) + F(1, 10**100)) is True


def smooth(n: int, gamma: Fraction, k: int, c: Fraction) -> Fraction:
    """Definition 4.2, all k' but 0, with e**epsilon = c."""
    law, found = heads(n, gamma), F(0)
    for shift in (s for s in range(-k, k + 1) if s):
        other = [law[y + shift] if 0 <= y + shift <= n else F(0) for y in range(n + 1)]
        found = max(found, sum((p for p, q in zip(law, other, strict=True) if p >= q * c ** abs(shift)), F(0)))
    return found


@given(small, epsilons)
def test_smoothness_is_definition_4_2(parameters: tuple[int, Fraction, int], epsilon: float) -> None:
    n, gamma, k = parameters
    assert smooth(n, gamma, k, F(math.exp(epsilon))) in theorems.smooth_delta(n, gamma, k, epsilon)


@pytest.mark.parametrize("n", [60, 1000, 10**5, 10**8])
@pytest.mark.parametrize("gamma", [F(1, 2), F(1, 5), F(1, 50)])
def test_lemma_4_12_is_valid_and_loose(n: int, gamma: Fraction) -> None:
    for alpha in (F(1, 5), F(1, 2), F(9, 10)):
        most = int(alpha * gamma * n / 2)
        for k in {1, most} if most else set():
            epsilon, delta = theorems.smoothness_of_binomial(n, gamma, k, alpha)
            exact = theorems.smooth_delta(n, gamma, k, epsilon.low)
            assert exact.high <= delta.low or exact.low == delta.low == 0  # below all floats


def test_lemma_4_12_has_the_printed_value() -> None:
    epsilon, delta = theorems.smoothness_of_binomial(1000, F(1, 2), 1, F(1, 2))
    assert abs(epsilon.high - math.log(3)) < 1e-15
    assert abs(delta.high / (math.exp(-125 / 8) + math.exp(-125 / 9)) - 1) < 1e-12
    assert delta.low <= delta.high <= delta.low * (1 + 1e-15)


def test_lemma_4_12_fails_for_more_heads_than_tails() -> None:
    # gamma = 0.99: the point n alone, from which one step up is impossible, is likelier than the lemma's delta.
    n, gamma, alpha = 1000, F(99, 100), F(9, 10)
    formula = 2 * math.exp(-float(alpha**2 * gamma * n) / 10)
    assert theorems.smooth_delta(n, gamma, 1, math.log(19)).low > 1e20 * formula


@pytest.mark.parametrize(("gamma", "k", "alpha", "hypothesis"), [
    (F(99, 100), 1, F(9, 10), "gamma <= 1/2"), (F(1, 2), 30, F(1, 10), "k <= alpha gamma n / 2"), (F(1, 2), 1, F(1), "alpha < 1"),
])  # fmt: skip
def test_lemma_4_12_names_the_hypothesis_that_fails(gamma: Fraction, k: int, alpha: Fraction, hypothesis: str) -> None:
    raises(ValueError, re.escape(hypothesis), theorems.smoothness_of_binomial, 1000, gamma, k, alpha)


def test_the_loss_of_a_shift_by_k_has_the_factor_k() -> None:
    # Smooth noise makes the shift by k cost k epsilon, not epsilon.
    n, gamma, k, alpha = 4000, F(1, 2), 100, F(1, 10)
    epsilon, delta = theorems.smoothness_of_binomial(n, gamma, k, alpha)
    profile = ShiftProfile(n, gamma, k)
    assert profile.delta(k * epsilon.high).high <= delta.high
    assert profile.delta(epsilon.high).low > 0.8


def test_lemma_4_11_is_above_the_exact_vector() -> None:
    n, gamma, tau = 60, F(1, 2), 1
    smoothness = theorems.smoothness_of_binomial(n, gamma, 1, F(1, 2))
    epsilon, delta = theorems.smooth_noise_guarantee(*smoothness, sensitivity=2 * tau, incremental=1, smooth_to=1)
    assert vector_of(n, gamma, ((1, tau), (-1, tau))).delta(epsilon.high).high < delta.high
    with pytest.raises(ValueError, match="smooth to k >= 2"):
        theorems.smooth_noise_guarantee(*smoothness, sensitivity=2 * tau, incremental=2, smooth_to=1)


def test_the_smallest_gamma_is_certified_and_a_smaller_one_refused() -> None:
    for n, k, epsilon, delta in ((10**4, 1, 1.0, 1e-6), (10**9, 3, 0.1, 1e-12)):
        gamma = theorems.smallest_gamma(n, k, epsilon, delta)
        assert ShiftProfile(n, gamma, k).delta(epsilon).high <= delta
        assert ShiftProfile(n, gamma * (1 - F(1, 2**38)), k).delta(epsilon).high > delta
    raises(ValueError, "out of reach", theorems.smallest_gamma, 100, 50, 0.1, 1e-9)


def vector_of(n: int, gamma: Fraction, shifts: tuple[tuple[int, int], ...]) -> PrivacyProfile:
    """Counters with Bin(n, gamma) each, of which a user changes some."""
    return count_min.largest(n, gamma, count_min.replaced(n, gamma, shifts))


VECTORS = (((1, 1), (-1, 1)), ((1, 2), (-1, 1)), ((2, 1), (-1, 2)), ((-3, 1),))


@pytest.mark.parametrize("shifts", VECTORS)
@pytest.mark.parametrize(("n", "gamma"), [(3, F(1, 3)), slow(5, F(1, 2)), slow(4, F(4, 5))])
def test_a_vector_is_what_enumeration_of_all_joint_outcomes_gives(
    shifts: tuple[tuple[int, int], ...], n: int, gamma: Fraction
) -> None:
    counters = [pair(n, gamma, s) for s, times in shifts for _ in range(times)]
    outcomes = joint(*counters)
    profile = vector_of(n, gamma, shifts)
    for epsilon in (0.0, 0.2, 1.0, 4.0):
        c = F(math.exp(epsilon))
        truth = max(excess(outcomes, c), excess([(q, p) for p, q in outcomes], c))
        found = profile.delta(epsilon)
        assert found.rigour is Rigour.EXACT
        assert found.low <= truth * (1 + FLOAT_OF_EXP)
        assert truth <= F(found.high) * (1 + FLOAT_OF_EXP)
        # The lattice, which is there for larger ones, encloses the same number.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(count_min, "_EXACT_ATOMS", 0)
            count_min._largest.cache_clear()
            composed = vector_of(n, gamma, shifts).delta(epsilon)
        count_min._largest.cache_clear()
        assert composed.rigour is Rigour.INTERVAL
        assert composed.low <= truth * (1 + FLOAT_OF_EXP)
        assert truth <= F(composed.high) * (1 + FLOAT_OF_EXP)


def test_many_counters_are_near_normal_noise_and_below_one_long_shift() -> None:
    n, gamma, tau = 10**6, F(1, 10), 20
    vector = vector_of(n, gamma, ((1, tau), (-1, tau)))
    mu = math.sqrt(2 * tau / (n * gamma * (1 - gamma)))
    epsilon = 4 * mu
    normal = (math.erfc((4 - mu / 2) / math.sqrt(2)) - math.exp(epsilon) * math.erfc((4 + mu / 2) / math.sqrt(2))) / 2
    found = vector.delta(epsilon)
    assert found.relative_width < 0.03
    assert abs(found.high / normal - 1) < 0.05
    assert found.high < ShiftProfile(n, gamma, 2 * tau).delta(epsilon).low
    inverse = vector.epsilon(found.high)
    assert inverse.low <= epsilon * (1 + 1e-6)
    assert vector.delta(inverse.high).high <= found.high


HALF, MILLIONTH, ONE = Fraction(1, 2), Fraction(1, 10**6), theorems.Change.of_one_count(1)


def test_the_formula_gives_the_numbers_of_public_implementations() -> None:
    assert 0.6375 < theorems.cpsgd_epsilon(2000, HALF, ONE, MILLIONTH).high < 0.6376
    for p, fewest in ((HALF, 1483), (Fraction(1, 4), 1978)):
        met = [all(each.holds for each in theorems.cpsgd_hypotheses(n, p, ONE, MILLIONTH)) for n in (fewest - 1, fewest)]
        assert met == [False, True]


def test_every_sensitivity_and_the_dimension_has_its_own_term() -> None:
    # At p = 1/2: b = 1/3, c = 7 sqrt(2) / 4, d = 2/3, as draft-case-ppm-binomial-dp-01 prints them.
    delta, change, v = 1e-6, theorems.Change(5, 11, 3, 7), 500.0
    far, tail = math.log(1.25 / delta), math.log(10 / delta)
    first = math.sqrt(11 * 2 * far / v)
    second = (math.sqrt(11) * 7 * math.sqrt(2) / 4 * math.sqrt(tail) + 5 / 3) / (v * (1 - delta / 10))
    third = 3 * (2 / 3 * far + 2 / 3 * math.log(20 * 7 / delta) * tail) / v
    assert theorems.cpsgd_epsilon(2000, HALF, change, delta).high == pytest.approx(first + second + third, rel=1e-12)


@st.composite
def settings(draw: st.DrawFn) -> tuple[int, Fraction, int, Fraction]:
    """Coins whose printed epsilon is about 1 and less: most settings that are drawn at random have a larger one."""
    p, sensitivity = draw(st.fractions(Fraction(1, 200), HALF, max_denominator=1000)), draw(st.integers(1, 200))
    delta = draw(st.sampled_from([Fraction(9, 10), Fraction(1, 100), MILLIONTH, Fraction(1, 10**12)]))
    far, tail = math.log(1.25 / delta), math.log(20 / delta)
    variance = draw(st.integers(2, 200)) / 2 * sensitivity * (2 * sensitivity * far + 3 * tail**2)
    return 2000 + math.ceil(variance / (p * (1 - p))), p, sensitivity, delta


@given(settings())
@example((4 * 10**8, HALF, 1800, MILLIONTH))  # the first term is nearly all of it, and epsilon nearly 1
def test_where_its_hypotheses_are_met_and_it_is_at_most_one_it_is_never_below_the_exact_epsilon(
    setting: tuple[int, Fraction, int, Fraction],
) -> None:
    trials, p, sensitivity, delta = setting
    change = theorems.Change.of_one_count(sensitivity)
    assume(all(each.holds for each in theorems.cpsgd_hypotheses(trials, p, change, delta)))
    assume(theorems.cpsgd_epsilon(trials, p, change, delta).high <= 1)
    exact = ShiftProfile(trials, p, sensitivity).epsilon(delta)
    assert exact.high <= theorems.cpsgd_as_printed(trials, p, change, delta).low


def test_with_every_printed_hypothesis_met_it_fails_for_a_few_coins_that_are_counted_in_rationals() -> None:
    coins, shift, delta = 2000, 223, Fraction(1, 100)
    change, tails = theorems.Change.of_one_count(shift), list(accumulate(comb(coins, k) for k in range(coins, -1, -1)))
    assert all(each.holds for each in theorems.cpsgd_hypotheses(coins, HALF, change, delta))
    here, there = (Fraction(tails[coins - 1226 + moved], 2**coins) for moved in (shift, 0))
    # e**51.1 = (e**5.11)**10 <= 165.68**10
    assert theorems.cpsgd_epsilon(coins, HALF, change, delta).high < 51.1
    assert here - Fraction("165.68") ** 10 * there > 42 * delta
    profile = ShiftProfile(coins, HALF, shift)
    standings = {row.name: row.standing for row in published(profile, delta, profile.epsilon(delta))}
    assert standings["cpSGD binomial mechanism"] is Standing.FAILS


def test_where_its_epsilon_exceeds_one_it_may_be_below_the_truth() -> None:
    trials, sensitivity, delta = 4 * 10**8, 20_000, Fraction(1, 10**6)
    change = theorems.Change.of_one_count(sensitivity)
    assert all(each.holds for each in theorems.cpsgd_hypotheses(trials, HALF, change, delta))
    epsilon = theorems.cpsgd_epsilon(trials, HALF, change, delta).high
    assert 10 < epsilon < ShiftProfile(trials, HALF, sensitivity).epsilon(delta).low
    # One event, without our accountants: the noisy count is at least five standard deviations above the mean.
    event = trials // 2 + 63_000
    here, there = (float(binom.sf(event - 1 - shift, trials, 0.5)) for shift in (sensitivity, 0))
    assert here - math.exp(epsilon) * there > 2 * delta


@pytest.mark.parametrize(
    ("trials", "p", "sensitivity", "delta", "says"),
    [(2000, Fraction(3, 4), 1, MILLIONTH, "0 < p <= 1/2"), (2000, HALF, 1, Fraction(1), "0 < delta < 1"),
     (2000, Fraction(0), 1, MILLIONTH, "0 < p <= 1/2"),
     (1000, HALF, 1, MILLIONTH, "= 250 >= 23 ln"), (2000, HALF, 251, MILLIONTH, "= 500 >= 2 Delta_inf")],
)  # fmt: skip
def test_a_hypothesis_that_is_not_met_is_named(trials: int, p: Fraction, sensitivity: int, delta: Fraction, says: str) -> None:
    raises(ValueError, says, theorems.cpsgd_as_printed, trials, p, theorems.Change.of_one_count(sensitivity), delta)
