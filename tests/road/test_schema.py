"""The schemas in the package are those of the models, and say yes and no where these do."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pydantic
import pytest

from benchmarks.reference import page
from ldpaudit import certify, mechanisms
from ldpaudit.errors import DeploymentError
from ldpaudit.files.deployment import loads
from ldpaudit.gate import checking
from ldpaudit.gate.findings import ClaimRow, Finding, Gate, TargetRow
from ldpaudit.report.schema import NAMES, schema
from ldpaudit.verdict import Outcome
from tests.helpers import ROOT, raises
from tests.road.test_deployment import GOOD

PINS = (ROOT / "constraints.txt").read_text()

FOLDER = ROOT / "schemas"
FILES = sorted((ROOT / "deployments").glob("*.toml"))


def written(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())


def allows(name: str, value: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(written(name)).is_valid(value))


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_of_the_package_is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(written(name))


@pytest.mark.skipif(f"\npydantic=={pydantic.VERSION} " not in PINS, reason="another pydantic writes the same in other words")
@pytest.mark.parametrize("name", NAMES)
def test_the_package_has_the_schema_that_the_models_make(name: str) -> None:
    listed: list[str] = written("deployment")["$defs"]["MechanismTable"]["properties"]["kind"]["enum"]
    assert set(listed) <= {*mechanisms.stems(), "guarantee"}, "one that is younger than the schema may be missing"
    kinds = [each for each in listed if each != "guarantee"]
    assert written(name) == schema(name, kinds), f"ldpaudit schema {name} > schemas/{name}.json"


def test_the_reference_page_is_printed_from_the_schemas() -> None:
    assert (ROOT / "docs/reference.md").read_text().splitlines() == list(page()), "python -m benchmarks.reference"


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_every_bundled_file_is_valid_and_names_the_schema_for_editors(file: Path) -> None:
    assert allows("deployment", tomllib.loads(file.read_text()))
    directive = file.read_text().splitlines()[0]
    assert directive.startswith("#:schema ")
    assert (file.parent / directive.removeprefix("#:schema ")).resolve() == (FOLDER / "deployment.json").resolve()


@pytest.mark.parametrize(("old", "new"), [
    ("k = 4", "k = 4\ncolour = 1"),
    ('p = "1/2"', "p = true"),
    ('p = "1/2"', ""),
    ("k = 4", "k = 4.5"),
    ("k = 4", "kk = 4"),
    ('"randomized_response"', '"randomised"'),
    ('"randomized_response"', '"randomized_response"\nvariant = "x"\nbits = 1'),
    ('"randomized_response"', '"rappor"'),
    ("reports = 3", "reports = 0"),
    ("users = 1_000", "people = 5"),
    ('id = "example"', ""),
    ('unit = "user-day"', 'unit = "fortnight"'),
    ('view = "local"', 'view = "global"'),
    ('epsilon = "2.05"', "epsilon = [1]"),
    ('epsilon = "2.05"', 'epsilon = "2.05"\nneighbours = "all"'),
    ("ldpaudit.deployment/1", "ldpaudit.deployment/3"),
])  # fmt: skip
def test_what_the_schema_of_deployments_refuses_the_parser_refuses(old: str, new: str) -> None:
    assert allows("deployment", tomllib.loads(GOOD))
    text = GOOD.replace(old, new)
    assert text != GOOD
    assert not allows("deployment", tomllib.loads(text))
    raises(DeploymentError, "", loads, text)


@pytest.mark.parametrize("mechanism", [
    'kind = "randomized_response"\nk = "2**3"\nepsilon = 1',
    'kind = "unary_encoding"\nk = 4\nepsilon = 1\nconstructor = "optimized"',
    'kind = "rappor"\nvariant = "permanent"\nbits = 32\nhashes = 2\nf = 0.5',
    'kind = "guarantee"\nepsilon = 4',
    'kind = "genprot"\nepsilon = "1/4"\nk = 2\nslots = 20',
])  # fmt: skip
def test_what_the_parser_reads_the_schema_allows(mechanism: str) -> None:
    text = GOOD.replace('kind = "randomized_response"\nk = 4\np = "1/2"', mechanism)
    assert loads(text).plan
    assert allows("deployment", tomllib.loads(text))


def test_a_certificate_is_valid_infinities_included() -> None:
    data = json.loads(certify("enpa-vaccine-status", trials=1000).to_json())
    assert allows("certificate", data)
    data["claims"][0]["enclosure"]["high"] = "inf"
    assert allows("certificate", data)
    data["claims"][0]["enclosure"]["high"] = "much"
    assert not allows("certificate", data)
    assert not allows("certificate", {key: value for key, value in data.items() if key != "digest"})


def test_a_baseline_is_valid_as_the_gate_writes_it() -> None:
    claimed = {"epsilon": 1.0, "delta": 0.5, "unit": "report", "neighbours": "replace-one"}
    row = ClaimRow.model_validate({"verdict": Outcome.BOUNDED, "high": float("inf"), **claimed})
    claim = Finding("d/c", Outcome.BOUNDED, None, "", "", None, "", row)
    looked_at = {"callable": "a:b", "inputs": ["0", "1"], "form": "raw", "trials": 2000, "confidence": 0.99}
    code = TargetRow.model_validate({"refuted": False, "epsilon": 1.0, "delta": 0.0, "neighbours": "replace-one", **looked_at})
    target = Finding("t", Outcome.UNDECIDED, None, "", "", None, "", None, code)
    data = json.loads(checking.baseline_of(Gate((claim, target))))
    assert allows("baseline", data)
    data["claims"]["d/c"]["high"] = "large"
    assert not allows("baseline", data)


def test_a_configuration_of_a_gate_is_valid_by_the_keys_that_files_have(tmp_path: Path) -> None:
    text = (
        'deployments = ["d/*.toml"]\nrequire-decision = true\nno-import = false\nbaseline = "b.json"\n'
        '[[targets]]\nid = "t"\ncallable = "m:f"\ninputs = [0, "one"]\nepsilon = "1/2"\nexpect = "refuted"\n'
    )
    (tmp_path / checking.CONFIG).write_text(text)
    assert checking.find_config(tmp_path)[1].require_decision
    assert allows("gate", tomllib.loads(text))
    assert not allows("gate", tomllib.loads(text.replace("require-decision", "require_decision")))
    assert not allows("gate", tomllib.loads(text.replace('[0, "one"]', "[0]")))
