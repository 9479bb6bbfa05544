"""Published bounds of counts with binomial noise."""

from collections.abc import Callable, Iterator
from fractions import Fraction

from ldpaudit.accountants.claims.published.theorem import Published
from ldpaudit.accountants.claims.sentence import Provenance
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.counting.theorems import (
    Change,
    balcer_cheu,
    cpsgd_as_printed,
    smooth_noise_guarantee,
    smoothness_of_binomial,
)
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.neighbours import ADD_REMOVE, Neighbours
from ldpaudit.profile import bracket


def count_min(m: ShuffledCountMin, delta: Fraction, relation: Neighbours) -> Iterator[Published]:
    """Noise of the sketch: GGKPV's lemmas, and cpSGD's theorem for the vector of its counts.

    Their l1, squared l2 and largest changes are those of one set of values replaced by another.
    """

    def vector() -> Enclosure:
        if relation == ADD_REMOVE:
            raise ValueError("cpSGD Theorem 1 needs the same noise with both data sets, got noise that a user adds")
        # In the worst case all values of a user share one cell of every row, and those of the other set another.
        change = Change(2 * m.rows * m.held, 2 * m.rows * m.held**2, m.held, m.rows * m.buckets)
        return cpsgd_as_printed(m.users, m.gamma, change, delta)

    yield _smooth(m, delta, relation)
    yield _cpsgd(vector)


def binomial_count(profile: ShiftProfile, delta: Fraction) -> Iterator[Published]:
    """cpSGD's theorem for one count; and of one bit a user, the binary sum's."""

    def one_bit() -> Enclosure:
        if profile.sensitivity != 1:
            raise ValueError(f"a binary sum needs sensitivity 1, got {profile.sensitivity}")
        return balcer_cheu(profile.n, min(profile.gamma, 1 - profile.gamma), delta)

    change = Change.of_one_count(profile.sensitivity)
    yield _cpsgd(lambda: cpsgd_as_printed(profile.n, profile.gamma, change, delta))
    needs = "sensitivity 1, 0 < delta < 1, epsilon <= 1, n >= 100 ln(2/delta) / epsilon^2"
    yield Published("BC20 binary sum", 2020, "Balcer, Cheu 2020, section 3", one_bit, needs, Provenance.RESTORED)


def _cpsgd(epsilon: Callable[[], Enclosure]) -> Published:
    source = "Agarwal, Suresh, Yu, Kumar, McMahan 2018, Theorem 1"
    needs = "the same noise beside both data sets, 0 < p <= 1/2, N p (1 - p) >= max(23 ln(10 d/delta), 2 Delta_inf), 0 < delta < 1"
    return Published("cpSGD binomial mechanism", 2018, source, epsilon, needs, Provenance.RESTORED)


def _smooth(m: ShuffledCountMin, delta: Fraction, relation: Neighbours) -> Published:
    """GGKPV Lemma 4.12 at the smallest alpha whose delta suffices for Lemma 4.11."""
    sensitivity = m.held * m.rows * (1 if relation == ADD_REMOVE else 2)

    def promise(alpha: Fraction) -> tuple[Enclosure, Enclosure]:
        smooth = smoothness_of_binomial(m.users, m.gamma, m.held, alpha)
        return smooth_noise_guarantee(*smooth, sensitivity, m.held, m.held)

    def kept(odds: float) -> bool:
        alpha = Fraction(odds) / (1 + Fraction(odds))
        return m.held <= alpha * m.gamma * m.users / 2 and promise(alpha)[1].high <= delta

    def lemmas() -> Enclosure:
        largest = Fraction(999, 1000)
        if (least := promise(largest)[1].high) > delta:
            raise ValueError(f"GGKPV Lemma 4.12 needs delta >= {least:.3g} at alpha <= 0.999, got {float(delta):.3g}")
        odds = Fraction(bracket(kept)[1])
        return promise(odds / (1 + odds))[0]

    source = "Ghazi, Golowich, Kumar, Pagh, Velingker 2019, Lemmas 4.11 and 4.12"
    needs = "gamma <= 1/2, 0 < alpha < 1, k <= alpha gamma n / 2, and an alpha whose delta suffices"
    return Published("GGKPV19 smooth noise", 2019, source, lemmas, needs, Provenance.RESTORED)
