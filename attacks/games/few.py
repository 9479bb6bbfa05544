"""The inputs of a mechanism, where they are few: a domain may have more than `len` can say."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any


def few_of(inputs: Iterable[Any], most: int) -> list[Any]:
    """All inputs; none where there are more than `most`."""
    found = list(islice(inputs, most + 1))
    return found if len(found) <= most else []
