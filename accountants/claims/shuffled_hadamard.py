r"""What Ghazi, Golowich, Kumar, Pagh and Velingker 2019 print of Algorithm 1, as formulas, and what is found.

Logarithms are natural in :math:`\rho` and in probabilities, and of base 2 where they count indices or bits. The lemma's
proof compares one element with another and then goes from one set of k elements to another in k steps; each step may
cost epsilon / k, except with probability

.. math:: \delta_0 = \frac{\varepsilon \delta}{e k}
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Printed, ShuffledPromise, derived, largest_error, remembered, union, zipf
from ldpaudit.accountants.claims.shuffled_count_min import NO_CONSTANT
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_upper
from ldpaudit.accountants.numerics.precision import narrow, narrowed
from ldpaudit.accountants.numerics.search import first
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.accountants.shuffling.hidden_message import HiddenTuple, Seen
from ldpaudit.claim import Hypothesis
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.neighbours import ADD_REMOVE
from ldpaudit.profile import PrivacyProfile

_CONSTANT = 12  # how the constant of (67) is read
_MESSAGES, _BITS = 40, 2
"""For Theorem 4.1's messages and bits: above the 36 of Lemma 4.4, as ln(e/(eps delta)) is above ln(1/(eps delta))."""
_COUNTED = 1 << 16  # domains up to this size are simulated


@dataclass(frozen=True)
class Setting(ShuffledPromise):
    """A promise, and the domain and elements per user for which it is made."""

    domain: int  # B, a power of two
    k: int = 1  # elements per user
    beta: Fraction = Fraction(1, 20)

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
        return self.power, self.small


def _lemma_4_4(s: Setting) -> tuple[Printed, ...]:
    """The algorithm is (epsilon, delta)-private: for replace-one, and for add-remove neighbours; and the noise that suffices."""
    m, where, epsilon, met = s.mechanism, "GGKPV Lemma 4.4", float(s.epsilon), s.hypotheses
    more = "the paper's neighbours differ in one user's input"
    return (
        remembered(where, f"{s.at}, another input of one user", epsilon, account(m).epsilon(s.delta), met),
        remembered(where, f"{s.at}, a user more or less", epsilon, account(m, ADD_REMOVE).epsilon(s.delta), met, variant=more),
        remembered(where, "blanket messages per user for that", float(m.rho), sufficient_rho(s), met),
    )


def sufficient_rho(s: Setting) -> Enclosure:
    """Least number of blanket messages per user that keeps the promise, with the printed tau.

    Returns at its upper end the promise is certified for all data sets; below its lower end it is certified to fail
    for some. Infinite where four times the printed number is not enough.
    """
    printed = s.mechanism
    most = 4 * printed.rho

    def least(keeps: Callable[[PrivacyProfile, PrivacyProfile], bool], start: int) -> int:
        def enough(rho: int) -> bool:
            # One bound is asked at a time; one profile where it is both.
            found = account(replace(printed, rho=rho))
            return keeps(*((found.low, found.high) if isinstance(found, Bracket) else (found, found)))

        return first(enough, start, 1, most + 1)

    # The lower bound takes longer, and is next to the upper one.
    enough = least(lambda _, high: high.delta(s.epsilon).high <= s.delta, printed.rho // 16)
    needed = least(lambda low, _: low.delta(s.epsilon).low <= s.delta, enough)
    low, high = (float(rho) if rho <= most else math.inf for rho in (needed, enough))
    return Enclosure(low, high, Rigour.INTERVAL, "bisection of the profile")


def _steps(s: Setting) -> tuple[Printed, ...]:
    r"""Steps of the proof of Lemma 4.4: one replaced element, the blanket's messages for a value, and k elements.

    (71): :math:`N/N' > e^{\varepsilon/k}` with probability at most :math:`\delta_0`. Found exactly: :math:`\sum_x P[X = x]\,
    P\bigl[N' < e^{-\varepsilon/k} (1+x)\bigr]` for :math:`X \sim Bin(\rho n, p)` and :math:`N' \sim Bin(\rho n + 1, p)`.

    (72): Chernoff's bound, :math:`P[|X - \mu| > \eta \mu] \le 2 e^{-\eta^2 \mu/3}`, at :math:`\eta = \varepsilon/(3k)`.

    The end of the proof: :math:`\sum_{i<k} e^{i\varepsilon/k}\, \delta_0 \le \delta`.
    """
    m, eta = s.mechanism, min(s.step / 3, Fraction(1))
    trials = m.users * m.rho
    mean = trials * m.hit
    single = HiddenTuple(trials, m.hit, Seen.ALL, f"{trials} blanket messages")
    with working_precision(128):
        least = float((ball(s.step * s.delta) / flint.arb(1).exp()).lower())
    chernoff = narrow(lambda: 2 * (-ball(eta * eta * mean / 3)).exp(), "Chernoff")
    tails = narrow(lambda: _outside(trials, m.hit, eta * mean), "two binomial tails")

    def total() -> flint.arb:
        return ball(s.epsilon).expm1() / ball(s.step).expm1() * ball(s.step * s.delta) / flint.arb(1).exp()

    off = "probability that blanket messages for a value are off by more than epsilon/(3k) of them"
    return (
        derived("GGKPV (71)", "probability that one element's loss exceeds epsilon/k", least, single.exceeds(s.step), s.hypotheses),
        derived("GGKPV (72)", off, chernoff.low, tails),
        derived("GGKPV Lemma 4.4, proof", "delta of k steps with delta_0 each", float(s.delta), narrow(total, "a geometric sum"),
                (s.small,)),
    )  # fmt: skip


def _outside(trials: int, p: Fraction, reach: Fraction) -> flint.arb:
    """P[|Bin(trials, p) - trials p| > reach]."""
    above, below = math.floor(trials * p + reach) + 1, math.ceil(trials * p - reach) - 1
    return binomial_upper(trials, p, above) + binomial_lower(trials, p, below)


@narrowed("Lemma 4.5")
def reach(m: ShuffledHadamard, beta: Fraction, values: int = 1) -> flint.arb:
    r"""The error of Lemma 4.5 at beta, for `values` values together and any amount of noise; in users.

    .. math:: t = \sqrt{3 l \max(3 l,\, \rho + k)}, \qquad l = \ln\frac{2 \cdot values}{\beta}
    """
    nats = 3 * ball(2 * values / beta).log()
    return (nats * nats.max(flint.arb(m.rho + m.k))).sqrt()


def failure(m: ShuffledHadamard, error: float) -> Enclosure:
    r"""Exact probability that the estimate of a value that nobody holds is off by more than `error` users.

    The number of messages that speak for it is :math:`Bin((\rho + k) n, p)`.
    """
    trials, p = (m.rho + m.k) * m.users, m.hit
    return narrow(lambda: _outside(trials, p, Fraction(error) * (1 - p)), "two binomial tails")


def _errors(s: Setting) -> tuple[Printed, ...]:
    r"""Of a value that nobody holds, Lemma 4.5; of all, Theorem 4.3; its (67), :math:`O(\log B + k \sqrt{\log B
    \ln(k/(\varepsilon\delta))}/\varepsilon)`.
    """
    m, where, beta = s.mechanism, "GGKPV Theorem 4.3", float(s.beta)
    t, most = reach(m, s.beta).low, reach(m, s.beta, s.domain)
    every = union(failure(m, most.low), s.domain, "each of the values alone")

    def order() -> flint.arb:
        log = ball(Fraction(s.domain)).log() / flint.arb(2).log()
        return _CONSTANT * (log + s.k * (log * ball(s.k / (s.epsilon * s.delta)).log()).sqrt() / ball(s.epsilon))

    return (
        derived("GGKPV Lemma 4.5", f"probability that an estimate is off by more than {t:.6g}", beta, failure(m, t), (s.power,)),
        derived(where, f"probability that any of {s.domain} estimates is off by more than {most.low:.6g}", beta, every, (s.power,),
                attained=False),
        derived(f"{where} (67)", f"that error is at most {_CONSTANT} (log B + k sqrt(log B ln(k/(eps delta)))/eps)",
                narrow(order, "(67)").low, most, variant=f"the O's constant is not printed; here it is {_CONSTANT}"),
    )  # fmt: skip


def messages(s: Setting) -> Printed:
    """Lemma 4.6: how many messages a user sends."""
    m = s.mechanism

    def cover() -> flint.arb:
        return 36 * s.k**2 * (ball(s.k / (s.epsilon * s.delta)).log() + 1) / ball(s.epsilon) ** 2

    sent, said = s.k + math.ceil(narrow(cover, "rho").high), "messages of a user, k + 36 k^2 ln(e k/(eps delta))/eps^2 rounded up"
    return remembered("GGKPV Lemma 4.6", said, float(sent), Enclosure.of(m.k + m.rho, source="k + rho"))


def _costs(s: Setting) -> tuple[Printed, ...]:
    r"""Lemma 4.6: messages have tau log(2B) bits; and how many elements all kernels have together, which enumeration costs.

    For k = 1 Theorem 4.1: :math:`O(\ln(1/\varepsilon\delta)/\varepsilon^2)` messages of :math:`O(\log n \log B)` bits each.
    """
    m, where = s.mechanism, "GGKPV Lemma 4.6"
    bits = narrow(lambda: m.tau * ball(Fraction(2 * s.domain)).log() / flint.arb(2).log(), "tau log2(2 B)")
    sent = Enclosure.of(m.message_bits, source="an index has log2(2 B)")
    elements, trials, p = m.k * m.users, (m.rho + m.k) * m.users, m.hit
    mean, claimed = elements * (1 - p) + s.domain * trials * p, Fraction(elements + s.domain * (m.rho + m.k))
    most = m.rho + m.k + Fraction(reach(m, s.beta, s.domain).low)
    tail = narrow(lambda: s.domain * binomial_upper(trials, p, math.floor(most) + 1), "each of the values alone", Rigour.INTERVAL)
    lemma = (
        messages(s),
        derived(where, "bits of a message", bits.high, sent),
        derived(where, "average number of values in all kernels", float(claimed),
                Enclosure.of(mean, source="k n (1 - p) + B (rho + k) n p"), (s.power,)),
        derived(f"{where} (75)", f"probability that any value is in more than {float(most):.6g} kernels, but for its holders'",
                float(s.beta), tail.clamp(0.0, 1.0), (s.power,), attained=False),
    )  # fmt: skip
    if s.k > 1:
        return lemma
    where = "GGKPV Theorem 4.1"
    number = narrow(lambda: -_MESSAGES * ball(s.epsilon * s.delta).log() / ball(s.epsilon) ** 2, where)
    log_n, log_b = (ball(Fraction(size)).log() / flint.arb(2).log() for size in (s.users, s.domain))
    return (
        *lemma,
        derived(where, f"messages of a user are at most {_MESSAGES} ln(1/(eps delta))/eps^2", number.low,
                Enclosure.of(m.rho + m.k, source="rho + k"), (s.small,), variant=NO_CONSTANT),
        derived(where, f"bits of a message are at most {_BITS} log n log B", narrow(lambda: _BITS * log_n * log_b, where).low, sent,
                variant=NO_CONSTANT),
    )  # fmt: skip


def printed(s: Setting) -> tuple[Printed, ...]:
    """Every statement about Algorithm 1."""
    return *_lemma_4_4(s), *_steps(s), *_errors(s), *_costs(s)


EXAMPLES = (
    Setting(Fraction(1), Fraction(1, 10**6), 1 << 20, 1 << 10),
    Setting(Fraction(1, 2), Fraction(1, 10**9), 1 << 14, 1 << 16),
    Setting(Fraction(1), Fraction(1, 10**6), 1 << 12, 1 << 10, k=3),
    Setting(Fraction(1), Fraction(1, 10**6), 1025, 1 << 10),
    Setting(Fraction(10), Fraction(1, 10**6), 1 << 10, 1 << 10),
)
"""Usual promises, for one element and for three; no power of two; and an epsilon far above 1, where the lemma fails."""

SIMULATED = EXAMPLES[:1] + EXAMPLES[2:]  # the examples but the second, whose 6e7 messages take most of a minute


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    """Lemma 4.5 for value 0, and Theorem 4.3 for all values, where few values are held by many."""
    if s.domain > _COUNTED:
        return ()
    m, beta = s.mechanism, float(s.beta)

    def data(rng: np.random.Generator) -> NDArray[np.int64]:
        return (zipf(s.users, s.domain, rng)[:, None] + np.arange(s.k)) % s.domain

    kind, one, every = f"n = {s.users}, k = {m.k}, Zipf; in users", reach(m, s.beta).low, reach(m, s.beta, s.domain).low
    return (
        Accuracy("GGKPV Lemma 4.5", f"the estimate of value 0, {kind}", one, beta, data, largest_error(s.domain, 1)),
        Accuracy("GGKPV Theorem 4.3", f"all {s.domain} estimates, {kind}", every, beta, data, largest_error(s.domain)),
    )
