"""How files are written."""

from __future__ import annotations

from pathlib import Path

from ldpaudit.files.whole import write_whole


def test_what_is_written_may_be_read_by_whom_any_new_file_may(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_whole(tmp_path / "certificate.json", "{}")
    assert (tmp_path / "certificate.json").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert sorted(p.name for p in tmp_path.iterdir()) == ["certificate.json", "other"]
