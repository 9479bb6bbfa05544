"""The attack on one mechanism: which inputs to compare, and what in a view tells them apart.

Each stem makes one of these; the games play it. Nothing here samples, counts or knows a mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, Views

Floats = NDArray[np.float64]
RARE = 1e-4  # probability below which an event is too rare to show much in the views that an audit draws
LISTED = 1 << 22  # numbers of a sum, or of noise on it, whose probabilities are listed at most
BAIT = 6
"""Places of a stream's views that a score reads though a correct counter makes them pure noise: wrong counters show there."""
TIE = 1e-6
"""Weight in a score of what a correct mechanism shows equally often on both inputs: it only orders views of equal ratio."""


@dataclass(frozen=True, slots=True)
class Attack:
    """Two inputs and a score that tells them apart.

    Parameters
    ----------
    pair : tuple
        Two neighbouring inputs.
    score : callable
        Views to an array of log-likelihood ratios under the declared mechanism, shape ``(size,)``: the larger, the more
        the view speaks for the first input; 0 where it speaks for neither, an infinity where the other input never
        shows it, NaN where neither does. Scores of repeated runs are added.
    event : str
        What the extreme scores are, in words.
    baits : tuple of Attack
        Other pairs, which show little if the code is as declared, and much if it is wrong in a likely way; or other views.
    views : callable or None
        An input, a size and a source of coins to what the score reads, where it is not the mechanism's views but another function
        of all that its users send. Code that is audited in its place has no such views.
    """

    pair: tuple[Any, Any]
    score: Callable[[Views], NDArray[np.float64]]
    event: str
    baits: tuple[Attack, ...] = ()
    views: Callable[[Any, int, np.random.Generator], Views] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """All that a report tells of a few values, as the report of a mechanism with a smaller law."""

    mechanism: Mechanism  # which makes such reports
    inputs: Mapping[Any, Any]  # each of the values to the mechanism's input in its place
    of: Callable[[Views], Views]  # whole reports, one after the other, to this part of them

    @classmethod
    def whole(cls, m: Mechanism, values: Sequence[Any]) -> Part:
        """The report itself."""
        return cls(m, {x: x for x in values}, lambda views: views)


@dataclass(frozen=True, slots=True)
class Summand:
    """What a report adds to one number of a sum: at least this much, and 0, 1, 2, ... more with these probabilities."""

    least: float
    chances: tuple[float, ...]

    @classmethod
    def coin(cls, p: float) -> Summand:
        """1 with probability p, else 0."""
        return cls(0, (1 - p, p))

    def draw(self, users: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """What the reports of this many users add."""
        match self.chances:
            case (_,):
                return np.full(size, self.least * users)
            case (_, p):
                return np.asarray(self.least * users + rng.binomial(users, p, size))
        return np.asarray(self.least * users + rng.multinomial(users, self.chances, size) @ np.arange(len(self.chances)))


class Noise(Protocol):
    """Noise on one number of a sum, on integers or on real numbers."""

    @property
    def variance(self) -> Any:
        """About its variance."""

    def noise(self, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Independent noises."""


@dataclass(frozen=True, slots=True)
class Summands:
    """All that a report tells of a few values, where it is a row of numbers that are summed."""

    # the place of each of these numbers, to what it is for each of the values, but for noise; every other number has the same law,
    # whichever of the values a user holds
    at: Mapping[int, Mapping[Any, Summand]]
    noise: Callable[[int], tuple[Noise, ...]] = lambda _: ()  # of the reports of n users together
    # where they are not independent, of a value and some of the places: every row of numbers there, and its probability
    together: Callable[[Any, tuple[int, ...]], Mapping[tuple[int, ...], float]] | None = None
    # of a row of independent bits, those of all other places: probabilities that they are 1, and of how many this is so
    rest: tuple[tuple[float, int], ...] = ()


def require_listed(numbers: float, most: int = LISTED, what: Mechanism | str = "this sum") -> None:
    """Raises Unsupported where a law spreads over too many numbers to be listed."""
    if numbers > most:
        raise Unsupported(what, f"its law spreads over {numbers:.3g} numbers, of which at most {most} are listed")


def spread(masses: Floats, parts: float) -> Floats:
    """Masses on integers, listed at the multiples of a fraction of 1. Raises Unsupported where these are millions."""
    if len(masses) == 1 or parts == 1:
        return masses
    points = (len(masses) - 1) * int(parts) + 1
    require_listed(points)
    found = np.zeros(points)
    found[:: int(parts)] = masses
    return found


def shown(p: NDArray[np.float64], q: NDArray[np.float64], delta: float) -> float:
    """About the epsilon that events {likelihood ratio at least some value} show, of two laws on the same views."""
    order = np.argsort(-logs(p, q), kind="stable")
    gained, lost = np.cumsum(p[order]) - delta, np.cumsum(q[order])
    return float(np.log(np.maximum(gained, RARE) / np.maximum(lost, RARE)).max())


def logs(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of likelihood ratios; NaN where neither law shows the view."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(p) - np.log(q))
