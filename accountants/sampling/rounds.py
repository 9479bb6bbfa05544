r"""Several rounds of sampling and a threshold: the trie of prefixes, one user more.

The new user votes as long as the user's prefix has been released; from the first round where it has not been, the user no
longer votes. So a rare prefix reveals the user once: only its release lets the user go on. Round by round, backwards, for
the likelihood ratio c that remains,

.. math:: V_\ell(c) = \max_w \sum_{j \ge \theta} P'_j\, V_{\ell-1}\!\Bigl(c \frac{P_j}{P'_j}\Bigr) + (\text{not released})

where the votes j for the prefix are shown, if it is released: that can only make V larger. If it is not released, the
likelihood ratio lies between 1 - q and :math:`1 - q + q/\rho_0`, except with probability :math:`q\,P[\rho < \rho_0]` (see
`other_prefixes`), and its mean is at most 1: an independent X on these two points, with mean 1, dominates it. A profile is
held at the points :math:`e^{ih}`; as it is convex in c, chords between points dominate it, so that a round is a sum of few
atoms. The maximum over w is taken in two classes, so that rare prefixes in several rounds are not added up:
*rare*, released at most with the probability of :math:`w_0 - 1`, and *common*. All terms of a round are positive floats, so that
their relative error is that of the additions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.sampling.other_prefixes import tail, tail_estimate, verge
from ldpaudit.accountants.sampling.thresholded import FixedBatch, Sampling, revealed, single_prefix, worst_holders
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import round_up
from ldpaudit.neighbours import Neighbours

PRECISION = 72
"""Bits for the masses of chords, 19 more than a float: differences of neighbouring values cancel by some bits."""
ROUNDING = 1e-12
"""Largest relative error of `Grid.apply`: it adds fewer than 1000 terms, none negative, at 2**-53 each."""
UNDERFLOW = 1e-316
"""Largest absolute error of `Grid.apply`, where fewer than 1000 products round to multiples of 5e-324."""

Row: TypeAlias = NDArray[np.float64]
"""Values at the points of a `Grid`."""
_STEPS = 256
"""Grid points up to the epsilon that is asked for. Measured on four settings of 10^4 to 10^8 users and 3 or 10 rounds:
four times as many lower delta by 11 % for a batch of 100 among 10^4 and a threshold of 10, by less than 1e-6 elsewhere."""
_BEYOND = 2048
"""Most grid points beyond it, which later rounds ask for; delta at the last bounds delta at every larger epsilon."""
_SPREAD = 1.4
"""Ratio of the distances of the points at which a round's profile is computed; chords, which dominate it, join them.
With 1.1 delta is lower by 17 % in the first of the four settings, by less than 1e-5 elsewhere."""
_MOST_TERMS = 100
"""Rounds that the choice of rho_0 looks at."""
_RHOS = (*(x / 50 for x in range(1, 50)), 0.01, 0.005, 0.002, 0.001)
"""The rho_0 that are tried; any is valid. The estimate by which one is chosen is rough: on the same four settings ten times as
many made the bound 0.7 to 12,000 times as large."""
_MOST_ROUNDS = 1 << 10
"""Rounds that are composed one by one, in half a second; of more, delta is bounded by 1 here where it still grows."""
_PART_ROUNDING = 1e-14
"""Relative error, at most, of a part of a step that is computed in floats: two expm1, a quotient, a product."""
_MEANS = (0.25, 0.5, 0.65, 0.75, 0.82, 0.9, 0.98, 1.07, 1.16, 1.3, 1.5, 2.0, 3.0, 4.0)
"""Expected votes for the prefixes before the last, as multiples of the threshold, that the lower bound tries."""


@dataclass(frozen=True, slots=True)
class Chords:
    """A profile that lies above another one, by its slopes: the masses of a pair with finitely many losses."""

    atoms: tuple[tuple[int, float], ...]  # losses in steps of the grid, and their masses
    infinite: float  # infinite-loss mass

    @classmethod
    def above(cls, points: Sequence[tuple[int, float]], total: float, step: Fraction) -> Chords:
        """The law whose profile is the chords through the points, by increasing index, and through (c = 0, `total`)."""
        with working_precision(PRECISION):
            nodes = [(i, (ball(step) * i).exp(), value) for i, value in points]
            atoms: list[tuple[int, float, flint.arb]] = []
            infinite = nodes[-1][2]
            for (_, c, value), (i, there, _) in zip(reversed(nodes[:-1]), reversed(nodes[1:]), strict=True):
                have = infinite + sum((mass * (1 - c / at) for _, mass, at in atoms), flint.arb(0))
                atoms.append((i, max(0.0, round_up((value - have) / (1 - c / there))), there))
            rest = total - sum((flint.arb(mass) for _, mass, _ in atoms), flint.arb(infinite))
            found = [(i, mass) for i, mass, _ in atoms if mass]
            return cls((*found, (nodes[0][0], max(0.0, round_up(rest)))), infinite)


@dataclass(frozen=True, slots=True)
class Grid:
    """Values at ``exp(i step)`` for ``first <= i <= last``, decreasing, of functions that are at most 1."""

    step: Fraction
    first: int
    last: int

    def start(self) -> Row:
        """max(0, 1 - c), rounded up."""
        losses = np.arange(self.first, self.last + 1) * float(self.step)
        # Above 0 the value is 0, however large the loss.
        return np.asarray((0.0 - np.expm1(np.minimum(losses, 0.0))) * (1 + 1e-14))

    def apply(self, kernel: Chords, values: Row) -> Row:
        """The profile with one more round in front; at most `ROUNDING` and `UNDERFLOW` too small."""
        out = np.full_like(values, kernel.infinite)
        for i, mass in kernel.atoms:
            if i >= 0:
                out[i:] += mass * values[: max(0, len(values) - i)]
                out[:i] += mass
            else:
                out[:i] += mass * values[-i:]
                out[i:] += mass * values[-1]
        return np.asarray(np.minimum(1.0, out))


def rounds_event(
    sampling: Sampling, threshold: int, rounds: int, c: flint.arb, neighbours: Neighbours
) -> tuple[flint.arb, flint.arb, tuple[int, ...]]:
    r"""The largest :math:`\prod_{i \le l} g'(w_i) - c \prod_{i \le l} g(w_i)` found among nested data sets: the products, and w.

    These are the probabilities, with the new user and without, that the user's prefix of length l is released; all other users hold
    values of their own. So the difference is a lower bound of delta.
    """

    def value(helpers: int, w: int) -> tuple[flint.arb, flint.arb, tuple[int, ...]]:
        more, fewer = sampling.release(w, threshold, neighbours) if helpers else (flint.arb(1), flint.arb(1))
        lead, back = more**helpers, fewer**helpers
        rare = worst_holders(sampling, threshold, (c * back / lead).mid())[0]
        last, before = sampling.release(rare, threshold, neighbours)
        return lead * last, back * before, tuple(sorted((*([w] * helpers), rare), reverse=True))

    found = [value(0, sampling.users)]
    if rounds > 1:
        common = {min(sampling.users, max(threshold, round(x * threshold / sampling.rate))) for x in _MEANS}
        found += [value(helpers, w) for helpers in {1, rounds // 2, rounds - 1} for w in sorted(common)]
    return max(found, key=lambda each: float((each[0] - c * each[1]).mid()))


@dataclass(frozen=True, slots=True)
class Curve:
    """Upper bounds of delta(epsilon) on a grid of epsilons; their chord between two, as delta is convex in e**epsilon.
    """

    grid: Grid  # the epsilons
    values: Row  # upper bounds there, up to the errors below
    relative: float  # errors of the values
    absolute: float

    def at(self, epsilon: Fraction) -> float:
        """Upper bound of delta at an epsilon, at least 0; at most 1."""
        step = self.grid.step
        index = math.floor(epsilon / step)
        i = index - self.grid.first
        if i + 1 >= len(self.values):
            value = float(self.values[-1])
        else:
            # Rounded down, so that the chord's value is not below the chord.
            part = math.expm1(epsilon - index * step) / math.expm1(step) * (1 - _PART_ROUNDING)
            value = float(self.values[i]) - part * float(self.values[i] - self.values[i + 1]) * (1 - _PART_ROUNDING)
        return min(1.0, value * (1 + self.relative) + self.absolute)


@lru_cache(maxsize=32)
def rounds_high(sampling: Sampling, threshold: int, rounds: int, epsilon: Fraction, words: int, low: float) -> Curve:
    """Upper bounds of delta, at most 1, when a user is added, tightest at one epsilon; `low`, an estimate, guides choices only."""
    with working_precision(PRECISION):
        silence = -ball(1 - sampling.rate).log()
        width = max(epsilon, Fraction(round_up(silence)))
        step = Fraction(width) / _STEPS
        goal = math.floor(epsilon / step)
        down = math.ceil(Fraction(round_up(silence)) / step)
        c = (ball(step) * goal).exp()
        noise = _noise(sampling, threshold, rounds, c, low)
        rare = 0 if words > 1 else _rarest_common(sampling, threshold, rounds, c)
        beyond = min(_BEYOND, 2 * down * rounds + 8)
        nodes = [(i, (ball(step) * i).exp() if i else flint.arb(1)) for i in _nodes(goal, goal + beyond)]
        lowest = (-down, round_up(1 - (ball(step) * -down).exp()))
        common = Chords.above([lowest, *_common(sampling, threshold, rare, noise, nodes)], 1.0, step)
        others = Chords.above([lowest, (0, round_up(noise.variation)), (noise.edge(step), 0.0)], 1.0, step)
        seldom = None
        if rare > 0:  # of the release of a prefix in one round, over all w < rare
            points = [(i, round_up(_below(sampling, threshold, c, rare - 1))) for i, c in nodes]
            seldom = Chords.above(points, round_up(sampling.release(rare - 1, threshold)[0]), step)
    # Low enough that no atom leads from an index of interest below the grid, where 1 stands for 1 - c.
    first = -(goal + beyond)
    grid = Grid(step, first, goal + beyond)
    values = silent = grid.start()
    for _ in range(min(rounds, _MOST_ROUNDS)):
        before, still = values, silent
        best = grid.apply(common, values)
        if seldom is not None:
            best = np.maximum(best, grid.apply(others, grid.apply(seldom, values) + silent))
        values = np.minimum(1.0, best + noise.infinite)
        silent = np.minimum(1.0, grid.apply(others, silent) + noise.infinite)
        if np.array_equal(values, before) and np.array_equal(silent, still):
            break  # every further round changes nothing
    else:
        values = values if rounds <= _MOST_ROUNDS else np.ones_like(values)
    return Curve(grid, values, 2 * rounds * ROUNDING, 2 * rounds * UNDERFLOW)


@dataclass(frozen=True, slots=True)
class Noise:
    """What other prefixes reveal in one round: X takes two values, with mean 1 under P."""

    least: flint.arb  # the likelihood ratios
    most: flint.arb
    chance: flint.arb  # P[X = most]
    infinite: float  # upper bound of the infinite-loss mass

    @property
    def variation(self) -> flint.arb:
        """E[(X - 1)_+]."""
        return self.chance * (self.most - 1)

    def edge(self, step: Fraction) -> int:
        """The first grid point from `most` on; at least 1."""
        return max(1, math.ceil(Fraction(round_up(self.most.log())) / step))


def _noise(sampling: Sampling, threshold: int, rounds: int, c: flint.arb, low: float) -> Noise:
    if not isinstance(sampling, FixedBatch):
        return Noise(flint.arb(1), flint.arb(1), flint.arb(0), 0.0)
    rho = flint.arb(_best_rho(sampling, threshold, rounds, c, low))
    q = ball(sampling.rate)
    # (1 - q)(1 - rho) + (1 - q + q / rho) rho = 1
    return Noise(1 - q, 1 - q + q / rho, rho, round_up(q * tail(verge(sampling, threshold), 1 - float(rho))))


def _best_rho(sampling: FixedBatch, threshold: int, rounds: int, c: flint.arb, low: float) -> float:
    """A rho_0 that balances the infinite-loss mass against the variance of X; any is valid."""
    q, times = float(sampling.rate), min(rounds, _MOST_TERMS)
    more, fewer = sampling.release(worst_holders(sampling, threshold, c.mid())[0], threshold)
    # Near c, delta is about low * c**-slope.
    slope, at = float((c * fewer / (more - c * fewer)).mid()) + 1, float(c)
    log_low = math.log(max(low, UNDERFLOW))

    def cost(rho: float) -> float:
        total = rounds * q * math.exp(tail_estimate(verge(sampling, threshold), 1 - rho))
        for k in range(times + 1):
            ratio = (1 - q + q / rho) ** k * (1 - q) ** (times - k)
            revealed_at = max(math.exp(min(0.0, log_low + slope * math.log(ratio))), 1 - at / ratio)
            total += math.comb(times, k) * rho**k * (1 - rho) ** (times - k) * ratio * revealed_at
        return total

    return min(_RHOS, key=cost)


def _rarest_common(sampling: Sampling, threshold: int, rounds: int, c: flint.arb) -> int:
    """A w below which a prefix counts as rare: rare ones are seldom released, common ones reveal little; any w is valid."""
    n, mean = sampling.users, min(sampling.users, math.ceil(threshold / sampling.rate))
    peak = worst_holders(sampling, threshold, c.mid())[0]
    start = min(n, peak + 1)
    ratio: float = max(mean / start, 4.0) ** 0.125

    def cost(w: int) -> float:
        with working_precision(53):
            passes = float(sampling.release(w - 1, threshold)[0].mid())
            common = float(revealed(sampling, threshold, c.mid(), w).mid())
            most = float(single_prefix(sampling, threshold, c.mid())[0].mid())
        return (1 + (rounds - 1) * passes) * (1 + (rounds - 1) * common / most) if most > 0 else math.inf

    candidates = {min(n, max(1, round(start * ratio**i))) for i in range(1, 9)}
    return min(candidates, key=cost)


def _common(
    sampling: Sampling, threshold: int, least: int, noise: Noise, nodes: list[tuple[int, flint.arb]]
) -> list[tuple[int, float]]:
    r"""Profile of a round at c >= 1 over all ``w >= least``, with X: of the release of the prefix, and of its absence.

    .. math:: \max_w E_X\bigl[X a_w(c/X)\bigr] + (1 - g(w))\,E_X\bigl[(X - c)_+\bigr]

    with :math:`a_w` the profile of what is released; for an X above c, :math:`a_w(c/X) \le a_w(1) + g(w)(1 - c/X)`.
    """

    def released(c: flint.arb) -> flint.arb:
        return revealed(sampling, threshold, c, least)

    if noise.chance == 0:
        return [(i, round_up(released(c))) for i, c in nodes]
    at_one, points = released(flint.arb(1)), []
    for i, c in nodes:
        value = (1 - noise.chance) * noise.least * released(c / noise.least)
        if c > noise.most:
            value += noise.chance * noise.most * released(c / noise.most)
        else:
            value += noise.chance * (noise.most * at_one + (noise.most - c).max(flint.arb(0)))
        points.append((i, round_up(value)))
    return points


def _below(sampling: Sampling, threshold: int, c: flint.arb, most: int) -> flint.arb:
    """The largest hockey-stick divergence of a release over ``w <= most``; it rises up to the worst w."""
    low, high = worst_holders(sampling, threshold, c)
    if low < most:
        best = single_prefix(sampling, threshold, c)[0]
        if high <= most:
            return best.max(flint.arb(0))
    else:
        best = flint.arb(0)
    more, fewer = sampling.release(most, threshold)
    return best.max(more - c * fewer)


def _nodes(goal: int, last: int) -> list[int]:
    """Indices at which profiles are computed: dense next to 0 and next to the goal."""
    offsets = sorted({0, 1, *(round(_SPREAD**i) for i in range(64))})
    chosen = {i for i in offsets if i <= goal} | {goal - i for i in offsets if i <= goal}
    return sorted(chosen | {goal + i for i in offsets if goal + i <= last} | {last})
