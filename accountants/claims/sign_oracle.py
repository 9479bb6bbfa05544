r"""What Stemmer's talk prints of the sign oracle, as formulas, and what is found.

The talk's :math:`\varepsilon` is two things: the promise "epsilon-LDP", and the bias of the coin, which is "about 1/2 +
epsilon". Below, :math:`\eta` is the bias: p = 1/2 + eta.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, derived, largest_error, remembered, union, zipf_data
from ldpaudit.accountants.composition.theorems import advanced_grouposition
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.linear_codes.hadamard import transform
from ldpaudit.mechanisms.sign_oracle import SignOracle
from ldpaudit.neighbours import group
from ldpaudit.plan import Guarantee, Repeat
from ldpaudit.profile import Number, PrivacyProfile


@dataclass(frozen=True)
class Setting:
    """Parameters of the talk's oracles."""

    epsilon: Fraction  # in (0, 1/2)
    users: int  # n and |X|
    domain: int

    @property
    def mechanism(self) -> SignOracle:
        """The oracle with the talk's coin."""
        return SignOracle.with_bias(self.epsilon, self.users, self.domain)


ABOUT = "the talk writes 'about 1/2 + epsilon'; here it is 1/2 + epsilon exactly"
RARE = Fraction(1, 10**6)  # the delta at which the reports of several users are compared
NO_CONSTANT = "the talk prints no constant; here it is 1, and 'rarely' is 0.01"
_OFTEN = 0.01  # how "rarely" and "with high probability" are read


def failure(m: SignOracle, users: int, error: Number) -> Enclosure:
    r"""Upper bound of the probability that one query to the sign oracle is wrong by more than t users.

    .. math:: P\bigl[|\hat f(x) - f(x)| > t\bigr] \le 2 \exp\Bigl(-\frac{2 \eta^2 (1+\mu)^2 t^2}{n}\Bigr),
              \qquad \mu = \frac{1}{2^{bits} - 1}

    Hoeffding's inequality: over the public matrix and the coins the n terms :math:`y_i Z[x, i]` are independent and +1
    or -1, for every x and every data set. A union bound over values multiplies it by their number. Not tight. Source:
    Stemmer's talk, "Hoeffding bound", which leaves out constants; Hoeffding 1963.

    ``m``: its columns are taken for independent and uniform ones; ``users``: n, at least 1; ``error``: t, at least 0,
    in users. Returns a probability. INTERVAL.
    """
    mu, eta = -m.agreement, m.p - Fraction(1, 2)
    exponent = 2 * (eta * (1 + mu) * Fraction(error)) ** 2 / users
    return narrow(lambda: 2 * (-ball(exponent)).exp(), "Hoeffding", Rigour.INTERVAL).clamp(0.0, 1.0)


def error_of(m: SignOracle, users: int, beta: Number, values: int = 1) -> Enclosure:
    r"""The error t that any of `values` queries exceeds with probability at most beta; see `failure`.

    .. math:: t = \frac{1}{\eta (1+\mu)} \sqrt{\tfrac n2 \ln \tfrac{2 |X|}{\beta}}

    ``m``, ``users``: as for `failure`; ``beta``: in (0, 1); ``values``: size of X, at least 1. Returns in users.
    INTERVAL.
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
    said, where = "the error exceeds sqrt(n)/epsilon rarely", "STEMMER, warm-up"
    return (
        *_private(where, eta, talk, private),
        Printed(where, f"with it, {said}", _OFTEN, failure(talk, users, error), attained=False, variant=NO_CONSTANT),
        Printed(where, f"epsilon-LDP, and {said}", _OFTEN, all_ones(private.p, users, error), variant=NO_CONSTANT),
    )


def large_domain(epsilon: Number, users: int, domain: int) -> tuple[Printed, ...]:
    """The slide "Frequency oracle for large domains": error sqrt(n ln|X|)/epsilon over all of X, with both epsilons."""
    eta, where = Fraction(epsilon), "STEMMER, large domains"
    talk, private = SignOracle.with_bias(eta, users, domain), SignOracle.for_epsilon(eta, users, domain)
    error = Fraction(math.sqrt(users * math.log(domain))) / eta
    every = union(failure(talk, users, error), domain, "Hoeffding, for each value")
    some = some_error(private.p, users, domain, error)
    return (
        *_private(where, eta, talk, private),
        Printed(where, "with it, some error exceeds sqrt(n ln|X|)/epsilon rarely", _OFTEN, every, attained=False,
                variant=NO_CONSTANT),
        Printed(where, "epsilon-LDP, and some error exceeds that rarely", _OFTEN, some, variant=NO_CONSTANT),
    )  # fmt: skip


def _private(where: str, epsilon: Fraction, talk: SignOracle, private: SignOracle) -> tuple[Printed, Printed]:
    """What the talk says of its coin; and of randomized response, with the probability for which it is true."""
    reading = f"'about 1/2 + epsilon' is e^epsilon/(1 + e^epsilon), which is 1/2 + epsilon/4 to first order: {float(private.p):.4g}"
    said, claimed = "truth with that probability is epsilon-LDP", float(epsilon)
    return (
        Printed(where, "truth with probability 1/2 + epsilon is epsilon-LDP", claimed, account(talk).epsilon(0), variant=ABOUT),
        Printed(where, said, claimed, account(private).epsilon(0), reading=reading),
    )


def some_error(p: Fraction, users: int, domain: int, error: Fraction) -> Enclosure:
    r"""Lower bound of the probability that one of the |X| - 1 values that nobody holds is estimated above t.

    .. math:: P \ge 1 - \frac{1}{(|X| - 1)\, P_1}, \qquad P_1 = P\bigl[|2\,Bin(n, \tfrac12) - n| > (2p-1)\, t\bigr]

    For a uniform matrix, as the slide has it: whatever the reports are, the rows of such values are independent of
    them and of each other, so that Chebyshev's inequality bounds the probability that none exceeds t. All users hold
    the same value.

    Returns from that bound to 1. INTERVAL.
    """
    reach = (2 * p - 1) * error
    above = math.floor((users + reach) / 2) + 1
    with working_precision(128):
        single = 2 * binomial_upper(users, Fraction(1, 2), above)
        low = 1 - 1 / ((domain - 1) * single) if single > 0 else flint.arb(0)
        return Enclosure.of(low, flint.arb(1), rigour=Rigour.INTERVAL, source="Chebyshev over values").clamp(0.0, 1.0)


def averages(bits: int) -> tuple[Fraction, ...]:
    r"""Average of :math:`(-1)^{\langle r, d \rangle}` over all vectors r but 0, for every d below 2**bits: exact.

    The average product of two values' signs, d being their bitwise sum; by a transform of the vectors' indicator, whose
    sums are integers below 2**53.
    """
    vectors = np.ones(1 << bits)
    vectors[0] = 0.0
    sums = transform(vectors)
    return tuple(Fraction(int(each), (1 << bits) - 1) for each in dict.fromkeys(sums.tolist()))


def largest_bias(m: SignOracle) -> Enclosure:
    r"""Largest distance of an estimate's expectation from the count, for one user; those of n users add up.

    .. math:: \max_d \Bigl| \frac{\mu + E(-1)^{\langle r, d\rangle}}{1+\mu} - 1[d = 0] \Bigr|

    Over the coins a report's product with a sign is, on average, 2p - 1 times the signs' product, and the estimate
    divides by 2p - 1. Whichever value the user holds and whichever is asked, d is their bitwise sum. Exact.
    """
    mu, (same, *others) = -m.agreement, averages(m.bits)
    off = [abs((mu + same) / (1 + mu) - 1), *(abs((mu + each) / (1 + mu)) for each in others)]
    return Enclosure.of(max(off), source="all vectors, by a Hadamard transform")


def report_bits(m: Mechanism) -> Enclosure:
    """Bits of a report, whose user is public."""
    answers = sum(1 for _ in m.law(0).items())
    return Enclosure.of((answers - 1).bit_length(), source=f"a report has {answers} values")


def grouposition(epsilon: Number, changed: int, delta: Number) -> tuple[Printed, Printed]:
    r"""Where k users change, the reports are :math:`(k\varepsilon^2/2 + \varepsilon\sqrt{2k\ln(1/\delta)}, \delta)`-close.

    What is found is, of the worst epsilon-LDP reports, delta at that epsilon, and epsilon at that delta. Source: Bun, Nelson,
    Stemmer 2018, from memory; the talk does not print it.
    """
    e, where = Fraction(epsilon), "STEMMER, advanced grouposition"
    together = advanced_grouposition(changed, e, delta).high
    reports = f"where {changed} users change, {float(e):g}-LDP reports"

    def worst(value: Callable[[PrivacyProfile], Enclosure]) -> Enclosure:
        """Of the worst reports: at most what the guarantee allows, and at least binary randomized response's."""
        attained = value(account(KaryRandomizedResponse.for_epsilon(e, 2), group(changed)))
        most = value(account(Repeat(Guarantee(e), changed)))
        return Enclosure.met(attained.low, most.high, Rigour.INTERVAL, f"{changed} randomized responses")

    beyond, least = worst(lambda profile: profile.delta(Fraction(together))), worst(lambda profile: profile.epsilon(delta))
    return (
        remembered(where, f"delta at epsilon={together:.4g} {reports}", float(delta), beyond),
        remembered(where, f"epsilon at delta={float(delta):g} {reports}", together, least),
    )


def printed(s: Setting) -> tuple[Printed, ...]:
    """The slides "LDP warm-up" and "Frequency oracle for large domains", and what holds of several users' reports."""
    coin = "the coin of the estimate is 1/2 + epsilon, not the one that is epsilon-LDP"
    columns = "the columns of 'Optimizations', whose mean the estimate takes off"

    def report(where: str, m: SignOracle) -> tuple[Printed, Printed]:
        """The expectation that the slide computes, and its message: one sign."""
        reading = f"{columns}; {coin}" if m.bits > 1 else coin
        return (
            Printed(where, "largest bias of an estimate, in users per user", 0.0, largest_bias(m), reading=reading),
            derived(where, "bits that a user sends", 1.0, report_bits(m)),
        )

    return (
        *warm_up(s.epsilon, s.users),
        *report("STEMMER, warm-up", SignOracle.warm_up(s.epsilon, s.users)),
        *large_domain(s.epsilon, s.users, s.domain),
        *report("STEMMER, large domains", s.mechanism),
        *(row for k in (1, 100) for row in grouposition(s.epsilon, k, RARE)),
    )


EXAMPLES = (
    Setting(Fraction(1, 10), 10_000, 1_000),
    Setting(Fraction(1, 4), 10**6, 1 << 20),
    Setting(Fraction(2, 5), 10_000, 1 << 20),
)
"""Few users and many, small epsilons and large."""


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """The slides' error over all values, with the talk's coin; over the first thousand, where there are more."""
    if s.domain > 1 << 16:
        return ()
    alpha = math.sqrt(s.users * math.log(s.domain)) / float(s.epsilon)
    sentence = f"sqrt(n ln|X|)/epsilon over {s.domain} values, n = {s.users}, Zipf; in users"
    data, error = zipf_data(s.users, s.domain), largest_error(s.domain, 1_000)
    return (Accuracy("STEMMER, large domains", sentence, alpha, _OFTEN, data, error),)
