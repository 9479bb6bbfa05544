"""What all forms of TrieHH share: their data sets, and rounds that follow each other while something is released."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.number import brief
from ldpaudit.core.partitions import Counts
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Mechanism, View, Views
from ldpaudit.mechanisms.shared.coins import bernoulli, subset
from ldpaudit.mechanisms.shared.in_parts import Centre, InParts, driven
from ldpaudit.mechanisms.shared.parameters import integer, integers
from ldpaudit.mechanisms.shared.trie.one_round import Data, Noise, Round, Votes, Words, alike
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.profile import Number

_MOST_SAMPLED = 10**9 - 1  # where numpy's hypergeometric numbers end, for one user less than the neighbour has


@dataclass(frozen=True, slots=True)
class Ballot:
    """What the users of a round vote on: prefixes of `level` units that extend one of `last`, which is on the trie."""

    level: int
    last: frozenset[str]


class TrieRounds(InParts, Mechanism):
    """Rounds of votes for prefixes; what a round shows of its votes is up to the form.

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
        Letters per unit, at least 1; the last unit of a word may be shorter.
    words : int
        Different words that a user may hold, at least 1.
    """

    model = "sampled"
    relations = (ADD_REMOVE, REPLACE_ONE)
    unbiased = False

    users: int
    batch: int
    threshold: int
    levels: int
    unit: int
    words: int

    def __post_init__(self) -> None:
        integer(self, "users", 1)
        integers(self, batch=(1, self.users), threshold=1, levels=1, unit=1, words=1)

    @property
    @abstractmethod
    def with_counts(self) -> bool:
        """Whether a view holds pairs of a prefix and a number, or prefixes alone."""

    @property
    def noise(self) -> Noise | None:
        """Of each number of votes, where there is any."""
        return None

    @property
    def least(self) -> int:
        """The least number that is released."""
        return self.threshold

    @property
    def _most_noise(self) -> int:
        return 0 if self.noise is None else self.noise.bound

    def _law(self, each: Round) -> dict[Votes, Fraction]:
        """Law of what a round shows of each prefix, 0 for nothing."""
        votes = each.law(self.with_counts)
        return votes if self.noise is None else self.noise.law(votes, self.least)

    def _samples(self, each: Round, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The same, drawn `size` times, shape ``(size, prefixes)``."""
        votes = each.sample(self.with_counts, size, rng)
        if self.noise is None:
            return votes
        noisy = votes + self.noise.sample(votes.shape, rng)
        return np.where(noisy >= self.least, noisy, 0)

    def _released(self, votes: Counter[str], rng: np.random.Generator) -> dict[str, int]:
        """What a round shows of these votes."""
        noise = 0 if self.noise is None else self.noise.sample(len(votes), rng)
        noisy = zip(votes, (np.array([*votes.values()], dtype=np.int64) + noise).tolist(), strict=True)
        return {prefix: n for prefix, n in noisy if n >= self.least}

    @property
    def word(self) -> str:
        """A word of as many units as there are rounds."""
        return "a" * self.levels * self.unit

    def data(self, holders: Sequence[int], word: str | None, replaced: bool = False) -> Data:
        """A data set in which this many users share the prefixes of 1, 2, ... units of a word of one letter.

        ``holders`` never grows, and is at most `users`, less one where one is replaced. ``word``: what one user more holds; the
        empty word for nothing that counts, None where absent. ``replaced``: whether that user is one of the `users`.
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
            needs = f"pairs of a tuple of at most {self.words} words and a number of users"
            found = f"{self.users} or {self.users + 1} in all, got {x!r:.80}"
            raise ValueError(f"{type(self).__name__} needs {needs}, {found}")

    def law(self, x: Data) -> Law:
        """Law of what is released, by counting samples."""
        self.require_input(x)
        table = _table(self, x)
        return Law(lambda trie: table.get(trie, Fraction(0)), lambda: table, len(table))

    def sample(self, x: Data, size: int, rng: np.random.Generator) -> NDArray[np.object_]:
        """Views, shape ``(size,)``. Raises Unsupported for 10**9 - 1 users or more."""
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
            kinds, which = alike(self._samples(each, len(rows), rng), self.batch + self._most_noise)
            order = np.split(rows[np.argsort(which, kind="stable")], np.cumsum(np.bincount(which))[:-1])
            for votes, chosen in zip(kinds.tolist(), order, strict=True):
                if any(votes):
                    rounds.append((*self._grown(trie, each, votes), level + 1, chosen))
        return views

    def _round(self, x: Data, last: frozenset[str], level: int) -> Round:
        return Round.of(x, last, level, self.unit, self.batch, self.least - self._most_noise)

    def _grown(self, trie: frozenset[Any], each: Round, shown: Iterable[int]) -> tuple[frozenset[Any], frozenset[str]]:
        """The trie after a round, and the prefixes that are new."""
        new = {prefix: n for prefix, n in zip(each.prefixes, shown, strict=True) if n}
        return trie | self._view(new), frozenset(new)

    def _view(self, new: dict[str, int]) -> frozenset[Any]:
        return frozenset(new.items()) if self.with_counts else frozenset(new)

    def laws(self, x: Data) -> Iterator[tuple[frozenset[Any], Fraction]]:
        """Everything that may be released with its probability, one entry for each way there; see `law`."""
        rounds = [(frozenset[Any](), frozenset([""]), 1, Fraction(1))]
        while rounds:
            trie, last, level, p = rounds.pop()
            if level > self.levels:
                yield trie, p
                continue
            each = self._round(x, last, level)
            for votes, chance in self._law(each).items():
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
        return frozenset(prefix for prefix, _ in view) if self.with_counts else view

    def run(self, data: ArrayLike | Sequence[Sequence[str]], rng: np.random.Generator) -> View:
        """The whole system: users' words to what is released.

        ``data``: for each user a string, their word, or a sequence of strings, their words as often as they hold them.
        """
        return self._rounds(self._users(data), Fraction(0), rng)

    def run_with_dropouts(self, data: ArrayLike | Sequence[Sequence[str]], rate: Number, rng: np.random.Generator) -> View:
        """As `run`, where each drawn user is lost with probability `rate` before the vote arrives; nobody is drawn instead.

        Who is lost must stay secret. Where lost users are replaced until the batch is full, `run` itself is what happens.
        `with_dropouts` in accountants/trie_heavy_hitter.py says what it costs.
        """
        if not 0 <= (lost := Fraction(rate)) < 1:
            raise ValueError(f"{type(self).__name__}.run_with_dropouts needs 0 <= rate < 1, got rate={brief(rate)}")
        return self._rounds(self._users(data), lost, rng)

    def cut(self, data: Iterable[Sequence[str]], rng: np.random.Generator) -> list[Sequence[str]]:
        """The data with at most `words` different words a user: who holds more keeps a uniform choice of the different ones.

        Each user's choice depends on nothing but that user's words, so that what follows costs no more; but words of users
        who hold many are found less often than their frequency says.
        """
        found: list[Sequence[str]] = []
        for words in data:
            different = list(dict.fromkeys(words))
            if isinstance(words, str) or len(different) <= self.words:
                found.append(words)
            else:
                kept = {different[i] for i in rng.choice(len(different), self.words, replace=False).tolist()}
                found.append(tuple(word for word in words if word in kept))
        return found

    def _rounds(self, users: Any, lost: Fraction, rng: np.random.Generator) -> View:
        def voted(ballot: Ballot) -> Counter[str]:
            drawn = rng.choice(len(users), self.batch, replace=False, shuffle=False)
            if lost:
                drawn = drawn[~bernoulli(lost, len(drawn), rng)]
            return self._votes([users[i] for i in drawn.tolist()], ballot, rng)

        return driven(self._ballots(rng), voted)

    def _ballots(self, rng: np.random.Generator) -> Generator[Ballot, Counter[str], View]:
        """The server: it puts ballots to vote until nothing grows, and returns what it releases."""
        trie, last = frozenset[Any](), frozenset([""])
        for level in range(1, self.levels + 1):
            new = self._released((yield Ballot(level, last)), rng)
            trie |= self._view(new)
            if not new:
                break
            last = frozenset(new)
        return trie

    def centre(self, users: Sequence[int], rng: np.random.Generator, passes: int | None = None) -> Centre:
        """As `run`, over parts of these many users: a batch is drawn by number, and each part is told how many of it are its own.

        Each part then draws as many of its users without replacement, so that the batch is uniform among all users' batches.

        ``passes``: how often parts are asked at most; by default once for each level. Where it is less often, a part says at once
        what batches of several levels vote for: its prefix tree, of which all that does not grow is left out afterwards. The law
        is the same, for batches do not depend on what grew, but parts show prefixes that nobody asked for.
        """
        self._require_users(sum(users))
        at_once, ends = -(-self.levels // (passes or self.levels)), np.cumsum(users)
        ballots, tree = self._ballots(rng), Counter[str]()

        def drawn() -> list[int]:
            batch = subset(self.users, self.batch, rng)
            found: list[int] = np.bincount(np.searchsorted(ends, batch, side="right"), minlength=len(users)).tolist()
            return found

        def votes(ballot: Ballot) -> Counter[str]:
            before = (ballot.level - 1) * self.unit
            own = (p for p in tree if self._units(p) == ballot.level and p[:before] in ballot.last)
            return Counter({prefix: tree[prefix] for prefix in sorted(own)})

        try:
            ballot = next(ballots)
            while True:
                if (ballot.level - 1) % at_once == 0:
                    levels = range(ballot.level, min(ballot.level + at_once, self.levels + 1))
                    each = zip(*(drawn() for _ in levels), strict=True)
                    tree = yield [(ballot, batches) if any(batches) else None for batches in each]
                ballot = ballots.send(votes(ballot))
        except StopIteration as end:
            return end.value

    def answer(self, question: tuple[Ballot, tuple[int, ...]], part: Counts, rng: np.random.Generator) -> Counter[str]:
        """The votes of users of a part, for each level from that of the ballot on this many, drawn without replacement."""
        ballot, batches = question
        votes = Counter[str]()
        for deeper, drawn in enumerate(batches):
            batch = part.at(subset(part.users, drawn, rng)) if drawn else []
            if (found := next((words for words in batch if not isinstance(words, str | Sequence)), None)) is not None:
                raise ValueError(f"{type(self).__name__}.run needs words, got {found!r:.80}")
            self._require_few_words(batch)
            votes += self._votes(batch, ballot, rng, deeper)  # of other lengths
        return votes

    def _votes(self, batch: list[Any], ballot: Ballot, rng: np.random.Generator, deeper: int = 0) -> Counter[str]:
        """Votes of sampled users, who pick a word each; for longer prefixes than those of the ballot, where these are deeper."""
        grown = (ballot.level - 1) * self.unit
        before, after = (grown + i * self.unit for i in (deeper, deeper + 1))
        picks = rng.integers(0, [1 if isinstance(words, str) else max(1, len(words)) for words in batch]).tolist()
        pairs = zip(batch, picks, strict=True)
        picked = (words if isinstance(words, str) else words[pick] for words, pick in pairs if len(words))
        return Counter(w[:after] for w in picked if len(w) > before and (not grown or w[:grown] in ballot.last))

    def _users(self, data: Any) -> Any:
        users = data if isinstance(data, np.ndarray | Sequence) and not isinstance(data, str) else list(data)
        self._require_users(len(users))
        self._require_few_words(users)
        return users

    def _require_users(self, users: int) -> None:
        if users != self.users:
            raise ValueError(f"{type(self).__name__}.run needs the words of {self.users} users, got {users}")

    def _require_few_words(self, users: Any) -> None:
        many = (words for words in users if not isinstance(words, str) and len(words) > self.words)
        if (found := next((words for words in many if len(set(words)) > self.words), None)) is not None:
            most = f"at most {self.words} words a user, which `cut` leaves"
            raise ValueError(f"{type(self).__name__}.run needs {most}, got {found!r:.80}")

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
def _table(m: TrieRounds, x: Data) -> dict[frozenset[Any], Fraction]:
    table: dict[frozenset[Any], Fraction] = {}
    for trie, p in m.laws(x):
        table[trie] = table.get(trie, Fraction(0)) + p
    return table
