"""Calls that tests make in processes of their own; they import little, so that these start soon."""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path


def writes(folder: Path, secret: bytes, text: str) -> None:
    """Writes the same entry again and again."""
    from ldpaudit.gate.cache import Cache

    for _ in range(30):
        Cache(folder, secret).write("a" * 64, text)


def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def says(text: str) -> str:
    os.write(1, b"not an answer\n")
    print("nor this")
    return text + sys.stdin.read()


def refuses() -> None:
    raise ValueError("needs two\nlines")


def divides() -> float:
    return 1 / 0


def leaves_a_child_that_holds_the_pipes() -> None:
    if os.fork():
        os._exit(7)
    os.setsid()
    time.sleep(10)


def answers_with(answer: bytes) -> None:
    """Writes in place of our answer, wherever that is written."""
    for descriptor in range(3, 64):
        with suppress(OSError):
            os.write(descriptor, answer)
    time.sleep(60)


def leaves_a_daemon(file: str) -> None:
    """In a session of its own, and a child of nobody's."""
    if not os.fork():
        os.setsid()
        if not os.fork():
            Path(file).write_text(str(os.getpid()))
            time.sleep(60)
        os._exit(0)
    while not Path(file).exists() or not Path(file).read_text():
        time.sleep(0.01)


def our_file() -> str:
    return str(sys.modules["ldpaudit"].__file__)
