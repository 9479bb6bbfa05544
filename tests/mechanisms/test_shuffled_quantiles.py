"""Quantiles over prefix counts: their loss, their rank, their order, and what they cost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit import account
from ldpaudit.accountants.claims.shuffled_quantiles import loss_bound, prefix_error
from ldpaudit.mechanisms.range_queries import RangeQueries
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.proofs.shuffled_quantiles import prove
from tests.helpers import proved

F = Fraction
SHARES = (F(1, 10), F(1, 2), F(9, 10))


def loss(data: np.ndarray[Any, Any], y: float, share: float) -> float:
    above = np.maximum(data - y, 0).sum()
    return float(share * above + (1 - share) * np.maximum(y - data, 0).sum())


def test_quantiles_of_known_counts_are_midpoints_of_the_first_cell_that_reaches_them() -> None:
    m = ShuffledQuantiles(users=10, cells=8, tau=2, rho=1)
    prefixes = np.cumsum([1, 0, 3, 2, 0, 0, 4, 0]).astype(float)
    assert [m.quantile(prefixes, share) for share in SHARES] == [0.0625, 0.4375, 0.8125]


def test_a_number_lies_in_the_cell_that_ends_at_or_after_it() -> None:
    m = ShuffledQuantiles(users=5, cells=4, tau=2, rho=1)
    assert m.cell([0, 0.25, 0.26, 0.5, 1]).tolist() == [0, 0, 1, 1, 3]
    assert m.truth([0, 0.25, 0.26, 0.5, 1]).tolist() == [2, 4, 4, 5]


@given(
    st.integers(2, 9),
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.floats(0, 4),
    st.sampled_from(SHARES),
    st.integers(0, 2**32),
)
def test_the_loss_and_the_rank_are_within_their_bounds_for_any_noise(
    cells: int, numbers: list[float], alpha: float, share: Fraction, seed: int
) -> None:
    m, data = ShuffledQuantiles(len(numbers), cells, 2, 1), np.array(numbers)
    truth, rng = m.truth(data), np.random.default_rng(seed)
    noisy = truth + alpha * rng.choice([-1, 1, 0.5], cells)
    noisy[-1] = len(data)
    found = m.quantile(noisy, share)
    least = min(loss(data, y, float(share)) for y in data)
    assert loss(data, found, float(share)) <= least + loss_bound(alpha, len(data), cells, share) + 1e-9
    cell, goal = round(found * cells - 0.5), float(share) * len(data)
    assert truth[cell] >= goal - alpha - 1e-9
    assert cell == 0 or truth[cell - 1] < goal + alpha + 1e-9


@given(st.integers(0, 2**32))
def test_a_larger_share_never_has_a_smaller_quantile(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, prefixes = ShuffledQuantiles(50, 16, 2, 1), rng.normal(25, 20, 16)
    prefixes[-1] = 50
    found = [m.quantile(prefixes, F(i, 20)) for i in range(1, 20)]
    assert found == sorted(found)


def test_quantiles_cost_what_the_range_queries_cost() -> None:
    m = ShuffledQuantiles(10**4, 1024, 14, 400)
    assert account(m).epsilon(1e-6) == account(RangeQueries(10**4, 1024, 14, 400)).epsilon(1e-6)


def test_a_million_users_have_their_median_within_the_certified_rank() -> None:
    m, rng = ShuffledQuantiles(10**6, 1 << 10, 20, 377), np.random.default_rng(4)
    data = rng.random(10**6) ** 3
    prefixes = m.run(data, rng)
    assert prefixes[-1] == 10**6
    alpha = prefix_error(m.ranges, F(1, 10**6)).high
    for share in SHARES:
        rank = np.count_nonzero(data <= m.quantile(prefixes, share) + 0.5 / m.cells)
        assert float(share) * 10**6 - alpha <= rank
        assert np.count_nonzero(data <= m.quantile(prefixes, share) - 0.5 / m.cells) <= float(share) * 10**6 + alpha


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ShuffledQuantiles(3, 1, 2, 2), "cells"),
        (lambda: ShuffledQuantiles(3, 4, 2, 2).run([0.5, 1.5], np.random.default_rng(0)), "in \\[0, 1\\]"),
        (lambda: ShuffledQuantiles(3, 4, 2, 2).run([float("nan")], np.random.default_rng(0)), "in \\[0, 1\\]"),
        (lambda: ShuffledQuantiles(3, 4, 2, 2).quantile(np.ones(4), 1), "0 < share < 1"),
        (lambda: ShuffledQuantiles(3, 4, 2, 2).sample(F(1, 2), 1, np.random.default_rng(0)), "input among"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error_of_one_line(make: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as found:
        make()
    assert len(str(found.value).splitlines()) == 1


def test_the_proofs_check_and_claim_no_epsilon_at_delta_0() -> None:
    assert all(p.steps and p.at(ShuffledQuantiles(2, 4, 1, 1)) is None for p in proved(prove))
