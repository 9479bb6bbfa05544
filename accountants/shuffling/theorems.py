r"""Published closed forms of what shuffling buys: what people cite, to stand beside the certified value.

Each checks its theorem's hypotheses and raises a ValueError that names the one that fails. Each returns an enclosure of the
quantity that it bounds, from 0 to the formula's value rounded up. ``claims/published/shuffled`` lists them beside the certified
value: a row there shows a new one in ``ldpaudit account ... --compare`` and in docs/literature.md, which has their ratios.
"""

from collections.abc import Callable
from fractions import Fraction

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.shuffling.blanket import precision
from ldpaudit.accountants.shuffling.clones import TOLERANCE, among
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, bracket, require_delta, require_epsilon


def efmrtt19(epsilon0: Number, users: int, delta: Number) -> Enclosure:
    r"""Central epsilon of n shuffled epsilon0-LDP reports.

    .. math:: \varepsilon = 12\, \varepsilon_0 \sqrt{\log(1/\delta)/n}

    An upper bound, not tight. Source: Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta 2019, theorem 7.

    For n of 1000 at least, and delta of 1/100 at most. In nats; INTERVAL. Raises ValueError where a hypothesis fails.
    """
    name = "Erlingsson et al. 2019"
    _require(name, "0 < epsilon0 <= 1/2", 0 < epsilon0 <= Fraction(1, 2), epsilon0=epsilon0)
    _require(name, "n >= 1000", users >= 1000, users=users)
    _require(name, "0 < delta <= 1/100", 0 < delta <= Fraction(1, 100), delta=delta)
    with working_precision(precision(users)):
        value = 12 * ball(Fraction(epsilon0)) * (-ball(Fraction(delta)).log() / users).sqrt()
        return _at_most(value, f"{name}: 12 epsilon0 sqrt(log(1/delta)/n)")


def fmt21(epsilon0: Number, users: int, delta: Number) -> Enclosure:
    r"""Central epsilon of n shuffled epsilon0-LDP reports.

    .. math:: \varepsilon = \log\Bigl(1 + \frac{e^{\varepsilon_0} - 1}{e^{\varepsilon_0} + 1}
              \Bigl(\frac{8 \sqrt{e^{\varepsilon_0} \log(4/\delta)}}{\sqrt n} + \frac{8 e^{\varepsilon_0}}{n}\Bigr)\Bigr)

    An upper bound, not tight: the clones from which it is derived are computed in `clones`.
    Source: Feldman, McMillan, Talwar 2021, theorem 3.1.

    For :math:`\varepsilon_0 \le \log(n / (16 \log(2/\delta)))`. In nats; INTERVAL. Raises ValueError where a hypothesis fails.
    """
    name = "Feldman, McMillan, Talwar 2021"
    _require(name, "0 < epsilon0", epsilon0 > 0, epsilon0=epsilon0)
    _require(name, "0 < delta < 1", 0 < delta < 1, delta=delta)
    with working_precision(precision(users)):
        most = (ball(users) / (16 * (2 / ball(Fraction(delta))).log())).log()
        fits = bool(ball(Fraction(epsilon0)) <= most)
        _require(name, "epsilon0 <= log(n / (16 log(2/delta)))", fits, epsilon0=epsilon0, users=users, delta=delta)
        e0 = ball(Fraction(epsilon0)).exp()
        root = (e0 * (4 / ball(Fraction(delta))).log() / users).sqrt()
        value = (1 + (e0 - 1) / (e0 + 1) * (8 * root + 8 * e0 / users)).log()
        return _at_most(value, f"{name}: closed form of theorem 3.1")


def bbgn19_hoeffding(epsilon0: Number, users: int, epsilon: Number, k: int | None = None) -> Enclosure:
    r"""Delta at epsilon of n shuffled reports, by Hoeffding's inequality in the blanket.

    .. math:: \delta = \frac{1}{\gamma n} \frac{b^2}{4a} \bigl(1 - \gamma(1 - e^{-2a^2/b^2})\bigr)^n, \qquad
              a = e^\varepsilon - 1

    For any epsilon0-LDP report, :math:`\gamma = e^{-\varepsilon_0}` and
    :math:`b = (e^\varepsilon + 1)(e^{\varepsilon_0} - e^{-\varepsilon_0})`; for k-ary randomized response,
    :math:`\gamma = k/(e^{\varepsilon_0} + k - 1)` and :math:`b = (1 - \gamma) k (e^\varepsilon + 1)`. An upper bound, not
    tight. Source: Balle, Bell, Gascon, Nissim 2019, theorem 5.3 and section 5. Checked: for W in an interval of length b
    with mean -a, :math:`E(\sum_{i \le m} W_i)_+ \le \int_0^\infty e^{-2(ma+t)^2/(mb^2)} dt \le \frac{b^2}{4a} e^{-2ma^2/b^2}`.

    `k` is None for any report. A probability; INTERVAL. Raises ValueError where a hypothesis fails.
    """
    name = "Balle et al. 2019, Hoeffding"
    _require_blanket(name, epsilon0, users, epsilon, k)
    with working_precision(precision(users)):
        e0, e = ball(Fraction(epsilon0)).exp(), ball(Fraction(epsilon)).exp()
        gamma = 1 / e0 if k is None else k / (e0 + k - 1)
        a, b = e - 1, (e + 1) * (e0 - 1 / e0 if k is None else (1 - gamma) * k)
        value = b * b / (4 * a) * (1 + gamma * (-2 * a * a / (b * b)).expm1()) ** users / (gamma * users)
        return _at_most(value, f"{name}, {_whose(k)}").clamp(0.0, 1.0)


def bbgn19_bennett(epsilon0: Number, users: int, epsilon: Number, k: int | None = None) -> Enclosure:
    r"""Delta at epsilon of n shuffled reports, by Bennett's inequality in the blanket.

    .. math:: \delta = \frac{1}{\gamma n} \frac{b_+}{\log(1+\beta)}
              \Bigl(\bigl(1 - \gamma(1 - e^{-\alpha\phi(\beta)})\bigr)^n - (1-\gamma)^n\Bigr), \qquad
              \alpha = \frac{c}{b_+^2}, \; \beta = \frac{a b_+}{c}, \; \phi(u) = (1+u)\log(1+u) - u

    with :math:`a = e^\varepsilon - 1`. For k-ary randomized response :math:`\gamma = k/(e^{\varepsilon_0}+k-1)`,
    :math:`b_+ = \gamma(1-e^\varepsilon) + (1-\gamma)k`,
    :math:`c = \gamma(2-\gamma)(e^\varepsilon-1)^2 + (1-\gamma)^2 k (e^{2\varepsilon}+1)`; for any report
    :math:`\gamma = e^{-\varepsilon_0}`, :math:`b_+ = e^{\varepsilon_0}(1 - e^{\varepsilon - 2\varepsilon_0})`,
    :math:`c = e^{\varepsilon_0}(e^{2\varepsilon}+1) - 2\gamma e^{\varepsilon-2\varepsilon_0}`. An upper bound, not tight.
    Source: Balle, Bell, Gascon, Nissim 2019, theorem 5.4 and section 5. Checked: for W of mean -a, at most b+, with
    :math:`E W^2 \le c`, :math:`E e^{\lambda W} \le \exp(-\lambda a + \alpha(e^{\lambda b_+} - 1 - \lambda b_+))`, and at
    :math:`\lambda = \log(1+\beta)/b_+` the tail beyond t is :math:`e^{-m\alpha\phi(\beta)} e^{-\lambda t}`.

    For ``epsilon < epsilon0``, so that W can be positive. Else as `bbgn19_hoeffding`.
    """
    name = "Balle et al. 2019, Bennett"
    _require_blanket(name, epsilon0, users, epsilon, k)
    _require(name, "epsilon < epsilon0", epsilon < epsilon0, epsilon=epsilon, epsilon0=epsilon0)
    with working_precision(precision(users)):
        e0, e = ball(Fraction(epsilon0)).exp(), ball(Fraction(epsilon)).exp()
        if k is None:
            gamma = 1 / e0
            most, square = e0 - e / e0, e0 * (e * e + 1) - 2 * gamma * e / e0**2
        else:
            gamma = k / (e0 + k - 1)
            most = gamma * (1 - e) + (1 - gamma) * k
            square = gamma * (2 - gamma) * (e - 1) ** 2 + (1 - gamma) ** 2 * k * (e * e + 1)
        beta = (e - 1) * most / square
        rate = square / most**2 * ((1 + beta) * (1 + beta).log() - beta)
        among = (1 + gamma * (-rate).expm1()) ** users - (1 - gamma) ** users
        value = most / (1 + beta).log() * among / (gamma * users)
        return _at_most(value, f"{name}, {_whose(k)}").clamp(0.0, 1.0)


def bbgn19_gamma(k: int, users: int, epsilon: Number, delta: Number) -> Enclosure:
    r"""How often a report must be replaced by a uniform draw, for shuffled k-ary randomized response.

    .. math:: \gamma = \max\Bigl(\frac{14 k \log(2/\delta)}{(n-1)\varepsilon^2}, \frac{27 k}{(n-1)\varepsilon}\Bigr)

    suffices for (epsilon, delta). Not tight. Source: Balle, Bell, Gascon, Nissim 2019, theorem 3.1.

    INTERVAL. Raises ValueError where a hypothesis fails, or that gamma exceeds 1.
    """
    name = "Balle et al. 2019, theorem 3.1"
    _require(name, "k >= 2 and n >= 2", k >= 2 and users >= 2, k=k, users=users)
    _require(name, "0 < epsilon <= 1", 0 < epsilon <= 1, epsilon=epsilon)
    _require(name, "0 < delta < 1", 0 < delta < 1, delta=delta)
    with working_precision(precision(users)):
        e = ball(Fraction(epsilon))
        log = (2 / ball(Fraction(delta))).log()
        gamma = (14 * k * log / ((users - 1) * e * e)).max(27 * k / ((users - 1) * e))
        _require(name, "gamma <= 1", bool(gamma <= 1), k=k, users=users, epsilon=epsilon, delta=delta)
        return _at_most(gamma, f"{name}: the uniform draws that suffice")


def stronger_clone_conjecture(epsilon0: Number, users: int, epsilon: Number) -> Enclosure:
    r"""CONJECTURE, which certifies nothing: delta at epsilon if others were clones more often.

    With probability :math:`2/(1 + e^{\varepsilon_0})` in place of :math:`e^{-\varepsilon_0}`. Source: Feldman, McMillan,
    Talwar 2022, theorems 3.1 and 3.2, whose proof for general randomizers has an erratum. It is a theorem for binary
    randomized response, whose two answers do not overlap; published tables use it for others as well.

    A probability; FLOAT, so that no verdict rests on it.
    """
    require_epsilon(epsilon)
    _require("the stronger clone", "0 < epsilon0 and n >= 1", epsilon0 > 0 and users >= 1, epsilon0=epsilon0, users=users)
    source = "CONJECTURE: the stronger clone of Feldman, McMillan, Talwar 2022 (erratum)"
    if epsilon >= epsilon0:
        return Enclosure(0.0, 0.0, Rigour.FLOAT, source)
    with working_precision(precision(users)):
        e0 = ball(Fraction(epsilon0))
        value = among(e0, 2 / (1 + e0.exp())).delta(ball(Fraction(epsilon)).exp(), users, TOLERANCE)
        return Enclosure.of(value, rigour=Rigour.FLOAT, source=source).clamp(0.0, 1.0)


def epsilon_of(delta_of: Callable[[float], Enclosure], delta: Number) -> Enclosure:
    """The epsilon at which a formula for delta reaches `delta`, rounded up; the formula falls with epsilon."""
    require_delta(delta)
    found = bracket(lambda epsilon: delta_of(epsilon).high <= delta)[1]
    at = delta_of(found)
    return Enclosure(0.0, found, at.rigour, at.source)


def _require_blanket(name: str, epsilon0: Number, users: int, epsilon: Number, k: int | None) -> None:
    _require(name, "0 < epsilon0", epsilon0 > 0, epsilon0=epsilon0)
    _require(name, "n >= 1", users >= 1, users=users)
    _require(name, "0 < epsilon", epsilon > 0, epsilon=epsilon)
    _require(name, "k >= 2", k is None or k >= 2, k=k)


def _require(theorem: str, hypothesis: str, holds: bool, **found: object) -> None:
    if not holds:
        values = ", ".join(f"{key}={value}" for key, value in found.items())
        raise ValueError(f"{theorem} needs {hypothesis}, got {values}")


def _whose(k: int | None) -> str:
    return "any report" if k is None else f"{k}-ary randomized response"


def _at_most(value: flint.arb, source: str) -> Enclosure:
    return Enclosure.of(0, value, rigour=Rigour.INTERVAL, source=source)
