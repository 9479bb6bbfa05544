from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from functools import partial

import numpy as np
from hypothesis import reject, strategies as st
from numpy.typing import NDArray

from ldpaudit.mechanisms import Thresh, ThreshRepaired
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.voting.thresh_worst_pair import Play
from tests.zoo import Broken, Mutant, Refusal, Zoo, mutant, no_data, no_inputs, refusals

FORCED = Thresh(3_200, epochs=6, rounds=2_100, epsilon=Fraction(7, 5), delta=Fraction(419, 9953), smallest=3_200)
"""Every user's first vote is yes."""
FREE = Thresh(2_140, epochs=6, rounds=190, epsilon=Fraction(9, 10), delta=Fraction(402, 8045), smallest=2_140)
"""The top threshold is above 1, so that first votes differ; and epsilon is 1, not 9/10 as Theorem 4.1 says."""


LONG = Thresh(10_000, 64, 23_500, Fraction(1, 4), Fraction(1, 20), 10_000)
PLAY = LONG.inputs[0]


def published(chances: Sequence[Fraction], size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    return np.stack([bernoulli(p, size, rng) for p in chances], axis=1)


VOTES, ESTIMATES = 0, 1
"""Places of what is published, modulo 2."""


def uncounted(m: Thresh, kind: int, x: Play, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Votes, or estimates, as they are without a counter of them."""
    pairs = zip(m.chances(x), m.uncounted(x), strict=True)
    return published([pair[i % 2 == kind] for i, pair in enumerate(pairs)], size, rng)


def exchanged(
    m: Thresh, kind: int, right: Fraction, wrong: Fraction, x: Play, size: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Votes, or estimates, get a wrong coin."""
    coins = {right: wrong, 1 - right: 1 - wrong}
    return published([coins.get(p, p) if i % 2 == kind else p for i, p in enumerate(m.chances(x))], size, rng)


ODDS = (FREE.estimate_coin / (1 - FREE.estimate_coin)) ** 2  # e**2b where e**b is meant


@st.composite
def anywhere(draw: st.DrawFn, owner: type[Thresh | ThreshRepaired]) -> Thresh | ThreshRepaired:
    """THRESH with random parameters, which need to be large to fit together."""
    users, epochs, rounds = draw(st.integers(1_000, 10**6)), draw(st.integers(2, 7)), draw(st.integers(10, 50_000))
    epsilon = draw(st.fractions(Fraction(1, 2), 8, max_denominator=8))
    try:
        return owner(users, epochs, rounds, epsilon, Fraction(1, 20), users)
    except ValueError:
        reject()


ZOO = Zoo(
    small=(
        Thresh(1_000, epochs=3, rounds=500, epsilon=Fraction(3), delta=Fraction(1, 20), smallest=1_000),
        Thresh(1_000, 4, rounds=200, epsilon=Fraction(3), delta=Fraction(1, 20), smallest=400, subgroups=2, start=0),
        # Too few epochs for all votes and estimates.
        Thresh(10**6, epochs=4, rounds=3_000, epsilon=Fraction(1), delta=Fraction(1, 20), smallest=10**6),
        # Both noise levels are negative.
        Thresh(10, epochs=3, rounds=100, epsilon=Fraction(1), delta=Fraction(1, 20), smallest=10),
        Thresh(1_000, epochs=1, rounds=100, epsilon=Fraction(1), delta=Fraction(1, 20), smallest=1_000),
    ),
    at_one=(FORCED, FREE),
    broken=(
        Broken("votes are not counted", FORCED, partial(uncounted, FORCED, VOTES)),
        Broken("every epoch has a fresh counter of estimates", FREE, partial(uncounted, FREE, ESTIMATES)),
        Broken("a vote gets the noise of an estimate", FORCED,
               partial(exchanged, FORCED, VOTES, FORCED.vote_coin, FORCED.estimate_coin)),
        Broken("one coin serves the whole transcript", FORCED,
               lambda x, size, rng: rng.random((size, 1)) < np.array(FORCED.chances(x), dtype=np.float64)),
        Broken("the bias of an estimate is doubled", FREE,
               partial(exchanged, FREE, ESTIMATES, FREE.estimate_coin, ODDS / (1 + ODDS))),
    ),
    refused=(
        *refusals("need", Thresh(100, 4, 10, Fraction(1), Fraction(1, 2), 50), users=[0], epochs=[0], rounds=[0],
                  delta=[Fraction(0), Fraction(1)], epsilon=[Fraction(0)], smallest=[101], subgroups=[3], start=[1, -2]),
        *no_inputs("counts from 0 to 23500", LONG, None, 3, PLAY.stream, (PLAY.stream, PLAY.updates[1:]),
                   (PLAY.stream, (2, *PLAY.updates[1:])), ((-1, *PLAY.stream[1:]), PLAY.updates)),
        *no_data("of 10000 users", LONG, [], [[1] * 64], np.full((10_000, 64), 23_501)),
    ),
    mutants=(
        mutant("epsilon is half again", FORCED, epsilon=FORCED.epsilon * Fraction(3, 2)),
        mutant("epsilon is a tenth more", FREE, epsilon=FREE.epsilon * Fraction(11, 10)),
        mutant("epsilon is twice itself", FREE, epsilon=FREE.epsilon * 2),
    ),
    anywhere=anywhere(Thresh),
)

SIX = ThreshRepaired(4_400, epochs=6, rounds=4_200, epsilon=Fraction(11, 5), delta=Fraction(269, 5932), smallest=4_400)
PRINTED = Thresh(**{field.name: getattr(SIX, field.name) for field in fields(SIX)})
"""Its counter is checked before it grows."""


def only_yes_votes_are_randomized(x: Play, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    views = SIX.sample(x, size, rng)
    for place, p in enumerate(SIX.chances(x)):
        if place % 2 == 0 and p < Fraction(1, 2):
            views[:, place] = 0
    return views


thresh_repaired = Zoo(
    small=(
        ThreshRepaired(4_000, epochs=4, rounds=3_000, epsilon=Fraction(3), delta=Fraction(1, 20), smallest=4_000),
        ThreshRepaired(4_000, 4, rounds=200, epsilon=Fraction(2), delta=Fraction(1, 20), smallest=4_000, start=0),
        # Nobody ever votes: a > epsilon / 4.
        ThreshRepaired(1_000, epochs=3, rounds=200, epsilon=Fraction(1), delta=Fraction(1, 20), smallest=1_000),
    ),
    at_one=(SIX,),
    broken=(
        Broken("the counter is checked before it grows", SIX, PRINTED.sample),
        Broken("only yes votes are randomized", SIX, only_yes_votes_are_randomized),
    ),
    refused=(
        Refusal("needs noise levels above 0, got a=-6.36699, b=-3.3861",
                lambda: ThreshRepaired(10, 3, 100, Fraction(1), Fraction(1, 20), smallest=10)),
    ),
    mutants=(
        mutant("epsilon is half again", SIX, epsilon=SIX.epsilon * Fraction(3, 2)),
        Mutant("the counter is checked before it grows", SIX, PRINTED),
    ),
    anywhere=anywhere(ThreshRepaired),
)  # fmt: skip
