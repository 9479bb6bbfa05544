"""What Polya noise on counts costs."""

from itertools import accumulate

import flint

from ldpaudit.accountants.aggregation.added_noise import noise_profile
from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.float_masses import Masses, polya_ratios
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.polya_noise import PolyaNoise
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

_LISTED = 1 << 12
"""Steps of a change in one count whose losses are added one by one; those beyond are each within 2**-11 of the last."""


def profile(m: PolyaNoise, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    r"""Profile of the difference X of two Polya numbers of shape r on counts that one user changes by v.

    .. math:: \delta(\varepsilon) = \sum_y \Bigl(\prod_j P[X = y_j] - e^\varepsilon \prod_j P[X = y_j - v_j]\Bigr)_+,
              \qquad P[X = k] = (1-\alpha)^{2r} \alpha^{|k|} \frac{(r)_{|k|}}{|k|!}\; {}_2F_1(r, r + |k|; |k| + 1; \alpha^2)

    .. math:: \varepsilon(0) = \sum_j \log \frac{P[X = 0]}{P[X = v_j]} \quad (r < 1), \qquad
              \varepsilon(0) = \log\frac1\alpha \sum_j |v_j| \quad (r \ge 1)

    For r < 1, the probabilities are moments, :math:`P[X = k] = \int t^k\, d\mu(t)` over [0, alpha] for k >= 0: a Polya number's are
    those of a measure that has a beta density of parameters r and 1 - r, and :math:`\sum_j p_j p_{j+k}` are those of another.
    So the loss of a step from k - 1 to k, :math:`\log P[X = k-1]/P[X = k]`, falls with k towards log(1/alpha): it is largest next
    to 0, and the best event may be an interval. For r >= 1 a Polya number's law is log-concave, so X's is, too, and the loss rises
    towards log(1/alpha). Tight: there are two inputs; the law is even, so that both directions are alike; epsilon(0) is attained
    where all counts are 0 for r < 1, and is a limit for r > 1. Source: Goryczka, Xiong 2015, for the shares; epsilon(0) for r < 1:
    derived above. Proof: proofs/discrete_laplace.py, of
    epsilon(0) for r >= 1, of an upper bound for r < 1, and of the ratios from which the law is computed.

    ``m``: as its constructor ensures; ``neighbours``: replace-one. Returns in nats. EXACT, or within 1e-8, for up to four counts
    and deltas above 1e-30, and at delta = 0 for changes up to 4096; for more counts, within about 1e-3. Raises Unsupported where
    the noise spreads over more than 100,000 integers.
    """
    law = masses(m)
    source = f"Polya noise of alpha {float(m.alpha):g} and shape {float(m.shape):g}: the best event"
    with working_precision(192):
        slope = -ball(m.alpha).log()
        if m.shape >= 1:
            pure = slope * m.distance
        else:
            near = polya_ratios(m.alpha, m.shape, min(max(m.shifts), _LISTED))
            sums = list(accumulate((-ratio.log() for ratio in near), initial=flint.arb(0)))
            beyond = between(slope, -near[-1].log())
            pure = sum((sums[min(k, _LISTED)] + beyond * max(0, k - _LISTED) for k in m.shifts), flint.arb(0))
        return noise_profile(law, m.change, source, Enclosure.of(pure, source=source))


def masses(m: PolyaNoise) -> Masses:
    """Of the noise on one count, in floats."""
    return Masses.polya(m.alpha, m.shape)
