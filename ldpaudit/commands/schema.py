"""``ldpaudit schema``: JSON Schemas of the files that people write, and of those that are written for them."""

from __future__ import annotations

from typing import Annotated

import typer

from ldpaudit.commands.output import say_json

NameArgument = Annotated[str, typer.Argument(help="deployment, gate, baseline or certificate.")]


def schema(name: NameArgument = "deployment") -> None:
    """Print the JSON Schema of a kind of file, for editors and other programs."""
    from ldpaudit.report.schema import schema as made

    say_json(made(name))
