"""``ldpaudit check``: the gate of a build."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ldpaudit.commands.options import NoImportOption, cache_of, pairs
from ldpaudit.commands.output import note, progress
from ldpaudit.report.gate import GateFormat


def check(
    folder: Annotated[Path, typer.Argument(help="Folder with ldpaudit.toml, pyproject.toml or deployment files.")] = Path(),
    init: Annotated[
        bool, typer.Option("--init", help="First write ldpaudit.toml, for all deployment files of FOLDER, and then the baseline.")
    ] = False,
    baseline: Annotated[str | None, typer.Option(help="Compare with this file instead of the configured one.")] = None,
    update_baseline: Annotated[bool, typer.Option(help="Write the findings as the new baseline.")] = False,
    no_import: NoImportOption = False,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for cached answers; by default .ldpaudit-cache in FOLDER.")
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Compute everything again, and cache nothing.")] = False,
    report: Annotated[list[str] | None, typer.Option(help="FORMAT=FILE: write the findings there as well; repeatable.")] = None,
    format: Annotated[GateFormat, typer.Option("--format", help="How findings are printed.")] = GateFormat.text,
) -> None:
    """Check deployments and callables of a build against a policy and a baseline.

    Targets and the code in a table `implementation` are imported and run, each in a process of its own.
    """
    from dataclasses import replace

    from ldpaudit.files.whole import write_whole
    from ldpaudit.gate import checking
    from ldpaudit.gate.cache import FOLDER
    from ldpaudit.gate.config import initial

    if no_cache and cache is not None:
        raise ValueError("check needs --cache FOLDER or --no-cache, got both")
    if init:
        write_whole(folder / checking.CONFIG, initial(folder))
        note(f"wrote {folder / checking.CONFIG}")
    path, config = checking.find_config(folder)
    reports = pairs(report, "--report", "FORMAT=FILE")
    known = [each.value for each in GateFormat]
    if unknown := sorted(set(reports) - set(known)):
        raise ValueError(f"check --report needs a format among {', '.join(known)}, got {unknown[0]!r}")
    config = config.model_copy(update={"no_import": no_import or config.no_import, "baseline": baseline or config.baseline})
    written = config.baseline
    if update_baseline := update_baseline or init:
        if written is None:
            raise ValueError("check --update-baseline needs a baseline in the configuration, or --baseline FILE")
        config = config.model_copy(update={"baseline": None})  # what is replaced is not compared with
    kept = None if no_cache else cache_of((cache or folder / FOLDER).absolute(), folder)
    with progress("checking") as advance:
        result = checking.check(folder, config, path, advance, kept)
    if result.reuse is not None:
        for line in (*result.reuse.remarks, str(result.reuse)):
            note(line)
    if update_baseline and written is not None:
        if result.exit_code == 2:
            note(f"{written} is unchanged, because not everything was checked")
        else:
            write_whole(folder / written, checking.baseline_of(result))
            note(f"wrote {folder / written}")
            result = replace(result, uncompared="")
    for kind, file in reports.items():
        write_whole(Path(file), GateFormat[kind].write(result))
    sys.stdout.write(format.write(result))
    raise typer.Exit(result.exit_code)
