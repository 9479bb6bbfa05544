"""Lines to a running program and lines from it: no wait is longer, and no line larger, than it may be."""

import os
import selectors
import socket
import subprocess
import threading
import time
from collections import deque
from contextlib import suppress
from io import RawIOBase
from typing import Any, cast

CHUNK = 1 << 16  # bytes that are read or written at a time
TOGETHER = 1 << 29  # bytes that the answers to one block of questions may take: 512 MiB
GLANCE = 0.5  # seconds of silence after which it is looked whether the program still runs
LEAST_WAIT = 0.001
"""Seconds: shorter waits are rounded up to this by the system, and would take longer than most answers."""
POLLED = os.name == "posix"  # whether the system lets a pipe be waited for, as it does a socket


class Talk:
    """What is said to a program and what it says, without a thread: asking never waits for the program to read.

    ``process``: with unbuffered pipes for its input and its output; ``longest``: bytes that one line may take.
    """

    def __init__(self, process: subprocess.Popen[bytes], longest: int) -> None:
        self.process, self.longest = process, longest
        self.ended = False
        """Whether the program has closed its output."""
        self.answers, self.slowest = 0, 0.0
        """Lines that were read, and the longest time in seconds that one took, but for the first."""
        self._input, self._output = _streams(process)
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._read_since_asked = 0
        self._questions = memoryview(b"")
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)

    def ask(self, questions: bytes) -> None:
        """Hand over questions; they are written while answers are read."""
        # A program that answers before it is asked leaves questions unwritten.
        unwritten = bytes(self._questions)
        self._done_asking()
        self._read_since_asked, self._questions = 0, memoryview(unwritten + questions)
        self._selector.register(self._input, selectors.EVENT_WRITE)

    def line(self, patience: float) -> bytes | None:
        """The next line, or None where there will be none.

        Raises TimeoutError where the program runs, and none comes within `patience` seconds; OverflowError where the line,
        or the answers to one block of questions, take more memory than they may.
        """
        if not self._lines and not self._wait(patience):
            return None
        self.answers += 1
        return self._lines.popleft()

    def _wait(self, patience: float) -> bool:
        """Wait for a line; whether there is one."""
        begun = time.monotonic()
        while not (self._lines or self.ended):
            if (left := begun + patience - time.monotonic()) <= 0:
                raise TimeoutError
            # The program may have ended while a process that it started holds the pipe open.
            if not self._move(min(left, GLANCE)) and left > GLANCE and self.process.poll() is not None:
                return False
        self.slowest = max(self.slowest, time.monotonic() - begun) if self.answers else 0.0
        return bool(self._lines)

    def surplus(self, seconds: float) -> bytes | None:
        """What the program wrote and nobody has read yet; if that is nothing, what it writes within `seconds` seconds."""
        deadline = time.monotonic() + seconds
        self._move(0)
        while not (self._lines or self._rest or self.ended) and (left := deadline - time.monotonic()) >= LEAST_WAIT:
            self._move(left)
        return self._lines[0] if self._lines else bytes(self._rest) or None

    def last_words(self, seconds: float) -> bytes | None:
        """End the questions, and wait until the program ends: what it says until then, which should be nothing."""
        self._done_asking()
        self._input.close()
        return self.surplus(seconds)

    def close(self) -> None:
        """Let go of the pipes, whoever else holds them."""
        self._selector.close()
        for stream in (self._input, self._output):
            with suppress(OSError):
                stream.close()

    def _move(self, seconds: float) -> bool:
        """Read and write once, as soon as either is possible; whether it was within `seconds` seconds."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            (self._read if key.fileobj is self._output else self._write)()
        return bool(ready)

    def _read(self) -> None:
        chunk = _tried(self._output.read, CHUNK)
        if chunk is None:
            return
        if not chunk:
            self._finish()
            return
        *whole, rest = (self._rest + chunk).split(b"\n")
        self._lines.extend(map(bytes, whole))
        self._rest, self._read_since_asked = rest, self._read_since_asked + len(chunk)
        if max(map(len, (*whole, rest))) > self.longest:
            raise OverflowError(f"answers of at most {self.longest} bytes, got a longer one")
        if self._read_since_asked > TOGETHER:
            raise OverflowError(f"answers of at most {TOGETHER} bytes to a block of questions, got more")

    def _finish(self) -> None:
        self.ended = True
        self._selector.unregister(self._output)
        if self._rest:
            self._lines.append(bytes(self._rest))
            self._rest.clear()

    def _write(self) -> None:
        sent = _tried(self._input.write, self._questions[:CHUNK])
        if sent is not None:
            self._questions = self._questions[sent or len(self._questions) :]
        if not self._questions:
            self._done_asking()

    def _done_asking(self) -> None:
        self._questions = memoryview(b"")
        with suppress(KeyError, ValueError):  # where all was written
            self._selector.unregister(self._input)


def _tried(move: Any, what: Any) -> Any:
    """What a read or a write returns, None where it has to wait; nothing moved where the other end is closed."""
    try:
        return move(what)
    except (BrokenPipeError, ConnectionError):  # the reader says that the program has ended, with the input
        return 0


def _streams(process: subprocess.Popen[bytes]) -> tuple[RawIOBase, RawIOBase]:
    """The program's input and output, as streams that can be waited for and never block."""
    given, told = cast(RawIOBase, process.stdin), cast(RawIOBase, process.stdout)
    if not POLLED:
        return _bridged(given, told)
    for stream in (given, told):
        os.set_blocking(stream.fileno(), False)
    return given, told


def _bridged(given: RawIOBase, told: RawIOBase) -> tuple[RawIOBase, RawIOBase]:
    """Sockets in place of pipes: two threads hand on what is said, and end with the program."""
    ours, theirs = zip(socket.socketpair(), socket.socketpair(), strict=True)
    source, sink = (each.makefile("rwb", buffering=0) for each in theirs)
    for pair in ((source, given), (told, sink)):
        threading.Thread(target=_copy, args=pair, daemon=True).start()
    streams = [each.makefile("rwb", buffering=0) for each in ours]
    for each in ours:
        each.setblocking(False)
    for each in (*ours, *theirs):
        each.close()  # the files keep them open
    return cast(RawIOBase, streams[0]), cast(RawIOBase, streams[1])


def _copy(source: Any, sink: Any) -> None:
    with suppress(OSError, ValueError), source, sink:
        while chunk := source.read(CHUNK):
            sent = 0
            while sent < len(chunk):
                sent += sink.write(chunk[sent:])
