"""Every mechanism in a few sizes, and its realistic mistakes: one file per stem, as everywhere."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from hypothesis.strategies import SearchStrategy

from ldpaudit import account
from ldpaudit.mechanism import Mechanism, Views
from ldpaudit.mechanisms import JLHeavyHitter, homes, stem, stems
from tests.helpers import ROOT

Sample = Callable[[Any, int, np.random.Generator], Views]
"""Code that is audited: an input, a number of views and a generator to the views."""


@dataclass(frozen=True)
class Broken:
    """A mistake: what was declared, what the code does instead, and the delta at which it shows, if not its zoo's."""

    mistake: str
    declared: Mechanism
    implementation: Sample
    delta: float = 0.0


@dataclass(frozen=True)
class Mutant:
    """A mistake of one or two numbers: what is declared, and the mechanism that the code really runs.

    `sample` is the code, where it is not that of `runs`; its law is the same. `shown`, where given, is what the two are
    compared by; otherwise a view's first and last place. Both epsilons are at `delta`.
    """

    mistake: str
    declared: Mechanism
    runs: Mechanism
    sample: Sample | None = None
    delta: float = 0.0
    shown: Callable[[Views, Any], Views] | None = None

    @property
    def stem(self) -> str:
        """Of the mechanism."""
        return stem(self.declared)

    @cached_property
    def claimed(self) -> float:
        """What is declared, in nats, rounded up."""
        return account(self.declared).epsilon(self.delta).high

    @cached_property
    def truth(self) -> float:
        """The code's own epsilon, in nats, rounded down."""
        return account(self.runs).epsilon(self.delta).low


def broken(mistake: str, declared: Any, delta: float = 0.0, **numbers: Any) -> Broken:
    """Code that runs the declared mechanism with other numbers."""
    return Broken(mistake, declared, replace(declared, **numbers).sample, delta)


def afresh(m: Any) -> Sample:
    """Every report draws anew what is to be drawn once for all of them."""
    return lambda x, size, rng: sum(replace(m, reports=1).sample(x, size, rng).astype(np.int64) for _ in range(m.reports))


def mutant(mistake: str, declared: Any, delta: float = 0.0, **numbers: Any) -> Mutant:
    """The declared mechanism with other numbers."""
    return Mutant(mistake, declared, replace(declared, **numbers), delta=delta)


def fair_lie(m: Any) -> Mutant:
    """A lie of two possible answers that may be the truth."""
    return mutant("the lie is a fair sign", m, p=(1 + m.p) / 2)


def rounded_up(m: Any) -> Mutant:
    """The probability of the truth as a multiple of a tenth."""
    return mutant("p is rounded up to a tenth", m, p=tenth(m.p, up=True))


def two_bits(m: Any) -> Mutant:
    """The probability of the truth as a multiple of a quarter."""
    return mutant("the coin has two bits", m, p=Fraction(3, 4))


def blanket_lost(m: Any, delta: float, what: str = "the blanket") -> tuple[Mutant, Mutant]:
    """A quarter, and half, of the random messages."""
    return (
        mutant(f"a quarter of {what} is lost", m, delta, rho=m.rho * 3 // 4),
        mutant(f"half of {what} is lost", m, delta, rho=m.rho // 2),
    )


def tenth(p: Fraction, up: bool = False, of: int = 10) -> Fraction:
    """A probability cut to a multiple of 1/`of`."""
    return Fraction(-((-p.numerator * of) // p.denominator) if up else p.numerator * of // p.denominator, of)


class Refusal(NamedTuple):
    """What cannot be done: what its error says, in one line, and the call that raises it."""

    says: str
    call: Callable[[], object]


def refusals(says: str, m: Any, **values: Iterable[Any]) -> Iterator[Refusal]:
    """Parameters that a mechanism's class refuses, one at a time."""
    for name, several in values.items():
        yield from (Refusal(says, partial(replace, m, **{name: value})) for value in several)


def no_inputs(says: str, m: Mechanism, *inputs: Any) -> Iterator[Refusal]:
    """What no user holds; nothing is sampled of it."""
    return (Refusal(says, partial(m.sample, x, 1, np.random.default_rng(0))) for x in inputs)


def no_data(says: str, m: Mechanism, *data: Any) -> Iterator[Refusal]:
    """What no users hold together; nothing is run on it."""
    return (Refusal(says, partial(m.run, each, np.random.default_rng(0))) for each in data)


@dataclass(frozen=True)
class Zoo:
    """One stem's examples.

    `small`: laws that can be enumerated. `at_one`: epsilon(delta) is 1 within 1e-6, at least one per class.
    `broken`: at least two mistakes per class. `mutants`: mistakes of one or two numbers, at least one.
    `delta`: 0, except where no epsilon is enough for that.
    `loose`: classes whose proofs bound, at some parameters, more than is attained.
    `anywhere`: random mechanisms of the stem, where random parameters hardly ever fit together.
    `refused`: parameters, inputs and data that are a ValueError.
    """

    small: tuple[Mechanism, ...]
    at_one: tuple[Mechanism, ...]
    broken: tuple[Broken, ...]
    mutants: tuple[Mutant, ...]
    delta: float | Fraction = 0.0
    loose: tuple[type[Mechanism], ...] = ()
    anywhere: SearchStrategy[Mechanism] | None = None
    refused: tuple[Refusal, ...] = ()


def zoo(name: str) -> Zoo:
    """The examples of a stem: of its own file, or of the one of its core under the stem's name."""
    home = home_of("tests/zoo", name)
    found: Zoo = getattr(import_module(f"tests.zoo.{home}"), "ZOO" if home == name else name)
    return found


def home_of(folder: str, name: str) -> str:
    """The stem whose file in a folder is a stem's: its own, where there is one, or its core."""
    return next((each for each in homes(name) if (ROOT / folder / f"{each}.py").is_file()), name)


def delta_of(m: Mechanism) -> float:
    return float(zoo(stem(m)).delta)


STEMS = stems()
SMALL = [m for name in STEMS for m in zoo(name).small]
AT_ONE = [m for name in STEMS for m in zoo(name).at_one]
BROKEN = [b for name in STEMS for b in zoo(name).broken]
MUTANTS = [m for name in STEMS for m in zoo(name).mutants]
ONE_EACH: list[Mechanism] = [
    replace(m, domain=16) if isinstance(m, JLHeavyHitter) else m for m in {type(m): m for m in [*AT_ONE, *SMALL]}.values()
]
"""One of each class, of few values."""
