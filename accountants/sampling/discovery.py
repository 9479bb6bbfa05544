r"""How often a value is found by votes of fresh samples: TrieHH's worst-case discovery rate, and what inverts it.

A value of L units that W of n users hold, and that shares no prefix with another, is found in L rounds with batches of m and
a threshold of theta with probability

.. math:: \Bigl( \sum_{i \ge \theta} \binom Wi \binom{n-W}{m-i} \Big/ \binom nm \Bigr)^L

Shared prefixes only raise it. Source: Zhu, Kairouz, McMahan, Sun, Li 2019, Propositions 1 and 2.

*Votes that get lost*, or are cast only sometimes: one prefix, and one round of all prefixes (`ThinnedRound`).

A batch of m of n users is drawn without replacement, and each drawn user's vote arrives with probability s, whatever users
hold. Given that m' votes may arrive, those who cast them are a uniform m'-subset of the users. So what a round shows is
that of a batch of m' with the binomial probability of m', and by joint convexity

.. math:: \delta(\varepsilon) \le \sum_{m'} \binom{m}{m'} s^{m'} (1-s)^{m-m'} \delta_{m'}(\varepsilon)

From below it is the cost of one prefix, whose votes are Bin(Hyp(n, W, m), s): the sum of the differences of `thresholded` with
the same weights. A prefix of theta - 1 other holders, which only the user can lift to theta, costs :math:`s^\theta` times
what it costs without losses. The same law of votes, with s the local frequency of the prefix, is one round of TrieHH's
Algorithm 3.

Where lost users are replaced until m votes have arrived, the batch is a uniform m-subset again, and costs what it does
without losses. Where users differ in how often they answer, those who always do are drawn with probability up to m/n', with
n' the number of users who may answer: n' is then to be used in place of n, and must be a public lower bound.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import count

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_window
from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_upper
from ldpaudit.accountants.numerics.precision import narrow_enough
from ldpaudit.accountants.sampling.theorems import triehh_delta
from ldpaudit.accountants.sampling.thresholded import FixedBatch, exp_ball, worst_holders
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.core.number import brief, exact
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.neighbours import ADD_REMOVE
from ldpaudit.profile import Number, require_epsilon

_LEAST = 4
"""The smallest theta for which TrieHH's Theorem 1 has a delta."""
_FAR = 80
"""Numbers of votes whose probability is below 2**-80 together are counted as if they told everything."""


def discovery_rate(users: int, holders: int, batch: int, threshold: int, levels: int = 1, share: Number = 1) -> Enclosure:
    """The probability that the value is found, where no other shares a prefix of it, and a vote arrives with probability `share`.

    EXACT. The share is of the votes, or of a holder's words that have this prefix.
    """
    arrives = _required(share)

    def value() -> flint.arb:
        arriving, rest = _arriving(batch, arrives)
        found = sum((p * hypergeometric_upper(users, holders, m, threshold) for m, p in arriving if m >= threshold), flint.arb(0))
        return found.union(found + rest) ** levels

    lost = "" if arrives == 1 else f", which arrive with probability {float(arrives):g}"
    return narrow_enough(value, f"{levels} round(s) of {batch} votes{lost}, threshold {threshold}")


def least_holders(users: int, batch: int, threshold: int, levels: int, rate: Number) -> int | None:
    """The fewest holders with a certified discovery rate of at least `rate`; None where all users are too few."""
    if not 0 < (wanted := exact(rate, "rate")) <= 1:
        raise ValueError(f"least_holders needs 0 < rate <= 1, got rate={brief(rate)}")

    def found(holders: int) -> bool:
        return discovery_rate(users, holders, batch, threshold, levels).low >= wanted

    least = bisect_left(range(users + 1), True, key=found)
    return least if least <= users else None


def least_threshold(delta: Number) -> int:
    """The least theta, from 4 up, at which Theorem 1's delta is at most a given one. ``delta``: above 0."""
    if (most := exact(delta, "delta")) <= 0:
        raise ValueError(f"least_threshold needs delta > 0, got delta={brief(delta)}")
    return next(theta for theta in count(_LEAST) if triehh_delta(theta) <= most)


@dataclass(frozen=True, slots=True)
class ThinnedRound:
    """One round in which votes get lost, for one user more or less."""

    users: int  # n of the smaller data set, m and theta
    batch: int
    threshold: int
    share: Fraction  # s, in (0, 1]: votes that arrive

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", _required(self.share))
        FixedBatch(self.users, self.batch)

    def delta(self, epsilon: Number) -> Enclosure:
        """From one prefix below to the mixture of all batches above; INTERVAL."""
        require_epsilon(epsilon)
        low, high = self.one_prefix(epsilon), self.mixture(epsilon)
        return Enclosure(low.low, max(low.low, high), Rigour.INTERVAL, "votes that get lost")

    def mixture(self, epsilon: Number) -> float:
        """The upper bound: a round of every number of votes that may arrive, by its probability."""
        arriving, rest = _arriving(self.batch, self.share)
        found = flint.arb(rest)
        for votes, p in arriving:
            if votes >= max(1, self.threshold):
                arrived = ThresholdProfile(FixedBatch(self.users, votes), self.threshold, 1, ADD_REMOVE)
                found += p * flint.arb(arrived.delta(epsilon).high)
        return min(1.0, round_up(found))

    def one_prefix(self, epsilon: Number) -> Enclosure:
        """The lower bound: what the user's own prefix costs, at two numbers of other holders."""
        eps = Fraction(epsilon) if math.isfinite(epsilon) else Fraction(600)

        def cost() -> flint.arb:
            return reduce(flint.arb.max, (self._excess(holders, eps) for holders in self._holders(eps)), flint.arb(0))

        return narrow_enough(cost, "one prefix, votes that get lost").clamp(0.0, 1.0)

    def _excess(self, holders: int, epsilon: Fraction) -> flint.arb:
        """g' - c g; the numbers of votes that are left out only lower it by c times their probability at most."""
        arriving, rest = _arriving(self.batch, self.share)
        grow, found = exp_ball(epsilon) - 1, flint.arb(0)
        for votes, p in arriving:
            if votes >= max(1, self.threshold):
                more, fewer = FixedBatch(self.users, votes).gain(holders, self.threshold)
                found += p * (more - grow * fewer)
        # Fewer holders than theta are never released without the user.
        return found - grow * rest if holders >= self.threshold else found

    def _holders(self, epsilon: Fraction) -> set[int]:
        """The worst number of other holders for as many votes as arrive on average; and as many as need the user to be released."""
        mean = max(1, round(self.batch * self.share))
        likely = worst_holders(FixedBatch(self.users, mean), self.threshold, exp_ball(epsilon))[0]
        return {likely, min(self.users, self.threshold - 1)}


def _arriving(batch: int, share: Fraction) -> tuple[list[tuple[int, flint.arb]], flint.arb]:
    """Numbers of votes that arrive with their probabilities, and the probability of all that are left out."""
    if share == 1:
        return [(batch, flint.arb(1))], flint.arb(0)
    masses, first, rest = binomial_window(batch, ball(share), ball(1 - share), _FAR)
    return [(first + i, p) for i, p in enumerate(masses)], rest


def _required(share: Number) -> Fraction:
    if not 0 < (value := Fraction(share)) <= 1:
        raise ValueError(f"0 < share <= 1 is needed, got share={brief(share)}")
    return value
