"""The baseline of a gate: what its claims and targets came out as, to which later runs are compared."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from ldpaudit.claim import SLACK
from ldpaudit.core import strict_json
from ldpaudit.core.refusal import refusal
from ldpaudit.enclosure import show_up
from ldpaudit.errors import DeploymentError
from ldpaudit.files.toml import read_text
from ldpaudit.gate.findings import ClaimRow, Gate, Row, TargetRow
from ldpaudit.verdict import Outcome

SCHEMA: Literal["ldpaudit.baseline/1"] = "ldpaudit.baseline/1"


class _File(Row):
    schema_: Literal["ldpaudit.baseline/1"] = Field(alias="schema", description="What kind of file this is.")
    claims: dict[str, ClaimRow] = Field(description="Results by `deployment/claim`.")
    targets: dict[str, TargetRow] = Field({}, description="Results by the target's id.")


MODEL = _File  # what a baseline may say


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a baseline's file says; nothing where a gate has none."""

    claims: dict[str, ClaimRow] = field(default_factory=dict)
    targets: dict[str, TargetRow] = field(default_factory=dict)


def read_baseline(path: Path) -> Baseline:
    """What `baseline_of` wrote. Raises DeploymentError where there is no such file, or it says anything else."""
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
