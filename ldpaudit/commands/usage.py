"""A command line that cannot be read: what the command needs, what it got, and which command explains it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ldpaudit.core.nearest import SAME, or_rather

_CHOICES = re.compile(r"(?:Value error, )?'(?P<got>.*)' is not one of (?P<known>.*?)\.?")


@contextmanager
def in_our_words() -> Iterator[None]:
    """Raise a ValueError of one line for a usage error of the parser, whichever version of it there is."""
    try:
        yield
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        raise ValueError(_sentence(error)) from None


def _sentence(error: Any) -> str:
    what: str = _what(error)
    context = error.ctx
    if context is None:
        return what
    if context.parent is None:
        return f"{what}; `ldpaudit -h` lists the commands"
    command = context.command_path.partition(" ")[2]
    return f"{command} {what}; `ldpaudit {command} -h` explains it"


def _what(error: Any) -> str:
    """What is wrong, behind the command's name."""
    parameter, message = getattr(error, "param", None), str(error.format_message()).rstrip(".")
    name = "" if parameter is None else _name(parameter)
    if type(error).__name__ == "MissingParameter":
        return f"needs {name}, which is missing"
    if type(error).__name__ == "NoSuchOption":
        given = error.option_name
        has_keys = any(each.name == "parameters" for each in error.ctx.command.params) and given.startswith("--")
        key = f"; a parameter is given as {given.lstrip('-')}=VALUE" if has_keys else ""
        return f"has no option {given}{or_rather(given, error.possibilities or [], SAME) or key}"
    if type(error).__name__ == "BadOptionUsage" and "requires an argument" in message:
        return f"{error.option_name}: needs a value, got none"
    if parameter is not None:
        return f"{name}: {_value(error.message)}"
    if extra := re.fullmatch(r"Got unexpected extra arguments? ?\(?s?\)? ?\((.*)\)", message):
        return f"takes no such argument, got {extra[1]}"
    return message or "needs a command"


def _name(parameter: Any) -> str:
    """An option by its longest spelling, an argument in capitals."""
    is_option = parameter.param_type_name == "option"
    return str(max(parameter.opts, key=len) if is_option else (parameter.metavar or parameter.name).upper())


def _value(message: str) -> str:
    """What is wrong with a value."""
    if found := _CHOICES.fullmatch(message):
        known = [each.strip("' ") for each in found["known"].split(",")]
        return f"needs one of {', '.join(known)}, got {found['got']!r}{or_rather(found['got'], known)}"
    return message
