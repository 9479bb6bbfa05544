r"""Profile of a composition of given pairs: by formula, by enumeration, or on a lattice."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import flint

from ldpaudit.accountants.composition.coins import BinomialCoins, TrinomialCoins
from ldpaudit.accountants.composition.enumerated import enumerated, lost
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.distribution import ZERO
from ldpaudit.accountants.pld.hockey_stick import Tail
from ldpaudit.accountants.pld.points import Tilted
from ldpaudit.accountants.pld.tilt import Moments
from ldpaudit.accountants.pld.total import Groups, exact_law, spread_law
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import RESOLUTION, Number, PrivacyProfile, bracket, require_delta, require_epsilon

_KEPT = 4
_WORK = 192
"""Bits in which a lattice law is made and read."""


def compose(groups: Groups, source: str) -> PrivacyProfile:
    """Profile of independent runs of these pairs of laws.

    Parameters
    ----------
    groups : tuple of (Kind, int)
        Different kinds with how often each runs.
    source : str
        What is composed.

    Returns
    -------
    PrivacyProfile
        For these very pairs; EXACT where no loss is rounded.
    """
    live = tuple((kind, times) for kind, times in groups if any(loss != ZERO for loss in kind.losses) or kind.escape)
    if len(live) == 1 and live[0][0].is_coin:
        kind, times = live[0]
        coins = BinomialCoins if len(kind.losses) == 2 else TrinomialCoins
        return coins(kind, times, source)
    return enumerated(live, source) or LatticeProfile(live, source)


@dataclass(frozen=True)
class LatticeProfile(PrivacyProfile):
    """Profile of given pairs, each run so many times, by convolution of their losses.

    EXACT where all losses are multiples of one; otherwise INTERVAL: for these pairs, `low` and `high` differ by what
    moving losses to a lattice changes.

    Parameters
    ----------
    groups : tuple of (Kind, int)
        Different kinds with how often each runs.
    source : str
        What is composed.
    """

    groups: Groups
    source: str

    def delta(self, epsilon: Number) -> Enclosure:
        """At a tilt made for this epsilon."""
        require_epsilon(epsilon)
        if math.isinf(epsilon):
            return narrow(lambda: lost(self.groups), self.source).clamp(0.0, 1.0)
        return self._read(self._moments.for_epsilon(float(epsilon)), epsilon)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At a tilt made for this delta; infinite below the probability of an infinite loss."""
        require_delta(delta)
        finite = self._finite(Fraction(delta))
        if finite is None:
            return Enclosure(math.inf, math.inf, Rigour.EXACT, self.source)
        tilt = self._moments.for_delta(finite)
        at_zero = self._read(tilt, 0.0)
        if at_zero.high <= delta:
            return Enclosure(0.0, 0.0, at_zero.rigour, self.source)
        _, high = bracket(lambda e: self._read(tilt, e).high <= delta)
        low = _last(lambda e: self._read(tilt, e).low > delta, high)
        return Enclosure(low, high, at_zero.rigour, self.source)

    @cached_property
    def _moments(self) -> Moments:
        return Moments(tuple((kind, times) for kind, times in self.groups if any(x != ZERO for x in kind.losses)))

    @cached_property
    def _tails(self) -> dict[Fraction, Tail]:
        return {}

    def _tail(self, tilt: Fraction) -> Tail:
        """The tail at a tilt; those of the last few questions are kept."""
        if tilt not in self._tails:
            while len(self._tails) >= _KEPT:
                del self._tails[next(iter(self._tails))]
            groups = self._moments.groups
            # Kinds without a loss count, too: they may show nothing, or everything.
            log_total = sum((n * Tilted(kind, tilt).total.log() for kind, n in self.groups), flint.arb(0))
            law = exact_law(groups, tilt, self._moments) or spread_law(groups, tilt, self._moments)
            self._tails[tilt] = Tail(law, log_total)
        return self._tails[tilt]

    def _finite(self, delta: Fraction) -> float | None:
        """Logarithm of what delta leaves to finite losses; None where it does not even cover infinite ones."""
        with flint.ctx.workprec(_WORK):
            rest = ball(delta) - lost(self.groups)
            if rest > 0:
                return float(rest.log())
            return None

    def _read(self, tilt: float, epsilon: Number) -> Enclosure:
        with flint.ctx.workprec(_WORK):
            infinite, at = lost(self.groups), ball(Fraction(epsilon))
            if not self._moments.groups:
                return Enclosure.of(infinite, source=self.source).clamp(0.0, 1.0)
            tail = self._tail(Fraction(float(f"{tilt:.3g}")))
            rigour = Rigour.INTERVAL if tail.law.variance > 0 else Rigour.EXACT
            low, high = infinite + tail.low(at), infinite + tail.high(at)
            return Enclosure.of(low, high, rigour=rigour, source=self.source).clamp(0.0, 1.0)


def _last(holds: Callable[[float], bool], end: float) -> float:
    """About the last point before the end, and near it, where a predicate holds; 0 where none is found."""
    gap = end * RESOLUTION
    while gap < end and not holds(end - gap):
        gap *= 2
    if gap >= end:
        return 0.0
    low, high = end - gap, end - gap / 2
    while high - low > RESOLUTION * end:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
