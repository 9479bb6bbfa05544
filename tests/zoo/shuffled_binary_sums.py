from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from tests.zoo import Broken, Mutant, Zoo

SIXTY = ShuffledBinarySums(60, values=64, gamma=Fraction(1, 10))
DELTA = Fraction(13907115, 486829702)
"""At which 60 coins of 1/10 each on one count up and one down cost epsilon = 1."""

Mistake = Callable[[int | None, int, np.random.Generator], NDArray[np.int64]]


def the_blanket_is_one_label_of_a_user(m: ShuffledBinarySums) -> Mistake:
    # One coin of probability gamma, then a uniform label: as in randomized response.
    def sample(x: int | None, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return replace(m, gamma=m.gamma / m.values).sample(x, size, rng)

    return sample


def holders_send_no_blanket_of_their_own_label(m: ShuffledBinarySums) -> Mistake:
    # "If x = j send j, else toss a coin", and all others hold value 0.
    def sample(x: int | None, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        views = np.array(m.sample(x, size, rng))
        views[:, 0] = int(x == 0) + (x != 0) * (rng.random(size) < float(m.gamma))
        return views

    return sample


def a_client_that_retries_sends_the_label_twice(m: ShuffledBinarySums) -> Mistake:
    def sample(x: int | None, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.asarray(m.sample(x, size, rng) + np.array(m.columns(x))[:, 1])

    return sample


MISTAKES = (
    the_blanket_is_one_label_of_a_user,
    holders_send_no_blanket_of_their_own_label,
    a_client_that_retries_sends_the_label_twice,
)


def mutants() -> Iterator[Mutant]:
    many = ShuffledBinarySums(400, 64, Fraction(1, 10))
    yield Mutant("a quarter of the coins is lost", many, replace(many, gamma=Fraction(3, 40)), delta=0.01)
    yield Mutant("half of the users are gone", many, replace(many, users=200), delta=0.01)


ZOO = Zoo(
    small=(
        ShuffledBinarySums(3, values=3, gamma=Fraction(1, 3)),
        ShuffledBinarySums(1, values=4, gamma=Fraction(2, 5)),
        ShuffledBinarySums(4, values=2, gamma=Fraction(3, 4)),
        ShuffledBinarySums(2, values=17, gamma=Fraction(1, 4)),
    ),
    at_one=(SIXTY,),
    broken=tuple(Broken(each.__name__.replace("_", " "), SIXTY, each(SIXTY)) for each in MISTAKES),
    delta=DELTA,
    mutants=tuple(mutants()),
)
