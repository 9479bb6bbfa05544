"""What the kernel checks, as SMT-LIB 2 for solvers that share nothing with it (`prove --smt`): a test, no part of a verdict.

A script has a block for each sentence of a theorem, up to ``(reset)``: the symbols with their ranges, and that the sentence is
false or one of its denominators 0. It holds where the answer is ``unsat``. No solver sees whether it is about the right
law. What is written alike on both sides is left out, and so are tables of numbers, whose entries are all looked at.
"""

from collections.abc import Iterable, Iterator
from functools import cache, reduce

import sympy
from sympy import Expr, Integer
from sympy.logic.boolalg import Boolean

from ldpaudit.proofs._algebra import Share
from ldpaudit.proofs._kernel import Noise, Part, Theorem, _exponents
from ldpaudit.proofs._steps import Steps

_OPERATORS = {
    sympy.Le: "<=", sympy.Lt: "<", sympy.Eq: "=", sympy.And: "and", sympy.Or: "or", sympy.Add: "+", sympy.Mul: "*",
}  # fmt: skip


def scripts(proofs: Iterable[tuple[str, object]]) -> Iterator[tuple[str, str]]:
    """Of numbered proofs by stem the name and the script of each that has sentences."""
    for i, (stem, proof) in enumerate(proofs, 1):
        if isinstance(proof, Theorem | Steps):
            yield f"{stem.replace(':', '-')}-{i}", script(proof)


def script(proof: Theorem | Steps) -> str:
    """A block for each sentence of a proof."""
    found = sentences(proof) if isinstance(proof, Theorem) else ((why, _said(a, r, b)) for why, a, r, b in proof.sentences)
    told = ((why, said) for why, said in found if not isinstance(said, sympy.Eq) or said.lhs != said.rhs)
    return "".join(f"; {' '.join(why.split())}\n{_block(said)}" for why, said in told)


def sentences(t: Theorem) -> Iterator[tuple[str, Boolean]]:
    """What has to hold for all symbols in their ranges, with its reason."""
    yield from ((f"{name} is defined", _said(value, "<=", value)) for name, value in t.fields.items())
    yield from ((f"{symbol} is recovered", _said(t.in_symbols(value), "=", symbol)) for symbol, value in t.recover.items())
    yield from ((why, _said(left, "=", right)) for why, (left, right) in t.identities.items())
    for part in t.parts:
        yield from _of_part(part, t) if isinstance(part, Part) else _of_noise(part, t)
        for forward in (True, False):
            _, value, nats = part.cost(forward)
            if not nats:
                powers = (base**power for base, power in _exponents([(Integer(1), value, False)]).items())
                product = reduce(lambda a, b: sympy.Mul(a, b, evaluate=False), powers, Integer(1))
                sides = t.in_symbols(value), t.in_symbols(product)  # of a value that is at least 1
                either = (_said(sides[0], "=", sign * sides[1]) for sign in (1, -1))
                yield f"the factors of {value}", sympy.Or(*either, evaluate=False)
    there, back = (_exponents(part.cost(forward) for part in t.parts) for forward in (True, False))
    for each in {**there, **back}:
        yield f"{each} as often in either direction", _said(t.in_symbols(there[each]), "=", t.in_symbols(back[each]))


def _of_part(part: Part, t: Theorem) -> Iterator[tuple[str, Boolean]]:
    ratios = [t.in_symbols(part.cost(forward)[1]) for forward in (True, False)]
    yield from (("a bound that also holds where nothing differs", _said(1, "<=", ratio)) for ratio in ratios)
    attained = []
    for law in part.laws:
        cells = {name: (1, *cell) if len(cell) == 2 else cell for name, cell in law.items()}
        for name, (views, p, q) in cells.items():
            yield from ((name, _said(0, "<=", value)) for value in (views, p, q))
            yield from ((name, _said(x, "<=", ratio * y)) for x, y, ratio in ((p, q, ratios[0]), (q, p, ratios[1])))
            v, a, b = (sympy.sympify(value).subs(t.worst) for value in (views, p, q))
            attained.append(sympy.And(_said(a, "=", ratios[0] * b), _said(0, "<", v), _said(0, "<", a), evaluate=False))
        for place in (1, 2):
            yield "the cells sum to 1", _said(sum((cell[0] * cell[place] for cell in cells.values()), Integer(0)), "=", 1)
    if t.tight is not None:
        yield "attained", sympy.Or(*attained, evaluate=False)


def _of_noise(noise: Noise, t: Theorem) -> Iterator[tuple[str, Boolean]]:
    nats = t.in_symbols(noise.nats)
    yield "a distance", _said(0, "<=", noise.change)
    yield "what a number changes by, in scales", _said(noise.change, "<=", nats)
    if t.tight is not None:
        yield "attained", _said(sympy.sympify(noise.change).subs(t.worst), "=", nats)


def _said(left: object, relation: str, right: object) -> Boolean:
    kind = {"<=": sympy.Le, "<": sympy.Lt, "=": sympy.Eq}[relation]
    return kind(sympy.sympify(left), sympy.sympify(right), evaluate=False)


@cache
def _block(said: Boolean) -> str:
    """One sentence without fractions: unsat where it holds for all symbols, and no denominator vanishes."""
    bottoms = {sympy.fraction(each)[1] for each in sympy.preorder_traversal(said) if isinstance(each, sympy.Mul | sympy.Pow)}
    poles = [_said(sympy.fraction(sympy.together(each))[0], "=", 0) for each in sorted(bottoms, key=str) if not each.is_number]
    symbols = sorted(said.free_symbols, key=str)
    lines = [f"; {said}", "(set-logic QF_NRA)", *(f"(declare-const |{symbol}| Real)" for symbol in symbols)]
    lines += [f"(assert {_text(_said(0, '<' if symbol.is_positive else '<=', symbol))})" for symbol in symbols]
    lines += [f"(assert {_text(_said(symbol, '<=', 1))})" for symbol in symbols if isinstance(symbol, Share)]
    lines += [f"(assert (or (not {_text(_cleared(said))}) {' '.join(map(_text, poles))}))", "(check-sat)", "(reset)"]
    return "\n".join(lines) + "\n"


def _cleared(said: Boolean) -> Boolean:
    """The sentence times the denominators of both sides, which are above 0."""
    if not isinstance(said, sympy.core.relational.Relational):
        return said.func(*map(_cleared, said.args), evaluate=False)
    (a, b), (c, d) = (sympy.fraction(sympy.together(side)) for side in said.args)
    above = [_said(0, "<", each) for each in (b, d) if not each.is_number and not isinstance(said, sympy.Eq)]
    return sympy.And(said.func(a * d, c * b, evaluate=False), *above, evaluate=False)


def _text(e: Expr | Boolean) -> str:
    """An expression or a sentence in prefix form."""
    if isinstance(e, sympy.Symbol):
        return f"|{e.name}|"
    if isinstance(e, sympy.Rational):
        size = f"{abs(e.p)}.0" if e.q == 1 else f"(/ {abs(e.p)}.0 {e.q}.0)"
        return size if e.p >= 0 else f"(- {size})"
    if isinstance(e, sympy.Pow):
        return f"(* {' '.join([_text(e.base)] * int(e.exp))})"
    (operator,) = (text for kind, text in _OPERATORS.items() if isinstance(e, kind))
    return f"({operator} {' '.join(map(_text, e.args))})"
