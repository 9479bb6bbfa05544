"""A callable as a target: a score is learned from reports of its own, then handed to the engine as any other.

The bound never sees a report that the score, the pair or the event was chosen by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.adapters.callables import prober
from ldpaudit.attacks.blackbox.bits import PLACES
from ldpaudit.attacks.blackbox.choosing import Rarer
from ldpaudit.attacks.blackbox.clues import clue
from ldpaudit.attacks.blackbox.counts import ALWAYS
from ldpaudit.attacks.blackbox.encoding import Encoded, Skeleton, require_alike
from ldpaudit.attacks.blackbox.features import LEAVES, SPLIT, Score
from ldpaudit.attacks.blackbox.folding import LONG, Kept, fold, in_short
from ldpaudit.attacks.blackbox.learning import AGAIN, GROWTH, GROWTH_LONG, GUESSED, Learned, Learning
from ldpaudit.attacks.blackbox.sampler import Sampler
from ldpaudit.attacks.blackbox.scores import AnyScore
from ldpaudit.attacks.games.game import Target, Wager
from ldpaudit.attacks.games.two_inputs import ThresholdRule
from ldpaudit.core.pace import LEARNING, LEAST, least_trials
from ldpaudit.workers.experiment import AS_RETURNED, Experiment, Progress, Reading

MOST_NUMBERS = 2 * 10**7  # numbers in the reports that are learned from, all together: 160 MB of floats
SILENT = 20
"""A rule that should have guessed 20 times and never has is not what was learned: by luck, once in 5e8 audits."""
FRESH = 1 << 31
"""Which child of the seed draws what is learned from. The engine's children begin with 0, 1 or 2: its views are none of these."""
IN_SHORT = ", of reports in short: length, ends, tokens, sums and counts over groups"
"""What an event says where not every number was looked at by itself."""


@dataclass(frozen=True, slots=True)
class BlackBox:
    """A target with a learned score, the trials that learning has left, and what it saw of the reports: the share of different
    ones, what was not looked at one by one, and what betrays the inputs by an event of these words.
    """

    target: Target
    remaining: int
    distinct: float
    limited: str | None
    clue: Callable[[str], str | None]


def target(
    function: Callable[..., Any],
    inputs: Sequence[Any] | None,
    experiment: Experiment,
    reading: Reading = AS_RETURNED,
    progress: Progress | None = None,
    learning: float = LEARNING,
    share: float = 1.0,
    wagers: tuple[Wager, ...] = (),
    patience: float | None = None,
) -> BlackBox:
    """Learn what tells two inputs of a function apart.

    ``function``: ``x -> report``, or ``(x, size, rng) -> reports``; ``inputs``: at least two; ``experiment``: its
    trials include those that are learned from; in a sequential audit of a claim, what was learned before them guesses
    them; ``reading``: how the reports are read, and whether a classifier helps; ``progress``: called with the reports
    drawn so far, and 0, whenever something was learned from them; ``learning``: share of the trials that is learned
    from; as much again where the score still learns; ``share``: of the level, what may be spent; ``wagers``: any-time
    tests that go on, whatever they guessed by before; ``patience``: see `prober`. Raises ImplementationError where the
    function raises, returns None, hangs, or returns what cannot be compared; ValueError where there are fewer than two
    inputs, or too few trials to learn from.
    """
    given = [] if inputs is None else list(inputs)
    if len(given) < 2:
        got = f"{len(given)}: {given[0]!r:.60}" if given else "0"
        raise ValueError(f"an audit of a callable needs at least two inputs, as in --inputs 0 1 or inputs=[0, 1], got {got}")
    sampler = Sampler.of(function, reading, given)
    if reading.users == 2:  # the second user has the first of the inputs, the first user any of them
        given = [(x, given[0]) for x in given]
    rng = np.random.default_rng(np.random.SeedSequence(experiment.seed, spawn_key=(FRESH,)))
    first = [sampler(x, 1, rng, prober(function, patience, place == 0)) for place, x in enumerate(given)]
    width = max(sum(group.width for group in one.values()) for one in first)
    kept = Kept(frozenset(skeleton for one in first for skeleton in one), MOST_NUMBERS // (LEAST * len(given)))
    sampler, first = replace(sampler, kept=kept, width=width), [fold(one, kept) for one in first]
    if experiment.trials < (needed := least_trials(len(given), learning)):
        raise ValueError(f"an audit of a callable on {len(given)} inputs needs trials >= {needed}, got {experiment.trials}")
    # On all inputs together; the fewest that suffice where reports are very long. Where coins choose the inputs, one has fewer.
    fewest = LEAST * len(given) * (1 if experiment.enough is None else AGAIN)
    budget = int(min(experiment.trials * learning, max(MOST_NUMBERS / max(width, 1), fewest)))

    forms: set[Skeleton] = set()

    def fresh(places: Sequence[int], size: int) -> list[Encoded]:
        made = sampler.each([given[i] for i in places], size, rng)
        forms.update(skeleton for one in made for skeleton in one)
        return [require_alike(one, first[i], given[i]) for i, one in zip(places, made, strict=True)]

    def toss(pair: tuple[int, int], size: int) -> list[tuple[Encoded, int]]:
        made = sampler.toss([given[x] for x in pair], size, rng)
        forms.update(skeleton for one, _ in made for skeleton in one)
        return [(require_alike(one, first[x], given[x]), often) for x, (one, often) in zip(pair, made, strict=True)]

    def tell(drawn: int) -> None:
        if progress is not None:
            progress(drawn, 0.0)

    growth = GROWTH_LONG if width > SPLIT else GROWTH
    made = Learning(fresh, len(given), budget, experiment, reading.learned, tell, toss, growth, share, wagers).run()
    learned, guesses = _target(sampler, given, first, made, reading, width)
    told = partial(_clue, guesses, learned, made.found.pair)
    return BlackBox(learned, experiment.trials - made.drawn, made.found.distinct, _limited(forms, width, kept), told)


def _clue(guesses: _Guesses, learned: Target, rows: tuple[int, int], event: str) -> str | None:
    rule, score = guesses.rule, guesses.score
    if event != learned.event:
        rule, score = next((each.rule, guesses.rarer.score) for each in guesses.rarer.narrower)
    fired: list[Any] = [None, None]
    for x, reports in guesses.sampler.latest:
        side = next((side for side in (0, 1) if guesses.pair[side] is x), None)
        if side is not None and len(reports):
            told = _guess(rule, score(guesses.sampler.encoded(reports, len(reports), x), len(reports)))
            right = np.flatnonzero(told == 1 - 2 * side)
            fired[side] = reports[right[0] : right[0] + 1] if len(right) else None
    return clue(score, rows, guesses.pair, fired)


def _limited(forms: set[Skeleton], width: int, kept: Kept) -> str | None:
    """What of the reports that were learned from was not looked at one by one, in a clause."""
    told = []
    if len(forms) > ALWAYS or any(map(in_short, forms)):
        told.append(f"{len(forms):,} forms of reports were seen, of which rare ones were read in short: length, ends and tokens")
    if width > LEAVES:
        told.append(f"the first {LEAVES:,} of {width:,} numbers were looked at one by one, and the {PLACES} that differ most")
    if any(LONG in form[-2:] for form in forms):
        told.append(f"reports of more than {kept.most:,} numbers were read without their tokens")
    return "; ".join(told) or None


def _target(
    sampler: Sampler, given: Sequence[Any], first: Sequence[Encoded], made: Learned, reading: Reading, width: int
) -> tuple[Target, _Guesses]:
    found, chosen = made.found, made.refuted or made.found.promise > 0
    (a, b), score, rarer = found.pair, found.score, found.rarer()
    short = IN_SHORT if any(map(in_short, score.terms if isinstance(score, Score) else [score.skeleton])) else ""
    guesses = _Guesses(sampler, (given[a], given[b]), (tuple(first[a]), tuple(first[b])), score, found.rule, rarer)
    learned = Target(
        pair=(given[a], given[b]),
        event=f"{reading.words}extremes of a learned score: {score.name}{short}",
        draw=guesses,
        view_bytes=64 * width,
        # What promises nothing yet is chosen again, by the engine, on more views.
        chosen=GUESSED if chosen else None,
        patience=math.ceil(SILENT / found.fires) if found.promise > 0 else 0,
        wagers=made.wagers,
        mixed=guesses.mixed if sampler.one_by_one else None,
        narrower=tuple(replace(each, rule=GUESSED, event=f"{reading.words}{each.event}{short}") for each in rarer.narrower),
    )
    return learned, guesses


@dataclass(frozen=True, slots=True)
class _Guesses:
    """Fresh reports on one of two inputs as 1, -1 or 0: which of the scores are extreme is learned too.

    Of the engine's fine thresholds the luckiest would win. Rarer events have columns of their own.
    """

    sampler: Sampler
    pair: tuple[Any, Any]
    skeletons: tuple[tuple[Skeleton, ...], tuple[Skeleton, ...]]  # of one report on either input
    score: AnyScore
    rule: ThresholdRule
    rarer: Rarer

    def __call__(self, side: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        x = self.pair[side]
        return self._of(require_alike(self.sampler(x, size, rng), self.skeletons[side], x), size)

    def mixed(self, sides: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """See `ldpaudit.attacks.games.game.Target`."""
        sizes = np.bincount(sides, minlength=2).tolist()
        first, second = map(self._of, self.sampler.mixed(self.pair, sides), sizes)
        return first, second

    def _of(self, encoded: Encoded, size: int) -> NDArray[np.float64]:
        guesses = _guess(self.rule, self.score(encoded, size))
        if not self.rarer.narrower:
            return guesses
        scores = self.rarer.score(encoded, size)
        return np.stack([guesses, *(_guess(each.rule, scores) for each in self.rarer.narrower)], axis=1)


def _guess(rule: ThresholdRule, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return (scores >= rule.upper).astype(np.float64) - (scores <= rule.lower)
