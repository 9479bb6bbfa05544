"""Composition of plans: which parts it has, with their accountants; `composed` composes them."""

from collections import Counter
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.composition.compose import compose
from ldpaudit.accountants.composition.composed import Part, composed
from ldpaudit.accountants.composition.divergences import stated
from ldpaudit.accountants.numerics.rationals import root_above
from ldpaudit.accountants.pld.exact import guarantee
from ldpaudit.accountants.pld.profiles import PostProcessedProfile, SummedLosses
from ldpaudit.neighbours import REPLACE_ONE, USER_LEVEL, Neighbours
from ldpaudit.plan import Guarantee, Plan, PostProcess, Repeat, Run, flat
from ldpaudit.profile import PrivacyProfile


def profile(plan: Plan, neighbours: Neighbours | None = None) -> PrivacyProfile:
    """Profile of a `Guarantee`, or of independent runs of any plans. Source: Zhu, Dong, Wang 2022, Theorem 10.

    At user level, replacing a user's stream replaces every part's input. EXACT where `composed` says so, else INTERVAL.
    """
    leaves: Counter[Plan] = Counter()
    for leaf, times in flat(plan):
        leaves[leaf] += times
    leaves = _merged(leaves)
    if len(leaves) == 1:
        (only, times), = leaves.items()
        if times == 1 and not isinstance(only, Guarantee):
            return account(only, _relation(only, neighbours))
        if isinstance(only, Guarantee) and only.delta == 1:
            return stated(only)
        if isinstance(only, PostProcess):  # what is computed from each view is computed from all
            return PostProcessedProfile(account(Repeat(only.plan, times), neighbours))
    return composed(_part(leaf, times, neighbours) for leaf, times in leaves.items())


def _merged(leaves: Counter[Plan]) -> Counter[Plan]:
    """The same with one guarantee by rho and one by mu at most: rhos add, and squares of mu."""
    others, rho, mu_squared = Counter[Plan](), Fraction(0), Fraction(0)
    for leaf, times in leaves.items():
        if not isinstance(leaf, Guarantee) or leaf.delta < 1:
            others[leaf] = times
        elif leaf.rho is not None:
            rho += times * leaf.rho
        elif leaf.mu is not None:
            mu_squared += times * leaf.mu**2
    if rho:
        others[Guarantee(rho=rho)] = 1
    if mu_squared:
        others[Guarantee(mu=root_above(mu_squared))] = 1
    return others or Counter([Guarantee(Fraction(0))])


def _relation(leaf: Plan, neighbours: Neighbours | None) -> Neighbours | None:
    if neighbours != USER_LEVEL or (isinstance(leaf, Run) and USER_LEVEL in leaf.mechanism.relations):
        return neighbours
    return REPLACE_ONE


def _part(leaf: Plan, times: int, neighbours: Neighbours | None) -> Part:
    if isinstance(leaf, Guarantee) and leaf.delta == 1:
        return Part(leaf, times, stated(leaf))
    if isinstance(leaf, Guarantee):
        worst = ((guarantee(leaf.epsilon, leaf.delta), 1),)
        return Part(leaf, times, PostProcessedProfile(compose(worst, f"the worst map with {leaf}")))
    found = account(leaf, _relation(leaf, neighbours))
    return Part(leaf, times, found.repeated(times) if isinstance(found, SummedLosses) else found)
