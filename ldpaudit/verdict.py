"""The judge: three testimonies in, one verdict out. The only place that decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, floor, inf, log10
from typing import TYPE_CHECKING, Any

from ldpaudit.core.pace import MOST
from ldpaudit.enclosure import Enclosure, Rigour, round_up, show_down, show_up
from ldpaudit.errors import Contradiction

if TYPE_CHECKING:
    from fractions import Fraction

    from ldpaudit.claim import Claim
    from ldpaudit.evidence import Evidence


class Outcome(StrEnum):
    """How a claim fares, from worst to best."""

    REFUTED = "REFUTED"
    UNDECIDED = "UNDECIDED"
    ASSUMED = "ASSUMED"
    BOUNDED = "BOUNDED"
    PROVED = "PROVED"

    @property
    def record(self) -> str:
        """How a deployment file records it: ``holds``, ``assumed``, ``refuted`` or ``undecided``."""
        return "holds" if self in (Outcome.BOUNDED, Outcome.PROVED) else self.value.lower()

    @property
    def reached(self) -> bool:
        """Whether a certified upper bound of what is described reaches the claim, be it shown or assumed."""
        return self not in (Outcome.REFUTED, Outcome.UNDECIDED)


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome and the one sentence that says why.

    Parameters
    ----------
    outcome : Outcome
        How the claim fares.
    reason : str
        Why, without its full stop.
    code_differs : bool
        Whether the audited code is not the mechanism that is described: no bound, proof or risk of that is then the code's.
    """

    outcome: Outcome
    reason: str
    code_differs: bool = False

    def __str__(self) -> str:
        return f"{self.outcome}: {self.reason}"


@dataclass(frozen=True)
class Proof:
    """A statement about these parameters that a program without the accountants finds VALID."""

    record: dict[str, Any]  # in the format ldpaudit.proof/1
    epsilon: Fraction  # in nats
    delta: Fraction
    sentence: str  # what was compared with the code's law, and the theorems that it rests on, in a clause

    @property
    def private(self) -> bool:
        """Whether it says that the plan is so private, or that it is not."""
        return bool(self.record["says"] == "private")


@dataclass(frozen=True, slots=True)
class Derivation:
    """Checked theorems for all parameters, put together along a plan."""

    theorem: str  # the statements that were used
    epsilon: Enclosure  # what they imply for the plan, in nats; at delta = 0, and so at every delta
    steps: int  # number of steps that a machine checked
    assumes: tuple[str, ...]  # what the theorems assume of the mechanism, and the steps that no machine checked
    admissions: tuple[str, ...]
    tight: bool = False  # whether no smaller epsilon holds at delta = 0 either

    def covers(self, claim: Claim) -> bool:
        """Whether the proved epsilon is within the claim; a pure bound implies every delta's."""
        return claim.ceiling is not None and self.epsilon.high <= claim.ceiling


def judge(
    claim: Claim,
    enclosures: Sequence[Enclosure],
    evidence: Sequence[Evidence],
    proofs: Sequence[Derivation],
    *,
    audited: bool = False,
    proof: Proof | None = None,
) -> Verdict:
    """Decide a claim that names an epsilon; the first row of the table that matches wins.

    Parameters
    ----------
    claim : Claim
        With an epsilon.
    enclosures : sequence of Enclosure
        Of the plan's epsilon at the claim's delta, in nats. One of rigour FLOAT decides nothing.
    evidence : sequence of Evidence
        From samples of the code.
    proofs : sequence of Derivation
        Theorems for all parameters that were checked, by symbols.
    audited : bool
        Whether the samples are of code that is deployed in place of the mechanism. Where these are too few to refute the claim
        of any code, nothing is decided by what holds for the mechanism.
    proof : Proof or None
        Of these parameters, by a program that shares nothing with the accountants.

    Returns
    -------
    Verdict

    Raises
    ------
    ValueError
        Where the claim names no epsilon.
    Contradiction
        Where a proof and a certified enclosure, or two enclosures, cannot both be true: an internal error, and no verdict.
    """
    if claim.ceiling is None:
        raise ValueError(f"judge needs a claim with an epsilon, got the question {claim.id!r}")
    certified = [e for e in enclosures if e.rigour > Rigour.FLOAT]
    _require_agreement(claim, certified, proofs, proof)
    unknown = Enclosure(0.0, inf, Rigour.INTERVAL, "")
    low = max(certified, key=lambda e: e.low, default=unknown)
    high = min(certified, key=lambda e: e.high, default=unknown)
    seen = max((e for e in evidence if e.refutes(claim)), key=lambda e: e.epsilon_lower, default=None)
    most = min([high.high, *(p.epsilon.high for p in proofs)])  # that the mechanism can lose
    more = (e for e in evidence if most < inf and claim.delta <= e.delta and e.refutes(most))
    beyond = max(more, key=lambda e: e.epsilon_lower, default=None)
    theorem = next((p for p in proofs if p.covers(claim)), None)
    bounded = high.high <= claim.ceiling
    assumed = claim.assumptions

    if beyond is not None:
        return Verdict(Outcome.REFUTED, f"the code is not what is described: {_shown(beyond)}", code_differs=True)

    if low.low > claim.ceiling:
        least = "no finite epsilon holds" if low.low == inf else f"its epsilon is at least {show_down(low.low)}"
        truth = f"{least}, by {low.source}"
        again = f"; checked by another program: {proof.sentence}" if proof and not proof.private else ""
        return Verdict(Outcome.REFUTED, f"the claim is false for these parameters: {truth}{again}")
    if seen is not None:
        return Verdict(Outcome.REFUTED, f"the audited code is less private: {_shown(seen)}")
    if audited and (blind := _blind(claim, evidence)):
        return Verdict(Outcome.UNDECIDED, f"the deployed code was not tested: {blind}")
    if bounded and assumed:
        restates = "; so the claim itself is assumed" if claim.restates else ""
        bound = f"epsilon <= {show_up(high.high)} by {high.source}"
        return Verdict(Outcome.ASSUMED, f"{bound}, assuming that {'; and that '.join(assumed)}{restates}")
    if bounded:
        bound = f"epsilon <= {show_up(high.high)} by {high.source}"
        admitted = f", admitting {'; '.join(theorem.admissions)}" if theorem and theorem.admissions else ""
        always = f"; theorem: {theorem.theorem}{admitted}" if theorem else ""
        if proof and proof.private and proof.epsilon <= claim.ceiling and proof.delta <= claim.delta:
            return Verdict(Outcome.PROVED, f"{bound}; checked by another program: {proof.sentence}{always}")
        return Verdict(Outcome.BOUNDED, f"{bound}{always}")
    known = "no certified bound is known"
    if certified:
        given = f", assuming that {'; and that '.join(claim.axioms)}" if claim.axioms else ""
        known = f"epsilon lies in [{show_down(low.low)}, {show_up(high.high)}]{given}"
    return Verdict(Outcome.UNDECIDED, f"{known}, and {'the samples show no more' if evidence else 'nothing was sampled'}")


def _shown(e: Evidence) -> str:
    """What samples show, in a clause."""
    guesses = f"{e.right} of {e.guesses} guesses on {e.event} were right"
    return f"{guesses}, so epsilon >= {show_down(e.epsilon_lower)} with confidence {e.confidence:.6g}"


def _blind(claim: Claim, evidence: Sequence[Evidence]) -> str:
    """Why samples of the deployed code could refute nothing, in a clause; empty where they could."""
    if not evidence:
        return "no audit of it is known"
    e = max(evidence, key=lambda e: e.trials)
    if not e.guesses:
        return f"the audit guessed on none of {e.trials:,} views"
    if (times := e.lacks(float(claim.epsilon or 0))) > 1:
        views, enough = e.trials * times, ""
        if views <= MOST:  # as far as anybody could draw them
            unit = 10 ** floor(log10(views))
            enough = f"; about {ceil(views / unit) * unit:,} are needed"
        return f"{e.trials:,} views are too few to refute the claim, whatever the code does{enough}"
    return ""


def _require_agreement(claim: Claim, certified: Sequence[Enclosure], proofs: Sequence[Derivation], proof: Proof | None) -> None:
    """What is at most one number's upper end and at least another's lower end names the same epsilon."""
    uppers = [(e.high, e.source) for e in certified] + [(p.epsilon.high, p.theorem) for p in proofs]
    lowers = [(e.low, e.source) for e in certified]
    lowers += [(p.epsilon.low, p.theorem) for p in proofs if p.tight and claim.delta == 0]
    if proof and proof.private and proof.delta <= claim.delta:
        uppers.append((round_up(proof.epsilon), "verify_certificate.py"))
    (high, above), (low, below) = min(uppers, default=(inf, "")), max(lowers, default=(0.0, ""))
    if low > high:
        found = f"{below!r} gives epsilon >= {show_down(low)}, but {above!r} gives epsilon <= {show_up(high)}"
        raise Contradiction(f"internal error, please report it: of {claim.plan!s:.200}, {found}; one of the two is false")
