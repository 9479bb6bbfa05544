"""``ldpaudit verify``: a certificate, re-checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpaudit.commands.options import Format, FormatOption
from ldpaudit.commands.output import say, say_json


def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate in JSON.")],
    format: FormatOption = Format.text,
) -> None:
    """Re-check a certificate without sampling."""
    from ldpaudit.certificate import Certificate
    from ldpaudit.certify import verify as check

    loaded = Certificate.load(certificate)
    differences = check(loaded)
    if format is Format.json:
        say_json({"certificate": loaded.id, "digest": loaded.digest, "differences": differences})
    else:
        for line in differences:
            say(line)
        say(f"{loaded.id}: {'stands' if not differences else 'does not stand'} ({len(loaded.claims)} claims)")
    raise typer.Exit(1 if differences else 0)
