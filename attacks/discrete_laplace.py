"""The attack on noise on counts, of any law: the two inputs, and the sum of all counts' log-likelihood ratios."""

from __future__ import annotations

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


def attack(m: CountNoise, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """What is changed against what is not."""
    changed = np.flatnonzero(m.change)
    change = np.array(m.change)[changed]

    def score(views: Views) -> Floats:
        losses = log_ratio(m, np.asarray(views)[:, changed], change).sum(axis=1)
        return np.asarray(np.round(losses / _STEP) * _STEP, dtype=np.float64)

    return Attack((m.inputs[0], m.inputs[1]), score, "views on the far side from the change, and views beyond it")


@singledispatch
def log_ratio(m: CountNoise, noisy: Floats, change: NDArray[np.int64]) -> Floats:
    """Logarithm of the likelihood of each noisy count without its change, over that with it."""
    raise Unsupported(m, "no attack on this noise is known")


@log_ratio.register
def _(m: BinomialNoise, noisy: Floats, change: NDArray[np.int64]) -> Floats:
    return logs(*(stats.binom.pmf(each, m.coins, float(m.gamma)) for each in (noisy, noisy - change)))


@log_ratio.register
def _(m: Skellam, noisy: Floats, change: NDArray[np.int64]) -> Floats:
    return logs(*(special.ive(np.abs(each), float(m.mu)) for each in (noisy, noisy - change)))


@log_ratio.register
def _(m: RoundedGaussian, noisy: Floats, change: NDArray[np.int64]) -> Floats:
    return logs(*(_rounded(np.abs(each), float(m.sigma)) for each in (noisy, noisy - change)))


def _rounded(far: Floats, sigma: float) -> Floats:
    found: Floats = special.ndtr((0.5 - far) / sigma) - special.ndtr((-0.5 - far) / sigma)
    return found


@log_ratio.register(DiscreteGaussian)
@log_ratio.register(Gaussian)
def _(m: DiscreteGaussian | Gaussian, noisy: Floats, change: NDArray[np.int64]) -> Floats:
    return change * (change - 2 * noisy) / (2 * float(m.sigma**2))


@log_ratio.register
def _(m: DiscreteLaplace, noisy: Floats, change: NDArray[np.int64]) -> Floats:
    near: Floats = np.abs(noisy - change) - np.abs(noisy)
    return near * -float(np.log1p(float(m.alpha - 1)))
