"""The file format reference: prints docs/reference.md from the JSON Schemas in schemas/.

    for kind in deployment gate baseline certificate; do ldpaudit schema $kind > schemas/$kind.json; done
    python -m benchmarks.reference > docs/reference.md
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "schemas"
HEAD = """\
# File format reference

`ldpaudit init STEM` writes a deployment file to start from, and `ldpaudit mechanisms STEM` prints the part of this page about
one mechanism. Editors that support TOML schemas check a file whose first line is `#:schema` and the path of the schema.
`python -m benchmarks.reference` prints this page from the JSON Schemas in `schemas/`, which `ldpaudit schema KIND` makes from
the models that read the files; tests compare it, so never edit it by hand.

Where the type is *number*, an exact expression in quotes is allowed, too, such as `"1/3"` or `"2/(1+exp(8))"`; a float is read
as the dyadic rational that it represents. An epsilon is in nats.
"""
KINDS = {
    "deployment": "A deployment file",
    "gate": "The configuration of a gate",
    "baseline": "A baseline",
    "certificate": "A certificate",
}
TABLE = ("| key | is | by default | means |", "|---|---|---|---|")


def page() -> Iterator[str]:
    """The lines of the page."""
    yield from HEAD.splitlines()
    for kind, title in KINDS.items():
        schema = json.loads((FOLDER / f"{kind}.json").read_text())
        yield from ("", f"## {title}", "", *_table(schema, schema["$defs"]))
        for name, table in _tables(schema):
            yield from ("", f"### `{name}`", "", *_table(table, schema["$defs"]))
        if kind == "deployment":
            yield from _mechanisms(schema["$defs"])


def _tables(schema: dict[str, Any], above: str = "", within: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tables inside, by their names in the file; one inside itself once."""
    defs = schema["$defs"]
    for key, value in schema["properties"].items():
        for name in _named(value):
            if "properties" in defs[name] and name not in within:
                path = f"{above}{key}"
                yield path, defs[name]
                yield from _tables({**defs[name], "$defs": defs}, f"{path}.", (*within, name))


def _named(value: Any) -> Iterator[str]:
    """What a schema refers to, in order."""
    if isinstance(value, list):
        for each in value:
            yield from _named(each)
    elif isinstance(value, dict):
        if isinstance(name := value.get("$ref"), str):
            yield name.removeprefix("#/$defs/")
        for each in value.values():
            yield from _named(each)


def _table(table: dict[str, Any], defs: dict[str, Any]) -> Iterator[str]:
    yield from TABLE
    for key, value in table["properties"].items():
        if isinstance(value, dict):
            yield _row(key, value, key in table.get("required", ()), defs)


def _row(key: str, value: dict[str, Any], required: bool, defs: dict[str, Any]) -> str:
    default = value.get("default")
    by_default = "required" if required else "" if default is None else f"`{json.dumps(default)}`"
    cells = (f"`{key}`", _is(value, defs), by_default, value.get("description", ""))
    shown = " | ".join(each.replace("|", "\\|") for each in cells)
    return f"| {shown} |"


def _is(value: dict[str, Any], defs: dict[str, Any]) -> str:
    """What a value may be, in words."""
    match value:
        case {"const": constant}:
            return f"`{json.dumps(constant)}`"
        case {"enum": choices} if len(choices) > 12:
            return "one of those below"
        case {"enum": choices}:
            return ", ".join(f"`{each}`" for each in choices)
        case {"$ref": name}:
            meant = name.removeprefix("#/$defs/")
            return "table" if "properties" in defs[meant] else _is(defs[meant], defs)
        case {"anyOf": [{"type": "number"}, {"type": "string"}]}:
            return "number"
        case {"anyOf": [{"type": "integer"}, {"type": "string"}]}:
            return "integer"
        case {"anyOf": ways}:
            return " or ".join(dict.fromkeys(_is(way, defs) for way in ways if way.get("type") != "null"))
        case {"type": "array", **rest}:
            return f"list of {_is(rest['items'], defs) or 'values'}" if "items" in rest else "list"
        case {"type": "object", "additionalProperties": dict()}:
            return f"{_is(value['additionalProperties'], defs)} per name"
        case {"type": kind, **rest}:
            return " ".join((kind, *_bounds(rest)))
    return ""


def _bounds(value: dict[str, Any]) -> Iterator[str]:
    words = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    for key, word in words.items():
        if key in value:
            yield f"{word} {value[key]:g}"


def _mechanisms(defs: dict[str, Any]) -> Iterator[str]:
    yield from ("", "### Parameters of each mechanism", "")
    yield "They stand in the table `[mechanism]`, beside `kind` and `variant`: all of one of the lists that are needed."
    for each in defs["MechanismTable"]["allOf"]:
        chosen, then = each["if"]["properties"], each["then"]
        if "anyOf" not in then:  # which variants there are
            continue
        variant = chosen["variant"]["const"]
        needs = " or ".join(f"`{', '.join(way['required'])}`" for way in then["anyOf"])
        name = f'`kind = "{chosen["kind"]["const"]}"`' + (f', `variant = "{variant}"`' if variant else "")
        shown = {k: v for k, v in then["properties"].items() if k != "constructor"}
        yield from ("", f"#### {name}", "", f"Needs {needs}.", "", *_table({"properties": shown}, defs))


if __name__ == "__main__":
    print("\n".join(page()))
