"""Noise on counts: what an aggregator adds to a sum before it is published.

What one user may change is a parameter, and not a norm of it: two changes of one norm may cost differently.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.number import brief, whole
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.shared.parameters import positive

MOST_COUNTS = 1 << 12  # counts that one user may change; of more than 64 an audit draws fewer views
_LARGEST = 1 << 53  # of a change in one count, so that a float holds it


def part_of(m: CountNoise, name: str, honest: int, designed: int) -> int:
    """The same part of a parameter that is a whole number for each share. Raises ValueError where it is not."""
    each, rest = divmod(getattr(m, name), designed)
    if rest:
        raise ValueError(f"{type(m).__name__} is shared by adding {name}: needs a multiple of {designed}, got {getattr(m, name)}")
    return int(each) * honest


class CountNoise(Mechanism):
    """Counts plus independent noise of one law on each; the counts that no input changes are left out.

    A view is a row of numbers. The two inputs are what is released with one user's value and with another, less what
    all other users add, which the adversary knows and takes off.

    Parameters
    ----------
    change : tuple of int
        By how much one user's value changes each count: (1,) where it is left out of one count, (1, -1) where another
        value takes its place in a histogram. At most 4096 numbers, from -2**53 to 2**53, one of them not 0.
    """

    model = "central"
    size: ClassVar[tuple[str, int | None]] = ("", None)
    """The parameter of the noise that is a number above 0, and the largest that it may be; no name where none is."""

    change: tuple[int, ...]

    def __post_init__(self) -> None:
        """Make the size an exact number, and the change a tuple of integers."""
        (name, most), given = self.size, cast(Any, self.change)
        if name:
            value = positive(name, getattr(self, name))
            if most is not None and value > most:
                raise ValueError(f"{type(self).__name__} needs {name} <= {most}, got {name}={value}")
            object.__setattr__(self, name, value)
        if isinstance(given, str) or not hasattr(given, "__iter__"):
            raise TypeError(f"{type(self).__name__} needs a change such as [1, -1], got {brief(given)}")
        found = tuple(map(whole, given))
        if any(each is None for each in found):
            raise TypeError(f"{type(self).__name__} needs integers in change, got {brief(given)}")
        if not (len(found) <= MOST_COUNTS and any(found) and max(abs(each or 0) for each in found) <= _LARGEST):
            needs = f"1 to {MOST_COUNTS} integers from -2**53 to 2**53 in change, one of them not 0"
            raise ValueError(f"{type(self).__name__} needs {needs}, got {brief(given)}")
        object.__setattr__(self, "change", found)

    @property
    def shifts(self) -> tuple[int, ...]:
        """Sizes of the changes that are not 0."""
        return tuple(abs(each) for each in self.change if each)

    @property
    def distance(self) -> int:
        """Sum of the sizes of all changes."""
        return sum(self.shifts)

    @property
    def squared(self) -> int:
        """Sum of the squares of all changes."""
        return sum(each**2 for each in self.shifts)

    @property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        return (0,) * len(self.change), self.change

    @property
    def view_length(self) -> int:
        return len(self.change)

    @property
    def mean(self) -> Fraction:
        """Mean of the noise, which an estimate takes off."""
        return Fraction(0)

    def of_shares(self, honest: int, designed: int) -> CountNoise:
        """What `honest` of `designed` clients add who add this noise together. ValueError where it has no such shares."""
        raise ValueError(f"{type(self).__name__} is not shared among clients: no law of a share is known")

    @property
    @abstractmethod
    def variance(self) -> Fraction:
        """Variance of the noise; of the discrete and of the rounded Gaussian, a bound from above that is nearly attained."""

    @abstractmethod
    def noise(self, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Independent noises, shape ``(size,)``."""

    def sample(self, x: tuple[int, ...], size: int, rng: np.random.Generator) -> NDArray[Any]:
        self.require_input(x)
        return self._noised(np.array(x), size, rng)

    def _noised(self, counts: NDArray[Any], size: int, rng: np.random.Generator) -> NDArray[Any]:
        return np.asarray(counts + self.noise(size * len(counts), rng).reshape(size, len(counts)))

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased sum of the counts of all views, shape ``(counts,)``."""
        noisy = np.asarray(views, dtype=np.float64)
        return np.asarray(noisy.sum(axis=0) - len(noisy) * float(self.mean), dtype=np.float64)

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Sum of the users' rows of counts, shape ``(users, counts)``, with noise added once, shape ``(counts,)``."""
        return self.estimate(self._noised(self._sums(data), 1, rng))

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """Sum of the users' rows, shape ``(counts,)``."""
        return self._sums(data).astype(np.float64)

    def _sums(self, data: ArrayLike) -> NDArray[np.int64]:
        rows = np.asarray(data)
        if rows.ndim != 2 or not len(rows) or rows.shape[1] != len(self.change) or rows.dtype.kind not in "iu":
            needs = f"a row of {len(self.change)} integers for each of at least one user"
            raise ValueError(f"{type(self).__name__}.run needs {needs}, got {rows.dtype} of shape {rows.shape}")
        return np.asarray(rows.sum(axis=0), dtype=np.int64)
