"""What the random numbers cost of each generator, and views a second of every mechanism beside them.

    python -m benchmarks.sampling
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import repeat

import numpy as np

from ldpaudit.coins import BLOCK, CryptographicGenerator, Secret
from ldpaudit.mechanisms.shared.coins import bernoulli
from tests.zoo import AT_ONE

SIZE = 1 << 20
WIDE = 1 << 14
"""Views that are drawn where one has more than a hundred numbers."""


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The fastest of a few runs: the machine has other things to do."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


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


def costs() -> Iterator[str]:
    """Nanoseconds a number of each generator, and how many times as long as numpy's own generator it takes."""
    yield f"{'nanoseconds a number':28}" + "".join(f"{name:>22}" for name in DRAWN)
    own = list[float]()
    for name, rng in generators():
        taken = [1e9 / SIZE * seconds(lambda draw=draw, rng=rng: draw(rng)) for draw in DRAWN.values()]
        own = own or taken
        yield f"{name:28}" + "".join(f"{cost:13.1f} ({cost / least:5.1f})" for cost, least in zip(taken, own, strict=True))


def main() -> None:
    """Print the tables."""
    for line in costs():
        print(line)
    print()
    rng = np.random.default_rng(0)
    floor = seconds(lambda: rng.random(SIZE)) / SIZE
    print(f"{'mechanism':60} {'views/s':>12} {'in uniforms':>12}")
    for m in AT_ONE:
        x = m.inputs[0]
        size = WIDE if np.asarray(m.sample(x, 1, rng)).size > 100 else SIZE
        cost = seconds(lambda m=m, x=x, size=size: m.sample(x, size, rng)) / size
        print(f"{str(m)[:60]:60} {1 / cost:12,.0f} {cost / floor:12.1f}")


if __name__ == "__main__":
    main()
