"""The trusted part, last of two: what a theorem about privacy says, and the check without which there is none.

A `Theorem` is data, checked where it is made. It is about the whole view on an ordered pair of neighbours: independent parts,
each with Laplace noise or with the laws that it may have, whose cells sum to 1 on either input. A law has a ratio for the pair, and
one for the exchanged pair; the two bounds, products of powers, are compared by the exponents of their irreducible factors.
"And no less" needs one assignment of all open symbols at which every part attains its ratio.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import sympy
from sympy import Expr

from ldpaudit.errors import ProofError
from ldpaudit.proofs._algebra import Share, at_most, below, defined, difference, equal
from ldpaudit.proofs._hypotheses import HYPOTHESES

Law: TypeAlias = Mapping[str, tuple[Any, ...]]
"""Cells by name: the probability on the first input and on the second; before them how many views there are, if not one."""


def named(name: str) -> Expr:
    """A field of the mechanism, as a symbol."""
    return sympy.Symbol(name)


@dataclass(frozen=True, slots=True)
class Part:
    """`times` independent parts of a view, each with one of these laws: P(y) <= ratio Q(y), and Q(y) <= back P(y).

    ``times``, ``ratio`` and ``back``, which is the ratio unless it is stated, are in the mechanism's fields.
    """

    ratio: Any
    laws: Sequence[Law]
    times: Any = 1
    back: Any = None

    def cost(self, forward: bool = True) -> tuple[Expr, Expr, bool]:
        """(times, ratio, False) of a pair, or of the exchanged one."""
        return sympy.sympify(self.times), sympy.sympify(self.ratio if forward or self.back is None else self.back), False

    def steps(self, t: Theorem) -> Iterator[str]:
        """Check it: all cells there are, and their ratios."""
        costs = [defined(t.in_symbols(self.cost(forward)[1]), "a ratio") for forward in (True, False)]
        yield from (at_most(1, cost, "a bound that also holds where nothing differs") for cost in costs)
        if not self.laws:
            raise ProofError(f"the cost log({self.ratio})", "a bound without a law")
        for law in self.laws:
            cells = [(name, (1, *cell) if len(cell) == 2 else cell) for name, cell in law.items()]
            for name, (views, p, q) in cells:
                for value in (views, p, q):
                    at_most(0, value, name)
                yield at_most(p, costs[0] * q, name)
                yield at_most(q, costs[1] * p, f"{name}, the inputs exchanged")
            for place, which in ((1, "first"), (2, "second")):
                total = sum((cell[0] * cell[place] for _, cell in cells), sympy.Integer(0))
                yield equal(total, 1, f"the cells ({', '.join(law)}) are all that there is on the {which} input")

    def attained(self, t: Theorem) -> bool:
        """Whether a view of positive probability costs as much, at the theorem's assignment."""
        for name, cell in (each for law in self.laws for each in law.items()):
            *views, p, q = (sympy.sympify(value).subs(t.worst) for value in cell)
            if difference(p, t.in_symbols(self.ratio) * q, name) == 0 and all(below(0, value, name) for value in (*views, p)):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Noise:
    """`times` numbers with Laplace noise, each changed by `change` scales at most: |y - x'| - |y - x| is at most |x - x'|."""

    nats: Any  # in the mechanism's fields
    change: Any  # in symbols
    times: Any = 1

    def cost(self, forward: bool = True) -> tuple[Expr, Expr, bool]:
        """(times, nats, True), in either direction."""
        return sympy.sympify(self.times), sympy.sympify(self.nats), True

    def steps(self, t: Theorem) -> Iterator[str]:
        """Check it: the change lies between 0 and the bound."""
        yield at_most(0, self.change, "a distance")
        yield at_most(self.change, t.in_symbols(self.nats), "what a number changes by, in scales")

    def attained(self, t: Theorem) -> bool:
        """Whether the change is the bound, at the theorem's assignment: all views beyond both numbers cost as much."""
        return bool(difference(sympy.sympify(self.change).subs(t.worst), t.in_symbols(self.nats), "a change") == 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """A bound on the privacy loss of a mechanism's class. Raises ProofError naming the step, where one is false."""

    mechanism: str
    sentence: str  # what is bounded
    parts: Sequence[Part | Noise]  # of a whole view
    fields: Mapping[str, Any] = field(default_factory=dict)  # of the mechanism, in symbols
    recover: Mapping[Expr, Any] = field(default_factory=dict)  # these symbols in fields
    relation: str = "replace-one"
    worst: Mapping[Expr, Any] = field(default_factory=dict)  # numbers of open symbols, at which all parts attain their bounds
    tight: str | None = None  # under which condition no epsilon is smaller: "" for none; None where that is not shown
    identities: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # equal expressions, by reason
    assumes: Sequence[str] = ()  # names of hypotheses, and once it is checked their sentences
    admissions: Sequence[str] = ()  # what no machine checked, with its source
    steps: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self._check()))
        object.__setattr__(self, "assumes", tuple(HYPOTHESES[name][0] for name in self.assumes))

    def _check(self) -> Iterator[str]:
        if unknown := set(self.assumes) - set(HYPOTHESES):
            raise ProofError(self.sentence, f"{sorted(unknown)}, which no test compares with the code,")
        for name, value in self.fields.items():
            defined(value, name)
        for symbol, value in self.recover.items():
            yield equal(self.in_symbols(value), symbol, f"{symbol} is recovered")
        yield from (equal(left, right, why) for why, (left, right) in self.identities.items())
        if not self.parts:
            raise ProofError(self.sentence, "a theorem without a cost")
        for part in self.parts:
            if (times := part.cost()[0]).is_number and not (times.is_Integer and times > 0):
                raise ProofError(self.sentence, f"{times} times, where a whole number above 0 is needed,")
            yield from part.steps(self)
        there, back = (_exponents(part.cost(forward) for part in self.parts) for forward in (True, False))
        if any(sympy.cancel(there[each] - back[each]) != 0 for each in {*there, *back}):
            raise ProofError(self.sentence, "a view that costs more with the inputs exchanged")
        if self.tight is None:
            return
        if any(symbol in self.recover or not _is_within(symbol, sympy.sympify(value)) for symbol, value in self.worst.items()):
            raise ProofError("attained", f"{self.worst}, of which one is a field or out of its range,")
        if not all(part.attained(self) for part in self.parts):
            raise ProofError("attained", "a part without a view that attains its bound")
        yield f"attained, all parts at once{self.tight and ', '}{self.tight}"

    def in_symbols(self, value: Any) -> Expr:
        """What is stated in fields, in symbols."""
        return sympy.sympify(value).subs({named(name): symbols for name, symbols in self.fields.items()}, simultaneous=True)

    @property
    def statement(self) -> str:
        """The sentence, and the bound that was checked."""
        together: dict[tuple[Expr, bool], Expr] = {}
        for times, value, nats in (part.cost() for part in self.parts):
            before = together.get((times, nats))
            together[times, nats] = value if before is None else before + value if nats else before * value
        each = [n * (v if nats else sympy.log(v, evaluate=False) if v != 1 else 0) for (n, nats), v in together.items()]
        least = "" if self.tight is None else f", and no less{self.tight and ' '}{self.tight}"
        return f"{self.sentence} is private with epsilon = {' + '.join(map(str, each))}{least}"

    def at(self, mechanism: object) -> list[tuple[Fraction, Fraction, bool]] | None:
        """The proved epsilon of a mechanism, from its fields; None where the theorem is not about it."""
        owned = self.mechanism in {c.__name__ for c in type(mechanism).__mro__}
        return self.bound({name: getattr(mechanism, name) for name in self.fields}) if owned else None

    def bound(self, parameters: Mapping[str, Fraction | int]) -> list[tuple[Fraction, Fraction, bool]] | None:
        """The proved epsilon as terms (times, ratio, nats), exact; None where the theorem does not cover these."""
        if missing := set(self.fields) - set(parameters):
            raise ProofError("parameters", f"no value for {sorted(missing)}")
        values = {named(n): sympy.Rational(*Fraction(v).as_integer_ratio()) for n, v in parameters.items()}
        at = {symbol: sympy.sympify(expression).subs(values) for symbol, expression in self.recover.items()}
        inside = all(_is_within(symbol, value) for symbol, value in at.items())
        if not inside or any(sympy.sympify(e).subs(at) != values[named(n)] for n, e in self.fields.items()):
            return None
        terms = [(times.subs(values), value.subs(values), nats) for times, value, nats in (p.cost() for p in self.parts)]
        if not all(times.is_Integer and times >= 0 and value.is_Rational for times, value, _ in terms):
            raise ProofError("the bound", f"{terms}, where whole numbers of times at least 0 are needed,")
        return [(Fraction(t.p, t.q), Fraction(v.p, v.q), nats) for t, v, nats in terms]


def _is_within(symbol: Expr, value: Expr) -> bool:
    """Whether a symbol may stand for this number."""
    least = value.is_Rational and (value > 0 if symbol.is_positive else value >= 0)
    return bool(least and (value <= 1 or not isinstance(symbol, Share)))


def _exponents(costs: Iterable[tuple[Expr, Expr, bool]]) -> dict[Expr | None, Expr]:
    """Of the irreducible factors of a product of powers, and of e; not of -1, as every ratio is checked to be at least 1."""
    found: dict[Expr | None, Expr] = defaultdict(lambda: sympy.Integer(0))
    for times, value, nats in costs:
        if nats:
            found[None] += times * value
            continue
        for end, sign in zip(sympy.fraction(sympy.together(value)), (1, -1), strict=True):
            number, factors = sympy.factor_list(end)
            for base, power in (*factors, *sympy.factorrat(abs(number)).items()):
                found[base] += sign * times * power
    return found
