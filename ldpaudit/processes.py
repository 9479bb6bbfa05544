"""Processes of this machine as an executor that the death of one costs nothing but time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from ldpaudit.apart import Crew, Task
from ldpaudit.errors import ImplementationError

ATTEMPTS = 5
"""Processes that may die over one piece of work before it is given up: then it is the work that kills them."""


class Processes(Executor):
    """At most so many processes, each of which does one call after the other; what a process dies over is done again.

    For calls that return the same whenever they are made. What is called and its arguments must pickle.

    ``workers``: at least 1. Raises ValueError for fewer workers.
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"an executor needs at least 1 worker, got {workers}")
        self._threads, self._crew = ThreadPoolExecutor(workers), Crew(workers)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A call that some process is to make."""
        name = str(args[0]) if args else getattr(fn, "__name__", "a call")
        return self._threads.submit(self._done, Task(name, partial(fn, *args, **kwargs), (), pickled=True))

    def _done(self, task: Task) -> Any:
        for _ in range(ATTEMPTS - 1):
            try:
                return self._crew.do(task)
            except ImplementationError:  # the process ended before it answered; what it raised is another error
                continue
        return self._crew.do(task)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; with `wait`, when they have done what was submitted."""
        if wait:
            self._threads.shutdown(cancel_futures=cancel_futures)
        self._crew.__exit__()
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
