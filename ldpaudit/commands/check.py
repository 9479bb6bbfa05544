"""``ldpaudit check``: the gate of a build."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ldpaudit.commands.options import NoImportOption, pairs
from ldpaudit.commands.output import note, progress
from ldpaudit.report.gate import GateFormat


def check(
    folder: Annotated[Path, typer.Argument(help="Where ldpaudit.toml or pyproject.toml stands.")] = Path(),
    baseline: Annotated[str | None, typer.Option(help="Compare with this file instead of the configured one.")] = None,
    update_baseline: Annotated[bool, typer.Option(help="Write the findings as the new baseline.")] = False,
    no_import: NoImportOption = False,
    report: Annotated[list[str] | None, typer.Option(help="FORMAT=FILE: written as well; may be given again.")] = None,
    format: Annotated[GateFormat, typer.Option("--format", help="How findings are printed.")] = GateFormat.text,
) -> None:
    """Gate a build: deployments and callables against a policy and a baseline.

    Targets, and what a table [implementation] names, are imported and run, each in a process of its own.
    """
    from ldpaudit import gate
    from ldpaudit.report.files import write_whole

    sys.path.insert(0, str(folder.resolve()))
    path, config = gate.find_config(folder)
    reports = _reports(report or [])
    config = config.model_copy(update={"no_import": no_import or config.no_import, "baseline": baseline or config.baseline})
    written = config.baseline
    if update_baseline:
        if written is None:
            raise ValueError("check --update-baseline needs a baseline in the configuration, or --baseline FILE")
        config = config.model_copy(update={"baseline": None})  # what is replaced is not compared with
    with progress("checking") as advance:
        result = gate.check(folder, config, path, advance)
    if update_baseline and written is not None:
        if result.exit_code == 2:
            note(f"{written} stays as it is: not everything was checked")
        else:
            write_whole(folder / written, gate.baseline_of(result))
    for kind, file in reports.items():
        write_whole(file, kind.write(result))
    sys.stdout.write(format.write(result))
    raise typer.Exit(result.exit_code)


def _reports(texts: list[str]) -> dict[GateFormat, Path]:
    known = [each.value for each in GateFormat]
    given = pairs(texts)
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"check --report needs a format among {', '.join(known)}, got {unknown[0]!r}")
    return {GateFormat[kind]: Path(file) for kind, file in given.items()}
