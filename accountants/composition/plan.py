r"""Composition of plans: every part on its own input, all views seen together.

Upper bounds compose, for every part, the pair of laws that dominates all its neighbouring pairs; lower bounds compose
pairs that occur. Where the two are the same pairs, and no rounding of losses is needed, the result is EXACT:

- T equal parts whose loss is e, -e or also 0 (randomized response of every arity, Hadamard response, subset
  selection, local hashing): `coins`;
- few atoms in all: enumeration in rationals, `pld.finite`;
- otherwise losses on a lattice: `pld.lattice`; exact where all losses are multiples of one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.composition.compose import compose
from ldpaudit.accountants.pld.curve import lower_kind, upper_kind
from ldpaudit.accountants.pld.distribution import Kind, envelope_kind, guarantee_kind, pair_kind
from ldpaudit.accountants.pld.finite import FiniteProfile, PostProcessedProfile
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.neighbours import REPLACE_ONE, USER_LEVEL, Neighbours
from ldpaudit.plan import Compose, Guarantee, Plan, Repeat, Run
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

Group = tuple[Kind, int]
"""So many of a kind."""


@dataclass(frozen=True)
class Part:
    """A leaf of the plan, how often it runs, and what is known of its loss.

    Parameters
    ----------
    plan : Plan
        The leaf.
    times : int
        Number of runs, at least 1.
    profile : PrivacyProfile
        Of one run.
    uppers : tuple of Group
        Laws whose composition dominates one run.
    lowers : tuple of Kind
        Laws of pairs of neighbours that occur.
    """

    plan: Plan
    times: int
    profile: PrivacyProfile
    uppers: tuple[Group, ...]
    lowers: tuple[Kind, ...]

    @property
    def is_exact(self) -> bool:
        """Whether what dominates one run occurs."""
        return len(self.uppers) == 1 and self.uppers[0][1] == 1 and self.uppers[0][0] in self.lowers


@dataclass(frozen=True)
class ComposedProfile(PrivacyProfile):
    """Profile of several parts together, enclosed; EXACT where every part is and losses need no rounding.

    Parameters
    ----------
    parts : tuple of Part
        Different leaves.
    upper : PrivacyProfile
        Of laws that dominate.
    lowers : tuple of PrivacyProfile
        Of pairs that occur.
    """

    parts: tuple[Part, ...]
    upper: PrivacyProfile
    lowers: tuple[PrivacyProfile, ...]

    def delta(self, epsilon: Number) -> Enclosure:
        """0 from the sum of all pure epsilons on."""
        if require_epsilon(epsilon) >= (pure := self.pure()).high and math.isfinite(pure.high):
            return Enclosure(0.0, 0.0, pure.rigour, pure.source)
        return self._enclose(lambda profile: profile.delta(epsilon), 1.0)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """At delta = 0 the sum of all pure epsilons, which are attained together."""
        pure = self.pure()
        return pure if require_delta(delta) == 0 else self._enclose(lambda profile: profile.epsilon(delta), pure.high)

    def pure(self) -> Enclosure:
        """Epsilon at delta = 0: every part's pair and event is its own choice, so losses add up, tightly."""
        found = [(part.profile.epsilon(0), part.times) for part in self.parts]
        rigour = min(e.rigour for e, _ in found)
        return Enclosure(
            _weighted_sum([(e.low, n) for e, n in found], round_down),
            _weighted_sum([(e.high, n) for e, n in found], round_up),
            rigour,
            f"{self.upper_source}: the sum of epsilons",
        )

    @property
    def upper_source(self) -> str:
        """What is composed."""
        return _source(sum(part.times for part in self.parts))

    def _enclose(self, value: Callable[[PrivacyProfile], Enclosure], most: float) -> Enclosure:
        upper = value(self.upper)
        if self.is_exact:
            return upper.clamp(0.0, most)
        # Who sees less than everything knows no more: one part's lower bound is one of the whole.
        seen = [value(part.profile) for part in self.parts]
        low = max(e.low for e in [*seen, *map(value, self.lowers)])
        high = min(upper.high, most)
        rigour = min(Rigour.INTERVAL, *(e.rigour for e in seen))
        return Enclosure(min(low, high), high, rigour, upper.source)

    @property
    def is_exact(self) -> bool:
        """Whether the upper profile is also that of pairs that occur."""
        return all(part.is_exact for part in self.parts)


def _weighted_sum(terms: list[tuple[float, int]], rounded: Callable[[Fraction], float]) -> float:
    if any(math.isinf(value) for value, _ in terms):
        return math.inf
    return rounded(sum((Fraction(value) * times for value, times in terms), Fraction(0)))


def profile(plan: Plan, neighbours: Neighbours | None = None) -> PrivacyProfile:
    """Profile of a `Guarantee`, or of independent runs of any plans.

    Parameters
    ----------
    plan : Guarantee, Repeat or Compose
        What is deployed.
    neighbours : Neighbours or None
        The relation of every part. The whole stream of a user is replaced by replacing every part's input.

    Returns
    -------
    PrivacyProfile
        In nats. EXACT where the module docstring says so, otherwise INTERVAL.

    Raises
    ------
    Unsupported
        Where a part has no accountant, or the losses have too many values.
    """
    leaves: Counter[Plan] = Counter()
    for leaf, times in _flat(plan, 1):
        leaves[leaf] += times
    if len(leaves) == 1:
        (only, times), = leaves.items()
        if times == 1 and not isinstance(only, Guarantee):
            return account(only, _relation(only, neighbours))
    parts = tuple(_part(leaf, times, neighbours) for leaf, times in leaves.items())
    uppers: Counter[Kind] = Counter()
    for part in parts:
        for kind, times in part.uppers:
            uppers[kind] += times * part.times
    lowers = {tuple(chosen.items()) for chosen in _choices(parts)} - {()}
    source = _source(leaves.total())
    return ComposedProfile(
        parts, compose(tuple(uppers.items()), source), tuple(compose(groups, source) for groups in lowers)
    )


def _source(runs: int) -> str:
    return f"composition of {runs} runs" if runs > 1 else "one run"


def _flat(plan: Plan, times: int) -> Iterator[tuple[Plan, int]]:
    match plan:
        case Repeat(inner, repeats):
            yield from _flat(inner, times * repeats)
        case Compose(parts):
            for part in parts:
                yield from _flat(part, times)
        case _:
            yield plan, times


def _relation(leaf: Plan, neighbours: Neighbours | None) -> Neighbours | None:
    if neighbours != USER_LEVEL or (isinstance(leaf, Run) and USER_LEVEL in leaf.mechanism.relations):
        return neighbours
    return REPLACE_ONE


def _part(leaf: Plan, times: int, neighbours: Neighbours | None) -> Part:
    if isinstance(leaf, Guarantee):
        kind = guarantee_kind(leaf.epsilon, leaf.delta)
        worst = compose(((kind, 1),), f"the worst map with {leaf}")
        return Part(leaf, times, PostProcessedProfile(worst), ((kind, 1),), ())
    found = account(leaf, _relation(leaf, neighbours))
    return Part(leaf, times, found, _uppers(found), _lowers(found))


def _uppers(profile: PrivacyProfile) -> tuple[Group, ...]:
    match profile:
        case PostProcessedProfile(inner):
            return _uppers(inner)
        case ComposedProfile(parts):
            return tuple((kind, n * part.times) for part in parts for kind, n in part.uppers)
        case FiniteProfile(pairs):
            return ((envelope_kind(pairs), 1),)
    above = getattr(profile, "high", None)  # a profile between two others
    return _uppers(above) if isinstance(above, PrivacyProfile) else ((upper_kind(profile), 1),)


def _lowers(profile: PrivacyProfile) -> tuple[Kind, ...]:
    match profile:
        case FiniteProfile(pairs, level=Rigour.EXACT):
            return tuple(kind for kind in map(pair_kind, pairs) if kind is not None)
        case _ if getattr(profile, "one_pair", False):
            return (lower_kind(profile),)
    below = getattr(profile, "low", None)
    return _lowers(below) if isinstance(below, PrivacyProfile) else ()


def _choices(parts: tuple[Part, ...]) -> Iterator[Counter[Kind]]:
    """A few choices of pairs that occur, one for every run: each is a valid lower bound."""
    yield _chosen(parts, _information)
    yield _chosen(parts, _reach)
    # A pair and its mirror, half and half: where the two differ, often worse than either all the time.
    halves: Counter[Kind] = Counter()
    for part in parts:
        for kind in part.lowers[:2]:
            halves[kind] += part.times // len(part.lowers[:2])
    yield +halves


def _chosen(parts: tuple[Part, ...], rank: Callable[[Kind], tuple[float, float]]) -> Counter[Kind]:
    """The same pair in all runs of a part, the first by rank."""
    chosen: Counter[Kind] = Counter()
    for part in parts:
        if part.lowers:
            chosen[max(part.lowers, key=rank)] += part.times
    return chosen


def _information(kind: Kind) -> tuple[float, float]:
    return kind.mean(), 0.0


def _reach(kind: Kind) -> tuple[float, float]:
    return float(kind.escape), float(kind.losses[0].ball()) if kind.losses else 0.0
