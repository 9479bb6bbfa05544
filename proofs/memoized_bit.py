"""Theorems: what one bit of RAPPOR costs in one epoch, and at most in each epoch of a stream.

A report shows a kept 1 as 1 with probability q, a kept 0 with p. Whatever was reported before, the copy that belongs to the value
held is 1 with some probability, and that is all in which two streams differ: an epoch costs log(q/p) at most where p + q <= 1, and
log((1-p)/(1-q)) where p + q >= 1. The first epoch costs less, as the copy is wrong with probability f/2 on either stream.

The bound for many epochs is not tight, and no one formula in p, q and f gives the tight one for all parameters.
"""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem

RELATION = "user-level"
_REGIMES = {True: "p + q <= 1", False: "p + q >= 1"}
"""By which report a bit is told best: a 1 or a 0."""


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return tuple(theorem(by_ones) for theorem in (_one_epoch, _many_epochs) for by_ones in (True, False))


def _one_epoch(by_ones: bool) -> Theorem:
    t = Theorem(mechanism="MemoizedBit", sentence=f"one epoch of a memoized bit, where {_REGIMES[by_ones]},", relation=RELATION)
    t.assume("the copy of a value's bit is kept wrong with probability f/2")
    (noise,) = t.nonnegative("noise")
    f, f_field = noise / (1 + noise), t.parameter("f")
    p, q = t.ends("p", "q", by_ones, {"f": f, "epochs": 1}, {noise: f_field / (1 - f_field)})
    p_field, q_field = t.parameter("p"), t.parameter("q")
    zero, one = _shown(f, p, q)
    t.costs(_odds(by_ones, *_shown(f_field, p_field, q_field)), _cells(one, zero), _cells(zero, one))
    t.attained("by two values of different bits")
    return t


def _many_epochs(by_ones: bool) -> Theorem:
    t = Theorem(mechanism="MemoizedBit", sentence=f"a stream's memoized bits, where {_REGIMES[by_ones]},", relation=RELATION)
    t.assume("given all earlier reports, a report depends on the kept copy of the value held alone")
    (more,) = t.nonnegative("epochs_beyond_the_first")
    epochs = t.parameter("epochs")
    p, q = t.ends("p", "q", by_ones, {"epochs": 1 + more}, {more: epochs - 1})
    first, second = (t.share(f"kept_{each}")[0] for each in ("here", "there"))
    here, there = (p + kept * (q - p) for kept in (first, second))
    t.costs(_odds(by_ones, t.parameter("p"), t.parameter("q")), _cells(here, there), _cells(there, here), times=epochs)
    return t


def _shown(f: Expr, p: Expr, q: Expr) -> tuple[Expr, Expr]:
    """Probabilities that a first report is 1 where the bit is 0, and where it is 1."""
    return f / 2 * q + (1 - f / 2) * p, (1 - f / 2) * q + f / 2 * p


def _odds(by_ones: bool, low: Expr, high: Expr) -> Expr:
    return high / low if by_ones else (1 - low) / (1 - high)


def _cells(here: Expr, there: Expr) -> dict[str, tuple[Expr, Expr]]:
    return {"the report is 1": (here, there), "the report is 0": (1 - here, 1 - there)}
