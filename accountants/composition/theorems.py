r"""Published composition theorems as formulas, to stand beside the certified value; upper bounds, none of them tight.

Every function returns the theorem's bound as ``high``, rounded up; the theorem gives no lower bound, hence ``low = 0``.
Hypotheses are checked: a ValueError names the one that fails. All theorems hold for adaptively chosen inputs. T is `times`, k
`changed`, :math:`\delta'` `slack`; epsilons are in nats.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.claim import Hypothesis, require
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number


def basic(parts: Sequence[tuple[Number, Number]]) -> tuple[Enclosure, Enclosure]:
    r"""Parts that are :math:`(\varepsilon_i, \delta_i)`-private are, together, private with the sums of both.

    Source: Dwork, Kenthapadi, McSherry, Mironov, Naor 2006.
    """
    name = "basic composition"
    for epsilon, delta in parts:
        require_part(name, epsilon, delta)
    total = sum((Fraction(epsilon) for epsilon, _ in parts), Fraction(0))
    total_delta = min(Fraction(1), sum((Fraction(delta) for _, delta in parts), Fraction(0)))
    return upper(lambda: ball(total), name), upper(lambda: ball(total_delta), name)


def drv10(times: int, epsilon: Number, delta: Number, slack: Number) -> tuple[Enclosure, Enclosure]:
    r"""Advanced composition of T :math:`(\varepsilon, \delta)`-private parts.

    .. math:: \varepsilon' = \sqrt{2 T \ln(1/\delta')}\,\varepsilon + T \varepsilon (e^\varepsilon - 1), \qquad
              T \delta + \delta'

    Source: Dwork, Rothblum, Vadhan 2010, Theorem III.3. It follows from the third bound of `kov`, whose mean is smaller
    by the factor :math:`1/(e^\varepsilon + 1)`, and whose delta is at most the sum of the deltas.
    """
    name = "DRV10 Theorem III.3"
    require_part(name, epsilon, delta, times)
    require_slack(name, slack)
    e, d = Fraction(epsilon), Fraction(delta)

    def value() -> flint.arb:
        return root(2 * times, slack) * ball(e) + times * ball(e) * ball(e).expm1()

    return upper(value, name), upper(lambda: ball(min(Fraction(1), times * d + Fraction(slack))), name)


def hkr12(times: int, epsilon: Number, slack: Number) -> Enclosure:
    r"""T :math:`\varepsilon'`-private parts are :math:`(\varepsilon' \sqrt{8 T \ln(1/\delta)}, \delta)`-private.

    Source: Hsu, Khanna, Roth 2012, Theorem 2.5, whose only hypotheses are epsilon, delta in (0, 1). These do not
    suffice where delta is near 1. With :math:`\ln(1/\delta) \ge \varepsilon/2` in addition it follows from `drv10`,
    whose bound is :math:`\varepsilon/2 + T\varepsilon'(e^{\varepsilon'}-1)`: the second term is at most
    :math:`2T\varepsilon'^2 = \varepsilon^2/(4\ln(1/\delta)) \le \varepsilon/2`, for :math:`\varepsilon' \le 1`.
    """
    name = "HKR12 Theorem 2.5"
    require_part(name, epsilon, 0, times)
    require_slack(name, slack)
    found = f"epsilon'={float(epsilon):g}, T={times}, delta={float(slack):g}"
    require(name, hkr12_hypotheses(times, epsilon, slack), found)
    return upper(lambda: hkr12_growth(times, slack) * ball(Fraction(epsilon)), name)


def hkr12_growth(times: int, slack: Number) -> flint.arb:
    r"""The factor :math:`\sqrt{8 T \ln(1/\delta)}` of HKR12 Theorem 2.5, at the current precision."""
    return root(8 * times, slack)


def hkr12_hypotheses(times: int, epsilon: Number, slack: Number) -> tuple[Hypothesis, ...]:
    """Hypotheses under which HKR12 Theorem 2.5 is a theorem, and whether each holds; the last is added, see `hkr12`."""
    with working_precision(128):
        total = hkr12_growth(times, slack) * ball(Fraction(epsilon))
        enough = bool(-ball(Fraction(slack)).log() >= total / 2)
        return (
            Hypothesis("epsilon' <= 1", epsilon <= 1),
            Hypothesis(f"a total epsilon below 1, not {float(total):g}", bool(total < 1)),
            Hypothesis(f"ln(1/delta) >= epsilon/2 = {float(total) / 2:g} (not stated)", enough),
        )


def kov(parts: Sequence[tuple[int, Number, Number]], slack: Number) -> tuple[Enclosure, Enclosure]:
    r"""Closed form for parts that are :math:`(\varepsilon_i, \delta_i)`-private, each run :math:`n_i` times.

    The least of three:

    .. math:: \sum n_i \varepsilon_i, \quad
              \mu + s\sqrt{2\ln(e + s/\delta')}, \quad \mu + s\sqrt{2\ln(1/\delta')}, \qquad
              \mu = \sum n_i \varepsilon_i\,\frac{e^{\varepsilon_i}-1}{e^{\varepsilon_i}+1}, \quad
              s^2 = \sum n_i \varepsilon_i^2

    at delta :math:`1 - (1-\delta') \prod (1-\delta_i)^{n_i}`. Source: Kairouz, Oh, Viswanath 2015, Theorems 3.4 and
    3.5. Proof: the loss L of randomized responses has mean mu, and :math:`P[L > \mu + t] \le e^{-t^2/2s^2}` by
    Hoeffding. Delta at :math:`\mu + t` is at most that, and also
    :math:`\int_0^\infty e^{-u} P[L > \mu+t+u]\,du \le e^{-t^2/2s^2}/(1 + t/s^2)`, which for the second t is at most
    :math:`\delta'/(s + t/s) \le \delta'`.
    """
    name = "KOV15 Theorems 3.4 and 3.5"
    for times, epsilon, delta in parts:
        require_part(name, epsilon, delta, times)
    require_slack(name, slack)

    def epsilon_ball() -> flint.arb:
        mean = square = total = flint.arb(0)
        for times, epsilon, _ in parts:
            e = ball(Fraction(epsilon))
            mean, square, total = mean + times * e * (e / 2).tanh(), square + times * e * e, total + times * e
        s, d = square.sqrt(), ball(Fraction(slack))
        widths = ((2 * (flint.arb(1).exp() + s / d).log()).sqrt(), root(2, slack))
        return total.min(mean + s * widths[0]).min(mean + s * widths[1])

    def delta_ball() -> flint.arb:
        kept = ball(-Fraction(slack)).log1p()
        for times, _, delta in parts:
            kept += times * ball(-Fraction(delta)).log1p()
        return -kept.expm1()

    return upper(epsilon_ball, name), upper(delta_ball, name)


def advanced_grouposition(changed: int, epsilon: Number, slack: Number) -> Enclosure:
    r"""Reports of users, each :math:`\varepsilon`-LDP and independent of the others, where k of the users change.

    .. math:: \varepsilon' = \frac{k \varepsilon^2}{2} + \varepsilon \sqrt{2 k \ln(1/\delta)}

    at delta. Not tight; see `grouposition` for what its proof gives. Source: Bun, Nelson, Stemmer 2018, from memory.
    """
    name = "BNS18 advanced grouposition"
    require_part(name, epsilon, 0, changed)
    require_slack(name, slack)
    e = Fraction(epsilon)
    return upper(lambda: changed * ball(e) ** 2 / 2 + ball(e) * root(2 * changed, slack), name)


def grouposition(changed: int, epsilon: Number, slack: Number) -> Enclosure:
    r"""The least that the proof of `advanced_grouposition` gives, and k times epsilon.

    .. math:: \min\Bigl(k \varepsilon,\; k \varepsilon \tanh\frac{\varepsilon}{2}
              + \varepsilon \sqrt{2 k \ln(1/\delta)}\Bigr)

    Proof: the loss of a changed user lies in :math:`[-\varepsilon, \varepsilon]`, and its mean is at most that of randomized
    response, :math:`\varepsilon \tanh(\varepsilon/2) \le \varepsilon^2/2`; the losses are independent, so Hoeffding's
    inequality bounds the probability that their sum exceeds the second term. Not tight. Source: as above; the third bound
    of `kov` for equal parts is the same.
    """
    name = "grouposition"
    require_part(name, epsilon, 0, changed)
    require_slack(name, slack)
    e = Fraction(epsilon)

    def value() -> flint.arb:
        return (changed * ball(e)).min(changed * ball(e) * (ball(e) / 2).tanh() + ball(e) * root(2 * changed, slack))

    return upper(value, name)


def upper(value: Callable[[], flint.arb], source: str) -> Enclosure:
    """A theorem's upper bound as an enclosure: from 0 to the value, rounded up; INTERVAL."""
    return Enclosure(0.0, narrow(value, source).high, Rigour.INTERVAL, source)


def root(factor: int, slack: Number) -> flint.arb:
    """``sqrt(factor log(1/slack))``, at the current precision."""
    return (factor * -ball(Fraction(slack)).log()).sqrt()


def require_part(name: str, epsilon: Number, delta: Number, times: int = 1) -> None:
    """Raise ValueError unless a part is an (epsilon, delta)-guarantee that runs at least once."""
    if times < 1:
        raise ValueError(f"{name} needs at least one run, got {times}")
    if not (epsilon >= 0 and math.isfinite(epsilon)):
        raise ValueError(f"{name} needs a finite epsilon >= 0, got {epsilon!r}")
    if not 0 <= delta < 1:
        raise ValueError(f"{name} needs 0 <= delta < 1, got {delta!r}")


def require_slack(name: str, slack: Number) -> None:
    """Raise ValueError unless the slack lies in (0, 1)."""
    if not 0 < slack < 1:
        raise ValueError(f"{name} needs a slack delta in (0, 1), got {slack!r}")
