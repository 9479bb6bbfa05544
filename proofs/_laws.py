"""The trusted part, second of three: the laws of a part of a view on two inputs, and what such parts cost together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import sympy
from sympy import Expr

from ldpaudit.errors import ProofError
from ldpaudit.proofs._algebra import Algebra

Cell: TypeAlias = tuple[Any, Any, Any]
"""How many views it holds, and the probability of each on the first input and on the second."""
Law: TypeAlias = Mapping[str, tuple[Any, Any] | Cell]
"""Cells by name; a cell of two entries holds one view."""
Cells: TypeAlias = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Factor:
    """`times` independent parts of a view, each of which costs log(ratio), or `ratio` nats where `nats` is set."""

    times: Expr  # in the mechanism's fields
    ratio: Expr
    laws: tuple[Cells, ...]  # those that a part may have on two inputs
    attained: bool  # whether a view of positive probability costs as much
    both_ways: bool  # whether the bound holds with the inputs exchanged too
    nats: bool = False  # see above
    at: Mapping[Expr, Any] = field(default_factory=dict)  # numbers of symbols at which it is attained


def exhaustive(algebra: Algebra, law: Law) -> Cells:
    """The cells of a law; a `ProofError` where one may be negative, or where they do not sum to 1 on either input."""
    cells = tuple(cell if len(cell) == 3 else (1, *cell) for cell in law.values())
    for name, cell in zip(law, cells, strict=True):
        if not all(algebra.holds(0, number, name) for number in cell):
            raise ProofError(name, f"{cell}, of which no sign is visible,")
    for place, which in ((1, "first"), (2, "second")):
        total = sum((cell[0] * cell[place] for cell in cells), sympy.Integer(0))
        algebra.equal(total, 1, f"the cells ({', '.join(law)}) are all that there is on the {which} input")
    return cells


def require_both_ways(algebra: Algebra, factors: Iterable[Factor]) -> None:
    """A `ProofError` where factors bound only one of the two directions of a pair of inputs.

    With the inputs exchanged, each of them has to cost what one of them does: one for one.
    """
    several = list(factors)

    @cache
    def covered(one: int, other: int) -> bool:
        return several[one].both_ways if one == other else _exchanged(algebra, several[one], several[other])

    def matched(one: int, free: frozenset[int]) -> bool:
        """Whether this factor and those after it find partners among the free ones; itself first."""
        known = sorted(free, key=lambda other: other != one)
        return not free or any(covered(one, other) and matched(one + 1, free - {other}) for other in known)

    if not matched(0, frozenset(range(len(several)))):
        costs = " + ".join(f"log({factor.ratio})" for factor in several if not factor.both_ways)
        raise ProofError(f"the cost {costs}", "a law that costs more with the inputs exchanged")


def _exchanged(algebra: Algebra, factor: Factor, other: Factor) -> bool:
    """Whether the laws of another factor, as often, are those of this one with the inputs exchanged."""
    turned = [tuple((views, q, p) for views, p, q in law) for law in factor.laws]
    known = all(any(_same(algebra, law, each) for each in other.laws) for law in turned)
    return known and factor.times == other.times


def _same(algebra: Algebra, law: Cells, other: Cells) -> bool:
    def alike(a: Cell, b: Cell) -> bool:
        return all(algebra.difference(x, y, "a cell") == 0 for x, y in zip(a, b, strict=True))

    return len(law) == len(other) and all(any(alike(a, b) for b in other) for a in law)


def in_words(factors: Iterable[Factor]) -> str:
    """The sum of the costs, in the mechanism's fields."""
    together: dict[tuple[Expr, bool], Expr] = {}
    for f in factors:
        before = together.get((f.times, f.nats), sympy.Integer(0 if f.nats else 1))
        together[f.times, f.nats] = before + f.ratio if f.nats else before * f.ratio
    return " + ".join(_term(times, value, nats) for (times, nats), value in together.items())


def _term(times: Expr, value: Expr, nats: bool) -> str:
    return str(times * (value if nats else sympy.Integer(0) if value == 1 else sympy.log(value, evaluate=False)))
