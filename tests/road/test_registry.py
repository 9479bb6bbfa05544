"""From named parameters to a mechanism: types decide; every parameter is explained, and what is said of its range is so."""

import dataclasses
import re
import sys
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest

from ldpaudit import Mechanism, mechanisms
from ldpaudit.core import parameters
from ldpaudit.core.parameters import Parameter
from ldpaudit.registry import ParameterError, aimed, call, construct, constructors, find, parameters_of
from tests.helpers import raises, run
from tests.zoo import SMALL

CLASSES = [owner for stem in mechanisms.stems() for owner in mechanisms.classes(stem).values()]
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


def test_a_function_and_a_constructor_are_called_by_the_types_of_their_parameters(coin: type[Any]) -> None:
    assert list(constructors(coin)) == ["Coin", "fair", "for_bias"]
    made = construct(coin, {"k": "2**3", "bias": 0.5})
    assert (made.k, type(made.k), made.p) == (8, int, Fraction(3, 4))
    raises(ParameterError, "needs an integer, got '1/2'", construct, coin, {"k": "1/2"})
    def share(part: int, whole: Fraction) -> Fraction:
        return part / whole

    assert call(share, {"part": "1e2", "whole": "1/4"}) == 400
    raises(ParameterError, "integer", call, share, {"part": "1/4", "whole": "1"})


_PRINTED = {"as_printed", "shuffled_as_printed", "shuffled_in_closed_form", "for_users", "of_binomial", "of_response"}
"""Constructors that compute parameters by a formula of a paper: whether it keeps the epsilon is what a claim is judged by."""


def test_the_epsilon_that_parameters_are_computed_from_is_that_of_the_constructor_that_is_meant() -> None:
    response, encoding = find("randomized_response", ""), find("unary_encoding", "")
    assert aimed(response, {"k": 4, "epsilon": "1/2"}) == ("for_epsilon", Fraction(1, 2))
    assert aimed(response, {"k": 4, "p": "1/2"}) is None
    assert aimed(response, {"k": 4, "epsilon": 1, "delta": "1/10**9", "users": 10**6}) is None
    assert aimed(encoding, {"k": 4, "epsilon": 1, "constructor": "optimized"}) == ("optimized", Fraction(1))


LEAST = re.compile(r"(?:from|at least) (\d+)\b(?! \+)")


@pytest.mark.parametrize("owner", CLASSES, ids=lambda c: c.__name__)
def test_every_parameter_of_every_constructor_is_explained_and_an_epsilon_restates_the_claim_or_not(owner: type[Mechanism]) -> None:
    for way, given in parameters.of(owner).items():
        for each in given:
            assert each.words, f"{owner.__name__}.{way}: {each.name} needs a line in a docstring"
            assert "As for" not in each.words
    ways = constructors(owner)
    aiming = {name for name, make in ways.items() if name != owner.__name__ and "epsilon" in parameters_of(make)}
    assert aiming - _PRINTED == aiming & set(owner.calibrated)


@pytest.mark.parametrize("m", SMALL, ids=str)
def test_an_integer_below_the_range_that_is_printed_is_refused(m: Mechanism) -> None:
    for each in parameters.of(type(m))[type(m).__name__]:
        if each.type == "integer" and (least := LEAST.match(each.range)):
            raises(ValueError, each.name, dataclasses.replace, m, **{each.name: int(least[1]) - 1})


@pytest.mark.parametrize(("meaning", "unit", "range_"), [
    ("Number k of values, at least 2; inputs are ``range(k)``.", "values", "at least 2"),
    ("Probability of the truth, ``1/k <= p < 1``.", "probability", "1/k <= p < 1"),
    ("Number of bits that a user reports, from 1 to `k`.", "bits", "from 1 to k"),
    ("In nats, above 0.", "nats", "above 0"),
    ("Buckets, a power of two. Together they have at most 24 bits.", "", "a power of two"),
    ("Where it is above 1, the rest.", "", ""),
    ("Probability that it fails, in (0, 1).", "probability", "in (0, 1)"),
])  # fmt: skip
def test_unit_and_range_are_what_clauses_of_the_first_sentence_say(meaning: str, unit: str, range_: str) -> None:
    each = Parameter("k", "integer", meaning, None)
    assert (each.unit, each.range) == (unit, range_)


def test_one_mechanism_is_listed_with_all_that_is_known_and_a_variant_alone() -> None:
    shown = run("mechanisms", "randomized_response").stdout
    for line in (
        "randomized_response  k-ary randomized response",
        "  for_epsilon(epsilon, k)",
        "    k : integer, values, at least 2",
        "        Probability of the truth, 1/k <= p < 1.",
        "    epsilon : number, nats, above 0, at most 10000",
    ):
        assert line in shown.splitlines()
    assert re.findall(r"^rappor\S*", run("mechanisms", "rappor").stdout, re.MULTILINE) == ["rappor", "rappor:permanent"]
    assert re.findall(r"^rappor\S*", run("mechanisms", "rappor:permanent").stdout, re.MULTILINE) == ["rappor:permanent"]
    raises(ParameterError, r"^needs one of those that `ldpaudit mechanisms` lists, got 'xyzzy'$", find, "xyzzy")
