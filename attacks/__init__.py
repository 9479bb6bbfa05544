"""What can be seen: samples to evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpaudit.evidence import Evidence, Form, Mode
from ldpaudit.mechanism import Mechanism
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Plan

if TYPE_CHECKING:
    from numpy.random import Generator

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
        Called with the views drawn so far and the bound as it stands.

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
        Where other processes are to sample what draws from a source of its own, or what does not pickle; or where an audit
        of such a code is to go on from a checkpoint.
    ValueError
        Where an argument lies outside its domain.

    Examples
    --------
    >>> from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
    >>> m = KaryRandomizedResponse.for_epsilon(1.0, k=2)
    >>> 0.95 < audit(m, epsilon=1.0, trials=100_000, seed=7).epsilon_lower < 1
    True
    """
    from ldpaudit.attacks import _engine, _game, _seeded

    trials = _whole(trials)
    code = _require_seeded(target, inputs, implementation, neighbours, delta, trials, executor, checkpoint)
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "confidence": confidence, "seed": seed}
    options |= {"mode": Mode(mode), "executor": executor, "checkpoint": checkpoint, "progress": progress, "code": code}
    if isinstance(target, Plan | Mechanism):
        if (Form(form), users, learned) != (Form.RAW, 1, False):
            raise ValueError("form, users and learned are for a callable: the score of a mechanism is known")
        found = _engine.run(_game.Planned(target, neighbours, implementation, delta), trials=trials, **options)
        return found if implementation is None or _seeded.takes_rng(implementation) else replace(found, seed=None)
    function = import_module("ldpaudit.adapters.objects").as_callable(target)
    blackbox = import_module(f"{__name__}._blackbox")
    look = blackbox.Look(Form(form), users, learned)
    refutable = epsilon if Mode(mode) is Mode.SEQUENTIAL else None
    box = blackbox.target(function, inputs, delta, trials, 1 - confidence, seed, look, refutable)
    found = _engine.run(box.target, trials=box.remaining, **options)
    shown = seed if _seeded.takes_rng(function) else None
    return replace(found, trials=found.trials + trials - box.remaining, seed=shown)


def _whole(trials: float) -> int:
    if not (math.isfinite(trials) and trials == int(trials)):
        raise ValueError(f"an audit needs a whole number of trials, got {trials!r}")
    return int(trials)


def _require_seeded(
    target: Any,
    inputs: Sequence[Any] | None,
    implementation: Any,
    neighbours: Neighbours | None,
    delta: float,
    trials: int,
    executor: Executor | None,
    checkpoint: str | Path | None,
) -> str:
    """What the audited code draws from one seed, where other processes are to draw it or another run of this one."""
    from ldpaudit.attacks import _game, _seeded

    code = target if implementation is None else implementation
    apart = not _seeded.in_one_process(executor)
    if isinstance(code, Plan | Mechanism) or not (apart or checkpoint is not None):
        return ""
    code, given = import_module("ldpaudit.adapters.objects").as_callable(code), [] if inputs is None else list(inputs)
    size = max(1, min(_seeded.VIEWS, trials // _seeded.SHARE))

    def draw(recorded: Callable[..., Any], rng: Generator) -> object:
        if implementation is None:
            return [recorded(x, max(1, size // len(given)), rng) for x in given]
        return _game.Planned(target, neighbours, recorded, delta).games()[0].draw(size, rng)

    drawn = _seeded.fingerprint(code, draw) if _seeded.takes_rng(code) else None
    if drawn is None:
        wanted = "other processes may sample" if apart else "an audit may go on from a checkpoint that samples"
        raise TypeError(
            f"{wanted} a mechanism or a callable (x, size, rng) that draws from rng alone, for what draws from a source "
            f"of its own may repeat itself; got {code!r:.80}: use {'threads' if apart else 'no checkpoint'}"
        )
    return drawn
