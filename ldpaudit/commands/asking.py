"""The questions of ``ldpaudit init --ask``: what is reported, how often, and by whom it is seen."""

from collections.abc import Callable
from typing import Any

import typer

from ldpaudit.commands.options import parameters_of, reader

_SEEN = {
    "": "whoever collects them sees each user's reports",
    "shuffle": "only what a shuffler has made of many users' reports is seen",
    "aggregate": "only a sum of many users' reports is seen, as secure aggregation shows it",
}


def asked(name: str | None) -> tuple[str, str, Any]:
    """Stem and variant of a mechanism, and what is `Known` of its deployment; questions stand on standard error."""
    from ldpaudit import mechanisms, registry
    from ldpaudit.core.parameters import NONE, of
    from ldpaudit.files.starter import CHOICE, Known, example

    if name is None:
        name = _one_of("What does a user report?", {stem: f"{what}: {registry.find(stem).title}" for stem, what in CHOICE.items()})
    with parameters_of(name):
        stem, variant = mechanisms.named(name)
        owner = registry.find(stem, variant)
    constructor, values = example(owner)
    ways = of(owner)
    names = {way: {each.name for each in given} for way, given in ways.items()}
    constructor = next((way for way, taken in names.items() if "epsilon" in taken and "delta" not in taken), constructor)
    given = {}
    for each in ways[constructor]:
        default = values.get(each.name) or each.default or {"epsilon": "1"}.get(each.name)
        if default != NONE:
            given[each.name] = _answer(f"{each.name}: {each.words}", default, _expression)
    reports, seen, users = 1, "", {}
    if owner.model == "local":
        reports = _answer("How many reports does a user send a day, at most?", "1", reader(int, 1))
        ways_to_see = {key: words for key, words in _SEEN.items() if key != "aggregate" or owner.summed}
        if seen := _one_of("Who sees the reports?", ways_to_see):
            users = {seen: _answer("How many users' reports are together, at least?", "1000000", reader(int, 1))}
    return stem, variant, Known(constructor, given, reports, users)


def _one_of(question: str, ways: dict[str, str]) -> str:
    """The key of the answer that is chosen by its number."""
    typer.echo("\n".join([question, *(f"  {number}  {words}" for number, words in enumerate(ways.values(), 1))]), err=True)

    def chosen(text: str) -> str:
        if text not in map(str, range(1, len(ways) + 1)):
            raise typer.BadParameter(f"needs a number from 1 to {len(ways)}, got {text!r:.60}")
        return [*ways][int(text) - 1]

    return str(_answer("Number", "1", chosen))


def _answer(question: str, default: str | None, read: Callable[[str], Any]) -> Any:
    """What is answered, asked again until it can be read."""
    return typer.prompt(question, default=default, value_proc=read, err=True)


def _expression(text: str) -> str:
    from ldpaudit.core.expression import parse

    try:
        parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return text
