r"""THRESH: a mean that evolves, updated only when enough users vote that it has changed.

Joseph, Roth, Ullman, Waggoner 2018, "Local differential privacy for evolving data", Algorithms 1 to 3. As printed, with
:math:`\log` to base 2:

.. math:: a = \frac{4 \sqrt{2 n \ln(12 m T/\delta)}}{L - \frac{3}{\sqrt 2} \sqrt{n \ln(12 m T/\delta)}}, \quad
          b = \frac{\sqrt{2 \ln(12T/\delta)/2n}}
                   {\log(T) \sqrt{\ln(12nT/\delta)/2\ell} - \sqrt{\ln(12T/\delta)/2n}}, \quad
          \tau_j = 2 (j+1) \sqrt{\ln(12nT/\delta)/2\ell}
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.mechanism import Law, Views
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.independent_bits import product_law
from ldpaudit.mechanisms.shared.parameters import integers, positive, probability
from ldpaudit.mechanisms.shared.voting.thresh import Evolving, Levels, Spending, Users, levels
from ldpaudit.mechanisms.shared.voting.thresh_groups import Counts, Group, ones_of
from ldpaudit.mechanisms.shared.voting.thresh_worst_pair import Play, worst_pair

_BLOCK = 16  # epochs of users' data that are made contiguous at a time


@dataclass(frozen=True, slots=True)
class Thresh(Evolving):
    """THRESH as printed; every user holds `rounds` bits in each of `epochs` epochs.

    A view is all that one user publishes: a row of ``2 * epochs`` bits, vote and estimate of the first epoch, of the
    second, and so on. An input is a `Play`: the user's counts of ones, one an epoch, and the epochs in which the
    adversary, who plays the other users and the centre, makes a global update happen. Neighbours have the same
    adversary. An adversary who decides as votes come in gains nothing; see accountants/thresh.py.

    Noise levels are computed to 128 bits, and the counters add them exactly. As printed they may be negative, and then
    the counters never stop a user: only `ThreshRepaired` refuses.

    Parameters
    ----------
    epochs : int
        Number T of epochs, at least 1.
    rounds : int
        Rounds per epoch, at least 1.
    start : int
        What a user compares with before the first global update, which the paper leaves open: -1, as it initializes
        the global estimate, or 0.

    Examples
    --------
    >>> m = Thresh(users=10_000, epochs=64, rounds=2_000, epsilon=Fraction(1), delta=Fraction(1, 20), smallest=10_000)
    >>> round(float(m.a), 4), round(float(m.b), 4), m.votes, m.estimates
    (0.188, 0.0796, 2, 4)
    """

    title = "THRESH"

    users: int
    epochs: int
    rounds: int
    epsilon: Fraction
    delta: Fraction
    smallest: int
    subgroups: int = 1
    start: int = -1

    def __post_init__(self) -> None:
        integers(self, users=1, epochs=1, rounds=1, subgroups=1)
        integers(self, smallest=(1, self.users // self.subgroups), start=(-1, 0))
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        probability(self, "delta")
        levels(*self._printed)

    @property
    def _printed(self) -> tuple[int, int, int, Fraction, int, int]:
        return self.users, self.epochs, self.rounds, self.delta, self.smallest, self.subgroups

    @property
    def levels(self) -> Levels:
        """The transcendental parameters."""
        return levels(*self._printed)

    @property
    def common(self) -> int:
        """1 where the first vote is yes whatever the stream, else 0."""
        return int(self.votes > 0 and self.changes[0] <= -self.start * self.rounds)

    @property
    def differing_votes(self) -> int:
        """In at most this many epochs one of two streams votes yes and the other no."""
        possible = int(np.count_nonzero(self.changes <= (1 - self.start) * self.rounds)) - self.common
        return min(2 * (self.votes - self.common), possible)

    @property
    def inputs(self) -> tuple[Play, Play]:
        """Two streams that the transcript tells apart as well as any two, with the adversary who makes it do so."""
        return worst_pair(self)

    def require_input(self, x: Any) -> None:
        """Check that `x` is a stream of counts and a list of updates, as long as there are epochs."""
        try:
            stream, updates = (np.asarray(part, dtype=np.int64) for part in x)
            shapes = stream.shape == updates.shape == (self.epochs,)
            valid = shapes and stream.min() >= 0 and stream.max() <= self.rounds and set(updates.tolist()) <= {0, 1}
        except (TypeError, ValueError, OverflowError):
            valid = False
        if not valid:
            needs = f"{self.epochs} counts from 0 to {self.rounds} and as many updates 0 or 1"
            raise ValueError(f"{type(self).__name__} needs {needs}, got {x!r:.80}")

    def chances(self, x: Play) -> list[Fraction]:
        """Probability of a 1 in each place of the view, given which epochs have a global update."""
        return list(self._chances(x, self._users(1, self.votes, self.estimates)))

    def uncounted(self, x: Play) -> list[Fraction]:
        """The same for a user whose counters never stop the user: what is hidden by them alone."""
        return list(self._chances(x, self._users(1, self.epochs, self.epochs)))

    def _users(self, number: int, votes: int, estimates: int) -> Users:
        cast, start = np.zeros(number, dtype=np.int64), np.full(number, self.start * self.rounds, dtype=np.int64)
        return Users(changes=self.changes, votes=votes, estimates=estimates, cast=cast, reference=start)

    def _chances(self, x: Play, user: Users) -> Iterator[Fraction]:
        self.require_input(x)
        no, yes = self.bit(self.a, self.vote_coin)
        low, high = self.bit(self.b, self.estimate_coin)
        for epoch, (count, update) in enumerate(zip(*x, strict=True)):
            counts = np.array([count], dtype=np.int64)
            yield yes if user.vote(counts, epoch)[0] else no
            sends = update and user.update(counts)
            yield low + (high - low) * Fraction(int(count), self.rounds) if sends else low

    def sample(self, x: Play, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
        views = np.empty((size, 2 * self.epochs), dtype=np.int8)
        for place, p in enumerate(self.chances(x)):
            views[:, place] = bernoulli(p, size, rng)
        return views

    def law(self, x: Play) -> Law:
        """Law on ``{0, 1}**(2 * epochs)``: given the updates, the bits are independent."""
        return product_law([(1 - p, p) for p in self.chances(x)])

    def aggregate(self, ones: float, users: int) -> float:
        """The global estimate from `ones` published ones of `users` users."""
        low, high = self.bit(self.b, self.estimate_coin)
        return (ones / users - float(low)) / float(high - low)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """What the centre publishes, an estimate an epoch, from one view a user: -1 before the first update.

        Not unbiased, as estimates are kept until they are old: Theorem 4.3 says how far off they are.
        """
        ones = np.sum(np.asarray(views), axis=0, dtype=np.int64)
        published, current = np.empty(self.epochs), -1.0
        for epoch, (votes, estimates) in enumerate(ones.reshape(-1, 2).tolist()):
            if self.is_update(votes, len(views)):
                current = self.aggregate(estimates, len(views))
            published[epoch] = current
        return published

    def run_and_spend(self, data: ArrayLike, rng: np.random.Generator) -> Spending:
        """As `run`, and what each user has spent: of this the centre sees nothing.

        ``data``, shape (users, epochs) or (users, epochs, rounds): each user's number of ones in each epoch, or the bits.
        """
        counts = self._counts(data)
        users = self._users(self.users, self.votes, self.estimates)
        published, current = np.empty(self.epochs), -1.0
        for start in range(0, self.epochs, _BLOCK):
            block = np.ascontiguousarray(counts[:, start : start + _BLOCK].T)
            for epoch, column in enumerate(block.astype(np.int64), start):
                votes = self._flipped(users.vote(column, epoch), self.a, self.vote_coin, rng)
                # Without an update, what users publish in place of an estimate is noise that nobody looks at.
                if self.is_update(votes, self.users):
                    bits = np.zeros(self.users, dtype=np.bool_)
                    if users.update(column):
                        bits = rng.integers(0, self.rounds, self.users) < column
                    current = self.aggregate(self._flipped(bits, self.b, self.estimate_coin, rng), self.users)
                published[epoch] = current
        return Spending(published, users.cast, users.sent)

    def run_on_means(self, means: NDArray[np.float64], shares: Sequence[float], rng: np.random.Generator) -> NDArray[np.float64]:
        """As `run` of users who draw their bits from the mean of their group, and of the same law, at the cost of a few users.

        Probabilities are floats, off by some 1e-12. ``means``, in [0, 1], has shape ``(epochs, groups)``; ``shares`` are the
        groups' shares of the users.
        """
        sizes = np.diff(np.rint(np.cumsum(shares) * self.users).astype(np.int64), prepend=0).tolist()
        groups = [Group.fresh(size, self.start * self.rounds, self.votes) for size in sizes]
        published, current, sent = np.empty(self.epochs), -1.0, 0
        for epoch, row in enumerate(means):
            laws, change = [Counts.of(self.rounds, float(mean)) for mean in row], int(self.changes[epoch])
            yes = sum(group.vote(law, change, rng) for group, law in zip(groups, laws, strict=True))
            if self.is_update(self._shown(yes, self.a, self.vote_coin, rng), self.users):
                drawn = [group.update(law, change, rng) for group, law in zip(groups, laws, strict=True)]
                ones = [ones_of(law, self.rounds, each, rng) for law, each in zip(laws, drawn, strict=True)]
                held = sum(ones) if sent < self.estimates else 0
                current, sent = self.aggregate(self._shown(held, self.b, self.estimate_coin, rng), self.users), sent + 1
            else:
                for group in groups:
                    group.settle()
            published[epoch] = current
        return published

    def _shown(self, ones: int, level: Fraction, coin: Fraction, rng: np.random.Generator) -> int:
        """How many ones all users publish, `ones` of whom hold a one, randomized at a noise level."""
        low, high = (float(chance) for chance in self.bit(level, coin))
        return int(rng.binomial(ones, high) + rng.binomial(self.users - ones, low))

    def _flipped(self, bits: NDArray[np.bool_], level: Fraction, coin: Fraction, rng: np.random.Generator) -> int:
        """How many ones are published for bits that are randomized at a noise level."""
        return int(np.count_nonzero(bits ^ bernoulli(self.bit(level, coin)[0], len(bits), rng)))

    def _counts(self, data: ArrayLike) -> NDArray[Any]:
        counts = np.asarray(data)
        if counts.ndim == 3 and counts.shape[2] == self.rounds:
            counts = counts.sum(axis=2, dtype=np.int64)
        if counts.shape != (self.users, self.epochs) or counts.min() < 0 or counts.max() > self.rounds:
            needs = f"counts from 0 to {self.rounds} of {self.users} users in {self.epochs} epochs"
            raise ValueError(f"{type(self).__name__}.run needs {needs}, got an array of shape {counts.shape}")
        return counts

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """The mean of the users' bits, an epoch."""
        return np.asarray(self._counts(data).mean(axis=0) / self.rounds, dtype=np.float64)
