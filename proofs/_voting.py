"""What the theorems about THRESH, HEAVYTHRESH and their repaired forms share: the counters of votes and estimates that end them."""

from __future__ import annotations

from sympy import Expr

from ldpaudit.proofs._kernel import Theorem

RELATION = "user-level"


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
