"""Units of sampling work that anybody may do, and the file from which an audit goes on.

A unit is (game, child of the seed, size, rules); its result is a table of counts, and tables add.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.games import k_inputs, sources, two_inputs
from ldpaudit.files.whole import Saved

LARGEST, SMALLEST = 1 << 20, 1 << 12
"""Views of a unit where nothing stops before the end: at least what takes longer to draw than to hand out, at most what
fits into memory as scores (8 MB)."""
LARGEST_FILE = 1 << 23  # bytes that a checkpoint may have; a rule on 65,536 inputs takes half a million
SCHEMA = "ldpaudit.checkpoint/5"


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
        return played.measure(self.rules, self.size, rng) if self.rules else played.collect(self.size, rng)


@dataclass(frozen=True, slots=True)
class State:
    """All that an audit needs to go on once its rule is chosen."""

    game: int  # position of the game that is played among those of the source
    rule: k_inputs.SubsetRule | two_inputs.ThresholdRule  # which views are guessed on
    directions: int  # how many of the inputs the test allows a delta for
    tuning: tuple[float, ...]  # what a sequential test bets on
    drawn: int  # views drawn so far, and units counted so far
    units: int
    counts: Counts = field(default_factory=Counts)  # right and wrong guesses so far
    # those of them that were counted before the rule was chosen for the last time
    since: Counts = field(default_factory=Counts)
    narrower: tuple[Counts, ...] = ()  # those of each narrower rule of the game
    # views drawn and counts at some looks of a sequential audit, for whoever asks how the bound came about
    looks: tuple[tuple[int, Counts], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinite thresholds as text."""
        rule = {name: [*v] if isinstance(v, tuple) else str(v) for name, v in asdict(self.rule).items()}
        return {**asdict(self), "rule": rule}

    @classmethod
    def from_json(cls, data: Any) -> State:
        """Read back what `to_json` made. Raises ValueError where it is something else."""
        return TypeAdapter(cls).validate_python(data)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file that an audit writes after each unit, and from which the same audit goes on."""

    path: Path  # where
    audit: str  # all that the samples and the bound depend on: the file of another audit is refused

    @property
    def _file(self) -> Saved:
        return Saved(self.path, "audit", SCHEMA, self.audit, LARGEST_FILE)

    def load(self) -> State | None:
        """The state from which to go on; None where nothing was written yet.

        A unit that is counted twice would make the bound wrong. So whoever changes the state has to change its digest, too: a
        checkpoint is trusted like the code. Raises ValueError where the file is another audit's, or was changed, or its folder
        does not exist.
        """
        data = self._file.load()
        if data is None:
            return None
        try:
            digest = data.pop("digest")
            if digest == _digest(data):
                return State.from_json(data)
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
        raise ValueError(f"{self.path}: needs a state as an audit wrote it, got another one; remove it to start again")

    def save(self, state: State) -> None:
        """Replace the file at once: whoever reads it sees the old state or the new one, never half of one."""
        data = state.to_json()
        self._file.save({**data, "digest": _digest(data)})


def _digest(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
