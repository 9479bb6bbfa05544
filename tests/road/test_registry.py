"""From named parameters to a mechanism: types decide, however they are written."""

from __future__ import annotations

import sys
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest

from ldpaudit import mechanisms
from ldpaudit.mechanism import Mechanism
from ldpaudit.registry import ParameterError, aimed, call, construct, constructors, find, parameters_of

SOURCE = '''
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from ldpaudit.profile import Number


@dataclass(frozen=True)
class Coin:
    k: int
    p: Fraction

    @classmethod
    def fair(cls, k: int) -> Self:
        return cls(k, Fraction(1, 2))

    @classmethod
    def for_bias(cls, bias: Number, k: int) -> {quote}Coin{quote}:
        return cls(k, (1 + Fraction(bias)) / 2)

    @classmethod
    def sides(cls) -> int:
        return 2
'''


@pytest.fixture(params=[True, False], ids=["annotations as strings", "annotations as types"])
def coin(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[Any]:
    later = "from __future__ import annotations\n" if request.param else ""
    module = ModuleType("coin")
    monkeypatch.setitem(sys.modules, "coin", module)
    source = later + SOURCE.replace("{quote}", "" if request.param else '"')
    exec(compile(source, "coin.py", "exec", dont_inherit=True), module.__dict__)
    found: type[Any] = module.__dict__["Coin"]
    return found


def test_constructors_are_the_class_methods_that_return_the_class(coin: type[Any]) -> None:
    assert list(constructors(coin)) == ["Coin", "fair", "for_bias"]


def test_an_integer_is_read_where_the_type_is_int_else_a_fraction(coin: type[Any]) -> None:
    made = construct(coin, {"k": "2**3", "bias": 0.5})
    assert (made.k, type(made.k), made.p) == (8, int, Fraction(3, 4))
    with pytest.raises(ParameterError, match="needs an integer, got '1/2'"):
        construct(coin, {"k": "1/2"})


def test_a_function_is_called_by_the_types_of_its_parameters() -> None:
    def share(part: int, whole: Fraction) -> Fraction:
        return part / whole

    assert call(share, {"part": "1e2", "whole": "1/4"}) == 400
    with pytest.raises(ParameterError, match="integer"):
        call(share, {"part": "1/4", "whole": "1"})


def test_a_name_like_no_other_is_refused_with_all_that_are_known() -> None:
    with pytest.raises(ParameterError, match=r"^needs one of bassily_smith, .*, unary_encoding, got 'xyzzy'$"):
        find("xyzzy")


_PRINTED = {"as_printed", "shuffled_as_printed", "shuffled_in_closed_form", "for_users", "of_binomial", "of_response"}
"""Constructors that compute parameters by a formula of a paper: whether it keeps the epsilon is what a claim is judged by."""


@pytest.mark.parametrize("owner", [owner for stem in mechanisms.stems() for owner in mechanisms.classes(stem).values()])
def test_a_constructor_that_takes_an_epsilon_says_whether_it_restates_the_claim(owner: type[Mechanism]) -> None:
    ways = constructors(owner)
    aiming = {name for name, make in ways.items() if name != owner.__name__ and "epsilon" in parameters_of(make)}
    assert aiming - _PRINTED == aiming & set(owner.calibrated)


def test_the_epsilon_that_parameters_are_computed_from_is_that_of_the_constructor_that_is_meant() -> None:
    response, encoding = find("randomized_response", ""), find("unary_encoding", "")
    assert aimed(response, {"k": 4, "epsilon": "1/2"}) == ("for_epsilon", Fraction(1, 2))
    assert aimed(response, {"k": 4, "p": "1/2"}) is None
    assert aimed(response, {"k": 4, "epsilon": 1, "delta": "1/10**9", "users": 10**6}) is None
    assert aimed(encoding, {"k": 4, "epsilon": 1, "constructor": "optimized"}) == ("optimized", Fraction(1))
