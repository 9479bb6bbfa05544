"""What is printed of single-message protocols, beside numbers that were found in another way."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from ldpaudit import account
from ldpaudit.accountants.claims import randomized_response, unary_encoding
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Shuffle
from ldpaudit.studies import literature
from tests.claims.test_literature import printed_at

F = Fraction


def test_the_least_noise_lies_between_one_that_data_refute_and_one_that_is_certified() -> None:
    s = randomized_response.EXAMPLES[1]
    (needed,) = (each.found for each in printed_at("randomized_response", s) if "draws" in each.sentence)
    for gamma, end in ((needed.low, "low"), (needed.high, "high")):
        delta = account(Shuffle(KaryRandomizedResponse.with_uniform_draw(F(gamma), s.values), s.users)).delta(s.epsilon)
        assert (getattr(delta, end) > s.delta) is (end == "low")


def test_the_proof_s_bound_of_the_error_is_lambert_s_at_the_mean_of_a_poisson_law() -> None:
    rows = [each for s in unary_encoding.EXAMPLES for each in unary_encoding.error(s) if "Lambert" in each.sentence]
    assert [each.claimed for each in rows] == pytest.approx([785.7, 2941, 712.9], rel=2e-4)
    assert all(1 < each.looseness < 1.3 for each in rows)


@pytest.mark.parametrize(("epsilon0", "of_blanket"), [(0.1, 0.680), (0.5, 0.591), (1, 0.428), (3, 0.303)])
def test_the_constant_of_theorem_a_1_is_below_that_of_the_blanket_and_below_one(epsilon0: float, of_blanket: float) -> None:
    users, delta = 10**4, 1e-6
    assert epsilon0 <= math.log(users / math.log(1 / delta)) / 2
    found = account(Shuffle(KaryRandomizedResponse.for_epsilon(epsilon0, k=2), users)).epsilon(delta)
    c = found.high / (min(1, epsilon0) * math.exp(epsilon0) * math.sqrt(math.log(1 / delta) / users))
    assert 0.7 * of_blanket < c <= 1.001 * of_blanket


def test_an_error_is_simulated_where_all_users_hold_one_value() -> None:
    for module, stem in ((randomized_response, "randomized_response"), (unary_encoding, "unary_encoding")):
        setting = module.Setting(F(1), F(1, 10**6), 10**5, 200 if module is unary_encoding else 8)
        (claim,) = literature.accuracy(stem, setting)
        found = literature.measure(setting, claim, 60, seed=1)
        assert found.failures <= 3
        assert 1 < found.looseness < 3


def test_a_setting_that_the_closed_forms_are_not_about_is_refused() -> None:
    for module in (randomized_response, unary_encoding):
        for parameters in ((F(2), F(1, 10), 10**6, 4), (F(1), F(1, 10), 1, 4), (F(1), F(1, 10), 10**6, 4, F(1))):
            with pytest.raises(ValueError, match="needs"):
                module.Setting(*parameters)
