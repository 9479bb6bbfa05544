"""Whose fault an error is: the user's, with the line of their code; or ours, which is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import ldpaudit
from ldpaudit.adapters.callables import call
from ldpaudit.errors import DeploymentError, ImplementationError, fault, in_a_line, of_the_user

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


API: Any = ldpaudit  # whose types the arguments below are not
M = API.mechanisms.KaryRandomizedResponse(k=2, p=0.75)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: API.mechanisms.KaryRandomisedResponse, "no attribute 'KaryRandomisedResponse'; did you mean 'KaryRandomized"),
        (lambda: API.account(type(M)), "a plan needs a Mechanism or a Plan, got the class KaryRandomizedResponse without"),
        (lambda: API.account(M, "add-remove"), "a relation such as Neighbours.named('add-remove'), got 'add-remove'"),
        (lambda: API.audit(M, neighbours="add-remove"), "a relation such as Neighbours.named('add-remove'), got 'add-remove'"),
        (lambda: API.Compose(M), "Compose needs a list of plans, got one: KaryRandomizedResponse(k=2, p=3/4)"),
        (lambda: API.certify(5), "certify needs a deployment file or the id of a bundled one, got 5"),
        (lambda: API.certify("enpa-notification", seed="a"), "certify needs integers for seed and trials, got 'a' and"),
        (lambda: API.certify("enpa-notification", trials=0), "an audit needs trials >= 16, got 0"),
        (lambda: API.audit(abs, inputs=0, epsilon=1), "an audit needs a list of inputs such as [0, 1], got 0"),
        (lambda: API.audit(abs, inputs=[0, 1], mode="fast"), "an audit needs mode to be fixed or sequential, got 'fast'"),
    ],
)
def test_what_the_interface_is_not_given_it_names(ask: Callable[[], Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError), match=re.escape(says)):
        ask()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id = 1", "needs a certificate in JSON, as `ldpaudit certify --output FOLDER` writes it: "),
        ("[1, 2]", "needs a certificate in JSON: needs an object with keys, got list"),
        ("{}", "needs a certificate in JSON: the key 'digest' is missing"),
        ('{"digest": "", "verdict": "", "schema": "x/2"}', "schema: needs a certificate of schema ldpaudit.certificate/1: needs"),
        ('{"digest": "", "verdict": "", "schema": "x", "idd": 1}', "idd: needs a certificate of schema ldpaudit.certificate/1: is"),
    ],
)
def test_what_is_no_certificate_is_told_what_one_has(text: str, says: str) -> None:
    with pytest.raises(DeploymentError, match=re.escape(says)):
        ldpaudit.Certificate.from_json(text)
