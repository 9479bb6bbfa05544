"""``ldpaudit calibrate``: how often the auditor refutes true claims."""

from __future__ import annotations

from typing import Annotated

import typer

from ldpaudit.commands.options import Format, FormatOption, SeedOption
from ldpaudit.commands.output import progress, say, say_json


def calibrate(
    runs: Annotated[int, typer.Option(help="Audits per mechanism.", min=1)] = 1_000,
    trials: Annotated[int, typer.Option(help="Samples per audit.", min=16)] = 2_000,
    confidence: Annotated[float, typer.Option(help="Of each audit.")] = 0.95,
    seed: SeedOption = 0,
    format: FormatOption = Format.text,
) -> None:
    """Measure how often the installed auditor refutes true claims that are exactly tight."""
    from ldpaudit.enclosure import show_down, show_up
    from ldpaudit.studies import calibration

    with progress("calibrating", len(calibration.CASES)) as advance:
        rates = []
        for rate in calibration.measure(runs=runs, trials=trials, confidence=confidence, seed=seed):
            rates.append(rate)
            advance(rate.name)
    if format is Format.json:
        say_json([{key: getattr(r, key) for key in calibration.Rate.__slots__} for r in rates])
    for r in rates if format is Format.text else []:
        interval = f"[{show_down(r.low, 3)}, {show_up(r.high, 3)}]"
        say(f"{r.name}, {r.mode}: {r.refuted} of {r.runs} true claims refuted; rate in {interval}, stated {r.stated:.3g}")
    raise typer.Exit(0 if all(r.low <= r.stated for r in rates) else 1)
