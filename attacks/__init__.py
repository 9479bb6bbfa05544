"""What can be seen: samples to evidence."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ldpaudit.evidence import Evidence, Form, Mode
from ldpaudit.mechanism import Mechanism
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Plan, Shuffle
from ldpaudit.profile import Witness

TRIALS = 10**6
"""Default budget, in views."""
CONFIDENCE = 0.95
"""Default confidence."""


def audit(
    target: Plan | Mechanism | Callable[..., Any],
    *,
    inputs: Sequence[Any] | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    trials: int = TRIALS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    neighbours: Neighbours | None = None,
    implementation: Mechanism | Callable[..., Any] | None = None,
    witness: Witness | None = None,
    mode: Mode = Mode.SEQUENTIAL,
    form: Form = Form.RAW,
    users: int = 1,
    learned: bool = False,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Evidence:
    """Play the adversary on samples, and bound epsilon from below.

    Parameters
    ----------
    target : Plan, Mechanism, callable or object
        A mechanism or plan of ours is attacked by its stem's optimal score. Of a callable ``x -> report``, or of an
        object that has a method ``privatise`` or ``randomise``, nothing is known: the score is learned, from samples
        of its own.
    inputs : sequence or None
        For a callable: the inputs among which two that are told apart are looked for; at least two.
    epsilon : float or None
        The claimed epsilon in nats: gives the p-value and what the audit could have detected.
    delta : float
        In [0, 1).
    trials : int
        Budget of views; a sequential audit draws fewer where it has refuted the claim.
    confidence : float
        Of the bound.
    seed : int
        Of all samples; a callable that draws from a source of its own is not reproduced by it.
    neighbours : Neighbours or None
        The relation; by default the mechanism's usual one.
    implementation : Mechanism or callable or None
        Code that is sampled in place of the mechanism, whose parameters still guide the attack.
    witness : Witness or None
        Of a shuffled plan: the two data sets to tell apart. Without it, some on the values of the mechanism's attack are
        tried. The bound is the samples' alone in either case.
    mode : Mode
        ``sequential``, the default: the bound holds at every stopping time, and the audit stops as soon as the claim is
        refuted. ``fixed``: the whole budget, and the sharpest bound that it gives.
    form : Form
        Of a callable's reports: ``raw``, or ``canonical``, without types, the order of sets and the low bits of floats.
        Where only the raw form is refuted, the leak is in these.
    users : int
        2: a callable serves two users by consecutive calls, and one of them has another value. Finds a seed that is fixed
        or shared, where one report alone shows nothing.
    learned : bool
        Whether a classifier of scikit-learn's (extra ``ml``) is trained too on a callable's reports.
    executor : concurrent.futures.Executor or None
        Who samples: a thread or process pool, a Dask client's ``get_executor()``. The evidence does not depend on it.
    checkpoint : path or None
        A file that is written as the audit goes; where it exists, the same audit goes on from it.
    progress : callable or None
        Called with the views drawn so far and the bound as it stands, 0 while a score is learned.

    Returns
    -------
    Evidence

    Raises
    ------
    ImplementationError
        Where the audited code raises, hangs or returns what it never may.
    Unsupported
        Where no attack on the plan is known, or scikit-learn is asked for and missing.
    TypeError
        Where an argument is not of its type; where other processes are to sample what draws from a source of its own, or what
        does not pickle; or where an audit of such a code is to go on from a checkpoint.
    ValueError
        Where an argument lies outside its domain, or all inputs are one.

    Examples
    --------
    >>> from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
    >>> m = KaryRandomizedResponse.for_epsilon(1.0, k=2)
    >>> 0.95 < audit(m, epsilon=1.0, trials=100_000, seed=7).epsilon_lower < 1
    True
    """
    from ldpaudit.attacks.engine import reproducible, run
    from ldpaudit.attacks.games import sources

    trials = run.whole(trials)
    # What learns takes its time before the engine is asked.
    run.require(trials, confidence, delta, epsilon, seed)
    _require_helpers(executor, progress)
    given = None if inputs is None else list(inputs)
    trials = _require_shuffled(target, witness, implementation, trials)
    code = reproducible.require(target, given, implementation, neighbours, delta, trials, executor, checkpoint)
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "confidence": confidence, "seed": seed}
    options |= {"mode": Mode(mode), "executor": executor, "checkpoint": checkpoint, "progress": progress, "code": code}
    if isinstance(target, Plan | Mechanism):
        if (Form(form), users, learned) != (Form.RAW, 1, False):
            raise ValueError("form, users and learned are for a callable: the score of a mechanism is known")
        found = run.run(sources.Planned(target, neighbours, implementation, delta, witness), trials=trials, **options)
        return found if implementation is None or reproducible.takes_rng(implementation) else replace(found, seed=None)
    function = import_module("ldpaudit.adapters.objects").as_callable(target)
    _require_different(given)
    blackbox = import_module(f"{__name__}.blackbox.target")
    look = blackbox.Look(Form(form), users, learned)
    refutable = epsilon if Mode(mode) is Mode.SEQUENTIAL else None
    box = blackbox.target(function, given, delta, trials, 1 - confidence, seed, look, refutable, progress)
    learned_from = trials - box.remaining
    if progress is not None:
        options["progress"] = lambda drawn, bound: progress(learned_from + drawn, bound)
    found = run.run(box.target, trials=box.remaining, **options)
    shown = seed if reproducible.takes_rng(function) else None
    return replace(found, trials=learned_from + found.trials, seed=shown)


def _require_helpers(executor: Any, progress: Any) -> None:
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(f"an audit needs an executor of concurrent.futures, got {executor!r:.60}")
    if progress is not None and not callable(progress):
        raise TypeError(f"an audit needs progress to be callable, got {progress!r:.60}")


def _require_shuffled(target: Any, witness: Any, implementation: Any, trials: int) -> int:
    """How many views can be drawn: of a shuffled plan each is as many reports as there are users."""
    if witness is not None and not (isinstance(witness, Witness) and witness.plan == target):
        raise ValueError(f"an audit needs a witness of {target!s:.60}, got {witness!s:.60}")
    if not isinstance(target, Shuffle) or target.users == 1:
        return trials
    return import_module(f"{__name__}.games.shuffled").views_within(target, implementation, trials)  # type: ignore[no-any-return]


def _require_different(inputs: list[Any] | None) -> None:
    """Nobody tells an input from itself, and an audit that tries would pass whatever the code does."""
    if inputs is None or len(inputs) < 2:
        return  # which is said where they are used
    try:
        kinds = {pickle.dumps(x) for x in inputs}
    except Exception:  # whatever an input raises when it is pickled
        return
    if len(kinds) == 1:
        raise ValueError(f"an audit needs two different inputs, got {len(inputs)} times {inputs[0]!r:.60}")
