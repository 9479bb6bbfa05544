"""Words under the shuffled protocols: frequencies, and heavy hitters; sections of `benchmarks.shuffled`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import real_data
from benchmarks.word_tails import tail
from ldpaudit.accountants import account, shuffled_heavy_hitters
from ldpaudit.accountants.claims import shuffled_hadamard, unary_encoding
from ldpaudit.accountants.claims.shuffled_count_min import blanket_error
from ldpaudit.files import user_data
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.plan import Shuffle
from ldpaudit.report.claims import markdown_of
from ldpaudit.studies import counting_protocols, ggkpv_tables
from ldpaudit.studies.counting_protocols import COUNT_MIN, DRAWS, HADAMARD, SUMS, VECTORS, Origin, Setting

EPSILON, DELTA, BETA = Fraction(1), Fraction(1, 10**9), Fraction(1, 10)
WORDS, BITS, RUNS = 10_000, 40, 5
"""Words that are told apart, bits of a beginning of a word, and simulations."""


def words(users: int) -> Iterator[str]:
    """Every protocol that counts values, on words."""
    s = Setting.of(users, WORDS, EPSILON, DELTA)
    data = real_data.words(users, WORDS, np.random.default_rng(1))
    head = ("protocol", "noise", "epsilon", "messages", "measured", "bits a user", "theorem", "expected, at most", "exact tail",
            "measured", "all alike", "at least")  # fmt: skip
    rows = [_word_row(each, s, data) for each in (*VECTORS, *DRAWS, SUMS, *HADAMARD, *COUNT_MIN)]
    yield markdown_of(head, rows)


def _word_row(protocol: counting_protocols.Protocol, s: Setting, data: NDArray[np.int64]) -> tuple[str, ...]:
    name, limit = f"{protocol.name}, {protocol.origin}", ggkpv_tables.limit(protocol, s).error.low
    if (system := protocol.system(s)) is None:
        return name, f"none: {protocol.needs} from n = {protocol.least_users(s):,} on", *["-"] * 9, f"{limit:g}"
    m, counts, rng = system.mechanism, np.bincount(data, minlength=s.values), np.random.default_rng(2)
    off = [float(np.abs(estimates(m, s.users, counts, rng)[: s.values] - counts).max()) for _ in range(RUNS)]
    alike = [counting_protocols.largest_error(m, s, rng) for _ in range(RUNS)]
    shuffled = system.messages == 1
    epsilon = account(Shuffle(m, s.users) if shuffled else m).epsilon(DELTA).high
    numbers = (_number(float(each)) for each in (system.messages, sent(m, rng), system.bits_a_user))
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


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


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
    start = time.process_time()
    found = m.run(values, np.random.default_rng(3))
    seconds = time.process_time() - start
    heavy = [x for x, count in truth.items() if count >= m.threshold]
    off = max((abs(count - truth.get(x, 0)) for x, count in found.items()), default=math.nan)
    least_held = min((truth.get(x, 0) for x in found), default=0)
    bits = sum(m.oracle(length).bits_a_user for length in range(1, m.bits + 1))
    epsilon = account(m).epsilon(DELTA).high
    cost = (f"{m.rho:,}", f"{epsilon:.4g}", f"{m.bits * (m.rho + 1):,}", f"{bits:,}")
    whom = (f"{m.threshold:,}", f"{len(heavy)}", f"{sum(x in found for x in heavy)}", f"{len(found)}", f"{least_held:,}")
    return name, *cost, *whom, f"{m.threshold / 4:,.0f}", f"{off:,.0f}", f"{m.error_of_asked(BETA):,.0f}", f"{seconds:.1f}"
