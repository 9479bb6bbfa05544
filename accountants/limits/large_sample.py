r"""Error of frequency estimation where values are held by many: some users are active, all others hold one fixed value.

In the local model the analyzer draws the messages of the others itself, so a protocol of n users is one of any smaller number,
with the same error in users: the limit is the largest over that number. In the shuffled model the active users still hide
among all n, but known messages hide less than unknown ones: a guarantee for n users is none for fewer. So a message's local
guarantee is that of all n users, and everything else is that of the active ones.

Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemmas 3.10 and 3.18. Their Lemma 3.19, :math:`\Omega(\sqrt B)` in the
shuffled model, takes the guarantee for n users to be one for fewer; no limit here rests on that, and those below fall as n grows.
"""

from fractions import Fraction

from ldpaudit.accountants.limits.accurate import largest, told, told_as_printed
from ldpaudit.accountants.limits.domain import Setting, answer
from ldpaudit.enclosure import Enclosure
from ldpaudit.profile import Number


def error(
    users: int, values: int, epsilon: Number, delta: Number = 0, beta: Number = Fraction(1, 4), shuffled: int = 0
) -> Enclosure:
    r"""Largest limit of `intermediate` over numbers of active users: n, n/2, n/4, and so on.

    For delta > 0 it is of one randomizer for all users, as that is.

    Parameters and value as for `intermediate.error`.
    """
    s = Setting.of(users, values, epsilon, delta, beta, shuffled)
    tells = told(s)
    found = Fraction(0)
    for halvings in range(users.bit_length()):
        found = largest(s, users >> halvings, tells, found)
    return answer(found, "Fano's inequality, some users active", s.delta)


def error_of_active(
    users: int,
    active: int,
    values: int,
    epsilon: Number,
    delta: Number = 0,
    beta: Number = Fraction(1, 4),
    shuffled: int = 0,
) -> Enclosure:
    """Limit of `intermediate` where only the active users' values are unknown.

    ``active``: from 1 to n; other parameters and value as for `intermediate.error`.
    """
    s = _with_active(users, active, values, epsilon, delta, beta, shuffled)
    return answer(largest(s, active, told(s)), "Fano's inequality, some users active", s.delta)


def error_of_active_as_printed(
    users: int, active: int, values: int, epsilon: Number, delta: Number, beta: Number = Fraction(1, 4), shuffled: int = 1
) -> Enclosure:
    """Limit as by `error_of_active`, with the printed local guarantee; see `intermediate.error_as_printed`."""
    s = _with_active(users, active, values, epsilon, delta, beta, shuffled)
    return answer(largest(s, active, told_as_printed(s)), "Fano's inequality, some users active, Lemma 3.5 as printed")


def _with_active(users: int, active: int, values: int, epsilon: Number, delta: Number, beta: Number, shuffled: int) -> Setting:
    if not 1 <= active <= users:
        raise ValueError(f"a limit of frequencies needs 1 <= active <= users, got active={active} and users={users}")
    return Setting.of(users, values, epsilon, delta, beta, shuffled)
