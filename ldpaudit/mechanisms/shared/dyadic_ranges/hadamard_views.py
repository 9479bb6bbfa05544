"""Views of Hadamard oracles that tell two inputs apart: in each oracle the numbers of four kinds of message."""

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from operator import sub
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.number import brief
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up
from ldpaudit.mechanism import Law, Mechanism, Rows, Views
from ldpaudit.mechanisms.shared.parameters import ball
from ldpaudit.mechanisms.shared.public_questions.deviation import bernstein

View: TypeAlias = tuple[int, ...]  # number of messages of each kind
Shares: TypeAlias = tuple[Fraction, ...]  # probabilities of the kinds of a message
Group: TypeAlias = tuple[int, Shares]  # a number of messages, and what kind each of them is with which probability

KINDS = 4  # kinds of message that a view counts


def convolved(law: dict[View, Fraction], shares: Shares) -> dict[View, Fraction]:
    """The law of counts with one more message."""
    found: dict[View, Fraction] = defaultdict(Fraction)
    for view, weight in law.items():
        for kind, share in enumerate(shares):
            if share:
                more = tuple(n + (i == kind) for i, n in enumerate(view))
                found[more] += weight * share
    return found


def multinomial(counts: View, total: int, shares: Shares) -> Fraction:
    """Probability of these counts of a number of independent messages; 0 where they do not add up to it."""
    if min(counts) < 0 or sum(counts) != total:
        return Fraction(0)
    ways = math.factorial(total) // math.prod(map(math.factorial, counts))
    return ways * math.prod((share**n for share, n in zip(shares, counts, strict=True)), start=Fraction(1))


def law_of_counts(blanket: Group, others: Iterable[Group]) -> Callable[[View], Fraction]:
    """Probability of the numbers of all kinds among the messages of a large group, the blanket, and of some others."""
    size, shares = blanket

    @cache
    def known() -> dict[View, Fraction]:
        law: dict[View, Fraction] = {(0,) * len(shares): Fraction(1)}
        for number, each in others:
            for _ in range(number):
                law = convolved(law, each)
        return law

    @cache
    def probability(view: View) -> Fraction:
        parts = ((w, tuple(map(sub, view, part))) for part, w in known().items())
        return sum((w * multinomial(left, size, shares) for w, left in parts), Fraction(0))

    return probability


def compositions(total: int, parts: int) -> Iterator[View]:
    """All counts that add up to a number of messages."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in compositions(total - first, parts - 1))


class HadamardViews(Mechanism):
    """A view counts four kinds of message, in every oracle by itself.

    They are: in the kernel of an element of the first input and of none of the second's, the other way round, of both, of
    none. Where every message is seen, elements that are not looked at are like a blanket.

    Parameters
    ----------
    users : int
        Number n of users, from 1 to 2**50.
    tau : int
        Indices in a message, from 1 to 512.
    rho : int
        Blanket messages per user and oracle, from 1 to 2**40.
    """

    model = "shuffled"
    shows_users = True

    users: int
    tau: int
    rho: int

    @property
    def hit(self) -> Fraction:
        """Probability that a blanket message speaks for a given element, 2**-tau."""
        return Fraction(1, 1 << self.tau)

    @property
    def oracles(self) -> int:
        """Number of independent oracles."""
        return 1

    @property
    @abstractmethod
    def compared(self) -> int:
        """Number of elements of either input that a view looks at, in each oracle."""

    @abstractmethod
    def groups(self, x: Any) -> tuple[Group, ...]:
        """The messages of an oracle by what they show, those of its blanket first."""

    @property
    def shares(self) -> tuple[Shares, Shares, Shares]:
        """What is shown by a blanket message, by one of the first input's elements, and by one of the second's."""
        none = (1 - self.hit) ** self.compared
        zero = Fraction(0)
        blanket = (none * (1 - none), none * (1 - none), (1 - none) ** 2, none**2)
        return blanket, (none, zero, 1 - none, zero), (zero, none, 1 - none, zero)

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.require_input(x)
        shape = (size, self.oracles)
        parts = (rng.multinomial(number, [float(p) for p in shares], shape) for number, shares in self.groups(x))
        return np.asarray(sum(parts, np.zeros((*shape, KINDS), dtype=np.int64)).reshape(size, -1))

    def law(self, x: Any) -> Law:
        self.require_input(x)
        blanket, *rest = self.groups(x)
        total, once = blanket[0] + sum(number for number, _ in rest), law_of_counts(blanket, rest)

        def probability(view: View) -> Fraction:
            parts = (once(view[i : i + KINDS]) for i in range(0, len(view), KINDS))
            return math.prod(parts, start=Fraction(1))

        def views() -> Iterator[View]:
            for parts in product(compositions(total, KINDS), repeat=self.oracles):
                yield sum(parts, ())

        def all_sent(rows: NDArray[Any]) -> NDArray[np.bool_]:
            return np.asarray((rows.reshape(len(rows), self.oracles, KINDS).sum(axis=2) == total).all(axis=1))

        every = Rows((range(total + 1),) * (KINDS * self.oracles), all_sent, views)
        return Law(probability, lambda: every, math.comb(total + KINDS - 1, KINDS - 1) ** self.oracles)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """In each oracle the number of holders of the elements of the first input that are looked at, without bias."""
        table = np.asarray(views).reshape(len(views), self.oracles, KINDS)
        blanket, own, _ = self.shares
        seen, more = float(blanket[0] + blanket[2]), float(own[0] + own[2] - blanket[0] - blanket[2])
        return np.asarray((table[..., 0] + table[..., 2] - seen * table.sum(axis=2)) / more, dtype=np.float64)

    def error(self, sent: int, estimates: int, beta: Fraction) -> float:
        r"""The error that none of this many estimates of counts exceeds, except with probability `beta`, rounded up; in users.

        .. math:: \frac{1}{1 - p} \Bigl(\frac{l}{3} + \sqrt{\frac{l^2}{9} + 2 v l}\Bigr), \qquad v = s n p,
                  \quad l = \ln \frac{2 m}{\beta}

        for m estimates and s messages of a user in an oracle. Messages that speak for an element and are not its holders' are
        at most :math:`Bin(s n, p)`: they have less variance. Not tight. Source: Bernstein's inequality.
        """
        if not 0 < beta < 1:
            raise ValueError(f"{type(self).__name__} needs 0 < beta < 1, got beta={brief(beta)}")
        with working_precision(128):
            nats = ball(2 * estimates / beta).log()
            return round_up(bernstein(sent * self.users * self.hit, Fraction(1), nats) / (1 - ball(self.hit)))


class OneElement(HadamardViews):
    """Everybody sends one element to every oracle; in a view all others send those of the second input."""

    @property
    def compared(self) -> int:
        """The one element."""
        return 1

    def groups(self, x: Any) -> tuple[Group, ...]:
        """The blanket's messages, user 1's own, and the others'."""
        blanket, first, second = self.shares
        own = first if x == self.inputs[0] else second
        return (self.users * self.rho, blanket), (1, own), (self.users - 1, second)
