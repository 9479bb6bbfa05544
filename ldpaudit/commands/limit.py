"""``ldpaudit limit``: what no private protocol can beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from ldpaudit.commands.options import Format, FormatOption, ParametersArgument, pairs, parameters_of
from ldpaudit.commands.output import say, say_json


def limit(
    name: Annotated[str | None, typer.Argument(help="A calculator; without one, all are listed.", show_default=False)] = None,
    parameters: ParametersArgument = None,
    format: FormatOption = Format.text,
) -> None:
    """Lower bounds on the error of every private protocol."""
    from ldpaudit.accountants.limits import calculators
    from ldpaudit.registry import call

    known = calculators()
    if name is None:
        _list(known, format)
        return
    if name not in known:
        raise ValueError(f"limit needs one of {', '.join(known)}, got {name!r}")
    with parameters_of(name):
        answer = call(known[name], pairs(parameters or []))
    if format is Format.json:
        low, high = (getattr(answer, side, answer) for side in ("low", "high"))
        say_json({"limit": name, "low": low, "high": high, "source": getattr(answer, "source", "")})
    else:
        say(f"{name}: {answer}")


def _list(known: dict[str, Callable[..., Any]], format: Format) -> None:
    import inspect

    listed = {name: ", ".join(inspect.signature(f).parameters) for name, f in known.items()}
    if format is Format.json:
        say_json(listed)
    for name, takes in listed.items() if format is Format.text else []:
        first_line, *_ = (inspect.getdoc(known[name]) or "").splitlines() or [""]  # python -OO drops docstrings
        say(f"{name}: {takes}\n    {first_line}".rstrip())
