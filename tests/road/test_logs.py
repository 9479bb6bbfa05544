"""Logs of reports: each report is handed out once, and what cannot be read is one line that names the file."""

from __future__ import annotations

import datetime
import json
import os
import pickle
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from ldpaudit import audit
from ldpaudit.adapters.logs import Log, read_log
from ldpaudit.adapters.programs import Program
from ldpaudit.attacks import Reading
from ldpaudit.errors import DeploymentError, ImplementationError
from tests.helpers import fails_in_one_line, run

RNG = np.random.default_rng(0)
HEAD = b"input,report\n"
UNREADABLE: dict[str, tuple[str, bytes | None, str]] = {
    "no file": ("log.csv", None, "needs a readable CSV"),
    "nothing": ("log.csv", b"", ""),
    "the header alone": ("log.csv", HEAD, ""),
    "other columns": ("log.csv", b"value,report\n0,1\n", "needs a column 'input', got value, report"),
    "no row": ("log.csv", HEAD, "needs the columns input and report, and rows of reports, got no row"),
    "semicolons": ("log.csv", b"input;report\n0;1\n", "needs a column 'input', got input;report; commas part columns"),
    "capitals": ("log.csv", b"Input,report\n0,1\n", "needs a column 'input', got Input, report; did you mean 'Input'?"),
    "one input": ("log.csv", HEAD + b"0,1\n", "at least two inputs"),
    "another encoding": ("log.csv", "input,report\n0,1\n1,2\n".encode("utf-16"), ""),
    "bytes that are no text": ("log.csv", HEAD + b"0,\xff\xfe\n1,2\n", ""),
    "a huge line": ("log.csv", HEAD + b"0," + b"1" * 200_000 + b"\n1,2\n", ""),
    "a deep report": ("log.csv", HEAD + b"0," + b"[" * 100_000 + b"\n1,2\n", ""),
    "a deep input": ("log.csv", HEAD + b"[" * 100_000 + b",1\n1,2\n", ""),
    "a quote that is never closed": ("log.csv", HEAD + b'0,"1\n1,2\n', ""),
    "an empty input": ("log.csv", HEAD + b",5\n" * 300, "needs an input, got an empty cell"),
    "empty reports": ("log.csv", HEAD + b"0,\n1,\n" * 300, "needs reports, got"),
    "no Parquet file": ("log.parquet", None, "needs a readable Parquet file"),
    "nothing in Parquet": ("log.parquet", b"", "needs a readable Parquet file"),
    "what only begins like Parquet": ("log.parquet", b"PAR1 and then nothing", "needs a readable Parquet file"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_log_that_cannot_be_read_is_an_error_of_one_line(kind: str, tmp_path: Path) -> None:
    name, content, says = UNREADABLE[kind]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DeploymentError) as caught:
        read_log(tmp_path / name)
    said = str(caught.value)
    assert name in said
    assert says in said
    assert "\n" not in said
    assert len(said) < 300


def rows(folder: Path, pairs: list[tuple[object, object]]) -> Path:
    (folder / "log.csv").write_text("input,report\n" + "".join(f"{x},{y}\n" for x, y in pairs))
    return folder / "log.csv"


class Yielding(list[int]):
    """Lets another thread go first whenever it is asked how long it is."""

    def __len__(self) -> int:
        time.sleep(1e-5)
        return super().__len__()


def test_a_log_hands_out_each_report_once_in_random_order(tmp_path: Path) -> None:
    log = read_log(rows(tmp_path, [(x, y) for x in (0, 1) for y in range(500)]))
    handed: list[Any] = log(0, 200, RNG) + log(0, 300, RNG)
    assert sorted(handed) == list(range(500))
    assert handed != sorted(handed)
    assert 0 < log.trials < 1000
    with pytest.raises(ImplementationError, match="holds 500 reports"):
        log(0, 1, RNG)


def test_a_log_hands_out_each_report_once_whoever_asks() -> None:
    log = Log({x: Yielding(range(2_000)) for x in (0, 1)})
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: log(0, 10, RNG), range(200)))
    assert sorted(r for part in parts for r in part) == list(range(2_000))


@pytest.mark.parametrize("single", [Log({0: [1], 1: [2]}), Program("cat")], ids=["log", "program"])
def test_what_is_one_only_is_not_copied(single: Any) -> None:
    with pytest.raises(TypeError, match="use threads"):
        pickle.dumps(single)


def test_a_parquet_log_is_what_its_csv_is(tmp_path: Path) -> None:
    frame = polars.DataFrame({"input": [0, 1, 0, 1] * 200, "report": [[i % 3, 1] for i in range(800)]})
    frame.write_parquet(tmp_path / "log.parquet")
    binary = read_log(tmp_path / "log.parquet")
    text = read_log(rows(tmp_path, [(x, f'"{json.dumps(y)}"') for x, y in frame.iter_rows()]))
    assert binary.reports == text.reports
    assert binary.inputs == [0, 1]
    assert len(binary.reports[0]) == 400
    function: Callable[..., Any] = binary
    found = audit(function, inputs=binary.inputs, trials=binary.trials, seed=1)
    assert 0 <= found.epsilon_lower < 1


def test_a_log_of_fewer_than_two_inputs_or_without_its_columns_or_library_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="two inputs"):
        Log({0: [1]})
    log = tmp_path / "log.parquet"
    polars.DataFrame({"value": [0, 1], "report": [0, 1]}).write_parquet(log)
    with pytest.raises(DeploymentError, match="needs a column 'input', got value, report"):
        read_log(log)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(DeploymentError, match=r"install ldpaudit\[logs\]"):
        read_log(log)


@pytest.mark.parametrize(("given", "users"), [((0, 2), 1), ((0, 1, 2), 1), ((2, 0), 2), ((0, 1), 2)])
def test_a_log_does_not_run_out_whichever_of_its_inputs_are_given(given: tuple[int, ...], users: int) -> None:
    rng, sizes = np.random.default_rng(4), {0: 4_000, 1: 4_000, 2: 1_000}
    log = Log({x: [x if rng.random() < 0.5 else int(y) for y in rng.integers(0, 3, size)] for x, size in sizes.items()})
    function: Callable[..., Any] = log
    found = audit(function, inputs=given, trials=log.trials_on(given, users), reading=Reading(users=users))
    assert found.trials == log.trials_on(given, users) > 400


@pytest.mark.parametrize("x", [7, [1]])
def test_an_input_that_is_not_in_the_log_is_said_to_be_none_of_it(x: Any) -> None:
    log = Log({0: [0], 1: [1]})
    for ask in (lambda: log.trials_on([0, x]), lambda: audit(log, inputs=[0, x])):
        with pytest.raises(ImplementationError, match=r"^on input .*: the log has no reports on it, only on 0, 1$"):
            ask()


def test_a_log_is_read_as_spreadsheets_and_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("input, report\n0, 1\n[1], 0\n", encoding="utf-8-sig")
    log = read_log(path)
    assert log(0, 1, RNG) == [1]
    assert log([1], 1, RNG) == [0]
    with pytest.raises(ImplementationError, match=r"^on input 2: the log has no reports on it, only on 0, '\[1\]'$"):
        log(2, 1, RNG)


def test_of_more_than_two_inputs_all_that_have_reports_enough_are_compared(tmp_path: Path) -> None:
    fair = [(x, i % 2) for i in range(3000) for x in (0, 1)]
    rare = rows(tmp_path, [*fair, *((2, 7) for _ in range(1500))])
    done = run("audit", f"log:{rare}", "--epsilon", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    rarer = rows(tmp_path, [*fair, *((2, 7) for _ in range(100))])
    done = run("audit", f"log:{rarer}", "--epsilon", "1")
    assert done.returncode == 0
    assert "left out for having too few reports: 1 inputs, such as 2; --inputs takes any" in done.stderr


def test_a_log_that_is_sorted_by_its_reports_hides_nothing(tmp_path: Path) -> None:
    made = [(x, x if i % 4 else 1 - x) for i in range(4000) for x in (0, 1)]
    log = read_log(rows(tmp_path, [(x, y) for said in (0, 1) for x, y in made if y == said]))
    assert audit(log, inputs=[0, 1], epsilon=0.5, trials=log.trials).refutes(0.5)
    assert sorted(log.reports[0]) == sorted(y for x, y in made if x == 0)


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    for name in ("log.csv", "log.parquet"):
        (tmp_path / name).mkdir()
        with pytest.raises(DeploymentError, match="needs a file, got a folder"):
            read_log(tmp_path / name)


@pytest.mark.parametrize("value", [b"a", datetime.date(2020, 1, 1)], ids=["bytes", "date"])
def test_an_input_that_is_no_json_is_an_error_with_its_type(value: Any, tmp_path: Path) -> None:
    polars.DataFrame({"input": [value] * 9, "report": [1] * 9}).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(DeploymentError, match=f"written as JSON, got {type(value).__name__}"):
        read_log(tmp_path / "log.parquet")


def test_a_parquet_log_that_was_cut_off_is_an_error_of_one_line(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    polars.DataFrame({"input": [0, 1] * 200, "report": [[i % 3, 2] for i in range(400)]}).write_parquet(log)
    whole = log.read_bytes()
    for size in range(0, len(whole), 40):
        for spoilt in (whole[:size], whole[:size] + b"PAR1", whole[:size] + bytes(len(whole) - size)):
            log.write_bytes(spoilt)
            with pytest.raises(DeploymentError, match=r"^[^\n]*needs a readable Parquet file[^\n]*$"):
                read_log(log)


@pytest.mark.parametrize("day", [2 * 10**7, 2**30], ids=["for Python", "for polars, which panics"])
def test_a_date_out_of_range_is_an_error_of_the_log(day: int, tmp_path: Path) -> None:
    days = polars.Series([day] * 9, dtype=polars.Int32).cast(polars.Date)
    polars.DataFrame({"input": [0] * 9, "report": days}).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(DeploymentError, match=r"needs a readable Parquet file: .*out.of.range"):
        read_log(tmp_path / "log.parquet")


class PanicException(BaseException):
    """What polars raises where its own code fails."""


def _panics(*_: Any) -> Any:
    os.write(2, b"thread 'main' panicked at\nnote: run with a backtrace\n")
    raise PanicException("assertion failed\n left: 1\n right: 2")


def test_a_panic_below_python_is_an_error_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(polars, "scan_parquet", _panics)
    with pytest.raises(DeploymentError, match=r"needs a readable Parquet file: assertion failed left: 1 right: 2$"):
        read_log(tmp_path / "log.parquet")
    assert capfd.readouterr().err == ""


def test_threads_that_read_at_once_leave_standard_error_as_it_was(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    polars.DataFrame({"input": [0, 1] * 500, "report": [1, 0] * 500}).write_parquet(tmp_path / "log.parquet")
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert len({str(log.reports) for log in pool.map(read_log, [tmp_path / "log.parquet"] * 8)}) == 1
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"


def test_an_interruption_while_a_log_is_read_is_no_fault_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(polars, "scan_parquet", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_log(tmp_path / "log.parquet")


def test_an_audit_of_an_unreadable_log_ends_with_2(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    log.write_bytes(b"PAR1 and then nothing PAR1")
    fails_in_one_line(run("audit", f"log:{log}", "--epsilon", "1"), "needs a readable Parquet file")
