"""The YAML that this repository writes: maps, lists, text on a line or folded; anything else is refused.

The suite has no YAML library, and needs none for four files of our own.
"""

from __future__ import annotations

import re
from typing import Any

_ENTRY = re.compile(r"([\w.-]+):(?: +(.*))?$")
_CLOSED = {"[": "]", "{": "}"}


def read(text: str) -> Any:
    """The value that a text is."""
    lines = text.splitlines()
    return _block([(len(line) - len(line.lstrip()), line.strip()) for line in lines], 0)[0]


def _block(lines: list[tuple[int, str]], at: int) -> tuple[Any, int]:
    at = _next(lines, at)
    indent, line = lines[at]
    dashed = line.startswith("- ")
    found: Any = [] if dashed else {}
    while (at := _next(lines, at)) < len(lines) and (lines[at][0], lines[at][1].startswith("- ")) == (indent, dashed):
        if dashed:
            lines[at] = (indent + 2, lines[at][1][2:])  # what follows the dash is a block, two further in
            value, at = _block(lines, at) if _ENTRY.match(lines[at][1]) else (_scalar(lines[at][1]), at + 1)
            found.append(value)
        else:
            entry = _ENTRY.match(lines[at][1])
            assert entry is not None, f"no line of this YAML: {lines[at][1]!r}"
            assert entry[1] not in found, f"{entry[1]!r} twice"
            found[entry[1]], at = _value(lines, at, indent, entry[2])
    return found, at


def _next(lines: list[tuple[int, str]], at: int) -> int:
    """The next line that says something."""
    while at < len(lines) and (not lines[at][1] or lines[at][1].startswith("#")):
        at += 1
    return at


def _value(lines: list[tuple[int, str]], at: int, indent: int, given: str | None) -> tuple[Any, int]:
    if given not in (None, "|", ">-"):
        return _scalar(given), at + 1
    if given is None:
        return _block(lines, at + 1)
    end = at + 1
    while end < len(lines) and (lines[end][0] > indent or not lines[end][1]):
        end += 1
    inside = lines[at + 1 : end]
    margin = inside[0][0]
    if given == ">-":
        return " ".join(line for _, line in inside).strip(), end
    return "\n".join(" " * (depth - margin) + line if line else "" for depth, line in inside).rstrip("\n") + "\n", end


def _scalar(text: str | None) -> Any:
    assert text, "needs a value on its line"
    if text[0] in _CLOSED:
        assert text == "{}" or (text[0] == "[" and text[-1] == "]"), f"no value of this YAML: {text!r}"
        return {} if text == "{}" else [_scalar(part.strip()) for part in text[1:-1].split(",")]
    if text[0] in "\"'":
        assert text[-1] == text[0] not in text[1:-1], f"no value of this YAML: {text!r}"
        return text[1:-1]
    assert not re.search(r" #|: |^[&*!%@`|>]", text), f"no value of this YAML: {text!r}"
    return {"true": True, "false": False}.get(text, text)
