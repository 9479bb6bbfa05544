r"""One message among the messages of other users: the divergence behind every shuffle bound of ours.

One user's message y has law :math:`R_1` or :math:`R_2`. Each of n - 1 others sends, independently, a message whose
law has density b(y) there, and nothing with probability :math:`1 - \sum_y b(y)`; b is 0 only where said below. The
adversary sees the multiset of the messages. Then

.. math:: \delta(\varepsilon) = \frac1n\, E\Bigl[\Bigl(\sum_{i \le n} w(Y_i)\Bigr)_+\Bigr]
          + \sum_{b(y) = 0} \bigl(R_1(y) - e^\varepsilon R_2(y)\bigr)_+, \qquad
          w(y) = \frac{R_1(y) - e^\varepsilon R_2(y)}{b(y)}, \quad w(\text{nothing}) = 0,

with :math:`Y_i` independent of law b. Proof: given that c of the others send something, the multiset
:math:`\{y_0, \dots, y_c\}` has density :math:`\frac{1}{c+1} \sum_j R(y_j)/\bar b(y_j)` with respect to c + 1 draws of
the normalized :math:`\bar b`. And :math:`P[\mathrm{Bin}(n-1, \beta) = c]/(c+1) = P[\mathrm{Bin}(n, \beta) = c+1]/(n\beta)`.
A message where b = 0 is the user's own and is seen at once. Source: Balle, Bell, Gascon, Nissim 2019, lemma 5.3.

Three uses: b the common law of all others (exact: a data set); b below the law of every input (an upper bound, because
the rest of the others' messages is given away: the *blanket*); and b = e**-epsilon0 / 2 on two answers (the *clones*).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import flint
import numpy as np

from ldpaudit.accountants.numerics.balls import Probability, as_ball, ball, between, floor
from ldpaudit.accountants.numerics.binomial import binomial_lower, binomial_pmf, binomial_upper
from ldpaudit.accountants.numerics.float_laws import Law
from ldpaudit.accountants.numerics.positive_part import INVISIBLE, Contour, PointMass, positive_part, rarely
from ldpaudit.accountants.numerics.rationals import fraction, rational
from ldpaudit.accountants.numerics.saddle import Tilt
from ldpaudit.accountants.numerics.shifted_sum import ShiftedSum
from ldpaudit.core.cached import cached
from ldpaudit.core.working_precision import working_precision

Cell: TypeAlias = tuple[Probability, Probability, Probability]
"""(R1(y), R2(y), b(y)), summed over messages y of equal ratios R1/b and R2/b."""

Kind: TypeAlias = tuple[flint.fmpq, flint.fmpq, flint.fmpq]
"""Messages of equal ratios of user 1's two laws to another user's: these, and the probability under the latter."""

FloatEstimate: TypeAlias = Callable[[float], float]
"""Epsilon to about the logarithm of delta; -inf where that is 0, and inf where floats do not suffice."""

_ESTIMATE_BITS = 128
"""Precision at which differences of probabilities are taken before they become floats: equal ones cancel to 53 bits and more."""
_NO_SILENCE = 1e-12
"""Below this the probability that another user sends nothing is rounding; it moves delta by n times as much at most."""
PRECISION = 160
"""Bits, and two more for each bit of n: powers to the n lose one."""
Answer = tuple[flint.arb, flint.arb]
"""(gain g, density b of the others)."""

_FEW_STEPS, _MOST_STEPS = 4_000, 120_000
"""Steps of some microseconds each. Up to the first number the walk is faster than the contour, and is taken; beyond the second
it would take most of a second, and the contour's value is returned however wide."""
_MARKOV_LOSS = 10.0
_MANY_KINDS, _MANY_USERS, _ALIKE = 3, 100, 1e-9
"""Kinds of messages and users from which on what one sum tells is kept, and how far apart two laws may be that are one in balls."""
_ACCURATE = 80
"""Bits; a tail that subtractions have left with fewer is computed anew."""


@dataclass(frozen=True)
class Blanket:
    """User 1's message among the other users' messages, which are known in part: their blanket."""

    cells: tuple[Cell, ...]  # kinds of messages; both laws sum to 1, and b to at most 1

    def __hash__(self) -> int:
        return self._hash

    @cached
    def _hash(self) -> int:
        """Made once: bundles are looked up by all of their runs, and fractions take long."""
        return hash(self.cells)

    @classmethod
    def of(cls, cells: Iterable[tuple[Fraction, Fraction, Fraction]]) -> Blanket:
        """Merge cells of equal likelihood ratios, in a canonical order."""
        merged: dict[object, tuple[Fraction, Fraction, Fraction]] = defaultdict(lambda: (Fraction(0),) * 3)
        for r1, r2, b in cells:
            if r1 or r2 or b:
                key = (r1 / b, r2 / b) if b else (None if r2 == 0 else r1 / r2,)
                a1, a2, c = merged[key]
                merged[key] = a1 + r1, a2 + r2, c + b
        return cls(tuple(sorted(merged.values())))

    @classmethod
    def of_kinds(cls, kinds: Iterable[Kind]) -> Blanket:
        """Of kinds of messages."""
        return cls.of((fraction(u * b), fraction(v * b), fraction(b)) for u, v, b in kinds)

    @property
    def is_symmetric(self) -> bool:
        """Whether the two laws may be exchanged."""
        return Counter((r2, r1, b) for r1, r2, b in self.cells) == Counter(self.cells)

    @property
    def turned(self) -> Blanket:
        """The same for user 1's two laws in the other order."""
        return Blanket(tuple((r2, r1, b) for r1, r2, b in self.cells))

    def terms(self, exp_epsilon: flint.arb) -> Law:
        """The law of :math:`(R_1(Y) - e^\\varepsilon R_2(Y))/b(Y)` for Y from b, where that is a law: see `replaced`."""
        kept = [(as_ball(r1) - exp_epsilon * as_ball(r2), as_ball(b)) for r1, r2, b in self.cells if not b == 0]
        return Law.of([(gain / b, b) for gain, b in kept])

    def drawn(self, rate: Fraction) -> Blanket:
        """Of user 1 who, but for this probability, sends what another user does, who is never silent."""
        if all(not isinstance(each, flint.arb) for cell in self.cells for each in cell):
            exact = ((Fraction(each) for each in cell) for cell in self.cells)  # type: ignore[arg-type]
            return Blanket.of((rate * r1 + (1 - rate) * b, rate * r2 + (1 - rate) * b, b) for r1, r2, b in exact)
        q, rest = ball(rate), ball(1 - rate)
        balls = (tuple(map(as_ball, cell)) for cell in self.cells)
        return Blanket(tuple((q * r1 + rest * b, q * r2 + rest * b, b) for r1, r2, b in balls))

    def part(self, rate: Fraction) -> Blanket:
        """Of users who send with this probability, each; who does not is seen, but not who it is."""
        q, rest = ball(rate), ball(1 - rate)
        if all(not isinstance(each, flint.arb) for cell in self.cells for each in cell):
            exact = (tuple(rate * Fraction(each) for each in cell) for cell in self.cells)  # type: ignore[arg-type]
            return Blanket.of([*exact, (1 - rate,) * 3])  # type: ignore[list-item]
        r1, r2, b = ([q * as_ball(each) for each in column] for column in zip(*self.cells, strict=True))
        return Blanket((*zip(r1, r2, b, strict=True), (rest, rest, rest)))

    def delta(self, exp_epsilon: flint.arb, users: int, tolerance: float) -> flint.arb:
        """The hockey-stick divergence of user 1's message among those of ``users - 1`` others, at `precision(users)` bits."""
        seen = self._seen(exp_epsilon)
        hidden = [(as_ball(r1) - exp_epsilon * as_ball(r2), as_ball(b)) for r1, r2, b in self.cells if not b == 0]
        if users == 1:
            return sum((gain.max(flint.arb(0)) for gain, _ in hidden), seen)
        return seen + _among(hidden, self.silence, users, tolerance)

    def _seen(self, exp_epsilon: flint.arb) -> flint.arb:
        """What messages tell that no other user sends."""
        gains = (as_ball(r1) - exp_epsilon * as_ball(r2) for r1, r2, b in self.cells if b == 0)
        return sum((gain.max(flint.arb(0)) for gain in gains), flint.arb(0))

    def alike(self, users: int) -> Callable[[flint.arb, float], flint.arb | None] | None:
        r"""`delta` where all others hold what user 1 holds first, or then; None where they do not, or where it is quick anyway.

        With g for the one law over the other, the sum is of values :math:`1 - e^\varepsilon g`, or :math:`g - e^\varepsilon`: those
        of one law, to which one number is added. None, too, at an epsilon where that sum is not well known.
        """
        kinds = [(as_ball(r1) / as_ball(b), as_ball(r2) / as_ball(b), as_ball(b)) for r1, r2, b in self.cells if not b == 0]
        if len(kinds) < _MANY_KINDS or users < _MANY_USERS or self.silence != 0:
            return None
        off = [sum((abs(each[i] - 1).upper() for each in kinds), flint.arb(0)) for i in (0, 1)]
        if not min(off) < _ALIKE:
            return None
        is_first, one = off[0] < off[1], flint.arb(1, min(off))
        gains = ((1 - g if is_first else u - 1, b) for u, g, b in kinds)
        total = ShiftedSum(tuple(gains), users)

        def delta(exp_epsilon: flint.arb, tolerance: float) -> flint.arb | None:
            scale, added = (exp_epsilon, one / exp_epsilon - 1) if is_first else (1, 1 - one * exp_epsilon)
            found = total.positive_part(users * added, tolerance)
            return None if found is None else self._seen(exp_epsilon) + scale * found / users

        return delta

    @property
    def silence(self) -> Probability:
        """How likely another user sends nothing; exactly 0 where that is so."""
        if self._silence is not None:
            return self._silence
        return 1 - sum((as_ball(b) for _, _, b in self.cells), flint.arb(0))

    @cached
    def _silence(self) -> Fraction | None:
        """The same, where it is known exactly."""
        exact = [b for _, _, b in self.cells if not isinstance(b, flint.arb)]
        return fraction(1 - sum(map(rational, exact), flint.fmpq(0))) if len(exact) == len(self.cells) else None


@lru_cache(maxsize=4096)
def product_kinds(parts: tuple[Blanket, ...], most: int) -> tuple[Kind, ...]:
    """Messages of independent parts, whose laws are rational and the other user's above 0; none of more than `most` kinds."""
    if not parts:
        return ((flint.fmpq(1),) * 3,)
    found: dict[tuple[flint.fmpz, ...], Kind] = {}
    symbols = [(r1 / b, r2 / b, b) for r1, r2, b in (tuple(map(rational, cell)) for cell in parts[-1].cells)]  # type: ignore[arg-type]
    for u, v, b in product_kinds(parts[:-1], most):
        for u2, v2, b2 in symbols:
            first, second = u * u2, v * v2
            key = first.p, first.q, second.p, second.q  # whose hashes take a tenth of the time of fractions'
            more = found.get(key)
            found[key] = first, second, b * b2 if more is None else more[2] + b * b2
    return tuple(found.values()) if len(found) <= most else ()


def precision(users: int) -> int:
    """Bits to work with."""
    return PRECISION + 2 * users.bit_length()


def _among(hidden: list[tuple[flint.arb, flint.arb]], silence: Probability, users: int, tolerance: float) -> flint.arb:
    if all(gain <= 0 for gain, _ in hidden):
        return flint.arb(0)
    gains = any(gain > 0 for gain, _ in hidden)
    if gains and len(hidden) == 2 and min(hidden, key=lambda c: float(c[0]))[0] < 0:
        high, low = sorted(hidden, key=lambda c: -float(c[0]))
        return two_answers(high, low, silence, users, tolerance)
    atoms = [(gain / b, b) for gain, b in hidden]
    found = positive_part([*atoms, (flint.arb(0), as_ball(silence))], users, tolerance) / users
    if gains:
        return found
    # No gain is known to be above 0: two inputs have one law, and epsilon is 0. Hidden or not, all gains together are no less.
    alone = sum((gain.max(flint.arb(0)).upper() for gain, _ in hidden), flint.arb(0))
    return between(0, alone.min(found.abs_upper()) if found.is_finite() else alone)


def float_estimate(blanket: Blanket, users: int) -> FloatEstimate:
    """Of `Blanket.delta`, for two users at least; it guides the search only, and no result rests on it."""
    with working_precision(_ESTIMATE_BITS):
        cells = [(as_ball(r1), as_ball(r2), as_ball(b)) for r1, r2, b in blanket.cells]
        rows = [(float(r1 - r2), float(r2), float(b)) for r1, r2, b in cells]
        logs = np.array([float(b.log()) for _, _, b in cells if not b == 0])
    differences, seconds, shares = np.array(rows).T
    hidden = shares > 0
    if hidden.sum() < len(logs):
        return lambda epsilon: math.inf  # a density is below every float
    silence = max(0.0, 1 - float(shares.sum()))
    if silence > _NO_SILENCE:
        logs = np.append(logs, math.log(silence))

    def estimated(epsilon: float) -> float:
        gains = differences - math.expm1(epsilon) * seconds
        seen = float(gains[~hidden].clip(0).sum())
        values = gains[hidden] / shares[hidden]
        values = np.append(values, 0.0) if len(logs) > len(values) else values
        return float(np.logaddexp(math.log(seen) if seen else -math.inf, _log_among(values, logs, users)))

    def at(epsilon: float) -> float:
        try:
            with np.errstate(over="raise", invalid="raise"):
                return estimated(epsilon)
        except (ArithmeticError, ValueError):  # of numpy, and of math
            return math.inf

    return at


def _log_among(values: np.ndarray, logs: np.ndarray, users: int) -> float:
    if values.max() <= 0:
        return -math.inf
    if values.min() >= 0:
        return math.log(float(values @ np.exp(logs)))
    unit = float(np.abs(values).max())
    return Tilt(values / unit, logs, users).level() + math.log(unit / users)


def largest(estimates: Sequence[FloatEstimate], apart: float = math.inf) -> FloatEstimate:
    """Of the largest of several deltas; in one search those are left out that were below it by more nats on the way."""
    left = list(estimates)

    def at(epsilon: float) -> float:
        levels = [each(epsilon) for each in left]
        top = max(levels)
        if epsilon > 0:
            left[:] = [each for each, level in zip(left, levels, strict=True) if not level < top - apart]
        return top

    return at


def two_answers(high: Answer, low: Answer, silence: Probability, users: int, tolerance: float) -> flint.arb:
    r"""The blanket divergence where only two answers matter, summed over how many others answer: exact to the last digits.

    With C of the n - 1 others answering, A of them with the first of the two answers,

    .. math:: \delta = \sum_c P[C = c]\, D_c, \qquad D_c = \max_x \; g_1\, P[A \ge x - 1 \mid c] + g_2\, P[A \ge x \mid c]

    where :math:`g_i = R_1(i) - e^\varepsilon R_2(i)`, :math:`g_1 > 0 > g_2`. The likelihood ratio rises with the number of
    first answers, and reaches :math:`e^\varepsilon` where that number among the c + 1 passes :math:`(c+1)\theta`,
    :math:`\theta = -w_2/(w_1 - w_2)`, :math:`w_i = g_i/b_i`. So the best x is :math:`\lfloor (c+1)\theta \rfloor + 1`, it
    moves by at most one when c does, and one step in c or x updates a binomial term and a tail in O(1). D_c does not
    increase with c, since an adversary who sees one answer fewer can add one: that bounds what lies outside the window.
    The silence is exactly 0 where all others answer.
    """
    walk = _Walk(high, low)
    if silence == 0:
        return walk.start(users - 1)
    atoms: list[PointMass] = [(high[0] / high[1], high[1]), (low[0] / low[1], low[1]), (flint.arb(0), as_ball(silence))]
    if (found := rarely(atoms, users, tolerance)) is not None:
        return found / users
    contour = Contour.of(atoms, users)
    ceiling = contour.ceiling() / users
    if ceiling < INVISIBLE:
        return between(0, ceiling)
    rate = 1 - as_ball(silence)
    mean = users * float(rate)
    # Markov's bound is a few digits too large; that much the window is too narrow otherwise.
    first = _first(users - 1, float(rate), _MARKOV_LOSS - float(ceiling.log()) - math.log(tolerance))
    steps = mean - first + 8 * math.sqrt(mean)
    if steps > _FEW_STEPS:
        found = contour.value(tolerance) / users
        if steps > _MOST_STEPS or (found > 0 and found.rad() <= found.mid() * tolerance / 2):
            return found
    return walk.sum(users - 1, rate, first, tolerance)


def _first(others: int, rate: float, nats: float) -> int:
    """Where to start: by Chernoff's bound less than e**-nats lies below. In floats: an error costs width or time only."""
    low, high = 0, int(others * rate) if rate < 1 else 0
    while low < high:
        c = (low + high + 1) // 2
        x = c / others
        far = others * (x * math.log(x / rate) + (1 - x) * (math.log1p(-x) - math.log1p(-rate))) > nats
        low, high = (c, high) if far else (low, c - 1)
    return low


class _Walk:
    """D_c for one c after the other."""

    def __init__(self, high: Answer, low: Answer) -> None:
        self.gains = high[0], low[0]
        self.p = high[1] / (high[1] + low[1])
        self.q = 1 - self.p
        self.odds = self.p / self.q
        w1, w2 = high[0] / high[1], low[0] / low[1]
        self.theta = -w2 / (w1 - w2)

    def start(self, c: int) -> flint.arb:
        """D_c, from scratch."""
        self.c, self.edge = c, self.theta * (c + 1)
        self.x = floor(self.edge) + 1
        self.pmf = binomial_pmf(c, self.p, self.x - 1)
        self.tail = binomial_upper(c, self.p, self.x)
        return self._value()

    def _value(self) -> flint.arb:
        g1, g2 = self.gains
        value = g1 * (self.pmf + self.tail) + g2 * self.tail
        if self.edge < self.x:
            return value
        # Which side of the cutoff an integer lies on is open; D_c is the larger of the two events' values.
        below = self.pmf * (self.c - self.x + 1) / self.x * self.p / self.q if self.x else flint.arb(0)
        return value.max(g1 * self.tail + g2 * (self.tail - below))

    def step(self) -> flint.arb:
        """D_(c+1)."""
        self.tail += self.p * self.pmf
        self.pmf *= self.q * (self.c + 1) / (self.c + 2 - self.x)
        self.c += 1
        self.edge = self.theta * (self.c + 1)
        if not self.edge < self.x and floor(self.edge) >= self.x:
            self.pmf *= self.odds * (self.c - self.x + 1) / self.x
            self.tail -= self.pmf
            self.x += 1
        return self._value() if self.tail.rel_accuracy_bits() >= _ACCURATE else self.start(self.c)

    def sum(self, others: int, rate: flint.arb, first: int, tolerance: float) -> flint.arb:
        """The sum over c from `first` until the rest is within the tolerance, and enclosures of what is left out."""
        odds = rate / (1 - rate)
        weight = binomial_pmf(others, rate, first)
        divergence = self.start(first)
        # Alone, user 1 is seen: D_0 is the gain.
        total = weight * divergence + between(0, self.gains[0] * binomial_lower(others, rate, first - 1))
        while self.c < others:
            ratio = odds * (others - self.c) / (self.c + 1)
            weight *= ratio
            divergence = self.step()
            total += weight * divergence
            if self.c % 16 == 0 and ratio < 1:
                rest = weight * divergence * ratio / (1 - ratio)
                if rest < total * tolerance / 4:
                    return total + between(0, rest)
        return total
