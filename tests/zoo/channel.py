from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ldpaudit import strategies
from ldpaudit.mechanisms.channel import Channel
from ldpaudit.mechanisms.shared.parameters import odds
from tests.zoo import Broken, Mutant, Zoo


def answer(p: Fraction, k: int = 2) -> Channel:
    """Randomized response, as a matrix."""
    return Channel([[p if x == y else (1 - p) / (k - 1) for y in range(k)] for x in range(k)])


def of(*rows: str) -> Channel:
    return Channel("; ".join(rows))


def lopsided(p: Fraction) -> Channel:
    """One input is surer of its answer than the others; the largest ratio is that of the first view."""
    half = (1 - p) / 2
    return Channel([[p, half, half], [half, (1 - half) / 2, (1 - half) / 2 ], [half, 1 - 2 * half, half]])


ONE, SURE = answer(odds(1)), lopsided(odds(1, 2))
FOUR = answer(odds(1, 3), 4)


def rows_are_columns(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # The matrix was written down transposed, and its rows made to sum to 1 again.
    column = np.array([float(row[x]) for row in SURE.matrix])
    return rng.choice(3, size, p=column / column.sum())


def the_last_view_takes_what_is_left(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    # Cumulative sums to one digit: what they lose, the last view gains.
    ends = np.floor(np.cumsum([float(p) for p in FOUR.matrix[x]]) * 10) / 10
    return np.minimum(np.searchsorted(ends, rng.random(size), side="right"), 3)


ZOO = Zoo(
    small=(
        of("3/4, 1/4", "1/3, 2/3"),
        of("1/2, 1/3, 1/6", "1/6, 1/2, 1/3", "1/3, 1/6, 1/2"),
        of("0.3, 0.2, 0.5, 0", "0.1, 0.6, 0.3, 0"),
        of("1/2, 1/2, 0", "1/3, 1/3, 1/3"),
        lopsided(Fraction(3, 5)),
    ),
    at_one=(ONE, SURE, FOUR),
    broken=(
        Broken("rows are columns", SURE, rows_are_columns),
        Broken("the last view takes what is left", FOUR, the_last_view_takes_what_is_left),
    ),
    mutants=(
        Mutant("an entry has one digit", ONE, answer(Fraction(8, 10))),
        Mutant("two rows are exchanged with their neighbours'", of("1/2,1/4,1/4", "1/4,1/2,1/4", "1/3,1/3,1/3"),
               of("1/2,1/4,1/4", "1/4,1/2,1/4", "1/5,1/5,3/5")),
        Mutant("a small entry is rounded down", FOUR,
               of("1/2,1/6,1/6,1/6", "1/6,1/2,1/6,1/6", "1/6,1/6,1/2,1/6", "1/10,1/6,1/6,17/30")),
    ),
    anywhere=st.tuples(st.integers(2, 4), st.integers(2, 4)).flatmap(lambda size: strategies.channels(*size)).map(Channel),
)  # fmt: skip
