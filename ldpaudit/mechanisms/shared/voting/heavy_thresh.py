r"""What HEAVYTHRESH computes from its parameters, and what its users do that is not random.

Columns are scaled: a user whose histogram has ``counts`` of its l samples holds the row sums
:math:`U_j = \sum_v counts_v\, \sqrt w\,\Phi_{jv}`, integers from -l to l, and thresholds are on them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, NamedTuple, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms.shared.parameters import log2
from ldpaudit.mechanisms.shared.projections.public_columns import Projection
from ldpaudit.mechanisms.shared.voting.thresh import (
    Levels,
    Users,
    by_epoch,
    dyadic,
    log_of,
    thresholds,
    vote_margin,
    vote_noise,
)

Histogram: TypeAlias = tuple[tuple[int, int], ...]
"""Words and how many of an epoch's samples they are, by word; no count is 0."""


FEWER_ROUNDS = "rounds must be fewer, or users more"
_SUMS = 1 << 20  # row sums of users that are held at a time


@dataclass(frozen=True, slots=True)
class Sizes:
    """The integers, and the failure probability, that noise levels and thresholds are made of; see `HeavyThresh`."""

    users: int
    epochs: int
    rounds: int
    delta: Fraction
    smallest: int
    subgroups: int
    domain: int
    rows: int

    def step(self) -> flint.arb:
        r"""Half the distance of two thresholds, times the root of w: :math:`s' = \sqrt{2 \ln(16wnT/\delta)/\ell}`."""
        return (2 * log_of(16 * self.rows * self.users * self.epochs / self.delta) / self.rounds).sqrt()

    def read_out(self) -> flint.arb:
        r"""The noise of an estimate without that of its coins: :math:`A = \sqrt{2 \ln(16dT/\delta)/n}`."""
        return (2 * log_of(16 * self.domain * self.epochs / self.delta) / self.users).sqrt()

    def vote_share(self) -> flint.arb:
        r"""Share of the smallest group that votes of noise outweigh, :math:`\sqrt{2n \ln(10T/\delta)}/L`."""
        return (2 * self.users * log_of(10 * self.epochs / self.delta)).sqrt() / self.smallest

    def flatness(self) -> flint.arb:
        r"""What other words' columns add to an estimate: :math:`\sqrt{2 \ln(16dT/\delta)/w}`."""
        return (2 * log_of(16 * self.domain * self.epochs / self.delta) / self.rows).sqrt()


@lru_cache(maxsize=256)
def levels(sizes: Sizes) -> Levels:
    r"""The noise levels, thresholds and margin; that of the estimates is a reading: :math:`b = 2\,artanh(A/(\log(T)\,s'))`."""
    n, t, d = sizes.users, sizes.epochs, sizes.delta
    vote = vote_noise(n, t, d, sizes.smallest, sizes.subgroups)
    estimate = doubled_artanh(lambda: sizes.read_out() / (log2(t) * sizes.step()), FEWER_ROUNDS)
    return Levels(vote, estimate, dyadic(sizes.step), vote_margin(n, t, d))


def doubled_artanh(share: Callable[[], flint.arb], remedy: str) -> Fraction:
    """``2 artanh(share)``, rounded up; that of a share from 1 on is no noise level."""
    with working_precision(128):
        if not (found := share()) < 1:
            raise ValueError(f"HeavyThresh needs finite noise levels, got artanh({float(found):.6g}): {remedy}")
    return dyadic(lambda: 2 * share().atanh())


def sentinel_needs(epochs: int, rounds: int, step: Fraction, rows: int) -> NDArray[np.int64]:
    r"""For every epoch, from which greatest row sum on a user votes yes whose reference is -1 in every row.

    That is :math:`-\ell\sqrt w` in scaled columns: irrational, so that it is compared in squares.
    """
    needs = []
    for threshold in thresholds(epochs, rounds, step):
        square = rows * (rounds * threshold.denominator) ** 2
        root = isqrt(square)
        needs.append((threshold.numerator - root - (root * root < square)) // threshold.denominator + 1)
    return by_epoch(epochs, needs)


def histogram(entry: object, rounds: int, domain: int) -> Histogram:
    """What a user holds in an epoch: one word throughout, or pairs of words and counts that sum to `rounds`.

    Raises ValueError where it is neither.
    """
    if isinstance(entry, int | np.integer):
        pairs: tuple[tuple[int, int], ...] = ((int(entry), rounds),)
    else:
        pairs = tuple(sorted((int(word), int(count)) for word, count in entry))  # type: ignore[attr-defined]
    words = [word for word, _ in pairs]
    if sum(count for _, count in pairs) != rounds or len(set(words)) < len(words):
        raise ValueError("counts must sum to the number of rounds, with each word once")
    if min(words) < 0 or max(words) >= domain or min(count for _, count in pairs) <= 0:
        raise ValueError("a word or a count is out of range")
    return pairs


class Shown(NamedTuple):
    """What a user does in an epoch: the vote, whether it publishes a report, and of what; None where nothing is left to spend."""

    vote: bool
    publishes: bool = False
    sent: Histogram | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """What a user compares with: the histogram of the last update, or before the first, 0 or -1 in every row."""

    public: Projection
    start: int
    changes: NDArray[np.int64]
    sentinel: NDArray[np.int64]
    held: Histogram | None = None

    def exceeded(self, holds: Histogram, epoch: int) -> bool:
        """Whether the distance of what a user holds is above the least threshold that votes in an epoch, counted from 0."""
        if self.held is None and self.start < 0:
            return extremes(self.public, holds)[1] >= int(self.sentinel[epoch])
        low, high = extremes(self.public, difference(holds, self.held or ()))
        return max(-low, high) >= int(self.changes[epoch])


def difference(one: Iterable[tuple[int, int]], other: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Counts of one histogram less those of another, where they differ."""
    left: Counter[int] = Counter(dict(one))
    left.subtract(dict(other))
    return tuple(sorted((word, count) for word, count in left.items() if count))


@lru_cache(maxsize=4096)
def extremes(public: Projection, weights: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """Least and greatest row of the words' columns, weighted; a few are asked for again and again."""
    by: Mapping[int, int] = dict(weights)
    return public.range_of(by)


@dataclass(slots=True, kw_only=True)
class Crowd(Users):
    """Many users at once; histograms are the rows of an array ``(users, domain)``.

    The largest of all row sums is found among the different rows only, and where all signs occur, it is a sum of absolute values.
    """

    patterns: NDArray[np.int8]
    needs: NDArray[np.int64]
    start: int

    def _exceeded(self, counts: NDArray[np.int64], epoch: int) -> NDArray[np.bool_]:
        """Whose histogram is so far from the reference that they vote, as far as they may."""
        if self.reference is None and self.start < 0:
            if (need := int(self.needs[epoch])) <= -int(counts[0].sum()):  # no row sum is below
                return np.ones(len(counts), dtype=np.bool_)
            return self._largest(counts, np.positive) >= need
        moved = counts if self.reference is None else counts - self.reference
        return self._largest(moved, np.abs) >= int(self.changes[epoch])

    def _largest(self, counts: NDArray[np.int64], size: Callable[..., NDArray[Any]]) -> NDArray[np.float64]:
        """Largest row sum, or largest size of one, of each user."""
        if len(self.patterns) == 1 << self.patterns.shape[1]:
            return np.asarray(np.abs(counts).sum(axis=1), dtype=np.float64)
        found, by = np.empty(len(counts)), self.patterns.T.astype(np.float64)
        for first in range(0, len(counts), step := max(1, _SUMS // len(self.patterns))):
            found[first : first + step] = size(counts[first : first + step].astype(np.float64) @ by).max(axis=1)
        return found
