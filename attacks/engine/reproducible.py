"""Whether all that a code draws comes from the generator that it is given, so that its reports repeat only when they should.

Copies of any other random state draw the same in several processes; so does one that begins anew when an audit goes on from
its checkpoint. Reports that are counted twice are not independent, and what is true would be refuted.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

import numpy as np

from ldpaudit.adapters.callables import call, positional
from ldpaudit.adapters.objects import as_callable
from ldpaudit.attacks.games.game import chunks
from ldpaudit.attacks.games.sources import Planned
from ldpaudit.mechanism import Mechanism
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Plan

VIEWS, SHARE = 1024, 16
"""So many views are drawn twice to see whether they are the same, or this part of the budget."""
VIEW_BYTES = 1 << 20
"""Memory of a view, at most, as far as is known: few are asked for at a time."""


def in_one_process(executor: futures.Executor | None) -> bool:
    """Whether who works shares all state with who asks."""
    # From Python 3.14 on; each of its threads imports anew.
    apart: Any = getattr(futures, "InterpreterPoolExecutor", ())
    return executor is None or (isinstance(executor, futures.ThreadPoolExecutor) and not isinstance(executor, apart))


def takes_rng(code: Mechanism | Callable[..., Any]) -> bool:
    """Whether a code says that it draws from the generator that it is given."""
    return isinstance(code, Mechanism) or (positional(code) >= 3 and getattr(code, "seeded", True))


def fingerprint(code: Callable[..., Any], draw: Callable[[Callable[..., Any], np.random.Generator], object]) -> str | None:
    """What views a generator of one seed gives, the same in each run of the program; None where it gives others again.

    Parameters
    ----------
    code : callable
        ``(x, size, rng) -> views``.
    draw : callable
        Given such a callable and a generator, asks it for a few views.
    """

    def seen() -> str:
        digest = hashlib.sha256()

        def recorded(x: Any, size: int, rng: np.random.Generator) -> Any:
            views = call(lambda value: code(value, size, rng), x)
            digest.update(pickle.dumps(views, protocol=4))
            return views

        draw(recorded, np.random.default_rng(0))
        return digest.hexdigest()

    first = seen()
    return first if seen() == first else None


def require(
    target: Any,
    inputs: list[Any] | None,
    implementation: Any,
    neighbours: Neighbours | None,
    delta: float,
    trials: int,
    executor: futures.Executor | None,
    checkpoint: str | Path | None,
) -> str:
    """What the audited code draws from one seed, where other processes are to draw it or another run of the program.

    Parameters
    ----------
    target, inputs, implementation, neighbours, delta, trials, executor, checkpoint
        As `ldpaudit.audit` has them.

    Returns
    -------
    str
        Nothing where this process alone draws it, or where it is a mechanism of ours.

    Raises
    ------
    TypeError
        Where it draws from a source of its own.
    """
    code = target if implementation is None else implementation
    apart = not in_one_process(executor)
    if isinstance(code, Plan | Mechanism) or not (apart or checkpoint is not None):
        return ""
    code, given = as_callable(code), inputs or []
    size = max(1, min(VIEWS, trials // SHARE))

    def draw(recorded: Callable[..., Any], rng: np.random.Generator) -> object:
        if implementation is None:
            for part in chunks(max(1, size // max(len(given), 1)), VIEW_BYTES):
                for x in given:
                    recorded(x, part, rng)
            return None
        return Planned(target, neighbours, recorded, delta).games()[0].draw(size, rng)

    drawn = fingerprint(code, draw) if takes_rng(code) else None
    if drawn is None:
        wanted = "other processes may sample" if apart else "an audit may go on from a checkpoint that samples"
        raise TypeError(
            f"{wanted} a mechanism or a callable (x, size, rng) that draws from rng alone, for what draws from a source "
            f"of its own may repeat itself; got {code!r:.80}: use {'threads' if apart else 'no checkpoint'}"
        )
    return drawn
