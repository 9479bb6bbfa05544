"""Theorem: the Bassily-Smith randomizer is epsilon-LDP exactly for epsilon >= log(p/(1-p)).

A report is a row, uniform whatever the input, and a sign. In a row in which the input's column has the entry u in [-1, 1],
the sign is 1 with probability (1 + u (2p-1))/2: as if a sign of mean u were told with probability p, and else its opposite. A
user who is absent has a column of zeros, and costs less against one who is there: log(1/(2(1-p))). A report z
is c root(w) s in its row and 0 elsewhere, c = 1/(2p - 1), so that its mean is the input, and on a word its variance in the
word's direction is c^2 - 1.
"""

from sympy import Rational

from ldpaudit.proofs._algebra import share
from ldpaudit.proofs._kernel import Part, Theorem, named
from ldpaudit.proofs._parameters import bit, coin
from ldpaudit.proofs._steps import Steps


def prove() -> tuple[Theorem | Steps, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    return _privacy("BassilySmith"), _privacy("ProjectedBassilySmith"), _absence(), _apart()


def _privacy(mechanism: str) -> Theorem:
    known, p, odds = coin()
    mean, other = share("mean", "other")
    plus, plus_other = (p * m + (1 - p) * (1 - m) for m in (mean, other))
    return Theorem(
        mechanism=mechanism,
        sentence=f"the Bassily-Smith randomizer ({mechanism})",
        **known,
        identities={"a sign of mean u, told with probability p": (plus, (1 + (2 * mean - 1) * (2 * p - 1)) / 2)},
        parts=[Part(odds, [bit(plus, plus_other, "s = 1 in a row of u, and of u' for x'", "s = -1 there")])],
        worst={mean: 1, other: 0},
        tight="where there is such a row",  # words may all have the same column
        assumes=("public", "entries"),
    )


def _absence() -> Theorem:
    known, p, _ = coin()
    (mean,) = share("mean")
    plus = p * mean + (1 - p) * (1 - mean)
    return Theorem(
        mechanism="RowSign",
        sentence="the Bassily-Smith randomizer of a user who may be absent",
        relation="add-remove",
        **known,
        parts=[Part(1 / (2 * (1 - named("p"))), [bit(Rational(1, 2), plus, "s = 1, and the user is not there", "s = -1")])],
        worst={mean: 1},
        tight="",
        assumes=("public", "entries"),
    )


def _apart() -> Steps:
    t = Steps("in no row are the terms of the blanket divergence further apart than where two inputs have opposite signs")
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
