"""From a plan to a target: the losses of independent runs add."""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.attacks.attack import Attack
from ldpaudit.attacks.games.foreign import Foreign, is_of_numbers
from ldpaudit.attacks.games.game import Target, read
from ldpaudit.attacks.games.stems import attack_on
from ldpaudit.attacks.games.two_inputs import ScoreLaw
from ldpaudit.errors import ImplementationError, Unsupported, shown
from ldpaudit.mechanism import SHORT, Mechanism, is_ours
from ldpaudit.neighbours import Neighbours
from ldpaudit.plan import Compose, Plan, Poisson, Repeat, Run, as_plan

RUNS, RUNS_A_VIEW = 2 * 10**7, 1 << 11
"""Runs that an audit draws at most where a view is several, and those of one view, drawn by as many calls: 1e6 calls took 20 s."""
NUMBERS, NUMBERS_A_VIEW = 1 << 32, 1 << 26
"""Numbers that an audit draws at most where views are long, 10 s of bits; and those of one view, which takes up to 2 GiB."""
LONG = 1 << 16  # numbers of a view up to which they are added up for an attack of their own
LEAST_VIEWS = 16  # an audit of fewer views shows nothing
Implementation = Mechanism | Callable[..., Any] | None


def target(
    plan: Plan | Mechanism,
    neighbours: Neighbours | None,
    implementation: Implementation = None,
    delta: float = 0.0,
    by: Callable[[Mechanism, Attack], Attack] = lambda _, found: found,
) -> Target:
    """The target that a plan makes, of the attacks on its mechanisms; delta only guides the choice of the pair.

    Raises Unsupported for a node that cannot be sampled.
    """
    plan = as_plan(plan)
    match plan:
        case Run(mechanism):
            return played(mechanism, by(mechanism, attack_on(mechanism, neighbours, delta)), implementation)
        case Repeat(inner, times):
            return _sum([(target(inner, neighbours, implementation, delta, by), times)])
        case Compose(parts):
            return _sum([(target(part, neighbours, implementation, delta, by), 1) for part in parts])
        case Poisson(inner, rate):
            return _at_times(target(inner, neighbours, implementation, delta, by), float(rate))
    raise Unsupported(plan, f"no attack on {type(plan).__name__}: it cannot be sampled")


def repeated(one: Target, times: int) -> Target:
    """The target that several independent runs make, each on the same pair."""
    return replace(_sum([(one, times)]), calibrated=one.calibrated, undeclared=one.undeclared, law=one.law)


def composed(parts: list[tuple[Target, int]]) -> Target:
    """The target that independent targets make together, each as often as is said, on data sets or inputs of their own."""
    pair = ("; ".join(f"{part.pair[side]}{f', {times} times' if times > 1 else ''}" for part, times in parts) for side in (0, 1))
    calibrated, undeclared = all(part.calibrated for part, _ in parts), any(part.undeclared for part, _ in parts)
    laws = [part.law.times(times) for part, times in parts if part.law is not None]
    law = reduce(ScoreLaw.plus, laws) if len(laws) == len(parts) else None
    return replace(_sum(parts), pair=(next(pair), next(pair)), calibrated=calibrated, undeclared=undeclared, law=law)


def by_its_numbers(m: Mechanism, found: Attack) -> Attack:
    """The same pair, told apart by the numbers of a view: code may betray its input by those that the attack's score passes over.

    Raises Unsupported where its views are not numbers, or too long.
    """
    if m.view_length > LONG or not is_of_numbers(own := [m.sample(x, 1, np.random.default_rng(0)) for x in found.pair]):
        raise Unsupported(m, f"its views are not rows of at most {LONG} numbers")
    rows = np.concatenate([np.asarray(each, dtype=np.float64).reshape(1, -1) for each in own])
    middle, spread = rows.mean(axis=0), np.maximum(np.abs(rows[0] - rows[1]), 1.0)
    weights = np.random.default_rng(0).uniform(0.5, 1, len(middle))

    def score(views: Any) -> NDArray[np.float64]:
        numbers = (np.asarray(views, dtype=np.float64).reshape(len(views), -1) - middle) / spread
        # Rounded, so that equal sums in another order stay equal.
        return np.asarray(np.round(numbers @ weights, 9))

    return Attack(found.pair, score, "{the numbers of the view, added up by fixed weights}")


def runs(plan: Plan) -> int:
    """How often a mechanism is run for one view."""
    return _added_up(plan, lambda _: 1)


def numbers(plan: Plan) -> int:
    """How many numbers a view holds, those of all its runs."""
    return _added_up(plan, lambda m: m.view_length)


def _added_up(plan: Plan, of: Callable[[Mechanism], int]) -> int:
    """The sum over all runs of one view; a plan that cannot be sampled has none of its own and counts as its parts."""
    if isinstance(plan, Run):
        return of(plan.mechanism)
    parts = sum(_added_up(part, of) for part in plan.parts) if plan.parts else 1
    return plan.times * parts if isinstance(plan, Repeat) else parts


def views_within(plan: Plan | Mechanism, trials: int) -> int:
    """As many of the views as can be drawn, each run after the other.

    Raises Unsupported where a view takes more runs than can be drawn, or holds more numbers.
    """
    plan = as_plan(plan)
    if (each := runs(plan)) > RUNS_A_VIEW:
        raise Unsupported(plan, f"a view is {each} runs, which are drawn one after the other; at most {RUNS_A_VIEW} are drawn")
    if (length := numbers(plan)) > NUMBERS_A_VIEW:
        raise Unsupported(plan, f"a view is {length} numbers, all of which are drawn; at most {NUMBERS_A_VIEW} are drawn")
    # A run of its own is drawn with many others by one call.
    return min(trials, trials if each == 1 else RUNS // each, trials if length <= SHORT else NUMBERS // length)


def played(m: Mechanism, found: Attack, implementation: Implementation) -> Target:
    """The target that one run makes, by this attack."""
    size = memory(m.sample(found.pair[0], 1, np.random.default_rng(0)))
    if implementation is None and is_ours(m):

        def own(side: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
            return found.score((found.views or m.sample)(found.pair[side], size, rng)) if size else np.zeros(0)

        return Target(found.pair, found.event, own, size)
    code = Foreign(m, m if implementation is None else implementation, found.pair)

    def draw(side: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        x = found.pair[side]
        # Foreign code is never asked for 0 views.
        return scores_of(found, code.sample(x, size, rng), size, x) if size else np.zeros(0)

    def mixed(sides: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        made = zip(found.pair, code.in_order(found.pair, sides.tolist()), strict=True)
        return tuple(scores_of(found, views, len(views), x) if len(views) else np.zeros(0) for x, views in made)

    return Target(found.pair, found.event, draw, size, mixed=mixed if code.one_by_one else None, odd=(code.odd,))


def scores_of(found: Attack, views: Any, size: int, x: Any) -> NDArray[np.float64]:
    """Scores of views. Raises ImplementationError where they are not views of the mechanism, or where one is of neither input."""
    scores = read(lambda views: np.asarray(found.score(views), dtype=np.float64), views, size, x)
    if (unread := np.isnan(scores)).any():
        view = shown(np.asarray(views)[unread][0].tolist(), 80)
        either = " or ".join(shown(x, 80) for x in found.pair)
        raise ImplementationError(f"needs views that the declared law has on {either}, got {view}", x)
    return scores


def memory(views: Any) -> int:
    """Bytes of one view."""
    return int(getattr(views, "nbytes", 64))


def _at_times(one: Target, rate: float) -> Target:
    """The target that a run makes which happens with this probability, by coins of ours; where nothing is sent, the score is 0."""

    def draw(side: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        sent, found = rng.random(size) < rate, np.zeros(size)
        found[sent] = one.draw(side, int(np.count_nonzero(sent)), rng)
        return found

    def mixed(sides: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        # Nobody hands over a generator here: the coins come of all sides together, which are random, and of none alone.
        sent = np.random.default_rng(sides).random(len(sides)) < rate
        made = one.mixed(sides[sent])  # type: ignore[misc]
        return tuple(np.append(of_it, np.zeros(np.count_nonzero(sides[~sent] == side))) for side, of_it in enumerate(made))

    return replace(one, event=f"{one.event}, where a report is sent", draw=draw, mixed=None if one.mixed is None else mixed)


def _sum(parts: list[tuple[Target, int]]) -> Target:
    def draw(side: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        total = np.zeros(size)
        for part, times in parts:
            for _ in range(times):
                total += part.draw(side, size, rng)
        if np.isnan(total).any():
            raise ImplementationError("needs views of one of the two inputs, got some that are impossible on both", first[side])
        # Sums of equal losses in another order must compare equal, or thresholds would split an atom.
        return np.round(total, 9)

    events = " and ".join(f"{part.event} in each of {times}" if times > 1 else part.event for part, times in parts)
    pair = tuple(tuple(part.pair[side] for part, _ in parts) for side in (0, 1))
    first = parts[0][0].pair if len(parts) == 1 else (pair[0], pair[1])
    return Target(first, events, draw, sum(part.view_bytes for part, _ in parts), odd=sum((part.odd for part, _ in parts), ()))
