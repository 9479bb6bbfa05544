"""Words under the shuffled protocols: frequencies, and heavy hitters; sections of `benchmarks.shuffled`.

The exact tail of an error is by the law of each count, a sum of coins, whose probabilities are those of scipy, in floats; those of
all values are added up. The hash functions of count-min are public, so that which values share a cell is known.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from benchmarks.experiment import timed
from ldpaudit import Mechanism, Shuffle
from ldpaudit.accountants import account, shuffled_heavy_hitters
from ldpaudit.accountants.claims import shuffled_hadamard, unary_encoding
from ldpaudit.accountants.claims.shuffled_count_min import blanket_error
from ldpaudit.files import user_data
from ldpaudit.mechanisms import ShuffledBinarySums, ShuffledCountMin, ShuffledHadamard, ShuffledHeavyHitters, UnaryEncoding
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.report.printer import markdown_of
from ldpaudit.studies import counting_protocols, ggkpv_tables
from ldpaudit.studies.counting_protocols import COUNT_MIN, DRAWS, HADAMARD, SUMS, VECTORS, Origin, Setting

Floats = NDArray[np.float64]
EPSILON, DELTA, BETA = Fraction(1), Fraction(1, 10**9), Fraction(1, 10)
WORDS, BITS, RUNS = 10_000, 40, 5  # words that are told apart, bits of a beginning of a word, and simulations
_WIDE = 12.0  # standard deviations beyond which a law is not looked at: 1e-30 lies there


def words(users: int) -> Iterator[str]:
    """Every protocol that counts values, on words."""
    s = Setting.of(users, WORDS, EPSILON, DELTA)
    data = user_data.english(users, np.random.default_rng(1)).frequent(WORDS - 1)
    head = ("protocol", "noise", "epsilon", "messages", "measured", "bits a user", "theorem", "expected, at most", "exact tail",
            "measured", "all alike", "at least")  # fmt: skip
    yield markdown_of(head, [_word_row(each, s, data) for each in (*VECTORS, *DRAWS, SUMS, *HADAMARD, *COUNT_MIN)])


def _word_row(protocol: counting_protocols.Protocol, s: Setting, data: NDArray[np.int64]) -> tuple[str, ...]:
    name, limit = f"{protocol.name}, {protocol.origin}", ggkpv_tables.limit(protocol, s).error.low
    if (system := protocol.system(s)) is None:
        return name, f"none: {protocol.needs} from n = {protocol.least_users(s):,} on", *["-"] * 9, f"{limit:g}"
    m, counts, rng = system.mechanism, np.bincount(data, minlength=s.values), np.random.default_rng(2)
    off = [float(np.abs(estimates(m, s.users, counts, rng)[: s.values] - counts).max()) for _ in range(RUNS)]
    alike = [counting_protocols.largest_error(m, s, rng) for _ in range(RUNS)]
    shuffled = system.messages == 1
    epsilon = account(Shuffle(m, s.users) if shuffled else m).epsilon(DELTA).high
    sizes = map(float, (system.messages, sent(m, rng), system.bits_a_user))
    numbers = (f"{each:,.0f}" if each >= 1000 else f"{each:.4g}" for each in sizes)
    expected = "-" if system.exceeded else f"{system.error.high:.4g}"
    off_by = (_theorem(protocol, s, m), expected, f"{tail(m, s.users, counts, float(BETA)):.4g}")
    return name, system.noise, f"{epsilon:.4g}", *numbers, *off_by, f"{np.mean(off):.4g}", f"{np.mean(alike):.4g}", f"{limit:g}"


def _theorem(protocol: counting_protocols.Protocol, s: Setting, m: Mechanism) -> str:
    """The paper's error: Theorem 3.4's for its own noise, Lemmas 4.5 and 4.8 for any; "-" where it has none."""
    match m:
        case ShuffledHadamard():
            return f"{shuffled_hadamard.reach(m, BETA, s.values).high:.4g}"
        case ShuffledCountMin():
            return f"{float(blanket_error(m, BETA, m.rows * m.buckets)):.4g}"
        case UnaryEncoding() if protocol.origin == Origin.closed:
            return f"{float(unary_encoding.error(unary_encoding.Setting(EPSILON, DELTA, s.users, s.values))[1].claimed):.4g}"
    return "-"


def estimates(m: Any, users: int, counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """One run of a protocol on data of these counts."""
    match m:
        case ShuffledHadamard():
            elements = np.zeros(2 * m.domain, dtype=np.int64)
            elements[1 : len(counts) + 1] = counts
            return m.from_counts(elements, users, rng)
        case ShuffledCountMin():
            return m.from_counts(np.flatnonzero(counts), counts[counts > 0], np.arange(len(counts)), rng)
    return np.asarray(m.run_on_counts({x: int(c) for x, c in enumerate(counts.tolist()) if c}, rng))


def sent(m: Mechanism, rng: np.random.Generator) -> float:
    """Messages per user, counted."""
    match m:
        case ShuffledHadamard():
            return len(m.randomize(0, rng))
        case ShuffledCountMin():
            return float(m.sample(0, 1, rng).sum() - m.rows) / m.users + m.rows
        case ShuffledBinarySums():
            found = m.run_on_counts({0: m.users}, rng)
            return float((found + m.users * float(m.gamma)).sum()) / m.users
    return 1.0


def hitters(users: int) -> Iterator[str]:
    """The first eight letters of words, of which nobody has a dictionary."""
    values = user_data.english(users, np.random.default_rng(1)).numbered() >> (user_data.BITS - BITS)
    different, numbers = np.unique(values, return_counts=True)
    truth = dict(zip(different.tolist(), numbers.tolist(), strict=True))
    made = (
        ("as printed", ShuffledHeavyHitters.as_printed(EPSILON, DELTA, users, 1 << BITS, BETA)),
        ("certified", shuffled_heavy_hitters.for_privacy(EPSILON, DELTA, users, 1 << BITS, BETA)),
    )
    head = ("noise", "rho", "epsilon", "messages", "bits a user", "threshold T", "held by T", "of these named", "named",
            "least count named", "T/4", "largest error", "at most", "seconds")  # fmt: skip
    yield markdown_of(head, [_hitter_row(name, m, values, truth) for name, m in made])


def _hitter_row(name: str, m: ShuffledHeavyHitters, values: NDArray[np.int64], truth: dict[int, int]) -> tuple[str, ...]:
    found, seconds = timed(lambda: m.run(values, np.random.default_rng(3)))
    heavy = [x for x, count in truth.items() if count >= m.threshold]
    off = max((abs(count - truth.get(x, 0)) for x, count in found.items()), default=math.nan)
    least_held = min((truth.get(x, 0) for x in found), default=0)
    bits = sum(m.oracle(length).bits_a_user for length in range(1, m.bits + 1))
    epsilon = account(m).epsilon(DELTA).high
    cost = (f"{m.rho:,}", f"{epsilon:.4g}", f"{m.bits * (m.rho + 1):,}", f"{bits:,}")
    whom = (f"{m.threshold:,}", f"{len(heavy)}", f"{sum(x in found for x in heavy)}", f"{len(found)}", f"{least_held:,}")
    return name, *cost, *whom, f"{m.threshold / 4:,.0f}", f"{off:,.0f}", f"{m.error_of_asked(BETA):,.0f}", f"{seconds:.1f}"


def tail(m: Mechanism, users: int, counts: NDArray[np.int64], beta: float) -> float:
    """What the largest error over all values exceeds with probability `beta` at most; in users, up to a thousandth of it."""
    match m:
        case ShuffledCountMin():
            return _crossing(_sketched(m, users, counts), beta, users)
        case ShuffledHadamard():
            laws = _laws(counts, lambda x: _coins(((m.rho + m.k) * users - x, float(m.hit)), 1 - float(m.hit)))
        case ShuffledBinarySums():
            laws = _laws(counts, lambda _: _coins((users, float(m.gamma)), 1.0))
        case KaryRandomizedResponse():
            laws = _laws(counts, lambda x: _two_coins(users, x, float(m.p), float(m.lie)))
        case UnaryEncoding():
            laws = _laws(counts, lambda x: _two_coins(users, x, float(m.p), float(m.q)))
        case _:
            raise ValueError(f"a tail needs a protocol that counts values, got {m.title}")
    return _crossing(lambda t: sum(often * float(chance[size > t].sum()) for often, size, chance in laws), beta, users)


def _laws(counts: NDArray[np.int64], of: Callable[[int], tuple[Floats, Floats]]) -> list[tuple[int, Floats, Floats]]:
    """For each number of holders: how many values have it, moduli of errors and their probabilities."""
    return [(int(often), *of(int(x))) for x, often in zip(*np.unique(counts, return_counts=True), strict=True)]


def _coins(coins: tuple[int, float], scale: float) -> tuple[Floats, Floats]:
    heads, chance = _mass(*coins)
    return np.abs(heads - coins[0] * coins[1]) / scale, chance


def _two_coins(users: int, holders: int, on: float, off: float) -> tuple[Floats, Floats]:
    (first, p), (second, q) = _mass(holders, on), _mass(users - holders, off)
    heads = first[0] + second[0] + np.arange(len(p) + len(q) - 1)
    return np.abs(heads - users * off - holders * (on - off)) / (on - off), np.convolve(p, q)


def _mass(coins: int, p: float) -> tuple[Floats, Floats]:
    """Numbers of heads near the mean, and their probabilities."""
    wide = _WIDE * (coins * p * (1 - p)) ** 0.5 + _WIDE**2
    heads = np.arange(max(0, int(coins * p - wide)), min(coins, int(coins * p + wide)) + 1)
    return heads.astype(np.float64), stats.binom.pmf(heads, coins, p)


def _sketched(m: ShuffledCountMin, users: int, counts: NDArray[np.int64]) -> Callable[[float], float]:
    """The probabilities of all values that the least of their cells, noise and other values in it, is off by more than t."""
    values = np.arange(len(counts))
    cells = np.array([m.hashes(values, row) for row in range(m.rows)])
    shared = np.array([np.bincount(row, counts)[row] - counts for row in cells])
    noise: Any = stats.binom(users, float(m.gamma))

    def exceeded(t: float) -> float:
        above = noise.sf(np.floor(float(m.expected_noise) + t - shared)).prod(axis=0)
        below = -np.expm1(np.log1p(-noise.cdf(np.ceil(float(m.expected_noise) - t - shared) - 1)).sum(axis=0))
        return float((above + below).sum())

    return exceeded


def _crossing(exceeded: Callable[[float], float], beta: float, most: int) -> float:
    return float(optimize.bisect(lambda t: exceeded(t) - beta, 0.0, most, rtol=1e-3, xtol=1e-3))
