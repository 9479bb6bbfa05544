r"""Noisy votes of a sample: one round in which every number of votes has truncated two-sided geometric noise.

A round draws m users, each of whom votes for one value at most, and adds to every number of votes an independent integer
from -k to k that is i with probability :math:`C \alpha^{|i|}`. What is released is a function of these noisy numbers.
Write :math:`\varepsilon_0 = \ln(1/\alpha)` and :math:`\delta_0 = C \alpha^k`.

One vote more or less, for one value: the pair of laws is exactly the dominating pair of an
:math:`(\varepsilon_0, \delta_0)` guarantee, and equal to its reversed pair. With the batch fixed, another user's vote falls
where the user's own rises: two such pairs, (X, Y). The user is drawn with probability q, in another user's place, so that

.. math:: P' = (1-q) P + q R', \qquad D_c(R' \| P) \le D_c(X \| Y)

and one user more is dominated by :math:`((1-q) Y + q X, Y)`, one user less by the reversed pair, and one user replaced, where
:math:`P = (1-q) P_0 + q R`, by the symmetric pair of divergence :math:`q D_c(X \| Y)` at :math:`1 + q (c - 1)`. So one round
is :math:`(\ln(1 + q (e^{2\varepsilon_0} - 1)),\; q (2\delta_0 - \delta_0^2))`-private, and the delta is attained where all
others hold one value and the user another, if a single vote may be released.

Source: Balle, Barthe, Gaboardi 2018, Theorems 1 and 2 (advanced joint convexity); Zhu, Dong, Wang 2022, Theorems 10 and 11
(composition and sampling of dominating pairs).
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants.pld.exact import Atom, ExactPLD, both_directions, product, symmetric_pair
from ldpaudit.neighbours import REPLACE_ONE, Neighbours


@dataclass(frozen=True, slots=True)
class NoisyVotes:
    """A round of noisy votes."""

    users: int  # n: of the smaller data set for add-remove neighbours, of both for replace-one
    batch: int  # m, from 1 to n
    alpha: Fraction  # in (0, 1)
    bound: int  # k, at least 1: the largest noise
    least: int  # the least noisy number that is released, above k
    neighbours: Neighbours  # add-remove or replace-one

    @property
    def rate(self) -> Fraction:
        """q: m/(n+1) for one user more or less, m/n for one replaced."""
        return Fraction(self.batch, self.users_there)

    @property
    def users_there(self) -> int:
        """Of the data set with the user."""
        return self.users + (not self._replaced)

    @property
    def _replaced(self) -> bool:
        return self.neighbours == REPLACE_ONE

    @property
    def always_shows_all(self) -> bool:
        """Whether a value that the whole batch votes for, but perhaps one, is certainly released."""
        return self.batch - 1 - self.bound >= self.least

    def dominating(self) -> tuple[ExactPLD, ...]:
        """The pairs that dominate one round: in each direction one, or one that equals its reversed pair."""
        both = product([(self.moved(), 2)])
        if not self._replaced:
            return both_directions(self._drawn([*both, (Fraction(0), 1 - sum((q for _, q in both), Fraction(0)))]))
        q, whole = self.rate, ExactPLD.of(both)
        events = [(q * p + (1 - q) * other, other) for p, other in whole.events]
        return (symmetric_pair([(q * whole.infinite, Fraction(0)), *events]),)

    def moved(self) -> list[Atom]:
        """The noise, and the noise one larger: by loss."""
        weights = self._weights
        total = sum(weights)
        far, rise = Fraction(weights[0], total), Fraction(sum(weights[1 : self.bound + 1]), total)
        fall = 1 - far - rise
        return [(far, Fraction(0)), (rise, fall), (fall, rise), (Fraction(0), far)]

    def missing_vote(self) -> tuple[ExactPLD, ...]:
        """A pair that occurs: the whole batch votes for one value, but for the user, whose vote counts for nothing.

        It needs `always_shows_all`. In both directions.
        """
        return both_directions(self._drawn(self.moved()))

    def _drawn(self, atoms: list[Atom]) -> list[Atom]:
        """Of a pair (X, Y), the pair ((1-q) Y + q X, Y)."""
        q = self.rate
        return [((1 - q) * y + q * x, y) for x, y in atoms]

    def alone(self) -> tuple[ExactPLD, ...]:
        """A pair that occurs: nobody else holds the user's value, and only whether it is released is looked at.

        It is if the user's vote has the largest noise, and a single vote may be released. In both directions.
        """
        far, *_ = self.moved()
        shown = self.rate * far[0] if self.least == self.bound + 1 else Fraction(0)
        return both_directions([(shown, Fraction(0)), (1 - shown, Fraction(1))])

    def one_apart(self, holders: int) -> tuple[ExactPLD, ...]:
        """A pair that occurs, in both directions: this many others hold the user's value, and all the rest one other value."""
        with_user = self._released(self.users_there, holders + 1)
        without = self._released(self.users, holders)
        views = dict.fromkeys([*with_user, *without])
        return both_directions([(with_user.get(y, Fraction(0)), without.get(y, Fraction(0))) for y in views])

    def _released(self, users: int, holders: int) -> dict[tuple[int, int], Fraction]:
        """Law of the two noisy numbers, 0 for one that is not released."""
        found: dict[tuple[int, int], int] = defaultdict(int)
        weights = self._weights
        for votes, ways in self._votes(users, holders):
            for i, weight in enumerate(weights, -self.bound):
                for j, other in enumerate(weights, -self.bound):
                    own, rest = votes + i, self.batch - votes + j
                    view = own if own >= self.least else 0, rest if rest >= self.least else 0
                    found[view] += ways * weight * other
        whole = math.comb(users, holders) * sum(weights) ** 2
        return {view: Fraction(ways, whole) for view, ways in found.items()}

    def _votes(self, users: int, holders: int) -> Iterator[tuple[int, int]]:
        """Numbers of votes for a value, with the number of ways to draw its holders."""
        m = self.batch
        for votes in range(max(0, holders - (users - m)), min(m, holders) + 1):
            yield votes, math.comb(m, votes) * math.comb(users - m, holders - votes)

    @property
    def noise(self) -> list[float]:
        """Probabilities of the noises from -k to k, each rounded once."""
        weights = self._weights
        total = sum(weights)
        return [float(Fraction(weight, total)) for weight in weights]

    @property
    def _weights(self) -> list[int]:
        """Of the noises from -k to k, in integers."""
        a, b = self.alpha.numerator, self.alpha.denominator
        falling = [a**i * b ** (self.bound - i) for i in range(self.bound + 1)]
        return falling[:0:-1] + falling
