r"""What Hsu, Khanna and Roth 2012 print of GLPS-HH, and what is found.

The paper takes a random matrix :math:`\Phi` with entries -1, 0 and 1 from Gilbert, Li, Porat and Strauss 2010 and prints
no more of it. Theorem 4.1 is about any such matrix, by its proof: m linear queries of sensitivity 1 each, and Theorem 2.5.
So it is judged for the worst matrix, whose columns are full and of which two are opposite, and for ours. An entry changes
by 1 where a user leaves, and by 2 where a value is replaced; neighbours are read as for `bucket_heavy_hitter`.

Theorem 4.2 hides its constants, and its "(alpha, 3/4 - beta)-accurate" would allow failure with probability 3/4 - beta by
Definition 2.1; its proof, and the sentence that ends it, mean success with probability 3/4 - beta. The logarithm in
:math:`s \log(N/s)` is taken for the natural one.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.bucket_heavy_hitter import THEOREM_2_5
from ldpaudit.accountants.claims.laplace import noise_tail
from ldpaudit.accountants.claims.sentence import ABSENT, LITERAL, VACUOUS, Accuracy, Failure, LocalPromise, Printed, least_scale
from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.glps_heavy_hitter import GlpsHeavyHitter, printed_scale, printed_sizes
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import PrivacyProfile, bracket

_NO_CONSTANTS = "the paper prints no constants; here they are 1, and an error of n users or more says nothing"
_ROUNDED = "rows are rounded up and the noise is not; the paper's formula stands for as many measurements as are sent"
_OURS = "the paper prints neither the matrix nor the decoder; here they are ours"
_OUR_MATRIX = "the paper prints no matrix; this one is ours"
_MEASURED = Failure(
    "At epsilon = 0.999, N = 64, n = 1000 and beta = 1/1000000 it fails from delta = 0.98941 on.",
    "Its proof uses Theorem 2.5 for queries of sensitivity 1, but if two columns are opposite a replaced value changes each by 2.",
    "For any such matrix the certified delta is at most that of m Laplace noises, each shifted by 2/b.",
    THEOREM_2_5,
)
_PART = Fraction(1, 8)
"""With which probability each of the two reasons for which a row misses a value may occur: together 1/4, as in the paper."""
_OTHERS = 1000  # values that the other users of a simulation hold evenly


@dataclass(frozen=True)
class Setting(LocalPromise):
    """Parameters of Algorithm 2."""

    @property
    def mechanism(self) -> GlpsHeavyHitter:
        """Algorithm 2 with these parameters."""
        return GlpsHeavyHitter.as_printed(self.epsilon, self.delta, self.beta, self.users, self.domain)

    @property
    def sizes(self) -> tuple[Fraction, Fraction]:
        """The paper's s and m, not rounded to whole numbers."""
        return printed_sizes(self.epsilon, self.delta, self.beta, self.users, self.domain)


def any_matrix(measurements: int, scale: Fraction, neighbours: Neighbours = REPLACE_ONE) -> PrivacyProfile:
    """Profile of this many noisy measurements by the worst matrix with entries -1, 0 and 1.

    For replace-one all of them are shifted by 2/b, by two full columns that are opposite; for add-remove by 1/b. Of our
    matrix the `touched` measurements alone bound the profile in this way, whatever the seed.

    ``measurements``: m, at least 1; ``scale``: b, above 0; ``neighbours``: replace-one or add-remove. Returns in
    nats. Rigour EXACT at every epsilon, for that matrix.
    """
    shift = 1 if neighbours == ADD_REMOVE else 2
    source = f"{measurements} Laplace coordinates of scale {float(scale):.6g}, all shifted by {shift}"
    return LaplaceCoordinates(measurements, shift / scale, source)


def theorem_4_1(s: Setting) -> Iterator[Printed]:
    """GLPS-HH is (epsilon, delta)-private: read literally; for any matrix with m rows, by two readings of m; for ours."""

    def row(found: Enclosure, sentence: str, reading: str, variant: str = "") -> Printed:
        return Printed("HKR12 Theorem 4.1", sentence, float(s.epsilon), found, (s.inside,), reading=reading, variant=variant,
                       failure=_MEASURED)  # fmt: skip

    yield row(VACUOUS, "read literally", LITERAL)
    rows, values, absent = math.ceil(s.sizes[1]), f"{s.at}, two values", f"{s.at}, a value and an absent user"
    any_entries = "Phi may be any matrix with entries -1, 0 and 1, which is all that the proof uses of it; it has s log(N/s) rows"
    whole, formula = f"{any_entries}, rounded up, and noise for them", f"{any_entries}, rounded up, and noise by the formula"
    exact, up = (printed_scale(s.epsilon, s.delta, noise_for) for noise_for in (s.sizes[1], Fraction(rows)))
    yield row(any_matrix(rows, exact).epsilon(s.delta), values, formula, "" if s.sizes[1] == rows else _ROUNDED)
    yield row(any_matrix(rows, up).epsilon(s.delta), values, whole)
    yield row(any_matrix(rows, exact, ADD_REMOVE).epsilon(s.delta), absent, formula, ABSENT)
    m, ours = s.mechanism, "Phi is our sparse matrix, with noise for all its rows"
    this, most = account(m).epsilon(s.delta), any_matrix(m.touched, m.scale).epsilon(s.delta)
    # At least that of one seed; below, as no two of our columns are quite opposite, the bound of the worst matrix.
    worst = Enclosure(this.low, most.high, Rigour.INTERVAL, f"one seed, and {most.source}")
    yield row(this, f"{values}, this seed", ours, _OUR_MATRIX)
    yield row(worst, f"{values}, the worst seed", ours, _OUR_MATRIX)
    yield row(account(m, ADD_REMOVE).epsilon(s.delta), absent, ours, ABSENT)


def sufficient_scale(epsilon: Fraction, delta: Fraction, coordinates: int, neighbours: Neighbours = REPLACE_ONE) -> Enclosure:
    """`least_scale` with which this many measurements of the worst matrix are (epsilon, delta)-private.

    Of our matrix, with `touched` measurements for `coordinates`, it is enough for every seed.
    """
    return least_scale(lambda scale: any_matrix(coordinates, scale, neighbours), epsilon, delta)


def theorem_4_2(s: Setting) -> tuple[Printed, ...]:
    r"""The error of Theorem 4.2's proof with 1 for every constant, beside n; and what is certain of our decoder at n.

    .. math:: \frac{2n}{\sqrt s} + \frac{s \sqrt{\ln(N/s)}\, \ln(s \ln(N/s)/\beta) \sqrt{n \ln(1/\delta)}}\varepsilon

    A row of ours spells a value that all n users hold unless one of L + 1 sums of noises exceeds n.
    """
    where, m, n = "HKR12 Theorem 4.2", s.mechanism, float(s.users)

    def first() -> flint.arb:
        return 2 * s.users / ball(s.sizes[0]).sqrt()

    def both() -> flint.arb:
        sparsity, measurements = map(ball, s.sizes)
        spread = (s.users * -ball(s.delta).log()).sqrt() / ball(s.epsilon)
        return first() + (sparsity * measurements).sqrt() * (measurements / ball(s.beta)).log() * spread

    missed = narrow(lambda: misses(m, s.users, ball(Fraction(s.users))) ** m.rows, "Chernoff", Rigour.INTERVAL)
    sentence = "probability that no row spells a value that all users hold"
    return (
        Printed(where, "the first term of its error, in users", n, narrow(first, "Theorem 4.2's proof"), variant=_NO_CONSTANTS),
        Printed(where, "both terms of its error, in users", n, narrow(both, "Theorem 4.2's proof"), variant=_NO_CONSTANTS),
        Printed(where, sentence, float(Fraction(1, 4) + s.beta), missed, attained=False, variant=_OURS,
                reading="3/4 - beta is the probability of success, as in its proof"),
        Printed(where, sentence, float(Fraction(3, 4) - s.beta), missed, attained=False, variant=_OURS,
                reading="3/4 - beta is the probability of failure, as in Definition 2.1"),
    )  # fmt: skip


def misses(m: GlpsHeavyHitter, users: int, reach: flint.arb) -> flint.arb:
    """Upper bound of the probability that one of a bucket's L + 1 sums of noises exceeds `reach`."""
    return ((m.bits + 1) * noise_tail(users, reach / ball(m.scale))).min(flint.arb(1))


def least_count(m: GlpsHeavyHitter, users: int) -> float:
    r"""A count alpha at which a row spells a value with probability at least 3/4.

    .. math:: \alpha = \max\Bigl(\frac{16 n}B, 2t\Bigr), \qquad (L+1)\, P[|z| > t] \le \frac18

    The others in its bucket exceed alpha/2 with probability at most :math:`2n/(B\alpha)` (Markov), and one of the sums z
    of n noises does with probability at most 1/8 (Chernoff). Not tight.

    ``m``: R rows miss the value with probability at most :math:`4^{-R}`; ``users``: n. Returns in users, rounded up.
    """

    def covers(reach: float) -> bool:
        with working_precision(128):
            return bool(misses(m, users, ball(Fraction(reach))) <= ball(_PART))

    return max(16 * users / m.buckets, 2 * bracket(covers)[1])


def printed(s: Setting) -> tuple[Printed, ...]:
    """Theorems 4.1 and 4.2."""
    return *theorem_4_1(s), *theorem_4_2(s)


_MILLIONTH = Fraction(1, 10**6)
EXAMPLES = (
    Setting(Fraction(1, 2), _MILLIONTH, Fraction(1, 20), 1 << 20, 10**6),
    Setting(Fraction(9, 10), Fraction(1, 10), Fraction(1, 4), 1 << 10, 10**6),
    Setting(Fraction(9, 10), _MILLIONTH, Fraction(1, 20), 1 << 20, 10**7),
    Setting(Fraction(999, 1000), Fraction(9999, 10_000), _MILLIONTH, 64, 1000),
)
"""A usual promise among too few users for Theorem 4.2; a laxer one; one with users enough; and a delta near 1."""

SIMULATED = tuple(
    Setting(Fraction(9, 10), _MILLIONTH, Fraction(1, 20), domain, users)
    for domain, users in ((1 << 20, 10**10), (1 << 32, 10**12))
)
"""Settings with enough users that the count that is asked for is small, in domains of 20 and of 32 bits."""


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """Theorem 4.2's promise with an error of ours, `least_count`, in data where only one value is no error at all."""
    m = s.mechanism
    alpha = least_count(m, s.users)
    others = min(_OTHERS, s.domain - 1)
    each = int((s.users - alpha - 1) / (others + 1))
    if each < 1:
        return ()

    def data(rng: np.random.Generator) -> dict[int, int]:
        heavy = int(rng.integers(s.domain))
        held = {(heavy + 1 + i) % s.domain: each for i in range(others)}
        return {heavy: s.users - others * each} | held

    def error(data: dict[int, int], found: dict[int, float]) -> float:
        named = m.heavy_hitter(found)
        return float(max(data.values()) - (0 if named is None else data.get(named, 0)))

    sentence = (
        f"a value is returned that at most {math.ceil(alpha)} of {s.users} users fewer hold than the most frequent one, "
        f"{others} others being held evenly; with probability 3/4 - beta, as its proof has it"
    )
    return (Accuracy("HKR12 Theorem 4.2", sentence, alpha, float(Fraction(1, 4) + s.beta), data, error),)
