r"""What two-sided geometric noise costs.

The loss of the inputs 0 and B at a view y is ``(B - 2y) log(1/alpha)`` for y from 0 to B and stays what it is at the ends
beyond them: B + 1 values, though the views are infinitely many.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.aggregation.clamped import Clamped
from ldpaudit.accountants.aggregation.numbers import NoisyInteger, NoisyNumber
from ldpaudit.accountants.numerics.balls import ball, ceil, floor
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.exact import Atom, both_directions
from ldpaudit.accountants.pld.finite import FiniteProfile, law_atoms
from ldpaudit.accountants.pld.profiles import OnePairProfile
from ldpaudit.accountants.shuffling.bounds import Bound
from ldpaudit.accountants.shuffling.randomizers import listed, of_law
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_LISTED = 100
"""Largest bound whose losses are listed as rationals, which makes compositions exact. To list them takes 0.15 s at 100 and
75 s at 1,000; the closed form takes less than a millisecond at any bound."""
_SHUFFLED = 40
"""Largest bound of which all laws are listed in a shuffle."""
_MAX_PRECISION = 1 << 16


@dataclass(frozen=True)
class ClosedForm(OnePairProfile):
    """The profile of the inputs 0 and `bound`, by the formula in the docstring of `profile`."""

    bound: int
    alpha: Fraction
    source: str

    def delta(self, epsilon: Number) -> Enclosure:
        """At the last t whose loss ``(bound - 2t) log(1/alpha)`` is above epsilon."""
        if math.isinf(require_epsilon(epsilon)):
            return Enclosure.of(0, source=self.source)
        return self._narrow(lambda: self._delta(ball(Fraction(epsilon)))).clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """The largest that any event {y <= t} needs: up to ``alpha**(t + 1) = 1 - delta`` it grows with t, then it falls."""
        require_delta(delta)
        return self._narrow(lambda: self._exp_epsilon(ball(1 - Fraction(delta))).log()).clamp(0.0, math.inf)

    def renyi(self, order: Number) -> Enclosure:
        """By the sum of a geometric series: from one end to the other the loss falls by ``2 log(1/alpha)`` each time."""
        at, end, between = Fraction(order), self.bound, self.bound - 1

        def value() -> flint.arb:
            alpha, rate = ball(self.alpha), ball(at - 1)
            step, power = alpha ** ball(2 * at - 1), alpha ** (-rate * end)
            rest = (1 - alpha) * power * step * (1 - step**between) / (1 - step)
            return ((power + rest + alpha ** (ball(at) * end)) / (1 + alpha)).log() / rate

        return self._narrow(value).clamp(0.0, math.inf)

    def _delta(self, epsilon: flint.arb) -> flint.arb:
        alpha, best = ball(self.alpha), flint.arb(0)
        for t in self._near((self.bound + epsilon / alpha.log()) / 2):
            lost = alpha ** (t + 1) + epsilon.exp() * alpha ** (self.bound - t)
            best = best.max(1 - lost / (1 + alpha))
        return best

    def _exp_epsilon(self, kept: flint.arb) -> flint.arb:
        alpha, best = ball(self.alpha), flint.arb(1)
        for t in self._near(kept.log() / alpha.log() - 1):
            best = best.max(((1 + alpha) * kept - alpha ** (t + 1)) / alpha ** (self.bound - t))
        return best

    def _near(self, place: flint.arb) -> range:
        """The events {y <= t} next to a place on the line; more than are needed do no harm, for the largest is taken."""
        last = self.bound - 1
        return range(min(max(floor(place) - 1, 0), last), min(max(ceil(place) + 1, 0), last) + 1)

    def _narrow(self, value: Callable[[], flint.arb]) -> Enclosure:
        bits = 128 + 2 * self.alpha.denominator.bit_length()  # however near alpha is to 1, its logarithm is not 0
        return narrow(value, self.source, bits=bits, most=max(bits, _MAX_PRECISION), floats=1)


def shuffled(m: Geometric | TruncatedGeometric, users: int) -> Bound | None:
    r"""The laws of all inputs, up to a bound of 40; of a larger one only epsilon0 is used.

    To shuffle the noise as it is and truncated is the same: among the views up to 0, and from B on, all laws have constant
    ratios. The blanket's worst pair is 0 and B, as shown in `shuffling.laplace_noise`: there only the order of the ratios counts.
    """
    if m.bound > _SHUFFLED:
        return None
    laws = {x: dict(TruncatedGeometric(m.bound, m.alpha).law(x).items()) for x in m.inputs}
    return of_law(laws, users) if m.bound == 1 else listed(laws, users, (0, m.bound))


def profile(m: Geometric | TruncatedGeometric, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of two-sided geometric noise on an integer from 0 to B, and of the same noise, truncated to this range.

    .. math:: \delta(\varepsilon) = \max_{0 \le t < B} \Bigl(1 - \frac{\alpha^{t+1}}{1+\alpha}
              - e^\varepsilon \frac{\alpha^{B-t}}{1+\alpha}\Bigr)_+, \qquad \varepsilon(0) = B \log \frac1\alpha

    The likelihood ratio of any two inputs falls as y grows, so that the best event is {y <= t} or its mirror image; and
    {y <= t} is most probable for the input 0 and least for B. So the inputs 0 and B are worse than all others at every
    epsilon. Tight: attained by them on {y <= t}, for epsilon(0) on {y <= 0}, truncated on {y = 0}. All views that are shown as an
    end have the same likelihood ratio, for any two inputs, so that truncation hides nothing that an adversary could use: up to a
    bound of 100 this is computed from the law itself, not assumed; tests compare the two. Source: Ghosh, Roughgarden, Sundararajan
    2009 for epsilon(0). Proof: proofs/geometric.py, of epsilon(0).

    ``m``: ``bound >= 1`` and ``0 < alpha < 1``, as its constructor ensures; ``neighbours``: replace-one. Returns in
    nats. Rigour EXACT at every epsilon.
    """
    is_truncated = isinstance(m, TruncatedGeometric)
    noise, attained = ("truncated geometric noise", "y = 0") if is_truncated else ("geometric noise", "y <= 0")
    source = f"{noise}: bound * log(1/alpha), attained at {attained}"
    if m.bound > _LISTED:
        return ClosedForm(m.bound, m.alpha, source)
    atoms = law_atoms(m.law(0), m.law(m.bound)) if is_truncated else _atoms(m.bound, m.alpha)
    return FiniteProfile(both_directions(atoms), source)


def _atoms(bound: int, alpha: Fraction) -> list[Atom]:
    """Probabilities of the losses of the inputs 0 and B: of {y <= 0}, of each view between the two, of {y >= B}."""
    tails = [alpha**distance / (1 + alpha) for distance in range(bound + 1)]
    between = [((1 - alpha) * tails[y], (1 - alpha) * tails[bound - y]) for y in range(1, bound)]
    return [(tails[0], tails[bound]), *between, (tails[bound], tails[0])]


def summands(m: Geometric | TruncatedGeometric, neighbours: Neighbours) -> NoisyNumber | Clamped | None:
    """A number whose noise adds up; where it is truncated, one whose law depends on what the user holds, up to a bound of 40."""
    if isinstance(m, Geometric):
        return NoisyInteger(m.bound, m.alpha)
    return Clamped(tuple(tuple(p for _, p in m.law(x).items()) for x in m.inputs)) if m.bound <= _SHUFFLED else None
