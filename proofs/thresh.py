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
from ldpaudit.proofs._voting import RELATION, counters, repaired, vote_costs, votes


def prove() -> tuple[Theorem, ...]:
    """Check THRESH's theorems. Raises ProofError naming the step, were one false, as does `thresh_repaired`."""
    transcript = _transcript()
    return transcript, _overshoot(transcript)


def thresh_repaired() -> tuple[Theorem, ...]:
    """Check the theorems of the repaired one."""
    transcript = _repaired_transcript()
    return transcript, repaired("ThreshRepaired", "the repaired THRESH", "casts", transcript)


def _of_transcripts(mechanism: str, sentence: str) -> Theorem:
    t = Theorem(mechanism=mechanism, sentence=sentence, relation=RELATION)
    t.assume("given the updates so far, a user's bits are independent, and their laws depend on their stream alone")
    t.assume("the counters are checked on every path, so the numbers of votes and estimates hold for every adversary")
    return t


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
    q, _ = votes(t)
    (mean, other), s = t.share("mean", "other"), q / (1 - q)
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
    p_field, q_field, differing_votes, estimates = map(t.parameter, names)
    t.parametrize(
        dict(zip(names, (p, q, differing, sent), strict=True)),
        {
            vote_excess: p_field / (1 - p_field) - 1,
            estimate_excess: q_field / (1 - q_field) - 1,
            differing: differing_votes,
            sent: estimates,
        },
    )
    vote_costs(t, p)
    mean, other = t.share("mean", "other")
    t.at_most(1 - q, _one(q, mean), "1 is published at least as often as at mean 0, which is also what a spent user publishes")
    _estimates_cost(t, q, mean, other)
    return t


def _overshoot(transcript: Theorem) -> Theorem:
    t = Theorem(mechanism="Thresh", sentence="THRESH with positive noise levels", relation=RELATION)
    _, a, b, cast, estimates = counters(t, "may cast", 1, {})
    epsilon, a_field, b_field = map(t.parameter, ("epsilon", "a", "b"))
    t.sums(epsilon * 3 / 4 + 2 * a_field + b_field, transcript, [(2 * cast, a), (estimates, b)])
    return t
