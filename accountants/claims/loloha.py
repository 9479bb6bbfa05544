"""What Arcolezi, Pinzon, Palamidessi and Gambs 2023 say of LOLOHA, and of what a user spends whose value changes.

Nobody has compared the sentences with the paper's text but for its abstract, by which the cost of a changing value is linear in
g, and in the number of values k for RAPPOR; the second step's probability, and what a user is said to spend, are those of its
authors' implementation: epsilon for each hash value, or value, of which an answer is memoized. Of which pairs of streams, it
does not say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Failure, Printed, restored
from ldpaudit.accountants.composition.memoized_answers import MemoizedAnswers, lifetime_epsilon
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.enclosure import Enclosure, Rigour, round_down, round_up
from ldpaudit.mechanisms.loloha import Loloha
from ldpaudit.mechanisms.longitudinal_unary import LongitudinalUnary
from ldpaudit.plan import Repeat

ANY = "any two streams of values, one of which may change where the other does not"
PATTERN = "memoized answers are used in the same epochs of both streams"
_HASHED = Failure(
    "At epsilon = 1, g = 2 and a share of 1/2 it fails from four reports on, which tell two streams apart by 2.0343.",
    "Composition bounds what memoized answers tell, where it is known which report shows which; that a report shows another answer "
    "than the one before tells that the value changed.",
    "Streams that use memoized answers in the same epochs cost g epsilon at most, and any others more with every epoch.",
)
_UNARY = Failure(
    "At epsilon = 1, k = 4 and a share of 1/2, four reports of L-OSUE tell two streams apart by 4.1440 or more.",
    "Composition bounds what memoized copies tell, where it is known which report shows which; that a report shows another copy "
    "than the one before tells that the value changed.",
    "Streams that repeat values in the same epochs cost k epsilon at most, and any others more with every epoch.",
)


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


def unary_streams(m: LongitudinalUnary, epochs: int) -> Enclosure:
    """Loss of two values in turn against one, of ones and zeros in turn, to that of a first report and of all bits of later ones.

    ``m``: with q2 = 1 - p2: whatever is memoized, ones and zeros in as many epochs are equally likely of one copy.
    """
    ones, zeros = epochs - epochs // 2, epochs // 2
    odds = ball(m.p2 / m.q2)

    def copy(kept: Fraction, wanted: int, other: int) -> flint.arb:
        return ball(kept) * odds**wanted + ball(1 - kept) * odds**other

    def below() -> flint.arb:
        # Of the bits of the first value, of the second, and of each other one: alternating copies over a single one.
        pairs = (m.p1, m.q1, m.p1), (m.q1, m.p1, m.q1), (m.q1, m.q1, m.q1)
        first, second, other = ((copy(a, ones, 0) * copy(b, 0, zeros) / copy(c, ones, zeros)).log() for a, b, c in pairs)
        return first + second + (m.k - 2) * other

    low = narrow(below, "two values in turn against one")
    later = narrow(lambda: (epochs - 1) * m.k * odds.log(), "every bit of every later report")
    high = round_up(Fraction(account(m).epsilon(0).high) + Fraction(later.high))
    return Enclosure(max(low.low, 0.0), high, Rigour.INTERVAL, "two values in turn against one, to all bits of all reports")


def printed(s: Setting) -> tuple[Printed, ...]:
    """The first report, any number of one hash value, and what is said of all."""
    m, where, first = s.mechanism, "LOLOHA, lifetime", s.share * s.epsilon
    noise = MemoizedAnswers(s.g, m.p1, m.p2 * (s.g - 1) / (1 - m.p2))
    several, most = account(replace(m, reports=s.reports)), f"epsilon of {s.reports} reports of values that change"
    unary = LongitudinalUnary.optimized(s.epsilon, s.k, s.share)
    return (
        restored("LOLOHA, first report", "epsilon of the first report", first, account(m).epsilon(0)),
        restored("LOLOHA, first report", "epsilon of the first report, p2 as printed", first, account(s.as_printed).epsilon(0)),
        restored("LOLOHA, one hash value", f"epsilon of {s.reports} reports of one value", s.epsilon, several.epsilon(0)),
        restored(where, most, s.g * s.epsilon, account(Repeat(replace(m, reports=s.reports), s.g)).epsilon(0), reading=PATTERN),
        restored(where, most, s.g * s.epsilon, lifetime_epsilon(noise, s.reports), reading=ANY, failure=_HASHED),
        restored("LOLOHA, lifetime of unary encoding", f"epsilon of {s.reports} reports of L-OSUE of values that change",
                 s.k * s.epsilon, unary_streams(unary, s.reports), reading=ANY, failure=_UNARY),
    )  # fmt: skip


EXAMPLES = Setting(Fraction(1), 2, 10, 4), Setting(Fraction(2), 3, 4), Setting(Fraction(4), 7, 365), Setting(Fraction(1), 2, 1)
"""BiLOLOHA for ten epochs and of four values; OLOLOHA for four; for a year; and the first report alone."""
