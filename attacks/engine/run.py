"""An experiment in, evidence out."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ldpaudit.attacks.bounds.level import bounds_of, detectable_of, p_value_of
from ldpaudit.attacks.engine import play
from ldpaudit.attacks.engine.play import Job, begin, measure
from ldpaudit.attacks.engine.work import Checkpoint, State
from ldpaudit.attacks.games.sources import Source, games
from ldpaudit.evidence import Evidence, Look, Mode, Trajectory
from ldpaudit.version import __version__
from ldpaudit.workers.experiment import HERE, Execution, Experiment


def run(source: Source, experiment: Experiment, execution: Execution = HERE, code: str = "", share: float = 1.0) -> Evidence:
    """Evidence at the stated confidence.

    ``source``: what is distinguished; ``experiment``: the claim, the budget, the confidence, the seed and the mode;
    ``execution``: who samples, where the state is kept, and who is told; ``code``: what tells the audited code from
    another of the same name: the checkpoint is for it alone; ``share``: of the failure probability, what may be spent
    here. Raises ValueError where the checkpoint is another audit's, or was changed; TypeError where a
    process pool is to do what does not pickle.
    """
    return evidence(*played(source, experiment, execution, code, share))


def played(
    source: Source, experiment: Experiment, execution: Execution = HERE, code: str = "", share: float = 1.0
) -> tuple[Job, State]:
    """The audit, and where it ended; see `run`."""
    job, path = Job(source, experiment, execution, share), execution.checkpoint
    file = None if path is None else Checkpoint(Path(path), f"{job.description} {__version__} {np.__version__} {code}")
    return job, measure(job, (file.load() if file else None) or begin(job), file)


def evidence(job: Job, state: State) -> Evidence:
    """What an audit that ended here has shown: its best bound."""
    asked, game = job.experiment, games(job.source)[state.game]
    looks = [*job.looks(state), *job.narrow_looks(state)]  # all that the level is spent on; the rule's own first
    bounds = [job.test(look, game.inputs).epsilon_lower(look.counts) for look in looks]
    bound, look = max(zip(bounds, looks, strict=True), key=lambda found: found[0])
    counts, event = look.counts, game.narrower[look.place - 1].event if look.place else game.event
    # Where it was seen on one input only, that epsilon may be infinite.
    if not look.place and state.rule.certain and counts.right and not counts.wrong:
        event = seen_once(event, counts.right)
    found = Evidence(
        epsilon_lower=bound,
        delta=asked.delta,
        confidence=asked.confidence,
        trials=state.drawn,
        measured=counts.trials,
        guesses=counts.right + counts.wrong,
        right=counts.right,
        pair=game.pair,
        event=event,
        directions=look.directions,
        seed=asked.seed,
        claimed=asked.epsilon,
        p_value=None,
        detectable=None,
        inputs=game.inputs,
        mode=look.mode,
        level=look.share,
        tuning=look.tuning,
        trajectory=_trajectory(job, state, look),
    )
    return replace(found, p_value=p_value_of(found), detectable=detectable_of(found))


def _trajectory(job: Job, state: State, shown: play.Look) -> Trajectory | None:
    """The bounds at the looks that were kept, and at the last one; None where these would not hold together.

    They are of one test: of the one that gave the bound, or else of the last that looks at the rule's own counts, if one does.
    """
    if not job.sequential:
        return None
    one = shown if shown.mode is Mode.SEQUENTIAL else sorted(job.any_time(state), key=lambda look: not look.place)[-1]
    before = one.counts - state.counts  # what it counted before the engine's first view
    kept = [] if one.place else [(drawn, before + counts) for drawn, counts in state.looks]
    seen = dict([*kept, (state.drawn, one.counts)])
    looks = tuple(Look(drawn, c.trials, c.right + c.wrong, c.right, 0.0) for drawn, c in seen.items())
    made = Trajectory(one.share, one.directions, one.tuning, looks)
    bounds = bounds_of(made, games(job.source)[state.game].inputs, job.experiment.delta, job.experiment.confidence)
    return replace(made, looks=tuple(replace(look, epsilon_lower=e) for look, e in zip(looks, bounds, strict=True)))


def seen_once(event: str, right: int) -> str:
    """The words for an event that was seen on one input only, this many times."""
    return (
        f"{event}, which the declared mechanism shows on one of the two inputs only: seen there {right} times and "
        "never on the other, so epsilon is infinite unless the audited code shows it on the other input too"
    )
