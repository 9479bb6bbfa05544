"""Cited composition theorems against the exact worst case."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit.accountants import account
from ldpaudit.accountants.composition import divergences as divergence
from ldpaudit.accountants.composition import theorems as formulas
from ldpaudit.plan import Compose, Guarantee, Repeat

runs = st.integers(1, 400)
lengths = st.fractions(Fraction(1, 1000), 2, max_denominator=1000)
slacks = st.sampled_from([Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**12)])
losses = st.sampled_from([Fraction(0), Fraction(1, 10**9)])


@given(runs, lengths, losses, slacks)
def test_no_formula_promises_less_than_the_worst_maps_cost(n: int, e: Fraction, d: Fraction, slack: Fraction) -> None:
    worst = account(Repeat(Guarantee(e, d), n))
    for epsilon, delta in (formulas.drv10(n, e, d, slack), formulas.kov([(n, e, d)], slack)):
        assert worst.delta(epsilon.high).high <= delta.high
    pure = account(Repeat(Guarantee(e), n))
    for epsilon in (divergence.concentrated([(n, e)], slack), divergence.renyi([(n, e)], slack)):
        assert pure.delta(epsilon.high).high <= slack
        assert epsilon.low == 0


@given(st.integers(1, 10**6), st.fractions(Fraction(1, 10**6), 1, max_denominator=10**6), slacks)
def test_the_heavy_hitters_formula_holds_under_the_added_hypothesis(n: int, e: Fraction, slack: Fraction) -> None:
    try:
        epsilon = formulas.hkr12(n, e, slack)
    except ValueError:
        return
    assert account(Repeat(Guarantee(e), n)).delta(epsilon.high).high <= slack


@pytest.mark.parametrize("slack", [Fraction(1, 10**3), Fraction(1, 10**9)])
def test_formulas_for_different_parts_promise_no_less_than_the_worst_maps_cost(slack: Fraction) -> None:
    parts = [(40, Fraction(1, 10)), (30, Fraction(1, 5)), (9, Fraction(1, 2))]
    worst = account(Compose([Repeat(Guarantee(e), n) for n, e in parts]))
    exact = worst.epsilon(slack).high
    found = {
        "kov": formulas.kov([(n, e, 0) for n, e in parts], slack)[0].high,
        "concentrated": divergence.concentrated(parts, slack).high,
        "renyi": divergence.renyi(parts, slack).high,
        "basic": formulas.basic([(n * e, 0) for n, e in parts])[0].high,
    }
    assert all(exact <= value for value in found.values()), found
    assert found["renyi"] < min(found["kov"], found["basic"])


@given(lengths, st.fractions(Fraction(101, 100), 100, max_denominator=100))
def test_a_pure_guarantee_has_at_most_a_quadratic_renyi_divergence(e: Fraction, order: Fraction) -> None:
    found = divergence.renyi_of_pure(order, e).high
    assert found <= float(order * e * e / 2) * (1 + 1e-12)
    assert found <= float(e) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("call", "hypothesis"),
    [
        (lambda: formulas.drv10(0, 1, 0, 0.1), "at least one run"),
        (lambda: formulas.drv10(3, -1, 0, 0.1), "epsilon >= 0"),
        (lambda: formulas.drv10(3, 1, 1, 0.1), "0 <= delta < 1"),
        (lambda: formulas.drv10(3, 1, 0, 0), r"slack delta in \(0, 1\)"),
        (lambda: formulas.kov([(3, float("inf"), 0)], 0.1), "finite epsilon"),
        (lambda: formulas.hkr12(1, 2, 1e-9), "epsilon' <= 1"),
        (lambda: formulas.hkr12(100, 1, 1e-9), "total epsilon below 1"),
        (lambda: formulas.hkr12(1, Fraction(1, 2), 1 - 1e-9), "ln"),
        (lambda: divergence.renyi_epsilon(1, 1, 0.1), "above 1"),
        (lambda: divergence.concentrated_epsilon(-1, 0.1), "rho >= 0"),
    ],
)
def test_a_failing_hypothesis_is_named(call: Callable[[], object], hypothesis: str) -> None:
    with pytest.raises(ValueError, match=hypothesis):
        call()


def test_the_printed_heavy_hitters_formula_fails_where_delta_is_near_1() -> None:
    delta = 1 - Fraction(1, 10**6)
    share = Fraction(1, 2) / Fraction(28, 10**4)  # epsilon = 1/2; the square root of 8 ln(1/delta) is above 0.0028
    assert account(Guarantee(share)).delta(0.5).high > delta
