r"""Several messages replaced at once in one shuffle: an upper bound that composes them as if each had a shuffle of its own.

User 1 sends one message for each of k elements x, or of k others x', among M random ones; no two of these rows are equal,
so that a random message speaks for one of them with probability p, and for any two with probability :math:`p^2`, whatever
sums of rows are equal. With :math:`N_i` the number of messages that speak for i, the density of the multiset with respect to
M + k random messages is at most

.. math:: \prod_{i \in x} \frac{N_i}{p\,(M+1)} \qquad\text{and at least}\qquad \prod_{j \in x'} \frac{A_j}{p\,(M+k)}

for it counts the ways to choose one message for each element, all different; :math:`A_j` counts those that speak for j and
for nothing else in x'. Let :math:`B_i` be the same for x, and :math:`c_i = N_i - B_i`.

1. The numbers of messages by what they speak for are multinomial. Their density with respect to independent Poisson variables
   of the same means is at most

   .. math:: C = \frac{e^{1/(12 (M+1))}}{\sqrt{1 - 2kp - 1/(M+1)}}

   because :math:`P[\mathrm{Poi}(m) = m] \ge e^{-1/(12 m)}/\sqrt{2 \pi m}` and :math:`P[\mathrm{Poi}(\mu) = i] \le
   1/\sqrt{2 \pi (\mu - 1)}` for :math:`\mu > 1`, where :math:`\mu` is the mean of those that speak for none.
2. A message that speaks for i and j is counted in :math:`B_i` and :math:`A_j`, or in :math:`c_i` and :math:`A_j`. That each
   has its own number of those costs more: :math:`(u - v)_+ + (u' - v')_+ \le (u - v')_+ + (u' - v)_+` for :math:`u \le u',
   v \le v'` (Tchen 1980). Then all :math:`B_i`, all :math:`A_j` and :math:`S = \sum_i c_i` are independent.
3. Except with probability eta, every :math:`B_i` is at least l. Then :math:`\prod_i N_i \le e^{S/l} \prod_i B_i`.
4. A message that speaks for r independent rows of x, and no more, speaks for at most :math:`2^r - 1` of them. So S is at most a
   sum of independent :math:`\min(k, 2^r - 1)\,\mathrm{Poi}\bigl((M + k) \tbinom{k}{r} p^r\bigr)` over r from 2 on.
5. A larger mean of :math:`B_i` and a smaller one of :math:`A_j` cost more.
6. A Poisson variable of mean lambda has at most :math:`e^{2 a^2/m}` times the probabilities of :math:`\mathrm{Bin}(m, \lambda/m)`,
   up to a count :math:`a \le m/2` that is at least lambda; and it exceeds an a of at least 6 lambda with probability
   :math:`2^{-a}`, at most.

So with :math:`\lambda = (M+k)\,p` and :math:`\mu = (M+1)\,p\,(1 - (k-1)\,p)`

.. math:: \delta(\varepsilon) \le \eta + C \alpha\, E\Bigl[e^{S/l}\, \delta_k\bigl(\varepsilon - \ln\alpha + \ln\beta -
          S/l\bigr)\Bigr], \qquad \alpha = \Bigl(\tfrac{M+k}{M+1}\Bigr)^k, \qquad
          \beta = \Bigl((1 - (k-1)\,p)\, \tfrac{M+1}{M+k}\Bigr)^k

where :math:`\delta_k` is that of k independent pairs (1 + Poi(lambda), Poi(lambda)) and k of (Poi(mu), 1 + Poi(mu)). Where x
and x' share elements, their messages may be given away; every constant here is the worst for k different ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import flint

from ldpaudit.accountants.counting.compose import PRECISION, UpperTotal
from ldpaudit.accountants.counting.counter import HitCounter, dominating
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.numerics.search import crossing, first
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_MORE = 1 << 128
"""Poisson variables are bounded by binomial ones of this many times as many messages; with 2**64 the bound is the same where
fewer than 2**50 messages overlap."""
_SURE = 1 << 12
"""Least count that none of them is taken to exceed: it is exceeded with probability 2**-4096."""
_SPENT = 2.0**-10
"""Share of delta that may be spent on eta; with 2**-6 or 2**-14 epsilons change by less than 1e-3 of themselves."""
_LEAST = 1e-300
"""Eta need not be smaller."""
_OVERLAPS = 1 << 15
"""Most values of S that are told apart, in a fifth of a second."""
_ALIKE = 1.6
"""S is rounded up to values whose tails differ by this factor."""
_FAINT = flint.arb(2) ** -1100
"""A mean of that size makes no difference to a float."""
_THETAS = tuple(2.0**power for power in range(-12, 6))
"""Exponents of Chernoff's bound for S."""
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

    @property
    def applies(self) -> bool:
        """Whether rows overlap rarely enough for the bound to say anything, and more than the chain: S/l is about 3 k (k-1) p/2."""
        k, p = self.replaced, self.hit
        seldom = 2 * k * p + Fraction(2, self.messages + 1) < Fraction(1, 2)
        return seldom and 1.5 * k * (k - 1) * float(p) < (k - math.sqrt(k)) * math.sqrt(2 / (self.messages * float(p)))

    def delta(self, epsilon: Number) -> Enclosure:
        """From 0 to the bound."""
        if math.isinf(require_epsilon(epsilon)) or not self.applies:
            return self._enclosed(1.0)
        with working_precision(PRECISION):
            product, at = _product(self), float(epsilon)
            found = self._mixture_at(at)
            if found is not None:  # now that it is known what S usually takes off epsilon
                at = max(at - found.usual, 0.0)
                found = self._mixture_at(at)
            if found is None:
                return self._enclosed(1.0)
            high = found.delta(ball(Fraction(epsilon)), product, product.total.moments.for_epsilon(at))
            return self._enclosed(min(round_up(high), 1.0))

    def _mixture_at(self, epsilon: float) -> _Mixture | None:
        """With an eta that is small beside the float estimate of delta there."""
        moments = _product(self).total.moments
        about = math.exp(min(moments.log_delta(moments.for_epsilon(epsilon)), 0.0))
        return _mixture(self, max(_SPENT * about, _LEAST))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From 0 to where the bound is at most delta."""
        if require_delta(delta) == 0 or not self.applies:
            return self._enclosed(math.inf)
        with working_precision(PRECISION):
            found, product = _mixture(self, max(_SPENT * float(delta), _LEAST)), _product(self)
            if found is None or not found.limit(product) < ball(Fraction(delta)):
                return self._enclosed(math.inf)
            moments = product.total.moments
            tilt = moments.for_delta(log(delta))

            def cost(epsilon: float) -> float:
                return round_up(found.delta(ball(Fraction(epsilon)), product, tilt))

            high = 0.0 if cost(0.0) <= delta else crossing(cost, delta, max(moments.at(tilt)[1], 1e-9), 1.01, _WIDTH)[1]
            return self._enclosed(high)

    def _enclosed(self, high: float) -> Enclosure:
        return Enclosure(0.0, high, Rigour.INTERVAL, self.source)


@lru_cache(maxsize=64)
def _product(s: OneShuffle) -> UpperTotal:
    """The k pairs of either kind."""
    k, p, pool = s.replaced, s.hit, _MORE * (s.messages + s.replaced)
    counted, told = (s.messages + k) * p, (s.messages + 1) * (p - (k - 1) * p * p)
    with working_precision(PRECISION):
        pairs = [dominating(HitCounter(pool - 1, mean / pool), way) for mean, way in ((counted, False), (told, True))]
    return UpperTotal(tuple((pair, k) for pair in pairs))


@dataclass(frozen=True)
class _Mixture:
    """Eta, and for every value of S its weight, times C alpha e**(S/l), and by how much it lowers epsilon."""

    eta: flint.arb
    terms: tuple[tuple[flint.arb, flint.arb], ...]

    @property
    def usual(self) -> float:
        """By how much the likeliest S lowers epsilon."""
        return float(max(self.terms, key=lambda term: float(term[0]))[1])

    def delta(self, epsilon: flint.arb, product: UpperTotal, tilt: float) -> flint.arb:
        """The bound, by one lattice."""
        if (known := product.divergence(tilt)) is None:
            return flint.arb(1)
        return self.limit(product) + sum((w * known.high(epsilon - lowered) for w, lowered in self.terms), flint.arb(0))

    def limit(self, product: UpperTotal) -> flint.arb:
        """The bound where epsilon is large."""
        return self.eta + product.total.infinite * sum((w for w, _ in self.terms), flint.arb(0))


@lru_cache(maxsize=256)
def _mixture(s: OneShuffle, spent: float) -> _Mixture | None:
    """With an eta of about `spent`, or less; None where that leaves no l above 0, or too many messages overlap."""
    k, p, m = s.replaced, s.hit, s.messages
    single = p - (k - 1) * p * p
    mean = m * float(single)
    least = math.floor(mean - math.sqrt(2 * math.log(8 * k / spent) * mean))  # Chernoff's bound
    if least < 1:
        return None
    with working_precision(PRECISION):
        alpha = ball(Fraction(m + k, m + 1)) ** k
        lowered = (alpha / ball((1 - (k - 1) * p) * Fraction(m + 1, m + k)) ** k).log()
        factor, beyond = _independence(s)
        if (overlaps := _overlaps(s, least, spent)) is None:
            return None
        values, rest = overlaps
        eta = k * binomial_lower(m, single, least - 1) + factor * alpha * (beyond + rest)
        terms = tuple((factor * alpha * w * ball(Fraction(v, least)).exp(), lowered + ball(Fraction(v, least))) for v, w in values)
        return _Mixture(eta, terms)


def _independence(s: OneShuffle) -> tuple[flint.arb, flint.arb]:
    """What independent binomial counts cost: C with the factor of step 6, and the probability of counts beyond its a."""
    k, m = s.replaced, s.messages
    least = _SURE + math.ceil(6 * (m + k) * s.hit)
    poisson = ball(Fraction(1, 12 * (m + 1))).exp() / ball(1 - 2 * k * s.hit - Fraction(1, m + 1)).sqrt()
    factor = poisson * ball(Fraction(4 * k * least**2, _MORE * (m + k))).exp()
    return factor, 2 * k * flint.arb(2) ** -(least - 1)


def _overlaps(s: OneShuffle, least: int, spent: float) -> tuple[list[tuple[int, flint.arb]], flint.arb] | None:
    """Values of S, rounded up, with their probabilities; and the rest's, times their e**(S/l). None where S is often large."""
    jumps = _jumps(s)
    floats = [(size, float(rate)) for size, rate in jumps]
    if sum(size * rate for size, rate in floats) > _OVERLAPS / 2:
        return None

    def exponent(theta: float, at: int) -> float:
        return sum(rate * math.expm1(min((theta + 1 / least) * size, 700.0)) for size, rate in floats) - theta * at

    def rarest(at: int) -> float:
        return min(_THETAS, key=lambda theta: exponent(theta, at))

    last = first(lambda at: exponent(rarest(at), at) < math.log(spent / 8), 1, 0, _OVERLAPS)
    theta = Fraction(rarest(last))
    moment = sum((rate * (ball(theta + Fraction(1, least)) * size).expm1() for size, rate in jumps), flint.arb(0))
    law = _compound_poisson(jumps, last)
    return _rounded_up(law), (moment - ball(theta) * last).exp()


def _compound_poisson(jumps: list[tuple[int, flint.arb]], last: int) -> list[flint.arb]:
    """Probabilities of 0 to `last`, of a sum of Poisson variables times their sizes. Source: Panjer 1981."""
    law = [(-sum((rate for _, rate in jumps), flint.arb(0))).exp()]
    for value in range(1, last + 1):
        total = sum((size * rate * law[value - size] for size, rate in jumps if size <= value), flint.arb(0))
        law.append(total / value)
    return law


def _jumps(s: OneShuffle) -> list[tuple[int, flint.arb]]:
    """Sizes and means of the Poisson variables of step 4; the last one stands for all that follow, and is at least k."""
    found: list[tuple[int, flint.arb]] = []
    k, rate = s.replaced, ball((s.messages + s.replaced) * s.replaced * s.hit)
    for r in range(2, k + 1):
        rate = rate * ball(s.hit * (k - r + 1) / r)
        if rate < _FAINT:
            return [*found, (k, rate)]
        found.append((min(k, (1 << r) - 1), rate))
    return found


def _rounded_up(law: list[flint.arb]) -> list[tuple[int, flint.arb]]:
    """Probabilities of 0, 1, ...: those of neighbouring values, whose tails are alike, together at the largest value."""
    found: list[tuple[int, flint.arb]] = []
    tail = border = flint.arb(0)
    for value in reversed(range(len(law))):
        tail = tail + law[value]
        if found and tail < border:
            found[-1] = found[-1][0], found[-1][1] + law[value]
        else:
            found.append((value, law[value]))
            border = tail * _ALIKE
    return found
