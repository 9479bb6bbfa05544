"""Cells of several coordinates that name each other: clusters in the graph of names, grown from the most frequent cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Lists:
    """The cells of each coordinate that many hold, with their counts.

    A cell's lowest `name` bits are its coordinate's own name for the values in it; its highest bits are the names that the
    coordinates `steps` further on, cyclically, have for them.

    Parameters
    ----------
    counts : tuple of dict
        For each coordinate, listed cells and their counts.
    name : int
        Bits of a name.
    steps : tuple of int
        Where the named coordinates stand.
    above : int
        Bits of a cell below the first name of another coordinate.
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
            sure = {cell: agreed for cell in listed if (agreed := _confirmed(lists, cluster, m, cell))}
            for cell, agreed in sure.items():
                yield agreed - (len(sure) - 1) / 2, listed[cell], m, cell


def _confirmed(lists: Lists, cluster: dict[int, int], m: int, cell: int) -> int:
    """How many names agree; 0 where one does not."""
    agreed = [lists.agreement(m, cell, other, its) for other, its in cluster.items()]
    return 0 if None in agreed else sum(each for each in agreed if each is not None)
