"""Theorems: one report of RAPPOR costs h log(q*(1-p*) / (p*(1-q*))), and all that ever follow 2h log((1-f/2) / (f/2)).

q* and p* are the probabilities that a report shows a bit of the filter as 1 where it is 1, and where it is 0. Two
signatures have at most h bits each. Both costs are attained where they have h bits each and none in common.
"""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Proof

_FILTER = "a value sets at most `hashes` bits, and each bit is randomized by itself, by what it is"


def prove() -> tuple[Proof, ...]:
    """Check the theorems.

    Raises
    ------
    ProofError
        Naming the step, were one false.
    """
    return _one_report(), _any_reports(), _permanent()


def _one_report() -> Proof:
    t = Proof("Rappor", "one report of RAPPOR is h log(q*(1-p*) / (p*(1-q*)))-LDP")
    t.assume(_FILTER)
    (gap, rest), (noise, more) = t.positive("gap", "rest"), t.nonnegative("noise", "more")
    p, q = 1 / (1 + gap + rest), (1 + gap) / (1 + gap + rest)
    f, h = noise / (1 + noise), 1 + more
    f_field, p_field, q_field, h_field = map(t.parameter, ("f", "p", "q", "hashes"))
    t.parametrize({"f": f, "p": p, "q": q, "hashes": h, "reports": 1}, {
        noise: f_field / (1 - f_field), gap: q_field / p_field - 1, rest: (1 - q_field) / p_field, more: h_field - 1,
    })
    one, zero = (1 - f / 2) * q + f / 2 * p, f / 2 * q + (1 - f / 2) * p
    t.equal(one, f * (p + q) / 2 + (1 - f) * q, "q*, as the source writes it")
    t.equal(zero, f * (p + q) / 2 + (1 - f) * p, "p*, as the source writes it")
    t.costs(one / zero, {
        "a bit that only x sets is reported as 1": one / zero, "it is reported as 0": (1 - one) / (1 - zero),
    }, times=h)
    t.costs((1 - zero) / (1 - one), {
        "a bit that only x' sets is reported as 0": (1 - zero) / (1 - one), "it is reported as 1": zero / one,
    }, times=h)
    return t


def _any_reports() -> Proof:
    t = Proof("Rappor", "any number of reports of RAPPOR is 2h log((1-f/2) / (f/2))-LDP")
    t.assume("given the memoized bit, the reports do not depend on the value: they show s if it is 1 and t if it is 0")
    ratio, h = _memoized(t)
    kept, lost = ratio / (1 + ratio), 1 / (1 + ratio)
    (some,), (other,) = t.positive("some"), t.nonnegative("other")
    cases: dict[str, Expr] = {}
    for case, (s, u) in {"s > 0": (some, other), "t > 0": (other, some)}.items():
        one, zero = kept * s + lost * u, lost * s + kept * u
        cases |= {f"a bit that only x sets, {case}": one / zero, f"a bit that only x' sets, {case}": zero / one}
    t.costs(ratio, cases, times=2 * h)
    return t


def _permanent() -> Proof:
    t = Proof("PermanentRappor", "the permanent response of RAPPOR is 2h log((1-f/2) / (f/2))-LDP")
    ratio, h = _memoized(t)
    kept, lost = ratio / (1 + ratio), 1 / (1 + ratio)
    t.costs(ratio, {
        "a bit that only x sets is kept as 1": kept / lost, "it is kept as 0": lost / kept,
        "a bit that only x' sets is kept as 0": kept / lost, "it is kept as 1": lost / kept,
    }, times=2 * h)
    return t


def _memoized(t: Proof) -> tuple[Expr, Expr]:
    """The ratio of the two probabilities with which a bit is memoized as 1, and h."""
    t.assume(_FILTER)
    (signal,), (more,) = t.positive("signal"), t.nonnegative("more")
    f, h = 2 / (2 + signal), 1 + more
    f_field, h_field = t.parameter("f"), t.parameter("hashes")
    t.parametrize({"f": f, "hashes": h}, {signal: 2 / f_field - 2, more: h_field - 1})
    ratio = 1 + signal
    t.equal((1 - f / 2) / (f / 2), ratio, "the ratio in the mechanism's own parameters")
    return ratio, h
