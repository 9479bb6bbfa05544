"""Noise on a number, and Laplace noise on a column of a public matrix: the histogram, and the stems whose core it is."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms import BucketHeavyHitter, GaussianReport, GlpsHeavyHitter, Laplace, LaplaceHistogram
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, FreshProjections, JLHeavyHitter
from tests.zoo import Broken, Mutant, Refusal, Zoo, broken, mutant, no_data, no_inputs, refusals

UNIT = Laplace.for_epsilon(1.0)
BELL = GaussianReport(Fraction(39005, 39401))
"""Of a delta of about an eighth at epsilon = 1."""
WIDE = Laplace.for_epsilon(Fraction(3, 5))
HISTOGRAM = LaplaceHistogram.for_epsilon(1.0, k=8)
BITS = BucketHeavyHitter.for_epsilon(1.0, domain=1 << 20, rows=2, trials=2)
BUCKETS = GlpsHeavyHitter.for_epsilon(1, domain=2, sparsity=1, rows=1, buckets=2)
PRINTABLE: dict[str, Any] = {"epsilon": 1, "delta": Fraction(1, 10), "beta": Fraction(1, 10), "users": 100, "domain": 1024}
MORE_BUCKETS = GlpsHeavyHitter.for_epsilon(1, domain=8, sparsity=1, rows=1, buckets=4)
PROJECTED = JLHeavyHitter.for_epsilon(1, domain=1 << 20, rows=4)
FRESH = FreshProjections.for_epsilon(1, domain=4, rows=1)
SUMS = FreshProducts.for_epsilon(1, domain=4, rows=1)


def wrong_noise(m: Any) -> tuple[Broken, Broken]:
    """Of one kind for all coordinates, but not Laplace noise of the scale."""
    scale, deviation = float(m.scale), float(m.scale) / np.sqrt(2)
    return (
        Broken("the scale is taken for the standard deviation", m,
               lambda x, size, rng: m.column(x) + rng.laplace(0, deviation, (size, m.coordinates))),
        Broken("the noise has no sign", m, lambda x, size, rng: m.column(x) + rng.exponential(scale, (size, m.coordinates))),
    )  # fmt: skip


def zeros_get_no_noise(m: Any, numbers: int, mistake: str = "zeros get no noise") -> Broken:
    return Broken(mistake, m, lambda x, size, rng: m.column(x) * (1 + rng.laplace(0, float(m.scale), (size, numbers))))


def mutants_of(m: Any, half: str, numbers: str) -> tuple[Mutant, ...]:
    return (
        mutant(half, m, scale=m.scale / 2),
        mutant("the scale is the standard deviation", m, scale=m.scale * Fraction(2**0.5) / 2),
        mutant(f"the scale is for 3 {numbers} of 4", m, scale=m.scale * Fraction(3, 4)),
    )


def one_uniform_number_gives_sign_and_size(x: float, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    u = 1 - rng.random(size)
    return x - float(UNIT.scale) * np.log(u) * np.where(u > 0.5, 1, -1)


ZOO = Zoo(
    small=(Laplace(Fraction(1, 3), Fraction(-1, 7), Fraction(2, 5)), LaplaceHistogram(3, Fraction(3, 4))),
    at_one=(UNIT, HISTOGRAM),
    broken=(
        broken("half the scale", UNIT, scale=UNIT.scale / 2),
        Broken("the scale is taken for the standard deviation", UNIT,
               lambda x, size, rng: rng.laplace(x, float(UNIT.scale) / np.sqrt(2), size)),
        Broken("the noise has no sign", UNIT, lambda x, size, rng: x + rng.exponential(float(UNIT.scale), size)),
        Broken("one uniform number gives sign and size", UNIT, one_uniform_number_gives_sign_and_size),
        # "A user changes exactly one entry."
        broken("the scale for one coordinate", HISTOGRAM, scale=HISTOGRAM.scale / 2),
        Broken("one noise serves all coordinates", HISTOGRAM,
               lambda x, size, rng: HISTOGRAM.column(x) + rng.laplace(0, float(HISTOGRAM.scale), (size, 1))),
        zeros_get_no_noise(HISTOGRAM, 1),
    ),
    refused=(
        *refusals("need", UNIT, scale=[Fraction(0), Fraction(-1)],
                  low=[Fraction(1), Fraction(2), 1 - Fraction(1, 10**30)]),
        *no_inputs("needs a number from -1/3 to 2/3", Laplace(Fraction(1), Fraction(-1, 3), Fraction(2, 3)),
                   -0.34, 1, float("nan"), float("inf"), True, None, "0"),
    ),
    mutants=(
        mutant("half the scale", UNIT, scale=UNIT.scale / 2),
        Mutant("the scale is the standard deviation", UNIT, Laplace(Fraction(2**0.5) / 2),
               lambda x, size, rng: rng.laplace(x, 2**-0.5, size)),
        mutant("the scale is cast to an integer", WIDE, scale=Fraction(1)),
        Mutant("inputs are rescaled to [0, 1.1]", UNIT, Laplace(Fraction(1), Fraction(0), Fraction(11, 10)),
               lambda x, size, rng: 1.1 * x + rng.laplace(size=size)),
        mutant("a user changes one entry only", HISTOGRAM, scale=HISTOGRAM.scale / 2),
        mutant("the norm is Euclid's", HISTOGRAM, scale=Fraction(2**0.5)),
    ),
)  # fmt: skip


gaussian_report = Zoo(
    small=(GaussianReport(Fraction(1, 3), Fraction(-1, 7), Fraction(2, 5)), GaussianReport(Fraction(9), Fraction(0), Fraction(5))),
    at_one=(BELL,),
    broken=(
        broken("half of sigma", BELL, sigma=BELL.sigma / 2),
        Broken("the noise has no sign", BELL, lambda x, size, rng: x + np.abs(rng.normal(0, float(BELL.sigma), size))),
        Broken("the noise is seeded in each run", BELL,
               lambda x, size, rng: np.repeat(BELL.sample(x, 1, np.random.default_rng(42)), size)),
        Broken("large noise is cut off", BELL,
               lambda x, size, rng: x + np.clip(rng.normal(0, float(BELL.sigma), size), -1, 1)),
    ),
    mutants=(
        mutant("sigma is divided by the root of 2", BELL, 0.1, sigma=BELL.sigma * Fraction(2**-0.5)),
        Mutant("inputs are rescaled to [0, 1.2]", BELL, GaussianReport(BELL.sigma, Fraction(0), Fraction(6, 5)),
               lambda x, size, rng: 1.2 * x + rng.normal(0, float(BELL.sigma), size), 0.05),
    ),
    refused=(
        *refusals("need", BELL, sigma=[Fraction(0), Fraction(-1)], low=[Fraction(1), 1 - Fraction(1, 10**30)]),
        Refusal("mu > 0 is needed", lambda: GaussianReport.for_gdp(0)),
        *no_inputs("needs a number from -1/3 to 2/3", GaussianReport(Fraction(1), Fraction(-1, 3), Fraction(2, 3)),
                   -0.34, 1, float("nan"), True, None),
    ),
    delta=Fraction(643445, 4929686),
)  # fmt: skip


bucket_heavy_hitter = Zoo(
    small=(BucketHeavyHitter(8, 2, 2, Fraction(5, 2)), BucketHeavyHitter(5, 1, 3, Fraction(3, 4), seed=2),
           BucketHeavyHitter(1 << 30, 2, 1, Fraction(1))),
    at_one=(BITS,),
    broken=(
        broken("the noise is for one trial", BITS, scale=BITS.scale / BITS.trials),
        *wrong_noise(BITS),
        zeros_get_no_noise(BITS, BITS.coordinates),
    ),
    refused=(
        *refusals("need",
                  BucketHeavyHitter(8, 2, 2, Fraction(1)), domain=[1, 2**62 + 1], rows=[0], trials=[0], scale=[0], seed=[-1]),
        *(Refusal("0 < delta < 1 and 0 < beta < 1", partial(BucketHeavyHitter.as_printed, 1, delta, beta, 8))
          for delta, beta in ((0, 0.1), (1, 0.1), (0.1, 0), (0.1, 1))),
        *no_inputs("needs an input", BucketHeavyHitter(16, 2, 2, Fraction(1)), 16),
    ),
    mutants=mutants_of(BITS, "the noise is for one trial", "coordinates"),
    loose=(BucketHeavyHitter,),
)  # fmt: skip


glps_heavy_hitter = Zoo(
    small=(
        GlpsHeavyHitter(4, 1, 2, 2, Fraction(5, 2)), GlpsHeavyHitter(5, 2, 1, 2, Fraction(3, 4), seed=2),
        GlpsHeavyHitter(8, 2, 1, 1, Fraction(7)), GlpsHeavyHitter(1 << 23, 2, 1, 8, Fraction(900)),
    ),
    at_one=(BUCKETS,),
    broken=(
        # "Each of sensitivity 1."
        broken("a replaced value is charged as an absent one", BUCKETS, scale=BUCKETS.scale / 2),
        *wrong_noise(BUCKETS),
        # It saves most of the random numbers.
        zeros_get_no_noise(MORE_BUCKETS, MORE_BUCKETS.coordinates, "only the value's bucket gets noise"),
        Broken("a bucket's measurements share one noise", MORE_BUCKETS,
               lambda x, size, rng: MORE_BUCKETS.column(x) + np.repeat(
                   rng.laplace(0, float(MORE_BUCKETS.scale), (size, MORE_BUCKETS.buckets)), MORE_BUCKETS.bits + 1, axis=1)),
    ),
    refused=(
        *refusals("need", GlpsHeavyHitter(8, 2, 2, 8, Fraction(1)),
                  domain=[1, 2**62 + 1], sparsity=[0], rows=[0], buckets=[3, 16, 0], scale=[0], seed=[-1]),
        *(Refusal("need", partial(GlpsHeavyHitter.as_printed, **{**PRINTABLE, **change})) for change in (
            {"delta": 0}, {"delta": 1}, {"beta": 0}, {"beta": 1}, {"users": 0}, {"domain": 1}, {"epsilon": 0}, {"users": 10**12})),
        *no_data("needs values from 0 to 99, got", GlpsHeavyHitter(100, 1, 1, 4, Fraction(1)), [3, 100], [-1, 5], {100: 2}),
        *no_inputs("needs an input", GlpsHeavyHitter(4, 1, 1, 2, Fraction(1)), 4),
    ),
    mutants=mutants_of(BUCKETS, "a replaced value is charged as an absent one", "measurements"),
    loose=(GlpsHeavyHitter,),
)  # fmt: skip


def the_product_of_a_value_with_itself_has_no_noise(x: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    views = SUMS.sample(x, size, rng)
    views[:, x] = 1
    return views


jl_heavy_hitter = Zoo(
    small=(JLHeavyHitter(8, 5, Fraction(5, 2)), JLHeavyHitter(1 << 30, 2, Fraction(1)),
           FreshProjections(3, 4, Fraction(3)), FreshProducts(4, 1, Fraction(2))),
    at_one=(PROJECTED, FRESH, SUMS),
    broken=(
        # "m linear queries, each with sensitivity 1/sqrt(m)"
        broken("the sensitivity is an absent user's", PROJECTED, scale=PROJECTED.scale / 2),
        Broken("the signs are not divided by the root", PROJECTED,
               lambda x, size, rng: np.sign(PROJECTED.columns(x)) + rng.laplace(0, float(PROJECTED.scale), (size, PROJECTED.rows))),
        wrong_noise(PROJECTED)[1],
        broken("the noise is for one projection", FRESH, scale=FRESH.scale / FRESH.domain),
        Broken("one noise serves all projections", FRESH,
               lambda x, size, rng: FRESH.column(x) + np.arange(FRESH.domain) % 2 * rng.laplace(0, float(FRESH.scale), (size, 1))),
        broken("the noise is for one product", SUMS, scale=SUMS.scale / SUMS.domain),
        Broken("a value's own product has no noise", SUMS, the_product_of_a_value_with_itself_has_no_noise),
    ),
    refused=(
        Refusal("needs domain <= 268435456, got domain=1073741824",
                lambda: JLHeavyHitter(1 << 30, 5, Fraction(1)).decode(np.zeros(5))),
        *no_inputs(r"domain \* rows <= 268435456", FreshProjections(1 << 20, 1 << 20, Fraction(1)), 0),
    ),
    mutants=(
        *mutants_of(PROJECTED, "the sensitivity is an absent user's", "rows"),
        mutant("the noise is for half of the values", FRESH, scale=FRESH.scale / 2),
    ),
    loose=(JLHeavyHitter, FreshProjections, FreshProducts),
)  # fmt: skip
