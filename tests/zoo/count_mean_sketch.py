from fractions import Fraction

import numpy as np

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from tests.zoo import Broken, Zoo, broken, fair_lie, mutant, refusals, tenth, two_bits

SKETCH = CountMeanSketch.for_epsilon(1.0, width=16, hashes=32, domain=100)
LOUD = CountMeanSketch.for_epsilon(2.0, width=16, hashes=32, domain=100)
HADAMARD = HadamardCountMeanSketch.for_epsilon(1.0, width=16, hashes=32, domain=100)


def only_the_hashed_coordinate_is_randomized(x: int, size: int, rng: np.random.Generator) -> Views:
    views = np.zeros((size, 1 + SKETCH.width), dtype=np.int64)
    views[:, 0] = j = rng.integers(0, SKETCH.hashes, size)
    views[np.arange(size), 1 + SKETCH.buckets(x)[j]] = rng.random(size) < float(SKETCH.p)
    return views


def only_plus_one_is_flipped(x: int, size: int, rng: np.random.Generator) -> Views:
    views = HADAMARD.sample(x, size, rng)
    positive = ~HADAMARD.negative(x, views[:, 0], views[:, 1])
    views[:, 2] = np.where(positive & (rng.random(size) < float(HADAMARD.p)), 1, -1)
    return views


ZOO = Zoo(
    # Where the domain has two values, a third of the hash functions and more send both to one bucket.
    small=(CountMeanSketch(4, 3, Fraction(3, 4), domain=5), CountMeanSketch.for_epsilon(3, width=2, hashes=4, domain=3),
           CountMeanSketch(4, 6, Fraction(2, 3), domain=2), HadamardCountMeanSketch(4, 3, Fraction(2, 3), domain=6),
           HadamardCountMeanSketch.for_epsilon(2, width=2, hashes=5, domain=2)),
    at_one=(SKETCH, CountMeanSketch.for_epsilon(1.0, width=64, hashes=1024), HADAMARD,
            HadamardCountMeanSketch.for_epsilon(1.0, width=1024, hashes=16)),
    broken=(
        broken("each coordinate spends the whole epsilon", SKETCH, p=HADAMARD.p),
        broken("the flip probability is cut to a quarter", LOUD, p=Fraction(3, 4)),
        Broken("only the hashed coordinate is randomized", SKETCH, only_the_hashed_coordinate_is_randomized),
        Broken("only +1 is flipped", HADAMARD, only_plus_one_is_flipped),
        broken("it flips where two coins agree", HADAMARD, p=1 - (1 - HADAMARD.p) ** 2),
    ),
    refused=(
        *refusals("power of two", HADAMARD, width=[6]),
        *refusals("1/2 < p < 1", SKETCH, p=[Fraction(1, 2)]),
        *refusals("1 <= hashes", SKETCH, hashes=[0]),
    ),
    mutants=(
        mutant("each coordinate spends the whole epsilon", SKETCH, p=HADAMARD.p),
        mutant("the flips are cut to quarters", LOUD, p=Fraction(3, 4)),
        mutant("the flips are cut to tenths", SKETCH, p=1 - tenth(1 - SKETCH.p)),
        mutant("it flips where two coins agree", HADAMARD, p=1 - (1 - HADAMARD.p) ** 2),
        two_bits(HADAMARD),
        fair_lie(HADAMARD),
    ),
)  # fmt: skip
