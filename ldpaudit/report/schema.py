"""JSON Schemas of the files that people write, and of those that are written for them: made from the models that read them."""

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from ldpaudit import mechanisms
from ldpaudit.certificates import certificate
from ldpaudit.core import parameters
from ldpaudit.core.nearest import one_of
from ldpaudit.files import stated, tables
from ldpaudit.files.reports import ReportForm
from ldpaudit.gate import checking, findings
from ldpaudit.mechanism import Mechanism
from ldpaudit.plan import Guarantee
from ldpaudit.registry import CONSTRUCTOR, constructors
from ldpaudit.verdict import Outcome

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAMES = ("deployment", "gate", "baseline", "certificate")
_VERDICT = {"type": "string", "enum": [each.value for each in Outcome]}
_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


class _Writer(GenerateJsonSchema):
    """Writes fractions as the numbers or expressions that they are, and no titles, which would repeat the keys."""

    def encode_default(self, dft: Any) -> Any:
        return _number(dft) if isinstance(dft, Fraction) else super().encode_default(dft)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema(name: str, stems: Iterable[str] | None = None) -> dict[str, Any]:
    """The JSON Schema of a kind of file.

    ``name``: one of `NAMES`; ``stems``: mechanisms that a deployment may name; None for all. Raises ValueError where
    there is no such kind.
    """
    match name:
        case "deployment":
            return _deployment(tuple(mechanisms.stems() if stems is None else stems))
        case "gate":
            return _of(checking.Config, "Configuration of a gate: ldpaudit.toml, or [tool.ldpaudit] of pyproject.toml")
        case "baseline":
            return _of(findings.Baseline, "Baseline of a gate")
        case "certificate":
            found = _infinite(_of(certificate.Certificate, "Certificate"))
            inner = found["properties"]
            properties = {"schema": inner.pop("schema_"), **inner, "verdict": _VERDICT, "digest": _DIGEST}
            return {**found, "properties": properties, "required": ["schema", *found["required"], "verdict", "digest"]}
    raise ValueError(f"schema {one_of((*NAMES, 'report'), name, 'ldpaudit schema -h')}")


def of_report(m: Mechanism) -> dict[str, Any]:
    """The JSON Schema of one record of a file of a mechanism's reports. Raises Unsupported as `ReportForm.of`."""
    return {"$schema": DIALECT, "title": f"Report of {m}", **ReportForm.of(m).schema()}


def _of(model: type[BaseModel], title: str) -> dict[str, Any]:
    found = model.model_json_schema(by_alias=True, schema_generator=_Writer)
    plain: dict[str, Any] = _plain({key: value for key, value in found.items() if key != "title"})
    return {"$schema": DIALECT, "title": title, **plain}


def _plain(tree: Any) -> Any:
    """The same schema as all versions of pydantic write it, without the names and docstrings of our classes."""
    if isinstance(tree, list):
        return [_plain(each) for each in tree]
    if not isinstance(tree, dict):
        return tree
    inherited = tree["allOf"][0] if len(tree.get("allOf", ())) == 1 else {}
    unsaid = {"allOf"} if inherited else {"type", "enum"} if "const" in tree else set()
    if tree.get("type") == "object" and "properties" in tree:
        unsaid |= {"title", "description"}
    return {key: _plain(value) for key, value in {**inherited, **tree}.items() if key not in unsaid}


def _deployment(stems: tuple[str, ...]) -> dict[str, Any]:
    found = _of(stated.DeploymentTable, "Deployment file")
    integer = {"anyOf": [{"type": "integer"}, tables.EXPRESSION]}
    integers = {"anyOf": [{"type": "array", "items": integer}, {"type": "string"}]}
    found["$defs"] |= {"number": tables.NUMBER, "integer": integer, "integers": integers}
    # The first edition: sources are texts, and nothing is said of the status.
    sources, text = found["properties"]["sources"], {"type": "string"}
    first = {"properties": {"schema": {"const": stated.FIRST}}}
    later = dict.fromkeys(("status", "registry", "adversary", "aggregator", "assumes", "sampler"), False)
    of_texts = {"properties": {"sources": {"items": text}, **later}}
    found["allOf"] = [{"if": first, "then": of_texts, "else": {"properties": {"sources": {"items": sources["items"]}}}}]
    for each in (found, found["$defs"]["PartTable"]):
        each["oneOf"] = [{"required": ["mechanism"]}, {"required": ["compose"]}]
    found["properties"]["sources"] = {**sources, "items": {"anyOf": [sources["items"], text]}}
    table = found["$defs"]["MechanismTable"]
    table["properties"]["kind"]["enum"] = [*stems, "guarantee"]
    # Nothing but what the chosen mechanism takes: so an editor offers its parameters, and underlines all others.
    table["allOf"] = [*(each for stem in stems for each in _kinds(stem)), _kind("guarantee", "", Guarantee)]
    return found


def _kinds(stem: str) -> Iterator[dict[str, Any]]:
    here = {"properties": {"kind": {"const": stem}}, "required": ["kind"]}
    yield {"if": here, "then": {"properties": {"variant": {"enum": list(mechanisms.classes(stem))}}}}
    for variant, owner in mechanisms.classes(stem).items():
        yield _kind(stem, variant, owner)


def _kind(stem: str, variant: str, owner: type) -> dict[str, Any]:
    """What a table [mechanism] of this kind holds besides."""
    chosen = {"properties": {"kind": {"const": stem}, "variant": {"const": variant}}}
    here = {**chosen, "required": ["kind", "variant"] if variant else ["kind"]}
    ways = parameters.of(owner)
    known = _properties(each for way in ways.values() for each in way if each.type != "other")
    # Ways of which a file can say all that the constructor needs.
    writable = [way for way in ways.values() if all(each.type != "other" or each.default is not None for each in way)]
    takes = [[each.name for each in way if each.default is None] for way in writable]
    constructor = {"enum": list(constructors(owner)), "description": "Name of the constructor, if the parameters fit several."}
    properties = {"kind": True, "variant": True, CONSTRUCTOR: constructor, **known}
    then = {"properties": properties, "additionalProperties": False, "anyOf": [{"required": each} for each in takes]}
    return {"if": here, "then": then}


def _properties(given: Iterable[parameters.Parameter]) -> dict[str, Any]:
    """What a key is, as the first constructor that has it says; its default only where all of them have the same."""
    found: dict[str, Any] = {}
    for each in given:
        default: dict[str, Any] = {}
        if each.default not in (None, parameters.NONE):
            text = str(each.default)
            default["default"] = json.loads(text) if text.startswith("[") else _number(Fraction(text))
        known = found.setdefault(each.name, {"$ref": f"#/$defs/{each.type}", "description": each.words, **default})
        if known.get("default") != default.get("default"):
            known.pop("default", None)
    return found


def _number(value: Fraction) -> int | str:
    return int(value) if value.denominator == 1 else str(value)


def _infinite(tree: Any) -> Any:
    """The same schema, whose numbers may be infinite: JSON is told so in words."""
    if isinstance(tree, list):
        return [_infinite(each) for each in tree]
    if not isinstance(tree, dict):
        return tree
    if tree.get("type") == "number":
        rest = {key: value for key, value in tree.items() if key != "type"}
        return {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}], **rest}
    return {key: _infinite(value) for key, value in tree.items()}
