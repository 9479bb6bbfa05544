"""Choice of the pair of inputs, the score and the rule, by reports that neither the bound nor the score has seen.

The reports are split into parts. A score that is fitted to some parts is judged by the others; a score that is fitted to all
parts is judged by scores of the same kind, each of which is fitted to all parts but the one that judges it (cross-fitting).

Rules that guess on rarer reports than the chosen one are chosen, too. A leak that few reports show promises little while a score is
learned, and much once it is measured: 15 reports that are all right may be luck, the 85 that follow are not. What the last look
spends on each is settled before the measured reports are drawn, so the union bound holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise, product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ldpaudit.attacks.blackbox.counts import PAIRS, FeatureCounts
from ldpaudit.attacks.blackbox.encoding import Encoded, Skeleton, between
from ldpaudit.attacks.blackbox.features import NumberScore, Score
from ldpaudit.attacks.blackbox.scores import NOTHING, AnyScore, learned, posteriors, ramps, ratios, sightings, thresholds
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.games.game import Narrower
from ldpaudit.attacks.games.two_inputs import CANDIDATES, NEVER, Aim, Pairs, Prospect, ThresholdRule
from ldpaudit.core.cached import cached
from ldpaudit.evidence import Mode

FOLDS = 5  # parts of the reports, each of which judges scores that are fitted to the others
FITTING = 3  # parts that fit the scores which are not refitted; the rest judge these
LUCK = 0.05
"""Failure probability of what is inferred about the score that looks best, divided among all that are compared."""
LIKELY = 0.03  # as `LUCK`, of what is likely to be better than claimed; divided among pairs alone
LEADING = 3  # pairs of inputs for which scores are refitted, at most
RISING, JUDGES = 1.15, 3
"""A score still learns where it says nothing of a part, or says 1.15 times as much when it is fitted to the four other parts
as when it is fitted to one; the mean over 3 parts decides."""

STEP, LEVELS, FEWEST, MOST = 4, 6, 5, 3
"""Each rule guesses on a fourth of the reports that the one before it guesses on, or on fewer; rules tried for a score; learned
reports that a rule guesses on, at least; and rules that are measured, at most."""
EVEN = 0.5  # failure probability of what is inferred where a rule is neither favoured nor doubted
SPENT = {Mode.FIXED: 0.03, Mode.SEQUENTIAL: 0.5}
"""Share of the last look's level that all narrower rules have together. Of the only look 0.03 costs 1.8 % more reports at
confidence 0.95; of the last look of a sequential audit, which has a tenth of the level, a half costs the looks before nothing."""

Floats: TypeAlias = NDArray[np.float64]
Maker: TypeAlias = Callable[[FeatureCounts, int, int], Iterator[Score]]


@dataclass(frozen=True)
class Candidate:
    """A score, and its values, or those of scores of the same kind, on reports that it was not fitted to."""

    pair: tuple[int, int]  # positions of the two inputs
    score: AnyScore  # what the engine would be given
    first: Floats  # values on either input. A score with few parameters may have seen the reports
    second: Floats
    like: Maker | None = None  # makes the same kind of score of other counts
    refitted: bool = False  # whether the score itself is fitted to all reports; then its likes are judged
    told: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)  # what was computed of the values

    def merit(self, prospect: Prospect) -> tuple[tuple[float, int], ThresholdRule]:
        """What its best rule promises, to compare by, and the rule; see `Pairs.most_promising`."""
        pairs = self._once(Pairs, lambda: Pairs(self.first, self.second))
        found: tuple[tuple[float, int], ThresholdRule] = self._once(prospect, lambda: pairs.most_promising(prospect))
        sure = self._once((prospect, Aim), lambda: self._believed(pairs, prospect)) if isinstance(self.score, Score) else None
        return max(found, sure or found, key=lambda f: f[0])

    def _once(self, key: Any, compute: Callable[[], Any]) -> Any:
        return self.told[key] if key in self.told else self.told.setdefault(key, compute())

    def _believed(self, pairs: Pairs, prospect: Prospect) -> tuple[tuple[float, int], ThresholdRule] | None:
        """The same where the reports fit the score: the thresholds that are best if it is right."""
        aim = Aim(prospect.delta, prospect.alpha, prospect.horizon)
        choice = self._once(aim, lambda: pairs.declared(aim))
        if choice is None:
            return None
        right, wrong = choice.rule.count(self.first, self.second)
        # One rule, and not the luckiest of all.
        bound = replace(prospect, luck=prospect.luck * CANDIDATES**2).of(choice.rule, self.first, self.second)
        return (bound, right - wrong), choice.rule


@dataclass(frozen=True, slots=True)
class Rarer:
    """A score, and the rules on it that guess on rarer reports."""

    score: AnyScore
    narrower: tuple[Narrower, ...]
    promise: float = 0.0  # of the first of them, as likely too high as too low


NONE = Rarer(NOTHING, ())  # where no rarer reports promise more


@dataclass(frozen=True, slots=True)
class Chosen:
    """The pair, the score and the rule; the bound that they promise, in nats; and whether more reports would improve it.

    Beside them what is looked for in rarer reports, the share of different reports, and the rule's guesses on the reports that
    judged it. What takes long and is seldom asked for is computed when it is.
    """

    pair: tuple[int, int]
    score: AnyScore
    rule: ThresholdRule
    promise: float
    judged: Counts = Counts()
    rising: Callable[[], bool] = lambda: False
    rarer: Callable[[], Rarer] = lambda: NONE
    distinct: float = 0.0
    # what promises most if the luck of many is allowed for less: good enough to bet on, not yet to learn no more
    likely: Chosen | None = None
    leading: tuple[int, ...] = ()  # the inputs, the two that surely differ most before all others

    @property
    def fires(self) -> float:
        """Share of the judging reports that the rule guesses on."""
        return (self.judged.right + self.judged.wrong) / max(self.judged.trials, 1)


@dataclass(frozen=True, slots=True)
class Reports:
    """Encoded reports on each input, `size` on each."""

    drawn: Sequence[Encoded]
    size: int

    def parts(self) -> list[Reports]:
        """`FOLDS` parts, in order."""
        ends = [self.size * i // FOLDS for i in range(FOLDS + 1)]
        return [self._between(start, end) for start, end in pairwise(ends)]

    def halves(self) -> tuple[Reports, Reports]:
        """The reports that scores are fitted to, and those that judge."""
        end = self.size * FITTING // FOLDS
        return self._between(0, end), self._between(end, self.size)

    def _between(self, start: int, end: int) -> Reports:
        return Reports([between(part, start, end) for part in self.drawn], end - start)

    def scores(self, pair: tuple[int, int], score: AnyScore) -> tuple[Floats, Floats]:
        """Values of a score on the reports of two inputs."""
        return score(self.drawn[pair[0]], self.size), score(self.drawn[pair[1]], self.size)


def learn(
    reports: Reports,
    prospect: Prospect,
    seed: int | None = None,
    last: bool = False,
    mode: Mode = Mode.FIXED,
    likely: bool = False,
) -> Chosen:
    """Choose the pair, the score and the rule.

    ``reports``: on all inputs; the bound sees none of them; ``prospect``: what the bound will be; ``seed``: of a
    classifier; None to train none; ``last``: whether no more reports can be had; ``mode``: when the counts are looked
    at; ``likely``: whether what is only likely to promise something is wanted too.
    """
    fitting, judging = reports.halves()
    whole = FeatureCounts.of(reports.drawn, fitting.drawn)
    fitted = whole.counted(fitting.drawn)
    tried: list[Candidate] = []
    for pair in fitted.pairs():
        tried += [Candidate(pair, score, *judging.scores(pair, score), ratios) for score in ratios(fitted, *pair)]
        tried += [Candidate(pair, score, *reports.scores(pair, score), ramps) for score in ramps(whole, *pair)]
        tried += [Candidate(pair, score, *reports.scores(pair, score)) for score in thresholds(fitted, *pair)]
    if seed is not None:
        for pair in fitted.pairs()[:PAIRS]:
            if made := learned(fitting.drawn, next(iter(fitted.shapes)), *pair, seed):  # for the most frequent skeleton
                tried.append(Candidate(pair, made, *judging.scores(pair, made)))
    prospect, known = replace(prospect, luck=prospect.luck / max(2 * len(tried), 1)), dict[Any, Any]()
    tried = _alike(tried, known)
    judged = [(each, *each.merit(prospect)) for each in tried]
    seen = sorted(judged, key=lambda found: found[1], reverse=True)
    leading = list(dict.fromkeys([*(each.pair for each, *_ in seen), *fitted.pairs()]))[:LEADING]
    parts = {pair: Parts.of(whole, reports, pair) for pair in leading}
    refitted = _alike([each for pair in leading for each in parts[pair].refitted(posteriors)], known)
    judged += [(each, *each.merit(prospect)) for each in refitted]
    if not judged:
        return Chosen((0, 1), NOTHING, NEVER, 0.0, distinct=distinct(reports.drawn), leading=surest(whole))
    best, (promise, _), rule = max(judged, key=lambda found: found[1])
    same = [each for each in tried if each.pair == best.pair and isinstance(each.score, NumberScore)]
    sooner = _likely([each for each, *_ in judged], replace(prospect, luck=LIKELY / len(leading)), reports) if likely else None
    rising = cache(lambda: not last and best.like is not None and parts[best.pair].rising(best, best.like))
    rarer = cache(lambda: _rarer([best, *same, *parts[best.pair].refitted(sightings)], best, rule, reports, prospect, mode))
    surely = surest(whole) if likely and len(reports.drawn) > 2 else ()
    found = _chosen(best, rule, promise, reports)
    return replace(found, rising=rising, rarer=rarer, distinct=distinct(reports.drawn), likely=sooner, leading=surely)


def _alike(found: list[Candidate], known: dict[Any, Any]) -> list[Candidate]:
    """The candidates, where those with the same values share what is computed of them, also with those that are `known`."""
    return [replace(each, told=known.setdefault((each.first.tobytes(), each.second.tobytes()), each.told)) for each in found]


def surest(book: FeatureCounts) -> tuple[int, ...]:
    """The inputs, those of the pairs first whose shares of some cell differ most, each share a standard error nearer the other."""
    size = len(book.shape_counts)
    table = np.full((size, size), -np.inf)
    for counts in (book.shape_counts, *(f.counts for made in book.features.values() for f in made)):
        seen = counts + 0.5
        share, error = np.log(seen / seen.sum(axis=1, keepdims=True)), 1 / np.sqrt(seen)
        # In a cell only the two largest and the two smallest shares can make the largest ratios.
        high, low = np.argsort(error - share, axis=0)[:2], np.argsort(share + error, axis=0)[:2]
        for a, b in product(high, low):
            cell = np.arange(len(a))
            told = np.where(a == b, -np.inf, (share - error)[a, cell] - (share + error)[b, cell])
            np.maximum.at(table, (a, b), told)
    order = np.argsort(-table, axis=None, kind="stable")
    return tuple(dict.fromkeys(x for place in order.tolist() for x in divmod(place, size)))


def _likely(judged: list[Candidate], prospect: Prospect, reports: Reports) -> Chosen:
    """What promises most by the prospect's luck alone, however many candidates were compared."""
    (promise, _), rule, best = max(((*each.merit(prospect), each) for each in judged), key=lambda found: found[0])
    return _chosen(best, rule, promise, reports)


def _chosen(best: Candidate, rule: ThresholdRule, promise: float, reports: Reports) -> Chosen:
    judged = Counts(*rule.count(best.first, best.second), len(best.first) + len(best.second))
    moved = _moved(rule, best, *reports.scores(best.pair, best.score)) if best.refitted else rule
    return Chosen(best.pair, best.score, moved, promise, judged)


@dataclass(frozen=True)
class Parts:
    """The reports on two inputs in `FOLDS` parts, with the counts of all of them and of each part."""

    pair: tuple[int, int]
    whole: FeatureCounts
    parts: list[Reports]
    books: list[FeatureCounts]

    @classmethod
    def of(cls, whole: FeatureCounts, reports: Reports, pair: tuple[int, int]) -> Parts:
        """Split and count."""
        book, parts = whole.of_pair(*pair), Reports([reports.drawn[x] for x in pair], reports.size).parts()
        return cls(pair, book, parts, [book.counted(part.drawn) for part in parts])

    def refitted(self, maker: Maker) -> Iterator[Candidate]:
        """Scores fitted to all reports; on each part their likes are judged, which are fitted to the other parts."""
        others = [{score.name: score for score in maker(book, 0, 1)} for book in self._others]
        for score in maker(self.whole, 0, 1):
            likes = [like.get(score.name, NOTHING) for like in others]
            made = [part.scores((0, 1), like) for part, like in zip(self.parts, likes, strict=True)]
            first, second = (np.concatenate(each) for each in zip(*made, strict=True))
            yield Candidate(self.pair, score, first, second, maker, refitted=True)

    @cached
    def _others(self) -> list[FeatureCounts]:
        """The counts of all parts but one."""
        return [self.whole - book for book in self.books]

    def rising(self, best: Candidate, like: Maker) -> bool:
        """Whether a score says much more about a part when fitted to all the other parts than when fitted to one."""
        one = sum(_told(*self._values(self.books[i - 1], i, best, like)) for i in range(JUDGES))
        ends = np.cumsum([part.size for part in self.parts])[:-1]
        known = zip(np.split(best.first, ends), np.split(best.second, ends), strict=True) if best.refitted else None
        others = known or (self._values(self._others[i], i, best, like) for i in range(JUDGES))
        return one <= 0 or sum(_told(*values) for values, _ in zip(others, range(JUDGES), strict=False)) > one * RISING

    def _values(self, book: FeatureCounts, i: int, best: Candidate, like: Maker) -> tuple[Floats, Floats]:
        """Values of the score that is fitted to these counts, on part `i`."""
        fitted = next((score for score in like(book, 0, 1) if score.name == best.score.name), NOTHING)
        return self.parts[i].scores((0, 1), fitted)


def _told(first: Floats, second: Floats) -> float:
    """Mean information about the input, in nats, of scores on either."""
    return float(special.log_expit(first).mean() + special.log_expit(-second).mean()) / 2 + math.log(2)


def spend(score: AnyScore, rules: Sequence[ThresholdRule], mode: Mode, promise: float = 0.0) -> Rarer:
    """The rules, each with its part of what the last look may spend on them."""
    event = f"rarer extremes of a learned score: {score.name}"
    return Rarer(score, tuple(Narrower(rule, SPENT[mode] / len(rules), event) for rule in rules), promise)


def better(first: Floats, second: Floats, least: float, prospect: Prospect) -> list[tuple[float, ThresholdRule]]:
    """What the rarer events of a score promise, and their rules; those that promise most first.

    ``first``, ``second``: scores of learned reports on either input, which the score was not fitted to; ``least``:
    what the chosen rule promises: what promises less is not looked for; ``prospect``: of the bound.
    """
    found = [(promised(rule, first, second, prospect), rule) for rule in _nested(first, second)]
    return sorted((each for each in found if each[0] > least), key=lambda each: -each[0])[:MOST]


def promised(rule: ThresholdRule, first: Floats, second: Floats, prospect: Prospect) -> float:
    """The bound to expect of a rule, as likely too high as too low."""
    return replace(prospect, luck=EVEN).of(rule, first, second)


def _nested(first: Floats, second: Floats) -> list[ThresholdRule]:
    """Thresholds as far from 0 on both sides, each beyond the one before."""
    size = np.sort(np.abs(np.concatenate([first, second])))
    most, found = int(np.count_nonzero(size)), list[ThresholdRule]()
    while most >= STEP * FEWEST and len(found) < LEVELS:
        # The next value after the one that a fourth of the guesses, or more, reach.
        most = len(size) - int(np.searchsorted(size, size[len(size) - most // STEP - 1], side="right"))
        if most >= FEWEST:
            found.append(ThresholdRule(float(size[len(size) - most]), -float(size[len(size) - most])))
    return found


def _rarer(
    tried: list[Candidate], chosen: Candidate, rule: ThresholdRule, reports: Reports, prospect: Prospect, mode: Mode
) -> Rarer:
    """What is looked for in rarer reports: the rules of the score whose rules promise most."""
    least = promised(rule, chosen.first, chosen.second, prospect)
    most = _guessed(rule, chosen.first, chosen.second) / 2
    best, found = 0.0, NONE
    for each in tried:
        made = better(each.first, each.second, least, prospect)
        after = reports.scores(each.pair, each.score) if made else (each.first, each.second)
        moved = [(promise, _moved(rule, each, *after) if each.refitted else rule) for promise, rule in made]
        # What many scores of the likes are is often one score of the refitted one's, which guesses on no fewer reports.
        fewer = [(promise, rule) for promise, rule in moved if 0 < _guessed(rule, *after) <= most]
        if fewer and fewer[0][0] > best:
            best, found = fewer[0][0], spend(each.score, [rule for _, rule in fewer], mode, fewer[0][0])
    return found


def _guessed(rule: ThresholdRule, first: Floats, second: Floats) -> float:
    """The share of the reports that a rule guesses on."""
    return sum(rule.count(first, second)) / max(len(first) + len(second), 1)


def distinct(parts: Sequence[Encoded]) -> float:
    """Different reports among all of them, as a share."""
    kinds: dict[Skeleton, list[NDArray[np.uint64]]] = {}
    for skeleton, group in ((s, group) for part in parts for s, group in part.items()):
        kinds.setdefault(skeleton, []).append(group.whole())
    seen = [np.concatenate(found) for found in kinds.values()]
    return sum(len(np.unique(found)) for found in seen) / max(sum(map(len, seen)), 1)


def _moved(rule: ThresholdRule, candidate: Candidate, first: Floats, second: Floats) -> ThresholdRule:
    """The rule for the refitted score: it guesses most nearly as the likes did, and on whatever lies as far out."""
    before, after = np.concatenate([candidate.first, candidate.second]), np.concatenate([first, second])
    up, low = _nearest(before >= rule.upper, after), -_nearest(before <= rule.lower, -after)
    return ThresholdRule(min(up, rule.upper), max(low, rule.lower))


def _nearest(guessed: NDArray[np.bool_], scores: Floats) -> float:
    """The threshold above 0 that best separates the views that are guessed on from the others; infinite if none does."""
    levels, place = np.unique(np.maximum(scores, 0.0), return_inverse=True)
    gained = np.bincount(place, np.where(guessed, 1.0, -1.0), len(levels))[:0:-1].cumsum()
    if gained.max(initial=0.0) <= 0:
        return np.inf
    best = len(levels) - 1 - int(np.argmax(gained))
    return float(levels[best - 1] + levels[best]) / 2
