"""Shuffled systems under add-remove, where the number of messages tells who is there."""

from __future__ import annotations

import math

import pytest

from ldpaudit import account
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.range_queries import HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from ldpaudit.neighbours import ADD_REMOVE


@pytest.mark.parametrize(
    "m",
    [
        RangeQueries(8, 4, tau=3, rho=3),
        HadamardRangeQueries(8, 4, tau=3, rho=3),
        ShuffledHeavyHitters(8, 4, tau=3, rho=3, threshold=2),
        ShuffledQuantiles(8, 4, tau=3, rho=3),
        SparseStatisticalQueries(8, 4, k=2, changed=1, tau=3, rho=3),
        ShuffledHadamard(8, 4, tau=3, rho=3, k=1),
    ],
    ids=lambda m: type(m).__name__,
)
def test_where_every_user_sends_as_many_messages_their_number_reveals_an_absent_user(m: Mechanism) -> None:
    found = account(m, ADD_REMOVE)
    assert (found.delta(30.0).low, found.epsilon(0.5).low) == (1, math.inf)
    assert found.delta(1).source == "the number of messages reveals that a user is absent"
