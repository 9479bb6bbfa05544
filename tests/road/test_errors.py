"""Whose fault an error is: the user's, with the line of their code; or ours, which is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ldpaudit.adapters.callables import call
from ldpaudit.errors import ImplementationError, fault, in_a_line, of_the_user

OURS = """
def slips(x):
    return int("none")

def refuses(x):
    raise ValueError("needs an input of its own")
"""


def ours(name: str) -> Callable[[Any], Any]:
    """A function that counts as one of ldpaudit's."""
    module: dict[str, Any] = {"__name__": "ldpaudit.pretended"}
    exec(compile(OURS, "pretended.py", "exec"), module)
    return module[name]  # type: ignore[no-any-return]


def theirs(x: int) -> int:
    return ours("slips")(x)  # type: ignore[no-any-return]


LINE = f"tests/road/test_errors.py:{theirs.__code__.co_firstlineno + 1}"


def raised(function: Callable[[Any], Any]) -> Exception:
    with pytest.raises(Exception, match=r"needs|invalid") as caught:
        call(function, 0)
    return caught.value


def test_a_value_error_that_we_did_not_mean_is_a_fault_of_ours() -> None:
    error = raised(ours("slips"))
    assert type(error) is ValueError
    assert not of_the_user(error)
    assert fault(error).startswith("internal error of ldpaudit, please report it: ValueError: invalid literal for int()")
    assert fault(error).endswith("(pretended.py:3)")


def test_one_that_we_raise_of_a_value_is_the_user_s() -> None:
    with pytest.raises(ValueError, match="needs") as refused:
        ours("refuses")(0)
    assert of_the_user(refused.value)
    error = raised(ours("refuses"))
    assert isinstance(error, ImplementationError)
    assert str(error).startswith("on input 0: the callable raised ValueError: needs an input of its own")


def test_one_of_the_user_s_code_names_its_innermost_line_also_where_that_calls_ours() -> None:
    for function in (theirs, lambda x: theirs(x)):
        error = raised(function)
        assert isinstance(error, ImplementationError)
        assert str(error).endswith(f"invalid literal for int() with base 10: 'none' ({LINE})")


def test_an_error_of_a_file_names_it_without_a_code() -> None:
    with pytest.raises(OSError, match="nowhere") as caught:
        open("nowhere/at/all")  # noqa: PTH123, SIM115
    assert in_a_line(caught.value) == "nowhere/at/all: No such file or directory"
