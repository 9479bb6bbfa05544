"""``ldpaudit deployments``: the deployment files that come with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands.options import Format, FormatOption
from ldpaudit.commands.output import say, say_json

if TYPE_CHECKING:
    from ldpaudit.files.deployment import Deployment


def deployments(
    sources: Annotated[bool, typer.Option("--sources", help="Each claim with the words and places that support it.")] = False,
    format: FormatOption = Format.text,
) -> None:
    """List the bundled deployments, by the ids that `ldpaudit certify` takes."""
    from ldpaudit.files import bundled
    from ldpaudit.files.deployment import load

    found = [load(bundled.FOLDER / f"{each}.toml") for each in bundled.ids()]
    if format is Format.json:
        say_json([_row(d, sources) for d in found])
        return
    widest = max(len(d.id) for d in found)
    for d in found:
        say("\n  ".join([d.id, *_sources(d)]) + "\n" if sources else f"{d.id:{widest}}  {d.title}")


def _row(d: Deployment, sources: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"id": d.id, "title": d.title, "claims": [c.id for c in d.claims], "sources": [*d.sources]}
    if sources:
        row["sources"] = [each.model_dump(exclude_none=True) for each in d.cited] or [{"title": each} for each in d.sources]
        row["status"] = d.status and d.status.model_dump(exclude_none=True)
    return row


def _sources(d: Deployment) -> list[str]:
    """The status, each claim with what supports it, and what the mechanism is taken from."""
    from ldpaudit.core.number import show

    lines = [str(d.status or "Its status is not stated.")]
    for claim in d.claims:
        lines.append(f"{claim.id}: epsilon = {'?' if claim.epsilon is None else show(claim.epsilon)} per {claim.unit}")
        lines += [f"  in words: {claim.source}"] * bool(claim.source)
        lines += _saying(d, claim.id)
    for about in ("mechanism", "status"):
        lines += [about, *said] if (said := _saying(d, about)) else []
    return lines if d.cited else [*lines, *(f"  {each}" for each in d.sources)]


def _saying(d: Deployment, about: str) -> list[str]:
    """The sources that say something, each with its words."""
    lines = []
    for each in d.cited:
        if about in each.supports:
            quote = f': "{each.quote}"' if each.quote else ", without a quotation"
            lines.append(f"  {each}{quote}{f' (seen at {each.via})' if each.via else ''}")
    return lines
