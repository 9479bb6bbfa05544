r"""Privacy budgets for adaptive use: what may still run, and what has been spent, whatever has been seen.

Whoever chooses the next map sees all earlier views, and may let its guarantee depend on them. A theorem of composition for
guarantees that are fixed beforehand does not apply then; these do. Both types are frozen values: `spend` returns the next one.

Notation: :math:`(\varepsilon_i, \delta_i)` are the guarantees so far, :math:`\rho = \sum \varepsilon_i^2/2`, and L is the
privacy loss so far. A map with delta is, at every pair of neighbours, one without that runs with probability
:math:`1 - \delta_i`, and anything else (Kairouz, Oh, Viswanath 2015): all that was run is, except with a probability of at most
the sum of the :math:`\delta_i`, without deltas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Self

import flint

from ldpaudit.accountants.composition.theorems import upper
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, round_down
from ldpaudit.profile import Number

_PRECISION = 256  # bits for budgets, which are rounded down to floats
_ORDERS = tuple(1 + Fraction(2) ** power for power in range(-6, 18))
"""Renyi orders of an odometer. Next to each other they differ by a factor of 2 in alpha - 1, so that the best of them is worse
than the best of all by less than 7 %, for any rho from 1e-8 to 1e4 at usual deltas."""


class BudgetExceeded(ValueError):  # noqa: N818 - the field's word
    """A guarantee that a filter does not admit was spent."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the guarantees so far sum to."""

    epsilon: Fraction = Fraction(0)  # sums of epsilons, of half their squares, and of deltas
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def after(self, epsilon: Number, delta: Number) -> Spent:
        """The sums with one guarantee more. Raises ValueError where it is no guarantee."""
        if not (0 <= epsilon < math.inf and 0 <= delta < 1):
            raise ValueError(f"a guarantee needs a finite epsilon >= 0 and 0 <= delta < 1, got {epsilon!r} and {delta!r}")
        e = Fraction(epsilon)
        return Spent(self.epsilon + e, self.rho + e * e / 2, self.delta + Fraction(delta))


@dataclass(frozen=True, slots=True)
class Filter:
    r"""A budget: as long as a filter admits what runs next, everything together is (epsilon, delta)-private.

    Of delta, `reserve` is kept for the deltas of what runs: their sum may not exceed it. With the rest,
    :math:`\delta' = \delta - \text{reserve}`, a guarantee is admitted where, itself included,

    .. math:: \sum \varepsilon_i \le \varepsilon \qquad\text{or}\qquad
              \rho \le \bigl(\sqrt{\ln(1/\delta') + \varepsilon} - \sqrt{\ln(1/\delta')}\bigr)^2

    Not tight. Source: the sum, Rogers, Roth, Ullman, Vadhan 2016; rho, Feldman, Zrnic 2021. Proof, that either may decide
    each time: rho never falls, so what ends within the second budget was always within it, and is as probable as if
    everything else were stopped; by the supermartingale :math:`e^{(\alpha-1)(L - \alpha \rho)}` it adds at most delta' to
    the hockey-stick divergence at epsilon. What ends within the first budget has L at most epsilon, and adds nothing.

    Parameters
    ----------
    epsilon : Fraction
        The budget, in nats, at least 0.
    delta : Fraction
        The budget, in [0, 1).
    reserve : Fraction or None
        From 0 to delta; by default half of it.
    spent : Spent
        So far.

    Raises
    ------
    ValueError
        Where a parameter lies outside its domain.

    Examples
    --------
    >>> budget = Filter(epsilon=1).spend(Fraction(3, 4))
    >>> budget.admits(Fraction(1, 4)), budget.admits(Fraction(1, 3))
    (True, False)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    reserve: Fraction | None = None
    spent: Spent = field(default_factory=Spent)

    def __post_init__(self) -> None:
        if not (0 <= self.epsilon < math.inf and 0 <= self.delta < 1):
            raise ValueError(f"Filter needs a finite epsilon >= 0 and 0 <= delta < 1, got {self.epsilon} and {self.delta}")
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, Fraction(getattr(self, name)))
        kept = self.delta / 2 if self.reserve is None else Fraction(self.reserve)
        object.__setattr__(self, "reserve", kept)
        if not 0 <= kept <= self.delta:
            raise ValueError(f"Filter needs 0 <= reserve <= delta, got reserve={kept} of delta={self.delta}")
        if not self._within(self.spent):
            raise ValueError(f"Filter needs what is spent to be within the budget, got {self.spent}")

    @property
    def _rho(self) -> Fraction:
        return largest_rho(self.epsilon, self.delta - (self.reserve or 0))

    def _within(self, spent: Spent) -> bool:
        return spent.delta <= (self.reserve or 0) and (spent.epsilon <= self.epsilon or spent.rho <= self._rho)

    def admits(self, epsilon: Number, delta: Number = 0) -> bool:
        """Whether a map with this guarantee may still run."""
        return self._within(self.spent.after(epsilon, delta))

    def spend(self, epsilon: Number, delta: Number = 0) -> Self:
        """The filter after such a map has run. Raises BudgetExceeded where it is not admitted."""
        after = self.spent.after(epsilon, delta)
        if not self._within(after):
            raise BudgetExceeded(
                f"a filter for ({float(self.epsilon):g}, {float(self.delta):g}) admits epsilon <= {self.remaining:.6g} and "
                f"delta <= {float((self.reserve or 0) - self.spent.delta):.6g} now, got {float(epsilon):g} and {float(delta):g}"
            )
        return replace(self, spent=after)

    @property
    def remaining(self) -> float:
        """The largest epsilon that a map with delta = 0 may still have, rounded down."""
        with working_precision(_PRECISION):
            rho = ball(max(Fraction(0), self._rho - self.spent.rho))
            return max(0.0, round_down(self.epsilon - self.spent.epsilon), _sqrt_down(2 * rho))


def _sqrt_down(value: flint.arb) -> float:
    """A float whose square is at most the value."""
    found = max(0.0, round_down(value.sqrt()))
    return found if ball(Fraction(found) ** 2) <= value else math.nextafter(found, 0)


@lru_cache(maxsize=1024)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    r"""The largest rho for which rho-zCDP promises (epsilon, delta), rounded down; 0 where delta is 0.

    .. math:: (\sqrt{l + \varepsilon} - \sqrt l)^2, \qquad l = \ln(1/\delta)

    Source: Bun, Steinke 2016, Proposition 1.3.
    """
    if not (epsilon > 0 and delta > 0):
        return Fraction(0)
    with working_precision(_PRECISION):
        log = -ball(delta).log()
        root = ball(epsilon) / ((log + ball(epsilon)).sqrt() + log.sqrt())  # the difference, without cancellation
        return Fraction(max(0.0, round_down(root * root)))


@dataclass(frozen=True, slots=True)
class Odometer:
    r"""What has been spent, valid at all times simultaneously, also at a time that depends on the views so far.

    If things are always stopped at a reading of at most (epsilon, delta), everything together is (epsilon, delta)-private.
    With J orders :math:`\alpha_j` that are fixed beforehand, and `slack` in equal shares,

    .. math:: \varepsilon = \min\Bigl(\sum \varepsilon_i,\; \min_j \alpha_j \rho + \frac{\ln(J/\text{slack})}{\alpha_j - 1}\Bigr),
              \qquad \delta = \text{slack} + \sum \delta_i

    Not tight. Source: Rogers, Roth, Ullman, Vadhan 2016; the lines, Whitehouse, Ramdas, Rogers, Wu 2023. Proof: for each
    order :math:`e^{(\alpha-1)(L - \alpha \rho)}` is a nonnegative supermartingale that begins at 1, so by Ville's inequality
    it ever exceeds J/slack with probability at most slack/J.

    Parameters
    ----------
    slack : Fraction
        In [0, 1); at 0 only the sum of epsilons is read.
    spent : Spent
        So far.

    Raises
    ------
    ValueError
        Where the slack lies outside its domain.

    Examples
    --------
    >>> meter = Odometer().spend(Fraction(1, 4)).spend(Fraction(1, 2))
    >>> meter.epsilon.high, meter.delta
    (0.75, Fraction(0, 1))
    """

    slack: Fraction = Fraction(0)
    spent: Spent = field(default_factory=Spent)

    def __post_init__(self) -> None:
        if not 0 <= self.slack < 1:
            raise ValueError(f"Odometer needs 0 <= slack < 1, got {self.slack}")
        object.__setattr__(self, "slack", Fraction(self.slack))

    def spend(self, epsilon: Number, delta: Number = 0) -> Self:
        """The odometer after a map with this guarantee has run."""
        return replace(self, spent=self.spent.after(epsilon, delta))

    @property
    def delta(self) -> Fraction:
        """Of the reading."""
        return self.slack + self.spent.delta

    @property
    def epsilon(self) -> Enclosure:
        """Of the reading, in nats: an upper bound, rounded up."""
        return upper(self._epsilon, "an odometer: the sum of epsilons, or a supermartingale")

    def _epsilon(self) -> flint.arb:
        total = ball(self.spent.epsilon)
        if not self.slack:
            return total
        log = (len(_ORDERS) / ball(self.slack)).log()
        for order in _ORDERS:
            total = total.min(ball(order * self.spent.rho) + log / ball(order - 1))
        return total
