r"""What Stemmer's talk prints of the hashtogram, as formulas, and what is found; `sign_oracle` has the talk's notation."""

import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, derived, zipf_data
from ldpaudit.accountants.claims.sign_oracle import ABOUT, NO_CONSTANT, averages, report_bits
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.hashtogram import Hashtogram
from ldpaudit.profile import Number


def query_error(m: Hashtogram, users: int, beta: Number) -> Enclosure:
    r"""The error that one query to the hashtogram exceeds with probability at most beta, for every data set.

    .. math:: t = s + \frac{8 \kappa N + \sqrt{8\,g\,N}\, c}{1 - \kappa}, \qquad N = n + s, \quad
              s = \tfrac13 g l + \sqrt{\tfrac19 g^2 l^2 + 2 g n l}, \quad l = \ln \frac{8 g}{\beta}

    with g groups, :math:`\kappa` the probability of a collision and c = 1/(2p - 1); it needs :math:`P[Bin(g, \frac14)
    \ge \frac g2] \le \frac\beta2`. By Bernstein every group's number of users, and of holders of x, is within s/g of
    its mean, except with probability beta/2. Given the groups, these are independent. In each, the others in x's cell are
    more than 8 times their mean with probability at most 1/8 (Markov), and the coins and columns deviate by more than
    the root with probability at most 1/8 (Chebyshev). So half of the groups fail with probability at most beta/2, and
    else the median is within t. Not tight; with cells near sqrt(n) it is :math:`O(\sqrt{n \log(1/\beta)}/\varepsilon)`.
    Source: Stemmer's talk, "Our results"; Bassily, Nissim, Stemmer, Thakurta 2017.

    ``m``: its groups, columns and matrices are taken for independent and uniform ones; ``users``: n, at least 1;
    ``beta``: in (0, 1). Returns in users; infinite where there are too few groups. INTERVAL.
    """
    share = Fraction(beta) / 2
    source = "Markov, Chebyshev and the median of groups"
    with working_precision(128):
        if not binomial_upper(m.groups, Fraction(1, 4), -(-m.groups // 2)) <= ball(share):
            return Enclosure(math.inf, math.inf, Rigour.INTERVAL, f"{m.groups} groups are too few for {source}")

    def bound() -> flint.arb:
        g, kappa, c = m.groups, ball(m.collision), 1 / ball(2 * m.p - 1)
        nats = ball(4 * g / share).log()
        s = g * nats / 3 + ((g * nats / 3) ** 2 + 2 * g * users * nats).sqrt()
        most = users + s
        return s + (8 * kappa * most + (8 * g * most).sqrt() * c) / (1 - kappa)

    return narrow(bound, source, Rigour.INTERVAL)


def largest_bias(m: Hashtogram) -> Enclosure:
    r"""Largest distance of a group's answer's expectation from the count, for one user of the group; exact.

    With a and b a report's average in the user's own cell and in another one, and :math:`\kappa` the probability of a
    collision, of which the answer takes off what T cells add up to:

    .. math:: \frac{a - \kappa u}{1 - \kappa} - 1, \qquad \frac{\kappa a + (1-\kappa) b - \kappa u}{1 - \kappa},
              \qquad u = a + (T-1) b

    The median of the groups' answers is another matter, of which the talk claims no expectation.
    """
    mu, kappa = Fraction(1, m.cells - 1), m.collision
    own, other = ((mu + each) / (1 + mu) for each in averages(m.cells.bit_length() - 1))
    total = own + (m.cells - 1) * other
    held = (own - kappa * total) / (1 - kappa) - 1
    missing = (kappa * own + (1 - kappa) * other - kappa * total) / (1 - kappa)
    return Enclosure.of(max(abs(held), abs(missing)), source="all columns, by a Hadamard transform")


_BETA = Fraction(1, 20)


def _error(m: Hashtogram) -> float:
    """The talk's error of a query, its epsilon read as the coin's bias; its constants as 1."""
    return math.sqrt(m.users * math.log(1 / _BETA)) / float(m.p - Fraction(1, 2))


def printed(m: Hashtogram) -> tuple[Printed, ...]:
    """The slides "Our results" and "Optimizations"."""
    where, eta = "STEMMER, hashtogram", float(m.p - Fraction(1, 2))
    said = "a query's error at beta = 1/20 is at most sqrt(n ln(1/beta))/epsilon"
    return (
        Printed(where, "truth with probability 1/2 + epsilon is epsilon-LDP", eta, account(m).epsilon(0), variant=ABOUT),
        Printed(where, said, _error(m), query_error(m, m.users, _BETA), attained=False, variant=NO_CONSTANT),
        derived(where, "bits that a user sends", 1.0, report_bits(m)),
        Printed("STEMMER, optimizations", "largest bias of a group's answer, in users per user", 0.0, largest_bias(m)),
    )


EXAMPLES = tuple(
    replace(Hashtogram.for_epsilon(1, users, domain=1 << 20), p=Fraction(1, 2) + bias)
    for bias, users in ((Fraction(1, 10), 10_000), (Fraction(1, 4), 10**6), (Fraction(2, 5), 10**5))
)
"""The talk's epsilon 1/10, 1/4 and 2/5."""


def accuracy(m: Hashtogram) -> tuple[Accuracy, ...]:
    """The same error, of queries for one value; Zipf data."""

    def error(data: NDArray[np.int64], table: NDArray[np.float64]) -> float:
        return float(abs(m.query(table, np.array([3]))[0] - np.count_nonzero(data == 3)))

    said, data = f"sqrt(n ln(1/beta))/epsilon for one query, n = {m.users}, Zipf; in users", zipf_data(m.users, m.domain)
    return (Accuracy("STEMMER, hashtogram", said, _error(m), float(_BETA), data, error),)
