"""Objects of other libraries as callables, by what they can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ldpaudit.adapters.measures import claim_of_measure

METHODS = ("privatise", "privatize", "randomise", "randomize")
"""One value in, one report out: pure-ldp's clients, diffprivlib's mechanisms, and who follows them."""


def as_callable(target: Any) -> Callable[..., Any]:
    """``x -> report`` from an object with one of `METHODS`, or from whatever is callable.

    ``target``: a function, an OpenDP measurement, a client of pure-ldp, a mechanism of diffprivlib. Raises TypeError where it
    offers neither.
    """
    if isinstance(target, type) and (named := [name for name in METHODS if hasattr(target, name)]):
        raise TypeError(f"an audit needs an object with {named[0]}, got the class {target.__name__}")
    for name in METHODS:
        method = getattr(target, name, None)
        if callable(method):
            found: Callable[..., Any] = method
            return found
    if callable(target):
        return target  # type: ignore[no-any-return]
    offered = ", ".join(METHODS)
    raise TypeError(f"an audit needs a callable, or an object with one of {offered}; got {type(target).__name__}")


def claimed_epsilon(target: Any, distance: Any = 1, delta: float | None = None) -> tuple[float, float] | None:
    """What the object itself claims: (epsilon, delta), or None where it says nothing.

    ``target``: with ``map`` as OpenDP's measurements have it, which is read by its ``output_measure``; or with
    attributes ``epsilon`` and ``delta``; ``distance``: the input distance that ``map`` is asked about; ``delta``: in
    (0, 1): at which a measure that holds at every delta is read, as Gaussian noise's is. Another measure's claim is
    read with the delta that it has. In nats. Raises Unsupported where ``map`` is in terms of a measure that is
    not known; ValueError where the measure needs a delta, and has none or one that is too small.
    """
    if callable(getattr(target, "map", None)):
        return claim_of_measure(target, distance, delta)
    epsilon = getattr(target, "epsilon", None)
    if isinstance(epsilon, int | float) and not isinstance(epsilon, bool):
        return float(epsilon), float(getattr(target, "delta", 0) or 0)
    return None
