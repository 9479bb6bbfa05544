"""How far estimated counts stray from the true ones: Bernstein's inequality, solved for the distance."""

from fractions import Fraction
from typing import NamedTuple, TypeAlias

import flint

from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up
from ldpaudit.mechanisms.shared.parameters import ball

HALF, BETA = Fraction(1, 2), Fraction(1, 20)
"""The usual share of the users, or of epsilon, and the usual probability of failure."""


class Chance(NamedTuple):
    """What decides how accurate the answers to a question are: the true sign has probability p, a user is asked with `share`."""

    p: Fraction
    share: Fraction

    @property
    def most(self) -> Fraction:
        r"""Largest weight of a sign in a count: :math:`c / \rho`, where c = 1/(2p - 1)."""
        return 1 / ((2 * self.p - 1) * self.share)

    @property
    def held(self) -> Fraction:
        r"""At least the second moment of the term of a user who holds what is counted: :math:`c^2 / \rho`."""
        return self.most**2 * self.share

    @property
    def absent(self) -> Fraction:
        """The same of a user who does not hold it."""
        return self.held


class Support(NamedTuple):
    """The same of an oracle whose reports support the user's value with probability p, and another one with `other`."""

    p: Fraction
    other: Fraction
    share: Fraction

    @property
    def most(self) -> Fraction:
        """Largest size of a user's term in a count."""
        return max(self.other, 1 - self.other) / ((self.p - self.other) * self.share)

    @property
    def held(self) -> Fraction:
        """Second moment of the term of a user who holds what is counted."""
        return self._moment(self.p)

    @property
    def absent(self) -> Fraction:
        """The same of a user who does not."""
        return self._moment(self.other)

    def _moment(self, supports: Fraction) -> Fraction:
        both = supports * (1 - self.other) ** 2 + (1 - supports) * self.other**2
        return both / ((self.p - self.other) ** 2 * self.share)


Terms: TypeAlias = Chance | Support
"""What a count's terms are like: their largest size, `most`, and their second moments, `held` and `absent`."""


def bernstein(variance: Fraction, most: Fraction, nats: flint.arb) -> flint.arb:
    r"""The distance from its mean that a sum of independent terms exceeds, on one side, with probability at most e**-nats.

    .. math:: t = \frac{M \Lambda}{3} + \sqrt{\Bigl(\frac{M \Lambda}{3}\Bigr)^2 + 2 V \Lambda}

    solves :math:`\exp\bigl(-\frac{t^2}{2 (V + M t / 3)}\bigr) = e^{-\Lambda}`. Not tight. Source: Bernstein's inequality;
    Boucheron, Lugosi, Massart 2013, Corollary 2.11. V is at least the sum of the terms' second moments; M is at least every
    term, on the side that is bounded: nothing is taken off for its mean. At the working precision.
    """
    third = ball(most) * nats / 3
    return third + (third**2 + 2 * ball(variance) * nats).sqrt()


def deviation(terms: Terms, users: int, values: int, beta: Fraction, held: int = 0) -> flint.arb:
    r"""The error that any of this many counts exceeds with probability at most beta, for every data set.

    .. math:: t = BE\Bigl(f v_1 + (n - f) v_0, \; M + 1, \; \ln \frac{2 K}{\beta}\Bigr)

    with BE as in `bernstein`, of values that f users hold: a user's term has mean 1 and second moment at most v1 if the user
    holds the value, else 0 and v0, and size at most M. Of randomized signs :math:`v_0 = v_1 = c^2/\rho` and
    :math:`M = c/\rho`, with c = 1/(2p - 1), so that t is the same for all values. Not tight. Proof:
    proofs/tree_histogram.py, the lemma on a user's term.

    Users' questions, vectors and coins are taken for independent and uniform ones; ``values`` is K, ``held`` is f, and with 0 it
    is what is counted of values that nobody holds. In users, at the working precision.
    """
    variance = held * terms.held + (users - held) * terms.absent
    return bernstein(variance, terms.most + 1, ball(2 * values / beta).log())


def largest_deviation(terms: Terms, users: int, values: int, beta: Fraction, held: int = 0) -> float:
    """`deviation`, as a float that is not below it."""
    with working_precision(128):
        return round_up(deviation(terms, users, values, beta, held))
