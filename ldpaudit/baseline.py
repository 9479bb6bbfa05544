"""The baseline of a gate: what its claims and targets came out as, to which later runs are compared."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from ldpaudit import strict_json
from ldpaudit.claim import SLACK
from ldpaudit.enclosure import show_up
from ldpaudit.errors import DeploymentError
from ldpaudit.findings import Gate, TargetRow
from ldpaudit.refusal import refusal
from ldpaudit.toml import read_text
from ldpaudit.verdict import Outcome

SCHEMA: Literal["ldpaudit.baseline/1"] = "ldpaudit.baseline/1"
_DECIMAL = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?|inf")
BOUND = {"anyOf": [{"type": "string", "pattern": f"^({_DECIMAL.pattern})$"}, {"type": "number", "minimum": 0}, {"type": "null"}]}
"""A bound in a JSON Schema."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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


class ClaimRow(_Strict):
    """A claim: its verdict, and the upper bound that was certified."""

    verdict: Annotated[Outcome, BeforeValidator(_outcome)] = Field(description="What it came out as.")
    high: Annotated[Annotated[float, Field(ge=0)] | None, BeforeValidator(_bound), WithJsonSchema(BOUND)] = Field(
        description="Certified upper bound, as text so that no digit is lost; null where there is none."
    )


class _File(_Strict):
    schema_: Literal["ldpaudit.baseline/1"] = Field(alias="schema", description="What kind of file this is.")
    claims: dict[str, ClaimRow] = Field(description="By `deployment/claim`.")
    targets: dict[str, TargetRow] = Field({}, description="By the target's id.")


MODEL = _File
"""What a baseline may say."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a baseline's file says; nothing where a gate has none."""

    claims: dict[str, ClaimRow] = field(default_factory=dict)
    targets: dict[str, TargetRow] = field(default_factory=dict)


def read_baseline(path: Path) -> Baseline:
    """What `baseline_of` wrote.

    Raises
    ------
    DeploymentError
        Where there is no such file, or it says anything else.
    """
    if not path.exists():
        raise DeploymentError("needs the baseline's file, got none: `ldpaudit check --update-baseline` writes it", str(path))
    needs = "needs a baseline that `ldpaudit check --update-baseline` wrote"
    try:
        file = _File.model_validate(strict_json.parse(read_text(path)))
    except ValidationError as error:
        sentence, key = refusal(error, _File)
        raise DeploymentError(f"{needs}: {sentence}", str(path), None, ".".join(map(str, key))) from None
    except ValueError as error:
        raise DeploymentError(f"{needs}: {error}", str(path)) from None
    return Baseline(file.claims, file.targets)


def baseline_of(gate: Gate) -> str:
    """The findings to which later ones are compared, as JSON."""
    claims, targets = {}, {}
    for f in gate.findings:
        if f.outcome is None:  # of an error, or of a claim that is gone, there is nothing to keep
            continue
        if f.target is None:
            claims[f.id] = {"verdict": str(f.outcome), "high": None if f.high is None else str(f.high)}
        else:
            targets[f.id] = f.target.model_dump()
    return json.dumps({"schema": SCHEMA, "claims": claims, "targets": targets}, indent=2, sort_keys=True) + "\n"


def claim_words(verdict: Outcome, high: float | None) -> str:
    """A claim's row, for people."""
    return f"{verdict}, {'no upper bound' if high is None else f'epsilon <= {show_up(high)}'}"


def target_words(row: TargetRow) -> str:
    """A target's row, for people."""
    delta = f", delta = {row.delta:g}" if row.delta else ""
    return f"{'refuted' if row.refuted else 'not refuted'} at epsilon = {row.epsilon:g}{delta}"


def claim_regression(before: ClaimRow | None, outcome: Outcome, high: float | None) -> str:
    """What got worse since the baseline, as the end of a sentence; nothing where nothing did."""
    if before is None:
        return ""
    order = list(Outcome)
    if order.index(outcome) < order.index(before.verdict):
        return f"; it was {before.verdict} in the baseline"
    if before.high is not None and (high is None or high > before.high * float(1 + SLACK)):
        now = "no upper bound" if high is None else f"{show_up(high)}"
        return f"; its upper bound was {show_up(before.high)} in the baseline, and is {now}"
    return ""


def target_regression(before: TargetRow | None, now: TargetRow) -> str:
    """The same of a callable: refuted where it was not, or not refuted of a weaker claim."""
    if before is None:
        return ""
    if now.refuted and not before.refuted:
        return "; it was not refuted in the baseline"
    for name in ("epsilon", "delta"):
        old, new = getattr(before, name), getattr(now, name)
        if new > old * float(1 + SLACK):
            return f"; it claimed {name} = {old:g} in the baseline, and claims {new:g}"
    return ""
