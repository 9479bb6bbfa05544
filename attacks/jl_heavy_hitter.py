"""The attack on JL-HH, in three readings of its pseudocode."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import kve

from ldpaudit.attacks.attack import Attack
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, FreshProjections, JLHeavyHitter
from ldpaudit.mechanisms.shared.projections.random_projection import Projected
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours

Score: TypeAlias = Callable[[Views], NDArray[np.float64]]

_FEW = 32
"""Noises in a sum up to which its density is taken from a Bessel function; with more it is taken for normal."""
_TINY = 1e-12
"""Scales by which a point is moved away from 0, where the Bessel function is infinite and the density is not."""


@singledispatch
def attack(m: Mechanism, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The pair and the score of any reading."""
    raise Unsupported(m, "it is no reading of JL-HH")


@attack.register
def projection(m: JLHeavyHitter, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The two columns that differ most; the losses of their entries add."""
    return _entries(m, 1, neighbours)


@attack.register
def projections(m: FreshProjections, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The same pair, seen once for each value."""
    return _entries(m, m.domain, neighbours)


@attack.register
def products(m: FreshProducts, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The same pair; the losses of the products add."""
    first, second = _pair(m, neighbours)
    unit = math.sqrt(m.rows) / m.noise_scale
    shifts = [m.products(x) for x in (first, second)]

    def score(views: Views) -> NDArray[np.float64]:
        one, other = (_log_density(m.rows, (np.asarray(views) - shift) * unit) for shift in shifts)
        losses: NDArray[np.float64] = np.sum(one - other, axis=-1)
        return losses

    return Attack((first, second), _laplace(shifts, unit) if m.rows == 1 else score, "products beyond the first value's")


def _pair(m: Projected, neighbours: Neighbours) -> tuple[int, int | None]:
    first, second, *_ = m.apart()
    return first, None if neighbours == ADD_REMOVE else second


def _entries(m: Projected, copies: int, neighbours: Neighbours) -> Attack:
    first, second = _pair(m, neighbours)
    columns = [np.tile(m.columns(x), copies) for x in (first, second)]
    differ = int(np.count_nonzero(columns[0] != columns[1]))
    return Attack((first, second), _laplace(columns, 1 / m.noise_scale), f"the {differ} entries that differ, all beyond both")


def _laplace(shifts: list[NDArray[np.float64]], unit: float) -> Score:
    """Loss of Laplace noise on either of two rows of numbers, whose differences have one modulus."""
    differ = np.flatnonzero(shifts[0] != shifts[1])
    one, other = (shift[differ] for shift in shifts)
    half = float(np.max(np.abs(one - other), initial=0.0)) / 2
    middle, signs = (one + other) / 2, np.sign(one - other)

    def score(views: Views) -> NDArray[np.float64]:
        # In units of the largest loss a coordinate's is exactly 1 or -1 beyond both numbers: equal sums stay equal.
        inside = np.clip((np.asarray(views)[:, differ] - middle) / (half or 1.0), -1, 1)
        losses: NDArray[np.float64] = inside @ signs
        return losses * (2 * half * unit)

    return score


def _log_density(terms: int, y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of a sum of Laplace noises of scale 1, up to a constant; for many of them that of a normal law."""
    if terms > _FEW:
        return -(y**2) / (4 * terms)
    size, order = np.maximum(np.abs(y), _TINY), terms - 0.5
    return np.asarray(order * np.log(size) + np.log(kve(order, size)) - size, dtype=np.float64)
