"""What a paper prints of a mechanism's error, in a form that a simulation can be held against."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A sentence "with probability at least 1 - beta the error is at most alpha", on data of a given kind."""

    where: str  # source and number
    sentence: str  # what it says, at these parameters, the kind of data included
    alpha: float  # the error that is promised, in the units that the sentence names
    beta: float  # the probability with which it may be exceeded
    data: Callable[[np.random.Generator], Any]  # ``data(rng)``: the users' inputs, as `Mechanism.run` takes them
    # ``error(data, result)``: the error of what `Mechanism.run` returned, in the units of `alpha`
    error: Callable[[Any, Any], float]
    # ``run(data, rng)``: what is run in place of the mechanism's `run`, where the data are not as that takes them
    run: Callable[[Any, np.random.Generator], Any] | None = None


def zipf(users: int, domain: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Values of which number i is held about in proportion to 1/(i + 1)."""
    return np.minimum(np.exp(rng.random(users) * math.log(domain + 1)).astype(np.int64) - 1, domain - 1)


def zipf_data(users: int, domain: int) -> Callable[[np.random.Generator], NDArray[np.int64]]:
    """Such values, drawn for each run."""
    return lambda rng: zipf(users, domain, rng)


def largest_error(domain: int, first: int | None = None) -> Callable[[NDArray[np.int64], NDArray[np.float64]], float]:
    """The largest error of estimated counts of all values, or of the first of them."""
    return lambda held, found: float(np.abs(found - np.bincount(held.ravel(), minlength=domain))[:first].max())
