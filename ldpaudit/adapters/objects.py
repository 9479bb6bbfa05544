"""Objects of other libraries as callables, by what they can do, and what they claim: a number means what its measure says."""

import math
import re
from collections.abc import Callable
from typing import Any

from ldpaudit.errors import Unsupported

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


ORDERS = tuple(1 + 10 ** (i / 20) for i in range(-80, 121))
"""Orders of the Renyi divergence that rho is converted at: each gives an epsilon that holds, 1 + 1e-4 to 1 + 1e6."""
SLACK = 1e-12  # by which an epsilon in floats is raised, relative to itself: more than the conversion's rounding
_TYPES = ("f32", "f64")  # words of a measure's name that are the type of its numbers, in older versions

MEASURES = (
    "MaxDivergence", "Approximate(MaxDivergence)", "FixedSmoothedMaxDivergence", "SmoothedMaxDivergence",
    "ZeroConcentratedDivergence", "Approximate(ZeroConcentratedDivergence)",
)  # fmt: skip
"""Names of the output measures whose claims are read."""


def claim_of_measure(target: Any, distance: Any, delta: float | None) -> tuple[float, float] | None:
    """(epsilon, delta) from ``map``, or None where what it returns is no such claim; see `claimed_epsilon`.

    Raises Unsupported where the output measure is none of `MEASURES`, or there is an output metric instead; ValueError
    where the measure needs a delta, and has none or one that is too small.
    """
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"a claim needs 0 < delta < 1, got {delta}")
    measure = getattr(target, "output_measure", None)
    if measure is None and getattr(target, "output_metric", None) is not None:
        raise Unsupported("a transformation", "its map bounds a distance of outputs, not privacy: chain it with a measurement")
    if measure is None:  # a map of somebody else's: a number is an epsilon, a pair is (epsilon, delta)
        found = target.map(distance)
        if isinstance(found, int | float) and not isinstance(found, bool):
            return float(found), 0.0
        return (float(found[0]), float(found[1])) if isinstance(found, tuple) and len(found) == 2 else None
    if (name := named(measure)) not in MEASURES:
        reason = f"a claim needs one of {', '.join(MEASURES)}: convert it in OpenDP"
        raise Unsupported(f"the output measure {measure!s:.60}", reason)
    found = target.map(distance)
    if name == "MaxDivergence":
        return float(found), 0.0
    if name in ("Approximate(MaxDivergence)", "FixedSmoothedMaxDivergence"):
        epsilon, own = found
        return float(epsilon), float(own)
    approximate = name == "Approximate(ZeroConcentratedDivergence)"
    rho, own = found if approximate else (found, 0.0)
    if delta is None:
        raise ValueError("a claim that holds at every delta needs a delta at which to read it, got none: give delta=")
    if name == "SmoothedMaxDivergence":
        return float(found.epsilon(delta)), delta
    if not delta > own:
        raise ValueError(f"a claim of approximate zCDP needs delta > {own}, its own, got {delta}")
    # What is left of delta, rounded down.
    return epsilon_of_rho(float(rho), (delta - own) * (1 - SLACK) if approximate else delta), delta


def named(measure: Any) -> str:
    """The name of a measure without types of numbers: ``Approximate(MaxDivergence)`` however it is printed.

    OpenDP prints ``MaxDivergence``, ``MaxDivergence()`` or ``MaxDivergence(f64)``, by its version.
    """
    words = [word for word in re.findall(r"\w+", str(measure)) if word not in _TYPES]
    return "(".join(words) + ")" * (len(words) - 1)


def epsilon_of_rho(rho: float, delta: float) -> float:
    r"""An epsilon with which every rho-zCDP mechanism is (epsilon, delta)-private.

    .. math:: \min_\alpha\; \rho\alpha + \frac{\log(1/(\alpha\delta))}{\alpha-1} + \log(1 - 1/\alpha)

    An upper bound at each order, and loose by the grid of orders. Source: Canonne, Kamath, Steinke 2020, proposition 12.

    ``rho``: at least 0; ``delta``: in (0, 1). The answer is in nats, and at least 0.
    """
    found = min(rho * a - math.log(a * delta) / (a - 1) + math.log1p(-1 / a) for a in ORDERS)
    return max(found + SLACK * (1 + abs(found)), 0.0)
