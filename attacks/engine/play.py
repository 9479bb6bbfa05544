"""Choose the rule of guessing, then count: once with the whole budget, or looking all the time and stopping early.

With a fixed sample the rule is chosen on views that the bound never sees. In a sequential audit the bound holds whatever
the rule learns from the past: there every view counts, and the rule is chosen again from all views so far whenever their
number has doubled.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from ldpaudit.attacks.bounds import binomial
from ldpaudit.attacks.bounds.counts import Counts, LevelTest
from ldpaudit.attacks.bounds.level import level_test
from ldpaudit.attacks.engine.work import LARGEST, SMALLEST, Checkpoint, State, Unit
from ldpaudit.attacks.games.game import Game, Wager
from ldpaudit.attacks.games.sources import Source, games
from ldpaudit.attacks.games.two_inputs import Aim, Choice
from ldpaudit.claim import SLACK
from ldpaudit.core.units import stream
from ldpaudit.evidence import Mode
from ldpaudit.workers.experiment import HERE, Execution, Experiment

CHOOSING, CHOOSING_BLIND = 0.05, 0.15
"""Share of a fixed sample that chooses the rule: where the views fit the declared law, and where they do not. Measured by
`benchmarks.audit efficiency`: 1.07 times the views that the best rule needs, at most."""
LEARNING = 1 << 18  # views that a rule is chosen from, at most: more no longer change it, and they are sorted
LEARNING_BELIEVED, LEARNING_ELSE = 16, 4
"""A sequential audit chooses rules until a 16th of the budget, or until a 4th where the views do not fit the declared law."""
FINAL = 0.1
"""Share of the level that a sequential audit keeps for a last look, at all that followed the last choice of a rule."""
FIRST, FIRST_UNDECLARED, FIRST_KNOWN, FIRST_DELTA = 32, 128, 128, 4096
"""Views that the first rule of a sequential audit is chosen from, at most; and at most a 16th of the budget. Of foreign code they
choose among games of which nothing declared says what they promise. At delta > 0
that rule also settles how many directions the test allows delta for, which is worth more views; where the rule is known, they only
choose the stake, and code that always shows its input is refuted after 622 views in place of 4,728."""
STEP = 24
"""A sequential audit looks at its counts whenever it has a 24th more views: on average it stops a 48th too late."""
LEAST = 32  # views between two looks, at least
RATIOS = (1.05, 1.0, 1.2, 1.5, 2.5)
"""Multiples of the claimed epsilon that a sequential audit bets on; most on the first, which takes longest to tell from the
claim. With these `benchmarks.audit efficiency` finds medians of 0.94 to 1.14 times the mean of the best bet."""
MOST_STAKED = 0.9  # share of the e-process that a wrong guess may cost at delta > 0
CERTAIN = 20.0  # epsilon that is bet on where the declared one is infinite: one guess in 5e8 is wrong there


@dataclass(frozen=True, slots=True)
class Look:
    """Counts, and the test that they are put to."""

    mode: Mode
    share: float  # of the level
    directions: int  # how many of the inputs the test allows a delta for
    counts: Counts
    tuning: tuple[float, ...] = ()  # what a sequential test bets on
    place: int = 0  # whose guesses are counted: 0 for the rule's, else a narrower rule's


@dataclass(frozen=True, slots=True)
class Job:
    """An audit: what is sampled, what is asked, and who does the work."""

    source: Source
    experiment: Experiment
    execution: Execution = HERE
    share: float = 1.0  # of the level; the rest is spent elsewhere

    @property
    def description(self) -> str:
        """All that the samples and the bound depend on."""
        return f"{self.source.description} {self.experiment} {self.share}"

    @property
    def sequential(self) -> bool:
        """Whether the counts are looked at again and again."""
        return self.experiment.mode is Mode.SEQUENTIAL

    def aim(self, horizon: int) -> Aim:
        """What rules are chosen for."""
        return Aim(self.experiment.delta, self.experiment.alpha, horizon, self.experiment.epsilon)

    def units(self, game: int, phase: int, start: int, sizes: Iterator[int], rules: tuple[Any, ...] = ()) -> Iterator[Unit]:
        """Units of one phase of the work; the first has the index `start`."""
        for index, size in enumerate(sizes, start):
            yield Unit(self.source, game, self.experiment.seed, (phase, game, index), size, rules)

    def looks(self, state: State) -> list[Look]:
        """The looks at the counts of the rule, and of what began to bet before it."""
        game, counts = self._game(state), state.counts
        left = self._last * game.last * (1 - sum(each.share for each in game.narrower))
        if self.experiment.mode is Mode.FIXED:
            return [Look(Mode.FIXED, left, state.directions, counts)]
        last = Look(Mode.FIXED, left, state.directions, counts - state.since)
        return [*self.any_time(state), last] if state.drawn == self.experiment.trials else self.any_time(state)

    def any_time(self, state: State) -> list[Look]:
        """What is looked at all the time; at every stopping time each of these tests holds at its share of the level."""
        game = self._game(state)
        made = []
        for each in game.wagers:
            # Before the first view there are no counts of narrower rules.
            more = [state.counts, *(state.narrower or [Counts()] * len(game.narrower))][each.place]
            made.append(Look(Mode.SEQUENTIAL, self.ever * each.share, each.directions, each.counts + more, each.tuning, each.place))
        if (own := 1 - sum(each.share for each in game.wagers)) > 1e-9:
            made.append(Look(Mode.SEQUENTIAL, self.ever * own, state.directions, state.counts, state.tuning))
        return made

    def narrow_looks(self, state: State) -> list[Look]:
        """The look at each narrower rule; at the end only, for it is paid for one look."""
        if state.drawn < self.experiment.trials:
            return []
        rules = zip(self._game(state).narrower, state.narrower, strict=False)  # before the first view there are no counts
        return [
            Look(Mode.FIXED, self._last * self._game(state).last * each.share, each.rule.directions, counts, place=place)
            for place, (each, counts) in enumerate(rules, 1)
        ]

    @property
    def ever(self) -> float:
        """Share of the level for looking all the time."""
        return (1 - FINAL) * self.share

    @property
    def _last(self) -> float:
        """Share of the level for the last look."""
        return self.share if self.experiment.mode is Mode.FIXED else FINAL * self.share

    def _game(self, state: State) -> Game:
        return games(self.source)[state.game]

    def test(self, look: Look, inputs: int) -> LevelTest:
        """The test that the counts of a look are put to."""
        asked = self.experiment
        return level_test(look.mode, inputs, asked.delta, look.directions, look.share * asked.alpha, look.tuning)

    def refuted(self, state: State) -> bool:
        """Whether a sequential audit has refuted the claim."""
        if self.experiment.mode is Mode.FIXED or self.experiment.epsilon is None:
            return False
        claimed, inputs = surely_above(self.experiment.epsilon), self._game(state).inputs
        return any(look.counts.right and self.test(look, inputs).refutes(look.counts, claimed) for look in self.any_time(state))

    def silent(self, state: State) -> bool:
        """Whether no rule has guessed on any of the last views, and the game's patience is at its end.

        Where tests go on with another event they are counted from a look that was kept, else from the first view.
        """
        patience, narrower = self._game(state).patience, any(each.right + each.wrong for each in state.narrower)
        since = [Counts(), *(counts for _, counts in state.looks if self._game(state).wagers)]
        quiet = [state.counts - each for each in since if each.right + each.wrong == state.counts.right + state.counts.wrong]
        return bool(quiet) and 0 < patience <= quiet[0].trials and not narrower

    def going_on(self, state: State) -> tuple[Wager, ...]:
        """The any-time tests as they stand, for an audit that goes on with another event."""
        return tuple(Wager(look.share / self.ever, look.directions, look.tuning, look.counts) for look in self.any_time(state))

    def tell(self, state: State) -> None:
        """Report the bound as it stands."""
        if self.execution.progress is None:
            return
        k, c = self._game(state).inputs, state.counts
        if self.experiment.mode is Mode.SEQUENTIAL:
            bound = max(self.test(look, k).epsilon_lower(look.counts) for look in self.any_time(state))
        else:
            share = self.experiment.delta * state.directions / k
            alpha = self.looks(state)[0].share * self.experiment.alpha
            bound = float(binomial.epsilon_lower(c.right, c.wrong, max(c.trials, 1), share, alpha, k))
        self.execution.progress(state.drawn, bound)


def surely_above(epsilon: float) -> float:
    """Beyond the slack to which a claim is read, and beyond the precision of the bound."""
    return epsilon * (1 + 10 * float(SLACK)) + 1e-12


def uncounted(experiment: Experiment, played: Sequence[Game]) -> int:
    """Views of each game that a sequential audit chooses its game and its first rule from."""
    if experiment.delta:
        known = all(game.chosen is not None or game.law is not None for game in played)
        first = FIRST_KNOWN if known else FIRST_DELTA
    else:
        first = FIRST_UNDECLARED if any(game.undeclared for game in played) else FIRST
    return max(1, min(experiment.trials // 16, first) // len(played))


def multiples(claimed: float) -> tuple[float, ...]:
    """Multiples of the claimed epsilon that a sequential audit bets on."""
    return tuple(claimed * ratio for ratio in RATIOS if 0 < claimed < math.inf)


def unit_sizes(job: Job, drawn: int, end: int) -> Iterator[int]:
    """Sizes of the units from `drawn` views on; they depend on that number and the budget alone."""
    even = min(max(-(-job.experiment.trials // 64), SMALLEST), LARGEST)
    while drawn < end:
        size = even if job.experiment.mode is Mode.FIXED else min(max(LEAST, drawn // STEP), LARGEST)
        yield min(size, end - drawn)
        drawn += min(size, end - drawn)


def _first(job: Job, views: int, start: int = 0, known: list[list[Any]] | None = None) -> list[tuple[Choice, list[Any]]]:
    """For each game the rule chosen on views of its own, and these views; the first `start` of them may be known."""
    found = []
    for index, game in enumerate(games(job.source)):
        units = job.units(index, 0, start, unit_sizes(job, start, views))
        samples = [*(known[index] if known else []), *stream(units, job.execution.executor)]
        found.append((game.choose(samples, views, job.aim(max(job.experiment.trials - views, 1))), samples))
    return found


def begin(job: Job) -> State:
    """Choose the game and its rule; a sequential audit counts meanwhile."""
    return _learn(job) if job.experiment.mode is Mode.SEQUENTIAL else _choose(job)


def _choose(job: Job) -> State:
    """Fixed sample: choose the game and the rule on views that are not counted."""
    played = games(job.source)
    if (known := played[0].chosen) is not None and len(played) == 1:
        return State(0, known, known.directions, (), 0, 0)
    few, more = (min(int(job.experiment.trials * part), LEARNING) // len(played) for part in (CHOOSING, CHOOSING_BLIND))
    found = _first(job, few)
    if not all(choice.believed for choice, _ in found):
        found, few = _first(job, more, few, [samples for _, samples in found]), more
    best = max(range(len(played)), key=lambda i: found[i][0].promise)
    rule = found[best][0].rule
    return State(best, rule, rule.directions, (), few * len(played), 0)


def _learn(job: Job) -> State:
    """Sequential: choose the game on a few views that are not counted, then ever better rules while counting."""
    played = games(job.source)
    if played[0].wagers and (known := played[0].chosen) is not None:
        return State(0, known, known.directions, played[0].wagers[-1].tuning, 0, 0)
    views = uncounted(job.experiment, played)
    found = _first(job, views)
    best = max(range(len(played)), key=lambda i: found[i][0].promise)
    (choice, samples), game = found[best], played[best]
    state = State(best, choice.rule, choice.rule.directions, (), views * len(played), 0)
    state = replace(state, tuning=bets(job.experiment, game.inputs, choice, views))
    if game.chosen is not None or game.law is not None:
        return state
    early, late = (min(job.experiment.trials // part, LEARNING) for part in (LEARNING_BELIEVED, LEARNING_ELSE))
    seen, look = views, 2 * views
    sizes = list(unit_sizes(job, state.drawn, late))
    results = stream(job.units(best, 1, 0, iter(sizes)), job.execution.executor)
    for size, sample in zip(sizes, results, strict=True):
        state = _count(job, state, size, game.count(_rules(game, state), sample))
        samples, seen = [*samples, sample], seen + size
        job.tell(state)
        if job.refuted(state):
            break
        done = state.drawn >= (early if choice.believed else late)
        if seen >= look or done:
            choice = game.choose(samples, seen, job.aim(min(4 * seen, job.experiment.trials)))
            state, look = _again(job, game, state, choice, seen), 2 * look
        if done and (choice.believed or state.drawn >= late):
            break
    results.close()
    return replace(state, since=state.counts)


def _again(job: Job, game: Game, state: State, choice: Choice, seen: int) -> State:
    """The state with a better rule.

    The bets, and the directions that the test allows delta for, stay as they are once a view has moved the e-process: at
    delta = 0 a guess moves it, else every view.
    """
    c, directions = state.counts, choice.rule.directions
    if not (c.trials if job.experiment.delta else c.right + c.wrong):
        return replace(state, rule=choice.rule, directions=directions, tuning=bets(job.experiment, game.inputs, choice, seen))
    if not directions or (job.experiment.delta and directions > state.directions):
        return state
    return replace(state, rule=choice.rule, directions=max(directions, state.directions))


def _rules(game: Game, state: State) -> tuple[Any, ...]:
    """The rule, and the narrower ones."""
    return state.rule, *(each.rule for each in game.narrower)


def _count(job: Job, state: State, size: int, counted: Sequence[tuple[int, int]]) -> State:
    counts, *rest = (Counts(*each, size) for each in counted)
    before = state.narrower or [Counts()] * len(rest)
    after = replace(
        state,
        drawn=state.drawn + size,
        units=state.units + 1,
        counts=state.counts + counts if state.directions else state.counts,
        narrower=tuple(a + b for a, b in zip(before, rest, strict=True)),
    )
    kept = is_kept(after.drawn, [drawn for drawn, _ in after.looks])
    # In fixed mode the bounds of several looks would not hold together.
    return replace(after, looks=(*after.looks, (after.drawn, after.counts))) if kept and job.sequential else after


def is_kept(drawn: int, before: Sequence[int]) -> bool:
    """Whether a look is kept: the first one, then each with 1.5 times the views of the last one kept, or more."""
    return not before or 2 * drawn >= 3 * before[-1]


def bets(asked: Experiment, inputs: int, choice: Choice, seen: int, learned: bool = False) -> tuple[float, ...]:
    """What a sequential test bets on: the epsilon that the rule promises, and multiples of the claimed one.

    ``learned``: whether the choice's rates were counted on views that did not choose its score, so that they are bet on as
    those of a law are.
    """
    if not choice.rule.directions:
        return ()
    claimed = asked.epsilon
    share = asked.delta * choice.rule.directions / inputs
    right, wrong = choice.right - share, choice.wrong if choice.believed else max(choice.wrong, 0.5 / seen)
    expected = CERTAIN if wrong == 0 else math.log(max(right, 1e-9) / wrong) + math.log(inputs - 1)
    expected = min(max(expected, 0.0), CERTAIN)
    if asked.delta:
        null = claimed if claimed is not None and claimed < expected else 0.95 * expected
        return _stakes(choice, share, math.exp(null) / (inputs - 1))
    if claimed is None:
        return (expected,) if expected > 0 else ()
    known = multiples(claimed)
    return (expected, *known) if (choice.believed or learned) and expected > 0 else known


def may_be_bet(tuning: tuple[float, ...], directions: int, inputs: int, asked: Experiment) -> bool:
    """Whether a sequential audit of this claim could have chosen these bets for a rule of this many directions."""
    if not directions:
        return not tuning
    if asked.delta:
        return not tuning or (len(tuning) == 1 and 0 < tuning[0] <= MOST_STAKED * (inputs - 1))
    multiple = () if asked.epsilon is None else multiples(asked.epsilon)
    first = tuning[: len(tuning) - len(multiple)]
    return tuning == (*first, *multiple) and (not first or (len(first) == 1 and 0 < first[0] <= CERTAIN))


def _stakes(choice: Choice, share: float, odds: float) -> tuple[float, ...]:
    """The stake under which the e-process grows fastest; none where it does not grow. Source: Kelly 1956."""
    stakes = np.geomspace(1e-4, MOST_STAKED, 200) / (odds + share)
    rest = 1 - choice.right - choice.wrong
    grown = choice.right * np.log1p(stakes * (1 - share)) + choice.wrong * np.log1p(-stakes * (odds + share))
    grown += special.xlog1py(rest, -stakes * share)
    best = int(np.argmax(grown))
    return (float(stakes[best]),) if grown[best] > 0 else ()


def measure(job: Job, state: State, checkpoint: Checkpoint | None = None) -> State:
    """Count by the rule as it is, until the budget is spent, the claim is refuted, or patience with a silent rule ends."""
    if checkpoint:
        checkpoint.save(state)
    if job.refuted(state) or job.silent(state):
        return state
    sizes = list(unit_sizes(job, state.drawn, job.experiment.trials))
    rules = _rules(games(job.source)[state.game], state)
    units = job.units(state.game, 2, state.units, iter(sizes), rules)
    results = stream(units, job.execution.executor)
    for size, counted in zip(sizes, results, strict=True):
        state = _count(job, state, size, counted)
        if checkpoint:
            checkpoint.save(state)
        job.tell(state)
        if job.refuted(state) or job.silent(state):
            break
    results.close()
    return state
