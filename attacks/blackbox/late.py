"""An audit of a callable: the most of it at once, and a part of the budget at the end, for code that behaves well at first.

What the first views show chooses the event of nearly all others. Code that leaks only after so many calls would never be seen
in it. So the last views are an audit of their own: its event is learned from some of them and measured on the rest. What it may
spend of the level is settled before the first view.

An event may be gone as soon as it is learned, as one of a salt is that has been changed. Where it never fires, another one is
learned, from fresh views. At delta = 0 that costs nothing of the level: given the views, without the inputs that made them, each
test holds, and the views alone say whether a rule guesses on any. At delta > 0 views without a guess move the tests, too, and the
event stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ldpaudit.attacks.blackbox.target import target
from ldpaudit.attacks.engine.run import run
from ldpaudit.core.pace import LEARNING, least_trials
from ldpaudit.evidence import LEARNED_AGAIN, Evidence, Mode
from ldpaudit.workers.experiment import Execution, Experiment, Reading

VIEWS, LEVEL = 0.015, 0.01
"""Shares of the budget and of the level that the last part has: 1.5 % of the views, and at confidence 0.95 0.6 % more of them for
the level."""
LATE_LEARNING = 1 / 3
"""Share of the last views that is learned from; as many again where the score still learns."""
CHILD = (1 << 31) + 1
"""Which child of the seed is the last part's seed, and after it those of events that are learned again."""
EVENTS = 4
"""Events that are learned one after the other, at most, where none of them fires."""
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

    least = least_trials(0 if inputs is None else len(inputs))

    def part(asked: Experiment, told: Execution, share: float, learning: float, last: bool = True) -> Evidence:
        """Learn from this share of the trials and more, measure on the others, spend this share of the level.

        Unless it is the last one, an event that never fires ends it in time to learn another.
        """
        box = target(function, inputs, asked, reading, told.progress, learning)
        learned, game = asked.trials - box.remaining, box.target
        if last or asked.delta or box.remaining < 2 * (game.patience + least):
            game = replace(game, patience=0)
        found = run(game, replace(asked, trials=box.remaining), _shifted(told, learned, 0.0), code, share)
        trajectory = None if found.trajectory is None else found.trajectory.after(learned)
        return replace(found, trials=learned + found.trials, distinct=box.distinct, limited=box.limited, trajectory=trajectory)

    def parts(asked: Experiment, share: float) -> Evidence:
        """As `part`, again while no event fires."""
        found = part(asked, execution, share, LEARNING, last=False)
        for again in range(1, EVENTS):
            left = asked.trials - found.trials
            if found.guesses or left < least:
                break
            told = replace(_shifted(execution, found.trials, 0.0), checkpoint=None)
            more = replace(asked, trials=left, seed=_child(asked.seed, again))
            fresh = part(more, told, share, LEARNING, again == EVENTS - 1)
            trajectory = None if fresh.trajectory is None else fresh.trajectory.after(found.trials)
            event = f"{LEARNED_AGAIN}{fresh.event.removeprefix(LEARNED_AGAIN)}"
            found = replace(fresh, trials=found.trials + fresh.trials, seed=asked.seed, event=event, trajectory=trajectory)
        return found

    views = late_views(experiment.trials, 0 if inputs is None else len(inputs))
    if not views:
        return parts(experiment, 1.0)
    early = replace(experiment, trials=experiment.trials - views)
    found = parts(early, 1 - LEVEL)
    if experiment.enough is not None and found.refutes(experiment.enough):
        return found
    late = replace(experiment, trials=views, mode=Mode.FIXED, seed=_child(experiment.seed, 0))
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


def _child(seed: int, place: int) -> int:
    return int(np.random.SeedSequence(seed, spawn_key=(CHILD + place,)).generate_state(1, np.uint64)[0])


def _shifted(execution: Execution, views: int, least: float) -> Execution:
    """Whoever is told of the views is told of those before them, and of a bound that is no worse."""
    if (progress := execution.progress) is None:
        return execution
    return replace(execution, progress=lambda drawn, bound: progress(views + drawn, max(bound, least)))
