r"""Sampling and a threshold (TrieHH, sample-and-threshold): the profile of what is released.

At every level a fresh sample of the users votes for the next prefix of their values, if the prefix so far has been
released, and prefixes with ``threshold`` votes are released. Several levels make a trie. `low` is attained by an explicit
data set; `high` holds for all of them, other users' prefixes included.

One level, one user more:

.. math:: D \le \delta(\varepsilon) \le D + q B, \qquad D = \max_w\; g'(w) - e^\varepsilon g(w)

with D from `thresholded`, exact, and B what other prefixes can tell, from `other_prefixes`; it is 0 for Poisson sampling, whose
votes are independent. One user less: :math:`P \le e^r P' + b` with r of about :math:`\ln\frac{1}{1-q}`, see `removal`, so
that delta is at most b from r on, and it is convex in :math:`e^\varepsilon` before. One user replaced: he leaves, another comes,

.. math:: \delta_{replace}(\varepsilon) \le \delta_{add}(\varepsilon - r) + e^{\varepsilon - r} b
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow_enough
from ldpaudit.accountants.numerics.search import crossing, near_crossing
from ldpaudit.accountants.sampling.other_prefixes import crowd_leak
from ldpaudit.accountants.sampling.other_prefixes_low import LARGEST_BATCH, CrowdData, worst_crowd
from ldpaudit.accountants.sampling.prefix_inverse import growth_at, prefix_inverse
from ldpaudit.accountants.sampling.removal import leaving_cost
from ldpaudit.accountants.sampling.rounds import Curve, levels_event, levels_high, levels_low
from ldpaudit.accountants.sampling.thresholded import (
    FixedBatch,
    PoissonBatch,
    Sampling,
    exp_ball,
    removed_prefix,
    single_prefix,
)
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.errors import Unsupported
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_PRECISION = 128
_HUGE = Fraction(600)
"""An epsilon whose delta bounds that at infinity from above."""
_TIGHT = 1 + 1e-12
"""Ends that are so close are not brought closer by a crowd."""
_NEAR = 1.1
"""Factor to the next guess of an epsilon."""
_ROUNDS, _STRIDE = 6, 1.05
"""Curves that are made one after the other, and factor from one to the next where delta is not enough."""
_EPSILON_WIDTH = {True: 2.0**-34, False: 2.0**-16}
"""Relative precision of the search for an epsilon: one level, several."""


@dataclass(frozen=True, slots=True)
class WorstData:
    """The pair of neighbouring data sets and the event that attain a lower bound.

    Parameters
    ----------
    holders : tuple of int
        For each length, up to that of the event, how many users beside the new one share his prefix; they never grow.
    others : str
        What everybody else holds.
    event : str
        The releases that tell.
    """

    holders: tuple[int, ...]
    others: str
    event: str


@dataclass(frozen=True)
class ThresholdProfile(PrivacyProfile):
    """Profile of the set of released prefixes of all levels together.

    With Poisson sampling and one level, the numbers of votes of what is released may be shown too: the profile is the same.

    Parameters
    ----------
    sampling : Sampling
        Who votes, at every level anew. Its `users` are those of the smaller data set for add-remove neighbours, of both
        for replace-one.
    threshold : int
        Votes needed, at least 1.
    levels : int
        L, the length of the longest value, at least 1.
    neighbours : Neighbours
        Add-remove or replace-one.
    several : bool
        Whether a user may hold several values and votes for a random one (TrieHH's Algorithm 3). One level costs the same;
        over several, `high` grows, because at every level another value of his may be the rare one.

    Raises
    ------
    Unsupported
        For other relations.
    """

    sampling: Sampling
    threshold: int
    levels: int = 1
    neighbours: Neighbours = ADD_REMOVE
    several: bool = False

    def __post_init__(self) -> None:
        if not (self.threshold >= 1 and self.levels >= 1):
            raise ValueError(f"ThresholdProfile needs threshold and levels >= 1, got {self.threshold}, {self.levels}")
        if self.neighbours not in (ADD_REMOVE, REPLACE_ONE):
            raise Unsupported(self, f"samples have the relations add-remove and replace-one, not {self.neighbours}")
        if self.neighbours == REPLACE_ONE and self.sampling.users < 2:
            raise ValueError("ThresholdProfile needs at least two users for replace-one neighbours, got one")

    @property
    def source(self) -> str:
        """What is computed."""
        kind = "without replacement" if isinstance(self.sampling, FixedBatch) else "by coins"
        return f"sample {kind}, threshold {self.threshold}, {self.levels} level(s), {self.neighbours}"

    @property
    def base(self) -> Sampling:
        """The sampling to which the user in question comes."""
        return self.sampling.without_one() if self._replace else self.sampling

    @property
    def _replace(self) -> bool:
        return self.neighbours == REPLACE_ONE

    @property
    def _alone(self) -> bool:
        return self.levels == 1

    def _trivial(self) -> int | None:
        """The delta that holds at every epsilon: 0 where nothing can be released, 1 where nobody is left out."""
        most = (
            self.sampling.batch if isinstance(self.sampling, FixedBatch) else self.sampling.users + (not self._replace)
        )
        if self.threshold > most:
            return 0
        everybody = isinstance(self.sampling, FixedBatch) and self.sampling.batch == self.sampling.users
        # Of everybody, theta - 1 hold what the new value is.
        return 1 if self._replace and everybody else None

    def delta(self, epsilon: Number) -> Enclosure:
        """EXACT for Poisson sampling, one level and add-remove neighbours; else INTERVAL, as the module says."""
        require_epsilon(epsilon)
        trivial = self._trivial()
        if trivial is not None:
            return Enclosure(float(trivial), float(trivial), Rigour.EXACT, self.source)
        own = self._own(epsilon)
        if self._exact():
            return own
        high = self._high(epsilon, own.low)
        low = own.low if high <= own.low * _TIGHT else max(own.low, self._crowd_low(epsilon))
        return Enclosure(low, max(low, high), Rigour.INTERVAL, self.source).clamp(0.0, 1.0)

    def _exact(self) -> bool:
        return self._alone and isinstance(self.sampling, PoissonBatch) and not self._replace

    def _own(self, epsilon: Number) -> Enclosure:
        """What the new user's own value costs: added, or where epsilon is tiny, removed."""
        eps = epsilon if math.isfinite(epsilon) else _HUGE
        # From 1 / (1 - q) on no event tells of who leaves.
        leaves = not self._replace and float(eps) < 1 - math.log1p(-float(self.base.rate))
        if not leaves and self._alone and not self._replace:
            found = prefix_cost(self.base, self.threshold, eps)
            return Enclosure(found.low, found.high, Rigour.EXACT, self.source)

        def cost() -> flint.arb:
            c = exp_ball(eps)
            if self.levels > 1 or self._replace:
                added = levels_low(self.base, self.threshold, self.levels, c, self._replace)[0]
            else:
                added = single_prefix(self.base, self.threshold, c)[0]
            return added.max(removed_prefix(self.base, self.threshold, c)) if leaves else added

        return narrow_enough(cost, self.source).clamp(0.0, 1.0)

    def _crowd_low(self, epsilon: Number) -> float:
        """Delta of the worst crowd that is known."""
        # Beyond the number of samples, whatever is not impossible without the new user costs more than it is worth.
        last = self.base.users.bit_length() * (LARGEST_BATCH + 1)
        found = self._crowd(Fraction(epsilon) if math.isfinite(epsilon) else Fraction(last))
        return 0.0 if found is None else round_down(found[0])

    def _crowd(self, epsilon: Fraction) -> tuple[flint.arb, CrowdData] | None:
        if not isinstance(self.base, FixedBatch):
            return None
        with flint.ctx.workprec(_PRECISION):
            return worst_crowd(self.base, self.threshold, exp_ball(epsilon), self._replace)

    def worst_case(self, epsilon: Number) -> WorstData:
        """The data set and event behind the lower bound at a finite epsilon, where adding a user costs more than removing."""
        eps = Fraction(require_epsilon(epsilon))
        with flint.ctx.workprec(_PRECISION):
            value, holders = levels_low(self.base, self.threshold, self.levels, exp_ball(eps), self._replace)
            crowd = self._crowd(eps)
        if crowd is not None and crowd[0] > value:
            data = crowd[1]
            return WorstData((data.holders,), str(data), "his prefix is released, or nothing is")
        event = f"his prefix of length {len(holders)} is released"
        return WorstData(holders, "everybody else holds a value of his own", event)

    def _high(self, epsilon: Number, low: float, curve: Callable[[float], float] | None = None) -> float:
        """An upper bound of the larger direction; `low` only guides choices, and a curve is read in place of `_added`."""
        added_at = curve or (lambda e: self._added(e, low))

        def adding(epsilon: flint.arb) -> float:
            return added_at(max(0.0, round_down(epsilon)))

        eps = min(Fraction(epsilon), _HUGE) if math.isfinite(epsilon) else _HUGE
        with flint.ctx.workprec(_PRECISION):
            c = exp_ball(eps)
            # Where the user is never sampled, nothing tells.
            limit = round_up(1 - ball(1 - self.base.rate) ** self.levels)
            leaving = leaving_cost(self.base, self.threshold, self.levels, self.several, low * math.exp(-float(eps)))
            r, lost = leaving.epsilon, flint.arb(leaving.lost)
            if c > r.exp():
                rest = lost * (c / r.exp() if self._replace else 1)
                added = adding(ball(eps) - r if self._replace else ball(eps))
                return min(limit, round_up(added + rest if self._replace else rest.max(flint.arb(added))))
            at_zero = adding(flint.arb(0))
            start, end = (2 * at_zero, at_zero + lost) if self._replace else (at_zero, lost)
            # Convex in e**epsilon: below the chord from epsilon = 0 to r.
            part = ((r.exp() - c) / r.expm1()).max(flint.arb(0))
            chord = round_up(end + part * (flint.arb(start) - end).max(flint.arb(0)))
            return min(limit, chord if self._replace else max(chord, adding(ball(eps))))

    def _added(self, epsilon: float, low: float) -> float:
        """An upper bound of delta when a user is added."""
        if self._alone:
            return _one_level_high(self.base, self.threshold, epsilon)
        return self._curve(epsilon, low).at(Fraction(epsilon))

    def _curve(self, epsilon: float, low: float) -> Curve:
        return levels_high(self.base, self.threshold, self.levels, Fraction(epsilon), self.several, low)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Search, certified by `delta` at both ends: to a relative 2**-34 for one level, 2**-16 for several."""
        require_delta(delta)
        at_zero, at_last, width = self.delta(0.0), self.delta(math.inf), _EPSILON_WIDTH[self._alone]
        if at_zero.high <= delta:
            return Enclosure(0.0, 0.0, at_zero.rigour, self.source)
        if at_last.low > delta:
            return Enclosure(math.inf, math.inf, at_last.rigour, self.source)

        low, start = 0.0, float(self.threshold * self.base.rate) / 3
        if at_zero.low > delta:
            start = self._guess(delta) or start
            low = self._low_epsilon(delta, start, width)
        if at_last.high > delta:
            return Enclosure(low, math.inf, Rigour.INTERVAL, self.source)

        high = self._high_epsilon(delta, low or start, width)
        narrow = high <= low * (1 + 2 * width)
        return Enclosure(min(low, high), high, at_zero.rigour if narrow else Rigour.INTERVAL, self.source)

    def _high_epsilon(self, delta: Number, start: float, width: float) -> float:
        """An epsilon at which delta is enough."""
        guess = start - (math.log1p(-float(self.base.rate)) if self._replace else 0.0)
        if self._exact():
            return near_crossing(lambda e: self._own(e).high, delta, guess, width)[1]
        if self._alone:
            # Of one level, the upper bound makes no use of the lower one.
            return near_crossing(lambda e: self._high(e, 0.0), delta, guess, width)[1]
        curves = [self._curve(0.0, self._own(0.0).low)]

        def read(epsilon: float) -> float:
            return min(curve.at(Fraction(epsilon)) for curve in curves)

        def made(epsilon: float) -> float:
            curves.append(self._curve(epsilon, low))
            return read(epsilon)

        found, power = guess, self.threshold + 1.0
        for _ in range(_ROUNDS):
            # A curve is best where it was made: so one is made there, and all of them are read for where they cross.
            low = self._own(guess).low
            while (value := self._high(guess, low, made)) > delta:
                if math.isinf(guess):
                    return guess
                guess *= max(_STRIDE, math.exp(min(1.5, math.log(value / delta) / power)) if delta > 0 else 4.0)
                low, power = self._own(guess).low, max(1.0, power / 2)
            if self._high(0.0, low, read) <= delta:
                return 0.0
            found = crossing(lambda e: self._high(e, low, read), delta, guess, _NEAR, width / 4)[1]  # noqa: B023
            if found >= guess * (1 - width):
                break
            guess = found
        # A curve made nearby may be sharper than the one made here, and delta is asked for here.
        step = width
        while self._high(found, self._own(found).low) > delta:
            found, step = found * (1 + step), 2 * step
        return found

    def _low_epsilon(self, delta: Number, start: float, width: float) -> float:
        """An epsilon at which delta is not enough, because of the new user's own value or because of a crowd."""
        low = 0.0
        if self._own(0.0).low > delta:
            low = near_crossing(lambda e: self._own(e).low, delta, start, _EPSILON_WIDTH[True])[0]
        found = low or start * 2.0**-10
        # Beyond, a crowd may tell what his own value does not.
        return crossing(self._crowd_low, delta, found, _NEAR, width)[0] if self._crowd_low(found) > delta else low

    def _guess(self, delta: Number) -> float:
        """About the epsilon at which the new user's own value costs so much."""
        rate = float(self.base.rate)
        alone = prefix_inverse(self.base, self.threshold, delta, self._replace)
        if self._alone or not delta > 0:
            return alone

        def cost(growth: flint.arb) -> tuple[flint.arb, flint.arb]:
            reached, before, _ = levels_event(self.base, self.threshold, self.levels, 1 + growth, self._replace)
            return (reached - before - growth * before).mid(), before.mid()

        with flint.ctx.workprec(_PRECISION):
            growth = growth_at(cost, float(delta), rate, math.expm1(min(max(alone, rate * 1e-3), 1.0)))
        return math.log1p(growth)


@lru_cache(maxsize=256)
def prefix_cost(sampling: Sampling, threshold: int, epsilon: Number) -> Enclosure:
    """D at one epsilon: both ends of a delta ask for it."""
    found = narrow_enough(lambda: single_prefix(sampling, threshold, exp_ball(epsilon))[0], "one prefix")
    return found.clamp(0.0, 1.0)


@lru_cache(maxsize=256)
def _one_level_high(sampling: Sampling, threshold: int, epsilon: float) -> float:
    """D + q B at one epsilon, rounded up."""
    own = prefix_cost(sampling, threshold, epsilon)
    if not isinstance(sampling, FixedBatch):
        return own.high
    with flint.ctx.workprec(_PRECISION):
        q = ball(sampling.rate)
        kappa = (1 + ball(Fraction(epsilon)).expm1() / q).min(flint.arb(10) ** 250)
        leak = crowd_leak(sampling, threshold, kappa)
        return min(round_up(q), round_up(flint.arb(own.high) + q * leak))


def largest_batch(users: int, threshold: int, levels: int, epsilon: Number, delta: Number) -> int:
    """The largest batch found at which a trie is (epsilon, delta)-DP for one user more or less; 0 if none.

    Certified at the batch returned, by the upper bound of `ThresholdProfile`; one more was refused. A larger one is
    missed only where privacy comes and goes within a factor of two.

    Parameters
    ----------
    users, threshold, levels : int
        n of the smaller data set, theta and L.
    epsilon, delta : number
        The target.

    Returns
    -------
    int
        In users. Where it is below the threshold, nothing is ever released.
    """
    require_epsilon(epsilon)
    require_delta(delta)

    def private(batch: int) -> bool:
        return ThresholdProfile(FixedBatch(users, batch), threshold, levels).delta(epsilon).high <= delta

    # Smaller is not always better: of a batch of a few thresholds other prefixes tell. So from above, by halves.
    low, high = users, users + 1
    while low and not private(low):
        low, high = low // 2, low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if private(middle) else (low, middle)
    return low
