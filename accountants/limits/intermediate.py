"""Error of frequency estimation where users are many, but values are held by few: the fourth root of n in the shuffled model.

The bound is that of `accurate`. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemma 3.12 and Corollary 3.13, (7), (10) and
(11), whose constants are not printed.
"""

from fractions import Fraction

from ldpaudit.accountants.limits.accurate import largest, told, told_as_printed
from ldpaudit.accountants.limits.domain import Setting, answer
from ldpaudit.enclosure import Enclosure
from ldpaudit.profile import Number


def error(
    users: int, values: int, epsilon: Number, delta: Number = 0, beta: Number = Fraction(1, 4), shuffled: int = 0
) -> Enclosure:
    r"""Largest error, in users and a multiple of 1/2, within which no protocol keeps all B counts with probability 1 - beta.

    .. math:: (1 - \beta - \tau) \log_2 B > n I + 1

    For delta = 0 every message is epsilon-LDP, and I is the largest information of any such message. Else I is the bound
    of `accurate`, in the shuffled model with the (epsilon', delta') that a single message certainly has, for the best delta'
    of a few; it counts the messages that two values do not share, so that it is of protocols in which all users run one
    randomizer (in the paper they do; public coins may choose which). Source: as for this file; the local guarantee is sharper
    than their Lemma 3.5.

    ``users``: n, from 1 to 2**40; ``values``: B, from 2; ``epsilon``: in nats, from 0 to 100; ``delta``: in [0, 1); ``beta``:
    in [0, 1/2); ``shuffled``: 1 for the single-message shuffled model, 0 for the local one. Returns the error in users; 0 where
    nothing is excluded, which its source then says. INTERVAL.
    """
    s = Setting.of(users, values, epsilon, delta, beta, shuffled)
    return answer(largest(s, s.users, told(s)), "Fano's inequality, many users", s.delta)


def error_as_printed(
    users: int, values: int, epsilon: Number, delta: Number, beta: Number = Fraction(1, 4), shuffled: int = 1
) -> Enclosure:
    r"""Error as by `error`, with the printed local guarantee: epsilon + ln n in the shuffled model, and delta.

    Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemmas 3.5 and 3.12 and Corollary 3.13. Parameters and value as
    for `error`.
    """
    s = Setting.of(users, values, epsilon, delta, beta, shuffled)
    return answer(largest(s, s.users, told_as_printed(s)), "Fano's inequality, many users, Lemma 3.5 as printed")
