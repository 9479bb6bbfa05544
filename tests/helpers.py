"""What tests of several rooms share."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from ldpaudit import commands

ROOT = Path(__file__).parent.parent
"""The checkout."""


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line, run in the checkout by a process of its own."""
    command = [sys.executable, "-m", "ldpaudit", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line, run in the checkout by this process."""
    return within(ROOT, *arguments)


def within(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line, run in a folder by this process: faster than one of its own, where nothing can end or linger in it."""
    out, err, path = io.StringIO(), io.StringIO(), list(sys.path)
    try:
        with chdir(folder), redirect_stdout(out), redirect_stderr(err):
            code = commands.run(commands.spread(list(arguments)))
    finally:
        sys.path[:] = path
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def fails_in_one_line(done: subprocess.CompletedProcess[str], says: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert says in done.stderr


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 5
    while _runs(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@cache
def proved(prove: Callable[[], Any]) -> tuple[Any, ...]:
    """The proofs that a proof file's ``prove`` returns; to check them is to run them, and once is enough."""
    return tuple(prove())


def make_keys(folder: Path) -> None:
    """An Ed25519 key and its public key, as openssl makes them."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    (folder / "private.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "public.pem").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
