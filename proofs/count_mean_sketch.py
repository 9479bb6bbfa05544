"""Theorem: CMS is epsilon-LDP exactly for epsilon >= 2 log(p/(1-p)), and HCMS for epsilon >= log(p/(1-p)).

The hash function is drawn before the value is looked at. Given it, two values' one-hot vectors differ in two
coordinates, each kept with probability p; a coefficient of their Hadamard transforms is the same or the opposite.
"""

from dataclasses import replace
from typing import Any

from ldpaudit.proofs._kernel import Part, Theorem
from ldpaudit.proofs._parameters import coin, flipped


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    coordinates = _told("CountMeanSketch", "CMS", "coordinate h(x) (or h(x'))", 2)
    return coordinates, _told("HadamardCountMeanSketch", "HCMS", "the coefficient", 1)


def _told(mechanism: str, sentence: str, what: str, times: int) -> Theorem:
    known, p, odds = coin()
    return Theorem(
        mechanism=mechanism,
        sentence=sentence,
        **known,
        parts=[Part(odds, flipped(p, what), times)],
        tight="where some hash function tells two values apart",
        assumes=("public", "independent"),
    )


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows CMS as: whatever function is drawn, and seen, two bits differ or none.

    None of HCMS, and of laws of several functions that can be listed: where values collide, they are more private.
    """
    if m.variant or relation != "replace-one" or (m.hashes > 1 and m.hashes << m.width < 1 << 15):
        return None
    return {"word": "bits", "p": str(m.p), "q": str(1 - m.p), "only_here": 1, "only_there": 1}


def sibling(m: Any) -> Any:
    """With the same probability, and a law that can be listed."""
    return replace(m, width=min(m.width, 8), hashes=1, domain=min(m.domain, 16))
