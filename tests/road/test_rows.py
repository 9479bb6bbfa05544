"""A record is the same to all that read users' data, and whatever is none is an error that names the file and the line."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ldpaudit.adapters.logs import read_log
from ldpaudit.errors import DeploymentError
from ldpaudit.files.user_data import read
from ldpaudit.workers.shards import shards

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


def test_a_csv_value_may_be_empty_and_have_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'w,n\n"",3\n"two\r\nlines",4\n"one\rreturn", 5 \n')
    (part,) = shards([tmp_path], users="n").parts
    held = dict(zip(part.counts().values.tolist(), part.counts().holders.tolist(), strict=True))
    assert held == {"": 3, "two\r\nlines": 4, "one\rreturn": 5}


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
    with pytest.raises(DeploymentError, match=re.escape(f"{name}{says}" if says[0] == ":" else says)):
        READERS[reader](tmp_path / name)


@pytest.mark.parametrize(("name", "content", "says"), [each for each in BAD if each[1].startswith(b"w,")])
def test_a_log_s_records_are_the_same(name: str, content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DeploymentError, match=re.escape(says)):
        read_log(tmp_path / name, "w", "x")


def test_a_log_s_format_is_what_its_name_ends_in(tmp_path: Path) -> None:
    for name in ("a.CSV", "a.csv"):
        (tmp_path / name).write_text("input,report\n0,a\u2028b\n1,c\n")
        assert read_log(tmp_path / name).reports == {0: ["a\u2028b"], 1: ["c"]}
    (tmp_path / "a.arrow").write_text("input,report\n0,1\n1,1\n")
    with pytest.raises(DeploymentError, match=r"a\.arrow: needs a file that ends in \.csv or \.parquet, got \.arrow"):
        read_log(tmp_path / "a.arrow")


def test_parquet_s_nulls_are_no_users_of_a_value_called_none(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.DataFrame({"w": ["a", None, "b"]}).write_parquet(tmp_path / "a.PARQUET")
    polars.DataFrame({"w": [["a", "b"], ["c"]]}).write_parquet(tmp_path / "b.parquet")
    for reader in READERS.values():
        with pytest.raises(DeploymentError, match="a value in every row, got 1 without"):
            reader(tmp_path / "a.PARQUET")
    with pytest.raises(DeploymentError, match="one value per user, got"):
        of_a_comparison(tmp_path / "b.parquet")


@pytest.mark.parametrize("number", ["1_000", "2.5", "", "-2", "true", "1e3", "\u0663", "0x10"])
def test_a_number_of_users_is_written_in_digits(number: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"w,n\na,7\nb,{number}\n")
    with pytest.raises(DeploymentError, match=r"a\.csv:3: needs integers >= 0 for numbers of users"):
        shards([tmp_path], users="n").parts[0].counts()


def test_a_column_of_a_file_without_columns_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\nb\n")
    for ask in (lambda: read(tmp_path / "a.txt", "w"), lambda: shards([tmp_path], "w").parts[0].counts()):
        with pytest.raises(DeploymentError, match=r"a\.txt: needs a file with columns, CSV or Parquet, for 'w'"):
            ask()


@pytest.mark.parametrize("header", ["x" * 9000, '"a\nb",c', "x" * 9000 + "," + "x" * 9000, "\x1b[2J,c"])
def test_an_error_about_columns_is_one_short_line_whatever_they_are_called(header: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\n{','.join('1' * len(header.split(',')))}\n")
    for ask in (lambda: read(tmp_path / "a.csv", "w"), lambda: shards([tmp_path], "w").parts[0].counts(),
                lambda: read_log(tmp_path / "a.csv")):  # fmt: skip
        with pytest.raises(DeploymentError) as caught:
            ask()
        said = str(caught.value).removeprefix(str(tmp_path))
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
        with pytest.raises(DeploymentError, match=rf"{re.escape(str(made))}: needs a folder of files that end in .*, {says}"):
            shards([tmp_path])
        made.rmdir() if "folder" in says else made.unlink()


def test_a_file_is_no_two_parts(tmp_path: Path) -> None:
    one, other, link = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "link.txt"
    one.write_text("a\n")
    other.write_text("a\n")
    link.symlink_to(one)
    assert len(shards([one, other]).parts) == 2
    for twice in ([one, one], [one, tmp_path / "." / "a.txt"], [one, other, link], [tmp_path / "a.txt", tmp_path]):
        with pytest.raises(DeploymentError, match=r"needs each file once, got the same file as .*a\.txt"):
            shards(twice)
