"""The gate of a build."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from ldpaudit.errors import DeploymentError
from ldpaudit.gate import checking
from ldpaudit.gate.cache import Cache
from ldpaudit.report.gate import GateFormat
from tests import helpers
from tests.helpers import ROOT, deployment, lay_out, raises, slow, some, stdout, wait_until_gone, within

RESPONSE = 'kind = "randomized_response"\nk = 4\np = "exp({true})/(3 + exp({true}))"'
DEPLOYMENT = deployment(RESPONSE, 'id = "report"\nepsilon = {claimed}')
UNDECIDED = deployment('kind = "guarantee"\nepsilon = 1', 'id = "report"\nepsilon = 0.5')


def project(folder: Path, true: float = 1, claimed: float = 1, config: str = "") -> Path:
    (folder / "ours.toml").write_text(DEPLOYMENT.format(true=true, claimed=claimed))
    (folder / "ldpaudit.toml").write_text(f'deployments = ["ours.toml"]\ntrials = 2000\n{config}')
    return folder


def run(folder: Path, config: str | None = None) -> checking.Gate:
    """Of the configuration that is there, or of another one in its place."""
    if config is not None:
        (folder / "ldpaudit.toml").write_text(config)
    path, found = checking.find_config(folder)
    return checking.check(folder, found, path)


def test_a_claim_that_holds_passes_and_a_refuted_one_fails_and_says_how_to_reproduce_it(tmp_path: Path) -> None:
    result = run(project(tmp_path))
    assert (result.exit_code, [f.id for f in result.findings]) == (0, ["ours/report"])
    result = run(project(tmp_path, true=2))
    (finding,) = result.findings
    assert (result.exit_code, finding.problem, finding.line) == (1, "refuted", 8)
    assert "certify ours.toml --seed 0" in finding.reproduce


def test_a_policy_may_ask_for_decisions(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "ours.toml").write_text(UNDECIDED)
    assert run(tmp_path).exit_code == 0
    result = run(tmp_path, 'deployments = ["ours.toml"]\nrequire-decision = true\n')
    assert result.exit_code == 3
    assert result.findings[0].reproduce.endswith(" --require-decision")


@pytest.mark.usefixtures("in_process")
def test_a_callable_is_a_target(tmp_path: Path) -> None:
    result = run(tmp_path, "trials = 20000\n" + target("fair", '"log(3)"'))
    assert result.exit_code == 0
    assert "on this event alone, an epsilon of" in result.findings[0].message
    (finding,) = run(tmp_path, "trials = 20000\n" + target("fair", 0.5)).findings
    assert "on this event" not in finding.message
    assert finding.problem == "refuted"
    assert "ldpaudit audit tests.broken_callables:fair --inputs 0 1 --epsilon 0.5" in finding.reproduce


def test_configuration_may_stand_in_pyproject(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "ldpaudit.toml").unlink()
    (tmp_path / "pyproject.toml").write_text('[tool.ldpaudit]\ndeployments = ["*.toml"]\ntrials = "many"\n')
    raises(DeploymentError, r"pyproject\.toml:3: tool\.ldpaudit\.trials: .* got 'many'", run, tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.ldpaudit]\ndeployments = ["o*.toml"]\ntrials = 2000\n')
    assert run(tmp_path).exit_code == 0


ONE = "{id = 'a', callable = 'm:f', inputs = [0, 1], epsilon = '1'}"
TWICE = f"targets = [{ONE}, {ONE}]"


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nldpaudit = 3", "[[tool]]\nldpaudit = 3"])
def test_a_tool_that_is_no_table_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    raises(DeploymentError, r"pyproject\.toml(:\d)?: tool(\.ldpaudit)?: needs a", run, tmp_path)


@pytest.mark.parametrize(("config", "says"), [
    ("", "needs deployments or targets"), ("colour = 1", "is not a key"), ("deployments = ['x*']", "matches 'x\\*'"),
    ("a =", "needs TOML"), ("deployments = ['/etc/*.toml']", "needs relative patterns, got '/etc/"),
    ("deployments = ['']", "needs relative patterns, got ''"), (f"deployments = ['{'d(' * 500}']", "needs relative patterns"),
    ("deployments = ['a.toml']\nbaseline = '../b.json'", "needs a file inside the configuration's folder, got '../b.json'"),
    ("deployments = ['a.toml']\nbaseline = '/tmp/b.json'", "needs a file inside the configuration's folder"),
    ("deployments = ['a.toml']\nbaseline = ''", "needs a file inside the configuration's folder, got ''"),
    ("x = " + "[" * 3000 + "]" * 3000, "at most 64 levels of tables"),
    (TWICE, "needs targets with unique ids, got 'a' twice"), (TWICE.replace("'a'", "'../a'"), "got '../a'"),
    (TWICE.replace("'1'", "'1e400'"), "above 1e308"), ("targets = [{id = 'a'}]", "callable: is required"),
])  # fmt: skip
def test_a_configuration_error_names_the_file(tmp_path: Path, config: str, says: str) -> None:
    assert "ldpaudit.toml" in str(raises(DeploymentError, says, run, tmp_path, config))


def test_without_a_configuration_all_deployment_files_of_the_folder_are_checked_and_that_is_said(tmp_path: Path) -> None:
    ours = DEPLOYMENT.format(true=1, claimed=1)
    lay_out(tmp_path, {"a [team].toml": ours, "other.toml": 'schema = "another"\n', "broken.toml": "x ="})
    done = within(tmp_path, "check", "--no-cache")
    assert (done.returncode, done.stdout) == (
        0, "ok         ours/report: PROVED\n1 claims, none failed; no configuration and no baseline\n"
    )  # fmt: skip
    (tmp_path / "a [team].toml").write_text(DEPLOYMENT.format(true=2, claimed=1))
    assert within(tmp_path, "check", "--no-cache").returncode == 1


def test_no_configuration_without_a_deployment_and_two_configurations_are_an_error(tmp_path: Path) -> None:
    raises(DeploymentError, r"needs ldpaudit\.toml", checking.find_config, tmp_path)
    lay_out(tmp_path, {"ldpaudit.toml": target("fair"), "pyproject.toml": "[tool.ldpaudit]\nrequire-decision = true\n"})
    raises(DeploymentError, r"needs one configuration, got ldpaudit\.toml and", checking.find_config, tmp_path)
    for text in ("[tool.other]\n", "x ="):
        (tmp_path / "pyproject.toml").write_text(text)
        assert checking.find_config(tmp_path)[1].targets


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> checking.Gate:
    return run(project(tmp_path_factory.mktemp("failed"), true=2))


def test_every_format_names_the_claim_and_the_bound_of_a_failure(failed: checking.Gate) -> None:
    root = ElementTree.fromstring(GateFormat.junit.write(failed))
    assert (root.get("tests"), root.get("failures")) == ("1", "1")
    assert root.find("testsuite/testcase/failure") is not None
    line, *_ = GateFormat.github.write(failed).splitlines()
    assert line.startswith("::error file=ours.toml,line=8,title=ours/report refuted::")
    for each in GateFormat:
        assert "ours/report" in each.write(failed), each
        assert "epsilon is at least 1.99999" in each.write(failed), each


def test_sarif_is_valid_against_the_schema_of_2_1_0(failed: checking.Gate) -> None:
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


@pytest.mark.parametrize(("epsilon", "state"), [("0.5", "undecided"), ("1", "assumed")])
def test_what_is_undecided_or_assumed_is_never_ok_in_any_format(tmp_path: Path, epsilon: str, state: str) -> None:
    project(tmp_path)
    (tmp_path / "ours.toml").write_text(UNDECIDED.replace("0.5", epsilon))
    result = run(tmp_path)
    assert result.exit_code == 0
    written = {each.value: each.write(result) for each in GateFormat}
    word = state.upper()
    assert written["text"] == f"{state:9}  ours/report: {word}\n1 claims, 1 {state}, none failed; no baseline\n"
    assert json.loads(written["json"])["findings"][0]["state"] == state
    assert ElementTree.fromstring(written["junit"]).find("testsuite/testcase/skipped") is not None
    (found,) = json.loads(written["sarif"])["runs"][0]["results"]
    assert (found["ruleId"], found["kind"], found["level"]) == (state, "open", "none")
    assert written["github"].startswith(f"::notice file=ours.toml,line=7,title=ours/report {state}::")
    assert f"| ours/report | {word} |" in written["markdown"]
    assert "passed</summary>" not in written["markdown"]


TARGET = '[[targets]]\nid = "{id}"\ncallable = "tests.broken_callables:{code}"\ninputs = [0, 1]\nepsilon = {epsilon}\n'


def target(code: str, epsilon: float | str = 2, name: str = "code") -> str:
    return TARGET.format(id=name, code=code, epsilon=epsilon)


@pytest.mark.usefixtures("in_process")
def test_code_that_is_not_refuted_says_so_and_too_few_views_for_any_code_are_an_error(tmp_path: Path) -> None:
    passed = run(tmp_path, "trials = 2000\n" + target("fair"))
    assert GateFormat.text.write(passed).startswith("ok         code: not refuted\n")
    targets = target("identity", epsilon=6) + target("identity", 2, "smaller") + target("constant", 3, "sound")
    result = run(tmp_path, "trials = 300\n" + targets)
    large, smaller, sound = result.findings
    assert (sound.problem, large.problem) == (None, "error")
    assert "claims epsilon = 6: needs more trials, " in large.message
    assert (smaller.problem, result.exit_code) == ("refuted", 2)


PROGRAM = "import sys, random\nfor line in sys.stdin: print({answer}, flush=True)\n"


@pytest.mark.few(1)
@pytest.mark.parametrize(("answer", "problem"), [("line.strip()", "refuted"), ("random.randrange(2)", None)])
def test_a_target_may_be_a_program_that_is_started_in_the_configurations_folder(
    tmp_path: Path, answer: str, problem: str | None
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.format(answer=answer))
    text = target("fair").replace('"tests.broken_callables:fair"', f'"exec:{sys.executable} program.py"')
    (tmp_path / "ldpaudit.toml").write_text(f"trials = 2000\n{text}")
    path, config = checking.find_config(tmp_path)
    result = checking.check(tmp_path, config, path, cache=Cache(tmp_path / ".cache", bytes(32)))
    (found,) = result.findings
    assert found.problem == problem, found.message
    assert f"ldpaudit audit 'exec:{sys.executable} program.py' --inputs 0 1" in found.reproduce
    assert (some(result.reuse).anew, (tmp_path / ".cache").exists()) == (("code",), False)
    with pytest.raises(DeploymentError, match="must not name code with --no-import, got 'exec:"):
        checking.check(tmp_path, config.model_copy(update={"no_import": True}), path)


def test_a_target_whose_raw_reports_leak_may_be_audited_in_the_form_that_leaves_the_device(tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text("def one(x):\n    return 1 if x else True\n")
    text = target("fair").replace("tests.broken_callables:fair", "typed:one")
    for form, problem in (("raw", "refuted"), ("canonical", None)):
        (found,) = run(tmp_path, f'trials = 2000\n{text}form = "{form}"\n').findings
        assert found.problem == problem, found.message


HELPER = """\
import os, random, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"],
                 start_new_session=True)
while not os.path.exists("pid") or not open("pid").read():
    pass
{end}
def fair(x):
    return x if random.random() < 0.7 else 1 - x
"""


def checked_code(folder: Path, module: str, code: int) -> None:
    """Check a module's function `fair` in a process of its own, which has to end with this code: 2 where it is an error."""
    (folder / "ours.py").write_text(module)
    text = "trials = 2000\n" + target("fair").replace("tests.broken_callables:fair", "ours:fair")
    (folder / "ldpaudit.toml").write_text(text)
    done = python(folder, CHECK, "check", "--no-cache")
    assert (done.returncode, "ERROR      code: error" in done.stdout) == (code, code == 2), done.stdout


@pytest.mark.parametrize(("end", "code"), [("os._exit(0)", 2), slow("", 0), slow("raise SystemExit(0)", 2)])
def test_what_audited_code_started_is_gone_when_the_gate_has_ended_however_the_code_did(
    tmp_path: Path, end: str, code: int
) -> None:
    checked_code(tmp_path, HELPER.format(end=end), code)
    wait_until_gone(int((tmp_path / "pid").read_text()))


READS = """\
import gc, io, os, pickle
class Ends:
    def __reduce__(self):
        return os._exit, (0,)
def fair(x):
    for each in gc.get_objects():
        if isinstance(each, io.BufferedWriter) and each.name not in (0, 1, 2):
            each.write(pickle.dumps(("returned", Ends())))
            each.flush()
    return x
"""


def test_what_audited_code_writes_where_answers_go_ends_no_gate_green(tmp_path: Path) -> None:
    checked_code(tmp_path, READS, 2)


def test_code_that_ends_its_process_or_takes_too_long_is_an_error_and_the_others_are_judged(tmp_path: Path) -> None:
    project(tmp_path, config="".join(target(code, name=code) for code in ("exits", "none")))
    own = DEPLOYMENT.format(true=1, claimed=1).replace('"ours"', '"killed"')
    (tmp_path / "ours2.toml").write_text(own + '[implementation]\ncallable = "tests.broken_callables:exits"\n')
    (tmp_path / "ours3.toml").write_text("x =")
    result = run(tmp_path, (tmp_path / "ldpaudit.toml").read_text().replace('"ours.toml"', '"ours*.toml"'))
    assert result.exit_code == 2
    assert [(f.id, f.state) for f in result.findings] == [
        ("ours/report", "ok"), ("ours2.toml", "error"), ("ours3.toml", "error"), ("exits", "error"),
        ("none", "error"),
    ]  # fmt: skip
    said = {f.id: f.message for f in result.findings}
    assert "its process ended with exit code 0 before it answered" in said["ours2.toml"]
    assert "its process ended with exit code 0 before it answered" in said["exits"]
    assert "cannot import tests.broken_callables:none" in said["none"]
    for each in GateFormat:
        assert "tests.broken_callables:exits: exits: its process ended" in each.write(result).replace("\\_", "_"), each
    assert ElementTree.fromstring(GateFormat.junit.write(result)).get("errors") == "4"
    (found,) = run(tmp_path, "patience = 0.5\n" + target("sleeps")).findings
    assert found.problem == "error"
    assert "needs an answer within 0.5 s, got none: it hangs" in found.message


@pytest.mark.parametrize("config", [target("exits"), 'deployments = ["ours.toml"]\nno-import = true\n'])
def test_without_imports_a_gate_that_names_code_is_refused(tmp_path: Path, config: str) -> None:
    code = '[implementation]\ncallable = "tests.broken_callables:exits"\n'
    lay_out(tmp_path, {"ours.toml": DEPLOYMENT.format(true=1, claimed=1) + code, "ldpaudit.toml": config})
    path, found = checking.find_config(tmp_path)
    with pytest.raises(DeploymentError, match=r"must not name code with --no-import, got 'tests\.broken_callables:exits'"):
        checking.check(tmp_path, found.model_copy(update={"no_import": True}), path)


def test_two_deployments_of_one_id_are_an_error_and_one_file_twice_is_one(tmp_path: Path) -> None:
    project(tmp_path)
    assert len(run(tmp_path, 'trials = 2000\ndeployments = ["ours.toml", "our*.toml"]\n').findings) == 1
    (tmp_path / "ours2.toml").write_text(DEPLOYMENT.format(true=1, claimed=1))
    raises(DeploymentError, r"ours2\.toml:2: id: needs a unique id, got 'ours' twice", run, tmp_path)


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
@pytest.mark.ldp(epsilon=1.0, inputs=[0, 1], budget=6000)
def test_a_report_is_private(ldp_audit):
    assert ldp_audit(randomize).epsilon_lower > 0.5
""",
    "pyproject.toml": """\
[tool.ldpaudit]
trials = 6000
[[tool.ldpaudit.targets]]
id = "randomize"
callable = "ours.randomizer:randomize"
inputs = [0, 1]
epsilon = 1
""",
}


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return helpers.python("-c", f"import sys; sys.path[:0] = [{str(ROOT)!r}, '.']\n{arguments[0]}", *arguments[1:], cwd=folder)


def pytest_in(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Its tests, with the plugin of the checkout."""
    (folder / "conftest.py").write_text('pytest_plugins = ["ldpaudit.pytest_plugin"]\n')
    code = "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    return python(folder, code, "-q", "-p", "no:cacheprovider", "-p", "no:ldpaudit", *more)


CHECK = "from ldpaudit.commands import main; main()"


def test_a_marker_without_the_fixture_is_no_test_that_passes(tmp_path: Path) -> None:
    text = "import pytest\n@pytest.mark.ldp(epsilon=0.01)\ndef test_it(): pass\n"
    claimed = "def test_that(ldp_audit): ldp_audit(lambda x: x, epsilon=float('inf'))\n"
    (tmp_path / "test_it.py").write_text(text + claimed)
    shown = stdout(pytest_in(tmp_path), 1)
    assert "the marker ldp audits nothing by itself" in shown
    assert "a claim needs a finite epsilon, got inf" in shown


def test_code_beside_a_deployment_is_found_and_a_refutation_by_samples_has_no_other_epsilon_to_offer(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("def same(x):\n    return x\n")
    text = DEPLOYMENT.format(true=1, claimed=2) + '[implementation]\ncallable = "beside_it:same"\n'
    (tmp_path / "ours.toml").write_text(text)
    shown = stdout(within(tmp_path, "certify", "ours.toml", "--trials", "2000"), 1)
    assert "the code is not what is described" in " ".join(shown.split())
    assert "holds" not in shown.split("claims hold")[0].replace("0 of 1", "")


@pytest.mark.slow
def test_a_repositorys_life(tmp_path: Path) -> None:
    """A package passes, and pytest says how far it saw; its randomizer is changed; pytest and the gate say what is wrong."""
    lay_out(tmp_path, {name: text.replace("{epsilon}", "0.99") for name, text in LIFE.items()})
    shown = stdout(pytest_in(tmp_path, "-rP", "--junit-xml", "out.xml"))
    assert (how_far := "on this event alone, an epsilon of") in shown
    assert f'name="ldpaudit" value="{how_far}' in (tmp_path / "out.xml").read_text()
    assert within(tmp_path, "check").returncode == 0

    (tmp_path / "ours/randomizer.py").write_text(LIFE["ours/randomizer.py"].replace("{epsilon}", "1.5"))
    for done in (pytest_in(tmp_path), within(tmp_path, "check")):
        shown = stdout(done, 1)
        assert "measured epsilon >= 1." in shown
        assert "reproduce: ldpaudit audit ours.randomizer:randomize --inputs 0 1 --epsilon 1" in shown


def test_a_deployment_file_is_a_test_file(tmp_path: Path) -> None:
    lay_out(tmp_path, {f"{name}.ldp.toml": DEPLOYMENT.format(true=true, claimed=1) for name, true in (("good", 1), ("bad", 2))})
    for name, epsilon in (("open", "0.5"), ("assumed", "1")):
        (tmp_path / f"{name}.ldp.toml").write_text(UNDECIDED.replace("0.5", epsilon))
    shown = stdout(pytest_in(tmp_path), 1)
    assert "1 failed, 1 passed, 2 skipped" in shown
    assert "false for these parameters" in shown
    assert "Traceback" not in shown


def test_the_plugin_imports_nothing_heavy_until_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\ndef test_nothing():\n    assert not {'numpy', 'scipy', 'sympy', 'flint'} & set(sys.modules)\n"
    )
    stdout(pytest_in(tmp_path, "-p", "no:hypothesispytest"))


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


@pytest.mark.slow
def test_what_pytest_says_to_reproduce_a_refutation_refutes_when_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = {
        "ours/__init__.py": "",
        "ours/randomizer.py": "def same(x):\n    return x\n",
        "tests/test_ours.py": BESIDE,
        "tests/bad.ldp.toml": DEPLOYMENT.format(true=2, claimed=1),
        "tests/wrong.ldp.toml": DEPLOYMENT.format(true=2, claimed=1).replace("k = 4", 'k = "four"'),
    }
    lay_out(tmp_path, written)
    done = pytest_in(tmp_path, "--continue-on-collection-errors")
    assert "wrong.ldp.toml:5: mechanism.k: needs an integer" in done.stdout
    assert "deployment.py" not in done.stdout
    commands = [shlex.split(line.split("reproduce: ")[1]) for line in done.stdout.splitlines() if "reproduce: " in line]
    assert {command[1] for command in commands} == {"certify", "audit", "tests/test_ours.py::test_of_a_function_beside_it"}
    monkeypatch.syspath_prepend(tmp_path)
    for program, *arguments in commands:
        stdout(within(tmp_path, *arguments) if program == "ldpaudit" else pytest_in(tmp_path, *arguments), 1)
    for name in ("ours", "ours.randomizer"):
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.usefixtures("in_process")
def test_a_command_of_the_gate_is_pasted_where_the_gate_was_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a team").mkdir()
    project(tmp_path / "a team", true=2, config=target("fair", '"1/3"'))
    monkeypatch.chdir(tmp_path)
    ours, code = run(Path("a team")).findings
    assert (ours.file, code.file, code.line) == ("a team/ours.toml", "a team/ldpaudit.toml", 4)
    for finding in (ours, code):
        assert finding.reproduce.startswith("cd 'a team' && ldpaudit ")
    assert f"--epsilon {1 / 3!r} " in code.reproduce
