"""Times of certified queries and of the sources' protocols, messages and memory over decades, with fitted exponents beside claims.

    python -m benchmarks.costs

Messages are counted by the parameters that the papers print; times are of the processor, on one core. A shuffled protocol's time is
that of `run`, which draws messages of one kind at once; of a system that names values, `collect` is what all users do together, and
`decode` is the server.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment import growth, say, timed, times
from ldpaudit import Aggregate, Compose, Plan, Repeat, Run, Shuffle, account
from ldpaudit.accountants.claims.sentence import zipf
from ldpaudit.mechanisms import Bitstogram, GlpsHeavyHitter, Hashtogram, Laplace, TreeHistogram, TrieHeavyHitter, UnaryEncoding
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
USERS, DOMAINS = (10**4, 10**5, 10**6, 10**7), (1 << 7, 1 << 10, 1 << 14, 1 << 17)
BITS = (24, 32, 48, 64)  # of values that a system names


def shuffled() -> Iterator[str]:
    """Protocols of the shuffled model (GGKPV)."""
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

    yield growth("Hadamard: messages a user, against n", USERS, lambda n: printed(n, 1 << 10).rho + 1, "0")
    yield growth("Hadamard: bits of a message, against B", DOMAINS, lambda b: printed(10**6, b).message_bits, "log B")
    yield growth("Hadamard: run, seconds, against n", USERS, lambda n: hadamard(n, 1 << 10), "1")
    yield growth("Hadamard: run, seconds, against B", DOMAINS, lambda b: hadamard(10**5, b), "1")
    yield growth("Count-Min: messages a user, against n", (10**7, 10**8, 10**9), cells, "0")
    yield growth("Count-Min: 100 queries, seconds, against n", USERS, lambda n: count_min(n, 1 << 10), "1")
    yield growth("Count-Min: 100 queries, seconds, against B", DOMAINS, lambda b: count_min(10**5, b), "log B")


def sampled() -> Iterator[str]:
    """TrieHH (TRIEHH)."""
    rng = np.random.default_rng(1)

    def trie(n: int, share: float) -> float:
        m = TrieHeavyHitter(n, max(10, int(share * n)), 12, 10)
        words = [f"{value:010d}" for value in zipf(n, 10**6, rng).tolist()]
        return min(times(lambda: m.run(words, rng)))

    yield growth("TrieHH: batch sqrt(n), seconds, against n", USERS[:3], lambda n: trie(n, n**-0.5), "1/2 and 1")
    yield growth("TrieHH: batch n/10, seconds, against n", USERS[:3], lambda n: trie(n, 0.1), "1")


def noisy_counts() -> Iterator[str]:
    """Bucket, O(n log(1/beta) log^3 N) by Theorem 4.4, and a recovery by GLPS-HH, O(s log^c N) by section 4.1 (HKR12)."""

    def bucket(n: int, bits: int, beta: float) -> float:
        m, rng = BucketHeavyHitter.as_printed(1, 1e-6, beta, 1 << bits), np.random.default_rng(1)
        data = rng.integers(0, 1 << bits, n)
        m.truth(data[:2])  # the public tables are made once
        return timed(lambda: m.heavy_hitter(m.run(data, rng), n))[1]

    def glps(bits: int) -> float:
        """A recovery in which five values have 65 thousandths of the users each."""
        m, rng, users = GlpsHeavyHitter(1 << bits, 16, 9, 1 << 10, Fraction(66)), np.random.default_rng(bits), 10**8
        values, heavy = rng.integers(0, m.domain, 2000).tolist(), 65 * users // 1000
        held = dict.fromkeys(values, (users - 5 * heavy) // 2000) | dict.fromkeys(values[:5], heavy)
        noise = np.subtract(*rng.standard_gamma(users, (2, m.measurements)))
        measured = m.truth(held) + float(m.scale) * noise
        return min(times(lambda: m.decode(measured), 5))

    logs = {math.log(1 / beta): beta for beta in (0.3, 0.1, 0.01, 1e-4)}
    yield growth("Bucket: run, seconds, against n", (300, 3_000, 30_000, 300_000), lambda n: bucket(n, 20, 0.05), "1")
    yield growth("Bucket: run, seconds, against log N", (7, 15, 30, 60), lambda bits: bucket(20_000, bits, 0.05), "3")
    yield growth("Bucket: run, seconds, against log 1/beta", [*logs], lambda log: bucket(20_000, 20, logs[log]), "1")
    yield growth("GLPS-HH: recovery, seconds, against log N", (10, 20, 30, 40, 50, 60), glps, "c")


def local() -> Iterator[str]:
    """Local systems, of which the talk says O~(n) for users together and the server, and O~(1) for a query (STEMMER)."""

    def oracle(n: int) -> tuple[Hashtogram, NDArray[np.int64], np.random.Generator]:
        m, rng = Hashtogram.for_epsilon(1, n, 1 << 40, Fraction(1, 20)), np.random.default_rng(n)
        data = np.minimum(rng.zipf(1.3, n), (1 << 40) - 1).astype(np.int64)
        m.run(data[:10], rng)  # the public matrices are made once
        return m, data, rng

    def run(n: int) -> float:
        m, data, rng = oracle(n)
        return timed(lambda: m.run(data, rng))[1]

    def query(n: int) -> float:
        m, data, rng = oracle(n)
        held, asked = m.run(data, rng), rng.integers(0, 1 << 40, 1_000)
        return timed(lambda: m.query(held, asked))[1]

    def naming(kind: type[TreeHistogram | Bitstogram], n: int, bits: int) -> tuple[float, float]:
        """Seconds of all users and of the server; a fifth of the users hold one value, the others' values are uniform."""
        m, rng = kind.for_epsilon(1, n, 1 << bits), np.random.default_rng(n)
        data = rng.integers(0, (1 << bits) - 1, n, dtype=np.uint64, endpoint=True)
        data[: n // 5] = 12_345
        views, collected = timed(lambda: m.collect(data, rng))
        return collected, timed(lambda: m.named(views))[1]

    yield growth("Hashtogram: run, seconds, against n", USERS, run, "1")
    yield growth("Hashtogram: 1,000 queries, s, against n", USERS, query, "0")
    for kind in (TreeHistogram, Bitstogram):
        for part, name in enumerate(("collect", "decode")):
            said = f"{kind.__name__}: {name}, seconds,"
            yield growth(f"{said} against n", USERS, lambda n: naming(kind, n, 64)[part], "1")  # noqa: B023
            yield growth(f"{said} by bits", BITS, lambda bits: naming(kind, 10**6, bits)[part], "1")  # noqa: B023


def certified() -> Iterator[str]:
    """Epsilon at delta = 1e-6, asked once of each plan; for the page about accountants."""
    response, quarter = KaryRandomizedResponse.for_epsilon(1, 2), KaryRandomizedResponse.for_epsilon(Fraction(1, 4), 4)
    laplace, decades = Laplace(Fraction(1)), tuple(10**i for i in range(3, 10))
    runs, few = tuple(10**i for i in range(1, 7)), (1, 2, 4, 8, 16)
    sizes = tuple(4**i for i in range(1, 8))

    def asked(plan: Plan) -> float:
        return timed(lambda: account(plan).epsilon(DELTA))[1]

    def different(kinds: int) -> Plan:
        return Compose([KaryRandomizedResponse(2, Fraction(1, 2) + Fraction(i, 10**4)) for i in range(1, kinds + 1)])

    def row(name: str, against: Sequence[int], plan: Callable[[Any], Plan]) -> str:
        return growth(name, against, lambda size: asked(plan(size)), "")

    yield row("shuffled bits, against n", decades, lambda n: Shuffle(response, n))
    yield row("shuffled 4-ary response, against n", decades, lambda n: Shuffle(quarter, n))
    yield row("shuffled k-ary response, against k", sizes, lambda k: Shuffle(KaryRandomizedResponse.for_epsilon(1, k), 10**6))
    yield row("shuffled unary encoding, against bits", sizes, lambda k: Shuffle(UnaryEncoding.optimized(1, k), 10**6))
    yield row("shuffled Laplace noise, against n", decades, lambda n: Shuffle(laplace, n))
    yield row("shuffled bundles, against reports", few, lambda t: Shuffle(Repeat(Run(quarter), t), 10**6))
    yield row("shuffles one after the other, against T", runs[:4], lambda t: Repeat(Shuffle(response, 10**6), t))
    yield row("bits again and again, against T", runs, lambda t: Repeat(Run(response), t))
    yield row("4-ary response again, against T", runs, lambda t: Repeat(Run(quarter), t))
    yield row("Laplace noise again, against T", runs, lambda t: Repeat(Run(laplace), t))
    yield row("different bits, against kinds", (1, 3, 10, 30, 100, 300, 1000), different)
    yield row("sum of unary encodings, against n", decades, lambda n: Aggregate(UnaryEncoding.optimized(1, 16), n))
    yield row("sum of unary encodings, against bits", sizes, lambda k: Aggregate(UnaryEncoding.optimized(1, k), 10**6))


if __name__ == "__main__":
    for section in (certified, shuffled, sampled, noisy_counts, local):
        say(section())
