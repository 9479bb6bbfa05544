"""Elements of two users, free of all others, by which one Hadamard oracle tells them apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import isqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.dyadic_ranges.nodes import Grid
from ldpaudit.mechanisms.shared.linear_codes.gf2 import reduced
from ldpaudit.mechanisms.shared.linear_codes.kernels import coordinates
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard

_WIDEST = 12
"""Elements of either value that are tried."""
_VALUES = 16
"""Values that are tried for the others."""
_WORK = 1 << 22
"""Elements that are looked at, over all tries: about a second. Users in eight dimensions hold hundreds of thousands each."""


class Told(NamedTuple):
    """What tells two values apart: elements of either, all independent, and the value that all other users hold.

    No other element of the two values is a sum of these, and none of the others' value, unless that is the second value:
    then only one element of each is looked at, and the others hold the second of them.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    others: int


@lru_cache(maxsize=256)
def told(grid: Grid, oracle: ShuffledHadamard) -> Told | None:
    """As many elements of the first and the last value as a greedy search finds; None where it finds none."""
    last = grid.cells - 1
    one, other = (set(oracle.elements(grid.column(value))) for value in (0, last))
    values = max(1, min(_VALUES, last - 1, _WORK // len(one | other)))
    widest = max(1, min(_WIDEST, isqrt(_WORK // (len(one | other) * values))))
    pairs = list(product(sorted(one - other, reverse=True)[:widest], sorted(other - one, reverse=True)[:widest]))
    best: Told | None = None
    for value in range(1, min(last, values + 1)):
        held = set(oracle.elements(grid.column(value)))
        found = _grown([pair for pair in pairs if not held & set(pair)], one | other | held)
        if found and (best is None or len(found) > len(best.first)):
            best = Told(tuple(u for u, _ in found), tuple(v for _, v in found), value)
    if best is None and (single := next(_singles(pairs, one | other), None)):
        best = Told((single[0],), (single[1],), last)
    return best


Pair = tuple[int, int]


def _grown(pairs: list[Pair], held: set[int]) -> list[Pair]:
    """Pairs, as long as one more leaves all independent, and no other element that is held a sum of theirs."""
    found: list[Pair] = []
    for pair in pairs:
        used = {each for before in found for each in before}
        if not used & set(pair) and _is_free((*used, *pair), held):
            found.append(pair)
    return found


def _singles(pairs: list[Pair], held: set[int]) -> Iterator[Pair]:
    return (pair for pair in pairs if _is_free(pair, held))


def _is_free(chosen: tuple[int, ...], held: set[int]) -> bool:
    basis: list[int] = []
    for vector in chosen:
        if not (rest := reduced(vector, basis)):
            return False
        basis.append(rest)
    others: NDArray[np.int64] = np.array(sorted(held - set(chosen)), dtype=np.int64)
    return not coordinates(others, basis)[1].any()
