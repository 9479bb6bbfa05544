r"""Unary encoding: a one-hot vector of k bits, each reported by a coin of its own.

Erlingsson, Pihur, Korolova 2014 (one-time basic RAPPOR); Wang, Blocki, Li, Jha 2017 (symmetric, optimized, thresholded).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.number import brief
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up
from ldpaudit.mechanism import Law
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS, bernoulli, held
from ldpaudit.mechanisms.shared.independent_bits import product_law
from ldpaudit.mechanisms.shared.parameters import (
    ball,
    exact,
    integer,
    odds,
    probability,
    promise,
    rounded_down,
    rounded_up,
    spendable,
)
from ldpaudit.mechanisms.shared.values import BitVector, DrawnAtOnce, LinearEstimate
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.profile import Number

_LEAST_GAP = 1e-150  # whose square a float can hold


@dataclass(frozen=True, slots=True)
class UnaryEncoding(DrawnAtOnce, LinearEstimate, BitVector):
    """Bit x is reported as 1 with probability `p`, each of the ``k - 1`` others with probability `q`.

    A view is a row of `k` bits. An absent user, the input None, is the all-zero vector: one bit differs from a value's
    vector, where two values' vectors differ in two.

    Parameters
    ----------
    p : Fraction
        P[report 1 | bit 1], ``q < p < 1``.
    q : Fraction
        P[report 1 | bit 0], ``0 < q < p < 1``.
    rho : Number
        Probability of a flip, ``0 < rho < 1/2``.
    threshold : Number
        Of noisy bits that are reported as 1, ``1/2 < threshold <= 1``.

    Examples
    --------
    >>> m = UnaryEncoding(k=3, p=Fraction(1, 2), q=Fraction(1, 4))
    >>> m.law(0).probability((1, 0, 1)), m.law(None).probability((1, 0, 1))
    (Fraction(3, 32), Fraction(3, 64))
    """

    title = "unary encoding"
    calibrated = ("symmetric", "optimized", "thresholded")
    relations = (REPLACE_ONE, ADD_REMOVE)

    k: int
    p: Fraction
    q: Fraction

    def __post_init__(self) -> None:
        integer(self, "k", 2)
        probability(self, "q", high=probability(self, "p"))

    @classmethod
    def symmetric(cls, epsilon: Number, k: int) -> Self:
        """SUE: bits 0 and 1 equally noisy, ``p = 1 - q = e**(epsilon/2) / (1 + e**(epsilon/2))``, rounded down."""
        p = odds(epsilon, scale=Fraction(1, 2))
        return cls(k, p, 1 - p)

    @classmethod
    def optimized(cls, epsilon: Number, k: int) -> Self:
        """OUE: the zeros as quiet as epsilon allows, ``p = 1/2`` and ``q = 1 / (1 + e**epsilon)``, rounded up."""
        return cls(k, Fraction(1, 2), 1 - odds(epsilon))

    @classmethod
    def thresholded(cls, epsilon: Number, k: int, threshold: Number | None = None) -> Self:
        r"""THE: Laplace noise of scale 2/epsilon on every bit, of which only is seen whether it exceeds `threshold`, in (1/2, 1].

        .. math:: p = 1 - \tfrac12 e^{(\theta - 1)\varepsilon/2}, \qquad q = \tfrac12 e^{-\theta\varepsilon/2}

        p rounded down, q up. By default the multiple of 1/64 by which estimates of rare values are most accurate. The bits cost
        less than epsilon, which is what the noise costs (Wang, Blocki, Li, Jha 2017).
        """
        nats = spendable(epsilon)
        half = float(nats) / 2

        def variance(at: Fraction) -> float:
            below = math.exp(-float(at) * half) / 2
            gap = -(math.expm1((float(at) - 1) * half) + math.expm1(-float(at) * half)) / 2
            return below * (1 - below) / gap**2 if gap > _LEAST_GAP else math.inf

        best = min((Fraction(i, 64) for i in range(33, 65)), key=variance)
        theta = best if threshold is None else exact(threshold, "threshold")
        if not Fraction(1, 2) < theta <= 1:
            raise ValueError(f"UnaryEncoding.thresholded needs 1/2 < threshold <= 1, got threshold={brief(theta)}")
        with working_precision(2 * SIGNIFICANT_BITS):
            p, q = 1 - (ball((theta - 1) * nats / 2)).exp() / 2, ball(-theta * nats / 2).exp() / 2
            return cls(k, rounded_down(p), rounded_up(q))

    @classmethod
    def flips(cls, rho: Number, k: int) -> Self:
        """Every bit is flipped with the same probability."""
        return cls(k, 1 - exact(rho), exact(rho))

    @classmethod
    def shuffled_in_closed_form(cls, epsilon: Number, delta: Number, users: int, k: int) -> Self:
        r"""Flips that suffice for (epsilon, delta) among `users` shuffled users, in closed form, for epsilon <= 1.

        .. math:: \frac{q^2}{1 - q} = \frac{36 \ln\frac{e}{\varepsilon\delta}}{n \varepsilon^2}

        rounded up. A bit that user 1 does not hold is set by n q reports, of which a share q/(1-q) is blanket, so that
        this is the noise which Lemma 4.4 of GGKPV asks of one message among others; Theorem 3.4 there prints no constant.
        Some 11 to 19 times the noise that is needed (`accountants.unary_encoding.for_privacy`).

        Raises ValueError where q would exceed 1/2, and outside 0 < epsilon <= 1 and 0 < delta < 1.
        """
        name = f"{cls.__name__}.shuffled_in_closed_form"
        nats, small = promise(name, epsilon, delta)
        if users < 1:
            raise ValueError(f"{name} needs users >= 1, got {users}")
        with working_precision(2 * SIGNIFICANT_BITS):
            share = 36 * (1 - ball(nats * small).log()) / (users * ball(nats) ** 2)
            q = Fraction(round_up(((share * share + 4 * share).sqrt() - share) / 2))
        if not q < Fraction(1, 2):
            least = math.ceil(2 * users * float(share))
            raise ValueError(f"{name} needs q < 1/2, which takes {least} users or more, got users={users}")
        return cls(k, 1 - q, q)

    def sample(self, x: int | None, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
        self.require_input(x)
        bits = bernoulli(self.q, (size, self.k), rng).view(np.int8)
        if x is not None:
            bits[:, x] = bernoulli(self.p, size, rng)
        return bits

    def law(self, x: int | None) -> Law:
        self.require_input(x)
        one, zero = (1 - self.p, self.p), (1 - self.q, self.q)
        return product_law([one if bit == x else zero for bit in range(self.k)])

    def run_on_counts(self, counts: Mapping[int | None, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run`: how often each bit is set is drawn at once, by two binomial laws, whose probabilities are floats."""
        present, users = held(self, counts, self.k), sum(counts.values())
        ones = rng.binomial(present, float(self.p)) + rng.binomial(users - present, float(self.q))
        return self.estimate_from_sum(ones.astype(np.float64), users)

    def estimate_from_sum(self, total: NDArray[np.float64], users: int) -> NDArray[np.float64]:
        return (total - users * float(self.q)) / float(self.p - self.q)
