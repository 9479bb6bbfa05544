"""Real words: what each heavy-hitter system recovers and how far each oracle is off, beside theorem and limit.

    python -m benchmarks.words [--users 1000000] [--words FILE] [--only STEM...]

Needs the extra `examples` (the package wordfreq, with 300,000 English words and their frequencies), or a file with a word
and its frequency a line. Every user holds one word, drawn by frequency. Oracles are asked for the 100 most frequent words
and for 900 others; recovered are the words that a system names and that are among the equally many most frequent ones.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment import options, say, show
from benchmarks.needed_noise import sufficient_count_min
from ldpaudit import Mechanism, account
from ldpaudit.accountants.claims.bucket_heavy_hitter import Setting, theorem_4_8_lead
from ldpaudit.accountants.claims.hashtogram import query_error
from ldpaudit.accountants.claims.sign_oracle import error_of
from ldpaudit.accountants.limits.hsu import le_cam_failure
from ldpaudit.mechanisms import BucketHeavyHitter, Hashtogram, ShuffledHadamard, SignOracle, Thresh, TrieHeavyHitter
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin, printed_gamma

EPSILON, DELTA, BETA = Fraction(1), Fraction(1, 10**9), Fraction(1, 20)
TOP, REST = 100, 900
DOMAIN = 1 << 19  # of the oracles: the words, and numbers that stand for none


Line: TypeAlias = tuple[str, str, str]
"""What a system did: its error in users or what it recovered, what the theorem promises, and what is private."""


@dataclass(frozen=True)
class Corpus:
    """Words by falling frequency, and everybody's word by its number."""

    words: list[str]
    data: NDArray[np.int64]
    shares: NDArray[np.float64]

    @property
    def asked(self) -> NDArray[np.int64]:
        """The words that oracles are asked for."""
        rest = np.linspace(TOP, len(self.words) - 1, REST).astype(np.int64)
        return np.concatenate([np.arange(TOP), rest])

    def off(self, estimates: NDArray[np.float64]) -> float:
        """The largest error over `asked`."""
        counts = np.bincount(self.data, minlength=len(self.words))
        return float(np.abs(estimates - counts[self.asked]).max())


def corpus(users: int, file: Path | None, rng: np.random.Generator) -> Corpus:
    """The words of a file, or of wordfreq."""
    if file is None:
        import wordfreq

        frequencies = wordfreq.get_frequency_dict("en")
    else:
        frequencies = {word: float(share) for word, share in (line.split() for line in file.read_text().splitlines())}
    words = sorted(frequencies, key=lambda word: (-frequencies[word], word))[:300_000]
    shares = np.array([frequencies[word] for word in words])
    shares /= shares.sum()
    return Corpus(words, rng.choice(len(words), users, p=shares), shares)


def cost(m: Mechanism, delta: Fraction | int = 0) -> str:
    """The certified epsilon."""
    return f"{account(m).epsilon(delta).high:.4g}" + (f" at {float(delta):.2g}" if delta else "")


def sign_oracle(c: Corpus, rng: np.random.Generator) -> Line:
    """One bit a user."""
    m = SignOracle.for_epsilon(EPSILON, len(c.data), DOMAIN)
    views = m.collect(c.data, rng)
    off = c.off(np.concatenate([m.query(views, part) for part in np.array_split(c.asked, 50)]))
    bound = error_of(m, len(c.data), BETA, len(c.asked)).high
    return f"error {off:.0f}", f"{bound:.0f}", cost(m)


def hashtogram(c: Corpus, rng: np.random.Generator) -> Line:
    """One bit a user, sqrt(n) memory."""
    m = Hashtogram.for_epsilon(EPSILON, len(c.data), DOMAIN)
    off = c.off(m.query(m.run(c.data, rng), c.asked))
    bound = query_error(m, len(c.data), BETA).high
    return f"error {off:.0f}", f"{bound:.0f} for one word", cost(m)


def shuffled_hadamard(c: Corpus, rng: np.random.Generator) -> Line:
    """Hundreds of messages a user, shuffled."""
    m = ShuffledHadamard.as_printed(EPSILON, DELTA, len(c.data), DOMAIN)
    off = c.off(m.run(c.data, rng)[c.asked])
    wanted = 3 * math.log(2 * DOMAIN / BETA)
    return f"error {off:.0f}", f"{math.sqrt(wanted * max(wanted, m.rho + 1)):.0f}", cost(m, DELTA)


def shuffled_count_min(c: Corpus, rng: np.random.Generator) -> Line:
    """Cells of shuffled messages; with the least noise that is enough, where the printed one is infeasible."""
    n = len(c.data)
    rows = (2 * DOMAIN - 1).bit_length()
    printed = float(printed_gamma(EPSILON, DELTA, n, rows, 1))
    m = sufficient_count_min(ShuffledCountMin(n, DOMAIN, rows, 2 * n, Fraction(1, 4)), EPSILON, DELTA)
    off = c.off(m.query(c.data, c.asked, rng))
    # Lemma 4.8 at the gamma that is run, for all words asked.
    bound = math.sqrt(3 * n * float(m.gamma) * math.log(2 * rows * len(c.asked) / BETA))
    theorem = f"{bound:.0f}; printed gamma is {printed:.2g}"
    return f"error {off:.0f} with gamma {float(m.gamma):.2g}", theorem, cost(m, DELTA)


def bucket_heavy_hitter(c: Corpus, rng: np.random.Generator) -> Line:
    """One value, if it is held by nearly all."""
    setting = Setting(EPSILON * Fraction(9, 10), DELTA, BETA, DOMAIN, len(c.data))
    m: BucketHeavyHitter = setting.mechanism
    named = m.heavy_hitter(m.run_in_law(c.data, rng), len(c.data))
    did = "names nothing" if named is None or named >= len(c.words) else f"names {c.words[named]!r}"
    need = theorem_4_8_lead(setting, Fraction(0)).high
    return did, f"needs {need:.3g} users with one word", cost(m, DELTA)


def trie_heavy_hitter(c: Corpus, rng: np.random.Generator) -> Line:
    """A batch of sqrt(n) users, ten rounds."""
    n, levels = len(c.data), 10
    theta = max(10, math.ceil(math.log10(n)) + 6)
    m = TrieHeavyHitter.as_printed(n, 1, theta, levels)
    view = m.run([c.words[i] + "$" for i in c.data.tolist()], rng)
    found = {p[:-1] for p in m.prefixes(view) if p.endswith("$")}
    top = next((i for i, word in enumerate(c.words) if word not in found), 0)
    return f"{len(found)} words, all of the top {top}", "", cost(m, Fraction(1, 300 * n))


def thresh(c: Corpus, rng: np.random.Generator) -> Line:
    """The share of users who hold the most frequent word, over eight epochs of which nothing changes."""
    n, epochs, rounds = min(len(c.data), 100_000), 8, 1_000
    m = Thresh(n, epochs, rounds, EPSILON, Fraction(BETA), n)
    share = float(np.mean(c.data == 0))
    found = m.run(rng.binomial(rounds, share, (n, epochs)), rng)
    from ldpaudit.accountants.claims.thresh import error_bound

    off = np.abs(found - share).max() * n
    return f"error {off:.0f} of {n}", f"{error_bound(m) * n:.0f}", cost(m)


SYSTEMS: dict[str, Callable[[Corpus, np.random.Generator], Line]] = {
    f.__name__: f
    for f in (sign_oracle, hashtogram, shuffled_hadamard, shuffled_count_min, bucket_heavy_hitter, trie_heavy_hitter, thresh)
}


def limits(users: int) -> Iterator[str]:
    """What no locally private protocol can beat."""
    for share in (0.25, 0.5, 1.0):
        error = round(share * math.sqrt(users))
        failure = le_cam_failure(users, error, EPSILON).low
        yield f"any {float(EPSILON):g}-LDP protocol is off by more than {error} users with probability at least {failure:.3f}"


COLUMNS = "{system:>20}  {did:32}{theorem:34}{true epsilon:18}{seconds:8.1f}"


def row(name: str, c: Corpus) -> tuple[str | float, ...]:
    """What a system did, and the seconds that it took."""
    start = time.perf_counter()
    return name, *SYSTEMS[name](c, np.random.default_rng(2)), time.perf_counter() - start


if __name__ == "__main__":
    given = options(__doc__, users=10**6, words=Path, only=[*SYSTEMS])
    c = corpus(given.users, given.words, np.random.default_rng(1))
    print(f"{len(c.words)} words, {len(c.data)} users, epsilon = {float(EPSILON):g}, beta = {float(BETA):g}; errors in users")
    show(COLUMNS, (row(name, c) for name in given.only))
    say(limits(len(c.data)))
