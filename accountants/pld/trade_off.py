r"""The best test between two neighbours, from the privacy profile alone.

Let :math:`T(a)` be the largest true-positive rate of a test of false-positive rate at most :math:`a`, over all pairs of
neighbours. A profile is the same knowledge, seen through its tangents: with the slope :math:`w = e^s`,

.. math:: T(a) \le w a + d(w), \qquad d(e^\varepsilon) = \delta(\varepsilon),
    \quad d(e^{-\varepsilon}) = 1 - e^{-\varepsilon}\bigl(1 - \delta(\varepsilon)\bigr),

the second because neighbours are symmetric, and a test's complement is a test.

Sources: Dong, Roth, Su 2022 (Gaussian differential privacy), Proposition 2.12: (epsilon, delta) is a pair of lines below the
trade-off function, and a profile its convex conjugate; Kairouz, Oh, Viswanath 2015, Theorem 2.1, for one pair.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.core.number import show
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, PrivacyProfile

PRECISION = 256  # bits: the complement of a delta of 1e-32 keeps as many digits as a float has
_WIDEST = 64.0
"""Nats, beyond which no slope is asked about: there a false-positive or a false-negative rate is below 1e-27."""
_STEPS = (0.1, 1e-2, 1e-3, 1e-5, 1e-7)
"""Distances of the slopes asked about around the best, in nats, for enclosures that are wide to exact ones."""
_TRIES, _FEW_TRIES = 16, 9
"""Most slopes that the search for the best one asks about; and those near one that an estimate has found."""
_CLOSE = 1e-6  # where the search ends, in nats
_NEAR = 0.05  # how far from an estimate's best slope, in nats


@dataclass(frozen=True, slots=True)
class Tangent:
    """A line of a slope above every test, which some test comes as near to as one likes: between `low` and `high` at 0."""

    slope: flint.arb
    low: flint.arb
    high: flint.arb


def guess_between_two(profile: PrivacyProfile) -> Enclosure:
    """Best chance of the right guess between two neighbours that are equally likely: (1 + delta(0))/2.

    Tight: delta(0) is the largest total variation distance of two neighbours.
    """
    delta = profile.delta(0)
    ends = [(1 + Fraction(end)) / 2 for end in (delta.low, delta.high)]
    return Enclosure.of(*ends, rigour=delta.rigour, source="(1 + delta(0))/2, the total variation distance")


def posterior(profile: PrivacyProfile, prior: Fraction) -> Enclosure:
    r"""Largest posterior probability of an input that has this prior, whatever is seen.

    .. math:: \pi e^{\varepsilon} / (\pi e^{\varepsilon} + 1 - \pi), \qquad \varepsilon = \varepsilon(0)

    Bayes' rule. Tight where the other input is one other value; a mixture of several is no better. 1 where no epsilon holds at
    delta = 0: some view has no other explanation.
    """
    epsilon = profile.epsilon(0)
    source = f"Bayes' rule at epsilon(0): {epsilon.source}"

    def at(epsilon: float) -> flint.arb:
        if math.isinf(epsilon):
            return flint.arb(1)
        return 1 / (1 + ball((1 - prior) / prior) * (-ball(Fraction(epsilon))).exp())

    with working_precision(PRECISION):
        return Enclosure.of(at(epsilon.low), at(epsilon.high), rigour=epsilon.rigour, source=source).clamp(0.0, 1.0)


def tradeoff(profile: PrivacyProfile, alpha: Number) -> Enclosure:
    """Least type II error at a type I error: what the best true-positive rate lacks to 1."""
    rate = Fraction(alpha)
    if not 0 <= rate <= 1:
        raise ValueError(f"tradeoff(alpha) needs 0 <= alpha <= 1, got {show(alpha)}")
    if rate == 1:
        return Enclosure(0.0, 0.0, Rigour.EXACT, "the test that always fires")
    best = profile.delta(math.inf) if rate == 0 else TradeOff(profile).at(rate)
    return Enclosure.of(1 - Fraction(best.high), 1 - Fraction(best.low), rigour=best.rigour, source=best.source)


def _at_least(line: Tangent, lines: list[Tangent], a: flint.arb) -> flint.arb:
    """What a test near this tangent is worth at the false-positive rate `a`, wherever on it the other tangents let it be."""
    left, right = flint.arb(0), flint.arb(1)
    for other in lines:
        apart, above = line.slope - other.slope, other.high - line.low
        if apart > 0:
            right = right.min(above / apart)
        elif apart < 0:
            left = left.max(above / apart)
    before, after = left.min(a), right.max(a)
    there = line.low + line.slope * before
    towards_always = there + (1 - there) * (a - before) / (1 - before)
    from_never = a * (line.low / after + line.slope)
    return towards_always.min(from_never)


@dataclass
class TradeOff:
    """The best tests between neighbours; what was asked of the profile for one rate serves the others too."""

    profile: PrivacyProfile  # of a symmetric relation, as all are
    deltas: dict[float, Enclosure] = field(default_factory=dict)  # delta at every epsilon that was asked about

    def at(self, rate: Fraction) -> Enclosure:
        """Largest true-positive rate, over pairs of neighbours and tests between them, at a false-positive rate.

        Upper end: the lowest of the tangents that were asked about. Lower end: some pair's tests come as near to a tangent as
        one likes; the other tangents enclose where, and the straight lines from there to the tests that never and that always
        fire are tests. Both ends are certified; they meet where the profile is smooth, and where it is a pure epsilon's.
        """
        if not 0 < rate < 1:
            raise ValueError(f"a true-positive rate needs 0 < rate < 1, got {rate}")
        self._search(rate)
        rigour = min(Rigour.INTERVAL, *(delta.rigour for delta in self.deltas.values()))
        with working_precision(PRECISION):
            lines, a = self._tangents(), ball(rate)
            high = reduce(flint.arb.min, (line.high + line.slope * a for line in lines), flint.arb(1))
            low = reduce(flint.arb.max, (_at_least(line, lines, a) for line in lines), flint.arb(0).max(a))
            source = "tangents of the trade-off curve, from the profile"
            return Enclosure.of(low, high, rigour=rigour, source=source).clamp(0, 1)

    def _delta(self, epsilon: float) -> Enclosure:
        if epsilon not in self.deltas:
            self.deltas[epsilon] = self.profile.delta(epsilon)
        return self.deltas[epsilon]

    def _search(self, rate: Fraction) -> None:
        """Ask around the slope of the lowest tangent at a rate: it need not be found for the ends to be certified."""
        epsilon = self.profile.epsilon(0)
        top, bottom = (min(end, _WIDEST) for end in (epsilon.high, epsilon.low))
        ends = -top, min(top, math.log(1 / rate))

        def certified(s: float) -> float:
            return _height(s, rate, self._delta(abs(s)).high)

        found, about = 0.0, self.profile.about()
        if ends[0] < ends[1]:
            near, tries, closest = ends, _TRIES, _CLOSE
            if about is not None:
                found, tries = _lowest(lambda s: _height(s, rate, about(abs(s))), ends, 4 * _TRIES, _CLOSE), _FEW_TRIES
                near, closest = (max(ends[0], found - _NEAR), min(ends[1], found + _NEAR)), max(_CLOSE, self._blur(found))
            found = _lowest(certified, near, tries, closest)
        # A pure epsilon's corner is where delta ends: the slopes just inside it touch the same test.
        around = min((found, *ends), key=certified)
        steps = [step for step in _STEPS if step >= self._blur(around)]
        for s in (bottom, *(around + sign * step for step in steps for sign in (-1, 1))):
            self._delta(abs(s))

    def _blur(self, s: float) -> float:
        """How far apart slopes are, about, whose tangents can be told apart: nearer ones tell nothing more."""
        delta = self._delta(abs(s))
        return (delta.high - delta.low) / delta.high if delta.low > 0 else 0.0

    def _tangents(self) -> list[Tangent]:
        """Both of every epsilon, and the line above all tests."""
        found = [Tangent(flint.arb(0), flint.arb(1), flint.arb(1))]
        for epsilon, delta in self.deltas.items():
            low, high, slope = ball(Fraction(delta.low)), ball(Fraction(delta.high)), ball(Fraction(epsilon)).exp()
            found.append(Tangent(slope, low, high))
            found.append(Tangent(1 / slope, 1 - (1 - low) / slope, 1 - (1 - high) / slope))
        return found


def _height(s: float, rate: Fraction, delta: float) -> float:
    """Of a tangent at a false-positive rate, by the logarithm of its slope."""
    return math.exp(s) * float(rate) + (delta if s >= 0 else 1 - math.exp(s) * (1 - delta))


def _lowest(height: Callable[[float], float], ends: tuple[float, float], tries: int, closest: float) -> float:
    from scipy.optimize import minimize_scalar  # here: it takes a while to import

    return float(minimize_scalar(height, bounds=ends, method="bounded", options={"maxiter": tries, "xatol": closest}).x)
