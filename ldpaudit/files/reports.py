"""Reports as users sent them, read in blocks: what one of a mechanism looks like, and what is none of its reports.

A report in JSON is the mechanism's view: an integer, a finite number, or a list of such; bits are 0 and 1. JSON lines: a report,
or an object with the keys `report` and, where submissions have names, `id`; a first line with the key `format` is a header. CSV: a
column `report` of JSON, or a column for each number, `report_0` and so on, and `id`, if there is one. Parquet, Arrow: the columns
`report` and `id`. What an aggregator released is one JSON object, ``{"sum": [...], "users": N}``.

What is no report, and the second of two reports with one `id`, is left out, counted and named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit import mechanisms, registry
from ldpaudit.adapters import rows
from ldpaudit.adapters.places import ending, place, reached
from ldpaudit.core import strict_json
from ldpaudit.errors import DeploymentError, LdpauditError, Unsupported, without_file
from ldpaudit.files.ids import Ids, hashed
from ldpaudit.mechanism import LARGEST_VIEW, Mechanism, Rows, plain

FORMAT = "ldpaudit.reports/1"
LINES = (".jsonl", ".ndjson", ".json")
FORMS = (*LINES, rows.CSV, *rows.TABLES)
BLOCK = 1 << 13
"""Reports that are decoded at a time; of tables as many as have a million numbers, if these are more."""
_NAMED = 5  # reports that are left out and named
_LISTED = 1 << 12  # most numbers that a schema lists one by one


@dataclass(frozen=True, slots=True)
class ReportForm:
    """What a mechanism's reports are, as numbers."""

    shape: tuple[int, ...]  # of one report; () is a number
    type: np.dtype[Any]  # of the numbers, as the sampler has it
    columns: tuple[range, ...] | None = None  # what each number may be, if the law says so
    keep: Callable[[NDArray[Any]], NDArray[np.bool_]] | None = None  # which rows of such numbers are reports, if not all

    @classmethod
    def of(cls, m: Mechanism) -> Self:
        """The form of a mechanism's reports: from its law where it has one, else from a report.

        Raises Unsupported where it is not one user's report, or is not made of numbers of one shape.
        """
        if m.model != "local":
            raise Unsupported(m, f"it has no reports of single users: its model is {m.model}")
        one = np.asarray(m.sample(m.inputs[0], 1, np.random.default_rng(0)))
        if one.dtype.kind not in "biuf" or one.ndim > 2:
            raise Unsupported(m, "its reports are not numbers, or lists of as many numbers each")
        found = cls(one.shape[1:], one.dtype)
        try:
            views = m.law(m.inputs[0]).views()
        except Unsupported:
            return found
        if isinstance(views, range):
            return cls(found.shape, found.type, (views,))
        if isinstance(views, Rows):
            # A row that names its user is restricted to one user's.
            return cls(found.shape, found.type, views.columns, None if m.names_user else views.where)
        known = {y if isinstance(y, tuple) else (y,) for y in map(plain, views)}
        if not all(isinstance(each, int) for y in known for each in y) or {len(y) for y in known} != {found.numbers}:
            raise Unsupported(m, "its reports are not integers, or lists of as many integers each")
        columns = tuple(range(min(each), max(each) + 1) for each in zip(*known, strict=True))
        return cls(found.shape, found.type, columns, lambda table: np.array([tuple(row) in known for row in table.tolist()], bool))

    @property
    def numbers(self) -> int:
        """How many numbers a report has."""
        return math.prod(self.shape)

    @property
    def is_real(self) -> bool:
        """Whether its numbers are floats."""
        return self.columns is None and self.type.kind == "f"

    @property
    def words(self) -> str:
        """What a report is, for messages."""
        kind = "number" if self.is_real else "integer"
        return f"a list of {self.numbers} {kind}s" if self.shape else f"one {kind}"

    def views(self, reports: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[Any], dict[int, str]]:
        """The views that `estimate` takes, and by its place what is wrong with each report that is none; these are left out."""
        refused: dict[int, str] = {}
        good: Any = reports
        if not (isinstance(reports, np.ndarray) and self._fits(reports)):
            good = reports = reports.tolist() if isinstance(reports, np.ndarray) else reports
            if not self._all_fit(reports):
                refused = {i: why for i, each in enumerate(reports) if (why := self._misshapen(each))}
                good = [each for i, each in enumerate(reports) if i not in refused]
        table: NDArray[Any] = np.asarray(good, dtype=np.float64 if self.is_real else np.int64).reshape(len(good), self.numbers)
        if self.columns is not None and len(table):
            found = Rows(self.columns, self.keep).have(table)
            if not found.all():
                places = np.array([i for i in range(len(reports)) if i not in refused])
                refused |= dict.fromkeys(places[~found].tolist(), "numbers that no report has")
                table = table[found]
        return table.reshape(-1, *self.shape).astype(self.type), refused

    def _fits(self, reports: NDArray[Any]) -> bool:
        """Whether all are as many numbers, of their kind."""
        kind = reports.dtype.kind
        whole = kind == "i" or (kind == "u" and reports.dtype.itemsize < 8)
        return reports.shape[1:] == self.shape and (whole or (self.is_real and kind == "f" and bool(np.isfinite(reports).all())))

    def _all_fit(self, reports: Sequence[Any]) -> bool:
        """Whether none is misshapen; False also where some numbers are integers and some are not."""
        if self.shape:
            if set(map(type, reports)) != {list} or set(map(len, reports)) != {self.numbers}:
                return False
            reports = [*chain.from_iterable(reports)]
        return len(set(map(type, reports))) == 1 and not self._strange(reports)

    def _misshapen(self, report: Any) -> str:
        """Why these are not as many numbers, of their kind; empty where they are."""
        flat = report if self.shape else [report]
        if not isinstance(flat, list) or len(flat) != self.numbers:
            return f"needs {self.words}, got {len(flat) if isinstance(flat, list) else strict_json.shown(report, 40)}"
        return self._strange(flat)

    def _strange(self, flat: Sequence[Any]) -> str:
        """Why some of these numbers are none of a report; empty where all may be."""
        types = set(map(type, flat))
        if strange := types - ({int, float} if self.is_real else {int}):
            return f"needs {self.words}, got {strict_json.shown(next(each for each in flat if type(each) in strange), 40)}"
        if float in types and not all(map(math.isfinite, flat)):
            return f"needs {self.words}, all finite"
        if types == {int} and not -LARGEST_VIEW <= min(flat) <= max(flat) <= LARGEST_VIEW:
            return f"needs {self.words} of at most 63 bits"
        return ""

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a record."""
        if self.columns is None:
            columns: list[dict[str, Any]] = [{"type": "number" if self.is_real else "integer"}] * self.numbers
        else:
            columns = [*map(_column, self.columns)]
        report = columns[0]
        if self.shape:
            size = self.numbers
            while len(columns) > 1 and columns[-1] == columns[-2]:
                columns.pop()
            *first, last = columns
            prefix = {"prefixItems": first} if first else {}
            report = {"type": "array", **prefix, "items": last, "minItems": size, "maxItems": size}
        if self.keep is not None:
            report = {**report, "description": "Of these, the reports to which the mechanism's law gives a probability."}
        named = {"report": {"$ref": "#/$defs/report"}, "id": {"type": ["string", "integer"]}}
        record = {"type": "object", "properties": named, "required": ["report"]}
        return {"$defs": {"report": report}, "anyOf": [{"$ref": "#/$defs/report"}, record]}


def _column(numbers: range) -> dict[str, Any]:
    ends = {"type": "integer", "minimum": min(numbers[0], numbers[-1]), "maximum": max(numbers[0], numbers[-1])}
    return ends if abs(numbers.step) == 1 or not 1 < len(numbers) <= _LISTED else {"enum": [*numbers]}


Unwrap: TypeAlias = Callable[[list[Any], int], list[Any]]


@dataclass(frozen=True, slots=True)
class Released:
    """What an aggregator released: the sum of users' reports."""

    total: NDArray[np.float64]
    users: int
    releases: int = 1  # how many are added up, each with noise of its own


@dataclass(slots=True)
class Tally:
    """What was read."""

    accepted: int = 0
    malformed: int = 0
    duplicate: int = 0
    named: list[str] = field(default_factory=list)  # the first few that were left out
    ids: Ids = field(default_factory=Ids)
    before: Ids = field(default_factory=Ids)  # of other parts

    @property
    def refused(self) -> int:
        """Records that were left out."""
        return self.malformed + self.duplicate

    def add(self, other: Tally) -> bool:
        """Add what was read of another part; False, and nothing is added, where both have records of one id."""
        if any(self.ids.have(block).any() for block in other.ids.blocks):
            return False
        for block in other.ids.blocks:
            self.ids.add(block)
        self.accepted, self.malformed = self.accepted + other.accepted, self.malformed + other.malformed
        self.duplicate, self.named = self.duplicate + other.duplicate, (self.named + other.named)[:_NAMED]
        return True

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return {"read": [self.accepted, self.malformed, self.duplicate], "named": self.named, "ids": self.ids.state}

    @classmethod
    def from_state(cls, data: dict[str, Any]) -> Self:
        """Read back."""
        accepted, malformed, duplicate = map(int, data["read"])
        return cls(accepted, malformed, duplicate, [*map(str, data["named"])], Ids.of_state(data["ids"]))

    def refuse(self, file: Path, line: int, why: str, duplicate: bool = False) -> None:
        """Count a record that is left out."""
        self.duplicate += duplicate
        self.malformed += not duplicate
        if len(self.named) < _NAMED:
            self.named.append(f"{file}:{line}: {why}")


def listed(given: Iterable[str | Path]) -> list[Path]:
    """Files as they are given, and those of a known format in folders, by their names. Raises ValueError where there are none."""
    found: list[Path] = []
    for each in map(place, given):
        with reached(each):
            if not (folder := each.is_dir()):
                rows.form(each, FORMS)
            found += sorted(file for file in each.rglob("*") if ending(file) in FORMS) if folder else [each]
    if not found:
        raise ValueError("needs files of reports, found none")
    return found


def blocks(file: Path, m: Mechanism, form: ReportForm, tally: Tally) -> Iterator[NDArray[Any]]:
    """The views in a file, some thousands at a time; `tally` counts them, and what is left out.

    Raises DeploymentError where the file cannot be read, or its header names another mechanism.
    """
    try:
        if rows.form(file, FORMS) in rows.TABLES:
            size = max(BLOCK, (1 << 20) // form.numbers)
            for first, reports, names in rows.frames(file, "report", "id", size):
                if strange := next((each for each in names or () if not isinstance(each, int | str | None)), None):
                    raise DeploymentError(f"needs ids that are strings or integers, got {strange!r:.40}", str(file))
                yield _accepted(file, range(first, first + len(reports)), reports, names, form, tally)
            return
        records = _of_columns(file) if ending(file) == rows.CSV else _of_lines(file, m)
        while some := [*islice(records, BLOCK)]:
            for line, report, _ in (each for each in some if isinstance(each[1], ValueError)):
                tally.refuse(file, line, str(report))
            if good := [each for each in some if not isinstance(each[1], ValueError)]:
                lines, reports, names = map(list, zip(*good, strict=True))
                yield _accepted(file, lines, reports, names if any(name is not None for name in names) else None, form, tally)
    except (OSError, MemoryError) as error:
        raise DeploymentError(f"needs a readable file of reports: {without_file(error)}", str(file)) from None


def _accepted(
    file: Path, lines: Sequence[int], reports: Any, names: list[Any] | None, form: ReportForm, tally: Tally
) -> NDArray[Any]:
    """A report that is none takes no id: it may be sent again."""
    views, refused = form.views(reports)
    for i, why in sorted(refused.items()):
        tally.refuse(file, lines[i], why)
    fresh = np.ones(len(views), dtype=np.bool_)
    if names is not None:
        kept = [i for i in range(len(lines)) if i not in refused]
        given = np.array([row for row, i in enumerate(kept) if names[i] is not None], dtype=np.int64)
        fresh[given] = tally.ids.new(hashed(names[kept[row]] for row in given), tally.before)
        for i in (kept[row] for row in np.flatnonzero(~fresh)):
            tally.refuse(file, lines[i], f"the id {strict_json.shown(names[i], 40)!r} was there before", duplicate=True)
    tally.accepted += int(fresh.sum())
    return views if fresh.all() else views[fresh]


def _of_lines(file: Path, m: Mechanism) -> Iterator[tuple[int, Any, Any]]:
    for line, text in enumerate(rows.decoded(file), 1):
        try:
            record = strict_json.whole(text)
        except (ValueError, RecursionError) as error:
            yield line, ValueError(f"needs JSON, got {strict_json.shown(text, 40)!r}: {error}"), None
            continue
        if isinstance(record, dict) and line == 1 and "format" in record:
            _require_header(record, m, file)
            continue
        yield _record(line, record)


def _record(line: int, record: Any) -> tuple[int, Any, Any]:
    if not isinstance(record, dict):
        return line, record, None
    if "report" not in record:
        return line, ValueError("needs the key 'report'"), None
    name = record.get("id")
    if name is not None and type(name) not in (int, str):
        return line, ValueError(f"needs an id that is a string or an integer, got {strict_json.shown(name, 40)!r}"), None
    return line, record["report"], name


def _require_header(header: dict[str, Any], m: Mechanism, file: Path) -> None:
    """A header is about this mechanism, if it names one."""
    if header["format"] != FORMAT:
        raise DeploymentError(f"needs format {FORMAT!r}, got {strict_json.shown(header['format'], 40)!r}", str(file), 1)
    if "mechanism" not in header:
        return
    try:
        kind, variant = mechanisms.named(str(header["mechanism"]))
        found = registry.build(kind, str(header.get("variant") or variant), header.get("parameters") or {})
    except (LdpauditError, ValueError, TypeError, AttributeError) as error:
        raise DeploymentError(f"needs a header that names a mechanism: {error}", str(file), 1) from None
    if found != m:
        raise DeploymentError(f"needs reports of {m}, but the header says {found}", str(file), 1)


def _of_columns(file: Path) -> Iterator[tuple[int, Any, Any]]:
    table = rows.table(file)
    _, names = next(table, (1, list[str]()))
    numbered = [name for name in names if name.removeprefix("report_").isdigit() and name.startswith("report_")]
    wanted = ["report"] if "report" in names or not numbered else [f"report_{i}" for i in range(len(numbered))]
    for name in wanted:
        if name not in names:
            raise DeploymentError(rows.no_column(name, names), str(file), 1)
    columns, own = [names.index(name) for name in wanted], names.index("id") if "id" in names else None
    for line, row in table:
        try:
            cells = [strict_json.whole(row[i]) for i in columns]
        except (ValueError, RecursionError):
            yield line, ValueError(f"needs numbers in JSON, got {strict_json.shown(','.join(row[i] for i in columns), 40)!r}"), None
            continue
        yield line, cells[0] if wanted == ["report"] else cells, None if own is None else row[own] or None


def released(files: Sequence[Path], numbers: int, unwrap: Unwrap = lambda total, users: total) -> Released | None:
    """What an aggregator released, over all files, of this many numbers each; None where the first file holds users' reports.

    ``unwrap``: from numbers as they were released, and how many users there are, to their sums.

    Raises DeploymentError where a file is no such object.
    """
    if files[0].suffix.lower() != ".json" or files[0].stat().st_size > strict_json.LARGEST_FILE:
        return None
    found: list[Released] = []
    for file in files:
        try:
            data = strict_json.parse(strict_json.decode(strict_json.read_bytes(file), str(file)))
            if not isinstance(data, dict) or "sum" not in data:
                raise ValueError("needs an object with the keys 'sum' and 'users'")
        except ValueError as error:
            if not found:
                return None
            raise DeploymentError(str(error), str(file)) from None
        users, total = data.get("users"), data["sum"]
        total = total if isinstance(total, list) else [total]
        if type(users) is not int or users < 1:
            raise DeploymentError(f"needs users >= 1, got {strict_json.shown(users, 40)!r}", str(file), key="users")
        if len(total) != numbers or not all(type(each) in (int, float) for each in total):
            raise DeploymentError(f"needs a list of {numbers} numbers, got {len(total)}", str(file), key="sum")
        found.append(Released(np.array(unwrap(total, users), dtype=np.float64), users))
    return Released(np.sum([each.total for each in found], axis=0), sum(each.users for each in found), len(found))
