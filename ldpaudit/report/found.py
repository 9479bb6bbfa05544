"""What a system found, as lines and as data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ldpaudit.files.user_data import text_of


def listed(found: Any) -> list[Any]:
    """Plain data: values in their order, or pairs of a value and its number, most frequent first; of a table its rows."""
    if isinstance(found, Mapping):
        return [[value, number] for value, number in found.items()]
    if isinstance(found, frozenset):
        return [list(each) if isinstance(each, tuple) else each for each in sorted(found)]
    return list(np.asarray(found).tolist())


def spelled(found: list[Any]) -> list[Any]:
    """Pairs of a value and its number, with values as the words of which they are the first bytes."""
    return [[text_of(each[0]), *each[1:]] if isinstance(each, list) else each for each in found]


def lines(found: list[Any]) -> Iterator[str]:
    """A line for each."""
    return ("  ".join(map(str, each)) if isinstance(each, list) else str(each) for each in found)


def as_json(data: Any) -> str:
    """A file's text."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
