from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from tests.zoo import Broken, Mutant, Zoo, tenth

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
CHROMIUM = Rappor(bits=32, hashes=2, f=HALF, p=QUARTER, q=1 - QUARTER)
REPEATED = Rappor(bits=8, hashes=1, f=HALF, p=QUARTER, q=1 - QUARTER, reports=8, domain=50)
KEPT = PermanentRappor.for_epsilon(1.0, bits=16, hashes=2, domain=100)


def reported(m: Rappor, kept: NDArray[np.bool_], coin: NDArray[np.float64]) -> NDArray[np.bool_]:
    return coin < np.where(kept, float(m.q), float(m.p))


def the_permanent_response_is_left_out(x: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    kept = np.tile(CHROMIUM.signature(x), (size, 1))
    return reported(CHROMIUM, kept, rng.random(kept.shape))


def both_steps_share_a_coin(x: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    coin, f = rng.random((size, CHROMIUM.bits)), float(CHROMIUM.f)
    kept = np.where(coin < f / 2, True, np.where(coin < f, False, CHROMIUM.signature(x)))
    return reported(CHROMIUM, kept, coin)


def half_of_the_noise_is_half_again(x: int, size: int, rng: np.random.Generator) -> Views:
    # f is already split between ones and zeros, and is then taken for the probability of either.
    return Rappor(CHROMIUM.bits, CHROMIUM.hashes, HALF * CHROMIUM.f, CHROMIUM.p, CHROMIUM.q).sample(x, size, rng)


def every_report_draws_a_new_permanent_response(x: int, size: int, rng: np.random.Generator) -> Views:
    fresh = Rappor(REPEATED.bits, REPEATED.hashes, REPEATED.f, REPEATED.p, REPEATED.q, domain=REPEATED.domain)
    return np.sum([fresh.sample(x, size, rng) for _ in range(REPEATED.reports)], axis=0, dtype=np.int64)


def only_set_bits_are_randomized(x: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    kept = KEPT.permanent(x, size, rng)
    return kept & KEPT.signature(x)


def the_random_bit_is_drawn_half_as_often(x: int, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    return PermanentRappor(KEPT.bits, KEPT.hashes, KEPT.f / 2, KEPT.domain).sample(x, size, rng)


def the_random_bit_is_or_ed_in(x: int, size: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    return KEPT.signature(x) | (rng.random((size, KEPT.bits)) < float(KEPT.f / 2))


def mutants() -> Iterator[Mutant]:
    kept = PermanentRappor.for_epsilon(1, bits=16, hashes=2, domain=100)
    one, both = Rappor.for_epsilon(1, bits=8, hashes=1, f=Fraction(1, 4)), Rappor.for_epsilon(1, bits=16, hashes=2)
    yield Mutant("f is for one hash, and there are two", kept,
                 replace(kept, f=PermanentRappor.for_epsilon(1, bits=16, hashes=1).f))
    yield Mutant("f is cut to tenths", kept, replace(kept, f=tenth(kept.f)))
    yield Mutant("the permanent response is left out", one, replace(one, f=Fraction(0)))
    yield Mutant("half of f is half again", both, replace(both, f=both.f / 2))
    yield Mutant("p and q are rounded to tenths", both, replace(both, p=tenth(both.p), q=tenth(both.q, up=True)))
    yield Mutant("p is cut to eighths, q is its rest", one, replace(one, p=tenth(one.p, of=8), q=1 - tenth(one.p, of=8)))


ZOO = Zoo(
    small=(Rappor(4, 2, HALF, QUARTER, 1 - QUARTER, domain=6),
           Rappor(3, 2, Fraction(1, 3), Fraction(2, 5), Fraction(4, 5), reports=3, domain=5),
           Rappor(3, 1, Fraction(0), Fraction(1, 10), Fraction(1, 3), domain=3),
           PermanentRappor(5, 3, Fraction(1, 4), domain=8), PermanentRappor.for_epsilon(2, bits=4, hashes=1, domain=9)),
    at_one=(Rappor.for_epsilon(1.0, bits=32, hashes=2), Rappor.for_epsilon(1.0, bits=8, hashes=1, f=QUARTER), KEPT),
    broken=(
        Broken("the permanent response is left out", CHROMIUM, the_permanent_response_is_left_out),
        Broken("both steps share a coin", CHROMIUM, both_steps_share_a_coin),
        Broken("half of the noise is half again", CHROMIUM, half_of_the_noise_is_half_again),
        Broken("every report draws a new permanent response", REPEATED, every_report_draws_a_new_permanent_response),
        Broken("only set bits are randomized", KEPT, only_set_bits_are_randomized),
        Broken("the random bit is drawn half as often", KEPT, the_random_bit_is_drawn_half_as_often),
        Broken("the random bit is or-ed in", KEPT, the_random_bit_is_or_ed_in),
    ),
    mutants=tuple(mutants()),
    loose=(PermanentRappor, Rappor),
)
