"""RAPPOR: the published formulas, reports without end, and signatures."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest

from ldpaudit import account, audit
from ldpaudit.accountants.composition import product as accounting
from ldpaudit.accountants.rappor import largest_differences
from ldpaudit.derivation import sum_of_terms
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanisms import rappor
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.proofs.rappor import prove
from tests.helpers import proved

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
DEPLOYED = [
    *(Rappor(bits, 2, HALF, p=QUARTER, q=1 - QUARTER) for bits in (8, 32, 128)),
    Rappor(16, 2, HALF, p=HALF, q=1 - QUARTER),
]


@pytest.mark.parametrize("m", DEPLOYED, ids=str)
def test_the_published_formulas_are_attained_in_the_deployments(m: Rappor) -> None:
    f, p, q, h = m.f, m.p, m.q, m.hashes
    one, zero = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
    report, lifetime = account(m).epsilon(0), account(m.lifetime()).epsilon(0)
    assert report.high == pytest.approx(h * np.log(float(one * (1 - zero) / (zero * (1 - one)))), rel=1e-12)
    assert lifetime.high == pytest.approx(2 * h * np.log(float((1 - f / 2) / (f / 2))), rel=1e-12)
    assert report.rigour is lifetime.rigour is Rigour.EXACT


@pytest.mark.parametrize("m", DEPLOYED, ids=str)
def test_what_is_proved_of_the_deployments_is_what_they_cost(m: Rappor) -> None:
    lifetime = account(m.lifetime()).epsilon(0).high
    for one, cost in ((m, account(m).epsilon(0).high), (replace(m, reports=3), lifetime), (m.lifetime(), lifetime)):
        costs = [sum_of_terms(t).high for t in (p.at(one) for p in proved(prove)) if t]
        assert min(costs) == pytest.approx(cost, rel=1e-12)
        assert max(costs) == pytest.approx(lifetime, rel=1e-12)


def test_chromiums_report_costs_two_log_25_ninths() -> None:
    assert account(DEPLOYED[1]).epsilon(0).high == pytest.approx(2 * np.log(25 / 9), rel=1e-14)


def test_more_reports_cost_more_and_never_more_than_the_lifetime() -> None:
    m = DEPLOYED[1]
    lifetime = account(m.lifetime())
    costs = [account(replace(m, reports=r)) for r in (1, 2, 5, 14, 15, 40, 400)]
    for epsilon in (0.5, 2.0, 4.0):
        deltas = [c.delta(epsilon) for c in costs]
        for fewer, more in pairwise(deltas):
            assert fewer.low <= more.high
        assert deltas[-1].high == pytest.approx(lifetime.delta(epsilon).high, rel=0.04)
        assert deltas[-1].low <= lifetime.delta(epsilon).high
    assert costs[-1].epsilon(0).high == pytest.approx(lifetime.epsilon(0).high, rel=1e-12)


def test_reports_beyond_the_exact_ones_are_enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    m = Rappor(8, 1, HALF, p=Fraction(2, 5), q=Fraction(3, 5), reports=12)
    exact = account(m)
    monkeypatch.setattr(accounting, "_REPORTS", 4)
    enclosed = account(m)
    assert exact.delta(1).rigour is Rigour.EXACT
    for epsilon in (0.0, 0.7, 1.5):
        e, truth = enclosed.delta(epsilon), exact.delta(epsilon)
        assert e.rigour is Rigour.INTERVAL
        assert e.low < truth.low <= truth.high < e.high


def test_without_permanent_noise_a_lifetime_shows_the_filter() -> None:
    m = replace(DEPLOYED[0], f=Fraction(0))
    assert account(m).epsilon(0).high == pytest.approx(4 * np.log(3))
    assert account(m.lifetime()).epsilon(0).low == np.inf
    assert account(m.lifetime()).delta(100).low == 1
    assert audit(m.lifetime(), trials=100_000).epsilon_lower > 9


@pytest.mark.parametrize(
    ("bits", "hashes", "domain"), [(4, 2, 6), (3, 2, 9), (8, 3, 40), (2, 2, 2), (2, 1, 2), (5, 4, 60)]
)
def test_differences_are_those_of_signatures_and_none_is_larger(bits: int, hashes: int, domain: int) -> None:
    m = PermanentRappor(bits, hashes, QUARTER, domain)
    signatures = {x: set(np.flatnonzero(m.signature(x)).tolist()) for x in m.inputs}
    for (a, b), (x, other) in m.differences.items():
        assert x != other
        assert (len(signatures[x] - signatures[other]), len(signatures[other] - signatures[x])) == (a, b)
    for x, other in permutations(m.inputs, 2):
        a, b = len(signatures[x] - signatures[other]), len(signatures[other] - signatures[x])
        assert any(c >= a and d >= b for c, d in m.differences)
        assert any(c >= a and d >= b for c, d in largest_differences(bits, hashes))


def test_a_domain_that_is_not_searched_is_enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    m = PermanentRappor(3, 2, QUARTER, domain=500)
    exact = account(m)
    monkeypatch.setattr(rappor, "SEARCHED", 2)
    monkeypatch.setattr("ldpaudit.accountants.rappor.SEARCHED", 2)
    enclosed = account(m)
    assert set(m.differences) != largest_differences(3, 2)
    assert enclosed.epsilon(0).rigour is Rigour.INTERVAL
    assert enclosed.epsilon(0).low < exact.epsilon(0).low <= exact.epsilon(0).high <= enclosed.epsilon(0).high


def test_it_refuses_parameters_outside_their_domain() -> None:
    for wrong in ({"f": Fraction(1)}, {"p": Fraction(3, 4)}, {"reports": 0}, {"hashes": 0}, {"bits": 1}):
        with pytest.raises(ValueError, match="Rappor needs"):
            replace(DEPLOYED[0], **wrong)
    with pytest.raises(ValueError, match="needs 1 <= hashes <= 1024"):
        PermanentRappor.for_epsilon(1, 8, 0)
    with pytest.raises(ValueError, match="needs 0 < q < 1"):
        Rappor.for_epsilon(9, 8, 1, f=HALF)  # more than the permanent response leaves
