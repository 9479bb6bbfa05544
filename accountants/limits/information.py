"""How much one private message tells, in bits, about which of B values its user holds."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import count

import flint

from ldpaudit.accountants.limits.local_view import LocalView, corners, curve_information, local_curve
from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.enclosure import round_up

_CELLS = 150
"""Intervals into which [0, 1] is cut for the largest information of a private message; with 600 it changes by less than 1e-6."""
_LISTED = 512
"""Up to this many values each number of likelier values is tried, which takes no longer."""


def as_printed(users: int, values: int, epsilon: Fraction, delta: Fraction, shuffled: int) -> flint.arb:
    r"""Upper bound :math:`\varepsilon_L \log_2 e`, or for delta > 0 :math:`1 + \varepsilon_L \log_2 e + 2 \delta \log_2 B`.

    With :math:`\varepsilon_L = \varepsilon` in the local model and :math:`\varepsilon + \ln n` in the single-message shuffled
    one: the ratio of a message's law given a value to its mean exceeds :math:`2 e^{\varepsilon_L}` with probability at most
    :math:`2 \delta`, and B never. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemma 3.8.
    """
    local = (ball(epsilon) + (flint.arb(users).log() if shuffled else 0)) / flint.arb(2).log()
    return (local if delta == 0 else 1 + local + 2 * ball(delta) * log2(values)).min(log2(values))


def sharpened(users: int, values: int, epsilon: Fraction, delta: Fraction, shuffled: int) -> flint.arb:
    """The least upper bound known here: for delta = 0 the largest information of any private message.

    A shuffled guarantee with delta = 0 is a local one with the same epsilon: all messages are in E, or they are not.
    """
    if delta == 0:
        return largest_of_private(values, epsilon, Fraction(1))
    curve = corners(LocalView(users, epsilon, delta)) if shuffled and users > 1 else _local(epsilon, delta)
    return curve_information(curve, Fraction(values)).min(as_printed(users, values, epsilon, delta, shuffled))


def _local(epsilon: Fraction, delta: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
    return local_curve(Fraction(round_up(ball(epsilon).exp())), delta)


def largest_of_private(values: int, epsilon: Fraction, weight: Fraction) -> flint.arb:
    r"""Largest information of an epsilon-LDP message about V, where its user holds V with probability w, else a uniform value.

    .. math:: \max_x\; x\, \varphi(w (e^\varepsilon r - 1)) + (1-x)\, \varphi(w (r - 1)), \qquad
              r = \frac{1}{1 + x (e^\varepsilon - 1)}, \quad \varphi(t) = (1+t) \log_2(1+t)

    over x = d/B, for which subset selection attains it, or where there are many values over all x in [0, 1]; and never above
    the bits of a value. Given a message, its likelihood ratios over values have mean 1 and lie within a factor
    :math:`e^\varepsilon`; the information is convex in them, so largest where each is one of two numbers at that factor. A share
    x of values has the larger one.
    Source: Kairouz, Oh, Viswanath 2014, for the two numbers; Ye, Barg 2018, for the mechanism.
    """
    if epsilon == 0:
        return flint.arb(0)
    nats, w = ball(epsilon), ball(weight)

    def told(place: flint.arb_series) -> flint.arb_series:
        least, most = (-nats * place).exp(), (nats * (1 - place)).exp()  # no quotient, so that any epsilon is enclosed
        x = ((nats * place).exp() - 1) / nats.expm1()
        return x * _gap_series(w * (most - 1)) + (1 - x) * _gap_series(w * (least - 1))

    found = largest_of_few(values, nats, w) if values <= _LISTED else largest_value(told)
    return (found / flint.arb(2).log()).min(log2(values))


def largest_of_few(values: int, nats: flint.arb, w: flint.arb) -> flint.arb:
    """The same maximum over x = d/B alone, in nats: all that are possible, one by one."""
    e, largest = nats.exp(), flint.arb(0)
    for d in range(1, values):
        x = ball(Fraction(d, values))
        least = 1 / (1 + x * (e - 1))
        more, less = (_gap(w * (ratio - 1)) for ratio in (e * least, least))
        largest = largest.max(x * more + (1 - x) * less)
    return largest


def _gap(t: flint.arb) -> flint.arb:
    r"""The function :math:`(1+t) \ln(1+t) - t`: a term linear in t cancels on average over values."""
    return (1 + t) * t.log1p() - t


def _gap_series(t: flint.arb_series) -> flint.arb_series:
    """The same function to first order, for a ball.

    By the mean value theorem, so that a ball of width h around 0 becomes one of width about :math:`h^2`.
    """
    middle, slope = t[0].mid(), t[0].log1p()
    value = _gap(middle) + slope * (t[0] - middle)
    return flint.arb_series([value, slope * t[1]], prec=2)


def largest_value(function: Callable[[flint.arb_series], flint.arb_series]) -> flint.arb:
    """Upper bound of a smooth function of [0, 1], by halving the interval on which its bound is largest.

    On each interval the bound is the value in the middle plus the largest slope times half the length.

    Parameters
    ----------
    function : callable
        Of a power series to first order; it is enclosed for balls.
    """
    order = count()

    def bounded(low: Fraction, high: Fraction) -> tuple[float, int, Fraction, Fraction]:
        middle, half = (low + high) / 2, ball((high - low) / 2)
        slope = function(flint.arb_series([between(ball(low), ball(high)), 1], prec=2))[1]
        value = function(flint.arb_series([ball(middle), 0], prec=2))[0] + abs(slope).upper() * half
        return -round_up(value), next(order), low, high

    cells = [bounded(Fraction(0), Fraction(1))]
    for _ in range(_CELLS):
        _, _, low, high = heapq.heappop(cells)
        middle = (low + high) / 2
        for ends in ((low, middle), (middle, high)):
            heapq.heappush(cells, bounded(*ends))
    most = -cells[0][0]
    return ball(Fraction(most)) if math.isfinite(most) else flint.arb.pos_inf()


def log2(value: int) -> flint.arb:
    """Logarithm to base 2 of a positive integer."""
    return flint.arb(value).log() / flint.arb(2).log()
