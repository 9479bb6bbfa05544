r"""Error of frequency estimation where few users cannot tell many values apart, by Fano's inequality.

Of n users n' hold the same unknown one of B values, all others a fixed one. Estimates within less than n'/2 name it, so its
:math:`\log_2 B` bits have to be in n' messages of I bits each: an accurate protocol needs

.. math:: n' I + 1 \ge (1 - \beta) \log_2 B

Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemmas 3.8, 3.9 and 3.11, (6) and (9), without their constants.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import flint

from ldpaudit.accountants.limits import information
from ldpaudit.accountants.limits.domain import Setting, answer
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.search import halved
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.shared.parameters import log2
from ldpaudit.profile import Number

_BITS = 128

Bits: TypeAlias = Callable[[int, int, Fraction, Fraction, int], flint.arb]
"""Users, values, epsilon, delta and model to the most bits that a message tells."""


def error(
    users: int, values: int, epsilon: Number, delta: Number = 0, beta: Number = Fraction(1, 4), shuffled: int = 0
) -> Enclosure:
    r"""Half the largest number of users whose common value no protocol finds: some count errs by as much.

    .. math:: \tfrac12 \max\bigl\{k \le n : k I + 1 < (1 - \beta) \log_2 B\bigr\}

    with the sharpest bound of I known here: in the local model, for delta = 0 the largest information of any
    epsilon-LDP message; in the shuffled one, that of an event's probabilities under a single-message guarantee.

    Parameters and value as for `intermediate.error`.
    """
    return _answer(Setting.of(users, values, epsilon, delta, beta, shuffled), information.sharpened)


def error_as_printed(
    users: int, values: int, epsilon: Number, delta: Number = 0, beta: Number = Fraction(1, 4), shuffled: int = 0
) -> Enclosure:
    r"""Error as by `error`, with the printed I = 1 + epsilon_L log2(e) + 2 delta log2(B), without the 1 where delta is 0.

    Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemma 3.8, and Lemma 3.5 for the shuffled model. Parameters and
    value as for `error`.
    """
    return _answer(Setting.of(users, values, epsilon, delta, beta, shuffled), information.as_printed)


def _answer(s: Setting, bits: Bits) -> Enclosure:
    with working_precision(_BITS):
        each = bits(s.users, s.values, s.epsilon, s.delta, s.shuffled)
        wanted = ball(1 - s.beta) * log2(s.values)
        least = halved(lambda k: not k * each + 1 < wanted, 1, s.users + 1)
    return answer(Fraction(least - 1, 2), "Fano's inequality, few users")
