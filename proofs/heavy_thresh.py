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

from sympy import Rational

from ldpaudit.proofs._kernel import Theorem
from ldpaudit.proofs._voting import RELATION, counters, repaired, votes

_TWICE = "may cast, less those forced"


def prove() -> tuple[Theorem, ...]:
    """Check the theorems. Raises ProofError naming the step, were one false."""
    own = _transcript("HeavyThreshRepaired")
    return _transcript("HeavyThresh"), _overshoot(), repaired("HeavyThreshRepaired", "the repaired HEAVYTHRESH", _TWICE, own)


def _transcript(mechanism: str) -> Theorem:
    t = Theorem(mechanism=mechanism, sentence="HEAVYTHRESH", relation=RELATION)
    t.assume("given the updates so far, a user's votes, rows and signs are independent, and their laws depend on the stream alone")
    t.assume("the counters are checked on every path, so the numbers of votes and reports hold for every adversary")
    q, q_field = votes(t)
    mean, other = t.share("mean", "other")
    plus, plus_other = (q * m + (1 - q) * (1 - m) for m in (mean, other))
    t.equal(plus, (1 + (2 * mean - 1) * (2 * q - 1)) / 2, "a sign of mean 2 x - 1, told with probability q")
    t.equal(plus.subs(mean, Rational(1, 2)), Rational(1, 2), "a fair sign, where nothing is left to spend")
    t.costs(
        q_field / (1 - q_field),
        {"a sign of one mean against another is 1": (plus, plus_other), "it is -1": (1 - plus, 1 - plus_other)},
        times=t.parameter("estimates"),
        at={mean: 1, other: 0},
    )
    t.attained("in every vote that differs, and by signs of rows that differ", "where as many votes and reports differ")
    return t


def _overshoot() -> Theorem:
    t = Theorem(mechanism="HeavyThresh", sentence="HEAVYTHRESH with positive noise levels", relation=RELATION)
    (forced,) = t.share("forced")
    _, a, b, cast, estimates = counters(t, _TWICE, 1, {"common": forced})
    epsilon, a_field, b_field, common = map(t.parameter, ("epsilon", "a", "b", "common"))
    total = epsilon * 3 / 4 + 2 * (1 - common) * a_field + b_field
    t.sums(total, _transcript("HeavyThresh"), [(2 * (cast - forced), a), (estimates, b)])
    return t
