"""What a gate finds, how the build ends, and the baseline to which later runs are compared."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema, model_validator

from ldpaudit.claim import SLACK
from ldpaudit.core import strict_json
from ldpaudit.core.refusal import refusal
from ldpaudit.enclosure import show_up
from ldpaudit.errors import DeploymentError
from ldpaudit.files.toml import read_text
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


SCHEMA: Literal["ldpaudit.baseline/1"] = "ldpaudit.baseline/1"


class Baseline(Row):
    """What a baseline's file may say."""

    schema_: Literal["ldpaudit.baseline/1"] = Field(alias="schema", description="What kind of file this is.")
    claims: dict[str, ClaimRow] = Field(description="Results by `deployment/claim`.")
    targets: dict[str, TargetRow] = Field({}, description="Results by the target's id.")


NOTHING = Baseline(schema=SCHEMA, claims={}, targets={})  # where a gate has no baseline


def read_baseline(path: Path) -> Baseline:
    """What `baseline_of` wrote. Raises DeploymentError where there is no such file, or it says anything else."""
    if not path.exists():
        raise DeploymentError("needs the baseline's file, got none: `ldpaudit check --update-baseline` writes it", str(path))
    needs = "needs a baseline that `ldpaudit check --update-baseline` wrote"
    try:
        return Baseline.model_validate(strict_json.parse(read_text(path)))
    except ValidationError as error:
        sentence, key = refusal(error, Baseline)
        raise DeploymentError(f"{needs}: {sentence}", str(path), None, ".".join(map(str, key))) from None
    except ValueError as error:
        raise DeploymentError(f"{needs}: {error}", str(path)) from None


def uncompared(baseline: Baseline | None) -> str:
    """What cannot have got worse for want of something to compare with, in a clause; nothing where there is no such thing."""
    if baseline is None:
        return "no baseline"
    return "" if baseline.claims or baseline.targets else "an empty baseline"


def baseline_of(gate: Gate) -> str:
    """The findings to which later ones are compared, as JSON."""
    claims, targets = {}, {}
    for f in gate.findings:
        if f.outcome is None:  # of an error, or of a claim that is gone, there is nothing to keep
            continue
        if f.claim is not None:
            claims[f.id] = f.claim.kept()
        if f.target is not None:
            targets[f.id] = f.target.kept()
    return json.dumps({"schema": SCHEMA, "claims": claims, "targets": targets}, indent=2, sort_keys=True) + "\n"


def claim_words(row: ClaimRow) -> str:
    """A claim's row, for people."""
    bound = "no upper bound" if row.high is None else f"epsilon <= {show_up(row.high)}"
    return f"{row.verdict}, {bound}" + (f" at delta = {row.delta:g}" if row.delta else "")


def target_words(row: TargetRow) -> str:
    """A target's row, for people."""
    delta = f", delta = {row.delta:g}" if row.delta else ""
    return f"{'refuted' if row.refuted else 'not refuted'} at epsilon = {row.epsilon:g}{delta}"


def claim_regression(before: ClaimRow | None, now: ClaimRow) -> str:
    """What got worse since the baseline, or is claimed of something else, as the end of a sentence; nothing where nothing did."""
    if before is None:
        return ""
    order = list(Outcome)
    if order.index(now.verdict) < order.index(before.verdict):
        return f"; it was {before.verdict} in the baseline"
    if before.high is not None and (now.high is None or now.high > before.high * float(1 + SLACK)):
        high = "no upper bound" if now.high is None else f"{show_up(now.high)}"
        return f"; its upper bound was {show_up(before.high)} in the baseline, and is {high}"
    return _weaker(before, now) or _another(before, now, ("unit", "neighbours", "implementation")) or _seen_less(before, now)


def target_regression(before: TargetRow | None, now: TargetRow) -> str:
    """The same of a callable: refuted where it was not, of a weaker claim, other code or inputs, or less looked at."""
    if before is None:
        return ""
    if now.refuted and not before.refuted:
        return "; it was not refuted in the baseline"
    audited = ("callable", "inputs", "form", "support", "neighbours")
    return _weaker(before, now) or _another(before, now, audited) or _seen_less(before, now)


def _another(before: Row, now: Row, names: Sequence[str]) -> str:
    """Whether something else is claimed, or audited."""
    for name in names:
        old, new = (getattr(row, name) for row in (before, now))
        if old is not None and new != old:
            is_now = "there is none" if new is None else f"is {_words(new)}"
            return f"; its {name} was {_words(old)} in the baseline, and {is_now}"
    return ""


def _words(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _seen_less(before: ClaimRow | TargetRow, now: ClaimRow | TargetRow) -> str:
    """Whether code is audited with fewer views, at a smaller confidence, or at a larger one that the views do not make up for."""
    for name in ("trials", "confidence"):
        old, new = getattr(before, name), getattr(now, name)
        if old is not None and new is not None and new < old:
            return f"; its code was audited with {name} = {old:g} in the baseline, and is with {new:g}"
    if 0 < (sight := _sight(now)) < (was := _sight(before)):
        return (
            f"; its code was audited at confidence = {before.confidence:g} in the baseline, and is now at {now.confidence:g}, "
            f"which needs {was / sight:.3g} times as many views to refute as much"
        )
    return ""


def _sight(row: ClaimRow | TargetRow) -> float:
    """Views, in units of those that a refutation takes at this confidence; 0 where the row does not say it."""
    return row.trials / -math.log1p(-row.confidence) if row.trials and row.confidence else 0.0


def _weaker(before: ClaimRow | TargetRow, now: ClaimRow | TargetRow) -> str:
    """Whether a larger epsilon or delta is claimed."""
    for name in ("epsilon", "delta"):
        old, new = getattr(before, name), getattr(now, name)
        if old is not None and (new is None or new > old * float(1 + SLACK)):
            return f"; it claimed {name} = {old:g} in the baseline, and claims {'none' if new is None else f'{new:g}'}"
    return ""
