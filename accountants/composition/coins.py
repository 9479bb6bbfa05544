r"""Exact composition of T equal mechanisms whose loss is e, 0 or -e, and of two kinds of randomized bits.

The loss of T runs is S e, where S is the number of losses e (pluses) minus the number of losses -e (minuses), and
:math:`Q[S = s] = P[S = -s] = e^{-s e} P[S = s]`. So with :math:`P_s = P[S \ge s]` and :math:`Q_s = P[S \le -s]`

.. math:: \delta(\varepsilon) = \max_s\, P_s - e^\varepsilon Q_s, \qquad
          \varepsilon(\delta) = \max_s\, \log \frac{P_s - \delta}{Q_s}

and the first maximum is attained at the smallest s with s e > epsilon. Without losses 0 these are binomial tails; with
them, each run has three outcomes, and the tail is summed from its far end.

Source: Kairouz, Oh, Viswanath 2015, Theorem 3.3 (binomial tails).

*Two kinds*: M randomized bits with losses alpha, -alpha and N with losses beta, -beta. With i of the M bits and j of
the N bits reported truthfully, the loss is :math:`(2i - M)\alpha + (2j - N)\beta`. With I and J binomial, and
:math:`i_j` the least i at which the loss exceeds epsilon, {loss > epsilon} has the probabilities

.. math:: P = \sum_{j=0}^{N} P[J = j]\,P[I \ge i_j], \qquad Q = \sum_{j=0}^{N} Q[J = j]\,Q[I \ge i_j], \qquad
          \delta(\varepsilon) = P - e^\varepsilon Q

and because this event is the best one at epsilon (Neyman, Pearson), :math:`\varepsilon(\delta)` is the largest
:math:`\log\frac{P - \delta}{Q}` over all epsilon.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball, between, floor
from ldpaudit.accountants.numerics.binomial import binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import crossing, first, halved, step_up
from ldpaudit.accountants.numerics.trinomial import Masses, beyond, descending, reach
from ldpaudit.accountants.pld.distribution import Loss, PrivacyLossDistribution, infinite_mass
from ldpaudit.accountants.pld.profiles import OnePairProfile, limit_of_delta
from ldpaudit.accountants.pld.renyi import of_pairs
from ldpaudit.core.working_precision import working_bits, working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.errors import Unsupported
from ldpaudit.profile import RESOLUTION, Number, PrivacyProfile

_COARSE = 64  # bits of the first search for a breakpoint; with 128 an epsilon of 1e7 runs takes 2.4 times as long
_CANDIDATES = 8  # breakpoints that this precision may leave open: all of them are evaluated at full precision
_MOST_STEPS = 1 << 22  # total losses of three outcomes that are summed one by one, down to their mean: ten seconds
_EXACT_BITS = 1 << 16
"""Bits up to which a power of a rational is computed exactly, to decide whether delta equals the infinite-loss mass;
beyond, balls of this many bits decide."""

_BITS = 160  # of the search for epsilon: P - delta cancels, and a float result needs 53 of them

_STEPS = 16  # Newton's steps after which a search takes over
_FACTOR, _CLOSE = 1.5, 1e-3  # first factor, and relative width, of that search

EventProbabilities: TypeAlias = tuple[flint.arb, flint.arb]  # (P, Q) of the event that the loss is at least some value


@dataclass(frozen=True)
class Coins(PrivacyProfile):
    """Profile of `times` independent runs of a pair whose loss is e or -e, or e, 0 or -e.

    Tight for that pair: attained on the event {loss > epsilon}. Source: see the module docstring.
    """

    law: PrivacyLossDistribution  # with ``is_coin``
    times: int  # number of runs, at least 1
    source: str  # what the numbers rest on

    @abstractmethod
    def position(self, losses: flint.arb) -> flint.arb:
        """The real index at which the total loss is `losses` times e."""

    @abstractmethod
    def event(self, index: int) -> EventProbabilities:
        """(P, Q) of the event that the loss is at least that at `index`, given that it is finite."""

    @abstractmethod
    def events_around(self, delta: flint.arb) -> list[EventProbabilities] | None:
        """Events, one of which attains epsilon(delta); None where this precision does not find them."""

    @property
    def _infinite(self) -> Fraction:
        """Infinite-loss mass of one run; a coin's losses are exact, and so is this."""
        if isinstance(self.law.infinite, flint.arb):
            raise TypeError(f"a coin needs a rational infinite-loss mass, got the ball {self.law.infinite}")
        return Fraction(self.law.infinite)

    def finite(self) -> tuple[flint.arb, ...]:
        """Probabilities of e, 0 (where it occurs) and -e, given that the loss is finite."""
        masses = self.law.masses()
        total = sum(masses, flint.arb(0))
        return tuple(mass / total for mass in masses)

    def infinite(self) -> flint.arb:
        """Infinite-loss mass of all runs, narrow even where it is small."""
        return infinite_mass(((self.law, self.times),))

    def delta(self, epsilon: Number) -> Enclosure:
        """EXACT; relative width below 1e-15, except where delta underflows."""
        if math.isinf(epsilon):
            return limit_of_delta(((self.law, self.times),), self.source)
        exact = Fraction(epsilon)

        def value() -> flint.arb:
            finite = self.finite_delta(exact)
            return finite + self.infinite() * (1 - finite)

        return narrow(value, self.source).clamp(0.0, 1.0)

    def renyi(self, order: Number) -> Enclosure:
        """Those of the runs add up. EXACT, for the pair in the direction given."""
        return of_pairs([((self.law, self.times),)], Fraction(order), self.source)

    def finite_delta(self, epsilon: Fraction) -> flint.arb:
        """Delta of the finite losses alone."""
        place = self.position(ball(epsilon) / self.law.loss_balls()[0])
        first, last = (min(floor(end), self.times) for end in (place.lower(), place.upper()))
        factor = ball(epsilon).exp()
        # Where this precision does not decide the index, all possible ones are evaluated: none exceeds the right one.
        return reduce(flint.arb.max, (p - factor * q for p, q in map(self.event, range(first + 1, last + 2))), flint.arb(0))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """EXACT; infinite below the infinite-loss mass."""
        if delta == 0 and not self._infinite:
            return narrow(self.pure, self.source)
        sign = self._against_infinite(Fraction(delta))
        if sign < 0:
            return Enclosure(math.inf, math.inf, Rigour.EXACT, self.source)
        pure = narrow(self.pure, self.source)
        if sign == 0:
            return pure

        def value() -> flint.arb:
            finite = (ball(Fraction(delta)) - self.infinite()) / (1 - self.infinite())
            events = self.events_around(finite)
            if events is None:
                return between(0, self.pure())
            return reduce(flint.arb.max, ((p - finite) / q for p, q in events), flint.arb(1)).log()

        return narrow(value, self.source).clamp(0.0, pure.high)

    def pure(self) -> flint.arb:
        """The largest finite loss."""
        return self.times * self.law.loss_balls()[0]

    def _against_infinite(self, delta: Fraction) -> int:
        """Sign of delta minus the infinite-loss mass; -1, the safe answer, where it is not decided."""
        rest, size = 1 - self._infinite, self._infinite.denominator.bit_length()
        if self.times * size <= _EXACT_BITS:
            exact = delta - 1 + rest**self.times
            return (exact > 0) - (exact < 0)
        with working_precision(_EXACT_BITS):
            return 1 if ball(delta) > self.infinite() else -1


@dataclass(frozen=True)
class BinomialCoins(Coins):
    """Losses e and -e; an index is a number of pluses."""

    def position(self, losses: flint.arb) -> flint.arb:
        """With i pluses the total loss is ``(2 i - times) e``."""
        return (self.times + losses) / 2

    def event(self, index: int) -> EventProbabilities:
        """Two binomial tails."""
        # A ball's relative width is multiplied by the number of coins.
        with working_precision(working_bits() + self.times.bit_length() + 8):
            p, q = self.finite()
            # q is given separately: where p is close to 1, 1 - p would have few digits.
            return binomial_upper(self.times, p, index, q), binomial_upper(self.times, q, index, p)

    def events_around(self, delta: flint.arb) -> list[EventProbabilities] | None:
        """By binary search for the two breakpoints between which epsilon lies."""
        nowhere = self.times // 2  # the largest index without a positive loss: there epsilon is 0
        for bits in (_COARSE, working_bits()):
            with working_precision(bits):
                if self._within(nowhere, delta):
                    return []
                # Halving the whole range: far from the mode, where it begins, tails take the least time.
                low = halved(lambda index: not self._at_breakpoint(index) > delta, nowhere + 1, self.times + 1) - 1
                high = first(lambda index: self._within(index, delta), low + 1, low + 1, self.times + 1)
            if high - low <= _CANDIDATES:
                return [self.event(index) for index in range(low + 1, min(high, self.times) + 1)]
        return None

    def _at_breakpoint(self, index: int) -> flint.arb:
        p, q = self.event(index)
        return p - ((2 * index - self.times) * self.law.loss_balls()[0]).exp() * q

    def _within(self, index: int, delta: flint.arb) -> bool:
        return bool(self._at_breakpoint(index) <= delta)


@dataclass(frozen=True)
class TrinomialCoins(Coins):
    """Losses e, 0 and -e; an index is a number of pluses minus a number of minuses."""

    def position(self, losses: flint.arb) -> flint.arb:
        """At an index s the total loss is s e."""
        return losses

    def event(self, index: int) -> EventProbabilities:
        """The partial sums of `_sweep`, down to the index; where that is far below the mean, Chernoff's bounds."""
        p, w, q = self.masses()
        below = beyond(self.times, (q, w, p), 1 - index)  # P[S <= index - 1]
        if below < flint.arb(2) ** -working_bits():
            return between(1 - below, flint.arb(1)), between(0, beyond(self.times, (q, w, p), index))
        bound = beyond(self.times, self.masses(), index)
        for reached, p, q, _ in self._sweep(-float(bound.log()) if bound > 0 else math.inf):
            if reached == index:
                return p, q
        return flint.arb(0), flint.arb(0)

    def events_around(self, delta: flint.arb) -> list[EventProbabilities]:
        """The last events of `_sweep`, down to where delta is certainly exceeded."""
        found: list[EventProbabilities] = []
        for index, p, q, factor in self._sweep(max(0.0, -float(delta.log()))):
            at_breakpoint = p - factor * q
            if index < 1 or at_breakpoint > delta:
                break
            if at_breakpoint <= delta:
                found = []
            found.append((p, q))
        return found

    def masses(self) -> Masses:
        """Probabilities of e, 0 and -e."""
        p, w, q = self.finite()
        return p, w, q

    def _sweep(self, nats: float) -> Iterator[tuple[int, flint.arb, flint.arb, flint.arb]]:
        """(index, P, Q, e**loss) of the events {S >= index}, index falling from far beyond a tail of exp(-nats)."""
        masses = self.masses()
        start = reach(self.times, masses, nats + working_bits() * math.log(2))
        if start - min(start, int(self.times * float(masses[0] - masses[2]))) > _MOST_STEPS:
            found = f"their total loss has more than {_MOST_STEPS} values between its mean and its end"
            raise Unsupported(f"{self.times} runs", found)
        ratio = masses[0] / masses[2]
        factor = ratio**start
        event_p = between(0, beyond(self.times, masses, start + 1))
        event_q = event_p / factor
        for index, here in descending(self.times, masses, start):
            event_p += here
            event_q += here / factor
            yield index, event_p, event_q, factor
            factor /= ratio


@dataclass(frozen=True)
class TwoCoins(OnePairProfile):
    """Profile of M bits that are truthful with probability p and N bits that are truthful with probability q.

    Tight for two inputs that differ in all bits: attained on the event {loss > epsilon}. Source: the module docstring.
    """

    p: Fraction  # in [1/2, 1)
    m: int  # M, at least 0
    q: Fraction  # in [1/2, 1)
    n: int  # N, at least 0
    source: str  # what the numbers rest on

    def delta(self, epsilon: Number) -> Enclosure:
        """EXACT; relative width below 1e-15, except where delta underflows."""
        if math.isinf(epsilon):
            return Enclosure(0.0, 0.0, Rigour.EXACT, self.source)
        exact = Fraction(epsilon)
        return narrow(lambda: self._gain(exact), self.source).clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """EXACT; relative width below 1e-13."""
        if delta == 0:
            return narrow(self.pure, self.source)
        low, reached, steps = 0.0, self._reached(0.0, Fraction(delta)), 1
        # Newton's method on a convex function, from the left: every iterate is a lower bound.
        while reached > low * (1 + RESOLUTION):
            if steps == _STEPS:  # a small delta is hundreds of steps away: any event gives a lower bound
                near = crossing(lambda e: self.delta(e).high, delta, reached, _FACTOR, _CLOSE)[0]
                reached = max(reached, self._reached(near, Fraction(delta)))
            low, reached, steps = reached, self._reached(reached, Fraction(delta)), steps + 1
        high = step_up(lambda e: self.delta(e).high <= delta, low, max(low, RESOLUTION) * RESOLUTION)
        return Enclosure(low, high, Rigour.EXACT, self.source)

    def pure(self) -> flint.arb:
        """The largest loss."""
        alpha, beta = self._losses()
        return self.m * alpha + self.n * beta

    def _losses(self) -> tuple[flint.arb, flint.arb]:
        return Loss(self.p / (1 - self.p)).ball(), Loss(self.q / (1 - self.q)).ball()

    def _reached(self, epsilon: float, delta: Fraction) -> float:
        """Lower bound of epsilon(delta) from the event {loss > `epsilon`}, rounded down."""
        with working_precision(_BITS + (self.m + self.n).bit_length()):
            p = q = flint.arb(0)
            for j, least in enumerate(self._least(ball(Fraction(epsilon)))):
                p += _mass(self.n, self.q, j) * _tail(self.m, self.p, least[0])
                q += _mass(self.n, 1 - self.q, j) * _tail(self.m, 1 - self.p, least[0])
            kept = p - ball(delta)
            return max(0.0, round_down((kept / q).log())) if kept > 0 and q > 0 else 0.0

    def _gain(self, epsilon: Fraction) -> flint.arb:
        """delta, at the current precision."""
        with working_precision(working_bits() + (self.m + self.n).bit_length() + 8):
            factor, total = ball(epsilon).exp(), flint.arb(0)
            for j, leasts in enumerate(self._least(ball(epsilon))):
                p, q = _mass(self.n, self.q, j), factor * _mass(self.n, 1 - self.q, j)
                best = flint.arb(0)
                # Where the least i is undecided, all possible ones are tried: none beats the right one.
                for i in leasts:
                    best = best.max(p * _tail(self.m, self.p, i) - q * _tail(self.m, 1 - self.p, i))
                total += best
        return total

    def _least(self, epsilon: flint.arb) -> list[range]:
        """For every j, the possible values of the least i at which the loss exceeds epsilon; M + 1 where none does."""
        alpha, beta = self._losses()
        return [self._between(epsilon - (2 * j - self.n) * beta, alpha) for j in range(self.n + 1)]

    def _between(self, needed: flint.arb, alpha: flint.arb) -> range:
        if self.m == 0 or self.p == Fraction(1, 2):
            return range(0 if not needed >= 0 else self.m + 1, 1 if needed < 0 else self.m + 2)
        place = (self.m + needed / alpha) / 2
        low, high = (min(max(math.floor(end) + 1, 0), self.m + 1) for end in (round_down(place), round_up(place)))
        return range(low, high + 1)


def _mass(coins: int, chance: Fraction, heads: int) -> flint.arb:
    """`binomial_pmf` at the current precision, kept for the next query."""
    return _kept(binomial_pmf, coins, chance, heads, working_bits())


def _tail(coins: int, chance: Fraction, heads: int) -> flint.arb:
    """`binomial_upper` at the current precision, kept for the next query."""
    return _kept(binomial_upper, coins, chance, heads, working_bits())


@lru_cache(maxsize=1 << 15)
def _kept(law: Callable[[int, Fraction, int], flint.arb], coins: int, chance: Fraction, heads: int, bits: int) -> flint.arb:
    with working_precision(bits):
        return law(coins, chance, heads)
