r"""Exact privacy profile of binomial noise on a count.

Let X ~ Bin(n, gamma), P the law of X + k and Q that of X. The likelihood ratio

.. math:: R(t) = \frac{P(t)}{Q(t)}
          = \left(\frac{1-\gamma}{\gamma}\right)^{k} \prod_{i=0}^{k-1} \frac{t - i}{n - t + 1 + i}

grows in t, so the best event is a tail, and

.. math:: \delta(\varepsilon) = \max_t\; P[t-k \le X < t] - (e^\varepsilon - 1) P[X \ge t]

is attained at the first t with :math:`R(t) > e^\varepsilon`. The reversed pair, Q against P, is the same with 1 - gamma
in place of gamma (count the users who add nothing). A shorter shift has a smaller delta: the tail's P-probability is
smaller.

Source: the Neyman-Pearson lemma.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.log_concave import log_binomial_coefficient
from ldpaudit.accountants.numerics.precision import at_most, narrow_enough
from ldpaudit.accountants.numerics.rationals import log
from ldpaudit.accountants.numerics.search import first
from ldpaudit.core.working_precision import working_bits, working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_SHORT = 256
"""Shifts up to this, or an eighth of a standard deviation, are summed term by term, because the difference of two tails
cancels; with 64 an epsilon of a shift by 200 at n = 1e6 takes twice as long."""
_CANDIDATES = 8
"""Events that may be evaluated where this precision does not decide which is best; with more of them, it is raised."""
_SECANTS = 16
"""Most steps of the secant method for the start of an event."""
_REFINED = 4
"""Steps of the fixed-point iteration for a normal quantile."""
_BESIDE = 0.97
"""The second point of the secant method, relative to the first in standard deviations."""
_EXACT_TIES = 2048
"""Largest n for which a tie of delta and the infinite-loss mass, which no ball decides, is decided in rationals of n
times the bits of gamma."""


@dataclass(frozen=True, slots=True)
class Shifted:
    """The pair (P, Q) of Bin(n, gamma) + k and Bin(n, gamma), in this direction."""

    n: int  # coins
    gamma: Fraction  # in (0, 1)
    k: int  # the shift, ``1 <= k <= n``

    @property
    def sigma(self) -> float:
        """Standard deviation of Q."""
        return math.sqrt(self.n * float(self.gamma) * float(1 - self.gamma))

    def log_ratio(self, t: int) -> flint.arb:
        """Logarithm of R(t), for ``k <= t <= n``."""
        n, k = self.n, self.k
        with working_precision(working_bits() + (n * n.bit_length()).bit_length() + k.bit_length()):
            odds = ball((1 - self.gamma) / self.gamma)
            if k == 1:
                return (odds * t / (n - t + 1)).log()
            return log_binomial_coefficient(n, t - k) - log_binomial_coefficient(n, t) + k * odds.log()

    def cut(self, epsilon: flint.arb) -> tuple[int, int]:
        """Range of the first t with ``log R(t) >= epsilon`` and the first with ``>``; n + 1 where there is none.

        The two ends are the same, except where this precision does not decide, or epsilon equals a log-ratio.
        """
        n, k = self.n, self.k
        # Start where the middle factor of R is exp(epsilon / k).
        rho = math.exp(min(700.0, float(epsilon) / k)) * float(self.gamma / (1 - self.gamma))
        start = int((rho * (n + 1) + (rho + 1) * (k - 1) / 2) / (1 + rho))
        above = first(lambda t: t > n or bool(self.log_ratio(t) > epsilon), start, k, n + 1)
        return first(lambda t: t > n or not self.log_ratio(t) < epsilon, above, k, above), above

    def ratio(self, t: int) -> Fraction:
        """R(t) exactly, for ``k <= t <= n``; slow where k is large."""
        odds = (1 - self.gamma) / self.gamma
        return math.prod((odds * Fraction(t - i, self.n - t + 1 + i) for i in range(self.k)), start=Fraction(1))

    def block(self, t: int) -> flint.arb:
        """P[t - k <= X < t]."""
        n, k = self.n, self.k
        if k > max(_SHORT, self.sigma / 8):
            return self.upper(t - k) - self.upper(t)
        odds = ball((1 - self.gamma) / self.gamma)
        term = total = binomial_pmf(n, self.gamma, t - 1)
        for x in range(t - 1, max(t - k, 0), -1):
            term *= odds * x / (n - x + 1)
            total += term
        return total

    def upper(self, t: int) -> flint.arb:
        """P[X >= t]."""
        return binomial_upper(self.n, self.gamma, t)

    def delta(self, epsilon: flint.arb) -> flint.arb | None:
        """The hockey-stick divergence; None where this precision leaves too many events to choose from."""
        low, high = self.cut(epsilon)
        if high - low >= _CANDIDATES:
            return None
        best, growth = flint.arb(0), epsilon.expm1()
        # This precision does not decide which event is best, so the maximum over all of them is enclosed.
        for t in range(low, high + 1):
            value = self.block(t)
            if not growth == 0:
                value -= growth * self.upper(t)
            best = best.max(value)
        return best

    def epsilon(self, delta: flint.arb, start: int) -> tuple[flint.arb | None, int]:
        """The epsilon (of either sign) at which delta is reached, and the event's t; None where this precision fails.

        Newton's method on a convex piecewise linear function of e**epsilon: from any event the next one is nearer.

        It needs a `delta` of at least P[X > n - k].
        """
        low = high = start
        best: flint.arb | None = None
        for _ in range(200):
            values = [v for t in range(low, high + 1) if (v := self._log_slope(t, delta)) is not None]
            if not values:
                low = high = max(self.k, high - max(1, (high - self.k) // 2))
                continue
            best = reduce(flint.arb.max, values)
            below, above = self.cut(best)
            if low <= below and above <= high:
                return best, high
            if above - below >= _CANDIDATES:
                return None, high
            low, high = below, above
        return None, high

    def near(self, delta: Fraction) -> int:
        """Float estimate of the t of the event that reaches a delta above 0, by the secant method on the logarithm of `delta`."""
        goal = log(delta)
        mean = self.n * float(self.gamma) + self.k / 2
        z = self._normal(goal)
        t = self._inside(mean + self.sigma * z)
        other, known = self._inside(mean + self.sigma * z * _BESIDE), None
        with working_precision(64):
            for _ in range(_SECANTS):
                value = self._log_at(t)
                known = self._log_at(other) if known is None else known
                if value == known:
                    break
                step = (goal - value) * (t - other) / (value - known)
                other, known, t = t, value, self._inside(t + max(-8 * self.sigma, min(8 * self.sigma, step)))
                # `epsilon` continues from here by Newton's method, which squares the error.
                if abs(t - other) <= max(1.0, self.sigma / 1024):
                    break
        return t

    def _normal(self, goal: float) -> float:
        """Standard deviations z at which normal noise has about this delta, ``k/sigma * phi(z) / z**2``."""
        room = math.log(self.k / self.sigma) - math.log(2 * math.pi) / 2 - goal
        z = 1.0
        for _ in range(_REFINED):
            z = math.sqrt(2 * max(0.5, room - 2 * math.log(z)))
        return z

    def _inside(self, t: float) -> int:
        return min(self.n, max(self.k, round(t)))

    def _log_at(self, t: int) -> float:
        """Float estimate of the logarithm of delta at ``epsilon = log R(t)``."""
        value = self.block(t) - self.log_ratio(t).expm1() * self.upper(t)
        return float(value.mid().log()) if value.mid() > 0 else -1e9

    def _log_slope(self, t: int, delta: flint.arb) -> flint.arb | None:
        """Epsilon at which the event {X + k >= t} reaches delta, a lower bound of epsilon(delta); or None."""
        # log((P - delta) / Q) with P = block + Q, so that a small epsilon keeps its digits
        value = ((self.block(t) - delta) / self.upper(t)).log1p()
        return value if value.is_finite() else None


@dataclass(frozen=True)
class ShiftProfile(PrivacyProfile):
    r"""Exact profile of a count of sensitivity k with Bin(n, gamma) added.

    .. math:: \delta(\varepsilon) = \max_{g \in \{\gamma, 1-\gamma\}} \max_t\;
              P_g[t-k \le X < t] - (e^\varepsilon - 1) P_g[X \ge t], \qquad X \sim \mathrm{Bin}(n, g)

    Tight: attained by counts that differ by k, on the event {count + noise >= t} or {<= t}. Source: the
    Neyman-Pearson lemma; the laws are log-concave. The inverse is the logarithm of (P - delta) / Q at the best event.
    """

    n: int  # number of users who add noise, at least 0
    gamma: Fraction  # probability that one of them adds 1, in [0, 1]
    sensitivity: int = 1  # k, at least 0: by how much one user changes the count

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", Fraction(self.gamma))
        if not (self.n >= 0 and 0 <= self.gamma <= 1 and self.sensitivity >= 0):
            raise ValueError(
                "ShiftProfile needs n >= 0, 0 <= gamma <= 1 and sensitivity >= 0, "
                f"got n={self.n}, gamma={self.gamma}, sensitivity={self.sensitivity}"
            )

    @property
    def source(self) -> str:
        """What is computed."""
        return f"Bin({self.n}, {float(self.gamma):g}) against its shift by {self.sensitivity}: the best tail event"

    def directions(self) -> tuple[Shifted, ...]:
        """The pair and the reversed pair, or one of them where they are equal; none where the profile is trivial."""
        if self._trivial() is not None:
            return ()
        up = Shifted(self.n, self.gamma, self.sensitivity)
        return (up,) if 2 * self.gamma == 1 else (up, Shifted(self.n, 1 - self.gamma, self.sensitivity))

    def _trivial(self) -> int | None:
        """The delta that holds at every epsilon: 0 without a shift, 1 where the two laws never meet."""
        if self.sensitivity == 0:
            return 0
        return 1 if self.sensitivity > self.n or self.gamma in (0, 1) else None

    def delta(self, epsilon: Number) -> Enclosure:
        """EXACT, of relative width below 1e-9, except where delta underflows."""
        require_epsilon(epsilon)
        trivial = self._trivial()
        if trivial is not None:
            return Enclosure(float(trivial), float(trivial), Rigour.EXACT, self.source)
        if math.isinf(epsilon):
            return narrow_enough(self._infinite_mass, self.source).clamp(0.0, 1.0)
        return narrow_enough(lambda: self._largest(Fraction(epsilon)), self.source).clamp(0.0, 1.0)

    def _largest(self, epsilon: Fraction) -> flint.arb | None:
        best = flint.arb(0)
        for direction in self.directions():
            value = direction.delta(ball(epsilon))
            if value is None:
                return None
            best = best.max(value)
        return best

    def _infinite_mass(self) -> flint.arb:
        """Infinite-loss mass, the larger one of the two directions."""
        return reduce(flint.arb.max, (direction.upper(self.n - self.sensitivity + 1) for direction in self.directions()))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """EXACT, of relative width below 1e-9; infinite below the infinite-loss mass."""
        require_delta(delta)
        trivial, goal = self._trivial(), Fraction(delta)
        if trivial is not None:
            end = 0.0 if trivial == 0 else math.inf
            return Enclosure(end, end, Rigour.EXACT, self.source)
        reachable = self._reachable(goal)
        if not reachable:
            low = math.inf if reachable is False else 0.0
            return Enclosure(low, math.inf, Rigour.EXACT if reachable is False else Rigour.INTERVAL, self.source)
        if at_most(lambda: self._largest(Fraction(0)), goal):
            return Enclosure(0.0, 0.0, Rigour.EXACT, self.source)
        starts = {d: d.near(goal) for d in self.directions()}
        result = narrow_enough(lambda: self._inverse(goal, starts), self.source)
        return result.clamp(0.0, math.inf)  # one direction's inverse may be negative

    def _reachable(self, goal: Fraction) -> bool | None:
        """Whether some finite epsilon has this delta; None where no precision decides a tie at a large n."""
        known = at_most(self._infinite_mass, goal)
        if known is not None or self.n > _EXACT_TIES:
            return known
        g = max(self.gamma, 1 - self.gamma)
        lone = range(self.n - self.sensitivity + 1, self.n + 1)
        return sum((math.comb(self.n, x) * g**x * (1 - g) ** (self.n - x) for x in lone), Fraction(0)) <= goal

    def _inverse(self, delta: Fraction, starts: dict[Shifted, int]) -> flint.arb | None:
        """The larger epsilon of the two directions; `starts` is updated for the next attempt."""
        best: flint.arb | None = None
        for direction in self.directions():
            value, starts[direction] = direction.epsilon(ball(delta), starts[direction])
            if value is None:
                return None
            best = value if best is None else best.max(value)
        return best
