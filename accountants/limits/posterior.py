"""Posterior of the number of ones among n users, given their randomized responses, under a uniform prior."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, count, islice

import flint

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.accountants.numerics.log_concave import log_binomial_coefficient
from ldpaudit.accountants.numerics.trinomial import reach
from ldpaudit.core.working_precision import working_bits, working_precision


def risks(n: int, epsilon: Fraction, last: int) -> list[flint.arb]:
    r"""The Bayes risk restricted to at most j ones, for every j up to `last`: a sum of positive terms.

    With h = floor(n/2), :math:`a_j = P[S > h \mid n_1 = j]` grows by (p - q) :math:`P[S' = h]`, where S' counts the
    reports of j ones and n - 1 - j zeros. By Bayes' rule that is :math:`f_j \binom{n-1}{h} / \binom{n-1}{j}`, with
    :math:`f_j = P[Bin(h, p) + Bin(n-1-h, q) = j]`, whose generating function gives a recursion in j.
    """
    p, q = response(epsilon)
    h = n // 2
    alike = _coefficient(n - 1, h)  # over the number of ways to choose j
    above, weight = binomial_upper(n, q, h + 1), flint.arb(2) ** -n
    tie = _coefficient(n, h) * weight if n % 2 == 0 else flint.arb(0)
    terms = []
    laws = zip(_sum_law(h, n - 1 - h, p, q), _sum_law(h, n - h, p, q), strict=False)
    for j, (f, g) in enumerate(islice(laws, last + 1)):
        # Ties, which only an even number of users has, cost the same under either decision.
        terms.append(2 * weight * above + tie * g)
        above += (p - q) * f * alike
        alike = alike * (j + 1) / (n - 1 - j)
        weight = weight * (n - j) / (j + 1)
    return list(accumulate(terms))


def _sum_law(ones: int, zeros: int, p: flint.arb, q: flint.arb) -> Iterator[flint.arb]:
    r"""P[Bin(ones, p) + Bin(zeros, q) = j] for j = 0, 1, ..., for about as many ones as zeros and j up to their mean.

    The generating function :math:`g(w) = (q + p w)^{ones} (p + q w)^{zeros}` obeys :math:`(q + pw)(p + qw) g' =
    (ones\,p^2 + zeros\,q^2 + pq (ones + zeros) w) g`: up to the mean a recursion of positive terms.
    """
    both, squares = p * q, p * p + q * q
    mean = ones * p * p + zeros * q * q
    now, before = q**ones * p**zeros, flint.arb(0)
    for j in count():
        yield now
        now, before = ((mean - squares * j) * now + both * (ones + zeros + 1 - j) * before) / (both * (j + 1)), now


def _coefficient(n: int, k: int) -> flint.arb:
    with working_precision(working_bits() + 2 * n.bit_length() + 16):
        value = log_binomial_coefficient(n, k).exp()
    return +value


def response(epsilon: Fraction) -> tuple[flint.arb, flint.arb]:
    """Probabilities of the truth and of the lie, in randomized response on a bit."""
    e = ball(epsilon)
    return 1 / (1 + (-e).exp()), 1 / (1 + e.exp())


def best_windows(n: int, epsilon: Fraction, window: int) -> flint.arb:
    """Probability that the most probable `window` consecutive numbers of ones hold the true one, given the reports."""
    p, q = response(epsilon)
    one, zero = flint.arb_poly([q, p]), flint.arb_poly([p, q])
    total, ways = flint.arb(0), flint.arb(2) ** -n
    for s in range(n // 2 + 1):
        law = one**s * zero ** (n - s)
        sums = [flint.arb(0), *accumulate(law[j] for j in range(n + 1))]
        best = flint.arb(0)
        for j in range(n + 1):
            best = best.max(sums[min(j + window, n + 1)] - sums[j])
        total += ways * best * (1 if 2 * s == n else 2)  # n - s reports are the mirror image
        ways = ways * (n - s) / (s + 1)
    return total


_NATS = 45
"""What is left out of a law is below e**-45: far below the 1/n that is not known anyway, up to 10**18 users."""
def best_windows_of_many(users: int, truth: flint.arb, lie: flint.arb, window: int) -> flint.arb:
    r"""Probability, averaged over reports, of the most probable `window` consecutive numbers of ones, for any number of users.

    Its cost does not grow with their number. Given s reports of 1 the number of ones is Bin(s, p) + Bin(n-s, q). Whatever s, its
    characteristic function has the modulus

    .. math:: |\varphi(t)| = (1 - 4pq \sin^2 \tfrac t2)^{n/2}

    and its phase is that of its mean plus :math:`(2s - n) A(t)`, with :math:`A(t) = \arg(q + p e^{it}) - p t`. So for every s the
    probability of a window of L integers is that of the window in the middle of the law for s = n/2, but for

    .. math:: \tfrac14 M_2 + |2s - n| M_A, \qquad M_2 = \frac{1}{2\pi} \int |\varphi(t)|\,|D(t)|\,t^2 dt, \quad
              M_A = \frac{1}{2\pi} \int |\varphi(t)|\,|D(t)|\,|A(t)|\, dt, \quad D(t) = \frac{\sin(L t/2)}{\sin(t/2)}

    because cosines of x and y differ by at most |x - y|, and the middle law's probability of a window, as a function of where it
    starts, differs between two integers by at most :math:`M_2/8` from a line. Both terms are about 1/n on average over s. One more
    user never makes it larger, so that of an odd number lies between those of its neighbours. Source: the inversion formula of
    lattice laws; not in the paper.
    """
    if users % 2:
        fewer, more = (best_windows_of_many(n, truth, lie, window) for n in (users - 1, users + 1))
        return between(more, fewer)
    with working_precision(working_bits() + users.bit_length()):
        variance = 4 * truth * lie
        middle = _middle(users, variance, window)
        apart = _curvature(users, variance) / 4 + flint.arb(users).sqrt() * _skewness(users, variance, truth - lie)
        found = middle + between(-apart, apart)
    return between(flint.arb(0).max(found.lower()), flint.arb(1).min(found.upper()))


def _middle(users: int, variance: flint.arb, window: int) -> flint.arb:
    r"""Probability of the middle window of :math:`Bin(n/2, p) + Bin(n/2, q)`, a sum over N points of its characteristic function.

    The window's copies at distances N are left out of the law but for e**-45.
    """
    side = variance / 4
    far = reach(users // 2, (side, 1 - 2 * side, side), _NATS)
    if window > 2 * far:
        return between(1 - (-flint.arb(_NATS)).exp(), flint.arb(1))
    points = window + 2 * far + 1
    shift = (window + 1) % 2
    total, k, turn = flint.arb(window), 1, flint.arb.pi() / points
    while 2 * k <= points:
        angle = turn * k  # half of t
        sine = angle.sin()
        modulus = (1 - variance * sine * sine) ** (users // 2)
        each = modulus * (window * angle).sin() / sine * (angle * shift).cos()
        total += each if 2 * k == points else 2 * each
        # On [0, pi] the modulus falls, and the other factors are at most 1 and 1 / sine.
        if modulus < sine * (-flint.arb(_NATS)).exp() / points:
            rest = modulus / sine * (points - 2 * k)
            total += between(-rest, rest)
            break
        k += 1
    left_out = (-flint.arb(_NATS)).exp()
    return total / points + between(-left_out, left_out)


def _cut(users: int, variance: flint.arb) -> tuple[flint.arb, flint.arb, flint.arb]:
    """A point up to which sines are their arguments times the second number, and the modulus at this point, about e**-50 / n**2."""
    sigma = math.sqrt(users * float(variance)) / 2
    point = flint.arb(min(math.pi / 2, math.sqrt(100 + 4 * math.log(users)) / sigma if sigma else math.pi))
    sinc = (point / 2).sin() / (point / 2)
    return point, sinc, (1 - variance * (point / 2).sin() ** 2) ** (users // 2)


def _curvature(users: int, variance: flint.arb) -> flint.arb:
    r"""Upper bound of :math:`M_2`, with :math:`|D(t)| \le 1/\sin(t/2)` and :math:`|\varphi(t)| \le e^{-n v \sin^2(t/2)/2}`."""
    point, sinc, left = _cut(users, variance)
    rate = users * variance * sinc * sinc / 8
    return 1 / (flint.arb.pi() * sinc * rate) + left * flint.arb.pi() ** 2 / (point / 2).sin()


def _skewness(users: int, variance: flint.arb, apart: flint.arb) -> flint.arb:
    r"""Upper bound of :math:`M_A`, as :math:`|A(t)| \le \frac{pq(p-q)\,t^3/6}{1 - 4pq \sin^2(t/2)}`, and at most :math:`\pi`."""
    point, sinc, left = _cut(users, variance)
    rate = users * variance * sinc * sinc / 8
    least = 1 - variance * (point / 2).sin() ** 2
    # The integral of t**2 e**(-r t**2) over t > 0 is sqrt(pi) / (4 r**1.5).
    near = variance / 4 * apart / (6 * least) * 2 / (sinc * flint.arb.pi()) * flint.arb.pi().sqrt() / (4 * rate * rate.sqrt())
    return near + left * flint.arb.pi() / (point / 2).sin()
