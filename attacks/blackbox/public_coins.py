"""Reports that name a public coin, such as the index of a hash function: the rest is to be read given the coin."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.encoding import Group
from ldpaudit.attacks.blackbox.features import Feature, feature

COINS, SIDES = 2, 64
"""Numbers of a report that may be coins, and values of a coin: with more, each value is too rare to learn from."""
PARTS, PAIRS = 256, 1 << 12
"""Numbers of a report that are looked at, and pairs of a value of the coin and a value of one of them."""
CELLS = 1 << 15  # patterns of the coin and all bits of a report, at most, where parities are looked at
_WORD = 31  # bits of the numbers that are looked at: a coin and a number fit into one int64
_LARGEST = 1 << _WORD


def with_coins(groups: Sequence[Group | None]) -> Iterator[Feature]:
    """Features of each number of a report given a coin, a family for each coin; and of all bits together."""
    leaves = [group.leaves for group in groups if group is not None]
    if not 1 < len(leaves[0]) <= PARTS:
        return
    values = [np.unique(np.concatenate(each)) for each in zip(*leaves, strict=True)]
    small = [j for j, v in enumerate(values) if v.dtype.kind == "i" and v.min() > -_LARGEST and v.max() < _LARGEST]
    coins = sorted((j for j in small if 2 < len(values[j]) <= SIDES), key=lambda j: -len(values[j]))[:COINS]
    for coin in coins:
        for j in small:
            if j != coin and len(values[j]) * len(values[coin]) <= PAIRS:
                name = f"number {j} where number {coin} is known"
                yield feature(f"the report's numbers given number {coin}", name, partial(_both, coin, j), groups, PAIRS)
    if len(small) == len(values):
        yield from (made for coin in (*coins, None) if (made := _bits(coin, values, groups)))


def _both(coin: int, j: int, group: Group) -> NDArray[np.int64]:
    return np.asarray((group.leaves[coin] << _WORD) + group.leaves[j])


def _bits(coin: int | None, values: list[NDArray[np.int64]], groups: Sequence[Group | None]) -> Feature | None:
    """The feature of all bits of a report, those of the coin first; None where there are too many."""
    # Two values are one bit, whatever they are.
    tops = [None if j == coin or len(v) != 2 else int(v[-1]) for j, v in enumerate(values)]
    widths = [0 if j == coin else 1 if len(v) == 2 else int(v.max()).bit_length() for j, v in enumerate(values)]
    sides = values[coin] if coin is not None else np.zeros(1, dtype=np.int64)
    cells = len(sides) << sum(widths)
    negative = any(v.min() < 0 and len(v) != 2 and j != coin for j, v in enumerate(values))
    if negative or cells > CELLS or cells * len(groups) > 8 * CELLS:
        return None
    read = _Pattern(coin, sides, tuple(widths), tuple(tops))
    places = [np.empty(0, dtype=np.int64) if group is None else read(group) for group in groups]
    counts = np.array([np.bincount(p, minlength=cells + 1) for p in places], dtype=np.float64)
    words = "" if coin is None else f" where number {coin} is known"
    return Feature(f"parity {len(sides)}", f"parities of the report's bits{words}", read, np.arange(cells), False, counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Pattern:
    """The index of a report's bits among all patterns, those of the coin first; for what is no pattern, the index after them."""

    coin: int | None
    sides: NDArray[np.int64]
    widths: tuple[int, ...]
    tops: tuple[int | None, ...]  # of a number with two values the larger one; None for other numbers

    def __call__(self, group: Group) -> NDArray[np.int64]:
        index, known = np.zeros(len(group.rows), dtype=np.int64), np.ones(len(group.rows), dtype=np.bool_)
        if self.coin is not None:
            index = np.minimum(np.searchsorted(self.sides, group.leaves[self.coin]), len(self.sides) - 1)
            known = self.sides[index] == group.leaves[self.coin]
        for j, (width, top) in enumerate(zip(self.widths, self.tops, strict=True)):
            if j != self.coin:
                bits = group.leaves[j] if top is None else (group.leaves[j] == top).astype(np.int64)
                known &= (bits >= 0) & (bits < 1 << width)
                index = (index << width) + bits
        return np.where(known, index, len(self.sides) << sum(self.widths))
