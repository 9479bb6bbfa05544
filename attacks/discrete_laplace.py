"""The attack on noise on counts, of any law: the two inputs, and the sum of all counts' log-likelihood ratios."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ldpaudit.attacks.attack import Attack, Floats, logs, require_listed, spread
from ldpaudit.attacks.shared.polya import log_odds
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.binomial_noise import BinomialNoise
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian, DiscreteGaussianShares
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.polya_noise import PolyaNoise
from ldpaudit.mechanisms.rounded_gaussian import RoundedGaussian
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.skellam import Skellam
from ldpaudit.neighbours import REPLACE_ONE, Neighbours

_STEP = 2.0**-30
"""To a multiple of which losses are rounded, relative to 1 nat: equal losses, summed in another order, stay equal."""
_TABLE = 1 << 16  # most probabilities that are listed; beyond them, those of the nearest simple law serve
_WIDTH, _MORE, _NATS = 12.0, 64, 70.0
"""Noise is listed up to 12 deviations, and 64 counts more; or where its tail is heavier, 70 nats: beyond are 1e-30."""


def attack(m: CountNoise, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """What is changed against what is not."""
    changed = np.flatnonzero(m.change)
    change = np.array(m.change)[changed]

    def score(views: Views) -> Floats:
        losses = log_ratio(m, np.asarray(views)[:, changed], change).sum(axis=1)
        return np.asarray(np.round(losses / _STEP) * _STEP, dtype=np.float64)

    return Attack((m.inputs[0], m.inputs[1]), score, "views on the far side from the change, and views beyond it")


def masses(m: CountNoise, parts: float = 1) -> tuple[int, Floats]:
    """A multiple of a fraction of 1, and the probabilities that noise is this one and the following ones; the rest is below 1e-30.

    Of noise on real numbers, these are proportional to densities. Raises Unsupported where these are millions.
    """
    scale = parts if isinstance(m, Gaussian) else 1
    middle, reach = float(m.mean) * scale, float(_reach(m)) * scale
    require_listed(2 * reach, what=m)
    start = math.floor(middle - reach)
    found = _weights(m, np.arange(start, math.ceil(middle + reach) + 1.0) / scale)
    if scale == parts:
        return start, found / found.sum()
    return start * int(parts), spread(found / found.sum(), parts)


def _reach(m: CountNoise) -> float:
    normal = _WIDTH * math.sqrt(m.variance) + (0 if isinstance(m, Gaussian) else _MORE)
    return normal + (_NATS / -math.log1p(float(m.alpha - 1)) if isinstance(m, DiscreteLaplace | PolyaNoise) else 0.0)


def _weights(m: CountNoise, counts: Floats) -> Floats:
    """Numbers proportional to the probabilities of noise."""
    far = np.abs(counts)
    match m:
        case BinomialNoise():
            from scipy.stats import binom  # here: it takes a while to import

            found = binom.pmf(counts, m.coins, float(m.gamma))
        case Skellam():
            found = special.ive(far, float(m.mu))
        case RoundedGaussian():
            found = special.ndtr((0.5 - far) / float(m.sigma)) - special.ndtr((-0.5 - far) / float(m.sigma))
        case DiscreteGaussian() | Gaussian():
            found = np.exp(-(counts**2) / (2 * float(m.sigma**2)))
        case DiscreteLaplace():
            found = np.exp(far * np.log1p(float(m.alpha - 1)))
        case DiscreteGaussianShares() if (law := _of_shares(float(m.share_variance), m.shares)) is not None:
            found = law[np.minimum(far, len(law) - 1).astype(np.int64)]
        case DiscreteGaussianShares():
            found = np.exp(-(counts**2) / (2 * float(m.variance)))
        case PolyaNoise():
            losses = log_odds(m.alpha, m.shape)
            near = np.minimum(far, len(losses) - 1).astype(np.int64)
            found = np.exp(-losses[near] + (far - near) * float(np.log1p(float(m.alpha - 1))))
        case _:
            raise Unsupported(m, "no attack on this noise is known")
    return np.asarray(found)


@lru_cache(maxsize=8)
def _of_shares(variance: float, shares: int) -> Floats | None:
    """Probabilities from 0 up, right to some 1e-15, which is what is too small has; None where they are too many."""
    reach = 16 + int(12 * (variance * shares) ** 0.5)
    if reach > _TABLE:
        return None
    apart = np.fft.ifftshift(np.arange(-reach, reach))
    one = np.exp(-(apart**2) / (2 * variance))
    found: Floats = np.fft.irfft(np.fft.rfft(one / one.sum()) ** shares, 2 * reach)[:reach]
    return np.maximum(found, 1e-15)


def log_ratio(m: CountNoise, noisy: Floats, change: NDArray[np.int64]) -> Floats:
    """Logarithm of the likelihood of each noisy count without its change, over that with it."""
    match m:
        case DiscreteGaussian() | Gaussian():
            return change * (change - 2 * noisy) / (2 * float(m.sigma**2))
        case DiscreteLaplace():
            near: Floats = np.abs(noisy - change) - np.abs(noisy)
            return near * -float(np.log1p(float(m.alpha - 1)))
    return logs(*(_weights(m, each) for each in (noisy, noisy - change)))
