"""What the engine plays: the game on two inputs and the game on k. Fresh views in, right and wrong guesses out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.games import k_inputs, two_inputs
from ldpaudit.errors import ImplementationError, shown
from ldpaudit.mechanism import Views

CHUNK = 1 << 17  # views drawn at a time, where views are small: 1 MB of scores
CHUNK_BYTES = 1 << 26  # memory that views drawn at a time may take: 64 MB, so that two workers fit beside anything else

Draw = Callable[[int, int, np.random.Generator], NDArray[np.float64]]
"""(side, size, rng) to the scores of `size` independent views on side 0 or 1 of the pair."""
Mixed = Callable[[NDArray[np.int64]], tuple[NDArray[np.float64], ...]]
"""Sides, in the order in which the views are drawn, to the scores of the views on each side."""
Sampler = Callable[[Any, int, np.random.Generator], Views]
Sample = Any  # what a game keeps of views until a rule is chosen: a pair of arrays of scores, or a table of guesses


def chunks(size: int, view_bytes: int) -> Iterator[int]:
    """Sizes that fit into memory and add up to `size`."""
    most = max(1, min(CHUNK, CHUNK_BYTES // max(view_bytes, 1)))
    return (min(most, size - start) for start in range(0, size, most))


@dataclass(frozen=True, slots=True)
class Narrower:
    """A rule that guesses on few views, and the share of the last look's level that is paid for it before the views are seen.

    Of a target's scores, which then have a row for each view, it reads its own column: the first after the target's own rule's
    is for the first narrower rule.
    """

    rule: two_inputs.ThresholdRule
    share: float
    event: str


@dataclass(frozen=True, slots=True)
class Wager:
    """An any-time test that began while the score was still learned, and goes on with the engine's views."""

    share: float  # of the level of all that is looked at all the time
    directions: int  # how many of the inputs it allows a delta for
    tuning: tuple[float, ...]  # what it bets on, fixed before its first view
    counts: Counts = field(default_factory=Counts)  # guesses and views before the engine's first
    place: int = 0  # whose guesses it goes on with: 0 for the rule's, else a narrower rule's


@dataclass(frozen=True, slots=True)
class Target:
    """The game on two inputs: a source of scores of their views, which tell them apart."""

    inputs: ClassVar[int] = 2
    pair: tuple[Any, Any]  # the inputs
    event: str  # what is looked for, in words
    draw: Draw  # scores of fresh views
    view_bytes: int = 8  # memory of one view; it sets how many are drawn at a time
    # whether scores are log-likelihood ratios under the declared law; then a few views choose the rule
    calibrated: bool = False
    # whether nothing declared says which input a score speaks for: foreign code is looked at by its numbers, too
    undeclared: bool = False
    # the rule, where it was chosen already, on views that the engine never draws
    chosen: two_inputs.ThresholdRule | None = None
    # the law of the scores, where it is known: it chooses the rule
    law: two_inputs.ScoreLaw | None = None
    # draws one view after the other, in place of `draw`. A view may show a counter or the time; then a coin must have
    # chosen its side, or many views of one side in a row could be told by their place
    mixed: Mixed | None = None
    # rules that guess on rarer views, and what the last look may spend on each: chosen, as `chosen` is, beforehand
    narrower: tuple[Narrower, ...] = ()
    # views in a row after which the engine stops, if no rule has guessed on any of them; 0 for never
    patience: int = 0
    # tests that began before the engine's first view. Where the rule is chosen they have the whole level of the looks taken all
    # the time; else what they leave is the engine's own
    wagers: tuple[Wager, ...] = ()
    last: float = 1.0  # share of what the last look may spend, where others may have followed other events
    odd: tuple[list[ImplementationError], ...] = ()  # see `Foreign`: what its code has shown by now

    @property
    def description(self) -> str:
        """See `sources.Source`."""
        return f"{self.pair} {self.event}"

    def games(self) -> tuple[Target]:
        """See `sources.Source`: this one alone."""
        return (self,)

    def _parts(self, size: int, rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        for part in chunks(size, self.view_bytes):
            if self.mixed is not None:
                yield self.mixed(rng.integers(0, 2, part))
                continue
            first = int(rng.binomial(part, 0.5))
            yield self.draw(0, first, rng), self.draw(1, part - first, rng)

    def collect(self, size: int, rng: np.random.Generator) -> Sample:
        """Scores of fresh views on the first and on the second input, before a rule decides which views are guessed on."""
        return _both(list(self._parts(size, rng)))

    def count(self, rules: Sequence[two_inputs.ThresholdRule], sample: Sample) -> list[tuple[int, int]]:
        """Right and wrong guesses of the rule and, after it, of the narrower ones."""
        return [rule.count(*_column(sample, place)) for place, rule in enumerate(rules)]

    def measure(self, rules: Sequence[two_inputs.ThresholdRule], size: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """See `count`; on the same views that `collect` would draw."""
        counts = [self.count(rules, part) for part in self._parts(size, rng)]
        return [(sum(right for right, _ in each), sum(wrong for _, wrong in each)) for each in zip(*counts, strict=True)]

    def choose(self, samples: Sequence[Sample], views: int, aim: two_inputs.Aim) -> two_inputs.Choice:
        """The rule of guessing for further views."""
        first, second = _column(_both(samples), 0)
        if self.chosen is not None:
            right, wrong = (count / max(views, 1) for count in self.chosen.count(first, second))
            return two_inputs.Choice(self.chosen, 0.0, right, wrong, believed=False)
        if self.law is not None:
            return self.law.choose(aim)
        return two_inputs.choose_thresholds(first, second, aim, self.calibrated, self.calibrated or self.undeclared)


def one_by_one(sides: NDArray[np.int64], score: Callable[[int], NDArray[np.float64]]) -> tuple[NDArray[np.float64], ...]:
    """The scores of one view after the other, each on its side of the pair; those of the first side, and of the second."""
    found: tuple[list[NDArray[np.float64]], ...] = ([np.empty(0)], [np.empty(0)])
    for side in sides.tolist():
        found[side].append(score(side))
    return tuple(map(np.concatenate, found))


def _column(sample: Sample, place: int) -> Sample:
    """The scores that a rule reads."""
    return tuple(scores if scores.ndim == 1 else scores[:, place] for scores in sample)


def _both(samples: Sequence[Sample]) -> Sample:
    return tuple(np.concatenate([sample[side] for sample in samples] or [np.empty(0)]) for side in (0, 1))


@dataclass(frozen=True, slots=True)
class KInputs:
    """The game on k inputs: a guess names one of them."""

    calibrated: ClassVar[bool] = True
    undeclared: ClassVar[bool] = False
    chosen: ClassVar[None] = None
    law: ClassVar[None] = None
    narrower: ClassVar[tuple[Narrower, ...]] = ()
    patience: ClassVar[int] = 0
    wagers: ClassVar[tuple[Wager, ...]] = ()
    last: ClassVar[float] = 1.0
    many: k_inputs.Many
    sample: Sampler
    view_bytes: int = 8
    # makes one view after the other, in place of `sample`; see `mixed` of `Target`
    in_order: Callable[[Sequence[Any], Sequence[int]], list[Views]] | None = None

    @property
    def inputs(self) -> int:
        """How many inputs the game draws from."""
        return len(self.many.inputs)

    @property
    def pair(self) -> tuple[Any, Any]:
        """The first and the last input."""
        return self.many.inputs[0], self.many.inputs[-1]

    @property
    def event(self) -> str:
        """The guess, in words."""
        return self.many.event

    def collect(self, size: int, rng: np.random.Generator) -> Sample:
        """The table of guesses at fresh views, before a rule decides which of them count."""
        table = np.zeros((self.inputs, 2), dtype=np.int64)
        for part in chunks(size, self.view_bytes):
            order = rng.integers(0, self.inputs, part)
            often = np.bincount(order, minlength=self.inputs)
            made = None if self.in_order is None else self.in_order(self.many.inputs, order.tolist())
            for position in np.flatnonzero(often).tolist():
                x, asked = self.many.inputs[position], int(often[position])
                views = self.sample(x, asked, rng) if made is None else made[position]
                table += k_inputs.tabulate(read(self.many.guess, views, asked, x), position, self.inputs)
        return table

    def count(self, rules: Sequence[k_inputs.SubsetRule], sample: Sample) -> list[tuple[int, int]]:
        """See `Target`."""
        return [rule.count(sample) for rule in rules]

    def measure(self, rules: Sequence[k_inputs.SubsetRule], size: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """See `Target`."""
        return self.count(rules, self.collect(size, rng))

    def choose(self, samples: Sequence[Sample], views: int, aim: two_inputs.Aim) -> two_inputs.Choice:
        """See `Target`."""
        table = np.asarray(np.sum([np.zeros((self.inputs, 2), dtype=np.int64), *samples], axis=0, dtype=np.int64))
        return k_inputs.choose_subset(self.many, table, views, aim)


Game: TypeAlias = Target | KInputs  # draw an input uniformly, look at the view, guess which


def read(of: Callable[[Any], NDArray[Any]], views: Any, size: int, x: Any) -> NDArray[Any]:
    """A number of each view; foreign code may have returned what is no view of the mechanism.

    Raises ImplementationError where they are not views of the mechanism.
    """
    try:
        found = of(views)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise ImplementationError(f"needs views of the declared mechanism, got {shown(views, 80)}: {error}", x) from error
    if found.shape != (size,) or not np.issubdtype(found.dtype, np.number):
        raise ImplementationError(f"needs {size} views of the declared mechanism, got {found.shape}", x)
    return found
