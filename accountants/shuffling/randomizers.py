r"""How well a given mechanism hides one user's message among the others': from above and from below.

From above, the *blanket*: the density :math:`b(y) = \min_x R(x)(y)` is part of every input's law. From below, explicit
data sets: all others hold one value, x1, x2 or a third one, and then b is that value's law. `blanket` says the rest.
The first neighbour's user 1 holds x1, the second one's x2.

For several mechanisms all laws are :math:`R(x)(y) = \mathrm{base}(y)\, r(\text{how } y \text{ matches } x)`, so that what
counts is only the law, under base, of how y matches x1, x2 and a third value; the domain may be huge.

The blanket is never worse than the clones: :math:`e^{-\varepsilon_0} (R(x_1) + R(x_2))/2 \le b`, and whoever hides in a
part of b can be simulated by whoever hides in all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import comb
from typing import Any, TypeAlias

from ldpaudit.accountants.shuffling.blanket import Hiding
from ldpaudit.accountants.shuffling.bloom import blankets, crowd
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding

Pattern: TypeAlias = tuple[int, ...]
"""How a view matches x1, x2 and, where it is known, the third value."""

_MOST_CELLS = 1 << 16
"""Views times inputs up to which a law is tabulated; some seconds."""
_MOST_PAIRS = 12
"""Pairs of inputs, up to symmetry, up to which all of them are evaluated."""
_SEARCHED = 64
"""Values among which a third one is looked for."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """An explicit data set: user 1 holds `pair[0]` or `pair[1]`, and every other user `other`."""

    hiding: Hiding
    pair: tuple[Any, Any]
    other: Any


@dataclass(frozen=True, slots=True)
class Blanket:
    """What bounds the shuffled mechanism.

    Parameters
    ----------
    uppers : tuple of Hiding
        The bound is the largest of them: one for every pair of inputs, up to symmetry.
    crowds : tuple of Crowd
        Data sets; any of them is a lower bound.
    """

    uppers: tuple[Hiding, ...]
    crowds: tuple[Crowd, ...]


def blanket(m: Mechanism) -> Blanket | None:
    """What hides a user of the shuffled mechanism; None where its laws are neither matched nor small enough to list.

    Parameters
    ----------
    m : Mechanism
        Any; replace-one neighbours.

    Returns
    -------
    Blanket or None
        Exact rationals.
    """
    if isinstance(m, Rappor | PermanentRappor):
        return _bloom(m)
    structure = _matches(m)
    return _tabulated(m) if structure is None else _matched(structure)


@dataclass(frozen=True, slots=True)
class _Matches:
    """Laws ``base(y) * ratio[how y matches x]``, alike for every pair of inputs.

    Parameters
    ----------
    inputs : tuple
        x1, x2 and, where the law of three matches is known and there are three inputs, a third value.
    patterns : mapping of Pattern to Fraction
        Law under base of how y matches those inputs.
    ratio : mapping of int to Fraction
        By match.
    complete : bool
        Whether there are no more inputs.
    """

    inputs: tuple[Any, ...]
    patterns: Mapping[Pattern, Fraction]
    ratio: Mapping[int, Fraction]
    complete: bool


def _matched(m: _Matches) -> Blanket:
    least = min(m.ratio.values())

    def hiding(others: Mapping[Pattern, Fraction]) -> Hiding:
        cells = ((w * m.ratio[y[0]], w * m.ratio[y[1]], w * others[y]) for y, w in m.patterns.items())
        return Hiding.of(cells)

    below = {y: min(m.ratio[match] for match in y) if m.complete else least for y in m.patterns}
    crowds = tuple(
        Crowd(hiding({y: m.ratio[y[i]] for y in m.patterns}), m.inputs[:2], other) for i, other in enumerate(m.inputs)
    )
    return Blanket((hiding(below),), crowds)


def _matches(m: Mechanism) -> _Matches | None:
    match m:
        case KaryRandomizedResponse(k, p):
            return _known(m, _one_hot(k, min(k, 3)), {1: k * p, 0: k * m.lie})
        case UnaryEncoding(k, p, q):
            return _known(m, _independent((1 - q, q), min(k, 3)), {1: p / q, 0: (1 - p) / (1 - q)})
        case SubsetSelection(k, d, p):
            return _known(m, _subset(k, d, min(k, 3)), {1: p * k / d, 0: (1 - p) * k / (k - d)})
        case HadamardResponse(k, p):
            return _hadamard(m)
        case LocalHashing(g, p):
            # Three hashes of a linear function are not independent: only two are known for all inputs at once.
            both, one = m.collision / g, (1 - m.collision) / g
            patterns: dict[Pattern, Fraction] = {(1, 1): both, (1, 0): one, (0, 1): one, (0, 0): 1 - both - 2 * one}
            return _known(m, patterns, {1: g * p, 0: g * m.lie})
    return None


def _known(m: Mechanism, patterns: Mapping[Pattern, Fraction], ratio: Mapping[int, Fraction]) -> _Matches:
    size = len(next(iter(patterns)))
    return _Matches(tuple(m.inputs[:size]), patterns, ratio, len(m.inputs) == size)


def _one_hot(k: int, size: int) -> dict[Pattern, Fraction]:
    """A uniform draw from k values."""
    hits = {tuple(int(i == j) for j in range(size)): Fraction(1, k) for i in range(size)}
    return {**hits, (0,) * size: Fraction(k - size, k)}


def _independent(bit: Sequence[Fraction], size: int) -> dict[Pattern, Fraction]:
    """Independent bits."""
    patterns = product((0, 1), repeat=size)
    return {y: bit[0] ** (size - sum(y)) * bit[1] ** sum(y) for y in patterns}


def _subset(k: int, d: int, size: int) -> dict[Pattern, Fraction]:
    """A uniform d-subset of k values."""
    patterns = product((0, 1), repeat=size)
    return {y: Fraction(comb(k - size, d - sum(y)), comb(k, d)) for y in patterns if d >= sum(y)}


def _hadamard(m: HadamardResponse) -> _Matches:
    """Rows 1 and 2 of the Hadamard matrix are independent, and row 3 is their product: the third value that hides least."""
    pairs = _independent((Fraction(1, 2), Fraction(1, 2)), 2)
    triples: dict[Pattern, Fraction] = {(a, b, int(a == b)): w for (a, b), w in pairs.items()}
    return _known(m, pairs if m.k == 2 else triples, {1: 2 * m.p, 0: 2 * (1 - m.p)})


def _bloom(m: Rappor | PermanentRappor) -> Blanket | None:
    """Bits of a Bloom filter."""
    laws = m.bit_law(0), m.bit_law(1)
    uppers = blankets(m.bits, m.hashes, laws)
    if uppers is None:
        return None
    seen = {value: _signature(m, value) for value in range(min(m.domain, _SEARCHED))}
    crowds = []
    for x, x2 in {order for a, b in m.differences.values() for order in ((a, b), (b, a))}:
        first, second = _signature(m, x), _signature(m, x2)
        free = [third for third in seen if third not in (x, x2)]
        third = min(free, key=lambda other: len(seen[other] & (first | second)), default=x)
        for other in dict.fromkeys((x, x2, third)):
            if (found := crowd((first, second, _signature(m, other)), laws)) is not None:
                crowds.append(Crowd(found, (x, x2), other))
    return Blanket(uppers, tuple(crowds)) if crowds else None


def _signature(m: Rappor | PermanentRappor, x: int) -> set[int]:
    return set(m.signature(x).nonzero()[0].tolist())


def _tabulated(m: Mechanism) -> Blanket | None:
    """Every pair of inputs of a law that can be listed."""
    if not isinstance(m.inputs, range):
        return None  # a range is the whole domain; another sequence may only name the inputs that are hardest to hide
    try:
        inputs = list(m.inputs) if 1 < len(m.inputs) <= _MOST_CELLS else []
        if not inputs or m.law(inputs[0]).size * len(inputs) > _MOST_CELLS:
            return None
        laws = [dict(m.law(x).items()) for x in inputs]
    except Unsupported:
        return None
    views = list(laws[0])
    below = [min(law[y] for law in laws) for y in views]

    def hiding(pair: tuple[int, int], others: Iterable[Fraction]) -> Hiding:
        first, second = laws[pair[0]], laws[pair[1]]
        return Hiding.of((first[y], second[y], b) for y, b in zip(views, others, strict=True))

    pairs: dict[Hiding, tuple[int, int]] = {}
    for pair in permutations(range(len(inputs)), 2):
        pairs.setdefault(hiding(pair, below), pair)
        if len(pairs) > _MOST_PAIRS:
            return None
    crowds: dict[Hiding, Crowd] = {}
    for pair in pairs.values():
        for other, law in enumerate(laws):
            found = hiding(pair, law.values())
            crowds.setdefault(found, Crowd(found, (inputs[pair[0]], inputs[pair[1]]), inputs[other]))
    return Blanket(tuple(pairs), tuple(crowds.values()))
