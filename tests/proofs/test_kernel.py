"""The kernel rejects false steps; most of these are false."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from ldpaudit.errors import ProofError
from ldpaudit.proofs._kernel import Proof


@pytest.fixture
def t() -> Proof:
    return Proof("M", "a theorem")


def test_a_true_equality_is_a_step(t: Proof) -> None:
    (x,) = t.positive("x")
    t.equal((x + 1) ** 2, x**2 + 2 * x + 1, "binomial")
    assert len(t.steps) == 1


def test_a_true_inequality_whose_sign_is_visible_is_a_step(t: Proof) -> None:
    x, y = t.positive("x", "y")
    t.at_most(x / (x + y), 1, "a share")
    t.at_most(0, x * y, "a product of positives")


def test_a_false_equality_is_rejected_with_what_is_left_over(t: Proof) -> None:
    (x,) = t.positive("x")
    with pytest.raises(ProofError) as caught:
        t.equal((x + 1) ** 2, x**2 + 1, "freshman's dream")
    assert caught.value.step == "freshman's dream"
    assert caught.value.remainder == 2 * sympy.Symbol("x", nonnegative=True)
    assert not t.steps


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (lambda x, y: x, lambda x, y: y),
        (lambda x, y: x + y, lambda x, y: x),
        (lambda x, y: 1, lambda x, y: x),
        (lambda x, y: (x + y) / x, lambda x, y: 1),
        (lambda x, y: x * y, lambda x, y: -x * y),
        (lambda x, y: 1 / x, lambda x, y: 1 / (x + y)),
        (lambda x, y: sympy.Rational(1, 3), lambda x, y: sympy.Rational(333, 1000)),
    ],
)
def test_a_false_inequality_is_rejected(t: Proof, left: object, right: object) -> None:
    x, y = t.positive("x", "y")
    assert callable(left)
    assert callable(right)
    with pytest.raises(ProofError):
        t.at_most(left(x, y), right(x, y), "false")
    assert not t.steps


def test_a_true_inequality_whose_sign_is_not_visible_is_rejected_too(t: Proof) -> None:
    x, y = t.positive("x", "y")
    with pytest.raises(ProofError):
        t.at_most(2 * x * y, x**2 + y**2, "true, but by a square")


def test_a_denominator_that_may_vanish_is_rejected(t: Proof) -> None:
    (x,) = t.nonnegative("x")
    (y,) = t.positive("y")
    for expression in (1 / x, x / x**2, 1 / (x * y), 1 / (x - y), 1 / (y - 1), y / (x * y + x)):
        with pytest.raises(ProofError, match="which may vanish"):
            t.equal(expression, expression, "division by zero")
    t.equal(1 / (x + y), 1 / (y + x), "a positive part keeps a sum from vanishing")


def test_floats_roots_and_unknown_symbols_are_rejected(t: Proof) -> None:
    (x,) = t.positive("x")
    unknown = sympy.Symbol("z"), sympy.Symbol("x")
    for expression in (0.1 * x, sympy.sqrt(x), sympy.exp(x), sympy.pi * x, *(u + x for u in unknown)):
        with pytest.raises(ProofError):
            t.at_most(0, expression, "not rational")


def test_a_symbol_of_sympys_own_that_only_looks_positive_is_unknown(t: Proof) -> None:
    t.positive("x")
    with pytest.raises(ProofError):
        t.at_most(0, sympy.Symbol("x", positive=True), "another symbol of the same name")


def test_a_parametrization_must_be_inverse(t: Proof) -> None:
    (x,) = t.positive("x")
    with pytest.raises(ProofError):
        t.parametrize({"p": 1 / (1 + x)}, {x: t.parameter("p")})


def test_a_cost_below_one_of_its_cases_is_rejected(t: Proof) -> None:
    (x,) = t.nonnegative("x")
    with pytest.raises(ProofError):
        t.costs(1 + x, {"small": 1, "large": 1 + 2 * x})
    assert not t.factors


def test_a_cost_below_one_is_rejected(t: Proof) -> None:
    (x,) = t.positive("x")
    with pytest.raises(ProofError):
        t.costs(1 / (1 + x), {})


def test_a_bound_is_exact_and_only_given_where_the_theorem_covers_the_parameters(t: Proof) -> None:
    (x,) = t.nonnegative("x")
    p = t.parameter("p")
    t.parametrize({"p": (1 + x) / (2 + x)}, {x: p / (1 - p) - 1})
    t.costs(1 + x, {"y = x": 1 + x})
    assert t.bound({"p": Fraction(3, 4)}) == [(Fraction(1), Fraction(3), False)]
    assert t.bound({"p": Fraction(1, 2)}) == [(Fraction(1), Fraction(1), False)]
    assert t.bound({"p": Fraction(1, 3)}) is None
    with pytest.raises(ProofError, match="no value"):
        t.bound({"q": Fraction(3, 4)})


def test_a_theorem_is_about_its_mechanism_only(t: Proof) -> None:
    assert t.at(object()) is None


def test_an_admission_is_kept(t: Proof) -> None:
    t.admit("a step", "a book")
    assert t.admissions == ["a step (a book)"]
