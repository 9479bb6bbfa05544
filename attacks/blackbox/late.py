"""An audit of a callable: the most of it at once, and a part of the budget at the end, for code that behaves well at first.

What the first views show chooses the event of nearly all others. Code that leaks only after so many calls would never be seen
in it. So the last views are an audit of their own: its event is learned from some of them and measured on the rest. What it may
spend of the level is settled before the first view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ldpaudit.attacks.blackbox.target import target
from ldpaudit.attacks.engine.run import run
from ldpaudit.core.pace import LEARNING, least_trials
from ldpaudit.evidence import Evidence, Mode
from ldpaudit.workers.experiment import Execution, Experiment, Reading

VIEWS, LEVEL = 0.015, 0.01
"""Shares of the budget and of the level that the last part has: 1.5 % of the views, and at confidence 0.95 0.6 % more of them for
the level."""
LATE_LEARNING = 1 / 3
"""Share of the last views that is learned from; as many again where the score still learns."""
CHILD = (1 << 31) + 1
"""Which child of the seed is the last part's seed: no other part draws from it."""
LATE = "late in the audit, "
"""What the words of an event begin with, where the last views alone gave the bound."""


def audit(
    function: Callable[..., Any],
    inputs: Sequence[Any] | None,
    experiment: Experiment,
    reading: Reading,
    execution: Execution,
    code: str,
) -> Evidence:
    """Evidence on a callable; for the arguments see `target` and `run`.

    An audit that has refuted its claim ends before the last views.
    """

    def part(asked: Experiment, told: Execution, share: float, learning: float) -> Evidence:
        """Learn from this share of the trials and more, measure on the others, spend this share of the level."""
        box = target(function, inputs, asked, reading, told.progress, learning)
        learned = asked.trials - box.remaining
        found = run(box.target, replace(asked, trials=box.remaining), _shifted(told, learned, 0.0), code, share)
        trajectory = None if found.trajectory is None else found.trajectory.after(learned)
        return replace(found, trials=learned + found.trials, distinct=box.distinct, trajectory=trajectory)

    views = late_views(experiment.trials, 0 if inputs is None else len(inputs))
    if not views:
        return part(experiment, execution, 1.0, LEARNING)
    early = replace(experiment, trials=experiment.trials - views)
    found = part(early, execution, 1 - LEVEL, LEARNING)
    if experiment.enough is not None and found.refutes(experiment.enough):
        return found
    child = int(np.random.SeedSequence(experiment.seed, spawn_key=(CHILD,)).generate_state(1, np.uint64)[0])
    late = replace(experiment, trials=views, mode=Mode.FIXED, seed=child)
    told = replace(_shifted(execution, found.trials, found.epsilon_lower), checkpoint=None)
    last = part(late, told, LEVEL, LATE_LEARNING)
    drawn = found.trials + last.trials
    if last.epsilon_lower <= found.epsilon_lower:
        return replace(found, trials=drawn)
    # The looks before spent a part of the level of their own: their bounds hold together with this one.
    return replace(last, trials=drawn, seed=experiment.seed, event=f"{LATE}{last.event}", trajectory=found.trajectory)


def late_views(trials: int, inputs: int) -> int:
    """Views of the last part; 0 where they would be too few to learn from."""
    views = int(trials * VIEWS)
    return views if inputs > 1 and views >= least_trials(inputs, LATE_LEARNING) else 0


def _shifted(execution: Execution, views: int, least: float) -> Execution:
    """Whoever is told of the views is told of those before them, and of a bound that is no worse."""
    if (progress := execution.progress) is None:
        return execution
    return replace(execution, progress=lambda drawn, bound: progress(views + drawn, max(bound, least)))
