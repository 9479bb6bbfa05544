"""``ldpaudit claims``: what papers print, judged."""

from __future__ import annotations

from typing import Annotated

import typer

from ldpaudit.commands.options import ExpectFailsOption, ParametersArgument, StemArgument, settings
from ldpaudit.commands.output import note, progress, say, say_json
from ldpaudit.report.claims import TableFormat


def claims(
    stem: StemArgument = None,
    parameters: ParametersArgument = None,
    paper: Annotated[str | None, typer.Option(help="Only the claims of this source, such as GGKPV.", show_default=False)] = None,
    expect_fails: ExpectFailsOption = None,
    format: Annotated[TableFormat, typer.Option("--format", help="How results are printed.")] = TableFormat.text,
) -> None:
    """Judge what the papers claim about a mechanism; without a stem, about all, at the examples' parameters.

    Failures at the examples' parameters are on record in docs/literature.md; at others they end with exit code 1.
    """
    from ldpaudit.accountants.claims.sentence import Standing
    from ldpaudit.report import claims as report
    from ldpaudit.studies import literature

    if stem is None:
        known = literature.stems(paper)
        with progress("claims", len(known)) as advance:
            rows = []
            for each in known:
                rows += literature.summary(each, literature.of_paper(literature.claims(each), paper))
                advance(each)
        say(format.write(rows))
        return
    chosen = settings("claims", stem, parameters)
    found = [(command, x, literature.of_paper(literature.printed(stem, x), paper)) for command, x in chosen]
    if paper is not None and not any(judged for *_, judged in found):
        raise ValueError(f"{stem} has no claims of {paper!r:.60}: `ldpaudit claims {stem}` prints those that it has")
    if format is TableFormat.json:
        say_json([report.as_data(stem, x, claim, command) for command, x, judged in found for claim in judged])
    elif format is TableFormat.text:
        for command, _, judged in found:
            report.print_claims(command, judged, say)
    else:
        say(format.write(literature.summary(stem, [claim for *_, judged in found for claim in judged])))
    on_record = literature.settings(stem)
    failed = [c.where for _, x, judged in found for c in judged if c.standing is Standing.FAILS and x not in on_record]
    news = literature.not_on_record(failed, expect_fails or [])
    for line in news:
        note(line)
    raise typer.Exit(1 if news else 0)
