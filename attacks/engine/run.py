"""An audit from its arguments to its evidence."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.level import detectable
from ldpaudit.attacks.engine.play import Job, begin, measure
from ldpaudit.attacks.engine.work import Checkpoint, Progress, State
from ldpaudit.attacks.games.game import Target
from ldpaudit.attacks.games.sources import Given, Source, games
from ldpaudit.evidence import Evidence, Mode


def run(
    source: Source | Target,
    *,
    trials: int,
    confidence: float,
    seed: int,
    delta: float = 0.0,
    epsilon: float | None = None,
    mode: Mode = Mode.SEQUENTIAL,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    code: str = "",
) -> Evidence:
    """Evidence at the stated confidence.

    Parameters
    ----------
    source : Source or Target
        What is distinguished.
    trials : int
        Views in all, at most; at least 16.
    confidence : float
        In (0, 1).
    seed : int
        Of all samples.
    delta : float
        In [0, 1).
    epsilon : float or None
        The claimed epsilon: gives the p-value and the power, and a sequential audit stops when it is refuted.
    mode : Mode
        When the counts are looked at.
    executor : concurrent.futures.Executor or None
        Who works; the answer does not depend on it.
    checkpoint : path or None
        A file that is written as the audit goes, and gone on from where it exists.
    progress : callable or None
        Called with the views drawn and the bound as it stands; in fixed mode only the last one is a bound.
    code : str
        What tells the audited code from another of the same name: the checkpoint is for it alone.

    Returns
    -------
    Evidence

    Raises
    ------
    ValueError
        Where an argument lies outside its domain, or the checkpoint is another audit's.
    TypeError
        Where a process pool is to do what does not pickle.
    """
    require(trials, confidence, delta, epsilon, seed)
    source = Given(source) if isinstance(source, Target) else source
    job = Job(source, trials, confidence, seed, delta, epsilon, Mode(mode), executor, progress)
    file = None if checkpoint is None else Checkpoint(Path(checkpoint), f"{job.description} {np.__version__} {code}")
    state = file.load() if file else None
    return _evidence(job, measure(job, state or begin(job), file))


def _evidence(job: Job, state: State) -> Evidence:
    looks = [(job.test(state, mode, level).epsilon_lower(c), mode, level, c) for mode, level, c in job.looks(state)]
    bound, mode, level, counts = max(looks, key=lambda look: look[0])
    game, test, claimed = games(job.source)[state.game], job.test(state, mode, level), job.epsilon
    share = job.delta * state.directions / game.inputs
    p_value = None if claimed is None else min(1.0, test.p_value(counts, claimed) / level)
    if p_value is not None and claimed is not None and bound > claimed:  # some p-values are found from above, to a few percent
        p_value = min(p_value, job.alpha)
    return Evidence(
        epsilon_lower=bound,
        delta=job.delta,
        confidence=job.confidence,
        trials=state.drawn,
        measured=counts.trials,
        guesses=counts.right + counts.wrong,
        right=counts.right,
        pair=game.pair,
        event=_words(game.event, state, counts),
        directions=state.directions,
        seed=job.seed,
        claimed=claimed,
        p_value=p_value,
        detectable=None if claimed is None else detectable(test, counts, game.inputs, share, claimed),
        inputs=game.inputs,
        mode=mode,
        level=level,
        tuning=state.tuning if mode is Mode.SEQUENTIAL else (),
    )


def _words(event: str, state: State, counts: Counts) -> str:
    """What was looked for, and where it was seen on one input only, what that is worth."""
    if not state.event.certain or not counts.right or counts.wrong:
        return event
    return (
        f"{event}, which the declared mechanism shows on one of the two inputs only: seen so {counts.right} times and "
        "never otherwise, so epsilon is infinite unless the audited code shows it on the other input too"
    )


def whole(trials: Any) -> int:
    """A budget; 1e6 is one too.

    Raises
    ------
    TypeError, ValueError
        Where it is no number, or no whole one.
    """
    _require_number("trials", trials, Real, "an integer")
    if not (math.isfinite(trials) and trials == int(trials)):
        raise ValueError(f"an audit needs a whole number of trials, got {trials!r:.60}")
    return int(trials)


def require(trials: int, confidence: Any, delta: Any, epsilon: Any, seed: Any) -> None:
    """Every number in its domain.

    Raises
    ------
    TypeError, ValueError
        Where one is no number, or not in its domain; with its name.
    """
    _require_number("seed", seed, Integral, "an integer")
    for name, value in (("confidence", confidence), ("delta", delta), ("epsilon", 0 if epsilon is None else epsilon)):
        _require_number(name, value, Real, "a number")
    if trials < 16:
        raise ValueError(f"an audit needs trials >= 16, got {trials}")
    if not 0 < confidence < 1:
        raise ValueError(f"an audit needs 0 < confidence < 1, got {confidence}")
    if not 0 <= delta < 1:
        raise ValueError(f"an audit needs 0 <= delta < 1, got {delta}")
    if epsilon is not None and not epsilon >= 0:
        raise ValueError(f"an audit needs epsilon >= 0, got {epsilon}")
    if seed < 0:
        raise ValueError(f"an audit needs seed >= 0, got {seed}")


def _require_number(name: str, value: Any, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"an audit needs {name} to be {what}, got {value!r:.60}")
