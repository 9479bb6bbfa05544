"""Code in a process of its own takes nothing with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean as mean  # loaded, as by a library

import pytest

import ldpaudit
from ldpaudit.adapters.callables import resolve
from ldpaudit.errors import ImplementationError, LdpauditError
from ldpaudit.workers.worker_processes import Crew, Task
from tests.helpers import ROOT, lay_out, python, raises, some, stdout, wait_until_gone
from tests.road import worker_calls
from tests.road.test_gate import CHECK, project


def task(function: object, *arguments: object, patience: float | None = 60.0, pickled: bool = False) -> Task:
    return Task("ours", function, arguments, patience, pickled)  # type: ignore[arg-type]


class Ends:
    """Unpickled, it ends whoever reads it, as if all were well."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (0,)


def test_an_answer_of_audited_code_is_read_as_data_and_can_do_nothing_to_who_reads_it() -> None:
    code = "import pickle\nfrom tests.road.test_worker_processes import *\n"
    code += "asked = task(worker_calls.answers_with, pickle.dumps(('returned', Ends())))\n"
    code += "with Crew() as crew:\n    print(type(next(iter(crew.each([asked])))).__name__)\n"
    assert python("-c", code).stdout == "ImplementationError\n"


def test_what_returns_is_no_object_of_audited_code_whatever_it_prints_and_reads() -> None:
    with Crew() as crew:
        assert crew.do(task(Path, "a", patience=None, pickled=True)) == Path("a")
        assert crew.do(task(divmod, 7, 2)) == [3, 1]
        raises(LdpauditError, "Path is not JSON serializable", crew.do, task(Path, "a"))
    with Crew() as crew:
        assert crew.do(task(worker_calls.says, "this")) == "this"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux shows whose environment holds what")
def test_what_audited_code_started_ends_with_it_in_whatever_session(tmp_path: Path) -> None:
    with Crew() as crew:
        crew.do(task(worker_calls.leaves_a_daemon, str(tmp_path / "pid")))
        wait_until_gone(int((tmp_path / "pid").read_text()))


PACKAGE = {
    "ldpaudit/__init__.py": "",
    "ldpaudit/workers/worker_processes.py": "import os\ndef serve(*_):\n    os._exit(0)\n",
    "queue.py": "import time\ntime.sleep(1000)\n",
    "json.py": "import os\nos._exit(0)\n",
}


def test_a_local_package_of_our_name_or_a_local_module_of_pythons_replaces_none_of_ours(tmp_path: Path) -> None:
    lay_out(tmp_path, PACKAGE)
    with Crew(first=[str(tmp_path)]) as crew:
        assert crew.do(task(worker_calls.our_file)) == str(Path(ldpaudit.__file__))


@pytest.mark.slow
def test_code_whose_module_has_the_name_of_one_that_is_loaded_is_not_mistaken_for_it(tmp_path: Path) -> None:
    lay_out(tmp_path, {"statistics.py": "def mean(x):\n    return x\n", "time.py": "def sleep(x):\n    return x\n"})
    with Crew(first=[str(tmp_path)]) as crew:
        for name in ("statistics:mean", "time:sleep"):
            raises(LdpauditError, rf"needs a module with a unique name, got .* at {tmp_path}", crew.do, task(resolved, name))


def resolved(name: str) -> None:
    resolve(name)


@pytest.mark.few(6)
@pytest.mark.parametrize(("asked", "message"), [
    (task(os._exit, 0), "ours: its process ended with exit code 0 before it answered"),
    (task(worker_calls.dies), "ours: its process was ended by SIGKILL before it answered"),
    (task(worker_calls.leaves_a_child_that_holds_the_pipes), "ours: its process ended with exit code 7 before it answered"),
    (task(time.sleep, 60, patience=1.0), "ours: needs an answer within 1 s, got none: it hangs, or takes longer"),
    *((task(worker_calls.answers_with, answer), "ours: its process broke the pipe before it answered") for answer in (
        b"not an answer", b'["returned", ' + b"[" * 50_000 + b"\n", b'{"a": 1}\n', b'["returned"]\n', b"[[], 1]\n", b"\n", b"1\n")),
])  # fmt: skip
def test_a_process_that_ends_hangs_or_gives_no_answer_is_an_error_that_names_the_task(asked: Task, message: str) -> None:
    with Crew() as crew:
        assert str(raises(ImplementationError, None, crew.do, asked)) == message


def test_what_is_raised_is_one_line_and_a_fault_of_ours_says_so() -> None:
    with Crew() as crew:
        refused, divided = crew.each([task(worker_calls.refuses), task(worker_calls.divides)])
    assert str(refused) == "ours: needs two lines"
    assert str(divided).startswith("ours: internal error of ldpaudit, please report it: ZeroDivisionError: division by zero (")
    assert isinstance(refused, LdpauditError)


def test_answers_come_in_the_order_of_the_tasks_and_one_that_dies_costs_its_own_only() -> None:
    asked = [task(time.sleep, 0.5, patience=None), task(worker_calls.dies, patience=None), task(abs, -3, patience=None)]
    with Crew(2) as crew:
        slept, died, three = crew.each(asked)
    assert (slept, three) == (None, 3)
    assert "SIGKILL" in str(died)


def test_a_users_code_gets_a_process_that_did_nothing_before_and_others_share_one() -> None:
    with Crew() as crew:
        ours, again, foreign = (crew.do(task(os.getpid, patience=p)) for p in (None, None, 60.0))
        other = crew.do(task(os.getpid, patience=60.0))
    assert (ours, len({ours, foreign, other, os.getpid()})) == (again, 4)


ORPHANS = """\
import os, sys, time
from ldpaudit.workers.worker_processes import Crew, Task
with Crew(2) as crew:
    print(*crew.each([Task("pid", os.getpid, ())] * 1), flush=True)
    list(crew.each([Task("sleep", time.sleep, (60,))] * 2))
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_worker_ends_with_the_process_that_started_it(sent: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT)
    worker = int(some(parent.stdout).readline())
    parent.send_signal(sent)
    parent.communicate(timeout=10)
    wait_until_gone(worker)


@pytest.mark.slow
@pytest.mark.parametrize("option", [pytest.param((), marks=pytest.mark.slow), ("--no-import",)])
def test_a_module_of_the_folder_that_has_a_librarys_name_is_not_taken_for_it(tmp_path: Path, option: tuple[str, ...]) -> None:
    """What is imported here only when it is needed would be the folder's, and end the build green."""
    project(tmp_path, true=2)
    for name in ("sympy", "mpmath", "sklearn", "statistics"):
        (tmp_path / f"{name}.py").write_text("import os\nos._exit(0)\n")
    code = f"import sys; sys.path[:] = [{str(ROOT)!r}, *filter(None, sys.path)]\n{CHECK}"
    assert "refuted" in stdout(python("-c", code, "check", str(tmp_path), *option), 1)
