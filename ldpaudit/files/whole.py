"""Files that are written whole or not at all, and the file from which long work goes on."""

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpaudit.core import strict_json
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


@dataclass(frozen=True, slots=True)
class Saved:
    """A file of JSON that holds the state of a piece of work, the work's digest and the format's name."""

    path: Path  # where
    kind: str  # what the work is called: the key of its digest, and a word of errors
    schema: str  # name of the format
    work: str  # all that the state depends on: the file of other work is refused
    largest: int  # bytes that the file may have

    @property
    def digest(self) -> str:
        """SHA-256 of the work's description."""
        return hashlib.sha256(self.work.encode()).hexdigest()

    @property
    def needs(self) -> str:
        """What an error begins with."""
        return f"{self.path}: needs a checkpoint of schema {self.schema}"

    def load(self) -> Any:
        """The state from which to go on, plain data; None where nothing was written yet.

        Raises ValueError where the file is other work's, or no checkpoint, or its folder does not exist.
        """
        if not self.path.parent.is_dir() or self.path.is_dir():
            raise ValueError(f"{self.path}: needs an existing folder for the checkpoint")
        if not self.path.exists():
            return None
        try:
            if self.path.stat().st_size > self.largest:
                raise ValueError(f"more than {self.largest} bytes")
            data = strict_json.parse(self.path.read_text(encoding="utf-8"))
            schema, digest, state = data["schema"], data[self.kind], data["state"]
            if state is None:
                raise ValueError("no state")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self.needs}, got {error!r}") from None
        if (schema, digest) != (self.schema, self.digest):
            raise ValueError(f"{self.path}: needs the checkpoint of this {self.kind}, got another one; remove it to start again")
        return state

    def save(self, state: Any) -> None:
        """Replace the file at once: whoever reads it, which is its owner alone, sees the old state or the new one, never half."""
        data = {"schema": self.schema, self.kind: self.digest, "state": state}
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        fresh.unlink(missing_ok=True)  # of a process that was killed, with whatever mode
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(json.dumps(data, indent=1) + "\n")
        fresh.replace(self.path)

    def require_private(self) -> None:
        """Refuse a file that others may read: for a state that holds a secret. Raises ValueError where they may."""
        if os.name == "posix" and self.path.exists() and stat.S_IMODE(self.path.stat().st_mode) & 0o077:
            raise ValueError(f"{self.path}: needs a checkpoint that nobody else may read (mode 600), for it holds a secret key")
