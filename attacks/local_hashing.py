"""The attack on local hashing."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.shared.odds import by_support, log_probability, log_ratio, loss_of
from ldpaudit.mechanisms.local_hashing import LocalHashing
from ldpaudit.mechanisms.loloha import Loloha, LolohaStream
from ldpaudit.mechanisms.memoized_bit import Stream
from ldpaudit.neighbours import REPLACE_ONE, SAME_PATTERN, Neighbours


def attack(m: LocalHashing | Loloha | LolohaStream, neighbours: Neighbours = REPLACE_ONE) -> Attack:
    """Any two values; a view speaks for the value whose hash alone it names, several reports for the one named more often.

    Of streams, those two of which some transcript tells most: of one value throughout, or of two in turn.
    """
    if isinstance(m, LocalHashing):
        return by_support((0, m.domain - 1), loss_of(m.p / m.lie), m.supports, "{y = h(x) != h(x')}")
    if isinstance(m, Loloha):
        ends = (0, m.domain - 1)
        return Attack(ends, lambda views: _told(m, [(x,) for x in ends], np.asarray(views)), "{all reports are h(x) != h(x')}")
    # Two streams of one value, or two that exchange their values, repeat hash values alike whatever the function.
    client, streams = m.client, [tuple((start + step * t) % 2 for t in range(m.epochs)) for step in (0, 1) for start in (0, 1)]
    pairs = [(streams[0], streams[1]), (streams[2], streams[3])] if neighbours == SAME_PATTERN else list(permutations(streams, 2))
    reports = np.array([(1, 0, *x) for x in streams])  # by a function that tells the values apart
    pair = max(pairs, key=lambda each: float(_told(client, each, reports).max()))
    return Attack(pair, lambda views: _told(client, pair, np.asarray(views)), "{the transcript that tells most between them}")


def _told(m: Loloha, pair: Sequence[Stream], views: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log-likelihood ratio of two streams, or of two values that all reports are of."""
    here, there = (_log_likelihood(m, x, views) for x in pair)
    # Sums of equal losses in another order must compare equal.
    return np.asarray(np.round(here - there, 9), dtype=np.float64)


def _log_likelihood(m: Loloha, x: Stream, views: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of each hash value that a stream comes to, by how many reports name which."""
    kept, u, total = m.lifetime(), log_ratio(m.p2 * (m.g - 1), 1 - m.p2), np.zeros(len(views))
    values = list(dict.fromkeys(x))
    a, b, reports = views[:, :1], views[:, 1:2], views[:, 2:]
    hashes, own = kept.hash(a, b, np.array(x)), kept.hash(a, b, np.array(values))
    for place in range(len(values)):
        mine = own[:, place : place + 1]
        likely = u * np.stack([np.count_nonzero((hashes == mine) & (reports == y), axis=1) for y in range(m.g)], axis=1)
        rest = log_probability(kept.lie) + np.logaddexp.reduce(likely, axis=1)
        told = np.logaddexp(rest, log_probability(kept.p - kept.lie) + np.take_along_axis(likely, mine, axis=1)[:, 0])
        total += np.where((own[:, :place] == mine).any(axis=1), 0.0, told)  # of values that are hashed alike, once
    return total
