"""Many deployments on many cores: the same certificates in the same order for any number of processes; and their date."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpaudit.certificates.certificate import Certificate
from ldpaudit.certificates.certify import certify
from ldpaudit.certificates.exhibits import Exhibit, exhibits
from ldpaudit.core.refusal import repeated
from ldpaudit.errors import DeploymentError, LdpauditError
from ldpaudit.files import bundled
from ldpaudit.files.deployment import Deployment, among, load, loads
from ldpaudit.files.toml import line_of
from ldpaudit.mechanisms.shared.files import File
from ldpaudit.workers.worker_processes import PATIENCE, Crew, Task


@dataclass(frozen=True, slots=True)
class Asked:
    """A deployment file as it was read, once."""

    name: str  # the file, for errors
    deployment: Deployment  # what it says

    def task(self, seed: int, trials: int, confidence: float, patience: float = PATIENCE) -> Task:
        """Its certificate, as work for another process; the code that it names is waited for with patience."""
        arguments = (self.deployment.text, self.name, seed, trials, confidence, self.deployment.files)
        return Task(self.name, certify_text, arguments, patience if self.deployment.implementation else None)


def certify_text(text: str, name: str, seed: int, trials: int, confidence: float, files: tuple[File, ...] = ()) -> str:
    """The certificate of a deployment file's text, and of the files that it names, in JSON."""
    return certify(loads(text, name, among(files)), seed=seed, trials=trials, confidence=confidence).to_json()


def ask(path: Path) -> Asked | LdpauditError:
    """What the file, or the bundled deployment of this id, says; or, as a value, why it is no deployment file."""
    file = path
    try:
        file = bundled.found(path)
        return Asked(str(file), load(file))
    except (LdpauditError, ValueError) as error:
        return error if isinstance(error, LdpauditError) else LdpauditError(f"{file}: {error}")


def require_ids(asked: Sequence[Asked | LdpauditError]) -> None:
    """Refuse two deployments of one id: their certificates would be one file, and their claims one name.

    Raises DeploymentError where an id occurs twice; the error names the second file.
    """
    known = [each for each in asked if isinstance(each, Asked)]
    seen: list[str] = []
    for each in known:
        seen.append(each.deployment.id)
        if repeated(seen) is not None:
            line = line_of(each.deployment.text, ["id"])
            first = next(other.name for other in known if repeated([other.deployment.id, each.deployment.id]) is not None)
            raise DeploymentError(f"needs a unique id, got {each.deployment.id!r} twice, as in {first}", each.name, line, "id")


def require_no_code(asked: Sequence[Asked | LdpauditError]) -> None:
    """Refuse deployments that name code to be run.

    Raises DeploymentError where a deployment names code; the error names the first such file.
    """
    for each in asked:
        if isinstance(each, Asked) and (code := each.deployment.implementation):
            line = line_of(each.deployment.text, ["implementation", "callable"])
            raise DeploymentError(f"must not name code with --no-import, got {code!r}", each.name, line, "implementation")


def certify_all(
    asked: Sequence[Asked | LdpauditError],
    seed: int,
    trials: int,
    confidence: float,
    jobs: int | None = None,
    patience: float = PATIENCE,
) -> Iterator[Certificate | LdpauditError]:
    """Certificates of deployment files, in their order; where there is none, as a value, the error that says why."""
    known = [each for each in asked if isinstance(each, Asked)]
    size = max(min(jobs or os.cpu_count() or 1, len(known)), 1)
    code = any(each.deployment.implementation for each in known)
    with Crew(size, first=[str(Path.cwd())] if code else []) as crew:  # where code is looked for, and there alone
        if size == 1 and not code:
            found: Iterator[Certificate | LdpauditError] = (here(each, seed, trials, confidence) for each in known)
        else:
            made = crew.each([each.task(seed, trials, confidence, patience) for each in known])
            found = (_read(each, answer) for each, answer in zip(known, made, strict=True))
        for each in asked:
            yield next(found) if isinstance(each, Asked) else each


def _read(each: Asked, answer: Any) -> Certificate | LdpauditError:
    try:
        return answer if isinstance(answer, LdpauditError) else Certificate.from_json(str(answer), each.name)
    except LdpauditError as error:
        return error


def exhibit_all(certificates: Sequence[Certificate], jobs: int | None = None) -> Iterator[Mapping[str, Exhibit]]:
    """What their pages show beside the record, in their order; nothing that a deployment names is run.

    Raises LdpauditError where the accountants fail on what they have certified before.
    """
    size = max(min(jobs or os.cpu_count() or 1, len(certificates)), 1)
    if size == 1:
        yield from map(exhibits, certificates)
        return
    with Crew(size) as crew:
        for found in crew.each([Task(each.id, exhibits, (each,), pickled=True) for each in certificates]):
            if isinstance(found, LdpauditError):
                raise found
            yield found


def here(each: Asked, seed: int, trials: int, confidence: float) -> Certificate | LdpauditError:
    """Its certificate, made in this process, or the error that says why there is none; for what names no code."""
    try:
        return certify(each.deployment, seed=seed, trials=trials, confidence=confidence)
    except (LdpauditError, ValueError) as error:
        text = str(error)
        return LdpauditError(text if text.startswith(each.name) else f"{each.name}: {text}")


_GIT = ("git", "--no-pager", "-c", "log.showSignature=false", "-c", "core.fsmonitor=false", "log", "-1", "--format=%cs")
"""What a stranger's configuration could have run is switched off."""
_PATIENCE = 10  # seconds for an answer


def last_commit(folder: Path) -> str:
    """The date of the last commit of the repository that a folder is in, as 2026-01-31; empty where there is none."""
    try:
        done = subprocess.run(_GIT, cwd=folder, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
