"""What Ding, Kulkarni and Yekhanin 2017 say of dBitFlip, and of reports of kept bits with output perturbation.

From memory: nobody has compared the sentences with the paper's text. What a value costs that changes is not judged: a change of
the kept bits is seen.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Printed, remembered
from ldpaudit.mechanisms.one_bit import OneBitMean, PerturbedDBitFlip


@dataclass(frozen=True)
class Setting:
    """Bits that are kept, and reports of them."""

    epsilon: Fraction  # of the kept bits, in nats, above 0
    k: int  # number of buckets, at least 2
    d: int  # of these are reported, from 1 to k
    reports: int  # of one value, at least 1
    gamma: Fraction = Fraction(1, 10)  # probability of a flip in each report, in (0, 1/2)

    @property
    def mechanism(self) -> PerturbedDBitFlip:
        """With as many reports."""
        return PerturbedDBitFlip.for_epsilon(self.epsilon, self.k, self.d, self.gamma, self.reports)


def printed(s: Setting) -> tuple[Printed, ...]:
    """One report without output perturbation, any number of reports with it, and the same of 1BitMean."""
    m, mean = s.mechanism, OneBitMean.for_epsilon(s.epsilon, s.gamma, s.reports)
    several = f"epsilon of {s.reports} reports of"
    return (
        remembered("DKY17, dBitFlip", "epsilon of a report of dBitFlip", s.epsilon, account(m.lifetime()).epsilon(0)),
        remembered("DKY17, output perturbation", f"{several} dBitFlip", s.epsilon, account(m).epsilon(0)),
        remembered("DKY17, output perturbation", "epsilon of the first report of dBitFlip", s.epsilon,
                   account(replace(m, reports=1)).epsilon(0)),
        remembered("DKY17, output perturbation", f"{several} 1BitMean", s.epsilon, account(mean).epsilon(0)),
    )  # fmt: skip


EXAMPLES = (
    Setting(Fraction(1), 32, 1, 10),
    Setting(Fraction(1), 32, 8, 16, Fraction(1, 5)),
    Setting(Fraction(2), 1000, 16, 1000, Fraction(2, 5)),
)
"""One bit; several; and more reports than the flips hide."""
