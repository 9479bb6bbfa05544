"""An audit of a callable: the most of it at once, and a part of the budget at the end, for code that behaves well at first.

What the first views show chooses the event of nearly all others. Code that leaks only after a number of calls would never be
seen in it. So the last views are an audit of their own: its event is learned from some of them and measured on the rest. What
it may spend of the level is settled before the first view.

An event may be gone as soon as it is learned, as one of a salt is that has been changed. Where it does not fire, or fires no
longer, another one is learned, from fresh views. The any-time tests go on: what they guess by may change at any time (see
`learning`). The look at the end is at the last event alone. At delta = 0 it has all that such looks may spend: given the views,
without the inputs that made them, its level holds, and the views alone say which event is the last. At delta > 0 views without a
guess move the test, too; there the looks of the first event, the second, the third and the fourth have a half, a quarter, an
eighth and an eighth of it, whichever is the last. In a fixed sample at
delta > 0, or without a claim, the event stays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpaudit.attacks.blackbox.target import target
from ldpaudit.attacks.engine.run import evidence, played
from ldpaudit.attacks.games.game import Wager
from ldpaudit.core.pace import LEARNING, least_trials
from ldpaudit.evidence import LEARNED_AGAIN, Evidence, Mode
from ldpaudit.workers.experiment import Execution, Experiment, Reading

VIEWS, LEVEL = 0.015, 0.01
"""Shares of the budget and of the level that the last part has: 1.5 % of the views, and at confidence 0.95 0.6 % more of them for
the level."""
LATE_LEARNING = 1 / 3  # share of the last views that is learned from; as many again where the score still learns
CHILD = (1 << 31) + 1
"""Which child of the seed is the last part's seed, and after it those of events that are learned again."""
EVENTS = 4  # events that are learned one after the other, at most, where none of them fires
LATE = "late in the audit, "  # what the words of an event begin with, where the last views alone gave the bound


@dataclass(frozen=True, slots=True)
class _Part:
    """What an audit of one event has shown, whether it ended because the event did not fire, and its tests as they stand."""

    found: Evidence
    silent: bool
    tests: tuple[Wager, ...]


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

    def part(
        asked: Experiment, told: Execution, share: float, learning: float, again: int = EVENTS, before: _Part | None = None
    ) -> _Part:
        """Learn from this share of the trials and more, measure on the others, spend this share of the level.

        Unless it is the last one, an event that does not fire, or no longer, ends it in time to learn another.
        """
        tests, asked_of = ((), inputs) if before is None or not before.tests else (before.tests, before.found.pair)
        if reading.users == 2:  # whose inputs are pairs of the given ones, made anew
            asked_of = inputs
        box = target(function, asked_of, asked, reading, told.progress, learning, share, tests, told.patience)
        learned, game = asked.trials - box.remaining, box.target
        alone = asked.delta and asked.enough is None  # no test goes on with another event
        if again == EVENTS or alone or box.remaining < 2 * (game.patience + least):
            game = replace(game, patience=0)
        if asked.delta and not alone and learning == LEARNING:
            game = replace(game, last=2.0 ** -min(again, EVENTS - 1))
        job, state = played(game, replace(asked, trials=box.remaining), _shifted(told, learned, 0.0), code, share)
        found, silent = evidence(job, state), job.silent(state) and not job.refuted(state)
        trajectory = None if found.trajectory is None else found.trajectory.after(learned)
        clue = box.clue(found.event) if found.epsilon_lower > 0 else None
        found = replace(found, trials=learned + found.trials, trajectory=trajectory)
        found = replace(found, distinct=box.distinct, limited=box.limited, clue=clue)
        return _Part(found, silent, job.going_on(state) if asked.enough is not None else ())

    def parts(asked: Experiment, share: float) -> Evidence:
        """As `part`, again while no event fires."""
        made = part(asked, execution, share, LEARNING, 1)
        for again in range(2, EVENTS + 1):
            found, left = made.found, asked.trials - made.found.trials
            if not made.silent or left < least:
                break
            told = replace(_shifted(execution, found.trials, 0.0), checkpoint=None)
            made = part(replace(asked, trials=left, seed=_child(asked.seed, again - 1)), told, share, LEARNING, again, made)
            fresh = made.found
            trajectory = None if fresh.trajectory is None else fresh.trajectory.after(found.trials)
            event = f"{LEARNED_AGAIN}{fresh.event.removeprefix(LEARNED_AGAIN)}"
            after = replace(fresh, trials=found.trials + fresh.trials, seed=asked.seed, event=event, trajectory=trajectory)
            made = replace(made, found=after)
        return made.found

    views = late_views(experiment.trials, 0 if inputs is None else len(inputs))
    if not views:
        return parts(experiment, 1.0)
    early = replace(experiment, trials=experiment.trials - views)
    found = parts(early, 1 - LEVEL)
    if experiment.enough is not None and found.refutes(experiment.enough):
        return found
    late = replace(experiment, trials=views, mode=Mode.FIXED, seed=_child(experiment.seed, 0))
    told = replace(_shifted(execution, found.trials, found.epsilon_lower), checkpoint=None)
    last = part(late, told, LEVEL, LATE_LEARNING).found
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
