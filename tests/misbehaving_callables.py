"""Callables that do what no randomizer should: to the process, to its output, or with what they return."""

import atexit
import ctypes
import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import numpy as np

from tests.broken_callables import fair


class Private(BaseException):
    """As libraries have them, to be caught by nobody."""


class Wordless(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Unwritable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Ending(list[int]):
    """Ends the program when it is looked at."""

    def __len__(self) -> int:
        sys.exit(0)


def prints_below_python(x: int) -> int:
    """By the system, by the C library, which writes when the process ends, and by a process of its own."""
    ctypes.CDLL(None).printf(b"of C\n")
    if not os.environ.get("NOISY"):
        os.environ["NOISY"] = "yes"
        os.write(1, b"of the system\n")
        subprocess.run(["echo", "of a child"], check=True)
    return fair(x)


def closes_standard_output(x: int) -> int:
    if os.path.exists(f"/dev/fd/{1}"):  # noqa: PTH110
        os.close(1)
    return fair(x)


def interrupts(x: int) -> int:
    raise KeyboardInterrupt


def returns_what_ends_the_program(x: int) -> Any:
    return Ending([1])


def exits_with_0_in_the_end(x: int) -> int:
    atexit.register(os._exit, 0)
    return x


def exits_with_1(x: int) -> int:
    os._exit(1)


def exits_below_python(x: int) -> int:
    ctypes.CDLL(None).exit(0)
    return x


def crashes(x: int) -> int:
    os.abort()


def type_shown(x: int) -> float:
    """Refuted at once by its type, and never without it; slow."""
    time.sleep(1e-4)
    return np.random.default_rng().integers(0, 2) * (1 if x else 1.0)


def type_shown_to_the_deaf(x: int) -> float:
    """As `type_shown`; it catches whatever asks it to end."""
    with suppress(BaseException):
        return type_shown(x)
    while True:
        with suppress(BaseException):
            time.sleep(1)


def never_comes_back_to_python(x: int) -> int:
    library = ctypes.PyDLL(None)  # whose functions keep the interpreter's lock
    library.write(2, b"begun\n", 6)
    library.sleep(30)
    return x
