from fractions import Fraction

import numpy as np

from ldpaudit.accountants.shuffled_binary_sums import for_privacy
from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from tests.zoo import Broken, Refusal, Zoo, broken, mutant, no_data, refusals

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
    refused=(
        *refusals("ShuffledBinarySums needs", SIXTY, users=[0], values=[1], gamma=[Fraction(1), Fraction(0)]),
        *no_data("needs an input among", ShuffledBinarySums(3, 3, Fraction(1, 3)), [0, 7, 1]),
        *no_data("at least one user", SIXTY, []),
        Refusal("gamma = 1/2 does not keep it", lambda: for_privacy(Fraction(1, 100), Fraction(1, 10**9), 100, 4)),
        Refusal("epsilon > 0 and delta > 0", lambda: for_privacy(1, 0, 100, 4)),
    ),
    delta=DELTA,
    mutants=(
        mutant("a quarter of the coins is lost", MANY, 0.01, gamma=Fraction(3, 40)),
        mutant("half of the users are gone", MANY, 0.01, users=200),
    ),
)  # fmt: skip
