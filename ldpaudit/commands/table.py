"""``ldpaudit table``: the bound tables of papers, GGKPV's with numbers, and the ledger of the field's formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpaudit.commands.options import Format, FormatOption, ParametersArgument, SeedOption, pairs, parameters_of
from ldpaudit.commands.output import console, progress, require_drawable, say, say_json

COUNTING = ("ggkpv-1", "ggkpv-2")
"""The tables with numbers at any parameters."""
FIELD = "field"
"""The ledger's name among the tables."""
_FIELD_TITLE = "The field's formulas at three settings each, beside the certified epsilon"


def table(
    name: Annotated[str | None, typer.Argument(help="Name of a table; without one, all are listed.", show_default=False)] = None,
    format: FormatOption = Format.text,
    parameters: ParametersArgument = None,
    runs: Annotated[int, typer.Option(min=0, help="Simulations per system in ggkpv-1 and ggkpv-2.")] = 10,
    seed: SeedOption = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the regimes over n (PNG, SVG or PDF; extra 'plot').", show_default=False)
    ] = None,
) -> None:
    """Print a paper's bound table beside certified values; `field` prints the field's formulas.

    \b
    What it costs to count values in four models, and with many messages, in numbers:
      ldpaudit table ggkpv-1 n=1e6 B=1e4 epsilon=1 delta=1e-9
      ldpaudit table ggkpv-2 n=1e6 B=1e4 epsilon=1 delta=1e-9 --plot regimes.png
    """
    if name in COUNTING:
        _counting(name, parameters or [], runs, seed, plot, format)
    elif parameters or plot is not None:
        raise ValueError(f"table needs one of {', '.join(COUNTING)} for parameters and --plot, got {name or 'no name'}")
    elif name is None:
        _list(format)
    elif name == FIELD:
        _field(format)
    else:
        _printed(name, format)


def _counting(table: str, parameters: list[str], runs: int, seed: int, plot: Path | None, format: Format) -> None:
    require_drawable(plot)
    from ldpaudit.registry import call
    from ldpaudit.report import ggkpv_tables as report
    from ldpaudit.studies import ggkpv_tables
    from ldpaudit.studies.counting_protocols import Setting

    with parameters_of(table):
        s: Setting = call(Setting.of, pairs(parameters))
    title, command, found = ggkpv_tables.TITLES[table], report.table_command(table, s, runs, seed), []
    with progress(table, len(ggkpv_tables.TABLES[table])) as advance:
        for each in ggkpv_tables.lines(table, s, runs, seed):
            found.append(each)
            advance(f"{each.protocol.name}, {each.protocol.origin}")
    if plot is not None:
        with progress("regimes", ggkpv_tables.steps(table)) as advance:
            regimes = ggkpv_tables.regimes(table, s, advance)
        report.draw(title, s, regimes, plot)
    if format is Format.json:
        say_json(report.as_data(table, command, s, found))
    else:
        say(report.write(title, command, ggkpv_tables.DATA, found))


def _printed(name: str, format: Format) -> None:
    from ldpaudit.accountants.claims import tables as judged
    from ldpaudit.report import rows
    from ldpaudit.studies import tables

    if name not in tables.names():
        raise ValueError(f"table needs one of {', '.join([*COUNTING, *tables.names(), FIELD])}, got {name!r}")
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
    from ldpaudit.studies import ggkpv_tables, tables

    listed, numbers = [tables.load(each) for each in tables.names()], ggkpv_tables.TITLES
    if format is Format.json:
        papers = [{"name": t.name, "title": t.title, "source": t.source} for t in listed]
        counting = [{"name": each, "title": numbers[each], "source": "see each cell's command"} for each in COUNTING]
        say_json([*papers, *counting, {"name": FIELD, "title": _FIELD_TITLE, "source": "see each row"}])
        return
    for t in listed:
        say(f"{t.name}  {t.title}")
    for each in COUNTING:
        say(f"{each}  {numbers[each]}")
    say(f"{FIELD}  {_FIELD_TITLE}")
