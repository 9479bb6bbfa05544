"""``ldpaudit init``: a deployment file to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldpaudit.commands.options import parameters_of
from ldpaudit.commands.output import note, say

NameArgument = Annotated[
    str | None,
    typer.Argument(help="STEM or STEM:VARIANT, as `ldpaudit mechanisms` lists them; without one, a few.", show_default=False),
]


def init(
    name: NameArgument = None,
    output: Annotated[Path | None, typer.Option(help="Output file; by default standard output.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    schema: Annotated[str, typer.Option(help="Path or URL of the JSON Schema, named in the first line for editors.")] = "",
) -> None:
    """Write a commented deployment file for a mechanism; it certifies as it stands."""
    from ldpaudit import mechanisms, registry
    from ldpaudit.files.starter import CHOICE, starter

    if name is None:
        if output is not None:
            raise ValueError("init needs a STEM with --output")
        widest = max(map(len, CHOICE))
        for stem in CHOICE:
            say(f"{stem:{widest}}  {registry.find(stem).title}")
        note("init needs one of these, or of the others that `ldpaudit mechanisms` lists")
        return
    with parameters_of(name):
        text = starter(*mechanisms.named(name), schema)
    if output is None:
        say(text.rstrip("\n"))
        return
    _write(output, text, overwrite)
    note(f"wrote {output}; to have it judged: ldpaudit certify {output}")


def _write(output: Path, text: str, overwrite: bool) -> None:
    from ldpaudit.files.whole import write_whole

    if overwrite:
        write_whole(output, text)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("x", encoding="utf-8", newline="\n") as file:  # never in place of what came between a look and this
            file.write(text)
    except FileExistsError:
        raise ValueError(f"{output}: already exists: needs another name, or --overwrite") from None
