r"""HEAVYTHRESH: frequencies of words that evolve, updated only when enough users vote that they have changed.

Joseph, Roth, Ullman, Waggoner 2018, section 5: the votes of THRESH, on distances of projected histograms, and estimates by the
randomizer of Bassily and Smith. The paper leaves the pseudocode and the constants of section 5 to its supplement, which we do not
have. Printed are w = 20 n rows, the thresholds

.. math:: \tau_j = 2 (j+1) \sqrt{\frac{2 \ln(16wnT/\delta)}{w\ell}}, \qquad j = -1, 0, \dots, \lfloor\log T\rfloor

and the vote of THRESH, of which the noise level a and the margin are taken. Readings of ours are: that distances are the largest
over the rows; the order of an epoch (vote, estimate, new reference); that a user without budget sends a fair sign; and the noise
level of estimates, :math:`b = 2\,artanh\frac{A}{\log(T)\,s'}` with :math:`A = \sqrt{2\ln(16dT/\delta)/n}` and
:math:`s' = \tau_0 \sqrt w / 2`, which gives an estimate as much noise as THRESH's b aims at, log T steps.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import ceil, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Rows, Views
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.linear_codes.gf2 import BITS
from ldpaudit.mechanisms.shared.parameters import integer, integers, positive, probability
from ldpaudit.mechanisms.shared.voting.heavy_thresh import (
    FEWER_ROUNDS,
    Crowd,
    Histogram,
    Reference,
    Shown,
    Sizes,
    doubled_artanh,
    histogram,
    levels,
)
from ldpaudit.mechanisms.shared.voting.heavy_thresh_worst_pair import HeavyUser, worst_pair
from ldpaudit.mechanisms.shared.voting.thresh import Levels, Spending
from ldpaudit.mechanisms.shared.voting.thresh_worst_pair import Play

_LISTED = 1 << 28  # most signs that are looked at to find the different rows of the matrix: some seconds
_NOTHING = (-1, 0)  # in place of a row and a sign, where nothing is published


@dataclass(frozen=True, slots=True)
class HeavyThresh(HeavyUser):
    """HEAVYTHRESH; every user holds `rounds` words in each of `epochs` epochs.

    A view is all that one user publishes: a row of ``3 * epochs`` integers, of each epoch the vote, and the row and the sign of
    the report; these are -1 and 0 where there is no global update. An input is a `Play`: the user's histograms, one an epoch,
    each a word or pairs of words and counts, and the epochs in which the adversary, who plays the other users and the centre,
    makes a global update happen. Neighbours have the same adversary; see accountants/heavy_thresh.py. Noise levels that are not
    positive are refused: a vote would be published reversed.

    Parameters
    ----------
    epochs : int
        Number T of epochs, at least 2.
    rounds : int
        Samples an epoch, at least 1.
    domain : int
        d, the number of words, at least 2.
    start : int
        What a user compares with before the first global update, which the paper leaves open: -1 in every row, as THRESH
        initializes the global estimate, or 0.
    rows : int
        w; 0 stands for the printed ``20 * users``.
    seed : int
        Seed of the public matrix.

    Examples
    --------
    >>> m = HeavyThresh(10**5, 100, 1000, Fraction(1, 10), Fraction(1, 20), 10**5, domain=1000, start=0)
    >>> round(float(m.a), 6), round(float(m.b), 6), m.votes, m.estimates
    (0.058047, 0.020744, 1, 2)
    """

    title = "HEAVYTHRESH"

    users: int
    epochs: int
    rounds: int
    epsilon: Fraction
    delta: Fraction
    smallest: int
    domain: int
    subgroups: int = 1
    start: int = -1
    rows: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        integers(self, users=(1, 1 << 26), epochs=(2, 1 << 31), rounds=(1, 1 << 31), subgroups=1)
        integers(self, smallest=(1, self.users // self.subgroups), start=(-1, 0), seed=0)
        if not integer(self, "rows", 0, 1 << 31):
            object.__setattr__(self, "rows", 20 * self.users)
        integer(self, "domain", 2, (1 << BITS) // self.rows)
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        probability(self, "delta")
        name = type(self).__name__
        if not self.levels.estimate > 0:
            raise ValueError(f"{name} needs b > 0, got b={float(self.levels.estimate):.6g}")
        if not self.levels.vote > 0:
            raise ValueError(f"{name} needs a > 0, got a={float(self.levels.vote):.6g}: smallest must be larger")

    @property
    def sizes(self) -> Sizes:
        """What noise levels and thresholds depend on."""
        return Sizes(self.users, self.epochs, self.rounds, self.delta, self.smallest, self.subgroups, self.domain, self.rows)

    @property
    def levels(self) -> Levels:
        """The transcendental parameters; the step is that of scaled columns, whose entries are at most 1."""
        return levels(self.sizes)

    @property
    def least_a(self) -> Fraction:
        r"""Smallest noise level of votes for which the accuracy proof goes through, :math:`2\,artanh(\sqrt{2n \ln(10T/\delta)}/L)`.

        Used nowhere; two of Hoeffding's bounds at the printed margin, that no update is false, and that none is missed.
        """
        return doubled_artanh(self.sizes.vote_share, "the smallest group must be larger")

    @property
    def least_b(self) -> Fraction:
        r"""Smallest noise level of estimates with the printed error bound, :math:`2\,artanh(A/((2K+3)\,s'))`; used nowhere."""
        steps = 2 * self.epochs.bit_length() + 1
        return doubled_artanh(lambda: self.sizes.read_out() / (steps * self.sizes.step()), FEWER_ROUNDS)

    @property
    def highest_level(self) -> int:
        """The highest level whose threshold two histograms can exceed; -1 where none is, but the silent one."""
        return min(ceil(1 / self.levels.step) - 2, self.epochs.bit_length() - 1)

    @property
    def common(self) -> int:
        """1 where the first vote is certainly yes whatever the stream, else 0."""
        return int(self.votes > 0 and self.beginning.forced)

    @property
    def differing_votes(self) -> int:
        """In at most this many epochs one of two streams votes yes and the other no.

        Two histograms are at most twice the samples apart. In the first epoch both streams compare with the start, from which a
        histogram is at most as far as there are samples.
        """
        able = self.can_vote if not self.common else self.changes <= 2 * self.rounds
        return min(2 * (self.votes - self.common), int(np.count_nonzero(able[self.common :])))

    @property
    def can_vote(self) -> NDArray[np.bool_]:
        """For every epoch, whether some user who has votes left may vote yes in it."""
        able = self.changes <= 2 * self.rounds
        if self.start < 0:
            able = able | (self.sentinel_needs <= self.rounds)
        able[0] = self._needs[0] <= self.rounds
        return able

    @property
    def inputs(self) -> tuple[Play, Play]:
        """Two streams that the transcript tells apart about as well as any two, with the adversary who makes it do so."""
        return worst_pair(self)

    def require_input(self, x: Any) -> None:
        """Check that `x` is a stream of histograms and a list of updates, as long as there are epochs."""
        self._histograms(x)

    def _histograms(self, x: Any) -> list[Histogram]:
        try:
            stream, updates = x
            held = [histogram(entry, self.rounds, self.domain) for entry in stream]
            valid = len(held) == len(updates) == self.epochs and set(updates) <= {0, 1}
        except (TypeError, ValueError, OverflowError):
            valid = False
        if not valid:
            needs = f"{self.epochs} histograms of {self.rounds} of {self.domain} words, and as many updates 0 or 1"
            raise ValueError(f"{type(self).__name__} needs {needs}, got {x!r:.80}")
        return held

    def transcript(self, x: Play) -> list[Shown]:
        """What a user does in each epoch that is not random."""
        return list(self._shown(x, self.votes, self.estimates))

    def uncounted(self, x: Play) -> list[Shown]:
        """The same for a user whose counters never stop it: what is hidden by them alone."""
        return list(self._shown(x, self.epochs, self.epochs))

    def _shown(self, x: Play, votes: int, estimates: int) -> Iterator[Shown]:
        reference = Reference(self.public, self.start, self.changes, self.sentinel_needs)
        for epoch, (holds, update) in enumerate(zip(self._histograms(x), x[1], strict=True)):
            yes = votes > 0 and reference.exceeded(holds, epoch)
            votes -= yes
            if not update:
                yield Shown(yes)
                continue
            yield Shown(yes, True, holds if estimates > 0 else None)
            estimates -= 1
            reference = replace(reference, held=holds)

    def vote_chance(self, vote: bool) -> Fraction:
        """Probability that a vote is published as yes."""
        return self.bit(self.a, self.vote_coin)[vote]

    def sign_chance(self, sent: Histogram | None, row: int) -> Fraction:
        """Probability of +1 in a row of a report."""
        if sent is None:
            return Fraction(1, 2)
        total = sum(count * int(self.public.signs(row, word)) for word, count in sent)
        return (1 + Fraction(total, self.rounds) * (2 * self.estimate_coin - 1)) / 2

    def sample(self, x: Play, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
        return self.published(self.transcript(x), size, rng)

    def published(self, transcript: Sequence[Shown], size: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Views of users who do what is given."""
        views = np.empty((size, self.epochs, 3), dtype=np.int32)
        for epoch, shown in enumerate(transcript):
            views[:, epoch, 0] = bernoulli(self.vote_chance(shown.vote), size, rng)
            views[:, epoch, 1:] = self._reports(shown.sent, size, rng) if shown.publishes else _NOTHING
        return views.reshape(size, -1)

    def _reports(self, sent: Histogram | None, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Rows and signs; that of a word drawn from the histogram has the mean of the histogram's column."""
        rows = rng.integers(0, self.rows, size)
        if sent is None:
            return np.stack([rows, 2 * rng.integers(0, 2, size) - 1], axis=-1)
        words, counts = np.array(sent, dtype=np.int64).T
        drawn = words[np.searchsorted(np.cumsum(counts), rng.integers(0, self.rounds, size), side="right")]
        return self._told(rows, drawn, rng)

    def _told(self, rows: NDArray[np.int64], drawn: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        kept = 2 * bernoulli(self.estimate_coin, len(rows), rng).astype(np.int64) - 1
        return np.stack([rows, self.public.signs(rows, drawn) * kept], axis=-1)

    def law(self, x: Play) -> Law:
        """Law on votes, rows and signs: given the updates, epochs are independent."""
        shown = self.transcript(x)
        report, nothing = (range(self.rows), range(-1, 2, 2)), [range(n, n + 1) for n in _NOTHING]
        views = Rows(tuple(column for s in shown for column in (range(2), *(report if s.publishes else nothing))))

        @cache
        def chance(epoch: int, *seen: int) -> Fraction:
            return self._chance(shown[epoch], *seen)

        return Law(
            lambda view: prod((chance(t, *view[3 * t : 3 * t + 3]) for t in range(self.epochs)), start=Fraction(1)),
            lambda: views,
            prod(2 * (2 * self.rows if s.publishes else 1) for s in shown),
        )

    def _chance(self, shown: Shown, vote: int, row: int, sign: int) -> Fraction:
        """Probability of what is seen of an epoch."""
        yes = self.vote_chance(shown.vote)
        chance = yes if vote else 1 - yes
        if shown.publishes:
            plus = self.sign_chance(shown.sent, row)
            chance *= (plus if sign > 0 else 1 - plus) / self.rows
        return chance

    def aggregate(self, reports: NDArray[Any]) -> NDArray[np.float64]:
        """Estimated frequency of each word, from the rows and signs of an update."""
        rows, signs = np.asarray(reports, dtype=np.int64).T
        sums = [signs @ self.public.signs(rows, word).astype(np.int64) for word in range(self.domain)]
        return np.asarray(np.array(sums) / (len(rows) * float(2 * self.estimate_coin - 1)), dtype=np.float64)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """What the centre publishes, frequencies of all words an epoch, from one view a user: -1 before the first update."""
        seen = np.asarray(views).reshape(len(views), self.epochs, 3)
        published, current = np.empty((self.epochs, self.domain)), np.full(self.domain, -1.0)
        for epoch in range(self.epochs):
            reports = seen[seen[:, epoch, 2] != 0, epoch, 1:]
            if self.is_update(int(seen[:, epoch, 0].sum()), len(seen)) and len(reports):
                current = self.aggregate(reports)
            published[epoch] = current
        return published

    def run_and_spend(self, data: Any, rng: np.random.Generator) -> Spending:
        """As `run`, and what each user has spent: of this the centre sees nothing.

        ``data``: one array an epoch, shape (users, domain), of how often each user's samples of the epoch are each word; an array
        of all epochs, or something that makes one after the other. Raises Unsupported where there are too many rows and words
        to look at all their signs.
        """
        users, current, published = self._crowd(), np.full(self.domain, -1.0), np.empty((self.epochs, self.domain))
        for epoch, counts in enumerate(self._epochs(data)):
            votes = users.vote(counts, epoch) ^ bernoulli(self.vote_chance(False), self.users, rng)
            if self.is_update(int(np.count_nonzero(votes)), self.users):
                sends = users.update(counts)
                current = self.aggregate(self._crowd_reports(counts, rng) if sends else self._reports(None, self.users, rng))
            published[epoch] = current
        return Spending(published, users.cast, users.sent)

    def _crowd(self) -> Crowd:
        if self.rows * self.domain > _LISTED:
            raise Unsupported(self, f"a run reads every sign of the matrix, which has more than {_LISTED}")
        return Crowd(
            patterns=self.public.patterns(), needs=self.sentinel_needs, changes=self.changes, votes=self.votes,
            estimates=self.estimates, start=self.start, cast=np.zeros(self.users, dtype=np.int64),
        )

    def _crowd_reports(self, counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        rows, drawn = rng.integers(0, self.rows, self.users), rng.integers(0, self.rounds, self.users)
        return self._told(rows, (drawn[:, None] >= np.cumsum(counts, axis=1)).sum(axis=1), rng)

    def _epochs(self, data: Iterable[ArrayLike]) -> Iterator[NDArray[np.int64]]:
        """Users' histograms, an epoch after the other, checked."""
        epoch = 0
        for epoch, given in enumerate(data, 1):
            counts = np.asarray(given, dtype=np.int64)
            sound = counts.shape == (self.users, self.domain) and counts.min() >= 0 and np.all(counts.sum(axis=1) == self.rounds)
            if not sound or epoch > self.epochs:
                needs = f"counts of {self.domain} words of {self.users} users that sum to {self.rounds}"
                found = f"an array of shape {counts.shape} in epoch {epoch}"
                raise ValueError(f"{type(self).__name__}.run needs, in each of {self.epochs} epochs, {needs}, got {found}")
            yield counts
        if epoch < self.epochs:
            raise ValueError(f"{type(self).__name__}.run needs {self.epochs} epochs, got {epoch}")

    def truth(self, data: Any) -> NDArray[np.float64]:
        """The frequencies of the words in the users' samples, an epoch."""
        return np.stack([counts.mean(axis=0) / self.rounds for counts in self._epochs(data)])


@dataclass(frozen=True, slots=True)
class HeavyThreshRepaired(HeavyThresh):
    r"""HEAVYTHRESH, where a user votes, or sends an estimate, only if the counter stays within epsilon / 4.

    The conditions :math:`c^V < \varepsilon/4` and :math:`c^E < \varepsilon/4` become :math:`c^V + a \le \varepsilon/4` and
    :math:`c^E + b \le \varepsilon/4`. A variant of ours.
    """

    title = "HEAVYTHRESH, repaired"
    variant = "repaired"

    def allowance(self, level: Fraction) -> int:
        """How often a counter can grow by `level` within epsilon / 4, in `epochs` times."""
        return self.within(level)
