"""The command line: what it prints, where, and how it ends."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ldpaudit import cli
from ldpaudit.cli import spread
from ldpaudit.report.files import write_whole
from tests.helpers import ROOT

ENPA = "deployments/enpa-notification.toml"
QUICK = ("--trials", "2000", "--jobs", "1")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ldpaudit", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def fails_in_one_line(done: subprocess.CompletedProcess[str], says: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert says in done.stderr


def test_certify_prints_verdicts_and_counts_in_80_columns(tmp_path: Path) -> None:
    done = run("certify", ENPA, "deployments/attribution-event.toml", *QUICK, "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.rstrip().endswith("All came out as recorded.")
    assert "1 of 2 claims hold, 1 do not" in done.stdout
    assert {p.name for p in tmp_path.iterdir()} == {
        f"{name}.{kind}" for name in ("enpa-notification", "attribution-event") for kind in ("json", "html")
    }
    verified = run("verify", str(tmp_path / "enpa-notification.json"))
    assert verified.returncode == 0
    assert "stands" in verified.stdout


def test_json_is_all_that_standard_output_gets() -> None:
    done = run("certify", ENPA, *QUICK, "--format", "json")
    (certificate,) = json.loads(done.stdout)
    assert certificate["verdict"] == "REFUTED"


def test_a_claim_refuted_without_record_or_against_it_ends_with_1(tmp_path: Path) -> None:
    text = (ROOT / ENPA).read_text()
    for name, changed in (
        ("none", text.replace('expect = "refuted"', "")),
        ("holds", text.replace('"refuted"', '"holds"')),
    ):
        (tmp_path / f"{name}.toml").write_text(changed)
        assert run("certify", str(tmp_path / f"{name}.toml"), *QUICK).returncode == 1


def test_an_undecided_claim_ends_with_3_where_a_decision_is_required(tmp_path: Path) -> None:
    text = (ROOT / "deployments/apple-lookup-hints.toml").read_text().replace('expect = "undecided"', "")
    (tmp_path / "d.toml").write_text(text)
    assert run("certify", str(tmp_path / "d.toml"), *QUICK).returncode == 0
    assert run("certify", str(tmp_path / "d.toml"), *QUICK, "--require-decision").returncode == 3


def test_account_answers_with_an_enclosure() -> None:
    done = run("account", "randomized_response", "k=3", "epsilon=1", "--format", "json")
    answer = json.loads(done.stdout)
    assert answer["low"] <= 1 <= answer["high"]
    assert answer["rigour"] == "EXACT"
    assert "delta(epsilon=0.5)" in run("account", "randomized_response", "k=3", "epsilon=1", "--epsilon", "1/2").stdout


def test_account_says_how_far_the_ends_of_what_is_not_exact_are_apart() -> None:
    common = ("account", "randomized_response", "k=5", "epsilon=1", "--shuffle", "100")
    shown = run(*common, "--delta", "1e-6").stdout.splitlines()[1]
    answer = json.loads(run(*common, "--delta", "1e-6", "--format", "json").stdout)
    assert answer["rigour"] == "INTERVAL"
    (ratio,) = re.findall(r"INTERVAL, high/low = ([0-9.]+)$", shown)
    assert 0 <= float(ratio) - answer["high"] / answer["low"] < 1e-5
    assert "high/low" not in run("account", "randomized_response", "k=5", "epsilon=1").stdout


def test_account_says_whether_a_claim_is_kept() -> None:
    common = ("account", "randomized_response", "k=2", "p=3/4", "--shuffle", "1000")
    assert "(0.5, 1e-06) is kept" in run(*common, "--epsilon", "1/2", "--delta", "1e-6").stdout
    assert "(0.1, 1e-06) is not kept" in run(*common, "--epsilon", "1/10", "--delta", "1e-6").stdout
    answer = json.loads(run(*common, "--epsilon", "1/10", "--delta", "1e-6", "--format", "json").stdout)
    assert answer["kept"] is False


def test_account_draws_users() -> None:
    shuffled = run("account", "randomized_response", "k=2", "p=3/4", "--shuffle", "100", "--subsample", "1000", "--delta", "1e-6")
    assert shuffled.stdout.startswith("Subsample(Shuffle(")
    done = run("account", "randomized_response", "k=2", "p=3/4", "--subsample", "1000", "--format", "json")
    assert json.loads(done.stdout)["high"] == pytest.approx(math.log1p(0.002))


def test_audit_of_float_noise_gives_raw_and_canonical_reports_a_verdict_each() -> None:
    common = ("audit", "tests.broken_callables:plain_noise", "--inputs", "0.0", "1.0", "--trials", "20000", "--epsilon", "1")
    done = run(*common)
    assert done.returncode == 1
    assert "epsilon = 1 is REFUTED" in done.stdout
    assert "floats rounded it is not refuted" in done.stdout
    record = json.loads(run(*common, "--format", "json").stdout)
    assert record["refuted"]
    assert record["canonical"]["epsilon_lower"] <= 1 < record["epsilon_lower"]


def test_audit_refutes_a_false_claim_and_not_a_true_one() -> None:
    common = ("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--trials", "20000")
    assert run(*common, "--epsilon", "log(3)+0.2").returncode == 0
    refuted = run(*common, "--epsilon", "0.5")
    assert refuted.returncode == 1
    assert "REFUTED" in refuted.stdout


def test_prove_and_mechanisms_list_every_stem() -> None:
    from ldpaudit.mechanisms import stems

    for command in ("prove", "mechanisms"):
        done = run(command)
        assert done.returncode == 0, done.stderr
        for stem in stems():
            assert re.search(rf"^{stem}\b", done.stdout, re.MULTILINE), f"{command}: {stem}"
        assert json.loads(run(command, "--format", "json").stdout)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("certify", "nothing.toml"), "nothing.toml: needs a readable file"),
        (("certify", "README.md"), "needs TOML"),
        (("certify", "docs"), "needs deployment files"),
        (("account", "randomised", "k=2"), "kind: needs one of"),
        (("account", "randomized_response", "k=2"), "needs (k, p) or (epsilon, k) or (rho, k), got (k)"),
        (("account", "randomized_response", "k=two", "p=1/2"), "k: needs a number"),
        (("account", "randomized_response", "k=2", "p=2"), "1/k <= p < 1, got p=2"),
        (("account", "randomized_response", "k2"), "key=value, got 'k2'"),
        (("account", "randomized_response", "k=2", "epsilon=1", "--delta", "1"), "0 <= delta < 1, got"),
        (("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--epsilon", "one"), "got 'one'"),
        (("audit", "tests.broken_callables:fair", "--inputs", "0", "--epsilon", "1"), "two inputs"),
        (("audit", "tests.broken_callables:none", "--inputs", "0", "1", "--epsilon", "1"), "cannot import"),
        (("audit", "nowhere", "--inputs", "0", "1", "--epsilon", "1"), "MODULE:CALLABLE"),
        (("audit", "tests.broken_callables:raises", "--inputs", "0", "1", "--epsilon", "1"), "raised RuntimeError"),
        (("audit", "tests.broken_callables:returns_nothing", "--inputs", "0", "1", "--epsilon", "1"), "got None"),
        (("audit", "tests.broken_callables:wrong_type", "--inputs", "0", "1", "--epsilon", "1"), "object"),
        (("audit", "tests.broken_callables:hangs", "--inputs", "0", "1", "--epsilon", "1"), "hangs"),
        (("audit", "tests.broken_callables:ends", "--inputs", "0", "1", "--epsilon", "1"), "raised SystemExit"),
        (("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--epsilon", "1e400"), "above 1e308"),
        (("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--epsilon", "1", "--delta", "2"), "got 2.0"),
        (("audit", "tests.broken_callables:fair", "--epsilon", "1", "--budget", "60"), "such as 60s, 5m or 1h, got '60'"),
        (("audit", "tests.broken_callables:fair", "--epsilon", "1", "--budget", "9s", "--trials", "500"), "got both"),
        (("audit", "log:tests/data/nothing.csv", "--epsilon", "1", "--users", "2"), "needs --users 1, got 2"),
        (("prove", "nothing"), "needs stems among"),
        (("verify", "README.md"), "needs a certificate in JSON"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], says: str) -> None:
    fails_in_one_line(run(*arguments), says)


def test_inputs_may_be_given_in_one_go() -> None:
    arguments = ["audit", "m:f", "--inputs", "0", "-1", "--epsilon", "1", "--inputs", "2"]
    assert spread(arguments) == [
        "audit", "m:f", "--inputs", "0", "--inputs", "-1", "--epsilon", "1", "--inputs", "2"
    ]  # fmt: skip


def test_every_number_may_be_an_input() -> None:
    assert spread(["--inputs", "-.5", "-1e3", "--seed", "1"]) == ["--inputs", "-.5", "--inputs", "-1e3", "--seed", "1"]


def test_what_audited_code_prints_is_not_among_the_results() -> None:
    common = ("--inputs", "0", "1", "--trials", "500", "--epsilon", "3", "--format", "json")
    done = run("audit", "tests.broken_callables:chatty", *common)
    assert not json.loads(done.stdout)["refuted"]
    assert "debug 1" in done.stderr


def test_an_audit_may_be_given_a_time() -> None:
    common = ("--inputs", "0", "1", "--epsilon", "3", "--format", "json")
    done = run("audit", "tests.broken_callables:fair", *common, "--budget", "1s")
    (allowed,) = re.findall(r"1s allow ([\d,]+) trials", done.stderr)
    assert json.loads(done.stdout)["trials"] == int(allowed.replace(",", ""))


def test_an_audit_ends_the_program_that_it_started(tmp_path: Path) -> None:
    child = tmp_path / "child"
    (tmp_path / "stays.sh").write_text(f"sleep 60 & echo $! > {child}; while read -r x; do echo $x; done; wait\n")
    done = run("audit", f"exec:sh {tmp_path / 'stays.sh'}", "--inputs", "0", "1", "--epsilon", "1", "--trials", "500")
    assert done.returncode == 1, done.stderr
    state = subprocess.run(["ps", "-o", "stat=", "-p", child.read_text()], capture_output=True, text=True, check=False)
    assert state.stdout.strip()[:1] in ("", "Z")


def test_a_fault_of_ours_does_not_end_as_a_refuted_claim(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def fault(arguments: list[str]) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(cli, "app", fault)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "ZeroDivisionError: ours" in capsys.readouterr().err


def test_the_readme_shows_every_command() -> None:
    readme = (ROOT / "README.md").read_text()
    listed = set(re.findall(r"^ldpaudit (\w+)", readme, re.MULTILINE))
    commands = set(re.findall(r"^│ (\w+) ", run("--help").stdout, re.MULTILINE))
    assert commands == listed


def test_what_is_written_may_be_read_by_whom_any_new_file_may(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_whole(tmp_path / "certificate.json", "{}")
    assert (tmp_path / "certificate.json").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert sorted(p.name for p in tmp_path.iterdir()) == ["certificate.json", "other"]
