r"""Shuffled plans: every user runs the same plan once, and the adversary sees the multiset of their views.

Upper bounds: the first of these that applies, or the unshuffled plan where that is less.

- binary randomized response: the worst data set itself, by branch and bound (`binary`);
- a mechanism whose laws are matched or small enough to list: its blanket (`randomizers`), or its replacement (`replaced`);
- a number plus Laplace or Gaussian noise: the blanket of its inputs' ends (`laplace_noise`, `gaussian_noise`), or its replacement;
- a guarantee with a delta: the clones, and what rare failures cost (`clones.RareFailures`);
- any other epsilon0-LDP plan: the clones (`clones`), or the replacement of any such plan (`replaced`). A composition or a
  repetition is one randomizer, whose epsilon0 is that of the whole and whose view is everything that one user sends; the
  shuffler does not separate it;
- the unshuffled plan, for shuffling is post-processing. Where reports name their users it is the lower bound too: user 1's is
  known among all others.

A new theorem is a file like `clones`, which computes delta at an epsilon. For any epsilon0-LDP report it is one more term of the
minimum in `bounds.AnyReportBound`; for one mechanism, a `Bound` that the mechanism's ``shuffled(m, users)`` returns; for a kind
of plan, a case of `profile` here. One that is only listed beside ours is a row of ``claims/published/shuffled``.

Lower bounds are attained by data sets, never by an upper bound's own construction; where none is evaluated, n users hide at most
log n nats of what one view tells (`shuffled`), or the bounds are 0, and the source says so. At delta = 0 shuffling changes
nothing: where all n views are the one at which the local ratio is largest and all others hold user 1's first value, that view has
the local ratio. Which bound belongs to a mechanism its stem says: `bounds`.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.pld.curve import dominated_curve
from ldpaudit.accountants.pld.finite import revealed
from ldpaudit.accountants.pld.profiles import AsAlone, OnePairProfile, PostProcessedProfile, below
from ldpaudit.accountants.shuffling import laplace_vectors, products
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.accountants.shuffling.bounds import FINE, AnyReportBound, Attained, BlanketBound, Bound, OnePairBound, OthersAlike
from ldpaudit.accountants.shuffling.clones import Clones, RareFailures
from ldpaudit.accountants.shuffling.laplace_vectors import VectorsBound
from ldpaudit.accountants.shuffling.replaced import of_any_map
from ldpaudit.accountants.shuffling.shuffled import LARGEST, ShuffleProfile
from ldpaudit.core.working_precision import working_precision
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.plan import (
    Compose,
    Guarantee,
    Plan,
    Poisson,
    PostProcess,
    Repeat,
    Run,
    Shuffle,
    flat,
    names_users,
    nodes,
    of_many_users,
)
from ldpaudit.profile import PrivacyProfile

_FEW_POINTS = 16
"""Points of the curve of a report's worst pair of inputs, where a data set is made of it: some percent of its epsilon are lost."""
_NAMED = "what it costs alone, since reports, or what is public of them, name their users: shuffling hides nobody"
"""Why a plan costs shuffled what it costs alone."""


def profile(
    plan: Shuffle, neighbours: Neighbours | None = None, known: Callable[[Mechanism], Bound | None] | None = None
) -> PrivacyProfile:
    """Profile of a shuffled plan.

    Under add-remove, where an absent user sends nothing, delta is 1 at every epsilon. ``known`` makes the bound that a mechanism
    has, or None where it has none: then the clones serve. In nats. EXACT for binary randomized response where its two ends are
    within 1e-9; else INTERVAL. With one user, and where reports name their users, the unshuffled plan's. Raises Unsupported for
    another relation, for a plan whose epsilon at delta = 0 is infinite, and for other plans.
    """
    if isinstance(plan.plan, Poisson):
        plan = Shuffle(plan.plan.normal, plan.users)
    if not isinstance(plan.plan, Run | Guarantee | Repeat | Compose | Poisson | PostProcess):
        raise Unsupported(plan.plan, "a shuffled plan needs a mechanism for one user, run once")
    leaves = list(plan.plan.leaves())
    if system := of_many_users(plan.plan):
        raise Unsupported(plan.plan, f"a shuffled plan needs a mechanism for one user, but this one is {system}")
    # An absent user sends nothing; of some mechanisms an absent user's view is another one, which these name.
    silent = all(isinstance(leaf, Run) and ADD_REMOVE not in leaf.mechanism.relations for leaf in leaves)
    if neighbours == ADD_REMOVE and silent and not any(isinstance(node, Poisson) for node in nodes(plan)):
        return revealed("every user sends one view, so that the number of views reveals that a user is absent")
    if neighbours not in (None, REPLACE_ONE):
        raise Unsupported(plan, f"shuffling a known number of users needs replace-one neighbours, not {neighbours}")
    local = account(plan.plan, REPLACE_ONE)
    if plan.users == 1:
        return local
    if names_users(plan):
        return AsAlone(local, _NAMED)
    if any(isinstance(leaf, Guarantee) and leaf.delta == 1 for leaf in leaves):
        raise Unsupported(plan.plan, "no theorem of shuffling is known here for a guarantee by rho or mu, without an epsilon")
    if isinstance(plan.plan, Guarantee) and plan.plan.delta:
        epsilon0, delta0 = plan.plan.epsilon, plan.plan.delta
        # Without epsilon0 there is nothing to hide.
        return RareFailures(local, epsilon0, delta0, plan.users) if 0 < epsilon0 <= LARGEST else PostProcessedProfile(local)
    top = local.epsilon(0)
    if not math.isfinite(top.high):
        own = known(plan.plan.mechanism) if known is not None and isinstance(plan.plan, Run) else None
        if own is not None and not own.needs_epsilon0:
            return ShuffleProfile(plan, local, own)
        raise Unsupported(plan.plan, "its epsilon at delta = 0 is infinite, and shuffling theorems need it finite")
    if top.high > LARGEST:
        return PostProcessedProfile(local)
    clones = AnyReportBound(Clones(Fraction(top.high)), plan.users)
    found = clones if known is None else _known(plan, known, clones) or clones
    if found is clones:
        return ShuffleProfile(plan, local, _attained(clones, local))
    if isinstance(found, BlanketBound) and not found.data_sets:
        found = replace(found, otherwise=_attained(clones, local))
    return ShuffleProfile(plan, local, found)


def _attained(clones: AnyReportBound, local: PrivacyProfile) -> AnyReportBound:
    """From below, too, where one pair of inputs attains the profile of a report: it tells no less than a pair of fewer losses."""
    own = next((each for each in below(local) if isinstance(each, OnePairProfile)), None)
    if own is None or math.isinf(own.epsilon(0).high):
        return clones
    pair = dominated_curve(own, _FEW_POINTS).complete()
    if pair.infinite:
        return clones
    return OnePairBound(clones.clones, clones.users, Blanket.of((p, p / ratio, p) for ratio, p in pair.atoms))


def _known(plan: Shuffle, known: Callable[[Mechanism], Bound | None], clones: AnyReportBound) -> Bound | None:
    """The bound of what one user sends: one report, perhaps, or a bundle of several, all of mechanisms or guarantees."""
    if isinstance(plan.plan, Poisson):
        return _of_participants(_known(Shuffle(plan.plan.plan, plan.users), known, clones), plan.plan.rate, clones)
    parts = Counter[Plan]()
    for leaf, times in flat(plan.plan):
        if not isinstance(leaf, Run | Guarantee):
            return None
        parts[leaf] += times
    found = [(known(leaf.mechanism) if isinstance(leaf, Run) else None, times) for leaf, times in parts.items()]
    one, times = found[0]
    if len(found) == times == 1:
        return one
    if len(found) == 1 and isinstance(one, VectorsBound):
        return laplace_vectors.repeated(one, times, clones)
    pure = (Fraction(account(leaf, REPLACE_ONE).epsilon(0).high) for leaf in parts)
    return products.bound([(own, epsilon0, n) for (own, n), epsilon0 in zip(found, pure, strict=True)], clones)


@dataclass(frozen=True)
class ParticipantsBound(BlanketBound):
    """Of users who may send nothing, which is one more view: seen, but not of whom."""

    def _alike(self, found: OthersAlike, e: flint.arb, tolerance: float) -> Attained:
        attained = super()._alike(found, e, tolerance)
        return replace(attained, event=f"{attained.event}, where a user who sends nothing has a view, too")


def _of_participants(own: Bound | None, rate: Fraction, clones: AnyReportBound) -> ParticipantsBound:
    """From the bound of those who send, or for any report where it has no types."""
    types, alike = (None, ()) if own is None else own.known
    with working_precision(precision(clones.users)):
        replaced = (types or of_any_map(ball(clones.clones.epsilon0))).part(rate)
        sets = tuple(replace(each, blanket=each.blanket.part(rate)) for each in alike)
        blankets = tuple(each.part(rate) for each in own.blankets) if isinstance(own, BlanketBound) else ()
    quick = own.coarser if isinstance(own, BlanketBound) else None
    coarser = None if quick is None else _of_participants(quick, rate, clones)
    finest = FINE if own is None else max(own.finest, FINE)
    return ParticipantsBound(blankets, sets, clones.users, finest=finest, coarser=coarser, replaced=replaced, otherwise=clones)
