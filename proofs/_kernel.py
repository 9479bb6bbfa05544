"""The trusted part: rational functions over symbols of known sign, and what they imply about privacy. No floats.

An inequality is accepted only where the difference of its sides is a quotient of polynomials whose coefficients are all
nonnegative, so that its sign is visible; a proof therefore begins with the parametrization that makes it so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy
from sympy import Expr

from ldpaudit.errors import ProofError


@dataclass(frozen=True, slots=True)
class Factor:
    """`times` independent parts of a view, each of which costs log(ratio), or `ratio` nats where `nats` is set."""

    times: Expr
    ratio: Expr
    nats: bool = False


@dataclass(slots=True)
class Proof:
    """A theorem about a mechanism's class, for a kind of neighbours; every method checks its step at once."""

    mechanism: str
    statement: str
    relation: str = "replace-one"
    steps: list[str] = field(default_factory=list)
    assumes: list[str] = field(default_factory=list)
    admissions: list[str] = field(default_factory=list)
    factors: list[Factor] = field(default_factory=list)
    _signs: dict[Expr, bool] = field(default_factory=dict)
    _fields: dict[str, Expr] = field(default_factory=dict)
    _recovered: dict[Expr, Expr] = field(default_factory=dict)

    def positive(self, *names: str) -> list[Expr]:
        """Symbols that stand for any number above 0."""
        return self._declare(names, strict=True)

    def nonnegative(self, *names: str) -> list[Expr]:
        """Symbols that stand for any number at or above 0."""
        return self._declare(names, strict=False)

    @staticmethod
    def parameter(name: str) -> Expr:
        """A field of the mechanism, as a symbol."""
        return sympy.Symbol(name)

    def _declare(self, names: tuple[str, ...], strict: bool) -> list[Expr]:
        symbols = [sympy.Symbol(name, nonnegative=True) for name in names]
        self._signs |= dict.fromkeys(symbols, strict)
        return symbols

    def _polynomial(self, expression: Expr, why: str) -> sympy.Poly:
        unknown = expression.free_symbols - set(self._signs)
        if unknown or expression.has(sympy.Float) or not expression.is_rational_function(*self._signs):
            raise ProofError(why, f"{expression}, which is not a rational function of the declared symbols")
        return sympy.Poly(expression, *self._signs) if self._signs else sympy.Poly(expression, sympy.Symbol("_"))

    def _is_nonnegative(self, expression: Expr, why: str) -> bool:
        return all(c.is_Rational and c >= 0 for c in self._polynomial(expression, why).coeffs())

    def _is_positive(self, expression: Expr, why: str) -> bool:
        strict = list(self._signs.values()) or [True]
        monomials = self._polynomial(expression, why).terms()
        visible = any(c > 0 and all(s or not e for s, e in zip(strict, powers, strict=True)) for powers, c in monomials)
        return visible and self._is_nonnegative(expression, why)

    def _defined(self, expression: Any, why: str) -> Expr:
        """The expression as one quotient whose denominator is above 0 wherever the symbols may be."""
        whole = sympy.together(sympy.sympify(expression))
        denominator = sympy.fraction(whole)[1]
        if not self._is_positive(sympy.expand(denominator), why):
            raise ProofError(why, f"the denominator {denominator}, which may vanish,")
        return whole

    def equal(self, left: Any, right: Any, why: str) -> None:
        """Check that two rational functions are the same."""
        rest = sympy.cancel(self._defined(left, why) - self._defined(right, why))
        if rest != 0:
            raise ProofError(why, rest)
        self.steps.append(f"{left} = {right}: {why}")

    def at_most(self, left: Any, right: Any, why: str) -> None:
        """Check that the left side never exceeds the right side."""
        rest = sympy.cancel(self._defined(right, why) - self._defined(left, why))
        top, bottom = (sympy.expand(part) for part in sympy.fraction(rest))
        sign = 1 if self._is_nonnegative(bottom, why) else -1
        if not (self._is_nonnegative(sign * top, why) and self._is_positive(sign * bottom, why)):
            raise ProofError(why, rest)
        self.steps.append(f"{left} <= {right}: {why}")

    def parametrize(self, fields: Mapping[str, Any], recover: Mapping[Expr, Any]) -> None:
        """State the mechanism's fields in symbols, and every symbol in fields; check that the two are inverse."""
        self._fields = {name: self._defined(value, name) for name, value in fields.items()}
        self._recovered = {symbol: sympy.sympify(value) for symbol, value in recover.items()}
        back = {self.parameter(name): value for name, value in self._fields.items()}
        for symbol, value in self._recovered.items():
            self.equal(value.subs(back, simultaneous=True), symbol, f"{symbol} is recovered")

    def assume(self, sentence: str) -> None:
        """What the definition of the mechanism or of its inputs says: not a step, but printed with the theorem."""
        self.assumes.append(sentence)

    def admit(self, sentence: str, source: str) -> None:
        """A step that no machine checked; every certificate that rests on it prints it."""
        self.admissions.append(f"{sentence} ({source})")

    def costs(self, ratio: Any, cases: Mapping[str, Any], times: Any = 1, nats: bool = False) -> None:
        """Conclude that `times` parts of a view cost log(ratio) each, or `ratio` nats each, from every case's own."""
        self.at_most(0 if nats else 1, ratio, "a bound that also holds where nothing differs")
        for why, case in cases.items():
            self.at_most(case, ratio, why)
        self.factors.append(Factor(sympy.sympify(times), sympy.sympify(ratio), nats))

    def at(self, mechanism: object) -> list[tuple[Fraction, Fraction, bool]] | None:
        """The proved epsilon of a mechanism, from its fields; None where the theorem is not about it."""
        named = self._fields if self.mechanism in {c.__name__ for c in type(mechanism).__mro__} else ()
        return self.bound({name: getattr(mechanism, name) for name in self._fields}) if named else None

    def bound(self, parameters: Mapping[str, Fraction | int]) -> list[tuple[Fraction, Fraction, bool]] | None:
        """The proved epsilon as terms (times, ratio, nats), exact; None where the theorem does not cover these."""
        if missing := set(self._fields) - set(parameters):
            raise ProofError("parameters", f"no value for {sorted(missing)}")
        values = {self.parameter(n): sympy.Rational(*Fraction(v).as_integer_ratio()) for n, v in parameters.items()}
        at = {symbol: expression.subs(values) for symbol, expression in self._recovered.items()}
        inside = all(v.is_Rational and (v > 0 if self._signs[s] else v >= 0) for s, v in at.items())
        if not inside or any(e.subs(at) != values[self.parameter(n)] for n, e in self._fields.items()):
            return None
        terms = [(f.times.subs({**values, **at}), f.ratio.subs(at), f.nats) for f in self.factors]
        if not all(times.is_Rational and times >= 0 and ratio.is_Rational for times, ratio, _ in terms):
            raise ProofError("the bound", f"{terms}, where numbers of times at least 0 are needed,")
        return [(Fraction(t.p, t.q), Fraction(r.p, r.q), nats) for t, r, nats in terms]
