r"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 say of heavy hitters, Appendix D, and what is found.

The appendix is a sketch without numbered statements: b oracles, one for each length of prefix, each
:math:`(\varepsilon/b, \delta/b)`-private; a threshold T so large that with high probability no estimate is off by more than
T/2; prefixes estimated at T/2 or more are kept, among which is every prefix that T users hold, and which are O(n/T).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, ShuffledPromise, derived, remembered, zipf_data
from ldpaudit.accountants.counting.count_min import worst_replaced
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shuffled_count_min import printed_gamma
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters

WHERE = "GGKPV Appendix D"
_ORDER = 4  # how the constant of O(n/T) is read
_STEPS = 32  # numbers of holders are rounded to multiples of a share 1/32 of themselves, where few are bounded
_READ = "over Algorithm 1, with T twice the error of all estimates at beta"


@dataclass(frozen=True)
class Setting(ShuffledPromise):
    """A promise, and the values for which it is made."""

    domain: int  # B
    beta: Fraction = Fraction(1, 10)

    @property
    def mechanism(self) -> ShuffledHeavyHitters:
        """The search over Algorithm 1, with a threshold of twice the error."""
        return ShuffledHeavyHitters.as_printed(self.epsilon, self.delta, self.users, self.domain, self.beta)

    @property
    def gamma(self) -> Fraction:
        """Lemma 4.10's for each length, at its share of epsilon and delta; above 1/2 where there are too few users."""
        bits = self.mechanism.bits
        return printed_gamma(self.epsilon / bits, self.delta / bits, self.users, self.rows)

    @property
    def rows(self) -> int:
        """Tau of Theorem 4.7 for one element, log2(2B/beta), rounded up."""
        return (math.ceil(2 * self.domain / self.beta) - 1).bit_length()


def _privacy(s: Setting) -> tuple[Printed, ...]:
    """All lengths together are (epsilon, delta)-private: over Algorithm 2, as the appendix has it, and over Algorithm 1."""
    said, epsilon = f"{s.at} of the oracles of all lengths, another value of one user", float(s.epsilon)
    share = Hypothesis("epsilon/b <= 1 (Lemmas 4.4 and 4.10)", s.epsilon <= s.mechanism.bits)
    ours = remembered(WHERE, said, epsilon, account(s.mechanism).epsilon(s.delta), (s.power, share),
                      variant="the appendix has Algorithm 2 in place of Algorithm 1",
                      reading="over Algorithm 1 with Theorem 4.3's parameters")  # fmt: skip
    if s.gamma > Fraction(1, 2):
        return (ours,)
    sketches = worst_replaced(s.users, s.gamma, 1, s.rows * s.mechanism.bits)
    reading = "over Algorithm 2 with Theorem 4.7's parameters"
    return remembered(WHERE, said, epsilon, sketches.epsilon(s.delta), (share,), reading=reading), ours


def least_messages(m: ShuffledHeavyHitters) -> int:
    """Messages that must speak for a prefix so that it is estimated at T/2 or more."""
    least = Fraction(m.threshold, 2) * (1 - m.hit) + (m.rho + 1) * m.users * m.hit
    return math.ceil(least)


def kept(m: ShuffledHeavyHitters, holders: int) -> flint.arb:
    """Probability that a prefix of this many holders is estimated at T/2 or more; it rises with them.

    A holder's message speaks for it, every other one with probability p.
    """
    return binomial_upper((m.rho + 1) * m.users - holders, m.hit, least_messages(m) - holders)


def lost(m: ShuffledHeavyHitters) -> flint.arb:
    """Probability that some prefix of T holders or more is not: of each length there are at most n/T, and none is likelier lost
    than one of T holders.
    """
    held = sum(min(1 << length, m.users // m.threshold) for length in range(1, m.bits + 1))
    others = (m.rho + 1) * m.users - m.threshold
    return held * binomial_lower(others, m.hit, least_messages(m) - 1 - m.threshold)


def few_expected(m: ShuffledHeavyHitters) -> Enclosure:
    r"""Expected number of prefixes of the longest length that are estimated at T/2 or more, for any data: an upper bound.

    .. math:: 2^b f(0) + n \max_{c \ge 1} \frac{f(c)}{c}

    with f(c) the probability that a prefix of c holders is (`kept`). From T/2 holders on f is taken for 1; below, numbers of
    holders are rounded, up in f and down in c. Not tight. Source: linearity of the expectation.
    """

    def expected() -> flint.arb:
        ratio, holders = 2 / ball(Fraction(m.threshold)), 1
        while 2 * holders < m.threshold:
            following = holders + max(1, holders // _STEPS)
            ratio = ratio.max(kept(m, following - 1) / holders)
            holders = following
        return kept(m, 0) * (1 << m.bits) + ratio * m.users

    high = narrow(expected, "each prefix alone").high
    return Enclosure(0.0, high, Rigour.INTERVAL, "each prefix alone")


def _found(s: Setting) -> tuple[Printed, ...]:
    """All values that T users hold are named, and few others are kept: O(n/T) of one length; and what a larger T keeps.

    A threshold of twice the largest error is the text's own condition; the error is one that is certified at beta. What is kept
    is few on average over the oracles' noise. The condition alone, no estimate off by more than T/2, does not bound it: estimates
    of T/2 of prefixes that nobody holds meet it, and all are kept. That is no claim of the text's, whose noise is the oracles'
    own. With T four times the error of what is asked for, at most 4 n/T of a length are kept, but with probability beta.
    """
    m, beta = s.mechanism, float(s.beta)
    repaired = ShuffledHeavyHitters.with_few_kept(m.users, m.domain, m.tau, m.rho, s.beta)
    missed = narrow(lambda: lost(m), "each prefix alone", Rigour.INTERVAL)
    most, said = Fraction(_ORDER * m.users, m.threshold), f"at most {_ORDER} n/T={_ORDER * m.users / m.threshold:.6g}"
    constant = f"the O's constant is not printed; here it is {_ORDER}"
    chosen = f"the noise is chosen within the text's condition; the text speaks of the oracles' own noise; {constant}"
    four = f"probability that more than {_ORDER} n/T={repaired.most_kept} prefixes of a length are kept, or one of T users is not"
    return (
        derived(WHERE, f"probability that a value of T={m.threshold} users is not named", beta, missed.clamp(0.0, 1.0),
                attained=False, reading=_READ),
        derived(WHERE, f"expected prefixes of one length that are kept, {said}", most, few_expected(m), attained=False,
                reading=_READ, variant=constant),
        derived(WHERE, f"prefixes of one length that are kept where each estimate is off by T/2, {said}", most,
                Enclosure.of(1 << m.bits, source="every prefix is estimated at T/2 or more"), variant=chosen),
        derived(WHERE, four, beta, few_kept(repaired).clamp(0.0, 1.0), attained=False,
                variant="T is four times the error, for which the text does not ask"),
    )  # fmt: skip


def few_kept(m: ShuffledHeavyHitters) -> Enclosure:
    """Probability that a prefix of fewer than T/4 holders is kept that is asked for, or one of T is not: an upper bound."""
    asked = sum(min(1 << length, 2 * m.most_kept) for length in range(1, m.bits + 1))
    fewer = -(-m.threshold // 4) - 1  # most holders of a prefix that must not be kept
    return narrow(lambda: asked * kept(m, fewer) + lost(m), "each prefix that is asked for alone", Rigour.INTERVAL)


def printed(s: Setting) -> tuple[Printed, ...]:
    """Every statement about heavy hitters."""
    return *_privacy(s), *_found(s)


EXAMPLES = (
    Setting(Fraction(1), Fraction(1, 10**6), 1 << 20, 1 << 10),
    Setting(Fraction(1), Fraction(1, 10**9), 1 << 20, 1 << 14),
    Setting(Fraction(1), Fraction(1, 10**10), 1 << 20, 1 << 20),
    Setting(Fraction(1), Fraction(1, 10**6), 1 << 27, 1 << 8),
)
"""Promises over ten, fourteen and twenty lengths; and as many users as sketches for all lengths ask for."""

SIMULATED = EXAMPLES[:3]  # those of a million users


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """The largest count of a value that is not named, at a threshold of twice the error; and a named count's error."""
    m, beta, data = s.mechanism, float(s.beta), zipf_data(s.users, s.domain)

    def missing(values: NDArray[np.int64], found: dict[int, float]) -> float:
        counts = np.bincount(values, minlength=s.domain)
        counts[list(found)] = 0
        return float(counts.max())

    def error(values: NDArray[np.int64], found: dict[int, float]) -> float:
        counts = np.bincount(values, minlength=s.domain)
        return max((abs(estimate - counts[x]) for x, estimate in found.items()), default=0.0)

    kind = f"n = {s.users}, {m.bits} lengths, Zipf; in users"
    return (
        Accuracy(WHERE, f"count of a value that is not named, {kind}", float(m.threshold), beta, data, missing),
        Accuracy(WHERE, f"error of a named value's count, {kind}", m.threshold / 2, beta, data, error),
    )
