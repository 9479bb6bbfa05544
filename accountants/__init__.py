"""What it costs: mechanism or plan to privacy profile."""

from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ldpaudit.errors import Unsupported
from ldpaudit.groups import mixing, of_one_user
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms import has_own_law, homes, part_of, stem
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours, require_relation
from ldpaudit.plan import Aggregate, Compose, Guarantee, Mixed, Plan, Poisson, PostProcess, Repeat, Run, Shuffle, Subsample, as_plan
from ldpaudit.profile import PrivacyProfile, read_by

_READINGS = {"renyi": "renyi", "rho": "renyi", "gdp": "renyi", "tradeoff": "trade_off"}
"""Where in `pld` what a profile's curve says is computed."""
read_by(lambda name: getattr(import_module(f"{__name__}.pld.{_READINGS[name]}"), name))


def account(target: Plan | Mechanism, neighbours: Neighbours | None = None) -> PrivacyProfile:
    """Privacy profile of a mechanism or plan, in enclosures.

    Parameters
    ----------
    target : Plan or Mechanism
        What is deployed.
    neighbours : Neighbours or None
        The relation; by default the mechanism's usual one, which all parts of a plan need to share. A group of k users of a local
        plan costs what k runs do, and of one that mixes users at most what they cost one after the other.

    Returns
    -------
    PrivacyProfile
        Epsilon in nats.

    Raises
    ------
    Unsupported
        Where no certified bound is known; it names the node and why.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
    >>> account(KaryRandomizedResponse(k=3, p=Fraction(1, 2))).epsilon(0).high
    0.6931471805599454
    """
    plan = as_plan(target)
    profile: PrivacyProfile
    require_relation(neighbours)
    if neighbours is not None and neighbours.kind == "group" and not isinstance(plan, Aggregate) and any(mixing(plan)):
        users, profile = neighbours.users, account(plan, REPLACE_ONE)
        return import_module(f"{__name__}.composition.replaced_group").ReplacedGroup(profile, users) if users > 1 else profile
    if not isinstance(plan, Aggregate):  # sums count a group themselves
        plan, neighbours = of_one_user(plan, neighbours)
    match plan:
        case Run(mechanism):
            profile = _mechanism_profile(mechanism, neighbours)
        case PostProcess(inner):
            profile = import_module(f"{__name__}.pld.profiles").PostProcessedProfile(account(inner, neighbours))
        case Aggregate():
            profile = import_module(f"{__name__}.aggregation.plan").profile(plan, neighbours, _summands, _masses)
        case Repeat() | Compose() if (sums := import_module("ldpaudit.mechanisms.shared.sums").in_rounds(plan)) is not plan:
            profile = account(sums, neighbours)
        case Guarantee() | Repeat() | Compose():
            profile = import_module(f"{__name__}.composition.plan").profile(plan, neighbours)
        case Shuffle(Mixed() as groups):
            profile = import_module(f"{__name__}.aggregation.mixed").profile(plan, groups, neighbours, _summands)
        case Shuffle():
            profile = import_module(f"{__name__}.shuffling.plan").profile(plan, neighbours, partial(_shuffled, users=plan.users))
        case Poisson():
            profile = import_module(f"{__name__}.sampling.subsample").of_participants(plan, neighbours)
        case Subsample():
            profile = import_module(f"{__name__}.sampling.subsample").profile(plan, neighbours)
        case _:
            raise Unsupported(plan, f"no accountant for {type(plan).__name__}")
    return profile


def _mechanism_profile(mechanism: Mechanism, neighbours: Neighbours | None) -> PrivacyProfile:
    relation = neighbours or mechanism.relations[0]
    if relation == ADD_REMOVE and relation not in mechanism.relations and mechanism.shows_users:
        told = "the number of messages reveals that a user is absent"
        nothing_hidden: PrivacyProfile = import_module(f"{__name__}.pld.finite").revealed(told)
        return nothing_hidden
    if relation not in mechanism.relations:
        supported = ", ".join(map(str, mechanism.relations))
        raise Unsupported(mechanism, f"its inputs have the relations {supported}, not {relation}")
    found: PrivacyProfile = _accountant(mechanism).profile(mechanism, relation)
    return found


def _accountant(mechanism: Mechanism) -> ModuleType:
    """The accountant of the mechanism's stem, or core; of one that states its own law, or has no accountant, that of laws."""
    if not has_own_law(mechanism):
        name = stem(mechanism)
        if (theirs := part_of(name, "accountant")) is not None:
            return theirs
        for home in homes(name):
            if find_spec(f"{__name__}.{home}") is not None:
                return import_module(f"{__name__}.{home}")
    return import_module(f"{__name__}.pld.own_law")


def _shuffled(mechanism: Mechanism, users: int) -> Any:
    """What a shuffler needs to know of a mechanism: its stem says it, or else its finite law."""
    own = getattr(_accountant(mechanism), "shuffled", None)
    return (own or import_module(f"{__name__}.shuffling.randomizers").of_mechanism)(mechanism, users)


def _summands(mechanism: Mechanism, neighbours: Neighbours) -> Any:
    """What a report adds to a sum, as its stem says; None where it does not."""
    own = getattr(_accountant(mechanism), "summands", None)
    return None if own is None else own(mechanism, neighbours)


@lru_cache(maxsize=64)
def _masses(mechanism: Mechanism) -> Any:
    """The law of noise on one count, as its stem lists it.

    Raises Unsupported where it lists none.
    """
    own = getattr(_accountant(mechanism), "masses", None)
    if own is None:
        raise Unsupported(mechanism, "its noise is not on integers, so that it has no masses to add to those of a sum")
    return own(mechanism)
