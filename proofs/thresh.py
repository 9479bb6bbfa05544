"""Theorem: THRESH costs log(p/(1-p)) for each vote in which two streams differ, and log(q/(1-q)) for each estimate.

A vote is a bit, published as it is with probability p, or else flipped. An estimate is a bit of mean x, the share of
ones, published alike with q; a user without budget publishes as if x were 0. Two streams differ in at most twice as
many votes as either may cast, less those that both cast in the same epoch whatever the streams; but they send their
estimates in the same epochs.

Where the noise levels a and b are positive, counters stop a user once they have reached epsilon/4, so they end below
epsilon/4 + a and epsilon/4 + b, and THRESH is (3/4 epsilon + 2a + b)-LDP. This is what is left of the paper's Theorem
4.1; it gives epsilon only where 2a + b <= epsilon/4, of which Assumption 4.2 (a < epsilon) says nothing.

The repaired THRESH is 3/4 epsilon-LDP, and so epsilon-LDP: as no counter ever exceeds epsilon/4, the votes of the two streams cost
at most epsilon/2 and their estimates, which both send in the same epochs, epsilon/4.
"""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem

RELATION = "user-level"


def prove() -> tuple[Theorem, ...]:
    """Check THRESH's theorems. Raises ProofError naming the step, were one false, as does `thresh_repaired`."""
    transcript = _transcript()
    return transcript, _overshoot(transcript)


def thresh_repaired() -> tuple[Theorem, ...]:
    """Check the theorems of the repaired one."""
    transcript = _repaired_transcript()
    return transcript, _within_epsilon(transcript)


def _of_transcripts(mechanism: str, sentence: str) -> Theorem:
    t = Theorem(mechanism=mechanism, sentence=sentence, relation=RELATION)
    t.assume("given the updates so far, a user's bits are independent, and their laws depend on his stream alone")
    t.assume("the counters are checked on every path, so the numbers of votes and estimates hold for every adversary")
    return t


def _votes_cost(t: Theorem, p: Expr, times: Expr) -> None:
    p_field = t.parameter("vote_coin")
    t.costs(
        p_field / (1 - p_field),
        {"yes against no, and yes is published": (p, 1 - p), "no is published": (1 - p, p)},
        {"the same vote, and it is published": (p, p), "the other is published": (1 - p, 1 - p)},
        times=times,
    )


def _estimates_cost(t: Theorem, q: Expr, mean: Expr, other: Expr) -> None:
    q_field = t.parameter("estimate_coin")
    one, one_other = (_one(q, m) for m in (mean, other))
    t.costs(
        q_field / (1 - q_field),
        {"an estimate of one mean against another is 1": (one, one_other), "it is 0": (1 - one, 1 - one_other)},
        times=t.parameter("estimates"),
        at={mean: 1, other: 0},
    )


def _one(q: Expr, mean: Expr) -> Expr:
    """Probability that an estimate of this mean is published as 1."""
    return q * mean + (1 - q) * (1 - mean)


def _transcript() -> Theorem:
    t = _of_transcripts("Thresh", "THRESH")
    vote_excess, estimate_excess, shared, own, idle, sent = t.nonnegative(
        "vote_excess", "estimate_excess", "shared", "own", "idle", "sent"
    )
    r, s = 1 + vote_excess, 1 + estimate_excess
    p, q = r / (1 + r), s / (1 + s)
    differing = 2 * own - idle
    names = ("vote_coin", "estimate_coin", "votes", "common", "differing_votes", "estimates")
    p_field, q_field, votes, common, differing_votes, estimates = map(t.parameter, names)
    t.parametrize(
        dict(zip(names, (p, q, shared + own, shared, differing, sent), strict=True)),
        {
            vote_excess: p_field / (1 - p_field) - 1,
            estimate_excess: q_field / (1 - q_field) - 1,
            shared: common,
            own: votes - common,
            idle: 2 * (votes - common) - differing_votes,
            sent: estimates,
        },
    )
    t.at_most(differing, 2 * (shared + own) - 2 * shared, "each stream's votes, without those that both cast at once")
    _votes_cost(t, p, differing_votes)
    mean, other = t.share("mean", "other")
    t.equal(_one(q, mean), (1 + mean * (s - 1)) / (s + 1), "as printed, with s = e**b: a bit of that mean, randomized with q")
    _estimates_cost(t, q, mean, other)
    t.attained(
        "in every vote that differs, and by estimates of ones against zeros, as a spent user publishes",
        "where as many votes differ and as many estimates are sent",
    )
    return t


def _repaired_transcript() -> Theorem:
    t = _of_transcripts("ThreshRepaired", "the repaired THRESH")
    vote_excess, estimate_excess, differing, sent = t.nonnegative("vote_excess", "estimate_excess", "differing", "sent")
    r, s = 1 + vote_excess, 1 + estimate_excess
    p, q = r / (1 + r), s / (1 + s)
    names = ("vote_coin", "estimate_coin", "differing_votes", "estimates")
    p_field, q_field, votes, estimates = map(t.parameter, names)
    t.parametrize(
        dict(zip(names, (p, q, differing, sent), strict=True)),
        {
            vote_excess: p_field / (1 - p_field) - 1,
            estimate_excess: q_field / (1 - q_field) - 1,
            differing: votes,
            sent: estimates,
        },
    )
    _votes_cost(t, p, votes)
    mean, other = t.share("mean", "other")
    t.at_most(1 - q, _one(q, mean), "1 is published at least as often as at mean 0, which is also what a spent user publishes")
    _estimates_cost(t, q, mean, other)
    return t


def _overshoot(transcript: Theorem) -> Theorem:
    t = Theorem(mechanism="Thresh", sentence="THRESH with positive noise levels", relation=RELATION)
    why = "a counter below epsilon/4 grows by a once more", "a counter below epsilon/4 grows by b once more"
    return _of_counters(t, transcript, 1, "as either may cast", *why)


def _within_epsilon(transcript: Theorem) -> Theorem:
    t = Theorem(mechanism="ThreshRepaired", sentence="the repaired THRESH", relation=RELATION)
    why = "the counter of votes stays within epsilon/4", "the counter of estimates stays within epsilon/4"
    return _of_counters(t, transcript, 0, "as either casts", *why, "so the claim holds")


def _of_counters(t: Theorem, transcript: Theorem, beyond: int, votes_of: str, *why: str) -> Theorem:
    """What counters that end at most `beyond` noise levels above epsilon/4 leave of the transcript's cost."""
    t.assume("log(p/(1-p)) <= a and log(q/(1-q)) <= b: coins are rounded toward 1/2")
    t.assume(f"two streams differ in at most twice as many votes {votes_of}, by the theorem before")
    quarter, a, b = t.positive("quarter", "noise_a", "noise_b")
    left_a, left_b = t.nonnegative("left_a", "left_b")
    names = ("epsilon", "a", "b", "votes", "estimates")
    epsilon, a_field, b_field, votes_field, estimates_field = map(t.parameter, names)
    votes, estimates = (quarter + beyond * a - left_a) / a, (quarter + beyond * b - left_b) / b
    t.parametrize(
        dict(zip(names, (4 * quarter, a, b, votes, estimates), strict=True)),
        {
            quarter: epsilon / 4,
            a: a_field,
            b: b_field,
            left_a: epsilon / 4 + beyond * a_field - votes_field * a_field,
            left_b: epsilon / 4 + beyond * b_field - estimates_field * b_field,
        },
    )
    t.at_most(votes * a, quarter + beyond * a, why[0])
    t.at_most(estimates * b, quarter + beyond * b, why[1])
    t.sums(epsilon * 3 / 4 + beyond * (2 * a_field + b_field), transcript, [(2 * votes, a), (estimates, b)])
    for word in why[2:]:
        t.at_most(3 * quarter, 4 * quarter, word)
    return t
