r"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 print of the median, Appendix E, as formulas, and what is found."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims import range_queries
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, ShuffledPromise, derived
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.range_queries import HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shuffled_hadamard import printed_rho
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles

_MEDIAN = Fraction(1, 2)


@dataclass(frozen=True)
class Setting(ShuffledPromise):
    """A promise, and the cells for which it is made."""

    cells: int  # B; the paper takes n
    beta: Fraction = Fraction(1, 10)

    @property
    def ranges(self) -> range_queries.Setting:
        """The promise of the range queries on the cells."""
        return range_queries.Setting(self.epsilon, self.delta, self.users, self.cells, 1, self.beta)

    @property
    def printed_ranges(self) -> HadamardRangeQueries:
        """Those of Theorem 5.9."""
        return self.ranges.mechanism

    @property
    def mechanism(self) -> ShuffledQuantiles:
        """With an oracle for each width, epsilon and delta divided evenly among them: what is simulated."""
        widths = self.ranges.grid.most_replaced
        rho = printed_rho(self.epsilon / widths, self.delta / widths, 1)
        return ShuffledQuantiles(self.users, self.cells, self.printed_ranges.tau, rho)


def prefix_error(m: RangeQueries | HadamardRangeQueries, beta: Fraction) -> Enclosure:
    """Alpha: the error that no prefix count exceeds, except with probability beta; `node_error` times a prefix's nodes."""
    most = m.grid.most_prefix_terms
    return narrow(lambda: ball(Fraction(range_queries.node_error(m, beta).high) * most), "nodes of a prefix", Rigour.INTERVAL)


def loss_bound(alpha: float, users: int, cells: int, share: Fraction = _MEDIAN) -> float:
    r"""Bound of the excess of a quantile's loss :math:`\sum_i \pi (x_i - y)_+ + (1 - \pi)(y - x_i)_+` over the least loss.

    .. math:: \alpha + \frac{n \max(\pi, 1 - \pi)}{2B}

    where all prefix counts are within alpha; twice that for the median's :math:`\sum_i |x_i - y|`. Its rank is within alpha
    of :math:`\pi n`. Source: Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Theorem E.1. Proof: proofs/shuffled_quantiles.py.
    """
    return alpha + float(users * max(share, 1 - share) / (2 * cells))


def printed(s: Setting) -> tuple[Printed, ...]:
    """Theorem E.1: privacy, and the excess of the sum of distances, over Theorem 5.9's range queries."""
    r, m, where = s.ranges, s.printed_ranges, "GGKPV Theorem E.1"
    excess = 2 * loss_bound(r.error.high * m.grid.most_prefix_terms, s.users, s.cells)
    said = f"probability that the median's sum of distances exceeds the least one by more than {excess:.6g}"
    reading = "the range queries are those of Theorem 5.9"
    return (
        derived(where, f"{s.at}, another number of one user", float(s.epsilon), account(m).epsilon(s.delta),
                (*r.oracle.hypotheses, r.tree), reading=reading),
        derived(where, said, float(s.beta), r.missed, (r.oracle.power, r.tree), attained=False, reading=reading),
    )  # fmt: skip


_PROMISE = Fraction(1), Fraction(1, 10**6)
EXAMPLES = (
    Setting(*_PROMISE, 1 << 12, 1 << 12),
    Setting(*_PROMISE, 1 << 16, 1 << 8),
    Setting(Fraction(1, 2), Fraction(1, 10**9), 1 << 16, 1 << 6),
)
"""As many cells as users, as in the paper; fewer cells, for which the noise is less; and another promise."""

SIMULATED = EXAMPLES[1:]  # the examples but the first, whose kernels are many


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """Theorem E.1 for the median of squares of uniform numbers, with an oracle for each width."""
    m = s.mechanism
    most = 2 * loss_bound(prefix_error(m.ranges, s.beta).high, s.users, s.cells)

    def data(rng: np.random.Generator) -> NDArray[np.float64]:
        return np.asarray(rng.random(s.users) ** 2)

    def error(numbers: NDArray[np.float64], prefixes: NDArray[np.float64]) -> float:
        found, best = m.quantile(prefixes, _MEDIAN), float(np.median(numbers))
        return float(np.abs(numbers - found).sum() - np.abs(numbers - best).sum())

    sentence = f"the median's excess sum of distances, n = {s.users}, {s.cells} cells, an oracle for each width; in lengths"
    return (Accuracy("GGKPV Theorem E.1", sentence, most, float(s.beta), data, error),)
