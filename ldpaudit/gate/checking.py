"""The gate of a build: many deployments and targets against a policy and a baseline."""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from pydantic import ValidationError

from ldpaudit.certificates import verification
from ldpaudit.certificates.certificate import Certificate, ClaimRecord, EvidenceRecord
from ldpaudit.certificates.certify import claim_seed
from ldpaudit.certificates.parallel import Asked, ask, here, require_ids, require_no_code
from ldpaudit.enclosure import show_down
from ldpaudit.errors import DeploymentError, ImplementationError, LdpauditError, in_a_line
from ldpaudit.evidence import Evidence, Form
from ldpaudit.files.toml import line_of, read_text
from ldpaudit.gate.cache import Cache, key_of, program
from ldpaudit.gate.config import CONFIG as CONFIG, TABLE, Config as Config, TargetTable, find_config as find_config
from ldpaudit.gate.findings import (
    NOTHING,
    Baseline,
    CacheUse,
    ClaimRow,
    Finding as Finding,
    Gate as Gate,
    TargetRow,
    baseline_of as baseline_of,
    claim_regression,
    claim_words,
    read_baseline,
    target_regression,
    target_words,
    uncompared,
)
from ldpaudit.gate.measuring import measure
from ldpaudit.neighbours import REPLACE_ONE
from ldpaudit.verdict import Outcome
from ldpaudit.workers.worker_processes import Crew, Task


@dataclass(frozen=True, slots=True)
class _Known:
    """What the cache has of a deployment."""

    key: str = ""  # digest of everything that its certificate depends on; empty where the cache takes no part
    certificate: Certificate | None = None  # the one from before
    remark: str = ""  # what went wrong with the entry, in a clause


@dataclass(frozen=True, slots=True)
class _Visit:
    """What all findings of one run of the gate share."""

    folder: Path
    path: Path
    config: Config
    baseline: Baseline
    cache: Cache | None
    crew: Crew

    def was(self, words: str) -> str | None:
        """What the baseline has of a claim, in words: none where it has no such claim; None where there is no baseline."""
        return words if self.config.baseline else None


def check(
    folder: Path, config: Config, path: Path, progress: Callable[[str], None] | None = None, cache: Cache | None = None
) -> Gate:
    """Every deployment and target of a configuration, against its policy and its baseline.

    Code of the user's runs in a process of its own for each target, and for each deployment that names an implementation; the
    folder comes first on the import path there, and there alone.
    What cannot be checked is a finding too.

    ``folder``: what the configuration's paths are relative to; ``config``: from `find_config`; ``path``: the
    configuration's file; ``progress``: called with each id as its turn comes; ``cache``: where certificates of
    deployments without code are kept; None where all is done anew. Raises DeploymentError where the baseline is not
    what it should be, a pattern matches no file, two deployments have one id, or code is named and the configuration
    says ``no-import``.
    """
    asked = [(file, ask(file)) for file in _files(folder, config, path)]
    require_ids([each for _, each in asked])
    if config.no_import:
        for index, target in enumerate(config.targets):
            needs = f"must not name code with --no-import, got {target.callable!r}"
            raise DeploymentError(needs, str(path), _target_line(path, index), "targets")
        require_no_code([each for _, each in asked])
    baseline = read_baseline(folder / config.baseline) if config.baseline else NOTHING
    # All of it before any code of the user's runs, which could write what is then read.
    known = [_known(cache, each, config) for _, each in asked]
    findings: list[Finding] = []
    with Crew(first=[str(folder.resolve())]) as crew:
        visit = _Visit(folder, path, config, baseline, cache, crew)
        for place, (file, each) in enumerate(asked):
            if progress is not None:
                progress(file.name)
            found, known[place] = _deployment(visit, file, each, known[place])
            findings += found
        for index, target in enumerate(config.targets):
            if progress is not None:
                progress(target.id)
            findings.append(_target(visit, target, _target_line(path, index)))
    use = None
    if cache is not None:  # how much of the work it has spared; targets are code, and run each time
        seen = [(_shown(file, folder), each) for (file, _), each in zip(asked, known, strict=True)]
        anew = (*(name for name, each in seen if not each.certificate), *(target.id for target in config.targets))
        remarks = tuple(f"{name}: {each.remark}" for name, each in seen if each.remark)
        use = CacheUse(tuple(name for name, each in seen if each.certificate), anew, remarks)
    missing = uncompared(baseline if config.baseline else None)
    missing = missing if path.exists() else " and ".join(filter(None, ["no configuration", missing]))
    return Gate((*findings, *_gone(findings, visit)), config.baseline, use, missing)


def _known(cache: Cache | None, asked: Asked | LdpauditError, config: Config) -> _Known:
    """What the cache has; of a deployment that runs code of the user's, or another package's, nothing is looked for or kept."""
    if cache is None or not isinstance(asked, Asked) or asked.deployment.runs_code:
        return _Known()
    whole, settings = asked.deployment, (config.seed, config.trials, config.confidence)
    key = key_of(["certificate", whole.text, verification.embedded(whole), *settings, program()])
    try:
        text = cache.read(key)
        return _Known(key, None if text is None else Certificate.from_json(text, "its entry"))
    except LdpauditError as error:  # an entry that is damaged is made again
        return _Known(key, None, f"{error}; it was computed again")


def _target_line(path: Path, index: int) -> int | None:
    return line_of(read_text(path), [*(() if path.name == CONFIG else TABLE), "targets", index, "id"])


def _files(folder: Path, config: Config, path: Path) -> list[Path]:
    """Each file once, whatever number of patterns match it."""
    files: dict[Path, None] = {}
    for pattern in config.deployments:
        try:
            found = sorted(folder.glob(pattern))
        except (NotImplementedError, ValueError, IndexError, OSError):  # what pathlib says of absolute, empty and endless patterns
            raise DeploymentError(f"needs relative patterns, got {pattern!r:.60}", str(path), None, "deployments") from None
        if not found:
            raise DeploymentError(f"needs a file that matches {pattern!r}, got none", str(path), None, "deployments")
        files |= dict.fromkeys(found)
    return list(files)


def _shown(file: Path, folder: Path) -> str:
    return str(file.relative_to(folder)) if file.is_relative_to(folder) else str(file)


def _deployment(visit: _Visit, file: Path, asked: Asked | LdpauditError, known: _Known) -> tuple[list[Finding], _Known]:
    folder, config = visit.folder, visit.config
    shown = _shown(file, folder)
    command = (
        f"{_there(folder)}ldpaudit certify {shlex.quote(shown)} --seed {config.seed} --trials {config.trials}"
        f" --confidence {config.confidence}"
    )
    try:
        certificate = known.certificate or _certificate(visit, asked)
    except LdpauditError as error:
        line = error.line if isinstance(error, DeploymentError) else None
        return [Finding(shown, None, "error", in_a_line(error), _seen(folder, shown), line, command)], known
    implementation = asked.deployment.implementation if isinstance(asked, Asked) else None
    findings = []
    for index, claim in enumerate(certificate.claims):
        line = line_of(certificate.deployment, ["claims", index, "id"])
        found = _claim(claim, f"{certificate.id}/{claim.id}", implementation, visit)
        # Only the gate knows what was before.
        others = {"undecided": f"{command} --require-decision", "regressed": _compared(folder, config), None: command}
        reproduce = others.get(found.problem, command)
        findings.append(replace(found, file=_seen(folder, shown), line=line, reproduce=reproduce))
    return findings, known if known.certificate else _kept(visit.cache, known, certificate)


def _certificate(visit: _Visit, asked: Asked | LdpauditError) -> Certificate:
    """Made now; by a process of its own where that runs code of the user's."""
    if not isinstance(asked, Asked):
        raise asked
    config = visit.config
    if asked.deployment.implementation is not None:
        text = visit.crew.do(asked.task(config.seed, config.trials, config.confidence, config.patience))
        return Certificate.from_json(str(text), asked.name)
    found = here(asked, config.seed, config.trials, config.confidence)
    if isinstance(found, LdpauditError):
        raise found
    return found


def _kept(cache: Cache | None, known: _Known, certificate: Certificate) -> _Known:
    """A certificate that was made now is kept for the next time; that it cannot be is no reason for a build to fail."""
    try:
        if cache is not None and known.key:
            cache.write(known.key, certificate.to_json())
    except (LdpauditError, OSError) as error:
        return replace(known, remark=f"it is not cached: {error}")
    return known


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


def _evidence(visit: _Visit, target: TargetTable, seed: int) -> Evidence:
    claimed = (target.callable, target.inputs, target.epsilon, target.delta)
    # A first report that takes longer than usual is waited for where the configuration says how long.
    patience = visit.config.patience if "patience" in visit.config.model_fields_set else None
    how = (visit.config.trials, visit.config.confidence, seed, target.form, str(visit.folder.resolve()), target.support, patience)
    text = visit.crew.do(Task(target.id, measure, (*claimed, *how), visit.config.patience))
    try:
        return EvidenceRecord.model_validate_json(str(text)).read()
    except ValidationError:
        raise ImplementationError(f"{target.id}: its process returned something other than evidence") from None


def _target(visit: _Visit, target: TargetTable, line: int | None) -> Finding:
    config, path = visit.config, visit.path
    seed, file = claim_seed(config.seed, "target", target.id), _seen(path.parent, path.name)
    try:
        evidence = _evidence(visit, target, seed)
    except LdpauditError as error:
        again = f"ldpaudit check {shlex.quote(str(path.parent))}"  # `audit` would end as the code does
        return Finding(target.id, None, "error", f"{target.callable}: {error}", file, line, again)
    now = TargetRow(
        refuted=evidence.refutes(target.epsilon), epsilon=float(target.epsilon), delta=float(target.delta),
        callable=target.callable, inputs=[repr(x) for x in target.inputs], form=target.form,
        support=target.support, neighbours=str(REPLACE_ONE), trials=config.trials, confidence=config.confidence,
    )  # fmt: skip
    before = visit.baseline.targets.get(target.id)
    worse = target_regression(before, now)
    given = " ".join(shlex.quote(json.dumps(x, default=str)) for x in target.inputs)
    command = (
        f"{_there(path.parent)}ldpaudit audit {shlex.quote(target.callable)} --inputs {given} --epsilon {float(target.epsilon)!r}"
        f" --delta {float(target.delta)!r} --trials {config.trials} --confidence {config.confidence} --seed {seed}"
        f"{'' if target.support is None else f' --support {target.support}'}"
    )
    bound = f"epsilon >= {show_down(evidence.epsilon_lower)} with confidence {config.confidence:g}"
    seen = "" if now.refuted else f"; {evidence.resolution}"
    message = f"{target.callable} claims epsilon = {float(target.epsilon):g}: measured {bound}{worse}{seen}"
    problem = "regressed" if worse else None
    if now.refuted != (target.expect == "refuted"):
        problem = "refuted" if now.refuted else "not as recorded"
    outcome = Outcome.REFUTED if now.refuted else Outcome.UNDECIDED
    if not now.refuted and evidence.lacks(now.epsilon) > 1:
        views = f"{config.trials:,} are too few to refute it, whatever the code does"
        problem, message = "error", f"{target.callable} claims epsilon = {float(target.epsilon):g}: needs more trials, {views}"
    if target.form != str(Form.RAW):  # `audit` looks at another form only of what it has refuted
        command = f"ldpaudit check {shlex.quote(str(path.parent))}"
    if problem == "regressed":
        command = _compared(path.parent, config)
    was = visit.was(target_words(before) if before else "")
    return Finding(target.id, outcome, problem, message, file, line, command, None, now, was, target_words(now))


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
            message = f"the baseline has the {kind} {name}, but the gate has none of this name; to drop it on purpose: {drop}"
            file = _seen(folder, str(visit.config.baseline))
            yield Finding(name, None, "gone", message, file, None, again, was=was, now="claimed no longer")
