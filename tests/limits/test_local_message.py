"""What one message may tell: the bound of an event, and the inequalities that the limits of accurate protocols use."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from ldpaudit.accountants.limits.information import LocalView
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure

F = Fraction


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_bound_of_one_event_is_the_one_of_the_proof(k: int) -> None:
    n, p, delta = 5, F(1, 3), F(1, 50)
    law = [comb(n - 1, j) * p**j * (1 - p) ** (n - 1 - j) for j in range(n)]
    with working_precision(96):
        found = Enclosure.of(LocalView(n, F(0), delta).at_least(p, k), source="the accountant")
        low = Enclosure.of(LocalView(n, F(0), delta).at_most(p, k), source="the accountant")
    assert p + delta / law[k - 1] in found
    assert p + delta / law[k] in low


@pytest.mark.parametrize("ratio", [F(3, 2), F(2), F(4)])
def test_at_the_bound_of_one_event_the_counts_differ_by_delta_in_either_order(ratio: Fraction) -> None:
    n, p, delta = 5, F(1, 9), F(1, 50)
    law = [comb(n - 1, j) * p**j * (1 - p) ** (n - 1 - j) for j in range(n)]
    for k in range(1, n):
        above, at, below = sum(law[k:], F(0)), law[k - 1], sum(law[:k], F(0))
        a = ratio * p + (delta + (ratio - 1) * above) / at
        assert above + a * at - ratio * (above + p * at) == delta
        low = 1 - (1 - p - (delta + (ratio - 1) * below) / law[k]) / ratio
        assert below + (1 - p) * law[k] - ratio * (below + (1 - low) * law[k]) == delta


def test_likelihood_ratios_are_seldom_large_where_laws_share_little_mass() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        laws = rng.dirichlet(np.full(12, 0.3), 5) + 1e-4
        laws /= laws.sum(axis=1, keepdims=True)
        mean, worst = laws.mean(axis=0), max((one / other).max() for one in laws for other in laws)
        ratios, eta = laws / mean, np.minimum(laws, laws.mean(axis=0)).sum(axis=1).mean()
        for bound in (worst, worst / 2, worst / 10):
            delta = max(np.maximum(one - bound * other, 0).sum() for one in laws for other in laws)
            for s in (1.0, 1.5, 3.0, 2 * bound):
                often = float((laws * (ratios >= s)).sum(axis=1).mean())
                assert often <= eta * (1 + bound / s) + delta + 1e-12
            assert float((laws * (ratios >= 2 * bound)).sum(axis=1).mean()) <= 2 * delta + 1e-12


def test_the_surprise_of_a_message_is_at_most_quadratic_and_at_most_a_logarithm_more_than_linear() -> None:
    for t in (*np.linspace(-0.999, 0, 50), *np.geomspace(1e-6, 1e6, 50)):
        surprise = (1 + t) * math.log1p(t)
        assert surprise <= (t + t * t) * (1 + 1e-12) + 1e-15
        assert t < 0 or surprise <= (t + t * math.log1p(t)) * (1 + 1e-12)
