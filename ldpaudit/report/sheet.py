"""The evaluation sheet: what an evaluation must cover, after the layers of NIST SP 800-226, and who answers for each part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from ldpaudit.certificates.certificate import Certificate, UnitRecord
from ldpaudit.certificates.verification import deployment_of
from ldpaudit.core.number import show
from ldpaudit.display.digits import show_up
from ldpaudit.files.deployment import table_of
from ldpaudit.files.stated import DeploymentTable, RegistryTable
from ldpaudit.files.tables import DAY, spoken
from ldpaudit.mechanisms.shared.count_noise import CountNoise
from ldpaudit.plan import Run
from ldpaudit.studies.deviations import largest_deviation
from ldpaudit.verdict import Outcome

if TYPE_CHECKING:
    from ldpaudit.certificates.exhibits import Exhibit

NOT_STATED = "not stated"
NOTHING = "Nothing."
COLUMNS = ("certified", "stated by the deployer", "open")


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer; each rests on those below."""

    name: str
    certified: tuple[str, ...]
    stated: tuple[str, ...]
    open: tuple[str, ...]


def layers(certificate: Certificate, exhibits: Mapping[str, Exhibit]) -> list[Layer]:
    """All layers from epsilon down to what is collected; none where the deployment file cannot be read."""
    if (file := table_of(certificate.deployment)) is None:
        return []
    typed = file.registry or RegistryTable.model_validate({})
    return [
        _parameters(certificate, file),
        _unit(certificate, file),
        _algorithms(certificate, file),
        Layer(
            "Utility and bias",
            (_error(certificate, file),),
            (_said("Post-processing", typed.post_processing),),
            ("Whether small groups are served, and whether results are fit for their use.",),
        ),
        _trust(certificate, file, exhibits),
        _side_channels(certificate, file, typed),
        Layer(
            "Access control",
            (NOTHING,),
            (
                _said("Retention of reports and logs", file.adversary and file.adversary.retention),
                _said("Other releases of these data"),
            ),
            ("All of it.",),
        ),
        Layer(
            "Data collection",
            (_report(file),),
            (_said("Purpose", typed.intended_use), _said("Consent")),
            ("Whether less would do.",),
        ),
    ]


def _error(certificate: Certificate, file: DeploymentTable) -> str:
    """How far a count is off, where a formula says so; also with the noise of all who add up, whoever of them is honest."""
    whole, n = deployment_of(certificate), _users(file)
    found = None
    if whole.units and whole.implementation is None:
        found = largest_deviation(whole.units[0].plan, n or 1, whole.added)
    if found is None or (whole.added and not n):
        return "Nothing on this page: ldpaudit accuracy simulates errors."
    (leaf,) = whole.units[0].plan.leaves()
    if isinstance(leaf, Run) and isinstance(leaf.mechanism, CountNoise):
        return f"Standard deviation of an estimated count: at most {show_up(found.high, 4)}, however many users take part."
    size = f"{show_up(found.high, 4)} users, of {n:,}" if n else f"{show_up(found.high, 4)} sqrt(n) users, of n"
    return f"Standard deviation of an estimated count: at most {size} who send one report each."


def _said(what: str, value: object = None) -> str:
    return f"{what}: {value or NOT_STATED}."


def _users(file: DeploymentTable) -> int | None:
    """How many take part, where a shuffler or a sum says so."""
    return next((table.users for table in (file.shuffle, file.aggregate) if table is not None), None)


def _parameters(certificate: Certificate, file: DeploymentTable) -> Layer:
    shown, assumed, left = [], [], ["Which epsilon is acceptable."]
    for claim in certificate.claims:
        told = f"{claim.id}: {'asked' if claim.asked else f'claimed {claim.claimed}'}, epsilon {claim.certified}"
        if claim.verdict is Outcome.ASSUMED:
            assumed.append(f"{told}, which rests on an assumption.")
        elif claim.verdict is Outcome.UNDECIDED:
            left.append(f"{told}, undecided.")
        else:
            shown.append(f"{told}, {claim.verdict}.")
    n, deltas = _users(file), sorted({Fraction(claim.delta) for claim in certificate.claims} - {Fraction(0)})
    users = _said("Number of users n", n and f"{n:,}")
    if not deltas:
        shown.append("Delta is 0 in every claim.")
    elif n is not None:
        limits = {"1/n": Fraction(1, n), "1/n^2": Fraction(1, n * n)}
        for d in deltas:
            compared = " and ".join(_beside(d, each, name) for name, each in limits.items())
            shown.append(f"delta = {float(d):g} is {compared}.")
    else:
        users = f"Number of users n: {NOT_STATED}, so that delta is compared with neither 1/n nor 1/n^2."
    return Layer("Epsilon and delta", tuple(shown) or (NOTHING,), (*assumed, users), tuple(left))


def _beside(delta: Fraction, limit: Fraction, name: str) -> str:
    word = "below" if delta < limit else "equal to" if delta == limit else "above"
    return f"{word} {name} = {float(limit):.3g}"


_KEPT = (
    "a client keeps one for each value, on the device alone and as secret as the value, and never draws a second one: not where "
    "the first is lost, in no other process, and for no other server"
)
"""Said in full in docs/clients.md."""
_ONE = {"report": "one report", "user-day": "one user and day", "window": "one user and window of epochs"}


def _unit(certificate: Certificate, file: DeploymentTable) -> Layer:
    """Units side by side, also those of which nothing is claimed."""
    known = {each.unit: each for each in certificate.units}
    shown = [_cost(_label(each, file), each) for each in certificate.units if not each.assumptions]
    assumed = [f"{_cost(_label(each, file), each)} This is assumed." for each in certificate.units if each.assumptions]
    if "lifetime" not in known or file.epochs is not None:
        shown.append("One user for ever: no bound over a lifetime; the file bounds no number of days.")
    given = file.contribution
    reports = f"at most {given.daily}" if "user-day" in known else f"{NOT_STATED}, so that no day is certified"
    if given.period != DAY:
        reports = f"at most {given.reports} in {spoken(given.period)}, {given.daily} a day"
    epochs = file.epochs and f"{file.epochs.count}, at most {file.epochs.lifetime_answers} answers in all of them"
    stated = (*assumed, _said("Reports of a user and day", reports), _said("Epochs", epochs), _said("Devices of one person"))
    stated += (_said("Kept answers", _KEPT),) if given.memoized else ()
    stated += (_said("Probability with which a report is sent", show(given.rate)),) if given.rate else ()
    return Layer("Unit of privacy", tuple(shown), stated, ("Whether clients keep to these bounds.",))


def _label(each: UnitRecord, file: DeploymentTable) -> str:
    unit = each.unit
    if each.is_part:
        return f"{unit} of one report, {each.plan}"
    if unit == "lifetime":
        return f"all {file.epochs.count} epochs of one user" if file.epochs else "one user for ever"
    return f"one user and {spoken(file.contribution.period)}" if unit == "user-period" else _ONE[unit]


def _cost(label: str, each: UnitRecord) -> str:
    found = each.enclosure
    at = f" at delta = {float(Fraction(each.delta)):g}" if each.delta != "0" else ""
    if found is None:
        told = "not certified here"
    elif found.low == math.inf:
        told = "no finite epsilon"
    else:
        told = f"epsilon at most {show_up(found.high)}"
    return f"{label[0].upper()}{label[1:]}: {told}{at}."


def _algorithms(certificate: Certificate, file: DeploymentTable) -> Layer:
    proved = sum(claim.proof is not None for claim in certificate.claims)
    shown = [f"{proved} of {len(certificate.claims)} claims and questions have a proof that a program without ours checks."]
    audited = [claim for claim in certificate.claims if claim.evidence is not None]
    if audited:
        whose = "the code that is named" if file.implementation else "our own sampler"
        views = f"at most {certificate.trials:,} views each of {whose}"
        refuted = sum(claim.refuted_by_samples for claim in audited)
        shown.append(f"An audit of {len(audited)}, {views}, refutes {refuted or 'none'}, at confidence {certificate.confidence:g}.")
    code = file.implementation and file.implementation.callable
    read = dict.fromkeys(str(each) for each in file.sources if "mechanism" in each.supports)  # quoted once or more
    stated = (_said("Code that is audited", code), *(f"Read from: {each}." for each in read or [NOT_STATED]))
    return Layer("Algorithms and correctness", tuple(shown), stated, ("Whether the code in use is what is described.",))


def _trust(certificate: Certificate, file: DeploymentTable, exhibits: Mapping[str, Exhibit]) -> Layer:
    shown = [f"{claim.id}: against whoever sees {exhibits[claim.id].seen}." for claim in certificate.claims if claim.id in exhibits]
    adversary = file.adversary
    stated = [_said("Who is not trusted sees", adversary and adversary.sees)]
    stated.append(_said("What links reports", adversary and adversary.links))
    stated += [f"Noise by {each.by}: {each.parties} part{'ies' if each.parties > 1 else 'y'}." for each in file.noise]
    if file.shuffle is not None:
        stated.append(_said("Who runs the shuffler"))
    if file.aggregate is not None or file.aggregator is not None:
        stated += [_said("Who runs the aggregators"), *(file.aggregator.sentences if file.aggregator else ())]
    apart = file.shuffle or file.aggregate or file.aggregator
    collude = "Whether those collude who are trusted apart." if apart else "What else the recipient knows."
    return Layer("Trust model", tuple(shown) or (NOTHING,), tuple(stated), (collude,))


_LAWS = {"exact": "the law that is described", "grid": "probabilities on a grid", "float": "floats"}


def _side_channels(certificate: Certificate, file: DeploymentTable, typed: RegistryTable) -> Layer:
    beside = ((claim.id, *claim.drawn_beside) for claim in certificate.claims if claim.drawn_beside is not None)
    shown = tuple(f"{name}: epsilon in {drawn} as drawn, in {described} as described." for name, described, drawn in beside)
    law = file.sampler and _LAWS.get(file.sampler.law)
    tuned = _said("Tuning on real data", typed.preprocessing_and_hyperparameter_tuning)
    return Layer(
        "Side channels",
        shown or ("Nothing: what the code draws is not known in numbers.",),
        (_said("Sampler", law), _said("Random source"), tuned),
        ("Timing, and errors.",),
    )


def _report(file: DeploymentTable) -> str:
    """How much one report tells of, as the file describes it."""
    told = []
    for each in file.described:
        known = [f"{key} = {each.parameters[key]}" for key in ("k", "bits", "width", "hashes", "domain") if key in each.parameters]
        if each.kind != "guarantee":
            told.append(f"One report of {each.kind}{': ' if known else ''}{', '.join(known)}.")
    return " ".join(told) or "Nothing: what a report tells of is not described."
