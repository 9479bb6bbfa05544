"""``ldpaudit run``: a folder of words in, a trie out, the same from one process, several and a file half done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldpaudit.commands import run

WORDS = ["sun"] * 60 + ["moon"] * 40 + ["mars"] * 3
SYSTEM = ["trie_heavy_hitter", "users=206", "batch=150", "threshold=10", "levels=5"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.txt").write_text("\n".join(WORDS) + "\n")
    (data / "b.csv").write_text("word\n" + "\n".join(WORDS) + "\n")
    return data


def test_a_folder_of_words_in_a_trie_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--data", str(folder), "--end", "$", "--checkpoint", str(folder.parent / "run.json"), "--seed", "1"]
    assert run(["run", *SYSTEM, *where]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith("levels=5, unit=1, words=1, counts=0): 9 found")
    assert lines == ["m", "mo", "moo", "moon", "moon$", "s", "su", "sun", "sun$"]
    output = folder.parent / "found.json"
    assert run(["run", *SYSTEM, *where, "--workers", "2", "--format", "json", "--output", str(output)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads(output.read_text())
    assert data["found"] == lines


def test_a_system_for_numbers_names_words_by_their_first_bytes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "c.csv").write_text("w,n\nsunflower,40000\nmoon,30000\nmars,50\n")
    system = ["tree_histogram", "users=70050", "domain=2**56", "width=8", "p=1-1e-9"]
    assert run(["run", *system, "--data", str(folder / "c.csv"), "--counts", "n", "--numbered"]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    found = {word: float(number) for word, number in (line.rsplit("  ", 1) for line in lines)}
    assert list(found) == ["sunflow", "moon"]
    assert abs(found["moon"] - 30_000) < 3_000


@pytest.mark.parametrize(
    ("options", "says"),
    [([], "run needs --data FOLDER or --data FILE"), (["--data", "nowhere"], "nowhere: needs files, or a folder of files"),
     (["--data", ".", "--dask", "a", "--workers", "2"], "run needs --workers or --dask, got both")],
)  # fmt: skip
def test_what_cannot_be_run_is_an_error_of_a_line(options: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", *SYSTEM, *options]) == 2
    told = capsys.readouterr()
    assert says in told.err
    assert not told.out
