"""A record of the public registry of deployments, made from a certificate: numbers that are certified, and words that are typed.

The editions of its schema are those of opendp/deployments-registry-data at 3e9c812 (2026-07-15) and, later, at 057e5d8.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Any

from ldpaudit.certificates.certificate import Certificate, ClaimRecord
from ldpaudit.certificates.verification import deployment_of
from ldpaudit.claim import Claim
from ldpaudit.core.number import show
from ldpaudit.display.digits import show_up
from ldpaudit.enclosure import round_up
from ldpaudit.errors import DeploymentError, LdpauditError
from ldpaudit.files.deployment import ONE_REPORT, UNITS, table_of
from ldpaudit.files.stated import AdversaryTable, DeploymentTable, RegistryTable, SourceTable
from ldpaudit.files.tables import DAY, spoken
from ldpaudit.files.toml import line_of
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.plan import Aggregate, Guarantee, Plan, Run, Shuffle, nodes
from ldpaudit.report.text import relation

BASIC = (
    "name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region", "publication_date"
)  # fmt: skip
TYPED = {
    2: (*BASIC, "registry_authors", "release_type", "data_source_type", "access_type"),
    3: ("data_domain", "actors", "preprocessing_and_hyperparameter_tuning", "post_processing", "justification"),
}
"""Keys of the table [registry] that a record of a tier needs, besides those of the tier below."""


class Edition(StrEnum):
    """Of the registry's schema, by a commit that has it."""

    FIRST = "3e9c812"
    LATER = "057e5d8"


_REGISTRY_KNOWS = ("replace-one", "add-remove", "user-level", "group")
"""Relations of neighbours under which the registry's pure and approximate variants are read."""


def record(certificate: Certificate, claim: str | None = None, tier: int = 2, edition: Edition = Edition.FIRST) -> dict[str, Any]:
    """The record: what is computed is the certificate's, everything else is typed in the file's table [registry].

    ``claim``: the id of the claim that it is about; by default that of the widest unit which has a bound; ``tier``: 2
    or 3. Raises DeploymentError where a typed key is missing, all of which it names, or where there is no such claim.
    """
    file = require_typed(certificate.deployment, certificate.id, tier, edition)
    written = _chosen(certificate, claim)
    planned = next(each for each in deployment_of(certificate).claims if each.id == written.id)
    said = {key: value for key, value in file.registry or () if value}
    curators: list[str] = said["data_curators"]
    bound_by = written.enclosure.source if written.enclosure else ""
    parts = said["name"], "-".join(curators), said["publication_date"][:4]
    slug = "-".join(re.sub(r"[\W_]+", "-", part.lower()) for part in parts)
    first = {
        "url_slug": slug,
        "status": "Draft",
        "tier": tier,
        "deployment": {
            "basic": _of(said, *BASIC, "data_product_sector"),
            "dp_variant": {
                "variant_name": _variant(planned),
                **_of(said, "data_domain"),
                "unprotected_quantities": _public(file, said.get("unprotected_quantities")),
            },
            "privacy_loss": {
                "privacy_unit": _unit(written.unit, file),
                "privacy_unit_details": _unit_details(written, file),
                "privacy_parameters": _parameters(written),
                "privacy_parameters_details": _details(certificate, written),
            },
            "deployment_model": {
                **({"model_name": who, "model_name_details": _MODELS[who]} if (who := model(planned.plan)) else {}),
                **({"actors": actors} if (actors := _actors(file, said.get("actors"))) else {}),
                **_of(said, "release_type", "release_type_details", "data_source_type", "access_type"),
            },
            "accounting": {
                **_of(said, "post_processing"),
                "composition": f"The epsilon is of {written.plan}. It is bound by: {bound_by}.",
            },
            "implementation": {
                **_of(said, "preprocessing_and_hyperparameter_tuning"),
                "mechanisms": "\n".join(filter(None, (_mechanism(file), said.get("mechanisms", "")))),
                **_of(said, "justification"),
            },
            "administrative": {
                "sources": "\n".join(f"- {each}" for each in certificate.sources) or "No source is named in the deployment file.",
                **_of(said, "notes", "registry_authors"),
            },
        },
    }
    return first if edition is Edition.FIRST else _rearranged(first, file)


def _rearranged(first: Mapping[str, Any], file: DeploymentTable) -> dict[str, Any]:
    """A record in the later edition, in which the order of keys is that of the schema.

    Curators have kinds, sources are told one by one, accounting is part of the implementation, and status and tier stand last.
    """
    parts: dict[str, dict[str, Any]] = first["deployment"]
    basic, code, accounting = parts["basic"], parts["implementation"], parts["accounting"]
    kinds = file.registry.data_curator_types if file.registry else None
    named = zip(basic["data_curators"], kinds or (), strict=True)
    curators = [{"data_curator_name": name, "data_curator_type": kind} for name, kind in named]
    told = {each.id.replace("-", "_"): {"misc": _cited(each)} for each in file.sources}
    notes = {"additional_information": parts["administrative"]["notes"]} if "notes" in parts["administrative"] else {}
    last = "data_product_type", "data_product_region", "data_product_sector", "publication_date"
    return {
        "url_slug": first["url_slug"],
        "deployment": {
            "basic": {"name": basic["name"], "data_curators": curators, **_of(basic, "description", "intended_use", *last)},
            **_of(parts, "dp_variant", "privacy_loss", "deployment_model"),
            "implementation": {
                **_of(code, "preprocessing_and_hyperparameter_tuning", "mechanisms"),
                **_of(accounting, "composition", "post_processing"),
                **_of(code, "justification"),
                **notes,
            },
            "administrative": {
                **({"evidence_sources": told} if told else {}),
                "status": first["status"],
                "registry_authors": parts["administrative"]["registry_authors"],
                "tier": first["tier"],
            },
        },
    }


def _cited(source: SourceTable) -> dict[str, str]:
    """A source in the fields of a bibliography."""
    note = [f"at {source.commit}"] * bool(source.commit) + [f'"{source.quote}"'] * bool(source.quote)
    return {"title": source.title, "url": source.url, **({"note": ": ".join(note)} if note else {})}


def require_typed(text: str, name: str, tier: int, edition: Edition = Edition.FIRST) -> DeploymentTable:
    """A deployment's text, which has all that is typed in a record of this tier and edition.

    ``name``: stands for the file in errors. Raises DeploymentError, which names every key that is missing.
    """
    if (file := table_of(text)) is None:
        raise DeploymentError("needs a deployment file that can be read", name)
    typed = file.registry or RegistryTable.model_validate({})
    missing = [key for least, keys in TYPED.items() if least <= tier for key in keys if not getattr(typed, key)]
    if missing:
        needs = f"a record of tier {tier} needs {', '.join(missing)}, which nothing else says"
        raise DeploymentError(needs, name, line_of(text, ["registry"]), "registry")
    if edition is Edition.LATER and len(typed.data_curator_types or ()) != len(typed.data_curators or ()):
        needs = "a record of this edition needs data_curator_types, one for each of data_curators"
        raise DeploymentError(needs, name, line_of(text, ["registry"]), "registry")
    return file


def _of(said: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: said[key] for key in keys if key in said}


def _chosen(certificate: Certificate, name: str | None) -> ClaimRecord:
    """The claim that is named; else the widest that has a bound; else the widest about which anything is certified."""
    if name is not None:
        found = [each for each in certificate.claims if each.id == name]
    else:
        known = [each for each in certificate.claims if each.enclosure is not None]
        found = sorted(known, key=_width, reverse=True)
    if not found or found[0].enclosure is None:
        ids = ", ".join(each.id for each in certificate.claims)
        raise DeploymentError(f"needs a claim with a certified epsilon, got {name or 'none'} among {ids}", certificate.id)
    return found[0]


def _width(claim: ClaimRecord) -> tuple[bool, int]:
    bounded = claim.enclosure is not None and claim.enclosure.high < math.inf
    return bounded, UNITS.index("report" if claim.unit in ONE_REPORT else claim.unit)


def _variant(claim: Claim) -> str:
    """Custom where the registry's words do not say which data sets are neighbours."""
    if claim.neighbours.kind not in _REGISTRY_KNOWS:
        return "Custom"
    return "Pure DP" if claim.delta == 0 else "Approximate DP"


def _unit(unit: str, file: DeploymentTable) -> str:
    if unit == "user-period":
        return f"User-{spoken(file.contribution.period).replace(' ', '-')}-level"
    if unit in ONE_REPORT:
        return "Relay-day-level" if unit == "relay-day" else "Event-level"
    if unit == "window" and file.epochs is not None:
        return f"User-{file.epochs.window}-epochs-level"
    return {"user-day": "User-day-level", "lifetime": "User-level"}[unit]


def _unit_details(claim: ClaimRecord, file: DeploymentTable) -> str:
    """Neighbours, contribution and epochs, in sentences."""
    lines = [f"Adjacent ({claim.neighbours}): {relation(claim.neighbours)}", f"The unit is one {claim.unit}."]
    if "contribution" in file.model_fields_set:
        kept = ", derived from answers that the client keeps" if file.contribution.memoized else ""
        given = file.contribution
        kept += f", each sent with probability {show(given.rate)}" if given.rate else ""
        lines.append(f"Contribution: {given.reports} a user and {spoken(given.period).removeprefix('1 ')}{kept}.")
        lines += [f"At most {given.daily} a day."] * (given.period != DAY)
    else:
        lines.append("Contribution of a user: not stated.")
    if (e := file.epochs) is not None:
        most = f"at most {e.window_answers} answers in any window of {e.window} and {e.lifetime_answers} in all"
        lines.append(f"Epochs: {e.count}, {most}.")
    return " ".join(lines)


def _parameters(claim: ClaimRecord) -> dict[str, float]:
    """The upper end of what is certified, rounded up; no epsilon where that is infinite."""
    high = claim.enclosure.high if claim.enclosure else math.inf
    epsilon = {"epsilon": float(show_up(high))} if high < math.inf else {}
    return epsilon if claim.delta == "0" else {**epsilon, "delta": float(show_up(round_up(Fraction(claim.delta))))}


def _details(certificate: Certificate, claim: ClaimRecord) -> str:
    """Claim, enclosure, verdict, rigour and digest."""
    assert claim.enclosure is not None  # or it is not chosen
    found = claim.enclosure
    lines = [
        "No epsilon is claimed." if claim.asked else f"Claimed: {claim.claimed} ({claim.source or 'no source named'}).",
        f"Certified: {claim.certified}, {found.rigour}, by {found.source}.",
    ]
    if found.high == math.inf:
        lines.append("No finite epsilon is certified at this delta, so none is given.")
    if claim.assumptions:
        lines.append(f"The guarantee is assumed, not derived: {'; '.join(claim.assumptions)}.")
    version = certificate.versions.get("ldpaudit", "")
    lines.append(f"Verdict: {claim.verdict}. Certificate by ldpaudit {version}, claim {claim.id}, SHA-256 {certificate.digest}.")
    return "\n".join(f"- {line}" for line in lines)


def model(plan: Plan) -> str | None:
    """Who applies the mechanism, in the registry's words; None where all is assumed, and that is not known."""
    leaves = list(plan.leaves())
    if any(isinstance(each, Shuffle) for each in nodes(plan)):
        return "Shuffle"
    if any(isinstance(each, Aggregate) for each in nodes(plan)):
        return "Varies"
    if all(isinstance(each, Guarantee) for each in leaves):
        return None
    # Noise on counts is added by whoever knows the sum.
    return "Varies" if any(isinstance(each, Run) and isinstance(each.mechanism, CountNoise) for each in leaves) else "Local"


_MODELS = {
    "Shuffle": "Users randomize their reports, and a shuffler mixes them.",
    "Varies": "The epsilon is of the sum that is released; deployment and certificate say who adds noise.",
    "Local": "Each user randomizes their own reports.",
}


def _mechanism(file: DeploymentTable) -> str:
    """Kind, parameters, and where they are published."""
    lines = []
    for table in file.described:
        named = f"{table.kind}{f', {table.variant}' if table.variant else ''}"
        if table.kind == "guarantee":
            named = "The mechanism is not described; a guarantee is assumed"
        lines.append(f"- {named}: {', '.join(f'{key} = {value}' for key, value in table.parameters.items())}.")
    if file.sampler is not None:
        drawn = "".join(f"; {key} is drawn as {value}" for key, value in file.sampler.probabilities.items())
        lines.append(f"- Sampler: {file.sampler.law}{drawn}.")
    lines += dict.fromkeys(f"- Read from: {each}." for each in file.sources if "mechanism" in each.supports)
    return "\n".join(lines)


def _public(file: DeploymentTable, typed: str | None) -> str:
    """What nobody hides: parameters, how many take part, and what is typed."""
    lines = ["- The parameters of the mechanism.", "- The number of reports."]
    users = [table.users for table in (file.shuffle, file.aggregate) if table is not None]
    return "\n".join([*lines, *(f"- That {each} users take part." for each in users), *filter(None, [typed])])


def _actors(file: DeploymentTable, typed: str | None) -> str:
    """Who sees what: what is typed, and what the table [adversary] says."""
    told = file.adversary or AdversaryTable.model_validate({})
    said = {"Who is not trusted sees": told.sees, "What links reports": told.links, "Retention": told.retention}
    return "\n".join([*filter(None, [typed]), *(f"- {what}: {each}." for what, each in said.items() if each)])


def yaml() -> Any:
    """The library that reads and writes YAML. Raises LdpauditError where it is missing."""
    try:
        import yaml as found
    except ImportError:
        raise LdpauditError("records need PyYAML: pip install 'ldpaudit[yaml]'") from None
    return found


def to_yaml(data: Mapping[str, Any]) -> str:
    """A record as the registry wants it: text of several lines as it stands, never folded, dates in quotes."""
    library = yaml()

    class Dumper(library.SafeDumper):  # type: ignore[misc, name-defined]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    written: str = library.dump(dict(data), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=math.inf)
    return written
