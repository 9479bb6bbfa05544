r"""Sampling and a threshold (TrieHH, sample-and-threshold): the profile of what is released.

In every round a fresh sample of the users votes for the next prefix of their values, if the prefix so far has been
released, and prefixes with ``threshold`` votes are released. Several rounds make a trie. The lower end of delta is attained
by an explicit data set; the upper end holds for all data sets, other users' prefixes included. Of several rounds, and one word of a
user, it is that of `hidden_votes` where enough users are drawn, and not too many; else that of `rounds`.

One round, one user more:

.. math:: D \le \delta(\varepsilon) \le D + q B, \qquad D = \max_w\; g'(w) - e^\varepsilon g(w)

with D from `thresholded`, exact, and B what other prefixes reveal, from `other_prefixes`; B is 0 for Poisson sampling, whose
votes are independent. One user less: :math:`P \le e^r P' + b` with r of about :math:`\ln\frac{1}{1-q}`, see `other_prefixes`, so
that delta is at most b from r on, and it is convex in :math:`e^\varepsilon` before. One user replaced: remove, then add,

.. math:: \delta_{replace}(\varepsilon) \le \delta_{add}(\varepsilon - r) + e^{\varepsilon - r} b
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import flint

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow_enough
from ldpaudit.accountants.numerics.search import crossing, near_crossing
from ldpaudit.accountants.sampling import hidden_votes
from ldpaudit.accountants.sampling.other_prefixes import removal_bound, verge_leak
from ldpaudit.accountants.sampling.other_prefixes_low import LARGEST_BATCH, OtherPrefixes, worst_other_prefixes
from ldpaudit.accountants.sampling.rounds import Curve, rounds_event, rounds_high
from ldpaudit.accountants.sampling.thresholded import (
    FixedBatch,
    PoissonBatch,
    Sampling,
    exp_ball,
    growth_at,
    prefix_inverse,
    removed_prefix,
    single_prefix,
    worst_holders,
)
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.errors import Unsupported
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

_PRECISION = 128
"""Bits of the upper bounds, whose own looseness is far above their rounding."""
_HUGE = Fraction(600)
"""An epsilon whose delta bounds the infinite-loss mass from above."""
_TIGHT = 1 + 1e-12
"""Where the upper end is closer to the lower one than this, no better data set is looked for."""
_NEAR = 1.1
"""Factor to the next float estimate of an epsilon."""
_CURVES, _STRIDE = 6, 1.05
"""Most curves that are made for one epsilon, and least factor to the next where delta is not small enough."""
_SHARES = tuple(Fraction(x) for x in (0, 0.25, 0.5, 0.75, 0.9, 1, 1.05, 1.1, 1.2, 1.35, 1.5, 2, 3, 4))
"""Epsilons of a removal, in that of one round in which the user is not drawn, which are tried where one is replaced."""
_ABOVE = 1 + Fraction(1, 1 << 40)  # room for a logarithm that was rounded
_MUCH = 2.0
"""Where own votes that count as hidden leave more than this times the lower end, it is looked at what they tell if shown."""
_COARSE, _REFERENCES = 2.0**-7, (0.5, 1.0, 2.0)
"""Delta above which a curve that is made at the epsilon in question is often looser than others, and the epsilons of those."""
_ONE_ROUND, _SEVERAL_ROUNDS = 2.0**-34, 2.0**-16
"""Relative precision of the search for an epsilon: for one round, whose ends are exact or nearly, and for several."""


@dataclass(frozen=True, slots=True)
class WorstCase:
    """A data set of which one user more, or one user less, has the largest delta that is known: the lower bound's."""

    # for each length, up to that of the event, how many others share the user's prefix of that length; they never grow
    holders: tuple[int, ...]
    others: OtherPrefixes | None  # how all other users' prefixes are shared; None where they hold values of their own
    event: str  # the releases that reveal the user
    removed: bool = False  # whether the event is more probable without the user than with


@dataclass(frozen=True)
class ThresholdProfile(PrivacyProfile):
    """Profile of the set of prefixes released in all rounds together.

    With Poisson sampling and one round, the votes of the released prefixes may be shown too: the profile is the same. Raises
    Unsupported for other relations.
    """

    # who votes, drawn afresh in every round. Its `users` are those of the smaller data set for add-remove neighbours,
    # of both for replace-one
    sampling: Sampling
    threshold: int  # votes needed, at least 1
    rounds: int = 1  # L, the length of the longest value, at least 1
    neighbours: Neighbours = ADD_REMOVE  # add-remove or replace-one
    # different words that a user may hold, who votes for a random one (TrieHH's Algorithm 3). One round costs the same;
    # over several rounds the upper end grows with more than one word, because another may be the rare one in every
    # round
    words: int = 1

    def __post_init__(self) -> None:
        if min(self.threshold, self.rounds, self.words) < 1:
            found = f"{self.threshold}, {self.rounds} and {self.words}"
            raise ValueError(f"ThresholdProfile needs threshold, rounds and words >= 1, got {found}")
        if self.neighbours not in (ADD_REMOVE, REPLACE_ONE):
            raise Unsupported(self, f"samples have the relations add-remove and replace-one, not {self.neighbours}")
        if self.neighbours == REPLACE_ONE and self.sampling.users < 2:
            raise ValueError("ThresholdProfile needs at least two users for replace-one neighbours, got one")

    @property
    def source(self) -> str:
        """What is computed."""
        kind = "without replacement" if isinstance(self.sampling, FixedBatch) else "by coins"
        return f"sample {kind}, threshold {self.threshold}, {self.rounds} round(s), {self.neighbours}"

    @property
    def base(self) -> Sampling:
        """The sampling of the data set without the user in question."""
        return self.sampling.without_one() if self._replace else self.sampling

    @property
    def _replace(self) -> bool:
        return self.neighbours == REPLACE_ONE

    @property
    def _alone(self) -> bool:
        return self.rounds == 1

    def _trivial(self) -> int | None:
        """The delta at every epsilon where it is trivial: 0 if nothing can be released, 1 if a replaced user is always sampled."""
        most = self.sampling.batch if isinstance(self.sampling, FixedBatch) else self.sampling.users + (not self._replace)
        if self.threshold > most:
            return 0
        everybody = isinstance(self.sampling, FixedBatch) and self.sampling.batch == self.sampling.users
        # The data set: theta - 1 others hold the user's new value.
        return 1 if self._replace and everybody else None

    def delta(self, epsilon: Number) -> Enclosure:
        """EXACT for Poisson sampling, one round and add-remove neighbours; else INTERVAL, as the module says."""
        require_epsilon(epsilon)
        trivial = self._trivial()
        if trivial is not None:
            return Enclosure(float(trivial), float(trivial), Rigour.EXACT, self.source)
        own = self._own(epsilon)
        if self._exact():
            return own
        high = self._high(epsilon, own.low)
        low = own.low if high <= own.low * _TIGHT else max(own.low, self._others_low(epsilon))
        return Enclosure(low, max(low, high), Rigour.INTERVAL, self.source).clamp(0.0, 1.0)

    def _exact(self) -> bool:
        return self._alone and isinstance(self.sampling, PoissonBatch) and not self._replace

    def _own(self, epsilon: Number) -> Enclosure:
        """What the user's own value costs: in the add direction, or where epsilon is tiny, in the remove direction."""
        eps = epsilon if math.isfinite(epsilon) else _HUGE
        if not self._may_remove(eps) and self._alone and not self._replace:
            found = prefix_cost(self.base, self.threshold, eps)
            return Enclosure(found.low, found.high, Rigour.EXACT, self.source)

        def cost() -> flint.arb:
            c = exp_ball(eps)
            if self.rounds > 1 or self._replace:
                reached, before, _ = rounds_event(self.base, self.threshold, self.rounds, c, self.neighbours)
                added = reached - c * before
            else:
                added = single_prefix(self.base, self.threshold, c)[0]
            return added.max(removed_prefix(self.base, self.threshold, c)) if self._may_remove(eps) else added

        return narrow_enough(cost, self.source).clamp(0.0, 1.0)

    def _may_remove(self, epsilon: Number) -> bool:
        """Whether the remove direction may have a larger delta: never from e**epsilon = 1/(1 - q) on; here with a margin."""
        return not self._replace and float(epsilon) < 1 - math.log1p(-float(self.base.rate))

    def _others_low(self, epsilon: Number) -> float:
        """Delta of the worst data set that is known in which other prefixes reveal the user."""
        # Beyond the logarithm of the number of samples, only events that are impossible without the user count.
        last = self.base.users.bit_length() * (LARGEST_BATCH + 1)
        found = self._others(Fraction(epsilon) if math.isfinite(epsilon) else Fraction(last))
        return 0.0 if found is None else round_down(found[0])

    def _others(self, epsilon: Fraction) -> tuple[flint.arb, OtherPrefixes] | None:
        if not isinstance(self.base, FixedBatch):
            return None
        with working_precision(_PRECISION):
            return worst_other_prefixes(self.base, self.threshold, exp_ball(epsilon), self.neighbours)

    def worst_case(self, epsilon: Number) -> WorstCase | None:
        """The data set and event behind the lower end of delta; None where nothing is ever released."""
        trivial = self._trivial()
        if trivial is not None:
            known_value = WorstCase((self.threshold - 1,), None, "the user's prefix of length 1 is released")
            return known_value if trivial else None
        eps = Fraction(require_epsilon(epsilon)) if math.isfinite(epsilon) else _HUGE
        with working_precision(_PRECISION):
            c = exp_ball(eps)
            reached, before, holders = rounds_event(self.base, self.threshold, self.rounds, c, self.neighbours)
            known = [(reached - c * before, WorstCase(holders, None, f"the user's prefix of length {len(holders)} is released"))]
            if self._may_remove(eps):
                w = worst_holders(self.base, self.threshold, 1 / c)[0]
                case = WorstCase((w,), None, "the user's prefix of length 1 is not released", removed=True)
                known.append((removed_prefix(self.base, self.threshold, c), case))
            if (others := self._others(eps)) is not None:
                event = "the user's prefix of length 1 is released, or nothing is"
                known.append((others[0], WorstCase((others[1].holders,), others[1], event)))
        return max(known, key=lambda each: float(each[0].mid()))[1]

    def _high(self, epsilon: Number, low: float, curve: Callable[[float], float] | None = None) -> float:
        """Upper bound of delta in both directions; `low` guides choices only, and a curve is read in place of `_added`."""
        added_at = curve or (lambda e: self._added(e, low))

        def adding(epsilon: flint.arb) -> float:
            return added_at(max(0.0, round_down(epsilon)))

        eps = min(Fraction(epsilon), _HUGE) if math.isfinite(epsilon) else _HUGE
        with working_precision(_PRECISION):
            c = exp_ball(eps)
            # A user who is never sampled leaves no trace.
            limit = round_up(1 - ball(1 - self.base.rate) ** self.rounds)
            if curve is None and (hidden := self._hidden(eps, low)) is not None:
                limit = min(limit, hidden)
                if limit <= low * _MUCH:
                    return limit
            removal = removal_bound(self.base, self.threshold, self.rounds, self.words, low * math.exp(-float(eps)))
            r, rest_at_r = removal.epsilon, flint.arb(removal.delta)
            if c > r.exp():
                rest = rest_at_r * (c / r.exp() if self._replace else 1)
                added = adding(ball(eps) - r if self._replace else ball(eps))
                return min(limit, round_up(added + rest if self._replace else rest.max(flint.arb(added))))
            at_zero = adding(flint.arb(0))
            start, end = (2 * at_zero, at_zero + rest_at_r) if self._replace else (at_zero, rest_at_r)
            # Convex in e**epsilon: below the chord from epsilon = 0 to r.
            part = ((r.exp() - c) / r.expm1()).max(flint.arb(0))
            chord = round_up(end + part * (flint.arb(start) - end).max(flint.arb(0)))
            return min(limit, chord if self._replace else max(chord, adding(ball(eps))))

    def _hidden(self, epsilon: Fraction, low: float) -> float | None:
        """Upper bound of delta where own votes count as hidden; None where it is not known."""
        both = self._curves(epsilon, low)
        if both is None:
            return None
        added, removed = both
        if not self._replace:
            return max(added.at(epsilon), removed.at(epsilon))
        silence = Fraction(-math.log1p(-float(self.base.rate)))
        steps = [step for share in _SHARES if (step := share * silence) <= epsilon]
        # First removed, then added; in every round a user who is removed is not drawn with the same chance at least.
        never = epsilon - self.rounds * silence * _ABOVE
        sure = added.at(never) if never >= 0 else 1.0
        return min(sure, *(round_up(added.at(epsilon - r) + ball(epsilon - r).exp() * removed.at(r)) for r in steps))

    def _curves(self, epsilon: Fraction, low: float) -> tuple[Curve, Curve] | None:
        """Of several rounds, in each of which the user has one prefix."""
        several = self.rounds > 1 and self.words == 1
        return hidden_votes.curves(self.base, self.threshold, self.rounds, epsilon, low) if several else None

    def _added(self, epsilon: float, low: float) -> float:
        """Upper bound of delta in the add direction."""
        if self._alone:
            return _one_level_high(self.base, self.threshold, epsilon)
        found = self._curve(epsilon, low).at(Fraction(epsilon))
        others: list[Curve] = self._references() if found > _COARSE else []
        return min([found, *(curve.at(Fraction(epsilon)) for curve in others)])

    def _references(self) -> list[Curve]:
        """Curves that are read wherever delta is large, by `delta` and by `epsilon`: their ends then agree."""
        return [self._curve(epsilon, self._own(epsilon).low) for epsilon in _REFERENCES]

    def _curve(self, epsilon: float, low: float) -> Curve:
        return rounds_high(self.base, self.threshold, self.rounds, Fraction(epsilon), self.words, low)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Search, certified by `delta` at both ends: to a relative 2**-34 for one round, 2**-16 for several."""
        require_delta(delta)
        at_zero, at_last, width = self.delta(0.0), self.delta(math.inf), _ONE_ROUND if self._alone else _SEVERAL_ROUNDS
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
        return Enclosure.met(low, high, at_zero.rigour if narrow else Rigour.INTERVAL, self.source)

    def _high_epsilon(self, delta: Number, start: float, width: float) -> float:
        """Smallest epsilon found with an upper bound of delta(epsilon) <= delta."""
        guess = start - (math.log1p(-float(self.base.rate)) if self._replace else 0.0)
        if self._exact():
            return near_crossing(lambda e: self._own(e).high, delta, guess, width)[1]
        if self._alone:
            # Of one round, the upper bound makes no use of the lower one.
            return near_crossing(lambda e: self._high(e, 0.0), delta, guess, width)[1]
        if self._curves(Fraction(guess), float(delta)) is not None:
            found = near_crossing(lambda e: self._high(e, float(delta)), delta, guess, width)[1]
            return self._enough(found, delta, width)
        curves = [self._curve(0.0, self._own(0.0).low)]
        if delta > _COARSE:
            curves += self._references()

        def read(epsilon: float) -> float:
            return min(curve.at(Fraction(epsilon)) for curve in curves)

        def made(epsilon: float) -> float:
            curves.append(self._curve(epsilon, low))
            return read(epsilon)

        found, power = guess, self.threshold + 1.0
        for _ in range(_CURVES):
            # A curve is tightest where it was made: make one at the estimate, and read all of them for the crossing.
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
        return self._enough(found, delta, width)

    def _enough(self, found: float, delta: Number, step: float) -> float:
        """An epsilon at which `delta` agrees: it makes its own curve, which may be looser here than one that was made nearby."""
        while self._high(found, self._own(found).low) > delta:
            found, step = found * (1 + step), 2 * step
        return found

    def _low_epsilon(self, delta: Number, start: float, width: float) -> float:
        """Largest epsilon found with delta(epsilon) > delta, by the user's own value or by other prefixes."""
        low = 0.0
        if self._own(0.0).low > delta:
            low = near_crossing(lambda e: self._own(e).low, delta, start, _ONE_ROUND)[0]
        found = low or start * 2.0**-10
        # Beyond, other prefixes may reveal what the user's own does not.
        return crossing(self._others_low, delta, found, _NEAR, width)[0] if self._others_low(found) > delta else low

    def _guess(self, delta: Number) -> float:
        """Float estimate of the epsilon at which the user's own value costs delta."""
        rate = float(self.base.rate)
        alone = prefix_inverse(self.base, self.threshold, delta, self.neighbours)
        if self._alone or not delta > 0:
            return alone

        def cost(growth: flint.arb) -> tuple[flint.arb, flint.arb]:
            reached, before, _ = rounds_event(self.base, self.threshold, self.rounds, 1 + growth, self.neighbours)
            return (reached - before - growth * before).mid(), before.mid()

        with working_precision(_PRECISION):
            growth = growth_at(cost, float(delta), rate, math.expm1(min(max(alone, rate * 1e-3), 1.0)))
        return math.log1p(growth)


@lru_cache(maxsize=256)
def prefix_cost(sampling: Sampling, threshold: int, epsilon: Number) -> Enclosure:
    """D at one epsilon; cached, because both ends of delta ask for it."""
    found = narrow_enough(lambda: single_prefix(sampling, threshold, exp_ball(epsilon))[0], "one prefix")
    return found.clamp(0.0, 1.0)


@lru_cache(maxsize=256)
def _one_level_high(sampling: Sampling, threshold: int, epsilon: float) -> float:
    """D + q B at one epsilon, rounded up."""
    own = prefix_cost(sampling, threshold, epsilon)
    if not isinstance(sampling, FixedBatch):
        return own.high
    with working_precision(_PRECISION):
        q = ball(sampling.rate)
        kappa = (1 + ball(Fraction(epsilon)).expm1() / q).min(flint.arb(10) ** 250)
        leak = verge_leak(sampling, threshold, kappa)
        return min(round_up(q), round_up(flint.arb(own.high) + q * leak))


def largest_batch(users: int, threshold: int, levels: int, epsilon: Number, delta: Number) -> int:
    """The largest batch found at which a trie is (epsilon, delta)-DP for add-remove neighbours; 0 if none.

    Certified at the batch returned, by the upper bound of `ThresholdProfile`; a batch larger by one was refused. As privacy
    is not monotone in the batch, one that is larger than a refused one may be missed. Below the threshold nothing is ever
    released.
    """
    require_epsilon(epsilon)
    require_delta(delta)

    def private(batch: int) -> bool:
        return ThresholdProfile(FixedBatch(users, batch), threshold, levels).delta(epsilon).high <= delta

    # A smaller batch is not always more private: other prefixes reveal more in a batch of a few thresholds. Hence from above.
    low, high = users, users + 1
    while low and not private(low):
        low, high = low // 2, low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if private(middle) else (low, middle)
    return low
