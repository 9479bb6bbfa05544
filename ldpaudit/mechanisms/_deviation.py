"""How far estimated counts stray from the true ones: Bernstein's inequality, solved for the distance."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import flint

from ldpaudit.enclosure import round_up
from ldpaudit.mechanisms._parameters import ball
from ldpaudit.working_precision import working_precision

_BITS = 128


class Chance(NamedTuple):
    """What decides how accurate the answers to a question are.

    Parameters
    ----------
    p : Fraction
        Probability of the true sign.
    share : Fraction
        Probability with which a user is asked.
    """

    p: Fraction
    share: Fraction

    @property
    def most(self) -> Fraction:
        r"""Largest weight of a sign in a count: :math:`c / \rho`, where c = 1/(2p - 1)."""
        return 1 / ((2 * self.p - 1) * self.share)

    @property
    def variance(self) -> Fraction:
        r"""Upper bound of the second moment of a user's term in a count: :math:`c^2 / \rho`."""
        return self.most**2 * self.share


def bernstein(variance: Fraction, most: Fraction, nats: flint.arb) -> flint.arb:
    r"""The distance from its mean that a sum of independent terms exceeds, on one side, with probability at most e**-nats.

    .. math:: t = \frac{M \Lambda}{3} + \sqrt{\Bigl(\frac{M \Lambda}{3}\Bigr)^2 + 2 V \Lambda}

    solves :math:`\exp\bigl(-\frac{t^2}{2 (V + M t / 3)}\bigr) = e^{-\Lambda}`. Not tight. Source: Bernstein's inequality;
    Boucheron, Lugosi, Massart 2013, Corollary 2.11.

    Parameters
    ----------
    variance : Fraction
        V, at least the sum of the terms' second moments.
    most : Fraction
        M, at least every term, on the side that is bounded; nothing is taken off for its mean.
    nats : flint.arb
        Above 0.

    Returns
    -------
    flint.arb
        In units of the sum, at the working precision.
    """
    third = ball(most) * nats / 3
    return third + (third**2 + 2 * ball(variance) * nats).sqrt()


def deviation(chance: Chance, users: int, values: int, beta: Fraction) -> flint.arb:
    r"""The error that any of so many counts exceeds with probability at most beta, for every data set.

    .. math:: t = BE\Bigl(\frac{n c^2}{\rho}, \frac c\rho + 1, \ln \frac{2 K}{\beta}\Bigr), \qquad c = \frac{1}{2p - 1}

    with BE as in `bernstein`: a user's term has second moment at most :math:`c^2/\rho`, is at most :math:`c/\rho` and at
    least minus that, and has mean 0 or 1. Not tight. Proof: proofs/tree_histogram.py, the lemma on an answer's terms.

    Parameters
    ----------
    chance : Chance
        Of the question; users' questions, vectors and coins are taken for independent and uniform ones.
    users, values : int
        n and K, at least 1.
    beta : Fraction
        In (0, 1).

    Returns
    -------
    flint.arb
        In users, at the working precision.
    """
    return bernstein(users * chance.variance, chance.most + 1, ball(2 * values / beta).log())


def largest_deviation(chance: Chance, users: int, values: int, beta: Fraction) -> float:
    """`deviation`, as a float that is not below it."""
    with working_precision(_BITS):
        return round_up(deviation(chance, users, values, beta))
