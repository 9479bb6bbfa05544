"""Is this deployment as private as it says, and how do we know?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ldpaudit.version import __version__ as __version__

if TYPE_CHECKING:
    from ldpaudit import mechanisms as mechanisms
    from ldpaudit.accountants import account as account
    from ldpaudit.accountants.composition.filters import Filter as Filter, Odometer as Odometer
    from ldpaudit.attacks import audit as audit
    from ldpaudit.attacks.blackbox.one_run import audit_one_run as audit_one_run, audit_scores as audit_scores
    from ldpaudit.certificates.certificate import Certificate as Certificate
    from ldpaudit.certificates.certify import certify as certify
    from ldpaudit.claim import Claim as Claim
    from ldpaudit.enclosure import Enclosure as Enclosure, Rigour as Rigour
    from ldpaudit.errors import Unsupported as Unsupported
    from ldpaudit.evidence import Evidence as Evidence
    from ldpaudit.files.deployment import load as load
    from ldpaudit.mechanism import Mechanism as Mechanism
    from ldpaudit.neighbours import Neighbours as Neighbours
    from ldpaudit.plan import (
        Aggregate as Aggregate,
        Compose as Compose,
        Guarantee as Guarantee,
        Plan as Plan,
        Poisson as Poisson,
        PostProcess as PostProcess,
        Repeat as Repeat,
        Run as Run,
        Shuffle as Shuffle,
        Subsample as Subsample,
    )
    from ldpaudit.profile import PrivacyProfile as PrivacyProfile, Witness as Witness
    from ldpaudit.studies import literature as literature
    from ldpaudit.verdict import Verdict as Verdict, judge as judge

_HOMES = {
    "mechanism": ["Mechanism"],
    "neighbours": ["Neighbours"],
    "plan": ["Aggregate", "Compose", "Guarantee", "Plan", "PostProcess", "Repeat", "Run", "Shuffle", "Subsample"],
    "claim": ["Claim"],
    "enclosure": ["Enclosure"],
    "profile": ["PrivacyProfile", "Witness"],
    "evidence": ["Evidence"],
    "verdict": ["Verdict", "judge"],
    "certificates.certificate": ["Certificate"],
    "errors": ["Unsupported"],
    "accountants": ["account"],
    "accountants.composition.filters": ["Filter", "Odometer"],
    "attacks": ["audit"],
    "certificates.certify": ["certify"],
}
_HOME = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}

__all__ = ["mechanisms", *_HOME]
_ALSO = {
    "load": f"{__name__}.files.deployment",
    "Poisson": f"{__name__}.plan",
    "Rigour": f"{__name__}.enclosure",
    "audit_one_run": f"{__name__}.attacks.blackbox.one_run",
    "audit_scores": f"{__name__}.attacks.blackbox.one_run",
}
"""Names that scripts use, and that `__all__` has no room for."""
_MODULES = {"mechanisms": f"{__name__}.mechanisms", "literature": f"{__name__}.studies.literature"}


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first used: start-up stays light."""
    if (home := _HOME.get(name) or _ALSO.get(name)) is not None:
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(_MODULES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
