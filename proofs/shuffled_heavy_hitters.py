"""Theorems on the search for heavy hitters by prefixes: what is kept, and what is not, at which error of the oracles.

1. A replaced user changes one element of the oracle of every length, and no more. What that costs is proved in
   proofs/range_queries.py: one replaced message is told by two counters, and the oracles are independent.
2. At a threshold of twice the error no value that reaches the threshold is lost.
3. That bounds nothing of what is kept besides: a prefix that nobody holds may be estimated at T/2, and so may all of a length.
4. At four times the error it does.

No epsilon is enough at delta = 0, so none of these is a bound there: the accountant says which (epsilon, delta) hold.
"""

from __future__ import annotations

from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Steps, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _replaced(), _complete(), _few()


def _replaced() -> Steps:
    t = Steps("a replaced user changes one element in the oracle of every length, at most")
    t.assume("a user sends the oracle of a length one element, the value's prefix of that length; other messages keep their law")
    more, bit, other, less = t.nonnegative("more", "bit", "other", "less")
    last = 1 / (1 + less)  # a bit of the smaller prefix, at most 1
    larger = other + 1 + more  # two prefixes that differ, as numbers
    t.at_most(1 + more, (2 * larger + bit) - (2 * other + last), "prefixes that differ also differ when each is longer by a bit")
    return t


def _complete() -> Steps:
    t = Steps("at a threshold of twice the error every value that reaches it is named")
    t.assume("no estimate that is asked for is off by more than the error, and T is at least twice the error")
    error, spare, more, others, less = t.nonnegative("error", "spare", "more", "others", "less")
    threshold = 2 * error + spare
    holders = threshold + more  # of the value
    t.at_most(holders, holders + others, "a prefix of the value has at least as many holders")
    estimate = holders + others - error / (1 + less)
    t.at_most(threshold / 2, estimate, "so each is estimated at T/2 or more, and is kept, as the one before it was")
    return t


def _few() -> Steps:
    t = Steps("at a threshold of four times the error at most 4 n/T prefixes of a length are kept")
    t.assume("no estimate that is asked for is off by more than the error, and T is at least four times the error")
    t.assume("users hold one value each, so that the numbers of holders of the prefixes of a length add up to n")
    (threshold,), (spare, less, over) = t.positive("T"), t.nonnegative("spare", "less", "over")
    error = threshold / (4 * (1 + spare))
    holders = threshold / 2 + over - error / (1 + less)
    t.at_most(threshold / 4, holders, "what is estimated at T/2 or more has at least T/2 less the error of holders")
    kept, rest = t.nonnegative("kept", "rest")
    users = kept * threshold / 4 + rest
    t.at_most(kept, 4 * users / threshold, "the users' values have one prefix of the length each: at most 4 n/T are kept")
    t.equal(2 * (4 * users / threshold), 8 * users / threshold, "whose extensions are asked for next: at most 8 n/T")
    return t
