"""``ldpaudit prove``: the proofs, run."""

from __future__ import annotations

from typing import Annotated

import typer

from ldpaudit.commands.options import Format, FormatOption
from ldpaudit.commands.output import say, say_json


def prove(
    stems: Annotated[list[str] | None, typer.Argument(help="Stems; by default all.", show_default=False)] = None,
    steps: Annotated[bool, typer.Option(help="Print every step.")] = False,
    format: FormatOption = Format.text,
) -> None:
    """Run the proofs, and print what is checked, assumed and admitted."""
    from ldpaudit import mechanisms
    from ldpaudit.derivation import proofs_of

    rows = []
    for stem in stems or mechanisms.stems():
        if stem not in mechanisms.stems() and mechanisms.part_of(stem, "proof") is None:
            raise ValueError(f"prove needs stems among {', '.join(mechanisms.stems())}, got {stem!r}")
        rows += [(stem, proof) for proof in proofs_of(stem)]
    if format is Format.json:
        keys = ("statement", "mechanism", "relation", "steps", "assumes", "admissions")
        say_json([{"stem": stem, **{key: getattr(proof, key, "") for key in keys}} for stem, proof in rows])
        return
    for stem, proof in rows:
        say(f"{stem}: {proof.statement} ({proof.relation}; {len(proof.steps)} steps checked)")
        for line in proof.steps if steps else []:
            say(f"    {line}")
        for word, lines in (("assumes", proof.assumes), ("ADMITS", proof.admissions)):
            for line in lines:
                say(f"    {word}: {line}")
