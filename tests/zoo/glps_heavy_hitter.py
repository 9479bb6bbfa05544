from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.glps_heavy_hitter import GlpsHeavyHitter
from tests.zoo import Broken, Mutant, Zoo

FOUR = GlpsHeavyHitter.for_epsilon(1, domain=2, sparsity=1, rows=1, buckets=2)
SIXTEEN = GlpsHeavyHitter.for_epsilon(1, domain=8, sparsity=1, rows=1, buckets=4)


def a_replaced_value_is_charged_as_an_absent_one(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    # "Each of sensitivity 1."
    return replace(FOUR, scale=FOUR.scale / 2).sample(x, size, rng)


def the_scale_is_taken_for_the_standard_deviation(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return FOUR.column(x) + rng.laplace(0, float(FOUR.scale) / np.sqrt(2), (size, FOUR.measurements))


def the_noise_has_no_sign(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return FOUR.column(x) + rng.exponential(float(FOUR.scale), (size, FOUR.measurements))


def only_the_value_s_bucket_gets_noise(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    # It saves most of the random numbers.
    noise = rng.laplace(0, float(SIXTEEN.scale), (size, SIXTEEN.measurements))
    return np.asarray(SIXTEEN.column(x) + np.where(SIXTEEN.column(x) != 0, noise, 0), dtype=np.float64)


def a_bucket_s_measurements_share_one_noise(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    noise = rng.laplace(0, float(SIXTEEN.scale), (size, SIXTEEN.buckets))
    return np.asarray(SIXTEEN.column(x) + np.repeat(noise, SIXTEEN.bits + 1, axis=1), dtype=np.float64)


def mutants() -> Iterator[Mutant]:
    m = GlpsHeavyHitter.for_epsilon(1, domain=2, sparsity=1, rows=1, buckets=2)
    yield Mutant("a replaced value is charged as an absent one", m, replace(m, scale=m.scale / 2))
    yield Mutant("the scale is the standard deviation", m, replace(m, scale=m.scale * Fraction(2**0.5) / 2))
    yield Mutant("the scale is for 3 measurements of 4", m, replace(m, scale=m.scale * Fraction(3, 4)))


ZOO = Zoo(
    small=(
        GlpsHeavyHitter(4, 1, 2, 2, Fraction(5, 2)), GlpsHeavyHitter(5, 2, 1, 2, Fraction(3, 4), seed=2),
        GlpsHeavyHitter(8, 2, 1, 1, Fraction(7)), GlpsHeavyHitter(1 << 23, 2, 1, 8, Fraction(900)),
    ),
    at_one=(FOUR,),
    broken=(
        Broken("a replaced value is charged as an absent one", FOUR, a_replaced_value_is_charged_as_an_absent_one),
        Broken("the scale is taken for the standard deviation", FOUR, the_scale_is_taken_for_the_standard_deviation),
        Broken("the noise has no sign", FOUR, the_noise_has_no_sign),
        Broken("only the value's bucket gets noise", SIXTEEN, only_the_value_s_bucket_gets_noise),
        Broken("a bucket's measurements share one noise", SIXTEEN, a_bucket_s_measurements_share_one_noise),
    ),
    mutants=tuple(mutants()),
    loose=(GlpsHeavyHitter,),
)  # fmt: skip
