r"""Kinds of privacy loss: the law, under P, of :math:`L = \log P(y)/Q(y)`, for a pair (P, Q) in a mechanism's place.

Composition adds losses, and :math:`\delta(\varepsilon) = E_P[(1 - e^{\varepsilon - L})_+]`. As neighbours are
symmetric, what a profile says of epsilon >= 0 it says of all: with :math:`\alpha = e^\varepsilon` and h the largest
hockey-stick divergence over neighbours, :math:`h(\alpha) = 1 - \alpha + \alpha h(1/\alpha)`. A convex decreasing h of
this kind belongs to one pair of laws, and that pair dominates every neighbouring pair: composed with itself, it bounds
every composition of them, adaptive ones included (Zhu, Dong, Wang 2022, "Optimal accounting of differential privacy
via characteristic function"). It *is* a neighbouring pair where one such pair is the worst at every epsilon and in
both directions; only then are upper and lower bounds of a composition the same number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.pld.finite import Atoms

Line: TypeAlias = tuple[Fraction, Fraction]
"""(p, q) stands for :math:`p - \\alpha q`."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The privacy loss ``log(ratio) + nats``, exactly.

    Parameters
    ----------
    ratio : Fraction
        Above 0.
    nats : Fraction
        Any; one of the two is trivial.
    """

    ratio: Fraction = Fraction(1)
    nats: Fraction = Fraction(0)

    def ball(self) -> flint.arb:
        """Its ball at the current precision, narrow relative to the loss even where that is next to 0."""
        near = abs(self.ratio - 1) < Fraction(1, 2)
        return (ball(self.ratio - 1).log1p() if near else ball(self.ratio).log()) + ball(self.nats)

    def __neg__(self) -> Loss:
        return Loss(1 / self.ratio, -self.nats)


ZERO = Loss()


class Kind(ABC):
    """A law of the loss with finitely many values; frozen and comparable, so that equal ones are counted together."""

    losses: tuple[Loss, ...]
    """Decreasing."""
    escape: Fraction
    """Mass of infinite loss."""

    @abstractmethod
    def masses(self) -> tuple[flint.arb, ...]:
        """Probability of each finite loss, at the current precision."""

    def mean(self) -> float:
        """About the mean of the finite losses: their part of the Kullback-Leibler divergence."""
        return sum(float(mass * loss.ball()) for mass, loss in zip(self.masses(), self.losses, strict=True))

    @property
    def is_coin(self) -> bool:
        """Two opposite losses, or these and 0, in a symmetric pair: then only their difference in number matters."""
        inner = self.losses[1:-1]
        return len(self.losses) > 1 and self.losses[0] == -self.losses[-1] and inner in ((), (ZERO,))


@dataclass(frozen=True)
class RationalKind(Kind):
    """Losses that are logarithms of rationals, with rational masses.

    Parameters
    ----------
    atoms : tuple of (Fraction, Fraction)
        (likelihood ratio, P-mass) by decreasing ratio, masses above 0.
    escape : Fraction
        P-mass of views that Q never shows.
    """

    atoms: tuple[tuple[Fraction, Fraction], ...]
    escape: Fraction

    @property
    def losses(self) -> tuple[Loss, ...]:  # type: ignore[override]
        """Decreasing."""
        return tuple(Loss(ratio) for ratio, _ in self.atoms)

    @property
    def bits(self) -> int:
        """Length of its longest number."""
        numbers = [self.escape, *(x for atom in self.atoms for x in atom)]
        return max(max(x.numerator.bit_length(), x.denominator.bit_length()) for x in numbers)

    @property
    def is_coin(self) -> bool:
        """See `Kind`; the masses are a law's, and those of opposite losses are each other's mirror."""
        if not super().is_coin or sum((mass for _, mass in self.atoms), self.escape) != 1:
            return False
        (ratio, most), (_, least) = self.atoms[0], self.atoms[-1]
        return most == ratio * least

    def masses(self) -> tuple[flint.arb, ...]:
        """Probability of each finite loss."""
        return tuple(ball(mass) for _, mass in self.atoms)


@dataclass(frozen=True)
class GuaranteeKind(Kind):
    r"""The worst map of which only (epsilon, delta)-differential privacy is known.

    With probability delta the input is told, else randomized response with :math:`p = e^\varepsilon/(1+e^\varepsilon)`.
    It can be post-processed into any other such map, so it dominates all of them. Source: Kairouz, Oh, Viswanath 2015.

    Parameters
    ----------
    epsilon : Fraction
        In nats, above 0.
    escape : Fraction
        delta.
    """

    epsilon: Fraction
    escape: Fraction

    @property
    def losses(self) -> tuple[Loss, ...]:  # type: ignore[override]
        """Epsilon and its opposite."""
        return Loss(nats=self.epsilon), Loss(nats=-self.epsilon)

    def masses(self) -> tuple[flint.arb, ...]:
        """Probability of each finite loss."""
        e, kept = ball(self.epsilon), ball(1 - self.escape)
        return kept / (1 + (-e).exp()), kept / (1 + e.exp())


def pair_kind(pair: Atoms) -> RationalKind | None:
    """The loss of one pair, in its own order; None where its atoms of ratio at most 1 are not known."""
    if pair.others is None:
        return None
    heads = ((Fraction(0), Fraction(0)), (pair.escape, Fraction(0)), *pair.heads)
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(heads)][1:]
    atoms = [(p / q, p) for p, q in (*steps, *pair.others)]
    p, q = (1 - pair.escape - sum(m for _, m in atoms), 1 - sum(m / ratio for ratio, m in atoms))
    if p > 0:
        # What nobody listed has ratio 1, or is merged with what only Q shows: merging never adds to a divergence.
        atoms = _merged([*atoms, (p / q, p)])
    return RationalKind(tuple(atoms), pair.escape)


def _merged(atoms: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    masses: dict[Fraction, Fraction] = {}
    for ratio, mass in atoms:
        masses[ratio] = masses.get(ratio, Fraction(0)) + mass
    return sorted(masses.items(), reverse=True)


def envelope_kind(pairs: Sequence[Atoms]) -> RationalKind:
    r"""The pair that dominates all these pairs and their mirrors, exactly.

    Its hockey-stick divergence is the largest of theirs. At :math:`\alpha \ge 1` that is the largest of finitely many
    lines with rational coefficients, one for every head of every pair.
    """
    lines = [(pair.escape, Fraction(0)) for pair in pairs] + [head for pair in pairs for head in pair.heads]
    return symmetric_kind(_largest_lines(lines))


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


def symmetric_kind(lines: Sequence[Line]) -> RationalKind:
    """The law whose divergence is the largest of these lines on [1, inf), and its own mirror below 1.

    Parameters
    ----------
    lines : sequence of (Fraction, Fraction)
        By increasing q, each the largest somewhere; the first has q = 0.
    """
    there = []
    for (p0, q0), (p1, q1) in pairwise(lines):
        there.append(((p1 - p0) / (q1 - q0), p1 - p0))
    back = [(1 / ratio, mass / ratio) for ratio, mass in reversed(there)]
    escape = lines[0][0]
    # What is left is common to both laws. A rounded curve may leave less than nothing: then the law is a bit too large.
    common = max(Fraction(0), 1 - escape - sum((mass for _, mass in there + back), Fraction(0)))
    middle = [(Fraction(1), common)] if common else []
    return RationalKind((*there, *middle, *back), escape)


def guarantee_kind(epsilon: Fraction, delta: Fraction) -> Kind:
    """The loss of the worst map of which only (epsilon, delta)-differential privacy is known."""
    return GuaranteeKind(epsilon, delta) if epsilon else RationalKind(((Fraction(1), 1 - delta),), delta)
