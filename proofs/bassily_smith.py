"""Theorem: the Bassily-Smith randomizer is epsilon-LDP exactly for epsilon >= log(p/(1-p)).

A report is a row, uniform whatever the input, and a sign. In a row in which the input's column has the entry u in [-1, 1],
the sign is 1 with probability (1 + u (2p-1))/2: as if a sign of mean u were told with probability p, and else its opposite. A
user who is absent has a column of zeros, and costs less against one who is there: log(1/(2(1-p))). A report z
is c root(w) s in its row and 0 elsewhere, c = 1/(2p - 1), so that its mean is the input, and on a word its variance in the
word's direction is c^2 - 1.
"""

from __future__ import annotations

from ldpaudit.proofs._kernel import Lemma, Theorem


def prove() -> tuple[Lemma, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return *(_privacy(name) for name in ("BassilySmith", "ProjectedBassilySmith")), _absence(), _apart()


def _privacy(mechanism: str) -> Theorem:
    t = Theorem(mechanism=mechanism, sentence=f"the Bassily-Smith randomizer ({mechanism})")
    t.assume("the row is uniform and independent of the input, so a report costs what its sign costs, given the row")
    t.assume("the entries of an input's column are from -1 to 1: 2 m - 1 and 2 m' - 1 for two inputs")
    p, odds = t.coin()
    mean, other = t.share("mean", "other")
    plus, plus_other = (p * m + (1 - p) * (1 - m) for m in (mean, other))
    t.equal(plus, (1 + (2 * mean - 1) * (2 * p - 1)) / 2, "a sign of mean u, told with probability p")
    t.costs(
        odds,
        {"s = 1 in a row of u, and of u' for x'": (plus, plus_other), "s = -1 there": (1 - plus, 1 - plus_other)},
        at={mean: 1, other: 0},
    )
    # Words may all have the same column.
    t.attained("in a row in which one input's entry is 1 and the other's is -1", "where there is such a row")
    return t


def _absence() -> Theorem:
    t = Theorem(mechanism="RowSign", sentence="the Bassily-Smith randomizer of a user who may be absent", relation="add-remove")
    t.assume("the row is uniform and independent of the input; where the user is absent the sign is fair")
    p, _ = t.coin()
    (mean,) = t.share("mean")
    plus = p * mean + (1 - p) * (1 - mean)
    t.at_most(2 * p, 1 / (2 * (1 - p)), "to be there and told the truth is less telling than to be there and not")
    t.costs(
        1 / (2 * (1 - t.parameter("p"))),
        {"s = 1, the user is there": (plus, (1 - plus) / 2 + plus / 2), "s = -1": (1 - plus, (1 - plus) / 2 + plus / 2)},
        {"s = 1, the user is not": ((1 - plus) / 2 + plus / 2, plus), "s = -1": ((1 - plus) / 2 + plus / 2, 1 - plus)},
        at={mean: 1},
    )
    t.attained("by an absent user against one whose entry is 1 or -1, at the other sign")
    return t


def _apart() -> Lemma:
    t = Lemma(sentence="in no row are the terms of the blanket divergence further apart than where two inputs have opposite signs")
    t.assume("a report's term is R(x)/U - e^epsilon R(x')/U under the uniform law U of a row and a sign")
    t.assume("of two laws on two equally likely values with one mean, the nearer has the smaller mean of every convex function")
    theta, nats = t.nonnegative("theta", "nats")
    (mean, other), e = t.share("mean", "other"), 1 + nats  # e stands for e^epsilon
    u, v = 2 * mean - 1, 2 * other - 1
    up, down = ((1 + s * u * theta) - e * (1 + s * v * theta) for s in (1, -1))
    t.equal(up + down, 2 * (1 - e), "both signs are equally likely under U: one mean, 1 - e^epsilon, in every row")
    most = 2 * theta * (1 + e)
    t.at_most(up - down, most, "the distance of a row's two terms, and that of 1 and -1")
    t.at_most(down - up, most, "and the other way round")
    return t
