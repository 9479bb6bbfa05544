"""``ldpaudit registry``: records of the public registry of deployments, written and checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpaudit.commands import options
from ldpaudit.commands.options import Format, FormatOption, NoImportOption
from ldpaudit.commands.output import progress, say, say_json

if TYPE_CHECKING:
    from ldpaudit.certificates.certificate import Certificate
    from ldpaudit.report.record import Edition


def export(
    file: Annotated[
        Path, typer.Argument(help="Deployment file, id of a bundled one, or certificate in JSON.", show_default=False)
    ],
    claim: Annotated[
        str | None, typer.Option(help="Id of the claim; by default that of the widest unit that has a bound.", show_default=False)
    ] = None,
    tier: Annotated[int, options.whole_number("2, or 3 for a record whose every field has text.", least=2)] = 2,
    edition: Annotated[
        str, typer.Option(help="Edition of the registry's schema, by commit: 3e9c812 (2026-07-15), or 057e5d8, which is later.")
    ] = "3e9c812",
    no_import: NoImportOption = False,
) -> None:
    """Print a record for the registry: numbers from the certificate, words from the file's table `registry`."""
    from ldpaudit.report.record import TYPED, Edition, record, to_yaml, yaml

    if edition not in [*Edition]:
        raise ValueError(f"registry export --edition: needs {' or '.join(Edition)}, got {edition!r:.60}")
    if tier not in TYPED:
        raise ValueError(f"registry export --tier: needs 2 or 3, got {tier}")
    yaml()  # known before any work is done
    chosen = Edition(edition)
    say(to_yaml(record(_certificate(file, no_import, tier, chosen), claim, tier, chosen)).rstrip("\n"))


def _certificate(file: Path, no_import: bool, tier: int, edition: Edition) -> Certificate:
    """As it was made, or made now as `ldpaudit certify` makes it by default."""
    from ldpaudit.certificates import parallel
    from ldpaudit.certificates.certificate import Certificate
    from ldpaudit.certificates.certify import CONFIDENCE, TRIALS
    from ldpaudit.report.record import require_typed

    if file.suffix == ".json":
        return Certificate.load(file)
    asked = parallel.ask(file)
    if not isinstance(asked, parallel.Asked):
        raise asked
    if no_import:
        parallel.require_no_code([asked])
    require_typed(asked.deployment.text, asked.name, tier, edition)
    with progress(f"certifying {asked.deployment.id}"):
        (made,) = parallel.certify_all([asked], 0, TRIALS, CONFIDENCE)
    if not isinstance(made, Certificate):
        raise made
    return made


def check(
    file: Annotated[Path, typer.Argument(metavar="RECORD", help="Record of the registry, in YAML.", show_default=False)],
    deployment: Annotated[Path, typer.Option(help="Deployment file, or id of a bundled one, that it is about.")],
    format: FormatOption = Format.text,
) -> None:
    """Compare a record of the registry with a deployment file, field by field; exit with code 1 if any differs."""
    from ldpaudit.files.deployment import load
    from ldpaudit.report.agreement import Standing, compared, read_record

    lines = compared(read_record(file), load(deployment))
    if format is Format.json:
        say_json([{"field": line.field, "standing": str(line.standing), "why": line.why} for line in lines])
    else:
        say(*map(str, lines))
    raise typer.Exit(1 if any(line.standing is Standing.DIFFERS for line in lines) else 0)
