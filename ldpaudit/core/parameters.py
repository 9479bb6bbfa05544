"""What the parameters of a mechanism mean, as its docstrings say: for the command line, editors and the reference page."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ldpaudit import registry
from ldpaudit.core.number import show

_SECTIONS = ("Parameters", "Other Parameters")
_ITEM = re.compile(r"(?P<names>\w+(?:, \w+)*)(?: : .*)?")
_ELSEWHERE = re.compile(r"As for `(?P<owner>\w+)`(?:[;,] (?P<more>.*)|\.)")
_UNITS = (
    (re.compile(r"\bnats\b"), "nats"),
    (re.compile(r"^(?:Probability|P\[)"), "probability"),
    (re.compile(r"^Bits\b"), "bits"),
    (re.compile(r"^Number (?:\w+ )?of ((?:(?!that\b|in\b|may\b|of\b)[a-z']+ ?)+)"), r"\1"),
)
"""How a meaning begins, or what it mentions, and the unit that this names."""
_CLAUSES = re.compile(r"[,;:] (?:and )?(?![^()`]*\))")
_RANGE = re.compile(
    r"`{2}[^`]*[<>][^`]*`{2}|in \(0, 1\)|(?:from )?\S+ to (?:`{2}[^`]+`{2}|[^ `]+|`\w+`)|(?:of )?at (?:least|most) .+"
    r"|(?:above|below) \S+|an? power of two.*", re.IGNORECASE
)
"""A clause that says which values there are, and nothing else."""

NONE = "none"  # the default of a parameter that may be left out


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a constructor, in words.

    ``name``: the key in a deployment file, and the word of a command; ``type``: ``integer``, ``integers`` or
    ``number``; ``other`` for what no file can say; ``meaning``: the docstring's words, on one line; ``default``: as an
    expression; None where it has to be given.
    """

    name: str
    type: str
    meaning: str
    default: str | None

    @property
    def unit(self) -> str:
        """What it counts or is measured in, as far as its meaning says so."""
        for words, unit in _UNITS:
            if found := words.search(self.meaning):
                return found.expand(unit).strip()
        return ""

    @property
    def range(self) -> str:
        """Which values it may have, as far as the first sentence of its meaning says so in clauses of their own."""
        clauses = _CLAUSES.split(self.meaning.split(". ")[0].rstrip("."))
        return ", ".join(each.replace("`", "").removeprefix("of ") for each in clauses if _RANGE.fullmatch(each))

    @property
    def words(self) -> str:
        """Its meaning without marks."""
        return plain(self.meaning)


def plain(text: str) -> str:
    """A docstring's words without its marks, but for those of names."""
    return re.sub(r":math:`([^`]*)`", r"\1", text).replace("``", "")


def of(owner: type) -> dict[str, tuple[Parameter, ...]]:
    """The parameters of every constructor of a class, by the constructor's name."""
    made: dict[str, Callable[..., Any]] = registry.constructors(owner)
    return {
        constructor: tuple(
            Parameter(name, _type(each.annotation), _meaning(owner, make, name), _default(each.default))
            for name, each in registry.parameters_of(make).items()
        )
        for constructor, make in made.items()
    }


def summary(make: Callable[..., Any]) -> str:
    """The first sentence of what a constructor's docstring says, on one line."""
    return plain(" ".join(inspect.cleandoc(make.__doc__ or "").split("\n\n")[0].split()))


def _default(value: Any) -> str | None:
    if value is inspect.Parameter.empty:
        return None
    if isinstance(value, tuple):
        return f"[{', '.join(map(show, value))}]"
    return NONE if value is None else show(value)


def _type(annotation: Any) -> str:
    if annotation is int:
        return "integer"
    if annotation == registry.INTEGERS:
        return "integers"
    return "number" if annotation is not Any and "Mechanism" not in str(annotation) else "other"


def _meaning(owner: type, make: Callable[..., Any], name: str) -> str:
    """What the constructor says, else the class, else those that it is derived from; "As for `Other`" is what that class says."""
    for each in (make, *owner.__mro__):
        if text := _items(each.__doc__).get(name):
            if (elsewhere := _ELSEWHERE.fullmatch(text)) is None:
                return text
            other = getattr(sys.modules[each.__module__], elsewhere["owner"])
            meant = _meaning(other, other, name)
            return f"{meant.rstrip('.')}; {elsewhere['more']}" if elsewhere["more"] else meant
    return ""


def _items(docstring: str | None) -> dict[str, str]:
    """The parameters of a numpydoc docstring, and what it says of each, on one line."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in _section(inspect.cleandoc(docstring or "").splitlines()):
        if item := _ITEM.fullmatch(line):
            names = item["names"].split(", ")
            found.update(dict.fromkeys(names, ""))
        else:
            found.update({name: f"{found[name]} {line.strip()}".strip() for name in names})
    return found


def _section(lines: list[str]) -> Iterator[str]:
    """The lines of the sections that describe parameters, without their headings."""
    inside = False
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if after and not after.strip("-"):
            inside = line in _SECTIONS
        elif inside and line.strip("-"):
            yield line
