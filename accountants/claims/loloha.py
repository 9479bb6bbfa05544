"""What Arcolezi, Pinzon, Palamidessi and Gambs 2023 say of LOLOHA, and of what a user spends whose value changes.

Nobody has compared the sentences with the paper's text but for its abstract, by which the cost of a changing value is linear in
g, and in the number of values k for RAPPOR; the second step's probability, and what a user is said to spend, are those of its
authors' implementation: epsilon for each hash value, or value, of which an answer is memoized. Of which pairs of streams is
not known; so it is judged of those whose hash values repeat alike. What any two streams cost, of which one may change where the
other does not, is no claim of theirs but a question of ours: also streams whose values repeat alike may differ so, as a hash
function merges some of them.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Printed, restored
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import round_down
from ldpaudit.mechanisms.loloha import Loloha, LolohaStream
from ldpaudit.neighbours import SAME_PATTERN

PATTERN = "memoized answers are used in the same epochs of both streams"
ANY = "of any two streams, one of which may change where the other does not; of which the source speaks is not known"


@dataclass(frozen=True)
class Setting:
    """A memoized answer, a first report, how many reports are seen, and how many values there are."""

    epsilon: Fraction  # of a memoized answer, in nats, above 0
    g: int  # number of hash values, at least 2
    reports: int  # of one user, at least 1
    k: int = 100  # number of values, at least g
    share: Fraction = Fraction(1, 2)  # of epsilon that the first report spends, in (0, 1)

    def __post_init__(self) -> None:
        if self.k < self.g:
            raise ValueError(f"Setting needs k >= g, got k={self.k} and g={self.g}")

    @property
    def mechanism(self) -> Loloha:
        """With the second step that spends the first report's share."""
        return Loloha.for_epsilon(self.epsilon, self.g, self.k, self.share)

    @property
    def as_printed(self) -> Loloha:
        """With the second step of the source, by which (p1 p2 + q1 q2)/(p1 q2 + q1 p2) is e^epsilon of the first report."""
        kept, g = self.mechanism.lifetime(), self.g

        def second() -> flint.arb:
            p, q, odds = ball(kept.p), ball(kept.lie), ball(self.share * self.epsilon).exp()
            return (odds * p - q) / (p * (g - 1) - q + odds * p - odds * q * (g - 1))

        return replace(self.mechanism, p2=Fraction(round_down(narrow(second, "p2").low)))


def printed(s: Setting) -> tuple[Printed, ...]:
    """The first report, any number of one hash value, and what is said of all."""
    m, where, first = s.mechanism, "LOLOHA, lifetime", s.share * s.epsilon
    stream = LolohaStream(s.reports, m.g, m.p1, m.p2, m.domain)
    several, most = account(replace(m, reports=s.reports)), f"epsilon of {s.reports} reports of values that change"
    return (
        restored("LOLOHA, first report", "epsilon of the first report", first, account(m).epsilon(0)),
        restored("LOLOHA, first report", "epsilon of the first report, p2 as printed", first, account(s.as_printed).epsilon(0)),
        restored("LOLOHA, one hash value", f"epsilon of {s.reports} reports of one value", s.epsilon, several.epsilon(0)),
        restored(where, most, s.g * s.epsilon, account(stream, SAME_PATTERN).epsilon(0), reading=PATTERN),
        restored(where, most, s.g * s.epsilon, account(stream).epsilon(0), variant=ANY),
    )


EXAMPLES = Setting(Fraction(1), 2, 10, 4), Setting(Fraction(2), 3, 4), Setting(Fraction(4), 7, 365), Setting(Fraction(1), 2, 1)
"""BiLOLOHA for ten epochs and of four values; OLOLOHA for four; for a year; and the first report alone."""
