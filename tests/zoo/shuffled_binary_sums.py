from __future__ import annotations

from fractions import Fraction

import numpy as np

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from tests.zoo import Broken, Zoo, broken, mutant

SIXTY, MANY = (ShuffledBinarySums(users, values=64, gamma=Fraction(1, 10)) for users in (60, 400))
DELTA = Fraction(13907115, 486829702)
"""At which 60 coins of 1/10 each on one count up and one down cost epsilon = 1."""


def holders_send_no_blanket_of_their_own_label(x: int | None, size: int, rng: np.random.Generator) -> Views:
    # "If x = j send j, else toss a coin", and all others hold value 0.
    views = np.array(SIXTY.sample(x, size, rng))
    views[:, 0] = int(x == 0) + (x != 0) * (rng.random(size) < float(SIXTY.gamma))
    return views


ZOO = Zoo(
    small=(
        ShuffledBinarySums(3, values=3, gamma=Fraction(1, 3)),
        ShuffledBinarySums(1, values=4, gamma=Fraction(2, 5)),
        ShuffledBinarySums(4, values=2, gamma=Fraction(3, 4)),
        ShuffledBinarySums(2, values=17, gamma=Fraction(1, 4)),
    ),
    at_one=(SIXTY,),
    broken=(
        # One coin of probability gamma, then a uniform label: as in randomized response.
        broken("the blanket is one label of a user", SIXTY, gamma=SIXTY.gamma / SIXTY.values),
        Broken("holders send no blanket of their own label", SIXTY, holders_send_no_blanket_of_their_own_label),
        Broken("a client that retries sends the label twice", SIXTY,
               lambda x, size, rng: SIXTY.sample(x, size, rng) + np.array(SIXTY.columns(x))[:, 1]),
    ),
    delta=DELTA,
    mutants=(
        mutant("a quarter of the coins is lost", MANY, 0.01, gamma=Fraction(3, 40)),
        mutant("half of the users are gone", MANY, 0.01, users=200),
    ),
)  # fmt: skip
