r"""The expected positive parts of one sum beside many numbers: what one contour knows serves all whose saddle points are near.

.. math:: E(c + S)_+ = \frac{1}{2\pi} \int \frac{e^{(\sigma + it) c}\, M(\sigma + it)^n}{(\sigma + it)^2}\, dt, \qquad
          S = \sum_{i \le n} V_i, \quad M(s) = E\, e^{s V}

As in `positive_part`, where c is a part of the values. The powers at the nodes, and the bounds of aliasing and of the nodes left
out, are those of S alone; a number c only turns their phases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NamedTuple

import flint
import numpy as np

from ldpaudit.accountants.numerics.positive_part import PointMass, contour_nodes, in_floats, powers
from ldpaudit.accountants.numerics.saddle import Tilt
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_bits, working_precision

_PER_OCTAVE = 3  # contours: a number is no further from its own than makes the integrand some times larger
_FINER = 1.5  # times by which the errors are smaller than the tolerance, for that


class _Line(NamedTuple):
    """What is known of S on a contour, in units of M**n where it crosses the real line."""

    sigma: float
    step: float
    half_width: float  # of the strip
    scale: flint.arb  # M**n there
    edges: tuple[flint.arb, flint.arb]  # bounds of aliasing by either edge
    powers: list[tuple[int, flint.acb]]  # of each node that is evaluated: M**n/s**2
    left_out: float  # bound of all others


@dataclass(frozen=True, eq=False)
class ShiftedSum:
    """A sum of n independent copies of a value, whose law is this one."""

    atoms: tuple[PointMass, ...]
    n: int
    _lines: dict[tuple[int, float], _Line | None] = field(default_factory=dict)

    def positive_part(self, c: flint.arb, tolerance: float) -> flint.arb | None:
        """Enclose the expectation where c is added, at this relative tolerance; None where that fails."""
        law, unit = self._law, self._unit
        shifted = replace(law, values=law.values + float(c / unit) / self.n)
        if not shifted.values.min() < 0 < shifted.values.max():
            return None
        level = round(_PER_OCTAVE * math.log2(shifted.saddle()))
        with working_precision(working_bits() + 16):
            if (level, tolerance) not in self._lines:
                self._lines[level, tolerance] = self._line(2.0 ** (level / _PER_OCTAVE), tolerance / _FINER)
            if (line := self._lines[level, tolerance]) is None:
                return None
            at, turn = c / unit, c / unit * line.step
            total = 1 / flint.arb(line.sigma) ** 2
            for k, power in line.powers:
                total += 2 * (power * flint.acb(0, k * turn).exp()).real
            up, down = (edge * (sign * line.half_width * at).exp() for edge, sign in zip(line.edges, (1, -1), strict=True))
            error = (up + down + line.left_out).abs_upper()
            total = line.step * total + flint.arb(0, error)
            if not (total > 0 and total.rad() <= total.mid() * tolerance):
                return None
            return unit * line.scale * (line.sigma * at).exp() * total / (2 * flint.arb.pi())

    @cached
    def _unit(self) -> flint.arb:
        return reduce(flint.arb.max, (abs(value) for value, _ in self.atoms)).mid()

    @cached
    def _scaled(self) -> list[PointMass]:
        """In units of the largest value."""
        return [(value / self._unit, p) for value, p in self.atoms]

    @cached
    def _law(self) -> Tilt:
        return in_floats(self._scaled, self.n)

    def _line(self, sigma: float, tolerance: float) -> _Line | None:
        """The contour of the number whose saddle point is here."""
        law, n = self._law, self.n
        tilt = replace(law, values=law.values + 2 / (n * sigma) - law.mean_and_variance(sigma)[0])
        try:
            with np.errstate(over="ignore", invalid="raise"):
                h, a, nodes, left_out = contour_nodes(tilt, sigma, tolerance, tolerance / 2)
        except (ArithmeticError, ValueError):
            return None
        def weighted(s: flint.arb) -> list[flint.arb]:
            return [p * (s * value).exp() for value, p in self._scaled]

        weights, cells = weighted(flint.arb(sigma)), (2 * flint.arb.pi() * a / h).exp() - 1
        here, edges = sum(weights, flint.arb(0)), (flint.arb(sigma) + a, flint.arb(sigma) - a)
        up, down = ((sum(weighted(s), flint.arb(0)) / here) ** n * flint.arb.pi() / s / cells for s in edges)
        tilted = [(value, w / here) for (value, _), w in zip(self._scaled, weights, strict=True)]
        found = list(zip(nodes, powers(tilted, n, sigma, h, nodes), strict=True))
        return _Line(sigma, h, a, here**n, (up, down), found, left_out)
