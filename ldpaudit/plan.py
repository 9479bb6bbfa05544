"""What is deployed: a tree of mechanisms and combinators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from inspect import Parameter, Signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.number import brief, exact, show, whole
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism, counted

MOST = 1 << 128
"""Most runs, and most users: no larger number is counted anywhere, and none slips in by a typing error in an exponent."""

_DRAWN = 1 << 63  # users from which on their number is no machine integer
_BITS_DRAWN = 1 << 30  # of all reports, one by one


class Plan:
    """A node of the tree. Combinators accept a mechanism where a plan is meant: it becomes a `Run`."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Plan, ...]:
        """The plans directly below this one."""
        return ()

    def leaves(self) -> Iterator[Plan]:
        """The leaves of the tree, left to right."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


class _OfOne(Plan):
    """A node with one plan directly below it."""

    __slots__ = ()
    plan: Plan

    @property
    def parts(self) -> tuple[Plan, ...]:
        """The one plan."""
        return (self.plan,)


def as_plan(target: Plan | Mechanism) -> Plan:
    """The plan itself, or the plan that runs the mechanism once. Raises TypeError for anything else."""
    match target:
        case Plan():
            return target
        case Mechanism():
            return Run(target)
    raise TypeError(f"a plan needs a Mechanism or a Plan, got {_kind(target)}")


def _kind(given: object) -> str:
    return f"the class {given.__name__} without parameters" if isinstance(given, type) else type(given).__name__


def _at_least(node: object, name: str, given: object, least: int) -> int:
    """Make the field an int of at least so much, and return it."""
    value = whole(given)
    if value is None:
        raise TypeError(f"{type(node).__name__} needs an integer {name}, got {brief(given)}")
    if not least <= value <= MOST:
        raise ValueError(f"{type(node).__name__} needs {least} <= {name} <= 2**{MOST.bit_length() - 1}, got {name}={brief(value)}")
    object.__setattr__(node, name, value)
    return value


@dataclass(frozen=True, slots=True)
class Run(Plan):
    """One view of a mechanism."""

    mechanism: Mechanism

    def __str__(self) -> str:
        return str(self.mechanism)


@dataclass(frozen=True, slots=True)
class Guarantee(Plan):
    """A part of which only its guarantee is published: some (epsilon, delta)-differentially private map.

    Its upper bounds are those of the worst map with that guarantee; nothing is known from below. Where users are shuffled, each
    runs the same map on what they hold, so that the reports do not name who sent them. Everywhere else it may be any map of all
    users' data: replacing a group of k users costs k epsilon, as it does for geometric noise on a count. For k users who each
    run the map alone, account for `Repeat` k times.

    Parameters
    ----------
    epsilon : Fraction
        In nats, at least 0.
    delta : Fraction
        In [0, 1).

    Other Parameters
    ----------------
    rho : Fraction or None
        Instead of an epsilon: the rho of zero-concentrated differential privacy, at least 0. Rhos of runs add, and k users cost
        k**2 rho. From it follow upper bounds of delta, which lose some percent (Bun, Steinke 2016).
    mu : Fraction or None
        Instead of an epsilon: the mu of Gaussian differential privacy, at least 0. Squares of runs add, and k users cost k mu. The
        worst map adds noise of deviation 1 to a number that changes by mu (Dong, Roth, Su 2022). With a rho or a mu, `epsilon` and
        `delta` are 0 and 1, which holds of any map; what follows in epsilon and delta is its profile.

    Raises
    ------
    TypeError
        Where not one of epsilon, rho and mu is given, or a delta with rho or mu.
    ValueError
        Where one lies outside its domain.
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None = field(default=None, kw_only=True)
    mu: Fraction | None = field(default=None, kw_only=True)
    # Files and commands give an epsilon, or what one of the class methods takes: each way has what it requires.
    __signature__: ClassVar = Signature(
        [
            Parameter("epsilon", Parameter.POSITIONAL_OR_KEYWORD, annotation=Fraction),
            Parameter("delta", Parameter.POSITIONAL_OR_KEYWORD, default=Fraction(0), annotation=Fraction),
        ]
    )

    def __init__(
        self,
        epsilon: Fraction | None = None,
        delta: Fraction = Fraction(0),
        *,
        rho: Fraction | None = None,
        mu: Fraction | None = None,
    ) -> None:
        given = {name: exact(each, name) for name, each in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if each is not None}
        lost = exact(delta, "delta")
        if not given:
            exact(epsilon, "epsilon")
        if len(given) != 1 or (epsilon is None and lost):
            found = ", ".join([*given, *(["delta"] if lost else [])])
            raise TypeError(f"Guarantee needs an epsilon, and a delta with it, or a rho, or a mu; got {found}")
        if not (min(given.values()) >= 0 and 0 <= lost < 1):
            named = {**given, "delta": lost} if "epsilon" in given else given
            found = ", ".join(f"{name}={brief(each)}" for name, each in named.items())
            needs = "epsilon >= 0 and 0 <= delta < 1" if "epsilon" in given else f"{next(iter(given))} >= 0"
            raise ValueError(f"Guarantee needs {needs}, got {found}")
        values = {"rho": None, "mu": None, **given}
        # Of any map (0, 1) holds: whoever reads only these two is told nothing, and nothing wrong.
        values |= {"epsilon": given.get("epsilon", Fraction(0)), "delta": lost if "epsilon" in given else Fraction(1)}
        for name, each in values.items():
            object.__setattr__(self, name, each)

    @classmethod
    def concentrated(cls, rho: Fraction) -> Self:
        """By rho."""
        return cls(rho=rho)

    @classmethod
    def gaussian(cls, mu: Fraction) -> Self:
        """By mu."""
        return cls(mu=mu)

    @property
    def stated(self) -> dict[str, Fraction]:
        """What it says, by the parameters' names."""
        other = {name: each for name, each in (("rho", self.rho), ("mu", self.mu)) if each is not None}
        return other or {"epsilon": self.epsilon, "delta": self.delta}

    def __repr__(self) -> str:
        return f"Guarantee({', '.join(f'{name}={each!r}' for name, each in self.stated.items())})"

    def __str__(self) -> str:
        return f"Guarantee({', '.join(f'{name}={show(each)}' for name, each in self.stated.items())})"


@dataclass(frozen=True, slots=True)
class Repeat(_OfOne):
    """`times` independent runs of one plan, each on the user's own (possibly different) input."""

    plan: Plan
    times: int

    def __init__(self, plan: Plan | Mechanism, times: int) -> None:
        object.__setattr__(self, "plan", as_plan(plan))
        _at_least(self, "times", times, 1)

    def __str__(self) -> str:
        return f"Repeat({self.plan}, {self.times})"


@dataclass(frozen=True, slots=True)
class Compose(Plan):
    """Independent runs of several plans, each on the user's own input."""

    parts: tuple[Plan, ...]

    def __init__(self, parts: Iterable[Plan | Mechanism]) -> None:
        if isinstance(parts, Plan | Mechanism):
            raise TypeError(f"Compose needs a list of plans, got one: {parts}")
        object.__setattr__(self, "parts", tuple(map(as_plan, parts)))
        if not self.parts:
            raise ValueError("Compose needs at least one part, got none")

    def __str__(self) -> str:
        return f"Compose([{', '.join(map(str, self.parts))}])"


def flat(plan: Plan, times: int = 1) -> Iterator[tuple[Plan, int]]:
    """What repetitions and compositions are made of, and how often each is run."""
    match plan:
        case Repeat(inner, repeats):
            yield from flat(inner, times * repeats)
        case Compose(parts):
            for part in parts:
                yield from flat(part, times)
        case _:
            yield plan, times


class _AllUsers(_OfOne):
    """Every one of `users` users runs the plan once, and the adversary sees what is made of all their views."""

    __slots__ = ()
    users: int

    def __str__(self) -> str:
        users = "" if isinstance(self.plan, Mixed) else f", users={self.users}"
        return f"{type(self).__name__}({self.plan}{users})"

    def run(self, data: ArrayLike | Mapping[Any, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """The whole system: what all users hold to the estimates that are made of what the adversary sees.

        ``data``: one input per user; or how many users hold each, so that millions of users cost what their counts cost. Returns
        what the mechanism's `estimate` returns; of a sum with noise, too: unbiased, for the mean of the noise is taken off. Where
        reports are left out, it is the estimate from the others, which have fewer ones. Raises
        ValueError for another number of users, and for what is no input; Unsupported where the plan is not a single mechanism's,
        of one user's data, or that does not run on counts; where it is a sum, of a mechanism whose reports are not summed.

        Examples
        --------
        >>> from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
        >>> plan = Shuffle(KaryRandomizedResponse.with_uniform_draw(Fraction(1, 100), k=4), users=10**6)
        >>> found = plan.run({0: 900_000, 3: 100_000}, np.random.default_rng(0))
        >>> bool(np.abs(found - [900_000, 0, 0, 100_000]).max() < 500)
        True
        """
        name = type(self).__name__
        if not isinstance(self.plan, Run):
            raise Unsupported(self, "an estimate needs the views of one mechanism, not of a composition")
        m = self.plan.mechanism
        if m.model != "local":
            raise Unsupported(self, f"{name} needs a mechanism for one user, but this one is {m.model}: it is a whole system")
        if isinstance(self, Aggregate):
            m.estimate_from_sum(np.zeros(0), 0)  # refused where a sum gives no estimate
        counts = dict(data) if isinstance(data, Mapping) else counted(data)
        for x, given in counts.items():
            if (users := whole(given)) is None or users < 0:
                raise ValueError(f"{name}.run needs a number of users >= 0 for each input, got {brief(given)} for {brief(x)}")
            counts[x] = users
        if (found := sum(counts.values())) != self.users:
            raise ValueError(f"{name}.run needs {self.users} users, got {found}")
        if found >= _DRAWN:
            raise Unsupported(self, "the views of 2**63 users or more cannot be drawn")
        for x in counts:
            m.require_input(x)
        estimates = self._estimated(m, counts, rng)
        # Estimates are linear in the sum and in the number of users, so that noise adds the estimate from a sum of no users.
        for each in self.noise if isinstance(self, Aggregate) else ():
            noise = each.noise(getattr(m, "cells", estimates.size), rng) - float(each.mean)
            estimates = estimates + m.estimate_from_sum(noise, 0)
        return estimates

    def _estimated(self, m: Mechanism, counts: Mapping[Any, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """Without noise."""
        return m.run_on_counts(counts, rng)


@dataclass(frozen=True, slots=True)
class Mixed(Plan):
    """Users of whom some run one plan and some another, as each group's pair of plan and number of users says; to be shuffled.

    Who runs which plan is no secret: it may depend on anything but what users hold.
    """

    groups: tuple[tuple[Plan, int], ...]

    @property
    def parts(self) -> tuple[Plan, ...]:
        """What the groups run."""
        return tuple(plan for plan, _ in self.groups)

    def __str__(self) -> str:
        return f"[{', '.join(f'({plan}, {users})' for plan, users in self.groups)}]"


@dataclass(frozen=True, slots=True)
class Shuffle(_AllUsers):
    """`users` users each run the plan once; the adversary sees the multiset of their views.

    Parameters
    ----------
    plan : Plan, Mechanism, or list of pairs
        What every user runs; or what groups of users run, such as one mechanism at several epsilons: pairs of a plan and the number
        of users who run it. Then the worst user of the worst group is accounted for, who stays in that group.
    users : int
        Of groups the sum of theirs, which need not be given.

    Examples
    --------
    >>> from ldpaudit import account
    >>> from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
    >>> cautious, usual = (KaryRandomizedResponse.for_epsilon(e, k=10) for e in (Fraction(1, 2), 2))
    >>> for plan in (Shuffle(usual, 50_000), Shuffle([(cautious, 50_000), (usual, 50_000)]), Shuffle(usual, 100_000)):
    ...     print(f"{account(plan).epsilon(1e-6).high:.4f}")
    0.0336
    0.0203
    0.0231
    """

    plan: Plan
    users: int

    def __init__(self, plan: Plan | Mechanism | Iterable[tuple[Plan | Mechanism, int]], users: int | None = None) -> None:
        if isinstance(plan, list | tuple):
            plan, found = _mixed(plan)
            users = found if users is None else users
        object.__setattr__(self, "plan", as_plan(plan))  # type: ignore[arg-type]
        _at_least(self, "users", users, 1)
        if isinstance(self.plan, Mixed) and (found := sum(each for _, each in self.plan.groups)) != self.users:
            raise ValueError(f"Shuffle needs as many users as its groups have, {found}, got users={self.users}")


def _mixed(pairs: Iterable[Any]) -> tuple[Plan, int]:
    """Groups of different plans, and their users; one group is the plan that it runs."""
    users: dict[Plan, int] = {}
    for pair in pairs:
        if not (isinstance(pair, list | tuple) and len(pair) == 2):
            raise TypeError(f"Shuffle needs pairs of a plan and a number of users, got {brief(pair)}")
        plan, number = as_plan(pair[0]), whole(pair[1])
        if number is None or number < 1:
            raise ValueError(f"Shuffle needs a number of users >= 1 in each group, got {brief(pair[1])}")
        users[plan] = users.get(plan, 0) + number
    if not users:
        raise ValueError("Shuffle needs at least one group, got none")
    return (Mixed(tuple(users.items())) if len(users) > 1 else next(iter(users))), sum(users.values())


@dataclass(frozen=True, slots=True)
class Aggregate(_AllUsers):
    """`users` users each run the plan once; the adversary sees the sum of their views, coordinate by coordinate, and noise.

    This is what secure aggregation shows to the collector (Prio, the DAP protocol, SecAgg). A view is summed as `Mechanism.summed`
    says: as it is, as the one-hot vector of a label, or as the matrix of which it is a row or a cell.

    Parameters
    ----------
    plan : Plan or Mechanism
        What each user runs, with fresh coins: a report in two sums can be told from their difference.
    users : int
        Honest users in the smallest batch that is released. Users who collude with the adversary, or who drop out, are not
        counted; more honest users never increase epsilon.
    noise : iterable of Mechanism
        Noise on counts that honest aggregators add to every coordinate, each independently; its `change` is not read. What a
        dishonest aggregator adds is known to it, and is not counted.
    most_ones : int or None
        Aggregators leave out reports of more ones than that, at least 1, and tell how many they have accepted; by default none.

    Raises
    ------
    TypeError
        Where the noise is not noise on counts.
    """

    plan: Plan
    users: int
    noise: tuple[Any, ...]
    most_ones: int | None

    def __init__(self, plan: Plan | Mechanism, users: int, noise: Iterable[Mechanism] = (), most_ones: int | None = None) -> None:
        object.__setattr__(self, "plan", as_plan(plan))
        _at_least(self, "users", users, 1)
        object.__setattr__(self, "noise", tuple(noise))
        for each in self.noise:
            if getattr(each, "model", None) != "central":
                raise TypeError(f"Aggregate needs noise on counts, such as DiscreteLaplace, got {brief(each)}")
        object.__setattr__(self, "most_ones", most_ones)
        if most_ones is not None:
            _at_least(self, "most_ones", most_ones, 1)

    def _estimated(self, m: Mechanism, counts: Mapping[Any, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """Without noise; where reports may be left out, all are drawn, and the accepted ones are taken for all that there are."""
        if self.most_ones is None:
            return m.run_on_counts(counts, rng)
        if m.summed != "vector" or m.view_length == 1 or getattr(m, "reports", 1) > 1:
            raise Unsupported(self, "reports with many ones are left out where they are rows of bits")
        if self.users * m.view_length > _BITS_DRAWN:
            raise Unsupported(self, f"where reports are left out all are drawn, and at most {_BITS_DRAWN} bits are")
        views = np.concatenate([m.sample(x, users, rng) for x, users in counts.items() if users])
        return m.estimate(views[np.count_nonzero(views, axis=1) <= self.most_ones])

    @property
    def is_one_report(self) -> bool:
        """Whether the sum is one report, and nothing is done to it."""
        return self.users == 1 and not self.noise and self.most_ones is None

    def __str__(self) -> str:
        added = f", noise=[{', '.join(map(str, self.noise))}]" if self.noise else ""
        most = "" if self.most_ones is None else f", most_ones={self.most_ones}"
        return f"Aggregate({self.plan}, users={self.users}{added}{most})"


@dataclass(frozen=True, slots=True)
class Subsample(_OfOne):
    """The plan runs on `batch` of `users` users, drawn uniformly without replacement."""

    plan: Plan
    users: int
    batch: int

    def __init__(self, plan: Plan | Mechanism, users: int, batch: int) -> None:
        object.__setattr__(self, "plan", as_plan(plan))
        if _at_least(self, "batch", batch, 1) > _at_least(self, "users", users, 1):
            raise ValueError(f"Subsample needs batch <= users, got batch={self.batch} and users={self.users}")

    def __str__(self) -> str:
        return f"Subsample({self.plan}, users={self.users}, batch={self.batch})"


@dataclass(frozen=True, slots=True)
class Poisson(_OfOne):
    """Each user runs the plan with probability `rate`, by a coin of their own, and else sends nothing.

    Shuffled, ``Shuffle(Poisson(m, rate), users)``, it is a Poisson sample of the users, whose number is seen: who took part is
    hidden as the reports are. Alone a report names its user, so that delta is `rate` times that of the plan.

    Parameters
    ----------
    plan : Plan or Mechanism
        Of one user.
    rate : Fraction
        Above 0, at most 1.

    Examples
    --------
    >>> from ldpaudit import account
    >>> from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
    >>> m = KaryRandomizedResponse.for_epsilon(2, k=4)
    >>> rarely, always = (account(Shuffle(each, 10**4)).epsilon(1e-6).high for each in (Poisson(m, Fraction(1, 10)), m))
    >>> f"{rarely:.4f} {always:.4f}"
    '0.0296 0.1020'
    """

    plan: Plan
    rate: Fraction

    def __init__(self, plan: Plan | Mechanism, rate: Fraction) -> None:
        object.__setattr__(self, "plan", as_plan(plan))
        object.__setattr__(self, "rate", exact(rate, "rate"))
        if not 0 < self.rate <= 1:
            raise ValueError(f"Poisson needs 0 < rate <= 1, got rate={brief(rate)}")

    @property
    def normal(self) -> Plan:
        """The same with one coin in place of several; the plan itself where all take part."""
        if isinstance(self.plan, Poisson):
            return Poisson(self.plan.plan, self.rate * self.plan.rate).normal
        return self.plan if self.rate == 1 else self

    def __str__(self) -> str:
        return f"Poisson({self.plan}, rate={show(self.rate)})"


@dataclass(frozen=True, slots=True)
class PostProcess(_OfOne):
    """Anything computed from the plan's view alone."""

    plan: Plan
    name: str

    def __init__(self, plan: Plan | Mechanism, name: str) -> None:
        object.__setattr__(self, "plan", as_plan(plan))
        object.__setattr__(self, "name", name)

    def __str__(self) -> str:
        return f"PostProcess({self.plan}, {self.name!r})"


def of_many_users(plan: Plan) -> str | None:
    """The model of a mechanism that is not run by one user, if there is one in the plan."""
    models = (leaf.mechanism.model for leaf in plan.leaves() if isinstance(leaf, Run))
    return next((model for model in models if model not in ("local", "interactive")), None)


def names_users(plan: Shuffle | Subsample) -> bool:
    """Whether the views name the users who send them: then neither a shuffler nor a secret sample hides anybody.

    ``plan``: where one mechanism's view names its user, all that the user sends is known for this user's. Raises
    Unsupported where there are more users than names.
    """
    named = [leaf.mechanism for leaf in plan.leaves() if isinstance(leaf, Run) and leaf.mechanism.names_user]
    for m in named:
        if (names := getattr(m, "users", plan.users)) < plan.users:
            raise Unsupported(plan, f"its reports name their users, of whom there are {plan.users}, by {names} indices")
    return bool(named)


def nodes(plan: Plan) -> Iterator[Plan]:
    """A plan, and all that it is made of."""
    yield plan
    for part in plan.parts:
        yield from nodes(part)
