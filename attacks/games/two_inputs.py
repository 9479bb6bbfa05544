"""The game on two inputs: thresholds on a score, and how they are chosen on views that the bound never sees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ldpaudit.attacks.bounds.binomial import epsilon_lower

CANDIDATES = 48
"""Thresholds tried per direction. A finer choice gains nothing: `benchmarks.audit efficiency` finds 1.07 times the needed
views at most."""
LARGEST = float(np.finfo(np.float64).max)
"""Threshold that only infinite scores reach: of views that the declared mechanism never shows on the other input."""
DOUBT = 1e-3  # level of the test that the views fit the declared scores, all candidate thresholds together (Bonferroni)
FAR = 1e-9  # probability of the rarest scores that a law known beforehand lets a rule guess on
GROUPS = 1 << 10  # groups of scores that a law of sums of scores lists
HINT = 0.75
"""An exact test refutes a fair coin nowhere below this many times the standard errors that a normal law would need; by
enumeration up to 59 guesses, and at 1e4 (tests/attacks/test_scores.py)."""
BEYOND = 1.001
"""A declared epsilon within a thousandth of the claimed one is not counted on to refute it: at epsilon = 1 binary response
would need 1e7 views."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    """Guess the first input where the score is at least `upper`, the second where it is at most `lower`, else abstain.

    A mirrored rule guesses the other one: code may tell an input by views that speak against it.
    """

    upper: float
    lower: float
    mirrored: bool = False

    @property
    def directions(self) -> int:
        """How many of the two inputs are ever guessed."""
        return int(self.upper < np.inf) + int(self.lower > -np.inf)

    @property
    def certain(self) -> bool:
        """Whether only infinite scores are guessed on."""
        return self.directions > 0 and self.upper >= LARGEST and self.lower <= -LARGEST

    def count(self, first: Floats, second: Floats) -> tuple[int, int]:
        """Right and wrong guesses, from scores of views on the first and on the second input."""
        right = wrong = 0
        first, second = (second, first) if self.mirrored else (first, second)
        # A direction that is never guessed must not count infinite scores.
        if self.upper < np.inf:
            right += int(np.count_nonzero(first >= self.upper))
            wrong += int(np.count_nonzero(second >= self.upper))
        if self.lower > -np.inf:
            right += int(np.count_nonzero(second <= self.lower))
            wrong += int(np.count_nonzero(first <= self.lower))
        return right, wrong


NEVER = ThresholdRule(np.inf, -np.inf)  # the rule that never guesses


@dataclass(frozen=True, slots=True)
class Aim:
    """What a rule is chosen for."""

    delta: float  # of the bound
    alpha: float  # failure probability of the bound
    horizon: int  # fresh views that it will be measured on
    claimed: float | None = None  # the epsilon to refute


@dataclass(frozen=True, slots=True)
class Choice:
    """A rule of guessing, what is expected of it per view, and the bound that this promises."""

    rule: Any  # which views are guessed on
    promise: float  # in nats; by the declared law where the views fit it
    right: float  # probabilities of a right and a wrong guess; the declared ones where these are believed
    wrong: float
    believed: bool  # whether the views fit the declared law, and that law would refute the claim if there is one


@dataclass(frozen=True, slots=True)
class _Tails:
    """Candidate thresholds from far to near, and for each of them the guesses beyond it.

    `right` and `wrong` are counts, `expected` the right guesses if the scores are log-likelihood ratios.
    """

    thresholds: Floats
    right: NDArray[np.int64]
    wrong: NDArray[np.int64]
    expected: Floats

    @property
    def fits(self) -> bool:
        """Whether as many guesses are right as the scores say."""
        return fits(self.right, self.wrong, self.expected)


def _tails(first: Floats, second: Floats) -> _Tails:
    scores = np.clip(np.concatenate([first, second]), -LARGEST, LARGEST)
    positive = -np.sort(-scores[scores > 0])
    distinct = np.unique(positive)[::-1]
    if len(distinct) > CANDIDATES:
        # Even steps in the logarithm of the tail: both rare extremes and broad halves are among the candidates.
        beyond = np.unique(np.geomspace(8, len(positive), CANDIDATES).astype(np.int64)) - 1
        distinct = np.unique(positive[beyond])[::-1]
    thresholds = np.concatenate([[np.inf], distinct])
    counts = [len(s) - np.searchsorted(np.sort(np.clip(s, -LARGEST, LARGEST)), thresholds) for s in (first, second)]
    believed = np.concatenate([[0.0], np.cumsum(special.expit(positive))])
    return _Tails(thresholds, counts[0], counts[1], believed[counts[0] + counts[1]])


def fits(right: NDArray[np.int64], wrong: NDArray[np.int64], expected: Floats) -> bool:
    """Whether at every candidate threshold as many guesses are right as the scores say, by exact binomial tests."""
    guesses = right + wrong
    share = np.where(guesses > 0, expected / np.maximum(guesses, 1), 0.5)
    more = np.where(right > 0, special.betainc(np.maximum(right, 1), wrong + 1, share), 1.0)
    fewer = np.where(wrong > 0, special.betainc(np.maximum(wrong, 1), right + 1, 1 - share), 1.0)
    return bool(np.minimum(more, fewer).min() * 2 * len(guesses) > DOUBT)


@dataclass(frozen=True, slots=True)
class Prospect:
    """The bound to expect from fresh views, given what a sample shows of a rule; luck is allowed for."""

    delta: float  # the delta that the bound is for
    alpha: float  # failure probability of the bound
    horizon: int  # fresh views that it will be measured on
    luck: float  # failure probability of what is inferred from the sample: it keeps rare events from winning by luck

    def bound(self, right: NDArray[Any], guesses: NDArray[Any], views: int, share: NDArray[Any]) -> Floats:
        """In nats, elementwise; 0 where nothing is promised."""
        right, guesses, share = np.broadcast_arrays(right, guesses, share)
        promised = np.zeros(right.shape)
        # Elsewhere the exact bound, which takes long to compute, is 0: a fair coin would do as well.
        better = np.asarray((2 * right - guesses) > HINT * special.ndtri(1 - self.luck) * np.sqrt(guesses))
        r, g, s = right[better], guesses[better], share[better]
        sure = epsilon_lower(r, g - r, views, s, self.luck)
        better[better] = told = sure > 0
        g, s, sure = g[told], s[told], sure[told]
        explained = s * self.horizon
        pure = np.maximum(g * (self.horizon / max(views, 1)) - explained, 0.0)
        hits = pure * special.expit(sure)
        promised[better] = epsilon_lower(hits + explained, pure - hits, self.horizon, s, self.alpha)
        return promised

    def of(self, rule: ThresholdRule, first: Floats, second: Floats) -> float:
        """The bound to expect of one rule, from scores of views on the first and on the second input."""
        right, wrong = rule.count(first, second)
        share = np.array(self.delta * rule.directions / 2)
        return float(self.bound(np.array(float(right)), np.array(right + wrong), len(first) + len(second), share))


class Pairs:
    """All pairs of candidate thresholds on scores, one on either side, and what is guessed beyond them."""

    def __init__(self, first: Floats, second: Floats) -> None:
        up, low = _tails(first, second), _tails(-second, -first)
        self.up, self.low, self.views = up, low, len(first) + len(second)
        self.guesses = (up.right + up.wrong)[:, None] + (low.right + low.wrong)[None, :]
        self.right = (up.right[:, None] + low.right[None, :]).astype(np.float64)

    def most_promising(self, prospect: Prospect) -> tuple[tuple[float, int], ThresholdRule]:
        """The thresholds that promise the best bound from fresh views; nothing declared is believed.

        Returns what to compare by, the promised bound and then right guesses less wrong ones; and the rule. Where nothing is
        promised the rule guesses as often as it can.
        """
        bounds = prospect.bound(self.right, self.guesses, self.views, self._share(prospect.delta))
        best = _best(bounds, self.guesses, self.guesses)
        return (float(bounds[best]), int(2 * self.right[best] - self.guesses[best])), self._rule(best)

    def declared(self, aim: Aim) -> Choice | None:
        """The best thresholds if the scores are log-likelihood ratios; None where the views do not fit that."""
        if not (self.up.fits and self.low.fits):
            return None
        right = np.minimum(self.up.expected[:, None] + self.low.expected[None, :], self.guesses)
        share, scale = self._share(aim.delta), aim.horizon / max(self.views, 1)
        bounds = epsilon_lower(right * scale, (self.guesses - right) * scale, aim.horizon, share, aim.alpha)
        # With too few views for any bound: the rule that is expected to deviate most, in standard errors.
        best = _best(bounds, (2 * right - self.guesses) / np.sqrt(np.maximum(self.guesses, 1)), self.guesses)
        with np.errstate(divide="ignore", invalid="ignore"):
            declared = np.log((right[best] - share[best] * self.views) / (self.guesses[best] - right[best]))
        return self._choice(right, best, bounds, aim.claimed is None or bool(declared > aim.claimed * BEYOND))

    def observed(self, aim: Aim) -> Choice:
        """The thresholds with the best bound on these views alone."""
        share = self._share(aim.delta)
        bounds = epsilon_lower(self.right, self.guesses - self.right, self.views, share, aim.alpha)
        # Where no rule beats a fair coin: all guesses; but at delta > 0 each direction costs its share of delta.
        deviates = (2 * self.right - self.guesses - share * self.views) / np.sqrt(np.maximum(self.guesses, 1))
        return self._choice(self.right, _best(bounds, deviates if aim.delta else self.guesses, self.guesses), bounds, False)

    def _choice(self, right: Floats, best: tuple[Any, ...], bounds: Floats, believed: bool) -> Choice:
        hits, views = float(right[best]), max(self.views, 1)
        return Choice(self._rule(best), float(bounds[best]), hits / views, (float(self.guesses[best]) - hits) / views, believed)

    def _rule(self, best: tuple[Any, ...]) -> ThresholdRule:
        return ThresholdRule(float(self.up.thresholds[best[0]]), float(-self.low.thresholds[best[1]]))

    def _share(self, delta: float) -> Floats:
        return _share(self.up.thresholds, self.low.thresholds, delta)


def _share(up: Floats, low: Floats, delta: float) -> Floats:
    """The delta times the share of the inputs that are ever guessed, for each pair of thresholds."""
    return np.where((up < np.inf)[:, None] & (low < np.inf)[None, :], delta, delta / 2)


def choose_thresholds(first: Floats, second: Floats, aim: Aim, calibrated: bool = False, either_way: bool = False) -> Choice:
    """The thresholds that promise the best bound from fresh views.

    Where the scores are the declared mechanism's log-likelihood ratios and the views fit them, the declared law says what
    each rule is worth, and a few views suffice. If the declared law would not refute the claim, only code that is not as
    declared can: then rules are compared, as where nothing is declared, by their bounds on these views alone.

    ``first``, ``second``: scores of views on the first and on the second input; ``aim``: what the rule is for;
    ``calibrated``: whether scores are log-likelihood ratios under what is declared; ``either_way``: whether a
    mirrored rule may be chosen, where no other promises anything.
    """
    pairs = Pairs(first, second)
    declared = pairs.declared(aim) if calibrated else None
    if declared is not None and declared.believed:
        return declared
    observed = pairs.observed(aim)
    if observed.promise <= 0 and either_way:
        other = Pairs(second, first).observed(aim)
        if other.promise > 0:
            return replace(other, rule=replace(other.rule, mirrored=True))
    return observed if declared is None else replace(observed, promise=declared.promise)


@dataclass(frozen=True, slots=True)
class ScoreLaw:
    """The declared law of scores, by falling score: in floats, for it chooses a rule and bounds nothing."""

    scores: Floats
    first: Floats  # probabilities on the first input, and on the second
    second: Floats

    def grouped(self) -> ScoreLaw:
        """By falling score, in groups of neighbours, each with its least score."""
        order = np.argsort(-self.scores, kind="stable")
        starts = np.unique(np.linspace(0, len(order), GROUPS, endpoint=False).astype(int))
        ends = np.append(starts[1:], len(order)) - 1
        together = (np.add.reduceat(masses[order], starts) for masses in (self.first, self.second))
        return ScoreLaw(self.scores[order][ends], *together)

    def plus(self, other: ScoreLaw) -> ScoreLaw:
        """The law of the sum of two independent scores."""
        with np.errstate(invalid="ignore"):
            scores = np.nan_to_num(np.add.outer(self.scores, other.scores).ravel(), nan=0.0, posinf=np.inf, neginf=-np.inf)
        masses = (np.outer(*both).ravel() for both in ((self.first, other.first), (self.second, other.second)))
        return ScoreLaw(np.round(scores, 9), *masses).grouped()

    def times(self, runs: int) -> ScoreLaw:
        """The law of the sum of the scores of this many runs: by doubling."""
        if runs == 1:
            return self
        half = self.times(runs // 2)
        return half.plus(half.plus(self) if runs % 2 else half)

    def _beyond(self) -> tuple[Floats, Floats, Floats]:
        """Thresholds from far to near, and the probabilities of scores that reach them."""
        far = np.flatnonzero(self.scores > 0)
        right, wrong = np.cumsum(self.first)[far], np.cumsum(self.second)[far]
        known = np.flatnonzero(right > 0)
        if not len(known):
            return np.array([np.inf]), np.zeros(1), np.zeros(1)
        steps = np.searchsorted(right, np.geomspace(max(right[known[0]], FAR), right[-1], CANDIDATES))
        at = np.unique(np.minimum(steps, len(right) - 1))
        thresholds = np.minimum(self.scores[far][at], LARGEST)
        return np.append(np.inf, thresholds), np.append(0.0, right[at]), np.append(0.0, wrong[at])

    def choose(self, aim: Aim) -> Choice:
        """The thresholds that promise the best bound from fresh views."""
        (up, right, wrong), mirrored = self._beyond(), ScoreLaw(-self.scores[::-1], self.second[::-1], self.first[::-1])
        low, other_right, other_wrong = mirrored._beyond()
        hits, misses = (right[:, None] + other_right) / 2, (wrong[:, None] + other_wrong) / 2
        share, views = _share(up, low, aim.delta), aim.horizon
        bounds = epsilon_lower(hits * views, misses * views, views, share, aim.alpha)
        deviates = (hits - misses - share) / np.sqrt(np.maximum(hits + misses, 1 / max(views, 1)))
        best = _best(bounds, deviates, hits + misses)
        rule = ThresholdRule(float(up[best[0]]), -float(low[best[1]]))
        return Choice(rule, float(bounds[best]), float(hits[best]), float(misses[best]), True)


def _best(bounds: Floats, else_: NDArray[Any], guesses: NDArray[Any]) -> tuple[Any, ...]:
    """Position of the best bound; of equally good rules the one that guesses most often, which is measured best."""
    first = np.argmax(else_) if bounds.max() <= 0 else np.lexsort((-guesses.ravel(), -bounds.ravel()))[0]
    return np.unravel_index(int(first), bounds.shape)
