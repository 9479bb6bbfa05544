r"""What is seen of one coordinate of a sum in two data sets, and the log-likelihood ratios of several that are independent.

A coordinate is what user 1 adds, what groups of others add who hold one value each, and noise. Its law is the convolution of
theirs, listed at integers; with noise on real numbers, at points that are many within a deviation of the noise, and a view counts
as the nearest of them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Floats, Noise, Summand, logs, require_listed, spread
from ldpaudit.attacks.games.stems import listed
from ldpaudit.attacks.games.two_inputs import ScoreLaw

_WIDTH, _MORE = 12.0, 64
"""Masses of a sum are listed up to 12 standard deviations, and 64 counts more, from its mean: beyond are 1e-30."""
_MULTIPLIED = 1 << 24
"""Products of masses up to which two laws are convolved term by term, 20 ms, so that the smallest masses keep their digits."""
_LISTED = 1 << 24
"""Numbers of a sum whose masses are listed at most: 128 MB. Of 1e13 bits that are 1 with probability 1/150, 6 million are."""
_FINE = 64  # points within a deviation of noise on real numbers
_ROUNDED = 1e-15  # of the largest mass: what is smaller may be the rounding of a Fourier transform
_IN_LINE = 16  # steps between two losses that say how a list of losses goes on
_NEVER = 1e-16  # masses that a law of scores leaves out

Numbers = NDArray[Any]  # of a coordinate, in many views: counts, or real numbers


@dataclass(frozen=True, slots=True)
class Law:
    """The probabilities of a number and the following ones, with user 1's first value and with the second."""

    start: float
    parts: float  # numbers from one to the next integer
    first: Floats
    second: Floats

    def place(self, seen: Numbers) -> Floats:
        """Of the nearest number, or where it would stand if more were listed."""
        return np.asarray(np.rint((seen - self.start) * self.parts))


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A coordinate of the sum in two data sets."""

    own: tuple[Summand, Summand]  # what user 1 adds, with the first value and with the second
    others: tuple[tuple[Summand, int], ...]  # what another one adds, and of how many this is so
    noise: tuple[Noise, ...] = ()  # of all users' numbers together, and of aggregators

    def draw(self, side: int, size: int, rng: np.random.Generator) -> Numbers:
        """What is seen of it."""
        added = [each.draw(users, size, rng) for each, users in ((self.own[side], 1), *self.others)]
        return np.asarray(sum((*added, *(each.noise(size, rng) for each in self.noise))))

    @property
    def numbers(self) -> int:
        """How many are drawn for one view."""
        return len(self.noise) + sum(len(each.chances) for each in (self.own[0], *(each for each, _ in self.others)))

    @property
    def law(self) -> Law:
        """Of what is seen. Raises Unsupported where it is listed at millions of numbers."""
        parts, start, masses = self._parts, 0, np.ones(1)
        together = ((least * int(parts), spread(counts, parts)) for least, counts in map(_together, self.others))
        for least, each in (*(listed(each, parts) for each in self.noise), *together):
            left_out, masses = _convolved(masses, each)
            start += least + left_out
        places = [round((each.least - self.own[0].least) * parts) for each in self.own]
        own = [np.convolve(masses, spread(np.array(each.chances), parts)) for each in self.own]
        low, high = min(places), max(place + len(each) for place, each in zip(places, own, strict=True))
        require_listed(high - low, _LISTED)
        first, second = (np.pad(each, (at - low, high - at - len(each))) for at, each in zip(places, own, strict=True))
        known = self.own[0].least + sum(each.least * users for each, users in self.others)
        return Law(known + (start + low) / parts, parts, first, second)

    @property
    def _parts(self) -> float:
        """Numbers from one to the next integer at which all that is added is listed: 1, but with noise on real numbers."""
        of_reals = [np.asarray(each.noise(0, np.random.default_rng(0))).dtype.kind == "f" for each in self.noise]
        if not any(of_reals):
            return 1
        apart = abs(self.own[1].least - self.own[0].least)
        counts = not all(of_reals) or any(len(each.chances) > 1 for each in (*self.own, *(each for each, _ in self.others)))
        unit = 1 if counts else apart
        least = min(float(each.variance) for each, real in zip(self.noise, of_reals, strict=True) if real)
        return max(1, math.ceil(_FINE * unit / math.sqrt(least))) / unit


def _together(group: tuple[Summand, int]) -> tuple[int, Floats]:
    """A count, and the probabilities that a group's reports add this much, and more, to their least numbers."""
    (chances, users) = group[0].chances, group[1]
    if len(chances) == 1:
        return 0, np.ones(1)
    each = np.array(chances)
    mean = float(each @ np.arange(len(each)))
    variance = float(each @ (np.arange(len(each)) - mean) ** 2)
    reach = _WIDTH * math.sqrt(users * variance) + _MORE
    least, most = max(0, int(users * mean - reach)), min(users * (len(each) - 1), int(users * mean + reach) + 1)
    if len(each) == 2:
        from scipy.stats import binom  # here: it takes a while to import

        return least, binom.pmf(np.arange(least, most + 1), users, chances[1])
    from scipy import fft

    require_listed(most + 1 - least, _LISTED)
    size = fft.next_fast_len(max(most + 1 - least, len(each)), real=True)
    around = np.maximum(fft.irfft(fft.rfft(each, size) ** users, size), 0.0)  # at every number modulo the size
    left_out, found = _seen(np.roll(around, -least)[: most + 1 - least])
    return least + left_out, found


def _convolved(one: Floats, other: Floats) -> tuple[int, Floats]:
    """How many of the first numbers are left out, and the masses of the following ones."""
    from scipy.signal import fftconvolve  # here: it takes a while to import

    require_listed(len(one) + len(other), _LISTED)
    if len(one) * len(other) <= _MULTIPLIED:
        return 0, np.convolve(one, other)
    return _seen(np.maximum(fftconvolve(one, other), 0.0))


def _seen(masses: Floats) -> tuple[int, Floats]:
    """How many of the first masses are no more than rounding, and those from there on, up to the last that is more."""
    (seen,) = np.nonzero(masses > _ROUNDED * masses.max())
    return int(seen[0]), masses[seen[0] : seen[-1] + 1]


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """Of the sums of several independent coordinates in two data sets."""

    laws: tuple[Law, ...]  # of the coordinates
    losses: tuple[Floats, ...]  # the logarithms of their ratios

    @classmethod
    def of(cls, coordinates: Iterable[Coordinate]) -> Self:
        """Of these coordinates; equal ones are looked at once."""
        each = list(coordinates)
        known = {one: one.law for one in set(each)}
        losses = {one: logs(law.first, law.second) for one, law in known.items()}
        return cls(tuple(known[one] for one in each), tuple(losses[one] for one in each))

    def score(self, seen: Sequence[Numbers]) -> Floats:
        """Log-likelihood ratios of sums, given what is seen of each coordinate; 0 where neither data set shows the sum."""
        total = np.zeros(len(seen[0]))
        for law, losses, each in zip(self.laws, self.losses, seen, strict=True):
            with np.errstate(invalid="ignore"):
                total += _read(losses, law.place(each))
        # Rounded, so that sums of equal terms in another order compare equal.
        return np.nan_to_num(np.round(total, 9), nan=0.0, posinf=np.inf, neginf=-np.inf)

    def scores(self, rounds: int) -> ScoreLaw:
        """The law of the scores of all rounds together."""
        each = []
        for law, losses in zip(self.laws, self.losses, strict=True):
            seen = law.first + law.second > _NEVER
            each.append(ScoreLaw(losses[seen], law.first[seen], law.second[seen]).grouped())
        one = reduce(ScoreLaw.plus, each)
        return replace(one, scores=np.round(one.scores, 9)).times(rounds)


def _read(losses: Floats, places: Floats) -> Floats:
    """The losses at these places; beyond the last one, in line with the last ones, so that wrong code is told apart there, too."""
    near, last = np.clip(places, 0, len(losses) - 1).astype(np.int64), min(_IN_LINE, len(losses) - 1)
    found, beyond = losses[near], places - near
    if beyond.any():
        below, above = np.nan_to_num([losses[last] - losses[0], losses[-1] - losses[-1 - last]], posinf=0.0, neginf=0.0) / last
        found = found + np.where(beyond < 0, below, above) * beyond
    return found
