"""``ldpaudit mechanisms``: what is known."""

from __future__ import annotations

from ldpaudit.commands.options import Format, FormatOption
from ldpaudit.commands.output import say, say_json


def mechanisms(format: FormatOption = Format.text) -> None:
    """List what is known, with each one's parameters, and the package that it comes from where that is another."""
    from ldpaudit import mechanisms as known
    from ldpaudit import registry

    rows: list[tuple[str, str, str, list[str]]] = []
    for stem in known.names():
        for variant, owner in known.classes(stem).items():
            made = registry.constructors(owner)
            ways = [f"{name}: {', '.join(registry.parameters_of(make))}" for name, make in made.items()]
            rows.append((f"{stem}:{variant}" if variant else stem, owner.title, known.source(stem), ways))
    if format is Format.json:
        say_json([{"name": n, "title": title, "from": source, "parameters": ways} for n, title, source, ways in rows])
        return
    for name, title, source, ways in rows:
        say(f"{name}  {title}{'' if source == 'ldpaudit' else f'  (from {source})'}")
        for way in ways:
            say(f"    {way}")
