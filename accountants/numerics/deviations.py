r"""How far counts stray from their means: sums of independent centred coins, and the largest of several of them.

A centred coin Y is at most 1, so that :math:`E\, e^{sY} \le e^{Var(Y)\,(e^s - 1 - s)}` on either side (Bennett 1962); sums
of variance at most v inherit this. From it follow Bernstein's tail and a bound of the expected largest of several sums,
whatever their joint law. Where the sums are equal, independent binomial laws, both are computed exactly.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_pmf, binomial_upper
from ldpaudit.errors import Unsupported

_NATS = 120.0
"""What is left out of an expected largest deviation has about probability e**-120, below a float's last digit."""
_MOST_TERMS = 1 << 20  # deviations that are summed one by one; a law of variance 9e4 has 7,000, in 0.1 s
_CLOSE = 1e-3
"""Within this of 0, the first terms of a series serve for the best exponent; any exponent gives a valid bound."""


def bernstein(variance: flint.arb, nats: flint.arb) -> flint.arb:
    r"""Deviation that a sum of independent centred coins exceeds with probability at most ``e**-nats``, on one side.

    .. math:: t = \frac L3 + \sqrt{\frac{L^2}9 + 2 v L}

    Not tight. Source: Bernstein; solved for t from :math:`e^{-t^2 / (2v + 2t/3)} = e^{-L}`.
    """
    return nats / 3 + (nats * nats / 9 + 2 * variance * nats).sqrt()


def expected_largest(variance: Fraction, sums: int) -> flint.arb:
    r"""Upper bound of the expected largest absolute deviation among several sums of centred coins.

    .. math:: E \max_j |X_j| \le \min_{s > 0} \frac{\ln N + v (e^s - 1 - s)}{s} = \frac{\ln N - v}{W(z)} - v, \qquad
              N = 2 \cdot sums, \quad z = \frac{\ln N - v}{e\, v}

    with Lambert's function W, and the value :math:`v (e - 1)` at :math:`\ln N = v`. Any s gives a bound; the best one,
    :math:`1 + W(z)`, is looked up in floats. Not tight. Source: Boucheron, Lugosi, Massart 2013, section 2.5; GGKPV,
    Appendix A, which uses it for Poisson laws. Proof: Jensen's inequality for :math:`e^{s \max}`, then a sum for the maximum.

    ``variance`` is v, at least that of each of the sums, which may depend on each other.
    """
    if not (variance > 0 and sums >= 1):
        raise ValueError(f"an expected largest deviation needs variance > 0 and sums >= 1, got {variance} and {sums}")
    v, log = ball(variance), flint.arb(2 * sums).log()
    s = ball(Fraction(_best_exponent(float(variance), float(log))))
    return (log + v * (s.expm1() - s)) / s


def largest_of_one_and_others(one: Fraction, other: Fraction, others: int, nats: flint.arb) -> flint.arb:
    r"""Bound of the largest absolute deviation of one sum of centred coins and several others, except with probability e**-nats.

    .. math:: \min_{s > 0} \frac1s \Bigl(L + \ln 2\bigl(e^{u\,\phi(s)} + m\, e^{w\,\phi(s)}\bigr)\Bigr), \qquad
              \phi(s) = e^s - 1 - s

    At L = 0 a bound of the expected largest one. Any s gives a bound; the best one is looked up in floats. With both variances
    alike it is `expected_largest`. Source: as there; Markov's inequality for :math:`e^{s \max}` above L = 0, Jensen's at 0.

    ``one``, ``other``: u and w, variances of the one sum, and of each of the m others, or more; all may depend on each
    other.
    """
    s = ball(Fraction(_best_exponent_of_both(float(one), float(other), others, float(nats))))
    phi = s.expm1() - s
    return (nats + (2 * ((ball(one) * phi).exp() + others * (ball(other) * phi).exp())).log()) / s


def _best_exponent_of_both(one: float, other: float, others: int, nats: float) -> float:
    """About the s that minimizes the bound of `largest_of_one_and_others`."""
    from scipy.optimize import minimize_scalar

    ends = [_best_exponent(v, nats + math.log(2 + 2 * m)) for v, m in ((one, 0), (other, others))]

    def bound(log_s: float) -> float:
        s = math.exp(log_s)
        phi = math.expm1(s) - s
        terms = [one * phi, other * phi + math.log(others)] if others else [one * phi]
        most = max(terms)
        return (nats + math.log(2) + most + math.log(sum(math.exp(each - most) for each in terms))) / s

    found = minimize_scalar(bound, bounds=(math.log(min(ends) / 2), math.log(2 * max(ends))), method="bounded")
    return math.exp(float(found.x))


def _best_exponent(variance: float, log: float) -> float:
    """About the minimizer s of (log + variance (e**s - 1 - s))/s."""
    from scipy.special import lambertw  # here: it takes a while to import

    found = 1 + float(lambertw((log - variance) / (math.e * variance)).real)
    # Next to the branch point of W, s is small, and s**2 / 2 is what e**s - 1 - s is.
    return found if found > _CLOSE else math.sqrt(2 * log / variance)


def outside(trials: int, p: Fraction, reach: Fraction) -> flint.arb:
    """P[|Bin(trials, p) - trials p| > reach]."""
    mean = trials * p
    above, below = math.floor(mean + reach) + 1, math.ceil(mean - reach) - 1
    return binomial_upper(trials, p, above) + binomial_lower(trials, p, below)


def any_outside(trials: int, p: Fraction, reach: Fraction, sums: int) -> flint.arb:
    """Probability that any of several independent binomial laws is farther from its mean than `reach`."""
    return _any(outside(trials, p, reach), sums)


def _any(each: flint.arb, events: int) -> flint.arb:
    """Probability that any of several independent events of this probability happens."""
    if each < 0.5:
        return -(events * (-each).log1p()).expm1()
    # A power of a ball around 0 may be no number; of events that are nearly sure, any is at least as likely as one.
    return 1 - (1 - each) ** events if each < 1 else each.union(flint.arb(1))


def expected_largest_binomial(trials: int, p: Fraction, sums: int) -> flint.arb:
    r"""Exact expected largest deviation of independent, equal binomial laws from their mean.

    .. math:: E \max_{j \le B} |X_j - np| = \int_0^n 1 - P\bigl[|X - np| \le t\bigr]^B \, dt

    The integrand is constant between the distances of the integers from the mean. Beyond a distance T it is at most
    :math:`B\, P[|X - np| > T]`, which the enclosure contains.

    Raises Unsupported where more than 2**20 distances would be summed.
    """
    variance, nats = float(trials * p * (1 - p)), _NATS + math.log(sums)
    reach = nats / 3 + math.sqrt(nats * nats / 9 + 2 * variance * nats)
    if 2 * min(reach, trials) > _MOST_TERMS:
        raise Unsupported(f"a binomial law of variance {variance:.6g}", f"more than {_MOST_TERMS} deviations are not summed")
    steps = list(_distances(trials, p, Fraction(math.ceil(reach))))
    end, total = steps[-1][0], flint.arb(0)
    tail = outside(trials, p, end)
    left = (sums * tail).min(flint.arb(1)) * ball(max(trials - end, Fraction(0)))
    nearer = [Fraction(0), *(distance for distance, _ in steps)]
    for i, (distance, mass) in reversed(list(enumerate(steps))):
        tail += mass
        total += _any(tail, sums) * ball(distance - nearer[i])
    return total.union(total + left)


def _distances(trials: int, p: Fraction, reach: Fraction) -> Iterator[tuple[Fraction, flint.arb]]:
    """Distances of the counts from the mean up to `reach`, rising, with the mass at each."""
    mean, odds = trials * p, ball(p / (1 - p))
    up, down = math.floor(mean) + 1, math.floor(mean)
    above, below = binomial_pmf(trials, p, up), binomial_pmf(trials, p, down)
    while min(up - mean, mean - down) <= reach and (up <= trials or down >= 0):
        if up - mean < mean - down:
            yield up - mean, above
            above *= odds * (trials - up) / (up + 1)
            up += 1
        else:
            yield mean - down, below
            below *= down / (odds * (trials - down + 1))
            down -= 1
