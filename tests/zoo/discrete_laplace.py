"""Noise on counts: discrete Laplace, and the stems whose core it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.binomial_noise import BinomialNoise
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian, DiscreteGaussianShares
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.polya_noise import PolyaNoise
from ldpaudit.mechanisms.rounded_gaussian import RoundedGaussian
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.mechanisms.skellam import Skellam
from tests.zoo import Broken, Mutant, Zoo, tenth

F = Fraction
Sample = Callable[[tuple[int, ...], int, np.random.Generator], NDArray[Any]]
REPLACED = DiscreteLaplace.for_epsilon(1, change=(1, -1))
LEFT_OUT = DiscreteLaplace.for_epsilon(1)


def one_noise_serves_all_counts(m: CountNoise) -> Sample:
    def sample(x: tuple[int, ...], size: int, rng: np.random.Generator) -> NDArray[Any]:
        found: NDArray[Any] = np.add(x, m.noise(size, rng)[:, None])
        return found

    return sample


def the_noise_is_seeded_in_each_run(m: CountNoise) -> Sample:
    def sample(x: tuple[int, ...], size: int, rng: np.random.Generator) -> NDArray[Any]:
        return np.repeat(m.sample(x, 1, np.random.default_rng(42)), size, axis=0)

    return sample


def large_noise_is_cut_off(m: CountNoise, most: int) -> Sample:
    def sample(x: tuple[int, ...], size: int, rng: np.random.Generator) -> NDArray[Any]:
        found: NDArray[Any] = np.add(x, np.clip(m.noise(size * len(x), rng), -most, most).reshape(size, len(x)))
        return found

    return sample


def large_noise_is_drawn_again(m: CountNoise, most: int) -> Sample:
    def sample(x: tuple[int, ...], size: int, rng: np.random.Generator) -> NDArray[Any]:
        drawn = m.noise(8 * size * len(x), rng)
        found: NDArray[Any] = np.add(x, drawn[np.abs(drawn) <= most][: size * len(x)].reshape(size, len(x)))
        return found

    return sample


def zero_is_drawn_with_either_sign(x: tuple[int, ...], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    magnitude = rng.geometric(float(1 - LEFT_OUT.alpha), (size, 1)) - 1
    return np.array(x) + np.where(rng.random((size, 1)) < 0.5, magnitude, -magnitude)


def broken(m: CountNoise, most: int) -> Iterator[Broken]:
    """Mistakes that any noise on two counts may have."""
    yield Broken("one noise serves all counts", m, one_noise_serves_all_counts(m))
    yield Broken("the noise is seeded in each run", m, the_noise_is_seeded_in_each_run(m))
    if isinstance(m, PolyaNoise):  # whose loss is largest next to 0
        return
    if not isinstance(m, DiscreteLaplace):  # whose loss stays the same far out
        yield Broken("large noise is cut off", m, large_noise_is_cut_off(m, most))
    yield Broken("large noise is drawn again", m, large_noise_is_drawn_again(m, most))


ZOO = Zoo(
    small=(
        DiscreteLaplace(Fraction(1, 2)),
        DiscreteLaplace(Fraction(1, 2), (1, -1)),
        DiscreteLaplace(Fraction(1, 3), (2, 0, -1)),
    ),
    at_one=(REPLACED, LEFT_OUT, DiscreteLaplace.for_epsilon(1, (3, -2, 1))),
    broken=(*broken(REPLACED, 8), Broken("zero is drawn with either sign", LEFT_OUT, zero_is_drawn_with_either_sign)),
    mutants=(
        Mutant("alpha is for one count where two change", REPLACED, replace(LEFT_OUT, change=(1, -1))),
        Mutant("e is taken for 3", LEFT_OUT, DiscreteLaplace(Fraction(1, 3))),
        Mutant("alpha is cut to tenths", LEFT_OUT, replace(LEFT_OUT, alpha=tenth(LEFT_OUT.alpha))),
        Mutant("p is taken for 1 - p", REPLACED, replace(REPLACED, alpha=1 - REPLACED.alpha)),
    ),
)

BELL = F(7, 5)
"""Deviation at which the delta at epsilon = 1 is about an eighth, for the change (1, -1)."""
NORMAL, BELLS, ROUNDED = (owner(BELL, (1, -1)) for owner in (Gaussian, DiscreteGaussian, RoundedGaussian))
THREE = DiscreteGaussian(F(8), (3,))
POISSONS, COINS = Skellam(F(2), (1, -1)), BinomialNoise(8, change=(1, -1))
LESS = F(2**-0.5)
HALF_OF_THE_SHARES = PolyaNoise(F(8477823, 8911910), F(1, 2), (1, -1))
NARROW = DiscreteGaussianShares(F(4437203, 9030631), 4, (1, -1))


def the_variance_is_taken_for_the_deviation(m: Any) -> Broken:
    return Broken("the variance is halved for each of two counts", m, replace(m, sigma=m.sigma * LESS / 2).sample)


gaussian = Zoo(
    small=(Gaussian(F(1)), Gaussian(F(7, 2), (2, -1, 1))),
    at_one=(NORMAL,),
    broken=(*broken(NORMAL, 2), the_variance_is_taken_for_the_deviation(NORMAL)),
    mutants=(
        Mutant("sigma is divided by the root of 2", NORMAL, replace(NORMAL, sigma=BELL * LESS), delta=0.1),
        Mutant("sigma is for one count where two change", Gaussian(F(10), (1, -1)), Gaussian(F(8), (1, -1)), delta=0.02),
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
        *broken(BELLS, 2),
        the_variance_is_taken_for_the_deviation(BELLS),
        *broken(NARROW, 2),
        Broken("one of four clients adds its share", NARROW, replace(NARROW, shares=1).sample),
    ),
    mutants=(
        Mutant("sigma is divided by the root of 2", BELLS, replace(BELLS, sigma=BELL * LESS), delta=0.1),
        Mutant("half of the clients add no share", NARROW, replace(NARROW, shares=2), delta=0.1),
        Mutant("one party of two adds nothing", THREE, replace(THREE, sigma=8 * LESS), delta=0.02),
    ),
    delta=F(1753721, 14036027),
)
rounded_gaussian = Zoo(
    small=(RoundedGaussian(F(1)), RoundedGaussian(F(1, 2), (1, -1))),
    at_one=(ROUNDED,),
    broken=(*broken(ROUNDED, 2), the_variance_is_taken_for_the_deviation(ROUNDED)),
    mutants=(Mutant("sigma is divided by the root of 2", ROUNDED, replace(ROUNDED, sigma=BELL * LESS), delta=0.1),),
    delta=F(11053004, 93931263),
)
polya_noise = Zoo(
    small=(PolyaNoise(F(1, 2)), PolyaNoise(F(1, 2), F(1, 2), (1, -1)), PolyaNoise(F(3, 4), F(5, 2), (2, -1))),
    at_one=(HALF_OF_THE_SHARES,),
    broken=(
        *broken(HALF_OF_THE_SHARES, 8),
        Broken("half of the clients add no share", HALF_OF_THE_SHARES, replace(HALF_OF_THE_SHARES, shape=F(1, 4)).sample),
    ),
    mutants=(Mutant("a quarter of the clients add no share", HALF_OF_THE_SHARES, replace(HALF_OF_THE_SHARES, shape=F(3, 8))),),
    loose=(PolyaNoise,),
)
skellam = Zoo(
    small=(Skellam(F(1)), Skellam(F(1, 2), (1, -1)), Skellam(F(10), (2, -1))),
    at_one=(POISSONS,),
    broken=(*broken(POISSONS, 2), Broken("mu is halved twice", POISSONS, replace(POISSONS, mu=F(1, 2)).sample)),
    mutants=(Mutant("half of the parties add nothing", POISSONS, replace(POISSONS, mu=F(1)), delta=0.1),),
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
    broken=(*broken(COINS, 5), Broken("a coin's two sides are taken for two coins", COINS, replace(COINS, coins=4).sample)),
    mutants=(Mutant("a quarter of the coins is lost", COINS, replace(COINS, coins=6), delta=0.15),),
    delta=F(12319938, 97228295),
)
