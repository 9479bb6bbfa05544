"""Votes that get lost: what is released, and what one round costs, against the law by counting."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from ldpaudit.accountants.sampling.theorems import triehh_delta, triehh_epsilon
from ldpaudit.accountants.sampling.thinned import ThinnedRound, thinned_release
from ldpaudit.accountants.sampling.thresholded import FixedBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.mechanisms._trie import Round


@pytest.mark.parametrize(
    ("holders", "share", "chance"),
    [(1500, Fraction(1), 0.9458), (1500, Fraction(4, 5), 0.7754), (2000, Fraction(1, 2), 0.548974), (1000, 1, 0.549307)],
)
def test_a_prefix_is_released_as_often_as_the_specification_says(holders: int, share: Fraction, chance: float) -> None:
    found = thinned_release(10**4, holders, 100, 10, share)
    assert found.relative_width < 1e-9
    assert found.high == pytest.approx(chance, abs=5e-5 if chance in (0.9458, 0.7754) else 5e-7)


def test_a_prefix_that_only_the_user_can_lift_costs_as_often_less_as_all_its_votes_arrive() -> None:
    whole, lossy = (ThinnedRound(10**4, 100, 10, share).one_prefix(math.inf).high for share in (Fraction(1), Fraction(4, 5)))
    assert lossy / whole == pytest.approx(0.8**10, rel=1e-12)


def laws(users: int, groups: tuple[int, ...], batch: int, theta: int, share: Fraction) -> dict[tuple[int, ...], Fraction]:
    """Law of the trie of one round; every group's vote is a word of its own, cast with probability `share`."""
    voters = tuple((((i, share),), n) for i, n in enumerate(groups) if n)
    each = Round(tuple(map(str, range(len(groups)))), voters, users - sum(groups), batch, theta)
    return each.law(counts=False)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, math.inf])
def test_no_data_set_costs_more_than_the_upper_end_and_one_prefix_as_much_as_the_lower(epsilon: float) -> None:
    n, m, theta, share = 8, 4, 2, Fraction(7, 10)
    c = Fraction(math.exp(min(epsilon, 600.0)))
    worst = Fraction(0)
    for own, *rest in product(range(n + 1), range(n + 1), range(n + 1)):
        if own + sum(rest) > n or rest[0] < rest[1]:
            continue
        p, q = laws(n + 1, (own + 1, *rest), m, theta, share), laws(n, (own, *rest), m, theta, share)
        for first, second in ((p, q), (q, p)):
            gains = (x - c * second.get(view, Fraction(0)) for view, x in first.items())
            worst = max(worst, sum((max(Fraction(0), gain) for gain in gains), Fraction(0)))
    found = ThinnedRound(n, m, theta, share).delta(epsilon)
    assert found.low * (1 - 1e-12) <= worst <= found.high * (1 + 1e-12)
    assert found.low > 0


def test_the_theorem_s_guarantee_holds_with_losses_and_nothing_changes_without() -> None:
    epsilon = triehh_epsilon(10**4, 100, 10, 1).low
    lossy = ThinnedRound(10**4, 100, 10, Fraction(4, 5)).delta(epsilon)
    assert lossy.high < triehh_delta(10)
    whole = ThinnedRound(10**4, 100, 10, Fraction(1)).delta(epsilon)
    assert (whole.low, whole.high) == pytest.approx((1.1562e-10, 3.860e-9), rel=1e-3)
    assert whole.high == pytest.approx(ThresholdProfile(FixedBatch(10**4, 100), 10).delta(epsilon).high, rel=1e-12)


def test_half_of_the_users_who_answer_make_the_theorem_s_epsilon_twice_as_large() -> None:
    found = [triehh_epsilon(users, 100, 10, 1).high for users in (10**4, 5_000)]
    assert found == pytest.approx([0.1054, 0.2231], abs=5e-5)


def test_a_share_outside_its_domain_is_named() -> None:
    with pytest.raises(ValueError, match="0 < share <= 1 is needed, got share=0"):
        thinned_release(10, 5, 4, 2, 0)
