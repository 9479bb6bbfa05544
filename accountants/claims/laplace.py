"""What Hsu, Khanna and Roth 2012 print of Laplace noise in general, and what is found: one answer, and a sum of noises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Printed
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import Rigour, round_up
from ldpaudit.mechanisms.laplace import Laplace

PAPER = "HKR12"
"""Whose claims these are."""

_NATS = 20
"""The tail is judged where the sentence's bound is about e**-20, or half-way to the end of its regime, and at its end."""
_FLOATS = 600
"""Bounds below e**-600 are left out: a float ends at e**-745."""


@dataclass(frozen=True)
class Setting:
    """An answer with noise, and a number of such noises.

    Parameters
    ----------
    epsilon : Fraction
        The promise, above 0.
    sensitivity : Fraction
        c, how far the answers of neighbours may lie apart, above 0.
    users : int
        n, how many noises are added up, at least 1.
    beta : Fraction
        Probability with which the sum may be far away, in (0, 1).
    """

    epsilon: Fraction
    sensitivity: Fraction
    users: int
    beta: Fraction

    def __post_init__(self) -> None:
        if not (self.users >= 1 and 0 < self.beta < 1):
            raise ValueError(f"Setting needs users >= 1 and 0 < beta < 1, got users={self.users} and beta={self.beta}")
        _ = self.mechanism  # refuses the rest

    @property
    def mechanism(self) -> Laplace:
        """The answer, any number of a range of length c, plus noise of scale c/epsilon."""
        return Laplace.for_epsilon(self.epsilon, 0, self.sensitivity)


def noise_tail(users: int, reach: flint.arb) -> flint.arb:
    r"""Upper bound of P[|z| > t b] for the sum z of n Laplace noises of scale b, by the best Chernoff bound.

    .. math:: P \le 2 (1 - s^2)^{-n} e^{-s t}, \qquad s = \frac{\sqrt{n^2 + t^2} - n}{t}
    """
    if not reach > 0:
        return flint.arb(1)
    s = ((users * users + reach * reach).sqrt() - users) / reach
    return (2 * (-s * reach - users * (1 - s * s).log()).exp()).min(flint.arb(1))


def theorem_2_4(s: Setting) -> Printed:
    """An answer of sensitivity c with noise of scale c/epsilon is (epsilon, 0)-private. Exact, and attained."""
    sentence = f"epsilon at delta=0 of an answer of sensitivity {s.sensitivity} with noise of scale {s.mechanism.scale}"
    return Printed("HKR12 Theorem 2.4", sentence, round_up(s.epsilon), account(s.mechanism).epsilon(0))


def theorem_2_10(s: Setting) -> tuple[Printed, ...]:
    r"""Tails of a sum X of n noises of scale b in both regimes, and :math:`P[|X| > T_\beta] \le \beta`.

    .. math:: P[X \ge T] \le \begin{cases} e^{-T^2/(6nb^2)} & T \le nb \\ e^{-T/(6b)} & T > nb \end{cases}, \qquad
              T_\beta = b \sqrt{6n} \ln\tfrac2\beta

    What is found is a Chernoff bound, so it can show that the sentence is true, never that it is false.
    """
    return (*_one_side(s), _both_sides(s))


def _one_side(s: Setting) -> Iterator[Printed]:
    n, where = s.users, "HKR12 Theorem 2.10"
    inside = min(Fraction(n, 2), Fraction(round((6 * n * _NATS) ** 0.5)))
    regimes = (("T <= n b", inside, inside**2 / (6 * n)), ("T <= n b, at its end", Fraction(n), Fraction(n, 6)),
               ("T > n b", Fraction(4 * n), Fraction(4 * n, 6)))  # fmt: skip
    for regime, reach, exponent in regimes:
        if exponent <= _FLOATS:
            claimed = narrow(lambda e=exponent: (-ball(e)).exp(), where)  # type: ignore[misc]
            found = narrow(lambda t=reach: noise_tail(n, ball(t)) / 2, "Chernoff", Rigour.INTERVAL)  # type: ignore[misc]
            sentence = f"P[X >= T] of a sum of n={n} noises at T={reach} b, {regime}"
            yield Printed(where, sentence, claimed.low, found, attained=False)


def _both_sides(s: Setting) -> Printed:
    def found() -> flint.arb:
        return noise_tail(s.users, flint.arb(6 * s.users).sqrt() * ball(2 / s.beta).log())

    sentence = f"P[|X| > T_beta] of a sum of n={s.users} noises at beta={s.beta}"
    bound = narrow(found, "Chernoff", Rigour.INTERVAL)
    return Printed("HKR12 Theorem 2.10", sentence, float(s.beta), bound, attained=False)


def printed(s: Setting) -> tuple[Printed, ...]:
    """Theorems 2.4 and 2.10."""
    return theorem_2_4(s), *theorem_2_10(s)


def examples() -> tuple[Setting, ...]:
    """One noise, some, and a million; a beta so large that Theorem 2.10's own tail does not give its T_beta."""
    return (
        Setting(Fraction(1), Fraction(1), 1, Fraction(1, 20)),
        Setting(Fraction(1, 10), Fraction(2), 100, Fraction(1, 20)),
        Setting(Fraction(3), Fraction(1, 3), 10**6, Fraction(1, 10**6)),
        Setting(Fraction(1, 2), Fraction(1), 40, Fraction(9, 10)),
    )
