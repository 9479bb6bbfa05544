"""What is claimed for the repaired THRESH: a variant of ours, of which no paper prints anything."""

from __future__ import annotations

from fractions import Fraction

from ldpaudit.accountants.claims.thresh import assumption
from ldpaudit.claim import Claim
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired
from ldpaudit.neighbours import USER_LEVEL
from ldpaudit.plan import Run


def claims(m: ThreshRepaired) -> tuple[Claim, ...]:
    """What `Thresh` claims, without the hypotheses that it lacks; and what is proved."""
    source = "proofs/thresh_repaired.py"
    return tuple(
        Claim(name, Run(m), share * m.epsilon, Fraction(0), USER_LEVEL, "lifetime", source, (assumption(m),))
        for name, share in (("theorem-4.1", Fraction(1)), ("three-quarters", Fraction(3, 4)))
    )
