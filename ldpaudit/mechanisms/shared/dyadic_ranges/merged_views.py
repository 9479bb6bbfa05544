"""Views of one Hadamard oracle that count messages for any of several elements, which need not be independent of each other.

A message is a random matrix, and speaks for the elements in its kernel: for one more, which is no sum of those known to be in it,
with probability p, and for a sum of those certainly. What a message shows of two sets of elements follows from that.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import KINDS, Group, Shares
from ldpaudit.mechanisms.shared.linear_codes.gf2 import reduced


def chance_of_none(asked: tuple[int, ...], held: tuple[int, ...], hit: Fraction) -> Fraction:
    """Probability that a message speaks for none of the asked elements; `held`: a basis of what it is known to speak for."""
    rests = [reduced(each, list(held)) for each in asked]
    if not all(rests):
        return Fraction(0)
    if not rests:
        return Fraction(1)
    last, more = rests[-1], asked[:-1]
    return chance_of_none(more, held, hit) - hit * chance_of_none(more, (*held, last), hit)


def shares_of(first: tuple[int, ...], second: tuple[int, ...], held: tuple[int, ...], hit: Fraction) -> Shares:
    """What a message shows: it speaks for some of the first elements and none of the second, the other way round, both, neither."""
    no_first, no_second, none = (chance_of_none(asked, held, hit) for asked in (first, second, first + second))
    return no_second - none, no_first - none, 1 - no_first - no_second + none, none


def elements_apart(m: Any, most: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Elements that only one of the two inputs has, at most `most` of either; ``m``: boxes over one oracle."""
    first, second = (m.oracle.elements(m.grid.column(x)) for x in m.inputs)
    return tuple(e for e in first if e not in second)[:most], tuple(e for e in second if e not in first)[:most]


def merged_groups(m: Any, x: Any, most: int) -> tuple[Group, ...]:
    """All users' messages by what they show of `elements_apart`, those of the blanket first; all others hold the second input."""
    first, second = elements_apart(m, most)
    sent = Counter(m.oracle.elements(m.grid.column(x)))
    for element in m.oracle.elements(m.grid.column(m.inputs[1])):
        sent[element] += m.users - 1
    groups: Counter[Shares] = Counter()
    for element, number in sent.items():
        groups[shares_of(first, second, (element,), m.hit)] += number
    return (m.users * m.rho, shares_of(first, second, (), m.hit)), *((number, shares) for shares, number in groups.items())


def drawn(groups: tuple[Group, ...], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Numbers of each kind of message in many views, shape ``(size, 4)``."""
    parts = (rng.multinomial(number, [float(p) for p in shares], size) for number, shares in groups)
    return np.asarray(sum(parts, np.zeros((size, KINDS), dtype=np.int64)))
