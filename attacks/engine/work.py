"""Units of sampling work that anybody may do, and the file from which an audit goes on.

A unit is (game, child of the seed, size, rules); its result is a table of counts, and tables add.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.games import k_inputs, sources, two_inputs
from ldpaudit.files.whole import Saved

LARGEST, SMALLEST = 1 << 20, 1 << 12
"""Views of a unit where nothing stops before the end: at least what takes longer to draw than to hand out, at most what
fits into memory as scores (8 MB)."""
LARGEST_FILE = 1 << 23
"""Bytes that a checkpoint may have; a rule on 65,536 inputs takes half a million."""
SCHEMA = "ldpaudit.checkpoint/4"


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
    rule: Any  # which views are guessed on
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
        return {**asdict(self), "tuning": [*self.tuning], "rule": rule}

    @classmethod
    def from_json(cls, data: Any) -> State:
        """Read back. Raises ValueError in one line, where it is not what `to_json` makes."""
        try:
            read = _State.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            raise ValueError(f"state.{key}: {first['msg']}, got {first['input']!r:.60}") from None
        rule = read.rule
        made = k_inputs.SubsetRule(rule.at) if isinstance(rule, _Subset) else two_inputs.ThresholdRule(**rule.model_dump())
        counts = {name: Counts(**getattr(read, name).model_dump()) for name in ("counts", "since")}
        rare = tuple(Counts(**each.model_dump()) for each in read.narrower)
        looks = tuple((drawn, Counts(**each.model_dump())) for drawn, each in read.looks)
        return cls(read.game, made, read.directions, read.tuning, read.drawn, read.units, **counts, narrower=rare, looks=looks)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Whole = Annotated[int, Field(ge=0, strict=True)]
_Threshold = Annotated[float, BeforeValidator(lambda text: float(text) if isinstance(text, str) else text)]


class _Thresholds(_Strict):
    upper: _Threshold
    lower: _Threshold
    mirrored: Annotated[bool, BeforeValidator(lambda text: text == "True" if text in ("True", "False") else text)] = False


class _Subset(_Strict):
    at: tuple[_Whole, ...]


class _Counts(_Strict):
    right: _Whole
    wrong: _Whole
    trials: _Whole


class _State(_Strict):
    game: _Whole
    rule: _Subset | _Thresholds
    directions: _Whole
    tuning: tuple[Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)], ...]
    drawn: _Whole
    units: _Whole
    counts: _Counts
    since: _Counts
    narrower: tuple[_Counts, ...]
    looks: tuple[tuple[_Whole, _Counts], ...]


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

        Raises
        ------
        ValueError
            Where the file is another audit's, or no checkpoint, or its folder does not exist.
        """
        state = self._file.load()
        try:
            return None if state is None else State.from_json(state)
        except ValueError as error:
            raise ValueError(f"{self._file.needs}: {error}") from None

    def save(self, state: State) -> None:
        """Replace the file at once: whoever reads it sees the old state or the new one, never half of one."""
        self._file.save(state.to_json())
