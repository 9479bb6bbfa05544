"""Pairs of laws in floats: what is taken together tells less where it is to bound from below, and more from above."""

from __future__ import annotations

import numpy as np
import pytest

from ldpaudit.accountants.aggregation.coordinate import Floats, Pair

RATIOS = np.exp(np.linspace(-3, 3, 400))
"""Among them those next to which groups begin and end."""


def pair_of(seed: int, size: int, empty: int) -> Pair:
    """Two random laws, of which each leaves out `empty` integers."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
    p[:empty], q[-empty:] = 0, 0
    order = np.argsort(-np.divide(p, q, out=np.full(size, np.inf), where=q > 0))
    return Pair(p[order], q[order], 0.0, 0.0)


def divergence(pair: Pair, x: Floats) -> Floats:
    return np.asarray(np.maximum(pair.p[:, None] - x * pair.q[:, None], 0).sum(axis=0))


@pytest.mark.parametrize("groups", [1, 4, 30, 200])
@pytest.mark.parametrize("seed", range(5))
def test_a_spread_pair_dominates_and_a_coarse_pair_is_dominated(seed: int, groups: int) -> None:
    pair = pair_of(seed, 300, 5)
    x = np.concatenate([RATIOS, pair.ratios[np.isfinite(pair.ratios) & (pair.ratios > 0)]])
    truth = divergence(pair, x)
    assert (pair.spread(groups).high(x) >= truth).all()
    assert (pair.coarse(groups).low(x) <= truth).all()
    assert len(pair.spread(groups).p) <= 2 * groups + 2


def test_a_spread_pair_is_near_where_groups_are_many() -> None:
    pair = pair_of(7, 4000, 5)
    assert (pair.spread(400).high(RATIOS) <= divergence(pair, RATIOS) + 1e-3).all()
    assert pair.spread(4000) is pair
    spread = pair.spread(50)
    assert spread.p[spread.q == 0].sum() == pytest.approx(pair.p[pair.q == 0].sum(), rel=1e-9)


def test_all_pairs_of_two_coordinates_are_both_together() -> None:
    first, second = pair_of(1, 20, 2), pair_of(2, 30, 3)
    both = first.product(second)
    p, q = (np.outer(getattr(first, side), getattr(second, side)).ravel() for side in "pq")
    truth = np.maximum(p[:, None] - RATIOS * q[:, None], 0).sum(axis=0)
    assert (both.low(RATIOS) <= truth).all()
    assert (truth <= both.high(RATIOS)).all()
    assert (both.high(RATIOS) - both.low(RATIOS) < 1e-11).all()
