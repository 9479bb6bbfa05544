"""Which histograms vote before the first update of HEAVYTHRESH; the two streams, and the adversary, that it hides least.

Some histograms stay silent only if enough words cancel in every row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.projections.public_columns import Projection
from ldpaudit.mechanisms.shared.voting.heavy_thresh import Histogram, extremes, sentinel_needs
from ldpaudit.mechanisms.shared.voting.thresh import Evolving
from ldpaudit.mechanisms.shared.voting.thresh_worst_pair import Play, votable_from, voters_after

_LISTED, _SIGNS = 1 << 10, 1 << 26
"""Most histograms that are listed all, and most signs that a candidate is judged by: some tenths of a second."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a user's first threshold makes of its histogram: whether certainly all exceed it, and one that does not.

    `quiet` is None where none was found, and also where no single word does.
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
    blocks = public.blocks(range(public.domain if public.domain <= 2 * public.rows.bit_length() else 0))
    agree = any((abs(block.sum(axis=1)) == public.domain).any() for block in blocks)
    return rounds if agree else rounds % 2


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


class HeavyUser(Evolving):
    """A user of HEAVYTHRESH: what the worst pair depends on. A change is that of a row sum."""

    domain: int
    rows: int
    seed: int

    @property
    def public(self) -> Projection:
        """The public matrix."""
        return Projection(self.rows, self.domain, self.seed)

    @property
    def sentinel_needs(self) -> NDArray[np.int64]:
        """For every epoch, the greatest row sum from which a user votes whose reference is -1 in every row."""
        return sentinel_needs(self.epochs, self.rounds, self.levels.step, self.rows)

    @property
    def _needs(self) -> NDArray[np.int64]:
        """For every epoch, the distance from which a user votes before the first update."""
        return self.sentinel_needs if self.start < 0 else self.changes

    @property
    def beginning(self) -> Start:
        """Which histograms vote before the first update."""
        return start_of(self.public, self.rounds, self.start, int(self._needs[0]))

    @property
    def alike(self) -> bool:
        """Whether before the first update all histograms certainly vote alike, in every epoch."""
        return bool(np.all((self._needs <= _certain(self.public, self.rounds, self.start)) | (self._needs > self.rounds)))


class _Before(NamedTuple):
    """An epoch before the first update: the votes left, epochs that told the streams apart so far, and who is loud in it."""

    left: tuple[int, int]
    spent: int
    loud: tuple[bool, bool]


class _Plan(NamedTuple):
    """The privacy loss, where the first update is in epoch `first`, and after it `voting` epochs tell the votes apart.

    `together` where every epoch is also an update: a voter then moves to a word that neither stream compares with.
    """

    loss: Fraction
    first: int
    voting: int
    left: tuple[int, int]
    together: bool


@lru_cache(maxsize=64)
def worst_pair(m: HeavyUser) -> tuple[Play, Play]:
    """Two streams of one word an epoch, but for quiet histograms at the start, and when the adversary makes updates.

    Before the first update one stream may vote while the other is quiet. Then the streams hold the two words whose columns
    differ most, and every epoch tells them apart by a vote, an estimate or both, until all of these are spent. After that
    they go on to differ where only the counters hide it.
    """
    words = _words(m.public)
    before = list(_before(m))
    plan = max(_plans(m, before, words), key=lambda plan: plan.loss)
    if m.estimates > 1 and m.epochs < min(2 * m.votes + m.estimates, _LISTED):
        loss, pair = max(_meetings(m, *words[:2]), key=lambda found: found[0], default=(0.0, None))
        if pair and loss > plan.loss * (1 + Fraction(1, 1 << 40)):
            return pair
    loud, quiet = words[0], m.beginning.quiet or words[0]
    rows: list[tuple[object, object]] = [
        tuple(loud if each else quiet for each in past.loud) for past in before[: plan.first]  # type: ignore[misc]
    ]
    rows.append((words[0], words[1]))
    updates = [0] * plan.first + [1]
    for held, update in _after(m, plan, words):
        rows.append(held)
        updates.append(update)
    first, second = zip(*rows, strict=True)
    return Play(first, tuple(updates)), Play(second, tuple(updates))


def _words(public: Projection) -> tuple[int, ...]:
    """Two words whose columns differ most, and one whose column is neither, if one of the first is."""
    first, second = public.apart()
    others = (w for w in range(min(public.domain, 16)) if public.differing(w, first) and public.differing(w, second))
    return (first, second, *list(others)[:1])


def _reach(m: HeavyUser, held: int | Histogram | None) -> int:
    """How far from the start a histogram is; where there is none that is quiet, all are as far as can be."""
    if held is None:
        return m.rounds
    return distance(m.public, m.start, ((held, m.rounds),) if isinstance(held, int) else held)


def _before(m: HeavyUser) -> Iterator[_Before]:
    """Epochs without an update: one stream votes while the other is quiet, the first until it has no vote left."""
    loud, quiet = _reach(m, m.public.apart()[0]), _reach(m, m.beginning.quiet)
    left, spent = [m.votes, m.votes], 0
    for need in m._needs.tolist():
        able = [side for side in (0, 1) if left[side]]
        alone = quiet < need <= loud
        voters = able[:1] if alone else able if need <= quiet else []
        yield _Before((left[0], left[1]), spent, (voters != [1], voters != [0]))
        for side in voters:
            left[side] -= 1
        spent += len(voters) == 1


def _plans(m: HeavyUser, before: list[_Before], words: tuple[int, ...]) -> Iterator[_Plan]:
    """For each epoch of the first update: votes and estimates apart, or if there is a third word, together."""
    needs, reach = m._needs.tolist(), [_reach(m, word) for word in words[:2]]
    votable = votable_from(m, 2 * m.rounds)
    a, b = abs(m.a), abs(m.b)
    most = m.differing_votes * a + m.estimates * b
    for first, past in enumerate(before):
        cast = [past.left[side] > 0 and needs[first] <= reach[side] for side in (0, 1)]
        left = past.left[0] - cast[0], past.left[1] - cast[1]
        epochs, told = m.epochs - first - 1, past.spent + (cast[0] != cast[1])
        votes = min(sum(left), votable[first + 1])
        fewer = min(votes, max(0, epochs + 1 - m.estimates))
        # How the epochs after the first update may be shared: those with votes, and those with estimates.
        shared = [(votes, epochs - votes), (fewer, epochs - fewer)] + ([(votes, epochs)] if len(words) > 2 else [])
        for voting, room in shared:
            loss = (told + voting) * a + min(m.estimates, 1 + room) * b
            yield _Plan(loss, first, voting, left, room + voting > epochs)
            if loss >= most:
                return


def _after(m: HeavyUser, plan: _Plan, words: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], int]]:
    """What the streams hold in each epoch after the first update, and whether it has an update."""
    references = (words[0], words[1])
    for side in voters_after(m, plan.first, plan.voting, plan.left, plan.together, 2 * m.rounds):
        if side is None:
            yield references, 1
            continue
        moved = next(w for w in words if w not in references) if plan.together else references[1 - side]
        held = (moved, references[1]) if side == 0 else (references[0], moved)
        references = held if plan.together else references
        yield held, int(plan.together)


def _meetings(m: HeavyUser, near: int, far: int) -> Iterator[tuple[float, tuple[Play, Play]]]:
    """Losses, and pairs of streams of which only one votes in the epoch of the second estimate, as far as there are votes left.

    It moves from samples of both words to one of them, and the other one holds the other word; or it moves from one word to the
    other, and the other one as far as it can without a vote. Other epochs have a vote that differs, or an estimate.
    """
    theta, needs = float(2 * m.estimate_coin - 1), m.changes.tolist()
    words: tuple[Histogram, Histogram] = ((near, m.rounds),), ((far, m.rounds),)
    for need, turned in product(sorted({need for need in needs[1:] if need <= 2 * m.rounds}), (0, 1)):
        moved, at = -(-need // 2) - turned, needs.index(need, 1)
        share: Histogram = tuple(sorted((word, n) for word, n in ((near, m.rounds - moved), (far, moved)) if n))
        first, then = ((words[0], share), words[::-1]) if turned else ((share, words[1]), words)
        cast = [int(m._needs[0]) <= _reach(m, each) for each in first]
        left, told = [m.votes - cast[0] - 1, m.votes - cast[1]], (m.votes > cast[0]) + (cast[0] != cast[1])
        held, updates = [first], [1]
        for epoch, change in enumerate(needs[1:], 1):
            now = list(then if epoch >= at else first)
            able = ((s, w) for s in (0, 1) if left[s] > 0 for w in words if 2 * (m.rounds - dict(now[s]).get(w[0][0], 0)) >= change)
            side, word = next(able, (0, None)) if epoch != at else (0, None)
            if word is not None:
                left[side], told, now[side] = left[side] - 1, told + 1, word
            held.append((now[0], now[1]))
            updates.append(int(word is None and epoch >= at))
        one, other = (Play(stream, tuple(updates)) for stream in zip(*held, strict=True))
        width = moved / m.rounds if turned else 1 - moved / m.rounds
        full = min(m.estimates, sum(updates)) - 1
        yield told * float(m.a) + log1p(2 * theta * width / (1 - theta)) + full * float(m.b), (one, other)
