"""The canonical form of a report: order dropped where it says nothing, floats rounded.

This is what often leaves the device. By post-processing, whatever is refuted of the canonical form is refuted of the raw one.
Where the raw form alone is refuted, the leak is in what is dropped here: types, the order of a set, the low bits of a float.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.callables import positional

BITS = 20
"""Significant bits that a float keeps: fewer than the 24 of single precision."""


def rounded(values: Any) -> NDArray[np.float64]:
    """Floats to `BITS` significant bits; zeros have no sign, and all not-a-numbers are equal."""
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    with np.errstate(over="ignore"):
        near = np.ldexp(np.rint(mantissa * 2.0**BITS), exponent - BITS) + 0.0
    return np.where(np.isnan(near), np.nan, near)


def canonical(report: Any) -> Any:
    """One report: sequences as tuples, sets and dicts in order, lists of distinct integers or texts as the sets they are.

    Parameters
    ----------
    report : object
        Numbers, strings, bytes, None and containers of these; anything else is left as it is.
    """
    match report:
        case bool() | np.bool_() | int() | np.integer():
            return int(report)
        case float() | np.floating():
            return float(rounded(report))
        case np.ndarray() if report.dtype.kind == "f":
            return rounded(report)
        case np.ndarray() if report.dtype.kind in "biu":
            return report.astype(np.int64)
        case set() | frozenset():
            return tuple(sorted(map(canonical, report), key=repr))
        case dict():
            return tuple(sorted(((canonical(k), canonical(v)) for k, v in report.items()), key=lambda item: repr(item[0])))
        case list() | tuple() | np.ndarray():
            parts = [canonical(part) for part in report]
            named = isinstance(report, list) and all(isinstance(part, int | str) for part in parts)
            return tuple(sorted(parts, key=repr) if named and len(set(map(repr, parts))) == len(parts) else parts)
    return report


def canonicalized(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the same form, whose reports are canonical."""
    return partial(_one if positional(function) < 3 else _many, function)


def _one(function: Callable[..., Any], x: Any) -> Any:
    return canonical(function(x))


def _many(function: Callable[..., Any], x: Any, size: int, rng: np.random.Generator) -> Any:
    reports = function(x, size, rng)
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "biuf":
        return canonical(reports)
    return [canonical(report) for report in reports]
