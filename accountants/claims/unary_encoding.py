r"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 print of shuffled RAPPOR, a vector of k bits with noise, and what is found.

Theorem 3.4 (15): an expected error of :math:`O(\sqrt{\ln B}\, \ln(1/\delta)^{1/4}\, n^{1/4}/\sqrt\varepsilon)` users, which it
prints divided by n. Neither the flips nor the error has a printed constant. The flips are those of
`UnaryEncoding.shuffled_in_closed_form`; the proof's step (90) bounds the error by Lambert's function at v = n q.
"""

from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.randomized_response import ALIKE, simulated_error
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, ShuffledPromise, derived, remembered
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.deviations import expected_largest, expected_largest_binomial
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.shuffling.calibrate import needed_noise
from ldpaudit.accountants.shuffling.frequencies import Frequencies
from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.plan import Shuffle

_WHERE = "GGKPV Theorem 3.4 (15)"
_CONSTANT = 8
"""How the constant of (15) is read: 2 sqrt(3) is 3.5 for the constant 36 of the flips, and 1 - 2 q is at least 1/2."""
_FLIPS = "q^2/(1-q) = 36 ln(e/(eps delta))/(n eps^2), as Lemma 4.4 asks of a message among others; the theorem prints no constant"


@dataclass(frozen=True)
class Setting(ShuffledPromise):
    """A promise of at most epsilon = 1 for shuffled vectors of bits, with enough users for the flips of the closed form."""

    values: int  # B, at least 2
    beta: Fraction = Fraction(1, 20)

    @property
    def mechanism(self) -> UnaryEncoding:
        """With the flips of the closed form."""
        return UnaryEncoding.shuffled_in_closed_form(self.epsilon, self.delta, self.users, self.values)

    @property
    def errors(self) -> Frequencies:
        """Of the estimates."""
        return Frequencies(self.users, self.values, self.mechanism.p, self.mechanism.q)

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Of the theorem's second case; and what its proof needs for a factor 1/(1 - 2 q) of 2 at most."""
        return (
            Hypothesis("n <= B^2", self.users <= self.values**2),
            self.small,
            Hypothesis("q <= 1/4", self.mechanism.q <= Fraction(1, 4), stated=False),
        )


def _privacy(s: Setting) -> tuple[Printed, ...]:
    """The shuffled vectors are (epsilon, delta)-private; and the flips that suffice for that."""
    q, found = s.mechanism.q, account(Shuffle(s.mechanism, s.users)).epsilon(s.delta)
    needed = needed_noise(lambda q: Shuffle(UnaryEncoding.flips(q, s.values), s.users), s.epsilon, s.delta, float(q) / 4, 0.5)
    return (
        derived(_WHERE, f"{s.at} of shuffled RAPPOR", float(s.epsilon), found, s.hypotheses, reading=_FLIPS),
        derived(_WHERE, "probability of a flip for that", float(q), needed, s.hypotheses, reading=_FLIPS),
    )


def error(s: Setting) -> tuple[Printed, ...]:
    """(90) and (15): the expected largest error, exactly where all users hold one value; in users.

    All counts are then binomial laws of one variance, independent of each other; and for no data is a variance larger.
    """
    q, most = s.mechanism.q, s.errors.expected_error()
    alike = narrow(lambda: expected_largest_binomial(s.users, q, s.values) / ball(1 - 2 * q), "binomial noise on every count")
    poisson = narrow(lambda: expected_largest(s.users * q, s.values) / ball(1 - 2 * q), "(90)")

    def order() -> flint.arb:
        log, nats = ball(Fraction(s.values)).log(), ball(1 / s.delta).log()
        return _CONSTANT * (log / ball(s.epsilon) * (nats * s.users).sqrt()).sqrt()

    return (
        derived(f"{_WHERE}, proof", f"expected largest error where {ALIKE} is at most Lambert's bound at v = n q", poisson.low,
                alike, s.hypotheses[1:2], reading=_FLIPS),
        derived(_WHERE, f"expected largest error is at most {_CONSTANT} sqrt(ln B) ln(1/delta)^(1/4) n^(1/4)/sqrt(eps)",
                narrow(order, "(15)").low, Enclosure(alike.low, most.high, most.rigour, "from data all alike to any"), s.hypotheses,
                reading=_FLIPS, variant=f"the O's constant is not printed; here it is {_CONSTANT}"),
    )  # fmt: skip


def thresholded(s: Setting) -> Printed:
    """THE of Wang, Blocki, Li and Jha 2017: a threshold of Laplace noise costs no more than the noise."""
    found = account(UnaryEncoding.thresholded(s.epsilon, s.values)).epsilon(0)
    return remembered("WBLJ17, thresholding", f"epsilon of THE with noise of epsilon={s.epsilon}", s.epsilon, found)


def printed(s: Setting) -> tuple[Printed, ...]:
    """Theorem 3.4, its second case; and unary encoding by thresholds of noise."""
    return *_privacy(s), *error(s), thresholded(s)


EXAMPLES = (
    Setting(Fraction(1), Fraction(1, 10**9), 10**6, 10**4),
    Setting(Fraction(1), Fraction(1, 10**10), 10**8, 10**6),
    Setting(Fraction(1, 2), Fraction(1, 10**8), 10**5, 10**3),
)
"""Usual promises, where many values are held by fewer users than their number's square."""

SIMULATED = EXAMPLES[::2]  # the examples but the second, of which a run takes seconds


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """The largest error where all users hold one value: for no data is a variance larger."""
    return simulated_error(s.errors, s.beta, _WHERE)
