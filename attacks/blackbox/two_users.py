"""Two users served by one program: their reports together show a seed that is fixed or shared.

Each user's report may be private, and the two together not: noise that both share drops out of their difference. Where the
reports are independent, both together are as private in one user's value as that user's own report.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ldpaudit.adapters.callables import call, positional


def together(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two users' values, of the same form: their reports by consecutive calls, and how these compare.

    ``function``: ``x -> report``, or ``(x, size, rng) -> reports``.
    """
    return partial(_one if positional(function) < 3 else _many, function)


def _one(function: Callable[..., Any], xs: Sequence[Any]) -> Any:
    return _compared(*(call(function, x) for x in xs))


def _many(function: Callable[..., Any], xs: Sequence[Any], size: int, rng: np.random.Generator) -> list[Any]:
    first, second = (call(lambda value: function(value, size, rng), x) for x in xs)
    return [_compared(a, b) for a, b in zip(first, second, strict=True)]


def neighbouring(inputs: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Pairs of users' values: the second user has the first of the inputs, the first user any of them."""
    return [(x, inputs[0]) for x in inputs]


def _compared(first: Any, second: Any) -> Any:
    """Both reports, whether they are equal, and, of numbers, the difference."""
    try:
        same = pickle.dumps(first) == pickle.dumps(second)
    except Exception:  # whatever a strange report raises when it is pickled: the encoding will say what it is
        same = False
    try:
        less = np.subtract(np.asarray(second, dtype=np.float64), np.asarray(first, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        return first, second, same
    return first, second, same, float(less) if less.ndim == 0 else less
