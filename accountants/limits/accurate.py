r"""How much the messages of an accurate protocol reveal about a hidden value, and which errors that rules out.

The hard data hide one of B values, held by hardly more users than every other (`weight`). An accurate protocol names it, so
by Fano's inequality its messages tell :math:`(1 - \beta - \tau) \log_2 B - 1` bits. But the same accuracy keeps them from
telling much: the law :math:`p_v` of a message given v and the law q given a uniform value share little mass, so that the
holders of v are few messages apart (`largest_shared`), and where a message is (epsilon', delta')-LDP, its likelihood ratio
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

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import flint
import numpy as np

from ldpaudit.accountants.limits.domain import Setting
from ldpaudit.accountants.limits.information import LocalView, exp_local_epsilon, largest_of_private
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.search import bisect, first, halved
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up
from ldpaudit.mechanisms.shared.parameters import log2

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


_TAIL_BITS = 80
"""Precision at which a tail is compared; what is not decided counts as too likely."""
_WEIGHT_NUDGES = 6
"""Steps, of a relative 1e-8 first and ten times as long each, from the float estimate of the weight upward."""


def weight(users: int, values: int, error: Fraction, missed: Fraction) -> Fraction | None:
    r"""A weight w next to the least one at which V stands out by more than 2E, except with probability `missed`.

    .. math:: (B-1) P[Bin(n, (1-w)/B) > m] \le \tau/2, \qquad P[Bin(n, w + (1-w)/B) \le m + 2E] \le \tau/2

    for some m, which is the least that the first condition allows. Each user holds V with probability w, else a uniform one of B
    values. Where V's holders exceed those of every other value by more than 2E, estimates that are all within E users name V.

    None where not even w = 1 suffices.
    """
    more = math.floor(2 * error)
    if more >= users:
        return None
    found = bisect(lambda w: _overtaken(users, values, more, float(missed), w), 0.0, 1.0)
    for step in range(_WEIGHT_NUDGES):
        w = min(Fraction(1), Fraction(found * (1 + 10.0 ** (step - 8))).limit_denominator(1 << 60))
        if _stands_out(users, values, more, missed, w):
            return w
    return None


def _stands_out(users: int, values: int, more: int, missed: Fraction, w: Fraction) -> bool:
    other = (1 - w) / values
    most = _most_held(users, values, float(missed), float(w))
    with working_precision(_TAIL_BITS):
        half = ball(missed / 2)
        held = bool((values - 1) * binomial_upper(users, other, most + 1) <= half)
        return held and bool(binomial_lower(users, w + other, most + more) <= half)


def _overtaken(users: int, values: int, more: int, missed: float, w: float) -> bool:
    """Float estimate of whether V fails to stand out more often than it may."""
    from scipy.special import betaincc

    held = _most_held(users, values, missed, w) + more
    return held >= users or bool(betaincc(held + 1, users - held, w + (1 - w) / values) > missed / 2)


def _most_held(users: int, values: int, missed: float, w: float) -> int:
    """Float estimate of the least m that no other value's count exceeds, but with half the probability."""
    from scipy.special import betainc  # not bdtrc, whose number of coins is a short integer

    other, allowed = (1 - w) / values, missed / 2 / (values - 1)
    mean, nats = users * other, -math.log(allowed)
    most = math.ceil(mean + nats + math.sqrt(nats * nats + 2 * nats * mean))  # Bernstein's tail, and some more
    return halved(lambda m: bool(betainc(m + 1, users - m, other) <= allowed * (1 - 1e-9)), 0, min(users, most))


_REACH = 9.0
"""Standard deviations on either side of the largest term that are added up; what is left out only lowers the affinity."""
_MOST_TERMS = 1 << 15
"""Most terms on either side: with fewer the affinity is lower, and less is excluded."""
_MOST_MORE = 1 << 11
"""Largest l: counts that far apart are told apart unless some million messages are shared, whose laws take seconds."""
_NEAREST = math.log1p(-(2.0**-52))
"""Logarithm of the largest share that is tried: at 1 itself the odds of a shared message are infinite."""
_SHARE_NUDGES = 8
"""Steps, of a relative 1e-6 first and four times as long each, from the float estimate of the largest share upward."""


def largest_shared(users: int, error: Fraction, beta: Fraction) -> Fraction:
    r"""A number at or above the shared mass :math:`\eta'` of any protocol whose counts are within E except with probability beta.

    A user who holds v sends a message of law :math:`p_v`; one who holds a uniform other value, of law :math:`q_{-v}`. With
    :math:`\eta'` the mass that the two laws share, both are post-processing of a message that is shared with probability
    :math:`\eta'`, and otherwise tells which of the two it is. So the shuffled messages of t holders and n - t others are a function
    of :math:`Bin(t, 1-\eta')` and :math:`Bin(n-t, 1-\eta')`. All users run one randomizer. Where some send their values and others
    nothing, counts are told though the mean mass is large.

    .. math:: \Bigl(BC(t) \cdot BC(n - t - l)\Bigr)^2 \le 1 - (1 - 2\beta)^2, \qquad
              BC(t) = \sum_k \sqrt{P[Bin(t, 1-\eta') = k]\, P[Bin(t+l, 1-\eta') = k]}

    with :math:`l = \lfloor 2E \rfloor + 1` and :math:`t = \lfloor (n-l)/2 \rfloor`: the protocol tells t holders from t + l, so
    the total variation of what it sees is at least :math:`1 - 2\beta`, and it is at most :math:`\sqrt{1 - BC^2}`. Source: Ghazi,
    Golowich, Kumar, Pagh, Velingker 2019, Lemma 3.15, whose constant is not printed.

    Returns in (0, 1]; 1 where nothing is excluded.
    """
    more = math.floor(2 * error) + 1
    if more > min(users, _MOST_MORE) or beta >= Fraction(1, 2):
        return Fraction(1)
    held = (users - more) // 2
    limit = 1 - (1 - 2 * beta) ** 2

    def told_apart(eta: float) -> bool:
        return (_estimate(held, more, eta) * _estimate(users - held - more, more, eta)) ** 2 <= float(limit)

    found = math.exp(bisect(lambda log: told_apart(math.exp(log)), math.log(1e-3 / users), _NEAREST))
    for step in range(_SHARE_NUDGES):
        eta = Fraction(found * (1 + 4**step * 1e-6))
        if eta >= 1:
            break
        with working_precision(_TAIL_BITS):
            if (_affinity(held, more, eta) * _affinity(users - held - more, more, eta)) ** 2 > ball(limit):
                return eta
    return Fraction(1)


def _affinity(holders: int, more: int, eta: Fraction) -> flint.arb:
    """A lower bound of BC(t): a sum of some of its positive terms, by how many messages are shared."""
    start, spread = _largest_term(holders, more, float(eta))
    odds = ball(eta / (1 - eta))
    square = binomial_pmf(holders, eta, start) * binomial_pmf(holders + more, eta, start + more)
    top = square.sqrt()
    rising = _falling_terms(top, [_ratio(holders, more, odds, c) for c in range(start, min(holders, start + spread))])
    sinking = _falling_terms(top, [1 / _ratio(holders, more, odds, c - 1) for c in range(start, max(0, start - spread), -1)])
    return top + rising + sinking


def _falling_terms(term: flint.arb, ratios: list[flint.arb]) -> flint.arb:
    total = flint.arb(0)
    for ratio in ratios:
        term *= ratio
        total += term
    return total


def _ratio(holders: int, more: int, odds: flint.arb, shared: int) -> flint.arb:
    """Of the term for one more shared message to that for this number of them."""
    return odds * (holders - shared) / flint.arb((shared + 1) * (shared + more + 1)).sqrt()


def _largest_term(holders: int, more: int, eta: float) -> tuple[int, int]:
    """About where the terms are largest, and a number of terms that holds nearly all of the sum."""
    square = (eta / (1 - eta)) ** 2
    # Where consecutive terms are equal, by the root of a quadratic in the form in which nothing cancels.
    root = math.hypot(more, 2 * math.sqrt(square * holders * (holders + more)))
    start = min(int(2 * square * holders**2 / (more + 2 * square * holders + root)), holders) if holders else 0
    spread = int(_REACH * math.sqrt(min(start, holders - start) + more + 1)) + 10
    return start, min(spread, _MOST_TERMS)


def _estimate(holders: int, more: int, eta: float) -> float:
    """Float estimate of BC(t): its largest term, and the ratios of consecutive ones, of which no digits cancel."""
    from scipy.stats import binom

    start, spread = _largest_term(holders, more, eta)
    low, high = max(0, start - spread), min(holders, start + spread)
    shared = np.arange(low, high, dtype=float)
    ratios = np.log(eta / (1 - eta) * (holders - shared)) - np.log((shared + 1) * (shared + more + 1)) / 2
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    top = binom.pmf([start, start + more], [holders, holders + more], eta).prod()  # of logpmf at 2**40 they do cancel
    return float(np.exp(logs - logs[start - low]).sum() * math.sqrt(top))
