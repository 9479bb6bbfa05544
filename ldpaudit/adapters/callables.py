"""Plain functions as samplers."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ldpaudit.errors import ImplementationError
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.plan import Plan

PATIENCE = 20.0
"""Seconds that a single report may take before the callable is said to hang."""

Sampler = Callable[[Any, int, np.random.Generator], Views]


def as_sampler(implementation: Mechanism | Callable[..., Any]) -> Sampler:
    """``(x, size, rng) -> views`` from a mechanism, from a callable of that form, or from ``x -> report``.

    Raises
    ------
    TypeError
        Where it is none of these.
    """
    if isinstance(implementation, Mechanism):
        return implementation.sample
    if not callable(implementation):
        raise TypeError(f"an implementation needs a callable, got {type(implementation).__name__}")
    if positional(implementation) >= 3:
        return _guarded(implementation)
    return lambda x, size, rng: stack([call(implementation, x) for _ in range(size)], x)


def resolve(name: str) -> Callable[..., Any]:
    """The callable that ``module:attribute`` names.

    Raises
    ------
    ImplementationError
        Where it cannot be imported, or is not callable.
    """
    found: Callable[..., Any] = _imported(name)
    if not callable(found):
        raise ImplementationError(f"needs a callable, got {type(found).__name__} at {name}")
    return found


def resolve_audited(name: str) -> Callable[..., Any] | Plan | Mechanism:
    """What ``module:attribute`` names, where it can be audited: a callable, or a plan or mechanism of ours.

    Raises
    ------
    ImplementationError
        Where it cannot be imported, or is none of these.
    """
    found: Callable[..., Any] | Plan | Mechanism = _imported(name)
    if not callable(found) and not isinstance(found, Plan | Mechanism):
        raise ImplementationError(f"needs a callable, a plan or a mechanism, got {type(found).__name__} at {name}")
    return found


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    if "/" in module or module.endswith(".py"):
        raise ImplementationError(f"needs MODULE:CALLABLE with a module's name as in an import, got the path {module!r}")
    if not module or not attribute:
        raise ImplementationError(f"needs MODULE:CALLABLE, got {name!r}")
    try:
        found = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # whatever the user's module raises while it is imported
        raise ImplementationError(f"cannot import {name}: {type(error).__name__}: {error}") from error
    return found


def positional(function: Callable[..., Any]) -> int:
    """How many positional arguments a callable requires; 1 where it does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)


def call(function: Callable[[Any], Any], x: Any) -> Any:
    """One report.

    Raises
    ------
    ImplementationError
        Where the callable raises, or returns None.
    """
    try:
        report = function(x)
    except ImplementationError:  # an adapter's, which says what happened
        raise
    except (Exception, SystemExit) as error:  # code that ends the program would end the audit as if it had passed
        raise ImplementationError(f"the callable raised {type(error).__name__}: {error}", x) from error
    if report is None:
        raise ImplementationError("the callable needs to return a report, got None", x)
    return report


def one_by_one(function: Callable[..., Any]) -> bool:
    """Whether it makes one report after the other, so that it is up to us on which input each is; see `in_order`."""
    return positional(function) < 3 or hasattr(function, "in_order")


def in_order(function: Callable[..., Any], xs: Sequence[Any], order: Sequence[int]) -> list[list[Any]]:
    """One report after the other, on the inputs at these places; put together for each input.

    Raises
    ------
    ImplementationError
        See `call`.
    """
    if (own := getattr(function, "in_order", None)) is not None:
        made: list[list[Any]] = own(xs, order)
        return made
    reports: list[list[Any]] = [[] for _ in xs]
    for place in order:
        reports[place].append(call(function, xs[place]))
    return reports


def _guarded(function: Callable[..., Any]) -> Sampler:
    def sample(x: Any, size: int, rng: np.random.Generator) -> Views:
        return call(lambda value: function(value, size, rng), x)

    return sample


def stack(reports: list[Any], x: Any) -> Views:
    """Reports as one array, the first axis counting reports.

    Raises
    ------
    ImplementationError
        Where they do not all have one shape.
    """
    try:
        return np.asarray(reports)
    except ValueError as error:
        raise ImplementationError(f"needs reports of one shape, got {reports[0]!r:.60}, ...", x) from error


def probe(function: Callable[[Any], Any], x: Any, patience: float = PATIENCE) -> Any:
    """One report, or an error where none comes in time.

    Raises
    ------
    ImplementationError
        Where the callable raises, returns None, or does not return within `patience` seconds.
    """
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(call(function, x))
        except ImplementationError as error:
            outcome.append(error)

    # A daemon: a function that hangs cannot be stopped, but it does not keep the program from ending.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(patience)
    if not outcome:
        raise ImplementationError(f"needs a report within {patience:g} s, got none: the callable hangs", x)
    if isinstance(outcome[0], ImplementationError):
        raise outcome[0]
    return outcome[0]
