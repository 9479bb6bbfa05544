"""The gate as others call it: the action's own steps, the hook, and every command of docs/gate.md, in a scratch repository."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ldpaudit.certificates.attestation import PREDICATE
from tests.helpers import ROOT, fails_in_one_line, lay_out, stdout, within
from tests.road.test_baseline import CLAIM
from tests.road.test_gate import CHECK, DEPLOYMENT

yaml = pytest.importorskip("yaml", reason="action.yml is read with PyYAML, which the site's packages need")
PAGE = ROOT / "docs" / "gate.md"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
CONFIG = 'deployments = ["ours.toml"]\ntrials = 1000\nbaseline = "baseline.json"\n'

LDPAUDIT = shlex.join([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {CHECK}"])
SHIMS = {
    "ldpaudit": f'exec {LDPAUDIT} "$@"',
    "python": f'if [ "$1" = -m ]; then echo "$@" >> "$CALLED"; else exec {shlex.quote(sys.executable)} "$@"; fi',
    # Knows a comment of ours once it has been made; refuses where the token may not write.
    "gh": 'echo "$MARK $*" >> "$CALLED"\n[ ! -e "$HOME/forbidden" ] || exit 1\n'
    'case "$*" in *--paginate*) [ ! -e "$HOME/made" ] || printf "12\\n34\\n";; *POST*) touch "$HOME/made";; esac',
}
"""In place of programs that the tests do not have, or that would ask the network."""


INSTALL = "pre-commit install --hook-type pre-push"
FAIR = "import random\ndef randomize(x):\n    return x if random.random() < 0.7 else 1 - x\n"


class Scratch:
    """A repository of somebody's, with a runner's folders beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "repository", folder / "home"
        for each in (self.folder, self.home, folder / "bin"):
            each.mkdir()
        for name, text in SHIMS.items():
            (folder / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
            (folder / "bin" / name).chmod(0o755)
        self.called, self.output, self.page = (self.home / name for name in ("called", "output", "page"))
        self.environment = {
            **os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(self.home), "CALLED": str(self.called),
            "RUNNER_TEMP": str(self.home), "GITHUB_OUTPUT": str(self.output), "GITHUB_STEP_SUMMARY": str(self.page),
            "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_REPOSITORY": "some/where",
        }  # fmt: skip
        self.write(claimed=1)
        (self.folder / "ldpaudit.toml").write_text(CONFIG)
        (self.folder / "baseline.json").write_text(json.dumps({"schema": "ldpaudit.baseline/1", "claims": {"ours/report": CLAIM}}))
        self.git("init", "-q")
        self.commit()

    def write(self, true: float = 1, claimed: float = 1) -> None:
        (self.folder / "ours.toml").write_text(DEPLOYMENT.format(true=true, claimed=claimed))

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
        done = subprocess.run(["git", *who, *arguments], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "a change")

    def shell(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment | environment, capture_output=True, text=True, check=False, timeout=300
        )

    def step(self, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """A step of the action, as a runner takes it."""
        given = {key: each["default"] for key, each in ACTION["inputs"].items()} | inputs
        values = {f"inputs.{key}": value for key, value in given.items()}
        values |= {"github.event.pull_request.number": "7", "github.token": "secret"}
        filled = {key: re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda found: values[found[1]], text)
                  for key, text in STEPS[name].get("env", {}).items()}  # fmt: skip
        return self.shell(STEPS[name]["run"], **filled)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def test_the_action_installs_its_own_checkout_and_says_where_it_may_not_comment_or_has_no_summary(scratch: Scratch) -> None:
    """A name alone may be anybody's."""
    assert scratch.step("Install").returncode == 0
    assert scratch.step("Install", version="./a b.whl").returncode == 0
    assert scratch.called.read_text() == f"-m pip install --quiet {ROOT}\n-m pip install --quiet ./a b.whl\n"
    assert scratch.output.read_text().startswith(f"python={sys.version.split()[0]}\n")
    (scratch.home / "forbidden").touch()
    (scratch.home / "ldpaudit.md").write_text("### ldpaudit: passed\n")
    done = scratch.step("Comment", comment="true")
    assert (done.returncode, done.stdout[:28]) == (0, "::notice::ldpaudit cannot co")
    (scratch.home.parent / "bin" / "ldpaudit").write_text('#!/bin/bash\necho "$@" >> "$CALLED"\nexit 2\n')
    assert scratch.step("Check", folder="nowhere", cache="false").returncode == 2
    assert "check nowhere --format github" in scratch.called.read_text()
    assert "--no-cache" in scratch.called.read_text()
    assert scratch.page.read_text() == "### ldpaudit: nothing was checked\n\nThe build log says why.\n"


def test_a_change_that_breaks_a_claim_fails_the_action_and_says_so_in_the_pull_request(scratch: Scratch) -> None:
    scratch.write(true=2)
    shown = stdout(scratch.step("Check", sarif="findings.sarif"), 1)
    assert shown.startswith("::error file=ours.toml,line=8,title=ours/report refuted::")
    assert (scratch.folder / "findings.sarif").exists()
    page = scratch.page.read_text()
    assert page.startswith("### ldpaudit: failed\n\n1 claims, 1 refuted.\n\nChanged against `baseline.json`:\n")
    assert "| ours/report | PROVED, epsilon &lt;= 1 | **REFUTED, epsilon &lt;= 2** |" in page
    assert "- ours/report: `ldpaudit certify ours.toml --seed 0 --trials 1000 --confidence 0.999`" in page
    assert "0 of 1 from the cache; done anew: ours.toml." in page
    assert list(scratch.folder.glob(".ldpaudit-cache")) == []
    assert len(list((scratch.home / ".cache/ldpaudit-gate").glob("*.json"))) == 1
    assert scratch.git("status", "--porcelain") == " M ours.toml\n?? findings.sarif\n"

    for _ in range(2):
        assert scratch.step("Comment", comment="true").returncode == 0
    assert (scratch.home / "ldpaudit-comment.md").read_text() == f"<!-- ldpaudit . -->\n{page}"
    assert 'select(.user.login == "github-actions[bot]" and (.body | startswith(env.MARK)))' in scratch.called.read_text()
    made = [line for line in scratch.called.read_text().splitlines() if "--method" in line]
    body = f"-F body=@{scratch.home}/ldpaudit-comment.md"
    assert made == [
        f"<!-- ldpaudit . --> api --silent --method POST repos/some/where/issues/7/comments {body}",
        f"<!-- ldpaudit . --> api --silent --method PATCH repos/some/where/issues/comments/12 {body}",
    ]


def test_only_a_push_to_the_default_branch_saves_a_cache_and_all_restore_the_same_places() -> None:
    save, restore = STEPS["Save"], STEPS["Restore"]
    assert "github.event_name == 'push'" in save["if"]
    assert "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)" in save["if"]
    assert save["with"] == {key: value for key, value in restore["with"].items() if key != "restore-keys"}
    assert restore["with"]["key"].startswith(restore["with"]["restore-keys"])
    assert restore["uses"].startswith("actions/cache/restore@")
    assert "github.workspace" not in restore["with"]["path"]
    order = list(STEPS)
    assert order.index("Restore") < order.index("Check") < order.index("Save")
    assert "github.event_name == 'pull_request'" in STEPS["Comment"]["if"]


def fenced(kind: str) -> list[str]:
    """The page's blocks of a language."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_page_shows_inputs_that_the_action_has_and_the_hook_that_there_is() -> None:
    action, (_, attest), *hooks = map(yaml.safe_load, fenced("yaml"))
    assert attest["with"]["predicate-type"] == PREDICATE
    (ours,) = [step for step in action["jobs"]["gate"]["steps"] if "ldpaudit" in step["uses"]]
    assert set(ours["with"]) <= set(ACTION["inputs"])
    assert action["permissions"]["pull-requests"] == "write"
    repository, local = (each["repos"][0] for each in hooks)
    assert repository["hooks"][0]["id"] == HOOK["id"]
    assert "additional_dependencies" in repository["hooks"][0]
    assert {key: value for key, value in local["hooks"][0].items() if key != "additional_dependencies"} == {
        key: HOOK[key] for key in ("id", "name", "entry", "language", "pass_filenames", "always_run", "stages")
    }
    for name in ACTION["inputs"]:
        assert f"| `{name}` |" in PAGE.read_text(), name


def test_the_hook_checks_a_push_that_only_deletes(scratch: Scratch) -> None:
    """Nothing is left to match a pattern of files: it runs always."""
    assert (HOOK["always_run"], HOOK["pass_filenames"], HOOK["stages"]) == (True, False, ["pre-push"])
    scratch.git("rm", "-q", "ours.toml")
    program, *arguments = shlex.split(HOOK["entry"])
    assert program == "ldpaudit"
    fails_in_one_line(within(scratch.folder, *arguments), "needs a file that matches 'ours.toml', got none")


@pytest.mark.slow
def test_every_command_of_the_page_ends_as_the_page_says(scratch: Scratch) -> None:
    """In a repository with the page's configuration, one after the other; pre-commit's command is run by a slow test."""
    (configuration,) = fenced("toml")
    lay_out(scratch.folder, {"ldpaudit.toml": f"trials = 1000\n{configuration}", "ours/randomizer.py": FAIR})
    (scratch.folder / "privacy").mkdir()
    (scratch.folder / "ours.toml").rename(scratch.folder / "privacy" / "ours.toml")
    lines = [line for block in fenced("sh") for line in block.splitlines()]
    assert [line for line in lines if not line.startswith("ldpaudit ")] == [INSTALL]
    for line in lines:
        if line != INSTALL:
            command, _, comment = line.partition("#")
            code = int(found[1]) if (found := re.search(r"exit code (\d)", comment)) else 0
            done = within(scratch.folder, *shlex.split(command)[1:])
            assert done.returncode == code, (line, done.stdout + done.stderr)
    assert {"summary.md", "findings.sarif", "junit.xml"} <= {path.name for path in scratch.folder.iterdir()}


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout")
def test_the_action_installs_a_checkout_without_asking_for_a_name(scratch: Scratch) -> None:
    place, checkout = scratch.home / "site", scratch.home / "checkout"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(checkout)], check=True)  # a build leaves files where it builds
    (scratch.home.parent / "bin" / "python").write_text(f'#!/bin/bash\nexec {shlex.quote(sys.executable)} "$@"\n')
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_TARGET": str(place)}
    stdout(scratch.shell(STEPS["Install"]["run"], VERSION="", GITHUB_ACTION_PATH=str(checkout), **offline))
    assert (place / "ldpaudit" / "accountants" / "__init__.py").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pre-commit") is None, reason="needs pre-commit")
def test_pre_commit_runs_the_hook(scratch: Scratch) -> None:
    assert scratch.shell(HOOK["entry"]).returncode == 0
    assert scratch.shell(INSTALL).returncode == 0
    hook = f"pre-commit try-repo {shlex.quote(str(ROOT))} ldpaudit --hook-stage pre-push --all-files --verbose"
    assert "none failed" in stdout(scratch.shell(hook))
