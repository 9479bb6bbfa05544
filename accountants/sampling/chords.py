r"""Chords of a profile: upper bounds of an adaptive composition of few losses, on a grid of epsilons, in floats that round up.

A profile is convex and decreasing in :math:`c = e^\varepsilon`, so the chords between computed points dominate it, and
have finitely many slopes. Composing one more round in front sums
shifted copies of the values behind it. All terms are positive, so the relative error is that of the additions; the
caller adds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up

PRECISION = 72
"""Bits for the masses of chords, 19 more than a float: differences of neighbouring values cancel by some bits."""
ROUNDING = 1e-12
"""Largest relative error of `Grid.apply`: it adds fewer than 1000 terms, none negative, at 2**-53 each."""
UNDERFLOW = 1e-316
"""Largest absolute error of `Grid.apply`, where fewer than 1000 products round to multiples of 5e-324."""

Row: TypeAlias = NDArray[np.float64]
"""Values at the points of a `Grid`."""


@dataclass(frozen=True, slots=True)
class Chords:
    """A profile that lies above another one, by its slopes: the masses of a pair with finitely many losses."""

    atoms: tuple[tuple[int, float], ...]  # losses in steps of the grid, and their masses
    infinite: float  # infinite-loss mass

    @classmethod
    def above(cls, points: Sequence[tuple[int, float]], total: float, step: Fraction) -> Chords:
        """The law whose profile is the chords through the points, by increasing index, and through (c = 0, `total`)."""
        with working_precision(PRECISION):
            nodes = [(i, (ball(step) * i).exp(), value) for i, value in points]
            atoms: list[tuple[int, float, flint.arb]] = []
            infinite = nodes[-1][2]
            for (_, c, value), (i, there, _) in zip(reversed(nodes[:-1]), reversed(nodes[1:]), strict=True):
                have = infinite + sum((mass * (1 - c / at) for _, mass, at in atoms), flint.arb(0))
                atoms.append((i, max(0.0, round_up((value - have) / (1 - c / there))), there))
            rest = total - sum((flint.arb(mass) for _, mass, _ in atoms), flint.arb(infinite))
            found = [(i, mass) for i, mass, _ in atoms if mass]
            return cls((*found, (nodes[0][0], max(0.0, round_up(rest)))), infinite)


@dataclass(frozen=True, slots=True)
class Grid:
    """Values at ``exp(i step)`` for ``first <= i <= last``, decreasing, of functions that are at most 1."""

    step: Fraction
    first: int
    last: int

    def start(self) -> Row:
        """max(0, 1 - c), rounded up."""
        losses = np.arange(self.first, self.last + 1) * float(self.step)
        # Above 0 the value is 0, however large the loss.
        return np.asarray((0.0 - np.expm1(np.minimum(losses, 0.0))) * (1 + 1e-14))

    def apply(self, kernel: Chords, values: Row) -> Row:
        """The profile with one more round in front; at most `ROUNDING` and `UNDERFLOW` too small."""
        out = np.full_like(values, kernel.infinite)
        for i, mass in kernel.atoms:
            if i >= 0:
                out[i:] += mass * values[: max(0, len(values) - i)]
                out[:i] += mass
            else:
                out[:i] += mass * values[-i:]
                out[i:] += mass * values[-1]
        return np.asarray(np.minimum(1.0, out))
