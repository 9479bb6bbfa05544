"""What is printed of Laplace noise in general, against exact tails of few noises and simulated ones of more."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from ldpaudit.accountants.claims import laplace
from ldpaudit.accountants.claims.laplace import Setting
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.mechanisms.laplace import LaplaceHistogram


def test_theorem_2_10_is_judged_on_both_sides_of_n_b_where_a_float_can_say_it() -> None:
    few, many = (tuple(laplace.theorem_2_10(Setting(Fraction(1), Fraction(1), n, Fraction(1, 20)))) for n in (100, 10**6))
    assert [each.sentence.split(" b, ", 1)[1] for each in few[:-1]] == ["T <= n b", "T <= n b, at its end", "T > n b"]
    assert [math.log(each.claimed) for each in few[:-1]] == pytest.approx([-25 / 6, -100 / 6, -400 / 6])
    assert len(many) == 2
    assert math.log(many[0].claimed) == pytest.approx(-20, abs=0.01)


def test_the_tail_of_one_noise_is_below_what_is_found_of_it() -> None:
    *one_side, both = laplace.theorem_2_10(laplace.EXAMPLES[0])
    reaches = (Fraction(1, 2), Fraction(1), Fraction(4))
    for each, reach in zip(one_side, reaches, strict=True):
        assert f"T={reach} b" in each.sentence
        assert math.exp(-reach) / 2 <= each.found.high <= each.claimed
    assert math.exp(-math.sqrt(6) * math.log(40)) <= both.found.high


def test_a_sum_of_noises_exceeds_t_beta_no_more_often_than_found() -> None:
    s, rng = laplace.EXAMPLES[3], np.random.default_rng(11)
    sums = np.abs(rng.standard_gamma(s.users, 10**5) - rng.standard_gamma(s.users, 10**5))
    rate = np.mean(sums > math.sqrt(6 * s.users) * math.log(2 / s.beta))
    found = tuple(laplace.theorem_2_10(s))[-1].found.high
    assert rate <= found <= s.beta
    assert rate > 0.15, "so that a T_beta which is too large is seen"


@pytest.mark.parametrize("given", [{"users": 0}, {"beta": Fraction(1)}, {"epsilon": Fraction(0)}])
def test_a_setting_out_of_range_is_refused(given: dict[str, Fraction]) -> None:
    usual = {"epsilon": Fraction(1), "sensitivity": Fraction(1), "users": 3, "beta": Fraction(1, 2)}
    with pytest.raises(ValueError, match=r"needs|epsilon"):
        Setting(**{**usual, **given})  # type: ignore[arg-type]


def test_the_naive_histogram_is_private_where_one_entry_changes_and_costs_twice_as_much_where_a_value_is_replaced() -> None:
    s = laplace.Setting(Fraction(1), Fraction(1), 1000, Fraction(1, 20), 50)
    one, pure, at_one = laplace.naive_histogram(s)
    assert s.histogram == LaplaceHistogram(50, Fraction(1))
    assert one.standing is Standing.HOLDS
    assert one.found.low == one.found.high == 1
    assert pure.standing is at_one.standing is Standing.VARIANT
    assert pure.found.low == pure.found.high == 2
    assert at_one.found.high == pytest.approx(0.24183667535920822, rel=1e-15)
    # By hand: two coordinates; given one's loss, the other's delta is known.
    inside = integrate.quad(lambda loss: math.exp(-(1 - loss) / 2) / 4 * -math.expm1((1 - loss - 1) / 2), 0, 1)[0]
    assert at_one.found.high == pytest.approx(inside - math.expm1(-0.5) / 2, rel=1e-9)
