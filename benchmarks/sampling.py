"""What the random numbers cost of each generator, and views a second of every mechanism beside them.

    python -m benchmarks.sampling
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import repeat

import numpy as np

from benchmarks.experiment import show, times
from ldpaudit.coins import BLOCK, CryptographicGenerator, Secret
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shared.coins import bernoulli
from tests.zoo import AT_ONE

SIZE = 1 << 20
WIDE = 1 << 14  # views that are drawn where one has more than a hundred numbers


def generators() -> Iterator[tuple[str, np.random.Generator]]:
    """numpy's own, and cryptographic ones; ChaCha20 where `cryptography` is installed."""
    yield "PCG64 of numpy, of a seed", np.random.default_rng(0)
    yield "SHAKE-128 of a secret", Secret.fresh().generator()
    yield "the system's, os.urandom", CryptographicGenerator(map(os.urandom, repeat(BLOCK)))
    with suppress(ImportError):
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

        chacha = Cipher(algorithms.ChaCha20(os.urandom(32), bytes(16)), None).encryptor()
        yield "ChaCha20 of cryptography", CryptographicGenerator(map(chacha.update, repeat(bytes(BLOCK))))


DRAWN: dict[str, Callable[[np.random.Generator], object]] = {
    "coins of 1/3": lambda rng: bernoulli(Fraction(1, 3), SIZE, rng),
    "whole numbers": lambda rng: rng.integers(0, 1000, SIZE),
    "Laplace": lambda rng: rng.laplace(size=SIZE),
    "binomials": lambda rng: rng.binomial(1000, 0.3, SIZE),
}


GENERATORS = "{nanoseconds a number:28}" + "".join(f" {{{name}:14.1f}} ({{times:5.1f}})" for name in DRAWN)
MECHANISMS = "{mechanism:60} {views/s:12,.0f} {in uniforms:12.1f}"


def costs() -> Iterator[tuple[str | float, ...]]:
    """Nanoseconds a number of each generator, and how many times as long as numpy's own generator it takes."""
    own = list[float]()
    for name, rng in generators():
        taken = [1e9 / SIZE * min(times(lambda draw=draw, rng=rng: draw(rng))) for draw in DRAWN.values()]  # type: ignore[misc]
        own = own or taken
        yield name, *(cell for cost, least in zip(taken, own, strict=True) for cell in (cost, cost / least))


def views(m: Mechanism, rng: np.random.Generator, floor: float) -> tuple[str | float, ...]:
    """Views a second of a mechanism, and what one costs in uniform numbers, each of which takes `floor` seconds."""
    x = m.inputs[0]
    size = WIDE if np.asarray(m.sample(x, 1, rng)).size > 100 else SIZE
    cost = min(times(lambda: m.sample(x, size, rng))) / size
    return str(m)[:60], 1 / cost, cost / floor


if __name__ == "__main__":
    show(GENERATORS, costs())
    rng = np.random.default_rng(0)
    floor = min(times(lambda: rng.random(SIZE))) / SIZE
    show(MECHANISMS, (views(m, rng, floor) for m in AT_ONE))
