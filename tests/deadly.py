"""A part of data over which processes die; apart from the tests, so that a process that reads it imports little."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from ldpaudit.core.partitions import Counts


@dataclass(frozen=True)
class Deadly:
    """The first process that reads it lives, and the next `deaths` ones are killed; the folder `grave` remembers them."""

    held: Counts
    grave: Path
    deaths: int

    def counts(self) -> Counts:
        dead = len(list(self.grave.glob("killed *")))
        if not (self.grave / "first").exists():
            (self.grave / "first").touch()
        elif dead < self.deaths:
            (self.grave / f"killed {dead + 1}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.held
