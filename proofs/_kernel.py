"""The trusted part, last of three: what a theorem about privacy must check before it may state a bound.

A `Theorem` states no number that was not checked: its statement's bound is rendered from its costs. What a part of a view
costs follows from its laws on two inputs, each given by cells whose probabilities are checked to sum to 1 on either input, or
from its loss on the real line, cut at the inputs; so no case can be left out. A `Lemma` states no bound and covers nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import sympy
from sympy import Expr

from ldpaudit.errors import ProofError
from ldpaudit.proofs._algebra import Algebra
from ldpaudit.proofs._laws import Factor, Law, exhaustive, in_words, require_both_ways

NOWHERE: Mapping[Expr, Any] = MappingProxyType({})
"""No symbol is given a number."""


@dataclass(slots=True)
class Lemma(Algebra):
    """Steps, and the sentence that they are for. Certificates and verdicts rest on a `Theorem`; a lemma covers nothing."""

    sentence: str = field(default="", kw_only=True)
    relation: str = field(default="replace-one", kw_only=True)
    assumes: list[str] = field(default_factory=list)
    admissions: list[str] = field(default_factory=list)

    @property
    def statement(self) -> str:
        """What was checked; a `ProofError` where nothing was."""
        if not self.steps:
            raise ProofError(self.sentence, "a statement without a single step")
        return self.sentence

    def assume(self, sentence: str) -> None:
        """What the definition of the mechanism or of its inputs says: not a step, but printed with the theorem."""
        self.assumes.append(sentence)

    def admit(self, sentence: str, source: str) -> None:
        """A step that no machine checked; every certificate that rests on it prints it."""
        self.admissions.append(f"{sentence} ({source})")

    def at(self, mechanism: object) -> list[tuple[Fraction, Fraction, bool]] | None:
        """None: it is about no mechanism."""


def _require_count(times: Any, step: str) -> None:
    """It may be a number of times: a whole one above 0, or an expression, which `Theorem.bound` looks at again."""
    number = sympy.sympify(times)
    if number.is_number and not (number.is_Integer and number > 0):
        raise ProofError(step, f"{times} times, where a whole number above 0 is needed,")


@dataclass(slots=True)
class Theorem(Lemma):
    """A bound on the privacy loss of a mechanism's class, for a kind of neighbours; `sentence` names what is bounded."""

    mechanism: str = field(default="", kw_only=True)
    factors: list[Factor] = field(default_factory=list)
    tight: str | None = None
    """Under which condition no epsilon is smaller: "" for none; None where that was not shown."""
    _closed: int = 0
    """Factors that were found to bound both directions together."""
    _fields: dict[str, Expr] = field(default_factory=dict)
    _recovered: dict[Expr, Expr] = field(default_factory=dict)

    @staticmethod
    def parameter(name: str) -> Expr:
        """A field of the mechanism, as a symbol."""
        return sympy.Symbol(name)

    def parametrize(self, fields: Mapping[str, Any], recover: Mapping[Expr, Any]) -> None:
        """State the mechanism's fields in symbols, and every symbol in fields; check that the two are inverse. Once, and first."""
        if self._fields or self.factors:
            raise ProofError("parameters", "fields that are stated twice, or after a cost")
        self._fields = {name: self.defined(value, name) for name, value in fields.items()}
        self._recovered = {symbol: sympy.sympify(value) for symbol, value in recover.items()}
        for symbol, value in self._recovered.items():
            self.equal(self._in_symbols(value), symbol, f"{symbol} is recovered")

    def coin(self, fields: Mapping[str, Any] = NOWHERE, recover: Mapping[Expr, Any] = NOWHERE) -> tuple[Expr, Expr]:
        """`parametrize` by the odds of the field p, at least 1/2, beside other fields: p in symbols, and its odds in fields."""
        (excess,), p = self.nonnegative("excess"), self.parameter("p")
        truth = (1 + excess) / (2 + excess)
        self.parametrize({"p": truth, **fields}, {excess: p / (1 - p) - 1, **recover})
        return truth, p / (1 - p)

    def response(
        self, size: str = "k", fields: Mapping[str, Any] = NOWHERE, recover: Mapping[Expr, Any] = NOWHERE
    ) -> tuple[Expr, Expr, Expr, Expr]:
        """`parametrize` by p(k-1)/(1-p), at least 1; k may have another name. The number of answers, p, a lie's share, ratio."""
        excess, more = self.nonnegative("excess", "more")
        count, k, p = 2 + more, self.parameter(size), self.parameter("p")
        truth, ratio = (1 + excess) / (excess + count), p * (k - 1) / (1 - p)
        self.parametrize({size: count, "p": truth, **fields}, {excess: ratio - 1, more: k - 2, **recover})
        return count, truth, 1 / (excess + count), ratio

    def ends(
        self, low: str, high: str, by_ones: bool, fields: Mapping[str, Any] = NOWHERE, recover: Mapping[Expr, Any] = NOWHERE
    ) -> tuple[Expr, Expr]:
        """`parametrize` fields low < high of sum at most 1 if `by_ones`, else at least 1, beside others; the two in symbols."""
        (gap,), (more,) = self.positive("gap"), self.nonnegative("more")
        ones, zeros = (1, 1 + more) if by_ones else (1 + more, 1)
        least, most = ones / (ones + gap + zeros), (ones + gap) / (ones + gap + zeros)
        a, b = self.parameter(low), self.parameter(high)
        back = {gap: b / a - 1, more: (1 - b) / a - 1} if by_ones else {gap: (1 - a) / (1 - b) - 1, more: a / (1 - b) - 1}
        self.parametrize({low: least, high: most, **fields}, {**recover, **back})
        lesser, larger = (least + most, 1) if by_ones else (1, least + most)
        self.at_most(lesser, larger, "the regime")
        return least, most

    def _in_symbols(self, value: Any) -> Expr:
        fields = {self.parameter(name): symbols for name, symbols in self._fields.items()}
        return sympy.sympify(value).subs(fields, simultaneous=True)

    def costs(self, ratio: Any, *laws: Law, times: Any = 1, at: Mapping[Expr, Any] = NOWHERE) -> None:
        """Conclude that `times` parts of a view cost log(ratio) each, whichever of the laws a part has.

        ``ratio``, ``times``: in the mechanism's fields; they are what the statement prints; ``laws``: cells on the
        first input and on the second. Where they cost more with the inputs exchanged, the exchanged laws have to be
        another factor's; ``at``: numbers for symbols that are no fields, at which the bound is attained; see
        `attained`.
        """
        at = self._free(at)
        if not laws:
            raise ProofError(f"the cost log({ratio})", "a bound without a law")
        _require_count(times, f"the cost log({ratio})")
        r, whole = self._cost(ratio, at_least=1), tuple(exhaustive(self, law) for law in laws)
        attained, both_ways = False, True
        for law, cells in zip(laws, whole, strict=True):
            for name, (views, p, q) in zip(law, cells, strict=True):
                self.at_most(p, r * q, name)
                whole_p, least_p = sympy.sympify(views * p).subs(at), sympy.sympify(p - r * q).subs(at)
                attained |= self.difference(least_p, 0, name) == 0 and self.below(0, whole_p, name)
                both_ways &= self.holds(q, r * p, name)
        self.factors.append(Factor(sympy.sympify(times), sympy.sympify(ratio), whole, attained, both_ways, at=at))

    def loses(
        self, nats: Any, scale: Any, low: Any, high: Any, times: Any = 1, at: Mapping[Expr, Any] = NOWHERE
    ) -> None:
        """Conclude that `times` real numbers with Laplace noise cost `nats` each, wherever the view lies beside two numbers.

        The view y of a number x has the density exp(-|y - x|/scale)/(2 scale).

        ``nats``, ``times``: in the mechanism's fields; ``scale``: of the noise, in symbols; ``low``, ``high``: the
        two numbers, in symbols; ``at``: see `costs`.
        """
        at = self._free(at)
        _require_count(times, f"the cost {nats}")
        bound = self._cost(nats, at_least=0)
        if not self.below(0, scale, "the scale"):
            raise ProofError("the scale", f"{scale}, which is not visibly above 0,")
        self.at_most(low, high, "the lesser number and the greater")
        number = len(self.signs)  # of symbols so far
        (beyond,), (part,) = self.nonnegative(f"beyond_{number}"), self.share(f"part_{number}")
        places = {"y <= x": low - beyond, "x <= y <= x'": low + part * (high - low), "y >= x'": high + beyond}
        losses = {where: (self.distance(y, high) - self.distance(y, low)) / scale for where, y in places.items()}
        for where, lost in losses.items():
            self.at_most(lost, bound, where)
            self.at_most(-lost, bound, f"{where}, the inputs exchanged")
        attained = any(self.difference((lost - bound).subs(at), 0, where) == 0 for where, lost in losses.items())
        self.factors.append(Factor(sympy.sympify(times), sympy.sympify(nats), (), attained, both_ways=True, nats=True, at=at))

    def distance(self, y: Any, x: Any) -> Expr:
        """The distance of two numbers, where it is visible which one is the greater."""
        for greater, lesser in ((y, x), (x, y)):
            if self.holds(lesser, greater, "a distance"):
                return sympy.sympify(greater - lesser)
        raise ProofError("a distance", f"{y} - {x}, of which no sign is visible,")

    def sums(self, nats: Any, theorem: Theorem, parts: Sequence[tuple[Any, Any]]) -> None:
        """Conclude that all that another theorem counts costs `nats`: by at most (times, nats each) for each of its factors.

        That these are no fewer and no less than its own is assumed, in words of the proof's; what that theorem assumes and
        admits is assumed and admitted here, too.
        """
        theorem.require()
        about = (theorem.mechanism, theorem.relation) == (self.mechanism, self.relation)
        if len(parts) != len(theorem.factors) or not about or not self.assumes:
            raise ProofError("a sum of costs", f"{len(parts)} parts for the {len(theorem.factors)} of {theorem.sentence}")
        for times, each in parts:
            _require_count(times, f"the cost {each}")
            self.at_most(0, each, "a cost")
        self.assumes += [each for each in theorem.assumes if each not in self.assumes]
        self.admissions += [each for each in theorem.admissions if each not in self.admissions]
        total = sum((times * each for times, each in parts), sympy.Integer(0))
        self.at_most(total, self._cost(nats, at_least=0), f"all that counts in: {theorem.statement}")
        self.factors.append(Factor(sympy.Integer(1), sympy.sympify(nats), (), attained=False, both_ways=True, nats=True))

    def _free(self, at: Mapping[Expr, Any]) -> Mapping[Expr, Any]:
        """Checked: numbers in the range of symbols that the theorem leaves open."""
        for symbol, value in at.items():
            least = value > 0 if self.signs.get(symbol, True) else value >= 0
            if symbol not in set(self.signs) - set(self._recovered) or not least or (symbol in self.shares and value > 1):
                raise ProofError("attained", f"{symbol} = {value}, which is a field or out of its range,")
        return at

    def _cost(self, value: Any, at_least: int) -> Expr:
        cost = sympy.factor(self._in_symbols(value))
        self.at_most(at_least, cost, "a bound that also holds where nothing differs")
        return cost

    def attained(self, reason: str, where: str = "") -> None:
        """Conclude that no epsilon is smaller: every factor has a view that costs as much; `where` is under which condition."""
        if not self.factors or not all(factor.attained for factor in self.factors):
            raise ProofError(reason, "no view that attains the bound")
        together: dict[Expr, Any] = {}
        for symbol, value in (each for factor in self.factors for each in factor.at.items()):
            if together.setdefault(symbol, value) != value:
                raise ProofError(reason, f"costs that are attained at {symbol} = {together[symbol]} and at {value}, never together")
        self.steps.append(f"attained: {reason}")
        self.tight = where

    def require(self) -> None:
        """A `ProofError` where it concludes nothing, or only one of the two directions of a pair of inputs."""
        if not self.factors:
            raise ProofError(self.sentence, "a theorem without a cost")
        if self._closed < len(self.factors):
            require_both_ways(self, self.factors)
            self._closed = len(self.factors)

    @property
    def statement(self) -> str:
        """The sentence, and the bound that was checked."""
        self.require()
        least = "" if self.tight is None else f", and no less{self.tight and ' '}{self.tight}"
        return f"{self.sentence} is private with epsilon = {in_words(self.factors)}{least}"

    def at(self, mechanism: object) -> list[tuple[Fraction, Fraction, bool]] | None:
        """The proved epsilon of a mechanism, from its fields; None where the theorem is not about it."""
        named = self.mechanism in {c.__name__ for c in type(mechanism).__mro__}
        return self.bound({name: getattr(mechanism, name) for name in self._fields}) if named else None

    def bound(self, parameters: Mapping[str, Fraction | int]) -> list[tuple[Fraction, Fraction, bool]] | None:
        """The proved epsilon as terms (times, ratio, nats), exact; None where the theorem does not cover these."""
        self.require()
        if missing := set(self._fields) - set(parameters):
            raise ProofError("parameters", f"no value for {sorted(missing)}")
        values = {self.parameter(n): sympy.Rational(*Fraction(v).as_integer_ratio()) for n, v in parameters.items()}
        at = {symbol: expression.subs(values) for symbol, expression in self._recovered.items()}
        inside = all(
            v.is_Rational and (v > 0 if self.signs[s] else v >= 0) and (v <= 1 or s not in self.shares) for s, v in at.items()
        )
        if not inside or any(e.subs(at) != values[self.parameter(n)] for n, e in self._fields.items()):
            return None
        terms = [(f.times.subs(values), f.ratio.subs(values), f.nats) for f in self.factors]
        if not all(times.is_Integer and times >= 0 and ratio.is_Rational for times, ratio, _ in terms):
            raise ProofError("the bound", f"{terms}, where whole numbers of times at least 0 are needed,")
        return [(Fraction(t.p, t.q), Fraction(r.p, r.q), nats) for t, r, nats in terms]
