"""Units of sampling work, anywhere: (game, seed child, size, event) to counts that add, and a file to go on from."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.games import k_inputs, sources, two_inputs

WINDOW = 32
"""Units that are given to an executor ahead of the one that is waited for."""
LARGEST, SMALLEST = 1 << 20, 1 << 12
"""Views of a unit where nothing stops before the end."""
SCHEMA = "ldpaudit.checkpoint/1"


@dataclass(frozen=True, slots=True)
class Unit:
    """Some of the work; what it draws depends on the seed and on its own place alone, never on who does it or when."""

    source: sources.Source
    game: int
    seed: int
    place: tuple[int, ...]
    size: int
    event: Any = None

    def __call__(self) -> Any:
        """Right and wrong guesses; without an event, what one can be chosen from."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=self.place))
        played = sources.games(self.source)[self.game]
        return played.draw(self.size, rng) if self.event is None else played.measure(self.event, self.size, rng)


def _do(unit: Unit) -> Any:
    return unit()


def stream(units: Iterable[Unit], executor: Executor | None) -> Generator[Any, None, None]:
    """Results in the order of the units. Some are worked on ahead; what is not asked for is given up.

    Raises
    ------
    TypeError
        Where a process pool is to do what does not pickle.
    """
    if executor is None:
        yield from map(_do, units)
        return
    ahead: deque[Future[Any]] = deque()
    left = iter(units)
    try:
        while True:
            for unit in left:
                if not ahead and isinstance(executor, ProcessPoolExecutor):
                    _require_pickle(unit)
                ahead.append(executor.submit(_do, unit))
                if len(ahead) >= WINDOW:
                    break
            if not ahead:
                return
            yield ahead.popleft().result()
    finally:
        for future in ahead:
            future.cancel()


def _require_pickle(unit: Unit) -> None:
    try:
        pickle.dumps(unit)
    except Exception as error:  # whatever the audited object raises when it is pickled
        wanted = "a process pool needs an importable function or a mechanism, or use threads"
        raise TypeError(f"{wanted}, got what does not pickle: {error}") from error


@dataclass(frozen=True, slots=True)
class State:
    """How far an audit is, with its event chosen: all that it needs to go on; `since` is what was counted before."""

    game: int
    event: Any
    directions: int
    tuning: tuple[float, ...]
    drawn: int
    units: int
    counts: Counts = field(default_factory=Counts)
    since: Counts = field(default_factory=Counts)

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinite thresholds as text."""
        event = {name: [*v] if isinstance(v, tuple) else str(v) for name, v in asdict(self.event).items()}
        return {**asdict(self), "tuning": [*self.tuning], "event": event}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> State:
        """Read back."""
        event = data["event"]
        made = k_inputs.Guesses(tuple(event["at"])) if "at" in event else two_inputs.Event(
            float(event["upper"]), float(event["lower"])
        )
        counts = {name: Counts(**data[name]) for name in ("counts", "since")}
        return cls(**{**data, **counts, "event": made, "tuning": tuple(data["tuning"])})


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file that an audit writes, whole, after each unit, and that the same audit goes on from.

    Parameters
    ----------
    path : Path
        Where.
    audit : str
        Everything that the samples and the bound depend on: another audit's file is refused.
    """

    path: Path
    audit: str

    @property
    def digest(self) -> str:
        """SHA-256 of the audit's description."""
        return hashlib.sha256(self.audit.encode()).hexdigest()

    def load(self) -> State | None:
        """Where to go on; None where nothing was written yet.

        Raises
        ------
        ValueError
            Where the file is another audit's, or no checkpoint, or has no folder to be written in.
        """
        if not self.path.parent.is_dir() or self.path.is_dir():
            raise ValueError(f"{self.path}: needs a file in a folder that is there, for a checkpoint")
        if not self.path.exists():
            return None
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            schema, digest, state = data["schema"], data["audit"], data["state"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self.path}: needs a checkpoint of schema {SCHEMA}, got {error!r}") from None
        if (schema, digest) != (SCHEMA, self.digest):
            raise ValueError(f"{self.path}: needs the checkpoint of this audit, got another's; remove it to start anew")
        return State.from_json(state)

    def save(self, state: State) -> None:
        """Write; whoever reads sees the old file or the new one, never half of one."""
        data = {"schema": SCHEMA, "audit": self.digest, "state": state.to_json()}
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        fresh.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        fresh.replace(self.path)

