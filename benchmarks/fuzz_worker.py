"""One process of the fuzz: it reads inputs as the command line does, and says what became of each."""

import faulthandler
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import typer

from benchmarks.fuzz_kinds import KINDS, Kind
from ldpaudit.errors import OUT_OF_MEMORY, in_a_line, of_the_user
from ldpaudit.gate.cache import secret_of

MEMORY = 2 << 30  # bytes of addresses that the process may have
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.utime",
    "shutil.rmtree", "shutil.move", "shutil.copyfile",
}  # fmt: skip
TOO_LONG = signal.SIGPROF  # ends a process, which first writes where it is
PATIENCE = 10.0  # seconds of a processor that an input may take: other work on the machine does not count
STACK, DONE = "stack", "done"
"""Files in which a process that took too long writes where it is, and in which it wrote what it had done."""
_FRAME = re.compile(r'File "[^"]*/((?:ldpaudit|accountants|attacks|proofs)/[^"]*)", line \d+,? in (\S+)')


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one input."""

    # ``rejected`` in one line, ``accepted``, or what should not be: ``traceback``, ``slow``, ``memory``, ``escape``,
    # ``odd`` for a message that is not one line, ``false`` for an exit code 0 that says what is not so
    verdict: str
    what: str = ""  # the exception's class and message, or what else happened
    where: str = ""  # file and function that raised, where they are known

    @property
    def fine(self) -> bool:
        """Whether it is as it should be."""
        return self.verdict in ("rejected", "accepted")

    @property
    def signature(self) -> str:
        """The same for findings that are probably one."""
        return re.sub(r"\d+", "0", f"{self.verdict} {self.where} {self.what if not self.where else self.what.split(':')[0]}")[:160]


class Guard:
    """Refuses, and remembers, every change of a file outside one folder while it watches; an audit hook of Python's."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.escapes: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event == "open":
            path, _, flags = arguments
            if not isinstance(path, str | bytes | os.PathLike) or not flags & _WRITES:
                return
        elif event in _CHANGES:
            path = arguments[1] if event == "os.rename" else arguments[0]
        else:
            return
        real = os.path.realpath(os.fsdecode(path))
        if not f"{real}{os.sep}".startswith((self.folder + os.sep, os.devnull + os.sep, "/dev/shm/")):
            self.escapes.append(f"{event} {real}")
            raise PermissionError(13, "outside the output folder", real)

    @contextmanager
    def watching(self, folder: Path) -> Iterator[None]:
        """Refuse changes outside a folder."""
        self.escapes, self.folder = [], os.path.realpath(folder)
        try:
            yield
        finally:
            self.folder = None


def work(name: str, seed: int, numbers: Sequence[int], folder: Path) -> None:
    """Read the inputs of one kind with these numbers, and write each outcome and its seconds as a line of the file `DONE`."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    os.dup2(os.open(folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.dont_write_bytecode = True
    guard, kind = Guard(), KINDS[name]
    made(kind, name, seed, numbers[0])  # what the seeds need is computed before the clock runs
    with (folder / STACK).open("w") as stack, (folder / DONE).open("w") as done:
        # By a signal, which the interrupted thread itself answers: a thread that looks at another one's frames may crash.
        faulthandler.register(TOO_LONG, file=stack, all_threads=False, chain=True)
        for number in numbers:
            start = time.monotonic()
            with limited():
                found = outcome(kind, made(kind, name, seed, number), folder, guard)
            print(json.dumps([found.verdict, found.what, found.where, time.monotonic() - start]), file=done, flush=True)


@contextmanager
def limited(patience: float = PATIENCE) -> Iterator[None]:
    """End this process where a block takes longer than its seconds of a processor, or ten times as long by the clock."""
    signal.setitimer(signal.ITIMER_PROF, patience)
    signal.setitimer(signal.ITIMER_REAL, 10 * patience)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def made(kind: Kind, name: str, seed: int, number: int) -> bytes:
    """The input with this number, whoever makes it."""
    return kind.make(Random(f"{seed} {name} {number}"))


def outcome(kind: Kind, data: bytes, folder: Path, guard: Guard) -> Outcome:
    """Lay an input out, have it read, and see what happened."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    todo = kind.place(data, folder)
    secret_of(Path(typer.get_app_dir("ldpaudit")) / "cache.key")  # of a gate's cache; the one file outside that is meant
    path, threads = list(sys.path), set(threading.enumerate())
    stdout, stderr = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(stdout), redirect_stderr(stderr), guard.watching(out):
            code = _command(todo) if isinstance(todo, list) else _library(todo)
    except BaseException:  # what the command line itself lets through
        return _escape(guard) or _of_traceback(traceback.format_exc())
    finally:
        sys.path[:] = path
        sys.modules.pop("fuzzed_target", None)
        for thread in set(threading.enumerate()) - threads:
            thread.join(1)
    if code == 0 and not kind.believable(data):
        return Outcome("false", "exit 0")
    return _escape(guard) or _read(code, stderr.getvalue(), stdout.getvalue())


def _escape(guard: Guard) -> Outcome | None:
    return Outcome("escape", guard.escapes[0]) if guard.escapes else None


def _command(arguments: list[str]) -> object:
    from ldpaudit.commands import run, spread

    return run(spread(arguments))  # an audit has no process of its own here: what it says is to be read


def _library(function: Any) -> int:
    """A function of the library, whose errors are treated as the command line treats them."""
    try:
        with warnings.catch_warnings():
            function()
    except Exception as error:
        if not of_the_user(error):
            raise
        sys.stderr.write(f"ldpaudit: {in_a_line(error)}\n")
        return 2
    return 0


def _read(code: object, said: str, printed: str = "") -> Outcome:
    """What an exit code and standard error mean; what a gate could not check is printed among its findings."""
    if "Traceback (most recent call last)" in said:
        return _of_traceback(said)
    if f"ldpaudit: {OUT_OF_MEMORY}" in said:
        return Outcome("memory", said[:300])
    lines = said.splitlines()
    if code == 2:
        one = len([line for line in lines if not line.startswith("ldpaudit: ")]) == 0 and lines and lines[-1] != "ldpaudit: "
        found = (not said and printed.startswith("ERROR ")) or "\nERROR " in printed
        return Outcome("rejected") if one or found else Outcome("odd", f"exit 2 says {said[:300]!r}")
    if code not in (0, 1, 3, None):
        return Outcome("odd", f"exit {code!r}")
    strange = [line for line in lines if not line.startswith("ldpaudit: ")]
    return Outcome("odd", f"exit {code} says {strange[0][:300]!r}") if strange else Outcome("accepted")


def ended(code: int | None, folder: Path) -> Outcome:
    """What is said of the input over which a process ended: where it was if it took too long, else its last words."""
    if code in (-TOO_LONG, -signal.SIGALRM):
        stack = (folder / STACK).read_text(errors="replace") if (folder / STACK).exists() else ""
        return Outcome("slow", f"more than {PATIENCE:g} s", ":".join(next(iter(_FRAME.findall(stack)), ())))
    said = (folder / "stderr").read_text(errors="replace").strip().splitlines()
    what = f"the process ended with {code}: {said[-1][:200] if said else ''}"
    return Outcome("memory" if "memory" in what else "traceback", what)


def _of_traceback(text: str) -> Outcome:
    last = next((line for line in reversed(text.splitlines()) if re.match(r"(?!ldpaudit: )[A-Za-z_][\w.]*(:|$)", line)), "")
    frames = _FRAME.findall(text)
    where = ":".join(frames[-1]) if frames else ""
    return Outcome("memory" if last.startswith("MemoryError") else "traceback", last[:300], where)
