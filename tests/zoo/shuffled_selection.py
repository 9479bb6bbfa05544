from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.yes_no_answers import Answers
from ldpaudit.mechanisms.shuffled_selection import ShuffledSelection
from tests.zoo import Broken, Mutant, Zoo

TWO = ShuffledSelection(users=6, questions=2, coins=4)
DELTA = 0.016311843882654647
"""At which 24 fair coins in each of two counts cost epsilon = 1."""


def one_toss_serves_all_questions(x: Answers, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = TWO.sample(x, size, rng)
    own = np.isin(np.arange(TWO.questions), x)
    return np.asarray(views[:, :1] - own[0] + own)


def a_yes_is_sent_twice(x: Answers, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.asarray(TWO.sample(x, size, rng) + np.isin(np.arange(TWO.questions), x))


def mutants() -> Iterator[Mutant]:
    many = ShuffledSelection(users=100, questions=6, coins=4)
    yield Mutant("a coin of four is lost", many, replace(many, coins=3), delta=0.01)
    yield Mutant("half of the users are gone", many, replace(many, users=50), delta=0.01)


ZOO = Zoo(
    small=(ShuffledSelection(2, questions=2, coins=2), ShuffledSelection(1, questions=3, coins=2), ShuffledSelection(3, 2, 1)),
    at_one=(TWO,),
    broken=(
        Broken("one toss serves all questions", TWO, one_toss_serves_all_questions),
        Broken("a yes is sent twice", TWO, a_yes_is_sent_twice),
    ),
    delta=DELTA,
    mutants=tuple(mutants()),
)
