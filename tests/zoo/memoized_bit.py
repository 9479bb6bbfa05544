from fractions import Fraction
from functools import partial

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ldpaudit.accountants.memoized_bit import same_pattern
from ldpaudit.mechanisms.memoized_bit import MemoizedBit, Stream
from ldpaudit.mechanisms.shared.coins import bernoulli
from tests.zoo import Broken, Refusal, Zoo, broken, mutant, no_data, no_inputs, refusals, tenth
from tests.zoo.rappor import reported

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
LONGER = MemoizedBit(3, QUARTER, Fraction(107940829, 273870523), Fraction(165929694, 273870523))
NOISY = MemoizedBit(2, Fraction(9, 10), Fraction(65282739, 539069137), Fraction(473786398, 539069137))
"""What its two reports show is nearly only whether the value is still the same."""
SHORT = MemoizedBit(2, QUARTER, Fraction(21434851, 62826449), Fraction(41391598, 62826449))


def copies(m: MemoizedBit, x: Stream, size: int, lost: Fraction, rng: np.random.Generator) -> NDArray[np.bool_]:
    """The copy that belongs to the value held in each epoch."""
    values, places = np.unique(x, return_inverse=True)
    kept = (values % 2 == 1) ^ bernoulli(lost, (size, len(values)), rng)
    return np.asarray(kept[:, places])


def the_report_of_a_value_is_kept_too(x: Stream, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    values, places = np.unique(x, return_inverse=True)
    coin = rng.random((size, len(values)))[:, places]
    return reported(NOISY, copies(NOISY, x, size, NOISY.f / 2, rng), coin)


@st.composite
def anywhere(draw: st.DrawFn) -> MemoizedBit:
    """Mostly one epoch, of which the proof is tight."""
    p, q = sorted(draw(st.sets(st.fractions(Fraction(1, 16), Fraction(15, 16), max_denominator=16), min_size=2, max_size=2)))
    return MemoizedBit(draw(st.sampled_from((1, 1, 2, 3, 6))), draw(st.fractions(0, Fraction(15, 16), max_denominator=16)), p, q)


ZOO = Zoo(
    small=(
        MemoizedBit(2, HALF, HALF, Fraction(3, 4)),
        MemoizedBit(1, HALF, QUARTER, 1 - QUARTER),
        MemoizedBit(2, Fraction(9, 10), Fraction(1, 20), Fraction(19, 20)),
        MemoizedBit(3, Fraction(0), Fraction(1, 5), Fraction(1, 3)),
        MemoizedBit(5, Fraction(4, 5), Fraction(1, 3), Fraction(2, 3)),
    ),
    at_one=(SHORT, NOISY, LONGER),
    broken=(
        Broken("the permanent step is left out", SHORT,
               lambda x, size, rng: reported(SHORT, copies(SHORT, x, size, Fraction(0), rng), rng.random((size, 2)))),
        Broken("the copy itself is reported", LONGER, lambda x, size, rng: copies(LONGER, x, size, LONGER.f / 2, rng)),
        Broken("the report of a value is kept too", NOISY, the_report_of_a_value_is_kept_too),
        broken("f is halved twice", SHORT, f=SHORT.f / 2),
    ),
    refused=(
        *refusals("0 <= f < 1", SHORT, f=[Fraction(1), Fraction(-1)]),
        *refusals("0 < p < 41391598/62826449", SHORT, p=[Fraction(0), Fraction(1)]),
        *refusals("0 < q < 1", SHORT, q=[Fraction(1)]), *refusals("1 <= epochs <= 1048576", SHORT, epochs=[0]),
        *no_inputs("needs 2 values from 0 to 3", SHORT, (0,), (0, 4), (0, -1), [0, 1], (0, 1.0), (True, 1), None),
        *no_data("needs 2 values from 0 to 3 of each user", SHORT,
                 [[0, 4]], [[0]], [0, 1], [[0.5, 1]], np.zeros((0, 2), dtype=int)),
        *(Refusal("at least one value, each with at least 1 report", partial(same_pattern, SHORT, reports))
          for reports in ([], [0], [2, -1])),
    ),
    mutants=(
        mutant("the permanent step is left out", SHORT, f=Fraction(0)),
        mutant("p and q are rounded to tenths", SHORT, p=tenth(SHORT.p), q=tenth(SHORT.q, up=True)),
        mutant("there is an epoch more than was counted", MemoizedBit(2, HALF, HALF, Fraction(3, 4)), epochs=3),
    ),
    loose=(MemoizedBit,),
    anywhere=anywhere(),
)
