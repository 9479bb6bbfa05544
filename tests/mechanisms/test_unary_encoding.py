"""Unary encoding where a user comes or goes: one bit in place of two."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit import account, audit
from ldpaudit.accountants.pld.exact import both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile, law_atoms
from ldpaudit.derivation import sum_of_terms
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.neighbours import ADD_REMOVE, USER_LEVEL
from ldpaudit.proofs.unary_encoding import prove
from tests.helpers import proved

REACH = 0.95
MECHANISMS = [
    UnaryEncoding(3, Fraction(3, 4), Fraction(1, 5)),
    UnaryEncoding(2, Fraction(9, 10), Fraction(1, 2)),
    UnaryEncoding.symmetric(1, k=2),
    UnaryEncoding.optimized(1.0, k=3),
]


@pytest.mark.parametrize("m", MECHANISMS, ids=str)
@given(epsilon=st.floats(0, 3), delta=st.fractions(0, Fraction(99, 100)))
def test_a_users_presence_costs_what_enumeration_says(m: UnaryEncoding, epsilon: float, delta: Fraction) -> None:
    oracle = FiniteProfile(both_directions(law_atoms(m.law(m.k - 1), m.law(None))), "enumeration")
    ours = account(m, ADD_REMOVE)
    for e, truth in ((ours.delta(epsilon), oracle.delta(epsilon)), (ours.epsilon(delta), oracle.epsilon(delta))):
        assert e.low <= truth.high
        assert truth.low <= e.high


@pytest.mark.parametrize("m", MECHANISMS, ids=str)
def test_a_users_presence_is_proved_to_cost_no_more_and_audited_to_cost_no_less(m: UnaryEncoding) -> None:
    exact = account(m, ADD_REMOVE).epsilon(0)
    proofs = [t for t in (p.at(m) for p in proved(prove) if p.relation == "add-remove") if t]
    assert proofs
    for terms in proofs:
        assert sum_of_terms(terms).high == pytest.approx(exact.high, rel=1e-12)
    evidence = audit(m, neighbours=ADD_REMOVE, seed=7)
    assert evidence.pair == (0, None)
    assert REACH * exact.low <= evidence.epsilon_lower <= exact.high


def test_optimized_unary_encoding_is_rounded_toward_privacy() -> None:
    for epsilon in (0.1, 1, Fraction(5, 3), 8):
        for m in (UnaryEncoding.optimized(epsilon, 4), UnaryEncoding.symmetric(epsilon, 4)):
            exact = account(m).epsilon(0)
            assert float(epsilon) * (1 - 1e-12) <= exact.low <= float(epsilon)


def test_flipping_each_bit_costs_once_a_bit_that_differs() -> None:
    m = UnaryEncoding.flips(Fraction(1, 10), k=5)
    assert account(m).epsilon(0).high == pytest.approx(2 * np.log(9))
    assert account(m, ADD_REMOVE).epsilon(0).high == pytest.approx(np.log(9))


def test_it_refuses_what_it_does_not_know() -> None:
    with pytest.raises(Unsupported, match="user-level"):
        account(MECHANISMS[0], USER_LEVEL)
    with pytest.raises(ValueError, match="needs 0 < q < 1/2"):
        UnaryEncoding(3, Fraction(1, 2), Fraction(1, 2))
    with pytest.raises(ValueError, match="needs an input among"):
        MECHANISMS[0].sample(3, 1, np.random.default_rng(0))


def test_the_two_regimes_of_a_user_s_presence_meet_where_p_and_q_sum_to_one() -> None:
    _, by_ones, by_zeros = proved(prove)
    for theorem, side in ((by_ones, 0), (by_zeros, 1)):
        (step,) = (each.removesuffix(": the regime") for each in theorem.steps if each.endswith(": the regime"))
        sides = [sympy.sympify(text) for text in step.split(" <= ")]
        assert sides[1 - side] == 1
        assert sympy.simplify(sides[side].subs("more", 0)) == 1
