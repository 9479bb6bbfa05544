"""``ldpaudit accuracy``: what papers print of errors, simulated."""

from __future__ import annotations

from typing import Annotated

import typer

from ldpaudit.commands.options import ExpectFailsOption, Format, FormatOption, ParametersArgument, settings
from ldpaudit.commands.output import note, progress, say, say_json


def accuracy(
    stem: Annotated[str, typer.Argument(help="A stem, as `ldpaudit mechanisms` lists them.")],
    parameters: ParametersArgument = None,
    runs: Annotated[int, typer.Option(min=1, help="Simulations per claim.")] = 100,
    confidence: Annotated[float, typer.Option(help="Confidence of the interval for the probability of failure.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    expect_fails: ExpectFailsOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Simulate a mechanism's error, and print it beside what its paper claims.

    Ends with exit code 1 where an error FAILS that --expect-fails does not name.
    """
    from ldpaudit.report import claims as report
    from ldpaudit.studies import literature

    if not 0 < confidence < 1:
        raise ValueError(f"accuracy needs 0 < confidence < 1, got {confidence}")
    chosen = settings("accuracy", stem, parameters)
    stated = [(command, x, literature.accuracy(stem, x)) for command, x in chosen]
    if not any(each for *_, each in stated):
        raise ValueError(f"accuracy has nothing to measure for {stem} at these parameters: no printed error applies to them")
    found = []
    for command, x, each in stated:
        measured = []
        with progress(f"simulating {command}", len(each)) as advance:
            for claim in each:
                measured.append(literature.measure(x, claim, runs, seed, confidence))
                advance(claim.where)
        found.append((command, x, measured))
        if measured and format is Format.text:  # a run that is stopped has said what it knew
            report.print_measured(command, measured, say)
    if format is Format.json:
        say_json([report.measured_as_data(stem, x, m, command) for command, x, each in found for m in each])
    failed = [m.claim.where for *_, measured in found for m in measured if m.holds is False]
    news = literature.not_on_record(failed, expect_fails or [])
    for line in news:
        note(line)
    raise typer.Exit(1 if news else 0)
