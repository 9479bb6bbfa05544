"""``ldpaudit mechanisms``: what is known."""

from __future__ import annotations

from ldpaudit.commands.options import Format, FormatOption
from ldpaudit.commands.output import say, say_json


def mechanisms(format: FormatOption = Format.text) -> None:
    """List what is known, with each one's parameters."""
    from ldpaudit import mechanisms as known
    from ldpaudit import registry

    rows: list[tuple[str, str, list[str]]] = []
    for stem in known.stems():
        for variant, owner in known.classes(stem).items():
            made = registry.constructors(owner)
            ways = [f"{name}: {', '.join(registry.parameters_of(make))}" for name, make in made.items()]
            rows.append((f"{stem}:{variant}" if variant else stem, owner.title, ways))
    if format is Format.json:
        say_json([{"name": name, "title": title, "parameters": ways} for name, title, ways in rows])
        return
    for name, title, ways in rows:
        say(f"{name}  {title}")
        for way in ways:
            say(f"    {way}")
