r"""PrivateExpanderSketch: the values that many hold, from symbols of a code that name each other in an expander graph.

Bun, Nelson, Stemmer 2018, of which Stemmer's talk says that it exists and how accurate it is. Theirs are the idea and its
parts: coordinates of an error-correcting code, hashed names, and clusters in a graph of names, in which a frequent value may
miss a constant fraction of its coordinates. The code, the graph, how clusters are found and all constants are a construction
of this project.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, count, islice
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.linear_codes.gf2 import images, independent, rank
from ldpaudit.mechanisms.shared.linear_codes.reed_solomon import POINTS, interpolated, length, symbol
from ldpaudit.mechanisms.shared.parameters import exact, integer, odds, probability
from ldpaudit.mechanisms.shared.public_questions.deviation import BETA, HALF, largest_deviation
from ldpaudit.mechanisms.shared.public_questions.questions import Asked, PartitionedSign, SplitSigns, divided
from ldpaudit.mechanisms.shared.public_questions.server_queries import Decoding, Question, Tables
from ldpaudit.profile import Number

_STEPS = (1, 5)
"""The other coordinates that a cell names: 1 and 5 further on. Of 12 coordinates, any 9 are still connected."""
_SPURIOUS = 1  # cells that nobody holds, listed at each coordinate on average
_MISSED = 0.1  # probability with which a value that just many enough hold is missing from a coordinate's list
_TRIED = 1 << 10  # values that are interpolated at a time


class _Sketched(Asked):
    """Question m asks for the m-th symbol of a value's code word, and for three names.

    Parameters
    ----------
    domain : int
        Number of values, of at least ``8 + 3 * name`` bits and at most 2**64; inputs are ``range(domain)``.
    coordinates : int
        Symbols of a code word, at least one more than a value has bytes, and at least 7; at most 255.
    name : int
        Bits of a hashed name, from 0 to 5.
    share : Fraction
        Probability that a user is asked for a coordinate, in (0, 1).
    """

    coordinates: int
    name: int
    beta: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        integer(self, "name", 0, 5)  # bits of a name at most: a table has 2**23 cells then
        if self.bits < self.rank:
            needs = f"domain > {1 << (self.rank - 1)} for names of {self.name} bits"
            raise ValueError(f"{type(self).__name__} needs {needs}, got domain={self.domain}")
        integer(self, "coordinates", max(self.needed, sum(_STEPS) + 1), POINTS)
        probability(self, "beta")

    @property
    def rank(self) -> int:
        """Bits of a cell: a symbol, its coordinate's name of the value, and the names that two other coordinates have for it."""
        return 8 + (1 + len(_STEPS)) * self.name  # a symbol is a byte

    @property
    def needed(self) -> int:
        """Coordinates at which a value must be listed to be found: one more than determine it."""
        return length(self.bits) + 1

    @property
    def questions(self) -> tuple[Question, ...]:
        """By coordinates; the lower bits of a cell are the coordinate's own name, then come the symbol and the other names."""
        return _questions(self._stream(3), self.coordinates, self.bits, self.name)

    def threshold(self, users: int) -> float:
        r"""The count from which on a cell is listed.

        .. math:: \tau = \sigma z, \qquad \sigma = c \sqrt{n M / \varphi}, \qquad P[N(0, 1) > z] = 1/C

        of C cells, of which one that nobody holds is then listed on average, if counts are taken for normal.
        """
        return self._spread(users) * -NormalDist().inv_cdf(_SPURIOUS / (1 << self.rank))

    def found_from(self, users: int) -> float:
        """The count from which on a value is listed at a coordinate with probability 9/10, if counts are taken for normal."""
        return self.threshold(users) - self._spread(users) * NormalDist().inv_cdf(_MISSED)

    def _spread(self, users: int) -> float:
        return math.sqrt(users * self.chances[0].held)

    def least_count(self, users: int) -> float:
        r"""The count from which on a value that was found is named: the error of the last question's counts.

        Of at most n values that somebody holds, and of as many as may be found, with probability at least :math:`1 - \beta/2`.
        """
        return largest_deviation(self.chances[1], users, users + self._most, self.beta / 2)

    @property
    def _most(self) -> int:
        """Values that are found at most; far more than lists of the planned length have."""
        return _TRIED * self.coordinates

    def decoding(self, users: int) -> Decoding:
        """Cells that many hold, clusters of cells that name each other, values of code words; then the last question's counts."""
        counts, least = [], self.threshold(users)
        for number in range(self.coordinates):  # a table of a million cells at a time
            counts.append(frequent((yield Tables((number,))), least))
        found = islice(self._found(Lists.linked(counts, self.name, _STEPS, self.rank)), self._most)
        return (yield from self.counted(list(found), self.least_count(users)))

    def _found(self, lists: Lists) -> Iterator[int]:
        """Values of which enough cells are listed, each once; whose cells are explained, these begin no other cluster."""
        explained: set[tuple[int, int]] = set()
        for cluster in clusters(lists, explained):
            for x in self._of_cluster(cluster, lists):
                cells = [(m, int(images(question, np.array([x]))[0])) for m, question in enumerate(self.questions)]
                if sum(m_cell in lists for m_cell in cells) >= self.needed:
                    explained.update(cells)
                    yield x
                    break

    def _of_cluster(self, cluster: dict[int, int], lists: Lists) -> Iterator[int]:
        """The values that some of a cluster's cells determine, the most frequent ones first."""
        if len(cluster) < self.needed:
            return
        chosen = combinations(sorted(cluster), self.needed - 1)
        while block := list(islice(chosen, _TRIED)):
            points = np.array(block)
            symbols = np.array([[cluster[m] >> self.name & 255 for m in each] for each in block])
            values, often = np.unique(interpolated(points, symbols), return_counts=True)
            yield from (int(x) for x in values[np.argsort(-often, kind="stable")] if x < self.domain)

    def _sized(self) -> Self:
        r"""With the least number of coordinates for which all values that `found_from` users hold are found.

        :math:`P[\mathrm{Bin}(M, 1/10) \ge M - k] \le \frac{\beta}{2} \frac{\alpha}{n}`, if counts are normal and independent.
        """
        least = max(self.needed, sum(_STEPS) + 1)
        for coordinates in range(least, POINTS + 1):
            m = replace(self, coordinates=coordinates)  # type: ignore[type-var]
            if m.missed(_MISSED) <= float(self.beta) / 2 * m.found_from(self.users) / self.users:
                break
        return m

    def missed(self, chance: float) -> float:
        """Probability that a value is missing from too many lists, if it is from each with this probability, independently."""
        M, few = self.coordinates, self.coordinates - self.needed + 1
        return math.fsum(math.comb(M, i) * chance**i * (1 - chance) ** (M - i) for i in range(few, M + 1))

    def found(self, holders: int, users: int) -> float:
        """Probability that a value of this many users is found, if counts are taken for normal and coordinates for independent."""
        return 1 - self.missed(NormalDist().cdf((self.threshold(users) - holders) / self._spread(users)))


@dataclass(frozen=True, slots=True)
class Lists:
    """The cells of each coordinate that many hold, with their counts.

    A cell's lowest `name` bits are its coordinate's own name for the values in it; its highest bits are the names that the
    coordinates `steps` further on, cyclically, have for them; `above` bits are below these.
    """

    counts: tuple[dict[int, float], ...]
    name: int
    steps: tuple[int, ...]
    above: int

    @classmethod
    def linked(cls, counts: Iterable[dict[int, float]], name: int, steps: tuple[int, ...], bits: int) -> Lists:
        """Those of each coordinate's cells, of this many bits, that are listed."""
        return cls(tuple(counts), name, steps, bits - name * len(steps))

    def __contains__(self, cell: tuple[int, int]) -> bool:
        return cell[1] in self.counts[cell[0]]

    def agreement(self, m: int, cell: int, other: int, its: int) -> int | None:
        """How many names two coordinates' cells have in common; None where they contradict each other."""
        pairs = [*self._named(m, cell, other, its), *self._named(other, its, m, cell)]
        return None if any(said != own for said, own in pairs) else len(pairs)

    def _named(self, m: int, cell: int, other: int, its: int) -> Iterator[tuple[int, int]]:
        """What a cell says the other's name is, and what it is."""
        mask = (1 << self.name) - 1
        for i, step in enumerate(self.steps):
            if (m + step) % len(self.counts) == other:
                yield cell >> (self.above + i * self.name) & mask, its & mask


def frequent(table: NDArray[np.float64], least: float) -> dict[int, float]:
    """The cells of a table that are counted so often, with their counts."""
    listed = np.flatnonzero(table >= least)
    return dict(zip(listed.tolist(), table[listed].tolist(), strict=True))


def clusters(lists: Lists, explained: set[tuple[int, int]]) -> Iterator[dict[int, int]]:
    """Grown from every listed cell that is not explained by then, the most frequent one first.

    ``lists``: what is listed; ``explained``: coordinates and cells; the caller adds to it. Yields one cell for some
    of the coordinates.
    """
    every = [(often, m, cell) for m, listed in enumerate(lists.counts) for cell, often in listed.items()]
    for _, m, cell in sorted(every, key=lambda each: (-each[0], *each[1:])):
        if (m, cell) not in explained:
            yield _grown(lists, {m: cell})


def _grown(lists: Lists, cluster: dict[int, int]) -> dict[int, int]:
    """A cluster with all that it names and that names it, one cell at a time, the surest next."""
    while (best := max(_next(lists, cluster), default=None)) is not None:
        _, _, m, cell = best
        cluster[m] = cell
    return cluster


def _next(lists: Lists, cluster: dict[int, int]) -> Iterator[tuple[float, float, int, int]]:
    """Cells that nothing contradicts and something confirms: by how much, less a half for every rival, and how often."""
    for m, listed in enumerate(lists.counts):
        if m not in cluster:
            names = {cell: [lists.agreement(m, cell, other, its) for other, its in cluster.items()] for cell in listed}
            sure = {cell: sum(each) for cell, each in names.items() if None not in each and any(each)}  # type: ignore[arg-type]
            for cell, agreed in sure.items():
                yield agreed - (len(sure) - 1) / 2, listed[cell], m, cell


@lru_cache(maxsize=16)
def _questions(seed: int, coordinates: int, bits: int, name: int) -> tuple[Question, ...]:
    """Hash functions are drawn until every question's rows are independent."""
    symbols = [symbol(m, bits) for m in range(coordinates)]
    for attempt in count():
        names = [independent(seed, (attempt * coordinates + m) << 20, name, bits) for m in range(coordinates)]
        linked = ([row for step in _STEPS for row in names[(m + step) % coordinates]] for m in range(coordinates))
        found = tuple((*names[m], *symbols[m], *others) for m, others in enumerate(linked))
        if all(rank(question) == len(question) for question in found):
            return found
    raise AssertionError  # it counts for ever


@dataclass(frozen=True, slots=True)
class ExpanderSketch(PartitionedSign, _Sketched):
    r"""One sign per user: of a public coordinate of their value's code word, or of the whole value, told with probability `p`.

    With probability `share` a user is asked for one of the coordinates, public and uniform: for the symbol there, and for the
    hashed names that this and two other coordinates have for the value, 20 bits as a rule; else for the whole value. The
    server lists the cells that many hold, joins those that name each other, interpolates, and names the values of which one
    more coordinate is listed than determine a value, with the last question's counts. A view is a row ``(i, y)``.

    Examples
    --------
    >>> m = ExpanderSketch.for_epsilon(1.0, users=10**6, domain=1 << 64)
    >>> m.coordinates, round(m.found_from(10**6))
    (14, 69214)
    """

    title = "PrivateExpanderSketch"

    users: int
    domain: int
    coordinates: int
    p: Fraction
    share: Fraction = HALF
    name: int = 4
    beta: Fraction = BETA
    seed: int = 0
    index: int = 0

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, users: int, domain: int, share: Number = HALF, name: int = 4, beta: Number = BETA, seed: int = 0
    ) -> Self:
        """The most accurate signs that are epsilon-LDP, with coordinates enough for this many users."""
        return cls(users, domain, POINTS, odds(epsilon), exact(share), name, exact(beta), seed)._sized()


@dataclass(frozen=True, slots=True)
class SplitExpanderSketch(SplitSigns, _Sketched):
    """Two signs per user: of a public coordinate of their value's code word with `p`, and of the whole value with `q`.

    As `ExpanderSketch`, but everybody answers the last question too, and epsilon is divided. A view is a row ``(i, y, y')``.

    Examples
    --------
    >>> m = SplitExpanderSketch.for_epsilon(1.0, users=10**6, domain=1 << 64)
    >>> m.coordinates, float(m.p) == float(m.q)
    (14, True)
    """

    variant = "split"
    title = "PrivateExpanderSketch, two signs a user"

    users: int
    domain: int
    coordinates: int
    p: Fraction
    q: Fraction
    name: int = 4
    beta: Fraction = BETA
    seed: int = 0
    index: int = 0

    @classmethod
    def for_epsilon(
        cls, epsilon: Number, users: int, domain: int, share: Number = HALF, name: int = 4, beta: Number = BETA, seed: int = 0
    ) -> Self:
        """The most accurate signs that are epsilon-LDP together, the coordinate's at a share of epsilon, the other at the rest."""
        return cls(users, domain, POINTS, *divided(epsilon, share), name, exact(beta), seed)._sized()
