"""What tests of several rooms share."""

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ldpaudit import commands
from ldpaudit.workers.experiment import Execution

ROOT = Path(__file__).parent.parent
"""The checkout."""
T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
slow = partial(pytest.param, marks=pytest.mark.slow)
"""A case of a test that is run nightly."""


def some(value: T | None) -> T:
    """A value that has to be there."""
    assert value is not None
    return value


def typed(kind: type[T], value: object) -> T:
    """A value that has to be of this type."""
    assert isinstance(value, kind)
    return value


def raises(error: type[E] | tuple[type[E], ...], says: str | None, ask: Callable[..., object], *given: Any, **named: Any) -> E:
    """The error that a call raises, and what it says."""
    with pytest.raises(error, match=says or None) as caught:
        ask(*given, **named)
    return caught.value


def raises_a_line(error: type[E], says: str | None, ask: Callable[..., object], *given: Any, **named: Any) -> E:
    """The same, where the error is to be one line."""
    caught = raises(error, says, ask, *given, **named)
    assert "\n" not in str(caught)
    return caught


def python(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python, in a process of its own."""
    command, around = [sys.executable, *arguments], os.environ | environment
    return subprocess.run(command, cwd=cwd, env=around, capture_output=True, text=True, check=False, timeout=300)


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line, run in the checkout by a process of its own."""
    return python("-m", "ldpaudit", *arguments)


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


def stdout(done: subprocess.CompletedProcess[str], code: int = 0) -> str:
    """What a command printed that ended with this code."""
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def fails_in_one_line(done: subprocess.CompletedProcess[str], says: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert says in done.stderr


COIN = 'kind = "randomized_response"\nk = 2\np = "3/4"'
"""A mechanism of a deployment file."""


def deployment(mechanism: str, claims: str, name: str = "ours", more: str = "", edition: int = 1) -> str:
    """The text of a deployment file: its mechanism, further tables, and its claims."""
    return f'schema = "ldpaudit.deployment/{edition}"\nid = "{name}"\n[mechanism]\n{mechanism}\n{more}[[claims]]\n{claims}\n'


SOON = 10.0
"""Seconds: far below what is waited for where a limit is missing, far above what a busy machine takes."""


@contextmanager
def at_most(seconds: float, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """What takes no longer, by the wall's clock or by that of the processor."""
    start = clock()
    yield
    assert clock() - start < seconds


def same_on_a_cluster(ask: Callable[[Execution], object], half: Callable[[float, float], bool]) -> None:
    """What is found is the same here, on a cluster, and on one of which a worker dies where half of the work is done."""
    pytest.importorskip("distributed")
    from benchmarks import scale

    alone = ask(Execution())
    with scale.cluster() as client:
        assert ask(Execution(client.get_executor())) == alone
        before = set(client.run(os.getpid).values())
        assert ask(Execution(client.get_executor(retries=10), progress=scale.killing(client, half))) == alone
        assert set(client.run(os.getpid).values()) != before


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + SOON
    while _runs(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip()[:1] not in ("", "Z")


def number_in(file: Path) -> int:
    """The number that another process writes into a file, once it has begun."""
    deadline = time.monotonic() + 3 * SOON
    while not (file.exists() and file.read_text().strip()):
        assert time.monotonic() < deadline, f"nothing is in {file}"
        time.sleep(0.02)
    return int(file.read_text())


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """Write files by their names within a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


class Tags(HTMLParser):
    """A page's tags with their attributes, its text, and the tags that are not closed; a tag that is closed was open."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(page)

    @property
    def names(self) -> set[str]:
        return {tag for tag, _ in self.tags}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.1 between two colours, as #rgb or #rrggbb."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class UnpluggedError(Exception):
    """Somebody pulls the plug."""


def make_keys(folder: Path) -> None:
    """An Ed25519 key and its public key, as openssl makes them."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    (folder / "private.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "public.pem").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
