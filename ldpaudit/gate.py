"""The gate of a build: many deployments and targets against a policy and a baseline."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

import ldpaudit
from ldpaudit.certify import CONFIDENCE, TRIALS, certify, claim_seed
from ldpaudit.claim import SLACK
from ldpaudit.deployment import exact_number, sentence_of
from ldpaudit.enclosure import round_up, show_down, show_up
from ldpaudit.errors import DeploymentError
from ldpaudit.toml import line_of, read_text, syntax_line
from ldpaudit.verdict import Outcome

CONFIG = "ldpaudit.toml"
TABLE = ("tool", "ldpaudit")
"""Where in pyproject.toml the configuration stands."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class TargetTable(_Table):
    """A callable that is audited as a black box."""

    id: str = Field(min_length=1)
    callable: str = Field(pattern=r"^[\w.]+:[\w.]+$")
    inputs: list[Any] = Field(min_length=2)
    epsilon: Annotated[Fraction, BeforeValidator(exact_number)]
    delta: Annotated[Fraction, BeforeValidator(exact_number)] = Fraction(0)
    expect: Literal["refuted"] | None = None


class Config(_Table):
    """What ``[tool.ldpaudit]`` or ``ldpaudit.toml`` says."""

    deployments: list[str] = []
    targets: list[TargetTable] = []
    seed: int = 0
    trials: int = Field(TRIALS, ge=16)
    confidence: float = Field(CONFIDENCE, gt=0, lt=1)
    require_decision: bool = Field(False, alias="require-decision")
    baseline: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim at the gate.

    Parameters
    ----------
    id : str
        ``deployment/claim`` or the target's id.
    outcome : Outcome
        Its verdict; UNDECIDED for a target that is not refuted, since code is only ever refuted or not.
    problem : str or None
        Why the build fails over it: ``refuted``, ``not as recorded``, ``regressed`` or ``undecided``.
    message : str
        The claim, the bound and the reason, in a line.
    file, line : str, int or None
        Where it is claimed; the path as seen from where the gate was called.
    reproduce : str
        The command that shows it alone.
    high : float or None
        Certified upper bound, which the baseline keeps.
    """

    id: str
    outcome: Outcome
    problem: str | None
    message: str
    file: str
    line: int | None
    reproduce: str
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """All findings, and how the build ends: 0, 1 for a claim that failed, 3 for a decision that is missing."""

    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        """As the command line documents it."""
        problems = {f.problem for f in self.findings if f.problem}
        return 1 if problems - {"undecided"} else 3 if problems else 0


def find_config(folder: Path) -> tuple[Path, Config]:
    """The configuration of a folder: ``ldpaudit.toml``, else ``[tool.ldpaudit]`` of ``pyproject.toml``.

    Raises
    ------
    DeploymentError
        Where neither is there, or it says anything that it may not.
    """
    for path, table in ((folder / CONFIG, ()), (folder / "pyproject.toml", TABLE)):
        if path.is_file():
            text = read_text(path)
            try:
                tree: Any = tomllib.loads(text)
            except tomllib.TOMLDecodeError as error:
                raise DeploymentError(f"needs TOML: {error}", str(path), syntax_line(error)) from None
            for key in table:
                tree = tree.get(key, {})
            if tree or not table:
                return path, _config(tree, text, path, table)
    raise DeploymentError(f"needs {CONFIG}, or [tool.ldpaudit] in pyproject.toml", str(folder))


def _config(tree: Mapping[str, Any], text: str, path: Path, table: Sequence[str]) -> Config:
    try:
        config = Config.model_validate(tree)
    except ValidationError as error:
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        key = [*table, *first["loc"]]
        raise DeploymentError(sentence_of(first), str(path), line_of(text, key), ".".join(map(str, key))) from None
    if not config.deployments and not config.targets:
        raise DeploymentError("needs deployments or targets, got neither", str(path), None, ".".join(table))
    return config


def check(folder: Path, config: Config, path: Path, progress: Callable[[str], None] | None = None) -> Gate:
    """Every deployment and target of a configuration, against its policy and its baseline.

    Parameters
    ----------
    folder : Path
        What the configuration's paths are relative to.
    config : Config
        From `find_config`.
    path : Path
        The configuration's file.
    progress : callable or None
        Called with each id as its turn comes.

    Returns
    -------
    Gate

    Raises
    ------
    DeploymentError
        Where a file is not what it should be, or a pattern matches none.
    ImplementationError
        Where audited code raises, hangs or returns what it never may.
    """
    baseline = read_baseline(folder / config.baseline) if config.baseline else {}
    findings: list[Finding] = []
    for file in _files(folder, config, path):
        if progress is not None:
            progress(file.name)
        findings += _deployment(file, folder, config, baseline)
    text, table = read_text(path), () if path.name == CONFIG else TABLE
    for index, target in enumerate(config.targets):
        if progress is not None:
            progress(target.id)
        findings.append(_target(target, config, path, line_of(text, [*table, "targets", index, "id"])))
    return Gate(tuple(findings))


def _files(folder: Path, config: Config, path: Path) -> Iterator[Path]:
    for pattern in config.deployments:
        if not (found := sorted(folder.glob(pattern))):
            raise DeploymentError(f"needs a file that matches {pattern!r}, got none", str(path), None, "deployments")
        yield from found


def _deployment(file: Path, folder: Path, config: Config, baseline: Mapping[str, Any]) -> list[Finding]:
    certificate = certify(file, seed=config.seed, trials=config.trials, confidence=config.confidence)
    shown = str(file.relative_to(folder)) if file.is_relative_to(folder) else str(file)
    command = (
        f"{_there(folder)}ldpaudit certify {shlex.quote(shown)} --seed {config.seed} --trials {config.trials}"
        f" --confidence {config.confidence}"
    )
    findings = []
    for index, claim in enumerate(certificate.claims):
        name = f"{certificate.id}/{claim.id}"
        high = claim.enclosure.high if claim.enclosure else None
        worse = _regression(baseline.get(name), claim.verdict, high)
        problem: str | None
        if not claim.as_recorded:
            problem = "refuted" if claim.expect is None else "not as recorded"
        elif worse:
            problem = "regressed"
        else:
            undecided = claim.verdict is Outcome.UNDECIDED and claim.expect is None
            problem = "undecided" if config.require_decision and undecided else None
        message = f"{claim.sentence}: {claim.verdict}, {claim.reason}{worse}"
        line = line_of(certificate.deployment, ["claims", index, "id"])
        shows = command + (" --require-decision" if problem == "undecided" else "")
        if problem == "regressed":  # only the gate knows what was before
            shows = f"ldpaudit check {shlex.quote(str(folder))} --baseline {shlex.quote(str(config.baseline))}"
        findings.append(Finding(name, claim.verdict, problem, message, _seen(folder, shown), line, shows, high))
    return findings


def _seen(folder: Path, file: str) -> str:
    """A file as build logs and code scanners name it: from where the gate was called."""
    return file if folder.is_absolute() else str(folder / file)


def _there(folder: Path) -> str:
    """What a command begins with that is pasted where the gate was called, not in the folder that it looked at."""
    return "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "


def _regression(before: Mapping[str, Any] | None, outcome: Outcome, high: float | None) -> str:
    """What got worse since the baseline, as the end of a sentence; nothing where nothing did."""
    if before is None:
        return ""
    order = list(Outcome)
    if order.index(outcome) < order.index(Outcome(before["verdict"])):
        return f"; it was {before['verdict']} in the baseline"
    old = before["high"]
    if old is not None and (high is None or high > float(old) * float(1 + SLACK)):
        now = "no upper bound" if high is None else f"{show_up(high)}"
        return f"; its upper bound was {show_up(float(old))} in the baseline, and is {now}"
    return ""


def _target(target: TargetTable, config: Config, path: Path, line: int | None) -> Finding:
    function = import_module("ldpaudit.adapters.callables").resolve(target.callable)
    evidence = ldpaudit.audit(
        function,
        inputs=target.inputs,
        epsilon=float(target.epsilon),
        delta=round_up(target.delta),
        trials=config.trials,
        confidence=config.confidence,
        seed=claim_seed(config.seed, "target", target.id),
    )
    refuted = evidence.refutes(target.epsilon)
    given = " ".join(shlex.quote(json.dumps(x)) for x in target.inputs)
    command = (
        f"{_there(path.parent)}ldpaudit audit {target.callable} --inputs {given} --epsilon {float(target.epsilon)!r}"
        f" --delta {float(target.delta)!r} --trials {config.trials} --confidence {config.confidence}"
        f" --seed {claim_seed(config.seed, 'target', target.id)}"
    )
    bound = f"epsilon >= {show_down(evidence.epsilon_lower)} with confidence {config.confidence:g}"
    seen = "" if refuted else f"; {evidence.resolution}"
    message = f"{target.callable} claims epsilon = {float(target.epsilon):g}: measured {bound}{seen}"
    recorded = refuted == (target.expect == "refuted")
    problem = None if recorded else "refuted" if refuted else "not as recorded"
    outcome = Outcome.REFUTED if refuted else Outcome.UNDECIDED
    return Finding(target.id, outcome, problem, message, _seen(path.parent, path.name), line, command)


def read_baseline(path: Path) -> dict[str, Any]:
    """What `baseline_of` wrote; empty where there is no file yet.

    Raises
    ------
    DeploymentError
        Where the file is something else.
    """
    if not path.exists():
        return {}
    try:
        data = json.loads(read_text(path))
        rows = {name: {"verdict": Outcome(row["verdict"]), "high": row["high"]} for name, row in data["claims"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DeploymentError("needs a baseline that `ldpaudit check --update-baseline` wrote", str(path)) from None
    return rows


def baseline_of(gate: Gate) -> str:
    """The findings to which later ones are compared, as JSON."""
    rows = {
        f.id: {"verdict": str(f.outcome), "high": None if f.high is None else str(f.high)}
        for f in gate.findings
        if f.high is not None
    }
    return json.dumps({"schema": "ldpaudit.baseline/1", "claims": rows}, indent=2, sort_keys=True) + "\n"
