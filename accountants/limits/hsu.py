r"""How well one of two values can be counted under local privacy: Hsu, Khanna, Roth 2012, Theorem 3.3, with numbers.

Theorem 3.3 says that for epsilon <= 1/2 and delta bounded away from 1, some :math:`\alpha = \Omega(\sqrt n)` and
:math:`\beta = \Omega(1)` exist for which no :math:`(\varepsilon, \delta)`-local mechanism is :math:`(\alpha,
\beta)`-accurate for heavy hitters. What follows holds for every epsilon, n and alpha, for sequentially interactive
mechanisms, and does without two steps of the paper's proof: that an :math:`(\varepsilon, \delta)` guarantee bounds the
posterior odds by :math:`e^\varepsilon` with probability 1 - delta (it does not), and that the frequency can be found by
asking for the heavy hitter again and again, each time with other dummy users (each question spends privacy budget).

All bounds come from one fact: every such mechanism on one bit post-processes a channel that reveals the bit with
probability delta, and otherwise reports it by randomized response with :math:`p = e^\varepsilon / (1 + e^\varepsilon)`
(Kairouz, Oh, Viswanath 2015); so the reports of n users reveal at most what n such channels reveal. Below, q = 1 - p, and
an answer is accurate where the value that it names has at least as many holders as the other one, minus alpha.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TypeAlias

import flint

from ldpaudit.accountants.limits.posterior import best_windows, best_windows_of_many, response, risks
from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import halved
from ldpaudit.core.number import brief
from ldpaudit.core.working_precision import working_bits, working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.profile import Number

SHEVTSOVA = Fraction(56, 100)
"""The constant of the Berry-Esseen theorem for summands of different laws (Shevtsova 2010)."""
_ENUMERATED = 1500
"""Most users for whom `frequency_failure` enumerates, quadratic work."""
_FEW = 64
"""The same for each number of revealed bits."""
_PER_DEVIATION = 3
"""Ranges of numbers of revealed bits per standard deviation; with 6 the enclosure at n = 1e4, delta = 0.1 is half as wide."""
_RANGES = range(-8 * _PER_DEVIATION, 8 * _PER_DEVIATION + 1)
"""Ends of these ranges; numbers of revealed bits beyond are one range each."""
_REVEALED = 5
"""Roots of their number by which the ones among revealed bits may differ from half of them: ten standard deviations; what is
left out only lowers the bound."""

Failure: TypeAlias = Callable[[int], flint.arb]
"""Number of users to a failure probability."""
_SUMMED = 1 << 20
"""Most users over whom heavy hitters' risks are summed, some seconds."""
_MOST_USERS = 1 << 100
"""Most users of any calculator; a bound of le_cam_failure for as many takes two seconds."""
LARGEST_EPSILON = 10_000
"""Nats: of a larger epsilon the lie's probability is below the inverse of the ratio of any two positive floats."""
_BITS = 128
"""Bits of comparisons, which are certified because balls are compared, and of the search for a bias, which need not be."""


def heavy_hitter_failure(users: int, error: Number, epsilon: Number, delta: Number = 0) -> Enclosure:
    r"""Failure probability that every heavy-hitter algorithm has on some data set: the exact Bayes risk of a uniform prior.

    .. math:: \beta(\alpha) = \sum_s \min\bigl(P[2 n_1 - n > \alpha,\, S = s],\; P[n - 2 n_1 > \alpha,\, S = s]\bigr)

    where the number of ones is :math:`n_1 \sim Bin(n, 1/2)` and that of reported ones is :math:`S \sim Bin(n_1, p) +
    Bin(n - n_1, q)`: the Bayes risk, which is attained under the prior.
    The left minimum is the first one for s <= n/2, by monotone likelihood ratios. For delta > 0 at most that, and for
    every r at least

    .. math:: P[Bin(n, \delta) \le r]\; E\,\beta_{n-r}\bigl(\alpha + |2 Bin(r, \tfrac12) - r|\bigr)

    because r bits or fewer are revealed, and telling r of them makes it easier; of none, and of two standard deviations
    more than usual, the better is taken. Source: Hsu, Khanna, Roth 2012, Theorem 3.3, for Omega(1) at alpha = Omega(sqrt n).

    ``users``: n, at least 1, and time and memory are linear in it, a second at 10**5; ``error``: alpha, at least 0, in users;
    ``epsilon``: in nats, at least 0; ``delta``: in [0, 1). Returns beta(alpha), a probability. EXACT for delta = 0, else
    INTERVAL.
    """
    _require(users, error, epsilon, delta)
    _require_few("heavy_hitter_failure", users)
    last = _last(users, error)
    if last < 0:
        return Enclosure(0.0, 0.0, Rigour.EXACT, "no data set is that unequal")
    source = "Bayes risk of a uniform prior"
    most = narrow(lambda: risks(users, Fraction(epsilon), last)[last], source)
    if delta == 0:
        return most
    usual = math.ceil(users * delta + 2 * math.sqrt(users * delta * (1 - delta)))
    told = partial(_told, users, Fraction(error), Fraction(epsilon), Fraction(delta))
    found = [narrow(partial(told, r), source, Rigour.INTERVAL, _BITS, most=_BITS) for r in {0, usual} if r < users]
    return Enclosure(max(0.0, *(each.low for each in found)), most.high, Rigour.INTERVAL, source)


def _told(n: int, error: Fraction, epsilon: Fraction, delta: Fraction, r: int) -> flint.arb:
    """Lower bound of the failure probability where r bits are told, and fewer may have been revealed."""
    left, total = n - r, flint.arb(0)
    table = risks(left, epsilon, max(0, _last(left, error)))
    half, spread = r // 2, int(_REVEALED * math.sqrt(r)) + 1
    chance = binomial_pmf(r, Fraction(1, 2), half)
    for ones in range(half, min(r, half + spread) + 1):
        last = _last(left, error + abs(2 * ones - r))
        if last >= 0:
            # As many zeros as ones of another case count the same; a half has no other case.
            total += chance * table[last] * (1 if 2 * ones == r else 2 if 2 * ones > r else 0)
        chance = chance * (r - ones) / (ones + 1)
    return binomial_lower(n, delta, r) * total


def heavy_hitter_error(users: int, beta: Number, epsilon: Number, delta: Number = 0) -> int:
    r"""The alpha that every mechanism accurate with probability 1 - beta must allow, by `heavy_hitter_failure`.

    The largest integer :math:`\alpha_0` that is certified to have :math:`\beta(\alpha) > \beta` for all :math:`\alpha <
    \alpha_0`; 0 where there is none.

    ``beta``: in [0, 1); others as for `heavy_hitter_failure`. Returns in users.
    """
    _require(users, 0, epsilon, delta)
    _require_few("heavy_hitter_error", users)
    if not 0 <= beta < 1:
        raise ValueError(f"heavy_hitter_error needs 0 <= beta < 1, got {beta}")
    if delta:
        return halved(lambda error: not heavy_hitter_failure(users, error, epsilon, delta).low > beta, 0, users)
    with working_precision(_BITS):
        for least, risk in enumerate(risks(users, Fraction(epsilon), _last(users, 0))):
            if risk > ball(Fraction(beta)):
                return users - 2 * least
    return 0


def _last(users: int, error: Number) -> int:
    """The largest number of ones with ``n - 2 n1 > alpha``."""
    return math.ceil((users - Fraction(error)) / 2) - 1


def frequency_failure(users: int, error: Number, epsilon: Number, delta: Number = 0) -> Enclosure:
    r"""Failure probability that every estimate of the number of ones has on some data set: Bayes risk of a uniform prior.

    .. math:: \beta(\alpha) = 1 - \sum_s P[S = s] \max_w P[n_1 \in w \mid S = s], \qquad
              n_1 \mid S = s \;\sim\; Bin(s, p) + Bin(n-s, q)

    over windows w of floor(2 alpha) + 1 integers: an estimate may lie halfway between two. For delta > 0, the average of
    :math:`\beta` of n - R users over the number :math:`R \sim Bin(n, \delta)` of revealed bits, which an estimate adds. Source: as
    for `heavy_hitter_failure`.

    ``users``: n; up to 1500 users are enumerated, in quadratic time; beyond, the bound is known to about 1/n (`posterior`);
    others as for `heavy_hitter_failure`. Returns beta(alpha), a probability. EXACT for delta = 0 and up to 1500 users, else
    INTERVAL.
    """
    _require(users, error, epsilon, delta)
    window, source = math.floor(2 * Fraction(error)) + 1, "Bayes risk of a uniform prior"
    alone = partial(_missed_window, window, Fraction(epsilon), _ENUMERATED)
    if delta:
        few = partial(_missed_window, window, Fraction(epsilon), _FEW)
        found = narrow(lambda: _unrevealed(alone, few, users, Fraction(delta)), source, Rigour.INTERVAL, _BITS, most=_BITS)
    elif users > _ENUMERATED:
        found = narrow(lambda: alone(users), source, Rigour.INTERVAL, _BITS, most=_BITS)
    else:
        found = narrow(lambda: alone(users), source)
    return found.clamp(0.0, 1.0)


def _missed_window(window: int, epsilon: Fraction, enumerated: int, users: int) -> flint.arb:
    """The failure probability where no bit is revealed; it grows with the number of users."""
    if users <= enumerated:
        return 1 - best_windows(users, epsilon, window)
    return 1 - best_windows_of_many(users, *response(epsilon), window)


def _unrevealed(alone: Failure, few: Failure, users: int, delta: Fraction) -> flint.arb:
    """Average over the number of revealed bits: none, by the first function, and ranges of more, each by its ends."""
    spread = math.sqrt(users * delta * (1 - delta))
    ends = {min(max(1, math.ceil(users * delta + x * spread / _PER_DEVIATION)), users + 1) for x in _RANGES}
    total = ball(1 - delta) ** users * alone(users)
    for start, end in pairwise(sorted({1, *ends, users + 1})):
        mass = binomial_upper(users, delta, start) - binomial_upper(users, delta, end)
        total += mass * between(few(users - end + 1), few(users - start))
    return total


def berry_esseen_failure(users: int, error: Number, epsilon: Number, delta: Number = 0) -> Enclosure:
    r"""Failure probability that every estimate of the number of ones has, in closed form.

    .. math:: \beta \ge 1 - P[R > r] - \Bigl(2 \Phi\bigl(\tfrac{\alpha}{\sigma}\bigr) - 1\Bigr) - 2 C \psi, \qquad
              \sigma^2 = (n - r)\, p q, \quad \psi = \frac{p^2 + q^2}{\sigma}, \quad C = 0.56

    with :math:`R \sim Bin(n, \delta)` the number of revealed bits, for any r; the best of a few is taken. Given all
    reports, n_1 is a constant plus a sum of n - R independent indicators of probability p or q, and by
    Berry-Esseen no interval of length 2 alpha holds it with more than this. Source: Hsu, Khanna, Roth 2012, proof of
    Theorem 3.3; the constant is Shevtsova's (2010), admitted.

    Parameters as for `heavy_hitter_failure`; any number of users. Returns the bound; 0 where it says nothing. INTERVAL.
    """
    _require(users, error, epsilon, delta)
    revealed = {0} if delta == 0 else {math.ceil(users * delta + x * math.sqrt(users * delta)) for x in (2, 3, 4, 6, 10, 20)}
    nothing = Enclosure(0.0, 0.0, Rigour.INTERVAL, "Berry-Esseen says nothing")

    def normal(r: int) -> flint.arb:
        p, q = response(Fraction(epsilon))
        sigma = ((users - r) * p * q).sqrt()
        inside = (ball(Fraction(error)) / sigma / flint.arb(2).sqrt()).erf()
        return 1 - binomial_upper(users, Fraction(delta), r + 1) - inside - 2 * ball(SHEVTSOVA) * (p * p + q * q) / sigma

    bounds = [narrow(partial(normal, r), "Berry-Esseen", Rigour.INTERVAL) for r in revealed if r < users]
    return max(bounds, key=lambda e: e.low, default=nothing).clamp(0.0, 1.0)


def le_cam_failure(users: int, error: Number, epsilon: Number, delta: Number = 0) -> Enclosure:
    r"""Failure probability that every heavy-hitter algorithm has on some data set, by two biased priors.

    .. math:: \beta \ge \frac{1 - TV}{2} - P\Bigl[Bin\bigl(n, \tfrac12 + \eta\bigr) \le \frac{n+\alpha}2\Bigr],
              \qquad TV = TV\bigl(Bin(n, \tfrac12 + \eta t),\, Bin(n, \tfrac12 - \eta t)\bigr), \quad
              t = \tanh \frac\varepsilon2

    for every bias eta in (0, 1/2]; the best found is taken. An accurate algorithm distinguishes the two priors,
    except where the data themselves are too balanced. It captures the factor 1/epsilon that a uniform prior misses. For
    delta > 0 the channel's total variation is at most :math:`1 - (1-\delta)^n (1 - TV)`, and at most
    :math:`\sqrt{1 - BC^{2n}}` with :math:`BC = \delta \sqrt{1 - 4 \eta^2} + (1-\delta) \sqrt{1 - 4 \eta^2 t^2}`.
    Source: Le Cam 1973; not in the paper.

    Parameters as for `heavy_hitter_failure`; any number of users. Returns the bound at the best bias found; 0 where it says
    nothing. INTERVAL.
    """
    from scipy.optimize import minimize_scalar  # here: it takes a while to import

    _require(users, error, epsilon, delta)

    def at(eta: float) -> flint.arb:
        with working_precision(working_bits() + users.bit_length()):
            bias, revealed = Fraction(eta), ball(Fraction(delta))
            p, q = response(Fraction(epsilon))
            shift = ball(bias) * (p - q)
            ends = [binomial_upper(users, flint.arb(0.5) + sign * shift, users // 2 + 1) for sign in (1, -1)]
            distance = ends[0] - ends[1]
            if delta:
                hidden = ball(1 - Fraction(delta))
                affinity = revealed * (1 - 4 * ball(bias) ** 2).sqrt() + hidden * (1 - 4 * shift * shift).sqrt()
                distance = (1 - hidden**users * (1 - distance)).min((1 - affinity ** (2 * users)).sqrt())
            equal = binomial_lower(users, Fraction(1, 2) + bias, math.floor((users + Fraction(error)) / 2))
            value = (1 - distance) / 2 - equal
        return +value

    def loss(log_eta: float) -> float:
        with working_precision(_BITS):
            return -float(at(min(math.exp(log_eta), 0.5)))

    ends = (math.log(0.01 / math.sqrt(users)), math.log(0.5))
    grid = [ends[0] + (ends[1] - ends[0]) * i / 24 for i in range(25)]
    best = min(range(25), key=lambda i: loss(grid[i]))
    found = minimize_scalar(
        loss, bounds=(grid[max(best - 1, 0)], grid[min(best + 1, 24)]), method="bounded", options={"xatol": 1e-6}
    )
    eta = min(math.exp(min((grid[best], float(found.x)), key=loss)), 0.5)
    return narrow(lambda: at(eta), f"Le Cam, bias {eta:.6g}", Rigour.INTERVAL).clamp(0.0, 1.0)


def _require_few(name: str, users: int) -> None:
    if users > _SUMMED:
        others = "le_cam_failure and berry_esseen_failure answer for any number"
        raise Unsupported(name, f"it sums over up to {_SUMMED} users, not {brief(users)}; {others}")


def _require(users: int, error: Number, epsilon: Number, delta: Number) -> None:
    if not (1 <= users <= _MOST_USERS and error >= 0 and 0 <= epsilon <= LARGEST_EPSILON and 0 <= delta < 1):
        given = {"users": users, "error": error, "epsilon": epsilon, "delta": delta}
        found = ", ".join(f"{name}={brief(value)}" for name, value in given.items())
        raise ValueError(
            f"a limit needs 1 <= users <= 2**100, error >= 0, 0 <= epsilon <= {LARGEST_EPSILON} and 0 <= delta < 1, got {found}"
        )
