r"""How often one user votes for one change of the data, which the proof sketch of JRUW18, Theorem 4.3, says is at most twice.

On the event that all users' estimates are accurate, a user whose group has moved by D (in steps, half the distance of two
thresholds) since the last update sees a distance within D - 2 and D + 2: a step each for the estimate of now and of then. So of two
users of a group one may see a level that is two above the other's, and vote four times until the other one votes too, and there is
an update.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

ON_EDGE = Fraction(1, 8)
"""How far above an even number of steps the changes are that are tried; up to the next even number levels are the same."""
_NOISE = 2
"""Steps by which a distance may be off: one for either of its ends."""


@dataclass(frozen=True, slots=True)
class Votes:
    """One user's votes for one change, and how they come about."""

    votes: tuple[int, ...]  # the epochs, counted from 1, in which the user votes yes
    change: Fraction  # by how much the group moves, in steps
    at: int  # the epoch of the change, counted from 1

    @property
    def seen(self) -> Fraction:
        """The distance that this user sees."""
        return self.change + _NOISE

    @property
    def laggard(self) -> Fraction:
        """The distance that the user sees who votes last."""
        return self.change - _NOISE


def level(distance: Fraction, top: int) -> int:
    """The highest level j whose threshold, ``2 (j + 1)`` steps, a distance exceeds; -1 where it is only the silent one."""
    return max(-1, min(-(-distance // 2) - 2, top))


def votes_of(epochs: int, change: Fraction, at: int) -> Votes:
    """Of the user who sees the most while another one of the group sees the least; none of them votes after the update."""
    top = epochs.bit_length() - 1
    high, low = (level(change + noise, top) for noise in (_NOISE, -_NOISE))
    if high < 0:
        return Votes((), change, at)
    every = 1 << (top - high)
    last = epochs if low < 0 else min(epochs, _next(at, 1 << (top - low)))
    return Votes(tuple(range(_next(at, every), last + 1, every)), change, at)


def _next(epoch: int, period: int) -> int:
    """The first multiple of the period from an epoch on."""
    return -(-epoch // period) * period


def most_votes(epochs: int) -> Votes:
    """The most that one change can cost a user, exhaustively over changes of all sizes in all epochs.

    Examples
    --------
    >>> worst = most_votes(64)
    >>> worst.votes, float(worst.change), worst.at
    ((16, 32, 48, 64), 4.125, 1)
    """
    sizes = [2 * steps + ON_EDGE for steps in range(epochs.bit_length() + _NOISE)]
    tried = (votes_of(epochs, size, at) for size in sizes for at in range(1, epochs + 1))
    return max(tried, key=lambda each: len(each.votes))
