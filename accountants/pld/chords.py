r"""Profiles as chords: composition of a few atoms on a lattice of losses, in floats that only round up.

A profile is convex and decreasing in :math:`c = e^\varepsilon`, so the chords between computed points dominate it, and stand
for finitely many losses. One more level in front is then a sum of shifted copies of the values behind it, all terms
positive: its relative error is that of the additions, and is added by whoever applies it.
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
from ldpaudit.enclosure import round_up

PRECISION = 72
ROUNDING = 1e-12
"""Relative error of `Lattice.apply`, at most: sums of fewer than 1000 terms, none negative."""
UNDERFLOW = 1e-316
"""And its absolute error, where products are below the smallest floats."""

Row: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A profile above another: the masses under P' of finitely many losses.

    Parameters
    ----------
    atoms : tuple of (int, float)
        Losses in steps of the lattice, and their masses.
    infinite : float
        Mass of an infinite loss.
    """

    atoms: tuple[tuple[int, float], ...]
    infinite: float

    @classmethod
    def above(cls, points: Sequence[tuple[int, float]], total: float, step: Fraction) -> Kernel:
        """The chords through the points, in order of the index, and through (c = 0, `total`)."""
        with flint.ctx.workprec(PRECISION):
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
class Lattice:
    """Values at ``exp(i step)`` for ``first <= i <= last``, decreasing, of functions that are at most 1."""

    step: Fraction
    first: int
    last: int

    def start(self) -> Row:
        """max(0, 1 - c), rounded up."""
        losses = np.arange(self.first, self.last + 1) * float(self.step)
        return np.asarray(np.maximum(0.0, -np.expm1(losses)) * (1 + 1e-14))

    def apply(self, kernel: Kernel, values: Row) -> Row:
        """Compose with one more level in front, rounded up but for `ROUNDING` and `UNDERFLOW`."""
        out = np.full_like(values, kernel.infinite)
        for i, mass in kernel.atoms:
            if i >= 0:
                out[i:] += mass * values[: max(0, len(values) - i)]
                out[:i] += mass
            else:
                out[:i] += mass * values[-i:]
                out[i:] += mass * values[-1]
        return np.asarray(np.minimum(1.0, out))
