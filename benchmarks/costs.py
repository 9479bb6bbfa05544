"""Cost of the shuffled protocols and of TrieHH against n and the domain, with fitted exponents beside the papers' claims.

    python -m benchmarks.costs

`benchmarks.oracles`, `benchmarks.bucket` and `benchmarks.thresh` do the same for the other systems. Messages are counted by
the parameters that the papers print; the server's time is that of `run`, which draws messages of one kind at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from ldpaudit.accountants.claims.accuracy import zipf
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Slope of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def line(title: str, sizes: Sequence[int], of: Callable[[int], float], claimed: str, form: str = ".3g") -> None:
    """One quantity over three decades."""
    values = [of(size) for size in sizes]
    cells = "  ".join(f"{size:.0e}: {value:{form}}" for size, value in zip(sizes, values, strict=True))
    print(f"{title:44}exponent {exponent(sizes, values):5.2f}, claimed {claimed:12}{cells}", flush=True)


def seconds(call: Callable[[], object]) -> float:
    """Best of three."""
    spent = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)


def main() -> None:
    """Print the lines."""
    rng = np.random.default_rng(1)
    users, domains = [10**4, 10**5, 10**6, 10**7], [1 << 7, 1 << 10, 1 << 14, 1 << 17]

    def hadamard(n: int, b: int) -> float:
        m = ShuffledHadamard.as_printed(EPSILON, DELTA, n, b)
        data = zipf(n, b, rng)
        return seconds(lambda: m.run(data, rng))

    def count_min(n: int, b: int) -> float:
        m = ShuffledCountMin(n, b, (2 * b - 1).bit_length(), 2 * n, Fraction(1, 1000))
        data, asked = zipf(n, b, rng), np.arange(min(b, 100))
        return seconds(lambda: m.query(data, asked, rng))

    def trie(n: int, share: float) -> float:
        m = TrieHeavyHitter(n, max(10, int(share * n)), 12, 10)
        words = [f"{value:010d}" for value in zipf(n, 10**6, rng).tolist()]
        return seconds(lambda: m.run(words, rng))

    line("Hadamard: messages a user, against n", users,
         lambda n: ShuffledHadamard.as_printed(EPSILON, DELTA, n, 1 << 10).rho + 1, "0")  # fmt: skip
    line("Hadamard: bits of a message, against B", domains,
         lambda b: ShuffledHadamard.as_printed(EPSILON, DELTA, 10**6, b).message_bits, "log B")  # fmt: skip
    line("Hadamard: run, seconds, against n", users, lambda n: hadamard(n, 1 << 10), "1")
    line("Hadamard: run, seconds, against B", domains, lambda b: hadamard(10**5, b), "1")
    line("Count-Min: messages a user, against n", [10**7, 10**8, 10**9],
         lambda n: float(2 * n * 11 * ShuffledCountMin.as_printed(EPSILON, DELTA, n, 1 << 10).gamma), "0")  # fmt: skip
    line("Count-Min: 100 queries, seconds, against n", users, lambda n: count_min(n, 1 << 10), "1")
    line("Count-Min: 100 queries, seconds, against B", domains, lambda b: count_min(10**5, b), "log B")
    line("TrieHH: batch sqrt(n), seconds, against n", users[:3], lambda n: trie(n, n**-0.5), "1/2 and 1")
    line("TrieHH: batch n/10, seconds, against n", users[:3], lambda n: trie(n, 0.1), "1")


if __name__ == "__main__":
    main()
