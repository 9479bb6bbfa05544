"""Work in processes of their own: code that ends, crashes or hangs takes nothing with it but its own answer."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from ldpaudit.errors import ImplementationError, LdpauditError, in_a_line, of_the_user

PATIENCE = 1800.0
"""Seconds that a user's code may take for all that is asked of it at once, by default."""
GLANCE = 0.2
"""Seconds between two looks at whether a silent process is still there."""
_SERVE = "import sys; sys.path[:] = {path!r}; from ldpaudit.apart import serve; serve()"


@dataclass(frozen=True, slots=True)
class Task:
    """A call that another process is to make.

    Parameters
    ----------
    name : str
        What errors are about: a file, or a target's id.
    function : callable
        Importable by its name.
    arguments : tuple
        Plain data.
    patience : float or None
        Seconds after which it is said to hang. A task with patience is a user's code: it gets a process that did nothing
        before, and does nothing after. A task without is ours, and may take as long as it takes.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    patience: float | None = None


class Worker:
    """A process that makes one call after the other.

    It is in a session of its own: a Ctrl-C at the terminal reaches us alone, and what the called code started ends with it.

    Parameters
    ----------
    first : sequence of str
        Folders that come first on its import path, and not on ours: what is in them may have any name.
    """

    def __init__(self, first: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE.format(path=[*first, *sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._answers: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._ready = False
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        # Of a process that ends half way through an answer the rest may be anything.
        with suppress(Exception), self._process.stdout as answers:
            while True:
                self._answers.put(pickle.load(answers))
        self._answers.put(("ended", None))

    def do(self, task: Task) -> Any:
        """What the call returns.

        Raises
        ------
        LdpauditError
            What the call raised, in a line that names the task.
        ImplementationError
            Where the process ends before it answers, or takes longer than the task's patience.
        """
        assert self._process.stdin is not None
        with suppress(OSError):  # of a process that is gone, which is what the answer will be
            pickle.dump((task.function, task.arguments), self._process.stdin)
            self._process.stdin.flush()
        kind, answer = self._answer(task)
        if kind == "returned":
            return answer
        if kind == "ended":
            raise ImplementationError(f"{task.name}: {self._end()} before it answered")
        raise LdpauditError(answer if answer.startswith(task.name) else f"{task.name}: {answer}")

    def _answer(self, task: Task) -> tuple[str, Any]:
        patience = float("inf") if task.patience is None else task.patience
        started = time.monotonic() if self._ready else float("inf")
        while time.monotonic() - started <= patience:
            try:
                kind, answer = self._answers.get(timeout=GLANCE)
            except queue.Empty:
                # What the code started may hold the pipe open after the process itself has ended.
                if self._process.poll() is not None and self._answers.empty():
                    return "ended", None
                continue
            if kind != "ready":
                return kind, answer
            self._ready, started = True, time.monotonic()  # until now it was Python that started, not the user's code
        raise ImplementationError(f"{task.name}: needs an answer within {patience:g} s, got none: it hangs")

    def _end(self) -> str:
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "its process broke the pipe"
        if code >= 0:
            return f"its process ended with exit code {code}"
        try:
            return f"its process was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"its process was ended by signal {-code}"

    def close(self) -> None:
        """End the process, and what it started."""
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        # Not the answers, which `_listen` closes: a daemon that the code began may hold them open for ever.
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()


class Crew:
    """At most so many workers at a time; leaving it ends them all.

    Parameters
    ----------
    size : int
        At least 1.
    first : sequence of str
        See `Worker`.
    """

    def __init__(self, size: int = 1, first: Sequence[str] = ()) -> None:
        self._first = first
        self._threads = ThreadPoolExecutor(size)
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._lock, self._left = threading.Lock(), False

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._left, left = True, self._all
            self._idle, self._all = [], set()
        for worker in left:
            worker.close()
        self._threads.shutdown(cancel_futures=True)

    def each(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """For each task, in their order, what it returned; or, as a value, the `LdpauditError` that it ended with."""
        for future in [self._threads.submit(self._attempt, task) for task in tasks]:
            yield future.result()

    def _attempt(self, task: Task) -> Any:
        try:
            return self.do(task)
        except LdpauditError as error:
            return error

    def do(self, task: Task) -> Any:
        """What one task returns.

        Raises
        ------
        LdpauditError
            See `Worker.do`.
        """
        worker = self._begin(task)
        try:
            answer = worker.do(task)
        except BaseException:
            self._end(worker)
            raise
        if task.patience is None:
            self._idle.append(worker)
        else:
            self._end(worker)
        return answer

    def _begin(self, task: Task) -> Worker:
        with self._lock:
            if self._left:
                raise LdpauditError(f"{task.name}: was not begun")
            if task.patience is None and self._idle:
                return self._idle.pop()
            worker = Worker(self._first)
            self._all.add(worker)
            return worker

    def _end(self, worker: Worker) -> None:
        with self._lock:
            self._all.discard(worker)
        worker.close()


def serve() -> None:
    """Make calls for the process that started this one, until that is gone."""
    with os.fdopen(os.dup(0), "rb") as asked, os.fdopen(os.dup(1), "wb") as answers:
        # What the called code reads or prints must not get between questions and answers.
        os.dup2(2, 1)
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is wanted, not a path
            os.dup2(nothing.fileno(), 0)
        calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(asked, calls), daemon=True).start()
        answer = pickle.dumps(("ready", None))
        while True:
            answers.write(answer)
            answers.flush()
            answer = _made(*calls.get())


def _read(asked: IO[bytes], calls: queue.SimpleQueue[Any]) -> None:
    with suppress(Exception):
        while True:
            calls.put(pickle.load(asked))
    # Whoever asked is gone: what is being done, and what it started, is for nobody.
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _made(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps(("returned", function(*arguments)))
    except Exception as error:
        return pickle.dumps(("raised", in_a_line(error) if of_the_user(error) else _fault(error)))


def _fault(error: BaseException) -> str:
    """A fault of ours in a line: what, and the innermost place."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})" if trace is not None else ""
    return " ".join(f"a fault of ldpaudit's: {type(error).__name__}: {error}{where}".split())
