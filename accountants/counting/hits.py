r"""Replaced messages among random ones, in several independent shuffles: two tables of counters.

One message of an element u or v, shuffled among M random ones, is told by N and N', how many of the M + 1 messages speak for
u and for v. Under u their density with respect to two independent counts Bin(M+1, p) is :math:`N/((M+1)p)`, under v it is
:math:`N'/((M+1)p)`. So the pair of laws is the product of

.. math:: \bigl(1 + \mathrm{Bin}(M, p),\ \mathrm{Bin}(M+1, p)\bigr) \quad\text{and the same pair reversed},

because :math:`1 + \mathrm{Bin}(M, p)` has this density with respect to :math:`\mathrm{Bin}(M+1, p)`. L such shuffles are
2L independent counters, and what `counting.compose` does with those it does here: an enclosure at any depth.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import flint

from ldpaudit.accountants.counting.compose import PRECISION, CountersProfile, LowerTotal, UpperTotal
from ldpaudit.accountants.counting.counter import HitCounter, dominating, shown
from ldpaudit.accountants.numerics.balls import as_ball, ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.normal import about_epsilon
from ldpaudit.accountants.numerics.search import crossing
from ldpaudit.accountants.pld.distribution import BallPLD, Groups
from ldpaudit.accountants.pld.exact import Atom, ExactPLD, dominating_pair, few_products
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import SummedLosses
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.profile import Number, require_delta, require_epsilon

_DEEP = 2
"""Most shuffles for which a rare view is far from the mean on each counter, as in `counting.count_min`."""
_FEW_MESSAGES, _FEW_ATOMS = 14, 1 << 13
"""Most random messages, and joint likelihood ratios, that are enumerated in rationals."""
_FEW_PRODUCTS, _FEW_BITS = 1 << 14, 1 << 12
"""Most products of probabilities for that, and bits of the last ones: three tenths of a second, found or not."""
_BITS = 192
_HALF = Fraction(1, 2)
_FAR, _WIDTHS, _LOST = 4.0, (0.25, 4.0), 1e-3
"""Standard deviations within which T is told apart, and the least and the largest width of its blocks in these; and their width in
units of T, of which epsilon loses about a quarter."""
_CELL, _CELLS = 0.3, 16
"""Width of the cells of N in standard deviations, and how many there are on either side of the mean."""
_RARE = 1e-9
"""Probability of user 1's messages of which few are counted in N, that may be left out."""
_LARGEST = 1e4
"""Nats, from which on only views that the second data set never has are counted."""
_DEEPEST = 700.0  # nats of a float
_CLOSE = 1e-5
"""Relative width of the search for an epsilon."""


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
    r"""A lower bound: all other users send the second element, and the adversary does not know which messages are theirs.

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


@dataclass(frozen=True)
class MergedHits(SummedLosses):
    r"""Several messages replaced at once in one shuffle: a lower bound that counts messages for any of their elements.

    User 1 sends one message for each of D elements S, or of D others S', and one for each of w elements W; all other users
    hold S' and W, and there are B random messages. The rows of different elements are independent, two at a time, so that
    a message for one of them speaks for another one with probability p, as a random message does. The adversary counts two
    kinds of messages: N' speak for some element of S', and N for some element of S and for none of S'.

    - All messages for S' count in N': those of the others, who are subtracted, and those of user 1.
    - Of user 1's messages for S each counts in N with a probability of at least :math:`q = 1 - Dp + (D-1)\,p^2`, else in N'. For
      :math:`P[\bigcup A_j] \le \sum P[A_j] - \sum P[A_1 \cap A_j]`, and two elements of S' share a message for S at least as often
      as rows that are independent do. If more of them count in N, events that rise with N are likelier.
    - A random message, or one for W, counts in N, and in N', with probability at most Dp. The adversary makes it one g for
      all of them: of the messages that speak for one element of W and for none of S and S', and then of those that speak
      for nothing, random ones are counted, too. For that :math:`g = Dp/(1 - wp)` is enough, as a random message speaks for
      W with probability wp at most. Where w = 0, less is enough: :math:`g' = Dp - (D-1)\,p^2` for N', and for N
      :math:`g = Dp\,\bigl(1 - cp + \tbinom{c}{2} p^2\bigr)` with c half of D, rounded up. For S' has at least c elements of which
      no two differ by a given one of S, and a message for that one speaks for them as random ones do, two at a time.

    So with :math:`(N, N') \sim \mathrm{Multinomial}(B + nw; g, g')`, of which T is the sum, :math:`r = g/(g+g')` and
    :math:`J \sim \mathrm{Bin}(D, q)`,

    .. math:: \delta(\varepsilon) \ge D_{e^{\varepsilon}}\bigl((N + J, N' + D - J) \,\|\, (N, N' + D)\bigr)
              = E_T\Bigl[D_{e^\varepsilon}\bigl(J + \mathrm{Bin}(T, r) \,\|\, \mathrm{Bin}(T, r)\bigr)\Bigr]

    and the divergence falls with T, for one coin more is post-processing. To first order nothing is lost: D counters of mean Bp
    that go up by one tell what one of mean DBp tells that goes up by D. Of several runs the likeliest events rise with every N,
    too.

    Source: derived here.
    """

    users: int  # n, at least 1
    blanket: int  # B, random messages, at least 1
    hit: Fraction  # p, in (0, 1)
    replaced: int  # D, at least 1
    shared: int  # w, elements of a user that do not change, at least 0

    @property
    def source(self) -> str:
        """What is bounded."""
        return f"messages that speak for any of {self.replaced} replaced elements, among {self.blanket} random ones"

    def delta(self, epsilon: Number) -> Enclosure:
        """From the bound to 1."""
        at = epsilon if math.isinf(require_epsilon(epsilon)) else round_up(Fraction(epsilon))
        return Enclosure(self._low(float(at)), 1.0, Rigour.INTERVAL, self.source)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From the bound to infinity; infinite where views that only the first data set has are more likely than delta."""
        goal = require_delta(delta)
        low = math.inf if self._low(math.inf) > goal else 0.0
        if low == 0 < goal < self._low(0.0):
            start = about_epsilon(4 * self.replaced**2 / self._mean, Fraction(goal))
            low, _ = crossing(self._low, goal, max(start, _CLOSE), 1.1, _CLOSE)
        return Enclosure(low, math.inf, Rigour.INTERVAL, self.source)

    @property
    def dominating(self) -> None:
        """None: it is a lower bound."""

    @cached
    def occurring(self) -> tuple[Groups, ...]:
        """Cells of N for every T; of messages of user 1 that are counted in N, the likeliest numbers alone."""
        if not self._applies:
            return ()
        cells: list[tuple[flint.arb, flint.arb]] = []
        infinite = flint.arb(0)
        with working_precision(_BITS):
            for t, chance in self._blocks:
                middle, spread = float(t * self._ratio), math.sqrt(float(t * self._ratio * (1 - self._ratio)))
                ends = sorted({min(max(round(middle + i * _CELL * spread), 0), t + 1) for i in range(-_CELLS, _CELLS + 1)} | {0})
                tails = [self._tails(t, end) for end in [*ends, t + 1]]
                cells += [(chance * (p - p_next), chance * (q - q_next)) for (p, q), (p_next, q_next) in pairwise(tails)]
                infinite += chance * tails[-1][0]
            points = [((p / q).log(), p) for p, q in cells if p > 0 and q > 0]
            points.sort(key=lambda point: float(point[0]), reverse=True)
            listed = sum((mass for _, mass in points), infinite)
        return ((BallPLD(tuple(points), infinite, listed), 1),),

    @property
    def _random(self) -> int:
        """Messages that are counted with probability 2g."""
        return self.blanket + self.users * self.shared

    @property
    def _applies(self) -> bool:
        """Whether messages that speak for nothing are enough to make g and g' equal for all."""
        return self.shared * self.hit < _HALF and 2 * self.replaced * self.hit / (1 - self.shared * self.hit) <= _HALF

    @cached
    def _chances(self) -> tuple[Fraction, Fraction]:
        """(g, g')."""
        d, p = self.replaced, self.hit
        if self.shared:
            return (d * p / (1 - self.shared * p),) * 2
        c = (d + 1) // 2
        return d * p * (1 - c * p + math.comb(c, 2) * p**2), d * p - (d - 1) * p**2

    @property
    def _counted(self) -> Fraction:
        """Probability that a random message is counted."""
        return sum(self._chances, Fraction(0))

    @property
    def _ratio(self) -> Fraction:
        """r."""
        return self._chances[0] / self._counted

    @cached
    def _own(self) -> tuple[tuple[int, flint.arb], ...]:
        """Numbers J of user 1's messages with their probabilities, from D down; some that are rarest are left out."""
        d, found, rest = self.replaced, list[tuple[int, flint.arb]](), 1.0
        q = 1 - d * self.hit + (d - 1) * self.hit**2
        while rest > _RARE:
            j = d - len(found)
            found.append((j, math.comb(d, j) * ball(q) ** j * ball(1 - q) ** (d - j)))
            rest -= float(found[-1][1])
        return tuple(found)

    def _tails(self, t: int, count: int) -> tuple[flint.arb, flint.arb]:
        """Probabilities under the first and the second law that N is at least so large."""
        second = upper = binomial_upper(t, self._ratio, count)
        first, least = flint.arb(0), count
        for j, chance in reversed(self._own):
            upper += sum((binomial_pmf(t, self._ratio, n) for n in range(count - j, least)), flint.arb(0))
            first, least = first + chance * upper, count - j
        return first, second

    @property
    def _mean(self) -> Fraction:
        return self._counted * self._random

    @cached
    def _blocks(self) -> tuple[tuple[int, flint.arb], ...]:
        """Numbers T, each with the probability that it is between the one before and this one."""
        mean = float(self._mean)
        deviation = math.sqrt(mean)
        width = min(max(_LOST * deviation, _WIDTHS[0]), _WIDTHS[1])
        steps = range(-math.ceil(_FAR / width), math.ceil(_FAR / width) + 1)
        ends = sorted({min(max(math.ceil(mean + i * width * deviation), 0), self._random) for i in steps})
        with working_precision(_BITS):
            up_to = [flint.arb(0), *(binomial_lower(self._random, self._counted, end) for end in ends)]
            return tuple((end, b - a) for end, a, b in zip(ends, up_to, up_to[1:], strict=False))

    def _low(self, epsilon: float) -> float:
        if not self._applies:
            return 0.0
        total, moved = flint.arb(0), self.replaced
        with working_precision(_BITS):
            q = 1 - moved * float(self.hit)
            each = (math.expm1(min(epsilon / moved, _DEEPEST)) + q) / q  # the likelihood ratio of one message
            share = 1 - 1 / (1 + each * float(self._ratio / (1 - self._ratio)))
            ratio = flint.arb(min(epsilon, _LARGEST)).exp()
            for t, chance in self._blocks:
                # About the count from which on the first law has more than that many times the probabilities of the second, which
                # ends at t.
                count = t + 1 if epsilon > _LARGEST else min(max(math.ceil((t + moved) * share), moved), t + 1)
                first, second = self._tails(t, count)
                gain = first - ratio * second
                if gain > 0 and chance > 0:
                    total += chance * gain
            return max(0.0, round_down(total))
