"""Objects of other libraries as callables, by what they can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

METHODS = ("privatise", "privatize", "randomise", "randomize")
"""One value in, one report out: pure-ldp's clients, diffprivlib's mechanisms, and who follows them."""


def as_callable(target: Any) -> Callable[..., Any]:
    """``x -> report`` from an object with one of `METHODS`, or from whatever is callable.

    Parameters
    ----------
    target : object
        A function, an OpenDP measurement, a client of pure-ldp, a mechanism of diffprivlib, ...

    Raises
    ------
    TypeError
        Where it offers neither.
    """
    for name in METHODS:
        method = getattr(target, name, None)
        if callable(method):
            found: Callable[..., Any] = method
            return found
    if callable(target):
        return target  # type: ignore[no-any-return]
    offered = ", ".join(METHODS)
    raise TypeError(f"an audit needs a callable, or an object with one of {offered}; got {type(target).__name__}")


def claimed_epsilon(target: Any, distance: Any = 1) -> tuple[float, float] | None:
    """What the object itself claims: (epsilon, delta), or None where it says nothing.

    Parameters
    ----------
    target : object
        With ``map`` as OpenDP's measurements have it, or with attributes ``epsilon`` and ``delta``.
    distance : object
        The input distance that ``map`` is asked about.

    Returns
    -------
    pair of float or None
        In nats.
    """
    privacy_map = getattr(target, "map", None)
    if callable(privacy_map):
        answer = privacy_map(distance)
        if isinstance(answer, int | float):
            return float(answer), 0.0
        if isinstance(answer, tuple) and len(answer) == 2:
            return float(answer[0]), float(answer[1])
        return None
    epsilon = getattr(target, "epsilon", None)
    if isinstance(epsilon, int | float) and not isinstance(epsilon, bool):
        return float(epsilon), float(getattr(target, "delta", 0) or 0)
    return None
