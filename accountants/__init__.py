"""What it costs: mechanism or plan to privacy profile."""

from __future__ import annotations

from importlib import import_module

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms import stem
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Compose, Guarantee, Plan, PostProcess, Repeat, Run, Shuffle, Subsample, as_plan
from ldpaudit.profile import PrivacyProfile


def account(target: Plan | Mechanism, neighbours: Neighbours | None = None) -> PrivacyProfile:
    """Privacy profile of a mechanism or plan, in enclosures.

    Parameters
    ----------
    target : Plan or Mechanism
        What is deployed.
    neighbours : Neighbours or None
        The relation; by default each mechanism's usual one.

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
    match plan:
        case Run(mechanism):
            profile = _mechanism_profile(mechanism, neighbours)
        case PostProcess(inner):
            profile = import_module(f"{__name__}.pld.profiles").PostProcessedProfile(account(inner, neighbours))
        case Guarantee() | Repeat() | Compose():
            profile = import_module(f"{__name__}.composition.plan").profile(plan, neighbours)
        case Shuffle():
            profile = import_module(f"{__name__}.shuffling.plan").profile(plan, neighbours)
        case Subsample():
            profile = import_module(f"{__name__}.sampling.subsample").profile(plan, neighbours)
        case _:
            raise Unsupported(plan, f"no accountant for {type(plan).__name__}")
    return profile


def _mechanism_profile(mechanism: Mechanism, neighbours: Neighbours | None) -> PrivacyProfile:
    relation = neighbours or mechanism.relations[0]
    if relation not in mechanism.relations:
        supported = ", ".join(map(str, mechanism.relations))
        raise Unsupported(mechanism, f"its inputs have the relations {supported}, not {relation}")
    found: PrivacyProfile = import_module(f"{__name__}.{stem(mechanism)}").profile(mechanism, relation)
    return found
