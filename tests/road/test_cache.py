"""How files are written, and where a gate keeps what it found: whole, sealed, and for nobody else."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ldpaudit.commands import options
from ldpaudit.errors import DeploymentError
from ldpaudit.files.whole import write_whole
from ldpaudit.gate.cache import FOLDER, MOST, Cache, DamagedEntryError, _make, secret_of
from ldpaudit.workers.worker_processes import Crew, Task
from tests.road import worker_calls

SECRET = bytes(32)


def test_what_is_written_may_be_read_by_whom_any_new_file_may(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_whole(tmp_path / "certificate.json", "{}")
    assert (tmp_path / "certificate.json").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert sorted(p.name for p in tmp_path.iterdir()) == ["certificate.json", "other"]


def test_a_cache_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").symlink_to("elsewhere")
    with pytest.raises(DeploymentError, match="needs a folder for the cache, got a link"):
        Cache(tmp_path / "cache", SECRET).write("a" * 64, "text")
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


def test_a_secret_is_made_once_whoever_asks_and_is_for_nobody_else(tmp_path: Path) -> None:
    path = tmp_path / "a" / "cache.key"
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(secret_of, [path] * 8))
    assert len(found) == 1
    assert len(found.pop()) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    secret = path.read_bytes()
    _make(path)  # as a process does that saw none a moment ago
    assert path.read_bytes() == secret
    assert list(path.parent.iterdir()) == [path]


def test_a_secret_that_others_may_read_or_of_another_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cache.key"
    path.write_bytes(bytes(32))
    path.chmod(0o644)  # as git checks files out
    with pytest.raises(DeploymentError, match="nobody else may read"):
        secret_of(path)
    path.chmod(0o600)
    assert secret_of(path) == bytes(32)
    path.write_bytes(b"")
    with pytest.raises(DeploymentError, match="needs a secret of 32 bytes for the cache's seals, got 0"):
        secret_of(path)


def test_a_secret_within_the_checked_folder_seals_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("typer.get_app_dir", lambda name: str(tmp_path / "home" / name))
    assert options.cache_of(tmp_path / FOLDER, tmp_path) is None
    assert "in the folder that is checked" in capsys.readouterr().err
    (tmp_path / "folder").mkdir()
    found = options.cache_of(tmp_path / "folder" / FOLDER, tmp_path / "folder")
    assert found is not None
    assert found.folder == tmp_path / "folder" / FOLDER
