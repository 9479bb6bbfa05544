"""``ldpaudit check``: the gate of a build."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ldpaudit.commands.options import pairs
from ldpaudit.commands.output import progress
from ldpaudit.report.gate import GateFormat


def check(
    folder: Annotated[Path, typer.Argument(help="Where ldpaudit.toml or pyproject.toml stands.")] = Path(),
    baseline: Annotated[str | None, typer.Option(help="Compare with this file instead of the configured one.")] = None,
    update_baseline: Annotated[bool, typer.Option(help="Write the findings as the new baseline.")] = False,
    report: Annotated[list[str] | None, typer.Option(help="FORMAT=FILE: written as well; may be given again.")] = None,
    format: Annotated[GateFormat, typer.Option("--format", help="How findings are printed.")] = GateFormat.text,
) -> None:
    """Gate a build: deployments and callables against a policy and a baseline."""
    from ldpaudit import gate
    from ldpaudit.report.files import write_whole

    sys.path.insert(0, str(folder.resolve()))
    path, config = gate.find_config(folder)
    reports = _reports(report or [])
    if baseline is not None:
        config = config.model_copy(update={"baseline": baseline})
    if update_baseline and config.baseline is None:
        raise ValueError("check --update-baseline needs a baseline in the configuration, or --baseline FILE")
    with progress("checking") as advance:
        result = gate.check(folder, config, path, advance)
    if update_baseline and config.baseline is not None:
        write_whole(folder / config.baseline, gate.baseline_of(result))
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
