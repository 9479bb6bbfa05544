"""Profile of a sum of reports: which accountant it has."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial, reduce

from ldpaudit.accountants import account
from ldpaudit.accountants.aggregation.bits import BitsProfile, GroupProfile, OneBitProfile
from ldpaudit.accountants.aggregation.clamped import Clamped, ClampedProfile
from ldpaudit.accountants.aggregation.coordinate import FAR
from ldpaudit.accountants.aggregation.envelope import Bits
from ldpaudit.accountants.aggregation.exchanged import Exchanged, ExchangedProfile
from ldpaudit.accountants.aggregation.filtered import FilteredProfile, left_out
from ldpaudit.accountants.aggregation.hidden_place import HiddenPlace, hides, scored
from ldpaudit.accountants.aggregation.hidden_total import HiddenTotal
from ldpaudit.accountants.aggregation.noisy_counts import NoisyCounts, two_counts
from ldpaudit.accountants.aggregation.numbers import NoisyNumber, changing
from ldpaudit.accountants.aggregation.rows import Rows, ToldRows
from ldpaudit.accountants.composition.composed import Part, composed
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.pld.profiles import AsAlone, PostProcessedProfile, SmallestBound, Twice
from ldpaudit.enclosure import Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.sums import summed, tells_the_multiset
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.plan import Aggregate, Repeat, Run, Shuffle
from ldpaudit.profile import Number, PrivacyProfile, Witness

_BITS = 16
"""Bits that a user's reports may differ in, for the cost of noise alone."""
_APART, _FAR_APART = 0.97, 0.5
"""Ratio of the ends of several rounds of bits, and of other reports, below which one round is composed."""


def profile(
    plan: Aggregate,
    neighbours: Neighbours | None,
    known: Callable[[Mechanism, Neighbours], Bits | NoisyNumber | Exchanged | Clamped | Rows | None],
    listed: Callable[[Mechanism], Masses],
) -> PrivacyProfile:
    """Profile of a sum of reports.

    Each round of a repetition is summed by itself. Under add-remove one report becomes that of an absent user, and the number of
    reports stays known. With noise on sums of one-hot reports, the least of what the reports cost without it, and of what each
    noise costs where the report is known. In nats; INTERVAL, of noisy numbers EXACT, or the shuffled plan's profile where no two
    multisets of reports have one sum. Raises Unsupported for other plans, and for mechanisms whose reports have no sum.
    """
    group = neighbours.users if neighbours is not None and neighbours.kind == "group" else 1
    if group > plan.users:
        raise Unsupported(plan, f"a group of {group} users does not fit into its {plan.users}")
    if neighbours is not None and neighbours.kind == "group":
        neighbours = REPLACE_ONE
    m, rounds = summed(plan)
    inner = Run(m)
    relation = neighbours or m.relations[0]
    if relation not in m.relations:
        raise Unsupported(inner, f"its inputs have the relations {', '.join(map(str, m.relations))}, not {relation}")
    added = known(m, relation)
    if plan.most_ones is not None and not (isinstance(added, Bits) and len(added.one) == 2):
        raise Unsupported(plan, "leaving out reports with many ones is accounted for where reports are independent bits")
    if isinstance(added, Bits) and not plan.noise:
        added = added.reduced
    once = replace(plan, plan=inner)
    if isinstance(added, NoisyNumber) and plan.users > 1:
        one = added.summed(once, group, listed)
        return one if rounds == 1 else composed([Part(once, rounds, one)])
    if group > 1:
        return GroupProfile(profile(plan, relation, known, listed), group, plan.users)
    local = account(plan.plan, relation)
    if plan.is_one_report:
        return local
    if plan.most_ones is not None and isinstance(added, Bits):
        whole = profile(replace(plan, most_ones=None), relation, known, listed)
        if not (chance := left_out(added, plan.most_ones) * plan.users * rounds):
            return replace(whole, plan=plan) if isinstance(whole, BitsProfile | AsShuffled) else whole  # its witness is of the plan
        pure, is_seen = local.epsilon(0), not plan.noise and plan.most_ones >= max(map(max, added.attained))
        return FilteredProfile(whole, local, chance, pure if is_seen else replace(pure, low=0.0, rigour=Rigour.INTERVAL))
    if local.epsilon(0).high > FAR:
        if rounds > 1 and not isinstance(added, Clamped):
            return _round_by_round(once, rounds, relation)
        hidden = (account(Repeat(Shuffle(inner, plan.users), rounds), relation),) if rounds > 1 else ()
        return PostProcessedProfile(SmallestBound((local, *hidden)))
    noisy_bits = plan.noise and isinstance(added, Bits)
    if (tells_the_multiset(m) and not noisy_bits) or isinstance(added, Exchanged | Clamped | Rows):
        # A round's sum is computed from that round's reports, which nothing links to other rounds' reports.
        shuffled = account(Repeat(Shuffle(inner, plan.users), rounds), relation)
        if tells_the_multiset(m) and not plan.noise:
            return AsShuffled(shuffled, "what shuffling costs, as the sum tells the multiset", plan)
        noise = tuple(map(listed, plan.noise))
        if isinstance(added, Clamped):
            return ClampedProfile(plan.users, rounds, noise, shuffled, added.laws)
        if not isinstance(added, Exchanged | Rows):
            return PostProcessedProfile(shuffled)
        counts = added.counts if isinstance(added, Rows) else added
        bounds: PrivacyProfile = SmallestBound((shuffled, *_known_report(plan.noise, counts.change, rounds)))
        added_up = reduce(Masses.plus, noise) if rounds == 1 and noise and (counts.place or counts.one_of) else None
        place = counts.place if counts.place and added_up and hides(counts.place, added_up) else None
        if place and added_up:
            bounds = HiddenPlace(bounds, place, plan.users, added_up)
        if isinstance(added, Rows):
            bounds = ToldRows(bounds, plan.users, rounds, plan.noise, added)
        found = ExchangedProfile(plan.users, rounds, noise, bounds, local, counts)
        if place and added_up:
            return replace(found, both=partial(scored, place, plan.users, added_up))
        if (of := counts.one_of) and added_up:
            seen = of, plan.users, added_up.mirrored if of.is_left_out else added_up
            told, both = NoisyCounts(bounds, *seen), cache(partial(two_counts, *seen))
            alpha = plan.noise[0].alpha if isinstance(plan.noise[0], DiscreteLaplace) and len(plan.noise) == 1 else None
            return replace(found, above=HiddenTotal(told, alpha, both) if alpha and of.k > 2 else told, both=both)
        return _composed(found, once, rounds, relation, _FAR_APART)
    if not isinstance(added, Bits):
        raise Unsupported(inner, f"sums of this mechanism's reports are not accounted for under {relation}")
    if rounds == 1 and not plan.noise and added.is_one_symmetric_bit:
        shuffled = account(Shuffle(KaryRandomizedResponse(2, added.one[1]), plan.users))
        return OneBitProfile(plan, added, AsAlone(shuffled, "one bit's sum is one bit's shuffle"))
    most = len(added.one) - 1  # that a count of several reports moves by; a smaller shift of noise that is log-concave tells less
    if plan.noise and (most == 1 or all(isinstance(each, DiscreteLaplace | DiscreteGaussian) for each in plan.noise)):
        a, b = (max(times) for times in zip(*added.possible, strict=True))
        local = SmallestBound((local, *_known_report(plan.noise, (most,) * a + (-most,) * b, rounds)))
    return _composed(BitsProfile(plan, added, local, tuple(map(listed, plan.noise)), rounds), once, rounds, relation, _APART)


def _composed(found: PrivacyProfile, once: Aggregate, rounds: int, relation: Neighbours, near: float) -> PrivacyProfile:
    """Of several rounds, where its ends are further apart than `near`: also as a composition of single ones."""
    return found if rounds == 1 else Twice(found, _round_by_round(once, rounds, relation), near)


def _round_by_round(once: Aggregate, rounds: int, relation: Neighbours) -> PrivacyProfile:
    return composed([Part(once, rounds, account(once, relation))])


def _known_report(noise: tuple[Mechanism, ...], change: tuple[int, ...], rounds: int = 1) -> Iterator[PrivacyProfile]:
    """What each noise costs alone, where the adversary knows the reports but for the change itself; of a few counts."""
    if rounds * len(change) <= _BITS:
        yield from map(account, changing(noise, tuple(sorted(change * rounds, reverse=True))))


@dataclass(frozen=True)
class AsShuffled(AsAlone):
    """Profile of a sum that tells the multiset of its reports."""

    plan: Aggregate

    def witness(self, epsilon: Number) -> Witness | None:
        """The shuffled plan's, of the sum."""
        found = self.inner.witness(epsilon)
        return None if found is None else replace(found, plan=self.plan)
