r"""Selection: name one of B yes-or-no questions to which nearly as many users say yes as to any other.

The hard data: J is a uniform question, V a uniform bit; a user's answers are uniform, except that the answer to J is V. With
:math:`X \in \{0,1\}^B` then uniform and Z a user's message,

.. math:: I(J, V; Z) = \frac1B \sum_j I(X_j; Z) \le \frac{I(X; Z)}{B}

as Z is independent of J and the :math:`X_j` of each other. For an :math:`(\varepsilon, 0)`-LDP message :math:`I(X; Z) \le
\varepsilon \log_2 e` bits; else :math:`\varepsilon \log_2 e + 1 + 2 \delta B`, for the ratio of Z's law given x to its
mean exceeds :math:`2 e^\varepsilon` with probability at most :math:`2\delta`, and :math:`2^B` never. Users' messages are
independent given J and V, so that information adds up, and Fano's inequality bounds the probability p of naming both:
:math:`p \log_2(2B) - 1 \le n I`. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Theorem 3.22, for Omega(B).
"""

import math
from collections.abc import Callable
from fractions import Fraction

import flint

from ldpaudit.accountants.limits.information import LocalView, corners, curve_information
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import first
from ldpaudit.core.number import brief
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shared.parameters import log2
from ldpaudit.profile import Number, require_delta, require_epsilon

_BITS = 128
"""Precision at which a number of users is accepted or refused; what is not decided is accepted, so that the bound is valid."""
_ENDLESS = 1 << 200
"""More users than there will ever be."""
_MOST_USERS, _MOST_CANDIDATES, _LARGEST_EPSILON = 1 << 40, 1 << 20, 100
"""Of the sharper bound: its floats, its fractions and its ratios end there."""
_STEPS = 4
"""Numbers of users that are tried one after the other, each what the last one's information asks for; with 3 or 6 the search
takes as long."""


def selection_users(candidates: int, named: Number, epsilon: Number, delta: Number = 0, shuffled: int = 0) -> int:
    r"""Users that are needed to name the question and its bit with probability p.

    .. math:: n \ge \frac{p \log_2(2B) - 1}{I_n}, \qquad I_n = \frac{\varepsilon_n \log_2 e}{B} \text{ or }
              \frac{1 + \varepsilon_n \log_2 e}{B} + 2\delta

    In the local model :math:`\varepsilon_n = \varepsilon`. In the single-message shuffled model a message of an
    (epsilon, delta)-private protocol is :math:`(\varepsilon + \ln n, \delta)`-LDP (Cheu, Smith, Ullman, Zeber, Zhilyaev
    2019); protocols of several messages escape.

    ``candidates``: B, at least 2; ``named``: p in (0, 1), half of a selector's success, see `selection_success`; ``epsilon``:
    in nats, at least 0; ``delta``: in [0, 1); ``shuffled``: 1 for the single-message shuffled model, 0 for the local one.
    Returns the least n that is not excluded; fewer users do not suffice.
    """
    _require(candidates, epsilon, delta, shuffled)
    _require_named("selection_users", named)
    found = _least_users(
        candidates, named, lambda n: _information(n, candidates, Fraction(epsilon), Fraction(delta), shuffled), 1, _ENDLESS
    )
    if found == _ENDLESS:
        raise ValueError("selection_users needs epsilon or delta above 0: without information no number of users suffices")
    return found


def sharpened_users(candidates: int, named: Number, epsilon: Number, delta: Number) -> int:
    r"""Users that are needed to name the question and its bit in the single-message shuffled model, by a sharper bound.

    .. math:: n \ge \frac{p \log_2(2B) - 1}{I_n/B}

    with the largest information :math:`I_n` about one of :math:`2^B` values that a message can carry, where the number of
    messages in any event is as private as the protocol (`shuffle.information`). Vacuous, 1, where :math:`p \log_2(2B) \le 1`.
    Source: as for this file; the local guarantee is sharper than their Lemma 3.5.

    ``candidates``: B, from 2 to 2**20; ``epsilon``: in nats, from 0 to 100; ``delta``: in (0, 1); ``named``: as for
    `selection_users`. Returns the least n that is not excluded, at most 2**40; fewer users do not suffice.
    """
    _require(candidates, epsilon, delta, 1)
    _require_named("sharpened_users", named)
    if not (candidates <= _MOST_CANDIDATES and delta > 0 and epsilon <= _LARGEST_EPSILON):
        wanted = f"candidates <= {_MOST_CANDIDATES}, epsilon <= {_LARGEST_EPSILON} and delta > 0"
        raise ValueError(f"sharpened_users needs {wanted}, got {candidates}, {brief(epsilon)} and {brief(delta)}")

    def bits(n: int) -> flint.arb:
        view = LocalView(n, Fraction(epsilon), Fraction(delta))
        each = curve_information(corners(view), Fraction(1 << candidates)) / candidates
        return each.min(_information(n, candidates, Fraction(epsilon), Fraction(delta), 1))

    start = min(selection_users(candidates, named, epsilon, delta, 1), _MOST_USERS)
    for _ in range(_STEPS):
        with working_precision(_BITS):
            start = min(max(1, int(float(_wanted(candidates, named) / bits(start)))), _MOST_USERS)
    return _least_users(candidates, named, bits, start, _MOST_USERS)


def _least_users(candidates: int, named: Number, bits: Callable[[int], flint.arb], start: int, most: int) -> int:
    """The least n whose messages may carry enough information by Fano's inequality; `most` where none up to it."""

    def enough(n: int) -> bool:
        with working_precision(_BITS):
            return not _wanted(candidates, named) > n * bits(n)

    return first(enough, start, 1, most)


def _wanted(candidates: int, named: Number) -> flint.arb:
    """Bits that naming the question and its bit takes."""
    return ball(Fraction(named)) * log2(2 * candidates) - 1


def selection_success(
    users: int, candidates: int, epsilon: Number, delta: Number = 0, shuffled: int = 0, error: Number = Fraction(1, 10)
) -> Enclosure:
    r"""Upper bound of the probability with which any protocol names a question within alpha n users of the best one.

    .. math:: s \le 2\, \frac{n I_n + 1}{\log_2(2B)} + (B - 1)\, P\bigl[Bin(n, \tfrac12) \ge (1 - \alpha) n\bigr]

    because where V = 1 all users say yes to J, and any other question is within :math:`\alpha n` of that only with the
    probability on the right. It bounds the success on the worst data set, which is at most the mean success.

    ``users``: n, at least 1; ``error``: alpha, in [0, 1/2): how far from the best, as a share of the users; others as for
    `selection_users`. Returns from 0 to the bound. INTERVAL.
    """
    _require(candidates, epsilon, delta, shuffled)
    if users < 1:
        raise ValueError(f"selection_success needs users >= 1, got {users}")
    if not 0 <= error < Fraction(1, 2):
        raise ValueError(f"selection_success needs 0 <= error < 1/2, got {error}")
    least = math.ceil((1 - Fraction(error)) * users)

    def bound() -> flint.arb:
        information = users * _information(users, candidates, Fraction(epsilon), Fraction(delta), shuffled)
        other = (candidates - 1) * binomial_upper(users, Fraction(1, 2), least)
        return 2 * (information + 1) / log2(2 * candidates) + other

    found = narrow(bound, "Fano's inequality", Rigour.INTERVAL)
    return Enclosure(0.0, min(1.0, found.high), Rigour.INTERVAL, found.source)


def _information(users: int, candidates: int, epsilon: Fraction, delta: Fraction, shuffled: int) -> flint.arb:
    """Upper bound, in bits, of the information of one user's message about (J, V)."""
    local = (ball(epsilon) + (flint.arb(users).log() if shuffled else 0)) / flint.arb(2).log()
    return local / candidates if delta == 0 else (1 + local) / candidates + 2 * ball(delta)


def _require_named(name: str, named: Number) -> None:
    if not 0 < named < 1:
        raise ValueError(f"{name} needs 0 < named < 1, got {named}")


def _require(candidates: int, epsilon: Number, delta: Number, shuffled: int) -> None:
    if candidates < 2:
        raise ValueError(f"selection needs at least two candidates, got {candidates}")
    if shuffled not in (0, 1):
        raise ValueError(f"selection needs shuffled = 0 or 1, got {shuffled}")
    require_epsilon(epsilon)
    require_delta(delta)
