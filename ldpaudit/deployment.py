"""A deployment file, and the claims about plans that it means: the only parser."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ldpaudit import registry
from ldpaudit.claim import Claim
from ldpaudit.errors import DeploymentError
from ldpaudit.expression import parse
from ldpaudit.mechanism import Mechanism
from ldpaudit.names import Id
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.number import brief, exact
from ldpaudit.plan import Guarantee, Plan, Repeat, Run, Shuffle
from ldpaudit.toml import line_of, read_text
from ldpaudit.toml import parse as parse_toml

SCHEMA = "ldpaudit.deployment/1"
ONE_REPORT = ("report", "event", "source", "round")
"""Units that mean a single run of the mechanism."""


def exact_number(value: object) -> Fraction:
    """A number, or an expression in quotes, as the rational that it is."""
    if isinstance(value, str):
        return parse(value)
    try:
        return exact(value, "it")
    except TypeError:
        raise ValueError(f"needs a number or an expression in quotes, got {brief(value)}") from None


def _exact_or_question(value: object) -> Fraction | None:
    return None if value == "?" else exact_number(value)


def _relation(value: object) -> Neighbours:
    if not isinstance(value, str):
        raise ValueError(f"needs a relation in quotes, such as \"replace-one\", got {brief(value)}")
    return Neighbours.named(value)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class _MechanismTable(_Table):
    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    kind: str
    variant: str = ""

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class _Contribution(_Table):
    reports: int = Field(1, ge=1)
    memoized: bool = False


class _Epochs(_Table):
    count: int = Field(ge=1)
    window: int = Field(ge=1)
    window_answers: int = Field(ge=1)
    lifetime_answers: int = Field(ge=1)

    def answers(self, unit: str) -> int:
        """Most answers of one user in any window of consecutive epochs, or in all epochs; when they come does not matter."""
        if unit == "window":
            return min(self.window, self.window_answers, self.lifetime_answers, self.count)
        whole, rest = divmod(self.count, self.window)
        most = min(self.window, self.window_answers)
        return min(self.lifetime_answers, whole * most + min(rest, most))


class _Shuffle(_Table):
    users: int = Field(ge=1)


class _Implementation(_Table):
    callable: str = Field(pattern=r"^[\w.]+:[\w.]+$")


class _ClaimTable(_Table):
    id: Id
    epsilon: Annotated[Fraction | None, BeforeValidator(_exact_or_question)]
    delta: Annotated[Fraction, BeforeValidator(exact_number)] = Fraction(0)
    neighbours: Annotated[Neighbours | None, BeforeValidator(_relation)] = None
    """By default the mechanism's usual relation."""
    unit: Literal["report", "event", "source", "round", "user-day", "window", "lifetime"] = "report"
    view: Literal["local", "shuffled"] | None = None
    source: str = ""
    expect: Literal["holds", "refuted", "undecided"] | None = None


class _File(_Table):
    schema_: Literal["ldpaudit.deployment/1"] = Field(alias="schema")
    id: Id
    title: str = ""
    sources: list[str] = []
    note: str = ""
    mechanism: _MechanismTable
    contribution: _Contribution = _Contribution(reports=1)
    epochs: _Epochs | None = None
    shuffle: _Shuffle | None = None
    implementation: _Implementation | None = None
    claims: list[_ClaimTable] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Deployment:
    """What is deployed, and what is claimed of it.

    Parameters
    ----------
    id, title, note : str
        As the file says.
    sources : tuple of str
        Where the parameters are published.
    plan : Plan
        One report.
    claims : tuple of Claim
        Each about a plan of its own: one report, a day's, a lifetime's, shuffled or not.
    implementation : str or None
        ``module:callable`` of the code that is sampled in place of the mechanism.
    text : str
        The file, whole.
    """

    id: str
    title: str
    note: str
    sources: tuple[str, ...]
    plan: Plan
    claims: tuple[Claim, ...]
    implementation: str | None
    text: str


def load(path: str | Path) -> Deployment:
    """Read a deployment file.

    Parameters
    ----------
    path : str or Path
        A TOML file of at most 1 MiB.

    Raises
    ------
    DeploymentError
        Where it cannot be read, or says anything that a deployment file may not: with file, line and key.
    """
    return loads(read_text(path), str(path))


def loads(text: str, name: str = "deployment") -> Deployment:
    """Read a deployment from text; `name` stands for the file in errors."""
    tree = parse_toml(text, name)

    def fail(message: str, key: Sequence[str | int]) -> DeploymentError:
        return DeploymentError(message, name, line_of(text, key), ".".join(map(str, key)))

    try:
        file = _File.model_validate(tree)
    except ValidationError as error:
        # A misspelt key is both unknown and missing: the unknown one is where to look.
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        key = [part for part in first["loc"] if part != "schema_"]
        raise fail(sentence_of(first), key) from None
    try:
        plan = _plan(file.mechanism)
    except registry.ParameterError as error:
        raise fail(str(error), ["mechanism", *error.keys]) from None
    return Deployment(
        id=file.id,
        title=file.title or file.id,
        note=file.note,
        sources=tuple(file.sources),
        plan=plan,
        claims=_claims(file, plan, fail),
        implementation=file.implementation.callable if file.implementation else None,
        text=text,
    )


def sentence_of(error: Mapping[str, Any]) -> str:
    """A pydantic error in our words: what was required, what was found."""
    found = f", got {error['input']!r:.60}"
    match error["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden":
            return f"is not a key that is known here{found}"
        case "value_error":
            return str(error["ctx"]["error"])
    return f"needs {error['msg'].removeprefix('Input should be ')}{found}"


def _plan(table: _MechanismTable) -> Plan:
    if table.kind == "guarantee":
        return registry.construct(Guarantee, table.parameters)
    return Run(registry.build(table.kind, table.variant, table.parameters))


def _claims(file: _File, plan: Plan, fail: Callable[[str, Sequence[str | int]], DeploymentError]) -> tuple[Claim, ...]:
    claims: list[Claim] = []
    for index, table in enumerate(file.claims):
        if table.id in {claim.id for claim in claims}:
            raise fail(f"needs an id of its own, got {table.id!r} twice", ["claims", index, "id"])
        if table.view == "shuffled" and file.shuffle is None:
            raise fail("needs a table [shuffle] for the view 'shuffled'", ["claims", index, "view"])
        try:
            claim = Claim(
                id=table.id,
                plan=_claimed_plan(file, plan, table),
                epsilon=table.epsilon,
                delta=table.delta,
                neighbours=table.neighbours or _usual(plan),
                unit=table.unit,
                source=table.source,
                expect=table.expect,
            )
        except ValueError as error:
            raise fail(str(error), ["claims", index]) from None
        claims.append(claim)
    return tuple(claims)


def _usual(plan: Plan) -> Neighbours:
    """The relation that the mechanism's source has in mind."""
    return plan.mechanism.relations[0] if isinstance(plan, Run) else REPLACE_ONE


def _claimed_plan(file: _File, plan: Plan, table: _ClaimTable) -> Plan:
    """What the claim's unit counts: one report, a day's reports, everything that a memoizing client ever sends."""
    reports, memoized = file.contribution.reports, file.contribution.memoized
    if file.epochs is not None and memoized:
        raise ValueError("[epochs] needs fresh answers: kept ones show which epochs hold equal values; see kind memoized_bit")
    if table.unit == "window" and file.epochs is None:
        raise ValueError("a claim per window needs a table [epochs]")
    if table.unit not in ONE_REPORT:
        if file.epochs is not None and table.unit in ("window", "lifetime"):
            plan = Repeat(plan, reports * file.epochs.answers(table.unit))
        elif memoized:
            plan = Run(_memoized(plan, table.unit, reports))
        elif table.unit == "lifetime":
            raise ValueError("a claim per lifetime needs memoized = true: otherwise reports go on for ever")
        elif reports > 1:
            plan = Repeat(plan, reports)
    return Shuffle(plan, file.shuffle.users) if file.shuffle and table.view != "local" else plan


def _memoized(plan: Plan, unit: str, reports: int) -> Mechanism:
    mechanism = plan.mechanism if isinstance(plan, Run) else None
    lifetime = getattr(mechanism, "lifetime", None)
    if mechanism is None or lifetime is None:
        raise ValueError(f"memoized = true needs a mechanism that memoizes, got {plan}")
    if unit == "lifetime":
        whole: Mechanism = lifetime()
        return whole
    return dataclasses.replace(mechanism, reports=reports)  # type: ignore[type-var]
