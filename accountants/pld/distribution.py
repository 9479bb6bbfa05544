r"""The privacy loss distribution: the law, under P, of :math:`L = \log P(y)/Q(y)`, for a pair (P, Q) of a mechanism's
laws.

Composition adds losses, and :math:`\delta(\varepsilon) = E_P[(1 - e^{\varepsilon - L})_+]` is the hockey-stick
divergence. There are three forms: *exact*, in rationals (`exact.ExactPLD`, and here `GuaranteePLD`, whose losses are
exact and whose masses are transcendental); in *balls*, for a law that dominates one with very many losses (`BallPLD`);
and on a *lattice*, tilted, for sums of many losses (`lattice.LatticePLD`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import Probability, as_ball, ball


@dataclass(frozen=True, slots=True)
class Loss:
    """The privacy loss ``log(ratio) + nats``, exactly."""

    ratio: Fraction = Fraction(1)  # likelihood ratio, above 0
    nats: Fraction = Fraction(0)  # any. Either the ratio is 1 or this is 0

    def ball(self) -> flint.arb:
        """Its ball at the current precision, narrow relative to the loss even where that is next to 0."""
        top, bottom = self.ratio.as_integer_ratio()
        log = flint.arb(flint.fmpq(top - bottom, bottom)).log1p() if 2 * abs(top - bottom) < bottom else ball(self.ratio).log()
        return log + ball(self.nats) if self.nats else log

    def __neg__(self) -> Loss:
        return Loss(1 / self.ratio, -self.nats)


ZERO = Loss()  # the loss of a view that both laws show with the same probability


class PrivacyLossDistribution(ABC):
    """Law of a loss with finitely many finite values; frozen and hashable, so that equal laws are counted together."""

    infinite: Probability
    """Infinite-loss mass: the probability under P of views that have probability 0 under Q."""
    listed: Probability = Fraction(1)
    """Probability under P of all views that are listed; below 1 only in lower bounds, which leave some out."""

    def loss_balls(self) -> tuple[flint.arb, ...]:
        """Finite losses, decreasing, at the current precision."""
        return tuple(loss.ball() for loss in self.losses or ())

    @abstractmethod
    def masses(self) -> tuple[flint.arb, ...]:
        """Probability of each finite loss, at the current precision."""

    @property
    def losses(self) -> tuple[Loss, ...] | None:
        """Finite losses, decreasing and exact; None where only balls are known."""
        return None

    @property
    def size(self) -> int:
        """Number of finite losses."""
        return len(self.losses) if self.losses is not None else len(self.loss_balls())

    @property
    def has_loss(self) -> bool:
        """Whether a finite loss differs from 0."""
        return self.losses is None or any(loss != ZERO for loss in self.losses)

    @property
    def is_only_infinite(self) -> bool:
        """Whether no finite loss is listed, and nothing is missing."""
        return self.size == 0 and not as_ball(self.listed) - as_ball(self.infinite) > 0

    @property
    def is_coin(self) -> bool:
        """Whether the losses are e and -e, or e, 0 and -e: then the total loss is e times pluses minus minuses."""
        found = self.losses or ()
        return len(found) > 1 and found[0] == -found[-1] and found[1:-1] in ((), (ZERO,))

    def mean(self) -> float:
        """Float estimate of the finite losses' part of the Kullback-Leibler divergence."""
        return sum(float(mass * loss) for mass, loss in zip(self.masses(), self.loss_balls(), strict=True))


@dataclass(frozen=True)
class GuaranteePLD(PrivacyLossDistribution):
    r"""The dominating pair of all :math:`(\varepsilon, \delta)`-differentially private maps.

    With probability delta the map reveals its input, else it is randomized response with
    :math:`p = e^\varepsilon/(1+e^\varepsilon)`. Every :math:`(\varepsilon, \delta)`-private map is a post-processing of
    it, so it dominates all of them. Tight: the map is one of them. Source: Kairouz, Oh, Viswanath 2015.
    """

    epsilon: Fraction  # in nats, above 0
    infinite: Fraction  # delta

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Epsilon and its opposite."""
        return Loss(nats=self.epsilon), Loss(nats=-self.epsilon)

    def masses(self) -> tuple[flint.arb, ...]:
        """Probability of each finite loss."""
        odds, kept = (-ball(self.epsilon)).exp(), ball(1 - self.infinite)
        return kept / (1 + odds), kept * odds / (1 + odds)  # e**epsilon itself may be beyond balls


@dataclass(frozen=True, eq=False)
class BallPLD(PrivacyLossDistribution):
    """Losses and masses as balls, at the precision at which they were made."""

    # finite losses, decreasing, and their probabilities: balls that may contain 0
    points: tuple[tuple[flint.arb, flint.arb], ...]
    infinite: flint.arb  # infinite-loss mass
    listed: Probability = Fraction(1)  # probability of all these

    def loss_balls(self) -> tuple[flint.arb, ...]:
        """Finite losses."""
        return tuple(loss for loss, _ in self.points)

    def masses(self) -> tuple[flint.arb, ...]:
        """Probability of each finite loss."""
        return tuple(mass for _, mass in self.points)


Groups = tuple[tuple[PrivacyLossDistribution, int], ...]
"""Losses of independent runs: different laws, with the number of runs of each."""


def infinite_mass(groups: Groups) -> flint.arb:
    """Infinite-loss mass of independent runs, :math:`1 - \\prod (1 - m_i)^{n_i}`; narrow even where it is small.

    Where views are left out, of probability :math:`1 - t_i`, at most that mass, which is
    :math:`\\prod t_i^{n_i} - \\prod (t_i - m_i)^{n_i}`.
    """
    logs = (times * as_ball(-law.infinite).log1p() for law, times in groups)
    listed = (as_ball(law.listed) ** times for law, times in groups if law.listed != 1)
    return -sum(logs, flint.arb(0)).expm1() * math.prod(listed, start=flint.arb(1))
