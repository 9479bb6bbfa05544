r"""Sums of matrices of counts to which each report adds in one row, drawn at random whatever is held, such as sketches.

*From above*, where the row of every report is told. Rows do not depend on values, so that telling them only helps the adversary.
Then all rows but user 1's say nothing of user 1, and in that row it is the sum of M + 1 reports on one row, for M of the n - 1
others, each of whom draws it with probability 1/k, has drawn it. With :math:`D_u(\varepsilon)` for the delta of the sum of u
such reports, of the worst data set, and c for the share of rows in which user 1's two values have one law,

.. math:: \delta(\varepsilon) \le (1 - c)\, E\bigl[D_{M+1}(\varepsilon)\bigr], \qquad M \sim \mathrm{Bin}(n - 1, 1/k)

because a divergence, given what is told and has one law for both data sets, is the mean of those for each of its values. More
users never cost more (one can add reports oneself), so that M may be replaced by the least of a range to which it belongs. In T
rounds with rows of their own, that is the least M of all rounds, :math:`P[M_1, ..., M_T \ge m] = P[M \ge m]^T`, and the two values
have one law where they have it in all rounds.

Telling the rows costs about the root of their number: the sum hides among all n users in which row user 1's report is. The
shuffled reports, of which the sum is computed, hide it, too, but show which bits are of one report. So the least of both is taken.
Open: what a sum costs of which only the number of reports in each row is told, for all data sets.
What is known, in the normal limit, where all others hold user 1's first value, of the two sketches of two values in tests/zoo: the
whole sum tells 3 % more than the difference (of HCMS 6 %, as other cells tell how many reports are in those that differ); with the
number of reports in each row or cell it tells 4 % more (45 %), and the shuffled reports tell 16 % more (45 %).

*From below*, what is computed from the sum: in every row what user 1's first value sets, less what the second sets, over all rows;
and, if all others hold the first one, all cells with the weights that are best in the normal limit, so that those which do not
differ tell how many reports are in those that do. Each is a sum of independent steps, one of each user (`exchanged`).
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from ldpaudit.accountants import account
from ldpaudit.accountants.aggregation.exchanged import Exchanged, ToldMore
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_upper
from ldpaudit.accountants.pld.profiles import SmallestBound
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up
from ldpaudit.mechanism import Mechanism
from ldpaudit.plan import Aggregate, Repeat, Run
from ldpaudit.profile import PrivacyProfile

_BITS = 192
_LEAST = 1e-24
"""Chance of a row with so few users that it is taken for one with user 1 alone."""
_POINTS = 128  # of the curve that is composed: to tell the rows costs far more than more points would tell


@dataclass(frozen=True)
class Rows:
    """What a report adds to a matrix: something to one of its rows, which is drawn uniformly."""

    rows: int  # k
    one: Mechanism  # of which a sum of reports costs no less than one of reports in one row
    together: Fraction  # c, or less: the share of rows in which two values have one law, whichever they are
    counts: Exchanged  # of what is computed from the sum


@dataclass(frozen=True)
class ToldRows(ToldMore):
    """The upper end of a sum of matrices, where the row of every report is told."""

    users: int
    rounds: int  # that are summed one by one
    noise: tuple[Mechanism, ...]  # of aggregators
    added: Rows
    _known: dict[int, PrivacyProfile] = field(default_factory=dict, compare=False)

    @property
    def told(self) -> str:
        """And how many share a row."""
        return f"the row of every report is told, and about {(self.users - 1) // self.added.rows} others share user 1's"

    def upper_end(self) -> PrivacyProfile:
        """See `PrivacyProfile`."""
        return SmallestBound((super().upper_end(),), _POINTS)

    def _high(self, epsilon: float, enough: float = 1.0) -> float:
        """The mean of what ranges of M cost."""
        total, apart = Fraction(0), 1 - self.added.together**self.rounds
        for chance, least in self._ranges:
            total += apart * chance * Fraction(self._of(least + 1).delta(epsilon).high)
            if total > enough:
                break
        return round_up(total)

    @cached
    def _ranges(self) -> tuple[tuple[Fraction, int], ...]:
        """Ranges of M, each about a standard deviation wide, from the mean and above on: their chances, and their least M."""
        others, share = self.users - 1, Fraction(1, self.added.rows)
        starts = [others // self.added.rows]
        with working_precision(_BITS):
            while starts[-1] and binomial_lower(others, share, starts[-1] - 1) > _LEAST:
                starts.append(max(0, starts[-1] - math.isqrt(starts[0])))
            if starts[-1]:
                starts.append(0)
            reached = [binomial_upper(others, share, start) ** self.rounds for start in starts]
            chances = [Fraction(round_up(each)) for each in (reached[0], *(b - a for a, b in pairwise(reached)))]
        return tuple((chance, start) for chance, start in zip(chances, starts, strict=True) if chance > 0)

    def _of(self, users: int) -> PrivacyProfile:
        """Of this many reports in one row."""
        if users not in self._known:
            once = Run(self.added.one)
            plan = Aggregate(once if self.rounds == 1 else Repeat(once, self.rounds), users, self.noise)
            self._known[users] = account(plan).from_above()
        return self._known[users]
