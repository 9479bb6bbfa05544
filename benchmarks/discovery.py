"""How many real words TrieHH finds: discovery and recall by users, epsilon, words looked for and unit size.

    python -m benchmarks.discovery [--users 1000000] [--words FILE] [--runs 10] [--most 1000000] [--plot FILE.png]

Needs the extra `examples` (the package wordfreq), or a file with a word and its frequency a line. Every user holds one word,
drawn by frequency and ended by "$"; what Algorithm 3 is asked holds five, of which a sampled user picks one. A word counts as
found where all of it is released, so that ten rounds find words of nine letters. delta is 1/n**2 throughout, and theta
the least at which the paper's Theorem 1 reaches it. Systems:

- printed: the batch of Corollary 2;
- certified: the largest batch found that is certified for the same epsilon, delta and theta; where the paper's is a few
  thetas, even that is not, and the one that is may be too small to find anything;
- coins: sample-and-threshold in a single round, whole words, with the largest certified coin for the best of its thresholds.

The first three tables are the paper's figures 2 to 4, by the formula of Proposition 1; then figures 5, 6, 8 and 9 on these
words, and recall over users, which the paper does not plot. The paper's own lists of n and epsilon are lost.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.words import corpus
from ldpaudit.accountants.sampling.discovery import discovery_rate, least_holders, least_threshold
from ldpaudit.accountants.sampling.theorems import triehh_corollary_2
from ldpaudit.accountants.sampling.thresholded import PoissonBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile, largest_batch

EPSILONS, LEVELS, UNITS = (1, 2, 4, 8), 10, (1, 2, 3, 4)
TOPS = (10, 25, 50, 100, 150, 250, 350, 500)
SHARES = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
"""Word frequencies of the curves."""
HELD = 5
"""Words of a user of Algorithm 3."""
_COIN = 1 << 20
"""Coins are multiples of 1/_COIN."""

Found: TypeAlias = NDArray[np.bool_]
"""For each word, whether it was found."""
Run: TypeAlias = Callable[["People", np.random.Generator], Found]


@dataclass(frozen=True)
class Lexicon:
    """Words by falling frequency, with the number of each of their prefixes."""

    words: Sequence[str]
    _prefixes: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    def prefixes(self, letters: int) -> NDArray[np.int64]:
        """For each word the number of its prefix of so many letters; -1 where a shorter prefix is all of it already."""
        if letters not in self._prefixes:
            ended = np.array([word + "$" for word in self.words])
            self._prefixes[letters] = np.unique(ended.astype(f"U{letters}"), return_inverse=True)[1].ravel()
        return self._prefixes[letters]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Letters of each word and its end."""
        return np.array([len(word) + 1 for word in self.words])


@dataclass(frozen=True)
class People:
    """What users hold: numbers of words, one row a user."""

    lexicon: Lexicon
    held: NDArray[np.int64]

    @property
    def users(self) -> int:
        """n."""
        return len(self.held)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Each word's frequency: local frequencies, averaged over users."""
        return np.bincount(self.held.ravel(), minlength=len(self.lexicon.words)) / self.held.size

    def drawn(self, batch: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The words that a batch picks."""
        who = rng.choice(self.users, batch, replace=False, shuffle=False)
        return self.held[who, rng.integers(0, self.held.shape[1], batch)]


@dataclass(frozen=True)
class Trie:
    """TrieHH's sizes."""

    batch: int
    threshold: int
    levels: int
    unit: int = 1

    def __call__(self, people: People, rng: np.random.Generator) -> Found:
        """The words that one run finds."""
        words = len(people.lexicon.words)
        alive, found, lengths = np.ones(words, dtype=np.bool_), np.zeros(words, dtype=np.bool_), people.lexicon.lengths
        for level in range(1, self.levels + 1):
            prefixes = people.lexicon.prefixes(level * self.unit)
            # Who holds a word that ended in an earlier round votes for nothing.
            going = alive & (lengths > (level - 1) * self.unit)
            picked = people.drawn(self.batch, rng)
            votes = np.bincount(prefixes[picked[going[picked]]], minlength=int(prefixes.max()) + 1)
            alive = going & (votes >= self.threshold)[prefixes]
            found |= alive & (lengths <= level * self.unit)
            if not alive.any():
                break
        return found


@dataclass(frozen=True)
class Coins:
    """Sample-and-threshold: one round of whole words."""

    coin: Fraction
    threshold: int

    def __call__(self, people: People, rng: np.random.Generator) -> Found:
        """The words that one run finds."""
        sampled = people.held[rng.random(people.users) < float(self.coin), 0]
        return np.bincount(sampled, minlength=len(people.lexicon.words)) >= self.threshold


def least_delta(users: int) -> Fraction:
    """The delta of everything here."""
    return Fraction(1, users**2)


@cache
def printed(users: int, epsilon: int, unit: int = 1) -> Trie:
    """Corollary 2's batch."""
    levels, theta = -(-LEVELS // unit), least_threshold(least_delta(users))
    return Trie(triehh_corollary_2(users, theta, levels, epsilon), theta, levels, unit)


@cache
def certified(users: int, epsilon: int, unit: int = 1) -> Trie:
    """The largest batch that is certified for the same guarantee."""
    paper = printed(users, epsilon, unit)
    batch = largest_batch(users, paper.threshold, paper.levels, epsilon, least_delta(users))
    return Trie(batch, paper.threshold, paper.levels, unit)


@cache
def coins(users: int, epsilon: int) -> Coins:
    """The coin and threshold, of those certified, with which a word of fewest holders is sampled often enough on average."""
    choices = (Coins(_largest_coin(users, epsilon, tau), tau) for tau in range(8, 200, 2))
    return min((c for c in choices if c.coin), key=lambda c: c.threshold / c.coin)


def _largest_coin(users: int, epsilon: int, threshold: int) -> Fraction:
    low, high = 0, _COIN
    while high - low > 1:
        middle = (low + high) // 2
        sampling = PoissonBatch(users, Fraction(middle, _COIN))
        private = ThresholdProfile(sampling, threshold).delta(epsilon).high <= least_delta(users)
        low, high = (middle, high) if private else (low, middle)
    return Fraction(low, _COIN)


SYSTEMS: dict[str, Callable[[int, int], Run]] = {"printed": printed, "certified": certified, "coins": coins}


def people(lexicon: Lexicon, shares: NDArray[np.float64], users: int, held: int, rng: np.random.Generator) -> People:
    """Users who hold so many words each, drawn by frequency."""
    return People(lexicon, rng.choice(len(shares), (users, held), p=shares))


def recalls(crowd: People, system: Run, tops: Sequence[int], runs: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """For every run and K, the part of the K most frequent words that is found."""
    order = np.argsort(-crowd.shares, kind="stable")
    found = [system(crowd, rng)[order] for _ in range(runs)]
    return np.array([[each[:top].mean() for top in tops] for each in found])


def with_error(values: NDArray[np.float64]) -> list[str]:
    """The mean over runs, and half the width of its 95 % interval."""
    runs = len(values)
    half = stats.t.ppf(0.975, runs - 1) * values.std(axis=0, ddof=1) / np.sqrt(runs) if runs > 1 else np.zeros(values.shape[1])
    return [f"{mean:.3f}~{each:.3f}" for mean, each in zip(values.mean(axis=0), half, strict=True)]


def table(title: str, heads: Iterable[Any], rows: Iterable[tuple[str, Iterable[Any]]]) -> None:
    """Print one table."""
    print(f"\n{title}\n{'':26}" + "".join(f"{head!s:>13}" for head in heads))
    for name, values in rows:
        print(f"{name:26}" + "".join(f"{value!s:>13}" for value in values), flush=True)


def formulas(users: int) -> None:
    """Figures 2 to 4: the worst-case curves."""
    def rate(n: int, share: float, epsilon: int) -> str:
        m = printed(n, epsilon)
        return f"{discovery_rate(n, round(share * n), m.batch, m.threshold, m.levels).low:.6f}"

    populations = [10**4, 10**5, 10**6, 10**7]
    named = [(f"epsilon = {epsilon}", epsilon) for epsilon in EPSILONS]
    table(f"Figure 2: worst-case discovery by frequency, n = {users}", SHARES,
          ((name, [rate(users, share, e) for share in SHARES]) for name, e in named))  # fmt: skip
    table("Figure 3: worst-case discovery of a word of 1 %", populations,
          ((name, [rate(n, 0.01, e) for n in populations]) for name, e in named))  # fmt: skip
    table("Figure 4: fewest holders with discovery 0.9", populations,
          ((name, [_fewest(n, e) for n in populations]) for name, e in named))  # fmt: skip


def _fewest(users: int, epsilon: int) -> int | None:
    m = printed(users, epsilon)
    return least_holders(users, m.batch, m.threshold, m.levels, 0.9)


def by_frequency(crowd: People, runs: int, rng: np.random.Generator) -> None:
    """Figure 5: discovery of words by their frequency, beside the formula."""
    at = [int(np.argmin(abs(crowd.shares - share))) for share in SHARES]
    heads = [crowd.lexicon.words[i] for i in at]

    def rows() -> Iterator[tuple[str, list[str]]]:
        yield "frequency", [f"{crowd.shares[i]:.5f}" for i in at]
        for epsilon in EPSILONS:
            m = printed(crowd.users, epsilon)
            found = np.mean([m(crowd, rng)[at] for _ in range(runs)], axis=0)
            held = [round(crowd.shares[i] * crowd.users) for i in at]
            worst = [discovery_rate(crowd.users, w, m.batch, m.threshold, m.levels).low for w in held]
            yield f"epsilon = {epsilon}", [f"{each:.3f}" for each in found]
            yield "  worst case", [f"{each:.3f}" for each in worst]

    table(f"Figure 5: discovery by frequency, {runs} runs", heads, rows())


def by_top(crowd: People, title: str, runs: int, rng: np.random.Generator, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Figures 6 and 8: recall of the K most frequent words."""
    lines = [(f"{name}, epsilon = {e}", SYSTEMS[name](crowd.users, e)) for e in EPSILONS for name in names]
    found = [(name, recalls(crowd, system, TOPS, runs, rng)) for name, system in lines]
    table(title, [f"K={top}" for top in TOPS], ((name, with_error(values)) for name, values in found))
    yield from ((name, values.mean(axis=0)) for name, values in found)


def by_unit(crowd: People, epsilon: int, runs: int, rng: np.random.Generator) -> None:
    """Figure 9: recall by unit size."""
    lines = [(f"{name}, unit = {unit}", make(crowd.users, epsilon, unit)) for unit in UNITS
             for name, make in (("printed", printed), ("certified", certified))]  # fmt: skip
    table(f"Figure 9: recall by unit size, epsilon = {epsilon}, {HELD} words a user", [f"K={top}" for top in TOPS],
          ((name, with_error(recalls(crowd, system, TOPS, runs, rng))) for name, system in lines))  # fmt: skip


def by_users(lexicon: Lexicon, shares: NDArray[np.float64], most: int, runs: int, rng: np.random.Generator) -> None:
    """Recall of the 100 most frequent words by users."""
    populations = [10**i for i in range(4, 8) if 10**i <= most]
    crowds = [people(lexicon, shares, n, 1, rng) for n in populations]

    def line(name: str, epsilon: int) -> list[str]:
        return [with_error(recalls(c, SYSTEMS[name](c.users, epsilon), [100], runs, rng))[0] for c in crowds]

    rows = ((f"{name}, epsilon = {e}", line(name, e)) for e in EPSILONS for name in SYSTEMS)
    table(f"Recall of the 100 most frequent words by users, {runs} runs", populations, rows)


def plot(path: Path, curves: Iterable[tuple[str, Any]]) -> None:
    """Recall over K, one panel per epsilon."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3), layout="constrained")
    panels = dict(zip(EPSILONS, figure.subplots(1, len(EPSILONS), sharey=True), strict=True))
    for name, values in curves:
        system, _, epsilon = name.partition(", epsilon = ")
        panels[int(epsilon)].plot(TOPS, values, marker="o", markersize=3, label=system)
    for each, panel in panels.items():
        panel.set(title=f"epsilon = {each}", xlabel="K", ylim=(-0.02, 1.02))
        panel.grid(alpha=0.3)
    panels[EPSILONS[0]].set_ylabel("recall of the K most frequent words")
    panels[EPSILONS[-1]].legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=658_769, help="of the tables by frequency, K and unit size")
    parser.add_argument("--most", type=int, default=10**6, help="users of the last table, up to 10**7")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--words", type=Path)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    start, rng, n, runs = time.perf_counter(), np.random.default_rng(1), arguments.users, arguments.runs
    known = corpus(1, arguments.words, rng)
    lexicon, shares = Lexicon(known.words), known.shares
    single, several = (people(lexicon, shares, n, held, rng) for held in (1, HELD))
    formulas(n)
    by_frequency(single, 20 * runs, rng)
    for name in SYSTEMS:
        print(f"{name:26}" + "  ".join(f"epsilon {e}: {SYSTEMS[name](n, e)}" for e in EPSILONS))
    curves = list(by_top(single, f"Figure 6: recall, one word a user, n = {n}, {runs} runs", runs, rng, [*SYSTEMS]))
    list(by_top(several, f"Figure 8: recall, {HELD} words a user", runs, rng, ["printed", "certified"]))
    by_unit(several, 4, runs, rng)
    by_users(lexicon, shares, arguments.most, runs, rng)
    if arguments.plot:
        plot(arguments.plot, curves)
    print(f"\n{time.perf_counter() - start:.0f} seconds")


if __name__ == "__main__":
    main()
