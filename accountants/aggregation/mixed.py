r"""Shuffled reports of users who do not all run the same plan: groups of different epsilons, say.

Who is in which group is no secret, so that user 1 of the first neighbour is in the same group in the second one. The worst user is
in one of the groups: each is looked at, and the largest cost taken.

*From above*, whatever the groups run: all other groups' reports may be given away, so that user 1 is hidden by its own group alone.

Of k-ary randomized response, at any epsilons, all hide user 1. Other user u draws the report uniformly from all values with
probability :math:`\gamma_u = k q_u`, for q_u the chance of a given lie, and else tells the truth; who is truthful, and what they
hold, may be given away. Then user 1's report is among M uniform ones, M a sum of independent coins, and costs D(M): less, the
larger M is, as one can add reports oneself. Let B be Bin(l, g) of nearly the mean and the variance of M,

.. math:: 1 - g = \frac{\sum_u \gamma_u (1 - \gamma_u)}{\sum_u \gamma_u}, \qquad l g \le \sum_u \gamma_u, \qquad
          E D(M) - E D(B) = \sum_c (P[M \le c] - P[B \le c])\,(D(c) - D(c+1)) \le \max_c\, (P[M \le c] - P[B \le c])_+

as D is from 0 to 1. So user 1 costs at most what it does among the blanket of l others who send with probability g (`blanket`),
and the last number more, which is next to 0: l is made less until it is.

*From below*, the difference of the numbers of reports of user 1's two values, where all others hold a third value, or one of
these: a sum of independent steps. All others with a third value send uniform reports or that one, so that it tells nearly all that
is bounded from above. Of other plans no data set is evaluated.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.aggregation.bits import pair_within
from ldpaudit.accountants.aggregation.coordinate import Pair, TwoCoordinates
from ldpaudit.accountants.aggregation.exchanged import AtDataSets, Exchanged, Step
from ldpaudit.accountants.composition.compose import compose
from ldpaudit.accountants.composition.composed import Part
from ldpaudit.accountants.numerics.float_masses import UNIT, Masses
from ldpaudit.accountants.pld.curve import dominating_curve
from ldpaudit.accountants.pld.distribution import Groups
from ldpaudit.accountants.pld.profiles import LargestProfile, PostProcessedProfile, SmallestBound, SummedLosses
from ldpaudit.accountants.shuffling.blanket import Blanket
from ldpaudit.accountants.shuffling.bounds import BlanketBound
from ldpaudit.accountants.shuffling.shuffled import ShuffleProfile
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.plan import Mixed, Plan, Run, Shuffle
from ldpaudit.profile import Number, PrivacyProfile

_USUAL, _POINTS = 1e-6, 96
"""Delta at whose epsilon data sets are compared that are composed, and points of the curve that is."""
_MOST = 1 << 30
"""Users up to whom all groups are looked at together: their numbers of uniform reports are listed."""
_APART = 1e-20
"""How far the distribution function of the binomial number may lie below that of the uniform reports."""
_FEWER = 64
"""Coins by which the binomial number is made less at most."""


def profile(
    plan: Shuffle, groups: Mixed, neighbours: Neighbours | None, summands: Callable[[Mechanism, Neighbours], Any]
) -> PrivacyProfile:
    """Profile of shuffled reports of users in these groups, in the worst case over which user is replaced.

    In nats; INTERVAL, and from below 0 where the groups run anything but k-ary randomized response of one k. At delta = 0 that of
    the group that costs most alone. Raises Unsupported for another relation than replace-one, and where a group's plan is refused.
    """
    if neighbours not in (None, REPLACE_ONE):
        raise Unsupported(plan, f"shuffling a known number of users needs replace-one neighbours, not {neighbours}")
    alone: list[PrivacyProfile] = [account(Shuffle(each, users)) for each, users in groups.groups]
    held = [(report, users) for each, users in groups.groups if (report := _response(each, summands)) is not None]
    if len(held) < len(alone) or len({report.k for report, _ in held}) > 1 or plan.users > _MOST:
        return WorstUser(tuple(map(PostProcessedProfile, alone)), tuple(Part(plan, 1, each) for each in alone))
    found: list[PrivacyProfile] = []
    curves: list[Part] = []
    for at, ((own, _), above) in enumerate(zip(held, alone, strict=True)):
        local, others = account(groups.parts[at]), tuple((report, users - (i == at)) for i, (report, users) in enumerate(held))
        bounds = [above] if (bound := _uniform(own, others)) is None else [ShuffleProfile(plan, local, bound), above]
        curves.append(Part(plan, 1, bounds[0]))
        found.append(MixedProfile(plan.users, 1, (), SmallestBound(tuple(bounds)), local, own, others))
    return WorstUser(tuple(found), tuple(curves))


@dataclass(frozen=True)
class WorstUser(SummedLosses):
    """The largest of the profiles of users of different groups."""

    users: tuple[PrivacyProfile, ...]
    curves: tuple[Part, ...]  # what bounds these from above, where they are composed

    def delta(self, epsilon: Number) -> Enclosure:
        """The largest delta."""
        return LargestProfile(self.users).delta(epsilon)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """The largest epsilon."""
        return LargestProfile(self.users).epsilon(delta)

    @cached
    def dominating(self) -> Groups:
        """Of the curve above all users' curves."""
        known = (compose(each.upper, "a curve") for each in self.curves)
        return ((dominating_curve(LargestProfile(tuple(known)), _POINTS), 1),)

    @cached
    def occurring(self) -> tuple[Groups, ...]:
        """Of the user who costs most at a usual delta, in both orders; none where no data set is known."""
        worst = max(self.users, key=lambda each: each.epsilon(_USUAL).low)
        seen = max(worst.seen, key=lambda each: each.epsilon(_USUAL)).first if isinstance(worst, MixedProfile) else None
        return tuple(((pair_within(each), 1),) for each in (seen, seen.reversed)) if seen else ()


class Response(NamedTuple):
    """K-ary randomized response."""

    k: int
    lie: Fraction  # q, the chance of each lie
    held: tuple[Step, ...]  # what a report of user 1's first value, its second one, and a third adds to the counts of the first two


def _response(plan: Plan, summands: Callable[[Mechanism, Neighbours], Any]) -> Response | None:
    """What users run, where it is that."""
    found = summands(plan.mechanism, REPLACE_ONE) if isinstance(plan, Run) else None
    if not (isinstance(found, Exchanged) and found.one_of and not found.one_of.is_left_out):
        return None
    return Response(found.one_of.k, found.one_of.q, (found.own, found.own.mirrored, *([found.third] if found.third else [])))


@dataclass(frozen=True)
class UniformReports(BlanketBound):
    """User 1 among a number of uniform reports that is nearly binomial."""

    apart: float = 0.0  # by how much its distribution function may exceed that of the binomial number

    def high(self, epsilon: Fraction, tolerance: float) -> flint.arb:
        """See `Bound`."""
        return super().high(epsilon, tolerance) + flint.arb(self.apart)


def _uniform(own: Response, others: tuple[tuple[Response, int], ...]) -> UniformReports | None:
    """The bound of user 1 among all who answer uniformly; None where no binomial number is found below theirs."""
    k, lie, coins = own.k, own.lie, [(own.k * each.lie, users) for each, users in others]
    mean = sum(share * users for share, users in coins)
    rate = Fraction(float(1 - sum(share * (1 - share) * users for share, users in coins) / mean))
    number, fewer = reduce(Masses.plus, (Masses.binomial(users, share) for share, users in coins)), 0
    while fewer <= _FEWER and (draws := int(mean / rate) - fewer) > 0:
        if (apart := _above(number, Masses.binomial(draws, rate))) <= _APART:
            truth, rest, share = own.held[0].first, (k - 2) * lie, rate / k
            cells = (truth, lie, share), (lie, truth, share), (rest, rest, (k - 2) * share)
            return UniformReports((Blanket.of(cells),), (), draws + 1, apart=apart)
        fewer = 2 * fewer + 1
    return None


def _above(first: Masses, second: Masses) -> float:
    """Upper bound of how far the distribution function of the first is above that of the second anywhere."""
    at = np.arange(min(first.first, second.first), max(each.first + len(each.values) for each in (first, second)) + 1)

    def beyond(more: Masses, less: Masses, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of the sums over the first numbers."""
        high, low = (np.cumsum(each.at(numbers)) for each in (more, less))
        slack = [each.error + (len(at) + 4) * UNIT for each in (more, less)]
        found: NDArray[np.float64] = high * (1 + slack[0]) + more.outside - low * (1 - slack[1])
        return found

    # Sums from below are accurate where they are small, those from above, of the numbers beyond, where these are.
    upper = beyond(second, first, at[::-1])[::-1]
    return max(0.0, float(np.minimum(beyond(first, second, at)[:-1], upper[1:]).max()), first.outside, second.outside)


@dataclass(frozen=True)
class MixedProfile(AtDataSets):
    """Profile of shuffled randomized responses of different epsilons, of which user 1's is one."""

    local: PrivacyProfile  # of user 1's report
    own: Response
    others: tuple[tuple[Response, int], ...]
    of = "shuffle"
    below = "the difference of the numbers of two values' reports"

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """As `delta`; at delta = 0 that of user 1's report."""
        if delta:
            return super().epsilon(delta)
        top, why = self.local.epsilon(0), "shuffling hides nothing at delta = 0: where all reports are equal, it has one's ratio"
        return replace(top, source=f"{why}; {top.source}")

    @cached
    def seen(self) -> tuple[TwoCoordinates, ...]:
        """The laws of the difference, where all others hold the first value, the second, or a third one, if there is one."""
        ways, own = range(len(self.own.held)), self.own.held[:2]
        others = (reduce(Masses.plus, (each.held[way].times(users) for each, users in self.others)) for way in ways)
        return self._repeated(Pair.of(*(rest.plus(step.masses) for step in own)) for rest in others)
