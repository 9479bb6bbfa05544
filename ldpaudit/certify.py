"""The main road: a deployment in, a certificate out. The only module that sees accountants, attacks and proofs."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from ldpaudit import verification
from ldpaudit.accountants import account
from ldpaudit.attacks import audit, recheck
from ldpaudit.certificate import Certificate, ClaimRecord, EnclosureRecord, EvidenceRecord, ProofRecord, WitnessRecord
from ldpaudit.claim import Claim
from ldpaudit.deployment import Deployment, load
from ldpaudit.derivation import Derivation, derive
from ldpaudit.enclosure import Enclosure, round_up
from ldpaudit.errors import Unsupported
from ldpaudit.evidence import Evidence
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Plan, Shuffle, of_one_user
from ldpaudit.profile import Witness
from ldpaudit.remembered import remembered
from ldpaudit.risk import Risk, of_plan
from ldpaudit.verdict import Outcome, Verdict, judge
from ldpaudit.version import __version__

TRIALS = 200_000
"""Default views per claim."""
CONFIDENCE = 0.999
"""Default confidence a claim: a certificate has several, and a false refutation is a scandal."""


def certify(
    deployment: str | Path | Deployment,
    *,
    seed: int = 0,
    trials: int = TRIALS,
    confidence: float = CONFIDENCE,
    progress: Callable[[str], None] | None = None,
) -> Certificate:
    """Account, attack and prove every claim of a deployment, and judge.

    Parameters
    ----------
    deployment : str, Path or Deployment
        The file, or what `ldpaudit.deployment.load` made of it.
    seed : int
        Every claim's samples derive from it and from the claim's id.
    trials : int
        Views per claim.
    confidence : float
        Of the evidence on each claim.
    progress : callable or None
        Called with each claim's id as its turn comes.

    Returns
    -------
    Certificate

    Raises
    ------
    DeploymentError
        Where the file is not a deployment file.
    ImplementationError
        Where the audited code raises, hangs or returns what it never may.
    """
    whole = deployment if isinstance(deployment, Deployment) else load(deployment)
    implementation = _implementation(whole)
    records = []
    for claim in whole.claims:
        if progress is not None:
            progress(claim.id)
        child = claim_seed(seed, whole.id, claim.id)
        witness = _witness(claim)
        evidence = _attempt(partial(_evidence, claim, witness, implementation, child, trials, confidence))
        records.append(_record(claim, evidence, witness, audited=implementation is not None))
    return _certificate(whole, tuple(records), seed, trials, confidence)


def claim_seed(seed: int, deployment: str, claim: str) -> int:
    """The seed of a claim's samples: it depends on names, never on the order of work."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{deployment}/{claim}".encode()).digest()[:8], "big")


def _implementation(deployment: Deployment) -> Callable[..., Any] | None:
    if deployment.implementation is None:
        return None
    found: Callable[..., Any] = import_module("ldpaudit.adapters.callables").resolve(deployment.implementation)
    return found


def _attempt(stage: Callable[[], Any]) -> Any:
    """What a stage says, or the `Unsupported` that it raises: a value for the certificate to print."""
    try:
        return stage()
    except Unsupported as limit:
        return limit


@remembered
def _epsilon(plan: Plan, neighbours: Neighbours, delta: Fraction) -> Enclosure:
    """The certified epsilon: of a shuffled plan it takes seconds, and every stage asks for it."""
    return account(plan, neighbours).epsilon(delta)


def _witness(claim: Claim) -> Witness | None:
    """What attains the lower end of epsilon at the claim's delta, where the plan's attack can play it: data sets of users."""
    if not isinstance(claim.plan, Shuffle):
        return None
    try:
        profile = account(claim.plan, claim.neighbours)
        low = _epsilon(claim.plan, claim.neighbours, claim.delta).low
        return profile.witness(low) if 0 < low < float("inf") else None
    except Unsupported:
        return None


def _evidence(
    claim: Claim, witness: Witness | None, implementation: Any, seed: int, trials: int, confidence: float
) -> Evidence:
    claim = _asked(claim)
    found: Evidence = audit(
        claim.plan,
        epsilon=float(claim.epsilon or 0),
        # A delta below the claim's would say nothing of it.
        delta=round_up(claim.delta),
        neighbours=claim.neighbours,
        implementation=implementation,
        witness=witness,
        trials=trials,
        confidence=confidence,
        seed=seed,
    )
    return found


def _asked(claim: Claim) -> Claim:
    """The claim that is tested: of a question, that of its answer."""
    if claim.epsilon is not None:
        return claim
    return replace(claim, epsilon=_answer(_epsilon(claim.plan, claim.neighbours, claim.delta)))


def _answer(e: Enclosure) -> Fraction:
    """The claim that a question stands for: the certified value."""
    if e.high == float("inf"):
        raise Unsupported("the question", "its answer is infinite: no epsilon holds at this delta")
    return Fraction(e.high)


def _record(
    claim: Claim, evidence: Evidence | Unsupported | None, witness: Witness | None, audited: bool
) -> ClaimRecord:
    enclosure = _attempt(partial(_epsilon, claim.plan, claim.neighbours, claim.delta))
    proof = _attempt(lambda: _derived(claim))
    risk = _attempt(partial(of_plan, claim.plan, claim.neighbours))
    limits = [str(x) for x in (enclosure, evidence, proof) if isinstance(x, Unsupported)]
    enclosures = [enclosure] if isinstance(enclosure, Enclosure) else []
    seen = [evidence] if isinstance(evidence, Evidence) else []
    proofs = [proof] if isinstance(proof, Derivation) else []
    verdict = _verdict(claim, enclosures, seen, proofs, audited)
    if verdict.code_differs:
        enclosures, proofs, risk = [], [], None
    return ClaimRecord(
        id=claim.id,
        sentence=str(claim),
        plan=str(claim.plan),
        epsilon=None if claim.epsilon is None else str(claim.epsilon),
        delta=str(claim.delta),
        neighbours=str(claim.neighbours),
        unit=claim.unit,
        source=claim.source,
        expect=claim.expect,  # type: ignore[arg-type]
        verdict=verdict.outcome,
        reason=verdict.reason,
        enclosure=EnclosureRecord.of(enclosures[0]) if enclosures else None,
        evidence=EvidenceRecord.of(seen[0]) if seen else None,
        proofs=tuple(
            ProofRecord(
                theorem=p.theorem, epsilon=p.epsilon.high, steps=p.steps, assumes=p.assumes, admissions=p.admissions
            )
            for p in proofs
        ),
        unsupported=tuple(limits),
        witness=None if witness is None else WitnessRecord.of(witness),
        epsilon_number=None if claim.epsilon is None else float(claim.epsilon),
        delta_number=float(claim.delta),
        risk=risk.record if isinstance(risk, Risk) else None,
        assumptions=claim.assumptions if verdict.outcome is Outcome.ASSUMED else () if verdict.code_differs else claim.axioms,
        code_differs=verdict.code_differs,
    )


def _derived(claim: Claim) -> Derivation:
    """What the proofs imply for a claim; for a group of users, for as many runs."""
    plan, relation = of_one_user(claim.plan, claim.neighbours)
    return derive(plan, (relation or claim.neighbours).kind)


def _verdict(
    claim: Claim,
    enclosures: Sequence[Enclosure],
    evidence: Sequence[Evidence],
    proofs: Sequence[Derivation],
    audited: bool,
) -> Verdict:
    """The judge's; a question is judged as the claim of its own certified answer."""
    if claim.epsilon is None:
        if not enclosures or enclosures[0].high == float("inf"):
            known = "no finite epsilon is certified"
            if enclosures and enclosures[0].low == float("inf"):
                known = f"no finite epsilon holds, by {enclosures[0].source}"
            return Verdict(Outcome.UNDECIDED, known)
        claim = replace(claim, epsilon=_answer(enclosures[0]))
    return judge(claim, enclosures, evidence, proofs, audited=audited)


def _certificate(
    whole: Deployment, records: tuple[ClaimRecord, ...], seed: int, trials: int, confidence: float
) -> Certificate:
    return Certificate(
        id=whole.id,
        title=whole.title,
        note=whole.note,
        sources=whole.sources,
        deployment=whole.text,
        versions=versions(),
        seed=seed,
        trials=trials,
        confidence=confidence,
        claims=records,
        files=verification.embedded(whole),
    )


def versions() -> dict[str, str]:
    """Of everything that numbers depend on."""
    libraries = {name: metadata.version(name) for name in verification.LIBRARIES}
    return {"ldpaudit": __version__, "python": platform.python_version(), **libraries}


def verify(certificate: Certificate) -> list[str]:
    """Re-check a certificate without sampling: what differs, in sentences; nothing where all stands.

    The deployment is parsed again, its plans accounted and proved again, everything in the evidence that the counts do not
    decide is derived again, and every claim judged again. Nothing that the deployment names is imported.

    Parameters
    ----------
    certificate : Certificate
        As `Certificate.load` reads it.

    Returns
    -------
    list of str
        One sentence for each difference; empty where the certificate stands.

    Raises
    ------
    DeploymentError
        Where the certificate embeds no deployment file.
    """
    whole = verification.deployment_of(certificate)
    if found := verification.of_the_whole(certificate, whole):
        return found
    claims = zip(whole.claims, certificate.claims, strict=True)
    return [line for claim, written in claims for line in _verify_claim(certificate, whole, claim, written)]


def _verify_claim(certificate: Certificate, whole: Deployment, claim: Claim, written: ClaimRecord) -> list[str]:
    evidence, witness = written.evidence.read() if written.evidence else None, _witness(claim)
    child = claim_seed(certificate.seed, whole.id, claim.id)
    sayings = [*verification.of_the_seed(written.evidence, child, whole.implementation is not None),
               *verification.of_the_words(written.evidence)]  # fmt: skip
    found = []
    for code in verification.stand_ins(whole, claim):
        lines = _attempt(partial(_recheck, evidence, claim, witness, code, certificate.trials, certificate.confidence))
        limit = lines if isinstance(lines, Unsupported) else None
        if limit is not None:
            lines = [f"it needs no evidence, since {limit}"] if evidence else []
        again = _record(claim, limit or evidence, witness, audited=code is not None)
        evident = [f"{claim.id}: {line}" for line in (*lines, *sayings)]
        found.append([*evident, *verification.of_a_claim(claim, written, again)])
    return min(found, key=len)


def _recheck(
    evidence: Evidence | None, claim: Claim, witness: Witness | None, code: Any, trials: int, confidence: float
) -> list[str]:
    asked = _asked(claim)
    return recheck(
        evidence,
        asked.plan,
        epsilon=float(asked.epsilon or 0),
        delta=round_up(asked.delta),
        neighbours=asked.neighbours,
        implementation=code,
        witness=witness,
        trials=trials,
        confidence=confidence,
    )


def resample(certificate: Certificate) -> list[str]:
    """Draw a certificate's samples again: where the evidence differs, in sentences. Runs the code that it names.

    Parameters
    ----------
    certificate : Certificate
        As `Certificate.load` reads it.

    Returns
    -------
    list of str
        One sentence for each difference between the recorded evidence and that of fresh samples; empty where they agree.

    Raises
    ------
    Unsupported
        Where the code draws from a source of its own: nobody can draw its samples again.
    ImplementationError
        Where the code cannot be imported, raises, hangs or returns what it never may.
    """
    whole = verification.deployment_of(certificate)
    code = _implementation(whole)
    if code is not None and not import_module("ldpaudit.attacks.engine.reproducible").takes_rng(code):
        raise Unsupported(whole.implementation, "draws from a source of its own, so its samples cannot be drawn again")
    again = certify(whole, seed=certificate.seed, trials=certificate.trials, confidence=certificate.confidence)
    return verification.of_the_samples(certificate, again)
