"""What Hsu, Khanna and Roth 2012 print of Laplace noise in general, and what is found: one answer, a sum of noises, a histogram.

The histogram is the simpler algorithm that they compare JL-HH with (Section 3.1): every user adds noise of scale 1/epsilon to
each entry of their histogram, which "is differentially private, as any neighboring histogram will change exactly one entry". So
it is where a user's histogram may become empty. Where their value is replaced, two entries change.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import flint

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Failure, Printed
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Rigour, round_up
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE

NAIVE = "HKR12, naive histogram"  # an unnumbered comparison in Section 3.1

_AREA = Failure(
    "It fails at every epsilon: for noise of scale 1 the ratio is above e^(1/2) with probability 0.6106, but delta at 1/2 is "
    "0.2212.",
    "The proof lets the likelihood ratio exceed e^epsilon with probability at most delta, but delta is the area above that ratio, "
    "not the mass there.",
    "The ratio exceeds e^(2 epsilon) with probability at most delta/(1 - e^(-epsilon)).",
)
_LIKELIHOOD = (
    "the ratio is of one report's probabilities, and the report is that of the value above the line; the theorem may be true "
    "all the same: the steps of `ldpaudit limit hsu.heavy_hitter_failure` do not need it"
)
_NATS = 20
"""The tail is judged where the sentence's bound is about e**-20, or half-way to the end of its regime, and at its end."""
_FLOATS = 600  # bounds below e**-600 are left out: a float ends at e**-745


@dataclass(frozen=True)
class Setting:
    """An answer with noise, and a number of such noises."""

    epsilon: Fraction  # the promise, above 0
    sensitivity: Fraction  # c, how far the answers of neighbours may lie apart, above 0
    users: int  # n, how many noises are added up, at least 1
    beta: Fraction  # probability with which the sum may be far away, in (0, 1)
    domain: int = 1024  # N, values of the histogram, at least 2

    def __post_init__(self) -> None:
        if not (self.users >= 1 and 0 < self.beta < 1):
            raise ValueError(f"Setting needs users >= 1 and 0 < beta < 1, got users={self.users} and beta={self.beta}")
        _ = self.mechanism, self.histogram  # refuse the rest

    @property
    def mechanism(self) -> Laplace:
        """The answer, any number of a range of length c, plus noise of scale c/epsilon."""
        return Laplace.for_epsilon(self.epsilon, 0, self.sensitivity)

    @property
    def histogram(self) -> LaplaceHistogram:
        """Noise of scale 1/epsilon on each entry of a user's histogram."""
        return LaplaceHistogram.as_printed(self.epsilon, self.domain)


def noise_tail(users: int, reach: flint.arb) -> flint.arb:
    r"""Upper bound of P[|z| > t b] for the sum z of n Laplace noises of scale b, by the best Chernoff bound.

    .. math:: P \le 2 (1 - s^2)^{-n} e^{-s t}, \qquad s = \frac{\sqrt{n^2 + t^2} - n}{t}
    """
    if not reach > 0:
        return flint.arb(1)
    s = ((users * users + reach * reach).sqrt() - users) / reach
    return (2 * (-s * reach - users * (1 - s * s).log()).exp()).min(flint.arb(1))


def noise_reach(users: int, nats: flint.arb) -> flint.arb:
    r"""How far, in scales, a sum z of n Laplace noises is exceeded with probability at most e**-nats; Chernoff.

    .. math:: t = \min_{0 < u < 1} \frac{\Lambda - n \ln(1 - u^2)}u, \qquad P[z > t b] \le e^{-\Lambda}

    Valid at every u; the float search only finds a good one. About :math:`2 \sqrt{n \Lambda}` for many noises.

    ``users``: n, at least 1; ``nats``: :math:`\Lambda`, above 0. Returns an upper bound of that distance, in scales.
    """
    from scipy.optimize import minimize_scalar  # here: it takes a while to import

    wanted = float(nats)

    def reach(log: float) -> float:
        u = 1 / (1 + math.exp(-log))
        return (wanted - users * math.log1p(-u * u)) / u

    best = minimize_scalar(reach, bounds=(-60.0, 30.0), method="bounded")
    u = flint.arb(1 / (1 + math.exp(-float(best.x))))
    return (nats - users * (1 - u * u).log()) / u


def theorem_2_4(s: Setting) -> Printed:
    """An answer of sensitivity c with noise of scale c/epsilon is (epsilon, 0)-private. Exact, and attained."""
    sentence = f"epsilon at delta=0 of an answer of sensitivity {s.sensitivity} with noise of scale {s.mechanism.scale}"
    return Printed("HKR12 Theorem 2.4", sentence, round_up(s.epsilon), account(s.mechanism).epsilon(0))


def theorem_2_10(s: Setting) -> Iterator[Printed]:
    r"""Tails of a sum X of n noises of scale b in both regimes, and :math:`P[|X| > T_\beta] \le \beta`.

    .. math:: P[X \ge T] \le \begin{cases} e^{-T^2/(6nb^2)} & T \le nb \\ e^{-T/(6b)} & T > nb \end{cases}, \qquad
              T_\beta = b \sqrt{6n} \ln\tfrac2\beta

    What is found is a Chernoff bound, so it can show that the sentence is true, never that it is false.
    """
    n, where = s.users, "HKR12 Theorem 2.10"
    inside = min(Fraction(n, 2), Fraction(round((6 * n * _NATS) ** 0.5)))
    regimes = (("T <= n b", inside, inside**2 / (6 * n)), ("T <= n b, at its end", Fraction(n), Fraction(n, 6)),
               ("T > n b", Fraction(4 * n), Fraction(4 * n, 6)))  # fmt: skip
    for regime, reach, exponent in regimes:
        if exponent <= _FLOATS:
            claimed = narrow(lambda e=exponent: (-ball(e)).exp(), where)  # type: ignore[misc]
            found = narrow(lambda t=reach: noise_tail(n, ball(t)) / 2, "Chernoff", Rigour.INTERVAL)  # type: ignore[misc]
            sentence = f"P[X >= T] of a sum of n={n} noises at T={reach} b, {regime}"
            yield Printed(where, sentence, claimed.low, found, attained=False)

    def both() -> flint.arb:
        return noise_tail(n, flint.arb(6 * n).sqrt() * ball(2 / s.beta).log())

    sentence = f"P[|X| > T_beta] of a sum of n={n} noises at beta={s.beta}"
    yield Printed(where, sentence, float(s.beta), narrow(both, "Chernoff", Rigour.INTERVAL), attained=False)


def naive_histogram(s: Setting) -> tuple[Printed, ...]:
    """Each user adds noise of scale 1/epsilon to each entry: private where one entry changes, and exactly so.

    "Any neighboring histogram will change exactly one entry" is said of histograms at distance 1. Two users who hold different
    values have histograms at distance 2, and of these nothing is said; what they cost is a row of ours.
    """
    m, claimed = s.histogram, round_up(s.epsilon)
    variant = "the text has one entry changed; where a user's value is replaced, two are"
    noise = f" of noise of scale {m.scale} on each entry"
    sentence = f"epsilon at delta=0{noise}"
    return (
        Printed(NAIVE, f"{sentence}, one entry changes", claimed, account(m, ADD_REMOVE).epsilon(0)),
        Printed(NAIVE, f"{sentence}, a value is replaced", claimed, account(m, REPLACE_ONE).epsilon(0), variant=variant),
        Printed(NAIVE, f"delta at epsilon={float(s.epsilon):g}{noise}, a value is replaced", 0,
                account(m, REPLACE_ONE).delta(s.epsilon), variant=variant),
    )  # fmt: skip


def theorem_3_3(s: Setting) -> Printed:
    r"""A step of its proof reads privacy as "the likelihood ratio is at most e^epsilon with probability 1 - delta".

    Of an :math:`\varepsilon'`-private answer, at half its epsilon :math:`\varepsilon = \varepsilon'/2`,

    .. math:: \delta = 1 - e^{-\varepsilon'/4}, \qquad
              P\Bigl[\frac{dP}{dQ} > e^{\varepsilon}\Bigr] = 1 - \frac{e^{-\varepsilon'/4}}{2}

    Exact, for the two ends of the range: the first is the area above the ratio, the second the mass there.
    """
    half = s.epsilon / 2
    delta = account(s.mechanism).delta(half).high
    found = narrow(lambda: 1 - (-ball(s.epsilon / 4)).exp() / 2, "law of Laplace noise")
    sentence = f"probability that a ({float(half):g}, {delta:.4g})-private report's likelihood ratio is above e^epsilon"
    small = Hypothesis("epsilon <= 1/2", half <= Fraction(1, 2))
    return Printed("HKR12 Theorem 3.3, proof", sentence, delta, found, (small,), reading=_LIKELIHOOD, failure=_AREA)


def printed(s: Setting) -> tuple[Printed, ...]:
    """Theorems 2.4 and 2.10, a step of the proof of Theorem 3.3, and the histogram of Section 3.1."""
    return theorem_2_4(s), *theorem_2_10(s), theorem_3_3(s), *naive_histogram(s)


EXAMPLES = (
    Setting(Fraction(1), Fraction(1), 1, Fraction(1, 20)),
    Setting(Fraction(1, 10), Fraction(2), 100, Fraction(1, 20)),
    Setting(Fraction(3), Fraction(1, 3), 10**6, Fraction(1, 10**6)),
    Setting(Fraction(1, 2), Fraction(1), 40, Fraction(9, 10)),
)
"""One noise, some, and a million; a beta so large that Theorem 2.10's own tail does not give its T_beta."""
