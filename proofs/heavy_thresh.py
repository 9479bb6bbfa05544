"""Theorem: HEAVYTHRESH costs log(p/(1-p)) for each vote in which two streams differ, and log(q/(1-q)) for each report.

A vote is a bit, published as it is with probability p, or else flipped. A report is a row, uniform whatever the user holds, and
a sign: in a row in which the user's column has the entry 2 x - 1, a sign of that mean, told with probability q or else its
opposite; a user without budget tells a fair sign, as if x were 1/2. Two streams differ in at most twice as many votes as either
may cast, less those that both cast in the same epoch whatever the streams; but they send their reports in the same epochs.

Where the noise levels are positive, counters end below epsilon/4 + a and epsilon/4 + b, which gives 3/4 epsilon + 2a + b. Where
the first vote is yes whatever the stream, that vote of both counts no more, which gives 3/4 epsilon + b: epsilon, where b is at
most epsilon/4. The repaired one, whose counters stay within epsilon/4, is 3/4 epsilon-LDP.
"""

from __future__ import annotations

from sympy import Expr, Rational

from ldpaudit.proofs._kernel import Theorem

RELATION = "user-level"


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _transcript("HeavyThresh"), _overshoot(), _repaired()


def _transcript(mechanism: str) -> Theorem:
    t = Theorem(mechanism=mechanism, sentence="HEAVYTHRESH", relation=RELATION)
    t.assume("given the updates so far, a user's votes, rows and signs are independent, and their laws depend on the stream alone")
    t.assume("the counters are checked on every path, so the numbers of votes and reports hold for every adversary")
    vote_excess, sign_excess, shared, own, idle, sent = t.nonnegative(
        "vote_excess", "sign_excess", "shared", "own", "idle", "sent"
    )
    p, q = ((1 + excess) / (2 + excess) for excess in (vote_excess, sign_excess))
    differing = 2 * own - idle
    names = ("vote_coin", "estimate_coin", "votes", "common", "differing_votes", "estimates")
    p_field, q_field, votes, common, differing_votes, estimates = map(t.parameter, names)
    t.parametrize(
        dict(zip(names, (p, q, shared + own, shared, differing, sent), strict=True)),
        {
            vote_excess: p_field / (1 - p_field) - 1,
            sign_excess: q_field / (1 - q_field) - 1,
            shared: common,
            own: votes - common,
            idle: 2 * (votes - common) - differing_votes,
            sent: estimates,
        },
    )
    t.at_most(differing, 2 * (shared + own) - 2 * shared, "each stream's votes, without those that both cast at once")
    t.costs(
        p_field / (1 - p_field),
        {"yes against no, and yes is published": (p, 1 - p), "no is published": (1 - p, p)},
        {"the same vote, and it is published": (p, p), "the other is published": (1 - p, 1 - p)},
        times=differing_votes,
    )
    mean, other = t.share("mean", "other")
    plus, plus_other = (q * m + (1 - q) * (1 - m) for m in (mean, other))
    t.equal(plus, (1 + (2 * mean - 1) * (2 * q - 1)) / 2, "a sign of mean 2 x - 1, told with probability q")
    t.equal(plus.subs(mean, Rational(1, 2)), Rational(1, 2), "a fair sign, where nothing is left to spend")
    t.costs(
        q_field / (1 - q_field),
        {"a sign of one mean against another is 1": (plus, plus_other), "it is -1": (1 - plus, 1 - plus_other)},
        times=estimates,
        at={mean: 1, other: 0},
    )
    t.attained("in every vote that differs, and by signs of rows that differ", "where as many votes and reports differ")
    return t


def _overshoot() -> Theorem:
    t = Theorem(mechanism="HeavyThresh", sentence="HEAVYTHRESH with positive noise levels", relation=RELATION)
    (forced,) = t.share("forced")
    quarter, a, b, votes, estimates = _counters(t, 1, {"common": forced})
    t.at_most(votes * a, quarter + a, "a counter below epsilon/4 grows by a once more")
    t.at_most(estimates * b, quarter + b, "a counter below epsilon/4 grows by b once more")
    epsilon, a_field, b_field, common = map(t.parameter, ("epsilon", "a", "b", "common"))
    total = epsilon * 3 / 4 + 2 * (1 - common) * a_field + b_field
    t.sums(total, _transcript("HeavyThresh"), [(2 * (votes - forced), a), (estimates, b)])
    return t


def _repaired() -> Theorem:
    t = Theorem(mechanism="HeavyThreshRepaired", sentence="the repaired HEAVYTHRESH", relation=RELATION)
    quarter, a, b, votes, estimates = _counters(t, 0, {})
    t.at_most(votes * a, quarter, "the counter of votes stays within epsilon/4")
    t.at_most(estimates * b, quarter, "the counter of estimates stays within epsilon/4")
    t.sums(t.parameter("epsilon") * 3 / 4, _transcript("HeavyThreshRepaired"), [(2 * votes, a), (estimates, b)])
    t.at_most(3 * quarter, 4 * quarter, "so the claim holds")
    return t


def _counters(t: Theorem, over: int, more: dict[str, Expr]) -> tuple[Expr, ...]:
    """Counters that end at most so many noise levels above epsilon/4: that quarter, the levels, and how often they grew."""
    t.assume("log(p/(1-p)) <= a and log(q/(1-q)) <= b: coins are rounded toward 1/2")
    t.assume("two streams differ in at most twice as many votes as either may cast, less those forced, by the theorem before")
    quarter, a, b = t.positive("quarter", "noise_a", "noise_b")
    left_a, left_b = t.nonnegative("left_a", "left_b")
    votes, estimates = (quarter + over * a - left_a) / a, (quarter + over * b - left_b) / b
    names = ("epsilon", "a", "b", "votes", "estimates")
    epsilon, a_field, b_field, votes_field, estimates_field = map(t.parameter, names)
    t.parametrize(
        dict(zip(names, (4 * quarter, a, b, votes, estimates), strict=True)) | more,
        {
            quarter: epsilon / 4,
            a: a_field,
            b: b_field,
            left_a: epsilon / 4 + over * a_field - votes_field * a_field,
            left_b: epsilon / 4 + over * b_field - estimates_field * b_field,
        }
        | {symbol: t.parameter(name) for name, symbol in more.items()},
    )
    return quarter, a, b, votes, estimates
