"""What finds words in `benchmarks.discovery`, and the people who hold them: TrieHH, coins, and prefix trees of other models.

A tree takes a word for its first letters, five bits each: as many as the system's domain has room for. A word counts as found where
its number is named, so that words with the same first letters are found together, which favours trees.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit import Unsupported, account
from ldpaudit.accountants.sampling.discovery import least_threshold
from ldpaudit.accountants.sampling.theorems import triehh_corollary_2
from ldpaudit.accountants.sampling.thresholded import PoissonBatch
from ldpaudit.accountants.sampling.trie import ThresholdProfile, largest_batch
from ldpaudit.mechanisms import HashedTreeHistogram, ShuffledHeavyHitters, TreeHistogram

LEVELS = 10  # letters, with the end of a word, that TrieHH finds
_COIN = 1 << 20  # coins are multiples of 1/_COIN
LETTER = 5  # bits of a letter, and of a level of TreeHist
NUMBERED = 12  # letters that are numbered
LARGEST_HASHED = 10**6  # users up to whom TreeHist over local hashing is run: its server takes minutes for more

Found: TypeAlias = NDArray[np.bool_]  # for each word, whether it was found


@dataclass(frozen=True)
class Lexicon:
    """Words by falling frequency, with the number of each of their prefixes."""

    words: Sequence[str]
    _prefixes: dict[int, NDArray[np.int64]] = field(default_factory=dict)

    def prefixes(self, letters: int) -> NDArray[np.int64]:
        """For each word the number of its prefix of this many letters; -1 where a shorter prefix is all of it already."""
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


def people(lexicon: Lexicon, shares: NDArray[np.float64], users: int, held: int, rng: np.random.Generator) -> People:
    """Users who hold a given number of words each, drawn by frequency."""
    return People(lexicon, rng.choice(len(shares), (users, held), p=shares))


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
    def shown(coin: int) -> bool:
        return ThresholdProfile(PoissonBatch(users, Fraction(coin, _COIN)), threshold).delta(epsilon).high > least_delta(users)

    return Fraction(bisect_left(range(1, _COIN), True, key=shown), _COIN)


@dataclass(frozen=True)
class Tree:
    """A system that names numbers."""

    letters: int  # of a word that are told
    # users' numbers and a generator to the numbers that are named
    named: Callable[[NDArray[np.int64], np.random.Generator], Any]

    def __call__(self, people: People, rng: np.random.Generator) -> Found:
        """The words that one run finds; none where it gives up."""
        numbers = _numbers(tuple(people.lexicon.words)) >> LETTER * (NUMBERED - self.letters)
        try:
            named = self.named(numbers[people.held[:, 0]], rng)
        except Unsupported:
            named = {}
        found: Found = np.isin(numbers, np.array([*named], dtype=np.int64))
        return found


@cache
def _numbers(words: tuple[str, ...]) -> NDArray[np.int64]:
    codes = np.array(words).astype(f"U{NUMBERED}").view(np.uint32).reshape(len(words), NUMBERED).astype(np.int64)
    letters = np.where((codes >= ord("a")) & (codes <= ord("z")), codes - ord("a") + 1, np.where(codes > 0, 27 + codes % 5, 0))
    found: NDArray[np.int64] = letters @ (1 << LETTER * np.arange(NUMBERED - 1, -1, -1, dtype=np.int64))
    return found


def signs(users: int, epsilon: int) -> Tree:
    """TreeHist: one sign a user."""
    m = TreeHistogram.for_epsilon(epsilon, users, 1 << LETTER * NUMBERED, width=LETTER)
    return Tree(NUMBERED, lambda data, rng: m.named(m.collect(data.astype(np.uint64), rng)))


def hashed(users: int, epsilon: int) -> Tree | None:
    """TreeHist over local hashing, of six letters."""
    if users > LARGEST_HASHED:
        return None
    m = HashedTreeHistogram.for_epsilon(epsilon, users, 1 << 6 * LETTER, width=LETTER)
    return Tree(6, lambda data, rng: m.named(m.collect(data, rng)))


@cache
def shuffled(users: int, epsilon: int) -> Tree | None:
    """The shuffled prefix tree, of eight letters, with about the least certified noise; None where there are too few users."""
    try:
        m = ShuffledHeavyHitters.with_few_kept(users, 1 << 8 * LETTER, (users - 1).bit_length(), least_rho(users, epsilon))
    except ValueError:
        return None
    return Tree(8, m.run)


@cache
def least_rho(users: int, epsilon: int) -> int:
    """Blanket messages per user with which the shuffled tree is certified: the least of a grid, a fifth apart."""
    grid = (round(1_000 / epsilon**2 * 1.2**i) + 1 for i in count())

    def private(rho: int) -> bool:
        m = ShuffledHeavyHitters(users, 1 << 8 * LETTER, (users - 1).bit_length(), rho, 1)
        return account(m).delta(epsilon).high <= Fraction(1, users**2)

    return next(rho for rho in grid if private(rho))
