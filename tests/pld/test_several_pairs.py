"""Runs in which any of several pairs may be told apart: against an adversary who chooses by what it has seen, in rationals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import pytest
from hypothesis import given, strategies as st

from ldpaudit import Poisson, Repeat, account, strategies
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.several_pairs import SeveralPairs
from ldpaudit.mechanisms import Channel, MemoizedBit
from tests.samples import near

F = Fraction
Rows = Sequence[Sequence[Fraction]]
SQUARE = Channel([[F(1, 2), F(1, 3), F(1, 6)], [F(1, 6), F(1, 2), F(1, 3)], [F(3, 10), F(3, 10), F(2, 5)]])


def chosen_by_views(rows: Rows, runs: int, x: Fraction) -> Fraction:
    """The largest divergence at x, where the pair of a run may be chosen by the views of those before."""
    if not runs:
        return max(1 - x, F(0))
    pairs = (zip(a, b, strict=True) for a, b in permutations(rows, 2))
    return max(sum((p * chosen_by_views(rows, runs - 1, x * q / p) for p, q in pair), F(0)) for pair in pairs)


def chosen_before(rows: Rows, runs: int, x: Fraction) -> Fraction:
    """The same, where they are chosen before all views."""
    pairs = [list(zip(a, b, strict=True)) for a, b in permutations(rows, 2)]
    views = (list(product(*chosen)) for chosen in combinations_with_replacement(pairs, runs))
    return max(sum((max(math.prod(p for p, _ in v) - x * math.prod(q for _, q in v), F(0)) for v in each), F(0)) for each in views)


@given(
    strategies.channels(inputs=3, views=3), st.integers(1, 3), st.sampled_from([F(1), F(9, 8), F(2), F(6), F(40)]),
    st.sampled_from([F(1), F(1, 3), F(1, 100)]),
)  # fmt: skip
def test_no_choice_of_pairs_costs_more_and_the_best_by_views_hardly_less(
    rows: Rows, runs: int, x: Fraction, rate: Fraction
) -> None:
    if any(p == 0 for row in rows for p in row) or len(set(map(tuple, rows))) < 2:
        return
    sent, rows = Poisson(Channel(rows), rate), list(dict.fromkeys(map(tuple, rows)))
    pairs = dict.fromkeys(ExactPLD.of(zip(a, b, strict=True)).part(rate) for a, b in permutations(rows, 2))
    rows = [[*(rate * p for p in row), 1 - rate] if rate < 1 else row for row in rows]
    found = SeveralPairs(tuple(pairs), runs, "runs")
    if not found.applies:
        return
    before, by_views = chosen_before(rows, runs, x), chosen_by_views(rows, runs, x)
    high = found.delta(math.log(x)).high
    assert before <= by_views <= high
    # What is known at the power below, and by polygons.
    assert high <= chosen_by_views(rows, runs, x * F(math.exp(-found._step * 2))) + F(1, 50)
    assert found.delta(found.epsilon(F(1, 100)).high).high <= F(1, 100)
    assert near(account(Repeat(sent, runs)).delta(math.log(x)), before, F(1, 10**12))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_each_sample_of_runs_may_have_another_choice_of_pairs(epsilon: float) -> None:
    rate, x = F(1, 4), F(math.exp(epsilon))
    pairs = [list(zip(a, b, strict=True)) for a, b in permutations(SQUARE.matrix, 2)]
    sampled = [
        [*((rate * p * r, rate * q * s) for (p, q), (r, s) in product(*chosen)), (1 - rate, 1 - rate)]
        for chosen in combinations_with_replacement(pairs, 2)
    ]
    before = max(
        sum((max(p * r - x * q * s, F(0)) for (p, q), (r, s) in product(*chosen)), F(0))
        for chosen in combinations_with_replacement(sampled, 2)
    )
    composed = account(Repeat(Poisson(Repeat(SQUARE, 2), rate), 2))
    found = composed.delta(epsilon)
    assert found.low <= before * (1 + F(1, 10**12))
    assert before <= found.high < composed.upper.delta(epsilon).low  # type: ignore[attr-defined]


def test_many_pairs_are_taken_together_in_a_few_groups() -> None:
    rows = [[F(p, sum(row)) for p in row] for row in ((1, 2, 3, 6), (6, 1, 2, 3), (3, 6, 1, 2), (2, 3, 6, 1), (4, 3, 3, 2))]
    pairs = dict.fromkeys(ExactPLD.of(zip(a, b, strict=True)) for a, b in permutations(rows, 2))
    assert len(SeveralPairs(tuple(pairs), 10, "runs")._kernels) == 3 < len(pairs)


@pytest.mark.few(1)
@pytest.mark.parametrize(("m", "runs"), [(SQUARE, 1000), (MemoizedBit(5, F(4, 5), F(1, 3), F(2, 3)), 10)])
def test_many_runs_of_several_pairs_are_known_to_a_hundredth(m: Channel | MemoizedBit, runs: int) -> None:
    """A pair that dominates all at once costs up to a sixth more."""
    composed = account(Repeat(m, runs))
    found = composed.epsilon(1e-6)
    assert found.high < 1.006 * found.low
    assert composed.upper.epsilon(1e-6).low > 1.01 * found.low  # type: ignore[attr-defined]
    assert account(Repeat(m, runs // 2)).epsilon(1e-6).high < found.low
