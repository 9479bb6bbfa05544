r"""What Laplace noise costs.

Of two inputs at distance s scales, each coordinate's loss is s or -s beyond the two, and in between runs linearly from
one to the other. Below, u is half of what epsilon lacks to the pure bound.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import flint

from ldpaudit.accountants.aggregation.numbers import NoisyNumber, NoisyReal
from ldpaudit.accountants.composition.laplace_contour import Groups
from ldpaudit.accountants.composition.laplace_vector import LaplaceShifts
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.shuffling import laplace_noise, laplace_vectors
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_MAX_PRECISION = 1 << 16


@dataclass(frozen=True)
class _LaplaceProfile(LaplaceShifts):
    """A profile that reaches 0 at `pure` and is a function of ``u = (pure - epsilon) / 2`` before."""

    pure: Fraction
    source: str
    coordinates: ClassVar[int]

    @property
    def groups(self) -> Groups:
        """See `LaplaceShifts`."""
        return ((self.coordinates, self.pure / self.coordinates),)

    @abstractmethod
    def of_excess(self, u: flint.arb) -> flint.arb:
        """delta, where u > 0."""

    @abstractmethod
    def excess(self, delta: flint.arb) -> flint.arb:
        """The u at which delta, in (0, 1), is reached."""

    def delta(self, epsilon: Number) -> Enclosure:
        """Two neighbouring floats, or one."""
        if require_epsilon(epsilon) >= self.pure:
            return Enclosure.of(0, source=self.source)
        u = (self.pure - Fraction(epsilon)) / 2
        return self._narrow(lambda: self.of_excess(ball(u))).clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By the inverse function."""
        if require_delta(delta) == 0:
            return Enclosure.of(self.pure, source=self.source)
        return self._narrow(lambda: flint.arb(0).max(ball(self.pure) - 2 * self.excess(ball(Fraction(delta)))))

    def renyi(self, order: Number) -> Enclosure:
        """The sum over the coordinates that are shifted."""
        return self._narrow(lambda: self.coordinates * _renyi(self.pure / self.coordinates, Fraction(order)))

    def _narrow(self, value: Callable[[], flint.arb]) -> Enclosure:
        return narrow(value, self.source, most=_MAX_PRECISION, floats=1)


class OneCoordinate(_LaplaceProfile):
    """One coordinate is shifted."""

    coordinates = 1

    def of_excess(self, u: flint.arb) -> flint.arb:
        """``1 - e**-u``."""
        return -(-u).expm1()

    def excess(self, delta: flint.arb) -> flint.arb:
        """``-log(1 - delta)``."""
        return -(-delta).log1p()


class TwoCoordinates(_LaplaceProfile):
    """Two coordinates are shifted, by the same distance."""

    coordinates = 2

    def of_excess(self, u: flint.arb) -> flint.arb:
        """``1 - (1 + u/2) e**-u``."""
        return -(-u).expm1() - u / 2 * (-u).exp()

    def excess(self, delta: flint.arb) -> flint.arb:
        """``(u + 2) e**-(u + 2) = 2 (1 - delta) e**-2``, solved for u by the lower branch of Lambert's W."""
        return -2 - (-2 * (1 - delta) * flint.arb(-2).exp()).lambertw(-1)


def _renyi(s: Fraction, order: Fraction) -> flint.arb:
    r"""Renyi divergence of Laplace noise that is shifted by s scales.

    .. math:: \frac{1}{\alpha - 1} \ln \Bigl(\frac{\alpha}{2 \alpha - 1} e^{(\alpha - 1) s}
              + \frac{\alpha - 1}{2 \alpha - 1} e^{-\alpha s}\Bigr)

    Source: Mironov 2017, Proposition 6.
    """
    a, twice = ball(order), ball(2 * order - 1)
    rises, falls = (ball((order - 1) * s)).expm1(), (-ball(order * s)).expm1()
    return (a / twice * rises + (a - 1) / twice * falls).log1p() / (a - 1)


def profile(m: Laplace | LaplaceHistogram, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of either mechanism; see `number` and `histogram`."""
    return histogram(m, neighbours) if isinstance(m, LaplaceHistogram) else number(m)


def number(m: Laplace) -> PrivacyProfile:
    r"""Exact profile of Laplace noise of scale b on a number in [low, high].

    .. math:: \delta(\varepsilon) = \bigl(1 - e^{(\varepsilon - s)/2}\bigr)_+, \qquad s = \frac{high - low}{b},
              \qquad \varepsilon(\delta) = \bigl(s + 2 \log(1-\delta)\bigr)_+

    Tight for real numbers: attained by the inputs low and high, at epsilon = s on the event {y <= low}. Source: Dwork,
    McSherry, Nissim, Smith 2006 for epsilon(0). Proof: proofs/laplace.py, of epsilon(0).

    ``m``: ``scale > 0`` and ``low < high``, as its constructor ensures. Returns in nats. Rigour EXACT at every
    epsilon.
    """
    return OneCoordinate(m.sensitivity / m.scale, "Laplace noise: (high - low)/scale, attained at y <= low")


def histogram(m: LaplaceHistogram, neighbours: Neighbours) -> PrivacyProfile:
    r"""Exact profile of Laplace noise of scale b on the indicator of a value.

    Replace-one shifts two coordinates by s = 1/b scales each, add-remove one:

    .. math:: \delta_{replace}(\varepsilon) = \Bigl(1 - \bigl(1 + \tfrac u2\bigr) e^{-u}\Bigr)_{u \ge 0}, \quad
              u = s - \tfrac\varepsilon2, \qquad
              \delta_{add}(\varepsilon) = \bigl(1 - e^{(\varepsilon - s)/2}\bigr)_+

    The first is the mean of the second at epsilon minus the other coordinate's loss, which is s with probability
    1/2, -s with probability e**-s/2, and in between has density e**(-(s - loss)/2)/4. Tight for real numbers, for every
    pair: at epsilon = 2s attained on {y_x >= 1, y_x' <= 0}. Source: Dwork, McSherry, Nissim, Smith 2006 for epsilon(0).
    Proof: proofs/laplace.py, of epsilon(0).

    ``m``: ``k >= 2`` and ``scale > 0``, as its constructor ensures; ``neighbours``: replace-one or add-remove.
    Returns in nats. Rigour EXACT at every epsilon.
    """
    if neighbours == ADD_REMOVE:
        return OneCoordinate(1 / m.scale, "Laplace noise on one coordinate: 1/scale, attained at y_x >= 1")
    return TwoCoordinates(2 / m.scale, "Laplace noise on two coordinates: 2/scale, attained at y_x >= 1, y_x' <= 0")


def shuffled(m: Mechanism, users: int) -> Bound | None:
    """Reports cut into intervals: see `laplace_noise`."""
    if isinstance(m, LaplaceHistogram):
        return laplace_vectors.histogram(1 / m.scale, m.k, users)
    return laplace_noise.bound(m.sensitivity / m.scale, m.inputs, users) if isinstance(m, Laplace) else None


def summands(m: Laplace | LaplaceHistogram, neighbours: Neighbours) -> NoisyNumber | None:
    """A number whose noise adds up; None of a histogram's, which is not summed."""
    return NoisyReal(m.sensitivity, m.scale) if isinstance(m, Laplace) else None
