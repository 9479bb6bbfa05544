r"""Repetitions and compositions inside a shuffle: every user sends one bundle of independent reports, and bundles are shuffled.

The law of a bundle is a product, and so are the ratios of two laws. What another user holds, beside what user 1 holds first
and then, is known run by run: each run of a part has one of that part's types (`replaced`), or user 1 holds the same in that
run. So the types of the bundle are the products of these, and its blanket the product of blankets. Runs of one part are
exchangeable: a type is a multiset. Where the types of a run are not known, they are those of any report with its epsilon0: given
the other runs, W is a positive multiple of one ratio less one of the other, and convex functions of it grow as these are spread.
From below all others hold one bundle, run by run user 1's first value, its second, or a third.

Open: bundles of reports whose types are infinitely many, such as numbers plus Laplace noise, and of vectors that differ in several
coordinates, which are bounded as any reports of their epsilon0; and how much others hide of whose bundle some reports, but not all,
are from the blanket: of three answers to one of seven questions each, a thousandth of all bundles is from the blanket alone.

Where kinds of bundles are many, W is spread to fewer values so that the mean is kept, which makes it larger in the convex order;
and in a data set kinds are not told apart that have nearly the same W. Both are wrong by the square of how far these are apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations_with_replacement, product
from typing import Any, TypeAlias

import flint
import numpy as np
from numpy.typing import NDArray

from ldpaudit.accountants.numerics.balls import Probability, as_ball, ball
from ldpaudit.accountants.numerics.float_laws import Law
from ldpaudit.accountants.numerics.quotient_laws import QuotientLaws
from ldpaudit.accountants.numerics.spread import Floats, alike, raised, spread
from ldpaudit.accountants.shuffling.blanket import Blanket, precision, product_kinds
from ldpaudit.accountants.shuffling.bounds import FINE, ROUGHLY, AnyReportBound, BlanketBound, Bound, OthersAlike
from ldpaudit.accountants.shuffling.laplace_noise import CutBlanket
from ldpaudit.accountants.shuffling.replaced import Replacement, halves, of_any_map
from ldpaudit.accountants.shuffling.spreads import without_spreads
from ldpaudit.core.working_precision import working_precision

_FEW_TYPES, _MOST_TYPES, _MOST_COMPARED = 40, 400, 30_000
"""Types of a bundle up to which each is listed, of some milliseconds; how many are listed at most; and up to which three moments of
each are compared, or others stand for those that clearly tell less."""
_QUICK_KINDS, _SPREAD_KINDS, _MANY_USERS = 200, 1000, 10**4
"""Kinds of reports of a run's types up to which spreads of others are left out: in milliseconds, where bundles have many types; and
in a second or two, where these are too many, and there are as many users: else looks take minutes. Compositions are then made of
any reports of the same epsilon0."""
_CLEARLY = 0.05  # part of the largest divergence
_MOST_CELLS, _MOST_BITS = 1000, 1 << 12
"""Kinds of bundles up to which a law is listed, of a type or of a data set, and bits of their fractions."""
_MOST_KINDS, _KNOTS = 20_000, 300
"""Kinds of bundles that are not listed, but spread or not told apart; and values to which those of a type are spread."""
_DEVIATIONS, _KINDS = 5.0, 10
"""Standard deviations of a sum of losses at which delta is about 1e-6; and kinds that each consists of."""
_ROOM, _MASSES = 1e-9, 1e-12
"""Relative errors, for each run, of a sum of up to millions of floats above 0, which are products; and of the masses of a type."""
_FEW_TERMS = 64  # of which a sum of floats, one after the other, is right to 1e-14
_HALF = 2.0**27 + 1  # times a float, this tells its first 26 bits
_LEAST = 1e-290
"""Probability of a kind below which a product may be no float, or of few bits."""
_MOST_SETS, _LONG = 64, 32
"""Bundles that all others hold which are tried, if there are no more; and reports of those that are long: where one has too many
kinds, so has each that seems to have as many."""
_EQUAL = 1e-9
"""Relative difference up to which ratios in floats are one."""

_FLOATS = 300
"""Epsilon0 of a bundle up to which its ratios are floats; beyond, nobody hides it, and its kinds are long fractions."""

Part: TypeAlias = tuple[Blanket, ...]
"""The types of one run."""
Runs: TypeAlias = Sequence[tuple[tuple[Part, Probability], int]]
"""Types of one run of each part and the mass of its blanket, and how many runs there are."""
Ratios: TypeAlias = tuple[Floats, Floats, Floats]
"""Ratios of user 1's two laws to another user's, and their probabilities under the latter."""


@dataclass(frozen=True)
class ProductType:
    """A type of a bundle: of each run, the two laws of user 1's report and that of another user's."""

    runs: tuple[Blanket, ...]
    rate: Fraction = Fraction(1)  # at which user 1 is drawn, and not another user in its place
    sent: Fraction = Fraction(1)  # probability with which each user sends

    def terms(self, exp_epsilon: flint.arb) -> Law:
        """See `replaced.Type`."""
        u, v, p = _ratios(self.runs)
        if self.sent != 1:
            u, v, p = np.append(u, 1.0), np.append(v, 1.0), np.append(float(self.sent) * p, float(1 - self.sent))
        rate, e = float(self.rate), float(exp_epsilon)
        first, second = rate * u + 1 - rate, rate * v + 1 - rate
        off = (1 + len(self.runs)) * _EQUAL * (first + e * second)  # ratios that were taken for one, run by run, differ by less
        w = first - e * second + off
        w, p = (w, p) if len(w) <= _MOST_CELLS else spread(w, p, _KNOTS)
        return Law(w, raised(w, p, (1 + len(self.runs)) * _MASSES))

    def drawn(self, rate: Fraction) -> ProductType:
        """See `Blanket.drawn`."""
        return replace(self, rate=self.rate * rate)

    def part(self, rate: Fraction) -> ProductType:
        """See `Blanket.part`."""
        return replace(self, sent=self.sent * rate)


def bound(parts: Sequence[tuple[Bound | None, Fraction, int]], otherwise: AnyReportBound) -> BlanketBound | None:
    """Of a bundle of reports, each of a bound, an epsilon0, and a number of runs; None where it is alone to all digits.

    Without a data set of each part none is known; `otherwise` are the clones of the whole.
    """
    if otherwise.clones.epsilon0 >= _FLOATS:
        return None
    each = [((None, ()) if part is None else part.known, epsilon0, times) for part, epsilon0, times in parts]
    attained = [(sets, times) for (_, sets), _, times in each]
    if any(cell[2] == 0 for sets, _ in attained for own in sets for cell in own.blanket.cells):
        return None
    runs = [((types, epsilon0), times) for (types, _), epsilon0, times in each]
    with working_precision(precision(otherwise.users)):
        known = [(_of_one_run(*part), times) for part, times in runs]
        own = _of_runs(known if _number(known) <= _MOST_TYPES else _without_spreads(known, _QUICK_KINDS))
        replaced = own or _of_runs([(_of_any_run(*part), times) for part, times in runs])
        are_many = own is None and otherwise.users >= _MANY_USERS
        fewer = _of_runs(_without_spreads(known, _SPREAD_KINDS)) if are_many else None
    finest = FINE if replaced is None or len(replaced.types) <= _MOST_TYPES else ROUGHLY
    sets = tuple(_sets(attained, otherwise.users)) if all(sets for sets, _ in attained) else ()
    found = BlanketBound((), sets, otherwise.users, finest=finest, replaced=replaced, otherwise=otherwise)
    return found if fewer is None else replace(found, finest=ROUGHLY, replaced=fewer, coarser=found)


def _number(known: Runs) -> int:
    """Of types of bundles."""
    return math.prod(math.comb(times + len(own) - 1, times) for (own, _), times in known)


def _without_spreads(known: Runs, kinds: int) -> Runs:
    """The same but for types of a run of which others are spreads, where it has as many kinds of reports at most."""
    return [((without_spreads(own, kinds), gamma), times) for (own, gamma), times in known]


def _of_runs(known: Runs) -> Replacement | None:
    """Of the types of a run of each part and the mass of its blanket; None where all, or their kinds, are too many."""
    types, masses = [(own, times) for (own, _), times in known], [(gamma, times) for (_, gamma), times in known]
    if (count := _number(known)) > _MOST_COMPARED:
        return None
    exact = not any(isinstance(gamma, flint.arb) for gamma, _ in masses)
    powers = (gamma**times if exact else as_ball(gamma) ** times for gamma, times in masses)
    gamma = math.prod(powers, start=Fraction(1) if exact else flint.arb(1))
    if count > _MOST_TYPES and (pairs := _moments(types)) is not None:
        return Replacement(tuple(map(ProductType, _bundles(types))), gamma, pairs=pairs)
    bundles = tuple(map(ProductType, _bundles(types) if count <= _FEW_TYPES else _covering(types)))
    return Replacement(bundles, gamma) if len(bundles) <= _MOST_TYPES and all(map(_is_listed, bundles)) else None


def _covering(types: Sequence[tuple[Part, int]]) -> list[Part]:
    """Bundles of as many runs or more, of which for each type of a bundle one has no fewer runs of any kind.

    One more run is one more factor of mean (1, 1) to both of user 1's ratios, so that W is larger in the convex order. Types that
    clearly tell less than the others have the numbers of their runs rounded up, as long as they still do.
    """
    own = [each for part, _ in types for each in part]
    choices = product(*(combinations_with_replacement(range(len(part)), times) for part, times in types))
    sizes = [len(part) for part, _ in types]
    runs = ([np.bincount(each, minlength=k) for each, k in zip(choice, sizes, strict=True)] for choice in choices)
    counts = np.array([np.concatenate(each) for each in runs])
    squares = np.array(list(map(_squares, own)))
    grain, most = 2, _told(counts @ squares).max()
    while grain <= counts.max():
        rounded = -(-counts // grain) * grain
        less = _told(rounded @ squares) < (1 - _CLEARLY) * most
        counts = np.unique(np.where(less[:, None], rounded, counts), axis=0)
        grain *= 2
    return [tuple(each for each, n in zip(own, row, strict=True) for _ in range(n)) for row in counts.tolist()]


@lru_cache(maxsize=4096)
def _squares(run: Blanket) -> tuple[float, ...]:
    """Logarithms of the means of R1^2, R2^2 and R1 R2 over R^2, of which those of a bundle are the sums."""
    r1, r2, b = np.array([[float(p) for p in cell] for cell in run.cells if cell[2]]).T
    return tuple(math.log((each / b).sum()) for each in (r1 * r1, r2 * r2, r1 * r2))


def _told(squares: Floats) -> Floats:
    """The chi-squared divergence of user 1's laws from the other user's; where floats do not hold it none is clearly less."""
    with np.errstate(over="ignore", invalid="ignore"):
        first, second, both = np.exp(squares).T
        return np.asarray(first + second - 2 * both, dtype=np.float64)


def _moments(types: Sequence[tuple[Part, int]]) -> QuotientLaws | None:
    """All types of a bundle in floats, as one group; None where floats do not hold them, or their kinds are too many."""
    few = math.prod(max(len(each.cells) for each in own) ** times for own, times in types) <= _MOST_CELLS
    if not few or not all(_is_rational(each) for own, _ in types for each in own):
        return None
    own = [([_in_halves(each, max(len(one.cells) for one in part)) for each in part], times) for part, times in types]
    high, low = np.moveaxis(np.array([reduce(_times, bundle) for bundle in _bundles(own)]), 1, 0)
    differences = high[:, 0] - high[:, 1] + (low[:, 0] - low[:, 1])
    return QuotientLaws.of(*(each[None] for each in (differences, high[:, 1] + low[:, 1], high[:, 2] + low[:, 2])))


def _in_halves(run: Blanket, kinds: int) -> Floats:
    """The probabilities of each kind, up to as many, as sums of two floats."""
    found = np.zeros((2, 3, kinds))
    for i, cell in enumerate(run.cells):
        found[:, :, i] = np.array([*map(halves, cell)]).T
    return found


def _times(a: Floats, b: Floats) -> Floats:
    """Of each two kinds, products of sums of two floats, to 100 bits: floats' products are sums of two, by parts of 26 bits each.

    Source: Dekker 1971.
    """
    (x, small), (y, rest) = a[..., :, None], b[..., None, :]
    (x1, x2), (y1, y2) = ((cut - (cut - each), each - (cut - (cut - each))) for each in (x, y) for cut in (_HALF * each,))
    high = x * y
    low = x1 * y1 - high + x1 * y2 + x2 * y1 + x2 * y2 + (x * rest + small * y)
    return np.array([high, low]).reshape(2, 3, -1)


def _of_one_run(found: Replacement | None, epsilon0: Fraction) -> tuple[Part, Probability]:
    """The types of a run where user 1 holds two values, and of one where it holds the same, and the mass of the blanket.

    Those of any report with this epsilon0, where they are not known exactly. None where another user holds the same value: then
    nothing is told by that run, and whatever any other type tells in its place is a spread of that.
    """
    if found is not None and found.runs:
        return found.runs, found.gamma
    exact = [each for each in found.types if isinstance(each, Blanket) and _is_rational(each)] if found is not None else []
    if found is None or not exact or len(exact) < len(found.types):
        return _of_any_run(found, epsilon0)
    same = (Blanket.of((Fraction(r1), Fraction(r1), Fraction(b)) for r1, _, b in each.cells) for each in exact)  # type: ignore[arg-type]
    return tuple(each for each in dict.fromkeys((*exact, *same)) if len(each.cells) > 1), found.gamma


def _of_any_run(found: Replacement | None, epsilon0: Fraction) -> tuple[Part, Probability]:
    """The same of any report with this epsilon0."""
    any_map = of_any_map(ball(epsilon0))
    types = tuple(CutBlanket(each.cells) for each in any_map.types if isinstance(each, Blanket))
    return types, any_map.gamma if found is None else found.gamma


def _bundles(types: Sequence[tuple[Sequence[Any], int]]) -> Iterator[tuple[Any, ...]]:
    """One of several things for each run, where the order of a part's runs does not matter."""
    for choice in product(*(combinations_with_replacement(own, times) for own, times in types)):
        yield tuple(run for part in choice for run in part)


def _sets(parts: Sequence[tuple[tuple[OthersAlike, ...], int]], users: int) -> Iterator[OthersAlike]:
    """Bundles that all others hold; where there are too many, those with one kind of value in all runs of a part that tell most."""
    many = math.prod(math.comb(times + len(sets) - 1, times) for sets, times in parts) > _MOST_SETS
    choices = (
        (run for part in choice for run in part)
        for choice in product(*([(own,) * times for own in sets] for sets, times in parts))
    )
    bundles, too_many = list(map(tuple, choices) if many else _bundles(parts)), _MOST_KINDS + 1
    if len(bundles) > _MOST_SETS:
        told = _told(np.array([np.sum([_squares(run.blanket) for run in runs], axis=0) for runs in bundles]))
        bundles = [bundles[i] for i in np.argsort(-told, kind="stable")[:_MOST_SETS]]
    for runs in bundles:
        first, second = zip(*(run.pair for run in runs), strict=True)
        blankets = tuple(run.blanket for run in runs)
        if (fewest := _fewest_kinds(blankets)) >= too_many:
            continue
        ratios, found = _ratios(blankets), None
        if len(ratios[0]) > _MOST_KINDS and len(runs) > _LONG:
            too_many = fewest  # a second is lost to each that seems to have as many kinds
        if _is_exact(blankets):
            found = Blanket.of_kinds(product_kinds(blankets, 2 * _MOST_CELLS))
        elif len(ratios[0]) <= _MOST_KINDS and ratios[2].min() > _LEAST:
            found = _told_apart(ratios, len(runs), users)
        if found is not None and found.cells:
            yield OthersAlike(found, (first, second), tuple(run.other for run in runs))


def _told_apart(ratios: Ratios, runs: int, users: int) -> CutBlanket:
    """Kinds told apart only as far as it tells, at about the epsilon that is looked for."""
    u, v, p = ratios
    epsilon = min(_DEVIATIONS * math.sqrt(float(p @ (u - v) ** 2) / users), float(np.log(u[v > 0] / v[v > 0]).max()))
    gains = u - math.exp(epsilon) * v
    _, which = np.unique(alike(gains, p, _KINDS), return_inverse=True)
    sums = (_summed(which, each) for each in (u * p, v * p, p))
    return CutBlanket(tuple(zip(*(_balls(each, runs) for each in sums), strict=True)))


def _is_listed(bundle: ProductType) -> bool:
    """Whether its kinds are few enough, and no float is too small."""
    if _fewest_kinds(bundle.runs) > _MOST_KINDS:
        return False
    _, _, p = _ratios(bundle.runs)
    return len(p) <= _MOST_KINDS and bool(p.min() > _LEAST)


def _balls(p: Floats, runs: int) -> list[flint.arb]:
    """Of sums of products of this many probabilities, in floats."""
    return [flint.arb(each, _ROOM * (1 + runs) * each) for each in p.tolist()]


def _summed(which: NDArray[np.int64], values: Floats) -> Floats:
    """Sums of the floats of each group, above 0: right to 1e-14, for `Law` takes masses that are right to 1e-12 after many runs."""
    sums = np.asarray(np.bincount(which, values), dtype=np.float64)
    for group in np.flatnonzero(np.bincount(which) > _FEW_TERMS):
        sums[group] = math.fsum(values[which == group])
    return sums


def _is_exact(runs: Part) -> bool:
    """Whether the law of a bundle is listed as it is."""
    return sum(map(_bits, runs)) <= _MOST_BITS and len(_ratios(runs)[0]) <= _MOST_CELLS


@lru_cache(maxsize=4096)
def _bits(run: Blanket) -> float:
    """Of the longest fraction of a run; infinite where these are balls."""
    exact = [p.denominator.bit_length() for cell in run.cells for p in cell if not isinstance(p, flint.arb)]
    return max(exact, default=0) if _is_rational(run) else math.inf


def _is_rational(each: Blanket) -> bool:
    return not any(isinstance(p, flint.arb) for cell in each.cells for p in cell)


def _fewest_kinds(runs: Part) -> int:
    """A lower bound of the kinds of a bundle, as sums of two sets have |A| + |B| - 1 values or more: from those of pairs of runs.

    So have products, but where a ratio is 0: then one.
    """
    most = 1
    for run, times in Counter(runs).items():
        once, twice = _ratios((run,)), _ratios((run, run))
        if min(once[0].min(), once[1].min()) == 0:
            return 1
        most += times // 2 * (len(twice[0]) - 1) + times % 2 * (len(once[0]) - 1)
    return most


@lru_cache(maxsize=4096)
def _ratios(runs: Part) -> Ratios:
    """Ratios of user 1's two laws to the other user's, and their probabilities under the latter; of too many, those of a part."""
    if not runs:
        return np.ones(1), np.ones(1), np.ones(1)
    before = _ratios(runs[:-1])
    if len(before[0]) > _MOST_KINDS:
        return before
    cells = [(as_ball(r1), as_ball(r2), as_ball(b)) for r1, r2, b in runs[-1].cells if not b == 0]
    last = np.array([[float(r1 / b), float(r2 / b), float(b)] for r1, r2, b in cells]).T
    u, v, p = (np.multiply.outer(a, b).ravel() for a, b in zip(before, last, strict=True))
    keys = np.round(np.log(np.maximum((u, v), 1e-300)) / _EQUAL)
    _, at, which = np.unique(keys[0] + 1j * keys[1], return_index=True, return_inverse=True)
    first, second, mass = (_summed(which.ravel(), each) for each in (u * p, v * p, p))
    means = (np.divide(of, mass, out=ratio[at], where=mass > 0) for of, ratio in ((first, u), (second, v)))
    return next(means), next(means), mass
