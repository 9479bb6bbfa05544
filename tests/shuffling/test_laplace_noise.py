"""Shuffled numbers and vectors plus Laplace noise: independent digits, few users and products of laws by integration, data sets."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import laplace

from ldpaudit import Guarantee, Mechanism, Repeat, Run, Shuffle, Subsample, account
from ldpaudit.accountants.numerics.balls import as_ball, ball
from ldpaudit.accountants.shuffling import laplace_vectors
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.accountants.shuffling.bounds import AnyReportBound, BlanketBound
from ldpaudit.accountants.shuffling.clones import Clones
from ldpaudit.accountants.shuffling.laplace_noise import MOST, CutBlanket, _types, bound, reports as intervals
from ldpaudit.accountants.shuffling.laplace_vectors import LaplaceVectors, _largest, _possible, _told
from ldpaudit.accountants.shuffling.plan import _attained
from ldpaudit.accountants.shuffling.vector_laws import Products
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import BucketHeavyHitter, GaussianReport, GlpsHeavyHitter, Laplace, LaplaceHistogram
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, FreshProjections, JLHeavyHitter
from tests.helpers import some
from tests.oracles.shuffle import short_of_mixtures

ONE = Laplace(Fraction(1))
CUT = 3e-4
"""By how much of itself the cuts and the tolerance may move an epsilon at s = 1, from a thousand users on."""
FEW_CUT = 2e-2
"""By how much of itself they may move a delta of two or three users."""
INTEGRAL = 1e-4
"""Relative error of the sums that stand for integrals: their steps are 1/100 of a scale."""
REPLACED = {10**3: 4e-3, 10**4: 1.5e-3, 10**6: 5e-4}
"""By how much replacement may move an epsilon, which loses some users and phases."""
PRINTED = 1e-7
"""Relative precision of the table's digits."""

# Epsilon at delta = 1e-6, by a contour integral in 30 digits or in floats: all others hold 0, and user 1 does under the first
# data set, or under the second one, or all others hold 1/2; the blanket.
TABLE = {
    10**3: (0.1104735685628393, 0.103163417, 0.099559563, 0.130197758507039),
    10**4: (0.031302898, 0.030680932, 0.028897489, 0.037843084),
    10**6: (0.0024971041, 0.0024929425, 0.0023213419, 0.0030656836),
}


def divergences(s: float, users: int, epsilon: float, which: slice = slice(None)) -> list[Any]:
    """Three data sets and the blanket, in the table's order, or some of them."""
    found = some(bound(Fraction(s), (0.0, s), users))
    with working_precision(precision(users)):
        e = ball(Fraction(epsilon)).exp()
        return [b.delta(e, users, 1e-4) for b in [*(each.blanket for each in found.data_sets), *found.blankets][which]]


@pytest.mark.parametrize("users", [30, 10**3, 10**6])
def test_of_the_curve_of_a_report_alone_nearly_all_is_known_that_one_data_set_attains(users: int) -> None:
    """As of reports whose pair of worst inputs is known, and of no other input anything."""
    found = _attained(AnyReportBound(Clones(Fraction(1)), users), account(ONE))
    for epsilon in (0.0, 0.5 / users**0.5, 2 / users**0.5):
        (truth,) = divergences(1.0, users, epsilon, slice(1))
        low = found.attained(Fraction(epsilon), 1e-6).value
        assert 0.9 * truth <= low.upper()
        assert low.lower() <= truth.upper()


@pytest.mark.parametrize("users", [10**6, *(pytest.param(users, marks=pytest.mark.slow) for users in (10**3, 10**4))])
def test_every_data_set_and_the_blanket_reach_delta_where_the_table_has_it(users: int) -> None:
    for i, side in enumerate((-1, -1, -1, 1)):
        epsilons = (TABLE[users][i] * (1 + side * by) for by in (-PRINTED, CUT, -CUT))
        at, cut, printed = (divergences(1.0, users, epsilon, slice(i, i + 1))[0] for epsilon in epsilons)
        if side < 0:
            assert at.lower() <= 1e-6 <= cut.upper()
            assert printed.upper() < 1e-6
        else:
            assert cut.lower() <= 1e-6 <= at.upper()
            assert printed.lower() > 1e-6


def reports(x: float, s: float, pieces: int = 100) -> NDArray[np.float64]:
    """Probabilities of narrow intervals, by the density in their middles, and of both tails."""
    middles = (np.arange(pieces) + 0.5) * s / pieces
    return np.array([laplace.cdf(-x), *laplace.pdf(middles - x) * s / pieces, laplace.sf(s - x)])


def shuffled(*laws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Law of the reports in random order."""
    product: NDArray[np.float64] = reduce(np.multiply.outer, laws)
    orders = list(permutations(range(len(laws))))
    return np.asarray(sum(product.transpose(order) for order in orders) / len(orders))


def divergence(first: Sequence[NDArray[np.float64]], second: Sequence[NDArray[np.float64]], epsilon: float) -> float:
    return float(np.maximum(shuffled(*first) - math.exp(epsilon) * shuffled(*second), 0).sum())


@pytest.mark.parametrize(("users", "epsilon"), [(2, 0.0), (2, 0.2), (2, 0.7), (3, 0.3)])
@pytest.mark.parametrize("s", [0.5, 1.0])
def test_few_users_by_integration(users: int, epsilon: float, s: float) -> None:
    if epsilon >= s:
        assert all(found == 0 for found in divergences(s, users, epsilon))
        return
    zero, one, half = (reports(x, s) for x in (0.0, s, s / 2))
    kept, changed, hidden = [zero] * users, [one, *[zero] * (users - 1)], [half] * (users - 1)
    truths = [
        divergence(kept, changed, epsilon),
        divergence(changed, kept, epsilon),
        divergence([zero, *hidden], [one, *hidden], epsilon),
    ]
    *attained, blanket = divergences(s, users, epsilon)
    for found, truth in zip(attained, truths, strict=True):
        assert truth * (1 - FEW_CUT) <= found.upper()
        assert found.lower() <= truth * (1 + INTEGRAL)
    mixed = [zero, one][: users - 1]
    assert max(*truths, divergence([zero, *mixed], [one, *mixed], epsilon)) * (1 - INTEGRAL) <= blanket.upper()


def require_laws(found: BlanketBound) -> None:
    """All laws sum to one, and no part is negative."""
    for blanket in (*found.blankets, *(each.blanket for each in found.data_sets)):
        first, second, others = (sum(map(as_ball, column), as_ball(Fraction(0))) for column in zip(*blanket.cells, strict=True))
        for total in (first, second, others + as_ball(blanket.silence)):
            assert total.contains(1)
            assert total.rad() < 1e-25
        assert all(as_ball(part) >= 0 for cell in blanket.cells for part in cell)


@pytest.mark.parametrize("s", [1e-6, 1.0, 12.0, pytest.param(40.0, marks=pytest.mark.slow)])
def test_all_laws_sum_to_one_and_no_part_is_negative(s: float) -> None:
    found = some(bound(Fraction(s), (0.0, s), 100))
    with working_precision(precision(100)):
        require_laws(found)
    assert found.quick.blankets[0].cells[int(2 * s) :], "of two intervals a scale at least, also where bounds are quick"
    if s <= 1:  # then user 1's types are listed, but of the quick ones only their moments are known
        assert [len(each.replaced.types) > 0 for each in (found, found.quick) if each.replaced] == [True, False]


def test_composed_curves_use_a_wider_bound_which_is_not_much_wider() -> None:
    found = some(bound(Fraction(1), (0.0, 1.0), 10**5))
    for epsilon in (0.001, 0.01):
        fine, quick = ((b.low(Fraction(epsilon), 1e-5), b.high(Fraction(epsilon), 1e-5)) for b in (found, found.quick))
        assert quick[0].lower() < fine[0].lower() < min(fine[1].upper(), quick[1].upper())
        assert quick[0].lower() > fine[0].lower() * (1 - FEW_CUT)
        assert quick[1].upper() < fine[1].upper() * (1 + 2 * FEW_CUT)


Atoms = NDArray[np.float64]
"""Rows of user 1's two laws and another user's."""


def stop_loss(laws: Atoms, e: float, c: NDArray[np.float64]) -> NDArray[np.float64]:
    gains = (laws[:, :1] - e * laws[:, 1:2] - laws[:, 2:] * c).clip(0)
    return np.asarray(gains.sum(axis=0), dtype=np.float64)


def floats(types: Iterable[Blanket]) -> list[Atoms]:
    return [np.array([[float(as_ball(p)) for p in cell] for cell in each.cells]) for each in types]


@pytest.mark.few(3)
@pytest.mark.parametrize("s", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_any_three_numbers_are_below_a_mixture_of_types_in_the_convex_order(s: float, seed: int) -> None:
    """User 1's two inputs and another user's; the mixture is found by linear programming."""
    rng = np.random.default_rng(seed)
    with working_precision(200):
        types = floats(_types(Fraction(s), 12, 2))
    cuts = np.concatenate([[-np.inf], np.arange(4001) * s / 4000, [np.inf]])  # what is seen of them tells less
    corners = [(0.02, 1, 0), (1, 1 / 48, 0), (1, 0.9, 0.97), (0, 1, 1 / 48), (0.01, 0.99, 0), (0, 0.91, 0), (0.05, 0.96, 0)]
    for x1, x2, x in s * np.array([*corners, *rng.uniform(0, 1, (12, 3))]):
        e = math.exp(abs(x1 - x2) * rng.random() ** 2)
        c = np.concatenate([np.linspace(-e * math.exp(s), math.exp(s), 50), np.linspace(-2 * e, 2, 50)])
        truth = stop_loss(np.stack([np.diff(laplace.cdf(cuts - z)) for z in (x1, x2, x)], axis=1), e, c)
        above = np.stack([stop_loss(each, e, c) for each in types], axis=1)
        assert short_of_mixtures(truth, above) <= 1e-9 * math.exp(s)


REST = [(0.3, 300, 0.0532), (1.0, 300, 0.195), (3.0, 300, 1.02), (0.3, 20_000, 0.00537), (1.0, 20_000, 0.0193)]
LONG = [pytest.param(*each, marks=pytest.mark.slow) for each in REST]


@pytest.mark.parametrize(("s", "users", "epsilon"), [(3.0, 20_000, 0.0829), *LONG])
def test_no_data_set_on_three_numbers_is_above_the_bound(s: float, users: int, epsilon: float) -> None:
    """At 0.9 times epsilon at delta = 1e-6; all others hold one number, which is no end; seen only as far as intervals."""
    rng, profile = np.random.default_rng(users), account(Shuffle(Laplace(1 / Fraction(s)), users))
    high, cuts = profile.delta(epsilon).high, [Fraction(s) * j / 40 for j in range(41)]
    with working_precision(precision(users)):
        for x1, x2, x in [(0, 40, 0), (40, 0, 0), (1, 40, 0), (0, 40, 1), *rng.integers(0, 41, (6, 3)).tolist()]:
            laws = (intervals(cuts[i], cuts) for i in (x1, x2, x))
            found = CutBlanket(tuple(zip(*laws, strict=True))).delta(ball(Fraction(epsilon)).exp(), users, 1e-4)
            assert found.lower() <= high


def test_the_two_ends_of_a_million_histograms_are_within_a_thousandth() -> None:
    """Between the ends that another program found, in floats, with 32 intervals."""
    found = account(Shuffle(LaplaceHistogram(3, Fraction(1)), 10**6)).epsilon(1e-6)
    assert 0.005156 <= found.low <= 0.0051607
    assert 0.0051581 <= found.high <= 0.005162


@pytest.mark.slow
def test_secret_samples_of_noise_and_bundles_of_laplace_noise_have_two_ends() -> None:
    for m in (GaussianReport(Fraction(1)), ONE, LaplaceHistogram(3, Fraction(1))):
        sampled, once = (account(plan).epsilon(1e-6) for plan in (Subsample(Shuffle(m, 10**5), 10**6, 10**5), Shuffle(m, 10**5)))
        assert 0 < sampled.low <= sampled.high <= 1.01 * sampled.low < once.low
        if not isinstance(m, GaussianReport):
            bundle = account(Shuffle(Repeat(Run(m), 3), 10**5)).epsilon(1e-6)
            assert 0 < once.high < bundle.low < bundle.high < account(Repeat(Run(m), 3)).epsilon(0).high


@pytest.mark.parametrize("m", [LaplaceHistogram(3, Fraction(1, 50)), Laplace(Fraction(1, 50)), Laplace(Fraction(2**40))], ids=str)
def test_ends_too_near_or_too_far_apart_have_their_clones(m: Any) -> None:
    found = account(Shuffle(m, 10**6)).delta(1e-13)
    assert "clones" in found.source or "not shuffled" in found.source
    assert found.low == 0 if m.scale > 1 else 0.97 < found.low <= found.high


SYSTEMS: list[Any] = [
    BucketHeavyHitter(6, 2, 2, Fraction(5, 2)),
    JLHeavyHitter(5, 3, Fraction(2)),
    FreshProjections(3, 2, Fraction(7, 2)),
    GlpsHeavyHitter(4, 1, 1, 2, Fraction(2)),
    GlpsHeavyHitter(8, 1, 1, 2, Fraction(5)),
    LaplaceHistogram(2, Fraction(2)),
    LaplaceHistogram(4, Fraction(2)),
]


def known(m: Mechanism) -> LaplaceVectors:
    found: LaplaceVectors = account(Shuffle(m, 1000)).bound.vectors  # type: ignore[attr-defined]
    return found


def column(m: Any, x: int) -> NDArray[np.float64]:
    return np.asarray(np.eye(m.k)[x] if isinstance(m, LaplaceHistogram) else m.column(x), dtype=np.float64)


def overlap(m: Any, first: int, second: int, other: int) -> tuple[int, ...]:
    """By the vectors themselves."""
    found = of_vectors(*(column(m, x) for x in (first, second, other)))
    return found if isinstance(m, GlpsHeavyHitter) else tuple(map(sum, zip(found[:3], found[3:6], strict=True)))


def of_vectors(one: NDArray[np.float64], two: NDArray[np.float64], third: NDArray[np.float64]) -> tuple[int, ...]:
    """Where all three numbers differ, another user's becomes user 1's first if it is 0, and else 0."""
    differ = (one != two) & (two != third) & (one != third)
    shown = np.where(differ, np.where(third == 0, one, 0), third)
    alone = (one == two) & (two != shown), (two == shown) & (one != two), (one == shown) & (one != two)
    apart = np.ptp([one, two, shown], axis=0) > 1
    counts = [*(each & ~apart for each in alone), *(each & apart for each in alone), differ & (third != 0), differ & (third == 0)]
    return tuple(int(np.sum(each)) for each in counts)


@pytest.mark.parametrize("m", SYSTEMS, ids=str)
def test_every_three_vectors_overlap_no_more_than_is_known(m: Any) -> None:
    vectors = known(m)
    for three in product(m.inputs, repeat=3):
        if three[0] != three[1]:
            found = overlap(m, *three)
            assert any(all(n <= most for n, most in zip(found, each, strict=True)) for each in vectors.overlaps)
    assert all(own == overlap(m, *pair, other) for own, pair, other in vectors.held)
    assert vectors.hidden <= max(sum(overlap(m, x, x2, x2)) for x, x2 in product(m.inputs, repeat=2)) * vectors.steps[1]


@pytest.mark.parametrize("m", SYSTEMS, ids=str)
def test_every_vector_has_the_blanket(m: Any) -> None:
    """What two numbers, or one of all, have in common, cut into intervals: its mass is no less than is said."""
    found, columns = known(m), np.array([column(m, x) for x in m.inputs])
    columns *= float(found.steps[1]) / np.diff(np.unique(columns)).min()
    cuts = np.concatenate([[-np.inf], np.linspace(columns.min(), columns.max(), 5), [np.inf]])
    laws = [reduce(np.multiply.outer, [np.diff(laplace.cdf(cuts - v)) for v in each]) for each in columns]
    gamma = float(account(Shuffle(m, 1000)).bound.replaced.gamma)  # type: ignore[attr-defined]
    assert np.minimum.reduce(laws).sum() >= gamma * (1 - 1e-9)
    assert gamma >= math.exp(-found.hidden) * (1 + 0.1 * isinstance(m, FreshProjections))


THREE = [
    ((1, 0), (0, 1), (0, 0)), ((1, 1, 0), (1, 0, 1), (0, 0, 0)), ((1, 1, 1), (0, 0, 0), (0, 0, 0)), ((0, 0), (1, 1), (0, 0)),
    ((1, 1, 1), (1, 1, 0), (0, 0, 0)), ((1, 0, 0), (1, 1, 1), (0, 0, 0)), ((1, 0), (-1, 1), (-1, 0)), ((1, 1), (1, -1), (-1, 1)),
    ((1, 1), (1, 0), (0, 0)), ((1, 1), (-1, -1), (0, 0)),
    ((-1, -1), (0, 0), (1, 1)), ((0, -1), (-1, 0), (1, 1)), ((0, 1), (1, 0), (-1, 0)),
]  # fmt: skip


@pytest.mark.few(16)
@pytest.mark.parametrize("held", THREE, ids=str)
@pytest.mark.parametrize("s", [0.5, 2.0])
@pytest.mark.parametrize("cells", [8_000, 100])
def test_laws_are_below_their_types_and_above_their_data_set_in_the_convex_order(held: Any, s: float, cells: int) -> None:
    """Coordinates are cut into many intervals, whose laws are multiplied. In place of a 0 in the middle another has either end."""
    *near, a, b, c, outer, middle = of_vectors(*map(np.array, held))
    splits = [(i, b + c - i) for i in range(b + c + 1)] if middle else [(b, c)]
    with working_precision(200):
        told, seen = (Products(Fraction(s), (4, 12), is_told, cells, cells) for is_told in (True, False))
        tables = told.quotients([(*near, a, *each, outer, middle) for each in splits])
        assert tables is not None
        (least,) = floats([CutBlanket(seen.kinds((*near, a, b, c)))])
        spread = [told.type((*near, a, *each, outer, middle), (12, 60)) for each in splits]
    columns = (each[0] for each in (tables.differences + tables.seconds, tables.seconds, tables.others))
    types = [np.stack(each, axis=1)[each[2] > 0] for each in zip(*columns, strict=True)]
    assert max(map(len, types)) <= max(cells, 27) + 1
    parts = 408 if len(held[0]) == 2 else 36  # a multiple of the intervals below
    cuts = np.concatenate([[-np.inf], np.arange(parts * min(map(min, held)), parts + 1) * s / parts, [np.inf]])
    rows = [reduce(np.multiply.outer, [np.diff(laplace.cdf(cuts - s * v)) for v in each]).ravel() for each in held]
    size = math.exp(3 * s)
    for e in (1.0, 1.2, math.exp(s)):
        tested = np.linspace(-e * size, size, 60)
        truth = stop_loss(np.stack(rows, axis=1), e, tested)
        above = np.stack([stop_loss(each, e, tested) for each in types], axis=1)
        assert short_of_mixtures(truth, above) <= 1e-9 * size
        assert outer or middle or (stop_loss(least, e, tested) <= truth + 1e-9 * size).all()
        with working_precision(200):
            laws = [each.terms(ball(Fraction(e))) for each in spread if each is not None]
            merged = floats([CutBlanket(seen.data_set((*near, a, b, c), math.log(e), fine=0))])[0]
        few, many = ([(law.values, law.masses) for law in each] for each in (laws, [law.closer() for law in laws if law.closer]))
        for found in (few, many):
            above = np.stack([p @ np.maximum(w[:, None] - tested, 0) for w, p in found], axis=1)
            assert all(len(w) <= 64 and p.sum() == pytest.approx(1, abs=1e-12) for w, p in found)
            assert short_of_mixtures(truth, above) <= 1e-9 * size
            assert above.min(axis=1) == pytest.approx(truth, abs=0.3 * size)
        assert outer or middle or len(held[0]) > 2 or (stop_loss(merged, e, tested) <= truth + 1e-9 * size).all()


@pytest.mark.parametrize("s", [1, 2, 21, 22])
def test_all_types_are_listed_or_none(monkeypatch: pytest.MonkeyPatch, s: int) -> None:
    """Of large steps floats hold the probabilities of some overlaps, and not of all."""
    monkeypatch.setattr(laplace_vectors, "_HARDLY", 0.0)
    vectors = known(m := GlpsHeavyHitter(4, 1, 1, 2, Fraction(1, s)))
    different = [each for each in vectors.overlaps if any(each[1:3] + each[4:6])]
    types = account(Shuffle(m, 1000)).bound.replaced.types  # type: ignore[attr-defined]
    assert len(types) in (0, len(different))
    assert bool(types) == (s < 21)


@pytest.mark.parametrize(("varying", "weight"), [(4, 4), (6, 4), (9, 4), (40, 30), (200, 150), (1000, 1000)])
def test_overlaps_that_are_rounded_up_are_at_least_all_others(varying: int, weight: int) -> None:
    """Of vectors that differ in at most `weight` coordinates, of which `varying` are not always one number."""
    found = np.array(_largest(_possible(varying, weight), Fraction(1, 4)))
    assert len(found) <= 300
    rng = np.random.default_rng(0)
    tried = rng.integers(0, weight + 1, (20_000, 3))
    fits = (tried.sum(axis=1) <= varying) & (tried.sum(axis=1) - tried.min(axis=1) <= weight)
    for each in tried[fits]:
        assert (found >= each).all(axis=1).any()


@pytest.mark.few(1)
@pytest.mark.parametrize("m", [*SYSTEMS[::3], *(pytest.param(m, marks=pytest.mark.slow) for m in SYSTEMS[1:3])], ids=str)
def test_no_data_set_of_vectors_is_above_the_bound(m: Any) -> None:
    """All others hold one value; seen only as far as intervals, many more of them than the lower end has."""
    users, profile = 2_000, account(Shuffle(m, 2_000))
    epsilon = 0.95 * profile.epsilon(1e-6).low
    vectors = known(m)
    assert epsilon > 0
    delta = profile.delta(epsilon)
    reached = 0.0
    triples = (overlap(m, *three) for three in product(m.inputs, repeat=3) if three[0] != three[1])
    occurring = np.array(sorted({each for each in triples if not any(each[6:])}))
    with working_precision(precision(users)):
        seen = Products(vectors.steps[0], (1, 16), False, 2_000, 2_000)
        for each in occurring[np.argsort(-_told(occurring, vectors.steps[0]))[:4]].tolist():
            value = CutBlanket(seen.kinds(tuple(each))).delta(ball(Fraction(epsilon)).exp(), users, 1e-4)
            assert value.lower() <= delta.high
            reached = max(reached, float(value.lower()))
    assert reached >= 0.97 * delta.low


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("plan", "most"),
    [(Shuffle(BucketHeavyHitter(1 << 30, 2, 1, Fraction(1), 0), 1000), 1.01),
     (Shuffle(GlpsHeavyHitter(1 << 23, 2, 1, 8, Fraction(900)), 10**4), 1.01),
     pytest.param(Shuffle(BucketHeavyHitter.for_epsilon(1, 1 << 20, 24, 24), 10**5), 1.04, marks=pytest.mark.slow),
     (Shuffle(Repeat(Run(LaplaceHistogram(3, Fraction(2))), 3), 10**5), 1.01),
     (Shuffle(Repeat(Run(JLHeavyHitter.for_epsilon(1, 1 << 20, rows=4)), 2), 10**4), 1.01)], ids=str,
)  # fmt: skip
def test_the_ends_of_shuffled_vectors_meet(plan: Shuffle, most: float) -> None:
    found = account(plan).epsilon(1e-6)
    assert 0 < found.low <= found.high <= most * found.low


def test_products_of_one_row_are_shuffled_as_the_projections_that_they_show() -> None:
    products, projections = (each(domain=4, rows=1, scale=Fraction(2)) for each in (FreshProducts, FreshProjections))
    assert account(Shuffle(products, 1000)).epsilon(1e-6) == account(Shuffle(projections, 1000)).epsilon(1e-6)


@pytest.mark.slow
def test_few_users_of_vectors_are_no_worse_than_any_report() -> None:
    found = account(Shuffle(BucketHeavyHitter.for_epsilon(4, 1 << 20, 2, 2), 40)).epsilon(1e-3)
    assert found.high < account(Shuffle(Guarantee(Fraction(4)), 40)).epsilon(1e-3).high <= 4


@pytest.mark.parametrize("m", SYSTEMS, ids=str)
@pytest.mark.parametrize("times", [2, 5])
def test_bundles_overlap_by_the_sum_of_their_reports_and_are_hidden_as_often(times: int, m: Any) -> None:
    one = known(m)
    found, rng = one.repeated(times), np.random.default_rng(0)
    assert found.hidden == times * one.hidden
    for own, pair, other in found.held:
        assert own == tuple(map(sum, zip(*(overlap(m, *three) for three in zip(*pair, other, strict=True)), strict=True)))
    every, chosen = np.array(one.overlaps), rng.integers(0, len(one.overlaps), (1000, times))
    for each in every[chosen].sum(axis=1):
        assert (np.array(found.overlaps) >= each).all(axis=1).any()


def test_a_bundle_of_vectors_is_bounded_as_vectors_and_as_any_report_is() -> None:
    one, clones = account(Shuffle(SYSTEMS[0], 12)).bound, AnyReportBound(Clones(Fraction(4)), 12)  # type: ignore[attr-defined]
    two: Any = laplace_vectors.repeated(one, 2, clones)
    assert (two.vectors, two.otherwise) == (one.vectors.repeated(2), clones)
    far = replace(one, vectors=replace(one.vectors, steps=(MOST, MOST + 1)))
    assert laplace_vectors.repeated(far, 2, clones) is None, "no number that s may be is out of range"


@pytest.mark.parametrize("step", [Fraction(1, 10**6), Fraction(1, 3), Fraction(5, 2)])
def test_probabilities_in_floats_and_their_differences_are_right_to_fourteen_digits(step: Fraction) -> None:
    overlap = (1, 2, 1, 0, 1, 2, 1, 2)
    with working_precision(200):
        told = Products(step, (3, 12), True, 3000, 3000)
        ((a, b, c), _), tables = told._factors(overlap), told.quotients([overlap])
        assert tables is not None
        sent = (-2 * ball(step) ** 2 / 2 - ball(step)).exp()
        laws = tables.differences, tables.seconds, tables.others
        columns = (x[0, 0, :-1].tolist() for x in laws)
        for ((_, p, p2), (_, q, q2), (_, r, r2)), *found in zip(product(a, b, c), *columns, strict=True):
            for each, exact in zip(found, (p2 * (q2 * r - q * r2), p2 * q * r2, sent * p * q * r), strict=True):
                assert abs(exact - each) <= abs(exact) * 1e-14
        assert [float(x[0, 0, -1]) for x in laws] == pytest.approx([0, 0, float(1 - sent)], rel=1e-15)


def test_words_that_are_all_one_tell_nothing_and_tiny_steps_next_to_nothing() -> None:
    blank = JLHeavyHitter(2, 1, Fraction(1), seed=1)  # whose only row is 0 for both values
    assert not blank.vectors.any()
    assert account(Shuffle(Repeat(Run(blank), 2), 1000)).epsilon(1e-6).high == 0
    assert account(Shuffle(BucketHeavyHitter(2, 4, 1, Fraction(10**12)), 1000)).epsilon(1e-6).high < 1e-8


@pytest.mark.parametrize("users", [17, 30])
def test_bundles_of_few_users_are_no_worse_than_alone(users: int) -> None:
    """Where delta of the bundle alone falls faster than what guides the search."""
    bundle = Repeat(Run(Laplace(Fraction(1000))), 300)
    assert account(Shuffle(bundle, users)).epsilon(1e-6).high <= account(bundle).epsilon(1e-6).high * (1 + 1e-9)


def test_a_hundred_reports_of_either_user_hide_nobody_and_no_array_is_made_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Products, "quotients", lambda self, overlaps: pytest.fail("laws are tabulated"))
    bundle = Repeat(Run(FreshProducts(4, 1, Fraction(2))), 100)
    found, alone = account(Shuffle(bundle, 2)).epsilon(1e-6), account(bundle).epsilon(1e-6)
    assert alone.high - 1 < found.low <= found.high < alone.high * 1.001
