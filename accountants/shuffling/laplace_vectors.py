r"""Shuffled vectors plus Laplace noise, whose coordinates are one of two numbers, or of three: what a shuffler hides among others.

The two numbers are s scales apart. What another user's vector x has to do with user 1's vectors is three numbers, its *overlap*:
in a coordinates x differs from both, in b user 1's first vector differs from x and from the second, and in c the second does.
The ratio of the two laws of a coordinate has one law under either. So in the W of `replaced`

.. math:: W = A (B - e^\varepsilon C)

A, B and C are independent products of a, b and c such ratios.

*More coordinates are worse.* One more ratio of mean 1 in A, B or C leaves the mean of W given the others as it is, and so makes W
larger in the convex order. So only the largest overlaps count, and any overlaps above them are an upper bound.

*A grid in place of the line.* As in `laplace_noise`: an adversary who is told a grid point of each coordinate knows more, and one
who is told an interval less. In both cases the logarithms of the ratios are multiples of s over the number of intervals, and what
A, B and C are follows from one power of a polynomial each.

*Three numbers*, as of signs that may be 0, make coordinates that differ by 2s, too. Each of A, B and C is then a product of ratios
of both distances. Where another user's number z alone is between those of user 1, or user 1's between z and another, two numbers
are left if others may send nothing, with probability :math:`\kappa` (`laplace_noise`, 4): if a part :math:`(1 - \kappa) R'` of
:math:`R_x`, or mixed from such parts, takes its place, W grows in the convex order. In a coordinate
:math:`f_z \ge e^{-s} f_{z'}` for z and z' that are s apart, and :math:`f_0 \ge (f_s + f_{-s}) / (2 \cosh s)`, where
:math:`1/\cosh s \ge e^{-s^2/2}`.

*Fewer kinds.* Where A has many values, the probability of one is split between two others on either side so that the mean is kept:
W is linear in A, B and C, each, so that it grows in the convex order; it does again where the values of :math:`B - e^\varepsilon C`
are split, and then those of W. That is done in floats: what they round is added to the values, and to the probabilities of those
above the likeliest. From below, kinds with about one :math:`B - e^\varepsilon C`, and then with about one W, are not told apart.

*The blanket.* The least of the two laws of a coordinate has the mass :math:`e^{-s/2}`, and of vectors that differ from one in w
coordinates at most each has at least :math:`e^{-ws}` of its density. All copies of a coordinate are one of two numbers together:
the lesser of the two products hides more than the product of the lesser ones, and it hides less from who is told grid points.

Bundles of such reports are such reports: overlaps add up. A histogram is one: of values x, x1 and x2 that differ each alone
differs in one coordinate, and where x is x1 the second differs in two.

Source: derived here; enumerated in tests/shuffling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, Self, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.accountants.shuffling.bounds import AnyReportBound, BlanketBound, OthersAlike
from ldpaudit.accountants.shuffling.laplace_noise import LEAST, MOST, WIDTHS, CutBlanket
from ldpaudit.accountants.shuffling.replaced import Groups, Replacement
from ldpaudit.accountants.shuffling.vector_laws import FAR, Overlap, Products, VectorType, mean_squares, parts
from ldpaudit.core.working_precision import working_precision

Weigh: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.int64]]
_NONE = flint.arb(0)
_INTERVALS, _OF_BUNDLES = (16, 32), (10, 32)
"""Intervals of a coordinate with s = 1, at least, and at most where no curves are composed and the users not few; they grow with
the root of s, as what is lost grows with s and falls with their square. Of bundles, too, which also have half of the kinds."""
_ALONE = 8  # intervals for the blanket of a histogram
_CELLS, _MOST_CELLS = (32_000, 160_000), 60_000
"""Kinds of reports of all types together, where the users are few or curves are composed, and else; and of one type."""
_KNOTS = (50, 100), (50, 240)
"""Values to which W is spread, and A and B - e C before: to see whether a type matters, and where it does; quick, and else."""
_HEAVY = 0.1  # nats of the mean square of a product of ratios from which on three moments bound its transform badly
_MOST_PAIRS = 1 << 19  # of these values, of all types together, where it is only seen whether they matter
_HARDLY = 2.0**-10
"""Users of whom a report comes from the blanket who do not hide user 1: replacement would say what is known of one report."""
_DEVIATIONS = 5.0
"""Standard deviations of a sum of losses at which delta is about 1e-6, for which kinds of a data set are chosen."""
_FEW_USERS = 16
"""Up to this many users an evaluation takes longer, and a search needs more of them."""
_MOST_COORDINATES = 4096
_GRAINS = 24  # of which a coordinate's number is a multiple, where there are more
_MOST_OVERLAPS, _CLEARLY, _ROUNDED = (64, 300), 0.03, 8
"""Overlaps up to which all are kept. Beyond the first number, those that clearly tell less, by nats of their divergence, are
rounded up to multiples, which are at most this part of the largest; beyond the second, all others, too."""
_TWO, _OF_THREE = 3, (8, 30)
"""Length of an overlap of vectors of two numbers; and overlaps of one report of which bundles of vectors of three are made."""
_MOST_SUMS, _MOST_SUMMED, _SUMMED = 1000, 10_000, (8, 60)
"""Overlaps of bundles of fewer reports up to which none are rounded; pairs up to which all are added up, and of how many else."""
_LISTED = 9  # bits of values up to which all overlaps are listed
_TRIED, _KEPT = 256, 3  # third values that are tried, and data sets that are kept
_SIDES, _MOST_MIXED = ((True, False), (False, True)), 6
"""Whether an overlap's second and third numbers are above 0; and coordinates up to which two users have no names."""
_EQUAL = 3
"""Of as many reports of a bundle user 1's one does not change in one more data set, and differs from all others': the larger
A is at times, the more a loss tells where delta is small."""


@dataclass(frozen=True)
class LaplaceVectors:
    """What is known of the vectors, before the noise."""

    # numbers that s, above 0, lies between: a coordinate has two laws, and the larger s is, the more they differ
    steps: tuple[Fraction, Fraction]
    overlaps: tuple[Overlap, ...]  # the overlap of any three users' vectors is at most one of these
    # data sets in which all others hold the last value: its overlap with the pair, and the pair
    held: tuple[tuple[Overlap, tuple[Any, Any], Any], ...]
    hidden: Fraction  # the blanket has the mass e**-hidden
    reports: int = 1  # of a bundle
    copies: tuple[int, int] = (1, 0)  # of how many coordinates each, which vary; or of none, for the blanket alone

    @classmethod
    def of_code(
        cls,
        steps: tuple[Fraction, Fraction],
        weigh: Weigh,
        domain: int,
        varying: int,
        pair: tuple[int, int],
        weight: int,
        copies: int = 1,
    ) -> Self:
        """Values become words of a linear code, whose coordinates are repeated.

        ``weigh``: in how many coordinates values differ, by their exclusive or; ``varying``: coordinates that are not always 0;
        ``pair``: two values that differ in many; ``weight``: in how many any two differ at most; ``copies``: of the word.
        """
        bits = (domain - 1).bit_length()
        if bits <= _LISTED:
            every = np.arange(1 << bits)
            overlaps = set(map(tuple, _overlaps(weigh, every[:, None], every).reshape(-1, 3).tolist()))
            first, second = (each.ravel() for each in np.meshgrid(every[:domain], every[:domain]))
            other = np.zeros_like(first)
        else:
            overlaps = set(_possible(varying, weight))
            other = np.concatenate([pair, np.random.default_rng(0).integers(0, domain, _TRIED)])
            first, second = (np.full_like(other, x) for x in pair)
        found = copies * _overlaps(weigh, first ^ other, second ^ other)
        told = _told(found, steps[1])
        best = np.argsort(-told, kind="stable")[: np.count_nonzero(told > -math.inf)]
        _, distinct = np.unique(found[best], axis=0, return_index=True)
        held = ((tuple(found[i].tolist()), (int(first[i]), int(second[i])), int(other[i])) for i in best[np.sort(distinct)[:_KEPT]])
        hidden = copies * steps[1] * min(Fraction(varying, 2), Fraction(weight))
        largest = _largest((_times(each, copies) for each in overlaps), steps[1])
        return cls(steps, largest, tuple(held), hidden, copies=(copies, varying))

    def repeated(self, times: int) -> LaplaceVectors:
        """Of bundles of as many reports."""
        sums = [(0,) * len(self.overlaps[0])]
        for bit in bin(times)[2:]:
            for more in (sums, self.overlaps)[: 1 + (bit == "1")]:
                are_many = len(sums) * len(more) > _MOST_SUMMED
                fewer = (_largest(each, self.steps[1], _SUMMED) if are_many else each for each in (sums, more))
                sums = maximal(tuple(map(sum, zip(*both, strict=True))) for both in product(*fewer))
                if len(sums) > _MOST_SUMS:
                    sums = list(_largest(sums, self.steps[1]))
        held: list[Any] = [(_times(own, times), tuple((x,) * times for x in xs), (other,) * times) for own, xs, other in self.held]
        equal = times // _EQUAL
        if equal and held and len(sums[0]) == _TWO:
            (a, b, c), pair, other = self.held[0]
            x, alone = max(zip(pair, (a + b, a + c), strict=True), key=lambda each: each[1])
            mixed = (equal * alone + (times - equal) * a, (times - equal) * b, (times - equal) * c)
            held.append((mixed, tuple((x,) * equal + (own,) * (times - equal) for own in pair), (other,) * times))
        largest = _largest(sums, self.steps[1])
        return LaplaceVectors(self.steps, largest, tuple(held), times * self.hidden, times, self.copies)


@dataclass(frozen=True)
class VectorsBound(BlanketBound):
    """Of vectors."""

    vectors: LaplaceVectors | None = None


@lru_cache(maxsize=64)
def histogram(s: Fraction, k: int, users: int) -> VectorsBound | None:
    """Of a histogram of k values, of which each coordinate has noise of the scale 1/s; None where s is out of range.

    The blanket is the law of noise alone times the least ratio of a value's law to it, or of two values the less of their laws.
    """
    if not LEAST <= s <= MOST:
        return None
    held = (((0, 0, 2), (0, 1), 0), ((0, 2, 0), (0, 1), 1), ((1, 1, 1), (0, 1), 2))[: min(k, 3)]
    vectors = LaplaceVectors((s, s), ((2, 0, 0), *(own for own, *_ in held)), held, s)
    with working_precision(precision(users)):
        less = ball(-s).exp()
        alone = Products(s, (_ALONE, _ALONE), True, _MOST_CELLS, _MOST_CELLS).kinds((0, 1, 1))
        cells = tuple((r1, r2, less * b if k > 2 else r1.min(r2)) for r1, r2, b in alone)
        blanket = CutBlanket(cells, 1 - sum((b for *_, b in cells), _NONE))
    return bound(vectors, users, (blanket,))


@lru_cache(maxsize=64)
def bound(vectors: LaplaceVectors, users: int, blankets: tuple[Blanket, ...] = ()) -> VectorsBound | None:
    """Of vectors of this kind; None where s is out of range, coordinates are too many, or no two vectors are known to differ."""
    in_range = LEAST <= vectors.steps[0] <= vectors.steps[1] <= MOST
    if not (vectors.held and in_range) or max(map(sum, vectors.overlaps)) > _MOST_COORDINATES:
        return None
    quick = _cut(vectors, users, blankets, 0)
    return quick if users <= _FEW_USERS else replace(_cut(vectors, users, blankets, 1), coarser=quick)


def repeated(one: VectorsBound, times: int, otherwise: AnyReportBound) -> BlanketBound | None:
    """Of a bundle of as many reports, or one; with the bound of any report."""
    found: VectorsBound | None = one
    vectors = one.vectors
    if times > 1 and vectors is not None:
        if len(vectors.overlaps[0]) > _TWO:  # overlaps are of one length
            vectors = replace(vectors, overlaps=_largest(vectors.overlaps, vectors.steps[1], _OF_THREE))
        found = bound(vectors.repeated(times), one.users)
    if found is None or found.blankets:
        return found
    coarser = None if found.coarser is None else replace(found.coarser, otherwise=otherwise)
    return replace(found, otherwise=otherwise, coarser=coarser)


def _cut(vectors: LaplaceVectors, users: int, blankets: tuple[Blanket, ...], fine: int) -> VectorsBound:
    """The bounds with fewer or more intervals."""
    s = vectors.steps[0]
    part, cuts = (1, _INTERVALS) if vectors.reports == 1 else (2, _OF_BUNDLES)
    least, most = (math.ceil(each * math.sqrt(s)) for each in cuts)
    intervals = (least, most if fine else least)
    with working_precision(precision(users)):
        different = [each for each in vectors.overlaps if any(each[1:3] + each[4:6])]
        told = Products(vectors.steps[1], intervals, True, _CELLS[fine] // len(different) // part, _MOST_CELLS // part)
        (copies, varying), gamma = vectors.copies, ball(-vectors.hidden).exp()
        if copies > 1 and 0 < varying <= _MOST_COORDINATES:
            alike = told.kinds((0, copies, 0))
            gamma = gamma.max(sum((r1.min(r2) for r1, r2, _ in alike), _NONE) ** (varying * vectors.reports))
        hides = not gamma * users < _HARDLY
        types: tuple[VectorType, ...] = ()
        if hides and max(mean_squares(near, far, vectors.steps[1]).sum() for near, far, _ in map(parts, different)) > _HEAVY:
            knots = min(_KNOTS[fine][0], math.isqrt(_MOST_PAIRS // len(different))), _KNOTS[fine][1]
            found = [told.type(each, knots) for each in different]
            types = () if None in found else tuple(each for each in found if each is not None)  # all of them, or none
        pairs = told.quotients(different) if hides and not types else None
        replaced = Replacement(types, gamma, pairs=pairs, groups=_sides(vectors, different, types, told)) if hides else None
        # Where epsilon is looked for at such a number of users; for curves the two inputs are to look the same.
        nats = max(float(_told(np.array([own]), s)[0]) for own, *_ in vectors.held)
        at = min(_DEVIATIONS * math.exp(min(nats, FAR) / 2) / math.sqrt(users), float(s)) if fine else 0.0
        seen = replace(told, step=s, is_told=False)
        sets = tuple(
            OthersAlike(CutBlanket(seen.data_set(own, at, fine), is_symmetric=not at and own[1:5:3] == own[2:6:3]), pair, x)
            for own, pair, x in vectors.held
        )
    return VectorsBound(blankets, sets, users, finest=WIDTHS[fine], replaced=replaced, vectors=vectors)


def _sides(vectors: LaplaceVectors, overlaps: list[Overlap], types: tuple[VectorType, ...], told: Products) -> Groups:
    """Types of users who have user 1's second numbers wherever its two differ, and its first ones: either with those who have
    neither, and with mixed pairs; none where these have too many coordinates.
    """
    if not types or (counts := mixed_pairs(vectors, overlaps)) is None:
        return ()
    mixed = [told.mixed(each) for each in counts]
    which = [(b > 0, c > 0) for _, b, c in overlaps]
    return tuple((*(t for t, each in zip(types, which, strict=True) if each in (side, (True, True))), *mixed) for side in _SIDES)


def mixed_pairs(vectors: LaplaceVectors, overlaps: list[Overlap]) -> list[Overlap] | None:
    """The largest numbers of coordinates of `Products.mixed` that two users can have, by their overlaps; None of too many."""
    step, varying = vectors.copies
    n = step * varying * vectors.reports or 2 * max(map(sum, overlaps))
    if len(overlaps[0]) > _TWO or n > _MOST_MIXED * step:
        return None
    seconds, firsts = ([each for each in overlaps if (each[1] > 0, each[2] > 0) == side] for side in _SIDES)
    return maximal(
        (differing, one, min(most, n - differing - one) - both, both)
        for (a, b, _), (most, _, c) in product(seconds, firsts)
        for differing in range(step, min(b, c) + 1, step)
        for both in range(0, min(a, most, n - differing) + 1, step)
        for one in range(0, min(a, n - differing) - both + 1, step)
    )


def _overlaps(weigh: Weigh, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of a value and the two at these differences, shape ``(..., 3)``: a coordinate where two differ from 0 has them equal."""
    one, two, both = np.broadcast_arrays(weigh(first), weigh(second), weigh(first ^ second))
    return np.stack([one + two - both, one + both - two, two + both - one], axis=-1) // 2


def _possible(varying: int, weight: int) -> Iterator[Overlap]:
    """Overlaps that are at least any that vectors have of which two differ in at most `weight` coordinates."""
    grain = math.ceil(weight / _GRAINS)
    most, total = weight // grain + 2 * (grain > 1), varying // grain + 3 * (grain > 1)
    for a in range(most + 1):
        for b in range(most - a + 1):
            c = min(most - max(a, b), total - a - b)
            if c >= 0:
                yield a * grain, b * grain, c * grain


def _times(overlap: Overlap, times: int) -> Overlap:
    return tuple(n * times for n in overlap)


def _largest(overlaps: Iterable[Overlap], step: Fraction, most: tuple[int, int] = _MOST_OVERLAPS) -> tuple[Overlap, ...]:
    """Those of which no other is as large; of too many, some that are as large as any."""
    found, grain = maximal(overlaps), 2
    while len(found) > most[grain > max(map(max, found)) / _ROUNDED]:
        rounded = [tuple(-(-n // grain) * grain for n in each) for each in found]
        both = _told(np.array([found, rounded]), step)
        clearly = _CLEARLY if grain <= max(map(max, found)) / _ROUNDED else -math.inf
        less = both[1] < both[0].max() - clearly
        found = maximal(new if known else old for old, new, known in zip(found, rounded, less, strict=True))
        grain *= 2
    return tuple(sorted(found))


def maximal(overlaps: Iterable[Overlap]) -> list[Overlap]:
    """Those of which no other is as large."""
    rest = np.array(sorted(set(overlaps), key=sum, reverse=True))
    found: list[Overlap] = []
    while len(rest):
        found.append(tuple(rest[0].tolist()))
        rest = rest[(rest > rest[0]).any(axis=1)]
    return found


def _told(overlaps: NDArray[np.int64], step: Fraction) -> NDArray[np.float64]:
    """Logarithm of the chi-squared divergence of user 1's two laws from another user's, which grows with what is told."""
    near, far, hidden = parts(overlaps)
    a, b, c = np.moveaxis(mean_squares(near, far, step), -1, 0)
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = a + np.logaddexp(*(x + np.log(-np.expm1(-x)) for x in (b, c)))
    return found + hidden @ (float(step), float(step) ** 2 / 2)
