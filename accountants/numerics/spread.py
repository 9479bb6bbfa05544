"""Laws of many values in floats, spread to fewer values so that the mean is kept, which makes them larger in the convex order."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_AT_ONCE = 1 << 10
"""Floats above 0 that are added one after the other: a sum is right to twice as many roundings, and one more for each of these."""


def spread(values: Floats, masses: Floats, most: int) -> tuple[Floats, Floats]:
    """To at most this many of the values, and both ends, each as dense as the third root of what the mean square rests on.

    The masses, all above 0, are right to a relative 5e-13 where there are up to a million values.
    """
    w, p = values.ravel(), masses.ravel()
    if len(w) <= most:
        return w, p
    order = np.argsort(w)
    w, p = w[order], p[order]
    if w[0] == w[-1]:
        return w[:1], summed(np.zeros(1, dtype=np.intp), p)
    square = (p * w**2).sum()  # not by `@`: see `trapezoid.sums`
    dense, far = np.cumsum(np.cbrt(p * (square + w**2))), np.arcsinh(w / np.sqrt(square))
    dense = dense / dense[-1] + (far - far[0]) / (far[-1] - far[0])
    inner = np.searchsorted(dense, dense[-1] * np.linspace(0, 1, most))
    knots = np.unique(w[np.r_[0, np.minimum(inner, len(w) - 1), len(w) - 1]])
    starts = np.searchsorted(w, knots[:-1])
    each = np.diff(np.r_[starts, len(w)])
    low, high = np.repeat(knots[:-1], each), np.repeat(knots[1:], each)
    found = np.zeros(len(knots))
    found[:-1] = summed(starts, p * ((high - w) / (high - low)))
    found[1:] += summed(starts, p * ((w - low) / (high - low)))
    return knots[found > 0], found[found > 0]


def alike(values: Floats, masses: Floats, kinds: int) -> Floats:
    """One number for values that are alike: about this many for those of the size of the root of the mean square."""
    unit = float(np.abs(values).max()) or 1.0  # all may be 0; and a square may be no float
    scale = unit * math.sqrt(float((masses * (values / unit) ** 2).sum())) or 1.0
    return np.asarray(np.round(kinds * np.arcsinh(values / scale)), dtype=np.float64)


def summed(starts: NDArray[np.intp], values: Floats) -> Floats:
    """Sums of floats that are not negative, of those from each start to the next one."""
    every = np.union1d(starts, np.arange(0, len(values), _AT_ONCE))
    return np.asarray(np.add.reduceat(np.add.reduceat(values, every), np.searchsorted(every, starts)), dtype=np.float64)


def raised(values: Floats, masses: Floats, wrong: float) -> Floats:
    """Masses of a law that is at least any whose masses are these but for a part; the likeliest one is what is left of 1."""
    most = masses.argmax()
    return rest_of_one(masses * (1 + wrong * np.sign(values - values[most])), most)


def rest_of_one(masses: Floats, at: np.intp) -> Floats:
    """The same but for one of them: it is what the others leave of 1, to the last digit."""
    masses[at] = math.fsum([1.0, *-np.delete(masses, at)])
    return masses
