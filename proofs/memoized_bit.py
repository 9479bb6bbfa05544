"""Theorems: what one bit of RAPPOR costs in one epoch, and at most in each epoch of a stream.

A report shows a kept 1 as 1 with probability q, a kept 0 with p. Whatever was reported before, the copy that belongs to the value
held is 1 with some probability, and that is all in which two streams differ: an epoch costs log(q/p) at most where p + q <= 1, and
log((1-p)/(1-q)) where p + q >= 1. The first epoch costs less, as the copy is wrong with probability f/2 on either stream.

The bound for many epochs is not tight, and no one formula in p, q and f gives the tight one for all parameters.
"""

from sympy import Expr

from ldpaudit.proofs._algebra import nonnegative, share
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import bit, both, ends, larger, plain

RELATION = "user-level"
_REGIMES = {True: "p + q <= 1", False: "p + q >= 1"}
"""By which report a bit is told best: a 1 or a 0."""


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return tuple(theorem(by_ones) for theorem in (_one_epoch, _many_epochs) for by_ones in (True, False))


def _one_epoch(by_ones: bool) -> Theorem:
    (noise,), f_field = nonnegative("noise"), named("f")
    known, p, q, _ = ends("p", "q", by_ones)
    zero, one = _shown(noise / (1 + noise), p, q)
    laws = [bit(one, zero, "the report is 1", "it is 0"), bit(zero, one, "the report is 1, the other way round", "it is 0")]
    return Theorem(
        mechanism="MemoizedBit",
        sentence=f"one epoch of a memoized bit, where {_REGIMES[by_ones]},",
        relation=RELATION,
        fields=known["fields"] | {"f": noise / (1 + noise), "epochs": 1},
        recover=known["recover"] | {noise: f_field / (1 - f_field)},
        parts=[Part(larger(by_ones, *_shown(f_field, named("p"), named("q"))), laws)],
        tight="",
        assumes=("copies",),
    )


def _many_epochs(by_ones: bool) -> Theorem:
    (more,), kept = nonnegative("epochs_beyond_the_first"), share("kept_here", "kept_there")
    known, p, q, ratio = ends("p", "q", by_ones)
    here, there = (p + each * (q - p) for each in kept)
    return Theorem(
        mechanism="MemoizedBit",
        sentence=f"a stream's memoized bits, where {_REGIMES[by_ones]},",
        relation=RELATION,
        **both(known, plain({"epochs": 1 + more})),
        parts=[Part(ratio, [bit(here, there, "the report is 1", "it is 0")], named("epochs"))],
        assumes=("copies",),
    )


def _shown(f: Expr, p: Expr, q: Expr) -> tuple[Expr, Expr]:
    """Probabilities that a first report is 1 where the bit is 0, and where it is 1."""
    return f / 2 * q + (1 - f / 2) * p, (1 - f / 2) * q + f / 2 * p
