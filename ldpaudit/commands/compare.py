"""``ldpaudit compare``: which system to choose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpaudit.commands.output import note, progress, require_drawable, say, say_json
from ldpaudit.report.claims import TableFormat

_PATIENCE = 3600.0
"""Seconds that a contender may take; all of ours take minutes at most for 1e6 users."""


def compare(
    data: Annotated[
        Path | None,
        typer.Option(help="Users' values: text with one per line, CSV or Parquet; by default English words.", show_default=False),
    ] = None,
    column: Annotated[str, typer.Option(help="Column of the CSV or Parquet file; by default the first.", show_default=False)] = "",
    epsilon: Annotated[str, typer.Option(help="Epsilon that every system is certified to keep.")] = "1",
    delta: Annotated[str, typer.Option(help="Delta at which that is certified.")] = "1e-9",
    users: Annotated[int, typer.Option(min=2, help="Number of simulated users, where no data are given.")] = 100_000,
    dictionary: Annotated[int, typer.Option(min=1, help="Number of most frequent values that oracles are asked about.")] = 1_000,
    top: Annotated[int, typer.Option(min=1, help="Number of most frequent values that should be recovered.")] = 100,
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this stem; repeatable.", show_default=False)] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw errors and recall (PNG, SVG or PDF; extra 'plot').")] = None,
    format: Annotated[TableFormat, typer.Option("--format", help="How results are printed.")] = TableFormat.text,
) -> None:
    """Every frequency oracle and heavy-hitter system on the same data at the same certified epsilon: errors, recall, bits, time.

    Each system's noise is searched until it is certified to cost what is asked, in its own model: users' reports as they are
    (local), or shuffled. What cannot be brought near it is printed without a rank. Oracles are asked about a dictionary of the
    most frequent values; systems that name values know none.
    """
    import numpy as np

    from ldpaudit.core.expression import parse
    from ldpaudit.errors import LdpauditError
    from ldpaudit.files import user_data
    from ldpaudit.report import comparison as report
    from ldpaudit.studies import comparison
    from ldpaudit.workers.worker_processes import Crew, Task

    require_drawable(plot)
    contest = comparison.Contest(parse(epsilon), parse(delta), dictionary, top, seed)
    chosen = [each for each in comparison.contenders() if not only or each.stem in only]
    if not chosen:
        raise ValueError(f"compare --only needs a stem that compares, got {', '.join(only or [])}")
    values = user_data.english(users, np.random.default_rng(seed)) if data is None else user_data.read(data, column)
    rows, left = [], []
    with progress("comparing", len(chosen)) as advance, Crew() as crew:
        for each in chosen:
            try:
                # In a process of its own, so that the most memory that it ever held is this one's.
                rows.append((each, crew.do(Task(str(each), comparison.score, (each, contest, values), _PATIENCE, pickled=True))))
            except LdpauditError as error:
                left.append(f"left out: {error}")
            advance(str(each))
    table = report.Leaderboard(contest, values.users, len(values.values), tuple(rows))
    if plot is not None:
        report.draw(table, plot)
    if format is TableFormat.json:
        say_json(report.as_data(table, left))
        return
    say(report.write(table, format))
    for line in left:
        note(line)
