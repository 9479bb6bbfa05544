"""Hypothesis strategies for the tests of those who build on ldpaudit (extra 'test')."""

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import reject, strategies as st

from ldpaudit import mechanisms as known
from ldpaudit.mechanism import Mechanism
from ldpaudit.registry import INTEGERS, constructors, parameters_of

LARGEST = 6  # of integer parameters, so that laws stay small


@st.composite
def channels(draw: st.DrawFn, inputs: int = 2, views: int = 3, weight: int = 20) -> list[list[Fraction]]:
    """Random rational channels: a row of `views` probabilities for each of `inputs` inputs."""
    rows = []
    for _ in range(inputs):
        weights = draw(st.lists(st.integers(0, weight), min_size=views, max_size=views).filter(any))
        rows.append([Fraction(w, sum(weights)) for w in weights])
    return rows


@st.composite
def mechanisms(draw: st.DrawFn, stem: str | None = None) -> Mechanism:
    """Random mechanisms with small parameters: of one stem, or of all."""
    name = stem if stem is not None else draw(st.sampled_from(known.stems()))
    owner = draw(st.sampled_from(list(known.classes(name).values())))
    make: Callable[..., Mechanism] = draw(st.sampled_from(list(constructors(owner).values())))
    values = {p.name: draw(_values(p)) for p in parameters_of(make).values()}
    try:
        return make(**values)
    except (ValueError, TypeError):
        reject()  # these values do not fit together; another draw will


def _values(parameter: inspect.Parameter) -> st.SearchStrategy[Any]:
    if parameter.annotation is int:
        return st.integers(1, LARGEST)
    if parameter.annotation == INTEGERS:
        return st.lists(st.integers(-2, 2), min_size=1, max_size=2).map(tuple)
    if parameter.name in ("epsilon", "scale"):
        return st.fractions(Fraction(1, 8), 3, max_denominator=16)
    return st.fractions(Fraction(1, 16), Fraction(15, 16), max_denominator=16)


@st.composite
def input_pairs(draw: st.DrawFn, mechanism: Mechanism) -> tuple[Any, Any]:
    """Two different inputs of a mechanism."""
    last = len(mechanism.inputs) - 1
    first = draw(st.integers(0, last))
    second = draw(st.integers(0, last - 1))
    return mechanism.inputs[first], mechanism.inputs[second + (second >= first)]
