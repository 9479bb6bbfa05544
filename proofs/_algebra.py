"""The trusted part, first of two: rational functions over symbols of known range, and the inequalities whose signs are visible.

An inequality is accepted only where the difference of its sides is a quotient of polynomials whose coefficients are all
nonnegative, with every share, a number in [0, 1], set to 0 and to 1: what is affine in it lies between. No floats.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import sympy
from sympy import Expr

from ldpaudit.errors import ProofError


class Share(sympy.Symbol):  # type: ignore[misc]
    """A symbol for any number in [0, 1]."""


def positive(*names: str) -> list[Expr]:
    """Symbols that stand for any number above 0."""
    return [sympy.Symbol(name, positive=True) for name in names]


def nonnegative(*names: str) -> list[Expr]:
    """Symbols that stand for any number at or above 0."""
    return [sympy.Symbol(name, nonnegative=True) for name in names]


def share(*names: str) -> list[Expr]:
    """Symbols that stand for any number in [0, 1]."""
    return [Share(name, nonnegative=True) for name in names]


def _polynomial(expression: Expr, why: str) -> sympy.Poly:
    symbols = sorted(expression.free_symbols, key=str)
    if not all(s.is_nonnegative for s in symbols) or expression.has(sympy.Float) or not expression.is_rational_function(*symbols):
        raise ProofError(why, f"{expression}, which is not a rational function of symbols of known range")
    return sympy.Poly(expression, *symbols or [sympy.Symbol("_")])


def _corners(expression: Expr, why: str) -> list[sympy.Poly]:
    """The polynomial with every share at either end; itself where it holds none."""
    held = sorted((s for s in expression.free_symbols if isinstance(s, Share)), key=str)
    if any(_polynomial(expression, why).degree(s) > 1 for s in held):
        raise ProofError(why, f"{expression}, which is not affine in every share,")
    ends = product((0, 1), repeat=len(held))
    return [_polynomial(sympy.expand(expression.subs(list(zip(held, e, strict=True)))), why) for e in ends]


def _is_nonnegative(expression: Expr, why: str) -> bool:
    """Whether a polynomial's sign is visible: at least 0 wherever the symbols may be."""
    return all(c.is_Rational and c >= 0 for corner in _corners(expression, why) for c in corner.coeffs())


def _is_positive(expression: Expr, why: str) -> bool:
    """Whether a polynomial's sign is visible, and it is never 0."""
    visible = (
        any(c > 0 and all(s.is_positive or not e for s, e in zip(corner.gens, m, strict=True)) for m, c in corner.terms())
        for corner in _corners(expression, why)
    )
    return _is_nonnegative(expression, why) and all(visible)


def defined(expression: Any, why: str) -> Expr:
    """The expression as one quotient whose denominator is above 0 wherever the symbols may be."""
    whole = sympy.together(sympy.sympify(expression))
    denominator = sympy.fraction(whole)[1]
    if not _is_positive(sympy.expand(denominator), why):
        raise ProofError(why, f"the denominator {denominator}, which may vanish,")
    return whole


def difference(left: Any, right: Any, why: str) -> Expr:
    """Left minus right as one quotient in lowest terms; 0 where they are the same function."""
    return sympy.cancel(defined(left, why) - defined(right, why))


def equal(left: Any, right: Any, why: str) -> str:
    """Check that two rational functions are the same; the step in words."""
    if (rest := difference(left, right, why)) != 0:
        raise ProofError(why, rest)
    return f"{left} = {right}: {why}"


def at_most(left: Any, right: Any, why: str) -> str:
    """Check that the left side never exceeds the right side; the step in words."""
    rest = difference(right, left, why)
    if not _visible(rest, _is_nonnegative, why):
        raise ProofError(why, rest)
    return f"{left} <= {right}: {why}"


def below(left: Any, right: Any, why: str) -> bool:
    """Whether it is visible that the left side is always less than the right side."""
    return _visible(difference(right, left, why), _is_positive, why)


def _visible(rest: Expr, sign_of: Callable[[Expr, str], bool], why: str) -> bool:
    top, bottom = (sympy.expand(part) for part in sympy.fraction(rest))
    sign = 1 if _is_nonnegative(bottom, why) else -1
    return sign_of(sign * top, why) and _is_positive(sign * bottom, why)
