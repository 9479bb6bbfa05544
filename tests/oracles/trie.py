"""TrieHH from its pseudocode, by counting sub-batches: all data sets of a few users, in integers."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import flint

from ldpaudit.enclosure import round_down, round_up
from ldpaudit.profile import PrivacyProfile
from tests.oracles.shuffle import divergence as divergence, law_of

Words = tuple[str, ...]
"""What one user holds; one of them is picked when the user is sampled."""
Data = tuple[tuple[Words, int], ...]
"""Users alike, and how many."""
Law = dict[frozenset[str], Fraction]


def literal(users: Sequence[Words], batch: int, threshold: int, levels: int) -> Law:
    """Algorithms 1 to 3, line by line, over every sub-batch and every choice of a word, in every round."""

    def rounds(trie: frozenset[str], new: bool, level: int, p: Fraction) -> Iterator[tuple[frozenset[str], Fraction]]:
        if level == levels or not new:
            yield trie, p
            return
        for chosen in combinations(users, batch):
            for words in product(*chosen):
                votes = Counter(w[: level + 1] for w in words if len(w) > level and (not level or w[:level] in trie))
                grown = frozenset(prefix for prefix, count in votes.items() if count >= threshold)
                share = p / math.comb(len(users), batch) / math.prod(map(len, chosen))
                yield from rounds(trie | grown, bool(grown), level + 1, share)

    return law_of(rounds(frozenset(), True, 0, Fraction(1)))


@cache
def law(data: Data, batch: int, threshold: int, levels: int) -> Law:
    """The same for one word a user, by counting how many of the users alike are sampled."""
    users = sum(count for _, count in data)

    def rounds(trie: frozenset[str], last: frozenset[str], level: int, p: Fraction) -> Iterator[tuple[frozenset[str], Fraction]]:
        voters: Counter[str] = Counter()
        for (word,), count in data:
            if level < min(levels, len(word)) and word[:level] in last:
                voters[word[: level + 1]] += count
        ways: dict[tuple[frozenset[str], int], int] = {(frozenset(), 0): 1}
        for prefix, count in [*voters.items(), ("", users - voters.total())]:
            ways = law_of(
                ((new | {prefix} if prefix and j >= threshold else new, drawn + j), w * math.comb(count, j))
                for (new, drawn), w in ways.items() for j in range(min(count, batch - drawn) + 1)
            )  # fmt: skip
        for (new, drawn), w in ways.items():
            if drawn == batch:
                share = p * Fraction(w, math.comb(users, batch))
                yield from rounds(trie | new, new, level + 1, share) if new else [(trie, share)]

    return law_of(rounds(frozenset(), frozenset({""}), 0, Fraction(1)))


Tree = tuple[int, tuple["Tree", ...]]
"""How many words end here, and the subtrees of their continuations."""


@cache
def trees(users: int, depth: int) -> tuple[Tree, ...]:
    """All data sets of this many words of at most this many letters, up to the names of the letters."""
    if depth == 0:
        return ((users, ()),)
    return tuple((ends, below) for ends in range(users + 1) for below in _forests(users - ends, depth - 1))


def _forests(users: int, depth: int, most: object = None) -> Iterator[tuple[Tree, ...]]:
    if users == 0:
        yield ()
        return
    for size in range(users, 0, -1):
        for first in sorted(trees(size, depth), reverse=True):
            if most is None or (size, first) <= most:  # type: ignore[operator]
                for rest in _forests(users - size, depth, (size, first)):
                    yield (first, *rest)


def partitions(n: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Of n users into groups who hold the same each: their sizes, decreasing."""
    if n == 0:
        yield ()
    for first in range(min(n, most or n), 0, -1):
        yield from ((first, *rest) for rest in partitions(n - first, first))


def data_of(tree: Tree, prefix: str = "") -> Data:
    own = (((prefix,), tree[0]),) if tree[0] else ()
    return own + tuple(x for i, below in enumerate(tree[1]) for x in data_of(below, prefix + "abcdefgh"[i]))


def newcomers(tree: Tree, levels: int, letters: str = "yz", prefix: str = "") -> list[str]:
    """The words that one more user may hold: on the tree, ending on it, or leaving it, by one of the letters."""
    new = [prefix + letter * i for letter in letters for i in range(1, levels - len(prefix) + 1)]
    below = [w for i, t in enumerate(tree[1]) for w in newcomers(t, levels, letters, prefix + "abcdefgh"[i])]
    return [prefix, *new, *below]


def joined(data: Data, word: str) -> Data:
    counts = dict(data)
    return tuple(sorted((counts | {(word,): counts.get((word,), 0) + 1}).items()))


def at_least(n: int, marked: int, draws: int, k: int) -> Fraction:
    """P[at least k of those drawn are marked]."""
    ways = sum(math.comb(marked, j) * math.comb(n - marked, draws - j) for j in range(k, min(marked, draws) + 1))
    return Fraction(ways, math.comb(n, draws))


@cache
def heads(n: int, p: Fraction, k: int) -> Fraction:
    """P[at least k of n coins]."""
    return sum((math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(max(k, 0), n + 1)), Fraction(0))


RATIOS = tuple(map(Fraction, ("1", "51/50", "11/10", "13/10", "2", "5", "30")))
"""Values of e**epsilon."""


def worst(users: int, batch: int, threshold: int, levels: int) -> tuple[list[Fraction], list[Fraction]]:
    """The largest delta at each of the ratios: one user more or less than so many; and, one more being there, replaced."""
    change = [Fraction(0)] * len(RATIOS)
    replace = list(change)
    whole = (math.comb(users, batch) * math.comb(users + 1, batch)) ** levels

    def counts(data: Data) -> dict[frozenset[str], int]:
        return {trie: int(p * whole) for trie, p in law(data, batch, threshold, levels).items()}

    def excess(p: dict[frozenset[str], int], q: dict[frozenset[str], int], c: Fraction) -> Fraction:
        top, bottom = c.as_integer_ratio()
        total = sum(max(0, bottom * x - top * q.get(trie, 0)) for trie, x in p.items())
        return Fraction(total, bottom * whole)

    for tree in trees(users, levels):
        data = data_of(tree)
        before = counts(data)
        # By symmetry the first of two users who leave the tree may do so by the letter z.
        laws = {w: counts(joined(data, w)) for w in dict.fromkeys(newcomers(tree, levels))}
        for i, c in enumerate(RATIOS):
            for w in dict.fromkeys(newcomers(tree, levels, "z")):
                x = laws[w]
                change[i] = max(change[i], excess(x, before, c), excess(before, x, c))
                replace[i] = max(replace[i], *(max(excess(x, y, c), excess(y, x, c)) for y in laws.values()))
    return change, replace


def contains(profile: PrivacyProfile, c: Fraction, truth: Fraction) -> bool:
    """Whether the profile's delta at log(c) encloses the truth: without any tolerance, as c is a rational."""
    with flint.ctx.workprec(128):
        epsilon = flint.arb(flint.fmpq(c.numerator, c.denominator)).log()
    below, above = max(0.0, round_down(epsilon)), max(0.0, round_up(epsilon))
    return profile.delta(above).low <= truth <= profile.delta(below).high
