"""The attack on one mechanism: which inputs to compare, and what in a view tells them apart.

Each stem makes one of these; the games play it. Nothing here samples, counts or knows a mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Mechanism, Views

RARE = 1e-4
"""Probability below which an event is too rare to show much in the views that an audit draws."""
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
        Other pairs, which show little if the code is as declared, and much if it is wrong in a likely way.
    """

    pair: tuple[Any, Any]
    score: Callable[[Views], NDArray[np.float64]]
    event: str
    baits: tuple[Attack, ...] = ()


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
class Coins:
    """All that a report tells of a few values, where it is a row of independent bits."""

    places: Sequence[int]  # of these bits; every other one has the same law, whichever of the values a user holds
    laws: Mapping[Any, NDArray[np.float64]]  # each of the values to the probabilities that these bits are 1


def shown(p: NDArray[np.float64], q: NDArray[np.float64], delta: float) -> float:
    """About the epsilon that events {likelihood ratio at least some value} show, of two laws on the same views."""
    order = np.argsort(-logs(p, q), kind="stable")
    gained, lost = np.cumsum(p[order]) - delta, np.cumsum(q[order])
    return float(np.log(np.maximum(gained, RARE) / np.maximum(lost, RARE)).max())


def logs(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of likelihood ratios; NaN where neither law shows the view."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(p) - np.log(q))
