"""Theorem on sparse statistical queries in the shuffled model: what replacing a user changes.

An answer is off by at most the sampling error (Hoeffding 1963) and the oracle's error over n, at most half of the tolerance each.

What D replaced elements cost is proved in proofs/range_queries.py, one by one, and in proofs/shuffled_hadamard.py, together. No
epsilon is enough at delta = 0, so this is no bound there: the accountant says which (epsilon, delta) hold.
"""

from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Steps, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    t = Steps("a replaced user changes as many elements as the larger set has that are not common")
    t.assume("who sends fewer than k fills up with the first elements that stand for no query, as many as are needed")
    common, own, more, spare = t.nonnegative("common", "own", "more", "spare")
    larger, smaller = common + own + more, common + own
    k = larger + spare
    filled, wider = k - larger, k - smaller
    t.at_most(filled, wider, "what fills up the larger set fills up the smaller one as well")
    t.equal(k - common - filled, larger - common, "of k elements the common ones and those stay, the others are replaced")
    t.at_most(larger - common, k, "which are at most k, as Corollary B.1 counts")
    return (t,)
