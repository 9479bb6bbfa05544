"""Configuration files: read with limits, and where in them a key stands, which the standard parser does not say."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Any

from ldpaudit.errors import DeploymentError

LARGEST_FILE = 1 << 20  # bytes that a configuration file may have

MARK = "\ufeff"  # the byte order mark with which some editors begin a file in UTF-8; it says nothing

DEEPEST = 64  # tables and lists in one another that a configuration file may have

_TABLE = re.compile(r"^\s*\[(\[?)\s*([\w.\-\s]+?)\s*\]\]?")
_EXPRESSION = re.compile(r"^\s*[\w.-]+\s*=\s*((?=[^#]*\d)[\w.][\w.()+*/ -]*?[/(*][\w.()+*/ -]*?)\s*(?:#.*)?$")
"""A line whose value is an expression."""
_TEXT = re.compile(r"^\s*[\w.-]+\s*=\s*([A-Za-z][\w-]*)\s*(?:#.*)?$")  # a line whose value is a word
_LONGEST_LINE = 300  # characters of a line that is looked at for one: the time grows with their square
_KEY = re.compile(r"^\s*([\w.\-]+|\"[^\"]*\")\s*=")


def read_text(path: str | Path) -> str:
    """A configuration file, whole.

    Raises DeploymentError where it cannot be read, is larger than 1 MiB, or is not UTF-8.
    """
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise DeploymentError(f"needs a file of at most {LARGEST_FILE} bytes, got {file.stat().st_size}", str(path))
        return file.read_bytes().decode("utf-8")  # with the ends of lines that it has: a certificate embeds the file
    except OSError as error:
        raise DeploymentError(f"needs a readable file: {error.strerror}", str(path)) from None
    except UnicodeDecodeError:
        raise DeploymentError("needs a UTF-8 text file", str(path)) from None


def parse(text: str, name: str) -> dict[str, Any]:
    """A configuration as plain data; `name` stands for the file in errors.

    Raises DeploymentError where it is not TOML, or nested more than 64 deep.
    """
    try:
        tree = tomllib.loads(text.removeprefix(MARK))
    except TOMLDecodeError as error:
        if text.lstrip().startswith("{"):
            raise DeploymentError("needs TOML, and this looks like JSON", name) from None
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else None
        says = str(error).replace("Cannot overwrite a value", "needs each key once")
        raise DeploymentError(f"needs TOML: {says}{_unquoted(text, line)}", name, line) from None
    except ValueError as error:  # an integer of thousands of digits
        raise DeploymentError(f"needs TOML: {error}", name) from None
    except RecursionError:
        raise DeploymentError(f"needs TOML of at most {DEEPEST} levels of tables and lists, got more", name) from None
    if too_deep(tree, DEEPEST):
        raise DeploymentError(f"needs TOML of at most {DEEPEST} levels of tables and lists, got more", name)
    return tree


def _unquoted(text: str, line: int | None) -> str:
    """The commonest mistake, as the end of an error: an expression or a word without quotes; nothing where it is another one."""
    lines = text.splitlines()[line - 1 : line] if line else []
    if not lines or len(lines[0]) > _LONGEST_LINE:
        return ""
    if found := _EXPRESSION.match(lines[0]):
        return f'; an expression stands in quotes: "{found[1]}"'
    found = _TEXT.match(lines[0])
    return f'; text stands in quotes: "{found[1]}"' if found else ""


def too_deep(tree: Any, deepest: int) -> bool:
    """Whether data are nested deeper than that; without recursion, which is what deep data would break."""
    level = [tree]
    for _ in range(deepest + 1):
        inside = [list(each.values()) if isinstance(each, dict) else each for each in level]
        level = [x for each in inside if isinstance(each, list) for x in each]
    return bool(level)


def line_of(text: str, key: Sequence[str | int]) -> int | None:
    """1-based line of a dotted key, of the first one below it, or of the nearest table that would hold it.

    ``text``: the file; ``key``: path of tables, indices in arrays of tables, and a key.

    Examples
    --------
    >>> line_of("a = 1\\n[[claims]]\\nid = 2\\n", ["claims", 0, "id"])
    3
    """
    best, where = None, -1
    for number, path in _paths(text):
        depth = next((i for i, (a, b) in enumerate(zip(path, key, strict=False)) if a != b), min(len(path), len(key)))
        if depth in (len(path), len(key)) and depth > where:
            best, where = number, depth
    return best


def _paths(text: str) -> list[tuple[int, list[str | int]]]:
    """Every line that opens a table or sets a key, with the whole path."""
    found: list[tuple[int, list[str | int]]] = []
    table: list[str | int] = []
    counts: dict[tuple[str | int, ...], int] = {}  # how many tables of an array came before the one that is open
    for number, line in enumerate(text.removeprefix(MARK).splitlines(), 1):
        if opened := _TABLE.match(line):
            *above, last = opened[2].split(".")
            table = []
            for each in above:
                table.append(each)
                table += [counts[key]] if (key := tuple(table)) in counts else []
            table.append(last)
            if opened[1]:
                key = tuple(table)
                counts[key] = counts.get(key, -1) + 1
                table.append(counts[key])
            found.append((number, table))
        elif set_ := _KEY.match(line):
            found.append((number, [*table, *set_[1].strip('"').split(".")]))
    return found
