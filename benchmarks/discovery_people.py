"""The people of `benchmarks.discovery`: words, and who holds which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Found: TypeAlias = NDArray[np.bool_]
"""For each word, whether it was found."""


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
    """Users who hold so many words each, drawn by frequency."""
    return People(lexicon, rng.choice(len(shares), (users, held), p=shares))
