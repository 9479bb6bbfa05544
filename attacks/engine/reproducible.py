"""Whether audited code draws from the generator that it is given, and from nothing else.

A random state of its own would be copied to several processes, or begin anew when an audit goes on from its checkpoint, and
draw the same reports twice. Reports that are counted twice are not independent, and a true claim would be refuted.
"""

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
from ldpaudit.mechanism import Mechanism
from ldpaudit.plan import Plan
from ldpaudit.workers.experiment import Execution

VIEWS, SHARE = 1024, 16
"""Views that are drawn twice to see whether they are the same, at most; and at most a 16th of the budget."""
VIEW_BYTES = 1 << 20
"""Memory that one view is assumed to take, since nothing is known of it: 64 are asked for at a time."""


Ask = Callable[[Callable[..., Any], int, np.random.Generator], None]
"""(code, size, rng): asks the code for about as many views."""


def in_one_process(executor: futures.Executor | None) -> bool:
    """Whether the executor's workers share all state with this process."""
    # From Python 3.14 on; each of its threads imports anew.
    apart: Any = getattr(futures, "InterpreterPoolExecutor", ())
    return executor is None or (isinstance(executor, futures.ThreadPoolExecutor) and not isinstance(executor, apart))


def takes_rng(code: Mechanism | Callable[..., Any]) -> bool:
    """Whether code declares that it draws from the generator that it is given."""
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
        replace(source, implementation=recorded).games()[0].collect(size, rng)

    return ask


def fingerprint(code: Callable[..., Any], ask: Ask, size: int) -> str | None:
    """Digest of the views that a generator of one seed gives, the same in each run of the program; None where they differ.

    ``code``: ``(x, size, rng) -> views``; ``ask``: from `on_inputs` or `as_planned`; ``size``: views, about.
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

    ``code``: what is sampled; ``ask``: from `on_inputs` or `as_planned`; ``trials``: budget of views; ``execution``:
    who samples, and where the state is kept. Returns empty where this process alone draws it, or where it is a
    mechanism of ours. Raises TypeError where it draws from a source of its own.
    """
    apart = not in_one_process(execution.executor)
    if isinstance(code, Plan | Mechanism) or not (apart or execution.checkpoint is not None):
        return ""
    code = as_callable(code)
    drawn = fingerprint(code, ask, max(1, min(VIEWS, trials // SHARE))) if takes_rng(code) else None
    if drawn is None:
        wanted = "sampling in other processes needs" if apart else "a checkpoint needs"
        raise TypeError(
            f"{wanted} a mechanism or a callable (x, size, rng) that draws from rng alone, because code with its "
            f"own source of randomness may repeat its draws; got {code!r:.80}: use {'threads' if apart else 'no checkpoint'}"
        )
    return drawn
