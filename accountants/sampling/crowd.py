r"""Other users' prefixes over several rounds: how much they tell of one user, bounded by moments for all data sets at once.

P is the law of a release without the user, and R with the user in the sample, so that :math:`P' = (1-q) P + q R`. A prefix is *on
the verge* in a sample where it has exactly theta - 1 votes, and *critical* where it has theta; w_g users hold prefix g.

**A round in which the user does not vote.** S is a sample of m - 1 of n others, and :math:`\beta(S)` the share on the verge of
those not drawn. Give the mass of S to S and one user more, drawn from those whose prefix is not on the verge: what is released
stays the same. So R is what is released of a law of samples B of m, whose density with respect to P is

.. math:: \xi(B) = \frac1m \sum_{v \in B} \frac{1[T(B - v) = T(B)]}{1 - \beta(B - v)} \le \frac{1 - a}{1 - \beta'}, \qquad
          \beta' = \sum_{g:\, N_g = \theta - 1} \frac{w_g - \theta + 1}{n - m + 1}, \quad a = \sum_{g:\, N_g = \theta} \frac\theta m

Where :math:`1 - \beta(S) < 1/\kappa`, only the part :math:`\kappa(1 - \beta(S))` of the mass is given on: then
:math:`\xi \le (1 - a) \min(1/(1 - \beta'), \kappa)`, and :math:`E(1 - \kappa(1 - \beta))_+` is lost.

**A round in which the user votes** for a prefix of w others, released with the chances g and g'. Let j be the votes for it, the
user's among them: the other n - w users are a sample of m - j, under R as under P. Among the j of one outcome, released or not,
the ratio of R's mass of j to P's rises with j. So in R mass of samples of m - j - 1 is taken for one of samples of m - j, which
have the density :math:`\xi` in place of 1, until own votes have one ratio: in all :math:`P_j (m-j)/m` or less, for each j. The
ratio of P' to P is then

.. math:: \frac{g'}g + q \gamma_j (\xi - 1) \quad\text{or}\quad \frac{1 - g'}{1 - g} + q \gamma_j (\xi - 1), \qquad
          0 \le \gamma_j \le \frac{m - j}m

and own votes stay hidden.

**Moments.** With :math:`\bar v` the mean of :math:`\beta'` if votes were binomial, :math:`D = 1 - \bar v`, :math:`d = \beta' - a`
and :math:`x = \beta' - \bar v`

.. math:: \frac{1 - a}{1 - \beta'} - 1 = \frac{d}{D - x}, \qquad
          e^{\lambda d/(D - x)} \le e^{\lambda d/D} \Bigl(1 + \frac{C}{\tau^2} \bigl(2 \cosh \tau(\rho d + x/\rho) - 2\bigr)\Bigr)

for a C that is found (`_curvature`; of one user less, `log_moment_back`), as :math:`4 d x \le (\rho d + x/\rho)^2`. These are
exponentials of sums over prefixes. Votes are independent binomials, given their sum; by Cauchy's integral over the circle, for
:math:`f_w(z) = E z^N e^{c \beta'_w - \eta a_w - \nu \bar v_w}`,

.. math:: E e^{c \beta' - \eta a - \nu \bar v} \le \frac{1}{2\pi P[\mathrm{Bin}(n, p) = m]}
          \int \exp\Bigl(n \max_w \frac1w \ln|f_w(e^{it})|\Bigr) dt, \qquad p = \frac mn

for all w together are n users at most. In units of :math:`Y = \frac{p}{1-p}(w - \theta + 1)`, the exponent is m times what
depends on Y and :math:`\lambda/m` alone, but for factors of :math:`e^{O(p)}`: a bound of m draws, and of the largest p, holds for
fewer.

**Rounds.** A prefix that is released goes on with all its users, any other is lost. With :math:`e^{w\psi}` on
:math:`N \ge \theta` for a bound :math:`e^{n\psi}` of all later rounds, the same integral bounds them together. A sum of
exponentials of the users who are left is log-convex in their number: its logarithm is below the chord.

Others who hold the user's own prefix, w of them, go on with it: each adds psi, no more than one of the crowd does with a round
more. But of the crowd m - j are drawn, which may be more than its part :math:`m(n-w)/n` of the sample, by
:math:`(\mu - j)_+` for the mean :math:`\mu = mw/n` of j. With A nats for each draw that is, on average over j, a factor of

.. math:: E\,e^{A (\mu - j)_+} \le 1 + \frac{e^{A\mu} - 1}\mu E(\mu - j)_+ \le 1 + \frac{e^{A\mu} - 1}{2 \sqrt\mu}

at most, for j has a variance below mu; given that the prefix is released, j is larger.

Source: derived here; the density and what stays hidden are enumerated in tests/sampling, and moments compared with exact ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Row: TypeAlias = NDArray[np.float64]

_MOST_DRAWN = 0.5
"""Largest part of the users that is drawn: the bounds of binomial masses by those of Poisson's law lose it twice."""
_FINE, _COARSE = 200, 30
"""Intervals of Y up to four thresholds, and beyond: bounds of each are too large by its width."""
_NEAR, _FAR, _BETWEEN = 8.0, 45.0, 5
"""Products of draws and 1 - cos t up to which one chord bounds the integrand, and from which on it is all but 0; steps between."""
_BENT = 0.84
"""rho: about the root of the ratio of the deviations of x and d where prefixes have theta votes on average."""
_TAUS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
"""Scales tau at which d and x are compared, in the root of the number of thresholds in a sample."""
_LARGEST = 700.0  # nats whose exponential is a float
_ROOM = 1e-9
"""Relative room for the errors of some hundred operations on floats, each right to 1e-15, and of logarithms of masses."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """All data sets of `users` others and more, whose prefixes are on the verge or critical in samples of `most` or fewer."""

    threshold: int  # theta, at least 2
    most: int  # m
    fewest: int  # draws, at least theta: fewer are not looked at
    users: int  # the least number of users drawn from, more than `most`
    own: float = 0.0  # most expected votes for the user's own prefix

    @property
    def drawn(self) -> float:
        """The largest part of them, p."""
        return self.most / self.users

    @property
    def verge(self) -> float:
        """The largest expected share on the verge, if votes were binomial."""
        cells = _cells(self)
        return min(1.0, float((cells.masses * cells.weights * cells.high).max()))

    def is_enough(self, most: float) -> bool:
        """Whether densities up to kappa, `most`, leave room beside the expected share on the verge."""
        return self.drawn <= _MOST_DRAWN and self.verge * most < most - 1


@dataclass(frozen=True, slots=True)
class _Cells:
    """Intervals of Y, and bounds of what belongs to it there."""

    low: Row
    high: Row
    masses: Row  # of theta - 1 votes
    passed: Row  # of theta votes and more
    missed: Row  # of fewer than theta, where theta are few
    sizes: Row  # expected votes, and theta at least
    far: Row  # distance of theta - 1 and the expected votes
    weights: Row  # 1/pw


@lru_cache(maxsize=16)
def _cells(crowd: Crowd) -> _Cells:
    from scipy.special import gammainc, gammaln  # here: it takes a while to import

    theta, p = crowd.threshold, crowd.drawn
    edges = np.unique(np.concatenate([
        [0.0], np.geomspace(theta / 8, 4.0 * theta, _FINE), np.geomspace(4.0 * theta, 4.0 * theta + crowd.most / (1 - p), _COARSE)
    ]))  # fmt: skip
    low, high = edges[:-1], edges[1:]
    k, few = theta - 1, np.maximum(low, theta / 64)

    def log_mass(y: Row) -> Row:
        return np.asarray(k * np.log(y) - y - gammaln(k + 1))

    def excess(y: Row) -> Row:
        return np.asarray(p * np.maximum(0.0, y * (1 + p) / 2 - k + theta * k / (2 * y)))

    peak = np.where((low < k) & (k < high), log_mass(np.array([float(k)])), -np.inf)
    of_poisson = np.maximum(np.maximum(log_mass(few), log_mass(high)), peak) + np.maximum(excess(few), excess(high))
    mean = high + p * np.maximum(0.0, k - high)
    first = k * np.log(mean) - gammaln(k + 1)
    masses = np.exp(np.where(low > 0, np.minimum(of_poisson, first), first))
    passed = np.minimum(1.0, gammainc(theta, (high + p * np.maximum(0.0, k - low)) * (1 + p)) * (1 + _ROOM))
    least = np.maximum(low * (1 - p), k)
    missed = np.minimum(1.0, np.exp(k * (1 + np.log(least / k)) - least))
    weights = 1 / np.where(low > 0, low, high) / (1 - p * np.maximum(0.0, 1 - k / high))
    sizes, far = np.maximum(high, theta), np.maximum(abs(k - low), abs(k - high))
    return _Cells(low, high, np.minimum(masses, 1.0), passed, missed, sizes, far, weights)


@np.errstate(over="ignore", invalid="ignore")
def _integral(crowd: Crowd, c: float, eta: float, nu: float, later: float) -> tuple[float, float]:
    r"""Logarithm of a bound of the moment of draws times (c beta' - eta a - nu v).

    Its part that grows with the users who are left, and that of a factor.

    With :math:`q = 1 - \cos t`: terms of :math:`\ln|f_w|` are convex in q, so that those of small q lie below a chord.
    """
    from scipy.special import i0e  # here: it takes a while to import

    if c == eta == 0:  # no more than if all users are left
        return later, 0.0
    cells, theta, p = _cells(crowd), crowd.threshold, crowd.drawn
    m, k = crowd.most, crowd.fewest
    y, spread = cells.high, 1 / (crowd.users - m + 1)
    x = c * y
    if x[-1] > 300:
        return math.inf, math.inf
    bent = np.where(abs(x) > 0.01, np.expm1(x) - x, x * x / 2 * (1 + abs(x)))
    fall = -math.expm1(-eta * theta) / theta
    level = c - nu
    rising = cells.masses * (bent + max(0.0, level + abs(level) * spread - fall) * y)
    tilt = cells.masses * (abs(c - fall) + abs(c) * spread) * y
    apart, critical = cells.masses * bent + tilt, cells.masses * abs(fall) * y
    nats = cells.sizes * later / k  # of one prefix
    goes = np.expm1(np.minimum(nats, _LARGEST))
    growth = np.where(nats > 1e-9, goes / np.maximum(nats, 1e-9), 1 + nats)

    rest = cells.masses * (bent + (abs(c) + max(0.0, -nu)) * y) + critical + cells.missed * np.minimum(1.0, nats)

    first = _NEAR / k
    nodes = first * (_FAR / _NEAR) ** (np.arange(_BETWEEN + 1) / _BETWEEN)
    if nodes[-1] >= 1:
        return math.inf, math.inf
    q = np.concatenate([[0.0], nodes])[:, None]
    half = 2 * np.arcsin(np.sqrt(q / 2)) ** 2  # of t squared
    turns = cells.sizes / (1 - 2 * p * q) * q
    near = cells.low < 4 * theta
    if turns.max() > _LARGEST or nats[near].max() > _LARGEST:
        return math.inf, math.inf
    rise = np.exp(turns)
    # Below four thresholds ln|1 + u| is at most Re u + |u|**2/2: a sum of products of convex terms that rise from q = 0 on.
    off = cells.far + cells.sizes * half / 3  # as the argument of 1 - p + p e**it is next to pt: by p t**3/6 at most, for q <= 1
    gone = critical * goes * rise
    noise = rising * rise + tilt * (rise - 1 + half * off**2) + critical * rise * 2 * half * (off + 0.5)
    noise += gone * (1.0 if eta < 0 else np.maximum(0.0, half * (off + 1) ** 2 - 1))
    some = 1 + cells.missed * rise
    stays = np.where(some[1] < rise[1], some, rise)  # one of both for all q: their least is not convex
    noise += 0.6 * (rise * apart + goes * stays + gone) ** 2 + 6 * q * (rise * critical) ** 2
    turned = cells.passed + cells.missed * (rise - 1 + half * cells.sizes**2)
    stay = np.where(cells.low >= 2 * theta, np.minimum(turned, cells.passed * rise), cells.passed * rise) * growth

    def nats_of(draws: int) -> Row:
        """Upper bounds of the exponents at each q, less their part of no prefix."""
        far = later + draws * cells.weights * rest * rise
        return np.asarray(np.where(near, draws * cells.weights * noise + later * stay, far))

    ours = nats_of(k)
    left = k * (1 - p) - float(np.maximum(0.0, (ours[1] - ours[0]).max())) / first
    if not left >= 1:
        return math.inf, math.inf
    chance = math.sqrt(2 * math.pi * k * (1 - p)) * math.exp(1 / (12 * k) + 1 / (12 * (crowd.users - k)))
    factor = float(i0e(left)) * chance
    roughly = later + k * cells.weights * np.log1p(rest * rise)
    values = np.maximum(0.0, np.minimum(ours, roughly).max(axis=1))[1:] - k * (1 - p) * np.concatenate([nodes[:1], nodes[:-1]])
    angles = np.diff(np.arccos(1 - nodes))
    factor += chance / math.pi * sum(angle * _falling(nats) for angle, nats in zip(angles, values[1:], strict=True))
    factor += chance * _falling(float(roughly[-1].max()) - k * (1 - p) * float(nodes[-1]))
    if later > 0 and crowd.own > 0:
        each = float((cells.weights * np.where(near, noise[0], rest)).max())
        factor *= _of_few_own_votes(each, crowd.own)
    return float(np.maximum(0.0, nats_of(m)[0].max())), math.log(factor) + _ROOM


def _of_few_own_votes(nats: float, own: float) -> float:
    """Upper bound of the expectation of e to the power of what votes lack of their mean, `own` or less, times the nats."""
    return 1 + math.expm1(nats * own) / (2 * math.sqrt(own)) if nats * own < _LARGEST else math.inf


def _falling(nats: float) -> float:
    """What falls with the number of draws, as long as it is small: infinite where it is not."""
    return math.exp(nats) if nats < -1 else math.inf


def _curvature(rate: float, verge: float, most: float, tau: float, out: float) -> float:
    r"""A C for which the cosh bounds :math:`e^{\lambda d/(D-x)}`, with 1/(D - x) at most kappa, `most`.

    Where d and x have different signs nothing is needed. Else :math:`P = dx > 0` and :math:`v = \rho d + x/\rho \ge 2 \sqrt P`, so
    that, for :math:`g = \lambda/(D (D - x))`,

    .. math:: \frac{(e^{gP} - 1)\, \tau^2}{2 \cosh \tau v - 2}
              \le \frac g4 \cdot \frac{(e^{gP} - 1)/gP}{(2 \cosh 2\tau\sqrt P - 2)/4\tau^2 P}

    Both are power series in P, and the quotient of their coefficients falls, then rises: the quotient is largest at an end. On each
    band of x the better of that and of a grid of d is taken.

    ``out``: what the exponent is to be less by in all, but where densities are cut off.
    """
    left = 1 - verge  # D
    cut = left - 1 / most  # the least x at which densities may be cut off
    # Cut off, all is at most out, and no more than 0 where d is below -(out/lambda)/(kappa - 1/D): else v is this or more.
    apart = cut / _BENT - _BENT * out / rate / (most - 1 / left)
    if apart <= 0:
        return math.inf
    edges = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 160)])
    low, high = edges[:-1], edges[1:]
    need = rate / left / 4 / left  # x < 0: g is at most lambda/D^2 there, and |x| at most v
    found = max(math.expm1(out) / apart**2, need * _ends(rate / left**2, verge, tau))
    g = rate / left / np.maximum(left - high, 1 / most)
    ends = g / 4 * np.array([_ends(a, b, tau) for a, b in zip(g, high, strict=True)])
    steps = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 160)])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        above = np.expm1(np.outer(g * high, steps[1:]) + np.where(high > cut, out, 0.0)[:, None])
        below = 2 * np.cosh(np.minimum(tau * (_BENT * steps[:-1][None] + low[:, None] / _BENT), _LARGEST)) - 2
        cells = (above * tau**2 / below).max(axis=1)
    bands = np.minimum(np.where(high > cut, np.inf, ends), np.where(np.isnan(cells), np.inf, cells))
    return max(found, float(bands.max())) * (1 + _ROOM)


def _tangents_curvature(g: float, tau: float) -> float:
    """The same for x(a - v), times g: both are 1 at most."""
    return g / 4 * _ends(g, 1.0, tau)


def _ends(g: float, largest: float, tau: float) -> float:
    """The quotient of the brackets at the better end."""
    y, z = g * largest, min(2 * tau * math.sqrt(largest), _LARGEST)
    if y > _LARGEST:
        return math.inf
    return max(1.0, (math.expm1(y) / y) / ((2 * math.cosh(z) - 2) / z**2)) if y > 0 else 1.0


@lru_cache(maxsize=256)
def log_moment(crowd: Crowd, rate: float, rounds: int, most: float) -> float:
    r"""Upper bound of the logarithm of :math:`E\,\exp\sum\lambda_i(\xi_i - 1)` over rounds, lambda being the rate or less.

    ``most``: kappa, the largest density. Infinite where the users are too few.
    """
    if not crowd.is_enough(most):
        return math.inf
    # One of the sample is left out: a density is below its bound by (theta - 1)/m of beta' up to where it is cut off.
    out = rate * (crowd.threshold - 1) / crowd.most

    def curvature(tau: float) -> float:
        return _curvature(rate, crowd.verge, most, tau, out)

    return _best(crowd, rate, -out, rounds, curvature, (_BENT + 1 / _BENT, _BENT, 1 / _BENT))


@lru_cache(maxsize=256)
def log_moment_back(crowd: Crowd, rate: float, rounds: int) -> float:
    r"""The same of :math:`E\,\exp\sum\lambda_i(1 - \xi_i)`: a density is nowhere below its tangent, as 1/(1 - beta) is convex.

    .. math:: \xi \ge (1 - a) \Bigl(\frac1D + \frac{x}{D^2}\Bigr) - \frac{\theta - 1}{m D^2} \beta'
              = 1 + \frac dD - \frac{x (a - \bar v)}{D^2} - \frac{\theta - 1}{m D^2} \beta'

    where the last term is that of the one who is left out, and :math:`4 x (a - \bar v) \le (x + a - \bar v)^2`.
    """
    if crowd.drawn > _MOST_DRAWN or crowd.verge == 1:
        return math.inf
    square = (1 - crowd.verge) ** 2
    out = rate * (crowd.threshold - 1) / crowd.fewest / square
    return _best(crowd, -rate, out, rounds, lambda tau: _tangents_curvature(rate / square, tau), (1.0, -1.0, 2.0))


_Turn: TypeAlias = tuple[float, float, float]
"""What the cosh adds to c, eta and nu, per tau."""


def _best(crowd: Crowd, rate: float, out: float, rounds: int, curvature: Callable[[float], float], turn: _Turn) -> float:
    """By the best tau that is tried."""
    level, best = rate / (1 - crowd.verge) / crowd.most, math.inf
    for tau in np.array(_TAUS) * math.sqrt(crowd.most / crowd.threshold):  # the best is soon found: beyond it bounds grow
        curve = curvature(tau * crowd.fewest / crowd.most)
        once = _over_rounds(crowd, level, out / crowd.most, 1, curve, tau / crowd.most, turn)
        if once > best:
            break
        best, chosen = once, (curve, tau / crowd.most, turn)
    if rounds > 1 and math.isfinite(best):
        best = min(rounds * best, _over_rounds(crowd, level, out / crowd.most, rounds, *chosen))
    return best


def _over_rounds(crowd: Crowd, level: float, out: float, rounds: int, curve: float, tau: float, turn: _Turn) -> float:
    weight = curve / (crowd.most * crowd.fewest * tau**2)
    if 2 * weight >= 1:
        return math.inf
    later = fixed = 0.0
    for _ in range(rounds):
        # Where the expected share on the verge is less than the largest, less of the level is asked of d.
        parts = [
            (chance, tuple(map(max, *(
                _integral(crowd, own + more + s * turn[0], own + s * turn[1], s * turn[2], later)
                for own, more in ((0.0, max(out, 0.0)), (level, out))
            ))))
            for chance, s in ((1 - 2 * weight, 0.0), (weight, tau), (weight, -tau))
        ]  # fmt: skip
        if not all(e + f < _LARGEST for _, (e, f) in parts):
            return math.inf
        factor = math.fsum(chance * math.exp(f) for chance, (_, f) in parts)
        whole = math.fsum(chance * math.exp(e + f) for chance, (e, f) in parts)
        later = math.log(whole / factor) + _ROOM
        fixed += math.log(factor)
    return later + fixed


def lost(crowd: Crowd, draws: int, most: float) -> float:
    r"""Upper bound of :math:`E(1 - \kappa (1 - \beta))_+` over all data sets, of a sample of this many less one.

    As `other_prefixes.verge_leak`, but for any users and draws of the crowd, this many or more.

    By :math:`(1 - \kappa \rho)_+ \le \frac\kappa x e^{x/\kappa - 1} e^{-x\rho}` for :math:`x \ge \kappa`, and the same bound of
    moments, with 1 over the chance of this sum in place of the integral.
    """
    cells, k = _cells(crowd), draws - 1
    if k < crowd.threshold - 1:
        return 0.0
    rates = np.geomspace(0.02, 20.0, 60)[:, None]
    worth = rates * cells.high
    with np.errstate(divide="ignore"):
        logs = np.log(cells.masses) + worth + np.log(-np.expm1(-worth))
    slopes = (cells.weights * np.logaddexp(0.0, logs)).max(axis=1)
    x = rates[:, 0] * k
    chance = math.log(2 * math.pi * k) / 2 + 1 / (12 * k) + 1 / (12 * (crowd.users - k))
    each = slopes - rates[:, 0] * (1 - 1 / most)  # of a draw; where it is positive, more draws would lose more
    nats = np.where((x > most) & (each <= 0), k * each - 1 + np.log(most / x), np.inf) + chance
    return float(np.exp(min(0.0, float(nats.min()) + _ROOM)))
