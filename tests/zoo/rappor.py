from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms import LongitudinalUnary, MemoizedBit, PermanentRappor, Rappor
from tests.zoo import Broken, Refusal, Zoo, afresh, broken, mutant, refusals, tenth

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
CHROMIUM = Rappor(bits=32, hashes=2, f=HALF, p=QUARTER, q=1 - QUARTER)
REPEATED = Rappor(bits=8, hashes=1, f=HALF, p=QUARTER, q=1 - QUARTER, reports=8, domain=50)
KEPT = PermanentRappor.for_epsilon(1.0, bits=16, hashes=2, domain=100)
ONE, BOTH = Rappor.for_epsilon(1, bits=8, hashes=1, f=QUARTER), Rappor.for_epsilon(1, bits=16, hashes=2)
EIGHTHS = tenth(ONE.p, of=8)


def reported(m: Rappor | MemoizedBit, kept: NDArray[np.bool_], coin: NDArray[np.float64]) -> NDArray[np.bool_]:
    return coin < np.where(kept, float(m.q), float(m.p))


def both_steps_share_a_coin(x: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    coin, f = rng.random((size, CHROMIUM.bits)), float(CHROMIUM.f)
    kept = np.where(coin < f / 2, True, np.where(coin < f, False, CHROMIUM.signature(x)))
    return reported(CHROMIUM, kept, coin)


ZOO = Zoo(
    small=(Rappor(4, 2, HALF, QUARTER, 1 - QUARTER, domain=6),
           Rappor(3, 2, Fraction(1, 3), Fraction(2, 5), Fraction(4, 5), reports=3, domain=5),
           Rappor(3, 1, Fraction(0), Fraction(1, 10), Fraction(1, 3), domain=3),
           PermanentRappor(5, 3, Fraction(1, 4), domain=8), PermanentRappor.for_epsilon(2, bits=4, hashes=1, domain=9)),
    at_one=(Rappor.for_epsilon(1.0, bits=32, hashes=2), Rappor.for_epsilon(1.0, bits=8, hashes=1, f=QUARTER), KEPT),
    broken=(
        Broken("the permanent response is left out", CHROMIUM,
               lambda x, size, rng: reported(CHROMIUM, CHROMIUM.signature(x), rng.random((size, CHROMIUM.bits)))),
        Broken("both steps share a coin", CHROMIUM, both_steps_share_a_coin),
        broken("half of the noise is half again", CHROMIUM, f=CHROMIUM.f / 2),
        Broken("every report draws a new permanent response", REPEATED, afresh(REPEATED)),
        Broken("only set bits are randomized", KEPT, lambda x, size, rng: KEPT.permanent(x, size, rng) & KEPT.signature(x)),
        broken("the random bit is drawn half as often", KEPT, f=KEPT.f / 2),
        Broken("the random bit is or-ed in", KEPT,
               lambda x, size, rng: KEPT.signature(x) | (rng.random((size, KEPT.bits)) < float(KEPT.f / 2))),
    ),
    refused=(
        *refusals("Rappor needs", CHROMIUM, f=[Fraction(1)], p=[Fraction(3, 4)], reports=[0], hashes=[0], bits=[1]),
        Refusal("needs 1 <= hashes <= 1024", lambda: PermanentRappor.for_epsilon(1, 8, 0)),
        # More than the permanent response leaves.
        Refusal("needs 0 < q < 1", lambda: Rappor.for_epsilon(9, 8, 1, f=HALF)),
    ),
    mutants=(
        mutant("f is for one hash, and there are two", KEPT, f=PermanentRappor.for_epsilon(1, bits=16, hashes=1).f),
        mutant("f is cut to tenths", KEPT, f=tenth(KEPT.f)),
        mutant("the permanent response is left out", ONE, f=Fraction(0)),
        mutant("half of f is half again", BOTH, f=BOTH.f / 2),
        mutant("p and q are rounded to tenths", BOTH, p=tenth(BOTH.p), q=tenth(BOTH.q, up=True)),
        mutant("p is cut to eighths, q is its rest", ONE, p=EIGHTHS, q=1 - EIGHTHS),
    ),
    loose=(PermanentRappor, Rappor),
)  # fmt: skip

SYMMETRIC = LongitudinalUnary.symmetric(2, k=6)
OPTIMIZED = LongitudinalUnary.optimized(2, k=6)
WEEK = replace(LongitudinalUnary.optimized(Fraction(3, 2), k=6, share=Fraction(1, 3)), reports=7)


longitudinal_unary = Zoo(
    small=(LongitudinalUnary.symmetric(1, k=3), LongitudinalUnary.optimized(2, k=4, share=Fraction(1, 5)),
           LongitudinalUnary(3, QUARTER, Fraction(1, 5), Fraction(4, 5), Fraction(2, 5), reports=3)),
    at_one=(SYMMETRIC, OPTIMIZED),
    broken=(
        Broken("the copy is reported", SYMMETRIC, SYMMETRIC.lifetime().sample),
        Broken("the copy is reported", OPTIMIZED, OPTIMIZED.lifetime().sample),
        Broken("every report draws a new copy", WEEK, afresh(WEEK)),
        Broken("only set bits of the copy are noisy in a report", OPTIMIZED,
               lambda x, size, rng: OPTIMIZED.permanent(x, size, rng) & (rng.random((size, 6)) < float(OPTIMIZED.p2))),
    ),
    refused=(
        *refusals("0 < q1 < 0.731", SYMMETRIC, q1=[Fraction(0), Fraction(3, 4)]),
        *refusals("0 < p2 < 1", SYMMETRIC, p2=[Fraction(1)]), *refusals("reports >= 1", SYMMETRIC, reports=[0]),
        *refusals("k >= 2", SYMMETRIC, k=[1]), Refusal("0 < share < 1", lambda: LongitudinalUnary.symmetric(1, k=2, share=1)),
    ),
    mutants=(
        mutant("the copy is rounded to fifths", SYMMETRIC, p1=Fraction(4, 5), q1=1 - Fraction(4, 5)),
        mutant("the second step is of tenths", OPTIMIZED, p2=tenth(OPTIMIZED.p2, up=True), q2=tenth(OPTIMIZED.q2)),
        mutant("a week is a day", OPTIMIZED, reports=7),
    ),
    loose=(LongitudinalUnary,),
)  # fmt: skip
