"""What a report of independent bits adds to a sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

Move: TypeAlias = tuple[int, int]
"""(a, b): bits of which user 1 holds a one first and then a zero, and bits of which it is the other way round."""


CountLaw: TypeAlias = tuple[Fraction, ...]
"""Probability of each count from 0 on that is reported of a bit; of a single noisy bit those of 0 and 1."""


def coin(p: Fraction) -> CountLaw:
    """Of 1 with probability p."""
    return 1 - p, p


@dataclass(frozen=True)
class Bits:
    """Independent noisy bits, or counts; two inputs of user 1 differ in some of them, and all others have the same law."""

    one: CountLaw  # where the bit is 1
    zero: CountLaw  # where it is 0; of the same counts
    attained: frozenset[
        Move
    ]  # largest moves between two inputs; (b, a) with every (a, b), for neighbours are symmetric
    possible: frozenset[Move]  # no two inputs are further apart
    # whether an input sets none of the bits in which two inputs differ; None where no input was looked for
    spare: bool | None
    # of each attained move, what user 1 holds first and what then, None where it is absent; and an input of those that are spare
    values: Mapping[Move, tuple[Any, Any]] = field(default_factory=dict, compare=False)
    other: Any = field(default=None, compare=False)

    @property
    def is_one_symmetric_bit(self) -> bool:
        """Whether user 1's two reports differ in one bit, and zeros are as noisy as ones."""
        return self.possible == {(1, 0), (0, 1)} and len(self.one) == 2 and self.one == self.zero[::-1]

    def repeated(self, rounds: int) -> Bits:
        """Of this many reports of a user, each summed with those of its round."""
        if rounds == 1:
            return self
        attained, possible = (
            frozenset((a * rounds, b * rounds) for a, b in moves) for moves in (self.attained, self.possible)
        )
        values = {(a * rounds, b * rounds): held for (a, b), held in self.values.items()}
        return replace(self, attained=attained, possible=possible, spare=None, values=values)
