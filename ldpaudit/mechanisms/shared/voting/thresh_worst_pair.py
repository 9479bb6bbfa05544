"""The two streams, and the adversary, that THRESH hides least."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import chain, cycle, groupby
from typing import Any, NamedTuple

import numpy as np

from ldpaudit.mechanisms.shared.voting.thresh import Evolving

BAIT = 2  # votes that the two streams want to cast after their last: only the counter holds them back


class Play(NamedTuple):
    """What a user holds and the adversary's global updates (1 or 0), one each an epoch.

    THRESH's users hold counts of ones, HEAVYTHRESH's words or histograms.
    """

    stream: tuple[Any, ...]
    updates: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Play(stream={_runs(self.stream)}, updates={_runs(self.updates)})"


def _runs(values: Iterable[Any]) -> str:
    """Run lengths: a thousand epochs on a line."""
    return "[" + " ".join(f"{value} x{len(list(group))}" for value, group in groupby(values)) + "]"


class _Start(NamedTuple):
    """An epoch before any update: who alone votes yes in it, and what votes the two streams then have left."""

    voter: int | None
    left: tuple[int, int]


class _Plan(NamedTuple):
    """The privacy loss, where the first update is in epoch `first` and after it `voting` epochs are used for votes.

    `overlap` where the second stream's votes come with estimates: the first, who has no vote left, changes unnoticed.
    """

    loss: Fraction
    first: int
    voting: int
    overlap: bool


@lru_cache(maxsize=64)
def worst_pair(m: Evolving) -> tuple[Play, Play]:
    r"""Two streams of epochs of only ones and only zeros, and when the adversary makes updates.

    An epoch tells the two apart by a vote (one stream changes, the other does not) or by an estimate (one holds ones,
    the other zeros). After the first update, which sets the streams' references apart, every epoch is used for one of
    the two, or both, until all votes and estimates are spent. Then the streams go on to differ where only the counters
    hide it.
    """
    starts = list(_starts(m))
    plan = max(_plans(m, starts), key=lambda plan: plan.loss)
    rows = [tuple(m.rounds * (voter == side) for side in (0, 1)) for voter, _ in starts[: plan.first + 1]]
    if starts[plan.first].voter is None:
        rows[-1] = (m.rounds, 0)
    references, updates = rows[-1], [0] * plan.first + [1]
    for voter in voters_after(m, plan.first, plan.voting, starts[plan.first].left, plan.overlap, m.rounds):
        both = plan.overlap and voter == 1
        rows.append(tuple(m.rounds - c if both or voter == side else c for side, c in enumerate(references)))
        updates.append(int(both or voter is None))
        references = rows[-1] if updates[-1] else references
    first, second = zip(*rows, strict=True)
    return Play(first, tuple(updates)), Play(second, tuple(updates))


def _starts(m: Evolving) -> Iterator[_Start]:
    near, far = -m.start * m.rounds, (1 - m.start) * m.rounds
    left = [m.votes, m.votes]
    for needed in m.changes.tolist():
        able = [side for side in (0, 1) if left[side]]
        # Zeros are near the start, ones far: where the near vote too, only one that has no vote left does not.
        voters = able if needed <= near else able[:1] if needed <= far else []
        for side in voters:
            left[side] -= 1
        yield _Start(voters[0] if len(voters) == 1 else None, (left[0], left[1]))


def _plans(m: Evolving, starts: list[_Start]) -> Iterator[_Plan]:
    """For each epoch of the first update: votes before estimates, estimates before votes, or overlap."""
    votable = votable_from(m, m.rounds)
    a, b, spent = abs(m.a), abs(m.b), 0
    most = m.differing_votes * a + m.estimates * b
    for first, start in enumerate(starts):
        spent += start.voter is not None
        epochs = m.epochs - first - 1
        votes = min(sum(start.left), votable[first + 1])
        without = [(voting, voting) for voting in (votes, min(votes, max(0, epochs + 1 - m.estimates)))]
        within = [(votes, start.left[0])] if start.left[0] <= votes else []
        for voting, silent in without + within:
            loss = (spent + voting) * a + min(m.estimates, epochs + 1 - silent) * b
            yield _Plan(loss, first, voting, silent < voting)
            if loss >= most:
                return


def votable_from(m: Evolving, reach: int) -> list[int]:
    """In how many epochs from each one on a change of this size is a vote."""
    found: list[int] = np.append(np.cumsum((m.changes <= reach)[::-1])[::-1], 0).tolist()
    return found


def voters_after(m: Evolving, first: int, voting: int, left: tuple[int, int], overlap: bool, reach: int) -> Iterator[int | None]:
    """Who votes, by a change of size `reach`, in each epoch after the first update; None where there is nothing but another update.

    `left` are the streams' votes; `overlap` where votes come with estimates, so that no epoch is left for baits.
    """
    epochs = range(first + 1, m.epochs)
    spare = 0 if overlap else max(0, len(epochs) - voting - max(0, m.estimates - 1))
    votable = [epoch for epoch in epochs if m.changes[epoch] <= reach]
    used = set(votable[: voting + min(BAIT, spare)])
    voters = chain([0] * left[0], [1] * left[1], cycle([0, 1]))
    return (next(voters) if epoch in used else None for epoch in epochs)
