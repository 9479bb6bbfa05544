"""The attack on noise on counts, of any law: the two inputs, and the sum of all counts' log-likelihood ratios."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from ldpaudit.attacks.attack import Attack, logs
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.binomial_noise import BinomialNoise
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.rounded_gaussian import RoundedGaussian
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.skellam import Skellam
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

Floats = NDArray[np.float64]
_STEP = 2.0**-30
"""To a multiple of which losses are rounded, relative to 1 nat: equal losses, summed in another order, stay equal."""
_WIDTH, _MORE, _NATS = 12.0, 64, 70.0
"""Noise is listed up to 12 deviations, and 64 counts more; or where its tail is heavier, 70 nats: beyond are 1e-30."""
_LISTED = 1 << 22
"""Counts that are listed at most."""


def attack(m: CountNoise, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """What is changed against what is not."""
    changed = np.flatnonzero(m.change)
    change = np.array(m.change)[changed]

    def score(views: Views) -> Floats:
        losses = log_ratio(m, np.asarray(views)[:, changed], change).sum(axis=1)
        return np.asarray(np.round(losses / _STEP) * _STEP, dtype=np.float64)

    return Attack((m.inputs[0], m.inputs[1]), score, "views on the far side from the change, and views beyond it")


def masses(m: CountNoise) -> tuple[int, Floats]:
    """A count, and the probabilities that the noise is this one and the following ones; what is left out is below 1e-30.

    Raises Unsupported where these are millions, and for noise that is not on integers.
    """
    middle, reach = float(m.mean), float(_reach(m))
    if reach > _LISTED / 2:
        raise Unsupported(m, f"its noise spreads over {2 * reach:.3g} counts, of which at most {_LISTED} are listed")
    start = math.floor(middle - reach)
    listed = _weights(m, np.arange(start, math.ceil(middle + reach) + 1.0))
    return start, listed / listed.sum()


def _reach(m: CountNoise) -> float:
    if isinstance(m, DiscreteLaplace):
        return _NATS / -math.log1p(float(m.alpha - 1))
    return _WIDTH * math.sqrt(m.variance) + _MORE


@singledispatch
def _weights(m: CountNoise, counts: Floats) -> Floats:
    """Numbers proportional to the probabilities of noise."""
    raise Unsupported(m, "no attack on this noise is known")


@_weights.register
def _(m: BinomialNoise, counts: Floats) -> Floats:
    return np.asarray(stats.binom.pmf(counts, m.coins, float(m.gamma)))


@_weights.register
def _(m: Skellam, counts: Floats) -> Floats:
    return np.asarray(special.ive(np.abs(counts), float(m.mu)))


@_weights.register
def _(m: RoundedGaussian, counts: Floats) -> Floats:
    far, sigma = np.abs(counts), float(m.sigma)
    return np.asarray(special.ndtr((0.5 - far) / sigma) - special.ndtr((-0.5 - far) / sigma))


@_weights.register
def _(m: DiscreteGaussian, counts: Floats) -> Floats:
    return np.asarray(np.exp(-(counts**2) / (2 * float(m.sigma**2))))


@_weights.register
def _(m: DiscreteLaplace, counts: Floats) -> Floats:
    return np.asarray(np.exp(np.abs(counts) * np.log1p(float(m.alpha - 1))))


@singledispatch
def log_ratio(m: CountNoise, noisy: Floats, change: NDArray[np.int64]) -> Floats:
    """Logarithm of the likelihood of each noisy count without its change, over that with it."""
    return logs(*(_weights(m, each) for each in (noisy, noisy - change)))


@log_ratio.register(DiscreteGaussian)
@log_ratio.register(Gaussian)
def _(m: DiscreteGaussian | Gaussian, noisy: Floats, change: NDArray[np.int64]) -> Floats:
    return change * (change - 2 * noisy) / (2 * float(m.sigma**2))


@log_ratio.register
def _(m: DiscreteLaplace, noisy: Floats, change: NDArray[np.int64]) -> Floats:
    near: Floats = np.abs(noisy - change) - np.abs(noisy)
    return near * -float(np.log1p(float(m.alpha - 1)))
