"""Posterior of the number of ones among n users, given their randomized responses, under a uniform prior."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, count, islice

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.accountants.numerics.log_concave import log_binomial_coefficient
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
