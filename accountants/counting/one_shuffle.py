r"""Several messages replaced at once in one shuffle: an upper bound next to what a shuffle each would cost.

User 1 sends one message for each of k elements x, or of k others x', among random ones. Where only some of the elements are
replaced, the messages of the others may be given away, and k messages among M - k + 1 random ones cost at least as much: for a
message of one more element that is independent of all others is to these a random one, and more random messages hide more.
So there are m = M + 1 messages, and K = 2k different rows.

With :math:`N_i` the number of messages that speak for i, the density of the multiset with respect to m random messages counts the
ways to choose one message for each element, all different. With :math:`u_x = \prod_{i \in x} N_i/(mp)`, with :math:`N_{ij}` those
that speak for both i and j, and :math:`\alpha = m^k/(m (m-1) \cdots (m-k+1))`, it is at most :math:`\alpha u_x`, and of x' at
least

.. math:: \alpha\,(1 - \Theta)\,u_{x'}, \qquad \Theta = \sum_{i < j \in x'} \frac{N_{ij}}{N_i N_j}.

1. Under x, :math:`\Theta > \theta` is at most as likely as :math:`N_{ij} > \vartheta N_i N_j` for some pair, with
   :math:`\vartheta = \theta/\binom k2`. Of :math:`m_0 = m - k` random messages :math:`N_i` and :math:`N_j` are independent,
   and given these :math:`E[e^{tN_{ij}}] \le e^{N_i N_j (e^t - 1)/m_0}` (Hoeffding 1963, Theorem 4); each of user 1's speaks for
   both with probability p at most. So for every t with :math:`h = t\vartheta - (e^t - 1)/m_0 > 0` it is at most

   .. math:: \binom k2\, (1 + p\,(e^t - 1))^k\, E\bigl[e^{-m_0 p\,(1 - e^{-h N_i})}\bigr], \qquad N_i \sim \mathrm{Bin}(m_0, p).

2. Under x, no :math:`N_i` exceeds b, except with probability :math:`2k\,P[\mathrm{Bin}(m, p) \ge b]`, and then
   :math:`u_x \le U = (b/mp)^k`.
3. What is left is the mean of :math:`f = (u_x - e^\varepsilon (1-\theta)\,u_{x'})_+` up to b, where the rows depend on each
   other. By `dependent_rows` it is next to :math:`E = E[f \prod_i (1 + G(N_i))]` with independent :math:`N_i \sim
   \mathrm{Bin}(m, p)`, which are the counts of k shuffles of one message among M each, :math:`1 + \mathrm{Bin}(M, p)` having the
   density :math:`N/(mp)`; and :math:`\|f\|_2^2 \le U E`.

So with eta the probabilities of steps 1 and 2,

.. math:: \delta(\varepsilon) \le \eta + \alpha\,\bigl(E + T \sqrt{U E} + T' U\bigr).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise

import flint
import numpy as np

from ldpaudit.accountants.counting.compose import PRECISION, UpperTotal
from ldpaudit.accountants.counting.counter import HitCounter, cells, dominating
from ldpaudit.accountants.counting.dependent_rows import DependentRows
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_upper
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.numerics.search import bisect, crossing
from ldpaudit.accountants.pld.distribution import BallPLD
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_SPENT = -10
"""Power of two of the share of delta that may be spent on each of eta, T and T'; with -6 or -14 epsilons change by less than 1e-3
of themselves."""
_LEAST = -996
"""Nor need any of them be smaller than this power of two."""
_NEAR = 16
"""Deltas within this power of two share one G: a composition asks for a hundred of them."""
_TRIES = 8
"""Estimates of delta that say what to spend: the first may be too large, where a sum is unlikely in two ways, or too small."""
_TILTS = 2
"""Tilts of lattices per octave, in the root of the nats of delta: near epsilons share one."""
_DEGREES = 24
"""Most degrees of G."""
_FINER = 1.05
"""G is rounded up to its values at deviations that differ by this factor."""
_FALLS, _STEPS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0), 4
"""Exponents t that are tried, and parts of a standard deviation to which numbers of messages are rounded down for these."""
_ROWS = 256
"""Most rows whose dependences are counted, in a second."""
_WIDTH = 2.0**-40
"""Relative precision of the search for an epsilon."""


@dataclass(frozen=True)
class OneShuffle(PrivacyProfile):
    """Upper bound of several messages replaced in one shuffle, where the adversary knows all other messages.

    Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, proof of Lemma 4.4, for the density of one message; the bound for
    several is new here. Proof: proofs/shuffled_hadamard.py.
    """

    messages: int  # M, random ones, at least 1
    hit: Fraction  # p, in (0, 1/2]
    replaced: int  # k, at least 2

    @property
    def source(self) -> str:
        """What is bounded."""
        return f"{self.replaced} messages replaced together among {self.messages} random ones"

    def delta(self, epsilon: Number) -> Enclosure:
        """From 0 to the bound."""
        if math.isinf(require_epsilon(epsilon)):
            return self._enclosed(1.0)
        moments, high = self._apart.total.moments, flint.arb(1)
        with working_precision(PRECISION):
            tilt = moments.for_epsilon(float(epsilon))
            nats = -min(moments.log_delta(tilt), 0.0)
            octave = math.ceil(_TILTS * math.sqrt(nats)) or 1
            rounded = 2.0 ** (round(octave * math.log2(tilt)) / octave) if tilt else 0.0
            known, unknown = 0.0, math.inf  # nats with which there is a bound, or nothing is tried, and with which there is none
            for _ in range(_TRIES):
                if (found := self._spending(-nats)) is None or not (value := found.delta(ball(Fraction(epsilon)), rounded)) < 1:
                    unknown = nats
                else:
                    known, high = nats, high.min(value)
                    if found.spent < value / 128:
                        break
                nats = known + 16 if math.isinf(unknown) else (known + unknown) / 2
            return self._enclosed(min(round_up(high), 1.0))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From 0 to where the bound is at most delta."""
        if require_delta(delta) == 0:
            return self._enclosed(math.inf)
        with working_precision(PRECISION):
            found = self._spending(log(delta))
            if found is None or not found.limit < ball(Fraction(delta)):
                return self._enclosed(math.inf)
            moments = found.product.total.moments
            tilt = moments.for_delta(log(delta))

            def cost(epsilon: float) -> float:
                return round_up(found.delta(ball(Fraction(epsilon)), tilt))

            high = 0.0 if cost(0.0) <= delta else crossing(cost, delta, max(moments.at(tilt)[1], 1e-9), 1.01, _WIDTH)[1]
            return self._enclosed(high)

    def _spending(self, nats: float) -> _Bound | None:
        """The bound for a delta of about e**nats; near ones share it."""
        return _bound(self, max(_NEAR * math.floor((nats / math.log(2) + _SPENT) / _NEAR), _LEAST))

    @cached
    def _apart(self) -> UpperTotal:
        """The messages in a shuffle each."""
        counter = HitCounter(self.messages, self.hit)
        return UpperTotal(tuple((dominating(counter, way), self.replaced) for way in (False, True)))

    def _enclosed(self, high: float) -> Enclosure:
        return Enclosure(0.0, high, Rigour.INTERVAL, self.source)


@dataclass(frozen=True)
class _Bound:
    """The bound for one b, theta and degree of G."""

    spent: flint.arb  # eta + alpha T' U
    lowered: flint.arb  # -log(1 - theta)
    product: UpperTotal  # k pairs of either kind, of laws in proportion to 1 + G
    factor: flint.arb  # alpha, times what makes these out of measures
    norm: flint.arb  # alpha T sqrt(U), times the root of that

    def delta(self, epsilon: flint.arb, tilt: float) -> flint.arb:
        """By one lattice."""
        if (known := self.product.divergence(tilt)) is None:
            return flint.arb(1)
        return self._with(known.high(epsilon - self.lowered) + self.product.total.infinite)

    @property
    def limit(self) -> flint.arb:
        """The bound where epsilon is large."""
        return self._with(self.product.total.infinite)

    def _with(self, divergence: flint.arb) -> flint.arb:
        return self.spent + self.factor * divergence + self.norm * divergence.sqrt()


@lru_cache(maxsize=256)
def _bound(s: OneShuffle, power: int) -> _Bound | None:
    """With about 2**power spent on each of eta, T and T'; None where too many messages speak for several rows."""
    k, p, spent = s.replaced, s.hit, 2.0**power
    rows = DependentRows(s.messages + 1, p, 2 * k)
    if rows.messages <= 2 * k or 2 * k > _ROWS:
        return None
    with working_precision(PRECISION):
        m, mean, nats = rows.messages, rows.messages * p, -power * math.log(2) + math.log(2 * k)
        most = math.ceil(mean + nats / 3 + math.sqrt(nats**2 / 9 + 2 * nats * mean)) + 1  # Bernstein's inequality
        largest, alpha = ball(most / mean) ** k, ball(math.prod((Fraction(m, m - i) for i in range(k)), start=Fraction(1)))
        small, degree = math.sqrt(spent * 2.0**_SPENT / float(largest)), 0
        left: tuple[flint.arb, flint.arb] | None = (flint.arb(1), flint.arb(0))
        while left is not None and not left[0] < small and degree < min(_DEGREES, m):
            degree += 1
            left = rows.left_out(degree, nats + float(largest.log()) + 10)
        crowded = _crowded(s, spent)
        if left is None or crowded is None:
            return None
        laws, factor = _weighted(rows, most, degree)
        eta = 2 * k * binomial_upper(m, p, most) + crowded[1]
        norm, size = left
        product, total = UpperTotal(tuple((law, k) for law in laws)), factor**k
        lowered = -(1 - ball(Fraction(crowded[0]))).log()
        return _Bound(eta + alpha * largest * size, lowered, product, alpha * total, alpha * norm * (largest * total).sqrt())


def _weighted(rows: DependentRows, most: int, degree: int) -> tuple[list[BallPLD], flint.arb]:
    """The pair (1 + Bin(M, p), Bin(m, p)) and the reversed pair, weighted by 1 + G up to b, and the product of their masses."""
    counter = HitCounter(rows.messages - 1, rows.hit)
    mean = rows.messages * rows.hit
    variance = mean * (1 - rows.hit)
    levels = [0.25 / math.sqrt(variance)]
    while levels[-1] <= _FINER * float(max(most - mean, mean) / variance):
        levels.append(levels[-1] * _FINER)
    weights = [rows.weight(flint.arb(level), degree) for level in levels]

    def weight(start: int, end: int) -> flint.arb:
        away = max(abs(min(y, most) - mean) for y in (start, end - 1)) / variance
        return weights[bisect_left(levels, math.nextafter(float(away), math.inf))]

    edges = counter.edges()
    each = [weight(start, end) for start, end in pairwise(edges)]
    found = cells(counter).weighted(each, weight(0, edges[0]), weight(most, most + 1))
    pairs = [found.dominating(way) for way in (False, True)]
    masses = [sum(pair.masses(), pair.infinite) for pair in pairs]
    laws = [
        BallPLD(tuple((loss, part / mass) for loss, part in pair.points), pair.infinite / mass)
        for pair, mass in zip(pairs, masses, strict=True)
    ]
    return laws, masses[0] * masses[1]


def _crowded(s: OneShuffle, spent: float) -> tuple[float, flint.arb] | None:
    """(theta, probability of a larger one), which is about `spent`; None where even theta = 1 is not enough."""
    k, p, m = s.replaced, ball(s.hit), s.messages + 1 - s.replaced
    mean, pairs = m * s.hit, math.comb(k, 2)
    steps = math.ceil(_STEPS * math.sqrt(2 * math.log(1024 * pairs / spent)))
    ends = sorted({max(0, math.floor(mean - i * math.sqrt(mean) / _STEPS)) for i in range(steps)} | {0})
    lower = [binomial_lower(m, s.hit, end - 1) for end in ends[1:]] + [flint.arb(1)]  # of fewer messages than the next end
    counts, chances = np.array(ends, dtype=float), np.array(lower, dtype=float)

    def short(t: float, theta: float) -> bool:
        h = t * theta / pairs - math.expm1(t) / m
        few = float(chances @ np.exp(float(mean) * np.expm1(-max(h, 0.0) * counts)))
        return pairs * (1 + float(s.hit) * math.expm1(t)) ** k * few >= spent

    theta, t = min((bisect(partial(short, t), 0.0, 1.0), t) for t in _FALLS)
    more = flint.arb(t).expm1()
    h = flint.arb(t) * flint.arb(theta) / pairs - more / m
    if theta == 1 or not h > 0:
        return None
    few = sum((q * (ball(mean) * (-h * end).expm1()).exp() for end, q in zip(ends, lower, strict=True)), flint.arb(0))
    return theta, pairs * (1 + p * more) ** k * few
