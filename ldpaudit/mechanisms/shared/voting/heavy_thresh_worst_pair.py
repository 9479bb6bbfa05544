"""The two streams, and the adversary, that HEAVYTHRESH hides least."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import chain, cycle
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanisms.shared.projections.public_columns import Projection
from ldpaudit.mechanisms.shared.voting.heavy_thresh import Histogram
from ldpaudit.mechanisms.shared.voting.silent_histograms import Start, distance
from ldpaudit.mechanisms.shared.voting.thresh_worst_pair import BAIT, CountedUser, Play


class HeavyUser(CountedUser, Protocol):
    """What the worst pair depends on; see `HeavyThresh`, which has it all. A change is that of a row sum."""

    @property
    def public(self) -> Projection:
        """The public matrix."""

    @property
    def sentinel_needs(self) -> NDArray[np.int64]:
        """For every epoch, what `changes` are for a first reference of -1, as the greatest row sum."""

    @property
    def beginning(self) -> Start:
        """Which histograms vote before the first update."""


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


def _needs(m: HeavyUser) -> NDArray[np.int64]:
    return m.sentinel_needs if m.start < 0 else m.changes


def _reach(m: HeavyUser, held: int | Histogram | None) -> int:
    """How far from the start a histogram is; where there is none that is quiet, all are as far as can be."""
    if held is None:
        return m.rounds
    return distance(m.public, m.start, ((held, m.rounds),) if isinstance(held, int) else held)


def _before(m: HeavyUser) -> Iterator[_Before]:
    """Epochs without an update: one stream votes while the other is quiet, the first until it has no vote left."""
    loud, quiet = _reach(m, m.public.apart()[0]), _reach(m, m.beginning.quiet)
    left, spent = [m.votes, m.votes], 0
    for need in _needs(m).tolist():
        able = [side for side in (0, 1) if left[side]]
        alone = quiet < need <= loud
        voters = able[:1] if alone else able if need <= quiet else []
        yield _Before((left[0], left[1]), spent, (not alone or voters == [0], not alone or voters == [1]))
        for side in voters:
            left[side] -= 1
        spent += len(voters) == 1


def _plans(m: HeavyUser, before: list[_Before], words: tuple[int, ...]) -> Iterator[_Plan]:
    """For each epoch of the first update: votes and estimates apart, or if there is a third word, together."""
    needs, reach = _needs(m).tolist(), [_reach(m, word) for word in words[:2]]
    votable = np.append(np.cumsum((m.changes <= 2 * m.rounds)[::-1])[::-1], 0).tolist()
    a, b = abs(m.a), abs(m.b)
    most = m.differing_votes * a + m.estimates * b
    for first, past in enumerate(before):
        cast = [past.left[side] > 0 and needs[first] <= reach[side] for side in (0, 1)]
        left = past.left[0] - cast[0], past.left[1] - cast[1]
        epochs, told = m.epochs - first - 1, past.spent + (cast[0] != cast[1])
        votes = min(sum(left), votable[first + 1])
        for voting, room in _shared(m, votes, epochs, len(words) > 2):
            loss = (told + voting) * a + min(m.estimates, 1 + room) * b
            yield _Plan(loss, first, voting, left, room + voting > epochs)
            if loss >= most:
                return


def _shared(m: HeavyUser, votes: int, epochs: int, third: bool) -> list[tuple[int, int]]:
    """How the epochs after the first update may be shared: those with votes, and those with estimates."""
    fewer = min(votes, max(0, epochs + 1 - m.estimates))
    return [(votes, epochs - votes), (fewer, epochs - fewer)] + ([(votes, epochs)] if third else [])


def _after(m: HeavyUser, plan: _Plan, words: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], int]]:
    """What the streams hold in each epoch after the first update, and whether it has an update."""
    epochs = range(plan.first + 1, m.epochs)
    spare = 0 if plan.together else max(0, len(epochs) - plan.voting - max(0, m.estimates - 1))
    votable = [epoch for epoch in epochs if m.changes[epoch] <= 2 * m.rounds]
    used = set(votable[: plan.voting + min(BAIT, spare)])
    voters = chain([0] * plan.left[0], [1] * plan.left[1], cycle([0, 1]))
    references = (words[0], words[1])
    for epoch in epochs:
        if epoch not in used:
            yield references, 1
            continue
        side = next(voters)
        moved = next(w for w in words if w not in references) if plan.together else references[1 - side]
        held = (moved, references[1]) if side == 0 else (references[0], moved)
        references = held if plan.together else references
        yield held, int(plan.together)
