r"""The binomial law, certified: masses, tails, and the window that holds nearly all of the law.

A tail is the mass at its start times a factor (`log_concave`), by the quickest of three methods: the series of ratios;
where that needs too many terms, Gauss's continued fraction, whose convergents bracket the factor (`_fraction_factor`);
near the mode of a wide law, the incomplete beta integral (`beta_factor`), at a cost that does not grow with n.
"""

import math
from fractions import Fraction
from functools import lru_cache

import flint

from ldpaudit.accountants.numerics.balls import Probability, as_ball, between
from ldpaudit.accountants.numerics.log_concave import GUARD, cancelling_bits, expected_terms, series_factor
from ldpaudit.core.working_precision import working_bits, working_precision
from ldpaudit.errors import Unsupported

_SPARE_BITS = 16  # of the guard bits, those that the continued fraction may lose to rounding before it stops
_FRACTION_STEP = 5.0  # time of one level of the continued fraction, in terms of the series
_BEYOND_BITS = 16  # bits beyond the precision at which the window ends; what lies beyond is enclosed anyway
_NEAR = 0.03  # standard deviations per bit up to which the integral is the quicker method; 0.06 takes 1.8 times as long
_WIDE = 200  # least standard deviation for which the integral is used
_NARROW = 0.25  # largest relative step in p or 1 - p across the window, by which the polynomial's terms fall
_LARGEST_WINDOW = 1 << 22  # most masses of a window: one of 54 bits at p = 1/2 has this many at n = 2e11


def binomial_pmf(n: int, p: Probability, k: int, complement: Probability | None = None) -> flint.arb:
    r"""Probability that n coins show exactly k heads, :math:`\binom{n}{k} p^k (1-p)^{n-k}`; exactly 0 or 1 in
    degenerate laws.

    ``p`` lies in [0, 1]; ``complement`` is ``1 - p``, for a ball next to 1 whose complement is known better.
    """
    _require_coins(n, p)
    q = 1 - p if complement is None else complement
    if not 0 <= k <= n:
        return flint.arb(0)
    if p == 0 or q == 0:  # an inexact ball is equal to nothing
        return flint.arb(int(k == (n if q == 0 else 0)))
    exact = isinstance(p, Fraction) and isinstance(q, Fraction)
    bits, whole, one, zero = (_logs if exact else _logs.__wrapped__)(n, p, q, working_bits())
    with working_precision(bits):
        value = (whole - flint.arb(k + 1).lgamma() - flint.arb(n - k + 1).lgamma() + k * one + (n - k) * zero).exp()
    return +value


def binomial_upper(n: int, p: Probability, k: int, complement: Probability | None = None) -> flint.arb:
    """P[X >= k] for the number X of heads among n coins; parameters as for `binomial_pmf`."""
    _require_coins(n, p)
    q = 1 - p if complement is None else complement
    if k <= 0:
        return flint.arb(1)
    if k > n or p == 0:
        return flint.arb(0)
    if q == 0:
        return flint.arb(1)
    if _beyond(n, p, q, k) <= 0:  # below the mean: the complement is at most about a half, so no digits are lost
        return 1 - _beyond_the_mean(n, q, p, n - k + 1)
    return _beyond_the_mean(n, p, q, k)


def binomial_lower(n: int, p: Probability, k: int, complement: Probability | None = None) -> flint.arb:
    """P[X <= k] for the number X of heads among n coins; parameters as for `binomial_pmf`."""
    _require_coins(n, p)
    return binomial_upper(n, 1 - p if complement is None else complement, n - k, p)


def _require_coins(n: int, p: Probability) -> None:
    if n < 0:
        raise ValueError(f"a binomial law needs n >= 0, got n={n}")
    if p < 0 or p > 1:
        raise ValueError(f"a binomial law needs 0 <= p <= 1, got p={p} with n={n}")


@lru_cache(maxsize=64)
def _logs(n: int, p: Probability, q: Probability, bits: int) -> tuple[int, flint.arb, flint.arb, flint.arb]:
    """What all masses of a law share: the bits that they need, and the logarithms of n!, p and q."""
    bits += cancelling_bits(n, p, q)
    with working_precision(bits):
        return bits, flint.arb(n + 1).lgamma(), as_ball(p).log(), as_ball(q).log()


def _beyond(n: int, p: Probability, q: Probability, k: int) -> float:
    """About k - n p; counted from the end where p is nearly 1 and its float is 1."""
    common, rare = float(p), float(q)
    return k - n * common if common < rare else n * rare - (n - k)


def _beyond_the_mean(n: int, p: Probability, q: Probability, k: int) -> flint.arb:
    """P[X >= k] for k from about the mean on: n p is a float, and may be off by more than 1."""
    sigma = math.sqrt(max(0.0, n * float(p) * float(q)))
    near = near_the_mode(n * min(float(p), float(q)), sigma, _beyond(n, p, q, k))
    # Of a p next to 1 the continued fraction needs the digits of 1 - p.
    hidden = max(0, -math.frexp(float(q))[1] - GUARD)
    with working_precision(working_bits() + GUARD + hidden):
        factor = beta_factor(n, as_ball(p), as_ball(q), k, sigma) if near else _binomial_factor(n, p, q, k)
        value = binomial_pmf(n, p, k, q) * factor
    return +value


def _binomial_factor(n: int, p: Probability, q: Probability, k: int) -> flint.arb:
    """P[X >= k] / P[X = k] for 0 < k <= n, by the series or by the continued fraction, whichever is shorter."""
    sigma = math.sqrt(n * float(p) * float(q)) + 1
    distance = _beyond(n, p, q, k) / sigma
    # About the levels needed: the error falls like exp(-2 distance sqrt(2 levels)).
    levels = (working_bits() * math.log(2) / (2 * max(distance, 1e-9))) ** 2 / 2 + 4
    if levels * _FRACTION_STEP < expected_terms(sigma, distance):
        factor = _fraction_factor(n, p, q, k, levels)
        if factor is not None:
            return factor
    odds = as_ball(p) / as_ball(q)
    return series_factor(lambda j: odds * (n - j) / (j + 1), n - k, k)


def _fraction_factor(n: int, p: Probability, q: Probability, k: int, levels: float) -> flint.arb | None:
    r"""P[X >= k] / P[X = k] by Gauss's continued fraction; None where k is not certainly above the mode.

    .. math:: \frac{P[X \ge k]}{P[X = k]} = q F_0, \qquad F_i = \frac{1}{1 + d_{i+1} F_{i+1}}, \qquad
              d_{2m+1} = -\frac{(k+m)(n+1+m)\,p}{(k+2m)(k+2m+1)}, \quad
              d_{2m} = \frac{m\,(n-k+1-m)\,p}{(k+2m-1)(k+2m)}

    Source: DLMF 8.17.22 with a = k, b = n - k + 1; it ends at :math:`d_{2b} = 0`. For :math:`(n+1)p < k+1` every
    odd-numbered :math:`F` lies in (0, 1] and every even-numbered one is positive: d with an even number is not
    negative, and :math:`(n+1+m)p < k+1+m` gives :math:`|d_{2m+1}| < 1`. So :math:`F_{2m+1} \in [0, 1]` is an
    enclosure to start from, and as every map is monotone, the two ends of the interval lead to two ends of one.
    """
    probability = as_ball(p)
    if not (n + 1) * probability < k + 1:
        return None
    depth = int(levels) + 1
    while True:
        depth = min(depth, n - k)
        low, high = _convergents(n, probability, k, depth)
        factor = between(low, high)
        # Deeper levels narrow the distance of the two ends, not what rounding and a wide p have made of each.
        if factor.rel_accuracy_bits() >= min(high.rel_accuracy_bits(), working_bits() - _SPARE_BITS) - 1:
            return as_ball(q) * factor
        depth *= 2


def _convergents(n: int, p: flint.arb, k: int, depth: int) -> tuple[flint.arb, flint.arb]:
    """F_0, where ``F_(2 depth + 1)`` is 0, and where it is 1."""
    # At full depth it is exactly 1, because the next even-numbered d is 0.
    low, high = flint.arb(int(depth == n - k)), flint.arb(1)
    for m in range(depth, 0, -1):
        odd = p * ((k + m) * (n + 1 + m)) / ((k + 2 * m) * (k + 2 * m + 1))
        even = p * (m * (n - k + 1 - m)) / ((k + 2 * m - 1) * (k + 2 * m))
        low, high = 1 / (1 + even / (1 - odd * low)), 1 / (1 + even / (1 - odd * high))
    first = p * (n + 1) / (k + 1)
    return 1 / (1 - first * low), 1 / (1 - first * high)


def binomial_window(n: int, p: flint.arb, q: flint.arb, bits: int) -> tuple[list[flint.arb], int, flint.arb]:
    """The masses of a binomial law in a window around its mean, the window's first k, and the probability of all else,
    at 32 bits.

    The probability outside is about ``2**-bits``. Raises Unsupported where the window would hold more than 2**22
    masses.
    """
    center, sigma = int(n * float(p)), math.sqrt(n * float(p) * float(q))
    # Bernstein's tail exp(-t**2 / 2 (sigma**2 + t/3)), solved for t.
    nats = bits * math.log(2)
    reach = int(nats / 3 + math.sqrt(nats * nats / 9 + 2 * nats * sigma * sigma)) + 2
    low, high = max(0, center - reach), min(n, center + reach)
    if high - low >= _LARGEST_WINDOW:
        found = f"a window of at most {_LARGEST_WINDOW} masses is supported, and this law needs {high - low}"
        raise Unsupported(f"a group of {n} coins", found)
    odds = p / q
    above = [binomial_pmf(n, p, center, q)]
    for j in range(center, high):
        above.append(above[-1] * odds * (n - j) / (j + 1))
    below = above[:1]
    for j in range(center, low, -1):
        below.append(below[-1] * j / (odds * (n - j + 1)))
    with working_precision(32):
        outside = binomial_lower(n, p, low - 1, q) + binomial_upper(n, p, high + 1, q)
    return below[:0:-1] + above, low, outside


def near_the_mode(rarer: float, sigma: float, beyond: float) -> bool:
    """Whether `beta_factor` is the quicker method for a tail that starts `beyond` the mean, and its window lies within
    the law.

    `rarer` is the smaller of the mean numbers of heads and of tails.
    """
    near = sigma > _WIDE and abs(beyond) < _NEAR * working_bits() * sigma
    return near and _reach() * sigma < _NARROW * rarer


def _reach() -> float:
    """Standard deviations beyond which a normal density is negligible at this precision."""
    return math.sqrt(2 * math.log(2) * (working_bits() + 2 * _BEYOND_BITS)) + 1


def beta_factor(n: int, p: flint.arb, q: flint.arb, k: int, sigma: float) -> flint.arb:
    r"""P[X >= k] / P[X = k] for k above the mean, near the mode of a wide law, at a cost that does not grow with n.

    A tail is an incomplete beta integral. Around x = p, in units of the law's standard deviation over n, which is about
    `sigma` / n,

    .. math:: P[X \ge k] = \frac{k\,w}{p} P[X = k] \int_0^{p/w}
              \Bigl(1 - \frac{w u}{p}\Bigr)^{k-1} \Bigl(1 + \frac{w u}{1-p}\Bigr)^{n-k} du,
              \qquad w = \sqrt{p(1-p)/n}

    the integrand is :math:`e^{\varphi(u)}` with :math:`\varphi` concave, and nearly a normal density: :math:`\varphi`
    is enclosed by a polynomial of low degree plus an error ball, and Arb integrates its exponential rigorously.

    Source: DLMF 8.17.5 (a binomial tail is a regularized incomplete beta function).
    """
    reach, bits = flint.arb(_reach()), working_bits()
    with working_precision(bits + 2 * n.bit_length()):
        width = flint.arb(sigma / n)  # any width is valid, if it is the same number everywhere
        left, right = width / p, width / q
        coefficients, error = _exponent(n, k, left, right, reach)
    phi = flint.arb_poly([+c for c in coefficients])

    def integrand(u: flint.acb, _: bool) -> flint.acb:
        return phi(u).exp()

    tolerance = flint.arb(2) ** -bits
    near = flint.acb.integral(integrand, flint.acb(0), flint.acb(reach), rel_tol=tolerance, abs_tol=tolerance / 16).real
    near *= flint.arb(0, error).exp()
    # phi is concave, so beyond the window it lies below its tangent.
    slope = left * (k - 1) / (1 - left * reach) - right * (n - k) / (1 + right * reach)
    height = (k - 1) * (-left * reach).log1p() + (n - k) * (right * reach).log1p()
    far = height.exp() / slope if slope > 0 else flint.arb.pos_inf()
    return (near + between(0, far)) * left * k


def _exponent(n: int, k: int, left: flint.arb, right: flint.arb, reach: flint.arb) -> tuple[list[flint.arb], flint.arb]:
    """Taylor coefficients of phi, and a bound of the remainder for ``0 <= u <= reach``."""
    step = left.max(right) * reach
    coefficients, power = [flint.arb(0)], 1
    down, up = flint.arb(1), flint.arb(-1)
    while True:
        down, up = down * left, -up * right
        coefficients.append((up * (n - k) - down * (k - 1)) / power)
        power += 1
        # Both series' terms are at most step**j / j each, k - 1 and n - k times.
        rest = n * step**power / (power * (1 - step))
        if rest < flint.arb(2) ** -working_bits() or power > working_bits():
            return coefficients, rest.upper()


def clopper_pearson(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """The exact interval of a probability, from how often it came true; in floats."""
    from scipy.special import betaincinv  # here: it takes a while to import

    tail, failures = (1 - confidence) / 2, trials - successes
    low = betaincinv(successes, failures + 1, tail) if successes else 0.0
    high = betaincinv(successes + 1, failures, 1 - tail) if failures else 1.0
    return float(low), float(high)
