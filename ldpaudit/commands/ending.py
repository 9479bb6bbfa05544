"""How a command ends: by its own verdict, by a signal, or by a reader that has gone; never as what it is not."""

import atexit
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

from ldpaudit.errors import Stopped

REFUTED = 1  # exit code of a claim that is refuted
FAULT = 2  # exit code of a usage error, an error of the audited code, or a fault of ours
SIGNALLED = 128  # what is added to a signal's number, as shells do
CLOSED = SIGNALLED + getattr(signal, "SIGPIPE", 13)  # exit code where nobody reads the results any more
GRACE = 2.0  # seconds that a command has to end when it is asked to, or when the process that waits for it has gone
_EARLY = 0xF0  # what is added to an exit code that is told before the end
_tells: list[int] = []  # where the process of a command tells its exit code
_STOPPING = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]


class OutputClosed(BaseException):
    """Nobody reads the results any more; no OSError, because typer and rich would end with 1, a refuted claim."""


class _Results(io.FileIO):
    """The descriptor of the results."""

    def write(self, data: Any) -> int:
        """As of a file; what is still buffered after an error goes nowhere, or the interpreter would fail on it again."""
        try:
            return super().write(data)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if isinstance(error, BrokenPipeError):
                raise OutputClosed from None
            raise


@contextmanager
def results_apart() -> Iterator[None]:
    """Give the results a descriptor of their own, and standard output's number to standard error.

    So what audited code prints below Python, now or when the process ends, is never among the results.
    """
    before = sys.stdout
    if os.name != "posix" or not _is_standard(before):
        yield
        return
    before.flush()
    raw = _Results(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), before.encoding, before.errors, line_buffering=before.isatty())
    try:
        yield
    finally:
        sys.stdout.flush()


def _is_standard(stream: Any) -> bool:
    try:
        os.fstat(2)
        return bool(stream.fileno() == 1)
    except (AttributeError, OSError, ValueError):
        return False


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Raise `Stopped` where this process is asked to end, so that what it started is ended too; a second signal waits."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _stop) for number in _STOPPING if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _: FrameType | None) -> NoReturn:
    for each in _STOPPING:
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def supervised(command: Callable[[], int], tell: Callable[[str], None]) -> int:
    """The exit code that a command returns in a process of its own.

    Audited code can end its process with any exit code, behind Python's back: that would look like a verdict.

    ``command``: returns its exit code; ``tell``: is told where the process ended before that.
    """
    if not hasattr(os, "fork") or "mpi4py.MPI" in sys.modules:
        return command()  # a child of an MPI process cannot send what the workers wait for
    with suppress(AttributeError):  # of a stream that is None
        sys.stdout.flush()
    told, tells = os.pipe()
    alive, lives = os.pipe()
    if (child := os.fork()) == 0:
        code = FAULT
        _tells.append(tells)
        os.close(lives)
        _end_with(alive)
        # Whatever happens, this process ends here: it must not go on as its caller.
        try:
            code = command()
            os.write(tells, bytes([code]))
            for stream in (sys.stdout, sys.stderr):
                with suppress(AttributeError, OSError, ValueError):
                    stream.flush()
            atexit._run_exitfuncs()  # programs that were started are ended
        finally:
            os._exit(code)
    os.close(tells)
    asked = _handed_on(child)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.setitimer(signal.ITIMER_REAL, 0)  # what nobody waits for would end this process while Python leaves it
    os.set_blocking(told, False)  # what the code left behind may hold the other end
    codes = b""
    with suppress(BlockingIOError):
        codes = os.read(told, 2)
    stopped = asked or -status in _STOPPING
    if stopped and codes[:1] >= bytes([_EARLY]):
        return codes[0] - _EARLY
    if codes and codes[-1] < _EARLY:
        return codes[-1]
    if stopped:
        return SIGNALLED + (asked[0] if asked else -status)
    names = {int(each): each.name for each in signal.Signals}
    how = f"with exit code {status}" if status >= 0 else f"by {names.get(-status, f'signal {-status}')}"
    tell(f"needs audited code that leaves the process running, got the process ended {how} before the verdict")
    return FAULT


def reached(code: int) -> None:
    """Tell whoever waits for this process the exit code of a verdict, before more is asked: it stands if a signal ends that."""
    for tells in _tells:
        os.write(tells, bytes([_EARLY + code]))


def _handed_on(child: int) -> list[int]:
    """The signals that this process was asked to end by; the child gets them too, and ends by force where it does not."""
    asked: list[int] = []

    def send(number: int) -> None:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(child, number)

    def hand_on(number: int, _: FrameType | None) -> None:
        asked.append(number)
        send(number)
        # Code that never comes back to Python, or catches everything, does not hear it.
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    signal.signal(signal.SIGALRM, lambda *_: send(signal.SIGKILL))
    for number in _STOPPING:
        signal.signal(number, hand_on)
    return asked


def _end_with(alive: int) -> None:
    """End this process after the one that waits for it."""

    def wait() -> None:
        os.read(alive, 1)  # which returns when nobody can write any more
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()
