"""Random queries for an accountant, and how they are held against an oracle."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import mpmath
from mpmath import mpf

from ldpaudit import Enclosure, PrivacyProfile, Rigour

DIGITS = 60
ROUNDING = mpf(10) ** -45  # relative; what the oracles' own arithmetic may be off

Truth: TypeAlias = Callable[[Any], Any]  # epsilon to delta


@dataclass
class Tally:
    """What became of one family's queries."""

    queries: int = 0
    misses: list[str] = field(default_factory=list)
    exact: int = 0
    widest: float = 0.0  # largest relative width of what is called exact, from 1e-300 up: below, floats are few

    def add(self, found: Enclosure, holds: bool, what: str) -> None:
        """Count one query."""
        self.queries += 1
        if not holds:
            self.misses.append(what)
        if found.rigour is Rigour.EXACT and 1e-300 < found.low < math.inf:
            self.exact += 1
            self.widest = max(self.widest, found.relative_width)


def fraction(rng: random.Random, low: float, high: float, digits: int = 6) -> Fraction:
    """A random fraction of few digits."""
    return Fraction(round(rng.uniform(low, high) * 10**digits), 10**digits)


def a_delta(rng: random.Random) -> float:
    """From 1e-300 up."""
    return float(10 ** rng.choice((rng.uniform(-300, -20), rng.uniform(-20, -3), rng.uniform(-3, -0.01))))


def positive(pairs: Iterator[tuple[Any, Any]], epsilon: Any) -> Any:
    """The hockey-stick divergence of two laws, view by view; what cancels to within the rounding is nothing."""
    e = mpmath.exp(epsilon)
    return mpmath.fsum(p - e * q for p, q in pairs if p - e * q > p * ROUNDING)


def ask(rng: random.Random, tally: Tally, name: str, profile: PrivacyProfile, truth: Truth, scale: float) -> None:
    """One query of delta or of epsilon."""
    if rng.random() < 0.6:
        # Zero, tiny, usual or beyond everything.
        epsilon = rng.choice((0.0, scale * 10 ** rng.uniform(-9, 0), scale * rng.random(), scale * rng.uniform(1, 1.2)))
        found, delta = profile.delta(epsilon), truth(mpf(epsilon))
        holds = found.low <= delta * (1 + ROUNDING) and delta * (1 - ROUNDING) <= found.high
        tally.add(found, holds, f"{name}: delta({epsilon!r}) is {mpmath.nstr(delta, 20)}, not in {found!r}")
        return
    delta = a_delta(rng)
    found = profile.epsilon(delta)
    # Delta falls: high is high enough if delta there is at most what was asked for, low is low enough if it is not below.
    high = math.isinf(found.high) or truth(mpf(found.high)) <= mpf(delta) * (1 + ROUNDING)
    low = found.low == 0 or (math.isfinite(found.low) and truth(mpf(found.low)) >= mpf(delta) * (1 - ROUNDING))
    if math.isinf(found.low):
        low = truth(mpf(10) ** 6) > delta
    tally.add(found, high and low, f"{name}: epsilon({delta!r}) is not in {found!r}")


def mp(value: Fraction) -> Any:
    """A fraction, to 60 digits."""
    return mpf(value.numerator) / value.denominator


def one_more(law: Sequence[Any], p: Any) -> list[Any]:
    """A count's law, and that with one more coin."""
    return [a * (1 - p) + b * p for a, b in zip([*law, mpf(0)], [mpf(0), *law], strict=True)]
