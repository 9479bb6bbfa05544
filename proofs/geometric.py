"""Theorem: two-sided geometric noise on an integer in [0, B] is epsilon-LDP exactly for epsilon >= B log(1/alpha).

So is its truncated form. One step of the input moves every view by one step nearer or farther, which costs log(1/alpha);
two inputs are at most B steps apart, and what the steps cost adds up.
"""

from __future__ import annotations

from typing import Any

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _untruncated(), _truncated()


def _begin(mechanism: str, name: str) -> tuple[Theorem, Expr, Expr]:
    """The theorem; alpha, and alpha to the power of the distance from a view to the nearer input."""
    t = Theorem(mechanism=mechanism, sentence=f"{name} on an integer in [0, bound]")
    t.assume("two inputs are at most `bound` steps of 1 apart; the loss of the two is the sum of the losses of the steps")
    steps, excess, near = t.positive("steps", "excess", "near")
    alpha = 1 / (1 + excess)
    t.parametrize(
        {"bound": steps, "alpha": alpha}, {steps: t.parameter("bound"), excess: 1 / t.parameter("alpha") - 1}
    )
    return t, alpha, near


def _conclude(t: Theorem, alpha: Expr, attained: str) -> Theorem:
    """A step from x to x + 1: what is at x or below is nearer to x, and what is above to x + 1."""
    below, above = 1 / (1 + alpha), alpha / (1 + alpha)
    t.costs(1 / t.parameter("alpha"), {"y <= x": (below, above), "y > x": (above, below)}, times=t.parameter("bound"))
    t.attained(attained)
    return t


def _untruncated() -> Theorem:
    t, alpha, near = _begin("Geometric", "two-sided geometric noise")
    t.assume("y has probability (1-alpha)/(1+alpha) alpha**|y-x|; an integer y is nearer to x or to x+1, by 1")
    share = (1 - alpha) / (1 + alpha)
    t.equal(share * near / (share * near * alpha), 1 / alpha, "the ratio of every single y <= x, as of all together")
    t.equal(share / (1 - alpha), 1 / (1 + alpha), "what is at x or below: a geometric series")
    t.equal(share * alpha / (1 - alpha), alpha / (1 + alpha), "what is above: another")
    return _conclude(t, alpha, "by all steps at once at y <= 0")


def _truncated() -> Theorem:
    t, alpha, near = _begin("TruncatedGeometric", "truncated geometric noise")
    t.assume("y has probability (1-alpha)/(1+alpha) alpha**|y-x| between the ends; an end has that of all beyond it too")
    share, end = (1 - alpha) / (1 + alpha), near / (1 + alpha)
    t.equal(end - alpha * end, share * near, "an end without its own view is the end of one step farther")
    t.equal(share * near / (share * near * alpha), end / (alpha * end), "the ratio at y <= x, inside and at the end")
    return _conclude(t, alpha, "by all steps at once at y = 0")


def leaf(m: Any, relation: str) -> dict[str, Any] | None:
    """What `verify_certificate` knows it as; the truncated form is compared as the channel that it is."""
    if relation != "replace-one" or m.variant:
        return None
    return {"word": "discrete_laplace", "alpha": str(m.alpha), "change": m.bound}
