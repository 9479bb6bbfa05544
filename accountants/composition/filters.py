r"""Privacy budgets for adaptive use: which guarantees may still be spent, whatever has been seen.

A filter is a frozen value with exact rational state; `spend` returns the next one. Guarantees may be chosen adaptively,
each after all earlier views.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import flint

from ldpaudit.accountants.composition.divergences import concentrated_epsilon
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.enclosure import Enclosure, Rigour, round_down
from ldpaudit.profile import Number


class BudgetExceeded(ValueError):  # noqa: N818 - the field's word
    """A guarantee that a filter does not admit was spent."""


@dataclass(frozen=True, slots=True)
class PureFilter:
    """Basic composition with adaptively chosen guarantees: epsilons and deltas add up, and must stay in the budget.

    Tight: attained by pure parts at delta = 0. Source: Rogers, Roth, Ullman, Vadhan 2016. Proof: at every prefix of
    views, the loss is at most the sum of the epsilons spent, except on an event of probability at most the sum of the
    deltas; the budget bounds both sums.

    Parameters
    ----------
    budget_epsilon : Fraction
        In nats, at least 0.
    budget_delta : Fraction
        In [0, 1).
    epsilon, delta : Fraction
        Spent so far; valid at any time, so that the filter is also an odometer.

    Examples
    --------
    >>> f = PureFilter(Fraction(1)).spend(Fraction(3, 4))
    >>> f.admits(Fraction(1, 4)), f.admits(Fraction(1, 3))
    (True, False)
    """

    budget_epsilon: Fraction
    budget_delta: Fraction = Fraction(0)
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget_epsilon", Fraction(self.budget_epsilon))
        object.__setattr__(self, "budget_delta", Fraction(self.budget_delta))
        object.__setattr__(self, "epsilon", Fraction(self.epsilon))
        object.__setattr__(self, "delta", Fraction(self.delta))
        if not (0 <= self.epsilon <= self.budget_epsilon and 0 <= self.delta <= self.budget_delta < 1):
            raise ValueError(
                "PureFilter needs 0 <= epsilon <= budget_epsilon and 0 <= delta <= budget_delta < 1, got "
                f"epsilon={self.epsilon} of {self.budget_epsilon} and delta={self.delta} of {self.budget_delta}"
            )

    def admits(self, epsilon: Number, delta: Number = 0) -> bool:
        """Whether a map with this guarantee may still run."""
        _require_guarantee(epsilon, delta)
        within = self.epsilon + Fraction(epsilon) <= self.budget_epsilon
        return within and self.delta + Fraction(delta) <= self.budget_delta

    def spend(self, epsilon: Number, delta: Number = 0) -> Self:
        """The filter after a map with this guarantee has run.

        Raises
        ------
        BudgetExceeded
            Where it is not admitted.
        """
        if not self.admits(epsilon, delta):
            raise BudgetExceeded(
                f"PureFilter got epsilon={float(epsilon):g}, delta={float(delta):g}, which is more than is left: "
                f"epsilon={float(self.budget_epsilon - self.epsilon):g}, delta={float(self.budget_delta - self.delta):g}"
            )
        return replace(self, epsilon=self.epsilon + Fraction(epsilon), delta=self.delta + Fraction(delta))


@dataclass(frozen=True, slots=True)
class ConcentratedFilter:
    r"""Concentrated composition: the rho of adaptively chosen pure guarantees must stay in the budget.

    .. math:: \rho = \sum \varepsilon_i^2 / 2

    All views together are then rho-zCDP with rho the budget, hence private with
    :math:`\varepsilon = \rho + 2\sqrt{\rho \ln(1/\delta)}`. Not tight. Source: Feldman, Zrnic 2021. Proof: with the
    loss L so far, :math:`e^{(\alpha-1) L - (\alpha-1)\alpha \sum\rho_i}` is a supermartingale for every alpha > 1.

    Parameters
    ----------
    budget : Fraction
        Of rho, at least 0.
    rho : Fraction
        Spent so far.
    """

    budget: Fraction
    rho: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", Fraction(self.budget))
        object.__setattr__(self, "rho", Fraction(self.rho))
        if not 0 <= self.rho <= self.budget:
            raise ValueError(f"ConcentratedFilter needs 0 <= rho <= budget, got rho={self.rho} of {self.budget}")

    @classmethod
    def for_guarantee(cls, epsilon: Number, delta: Number) -> Self:
        r"""The largest budget that promises (epsilon, delta), rounded down.

        It is :math:`(\sqrt{l + \varepsilon} - \sqrt l)^2` with :math:`l = \ln(1/\delta)`.

        Raises
        ------
        ValueError
            Where not ``epsilon > 0`` and ``0 < delta < 1``.
        """
        if not (0 < epsilon < math.inf and 0 < delta < 1):
            raise ValueError(f"ConcentratedFilter needs epsilon > 0 and 0 < delta < 1, got {epsilon!r} and {delta!r}")
        with flint.ctx.workprec(256):
            log = -ball(Fraction(delta)).log()
            # The difference of the roots, without cancellation.
            root = ball(Fraction(epsilon)) / ((log + ball(Fraction(epsilon))).sqrt() + log.sqrt())
            return cls(Fraction(max(0.0, round_down(root * root))))

    def admits(self, epsilon: Number) -> bool:
        """Whether an epsilon-private map may still run."""
        _require_guarantee(epsilon, 0)
        return self.rho + Fraction(epsilon) ** 2 / 2 <= self.budget

    def spend(self, epsilon: Number) -> Self:
        """The filter after an epsilon-private map has run.

        Raises
        ------
        BudgetExceeded
            Where it is not admitted.
        """
        if not self.admits(epsilon):
            raise BudgetExceeded(
                f"ConcentratedFilter got epsilon={float(epsilon):g}, rho={float(epsilon) ** 2 / 2:g}, which is more than what "
                f"is left: rho={float(self.budget - self.rho):g}"
            )
        return replace(self, rho=self.rho + Fraction(epsilon) ** 2 / 2)

    def promise(self, delta: Number) -> Enclosure:
        """Upper bound of epsilon at this delta for everything that the budget admits."""
        if not self.budget:
            return Enclosure(0.0, 0.0, Rigour.INTERVAL, "nothing may run")
        return concentrated_epsilon(self.budget, delta)


def _require_guarantee(epsilon: Number, delta: Number) -> None:
    if not (0 <= epsilon < math.inf and 0 <= delta < 1):
        raise ValueError(f"a guarantee needs a finite epsilon >= 0 and 0 <= delta < 1, got {epsilon!r} and {delta!r}")
