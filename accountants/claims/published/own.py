"""Bounds of one's own, beside the field's: functions of a plan and a delta.

A bound returns an epsilon in nats; None of a plan that it is not about; and raises a ValueError, "NAME needs HYPOTHESIS, got
VALUES", where a hypothesis is not met. The first paragraph of its docstring says all that it needs. Its attributes ``source``
and ``year``, if it has them, say where it is from. What it returns is a float that nobody has certified.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from importlib import metadata
from typing import TypeAlias

from ldpaudit.accountants.claims.published.theorem import Published
from ldpaudit.accountants.claims.sentence import Provenance
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import ImplementationError, needed
from ldpaudit.plan import Plan

GROUP = "ldpaudit.bounds"  # the entry points of installed packages that name such functions
Bound: TypeAlias = Callable[[Plan, Fraction], float | None]


def installed() -> list[Bound]:
    """Those that installed packages register."""
    found: list[Bound] = []
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name):
        with needed(f"the bound {point.name} needs {point.value}"):
            found.append(point.load())
    return found


def own(bounds: Sequence[Bound], plan: Plan, delta: Fraction) -> Iterator[Published]:
    """Those that are about the plan, as rows beside the field's."""
    for bound in bounds:
        name = bound.__qualname__
        source, year = str(getattr(bound, "source", f"{bound.__module__}.{name}")), int(getattr(bound, "year", 0))
        needs = " ".join((inspect.getdoc(bound) or "nothing that it says").split("\n\n")[0].split()).rstrip(".")
        if (found := _asked(bound, plan, delta)) is not None:
            yield Published(name, year, source, partial(_answered, found, source), needs, Provenance.OWN)


def _asked(bound: Bound, plan: Plan, delta: Fraction) -> float | ValueError | None:
    try:
        found = bound(plan, delta)
        return found if found is None else float(found)
    except ValueError as unmet:
        return unmet
    except Exception as error:
        raise ImplementationError(f"the bound {bound.__qualname__} raised {type(error).__name__}: {error}") from error


def _answered(found: float | ValueError, source: str) -> Enclosure:
    if isinstance(found, ValueError):
        raise found
    return Enclosure(0.0, found, Rigour.FLOAT, source)
