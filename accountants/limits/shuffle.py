r"""What a shuffled guarantee says of the local one: a single message of an (epsilon, delta)-private shuffled protocol of n users.

Cheu, Smith, Ullman, Zeber, Zhilyaev 2019 show that it is :math:`(\varepsilon + \ln n, \delta)`-LDP. The number of messages in
an event, whose law is known whatever the protocol, says more: see `information`. All limits of the single-message shuffled model
rest on this.
"""

from fractions import Fraction

from ldpaudit.accountants.limits import information as told
from ldpaudit.accountants.limits.domain import Setting
from ldpaudit.accountants.limits.information import LocalView, exp_local_epsilon, points
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.core.number import brief
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number

_BITS = 128


def local_probability(users: int, chance: Number, epsilon: Number, delta: Number) -> Enclosure:
    r"""Largest probability of an event for one input, where for another one its probability is p.

    .. math:: a^*(p) = \sup\bigl\{a \ge p :
              D_{e^\varepsilon}\bigl(Bin(n-1, p) + Ber(a) \,\|\, Bin(n, p)\bigr) \le \delta \text{, in both orders}\bigr\}

    with the hockey-stick divergence D. At most, and below, :math:`e^\varepsilon (1 - (1-p)^n) + \delta`. Source: the printed
    bound is that of Cheu, Smith, Ullman, Zeber, Zhilyaev 2019, Theorem 6.2; this one is not in the paper.

    ``users``: n, from 1 to 2**40; ``chance``: p, in (0, 1); ``epsilon``: in nats, from 0 to 100; ``delta``: in (0, 1). Returns
    a probability. INTERVAL.
    """
    view, p = _view(users, epsilon, delta), Fraction(chance)
    if not 0 < p < 1:
        raise ValueError(f"local_probability needs 0 < chance < 1, got {brief(chance)}")
    return Enclosure.of(view.least(p), view.most(p), rigour=Rigour.INTERVAL, source="counts of messages in an event")


def local_epsilon(users: int, epsilon: Number, delta: Number, local_delta: Number) -> Enclosure:
    r"""Epsilon for which one message of a shuffled protocol is (epsilon, local_delta)-LDP.

    .. math:: \varepsilon' = \ln \sup_p \frac{a^*(p) - \delta'}{p}

    At most :math:`\varepsilon + \ln n`, and far less where a larger delta' is allowed. Source: as for `local_probability`.

    ``local_delta``: delta', from delta to below 1; others as for `local_probability`. Returns in nats, of the supremum.
    INTERVAL.
    """
    view, allowed = _view(users, epsilon, delta), Fraction(local_delta)
    if not view.delta <= allowed < 1:
        found = f"delta={brief(delta)} and local_delta={brief(local_delta)}"
        raise ValueError(f"local_epsilon needs delta <= local_delta < 1, got {found}")
    best, _ = max(points(view), key=lambda point: (point[1] - allowed) / point[0])
    attained = max(Fraction(1), (view.least(best) - allowed) / best) if best < 1 else Fraction(1)
    with working_precision(_BITS):
        low, high = ball(attained).log(), ball(exp_local_epsilon(view, allowed)).log()
        most = high.min(ball(view.epsilon) + ball(Fraction(users)).log())
        return Enclosure.of(low, most, rigour=Rigour.INTERVAL, source="counts of messages in an event")


def local_epsilon_as_printed(users: int, epsilon: Number) -> Enclosure:
    r"""Epsilon for which one message of a shuffled protocol is LDP, with the same delta: epsilon + ln n.

    Source: Cheu, Smith, Ullman, Zeber, Zhilyaev 2019, Theorem 6.2; Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemma 3.5.

    Parameters as for `local_probability`. Returns in nats. EXACT.
    """
    s = Setting.of(users, 2, epsilon, 0, 0, 1)
    return narrow(lambda: ball(s.epsilon) + ball(Fraction(users)).log(), "epsilon + ln n")


def information(users: int, values: int, epsilon: Number, delta: Number) -> Enclosure:
    """Bits that one message of a shuffled protocol reveals about a uniform one of B values.

    Source: `information.curve_information`; it is never above Lemma 3.8's with the printed local guarantee.

    ``values``: B, at least 2; others as for `local_probability`. Returns from 0 to the bound. INTERVAL.
    """
    s = Setting.of(users, values, epsilon, delta, 0, 1)
    with working_precision(_BITS):
        bits = told.sharpened(s.users, s.values, s.epsilon, s.delta, 1)
        return Enclosure.of(0, bits, rigour=Rigour.INTERVAL, source="counts of messages in an event")


def information_as_printed(users: int, values: int, epsilon: Number, delta: Number) -> Enclosure:
    r"""Bits as by `information`, by the printed 1 + (epsilon + ln n) log2(e) + 2 delta log2(B); at most the bits of a value.

    Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemmas 3.5 and 3.8. Parameters and value as for `information`.
    """
    s = Setting.of(users, values, epsilon, delta, 0, 1)
    with working_precision(_BITS):
        bits = told.as_printed(s.users, s.values, s.epsilon, s.delta, 1)
        return Enclosure.of(0, bits, rigour=Rigour.INTERVAL, source="Lemmas 3.5 and 3.8")


def _view(users: int, epsilon: Number, delta: Number) -> LocalView:
    s = Setting.of(users, 2, epsilon, delta, 0, 1)
    if not s.delta > 0:
        raise ValueError(f"a local guarantee needs delta > 0, got {brief(delta)}: for delta = 0 it is the shuffled one")
    return LocalView(s.users, s.epsilon, s.delta)
