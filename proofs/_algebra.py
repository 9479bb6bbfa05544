"""The trusted part, first of three: rational functions over symbols of known range, and the inequalities whose signs are visible.

An inequality is accepted only where the difference of its sides is a quotient of polynomials whose coefficients are all
nonnegative, once every symbol that stands for a share, a number in [0, 1], has been set to 0 and to 1: a polynomial that is
affine in a share lies between its values there. A proof therefore begins with the parametrization that makes it so. No floats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import sympy
from sympy import Expr

from ldpaudit.errors import ProofError


@dataclass(slots=True)
class Algebra:
    """Symbols and their ranges, and the steps that were checked over them; every method checks its step at once."""

    steps: list[str] = field(default_factory=list)
    signs: dict[Expr, bool] = field(default_factory=dict)
    """Whether a symbol is above 0, or may be 0."""
    shares: list[Expr] = field(default_factory=list)

    def positive(self, *names: str) -> list[Expr]:
        """Symbols that stand for any number above 0."""
        return self._declare(names, strict=True)

    def nonnegative(self, *names: str) -> list[Expr]:
        """Symbols that stand for any number at or above 0."""
        return self._declare(names, strict=False)

    def share(self, *names: str) -> list[Expr]:
        """Symbols that stand for any number in [0, 1]."""
        symbols = self._declare(names, strict=False)
        self.shares += symbols
        return symbols

    def _declare(self, names: tuple[str, ...], strict: bool) -> list[Expr]:
        symbols = [sympy.Symbol(name, nonnegative=True) for name in names]
        if again := set(symbols) & set(self.signs):
            raise ProofError("the symbols", f"{sorted(map(str, again))}, declared twice,")
        self.signs |= dict.fromkeys(symbols, strict)
        return symbols

    def _polynomial(self, expression: Expr, why: str) -> sympy.Poly:
        unknown = expression.free_symbols - set(self.signs)
        if unknown or expression.has(sympy.Float) or not expression.is_rational_function(*self.signs):
            raise ProofError(why, f"{expression}, which is not a rational function of the declared symbols")
        return sympy.Poly(expression, *self.signs) if self.signs else sympy.Poly(expression, sympy.Symbol("_"))

    def _corners(self, expression: Expr, why: str) -> list[sympy.Poly]:
        """The polynomial with every share at either end; itself where it holds none."""
        whole = self._polynomial(expression, why)
        held = [s for s in self.shares if expression.has(s)]
        if any(whole.degree(s) > 1 for s in held):
            raise ProofError(why, f"{expression}, which is not affine in every share,")
        ends = product((0, 1), repeat=len(held))
        return [self._polynomial(sympy.expand(expression.subs(list(zip(held, e, strict=True)))), why) for e in ends]

    def is_nonnegative(self, expression: Expr, why: str) -> bool:
        """Whether a polynomial's sign is visible: at least 0 wherever the symbols may be."""
        return all(c.is_Rational and c >= 0 for corner in self._corners(expression, why) for c in corner.coeffs())

    def is_positive(self, expression: Expr, why: str) -> bool:
        """Whether a polynomial's sign is visible, and it is never 0."""
        strict = list(self.signs.values()) or [True]

        def visible(corner: sympy.Poly) -> bool:
            return any(c > 0 and all(s or not e for s, e in zip(strict, m, strict=True)) for m, c in corner.terms())

        return self.is_nonnegative(expression, why) and all(map(visible, self._corners(expression, why)))

    def defined(self, expression: Any, why: str) -> Expr:
        """The expression as one quotient whose denominator is above 0 wherever the symbols may be."""
        whole = sympy.together(sympy.sympify(expression))
        denominator = sympy.fraction(whole)[1]
        if not self.is_positive(sympy.expand(denominator), why):
            raise ProofError(why, f"the denominator {denominator}, which may vanish,")
        return whole

    def difference(self, left: Any, right: Any, why: str) -> Expr:
        """Left minus right as one quotient in lowest terms; 0 where they are the same function."""
        return sympy.cancel(self.defined(left, why) - self.defined(right, why))

    def equal(self, left: Any, right: Any, why: str) -> None:
        """Check that two rational functions are the same."""
        if (rest := self.difference(left, right, why)) != 0:
            raise ProofError(why, rest)
        self.steps.append(f"{left} = {right}: {why}")

    def at_most(self, left: Any, right: Any, why: str) -> None:
        """Check that the left side never exceeds the right side."""
        if not self.holds(left, right, why):
            raise ProofError(why, self.difference(right, left, why))
        self.steps.append(f"{left} <= {right}: {why}")

    def holds(self, left: Any, right: Any, why: str) -> bool:
        """Whether it is visible that the left side never exceeds the right side; this becomes no step."""
        return self._visible(self.difference(right, left, why), self.is_nonnegative, why)

    def below(self, left: Any, right: Any, why: str) -> bool:
        """Whether it is visible that the left side is always less than the right side; this becomes no step."""
        return self._visible(self.difference(right, left, why), self.is_positive, why)

    def _visible(self, rest: Expr, sign_of: Callable[[Expr, str], bool], why: str) -> bool:
        top, bottom = (sympy.expand(part) for part in sympy.fraction(rest))
        sign = 1 if self.is_nonnegative(bottom, why) else -1
        return sign_of(sign * top, why) and self.is_positive(sign * bottom, why)
