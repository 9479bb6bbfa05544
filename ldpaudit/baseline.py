"""The baseline of a gate: what its claims and targets came out as, to which later runs are compared."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from ldpaudit import strict_json
from ldpaudit.claim import SLACK
from ldpaudit.enclosure import show_up
from ldpaudit.errors import DeploymentError
from ldpaudit.findings import ClaimRow, Gate, Row, TargetRow
from ldpaudit.refusal import refusal
from ldpaudit.toml import read_text
from ldpaudit.verdict import Outcome

SCHEMA: Literal["ldpaudit.baseline/1"] = "ldpaudit.baseline/1"


class _File(Row):
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
        if f.claim is not None:
            claims[f.id] = f.claim.kept()
        if f.target is not None:
            targets[f.id] = f.target.model_dump()
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
    if weaker := _weaker(before, now):
        return weaker
    for name in ("unit", "neighbours", "implementation"):
        old, new = getattr(before, name), getattr(now, name)
        if old is not None and new != old:
            return f"; its {name} was {old} in the baseline, and {'there is none' if new is None else f'is {new}'}"
    return ""


def target_regression(before: TargetRow | None, now: TargetRow) -> str:
    """The same of a callable: refuted where it was not, or not refuted of a weaker claim."""
    if before is None:
        return ""
    if now.refuted and not before.refuted:
        return "; it was not refuted in the baseline"
    return _weaker(before, now)


def _weaker(before: ClaimRow | TargetRow, now: ClaimRow | TargetRow) -> str:
    """Whether a larger epsilon or delta is claimed."""
    for name in ("epsilon", "delta"):
        old, new = getattr(before, name), getattr(now, name)
        if old is not None and (new is None or new > old * float(1 + SLACK)):
            return f"; it claimed {name} = {old:g} in the baseline, and claims {'none' if new is None else f'{new:g}'}"
    return ""
