"""Pictures of a certificate, from its record: what is known of epsilon, the privacy profile, the audit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ldpaudit.certificates.certificate import ClaimRecord
from ldpaudit.display import pictures
from ldpaudit.enclosure import Enclosure


def line(claim: ClaimRecord) -> str:
    """What is certified, measured and claimed, on the line of epsilon."""
    known = (claim.enclosure.low, claim.enclosure.high) if claim.enclosure else None
    how = "assumed" if claim.assumptions else "certified"
    return pictures.line(known, claim.evidence.epsilon_lower if claim.evidence else None, _claimed(claim), how)


def curve(claim: ClaimRecord, points: Sequence[tuple[float, Enclosure]]) -> str:
    """The privacy profile, and the claim."""
    epsilon, delta = _claimed(claim), claim.delta_number or 0.0
    ends = [(at, found.low, found.high) for at, found in points]
    return pictures.curve(ends, None if epsilon is None else (epsilon, delta), f"Privacy profile of {claim.id}", delta)


def tightening(claim: ClaimRecord) -> str:
    """The samples' bound at the looks of a sequential audit."""
    evidence = claim.evidence.read() if claim.evidence else None
    if evidence is None or evidence.trajectory is None:
        return ""
    looks = [(look.trials, look.epsilon_lower) for look in evidence.trajectory.looks]
    return pictures.tightening(looks, _claimed(claim), f"Bound of the samples of {claim.id} as it tightened", evidence.tightened)


def _claimed(claim: ClaimRecord) -> float | None:
    return None if claim.epsilon is None else float(Fraction(claim.epsilon))
