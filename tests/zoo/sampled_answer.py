from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.sampled_answer import SampledAnswer
from ldpaudit.mechanisms.shared.yes_no_answers import Answers
from tests.zoo import Broken, Mutant, Zoo, mutant, no_data, no_inputs, refusals

FOUR = SampledAnswer(4, Fraction(1, 2))
SIXTEEN = SampledAnswer.for_epsilon(1.0, questions=16)


def who_says_yes_to_all_never_lies(x: Answers, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = SIXTEEN.sample(x, size, rng)
    views[:, 1] |= len(x) == SIXTEEN.questions
    return views


def a_no_is_always_told_as_it_is(x: Answers, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views, own = SIXTEEN.sample(x, size, rng), np.isin(np.arange(SIXTEEN.questions), x)
    views[:, 1] &= own[views[:, 0]]
    return views


ZOO = Zoo(
    small=(SampledAnswer(2, Fraction(1, 3)), SampledAnswer(4, Fraction(4, 5)), SampledAnswer(7, Fraction(1, 10))),
    at_one=(SIXTEEN,),
    broken=(
        Broken("who says yes to all never lies", SIXTEEN, who_says_yes_to_all_never_lies),
        Broken("a no is always told as it is", SIXTEEN, a_no_is_always_told_as_it_is),
    ),
    refused=(
        *refusals("SampledAnswer needs", FOUR, questions=[1], gamma=[Fraction(0), Fraction(1)]),
        *no_inputs(r"SampledAnswer needs a tuple of questions among \{0, 1, 2, 3\}, ascending",
                   FOUR, (1, 1), (2, 1), (4,), (-1,), 3),
        *no_data("needs at least one user", FOUR, []),
    ),
    mutants=(
        mutant("a quarter of the coins is lost", SIXTEEN, gamma=SIXTEEN.gamma * Fraction(3, 4)),
        Mutant("epsilon is spent twice", SIXTEEN, SampledAnswer.for_epsilon(2, questions=16)),
    ),
)
