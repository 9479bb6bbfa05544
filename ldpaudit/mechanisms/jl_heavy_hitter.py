r"""JL-HH: noisy random projections of the users' histograms, from which the server estimates every value's count.

Hsu, Khanna, Roth 2012, "Distributed private heavy hitters", Algorithm 1. Its pseudocode draws the noise :math:`z^i` within
the loop over the values p, and its lemmas know one :math:`z^i` a user; where the server does the loop, it sees what differs:

- `JLHeavyHitter`: one noisy projection a user, from which the server computes all products (as the lemmas read);
- `FreshProjections`: a fresh noisy projection for each value (as the pseudocode reads, if users send :math:`q^i`);
- `FreshProducts`: of these, users send the products :math:`r_{ip}` alone (as the pseudocode reads, if they compute them).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ldpaudit.mechanism import Views
from ldpaudit.mechanisms.shared.coins import laplace_sums
from ldpaudit.mechanisms.shared.parameters import integers, positive
from ldpaudit.mechanisms.shared.projections.random_projection import Projected, noise_for, printed_rows, pure_scale, sufficient_rows
from ldpaudit.profile import Number

_LARGEST_VIEW = 1 << 28  # floats that a user can be asked to send, 2 GiB; as printed, 60 users would send more


@dataclass(frozen=True, slots=True)
class _Reading(Projected):
    """Parameters, checks and constructors that the three readings have in common.

    Parameters
    ----------
    domain : int
        Number N of values, from 2 to 2**62; inputs are ``range(domain)``, and None for an absent user. Counts are decoded for
        up to 2**28 values.
    rows : int
        Number m of entries, at least 1.
    scale : Fraction
        b, of the noise on each entry, above 0.
    seed : int
        Seed of the public matrix.
    kappa : Number
        The projection's error as a share of the noise's, above 0.
    """

    unbiased = False  # for one matrix: the projection adds what it makes of the other values, and that has mean 0 over matrices

    domain: int
    rows: int
    scale: Fraction
    seed: int = 0

    def __post_init__(self) -> None:
        integers(self, domain=(2, 1 << 62), rows=1, seed=0)
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @classmethod
    def as_printed(cls, epsilon: Number, delta: Number, beta: Number, domain: int, users: int, seed: int = 0) -> Self:
        r"""Algorithm 1: :math:`b = \sqrt{8 \ln(1/\delta)}/\varepsilon` and :math:`m = \ln(N+1) \ln(2/\beta)\, n^4`, rounded up.

        Raises ValueError where a vector of m floats is larger than 2 GiB: it says which m suffices.
        """
        scale, rows = noise_for(epsilon, delta), printed_rows(domain, beta, users)
        if rows > _LARGEST_VIEW:
            enough = sufficient_rows(scale, users, Fraction(1, 10))
            found = f"rows={rows:.6g}, {8 * rows:.3g} bytes per user"
            hint = f"rows={enough} keep the projection's error below a tenth of the noise's: see {cls.__name__}.for_users"
            raise ValueError(f"{cls.__name__}.as_printed needs rows <= {_LARGEST_VIEW}, got {found}; {hint}")
        return cls(domain, rows, scale, seed)

    @classmethod
    def for_users(
        cls, epsilon: Number, delta: Number, domain: int, users: int, kappa: Number = Fraction(1, 10), seed: int = 0
    ) -> Self:
        r"""The printed noise, and as many rows as suffice: :math:`m = n/(2 b^2 \kappa^2)`.

        With these the bound of the projection's error, :math:`n \sqrt{2 \ln(4N/\beta)/m}`, is kappa times that of the noise's,
        :math:`2b \sqrt{n \ln(4N/\beta)}` to leading order: m of order n, not of order :math:`n^4`.
        """
        scale = noise_for(epsilon, delta)
        return cls(domain, sufficient_rows(scale, users, kappa), scale, seed)


@dataclass(frozen=True, slots=True)
class JLHeavyHitter(_Reading):
    r"""Column x of a public matrix of signs :math:`\pm 1/\sqrt m`, plus Laplace noise on each of its m = `rows` entries.

    A view is a row of `rows` floats. An absent user, the input None, sends noise alone. As for `Laplace`, what is said of
    privacy is about real numbers. The server holds `rows` floats and ``domain`` counts, and decodes all counts by one
    Walsh-Hadamard transform: the signs are public parities of the seed, never stored.

    Examples
    --------
    >>> JLHeavyHitter.for_epsilon(1, domain=2**10, rows=64).scale
    Fraction(16, 1)
    >>> JLHeavyHitter.as_printed(epsilon=1, delta=1e-6, beta=Fraction(1, 20), domain=1000, users=10).rows
    254856
    >>> m = JLHeavyHitter.for_users(epsilon=1, delta=1e-6, domain=2**10, users=10**5)
    >>> m.rows, round(float(m.scale), 3)
    (45240, 10.513)
    >>> rng, data = np.random.default_rng(0), [7] * 60_000 + [3] * 40_000
    >>> m.heavy_hitter(m.run_in_law(data, rng))
    7
    """

    title = "JL-HH"

    @classmethod
    def for_epsilon(cls, epsilon: Number, domain: int, rows: int, seed: int = 0) -> Self:
        r"""Epsilon-LDP whatever the public matrix is: :math:`b = 2 \sqrt m / \varepsilon`, rounded up."""
        return cls(domain, rows, pure_scale(epsilon, rows, rows), seed)

    @property
    def coordinates(self) -> int:
        return self.rows

    def column(self, x: int | None) -> NDArray[np.float64]:
        """Column x of the matrix; see `columns`."""
        return self.columns(x)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Estimated count of each value, shape ``(domain,)``."""
        return self.decode(np.sum(views, axis=0))

    def in_law(self, counts: NDArray[np.float64], users: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """One noise for all users in each row."""
        return self.decode(self.project(counts) + laplace_sums(users, self.rows, self.noise_scale, rng))


class _Fresh(_Reading):
    """Fresh noise for each value of the domain."""

    @classmethod
    def for_epsilon(cls, epsilon: Number, domain: int, rows: int, seed: int = 0) -> Self:
        r"""Epsilon-LDP whatever the public matrix is: :math:`b = 2 N \sqrt m / \varepsilon`, rounded up."""
        return cls(domain, rows, pure_scale(epsilon, domain * rows, rows), seed)

    def in_law(self, counts: NDArray[np.float64], users: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """One noise for all users and rows in each count."""
        noise = laplace_sums(users * self.rows, self.domain, self.noise_scale / math.sqrt(self.rows), rng)
        return self.decode(self.project(counts)) + noise


@dataclass(frozen=True, slots=True)
class FreshProjections(_Fresh):
    """As `JLHeavyHitter`, with fresh noise for each value of the domain: a user sends ``domain * rows`` floats.

    A view is a row of these, value by value. For small domains: as many floats are drawn for every user, at most 2**28.

    Examples
    --------
    >>> FreshProjections(domain=10, rows=142, scale=Fraction(21, 2)).coordinates
    1420
    """

    variant = "fresh"
    title = "JL-HH with fresh noise for each value"

    @property
    def coordinates(self) -> int:
        return self.domain * self.rows

    def sample(self, x: int | None, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        self.require_input(x)
        if self.coordinates > _LARGEST_VIEW:
            raise ValueError(f"FreshProjections.sample needs domain * rows <= {_LARGEST_VIEW}, got {self.coordinates}")
        return _Fresh.sample(self, x, size, rng)

    def column(self, x: int | None) -> NDArray[np.float64]:
        """Column x of the matrix, once for each value."""
        return np.tile(self.columns(x), self.domain)

    def estimate(self, views: Views) -> NDArray[np.float64]:
        """Estimated count of each value, shape ``(domain,)``: its column's product with the projections that are its own."""
        totals = np.sum(views, axis=0).reshape(self.domain, self.rows)
        return np.array([self.columns(p) @ total for p, total in enumerate(totals)])

@dataclass(frozen=True, slots=True)
class FreshProducts(_Fresh):
    """Of the noisy projections of `FreshProjections`, a user sends each one's product with its value's column.

    A view is a row of ``domain`` floats: the product of column x with every column, each plus a sum of `rows` Laplace noises
    of scale ``scale / sqrt(rows)``.

    Parameters
    ----------
    domain : int
        Number N of values, from 2 to 2**28; inputs are ``range(domain)``, and None for an absent user.

    Examples
    --------
    >>> FreshProducts(domain=4, rows=1, scale=Fraction(3)).products(2)
    array([-1., -1.,  1.,  1.])
    """

    variant = "products"
    title = "JL-HH with fresh noise for each value, products only"

    @property
    def coordinates(self) -> int:
        return self.domain

    def sample(self, x: int | None, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        self.require_input(x)
        noise = laplace_sums(self.rows, size * self.domain, self.noise_scale / math.sqrt(self.rows), rng)
        return noise.reshape(size, self.domain) + self.products(x)

    def column(self, x: int | None) -> NDArray[np.float64]:
        """See `products`; the noise on it is no Laplace noise."""
        return self.products(x)
