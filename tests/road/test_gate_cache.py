"""What a gate need not do again, and where it keeps it: whole, sealed, and for nobody else."""

import dataclasses
import json
import os
import platform
import shutil
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from ldpaudit import Mechanism, Run, load
from ldpaudit.commands import options
from ldpaudit.errors import DeploymentError
from ldpaudit.files.whole import write_whole
from ldpaudit.gate import cache, checking
from ldpaudit.gate.cache import FOLDER, MOST, Cache, DamagedEntryError, _make, secret_of
from ldpaudit.report.gate import GateFormat
from ldpaudit.workers.worker_processes import Crew, Task
from tests.helpers import deployment, lay_out, raises, some
from tests.road import worker_calls
from tests.road.test_gate import DEPLOYMENT, target

SECRET = bytes(32)
CONFIG = 'deployments = ["*.ldp.toml"]\ntrials = 1000\n'
MATRIX = "3/4,1/4\n1/4,3/4\n"
FILES = {
    "matrix.csv": MATRIX,
    "matrix.ldp.toml": deployment('kind = "channel"\nfile = "matrix.csv"', 'id = "report"\nepsilon = "log(3)"', "matrix"),
    "ours.ldp.toml": DEPLOYMENT.format(true=1, claimed=1),
    "ldpaudit.toml": CONFIG,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lay_out(tmp_path, FILES)
    return tmp_path


def checked(folder: Path, secret: bytes = SECRET) -> checking.Gate:
    path, config = checking.find_config(folder)
    return checking.check(folder, config, path, cache=Cache(folder / ".cache", secret))


def reused(result: checking.Gate) -> str:
    return str(result.reuse)


def remarks(result: checking.Gate) -> tuple[str, ...]:
    return some(result.reuse).remarks


def test_what_was_answered_before_says_the_same_to_the_byte_until_a_claim_breaks(folder: Path) -> None:
    first, second = checked(folder), checked(folder)
    assert (reused(first), reused(second)) == ("0 of 2 from the cache", "2 of 2 from the cache")
    assert first.findings == second.findings
    for each in set(GateFormat) - {GateFormat.markdown}:
        assert each.write(first) == each.write(second)
    assert remarks(first) == remarks(second) == ()
    assert ((folder / ".cache/.gitignore").read_text(), first.exit_code) == ("*\n", 0)
    lay_out(folder, {"matrix.csv": "1/8,7/8\n7/8,1/8\n"})
    changed, again = checked(folder), checked(folder)
    assert (changed.exit_code, reused(changed)) == (1, "1 of 2 from the cache")
    assert (again.exit_code, reused(again)) == (1, "2 of 2 from the cache"), "and no refutation is tried again until it passes"


def edited(name: str, text: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    return lambda folder, monkeypatch: lay_out(folder, {name: text})


def patched(where: object, name: str, value: object) -> Callable[[Path, pytest.MonkeyPatch], None]:
    return lambda folder, monkeypatch: monkeypatch.setattr(where, name, value)


def of_numpy(version: str, record: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    """As if numpy were installed with this version and these records of its files."""
    found, numpy = metadata.distribution, SimpleNamespace(version=version, read_text=lambda _: record)
    return patched(metadata, "distribution", lambda name: numpy if name == "numpy" else found(name))


NUMPY = metadata.distribution("numpy")
RECORD = NUMPY.read_text("RECORD") or ""
CHANGES: dict[str, tuple[Callable[[Path, pytest.MonkeyPatch], None], str]] = {
    "a comment in the deployment": (edited("ours.ldp.toml", DEPLOYMENT.format(true=1, claimed=1) + "# more\n"), "1 of 2"),
    "a claim": (edited("ours.ldp.toml", DEPLOYMENT.format(true=1, claimed=2)), "1 of 2"),
    "a file that a deployment names": (edited("matrix.csv", "2/3,1/3\n1/3,2/3\n"), "1 of 2"),
    "how a file that a deployment names is written": (edited("matrix.csv", MATRIX.replace(",", ", ")), "1 of 2"),
    "the seed": (edited("ldpaudit.toml", f"seed = 1\n{CONFIG}"), "0 of 2"),
    "the number of views": (edited("ldpaudit.toml", CONFIG.replace("1000", "1001")), "0 of 2"),
    "the confidence": (edited("ldpaudit.toml", f"confidence = 0.99\n{CONFIG}"), "0 of 2"),
    "the version of ldpaudit": (patched(cache, "__version__", "0.1.1"), "0 of 2"),
    "the version of Python": (patched(sys, "version", "3.99"), "0 of 2"),
    "the kind of machine": (patched(platform, "machine", lambda: "abacus"), "0 of 2"),
    "the version of a package that is needed": (of_numpy("99", RECORD), "0 of 2"),
    "what its installer recorded of it": (of_numpy(NUMPY.version, f"{RECORD}more"), "0 of 2"),
    "nothing": (of_numpy(NUMPY.version, RECORD), "2 of 2"),
    "the patience, and what is required": (edited("ldpaudit.toml", f"patience = 9\nrequire-decision = true\n{CONFIG}"), "2 of 2"),
}


def test_whatever_a_certificate_depends_on_is_in_its_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, kept = checked(folder), folder.with_name("kept")
    assert made.exit_code == 0
    shutil.copytree(folder / ".cache", kept)
    for name, (change, expected) in CHANGES.items():
        with pytest.MonkeyPatch.context() as context:
            cache.program.cache_clear()
            change(folder, context)
            assert reused(checked(folder)) == f"{expected} from the cache", name
        cache.program.cache_clear()
        shutil.rmtree(folder / ".cache")
        shutil.copytree(kept, folder / ".cache")
        lay_out(folder, FILES)


def test_the_program_is_known_by_every_text_that_it_consists_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by those behind links, as a checkout has its accountants."""
    for name in ("ours/gate", "beside"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "ours/beside").symlink_to("../beside")
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "ours/gate/cache.py"))
    seen = [cache.program.__wrapped__()]
    for name in ("ours/a.py", "beside/b.py"):
        for text in ("", "1"):
            (tmp_path / name).write_text(text)
            seen.append(cache.program.__wrapped__())
    assert len(set(seen)) == 5


def test_users_code_is_run_each_time_and_a_deployment_says_that_it_has_some(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a target of the gate's or an implementation beside a deployment."""
    here = Mock(side_effect=lambda task: task.function(*task.arguments))
    monkeypatch.setattr(Crew, "do", here)
    beside = f'{FILES["matrix.ldp.toml"]}[implementation]\ncallable = "tests.broken_callables:fair"\n'
    lay_out(folder, {"matrix.ldp.toml": beside, "ldpaudit.toml": CONFIG + target("fair")})
    for expected in ("0 of 3 from the cache", "1 of 3 from the cache"):
        assert reused(result := checked(folder)) == expected
    assert [call.args[0].name for call in here.call_args_list] == [str(folder / "matrix.ldp.toml"), "code"] * 2
    assert some(result.reuse).anew == ("matrix.ldp.toml", "code")
    assert len(list((folder / ".cache").glob("*.json"))) == 1
    ours = load(folder / "ours.ldp.toml")
    assert not ours.runs_code
    assert dataclasses.replace(ours, plan=Run(Foreign())).runs_code
    assert dataclasses.replace(ours, implementation="m:f").runs_code


@dataclasses.dataclass(frozen=True)
class Foreign(Mechanism):
    """A mechanism of another package, whose files no key has."""

    title = "another package's"
    p: Fraction = Fraction(3, 4)
    inputs = (0, 1)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> Any:
        return rng.integers(0, 2, size)

    def estimate(self, views: Any) -> Any:
        return np.bincount(views)


def resealed(text: str, secret: bytes) -> str:
    data = json.loads(text)
    data["value"] = data["value"].replace("REFUTED", "PROVED")
    data["seal"] = Cache(Path(), secret)._seal(data["key"], data["value"])
    return json.dumps(data)


CUT, ELSEWHERE = "its entry is truncated, or not an entry", "its entry was not sealed here"
FORGED: dict[str, tuple[Callable[[str], str], str]] = {
    "cut": (lambda text: text[: len(text) // 2], CUT),
    "empty": (lambda text: "", CUT),
    "a list": (lambda text: "[]", CUT),
    "a verdict changed": (lambda text: text.replace("REFUTED", "PROVED"), ELSEWHERE),
    "sealed elsewhere": (lambda text: resealed(text, b"x" * 32), ELSEWHERE),
    "a key twice": (lambda text: text.replace('"key"', '"seal": "", "key"', 1), CUT),
    "another key's": (lambda text: text.replace('"key": "', '"key": "0', 1), ELSEWHERE),
    "one more key": (lambda text: text.replace('"key"', '"more": 1, "key"', 1), CUT),
    "no certificate, though sealed here": (lambda text: resealed(text, SECRET), "its entry: was changed after it was written"),
}


@pytest.fixture(scope="module")
def refuted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gate with one claim, which is refuted, and its cache."""
    folder = tmp_path_factory.mktemp("refuted")
    lay_out(folder, {"ours.ldp.toml": DEPLOYMENT.format(true=2, claimed=1), "ldpaudit.toml": CONFIG})
    assert checked(folder).exit_code == 1
    return folder


@pytest.mark.parametrize("name", FORGED)
def test_an_entry_that_was_not_sealed_here_is_made_again_and_that_is_said(refuted: Path, name: str) -> None:
    """So a cache that comes with a change is no green light."""
    change, says = FORGED[name]
    (entry,) = (refuted / ".cache").glob("*.json")
    whole = entry.read_text()
    entry.write_text(change(whole))
    result = checked(refuted)
    assert (result.exit_code, reused(result)) == (1, "0 of 1 from the cache")
    (remark,) = remarks(result)
    assert remark.startswith("ours.ldp.toml: ")
    assert says in remark
    assert remark.endswith("; it was computed again")
    assert json.loads(entry.read_text()) == json.loads(whole)
    assert reused(checked(refuted)) == "1 of 1 from the cache"


def test_all_of_the_cache_is_read_before_any_code_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that writes into the cache cannot answer for a deployment of the same run."""
    done: list[str] = []

    def noted(word: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            done.append(word)
            return function(*given)

        return call

    monkeypatch.setattr(Cache, "read", noted("read", Cache.read))
    monkeypatch.setattr(checking, "_certificate", noted("certified", checking._certificate))
    checked(folder)
    assert done == ["read", "read", "certified", "certified"]


def test_a_cache_that_cannot_be_written_fails_no_build(folder: Path) -> None:
    (folder / ".cache").write_text("a file")
    result = checked(folder)
    assert result.exit_code == 0
    assert all("it is not cached: " in line and "needs a writable place" in line for line in remarks(result))
    assert len(remarks(result)) == 2


def test_an_error_is_not_kept(folder: Path) -> None:
    lay_out(folder, {"ours.ldp.toml": "x ="})
    for expected in ("0 of 2 from the cache", "1 of 2 from the cache"):
        result = checked(folder)
        assert (result.exit_code, reused(result)) == (2, expected)


def test_a_file_is_written_with_the_mode_of_any_new_one_and_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_whole(tmp_path / "certificate.json", "{}")
    assert (tmp_path / "certificate.json").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert sorted(p.name for p in tmp_path.iterdir()) == ["certificate.json", "other"]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").symlink_to("elsewhere")
    raises(DeploymentError, "needs a folder for the cache, got a link", Cache(tmp_path / "cache", SECRET).write, "a" * 64, "text")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_cache_has_a_most_and_leaves_other_files_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST >= 100
    monkeypatch.setattr("ldpaudit.gate.cache.MOST", 2)
    cache = Cache(tmp_path, SECRET)
    (tmp_path / "other.json").touch()
    for age, name in enumerate("abcd"):
        cache.write(name * 64, name)
        os.utime(tmp_path / f"{name * 64}.json", (age, age))
    assert [cache.read(name * 64) for name in "abcd"] == [None, None, "c", "d"]
    assert (tmp_path / "other.json").exists()


@pytest.mark.slow
def test_two_processes_that_write_one_entry_leave_it_whole_at_every_moment(tmp_path: Path) -> None:
    cache, ended = Cache(tmp_path / "c", SECRET), threading.Event()
    seen: set[str | None] = set()

    def look() -> None:
        while not ended.is_set():
            try:
                seen.add(cache.read("a" * 64))
            except DamagedEntryError as error:
                seen.add(str(error))

    looking = threading.Thread(target=look)
    looking.start()
    with Crew(2) as crew:
        done = list(crew.each([Task(text, worker_calls.writes, (cache.folder, SECRET, text * 10_000)) for text in "xy"]))
    ended.set()
    looking.join()
    assert done == [None, None]
    assert seen <= {None, "x" * 10_000, "y" * 10_000}
    assert len(seen) > 1
    assert len(list((tmp_path / "c").iterdir())) == 3, "and nothing half written lies about"


def test_a_secret_is_made_once_whoever_asks_and_one_that_others_may_read_or_of_another_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a" / "cache.key"
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(secret_of, [path] * 8))
    assert len(found) == 1
    assert len(found.pop()) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    secret = path.read_bytes()
    _make(path)  # as a process does that saw none a moment ago
    assert (path.read_bytes(), list(path.parent.iterdir())) == (secret, [path])
    path = tmp_path / "cache.key"
    path.write_bytes(bytes(32))
    path.chmod(0o644)  # as git checks files out
    raises(DeploymentError, "nobody else may read", secret_of, path)
    path.chmod(0o600)
    assert secret_of(path) == bytes(32)
    path.write_bytes(b"")
    raises(DeploymentError, "needs a secret of 32 bytes for the cache's seals, got 0", secret_of, path)


def test_a_secret_within_the_checked_folder_seals_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("typer.get_app_dir", lambda name: str(tmp_path / "home" / name))
    assert options.cache_of(tmp_path / FOLDER, tmp_path) is None
    assert "in the folder that is checked" in capsys.readouterr().err
    (tmp_path / "folder").mkdir()
    found = some(options.cache_of(tmp_path / "folder" / FOLDER, tmp_path / "folder"))
    assert found.folder == tmp_path / "folder" / FOLDER
