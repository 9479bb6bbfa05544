"""Theorem: the repaired THRESH is 3/4 epsilon-LDP, and so epsilon-LDP.

Its transcript costs what that of THRESH does: log(p/(1-p)) for each vote in which two streams differ, log(q/(1-q)) for
each estimate. And as no counter ever exceeds epsilon/4, the votes of the two streams cost at most epsilon/2 and their
estimates, which both send in the same epochs, epsilon/4.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Theorem
from ldpaudit.proofs._voting import RELATION, repaired


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    transcript = _transcript()
    return transcript, repaired("ThreshRepaired", "the repaired THRESH", "casts", transcript)


def _transcript() -> Theorem:
    t = Theorem(mechanism="ThreshRepaired", sentence="the repaired THRESH", relation=RELATION)
    t.assume("given the updates so far, a user's bits are independent, and their laws depend on his stream alone")
    t.assume("the counters are checked on every path, so the numbers of votes and estimates hold for every adversary")
    vote_excess, estimate_excess, differing, sent = t.nonnegative("vote_excess", "estimate_excess", "differing", "sent")
    names = ("vote_coin", "estimate_coin", "differing_votes", "estimates")
    p_field, q_field, votes, estimates = map(t.parameter, names)
    p, q = ((1 + excess) / (2 + excess) for excess in (vote_excess, estimate_excess))
    t.parametrize(
        dict(zip(names, (p, q, differing, sent), strict=True)),
        {
            vote_excess: p_field / (1 - p_field) - 1,
            estimate_excess: q_field / (1 - q_field) - 1,
            differing: votes,
            sent: estimates,
        },
    )
    t.costs(
        p_field / (1 - p_field),
        {"yes against no, and yes is published": (p, 1 - p), "no is published": (1 - p, p)},
        {"the same vote, and it is published": (p, p), "the other is published": (1 - p, 1 - p)},
        times=votes,
    )
    mean, other = t.share("mean", "other")
    one, one_other = (q * m + (1 - q) * (1 - m) for m in (mean, other))
    t.at_most(1 - q, one, "1 is published at least as often as at mean 0, which is also what a spent user publishes")
    t.costs(
        q_field / (1 - q_field),
        {"an estimate of one mean against another is 1": (one, one_other), "it is 0": (1 - one, 1 - one_other)},
        times=estimates,
        at={mean: 1, other: 0},
    )
    return t
