"""``ldpaudit claims``: what papers print, judged."""

from __future__ import annotations

import typer

from ldpaudit.commands.options import (
    ExpectFailsOption,
    Format,
    FormatOption,
    ParametersArgument,
    StemArgument,
    settings,
)
from ldpaudit.commands.output import note, progress, say, say_json


def claims(
    stem: StemArgument = None,
    parameters: ParametersArgument = None,
    expect_fails: ExpectFailsOption = None,
    format: FormatOption = Format.text,
) -> None:
    """What the papers claim of a mechanism, judged; without a stem a table of all, at the examples' parameters.

    What FAILS at the examples' parameters is on record: the README lists it. At others it ends with 1.
    """
    from ldpaudit import literature
    from ldpaudit.report import claims as report

    if stem is None:
        known = literature.stems()
        with progress("claims", len(known)) as advance:
            rows = []
            for each in known:
                rows += literature.summary(each, literature.claims(each))
                advance(each)
        if format is Format.json:
            say_json([{key: getattr(row, key) for key in literature.Row.__slots__} for row in rows])
        else:
            say(report.markdown(rows))
        return
    found = [(command, x, literature.printed(stem, x)) for command, x in settings("claims", stem, parameters)]
    if format is Format.json:
        say_json([report.as_data(stem, x, claim, command) for command, x, held in found for claim in held])
    for command, _, held in found if format is Format.text else []:
        report.print_claims(command, held, say)
    # The README's table is the record of the examples.
    examples = literature.settings(stem)
    failed = [claim.where for _, x, held in found for claim in held if claim.holds is False and x not in examples]
    news = literature.not_on_record(failed, expect_fails or [])
    for line in news:
        note(line)
    raise typer.Exit(1 if news else 0)
