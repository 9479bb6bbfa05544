from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from ldpaudit import Mechanism
from ldpaudit.mechanisms import GenProt, GenProtBit, KaryRandomizedResponse, ShuffledHadamard
from ldpaudit.mechanisms.shared.approximate_randomizers import LeakyResponse, ShiftedBinomial
from tests.zoo import Broken, Mutant, Zoo, mutant, refusals

QUARTER = Fraction(1, 4)
WIDE = Fraction(17, 50)
"""A clip interval in which randomized response of epsilon 1 lies, beside its average."""
TWO = GenProt(KaryRandomizedResponse.for_epsilon(1, 2), WIDE, slots=2)
BIT = GenProtBit(KaryRandomizedResponse.for_epsilon(1, 2), WIDE)
THREE = GenProt(KaryRandomizedResponse(2, Fraction(6_621_380, 10**7)), WIDE, slots=3)
"""Of epsilon 1 to six digits."""


def draws(m: GenProt, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return m.public(size * m.slots, rng).reshape(size, m.slots)


def one_of(heard: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    heard = heard | ~heard.any(axis=1, keepdims=True)
    return np.asarray(np.where(heard, rng.random(heard.shape), -1.0).argmax(axis=1))


def sent(drawn: NDArray[np.int64], position: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([drawn, position[:, None]], axis=1)


def the_likeliest_accepted_draw_is_sent(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    drawn = draws(TWO, size, rng)
    likely = np.array(list(map(float, TWO.table.accepted[x])))[drawn]
    return sent(drawn, best(TWO.answers(x, drawn, rng) * likely, rng))


def best(worth: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    return one_of(worth == worth.max(axis=1, keepdims=True), rng)


def no_draw_is_weighed_by_a_coin(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    drawn = draws(THREE, size, rng)
    return sent(drawn, best(np.array(list(map(float, THREE.table.accepted[x])))[drawn], rng))


def no_coin_is_tossed(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    drawn = BIT.public(size, rng)
    likely = np.array([float(p) > 0.5 for p in BIT.table.accepted[x]])
    return np.stack([drawn, likely[drawn].astype(np.int64)], axis=1)


def three_coins_are_tossed_and_most_of_them_decide(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    drawn = BIT.public(size, rng)
    coins = sum(BIT.answers(x, drawn, rng).astype(np.int64) for _ in range(3))
    return np.stack([drawn, np.asarray(coins) // 2], axis=1)


TWICE = KaryRandomizedResponse.for_epsilon(Fraction(1, 2), 2)
SOUND, SOUND_BIT = GenProt.of_response(QUARTER, k=2, slots=2), GenProtBit.of_response(QUARTER, k=2)


@st.composite
def anywhere(draw: st.DrawFn) -> Mechanism:
    p = draw(st.fractions(Fraction(1, 2), Fraction(7, 10), max_denominator=20))
    base = draw(st.sampled_from([
        KaryRandomizedResponse(2, p), KaryRandomizedResponse(3, p), LeakyResponse(2, p, Fraction(1, 10)), ShiftedBinomial(6),
    ]))  # fmt: skip
    epsilon: Any = draw(st.fractions(Fraction(1, 8), Fraction(1, 3), max_denominator=12))
    bottom = draw(st.sampled_from([None, 0, 1]))
    if draw(st.booleans()):
        return GenProtBit(base, epsilon, bottom)
    return GenProt(base, epsilon, draw(st.integers(2, 5)), bottom)


ZOO = Zoo(
    small=(GenProt(KaryRandomizedResponse(2, Fraction(3, 5)), QUARTER, 3), GenProt.of_binomial(QUARTER, 6, 2, bottom=0),
           GenProt(LeakyResponse(2, Fraction(3, 5), Fraction(1, 10)), QUARTER, 2),
           GenProt(KaryRandomizedResponse(3, Fraction(2, 5)), QUARTER, 2, bottom=1),
           GenProtBit(LeakyResponse(3, Fraction(2, 5), Fraction(1, 10)), QUARTER), GenProtBit.of_binomial(QUARTER, 6, bottom=1)),
    at_one=(TWO, THREE, BIT),
    broken=(
        Broken("the likeliest accepted draw is sent", TWO, the_likeliest_accepted_draw_is_sent),
        Broken("no draw is weighed by a coin", THREE, no_draw_is_weighed_by_a_coin),
        Broken("no coin is tossed", BIT, no_coin_is_tossed),
        Broken("three coins are tossed, and most of them decide", BIT, three_coins_are_tossed_and_most_of_them_decide),
    ),
    refused=(
        *refusals("needs a Mechanism as its base, got 3", SOUND, base=[3]),
        *refusals("needs a local mechanism as its base, got the shuffled",
                  SOUND, base=[ShuffledHadamard(1, domain=2, tau=1, rho=3)]),
        *refusals(r"needs epsilon < log\(2\)/2, got epsilon=7/20", SOUND, epsilon=[Fraction(35, 100)]),
        *refusals("epsilon > 0 is needed", SOUND, epsilon=[0]),
        *refusals("2 <= slots <= 512, got slots=", SOUND, slots=[1, 513]),
        *refusals("needs a bottom among {0, 1}, got 2", SOUND, bottom=[2]),
    ),
    mutants=(
        Mutant("epsilon is spent twice", SOUND, GenProt(TWICE, QUARTER, 2)),
        mutant("there are ten times as many draws", SOUND, slots=20),
        mutant("the public law is that of one input", GenProt.of_response(QUARTER, k=2, slots=4, leak=Fraction(1, 20)), bottom=1),
        Mutant("the bit spends epsilon twice", SOUND_BIT, GenProtBit(TWICE, QUARTER)),
        mutant("the bit's public law is that of one input", SOUND_BIT, bottom=0),
    ),
    loose=(GenProt, GenProtBit),
    anywhere=anywhere(),
)  # fmt: skip
