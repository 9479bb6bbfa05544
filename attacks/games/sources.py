"""Where games come from: a target that is at hand, or a plan."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, cast

from ldpaudit.adapters.callables import as_sampler, one_by_one
from ldpaudit.attacks.games import k_inputs, plans
from ldpaudit.attacks.games.game import Game, Pair, Target, Which
from ldpaudit.attacks.games.stems import attack_on
from ldpaudit.mechanism import Mechanism
from ldpaudit.neighbours import REPLACE_ONE, Neighbours
from ldpaudit.plan import Plan, Run, as_plan


class Source(Protocol):
    """Where games come from; it travels to the workers, and they are made there."""

    @property
    def description(self) -> str:
        """What is sampled, in words that do not change from one run of the program to the next."""

    def games(self) -> tuple[Game, ...]:
        """The games that can be played, the one on two inputs first."""


@dataclass(frozen=True, slots=True)
class Given:
    """A target that is at hand; it travels only as far as its `draw` pickles."""

    target: Target

    @property
    def description(self) -> str:
        """See `Source`."""
        return f"{self.target.pair} {self.target.event}"

    def games(self) -> tuple[Game, ...]:
        """See `Source`."""
        return (Pair(self.target),)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, the relation, the code that is sampled in place of the plan's mechanism, and the delta that is played for."""

    plan: Plan | Mechanism
    neighbours: Neighbours | None = None
    implementation: Mechanism | Callable[..., Any] | None = None
    delta: float = 0.0

    @property
    def description(self) -> str:
        """See `Source`."""
        code = self.implementation
        kind: Any = code if hasattr(code, "__qualname__") else type(code)  # other words may tell of an address in memory
        shown = str(code) if isinstance(code, Mechanism) else f"{kind.__module__}:{kind.__qualname__}"
        return f"{self.plan} {self.neighbours} {shown}"

    def games(self) -> tuple[Game, ...]:
        """See `Source`."""
        plan = as_plan(self.plan)
        if not isinstance(plan, Run):
            target = plans.target(plan, self.neighbours, self.implementation, self.delta)
            return (Pair(replace(target, calibrated=True)),)
        m = plan.mechanism
        found = attack_on(m, self.neighbours, self.delta)
        target, *baits = (
            replace(plans.played(m, each, self.implementation), calibrated=True) for each in (found, *found.baits)
        )
        many = found.many
        if many is None and (self.neighbours or m.relations[0]) == REPLACE_ONE:
            many = k_inputs.of_law(m)
        if many is None or len(many.inputs) < 3:
            return Pair(target), *map(Pair, baits)
        code = self.implementation or m
        one = code if not isinstance(code, Mechanism) and one_by_one(code) else None
        return Pair(target), *map(Pair, baits), Which(many, as_sampler(code), target.view_bytes, one=one)


@lru_cache(maxsize=8)
def _kept(source: Any) -> tuple[Game, ...]:
    found: tuple[Game, ...] = source.games()
    return found


def games(source: Source) -> tuple[Game, ...]:
    """The source's games; made once a process, where the source can be remembered."""
    try:
        hash(source)
    except TypeError:
        return source.games()
    return _kept(cast(Hashable, source))
