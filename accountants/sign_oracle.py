"""What the sign oracle costs."""

from __future__ import annotations

import flint

from ldpaudit.accountants.composition.signs import one_sign
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.sign_oracle import SignOracle
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile


def profile(m: SignOracle, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Exact profile of one user's report to the sign oracle; the user's public column is known.

    .. math:: \delta(\varepsilon) = \bigl(p - e^\varepsilon (1-p)\bigr)_+, \qquad
              \varepsilon(0) = \log \frac{p}{1-p}

    The same for every user: a column of the public matrix is not constant on any domain, because its vector is not 0
    and the values 1, 2, 4, ... are among the inputs. Tight: attained on {y = Z[x, i]} by 0 and such a power of two.

    The talk (slides "LDP warm-up" and "Frequency oracle for large domains") tells the truth "with probability about
    1/2 + epsilon" and calls that epsilon-LDP. With exactly 1/2 + epsilon the cost is
    :math:`\log\frac{1+2\varepsilon}{1-2\varepsilon} = 4\varepsilon + \tfrac{16}{3}\varepsilon^3 + \dots`, four times as
    much; `SignOracle.for_epsilon` has the largest probability that keeps the promise, about 1/2 + epsilon/4.
    Proof: proofs/sign_oracle.py.

    ``m``: ``1/2 < p < 1``, as its constructor ensures; ``neighbours``: replace-one. Returns in nats. Rigour EXACT at
    every epsilon.
    """
    return one_sign(m.p, "sign oracle: log(p/(1-p)), attained at y = Z[x, i]")



def expected_error_bound(m: SignOracle) -> Enclosure:
    r"""From 0 to a bound of the expected largest error over all values, for any data of `users` users.

    .. math:: E \max_j |\hat x_j - x_j| \le \frac{\sqrt{2 n \ln 2B}}{(2p - 1)(1 + \mu)}, \qquad \mu = \frac{1}{2^{bits} - 1}

    The n terms of an estimate are signs, independent over uniform columns and the coins, so that the exponential moments of
    their centred sum are those of a normal law of variance n at most. Not tight. Source: Hoeffding 1963; Boucheron, Lugosi,
    Massart 2013, section 2.5.

    ``m``: its columns are taken for independent and uniform ones. Returns in users. INTERVAL.
    """
    scale = (2 * m.p - 1) * (1 - m.agreement)
    bound = narrow(lambda: (2 * m.users * flint.arb(2 * m.domain).log()).sqrt() / ball(scale), "")
    return Enclosure(0.0, bound.high, Rigour.INTERVAL, "Hoeffding's bound of the exponential moments, and Jensen's inequality")
