"""Certificates that a gate made before, each sealed, and kept under the key of everything that it depends on.

A cache that comes with a change is a forged green light, wherever it lies. So each entry carries a seal (HMAC-SHA256) whose
secret is outside of all repositories, and an entry without it is none. docs/security.md says what this promises.
"""

import glob
import hashlib
import hmac
import json
import os
import platform
import re
import secrets
import stat
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache as once
from importlib import metadata
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ldpaudit.certificates.verification import LIBRARIES
from ldpaudit.core import strict_json
from ldpaudit.errors import DeploymentError, LdpauditError
from ldpaudit.files.whole import write_whole
from ldpaudit.version import __version__

DEPENDENCIES = (*LIBRARIES, "mpmath", "pydantic")  # installed packages that a certificate depends on
FOLDER = ".ldpaudit-cache"  # in the configuration's folder, by default
SCHEMA: Literal["ldpaudit.cache/1"] = "ldpaudit.cache/1"
MOST = 1000  # Entries that are kept; beyond, those that were written first go. A gate has tens.
SECRET_BYTES = 32
_FILE = re.compile(r"[0-9a-f]{64}\.json")
_BESIDE = {
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# What ldpaudit found before; it may be deleted.\n",
}
"""Files that tell git and backups to leave the folder alone."""


class DamagedEntryError(LdpauditError):
    """An entry that is not as this user's ldpaudit wrote it."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_: Literal["ldpaudit.cache/1"] = Field(alias="schema")
    key: str
    value: str
    seal: str


def key_of(given: object) -> str:
    """The key of plain data: SHA-256 of their canonical JSON."""
    return hashlib.sha256(json.dumps(given, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@once
def program() -> str:
    """Digest of what computes certificates and claims: ldpaudit's text, its dependencies as they were installed, and Python."""
    root = Path(__file__).parents[1]
    # Path.rglob follows no links, and in a checkout the accountants, attacks and proofs are behind links.
    names = sorted(glob.glob("**/*.py", root_dir=root, recursive=True))  # noqa: PTH207
    ours = {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in names}
    # A package that is installed again from a changed checkout often has the version that it had, and not the record.
    installed = [(each.version, each.read_text("RECORD")) for each in map(metadata.distribution, DEPENDENCIES)]
    python = [sys.version, str(sys.flags), sys.platform, platform.machine()]
    return key_of([__version__, ours, installed, python])


@dataclass(frozen=True, slots=True)
class Cache:
    """Texts by their keys, in files of one folder."""

    folder: Path  # made at the first writing
    secret: bytes  # of the seals; see `secret_of`

    def read(self, key: str) -> str | None:
        """The text, or None where there is none.

        Raises DamagedEntryError where there is an entry, and it has no seal of this secret for this key and this
        text.
        """
        path = self._path(key)
        if not path.is_file():
            return None
        try:
            content = strict_json.decode(strict_json.read_bytes(path), path.name)
            entry = _Entry.model_validate(strict_json.parse(content))
        except (ValidationError, ValueError, DeploymentError):
            raise DamagedEntryError("its entry is truncated, or not an entry") from None
        if entry.key != key or not hmac.compare_digest(entry.seal.encode(), self._seal(key, entry.value).encode()):
            raise DamagedEntryError("its entry was not sealed here")
        return entry.value

    def write(self, key: str, value: str) -> None:
        """Keep a text; whole or not at all, whoever else writes.

        Raises DeploymentError where the folder cannot be written, or is a link to another.
        """
        if self.folder.is_symlink():  # it may have come with a change, and lead anywhere
            raise DeploymentError("needs a folder for the cache, got a link", str(self.folder))
        for name, text in _BESIDE.items():
            if not (self.folder / name).exists():
                write_whole(self.folder / name, text)
        entry = {"schema": SCHEMA, "key": key, "value": value, "seal": self._seal(key, value)}
        write_whole(self._path(key), json.dumps(entry, indent=1) + "\n")
        entries = [path for path in self.folder.iterdir() if _FILE.fullmatch(path.name)]
        with suppress(OSError):  # another process prunes too
            for path in sorted(entries, key=lambda path: path.stat().st_mtime)[: max(len(entries) - MOST, 0)]:
                path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _seal(self, key: str, value: str) -> str:
        return hmac.new(self.secret, f"{SCHEMA}\n{key}\n{value}".encode(), "sha256").hexdigest()


def secret_of(path: Path) -> bytes:
    """The secret of a file that nobody else may read; made where there is none.

    Raises DeploymentError where it cannot be read or made, is of another size, or others may read it, as a file of a
    checkout.
    """
    try:
        if not path.exists():
            _make(path)
        found = path.read_bytes()
        open_to_others = os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077
    except OSError as error:
        raise DeploymentError(f"needs a secret for the cache's seals: {error.strerror}", str(path)) from None
    if open_to_others:
        raise DeploymentError("needs a secret for the cache's seals that nobody else may read (mode 600)", str(path))
    if len(found) != SECRET_BYTES:
        raise DeploymentError(f"needs a secret of {SECRET_BYTES} bytes for the cache's seals, got {len(found)}", str(path))
    return found


def _make(path: Path) -> None:
    """A new secret, whole; where another process is faster, its own."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, fresh = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(SECRET_BYTES))
    try:
        os.link(fresh, path)
    except FileExistsError:
        return
    finally:
        Path(fresh).unlink()
