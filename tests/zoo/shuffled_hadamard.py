from dataclasses import replace

import numpy as np

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from tests.zoo import Broken, Zoo, blanket_lost, no_data, no_inputs, refusals

TWO = ShuffledHadamard(users=1024, domain=256, tau=10, rho=2)
PAIRS = ShuffledHadamard(3, 8, 3, 1, k=2)
DELTA = 0.17896387053979124
"""The delta of this one at epsilon = 1."""


def drawn(element: int, number: int, size: int, rng: np.random.Generator, m: ShuffledHadamard = TWO) -> Views:
    """Views of this many messages of an element, or of the blanket for element 0."""
    return np.asarray(rng.multinomial(number, [float(p) for p in m.shares(element)], size), dtype=np.int64)


def real(x: int, size: int, rng: np.random.Generator, times: int = 1) -> Views:
    return times * drawn(x + 1, 1, size, rng) + drawn(3, TWO.users - 1, size, rng)


ZOO = Zoo(
    # One user only, where a law is to be enumerated: of several, what the others hold matters, and a view's are fixed.
    small=(
        ShuffledHadamard(users=1, domain=2, tau=1, rho=3),
        ShuffledHadamard(users=1, domain=4, tau=2, rho=5),
        ShuffledHadamard(users=1, domain=4, tau=1, rho=3, k=2),
        ShuffledHadamard(users=1000, domain=4, tau=5, rho=3, k=3),
    ),
    at_one=(TWO,),
    broken=(
        Broken("only one user sends a blanket", TWO, lambda x, size, rng: real(x, size, rng) + drawn(0, TWO.rho, size, rng)),
        Broken("all users' blankets come from one seed", TWO,
               lambda x, size, rng: real(x, size, rng) + TWO.users * drawn(0, TWO.rho, size, rng)),
        Broken("the blanket comes from a codeword", TWO,
               lambda x, size, rng: real(x, size, rng) + drawn(1, TWO.rho * TWO.users, size, rng)),
        Broken("a tuple is sent twice", TWO,
               lambda x, size, rng: real(x, size, rng, times=2) + drawn(0, TWO.rho * TWO.users, size, rng)),
        Broken("a blanket tuple has an index more", TWO,
               lambda x, size, rng: real(x, size, rng) + drawn(0, TWO.rho * TWO.users, size, rng, replace(TWO, tau=TWO.tau + 1))),
    ),
    refused=(
        *no_data("counts domains up to", ShuffledHadamard(3, 1 << 40, 3, 1), [0, 0, 1]),
        *refusals("needs", ShuffledHadamard(3, 8, 3, 1), users=[0], domain=[1, 6], tau=[0], rho=[0], k=[0, 8]),
        *no_data("needs", PAIRS, [(1, 1)], [8], [(1, 2, 3)], [], [-1], [0.5]),
        *no_inputs("needs a value below 8", PAIRS, 8, -1, (0, 0), (0, 1, 2), "a"),
    ),
    delta=DELTA,
    mutants=blanket_lost(ShuffledHadamard(1024, 256, tau=10, rho=12), 0.02),
)
