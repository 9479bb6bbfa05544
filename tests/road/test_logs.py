"""Logs and users' data: each record once, the same to all that read it, and what is none is one line that names the file."""

import datetime
import gzip
import json
import os
import pickle
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars
import pytest

from ldpaudit import audit
from ldpaudit.adapters.logs import Log, read_log
from ldpaudit.adapters.programs import Program
from ldpaudit.attacks import Reading
from ldpaudit.errors import DeploymentError, ImplementationError
from ldpaudit.files.user_data import read
from ldpaudit.workers.shards import shards
from tests.helpers import fails_in_one_line, raises, run, stdout

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
    said = str(raises(DeploymentError, "", read_log, tmp_path / name))
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


def test_a_log_hands_out_each_report_once_in_random_order_whoever_asks(tmp_path: Path) -> None:
    log = read_log(rows(tmp_path, [(x, y) for x in (0, 1) for y in range(500)]))
    handed: list[Any] = log(0, 200, RNG) + log(0, 300, RNG)
    assert sorted(handed) == list(range(500))
    assert handed != sorted(handed)
    assert 0 < log.trials < 1000
    raises(ImplementationError, "holds 500 reports", log, 0, 1, RNG)
    log = Log({x: Yielding(range(2_000)) for x in (0, 1)})
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: log(0, 10, RNG), range(200)))
    assert sorted(r for part in parts for r in part) == list(range(2_000))


def test_a_parquet_log_is_what_its_csv_is(tmp_path: Path) -> None:
    frame = polars.DataFrame({"input": [0, 1, 0, 1] * 200, "report": [[i % 3, 1] for i in range(800)]})
    frame.write_parquet(tmp_path / "log.parquet")
    binary = read_log(tmp_path / "log.parquet")
    text = read_log(rows(tmp_path, [(x, f'"{json.dumps(y)}"') for x, y in frame.iter_rows()]))
    assert (binary.reports, binary.inputs, len(binary.reports[0])) == (text.reports, [0, 1], 400)
    function: Callable[..., Any] = binary
    assert 0 <= audit(function, inputs=binary.inputs, trials=binary.trials, seed=1).epsilon_lower < 1


def test_a_log_of_one_input_or_without_columns_or_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raises(ValueError, "two inputs", Log, {0: [1]})
    log = tmp_path / "log.parquet"
    polars.DataFrame({"value": [0, 1], "report": [0, 1]}).write_parquet(log)
    raises(DeploymentError, "needs a column 'input', got value, report", read_log, log)
    monkeypatch.setitem(sys.modules, "polars", None)
    raises(DeploymentError, r"install ldpaudit\[logs\]", read_log, log)
    for name in ("log.csv", "folder.parquet"):
        (tmp_path / name).mkdir()
        raises(DeploymentError, "needs a file, got a folder", read_log, tmp_path / name)


@pytest.mark.parametrize(("given", "users"), [((0, 2), 1), ((0, 1, 2), 1), ((2, 0), 2), ((0, 1), 2)])
def test_a_log_does_not_run_out_whichever_of_its_inputs_are_given(given: tuple[int, ...], users: int) -> None:
    rng, sizes = np.random.default_rng(4), {0: 4_000, 1: 4_000, 2: 1_000}
    log = Log({x: [x if rng.random() < 0.5 else int(y) for y in rng.integers(0, 3, size)] for x, size in sizes.items()})
    function: Callable[..., Any] = log
    found = audit(function, inputs=given, trials=log.trials_on(given, users), reading=Reading(users=users))
    assert found.trials == log.trials_on(given, users) > 400


def test_a_log_is_not_copied_and_an_input_that_is_not_in_it_is_said_to_be_none_of_it() -> None:
    for single in (Log({0: [0], 1: [1]}), Program("cat")):
        raises(TypeError, "use threads", pickle.dumps, single)
    for inputs in ([0, 7], [0, [1]]):
        log = Log({0: [0], 1: [1]})
        for ask in (lambda log=log, x=inputs: log.trials_on(x), lambda log=log, x=inputs: audit(log, inputs=x)):
            raises(ImplementationError, r"^on input .*: the log has no reports on it, only on 0, 1$", ask)


def test_a_log_is_read_as_spreadsheets_and_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("input, report\n0, 1\n[1], 0\n", encoding="utf-8-sig")
    log = read_log(path)
    assert log(0, 1, RNG) == [1]
    assert log([1], 1, RNG) == [0]
    raises(ImplementationError, r"^on input 2: the log has no reports on it, only on 0, '\[1\]'$", log, 2, 1, RNG)


def test_of_more_than_two_inputs_all_that_have_reports_enough_are_compared(tmp_path: Path) -> None:
    fair = [(x, i % 2) for i in range(3000) for x in (0, 1)]
    rare = rows(tmp_path, [*fair, *((2, 7) for _ in range(1500))])
    stdout(run("audit", f"log:{rare}", "--epsilon", "1"), 1)
    rarer = rows(tmp_path, [*fair, *((2, 7) for _ in range(100))])
    done = run("audit", f"log:{rarer}", "--epsilon", "1")
    assert done.returncode == 0
    assert "left out for having too few reports: 1 inputs, such as 2; --inputs takes any" in done.stderr


def test_a_log_that_is_sorted_by_its_reports_hides_nothing(tmp_path: Path) -> None:
    made = [(x, x if i % 4 else 1 - x) for i in range(4000) for x in (0, 1)]
    log = read_log(rows(tmp_path, [(x, y) for said in (0, 1) for x, y in made if y == said]))
    assert audit(log, inputs=[0, 1], epsilon=0.5, trials=log.trials).refutes(0.5)
    assert sorted(log.reports[0]) == sorted(y for x, y in made if x == 0)


OUT_OF_RANGE = r"needs a readable Parquet file: .*out.of.range"


@pytest.mark.parametrize(("column", "value", "says"), [
    ("input", [b"a"] * 9, "written as JSON, got bytes"),
    ("input", [datetime.date(2020, 1, 1)] * 9, "written as JSON, got date"),
    *(("report", polars.Series([day] * 9, dtype=polars.Int32).cast(polars.Date), OUT_OF_RANGE)
      for day in (2 * 10**7, 2**30)),  # for Python; and for polars, which panics
], ids=["bytes", "date", "for Python", "for polars"])  # fmt: skip
def test_what_is_no_json_or_no_date_is_an_error_of_the_log(column: str, value: Any, says: str, tmp_path: Path) -> None:
    polars.DataFrame({"input": [0] * 9, "report": [1] * 9} | {column: value}).write_parquet(tmp_path / "log.parquet")
    raises(DeploymentError, says, read_log, tmp_path / "log.parquet")


def test_a_parquet_log_that_was_cut_off_is_an_error_of_one_line(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    polars.DataFrame({"input": [0, 1] * 200, "report": [[i % 3, 2] for i in range(400)]}).write_parquet(log)
    whole = log.read_bytes()
    for size in range(0, len(whole), 40):
        for spoilt in (whole[:size], whole[:size] + b"PAR1", whole[:size] + bytes(len(whole) - size)):
            log.write_bytes(spoilt)
            raises(DeploymentError, r"^[^\n]*needs a readable Parquet file[^\n]*$", read_log, log)
    fails_in_one_line(run("audit", f"log:{log}", "--epsilon", "1"), "needs a readable Parquet file")


class PanicException(BaseException):
    """What polars raises where its own code fails."""


def _panics(*_: Any) -> Any:
    os.write(2, b"thread 'main' panicked at\nnote: run with a backtrace\n")
    raise PanicException("assertion failed\n left: 1\n right: 2")


def test_threads_that_read_at_once_leave_standard_error_as_it_was(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    polars.DataFrame({"input": [0, 1] * 500, "report": [1, 0] * 500}).write_parquet(tmp_path / "log.parquet")
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert len({str(log.reports) for log in pool.map(read_log, [tmp_path / "log.parquet"] * 8)}) == 1
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"


def test_an_interruption_is_no_fault_of_a_log_and_a_panic_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(polars, "scan_parquet", Mock(side_effect=KeyboardInterrupt))
    raises(KeyboardInterrupt, "", read_log, tmp_path / "log.parquet")
    monkeypatch.setattr(polars, "scan_parquet", _panics)
    with pytest.raises(DeploymentError, match=r"needs a readable Parquet file: assertion failed left: 1 right: 2$"):
        read_log(tmp_path / "log.parquet")
    assert capfd.readouterr().err == ""


Reader = Callable[[Path], Any]
ODD = ["a\u2028b", "a\u0085b", "a\fb", "a\vb", "a\x1cb", "a\x1eb", "a\u2029b", " ", "a\tb", "\ufeffa", "naïve"]
"""Values that hold what `str.splitlines` takes for the end of a line, and others that look like none."""


def of_a_part(file: Path) -> list[str]:
    (part,) = shards([file]).parts
    held = part.counts()
    return [value for value, users in zip(held.values.tolist(), held.holders.tolist(), strict=True) for _ in range(users)]


def of_a_comparison(file: Path) -> list[str]:
    held = read(file)
    return [held.values[place] for place in held.places.tolist()]


READERS: dict[str, Reader] = {"run": of_a_part, "compare": of_a_comparison}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["a.txt", "a", "a.TXT", "a.csv", "a.CSV"])
@pytest.mark.parametrize("reader", READERS)
def test_a_user_is_counted_once_whatever_the_value_holds(reader: str, name: str, ending: str, tmp_path: Path) -> None:
    users = ["plain", *ODD] * 500
    text = ending.join([*(["word"] if ".c" in name.lower() else []), *users]) + ending
    for content in (text, text.removesuffix(ending), "\ufeff" + text):
        (tmp_path / name).write_bytes(content.encode())
        assert sorted(READERS[reader](tmp_path / name)) == sorted(users)


def test_a_csv_value_may_be_empty_and_have_lines_and_a_file_without_columns_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'w,n\n"",3\n"two\r\nlines",4\n"one\rreturn", 5 \n')
    (part,) = shards([tmp_path], users="n").parts
    held = dict(zip(part.counts().values.tolist(), part.counts().holders.tolist(), strict=True))
    assert held == {"": 3, "two\r\nlines": 4, "one\rreturn": 5}
    (tmp_path / "a.csv").rename(tmp_path / "a.txt")
    for ask in (lambda: read(tmp_path / "a.txt", "w"), lambda: shards([tmp_path], "w").parts[0].counts()):
        raises(DeploymentError, r"a\.txt: needs a file with columns, CSV or Parquet, for 'w'", ask)


BAD = [
    ("a.txt", b"a\n\nb\n", ":2: needs a value in every line, got an empty one"),
    ("a.txt", b"a\nb\n\n", ":3: needs a value in every line, got an empty one"),
    ("a.txt", b"a\nb\rc\nd\n", ":2: needs a value in every line, got a carriage return within one"),
    ("a.txt", b"a\nb\n\xff\n", ":3: needs text in UTF-8"),
    ("a.txt", b"ARROW1\0\0\n1\n", ":1: needs text, got a NUL character"),
    ("a.csv", b"w\na\n\nb\n", ":3: needs exactly one value in each column, got an empty line"),
    ("a.csv", b"w,x\na,1\nb\n", ":3: needs exactly one value in each column, got 1 for 2 columns"),
    ("a.csv", b"w,x\na,1\nb,2,3\n", ":3: needs exactly one value in each column, got 3 for 2 columns"),
    ("a.csv", b"w,w\na,1\n", ":1: needs each column once, got 'w' twice"),
    ("a.csv", b'w,x\na,1\n"b,2\nc,3\n', "needs a readable CSV file: unexpected end of data"),
    ("a.csv", b'w,x\n"a"b,1\n', ":2: needs a readable CSV file"),
    ("a.csv", b"w,x\na\rb,1\n", ":2: needs a readable CSV file"),
    ("a.csv", b"w,x\na,1\nb,\0\n", ":3: needs text, got a NUL character"),
    ("a.csv", b"w\na\n\xff\n", ":3: needs text in UTF-8"),
    ("a.arrow", b"ARROW1", ": needs a readable Arrow file"),
    ("a.tsv", b"w\tx\n", ": needs a file that ends in .csv or .parquet or .arrow or .feather or .txt, got .tsv"),
    ("a.csv.gz", b"w", ": needs a readable file of users' values: Not a gzipped file"),
    ("a.csv.gz", gzip.compress(b"w\na\n" * 99, mtime=0)[:-9], ": needs a readable file of users' values: needs a whole gzip file"),
    ("a.txt.zst", b"w", ": needs a readable file of users' values: needs a whole zstd file"),
]


@pytest.mark.parametrize(("name", "content", "says"), BAD)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_record_is_an_error_with_its_line(reader: str, name: str, content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    raises(DeploymentError, re.escape(f"{name}{says}" if says[0] == ":" else says), READERS[reader], tmp_path / name)


@pytest.mark.parametrize(("name", "content", "says"), [each for each in BAD if each[1].startswith(b"w,")])
def test_a_log_s_records_are_the_same(name: str, content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    raises(DeploymentError, re.escape(says), read_log, tmp_path / name, "w", "x")


def test_a_log_s_format_is_what_its_name_ends_in(tmp_path: Path) -> None:
    for name in ("a.CSV", "a.csv"):
        (tmp_path / name).write_text("input,report\n0,a\u2028b\n1,c\n")
        assert read_log(tmp_path / name).reports == {0: ["a\u2028b"], 1: ["c"]}
    (tmp_path / "a.arrow").write_text("input,report\n0,1\n1,1\n")
    raises(DeploymentError, r"a\.arrow: needs a file that ends in \.csv or \.parquet, got \.arrow", read_log, tmp_path / "a.arrow")


def test_parquet_s_nulls_are_no_users_of_a_value_called_none(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.DataFrame({"w": ["a", None, "b"]}).write_parquet(tmp_path / "a.PARQUET")
    polars.DataFrame({"w": [["a", "b"], ["c"]]}).write_parquet(tmp_path / "b.parquet")
    for reader in READERS.values():
        raises(DeploymentError, "a value in every row, got 1 without", reader, tmp_path / "a.PARQUET")
    raises(DeploymentError, "one value per user, got", of_a_comparison, tmp_path / "b.parquet")


@pytest.mark.parametrize("number", ["1_000", "2.5", "", "-2", "true", "1e3", "\u0663", "0x10"])
def test_a_number_of_users_is_written_in_digits(number: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"w,n\na,7\nb,{number}\n")
    raises(DeploymentError, r"a\.csv:3: needs integers >= 0 for numbers of users", shards([tmp_path], users="n").parts[0].counts)


@pytest.mark.parametrize("header", ["x" * 9000, '"a\nb",c', "x" * 9000 + "," + "x" * 9000, "\x1b[2J,c"])
def test_an_error_about_columns_is_one_short_line_whatever_they_are_called(header: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\n{','.join('1' * len(header.split(',')))}\n")
    for ask in (lambda: read(tmp_path / "a.csv", "w"), lambda: shards([tmp_path], "w").parts[0].counts(),
                lambda: read_log(tmp_path / "a.csv")):  # fmt: skip
        said = str(raises(DeploymentError, "", ask)).removeprefix(str(tmp_path))
        assert said.isprintable()
        assert len(said) < 400


def test_everything_in_a_folder_is_a_part_or_an_error(tmp_path: Path) -> None:
    for name in ("b.txt", "a.CSV", ".a.csv.crc", "_SUCCESS", ".hidden"):
        (tmp_path / name).write_text("w\na\n")
    assert [str(part) for part in shards([tmp_path]).parts] == [str(tmp_path / name) for name in ("a.CSV", "b.txt")]
    for odd, says in (("more.doc", "got what is none"), ("words", "got what is none"), ("sub", "got a folder within it"),
                      ("c.csv", "got a folder within it")):  # fmt: skip
        made = tmp_path / odd
        made.mkdir() if "folder" in says else made.touch()
        raises(DeploymentError, rf"{re.escape(str(made))}: needs a folder of files that end in .*, {says}", shards, [tmp_path])
        made.rmdir() if "folder" in says else made.unlink()


def test_a_file_is_no_two_parts(tmp_path: Path) -> None:
    one, other, link = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "link.txt"
    one.write_text("a\n")
    other.write_text("a\n")
    link.symlink_to(one)
    assert len(shards([one, other]).parts) == 2
    for twice in ([one, one], [one, tmp_path / "." / "a.txt"], [one, other, link], [tmp_path / "a.txt", tmp_path]):
        raises(DeploymentError, r"needs each file once, got the same file as .*a\.txt", shards, twice)
