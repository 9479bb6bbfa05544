"""Units of sampling work that anybody may do, and the file from which an audit goes on.

A unit is (game, child of the seed, size, rules); its result is a table of counts, and tables add.
"""

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
"""Units given to an executor ahead of the one that is waited for: enough to keep 16 workers busy, two units each."""
LARGEST, SMALLEST = 1 << 20, 1 << 12
"""Views of a unit where nothing stops before the end: at least what takes longer to draw than to hand out, at most what
fits into memory as scores (8 MB)."""
SCHEMA = "ldpaudit.checkpoint/3"


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of the sampling. What it draws depends on the seed and on its place alone, never on who does it or when."""

    source: sources.Source
    game: int
    seed: int
    place: tuple[int, ...]
    size: int
    rules: tuple[Any, ...] = ()

    def __call__(self) -> Any:
        """Right and wrong guesses by each rule; without any, a sample from which a rule can be chosen."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=self.place))
        played = sources.games(self.source)[self.game]
        return played.measure(self.rules, self.size, rng) if self.rules else played.draw(self.size, rng)


def _do(unit: Unit) -> Any:
    return unit()


def stream(units: Iterable[Unit], executor: Executor | None) -> Generator[Any, None, None]:
    """Results in the order of the units. An executor works ahead; results that nobody asks for are given up.

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
    """All that an audit needs to go on once its rule is chosen.

    Parameters
    ----------
    game : int
        Position of the game that is played among those of the source.
    rule : ThresholdRule or SubsetRule
        Which views are guessed on.
    directions : int
        How many of the inputs the test allows a delta for.
    tuning : tuple of float
        What a sequential test bets on.
    drawn, units : int
        Views drawn so far, and units counted so far.
    counts : Counts
        Right and wrong guesses so far.
    since : Counts
        Those of them that were counted before the rule was chosen for the last time.
    narrower : tuple of Counts
        Those of each narrower rule of the game.
    """

    game: int
    rule: Any
    directions: int
    tuning: tuple[float, ...]
    drawn: int
    units: int
    counts: Counts = field(default_factory=Counts)
    since: Counts = field(default_factory=Counts)
    narrower: tuple[Counts, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinite thresholds as text."""
        rule = {name: [*v] if isinstance(v, tuple) else str(v) for name, v in asdict(self.rule).items()}
        return {**asdict(self), "tuning": [*self.tuning], "rule": rule}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> State:
        """Read back."""
        rule = data["rule"]
        made = k_inputs.SubsetRule(tuple(rule["at"])) if "at" in rule else two_inputs.ThresholdRule(
            float(rule["upper"]), float(rule["lower"])
        )
        counts = {name: Counts(**data[name]) for name in ("counts", "since")}
        rare = tuple(Counts(**each) for each in data["narrower"])
        return cls(**{**data, **counts, "rule": made, "tuning": tuple(data["tuning"]), "narrower": rare})


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file that an audit writes after each unit, and from which the same audit goes on.

    Parameters
    ----------
    path : Path
        Where.
    audit : str
        All that the samples and the bound depend on: the file of another audit is refused.
    """

    path: Path
    audit: str

    @property
    def digest(self) -> str:
        """SHA-256 of the audit's description."""
        return hashlib.sha256(self.audit.encode()).hexdigest()

    def load(self) -> State | None:
        """The state from which to go on; None where nothing was written yet.

        Raises
        ------
        ValueError
            Where the file is another audit's, or no checkpoint, or its folder does not exist.
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
        """Replace the file at once: whoever reads it sees the old state or the new one, never half of one."""
        data = {"schema": SCHEMA, "audit": self.digest, "state": state.to_json()}
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        fresh.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        fresh.replace(self.path)

