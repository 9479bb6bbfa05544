"""Noise on counts: discrete Laplace, and the stems whose core it is."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms import BinomialNoise, DiscreteLaplace, Gaussian, PolyaNoise, RoundedGaussian, Skellam
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian, DiscreteGaussianShares
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from tests.zoo import Broken, Mutant, Refusal, Zoo, broken, mutant, no_data, refusals, tenth

F = Fraction
REPLACED = DiscreteLaplace.for_epsilon(1, change=(1, -1))
LEFT_OUT = DiscreteLaplace.for_epsilon(1)


def zero_is_drawn_with_either_sign(x: tuple[int, ...], size: int, rng: np.random.Generator) -> Views:
    magnitude = rng.geometric(float(1 - LEFT_OUT.alpha), (size, 1)) - 1
    return np.array(x) + np.where(rng.random((size, 1)) < 0.5, magnitude, -magnitude)


def mistakes(m: CountNoise, most: int) -> Iterator[Broken]:
    """What may go wrong with any noise on two counts."""

    def drawn_again(x: tuple[int, ...], size: int, rng: np.random.Generator) -> Views:
        drawn = m.noise(8 * size * len(x), rng)
        return np.add(x, drawn[np.abs(drawn) <= most][: size * len(x)].reshape(size, len(x)))

    yield Broken("one noise serves all counts", m, lambda x, size, rng: np.add(x, m.noise(size, rng)[:, None]))
    yield Broken("the noise is seeded in each run", m,
                 lambda x, size, rng: np.repeat(m.sample(x, 1, np.random.default_rng(42)), size, axis=0))  # fmt: skip
    if isinstance(m, PolyaNoise):  # whose loss is largest next to 0
        return
    if not isinstance(m, DiscreteLaplace):  # whose loss stays the same far out
        yield Broken("large noise is cut off", m,
                     lambda x, size, rng: np.add(x, np.clip(m.noise(size * len(x), rng), -most, most).reshape(size, len(x))))
    yield Broken("large noise is drawn again", m, drawn_again)


ZOO = Zoo(
    small=(DiscreteLaplace(F(1, 2)), DiscreteLaplace(F(1, 2), (1, -1)), DiscreteLaplace(F(1, 3), (2, 0, -1))),
    at_one=(REPLACED, LEFT_OUT, DiscreteLaplace.for_epsilon(1, (3, -2, 1))),
    broken=(*mistakes(REPLACED, 8), Broken("zero is drawn with either sign", LEFT_OUT, zero_is_drawn_with_either_sign)),
    refused=(
        *refusals("DiscreteLaplace needs .*change", LEFT_OUT, change=[(), (0, 0), (2**53 + 1,), (1,) * 4097]),
        *no_data("needs a row of 3 integers for each of at least one user", DiscreteLaplace(F(1, 10), (1, 0, -1)),
                 [], [(1, 0)], [1, 2, 3], [(0.5, 1, 1)]),
    ),
    mutants=(
        mutant("alpha is for one count where two change", REPLACED, alpha=LEFT_OUT.alpha),
        mutant("e is taken for 3", LEFT_OUT, alpha=F(1, 3)),
        mutant("alpha is cut to tenths", LEFT_OUT, alpha=tenth(LEFT_OUT.alpha)),
        mutant("p is taken for 1 - p", REPLACED, alpha=1 - REPLACED.alpha),
    ),
)

BELL = F(7, 5)
"""Deviation at which the delta at epsilon = 1 is about an eighth, for the change (1, -1)."""
NORMAL, BELLS, ROUNDED = (owner(BELL, (1, -1)) for owner in (Gaussian, DiscreteGaussian, RoundedGaussian))
THREE = DiscreteGaussian(F(8), (3,))
POISSONS, COINS = Skellam(F(2), (1, -1)), BinomialNoise(8, change=(1, -1))
LESS = F(2**-0.5)
THREE_QUARTERS = PolyaNoise(F(5501443, 7311511), F(3, 4), (1, -1))
"""Of the shares of clients; with half of them the event that shows epsilon is too rare for the default budget."""
NARROW = DiscreteGaussianShares(F(4437203, 9030631), 4, (1, -1))


def the_variance_is_taken_for_the_deviation(m: Any) -> Broken:
    return broken("the variance is halved for each of two counts", m, sigma=m.sigma * LESS / 2)


gaussian = Zoo(
    small=(Gaussian(F(1)), Gaussian(F(7, 2), (2, -1, 1))),
    at_one=(NORMAL,),
    broken=(*mistakes(NORMAL, 2), the_variance_is_taken_for_the_deviation(NORMAL)),
    mutants=(
        mutant("sigma is divided by the root of 2", NORMAL, 0.1, sigma=BELL * LESS),
        Mutant("sigma is for one count where two change", Gaussian(F(10), (1, -1)), Gaussian(F(8), (1, -1)), delta=0.02),
    ),
    refused=(
        *refusals("sigma > 0 is needed", NORMAL, sigma=[F(0), F(-1)]),
        Refusal("Gaussian is not shared among clients", lambda: Gaussian(F(3)).of_shares(1, 2)),
    ),
    delta=F(643445, 4929686),
)
discrete_gaussian = Zoo(
    small=(
        DiscreteGaussian(F(1)),
        DiscreteGaussian(F(1, 2), (1, -1)),
        DiscreteGaussian(F(4), (2, 0, -1, 1)),
        DiscreteGaussianShares(F(1), 3),
        DiscreteGaussianShares(F(1, 4), 9, (2, -1)),
    ),
    at_one=(BELLS, NARROW),
    broken=(
        *mistakes(BELLS, 2),
        the_variance_is_taken_for_the_deviation(BELLS),
        *mistakes(NARROW, 2),
        broken("one of four clients adds its share", NARROW, shares=1),
    ),
    refused=(
        *refusals("sigma", DiscreteGaussian(F(1)), sigma=[0, -1, 2**40 + 1]),
        *refusals(r"needs 2\*\*-40 <= share_variance", DiscreteGaussianShares(F(1), 1), share_variance=[F(1, 2**41)]),
        *refusals(r"share_variance <= 2\*\*80 / shares", DiscreteGaussianShares(F(1), 2), share_variance=[F(2**80)]),
        *refusals("1 <= shares <= 1048576", DiscreteGaussianShares(F(1), 2), shares=[2**20 + 1]),
        Refusal("needs a multiple of 2, got 7", lambda: DiscreteGaussianShares(F(1), 7).of_shares(1, 2)),
    ),
    mutants=(
        mutant("sigma is divided by the root of 2", BELLS, 0.1, sigma=BELL * LESS),
        mutant("half of the clients add no share", NARROW, 0.1, shares=2),
        mutant("one party of two adds nothing", THREE, 0.02, sigma=8 * LESS),
    ),
    delta=F(1753721, 14036027),
)
rounded_gaussian = Zoo(
    small=(RoundedGaussian(F(1)), RoundedGaussian(F(1, 2), (1, -1))),
    at_one=(ROUNDED,),
    broken=(*mistakes(ROUNDED, 2), the_variance_is_taken_for_the_deviation(ROUNDED)),
    refused=(
        *refusals("sigma > 0 is needed", ROUNDED, sigma=[F(0), F(-1)]),
        Refusal("RoundedGaussian is not shared among clients", lambda: RoundedGaussian(F(3)).of_shares(1, 2)),
    ),
    mutants=(mutant("sigma is divided by the root of 2", ROUNDED, 0.1, sigma=BELL * LESS),),
    delta=F(11053004, 93931263),
)
polya_noise = Zoo(
    small=(PolyaNoise(F(1, 2)), PolyaNoise(F(1, 2), F(1, 2), (1, -1)), PolyaNoise(F(3, 4), F(5, 2), (2, -1))),
    at_one=(THREE_QUARTERS,),
    broken=(*mistakes(THREE_QUARTERS, 8), broken("half of the clients add no share", THREE_QUARTERS, shape=F(3, 8))),
    refused=(
        *refusals("shape > 0 is needed", THREE_QUARTERS, shape=[F(0)]),
        *refusals("needs shape <= 1048576", THREE_QUARTERS, shape=[F(2**20 + 1)]),
        *refusals("alpha", THREE_QUARTERS, alpha=[1 - F(1, 2**41)]),
    ),
    mutants=(mutant("a quarter of the clients add no share", THREE_QUARTERS, shape=F(9, 16)),),
    loose=(PolyaNoise,),
)
skellam = Zoo(
    small=(Skellam(F(1)), Skellam(F(1, 2), (1, -1)), Skellam(F(10), (2, -1))),
    at_one=(POISSONS,),
    broken=(*mistakes(POISSONS, 2), broken("mu is halved twice", POISSONS, mu=F(1, 2))),
    mutants=(mutant("half of the parties add nothing", POISSONS, 0.1, mu=F(1)),),
    delta=F(8662845, 63806732),
)
binomial_noise = Zoo(
    small=(
        BinomialNoise(3),
        BinomialNoise(2, F(1, 3), (1, -1)),
        BinomialNoise(4, F(3, 4), (2, 1)),
        BinomialNoise(1, F(1, 4), (1, 1, -1)),
    ),
    at_one=(COINS,),
    broken=(*mistakes(COINS, 5), broken("a coin's two sides are taken for two coins", COINS, coins=4)),
    refused=(
        *refusals("coins", BinomialNoise(2), coins=[0, 2**49 + 1]),
        Refusal("needs a multiple of 60, got 100", lambda: BinomialNoise(100).of_shares(5, 60)),
    ),
    mutants=(mutant("a quarter of the coins is lost", COINS, 0.15, coins=6),),
    delta=F(12319938, 97228295),
)
