"""Matrices of exact numbers, from lists, text and files."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic

from ldpaudit.core.expression import parse
from ldpaudit.core.number import MOST_BITS, brief, exact
from ldpaudit.mechanisms.shared.files import File

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]  # rows of exact numbers

Given: TypeAlias = str | Sequence[Sequence[Any]]
"""What a matrix may be made of: a text, or rows of numbers and expressions."""

REST = "rest"
"""The entry that is what the others of its row leave of 1: a transcendental number and its rounded complement have no sum of 1."""
MOST_ENTRIES = 1 << 17  # entries of a matrix; 300 x 300 are 90,000
MOST_BITS_IN_ALL = 1 << 26  # of all entries together: 512 for each
MOST_CHARACTERS = 1 << 18  # of different expressions, decimals and fractions aside: one may take 10 microseconds
POWER = 10  # times as long as others may a character of an expression with ``**`` take: powers make long numbers

_PLAIN = re.compile(r"\d{1,400}(?:/0*[1-9]\d{0,399}|(?:\.\d{1,400})?(?:[eE][+-]?\d{1,3})?)", re.ASCII)
"""Decimals and fractions, as programs write them too: they need no parser of expressions, which takes 15 times as long."""


def matrix_of(owner: str, given: object) -> Matrix:
    """The matrix that a list of rows is, or a text whose rows end in ``;``.

    Raises TypeError, ValueError where it is none: naming the row.
    """
    if isinstance(given, str):
        given = _rows_of_text(given.replace(";", "\n"))
    if not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise TypeError(f"{owner} needs a matrix, a list of rows, got {brief(given)}")
    if (entries := sum(max(1, len(row)) if _is_row(row) else 1 for row in given)) > MOST_ENTRIES:
        raise ValueError(f"{owner} needs a matrix of at most {MOST_ENTRIES} entries, got {entries}")
    entry = _Entries()
    return tuple(_row(f"{owner}, row {i}", row, entry) for i, row in enumerate(given))


def _is_row(row: object) -> bool:
    return (isinstance(row, Sequence) and not isinstance(row, str)) or (isinstance(row, np.ndarray) and row.ndim == 1)


def _row(where: str, row: Any, number: Callable[[Any], Fraction]) -> tuple[Fraction, ...]:
    if not _is_row(row):
        raise TypeError(f"{where}: needs a list of numbers, got {brief(row)}")
    found = []
    for place, entry in enumerate(row):
        try:
            found.append(None if isinstance(entry, str) and entry.strip() == REST else number(entry))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where}, place {place}: {error}") from None
    if found.count(None) > 1:
        raise ValueError(f"{where}: needs {REST!r} at most once, got it {found.count(None)} times")
    left = 1 - total(where, (p for p in found if p is not None)) if None in found else Fraction(0)
    return tuple(left if p is None else p for p in found)


def _entry(entry: Any) -> Fraction:
    if not isinstance(entry, str):
        return exact(entry, "it")
    text = entry.strip()
    return Fraction(text) if _PLAIN.fullmatch(text) else parse(text)


class _Entries:
    """Entries as numbers: each different one is computed once, and all together are as long as a matrix may be."""

    def __init__(self) -> None:
        self._known: dict[tuple[type, Any], Fraction] = {}
        self._characters = self._bits = 0

    def __call__(self, entry: Any) -> Fraction:
        try:
            found = self._known.get(key := (type(entry), entry))
        except TypeError:  # of what is no number, and can be no key
            found = _entry(entry)
        if found is None:
            if isinstance(entry, str) and not _PLAIN.fullmatch(entry.strip()):
                self._characters += len(entry) * (POWER if "**" in entry else 1)
                if self._characters > MOST_CHARACTERS:
                    raise ValueError(f"needs different expressions of at most {MOST_CHARACTERS} characters in all, got more")
            found = self._known[key] = _entry(entry)
        self._bits += found.numerator.bit_length() + found.denominator.bit_length()
        if self._bits > MOST_BITS_IN_ALL:
            raise ValueError(f"needs a matrix of at most {MOST_BITS_IN_ALL} bits, got more")
        return found


def total(where: str, row: Iterable[Fraction]) -> Fraction:
    """The sum, of numbers whose common denominator is no longer than a number may be: so are then the sums of any of them.

    Raises ValueError where it is longer.
    """
    entries = list(row)
    common = sorted({p.denominator for p in entries})
    while len(common) > 1:  # by halves: one after the other, each takes as long as all before it
        common = [math.lcm(*common[i : i + 2]) for i in range(0, len(common), 2)]
        if (bits := max(common).bit_length()) > MOST_BITS:
            raise ValueError(f"{where}: needs a common denominator of at most {MOST_BITS} bits, got one of {bits}")
    return Fraction(sum(p.numerator * (common[0] // p.denominator) for p in entries), common[0]) if entries else Fraction(0)


def read(owner: str, file: File) -> Matrix:
    """The matrix that a CSV, JSON or NPY file holds.

    CSV: a line for each row, entries as exact expressions, no heading. JSON: a list of rows, decimals are exact, expressions in
    quotes. NPY: two axes, of integers, of text or of floats, which are the dyadic rationals that they are.
    """
    if file.ending not in _KINDS:
        raise ValueError(f"{owner} needs a file {' or '.join(_KINDS)}, got {file.name!r:.200}")
    try:
        return matrix_of(owner, _KINDS[file.ending](file.content))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{error} (in {file.name!r:.200})") from None


def _rows_of_text(text: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(text), strict=True) if row]
    except csv.Error as error:
        raise ValueError(f"needs a CSV file: {error}") from None


def _json(content: bytes) -> Any:
    try:
        return json.loads(_text(content), parse_float=str)  # a decimal's own digits, not those of the nearest float
    except (ValueError, RecursionError) as error:
        raise ValueError(f"needs a JSON file: {error}") from None


def _npy(content: bytes) -> Any:
    """The array of an NPY file, whose header is believed only where its entries are there, byte for byte."""
    file = io.BytesIO(content)
    try:
        read_header = read_array_header_1_0 if read_magic(file) == (1, 0) else read_array_header_2_0
        shape, by_columns, dtype = read_header(file)
    except Exception as error:  # whatever numpy's parser says of a header of a stranger's
        raise ValueError(f"needs an NPY file: {str(error) or type(error).__name__:.200}") from None
    if len(shape) != 2 or dtype.kind not in "iufU" or not dtype.itemsize:
        raise ValueError("needs an NPY file of one array with two axes, of integers, floats or text")
    entries, rest = file.read(), shape[0] * shape[1] * dtype.itemsize
    if len(entries) != rest or not rest:
        raise ValueError(f"needs an NPY file with the {rest} bytes of its {shape[0]} x {shape[1]} entries, got {len(entries)}")
    return np.frombuffer(entries, dtype).reshape(shape, order="F" if by_columns else "C").tolist()


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("needs a file of UTF-8 text") from None


_KINDS: Mapping[str, Callable[[bytes], Any]] = {".csv": lambda content: _rows_of_text(_text(content)), ".json": _json, ".npy": _npy}
