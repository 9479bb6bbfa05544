from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.one_bit import DBitFlip, OneBitMean, PerturbedDBitFlip
from tests.zoo import Broken, Zoo, afresh, broken, mutant, no_data, no_inputs, refusals, tenth

MEAN = OneBitMean.for_epsilon(1.0)
TWICE = OneBitMean.for_epsilon(2.0)
KEPT = OneBitMean.for_epsilon(1.0, gamma=Fraction(1, 5), reports=10)
HALVES = OneBitMean(Fraction(1, 5), Fraction(2, 3))
BUCKETS = DBitFlip.for_epsilon(1.0, k=5, d=3)
FLIPPED = PerturbedDBitFlip.for_epsilon(1.0, k=4, d=3, gamma=Fraction(1, 10), reports=8)
EVERY = replace(FLIPPED, d=FLIPPED.k)


def the_users_own_bucket_is_always_drawn(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    views = DBitFlip(BUCKETS.k, BUCKETS.k, BUCKETS.p).sample(x, size, rng)
    order = rng.random((size, BUCKETS.k))
    order[:, x] = -1
    views[np.argsort(np.argsort(order, axis=1), axis=1) >= BUCKETS.d] = -1
    return views


def a_one_is_never_flipped(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    views = BUCKETS.sample(x, size, rng)
    views[views[:, x] == 0, x] = 1
    return views


ZOO = Zoo(
    small=(OneBitMean(Fraction(1, 5), Fraction(2, 3)), OneBitMean(Fraction(2, 5), Fraction(9, 10), Fraction(1, 4), 4),
           OneBitMean.for_epsilon(2, reports=3), DBitFlip(4, 2, Fraction(3, 4)), DBitFlip(3, 1, Fraction(2, 3)),
           DBitFlip.for_epsilon(1.5, k=3, d=3), PerturbedDBitFlip(3, 2, Fraction(3, 4), Fraction(1, 5)),
           PerturbedDBitFlip(3, 1, Fraction(2, 3), Fraction(2, 5), reports=3)),
    at_one=(MEAN, OneBitMean.for_epsilon(1.0, gamma=Fraction(1, 5), reports=40), BUCKETS,
            DBitFlip.for_epsilon(2.0, k=4, d=1), FLIPPED),
    broken=(
        Broken("every collection rounds afresh", KEPT, afresh(KEPT)),
        Broken("the probability is rounded to a tenth", TWICE,
               lambda x, size, rng: rng.random(size) < round(float(TWICE.kept(x)), 1)),
        Broken("the number is divided by half its range", MEAN,
               lambda x, size, rng: rng.random(size) < float(MEAN.low + 2 * Fraction(x) * (MEAN.high - MEAN.low))),
        broken("each bit spends the whole epsilon", BUCKETS, p=MEAN.high),
        Broken("the user's own bucket is always drawn", BUCKETS, the_users_own_bucket_is_always_drawn),
        Broken("a one is never flipped", BUCKETS, a_one_is_never_flipped),
        Broken("every report draws its bits afresh", FLIPPED,
               lambda x, size, rng: np.where(FLIPPED.sample(x, size, rng) < 0, -1, afresh(EVERY)(x, size, rng))),
        broken("each bit spends the whole epsilon", FLIPPED, p=MEAN.high),
    ),
    refused=(
        *refusals("0 <= gamma < 1/2", HALVES, gamma=[Fraction(1, 2)]), *refusals("0 < low < 2/3", HALVES, low=[Fraction(2, 3)]),
        *refusals("1 <= d <= 4", DBitFlip(4, 2, Fraction(3, 4)), d=[5]),
        *refusals("0 < gamma < 1/2", FLIPPED, gamma=[0, Fraction(1, 2)]), *refusals("1/2 < p < 1", FLIPPED, p=[1]),
        *refusals("reports >= 1", FLIPPED, reports=[0]),
        *no_inputs(r"needs an input in \[0, 1\]", HALVES, -0.1, 1.5, float("nan"), None, "1", True),
        *no_data("one number in", HALVES, [0.5, 2.0]),
    ),
    mutants=(
        mutant("probabilities are rounded to tenths", TWICE, low=Fraction(1, 10), high=Fraction(9, 10)),
        mutant("the lower end is halved", MEAN, low=MEAN.low / 2),
        mutant("e is taken for 3", MEAN, low=Fraction(1, 4), high=Fraction(3, 4)),
        mutant("a number's upper end leaves the range", MEAN, high=MEAN.high + (MEAN.high - MEAN.low) / 10),
        mutant("each bit spends the whole epsilon", BUCKETS, p=MEAN.high),
        mutant("the flips are cut to tenths", BUCKETS, p=1 - tenth(1 - BUCKETS.p)),
    ),
    loose=(OneBitMean, PerturbedDBitFlip),
)  # fmt: skip
