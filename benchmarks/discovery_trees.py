"""Prefix trees with other kinds of privacy, on the same words: local (TreeHist) and shuffled; see `benchmarks.discovery`.

A word is its first letters, five bits each: as many as the system's domain has room for. A word counts as found where its number
is named, so that words with the same first letters are found together, which favours these systems.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.discovery_people import Found, People
from ldpaudit.accountants import account
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.mechanisms.tree_histogram import HashedTreeHistogram, TreeHistogram

LETTER = 5
"""Bits of a letter, and of a level of TreeHist."""
NUMBERED = 12
"""Letters that are numbered."""
LARGEST_HASHED = 10**6
"""Users up to whom TreeHist over local hashing is run: its server takes minutes for more."""


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
