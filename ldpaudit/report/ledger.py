"""The ledger of the field's formulas, for people, pages and programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from ldpaudit.accountants.claims.ledger import COLUMNS
from ldpaudit.enclosure import Enclosure, show_down, show_up
from ldpaudit.report.claims import markdown_of
from ldpaudit.report.published import as_data as as_published

if TYPE_CHECKING:
    from rich.console import Console

    from ldpaudit.accountants.claims.ledger import Chapter, Setting
    from ldpaudit.accountants.claims.published import Published


def print_ledger(chapters: Sequence[Chapter], console: Console) -> None:
    """Each chapter: its settings, a line for every formula, where it is from, and hypotheses that are not met."""
    for chapter in chapters:
        console.print(chapter.title)
        _indented(_settings(chapter), console)
        grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for column in ("formula", *COLUMNS):
            grid.add_column(column, no_wrap=column != "formula")
        for formula in chapter.formulas:
            grid.add_row(formula.stated.name, *map(_verdict, formula.found))
        console.print(grid)
        known = (formula.stated for formula in chapter.formulas)
        _indented((f"{each.name}: {each.source} ({each.provenance.value}); needs {each.needs}" for each in known), console)
        _indented(_unmet(chapter), console)
        console.print()


def _indented(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))


def markdown(chapters: Sequence[Chapter]) -> str:
    """The same as sections of a page."""
    return "\n\n".join(_section(chapter) for chapter in chapters)


def _section(chapter: Chapter) -> str:
    head = ("formula", "needs", *COLUMNS, "source", "known how")
    rows = []
    for formula in chapter.formulas:
        known = formula.stated
        rows.append((known.name, known.needs, *map(_verdict, formula.found), known.source, known.provenance.value))
    lines = [f"### {chapter.title}", "", *(f"- {line}" for line in _settings(chapter)), "", markdown_of(head, rows)]
    unmet = [f"- {line}" for line in _unmet(chapter)]
    return "\n".join([*lines, "", *unmet] if unmet else lines)


def as_data(chapter: Chapter) -> dict[str, Any]:
    """One chapter as plain data."""
    columns = list(zip(COLUMNS, chapter.settings, chapter.certified, strict=True))
    return {
        "title": chapter.title,
        "settings": {column: _setting_as_data(setting, certified) for column, setting, certified in columns},
        "formulas": [
            {column: as_published(row) for column, row in zip(COLUMNS, formula.found, strict=True)} for formula in chapter.formulas
        ],
    }


def _setting_as_data(setting: Setting, certified: Enclosure) -> dict[str, Any]:
    ends = {"low": str(certified.low), "high": str(certified.high), "rigour": certified.rigour.name}
    return {"what": setting.what, "delta": str(setting.delta), **ends}


def _settings(chapter: Chapter) -> Iterator[str]:
    for column, setting, certified in zip(COLUMNS, chapter.settings, chapter.certified, strict=True):
        yield f"{column}: {setting.what}: epsilon {_ends(certified)} at delta = {float(setting.delta):.3g}"


def _ends(certified: Enclosure) -> str:
    if certified.low == float("inf"):
        return "is infinite"
    return f"in [{show_down(certified.low, 5)}, {show_up(certified.high, 5)}]"


def _verdict(row: Published) -> str:
    """The standing, and how loose the formula is where that is a ratio."""
    if row.printed is None or not 0 < row.printed.looseness < float("inf"):
        return row.standing.value
    return f"{row.standing.value}, {show_down(row.printed.looseness, 3)} x"


def _unmet(chapter: Chapter) -> Iterator[str]:
    for formula in chapter.formulas:
        for column, row in zip(COLUMNS, formula.found, strict=True):
            if row.unmet:
                yield f"{column}: {row.name} needs {row.unmet}"
