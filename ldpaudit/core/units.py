"""Units of work that anybody may do: what they return depends on what they are, never on who does them or when."""

import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any

WINDOW = 32
"""Units given to an executor ahead of the one that is waited for: enough to keep 16 workers busy, two units each."""


def stream(units: Iterable[Callable[[], Any]], executor: Executor | None) -> Generator[Any, None, None]:
    """Results in the order of the units. An executor works ahead; results that nobody asks for are given up.

    Raises TypeError where a process pool is to do what does not pickle.
    """
    if executor is None:
        yield from map(_do, units)
        return
    ahead: deque[Future[Any]] = deque()
    left = iter(units)
    try:
        while True:
            for unit in left:
                if not ahead and isinstance(executor, ProcessPoolExecutor):
                    try:
                        pickle.dumps(unit)
                    except Exception as error:  # whatever the audited object raises when it is pickled
                        wanted = "a process pool needs an importable function or a mechanism, or use threads"
                        raise TypeError(f"{wanted}, got an object that cannot be pickled: {error}") from error
                ahead.append(executor.submit(_do, unit))
                if len(ahead) >= WINDOW:
                    break
            if not ahead:
                return
            yield ahead.popleft().result()
    finally:
        for future in ahead:
            future.cancel()


def _do(unit: Callable[[], Any]) -> Any:
    return unit()
