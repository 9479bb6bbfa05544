r"""Profiles of views with independent parts, such as the bits of a report.

The atoms of the whole are products of the parts' atoms. Equal likelihood ratios are merged as they come up, so that d
equal parts with s views each cost :math:`\binom{d+s-1}{d}` atoms and never :math:`s^d`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from ldpaudit.accountants.pld.finite import Atom, Atoms, FiniteProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, PrivacyProfile

Part: TypeAlias = Sequence[Atom]
"""(P(y), Q(y)) for every view y of one part of the whole view."""
Pair: TypeAlias = Sequence[tuple[Part, int]]
"""Two laws of the whole view: its parts, and how many of each there are."""

LIMIT = 1 << 14
"""Up to so many atoms a pair of laws is exact."""
_REPORTS, _REPORT_BITS = 1024, 1 << 14
"""Most reports of a memoized bit that are counted exactly, and most bits that their probabilities may have."""
_BINS = 128
"""Atoms to which a part, and every product on the way, is coarsened where the exact ones are too many."""
_BITS = 256
"""Significant bits to which coarse atoms are rounded, outward."""


@dataclass(frozen=True)
class Bracket(PrivacyProfile):
    """Between two profiles, one certainly below and one certainly above; where the two agree, it is theirs.

    Parameters
    ----------
    low, high : PrivacyProfile
        Of pairs of laws that are attained, and of pairs that dominate.
    """

    low: PrivacyProfile
    high: PrivacyProfile

    def delta(self, epsilon: Number) -> Enclosure:
        """From the lower end of one to the upper end of the other."""
        return self._join(self.low.delta(epsilon), self.high.delta(epsilon))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From the lower end of one to the upper end of the other."""
        return self._join(self.low.epsilon(delta), self.high.epsilon(delta))

    @staticmethod
    def _join(low: Enclosure, high: Enclosure) -> Enclosure:
        return high if low == high else Enclosure(low.low, high.high, Rigour.INTERVAL, high.source)


def product_profile(pairs: Iterable[Pair], source: str) -> PrivacyProfile:
    """The largest delta over pairs of laws of independent parts; each pair is meant in the order given only.

    Parameters
    ----------
    pairs : iterable of Pair
        Every pair of neighbours' laws that could be the worst, in both orders where these differ.
    source : str
        The theorem behind the reduction to these pairs.

    Returns
    -------
    PrivacyProfile
        EXACT where a pair has at most 16,384 atoms; else INTERVAL, its epsilon(0) narrower than floats can tell.
    """
    pairs = list(pairs)
    sizes = [math.prod(math.comb(n + len(part) - 1, n) for part, n in pair) for pair in pairs]
    if max(sizes) <= LIMIT:
        return FiniteProfile(tuple(Atoms.of(product(pair)) for pair in pairs), source)
    # Coarse atoms are not a law: nothing is said of those whose ratio is at most 1.
    low, high = (
        tuple(replace(Atoms.of(coarse_product(pair, up)), others=None) for pair in pairs) for up in (False, True)
    )
    return Bracket(FiniteProfile(low, source, Rigour.INTERVAL), FiniteProfile(high, source, Rigour.INTERVAL))


def exact_reports(*probabilities: Fraction) -> int:
    """How many reports of a memoized bit are counted exactly; the probabilities of so many have so many more bits."""
    return max(1, min(_REPORTS, _REPORT_BITS // max(p.denominator.bit_length() for p in probabilities)))


def product(pair: Pair) -> list[Atom]:
    """Atoms of the whole view."""
    atoms: list[Atom] = [(Fraction(1), Fraction(1))]
    for part, times in pair:
        for _ in range(times):
            atoms = _times(atoms, part)
    return atoms


def coarse_product(pair: Pair, up: bool) -> list[Atom]:
    """At most a few hundred atoms, whose delta is at least (`up`) or at most that of the whole view."""
    atoms: list[Atom] = [(Fraction(1), Fraction(1))]
    for part, times in pair:
        few = _coarsen(part, up)
        for _ in range(times):
            atoms = _coarsen(((p * a, q * b) for p, q in atoms for a, b in few), up)
    return atoms


def _times(atoms: Iterable[Atom], part: Part) -> list[Atom]:
    merged: dict[Fraction | None, Atom] = defaultdict(lambda: (Fraction(0), Fraction(0)))
    for p, q in atoms:
        for p_part, q_part in part:
            both = p * p_part, q * q_part
            if both[0]:  # an atom without P-mass never counts
                key = both[0] / both[1] if both[1] else None
                a, b = merged[key]
                merged[key] = a + both[0], b + both[1]
    return list(merged.values())


def _coarsen(atoms: Iterable[Atom], up: bool) -> list[Atom]:
    """Lump atoms of nearly equal likelihood ratio, the extreme ones alone.

    Downward, a lump is the union of its views: post-processing. Upward, all its P-mass gets its largest ratio: lumping
    these atoms with views that only Q shows would give back the finer ones, so that they dominate.
    """
    bins: dict[int, list[Atom]] = defaultdict(list)
    losses = [(math.inf if q == 0 else _log(p) - _log(q), (p, q)) for p, q in atoms if p]
    finite = [loss for loss, _ in losses if loss < math.inf]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    for loss, atom in losses:
        if loss >= high:
            place = _BINS + 1 + (loss > high)
        else:
            place = math.floor((loss - low) / (high - low) * _BINS) if loss > low else -1
        bins[place].append(atom)
    return [_lump(each, up) for each in bins.values()]


def _lump(atoms: list[Atom], up: bool) -> Atom:
    p, q = (sum(side, Fraction(0)) for side in zip(*atoms, strict=True))
    if up and q:
        q = p / max(p_one / q_one for p_one, q_one in atoms)
    return _rounded(p, up), _rounded(q, not up)


def _rounded(value: Fraction, up: bool) -> Fraction:
    shift = _BITS + value.denominator.bit_length() - value.numerator.bit_length()
    scaled = value * Fraction(2) ** shift
    return Fraction(math.ceil(scaled) if up else math.floor(scaled)) / Fraction(2) ** shift


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
