"""A deployment file to begin with: the example of a mechanism's docstring, with what each key means beside it."""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ldpaudit import registry
from ldpaudit.core.expression import parse
from ldpaudit.core.parameters import NONE, of, plain, summary
from ldpaudit.core.refusal import table_at
from ldpaudit.errors import Unsupported
from ldpaudit.files.stated import SCHEMA, DeploymentTable
from ldpaudit.mechanism import Mechanism

CHOICE = {
    "randomized_response": "one of a few values", "unary_encoding": "one of more values, in as many bits",
    "rappor": "a text, again and again", "laplace": "a number", "geometric": "an integer",
    "hashtogram": "one of very many values", "trie_heavy_hitter": "a word, of which only frequent ones are seen",
}  # fmt: skip
"""Stems to begin with, by what a user reports."""
ASKED = "1e-6"
"""The delta that is asked for, where no epsilon is enough for 0: with a shuffler, a sample of the users, or Gaussian noise."""
_EPOCHS = {"count": 52, "window": 4, "window_answers": 4, "lifetime_answers": 52}  # a year of weeks
_SOURCE: dict[str, Any] = {
    "id": "privacy-page",
    "title": "Our privacy page",
    "url": "https://example.org/privacy",
    "date": "2026-01-31",
    "accessed": "2026-01-31",
    "quote": "",
    "supports": ["report"],
}
_WIDTH = 100
_LARGEST = 1 << 63


@dataclass(frozen=True, slots=True)
class Known:
    """What is known before a file is written: a constructor and its parameters, how often a user reports, and who sees it."""

    constructor: str
    values: Mapping[str, str]
    reports: int = 1  # per user and day
    users: Mapping[str, int] = field(default_factory=dict)  # of the table [shuffle], or [aggregate]


def starter(stem: str, variant: str = "", schema: str = "", known: Known | None = None) -> str:
    """A commented deployment file that certifies as it stands.

    ``stem``, ``variant``: of the mechanism; ``schema``: path or address of the JSON Schema, for editors; nothing
    where it is empty; ``known``: by default the example of the docstring. Raises ParameterError where there is no such
    mechanism; Unsupported where its docstring shows no example.
    """
    owner = registry.find(stem, variant)
    known = known or Known(*example(owner))
    constructor, values = known.constructor, known.values
    lines = [f"#:schema {schema}"] if schema else []
    lines += ["# What is deployed, and what is claimed about it. To certify it: ldpaudit certify FILE"]
    lines += [f"schema = {json.dumps(SCHEMA)}"]
    name = "-".join(each for each in (stem, variant) if each)
    lines += _key("", "id", f"my-{name.replace('_', '-')}")
    lines += [*_key("", "title", f"My {plain(owner.title)}"), ""]
    lines += [*_mechanism(stem, variant, owner, constructor, values), ""]
    often, kept = known.reports > 1, _marked(_key("contribution", "memoized", True))
    reports = _key("contribution", "reports", known.reports if often else 10)
    lines += [*_table("contribution", "If a user contributes more than once a day", reports, often), *kept, ""]
    lines += ["# If reports are collected in several epochs, uncomment these lines:", "# [epochs]"]
    for key, value in _EPOCHS.items():
        lines += _marked(_key("epochs", key, value))
    lines += [""]
    if owner.model == "local" and "aggregate" in known.users:
        lines += [*_table("aggregate", "", _commented("aggregate", "users", f"{known.users['aggregate']:_}"), True), ""]
    elif owner.model == "local":
        users = _commented("shuffle", "users", f"{known.users.get('shuffle', 10**6):_}")
        lines += [*_table("shuffle", "If there is a shuffler", users, "shuffle" in known.users), ""]
    lines += _claim(owner, values, bool(known.users))
    if often:
        lines += ["", "[[claims]]", 'id = "day"', 'epsilon = "?"', *(["delta = 1e-6"] if known.users else []), 'unit = "user-day"']
    lines += ["", "# Where the parameters and claims are published; a claim with an epsilon needs one:", "# [[sources]]"]
    for key, value in _SOURCE.items():
        lines += _marked(_key("sources", key, value))
    return "\n".join(lines) + "\n"


def _table(name: str, wherever: str, lines: Iterator[str], stated: bool) -> list[str]:
    """A table, as it is, or to be uncommented where it is so."""
    return [f"[{name}]", *lines] if stated else [f"# {wherever}, uncomment these lines:", f"# [{name}]", *_marked(lines)]


_TEXT = '"'  # what a value begins with that is text, and no number: a matrix
_LIST = "["  # and what a list of integers begins with


def example(owner: type[Mechanism]) -> tuple[str, dict[str, str]]:
    """A constructor and its parameters, as expressions, from the first example of the docstring, or of what it derives from.

    Raises Unsupported where there is none that a file can say.
    """
    for each in owner.__mro__:
        for call in _calls(each):
            constructor = call.func.attr if isinstance(call.func, ast.Attribute) else owner.__name__
            make = registry.constructors(owner).get(constructor)
            if make is not None and (values := _values(make, call)) is not None:
                return constructor, values
    raise Unsupported(owner.__name__, "its docstring has no example that can be turned into a deployment file")


def _calls(owner: type) -> Iterator[ast.Call]:
    """Where a class's docstring makes one."""
    for line in (owner.__doc__ or "").splitlines():
        if line.strip().startswith(">>> "):
            for node in ast.walk(ast.parse(line.strip()[4:])):
                match node:
                    case ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name))) if name == owner.__name__:
                        yield node


def _values(make: Any, call: ast.Call) -> dict[str, str] | None:
    """The call's arguments by their names; None where one is no number."""
    given = inspect.signature(make).bind(*call.args, **{each.arg: each.value for each in call.keywords if each.arg})
    values = {name: _expression(node) for name, node in given.arguments.items()}
    try:
        for value in values.values():
            if not value.startswith(_TEXT):
                parse(value)
    except ValueError:
        return None
    return values


def _expression(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return json.dumps(node.value)
    text = ast.unparse(_Plainer().visit(node)).replace(" ", "")
    return re.sub(r"(?<=\de)([+-]?)0+(?=\d)", r"\1", text)  # as people write 1e-6


class _Plainer(ast.NodeTransformer):
    """Python's numbers as a deployment file writes them."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id="Fraction"), args=[top, bottom]):
                return ast.BinOp(top, ast.Div(), bottom)
            case ast.Call(func=ast.Name(id="Fraction"), args=[whole]):
                return whole
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        match node:
            case ast.BinOp(left=ast.Constant(value=1), op=ast.LShift(), right=power):
                return ast.BinOp(ast.Constant(2), ast.Pow(), power)
        return node


def _mechanism(stem: str, variant: str, owner: type[Mechanism], constructor: str, values: Mapping[str, str]) -> Iterator[str]:
    yield "[mechanism]"
    yield from _comment(summary(owner))
    yield f"kind = {json.dumps(stem)}"
    if variant:
        yield f"variant = {json.dumps(variant)}"
    ways = of(owner)
    names = {name: {each.name for each in way} for name, way in ways.items()}
    needed = {name: {each.name for each in way if each.default is None} for name, way in ways.items()}
    if sum(needed[name] <= values.keys() <= names[name] for name in ways) > 1:
        yield f"{registry.CONSTRUCTOR} = {json.dumps(constructor)}"
    for each in ways[constructor]:
        value = values.get(each.name, each.default or NONE)
        if value != NONE:
            yield from _comment(each.words)
            yield f"{'' if each.name in values else '# '}{each.name} = {_value(value)}"
    others = [f"({', '.join(each.name for each in way)})" for name, way in ways.items() if name != constructor]
    if others:
        yield from _comment(f"Or, instead of these: {' or '.join(others)}; see `ldpaudit mechanisms {stem}`.")


def _claim(owner: type[Mechanism], values: Mapping[str, str], pooled: bool) -> Iterator[str]:
    pooled = pooled or owner.model in ("shuffled", "sampled", "central")
    delta = values.get("delta", ASKED if pooled or owner.needs_delta else "0") if owner.model != "interactive" else "0"
    yield "[[claims]]"
    yield from _key("claims", "id", "report")
    yield from _key("claims", "epsilon", "?")
    yield from _commented("claims", "delta", _value(delta))
    yield from _key("claims", "neighbours", str(owner.relations[0]))
    yield from _key("claims", "unit", "report")
    yield from _key("claims", "source", "nothing is claimed yet")
    yield from _marked(_key("claims", "expect", "holds"))


def _key(table: str, key: str, value: Any) -> Iterator[str]:
    return _commented(table, key, json.dumps(value, ensure_ascii=False))


def _commented(table: str, key: str, value: str) -> Iterator[str]:
    """A key with its value, below what the model says of it."""
    model = table_at(DeploymentTable, [table] if table else [])
    if model is not None:
        yield from _comment(plain(model.model_fields[key].description or ""))
    yield f"{key} = {value}"


def _marked(lines: Iterator[str]) -> Iterator[str]:
    """The same lines as comments."""
    return (line if line.startswith("#") else f"# {line}" for line in lines)


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _value(expression: str) -> str:
    """As TOML writes it: an integer and a list of integers as such, all else as an expression in quotes."""
    if expression.startswith((_TEXT, _LIST)):
        return expression
    number = parse(expression)
    whole = number.denominator == 1 and abs(number) < _LARGEST
    return f"{int(number):_}" if whole else json.dumps(expression)
