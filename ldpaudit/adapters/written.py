"""Reports that were written as JSON, read without losing what they say."""

from __future__ import annotations

import json
import math
from typing import Any


def read(text: str) -> Any:
    """The value of a JSON text.

    Raises
    ------
    ValueError
        Where it is none, has a key twice, of which Python would drop one, or a number beyond all floats.
    RecursionError
        Where it is too deep.
    """
    return json.loads(text, object_pairs_hook=_object, parse_float=_float)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"needs each key once, got {[key for key, _ in pairs]!r:.60}")
    return found


def _float(text: str) -> float:
    if math.isinf(found := float(text)):
        raise ValueError(f"needs numbers below 1.8e308, got {text:.60}")
    return found
