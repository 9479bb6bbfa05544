"""Tables 1 and 2 of Ghazi, Golowich, Kumar, Pagh, Velingker 2019 with numbers in place of O's, at any promise, users and values.

A line is a protocol with its noise, of a closed form or certified; beside its error stands the error that no protocol of the model
beats, and what a simulation measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations

import numpy as np

from ldpaudit.accountants.limits import calculators
from ldpaudit.enclosure import Enclosure
from ldpaudit.studies.counting_protocols import (
    COUNT_MIN,
    DRAWS,
    HADAMARD,
    LAPLACE,
    MOST_USERS,
    SIGNS,
    SUMS,
    VECTORS,
    Model,
    Origin,
    Protocol,
    Setting,
    System,
    largest_error,
    words,
)

ONE, TWO = "ggkpv-1", "ggkpv-2"  # the tables' names
TABLES = {ONE: (SIGNS, *VECTORS, *DRAWS, *HADAMARD, LAPLACE), TWO: (SUMS, *HADAMARD, *COUNT_MIN)}
"""Which lines they have."""
TITLES = {
    ONE: "GGKPV, table 1, in numbers: frequency estimation in four models",
    TWO: "GGKPV, table 2, in numbers: frequency estimation with many messages",
}
DATA = "all users hold one value"  # What is simulated. For no data is any variance larger.
_DECADES = 3  # the regimes are shown from a thousandth of the users to a thousand times as many
_PAPER: dict[str, tuple[str, Callable[[Setting], float]]] = {
    SIGNS.name: ("sqrt(n)", lambda s: math.sqrt(s.users)),
    VECTORS[0].name: ("n^(1/4)", lambda s: s.users**0.25),
    DRAWS[0].name: ("sqrt(B)", lambda s: math.sqrt(s.values)),
}


@dataclass(frozen=True, slots=True)
class Limit:
    """An error that no protocol of a model beats."""

    error: Enclosure  # in users, exceeded with probability 1/4 at least
    command: str  # what computes it


@dataclass(frozen=True, slots=True)
class Measured:
    """The largest errors of some runs: their mean, and its standard error, in users."""

    mean: float
    standard_error: float
    runs: int


@dataclass(frozen=True, slots=True)
class Line:
    """A protocol at a setting."""

    protocol: Protocol  # with noise of a closed form, or certified
    paper: str  # the paper's cell for the error, without logarithms
    system: System | None  # None where there is none for so few users
    least_users: int  # from how many users on there is one; 0 where there is one here
    limit: Limit  # of the protocol's model
    # of one message, what the limits of that model say by themselves, where `limit` may be the central one; else None
    own: Limit | None
    measured: Measured | None  # None where nothing was simulated


@dataclass(frozen=True, slots=True)
class Point:
    """What a system costs: the bound of its error, in users, with which probability it may be exceeded, and bits a user."""

    users: int
    error: float
    exceeded: float
    bits: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A protocol over numbers of users."""

    protocol: Protocol  # with noise of a closed form, or certified
    points: tuple[Point, ...]  # where there is a system; ascending
    least_users: int  # from how many users on there is one; 0 where that is no more than the fewest shown

    def overtaken(self, other: Curve, cost: Callable[[Point], float]) -> float | None:
        """From about how many users on the other one costs less; None where it never does, or always."""
        mine, its = ({point.users: cost(point) for point in each.points} for each in (self, other))
        both = sorted(set(mine) & set(its))
        ahead = [math.log(mine[n] / its[n]) for n in both]
        for at in range(1, len(both)):
            if ahead[at - 1] <= 0 < ahead[at]:
                share = -ahead[at - 1] / (ahead[at] - ahead[at - 1])
                return both[at - 1] * math.exp(share * math.log(both[at] / both[at - 1]))
        return None


@dataclass(frozen=True, slots=True)
class Regimes:
    """How errors, bits and limits go with the number of users."""

    users: tuple[int, ...]  # numbers of users, ascending
    curves: tuple[Curve, ...]  # one for each line of the table
    limits: dict[Model, tuple[float, ...]]  # for each number of users

    def crossings(self, cost: Callable[[Point], float]) -> Iterator[tuple[float, Curve, Curve]]:
        """From about how many users on the second of two certified protocols costs less than the first."""
        certified = [each for each in self.curves if each.protocol.origin is Origin.certified]
        for one, other in permutations(certified, 2):
            if (n := one.overtaken(other, cost)) is not None:
                yield n, one, other


def lines(table: str, s: Setting, runs: int, seed: int) -> Iterator[Line]:
    """The table's lines, one after the other.

    ``table``: its name; ``s``: promise, users and values; ``runs``: simulations of each system, at least 0; ``seed``:
    of all randomness.
    """
    for protocol in TABLES[table]:
        system = protocol.system(s)
        least = 0 if system else protocol.least_users(s)
        measured = _measured(protocol, system, s, runs, seed) if system and runs else None
        known = _limits(protocol, s)
        own = _largest(known[1:]) if protocol.model is Model.one_message else None
        formula, value = _PAPER.get(protocol.name, ("1", lambda _: 1.0))
        paper = formula if formula == "1" else f"{formula} = {value(s):.4g}"
        paper = "not recovered" if table == TWO and protocol is SUMS else paper
        yield Line(protocol, paper, system, least, _largest(known), own, measured)


def _measured(protocol: Protocol, system: System, s: Setting, runs: int, seed: int) -> Measured:
    """Each run has a child of the seed that the protocol and the run decide, whatever else is simulated."""
    name = f"{protocol.name}, {protocol.origin}".encode()
    children = np.random.SeedSequence(seed, spawn_key=tuple(name)).spawn(runs)
    errors = np.array([largest_error(system.mechanism, s, np.random.default_rng(child)) for child in children])
    spread = float(errors.std(ddof=1)) / math.sqrt(runs) if runs > 1 else math.inf
    return Measured(float(errors.mean()), spread, runs)


def limit(protocol: Protocol, s: Setting) -> Limit:
    """The largest of the limits known for the protocol's model; beside a closed form with Lemma 3.5 as printed."""
    return _largest(_limits(protocol, s))


def _largest(known: Sequence[Limit]) -> Limit:
    return max(known, key=lambda found: found.error.low)


def _limits(protocol: Protocol, s: Setting) -> tuple[Limit, ...]:
    """All that are known; of one message the central model's is the first."""
    asked = {"users": s.users, "values": s.values, "epsilon": s.goal.epsilon, "delta": s.goal.delta}
    packing = ("central.error", asked)
    match protocol.model:
        case Model.local:
            pure = {**asked, "delta": Fraction(0)}
            known = [("small_sample.error", pure), ("intermediate.error", pure)]
        case Model.one_message:
            way, shuffled = "error" if protocol.origin is Origin.certified else "error_as_printed", {**asked, "shuffled": 1}
            known = [packing, (f"small_sample.{way}", shuffled), (f"intermediate.{way}", shuffled)]
        case _:
            known = [packing]
    return tuple(Limit(calculators()[name](**given), f"ldpaudit limit {name} {words(given)}") for name, given in known)


def regimes(table: str, s: Setting, advance: Callable[[str], object] = lambda _: None) -> Regimes:
    """Errors, bits and limits from a thousandth of the users to a thousand times as many, without simulations."""
    users, protocols = around(s.users, s.values), TABLES[table]
    settings = [replace(s, users=n) for n in users]
    curves = []
    for each in protocols:
        curves.append(_curve(each, settings))
        advance(f"{each.name}, {each.origin}")
    sharpest = {each.model: each for each in protocols if each.origin is Origin.certified}
    limits = {}
    for model, protocol in sharpest.items():
        limits[model] = tuple(limit(protocol, at).error.low for at in settings)
        advance(f"limit, {model}")
    return Regimes(users, tuple(curves), limits)


def steps(table: str) -> int:
    """How often `regimes` reports progress."""
    return len(TABLES[table]) + len({each.model for each in TABLES[table]})


def around(users: int, values: int) -> tuple[int, ...]:
    """Numbers of users from 2 to 2**40, one a decade, till beyond the square of the number of values."""
    least, most = math.log10(users) - _DECADES, max(math.log10(users), 2 * math.log10(values)) + _DECADES
    shown = (10 ** (least + i) for i in range(math.ceil(most - least) + 1))
    return tuple(sorted({min(MOST_USERS, max(2, round(each))) for each in shown}))


def _curve(protocol: Protocol, settings: list[Setting]) -> Curve:
    found = [(at, protocol.system(at)) for at in settings]
    points = tuple(
        Point(at.users, system.error.high, float(system.exceeded), float(system.bits_a_user)) for at, system in found if system
    )
    missing = next((at for at, system in reversed(found) if system is None), None)
    return Curve(protocol, points, protocol.least_users(missing) if missing else 0)
