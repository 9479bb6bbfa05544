from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from tests.zoo import Broken, Mutant, Zoo

UNIT = Laplace.for_epsilon(1.0)
HISTOGRAM = LaplaceHistogram.for_epsilon(1.0, k=8)


def half_the_scale(x: float, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return Laplace(UNIT.scale / 2).sample(x, size, rng)


def the_scale_is_taken_for_the_standard_deviation(x: float, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.laplace(x, float(UNIT.scale) / np.sqrt(2), size)


def the_noise_has_no_sign(x: float, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return x + rng.exponential(float(UNIT.scale), size)


def one_uniform_number_gives_sign_and_size(x: float, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    u = 1 - rng.random(size)
    return x - float(UNIT.scale) * np.log(u) * np.where(u > 0.5, 1, -1)


def the_scale_for_one_coordinate(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    # "A user changes exactly one entry."
    return LaplaceHistogram(HISTOGRAM.k, HISTOGRAM.scale / 2).sample(x, size, rng)


def one_noise_serves_all_coordinates(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    noise = rng.laplace(0, float(HISTOGRAM.scale), (size, 1))
    return np.asarray(np.eye(HISTOGRAM.k)[x] + noise, dtype=np.float64)


def zeros_get_no_noise(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    noise = rng.laplace(0, float(HISTOGRAM.scale), (size, 1))
    return np.asarray(np.eye(HISTOGRAM.k)[x] * (1 + noise), dtype=np.float64)


def mutants() -> Iterator[Mutant]:
    unit, table = Laplace.for_epsilon(1), LaplaceHistogram.for_epsilon(1, k=8)
    wide = Laplace.for_epsilon(Fraction(3, 5))
    yield Mutant("half the scale", unit, Laplace(unit.scale / 2))
    yield Mutant("the scale is the standard deviation", unit, Laplace(Fraction(2**0.5) / 2),
                 lambda x, size, rng: rng.laplace(x, 2**-0.5, size))
    yield Mutant("the scale is cast to an integer", wide, Laplace(Fraction(1)))
    yield Mutant("inputs are rescaled to [0, 1.1]", unit, Laplace(Fraction(1), Fraction(0), Fraction(11, 10)),
                 lambda x, size, rng: 1.1 * x + rng.laplace(size=size))
    yield Mutant("a user changes one entry only", table, LaplaceHistogram(8, table.scale / 2))
    yield Mutant("the norm is Euclid's", table, LaplaceHistogram(8, Fraction(2**0.5)))


ZOO = Zoo(
    small=(Laplace(Fraction(1, 3), Fraction(-1, 7), Fraction(2, 5)), LaplaceHistogram(3, Fraction(3, 4))),
    at_one=(UNIT, HISTOGRAM),
    broken=(
        Broken("half the scale", UNIT, half_the_scale),
        Broken("the scale is taken for the standard deviation", UNIT, the_scale_is_taken_for_the_standard_deviation),
        Broken("the noise has no sign", UNIT, the_noise_has_no_sign),
        Broken("one uniform number gives sign and size", UNIT, one_uniform_number_gives_sign_and_size),
        Broken("the scale for one coordinate", HISTOGRAM, the_scale_for_one_coordinate),
        Broken("one noise serves all coordinates", HISTOGRAM, one_noise_serves_all_coordinates),
        Broken("zeros get no noise", HISTOGRAM, zeros_get_no_noise),
    ),
    mutants=tuple(mutants()),
)
