r"""Replaced messages among random ones, in several independent shuffles: two tables of counters.

One message of an element u or v, shuffled among M random ones, is told by N and N', how many of the M + 1 messages speak for
u and for v. Under u their density with respect to two independent counts Bin(M+1, p) is :math:`N/((M+1)p)`, under v it is
:math:`N'/((M+1)p)`. So the pair of laws is the product of

.. math:: \bigl(1 + \mathrm{Bin}(M, p),\ \mathrm{Bin}(M+1, p)\bigr) \quad\text{and the same pair reversed},

because :math:`1 + \mathrm{Bin}(M, p)` has this density with respect to :math:`\mathrm{Bin}(M+1, p)`. L such shuffles are
2L independent counters, and what `counting.compose` does with those it does here: an enclosure at any depth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import flint

from ldpaudit.accountants.counting.compose import PRECISION, CountersProfile, LowerTotal, UpperTotal
from ldpaudit.accountants.counting.counter import HitCounter, dominating, shown
from ldpaudit.accountants.numerics.balls import as_ball, ball
from ldpaudit.accountants.pld.distribution import BallPLD, Groups
from ldpaudit.accountants.pld.exact import Atom, ExactPLD, dominating_pair, few_products
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import SummedLosses
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, require_delta, require_epsilon

_DEEP = 2
"""Most shuffles for which a rare view is far from the mean on each counter, as in `counting.count_min`."""
_FEW_MESSAGES, _FEW_ATOMS = 14, 1 << 13
"""Most random messages, and joint likelihood ratios, that are enumerated in rationals."""
_FEW_PRODUCTS, _FEW_BITS = 1 << 14, 1 << 12
"""Most products of probabilities for that, and bits of the last ones: three tenths of a second, found or not."""


@dataclass(frozen=True)
class ComposedHits(SummedLosses):
    r"""One message replaced in each of several independent shuffles, where the adversary knows all other messages.

    Tight: it is the profile of this pair. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, proof of Lemma 4.4, for one
    shuffle; composition exact, in place of dividing epsilon and delta. Proof: proofs/range_queries.py.
    """

    messages: int  # M, random ones in each shuffle, at least 1
    hit: Fraction  # p, in (0, 1)
    shuffles: int  # L, at least 1

    @property
    def source(self) -> str:
        """What is composed."""
        return f"{self.shuffles} shuffles, in each one message among {self.messages} random ones"

    def delta(self, epsilon: Number) -> Enclosure:
        """INTERVAL; EXACT where it is enumerated. Where epsilon is infinite, the infinite-loss mass."""
        if exact := _enumerated(self):
            return exact.delta(epsilon)
        if math.isinf(require_epsilon(epsilon)):
            return self._enclosed(*self._infinite())
        found = _counters(self.messages, self.hit, self.shuffles).delta(epsilon)
        low, _ = self._infinite()
        return self._enclosed(max(low, found.low), found.high)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """INTERVAL, about 1e-4 wide; EXACT where it is enumerated. Infinite below the infinite-loss mass."""
        if exact := _enumerated(self):
            return exact.epsilon(delta)
        if require_delta(delta) < self._infinite()[0] or delta == 0:
            return self._enclosed(math.inf, math.inf)
        found = _counters(self.messages, self.hit, self.shuffles).epsilon(delta)
        return self._enclosed(found.low, found.high)

    @property
    def dominating(self) -> Groups:
        """Of every shuffle two counters; or all numbers of messages, where these are enumerated."""
        if exact := _enumerated(self):
            return ((dominating_pair(exact.pairs), 1),)
        return _counters(self.messages, self.hit, self.shuffles).dominating

    @property
    def occurring(self) -> tuple[Groups, ...]:
        """The counters' cells; or all numbers of messages."""
        if exact := _enumerated(self):
            return tuple(((pair.complete(), 1),) for pair in exact.pairs)
        return _counters(self.messages, self.hit, self.shuffles).occurring

    def _infinite(self) -> tuple[float, float]:
        """Probability that in some shuffle no message speaks for the other element."""
        with working_precision(PRECISION):
            some = -((-ball(self.hit)).log1p() * (self.messages + 1)).expm1()
            found = -(some.log() * self.shuffles).expm1()
            return round_down(found), round_up(found)

    def _enclosed(self, low: float, high: float) -> Enclosure:
        return Enclosure(low, high, Rigour.INTERVAL, self.source)


@lru_cache(maxsize=64)
def _counters(messages: int, hit: Fraction, shuffles: int) -> CountersProfile:
    """The counters of messages that speak for u, and for v, in each shuffle."""
    counter, deep = HitCounter(messages, hit), shuffles <= _DEEP
    with working_precision(PRECISION):
        lower = LowerTotal(tuple((shown(counter, way, deep), shuffles) for way in (False, True)))
        upper = UpperTotal(tuple((dominating(counter, way, deep), shuffles) for way in (False, True)))
    return CountersProfile(((lower, upper),), "")


@lru_cache(maxsize=64)
def _partly_seen(h: ComposedHits) -> Groups:
    """The cells of the counters, those of messages that speak for u with 1 - p times their probabilities under the first law."""
    ((first, times), second), = _counters(h.messages, h.hit, h.shuffles).occurring
    with working_precision(PRECISION):
        share = ball(1 - h.hit)
        points = tuple((loss + share.log(), mass * share) for loss, mass in zip(first.loss_balls(), first.masses(), strict=True))
        return (BallPLD(points, share * as_ball(first.infinite), share * as_ball(first.listed)), times), second


@lru_cache(maxsize=64)
def _enumerated(h: ComposedHits) -> FiniteProfile | None:
    """All numbers of messages, in rationals; None where there are too many."""
    m, p = h.messages + 1, h.hit
    if m > _FEW_MESSAGES or m * h.shuffles * p.denominator.bit_length() > _FEW_BITS:
        return None
    law = [(n, math.comb(m, n) * p**n * (1 - p) ** (m - n)) for n in range(m + 1)]
    there: list[Atom] = [(n * q / (m * p), q) for n, q in law]
    atoms = few_products([(there, h.shuffles), ([(q, p) for p, q in there], h.shuffles)], _FEW_ATOMS, _FEW_PRODUCTS)
    return None if atoms is None else FiniteProfile((ExactPLD.of(atoms),), h.source)


@dataclass(frozen=True)
class HiddenHits(SummedLosses):
    r"""A lower bound: what these shuffles tell where all other users send the second element, and that is not known to be theirs.

    .. math:: \delta(\varepsilon) \ge s\, \delta_{\mathrm{known}}(\varepsilon - \ln s), \qquad s = (1 - p)^L

    Who sees how many messages speak for v, and how many for u and not for v, adds coins of probability p for the former: how
    many of them speak for u, too. Under v this has the law that is seen where the others are known; under u it has as well,
    given that user 1's message does not speak for v, which has probability 1 - p. An event that rises with every N
    and falls with every N' is no likelier where it does; and the best events are of this kind.
    Source: `HiddenTuple` for one shuffle. Proof: proofs/range_queries.py.
    """

    known: ComposedHits  # where they are known

    @property
    def dominating(self) -> None:
        """None: it is a lower bound."""

    @property
    def occurring(self) -> tuple[Groups, ...]:
        """The known shuffles' cells, the first law times s; events of several runs rise and fall with the counts, too."""
        return _partly_seen(self.known),

    @property
    def share(self) -> flint.arb:
        """s, at the current precision."""
        return ((-ball(self.known.hit)).log1p() * self.known.shuffles).exp()

    def delta(self, epsilon: Number) -> Enclosure:
        """From the bound to 1."""
        with working_precision(PRECISION):
            s = self.share
            at = require_epsilon(epsilon) if math.isinf(epsilon) else round_up(ball(Fraction(epsilon)) - s.log())
            low = round_down(s * ball(Fraction(self.known.delta(at).low)))
        return Enclosure(max(low, 0.0), 1.0, Rigour.INTERVAL, self.known.source)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From the bound to infinity."""
        with working_precision(PRECISION):
            s = self.share
            quotient = ball(Fraction(require_delta(delta))) / s
            goal = round_up(quotient) if quotient < 1 else 1.0  # beyond every float where the share is below them
            found = self.known.epsilon(Fraction(goal)).low if goal < 1 else 0.0
            low = found if math.isinf(found) else round_down(ball(Fraction(found)) + s.log())
        return Enclosure(max(low, 0.0), math.inf, Rigour.INTERVAL, self.known.source)
