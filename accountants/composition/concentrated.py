r"""What a published rho or mu guarantees.

Neither says what is attained: all lower ends are 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.composition.divergences import renyi_epsilon
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.pld.profiles import PostProcessedProfile
from ldpaudit.accountants.pld.quadratic import Quadratic
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.plan import Guarantee
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_STEPS = 80  # halvings of the interval of an order's logarithm: to the last digits of a float
_NATS = 700.0  # largest logarithm, to either side, of what an order exceeds 1 by


@dataclass(frozen=True)
class Concentrated(PrivacyProfile):
    r"""Upper bounds of delta and epsilon for any rho-zCDP map; not tight.

    .. math:: \delta(\varepsilon) \le \min_{\alpha > 1} \frac{e^{(\alpha - 1)(\alpha \rho - \varepsilon)}}{\alpha - 1}
              \Bigl(1 - \frac1\alpha\Bigr)^\alpha

    Every order gives a bound; the best one is where :math:`(2 \alpha - 1) \rho + \ln(1 - 1/\alpha) = \varepsilon`, or for a
    given delta :math:`(\alpha - 1)^2 \rho + \ln \alpha = \ln(1/\delta)`. Source: Canonne, Kamath, Steinke 2020, Proposition 12.
    """

    bound: Fraction  # rho, above 0
    source: str

    def delta(self, epsilon: Number) -> Enclosure:
        """From 0 to the bound of the best order that is found."""
        if math.isinf(require_epsilon(epsilon)):
            return self._up_to(0.0)
        rho, e = round_up(self.bound), float(epsilon)
        above = _crossing(lambda t: (2 * t + 1) * rho - math.log1p(1 / t) - e)

        def value() -> flint.arb:
            t, at = ball(above), ball(1 + above)
            return (t * (at * ball(self.bound) - ball(Fraction(epsilon))) + at * (t / at).log() - t.log()).exp()

        return self._up_to(min(1.0, narrow(value, self.source).high))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From 0 to the bound of the best order that is found; infinite at delta = 0."""
        if require_delta(delta) == 0:
            return self._up_to(math.inf)
        rho, nats = round_up(self.bound), -log(delta)
        above = _crossing(lambda t: t * (t * rho) + math.log1p(t) - nats)
        return self._up_to(renyi_epsilon(1 + above, (1 + above) * self.bound, delta).high)

    def renyi(self, order: Number) -> Enclosure:
        """alpha rho: the definition."""
        return self._up_to(round_up(Fraction(order) * self.bound))

    def rho(self) -> Enclosure:
        """The stated one."""
        return self._up_to(round_up(self.bound))

    def gdp(self) -> Enclosure:
        """No mu follows from a rho: a rho-zCDP map may have tails that are a little heavier than normal ones."""
        return self._up_to(math.inf)

    def _up_to(self, high: float) -> Enclosure:
        return Enclosure(0.0, high, Rigour.INTERVAL, self.source)


def _crossing(value: Callable[[float], float]) -> Fraction:
    """About where an increasing function of what the order exceeds 1 by is 0: it need not be found for a bound to hold."""
    low, high = -_NATS, _NATS
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if value(math.exp(middle)) > 0 else (middle, high)
    return Fraction(math.exp(high))


def stated(guarantee: Guarantee) -> PrivacyProfile:
    """What follows from a guarantee by rho or mu above 0; of mu that is a pair's profile, the worst map's, from above.

    Source: Dong, Roth, Su 2022, Definition 2.6 and Theorem 2.10: a mu-GDP map is a post-processing of Gaussian noise.
    """
    source = f"the worst map with {guarantee}"
    if guarantee.mu is not None:
        return PostProcessedProfile(Quadratic(guarantee.mu**2, source))
    return Concentrated(guarantee.rho or Fraction(0), source)
