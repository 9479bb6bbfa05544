"""JSON as its standard has it: no key twice, no number that is none, nothing nested beyond reason."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ldpaudit.toml import too_deep

DEEPEST = 64
"""Objects and arrays in one another that a file may have."""


def loads(text: str) -> Any:
    """JSON as plain data.

    Raises
    ------
    ValueError
        In one line: where it is not JSON, gives a key twice, or holds NaN or an infinity.
    """
    try:
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number, parse_float=_number)
    except RecursionError:
        raise ValueError(f"needs JSON of at most {DEEPEST} objects and arrays in one another, got more") from None
    if too_deep(data, DEEPEST):
        raise ValueError(f"needs JSON of at most {DEEPEST} objects and arrays in one another, got more")
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"needs each key once, got {next(k for k in keys if keys.count(k) > 1)!r:.60} twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"needs numbers of JSON, got {text}")


def _number(text: str) -> float:
    if abs(value := float(text)) == float("inf"):
        raise ValueError(f"needs numbers that a float can hold, got {text:.60}")
    return value
