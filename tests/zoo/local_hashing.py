from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.local_hashing import LocalHashing, answers
from ldpaudit.mechanisms.loloha import Loloha, LolohaStream
from ldpaudit.mechanisms.shared.parameters import odds
from tests.zoo import Broken, Mutant, Refusal, Zoo, broken, mutant, no_inputs, refusals, rounded_up, tenth

BINARY = LocalHashing.binary(1.0, domain=100)
OPTIMAL = LocalHashing.optimal(1.0, domain=100)
SMALL = LocalHashing(3, Fraction(1, 2), domain=5, prime=11)


def lying_uniformly(m: LocalHashing, x: int, size: int, rng: np.random.Generator) -> Views:
    """The lie may be the truth."""
    views = m.sample(x, size, rng)
    truth = m.hash(views[:, 0], views[:, 1], x)
    views[:, 2] = np.where(rng.random(size) < float(m.p), truth, rng.integers(0, m.g, size))
    return views


def one_coin_tells_whether_and_what_to_lie(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = OPTIMAL.sample(x, size, rng)
    truth, coin = OPTIMAL.hash(views[:, 0], views[:, 1], x), rng.random(size)
    views[:, 2] = np.where(coin < float(OPTIMAL.p), truth, (coin * OPTIMAL.g).astype(np.int64))
    return views


def the_function_is_chosen_so_that_it_names_the_value(m: Any, x: int, size: int, rng: np.random.Generator) -> Views:
    # Of two answers the one that supports the value, as a user who wants to be counted would have it.
    views, again = m.sample(x, size, rng), m.sample(x, size, rng)
    return np.where(m.supports(views, x)[:, None], views, again)


ZOO = Zoo(
    small=(LocalHashing(2, Fraction(3, 4), domain=4, prime=5), LocalHashing(3, Fraction(1, 2), domain=7, prime=7),
           LocalHashing(5, Fraction(2, 5), domain=3, prime=5)),
    at_one=(BINARY, OPTIMAL),
    broken=(
        Broken("the lie may be the truth", OPTIMAL, partial(lying_uniformly, OPTIMAL)),
        broken("four hash values with the probability for two", OPTIMAL, p=BINARY.p),
        Broken("one coin tells whether and what to lie", OPTIMAL, one_coin_tells_whether_and_what_to_lie),
        Broken("a lie draws another seed", BINARY, partial(the_function_is_chosen_so_that_it_names_the_value, BINARY)),
    ),
    refused=(
        *refusals("2 <= g", SMALL, g=[1]), *refusals("g <= 11", SMALL, g=[12]), *refusals("domain <= 11", SMALL, domain=[12]),
        *refusals("prime number", SMALL, prime=[12]), *refusals("prime <= 2147483647", SMALL, prime=[1 << 31]),
        *refusals("1/g <= p", SMALL, p=[Fraction(1, 4)]), *refusals("p < 1", SMALL, p=[1]),
        Refusal("epsilon <= 21", lambda: LocalHashing.optimal(22, 4)),
    ),
    mutants=(
        mutant("four values, p for two", OPTIMAL, p=BINARY.p),
        mutant("four values, p for three", OPTIMAL, p=odds(1, 2)),
        Mutant("the lie may be the truth", OPTIMAL, replace(OPTIMAL, p=OPTIMAL.p + (1 - OPTIMAL.p) / OPTIMAL.g),
               partial(lying_uniformly, OPTIMAL), shown=OPTIMAL.supports),
        Mutant("the lie may be the truth, of two", BINARY, replace(BINARY, p=(1 + BINARY.p) / 2), partial(lying_uniformly, BINARY),
               shown=BINARY.supports),
        rounded_up(BINARY),
    ),
)  # fmt: skip

TWO, FEW = Loloha.binary(2, domain=100), Loloha.optimal(2, domain=100)
TWICE, ALWAYS = LolohaStream.for_epsilon(1, 2, domain=100, epochs=2), 1 - Fraction(1, 10**9)
WEEK = replace(Loloha.binary(Fraction(3, 2), domain=50, share=Fraction(1, 3)), reports=7)


def every_report_draws_a_new_answer(x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    views = WEEK.sample(x, size, rng)
    truth = np.repeat(WEEK.first().hash(views[:, :1], views[:, 1:2], x), WEEK.reports, axis=1)
    views[:, 2:] = answers(truth, WEEK.g, WEEK.first().p, rng)
    return views


loloha = Zoo(
    small=(Loloha.binary(1, domain=4), Loloha(2, Fraction(3, 4), Fraction(2, 3), domain=3, prime=5, reports=3),
           Loloha(3, Fraction(1, 2), Fraction(3, 5), domain=3, prime=5, reports=2),
           Loloha(3, Fraction(2, 5), Fraction(3, 4), domain=5, prime=7),
           LolohaStream(1, 2, Fraction(3, 4), Fraction(2, 3), domain=3, prime=5),
           LolohaStream(3, 2, Fraction(3, 4), Fraction(2, 3), domain=3, prime=3),
           LolohaStream(2, 3, Fraction(1, 2), Fraction(3, 5), domain=3, prime=5),
           LolohaStream(2, 3, Fraction(3, 5), Fraction(3, 4), domain=2, prime=5)),
    at_one=(TWO, FEW, TWICE),
    broken=(
        Broken("the memoized answer is reported", TWO, TWO.lifetime().sample),
        Broken("the memoized answer is reported", FEW, FEW.lifetime().sample),
        Broken("every report draws a new answer", WEEK, every_report_draws_a_new_answer),
        broken("the memoized answers are reported", TWICE, p2=ALWAYS), broken("the hash values are memoized", TWICE, p1=ALWAYS),
    ),
    refused=(
        *refusals("1/g <= p2 < 1", TWO, p2=[Fraction(1), Fraction(1, 3)]), *refusals("1/g <= p < 1", TWO, p1=[Fraction(1)]),
        *refusals("reports >= 1", TWO, reports=[0]), Refusal("epsilon <= 21", lambda: Loloha.optimal(22, 4)),
        Refusal("0 < share < 1", lambda: Loloha.binary(1, 4, share=1)),
        *no_inputs("needs 2 values from 0 to 99", TWICE, (0,), (0, 100), 0),
        *refusals("1/g <= p2 < 1", TWICE, p2=[Fraction(1)]), *refusals("1 <= epochs", TWICE, epochs=[0]),
    ),
    mutants=(
        mutant("the second answer is of tenths", TWO, p2=tenth(TWO.p2, up=True)),
        mutant("three hash values, p for two", FEW, p1=Loloha.binary(2, 4).p1),
        mutant("a week is a day", TWO, reports=7),
        mutant("there is an epoch more than was counted", TWICE, epochs=3),
    ),
    loose=(Loloha, LolohaStream),
)  # fmt: skip
