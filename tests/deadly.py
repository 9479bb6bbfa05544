"""A part of data over which processes die; apart from the tests, so that a process that reads it imports little."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from ldpaudit.core.partitions import Counts


@dataclass(frozen=True)
class Deadly:
    """Whoever reads it first lives; the next ones, so many, are killed.

    Parameters
    ----------
    held : Counts
        What is read.
    grave : Path
        A folder that remembers who read it.
    deaths : int
        How many are killed.
    """

    held: Counts
    grave: Path
    deaths: int

    def counts(self) -> Counts:
        """What is read."""
        dead = len(list(self.grave.glob("killed *")))
        if not (self.grave / "first").exists():
            (self.grave / "first").touch()
        elif dead < self.deaths:
            (self.grave / f"killed {dead + 1}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.held
