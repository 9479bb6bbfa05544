r"""GLPS-HH: Laplace noise on a sparse public projection of a value, and a decoder whose time is polylogarithmic in N.

Hsu, Khanna, Roth 2012, "Distributed private heavy hitters", Algorithm 2. It takes from Gilbert, Li, Porat, Strauss 2010 a
random matrix with entries -1, 0, 1 and a decoder, and prints neither; both are ours here (`_signed_buckets`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, TypeAlias

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.core.number import brief
from ldpaudit.core.partitions import Counts
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms.shared.coins import SIGNIFICANT_BITS
from ldpaudit.mechanisms.shared.in_parts import Centre, InParts, asked_once
from ldpaudit.mechanisms.shared.linear_codes.gf2 import BITS
from ldpaudit.mechanisms.shared.parameters import ball, exact, integer, integers, positive, rounded_up
from ldpaudit.mechanisms.shared.projections.noisy_column import HashedColumn
from ldpaudit.mechanisms.shared.projections.signed_buckets import Apart, SignedBuckets, furthest
from ldpaudit.neighbours import ADD_REMOVE, Neighbours
from ldpaudit.profile import Number

Data: TypeAlias = ArrayLike | Mapping[int, int]  # the users' values, one a user; or by value, how many users hold it
Recovered: TypeAlias = Any
"""A dict of values to their estimated counts, by falling estimate; the base class promises an array."""


@dataclass(frozen=True, slots=True)
class GlpsHeavyHitter(InParts, HashedColumn):
    """A value's column of a public sparse matrix, plus Laplace noise on every measurement.

    Each of `rows` hash functions puts a value into one of `buckets`, with a sign; a bucket has a measurement for the
    value itself and one for each of its L bits, whose sign it turns. So a column has ``rows * (L + 1)`` entries of 1 or
    -1 among ``rows * buckets * (L + 1)``, and a view is a row of that many floats. An absent user, the input None, sends
    noise alone. As for `Laplace`, what is said of privacy is about real numbers.

    Parameters
    ----------
    domain : int
        Number N of values, from 2 to 2**62; inputs are ``range(domain)``, and None for an absent user.
    sparsity : int
        Maximum number of recovered values, at least 1.
    rows : int
        Hash functions, at least 1; an odd number serves the median best.
    buckets : int
        Number of buckets of each row; a power of two, at most ``2**L``.
    scale : Fraction
        Scale of the noise on each measurement, above 0.
    seed : int
        Seed of hash functions and signs.

    Examples
    --------
    >>> m = GlpsHeavyHitter.as_printed(epsilon=1, delta=1e-6, beta=Fraction(1, 20), users=10**6, domain=2**20)
    >>> m.sparsity, m.measurements, round(float(m.scale), 3)
    (9, 168, 136.265)
    >>> quiet = GlpsHeavyHitter(domain=2**40, sparsity=4, rows=3, buckets=16, scale=Fraction(1))
    >>> found = quiet.run([7] * 900 + [3] * 500 + [5] * 10, np.random.default_rng(0))
    >>> [*found][:2], quiet.heavy_hitter(found)
    ([7, 3], 7)
    """

    title = "GLPS-HH"
    names_values = True
    unbiased = False

    domain: int
    sparsity: int
    rows: int
    buckets: int
    scale: Fraction
    seed: int = 0

    def __post_init__(self) -> None:
        integers(self, domain=(2, 1 << BITS), sparsity=1, rows=(1, 1 << 16))
        integer(self, "buckets", 1, 1 << min(self.bits, 31))
        if self.buckets & (self.buckets - 1):
            raise ValueError(f"GlpsHeavyHitter needs a power of two buckets, got buckets={self.buckets}")
        integer(self, "seed", 0)
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @classmethod
    def as_printed(cls, epsilon: Number, delta: Number, beta: Number, users: int, domain: int, seed: int = 0) -> Self:
        r"""Algorithm 2 with the s of Theorem 4.2's proof, :math:`s \log(N/s)` measurements and noise for as many.

        .. math:: s = \Bigl(\frac{\varepsilon}{\ln(1/\beta)} \sqrt{\frac{n}{\ln N \ln(1/\delta)}}\Bigr)^{2/3}, \qquad
                  b = \frac{\sqrt{8 m \ln(1/\delta)}}\varepsilon

        The paper rounds nothing. Here s is rounded up; there is one row, as the theorem is about one run, with the least
        power of two of buckets that gives m measurements or more, but no more buckets than numbers of L bits; the noise is
        for as many measurements as there are, rounded up.
        """
        bits = (domain - 1).bit_length()
        sparsity, least = printed_sizes(epsilon, delta, beta, users, domain)
        buckets = min(1 << (-(-math.ceil(least) // (bits + 1)) - 1).bit_length(), 1 << bits)
        scale = printed_scale(epsilon, delta, Fraction(buckets * (bits + 1)))
        return cls(domain, math.ceil(sparsity), 1, buckets, scale, seed)

    @classmethod
    def for_epsilon(cls, epsilon: Number, domain: int, sparsity: int, rows: int, buckets: int, seed: int = 0) -> Self:
        """Epsilon-LDP for replace-one, whatever the seed: ``scale = 2 * rows * (L + 1) / epsilon``, exactly."""
        touched = rows * ((domain - 1).bit_length() + 1)
        return cls(domain, sparsity, rows, buckets, 2 * touched / positive("epsilon", epsilon), seed)

    @property
    def touched(self) -> int:
        """Measurements that a value changes, by 1 or -1 each: ``rows * (L + 1)``."""
        return self.rows * (self.bits + 1)

    @property
    def measurements(self) -> int:
        """Numbers in a view, the paper's m."""
        return self.touched * self.buckets

    @property
    def coordinates(self) -> int:
        return self.measurements

    @property
    def matrix(self) -> SignedBuckets:
        """The public matrix."""
        return SignedBuckets(self.bits, self.rows, self.buckets, self.seed)

    def column(self, x: int | None) -> NDArray[np.float64]:
        return np.zeros(self.measurements) if x is None else self.matrix.column(x).ravel()

    def apart(self) -> tuple[tuple[Apart, ...], bool]:
        """Kinds of pairs of values among which the worst is, and whether that is certain; see `pair`."""
        found, beyond = furthest(self.matrix)
        return found, not beyond

    @property
    def beyond(self) -> tuple[Apart, ...]:
        """No pair of values is further apart than one of the kinds of `apart`, or than one of these."""
        return furthest(self.matrix)[1]

    def pair(self, apart: Apart) -> tuple[int, int]:
        """Two values of a kind."""
        return self.two_values(apart.difference)

    def pairs(self, neighbours: Neighbours) -> tuple[tuple[int, int | None], ...]:
        """A value and an absent user; or the values at the largest squared distance, and those at the largest sum of distances.

        The former decides where measurements are many, the latter at delta = 0.
        """
        if neighbours == ADD_REMOVE:
            return ((0, None),)
        kinds, _ = self.apart()
        best = max(kinds, key=lambda kind: kind.squares)
        return tuple(map(self.pair, dict.fromkeys((best, kinds[0]))))

    def truth(self, data: Data) -> NDArray[np.float64]:
        """The matrix times the users' histogram, shape ``(measurements,)``."""
        if isinstance(data, Mapping):
            return self._measured(np.array([*data], dtype=np.int64), np.array([*data.values()], dtype=np.float64))
        values, counts = np.unique(np.asarray(data, dtype=np.int64), return_counts=True)
        return self._measured(values, counts.astype(np.float64))

    def _measured(self, values: NDArray[Any], counts: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(values) and not 0 <= values.min() <= values.max() < self.domain:
            ends = f"{values.min()} to {values.max()}"
            raise ValueError(f"GlpsHeavyHitter needs values from 0 to {self.domain - 1}, got values from {ends}")
        return self.matrix.measure(values, counts).ravel()

    def run(self, data: Data, rng: np.random.Generator) -> Recovered:
        """The whole system, every user's noise drawn: users' values to the recovered ones, at most `sparsity`; see `decode`."""
        return self.decode(self._noised(self.truth(data), _users(data), rng))

    def run_in_law(self, data: Data, rng: np.random.Generator) -> Recovered:
        """As `run`, of the same law, in time free of the users: Laplace noises sum to a difference of two Gammas."""
        return self.decode(self.truth(data) + self._noise(_users(data), rng))

    def centre(self, users: Sequence[int], rng: np.random.Generator) -> Centre:
        """As `run_in_law`, over parts, each of which adds its users' reports."""
        return self.decode((yield from asked_once(users)))

    def answer(self, question: Any, part: Counts, rng: np.random.Generator) -> NDArray[np.float64]:
        held = part.numbered()
        return self._measured(held.values, held.holders.astype(np.float64)) + self._noise(held.users, rng)

    def decode(self, measured: NDArray[np.float64]) -> dict[int, float]:
        """Values and their estimated counts, by falling estimate, from measurements; N enters by its logarithm alone."""
        return self.matrix.decode(measured.reshape(self.matrix.shape), self.sparsity, self.domain)

    def heavy_hitter(self, found: Mapping[int, float]) -> int | None:
        """The recovered value of the largest estimate, and None where nothing is recovered."""
        return max(found, key=lambda x: (found[x], -x), default=None)


def _users(data: Data) -> int:
    return sum(data.values()) if isinstance(data, Mapping) else len(np.asarray(data))


def printed_sizes(epsilon: Number, delta: Number, beta: Number, users: int, domain: int) -> tuple[Fraction, Fraction]:
    """The paper's s, and its ``s log(N/s)``, the logarithm natural; both rounded up. Raises ValueError where s exceeds N."""
    spent, secret, miss = positive("epsilon", epsilon), exact(delta), exact(beta)
    if not (0 < secret < 1 and 0 < miss < 1 and users >= 1 and domain >= 2):
        given = f"delta={brief(delta)}, beta={brief(beta)}, users={brief(users)} and domain={brief(domain)}"
        raise ValueError(f"GLPS-HH needs 0 < delta < 1, 0 < beta < 1, users >= 1 and domain >= 2, got {given}")
    with working_precision(2 * SIGNIFICANT_BITS):
        root = (users / (flint.arb(domain).log() * -ball(secret).log())).sqrt()
        sparsity = (ball(spent) / -ball(miss).log() * root) ** (flint.arb(2) / 3)
        if not sparsity < domain:
            raise ValueError(f"GLPS-HH needs s < N for its s log(N/s) measurements, got s={float(sparsity):.6g} and N={domain}")
        return rounded_up(sparsity), rounded_up(sparsity * (domain / sparsity).log())


def printed_scale(epsilon: Number, delta: Number, measurements: Fraction) -> Fraction:
    """The scale ``sqrt(8 m ln(1/delta)) / epsilon`` of the noise that the paper adds to m measurements, rounded up."""
    with working_precision(2 * SIGNIFICANT_BITS):
        return rounded_up((8 * ball(measurements) * -ball(exact(delta)).log()).sqrt() / ball(positive("epsilon", epsilon)))
