from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms._parameters import odds
from ldpaudit.mechanisms.tree_histogram import HashedTreeHistogram, SplitTreeHistogram, TreeHistogram
from tests.zoo import Broken, Mutant, Zoo, tenth

MANY = 1 << 20
ONE = TreeHistogram.for_epsilon(1.0, MANY, domain=1 << 64)
HASHED = HashedTreeHistogram.for_epsilon(1.0, MANY, domain=1 << 30)
SPLIT = SplitTreeHistogram.for_epsilon(1.0, MANY, domain=1 << 64)


def the_lie_is_a_fair_sign(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = ONE.sample(x, size, rng)
    lies = rng.random(size) >= float(ONE.p)
    views[:, 1] = np.where(lies, 2 * rng.integers(0, 2, size) - 1, ONE.signs([x], views[:, 0]))
    return views


def the_level_depends_on_the_value(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # In place of on a public coin alone: who holds 0 is asked what the coin says, and others what comes later.
    asked = ONE.groups(np.arange(MANY >> 8))
    index = int(np.argmax(asked == (asked[0] + x) % (len(ONE.questions) + 1)))
    return replace(ONE, index=index).sample(x, size, rng)


def the_last_question_is_answered_without_a_coin(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = SPLIT.sample(x, size, rng)
    views[:, 2] = SPLIT.signs([x], views[:, 0])[:, 1]
    return views


def each_of_the_two_signs_spends_epsilon(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return replace(SPLIT, p=odds(1), q=odds(1)).sample(x, size, rng)


def the_lie_may_be_the_truth(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = HASHED.sample(x, size, rng)
    views[:, 3] = np.where(rng.random(size) >= float(HASHED.p), rng.integers(0, HASHED.g, size), hash_of(views, x))
    return views


def hash_of(views: NDArray[np.int64], x: int) -> NDArray[np.int64]:
    return HASHED.oracle.hash(views[:, 1], views[:, 2], HASHED.cells([x], views[:, 0]))


def the_function_is_chosen_so_that_it_names_the_value(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # Of two answers the one that supports the value, as a user who wants to be counted would have it.
    views, again = HASHED.sample(x, size, rng), HASHED.sample(x, size, rng)
    return np.where(HASHED.supports(views, x)[:, None], views, again)


def mutants() -> Iterator[Mutant]:
    yield Mutant("the final estimate spends epsilon again", ONE, replace(ONE, p=odds(2)))
    yield Mutant("the lie is a fair sign", ONE, replace(ONE, p=(1 + ONE.p) / 2))
    yield Mutant("p is rounded up to a tenth", ONE, replace(ONE, p=tenth(ONE.p, up=True)))
    yield Mutant("the last question spends epsilon, not its share", SPLIT, replace(SPLIT, q=odds(1)))
    yield Mutant("four hash values with the probability for two", HASHED, replace(HASHED, p=ONE.p))
    yield Mutant("both coins have two bits", SPLIT, replace(SPLIT, p=Fraction(3, 4), q=Fraction(3, 4)))


ZOO = Zoo(
    small=(TreeHistogram(MANY, 2, 1, Fraction(3, 4)), TreeHistogram(MANY, 23, 2, Fraction(2, 3), seed=5, index=9),
           TreeHistogram.for_epsilon(2.5, MANY, domain=16, width=3, share=Fraction(1, 5)),
           SplitTreeHistogram(MANY, 2, 1, Fraction(3, 4), Fraction(2, 3)),
           SplitTreeHistogram(MANY, 23, 2, Fraction(2, 3), Fraction(3, 5), seed=5, index=9),
           SplitTreeHistogram.for_epsilon(2.5, MANY, domain=16, width=3, share=Fraction(1, 5)),
           HashedTreeHistogram(MANY, 23, 2, 3, Fraction(1, 2), seed=5, index=9)),
    at_one=(ONE, SPLIT, HASHED),
    broken=(
        Broken("the lie is a fair sign", ONE, the_lie_is_a_fair_sign),
        Broken("the level depends on the value", ONE, the_level_depends_on_the_value),
        Broken("the last question is answered without a coin", SPLIT, the_last_question_is_answered_without_a_coin),
        Broken("each of the two signs spends epsilon", SPLIT, each_of_the_two_signs_spends_epsilon),
        Broken("the lie may be the truth", HASHED, the_lie_may_be_the_truth),
        Broken("the function is chosen so that it names the value", HASHED, the_function_is_chosen_so_that_it_names_the_value),
    ),
    mutants=tuple(mutants()),
)
