r"""The Bucket mechanism: noisy counts of random halves of the universe, and the one value that is always in the larger.

Hsu, Khanna, Roth 2012, "Distributed private heavy hitters", Algorithm 3.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.partitions import Counts
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import dyadic
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS, chunks
from ldpaudit.mechanisms.shared.in_parts import Centre, InParts, asked_once, inputs_of
from ldpaudit.mechanisms.shared.linear_codes.codeword_weights import heaviest
from ldpaudit.mechanisms.shared.linear_codes.gf2 import BITS, nonzero, solve
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity
from ldpaudit.mechanisms.shared.parameters import ball, exact, integers, positive, rounded_up
from ldpaudit.mechanisms.shared.projections.noisy_column import HashedColumn
from ldpaudit.neighbours import ADD_REMOVE, Neighbours
from ldpaudit.profile import Number

_CHUNK = 1 << 22  # bits of values that are computed at a time


@dataclass(frozen=True, slots=True)
class BucketHeavyHitter(InParts, HashedColumn):
    """The bits ``<r, x>`` mod 2 of a value for `trials * rows` public vectors r, each plus Laplace noise.

    The vectors are not 0 and come from the seed. A view is a row of ``trials * rows`` floats. An absent user, the
    input None, is a histogram of zeros, so that all their bits are 0. As for `Laplace`, what is said of privacy is about
    real numbers.

    Parameters
    ----------
    domain : int
        Number N of values, from 2 to 2**62; inputs are ``range(domain)``, and None for an absent user.
    rows : int
        Number of hash functions per trial, at least 1.
    trials : int
        Number of repetitions, at least 1.
    scale : Fraction
        Scale of the noise on each bit, above 0.
    seed : int
        Seed of the public vectors.

    Examples
    --------
    >>> m = BucketHeavyHitter.as_printed(epsilon=1, delta=1e-6, beta=Fraction(1, 20), domain=2**20)
    >>> m.rows, m.trials, round(float(m.scale), 3)
    (24, 24, 249.944)
    >>> rng, data = np.random.default_rng(0), [7] * 900 + [3] * 100
    >>> loud = BucketHeavyHitter(domain=2**20, rows=24, trials=24, scale=Fraction(5))
    >>> loud.heavy_hitter(loud.run(data, rng), users=1_000)
    7
    """

    title = "Bucket mechanism"
    names_values = True

    domain: int
    rows: int
    trials: int
    scale: Fraction
    seed: int = 0

    def __post_init__(self) -> None:
        integers(self, domain=(2, 1 << BITS), rows=1, trials=1, seed=0)
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @classmethod
    def as_printed(cls, epsilon: Number, delta: Number, beta: Number, domain: int, seed: int = 0) -> Self:
        """Algorithm 3: ``log2(12 N)`` rows, ``8 ln(1/beta)`` trials, and noise for the product of the two, rounded up.

        Rows and trials are rounded up as well, the product under the root is not: the paper rounds nothing.
        """
        rows = (12 * domain - 1).bit_length()
        spent, secret, miss = positive("epsilon", epsilon), exact(delta), exact(beta)
        if not (0 < secret < 1 and 0 < miss < 1):
            raise ValueError(f"BucketHeavyHitter needs 0 < delta < 1 and 0 < beta < 1, got delta={secret}, beta={miss}")
        with working_precision(2 * SIGNIFICANT_BITS):
            lines = ball(Fraction(12 * domain)).log() / flint.arb(2).log()
            tries = -ball(miss).log()
            scale = rounded_up(8 * (lines * tries * -ball(secret).log()).sqrt() / ball(spent))
            return cls(domain, rows, math.ceil(dyadic((8 * tries).upper())), scale, seed)

    @classmethod
    def for_epsilon(cls, epsilon: Number, domain: int, rows: int, trials: int, seed: int = 0) -> Self:
        """Epsilon-LDP whatever the public vectors are: ``scale = rows * trials / epsilon``, exactly."""
        return cls(domain, rows, trials, rows * trials / positive("epsilon", epsilon), seed)

    @property
    def coordinates(self) -> int:
        return self.rows * self.trials

    @property
    def vectors(self) -> NDArray[np.int64]:
        """The public vectors r, trial by trial, shape ``(trials * rows,)``."""
        return nonzero(self.seed, np.arange(self.coordinates), self.bits)

    def apart(self, present: bool = False) -> tuple[int, int | None, int, bool]:
        """The two inputs that differ in most coordinates, in how many, and whether that is known to be the most.

        They are two values, or with ``present`` a value and an absent user. The bits of two values differ where those of their
        exclusive or are 1, and every number of this many bits is such an exclusive or.
        """
        below = self.domain if present else 1 << self.bits
        difference, weight, known = heaviest(tuple(self.vectors.tolist()), self.bits, below)
        return *((difference, None) if present else self.two_values(difference)), weight, known

    def pairs(self, neighbours: Neighbours) -> tuple[tuple[int, int | None], ...]:
        """The two inputs that differ in most coordinates; see `apart`."""
        return (self.apart(present=neighbours == ADD_REMOVE)[:2],)

    def column(self, x: int | None) -> NDArray[np.float64]:
        """Bits of a value; zeros for an absent user."""
        return np.zeros(self.coordinates) if x is None else self.hashes(x).astype(np.float64)

    def hashes(self, values: ArrayLike) -> NDArray[np.uint8]:
        """Bits of values, shape ``values.shape + (trials * rows,)``: the exclusive or of those of a value's bytes."""
        packed = np.uint8(0)
        rest = np.asarray(values, dtype=np.int64)
        for table in _tables(self.seed, self.coordinates, self.bits):
            packed = packed ^ table[rest & 255]
            rest = rest >> 8
        return np.unpackbits(packed, axis=-1, count=self.coordinates)

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """Count of the users whose bit is 1, for each hash function."""
        return self._measured(*np.unique(np.asarray(data, dtype=np.int64), return_counts=True))

    def _measured(self, values: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        total = np.zeros(self.coordinates)
        for part in chunks(len(values), _CHUNK // self.coordinates):
            total += counts[part].astype(np.float64) @ self.hashes(values[part]).astype(np.float64)  # exact below 2**53
        return total

    run_on_counts = Mechanism.run_on_counts

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The counts u of Algorithm 3, every user's noise drawn; `heavy_hitter` reads them."""
        return self._noised(self.truth(data), len(np.asarray(data)), rng)

    def run_in_law(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Counts with the law of `run`, in time free of the users: Laplace noises sum to a difference of two Gammas."""
        return self.truth(data) + self._noise(len(np.asarray(data)), rng)

    def centre(self, users: Sequence[int], rng: np.random.Generator) -> Centre:
        """As `run_in_law`, over parts, each of which adds its users' reports."""
        return asked_once(users)

    def answer(self, question: Any, part: Counts, rng: np.random.Generator) -> NDArray[np.float64]:
        """The sums of a part's reports, by hash functions."""
        held = inputs_of(self, part)
        return self._measured(held.values, held.holders) + self._noise(held.users, rng)

    def heavy_hitter(self, counts: NDArray[np.float64], users: int) -> int | None:
        """The value that most trials name; of several the least, and None where no trial names any.

        A trial takes the larger half of the users, by each hash function, for the heavy hitter's, and solves for the
        value that is in all of them. Where the system has several solutions, the one with free bits 0 is named.
        """
        larger = (counts > users / 2).astype(np.int64).reshape(self.trials, self.rows).tolist()
        vectors = self.vectors.reshape(self.trials, self.rows).tolist()
        named = [solve(rows, target, self.bits) for rows, target in zip(vectors, larger, strict=True)]
        votes = Counter(x for x in named if x is not None and x < self.domain)
        return min(votes, key=lambda x: (-votes[x], x), default=None)


@lru_cache(maxsize=16)
def _tables(seed: int, coordinates: int, bits: int) -> list[NDArray[np.uint8]]:
    """For each byte of a value: all bits of each of its 256 contents, packed."""
    vectors = nonzero(seed, np.arange(coordinates), bits)
    contents = np.arange(256, dtype=np.int64)[:, None]
    return [np.packbits(parity((contents << low) & vectors), axis=-1) for low in range(0, bits, 8)]
