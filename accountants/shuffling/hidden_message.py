r"""A tuple from one codeword or another, among tuples of any indices: the exact profile.

Let p = 2**-tau be the probability that a random message is in the first codeword's power, and the same for the second; the
two are independent, because two different rows of the matrix are. Each of M + 1 messages is the user's with equal chances,
so that their multiset has density :math:`N/((M+1) p)` with respect to M + 1 random ones, N being how many are in the
codeword that the user holds. So

.. math:: \delta(\varepsilon) = \frac{1}{(M+1)\,p}\, E\bigl[(N - e^\varepsilon N')_+\bigr], \qquad
          N, N' \sim \mathrm{Bin}(M+1, p) \text{ independent}

which is :math:`E[(1 - e^\varepsilon N'/N)_+]` under the first input. Seen through A and B alone, the numbers of messages in
one power and not in the other, the density is :math:`(A + \kappa (M+1-A-B))/((M+1) p)`, :math:`\kappa = p^2/(1 - 2p(1-p))`.
Seen through A and N', it is :math:`(A + p N')/((M+1) p)` under the first input, and :math:`N'/((M+1) p)` under the second.
Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, proof of Lemma 4.4, where the ratio is bounded by Chernoff's bound.
"""

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.search import bisect
from ldpaudit.accountants.numerics.two_counts import TwoCounts
from ldpaudit.accountants.pld.searched import EXACT, SearchedProfile
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, require_epsilon

_FEW_TERMS, _MOST_TERMS = 8_000, 60_000
"""Numbers of terms. Up to the first the sum is preferred, for it is the narrower one (measured: 2,000 terms take as long as the
integral, 0.05 s, and 7,000 terms eight times that); beyond the second it takes seconds, and the integral is narrow."""
_FAINT = 700.0
"""Nats; e**-700 is about the smallest normal float, 2**-1022. A delta below needs no relative accuracy."""
_INVISIBLE = flint.arb(2) ** -1100
"""Below the smallest float that is not 0, 2**-1074."""


class Seen(Enum):
    """What is seen of the messages."""

    ALL = "how many are in each power"
    EITHER = "how many are in one power and not in the other"
    SECOND = "how many are in the second power, and in the first and not in it"


@dataclass(frozen=True)
class HiddenTuple(SearchedProfile):
    """One message among M random ones."""

    messages: int  # M, at least 0
    hit: Fraction  # p, in (0, 1)
    seen: Seen  # what of them is seen
    source: str  # of the enclosures
    level: Rigour = Rigour.EXACT  # of the enclosures that are narrow enough

    def value(self, epsilon: Fraction) -> flint.arb:
        """Two routes: an integral whose cost is free of M, and a sum that is narrower where it has few terms."""
        return _value(self, epsilon)

    def infinite_loss_mass(self) -> flint.arb:
        """Where nothing speaks for the other input, the first is certain."""
        with working_precision(precision(self.messages + 1)):
            p = ball(self.hit)
            if self.seen is Seen.EITHER:
                return (p * (1 - p)) ** self.messages * (1 - p)
            return (1 - p) ** (self.messages + 1)

    def integral(self, epsilon: Fraction) -> flint.arb:
        """By `blanket`."""
        p, pure, zero = self.hit, self.hit * (1 - self.hit), Fraction(0)
        cells = [(1 - p, zero, pure)]
        match self.seen:
            case Seen.ALL:
                cells += [(zero, 1 - p, pure), (p, p, p * p), (zero, zero, (1 - p) ** 2)]
            case Seen.EITHER:
                cells += [(zero, 1 - p, pure), (p, p, 1 - 2 * pure)]
            case Seen.SECOND:
                cells += [(p, Fraction(1), p), (zero, zero, (1 - p) ** 2)]
        with working_precision(precision(self.messages + 1)):
            return Blanket.of(cells).delta(ball(epsilon).exp(), self.messages + 1, EXACT / 4)

    def total(self, epsilon: Fraction) -> flint.arb:
        """By `numerics.two_counts`."""
        with working_precision(precision(self.messages + 1)):
            return self._counts(epsilon).expectation() / ((self.messages + 1) * ball(self.hit))

    def exceeds(self, epsilon: Number) -> Enclosure:
        r"""Probability under the first input that the loss :math:`\ln(N/N')` is above epsilon, where all is seen.

        .. math:: \sum_n P[\mathrm{Bin}(M, p) = n - 1]\; P\bigl[\mathrm{Bin}(M+1, p) < e^{-\varepsilon} n\bigr]
        """
        with working_precision(precision(self.messages + 1)):
            found = self._counts(Fraction(epsilon)).chance() / ((self.messages + 1) * ball(self.hit))
        return Enclosure.of(found, rigour=self.level, source=self.source).clamp(0.0, 1.0)

    def nats(self, epsilon: float) -> float:
        """About the logarithm of 1/delta: Chernoff's bound for Poisson variables."""
        likely = epsilon / (1 + math.exp(min(epsilon, 700.0)))
        return -self.messages * float(self.hit) * (math.expm1(likely) + math.expm1(likely - epsilon))

    def estimate(self, goal: Fraction) -> float:
        """Of two normal variables."""
        return _normal_epsilon(math.sqrt(2 / max(self.messages * float(self.hit), 0.05)), float(goal))

    @property
    def terms(self) -> float:
        """About how many terms `total` adds."""
        return self._counts(Fraction(0)).terms

    def _counts(self, epsilon: Fraction) -> TwoCounts:
        m, p, ratio = self.messages + 1, self.hit, ball(epsilon).exp()
        pure = p * (1 - p)
        match self.seen:
            case Seen.ALL:
                return TwoCounts(m, p, p, False, flint.arb(1), ratio, flint.arb(0))
            case Seen.EITHER:
                shift = (ratio - 1) * ball(p * p / (1 - 2 * pure))
                return TwoCounts(m, pure, pure / (1 - pure), True, 1 + shift, ratio - shift, shift * m)
            case Seen.SECOND:
                return TwoCounts(m, pure, p / (1 - pure), True, flint.arb(1), ratio - ball(p), flint.arb(0))


@lru_cache(maxsize=1024)
def _value(profile: HiddenTuple, epsilon: Fraction) -> flint.arb:
    faint = profile.nats(float(epsilon)) > _FAINT
    if profile.terms <= _FEW_TERMS and not faint:
        return profile.total(epsilon)
    found = profile.integral(epsilon)
    if found < _INVISIBLE:
        return between(0, found.upper())
    narrow = found > 0 and found.rad() < found.mid() * EXACT / 4
    return found if narrow or faint or profile.terms > _MOST_TERMS else profile.total(epsilon)


def _normal_epsilon(spread: float, goal: float) -> float:
    """The epsilon at which a loss of normal law with this standard deviation has so large a delta, roughly."""

    def delta(epsilon: float) -> float:
        above, below = (math.erfc((epsilon / spread + sign * spread / 2) / math.sqrt(2)) / 2 for sign in (-1, 1))
        return above - math.exp(min(epsilon, 700.0)) * below

    return bisect(lambda epsilon: delta(epsilon) > goal, 0.0, 40 * spread + spread * spread, 50)


@dataclass(frozen=True)
class Chain(SearchedProfile):
    r"""Several messages, replaced one by one.

    .. math:: \delta_k(\varepsilon) \le \sum_{i<k} e^{i \varepsilon/k}\, \delta_1(\varepsilon/k)
              = \frac{e^\varepsilon - 1}{e^{\varepsilon/k} - 1}\, \delta_1(\varepsilon/k)

    Not tight. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, end of the proof of Lemma 4.4.
    """

    single: HiddenTuple  # one message, where all the others are known
    k: int  # how many, at least 1
    source: str  # of the enclosures
    level: Rigour = Rigour.INTERVAL

    def value(self, epsilon: Fraction) -> flint.arb:
        """An upper bound, at most 1; where epsilon is very large, it grows with it again."""
        steps = ball(epsilon).expm1() / ball(epsilon / self.k).expm1() if epsilon else flint.arb(self.k)
        return (steps * self.single.value(epsilon / self.k)).min(flint.arb(1))

    def infinite_loss_mass(self) -> flint.arb:
        """Below this, no epsilon is known to be enough."""
        return self.single.infinite_loss_mass()

    def estimate(self, goal: Fraction) -> float:
        """Where a single message has about that delta, less what its multiples add."""
        return self.k * self.single.estimate(goal / (2 * self.k))

    def delta(self, epsilon: Number) -> Enclosure:
        """An upper bound; from below it is 0."""
        known = not math.isinf(require_epsilon(epsilon))
        high = self.value(Fraction(epsilon)).upper() if known else flint.arb(1)
        return Enclosure.of(0, high, rigour=self.level, source=self.source).clamp(0.0, 1.0)
