"""Cost of the shuffled protocols and of TrieHH against n and the domain, with fitted exponents beside the papers' claims.

    python -m benchmarks.costs

`benchmarks.oracles`, `benchmarks.bucket` and `benchmarks.thresh` do the same for the other systems. Messages are counted by
the parameters that the papers print; the server's time is that of `run`, which draws messages of one kind at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.experiment import growth, say, times
from ldpaudit.accountants.claims.accuracy import zipf
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)


USERS, DOMAINS = (10**4, 10**5, 10**6, 10**7), (1 << 7, 1 << 10, 1 << 14, 1 << 17)


def lines() -> Iterator[str]:
    """One quantity each, over three decades."""
    rng = np.random.default_rng(1)

    def printed(n: int, b: int) -> ShuffledHadamard:
        return ShuffledHadamard.as_printed(EPSILON, DELTA, n, b)

    def cells(n: int) -> float:
        return float(2 * n * 11 * ShuffledCountMin.as_printed(EPSILON, DELTA, n, 1 << 10).gamma)

    def hadamard(n: int, b: int) -> float:
        m, data = printed(n, b), zipf(n, b, rng)
        return min(times(lambda: m.run(data, rng)))

    def count_min(n: int, b: int) -> float:
        m = ShuffledCountMin(n, b, (2 * b - 1).bit_length(), 2 * n, Fraction(1, 1000))
        data, asked = zipf(n, b, rng), np.arange(min(b, 100))
        return min(times(lambda: m.query(data, asked, rng)))

    def trie(n: int, share: float) -> float:
        m = TrieHeavyHitter(n, max(10, int(share * n)), 12, 10)
        words = [f"{value:010d}" for value in zipf(n, 10**6, rng).tolist()]
        return min(times(lambda: m.run(words, rng)))

    yield growth("Hadamard: messages a user, against n", USERS, lambda n: printed(n, 1 << 10).rho + 1, "0")
    yield growth("Hadamard: bits of a message, against B", DOMAINS, lambda b: printed(10**6, b).message_bits, "log B")
    yield growth("Hadamard: run, seconds, against n", USERS, lambda n: hadamard(n, 1 << 10), "1")
    yield growth("Hadamard: run, seconds, against B", DOMAINS, lambda b: hadamard(10**5, b), "1")
    yield growth("Count-Min: messages a user, against n", (10**7, 10**8, 10**9), cells, "0")
    yield growth("Count-Min: 100 queries, seconds, against n", USERS, lambda n: count_min(n, 1 << 10), "1")
    yield growth("Count-Min: 100 queries, seconds, against B", DOMAINS, lambda b: count_min(10**5, b), "log B")
    yield growth("TrieHH: batch sqrt(n), seconds, against n", USERS[:3], lambda n: trie(n, n**-0.5), "1/2 and 1")
    yield growth("TrieHH: batch n/10, seconds, against n", USERS[:3], lambda n: trie(n, 0.1), "1")


if __name__ == "__main__":
    say(lines())
