"""Many deployments on many cores: the same certificates in the same order for any number of processes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ldpaudit.certificate import Certificate
from ldpaudit.certify import certify


def certify_all(
    paths: Sequence[Path], seed: int, trials: int, confidence: float, jobs: int | None = None
) -> Iterator[Certificate]:
    """Certificates of deployment files, in their order."""
    workers = min(jobs or os.cpu_count() or 1, len(paths))
    work = [(path, seed, trials, confidence) for path in paths]
    if workers == 1:
        yield from map(_one, work)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_one, work)


def _one(work: tuple[Path, int, int, float]) -> Certificate:
    path, seed, trials, confidence = work
    return certify(path, seed=seed, trials=trials, confidence=confidence)
