"""``ldpaudit run``: a folder of words in, a trie out, the same from one process, several and a file half done."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import scale
from tests.helpers import fails_in_one_line, lay_out, run, stdout, within

WORDS = ["sun"] * 60 + ["moon"] * 40 + ["mars"] * 3
SYSTEM = ["trie_heavy_hitter", "users=206", "batch=150", "threshold=10", "levels=5"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lay_out(tmp_path, {"data/a.txt": "\n".join(WORDS) + "\n", "data/b.csv": "word\n" + "\n".join(WORDS) + "\n"})
    return tmp_path / "data"


def test_a_folder_of_words_in_a_trie_out(folder: Path) -> None:
    where = ["--data", str(folder), "--end", "$", "--checkpoint", str(folder.parent / "run.json"), "--seed", "1"]
    said, first, *lines = stdout(run("run", *SYSTEM, *where)).splitlines()
    assert said == "simulation: whoever knows the seed, 1, can draw every coin again; leave --seed out to deploy"
    assert first.endswith("levels=5, unit=1, words=1, counts=0): 9 found")
    assert lines == ["m", "mo", "moo", "moon", "moon$", "s", "su", "sun", "sun$"]
    output = folder.parent / "found.json"
    data = json.loads(stdout(run("run", *SYSTEM, *where, "--workers", "2", "--format", "json", "--output", str(output))))
    assert (data, data["found"]) == (json.loads(output.read_text()), lines)
    assert (data["simulation"], data["seed"]) == (True, 1)


def test_a_run_as_it_would_be_deployed_has_secret_coins_and_no_seed(folder: Path) -> None:
    (folder / "b.csv").unlink()
    (folder / "a.txt").write_text("".join(f"{i % 8}\n" for i in range(400)))
    output, found = folder.parent / "found.json", list[str]()
    for _ in range(2):
        system = ["sign_oracle", "users=400", "domain=8", "p=3/4", "--data", str(folder)]
        data = json.loads(stdout(run("run", *system, "--format", "json", "--output", str(output))))
        assert data == json.loads(output.read_text())
        assert (data.keys(), data["simulation"]) == ({"system", "simulation", "found"}, False)
        found.append(str(data["found"]))
        first, *lines = stdout(run("run", *system)).splitlines()
        assert first.startswith("SignOracle(")
        found.append(str(lines))
    assert len(set(found)) == len(found)


def test_a_system_for_numbers_names_words_and_the_help_says_who_a_user_is(folder: Path) -> None:
    (folder / "c.csv").write_text("w,n\nsunflower,40000\nmoon,30000\nmars,50\n")
    system = ["tree_histogram", "users=70050", "domain=2**56", "width=8", "p=1-1e-9"]
    asked = ("--data", str(folder / "c.csv"), "--counts", "n", "--numbered", "--seed", "0")
    _, _, *lines = stdout(run("run", *system, *asked)).splitlines()
    found = {word: float(number) for word, number in (line.rsplit("  ", 1) for line in lines)}
    assert list(found) == ["sunflow", "moon"]
    assert abs(found["moon"] - 30_000) < 3_000
    text = " ".join(stdout(run("run", "--help")).split())
    for record in ("a line of a text file", "a row of a CSV file", "a row of a Parquet file"):
        assert record in text


CODE = """\
from concurrent.futures import ThreadPoolExecutor as threads


def flip(x, size, rng):
    return [x if coin < 0.8 else 1 - x for coin in rng.random(size)]


def fails():
    raise OSError("no nodes")
"""


@pytest.mark.parametrize("who", [pytest.param(["--workers", "2"], marks=pytest.mark.slow), ["--cluster", "flipping:threads"]])
def test_an_audit_a_run_and_an_estimate_are_the_same_whoever_works(
    who: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "flipping", raising=False)
    lay_out(folder.parent, {"flipping.py": CODE, **{f"{part}.csv": "report\n0\n2\n1\n2\n" for part in range(3)}})
    audit = ["audit", "flipping:flip", "--inputs", "0", "--inputs", "1", "--trials", "5000"]
    for arguments in (audit, ["run", *SYSTEM, "--data", "data", "--seed", "1"],
                      ["estimate", "0.csv", "1.csv", "2.csv", "randomized_response", "k=4", "p=3/4"]):  # fmt: skip
        alone, helped = (stdout(within(folder.parent, *arguments, *more, "--format", "json")) for more in ([], who))
        assert alone == helped


@pytest.mark.parametrize(("name", "says"), [
    ("flipping:fails", "--cluster flipping:fails: needs an executor of concurrent.futures: no nodes"),
    ("flipping:dict", "cannot import"), ("builtins:dict", "needs an executor of concurrent.futures, got {}"),
])  # fmt: skip
def test_a_cluster_that_is_none_is_an_error_of_a_line(name: str, says: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "flipping", raising=False)
    lay_out(folder.parent, {"flipping.py": CODE})
    fails_in_one_line(within(folder.parent, "run", *SYSTEM, "--data", "data", "--cluster", name), says)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of dask and tornado
def test_a_dask_cluster_s_address_is_enough(folder: Path) -> None:
    pytest.importorskip("distributed")
    with scale.cluster() as client:
        ways: list[list[str]] = [[], ["--cluster", client.scheduler.address], ["--dask", client.scheduler.address]]
        assert len({stdout(run("run", *SYSTEM, "--data", str(folder), "--seed", "1", *more)) for more in ways}) == 1


@pytest.mark.parametrize(("options", "says"), [
    ([], "run needs --data FOLDER or --data FILE"), (["--data", "nowhere"], "nowhere: needs files, or a folder of files"),
    (["--data", ".", "--dask", "a", "--workers", "2"], "run needs --workers or --dask, got both"),
])  # fmt: skip
def test_what_cannot_be_run_is_an_error_of_a_line(options: list[str], says: str) -> None:
    done = run("run", *SYSTEM, *options)
    assert (done.returncode, done.stdout, says in done.stderr) == (2, "", True)
