"""What samples of a target show. It is called in a process of its own, so it imports little."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

import ldpaudit
from ldpaudit.enclosure import round_up
from ldpaudit.evidence import Evidence


def measure(
    name: str, inputs: Sequence[Any], epsilon: Fraction, delta: Fraction, trials: int, confidence: float, seed: int
) -> Evidence:
    """The evidence against a claim of epsilon and delta; the code ``module:callable`` is imported and run."""
    function = import_module("ldpaudit.adapters.callables").resolve(name)
    found: Evidence = ldpaudit.audit(
        function,
        inputs=inputs,
        epsilon=float(epsilon),
        delta=round_up(delta),
        trials=trials,
        confidence=confidence,
        seed=seed,
    )
    return found
