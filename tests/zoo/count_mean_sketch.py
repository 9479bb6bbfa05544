from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from tests.zoo import Broken, Mutant, Zoo, tenth

SKETCH = CountMeanSketch.for_epsilon(1.0, width=16, hashes=32, domain=100)
LOUD = CountMeanSketch.for_epsilon(2.0, width=16, hashes=32, domain=100)
HADAMARD = HadamardCountMeanSketch.for_epsilon(1.0, width=16, hashes=32, domain=100)


def each_coordinate_spends_the_whole_epsilon(x: int, size: int, rng: np.random.Generator) -> Views:
    return CountMeanSketch(SKETCH.width, SKETCH.hashes, HADAMARD.p, SKETCH.domain).sample(x, size, rng)


def the_flip_probability_is_cut_to_a_quarter(x: int, size: int, rng: np.random.Generator) -> Views:
    return CountMeanSketch(LOUD.width, LOUD.hashes, Fraction(3, 4), LOUD.domain).sample(x, size, rng)


def only_the_hashed_coordinate_is_randomized(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = np.zeros((size, 1 + SKETCH.width), dtype=np.int64)
    views[:, 0] = j = rng.integers(0, SKETCH.hashes, size)
    views[np.arange(size), 1 + SKETCH.buckets(x)[j]] = rng.random(size) < float(SKETCH.p)
    return views


def only_plus_one_is_flipped(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
    views = HADAMARD.sample(x, size, rng)
    positive = ~HADAMARD.negative(x, views[:, 0], views[:, 1])
    views[:, 2] = np.where(positive & (rng.random(size) < float(HADAMARD.p)), 1, -1)
    return views


def it_flips_where_two_coins_agree(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
    flip = float(1 - HADAMARD.p)
    return HadamardCountMeanSketch(HADAMARD.width, HADAMARD.hashes, Fraction(1 - flip * flip), 100).sample(x, size, rng)


def mutants() -> Iterator[Mutant]:
    sketch, loud = (CountMeanSketch.for_epsilon(n, width=16, hashes=32, domain=100) for n in (1, 2))
    one = HadamardCountMeanSketch.for_epsilon(1, width=16, hashes=32, domain=100)
    yield Mutant("each coordinate spends the whole epsilon", sketch, replace(sketch, p=one.p))
    yield Mutant("the flips are cut to quarters", loud, replace(loud, p=Fraction(3, 4)))
    yield Mutant("the flips are cut to tenths", sketch, replace(sketch, p=1 - tenth(1 - sketch.p)))
    yield Mutant("it flips where two coins agree", one, replace(one, p=1 - (1 - one.p) ** 2))
    yield Mutant("the coin has two bits", one, replace(one, p=Fraction(3, 4)))
    yield Mutant("the lie is a fair sign", one, replace(one, p=(1 + one.p) / 2))


ZOO = Zoo(
    # Where the domain has two values, a third of the hash functions and more send both to one bucket.
    small=(CountMeanSketch(4, 3, Fraction(3, 4), domain=5), CountMeanSketch.for_epsilon(3, width=2, hashes=4, domain=3),
           CountMeanSketch(4, 6, Fraction(2, 3), domain=2), HadamardCountMeanSketch(4, 3, Fraction(2, 3), domain=6),
           HadamardCountMeanSketch.for_epsilon(2, width=2, hashes=5, domain=2)),
    at_one=(SKETCH, CountMeanSketch.for_epsilon(1.0, width=64, hashes=1024), HADAMARD,
            HadamardCountMeanSketch.for_epsilon(1.0, width=1024, hashes=16)),
    broken=(
        Broken("each coordinate spends the whole epsilon", SKETCH, each_coordinate_spends_the_whole_epsilon),
        Broken("the flip probability is cut to a quarter", LOUD, the_flip_probability_is_cut_to_a_quarter),
        Broken("only the hashed coordinate is randomized", SKETCH, only_the_hashed_coordinate_is_randomized),
        Broken("only +1 is flipped", HADAMARD, only_plus_one_is_flipped),
        Broken("it flips where two coins agree", HADAMARD, it_flips_where_two_coins_agree),
    ),
    mutants=tuple(mutants()),
)
