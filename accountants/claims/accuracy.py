"""What a paper prints of a mechanism's error, in a form that a simulation can be held against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A sentence "with probability at least 1 - beta the error is at most alpha", on data of a given kind.

    Parameters
    ----------
    where : str
        Source and number.
    sentence : str
        What it says, at these parameters, the kind of data included.
    alpha : float
        The error that is promised, in the units that the sentence names.
    beta : float
        The probability with which it may be exceeded.
    data : callable
        ``data(rng)``: the users' inputs, as `Mechanism.run` takes them.
    error : callable
        ``error(data, result)``: the error of what `Mechanism.run` returned, in the units of `alpha`.
    """

    where: str
    sentence: str
    alpha: float
    beta: float
    data: Callable[[np.random.Generator], Any]
    error: Callable[[Any, Any], float]
