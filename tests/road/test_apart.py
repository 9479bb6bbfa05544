"""Code in a process of its own takes nothing with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ldpaudit.apart import Crew, Task
from ldpaudit.errors import ImplementationError, LdpauditError
from tests.helpers import ROOT
from tests.road.test_gate import CHECK, project


def task(function: object, *arguments: object, patience: float | None = 60.0) -> Task:
    return Task("ours", function, arguments, patience)  # type: ignore[arg-type]


def ends(code: int) -> None:
    os._exit(code)


def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def says(text: str) -> str:
    os.write(1, b"not an answer\n")
    print("nor this")
    return text + sys.stdin.read()


def refuses() -> None:
    raise ValueError("needs two\nlines")


def divides() -> float:
    return 1 / 0


def leaves_a_child_that_holds_the_pipes() -> None:
    if os.fork():
        os._exit(7)
    os.setsid()
    time.sleep(10)


def writes_everywhere() -> None:
    for descriptor in range(3, 64):
        with suppress(OSError):
            os.write(descriptor, b"not an answer")
    time.sleep(60)


def test_what_returns_is_returned_whatever_it_prints_and_reads() -> None:
    with Crew() as crew:
        assert crew.do(task(says, "this")) == "this"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (task(ends, 0), "ours: its process ended with exit code 0 before it answered"),
        (task(dies), "ours: its process was ended by SIGKILL before it answered"),
        (task(leaves_a_child_that_holds_the_pipes), "ours: its process ended with exit code 7 before it answered"),
        (task(writes_everywhere), "ours: its process broke the pipe before it answered"),
        (task(time.sleep, 60, patience=1.0), "ours: needs an answer within 1 s, got none: it hangs"),
    ],
)
def test_a_process_that_ends_or_hangs_is_an_error_that_names_the_task(asked: Task, message: str) -> None:
    with Crew() as crew, pytest.raises(ImplementationError) as caught:
        crew.do(asked)
    assert str(caught.value) == message


def test_what_is_raised_is_one_line_and_a_fault_of_ours_says_so() -> None:
    with Crew() as crew:
        refused, divided = crew.each([task(refuses), task(divides)])
    assert str(refused) == "ours: needs two lines"
    assert str(divided).startswith("ours: a fault of ldpaudit's: ZeroDivisionError: division by zero (")
    assert isinstance(refused, LdpauditError)


def test_answers_come_in_the_order_of_the_tasks_and_one_that_dies_costs_its_own_only() -> None:
    asked = [task(time.sleep, 0.5, patience=None), task(dies, patience=None), task(abs, -3, patience=None)]
    with Crew(2) as crew:
        slept, died, three = crew.each(asked)
    assert (slept, three) == (None, 3)
    assert "SIGKILL" in str(died)


def test_a_users_code_gets_a_process_that_did_nothing_before_and_others_share_one() -> None:
    with Crew() as crew:
        ours, again, foreign = (crew.do(task(os.getpid, patience=p)) for p in (None, None, 60.0))
        other = crew.do(task(os.getpid, patience=60.0))
    assert ours == again
    assert len({ours, foreign, other, os.getpid()}) == 4


ORPHANS = """\
import os, sys, time
from ldpaudit.apart import Crew, Task
with Crew(2) as crew:
    print(*crew.each([Task("pid", os.getpid, ())] * 1), flush=True)
    list(crew.each([Task("sleep", time.sleep, (60,))] * 2))
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_worker_ends_with_the_process_that_started_it(sent: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.send_signal(sent)
    parent.communicate(timeout=10)
    wait_until_gone(worker)


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 5
    while _runs(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("option", [(), ("--no-import",)])
def test_a_module_of_the_folder_that_has_a_librarys_name_is_not_taken_for_it(tmp_path: Path, option: tuple[str, ...]) -> None:
    """What is imported here only when it is needed would be the folder's, and end the build green."""
    project(tmp_path, true=2)
    for name in ("sympy", "mpmath", "sklearn", "statistics"):
        (tmp_path / f"{name}.py").write_text("import os\nos._exit(0)\n")
    command = [sys.executable, "-c", f"import sys; sys.path[:] = [{str(ROOT)!r}, *filter(None, sys.path)]\n{CHECK}"]
    done = subprocess.run([*command, "check", str(tmp_path), *option], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "refuted" in done.stdout) == (1, True), done.stderr
