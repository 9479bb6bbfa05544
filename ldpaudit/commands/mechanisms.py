"""``ldpaudit mechanisms``: what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands.options import Format, FormatOption, parameters_of
from ldpaudit.commands.output import say, say_json

if TYPE_CHECKING:
    from ldpaudit.core.parameters import Parameter
    from ldpaudit.mechanism import Mechanism

NameArgument = Annotated[
    str | None, typer.Argument(help="STEM or STEM:VARIANT: only this, with what each parameter means.", show_default=False)
]


def mechanisms(name: NameArgument = None, format: FormatOption = Format.text) -> None:
    """List the mechanisms with their parameters; of one stem, what each parameter means, its unit and range."""
    if name is not None:
        _explain(_asked(name), format)
        return
    from ldpaudit import mechanisms as known
    from ldpaudit import registry

    rows: list[tuple[str, str, str, list[str]]] = []
    for stem in known.names():
        for variant, owner in known.classes(stem).items():
            made = registry.constructors(owner)
            ways = [f"{name}: {', '.join(registry.parameters_of(make))}" for name, make in made.items()]
            rows.append((_named(stem, variant), owner.title, known.source(stem), ways))
    if format is Format.json:
        say_json([{"name": n, "title": title, "from": source, "parameters": ways} for n, title, source, ways in rows])
        return
    for name, title, source, ways in rows:
        say(f"{name}  {title}{'' if source == 'ldpaudit' else f'  (from {source})'}")
        for way in ways:
            say(f"    {way}")


def _named(stem: str, variant: str) -> str:
    return f"{stem}:{variant}" if variant else stem


def _asked(name: str) -> dict[str, type[Mechanism]]:
    """The classes of a stem by their names; or the one that a variant names."""
    from ldpaudit import mechanisms as known
    from ldpaudit import registry

    stem, variant = known.named(name)
    with parameters_of(name):
        one = registry.find(stem, variant)
    found = {variant: one} if variant else known.classes(stem)
    return {_named(stem, each): owner for each, owner in found.items()}


def _explain(asked: dict[str, type[Mechanism]], format: Format) -> None:
    from ldpaudit.core.parameters import of

    if format is Format.json:
        say_json([_data(name, owner) for name, owner in asked.items()])
        return
    for name, owner in asked.items():
        say(f"{name}  {owner.title}")
        say(f"    model {owner.model}; neighbours {', '.join(map(str, owner.relations))}")
        for way, parameters in of(owner).items():
            say()
            say(f"  {way}({', '.join(each.name for each in parameters)})")
            say(f"    {_summary(owner, way)}")
            for each in parameters:
                say(f"    {each.name} : {_kind(each)}")
                say(f"        {each.words}")
        say()


def _summary(owner: type[Mechanism], way: str) -> str:
    from ldpaudit.core.parameters import summary
    from ldpaudit.registry import constructors

    return summary(constructors(owner)[way])


def _kind(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f"by default {parameter.default}"
    return ", ".join(part for part in (parameter.type, parameter.unit, parameter.range, default) if part)


def _data(name: str, owner: type[Mechanism]) -> dict[str, Any]:
    from ldpaudit.core.parameters import of

    ways = [
        {"name": way, "summary": _summary(owner, way), "parameters": [*map(_fields, parameters)]}
        for way, parameters in of(owner).items()
    ]
    neighbours = [str(each) for each in owner.relations]
    return {"name": name, "title": owner.title, "model": owner.model, "neighbours": neighbours, "constructors": ways}


def _fields(parameter: Parameter) -> dict[str, Any]:
    shown = ("name", "type", "unit", "range", "default")
    return {**{field: getattr(parameter, field) for field in shown}, "meaning": parameter.words}
