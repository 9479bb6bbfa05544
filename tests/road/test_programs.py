"""Programs that misbehave: one question, one answer, in step; no wait, no line and no process without an end."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpaudit import audit
from ldpaudit.adapters import callables, talk
from ldpaudit.adapters.programs import Program
from ldpaudit.core import strict_json
from ldpaudit.errors import ImplementationError
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests import helpers
from tests.helpers import ROOT, SOON, at_most, fails_in_one_line, number_in, process, raises, stdout, wait_until_gone

RNG = np.random.default_rng(0)


def python(code: str, **options: Any) -> Program:
    """A program in Python, that begins with its imports."""
    return Program([sys.executable, "-ISc", "import subprocess, sys, time\n" + code], **options)


def refused(says: str) -> "pytest.RaisesExc[ImplementationError]":  # which older versions of pytest do not have
    """What also sees an error at the end of the program."""
    return pytest.raises(ImplementationError, match=says)


def answers(line: str, before: str = "pass") -> str:
    """Code that does one thing for each line that it reads."""
    return f"{before}\nfor line in sys.stdin:\n    {line}\n"


ECHO = answers("print(line.strip(), flush=True)")
SURPLUS = {
    "a banner": answers("print(1, flush=True)", "print(0, flush=True)"),
    "a banner, long before it is ready": answers("print(1, flush=True)", "print(0, flush=True); time.sleep(0.5)"),
    "two lines a question": answers("print(1); print(2, flush=True)"),
    "two lines a question, the second late": answers("print(1, flush=True); time.sleep(0.2); print(2, flush=True)"),
    "the echo of the question": answers("print(line.strip()); print(1, flush=True)"),
    "a line more now and then": "for i, line in enumerate(sys.stdin):\n    print('1\\n2' if i == 100 else 1, flush=True)",
    "a prompt": answers("print('1\\n> ', end='', flush=True)"),
    "answers without a question": "while True: print(1)",
    "a line at the end": answers("print(1, flush=True)") + "print(2)",
}


@pytest.mark.parametrize(("kind", "says", "questions"), [
    *((kind, "JSON value a line for each question, got '.*', which answers", 200) for kind in SURPLUS),
    *((kind, "which answers no question", 2) for kind in ("a banner", "two lines a question", "the echo of the question")),
])  # fmt: skip
def test_a_line_that_nothing_asked_for_is_an_error_before_many_questions_are_asked(kind: str, says: str, questions: int) -> None:
    with refused(says), python(SURPLUS[kind]) as program:
        program(1, questions, RNG)


def test_a_line_more_is_found_call_by_call_too_and_json_of_which_python_would_drop_a_part_is_none() -> None:
    late = answers("print(1, flush=True); time.sleep(0.01)", "print(0, flush=True); time.sleep(0.5)")
    for size in (1, 40):
        with refused("which answers no question"), python(late) as program:
            for _ in range(size):
                program(1, 1, RNG)
    for text in ('{"a": 0, "a": 1}', "1e400", "[-1e999]"):
        raises(ValueError, "needs ", strict_json.whole, text)


def test_a_program_that_echoes_behind_a_banner_or_ends_early_is_an_error_that_says_what_happened_once() -> None:
    with refused("which answers no question"), python("print(0, flush=True)\n" + ECHO) as program:
        audit(program, inputs=[0, 1], epsilon=1.0, trials=1000)
    with Program("true") as program, pytest.raises(ImplementationError, match=r"^on input 0: true ended before it answered$"):
        audit(program, inputs=[0, 1], epsilon=1, trials=1000)


def test_a_program_in_step_passes_however_it_is_asked_and_by_whomever() -> None:
    with python(ECHO) as program:
        assert program(1, 1, RNG) == [1]
        assert program([1, None], 20_000, RNG) == [[1, None]] * 20_000
        assert program.in_order([0, 1], [0, 1, 1, 0] * 500) == [[0] * 1000, [1] * 1000]
    with python(ECHO) as program, ThreadPoolExecutor(8) as pool:
        asked = [i % 7 for i in range(200)]
        parts = list(pool.map(lambda x: program(x, 5, RNG), asked))
    assert parts == [[x] * 5 for x in asked]
    with python(answers("print(1, flush=True)", "time.sleep(0.8)"), patience=0.5) as program:
        assert program(1, 5, RNG) == [1] * 5


@pytest.mark.parametrize(("command", "says"), [("/nowhere/to/be/found", "cannot start"), ("echo hello", "JSON value a line")])
def test_a_program_that_does_not_answer_is_an_error(command: str, says: str) -> None:
    with Program(command) as program, refused(says):
        program(1, 2, RNG)


COUNTING = "for i, line in enumerate(sys.stdin):\n    print(i // 2048 % 2, flush=True)"


def test_what_a_programs_answers_share_with_those_before_them_is_no_leak() -> None:
    m = KaryRandomizedResponse.for_epsilon(1, k=2)
    with python(COUNTING) as program:
        evidence = audit(m, implementation=program, epsilon=1.0, trials=40_000, mode=Mode.FIXED)
    assert evidence.epsilon_lower < 0.2
    with python(COUNTING) as program:
        assert audit(program, inputs=[0, 1], epsilon=1.0, trials=20_000, mode=Mode.FIXED).epsilon_lower < 0.2


@pytest.mark.parametrize("polled", [True, False])
def test_answers_are_the_same_where_pipes_cannot_be_waited_for(polled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(talk, "POLLED", polled)
    with python(ECHO) as program:
        assert program("a" * 500_000, 20, RNG) == ["a" * 500_000] * 20
    with refused("ended before"), python("sys.stdin.readline()") as program:
        program(1, 1, RNG)


SILENT = {
    "never answers": answers("time.sleep(60)"),
    "stops after the first": "for i, line in enumerate(sys.stdin):\n    i and time.sleep(60)\n    print(1, flush=True)",
    "stops in a later block": "for i, line in enumerate(sys.stdin):\n    i > 9 and time.sleep(60)\n    print(1, flush=True)",
    "does not flush": answers("print(1)"),
}


@pytest.mark.parametrize("kind", SILENT)
def test_an_answer_that_does_not_come_is_an_error_at_every_question(kind: str) -> None:
    with at_most(SOON), python(SILENT[kind], patience=0.15) as program, refused(r"within 0\.[14]5 s, got none"):
        program("x" * 1000, 1000, RNG)


def test_the_first_answer_is_waited_for_by_the_programs_patience_not_by_that_of_callables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callables, "probe", partial(callables.probe, patience=0.1))
    with python(answers("print(1, flush=True)", "time.sleep(0.5)")) as program:
        assert audit(program, inputs=[0, 1], epsilon=1.0, trials=500).epsilon_lower == 0


LARGE = {
    "an endless line": "while True: sys.stdout.write('1' * 65536)",
    "an endless line on a question": answers("while True: sys.stdout.write('1' * 65536)"),
    "a large answer": answers("print('1' * 6_000_000, flush=True)"),
    "a large answer in the end": "for i, line in enumerate(sys.stdin): print('1' * (6_000_000 if i > 50 else 1), flush=True)",
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_line_above_the_limit_is_an_error_and_takes_no_memory(kind: str) -> None:
    with at_most(SOON), refused(r"at most 1048576 bytes|which answers no question"), python(LARGE[kind]) as program:
        program(1, 100, RNG)


def test_the_answers_to_one_block_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(talk, "TOGETHER", 1 << 20)
    with refused("to a block of questions"), python(answers("print('\"' + 10_000 * 'a' + '\"', flush=True)")) as program:
        program(1, 1_000, RNG)


def test_what_only_a_shell_understands_and_limits_that_are_none_are_refused() -> None:
    for command in ("cat | cat", "cat > x", "cat && echo done", "sh -c 'cat' ; true"):
        raises(ValueError, r"runs a program without a shell, got .*: write exec:sh -c", Program, command)
    raises(ValueError, "needs a command with its quotes closed, got \"cat 'x\"", Program, "cat 'x")
    assert Program("sh -c 'cat | cat'").command == ("sh", "-c", "cat | cat")
    for patience, longest in ((0, 1), (-1, 1), (float("nan"), 1), (1, 0)):
        raises(ValueError, "needs patience > 0 and longest > 0, got", Program, "cat", patience, longest)


@pytest.mark.parametrize("line", ['{"a": 0, "a": 1}', "1e400", "[-1e999]", "[" * 100_000, "1" * 5_000, "\\xff", "", "nan"])
def test_an_answer_that_is_no_json_is_an_error_of_one_line(line: str) -> None:
    code = answers(f"sys.stdout.buffer.write(b'{line}\\n'); sys.stdout.flush()")
    with refused("one JSON value a line") as caught, python(code) as program:
        program(1, 1, RNG)
    assert len(str(caught.value)) < 300


CHILD = "child = subprocess.Popen([sys.executable, '-c', {code!r}]{options}); print(child.pid, file=open({file!r}, 'w'))\n"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


def with_child(file: Path, code: str = "import time; time.sleep(60)", options: str = "") -> str:
    """Code that starts a process, which holds its pipes, and writes down its number."""
    return CHILD.format(code=code, file=str(file), options=options)


@pytest.mark.parametrize("code", ["import time; time.sleep(60)", STUBBORN], ids=["as asked", "by force"])
def test_what_a_program_started_ends_with_it(code: str, tmp_path: Path) -> None:
    file = tmp_path / "child"
    with at_most(SOON):
        with python(with_child(file, code) + ECHO) as program:
            assert program(1, 2, RNG) == [1, 1]
        wait_until_gone(number_in(file))


def test_a_program_that_ends_is_not_waited_for_though_its_child_holds_the_pipe(tmp_path: Path) -> None:
    file = tmp_path / "child"
    with at_most(SOON), python(with_child(file) + "sys.stdin.readline()") as program:
        with refused("ended before it answered"):
            program(1, 1, RNG)
        wait_until_gone(number_in(file))


def test_a_child_that_has_left_the_group_holds_nobody_up(tmp_path: Path) -> None:
    file = tmp_path / "child"
    with at_most(SOON):
        threads = threading.active_count()
        with python(with_child(file, options=", start_new_session=True") + ECHO) as program:
            assert program(1, 2, RNG) == [1, 1]
        os.kill(int(file.read_text()), signal.SIGKILL)
    assert threading.active_count() == threads


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_program_ends_when_the_audit_is_asked_to_end(number: signal.Signals, tmp_path: Path) -> None:
    file, script = tmp_path / "child", tmp_path / "slow.py"
    script.write_text("import subprocess, sys, time\n" + with_child(file) + answers("time.sleep(60)"))
    command = [sys.executable, "-m", "ldpaudit", "audit", f"exec:{sys.executable} {script}", "--inputs", "0", "1", "--epsilon", "1"]
    audit = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child = number_in(file)
    audit.send_signal(number)
    out, err = audit.communicate(timeout=SOON)
    assert (audit.returncode, out, len(err.splitlines())) == (128 + number, "", 1), err
    wait_until_gone(child)


def test_a_program_that_nobody_closes_ends_with_the_interpreter(tmp_path: Path) -> None:
    file = tmp_path / "child"
    code = f"""
from ldpaudit.adapters.programs import Program
kept = Program(["sh", "-c", "sleep 60 & echo $! > {file}; while read x; do echo 1; done; wait"])
print(kept(1, 2, None))
"""
    assert stdout(helpers.python("-c", code)) == "[1, 1]\n"
    wait_until_gone(number_in(file))


@pytest.mark.slow
def test_the_command_line_has_patience_for_programs_and_functions_but_not_for_logs(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(f"import sys, time\n{answers('time.sleep(60)')}")
    common = ("--inputs", "0", "1", "--epsilon", "1", "--patience", "0.1")
    for target, says in (
        (f"exec:{sys.executable} {tmp_path / 'slow.py'}", "needs an answer within 0.3 s, got none"),
        ("tests.broken_callables:hangs",
         "needs a report within 0.3 s, got none: the callable hangs, or is still compiling or loading"),
        ("log:reports.jsonl", "needs --patience with MODULE:CALLABLE or exec:COMMAND, got it with log:reports.jsonl"),
    ):  # fmt: skip
        fails_in_one_line(process("audit", target, *common), says)
