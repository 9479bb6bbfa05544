"""THRESH, repaired: a user votes or sends an estimate only if the counter then stays within epsilon / 4."""

from dataclasses import dataclass
from fractions import Fraction

from ldpaudit.mechanisms.thresh import Thresh


@dataclass(frozen=True, slots=True)
class ThreshRepaired(Thresh):
    r"""THRESH, where a user votes, or sends an estimate, only if the counter stays within epsilon / 4.

    Two changes to `Thresh`, of which views, inputs and parameters are the same: the conditions
    :math:`c^V < \varepsilon/4` of VOTE and :math:`c^E < \varepsilon/4` of EST become
    :math:`c^V + a \le \varepsilon/4` and :math:`c^E + b \le \varepsilon/4`; and noise levels that are not positive are
    refused. Where a or b exceeds epsilon / 4, then, nobody ever votes or sends an estimate: more users, or fewer rounds
    an epoch, are needed. And of the changes that Theorem 4.3 allows, the first update is now one: it was the overshoot
    that paid for it.
    """

    core = "thresh"
    title = "THRESH, repaired"

    def __post_init__(self) -> None:
        Thresh.__post_init__(self)
        if not (self.a > 0 and self.b > 0):
            raise ValueError(
                f"ThreshRepaired needs noise levels above 0, got a={float(self.a):.6g}, b={float(self.b):.6g}: "
                "smallest must exceed 3 sqrt(n ln(12 m T/delta) / 2), and rounds must be fewer"
            )

    def allowance(self, level: Fraction) -> int:
        """How often a counter can grow by `level` within epsilon / 4, in `epochs` times."""
        return self.within(level)
