r"""What Stemmer's talk prints of the sign oracle and the hashtogram, as formulas, and what is found.

The talk's :math:`\varepsilon` is two things: the promise "epsilon-LDP", and the bias of the coin, which is "about 1/2 +
epsilon". Below, :math:`\eta` is the bias: p = 1/2 + eta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.accuracy import Accuracy
from ldpaudit.accountants.claims.sentence import Printed
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.hashtogram import Hashtogram
from ldpaudit.mechanisms.sign_oracle import SignOracle
from ldpaudit.profile import Number


@dataclass(frozen=True)
class Setting:
    """Parameters of the talk's oracles.

    Parameters
    ----------
    epsilon : Fraction
        In (0, 1/2).
    users, domain : int
        n and |X|.
    """

    epsilon: Fraction
    users: int
    domain: int

    @property
    def mechanism(self) -> SignOracle:
        """The oracle with the talk's coin."""
        return SignOracle.with_bias(self.epsilon, self.users, self.domain)


_FORGOTTEN = Hypothesis("one epsilon is both the promise and the coin's bias (not said)", False)


def failure(m: SignOracle, users: int, error: Number) -> Enclosure:
    r"""Probability, at most, that one query to the sign oracle is wrong by more than t users.

    .. math:: P\bigl[|\hat f(x) - f(x)| > t\bigr] \le 2 \exp\Bigl(-\frac{2 \eta^2 (1+\mu)^2 t^2}{n}\Bigr),
              \qquad \mu = \frac{1}{2^{bits} - 1}

    Hoeffding's inequality: over the public matrix and the coins the n terms :math:`y_i Z[x, i]` are independent and +1
    or -1, for every x and every data set. A union bound over values multiplies it by their number. Not tight. Source:
    Stemmer's talk, "Hoeffding bound", which leaves out constants; Hoeffding 1963.

    Parameters
    ----------
    m : SignOracle
        Its columns are taken for independent and uniform ones.
    users : int
        n, at least 1.
    error : number
        t, at least 0, in users.

    Returns
    -------
    Enclosure
        A probability. INTERVAL.
    """
    mu, eta = -m.agreement, m.p - Fraction(1, 2)
    exponent = 2 * (eta * (1 + mu) * Fraction(error)) ** 2 / users
    return narrow(lambda: 2 * (-ball(exponent)).exp(), "Hoeffding", Rigour.INTERVAL).clamp(0.0, 1.0)


def error_of(m: SignOracle, users: int, beta: Number, values: int = 1) -> Enclosure:
    r"""The error t that so many queries exceed, all together, with probability at most beta; see `failure`.

    .. math:: t = \frac{1}{\eta (1+\mu)} \sqrt{\tfrac n2 \ln \tfrac{2 |X|}{\beta}}

    Parameters
    ----------
    m, users
        As for `failure`.
    beta : number
        In (0, 1).
    values : int
        Size of X, at least 1.

    Returns
    -------
    Enclosure
        In users. INTERVAL.
    """
    scale = 1 / ((m.p - Fraction(1, 2)) * (1 - m.agreement))
    inside = 2 * values / Fraction(beta)
    return narrow(lambda: ball(scale) * (ball(inside).log() * users / 2).sqrt(), "Hoeffding", Rigour.INTERVAL)


def all_ones(p: Fraction, users: int, error: Fraction) -> Enclosure:
    """Exact probability that the warm-up is wrong by more than t where all users hold 1: two binomial tails."""
    reach = (2 * p - 1) * error  # in told truths
    above, below = math.floor(p * users + reach) + 1, math.ceil(p * users - reach) - 1
    return narrow(lambda: binomial_upper(users, p, above) + binomial_lower(users, p, below), "two binomial tails")


def warm_up(epsilon: Number, users: int) -> tuple[Printed, ...]:
    """The slide "LDP warm-up" at the talk's epsilon, below 1/2: privacy, accuracy, and the two together."""
    eta = Fraction(epsilon)
    talk, private = SignOracle.warm_up(eta, users), SignOracle.for_epsilon(eta, users, 2)
    error = Fraction(math.isqrt(users * 10**12), 10**6) / eta  # below sqrt(n)/epsilon by less than 1e-6/epsilon
    often = 0.01
    return (
        Printed("STEMMER, warm-up", "truth with probability 1/2 + epsilon is epsilon-LDP", float(eta),
                account(talk).epsilon(0), (_FORGOTTEN,)),
        Printed("STEMMER, warm-up", f"with it, the error exceeds sqrt(n)/epsilon rarely (read: {often})", often,
                failure(talk, users, error), attained=False),
        Printed("STEMMER, warm-up", f"epsilon-LDP, and the error exceeds sqrt(n)/epsilon rarely (read: {often})", often,
                all_ones(private.p, users, error), (_FORGOTTEN,)),
    )  # fmt: skip


def large_domain(epsilon: Number, users: int, domain: int) -> tuple[Printed, ...]:
    """The slide "Frequency oracle for large domains": error sqrt(n ln|X|)/epsilon over all of X, with both epsilons."""
    eta = Fraction(epsilon)
    talk, private = SignOracle.with_bias(eta, users, domain), SignOracle.for_epsilon(eta, users, domain)
    error = Fraction(math.sqrt(users * math.log(domain))) / eta
    one, often = failure(talk, users, error), 0.01
    every = Enclosure.of(0, Fraction(one.high) * domain, rigour=Rigour.INTERVAL, source="Hoeffding, for each value")
    return (
        Printed("STEMMER, large domains", "truth with probability 1/2 + epsilon is epsilon-LDP", float(eta),
                account(talk).epsilon(0), (_FORGOTTEN,)),
        Printed("STEMMER, large domains", f"with it, some error exceeds sqrt(n ln|X|)/epsilon rarely (read: {often})",
                often, every.clamp(0.0, 1.0), attained=False),
        Printed("STEMMER, large domains", f"epsilon-LDP, and some error exceeds that rarely (read: {often})", often,
                some_error(private.p, users, domain, error), (_FORGOTTEN,)),
    )  # fmt: skip


def some_error(p: Fraction, users: int, domain: int, error: Fraction) -> Enclosure:
    r"""Probability, from below, that some of |X| - 1 values that nobody holds is estimated to be above t.

    .. math:: P \ge 1 - \frac{1}{(|X| - 1)\, P_1}, \qquad P_1 = P\bigl[|2\,Bin(n, \tfrac12) - n| > (2p-1)\, t\bigr]

    For a uniform matrix, as the slide has it: whatever the reports are, the rows of such values are independent of
    them and of each other, so that Chebyshev's inequality bounds the probability that none exceeds t. All users hold
    the same value.

    Returns
    -------
    Enclosure
        From that bound to 1. INTERVAL.
    """
    reach = (2 * p - 1) * error
    above = math.floor((users + reach) / 2) + 1
    with flint.ctx.workprec(128):
        single = 2 * binomial_upper(users, Fraction(1, 2), above)
        low = 1 - 1 / ((domain - 1) * single) if single > 0 else flint.arb(0)
        return Enclosure.of(low, flint.arb(1), rigour=Rigour.INTERVAL, source="Chebyshev over values").clamp(0.0, 1.0)


def hashtogram_error(m: Hashtogram, users: int, beta: Number) -> Enclosure:
    r"""The error that one query to the hashtogram exceeds with probability at most beta, for every data set.

    .. math:: t = s + \frac{8 \kappa N + \sqrt{8\,g\,N}\, c}{1 - \kappa}, \qquad N = n + s, \quad
              s = \tfrac13 g l + \sqrt{\tfrac19 g^2 l^2 + 2 g n l}, \quad l = \ln \frac{8 g}{\beta}

    with g groups, :math:`\kappa` the probability of a collision and c = 1/(2p - 1); it needs :math:`P[Bin(g, \frac14)
    \ge \frac g2] \le \frac\beta2`. By Bernstein every group's number of users, and of holders of x, is within s/g of
    its mean, but for probability beta/2. Given the groups, these are independent. In each, the others in x's cell are
    more than 8 times their mean with probability at most 1/8 (Markov), and the coins and columns deviate by more than
    the root with probability at most 1/8 (Chebyshev). So half of the groups fail with probability at most beta/2, and
    else the median is within t. Not tight; with cells near sqrt(n) it is :math:`O(\sqrt{n \log(1/\beta)}/\varepsilon)`.
    Source: Stemmer's talk, "Our results"; Bassily, Nissim, Stemmer, Thakurta 2017.

    Parameters
    ----------
    m : Hashtogram
        Its groups, columns and matrices are taken for independent and uniform ones.
    users : int
        n, at least 1.
    beta : number
        In (0, 1).

    Returns
    -------
    Enclosure
        In users; infinite where there are too few groups. INTERVAL.
    """
    share = Fraction(beta) / 2
    source = "Markov, Chebyshev and the median of groups"
    with flint.ctx.workprec(128):
        if not binomial_upper(m.groups, Fraction(1, 4), -(-m.groups // 2)) <= ball(share):
            return Enclosure(math.inf, math.inf, Rigour.INTERVAL, f"{m.groups} groups are too few for {source}")

    def bound() -> flint.arb:
        g, kappa, c = m.groups, ball(m.collision), 1 / ball(2 * m.p - 1)
        nats = ball(4 * g / share).log()
        s = g * nats / 3 + ((g * nats / 3) ** 2 + 2 * g * users * nats).sqrt()
        most = users + s
        return s + (8 * kappa * most + (8 * g * most).sqrt() * c) / (1 - kappa)

    return narrow(bound, source, Rigour.INTERVAL)


def printed(s: Setting) -> tuple[Printed, ...]:
    """The slides "LDP warm-up" and "Frequency oracle for large domains"."""
    return (*warm_up(s.epsilon, s.users), *large_domain(s.epsilon, s.users, s.domain))


def examples() -> tuple[Setting, ...]:
    """Few users and many, small epsilons and large."""
    return (
        Setting(Fraction(1, 10), 10_000, 1_000),
        Setting(Fraction(1, 4), 10**6, 1 << 20),
        Setting(Fraction(2, 5), 10_000, 1 << 20),
    )


def zipf(users: int, domain: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Values of which number i is held about in proportion to 1/(i + 1)."""
    return np.minimum(np.exp(rng.random(users) * math.log(domain + 1)).astype(np.int64) - 1, domain - 1)


_ASKED, _OFTEN = 1_000, 0.01
"""Values whose errors are looked at, where there are more; and how "with high probability" is read."""


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """The slides' error over all values, with the talk's coin; over the first thousand, where there are more."""
    if s.domain > 1 << 16:
        return ()
    alpha = math.sqrt(s.users * math.log(s.domain)) / float(s.epsilon)

    def error(data: NDArray[np.int64], found: NDArray[np.float64]) -> float:
        return float(np.abs(found - np.bincount(data, minlength=s.domain))[:_ASKED].max())

    sentence = f"sqrt(n ln|X|)/epsilon over {s.domain} values, n = {s.users}, Zipf; in users"
    return (
        Accuracy("STEMMER, large domains", sentence, alpha, _OFTEN, lambda rng: zipf(s.users, s.domain, rng), error),
    )


def hashtogram_printed(m: Hashtogram) -> tuple[Printed, ...]:
    """The slide "Our results" for the optimized oracle, its epsilon read as the coin's bias; its constants as 1."""
    eta, beta = m.p - Fraction(1, 2), Fraction(1, 20)
    claimed = math.sqrt(m.users * math.log(1 / beta)) / float(eta)
    return (
        Printed("STEMMER, hashtogram", "truth with probability 1/2 + epsilon is epsilon-LDP", float(eta),
                account(m).epsilon(0), (_FORGOTTEN,)),
        Printed("STEMMER, hashtogram", "a query's error at beta = 1/20 is at most sqrt(n ln(1/beta))/epsilon", claimed,
                hashtogram_error(m, m.users, beta), (Hypothesis("the constant is 1 (none is printed)", False),),
                attained=False),
    )  # fmt: skip


def hashtogram_examples() -> tuple[Hashtogram, ...]:
    """The talk's epsilon 1/10, 1/4 and 2/5."""
    return tuple(
        replace(Hashtogram.for_epsilon(1, users, domain=1 << 20), p=Fraction(1, 2) + bias)
        for bias, users in ((Fraction(1, 10), 10_000), (Fraction(1, 4), 10**6), (Fraction(2, 5), 10**5))
    )


def hashtogram_accuracy(m: Hashtogram) -> tuple[Accuracy, ...]:
    """The same error, of queries for one value; Zipf data."""
    beta = Fraction(1, 20)
    alpha = math.sqrt(m.users * math.log(1 / beta)) / float(m.p - Fraction(1, 2))

    def error(data: NDArray[np.int64], table: NDArray[np.float64]) -> float:
        return float(abs(m.query(table, np.array([3]))[0] - np.count_nonzero(data == 3)))

    sentence = f"sqrt(n ln(1/beta))/epsilon for one query, n = {m.users}, Zipf; in users"
    return (
        Accuracy("STEMMER, hashtogram", sentence, alpha, float(beta), lambda rng: zipf(m.users, m.domain, rng), error),
    )
