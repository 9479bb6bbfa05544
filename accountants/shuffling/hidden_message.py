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

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.certified_search import close_in, depth
from ldpaudit.accountants.numerics.two_counts import TwoCounts
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_NARROW = 1e-9
"""Relative width below which an enclosure is called exact."""
_FEW_TERMS, _MOST_TERMS = 8_000, 60_000
"""Sums with fewer terms take less time than the integral; those with more are left to it, for it is narrow where they are."""
_NEAR = 0.01
"""How far from a guess the search looks next, relative to it."""
_FAINT = 700.0
"""Nats below which a delta is no float, or nearly none."""
_INVISIBLE = flint.arb(2) ** -1100
_LARGEST = 1e4
"""Epsilons beyond this are not looked for."""


class Seen(Enum):
    """What is seen of the messages."""

    ALL = "how many are in each power"
    EITHER = "how many are in one power and not in the other"
    SECOND = "how many are in the second power, and in the first and not in it"


class Searched(PrivacyProfile):
    """A profile whose delta is a ball, and whose inverse is looked for with few evaluations."""

    level: Rigour
    source: str

    @abstractmethod
    def value(self, epsilon: Fraction) -> flint.arb:
        """Delta, certified."""

    @abstractmethod
    def forever(self) -> flint.arb:
        """What delta stays above, or at, however large epsilon is."""

    def delta(self, epsilon: Number) -> Enclosure:
        """Relative width below 1e-9, but where delta underflows, or next to it; INTERVAL where it is wider."""
        if math.isinf(require_epsilon(epsilon)):
            found = Enclosure.of(self.forever(), rigour=self.level, source=self.source)
        else:
            found = Enclosure.of(self.value(Fraction(epsilon)), rigour=self.level, source=self.source)
        return self._graded(found.clamp(0.0, 1.0))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Relative width below 1e-9; infinite up to the probability that one input alone explains the view."""
        goal = Fraction(require_delta(delta))
        with flint.ctx.workprec(256):
            limit = self.forever()
            if ball(goal) < limit:
                return Enclosure(math.inf, math.inf, self.level, self.source)

            def upper(epsilon: float) -> flint.arb:
                return self.value(Fraction(epsilon)).upper()

            if upper(0.0) <= ball(goal):
                return Enclosure(0.0, 0.0, self.level, self.source)
            bad, good = self._closed_in(upper, goal)
            return self._graded(Enclosure(min(self._low(bad, goal), good), good, self.level, self.source))

    def _closed_in(self, upper: Callable[[float], flint.arb], goal: Fraction) -> tuple[float, float]:
        """Two epsilons: at the first delta is not shown to be at most the goal, at the second it is."""
        target = depth(ball(goal))

        def look(epsilon: float) -> tuple[bool, float]:
            found = upper(epsilon)
            return bool(found <= ball(goal)), target - depth(found)

        guess = self.guess(goal)
        low, high, step = 0.0, guess * (1 + _NEAR), _NEAR
        known = (guess, (near := look(guess))[1])
        if near[0]:
            low, high = guess * (1 - _NEAR), guess
            while low > 0 and look(low)[0]:
                step *= 4
                low, high = max(0.0, low - step * guess), low
        else:
            low = guess
            while not look(high)[0]:
                if high > _LARGEST:
                    return high, math.inf
                step *= 4
                low, high = high, high + step * guess
        good, bad = close_in(look, high, low, None, known)
        return bad, good

    @abstractmethod
    def guess(self, goal: Fraction) -> float:
        """An epsilon above 0 next to which delta may be the goal: it only saves looks."""

    def _low(self, near: float, goal: Fraction) -> float:
        """An epsilon, from a little below `near` down, at which delta is certainly not below the goal; or 0."""
        step = 2.0**-36
        while near > 0 and not self.value(Fraction(near)) >= ball(goal):
            near, step = (near * (1 - step), 4 * step) if step < 1 else (0.0, step)
        return near

    def _graded(self, found: Enclosure) -> Enclosure:
        narrow = found.high == found.low or found.relative_width <= _NARROW
        return found if narrow else replace(found, rigour=min(found.rigour, Rigour.INTERVAL))


@dataclass(frozen=True)
class HiddenTuple(Searched):
    """One message among M random ones.

    Parameters
    ----------
    messages : int
        M, at least 0.
    hit : Fraction
        p, in (0, 1).
    seen : Seen
        What of them is seen.
    source : str
        Of the enclosures.
    level : Rigour
        Of the enclosures that are narrow enough.
    """

    messages: int
    hit: Fraction
    seen: Seen
    source: str
    level: Rigour = Rigour.EXACT

    def value(self, epsilon: Fraction) -> flint.arb:
        """Two routes: an integral whose cost is free of M, and a sum that is narrower where it has few terms."""
        return _value(self, epsilon)

    def forever(self) -> flint.arb:
        """Where nothing speaks for the other input, the first is certain."""
        with flint.ctx.workprec(precision(self.messages + 1)):
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
        with flint.ctx.workprec(precision(self.messages + 1)):
            return Blanket.of(cells).delta(ball(epsilon).exp(), self.messages + 1, _NARROW / 4)

    def total(self, epsilon: Fraction) -> flint.arb:
        """By `numerics.two_counts`."""
        with flint.ctx.workprec(precision(self.messages + 1)):
            return self._counts(epsilon).expectation() / ((self.messages + 1) * ball(self.hit))

    def exceeds(self, epsilon: Number) -> Enclosure:
        r"""Probability under the first input that the loss :math:`\ln(N/N')` is above epsilon, where all is seen.

        .. math:: \sum_n P[\mathrm{Bin}(M, p) = n - 1]\; P\bigl[\mathrm{Bin}(M+1, p) < e^{-\varepsilon} n\bigr]
        """
        with flint.ctx.workprec(precision(self.messages + 1)):
            found = self._counts(Fraction(epsilon)).chance() / ((self.messages + 1) * ball(self.hit))
        return Enclosure.of(found, rigour=self.level, source=self.source).clamp(0.0, 1.0)

    def nats(self, epsilon: float) -> float:
        """About the logarithm of 1/delta: Chernoff's bound for Poisson variables."""
        likely = epsilon / (1 + math.exp(min(epsilon, 700.0)))
        return -self.messages * float(self.hit) * (math.expm1(likely) + math.expm1(likely - epsilon))

    def guess(self, goal: Fraction) -> float:
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
    narrow = found > 0 and found.rad() < found.mid() * _NARROW / 4
    return found if narrow or faint or profile.terms > _MOST_TERMS else profile.total(epsilon)


def _normal_epsilon(spread: float, goal: float) -> float:
    """The epsilon at which a loss of normal law with this standard deviation has so large a delta, roughly."""

    def delta(epsilon: float) -> float:
        above, below = (math.erfc((epsilon / spread + sign * spread / 2) / math.sqrt(2)) / 2 for sign in (-1, 1))
        return above - math.exp(min(epsilon, 700.0)) * below

    low, high = 0.0, 40 * spread + spread * spread
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > goal else (low, middle)
    return high


@dataclass(frozen=True)
class Chain(Searched):
    r"""Several messages, replaced one by one.

    .. math:: \delta_k(\varepsilon) \le \sum_{i<k} e^{i \varepsilon/k}\, \delta_1(\varepsilon/k)
              = \frac{e^\varepsilon - 1}{e^{\varepsilon/k} - 1}\, \delta_1(\varepsilon/k)

    Not tight. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, end of the proof of Lemma 4.4.

    Parameters
    ----------
    single : HiddenTuple
        One message, where all the others are known.
    k : int
        How many, at least 1.
    source : str
        Of the enclosures.
    """

    single: HiddenTuple
    k: int
    source: str
    level: Rigour = Rigour.INTERVAL

    def value(self, epsilon: Fraction) -> flint.arb:
        """An upper bound, at most 1; where epsilon is very large, it grows with it again."""
        steps = ball(epsilon).expm1() / ball(epsilon / self.k).expm1() if epsilon else flint.arb(self.k)
        return (steps * self.single.value(epsilon / self.k)).min(flint.arb(1))

    def forever(self) -> flint.arb:
        """Below this, no epsilon is known to be enough."""
        return self.single.forever()

    def guess(self, goal: Fraction) -> float:
        """Where a single message has about that delta, less what its multiples add."""
        return self.k * self.single.guess(goal / (2 * self.k))

    def delta(self, epsilon: Number) -> Enclosure:
        """An upper bound; from below it is 0."""
        known = not math.isinf(require_epsilon(epsilon))
        high = self.value(Fraction(epsilon)).upper() if known else flint.arb(1)
        return Enclosure.of(0, high, rigour=self.level, source=self.source).clamp(0.0, 1.0)


@dataclass(frozen=True)
class Best(PrivacyProfile):
    """The largest of several profiles, each of which is attained: a lower bound.

    Parameters
    ----------
    profiles : tuple of PrivacyProfile
        At least one.
    """

    profiles: tuple[PrivacyProfile, ...]

    def delta(self, epsilon: Number) -> Enclosure:
        """The one with the largest lower end."""
        return max((each.delta(epsilon) for each in self.profiles), key=lambda found: found.low)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """The one with the largest lower end."""
        return max((each.epsilon(delta) for each in self.profiles), key=lambda found: found.low)
