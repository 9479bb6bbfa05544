"""The canonical form of a report: types and the order of sets dropped, floats rounded; and the form without any order.

This is what often leaves the device. By post-processing, whatever is refuted of the canonical form is refuted of the raw one.
Where the raw form alone is refuted, the leak is in what is dropped here: types, the order of a set, the low bits of a float.
"""

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.kinds import NUMERIC, opened
from ldpaudit.evidence import Form

Numbers: TypeAlias = NDArray[Any]

BITS = 20  # significant bits that a float keeps: fewer than the 24 of single precision


def rounded(values: Any) -> NDArray[np.float64]:
    """Floats to `BITS` significant bits; zeros have no sign, and all not-a-numbers are equal."""
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    with np.errstate(over="ignore"):
        near = np.ldexp(np.rint(mantissa * 2.0**BITS), exponent - BITS) + 0.0
    return np.where(np.isnan(near), np.nan, near)


def canonical(report: Any) -> Any:
    """One report: sequences as tuples, sets and dicts in order, floats rounded, types dropped. Integers and
    floats stay apart, as in JSON.

    A list is a list: its order says something, even where its parts are different, as those of a permutation are.

    ``report``: numbers, strings, bytes, None and containers of these; anything else is left as it is.
    """
    return _walked(report, tuple, lambda array: array)


def unordered(report: Any) -> Any:
    """As `canonical`, and lists and arrays stand for sets: their order is dropped too, at every depth.

    A tuple keeps its order: its places have meanings, as those of an index and what is said of it.
    """
    return _walked(report, _in_order, _sorted_array)


FORMS: dict[Form, Callable[[Any], Any]] = {Form.CANONICAL: canonical, Form.UNORDERED: unordered}
"""What makes each form of a raw report."""


def formed(form: Form, reports: Any) -> Any:
    """Raw reports, one after the other, in a form."""
    if not (isinstance(reports, np.ndarray) and reports.dtype.kind in NUMERIC):
        return list(map(FORMS[form], reports))
    plain = _plain(reports)
    if form is Form.CANONICAL or reports.ndim < 2:
        return plain
    # Each row is a report, and the order of reports is none of theirs.
    return np.sort(plain, axis=1) if plain.ndim == 2 else np.array([_sorted_array(row) for row in plain]).reshape(plain.shape)


def _walked(report: Any, listed: Callable[[list[Any]], Any], arrayed: Callable[[Numbers], Numbers]) -> Any:
    """One report, its lists and its arrays of numbers made into what these two say."""
    match report:
        case Enum():
            return _walked(report.value, listed, arrayed)
        case np.timedelta64():  # which is an integer of numpy's, too
            return int(report.astype(np.int64))
        case bool() | np.bool_() | int() | np.integer():
            return int(report)
        case float() | np.floating():
            return float(rounded(report))
        case np.ndarray() if report.dtype.kind in NUMERIC:
            return arrayed(_plain(report))
    walk = partial(_walked, listed=listed, arrayed=arrayed)
    match report:
        case set() | frozenset():
            return _in_order([walk(part) for part in report])
        case dict():
            return tuple(sorted(((walk(k), walk(v)) for k, v in report.items()), key=lambda item: repr(item[0])))
        case tuple():
            return tuple(map(walk, report))
        case np.ndarray() if report.ndim == 0:
            return walk(report.item())
        case list() | np.ndarray():
            return listed([walk(part) for part in report])
        case Decimal() | Fraction():
            with suppress(OverflowError, ValueError):  # too large for a float, or a signalling not-a-number
                return float(rounded(float(report)))
    return report if (found := opened(report)) is None else walk(found[1])


def _plain(array: NDArray[Any]) -> Numbers:
    return rounded(array) if array.dtype.kind == "f" else array.astype(np.int64)


def _in_order(parts: list[Any]) -> tuple[Any, ...]:
    return tuple(sorted(parts, key=repr))


def _sorted_array(array: Numbers) -> Numbers:
    """Its rows sorted, and then each row of rows by what is in them."""
    if array.ndim <= 1:
        return np.sort(array) if array.ndim else array
    return np.array(sorted(map(_sorted_array, array), key=lambda row: row.tobytes())).reshape(array.shape)
