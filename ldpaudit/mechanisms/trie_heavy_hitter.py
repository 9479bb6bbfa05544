"""TrieHH: frequent words found prefix by prefix, by the votes of a fresh sample of the users in every round.

Zhu, Kairouz, McMahan, Sun, Li 2019, "Federated heavy hitters discovery with differential privacy", Algorithms 1 to 3.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Mechanism, View, Views
from ldpaudit.mechanisms._parameters import integer, positive
from ldpaudit.mechanisms._trie import Data, Round, Words, alike
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.profile import Number

_MOST_SAMPLED = 10**9 - 1
"""Where numpy's hypergeometric numbers end, for one user less than the neighbour has."""


@dataclass(frozen=True, slots=True)
class TrieHeavyHitter(Mechanism):
    """TrieHH, of which the trie is released; or, which the paper does not do, the trie and its votes.

    In each round `batch` users are drawn without replacement, and each picks one of the words that it holds, as often as
    it holds it. Who picks a word whose prefix of so many units as rounds have passed is in the trie votes for the prefix
    that is one unit longer. Prefixes with at least `threshold` votes grow on the trie; the last round is the one in
    which nothing grows, or the round `levels`.

    A view is what is released: the frozenset of the prefixes, or with `counts` of pairs of a prefix and its votes. An
    input is a whole data set: pairs of the words that a user holds, a tuple, and how many users hold just these. There
    are `users` of them or, for the neighbour, one more. A user who holds () never votes.

    Parameters
    ----------
    users : int
        Number n of users, at least 1.
    batch : int
        Number m of users in a round, from 1 to n.
    threshold : int
        Theta, at least 1: votes that a prefix needs.
    levels : int
        L, at least 1: the most rounds, and the most units of a prefix.
    unit : int
        Letters a unit, at least 1; the last unit of a word may be shorter.
    words : int
        Different words that a user may hold, at least 1: Algorithm 1 with one, Algorithm 3 with more.
    counts : int
        1 where the votes of the prefixes are released too, else 0.

    Raises
    ------
    ValueError
        Where a parameter lies outside its domain.

    Examples
    --------
    >>> TrieHeavyHitter.as_printed(users=10**6, gamma=10, threshold=15, levels=10).batch
    10000
    >>> m = TrieHeavyHitter(users=20, batch=12, threshold=2, levels=6)
    >>> data = ["star$"] * 3 + ["sun$"] * 4 + ["moon$"] * 4 + [f"{letter}$" for letter in "abcdefghi"]
    >>> sorted(m.run(data, np.random.default_rng(2)))
    ['m', 'mo', 'moo', 'moon', 'moon$', 's', 'st', 'su', 'sun', 'sun$']
    """

    title = "TrieHH"
    model = "sampled"
    relations = (ADD_REMOVE, REPLACE_ONE)
    unbiased = False

    users: int
    batch: int
    threshold: int
    levels: int
    unit: int = 1
    words: int = 1
    counts: int = 0

    def __post_init__(self) -> None:
        integer(self, "users", 1)
        integer(self, "batch", 1, self.users)
        for name in ("threshold", "levels", "unit", "words"):
            integer(self, name, 1)
        integer(self, "counts", 0, 1)

    @classmethod
    def as_printed(cls, users: int, gamma: Number, threshold: int, levels: int) -> Self:
        """Algorithm 1 with a batch of ``gamma * sqrt(users)``, rounded down.

        Parameters
        ----------
        gamma : Number
            The batch in units of the root of users, above 0.
        """
        factor = positive("gamma", gamma)
        return cls(users, math.isqrt(math.floor(factor**2 * users)), threshold, levels)

    @property
    def inputs(self) -> tuple[Data, Data]:
        """Two data sets of which the first has one user more, and shows what the other never does.

        His prefix is released, which all but one of the users that it takes hold besides; or with counts, where all the
        others hold one word and he none, a vote is missing.
        """
        others = self.users if self.counts else min(self.threshold - 1, self.users)
        holders = [others] * self.levels
        return self.data(holders, "" if self.counts else self.word), self.data(holders, None)

    @property
    def word(self) -> str:
        """A word of as many units as there are rounds."""
        return "a" * self.levels * self.unit

    def data(self, holders: Sequence[int], word: str | None, replaced: bool = False) -> Data:
        """A data set in which so many users share the prefixes of 1, 2, ... units of a word of one letter.

        Parameters
        ----------
        holders : sequence of int
            Never growing, and at most `users`; `users` less one where one is replaced.
        word : str or None
            What one user more holds; the empty word for nothing that counts, None where he is not there.
        replaced : bool
            Whether he is one of the `users`.
        """
        longer = [*holders[1:], 0]
        held = {"a" * i * self.unit: w - v for i, (w, v) in enumerate(zip(holders, longer, strict=True), 1)}
        present: Counter[Words] = Counter({(w,): n for w, n in held.items() if n})
        present[()] += self.users - replaced - holders[0]
        if word is not None:
            present[(word,) if word else ()] += 1
        return tuple(sorted((words, n) for words, n in present.items() if n))

    def require_input(self, x: Any) -> None:
        """Check that `x` is a data set of `users` users, or of one more."""
        try:
            users = sum(n for _, n in x)
            valid = all(isinstance(w, str) for words, _ in x for w in words) and all(n >= 1 for _, n in x)
            valid = valid and all(len(set(words)) <= self.words for words, _ in x)
        except (TypeError, ValueError):
            valid = False
        if not (valid and isinstance(x, Hashable) and users in (self.users, self.users + 1)):
            raise ValueError(
                f"TrieHeavyHitter needs pairs of a tuple of at most {self.words} words and a number of users, "
                f"{self.users} or {self.users + 1} in all, got {x!r:.80}"
            )

    def law(self, x: Data) -> Law:
        """Law of what is released, by counting samples."""
        self.require_input(x)
        table = _table(self, x)
        return Law(lambda trie: table.get(trie, Fraction(0)), lambda: table, len(table))

    def sample(self, x: Data, size: int, rng: np.random.Generator) -> NDArray[np.object_]:
        """Views, shape ``(size,)``.

        Raises
        ------
        Unsupported
            For 10**9 - 1 users or more.
        """
        self.require_input(x)
        if self.users >= _MOST_SAMPLED:
            raise Unsupported(self, f"its votes are drawn for fewer than {_MOST_SAMPLED} users")
        views = np.empty(size, dtype=object)
        rounds = [(frozenset[Any](), frozenset([""]), 1, np.arange(size))]
        while rounds:
            trie, last, level, rows = rounds.pop()
            views[rows] = trie
            if level > self.levels or not len(rows):
                continue
            each = self._round(x, last, level)
            if not each.prefixes:
                continue
            kinds, which = alike(each.sample(bool(self.counts), len(rows), rng), self.batch)
            order = np.split(rows[np.argsort(which, kind="stable")], np.cumsum(np.bincount(which))[:-1])
            for votes, chosen in zip(kinds.tolist(), order, strict=True):
                if any(votes):
                    rounds.append((*self._grown(trie, each, votes), level + 1, chosen))
        return views

    def _round(self, x: Data, last: frozenset[str], level: int) -> Round:
        return Round.of(x, last, level, self.unit, self.batch, self.threshold)

    def _grown(self, trie: frozenset[Any], each: Round, votes: Iterable[int]) -> tuple[frozenset[Any], frozenset[str]]:
        """The trie after a round, and the prefixes that are new."""
        new = {prefix: n for prefix, n in zip(each.prefixes, votes, strict=True) if n}
        return trie | (frozenset(new.items()) if self.counts else frozenset(new)), frozenset(new)

    def laws(self, x: Data) -> Iterator[tuple[frozenset[Any], Fraction]]:
        """Everything that may be released with its probability, one entry for each way there; see `law`."""
        rounds = [(frozenset[Any](), frozenset([""]), 1, Fraction(1))]
        while rounds:
            trie, last, level, p = rounds.pop()
            if level > self.levels:
                yield trie, p
                continue
            each = self._round(x, last, level)
            for votes, chance in each.law(bool(self.counts)).items():
                if any(votes):
                    rounds.append((*self._grown(trie, each, votes), level + 1, p * chance))
                else:
                    yield trie, p * chance

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """How many prefixes of 1, 2, ... units are released, on average over views: a lower estimate of `truth`."""
        found = np.zeros(self.levels)
        often: Counter[frozenset[Any]] = Counter(views)
        for view, times in often.items():
            for prefix in self.prefixes(view):
                found[self._units(prefix) - 1] += times
        return found / len(views)

    def prefixes(self, view: View) -> frozenset[str]:
        """The trie of a view, without counts."""
        return frozenset(prefix for prefix, _ in view) if self.counts else view

    def run(self, data: ArrayLike | Sequence[Sequence[str]], rng: np.random.Generator) -> View:
        """The whole system: users' words to what is released.

        Parameters
        ----------
        data : sequence
            For each user a string, his word, or a sequence of strings, his words as often as he holds them.
        rng : numpy.random.Generator
            Source of all randomness.

        Returns
        -------
        frozenset
            A view.
        """
        users = self._users(data)
        trie, last = frozenset[Any](), frozenset([""])
        for level in range(1, self.levels + 1):
            drawn = rng.choice(len(users), self.batch, replace=False, shuffle=False)
            votes = self._votes([users[i] for i in drawn.tolist()], last, level, rng)
            new = {prefix: n for prefix, n in votes.items() if n >= self.threshold}
            trie |= frozenset(new.items()) if self.counts else frozenset(new)
            if not new:
                break
            last = frozenset(new)
        return trie

    def _votes(self, batch: list[Any], last: frozenset[str], level: int, rng: np.random.Generator) -> Counter[str]:
        """Votes of sampled users, who pick a word each."""
        before, after = (level - 1) * self.unit, level * self.unit
        picks = rng.integers(0, [1 if isinstance(words, str) else max(1, len(words)) for words in batch]).tolist()
        pairs = zip(batch, picks, strict=True)
        picked = (words if isinstance(words, str) else words[pick] for words, pick in pairs if len(words))
        return Counter(w[:after] for w in picked if len(w) > before and (level == 1 or w[:before] in last))

    def _users(self, data: Any) -> Any:
        users = data if isinstance(data, np.ndarray | Sequence) and not isinstance(data, str) else list(data)
        if len(users) != self.users:
            raise ValueError(f"TrieHeavyHitter.run needs the words of {self.users} users, got {len(users)}")
        many = (words for words in users if not isinstance(words, str) and len(words) > self.words)
        if (found := next((words for words in many if len(set(words)) > self.words), None)) is not None:
            raise ValueError(f"TrieHeavyHitter.run needs at most {self.words} words a user, got {found!r:.80}")
        return users

    def truth(self, data: ArrayLike | Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """How many prefixes of 1, 2, ... units at least `threshold` users hold."""
        holders: Counter[str] = Counter()
        for words in self._users(data):
            own = (words,) if isinstance(words, str) else words
            holders.update({w[: i * self.unit] for w in own for i in range(1, self._units(w) + 1)})
        found = np.zeros(self.levels)
        for prefix, users in holders.items():
            found[self._units(prefix) - 1] += users >= self.threshold
        return found

    def _units(self, word: str) -> int:
        return min(self.levels, -(-len(word) // self.unit))


@lru_cache(maxsize=64)
def _table(m: TrieHeavyHitter, x: Data) -> dict[frozenset[Any], Fraction]:
    table: dict[frozenset[Any], Fraction] = {}
    for trie, p in m.laws(x):
        table[trie] = table.get(trie, Fraction(0)) + p
    return table
