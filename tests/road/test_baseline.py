"""What a gate's baseline says, what it fails a build over, and the summary for whoever reviews a change."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from ldpaudit.errors import DeploymentError
from ldpaudit.gate import checking
from ldpaudit.gate.findings import CacheUse, Finding, Gate, read_baseline
from ldpaudit.report.gate import GateFormat
from ldpaudit.verdict import Outcome
from tests.helpers import deployment, fails_in_one_line, lay_out, raises, raises_a_line, within
from tests.road.test_gate import DEPLOYMENT, project, run, target

pytestmark = pytest.mark.usefixtures("in_process")
CLAIM: dict[str, object] = {
    "verdict": "PROVED", "high": "1.0", "epsilon": 1.0, "delta": 0.0, "unit": "report", "neighbours": "replace-one"
}  # fmt: skip
CODE: dict[str, object] = {
    "refuted": False, "epsilon": 2.0, "delta": 0.0, "callable": "tests.broken_callables:fair", "inputs": ["0", "1"],
    "form": "raw", "neighbours": "replace-one", "trials": 2000, "confidence": 0.999,
}  # fmt: skip
"""What a baseline keeps of a claim, and of a target."""


def safe(x: int) -> int:
    return 0


def compared(folder: Path, says: str, config: str | None = None) -> None:
    """Fail unless the only finding is a regression that says so, or none where nothing is to be said."""
    (finding,) = run(folder, config).findings
    assert finding.problem == ("regressed" if says else None), finding.message
    assert says in finding.message


def test_an_upper_bound_that_rose_or_a_verdict_that_worsened_is_a_regression(tmp_path: Path) -> None:
    config = 'baseline = "baseline.json"'
    (tmp_path / "baseline.json").write_text(checking.baseline_of(run(project(tmp_path, true=1, claimed=3))))
    assert run(project(tmp_path, true=1, claimed=3, config=config)).exit_code == 0
    (finding,) = run(project(tmp_path, true=2, claimed=3, config=config)).findings
    assert finding.problem == "regressed"
    assert "its upper bound was 1 in the baseline, and is 2" in finding.message
    assert finding.reproduce == f"ldpaudit check {tmp_path} --baseline baseline.json"
    assert within(tmp_path, *shlex.split(finding.reproduce)[1:]).returncode == 1
    assert run(project(tmp_path, true=0.5, claimed=3, config=config)).exit_code == 0
    baseline(tmp_path, {"ours/report": {**CLAIM, "high": "5.0"}}, {})
    project(tmp_path, true=2, config=config)
    (tmp_path / "ours.toml").write_text(DEPLOYMENT.format(true=2, claimed=1) + 'expect = "refuted"\n')
    compared(tmp_path, "it was PROVED in the baseline")


def test_a_baseline_of_something_else_is_an_error_and_a_missing_one_until_it_is_written(tmp_path: Path) -> None:
    project(tmp_path, config='baseline = "ldpaudit.toml"')
    raises(DeploymentError, "needs a baseline", run, tmp_path)
    project(tmp_path, config='baseline = "baseline.json"\n' + target("fair"))
    raises(DeploymentError, "needs the baseline's file, got none: `ldpaudit check --update-baseline`", run, tmp_path)
    assert within(tmp_path, "check", "--update-baseline").returncode == 0
    rows = json.loads((tmp_path / "baseline.json").read_text())
    assert (rows["claims"], rows["targets"]) == ({"ours/report": CLAIM}, {"code": CODE})
    assert run(tmp_path).exit_code == 0


def test_init_writes_a_configuration_of_all_deployments_and_what_they_come_out_as(tmp_path: Path) -> None:
    for folder in ("a", "b[1]", ".hidden"):
        lay_out(tmp_path, {f"{folder}/ours.toml": DEPLOYMENT.format(true=1, claimed=1).replace("ours", f"of {folder[0]}")})
    (tmp_path / "other.toml").write_text("[tool]\n")
    done = within(tmp_path, "check", "--init", "--no-cache")
    assert (done.returncode, done.stderr) == (0, "ldpaudit: wrote ldpaudit.toml\nldpaudit: wrote ldpaudit-baseline.json\n")
    assert tomllib.loads((tmp_path / "ldpaudit.toml").read_text())["deployments"] == ["a/ours.toml", "b[[]1]/ours.toml"]
    worse = tmp_path / "a" / "ours.toml"
    worse.write_text(worse.read_text().replace("exp(1)", "exp(0.9)"))
    assert within(tmp_path, "check", "--no-cache").returncode == 0
    worse.write_text(worse.read_text().replace("epsilon = 1", "epsilon = 2").replace("exp(0.9)", "exp(1.9)"))
    assert within(tmp_path, "check", "--no-cache").returncode == 1  # it holds, but the claim was a smaller one
    fails_in_one_line(within(tmp_path, "check", "--init"), "ldpaudit.toml: is a configuration already")
    (tmp_path / "empty").mkdir()
    fails_in_one_line(within(tmp_path / "empty", "check", "--init"), "needs deployment files; `ldpaudit init` writes one")


def test_a_baseline_that_a_link_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    outside.mkdir()
    inside.mkdir()
    project(inside, config='baseline = "link/baseline.json"')
    (inside / "link").symlink_to(outside, target_is_directory=True)
    fails_in_one_line(within(inside, "check", "--update-baseline"), "which a link leads out of it")
    assert not any(outside.iterdir())


def baseline(folder: Path, claims: object, targets: object) -> None:
    data = {"schema": "ldpaudit.baseline/1", "claims": claims, "targets": targets}
    (folder / "baseline.json").write_text(json.dumps(data))


def test_a_claim_or_target_of_the_baseline_that_is_gone_fails_the_build(tmp_path: Path) -> None:
    project(tmp_path, config='baseline = "baseline.json"')
    baseline(tmp_path, {"ours/report": CLAIM, "ours/renamed": CLAIM}, {"code": CODE})
    result = run(tmp_path)
    assert result.exit_code == 1
    assert [(f.id, f.problem) for f in result.findings] == [
        ("ours/report", None), ("ours/renamed", "gone"), ("code", "gone")
    ]  # fmt: skip
    drop = result.findings[1].message.split("to drop it on purpose: ")[1]
    assert within(tmp_path, *shlex.split(drop)[1:]).returncode == 0
    assert run(tmp_path).exit_code == 0


SHUFFLED = deployment(
    'kind = "randomized_response"\nk = 4\nepsilon = "{own}"',
    'id = "report"\nepsilon = "{claimed}"\ndelta = "{delta}"\nunit = "{unit}"\nneighbours = "{neighbours}"\nsource = "a test"',
    more="[shuffle]\nusers = 1000\n",
)
CLAIMED = {"own": "3/4", "claimed": "2", "delta": "0", "unit": "user-day", "neighbours": "group-of-2"}


@pytest.mark.parametrize(("change", "says"), [
    ({}, ""),
    ({"own": "2/3"}, ""),
    ({"delta": "0.5"}, "it claimed delta = 0 in the baseline, and claims 0.5"),
    ({"claimed": "9"}, "it claimed epsilon = 2 in the baseline, and claims 9"),
    ({"claimed": "?"}, "it claimed epsilon = 2 in the baseline, and claims none"),
    ({"unit": "report"}, "its unit was user-day in the baseline, and is report"),
    ({"neighbours": "replace-one"}, "its neighbours was group-of-2 in the baseline, and is replace-one"),
])  # fmt: skip
def test_a_weaker_claim_or_one_of_something_else_is_a_regression(tmp_path: Path, change: dict[str, str], says: str) -> None:
    project(tmp_path, config='baseline = "baseline.json"')
    (tmp_path / "ours.toml").write_text(SHUFFLED.format(**CLAIMED))
    without = checking.find_config(tmp_path)[1].model_copy(update={"baseline": None})
    checked = checking.check(tmp_path, without, tmp_path / checking.CONFIG)
    lay_out(tmp_path, {"baseline.json": checking.baseline_of(checked), "ours.toml": SHUFFLED.format(**CLAIMED | change)})
    compared(tmp_path, says)


def test_code_that_is_audited_no_longer_is_a_regression_and_views_of_ours_are_not_kept(tmp_path: Path) -> None:
    project(tmp_path, config='baseline = "baseline.json"')
    row = {**CLAIM, "implementation": "ours:client", "trials": 1000, "confidence": 0.99}
    baseline(tmp_path, {"ours/report": row}, {})
    compared(tmp_path, "its implementation was ours:client in the baseline, and there is none")
    (row,) = json.loads(checking.baseline_of(run(project(tmp_path))))["claims"].values()
    assert {"trials", "confidence", "implementation"}.isdisjoint(row)


@pytest.mark.parametrize(("row", "code", "expect", "epsilon", "problem", "says"), [
    ((False, 2.0), "fair", "", 2, None, ""),
    ((True, 2.0), "fair", "", 2, None, ""),
    ((False, 1.0), "fair", "", 2, "regressed", "it claimed epsilon = 1 in the baseline, and claims 2"),
    ((False, 0.5), "fair", 'expect = "refuted"\n', 0.5, "regressed", "it was not refuted in the baseline"),
    ((True, 0.5), "fair", 'expect = "refuted"\n', 0.5, None, ""),
    ((True, 2.0), "fair", 'expect = "refuted"\n', 2, "not as recorded", ""),
])  # fmt: skip
def test_a_target_is_compared_with_the_baseline(
    tmp_path: Path, row: tuple[bool, float], code: str, expect: str, epsilon: float, problem: str | None, says: str
) -> None:
    baseline(tmp_path, {}, {"code": {**CODE, "refuted": row[0], "epsilon": row[1]}})
    (found,) = run(tmp_path, f'trials = 3000\nbaseline = "baseline.json"\n{target(code, epsilon)}{expect}').findings
    assert found.problem == problem
    assert says in found.message


SOUND = """\
trials = {trials}
confidence = {confidence}
[[targets]]
id = "code"
callable = "{code}"
inputs = {inputs}
epsilon = 2
form = "{form}"
"""
AUDITED = {"trials": 3000, "confidence": 0.99, "code": "tests.broken_callables:constant", "inputs": [0, 1, 2], "form": "raw"}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The baseline of `AUDITED`."""
    return checking.baseline_of(run(tmp_path_factory.mktemp("audited"), SOUND.format(**AUDITED)))


@pytest.mark.parametrize(("change", "says"), [
    ({}, ""),
    ({"trials": 5000, "confidence": 0.999}, ""),
    ({"confidence": 0.9999}, "confidence = 0.99 in the baseline, and is now at 0.9999, which needs 2 times as many views"),
    ({"code": "tests.road.test_baseline:safe"}, "its callable was tests.broken_callables:constant in the baseline, and"),
    ({"inputs": [0, 1]}, "its inputs was 0, 1, 2 in the baseline, and is 0, 1"),
    ({"inputs": [0, 1, "2"]}, "its inputs was 0, 1, 2 in the baseline, and is 0, 1, '2'"),
    ({"form": "canonical"}, "its form was raw in the baseline, and is canonical"),
    ({"trials": 2999}, "its code was audited with trials = 3000 in the baseline, and is with 2999"),
    ({"confidence": 0.95}, "its code was audited with confidence = 0.99 in the baseline, and is with 0.95"),
])  # fmt: skip
def test_a_target_that_is_another_or_is_looked_at_less_is_a_regression(
    tmp_path: Path, audited: str, change: dict[str, object], says: str
) -> None:
    (tmp_path / "baseline.json").write_text(audited)
    compared(tmp_path, says, 'baseline = "baseline.json"\n' + SOUND.format(**AUDITED | change))


@pytest.mark.parametrize(("change", "says"), [
    ({}, ""),
    ({"trials": 500}, "its code was audited with trials = 1000 in the baseline, and is with 500"),
    ({"confidence": 0.9}, "its code was audited with confidence = 0.99 in the baseline, and is with 0.9"),
])  # fmt: skip
def test_fewer_views_of_a_deployments_code_are_a_regression(tmp_path: Path, change: dict[str, float], says: str) -> None:
    text = DEPLOYMENT.format(true=1, claimed=3).replace("k = 4", "k = 2").replace("(3 +", "(1 +")
    (tmp_path / "ours.toml").write_text(text + '[implementation]\ncallable = "tests.broken_callables:fair"\n')
    config = 'deployments = ["ours.toml"]\ntrials = {trials}\nconfidence = {confidence}\n'
    before = run(tmp_path, config.format(trials=1000, confidence=0.99))
    (tmp_path / "baseline.json").write_text(checking.baseline_of(before))
    given = {"trials": 1000, "confidence": 0.99} | change
    compared(tmp_path, says, 'baseline = "baseline.json"\n' + config.format(**given))


@pytest.mark.parametrize(("claims", "targets", "says"), [
    (None, None, "no baseline"), ({}, {}, "an empty baseline"), ({"ours/report": CLAIM}, {}, ""),
])  # fmt: skip
def test_the_summary_says_what_was_compared_with_nothing(tmp_path: Path, claims: object, targets: object, says: str) -> None:
    project(tmp_path, config='baseline = "baseline.json"\n' if claims is not None else "")
    if claims is not None:
        baseline(tmp_path, claims, targets)
    result = run(tmp_path)
    assert json.loads(GateFormat.json.write(result))["uncompared"] == says
    for each in (GateFormat.text, GateFormat.github, GateFormat.markdown):
        assert (f"; {says}" if says else "none failed") in each.write(result), each


@pytest.mark.parametrize(("claims", "says"), [
    ('{"a/b": {"verdict": "PROVED", "high": "nan"}}', "needs a decimal of 0 or more or 'inf' in quotes, or null, got 'nan'"),
    ('{"a/b": {"verdict": "PROVED", "high": "-1"}}', "high: needs"),
    ('{"a/b": {"verdict": "PROVED", "high": -1}}', "high: needs"),
    ('{"a/b": {"verdict": "PROVED", "high": true}}', "high: needs"),
    ('{"a/b": {"verdict": "PROVED", "high": NaN}}', "needs numbers, got NaN"),
    ('{"a/b": {"verdict": "PROVED", "high": Infinity}}', "needs numbers, got Infinity"),
    ('{"a/b": {"verdict": "PROVED", "high": 1e999}}', "needs numbers below 1.8e308, got 1e999"),
    ('{"a/b": {"verdict": "proved", "high": null}}', "needs one of REFUTED, UNDECIDED, ASSUMED, BOUNDED, PROVED, got 'proved'"),
    ('{"a/b": {"verdict": ["PROVED"], "high": null}}', "ASSUMED, BOUNDED, PROVED, got ['PROVED']"),
    ('{"a/b": {"verdict": "PROVED"}}', "high: needs a baseline that `ldpaudit check --update-baseline` wrote: is required"),
    (json.dumps({"a/b": {**CLAIM, "low": 0}}), "low: needs a baseline"),
    (json.dumps({"a/b": {**CLAIM, "unit": None}}), "unit: needs a baseline"),
    (json.dumps({"a/b": {**CLAIM, "implementation": "a:b"}}), "needs trials and confidence beside an implementation"),
    ('{"a/b": {"verdict": "PROVED", "high": "1"}, "a/b": {"verdict": "REFUTED", "high": "9"}}', "got 'a/b' twice"),
    ("[]", "claims: needs"),
    ("[" * 3000 + "]" * 3000, "at most 32"),
    ("[" * 100 + "]" * 100, "at most 32"),
    ("{}, ", "needs a baseline"),
])  # fmt: skip
def test_a_baseline_says_what_a_baseline_may_or_is_refused_in_a_line(tmp_path: Path, claims: str, says: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(f'{{"schema": "ldpaudit.baseline/1", "claims": {claims}}}')
    raises_a_line(DeploymentError, re.escape(says), read_baseline, file)


def test_a_baselines_infinite_bound_is_inf_and_its_schema_is_this_one(tmp_path: Path) -> None:
    baseline(tmp_path, {"a/b": {**CLAIM, "high": "inf"}, "c/d": {**CLAIM, "verdict": "UNDECIDED", "high": None}}, {})
    assert [row.high for row in read_baseline(tmp_path / "baseline.json").claims.values()] == [float("inf"), None]
    (tmp_path / "baseline.json").write_text('{"schema": "ldpaudit.baseline/9", "claims": {}}')
    raises(DeploymentError, "schema: needs a baseline", read_baseline, tmp_path / "baseline.json")


MOST = 65_536
"""Characters that a comment on GitHub may have."""


def finding(name: str, problem: str | None = None, was: str | None = None, now: str = "", reproduce: str = "run it") -> Finding:
    outcome = Outcome.REFUTED if problem == "refuted" else Outcome.PROVED
    return Finding(name, outcome, problem, f"about {name}", "a.toml", 1, reproduce, was=was, now=now)


def written(*findings: Finding, baseline: str | None = None, reuse: CacheUse | None = None) -> str:
    return GateFormat.markdown.write(Gate(findings, baseline, reuse))


def test_the_verdict_comes_first_and_is_that_of_the_exit_code() -> None:
    heads = {"failed": "refuted", "not everything was checked": "error", "a decision is missing": "undecided", "passed": None}
    for head, problem in heads.items():
        assert written(finding("a", problem)).startswith(f"### ldpaudit: {head}\n\n1 claims, ")


def test_what_changed_says_what_it_was_and_what_it_is() -> None:
    same, new = finding("same", was="X", now="X"), finding("new", was="", now="Z")
    page = written(same, finding("worse", was="X", now="Y"), new, baseline="b.json")
    changed = page.split("Changed against `b.json`:")[1].split("<details>")[0]
    assert [line for line in changed.splitlines() if line.startswith("|")][2:] == [
        "| worse | X | **Y** |", "| new | new | **Z** |",
    ]  # fmt: skip
    assert "Nothing changed against `b.json`." in written(same, baseline="b.json")
    assert "hanged" not in written(finding("a", now="X"))


def test_what_passes_is_folded_and_a_command_that_shows_several_stands_once() -> None:
    page = written(finding("good"), finding("bad", "refuted"))
    shown, folded = page.split("<details><summary>1 passed</summary>\n\n|")
    assert "| bad | **refuted** |" in shown
    assert "| good | PROVED |" in folded
    assert "good" not in shown
    page = written(finding("a", "gone"), finding("b", "gone"), finding("c", "refuted", reproduce="another"))
    assert "\n- a, b: `run it`\n- c: `another`\n" in page
    page = written(finding("a"), reuse=CacheUse(("old",), ("fresh",), ("fresh: its entry is cut",)))
    assert page.endswith("1 of 2 from the cache; done anew: fresh.\n\n- fresh: its entry is cut\n")
    assert "cache" not in written(finding("a"))


def test_nobody_is_called_and_a_summary_of_thousands_of_claims_says_what_it_leaves_out() -> None:
    """A comment is the build's, and an @name in it would reach people in its name."""
    page = written(finding("@everyone", "refuted", was="@a", now="@b"), baseline="b.json")
    assert "@<!-- -->everyone" in page
    assert "@everyone" not in page
    assert "@a" not in page
    many = [finding(f"claim {i}", "refuted" if i % 2 else None, "X" * 50, "Y" * 50, f"command {i}") for i in range(3000)]
    reuse = CacheUse((), tuple(f.id for f in many), tuple(f"{f.id}: {'x' * 100}" for f in many))
    page = written(*many, baseline="b.json", reuse=reuse)
    assert len(page) < MOST
    assert page.count(" more are in the build's log.") == 4
    assert "3000 claims, 1500 refuted." in page
