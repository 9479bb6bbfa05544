"""What a page shows of a certificate beyond its record: all of it is derived from the deployment file that it embeds."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from ldpaudit.accountants import account
from ldpaudit.certificates.certificate import Certificate
from ldpaudit.certificates.repair import Repair, repair
from ldpaudit.certificates.risk import Risk
from ldpaudit.certificates.verification import deployment_of
from ldpaudit.claim import Claim
from ldpaudit.core.remembered import remembered
from ldpaudit.enclosure import Enclosure
from ldpaudit.errors import Unsupported
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Aggregate, Plan, Shuffle
from ldpaudit.profile import PrivacyProfile

POINTS = 41  # values of epsilon at which the curve is certified, besides those where it is asked about
SMALLEST = 1e-9  # the smallest delta of the curve, where the claim names none that is smaller
_BEYOND = 1.1  # how far beyond the claim and the certified epsilon the curve goes


_SEEN = {"user-day": "all that a user sends in a day", "lifetime": "all that a user ever sends"}
"""What an adversary sees where a claim's unit is not its name."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Of one claim."""

    seen: str  # what an adversary sees, in words
    curve: tuple[tuple[float, Enclosure], ...] = ()  # delta at values of epsilon; empty where no profile is certified
    risk: Risk | None = None  # what the profile means; None where none is certified
    repair: Repair | None = None  # what would hold instead; None where the claim holds
    trusts: tuple[str, str] | None = None  # of a sum: which users, and whose noise, must be honest


def exhibits(certificate: Certificate) -> dict[str, Exhibit]:
    """Of every claim, by its id; nothing is sampled, and nothing that the deployment names is imported."""
    whole = deployment_of(certificate)
    lacking = {claim.id for claim in certificate.claims if not claim.verdict.reached}
    found = {}
    for claim, written in zip(whole.claims, certificate.claims, strict=True):
        if written.code_differs:  # what would be shown is another mechanism's
            found[claim.id] = Exhibit(_seen(claim))
            continue
        instead = repair(whole, claim) if claim.id in lacking else None
        try:
            curve = _curve(account(claim.plan, claim.neighbours), claim)
            risk = Risk.of(written.risk) if written.risk else None
            found[claim.id] = Exhibit(_seen(claim), curve, risk, instead, _trusts(claim.plan))
        except Unsupported:
            found[claim.id] = Exhibit(_seen(claim), repair=instead, trusts=_trusts(claim.plan))
    return found


def _trusts(plan: Plan) -> tuple[str, str] | None:
    if not isinstance(plan, Aggregate):
        return None
    noise = Counter(map(str, plan.noise))
    return f"{plan.users:,}", ", ".join(f"{times} x {each}" if times > 1 else each for each, times in noise.items()) or "none"


def _seen(claim: Claim) -> str:
    one = _SEEN.get(claim.unit, f"one {claim.unit}")
    match claim.plan:
        case Shuffle():
            return f"the views of all users in random order, {one} each"
        case Aggregate(_, users, noise):
            whose = "1 honest user" if users == 1 else f"{users:,} honest users"
            added = f", and the noise of {len(noise)} honest aggregator{'s' * (len(noise) > 1)}" if noise else ""
            return f"the sum of the views of {whose}, {one} each{added}"
    return one


def _curve(profile: PrivacyProfile, claim: Claim) -> tuple[tuple[float, Enclosure], ...]:
    smallest = min(SMALLEST, float(claim.delta) / 10) if claim.delta else SMALLEST
    ends = (profile.coarse().epsilon(smallest).high, profile.epsilon(claim.delta).high, float(claim.epsilon or 0))
    asked = [end for end in ends if math.isfinite(end)]
    found = dict(_from_zero_to(_BEYOND * (max(asked, default=0.0) or 1.0), claim.plan, claim.neighbours))
    return tuple(sorted({**found, **{epsilon: profile.coarse().delta(epsilon) for epsilon in asked}}.items()))


@remembered
def _from_zero_to(widest: float, plan: Plan, neighbours: Neighbours) -> tuple[tuple[float, Enclosure], ...]:
    """Points of the curve; claims about one plan often share them."""
    shown = account(plan, neighbours).coarse()
    return tuple((epsilon, shown.delta(epsilon)) for epsilon in (widest * i / (POINTS - 1) for i in range(POINTS)))
