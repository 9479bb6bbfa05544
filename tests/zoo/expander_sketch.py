from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms._parameters import odds
from ldpaudit.mechanisms.expander_sketch import ExpanderSketch, SplitExpanderSketch
from tests.zoo import Broken, Mutant, Zoo, tenth

MANY = 1 << 20
ONE = ExpanderSketch.for_epsilon(1.0, MANY, domain=1 << 64)
SPLIT = SplitExpanderSketch.for_epsilon(1.0, MANY, domain=1 << 64)


def the_lie_is_a_fair_sign(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = ONE.sample(x, size, rng)
    lies = rng.random(size) >= float(ONE.p)
    views[:, 1] = np.where(lies, 2 * rng.integers(0, 2, size) - 1, ONE.signs([x], views[:, 0]))
    return views


def the_coordinate_depends_on_the_value(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # In place of on a public coin alone.
    asked = ONE.groups(np.arange(MANY >> 8))
    index = int(np.argmax(asked == (asked[0] + x % 97) % (ONE.coordinates + 1)))
    return replace(ONE, index=index).sample(x, size, rng)


def the_last_question_is_answered_without_a_coin(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = SPLIT.sample(x, size, rng)
    views[:, 2] = SPLIT.signs([x], views[:, 0])[:, 1]
    return views


def each_of_the_two_signs_spends_epsilon(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return replace(SPLIT, p=odds(1), q=odds(1)).sample(x, size, rng)


def mutants() -> Iterator[Mutant]:
    yield Mutant("the final estimate spends epsilon again", ONE, replace(ONE, p=odds(2)))
    yield Mutant("the lie is a fair sign", ONE, replace(ONE, p=(1 + ONE.p) / 2))
    yield Mutant("p is rounded up to a tenth", ONE, replace(ONE, p=tenth(ONE.p, up=True)))
    yield Mutant("the last question spends epsilon, not its share", SPLIT, replace(SPLIT, q=odds(1)))
    yield Mutant("both coins have two bits", SPLIT, replace(SPLIT, p=Fraction(3, 4), q=Fraction(3, 4)))


@st.composite
def anywhere(draw: st.DrawFn) -> Mechanism:
    """Random parameters hardly ever leave a value enough bits for a symbol and names."""
    domain, name, seed = draw(st.integers(1 << 22, 1 << 64)), draw(st.integers(0, 4)), draw(st.integers(0, 9))
    p, q = (draw(st.fractions(Fraction(9, 16), Fraction(15, 16), max_denominator=16)) for _ in range(2))
    coordinates = draw(st.integers(9, 20))
    one = ExpanderSketch(MANY, domain, coordinates, p, name=name, seed=seed)
    return draw(st.sampled_from([one, SplitExpanderSketch(MANY, domain, coordinates, p, q, name=name, seed=seed)]))


ZOO = Zoo(
    small=(ExpanderSketch(MANY, 129, 7, Fraction(3, 4), name=0),
           ExpanderSketch(MANY, 130, 9, Fraction(2, 3), name=0, seed=5, index=9),
           SplitExpanderSketch(MANY, 129, 7, Fraction(3, 4), Fraction(2, 3), name=0, seed=5, index=9)),
    at_one=(ONE, SPLIT),
    broken=(
        Broken("the lie is a fair sign", ONE, the_lie_is_a_fair_sign),
        Broken("the coordinate depends on the value", ONE, the_coordinate_depends_on_the_value),
        Broken("the last question is answered without a coin", SPLIT, the_last_question_is_answered_without_a_coin),
        Broken("each of the two signs spends epsilon", SPLIT, each_of_the_two_signs_spends_epsilon),
    ),
    mutants=tuple(mutants()),
    anywhere=anywhere(),
)
