"""Whether all that a code draws comes from the generator that it is given, so that its reports repeat only when they should.

Copies of any other random state draw the same in several processes; so does one that begins anew when an audit goes on from
its checkpoint. Reports that are counted twice are not independent, and what is true would be refuted.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence
from concurrent import futures
from dataclasses import replace
from typing import Any

import numpy as np

from ldpaudit.adapters.callables import call, positional
from ldpaudit.adapters.objects import as_callable
from ldpaudit.attacks.games.game import chunks
from ldpaudit.attacks.games.sources import Planned
from ldpaudit.experiment import Execution
from ldpaudit.mechanism import Mechanism
from ldpaudit.plan import Plan

VIEWS, SHARE = 1024, 16
"""So many views are drawn twice to see whether they are the same, or this part of the budget."""
VIEW_BYTES = 1 << 20
"""Memory of a view, at most, as far as is known: few are asked for at a time."""


Ask = Callable[[Callable[..., Any], int, np.random.Generator], None]
"""(code, size, rng): asks the code for about as many views."""


def in_one_process(executor: futures.Executor | None) -> bool:
    """Whether who works shares all state with who asks."""
    # From Python 3.14 on; each of its threads imports anew.
    apart: Any = getattr(futures, "InterpreterPoolExecutor", ())
    return executor is None or (isinstance(executor, futures.ThreadPoolExecutor) and not isinstance(executor, apart))


def takes_rng(code: Mechanism | Callable[..., Any]) -> bool:
    """Whether a code says that it draws from the generator that it is given."""
    return isinstance(code, Mechanism) or (positional(code) >= 3 and getattr(code, "seeded", True))


def on_inputs(inputs: Sequence[Any]) -> Ask:
    """Ask a callable for a few views on each of its inputs."""

    def ask(recorded: Callable[..., Any], size: int, rng: np.random.Generator) -> None:
        for part in chunks(max(1, size // max(len(inputs), 1)), VIEW_BYTES):
            for x in inputs:
                recorded(x, part, rng)

    return ask


def as_planned(source: Planned) -> Ask:
    """Ask an implementation for a few views as the game of its plan does."""

    def ask(recorded: Callable[..., Any], size: int, rng: np.random.Generator) -> None:
        replace(source, implementation=recorded).games()[0].draw(size, rng)

    return ask


def fingerprint(code: Callable[..., Any], ask: Ask, size: int) -> str | None:
    """Digest of the views that a generator of one seed gives, the same in each run of the program; None where they differ.

    Parameters
    ----------
    code : callable
        ``(x, size, rng) -> views``.
    ask : callable
        From `on_inputs` or `as_planned`.
    size : int
        Views, about.
    """

    def seen() -> str:
        digest = hashlib.sha256()

        def recorded(x: Any, size: int, rng: np.random.Generator) -> Any:
            views = call(lambda value: code(value, size, rng), x)
            digest.update(pickle.dumps(views, protocol=4))
            return views

        ask(recorded, size, np.random.default_rng(0))
        return digest.hexdigest()

    first = seen()
    return first if seen() == first else None


def require(code: Any, ask: Ask, trials: int, execution: Execution) -> str:
    """Digest of what the audited code draws from one seed, where another process, or another run, is to draw it too.

    Parameters
    ----------
    code : Mechanism, callable or object
        What is sampled.
    ask : callable
        From `on_inputs` or `as_planned`.
    trials : int
        Budget of views.
    execution : Execution
        Who samples, and where the state is kept.

    Returns
    -------
    str
        Empty where this process alone draws it, or where it is a mechanism of ours.

    Raises
    ------
    TypeError
        Where it draws from a source of its own.
    """
    apart = not in_one_process(execution.executor)
    if isinstance(code, Plan | Mechanism) or not (apart or execution.checkpoint is not None):
        return ""
    code = as_callable(code)
    drawn = fingerprint(code, ask, max(1, min(VIEWS, trials // SHARE))) if takes_rng(code) else None
    if drawn is None:
        wanted = "other processes may sample" if apart else "an audit may go on from a checkpoint that samples"
        raise TypeError(
            f"{wanted} a mechanism or a callable (x, size, rng) that draws from rng alone, for what draws from a source "
            f"of its own may repeat itself; got {code!r:.80}: use {'threads' if apart else 'no checkpoint'}"
        )
    return drawn
