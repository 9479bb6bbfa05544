"""Theorem on the search for heavy hitters by prefixes in the shuffled model: what replacing a user changes.

One element of the oracle of every length, and no more. What that costs is proved in proofs/range_queries.py: one replaced
message is told by two counters, and the oracles are independent. No epsilon is enough at delta = 0, so this is no bound there: the
accountant says which (epsilon, delta) hold. accountants/claims/shuffled_heavy_hitters.py has what is kept at which error.
"""

from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Steps, ...]:
    """Check the theorem. Raises ProofError naming the step, were one false."""
    t = Steps("a replaced user changes one element in the oracle of every length, at most")
    t.assume("a user sends the oracle of a length one element, the value's prefix of that length; other messages keep their law")
    more, bit, other, less = t.nonnegative("more", "bit", "other", "less")
    last = 1 / (1 + less)  # a bit of the smaller prefix, at most 1
    larger = other + 1 + more  # two prefixes that differ, as numbers
    t.at_most(1 + more, (2 * larger + bit) - (2 * other + last), "prefixes that differ also differ when each is longer by a bit")
    return (t,)
