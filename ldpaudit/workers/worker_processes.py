"""Calls in processes of their own: code that ends, crashes or hangs takes nothing with it but its own answer."""

from __future__ import annotations

import base64
import json
import os
import pickle
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import ldpaudit
from ldpaudit.errors import ImplementationError, LdpauditError, fault, in_a_line, of_the_user

PATIENCE = 1800.0  # seconds that a user's code may take for all that is asked of it at once, by default
GLANCE = 0.2  # seconds between two looks at whether a silent process is still there
ROUNDS = 50  # looks for processes that a worker's code left behind, where each look finds some
START = 300.0  # seconds that Python may take to start; nothing of the user's runs before it has
ATTEMPTS = 5  # processes that may die over one call of ours before it is given up: then it is the call that kills them
LARGEST = 1 << 26  # bytes that an answer of a process that runs the user's code may have
MARK = "LDPAUDIT_WORKER"
"""Variable of the environment by which a process is known that a worker's code started, wherever it went."""
_SERVE = """\
import sys
sys.path[:] = {path!r}
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("ldpaudit", {ours!r})
sys.modules["ldpaudit"] = module_from_spec(spec)
spec.loader.exec_module(sys.modules["ldpaudit"])
from ldpaudit.workers.worker_processes import serve
serve({first!r})
"""
"""Our package is the one that asks, whatever else of its name is on the import path."""


@dataclass(frozen=True, slots=True)
class Task:
    """A call that another process is to make."""

    name: str  # what errors are about: a file, or a target's id
    function: Callable[..., Any]  # importable by its name
    arguments: tuple[Any, ...]  # plain data
    # seconds after which it is said to hang. A task with patience is a user's code: it gets a process that did nothing
    # before, and does nothing after. A task without is ours, and may take as long as it takes
    patience: float | None = None
    # whether the answer is an object of Python's, and not data in JSON: only ever of code that is ours
    pickled: bool = False
    # how often it is made where the process dies over it: 1, unless the call returns the same whenever it is made
    attempts: int = 1


class Worker:
    """A process that makes one call after the other.

    It is in a session of its own: a Ctrl-C at the terminal reaches us alone, and what the called code started ends with it.
    What it answers is read as JSON, which can do nothing to who reads it.

    ``first``: folders that come first on its import path once ours is imported, and not on ours: what is in them may
    have any name; ``most``: bytes that an answer may have; -1 for any number.
    """

    def __init__(self, first: Sequence[str] = (), most: int = -1) -> None:
        self._most, self._mark = most, secrets.token_hex(16)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE.format(path=sys.path, ours=str(ldpaudit.__file__), first=list(first))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=os.environ | {MARK: self._mark},
        )
        self._answers: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._ready = False
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        # Of a process that ends half way through an answer the rest may be anything.
        with suppress(Exception), self._process.stdout as answers:
            while True:
                if (begun := answers.read(1)) != b"[":  # at once, though no line ever ends
                    break
                kind, answer = json.loads(begun + answers.readline(self._most))
                self._answers.put((str(kind), answer))
        self._answers.put(("ended", None))

    def do(self, task: Task) -> Any:
        """What the call returns.

        Raises LdpauditError what the call raised, in a line that names the task; ImplementationError where the
        process ends before it answers, or takes longer than the task's patience.
        """
        assert self._process.stdin is not None
        with suppress(OSError):  # of a process that is gone, which is what the answer will be
            pickle.dump((task.function, task.arguments, task.pickled), self._process.stdin)
            self._process.stdin.flush()
        kind, answer = self._heard(task)
        if kind == "returned":
            return pickle.loads(base64.b64decode(answer)) if task.pickled else answer
        if kind != "raised":
            raise ImplementationError(f"{task.name}: its process {self._end()} before it answered")
        said = str(answer)
        raise LdpauditError(said if said.startswith(task.name) else f"{task.name}: {said}")

    def _heard(self, task: Task) -> tuple[str, Any]:
        patience = float("inf") if task.patience is None else task.patience
        started = time.monotonic()
        while time.monotonic() - started <= (patience if self._ready else START):
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
        raise ImplementationError(f"{task.name}: needs an answer within {patience:g} s, got none: it hangs, or takes longer")

    def _end(self) -> str:
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "broke the pipe"
        known = {int(each): each.name for each in signal.Signals}
        return f"ended with exit code {code}" if code >= 0 else f"was ended by {known.get(-code, f'signal {-code}')}"

    def close(self) -> None:
        """End the process, and what it started."""
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        _end_marked(self._mark)
        # Not the answers, which `_listen` closes: a daemon that the code began may hold them open for ever.
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()


class Crew:
    """At most `size` workers at a time; leaving the context ends them all. ``size``: at least 1; ``first``: see `Worker`."""

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
        self.wait(cancel=True)

    def wait(self, cancel: bool = False) -> None:
        """Wait for the tasks that were submitted, or of these, for those that were begun; there can be no others."""
        self._threads.shutdown(cancel_futures=cancel)

    def submit(self, task: Task) -> Future[Any]:
        """What one task will return, or raise."""
        return self._threads.submit(self.do, task)

    def each(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """For each task, in their order, what it returned; or, as a value, the `LdpauditError` that it ended with."""
        for future in [self.submit(task) for task in tasks]:
            error = future.exception()
            yield error if isinstance(error, LdpauditError) else future.result()

    def do(self, task: Task) -> Any:
        """What one task returns. Raises LdpauditError see `Worker.do`."""
        for _ in range(task.attempts - 1):
            with suppress(ImplementationError):  # the process ended before it answered; what it raised is another error
                return self._done(task)
        return self._done(task)

    def _done(self, task: Task) -> Any:
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
                raise LdpauditError(f"{task.name}: was not started")
            if task.patience is None and self._idle:
                return self._idle.pop()
            worker = Worker() if task.patience is None else Worker(self._first, -1 if task.pickled else LARGEST)
            self._all.add(worker)
            return worker

    def _end(self, worker: Worker) -> None:
        with self._lock:
            self._all.discard(worker)
        worker.close()


class Processes(Executor):
    """Processes, each of which makes one call of ours after the other; if one dies during a call, the call is made again.

    For calls that return the same whenever they are made. What is called and its arguments must pickle.

    ``workers``: at least 1. Raises ValueError for fewer workers.
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"an executor needs at least 1 worker, got {workers}")
        self._crew = Crew(workers)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A call that some process is to make."""
        name = str(args[0]) if args else getattr(fn, "__name__", "a call")
        return self._crew.submit(Task(name, partial(fn, *args, **kwargs), (), pickled=True, attempts=ATTEMPTS))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; with `wait`, when they have done what was submitted."""
        if wait:
            self._crew.wait(cancel_futures)
        self._crew.__exit__()


def _end_marked(mark: str, besides: int = 0) -> None:
    """End processes that carry a mark, in whatever session: where the system shows environments, as Linux does."""
    for _ in range(ROUNDS):
        found = [int(each.parent.name) for each in Path("/proc").glob("[0-9]*/environ") if _carries(each, mark)]
        for pid in (left := set(found) - {besides}):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            return
        time.sleep(GLANCE / 10)  # one that was about to start another has done so


def _carries(environment: Path, mark: str) -> bool:
    with suppress(OSError):  # another user's, or gone
        return f"{MARK}={mark}".encode() in environment.read_bytes().split(b"\0")
    return False


def serve(first: Sequence[str] = ()) -> None:
    """Make calls for the process that started this one, until that is gone."""
    with os.fdopen(os.dup(0), "rb") as asked, os.fdopen(os.dup(1), "wb") as answers:
        # What the called code reads or prints must not get between questions and answers.
        os.dup2(2, 1)
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is wanted, not a path
            os.dup2(nothing.fileno(), 0)
        calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(asked, calls, list(first)), daemon=True).start()
        answer = json.dumps(("ready", None))
        while True:
            answers.write(answer.encode() + b"\n")
            answers.flush()
            answer = _made(*calls.get())


def _read(asked: IO[bytes], calls: queue.SimpleQueue[Any], first: Sequence[str]) -> None:
    with suppress(Exception):
        while True:
            call = pickle.load(asked)  # imports what is ours, with nothing of the user's on the path
            sys.path[:0], first = first, ()
            calls.put(call)
    # Whoever asked is gone: what is being done, and what it started, is for nobody.
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        _end_marked(os.environ.get(MARK, "none"), os.getpid())
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _made(function: Callable[..., Any], arguments: tuple[Any, ...], pickled: bool) -> str:
    try:
        found = function(*arguments)
        return json.dumps(("returned", base64.b64encode(pickle.dumps(found)).decode() if pickled else found))
    except Exception as error:
        return json.dumps(("raised", in_a_line(error) if of_the_user(error) else fault(error)))
