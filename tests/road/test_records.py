"""Records of the public registry: what is exported passes its rules, and a record is held against a file field by field."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from benchmarks import registry as page
from ldpaudit.certificates.certificate import Certificate, ClaimRecord, EnclosureRecord
from ldpaudit.certificates.certify import cases, certify, versions
from ldpaudit.claim import Claim
from ldpaudit.errors import DeploymentError, Unsupported
from ldpaudit.files import bundled
from ldpaudit.files.deployment import Deployment, load, loads
from ldpaudit.files.stated import RegistryTable
from ldpaudit.report import agreement
from ldpaudit.report.agreement import Standing, compared, read_record
from ldpaudit.report.record import TYPED, Edition, record, require_typed, to_yaml
from ldpaudit.verdict import Outcome
from tests.helpers import ROOT, fails_in_one_line, raises, run, stdout, within
from tests.road.test_certify import LONG

RULES, LATER = (json.loads((ROOT / f"tests/data/registry-{commit}.json").read_text()) for commit in ("3e9c812", "057e5d8"))
"""The registry's schemas at 3e9c812 (2026-07-15) and at 057e5d8, as far as records of ours use it, in our words.

The text of a field that is there is never empty; a test of the registry's wants keys in the order of their schema.
"""
TYPES = """
[registry]
name = "Votes: a poll"
data_curators = ["The Office (of polls)"]
description = "Counts of answers."
intended_use = "Planning."
data_product_type = "Summary statistics"
data_product_region = "Nowhere"
publication_date = "2026-01-31"
data_curator_types = ["Government"]
registry_authors = ["A. Author"]
release_type = "Many releases"
data_source_type = "Dynamic"
access_type = "Non-interactive"
"""
THIRD = """\
data_domain = "One answer a user."
actors = '''
- Users, who trust their devices.
- The office, which sees reports.'''
preprocessing_and_hyperparameter_tuning = "None."
post_processing = "Negative counts are shown."
justification = "Error of one percent."
"""


def certificate(whole: Deployment) -> Certificate:
    """What `certify` makes, without samples and proofs, on which no field of a record depends."""
    records = []
    for case in cases(whole, 0, 16, 0.999):
        claim = case.claim
        try:
            found = EnclosureRecord.of(case.certified())
        except Unsupported:
            found = None
        records.append(written(claim, found))
    return Certificate(
        id=whole.id, title=whole.title, note=whole.note, sources=whole.sources, deployment=whole.text, versions=versions(),
        seed=0, trials=16, confidence=0.999, claims=tuple(records),
    )  # fmt: skip


def written(claim: Claim, found: EnclosureRecord | None) -> ClaimRecord:
    return ClaimRecord(
        id=claim.id, sentence=str(claim), plan=str(claim.plan), epsilon=None if claim.epsilon is None else str(claim.epsilon),
        delta=str(claim.delta), neighbours=str(claim.neighbours), unit=claim.unit, source=claim.source, expect=None,
        verdict=Outcome.UNDECIDED, reason="", enclosure=found, evidence=None, proofs=(), unsupported=(),
        delta_number=float(claim.delta), assumptions=claim.assumptions,
    )  # fmt: skip


def typed(whole: Deployment, more: str = "") -> Deployment:
    """The same file in its second edition, with a table [registry]."""
    text = whole.text
    if "deployment/1" in text:
        text = re.sub(r"^sources = \[.*?\]$", "", text.replace("deployment/1", "deployment/2"), flags=re.MULTILINE | re.DOTALL)
        text += '\n[status]\nstate = "example"\n'
    return loads(text + TYPES + more, whole.id)


def broken_rules(text: str, rules: Mapping[str, Any] = RULES) -> list[str]:
    """What the registry's script would say of a record, but for addresses that do not answer."""
    data = yaml.safe_load(text)
    found = [error.message for error in jsonschema.Draft7Validator(rules).iter_errors(data)]
    styles = {token.style for token in yaml.scan(text) if hasattr(token, "style")}
    found += [f"style {style}" for style in styles - {None, "|", '"', "'"}]
    basic = data["deployment"]["basic"]
    curators = [each if isinstance(each, str) else each["data_curator_name"] for each in basic["data_curators"]]
    parts = (basic["name"], "-".join(curators), basic["publication_date"][:4])
    if data["url_slug"] != "-".join(re.sub(r"\W+", "-", part.lower()) for part in parts):
        found.append(f"slug {data['url_slug']}")
    return found + ["LaTeX"] * ("$" in text)


@pytest.mark.few(17)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in bundled.ids()])
def test_the_record_of_every_bundled_file_passes_the_registry_s_rules(name: str) -> None:
    whole = typed(load(name), THIRD)
    made = certificate(whole)
    for tier in (2, 3):
        data = record(made, tier=tier)
        text = to_yaml(data)
        assert broken_rules(text) == [], text
        assert yaml.safe_load(text) == data
        later = record(made, tier=tier, edition=Edition.LATER)
        assert broken_rules(to_yaml(later), LATER) == []
        assert [*keys(later)] == sorted(keys(later), key=[*keys(LATER)].index), "in the order of the schema"
        assert field(later, "deployment.implementation.composition") == field(data, "deployment.accounting.composition")
        assert field(later, "deployment.administrative.status") == "Draft"
        assert len(field(later, "deployment.administrative").get("evidence_sources", {})) == len(whole.cited)
    loss = data["deployment"]["privacy_loss"]
    highs = [claim.enclosure.high for claim in made.claims if claim.enclosure]
    epsilon = loss["privacy_parameters"].get("epsilon")
    if epsilon is None:
        assert min(highs) == math.inf
        assert "No finite epsilon is certified" in loss["privacy_parameters_details"]
    else:
        assert any(high <= epsilon <= high * (1 + 1e-5) for high in highs), "rounded up, and not the claim"
    assert made.digest in loss["privacy_parameters_details"]
    (claim,) = (each for each in made.claims if f", claim {each.id}, " in loss["privacy_parameters_details"])
    assert ("assumed, not derived" in loss["privacy_parameters_details"]) == bool(claim.assumptions)


@pytest.mark.parametrize("key", [*TYPED[2], *TYPED[3]])
def test_a_typed_field_that_is_missing_is_refused_by_its_name(key: str, tmp_path: Path) -> None:
    lines = re.sub(rf"^{key} = ('''.*?'''|.*?$)", "", TYPES + THIRD, flags=re.MULTILINE | re.DOTALL)
    text = load("enpa-notification").text + lines
    (tmp_path / "mine.toml").write_text(text)
    tier = "2" if key in TYPED[2] else "3"
    done = within(tmp_path, "registry", "export", "mine.toml", "--tier", tier)
    fails_in_one_line(done, f"registry: a record of tier {tier} needs {key}, which nothing else says")
    if tier == "3":
        require_typed(text, "mine", 2)


def keys(node: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Paths of a record, or of a schema of records, in their order; sources have names of their own."""
    for key, value in node.get("properties", node).items():
        yield f"{path}/{key}"
        if isinstance(value, Mapping) and key != "evidence_sources" and not {"enum", "items", "pattern", "minLength"} & {*value}:
            yield from keys(value, f"{path}/{key}")


def test_the_later_edition_needs_every_curator_s_kind_and_a_tier_that_there_is_not_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(typed(load("enpa-notification")).text.replace('data_curator_types = ["Government"]\n', ""))
    done = within(tmp_path, "registry", "export", "mine.toml", "--edition", "057e5d8")
    fails_in_one_line(done, "registry: a record of this edition needs data_curator_types, one for each of data_curators")
    done = within(tmp_path, "registry", "export", "mine.toml", "--edition", "main")
    fails_in_one_line(done, "registry export --edition: needs 3e9c812 or 057e5d8, got 'main'")
    fails_in_one_line(run("registry", "export", "apple-emoji", "--tier", "4"), "needs 2 or 3, got 4")
    assert {*TYPED[2], *TYPED[3]} < {*RegistryTable.model_fields}


def field(data: dict[str, Any], path: str) -> Any:
    for key in path.split("."):
        data = data[key]
    return data


@pytest.mark.parametrize(("name", "path", "says"), [
    ("enpa-notification", "dp_variant.variant_name", "Pure DP"),
    ("enpa-notification", "privacy_loss.privacy_unit", "Event-level"),
    ("enpa-notification", "privacy_loss.privacy_parameters", {"epsilon": 8.91609}),
    ("enpa-notification", "deployment_model.model_name", "Local"),
    ("apple-safari-autoplay", "privacy_loss.privacy_unit", "User-day-level"),
    ("apple-safari-autoplay", "privacy_loss.privacy_parameters", {"epsilon": 16.0}),
    ("rappor-chrome-uma", "privacy_loss.privacy_unit", "User-level"),
    ("chrome-topics-v1", "privacy_loss.privacy_unit", "User-3-epochs-level"),
    ("shuffled-randomized-response", "deployment_model.model_name", "Shuffle"),
    ("shuffled-randomized-response", "dp_variant.variant_name", "Approximate DP"),
    ("dap-histogram-5/one-client", "deployment_model.model_name", "Local"),
    ("dap-histogram-5/all-clients", "deployment_model.model_name", "Varies"),
    ("libprio-discrete-laplace", "deployment_model.model_name", "Varies"),
])  # fmt: skip
def test_what_is_computed_is_the_certificate_s(name: str, path: str, says: object) -> None:
    file, _, claim = name.partition("/")
    found = record(certificate(typed(load(file))), claim or None)
    assert field(found["deployment"], path) == says
    assert (found["status"], found["tier"]) == ("Draft", 2)
    assert found["url_slug"] == "votes-a-poll-the-office-of-polls--2026"


def test_what_a_record_says_of_guarantees_drawn_coins_and_unknown_neighbours_is_what_is_known() -> None:
    assert "model_name" not in record(certificate(typed(load("apple-iconic-scenes"))))["deployment"]["deployment_model"]
    found = field(record(certificate(typed(load("enpa-notification")))), "deployment.implementation.mechanisms")
    assert "- Sampler: grid; rho is drawn as 2880636/2**32." in found
    whole = typed(load("epochs-memoized"))
    (same,) = [claim.id for claim in whole.claims if claim.neighbours.kind == "same-pattern"][:1]
    made = record(certificate(whole), same)["deployment"]
    assert made["dp_variant"]["variant_name"] == "Custom"
    assert "but not in the times at which these repeat" in made["privacy_loss"]["privacy_unit_details"]


def test_what_is_half_computed_has_both_halves() -> None:
    more = '[adversary]\nsees = "shuffled"\nretention = "a week"\n'
    text = load("shuffled-randomized-response").text.replace("[mechanism]", f"{more}[mechanism]")
    both = loads(f'{text}{TYPES}{THIRD}unprotected_quantities = "- The list of values."\n')
    made = record(certificate(both), tier=3)["deployment"]
    told = ["- Who is not trusted sees: shuffled.", "- Retention: a week."]
    assert field(made, "deployment_model.actors").splitlines()[-2:] == told
    assert field(made, "deployment_model.actors").startswith("- Users, who trust")
    assert field(made, "dp_variant.unprotected_quantities").endswith("users take part.\n- The list of values.")
    assert broken_rules(to_yaml(record(certificate(loads(text + TYPES))))) == [], "the computed half alone"


def test_the_claim_that_is_named_is_exported_or_that_of_the_widest_unit_that_is_bounded() -> None:
    made = certificate(typed(load("apple-safari-autoplay")))
    assert field(record(made, "event"), "deployment.privacy_loss.privacy_parameters") == {"epsilon": 8.0}
    raises(DeploymentError, "got nothing among event, user-day", record, made, "nothing")
    text = load("epochs-memoized").text.replace('neighbours = "same-pattern"\n', "")
    made = certificate(loads(text + TYPES))
    assert [claim.unit for claim in made.claims if claim.enclosure and claim.enclosure.high == math.inf][-1] == "lifetime"
    assert field(record(made), "deployment.privacy_loss.privacy_unit") == "Event-level"


def test_a_certificate_is_exported_as_its_deployment_file_is(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(typed(load("windows-telemetry")).text)
    shown = stdout(within(tmp_path, "registry", "export", "mine.toml"))
    (tmp_path / "made.json").write_text(certify(tmp_path / "mine.toml").to_json())
    assert within(tmp_path, "registry", "export", "made.json").stdout == shown
    assert broken_rules(shown) == []


RECORD = """\
deployment:
  basic: {description: "a sketch with epsilon of 4, of two donations per day"}
  dp_variant: {variant_name: Pure DP}
  privacy_loss: {privacy_unit: User-day-level, privacy_parameters: {epsilon: 8}, privacy_parameters_details: "m = 32,768, k = 1024"}
  deployment_model: {model_name: Local, release_type: Many releases, release_type_details: Daily}
  implementation: {mechanisms: Private Hadamard Count Mean Sketch}
"""
Change = Callable[[str], str]


def swap(old: str, new: str) -> Change:
    return lambda text: text.replace(old, new)


@pytest.mark.parametrize(("change", "name", "standing", "why"), [
    (swap("{variant_name: Pure DP}", "{}"), "variant_name", "record silent", "no variant"),
    (swap("epsilon: 8}", "epsilon: 8, delta: 1.0e-6}"), "variant_name", "differs", "pure privacy has no delta"),
    (swap("Pure DP", "Approximate DP"), "variant_name", "differs", "the record has none"),
    (swap("epsilon: 8}", "epsilon: 8, delta: 1.0e-6}"), "delta", "differs", "belongs to another epsilon"),
    (swap("privacy_unit: User-day-level, ", ""), "privacy_unit", "record silent", "without which an epsilon says nothing"),
    (swap("User-day-level", "User-level"), "privacy_unit", "differs", "no number of days"),
    (swap("User-day-level", "User-level"), "epsilon", "differs", "for whom none is certified; it is true per user and day"),
    (swap("User-day-level", "User-hour-level"), "epsilon", "cannot be compared", "it is true per user and day"),
    (swap("epsilon: 8}", "epsilon: 4}"), "epsilon", "differs", "it is true per report; certified: 4 per report, 8 per user"),
    (swap("epsilon: 8}", "epsilon: 3.9}"), "epsilon", "differs", "one report alone has more; no unit of the file has it"),
    (swap("{epsilon: 8}", "{}"), "epsilon", "record silent", "certified: 4 per report, 8 per user and day"),
    (swap("Local", "Central"), "model_name", "differs", "the file describes 'Local'"),
    (swap("Many releases", "One release"), "release_type", "differs", "the details say 'Daily'"),
    (swap("Private Hadamard Count Mean Sketch", "Laplace"), "mechanisms", "differs", "the record names 'laplace'"),
    (swap("32,768", "32,767"), "text, m", "differs", "m = 32,767; the file has width = 32,768"),
    (swap("k = 1024", "k = 1024 or k = 1025"), "texts, k", "differs", "1,024 and 1,025 in one record"),
    (swap("k = 1024", "number of hash functions (m)"), "text, m", "differs", "'hash functions' is called m, which is k"),
    (swap("epsilon of 4", "epsilon of 5"), "text, epsilon", "differs", "5 is certified for no unit"),
    (swap("two donations", "three donations"), "text, reports a day", "differs", "3 a day; the file has 2"),
    (swap("epsilon of 4", "epsilon of 4"), "texts, epsilon", "differs", "the field has 8, a text of the record 4"),
])  # fmt: skip
def test_a_record_that_differs_is_told_in_which_field(change: Change, name: str, standing: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(change(RECORD))
    lines = compared(read_record(tmp_path / "r.yaml"), load("apple-safari-domains"))
    assert any((line.field, str(line.standing)) == (name, standing) and why in line.why for line in lines), [*map(str, lines)]


def test_a_record_that_agrees_ends_with_0_in_fields_of_earlier_editions_too_and_one_that_differs_with_1(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(RECORD.replace("epsilon of 4, of", "a budget and"))
    good = within(tmp_path, "registry", "check", "r.yaml", "--deployment", "apple-safari-domains")
    assert (good.returncode, {line.split(": ")[1] for line in good.stdout.splitlines()}) == (0, {"agrees"}), good.stdout
    (tmp_path / "r.yaml").write_text(RECORD)
    bad = within(tmp_path, "registry", "check", "r.yaml", "--deployment", "apple-safari-domains", "--format", "json")
    assert (bad.returncode, bad.stdout.count('"differs"')) == (1, 1), bad.stdout
    earlier = {"dp_flavor": {"name": "Pure DP"}, "model": {"model_name": "Local", "release_type": "Many releases"}}
    lines = {line.field: line.standing for line in compared({"deployment": earlier}, load("apple-safari-domains"))}
    assert (lines["variant_name"], lines["model_name"]) == (Standing.AGREES, Standing.AGREES)
    assert "release_type" not in lines


@pytest.mark.parametrize(("text", "says"), [
    ("deployment: {a: &x [1], b: *x}", "without aliases"), ("a: [", "needs YAML"), ("- 1", "with a key 'deployment'"),
    ("deployment: 3", "with a key 'deployment'"), ("deployment: " + "[" * 500, "needs YAML"),
    ("deployment: !!python/none x", "needs YAML"),
])  # fmt: skip
def test_what_is_no_record_is_an_error_of_one_line(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(text)
    fails_in_one_line(within(tmp_path, "registry", "check", "r.yaml", "--deployment", "apple-emoji"), says)


@pytest.mark.parametrize("value", [
    "1e999999999", "-1", "2", "[1, {a: b}]", "{a: 3}", "true", "~", "nan", ".inf", "1.0e+300", "'\\u2603'", "2026-01-31",
    "9" * 5000, "'n^{(-\\epsilon \\ln(n))}'", f"'k = {'1' * 5000}, epsilon of {'2' * 9000}, {'3' * 400} donations a day'",
])  # fmt: skip
def test_whatever_stands_in_a_field_is_compared_or_is_not(value: str, tmp_path: Path) -> None:
    whole = load("apple-safari-domains")
    for place in (
        "privacy_loss: {privacy_parameters: {epsilon: VALUE}}", "privacy_loss: {privacy_parameters: {delta: VALUE, epsilon: 1}}",
        "privacy_loss: {privacy_unit: VALUE}", "dp_variant: {variant_name: VALUE}", "deployment_model: {model_name: VALUE}",
        "deployment_model: {release_type: One release, release_type_details: VALUE}", "implementation: {mechanisms: VALUE}",
        "basic: VALUE", "privacy_loss: VALUE",
    ):  # fmt: skip
        (tmp_path / "r.yaml").write_text(f"deployment:\n  {place.replace('VALUE', value)}\n", encoding="utf-8")
        try:
            compared(read_record(tmp_path / "r.yaml"), whole)
        except DeploymentError as error:
            assert "needs YAML" in str(error)  # noqa: PT017 - both outcomes are fine


def test_the_page_of_records_is_what_the_command_prints_and_says_no_more_of_a_deployment_than_is_known() -> None:
    assert (ROOT / "docs/registry.md").read_text() == "\n".join(page.page()) + "\n", "python -m benchmarks.registry"
    known = page.records()
    assert len(known) == 8
    assert {each["deployment"] for each in known} <= set(bundled.ids())
    assert sum("worth" in each for each in known) == 3
    assert agreement.Standing.DIFFERS not in {line.standing for line in page.lines_of(known[3])}
