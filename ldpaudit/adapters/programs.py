"""Randomizers in any language: a program that reads one JSON value a line and answers each with one."""

import json
import os
import shlex
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from ldpaudit.adapters.callables import PATIENCE, START
from ldpaudit.adapters.talk import Talk
from ldpaudit.core import strict_json
from ldpaudit.errors import ImplementationError

_OF_A_SHELL = {"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1"}
"""Words that are no arguments where people write them."""
LONGEST = 1 << 20  # bytes that one answer may take
IN_STEP = 3  # answers that are waited for one by one, and looked behind, before questions are sent ahead
QUIET = 0.1
"""Seconds in which a program that was asked nothing is expected to say nothing; for a second line, or a banner."""
SHARE = 0.1  # of the time of a block of questions, what is spent on looking whether more lines come than were asked for
GRACE = 0.5  # seconds between the request to end and the end by force, and those that a program has to end by itself
GLANCE = 0.01  # seconds between two looks whether all have ended
MOST_SHOWN = 60  # characters of a line that an error shows

_NEEDS = "needs one JSON value a line for each question"


class Program:
    """``program(x, size, rng)`` asks the running program `size` times and returns its reports.

    ``command``: the program and its arguments; it is started at the first report and ended by `close`; ``patience``: seconds that
    an answer may take, the first one `START` times as long; ``longest``: bytes that an answer may take; ``header``: a JSON value
    that it reads before all questions, and does not answer; None for none.

    The program draws from a source of its own, so `rng` is not used and no seed reproduces its reports. A line more than
    was asked for would shift all answers after it: it is an error wherever it is found, and `finish`, which the end of a
    ``with`` block calls, looks for it once more.
    """

    seeded = False
    """Its reports are no function of the generator."""

    def __init__(
        self, command: str | Sequence[str], patience: float = PATIENCE, longest: int = LONGEST, header: Any = None
    ) -> None:
        self.command = _words(command) if isinstance(command, str) else tuple(command)
        if not self.command:
            raise ValueError("Program needs a command, got none")
        if not (patience > 0 and longest > 0):
            raise ValueError(f"Program needs patience > 0 and longest > 0, got {patience} and {longest}")
        self.patience, self.longest, self.header = patience, longest, header
        self._talk: Talk | None = None
        self._end: weakref.finalize[Any, Any] | None = None
        self._one = threading.Lock()

    def __reduce__(self) -> Any:
        raise TypeError("a program runs in one process: use threads")

    def __call__(self, x: Any, size: int, rng: np.random.Generator) -> list[Any]:
        """Reports on input `x`.

        Raises ImplementationError where the program cannot be started, ends early, is silent for too long, or answers
        with anything but one JSON value a line for each question.
        """
        return self.in_order([x], [0] * size)[0]

    def in_order(self, xs: Sequence[Any], order: Sequence[int]) -> list[list[Any]]:
        """One report after the other, on the inputs at these places; put together for each input; raises as `__call__`."""
        with self._one:
            try:
                lines, reports = [json.dumps(x).encode() + b"\n" for x in xs], [list[Any]() for _ in xs]
                talk = self._running()
                for block in _blocks(order, IN_STEP - talk.answers):
                    begun = time.monotonic()
                    talk.ask(b"".join(lines[place] for place in block))
                    for place in block:
                        reports[place].append(self._answer(talk, xs[place]))
                    spare = SHARE * (time.monotonic() - begun)
                    _require_none(talk.surplus, QUIET if talk.answers <= IN_STEP else min(QUIET, spare))
                return reports
            except BaseException:
                self.close()  # questions and answers are out of step
                raise

    def _running(self) -> Talk:
        if self._talk is None:
            pipe = subprocess.PIPE
            try:
                process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, bufsize=0, start_new_session=True)
            except OSError as error:
                raise ImplementationError(f"cannot start {self.command[0]}: {error.strerror}") from None
            talk = self._talk = Talk(process, self.longest)
            self._end = weakref.finalize(self, _end, process, talk)  # at the end of the interpreter too
            if self.header is not None:
                talk.ask(json.dumps(self.header).encode() + b"\n")
            _require_none(talk.surplus, QUIET)
        return self._talk

    def _answer(self, talk: Talk, x: Any) -> Any:
        patience = self.patience if talk.answers else START * self.patience
        try:
            line = talk.line(patience)
        except TimeoutError:
            why = f"{self.command[0]} hangs, takes longer, or does not flush what it answers"
            raise ImplementationError(f"needs an answer within {patience:g} s, got none: {why}", x) from None
        except OverflowError as error:
            raise ImplementationError(f"needs {error}", x) from None
        if line is None:
            raise ImplementationError(f"{self.command[0]} ended before it answered", x)
        try:
            return strict_json.whole(line.decode())
        except (ValueError, RecursionError):
            raise ImplementationError(f"{_NEEDS}, got {_shown(line)}", x) from None

    def finish(self) -> None:
        """End the questions, wait a moment for the program to end, and end it.

        Raises ImplementationError where it said more than it was asked for.
        """
        with self._one:
            if self._talk is None:
                return
            try:
                # What is still unsaid takes about as long as an answer did.
                _require_none(self._talk.last_words, min(self.patience, max(GRACE, 2 * self._talk.slowest)))
            finally:
                self.close()

    def close(self) -> None:
        """End the program and what it started, whatever it has said: first they are asked to, then by force."""
        self._talk, end = None, self._end
        if end is not None:
            end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.finish()
        self.close()


def _blocks(order: Sequence[int], alone: int) -> Iterator[Sequence[int]]:
    """The first `alone` questions one by one, and the rest together."""
    alone = min(max(alone, 0), len(order))
    yield from (order[place : place + 1] for place in range(alone))
    if len(order) > alone:
        yield order[alone:]


def _require_none(said: Callable[[float], bytes | None], seconds: float) -> None:
    try:
        line = said(seconds)
    except OverflowError as error:
        raise ImplementationError(f"needs {error}") from None
    if line is not None:
        raise ImplementationError(f"{_NEEDS}, got {_shown(line)}, which answers no question")


def _shown(line: bytes) -> str:
    return f"{line[:MOST_SHOWN].decode(errors='replace').strip()!r:.{MOST_SHOWN}}"


def _end(process: subprocess.Popen[bytes], talk: Talk) -> None:
    """End a process and what it started: a child of its own would keep our caller's pipes open."""
    deadline = time.monotonic() + GRACE
    try:
        runs = _signalled(process, signal.SIGTERM)
        while runs and time.monotonic() < deadline:
            time.sleep(GLANCE)
            process.poll()  # or it would stay in its group, ended
            runs = _signalled(process, 0)
    finally:  # also where a second signal to us ends the waiting
        _signalled(process, getattr(signal, "SIGKILL", signal.SIGTERM))
        process.wait()
        talk.close()


def _signalled(process: subprocess.Popen[bytes], number: int) -> bool:
    """Whether there is still a process of the group to signal."""
    if not hasattr(os, "killpg"):  # Windows knows no groups: the program alone is ended
        process.kill()
        return False
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS permits no signal to a process that has ended
        return False
    return True


def _words(command: str) -> tuple[str, ...]:
    """A program and its arguments. No shell reads them, so that what only a shell understands is a mistake."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ValueError(f"exec: needs a command with its quotes closed, got {command!r:.60}: {error}") from None
    if found := next((word for word in words if word in _OF_A_SHELL), None):
        raise ValueError(f"exec: runs a program without a shell, got {found!r}: write exec:sh -c '...' to have one")
    return words
