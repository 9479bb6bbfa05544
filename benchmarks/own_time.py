"""The auditor's own time: microseconds of the processor for each report of 500 numbers, in whole audits of a true claim.

    python -m benchmarks.own_time [--views 20_000] [kind ...]

The reports, unary encodings of epsilon 1, are made before, so that the audited code takes next to no time.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment import options, show, timed
from benchmarks.known_laws import optimized
from ldpaudit import audit
from ldpaudit.evidence import Mode

NUMBERS, CLAIMED = 500, 1.2
"""Of a report; and what is claimed: more than is true, so that no audit ends before its last view."""
KINDS: dict[str, Callable[[NDArray[np.bool_]], Any]] = {
    "an array": lambda row: row.astype(np.int8),
    "a list": lambda row: row.astype(int).tolist(),
    "text": lambda row: "".join(map(str, row.astype(int))),
    "a list of floats": lambda row: row.astype(float).tolist(),
}


def made(kind: str, views: int) -> dict[int, list[Any]]:
    """Reports on either input: more than fair coins ask for."""
    p, q = optimized(1.0)
    rng, most = np.random.default_rng(1), views * 11 // 20 + 100
    return {x: [KINDS[kind](rng.random(NUMBERS) < np.where(np.arange(NUMBERS) == x, p, q)) for _ in range(most)] for x in (0, 1)}


def took(kind: str, views: int, mode: Mode) -> float:
    """Microseconds for each report."""
    left = {x: iter(reports) for x, reports in made(kind, views).items()}
    found, seconds = timed(lambda: audit(lambda x: next(left[x]), inputs=[0, 1], epsilon=CLAIMED, trials=views, mode=mode))
    return seconds / found.trials * 1e6


def rows(kinds: list[str], views: int) -> Iterator[tuple[str | float, ...]]:
    """Each kind in both modes."""
    took(kinds[0], NUMBERS, Mode.FIXED)  # so that no row has the time that modules take to load
    return ((kind, *(took(kind, views, mode) for mode in (Mode.SEQUENTIAL, Mode.FIXED))) for kind in kinds)


if __name__ == "__main__":
    given = options(__doc__, KINDS, views=20_000)
    show("{report:20} {sequential:10.0f} {fixed:7.0f}", rows(given.names or list(KINDS), given.views))
