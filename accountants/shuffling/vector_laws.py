r"""The laws of W for overlaps of vectors plus Laplace noise: see `laplace_vectors`, which says what is used here and why."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import prod
from typing import TypeAlias

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.float_laws import Law
from ldpaudit.accountants.numerics.quotient_laws import QuotientLaws
from ldpaudit.accountants.numerics.spread import Floats, alike, raised, spread
from ldpaudit.accountants.shuffling.laplace_noise import Balls, grid_weights, reports
from ldpaudit.accountants.shuffling.unnamed_pairs import Mixed
from ldpaudit.core.cached import cached
from ldpaudit.enclosure import round_down

Overlap: TypeAlias = tuple[int, ...]
"""In how many coordinates another user's vector alone differs from user 1's two, by s; the first of these does; and the second.

Where there are three numbers, in how many each of them does by 2s; and how often e**-s, and e**(-s**2/2), are factors of the
probability that another user sends anything.
"""
Factor: TypeAlias = list[tuple[int, flint.arb, flint.arb]]
"""A product of ratios: about its logarithm, in steps; probabilities under one law, and under the other."""

_NONE = flint.arb(0)
_TOLD, _LONGEST = (8, 48), 4000  # intervals where grid points are told; and of all coordinates together, beyond the least number
_SEEN = 60, 240  # values of A, B and C in a data set, where curves are composed or the users few, and else
_LARGEST, _RAREST, _ROOM, _WRONG = 1e60, 1e-70, 1e-14, 2e-12
"""Values and probabilities of A, B and C up to which their products are floats; and bounds of what products and differences of
values are wrong by, relative to their sizes, and of what sums of probabilities are."""
_OF_TWO, _FEWEST, _PER_NAT = 343, 4, 2
"""Kinds of reports where two users have no names; and of each ratio, as many at least, and more for each nat of its logarithm."""
_SLIGHT = 1e-4  # distance s up to which the mean square of a ratio is about its square
FAR = 100.0  # nats of a mean square from which on it is not looked at any further
_FEW_KINDS, _KINDS = (24, 80), (12, 20)
"""Kinds of reports in a data set up to which all are kept, where the users are few or curves are composed, and else; beyond, of how
many a standard deviation of w consists."""


@dataclass(frozen=True, eq=False)
class VectorType:
    """A type of `replaced`, whose W is spread in floats: what they round is added to the values, and to the larger ones' masses."""

    factors: tuple[tuple[Floats, Floats], ...]  # values of A, B and C, and their probabilities
    sent: flint.arb  # probability that another user sends anything that hides
    knots: tuple[int, int]  # values to which W is spread, at first and where it matters
    rate: Fraction = Fraction(1)  # at which user 1 is drawn, and not another user in its place
    present: Fraction = Fraction(1)  # probability with which each user sends

    def drawn(self, rate: Fraction) -> VectorType:
        """See `Blanket.drawn`."""
        return replace(self, rate=self.rate * rate)

    def part(self, rate: Fraction) -> VectorType:
        """See `Blanket.part`."""
        return replace(self, present=self.present * rate)

    def terms(self, exp_epsilon: flint.arb) -> Law:
        """See `replaced.Type`."""
        e = min(round_down(exp_epsilon), _LARGEST)  # W falls with it
        return Law(*self._spread(e, 0), closer=cache(lambda: Law(*self._spread(e, 1))))

    @cached
    def _factors(self) -> list[list[tuple[Floats, Floats]]]:
        return [[spread(*each, knots) for each in self.factors] for knots in self.knots]

    def _spread(self, e: float, fine: int) -> tuple[Floats, Floats]:
        """Values and probabilities, of which the likeliest is what is left of 1, of a law that is at least W's."""
        ((a, p), (b, q), (c, r)), knots = self._factors[fine], self.knots[fine]
        b, c = b[:, None], e * c[None, :]
        d, q = spread(b - c + _ROOM * (b + c), q[:, None] * r, knots)
        w, p = spread(a[:, None] * d, p[:, None] * q, knots)
        sent, missing = float(self.sent), float(1 - self.sent)
        w, p = np.append(w / sent, 0.0), np.append(sent * p, missing)
        rate, present = float(self.rate), float(self.present)
        w, p = np.append(rate * w + (1 - rate) * (1 - e), 1 - e), np.append(present * p, float(1 - self.present))
        w, p = (w + _ROOM * (np.abs(w) + abs(1 - e)))[p > 0], p[p > 0]
        return w, raised(w, p, _WRONG)


@dataclass
class Products:
    """Laws of products of ratios, at the current precision."""

    step: Fraction
    intervals: tuple[int, int]  # of a coordinate: at least, and at most
    is_told: bool  # whether grid points are told, or only the interval that a coordinate lies in
    cells: int  # kinds of reports that may be made
    most: int  # and of any of them

    def __post_init__(self) -> None:
        self._factor = cache(self._computed)

    def kinds(self, overlap: Overlap) -> tuple[Balls, ...]:
        """Probabilities under user 1's two laws and another user's, of this overlap of three numbers."""
        found: dict[tuple[int, int], list[flint.arb]] = defaultdict(lambda: [_NONE] * 3)
        for (i, p, p2), (j, q, q2), (k, r, r2) in product(*self._factors(overlap)[0]):
            both, cell = p2 * q2, found[i + j, i + k]
            found[i + j, i + k] = [cell[0] + both * r, cell[1] + p2 * q * r2, cell[2] + p * q * r]
        return tuple((r1, r2, b) for r1, r2, b in found.values())

    def quotients(self, overlaps: Sequence[Overlap]) -> QuotientLaws | None:
        """Of each overlap, in floats; grid points are told. None where floats do not hold the probabilities."""
        return QuotientLaws.of_types([self._floats(each) for each in overlaps])

    def _floats(self, overlap: Overlap) -> Floats:
        """User 1's first law less the second one, the second one, and another user's, shape ``(kinds, 3)``."""
        factors, intervals = self._factors(overlap)
        (_, p, p2), (j, q, _), (k, r, r2) = (np.array([[float(x) for x in kind] for kind in each]).T for each in factors)
        near, far, hidden = parts(overlap)
        _, first, second = ((near + 2 * far) * intervals).tolist()
        # The quotient of both ratios is e to the power of a whole number of steps.
        apart = np.expm1(float(self.step / intervals) * np.subtract.outer(j - first, k - second))
        seconds, sent = np.multiply.outer(q, r2), self._sent(hidden)
        products = (p2, apart * seconds), (p2, seconds), (float(sent) * p, np.multiply.outer(q, r))
        found = np.stack([np.multiply.outer(a, b).ravel() for a, b in products], axis=1)
        return np.vstack([found, (0, 0, float(1 - sent))]) if hidden.any() else found

    def _factors(self, overlap: Overlap) -> tuple[list[Factor], int]:
        """A, B and C, and the intervals of a coordinate."""
        least, most = self.intervals
        # What is lost to a factor falls with the square of its values, and grows with its variance and that of what it multiplies.
        near, far, _ = parts(overlap)
        counts = near + 2 * far
        variances = [math.expm1(min(each, FAR)) for each in mean_squares(near, far, self.step)]
        deviations = [math.sqrt(v) for v in (variances[0] * (variances[1] + variances[2]), *variances[1:])]
        unit = (min(self.cells, self.most) / math.prod(d for d in deviations if d)) ** (1 / max(1, sum(map(bool, deviations))))
        values = [max(3, int(unit * d)) for d in deviations]
        finest = min((n - 1) // count for n, count in zip(values, counts.tolist(), strict=True) if count)
        intervals = max(least, min(most, finest))
        return [self._factor(*map(int, each[:2]), intervals, each[2]) for each in zip(near, far, values, strict=True)], intervals

    def data_set(self, overlap: Overlap, epsilon: float, fine: int) -> tuple[Balls, ...]:
        """The same where all others hold one value, told apart as far as it tells at this epsilon: B and C together, and then A."""
        a, b, c = self._fine(overlap, _SEEN[fine])
        both = _merged([(q2 * r, q * r2, q * r) for (_, q, q2), (_, r, r2) in product(b, c)], epsilon, fine)
        return _merged([(p2 * r1, p2 * r2, p * other) for (_, p, p2), (r1, r2, other) in product(a, both)], epsilon, fine)

    def _fine(self, overlap: Overlap, values: int) -> list[Factor]:
        """A, B and C."""
        root, found = math.sqrt(self.step), []
        for near, far in zip(*parts(overlap)[:2], strict=True):
            most = min(math.ceil(_TOLD[1] * root), _LONGEST // max(1, int(near + 2 * far)))
            found.append(self._factor(int(near), int(far), max(math.ceil(_TOLD[0] * root), most), values))
        return found

    def type(self, overlap: Overlap, knots: tuple[int, int]) -> VectorType | None:
        """W of this overlap; None where floats do not hold products of its probabilities."""
        laws = self._fine(overlap, 2 * _LONGEST)
        factors = [(np.array([float(p2 / p) for _, p, p2 in law]), np.array([float(p) for _, p, _ in law])) for law in laws]
        sent = self._sent(parts(overlap)[2])
        if math.prod(float(w.max()) for w, _ in factors) > _LARGEST or not min(p.min() for _, p in factors) * sent > _RAREST:
            return None
        return VectorType((factors[0], factors[1], factors[2]), sent, knots)

    def mixed(self, coordinates: Sequence[int]) -> Mixed:
        """Of two users, of whom one has user 1's second number wherever user 1's two differ, and the other one the first.

        ``coordinates``: in how many that is so; in how many others the one of them alone differs from user 1; and the other; and
        both.
        """
        most, factors = int(_OF_TWO ** (1 / sum(map(bool, coordinates)))), []
        for n in coordinates:
            values = min(most, _FEWEST + math.ceil(_PER_NAT * n * self.step))
            factors.append(self._factor(n, 0, max(1, (values - 1) // max(n, 1)), values))
        (c, a, b, both), (c2, a2, b2, both2) = (
            np.meshgrid(*([float(cell[i]) for cell in each] for each in factors), indexing="ij") for i in (1, 2)
        )
        apart = np.array([float(p - p2) for _, p, p2 in factors[0]])[:, None, None, None]
        alike = a * b * both
        return Mixed(*(each.ravel() for each in (c * alike, c2 * alike, apart * alike, c2 * a2 * b * both2, c * a * b2 * both2)))

    def _sent(self, hidden: NDArray[np.int64]) -> flint.arb:
        """Probability that another user sends anything."""
        whole, half = map(int, hidden)
        return (-ball(self.step) * whole - ball(self.step) ** 2 / 2 * half).exp()

    def _computed(self, near: int, far: int, intervals: int, most: int) -> Factor:
        """The law of a product of as many ratios of either distance, with these intervals, on at most this many values."""
        powers = (flint.arb_poly(self._ratio(n, intervals)) ** count for n, count in ((1, near), (2, far)) if count)
        law, unit = prod(powers, start=flint.arb_poly([1])).coeffs(), self.step / intervals
        found = [(i, p, ball(unit * (i - intervals * (near + 2 * far))).exp()) for i, p in enumerate(law) if not p == 0]
        ends = _kept([p for _, p, _ in found], [ratio for *_, ratio in found], most)
        groups = [found[start:end] for start, end in pairwise([*ends, len(found)])]
        if not self.is_told:
            firsts = [sum((p for _, p, _ in each), _NONE) for each in groups]
            seconds = [sum((p * ratio for _, p, ratio in each), _NONE) for each in groups]
            return [(each[0][0], p, p2) for each, p, p2 in zip(groups, firsts, seconds, strict=True)]
        masses = [each[0][1] for each in groups]
        for i, each in enumerate(groups[:-1]):
            low, high = each[0][2], groups[i + 1][0][2]
            masses[i] += sum((p * (high - ratio) for _, p, ratio in each[1:]), _NONE) / (high - low)
            masses[i + 1] += sum((p * (ratio - low) for _, p, ratio in each[1:]), _NONE) / (high - low)
        return [(each[0][0], p, p * each[0][2]) for each, p in zip(groups, masses, strict=True)]

    def _ratio(self, distance: int, intervals: int) -> list[flint.arb]:
        """Probabilities of a coordinate's ratio by its logarithm, in steps of s over the intervals, of numbers s or 2s apart."""
        s, intervals = distance * self.step, distance * intervals
        law = [_NONE] * (2 * intervals + 1)
        if self.is_told:
            for j, weight in enumerate(grid_weights(s, intervals)):
                law[2 * j] = weight * ball(-s * j / intervals).exp()
        else:
            places = (0, *range(1, 2 * intervals, 2), 2 * intervals)
            for place, mass in zip(places, reports(Fraction(0), [s * j / intervals for j in range(intervals + 1)]), strict=True):
                law[place] = mass
        return law


def _kept(law: Sequence[flint.arb], ratios: Sequence[flint.arb], most: int) -> list[int]:
    """Places of a law that are kept, both ends among them: as dense as the third root of what the ratio's mean square rests on."""
    if len(law) <= most:
        return list(range(len(law)))
    dense = np.cumsum([float(p * (1 + ratio * ratio)) ** (1 / 3) for p, ratio in zip(law, ratios, strict=True)])
    inner = np.searchsorted(dense, dense[-1] * (np.arange(most - 2) + 0.5) / max(1, most - 2))
    return sorted({0, *inner.tolist(), len(law) - 1})


def _merged(cells: Sequence[Balls], epsilon: float, fine: int) -> tuple[Balls, ...]:
    """Where they are many, told apart only as far as it tells at this epsilon: about which w they have."""
    if len(cells) <= _FEW_KINDS[fine]:
        return tuple(cells)
    gains = np.array([float((r1 - math.exp(epsilon) * r2) / b) for r1, r2, b in cells])
    labels = alike(gains, np.array([float(b) for *_, b in cells]), _KINDS[fine]).tolist()
    kinds: dict[float, list[Balls]] = defaultdict(list)
    for kind, cell in zip(labels, cells, strict=True):
        kinds[kind].append(cell)
    columns = (zip(*each, strict=True) for each in kinds.values())
    return tuple((sum(r1, _NONE), sum(r2, _NONE), sum(b, _NONE)) for r1, r2, b in columns)


def parts(overlaps: ArrayLike) -> list[NDArray[np.int64]]:
    """Coordinates that differ by s, those that differ by 2s, and what hides others."""
    counts = np.asarray(overlaps)
    more = [(0, 0)] * (counts.ndim - 1) + [(0, 8 - counts.shape[-1])]
    return np.split(np.pad(counts, more), (3, 6), axis=-1)


def mean_squares(near: NDArray[np.int64], far: NDArray[np.int64], step: Fraction) -> NDArray[np.float64]:
    """Logarithms of the mean squares of products of ratios."""
    return near * _mean_square(step) + far * _mean_square(2 * step)


def _mean_square(step: Fraction) -> float:
    """Logarithm of the mean square of a coordinate's ratio."""
    s = float(step)
    return s + math.log((2 + math.exp(-3 * s)) / 3) if s > _SLIGHT else s * s
