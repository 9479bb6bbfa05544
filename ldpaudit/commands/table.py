"""``ldpaudit table``: the bound tables of papers."""

from __future__ import annotations

from typing import Annotated

import typer

from ldpaudit.commands.options import Format, FormatOption
from ldpaudit.commands.output import console, progress, say, say_json


def table(
    name: Annotated[str | None, typer.Argument(help="A table; without one, all are listed.", show_default=False)] = None,
    format: FormatOption = Format.text,
) -> None:
    """A paper's bound table: each printed value beside the certified one."""
    from ldpaudit import tables
    from ldpaudit.accountants.claims import tables as judged
    from ldpaudit.report import rows

    if name is None:
        _list(format)
        return
    if name not in tables.names():
        raise ValueError(f"table needs one of {', '.join(tables.names())}, got {name!r}")
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


def _list(format: Format) -> None:
    from ldpaudit import tables

    listed = [tables.load(each) for each in tables.names()]
    if format is Format.json:
        say_json([{"name": t.name, "title": t.title, "source": t.source} for t in listed])
    for t in listed if format is Format.text else []:
        say(f"{t.name}  {t.title}")
