"""Theorems on quantiles that are read off prefix counts: their loss, and their rank.

What the counts themselves cost is proved in proofs/range_queries.py; a quantile is a function of them.
A larger share never has a smaller quantile: a count that reaches the larger goal reaches the smaller one. No epsilon is enough at
delta = 0, so none of these is a bound on one.
"""

from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Steps, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _rank(), _loss()


def _rank() -> Steps:
    t = Steps("the output cell holds a number whose rank is within alpha of pi n")
    t.assume("every estimated prefix count is within alpha of the true one, and the last one is known to be n")
    t.assume("the output cell is the first whose estimated prefix count is at least goal = pi n")
    goal, alpha, reached, less, under = t.nonnegative("goal", "alpha", "reached", "less", "under")
    estimate, off = goal + reached, alpha / (1 + less)  # of the output cell, and what it is off by
    t.at_most(goal - alpha, estimate - off, "the true count up to the output cell is at least pi n - alpha")
    t.at_most(goal - under + off, goal + alpha, "and that of every cell before it, of an estimate below pi n, at most pi n + alpha")
    return t


def _loss() -> Steps:
    t = Steps("the loss exceeds the least one by at most alpha + n max(pi, 1 - pi)/(2 B)")
    t.assume("at y the slope of the loss is F(y) - pi n, with F(y) the number of users up to y; F rises, so the loss is convex")
    t.assume("the output is the midpoint of a cell; left of the cell F is at most pi n + alpha, right of it at least pi n - alpha")
    (cells, n), (alpha,), (part, pi) = t.positive("cells", "n"), t.nonnegative("alpha"), t.share("part", "pi")
    half = 1 / (2 * cells)
    t.at_most(part * alpha, alpha, "outside of the cell the slope toward the minimum is at most alpha, over a length of at most 1")
    t.equal(half * (n - pi * n), n * (1 - pi) / (2 * cells), "in the cell, to the left: the slope is at most n - pi n")
    t.equal(half * pi * n, n * pi / (2 * cells), "to the right: at least -pi n")
    t.at_most(part * alpha + half * pi * n, alpha + n * pi / (2 * cells), "together, where the minimum lies to the right")
    t.at_most(part * alpha + half * (n - pi * n), alpha + n * (1 - pi) / (2 * cells), "and where it lies to the left")
    return t
