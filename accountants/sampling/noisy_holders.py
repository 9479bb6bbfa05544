r"""Noisy votes from below: some others hold the user's word, and all the rest hold one other word.

A round shows two noisy numbers at most: those of :math:`N` votes for the user's prefix and of :math:`m - N` for the other one,
while these grow. With the user, N is Hyp(n + 1, W + 1, m) for W other holders; without, Hyp(n, W, m). Rounds are independent
given what has grown. An event S of all that is released shows

.. math:: \delta(\varepsilon) \ge P(S) - e^\varepsilon Q(S), \qquad \varepsilon(\delta) \ge \ln \frac{P(S) - \delta}{Q(S)}

and the same with P and Q exchanged. Views of nearly the same likelihood ratio are taken together, and S is the views of the
largest ratios. A few W are worth most where the batch is smaller than the users: they can cast W votes, and one vote more
tells of the user. Among all data sets of four and five users none with other words tells more in one round
(tests/sampling/test_noisy_holders.py); for more users that is not proved.

Sums and products of positive floats have a small relative error, whatever their order: `_ROUNDOFF`. So P(S) and Q(S) are
enclosed, and a bad choice of S or W makes a bound weaker, never wrong.

Source: the definition, as in `NoisyVotes.one_apart`, which lists the laws of one round in rationals.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import ball, between
from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_pmf
from ldpaudit.accountants.sampling.noisy_votes import NoisyVotes
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour, round_up
from ldpaudit.profile import Number, PrivacyProfile, require_delta, require_epsilon

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Pair = tuple[Floats, Floats]
"""Probabilities of views, with the user and without."""
Growing = tuple[bool, bool]
"""Whether the user's prefix may grow, and whether the other one may."""

_LARGEST_NOISE, _MOST_VOTES = 40, 200
"""k, and votes that a value needs to be certainly released, up to which data sets are tried: the pairs of numbers are listed."""
_ALL, _STEP = 16, 1.25
"""Numbers of holders below which all are tried, and the factor between those above."""
_PROMISING = 4
"""Numbers of holders, the best of one round, of which all rounds are computed."""
_RARE = 1e-30
"""Probability below which a number of votes is left out; it is counted with the event under the second law."""
_RATIOS = 64
"""Likelihood ratios that a round's are rounded to before rounds are composed. With 256 bounds move by less than a percent."""
_ROUNDS = 32
"""Rounds that are looked at; what more of them show is ignored."""
_ROUNDOFF = 2.0**-28
"""Relative error of a probability: each is the end of fewer than 2**24 operations, of which each adds 2**-53 at most."""
_LOST = 1e-280
"""Above all that is lost to products below the smallest floats."""
_BEYOND, _INFINITE = 700.0, 1e4
"""An epsilon whose power is still a float, and a loss that no quotient of two floats has."""


@dataclass(frozen=True)
class TwoWords:
    """What rounds show where some others hold the user's word and the rest another."""

    votes: NoisyVotes  # a round
    holders: int  # W, below the number of users

    def rounds(self, levels: int) -> Pair:
        """Probabilities of the views of all rounds; more than one are rounded to some likelihood ratios."""
        if levels == 1:
            return self._law((True, True)).flat
        ended: list[Pair] = []
        going: dict[Growing, Pair] = {(True, True): (np.ones(1), np.ones(1))}
        for _ in range(min(levels, _ROUNDS)):
            following: dict[Growing, list[Pair]] = defaultdict(list)
            for grow, (first, second) in going.items():
                for grown, pair in self._law(grow).by_growth().items():
                    p, q = self._merged([pair])
                    following[grown].append((np.outer(first, p).ravel(), np.outer(second, q).ravel()))
            ended += following.pop((False, False), [])
            going = {grown: self._merged(pairs) for grown, pairs in following.items()}
        return self._merged([*ended, *going.values()])

    def _merged(self, pairs: list[Pair]) -> Pair:
        """The views of all these, with those of nearly the same likelihood ratio taken together."""
        first, second = (np.concatenate(laws) for laws in zip(*pairs, strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.nan_to_num(np.log(first) - np.log(second), posinf=_INFINITE, neginf=-_INFINITE)
        ratios = np.round(losses / self._width)
        place = np.unique(ratios, return_inverse=True)[1].ravel()
        return np.bincount(place, first).astype(np.float64), np.bincount(place, second).astype(np.float64)

    @cached
    def _width(self) -> float:
        p, q = self._law((True, True)).flat
        both = (p > 0) & (q > 0)
        losses = np.log(p[both] / q[both])
        return float(max(np.ptp(losses) if losses.size else 0.0, _RARE)) / _RATIOS

    @cached
    def missing(self) -> float:
        """Upper bound of the probability, under either law, that a round has a number of votes that is left out."""
        return max(mass for _, mass in self._masses)

    def _law(self, grow: Growing) -> _Round:
        own, other = grow
        rows, first = self._given(self._counts, own)
        columns, second = self._given(self.votes.batch - self._counts, other)
        there, without = ((first.T * mass) @ second for mass, _ in self._masses)
        return _Round(rows, columns, (there, without))

    def _given(self, counts: Integers, grows: bool) -> tuple[Integers, Floats]:
        """The numbers that may be shown, 0 for none, and their probabilities for each number of votes, a row each."""
        noisy = counts[:, None] + np.arange(-self.votes.bound, self.votes.bound + 1)
        numbers, place = np.unique(np.where((noisy >= self.votes.least) & grows, noisy, 0), return_inverse=True)
        law = np.zeros((len(counts), len(numbers)))
        np.add.at(law, (np.arange(len(counts))[:, None], place.reshape(noisy.shape)), self.votes.noise)
        return numbers, law

    @cached
    def _counts(self) -> Integers:
        """Numbers of votes for the user's prefix that are not too rare: around the mean, in which both laws nearly agree."""
        least, most = max(0, self.holders - self.votes.users + self.votes.batch), min(self.votes.batch, self.holders + 1)
        mean = self.votes.batch * (self.holders + 1) // self.votes.users_there
        first = last = min(max(mean, least), most)
        with working_precision(64):
            while first > least and self._likely(first - 1):
                first -= 1
            while last < most and self._likely(last + 1):
                last += 1
        return np.arange(first, last + 1)

    def _likely(self, count: int) -> bool:
        return any(bool(hypergeometric_pmf(*urn, count) > _RARE) for urn in self._urns)

    @cached
    def _masses(self) -> list[tuple[Floats, float]]:
        """Of each law the probabilities of these numbers, and an upper bound of what is left out."""
        with working_precision(128):
            laws = [(urn, [hypergeometric_pmf(*urn, n) for n in self._counts.tolist()]) for urn in self._urns]
            return [(np.array([float(p.mid()) for p in law]), self._left(law, urn)) for urn, law in laws]

    def _left(self, law: list[flint.arb], urn: tuple[int, int, int]) -> float:
        users, marked, batch = urn
        whole = self._counts[0] <= max(0, batch + marked - users) and self._counts[-1] >= min(batch, marked)
        return 0.0 if whole else max(0.0, round_up(1 - sum(law, flint.arb(0))))

    @property
    def _urns(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        v, w = self.votes, self.holders
        return (v.users_there, w + 1, v.batch), (v.users, w, v.batch)


@dataclass(frozen=True)
class _Round:
    """The two laws of what a round shows: numbers of the user's prefix in rows, of the other one in columns."""

    rows: Integers
    columns: Integers
    laws: Pair

    @property
    def flat(self) -> Pair:
        first, second = self.laws
        return first.ravel(), second.ravel()

    def by_growth(self) -> dict[Growing, Pair]:
        """The views in which both, one or none of the prefixes are released."""
        found = {}
        for own in (False, True):
            for other in (False, True):
                where = np.ix_((self.rows > 0) == own, (self.columns > 0) == other)
                first, second = (law[where].ravel() for law in self.laws)
                if first.size:
                    found[own, other] = first, second
        return found


@dataclass(frozen=True)
class Events:
    """Likelihood-ratio events: the first views in the order of falling ratio."""

    p: Floats  # probabilities of the first views, for each number of them, up to `_ROUNDOFF`
    q: Floats
    missing: float  # upper bound of the probability of what is left out

    @classmethod
    def of(cls, first: Floats, second: Floats, missing: float) -> Events:
        """Of two laws."""
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(np.nan_to_num(np.log(second) - np.log(first), nan=np.inf), kind="stable")
        return cls(np.cumsum(first[order]), np.cumsum(second[order]), missing)

    def balls(self, at: int) -> tuple[flint.arb, flint.arb]:
        """P and Q of one event."""
        p, q = (self._ball(float(law[at])) for law in (self.p, self.q))
        return p, q

    def _ball(self, value: float) -> flint.arb:
        low, high = (flint.arb(value) * (1 + sign * flint.arb(_ROUNDOFF)) for sign in (-1, 1))
        return between(low, high + flint.arb(self.missing + _LOST))


@dataclass(frozen=True)
class SharedWord(PrivacyProfile):
    """What all rounds show of a user whose word some others hold: of those tried, the largest event's own enclosure."""

    votes: NoisyVotes  # a round; `holders` of it are some
    levels: int  # L, at least 1

    def delta(self, epsilon: Number) -> Enclosure:
        """Of the event chosen for this epsilon; 0 where none has any."""
        if require_epsilon(epsilon) > _BEYOND:
            return self._enclosed(flint.arb(0))
        factor = math.exp(epsilon)
        events, at = self._best(lambda p, q: p - factor * q, lambda p, q: p - math.exp(epsilon / self.levels) * q)
        with working_precision(96):
            p, q = events.balls(at)
            return self._enclosed(p - ball(Fraction(epsilon)).exp() * q)

    def epsilon(self, delta: Number = 0) -> Enclosure:
        """Of the event chosen for this delta; 0 where none has any."""
        most = float(require_delta(delta))
        events, at = self._best(_reach(most), _reach(most / self.levels))
        with working_precision(96):
            p, q = events.balls(at)
            above = p - ball(Fraction(delta))
            return self._enclosed((above / q).log() if above > 0 and q > 0 else flint.arb(0))

    def _best(self, value: _Value, of_one: _Value) -> tuple[Events, int]:
        """The event of all rounds with the largest value; data sets are those whose events of one round have the largest."""
        holders = sorted(self._one_round, key=lambda w: max(of_one(e.p, e.q).max() for e in self._one_round[w]))
        for w in holders[-_PROMISING:]:
            if w not in self._known:
                self._known[w] = _events(TwoWords(self.votes, w), self.levels)
        tried = [events for w in holders[-_PROMISING:] for events in self._known[w]]
        best = max(tried, key=lambda e: float(value(e.p, e.q).max()))
        return best, int(value(best.p, best.q).argmax())

    @cached
    def _one_round(self) -> dict[int, tuple[Events, Events]]:
        return {w: _events(TwoWords(self.votes, w), 1) for w in holders(self.votes)}

    @cached
    def _known(self) -> dict[int, tuple[Events, Events]]:
        return dict(self._one_round) if self.levels == 1 else {}

    def _enclosed(self, value: flint.arb) -> Enclosure:
        source = f"noisy votes of a fixed batch of {self.votes.batch}, {self.levels} round(s), some others with the user's word"
        return Enclosure.of(value.max(flint.arb(0)), rigour=Rigour.INTERVAL, source=source)


_Value = Callable[[Floats, Floats], Floats]


def _events(words: TwoWords, levels: int) -> tuple[Events, Events]:
    """In both directions."""
    first, second = words.rounds(levels)
    missing = words.missing * min(levels, _ROUNDS)
    return Events.of(first, second, missing), Events.of(second, first, missing)


def _reach(delta: float) -> _Value:
    def reach(p: Floats, q: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((p > delta + _RARE) & (q > 0), np.log(p - delta) - np.log(q), -np.inf)

    return reach


def holders(votes: NoisyVotes) -> Iterator[int]:
    """Numbers of other holders that are tried: up to those who cast all votes that a value can be sure to be released with."""
    sure = votes.least + votes.bound
    if votes.bound > _LARGEST_NOISE or sure > _MOST_VOTES:
        return
    most = min(votes.users - 1, -(-sure * votes.users // votes.batch))
    at = 1
    while at <= most:
        yield at
        at = max(at + 1, int(at * _STEP)) if at >= _ALL else at + 1
