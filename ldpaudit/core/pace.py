"""How many reports an audit of a callable takes: at least, and within a time, by whoever may look at a clock."""

import math
import re
from collections.abc import Callable

LEARNING, LEAST = 0.15, 16
"""Share of the trials that the score of a callable is learned from, and reports on each input that suffice at all."""
UNITS = {"s": 1, "m": 60, "h": 3600}
PILOT, GROWTH, KEPT = 16, 4, 0.8
"""Pilots grow by so much until one takes this part of the time; the share of what is left that is planned for."""
MOST = 10**9


def least_trials(inputs: int, learning: float = LEARNING) -> int:
    """The smallest budget for the audit of a callable on `inputs` inputs that learns from this share of it."""
    return math.ceil(LEAST * inputs / learning)


def views_needed(inputs: int, epsilon: float, delta: float, confidence: float) -> float:
    """Views from which on a claim may be refuted, of code whose input is guessed right each time."""
    odds = (inputs - 1) * math.exp(-epsilon)
    right = math.log1p(-(1 - delta) * odds / (1 + odds))  # an (epsilon, delta)-private report's input is guessed no more often
    return math.log1p(-confidence) / right if right else math.inf


def seconds(text: str) -> float:
    """Of a time such as ``60s``, ``1.5m`` or ``1h``. Raises ValueError where it is none, or no time at all."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None or not float(found[1]):
        raise ValueError(f"a budget needs a time above 0 such as 60s, 5m or 1h, got {text!r:.60}")
    return float(found[1]) * UNITS[found[2]]


def trials_within(budget: float, pilot: Callable[[int], object], least: int, clock: Callable[[], float]) -> int:
    """As many trials as fit into what small audits leave of a time.

    ``budget``: in seconds; ``pilot``: an audit of this many trials; ``least``: trials of the smallest audit; never
    fewer; ``clock``: seconds since any moment.
    """
    begun, size, fresh = clock(), least, True
    while True:
        start = clock()
        pilot(size)
        took = max(clock() - start, 1e-9)
        if fresh and budget <= took * PILOT < budget * PILOT / 4:
            fresh = False  # what is loaded before the first report is no part of what a report takes: once more
            continue
        if took * PILOT >= budget or size >= MOST:
            left = budget - (clock() - begun)
            return min(max(least, int(size * KEPT * left / took)), MOST)
        size = min(size * GROWTH, MOST)
