"""The gate of a build."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from ldpaudit import gate
from ldpaudit.errors import DeploymentError
from ldpaudit.report.gate import GateFormat
from tests.helpers import ROOT

DEPLOYMENT = """\
schema = "ldpaudit.deployment/1"
id = "ours"
[mechanism]
kind = "randomized_response"
k = 4
epsilon = {true}
[[claims]]
id = "report"
epsilon = {claimed}
"""


def project(folder: Path, true: float = 1, claimed: float = 1, config: str = "") -> Path:
    (folder / "ours.toml").write_text(DEPLOYMENT.format(true=true, claimed=claimed))
    (folder / "ldpaudit.toml").write_text(f'deployments = ["ours.toml"]\ntrials = 2000\n{config}')
    return folder


def run(folder: Path) -> gate.Gate:
    path, config = gate.find_config(folder)
    return gate.check(folder, config, path)


def test_a_claim_that_holds_passes(tmp_path: Path) -> None:
    result = run(project(tmp_path))
    assert result.exit_code == 0
    assert [f.id for f in result.findings] == ["ours/report"]


def test_a_refuted_claim_fails_and_says_how_to_reproduce_it(tmp_path: Path) -> None:
    result = run(project(tmp_path, true=2))
    (finding,) = result.findings
    assert (result.exit_code, finding.problem, finding.line) == (1, "refuted", 8)
    assert "certify ours.toml --seed 0" in finding.reproduce


def test_an_upper_bound_that_rose_is_a_regression(tmp_path: Path) -> None:
    config = 'baseline = "baseline.json"'
    before = run(project(tmp_path, true=1, claimed=3, config=config))
    (tmp_path / "baseline.json").write_text(gate.baseline_of(before))
    assert run(tmp_path).exit_code == 0
    (finding,) = run(project(tmp_path, true=2, claimed=3, config=config)).findings
    assert finding.problem == "regressed"
    assert "its upper bound was 1 in the baseline, and is 2" in finding.message
    assert finding.reproduce == f"ldpaudit check {tmp_path} --baseline baseline.json"
    assert python(tmp_path, CHECK, *shlex.split(finding.reproduce)[1:]).returncode == 1
    assert run(project(tmp_path, true=0.5, claimed=3, config=config)).exit_code == 0


def test_a_verdict_that_worsened_is_a_regression(tmp_path: Path) -> None:
    config = 'baseline = "baseline.json"'
    rows = {"ours/report": {"verdict": "PROVED", "high": "5.0"}}
    (tmp_path / "baseline.json").write_text(json.dumps({"schema": "ldpaudit.baseline/1", "claims": rows}))
    project(tmp_path, true=2, config=config)
    (tmp_path / "ours.toml").write_text(DEPLOYMENT.format(true=2, claimed=1) + 'expect = "refuted"\n')
    (finding,) = run(tmp_path).findings
    assert finding.problem == "regressed"
    assert "it was PROVED in the baseline" in finding.message


def test_a_policy_may_ask_for_decisions(tmp_path: Path) -> None:
    project(tmp_path)
    text = DEPLOYMENT.format(true=1, claimed=0.5).replace('"randomized_response"\nk = 4', '"guarantee"')
    (tmp_path / "ours.toml").write_text(text)
    assert run(tmp_path).exit_code == 0
    (tmp_path / "ldpaudit.toml").write_text('deployments = ["ours.toml"]\nrequire-decision = true\n')
    result = run(tmp_path)
    assert result.exit_code == 3
    assert result.findings[0].reproduce.endswith(" --require-decision")


def test_a_callable_is_a_target(tmp_path: Path) -> None:
    target = '[[targets]]\nid = "fair"\ncallable = "tests.broken_callables:fair"\ninputs = [0, 1]\nepsilon = "{}"\n'
    (tmp_path / "ldpaudit.toml").write_text("trials = 20000\n" + target.format("log(3)"))
    result = run(tmp_path)
    assert result.exit_code == 0
    assert "on this event alone, an epsilon of" in result.findings[0].message
    (tmp_path / "ldpaudit.toml").write_text("trials = 20000\n" + target.format("0.5"))
    (finding,) = run(tmp_path).findings
    assert "on this event" not in finding.message
    assert finding.problem == "refuted"
    assert "ldpaudit audit tests.broken_callables:fair --inputs 0 1 --epsilon 0.5" in finding.reproduce


def test_configuration_may_stand_in_pyproject(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "ldpaudit.toml").unlink()
    (tmp_path / "pyproject.toml").write_text('[tool.ldpaudit]\ndeployments = ["*.toml"]\ntrials = "many"\n')
    with pytest.raises(DeploymentError, match=r"pyproject\.toml:3: tool\.ldpaudit\.trials: .* got 'many'"):
        run(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.ldpaudit]\ndeployments = ["o*.toml"]\ntrials = 2000\n')
    assert run(tmp_path).exit_code == 0


@pytest.mark.parametrize(
    ("config", "says"),
    [("", "needs deployments or targets"), ("colour = 1", "is not a key"), ("deployments = ['x*']", "matches 'x\\*'"),
     ("a =", "needs TOML"), ("targets = [{id = 'a'}]", "callable: is required")],
)  # fmt: skip
def test_a_configuration_error_names_the_file(tmp_path: Path, config: str, says: str) -> None:
    (tmp_path / "ldpaudit.toml").write_text(config)
    with pytest.raises(DeploymentError, match=says) as caught:
        run(tmp_path)
    assert "ldpaudit.toml" in str(caught.value)


def test_no_configuration_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"needs ldpaudit\.toml"):
        gate.find_config(tmp_path)


def test_a_baseline_of_something_else_is_an_error(tmp_path: Path) -> None:
    project(tmp_path, config='baseline = "ldpaudit.toml"')
    with pytest.raises(DeploymentError, match="needs a baseline"):
        run(tmp_path)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> gate.Gate:
    return run(project(tmp_path_factory.mktemp("failed"), true=2))


def test_junit_counts_a_failure(failed: gate.Gate) -> None:
    root = ElementTree.fromstring(GateFormat.junit.write(failed))
    assert (root.get("tests"), root.get("failures")) == ("1", "1")
    assert root.find("testsuite/testcase/failure") is not None


def test_sarif_is_valid_against_the_schema_of_2_1_0(failed: gate.Gate) -> None:
    log = json.loads(GateFormat.sarif.write(failed))
    schema = json.loads((ROOT / "tests/data/sarif-2.1.0.json").read_text())
    jsonschema.Draft4Validator(schema).validate(log)
    assert log["version"] == "2.1.0"
    (run_,) = log["runs"]
    assert run_["tool"]["driver"]["name"] == "ldpaudit"
    (result,) = run_["results"]
    assert result["message"]["text"]
    assert result["ruleId"] in {rule["id"] for rule in run_["tool"]["driver"]["rules"]}
    assert result["level"] in ("none", "note", "warning", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "ours.toml"
    assert place["region"]["startLine"] >= 1


def test_an_annotation_is_one_line(failed: gate.Gate) -> None:
    line, *_ = GateFormat.github.write(failed).splitlines()
    assert line.startswith("::error file=ours.toml,line=8,title=ours/report refuted::")


def test_every_format_names_the_claim_and_the_bound(failed: gate.Gate) -> None:
    for each in GateFormat:
        assert "ours/report" in each.write(failed), each
        assert "epsilon is at least 1.99999" in each.write(failed), each


LIFE = {
    "ours/__init__.py": "",
    "ours/randomizer.py": """\
import math, random
def randomize(x):
    return x if random.random() < math.exp({epsilon}) / (1 + math.exp({epsilon})) else 1 - x
""",
    "tests/test_privacy.py": """\
import pytest
from ours.randomizer import randomize
@pytest.mark.ldp(epsilon=1.0, inputs=[0, 1], budget=20000)
def test_a_report_is_private(ldp_audit):
    assert ldp_audit(randomize).epsilon_lower > 0.5
""",
    "pyproject.toml": """\
[tool.ldpaudit]
trials = 20000
[[tool.ldpaudit.targets]]
id = "randomize"
callable = "ours.randomizer:randomize"
inputs = [0, 1]
epsilon = 1
""",
    "conftest.py": 'pytest_plugins = ["ldpaudit.pytest_plugin"]\n',
}


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(ROOT)!r}, '.']\n{arguments[0]}", *arguments[1:]]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


PYTEST = "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
CHECK = "from ldpaudit.commands import main; main()"


def test_a_repositorys_life(tmp_path: Path) -> None:
    """A package passes; its randomizer is changed; pytest and the gate both say what is wrong."""
    for name, text in LIFE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("{epsilon}", "0.99"))
    plain = ("-q", "-p", "no:cacheprovider", "-p", "no:ldpaudit")
    passed = python(tmp_path, PYTEST, *plain)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert python(tmp_path, CHECK, "check").returncode == 0

    changed = LIFE["ours/randomizer.py"].replace("{epsilon}", "1.5")
    (tmp_path / "ours/randomizer.py").write_text(changed)
    for done in (python(tmp_path, PYTEST, *plain), python(tmp_path, CHECK, "check")):
        assert done.returncode == 1
        assert "randomize" in done.stdout
        assert "measured epsilon >= 1." in done.stdout
        assert "reproduce: ldpaudit audit ours.randomizer:randomize --inputs 0 1 --epsilon 1" in done.stdout


def test_a_deployment_file_is_a_test_file(tmp_path: Path) -> None:
    (tmp_path / "good.ldp.toml").write_text(DEPLOYMENT.format(true=1, claimed=1))
    (tmp_path / "bad.ldp.toml").write_text(DEPLOYMENT.format(true=2, claimed=1))
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["ldpaudit.pytest_plugin"]\n')
    done = python(tmp_path, PYTEST, "-q", "-p", "no:cacheprovider", "-p", "no:ldpaudit")
    assert done.returncode == 1, done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "false for these parameters" in done.stdout
    assert "Traceback" not in done.stdout


def test_the_plugin_imports_nothing_heavy_until_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["ldpaudit.pytest_plugin"]\n')
    (tmp_path / "test_nothing.py").write_text(
        "import sys\ndef test_nothing():\n    assert not {'numpy', 'scipy', 'sympy', 'flint'} & set(sys.modules)\n"
    )
    done = python(tmp_path, PYTEST, "-q", "-p", "no:cacheprovider", "-p", "no:ldpaudit", "-p", "no:hypothesispytest")
    assert done.returncode == 0, done.stdout


BESIDE = '''\
import math
import pytest
from ours.randomizer import same
def beside(x):
    return x
@pytest.mark.ldp(epsilon=math.log(3), inputs=["a b", {"c": 1}], budget=1000)
def test_of_a_package(ldp_audit):
    ldp_audit(same)
@pytest.mark.ldp(epsilon=1, inputs=[0, 1], budget=1000)
def test_of_a_function_beside_it(ldp_audit):
    ldp_audit(beside)
'''


def test_pytest_says_of_a_test_that_passes_how_far_the_audit_could_see(tmp_path: Path) -> None:
    for name, text in LIFE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.format(epsilon=1) if name.endswith("randomizer.py") else text)
    done = python(tmp_path, PYTEST, "-rP", "--junit-xml", "out.xml", "-p", "no:cacheprovider", "-p", "no:ldpaudit")
    assert done.returncode == 0, done.stdout
    sentence = "on this event alone, an epsilon of"
    assert sentence in done.stdout
    assert f'name="ldpaudit" value="{sentence}' in (tmp_path / "out.xml").read_text()


def test_what_pytest_says_to_reproduce_a_refutation_refutes_when_pasted(tmp_path: Path) -> None:
    written = {
        "ours/__init__.py": "",
        "ours/randomizer.py": "def same(x):\n    return x\n",
        "tests/test_ours.py": BESIDE,
        "tests/bad.ldp.toml": DEPLOYMENT.format(true=2, claimed=1),
        "tests/wrong.ldp.toml": DEPLOYMENT.format(true=2, claimed=1).replace("k = 4", 'k = "four"'),
        "conftest.py": LIFE["conftest.py"],
    }
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    plain = ("-q", "-p", "no:cacheprovider", "-p", "no:ldpaudit", "--continue-on-collection-errors")
    done = python(tmp_path, PYTEST, *plain)
    assert "wrong.ldp.toml:5: mechanism.k: needs a number" in done.stdout
    assert "deployment.py" not in done.stdout
    commands = [shlex.split(line.split("reproduce: ")[1]) for line in done.stdout.splitlines() if "reproduce: " in line]
    assert {command[1] for command in commands} == {"certify", "audit", "tests/test_ours.py::test_of_a_function_beside_it"}
    for program, *arguments in commands:
        again = python(tmp_path, CHECK, *arguments) if program == "ldpaudit" else python(tmp_path, PYTEST, *plain, *arguments)
        assert again.returncode == 1, (program, arguments, again.stdout + again.stderr)


def test_a_command_of_the_gate_is_pasted_where_the_gate_was_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = '[[targets]]\nid = "a"\ncallable = "tests.broken_callables:fair"\ninputs = [0, 1]\nepsilon = "1/3"\n'
    (tmp_path / "a team").mkdir()
    project(tmp_path / "a team", true=2, config=target)
    monkeypatch.chdir(tmp_path)
    ours, code = run(Path("a team")).findings
    assert (ours.file, code.file, code.line) == ("a team/ours.toml", "a team/ldpaudit.toml", 4)
    for finding in (ours, code):
        assert finding.reproduce.startswith("cd 'a team' && ldpaudit ")
    assert f"--epsilon {1 / 3!r} " in code.reproduce
