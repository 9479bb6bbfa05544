r"""What the messages of an accurate protocol can tell of a hidden value, and which errors that rules out.

The hard data hide one of B values, held by hardly more users than every other (`hard_prior`). An accurate protocol names it, so
by Fano's inequality its messages tell :math:`(1 - \beta - \tau) \log_2 B - 1` bits. But the same accuracy keeps them from
telling much: the law :math:`p_v` of a message given v and the law q given a uniform value share little mass, so that the
holders of v are few messages apart (`overlap`), and where a message is (epsilon', delta')-LDP, its likelihood ratio
:math:`r = p_v/q` is seldom large. With :math:`\eta = E_v[1 - TV(p_v, q)]` and :math:`G(s) = E_v P_{p_v}[r \ge s]`,

.. math:: G(s) \le \eta \Bigl(1 + \frac{e^{\varepsilon'}}{s}\Bigr) + \delta' \;(s \ge 1), \qquad
          G(2 e^{\varepsilon'}) \le 2 \delta'

and so a message of a user who holds the hidden value V with probability w tells of V at most, in nats,

.. math:: w^2 \bigl(2 + \eta e^{\varepsilon'} (2 + \ln 2 + \varepsilon') + 2 e^{\varepsilon'} \delta'\bigr)
          + 2 w \delta' \ln(1 + w B)

For the first, eta is the mean of :math:`q(r_u \ge 1) + p_u(r_u < 1)` over values u. Where r_u < 1, the guarantee bounds
:math:`p_v(r_v \ge s, r_u < 1)` by :math:`e^{\varepsilon'} p_u(r_v \ge s, r_u < 1) + \delta'`; the ratios r_v sum to B over v, so
by Markov's inequality the events' sum over v is at most :math:`B\, p_u(r_u < 1)/s`. Where :math:`r_u \ge 1` it is at most
:math:`q(r_u \ge 1)` on average. At :math:`s = 2 e^{\varepsilon'}` a guarantee against q itself gives :math:`G \le G/2 + \delta'`.
What a message tells uses :math:`(1+t) \ln(1+t) \le t + t^2`, and :math:`\le t + t \ln(1+t)` for t at or above 0, both from
:math:`\ln(1+t) \le t`.

Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemmas 3.12, 3.14 and 3.15, whose constants are not printed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import flint

from ldpaudit.accountants.limits.domain import Setting
from ldpaudit.accountants.limits.hard_prior import weight
from ldpaudit.accountants.limits.information import largest_of_private, log2
from ldpaudit.accountants.limits.local_view import LocalView, exp_local_epsilon
from ldpaudit.accountants.limits.overlap import largest_shared
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.search import first
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up

MISSED = Fraction(1, 20)
"""Probability, tau, with which the hidden value may fail to stand out; with 1/10 or 1/40 no error of the tests grows."""
_DELTAS = tuple(Fraction(1, 10**k) for k in range(2, 7))
"""The delta' that are tried beside the shuffled one."""
_BITS = 96

Told: TypeAlias = Callable[[Fraction, Fraction], flint.arb]
"""The hidden value's weight and an error to the most bits that one message of a protocol of that error tells."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A message is (ln ratio, delta)-LDP."""

    ratio: Fraction
    delta: Fraction


def told(s: Setting) -> Told:
    """What a message tells, by the sharpest bound; the guarantees are those of all n users, whoever of them is active."""
    if s.delta == 0:
        return lambda w, _: largest_of_private(s.values, s.epsilon, w)
    view = LocalView(s.users, s.epsilon, s.delta)
    known = [_plain(s)]
    if s.shuffled and s.users > 1:
        known = [Guarantee(exp_local_epsilon(view, d), d) for d in (s.delta, *_DELTAS) if d >= s.delta]
    return lambda w, eta: _least(s, known, w, eta)


def told_as_printed(s: Setting) -> Told:
    """What a message tells, by the bound with the printed guarantee."""
    return lambda w, eta: _least(s, [_plain(s)], w, eta)


def _plain(s: Setting) -> Guarantee:
    with working_precision(_BITS):
        return Guarantee(Fraction(round_up(ball(s.epsilon).exp() * (s.users if s.shuffled else 1))), s.delta)


def _least(s: Setting, known: list[Guarantee], w: Fraction, eta: Fraction) -> flint.arb:
    return min((_of_accurate(s.values, g, w, eta) for g in known), key=float)


def _of_accurate(values: int, g: Guarantee, w: Fraction, eta: Fraction) -> flint.arb:
    r"""The bound above, in bits, from the shared mass :math:`\eta' \ge 0`: :math:`\eta = \eta' + 1/B`."""
    seldom = eta + Fraction(1, values)
    ratio = ball(g.ratio)
    square = 2 + ball(seldom) * ratio * (2 + flint.arb(2).log() + ratio.log()) + 2 * ratio * ball(g.delta)
    nats = ball(w * w) * square + 2 * ball(w * g.delta) * ball(1 + w * values).log()
    return nats / flint.arb(2).log()


def largest(s: Setting, active: int, tells: Told, known: Fraction = Fraction(0)) -> Fraction:
    """The largest error that is ruled out where all users but the `active` ones hold a fixed value; else the one `known`."""
    start = int(2 * known) + 1
    if start > 2 * active:
        return known
    found = first(lambda doubled: not ruled_out(s, active, Fraction(doubled, 2), tells), start, start, 2 * active)
    return Fraction(found - 1, 2)


def ruled_out(s: Setting, active: int, error: Fraction, tells: Told) -> bool:
    """Whether no protocol errs by at most `error`, except with probability beta."""
    w = weight(active, s.values, error, MISSED)
    if w is None:
        return False
    with working_precision(_BITS):
        wanted = ball(1 - s.beta - MISSED) * log2(s.values) - 1
        if not wanted > 0:
            return False
        shared = largest_shared(active, error, s.beta) if s.delta else Fraction(1)  # a bound for delta = 0 does not need it
        return bool(wanted > active * tells(w, shared))
