"""Where games come from: a plan, or a target that is at hand."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, cast

import numpy as np

from ldpaudit.attacks.games import k_inputs, plans, shuffled, summed
from ldpaudit.attacks.games.foreign import Foreign
from ldpaudit.attacks.games.game import Game, KInputs, Target
from ldpaudit.attacks.games.stems import attack_on
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, is_ours
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.plan import Aggregate, Compose, Plan, Repeat, Run, Shuffle, as_plan, flat
from ldpaudit.profile import Witness

CHECKED = 1000  # views that are looked at again


class Source(Protocol):
    """Where games come from: a target, which must pickle, or a plan. It is sent to the workers, and they make the games."""

    @property
    def description(self) -> str:
        """What is sampled, in words that are the same in every run of the program."""

    def games(self) -> tuple[Game, ...]:
        """The games that can be played, the one on two inputs first."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The games of a plan."""

    plan: Plan | Mechanism  # what is declared
    neighbours: Neighbours | None = None  # the relation; by default the mechanism's usual one
    # code that is sampled in place of the plan's mechanism
    implementation: Mechanism | Callable[..., Any] | None = None
    delta: float = 0.0  # of the bound; it only guides the choice of the pair
    witness: Witness | None = None  # of a shuffled plan or a sum: which two data sets are played

    @property
    def description(self) -> str:
        """See `Source`."""
        code = self.implementation
        kind: Any = code if hasattr(code, "__qualname__") else type(code)  # its own words may hold an address in memory
        shown = str(code) if isinstance(code, Mechanism) else f"{kind.__module__}:{kind.__qualname__}"
        played = "" if self.witness is None else f" {self.witness.pair[0]} against {self.witness.pair[1]}"
        return f"{self.plan} {self.neighbours} {shown}{played}"

    def games(self) -> tuple[Game, ...]:
        """See `Source`."""
        plan = as_plan(self.plan)
        if isinstance(plan, Shuffle) and plan.users > 1:
            return shuffled.games(plan, self.neighbours, self.implementation, self.delta, self.witness)
        if isinstance(plan, Aggregate) and not plan.is_one_report:
            return summed.games(plan, self.neighbours, self.implementation, self.delta, self.witness)
        plan = plan.plan if isinstance(plan, Shuffle | Aggregate) else plan
        if _of_all_users(plan):
            return self._composed(plan)
        if not isinstance(plan, Run):
            target = plans.target(plan, self.neighbours, self.implementation, self.delta)
            return (replace(target, calibrated=True), *self._by_numbers(plan))
        m = plan.mechanism
        found = attack_on(m, self.neighbours, self.delta)
        target, *baits = (
            replace(plans.played(m, each, self.implementation), calibrated=True)
            for each in (found, *found.baits)
            if each.views is None or (self.implementation is None and is_ours(m))
        )
        many = k_inputs.of_law(m) if (self.neighbours or m.relations[0]) == REPLACE_ONE else None
        played = target, *baits, *self._by_numbers(plan)
        if many is None:
            return played
        if self.implementation is None and is_ours(m):
            return *played, KInputs(many, m.sample, target.view_bytes)
        code = Foreign(m, self.implementation or m, many.inputs)
        return *played, KInputs(many, code.sample, target.view_bytes, in_order=code.in_order if code.one_by_one else None)

    def _composed(self, plan: Plan) -> tuple[Target, ...]:
        """Of several sums or shuffles: the first games of all, the second ones, and so on; of one that has fewer its last again."""
        parts = [(replace(self, plan=part).games(), times) for part, times in flat(plan)]
        on_two = [([game for game in played if isinstance(game, Target)], times) for played, times in parts]
        most = max(len(played) for played, _ in on_two)
        each = ([(played[min(place, len(played) - 1)], times) for played, times in on_two] for place in range(most))
        return tuple(map(plans.composed, each))

    def _by_numbers(self, plan: Plan) -> tuple[Game, ...]:
        """Of code that is not the plan's own, what its numbers tell that no declared score reads."""
        if self.implementation is None:
            return ()
        try:
            target = plans.target(plan, self.neighbours, self.implementation, self.delta, plans.by_its_numbers)
        except Unsupported:
            return ()
        return (replace(target, undeclared=True),)


def _of_all_users(plan: Plan) -> bool:
    """Whether sums or shuffles of all users' reports are parts of a composition."""
    return isinstance(plan, Repeat | Compose) and any(isinstance(part, Shuffle | Aggregate) for part, _ in flat(plan))


def views_within(plan: Plan, implementation: Mechanism | Callable[..., Any] | None, trials: int) -> int:
    """As many of the views as can be drawn: each is as many reports as there are users of a plan of all users.

    Raises Unsupported where these are too few.
    """
    if isinstance(plan, Aggregate) and not plan.is_one_report:
        return summed.views_within(plan, implementation, trials)
    if isinstance(plan, Shuffle) and plan.users > 1:
        return shuffled.views_within(plan, implementation, trials)
    if not _of_all_users(plan):
        return plans.views_within(plan, trials)
    parts = list(flat(plan))
    runs = sum(times for _, times in parts)
    if runs > plans.RUNS_A_VIEW:
        most = plans.RUNS_A_VIEW
        raise Unsupported(plan, f"a view is {runs} sums or shuffles, which are drawn one after the other; at most {most} are drawn")
    each = min(views_within(part, implementation, trials) for part, _ in parts)
    found = min(plans.RUNS // runs, each if each == trials else each // runs)
    if found < plans.LEAST_VIEWS:
        raise Unsupported(plan, f"a view is {runs} sums or shuffles, and even {plans.LEAST_VIEWS} views are too many to draw")
    return found


def require_possible(source: Source, seed: int, elsewhere: bool) -> None:
    """Raise what was odd about views of code that was not refuted; where they were drawn elsewhere, of as many drawn here.

    Raises ImplementationError where a view is not one of the declared law, though each of its numbers may be.
    """
    played = [game for game in games(source) if isinstance(game, Target)]
    if elsewhere:
        played[0].collect(CHECKED, np.random.default_rng([seed, CHECKED]))
    for error in (error for game in played for odd in game.odd for error in odd):
        raise error


@lru_cache(maxsize=8)
def _kept(source: Any) -> tuple[Game, ...]:
    return tuple(source.games())


def games(source: Source) -> tuple[Game, ...]:
    """The source's games; made once per process where the source is hashable."""
    try:
        hash(source)
    except TypeError:
        return source.games()
    return _kept(cast(Hashable, source))
