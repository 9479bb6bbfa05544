"""Reports of less usual types as those that are usual: what a value holds, and what it is besides.

Whatever leaves the device with a value is kept: the digits of a decimal, the fields of a dataclass, the attributes of a number,
the types of a frame's columns, how an array lies in memory. docs/adapters.md lists what is not.
"""

import array
import dataclasses
import datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np

from ldpaudit.adapters.callables import ITERATED, Consumed, as_it_is_now

NUMERIC = "biuf"  # kinds of arrays whose numbers are read as they lie there
_TIMES = (datetime.datetime, datetime.date, datetime.time)
_FRAMES = ("pandas", "polars")
_BARE = frozenset({
    bool, int, float, str, bytes, bytearray, list, tuple, set, frozenset, dict, np.ndarray, np.bool_, type(None),
    *np.sctypeDict.values(),
})  # fmt: skip
"""Types whose values have nothing besides what they hold."""

Opened = tuple[tuple[Any, ...], Any]  # what a value is, and what it holds


def attributes(value: Any) -> dict[str, Any]:
    """What a number, text or container of a class of its own carries besides; nothing of any other value."""
    if type(value) in _BARE or not isinstance(value, int | float | str | bytes | list | tuple | set | frozenset | dict):
        return {}
    return {} if isinstance(value, Enum) else dict(getattr(value, "__dict__", {}))


def opened(value: Any) -> Opened | None:
    """What the value is and what it holds, as values of usual types; None of a usual type, and of one that is not known."""
    kind = type(value).__name__
    match value:
        case Enum():
            return (kind, "member"), value.value
        case Consumed():
            return (value.kind, "consumed"), value.parts
        case Decimal():
            return (kind, "digits"), tuple(value.as_tuple())
        case Fraction():
            return (kind, "ratio"), (value.numerator, value.denominator)
        case complex() | np.complexfloating():
            return (kind, "parts"), (value.real, value.imag)
        case np.datetime64() | np.timedelta64():  # the second is an integer of numpy's, too
            return (kind, value.dtype.str), int(value.astype(np.int64))
        case np.void():
            names = value.dtype.names
            return (kind, str(value.dtype)), value.tobytes() if names is None else tuple(value[name] for name in names)
        case np.ndarray() if value.dtype.kind not in NUMERIC:
            return _opened_array(value)
        case datetime.timedelta():
            return (kind, "parts"), (value.days, value.seconds, value.microseconds)
        case UUID():
            return (kind, "number"), value.int
        case range() | slice():
            return (kind, "ends"), (value.start, value.stop, value.step)
        case array.array():
            return (kind, value.typecode), value.tolist()
    if isinstance(value, (*ITERATED, memoryview)):
        return opened(as_it_is_now(value, None))
    if isinstance(value, _TIMES):
        return (kind, "text"), (value.isoformat(), getattr(value, "fold", 0))
    if isinstance(value, PurePath):
        return (kind, "text"), str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if hasattr(value, field.name)}
        held |= getattr(value, "__dict__", {})
        return (kind, tuple(held)), tuple(held.values())
    return _opened_frame(value)


def _opened_array(value: Any) -> Opened:
    kind, dtype = type(value).__name__, value.dtype
    what = (kind, (str(dtype), value.shape))
    if dtype.names is not None:
        return what, tuple(np.ascontiguousarray(value[name]) for name in dtype.names)
    if dtype.kind == "c":
        return what, (np.ascontiguousarray(value.real), np.ascontiguousarray(value.imag))
    return what, value.astype(np.int64) if dtype.kind in "mM" else value.ravel().tolist()


def _opened_frame(value: Any) -> Opened | None:
    """Frames and series, whose columns have names and types; and tensors, which say what array they are."""
    kind, package = type(value).__name__, type(value).__module__.partition(".")[0]
    if package in _FRAMES and kind == "NAType":
        return (kind, "missing"), None
    if package in _FRAMES and hasattr(value, "columns") and hasattr(value, "dtypes"):
        columns = [value.iloc[:, i] if package == "pandas" else value.to_series(i) for i in range(value.shape[1])]
        return (kind, value.shape), (list(value.columns), columns, _index(value))
    if package in _FRAMES and hasattr(value, "dtype") and hasattr(value, "to_list"):
        return (kind, (str(value.dtype), len(value))), (getattr(value, "name", None), value.to_list(), _index(value))
    if callable(getattr(value, "__array__", None)):
        held = np.asarray(value)
        return None if held.dtype.hasobject else ((kind, str(getattr(value, "dtype", ""))), held)
    return None


def _index(value: Any) -> list[Any] | None:
    """The labels of a pandas frame's or series' rows."""
    index: Any = getattr(value, "index", None)
    return [index.name, str(index.dtype), index.to_list()] if hasattr(index, "to_list") else None
