r"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 print of Algorithm 1, as formulas, and what is found.

Logarithms are natural in :math:`\rho` and in probabilities, and of base 2 where they count indices or bits. The lemma's
proof compares one element with another and then goes from one set of k elements to another in k steps; each step may
cost epsilon / k, except with probability

.. math:: \delta_0 = \frac{\varepsilon \delta}{e k}
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.accuracy import Accuracy, zipf
from ldpaudit.accountants.claims.count_min_costs import NO_CONSTANT
from ldpaudit.accountants.claims.sentence import Printed, Provenance
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import first
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.accountants.shuffling.hidden_message import HiddenTuple, Seen
from ldpaudit.claim import Claim, Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.plan import Run
from ldpaudit.profile import PrivacyProfile
from ldpaudit.working_precision import working_precision

_CONSTANT = 12
"""How the constant of (67) is read."""
_MESSAGES, _BITS = 40, 2
"""For Theorem 4.1's messages and bits: above the 36 of Lemma 4.4, as ln(e/(eps delta)) is above ln(1/(eps delta))."""
_COUNTED = 1 << 16
"""Domains up to this size are simulated."""


@dataclass(frozen=True)
class Setting:
    """A promise, and the users, domain and elements per user for which it is made."""

    epsilon: Fraction  # epsilon in nats, above 0; delta in (0, 1)
    delta: Fraction
    users: int  # n
    domain: int  # B, a power of two
    k: int = 1  # elements per user
    beta: Fraction = Fraction(1, 20)  # probability with which an error may be exceeded, in (0, 1)

    def __post_init__(self) -> None:
        if not 0 < self.beta < 1:
            raise ValueError(f"Setting needs 0 < beta < 1, got beta={self.beta}")
        ShuffledHadamard.as_printed(self.epsilon, self.delta, self.users, self.domain, self.k)  # refuses the rest

    @property
    def mechanism(self) -> ShuffledHadamard:
        """Algorithm 1 with the parameters of Theorem 4.3."""
        return ShuffledHadamard.as_printed(self.epsilon, self.delta, self.users, self.domain, self.k)

    @property
    def step(self) -> Fraction:
        """Epsilon of one replaced element."""
        return self.epsilon / self.k

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Of Lemma 4.4."""
        return (
            Hypothesis("n is a power of two above 1", self.users > 1 and not self.users & (self.users - 1)),
            Hypothesis("epsilon <= 1", self.epsilon <= 1),
        )


def claims(s: Setting) -> tuple[Claim, ...]:
    """Lemma 4.4, for its own relation and for the other."""
    return tuple(
        Claim(
            f"lemma-4.4-{relation}",
            Run(s.mechanism),
            s.epsilon,
            s.delta,
            relation,
            "report",
            "GGKPV Lemma 4.4",
            s.hypotheses,
        )
        for relation in (REPLACE_ONE, ADD_REMOVE)
    )


def lemma_4_4(s: Setting) -> tuple[Printed, ...]:
    """The algorithm is (epsilon, delta)-private: for replace-one, and for add-remove neighbours; and the noise that suffices."""
    m, where, at = s.mechanism, "GGKPV Lemma 4.4", f"epsilon at delta={float(s.delta):g}"
    return (
        Printed(where, f"{at}, another input of one user", float(s.epsilon), account(m).epsilon(s.delta), s.hypotheses,
                provenance=Provenance.MEMORY),
        Printed(where, f"{at}, a user more or less", float(s.epsilon), account(m, ADD_REMOVE).epsilon(s.delta), s.hypotheses,
                provenance=Provenance.MEMORY, variant="the paper's neighbours differ in one user's input"),
        Printed(where, "blanket messages per user for that", float(m.rho), sufficient_rho(s), s.hypotheses,
                provenance=Provenance.MEMORY),
    )  # fmt: skip


def sufficient_rho(s: Setting) -> Enclosure:
    """Least number of blanket messages per user that keeps the promise, with the printed tau.

    Returns at its upper end the promise is certified for all data sets; below its lower end it is certified to fail
    for some. Infinite where four times the printed number is not enough.
    """
    printed = s.mechanism

    def least(keeps: Callable[[ShuffledHadamard], bool], start: int) -> int:
        return first(lambda rho: keeps(replace(printed, rho=rho)), start, 1, most + 1)

    most = 4 * printed.rho
    needed = least(lambda m: _ends(m)[0].delta(s.epsilon).low <= s.delta, printed.rho // 16)
    enough = least(lambda m: _ends(m)[1].delta(s.epsilon).high <= s.delta, needed)
    low, high = (float(rho) if rho <= most else math.inf for rho in (needed, enough))
    return Enclosure(low, high, Rigour.INTERVAL, "bisection of the profile")


def _ends(m: ShuffledHadamard) -> tuple[PrivacyProfile, PrivacyProfile]:
    """The lower and the upper bound, of which one is asked at a time; one profile where it is both."""
    found = account(m)
    return (found.low, found.high) if isinstance(found, Bracket) else (found, found)


def equation_71(s: Setting) -> Printed:
    r"""One replaced element: :math:`N/N' > e^{\varepsilon/k}` with probability at most :math:`\delta_0`.

    Found exactly: :math:`\sum_x P[X = x]\, P\bigl[N' < e^{-\varepsilon/k} (1+x)\bigr]` for :math:`X \sim Bin(\rho n, p)` and
    :math:`N' \sim Bin(\rho n + 1, p)`.
    """
    m = s.mechanism
    single = HiddenTuple(m.users * m.rho, m.hit, Seen.ALL, f"{m.users * m.rho} blanket messages")
    sentence = "probability that one element's loss exceeds epsilon/k"
    with working_precision(128):
        claimed = float((ball(s.step * s.delta) / flint.arb(1).exp()).lower())
    return Printed("GGKPV (71)", sentence, claimed, single.exceeds(s.step), s.hypotheses, provenance=Provenance.DERIVED)


def equation_72(s: Setting) -> Printed:
    r"""Chernoff's bound, :math:`P[|X - \mu| > \eta \mu] \le 2 e^{-\eta^2 \mu/3}`, at :math:`\eta = \varepsilon/(3k)`."""
    m, eta = s.mechanism, min(s.step / 3, Fraction(1))
    trials, mean = m.users * m.rho, m.users * m.rho * m.hit
    claimed = narrow(lambda: 2 * (-ball(eta * eta * mean / 3)).exp(), "Chernoff")
    found = narrow(lambda: _outside(trials, m.hit, eta * mean), "two binomial tails")
    sentence = "probability that blanket messages for a value are off by more than epsilon/(3k) of them"
    return Printed("GGKPV (72)", sentence, claimed.low, found, provenance=Provenance.DERIVED)


def _outside(trials: int, p: Fraction, reach: Fraction) -> flint.arb:
    """P[|Bin(trials, p) - trials p| > reach]."""
    above, below = math.floor(trials * p + reach) + 1, math.ceil(trials * p - reach) - 1
    return binomial_upper(trials, p, above) + binomial_lower(trials, p, below)


def chain(s: Setting) -> Printed:
    r"""The end of the proof: :math:`\sum_{i<k} e^{i\varepsilon/k}\, \delta_0 \le \delta`."""

    def total() -> flint.arb:
        steps = ball(s.epsilon).expm1() / ball(s.step).expm1()
        return steps * ball(s.step * s.delta) / flint.arb(1).exp()

    sentence = "delta of k steps with delta_0 each"
    return Printed(
        "GGKPV Lemma 4.4, proof", sentence, float(s.delta), narrow(total, "a geometric sum"), s.hypotheses[1:],
        provenance=Provenance.DERIVED,
    )


def reach(m: ShuffledHadamard, beta: Fraction, values: int = 1) -> Enclosure:
    r"""The error of Lemma 4.5 at beta, for `values` values together and any amount of noise; in users.

    .. math:: t = \sqrt{3 l \max(3 l,\, \rho + k)}, \qquad l = \ln\frac{2 \cdot values}{\beta}
    """

    def error() -> flint.arb:
        nats = 3 * ball(2 * values / beta).log()
        return (nats * nats.max(flint.arb(m.rho + m.k))).sqrt()

    return narrow(error, "Lemma 4.5")


def failure(m: ShuffledHadamard, error: float) -> Enclosure:
    r"""Exact probability that the estimate of a value that nobody holds is off by more than `error` users.

    The number of messages that speak for it is :math:`Bin((\rho + k) n, p)`.
    """
    trials, p = (m.rho + m.k) * m.users, m.hit
    return narrow(lambda: _outside(trials, p, Fraction(error) * (1 - p)), "two binomial tails")


def lemma_4_5(s: Setting) -> Printed:
    """An estimate is off by more than t with probability at most beta; here that of a value that nobody holds."""
    t = reach(s.mechanism, s.beta).low
    sentence = f"probability that an estimate is off by more than {t:.6g}"
    return Printed("GGKPV Lemma 4.5", sentence, float(s.beta), failure(s.mechanism, t), s.hypotheses[:1],
                   provenance=Provenance.DERIVED)


def theorem_4_3(s: Setting) -> tuple[Printed, ...]:
    r"""All estimates together; and (67), :math:`O(\log B + k \sqrt{\log B \ln(k/(\varepsilon\delta))}/\varepsilon)`."""
    m, t = s.mechanism, reach(s.mechanism, s.beta, s.domain)
    once = failure(m, t.low)
    every = Enclosure.of(0, Fraction(once.high) * s.domain, rigour=Rigour.INTERVAL, source="each of the values alone")

    def order() -> flint.arb:
        log = ball(Fraction(s.domain)).log() / flint.arb(2).log()
        return log + s.k * (log * ball(s.k / (s.epsilon * s.delta)).log()).sqrt() / ball(s.epsilon)

    where = "GGKPV Theorem 4.3"
    return (
        Printed(where, f"probability that any of {s.domain} estimates is off by more than {t.low:.6g}", float(s.beta),
                every.clamp(0.0, 1.0), s.hypotheses[:1], attained=False, provenance=Provenance.DERIVED),
        Printed(f"{where} (67)", f"that error is at most {_CONSTANT} (log B + k sqrt(log B ln(k/(eps delta)))/eps)",
                narrow(lambda: _CONSTANT * order(), "(67)").low, t,
                provenance=Provenance.DERIVED, variant=f"the O's constant is not printed; here it is {_CONSTANT}"),
    )  # fmt: skip


def theorem_4_1(s: Setting) -> tuple[Printed, ...]:
    r"""For k = 1: :math:`O(\ln(1/\varepsilon\delta)/\varepsilon^2)` messages per user of :math:`O(\log n \log B)` bits each."""
    if s.k > 1:
        return ()
    m = s.mechanism
    messages = narrow(lambda: -_MESSAGES * ball(s.epsilon * s.delta).log() / ball(s.epsilon) ** 2, "Theorem 4.1")
    log_n, log_b = (ball(Fraction(size)).log() / flint.arb(2).log() for size in (s.users, s.domain))
    bits = narrow(lambda: _BITS * log_n * log_b, "Theorem 4.1")
    where = "GGKPV Theorem 4.1"
    return (
        Printed(where, f"messages of a user are at most {_MESSAGES} ln(1/(eps delta))/eps^2", messages.low,
                Enclosure.of(m.rho + m.k, source="rho + k"), s.hypotheses[1:],
                provenance=Provenance.DERIVED, variant=NO_CONSTANT),
        Printed(where, f"bits of a message are at most {_BITS} log n log B", bits.low,
                Enclosure.of(m.message_bits, source="an index has log2(2 B)"),
                provenance=Provenance.DERIVED, variant=NO_CONSTANT),
    )  # fmt: skip


def lemma_4_6(s: Setting) -> tuple[Printed, ...]:
    """Messages have tau log(2B) bits; and how many elements all kernels have together, which is what enumeration costs."""
    m, where = s.mechanism, "GGKPV Lemma 4.6"
    bits = narrow(lambda: m.tau * ball(Fraction(2 * s.domain)).log() / flint.arb(2).log(), "tau log2(2 B)")
    elements, blanket, p = m.k * m.users, m.rho * m.users, m.hit
    mean = elements * (1 - p) + s.domain * (blanket + elements) * p
    claimed = Fraction(elements + s.domain * (m.rho + m.k))
    trials, most = blanket + elements, m.rho + m.k + Fraction(reach(m, s.beta, s.domain).low)
    tail = narrow(
        lambda: s.domain * binomial_upper(trials, p, math.floor(most) + 1), "each of the values alone", Rigour.INTERVAL
    )
    def cover() -> flint.arb:
        return 36 * s.k**2 * (ball(s.k / (s.epsilon * s.delta)).log() + 1) / ball(s.epsilon) ** 2

    sent = s.k + math.ceil(narrow(cover, "rho").high)
    return (
        Printed(where, "messages of a user, k + 36 k^2 ln(e k/(eps delta))/eps^2 rounded up", float(sent),
                Enclosure.of(m.k + m.rho, source="k + rho"), provenance=Provenance.MEMORY),
        Printed(where, "bits of a message", bits.high, Enclosure.of(m.message_bits, source="an index has log2(2 B)"),
                provenance=Provenance.DERIVED),
        Printed(where, "average number of values in all kernels", float(claimed),
                Enclosure.of(mean, source="k n (1 - p) + B (rho + k) n p"), s.hypotheses[:1], provenance=Provenance.DERIVED),
        Printed(f"{where} (75)", f"probability that any value is in more than {float(most):.6g} kernels, but for its holders'",
                float(s.beta), tail.clamp(0.0, 1.0), s.hypotheses[:1], attained=False, provenance=Provenance.DERIVED),
    )  # fmt: skip


def printed(s: Setting) -> tuple[Printed, ...]:
    """Every statement about Algorithm 1."""
    return (
        *lemma_4_4(s), equation_71(s), equation_72(s), chain(s), lemma_4_5(s), *theorem_4_3(s), *lemma_4_6(s),
        *theorem_4_1(s),
    )  # fmt: skip


def examples() -> tuple[Setting, ...]:
    """Usual promises, for one element and for three; no power of two; and an epsilon far above 1, where the lemma fails."""
    return (
        Setting(Fraction(1), Fraction(1, 10**6), 1 << 20, 1 << 10),
        Setting(Fraction(1, 2), Fraction(1, 10**9), 1 << 14, 1 << 16),
        Setting(Fraction(1), Fraction(1, 10**6), 1 << 12, 1 << 10, k=3),
        Setting(Fraction(1), Fraction(1, 10**6), 1025, 1 << 10),
        Setting(Fraction(10), Fraction(1, 10**6), 1 << 10, 1 << 10),
    )


def simulated() -> tuple[Setting, ...]:
    """The examples but the second, whose 6e7 messages take most of a minute."""
    first, _, *rest = examples()
    return first, *rest


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """Lemma 4.5 for value 0, and Theorem 4.3 for all values, where few values are held by many."""
    if s.domain > _COUNTED:
        return ()
    m = s.mechanism

    def data(rng: np.random.Generator) -> NDArray[np.int64]:
        return (zipf(s.users, s.domain, rng)[:, None] + np.arange(s.k)) % s.domain

    def off(held: NDArray[np.int64], found: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.abs(found - np.bincount(held.ravel(), minlength=s.domain))

    kind = f"n = {s.users}, k = {m.k}, Zipf; in users"
    return (
        Accuracy("GGKPV Lemma 4.5", f"the estimate of value 0, {kind}", reach(m, s.beta).low, float(s.beta), data,
                 lambda held, found: float(off(held, found)[0])),
        Accuracy("GGKPV Theorem 4.3", f"all {s.domain} estimates, {kind}", reach(m, s.beta, s.domain).low, float(s.beta), data,
                 lambda held, found: float(off(held, found).max())),
    )  # fmt: skip
