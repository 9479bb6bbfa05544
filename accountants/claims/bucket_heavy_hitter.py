r"""What Hsu, Khanna and Roth 2012 print of composition and of the Bucket mechanism, as formulas, and what is found.

Logarithms are natural in privacy and in probabilities, and of base 2 where they count bits or rows. Their neighbours
are histograms at distance 1, so for two users, whose histograms have size 1, every mechanism is private read literally;
what is meant is that a user's value is replaced, and what a proof by sensitivities covers as well is that she leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Printed
from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.claim import Claim, Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.plan import Guarantee, Repeat, Run
from ldpaudit.profile import Number, PrivacyProfile


@dataclass(frozen=True)
class Setting:
    """Parameters of Algorithm 3.

    Parameters
    ----------
    epsilon, delta, beta : Fraction
        Promise and failure probability, each in (0, 1).
    domain : int
        N.
    users : int
        n.
    """

    epsilon: Fraction
    delta: Fraction
    beta: Fraction
    domain: int
    users: int

    @property
    def mechanism(self) -> BucketHeavyHitter:
        """Algorithm 3 with these parameters."""
        return BucketHeavyHitter.as_printed(self.epsilon, self.delta, self.beta, self.domain)


def theorem_2_5(epsilon: Number, delta: Number, times: int) -> Printed:
    r"""Of T mechanisms, each :math:`\varepsilon/\sqrt{8T \ln(1/\delta)}`-private, the delta at epsilon.

    What is found is the exact delta at epsilon of the worst such mechanisms, randomized responses (Kairouz, Oh,
    Viswanath 2015). False as printed, for all 0 < epsilon, delta < 1: with delta near 1 any mechanism is one of these.
    """
    share = narrow(lambda: ball(Fraction(epsilon)) / _root(8 * times, delta), "Theorem 2.5")
    coin = KaryRandomizedResponse.for_epsilon(Fraction(share.low), k=2)  # rounded down: one of these mechanisms
    any_other = Repeat(Guarantee(Fraction(share.high)), times)
    found = Enclosure.of(
        account(Repeat(coin, times)).delta(epsilon).low, account(any_other).delta(epsilon).high,
        rigour=Rigour.INTERVAL, source=f"composition of {times} randomized responses",
    )  # fmt: skip
    sentence = f"delta of T={times} mechanisms at epsilon={float(epsilon):g}"
    return Printed("HKR12 Theorem 2.5", sentence, float(delta), found)


def _root(factor: int, delta: Number) -> flint.arb:
    return (-factor * ball(Fraction(delta)).log()).sqrt()


def claims(s: Setting) -> tuple[Claim, ...]:
    """Theorem 4.3, for both relations that it may mean."""
    m = s.mechanism
    hypotheses = (
        Hypothesis("0 < epsilon, delta < 1 (Theorem 2.5)", 0 < s.epsilon < 1 and 0 < s.delta < 1),
        Hypothesis("log(12 N) and 8 log(1/beta) are whole, or the noise is for whole ones (not stated)",
                   m.scale >= printed_scale(s, m.coordinates).low),
    )  # fmt: skip
    where = "HKR12 Theorem 4.3"
    return tuple(
        Claim(f"theorem-4.3-{relation}", Run(m), s.epsilon, s.delta, relation, "report", where, hypotheses)
        for relation in (REPLACE_ONE, ADD_REMOVE)
    )


def printed_scale(s: Setting, coordinates: int) -> Enclosure:
    r"""The noise that Theorem 2.5 asks of so many coordinates: :math:`\sqrt{8 T \ln(1/\delta)} / \varepsilon`."""
    return narrow(lambda: _root(8 * coordinates, s.delta) / ball(s.epsilon), "Theorem 2.5")


def theorem_4_3(s: Setting) -> tuple[Printed, ...]:
    """The Bucket mechanism is (epsilon, delta)-private: literally, for replaced values, for a user who leaves."""
    m, claim = s.mechanism, claims(s)[0]
    vacuous = Enclosure.of(0, source="no two histograms of size 1 are at distance 1")
    profiles = {
        "two values, these public vectors": account(m),
        "a value and an absent user, these public vectors": account(m, ADD_REMOVE),
        "two values, any public vectors": whatever_the_vectors(m),
    }
    literal = Printed("HKR12 Theorem 4.3", "read literally", float(s.epsilon), vacuous, claim.hypotheses)
    return literal, *(
        Printed("HKR12 Theorem 4.3", f"epsilon at delta={float(s.delta):g}, {which}", float(s.epsilon),
                profile.epsilon(s.delta), claim.hypotheses)
        for which, profile in profiles.items()
    )  # fmt: skip


def whatever_the_vectors(m: BucketHeavyHitter) -> PrivacyProfile:
    """Profile for the worst public vectors that Algorithm 3 may draw: all alike, so that every coordinate differs."""
    return LaplaceCoordinates(m.coordinates, 1 / m.scale, f"{m.coordinates} Laplace coordinates, all of them shifted")


def sufficient_scale(s: Setting, any_vectors: bool = True) -> Enclosure:
    """Least scale of the noise with which the mechanism keeps the promise of Theorem 4.3, by the exact accountant.

    Parameters
    ----------
    s : Setting
        The promise.
    any_vectors : bool
        For the worst public vectors, not only for those of seed 0.

    Returns
    -------
    Enclosure
        Relative width below 1e-6: at its upper end the promise is certified, at its lower end it is certified to fail.
    """
    printed = s.mechanism

    def keeps(scale: Fraction) -> bool:
        m = replace(printed, scale=scale)
        profile: PrivacyProfile = whatever_the_vectors(m) if any_vectors else account(m)
        return profile.delta(s.epsilon).high <= s.delta

    low, high = printed.scale / 64, printed.scale
    while high / low > 1 + Fraction(1, 10**6):
        middle = Fraction(math.sqrt(low * high))
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return Enclosure.of(low, high, rigour=Rigour.INTERVAL, source="bisection of the exact profile")


def lemma_4_5(k: int) -> tuple[Printed, ...]:
    r"""The constant of the tail bound :math:`P[|X - \mu| > t] \le C_k (ck/t^2)^{k/2}` is at most 1.0004.

    Its proof gives :math:`C_k = 2 \sqrt{\pi k}\, e^{1/(6k) - k/2}`; printed is the exponent :math:`k/2 - 1/(6k)`.
    """
    pi = flint.arb.pi
    exponent = Fraction(k, 2) - Fraction(1, 6 * k)
    proved = narrow(lambda: 2 * (k * pi()).sqrt() * ball(-exponent).exp(), "the lemma's proof")
    printed = narrow(lambda: 2 * (k * pi()).sqrt() * ball(exponent).exp(), "the lemma's sentence")
    return (
        Printed("HKR12 Lemma 4.5", f"the constant C_{k}, as proved", 1.0004, proved),
        Printed("HKR12 Lemma 4.5", f"the constant C_{k}, as printed", 1.0004, printed),
    )
