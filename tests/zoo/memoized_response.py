from fractions import Fraction
from functools import partial

import numpy as np
from hypothesis import strategies as st

from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.memoized_bit import Stream
from ldpaudit.mechanisms.memoized_response import MemoizedDBitFlip, MemoizedResponse, Memoizing
from tests.zoo import Broken, Zoo, broken, mutant, no_data, no_inputs, refusals, tenth

FIRST = MemoizedResponse.for_epsilon(1, k=3, epochs=3, values=1)
ONCE = MemoizedResponse.for_epsilon(1, k=5, epochs=1)
BITS = MemoizedDBitFlip.for_epsilon(1, k=4, d=3, epochs=2, values=1)
BIT = MemoizedDBitFlip.for_epsilon(2, k=3, d=1, epochs=1)
STREAMS = MemoizedResponse(2, 3, Fraction(3, 4))
ALONE = MemoizedResponse.for_epsilon(1, k=2, epochs=1).p
"""The probability at which one bit spends epsilon."""


def fresh(m: Memoizing, x: Stream, size: int, rng: np.random.Generator) -> Views:
    """A report drawn anew in each epoch."""
    return np.concatenate([np.reshape(m.report.sample(v, size, rng), (size, -1)) for v in m.kept_stream(x)], axis=1)


@st.composite
def anywhere(draw: st.DrawFn) -> Mechanism:
    """One kept value, mostly: of more no epsilon is enough."""
    epochs, k, values = draw(st.integers(1, 4)), draw(st.integers(2, 5)), draw(st.sampled_from((0, 1, 1, 1)))
    if draw(st.booleans()):
        return MemoizedResponse(epochs, k, draw(st.fractions(Fraction(1, k), Fraction(15, 16), max_denominator=16)), values)
    p = draw(st.fractions(Fraction(9, 16), Fraction(15, 16), max_denominator=16))
    return MemoizedDBitFlip(epochs, k, draw(st.integers(1, k)), p, values)


ZOO = Zoo(
    small=(
        MemoizedResponse(2, 2, Fraction(3, 4)),
        MemoizedResponse(3, 3, Fraction(1, 2), 2),
        MemoizedDBitFlip(3, 3, 2, Fraction(3, 5), 1),
        MemoizedDBitFlip(2, 2, 2, Fraction(3, 4)),
    ),
    at_one=(FIRST, BITS),
    broken=(
        Broken("every epoch answers afresh", FIRST, partial(fresh, FIRST)),
        broken("a new value gets an answer of its own though the budget is spent", FIRST, values=3),
        Broken("every epoch draws buckets and bits afresh", BITS, partial(fresh, BITS)),
        broken("each bit spends the whole epsilon", BITS, p=ALONE),
    ),
    refused=(
        *no_inputs("needs 2 values from 0 to 2", STREAMS, (0,), (0, 3), (0, -1), [0, 1], (0, 1.0), (True, 1), None),
        *no_data("needs 2 values from 0 to 2 of each user", STREAMS, [[0, 3]]),
        *refusals("values", STREAMS, values=[3]),
    ),
    mutants=(
        mutant("the answer's probability is rounded to a tenth", FIRST, p=tenth(FIRST.p, up=True)),
        mutant("e is taken for 3", ONCE, p=Fraction(3, 7)),
        mutant("each bit spends the whole epsilon", BITS, p=ALONE),
        mutant("two bits are reported", BIT, d=2),
    ),
    anywhere=anywhere(),
)  # fmt: skip
