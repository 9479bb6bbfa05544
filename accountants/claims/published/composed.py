"""Published theorems of composition, applied to guarantees of the parts."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.published.theorem import Published
from ldpaudit.accountants.claims.sentence import Provenance
from ldpaudit.accountants.composition import divergences, theorems
from ldpaudit.accountants.composition.composed import ComposedProfile, Part as Runs
from ldpaudit.accountants.sampling.theorems import subsampled_renyi
from ldpaudit.accountants.shuffling.clones import CloneProfile
from ldpaudit.enclosure import Enclosure
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.plan import Compose, Guarantee, Plan, Repeat, Run, Shuffle, Subsample


@dataclass(frozen=True, slots=True)
class _Part:
    """A leaf of a composition: how often it runs, and the guarantee that stands for it."""

    times: int
    epsilon: Fraction
    delta: Fraction


_SLACK = "delta above the sum of the parts' deltas"
_PURE = "parts with delta = 0, delta > 0"
_SEEN_ORDERS = 64  # up to this one a sample's divergences are those of its profile; beyond, those of its epsilon at delta = 0
_MORE_ORDERS = (96, 128, 192, 256, 384, 512, 768, 1024)
_LOOSELY = 1e-5  # relative width at which clones are computed whose curve is composed


def composed(plan: Plan, delta: Fraction, neighbours: Neighbours | None) -> Iterator[Published]:
    """Theorems of composition, from guarantees of the parts; each raises a ValueError where a hypothesis is not met.

    A part's guarantee is its certified epsilon at delta = 0. For a part that shuffles or subsamples, or whose epsilon is
    infinite there, it is that at an equal share of half of delta, and for basic composition of all of delta.
    """
    leaves = _leaves(plan)
    parts, whole = (
        tuple(_part(leaf, times, share, neighbours) for leaf, times in leaves.items())
        for share in (delta / (2 * leaves.total()), delta / leaves.total())
    )

    def equal(name: str) -> _Part:
        if len(parts) != 1:
            raise ValueError(f"{name} needs equal parts, got {len(parts)} different ones")
        return parts[0]

    def pure(name: str, parts: tuple[_Part, ...]) -> list[tuple[int, Fraction]]:
        if lost := _lost(parts):
            raise ValueError(f"{name} needs parts with delta = 0, got parts whose deltas sum to {float(lost):g}")
        return [(part.times, part.epsilon) for part in parts]

    def slack(name: str) -> Fraction:
        lost = _lost(parts)
        if not 0 < delta - lost < 1:
            raise ValueError(f"{name} needs delta > {float(lost):g}, the sum of the parts' deltas, got {float(delta):g}")
        return delta - lost

    def basic() -> Enclosure:
        if (spent := _lost(whole)) > delta:
            raise ValueError(f"basic composition needs delta >= {float(spent):g}, got {float(delta):g}")
        return theorems.basic([(part.times * part.epsilon, part.times * part.delta) for part in whole])[0]

    def drv10() -> Enclosure:
        part = equal("DRV10")
        return theorems.drv10(part.times, part.epsilon, part.delta, slack("DRV10"))[0]

    def hkr12() -> Enclosure:
        ((times, epsilon),) = pure("HKR12", (equal("HKR12"),))
        return theorems.hkr12(times, epsilon, slack("HKR12"))

    def optimal() -> Enclosure:
        slack("MV16")  # exact where the sums of epsilons are few; in general #P-complete, and then from above
        return account(Compose([Repeat(Guarantee(part.epsilon, part.delta), part.times) for part in parts])).epsilon(delta)

    yield Published("DKMMN06 basic composition", 2006, "Dwork, Kenthapadi, McSherry, Mironov, Naor 2006", basic,
                    "delta at least the sum of the parts' deltas")  # fmt: skip
    yield Published("DRV10 advanced composition", 2010, "Dwork, Rothblum, Vadhan 2010, theorem III.3", drv10,
                    f"equal parts, {_SLACK}", Provenance.RESTORED)  # fmt: skip
    yield Published("HKR12 composition", 2012, "Hsu, Khanna, Roth 2012, theorem 2.5", hkr12,
                    "equal parts with delta = 0 and epsilon' <= 1, a total epsilon below 1, and (not stated) "
                    "ln(1/delta) >= epsilon/2", Provenance.PRINTED)  # fmt: skip
    yield Published("KOV15 closed form", 2015, "Kairouz, Oh, Viswanath 2015, theorems 3.4 and 3.5",
                    lambda: theorems.kov([(part.times, part.epsilon, part.delta) for part in parts], slack("KOV15"))[0],
                    _SLACK)  # fmt: skip
    yield Published("BS16 zCDP", 2016, "Bun, Steinke 2016, propositions 1.3 and 1.4",
                    lambda: divergences.concentrated(pure("zCDP", parts), slack("zCDP")), _PURE)  # fmt: skip
    yield Published("MV16 optimal composition", 2016, "Kairouz, Oh, Viswanath 2015, theorem 3.3; Murtagh, Vadhan 2016, theorem 1.5",
                    optimal, _SLACK)  # fmt: skip
    converted = "Canonne, Kamath, Steinke 2020, proposition 12"
    shuffles = {leaf: times for leaf, times in leaves.items() if isinstance(leaf, Shuffle)}
    if len(shuffles) == len(leaves):
        source = "Koskela, Heikkila, Honkela 2023, with the clones of Feldman, McMillan, Talwar 2021"
        needs = "shuffled reports, 0 < epsilon0, 0 < delta, n >= 2"
        yield Published("KHH23 clones, composed", 2023, source, lambda: _clones(shuffles, delta), needs, Provenance.DERIVED)
    samples = {leaf: times for leaf, times in leaves.items() if isinstance(leaf, Subsample)}
    if len(samples) == len(leaves):
        source, needs = f"Wang, Balle, Kasiviswanathan 2019, theorem 9; {converted}", "samples without replacement, delta > 0"
        yield Published("WBK19 sampled Renyi", 2020, source, lambda: _sampled(samples, delta), needs, Provenance.RESTORED)
    yield Published("M17 Renyi, with CKS20", 2020, f"Mironov 2017; {converted}",
                    lambda: divergences.renyi(pure("Renyi", parts), slack("Renyi")), _PURE)  # fmt: skip


def _clones(leaves: Mapping[Shuffle, int], delta: Fraction) -> Enclosure:
    """The composition of the clones' dominating pairs."""
    runs = []
    for leaf, times in leaves.items():
        epsilon0 = account(leaf.plan, REPLACE_ONE).epsilon(0).high
        if not (0 < epsilon0 < math.inf and delta > 0 and leaf.users >= 2):
            found = f"epsilon0={epsilon0:g}, delta={float(delta):g}, n={leaf.users}"
            raise ValueError(f"the theorem needs 0 < epsilon0 < infinity, delta > 0 and n >= 2, got {found}")
        runs.append(Runs(leaf, times, CloneProfile(Fraction(epsilon0), leaf.users, _LOOSELY)))
    return ComposedProfile(tuple(runs)).upper.epsilon(delta)


def _sampled(leaves: Mapping[Subsample, int], delta: Fraction) -> Enclosure:
    """The least over integer orders, of each of which the divergences of all runs add."""
    if not delta > 0:
        raise ValueError("sampled Renyi needs delta > 0, got 0")
    totals: dict[int, Fraction] = {}
    for leaf, times in leaves.items():
        inner = account(leaf.plan, REPLACE_ONE)
        pure = inner.epsilon(0).high
        seen = {order: inner.renyi(order).high for order in range(2, _SEEN_ORDERS + 1)}
        more = range(_SEEN_ORDERS + 1, _MORE_ORDERS[-1] + 1) if math.isfinite(pure) else ()
        seen |= {order: divergences.renyi_of_pure(order, pure).high for order in more}
        for order in filter(seen.__contains__, (*range(2, _SEEN_ORDERS + 1), *_MORE_ORDERS)):
            found = subsampled_renyi(order, seen, pure, Fraction(leaf.batch, leaf.users)).high
            totals[order] = totals.get(order, Fraction(0)) + times * Fraction(found)
    return min((divergences.renyi_epsilon(a, r, delta) for a, r in totals.items()), key=lambda bound: bound.high)


def grouped(plan: Plan, users: int, delta: Fraction) -> Iterator[Published]:
    """Theorems of group privacy, from the pure epsilon of one user's report; those of composition apply as well."""

    def advanced() -> Enclosure:
        if any(isinstance(leaf, Guarantee) for leaf in plan.leaves()):
            raise ValueError("grouposition needs independent reports, got a guarantee, which may be of a map of all users' data")
        epsilon = account(plan, REPLACE_ONE).epsilon(0).high
        return theorems.advanced_grouposition(users, Fraction(epsilon) if math.isfinite(epsilon) else epsilon, delta)

    needs = "independent users, reports with delta = 0, delta > 0"
    yield Published("BNS18 advanced grouposition", 2018, "Bun, Nelson, Stemmer 2018", advanced, needs)


def _lost(parts: tuple[_Part, ...]) -> Fraction:
    return sum((part.times * part.delta for part in parts), Fraction(0))


def _leaves(plan: Plan) -> Counter[Plan]:
    """What runs, and how often."""
    match plan:
        case Repeat(inner, times):
            return Counter({leaf: n * times for leaf, n in _leaves(inner).items()})
        case Compose(parts):
            return sum((_leaves(part) for part in parts), Counter())
    return Counter([plan])


def _part(leaf: Plan, times: int, share: Fraction, neighbours: Neighbours | None) -> _Part:
    if isinstance(leaf, Guarantee) and leaf.delta < 1:
        return _Part(times, leaf.epsilon, leaf.delta)
    profile = account(leaf, neighbours)
    if isinstance(leaf, Run) and math.isfinite(pure := profile.epsilon(0).high):
        return _Part(times, Fraction(pure), Fraction(0))
    epsilon = profile.epsilon(share).high
    if not math.isfinite(epsilon):
        raise ValueError(f"{leaf} needs a larger delta: its epsilon at {float(share):g} is infinite")
    return _Part(times, Fraction(epsilon), share)
