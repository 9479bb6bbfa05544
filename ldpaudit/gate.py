"""The gate of a build: many deployments and targets against a policy and a baseline."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from pydantic import ValidationError

from ldpaudit import verification
from ldpaudit.apart import Crew, Task
from ldpaudit.baseline import (
    Baseline,
    claim_regression,
    claim_words,
    read_baseline,
    target_regression,
    target_words,
    uncompared,
)
from ldpaudit.baseline import baseline_of as baseline_of
from ldpaudit.cache import Cache
from ldpaudit.certificate import Certificate, ClaimRecord, EvidenceRecord
from ldpaudit.certify import claim_seed
from ldpaudit.enclosure import show_down
from ldpaudit.errors import DeploymentError, ImplementationError, LdpauditError, in_a_line
from ldpaudit.evidence import Evidence, Form
from ldpaudit.findings import ClaimRow, TargetRow
from ldpaudit.findings import Finding as Finding
from ldpaudit.findings import Gate as Gate
from ldpaudit.gate_config import CONFIG as CONFIG
from ldpaudit.gate_config import TABLE, TargetTable
from ldpaudit.gate_config import Config as Config
from ldpaudit.gate_config import find_config as find_config
from ldpaudit.measuring import measure, program_of
from ldpaudit.mechanism import is_ours
from ldpaudit.neighbours import REPLACE_ONE
from ldpaudit.parallel import Asked, ask, here, require_ids, require_no_code
from ldpaudit.plan import Run
from ldpaudit.reuse import Memory, Reuse, Sought
from ldpaudit.toml import line_of, read_text
from ldpaudit.verdict import Outcome
from ldpaudit.watched import Seen, seen_in, watched


@dataclass(frozen=True, slots=True)
class _Visit:
    """What all findings of one run of the gate share."""

    folder: Path
    path: Path
    config: Config
    baseline: Baseline
    memory: Memory
    crew: Crew

    def was(self, words: str) -> str | None:
        """What the baseline has of a claim, in words: none where it has no such claim; None where there is no baseline."""
        return words if self.config.baseline else None


def check(
    folder: Path,
    config: Config,
    path: Path,
    progress: Callable[[str], None] | None = None,
    cache: Cache | None = None,
) -> Gate:
    """Every deployment and target of a configuration, against its policy and its baseline.

    Code of the user's runs in a process of its own for each target, and for each deployment that names an implementation; the
    folder comes first on the import path there, and there alone.
    What cannot be checked is a finding too.

    ``folder``: what the configuration's paths are relative to; ``config``: from `find_config`; ``path``: the
    configuration's file; ``progress``: called with each id as its turn comes; ``cache``: where answers from before
    are, and where new ones are kept; None where all is done anew. Raises DeploymentError where the baseline is not
    what it should be, a pattern matches no file, two deployments have one id, or code is named and the configuration
    says ``no-import``.
    """
    asked = [(file, ask(file)) for file in _files(folder, config, path)]
    require_ids([each for _, each in asked])
    if config.no_import:
        _require_no_code(config, path, [each for _, each in asked])
    baseline = read_baseline(folder / config.baseline) if config.baseline else Baseline()
    memory = Memory(cache, folder)
    # All of it before any code of the user's runs, which could write what is then read.
    sought = [*(_seek_deployment(memory, each, _shown(file, folder), config) for file, each in asked),
              *(_seek_target(memory, target, config) for target in config.targets)]  # fmt: skip
    findings: list[Finding] = []
    known: list[Sought] = []
    with Crew(first=[str(folder.resolve())]) as crew:
        visit = _Visit(folder, path, config, baseline, memory, crew)
        for (file, each), before in zip(asked, sought, strict=False):
            if progress is not None:
                progress(file.name)
            found, kept = _deployment(visit, file, each, before)
            findings += found
            known.append(kept)
        for index, (target, before) in enumerate(zip(config.targets, sought[len(asked) :], strict=True)):
            if progress is not None:
                progress(target.id)
            finding, kept = _target(visit, target, _target_line(path, index), before)
            findings.append(finding)
            known.append(kept)
    reuse = Reuse(tuple(known)) if cache is not None else None
    missing = uncompared(baseline if config.baseline else None)
    missing = missing if path.exists() else " and ".join(filter(None, ["no configuration", missing]))
    return Gate((*findings, *_gone(findings, visit)), config.baseline, reuse, missing)


def _seek_deployment(memory: Memory, asked: Asked | LdpauditError, name: str, config: Config) -> Sought:
    if not isinstance(asked, Asked):
        return Sought(name)
    whole = asked.deployment
    given = {"what": "certificate", "text": whole.text, "files": verification.embedded(whole), **_settings(config)}
    foreign = isinstance(whole.plan, Run) and not is_ours(whole.plan.mechanism)
    reason = "it is not kept: its mechanism is another package's" if foreign else ""
    return memory.seek(name, given, whole.implementation, reason)


def _seek_target(memory: Memory, target: TargetTable, config: Config) -> Sought:
    # As Python writes them: a date of TOML is not the text that looks like it.
    given = {"what": "evidence", "inputs": repr(target.inputs), "id": target.id, **_settings(config)}
    given |= {name: str(getattr(target, name)) for name in ("callable", "epsilon", "delta", "form")}
    if program_of(target.callable) is not None:
        return memory.seek(target.id, given, None, "it is not kept: a program is run")
    return memory.seek(target.id, given, target.callable)


def _settings(config: Config) -> dict[str, int | float]:
    return {"seed": config.seed, "trials": config.trials, "confidence": config.confidence}


def _done(visit: _Visit, work: Task, sought: Sought) -> tuple[str, Seen | None]:
    """What a call of the user's code answers, as JSON; and, where it may be kept, what that depends on."""
    if not sought.key:
        return str(visit.crew.do(work)), None
    answer = visit.crew.do(replace(work, function=watched, arguments=(work.function, *work.arguments)))
    try:
        text, seen = answer
        return str(text), seen_in(seen)
    except (TypeError, ValueError):
        raise ImplementationError(f"{work.name}: its process gave an answer that is none") from None


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


def _shown(file: Path, folder: Path) -> str:
    return str(file.relative_to(folder)) if file.is_relative_to(folder) else str(file)


def _deployment(
    visit: _Visit, file: Path, asked: Asked | LdpauditError, sought: Sought
) -> tuple[list[Finding], Sought]:
    folder, config = visit.folder, visit.config
    shown = _shown(file, folder)
    command = (
        f"{_there(folder)}ldpaudit certify {shlex.quote(shown)} --seed {config.seed} --trials {config.trials}"
        f" --confidence {config.confidence}"
    )
    try:
        certificate, sought = _certificate(visit, asked, sought)
    except LdpauditError as error:
        line = error.line if isinstance(error, DeploymentError) else None
        return [Finding(shown, None, "error", in_a_line(error), _seen(folder, shown), line, command)], sought
    implementation = asked.deployment.implementation if isinstance(asked, Asked) else None
    findings = []
    for index, claim in enumerate(certificate.claims):
        line = line_of(certificate.deployment, ["claims", index, "id"])
        found = _claim(claim, f"{certificate.id}/{claim.id}", implementation, visit)
        found = replace(found, file=_seen(folder, shown), line=line, reproduce=command)
        if found.problem == "undecided":
            found = replace(found, reproduce=f"{command} --require-decision")
        if found.problem == "regressed":  # only the gate knows what was before
            found = replace(found, reproduce=_compared(folder, config))
        findings.append(found)
    return findings, sought


def _certificate(visit: _Visit, asked: Asked | LdpauditError, sought: Sought) -> tuple[Certificate, Sought]:
    if not isinstance(asked, Asked):
        raise asked
    if sought.found is not None:
        return Certificate.from_json(sought.found, asked.name), sought
    config, seen = visit.config, None
    if asked.deployment.implementation is None:
        found = here(asked, config.seed, config.trials, config.confidence)
    else:
        text, seen = _done(visit, asked.task(config.seed, config.trials, config.confidence, config.patience), sought)
        found = Certificate.from_json(text, asked.name)
    if isinstance(found, LdpauditError):
        raise found
    return found, visit.memory.keep(sought, found.to_json(), seen)


def _compared(folder: Path, config: Config) -> str:
    return f"ldpaudit check {shlex.quote(str(folder))} --baseline {shlex.quote(str(config.baseline))}"


def _claim(claim: ClaimRecord, name: str, implementation: str | None, visit: _Visit) -> Finding:
    """A claim as it came out; where it stands is still to be said."""
    config, before = visit.config, visit.baseline.claims.get(name)
    now = ClaimRow(
        verdict=claim.verdict, high=claim.enclosure.high if claim.enclosure else None,
        epsilon=None if claim.epsilon is None else float(Fraction(claim.epsilon)), delta=float(Fraction(claim.delta)),
        unit=claim.unit, neighbours=claim.neighbours, implementation=implementation,
        trials=config.trials if implementation else None, confidence=config.confidence if implementation else None,
    )  # fmt: skip
    worse = claim_regression(before, now)
    undecided = claim.verdict is Outcome.UNDECIDED and claim.expect is None
    problem: str | None = "undecided" if config.require_decision and undecided else None
    if worse:
        problem = "regressed"
    if not claim.as_recorded:
        problem = "refuted" if claim.expect is None else "not as recorded"
    message = f"{claim.sentence}: {claim.verdict}, {claim.reason}{worse}"
    was = visit.was(claim_words(before) if before else "")
    return Finding(name, claim.verdict, problem, message, "", None, "", now, was=was, now=claim_words(now))


def _seen(folder: Path, file: str) -> str:
    """A file as build logs and code scanners name it: from where the gate was called."""
    return file if folder.is_absolute() else str(folder / file)


def _there(folder: Path) -> str:
    """What a command begins with that is pasted where the gate was called, not in the folder that it looked at."""
    return "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "


def _evidence(visit: _Visit, target: TargetTable, seed: int, sought: Sought) -> tuple[Evidence, Sought]:
    if sought.found is None:
        claimed = (target.callable, target.inputs, target.epsilon, target.delta)
        arguments = (*claimed, visit.config.trials, visit.config.confidence, seed, target.form, str(visit.folder.resolve()))
        text, seen = _done(visit, Task(target.id, measure, arguments, visit.config.patience), sought)
        evidence = _evidence_in(text, target)
        return evidence, visit.memory.keep(sought, text, seen)
    return _evidence_in(sought.found, target), sought


def _evidence_in(text: str, target: TargetTable) -> Evidence:
    try:
        return EvidenceRecord.model_validate_json(text).read()
    except ValidationError:
        raise ImplementationError(f"{target.id}: its process gave an answer that is no evidence") from None


def _target(visit: _Visit, target: TargetTable, line: int | None, sought: Sought) -> tuple[Finding, Sought]:
    config, path = visit.config, visit.path
    seed, file = claim_seed(config.seed, "target", target.id), _seen(path.parent, path.name)
    try:
        evidence, sought = _evidence(visit, target, seed, sought)
    except LdpauditError as error:
        again = f"ldpaudit check {shlex.quote(str(path.parent))}"  # `audit` would end as the code does
        return Finding(target.id, None, "error", f"{target.callable}: {error}", file, line, again), sought
    now = TargetRow(
        refuted=evidence.refutes(target.epsilon), epsilon=float(target.epsilon), delta=float(target.delta),
        callable=target.callable, inputs=[repr(x) for x in target.inputs], form=target.form,
        neighbours=str(REPLACE_ONE), trials=config.trials, confidence=config.confidence,
    )  # fmt: skip
    before = visit.baseline.targets.get(target.id)
    worse = target_regression(before, now)
    given = " ".join(shlex.quote(json.dumps(x, default=str)) for x in target.inputs)
    command = (
        f"{_there(path.parent)}ldpaudit audit {shlex.quote(target.callable)} --inputs {given} --epsilon {float(target.epsilon)!r}"
        f" --delta {float(target.delta)!r} --trials {config.trials} --confidence {config.confidence} --seed {seed}"
    )
    bound = f"epsilon >= {show_down(evidence.epsilon_lower)} with confidence {config.confidence:g}"
    seen = "" if now.refuted else f"; {evidence.resolution}"
    message = f"{target.callable} claims epsilon = {float(target.epsilon):g}: measured {bound}{worse}{seen}"
    problem = "regressed" if worse else None
    if now.refuted != (target.expect == "refuted"):
        problem = "refuted" if now.refuted else "not as recorded"
    outcome = Outcome.REFUTED if now.refuted else Outcome.UNDECIDED
    if not now.refuted and evidence.lacks(now.epsilon) > 1:
        views = f"{config.trials:,} refute it of no code, whatever it shows"
        problem, message = "error", f"{target.callable} claims epsilon = {float(target.epsilon):g}: needs more trials, {views}"
    if target.form != str(Form.RAW):  # `audit` looks at another form only of what it has refuted
        command = f"ldpaudit check {shlex.quote(str(path.parent))}"
    if problem == "regressed":
        command = _compared(path.parent, config)
    was = visit.was(target_words(before) if before else "")
    found = Finding(target.id, outcome, problem, message, file, line, command, None, now, was, target_words(now))
    return found, sought


def _gone(findings: Sequence[Finding], visit: _Visit) -> Iterator[Finding]:
    """What the baseline has and nobody claims any more: a claim that is renamed or deleted must not pass."""
    if any(f.problem == "error" for f in findings):
        return  # its claims may be what is missing
    there = {f.id for f in findings}
    folder, again = visit.folder, _compared(visit.folder, visit.config)
    drop = f"{again} --update-baseline"
    claims = [(name, "claim", claim_words(row)) for name, row in visit.baseline.claims.items()]
    targets = [(name, "target", target_words(row)) for name, row in visit.baseline.targets.items()]
    for name, kind, was in (*claims, *targets):
        if name not in there:
            message = f"the baseline has the {kind} {name}, and the gate has none of this name; to drop it on purpose: {drop}"
            file = _seen(folder, str(visit.config.baseline))
            yield Finding(name, None, "gone", message, file, None, again, was=was, now="claimed no longer")
