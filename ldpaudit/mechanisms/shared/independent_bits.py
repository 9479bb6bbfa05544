"""Views of independent parts, exact sums of coins, and counts of shuffled messages."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import LARGEST_VIEW, Law, Mechanism, Rows
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE

_DIGITS = 62  # binary digits of a uniform number that are drawn at once
_MOST = 256  # coins that are summed by one table


def product_law(tables: Sequence[Sequence[Fraction]]) -> Law:
    """Law of a view whose parts are independent; part i is y with probability ``tables[i][y]``."""
    return Law(
        lambda view: math.prod((table[y] for table, y in zip(tables, view, strict=True)), start=Fraction(1)),
        lambda: Rows(tuple(range(len(table)) for table in tables)),
        math.prod(len(table) for table in tables),
    )


def binomial_mass(coins: int, p: Fraction, heads: int) -> Fraction:
    """Probability of a number of heads."""
    if not 0 <= heads <= coins:
        return Fraction(0)
    return math.comb(coins, heads) * p**heads * (1 - p) ** (coins - heads)


def shifted_binomials(columns: Sequence[tuple[int, int]], p: Fraction, ranges: Sequence[range]) -> Law:
    """Law of rows of counts in these ranges: of each count, from (coins, added), the heads of its coins and what is added."""

    def probability(view: tuple[int, ...]) -> Fraction:
        parts = (binomial_mass(coins, p, y - added) for y, (coins, added) in zip(view, columns, strict=True))
        return math.prod(parts, start=Fraction(1))

    return Law(probability, lambda: Rows(tuple(ranges)), math.prod(map(len, ranges)))


class MessageCounts(Mechanism):
    """A shuffled system of which a view is a row of counts of messages: the users' random blanket, and user 1's own."""

    model = "shuffled"
    relations = (REPLACE_ONE, ADD_REMOVE)

    users: int
    gamma: Fraction

    @abstractmethod
    def columns(self, x: Any) -> list[tuple[int, int]]:
        """(coins, messages) of every count of a view: its blanket is Bin(coins, gamma), the messages are the input's."""

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views, shape ``(size, counts)``; blankets are drawn as binomial counts, with gamma as a float.

        Raises Unsupported where a count has 2**63 coins or more in all.
        """
        self.require_input(x)
        columns = self.columns(x)
        if max(coins for coins, _ in columns) > LARGEST_VIEW:
            raise Unsupported(self, "2**63 coins or more cannot be drawn at a time")
        coins, messages = np.array(columns).T
        return np.asarray(rng.binomial(coins, float(self.gamma), (size, len(columns))) + messages, dtype=np.int64)


def binomial_law(n: int, p: Fraction) -> tuple[Fraction, ...]:
    """Probability of each number of heads, 0 to n, among n coins."""
    weights, whole = _weights(n, p)
    return tuple(Fraction(weight, whole) for weight in weights)


def _weights(n: int, p: Fraction) -> tuple[list[int], int]:
    head, tail = p.numerator, p.denominator - p.numerator
    return [math.comb(n, c) * head**c * tail ** (n - c) for c in range(n + 1)], p.denominator**n


def reported(
    kept: NDArray[np.bool_], reports: int, on: Fraction, off: Fraction, rng: np.random.Generator
) -> NDArray[np.unsignedinteger]:
    """How many of this many independent reports of each kept bit are 1, in the smallest unsigned type.

    ``on``, ``off``: P[report 1 | kept 1] and P[report 1 | kept 0].
    """
    if reports == 1:
        return np.where(kept, bernoulli(on, kept.shape, rng), bernoulli(off, kept.shape, rng)).view(np.uint8)
    counts = np.empty(kept.shape, dtype=np.min_scalar_type(reports))
    for shown, coin in ((kept, on), (~kept, off)):
        counts[shown] = heads(reports, coin, int(np.count_nonzero(shown)), rng)
    return counts


def heads(n: int, p: Fraction, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Exact draws, shape ``(size,)``, of how many of n coins of probability exactly `p` show heads."""
    total = np.zeros(size, dtype=np.int64)
    for start in range(0, n, _MOST):
        total += _inverted(min(_MOST, n - start), p, size, rng, _DIGITS)
    return total


def _inverted(n: int, p: Fraction, size: int, rng: np.random.Generator, digits: int) -> NDArray[np.int64]:
    """Invert the distribution function at a uniform number; draw more of that where its first digits do not tell."""
    edges, rests, whole = _edges(n, p, digits)
    drawn = rng.integers(0, 1 << digits, size)
    count: NDArray[np.int64] = np.searchsorted(edges, drawn, side="right")
    for i in np.flatnonzero((count > 0) & (edges[count - 1] == drawn)):
        below = 0
        for c in range(int(np.searchsorted(edges, drawn[i], side="left")), int(count[i])):
            if bernoulli(Fraction(rests[c] - below, whole - below), 1, rng)[0]:
                count[i] = c
                break
            below = rests[c]
    return count


@lru_cache(maxsize=32)
def _edges(n: int, p: Fraction, digits: int) -> tuple[NDArray[np.int64], tuple[int, ...], int]:
    """First digits of P[heads <= c] for c below n; what they leave over, in `whole`-ths of the last digit; `whole`."""
    weights, whole = _weights(n, p)
    parts = [divmod(total << digits, whole) for total in accumulate(weights[:-1])]
    return np.array([edge for edge, _ in parts], dtype=np.int64), tuple(rest for _, rest in parts), whole
