"""The bound of shuffled binary randomized response: the worst data set itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.certified_search import ROUGH
from ldpaudit.accountants.numerics.precision import precisions
from ldpaudit.accountants.shuffling.binary import Worst, attained, worst
from ldpaudit.accountants.shuffling.binary_data_set import TiltedResponse
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.accountants.shuffling.bounds import Attained, Bound, OthersAlike, Value, neighbours_of
from ldpaudit.accountants.shuffling.replaced import Replacement, replacement
from ldpaudit.core.working_precision import working_precision


@dataclass(frozen=True, slots=True)
class BinaryBound(Bound):
    """Binary randomized response: the worst data set itself."""

    p: Fraction  # probability of the truth, 1/2 < p < 1
    users: int  # n, at least 2
    values: tuple[Any, Any] = (0, 1)  # two values, one a side; all others have the law of one of them
    first_view: str = "0"  # the view that the first value makes the likelier one

    @property
    def sources(self) -> tuple[str, str]:
        """See `Bound`."""
        return "every number of ones among the others, by branch and bound", "the worst number found"

    @property
    def known(self) -> tuple[Replacement | None, tuple[OthersAlike, ...]]:
        """See `Bound`."""
        truth, lie = (self.p, 1 - self.p), (1 - self.p, self.p)
        laws = (Blanket.of(zip(truth, lie, other, strict=True)) for other in (truth, lie))
        sets = tuple(OthersAlike(law, self.values, other) for law, other in zip(laws, self.values, strict=True))
        return replacement((each.blanket for each in sets), 2 * (1 - self.p)), sets

    def high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Bound`."""
        found = _worst(self.p, epsilon, self.users, tolerance)
        return between(found.low, found.high)

    def low(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Bound`."""
        with working_precision(_bits(self.p, epsilon, self.users)):
            return attained(self.p, ball(epsilon).exp(), self.users)

    def both_ways(self, epsilon: float) -> tuple[Value, ...]:
        """See `Bound`: the worst one at this epsilon."""
        t = _worst(self.p, Fraction(epsilon), self.users, ROUGH).t
        return tuple(_held_by(self.p, self.users, t) for t in dict.fromkeys((t, self.users - 1 - t)))

    def fixed(self, epsilon: Fraction, tolerance: float) -> Value:
        """A lower bound of delta at any epsilon: the data set that is worst at this one."""
        return _held_by(self.p, self.users, _worst(self.p, epsilon, self.users, tolerance).t)

    def attained(self, epsilon: Fraction, tolerance: float) -> Attained:
        """See `Bound`."""
        found = _worst(self.p, epsilon, self.users, tolerance)
        with working_precision(_bits(self.p, epsilon, self.users)):
            least = TiltedResponse(self.p, ball(epsilon).exp()).cutoff(found.t, self.users - 1)
        first, second = self.values
        pair = neighbours_of(self.values, {first: found.t, second: self.users - 1 - found.t})
        return Attained(found.low, pair, f"at least {least} of the views are {self.first_view}")


@lru_cache(maxsize=32)
def _held_by(p: Fraction, users: int, t: int) -> Value:
    """Delta where t of the others hold the first value of binary response: the same function for the same t."""

    def value(epsilon: Fraction, tolerance: float) -> flint.arb:
        with working_precision(_bits(p, epsilon, users)):
            return TiltedResponse(p, ball(epsilon).exp()).value(t, users - 1)

    return value


@lru_cache(maxsize=256)
def _worst(p: Fraction, epsilon: Fraction, users: int, tolerance: float) -> Worst:
    with working_precision(_bits(p, epsilon, users)):
        return worst(p, ball(epsilon).exp(), users, tolerance)


def _bits(p: Fraction, epsilon: Fraction, users: int) -> int:
    """Bits to work with: also those that ``p - e**epsilon (1 - p)`` cancels, where epsilon is next to that of one report."""
    for bits in precisions(128, 1 << 14):
        with working_precision(bits):
            left = ball(p) - ball(epsilon).exp() * ball(1 - p)
            if not left.contains(0):
                return precision(users) + max(0, bits - int(left.rel_accuracy_bits()))
    return precision(users)
