"""Calls that tests make in processes of their own; they import little, so that these start soon."""

from __future__ import annotations

from pathlib import Path

from ldpaudit.gate.cache import Cache


def writes(folder: Path, secret: bytes, text: str) -> None:
    """Writes the same entry again and again."""
    for _ in range(30):
        Cache(folder, secret).write("a" * 64, text)
