"""``ldpaudit table``: the bound tables of papers, and the ledger of the field's formulas."""

from __future__ import annotations

from typing import Annotated

import typer

from ldpaudit.commands.options import Format, FormatOption
from ldpaudit.commands.output import console, progress, say, say_json

FIELD = "field"
"""The ledger's name among the tables."""
_FIELD_TITLE = "The field's formulas at three settings each, beside the certified epsilon"


def table(
    name: Annotated[str | None, typer.Argument(help="A table; without one, all are listed.", show_default=False)] = None,
    format: FormatOption = Format.text,
) -> None:
    """A paper's bound table: each printed value beside the certified one; or, by the name field, the field's formulas."""
    from ldpaudit import tables
    from ldpaudit.accountants.claims import tables as judged
    from ldpaudit.report import rows

    if name is None:
        _list(format)
        return
    if name == FIELD:
        _field(format)
        return
    if name not in tables.names():
        raise ValueError(f"table needs one of {', '.join([*tables.names(), FIELD])}, got {name!r}")
    chosen = tables.load(name)
    with progress(name, len(chosen.rows)) as advance:
        checked = []
        for each in judged.check(chosen):
            checked.append(each)
            advance()
    if format is Format.json:
        say_json({"name": chosen.name, "source": chosen.source, "rows": [rows.as_data(c) for c in checked]})
    else:
        rows.print_table(chosen, checked, console())


def _field(format: Format) -> None:
    from ldpaudit.accountants.claims.ledger import ledger
    from ldpaudit.report import ledger as report

    if format is Format.json:
        say_json({"name": FIELD, "title": _FIELD_TITLE, "chapters": [report.as_data(each) for each in ledger()]})
    else:
        report.print_ledger(ledger(), console())


def _list(format: Format) -> None:
    from ldpaudit import tables

    listed = [tables.load(each) for each in tables.names()]
    if format is Format.json:
        papers = [{"name": t.name, "title": t.title, "source": t.source} for t in listed]
        say_json([*papers, {"name": FIELD, "title": _FIELD_TITLE, "source": "see each row"}])
        return
    for t in listed:
        say(f"{t.name}  {t.title}")
    say(f"{FIELD}  {_FIELD_TITLE}")
