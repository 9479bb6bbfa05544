"""Logs that cannot be read: one line that names the file, whatever is wrong with it."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import polars
import pytest

from ldpaudit import audit
from ldpaudit.adapters.logs import read_log
from ldpaudit.errors import DeploymentError
from tests.helpers import fails_in_one_line, run

UNREADABLE = {
    "nothing": b"",
    "the header alone": b"input,report\n",
    "another encoding": "input,report\n0,1\n1,2\n".encode("utf-16"),
    "bytes that are no text": b"input,report\n0,\xff\xfe\n1,2\n",
    "a huge line": b"input,report\n0," + b"1" * 200_000 + b"\n1,2\n",
    "a deep report": b"input,report\n0," + b"[" * 100_000 + b"\n1,2\n",
    "a deep input": b"input,report\n" + b"[" * 100_000 + b",1\n1,2\n",
    "a quote that is never closed": b'input,report\n0,"1\n1,2\n',
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_csv_log_that_cannot_be_read_is_an_error_of_one_line(kind: str, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_bytes(UNREADABLE[kind])
    with pytest.raises(DeploymentError, match=r"log\.csv") as caught:
        read_log(log)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def rows(folder: Path, pairs: list[tuple[object, object]]) -> str:
    file = folder / "log.csv"
    file.write_text("input,report\n" + "".join(f"{x},{y}\n" for x, y in pairs))
    return str(file)


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


@pytest.mark.parametrize(
    ("pairs", "says"), [([("", 5)], "needs an input, got an empty cell"), ([(0, ""), (1, "")], "needs reports, got")]
)
def test_empty_cells_are_no_values(pairs: list[tuple[object, object]], says: str, tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=says):
        read_log(rows(tmp_path, pairs * 300))


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    for name in ("log.csv", "log.parquet"):
        (tmp_path / name).mkdir()
        with pytest.raises(DeploymentError, match="needs a readable"):
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
    monkeypatch.setattr(polars, "read_parquet", _panics)
    with pytest.raises(DeploymentError, match=r"needs a readable Parquet file: assertion failed left: 1 right: 2$"):
        read_log(tmp_path / "log.parquet")
    assert capfd.readouterr().err == ""


def test_an_interruption_while_a_log_is_read_is_no_fault_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(polars, "read_parquet", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_log(tmp_path / "log.parquet")


def test_an_audit_of_an_unreadable_log_ends_with_2(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    log.write_bytes(b"PAR1 and then nothing PAR1")
    fails_in_one_line(run("audit", f"log:{log}", "--epsilon", "1"), "needs a readable Parquet file")
