r"""The binomial mechanism of cpSGD: its published (epsilon, delta), to stand beside the exact one.

cpSGD is Agarwal, Suresh, Yu, Kumar, McMahan 2018, "cpSGD: Communication-efficient and differentially-private distributed
SGD". The text of its Theorem 1 was not at hand: the formula is as draft-case-ppm-binomial-dp-01 of the IETF restates it
(for p = 1/2) and as public implementations compute it (for any p), and they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.claim import Hypothesis, require
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure
from ldpaudit.profile import Number

_THEOREM = "cpSGD Theorem 1"
_PRECISION = 128
"""Bits in which hypotheses are decided."""


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
    require(_THEOREM, cpsgd_hypotheses(trials, p, change, delta), found)
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
    return narrow(lambda: _epsilon(trials * p * (1 - p), p, change, delta), _THEOREM)


def _epsilon(variance: Fraction, p: Fraction, change: Change, delta: Fraction) -> flint.arb:
    squares, cubes = p**2 + (1 - p) ** 2, p**3 + (1 - p) ** 3
    b, d = Fraction(2, 3) * squares + 1 - 2 * p, Fraction(4, 3) * squares
    c = flint.arb(2).sqrt() * ball(3 * cubes + 2 * squares)
    far, tail = ball(Fraction(5, 4) / delta).log(), ball(10 / delta).log()
    l2, v = flint.arb(change.squared).sqrt(), ball(variance)
    normal = l2 * (2 * far / v).sqrt()
    second = (l2 * c * tail.sqrt() + change.total * ball(b)) / (v * ball(1 - delta / 10))
    third = change.largest * (2 * far / 3 + ball(d) * ball(20 * change.dimension / delta).log() * tail) / v
    return normal + second + third
