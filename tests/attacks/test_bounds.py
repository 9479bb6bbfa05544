"""The engine's bounds: exact on a fixed sample, valid at every stopping time, at every delta; by enumeration."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import flint
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy import special, stats

from ldpaudit.attacks.bounds import binomial, nuisance
from ldpaudit.attacks.bounds.binomial import BinomialTest
from ldpaudit.attacks.bounds.counts import Counts, LevelTest, logit_share
from ldpaudit.attacks.bounds.e_process import EProcess
from ldpaudit.attacks.bounds.level import POWER, detectable, level_test
from ldpaudit.attacks.bounds.nuisance import NuisanceTest
from ldpaudit.evidence import Mode

ALPHA = 0.05
HAIR = 1e-9
"""Relative error of sums of floats that stand for exact probabilities."""
CROWDED = 1e-6
"""Relative error of an inversion of scipy's, at up to 1e9 guesses."""
MODES = tuple(Mode)
INPUTS = (2, 5)
ODDS = (Fraction(1), Fraction(4, 3), Fraction(3), Fraction(20))
"""e**epsilon."""


def share(epsilon: float, inputs: int) -> float:
    return float(special.expit(logit_share(epsilon, inputs)))


def epsilon_of(odds: Fraction) -> float:
    """Its logarithm, the next float above."""
    return math.nextafter(math.log(odds), math.inf)


def exact_tail(right: int, wrong: int, epsilon: float, inputs: int) -> float:
    """P[Binomial(right + wrong, share) >= right] in balls."""
    with flint.ctx.workprec(200):
        odds = flint.arb(epsilon).exp() / (inputs - 1)
        return float((odds / (1 + odds)).beta_lower(right, wrong + 1, regularized=True).mid())


counts = st.builds(lambda r, w: Counts(r, w, r + w), st.integers(1, 10**6), st.integers(0, 10**6))
levels = st.sampled_from([0.5, 0.05, 1e-3, 1e-9, 1e-12])


@given(counts, levels, st.sampled_from([2, 3, 100]))
def test_the_fixed_bound_is_the_exact_inversion_and_errs_to_the_safe_side(c: Counts, alpha: float, inputs: int) -> None:
    bound = BinomialTest(inputs, alpha).epsilon_lower(c)
    if bound > 0:
        assert alpha * (1 - CROWDED) <= exact_tail(c.right, c.wrong, bound, inputs) <= alpha
    else:
        assert exact_tail(c.right, c.wrong, 1e-12, inputs) >= alpha * (1 - CROWDED)


@pytest.mark.parametrize(("right", "wrong"), [(731_058_579, 268_941_421), (999_990_000, 10_000), (26_700_000, 973_300_000)])
def test_the_fixed_bound_errs_to_the_safe_side_at_1e9_guesses(right: int, wrong: int) -> None:
    inputs = 100 if right < wrong else 2
    for alpha in (0.05, 1e-12):
        bound = BinomialTest(inputs, alpha).epsilon_lower(Counts(right, wrong, 10**9))
        assert alpha * (1 - 10 * CROWDED) <= exact_tail(right, wrong, bound, inputs) <= alpha


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("odds", ODDS, ids=str)
def test_the_fixed_test_is_the_largest_of_its_level_for_every_number_of_guesses(inputs: int, odds: Fraction) -> None:
    p, epsilon, alpha = odds / (odds + inputs - 1), epsilon_of(odds), Fraction(1, 20)
    refuting = BinomialTest(inputs, float(alpha))
    for n in range(1, 31):
        law = [math.comb(n, r) * p**r * (1 - p) ** (n - r) for r in range(n + 1)]
        refuted = [r for r in range(n + 1) if refuting.refutes(Counts(r, n - r, n), epsilon)]
        assert refuted == list(range(n + 1 - len(refuted), n + 1))
        size = sum((law[r] for r in refuted), Fraction(0))
        assert size <= alpha < size + law[n - len(refuted)]


@lru_cache(maxsize=2)
def multinomials(n: int) -> dict[tuple[int, int], int]:
    return {(r, w): math.comb(n, r) * math.comb(n - r, w) for r in range(n + 1) for w in range(n + 1 - r)}


@pytest.mark.parametrize(("inputs", "delta"), [(2, Fraction(1, 20)), (2, Fraction(1, 5)), (5, Fraction(1, 100))])
@pytest.mark.parametrize("odds", [ODDS[0], ODDS[1], ODDS[2]], ids=str)
def test_the_test_at_positive_delta_holds_whatever_a_wrong_guess_costs(inputs: int, delta: Fraction, odds: Fraction) -> None:
    n, c, alpha = 14, odds / (inputs - 1), Fraction(1, 5)
    refuting = NuisanceTest(inputs, float(delta), float(alpha))
    refuted = {(r, w) for r, w in multinomials(n) if refuting.refutes(Counts(r, w, n), epsilon_of(odds))}
    assert refuted, "a test that never refutes shows nothing"
    sizes = []
    for step in range(31):
        wrong = (1 - delta) / (1 + c) * step / 30
        right = c * wrong + delta
        rest = 1 - right - wrong
        sizes.append(sum(multinomials(n)[r, w] * right**r * wrong**w * rest ** (n - r - w) for r, w in refuted))
    # Counts are few: the worst case comes near the level, but does not reach it.
    assert alpha / 10 < max(sizes) <= alpha


@pytest.mark.parametrize("scale", [10**4, 10**6])
@pytest.mark.parametrize("alpha", [ALPHA, 1e-9])
def test_the_bound_at_positive_delta_is_the_pure_one_as_delta_vanishes(scale: int, alpha: float) -> None:
    c = Counts(round(0.3 * scale), round(0.1 * scale), scale)
    pure, small = BinomialTest(2, alpha).epsilon_lower(c), NuisanceTest(2, 1e-13, alpha).epsilon_lower(c)
    slack = 0.05 * (math.log(3) - pure)
    assert pure - slack <= small <= pure + slack


@given(st.integers(1, 3_000), st.floats(1e-4, 0.9), st.floats(-8, 8))
def test_tails_are_bounded_from_above(n: int, p: float, deviation: float) -> None:
    count = min(n, max(1, round(n * p + deviation * math.sqrt(n * p * (1 - p)))))
    with flint.ctx.workprec(200):
        at_least = flint.arb(p).beta_lower(count, n - count + 1, regularized=True)
        at_most = 1 - flint.arb(p).beta_lower(count + 1, n - count, regularized=True) if count < n else flint.arb(1)
        exact = [float(tail.mid()) for tail in (at_least, at_most, at_least + at_most - 1)]
    chance = np.array([p])
    found = (
        nuisance._at_least(np.array([[float(count)]]), np.array([[n]]), chance)[0, 0],
        nuisance._at_most(np.array([count]), n, chance)[0, 0],
        nuisance._mass(np.array([[count]]), n, chance)[0, 0],
    )
    assert all(bound >= tail for bound, tail in zip(found, exact, strict=True))


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_the_wealth_is_a_supermartingale_after_every_short_history(inputs: int, delta: float, epsilon: float) -> None:
    bets = ((), (2.0,), (1.2, 0.4, 3.0)) if not delta else ((), (0.02,), (0.01, 0.1))
    r, w, a = np.array(list(itertools.product(range(6), repeat=3))).T
    odds = math.exp(epsilon) / (inputs - 1)
    for own in bets:
        test = EProcess(inputs, delta, ALPHA, own)
        now = np.exp(test.log_value(r, w, r + w + a, epsilon))
        after = [np.exp(test.log_value(r + x, w + y, r + w + a + 1, epsilon)) for x, y in ((1, 0), (0, 1), (0, 0))]
        for wrong in np.linspace(0, (1 - delta) / (1 + odds), 7):
            right = odds * wrong + delta
            mean = right * after[0] + wrong * after[1] + (1 - right - wrong) * after[2]
            assert np.all(mean <= now * (1 + HAIR))
        assert 0 < now[0] <= 1


@pytest.mark.parametrize("inputs", INPUTS)
def test_a_true_claim_is_ever_refuted_with_probability_alpha_at_most(inputs: int) -> None:
    epsilon, alpha, horizon = 1.0, 0.2, 300
    test, p = EProcess(inputs, 0.0, alpha, (1.5, 1.0)), share(epsilon, inputs)
    alive, refuted = np.array([1.0]), 0.0
    for guesses in range(1, horizon + 1):
        alive = np.append(alive, 0) * (1 - p) + np.append(0, alive) * p
        right = np.arange(guesses + 1)
        out = test.log_value(right, guesses - right, guesses, epsilon) >= -math.log(alpha)
        refuted += float(alive[out].sum())
        alive = np.where(out, 0.0, alive)
    assert 0.02 < refuted <= alpha


@pytest.mark.parametrize("wrong", [0.0, 0.05, 0.2])
def test_at_positive_delta_too_whatever_a_wrong_guess_costs(wrong: float) -> None:
    epsilon, delta, alpha, horizon = 1.0, 0.05, 0.5, 60
    right = math.e * wrong + delta
    test, alive, refuted = EProcess(2, delta, alpha, (0.3,)), np.zeros((horizon + 2, horizon + 2)), 0.0
    alive[0, 0] = 1.0
    r, w = np.indices(alive.shape)
    for views in range(1, horizon + 1):
        moved = alive * (1 - right - wrong)
        moved[1:] += alive[:-1] * right
        moved[:, 1:] += alive[:, :-1] * wrong
        seen = r + w <= views
        wealth = test.log_value(np.where(seen, r, 0), np.where(seen, w, 0), views, epsilon)
        out = seen & (wealth >= -math.log(alpha))
        refuted += float(moved[out].sum())
        alive = np.where(out, 0.0, moved)
    assert 0.01 < refuted <= alpha


@given(counts, st.floats(0, 8), st.sampled_from(INPUTS))
def test_a_p_value_is_never_below_the_exact_tail(c: Counts, epsilon: float, inputs: int) -> None:
    with flint.ctx.workprec(200):
        odds = flint.arb(epsilon).exp()
        exact = (odds / (odds + inputs - 1)).beta_lower(c.right, c.wrong + 1, regularized=True) if c.right else flint.arb(1)
        assert not flint.arb(BinomialTest(inputs, ALPHA).p_value(c, epsilon)) < exact


@given(counts, st.integers(0, 10**6), st.sampled_from([0.0, 1e-3]), st.sampled_from(MODES), st.sampled_from(INPUTS))
def test_the_p_value_is_at_most_alpha_where_the_bound_exceeds_epsilon_and_only_there(
    c: Counts, abstained: int, delta: float, mode: Mode, inputs: int
) -> None:
    c = replace(c, trials=c.trials + abstained)
    test = level_test(mode, inputs, delta, inputs, ALPHA, () if delta else (1.0,))
    bound = test.epsilon_lower(c)
    # NuisanceTest finds a p-value to 5 % or so, from above: what that costs is a small part of a standard error.
    coarse = isinstance(test, NuisanceTest)
    below = bound * (1 - 1e-6) - (0.1 / math.sqrt(1 + min(c.right, c.wrong)) if coarse else 0)
    if below > 0:
        assert test.p_value(c, below) <= ALPHA * (1 + CROWDED)
        assert test.refutes(c, below)
    above = bound + max(0.1 * bound, 0.1) if coarse else bound * (1 + 1e-7) + 1e-9
    assert test.p_value(c, above) >= ALPHA * (0.9 if coarse else 1 - 1e-6)


@given(counts, st.integers(1, 1000), st.sampled_from([0.0, 1e-3]), st.sampled_from(MODES), st.sampled_from(INPUTS))
def test_the_bound_grows_with_right_guesses_and_falls_with_wrong_ones(
    c: Counts, more: int, delta: float, mode: Mode, inputs: int
) -> None:
    c = replace(c, trials=c.trials + 2000)
    test = level_test(mode, inputs, delta, inputs, ALPHA, () if delta else (1.0,))
    slack = 0.02 if isinstance(test, NuisanceTest) else 1e-7  # what it leaves on the table
    bound = test.epsilon_lower(c)
    assert test.epsilon_lower(replace(c, right=c.right + more)) >= bound * (1 - slack)
    if mode is Mode.FIXED:  # a mixture may learn from a wrong guess that it bet too high
        assert test.epsilon_lower(replace(c, wrong=c.wrong + more)) <= bound * (1 + slack) + slack


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3])
def test_confidence_goes_down_to_a_failure_in_1e12(mode: Mode, delta: float) -> None:
    c = Counts(80_000, 20_000, 10**6)
    weak, strong = (level_test(mode, 2, delta, 2, a, ()).epsilon_lower(c) for a in (0.05, 1 - (1 - 1e-12)))
    assert 1.3 < strong < weak < math.log(4)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("inputs", INPUTS)
def test_delta_is_allowed_once_for_each_input_that_is_guessed_of_all(mode: Mode, inputs: int) -> None:
    c = Counts(400, 30, 2_000)
    one, every, none = (level_test(mode, inputs, delta, directions, ALPHA, ()).epsilon_lower(c)
                        for delta, directions in ((0.02 * inputs, 1), (0.02, inputs), (0.0, inputs)))  # fmt: skip
    test = NuisanceTest(inputs, 0.02, ALPHA) if mode is Mode.FIXED else EProcess(inputs, 0.02, ALPHA, ())
    assert one == every == test.epsilon_lower(c) < none


@pytest.mark.parametrize("inputs", INPUTS)
def test_a_single_look_is_exact_and_looks_all_the_time_cost_a_part_of_its_bound(inputs: int) -> None:
    c, guesses = Counts(400, 100, 2_000), 500
    once = level_test(Mode.FIXED, inputs, 0.0, inputs, ALPHA, ())
    ever = level_test(Mode.SEQUENTIAL, inputs, 0.0, inputs, ALPHA, (1.5,))
    assert share(once.epsilon_lower(c), inputs) == pytest.approx(special.betaincinv(c.right, c.wrong + 1, ALPHA))
    assert 0 < ever.epsilon_lower(c) < once.epsilon_lower(c)
    law = stats.binom.pmf(np.arange(guesses + 1), guesses, share(1.0, inputs))
    chance = float(law[refuting(once, guesses, 2_000, 1.0)].sum())
    assert ALPHA / 2 < chance <= ALPHA
    assert 0 < law[refuting(ever, guesses, 2_000, 1.0)].sum() < chance


def refuting(test: LevelTest, guesses: int, trials: int, claimed: float) -> NDArray[np.bool_]:
    """For each number of right guesses."""
    return np.array([test.refutes(Counts(r, guesses - r, trials), claimed) for r in range(guesses + 1)])


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("sequential", [False, True])
def test_what_is_detectable_is_detected_with_the_stated_power(inputs: int, sequential: bool) -> None:
    c, claimed = Counts(880, 320, 2_000), 1.0
    test: LevelTest = EProcess(inputs, 0.0, ALPHA, (1.1,)) if sequential else BinomialTest(inputs, ALPHA)
    found = detectable(test, c, inputs, 0.0, claimed)
    assert found is not None
    least = int(np.argmax(refuting(test, 1_200, 2_000, claimed)))
    assert POWER - 0.001 <= special.betainc(least, 1_200 - least + 1, share(found, inputs)) <= POWER + 0.01


@given(st.integers(0, 500), st.integers(0, 500), st.floats(1e-3, 0.3), st.sampled_from(INPUTS))
def test_the_fast_bound_at_positive_delta_only_compares_but_holds(right: int, wrong: int, delta: float, inputs: int) -> None:
    c = Counts(right, wrong, 1_000)
    fast = float(binomial.epsilon_lower(right, wrong, 1_000, delta, ALPHA, inputs))
    assert fast <= NuisanceTest(inputs, delta, ALPHA).epsilon_lower(c) * 1.02 + 0.02


@pytest.mark.parametrize("delta", [0.0, 1e-9, 0.1])
def test_claims_near_the_largest_float_are_tested_without_a_warning(delta: float) -> None:
    test = EProcess(2, delta, ALPHA, (1.0, 5.0))
    assert not any(test.refutes(Counts(100, 3, 200), epsilon) for epsilon in (700.0, 705.0, 709.0, 709.7, 710.0, 1e4))
