"""An experiment in, evidence out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ldpaudit.attacks.bounds.counts import Counts, LevelTest
from ldpaudit.attacks.bounds.level import bounds_of, detectable_of, p_value_of
from ldpaudit.attacks.engine.play import Job, begin, measure
from ldpaudit.attacks.engine.resumed import problem
from ldpaudit.attacks.engine.work import Checkpoint, State
from ldpaudit.attacks.games.game import Target
from ldpaudit.attacks.games.sources import Given, Source, games
from ldpaudit.evidence import Evidence, Look, Mode, Trajectory
from ldpaudit.workers.experiment import HERE, Execution, Experiment


def run(
    source: Source | Target, experiment: Experiment, execution: Execution = HERE, code: str = "", share: float = 1.0
) -> Evidence:
    """Evidence at the stated confidence.

    ``source``: what is distinguished; ``experiment``: the claim, the budget, the confidence, the seed and the mode;
    ``execution``: who samples, where the state is kept, and who is told; ``code``: what tells the audited code from
    another of the same name: the checkpoint is for it alone; ``share``: of the failure probability, what may be spent
    here. Raises ValueError where the checkpoint is another audit's, or says what no audit writes; TypeError where a
    process pool is to do what does not pickle.
    """
    source = Given(source) if isinstance(source, Target) else source
    job, path = Job(source, experiment, execution, share), execution.checkpoint
    file = None if path is None else Checkpoint(Path(path), f"{job.description} {np.__version__} {code}")
    state = file.load() if file else None
    if file and state and (wrong := problem(job, state)):
        raise ValueError(f"{file.path}: needs {wrong}: remove it to start again")
    return _evidence(job, measure(job, state or begin(job), file))


@dataclass(frozen=True, slots=True)
class _Look:
    """A look at counts: its test, the share of the level that this may spend, what was looked for."""

    test: LevelTest
    mode: Mode
    level: float
    counts: Counts
    directions: int
    event: str


def _looks(job: Job, state: State) -> Iterator[_Look]:
    """All that the level is spent on; the rule's own first."""
    event = games(job.source)[state.game].event
    for mode, level, counts in job.looks(state):
        # Where it was seen on one input only, that epsilon may be infinite.
        certain = state.rule.certain and counts.right and not counts.wrong
        words = seen_once(event, counts.right) if certain else event
        yield _Look(job.test(state, mode, level), mode, level, counts, state.directions, words)
    for (level, counts), each in zip(job.narrow_looks(state), games(job.source)[state.game].narrower, strict=False):
        narrow = replace(state, directions=each.rule.directions)
        test = job.test(narrow, Mode.FIXED, level)
        yield _Look(test, Mode.FIXED, level, counts, narrow.directions, each.event)


def _evidence(job: Job, state: State) -> Evidence:
    looks = [(look.test.epsilon_lower(look.counts), look) for look in _looks(job, state)]
    bound, look = max(looks, key=lambda found: found[0])
    asked, mode, counts, game = job.experiment, look.mode, look.counts, games(job.source)[state.game]
    found = Evidence(
        epsilon_lower=bound,
        delta=asked.delta,
        confidence=asked.confidence,
        trials=state.drawn,
        measured=counts.trials,
        guesses=counts.right + counts.wrong,
        right=counts.right,
        pair=game.pair,
        event=look.event,
        directions=look.directions,
        seed=asked.seed,
        claimed=asked.epsilon,
        p_value=None,
        detectable=None,
        inputs=game.inputs,
        mode=mode,
        level=look.level,
        tuning=state.tuning if mode is Mode.SEQUENTIAL else (),
        trajectory=_trajectory(job, state),
    )
    return replace(found, p_value=p_value_of(found), detectable=detectable_of(found))


def _trajectory(job: Job, state: State) -> Trajectory | None:
    """The bounds at the looks that were kept, and at the last one; None where these would not hold together."""
    if not job.sequential:
        return None
    kept = dict([*state.looks, (state.drawn, state.counts)])
    looks = tuple(Look(drawn, c.trials, c.right + c.wrong, c.right, 0.0) for drawn, c in kept.items())
    seen = Trajectory(job.ever, state.directions, state.tuning, looks)
    bounds = bounds_of(seen, games(job.source)[state.game].inputs, job.experiment.delta, job.experiment.confidence)
    return replace(seen, looks=tuple(replace(look, epsilon_lower=e) for look, e in zip(looks, bounds, strict=True)))


def seen_once(event: str, right: int) -> str:
    """The words for an event that was seen on one input only, this many times."""
    return (
        f"{event}, which the declared mechanism shows on one of the two inputs only: seen there {right} times and "
        "never on the other, so epsilon is infinite unless the audited code shows it on the other input too"
    )
