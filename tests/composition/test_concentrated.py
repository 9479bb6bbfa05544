"""Guarantees by rho and by mu: what follows from them, and what does not."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit import Aggregate, Claim, Compose, Guarantee, PostProcess, Repeat, Shuffle, Subsample, Unsupported, account
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import REPLACE_ONE, group

RHO = Fraction(10_000, 85_402) ** 2
REFERENCE = 0.9550778212604361106519889640168
"""Epsilon at delta = 1e-9 of 1/8.5402**2-zCDP; from 300 bits."""
DIGITS = 1e-14
"""Of a float."""
SHARP = 1e-12
"""Relative: an order that floats find is as good as the best one to their last digits."""
LEAST = sys.float_info.min
NEAR = 0.02
"""Of an exponent, between the best order and the next one of a grid."""
COIN = KaryRandomizedResponse(2, Fraction(3, 4))


def from_above(found: Enclosure, truth: float, close: float = SHARP) -> bool:
    """Whether only the upper end says anything, and is the truth."""
    return found.low == 0 and truth * (1 - DIGITS) <= found.high <= truth * (1 + close)


def test_the_conversion_of_a_rho_is_the_best_of_all_orders() -> None:
    assert from_above(account(Guarantee(rho=RHO)).epsilon(Fraction(1, 10**9)), REFERENCE)
    assert from_above(account(Guarantee(rho=RHO)).delta(REFERENCE), 1e-9)


@given(rho=st.fractions(Fraction(1, 1000), 20, max_denominator=1000), epsilon=st.fractions(0, 30, max_denominator=100))
def test_no_order_converts_a_rho_better(rho: Fraction, epsilon: Fraction) -> None:
    found = account(Guarantee(rho=rho)).delta(epsilon).high
    with mpmath.workdps(40):
        r, e = (mpmath.mpf(each.numerator) / each.denominator for each in (rho, epsilon))
        orders = [1 + mpmath.mpf(2) ** (mpmath.mpf(k) / 4) for k in range(-60, 60)]
        each = [mpmath.exp((a - 1) * (a * r - e)) / (a - 1) * (1 - 1 / a) ** a for a in orders]
        assert found <= max(min(each) * (1 + SHARP), LEAST)
        # The grid's orders are 19 % apart, and an exponent is quadratic next to its least value.
        assert (
            mpmath.log(found) >= mpmath.log(min(1, *each)) * (1 + NEAR) - NEAR if found > LEAST else min(each) < LEAST
        )


@given(mu=st.fractions(Fraction(1, 10), 3, max_denominator=20), epsilon=st.fractions(0, 10, max_denominator=20))
def test_a_rho_and_a_mu_allow_what_gaussian_noise_does(mu: Fraction, epsilon: Fraction) -> None:
    truth = account(Gaussian(1 / mu)).delta(epsilon)
    assert account(Guarantee(rho=mu**2 / 2)).delta(epsilon).high >= truth.low
    worst = account(Guarantee(mu=mu)).delta(epsilon)
    assert (worst.low, worst.high) == (0.0, truth.high)


def test_rhos_add_and_so_do_squares_of_mu() -> None:
    at = Fraction(1, 10**6)
    twice = Compose([Guarantee(rho=Fraction(1, 50)), Repeat(Guarantee(rho=Fraction(1, 100)), 2)])
    assert account(twice).epsilon(at).high == account(Guarantee(rho=Fraction(1, 25))).epsilon(at).high
    both = Compose([Guarantee(mu=Fraction(3)), PostProcess(Guarantee(mu=Fraction(4)), "rounded")])
    assert account(Compose([Guarantee(mu=Fraction(3)), Guarantee(mu=Fraction(4))])).gdp().high == 5
    assert account(both).rho().high == 12.5
    assert account(both).epsilon(at).high >= account(Guarantee(mu=Fraction(5))).epsilon(at).high * (1 - SHARP)
    irrational = account(Repeat(Guarantee(mu=Fraction(1)), 2)).gdp().high
    assert Fraction(irrational) ** 2 >= 2
    assert irrational == pytest.approx(math.sqrt(2), rel=SHARP)


def test_a_part_with_a_rho_or_a_mu_composes_with_others() -> None:
    at = Fraction(1, 10**6)
    truth = account(Compose([Gaussian(Fraction(2)), COIN])).epsilon(at)
    for stated in (Guarantee(rho=Fraction(1, 8)), Guarantee(mu=Fraction(1, 2))):
        found = account(Compose([stated, COIN]), REPLACE_ONE)
        assert truth.low <= found.epsilon(at).high
        assert account(COIN).epsilon(at).low <= found.epsilon(at).low
        assert found.rho().high >= 0.125 + account(COIN).rho().low


def test_a_group_of_k_users_costs_k_times_mu_and_k_squared_times_rho() -> None:
    at = Fraction(1, 10**6)
    for one, three in ((Guarantee(rho=Fraction(1, 50)), Guarantee(rho=Fraction(9, 50))),
                       (Guarantee(mu=Fraction(1, 5)), Guarantee(mu=Fraction(3, 5)))):  # fmt: skip
        assert account(one, group(3)).epsilon(at).high == account(three).epsilon(at).high


def test_what_a_rho_and_a_mu_say_of_each_other() -> None:
    rho, mu = account(Guarantee(rho=Fraction(1, 2))), account(Guarantee(mu=Fraction(1)))
    assert (rho.rho().high, rho.renyi(3).high, rho.gdp().high, rho.epsilon(0).high) == (0.5, 1.5, math.inf, math.inf)
    assert (mu.rho().high, mu.renyi(3).high, mu.gdp().high, mu.epsilon(0).high) == (0.5, 1.5, 1.0, math.inf)
    assert mu.tradeoff(Fraction(1, 10)).high == pytest.approx(0.9)
    for nothing in (Guarantee(rho=Fraction(0)), Guarantee(mu=Fraction(0))):
        assert account(nothing).delta(0).high == 0
        assert account(Compose([nothing, COIN])).epsilon(0).high == account(COIN).epsilon(0).high


def test_extreme_rhos_are_bounded() -> None:
    for power in (-2000, 2000):
        profile = account(Guarantee(rho=Fraction(10) ** power))
        assert 0 <= profile.delta(1).high <= 1
        assert profile.epsilon(Fraction(1, 10**6)).high >= 0
    assert account(Guarantee(rho=Fraction(10) ** -2000)).delta(1).high < 1e-300


def test_no_shuffler_and_no_sum_hides_a_rho() -> None:
    for stated in (Guarantee(rho=Fraction(1, 50)), Guarantee(mu=Fraction(1, 5))):
        for plan in (Shuffle(stated, 100), Shuffle(Repeat(stated, 2), 100), Aggregate(stated, 100)):
            with pytest.raises(Unsupported):
                account(plan)
    one = account(Subsample(Guarantee(mu=Fraction(1, 5)), users=10, batch=1))
    truth = (
        account(Gaussian(Fraction(5))).delta(0).high
    )  # a delta of a sample of one is that of the whole, times the rate
    assert one.delta(0).high == pytest.approx(truth / 10)


def test_a_guarantee_says_one_thing_and_prints_as_it_is_written() -> None:
    shown = {
        Guarantee(Fraction(1)): "Guarantee(epsilon=Fraction(1, 1), delta=Fraction(0, 1))",
        Guarantee(Fraction(1), Fraction(1, 2)): "Guarantee(epsilon=Fraction(1, 1), delta=Fraction(1, 2))",
        Guarantee(rho=Fraction(1, 2)): "Guarantee(rho=Fraction(1, 2))",
        Guarantee(mu=Fraction(1, 2)): "Guarantee(mu=Fraction(1, 2))",
    }
    for guarantee, text in shown.items():
        assert repr(guarantee) == text
        assert eval(text) == guarantee
    assert len(shown) == 4
    with pytest.raises(TypeError, match="epsilon needs an int, a float or a Fraction"):
        Guarantee()
    for wrong in ({"epsilon": 1, "rho": 1}, {"rho": 1, "mu": 1}, {"rho": 1, "delta": Fraction(1, 2)}):
        with pytest.raises(TypeError, match="needs an epsilon, and a delta with it, or a rho, or a mu"):
            Guarantee(**wrong)
    for name in ("epsilon", "rho", "mu"):
        with pytest.raises(ValueError, match=f"Guarantee needs {name} >= 0"):
            Guarantee(**{name: Fraction(-1)})


def test_whoever_reads_only_epsilon_and_delta_of_a_rho_learns_nothing() -> None:
    stated = Guarantee(rho=Fraction(1, 2))
    assert (stated.epsilon, stated.delta) == (Fraction(0), Fraction(1))
    claim = Claim("c", stated, Fraction(1), Fraction(1, 10**6), REPLACE_ONE)
    assert claim.axioms == ("a part is 1/2-zero-concentrated differentially private",)
    assert not claim.restates
