"""What the theorems about THRESH, HEAVYTHRESH and their repaired forms share: votes, and the counters that end them."""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem

RELATION = "user-level"


def votes(t: Theorem) -> tuple[Expr, Expr]:
    """The cost of the votes in which two streams differ; the coin of estimates in symbols, and in fields."""
    vote_excess, estimate_excess, shared, own, idle, sent = t.nonnegative(
        "vote_excess", "estimate_excess", "shared", "own", "idle", "sent"
    )
    p, q = ((1 + excess) / (2 + excess) for excess in (vote_excess, estimate_excess))
    differing = 2 * own - idle
    names = ("vote_coin", "estimate_coin", "votes", "common", "differing_votes", "estimates")
    p_field, q_field, cast, common, differing_votes, estimates = map(t.parameter, names)
    t.parametrize(
        dict(zip(names, (p, q, shared + own, shared, differing, sent), strict=True)),
        {
            vote_excess: p_field / (1 - p_field) - 1,
            estimate_excess: q_field / (1 - q_field) - 1,
            shared: common,
            own: cast - common,
            idle: 2 * (cast - common) - differing_votes,
            sent: estimates,
        },
    )
    t.at_most(differing, 2 * (shared + own) - 2 * shared, "each stream's votes, without those that both cast at once")
    vote_costs(t, p)
    return q, q_field


def vote_costs(t: Theorem, p: Expr) -> None:
    """A vote is a bit, published as it is with probability p, or else flipped."""
    p_field = t.parameter("vote_coin")
    t.costs(
        p_field / (1 - p_field),
        {"yes against no, and yes is published": (p, 1 - p), "no is published": (1 - p, p)},
        {"the same vote, and it is published": (p, p), "the other is published": (1 - p, 1 - p)},
        times=t.parameter("differing_votes"),
    )


def counters(t: Theorem, twice: str, over: int, more: dict[str, Expr]) -> tuple[Expr, ...]:
    """Counters that end at most `over` noise levels above epsilon/4: that quarter, the levels, and how often they grew.

    ``twice``: the votes in which two streams differ, in words; ``more``: further fields, each a symbol of its own.
    """
    t.assume("log(p/(1-p)) <= a and log(q/(1-q)) <= b: coins are rounded toward 1/2")
    t.assume(f"two streams differ in at most twice as many votes as either {twice}, by the theorem before")
    quarter, a, b = t.positive("quarter", "noise_a", "noise_b")
    left_a, left_b = t.nonnegative("left_a", "left_b")
    votes, estimates = (quarter + over * a - left_a) / a, (quarter + over * b - left_b) / b
    names = ("epsilon", "a", "b", "votes", "estimates")
    epsilon, a_field, b_field, votes_field, estimates_field = map(t.parameter, names)
    recover = {
        quarter: epsilon / 4, a: a_field, b: b_field,
        left_a: epsilon / 4 + over * a_field - votes_field * a_field,
        left_b: epsilon / 4 + over * b_field - estimates_field * b_field,
    }  # fmt: skip
    fields = dict(zip(names, (4 * quarter, a, b, votes, estimates), strict=True))
    t.parametrize(fields | more, recover | {symbol: t.parameter(name) for name, symbol in more.items()})
    if over:
        t.at_most(votes * a, quarter + over * a, "a counter below epsilon/4 grows by a once more")
        t.at_most(estimates * b, quarter + over * b, "a counter below epsilon/4 grows by b once more")
    else:
        t.at_most(votes * a, quarter, "the counter of votes stays within epsilon/4")
        t.at_most(estimates * b, quarter, "the counter of estimates stays within epsilon/4")
    return quarter, a, b, votes, estimates


def repaired(mechanism: str, sentence: str, twice: str, transcript: Theorem) -> Theorem:
    """3/4 epsilon, where counters stay within epsilon/4."""
    t = Theorem(mechanism=mechanism, sentence=sentence, relation=RELATION)
    quarter, a, b, votes, estimates = counters(t, twice, 0, {})
    t.sums(t.parameter("epsilon") * 3 / 4, transcript, [(2 * votes, a), (estimates, b)])
    t.at_most(3 * quarter, 4 * quarter, "so the claim holds")
    return t
