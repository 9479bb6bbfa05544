"""What Arcolezi, Couchot, Al Bouna and Xiao 2022 say of unary encoding that is memoized and reported with fresh noise.

Nobody has compared the sentences with the paper's text; the two steps' probabilities are those of its authors' implementation.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Printed, restored
from ldpaudit.mechanisms.longitudinal_unary import LongitudinalUnary

READING = "the value is held throughout, or values repeat in the same epochs of both streams"


@dataclass(frozen=True)
class Setting:
    """A memoized copy, a first report, and how many reports of it are seen."""

    epsilon: Fraction  # of the copy, in nats, above 0
    k: int  # number of values, at least 2
    reports: int  # of one value, at least 1
    share: Fraction = Fraction(1, 2)  # of epsilon that the first report spends, in (0, 1)

    @property
    def mechanism(self) -> LongitudinalUnary:
        """L-OSUE."""
        return LongitudinalUnary.optimized(self.epsilon, self.k, self.share)


def printed(s: Setting) -> tuple[Printed, ...]:
    """Either protocol's first report, and any number of reports of one value."""
    found, first = [], s.share * s.epsilon
    for name, m in (("L-SUE", LongitudinalUnary.symmetric(s.epsilon, s.k, s.share)), ("L-OSUE", s.mechanism)):
        several = account(replace(m, reports=s.reports)).epsilon(0)
        found += [
            restored("ACBX22, first report", f"epsilon of {name}'s first report", first, account(m).epsilon(0)),
            restored("ACBX22, one value", f"epsilon of {s.reports} reports of {name}", s.epsilon, several, reading=READING),
        ]
    return tuple(found)


EXAMPLES = Setting(Fraction(1), 16, 1), Setting(Fraction(2), 100, 30), Setting(Fraction(4), 10**4, 365, Fraction(3, 4))
"""The first report alone; a month; and a year."""
