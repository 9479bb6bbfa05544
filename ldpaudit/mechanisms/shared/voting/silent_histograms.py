"""Which histograms vote before the first update of HEAVYTHRESH: some stay silent only if enough words cancel in every row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from ldpaudit.mechanisms.shared.projections.public_columns import Projection
from ldpaudit.mechanisms.shared.voting.heavy_thresh import Histogram, extremes

_LISTED, _SIGNS = 1 << 10, 1 << 26
"""Most histograms that are listed all, and most signs that a candidate is judged by: some tenths of a second."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a user's first threshold makes of its histogram.

    Parameters
    ----------
    forced : bool
        Whether certainly all histograms exceed it.
    quiet : Histogram or None
        One that does not, where one was found; None also where no single word does.
    """

    forced: bool
    quiet: Histogram | None = None


def distance(public: Projection, start: int, held: Histogram) -> int:
    """What of a histogram is compared with the thresholds: its greatest row sum, or for a start at 0 the largest in size."""
    low, high = extremes(public, held)
    return high if start < 0 else max(-low, high)


@lru_cache(maxsize=256)
def start_of(public: Projection, rounds: int, start: int, need: int) -> Start:
    """Whether all histograms are at least `need` from the start, the first epoch's and so the highest threshold."""
    if need <= _certain(public, rounds, start):
        return Start(forced=True)
    if need > rounds:
        return Start(forced=False)
    whole = _are_few(rounds, public.domain, min(_LISTED, _SIGNS // public.rows))
    held = _all(public.domain, rounds) if whole else _few(public, rounds)
    quiet = min(held, key=lambda each: distance(public, start, each), default=None)
    if quiet is None or distance(public, start, quiet) >= need:
        return Start(forced=whole)
    return Start(forced=False, quiet=quiet)


def _are_few(rounds: int, domain: int, most: int) -> bool:
    """Whether there are at most this many histograms, ``comb(rounds + domain - 1, domain - 1)``: it may have millions of digits."""
    found, fewer = 1, min(rounds, domain - 1)
    for chosen in range(1, fewer + 1):
        found = found * (rounds + domain - 1 - fewer + chosen) // chosen
        if found > most:
            return False
    return found <= most


def _certain(public: Projection, rounds: int, start: int) -> int:
    """A distance that every histogram has: all of it where all words agree in a row; sums of odd numbers are not 0."""
    if start < 0:
        return -rounds
    agree = public.domain <= 2 * public.rows.bit_length() and _some_row_agrees(public)
    return rounds if agree else rounds % 2


def _some_row_agrees(public: Projection) -> bool:
    return any(bool((abs(block.sum(axis=1)) == public.domain).any()) for block in public.blocks(range(public.domain)))


def _all(domain: int, rounds: int) -> Iterator[Histogram]:
    """Every histogram."""
    for bars in combinations(range(rounds + domain - 1), domain - 1):
        ends = (-1, *bars, rounds + domain - 1)
        yield tuple((word, ends[word + 1] - ends[word] - 1) for word in range(domain) if ends[word + 1] - ends[word] > 1)


def _few(public: Projection, rounds: int) -> Iterator[Histogram]:
    """The two most different words, half of the samples each; and as many words as can be judged, about equally often."""
    first, second = public.apart()
    yield _equal(sorted((first, second)), rounds)
    number = 4
    while number <= min(public.domain, rounds) and number * public.rows <= _SIGNS:
        yield _equal(list(range(number)), rounds)
        number *= 2


def _equal(words: list[int], rounds: int) -> Histogram:
    each, more = divmod(rounds, len(words))
    counts = ((word, each + (place < more)) for place, word in enumerate(words))
    return tuple((word, count) for word, count in counts if count)
