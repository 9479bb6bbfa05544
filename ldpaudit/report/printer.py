"""Tables of text in the forms in which commands print them."""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TypeAlias

Cells: TypeAlias = tuple[str, ...]


class TableFormat(StrEnum):
    """How tables are printed; ``json`` is printed by whoever has the data."""

    text = "text"
    json = "json"
    markdown = "markdown"
    csv = "csv"
    latex = "latex"

    def written(self, head: Cells, rows: Iterable[Cells], left: float = math.inf) -> str:
        """A table of text; as text, columns from number `left` on are set to the right."""
        match self:
            case TableFormat.csv:
                return csv_of([head, *rows])
            case TableFormat.latex:
                return latex_of(head, rows)
            case TableFormat.markdown:
                return markdown_of(head, rows)
        return "\n".join(text_of([head, *rows], left))


def markdown_of(head: Cells, rows: Iterable[Cells]) -> str:
    """A table for a page."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |" for cells in rows)])


BAR = r"\|"  # a bar inside a cell of a Markdown table


def text_of(rows: Sequence[Cells], left: float = math.inf) -> list[str]:
    """A table's lines, each column as wide as its widest cell; those from number `left` on are set to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        placed = enumerate(zip(row, widths, strict=True))
        lines.append("  ".join(cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in placed).rstrip())
    return lines


def csv_of(rows: Iterable[Cells]) -> str:
    """A table of CSV."""
    page = io.StringIO()
    csv.writer(page, lineterminator="\n").writerows(rows)
    return page.getvalue().rstrip("\n")


_LATEX = {ord(c): rf"\{c}" for c in "&%$#_{}"} | {
    ord("\\"): r"\textbackslash{}", ord("~"): r"\textasciitilde{}", ord("^"): r"\textasciicircum{}",
    ord("<"): r"\textless{}", ord(">"): r"\textgreater{}", ord("|"): r"\textbar{}",
}  # fmt: skip


def latex_of(head: Cells, rows: Iterable[Cells]) -> str:
    """A table of LaTeX, for the packages booktabs and longtable."""
    lines = [" & ".join(each.translate(_LATEX) for each in cells) + r" \\" for cells in (head, *rows)]
    lines[1:1] = [r"\midrule"]
    begin = rf"\begin{{longtable}}{{p{{8cm}}{'l' * (len(head) - 1)}}}"
    return "\n".join((begin, r"\toprule", *lines, r"\bottomrule", r"\end{longtable}"))
