r"""What Ghazi, Golowich, Kumar, Pagh and Velingker print of Algorithm 2, at a mechanism's parameters, and what is found.

Their neighbours are data sets that differ in one user's set, for every setting of the public coins. The constants 90 of
Lemma 4.10 and 1/3 of the Chernoff bounds are reconstructed from its proof; the paper's theorems hide them in O's.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Self

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants import account
from ldpaudit.accountants.claims.sentence import Accuracy, Failure, Printed, derived, restored
from ldpaudit.accountants.counting.count_min import worst_added, worst_replaced
from ldpaudit.accountants.counting.theorems import lemma_4_12, smooth_delta, smooth_noise_guarantee, smoothness_hypotheses
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_upper
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.accountants.numerics.search import crossing
from ldpaudit.claim import Hypothesis
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.mechanisms.shared.parameters import log2
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.profile import Number

_SUBTRACTED = Failure(
    "It fails at every gamma above 0: at n = 1000, gamma = 1/50 and one row an estimate is below the truth with probability "
    "0.4694.",
    "A cell counts every holder, but the last line of Algorithm 2 subtracts gamma n, the mean of the blanket, which may have "
    "fewer messages.",
    "Without the subtraction no estimate is below the truth, and each is too high by gamma n on average.",
)

NO_CONSTANT = "the paper prints no constants of its costs; these are ours"
_FLOATS = 600.0  # claims whose probability is below e**-600 are left out: a float ends at e**-745
_CUBES = 300  # for Theorem 4.2's messages: above the 180 of Theorem 4.7's proof, as log2(2 B) is above log2(B)
DELTA = Fraction(1, 10**6)  # the delta at which privacy claims are judged
_RARE = Fraction(1, 20)  # failure probability at which the blanket's error is judged
_RELATIVE = 2.0**-12  # relative precision of the search for a gamma
_RUNNABLE = 1 << 22  # largest number of users' values, and of values in the domain, for which a run is simulated


@dataclass(frozen=True)
class Setting:
    """Parameters of Algorithm 2, and the delta at which what it costs is judged; see `ShuffledCountMin` for the others."""

    users: int
    domain: int
    rows: int
    buckets: int
    gamma: Fraction
    held: int = 1
    seed: int = 0
    delta: Fraction = DELTA

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ValueError(f"Setting needs 0 < delta < 1, got delta={self.delta}")
        _ = self.mechanism  # refuses the rest

    @property
    def mechanism(self) -> ShuffledCountMin:
        """Algorithm 2 with these parameters."""
        return ShuffledCountMin(self.users, self.domain, self.rows, self.buckets, self.gamma, self.held, self.seed)

    @classmethod
    def of(cls, m: ShuffledCountMin, delta: Fraction = DELTA) -> Self:
        """A mechanism, judged at a delta."""
        return cls(m.users, m.domain, m.rows, m.buckets, m.gamma, m.held, m.seed, delta)

    @classmethod
    def as_printed(cls, epsilon: Fraction, delta: Fraction, users: int, domain: int, held: int = 1, seed: int = 0) -> Self:
        """Theorem 4.7's parameters, judged at its delta; see `ShuffledCountMin.as_printed`."""
        return cls.of(ShuffledCountMin.as_printed(epsilon, delta, users, domain, held, seed), Fraction(delta))


def printed_epsilon(m: ShuffledCountMin, delta: Number) -> Enclosure:
    r"""The epsilon that Lemma 4.10 promises at this gamma: :math:`k\tau \sqrt{90 \ln(2k\tau/\delta) / (\gamma n)}`."""
    cells, share = m.held * m.rows, 90 / (m.gamma * m.users)
    lines = 2 * cells / Fraction(delta)
    return narrow(lambda: cells * (ball(share) * ball(lines).log()).sqrt(), "GGKPV Lemma 4.10")


def hypotheses(m: ShuffledCountMin, epsilon: float, delta: Number) -> tuple[Hypothesis, ...]:
    """Of Lemma 4.10 and Theorem 4.7."""
    least = math.ceil(180 * m.held**2 * m.rows**2 * math.log(2 * m.held * m.rows / delta) / min(epsilon, 1.0) ** 2)
    return (
        Hypothesis("gamma <= 1/2 (Lemma 4.12's, by which it is proved)", m.gamma <= Fraction(1, 2)),
        Hypothesis("0 <= epsilon <= 1", epsilon <= 1),
        Hypothesis(
            f"n >= 180 tau^2 k^2 ln(2 tau k/delta)/epsilon^2 = {least}: a gamma <= 1/2 exists", m.users >= least
        ),
    )


def printed(s: Setting) -> tuple[Printed, ...]:
    """Every claim about Algorithm 2 at these parameters.

    ``s``: its gamma and delta decide which epsilon is printed. Returns Lemma 4.10 for both relations and its proof,
    Lemmas 4.11 and 4.12 where it uses them, Theorem 4.7, Lemmas 4.8 and 4.9, Theorem 4.2, and that estimates never
    underestimate.
    """
    m = s.mechanism
    sent = costs(m, printed_epsilon(m, s.delta), s.delta)
    return (*_privacy(m, s.delta), *_tools(m, s.delta), *_collisions(m), *_blanket(m), *_one_sided(m), *sent)


def _privacy(m: ShuffledCountMin, delta: Number) -> Iterator[Printed]:
    epsilon = printed_epsilon(m, delta).high
    conditions, at = hypotheses(m, epsilon, delta), f"epsilon at delta={float(delta):g}"
    where = "GGKPV Lemma 4.10, Theorem 4.7" if is_theorem(m) else "GGKPV Lemma 4.10"
    any_functions = worst_replaced(m.users, m.gamma, m.held, m.rows).epsilon(delta)
    yield restored(where, f"{at}, a set replaced, any hash functions", epsilon, any_functions, conditions, _disjoint(m))
    if m.held > 1:
        these = account(m).epsilon(delta)
        yield restored(where, f"{at}, a set replaced, these hash functions", epsilon, these, conditions, _disjoint(m))
    other = worst_added(m.users, m.gamma, m.held, m.rows, m.rows * m.buckets).epsilon(delta)
    yield restored(where, f"{at}, a user added or removed", epsilon, other, conditions,
                   variant="the paper's neighbours differ in one user's set")  # fmt: skip
    reached = Enclosure.of(m.rows * min(2 * m.held, m.domain), source="two disjoint sets in different cells")
    said = "the k tau of its constants is how much another set in a set's place changes the sketch"
    yield derived("GGKPV Lemma 4.10, proof", said, float(m.held * m.rows), reached,
                  variant="the paper's proof is restored from the constant 90 = 10 * 3^2")  # fmt: skip


def _disjoint(m: ShuffledCountMin) -> bool:
    """Whether two users can hold k values each that have none in common."""
    return m.domain >= 2 * m.held


def _tools(m: ShuffledCountMin, delta: Number) -> Iterator[Printed]:
    """Lemma 4.12 at the alpha of Lemma 4.10's proof, and Lemma 4.11 with the right sensitivity and with the proof's."""
    cells = m.held * m.rows
    alpha = Fraction(printed_epsilon(m, delta).high) / (3 * cells)
    if not 0 < alpha < 1:
        return
    step, formula = lemma_4_12(m.users, m.gamma, alpha)
    exact = smooth_delta(m.users, m.gamma, m.held, step.high)
    words = f"delta of the blanket's smoothness to k={m.held} at alpha={float(alpha):.4g}"
    yield restored("GGKPV Lemma 4.12", words, formula.high, exact, smoothness_hypotheses(m.users, m.gamma, m.held, alpha))
    profile = worst_replaced(m.users, m.gamma, m.held, m.rows)
    for sensitivity, whose in ((2 * cells, "its sensitivity 2 k tau"), (cells, "the k tau of Lemma 4.10's proof")):
        at, promised = smooth_noise_guarantee(step, exact, sensitivity, m.held, m.held)
        said = f"delta at epsilon={at.high:.4g} of the sketch, by {whose}"
        yield derived("GGKPV Lemma 4.11", said, min(1.0, promised.high), profile.delta(at.high), attained=_disjoint(m))


def _collisions(m: ShuffledCountMin) -> tuple[Printed, ...]:
    r"""Probability that all of a query's cells are shared, for independent uniform hash functions.

    Worst where the others hold as many different values as they can, :math:`v = \min(k(n-1), B-1)`:
    :math:`(1 - (1 - 1/s)^v)^\tau`. Exact.
    """
    values = min(m.held * (m.users - 1), m.domain - 1)
    share = Fraction(m.held * m.users, m.buckets)

    def found() -> flint.arb:
        return (-(values * ball(Fraction(-1, m.buckets)).log1p()).expm1()) ** m.rows

    bound = narrow(lambda: ball(share) ** m.rows, "(kn/s)^tau").high
    every = narrow(lambda: m.domain * found(), "a union bound over values", Rigour.INTERVAL)
    wide = Hypothesis("s = 2 k n", m.buckets == 2 * m.held * m.users)
    deep = Hypothesis("tau = log2(2 B)", 2**m.rows == 2 * m.domain)
    return (
        derived("GGKPV Lemma 4.8", "P[others share all cells of a query] <= (kn/s)^tau", min(1.0, bound),
                narrow(found, "uniform hash functions")),
        restored("GGKPV Theorem 4.7", "P[of some query], a union bound over B: B (kn/s)^tau = 1/2", 0.5, every.clamp(0.0, 1.0),
                 (wide, deep), attained=False),
    )  # fmt: skip


def _one_sided(m: ShuffledCountMin) -> tuple[Printed, ...]:
    r"""The estimates "never underestimate": as Algorithm 2 is printed, and without its last line's subtraction.

    Where all users hold one value and nothing else, its estimate is too small where no row's blanket reaches its mean,

    .. math:: P = 1 - P[Bin(n, \gamma) \ge \gamma n]^\tau

    as rows are independent. Exact. A cell without the subtraction counts every user who holds the value.
    """
    where, sentence = "GGKPV Section 1", f"P[an estimate is below the truth], n={m.users}, tau={m.rows}"
    least = math.ceil(m.expected_blanket)
    found = narrow(lambda: 1 - binomial_upper(m.users, m.gamma, least) ** m.rows, "all users hold one value, and nothing else")
    return (
        Printed(where, sentence, 0, found, reading="Algorithm 2 as printed: its last line takes gamma n off", failure=_SUBTRACTED),
        Printed(where, sentence, 0, Enclosure.of(0, source="a cell counts every holder"),
                reading="without the subtraction, as after Lemma 4.8, where the error is gamma n on average"),
    )  # fmt: skip


def blanket_error(m: ShuffledCountMin, beta: Number, cells: int) -> Fraction:
    r"""The t for which :math:`2 \cdot cells \cdot e^{-t^2/(3 \gamma n)}` is beta, in whole messages, rounded up."""
    nats = math.log(2 * cells / Fraction(beta))
    return Fraction(math.ceil(math.sqrt(3 * float(m.expected_blanket) * nats)))


def _blanket(m: ShuffledCountMin) -> Iterator[Printed]:
    """Probability that some cell's blanket is off by more than t: exactly, from two binomial tails."""
    cells, mean = m.rows * m.buckets, m.expected_blanket
    for t in (blanket_error(m, _RARE, cells), 4 * mean):
        exponent = t * t / (3 * mean)
        if exponent > _FLOATS:
            continue
        above, below = math.floor(mean + t) + 1, math.ceil(mean - t) - 1

        def off(high: int = above, low: int = below) -> flint.arb:
            one = binomial_upper(m.users, m.gamma, high) if high <= m.users else flint.arb(0)
            if low >= 0:
                one += binomial_lower(m.users, m.gamma, low)
            return -(cells * (-one).log1p()).expm1()

        bound = narrow(lambda e=exponent: 2 * cells * (-ball(e)).exp(), "Chernoff")  # type: ignore[misc]
        said = f"P[a cell's blanket is off by more than t={float(t):g}] <= 2 tau s e^(-t^2/(3 gamma n))"
        small = Hypothesis("t <= gamma n, the Chernoff bound's", t <= mean)
        yield derived("GGKPV Lemma 4.8", said, min(1.0, bound.high), narrow(off, "two binomial tails a cell"), (small,))


def sufficient_gamma(m: ShuffledCountMin, epsilon: Number, delta: Number) -> Fraction:
    """A gamma with which the promise is kept whatever the hash functions, where a set is replaced.

    ``m``: its own gamma does not matter; ``epsilon``, ``delta``: the promise. Returns certified; one smaller by a
    relative 2**-11 was not. Raises ValueError where gamma = 1/2 does not keep it.
    """

    def cost(gamma: float) -> float:
        return worst_replaced(m.users, Fraction(min(gamma, 0.5)), m.held, m.rows).epsilon(delta).high

    if cost(0.5) > epsilon:
        raise ValueError(f"({float(epsilon):g}, {float(delta):g}) is out of reach: gamma = 1/2 does not keep it")
    # As if the noise were normal.
    guess = 4 * m.rows * m.held**2 * -math.log(delta) / (m.users * float(epsilon) ** 2)
    return Fraction(crossing(cost, epsilon, min(guess, 0.4), 1.05, _RELATIVE)[1])


EXAMPLES = (
    Setting.as_printed(Fraction(1), DELTA, users=10**6, domain=2**10),
    Setting.as_printed(Fraction(1), DELTA, users=10**7, domain=2**20),
    Setting.as_printed(Fraction(1), DELTA, users=10**6, domain=2**6, held=2),
    Setting(10**4, domain=2, rows=2, buckets=2 * 10**4, gamma=Fraction(9999, 10**4)),
    Setting(1000, domain=16, rows=1, buckets=2000, gamma=Fraction(1, 50)),
)
"""Theorem 4.7's parameters for three sizes; then a blanket of nearly all cells, and a thin one."""


def accuracy(s: Setting) -> tuple[Accuracy, ...]:
    r"""Lemma 4.8 for one query and for all: errors and the probabilities with which they may be exceeded.

    .. math:: P[|\hat x_j - x_j| > t] \le (kn/s)^\tau + 2\tau e^{-t^2/(3\gamma n)}, \qquad
              P[\max_j |\hat x_j - x_j| > t] \le B (kn/s)^\tau + 2\tau s e^{-t^2/(3\gamma n)}

    ``s``: with as many users and values as a simulation can run; otherwise there are no statements. Returns errors in
    users.
    """
    m = s.mechanism
    if max(m.users * m.held, m.domain) > _RUNNABLE or m.expected_noise == 0:
        return ()
    share = float(Fraction(m.held * m.users, m.buckets)) ** m.rows

    def data(rng: np.random.Generator) -> NDArray[np.int64]:
        """Every user holds k neighbouring values, the first of them uniform."""
        return (rng.integers(0, m.domain, m.users)[:, None] + np.arange(m.held)) % m.domain

    def error(which: slice) -> Callable[[Any, Any], float]:
        return lambda held, found: float(np.abs(np.asarray(found) - m.truth(held))[which].max())

    one, every = (float(blanket_error(m, _RARE, cells)) for cells in (m.rows, m.rows * m.buckets))
    rare, uniform = float(_RARE), "values uniform over the domain"
    return (
        Accuracy("GGKPV Lemma 4.8", f"one query's error, {uniform}", one, min(1.0, share + rare), data, error(slice(0, 1))),
        Accuracy("GGKPV Lemma 4.8, Theorem 4.7", f"the largest error, {uniform}", every, min(1.0, m.domain * share + rare), data,
                 error(slice(None))),
    )  # fmt: skip


def costs(m: ShuffledCountMin, epsilon: Enclosure, delta: Number) -> tuple[Printed, ...]:
    """Theorems 4.7 and 4.2 and Lemma 4.9, of costs.

    ``m``: Algorithm 2; ``epsilon``: that Lemma 4.10 promises at its gamma; ``delta``: at which it does. Returns
    messages, bits, cells, and probabilities.
    """
    return *_lemma_4_9(m, epsilon, delta), *_theorem_4_2(m, Fraction(epsilon.low), delta)


def is_theorem(m: ShuffledCountMin) -> bool:
    """Whether rows and buckets are those of Theorem 4.7."""
    return m.rows == (2 * m.domain - 1).bit_length() and m.buckets == 2 * m.held * m.users


def _lemma_4_9(m: ShuffledCountMin, epsilon: Enclosure, delta: Number) -> Iterator[Printed]:
    """How many messages users send on average, by Theorem 4.7, and (1) at most; bits of a message and (2) of the table, (3) cells
    that a query reads.
    """
    where, cells, own = "GGKPV Lemma 4.9", m.rows * m.buckets, m.held * m.rows
    mean, most = m.gamma * cells, m.users * (m.held + 1)  # a cell may take all of a user's values and a blanket message

    def theorem() -> flint.arb:
        lines = ball(2 * own / Fraction(delta)).log()
        return own + 180 * m.held * flint.arb(own) ** 2 * m.rows * lines / ball(Fraction(epsilon.low)) ** 2

    yield derived("GGKPV Theorem 4.7", "messages a user sends on average", narrow(theorem, "Theorem 4.7").high,
                  Enclosure.of(own + mean, source="k tau + gamma tau s"),
                  (Hypothesis("s = 2 k n", m.buckets == 2 * m.held * m.users),))  # fmt: skip
    if mean / 3 < _FLOATS:
        chernoff = narrow(lambda: m.users * (-ball(mean / 3)).exp(), "Chernoff, for each user")
        above = math.floor(2 * mean) + 1
        found = narrow(lambda: -(m.users * (-binomial_upper(cells, m.gamma, above)).log1p()).expm1(), "a binomial tail")
        yield derived(where, "P[some user sends more than tau k + 2 gamma tau s messages]", min(1.0, chernoff.high), found)
    bits = (m.rows - 1).bit_length() + (m.buckets - 1).bit_length()
    space = narrow(lambda: 2 * cells * log2(m.users), "2 tau s log2(n)").low
    table = Enclosure.of(cells * most.bit_length(), source=f"{cells} counts of at most {most}")
    yield derived(where, "(1) bits of a message: ceil(log2 tau) + ceil(log2 s)", float(bits), message_bits(m))
    yield derived(where, "(2) bits of the table: 2 tau s log2(n)", space, table, variant=NO_CONSTANT)
    yield derived(where, "(3) cells that a query reads: tau", float(m.rows), cells_read(m))


def message_bits(m: ShuffledCountMin) -> Enclosure:
    """Bits that tell all cells apart."""
    return Enclosure.of((m.rows * m.buckets - 1).bit_length(), source=f"{m.rows * m.buckets} cells")


def cells_read(m: ShuffledCountMin) -> Enclosure:
    """Cells that a query for a value reads."""
    return Enclosure.of(len(m.cells(0)), source="the value's cell in each row")


def _theorem_4_2(m: ShuffledCountMin, epsilon: Fraction, delta: Number) -> tuple[Printed, ...]:
    r"""For k = 1 and the parameters of Theorem 4.7, with constants of our own.

    .. math:: O\bigl(\log^3 B\, \ln(\log B/\delta)/\varepsilon^2\bigr) \text{ messages of } O(\log n + \log\log B)
              \text{ bits, and queries in time } O(\log B)
    """
    if m.held > 1 or m.domain < 4 or not is_theorem(m):
        return ()
    log = partial(log2, m.domain)
    bounds = (
        (f"messages a user sends on average: {_CUBES} log(B)^3 ln(log(B)/delta)/eps^2",
         lambda: _CUBES * log() ** 3 * (log() / ball(Fraction(delta))).log() / ball(epsilon) ** 2,
         Enclosure.of(m.rows + m.gamma * m.rows * m.buckets, source="tau + gamma tau s")),
        ("bits of a message: 2 (log n + log log B)",
         lambda: 2 * (log2(m.users) + log().log() / flint.arb(2).log()), message_bits(m)),
        ("cells that a query reads: 2 log B", lambda: 2 * log(), cells_read(m)),
    )  # fmt: skip
    where = "GGKPV Theorem 4.2"
    return tuple(derived(where, said, narrow(bound, where).low, found, variant=NO_CONSTANT) for said, bound, found in bounds)
