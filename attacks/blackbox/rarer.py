"""Rules that guess on rarer reports than the chosen one, and what the last look spends on each of them.

A leak that few reports show promises little while a score is learned, and much once it is measured: 15 reports that are all
right may be luck, the 85 that follow are not. What is spent is settled before the measured reports are drawn, so the union
bound holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.blackbox.scores import NOTHING, AnyScore
from ldpaudit.attacks.games.game import Narrower
from ldpaudit.attacks.games.two_inputs import Prospect, ThresholdRule
from ldpaudit.evidence import Mode

STEP, LEVELS, FEWEST, MOST = 4, 6, 5, 3
"""Each rule guesses on a fourth of the reports that the one before it guesses on, or on fewer; rules tried for a score; learned
reports that a rule guesses on, at least; and rules that are measured, at most."""
EVEN = 0.5
"""Failure probability of what is inferred where a rule is neither favoured nor doubted."""
SPENT = {Mode.FIXED: 0.03, Mode.SEQUENTIAL: 0.5}
"""Share of the last look's level that all narrower rules have together. Of the only look 0.03 costs 1.8 % more reports at
confidence 0.95; of the last look of a sequential audit, which has a tenth of the level, a half costs the looks before nothing."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rarer:
    """A score, and the rules on it that guess on rarer reports."""

    score: AnyScore
    narrower: tuple[Narrower, ...]
    promise: float = 0.0
    """Of the first of them, as likely too high as too low."""


NONE = Rarer(NOTHING, ())
"""Where no rarer reports promise more."""


def spend(score: AnyScore, rules: Sequence[ThresholdRule], mode: Mode, promise: float = 0.0) -> Rarer:
    """The rules, each with its part of what the last look may spend on them."""
    event = f"rarer extremes of a learned score: {score.name}"
    return Rarer(score, tuple(Narrower(rule, SPENT[mode] / len(rules), event) for rule in rules), promise)


def better(first: Floats, second: Floats, least: float, prospect: Prospect) -> list[tuple[float, ThresholdRule]]:
    """What the rarer events of a score promise, and their rules; those that promise most first.

    ``first``, ``second``: scores of learned reports on either input, which the score was not fitted to; ``least``:
    what the chosen rule promises: what promises less is not looked for; ``prospect``: of the bound.
    """
    found = [(promised(rule, first, second, prospect), rule) for rule in _nested(first, second)]
    return sorted((each for each in found if each[0] > least), key=lambda each: -each[0])[:MOST]


def promised(rule: ThresholdRule, first: Floats, second: Floats, prospect: Prospect) -> float:
    """The bound to expect of a rule, as likely too high as too low."""
    return replace(prospect, luck=EVEN).of(rule, first, second)


def _nested(first: Floats, second: Floats) -> list[ThresholdRule]:
    """Thresholds as far from 0 on both sides, each beyond the one before."""
    size = np.sort(np.abs(np.concatenate([first, second])))
    most, found = int(np.count_nonzero(size)), list[ThresholdRule]()
    while most >= STEP * FEWEST and len(found) < LEVELS:
        # The next value after the one that a fourth of the guesses, or more, reach.
        most = len(size) - int(np.searchsorted(size, size[len(size) - most // STEP - 1], side="right"))
        if most >= FEWEST:
            found.append(ThresholdRule(float(size[len(size) - most]), -float(size[len(size) - most])))
    return found
