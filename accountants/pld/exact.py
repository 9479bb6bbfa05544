r"""Exact privacy loss distributions: pairs of finite laws in rationals, and the pair that dominates several.

As neighbours are symmetric, what a profile says of epsilon >= 0 it says of all: with :math:`\alpha = e^\varepsilon` and h
the largest hockey-stick divergence over neighbours, :math:`h(\alpha) = 1 - \alpha + \alpha h(1/\alpha)`. A convex decreasing
h of this kind belongs to one pair of laws, and that pair dominates every neighbouring pair: composed with itself, it bounds
every composition of them, adaptive ones included (Zhu, Dong, Wang 2022, "Optimal accounting of differential privacy via
characteristic function"). It *is* a neighbouring pair where one such pair is the worst at every epsilon and in both
directions; only then are upper and lower bounds of a composition the same number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Self, TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.pld.distribution import GuaranteePLD, Loss, PrivacyLossDistribution

Atom: TypeAlias = tuple[Fraction, Fraction]
"""(P(y), Q(y)) of a view y."""
LawPair: TypeAlias = Sequence[Atom]
"""(P(y), Q(y)) for every view y of one part of a view with independent parts."""
ProductPair: TypeAlias = Sequence[tuple[LawPair, int]]
"""Two laws of a view with independent parts: the parts, and how many of each there are."""
_WORK = 16
"""Products of which one is kept, at most, where a limit is set: most of them would be merged."""
Line: TypeAlias = tuple[Fraction, Fraction]
"""(p, q) stands for :math:`p - \\alpha q`."""


@dataclass(frozen=True)
class ExactPLD(PrivacyLossDistribution):
    """Losses that are logarithms of rationals, with rational masses.

    Parameters
    ----------
    atoms : tuple of (Fraction, Fraction)
        (likelihood ratio, P-mass) by decreasing ratio, masses above 0. Views of ratio 1 may be left out: they never count
        in one run; see `complete`.
    infinite : Fraction
        P-mass of views that Q never shows.
    """

    atoms: tuple[tuple[Fraction, Fraction], ...]
    infinite: Fraction = Fraction(0)

    @classmethod
    def of(cls, atoms: Iterable[Atom]) -> Self:
        """The pair of laws with these atoms; equal likelihood ratios are merged, views that only Q shows dropped."""
        merged: dict[Fraction, Fraction] = {}
        infinite = Fraction(0)
        for p, q in atoms:
            if q == 0:
                infinite += p
            elif p > 0:
                merged[p / q] = merged.get(p / q, Fraction(0)) + p
        return cls(tuple(sorted(merged.items(), reverse=True)), infinite)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Finite losses, decreasing."""
        return tuple(Loss(ratio) for ratio, _ in self.atoms)

    @property
    def is_coin(self) -> bool:
        """See `PrivacyLossDistribution`; all mass is listed, and the masses of opposite losses mirror each other."""
        if not super().is_coin or sum((mass for _, mass in self.atoms), self.infinite) != 1:
            return False
        (ratio, most), (_, least) = self.atoms[0], self.atoms[-1]
        return most == ratio * least

    @property
    def bits(self) -> int:
        """Length of its longest number."""
        numbers = [self.infinite, *(x for atom in self.atoms for x in atom)]
        return max(max(x.numerator.bit_length(), x.denominator.bit_length()) for x in numbers)

    def loss_balls(self) -> tuple[flint.arb, ...]:
        """Finite losses, decreasing."""
        return tuple(loss.ball() for loss in self.losses)

    def masses(self) -> tuple[flint.arb, ...]:
        """Probability of each finite loss."""
        return tuple(ball(mass) for _, mass in self.atoms)

    def complete(self) -> ExactPLD:
        """The same pair with all of P's mass listed.

        What nobody listed has ratio 1, or is merged with what only Q shows: merging never adds to a divergence.
        """
        p = 1 - self.infinite - sum((mass for _, mass in self.atoms), Fraction(0))
        q = 1 - sum((mass / ratio for ratio, mass in self.atoms), Fraction(0))
        if p == 0:
            return self
        return ExactPLD.of([*((mass, mass / ratio) for ratio, mass in self.atoms), (self.infinite, Fraction(0)), (p, q)])

    @cached_property
    def ratios(self) -> tuple[Fraction, ...]:
        """The likelihood ratios above 1, decreasing."""
        return tuple(ratio for ratio, _ in self.atoms if ratio > 1)

    @cached_property
    def events(self) -> tuple[Atom, ...]:
        """Sums of P and of Q over all views of ratio at least each of `ratios`, the infinite-loss mass included."""
        found, p, q = [], self.infinite, Fraction(0)
        for ratio, mass in self.atoms[: len(self.ratios)]:
            p, q = p + mass, q + mass / ratio
            found.append((p, q))
        return tuple(found)

    def delta_ball(self, exp_epsilon: flint.arb) -> flint.arb:
        """The largest P(S) - e**epsilon Q(S) over events S, for the ball around ``e**epsilon >= 1``."""
        certain = self._count(lambda ratio: bool(ball(ratio) > exp_epsilon))
        possible = self._count(lambda ratio: not ball(ratio) < exp_epsilon)
        best = ball(self.infinite)
        # Which of the events between the two is best, this precision cannot tell: the largest of all is enclosed.
        for p, q in self.events[max(certain - 1, 0) : possible]:
            best = best.max(ball(p) - exp_epsilon * ball(q))
        return best

    def exp_epsilon(self, delta: Fraction) -> Fraction | None:
        """The exact ``e**epsilon`` at which delta is reached; None where none is large enough."""
        if delta < self.infinite:
            return None
        # The exact delta at e**epsilon = ratio grows as the ratio falls.
        within = self._count(lambda ratio: self._delta_at(ratio) <= delta)
        if within == 0:
            return Fraction(1)
        p, q = self.events[within - 1]
        return max(Fraction(1), (p - delta) / q)

    def _count(self, above: Callable[[Fraction], bool]) -> int:
        """How many of the decreasing ratios satisfy the monotone predicate."""
        return bisect_left(self.ratios, True, key=lambda ratio: not above(ratio))

    def _delta_at(self, ratio: Fraction) -> Fraction:
        p, q = self.events[bisect_left(self.ratios, -ratio, key=lambda r: -r)]
        return p - ratio * q


def both_directions(atoms: Sequence[Atom]) -> tuple[ExactPLD, ...]:
    """The pair and the reversed pair; one of them where they are the same."""
    there, back = ExactPLD.of(atoms), ExactPLD.of((q, p) for p, q in atoms)
    return (there,) if there == back else (there, back)


def guarantee(epsilon: Fraction, delta: Fraction) -> PrivacyLossDistribution:
    """The loss of the worst map of which only (epsilon, delta)-differential privacy is known."""
    return GuaranteePLD(epsilon, delta) if epsilon else ExactPLD(((Fraction(1), 1 - delta),), delta)


def dominating_pair(pairs: Sequence[ExactPLD]) -> ExactPLD:
    r"""The pair that dominates all these pairs and their reversed pairs, exactly.

    Its hockey-stick divergence is the largest of theirs. At :math:`\alpha \ge 1` that is the largest of finitely many
    lines with rational coefficients, one for every event of every pair. Source: Zhu, Dong, Wang 2022, Proposition 8.
    """
    lines = [(pair.infinite, Fraction(0)) for pair in pairs] + [event for pair in pairs for event in pair.events]
    return symmetric_pair(_largest_lines(lines))


def _largest_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines that are the largest anywhere on [1, inf), by increasing q."""
    best: dict[Fraction, Fraction] = {}
    for p, q in lines:
        best[q] = max(p, best.get(q, p))
    hull: list[Line] = []
    for q, p in sorted(best.items()):
        while hull and _within(p, q, hull):
            hull.pop()
        if not hull or p - q > hull[-1][0] - hull[-1][1]:
            hull.append((p, q))
    return hull


def _within(p: Fraction, q: Fraction, hull: list[Line]) -> bool:
    """Whether the steeper line (p, q) hides the hull's last line: it meets it later than the one before does."""
    if len(hull) < 2:
        return False
    (p0, q0), (p1, q1) = hull[-2:]
    return (p - p1) * (q1 - q0) >= (p1 - p0) * (q - q1)


def symmetric_pair(lines: Sequence[Line]) -> ExactPLD:
    """The pair whose divergence is the largest of these lines on [1, inf), and which is its own reversed pair.

    Parameters
    ----------
    lines : sequence of (Fraction, Fraction)
        By increasing q, each the largest somewhere; the first has q = 0.
    """
    there = []
    for (p0, q0), (p1, q1) in pairwise(lines):
        there.append(((p1 - p0) / (q1 - q0), p1 - p0))
    back = [(1 / ratio, mass / ratio) for ratio, mass in reversed(there)]
    infinite = lines[0][0]
    # What is left is common to both laws. A rounded curve may leave less than nothing: then the law is a bit too large.
    common = max(Fraction(0), 1 - infinite - sum((mass for _, mass in there + back), Fraction(0)))
    middle = [(Fraction(1), common)] if common else []
    return ExactPLD((*there, *middle, *back), infinite)


def product(pair: ProductPair) -> list[Atom]:
    """Atoms of the whole view, those of equal likelihood ratio merged."""
    atoms: list[Atom] = [(Fraction(1), Fraction(1))]
    for part, times in pair:
        for _ in range(times):
            atoms = _times(atoms, part)
    return atoms


def few_products(pair: ProductPair, most: int) -> list[Atom] | None:
    """As `product`, where there are at most `most` different likelihood ratios at every step; else None."""
    atoms: list[Atom] = [(Fraction(1), Fraction(1))]
    for part, times in pair:
        for _ in range(times):
            if len(atoms) * len(part) > _WORK * most:
                return None
            atoms = _times(atoms, part)
            if len(atoms) > most:
                return None
    return atoms


def _times(atoms: Iterable[Atom], part: LawPair) -> list[Atom]:
    merged: dict[Fraction | None, Atom] = {}
    for p, q in atoms:
        for p_part, q_part in part:
            both = p * p_part, q * q_part
            if both[0]:  # an atom without P-mass never counts
                key = both[0] / both[1] if both[1] else None
                a, b = merged.get(key, (Fraction(0), Fraction(0)))
                merged[key] = a + both[0], b + both[1]
    return list(merged.values())
