"""Randomizers in any language: a program that reads one JSON value a line and answers each with one."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

import numpy as np

from ldpaudit.errors import ImplementationError


class Program:
    """``program(x, size, rng)`` asks the running program `size` times and returns its reports.

    Parameters
    ----------
    command : str or sequence of str
        The program and its arguments; it is started at the first report and ended by `close`.

    Notes
    -----
    The program draws from a source of its own, so `rng` is not used and no seed reproduces its reports.
    """

    seeded = False
    """Its reports are no function of the generator."""

    def __init__(self, command: str | Sequence[str]) -> None:
        self.command = tuple(shlex.split(command) if isinstance(command, str) else command)
        if not self.command:
            raise ValueError("Program needs a command, got none")
        self._process: subprocess.Popen[str] | None = None
        self._one = threading.Lock()

    def __reduce__(self) -> Any:
        raise TypeError("a running program is in one process: use threads")

    def __call__(self, x: Any, size: int, rng: np.random.Generator) -> list[Any]:
        """Reports on input `x`.

        Raises
        ------
        ImplementationError
            Where the program cannot be started, ends early, or answers with anything but JSON.
        """
        return self.in_order([x], [0] * size)[0]

    def in_order(self, xs: Sequence[Any], order: Sequence[int]) -> list[list[Any]]:
        """One report after the other, on the inputs at these places; put together for each input.

        Raises
        ------
        ImplementationError
            See `__call__`.
        """
        lines, reports = [json.dumps(x) + "\n" for x in xs], [list[Any]() for _ in xs]
        with self._one:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            # A thread writes, so that a program which answers line by line never waits for us to read.
            asked = [lines[place] for place in order]
            writer = threading.Thread(target=_write, args=(process.stdin, asked), daemon=True)
            writer.start()
            for place in order:
                reports[place].append(self._answer(process.stdout.readline(), xs[place]))
            writer.join()
        return reports

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    bufsize=1,
                    start_new_session=True,
                )
            except OSError as error:
                raise ImplementationError(f"cannot start {self.command[0]}: {error.strerror}") from None
        return self._process

    def _answer(self, line: str, x: Any) -> Any:
        if not line:
            raise ImplementationError(f"{self.command[0]} ended before it answered", x)
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            raise ImplementationError(f"needs one JSON value a line, got {line.strip()!r:.60}", x) from None

    def close(self) -> None:
        """End the program, and what it started: a child of its own would keep our caller's pipes open."""
        if self._process is not None:
            if hasattr(os, "killpg"):
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _write(stream: IO[str], lines: Sequence[str]) -> None:
    # A program that has ended is reported by the reader, with the input.
    with suppress(BrokenPipeError, ValueError):
        for line in lines:
            stream.write(line)
        stream.flush()
