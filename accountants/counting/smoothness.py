r"""Smooth noise (GGKPV Definition 4.2): its exact delta, and the bounds of the paper's lemmas.

A law D on the integers is :math:`(\varepsilon, \delta, k)`-smooth if for every k' with :math:`1 \le |k'| \le k`

.. math:: P_{Y \sim D}\left[\frac{P_D(Y)}{P_D(Y + k')} \ge e^{|k'|\varepsilon}\right] \le \delta

(the printed range of k' includes 0, where the event is certain). The factor :math:`|k'|` belongs to the definition: a
shift by k has epsilon :math:`k\varepsilon`. For a log-concave law the worst k' is k or -k, because the mean of the k'
log-ratios between Y and Y + k' grows with k'.

GGKPV is Ghazi, Golowich, Kumar, Pagh, Velingker 2019.
"""

from __future__ import annotations

from fractions import Fraction

import flint

from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow, narrow_enough
from ldpaudit.claim import Hypothesis, require
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, require_delta, require_epsilon

_GAMMA_BITS = 40
"""The search for gamma ends at a relative step of 2**-40, on the safe side."""


def smooth_delta(n: int, gamma: Number, k: int, epsilon: Number) -> Enclosure:
    r"""Smallest delta for which Bin(n, gamma) is (epsilon, delta, k)-smooth.

    .. math:: \delta = \max\bigl(P[Y \ge t_+],\, P[Y \le t_-]\bigr)

    with the outermost points where the ratio for k' = k, and for k' = -k, reaches :math:`e^{k\varepsilon}`. Tight: this
    is the probability of Definition 4.2 itself; points outside the support have an infinite ratio. Source: GGKPV
    Definition 4.2; the law is log-concave.

    EXACT, for a `k` of at least 1 and `epsilon` in nats per unit of shift. Raises ValueError outside the domain.
    """
    require_epsilon(epsilon)
    if k < 1:
        raise ValueError(f"smoothness needs k >= 1, got k={k}")
    profile = ShiftProfile(n, Fraction(gamma), k)
    if not profile.directions():  # every point's shift by k lies outside the support
        return Enclosure(1.0, 1.0, Rigour.EXACT, _SMOOTH)
    return narrow_enough(lambda: _smooth_ball(profile, k * Fraction(epsilon)), _SMOOTH).clamp(0.0, 1.0)


_SMOOTH = "GGKPV Definition 4.2, two binomial tails"
"""Source of an exact smoothness."""


def _smooth_ball(profile: ShiftProfile, loss: Fraction) -> flint.arb:
    best = flint.arb(0)
    for direction in profile.directions():
        # The points y with P(y) / P(y + k) >= exp(loss) are those from t - k on, with the t of the shift's best event.
        low, high = direction.cut(ball(loss))
        if loss == 0:  # the only loss that a rational likelihood ratio can equal
            low = high = next((t for t in range(low, high) if direction.ratio(t) >= 1), high)
        tail = direction.upper(low - direction.k)
        best = best.max(tail if low == high else tail.union(direction.upper(high - direction.k)))
    return best


def smoothness_hypotheses(n: int, gamma: Number, k: int, alpha: Number) -> tuple[Hypothesis, ...]:
    """Hypotheses of GGKPV Lemma 4.12, and whether each holds: see `smoothness_of_binomial`."""
    gamma, alpha = Fraction(gamma), Fraction(alpha)
    most = alpha * gamma * n / 2
    return (
        Hypothesis("0 <= gamma <= 1/2", 0 <= gamma <= Fraction(1, 2)),
        Hypothesis("0 < alpha < 1 (at 1 its epsilon is infinite)", 0 < alpha < 1),
        Hypothesis(f"1 <= k <= alpha gamma n / 2 = {float(most):g}", 1 <= k <= most),
    )


def lemma_4_12(n: int, gamma: Number, alpha: Number) -> tuple[Enclosure, Enclosure]:
    """The epsilon and delta of `smoothness_of_binomial`, whether or not its hypotheses hold; for 0 < alpha < 1."""
    gamma, alpha = Fraction(gamma), Fraction(alpha)
    square = alpha * alpha * gamma * n

    def delta() -> flint.arb:
        return (-ball(square / 8)).exp() + (-ball(square / (8 + 2 * alpha))).exp()

    return narrow(lambda: ball((1 + alpha) / (1 - alpha)).log(), _LEMMA), narrow(delta, _LEMMA)


_LEMMA = "GGKPV Lemma 4.12"


def smoothness_of_binomial(n: int, gamma: Number, k: int, alpha: Number) -> tuple[Enclosure, Enclosure]:
    r"""GGKPV Lemma 4.12: Bin(n, gamma) is (epsilon, delta, k)-smooth with

    .. math:: \varepsilon = \ln\frac{1+\alpha}{1-\alpha}, \qquad
              \delta = e^{-\alpha^2 \gamma n / 8} + e^{-\alpha^2 \gamma n / (8 + 2\alpha)}

    An upper bound, valid but not tight: `smooth_delta` is exact. A shift by k has k times this epsilon.
    Source: GGKPV Lemma 4.12, proof in its Appendix C: a Chernoff bound confines Y to
    :math:`(1 \pm \alpha/2) \gamma n`, where k more steps stay within :math:`(1 \pm \alpha) \gamma n`.

    Epsilon in nats per unit of shift, and delta. Raises ValueError that names the hypothesis that fails.
    """
    found = f"n={n}, gamma={float(gamma):g}, k={k}, alpha={float(alpha):g}"
    require(_LEMMA, smoothness_hypotheses(n, gamma, k, alpha), found)
    return lemma_4_12(n, gamma, alpha)


def smooth_noise_guarantee(
    epsilon: Enclosure, delta: Enclosure, sensitivity: int, incremental: int, smooth_to: int
) -> tuple[Enclosure, Enclosure]:
    r"""GGKPV Lemma 4.11: f plus iid smooth noise on its coordinates is :math:`(\varepsilon\Delta, \delta\Delta)`-DP.

    An upper bound, by a union over the coordinates that change. Source: GGKPV Lemma 4.11.

    `sensitivity` is :math:`\Delta`, the largest l1 distance of f on neighbours, and `incremental` the largest change of one
    coordinate. Replacing a user who holds k values in a sketch of tau rows changes tau k counters up and tau k down. Only ``high``
    is the lemma's. Raises ValueError that names the hypothesis that fails.
    """
    if incremental > smooth_to:
        raise ValueError(
            f"GGKPV Lemma 4.11 needs noise that is smooth to k >= {incremental}, the largest change of a coordinate, "
            f"got k={smooth_to}"
        )
    if sensitivity < incremental:
        raise ValueError(
            f"GGKPV Lemma 4.11 needs sensitivity >= {incremental}, the largest change of a coordinate, got {sensitivity}"
        )
    promises = (Fraction(end.high) * sensitivity for end in (epsilon, delta))
    first, second = (Enclosure.of(0, p, rigour=Rigour.INTERVAL, source="GGKPV Lemma 4.11") for p in promises)
    return first, second


def smallest_gamma(n: int, k: int, epsilon: Number, delta: Number) -> Fraction:
    """Smallest gamma found at which a count of sensitivity k plus Bin(n, gamma) is (epsilon, delta)-DP.

    Certified at the returned value, which is dyadic; at a gamma smaller by a relative 2**-40 it is refused. It is not proved
    that every smaller gamma fails: the search assumes that a larger gamma has a smaller delta. Raises ValueError where even
    gamma = 1/2 does not reach the target.
    """
    require_epsilon(epsilon)
    require_delta(delta)

    def cost(gamma: Fraction) -> float:
        return ShiftProfile(n, gamma, k).delta(epsilon).high

    high = Fraction(1, 2)
    if cost(high) > delta:
        raise ValueError(f"out of reach: with n={n}, gamma = 1/2 gives delta {cost(high):g}, above {float(delta):g}")
    low = high / 2
    while cost(low) <= delta:
        low, high = low / 2, low
    step = (high - low) / 2
    # One binary digit at a time, so that the result has few digits.
    while step > high / 2**_GAMMA_BITS:
        if cost(high - step) <= delta:
            high -= step
        step /= 2
    return high
