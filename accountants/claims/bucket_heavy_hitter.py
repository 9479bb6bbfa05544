r"""What Hsu, Khanna and Roth 2012 print of composition and of the Bucket mechanism, as formulas, and what is found.

Logarithms are natural in privacy and in probabilities, and of base 2 where they count bits or rows. Their neighbours
are histograms at distance 1, so for two users, whose histograms have size 1, every mechanism is private read literally;
what is meant is that a user's value is replaced, and what a proof by sensitivities covers as well is that a user leaves.

Accuracy. For a hash function :math:`x \mapsto \langle r, x \rangle`, r uniform and not 0, let W be the sum of :math:`v_i
(-1)^{\langle r, x_i \oplus x_1 \rangle}` over all values but the heavy hitter :math:`x_1`, and z the sum of n noises.
The heavy hitter is in the half that is taken for the larger where :math:`v_1 > |W| + 2|z|`: the noise counts twice,
because it is added to one half alone. The paper's proof of Lemma 4.6 counts it once. It also takes the hash functions
for pairwise independent, which they are not (0 is always in half 0, any other value is in half 1 too often); but
relative to the heavy hitter they are even negatively correlated, so :math:`E[W^2] \le c`, and what the lemma concludes
is true all the same.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.laplace import noise_tail
from ldpaudit.accountants.claims.sentence import (
    ABSENT,
    LITERAL,
    VACUOUS,
    Accuracy,
    Failure,
    LocalPromise,
    Printed,
    derived,
    least_scale,
)
from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates
from ldpaudit.accountants.composition.theorems import hkr12_growth
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.accountants.numerics.precision import narrow, narrowed
from ldpaudit.claim import Claim, Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.plan import Guarantee, Repeat, Run
from ldpaudit.profile import Number, PrivacyProfile

_ROUNDED = "rows and trials are rounded up and the noise is not; the paper's formula stands for as many coordinates as are sent"
THEOREM_2_5 = "HKR12 Theorem 2.5"
_COMPOSED = Failure(
    "At T = 12 and epsilon = 0.999 it fails from delta = 0.99715 on; as T grows and epsilon tends to 1, from 0.99674 on.",
    "The paper takes it for a special case of Dwork, Rothblum and Vadhan's theorem, whose two terms sum to at most epsilon only "
    "if ln(1/delta) is at least epsilon/2.",
    "If ln(1/delta) >= epsilon/2, the theorem holds; the certified delta of T such mechanisms is that of T randomized responses.",
)
_BITS = Failure(
    "At epsilon = 0.999, N = 4 and beta = 7/8 it fails from delta = 0.99838 on for the worst public vectors, from 0.99859 on for "
    "those of seed 0.",
    "Its proof uses Theorem 2.5, which is false there.",
    "The certified delta is that of one Laplace noise, shifted by 1/b, for each coordinate in which the two values differ.",
    THEOREM_2_5,
)
_AT_TWO = Failure(
    "It fails only at k = 2: C_2 is 2.0045, and C_4 is 1.0003.",
    "The proof gives C_k by Stirling's formula, and 1.0004 is its value at k = 4, while Lemma 4.6 uses k = 2.",
    "C_k is at most 1.0004 for even k >= 4, and for k = 2 the moments themselves give 2.",
)
_INVERSE = Failure(
    "It fails at every even k: C_2 is 12.537, and the others are larger.",
    "The last line of the proof gives e^(1/(6k) - k/2), but the lemma prints its inverse.",
    "With the sign of the proof C_k is at most 1.0004 for even k >= 4.",
)
_SPLITS = 64  # ways to split the heavy hitter's lead between W and z that are tried


@dataclass(frozen=True)
class Setting(LocalPromise):
    """Parameters of Algorithm 3."""

    @property
    def mechanism(self) -> BucketHeavyHitter:
        """Algorithm 3 with these parameters."""
        return BucketHeavyHitter.as_printed(self.epsilon, self.delta, self.beta, self.domain)


Lead: TypeAlias = Callable[[Setting, Fraction], Enclosure]  # the count that a condition asks of the heavy hitter, by c


def theorem_2_5(epsilon: Number, delta: Number, times: int) -> Printed:
    r"""Of T mechanisms, each :math:`\varepsilon/\sqrt{8T \ln(1/\delta)}`-private, the delta at epsilon.

    What is found is the exact delta at epsilon of the worst such mechanisms, randomized responses (Kairouz, Oh,
    Viswanath 2015). False as printed, for all 0 < epsilon, delta < 1: with delta near 1 any mechanism is one of these.
    """
    share = narrow(lambda: ball(Fraction(epsilon)) / hkr12_growth(times, delta), "Theorem 2.5")
    coin = KaryRandomizedResponse.for_epsilon(Fraction(share.low), k=2)  # rounded down: one of these mechanisms
    any_other = Repeat(Guarantee(Fraction(share.high)), times)
    found = Enclosure.of(
        account(Repeat(coin, times)).delta(epsilon).low, account(any_other).delta(epsilon).high,
        rigour=Rigour.INTERVAL, source=f"composition of {times} randomized responses",
    )  # fmt: skip
    sentence = f"delta of T={times} mechanisms at epsilon={float(epsilon):g}"
    inside = Hypothesis("0 < epsilon, delta < 1", 0 < epsilon < 1 and 0 < delta < 1)
    return Printed(THEOREM_2_5, sentence, float(delta), found, (inside,), failure=_COMPOSED)


def claims(s: Setting) -> tuple[Claim, ...]:
    """Theorem 4.3, for replace-one and for add-remove neighbours."""
    m, where = s.mechanism, "HKR12 Theorem 4.3"
    rounded = Hypothesis("log(12 N) and 8 log(1/beta) are whole, or the noise is for whole ones",
                         m.scale >= printed_scale(s, m.coordinates).low, stated=False)  # fmt: skip
    return tuple(
        Claim(f"theorem-4.3-{relation}", Run(m), s.epsilon, s.delta, relation, "report", where, (s.inside, rounded))
        for relation in (REPLACE_ONE, ADD_REMOVE)
    )


def printed_scale(s: Setting, coordinates: int) -> Enclosure:
    r"""The scale of the noise that Theorem 2.5 asks for, for T coordinates: :math:`\sqrt{8 T \ln(1/\delta)} / \varepsilon`."""
    return narrow(lambda: hkr12_growth(coordinates, s.delta) / ball(s.epsilon), "Theorem 2.5")


def theorem_4_3(s: Setting) -> tuple[Printed, ...]:
    """The Bucket mechanism is (epsilon, delta)-private: read literally, and where a value is replaced, for two readings of b.

    The formula of b has log(12 N) and 8 log(1/beta) where the numbers of rows and trials stand, which are whole: where those are
    not, the formula's noise is for fewer coordinates than are sent, which is no claim of the paper's.
    """
    where, (inside, whole_numbers) = "HKR12 Theorem 4.3", claims(s)[0].hypotheses
    formula = "" if whole_numbers.holds else _ROUNDED
    rows = [Printed(where, "read literally", float(s.epsilon), VACUOUS, (inside,), reading=LITERAL)]
    whole = replace(s.mechanism, scale=Fraction(printed_scale(s, s.mechanism.coordinates).high))
    noises = (s.mechanism, "noise by the formula", formula), (whole, "noise for whole numbers of rows and trials", "")
    for m, noise, rounded in noises:
        for profile, which, variant in (
            (account(m), "two values, these public vectors", rounded),
            (whatever_the_vectors(m), "two values, any public vectors", rounded),
            (account(m, ADD_REMOVE), "a value and an absent user, these public vectors", ABSENT),
        ):
            rows.append(Printed(where, f"{s.at}, {which}", float(s.epsilon), profile.epsilon(s.delta), (inside,), reading=noise,
                                variant=variant, failure=_BITS))  # fmt: skip
    return tuple(rows)


def whatever_the_vectors(m: BucketHeavyHitter) -> PrivacyProfile:
    """Profile for the worst public vectors that Algorithm 3 may draw: all equal, so that every coordinate differs."""
    return LaplaceCoordinates(m.coordinates, 1 / m.scale, f"{m.coordinates} Laplace coordinates, all of them shifted")


def sufficient_scale(s: Setting, any_vectors: bool = True) -> Enclosure:
    """`least_scale` with which Theorem 4.3 holds, for the worst public vectors, or only for those of seed 0."""

    def profile(scale: Fraction) -> PrivacyProfile:
        m = replace(s.mechanism, scale=scale)
        return whatever_the_vectors(m) if any_vectors else account(m)

    return least_scale(profile, s.epsilon, s.delta)


def lemma_4_5(k: int) -> tuple[Printed, ...]:
    r"""The constant of the tail bound :math:`P[|X - \mu| > t] \le C_k (ck/t^2)^{k/2}` is at most 1.0004.

    Its proof gives :math:`C_k = 2 \sqrt{\pi k}\, e^{1/(6k) - k/2}`, by Stirling's formula for :math:`2 \cdot 2^{k/2} (k/2)!
    / k^{k/2}`; printed is the exponent :math:`k/2 - 1/(6k)`. k is even.
    """
    where, pi, half = "HKR12 Lemma 4.5", flint.arb.pi, k // 2
    exponent = Fraction(k, 2) - Fraction(1, 6 * k)
    proved = narrow(lambda: 2 * (k * pi()).sqrt() * ball(-exponent).exp(), "the lemma's proof")
    printed = narrow(lambda: 2 * (k * pi()).sqrt() * ball(exponent).exp(), "the lemma's sentence")
    moments = narrow(lambda: 2 * ball(Fraction(2**half * math.factorial(half), k**half)), "moments of k-wise independent signs")
    return (
        derived(where, f"constant of the tail bound for k={k}, as its proof gives it", proved.low, moments, attained=False),
        derived(where, f"the constant C_{k}", 1.0004, proved, reading="the exponent's sign is that of its proof", failure=_AT_TWO),
        Printed(where, f"the constant C_{k}", 1.0004, printed, reading="the exponent's sign is as printed", failure=_INVERSE),
    )  # fmt: skip


def misplaced(s: Setting, lead: flint.arb, squares: Fraction, rows: int, scale: Fraction) -> flint.arb:
    r"""Upper bound of the probability that some hash function puts the heavy hitter into the smaller half.

    .. math:: k_1 \min_w \Bigl( \frac{c}{w^2} + P\bigl[2 |z| > v_1 - w\bigr] \Bigr)

    ``s``: gives n; ``lead``: :math:`v_1`; ``squares``: :math:`c`, the sum of the squares of the other counts;
    ``rows``: :math:`k_1`; ``scale``: b. Returns at most 1.
    """
    best = flint.arb(1)
    for part in range(1, _SPLITS):
        w = lead * part / _SPLITS
        # Without other values W is 0, and all of the lead is for the noise.
        chance = ball(squares) / (w * w) if squares else flint.arb(0)
        best = best.min(rows * (chance + noise_tail(s.users, ((lead - w) if squares else lead) / (2 * ball(scale)))))
    return best


def lemma_4_6_lead(s: Setting, squares: Fraction) -> Enclosure:
    """The count that Lemma 4.6 asks of the heavy hitter, for the rows and the scale of the setting's mechanism."""
    m = s.mechanism

    def lead() -> flint.arb:
        first = 2 * (12 * m.rows * ball(squares / s.beta)).sqrt()
        return first + ball(m.scale) * flint.arb(6 * s.users).sqrt() * ball(6 * m.rows / s.beta).log()

    return narrow(lead, "Lemma 4.6")


def lemma_4_6(s: Setting, squares: Fraction, others: str = "") -> Printed:
    r"""A lead of :math:`2\sqrt{12 k_1 c/\beta} + b\sqrt{6n}\ln(6k_1/\beta)` puts the heavy hitter in all larger halves.

    With probability at least :math:`1 - 2\beta/3`; here for the scale of the setting's mechanism.
    """
    lead, m = lemma_4_6_lead(s, squares), s.mechanism
    least = ball(Fraction(lead.low))
    bound = narrow(lambda: misplaced(s, least, squares, m.rows, m.scale), "Chebyshev and Chernoff", Rigour.INTERVAL)
    sentence = f"probability that a row misplaces the heavy hitter{others}"
    return Printed("HKR12 Lemma 4.6", sentence, float(2 * s.beta / 3), bound, (_possible(s, lead),), attained=False)


def _possible(s: Setting, lead: Enclosure) -> Hypothesis:
    return Hypothesis(f"the heavy hitter can be held by {lead.high:.6g} of n={s.users} users", lead.high <= s.users)


def lemma_4_7(s: Setting, beta: Fraction = Fraction(1, 4)) -> Printed:
    r"""On :math:`\log_2(3N/\beta)` rows no other value agrees with the heavy hitter, except with probability beta/3."""
    rows = (math.ceil(3 * s.domain / beta) - 1).bit_length()
    bound = Enclosure.of(_agree(s, rows), rigour=Rigour.INTERVAL, source="union bound")
    sentence = f"probability that another value agrees on {rows} rows"
    return Printed("HKR12 Lemma 4.7", sentence, float(beta / 3), bound, attained=False)


def _agree(s: Setting, rows: int) -> Fraction:
    """Upper bound of the probability that another value agrees with the heavy hitter on all of these rows."""
    half = 1 << ((s.domain - 1).bit_length() - 1)
    return Fraction(half - 1, 2 * half - 1) ** rows * (s.domain - 1)


@narrowed("Theorem 4.8")
def theorem_4_8_lead(s: Setting, squares: Fraction) -> flint.arb:
    r"""The count that Theorem 4.8 asks of the heavy hitter.

    .. math:: 8 \sqrt{2 c \log_2(12N)} + \frac8\varepsilon \ln(24 \log_2(12N))
              \sqrt{6 n \log_2(12N) \ln\tfrac1\beta \ln\tfrac1\delta}
    """
    rows = flint.arb(12 * s.domain).log() / flint.arb(2).log()
    noise = (6 * s.users * rows * ball(s.beta).log() * ball(s.delta).log()).sqrt() * (24 * rows).log()
    return 8 * (2 * ball(squares) * rows).sqrt() + 8 * noise / ball(s.epsilon)


def theorem_4_8(s: Setting, squares: Fraction = Fraction(0), others: str = "") -> Printed:
    r"""With that count, the Bucket mechanism returns the heavy hitter with probability at least 1 - beta.

    Its first term is less than what Lemma 4.6 asks for (:math:`8\sqrt{2}` where that has :math:`8\sqrt{3}`), so the
    paper's proof does not give it. Found: one trial fails with probability at most f, by `misplaced` and a union bound
    over other values, and the vote with that of :math:`Bin(k_2, f) \ge k_2/2`.
    """
    m, lead = s.mechanism, theorem_4_8_lead(s, squares)

    def found() -> flint.arb:
        fails = misplaced(s, ball(Fraction(lead.low)), squares, m.rows, m.scale) + ball(_agree(s, m.rows))
        return binomial_upper(m.trials, fails.min(flint.arb(1)), -(-m.trials // 2))

    bound = narrow(found, "Chebyshev, Chernoff, binomial", Rigour.INTERVAL)
    sentence = f"probability that the vote misses the heavy hitter{others}"
    return Printed("HKR12 Theorem 4.8", sentence, float(s.beta), bound, (_possible(s, lead),), attained=False)


def spread_evenly(s: Setting, count: int) -> Fraction:
    """c: the sum of the squares of the other values' counts, where all others than `count` users hold them evenly."""
    each, more = divmod(s.users - count, s.domain - 1)
    return Fraction((s.domain - 1 - more) * each**2 + more * (each + 1) ** 2)


def one_other(s: Setting, count: int) -> Fraction:
    """c, where all others than `count` users hold one value: no data with that heavy hitter have a larger one."""
    return Fraction((s.users - count) ** 2)


def least_count(s: Setting, lead: Lead, rest: Callable[[Setting, int], Fraction]) -> int | None:
    """Least count that meets a condition, where the others hold what `rest` says; None where not even n does."""

    def meets(count: int) -> bool:
        return count >= lead(s, rest(s, count)).high

    # The more hold it, the fewer are left to be in its way.
    return bisect_left(range(s.users + 1), True, key=meets) if meets(s.users) else None


def heavy_hitter(s: Setting) -> int | None:
    """Least count that meets Theorem 4.8's condition where the others are held evenly; None where not even n does."""
    return least_count(s, theorem_4_8_lead, spread_evenly)


def accurate(s: Setting) -> Iterator[Printed]:
    """Lemma 4.6 and Theorem 4.8 with no other values, with others held evenly, and with one other value.

    For the last c is the largest that the condition allows among n users; left out where it allows none.
    """
    for sentence, lead in ((lemma_4_6, lemma_4_6_lead), (theorem_4_8, theorem_4_8_lead)):
        yield sentence(s, Fraction(0), ", no other values")
        for others, rest in ((", others held evenly", spread_evenly), (", all others hold one value", one_other)):
            if (count := least_count(s, lead, rest)) is not None:
                yield sentence(s, rest(s, count), others)


def least_users(s: Setting) -> int:
    """Fewest users with whom Theorem 4.8's condition can be met, by a value that all of them hold."""
    one = theorem_4_8_lead(Setting(s.epsilon, s.delta, s.beta, s.domain, 1), Fraction(0))
    return math.floor(Fraction(one.low) ** 2)


def printed(s: Setting) -> tuple[Printed, ...]:
    """Every statement about Algorithm 3, for heavy hitters as rare as the statements allow."""
    composed, k = theorem_2_5(s.epsilon, s.delta, s.mechanism.coordinates), 2 * math.ceil(math.log(1 / s.beta) + 1)
    return composed, *theorem_4_3(s), *lemma_4_5(2), *lemma_4_5(k), *accurate(s), lemma_4_7(s, s.beta)


EXAMPLES = (
    Setting(Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 20), 1 << 20, 10**6),
    Setting(Fraction(9, 10), Fraction(1, 10), Fraction(1, 4), 1 << 10, 10**6),
    Setting(Fraction(999, 1000), Fraction(9999, 10_000), Fraction(7, 8), 4, 10**6),
)
"""A usual promise, too strict for the theorem's accuracy among a million users; a laxer one; and a delta near 1."""


def accuracy(s: Setting) -> Iterator[Accuracy]:
    """Theorem 4.8 for the least counts that it asks for: where c is 0, where others are held evenly, where c is largest."""
    m, none = s.mechanism, least_count(s, theorem_4_8_lead, lambda *_: Fraction(0))
    for kind, values, held in (
        ("all users hold one value", 1, None if none is None else s.users),
        ("the others are held evenly", s.domain - 1, heavy_hitter(s)),
        ("the others hold one value", 1, least_count(s, theorem_4_8_lead, one_other)),
    ):
        if held is None:
            continue

        def data(rng: np.random.Generator, count: int = held, others: int = values) -> NDArray[np.int64]:
            heavy = int(rng.integers(s.domain))
            rest = (heavy + 1 + np.arange(s.users - count) % others) % s.domain
            return np.concatenate([np.full(count, heavy), rest])

        def error(data: NDArray[np.int64], counts: NDArray[np.float64], count: int = held) -> float:
            return float(m.heavy_hitter(counts, s.users) != data[0]) * count

        said = f"a value that {held} of {s.users} users hold is returned, {kind}; error in users: 0, or what it is missed by"
        yield Accuracy("HKR12 Theorem 4.8", said, 0.0, float(s.beta), data, error)
