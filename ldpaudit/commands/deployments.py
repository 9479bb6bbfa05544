"""``ldpaudit deployments``: the deployment files that come with the package."""

from __future__ import annotations

from ldpaudit.commands.options import Format, FormatOption
from ldpaudit.commands.output import say, say_json


def deployments(format: FormatOption = Format.text) -> None:
    """List the bundled deployments, by the ids that `ldpaudit certify` takes."""
    from ldpaudit.files import bundled
    from ldpaudit.files.deployment import load

    found = [load(bundled.FOLDER / f"{each}.toml") for each in bundled.ids()]
    if format is Format.json:
        say_json([{"id": d.id, "title": d.title, "claims": [c.id for c in d.claims], "sources": [*d.sources]} for d in found])
        return
    widest = max(len(d.id) for d in found)
    for d in found:
        say(f"{d.id:{widest}}  {d.title}")
