"""``ldpaudit risk``: what a mechanism's numbers mean for one user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands.options import (
    AggregateOption,
    Format,
    FormatOption,
    NameArgument,
    ParametersArgument,
    ShuffleOption,
    deployed,
    whole,
)
from ldpaudit.commands.output import console, say, say_json

if TYPE_CHECKING:
    from ldpaudit.certificates.risk import Risk
    from ldpaudit.plan import Plan


def risk(
    mechanism: NameArgument,
    parameters: ParametersArgument = None,
    shuffle: ShuffleOption = None,
    aggregate: AggregateOption = None,
    subsample: Annotated[
        int | None,
        typer.Option(
            parser=whole, metavar="<int>", help="Population size: participants are drawn without replacement."
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="<int>", help="Number of runs in a lifetime, shown beside a single run."),
    ] = None,
    neighbours: Annotated[
        str | None, typer.Option(help="replace-one, add-remove, or group-of-K: K users replaced.")
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """What the best adversary can do: certified probabilities of a right guess, of being found, and of certainty."""
    import ldpaudit
    from ldpaudit.certificates.risk import risk as risk_of

    relation = None if neighbours is None else ldpaudit.Neighbours.named(neighbours)
    plans = {"one run": deployed(mechanism, parameters or [], shuffle, aggregate, subsample, None)}
    if repeat is not None:
        plans[f"{repeat:,} runs"] = deployed(mechanism, parameters or [], shuffle, aggregate, subsample, repeat)
    found = {seen: (plan, risk_of(ldpaudit.account(plan, relation))) for seen, plan in plans.items()}
    if format is Format.json:
        say_json([{"plan": str(plan), "seen": seen, **_data(each)} for seen, (plan, each) in found.items()])
    else:
        _print(found)


def _print(found: dict[str, tuple[Plan, Risk]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from ldpaudit.certificates.risk import percent

    plan = list(found.values())[-1][0]
    say(str(plan))
    screen = console()
    for seen, (_, risk) in found.items():
        screen.print(Text(risk.sentence(seen)))
    screen.print()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for column in ("certified chance", *found):
        table.add_column(column)
    for rows in zip(*(risk.rows for _, risk in found.values()), strict=True):
        table.add_row(rows[0][0], *(percent(chance) for _, chance in rows))
    screen.print(table)


def _data(risk: Risk) -> dict[str, Any]:
    from ldpaudit.certificates.risk import ends

    return {
        "guess": ends(risk.guess),
        "true_positive": [{"false_positive": float(rate), **ends(found)} for rate, found in risk.true_positive],
        "posterior": [{"prior": float(prior), **ends(found)} for prior, found in risk.posterior],
    }
