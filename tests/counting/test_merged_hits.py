"""Replaced messages counted together: below the divergence of all multisets of messages, and next to the upper bound."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from ldpaudit.accountants import account
from ldpaudit.accountants.counting.merged_hits import MergedHits
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.range_queries import HadamardRangeQueries
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries

BITS = 3
"""Length of an index: rows 1 to 7."""

Kind = tuple[bool, ...]
"""Which rows a message speaks for."""


@cache
def kinds(tau: int, element: int) -> dict[Kind, float]:
    """Law of the kind of a message of this row, or of a random one for row 0: of all tuples of indices in its kernel."""
    found: Counter[Kind] = Counter()
    for message in product(range(1 << BITS), repeat=tau):
        spoken = tuple(all((index & row).bit_count() % 2 == 0 for index in message) for row in range(1, 1 << BITS))
        if element == 0 or spoken[element - 1]:
            found[spoken] += 1
    return {kind: n / found.total() for kind, n in found.items()}


def multisets(tau: int, elements: list[int]) -> dict[tuple[Kind, ...], float]:
    """Law of the multiset of kinds of one message of each of these rows."""
    law: dict[tuple[Kind, ...], float] = {(): 1.0}
    for element in elements:
        grown: dict[tuple[Kind, ...], float] = defaultdict(float)
        for seen, p in law.items():
            for kind, q in kinds(tau, element).items():
                grown[tuple(sorted((*seen, kind)))] += p * q
        law = grown
    return law


@pytest.mark.parametrize(
    ("tau", "blanket", "first", "second", "shared", "users"),
    [
        (3, 4, (1,), (2,), (), 1),
        (3, 3, (1,), (2,), (3,), 1),  # the three rows depend on each other
        (3, 1, (1,), (2,), (3,), 2),
        (3, 3, (1, 2), (4, 7), (), 1),
        (4, 2, (1, 2), (4, 5), (6,), 1),
        (4, 1, (1, 2), (3, 4), (), 2),
    ],
)
def test_it_is_below_the_divergence_of_all_messages(
    tau: int, blanket: int, first: tuple[int, ...], second: tuple[int, ...], shared: tuple[int, ...], users: int
) -> None:
    rest = [0] * blanket + [*shared] * users + [*second] * (users - 1)
    ours, theirs = multisets(tau, [*rest, *first]), multisets(tau, [*rest, *second])
    bound = MergedHits(users, blanket, Fraction(1, 1 << tau), len(first), len(shared))
    assert bound.delta(0).low > 0.1
    for epsilon in (0.0, 0.1, 0.3, 0.8, 1.5):
        truth = sum(max(p - math.exp(epsilon) * theirs.get(seen, 0.0), 0.0) for seen, p in ours.items())
        found = bound.delta(epsilon).low
        assert found <= truth * (1 + 1e-12)
        least = bound.epsilon(found).low if found else 0.0
        assert least <= epsilon * (1 + 1e-4)


@pytest.mark.parametrize(
    "m",
    [
        HadamardRangeQueries.as_printed(1, 1e-6, users=10**6, side=1024),
        HadamardRangeQueries(users=10**6, side=1024, tau=20, rho=376),
        SparseStatisticalQueries(users=10**6, queries=10**4, k=32, changed=16, tau=20, rho=2000),
        ShuffledHadamard(10**6, 1024, 20, 2000, 32),
    ],
)
def test_several_replaced_messages_are_known_to_a_percent(m: Mechanism) -> None:
    found = account(m).epsilon(1e-6)
    assert found.high <= 1.01 * found.low


def test_views_that_one_data_set_alone_has_are_more_than_any_epsilon_allows() -> None:
    few = MergedHits(10, 20, Fraction(1, 32), 2, 0)
    sure = few.delta(math.inf).low
    assert 0 < sure <= few.delta(1e5).low <= few.delta(1e3).low <= few.delta(1).low
    assert few.epsilon(sure * 0.99).low == math.inf
    assert few.epsilon(sure * 1.01).low < 100
    assert few.epsilon(0).low == math.inf


def test_messages_that_overlap_too_often_tell_nothing() -> None:
    assert MergedHits(10, 100, Fraction(1, 2), 1, 0).delta(0).low == 0
    assert MergedHits(10, 100, Fraction(1, 64), 1, 33).epsilon(0.01).low == 0
    assert MergedHits(10, 100, Fraction(1, 64), 1, 33).epsilon(0).low == 0
