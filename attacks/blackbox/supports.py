"""Which inputs a report supports: what anybody computes of a report whose hash function has a long public seed.

A report on a seed of its own is seen once, so that nothing is learned from it. Whether its hash function maps an input to the
reported value is a function of the report: by post-processing it leaks nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ldpaudit.adapters.callables import as_it_is_now, call, in_order, positional
from ldpaudit.errors import ImplementationError

Support = Callable[[Any, Any], Any]
"""(report, input): whether the report supports the input, or a number that says how much."""


def supported(function: Callable[..., Any], support: Support, inputs: Sequence[Any]) -> Callable[..., Any]:
    """A function like this one, each of whose reports stands beside which of the inputs it supports."""
    if hasattr(function, "in_order"):
        return _InOrder(function, support, inputs)
    return partial(_one if positional(function) < 3 else _many, function, support, inputs)


def _with(support: Support, inputs: Sequence[Any], report: Any) -> tuple[list[Any], Any]:
    try:
        return [support(report, y) for y in inputs], report
    except Exception as error:  # whatever the user's function raises
        raise ImplementationError(f"the support raised {type(error).__name__}: {error}, of the report {report!r:.60}") from error


def _one(function: Callable[..., Any], support: Support, inputs: Sequence[Any], x: Any) -> Any:
    return _with(support, inputs, call(function, x))


def _many(
    function: Callable[..., Any], support: Support, inputs: Sequence[Any], x: Any, size: int, rng: np.random.Generator
) -> list[Any]:
    return [_with(support, inputs, report) for report in as_it_is_now(function(x, size, rng), x)]


@dataclass(frozen=True, slots=True)
class _InOrder:
    """A program, or a log, with its own patience and its own order."""

    function: Callable[..., Any]
    support: Support
    inputs: Sequence[Any]
    patience: float = 0.0

    def __call__(self, x: Any, size: int, rng: np.random.Generator) -> Any:
        return _many(self.function, self.support, self.inputs, x, size, rng)

    def in_order(self, xs: Sequence[Any], order: Sequence[int]) -> list[list[Any]]:
        """See `callables.in_order`."""
        made = in_order(self.function, xs, order)
        return [[_with(self.support, self.inputs, report) for report in reports] for reports in made]
