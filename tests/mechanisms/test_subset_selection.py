"""Subset selection: its sizes, and the subsets that it draws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest
from scipy import stats

from ldpaudit import account
from ldpaudit.accountants.claims import subset_selection as claims
from ldpaudit.mechanisms.shared.coins import uniform_subset
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.proofs.subset_selection import prove
from tests.helpers import proved

LEVEL = 1e-9


@pytest.mark.parametrize(("k", "d"), [(1, 0), (1, 1), (5, 0), (6, 2), (6, 5), (4, 4)])
def test_every_subset_of_the_size_is_equally_likely(k: int, d: int) -> None:
    rows = uniform_subset(k, d, 40_000, np.random.default_rng(4))
    seen = Counter(map(tuple, rows.tolist()))
    assert set(map(sum, seen)) == {d}
    assert len(seen) == comb(k, d)
    if len(seen) > 1:
        assert stats.chisquare(list(seen.values())).pvalue > LEVEL


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_no_other_size_estimates_better_than_the_optimal_one(epsilon: float) -> None:
    k = 20
    best = SubsetSelection.optimal(epsilon, k)
    sizes = [SubsetSelection.for_epsilon(epsilon, k, d) for d in range(1, k)]
    assert best._variance() == min(m._variance() for m in sizes)
    assert abs(best.d - k / (exp(epsilon) + 1)) <= 1


def test_the_variance_that_the_size_is_chosen_by_is_that_of_the_estimate() -> None:
    m, rng = SubsetSelection.optimal(1.0, k=6), np.random.default_rng(6)
    one = np.array([m.estimate(view[None]) for view in m.sample(2, 50_000, rng)])
    assert one.var(axis=0).sum() == pytest.approx(float(m._variance()), rel=0.03)


def test_the_proof_proves_what_the_accountant_finds() -> None:
    (proof,) = proved(prove)
    m = SubsetSelection(9, 4, Fraction(2, 3))
    assert proof.at(m) == [(Fraction(1), Fraction(5, 2), False)]
    assert account(m).epsilon(0).low == pytest.approx(np.log(2.5))


@pytest.mark.parametrize(("k", "d", "p"), [(1, 1, 0.9), (4, 0, 0.9), (4, 4, 1), (4, 2, 0.4), (4, 2, 1)])
def test_parameters_outside_the_domain_are_refused(k: int, d: int, p: float) -> None:
    with pytest.raises(ValueError, match="needs"):
        SubsetSelection(k, d, Fraction(p))


def test_two_users_reveal_three_sixteenths_at_log_two_where_three_reveal_nine_sixty_fourths() -> None:
    (found,) = claims.printed(claims.Setting(users=3, active=2))
    assert found.claimed == pytest.approx(9 / 64, rel=1e-12)
    assert found.found.low == pytest.approx(3 / 16, rel=1e-12)
    # By hand: the least number of ones, P - 2 Q, among binary responses with p = 3/4 of which one is user 1's.
    for users, value in ((3, Fraction(9, 64)), (2, Fraction(3, 16))):
        p, best = Fraction(3, 4), Fraction(0)
        for hold in range(users):  # how many others hold 1
            laws = []
            for own in (p, 1 - p):
                law = {0: Fraction(1)}
                for chance in [own] + [p] * hold + [1 - p] * (users - 1 - hold):
                    law = {n: law.get(n, 0) * (1 - chance) + law.get(n - 1, 0) * chance for n in range(len(law) + 1)}
                laws.append(law)
            best = max(best, *(sum((max(a[n] - 2 * b[n], Fraction(0)) for n in a), Fraction(0)) for a, b in (laws, laws[::-1])))
        assert best == value
