from fractions import Fraction
from typing import Any

import numpy as np

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.bassily_smith import BassilySmith, ProjectedBassilySmith
from ldpaudit.mechanisms.shared.parameters import odds
from tests.zoo import Broken, Refusal, Zoo, fair_lie, mutant, no_data, rounded_up, two_bits

PLAIN = BassilySmith.for_epsilon(1.0, rows=12)
WORDS = ProjectedBassilySmith.for_epsilon(1.0, rows=400, domain=30)
FOUR = BassilySmith(4, Fraction(3, 4))
FEW, FEW_WORDS = BassilySmith.for_epsilon(1, rows=8), ProjectedBassilySmith.for_epsilon(1, rows=64, domain=9)


def the_sign_is_kept_for_every_row_but_one(x: Any, size: int, rng: np.random.Generator) -> Views:
    views = PLAIN.sample(x, size, rng)
    views[views[:, 0] == 0, 1] = x[0]
    return views


def the_lie_is_a_fair_sign(x: int, size: int, rng: np.random.Generator) -> Views:
    rows = rng.integers(0, WORDS.rows, size)
    lies = rng.random(size) >= float(WORDS.p)
    return np.stack([rows, np.where(lies, 2 * rng.integers(0, 2, size) - 1, WORDS.public.signs(rows, x))], axis=-1)


def the_vector_is_not_checked(x: Any, size: int, rng: np.random.Generator) -> Views:
    # The centre has sent a matrix whose entries are 1.5 times too large.
    plus = (1 + 1.5 * np.asarray(x, dtype=float) * float(PLAIN.theta)) / 2
    rows = rng.integers(0, PLAIN.rows, size)
    return np.stack([rows, np.where(rng.random(size) < plus[rows], 1, -1)], axis=-1)


def the_row_is_one_of_the_word(x: int, size: int, rng: np.random.Generator) -> Views:
    # In place of telling a false sign, it tells a row in which that sign is true.
    views = WORDS.sample(x, size, rng)
    views[views[:, 1] < 0, 0] = x
    return views


ZOO = Zoo(
    small=(BassilySmith(2, Fraction(3, 4)), BassilySmith(1, Fraction(2, 3)), BassilySmith.for_epsilon(2.5, rows=7),
           ProjectedBassilySmith(4, 3, Fraction(3, 4)), ProjectedBassilySmith.for_epsilon(1, rows=70, domain=5, seed=3)),
    at_one=(PLAIN, WORDS),
    broken=(
        Broken("the sign is kept in one row", PLAIN, the_sign_is_kept_for_every_row_but_one),
        Broken("the vector is not checked", PLAIN, the_vector_is_not_checked),
        Broken("the lie is a fair sign", WORDS, the_lie_is_a_fair_sign),
        Broken("the row is one of the word", WORDS, the_row_is_one_of_the_word),
    ),
    refused=(
        *no_data("vectors of 4 numbers", FOUR, [[1, 2, 0, 0]], [[1, 1, 1]], [1, 1, 1, 1], np.zeros((0, 4))),
        *no_data(r"words in range\(5\)", ProjectedBassilySmith(64, 5, Fraction(3, 4)), [0, 5]),
        Refusal("4 numbers from -1 to 1", lambda: FOUR.law((1, 1, 1, Fraction(5, 4)))),
    ),
    mutants=(
        fair_lie(FEW_WORDS), rounded_up(FEW), mutant("epsilon is spent on the row and on the sign", FEW, p=odds(2)),
        two_bits(FEW_WORDS),
    ),
    loose=(ProjectedBassilySmith,),
)  # fmt: skip
