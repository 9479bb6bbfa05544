"""The attack on noise on a number, Laplace's or Gaussian, and on Laplace noise on the column of a public matrix that a value is."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import kve

from ldpaudit.attacks.attack import Attack, Floats, Noise, Summand, Summands, require_listed
from ldpaudit.enclosure import round_up
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.gaussian_report import GaussianReport
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.mechanisms.shared.projections.noisy_column import NoisyColumn
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

Score: TypeAlias = Callable[[Views], NDArray[np.float64]]

_EVENTS = {
    "BucketHeavyHitter": "the {} bits that differ, all beyond 0 and 1",
    "GlpsHeavyHitter": "the {} measurements that differ, all beyond the two columns",
    "JLHeavyHitter": "the {} entries that differ, all beyond both",
    "FreshProjections": "the {} entries that differ, all beyond both",
    "FreshProducts": "products beyond the first value's",
}
"""What the extreme scores are, by the class of the mechanism; of how many numbers."""
_FEW = 16
"""Noises in a sum up to which its density is taken from a Bessel function; with more, from that function's expansion."""
_DEVIATIONS, _NATS = 12, 40  # the noise of a sum is listed up to 12 deviations and 40 scales
_TINY = 1e-12
"""Scales by which a point is moved away from 0, where the Bessel function is infinite and the density is not."""


def attack(m: Mechanism, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """The two ends, or the inputs whose columns are furthest apart; the losses of all numbers add."""
    if isinstance(m, Laplace):
        scores = _by_laplace_noise(np.array([[m.inputs[0]], [m.inputs[1]]]), float(m.scale))
        return Attack(m.inputs, lambda views: scores(np.asarray(views)[:, None]), "{y <= low}, {y >= high}")
    if isinstance(m, GaussianReport):
        (low, high), sigma = m.inputs, float(m.sigma)

        def score(views: Views) -> NDArray[np.float64]:
            return np.asarray((low - high) / sigma * ((np.asarray(views) - (low + high) / 2) / sigma), dtype=np.float64)

        return Attack(m.inputs, score, "{y far below low}, {y far above high}")
    if not isinstance(m, NoisyColumn):
        raise Unsupported(m, "its noise is not Laplace's")
    first, *others = (_of_pair(m, pair) for pair in m.pairs(neighbours))
    return Attack(first.pair, first.score, first.event, baits=tuple(others))


def _of_pair(m: NoisyColumn, pair: tuple[Any, Any]) -> Attack:
    """Two inputs told apart by all numbers in which their columns differ."""
    columns = np.stack([m.column(x) for x in pair])
    differ = np.flatnonzero(columns[0] != columns[1])
    of_noise = _by_laplace_noise(columns[:, differ], round_up(m.scale))

    def score(views: Views) -> NDArray[np.float64]:
        return of_noise(np.asarray(views)[:, differ])

    if isinstance(m, LaplaceHistogram):
        return Attack(pair, score, "{y_x >= 1}, {y_x <= 0}" if pair[1] is None else "{y_x >= 1, y_x' <= 0}")
    event = _EVENTS[type(m).__name__].format(len(differ))
    return Attack(pair, _by_sums(columns, m) if isinstance(m, FreshProducts) and m.rows > 1 else score, event)


def _by_sums(columns: NDArray[np.float64], m: FreshProducts) -> Score:
    """As `_by_laplace_noise`, where each noise is a sum of `rows` Laplace noises of scale ``scale / sqrt(rows)``."""
    unit = math.sqrt(m.rows) / m.noise_scale

    def score(views: Views) -> NDArray[np.float64]:
        one, other = (_log_density(m.rows, (np.asarray(views) - column) * unit) for column in columns)
        return np.asarray(np.sum(one - other, axis=-1))

    return score


def _by_laplace_noise(columns: NDArray[np.float64], scale: float) -> Score:
    """Log-likelihood ratio of the first of two rows of numbers, none of them equal, to the second."""
    shifts, ends = columns[0] - columns[1], columns.sum(axis=0)
    unit = float(np.min(np.abs(shifts), initial=math.inf))
    reach = np.abs(shifts) / unit

    def score(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        # In units of the least shift a number's loss is exactly its shift beyond both ends: equal sums stay equal.
        units: NDArray[np.float64] = np.clip((2 * numbers - ends) / unit, -reach, reach) @ np.sign(shifts)
        return units * unit / scale if len(shifts) else np.zeros(len(numbers))

    return score


def _log_density(terms: int, y: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Of a sum of Laplace noises of scale 1, up to a constant: :math:`|y|^\nu K_\nu(|y|)`, nu = terms - 1/2.

    Of many of them by Debye's expansion of the Bessel function, to its second term. Source: DLMF 10.41.4.
    """
    size, order = np.maximum(np.abs(y), _TINY), terms - 0.5
    if terms > _FEW:
        root = np.hypot(order, y)
        beyond = y**2 / (root + order)  # root - order, to all digits
        second = (5 * (order / root) ** 2 - 3) / (24 * root)
        return np.asarray(order * np.log1p(beyond / (2 * order)) - beyond - np.log(root) / 2 + np.log1p(second))
    return np.asarray(order * np.log(size) + np.log(kve(order, size)) - size, dtype=np.float64)


def summands(m: Mechanism, values: Sequence[Any]) -> Summands | None:
    """The number, with noise that adds up; None of a histogram's, which is not summed."""
    if not isinstance(m, Laplace | GaussianReport):
        return None

    def noise(users: int) -> tuple[Noise, ...]:
        if isinstance(m, Laplace):
            return (LaplaceNoises(users, round_up(m.scale)),)
        return (Gaussian(Fraction(round_up(m.sigma) * math.sqrt(users))),)

    return Summands({0: {x: Summand(float(x), (1.0,)) for x in values}}, noise)


@dataclass(frozen=True, slots=True)
class LaplaceNoises:
    """The sum of as many Laplace noises as there are users."""

    users: int
    scale: float

    @property
    def variance(self) -> float:
        """Of the sum."""
        return 2 * self.users * self.scale**2

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Independent sums: differences of two gamma numbers."""
        one, other = rng.gamma(float(self.users), self.scale, (2, size))
        return np.asarray(one - other, dtype=np.float64)

    def masses(self, parts: float) -> tuple[int, Floats]:
        """See `stems.listed`; proportional to densities. Raises Unsupported where these are millions."""
        reach = math.ceil((_DEVIATIONS * math.sqrt(2 * self.users) + _NATS) * self.scale * parts)
        require_listed(2 * reach)
        found = _log_density(self.users, np.arange(-reach, reach + 1) / (parts * self.scale))
        listed = np.exp(found - found.max())
        return -reach, listed / listed.sum()
