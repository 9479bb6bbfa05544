"""A thousand million views of binary randomized response: on two processes, and on a Dask cluster that loses a worker.

    python -m benchmarks.scale [views]

The part with the cluster needs the extra `dist`, and is left out where it is missing.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from multiprocessing import get_context
from typing import Any

from ldpaudit import audit
from ldpaudit.attacks import Execution
from ldpaudit.evidence import Evidence, Mode
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse

VIEWS = 10**9
CONFIDENCE = 0.999  # the claim is tight to the last bit: at 0.95 one seed in twenty refutes it, by luck
SECONDS = 60.0
BINARY = KaryRandomizedResponse.for_epsilon(1, k=2)


def measured(executor: Executor | None, views: int, progress: Callable[[int, float], None] | None = None) -> Evidence:
    """The audit that all of this is about."""
    options: dict[str, Any] = {"epsilon": 1.0, "confidence": CONFIDENCE, "mode": Mode.FIXED, "seed": 1}
    return audit(BINARY, trials=views, execution=Execution(executor, progress=progress), **options)


def timed(*arguments: Any) -> tuple[Evidence, float]:
    """The audit, and its seconds by the clock on the wall: the work is that of other processes."""
    start = time.perf_counter()
    return measured(*arguments), time.perf_counter() - start


@contextmanager
def cluster(workers: int = 2) -> Iterator[Any]:
    """The client of a local cluster of processes, each with one thread.

    Raises ImportError where the extra `dist` is missing.
    """
    import distributed

    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as made,
        distributed.Client(made) as client,
    ):
        yield client


def killing(client: Any, half: Callable[[float, float], bool]) -> Callable[[float, float], None]:
    """Progress that ends a worker once half of the work is done."""
    done: list[bool] = []

    def progress(drawn: float, over: float) -> None:
        if not done and half(drawn, over):
            done.append(True)
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)  # its nanny starts another one in its place

    return progress


def main(views: int) -> None:
    """Print what each way takes, and whether all counts are the same."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        measured(pool, 10**6)  # the workers have started
        first, took = timed(pool, views)
    bound = f"epsilon >= {first.epsilon_lower:.6f}, {first.right:,} right"
    print(f"two processes: {views:,} views in {took:.1f} s, {bound}", flush=True)
    try:
        with cluster() as client:
            measured(client.get_executor(), 10**6)
            killer = killing(client, lambda drawn, _: drawn > views // 2)
            for name, progress in (("two Dask workers", None), ("one killed half-way", killer)):
                found, took = timed(client.get_executor(retries=10), views, progress)
                same = "the same counts" if asdict(found) == asdict(first) else f"OTHER counts: {found.right:,} right"
                print(f"{name}: {views:,} views in {took:.1f} s, {same}", flush=True)
    except ImportError:
        print("two Dask workers: left out, the extra 'dist' is missing")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else VIEWS)
