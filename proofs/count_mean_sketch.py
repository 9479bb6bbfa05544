"""Theorem: CMS is epsilon-LDP exactly for epsilon >= 2 log(p/(1-p)), and HCMS for epsilon >= log(p/(1-p)).

The hash function is drawn before the value is looked at. Given it, two values' one-hot vectors differ in two
coordinates, each kept with probability p; a coefficient of their Hadamard transforms is the same or the opposite.
"""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Proof


def prove() -> tuple[Proof, ...]:
    """Check the theorems.

    Raises
    ------
    ProofError
        Naming the step, were one false.
    """
    return _coordinates(), _coefficient()


def _coordinates() -> Proof:
    statement = "CMS is 2 log(p/(1-p))-LDP, and no less where some hash function tells two values apart"
    t = Proof("CountMeanSketch", statement)
    ratio, p = _kept(t)
    q = 1 - p
    t.assume("coordinates are flipped independently, and all but h(x) and h(x') have the same law on both inputs")
    t.costs(ratio, {
        "coordinate h(x) (or h(x')) is as on x": p / q,
        "coordinate h(x) (or h(x')) is as on x'": q / p,
        "h(x) = h(x')": p / p,
    }, times=2)
    t.equal(p * p / (q * q), ratio**2, "attained where coordinate h(x) is 1 and coordinate h(x') is -1")
    return t


def _coefficient() -> Proof:
    statement = "HCMS is log(p/(1-p))-LDP, and no less where some hash function tells two values apart"
    t = Proof("HadamardCountMeanSketch", statement)
    ratio, p = _kept(t)
    q = 1 - p
    t.assume("which coefficient is reported does not depend on the value, and two columns differ somewhere")
    t.costs(ratio, {
        "the coefficients of h(x) and h(x') differ, and it is that of x": p / q,
        "the coefficients of h(x) and h(x') differ, and it is that of x'": q / p,
        "the coefficients of h(x) and h(x') are the same, and it is theirs": p / p,
        "the coefficients of h(x) and h(x') are the same, and it is not theirs": q / q,
    })
    t.equal(p / q, ratio, "attained where they differ")
    return t


def _kept(t: Proof) -> tuple[Expr, Expr]:
    t.assume("the hash function is drawn independently of the value")
    (excess,) = t.positive("excess")
    ratio, p_field = 1 + excess, t.parameter("p")
    p = ratio / (1 + ratio)
    t.parametrize({"p": p}, {excess: p_field / (1 - p_field) - 1})
    return ratio, p
