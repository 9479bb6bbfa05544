"""Theorem: CMS is epsilon-LDP exactly for epsilon >= 2 log(p/(1-p)), and HCMS for epsilon >= log(p/(1-p)).

The hash function is drawn before the value is looked at. Given it, two values' one-hot vectors differ in two
coordinates, each kept with probability p; a coefficient of their Hadamard transforms is the same or the opposite.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _coordinates(), _coefficient()


def _coordinates() -> Theorem:
    t = Theorem(mechanism="CountMeanSketch", sentence="CMS")
    ratio, p = _kept(t)
    t.assume("coordinates are flipped independently, and all but h(x) and h(x') have the same law on both inputs")
    apart = {"coordinate h(x) (or h(x')) is as on x": (p, 1 - p), "it is as on x'": (1 - p, p)}
    alike = {"h(x) = h(x'), and the coordinate is kept": (p, p), "it is flipped": (1 - p, 1 - p)}
    t.costs(ratio, apart, alike, times=2)
    t.attained("at coordinate h(x) = 1 and coordinate h(x') = -1", "where some hash function tells two values apart")
    return t


def _coefficient() -> Theorem:
    t = Theorem(mechanism="HadamardCountMeanSketch", sentence="HCMS")
    ratio, p = _kept(t)
    t.assume("which coefficient is reported does not depend on the value, and two columns differ somewhere")
    apart = {"the two coefficients differ, and it is that of h(x)": (p, 1 - p), "it is that of h(x')": (1 - p, p)}
    alike = {"the two coefficients are the same, and it is theirs": (p, p), "it is not theirs": (1 - p, 1 - p)}
    t.costs(ratio, apart, alike)
    t.attained("where the two coefficients differ", "where some hash function tells two values apart")
    return t


def _kept(t: Theorem) -> tuple[Expr, Expr]:
    t.assume("the hash function is drawn independently of the value, so that the laws are those given the function")
    p, odds = t.coin()
    return odds, p


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
