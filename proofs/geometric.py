"""Theorem: two-sided geometric noise on an integer in [0, B] is epsilon-LDP exactly for epsilon >= B log(1/alpha).

So is its truncated form. One step of the input moves every view by one step nearer or farther, which costs log(1/alpha);
two inputs are at most B steps apart, and what the steps cost adds up.
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
    return _untruncated(), _truncated()


def _begin(mechanism: str, name: str) -> tuple[Proof, Expr, Expr, Expr]:
    """The theorem; the number of steps, alpha, and alpha to the power of the distance from a view to the nearer input."""
    t = Proof(mechanism, f"{name} is (bound log(1/alpha))-LDP, and no less")
    t.assume("two inputs are at most `bound` steps of 1 apart; the loss of the two is the sum of the losses of the steps")
    steps, excess, near = t.positive("steps", "excess", "near")
    alpha = 1 / (1 + excess)
    t.parametrize(
        {"bound": steps, "alpha": alpha}, {steps: t.parameter("bound"), excess: 1 / t.parameter("alpha") - 1}
    )
    return t, steps, alpha, near


def _untruncated() -> Proof:
    t, steps, alpha, near = _begin("Geometric", "two-sided geometric noise on an integer in [0, bound]")
    t.assume("y has probability (1-alpha)/(1+alpha) alpha**|y-x|; an integer y is nearer to x or to x+1, by 1")
    share = (1 - alpha) / (1 + alpha)
    t.equal(share * (1 / (1 - alpha) + alpha / (1 - alpha)), 1, "the law sums to 1: two geometric series")
    nearer, farther = share * near, share * near * alpha
    t.costs(1 / alpha, {"y <= x": nearer / farther, "y > x": farther / nearer}, times=steps)
    t.equal(nearer / farther, 1 / alpha, "attained by all steps at once at y <= 0, so epsilon cannot be smaller")
    return t


def _truncated() -> Proof:
    t, steps, alpha, near = _begin("TruncatedGeometric", "truncated geometric noise on an integer in [0, bound]")
    t.assume("y has probability (1-alpha)/(1+alpha) alpha**|y-x| between the ends; an end has that of all beyond it too")
    share, end = (1 - alpha) / (1 + alpha), near / (1 + alpha)
    t.equal(end - alpha * end, share * near, "an end without its own view is the end of one step farther")
    t.equal((end + alpha * end) / near, 1, "the law sums to 1: what is at x or below, and what is above")
    cases = {
        "0 < y <= x": share * near / (share * near * alpha),
        "x < y < bound": share * near * alpha / (share * near),
        "y = 0": end / (alpha * end),
        "y = bound": alpha * end / end,
    }
    t.costs(1 / alpha, cases, times=steps)
    t.equal(cases["y = 0"], 1 / alpha, "attained by all steps at once at y = 0, so epsilon cannot be smaller")
    return t
