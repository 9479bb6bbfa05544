"""What the readings of JL-HH share: a random projection whose rows are public parities, and its transpose by a transform."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.partitions import Counts
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import dyadic, round_up
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS
from ldpaudit.mechanisms.shared.in_parts import Centre, InParts, asked_once, inputs_of
from ldpaudit.mechanisms.shared.linear_codes.codeword_weights import ENUMERATED, weights
from ldpaudit.mechanisms.shared.linear_codes.gf2 import words
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity, transform
from ldpaudit.mechanisms.shared.parameters import ball, exact, positive, rounded_up
from ldpaudit.mechanisms.shared.projections.noisy_column import HashedColumn
from ldpaudit.neighbours import ADD_REMOVE, Neighbours
from ldpaudit.profile import Number

DECODED = 28  # most bits of a value for which all counts are decoded: the transform holds four times 2 GiB
WEIGHED = 1 << 22  # rows beyond which no pair of values is compared on all of them: 32 MiB of public vectors
_SUMMED = 1 << 26  # rows of which all public vectors are held at a time: 1 GiB with what is made of them
_CHUNK = 1 << 22  # noises that `run` draws at a time
_TRIED = 8  # differences of two values that are weighed where these are too many to weigh all


class Projected(InParts, HashedColumn):
    """Values x as columns of a matrix A of signs ``(-1)**<r_j, x> / sqrt(rows)``, r_j public, uniform vectors of bits.

    The matrix is never stored. Its rows are independent and uniform parities, so that two columns have independent,
    fair signs in every row, which is all that the error bounds use; the columns of a row are independent in pairs only.
    """

    rows: int
    seed: int

    @property
    def vectors(self) -> NDArray[np.int64]:
        """The public vectors r, shape ``(rows,)``."""
        return _vectors(self.seed, self.rows, self.bits)

    @property
    def entry(self) -> Fraction:
        """Modulus of the matrix's entries, one over the root of `rows`; rounded up where that is irrational."""
        root = math.isqrt(self.rows)
        if root * root == self.rows:
            return Fraction(1, root)
        with working_precision(2 * SIGNIFICANT_BITS):
            return rounded_up(1 / flint.arb(self.rows).sqrt())

    @property
    def noise_scale(self) -> float:
        """The scale as a float, not below it."""
        return round_up(self.scale)

    def columns(self, x: int | None) -> NDArray[np.float64]:
        """Column x of A, shape ``(rows,)``; zeros for an absent user."""
        if x is None:
            return np.zeros(self.rows)
        return np.asarray((1.0 - 2.0 * parity(self.vectors & x)) / math.sqrt(self.rows), dtype=np.float64)

    def products(self, x: int | None) -> NDArray[np.float64]:
        """Inner product of column x with every column, shape ``(domain,)``."""
        return self.decode(self.columns(x))

    @property
    def sums(self) -> NDArray[np.int64]:
        """`rows` times the product of two columns, by the exclusive or of their values; of all vectors of `bits` bits."""
        self.require_decodable()
        if self.rows > _SUMMED:
            raise Unsupported(self, f"the products of its columns are summed over at most {_SUMMED} rows, not {self.rows}")
        return transform(np.bincount(self.vectors, minlength=1 << self.bits)).astype(np.int64)

    def project(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """A times a histogram, shape ``(rows,)``: one transform, whatever the number of users."""
        self.require_decodable()
        padded = np.zeros(1 << self.bits)
        padded[: self.domain] = counts
        return np.asarray(transform(padded)[self.vectors] / math.sqrt(self.rows), dtype=np.float64)

    def decode(self, total: NDArray[np.float64]) -> NDArray[np.float64]:
        """The transpose of A times a vector, shape ``(domain,)``: one transform, instead of rows times domain products."""
        self.require_decodable()
        table = np.bincount(self.vectors, weights=total, minlength=1 << self.bits)
        return np.asarray(transform(table)[: self.domain] / math.sqrt(self.rows), dtype=np.float64)

    def require_decodable(self) -> None:
        """A `ValueError` where the counts of all values do not fit into memory."""
        if self.bits > DECODED:
            found = f"domain={self.domain}: {4 * 8 << self.bits} bytes"
            raise ValueError(f"decoding the counts of all values needs domain <= {1 << DECODED}, got {found}")

    def histogram(self, data: ArrayLike) -> NDArray[np.float64]:
        """Count of each value."""
        return np.bincount(np.asarray(data, dtype=np.int64), minlength=self.domain).astype(np.float64)

    def truth(self, data: ArrayLike) -> NDArray[np.float64]:
        """Count of each value; an estimate is off by noise, and by what the projection makes of the other values."""
        return self.histogram(data)

    def apart(self) -> tuple[int, int, int, bool]:
        """Two values whose columns differ in most rows, in how many, and whether that is known to be the most.

        Where there are more than `WEIGHED` rows it is in how many of the first ones.
        """
        difference, weight, known = _apart(self.seed, min(self.rows, WEIGHED), self.bits)
        return *self.two_values(difference), weight, known and self.rows <= WEIGHED

    def pairs(self, neighbours: Neighbours) -> tuple[tuple[int, int | None], ...]:
        """The two values of `apart`, or the first one and an absent user."""
        first, second, *_ = self.apart()
        return ((first, None if neighbours == ADD_REMOVE else second),)

    run_on_counts = Mechanism.run_on_counts

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """The counts c of Algorithm 1, every user's noise drawn, a few million floats at a time; see `heavy_hitter`."""
        values, counts = np.unique(np.asarray(data, dtype=np.int64), return_counts=True)
        total, most = np.zeros(self.coordinates), max(1, _CHUNK // self.coordinates)
        for x, count in zip(values.tolist(), counts.tolist(), strict=True):
            for start in range(0, count, most):
                total += np.sum(self.sample(x, min(most, count - start), rng), axis=0)
        return self.estimate(total[None, :])

    def run_in_law(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Counts with the law of `run`, in time free of the users: Laplace noises sum to a difference of two Gammas."""
        return self.in_law(self.histogram(data), len(np.asarray(data)), rng)

    @abstractmethod
    def in_law(self, counts: NDArray[np.float64], users: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """What `run_in_law` returns, from a histogram and the number of users, absent ones included."""

    def centre(self, users: Sequence[int], rng: np.random.Generator) -> Centre:
        """As `run_in_law`, over parts: decoding is linear, so the parts' estimates add up."""
        return asked_once(users)

    def answer(self, question: Any, part: Counts, rng: np.random.Generator) -> NDArray[np.float64]:
        """Estimated counts of a part's users."""
        held = inputs_of(self, part)
        counts = np.bincount(held.values, weights=held.holders, minlength=self.domain)
        return self.in_law(counts.astype(np.float64), held.users, rng)

    def heavy_hitter(self, counts: NDArray[np.float64]) -> int:
        """The value of the largest count; of several the least."""
        return int(np.argmax(counts))


@lru_cache(maxsize=4)
def _vectors(seed: int, rows: int, bits: int) -> NDArray[np.int64]:
    drawn = (words(seed, np.arange(rows)) >> np.uint64(64 - bits)).astype(np.int64)
    drawn.setflags(write=False)
    return drawn


@lru_cache(maxsize=32)
def _apart(seed: int, rows: int, bits: int) -> tuple[int, int, bool]:
    vectors = _vectors(seed, rows, bits)
    if bits <= ENUMERATED:
        found = weights(vectors, bits)
        difference = 1 + int(np.argmax(found[1:]))
        return difference, int(found[difference]), True
    tried = [1 + word % ((1 << bits) - 1) for word in words(seed + 1, np.arange(_TRIED)).tolist()]
    weighed = [int(np.count_nonzero(parity(vectors & each))) for each in tried]
    best = int(np.argmax(weighed))
    return tried[best], weighed[best], False


def noise_for(epsilon: Number, delta: Number) -> Fraction:
    r"""The scale :math:`\sqrt{8 \ln(1/\delta)}/\varepsilon` of Algorithm 1, rounded up to a dyadic rational."""
    promise, rest = positive("epsilon", epsilon), exact(delta)
    if not 0 < rest < 1:
        raise ValueError(f"JL-HH needs 0 < delta < 1, got delta={delta}")
    with working_precision(2 * SIGNIFICANT_BITS):
        return rounded_up((-8 * ball(rest).log()).sqrt() / ball(promise))


def pure_scale(epsilon: Number, coordinates: int, rows: int) -> Fraction:
    r"""The scale with which this many coordinates, shifted by :math:`2/\sqrt{rows}` each, cost epsilon, rounded up."""
    with working_precision(2 * SIGNIFICANT_BITS):
        return rounded_up(2 * coordinates / (ball(positive("epsilon", epsilon)) * flint.arb(rows).sqrt()))


def printed_rows(domain: int, beta: Number, users: int) -> int:
    r"""Rows as printed, :math:`m = \ln(N + 1) \ln(2/\beta)\, n^4`, rounded up."""
    chance = exact(beta)
    if not 0 < chance < 1:
        raise ValueError(f"JL-HH needs 0 < beta < 1, got beta={beta}")
    with working_precision(2 * SIGNIFICANT_BITS):
        rows = flint.arb(domain + 1).log() * ball(2 / chance).log() * users**4
        return math.ceil(dyadic(rows.upper()))


def sufficient_rows(scale: Fraction, users: int, kappa: Number) -> int:
    r"""Rows with which the sketch's error is about `kappa` times the noise's: :math:`n/(2 b^2 \kappa^2)`, rounded up."""
    return max(1, math.ceil(users / (2 * scale**2 * positive("kappa", kappa) ** 2)))
