r"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 print of shuffled k-ary randomized response, and what is found.

Theorem 3.4 (16), for many users: a uniform draw in place of the value with probability gamma, by Theorem 3.1 of Balle, Bell,
Gascon, Nissim 2019, whose constants it takes; and an expected error of :math:`O(\sqrt{B \log B \log(1/\delta)}/\varepsilon)`
users, which it prints divided by n.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.accuracy import Accuracy
from ldpaudit.accountants.claims.sentence import Printed, Provenance
from ldpaudit.accountants.claims.single_message import Promise, simulated_error
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


@dataclass(frozen=True)
class Setting(Promise):
    """A promise for k-ary randomized response, with enough users for the printed draws."""

    @property
    def mechanism(self) -> KaryRandomizedResponse:
        """With the uniform draws of Theorem 3.1 of Balle et al."""
        return KaryRandomizedResponse.shuffled_as_printed(self.epsilon, self.delta, self.users, self.values)

    @property
    def errors(self) -> Frequencies:
        """Of the estimates."""
        return Frequencies(self.users, self.values, self.mechanism.p, self.mechanism.lie)

    @property
    def draws(self) -> Fraction:
        """gamma, how often the value is replaced by a uniform draw."""
        return self.values * self.mechanism.lie

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Of the theorem's third case."""
        return (Hypothesis("n >= B^2", self.users >= self.values**2), Hypothesis("epsilon <= 1", self.epsilon <= 1))


def privacy(s: Setting) -> tuple[Printed, ...]:
    """The shuffled reports are (epsilon, delta)-private; and the uniform draws that suffice for that."""
    found = account(Shuffle(s.mechanism, s.users)).epsilon(s.delta)
    needed = needed_noise(lambda gamma: _plan(gamma, s), s.epsilon, s.delta, float(s.draws) / 4, 1.0)
    return (
        Printed(_WHERE, f"epsilon at delta={float(s.delta):g} of shuffled randomized response", float(s.epsilon), found,
                s.hypotheses, provenance=Provenance.RESTORED),
        Printed(_WHERE, "share of uniform draws for that", float(s.draws), needed, s.hypotheses, provenance=Provenance.RESTORED),
    )  # fmt: skip


def _plan(gamma: Fraction, s: Setting) -> Shuffle:
    return Shuffle(KaryRandomizedResponse.with_uniform_draw(gamma, s.values), s.users)


def error(s: Setting) -> Printed:
    """(16): the expected largest error, for any data; in users."""

    def order() -> flint.arb:
        return _CONSTANT * (s.values * ball(Fraction(s.values)).log() * ball(1 / s.delta).log()).sqrt() / ball(s.epsilon)

    return Printed(_WHERE, f"expected largest error is at most {_CONSTANT} sqrt(B ln B ln(1/delta))/eps",
                   narrow(order, "(16)").low, s.errors.expected_error(), s.hypotheses, attained=False,
                   provenance=Provenance.DERIVED, variant=f"the O's constant is not printed; here it is {_CONSTANT}")  # fmt: skip


def printed(s: Setting) -> tuple[Printed, ...]:
    """Theorem 3.4, its third case."""
    return *privacy(s), error(s)


def examples() -> tuple[Setting, ...]:
    """Usual promises, where many users hold few values; and more values than the case is about."""
    return (
        Setting(Fraction(1), Fraction(1, 10**9), 10**6, 64),
        Setting(Fraction(1), Fraction(1, 10**6), 10**6, 16),
        Setting(Fraction(1, 2), Fraction(1, 10**6), 10**5, 4),
        Setting(Fraction(1), Fraction(1, 10**9), 10**7, 10**4),
    )


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """The largest error where all users hold one value: the worst data."""
    return simulated_error(s, s.errors, _WHERE)
