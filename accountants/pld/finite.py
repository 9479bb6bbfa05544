r"""Profiles of finitely many pairs of finite laws: exact in rationals, except for :math:`e^\varepsilon`.

.. math:: \delta(\varepsilon) = \max_{(P, Q)} \sum_y \bigl(P(y) - e^\varepsilon Q(y)\bigr)_+

is piecewise linear in :math:`e^\varepsilon` with rational breakpoints, so its inverse is the logarithm of a rational.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import permutations

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.exact import Atom, ExactPLD, dominating_pair
from ldpaudit.accountants.pld.renyi import by_events, enclosed, gdp_of_pair, of_pairs
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Mechanism
from ldpaudit.profile import Number, PrivacyProfile

PRECISION = 128  # bits of the first attempt: 53, and what usual masses cancel
_MAX_PRECISION = 1 << 16
"""Bits of the last attempt: rationals may have thousands of bits, and their differences cancel as many."""


def log_fraction(value: Fraction, source: str, rigour: Rigour = Rigour.EXACT) -> Enclosure:
    """Enclosure of the logarithm of a positive rational, narrow even where the rational is close to 1."""
    if value == 1:
        return Enclosure(0.0, 0.0, rigour, source)
    precision = PRECISION + value.numerator.bit_length() + value.denominator.bit_length()
    with working_precision(precision):
        return Enclosure.of(ball(value).log(), rigour=rigour, source=source)


@dataclass(frozen=True)
class FiniteProfile(PrivacyProfile):
    """The largest delta over finitely many pairs of finite laws.

    Parameters
    ----------
    pairs : tuple of ExactPLD
        Every pair of neighbours' laws that could be the worst, in both directions where these differ.
    source : str
        The theorem behind the reduction to these pairs.
    level : Rigour
        EXACT where the pairs are attained, INTERVAL where they dominate.
    all_pairs : bool
        Whether there are no other neighbours, and not only none of a larger delta.
    """

    pairs: tuple[ExactPLD, ...]
    source: str
    level: Rigour = Rigour.EXACT
    all_pairs: bool = False

    def delta(self, epsilon: Number) -> Enclosure:
        """Relative width below 1e-15, except where delta underflows."""
        if math.isinf(epsilon):
            return Enclosure.of(max(pair.infinite for pair in self.pairs), rigour=self.level, source=self.source)
        found = narrow(
            lambda: self._delta_ball(Fraction(epsilon)), self.source, self.level, PRECISION, most=_MAX_PRECISION, floats=1
        )
        return found.clamp(0.0, 1.0)

    def _delta_ball(self, epsilon: Fraction) -> flint.arb:
        ratio = ball(epsilon).exp()
        return reduce(flint.arb.max, (pair.delta_ball(ratio) for pair in self.pairs), flint.arb(0))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """The logarithm of a rational, enclosed by neighbouring floats; infinite below the infinite-loss mass."""
        largest = Fraction(1)
        for pair in self.pairs:
            ratio = pair.exp_epsilon(Fraction(delta))
            if ratio is None:
                return Enclosure(math.inf, math.inf, self.level, self.source)
            largest = max(largest, ratio)
        return log_fraction(largest, self.source, self.level)

    def renyi(self, order: Number) -> Enclosure:
        """EXACT where the pairs are attained and all of them are listed, or the worst is equal to its reversed pair."""
        at = Fraction(order)
        below = of_pairs([((pair, 1),) for pair in self.pairs], at, self.source)
        if self.all_pairs:
            return below
        above = of_pairs([((self._dominating, 1),)], at, self.source)
        return enclosed(below if self.level is Rigour.EXACT else by_events(self, at), above)

    def gdp(self) -> Enclosure:
        """Of the dominating pair; EXACT where the pairs are attained."""
        return replace(gdp_of_pair(self._dominating, self.source), rigour=self.level)

    @cached
    def _dominating(self) -> ExactPLD:
        return dominating_pair(self.pairs)


def revealed(source: str) -> FiniteProfile:
    """Of a pair of laws that no view has in common: delta is 1 at every epsilon, EXACT; and why that is so."""
    return FiniteProfile((ExactPLD.of([(Fraction(1), Fraction(0))]),), source)


def law_atoms(there: Law, back: Law) -> list[Atom]:
    """(P(y), Q(y)) of two enumerable laws on the same views; views of P-probability 0 may be missing."""
    return [(p, back.probability(y)) for y, p in there.items()]


def channel_profile(m: Mechanism, inputs: Sequence[object] | None = None) -> FiniteProfile:
    """Profile by enumeration of all views on all ordered pairs of inputs: slow; the oracle of all other accountants.

    EXACT, for replace-one neighbours among the inputs, by default all. Raises Unsupported where the law is not
    enumerable.
    """
    chosen = list(m.inputs if inputs is None else inputs)
    if len(chosen) < 2:
        raise Unsupported(m, f"enumeration needs at least two inputs, got {len(chosen)}")
    laws = [dict(m.law(x).items()) for x in chosen]
    pairs = {ExactPLD.of([(p, b.get(y, Fraction(0))) for y, p in a.items()]) for a, b in permutations(laws, 2)}
    return FiniteProfile(tuple(pairs), f"enumeration of {m.law(chosen[0]).size} views on {len(chosen)} inputs")
