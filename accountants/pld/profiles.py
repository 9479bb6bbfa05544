"""Profiles made of other profiles, and the type of profiles that one pair of inputs attains."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Self

from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.pld.distribution import Groups, infinite_mass
from ldpaudit.accountants.pld.renyi import by_events, enclosed, from_above, of_one_pair, of_pairs
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number, PrivacyProfile, Witness


def limit_of_delta(groups: Groups, source: str) -> Enclosure:
    """Limit of delta(epsilon) as epsilon grows: the infinite-loss mass of independent runs, EXACT."""
    return narrow(lambda: infinite_mass(groups), source).clamp(0.0, 1.0)


@dataclass(frozen=True)
class OnlyInfinite(PrivacyProfile):
    """A composition of pairs of which nothing but infinite losses is listed for one: delta is the same at every
    epsilon.
    """

    groups: Groups  # laws of the loss, with the number of runs of each
    source: str  # what is composed

    def delta(self, epsilon: Number) -> Enclosure:
        """The infinite-loss mass."""
        return limit_of_delta(self.groups, self.source)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """0 or infinite."""
        limit = limit_of_delta(self.groups, self.source)
        low, high = math.inf if limit.low > delta else 0.0, 0.0 if limit.high <= delta else math.inf
        return Enclosure(low, high, limit.rigour, self.source)


class OnePairProfile(PrivacyProfile):
    """A profile that one pair of inputs attains at every epsilon, in both directions.

    Composition may then use the pair of this curve for a lower bound (`curve.dominated_curve`).
    """

    def renyi(self, order: Number) -> Enclosure:
        """Of that pair, from the curve."""
        return of_one_pair(self, Fraction(order))


class SummedLosses(PrivacyProfile):
    """A profile of sums of independent losses: composition sums more of them."""

    @property
    @abstractmethod
    def dominating(self) -> Groups | None:
        """Losses of a dominating pair; None where it is only a lower bound."""

    @property
    @abstractmethod
    def occurring(self) -> tuple[Groups, ...]:
        """Losses of pairs of inputs that occur, or of less: no sum of them has a larger delta than these pairs composed."""

    def repeated(self, runs: int) -> Self:
        """The same profile, whose losses are those that are best to add up to as many runs."""
        return self

    def renyi(self, order: Number) -> Enclosure:
        """From that of the pairs that occur to that of the one that dominates."""
        at, groups = Fraction(order), self.dominating
        above = from_above(self, at) if groups is None else of_pairs([groups], at, f"a dominating pair: {self.delta(0).source}")
        return enclosed(of_pairs(self.occurring, at, "pairs that occur") if self.occurring else by_events(self, at), above)


def _both(one: Enclosure, other: Enclosure, rigour: Rigour) -> Enclosure:
    """What two enclosures of one number say together."""
    best = min(one, other, key=lambda e: e.high)
    return Enclosure.met(max(one.low, other.low), best.high, rigour, best.source)


@dataclass(frozen=True)
class WithLosses(SummedLosses):
    """A profile that one accountant knows best, and of whose losses another one knows more."""

    profile: PrivacyProfile  # asked for delta and epsilon of one run
    # asked for the losses that compositions sum; of the same pairs of inputs, or an enclosure of `profile`
    losses: SummedLosses

    def delta(self, epsilon: Number) -> Enclosure:
        """Of the profile."""
        return self.profile.delta(epsilon)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Of the profile."""
        return self.profile.epsilon(delta)

    def joined(self, reading: Callable[[PrivacyProfile], Enclosure]) -> Enclosure:
        """What both enclose."""
        one, other = reading(self.profile), reading(self.losses)
        return _both(one, other, max(one.rigour, other.rigour))

    @property
    def dominating(self) -> Groups | None:
        """See `SummedLosses`."""
        return self.losses.dominating

    @property
    def occurring(self) -> tuple[Groups, ...]:
        """See `SummedLosses`."""
        return self.losses.occurring


class JoinedProfile(PrivacyProfile):
    """A profile that is made of others by the same rule for all readings."""

    @abstractmethod
    def joined(self, reading: Callable[[PrivacyProfile], Enclosure]) -> Enclosure:
        """The rule."""

    def delta(self, epsilon: Number) -> Enclosure:
        """By the rule."""
        return self.joined(lambda each: each.delta(epsilon))

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """By the rule."""
        return self.joined(lambda each: each.epsilon(delta))


@dataclass(frozen=True)
class Bracket(JoinedProfile):
    """Enclosure of a profile by two others, a lower and an upper bound; where these agree, it is their value."""

    low: PrivacyProfile  # profile of pairs of inputs that occur, and of pairs that dominate
    high: PrivacyProfile

    def joined(self, reading: Callable[[PrivacyProfile], Enclosure]) -> Enclosure:
        """From the lower end of one to the upper end of the other."""
        low, high = reading(self.low), reading(self.high)
        return high if low == high else Enclosure(low.low, high.high, Rigour.INTERVAL, high.source)


@dataclass(frozen=True)
class Lifetime(Bracket):
    """A profile between those of pairs that occur and of all mechanisms with its epsilon at delta = 0, which is known."""

    pure: Enclosure  # epsilon at delta = 0

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """`pure` at delta = 0, which no other delta exceeds."""
        return super().epsilon(delta) if delta else self.pure


@dataclass(frozen=True)
class LargestProfile(PrivacyProfile):
    """The largest of the profiles of several pairs of inputs, each of which occurs."""

    profiles: tuple[PrivacyProfile, ...]  # at least one

    def delta(self, epsilon: Number) -> Enclosure:
        """The largest delta."""
        return self._largest([profile.delta(epsilon) for profile in self.profiles])

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """The largest epsilon."""
        return self._largest([profile.epsilon(delta) for profile in self.profiles])

    def renyi(self, order: Number) -> Enclosure:
        """From the largest to that of the pair whose curve is the largest in both directions, which no order decides."""
        found = self._largest([profile.renyi(order) for profile in self.profiles])
        return enclosed(found, from_above(self, Fraction(order)))

    @staticmethod
    def _largest(found: list[Enclosure]) -> Enclosure:
        top = max(found, key=lambda e: e.high)
        low = max(e.low for e in found)
        # Only the profiles that may be the largest decide the rigour.
        rigour = min(e.rigour for e in found if e.high >= low)
        return Enclosure(low, top.high, rigour, top.source)


@dataclass(frozen=True)
class SmallestBound(JoinedProfile):
    """The smallest of several upper bounds of one profile; from below it is 0."""

    bounds: tuple[PrivacyProfile, ...]  # at least one, each INTERVAL or better
    points: int | None = None  # of the curve that is composed, where the usual ones cost more than they are worth

    def joined(self, reading: Callable[[PrivacyProfile], Enclosure]) -> Enclosure:
        """From 0 to the smallest upper end."""
        best = min(map(reading, self.bounds), key=lambda e: e.high)
        return Enclosure(0.0, best.high, Rigour.INTERVAL, best.source)

    def _with_parts(self, changed: Callable[[PrivacyProfile], PrivacyProfile]) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return replace(self, bounds=tuple(map(changed, self.bounds)))


@dataclass(frozen=True)
class Twice(JoinedProfile):
    """A profile that two accountants enclose; the second one is asked where the first one's ends are apart."""

    first: PrivacyProfile
    second: PrivacyProfile  # INTERVAL or better
    near: float  # ratio of the first one's ends from which on that is enough

    def joined(self, reading: Callable[[PrivacyProfile], Enclosure]) -> Enclosure:
        """What both enclose."""
        found = reading(self.first)
        if found.low >= self.near * found.high:
            return found
        return _both(found, reading(self.second), min(found.rigour, Rigour.INTERVAL))

    def _with_parts(self, changed: Callable[[PrivacyProfile], PrivacyProfile]) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return replace(self, first=changed(self.first), second=changed(self.second))

    def witness(self, epsilon: Number) -> Witness | None:
        """The first one's."""
        return self.first.witness(epsilon)


@dataclass(frozen=True)
class UpperEnd(PrivacyProfile):
    """The upper end of a profile alone, where it is cheaper than both; from below it is 0. Curves that dominate are
    made of it.
    """

    deltas: Callable[[Number], float]  # epsilon to an upper bound of delta
    epsilons: Callable[[Number], float]  # delta to an upper bound of epsilon

    def delta(self, epsilon: Number) -> Enclosure:
        """From 0."""
        return Enclosure(0.0, self.deltas(epsilon), Rigour.INTERVAL, "an upper end").clamp(0.0, 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """From 0."""
        return Enclosure(0.0, self.epsilons(delta), Rigour.INTERVAL, "an upper end")


@dataclass(frozen=True)
class PostProcessedProfile(JoinedProfile):
    """Profile of a post-processed plan: at most the inner plan's, as post-processing never increases delta; at least 0.
    """

    inner: PrivacyProfile  # of the plan whose output is post-processed

    def _with_parts(self, changed: Callable[[PrivacyProfile], PrivacyProfile]) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return replace(self, inner=changed(self.inner))

    def joined(self, reading: Callable[[PrivacyProfile], Enclosure]) -> Enclosure:
        """From 0 to the upper end of the inner plan's."""
        e = reading(self._above)
        return Enclosure(0.0, e.high, min(e.rigour, Rigour.INTERVAL), f"post-processing of: {e.source}")

    @cached
    def _above(self) -> PrivacyProfile:
        return self.inner.from_above()


@dataclass(frozen=True)
class AsAlone(JoinedProfile):
    """Profile of a plan that costs what a part of it does."""

    inner: PrivacyProfile  # of that part
    why: str  # why the rest changes nothing

    def about(self) -> Callable[[float], float] | None:
        """See `PrivacyProfile`."""
        return self.inner.about()

    def coarse(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return replace(self, inner=self.inner.coarse())

    def joined(self, reading: Callable[[PrivacyProfile], Enclosure]) -> Enclosure:
        """The part's."""
        found = reading(self.inner)
        return replace(found, source=f"{self.why}: {found.source}")


@dataclass(frozen=True)
class ConstantDelta(PrivacyProfile):
    """A delta that is the same at every epsilon: the infinite-loss mass is the total variation."""

    # probability of the views that only one of the two inputs shows; all other views cost nothing in this direction
    chance: Fraction
    source: str  # what is computed
    found: Witness | None = None  # the pair and the views

    def delta(self, epsilon: Number) -> Enclosure:
        """EXACT."""
        return Enclosure.of(self.chance, source=self.source)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """0 or infinite. EXACT."""
        value = 0.0 if self.chance <= delta else math.inf
        return Enclosure(value, value, Rigour.EXACT, self.source)

    def witness(self, epsilon: Number) -> Witness | None:
        """The same at every epsilon."""
        return self.found


def below(profile: PrivacyProfile) -> Iterator[PrivacyProfile]:
    """The profiles of inputs that occur of which one is made."""
    match profile:
        case AsAlone(inner) | Bracket(inner, _):
            yield from below(inner)
        case LargestProfile(profiles):
            yield from chain.from_iterable(map(below, profiles))
        case _:
            yield profile
