r"""Parts that are composed: each on its own input, all views seen together.

An upper bound composes, for every part, the dominating pair of all its neighbouring pairs; a lower bound composes pairs
that occur. Where the two are the same pairs, and no loss is moved to a lattice, the result is EXACT. `compose` chooses
the method:

- T equal parts whose loss is e or -e, or e, 0 or -e (randomized response of every arity, Hadamard response, subset
  selection, local hashing): closed form, `coins`;
- few total losses: their enumeration;
- normal noise: one shift, whose square is the sum of all squares;
- otherwise losses on a lattice: `pld.total`; EXACT where all losses are multiples of one loss.

Where all pairs of one plan, or of one on a sample, are listed and none dominates, `pld.several_pairs` lets each run have its own,
from above.

A run of a sample has pairs that occur, too: those of the plan on it, beside views that tell nothing where reports name their users,
and among the views of another user where one user is drawn secretly. Open: how much worse than user 1's two values others may be
that the others hold, where not all laws are listed; then the dominating pair says a fifth more for five hundred runs.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations_with_replacement, product

from ldpaudit.accountants.composition.coins import BinomialCoins, TrinomialCoins
from ldpaudit.accountants.composition.compose import compose, enumerated
from ldpaudit.accountants.composition.laplace_products import ProductsProfile
from ldpaudit.accountants.composition.laplace_vector import LaplaceShifts, together
from ldpaudit.accountants.composition.product import ProductProfile
from ldpaudit.accountants.numerics.rationals import root_above
from ldpaudit.accountants.pld.all_pairs import AllPairs
from ldpaudit.accountants.pld.curve import POINTS, dominated_curve, dominated_pair, dominating_curve
from ldpaudit.accountants.pld.distribution import Groups, PrivacyLossDistribution, infinite_mass
from ldpaudit.accountants.pld.exact import ExactPLD, dominating_pair, guarantee
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import (
    AsAlone,
    Bracket,
    OnePairProfile,
    PostProcessedProfile,
    SmallestBound,
    SummedLosses,
    UpperEnd,
    below,
)
from ldpaudit.accountants.pld.renyi import gdp
from ldpaudit.accountants.pld.sampled import NamedSample, SubsampledProfile
from ldpaudit.accountants.pld.searched import Quadratic
from ldpaudit.accountants.pld.several_pairs import SeveralPairs
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.plan import Guarantee, Plan
from ldpaudit.profile import Number, PrivacyProfile

_NARROW = 0.99  # ratio of two ends that one formula encloses, from which on no part of the views is looked at alone
_MANY = 1000  # runs up to which pairs are mixed; of 2000 of any mechanism of tests/zoo no lower end of epsilon gains by it
_MOST_CHOICES = 64  # of a pair for each run of a composition, which are listed
_INNER_POINTS = 128  # of the curve of a composition of which parts are composed, each of which takes milliseconds
_POINTS = 32  # of the curve of a composition, from which its mu is read; with 256 the mu of ten Laplace reports is known to 3e-5


@dataclass(frozen=True)
class Part:
    """A leaf of the plan, its number of runs, and pairs of laws that bound its loss from above and below."""

    plan: Plan  # the leaf
    times: int  # number of runs, at least 1
    profile: PrivacyProfile  # of one run

    @cached
    def upper(self) -> Groups:
        """Losses whose sum is that of a pair that dominates one run."""
        if isinstance(self.plan, Guarantee) and self.plan.delta < 1:
            return ((guarantee(self.plan.epsilon, self.plan.delta), 1),)
        return _upper(_above(self.profile))

    @cached
    def lowers(self) -> tuple[Groups, ...]:
        """Pairs of inputs that occur, each as losses whose sum is that of one run."""
        return tuple(pair for each in below(self.profile) for pair in _pairs(each))

    @property
    def is_seen(self) -> bool:
        """Whether anything may be known from below."""
        return not isinstance(self.profile, PostProcessedProfile)

    @property
    def is_exact(self) -> bool:
        """Whether the dominating pair of one run occurs."""
        return self.upper in self.lowers

    @property
    def shifts(self) -> tuple[LaplaceShifts, ...]:
        """Pairs of inputs of one run that nothing but Laplace noise hides."""
        return tuple(own for own in below(self.profile) if isinstance(own, LaplaceShifts))

    @property
    def is_shift(self) -> bool:
        """Whether nothing but Laplace noise hides the worst pair of inputs, and that pair is known."""
        above = _above(self.profile)
        return isinstance(above, LaplaceShifts) and above.is_attained and above in self.shifts


@dataclass(frozen=True)
class ComposedProfile(PrivacyProfile):
    """Profile of several parts together; EXACT where every part is and no loss is moved to a lattice.

    The parts' epsilons are enough at delta = 0: their losses are found when another delta is first asked for.
    """

    parts: tuple[Part, ...]  # different leaves
    is_upper: bool = False  # whether nothing is asked for from below

    @cached
    def upper(self) -> PrivacyProfile:
        """Composition of dominating pairs; of Laplace noise alone, in closed form."""
        shifts = [(own, each.times) for each in self.parts if isinstance(own := _above(each.profile), LaplaceShifts)]
        if len(shifts) == len(self.parts) and (found := _joined(shifts, self.upper_source)) is not None:
            return found
        return compose(_summed((part.upper, part.times) for part in self.parts), self.upper_source)

    @cached
    def lowers(self) -> tuple[PrivacyProfile, ...]:
        """Compositions of pairs that occur; none of a single run beside what is not known from below, which `_seen` looks at."""
        if len(self.parts) > 1 == sum(part.times for part in self.parts if part.is_seen):
            return ()
        shifts = [[(own, part.times) for own in part.shifts] for part in self.parts]
        if all(shifts):
            choices = [[each] for each in shifts[0]] if len(shifts) == 1 else [[max(each, key=_squares) for each in shifts]]
            joined = [_joined(each, self.upper_source) for each in choices]
            if None not in joined:
                return tuple(filter(None, joined))
        return tuple(compose(groups, self.upper_source) for groups in _pairs(self))

    def delta(self, epsilon: Number) -> Enclosure:
        """0 where epsilon is at least the sum of all pure epsilons."""
        if epsilon >= (pure := self.pure()).high and math.isfinite(pure.high):
            return Enclosure(0.0, 0.0, pure.rigour, pure.source)
        return self._enclose(lambda profile: profile.delta(epsilon), 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At delta = 0 the sum of all pure epsilons, which one pair and one event attain together."""
        pure = self.pure()
        return pure if delta == 0 else self._enclose(lambda profile: profile.epsilon(delta), pure.high)

    def upper_end(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        if self.is_guess:
            return self
        above, pure = (self._several or self.upper).coarse(), self.pure().high

        def deltas(epsilon: Number) -> float:
            return 0.0 if math.isfinite(pure) and epsilon >= pure else above.delta(epsilon).high

        return UpperEnd(deltas, lambda delta: self.epsilon(delta).high)

    def from_above(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return self if self.is_guess else replace(self, is_upper=True)

    @cached
    def is_guess(self) -> bool:
        """Whether a part is computed, but not enclosed."""
        return any(part.profile.upper_end().rigour < Rigour.INTERVAL for part in self.parts)

    def pure(self) -> Enclosure:
        """Epsilon at delta = 0: the sum of the parts' epsilons; tight, as each part's pair and event are free."""
        return self._added(lambda profile: profile.epsilon(0), "epsilons")

    def renyi(self, order: Number) -> Enclosure:
        """The sum of the parts' divergences; tight, as each part's pair is free. Source: Mironov 2017, Proposition 1."""
        return self._added(lambda profile: profile.renyi(order), "Renyi divergences")

    def rho(self) -> Enclosure:
        """At most the sum of the parts' rhos, and equal to it for one part. Source: Bun, Steinke 2016, Lemma 1.7."""
        summed = self._added(lambda profile: profile.rho(), "rhos")
        return summed if len(self.parts) == 1 else self._at_most(summed, PrivacyProfile.rho(self))

    def gdp(self) -> Enclosure:
        """At most the square root of the sum of the parts' squares. Source: Dong, Roth, Su 2022, Corollary 3.3."""
        mus = [(part.profile.gdp().high, part.times) for part in self.parts]
        finite = all(math.isfinite(mu) for mu, _ in mus)
        high = round_up(root_above(sum((n * Fraction(mu) ** 2 for mu, n in mus), Fraction(0)))) if finite else math.inf
        bound = Enclosure(0.0, high, Rigour.INTERVAL, f"{self.upper_source}: the root of the sum of squares")
        return self._at_most(bound, gdp(self, dominating_curve(self.upper, _POINTS)))

    @staticmethod
    def _at_most(bound: Enclosure, found: Enclosure) -> Enclosure:
        """What is found, up to another bound."""
        if bound.high >= found.high:
            return found
        return Enclosure.met(found.low, bound.high, Rigour.INTERVAL, bound.source)

    def _added(self, reading: Callable[[PrivacyProfile], Enclosure], what: str) -> Enclosure:
        """The sum over all runs."""
        found = [(reading(part.profile), part.times) for part in self.parts]

        def total(ends: list[tuple[float, int]], rounded: Callable[[Fraction], float]) -> float:
            if any(math.isinf(end) for end, _ in ends):
                return math.inf
            return rounded(sum((Fraction(end) * times for end, times in ends), Fraction(0)))

        low, high = total([(e.low, n) for e, n in found], round_down), total([(e.high, n) for e, n in found], round_up)
        return Enclosure(low, high, min(e.rigour for e, _ in found), f"{self.upper_source}: the sum of {what}")

    @property
    def upper_source(self) -> str:
        """What is composed."""
        runs = sum(part.times for part in self.parts)
        return f"composition of {runs} runs" if runs > 1 else "one run"

    def _enclose(self, value: Callable[[PrivacyProfile], Enclosure], most: float) -> Enclosure:
        upper = min((value(each) for each in (self._several, self.upper) if each), key=lambda e: e.high)
        if self.is_upper:
            return Enclosure(0.0, min(upper.high, most), min(Rigour.INTERVAL, upper.rigour), upper.source)
        if self.is_exact and upper.low >= _NARROW * upper.high:
            return upper.clamp(0.0, most)
        low = max((e.low for e in ([upper] if self.is_exact else map(value, self.lowers))), default=0.0)
        seen = [value(each) for each, most_seen in self._seen if most_seen is None or value(most_seen).high > low]
        low = max([low, *(e.low for e in seen)])
        rigour = min([Rigour.INTERVAL, *(e.rigour for e in seen)])
        return Enclosure.met(low, min(upper.high, most), rigour, upper.source)

    @cached
    def _several(self) -> PrivacyProfile | None:
        """Of runs of one plan whose pairs are all listed and none is known to dominate: which may be another one in each run."""
        if len(self.parts) > 1 or not (pairs := _all(self.parts[0].profile)) or self.is_exact:
            return None
        found = SeveralPairs(pairs, self.parts[0].times, self.upper_source)
        return found if found.applies else None

    @cached
    def _seen(self) -> tuple[tuple[PrivacyProfile, PrivacyProfile | None], ...]:
        """What some of the views cost, as not to look at the others is post-processing: all of a part by formula, else one; each
        with a quick bound of it from above, where there is one.
        """
        seen: list[tuple[PrivacyProfile, PrivacyProfile | None]] = []
        for part in self.parts:
            alone = ComposedProfile((part,)) if len(self.parts) > 1 else self
            formula = isinstance(alone.upper, BinomialCoins | TrinomialCoins | LaplaceShifts) and alone.is_exact
            match part.upper:
                case ((ExactPLD() as pair, 1),) if not formula:
                    seen.append((part.profile.from_below(), FiniteProfile((pair,), "a dominating pair")))
                case _:
                    seen.append((alone.upper if formula else part.profile.from_below(), None))
        return tuple(seen)

    @cached
    def is_exact(self) -> bool:
        """Whether the upper profile is also that of pairs that occur."""
        if isinstance(self.upper, LaplaceShifts):
            return all(part.is_shift for part in self.parts)
        return all(part.is_seen for part in self.parts) and all(part.is_exact for part in self.parts)


def composed(parts: Iterable[Part]) -> PrivacyProfile:
    """Profile of several parts together; of normal noise alone that of one, since the losses add up to that of one shift."""
    listed = tuple(parts)
    shifts = [each.times * each.profile.distance_squared for each in listed if type(each.profile) is Quadratic]
    if len(shifts) < len(listed):
        return ComposedProfile(listed)
    return Quadratic(sum(shifts, Fraction(0)), f"{ComposedProfile(listed).upper_source}: one normal noise, by the squares' sum")


def _above(profile: PrivacyProfile) -> PrivacyProfile:
    """What bounds a profile from above, without what only says of it that it is no more, or encloses it from below."""
    match profile:
        case PostProcessedProfile(inner) | AsAlone(inner) | Bracket(_, inner):
            return _above(inner)
        case ProductsProfile():
            return _above(profile.above)
    return profile


def _upper(profile: PrivacyProfile) -> Groups:
    """Losses whose sum is that of a dominating pair of a plan with this profile, which `_above` leaves as it is."""
    match profile:
        case ComposedProfile(parts):
            return _summed((part.upper, part.times) for part in parts)
        case ProductProfile(pairs=(only,)):
            return only
        case SummedLosses(dominating=groups) if groups is not None:
            return groups
        case FiniteProfile(pairs):
            return ((dominating_pair(pairs), 1),)
    above = profile.upper_end()
    points = above.points if isinstance(above, SmallestBound) else None
    return ((dominating_curve(above, points or POINTS), 1),)


def _pairs(profile: PrivacyProfile) -> tuple[Groups, ...]:
    """Pairs of inputs that occur in a plan with this profile, which `below` leaves as it is."""
    match profile:
        case ComposedProfile(parts):
            return tuple(dict.fromkeys(filter(None, _choices(parts))))
        case ProductProfile(pairs):
            return pairs
        case FiniteProfile(pairs, level=Rigour.EXACT):
            return tuple(((pair.complete(), 1),) for pair in pairs)
        case SummedLosses():
            return profile.occurring
        case AllPairs():
            return tuple(((pair.complete(), 1),) for pair in profile.telling())
        case OnePairProfile():
            return (((dominated_curve(profile), 1),),)
        case NamedSample(inner, rate):
            return tuple(((pair.part(rate), 1),) for pair in _laws(inner))
        case SubsampledProfile(inner, rate, tight=True):
            return tuple(((law, 1),) for pair in _laws(inner) for law in pair.among_second(rate))
    return ()


def _all(profile: PrivacyProfile) -> tuple[ExactPLD, ...]:
    """All pairs of inputs of a plan with this profile, in both directions, where they are listed; or none."""
    match _above(profile):
        case FiniteProfile(pairs, all_pairs=True):
            return tuple(pair.complete() for pair in pairs)
        case NamedSample(inner, rate):
            return tuple(pair.part(rate) for pair in _all(inner))
        case ComposedProfile(parts):
            listed = [(_all(part.profile), part.times) for part in parts]
            if 0 < math.prod(math.comb(len(pairs) + n - 1, n) if pairs else 0 for pairs, n in listed) <= _MOST_CHOICES:
                choices = product(*(combinations_with_replacement(pairs, n) for pairs, n in listed))
                found = [enumerated(tuple(Counter(chain(*each)).items()), "a pair for each run") for each in choices]
                several = tuple(each.pairs[0] for each in found if isinstance(each, FiniteProfile))
                return several if len(several) == len(found) else ()
    return ()


def _laws(profile: PrivacyProfile) -> Iterator[ExactPLD]:
    """Pairs of inputs that occur in a plan with this profile, or less, each as one law in either direction."""
    reverses: set[Groups] = set()
    for groups in chain.from_iterable(map(_pairs, below(profile))):
        match groups:
            case ((ExactPLD() as only, 1),):
                yield only
            case _ if groups not in reverses and all(isinstance(law, ExactPLD) for law, _ in groups):
                turned = tuple((law.reversed, times) for law, times in groups if isinstance(law, ExactPLD))
                reverses.add(turned)
                there = compose(groups, "a pair that occurs").coarse()
                back = there if dict(turned) == dict(groups) else compose(turned, "a pair that occurs").coarse()
                yield from dominated_pair(there, back, _INNER_POINTS)


def _choices(parts: tuple[Part, ...]) -> Iterator[Groups]:
    """A few choices of a pair that occurs for every run: each gives a valid lower bound."""
    for rank in (_information, _reach):  # the same pair in all runs of a part
        yield _summed((max(part.lowers, key=rank), part.times) for part in parts if part.lowers)
    # Half of the runs with a pair, half with its reversed pair: often a larger delta than either alone, if the runs are not many.
    if sum(part.times for part in parts) <= _MANY:
        yield _summed((pair, part.times // len(part.lowers[:2])) for part in parts for pair in part.lowers[:2])


def _joined(shifts: Iterable[tuple[LaplaceShifts, int]], source: str) -> PrivacyProfile | None:
    """All runs of Laplace noise as one noise on more coordinates; None where no form of it is quick."""
    return together(tuple((n * times, step) for own, times in shifts for n, step in own.groups), source)


def _squares(runs: tuple[LaplaceShifts, int]) -> Fraction:
    """Rank by the sum of squared shifts, which decides over many coordinates."""
    own, times = runs
    return times * sum((n * step**2 for n, step in own.groups), Fraction(0))


def _summed(parts: Iterable[tuple[Groups, int]]) -> Groups:
    """All losses of each of these, run this many times, each law once."""
    counts: Counter[PrivacyLossDistribution] = Counter()
    for groups, times in parts:
        for law, n in groups:
            counts[law] += n * times
    return tuple((+counts).items())


def _information(pair: Groups) -> tuple[float, float]:
    """Rank by the mean loss, which decides over many runs."""
    return sum(n * law.mean() for law, n in pair), 0.0


def _reach(pair: Groups) -> tuple[float, float]:
    """Rank by the infinite-loss mass and the largest loss, which decide at small delta."""
    largest = sum(n * float(law.loss_balls()[0]) for law, n in pair if law.size)
    return float(infinite_mass(pair)), largest
