from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, FreshProjections, JLHeavyHitter
from tests.zoo import Broken, Mutant, Zoo

FOUR = JLHeavyHitter.for_epsilon(1, domain=1 << 20, rows=4)
FRESH = FreshProjections.for_epsilon(1, domain=4, rows=1)
SUMS = FreshProducts.for_epsilon(1, domain=4, rows=1)


def the_sensitivity_is_an_absent_user_s(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    # "m linear queries, each with sensitivity 1/sqrt(m)"
    return replace(FOUR, scale=FOUR.scale / 2).sample(x, size, rng)


def the_signs_are_not_divided_by_the_root(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    signs: NDArray[np.float64] = np.sign(FOUR.columns(x))
    return signs + rng.laplace(0, float(FOUR.scale), (size, FOUR.rows))


def the_noise_has_no_sign(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return FOUR.columns(x) + rng.exponential(float(FOUR.scale), (size, FOUR.rows))


def the_noise_is_for_one_projection(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return replace(FRESH, scale=FRESH.scale / FRESH.domain).sample(x, size, rng)


def one_noise_serves_all_projections(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    noise = rng.laplace(0, float(FRESH.scale), (size, 1))
    return np.asarray(np.tile(FRESH.columns(x), FRESH.domain) + noise * (np.arange(FRESH.domain) % 2), dtype=np.float64)


def the_noise_is_for_one_product(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return replace(SUMS, scale=SUMS.scale / SUMS.domain).sample(x, size, rng)


def the_product_of_a_value_with_itself_has_no_noise(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    views = SUMS.sample(x, size, rng)
    views[:, x] = 1
    return views


def mutants() -> Iterator[Mutant]:
    m = JLHeavyHitter.for_epsilon(1, domain=1 << 20, rows=4)
    yield Mutant("the sensitivity is an absent user's", m, replace(m, scale=m.scale / 2))
    yield Mutant("the scale is the standard deviation", m, replace(m, scale=m.scale * Fraction(2**0.5) / 2))
    yield Mutant("the scale is for 3 rows of 4", m, replace(m, scale=m.scale * Fraction(3, 4)))
    yield Mutant("the noise is for half of the values", FRESH, replace(FRESH, scale=FRESH.scale / 2))


ZOO = Zoo(
    small=(JLHeavyHitter(8, 5, Fraction(5, 2)), JLHeavyHitter(1 << 30, 2, Fraction(1)),
           FreshProjections(3, 4, Fraction(3)), FreshProducts(4, 1, Fraction(2))),
    at_one=(FOUR, FRESH, SUMS),
    broken=(
        Broken("the sensitivity is an absent user's", FOUR, the_sensitivity_is_an_absent_user_s),
        Broken("the signs are not divided by the root", FOUR, the_signs_are_not_divided_by_the_root),
        Broken("the noise has no sign", FOUR, the_noise_has_no_sign),
        Broken("the noise is for one projection", FRESH, the_noise_is_for_one_projection),
        Broken("one noise serves all projections", FRESH, one_noise_serves_all_projections),
        Broken("the noise is for one product", SUMS, the_noise_is_for_one_product),
        Broken("a value's own product has no noise", SUMS, the_product_of_a_value_with_itself_has_no_noise),
    ),
    mutants=tuple(mutants()),
    loose=(JLHeavyHitter, FreshProjections, FreshProducts),
)
