"""Data anywhere, compressed or not, in any parts: every estimate and every run is that of one plain file, to the last bit."""

import gzip
import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import polars
import pytest
import zstandard

from ldpaudit.adapters.places import place
from ldpaudit.errors import DeploymentError
from ldpaudit.files.reports import Tally, listed
from ldpaudit.mechanism import Mechanism, plain
from ldpaudit.mechanisms import Bitstogram, DBitFlip, Geometric, Hashtogram, JLHeavyHitter, LocalHashing, UnaryEncoding
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch
from ldpaudit.mechanisms.gaussian_report import GaussianReport
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.studies.estimation import Estimates
from ldpaudit.workers.experiment import Execution
from ldpaudit.workers.runs import run
from ldpaudit.workers.shards import shards
from ldpaudit.workers.worker_processes import Processes
from tests import helpers
from tests.helpers import lay_out, raises, same_on_a_cluster, slow, stdout

USERS = 900
SUMMED: list[Mechanism] = [
    KaryRandomizedResponse(4, Fraction(1, 2)), UnaryEncoding(3, Fraction(3, 4), Fraction(1, 5)), Laplace(Fraction(7, 3)),
    Geometric(3, Fraction(1, 2)), GaussianReport(Fraction(7)), LocalHashing(40, Fraction(3, 4), 3, 41),
    CountMeanSketch(8, 5, Fraction(3, 4), 40), Bitstogram.for_epsilon(4, users=1 << 10, domain=1 << 20),
    DBitFlip(40, 7, Fraction(3, 4)), LaplaceHistogram(5, Fraction(3)), JLHeavyHitter(16, 6, Fraction(2)),
    Hashtogram.for_epsilon(1, users=1 << 20, domain=1 << 10),
]  # fmt: skip
"""Of each way to add up views, and of integers and of floats."""


def compressed(text: str, name: str) -> bytes:
    ways: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstandard.compress}
    return ways.get(Path(name).suffix, bytes)(text.encode())


@pytest.fixture
def remote() -> Iterator[Path]:
    """A folder of a remote file system, which is this process' memory."""
    yield place("memory://bucket")
    fsspec.filesystem("memory").rm("/", recursive=True)


def read(m: Mechanism, folder: Path, execution: Execution | None = None) -> tuple[bytes, Tally]:
    tally = Tally()
    found = Estimates.of_files(m, listed([folder]), tally, execution or Execution())
    return np.ascontiguousarray(found.counts).tobytes() + str(found.values).encode(), tally


def sampled(m: Mechanism) -> list[Any]:
    if isinstance(m, Bitstogram):
        return list(map(plain, m.collect([5] * 700 + [9] * 200, np.random.default_rng(1))))
    rng = np.random.default_rng(1)
    return [*map(plain, np.concatenate([m.sample(m.inputs[0], USERS // 3, rng), m.sample(m.inputs[-1], 2 * USERS // 3, rng)]))]


@pytest.mark.parametrize("m", SUMMED, ids=lambda m: type(m).__name__)
def test_estimates_of_parts_are_those_of_one_file_to_the_last_bit(m: Mechanism, tmp_path: Path) -> None:
    reports = sampled(m)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder, ends in ((whole, [0, USERS]), (parts, [0, 1, 333, 340, 871, USERS])):
        for start, end in pairwise(ends):
            (made := folder / f"day={start:04}").mkdir(parents=True)
            lists = [list(each) if isinstance(each, tuple) else each for each in reports[start:end]]
            polars.DataFrame({"report": lists}).write_parquet(made / "part.parquet")
    alone, tally = read(m, whole)
    assert tally.accepted == USERS
    assert read(m, parts)[0] == alone
    with ThreadPoolExecutor(2) as pool:
        assert read(m, parts, Execution(pool))[0] == alone
    found = np.frombuffer(alone[: 8 * np.size(m.estimate(np.array(reports)))])
    assert found == pytest.approx(np.ravel(m.estimate(np.array(reports))))


def test_a_sum_of_floats_is_the_float_next_to_the_true_sum() -> None:
    m = Laplace(Fraction(1))
    views = np.array([1e300, 5e-324, 1.0, -1e300, 1e-300, 2.0**-1022, -3.5])
    assert [Estimates.of_reports(m, [views[:i], views[i:]]).counts.tolist() for i in range(1, 7)] == [[-2.5]] * 6
    assert Estimates.of_reports(m, [views[1:2], views[1:2]]).counts.tolist() == [1e-323]
    big = Geometric(1, Fraction(1, 2))
    assert Estimates.of_reports(big, [np.array([2**62, 2**62]), np.array([2**62, -1])]).counts.tolist() == [float(3 * 2**62 - 1)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.ndjson.zst", "a.csv.gz", "a.csv.ZST"])
def test_compressed_reports_here_and_elsewhere_are_read_alike(name: str, tmp_path: Path, remote: Path) -> None:
    m = SUMMED[0]
    text = ("report\n" if ".csv" in name else "") + "".join(f"{each}\n" for each in sampled(m))
    content = compressed(text, name.lower())
    (tmp_path / name).write_bytes(content)
    (remote / name).write_bytes(content)
    lay_out(tmp_path, {"plain/a.csv": text if ".csv" in name else "report\n" + text})
    assert read(m, tmp_path / name)[0] == read(m, remote)[0] == read(m, tmp_path / "plain")[0]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "parquet.gz"])
def test_tables_of_a_remote_folder_are_read_and_copies_are_deleted(
    ending: str, tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scratch := tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    words, reports = ["sun"] * 60 + ["moon"] * 40, sampled(SUMMED[1])
    for folder in (tmp_path / "data", remote):
        for part in range(3):
            (made := folder / f"part={part}").mkdir(parents=True)
            held, told = polars.DataFrame({"word": words}), polars.DataFrame({"report": list(map(list, reports[part::3]))})
            for table, kind in ((held, "words"), (told, "reports")):
                (at := made / kind).mkdir()
                write = table.write_ipc if ending == "arrow" else table.write_parquet
                write(tmp_path / "table")
                content = (tmp_path / "table").read_bytes()
                (at / f"a.{ending}").write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    here, there = ([each for part in range(3) for each in (f"{folder}/part={part}",)] for folder in (tmp_path / "data", remote))
    both = [Estimates.of_files(SUMMED[1], listed([f"{each}/reports" for each in some]), Tally()).counts for some in (here, there)]
    assert both[0].tobytes() == both[1].tobytes()
    m = TrieHeavyHitter(users=300, batch=150, threshold=10, levels=5)
    tries = [run(m, shards([f"{each}/words" for each in some], end="$"), seed=1) for some in (here, there)]
    assert "moon$" in tries[0]
    assert tries[0] == tries[1]
    assert not [*scratch.iterdir()]


@pytest.mark.usefixtures("in_process")
def test_a_comparison_reads_data_elsewhere(tmp_path: Path, remote: Path) -> None:
    printed = []
    for folder in (tmp_path, remote):
        (folder / "words.txt.gz").write_bytes(gzip.compress(b"to\nbe\nor\nnot\nto\nbe\n"))
        asked = ["--epsilon", "1", "--only", "randomized_response", "--format", "json"]
        rows = json.loads(stdout(helpers.run("compare", "--data", f"{folder}/words.txt.gz", *asked)))["rows"]
        printed.append([(row["system"], row["error"]) for row in rows])
    assert printed[0] == printed[1]


def test_partitions_of_users_values_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for day in (2, 1):
        (tmp_path / f"day={day}" / "hour=0").mkdir(parents=True)
        (tmp_path / f"day={day}" / "hour=0" / "a.txt.gz").write_bytes(gzip.compress(b"word\n" * day))
    (tmp_path / "_SUCCESS").touch()
    assert [part.counts().users for part in shards([tmp_path]).parts] == [1, 2]


class Interrupted(Executor):
    """Does what it is given at once, but for the last of so many calls."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.left -= 1
        done = Future[Any]()
        done.set_result(fn(*args)) if self.left else done.set_exception(KeyboardInterrupt())
        return done


def named(folder: Path) -> None:
    """Reports with ids, some of which were there before: in this file, and in another one."""
    held: list[list[Any]] = [[1, 2, 3], [4, 2, 4], [5, "1", 1]]
    for part, ids in enumerate(held):
        records = [{"report": i % 4, "id": each} for i, each in enumerate(ids)]
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records) + "9\n")


def test_ids_are_compared_over_parts_whoever_reads_them_and_after_a_checkpoint(tmp_path: Path) -> None:
    (folder := tmp_path / "data").mkdir()
    named(folder)
    m = SUMMED[0]
    alone, tally = read(m, folder)
    assert (tally.accepted, tally.malformed, tally.duplicate) == (6, 3, 3)
    state = tmp_path / "state.json"
    raises(KeyboardInterrupt, "", read, m, folder, Execution(Interrupted(3), state))
    assert json.loads(state.read_text())["state"]["files"] == 2
    calls = Interrupted(9)
    found, again = read(m, folder, Execution(calls, state))
    assert calls.left == 8
    assert (found, again.state()) == (alone, tally.state())
    with ThreadPoolExecutor(2) as pool:
        found, again = read(m, folder, Execution(pool))
    assert (found, again.state()) == (alone, tally.state())
    (folder / "1.jsonl").write_text("1\n")
    raises(ValueError, "needs the checkpoint of this estimate, got another one", read, m, folder, Execution(checkpoint=state))


class Fatal(Processes):
    """Workers of which the first to read a file dies over it."""

    def __init__(self, marks: Path) -> None:
        super().__init__(2)
        self.marks = marks

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(_once_fatal, self.marks, fn, *args)


def _once_fatal(marks: Path, fn: Callable[..., Any], unit: Any) -> Any:
    try:
        (marks / "died").touch(exist_ok=False)
    except FileExistsError:
        return fn(unit)
    return os.kill(os.getpid(), 9)


@pytest.mark.parametrize("m", [SUMMED[2], slow(SUMMED[0]), slow(SUMMED[5])], ids=lambda m: type(m).__name__)
def test_a_killed_worker_changes_no_estimate(m: Mechanism, tmp_path: Path) -> None:
    (folder := tmp_path / "data").mkdir()
    for part in range(4):
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in sampled(m)[part::4]))
    with Fatal(tmp_path) as pool:
        assert read(m, folder, Execution(pool))[0] == read(m, folder)[0]
    assert (tmp_path / "died").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of dask and tornado, when a worker dies
def test_a_cluster_estimates_the_same_also_where_a_worker_dies(tmp_path: Path) -> None:
    for part in range(16):
        reports = SUMMED[0].sample(part % 4, 50_000, np.random.default_rng(part))
        polars.DataFrame({"report": reports}).write_parquet(tmp_path / f"{part:02}.parquet")
    same_on_a_cluster(lambda by: read(SUMMED[0], tmp_path, by)[0], lambda _, files: files == 2)


@pytest.mark.parametrize(("name", "missing", "says"), [
    ("s3://bucket/a", "s3fs", r"^s3://bucket/a: needs a package for s3: install ldpaudit\[s3\]$"),
    ("memory://bucket/a", "upath", r"^memory://bucket/a: needs a package for memory: install ldpaudit\[remote\]$"),
    ("nowhere://a", "", "nowhere://a: needs a scheme that fsspec knows"),
])  # fmt: skip
def test_a_place_that_is_out_of_reach_is_an_error_that_names_the_extra(
    name: str, missing: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing or "none", None)
    raises(DeploymentError, says, place, name)


def test_what_is_not_there_is_an_error_of_a_line(tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raises(DeploymentError, r"memory://bucket/a\.csv: needs a readable file of reports", read, SUMMED[0], remote / "a.csv")
    raises(DeploymentError, "memory://bucket/none: needs files, or a folder", shards, ["memory://bucket/none"])
    (tmp_path / "a.txt.zst").write_bytes(zstandard.compress(b"a\n"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DeploymentError, match=r"files that end in .zst need zstandard: install ldpaudit\[remote\]"):
        shards([tmp_path]).parts[0].counts()
