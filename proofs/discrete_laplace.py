"""Theorem: discrete Laplace noise on counts is epsilon-DP exactly for epsilon >= K log(1/alpha), K the sum of all changes' sizes.

One step of 1 in one count moves every view by one step nearer or farther in it, which costs log(1/alpha); two inputs are
K such steps apart, and what the steps cost adds up.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Theorem


def prove() -> tuple[Theorem, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    t = Theorem(mechanism="DiscreteLaplace", sentence="discrete Laplace noise on counts that one user changes")
    t.assume("the inputs are `distance` steps of 1 in one count apart; the loss of the two is the sum of the losses of the steps")
    t.assume("a noise has probability (1-alpha)/(1+alpha) alpha**|z|; the counts' noises are independent")
    steps, excess, near = t.positive("steps", "excess", "near")
    alpha = 1 / (1 + excess)
    t.parametrize(
        {"distance": steps, "alpha": alpha}, {steps: t.parameter("distance"), excess: 1 / t.parameter("alpha") - 1}
    )
    share, below, above = (1 - alpha) / (1 + alpha), 1 / (1 + alpha), alpha / (1 + alpha)
    t.equal(share * near / (share * near * alpha), 1 / alpha, "the ratio of every single y <= x, as of all together")
    t.equal(share / (1 - alpha), below, "what is at x or below: a geometric series")
    t.equal(share * alpha / (1 - alpha), above, "what is above: another")
    t.costs(1 / t.parameter("alpha"), {"y <= x": (below, above), "y > x": (above, below)}, times=t.parameter("distance"))
    t.attained("by all steps at once where every count is at its end or beyond, on the far side from the change")
    return (t,)
