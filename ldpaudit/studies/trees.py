r"""Numbers of users in ranges of values, and quantiles, from answers to public questions for ever longer prefixes of a value.

The counts of prefixes are a tree whose root is the number of users. Least squares make it consistent: every count is the sum of its
children's, and of all such trees this is the nearest one, where each square is divided by the variance of a count of its level. Two
passes do that (Hay, Rastogi, Miklau, Suciu 2010; Cormode, Kulkarni, Srivastava 2019). It is a projection on the consistent trees,
of which the true one is one: so the sum of these squares never grows, whatever was reported, and estimates stay without bias.

A range's count is then a sum of independent terms, one of each report, and *certified tails* hold of it. Of answers by signs, a
term's moments are those of all vectors and both signs, for each value that its user may have. Of hashes they are not known, but the
sums of the second and fourth powers that were seen are; how far these may be apart is Bernstein's inequality, for a small part of
alpha. The users' questions, and the vectors or functions by which they answer, are public words, which are taken for independent
and uniform ones.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Self

import numpy as np

from ldpaudit.errors import Unsupported
from ldpaudit.files.reports import Tally
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms.shared.public_questions.questions import Partitioned
from ldpaudit.mechanisms.shared.public_questions.server_queries import Counted
from ldpaudit.studies.certified_tails import Floats, reach
from ldpaudit.studies.estimation import added_up
from ldpaudit.studies.intervals import Intervals
from ldpaudit.workers.experiment import HERE, Execution

_LARGEST = 20  # bits of a value, of which all are listed
_OBSERVED = 0.03  # share of alpha that is spent on the moments
_COARSE = 0.1  # share of alpha that is spent on the cells in which a quantile is looked for


def consistent(levels: Sequence[Floats], variances: Sequence[float], root: float) -> list[Floats]:
    """The nearest tree whose counts add up to `root`, level by level; from counts of cells, and the variance of one of a level."""
    below, spread = levels[-1], variances[-1]
    own = [below]
    for level, variance in zip(levels[-2::-1], variances[-2::-1], strict=True):
        children = below.reshape(len(level), -1)
        several = spread * children.shape[1]
        spread = 1 / (1 / variance + 1 / several)
        below = spread * (level / variance + children.sum(axis=1) / several)
        own.append(below)
    found, above = list[Floats](), np.array([root])
    for level in reversed(own):
        children = level.reshape(len(above), -1)
        above = (children + ((above - children.sum(axis=1)) / children.shape[1])[:, None]).ravel()
        found.append(above)
    return found


@dataclass(frozen=True, slots=True)
class Tree:
    """What users said of prefixes of their values, and how many have values below each number."""

    mechanism: Partitioned
    told: tuple[Counted, ...]  # to each question, longer ones last
    users: int
    below: Floats  # estimates, shape (2**bits + 1,)

    @classmethod
    def of(cls, m: Mechanism, views: Views) -> Self:
        """From all reports. Raises Unsupported where they are no answers to questions for prefixes, or values are too long."""
        m = _asking_for_prefixes(m)
        told, users = m.answers(views), len(views)
        leaves = consistent([each.counts() for each in told], _variances(m, users), users)[-1]
        return cls(m, told, users, np.concatenate([[0.0], np.cumsum(leaves[:-1]), [users]]))

    @classmethod
    def of_files(cls, m: Mechanism, files: Sequence[Path], tally: Tally, execution: Execution = HERE) -> Self:
        """From files of reports, as `added_up` reads them; which is not done where there would be no tree of them."""
        _, views = added_up(_asking_for_prefixes(m), files, tally, execution)
        if views is None:
            raise ValueError("needs at least one report, got none")
        return cls.of(m, views)

    def answers(self, asked: Sequence[range | Fraction], confidence: float, simultaneous: bool = False) -> tuple[Floats, Intervals]:
        """Estimates of numbers of users in ranges, and of quantiles, with an interval of each; or intervals that hold all together.

        The quantile of a share is the first value up to which there is that share of the users. Raises ValueError for ranges of
        what are no values.
        """
        alpha = (1 - confidence) / (len(asked) if simultaneous else 1)
        found = [self._range(each, alpha) if isinstance(each, range) else self._quantile(each, alpha) for each in asked]
        estimates, low, high = np.array(found, dtype=np.float64).T
        return estimates, Intervals(low, high, "by certified tails")

    def _range(self, inside: range, alpha: float) -> tuple[float, float, float]:
        if inside.stop > self.mechanism.domain:
            raise ValueError(f"needs ranges of values below {self.mechanism.domain}, got {inside.start}:{inside.stop - 1}")
        if inside.stop == self.mechanism.domain:  # nobody holds what is beyond
            inside = range(inside.start, len(self.below) - 1)
        found, half = self.below[inside.stop] - self.below[inside.start], self._reach(inside, alpha)
        return found, *np.clip([found - half, found + half], 0, self.users)

    def _quantile(self, share: Fraction, alpha: float) -> tuple[int, int, int]:
        """A cell from a up to b has the quantile if and only if fewer users than the share are below a, and no fewer below b.

        Both are tested, of the halves of the cells that are left, bit by bit; the interval reaches from the first to the last value
        that is left in the end. Only tests of the quantile's own cells may make it miss, two at each length: all their chances
        together are `alpha`.
        """
        goal, last = float(share * self.users), self.mechanism.domain - 1
        found = min(int(np.argmax(self.below[1:] >= goal)), last)
        low, high = (next(self._left(goal, alpha, order), found) for order in (1, -1))
        return found, min(low, found), min(max(high, found), last)

    def _left(self, goal: float, alpha: float, order: int, length: int = 0, cell: int = 0) -> Iterator[int]:
        """The values within a cell that no test rejects, up or down."""
        bits = self.mechanism.bits
        width = 1 << bits - length
        part = alpha * (1 - _COARSE if length == bits else _COARSE / (bits - 1 or 1))
        ends = ((cell * width, -1), ((cell + 1) * width, 1))
        first, after = (self.below[at] + sign * self._reach(range(at), part) for at, sign in ends)
        if first < goal <= after:
            if length == bits:
                yield cell
            else:
                for child in (0, 1)[::order]:
                    yield from self._left(goal, alpha, order, length + 1, 2 * cell + child)

    def _reach(self, inside: range, alpha: float) -> float:
        """How far the estimate of a range's count is from it, except with probability `alpha`."""
        if len(inside) in (0, len(self.below) - 1):
            return 0.0
        weights, root = self._weights(inside)
        # of a term's mean, whose user is in the range, or is not; the root adds the rest of 1 or 0
        means = np.array([1 - root, -root])
        moments = self._moments(inside, weights, means, alpha)
        farthest = max(each.most(own) for each, own in zip(self.told, weights, strict=True)) + float(np.abs(means).max())
        half, found = math.inf, self.below[inside.stop] - self.below[inside.start]
        for _ in range(2):  # the moments are linear in the count, which the interval holds
            held = np.clip([found - half, found + half], 0, self.users)
            most, least, fourth = (each @ [held, self.users - held] for each in moments)
            half = float(reach(most.max(), least.min(), fourth.max(), farthest, alpha * (1 - _OBSERVED)))
        return half

    def _moments(self, inside: range, weights: Sequence[Floats], means: Floats, alpha: float) -> tuple[Floats, Floats, Floats]:
        """Most and least variance, and most fourth moment around the mean, of a term of users in the range, and of others."""
        told = [*zip(self.told, weights, strict=True)]
        laws = [law for each, own in told if (law := each.moments(own)) is not None]
        if len(laws) == len(told):
            size = len(self.below) - 1
            parts = zip(self.told, laws, strict=True)
            second, third, fourth = np.sum([float(each.share) * law.repeat(size // law.shape[1], 1) for each, law in parts], axis=0)
            among = np.isin(np.arange(size), inside)
            mean = np.where(among, means[0], means[1])
            variance, fourth = second - mean**2, fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4
            own, others = ((variance[who].max(), variance[who].min(), fourth[who].max()) for who in (among, ~among))
            most, least, largest = np.array([own, others]).T
            return most, least, largest
        squares = np.concatenate([each.added(own) for each, own in told]) ** 2
        limit, nats, users = max(each.most(own) for each, own in told) ** 2, math.log(3 / (_OBSERVED * alpha)), self.users
        # Of what is not negative the lower tail is normal.
        apart = limit**2 * nats / 2
        powers = (math.sqrt(apart) + math.sqrt(float((squares**2).sum()) + apart)) ** 2
        seen, part = float(squares.sum()), limit * nats / 3
        above, below = seen + math.sqrt(2 * nats * powers), seen - part - math.sqrt(part**2 + 2 * nats * powers)
        central = ((powers / users) ** 0.25 + np.abs(means).max()) ** 4
        return above / users - means**2, below / users - means**2, np.full(2, central)

    def _weights(self, inside: range) -> tuple[list[Floats], float]:
        r"""Of each level's counts, and of the root, in the estimate of a range's.

        With A from leaves to cells and W the inverse variances, the leaves' estimates are :math:`(A^T W A)^{-1} A^T W y`. So the
        weights of y are :math:`W A (A^T W A)^{-1} r`: W times the consistent tree of a y with :math:`A^T W y = r`, which is 0 but
        for its leaves.
        """
        variances = _variances(self.mechanism, self.users)
        levels = [np.zeros(1 << each.rank) for each in self.told]
        levels[-1][inside.start : inside.stop] = variances[-1]
        weights = [each / variance for each, variance in zip(consistent(levels, variances, 0.0), variances, strict=True)]
        return weights, float(inside.start == 0) - sum(float(each[0]) for each in weights)


def _asking_for_prefixes(m: Mechanism) -> Partitioned:
    if not isinstance(m, Partitioned) or any(each != m.whole[m.bits - len(each) :] for each in m.questions):
        raise Unsupported(m, "ranges and quantiles need reports of prefixes, one of a user, as those of prefix_extending")
    if m.bits > _LARGEST:
        raise Unsupported(m, f"ranges and quantiles need values of at most {_LARGEST} bits, got {m.bits}")
    return m


def _variances(m: Partitioned, users: int) -> list[float]:
    """Of a count that nobody holds, level by level."""
    first, last = m.chances
    return [users * float(each.absent) for each in (*(first,) * len(m.questions), last)]
