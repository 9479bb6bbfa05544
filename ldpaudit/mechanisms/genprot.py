r"""GenProt: any (epsilon, delta)-LDP randomizer made pure, by choosing one of T public draws.

Bun, Nelson, Stemmer 2018; its pseudocode as recalled in the specification, not compared with the paper. The one-bit form is
Bassily, Smith 2015.
"""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import islice
from math import prod
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.number import brief
from ldpaudit.core.working_precision import working_precision
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Law, Mechanism, Rows, View, Views, describe, plain
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.shared.approximate_randomizers import LeakyResponse, ShiftedBinomial
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.parameters import ball, exact, integer, positive
from ldpaudit.profile import Number

_HALF = Fraction(1, 2)
_BITS = 128
"""Bits of the first comparison of a rational with e**(2 epsilon), doubled until they differ: as they always do."""
_MOST_SLOTS = 1 << 9
"""Slots, above which powers of a probability have more than 65,536 bits; the theorem asks for 5 log(1/epsilon)."""
_MOST_INPUTS = 1 << 10  # of the base: the laws of all are listed
Chances: TypeAlias = tuple[Fraction, ...]  # for each output of the base, the probability of an answer 'yes' to it


class Table(NamedTuple):
    """What public draws may be, and what every input answers to each."""

    outputs: tuple[View, ...]
    """Views of the base of positive public probability."""
    public: tuple[Fraction, ...]
    """Their public probabilities."""
    accepted: dict[Any, Chances]
    """For each input."""


class _Protected(Mechanism):
    """What the two forms share: the base, its public law P0, and the probability that a draw y is accepted.

    That is ``P_x(y) / (2 P0(y))``, and 1/2 where this lies beyond ``[e**(-2 epsilon) / 2, e**(2 epsilon) / 2]``.

    Parameters
    ----------
    base : Mechanism
        A randomizer with a finite law; for whatever it is, the result is pure.
    epsilon : Fraction
        Half of the largest log-likelihood ratio to P0 that is not clipped, in nats; below ``log(2)/2``.
    bottom : input or None
        The input whose law is P0; None for the average of all inputs' laws.
    k : int
        Number of values of the base, at least 2; inputs are ``range(k)``.
    leak : Number
        Probability that the base shows the value in the clear, ``0 <= leak < 1``.
    trials : int
        Number of coins of the base, from 1 to 1024.
    """

    unbiased = False
    names_user = True  # what is sent says nothing without the draws, which are public, each user's own
    base: Mechanism
    epsilon: Fraction
    bottom: Any

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.base, Mechanism) or not isinstance(self.base, Hashable):
            raise ValueError(f"{name} needs a Mechanism as its base, got {brief(self.base)}")
        if self.base.model != "local":
            raise ValueError(f"{name} needs a local mechanism as its base, got the {self.base.model} {self.base}")
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        if not _at_most_exp(Fraction(1, 2), -2 * self.epsilon):
            raise ValueError(f"{name} needs epsilon < log(2)/2, got epsilon={brief(self.epsilon)}")
        if self.bottom is not None and self.bottom not in self.base.inputs:
            raise ValueError(f"{name} needs a bottom among {describe(self.base.inputs)}, got {brief(self.bottom)}")

    @property
    def inputs(self) -> Sequence[Any]:
        return self.base.inputs

    @property
    def table(self) -> Table:
        """What public draws may be, and what every input answers."""
        return _table(self)

    @property
    def lowest(self) -> Fraction:
        """The smallest probability with which an input accepts a draw."""
        return min(min(chances) for chances in self.table.accepted.values())

    @property
    def highest(self) -> Fraction:
        """The largest."""
        return max(max(chances) for chances in self.table.accepted.values())

    def acceptance(self, x: Any) -> Fraction:
        """Probability that the input accepts a fresh public draw: 1/2 where nothing is clipped."""
        return sum((q * p for q, p in zip(self.table.public, self.table.accepted[x], strict=True)), Fraction(0))

    def public(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Public draws, as positions in ``table.outputs``, shape ``(size,)``."""
        if self.bottom is not None:
            return self._positions(self.base.sample(self.bottom, size, rng))
        drawn, inputs = np.empty(size, dtype=np.int64), list(self.inputs)
        which = rng.integers(0, len(inputs), size)
        for i, x in enumerate(inputs):
            chosen = np.flatnonzero(which == i)
            if len(chosen):
                drawn[chosen] = self._positions(self.base.sample(x, len(chosen), rng))
        return drawn

    def _positions(self, views: Views) -> NDArray[np.int64]:
        values, back = np.unique(np.asarray(views), axis=0, return_inverse=True)
        places = {plain(y): i for i, y in enumerate(self.table.outputs)}
        return np.array([places[plain(y)] for y in values])[np.ravel(back)]

    def answers(self, x: Any, drawn: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Whether the input accepts each of these public draws."""
        said, chances = np.zeros(drawn.shape, dtype=np.bool_), self.table.accepted[x]
        for p in set(chances):
            same = np.isin(drawn, [i for i, each in enumerate(chances) if each == p])
            said[same] = bernoulli(p, int(same.sum()), rng)
        return said

    def shown(self, drawn: NDArray[np.int64]) -> Views:
        """Views of the base, by position."""
        return np.asarray(self.table.outputs)[drawn]

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        return self.base.truth(data)

    @abstractmethod
    def reported(self, x: Any) -> dict[View, Fraction]:
        """Exact law of the draw that the server takes for the input's report, over public draws and coins."""


def _at_most_exp(value: Fraction, exponent: Fraction) -> bool:
    """Whether a rational is at most ``e**exponent``, which is no rational unless the exponent is 0."""
    if exponent == 0:
        return value <= 1
    bits = _BITS
    while True:
        with working_precision(bits):
            power = ball(exponent).exp()
            if ball(value) < power or ball(value) > power:
                return bool(ball(value) < power)
        bits *= 2


@lru_cache(maxsize=64)
def _table(m: _Protected) -> Table:
    inputs = list(islice(m.inputs, _MOST_INPUTS + 1))
    if len(inputs) > _MOST_INPUTS:
        raise Unsupported(m, f"the laws of all inputs are listed, but its base has more than {_MOST_INPUTS} inputs")
    laws = {x: dict(m.base.law(x).items()) for x in inputs}
    if m.bottom is None:
        views = dict.fromkeys(y for law in laws.values() for y in law)
        mixed = {y: sum((law.get(y, Fraction(0)) for law in laws.values()), Fraction(0)) / len(laws) for y in views}
    else:
        mixed = next(law for x, law in laws.items() if x == m.bottom)
    public = {y: p for y, p in mixed.items() if p > 0}

    @cache
    def half(ratio: Fraction) -> Fraction:
        """Of the likelihood ratio, and of 1 where that lies beyond e**(2 epsilon) on either side."""
        inside = ratio > 0 and _at_most_exp(ratio, 2 * m.epsilon) and _at_most_exp(1 / ratio, 2 * m.epsilon)
        return ratio / 2 if inside else _HALF

    accepted = {x: tuple(half(law.get(y, Fraction(0)) / q) for y, q in public.items()) for x, law in laws.items()}
    return Table(tuple(public), tuple(public.values()), accepted)


@dataclass(frozen=True, slots=True)
class GenProt(_Protected):
    r"""The position, among T public draws from a public law, of one that the user's coins accepted.

    Public, per user: :math:`y_1, \dots, y_T` from P0. The user with input x tosses a coin for each, true with probability
    :math:`p_t = P_x(y_t) / (2 P_0(y_t))`, clipped, and sends the position of a uniformly chosen true one, or of any draw
    where none is true. The server takes :math:`y_g` as the user's report to the base. A view is a row of T + 1 numbers: the
    draws, as positions in ``table.outputs``, and the position g of the chosen one among them. So the draws are part of what
    is seen, and nobody chose them: what it costs if somebody did is `ldpaudit.accountants.genprot.worst_draws`.

    Parameters
    ----------
    slots : int
        T, from 2 to 512.

    Examples
    --------
    >>> m = GenProt.of_response(Fraction(1, 4), k=2, slots=20)
    >>> m.bits, m.base.k
    (5, 2)
    """

    title = "GenProt"

    base: Mechanism
    epsilon: Fraction
    slots: int
    bottom: Any = None

    def __post_init__(self) -> None:
        _Protected.__post_init__(self)
        integer(self, "slots", 2, _MOST_SLOTS)

    @classmethod
    def of_response(cls, epsilon: Number, k: int, slots: int, leak: Number = 0, bottom: int | None = None) -> Self:
        """On k-ary randomized response of this epsilon, which shows the value in the clear with probability `leak`."""
        return cls(_response(epsilon, k, leak), exact(epsilon), slots, bottom)

    @classmethod
    def of_binomial(cls, epsilon: Number, trials: int, slots: int, bottom: int | None = None) -> Self:
        """On a bit to which a count of `trials` fair coins is added."""
        return cls(ShiftedBinomial(trials), exact(epsilon), slots, bottom)

    @property
    def bits(self) -> int:
        """What a user sends."""
        return (self.slots - 1).bit_length()

    @property
    def silent_lowest(self) -> Fraction:
        """Probability that T - 1 draws, each accepted with the lowest probability, are all refused."""
        return (1 - self.lowest) ** (self.slots - 1)

    @property
    def silent_highest(self) -> Fraction:
        """The same of the highest."""
        return (1 - self.highest) ** (self.slots - 1)

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views, shape ``(size, slots + 1)``, each with public draws of its own."""
        self.require_input(x)
        drawn = self.public(size * self.slots, rng).reshape(size, self.slots)
        heard = self.answers(x, drawn, rng)
        heard[~heard.any(axis=1)] = True
        rank = rng.integers(0, heard.sum(axis=1))
        chosen = (np.cumsum(heard, axis=1) > rank[:, None]).argmax(axis=1)
        return np.concatenate([drawn, chosen[:, None]], axis=1)

    def law(self, x: Any) -> Law:
        self.require_input(x)
        outputs, public, accepted = self.table
        chances = accepted[x]

        def probability(view: Sequence[int]) -> Fraction:
            *drawn, chosen = view
            said = [chances[i] for i in drawn]
            others = tuple(sorted(p for t, p in enumerate(said) if t != chosen))
            return prod((public[i] for i in drawn), start=Fraction(1)) * chance(said[chosen], others)

        views = Rows((*(range(len(outputs)),) * self.slots, range(self.slots)))
        return Law(probability, lambda: views, len(outputs) ** self.slots * self.slots)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """What the base estimates from the chosen draws; off by at most the distance of `reported` from the base's law."""
        views = np.asarray(views)
        return self.base.estimate(self.shown(np.take_along_axis(views[:, :-1], views[:, -1:], axis=1)[:, 0]))

    def reported(self, x: Any) -> dict[View, Fraction]:
        r"""Exact law of :math:`y_g`.

        Every draw is accepted with the same probability a, and given its coin it has the accepted or the refused law, whatever
        the other draws are: :math:`(1 - (1-a)^T)` times the accepted law and :math:`(1-a)^T` times the refused one.
        """
        a = self.acceptance(x)
        none = (1 - a) ** self.slots
        rows = zip(self.table.outputs, self.table.public, self.table.accepted[x], strict=True)
        return {y: (1 - none) * q * p / a + none * q * (1 - p) / (1 - a) for y, q, p in rows}


@lru_cache(maxsize=1 << 14)
def chance(own: Fraction, others: Chances) -> Fraction:
    """Probability that a position is sent, of the probabilities that its draw and each of the others are accepted."""
    counts = [Fraction(1)]
    for p in others:
        counts = [(counts[n] if n < len(counts) else 0) * (1 - p) + (counts[n - 1] if n else 0) * p for n in range(len(counts) + 1)]
    shared = sum((weight / (1 + n) for n, weight in enumerate(counts)), Fraction(0))
    return own * shared + (1 - own) * counts[0] / (len(others) + 1)


@dataclass(frozen=True, slots=True)
class GenProtBit(_Protected):
    """One public draw, and one bit: whether the user's coin accepted it. Half of the users are lost.

    A view is a row of two numbers: the draw, as a position in ``table.outputs``, and the bit.

    Examples
    --------
    >>> m = GenProtBit.of_response(Fraction(1, 4), k=2)
    >>> m.acceptance(0)
    Fraction(1, 2)
    """

    variant = "one-bit"
    title = "GenProt, one bit"

    base: Mechanism
    epsilon: Fraction
    bottom: Any = None

    @classmethod
    def of_response(cls, epsilon: Number, k: int, leak: Number = 0, bottom: int | None = None) -> Self:
        """On k-ary randomized response of this epsilon, which shows the value in the clear with probability `leak`."""
        return cls(_response(epsilon, k, leak), exact(epsilon), bottom)

    @classmethod
    def of_binomial(cls, epsilon: Number, trials: int, bottom: int | None = None) -> Self:
        """On a bit to which a count of `trials` fair coins is added."""
        return cls(ShiftedBinomial(trials), exact(epsilon), bottom)

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Views, shape ``(size, 2)``, each with a public draw of its own."""
        self.require_input(x)
        drawn = self.public(size, rng)
        return np.stack([drawn, self.answers(x, drawn, rng).astype(np.int64)], axis=1)

    def law(self, x: Any) -> Law:
        self.require_input(x)
        outputs, public, accepted = self.table
        chances = accepted[x]

        def probability(view: Sequence[int]) -> Fraction:
            drawn, bit = view
            return public[drawn] * (chances[drawn] if bit else 1 - chances[drawn])

        return Law(probability, lambda: Rows((range(len(outputs)), range(2))), 2 * len(outputs))

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Twice what the base estimates from the accepted draws: a draw is accepted half of the time."""
        drawn, bit = np.asarray(views).T
        return 2 * self.base.estimate(self.shown(drawn[bit == 1]))

    def reported(self, x: Any) -> dict[View, Fraction]:
        """Exact law of an accepted draw: that of the base where nothing is clipped."""
        rows = zip(self.table.outputs, self.table.public, self.table.accepted[x], strict=True)
        return {y: q * p / self.acceptance(x) for y, q, p in rows}


def _response(epsilon: Number, k: int, leak: Number) -> Mechanism:
    if exact(leak, "leak") == 0:
        return KaryRandomizedResponse.for_epsilon(epsilon, k)
    return LeakyResponse.for_epsilon(epsilon, k, leak)
