"""The auditor against the information limit: views used over views needed.

    python -m benchmarks.audit [efficiency] [blackbox] [name of a case ...]

"Needed" is what a player who knows the best event needs: by the guess game with a fixed sample, half of the time; any time,
on average, by the growth of the best bet; on k inputs the same of the k-input game. To be certified is 0.95 epsilon at
confidence 0.95. A black box is given the two inputs, and neither the mechanism nor the event.

Not among the cases: the Bucket mechanism as printed, whose hundreds of bits that differ show the whole of epsilon on views
too rare to be ever drawn (here it has two bits); THRESH, whose epsilon is none of its parameters: users, rounds and delta
that make it one of the four values would have to be sought.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import special, stats

from benchmarks.experiment import options, show
from ldpaudit.attacks.blackbox import late, target
from ldpaudit.attacks.bounds import binomial
from ldpaudit.attacks.bounds.level import level_test
from ldpaudit.attacks.engine import play
from ldpaudit.attacks.games.game import Game
from ldpaudit.attacks.games.sources import Planned
from ldpaudit.attacks.games.stems import attack_on
from ldpaudit.evidence import Form, Mode
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms import Hashtogram, LocalHashing, PermanentRappor, SignOracle, SubsetSelection, UnaryEncoding
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.mechanisms.one_bit import DBitFlip, OneBitMean
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.workers.experiment import Experiment, Reading

RHO, ALPHA = 0.95, 0.05
EPSILONS = (0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True)
class Case:
    """A mechanism, and the probability that a view's loss is plus or minus epsilon; 1 on all k inputs."""

    name: str
    make: Callable[[float], Mechanism]
    fires: Callable[[Any], float]
    inputs: int = 2


def _unary(m: UnaryEncoding) -> float:
    return float(m.p * (1 - m.q) + m.q * (1 - m.p))


def _atoms(m: Mechanism) -> float:
    """Probability of the views with the largest loss, by enumeration."""
    first, second = (m.law(x) for x in attack_on(m).pair)
    chances = [(first.probability(y), second.probability(y)) for y in first.views()]
    losses = [abs(math.log(a / b)) if a and b else 0.0 for a, b in chances]
    return float(sum((a + b) / 2 for (a, b), loss in zip(chances, losses, strict=True) if loss > max(losses) * (1 - 1e-9)))


CASES = (
    Case("binary randomized response", lambda e: KaryRandomizedResponse.for_epsilon(e, k=2), lambda m: 1.0),
    Case("100-ary randomized response", lambda e: KaryRandomizedResponse.for_epsilon(e, k=100),
         lambda m: float(m.p + m.lie)),
    Case("  its k-input game", lambda e: KaryRandomizedResponse.for_epsilon(e, k=100), lambda m: 1.0, 100),
    Case("symmetric unary encoding, k=10", lambda e: UnaryEncoding.symmetric(e, k=10), _unary),
    Case("optimized unary encoding, k=10", lambda e: UnaryEncoding.optimized(e, k=10), _unary),
    Case("binary local hashing", lambda e: LocalHashing.binary(e, domain=100),
         lambda m: float((1 - m.collision) * (m.p + m.lie))),
    Case("optimal local hashing", lambda e: LocalHashing.optimal(e, domain=100),
         lambda m: float((1 - m.collision) * (m.p + m.lie))),
    Case("subset selection, k=10", lambda e: SubsetSelection.optimal(e, k=10),
         lambda m: float((m.p * (m.k - m.d) + (1 - m.p) * m.d) / (m.k - 1))),
    Case("Hadamard response, k=10", lambda e: HadamardResponse.for_epsilon(e, k=10), lambda m: 0.5),
    Case("Laplace", Laplace.for_epsilon, lambda m: (1 + math.exp(-float(1 / m.scale))) / 2),
    Case("Laplace histogram, k=8", lambda e: LaplaceHistogram.for_epsilon(e, k=8),
         lambda m: (1 + math.exp(-float(2 / m.scale))) / 4),
    Case("Bucket, two bits", lambda e: BucketHeavyHitter.for_epsilon(e, domain=1 << 20, rows=2, trials=1),
         lambda m: (1 + math.exp(-float(2 / m.scale))) / 4),
    Case("permanent RAPPOR, 8 bits", lambda e: PermanentRappor.for_epsilon(e, bits=8, hashes=2, domain=50), _atoms),
    Case("1BitMean", OneBitMean.for_epsilon, _atoms),
    Case("dBitFlip, 3 of 5", lambda e: DBitFlip.for_epsilon(e, k=5, d=3), _atoms),
    Case("count mean sketch, 8 wide", lambda e: CountMeanSketch.for_epsilon(e, width=8, hashes=8, domain=50), _atoms),
    Case("its Hadamard form, 16 wide",
         lambda e: HadamardCountMeanSketch.for_epsilon(e, width=16, hashes=32, domain=100), _atoms),
    Case("hashtogram", lambda e: Hashtogram.for_epsilon(e, users=1 << 20, domain=1 << 40), _atoms),
    Case("sign oracle", lambda e: SignOracle.for_epsilon(e, users=1 << 20, domain=100), _atoms),
)
UNKNOWABLE = ("local hashing",)
"""A view is the seed of a public hash function: who does not know the family cannot learn what it says of an input."""
ROUNDED = Reading(Form.CANONICAL)  # raw floats leak more than the mechanism does: the grid that they lie on
RATIOS = tuple((np.arange(12, 31) / 10).tolist())
"""Multiples of the needed views that a black box is given; it learns from a share of them, so that fewer do not suffice."""


def share(epsilon: float, inputs: int) -> float:
    """Largest probability of a right guess."""
    return float(special.expit(epsilon - math.log(inputs - 1)))


def any_time(fires: float, epsilon: float, inputs: int = 2, alpha: float = ALPHA) -> float:
    """Expected views of the best bet against ``RHO * epsilon``."""
    p, q = share(epsilon, inputs), share(RHO * epsilon, inputs)
    divergence = float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q))
    return math.log(1 / alpha) / (fires * divergence)


def reach(views: int, right: float, wrong: float, epsilon: float, inputs: int = 2, alpha: float = ALPHA) -> float:
    """Probability that the exact bound on n views is ``RHO * epsilon`` at least."""
    fires = right + wrong
    middle, spread = views * fires, 5 * math.sqrt(views * fires * max(1 - fires, 0.0))
    guesses = np.unique(np.linspace(max(middle - spread, 1), middle + spread, 101).round())
    weight = np.exp(-(((guesses - middle) / max(spread / 5, 1e-9)) ** 2) / 2)
    least = stats.binom.isf(alpha * (1 - binomial.MARGIN), guesses, share(RHO * epsilon, inputs)) + 1
    hits = np.where(least <= guesses, special.betainc(least, np.maximum(guesses - least + 1, 1), right / fires), 0.0)
    return float((weight * hits).sum() / weight.sum())


def guess_game(fires: float, epsilon: float, inputs: int = 2) -> int:
    """Fewest views with which the exact bound reaches ``RHO * epsilon`` half of the time."""
    p = share(epsilon, inputs)
    return _first(lambda n: reach(n, fires * p, fires * (1 - p), epsilon, inputs), 1.0)


def _first(power: Callable[[int], float], start: float) -> int:
    """Where a power passes a half and, its steps smoothed over a few neighbours, stays."""
    n, step = start, 2.0
    while step > 1.002:
        while _smooth(power, round(n * step)) < 0.5:
            n *= step
        step = math.sqrt(step)
    return round(n * step)


def _smooth(power: Callable[[int], float], n: int) -> float:
    return float(np.mean([power(max(1, round(n * ratio))) for ratio in (0.99, 0.995, 1.0, 1.005, 1.01)]))


@dataclass(frozen=True)
class Only:
    """A source of one game alone."""

    case: Case
    m: Mechanism

    @property
    def description(self) -> str:
        """As a source has it."""
        return self.case.name

    def games(self) -> tuple[Game, ...]:
        """The case's game."""
        return (next(game for game in Planned(self.m).games() if game.inputs == self.case.inputs),)


def rates(case: Case, m: Mechanism, epsilon: float, event: Any, views: int = 400_000) -> tuple[float, float]:
    """Probabilities of a right and a wrong guess; estimated where an event is not the atoms of loss epsilon."""
    p, fires = share(epsilon, case.inputs), case.fires(m)
    game, rng = Only(case, m).games()[0], np.random.default_rng(0)
    ((right, wrong),) = game.measure([event], views, rng)
    if abs((right + wrong) / views - fires) < 5 * math.sqrt(fires * (1 - fires) / views) + 1e-9:
        return fires * p, fires * (1 - p)
    if case.inputs > 2:
        return right / views, wrong / views
    # A score is the log-odds of its guess, which says more than whether the guess was right.
    scores = np.concatenate(game.collect(views, rng))
    guessed = np.abs(scores[(scores >= event.upper) | (scores <= event.lower)])
    return float(special.expit(guessed).sum() / views), float(special.expit(-guessed).sum() / views)


def fixed_used(case: Case, epsilon: float, needed: int, seeds: int = 5) -> float:
    """Views with which the engine's own choice of event reaches ``RHO * epsilon`` half of the time, over the needed."""
    m = case.make(epsilon)
    known: dict[Any, tuple[float, float]] = {}

    def power(ratio: float) -> float:
        trials, reached = round(ratio * needed), []
        for seed in range(seeds):
            job = play.Job(Only(case, m), Experiment(trials, 1 - ALPHA, seed, 0.0, RHO * epsilon, Mode.FIXED))
            state = play.begin(job)
            if state.rule not in known:
                known[state.rule] = rates(case, m, epsilon, state.rule)
            if not sum(known[state.rule]):
                reached.append(0.0)
                continue
            right, wrong = known[state.rule]
            near = partial(reach, right=right, wrong=wrong, epsilon=epsilon, inputs=case.inputs)
            reached.append(_smooth(near, trials - state.drawn))
        return float(np.mean(reached))

    return next((ratio for ratio in np.arange(0.9, 2.0, 0.01) if power(ratio) >= 0.5), math.inf)


def sequential_used(case: Case, epsilon: float, needed: float, runs: int = 4_000) -> float:
    """Median of the views at which the engine stops, claim ``RHO * epsilon``, over the needed; its looks and its bets."""
    m = case.make(epsilon)
    job = play.Job(Only(case, m), Experiment(10**9, 1 - ALPHA, 1, 0.0, RHO * epsilon))
    (choice, _), *_ = play._first(job, play.FIRST)
    seen = play.FIRST
    while not choice.rule.directions or not choice.right + choice.wrong:  # it looks again at twice as many
        seen *= 2
        (choice, _), *_ = play._first(replace(job, experiment=replace(job.experiment, seed=seen)), seen)
    tuning = play.bets(job.experiment, case.inputs, choice, seen)
    # What is bet stays as it is after the first guess; the event gets better with the views.
    (choice, _), *_ = play._first(job, max(seen, round(needed / 100)))
    right, wrong = rates(case, m, epsilon, choice.rule)
    end = round(8 * needed)
    sizes = np.array(list(play.unit_sizes(job, seen, end)))
    drawn = np.cumsum(sizes)
    test = level_test(Mode.SEQUENTIAL, case.inputs, 0.0, case.inputs, (1 - play.FINAL) * ALPHA, tuning)
    rng, used = np.random.default_rng(1), []
    for _ in range(runs // 500):
        guesses = rng.binomial(sizes, min(right + wrong, 1.0), (500, len(sizes)))
        hits = np.cumsum(rng.binomial(guesses, right / (right + wrong)), axis=1)
        misses = np.cumsum(guesses, axis=1) - hits
        stops = test.log_value(hits, misses, drawn, RHO * epsilon) >= -math.log(test.alpha)  # type: ignore[attr-defined]
        used += np.where(stops.any(axis=1), drawn[stops.argmax(axis=1)] + seen, end).tolist()
    return float(np.median(used)) / needed


def blackbox_used(case: Case, epsilon: float, needed: int, seeds: int = 4) -> float:
    """Views with which a black box reaches ``RHO * epsilon`` half of the time, over the needed, of `RATIOS`."""
    m = case.make(epsilon)
    function: Callable[..., Any] = m.sample

    def power(ratio: float) -> float:
        reached = []
        for seed in range(seeds):
            trials = round(ratio * needed)
            kept = late.late_views(trials, 2)  # for leaks that begin late: they show nothing here
            whole = Experiment(trials - kept, 1 - ALPHA, seed, 0.0, RHO * epsilon, Mode.FIXED)
            found = target.target(function, list(attack_on(m).pair), whole, ROUNDED)
            level = 1 - late.LEVEL if kept else 1.0
            job = play.Job(found.target, replace(whole, trials=found.remaining), share=level)
            state = play.begin(job)
            (look,) = job.looks(state)
            right, wrong = rates_of(job.source.games()[0], state.rule, epsilon, case.fires(m))
            reached.append(reach(found.remaining - state.drawn, right, wrong, epsilon, alpha=ALPHA * look.share) if right else 0.0)
        return float(np.mean(reached))

    # In growing steps until it is enough, then by halves.
    low, high, step = -1, 0, 1
    while high < len(RATIOS) and power(RATIOS[high]) < 0.5:
        low, high, step = high, high + step, step + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle >= len(RATIOS) or power(RATIOS[middle]) < 0.5 else (low, middle)
    return RATIOS[high] if high < len(RATIOS) else math.inf


def rates_of(game: Game, event: Any, epsilon: float, fires: float, views: int = 200_000) -> tuple[float, float]:
    """Probabilities of a right and a wrong guess, measured; where all guesses may have the largest loss, they have it."""
    ((right, wrong),) = game.measure([event], views, np.random.default_rng(0))
    guesses, p = right + wrong, share(epsilon, 2)
    few = guesses <= views * fires + 3 * math.sqrt(views * fires * max(1 - fires, 0.0))
    if few and abs(right - guesses * p) < 3 * math.sqrt(guesses * p * (1 - p)):
        return guesses * p / views, guesses * (1 - p) / views
    return right / views, wrong / views


Row = tuple[str | float, ...]


def blackbox(case: Case, epsilon: float) -> Row | None:
    """Views used by who knows nothing, over those that who knows the event needs; None where they cannot be learnt."""
    if case.inputs > 2 or any(word in case.name for word in UNKNOWABLE):
        return None
    needed = guess_game(case.fires(case.make(epsilon)), epsilon)
    return case.name, epsilon, needed, blackbox_used(case, epsilon, needed)


def efficiency(case: Case, epsilon: float) -> Row:
    """Views used over views needed."""
    fires = case.fires(case.make(epsilon))
    fixed, ever = guess_game(fires, epsilon, case.inputs), any_time(fires, epsilon, case.inputs)
    return case.name, epsilon, fixed, fixed_used(case, epsilon, fixed), ever, sequential_used(case, epsilon, ever)


TABLES: dict[str, tuple[str, Callable[[Case, float], Row | None]]] = {
    "efficiency": (
        "{:32} {eps:>4} {fixed: needed:14,} {used/needed:12.2f} {any time: needed:17,.0f} {median/needed:14.2f}", efficiency
    ),
    "blackbox": ("{:32} {eps:>4} {needed:14,} {used/needed:12.1f}", blackbox),
}


if __name__ == "__main__":
    words = options(__doc__, [*TABLES, *(case.name.strip() for case in CASES)]).names
    names = [word for word in words if word not in TABLES] or [case.name.strip() for case in CASES]
    for columns, measure in [TABLES[word] for word in words if word in TABLES] or TABLES.values():
        found = (measure(case, epsilon) for case in CASES if case.name.strip() in names for epsilon in EPSILONS)
        show(columns, (row for row in found if row is not None))
