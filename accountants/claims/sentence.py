"""A bound that a paper prints, at some parameters, beside what is found of the same quantity.

And an error that it prints, in a form that a simulation can be held against; what a source promises of a mechanism; and hypotheses
and words that several of its statements share.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanism import Mechanism
from ldpaudit.profile import Number, PrivacyProfile, bracket


class Standing(Enum):
    """How a printed bound stands to what is found: the words of every command that prints one beside the other."""

    HOLDS = "holds"
    FAILS = "FAILS"
    OPEN = "open"
    OUTSIDE = "outside"
    VARIANT = "variant"
    CONJECTURE = "conjecture"

    @classmethod
    def of(cls, holds: bool | None) -> Standing:
        """The word for true, false, or not decided."""
        return {True: cls.HOLDS, False: cls.FAILS, None: cls.OPEN}[holds]

    @property
    def meaning(self) -> str:
        """In a sentence; empty where the word says it."""
        return {
            Standing.FAILS: "it is below the certified lower end, so it is false here",
            Standing.OPEN: "it lies between the certified ends: not shown to hold, not refuted",
            Standing.OUTSIDE: "a hypothesis that it states is not met here, so nothing is claimed",
            Standing.VARIANT: "a question of ours, which its source does not answer",
            Standing.CONJECTURE: "nobody has proved it, so it certifies nothing",
        }.get(self, "")


class Provenance(StrEnum):
    """Where the sentence comes from."""

    PRINTED = "printed"  # it stands in the source
    RESTORED = "restored"
    """The source's formula is illegible or hidden in an O; it is that of a public implementation or a note on it."""
    DERIVED = "derived"
    """The source states it without constants, or its formula is illegible; it is derived from its proof, or from what is left."""
    MEMORY = "from memory"  # nobody has compared it with the source
    OWN = "by its function"  # a function of the user's computes it


@dataclass(frozen=True, slots=True)
class Failure:
    """What a reader asks of a sentence that fails, each answered by one short sentence."""

    begins: str  # where the failure begins: the parameters from which on the sentence is false
    breaks: str  # which step of the source's proof is wrong
    instead: str  # what is true in its place
    # the statement whose failure this one's is, where its proof uses it; empty where it fails on its own
    rests_on: str = ""

    @property
    def told(self) -> str:
        """The three sentences."""
        return f"{self.begins} {self.breaks} {self.instead}"


@dataclass(frozen=True, slots=True)
class Printed:
    """The sentence "this quantity is at most `claimed`", and the quantity."""

    where: str  # source and number
    sentence: str  # what it says, at these parameters
    claimed: Number  # the bound that is printed
    found: Enclosure  # of the quantity, or of an upper bound of it (`attained` is False)
    # those of the theorem, and those that it needs but does not state (`Hypothesis.stated`)
    hypotheses: tuple[Hypothesis, ...] = ()
    attained: bool = True  # whether `found` is the quantity itself, so that a `found` above the claim refutes it
    # one unit in the last printed digit: the author's number lies within it, on either side. 0 where `claimed` is exact
    rounding: Number = 0
    provenance: Provenance = Provenance.PRINTED  # where the sentence comes from
    # how a text that leaves something open was read, for this row; the other readings are rows of their own
    reading: str = ""
    # why this is no claim of the source's, but a question of ours: another relation, another release; else empty
    variant: str = ""
    failure: Failure | None = None  # of a sentence that fails at some parameters; at others it says nothing

    @property
    def holds(self) -> bool | None:
        """Whether the sentence is true at these parameters; None where that is not decided."""
        if self.found.rigour is Rigour.FLOAT:
            return None
        most = self.claimed + self.rounding
        if self.found.high <= most:
            return True
        return False if self.attained and self.found.low > most else None

    @property
    def standing(self) -> Standing:
        """What may be said of the source: a failure only where it claims the sentence, and its hypotheses are met."""
        if self.variant:
            return Standing.VARIANT
        if any(each.stated and each.holds is False for each in self.hypotheses):
            return Standing.OUTSIDE
        return Standing.of(self.holds)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader has to know of the row: why it is a variant, how it was read, and hypotheses not met or unseen."""
        said = [f"a variant: {self.variant}"] if self.variant else []
        said += [f"read: {self.reading}"] if self.reading else []
        for each in self.hypotheses:
            if each.holds is not True:
                words = "unseen" if each.holds is None else "not met"
                said.append(f"{words}{'' if each.stated else ', and not stated'}: {each.sentence}")
        return tuple(said)

    @property
    def agrees(self) -> bool:
        """Whether the sentence is true, and tight to the digits printed."""
        return bool(self.holds) and self.rounding > 0 and self.found.high > self.claimed - self.rounding

    @property
    def looseness(self) -> float:
        """Claimed over found, by the end that decides: 1 where it is tight, below 1 where it is false by that factor or more."""
        end = self.found.low if self.holds is False else self.found.high
        return float(self.claimed) / end if end else float("inf")

    def __str__(self) -> str:
        missing = "".join(f"; {remark}" for remark in self.remarks)
        claimed = f"claimed {float(self.claimed):.6g}, found {self.found}"
        return f"{self.standing.name}  {self.where}: {self.sentence}: {claimed}{missing}"


derived = partial(Printed, provenance=Provenance.DERIVED)
remembered = partial(Printed, provenance=Provenance.MEMORY)
restored = partial(Printed, provenance=Provenance.RESTORED)


def rounding(value: Decimal) -> Fraction:
    """One unit in the last digit of a printed number."""
    return Fraction(Decimal(1).scaleb(int(value.as_tuple().exponent)))


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A sentence "with probability at least 1 - beta the error is at most alpha", on data of a given kind."""

    where: str  # source and number
    sentence: str  # what it says, at these parameters, the kind of data included
    alpha: float  # the error that is promised, in the units that the sentence names
    beta: float  # the probability with which it may be exceeded
    data: Callable[[np.random.Generator], Any]  # ``data(rng)``: the users' inputs, as `Mechanism.run` takes them
    # ``error(data, result)``: the error of what `Mechanism.run` returned, in the units of `alpha`
    error: Callable[[Any, Any], float]
    # ``run(data, rng)``: what is run in place of the mechanism's `run`, where the data are not as that takes them
    run: Callable[[Any, np.random.Generator], Any] | None = None


def zipf(users: int, domain: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Values of which number i is held about in proportion to 1/(i + 1)."""
    return np.minimum(np.exp(rng.random(users) * math.log(domain + 1)).astype(np.int64) - 1, domain - 1)


def zipf_data(users: int, domain: int) -> Callable[[np.random.Generator], NDArray[np.int64]]:
    """Such values, drawn for each run."""
    return lambda rng: zipf(users, domain, rng)


def largest_error(domain: int, first: int | None = None) -> Callable[[NDArray[np.int64], NDArray[np.float64]], float]:
    """The largest error of estimated counts of all values, or of the first of them."""
    return lambda held, found: float(np.abs(found - np.bincount(held.ravel(), minlength=domain))[:first].max())


ABSENT = "histograms of size 1 leave no room for an absent user"
"""Why a user who leaves is a question of ours, where neighbours are histograms at distance 1."""
LITERAL = "neighbours are histograms at distance 1, and a user's histogram has size 1"
"""A reading, by which every mechanism of local users is private."""
VACUOUS = Enclosure.of(0, source="no two histograms of size 1 are at distance 1")  # what is found by that reading


@dataclass(frozen=True)
class Promise(ABC):
    """(epsilon, delta)-privacy; the other parameters are a statement's own."""

    epsilon: Fraction  # in nats, above 0
    delta: Fraction  # in (0, 1)

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """The mechanism with the parameters that are printed for this promise."""

    @property
    def small(self) -> Hypothesis:
        """That epsilon is at most 1."""
        return Hypothesis("epsilon <= 1", self.epsilon <= 1)

    @property
    def at(self) -> str:
        """What is found: epsilon at this delta."""
        return f"epsilon at delta={float(self.delta):g}"


@dataclass(frozen=True)
class LocalPromise(Promise):
    """What HKR12 promises of a heavy hitter's name."""

    beta: Fraction  # probability of failure, in (0, 1)
    domain: int  # N
    users: int  # n

    @property
    def inside(self) -> Hypothesis:
        """Of Theorem 2.5, by which the promises are proved."""
        return Hypothesis("0 < epsilon, delta < 1 (Theorem 2.5)", 0 < self.epsilon < 1 and 0 < self.delta < 1)


@dataclass(frozen=True)
class ShuffledPromise(Promise):
    """What GGKPV promises of shuffled messages."""

    users: int  # n

    @property
    @abstractmethod
    def beta(self) -> Fraction:
        """Probability with which an error may be exceeded, in (0, 1)."""

    def __post_init__(self) -> None:
        _ = self.mechanism  # refuses the rest
        if not 0 < self.beta < 1:
            raise ValueError(f"Setting needs 0 < beta < 1, got beta={self.beta}")

    @property
    def power(self) -> Hypothesis:
        """That n is a power of two."""
        return Hypothesis("n is a power of two above 1", self.users > 1 and not self.users & (self.users - 1))


def least_scale(profile: Callable[[Fraction], PrivacyProfile], epsilon: Fraction, delta: Fraction) -> Enclosure:
    """Least scale of the noise with which a promise is kept, by the exact accountant.

    ``profile``: by the scale. Returns relative width 2**-46: the promise is certified at the upper end; it was not at the
    lower one.
    """
    least = bracket(lambda scale: profile(Fraction(scale)).delta(epsilon).high <= delta)
    return Enclosure(*least, Rigour.INTERVAL, "bisection of the exact profile")


def union(once: Enclosure, times: int, source: str) -> Enclosure:
    """The probability that any of `times` events of a probability occurs: at most their sum."""
    return Enclosure.of(0, Fraction(once.high) * times, rigour=Rigour.INTERVAL, source=source).clamp(0.0, 1.0)
