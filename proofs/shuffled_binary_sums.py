"""Theorems behind the accountant of labelled binary sums.

Nothing is private here without a delta: where nobody's blanket has a label, the user who holds it is seen. So these theorems
are about ratios, and no epsilon of the mechanism follows from them alone. With odds = (1 - gamma)/gamma, a count Y of
Bin(n, gamma) has P[Y = y - 1] / P[Y = y] = odds y / (n - y + 1).
"""

from sympy import Expr

from ldpaudit.proofs._steps import Steps

_SHIFT = "P[X = y - 1] / P[X = y] = (1 - gamma) y / (gamma (n - y + 1)) for X ~ Bin(n, gamma)"


def prove() -> tuple[Steps, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _replaced(), _added()


def _shifted(odds: Expr, y: Expr, n: Expr) -> Expr:
    """Likelihood ratio of a count with the user's message to one without."""
    return odds * y / (n - y + 1)


def _replaced() -> Steps:
    t = Steps("another value in place of one: the ratio rises with one count and falls with the other, whatever gamma is")
    t.assume(_SHIFT)
    t.assume("the two labels' blankets are independent; all other labels have the same law on both inputs")
    (odds,), (y, silent, other, dumb) = t.positive("odds"), t.nonnegative("y", "silent", "other", "dumb")
    n, n_again = y + 2 + silent, other + 2 + dumb  # two ways to write n: counts y + 1 or other + 1, and a silent user at least
    ours, theirs = _shifted(odds, y + 1, n), _shifted(odds, other + 1, n_again)
    t.equal(ours / theirs, (y + 1) * (n_again - other) / ((n - y) * (other + 1)), "the loss of a view is free of gamma")
    t.at_most(ours, _shifted(odds, y + 2, n), "it rises with the count of the first value")
    t.at_most(theirs, _shifted(odds, other + 2, n_again), "and falls with the count of the second")
    return t


def _added() -> Steps:
    t = Steps("a user more or less: every count's ratio rises with it", relation="add-remove")
    t.assume(_SHIFT)
    t.assume("P[Bin(n, gamma) = y] / P[Bin(n - 1, gamma) = y] = (1 - gamma) n / (n - y): the absent user's coin is missing")
    (odds,), (y, silent) = t.positive("odds"), t.nonnegative("y", "silent")
    n, kept = y + 2 + silent, odds / (1 + odds)  # kept is 1 - gamma
    t.at_most(kept * n / (n - y), kept * n / (n - y - 1), "a label that the user does not hold")
    both = [_shifted(odds, count, n) * kept * n / (n - count) for count in (y, y + 1)]
    t.at_most(both[0], both[1], "the label that the user holds")
    return t
