"""JSON that says one thing only: no key twice, no number that is none, nothing too large or too deep."""

import json
import math
from pathlib import Path
from typing import Any

from ldpaudit.errors import DeploymentError

LARGEST_FILE = 1 << 24
"""Bytes that a file may have; a certificate has ten thousand, and embeds a deployment file of at most a 16th of this."""
DEEPEST = 32  # lists and objects within each other; a certificate has seven
LONGEST_INTEGER = 100  # digits of an integer; with these it is still within the range of a float


def read_bytes(path: str | Path) -> bytes:
    """A file of at most 16 MiB. Raises DeploymentError where it cannot be read, or is larger."""
    try:
        with (Path(path) if isinstance(path, str) else path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise DeploymentError(f"needs a readable file: {error.strerror}", str(path)) from None
    if len(content) > LARGEST_FILE:
        raise DeploymentError(f"needs a file of at most {LARGEST_FILE} bytes, got more", str(path))
    return content


def decode(content: bytes, name: str) -> str:
    """A file's bytes as text. Raises DeploymentError where they are not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise DeploymentError("needs a UTF-8 text file", name) from None


def parse(text: str) -> Any:
    """The value that a JSON text is. Raises ValueError where it is no JSON, or not this strict kind."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer)
    except RecursionError:
        raise ValueError(f"needs at most {DEEPEST} levels of lists and objects, got more") from None
    _require_shallow(value, DEEPEST)
    return value


def whole(text: str) -> Any:
    """The value of a JSON text that audited code wrote, of any depth, of which Python drops nothing.

    Raises ValueError where it is no JSON, or has a key twice or a number beyond all floats; RecursionError where it
    is too deep for Python.
    """
    return _WHOLE.decode(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"needs each key once, got {key[:60]!r} twice")
        found[key] = value
    return found


def _constant(token: str) -> Any:
    raise ValueError(f"needs numbers, got {token}, which is not JSON")


def _float(token: str) -> float:
    if not math.isfinite(value := float(token)):
        raise ValueError(f"needs numbers below 1.8e308, got {token[:60]}")
    return value


def _integer(token: str) -> int:
    if len(token) > LONGEST_INTEGER:
        raise ValueError(f"needs integers of at most {LONGEST_INTEGER} digits, got {len(token)}")
    return int(token)


_WHOLE = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float)  # making one takes longer than reading a number


def _require_shallow(value: Any, levels: int) -> None:
    if not isinstance(value, dict | list):
        return
    if not levels:
        raise ValueError(f"needs at most {DEEPEST} levels of lists and objects, got more")
    for each in value.values() if isinstance(value, dict) else value:
        _require_shallow(each, levels - 1)


def shown(value: object, length: int = 300) -> str:
    """A value on one line, cut, and without what moves a terminal's cursor: it may be a stranger's."""
    words = " ".join(str(value).split())
    text = "".join(c if c.isprintable() else "?" for c in words)
    return text if len(text) <= length else f"{text[: length - 3]}..."
