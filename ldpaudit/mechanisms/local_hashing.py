r"""Local hashing: hash the value to few, by a function that is public and each user's own, and randomize the hash.

Bassily, Smith 2015 (g = 2); Wang, Blocki, Li, Jha 2017 (binary and optimal local hashing).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.core.number import brief
from ldpaudit.mechanism import Law, Rows, Views
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.parameters import half_open, integer, integers, odds, positive
from ldpaudit.mechanisms.shared.values import DomainValues
from ldpaudit.profile import Number

MERSENNE = (1 << 31) - 1  # a prime below 2**31, so that a product of two residues fits into 64 bits
_BLOCK = 1 << 20  # hashes that `estimate` computes at a time


@dataclass(frozen=True, slots=True)
class LocalHashing(DomainValues):
    """A fresh hash function, and g-ary randomized response on what it makes of the value.

    The hash of x is ``((a x + b) mod prime) mod g`` with a and b uniform on ``range(prime)``, 0 included: for two
    values the pair of residues is then exactly uniform, and how often two hashes agree is a rational number that
    depends on no value. A view is a row ``(a, b, y)``: the function is public.

    Parameters
    ----------
    g : int
        Number of hash values, from 2 to `prime`.
    p : Fraction
        Probability of the true hash value, ``1/g <= p < 1``; each other one has ``(1 - p)/(g - 1)``.
    domain : int
        Number of values, from 2 to `prime`; inputs are ``range(domain)``.
    prime : int
        Size of the field of the hash functions, at most 2**31 - 1.

    Examples
    --------
    >>> m = LocalHashing(g=2, p=Fraction(3, 4), domain=3, prime=3)
    >>> m.law(2).probability((1, 0, 0)), m.collision  # (1 * 2 + 0) mod 3 mod 2 = 0: the truth
    (Fraction(1, 12), Fraction(5, 9))
    """

    title = "local hashing"
    calibrated = ("for_epsilon", "binary", "optimal")

    g: int
    p: Fraction
    domain: int
    prime: int = MERSENNE

    def __post_init__(self) -> None:
        integer(self, "prime", 2, MERSENNE)
        if not flint.fmpz(self.prime).is_prime():
            raise ValueError(f"LocalHashing needs a prime number prime, got prime={self.prime}")
        integers(self, g=(2, self.prime), domain=(2, self.prime))
        half_open(self, "p", Fraction(1, self.g), "1/g <= p < 1", g=self.g)

    @classmethod
    def for_epsilon(cls, epsilon: Number, g: int, domain: int) -> Self:
        """The most accurate one with `g` hash values: ``p = e**epsilon / (e**epsilon + g - 1)``, rounded down."""
        return cls(g, odds(epsilon, g - 1), domain)

    @classmethod
    def binary(cls, epsilon: Number, domain: int) -> Self:
        """Binary local hashing: two hash values."""
        return cls.for_epsilon(epsilon, 2, domain)

    @classmethod
    def optimal(cls, epsilon: Number, domain: int) -> Self:
        """Optimal local hashing: ``g = round(e**epsilon) + 1``, which minimizes the variance (Wang et al. 2017)."""
        if not positive("epsilon", epsilon) <= 21:  # e**21 is the last below the prime
            raise ValueError(f"LocalHashing.optimal needs epsilon <= 21, got epsilon={brief(epsilon)}")
        return cls.for_epsilon(epsilon, round(math.exp(epsilon)) + 1, domain)

    @property
    def lie(self) -> Fraction:
        """Probability of each single other hash value."""
        return (1 - self.p) / (self.g - 1)

    @property
    def collision(self) -> Fraction:
        """Probability that a function hashes two different values alike, whichever they are."""
        each, more = divmod(self.prime, self.g)  # `more` hash values have one residue more than the others
        return Fraction(more * (each + 1) ** 2 + (self.g - more) * each**2, self.prime**2)

    @property
    def other(self) -> Fraction:
        """Probability that a report names the hash of a given value that is not the user's."""
        return self.collision * self.p + (1 - self.collision) * self.lie

    def hash(self, a: NDArray[np.int64], b: NDArray[np.int64], x: int | NDArray[np.int64]) -> NDArray[np.int64]:
        """Hash values of `x` under the functions ``(a, b)``."""
        return (a * x + b) % self.prime % self.g

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.require_input(x)
        return self.reports(np.full(size, x), rng)

    def reports(self, x: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Views of users by their values, a row each."""
        size = len(x)
        views = np.empty((size, 3), dtype=np.int64)
        a, b = views[:, 0], views[:, 1]
        a[:], b[:] = rng.integers(0, self.prime, (2, size))
        views[:, 2] = answers(self.hash(a, b, x), self.g, self.p, rng)
        return views

    def supports(self, views: Views, x: int) -> NDArray[np.bool_]:
        """Whether each view's hash value is that of `x` under the view's own function."""
        a, b, y = np.asarray(views).T
        return np.asarray(self.hash(a, b, x) == y)

    def law(self, x: int) -> Law:
        """Law on triples ``(a, b, y)``: two values."""
        self.require_input(x)
        truth, lie = self.p / self.prime**2, self.lie / self.prime**2

        def probability(view: tuple[int, int, int]) -> Fraction:
            a, b, y = view
            return truth if (a * x + b) % self.prime % self.g == y else lie

        return Law(probability, lambda: Rows(self.columns), self.prime**2 * self.g)

    @property
    def columns(self) -> tuple[range, range, range]:
        """What a view's three numbers may be."""
        return range(self.prime), range(self.prime), range(self.g)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Unbiased count of each value, shape ``(domain,)``, in time ``len(views) * domain``.

        A view supports its own value with probability p, and any other with probability `other`.
        """
        a, b, y = np.asarray(views).T
        block = max(1, _BLOCK // max(1, len(y)))
        support = np.empty(self.domain)
        for start in range(0, self.domain, block):
            values = np.arange(start, min(start + block, self.domain))
            support[values] = np.count_nonzero(self.hash(a, b, values[:, None]) == y, axis=1)
        return (support - len(y) * float(self.other)) / float(self.p - self.other)


def answers(truth: NDArray[np.int64], g: int, p: Fraction, rng: np.random.Generator) -> NDArray[np.int64]:
    """g-ary randomized responses, of which each is the truth with probability `p`, in the shape of the truths."""
    other = rng.integers(0, g - 1, truth.shape)
    other += other >= truth
    return np.where(bernoulli(p, truth.shape, rng), truth, other)
