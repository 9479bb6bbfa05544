"""Theorems: what 1BitMean and dBitFlip cost.

1BitMean keeps a bit that is 1 with a probability between `low` and `high`. For ever it costs log(high/low) where
low + high <= 1, and log((1-low)/(1-high)) where low + high >= 1; a flip with probability gamma brings both ends
nearer to 1/2 in a single report. The probabilities low, high - low and 1 - high are in proportion ones : gap : zeros,
and two inputs x < x' cut the interval in proportion below : between : above.

dBitFlip costs log(p/(1-p)) for each of the drawn bits in which two values differ: for d = 1 one at most, else two.
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
    means = (theorem(by_ones) for theorem in (_one_report, _any_reports) for by_ones in (True, False))
    return (*means, _one_drawn_bit(), _two_drawn_bits())


def _one_report(by_ones: bool) -> Proof:
    cost = "log(h/l)-LDP where l + h <= 1" if by_ones else "log((1-l)/(1-h))-LDP where l + h >= 1"
    t = Proof("OneBitMean", f"one report of 1BitMean, 1 with probability l on 0 and h on 1, is {cost}, and no less")
    (noise,) = t.nonnegative("noise")
    gamma, gamma_field = noise / (1 + 2 * noise), t.parameter("gamma")
    kept = _kept(t, by_ones, {"gamma": gamma, "reports": 1}, {noise: gamma_field / (1 - 2 * gamma_field)})
    low, high = (gamma + (1 - 2 * gamma) * end for end in kept)
    x, other = _between(t, low, high)
    t.costs(high / low if by_ones else (1 - low) / (1 - high), {
        "the report is 1, on x' against x": other / x,
        "the report is 1, on x against x'": x / other,
        "the report is 0, on x against x'": (1 - x) / (1 - other),
        "the report is 0, on x' against x": (1 - other) / (1 - x),
    })
    return t


def _any_reports(by_ones: bool) -> Proof:
    cost = "log(high/low)-LDP where low + high <= 1" if by_ones else "log((1-low)/(1-high))-LDP where low + high >= 1"
    t = Proof("OneBitMean", f"any number of reports of 1BitMean is {cost}")
    t.assume("given the kept bit, the reports do not depend on the value: they show s if it is 1 and u if it is 0")
    (positive,), (nonnegative,) = t.positive("positive"), t.nonnegative("nonnegative")
    low, high = _kept(t, by_ones, {}, {})
    x, other = _between(t, low, high)
    cases: dict[str, Expr] = {}
    for case, (s, u) in {"s > 0": (positive, nonnegative), "u > 0": (nonnegative, positive)}.items():
        shown, shown_other = (one * s + (1 - one) * u for one in (x, other))
        cases |= {f"on x' against x, {case}": shown_other / shown, f"on x against x', {case}": shown / shown_other}
    t.costs(high / low if by_ones else (1 - low) / (1 - high), cases)
    return t


def _kept(t: Proof, by_ones: bool, fields: dict[str, Expr], recover: dict[Expr, Expr]) -> tuple[Expr, Expr]:
    """P[the kept bit is 1] on the inputs 0 and 1."""
    (gap,), (more,) = t.positive("gap"), t.nonnegative("more")
    ones, zeros = (1, 1 + more) if by_ones else (1 + more, 1)
    low, high = ones / (ones + gap + zeros), (ones + gap) / (ones + gap + zeros)
    low_field, high_field = t.parameter("low"), t.parameter("high")
    if by_ones:
        recover |= {gap: high_field / low_field - 1, more: (1 - high_field) / low_field - 1}
    else:
        recover |= {gap: (1 - low_field) / (1 - high_field) - 1, more: low_field / (1 - high_field) - 1}
    t.parametrize({"low": low, "high": high, **fields}, recover)
    lesser, larger = (low + high, 1) if by_ones else (1, low + high)
    t.at_most(lesser, larger, "the regime")
    return low, high


def _between(t: Proof, low: Expr, high: Expr) -> tuple[Expr, Expr]:
    """What two inputs x < x' make of the probabilities that 0 and 1 have."""
    (between,), (below, above) = t.positive("between"), t.nonnegative("below", "above")
    whole = below + between + above
    x, other = (low + (high - low) * part / whole for part in (below, below + between))
    t.equal(x.subs(below, 0), low, "x = 0 is among the inputs")
    t.equal(other.subs(above, 0), high, "x' = 1 is among the inputs: there the cost is attained")
    return x, other


def _one_drawn_bit() -> Proof:
    t = Proof("DBitFlip", "dBitFlip with d = 1 is log(p/(1-p))-LDP, and no less: half of what is published")
    p = _truth(t, {"d": 1}, {})
    q = 1 - p
    t.costs(p / q, {
        "bit x is drawn, and true on x": p / q,
        "bit x is drawn, and a lie on x": q / p,
        "bit x' is drawn, and true on x": p / q,
        "bit x' is drawn, and a lie on x": q / p,
        "another bit is drawn": p / p,
    })
    return t


def _two_drawn_bits() -> Proof:
    t = Proof("DBitFlip", "dBitFlip with d >= 2 is 2 log(p/(1-p))-LDP, and no less")
    (more,) = t.nonnegative("more")
    p = _truth(t, {"d": 2 + more}, {more: t.parameter("d") - 2})
    q = 1 - p
    t.costs(p / q, {
        "bit x (or x') is drawn, and true on x": p / q,
        "bit x (or x') is drawn, and a lie on x": q / p,
        "bit x (or x') is not drawn": p / p,
    }, times=2)
    return t


def _truth(t: Proof, more_fields: dict[str, Expr], more_symbols: dict[Expr, Expr]) -> Expr:
    t.assume("which bits are drawn does not depend on the value, and all but bits x and x' are the same on both inputs")
    (excess,) = t.positive("excess")
    ratio, p_field = 1 + excess, t.parameter("p")
    p = ratio / (1 + ratio)
    t.parametrize({"p": p, **more_fields}, {excess: p_field / (1 - p_field) - 1, **more_symbols})
    return p
