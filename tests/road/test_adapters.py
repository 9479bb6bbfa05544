"""Anybody's randomizer, by duck typing."""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from ldpaudit import audit
from ldpaudit.adapters.callables import as_sampler, probe, prober, resolve, resolve_audited
from ldpaudit.adapters.logs import Log, read_log
from ldpaudit.adapters.objects import as_callable, claimed_epsilon
from ldpaudit.adapters.programs import Program
from ldpaudit.attacks import Reading
from ldpaudit.errors import DeploymentError, ImplementationError
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests import broken_callables

RNG = np.random.default_rng(0)

ECHO = """\
import json, sys
for line in sys.stdin:
    print(json.dumps({"report": json.loads(line)}), flush=True)
"""


class Client:
    """As pure-ldp has it."""

    epsilon = 1.5

    def privatise(self, x: int) -> int:
        return -x


class Measurement:
    """As OpenDP has it."""

    def __call__(self, x: int) -> int:
        return x + 1

    def map(self, distance: int) -> float:
        return 0.5 * distance


def test_an_object_is_called_by_what_it_can_do() -> None:
    assert as_callable(Client())(3) == -3
    assert as_callable(Measurement())(3) == 4
    assert as_callable(abs)(-3) == 3
    with pytest.raises(TypeError, match="got int"):
        as_callable(3)


def test_an_object_is_audited_by_its_name_too_and_its_class_is_none() -> None:
    assert resolve_audited("tests.broken_callables:CLIENT")(1) == 1  # type: ignore[operator]
    with pytest.raises(ImplementationError, match="needs an object with privatise, got the class Client"):
        resolve_audited("tests.broken_callables:Client")


def test_an_objects_own_claim_is_read() -> None:
    assert claimed_epsilon(Measurement(), 2) == (1.0, 0.0)
    assert claimed_epsilon(Client()) == (1.5, 0.0)
    assert claimed_epsilon(abs) is None


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[Program]:
    (tmp_path / "echo.py").write_text(ECHO)
    with Program([sys.executable, str(tmp_path / "echo.py")]) as program:
        yield program


def test_a_program_answers_line_by_line(echo: Program) -> None:
    assert echo("a", 3, RNG) == [{"report": "a"}] * 3
    assert echo([1, None], 20_000, RNG) == [{"report": [1, None]}] * 20_000


@pytest.mark.parametrize(
    ("command", "says"),
    [("/nowhere/to/be/found", "cannot start"), ("true", "ended before it answered"), ("echo hello", "JSON value a line")],
)
def test_a_program_that_does_not_answer_is_an_error(command: str, says: str) -> None:
    with Program(command) as program, pytest.raises(ImplementationError, match=says):
        program(1, 2, RNG)


def test_a_callable_of_three_arguments_is_vectorized() -> None:
    m = KaryRandomizedResponse.for_epsilon(1, k=2)
    vectorized = as_sampler(lambda x, size, rng: m.sample(x, size, rng))
    assert np.asarray(vectorized(0, 5, np.random.default_rng(1))).shape == (5,)
    one = as_sampler(lambda x: x + 1)
    assert np.asarray(one(1, 3, RNG)).tolist() == [2, 2, 2]


def test_what_a_callable_must_not_do_is_an_error_with_the_input() -> None:
    for broken, says in ((broken_callables.raises, "disk"), (broken_callables.returns_nothing, "got None")):
        with pytest.raises(ImplementationError, match=says) as caught:
            probe(broken, 7)
        assert caught.value.inputs == (7,)
    with pytest.raises(ImplementationError, match="hangs"):
        probe(broken_callables.hangs, 7, patience=0.2)
    with pytest.raises(ImplementationError, match="one shape"):
        as_sampler(lambda x: [0] * next(lengths))(0, 2, RNG)


def test_the_first_call_of_all_may_take_longer_than_those_after_it() -> None:
    calls: list[int] = []

    def compiles(x: int) -> int:
        calls.append(x)
        time.sleep(0.0 if len(calls) > 1 else 1.5)
        return x

    asked = prober(compiles, 1.0, first=True), prober(compiles, 1.0)
    assert [ask(compiles, 3) for ask in asked] == [3, 3]
    calls.clear()
    with pytest.raises(ImplementationError, match="within 1 s, got none: the callable hangs, or is still compiling"):
        asked[1](compiles, 3)


lengths = iter([1, 2])


@pytest.mark.parametrize("name", ["nothing", "nothing:here", "tests.broken_callables:nope", "tests.broken_callables:_RNG"])
def test_a_name_that_is_not_a_callable_is_an_error(name: str) -> None:
    with pytest.raises(ImplementationError):
        resolve(name)


class Yielding(list[int]):
    """Lets another thread go first whenever it is asked how long it is."""

    def __len__(self) -> int:
        time.sleep(1e-5)
        return super().__len__()


def test_a_log_hands_out_each_report_once(tmp_path: Path) -> None:
    lines = [f"{x},{json}" for x in (0, 1) for json in range(500)]
    (tmp_path / "log.csv").write_text("input,report\n" + "\n".join(lines))
    log = read_log(tmp_path / "log.csv")
    handed: list[Any] = log(0, 200, RNG) + log(0, 300, RNG)
    assert sorted(handed) == list(range(500))
    assert handed != sorted(handed)
    assert 0 < log.trials < 1000
    with pytest.raises(ImplementationError, match="holds 500 reports"):
        log(0, 1, RNG)


def test_a_parquet_log_is_what_its_csv_is(tmp_path: Path) -> None:
    frame = polars.DataFrame({"input": [0, 1, 0, 1] * 200, "report": [[i % 3, 1] for i in range(800)]})
    frame.write_parquet(tmp_path / "log.parquet")
    (tmp_path / "log.csv").write_text(
        "input,report\n" + "".join(f'{x},"{json.dumps(y)}"\n' for x, y in frame.iter_rows())
    )
    binary, text = read_log(tmp_path / "log.parquet"), read_log(tmp_path / "log.csv")
    assert binary.reports == text.reports
    assert binary.inputs == [0, 1]
    assert len(binary.reports[0]) == 400
    function: Callable[..., Any] = binary
    found = audit(function, inputs=binary.inputs, trials=binary.trials, seed=1)
    assert 0 <= found.epsilon_lower < 1


def test_a_parquet_log_that_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log.parquet"
    for content in (None, b"", b"PAR1 and then nothing"):
        if content is not None:
            log.write_bytes(content)
        with pytest.raises(DeploymentError, match="needs a readable Parquet file"):
            read_log(log)
    polars.DataFrame({"value": [0, 1], "report": [0, 1]}).write_parquet(log)
    with pytest.raises(DeploymentError, match="needs a column 'input', got value, report"):
        read_log(log)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(DeploymentError, match=r"install ldpaudit\[logs\]"):
        read_log(log)


def test_a_log_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("value,report\n0,1\n")
    with pytest.raises(DeploymentError, match="needs a column 'input', got value, report"):
        read_log(tmp_path / "log.csv")
    (tmp_path / "log.csv").write_text("input,report\n0,1\n")
    with pytest.raises(DeploymentError, match="at least two inputs"):
        read_log(tmp_path / "log.csv")
    with pytest.raises(DeploymentError, match="readable CSV"):
        read_log(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="two inputs"):
        Log({0: [1]})


def test_a_log_hands_out_each_report_once_whoever_asks() -> None:
    log = Log({x: Yielding(range(2_000)) for x in (0, 1)})
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: log(0, 10, RNG), range(200)))
    assert sorted(r for part in parts for r in part) == list(range(2_000))


def test_a_program_answers_whoever_asks_with_the_report_on_their_input() -> None:
    with Program([sys.executable, "-c", ECHO]) as program, ThreadPoolExecutor(8) as pool:
        asked = [i % 7 for i in range(200)]
        parts = list(pool.map(lambda x: program(x, 5, RNG), asked))
    assert parts == [[{"report": x}] * 5 for x in asked]


@pytest.mark.parametrize("single", [Log({0: [1], 1: [2]}), Program("cat")], ids=["log", "program"])
def test_what_is_one_only_is_not_copied(single: Any) -> None:
    with pytest.raises(TypeError, match="use threads"):
        pickle.dumps(single)


@pytest.mark.parametrize(("given", "users"), [((0, 2), 1), ((0, 1, 2), 1), ((2, 0), 2), ((0, 1), 2)])
def test_a_log_does_not_run_out_whichever_of_its_inputs_are_given(given: tuple[int, ...], users: int) -> None:
    rng, rows = np.random.default_rng(4), {0: 4_000, 1: 4_000, 2: 1_000}
    log = Log({x: [x if rng.random() < 0.5 else int(y) for y in rng.integers(0, 3, size)] for x, size in rows.items()})
    function: Callable[..., Any] = log
    found = audit(function, inputs=given, trials=log.trials_on(given, users), reading=Reading(users=users))
    assert found.trials == log.trials_on(given, users) > 400


@pytest.mark.parametrize("x", [7, [1]])
def test_an_input_that_is_not_in_the_log_is_said_to_be_none_of_it(x: Any) -> None:
    log = Log({0: [0], 1: [1]})
    for ask in (lambda: log.trials_on([0, x]), lambda: audit(log, inputs=[0, x])):
        with pytest.raises(ImplementationError, match=r"^on input .*: the log has no reports on it, only on 0, 1$"):
            ask()


COUNTING = """\
import sys
for i, line in enumerate(sys.stdin):
    print(i // 2048 % 2, flush=True)
"""


def test_what_a_programs_answers_share_with_those_before_them_is_no_leak() -> None:
    m = KaryRandomizedResponse.for_epsilon(1, k=2)
    with Program([sys.executable, "-c", COUNTING]) as program:
        evidence = audit(m, implementation=program, epsilon=1.0, trials=40_000, mode=Mode.FIXED)
    assert evidence.epsilon_lower < 0.2
    with Program([sys.executable, "-c", COUNTING]) as program:
        assert audit(program, inputs=[0, 1], epsilon=1.0, trials=20_000, mode=Mode.FIXED).epsilon_lower < 0.2


def test_code_that_ends_the_program_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImplementationError, match="raised SystemExit: 0"):
        probe(lambda x: sys.exit(0), 1)
    (tmp_path / "script_that_ends.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImplementationError, match="cannot import script_that_ends:f: SystemExit"):
        resolve("script_that_ends:f")


def test_a_path_is_not_a_modules_name() -> None:
    with pytest.raises(ImplementationError, match=r"an importable module name, got the path './ours.py'"):
        resolve("./ours.py:f")


def test_an_adapters_error_says_what_happened_once() -> None:
    with Program("true") as program, pytest.raises(ImplementationError, match=r"^on input 0: true ended before it answered$"):
        audit(program, inputs=[0, 1], epsilon=1, trials=1000)


def test_a_closed_program_leaves_nothing_running(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reader, started = os.open(held, os.O_RDONLY | os.O_NONBLOCK), time.monotonic()
    with Program(["sh", "-c", f"sleep 60 > {held} & read x; echo 1; wait"]) as program:
        assert program(0, 1, RNG) == [1]
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""  # which it is when nobody holds it open
    assert time.monotonic() - started < 30
    os.close(reader)


def test_a_log_is_read_as_spreadsheets_and_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("input, report\n0, 1\n[1], 0\n", encoding="utf-8-sig")
    log = read_log(path)
    assert log(0, 1, RNG) == [1]
    assert log([1], 1, RNG) == [0]
    with pytest.raises(ImplementationError, match=r"^on input 2: the log has no reports on it, only on 0, '\[1\]'$"):
        log(2, 1, RNG)


@pytest.mark.parametrize("line", ["1", "1,0,0"])
def test_a_line_of_a_log_has_a_value_in_each_column(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"input,report\n0,1\n{line}\n")
    with pytest.raises(DeploymentError, match=r"log.csv:3: needs exactly one value in each column"):
        read_log(path)
