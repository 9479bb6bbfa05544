"""Every parameter is explained, by the docstrings, and what they say of its range is so."""

from __future__ import annotations

import dataclasses
import re

import pytest

from ldpaudit import mechanisms
from ldpaudit.core import parameters
from ldpaudit.core.parameters import Parameter
from ldpaudit.mechanism import Mechanism
from tests.helpers import run
from tests.zoo import SMALL

CLASSES = [owner for stem in mechanisms.stems() for owner in mechanisms.classes(stem).values()]
LEAST = re.compile(r"(?:from|at least) (\d+)\b(?! \+)")


@pytest.mark.parametrize("owner", CLASSES, ids=lambda c: c.__name__)
def test_every_parameter_of_every_constructor_is_explained(owner: type[Mechanism]) -> None:
    for way, given in parameters.of(owner).items():
        for each in given:
            assert each.words, f"{owner.__name__}.{way}: {each.name} needs a line in a docstring"
            assert "As for" not in each.words


@pytest.mark.parametrize("m", SMALL, ids=str)
def test_an_integer_below_the_range_that_is_printed_is_refused(m: Mechanism) -> None:
    for each in parameters.of(type(m))[type(m).__name__]:
        if each.type == "integer" and (least := LEAST.match(each.range)):
            with pytest.raises(ValueError, match=each.name):
                dataclasses.replace(m, **{each.name: int(least[1]) - 1})  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("meaning", "unit", "range_"),
    [
        ("Number k of values, at least 2; inputs are ``range(k)``.", "values", "at least 2"),
        ("Probability of the truth, ``1/k <= p < 1``.", "probability", "1/k <= p < 1"),
        ("Number of bits that a user reports, from 1 to `k`.", "bits", "from 1 to k"),
        ("In nats, above 0.", "nats", "above 0"),
        ("Buckets, a power of two. Together they have at most 24 bits.", "", "a power of two"),
        ("Where it is above 1, the rest.", "", ""),
        ("Probability that it fails, in (0, 1).", "probability", "in (0, 1)"),
    ],
)
def test_unit_and_range_are_what_clauses_of_the_first_sentence_say(meaning: str, unit: str, range_: str) -> None:
    each = Parameter("k", "integer", meaning, None)
    assert (each.unit, each.range) == (unit, range_)


def test_one_mechanism_is_listed_with_constructors_meanings_units_and_ranges() -> None:
    shown = run("mechanisms", "randomized_response").stdout
    for line in (
        "randomized_response  k-ary randomized response",
        "  for_epsilon(epsilon, k)",
        "    k : integer, values, at least 2",
        "        Probability of the truth, 1/k <= p < 1.",
        "    epsilon : number, nats, above 0, at most 10000",
    ):
        assert line in shown.splitlines()


def test_a_variant_is_listed_alone_and_a_stem_with_all_of_them() -> None:
    assert re.findall(r"^rappor\S*", run("mechanisms", "rappor").stdout, re.MULTILINE) == ["rappor", "rappor:permanent"]
    assert re.findall(r"^rappor\S*", run("mechanisms", "rappor:permanent").stdout, re.MULTILINE) == ["rappor:permanent"]
