"""Theorem: the repaired THRESH is 3/4 epsilon-LDP, and so epsilon-LDP.

Its transcript costs what that of THRESH does: log(p/(1-p)) for each vote in which two streams differ, log(q/(1-q)) for
each estimate. And as no counter ever exceeds epsilon/4, the votes of the two streams cost at most epsilon/2 and their
estimates, which both send in the same epochs, epsilon/4.
"""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem

RELATION = "user-level"


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    transcript = _transcript()
    return transcript, _within_epsilon(transcript)


def _transcript() -> Theorem:
    t = Theorem(mechanism="ThreshRepaired", sentence="the repaired THRESH", relation=RELATION)
    t.assume("given the updates so far, a user's bits are independent, and their laws depend on his stream alone")
    t.assume("the counters are checked on every path, so the numbers of votes and estimates hold for every adversary")
    vote_excess, estimate_excess, differing, sent = t.nonnegative("vote_excess", "estimate_excess", "differing", "sent")
    names = ("vote_coin", "estimate_coin", "differing_votes", "estimates")
    p_field, q_field, votes, estimates = map(t.parameter, names)
    p, q = (_coin(1 + excess) for excess in (vote_excess, estimate_excess))
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


def _coin(ratio: Expr) -> Expr:
    return ratio / (1 + ratio)


def _within_epsilon(transcript: Theorem) -> Theorem:
    t = Theorem(mechanism="ThreshRepaired", sentence="the repaired THRESH", relation=RELATION)
    t.assume("log(p/(1-p)) <= a and log(q/(1-q)) <= b: coins are rounded toward 1/2")
    t.assume("two streams differ in at most twice as many votes as either casts, by the theorem before")
    quarter, a, b = t.positive("quarter", "noise_a", "noise_b")
    left_a, left_b = t.nonnegative("left_a", "left_b")
    names = ("epsilon", "a", "b", "votes", "estimates")
    epsilon, a_field, b_field, votes_field, estimates_field = map(t.parameter, names)
    votes, estimates = (quarter - left_a) / a, (quarter - left_b) / b
    t.parametrize(
        dict(zip(names, (4 * quarter, a, b, votes, estimates), strict=True)),
        {
            quarter: epsilon / 4,
            a: a_field,
            b: b_field,
            left_a: epsilon / 4 - votes_field * a_field,
            left_b: epsilon / 4 - estimates_field * b_field,
        },
    )
    t.at_most(votes * a, quarter, "the counter of votes stays within epsilon/4")
    t.at_most(estimates * b, quarter, "the counter of estimates stays within epsilon/4")
    t.sums(epsilon * 3 / 4, transcript, [(2 * votes, a), (estimates, b)])
    t.at_most(3 * quarter, 4 * quarter, "so the claim holds")
    return t
