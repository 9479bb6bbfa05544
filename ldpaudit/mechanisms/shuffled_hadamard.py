r"""Hadamard response in the shuffled model: tuples of indices from a user's codewords, and a blanket of random tuples.

Ghazi, Golowich, Kumar, Pagh, Velingker 2019, "On the power of multiple anonymous messages", Algorithm 1. With log to base 2,

.. math:: \tau = \log n, \qquad \rho = \frac{36 k^2 \ln\frac{ek}{\varepsilon\delta}}{\varepsilon^2}

An index is a column of the Hadamard matrix of order 2B, and a value's codeword are the columns in which its row is 1. So a
message is a matrix over GF(2) with an index in each of its tau rows, and it speaks for the values in its kernel.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import dyadic
from ldpaudit.mechanism import Law, Rows, Views
from ldpaudit.mechanisms.shared.dyadic_ranges.hadamard_views import Shares, compositions, law_of_counts
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity
from ldpaudit.mechanisms.shared.linear_codes.kernels import members, random_members, random_members_with
from ldpaudit.mechanisms.shared.parameters import ball, exact, integers, positive
from ldpaudit.mechanisms.shared.values import DomainValues
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.profile import Number

LARGEST_DOMAIN = 1 << 40
_ALL_COUNTS = 1 << 24  # domains up to this size are counted through; of larger ones single values are asked for

Values: TypeAlias = int | tuple[int, ...]  # what a user holds: one value, or up to k different ones


@dataclass(frozen=True, slots=True)
class ShuffledHadamard(DomainValues):
    """For each of k elements a tuple of indices from its codeword, and `rho` tuples of any indices; shuffled.

    A user who holds fewer than k values fills up with elements that stand for no value. Value v has row v + 1 of the
    matrix (counted from 0, the row of ones), so the elements that stand for none are the rows from B + 1 on.

    An input is what one user holds, or None for an absent one; the other users hold value 2, where there is one, else
    nothing. A view is what all messages together show of rows 1, 2 and 3, which are those of values 0, 1 and 2: a row of
    five numbers of messages, in whose kernel is row 1 alone, 2 alone, 3 alone, all three, none. (Two of them without the
    third never are.) That is a function of the shuffled multiset, and sufficient for telling inputs 0 and 1 apart; any
    two values are alike.

    Parameters
    ----------
    users : int
        Number n of users, from 1 to 2**50.
    domain : int
        Number B of values, a power of two from 2 to 2**40; inputs are ``range(domain)``, or tuples of up to k of these.
    tau : int
        Indices in a message, from 1 to 512.
    rho : int
        Blanket messages per user, from 1 to 2**40.
    k : int
        Elements per user, from 1 to ``domain - 1``.

    Examples
    --------
    >>> m = ShuffledHadamard.as_printed(epsilon=1, delta=1e-6, users=2**10, domain=2**8)
    >>> m.tau, m.rho, m.message_bits
    (10, 534, 90)
    >>> data = [3] * 700 + [5] * 324
    >>> off = m.run(data, np.random.default_rng(0)) - m.truth(data)
    >>> bool(np.abs(off).max() < 130)
    True
    """

    title = "Hadamard response, shuffled"
    model = "shuffled"
    relations = (REPLACE_ONE, ADD_REMOVE)

    users: int
    domain: int
    tau: int
    rho: int
    k: int = 1

    def __post_init__(self) -> None:
        integers(self, users=(1, 1 << 50), domain=(2, LARGEST_DOMAIN))
        if self.domain & (self.domain - 1):
            raise ValueError(f"ShuffledHadamard needs a power of two as domain, got domain={self.domain}")
        integers(self, tau=(1, 512), rho=(1, 1 << 40), k=(1, self.domain - 1))

    @classmethod
    def as_printed(cls, epsilon: Number, delta: Number, users: int, domain: int, k: int = 1) -> Self:
        """Theorem 4.3: ``tau = log2(n)`` and ``rho = 36 k**2 ln(e k/(epsilon delta))/epsilon**2``, both rounded up."""
        return cls(users, domain, max(1, (users - 1).bit_length()), printed_rho(epsilon, delta, k), k)

    @property
    def bits(self) -> int:
        """Length of an index, in bits."""
        return self.domain.bit_length()

    @property
    def message_bits(self) -> int:
        """Length of a message, in bits."""
        return self.tau * self.bits

    @property
    def bits_a_user(self) -> int:
        """Of all messages of a user."""
        return (self.k + self.rho) * self.message_bits

    @property
    def hit(self) -> Fraction:
        """Probability that a blanket message speaks for a given value, 2**-tau."""
        return Fraction(1, 1 << self.tau)

    @property
    def others(self) -> tuple[int, ...]:
        """What every other user holds in a view."""
        return (2,) if self.domain > 2 else ()

    def elements(self, held: Values) -> tuple[int, ...]:
        """Rows of a user's k elements, those that fill up included."""
        values = (held,) if isinstance(held, int) else held
        return tuple(v + 1 for v in values) + tuple(range(self.domain + 1, self.domain + 1 + self.k - len(values)))

    def require_input(self, x: Any) -> None:
        """Check that `x` is a value, up to k different values, or None."""
        values = x if isinstance(x, tuple) else () if x is None else (x,)
        whole = all(isinstance(v, int) and 0 <= v < self.domain for v in values)
        if not whole or len(values) > self.k or len(set(values)) < len(values):
            needs = f"a value below {self.domain}, a tuple of at most {self.k} different ones, or None"
            raise ValueError(f"ShuffledHadamard needs {needs}, got {x!r}")

    def shares(self, element: int) -> Shares:
        """What a message of an element, or of the blanket for element 0, shows in a view.

        Rows 1, 2 and 3 sum to 0, so that a message in two of their kernels is in all three. A message of another row is
        to these as the blanket is: where there are values above 1, rows that stand for no value are independent of them.
        """
        p = self.hit
        if element in (1, 2, 3):
            only = [Fraction(0)] * 3
            only[element - 1] = 1 - p
            return *only, p, Fraction(0)
        pure = p * (1 - p)
        return pure, pure, pure, p * p, 1 - 3 * pure - p * p

    def messages(self, x: Values | None) -> Counter[int]:
        """How many messages of each element there are in a view; all that show what the blanket does are element 0."""
        found = Counter(dict.fromkeys(self.elements(self.others), self.users - 1))
        found.update(() if x is None else self.elements(x))
        found[0] = self.rho * (self.users - (x is None)) + sum(n for e, n in found.items() if e > 3)
        return Counter({e: n for e, n in found.items() if e <= 3 and n})

    def sample(self, x: Values | None, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.require_input(x)
        parts = [rng.multinomial(n, [float(p) for p in self.shares(e)], size) for e, n in self.messages(x).items()]
        return sum(parts, np.zeros((size, 5), dtype=np.int64))

    def law(self, x: Values | None) -> Law:
        self.require_input(x)
        found = self.messages(x)
        total, blanket = sum(found.values()), (found.pop(0, 0), self.shares(0))
        probability = law_of_counts(blanket, [(number, self.shares(element)) for element, number in found.items()])
        every = Rows((range(total + 1),) * 5, lambda rows: rows.sum(axis=1) == total, lambda: compositions(total, 5))
        return Law(probability, lambda: every, math.comb(total + 4, 4))

    def randomize(self, x: Values, rng: np.random.Generator) -> NDArray[np.int64]:
        """One user's messages, line by line as printed: rows of tau indices, shape ``(k + rho, tau)``."""
        self.require_input(x)
        messages = rng.integers(0, 2 * self.domain, (self.k + self.rho, self.tau))
        for message, element in zip(messages, self.elements(x), strict=False):
            # Half of all indices are in the codeword, and to flip one bit of the element leads to them from the others.
            message ^= np.where(parity(message & element), element & -element, 0)
        return messages

    def tally_as_printed(self, messages: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each value the messages that speak for it, by Algorithm 1's loop over all values."""
        return np.array([self.speaking(messages, v) for v in range(self.domain)])

    def tally(self, messages: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same by Lemma 4.6: of each message the kernel is enumerated, mostly nothing, instead of all values."""
        return members(np.asarray(messages), self.bits)[1 : self.domain + 1]

    def speaking(self, messages: NDArray[np.int64], value: int) -> int:
        """Number of messages that speak for a value: all that a single query needs of the stored messages."""
        self.require_input(value)
        return int(np.count_nonzero(~parity(np.asarray(messages) & (value + 1)).any(axis=1)))

    def debias(self, counts: NDArray[np.int64] | int, users: int) -> NDArray[np.float64]:
        r"""Unbiased estimates from numbers of messages that speak for values,
        :math:`(C - (\rho + k)\, n\, 2^{-\tau}) / (1 - 2^{-\tau})`.
        """
        p = float(self.hit)
        return np.asarray((counts - (self.rho + self.k) * users * p) / (1 - p), dtype=np.float64)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of each value's holders from all messages, shape ``(messages, tau)``, in any order."""
        return self.debias(self.tally(views), len(views) // (self.rho + self.k))

    def truth(self, data: ArrayLike | Sequence[Values]) -> NDArray[np.float64]:
        """Number of each value's holders."""
        return self._held(data)[0][1 : self.domain + 1].astype(np.float64)

    def run(self, data: ArrayLike | Sequence[Values], rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimates of each value's number of holders, with exactly the joint law of `estimate` on all users' messages.

        Messages of the same element are alike, so only how many of them have which kernel is drawn: a million users take
        a second, however many messages these send. ``data``: an array of shape ``(users,)`` or ``(users, at most k)``, or tuples.
        Raises ValueError where a user holds what is no value, more than k, or one twice, or there are more than 2**24 values.
        """
        return self.from_counts(*self._held(data), rng)

    def from_counts(self, held: NDArray[np.int64], users: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """What `run` returns, from how many users have each element, shape ``(2 * domain,)``, and how many there are."""
        counts = random_members(users * self.rho, self.tau, self.bits, rng)
        elements = np.flatnonzero(held)
        counts += random_members_with(elements, held[elements], self.tau, self.bits, rng)
        return self.debias(counts[1 : self.domain + 1], users)

    def _held(self, data: ArrayLike | Sequence[Values]) -> tuple[NDArray[np.int64], int]:
        """How many users have each element, those that stand for no value included, and how many users there are."""
        if self.domain > _ALL_COUNTS:
            raise ValueError(f"ShuffledHadamard counts domains up to {_ALL_COUNTS}, got domain={self.domain}")
        table = _rows(data)
        if not len(table):
            raise ValueError("ShuffledHadamard.run needs at least one user, got none")
        ordered = np.sort(table, axis=1)
        held = ordered[ordered >= 0]
        sizes, counts = np.unique((ordered >= 0).sum(axis=1), return_counts=True)
        twice = np.any((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0))
        if twice or sizes.max() > self.k or (len(held) and held.max() >= self.domain):
            raise ValueError(f"ShuffledHadamard.run needs at most {self.k} different values below {self.domain} of each user")
        elements = np.bincount(held + 1, minlength=2 * self.domain)
        for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
            elements[self.domain + 1 : self.domain + 1 + self.k - size] += count
        return elements.astype(np.int64), len(table)


def _rows(data: ArrayLike | Sequence[Values]) -> NDArray[np.int64]:
    """A row a user, filled up with -1."""
    try:
        table = np.asarray(data)
    except ValueError:  # rows of different lengths
        rows = [x if isinstance(x, tuple) else (x,) for x in data]  # type: ignore[union-attr]
        longest = max(map(len, rows))
        table = np.array([row + (-1,) * (longest - len(row)) for row in rows])
    else:
        if table.size and (table.dtype.kind not in "iu" or table.min() < 0):
            raise ValueError("ShuffledHadamard.run needs nonnegative integers as values")
    return (table[:, None] if table.ndim == 1 else table).astype(np.int64)


def printed_rho(epsilon: Number, delta: Number, k: int) -> int:
    """Blanket messages per user that Lemma 4.4 asks for, rounded up."""
    promise, failure = positive("epsilon", epsilon), exact(delta)
    if not (0 < failure < 1 and k >= 1):
        raise ValueError(f"ShuffledHadamard needs 0 < delta < 1 and k >= 1, got delta={delta}, k={k}")
    with working_precision(256):
        log = 1 + ball(k / (promise * failure)).log()
        return max(1, math.ceil(dyadic((36 * k * k * log / ball(promise * promise)).upper())))
