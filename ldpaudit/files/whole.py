"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from ldpaudit.errors import DeploymentError


def write_whole(path: Path, content: str | bytes) -> None:
    """Write beside the target, then move into place; text as UTF-8.

    Raises DeploymentError where the place cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not by tempfile, whose files nobody else may read: these are published.
        fresh = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            fresh.write_bytes(content.encode() if isinstance(content, str) else content)
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DeploymentError(f"needs a writable place: {error.strerror}", str(path)) from None
