r"""Randomized response: tell the truth with probability p, else any other value.

Warner 1965 (k = 2); Kairouz, Oh, Viswanath 2014 (k-ary).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up
from ldpaudit.mechanism import Law, Views
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS, bernoulli, held
from ldpaudit.mechanisms.shared.parameters import ball, exact, half_open, integer, odds, promise
from ldpaudit.mechanisms.shared.values import DrawnAtOnce, KValues
from ldpaudit.profile import Number


@dataclass(frozen=True, slots=True)
class KaryRandomizedResponse(DrawnAtOnce, KValues):
    """The true value with probability `p`, and each of the ``k - 1`` others with probability ``(1 - p)/(k - 1)``.

    A view is an int in ``range(k)``.

    Parameters
    ----------
    p : Fraction
        Probability of the truth, ``1/k <= p < 1``.
    rho : Number
        Probability of a uniform draw, ``0 < rho <= 1``.

    Examples
    --------
    >>> m = KaryRandomizedResponse(k=4, p=Fraction(1, 2))
    >>> m.law(0).probability(3)
    Fraction(1, 6)
    """

    title = "k-ary randomized response"
    summed = "one-hot"

    k: int
    p: Fraction

    def __post_init__(self) -> None:
        integer(self, "k", 2)
        half_open(self, "p", Fraction(1, self.k), "1/k <= p < 1", k=self.k)

    @classmethod
    def for_epsilon(cls, epsilon: Number, k: int) -> Self:
        """The most accurate one that is epsilon-LDP: ``p = e**epsilon / (e**epsilon + k - 1)``, rounded down."""
        return cls(k, odds(epsilon, k - 1))

    @classmethod
    def with_uniform_draw(cls, rho: Number, k: int) -> Self:
        """Replace the value, with probability `rho`, by a uniform draw from all `k`, itself included."""
        if k < 2:
            raise ValueError(f"KaryRandomizedResponse needs k >= 2, got k={k}")
        return cls(k, 1 - exact(rho) + exact(rho) / k)

    @classmethod
    def shuffled_as_printed(cls, epsilon: Number, delta: Number, users: int, k: int) -> Self:
        r"""Uniform draws that suffice for (epsilon, delta) among `users` shuffled users, for epsilon <= 1.

        .. math:: \gamma = \max\Bigl(\frac{14 k \ln(2/\delta)}{(n-1)\varepsilon^2}, \frac{27 k}{(n-1)\varepsilon}\Bigr)

        rounded up: how often the value is replaced by a uniform draw. Source: Balle, Bell, Gascon, Nissim 2019, Theorem
        3.1; GGKPV, Theorem 3.4 (16). Some 4 times the draws that are needed (`accountants.randomized_response.for_privacy`).

        Raises ValueError where gamma would be 1 or more, and outside 0 < epsilon <= 1 and 0 < delta < 1.
        """
        name = f"{cls.__name__}.shuffled_as_printed"
        nats, small = promise(name, epsilon, delta)
        if users < 2 or k < 2:
            raise ValueError(f"{name} needs users >= 2 and k >= 2, got {users} and {k}")
        with working_precision(2 * SIGNIFICANT_BITS):
            wide, narrow = 14 * k * ball(2 / small).log() / ball((users - 1) * nats**2), ball(27 * k / ((users - 1) * nats))
            gamma = Fraction(round_up(wide.max(narrow)))
        if not gamma < 1:
            least = math.floor(gamma * (users - 1)) + 2
            raise ValueError(f"{name} needs gamma < 1, which takes {least} users or more, got users={users}")
        return cls.with_uniform_draw(gamma, k)

    @property
    def lie(self) -> Fraction:
        """Probability of each single other value."""
        return (1 - self.p) / (self.k - 1)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.require_input(x)
        other = rng.integers(0, self.k - 1, size)
        other += other >= x
        return np.where(bernoulli(self.p, size, rng), x, other)

    def law(self, x: int) -> Law:
        self.require_input(x)
        return Law(lambda y: self.p if y == x else self.lie, lambda: range(self.k), self.k)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        return self.estimate_from_sum(np.bincount(views, minlength=self.k).astype(np.float64), len(views))

    def run_on_counts(self, counts: Mapping[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run`: how many of each value's reports are uniform draws is drawn, and how these fall, with float probabilities."""
        told, draws = held(self, counts, self.k), float(self.k * self.lie)
        drawn = rng.binomial(told, min(draws, 1.0))
        uniform = rng.multinomial(int(drawn.sum()), np.full(self.k, 1 / self.k))
        return self.estimate_from_sum((told - drawn + uniform).astype(np.float64), sum(counts.values()))

    def estimate_from_sum(self, total: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        return (total - users * float(self.lie)) / float(self.p - self.lie)
