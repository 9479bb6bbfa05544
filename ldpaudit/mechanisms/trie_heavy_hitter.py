"""TrieHH: frequent words found prefix by prefix, by the votes of a fresh sample of the users in every round.

Zhu, Kairouz, McMahan, Sun, Li 2019, "Federated heavy hitters discovery with differential privacy", Algorithms 1 to 3.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from ldpaudit.core.number import brief
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import dyadic
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS
from ldpaudit.mechanisms.shared.parameters import ball, exact, integer, positive, probability, spendable
from ldpaudit.mechanisms.shared.trie.one_round import Data, Noise
from ldpaudit.mechanisms.shared.trie.rounds import TrieRounds
from ldpaudit.profile import Number

_LARGEST_NOISE = 1_000  # the powers of an alpha of 128 bits are rationals of that many times as many bits


@dataclass(frozen=True, slots=True)
class TrieHeavyHitter(TrieRounds):
    """TrieHH, of which the trie is released; or, which the paper does not do, the trie and its votes.

    In each round `batch` users are drawn without replacement, and each picks one of the words that it holds, as often as
    it holds it. After r rounds, a user whose picked word has its prefix of r units in the trie votes for the prefix of r + 1
    units. Prefixes with at least `threshold` votes grow on the trie; the last round is the one in which nothing grows, or the
    round `levels`.

    A view is what is released: the frozenset of the prefixes, or with `counts` of pairs of a prefix and its votes. An
    input is a whole data set: pairs of the words that a user holds, a tuple, and how many users hold just these. There
    are `users` of them or, for the neighbour, one more. A user who holds () never votes.

    Parameters
    ----------
    words : int
        Different words that a user may hold, at least 1: Algorithm 1 with one, Algorithm 3 with more.
    counts : int
        1 where the votes of the prefixes are released too, else 0.
    gamma : Number
        The batch in units of the root of users, above 0.

    Examples
    --------
    >>> TrieHeavyHitter.as_printed(users=10**6, gamma=10, threshold=15, levels=10).batch
    10000
    >>> m = TrieHeavyHitter(users=20, batch=12, threshold=2, levels=6)
    >>> data = ["star$"] * 3 + ["sun$"] * 4 + ["moon$"] * 4 + [f"{letter}$" for letter in "abcdefghi"]
    >>> import numpy as np
    >>> sorted(m.run(data, np.random.default_rng(2)))
    ['m', 'mo', 'moo', 'moon', 'moon$', 's', 'st', 'su', 'sun', 'sun$']
    """

    title = "TrieHH"

    users: int
    batch: int
    threshold: int
    levels: int
    unit: int = 1
    words: int = 1
    counts: int = 0

    def __post_init__(self) -> None:
        TrieRounds.__post_init__(self)
        integer(self, "counts", 0, 1)

    @classmethod
    def as_printed(cls, users: int, gamma: Number, threshold: int, levels: int) -> Self:
        """Algorithm 1 with a batch of ``gamma * sqrt(users)``, rounded down."""
        factor = positive("gamma", gamma)
        return cls(users, math.isqrt(math.floor(factor**2 * users)), threshold, levels)

    @property
    def inputs(self) -> tuple[Data, Data]:
        """Two data sets of which the first has one user more, and shows what the other never does.

        The user's prefix is released, and one user fewer than the threshold needs holds it besides. With counts, all others
        hold one word and the user none, so that a vote is missing.
        """
        others = self.users if self.counts else min(self.threshold - 1, self.users)
        holders = [others] * self.levels
        return self.data(holders, "" if self.counts else self.word), self.data(holders, None)

    @property
    def with_counts(self) -> bool:
        """As `counts` says."""
        return bool(self.counts)


@dataclass(frozen=True, slots=True)
class NoisyTrieHeavyHitter(TrieRounds):
    """TrieHH of which the trie and its votes are released, with a little noise on every number of votes.

    As `TrieHeavyHitter`; but each round adds two-sided geometric noise, truncated to -k..k, to the votes of every prefix,
    and releases, with the noisy number, those where it reaches the larger of `threshold` and k + 1. So the prefixes that
    nobody votes for, to which the same noise is added, are never released, and need not be listed. At the budgets of the
    paper's Table 1 the noise has a standard deviation of about one vote, and no larger threshold is needed.

    A view is the frozenset of pairs of a prefix and its noisy number of votes. Inputs are those of `TrieHeavyHitter`.

    Parameters
    ----------
    threshold : int
        Theta, at least 1: noisy votes that a prefix needs, if it is more than k.
    alpha : Fraction
        ``e**-epsilon0``, in (0, 1): the ratio of the probabilities of i + 1 and of i >= 0 in the noise.
    bound : int
        k, from 1 to 1000: the largest noise.

    Examples
    --------
    >>> m = NoisyTrieHeavyHitter.for_budget(users=10**4, batch=100, threshold=10, levels=1, epsilon=0.105361, delta=3.149e-7)
    >>> round(-math.log(m.alpha), 4), m.bound, m.least
    (1.2471, 9, 10)
    """

    variant = "noisy"
    title = "TrieHH with noisy votes"
    calibrated = ("for_budget",)

    users: int
    batch: int
    threshold: int
    levels: int
    alpha: Fraction
    bound: int
    unit: int = 1
    words: int = 1

    def __post_init__(self) -> None:
        TrieRounds.__post_init__(self)
        probability(self, "alpha")
        integer(self, "bound", 1, _LARGEST_NOISE)

    @classmethod
    def for_budget(
        cls, users: int, batch: int, threshold: int, levels: int, epsilon: Number, delta: Number, unit: int = 1, words: int = 1
    ) -> Self:
        r"""The least noise of which all rounds together are (epsilon, delta)-private, for one user more or less.

        Each round gets an equal part of both, :math:`(\varepsilon_1, \delta_1)`, as basic composition allows:
        :math:`\alpha^{-2} = 1 + (e^{\varepsilon_1} - 1)/q`, rounded toward privacy, and the least k with
        :math:`q (2 \delta_0 - \delta_0^2) \le \delta_1`. Composed exactly, the rounds cost less.

        Raises ValueError where delta is not in (0, 1), or needs a k above 1000.
        """
        plain = cls(users, batch, threshold, levels, Fraction(1, 2), 1, unit, words)  # checks what needs no budget
        rate, share = Fraction(plain.batch, plain.users + 1), exact(delta, "delta") / plain.levels
        if not 0 < share * plain.levels < 1:
            raise ValueError(f"{cls.__name__} needs 0 < delta < 1, got delta={brief(delta)}")
        with working_precision(SIGNIFICANT_BITS):
            growth = ball(spendable(epsilon) / plain.levels).expm1()
            alpha = dyadic((1 / (1 + growth / ball(rate)).sqrt()).upper())

        def enough(bound: int) -> bool:
            largest = Noise(alpha, bound).probability(bound)
            return rate * (2 * largest - largest**2) <= share

        bound = bisect_left(range(1, _LARGEST_NOISE + 1), True, key=enough) + 1
        return replace(plain, alpha=alpha, bound=bound)

    @property
    def noise(self) -> Noise:
        """Of each number of votes."""
        return Noise(self.alpha, self.bound)

    @property
    def least(self) -> int:
        """The least number that is released: the larger of theta and k + 1."""
        return max(self.threshold, self.bound + 1)

    @property
    def inputs(self) -> tuple[Data, Data]:
        """Two data sets of which the first has one user more, who holds a word alone; all others hold another word."""
        return self.one_apart(0)

    def one_apart(self, holders: int, replaced: bool = False) -> tuple[Data, Data]:
        """Data sets with and without a user whose word `holders` others hold; all the rest hold one other word.

        ``holders``: others with the user's word; fewer than `users` where one is replaced. ``replaced``: whether without, the
        user holds the other word; else the user is not there.
        """
        common = "b" * self.levels * self.unit

        def held(user: int, others: int) -> Data:
            return tuple((words, n) for words, n in (((self.word,), user), ((common,), others)) if n)

        rest = self.users - holders
        return held(holders + 1, rest - replaced), held(holders, rest)

    def shares(self, view: frozenset[tuple[str, int]]) -> dict[str, float]:
        """The share of the users who hold each released prefix, from its noisy votes; too large on average for rare ones.

        With one word a user. A prefix that is always released is estimated without bias; one that is not always released
        is where luck or noise was on its side.
        """
        return {prefix: n / self.batch for prefix, n in view}

    @property
    def with_counts(self) -> bool:
        """Numbers are released."""
        return True
