r"""Replacement where the adversary learns the reports of two users at a time without their names.

`replaced` tells who sent what. Where others hold different values that may be far more than the shuffle tells: of two values far
apart, held by half of the users each, the multiset hides user 1 better than if all held either, and named reports hide it worse.

Those left are put into pairs, and of each pair both reports are told without names. Who are left is known before user 1 takes the
place of one of them, which is any with equal chances, so that pairs may be chosen by what these hold. With the laws q and q' of a
pair's two users, and :math:`u = R_{x_1} - e^\varepsilon R_{x_2}`, its reports y and y' have in place of two W

.. math:: \frac{u(y)\,(q + q')(y') + u(y')\,(q + q')(y)}{q(y)\,q'(y') + q(y')\,q'(y)}

for both places that user 1 may take. Of equal laws it is the sum of two W; of others it is the mean of one of each, given the
reports without names, and so smaller in the convex order. In a secret sample it is mixed with :math:`2 (1 - e^\varepsilon)`.

There are two sides, and as many pairs as possible have one user of each: these are mixed. Those who are in no pair are then of
one side, or of neither. So an expectation is at most the largest integral of mixed pairs, each in place of two values, and of
the types of one side and of neither (`numerics.largest_positive_part`); and each side has its own contour. It is not enough
that a user's W is less than that of a side, for pairs of such users may tell more. Sides are: users with either of user 1's
laws, where there are no others; of vectors plus Laplace noise those who have user 1's second numbers wherever its two values
differ, and those who have the first ones (`laplace_vectors`).

Source: derived here; enumerated in tests/shuffling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import flint
import numpy as np

from ldpaudit.accountants.numerics.balls import Probability, as_ball
from ldpaudit.accountants.numerics.float_laws import Law
from ldpaudit.accountants.numerics.spread import Floats, raised, spread
from ldpaudit.accountants.shuffling.blanket import Blanket

_LARGEST, _RAREST = 256, 1e-140  # kinds of reports, and their least probability, of which products are floats
_WRONG = 1e-14  # relative error of sums of a few products of floats, with room
_KNOTS = 200  # values of W of two users
_MASSES = 2e-12  # of probabilities


@dataclass(frozen=True, eq=False)
class Mixed:
    """A type of two users, by the probabilities of each kind of report, above 0 and right to a relative 1e-15 or so."""

    firsts: Floats  # under user 1's two laws
    seconds: Floats
    differences: Floats  # of these
    one: Floats  # under those of the two users
    other: Floats
    rate: Fraction = Fraction(1)  # at which user 1 is drawn, and not another user in its place

    @classmethod
    def of(cls, kinds: Iterable[tuple[Probability, Probability]]) -> Self:
        """Of two users who have user 1's two laws."""
        balls = [(as_ball(r1), as_ball(r2)) for r1, r2 in kinds]
        r1, r2, d = np.array([(float(r1), float(r2), float(r1 - r2)) for r1, r2 in balls]).T
        return cls(r1, r2, d, r1, r2)

    def drawn(self, rate: Fraction) -> Mixed:
        """See `Blanket.drawn`."""
        return replace(self, rate=self.rate * rate)

    def part(self, rate: Fraction) -> Mixed:
        """See `Blanket.part`."""
        q, silent = float(rate), float(1 - rate)
        firsts, seconds, one, other = (np.append(q * each, silent) for each in (self.firsts, self.seconds, self.one, self.other))
        return Mixed(firsts, seconds, np.append(q * self.differences, 0.0), one, other, self.rate)

    def terms(self, exp_epsilon: flint.arb) -> Law:
        """The law of W of both."""
        rise, q, (masses, differences, sizes, seconds) = float(exp_epsilon - 1), float(self.rate), self._sums
        less = rise * (q * seconds + 2 * float(1 - self.rate))
        values, masses = spread(q * differences - less + _WRONG * (q * sizes + less), masses, _KNOTS)
        return Law(values, raised(values, masses, _MASSES), 2)

    @property
    def _sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Of two unordered reports, their probability, and over it, R1 - R2, its size and R2, each with the other's laws."""
        i, j = np.triu_indices(len(self.firsts))

        def both(first: Floats, second: Floats) -> Floats:
            return np.asarray(first[i] * second[j] + first[j] * second[i], dtype=np.float64)

        chances, laws = both(self.one, self.other), self.one + self.other
        difference, size, second = (both(each, laws) / chances for each in (self.differences, abs(self.differences), self.seconds))
        return np.where(i == j, chances / 2, chances), difference, size, second


def alone(types: Sequence[Blanket]) -> tuple[tuple[Blanket | Mixed, ...], ...]:
    """Each type with its mixed pairs, of reports that have two laws at all; none where floats do not hold them."""
    return tuple((each, Mixed.of((r1, r2) for r1, r2, _ in each.cells)) for each in types) if all(map(_is_own, types)) else ()


def _is_own(each: Blanket) -> bool:
    r1, r2, b = zip(*each.cells, strict=True)
    return b in (r1, r2) and len(b) <= _LARGEST and min(map(float, r1 + r2)) > _RAREST
