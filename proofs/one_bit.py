"""Theorems: what 1BitMean and dBitFlip cost.

1BitMean keeps a bit that is 1 with a probability between `low` and `high`. For ever it costs log(high/low) where
low + high <= 1, and log((1-low)/(1-high)) where low + high >= 1; a flip with probability gamma brings both ends
nearer to 1/2 in a single report. The probabilities low, high - low and 1 - high are in proportion ones : gap : zeros,
and two inputs x < x' cut the interval in proportion below : between : above.

dBitFlip costs log(p/(1-p)) for each of the drawn bits in which two values differ: for d = 1 one at most, else two.
"""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem

_REGIMES = {True: "low + high <= 1", False: "low + high >= 1"}
"""By which of the two answers the bit is told: a 1 or a 0."""
_DRAWN = "which bits are drawn does not depend on the value, and all but bits x and x' are the same on both inputs"


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    means = (theorem(by_ones) for theorem in (_one_report, _any_reports) for by_ones in (True, False))
    return (*means, _one_drawn_bit(), _two_drawn_bits())


def _one_report(by_ones: bool) -> Theorem:
    t = Theorem(mechanism="OneBitMean", sentence=f"one report of 1BitMean, where {_REGIMES[by_ones]},")
    (noise,) = t.nonnegative("noise")
    gamma, gamma_field = noise / (1 + 2 * noise), t.parameter("gamma")
    kept = t.ends("low", "high", by_ones, {"gamma": gamma, "reports": 1}, {noise: gamma_field / (1 - 2 * gamma_field)})
    low, high = (gamma + (1 - 2 * gamma) * end for end in kept)
    fields = (gamma_field + (1 - 2 * gamma_field) * t.parameter(end) for end in ("low", "high"))
    _conclude(t, by_ones, (low, high), tuple(fields))
    t.attained("by the inputs 0 and 1")
    return t


def _any_reports(by_ones: bool) -> Theorem:
    t = Theorem(mechanism="OneBitMean", sentence=f"any number of reports of 1BitMean, where {_REGIMES[by_ones]},")
    t.assume("given the kept bit, the reports do not depend on the value, so that they cost no more than the bit")
    _conclude(t, by_ones, t.ends("low", "high", by_ones), (t.parameter("low"), t.parameter("high")))
    return t


def _conclude(t: Theorem, by_ones: bool, ends: tuple[Expr, Expr], fields: tuple[Expr, ...]) -> None:
    """The cost of a bit that is 1 with probabilities `ends` on 0 and on 1, and `fields` in the mechanism's fields."""
    x, other, at = _between(t, *ends)
    low, high = fields
    cost = high / low if by_ones else (1 - low) / (1 - high)
    t.costs(cost, {"the bit is 1": (other, x), "the bit is 0": (1 - other, 1 - x)},
            {"the bit is 1, the inputs exchanged": (x, other), "it is 0": (1 - x, 1 - other)}, at=at)  # fmt: skip


def _between(t: Theorem, low: Expr, high: Expr) -> tuple[Expr, Expr, dict[Expr, int]]:
    """What two inputs x < x' make of the probabilities that 0 and 1 have; and what makes them 0 and 1."""
    (between,), (below, above) = t.positive("between"), t.nonnegative("below", "above")
    whole = below + between + above
    x, other = (low + (high - low) * part / whole for part in (below, below + between))
    t.equal(x.subs(below, 0), low, "x = 0 is among the inputs")
    t.equal(other.subs(above, 0), high, "x' = 1 is among the inputs")
    return x, other, {below: 0, above: 0}


def _one_drawn_bit() -> Theorem:
    t = Theorem(mechanism="DBitFlip", sentence="dBitFlip with d = 1")
    t.assume(_DRAWN)
    p, odds = t.coin({"d": 1})
    q = 1 - p
    (others,) = t.nonnegative("others")
    k = 2 + others
    t.costs(odds, {
        "bit x is drawn, and true on x": (p / k, q / k),
        "bit x is drawn, and a lie on x": (q / k, p / k),
        "bit x' is drawn, and true on x": (p / k, q / k),
        "bit x' is drawn, and a lie on x": (q / k, p / k),
        "another bit is drawn, and is true": (others, p / k, p / k),
        "another bit is drawn, and is a lie": (others, q / k, q / k),
    })
    t.attained("at bit x or bit x', true on x")
    return t


def _two_drawn_bits() -> Theorem:
    t = Theorem(mechanism="DBitFlip", sentence="dBitFlip with d >= 2")
    (more,) = t.nonnegative("more")
    t.assume(_DRAWN)
    p, odds = t.coin({"d": 2 + more}, {more: t.parameter("d") - 2})
    drawn = {"bit x (or x') is drawn, and true on x": (p, 1 - p), "it is drawn, and a lie on x": (1 - p, p)}
    t.costs(odds, drawn, {"bit x (or x') is not drawn": (1, 1)}, times=2)
    t.attained("where bits x and x' are drawn, both true on x")
    return t
