from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from tests.zoo import Broken, Mutant, Zoo

FOUR = BucketHeavyHitter.for_epsilon(1.0, domain=1 << 20, rows=2, trials=2)


def the_noise_is_for_one_trial(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return replace(FOUR, scale=FOUR.scale / FOUR.trials).sample(x, size, rng)


def the_scale_is_taken_for_the_standard_deviation(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return FOUR.hashes(x) + rng.laplace(0, float(FOUR.scale) / np.sqrt(2), (size, FOUR.coordinates))


def the_noise_has_no_sign(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return FOUR.hashes(x) + rng.exponential(float(FOUR.scale), (size, FOUR.coordinates))


def zeros_get_no_noise(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return FOUR.hashes(x) * (1 + rng.laplace(0, float(FOUR.scale), (size, FOUR.coordinates)))


def mutants() -> Iterator[Mutant]:
    m = BucketHeavyHitter.for_epsilon(1, domain=1 << 20, rows=2, trials=2)
    yield Mutant("the noise is for one trial", m, replace(m, scale=m.scale / 2))
    yield Mutant("the scale is the standard deviation", m, replace(m, scale=m.scale * Fraction(2**0.5) / 2))
    yield Mutant("the scale is for 3 coordinates of 4", m, replace(m, scale=m.scale * Fraction(3, 4)))


ZOO = Zoo(
    small=(BucketHeavyHitter(8, 2, 2, Fraction(5, 2)), BucketHeavyHitter(5, 1, 3, Fraction(3, 4), seed=2),
           BucketHeavyHitter(1 << 30, 2, 1, Fraction(1))),
    at_one=(FOUR,),
    broken=(
        Broken("the noise is for one trial", FOUR, the_noise_is_for_one_trial),
        Broken("the scale is taken for the standard deviation", FOUR, the_scale_is_taken_for_the_standard_deviation),
        Broken("the noise has no sign", FOUR, the_noise_has_no_sign),
        Broken("zeros get no noise", FOUR, zeros_get_no_noise),
    ),
    mutants=tuple(mutants()),
    loose=(BucketHeavyHitter,),
)
