"""An experiment in, evidence out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.level import detectable, p_value
from ldpaudit.attacks.engine.play import Job, begin, measure
from ldpaudit.attacks.engine.resumed import problem
from ldpaudit.attacks.engine.work import Checkpoint, State
from ldpaudit.attacks.games.game import Target
from ldpaudit.attacks.games.sources import Given, Source, games
from ldpaudit.evidence import Evidence, Mode
from ldpaudit.experiment import HERE, Execution, Experiment


def run(source: Source | Target, experiment: Experiment, execution: Execution = HERE, code: str = "") -> Evidence:
    """Evidence at the stated confidence.

    Parameters
    ----------
    source : Source or Target
        What is distinguished.
    experiment : Experiment
        The claim, the budget, the confidence, the seed and the mode.
    execution : Execution
        Who samples, where the state is kept, and who is told.
    code : str
        What tells the audited code from another of the same name: the checkpoint is for it alone.

    Returns
    -------
    Evidence

    Raises
    ------
    ValueError
        Where the checkpoint is another audit's, or says what no audit writes.
    TypeError
        Where a process pool is to do what does not pickle.
    """
    source = Given(source) if isinstance(source, Target) else source
    job, path = Job(source, experiment, execution), execution.checkpoint
    file = None if path is None else Checkpoint(Path(path), f"{job.description} {np.__version__} {code}")
    state = file.load() if file else None
    if file and state and (wrong := problem(job, state)):
        raise ValueError(f"{file.path}: needs {wrong}: remove it to start anew")
    return _evidence(job, measure(job, state or begin(job), file))


def _evidence(job: Job, state: State) -> Evidence:
    looks = [(job.test(state, mode, level).epsilon_lower(c), mode, level, c) for mode, level, c in job.looks(state)]
    bound, mode, level, counts = max(looks, key=lambda look: look[0])
    asked = job.experiment
    game, test, claimed = games(job.source)[state.game], job.test(state, mode, level), asked.epsilon
    share = asked.delta * state.directions / game.inputs
    refuted = asked.alpha if claimed is not None and bound > claimed else None
    p = None if claimed is None else p_value(test, counts, claimed, level, refuted)
    return Evidence(
        epsilon_lower=bound,
        delta=asked.delta,
        confidence=asked.confidence,
        trials=state.drawn,
        measured=counts.trials,
        guesses=counts.right + counts.wrong,
        right=counts.right,
        pair=game.pair,
        event=_words(game.event, state, counts),
        directions=state.directions,
        seed=asked.seed,
        claimed=claimed,
        p_value=p,
        detectable=None if claimed is None else detectable(test, counts, game.inputs, share, claimed),
        inputs=game.inputs,
        mode=mode,
        level=level,
        tuning=state.tuning if mode is Mode.SEQUENTIAL else (),
    )


def _words(event: str, state: State, counts: Counts) -> str:
    """What was looked for; and where it was seen on one input only, that epsilon may be infinite."""
    return seen_once(event, counts.right) if state.rule.certain and counts.right and not counts.wrong else event


def seen_once(event: str, right: int) -> str:
    """The words for an event that was seen on one input only, this many times."""
    return (
        f"{event}, which the declared mechanism shows on one of the two inputs only: seen there {right} times and "
        "never on the other, so epsilon is infinite unless the audited code shows it on the other input too"
    )
