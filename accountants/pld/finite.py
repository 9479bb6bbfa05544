r"""Profiles of finitely many loss atoms: exact in rationals up to the one transcendental, :math:`e^\varepsilon`.

A pair of laws (P, Q) is a list of atoms (P(y), Q(y)), equal likelihood ratios merged. Then

.. math:: \delta(\varepsilon) = \max_{(P, Q)} \sum_y \bigl(P(y) - e^\varepsilon Q(y)\bigr)_+

is piecewise linear in :math:`e^\varepsilon` with rational breakpoints, so its inverse is the logarithm of a rational.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Mechanism
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

PRECISION = 128
"""Bits of the first attempt; doubled until the enclosure is as narrow as floats can tell."""
_MAX_PRECISION = 1 << 16

Atom = tuple[Fraction, Fraction]
"""(P(y), Q(y))."""


def log_fraction(value: Fraction, source: str, rigour: Rigour = Rigour.EXACT) -> Enclosure:
    """Enclosure of the logarithm of a positive rational, narrow even where the rational is next to 1."""
    if value == 1:
        return Enclosure(0.0, 0.0, rigour, source)
    precision = PRECISION + value.numerator.bit_length() + value.denominator.bit_length()
    with flint.ctx.workprec(precision):
        return Enclosure.of(ball(value).log(), rigour=rigour, source=source)


@dataclass(frozen=True, slots=True)
class Atoms:
    """A pair of laws as atoms (P, Q) of decreasing likelihood ratio, those with ratio above 1 only, and their sums.

    Parameters
    ----------
    ratios : tuple of Fraction
        Decreasing P/Q, each above 1; an atom with Q = 0 is not listed but counted in `escape`.
    heads : tuple of pair of Fraction
        Sums of P and of Q over all atoms of ratio at least the one at this position, `escape` included.
    escape : Fraction
        P-mass on views that Q never shows.
    others : tuple of pair of Fraction or None
        The atoms of ratio at most 1 and P > 0, by decreasing ratio. They never count in one run, but in composition
        they do; None where they are not known.
    """

    ratios: tuple[Fraction, ...]
    heads: tuple[Atom, ...]
    escape: Fraction
    others: tuple[Atom, ...] | None = None

    @classmethod
    def of(cls, atoms: Iterable[Atom]) -> Atoms:
        """Merge atoms of equal ratio and sort them."""
        merged: dict[Fraction, Atom] = defaultdict(lambda: (Fraction(0), Fraction(0)))
        escape = Fraction(0)
        for p, q in atoms:
            if q == 0:
                escape += p
            elif p > 0:
                a, b = merged[p / q]
                merged[p / q] = a + p, b + q
        ratios = sorted(merged, reverse=True)
        winning = [ratio for ratio in ratios if ratio > 1]
        heads, total = [], (escape, Fraction(0))
        for ratio in winning:
            total = total[0] + merged[ratio][0], total[1] + merged[ratio][1]
            heads.append(total)
        return cls(tuple(winning), tuple(heads), escape, tuple(merged[ratio] for ratio in ratios[len(winning) :]))

    def delta_ball(self, exp_epsilon: flint.arb) -> flint.arb:
        """The largest P(S) - e**epsilon Q(S) over events S, for the ball around ``e**epsilon``."""
        certain = self._count(lambda ratio: bool(ball(ratio) > exp_epsilon))
        possible = self._count(lambda ratio: not ball(ratio) < exp_epsilon)
        best = ball(self.escape)
        # Which of the events between the two is best, this precision cannot tell: the largest of all is enclosed.
        for p, q in self.heads[max(certain - 1, 0) : possible]:
            best = best.max(ball(p) - exp_epsilon * ball(q))
        return best

    def _count(self, above: Callable[[Fraction], bool]) -> int:
        """How many of the decreasing ratios satisfy the monotone predicate."""
        return bisect_left(self.ratios, True, key=lambda ratio: not above(ratio))

    def _delta_at(self, ratio: Fraction) -> Fraction:
        p, q = self.heads[bisect_left(self.ratios, -ratio, key=lambda r: -r)]
        return p - ratio * q

    def exp_epsilon(self, delta: Fraction) -> Fraction | None:
        """The exact ``e**epsilon`` at which delta is reached; None where none is large enough."""
        if delta < self.escape:
            return None
        # The exact delta at e**epsilon = ratio grows as the ratio falls.
        within = self._count(lambda ratio: self._delta_at(ratio) <= delta)
        if within == 0:
            return Fraction(1)
        p, q = self.heads[within - 1]
        return max(Fraction(1), (p - delta) / q)


@dataclass(frozen=True)
class FiniteProfile(PrivacyProfile):
    """The largest delta over finitely many pairs of finite laws.

    Parameters
    ----------
    pairs : sequence of Atoms
        Every pair of neighbours' laws that could be the worst, in both directions where these differ.
    source : str
        The theorem behind the reduction to these pairs.
    level : Rigour
        EXACT where the pairs are attained, INTERVAL where they dominate.
    """

    pairs: tuple[Atoms, ...]
    source: str
    level: Rigour = Rigour.EXACT

    def delta(self, epsilon: Number) -> Enclosure:
        """Relative width below 1e-15, but for where delta underflows."""
        require_epsilon(epsilon)
        if math.isinf(epsilon):
            return Enclosure.of(max(pair.escape for pair in self.pairs), rigour=self.level, source=self.source)
        found = narrow(
            lambda: self._delta_ball(Fraction(epsilon)), self.source, self.level, PRECISION, most=_MAX_PRECISION, floats=1
        )
        return found.clamp(0.0, 1.0)

    def _delta_ball(self, epsilon: Fraction) -> flint.arb:
        ratio = ball(epsilon).exp()
        best = flint.arb(0)
        for pair in self.pairs:
            best = best.max(pair.delta_ball(ratio))
        return best

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """The logarithm of a rational."""
        require_delta(delta)
        largest = Fraction(1)
        for pair in self.pairs:
            ratio = pair.exp_epsilon(Fraction(delta))
            if ratio is None:
                return Enclosure(math.inf, math.inf, self.level, self.source)
            largest = max(largest, ratio)
        return log_fraction(largest, self.source, self.level)


def both_ways(atoms: Sequence[Atom]) -> tuple[Atoms, ...]:
    """The pair and its mirror; one of them where they are the same."""
    there, back = Atoms.of(atoms), Atoms.of((q, p) for p, q in atoms)
    return (there,) if there == back else (there, back)


def law_atoms(there: Law, back: Law) -> list[Atom]:
    """Atoms of two enumerable laws on the same views."""
    return [(p, back.probability(y)) for y, p in there.items()]


def channel_profile(m: Mechanism, inputs: Sequence[object] | None = None) -> FiniteProfile:
    """Enumerate every view on every ordered pair of inputs: slow, obvious, the oracle of all other accountants.

    Parameters
    ----------
    m : Mechanism
        With an enumerable law.
    inputs : sequence or None
        All inputs by default.

    Returns
    -------
    FiniteProfile
        EXACT, for replace-one neighbours among `inputs`.

    Raises
    ------
    Unsupported
        Where the law is not enumerable, or fewer than two inputs are given.
    """
    chosen = list(m.inputs if inputs is None else inputs)
    if len(chosen) < 2:
        raise Unsupported(m, f"a channel needs at least two inputs, got {len(chosen)}")
    laws = [m.law(x) for x in chosen]
    pairs = {Atoms.of(law_atoms(a, b)) for a, b in permutations(laws, 2)}
    return FiniteProfile(tuple(pairs), f"enumeration of {laws[0].size} views on {len(chosen)} inputs")


@dataclass(frozen=True)
class PostProcessedProfile(PrivacyProfile):
    """Post-processing never increases delta, and nothing is known from below."""

    inner: PrivacyProfile

    def delta(self, epsilon: Number) -> Enclosure:
        """[0, what the inner plan's delta may be]."""
        return self._from_above(self.inner.delta(epsilon))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """[0, what the inner plan's epsilon may be]."""
        return self._from_above(self.inner.epsilon(delta))

    @staticmethod
    def _from_above(e: Enclosure) -> Enclosure:
        return Enclosure(0.0, e.high, min(e.rigour, Rigour.INTERVAL), f"post-processing of: {e.source}")


def post_processed(inner: PrivacyProfile) -> PrivacyProfile:
    """Profile of anything computed from a view whose profile is known."""
    return PostProcessedProfile(inner)
