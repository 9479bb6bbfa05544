"""What a gate finds, and how the build ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from ldpaudit.verdict import Outcome

_DECIMAL = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?|inf")
BOUND = {"anyOf": [{"type": "string", "pattern": f"^({_DECIMAL.pattern})$"}, {"type": "number", "minimum": 0}, {"type": "null"}]}
"""A bound in a JSON Schema."""


def _bound(value: Any) -> Any:
    """A bound as it is written: a decimal or "inf" as text, so that no digit is lost; a number is one too."""
    if isinstance(value, str):
        if not _DECIMAL.fullmatch(value):
            raise ValueError(f"needs a decimal of 0 or more or 'inf' in quotes, or null, got {value!r:.60}")
        return float(value)
    return value


def _outcome(value: Any) -> Any:
    if value not in list(Outcome):
        raise ValueError(f"needs one of {', '.join(Outcome)}, got {value!r:.60}")
    return Outcome(value)


class Row(BaseModel):
    """What a baseline keeps: no other key, and no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ClaimRow(Row):
    """A claim: its verdict, the upper bound that was certified, what is claimed of whom, and how code was looked at."""

    verdict: Annotated[Outcome, BeforeValidator(_outcome)] = Field(description="The verdict.")
    high: Annotated[Annotated[float, Field(ge=0)] | None, BeforeValidator(_bound), WithJsonSchema(BOUND)] = Field(
        description="Certified upper bound, as text so that no digit is lost; null if there is none."
    )
    epsilon: float | None = Field(None, ge=0, description="Claimed epsilon; absent if the claim is a question.")
    delta: float = Field(ge=0, lt=1, description="Claimed.")
    unit: str = Field(description="Unit of the claim.")
    neighbours: str = Field(description="Neighbouring relation of the claim.")
    implementation: str | None = Field(None, description="The audited code, if any.")
    trials: int | None = Field(None, ge=1, description="Number of views of that code.")
    confidence: float | None = Field(None, gt=0, lt=1, description="Confidence of the evidence on that code.")

    def kept(self) -> dict[str, Any]:
        """As a baseline keeps it."""
        high = None if self.high is None else str(self.high)
        return self.model_dump(exclude_none=True) | {"verdict": str(self.verdict), "high": high}

    @model_validator(mode="after")
    def _says_how_code_was_looked_at(self) -> Self:
        if self.implementation is not None and (self.trials is None or self.confidence is None):
            raise ValueError("needs trials and confidence beside an implementation")
        return self


class TargetRow(Row):
    """A callable: whether samples refuted it, what it claimed, what was audited, and how."""

    refuted: bool = Field(description="Whether samples refuted the claim.")
    epsilon: float = Field(ge=0, description="Claimed.")
    delta: float = Field(ge=0, lt=1, description="Claimed.")
    callable: str = Field(description="The audited code.")
    inputs: list[str] = Field(description="Inputs of the calls, as Python writes them.")
    form: str = Field(description="The audited form of its reports.")
    support: str | None = Field(None, description="What says which inputs a report supports.")
    neighbours: str = Field(description="Neighbouring relation: any two of the inputs.")
    trials: int = Field(ge=1, description="Number of views.")
    confidence: float = Field(gt=0, lt=1, description="Confidence of the evidence.")

    def kept(self) -> dict[str, Any]:
        """As a baseline keeps it."""
        return self.model_dump(exclude_none=True)


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim at the gate, or one target, or a file that gave none."""

    id: str  # ``deployment/claim``, the target's id, or the file's name where no claim of it was judged
    # its verdict; UNDECIDED for a target that is not refuted, since code is only ever refuted or not; None where
    # nothing was judged
    outcome: Outcome | None
    # why the build fails over it: ``refuted``, ``not as recorded``, ``regressed``, ``gone``, ``undecided`` or ``error``
    problem: str | None
    message: str  # the claim, the bound and the reason, in a line
    file: str  # where it is claimed; the path as seen from where the gate was called
    line: int | None
    reproduce: str  # the command that shows it alone
    claim: ClaimRow | None = None  # of a claim or a target, what the baseline keeps
    target: TargetRow | None = None
    # what the baseline has of it and what it is now, in words. ``was`` is empty where the baseline has nothing of this
    # name, and None where there is no baseline
    was: str | None = None
    now: str = ""

    @property
    def state(self) -> str:
        """In a word: the problem, else ``undecided`` or ``assumed`` of a claim that is, else ``ok``."""
        open_ = self.target is None and self.outcome in (Outcome.UNDECIDED, Outcome.ASSUMED)
        return self.problem or (str(self.outcome).lower() if open_ else "ok")


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How much of a gate's work was done before."""

    reused: tuple[str, ...]  # deployment files whose certificates the cache had; the other files, and the targets
    anew: tuple[str, ...]
    remarks: tuple[str, ...] = ()  # what went wrong with single entries, each in a line

    def __str__(self) -> str:
        """As "3 of 5 from the cache"."""
        return f"{len(self.reused)} of {len(self.reused) + len(self.anew)} from the cache"


@dataclass(frozen=True, slots=True)
class Gate:
    """All findings, and how the build ends.

    0, or 1 for a claim that failed, 2 where not everything was checked, 3 for a decision that is missing.
    """

    findings: tuple[Finding, ...]  # in the order of the configuration
    baseline: str | None = None  # the file with which they were compared
    reuse: CacheUse | None = None  # how much was done before; None where there was no cache
    uncompared: str = ""  # what was not compared with a baseline, in a clause; empty where all was

    @property
    def exit_code(self) -> int:
        """As the command line documents it."""
        problems = {f.problem for f in self.findings if f.problem}
        if "error" in problems:
            return 2
        return 1 if problems - {"undecided"} else 3 if problems else 0
