"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ldpaudit.errors import DeploymentError


def write_whole(path: Path, content: str | bytes) -> None:
    """Write beside the target, then move into place; text as UTF-8.

    Raises
    ------
    DeploymentError
        Where the place cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DeploymentError(f"needs a place that can be written: {error.strerror}", str(path)) from None
