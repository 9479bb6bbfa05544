"""Theorems: what 1BitMean and dBitFlip cost.

1BitMean keeps a bit that is 1 with a probability between `low` and `high`. For ever it costs log(high/low) where
low + high <= 1, and log((1-low)/(1-high)) where low + high >= 1; a flip with probability gamma brings both ends
nearer to 1/2 in a single report. The probabilities low, high - low and 1 - high are in proportion ones : gap : zeros,
and two inputs x < x' cut the interval in proportion below : between : above.

dBitFlip costs log(p/(1-p)) for each of the drawn bits in which two values differ: for d = 1 one at most, else two. Where they
are kept, and flipped anew with gamma in each report, that is all that any number of reports cost.
"""

from typing import Any

from sympy import Expr

from ldpaudit.proofs._algebra import nonnegative, positive
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import Told, bit, both, coin, drawn_bit, drawn_bits, ends, larger

_REGIMES = {True: "low + high <= 1", False: "low + high >= 1"}
"""By which of the two answers the bit is told: a 1 or a 0."""


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    means = (theorem(by_ones) for theorem in (_one_report, _any_reports) for by_ones in (True, False))
    name, said = "PerturbedDBitFlip", "reports of dBitFlip with output perturbation"
    first = _drawn(name, f"the first of the {said},", _told_once())
    several = _drawn(name, f"any number of {said},", coin(), tight=None, assumes=("public", "independent", "kept"))
    return (*means, *_drawn("DBitFlip", "dBitFlip", coin()), *first, *several)


def _one_report(by_ones: bool) -> Theorem:
    (noise,), field = nonnegative("noise"), named("gamma")
    gamma = noise / (1 + 2 * noise)
    known, least, most, _ = ends("low", "high", by_ones)
    known = both(known, {"fields": {"gamma": gamma, "reports": 1}, "recover": {noise: field / (1 - 2 * field)}})
    low, high = (gamma + (1 - 2 * gamma) * end for end in (least, most))
    ratio = larger(by_ones, *(field + (1 - 2 * field) * named(end) for end in ("low", "high")))
    return _told(f"one report of 1BitMean, where {_REGIMES[by_ones]},", ratio, low, high, known, tight="")


def _any_reports(by_ones: bool) -> Theorem:
    known, low, high, ratio = ends("low", "high", by_ones)
    sentence = f"any number of reports of 1BitMean, where {_REGIMES[by_ones]},"
    return _told(sentence, ratio, low, high, known, assumes=("kept",))


def _told(sentence: str, ratio: Expr, low: Expr, high: Expr, known: dict[str, Any], **more: Any) -> Theorem:
    """The cost of a bit that is 1 with probabilities `low` on 0 and `high` on 1: attained by these two of all x < x'."""
    (between,), (below, above) = positive("between"), nonnegative("below", "above")
    whole = below + between + above
    x, other = (low + (high - low) * part / whole for part in (below, below + between))
    laws = [bit(other, x, "the bit is 1", "it is 0"), bit(x, other, "the bit is 1, the inputs exchanged", "it is 0")]
    worst = {below: 0, above: 0}
    return Theorem(mechanism="OneBitMean", sentence=sentence, **known, parts=[Part(ratio, laws)], worst=worst, **more)


def _drawn(mechanism: str, sentence: str, told: Told, **more: Any) -> tuple[Theorem, Theorem]:
    """The cost of drawn bits that are told with a coin: one of d = 1, else two."""
    (beyond,) = nonnegative("more")
    about = {"told": told, "tight": "", "assumes": ("public", "independent")} | more
    one, two = {"fields": {"d": 1}, "recover": {}}, {"fields": {"d": 2 + beyond}, "recover": {beyond: named("d") - 2}}
    return (
        drawn_bit(mechanism, f"{sentence} with d = 1", one, **about),
        drawn_bits(mechanism, f"{sentence} with d >= 2", two, 2, **about),
    )


def _told_once() -> Told:
    """A kept bit that is told with p, flipped once with gamma."""
    (known, p, _), (signal,), gamma = coin(), positive("signal"), named("gamma")
    known = both(known, {"fields": {"gamma": 1 / (2 + signal), "reports": 1}, "recover": {signal: 1 / gamma - 2}})
    first, shown = (a * (1 - b) + (1 - a) * b for a, b in ((p, 1 / (2 + signal)), (named("p"), gamma)))
    return known, first, shown / (1 - shown)
