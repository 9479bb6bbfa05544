from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from tests.zoo import Broken, Mutant, Zoo, tenth

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
