"""Theorem: THRESH costs log(p/(1-p)) for each vote in which two streams differ, and log(q/(1-q)) for each estimate.

A vote is a bit, published as it is with probability p, or else flipped. An estimate is a bit of mean x, the share of
ones, published alike with q; a user without budget publishes as if x were 0. Two streams differ in at most twice as
many votes as either may cast, less those that both cast in the same epoch whatever the streams; but they send their
estimates in the same epochs.

Where the noise levels a and b are positive, counters stop a user once they have reached epsilon/4, so they end below
epsilon/4 + a and epsilon/4 + b, and THRESH is (3/4 epsilon + 2a + b)-LDP. This is what is left of the paper's Theorem
4.1; it gives epsilon only where 2a + b <= epsilon/4, of which Assumption 4.2 (a < epsilon) says nothing.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Proof

RELATION = "user-level"


def prove() -> tuple[Proof, ...]:
    """Check the theorems.

    Raises
    ------
    ProofError
        Naming the step, were one false.
    """
    return _transcript(), _overshoot()


def _transcript() -> Proof:
    t = Proof("Thresh", "THRESH costs log(p/(1-p)) a vote that differs and log(q/(1-q)) an estimate", RELATION)
    t.assume("given the updates so far, a user's bits are independent, and their laws depend on his stream alone")
    t.assume("the counters are checked on every path, so the numbers of votes and estimates hold for every adversary")
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
    t.costs(r, {
        "yes and no, and yes is published": p / (1 - p),
        "no and yes, and yes is published": (1 - p) / p,
        "yes and yes, or no and no": p / p,
    }, times=differing)  # fmt: skip
    t.equal(p / (1 - p), r, "attained in every vote that differs, so none costs less")
    (less,) = t.nonnegative("less")
    mean = 1 / (1 + less)  # every mean but 0
    one = (1 + mean * (s - 1)) / (s + 1)
    t.equal(one, q * mean + (1 - q) * (1 - mean), "as printed, with s = e**b: a bit of that mean, randomized with q")
    t.at_most(1 - q, one, "1 is published at least as often as at mean 0, which is also what a spent user publishes")
    t.at_most(one, q, "and at most as often as at mean 1")
    t.costs(s, {"a probability of 1, or of 0, between 1 - q and q, by another": q / (1 - q)}, times=sent)
    t.equal(q / (1 - q), s, "attained by ones against zeros, so none costs less")
    return t


def _overshoot() -> Proof:
    t = Proof("Thresh", "THRESH with positive noise levels is (3/4 epsilon + 2a + b)-LDP", RELATION)
    t.assume("log(p/(1-p)) <= a and log(q/(1-q)) <= b: coins are rounded toward 1/2")
    t.assume("what the theorem before says of votes and estimates")
    quarter, a, b = t.positive("quarter", "noise_a", "noise_b")
    left_a, left_b = t.nonnegative("left_a", "left_b")
    names = ("epsilon", "a", "b", "votes", "estimates")
    epsilon, a_field, b_field, votes_field, estimates_field = map(t.parameter, names)
    votes, estimates = (quarter + a - left_a) / a, (quarter + b - left_b) / b
    t.parametrize(
        dict(zip(names, (4 * quarter, a, b, votes, estimates), strict=True)),
        {
            quarter: epsilon / 4,
            a: a_field,
            b: b_field,
            left_a: epsilon / 4 + a_field - votes_field * a_field,
            left_b: epsilon / 4 + b_field - estimates_field * b_field,
        },
    )
    t.at_most(votes * a, quarter + a, "a counter below epsilon/4 grows by a once more")
    t.at_most(estimates * b, quarter + b, "a counter below epsilon/4 grows by b once more")
    whole = {"the votes of both streams, and the estimates": 2 * votes * a + estimates * b}
    t.costs(3 * quarter + 2 * a + b, whole, nats=True)
    return t
