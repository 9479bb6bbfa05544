"""The gate of a build: many deployments and targets against a policy and a baseline."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

import ldpaudit
from ldpaudit.apart import PATIENCE, Crew, Task
from ldpaudit.baseline import Baseline, claim_regression, read_baseline, target_regression
from ldpaudit.baseline import baseline_of as baseline_of
from ldpaudit.certificate import Certificate, ClaimRecord
from ldpaudit.certify import CONFIDENCE, TRIALS, claim_seed
from ldpaudit.deployment import NUMBER, exact_number
from ldpaudit.enclosure import round_up, show_down
from ldpaudit.errors import DeploymentError, LdpauditError, in_a_line
from ldpaudit.evidence import Evidence
from ldpaudit.findings import Finding as Finding
from ldpaudit.findings import Gate as Gate
from ldpaudit.findings import TargetRow
from ldpaudit.names import Id, repeated
from ldpaudit.parallel import Asked, ask, here, require_ids, require_no_code
from ldpaudit.refusal import refusal
from ldpaudit.toml import line_of, parse, read_text
from ldpaudit.verdict import Outcome

CONFIG = "ldpaudit.toml"
TABLE = ("tool", "ldpaudit")
"""Where in pyproject.toml the configuration stands."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


def _float_size(number: Fraction) -> Fraction:
    if abs(number) > 10**308:
        raise ValueError("needs a number that a float can hold, got one above 1e308")
    return number


_Number = Annotated[Fraction, BeforeValidator(exact_number), AfterValidator(_float_size), WithJsonSchema(NUMBER)]


class TargetTable(_Table):
    """A callable that is audited as a black box."""

    id: Id = Field(description="Of the target, in findings and in the baseline.")
    callable: str = Field(pattern=r"^[\w.]+:[\w.]+$", description="`module:callable`, from an input to a report.")
    inputs: list[Any] = Field(min_length=2, description="What it is called with; each must be hard to tell from the others.")
    epsilon: _Number = Field(description="The claim, in nats.")
    delta: _Number = Field(Fraction(0), description="The claim's delta.")
    expect: Literal["refuted"] | None = Field(None, description="On record, where it is known to be refuted.")


def _inside(path: str) -> str:
    """A configuration may come with a change that nobody has read: what it has written stays in its own folder."""
    if not Path(path).name or Path(path).is_absolute() or ".." in Path(path).parts:
        raise ValueError(f"needs a file inside the configuration's folder, got {path!r:.60} (`--baseline FILE` takes any)")
    return path


class Config(_Table):
    """What ``[tool.ldpaudit]`` or ``ldpaudit.toml`` says."""

    deployments: list[str] = Field([], description="Patterns of deployment files, relative to the configuration's folder.")
    targets: list[TargetTable] = Field([], description="Callables that are audited as black boxes.")
    seed: int = Field(0, description="Seed of all samples.")
    trials: int = Field(TRIALS, ge=16, le=10**9, description="Views per claim, and per target.")
    confidence: float = Field(CONFIDENCE, gt=0, lt=1, description="Of the evidence on each claim and target.")
    require_decision: bool = Field(False, alias="require-decision", description="Whether an undecided claim fails the build.")
    baseline: Annotated[str, AfterValidator(_inside)] | None = Field(
        None, description="File inside the configuration's folder with which findings are compared."
    )
    patience: float = Field(PATIENCE, gt=0, description="Seconds that code of the user's may take.")
    no_import: bool = Field(False, alias="no-import", description="Whether code that a file names is refused.")


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
            tree: Any = parse(text, str(path))
            for depth, key in enumerate(table):
                if not isinstance(tree, dict):
                    where = table[:depth]
                    raise DeploymentError(f"needs a table, got {tree!r:.60}", str(path), line_of(text, where), ".".join(where))
                tree = tree.get(key, {})
            if tree or not table:
                return path, _config(tree, text, path, table)
    raise DeploymentError(f"needs {CONFIG}, or [tool.ldpaudit] in pyproject.toml", str(folder))


def _config(tree: Mapping[str, Any], text: str, path: Path, table: Sequence[str]) -> Config:
    def fail(message: str, key: Sequence[str | int]) -> DeploymentError:
        return DeploymentError(message, str(path), line_of(text, key), ".".join(map(str, key)))

    try:
        config = Config.model_validate(tree)
    except ValidationError as error:
        sentence, key = refusal(error, Config)
        raise fail(sentence, [*table, *key]) from None
    if not config.deployments and not config.targets:
        raise DeploymentError("needs deployments or targets, got neither", str(path), None, ".".join(table))
    if twice := repeated(target.id for target in config.targets):
        raise fail(f"needs targets with ids of their own, got {twice!r} twice", [*table, "targets"])
    return config


def check(folder: Path, config: Config, path: Path, progress: Callable[[str], None] | None = None) -> Gate:
    """Every deployment and target of a configuration, against its policy and its baseline.

    Code of the user's runs in a process of its own for each target, and for each deployment that names an implementation.
    What cannot be checked is a finding too.

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
        Where the baseline is not what it should be, a pattern matches no file, two deployments have one id, or code is
        named and the configuration says ``no-import``.
    """
    asked = [(file, ask(file)) for file in _files(folder, config, path)]
    require_ids([each for _, each in asked])
    if config.no_import:
        _require_no_code(config, path, [each for _, each in asked])
    baseline = read_baseline(folder / config.baseline) if config.baseline else Baseline()
    findings: list[Finding] = []
    with Crew() as crew:
        for file, each in asked:
            if progress is not None:
                progress(file.name)
            findings += _deployment(crew, file, each, folder, config, baseline)
        for index, target in enumerate(config.targets):
            if progress is not None:
                progress(target.id)
            findings.append(_target(crew, target, config, path, _target_line(path, index), baseline))
    return Gate((*findings, *_gone(findings, baseline, folder, config)))


def _require_no_code(config: Config, path: Path, asked: Sequence[Asked | LdpauditError]) -> None:
    for index, target in enumerate(config.targets):
        line = _target_line(path, index)
        raise DeploymentError(f"needs no code with --no-import, got {target.callable!r}", str(path), line, "targets")
    require_no_code(asked)


def _target_line(path: Path, index: int) -> int | None:
    return line_of(read_text(path), [*(() if path.name == CONFIG else TABLE), "targets", index, "id"])


def _files(folder: Path, config: Config, path: Path) -> list[Path]:
    """Each file once, whatever number of patterns match it."""
    return list(dict.fromkeys(file for pattern in config.deployments for file in _matches(folder, pattern, path)))


def _matches(folder: Path, pattern: str, path: Path) -> Iterator[Path]:
    try:
        found = sorted(folder.glob(pattern))
    except (NotImplementedError, ValueError, IndexError, OSError):  # what pathlib says of absolute, empty and endless patterns
        raise DeploymentError(f"needs relative patterns, got {pattern!r:.60}", str(path), None, "deployments") from None
    if not found:
        raise DeploymentError(f"needs a file that matches {pattern!r}, got none", str(path), None, "deployments")
    yield from found


def _deployment(
    crew: Crew, file: Path, asked: Asked | LdpauditError, folder: Path, config: Config, baseline: Baseline
) -> list[Finding]:
    shown = str(file.relative_to(folder)) if file.is_relative_to(folder) else str(file)
    command = (
        f"{_there(folder)}ldpaudit certify {shlex.quote(shown)} --seed {config.seed} --trials {config.trials}"
        f" --confidence {config.confidence}"
    )
    try:
        certificate = _certificate(crew, asked, config)
    except LdpauditError as error:
        line = error.line if isinstance(error, DeploymentError) else None
        return [Finding(shown, None, "error", in_a_line(error), _seen(folder, shown), line, command)]
    findings = []
    for index, claim in enumerate(certificate.claims):
        line = line_of(certificate.deployment, ["claims", index, "id"])
        found = _claim(claim, f"{certificate.id}/{claim.id}", config, baseline)
        found = replace(found, file=_seen(folder, shown), line=line, reproduce=command)
        if found.problem == "undecided":
            found = replace(found, reproduce=f"{command} --require-decision")
        if found.problem == "regressed":  # only the gate knows what was before
            found = replace(found, reproduce=_compared(folder, config))
        findings.append(found)
    return findings


def _certificate(crew: Crew, asked: Asked | LdpauditError, config: Config) -> Certificate:
    if not isinstance(asked, Asked):
        raise asked
    foreign = asked.deployment.implementation is not None
    work = asked.task(config.seed, config.trials, config.confidence, config.patience)
    found = crew.do(work) if foreign else here(asked, config.seed, config.trials, config.confidence)
    if isinstance(found, LdpauditError):
        raise found
    certificate: Certificate = found
    return certificate


def _compared(folder: Path, config: Config) -> str:
    return f"ldpaudit check {shlex.quote(str(folder))} --baseline {shlex.quote(str(config.baseline))}"


def _claim(claim: ClaimRecord, name: str, config: Config, baseline: Baseline) -> Finding:
    """A claim as it came out; where it stands is still to be said."""
    high = claim.enclosure.high if claim.enclosure else None
    worse = claim_regression(baseline.claims.get(name), claim.verdict, high)
    undecided = claim.verdict is Outcome.UNDECIDED and claim.expect is None
    problem: str | None = "undecided" if config.require_decision and undecided else None
    if worse:
        problem = "regressed"
    if not claim.as_recorded:
        problem = "refuted" if claim.expect is None else "not as recorded"
    message = f"{claim.sentence}: {claim.verdict}, {claim.reason}{worse}"
    return Finding(name, claim.verdict, problem, message, "", None, "", high)


def _seen(folder: Path, file: str) -> str:
    """A file as build logs and code scanners name it: from where the gate was called."""
    return file if folder.is_absolute() else str(folder / file)


def _there(folder: Path) -> str:
    """What a command begins with that is pasted where the gate was called, not in the folder that it looked at."""
    return "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "


def measure(target: TargetTable, trials: int, confidence: float, seed: int) -> Evidence:
    """What samples of a target show; it is imported and run."""
    function = import_module("ldpaudit.adapters.callables").resolve(target.callable)
    found: Evidence = ldpaudit.audit(
        function,
        inputs=target.inputs,
        epsilon=float(target.epsilon),
        delta=round_up(target.delta),
        trials=trials,
        confidence=confidence,
        seed=seed,
    )
    return found


def _target(
    crew: Crew, target: TargetTable, config: Config, path: Path, line: int | None, baseline: Baseline
) -> Finding:
    seed, file = claim_seed(config.seed, "target", target.id), _seen(path.parent, path.name)
    arguments = (target, config.trials, config.confidence, seed)
    try:
        evidence = crew.do(Task(target.id, measure, arguments, config.patience))
    except LdpauditError as error:
        again = f"ldpaudit check {shlex.quote(str(path.parent))}"  # `audit` would end as the code does
        return Finding(target.id, None, "error", f"{target.callable}: {error}", file, line, again)
    now = TargetRow(
        refuted=evidence.refutes(target.epsilon), epsilon=float(target.epsilon), delta=float(target.delta)
    )
    worse = target_regression(baseline.targets.get(target.id), now)
    given = " ".join(shlex.quote(json.dumps(x, default=str)) for x in target.inputs)
    command = (
        f"{_there(path.parent)}ldpaudit audit {target.callable} --inputs {given} --epsilon {float(target.epsilon)!r}"
        f" --delta {float(target.delta)!r} --trials {config.trials} --confidence {config.confidence} --seed {seed}"
    )
    bound = f"epsilon >= {show_down(evidence.epsilon_lower)} with confidence {config.confidence:g}"
    seen = "" if now.refuted else f"; {evidence.resolution}"
    message = f"{target.callable} claims epsilon = {float(target.epsilon):g}: measured {bound}{worse}{seen}"
    problem = "regressed" if worse else None
    if now.refuted != (target.expect == "refuted"):
        problem = "refuted" if now.refuted else "not as recorded"
    outcome = Outcome.REFUTED if now.refuted else Outcome.UNDECIDED
    if problem == "regressed":
        command = _compared(path.parent, config)
    return Finding(target.id, outcome, problem, message, file, line, command, None, now)


def _gone(findings: Sequence[Finding], baseline: Baseline, folder: Path, config: Config) -> Iterator[Finding]:
    """What the baseline has and nobody claims any more: a claim that is renamed or deleted must not pass."""
    if any(f.problem == "error" for f in findings):
        return  # its claims may be what is missing
    there = {f.id for f in findings}
    drop = f"{_compared(folder, config)} --update-baseline"
    for kind, rows in (("claim", baseline.claims), ("target", baseline.targets)):
        for name in rows:
            if name not in there:
                message = f"the baseline has the {kind} {name}, and the gate has none of this name; to drop it on purpose: {drop}"
                yield Finding(name, None, "gone", message, _seen(folder, str(config.baseline)), None, _compared(folder, config))
