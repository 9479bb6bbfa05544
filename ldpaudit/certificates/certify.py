"""The main road: a deployment in, a certificate out. The only module that sees accountants, attacks and proofs."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from importlib import import_module, metadata
from itertools import islice, permutations
from pathlib import Path
from typing import Any, TypeVar

from ldpaudit.accountants import account
from ldpaudit.attacks import audit, recheck
from ldpaudit.certificates import verification
from ldpaudit.certificates.certificate import (
    Certificate,
    ClaimRecord,
    EnclosureRecord,
    EvidenceRecord,
    ProofRecord,
    UnitRecord,
    WitnessRecord,
)
from ldpaudit.certificates.proof import Proof, prove
from ldpaudit.certificates.risk import Risk, of_plan
from ldpaudit.claim import Claim
from ldpaudit.core.cached import cached
from ldpaudit.core.number import brief, show, whole as integer
from ldpaudit.core.remembered import remembered
from ldpaudit.derivation import Derivation, derive
from ldpaudit.enclosure import Enclosure, round_up, show_down
from ldpaudit.errors import Unsupported
from ldpaudit.evidence import Evidence
from ldpaudit.files.deployment import Deployment, load
from ldpaudit.groups import of_one_user
from ldpaudit.mechanisms.shared.sums import in_rounds
from ldpaudit.neighbours import ADD_REMOVE, Neighbours
from ldpaudit.plan import Aggregate, Plan, Run, Shuffle
from ldpaudit.profile import DataSet, Witness
from ldpaudit.verdict import Outcome, Verdict, judge
from ldpaudit.version import __version__
from ldpaudit.workers.experiment import Experiment

TRIALS = 200_000  # default views per claim
CONFIDENCE = 0.999  # default confidence per claim: a certificate has several, and a false refutation is a scandal
_T = TypeVar("_T")


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
        The file, or what `ldpaudit.files.deployment.load` made of it.
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
    if not isinstance(deployment, str | Path | Deployment):
        raise TypeError(f"certify needs a deployment file or the id of a bundled one, got {brief(deployment)}")
    if integer(seed) is None or integer(trials) is None:  # known before any work is done
        raise TypeError(f"certify needs integers for seed and trials, got {brief(seed)} and {brief(trials)}")
    Experiment(trials, confidence, seed)  # refused here, and not of each claim
    whole = deployment if isinstance(deployment, Deployment) else load(deployment)
    records = []
    for case in cases(whole, seed, trials, confidence):
        if progress is not None:
            progress(case.claim.id)
        records.append(case.record(_attempt(case.measured)))
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
        claims=tuple(records),
        units=() if any(each.code_differs for each in records) else units(whole),
        files=verification.embedded(whole),
    )


def cases(whole: Deployment, seed: int, trials: int, confidence: float) -> list[Case]:
    """A deployment's claims, each with the code that it names; that code is imported here."""
    code = _implementation(whole)
    return [Case(claim, code, claim_seed(seed, whole.id, claim.id), trials, confidence) for claim in whole.claims]


def units(whole: Deployment) -> tuple[UnitRecord, ...]:
    """What each unit costs whose reports the file bounds; of shuffles and sums, which may take minutes, where claims ask.

    So do the parts of a composition, each by itself.
    """
    found = []
    for each in (*whole.units, *whole.parts):
        asked = any((claim.plan, claim.neighbours) == (each.plan, each.neighbours) for claim in whole.claims)
        cheap = asked or each in whole.parts or not _of_many(each.plan)
        epsilon = _attempt(partial(_epsilon, each.plan, each.neighbours, each.delta)) if cheap else None
        found.append(
            UnitRecord(
                unit=each.id,
                plan=str(each.plan),
                neighbours=str(each.neighbours),
                delta=str(each.delta),
                enclosure=EnclosureRecord.of(epsilon) if isinstance(epsilon, Enclosure) else None,
                assumptions=each.assumptions,
            )
        )
    return tuple(found)


def _of_many(plan: Plan) -> bool:
    """Whether views are made of the reports of several users anywhere in a plan."""
    if isinstance(plan, Run):
        return plan.mechanism.model not in ("local", "central")
    return isinstance(plan, Shuffle | Aggregate) or any(map(_of_many, plan.parts))


def _implementation(whole: Deployment) -> Callable[..., Any] | None:
    if whole.implementation is None:
        return None
    found: Callable[..., Any] = import_module("ldpaudit.adapters.callables").resolve(whole.implementation)
    return found


def claim_seed(seed: int, deployment: str, claim: str) -> int:
    """The seed of a claim's samples: it depends on names, never on the order of work."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{deployment}/{claim}".encode()).digest()[:8], "big")


def _attempt(stage: Callable[[], _T]) -> _T | Unsupported:
    """What a stage says, or the `Unsupported` that it raises: a value for the certificate to print."""
    try:
        return stage()
    except Unsupported as limit:
        return limit


@remembered
def _epsilon(plan: Plan, neighbours: Neighbours, delta: Fraction) -> Enclosure:
    """The certified epsilon: of a shuffled plan or a sum it takes seconds, and every stage asks for it."""
    return account(plan, neighbours).epsilon(delta)


@remembered
def _witness(plan: Plan, neighbours: Neighbours, delta: Fraction) -> Witness | None:
    if not isinstance(plan := in_rounds(plan), Shuffle | Aggregate):
        return None
    try:
        low = _epsilon(plan, neighbours, delta).low
        return account(plan, neighbours).witness(low) if 0 < low < math.inf else None
    except Unsupported:
        return None


_MOST_LOOKED_AT = 64  # inputs, each of whose laws is compared with every other's
_MOST_ENTRIES = 1 << 16  # of the laws together


@remembered
def impossible(plan: Plan, neighbours: Neighbours) -> Witness | None:
    """Two inputs of a part, and the views of one that are impossible on the other; None where none are known."""
    for leaf in plan.leaves():
        # Of a local mechanism any two inputs are neighbours; of data sets of several users not.
        if not isinstance(leaf, Run) or leaf.mechanism.model != "local" or neighbours.kind in ("pairs", "same-pattern", "group"):
            continue
        mechanism = leaf.mechanism
        inputs = [*islice(mechanism.inputs, _MOST_LOOKED_AT), *([None] if neighbours == ADD_REMOVE else [])]
        try:
            if len(inputs) * mechanism.law(inputs[0]).size > _MOST_ENTRIES:
                continue
            laws = [dict(mechanism.law(x).items()) for x in inputs]
        except (Unsupported, ValueError, TypeError):
            continue
        pairs = [(i, j) for i, j in permutations(range(len(laws)), 2) if neighbours != ADD_REMOVE or None in (inputs[i], inputs[j])]
        lost = {(i, j): [y for y, p in laws[i].items() if p and not laws[j].get(y)] for i, j in pairs}
        mass = {pair: sum(laws[pair[0]][y] for y in views) for pair, views in lost.items()}
        if mass and (most := max(mass.values())) > 0:
            i, j = next(pair for pair, each in mass.items() if each == most)
            first, second = (DataSet(((x, 1),) if x is not None else ()) for x in (inputs[i], inputs[j]))
            views = ", ".join(f"{y!s:.60}" for y in lost[i, j][:3]) + (", ..." if len(lost[i, j]) > 3 else "")
            event = f"views {views} have probability {show(most)} in the first, and are impossible in the second"
            return Witness(leaf, (first, second), event)
    return None


@dataclass(frozen=True)
class Case:
    """A claim, and everything that its verdict is made of."""

    claim: Claim  # one without epsilon is a question: it is judged as the claim of its own certified answer
    code: Callable[..., Any] | None  # what is deployed; None where the mechanism's own sampler stands for it
    seed: int  # of this claim's samples
    trials: int  # samples, at most
    confidence: float  # of the evidence

    def certified(self) -> Enclosure:
        """What the accountants say: epsilon at the claim's delta."""
        return _epsilon(self.claim.plan, self.claim.neighbours, self.claim.delta)

    def tested(self) -> Claim:
        """The claim that is tested. Raises Unsupported for a question whose answer is infinite."""
        if self.claim.epsilon is not None:
            return self.claim
        if (answer := self.certified().high) == math.inf:
            raise Unsupported("the question", "its answer is infinite: no epsilon holds at this delta")
        return replace(self.claim, epsilon=Fraction(answer))

    @cached
    def witness(self) -> Witness | None:
        """What attains the lower end of epsilon, where the plan's attack can play it: data sets of users."""
        return _witness(self.claim.plan, self.claim.neighbours, self.claim.delta)

    def _game(self) -> dict[str, Any]:
        claim = self.tested()
        return {
            "epsilon": float(claim.epsilon or 0),
            "delta": round_up(claim.delta),  # a delta below the claim's would say nothing about it
            "neighbours": claim.neighbours,
            "implementation": self.code,
            "witness": self.witness,
            "trials": self.trials,
            "confidence": self.confidence,
        }

    def measured(self) -> Evidence:
        """What samples say."""
        evidence: Evidence = audit(self.claim.plan, **self._game(), seed=self.seed)
        return evidence

    def measured_again(self, evidence: Evidence | None) -> list[str]:
        """What recorded evidence says that its counts do not decide, and that is not so; nothing is sampled."""
        return recheck(evidence, self.claim.plan, **self._game())

    def proved(self) -> Derivation:
        """What the proofs imply; for a group of users, for as many runs."""
        plan, relation = of_one_user(self.claim.plan, self.claim.neighbours)
        return derive(plan, (relation or self.claim.neighbours).kind)

    def _lost(self) -> str:
        """Below which delta no epsilon is enough, in a clause; empty where that is not known."""
        try:
            lost = account(self.claim.plan, self.claim.neighbours).delta(math.inf)
        except Unsupported:
            return ""
        short = f"{lost.low:.6g}"  # a short decimal between the ends is nearer than a lower end with six digits
        return f" below delta = {short if lost.low <= float(short) <= lost.high else show_down(lost.low)}" if lost.low > 0 else ""

    def checked(self) -> Proof:
        """What a program without the accountants finds VALID: the claim, or what refutes it, or the answer."""
        claim = self.claim
        if claim.assumptions:
            raise Unsupported(claim.plan, "no standalone rule for what is assumed")
        return prove(claim.plan, claim.neighbours, claim.epsilon, claim.delta, self.certified())

    def record(self, evidence: Evidence | Unsupported | None) -> ClaimRecord:
        """Account, prove and judge: what the certificate says about the claim."""
        claim = self.claim
        enclosure, proof, checked = _attempt(self.certified), _attempt(self.proved), _attempt(self.checked)
        drawn = _attempt(partial(_epsilon, claim.drawn, claim.neighbours, claim.delta)) if claim.drawn else None
        risk: Risk | Unsupported | None = _attempt(partial(of_plan, claim.plan, claim.neighbours))
        limits = tuple(dict.fromkeys(str(x) for x in (enclosure, evidence, proof, checked) if isinstance(x, Unsupported)))
        valid = checked if isinstance(checked, Proof) else None
        enclosures = [enclosure] if isinstance(enclosure, Enclosure) else []
        seen = [evidence] if isinstance(evidence, Evidence) else []
        proofs = [proof] if isinstance(proof, Derivation) else []
        if claim.epsilon is None and (not enclosures or enclosures[0].high == math.inf):
            verdict = Verdict(Outcome.UNDECIDED, "no finite epsilon is certified")
            if enclosures and enclosures[0].low == math.inf:
                answer = f"no finite epsilon holds{self._lost()}, by {enclosures[0].source}"
                verdict = Verdict(Outcome.ASSUMED if claim.assumptions else Outcome.BOUNDED, answer)
        else:
            tested = self.tested()
            if claim.epsilon is None and valid is not None:  # where sums are taken on a lattice, a little more than the answer
                tested = replace(tested, epsilon=max(valid.epsilon, tested.epsilon or Fraction(0)))
            verdict = judge(tested, enclosures, seen, proofs, audited=self.code is not None, proof=valid)
        if verdict.code_differs:  # then nothing that was computed is about what is deployed
            enclosures, proofs, risk, valid = [], [], None, None
        answered = claim.epsilon is None and enclosures and enclosures[0].low == math.inf
        shown = impossible(claim.plan, claim.neighbours) if answered else self.witness
        steps = [ProofRecord(theorem=p.theorem, epsilon=p.epsilon.high, steps=p.steps, assumes=p.assumes,
                             admissions=p.admissions) for p in proofs]  # fmt: skip
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
            proofs=tuple(steps),
            unsupported=limits,
            witness=None if shown is None else WitnessRecord.of(shown),
            epsilon_number=None if claim.epsilon is None else float(claim.epsilon),
            delta_number=float(claim.delta),
            risk=risk.record if isinstance(risk, Risk) else None,
            assumptions=claim.assumptions if verdict.outcome is Outcome.ASSUMED else () if verdict.code_differs else claim.axioms,
            drawn=EnclosureRecord.of(drawn) if isinstance(drawn, Enclosure) and not verdict.code_differs else None,
            code_differs=verdict.code_differs,
            proof=valid.record if valid and verdict.outcome is (Outcome.PROVED if valid.private else Outcome.REFUTED) else None,
        )


@cache
def versions() -> dict[str, str]:
    """Of everything that numbers depend on."""
    return {"ldpaudit": __version__, "python": platform.python_version()} | {n: metadata.version(n) for n in verification.LIBRARIES}


def verify(certificate: Certificate) -> list[str]:
    """Re-check a certificate without sampling: what differs, in sentences; nothing where all stands.

    The deployment is parsed again, its plans accounted and proved again, everything in the evidence that the counts do not
    decide is derived again, and every claim judged again. Nothing that the deployment names is imported.

    ``certificate``: as `Certificate.load` reads it. Returns one sentence for each difference; empty where the
    certificate stands. Raises DeploymentError where the certificate embeds no deployment file.
    """
    whole = verification.deployment_of(certificate)
    if found := verification.of_the_whole(certificate, whole):
        return found
    differs = any(claim.code_differs for claim in certificate.claims)
    if certificate.units and (differs or certificate.units != units(whole)):
        return ["its units are not those of its deployment file, or cost something else"]
    claims = zip(whole.claims, certificate.claims, strict=True)
    return [line for claim, written in claims for line in _differences(certificate, whole, claim, written)]


def _differences(certificate: Certificate, whole: Deployment, claim: Claim, written: ClaimRecord) -> list[str]:
    """Do it again with the recorded samples, and compare; code is not imported, so each form that it may have is tried."""
    seed, evidence, sayings = claim_seed(certificate.seed, whole.id, claim.id), None, list[str]()
    if written.evidence is not None:
        evidence = written.evidence.read()
        sayings += verification.of_the_evidence(written.evidence, seed, whole.implementation is not None)
    found = []
    for code in verification.stand_ins(whole, claim):
        case = Case(claim, code, seed, certificate.trials, certificate.confidence)
        lines = _attempt(partial(case.measured_again, evidence))
        if isinstance(lines, Unsupported):
            again = case.record(lines)
            lines = [f"it needs no evidence, since {lines}"] if evidence else []
        else:
            again = case.record(evidence)
        evident = [f"{claim.id}: {line}" for line in (*lines, *sayings)]
        found.append([*evident, *verification.of_a_claim(claim, written, again)])
    return min(found, key=len)


def resample(certificate: Certificate) -> list[str]:
    """Draw a certificate's samples again: where the evidence differs, in sentences. Runs the code that it names.

    ``certificate``: as `Certificate.load` reads it. Returns one sentence for each difference between the recorded
    evidence and that of fresh samples; empty where they agree. Raises Unsupported where the code draws from a source of
    its own: nobody can draw its samples again; ImplementationError where the code cannot be imported, raises, hangs or
    returns what it never may.
    """
    whole = verification.deployment_of(certificate)
    code = _implementation(whole)
    if code is not None and not import_module("ldpaudit.attacks.engine.reproducible").takes_rng(code):
        raise Unsupported(whole.implementation, "has its own source of randomness, so its samples cannot be drawn again")
    again = certify(whole, seed=certificate.seed, trials=certificate.trials, confidence=certificate.confidence)
    return verification.of_the_samples(certificate, again)
