r"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 print of shuffled k-ary randomized response, and what is found.

Theorem 3.4 (16), for many users: a uniform draw in place of the value with probability gamma, by Theorem 3.1 of Balle, Bell,
Gascon, Nissim 2019, whose constants it takes; and an expected error of :math:`O(\sqrt{B \log B \log(1/\delta)}/\varepsilon)`
users, which it prints divided by n.
"""

from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, ShuffledPromise, derived, largest_error, restored
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.shuffling.calibrate import needed_noise
from ldpaudit.accountants.shuffling.frequencies import Frequencies
from ldpaudit.claim import Hypothesis
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.plan import Shuffle

_WHERE = "GGKPV Theorem 3.4 (16)"
_CONSTANT = 8
"""How the constant of (16) is read: sqrt(2 * 14 * 2) is 7.5, for a variance of about n gamma and a logarithm of 2 B."""
ALIKE = "all hold one value"
"""The data on which errors are simulated. No data have a larger variance, as on + off <= 1 for both protocols of Theorem 3.4."""
_COUNTED = 1 << 20  # domains up to this size are simulated


@dataclass(frozen=True)
class Setting(ShuffledPromise):
    """A promise of at most epsilon = 1 for k-ary randomized response, with enough users for the printed draws."""

    values: int  # B, at least 2
    beta: Fraction = Fraction(1, 20)

    @property
    def mechanism(self) -> KaryRandomizedResponse:
        """With the uniform draws of Theorem 3.1 of Balle et al."""
        return KaryRandomizedResponse.shuffled_as_printed(self.epsilon, self.delta, self.users, self.values)

    @property
    def errors(self) -> Frequencies:
        """Of the estimates."""
        return Frequencies(self.users, self.values, self.mechanism.p, self.mechanism.lie)


def printed(s: Setting) -> tuple[Printed, ...]:
    """Theorem 3.4, its third case: privacy, the uniform draws that suffice for it, and the expected largest error, in users."""
    met = Hypothesis("n >= B^2", s.users >= s.values**2), s.small
    draws = s.values * s.mechanism.lie  # gamma, how often the value is replaced by a uniform draw
    found = account(Shuffle(s.mechanism, s.users)).epsilon(s.delta)

    def order() -> flint.arb:
        return _CONSTANT * (s.values * ball(Fraction(s.values)).log() * ball(1 / s.delta).log()).sqrt() / ball(s.epsilon)

    made = KaryRandomizedResponse.with_uniform_draw
    needed = needed_noise(lambda gamma: Shuffle(made(gamma, s.values), s.users), s.epsilon, s.delta, float(draws) / 4, 1.0)
    return (
        restored(_WHERE, f"{s.at} of shuffled randomized response", float(s.epsilon), found, met),
        restored(_WHERE, "share of uniform draws for that", float(draws), needed, met),
        derived(_WHERE, f"expected largest error is at most {_CONSTANT} sqrt(B ln B ln(1/delta))/eps", narrow(order, "(16)").low,
                s.errors.expected_error(), met, attained=False,
                variant=f"the O's constant is not printed; here it is {_CONSTANT}"),
    )  # fmt: skip


EXAMPLES = (
    Setting(Fraction(1), Fraction(1, 10**9), 10**6, 64),
    Setting(Fraction(1), Fraction(1, 10**6), 10**6, 16),
    Setting(Fraction(1, 2), Fraction(1, 10**6), 10**5, 4),
    Setting(Fraction(1), Fraction(1, 10**9), 10**7, 10**4),
)
"""Usual promises, where many users hold few values; and more values than the case is about."""


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """The largest error where all users hold one value: the worst data."""
    return simulated_error(s.errors, s.beta, _WHERE)


def simulated_error(errors: Frequencies, beta: Fraction, where: str) -> tuple[Accuracy, ...]:
    """The largest error on data that are all alike, which Bernstein's inequality bounds at beta."""
    if errors.values > _COUNTED:
        return ()
    said, alpha = f"all {errors.values} estimates, n = {errors.users}, {ALIKE}; in users", errors.error(beta).high
    alike = np.zeros(errors.users, dtype=np.int64)
    return (Accuracy(where, said, alpha, float(beta), lambda _: alike, largest_error(errors.values)),)
