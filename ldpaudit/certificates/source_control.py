"""When a folder was last committed: a date that is the same for everybody, unlike a clock's."""

from __future__ import annotations

import subprocess
from pathlib import Path

_GIT = ("git", "--no-pager", "-c", "log.showSignature=false", "-c", "core.fsmonitor=false", "log", "-1", "--format=%cs")
"""What a stranger's configuration could have run is switched off."""
_PATIENCE = 10  # seconds for an answer


def last_commit(folder: Path) -> str:
    """The date of the last commit of the repository that a folder is in, as 2026-01-31; empty where there is none."""
    try:
        done = subprocess.run(_GIT, cwd=folder, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
