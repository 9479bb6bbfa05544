r"""What papers promise of binomial noise, as formulas with their hypotheses: smooth noise (GGKPV Definition 4.2), and cpSGD.

*Smooth noise*. A law D on the integers is :math:`(\varepsilon, \delta, k)`-smooth if for every k' with :math:`1 \le |k'| \le k`

.. math:: P_{Y \sim D}\left[\frac{P_D(Y)}{P_D(Y + k')} \ge e^{|k'|\varepsilon}\right] \le \delta

(the printed range of k' includes 0, where the event is certain). The factor :math:`|k'|` belongs to the definition: a
shift by k has epsilon :math:`k\varepsilon`. For a log-concave law the worst k' is k or -k, because the mean of the k'
log-ratios between Y and Y + k' grows with k'.

GGKPV is Ghazi, Golowich, Kumar, Pagh, Velingker 2019.

*cpSGD*. cpSGD is Agarwal, Suresh, Yu, Kumar, McMahan 2018, "cpSGD: Communication-efficient and differentially-private distributed
SGD". The text of its Theorem 1 was not at hand: the formula is as draft-case-ppm-binomial-dp-01 of the IETF restates it
(for p = 1/2) and as public implementations compute it (for any p), and they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow, narrow_enough
from ldpaudit.claim import Hypothesis, require
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, require_delta, require_epsilon

_GAMMA_BITS = 40
"""The search for gamma ends at a relative step of 2**-40, on the safe side."""
_CPSGD = "cpSGD Theorem 1"
_PRECISION = 128
"""Bits in which hypotheses are decided."""


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
    while cost(high / 2) <= delta:
        high /= 2
    step = high / 4
    # One binary digit at a time, so that the result has few digits.
    while step > high / 2**_GAMMA_BITS:
        if cost(high - step) <= delta:
            high -= step
        step /= 2
    return high


@dataclass(frozen=True, slots=True)
class Change:
    r"""By how much a vector of integers differs on neighbours, in units of the noise's steps."""

    total: int  # bounds of :math:`\Delta_1`, :math:`\Delta_2^2` and :math:`\Delta_\infty`, at least 0
    squared: int
    largest: int
    dimension: int  # d, at least 1

    @classmethod
    def of_one_count(cls, sensitivity: int) -> Change:
        """One count that differs by so much."""
        return cls(sensitivity, sensitivity**2, sensitivity, 1)


def cpsgd_as_printed(trials: int, p: Number, change: Change, delta: Number) -> Enclosure:
    r"""A vector of integers with Bin(N, p) added to each is claimed to be (epsilon, delta)-private with, for V = N p (1 - p),

    .. math:: \varepsilon = \frac{\Delta_2 \sqrt{2 \ln(1.25/\delta)}}{\sqrt V}
              + \frac{\Delta_2 c_p \sqrt{\ln(10/\delta)} + \Delta_1 b_p}{V (1 - \delta/10)}
              + \frac{\Delta_\infty \bigl(\tfrac23 \ln(1.25/\delta) + d_p \ln(20 d/\delta) \ln(10/\delta)\bigr)}{V}

    .. math:: b_p = \tfrac23 (p^2 + q^2) + 1 - 2p, \quad c_p = \sqrt2 \bigl(3 p^3 + 3 q^3 + 2 p^2 + 2 q^2\bigr), \quad
              d_p = \tfrac43 (p^2 + q^2), \quad q = 1 - p

    A claim to be judged, no bound to rely on; `binomial_noise` is exact for one count. The hypothesis p <= 1/2 is added to those
    that are restated, because b_p falls below 0 for larger p (count the tosses that add nothing). The claim is false for some
    epsilons above 1, for it has no term in :math:`\Delta_2^2/V`, as the classical bound of Gaussian noise has none, from which its
    first term comes: of N = 2000 fair coins, a sensitivity of 223 and delta = 1/100 it is 51.1, and the noisy count is at least
    1226 with probability 0.455 on one data set and 2.1e-24 on another: 0.455 > e**51.1 * 2.1e-24 + 1/100. Source: Agarwal,
    Suresh, Yu, Kumar, McMahan 2018, Theorem 1, as restated in draft-case-ppm-binomial-dp-01.

    Epsilon in nats: the formula's value. Raises ValueError that names the hypothesis that fails.
    """
    found = f"N={trials}, p={float(p):g}, {change}, delta={float(delta):g}"
    require(_CPSGD, cpsgd_hypotheses(trials, p, change, delta), found)
    return cpsgd_epsilon(trials, p, change, delta)


def cpsgd_hypotheses(trials: int, p: Number, change: Change, delta: Number) -> tuple[Hypothesis, ...]:
    """Hypotheses of cpSGD's Theorem 1, and whether each holds."""
    p, delta = Fraction(p), Fraction(delta)
    ranges = Hypothesis("0 < p <= 1/2 and 0 < delta < 1", 0 < p <= Fraction(1, 2) and 0 < delta < 1)
    if not ranges.holds:
        return (ranges,)
    variance = trials * p * (1 - p)
    with working_precision(_PRECISION):
        enough = bool(ball(variance) >= 23 * ball(10 * change.dimension / delta).log())
    return (
        ranges,
        Hypothesis(f"N p (1 - p) = {float(variance):g} >= 23 ln(10 d/delta)", enough),
        Hypothesis(f"N p (1 - p) = {float(variance):g} >= 2 Delta_inf", variance >= 2 * change.largest),
    )


def cpsgd_epsilon(trials: int, p: Number, change: Change, delta: Number) -> Enclosure:
    """The epsilon of cpSGD's Theorem 1, whether or not its hypotheses hold; for 0 < p < 1 and 0 < delta < 1."""
    p, delta = Fraction(p), Fraction(delta)
    return narrow(lambda: _cpsgd_ball(trials * p * (1 - p), p, change, delta), _CPSGD)


def _cpsgd_ball(variance: Fraction, p: Fraction, change: Change, delta: Fraction) -> flint.arb:
    squares, cubes = p**2 + (1 - p) ** 2, p**3 + (1 - p) ** 3
    b, d = Fraction(2, 3) * squares + 1 - 2 * p, Fraction(4, 3) * squares
    c = flint.arb(2).sqrt() * ball(3 * cubes + 2 * squares)
    far, tail = ball(Fraction(5, 4) / delta).log(), ball(10 / delta).log()
    l2, v = flint.arb(change.squared).sqrt(), ball(variance)
    normal = l2 * (2 * far / v).sqrt()
    second = (l2 * c * tail.sqrt() + change.total * ball(b)) / (v * ball(1 - delta / 10))
    third = change.largest * (2 * far / 3 + ball(d) * ball(20 * change.dimension / delta).log() * tail) / v
    return normal + second + third


def balcer_cheu(trials: int, gamma: Number, delta: Number) -> Enclosure:
    r"""A count of bits with Bin(n, gamma) added is (epsilon, delta)-private for

    .. math:: \gamma = \frac{50}{\varepsilon^2 n} \ln\frac{2}{\delta}, \qquad n \ge \frac{100}{\varepsilon^2} \ln\frac{2}{\delta}

    where one bit changes; the second says that gamma is 1/2 at most. An upper bound, not tight. Source: Balcer, Cheu 2020, section
    3, as public notes on it restate it; `ShiftProfile` is the truth.
    """
    name, delta = "Balcer, Cheu 2020", Fraction(delta)
    if not (0 < gamma <= Fraction(1, 2) and 0 < delta < 1):
        raise ValueError(f"{name} needs 0 < gamma <= 1/2 and 0 < delta < 1, got gamma={float(gamma):g}, delta={float(delta):g}")
    found = narrow(lambda: (50 * (2 / ball(delta)).log() / (trials * ball(Fraction(gamma)))).sqrt(), name)
    if not found.high <= 1:
        raise ValueError(f"{name} needs epsilon <= 1, got {found.high:.4g}")
    return Enclosure(0.0, found.high, Rigour.INTERVAL, name)
