"""How commands end: with 1 only where a claim is refuted; a reader that has gone, or a signal, says nothing of a claim."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers import ROOT, SOON, number_in, process, slow, some, wait_until_gone

COMMANDS = [
    ("--help",),
    ("audit", "tests.broken_callables:identity", "--inputs", "0", "1", "--epsilon", "0.1", "--trials", "500"),
    slow(("mechanisms",)), slow(("mechanisms", "--format", "json")), slow(("prove", "randomized_response")),
]  # fmt: skip
"""By typer, and in a process of its own; by rich, line by line, and at once."""


def started(*arguments: str, out: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ldpaudit", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.PIPE, text=True)


@pytest.mark.few(1)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_results_that_nobody_reads_end_quietly_as_a_closed_pipe_does(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with started(*arguments, out=writer) as command:
        os.close(writer)
        _, err = command.communicate(timeout=60)
    assert (command.returncode, err) == (128 + signal.SIGPIPE, "")


def test_results_come_out_as_they_did_and_where_they_cannot_are_no_verdict(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as out:
        assert started("mechanisms", out=out.fileno()).communicate()[1] == ""
    assert (tmp_path / "out").read_text() == process("mechanisms").stdout != ""  # to a file and to a pipe
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "ldpaudit", "account", "randomised", "k=2"]
    assert subprocess.run(command, cwd=ROOT, stdout=writer, stderr=writer, check=False, timeout=60).returncode == 2
    os.close(writer)
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    with full.open("w") as out, started("mechanisms", out=out.fileno()) as listing:
        _, err = listing.communicate(timeout=60)
    assert (listing.returncode, "No space left" in err) == (2, True)


def test_an_audit_ends_with_the_process_that_waits_for_it(tmp_path: Path) -> None:
    script, file = tmp_path / "slow.py", tmp_path / "child"
    script.write_text(f"import os, time\nopen({str(file)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n")
    target = f"exec:{sys.executable} {script}"
    with started("audit", target, "--inputs", "0", "1", "--epsilon", "1", out=subprocess.DEVNULL) as command:
        child = number_in(file)
        command.kill()
        command.communicate(timeout=SOON)  # returns when the one who audited is gone too
    wait_until_gone(child)


def test_no_alarm_is_left_when_a_command_has_ended_that_was_asked_to() -> None:
    asked = "os.kill(os.getppid(), signal.SIGTERM) or time.sleep(60)"
    code = f"import os, signal, time\nfrom ldpaudit.commands.ending import supervised\nprint(supervised(lambda: {asked}, print))"
    command = [sys.executable, "-c", f"{code}\nprint(signal.getitimer(signal.ITIMER_REAL))"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == [str(128 + signal.SIGTERM), "(0.0, 0.0)"]


@pytest.mark.parametrize(("form", "number"), [
    ("text", signal.SIGTERM), ("json", signal.SIGINT), slow("text", signal.SIGINT), slow("json", signal.SIGTERM),
])  # fmt: skip
def test_a_refutation_is_told_when_it_is_reached_and_stands_when_the_audit_is_stopped(number: int, form: str) -> None:
    target = "tests.misbehaving_callables:type_shown"
    common = ("audit", target, "--inputs", "0", "1", "--epsilon", "1", "--trials", "1e8", "--format", form)
    with started(*common, out=subprocess.PIPE) as command:
        assert "epsilon = 1 is REFUTED" in some(command.stdout if form == "text" else command.stderr).readline()
        assert command.poll() is None
        command.send_signal(number)
        out, err = command.communicate(timeout=SOON)
    assert command.returncode == 1
    assert f"unknown: it was stopped by {signal.Signals(number).name}" in (out if form == "text" else err)
    if form == "json":
        record = json.loads(out)
        assert record["refuted"]
        assert record["canonical"] is None


@pytest.mark.parametrize(("code", "told", "ends"), [
    slow("type_shown_to_the_deaf", "REFUTED", 1),
    ("never_comes_back_to_python", "begun\n", 128 + signal.SIGTERM),
])  # fmt: skip
def test_code_that_does_not_hear_a_signal_is_ended_by_force_and_a_refutation_stands(code: str, told: str, ends: int) -> None:
    target = f"tests.misbehaving_callables:{code}"
    with started("audit", target, "--inputs", "0", "1", "--epsilon", "1", out=subprocess.PIPE) as command:
        assert told in some(command.stdout if ends == 1 else command.stderr).readline()
        time.sleep(0.2)  # until it sleeps
        command.send_signal(signal.SIGTERM)
        command.communicate(timeout=SOON)
    assert command.returncode == ends
