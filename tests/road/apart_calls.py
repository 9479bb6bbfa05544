"""Calls that tests make in processes of their own; they import little, so that these start soon."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from ldpaudit.adapters.programs import Program
from ldpaudit.cache import Cache


def reads_and_asks(folder: str) -> str:
    """Reads three files of which one is absent, writes one, asks a port, a program, the environment and the system."""
    Path("~").expanduser()
    with suppress(OSError):
        Path("/proc/self/status").read_bytes()
    with suppress(OSError):
        Path(folder, "absent").read_text()
    Path(folder, "present").read_bytes()
    with os.fdopen(os.open(Path(folder, "low"), os.O_RDONLY)) as file:
        file.read()
    Path(folder, "log").write_text("x")
    with socket.socket() as asked, suppress(OSError):
        asked.connect(("127.0.0.1", 1))
    with Program([sys.executable, "-c", "print(input())"]) as program:
        return str(program(folder, 1, np.random.default_rng(0))[0])


def writes(folder: Path, secret: bytes, text: str) -> None:
    """Writes the same entry again and again."""
    for _ in range(30):
        Cache(folder, secret).write("a" * 64, text)
