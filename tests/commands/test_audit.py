"""``ldpaudit audit``: what it prints, and how it ends."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from ldpaudit.evidence import UNREADABLE
from tests import broken_callables
from tests.helpers import fails_in_one_line, process, run, stdout, wait_until_gone


@pytest.fixture(autouse=True)
def _first_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test draws the same reports, whatever ran before it: a few others are told apart by chance."""
    monkeypatch.setattr(broken_callables, "_RNG", np.random.default_rng(1))


def test_audit_of_float_noise_gives_raw_and_canonical_reports_a_verdict_each() -> None:
    common = ("audit", "tests.broken_callables:plain_noise", "--inputs", "0.0", "1.0", "--trials", "6000", "--epsilon", "1")
    shown = stdout(run(*common), 1)
    assert "epsilon = 1 is REFUTED" in shown
    assert "floats rounded it is not refuted" in shown
    record = json.loads(run(*common, "--format", "json").stdout)
    assert record["refuted"]
    assert record["canonical"]["epsilon_lower"] <= 1 < record["epsilon_lower"]
    assert record["trials"] + record["canonical"]["trials"] == 6_000, "they share one budget"


def test_where_a_budget_leaves_too_few_views_the_answer_is_unknown_and_a_plan_knows_its_inputs() -> None:
    few = stdout(run("audit", "tests.broken_callables:identity", "--inputs", "0", "1", "--epsilon", "3", "--trials", "300"), 1)
    assert "floats rounded it is unknown: the" in few
    assert "views that are left are too few" in few
    done = run("audit", "tests.broken_callables:REPORT", "--inputs", "0", "9", "--epsilon", "1", "--trials", "500")
    fails_in_one_line(done, "an audit of a mechanism or plan chooses its inputs itself, got [0, 9]")


def test_a_bit_vector_is_refuted_in_canonical_form_too_unless_its_lists_are_said_to_be_sets() -> None:
    common = ("audit", "tests.broken_callables:one_hot", "--inputs", "0", "1", "--trials", "2000", "--epsilon", "1")
    assert "types (1 and 1.0 stay apart) and the order of sets dropped and floats rounded it is REFUTED too" in run(*common).stdout
    assert "the order of lists, arrays and sets dropped and floats rounded it is not refuted" in run(*common, "--sets").stdout
    record = json.loads(run(*common, "--sets", "--format", "json").stdout)
    assert record["unordered"]["epsilon_lower"] == 0 < 1 < record["epsilon_lower"]


def test_audit_refutes_a_false_claim_and_not_a_true_one_within_a_number_of_trials_or_a_time() -> None:
    common = ("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--trials", "5000")
    assert run(*common, "--epsilon", "log(3)+0.2").returncode == 0
    assert "REFUTED" in stdout(run(*common, "--epsilon", "0.5"), 1)
    common = ("--inputs", "0", "1", "--epsilon", "3", "--format", "json")
    done = run("audit", "tests.broken_callables:fair", *common, "--budget", "1s")
    (allowed,) = re.findall(r"1s allow ([\d,]+) trials", done.stderr)
    assert json.loads(done.stdout)["trials"] == int(allowed.replace(",", ""))


def test_without_a_claim_epsilon_is_measured_by_all_views() -> None:
    common = ("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--trials", "6000")
    assert stdout(run(*common)).startswith("tests.broken_callables:fair: measured\nepsilon >= ")
    record = json.loads(run(*common, "--format", "json").stdout)
    assert (record["refuted"], record["claimed"], record["trials"], record["mode"]) == (None, None, 6_000, "fixed")
    assert record["level"] > 0.9, "one look has nearly all of it"
    assert 0.8 < record["epsilon_lower"] <= math.log(3)
    fails_in_one_line(run(*common, "--estimate"), "--estimate with --epsilon")


@pytest.mark.slow
def test_an_estimate_is_measured_by_the_views_that_a_refutation_leaves() -> None:
    common = ("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--trials", "20000", "--estimate", "--epsilon")
    record = json.loads(run(*common, "0.5", "--format", "json").stdout)
    estimate = record["estimate"]
    assert record["refuted"]
    assert estimate["claimed"] is None
    assert sum(each["trials"] for each in (record, record["canonical"], estimate)) == 20_000
    assert record["epsilon_lower"] < 0.9 < estimate["epsilon_lower"] <= math.log(3)
    assert "views that were left show epsilon >= " in run(*common, "0.5").stdout
    sound = run(*common, "log(3)+0.2")
    assert sound.returncode == 0
    assert "no estimate: the bound is that of all views" in sound.stderr


def test_an_audit_keeps_what_code_prints_from_the_results_and_ends_the_program_that_it_started(tmp_path: Path) -> None:
    common = ("--inputs", "0", "1", "--trials", "500", "--epsilon", "3", "--format", "json")
    done = process("audit", "tests.broken_callables:chatty", *common)
    assert not json.loads(done.stdout)["refuted"]
    assert "debug 1" in done.stderr
    child = tmp_path / "child"
    (tmp_path / "stays.sh").write_text(f"sleep 60 & echo $! > {child}; while read -r x; do echo $x; done; wait\n")
    stdout(process("audit", f"exec:sh {tmp_path / 'stays.sh'}", "--inputs", "0", "1", "--epsilon", "1", "--trials", "500"), 1)
    wait_until_gone(int(child.read_text()))


def test_an_audit_that_found_no_event_says_so_and_promises_no_power() -> None:
    common = ("audit", "tests.broken_callables:hashed", "--inputs", "0", "1", "--trials", "3000", "--epsilon", "1")
    shown = stdout(run(*common))
    assert UNREADABLE in shown
    assert "power" not in shown
    assert json.loads(run(*common, "--format", "json").stdout)["resolution"] == UNREADABLE
    fair = run("audit", "tests.broken_callables:fair", "--inputs", "0", "1", "--trials", "3000", "--epsilon", "log(3)+0.2")
    assert "on this event alone, an epsilon of" in fair.stdout


def test_a_system_s_outputs_are_audited_on_two_data_sets_and_called_the_weaker_audit_that_they_are() -> None:
    common = ("audit", "--outputs", "--epsilon", "1", "--trials", "2000")
    shown = stdout(run(*common, "tests.broken_callables:silent_sum", "--inputs", "[0, 0, 1]", "[1, 0, 1]"), 1)
    assert "outputs only, a weaker audit than of the messages: " in shown
    record = json.loads(run(*common, "tests.broken_callables:noisy_sum", "--inputs", '{"0": 2, "1": 1}', '{"0": 1, "1": 2}',
                            "--format", "json").stdout)  # fmt: skip
    assert not record["refuted"]
    assert record["event"].startswith("outputs only")
    for target, inputs, says in (
        ("tests.broken_callables:silent_sum", ("[0]", "1"), "two data sets as --inputs"),
        ("exec:cat", ("[0]", "[1]"), "needs MODULE:ATTRIBUTE with run(data, rng)"),
    ):
        fails_in_one_line(run("audit", "--outputs", "--epsilon", "1", target, "--inputs", *inputs), says)


def test_one_run_of_a_system_is_audited_with_files_of_canaries_and_of_others(tmp_path: Path) -> None:
    values, pairs, others = (tmp_path / name for name in ("values.txt", "pairs.json", "others.txt"))
    values.write_text("".join(f"word {i}\n" for i in range(200)))
    pairs.write_text(json.dumps([[i, 1000 + i] for i in range(200)]))
    others.write_text("sun\n" * 300)
    common = ("audit", "--epsilon", "1", "--delta", "1e-5")
    open_book = run(*common, "tests.broken_callables:everybody", "--canaries", str(values), "--others", str(others))
    assert "200 of 200 guesses were right, on the count in the output of 200 canaries" in stdout(open_book, 1)
    options = ("--canaries", str(pairs), "--neighbours", "replace-one", "--format", "json")
    for target, refuted in (("tests.broken_callables:everybody", True), ("tests.broken_callables:noisy_sum", False)):
        done = run(*common, target, *options)
        record = json.loads(done.stdout)
        assert (done.returncode, record["refuted"], record["one_run"]) == (int(refuted), refuted, True)


def test_one_run_needs_canaries_and_nothing_that_is_for_many_runs(tmp_path: Path) -> None:
    values, table = tmp_path / "values.txt", tmp_path / "values.json"
    values.write_text("a\nb\n")
    table.write_text("[1, 2")
    common = ("audit", "tests.broken_callables:everybody", "--epsilon", "1")
    for options, says in (
        (("--others", str(values)), "--others with --canaries"),
        (("--canaries", str(values), "--trials", "100"), "does not need --trials"),
        (("--canaries", str(values), "--neighbours", "user-level"), "add-remove or replace-one"),
        (("--canaries", str(values), "--neighbours", "replace-one"), "pairs of values as canaries"),
        (("--canaries", str(table)), "a value per line, or a JSON list"),
        (("--canaries", str(tmp_path / "none")), "No such file"),
    ):
        fails_in_one_line(run(*common, *options), says)
