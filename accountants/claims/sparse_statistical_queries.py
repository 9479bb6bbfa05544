r"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 print of sparse statistical queries, Corollary B.1, and what is found.

The corollary asks for a number of users n without constants. Its proof says what it is for: of l queries, each answer is within
t/2 of the users' share by the oracle's error, and this within t/2 of the probability by Hoeffding's inequality. Here n is enough
where both together fail with a probability of at most beta.
"""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, ShuffledPromise, derived, remembered, union
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries

_WHERE = "GGKPV Corollary B.1"
_MOST_USERS = 1 << 50


@dataclass(frozen=True)
class Setting(ShuffledPromise):
    """A promise, and the queries for which it is made."""

    queries: int  # l and k
    k: int
    tolerance: Fraction = Fraction(1, 50)  # error of an answer, in (0, 1)
    beta: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        if not (0 < self.beta < 1 and 0 < self.tolerance < 1):
            raise ValueError(f"Setting needs 0 < beta, tolerance < 1, got beta={self.beta}, tolerance={self.tolerance}")
        super().__post_init__()

    @property
    def mechanism(self) -> SparseStatisticalQueries:
        """With the parameters of Theorem 4.3."""
        return self.of(self.users)

    def of(self, users: int) -> SparseStatisticalQueries:
        """The same for this many users."""
        return SparseStatisticalQueries.as_printed(self.epsilon, self.delta, users, self.queries, self.k)


def failure(s: Setting, users: int) -> Enclosure:
    r"""Bound of the probability that one of l answers is off by more than t: Hoeffding's and Bernstein's inequalities.

    .. math:: 2 l e^{-n t^2/2} + 2 l \exp\Bigl(-\frac{x^2}{2 (v + x/3)}\Bigr), \qquad x = \frac{n t}{2} (1 - p), \quad
              v = (\rho + k)\, n p

    Not tight. Source: Hoeffding 1963; Bernstein's inequality.
    """
    m, half = s.of(users), s.tolerance / 2
    hits, reach = (m.rho + m.k) * users * m.hit, users * half * (1 - m.hit)

    def both() -> flint.arb:
        sampling, noise = 2 * users * half**2, reach**2 / (2 * (hits + reach / 3))
        return 2 * s.queries * ((-ball(sampling)).exp() + (-ball(noise)).exp())

    return narrow(both, "Hoeffding and Bernstein", Rigour.INTERVAL)


def sufficient_users(s: Setting) -> int:
    """The least power of two of users for which `failure` is at most beta: n of Corollary B.1, with our constants."""
    sizes = [1 << i for i in range(1, _MOST_USERS.bit_length())]
    found = bisect_left(sizes, True, key=lambda users: failure(s, users).high <= s.beta)
    return sizes[min(found, len(sizes) - 1)]


def printed(s: Setting) -> tuple[Printed, ...]:
    """Privacy, and the error of all answers to queries about a distribution."""
    found, off = account(s.mechanism).epsilon(s.delta), failure(s, s.users)
    return (
        remembered(_WHERE, f"{s.at}, another value of one user", float(s.epsilon), found, (s.power, s.small)),
        derived(_WHERE, f"probability that one of {s.queries} answers is off by more than {float(s.tolerance):g}", float(s.beta),
                union(off, 1, off.source), attained=False, variant="the corollary asks for a number of users without constants"),
    )  # fmt: skip


_PROMISE = Fraction(1), Fraction(1, 10**6)
EXAMPLES = (
    Setting(*_PROMISE, 1 << 16, 1 << 10, 2),
    Setting(Fraction(1, 2), Fraction(1, 10**9), 1 << 22, 200, 4, Fraction(1, 500)),
    Setting(*_PROMISE, 1 << 12, 1 << 10, 2),
)
"""Few true queries of many; a tenth of the tolerance, and users for it; and too few users."""

SIMULATED = EXAMPLES[:1]  # the first: the second has millions of users, and for the third nothing is proved


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """The largest error of all answers, where users hold k queries in a row; against the probabilities, not the users' shares."""
    m = s.mechanism
    places = s.queries // s.k
    chances = 1 / np.arange(1, places + 1)
    chances /= chances.sum()

    def data(rng: np.random.Generator) -> NDArray[np.int64]:
        return rng.choice(places, s.users, p=chances)[:, None] * s.k + np.arange(s.k)

    def error(_: NDArray[np.int64], found: NDArray[np.float64]) -> float:
        truth = np.zeros(s.queries)
        truth[: places * s.k] = np.repeat(chances, s.k)
        return float(np.abs(np.clip(found / s.users, 0, 1) - truth).max())

    sentence = f"all {s.queries} answers, n = {s.users}, k = {m.k}, Zipf; in shares"
    return (Accuracy(_WHERE, sentence, float(s.tolerance), float(s.beta), data, error),)
