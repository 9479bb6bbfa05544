"""Which two inputs, which score and which event: by reports that the bound never sees, and that the score has not fitted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ldpaudit.attacks.blackbox.classifier import learned
from ldpaudit.attacks.blackbox.counts import PAIRS, Book
from ldpaudit.attacks.blackbox.encoding import Encoded, split
from ldpaudit.attacks.blackbox.features import Score
from ldpaudit.attacks.blackbox.scores import NOTHING, Candidate, posteriors, ramps, ratios, thresholds
from ldpaudit.attacks.games.two_inputs import CANDIDATES, NEVER, Event, Prospect, choose, choose_event

FOLDS = 5
"""Parts of the reports, each of which judges scores that are fitted to others."""
FITTING = 3
"""So many of them fit the scores that are not refitted, and the rest judge these."""
LUCK = 0.05
"""Failure probability of what is believed of the score that looks best, divided among all that are compared."""
LEADING = 3
"""Pairs of inputs for which scores are refitted, where there are more."""
RISING, JUDGES = 1.15, 3
"""A score still learns where it says nothing, or so many times more when it is fitted to four parts than to one, by what it
tells of so many parts."""

Floats: TypeAlias = NDArray[np.float64]
Maker: TypeAlias = Callable[[Book, int, int], Iterator[Score]]


@dataclass(frozen=True, slots=True)
class Trial:
    """A score, and what it, or its like, makes of reports on two inputs that it has not fitted, or that fit so little."""

    pair: tuple[int, int]
    score: Candidate
    first: Floats
    second: Floats
    like: Maker | None = None
    """What makes the score of other counts too."""
    refitted: bool = False
    """Whether the score itself is fitted to all reports: then its like has judged."""

    def merit(self, prospect: Prospect) -> tuple[tuple[float, int], Event]:
        """What its best event promises, to be compared, and the event; see `choose_event`."""
        found = choose_event(self.first, self.second, prospect)
        sure = _believed(self.first, self.second, prospect) if isinstance(self.score, Score) else None
        return max(found, sure or found, key=lambda f: f[0])


@dataclass(frozen=True, slots=True)
class Found:
    """What was chosen, what it promises, in nats, and whether more reports would make it better."""

    pair: tuple[int, int]
    score: Candidate
    event: Event
    promise: float
    rising: bool


@dataclass(frozen=True, slots=True)
class Reports:
    """Reports on each input, as many on each; and their parts."""

    drawn: Sequence[Encoded]
    size: int

    def parts(self) -> list[Reports]:
        """`FOLDS` parts, one after the other."""
        ends = [self.size * i // FOLDS for i in range(FOLDS + 1)]
        return [self._between(start, end) for start, end in pairwise(ends)]

    def halves(self) -> tuple[Reports, Reports]:
        """Those that fit and those that judge."""
        end = self.size * FITTING // FOLDS
        return self._between(0, end), self._between(end, self.size)

    def _between(self, start: int, end: int) -> Reports:
        return Reports([split(split(part, end)[0], start)[1] for part in self.drawn], end - start)

    def scores(self, pair: tuple[int, int], score: Candidate) -> tuple[Floats, Floats]:
        """On two inputs."""
        return score(self.drawn[pair[0]], self.size), score(self.drawn[pair[1]], self.size)


def learn(reports: Reports, prospect: Prospect, seed: int | None = None, last: bool = False) -> Found:
    """Choose; with a classifier among the scores, where it is given a seed; the last time, without asking for more."""
    fitting, judging = reports.halves()
    whole = Book.of(reports.drawn)
    fitted = whole.counted(fitting.drawn)
    tried: list[Trial] = []
    for pair in fitted.pairs():
        tried += [Trial(pair, score, *judging.scores(pair, score), ratios) for score in ratios(fitted, *pair)]
        tried += [Trial(pair, score, *reports.scores(pair, score), ramps) for score in ramps(whole, *pair)]
        tried += [Trial(pair, score, *reports.scores(pair, score)) for score in thresholds(fitted, *pair)]
    if seed is not None:
        tried += _classified(fitted, fitting, judging, seed)
    prospect = replace(prospect, luck=prospect.luck / max(2 * len(tried), 1))
    judged = [(trial, *trial.merit(prospect)) for trial in tried]
    seen = sorted(judged, key=lambda found: found[1], reverse=True)
    leading = list(dict.fromkeys([*(trial.pair for trial, *_ in seen), *fitted.pairs()]))[:LEADING]
    parts = {pair: Parts.of(whole, reports, pair) for pair in leading}
    refitted = [trial for pair in leading for trial in parts[pair].refitted()]
    judged += [(trial, *trial.merit(prospect)) for trial in refitted]
    if not judged:
        return Found((0, 1), NOTHING, NEVER, 0.0, rising=False)
    trial, (promise, _), event = max(judged, key=lambda found: found[1])
    if trial.refitted:
        event = _moved(event, trial, *reports.scores(trial.pair, trial.score))
    rising = not last and trial.like is not None and parts[trial.pair].rising(trial.score.name, trial.like)
    return Found(trial.pair, trial.score, event, promise, rising)


def _classified(fitted: Book, fitting: Reports, judging: Reports, seed: int) -> Iterator[Trial]:
    """What a classifier makes of the most frequent skeleton."""
    for pair in fitted.pairs()[:PAIRS]:
        if made := learned(fitting.drawn, next(iter(fitted.shapes)), *pair, seed):
            yield Trial(pair, made, *judging.scores(pair, made))


@dataclass(frozen=True, slots=True)
class Parts:
    """The reports on two inputs in `FOLDS` parts, and what all and each of them show."""

    pair: tuple[int, int]
    whole: Book
    parts: list[Reports]
    books: list[Book]

    @classmethod
    def of(cls, whole: Book, reports: Reports, pair: tuple[int, int]) -> Parts:
        """Count."""
        book, both = whole.of_pair(*pair), Reports([reports.drawn[x] for x in pair], reports.size)
        return cls(pair, book, both.parts(), [book.counted(part.drawn) for part in both.parts()])

    def refitted(self) -> Iterator[Trial]:
        """Scores fitted to all reports, judged by what those do on each part that are fitted to the other parts."""
        others = [{score.name: score for score in posteriors(self.whole - book, 0, 1)} for book in self.books]
        for score in posteriors(self.whole, 0, 1):
            likes = [like.get(score.name, NOTHING) for like in others]
            made = [part.scores((0, 1), like) for part, like in zip(self.parts, likes, strict=True)]
            first, second = (np.concatenate(each) for each in zip(*made, strict=True))
            yield Trial(self.pair, score, first, second, posteriors, refitted=True)

    def rising(self, name: str, like: Maker) -> bool:
        """Whether a score says much more of a part when it is fitted to all the others than when it is fitted to one."""
        one = sum(self._told(self.books[i - 1], i, name, like) for i in range(JUDGES))
        others = sum(self._told(self.whole - self.books[i], i, name, like) for i in range(JUDGES))
        return one <= 0 or others > one * RISING

    def _told(self, book: Book, i: int, name: str, like: Maker) -> float:
        """What it says of which input it was, on average, in nats."""
        fitted = next((score for score in like(book, 0, 1) if score.name == name), NOTHING)
        first, second = self.parts[i].scores((0, 1), fitted)
        return float(special.log_expit(first).mean() + special.log_expit(-second).mean()) / 2 + math.log(2)


def _moved(event: Event, trial: Trial, first: Floats, second: Floats) -> Event:
    """The event by the scores as refitted: what they guess most nearly as their like do, and all that lies as far out."""
    before, after = np.concatenate([trial.first, trial.second]), np.concatenate([first, second])
    up, low = _nearest(before >= event.upper, after), -_nearest(before <= event.lower, -after)
    return Event(min(up, event.upper), max(low, event.lower))


def _nearest(guessed: NDArray[np.bool_], scores: Floats) -> float:
    """The threshold above 0 that parts those best that are guessed from those that are not; infinite if none parts any."""
    levels, place = np.unique(np.maximum(scores, 0.0), return_inverse=True)
    gained = np.bincount(place, np.where(guessed, 1.0, -1.0), len(levels))[:0:-1].cumsum()
    if gained.max(initial=0.0) <= 0:
        return np.inf
    best = len(levels) - 1 - int(np.argmax(gained))
    return float(levels[best - 1] + levels[best]) / 2


def _believed(first: Floats, second: Floats, prospect: Prospect) -> tuple[tuple[float, int], Event] | None:
    """As `choose_event`, where the scores fit the reports: the thresholds that are the best if the scores are right."""
    choice = choose(first, second, prospect.delta, prospect.alpha, prospect.horizon, calibrated=True)
    if not choice.believed:
        return None
    right, wrong = choice.event.count(first, second)
    share = np.array(prospect.delta * choice.event.directions / 2)
    # One event, and not the luckiest of all.
    one = replace(prospect, luck=prospect.luck * CANDIDATES**2)
    bound = one.bound(np.array(float(right)), np.array(right + wrong), len(first) + len(second), share)
    return (float(bound), right - wrong), choice.event
