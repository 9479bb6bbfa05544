"""What GGKPV prints of Algorithm 1, at its own parameters."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldpaudit import account
from ldpaudit.accountants.claims.shuffled_hadamard import (
    EXAMPLES,
    Setting,
    accuracy,
    failure,
    sufficient_rho,
)
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard

LEVEL = 1e-6
"""Of tests on samples with fixed seeds."""


@pytest.mark.parametrize("parameters", [(0, 0.1), (1, 0), (1, 1)])
def test_the_printed_parameters_need_a_promise(parameters: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="need"):
        ShuffledHadamard.as_printed(*parameters, users=4, domain=4)


@pytest.mark.parametrize(
    "change", [{"epsilon": Fraction(0)}, {"delta": Fraction(1)}, {"domain": 6}, {"k": 0}, {"beta": Fraction(1)}]
)
def test_settings_outside_the_domain_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="need"):
        replace(EXAMPLES[0], **change)


@pytest.mark.parametrize(("epsilon", "delta", "k"), [(1.0, 1e-6, 1), (0.25, 1e-12, 1), (0.9, 1e-3, 4)])
def test_the_printed_blanket_is_the_lemmas(epsilon: float, delta: float, k: int) -> None:
    m = ShuffledHadamard.as_printed(epsilon, delta, users=1 << 13, domain=64, k=k)
    assert m.rho == math.ceil(36 * k * k * math.log(math.e * k / (epsilon * delta)) / epsilon**2)
    assert m.tau == 13


@pytest.mark.parametrize(
    ("s", "rho", "ratio"),
    [(Setting(Fraction(1), Fraction(1, 10**6), 1 << 20, 1 << 10), 43, 12.4),
     (Setting(Fraction(1, 2), Fraction(1, 10**9), 1 << 14, 1 << 16), 239, 13.5),
     (Setting(Fraction(1, 10), Fraction(1, 10**6), 1 << 16, 1 << 8), 2_642, 23.3)],
)  # fmt: skip
def test_a_twelfth_of_the_printed_blanket_is_enough(s: Setting, rho: int, ratio: float) -> None:
    found = sufficient_rho(s)
    assert found.low == found.high == rho
    assert s.mechanism.rho / found.high == pytest.approx(ratio, abs=0.1)
    enough, less = (account(replace(s.mechanism, rho=r)).delta(s.epsilon) for r in (rho, rho - 1))
    assert enough.high <= s.delta < less.low


def test_the_failure_of_an_estimate_is_two_binomial_tails() -> None:
    m = ShuffledHadamard(users=64, domain=8, tau=6, rho=20)
    trials, p = 64 * 21, 1 / 64
    reached = 10.05 * (1 - p)
    above, below = math.floor(trials * p + reached), math.ceil(trials * p - reached) - 1
    truth = stats.binom.sf(above, trials, p) + stats.binom.cdf(below, trials, p)
    assert failure(m, 10.05).high == pytest.approx(truth, rel=1e-9)
    rng, data = np.random.default_rng(7), np.zeros(64, dtype=int)
    off = sum(abs(m.run(data, rng)[5]) > 10.05 for _ in range(800))
    assert stats.binomtest(off, 800, truth).pvalue > LEVEL


@pytest.mark.parametrize("k", [1, 3])
def test_the_printed_errors_are_exceeded_no_more_often(k: int) -> None:
    s = Setting(Fraction(1), Fraction(1, 100), 256, 32, k=k)
    rng = np.random.default_rng(8)
    for claim in accuracy(s):
        data = [claim.data(rng) for _ in range(60)]
        errors = [claim.error(x, s.mechanism.run(x, rng)) for x in data]
        assert stats.binom.sf(sum(e > claim.alpha for e in errors) - 1, 60, claim.beta) > LEVEL
        assert max(errors) > claim.alpha / 10
