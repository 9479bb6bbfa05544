"""A certificate, held against everything that can be derived again: what differs, in sentences.

docs/security.md says what this promises, and what it cannot. Nothing is sampled here, and nothing that a deployment names is
imported: what the accountants, the attacks and the proofs say again is the business of certify.py, which is the only one to
see them all.
"""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ldpaudit.certificates.certificate import Certificate, ClaimRecord, EvidenceRecord
from ldpaudit.claim import Claim
from ldpaudit.core.strict_json import read_bytes, shown
from ldpaudit.errors import DeploymentError
from ldpaudit.files.deployment import Deployment, among, load, loads
from ldpaudit.files.toml import LARGEST_FILE
from ldpaudit.mechanisms.shared.files import File
from ldpaudit.plan import Aggregate, Shuffle
from ldpaudit.workers.experiment import LEAST

MOST_TRIALS = 10**15  # views that nobody draws; all counts up to it are exact as floats
MOST_WORDS = 100  # characters of a version that a certificate names, at most
LIBRARIES = ("numpy", "scipy", "sympy", "python-flint")  # what numbers depend on besides ldpaudit and Python

Stand = Callable[..., Any]


def deployment_of(certificate: Certificate) -> Deployment:
    """The deployment file inside a certificate. Raises DeploymentError where the certificate embeds none."""
    name = f"{shown(certificate.id)} (inside the certificate)"
    if (size := len(certificate.deployment.encode())) > LARGEST_FILE:
        raise DeploymentError(f"needs a file of at most {LARGEST_FILE} bytes, got {size}", name)
    try:
        files = [File(file, base64.b64decode(content, validate=True)) for file, content in certificate.files.items()]
    except ValueError as error:
        raise DeploymentError(f"needs files in base64: {error}", name) from None
    return loads(certificate.deployment, name, among(files))


def embedded(whole: Deployment) -> dict[str, str]:
    """The files that a deployment file names, as a certificate embeds them."""
    return {file.name: base64.b64encode(file.content).decode("ascii") for file in whole.files}


def of_the_whole(certificate: Certificate, whole: Deployment) -> list[str]:
    """What a certificate says of its deployment, and of how it was made, that is not so."""
    found = [
        f"{name} is {shown(ours)}, not {shown(theirs)}"
        for name in ("id", "title", "note", "sources")
        if (ours := getattr(whole, name)) != (theirs := getattr(certificate, name))
    ]
    if [c.id for c in whole.claims] != [c.id for c in certificate.claims]:
        found.append("its claims are not those of its deployment file")
    if embedded(whole) != certificate.files:
        found.append("its files are not those that its deployment file names")
    return [*found, *_out_of_range(certificate)]


def _out_of_range(certificate: Certificate) -> Iterator[str]:
    if not LEAST <= certificate.trials <= MOST_TRIALS:
        yield f"it needs {LEAST} <= trials <= {MOST_TRIALS}, got {certificate.trials}"
    if not 0 < certificate.confidence < 1:
        yield f"it needs 0 < confidence < 1, got {certificate.confidence}"
    if certificate.seed < 0:
        yield f"it needs seed >= 0, got {certificate.seed}"
    versions = certificate.versions
    if set(versions) != {"ldpaudit", "python", *LIBRARIES} or max(map(len, versions.values())) > MOST_WORDS:
        yield f"it needs the versions of ldpaudit, python, {', '.join(LIBRARIES)}, got {shown(versions)}"


def of_a_claim(claim: Claim, written: ClaimRecord, again: ClaimRecord) -> list[str]:
    """Where a claim's record differs from the one that is made again of the same evidence."""
    return [
        f"{claim.id}: {field} is {shown(ours)}, not {shown(theirs)}"
        for field in ClaimRecord.model_fields
        if field != "evidence" and (ours := getattr(again, field)) != (theirs := getattr(written, field))
    ]


def of_the_evidence(written: EvidenceRecord, seed: int, implemented: bool) -> Iterator[str]:
    """Its seed, and the sentence that it says of itself."""
    # Only code that is not ours may draw from a source of its own, and have no seed.
    if written.seed != seed and not (implemented and written.seed is None):
        yield f"its evidence needs the seed of this claim, {seed}, got {written.seed}"
    if written.resolution != (said := written.read().resolution):
        yield f"its evidence says {said!r}, not {shown(written.resolution)!r}"


def stand_ins(whole: Deployment, claim: Claim) -> tuple[Stand | None, ...]:
    """For code that is not imported, one callable of each form that it may have, where the audit depends on that."""
    if whole.implementation is None:
        return (None,)
    many_reports, one_report = (lambda x, size, rng: None), (lambda x: None)  # never called
    return (many_reports, one_report) if isinstance(claim.plan, Shuffle | Aggregate) else (many_reports,)


def of_the_samples(certificate: Certificate, again: Certificate) -> list[str]:
    """Where the evidence differs from that of the same certificate, drawn again."""
    return [
        f"{written.id}: {line}"
        for written, drawn in zip(certificate.claims, again.claims, strict=True)
        for line in _of_evidence(written.evidence, drawn.evidence)
    ]


def _of_evidence(written: EvidenceRecord | None, drawn: EvidenceRecord | None) -> Iterator[str]:
    if written is None or drawn is None:
        if written is not drawn:
            yield "its samples, drawn again, give evidence" if drawn else "its samples, drawn again, give no evidence"
        return
    for field in EvidenceRecord.model_fields:
        if (ours := getattr(drawn, field)) != (theirs := getattr(written, field)):
            yield f"its samples, drawn again, give {field} {shown(ours)}, not {shown(theirs)}"


def of_the_source(certificate: Certificate, path: str | Path) -> list[str]:
    """Whether the certificate embeds this deployment file, byte by byte.

    Raises DeploymentError where it cannot be read.
    """
    if read_bytes(path) != certificate.deployment.encode():
        return [f"its deployment file is not {shown(path)}"]
    beside = embedded(load(path))
    return [f"its file {shown(name)} is not the one beside {shown(path)}"
            for name, content in certificate.files.items() if beside.get(name) != content]  # fmt: skip
