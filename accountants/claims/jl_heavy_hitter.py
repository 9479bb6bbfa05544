r"""What Hsu, Khanna and Roth 2012 print of random projections and of JL-HH, as formulas, and what is found.

Neighbours. Definition 2.2 has histograms at distance 1, so for two users, whose histograms have size 1, every mechanism is
private read literally. The lemma's proof says that a query has sensitivity :math:`1/\sqrt m`: so much an entry changes when a user
leaves. What a user of the local model hides is their value; where it is replaced, an entry changes by :math:`2/\sqrt m`, or not.

Noise. The pseudocode draws :math:`z^i` within the loop over the values p, the proofs know one :math:`z^i` a user. Three readings
are judged: one noisy projection a user; a fresh one for each p, all of which are sent; and only their products are sent.

Accuracy. Theorem 3.2 hides its constants. With probability at least :math:`1 - \beta/2` each, all noises are at most
:math:`t_z` and all that the projection adds is at most :math:`t_s`,

.. math:: t_z = \min_\theta \frac{\ln(4N/\beta) - mn \ln(1 - \theta^2 b^2/m)}\theta, \qquad
          t_s = n \sqrt{\frac{2 \ln(4N/\beta)}m},

by Chernoff's bound over all noises and Hoeffding's over the rows; so :math:`\alpha = 2(t_z + t_s)`, of the order that is printed.
The paper's own tail bound in the form :math:`T_\beta` has a logarithm where the theorem has the root of one, and does not give it;
the first branch of its Theorem 2.10 does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.bucket_heavy_hitter import THEOREM_2_5
from ldpaudit.accountants.claims.laplace import noise_reach, noise_tail
from ldpaudit.accountants.claims.sentence import (
    ABSENT,
    LITERAL,
    VACUOUS,
    Accuracy,
    Failure,
    LocalPromise,
    Printed,
    derived,
    least_scale,
    zipf_data,
)
from ldpaudit.accountants.composition.laplace_vector import coordinates
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow, narrowed
from ldpaudit.claim import Hypothesis
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, FreshProjections, JLHeavyHitter
from ldpaudit.mechanisms.shared.projections.random_projection import noise_for, printed_rows
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile

# Readings of Algorithm 1.
ONE = "one noisy projection a user"
FRESH = "fresh noise for each value, and all noisy projections are sent"
PRODUCTS = "fresh noise for each value, and only the products are sent"

_FAILURES = {
    ONE: Failure(
        "At epsilon = 0.999, beta = 1/20, N = 10 and n = 2 it fails from delta = 0.99275 on.",
        "Its proof uses Theorem 2.5 for queries of sensitivity 1/sqrt(m), but a replaced value changes an entry by 2/sqrt(m).",
        "The certified delta is that of one Laplace noise, shifted by 2/sqrt(m) over b, for each row in which the columns differ.",
        THEOREM_2_5,
    ),
    FRESH: Failure(
        "At epsilon = 0.9, delta = 1/1000000, beta = 1/20 and n = 2 it holds for N = 2 values, and fails first at N = 3.",
        "The proof composes the m entries of one noisy projection, but Algorithm 1 draws fresh noise for each of the N values.",
        "With one noisy projection per user the promised (epsilon, delta) is certified at these parameters.",
    ),
    PRODUCTS: Failure(
        "At epsilon = 0.999, beta = 1/20, N = 10 and n = 2 it fails from delta = 0.99526 at the latest, and is open just below.",
        "Its proof uses Theorem 2.5, which is false there.",
        "For the products, epsilon = 0.9 and delta = 1/1000000 are certified as promised, at the same beta, N and n.",
        THEOREM_2_5,
    ),
}
"""By the readings in which the lemma fails."""
_DRAWN = 1 << 20  # rows up to which the printed matrix is drawn
_COMPARED = 16  # values up to which the third reading is judged: its bound takes time in the square of their number


@dataclass(frozen=True)
class Setting(LocalPromise):
    """Parameters of Algorithm 1."""

    @property
    def rows(self) -> int:
        """m, as printed."""
        return printed_rows(self.domain, self.beta, self.users)

    @property
    def scale(self) -> Fraction:
        """b, as printed."""
        return noise_for(self.epsilon, self.delta)

    @property
    def is_drawn(self) -> bool:
        """Whether the printed matrix is small enough to be drawn."""
        return self.rows <= _DRAWN

    @property
    def mechanism(self) -> JLHeavyHitter:
        """Algorithm 1 with these parameters, or with as many rows as suffice where those that are printed are too many."""
        if self.is_drawn:
            return JLHeavyHitter(self.domain, self.rows, self.scale)
        return JLHeavyHitter.for_users(self.epsilon, self.delta, self.domain, self.users)

    @cached
    def sufficient(self) -> tuple[Enclosure, Enclosure]:
        """Least scales with which one noisy projection keeps the promise: where a value is replaced, and for an absent user.

        Whatever the public matrix is; see `least_scale`.
        """
        replaced, absent = (
            least_scale(lambda b, r=relation: whatever_the_matrix(self, b, r), self.epsilon, self.delta)  # type: ignore[misc]
            for relation in (REPLACE_ONE, ADD_REMOVE)
        )
        return replaced, absent


def whatever_the_matrix(s: Setting, scale: Fraction, neighbours: Neighbours) -> PrivacyProfile:
    """Of one noisy projection with the printed number of rows; for replace-one, for matrices in which all rows differ."""
    return coordinates(s.rows, 1 if neighbours == ADD_REMOVE else 2, s.rows, scale, "every row differs")


def lemma_3_1(s: Setting) -> Iterator[Printed]:
    """JL-HH is (epsilon, delta)-private: read literally, in three readings of the noise, replaced and absent users."""
    inside = Hypothesis("0 < epsilon, delta < 1 (Theorem 2.5, by which it is proved)", s.epsilon < 1 and s.delta < 1)

    def row(which: str, found: Enclosure, reading: str, variant: str = "", attained: bool = True) -> Printed:
        sentence = f"delta at epsilon={float(s.epsilon):g}, {which}"
        return Printed("HKR12 Lemma 3.1", sentence, float(s.delta), found, (inside,), attained, reading=reading, variant=variant,
                       failure=_FAILURES.get(reading))  # fmt: skip

    any_matrix, absent = "two values, any public matrix", "a value and an absent user"
    yield row("read literally", VACUOUS, LITERAL)
    yield row(any_matrix, whatever_the_matrix(s, s.scale, REPLACE_ONE).delta(s.epsilon), ONE, attained=False)
    yield row(absent, whatever_the_matrix(s, s.scale, ADD_REMOVE).delta(s.epsilon), ONE, ABSENT)
    if s.is_drawn:
        readings: dict[str, type[JLHeavyHitter | FreshProjections | FreshProducts]] = {ONE: JLHeavyHitter, FRESH: FreshProjections}
        for reading, kind in (readings | ({PRODUCTS: FreshProducts} if s.domain <= _COMPARED else {})).items():
            m = kind(s.domain, s.rows, s.scale)
            yield row("two values, this public matrix", account(m).delta(s.epsilon), reading)
            if reading != ONE:
                yield row(absent, account(m, ADD_REMOVE).delta(s.epsilon), reading, ABSENT)


def theorem_2_9(s: Setting) -> Printed:
    r"""With :math:`m = \ln(q) \ln(2/\beta)/\gamma^2` rows, as Algorithm 1 sets it, no two columns' product exceeds 2 gamma.

    The theorem has :math:`|\langle Ax, Ay \rangle - \langle x, y \rangle| \le O(\gamma(\|x\|^2 + \|y\|^2))`; here for unit
    vectors and the constant 1. A column's product with itself is 1. Hoeffding: a product of two is a mean of m fair signs and
    exceeds 2 gamma with probability at most :math:`2 e^{-2 m \gamma^2}`; and there are fewer than N**2/2 pairs.
    """
    n_pairs = Fraction(s.domain * (s.domain - 1), 2)

    def found() -> flint.arb:
        nats = 2 * flint.arb(s.domain + 1).log() * ball(2 / s.beta).log()
        return (2 * ball(n_pairs) * (-nats).exp()).min(flint.arb(1))

    bound = narrow(found, "Hoeffding, union bound", Rigour.INTERVAL)
    sentence = f"probability that the product of two of N={s.domain} columns is above 2 gamma"
    return derived("HKR12 Theorem 2.9", sentence, float(s.beta), bound, attained=False)


@narrowed("Chernoff", Rigour.INTERVAL)
def noise_error(s: Setting, rows: int) -> flint.arb:
    """The t_z of the module docstring: what no noise of an estimated count exceeds, except with probability beta/2."""
    reach = noise_reach(s.users * rows, ball(4 * s.domain / s.beta).log())
    return reach * ball(s.scale) / flint.arb(rows).sqrt()


@narrowed("Hoeffding", Rigour.INTERVAL)
def projection_error(s: Setting, rows: int) -> flint.arb:
    """The t_s of the module docstring: what the projection adds to no count, except with probability beta/2."""
    return s.users * (2 * ball(4 * s.domain / s.beta).log() / rows).sqrt()


def theorem_3_2(s: Setting) -> tuple[Printed, ...]:
    """The two steps of its proof, for all values together, with the printed number of rows."""
    where, rows, half = "HKR12 Theorem 3.2", s.rows, float(s.beta / 2)

    def noise() -> flint.arb:
        # In scales b/sqrt(m) of the sum of n m noises.
        reach = (6 * s.users * rows * ball(4 * s.domain / s.beta).log()).sqrt()
        return (s.domain * noise_tail(s.users * rows, reach)).min(flint.arb(1))

    def projection() -> flint.arb:
        return (2 * s.domain * (-flint.arb(rows) / (2 * s.users**2)).exp()).min(flint.arb(1))

    noisy, projected = (narrow(found, "union bound", Rigour.INTERVAL) for found in (noise, projection))
    above = f"probability that some count's noise is above b sqrt(6 n log(4N/beta)), n={s.users}"
    adds = f"probability that the projection adds more than 1 to some count, n={s.users}"
    return derived(where, above, half, noisy, attained=False), derived(where, adds, half, projected, attained=False)


def printed(s: Setting) -> tuple[Printed, ...]:
    """Every statement about Algorithm 1."""
    return theorem_2_9(s), *lemma_3_1(s), *theorem_3_2(s)


_MILLIONTH, _TWENTIETH = Fraction(1, 10**6), Fraction(1, 20)
EXAMPLES = (
    Setting(Fraction(9, 10), _MILLIONTH, _TWENTIETH, 10, 10),
    Setting(Fraction(9, 10), _MILLIONTH, _TWENTIETH, 10, 2),
    Setting(Fraction(1, 2), _MILLIONTH, _TWENTIETH, 1 << 20, 10**6),
    Setting(Fraction(999, 1000), _MILLIONTH, _TWENTIETH, 10, 2),
    Setting(Fraction(999, 1000), Fraction(9999, 10_000), _TWENTIETH, 10, 2),
    Setting(Fraction(8), Fraction(1, 10), _TWENTIETH, 1000, 10),
    Setting(Fraction(8), Fraction(1, 2), _TWENTIETH, 10, 2),
)
"""Within Theorem 2.5's range, few users and many, and a delta near 1; and outside of it."""

SIMULATED = (
    Setting(Fraction(1), Fraction(1, 10**6), Fraction(1, 20), 1000, 10),
    Setting(Fraction(1), Fraction(1, 10**6), Fraction(1, 20), 1 << 10, 10**5),
)
"""A setting with the printed number of rows, and one with as many as suffice."""


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """Theorem 3.2 with the constants of the module docstring, for skewed and for even data."""
    rows = s.mechanism.rows
    alpha = 2 * (noise_error(s, rows).high + projection_error(s, rows).high)

    def even(rng: np.random.Generator) -> NDArray[np.int64]:
        return rng.integers(0, s.domain, s.users)

    def error(data: NDArray[np.int64], counts: NDArray[np.float64]) -> float:
        truth = np.bincount(data, minlength=s.domain)
        return float(truth.max() - truth[s.mechanism.heavy_hitter(counts)])

    return tuple(
        Accuracy("HKR12 Theorem 3.2", f"what the returned value falls short of the heavy hitter, {kind} data; {rows} rows",
                 alpha, float(s.beta), data, error)
        for kind, data in (("skewed", zipf_data(s.users, s.domain)), ("even", even))
    )  # fmt: skip
