r"""Error of frequency estimation that no protocol escapes, with a trusted curator either: packing, and what Laplace noise reaches.

If E of n users hold v and all others a fixed value, estimates within less than E/2 name v; E steps from one value to another
change probabilities by :math:`e^{E \varepsilon}`, and B answers have probability 1 together.
"""

from fractions import Fraction

import flint

from ldpaudit.accountants.limits.domain import Setting, answer
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import halved
from ldpaudit.core.number import brief
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure
from ldpaudit.profile import Number

_BITS = 256
"""Precision of a comparison; what is not decided excludes nothing."""


def error(users: int, values: int, epsilon: Number, delta: Number = 0, beta: Number = Fraction(1, 4)) -> Enclosure:
    r"""Half the largest number E of users whose common value no private algorithm finds: some count errs by as much.

    .. math:: B \Bigl(e^{-E \varepsilon} (1 - \beta) - \delta\, \frac{1 - e^{-E \varepsilon}}{e^\varepsilon - 1}\Bigr) > 1

    Source: Hardt, Talwar 2010, for delta = 0; the term with delta by group privacy.

    Parameters and value as for `intermediate.error`.
    """
    s = Setting.of(users, values, epsilon, delta, beta, 0)
    with working_precision(_BITS):
        least = halved(lambda size: not _packed(s, size), 1, s.users + 1)
    return answer(Fraction(least - 1, 2), "packing")


def _packed(s: Setting, size: int) -> bool:
    """Whether the answers for all values that `size` users may hold would together have a probability above 1."""
    fall = (-ball(size * s.epsilon)).exp()
    steps = -(-ball(size * s.epsilon)).expm1() / ball(s.epsilon).expm1() if s.epsilon else flint.arb(size)
    return bool(s.values * (fall * ball(1 - s.beta) - ball(s.delta) * steps) > 1)


def laplace_error(values: int, epsilon: Number) -> Enclosure:
    r"""Mean of the largest error over B counts with Laplace noise of scale 2/epsilon each, which is epsilon-private.

    .. math:: E \max_{j \le B} |Z_j| = \frac{2}{\varepsilon} \sum_{i=1}^{B} \frac1i

    Exact: the modulus of each noise is exponential. What is reached, beside what `error` rules out.

    ``values``: B, at least 1; ``epsilon``: above 0. Returns in users. EXACT.
    """
    if not (values >= 1 and epsilon > 0):
        found = f"values={brief(values)} and epsilon={brief(epsilon)}"
        raise ValueError(f"laplace_error needs values >= 1 and epsilon > 0, got {found}")
    return narrow(
        lambda: 2 / ball(Fraction(epsilon)) * (flint.arb(values + 1).digamma() - flint.arb(1).digamma()), "harmonic numbers"
    )
