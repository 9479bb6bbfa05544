"""Shuffled vectors plus Laplace noise: laws of products by integration, words of codes one by one, and data sets."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import laplace

from ldpaudit.accountants import account
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.shuffling.blanket import precision
from ldpaudit.accountants.shuffling.laplace_noise import CutBlanket
from ldpaudit.accountants.shuffling.laplace_vectors import LaplaceVectors, _largest, _possible, _Products, _told
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, FreshProjections, JLHeavyHitter
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.plan import Repeat, Run, Shuffle
from tests.shuffling.test_laplace_noise import stop_loss

SYSTEMS: list[Any] = [
    BucketHeavyHitter(6, 2, 2, Fraction(5, 2)),
    JLHeavyHitter(5, 3, Fraction(2)),
    FreshProjections(3, 2, Fraction(7, 2)),
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
    one, two, third = (column(m, x) for x in (first, second, other))
    alone = (one == two) & (two != third), (two == third) & (one != two), (one == third) & (one != two)
    return tuple(int(np.sum(each)) for each in alone)


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
    columns *= float(found.steps[1]) / np.ptp(columns)
    cuts = np.concatenate([[-np.inf], np.linspace(columns.min(), columns.max(), 5), [np.inf]])
    laws = [reduce(np.multiply.outer, [np.diff(laplace.cdf(cuts - v)) for v in each]) for each in columns]
    assert np.minimum.reduce(laws).sum() >= math.exp(-found.hidden)


@pytest.mark.parametrize("overlapping", [(0, 1, 1), (1, 1, 1), (0, 3, 0), (0, 0, 2), (2, 1, 0), (1, 0, 2)], ids=str)
@pytest.mark.parametrize("s", [0.5, 2.0])
@pytest.mark.parametrize("cells", [8_000, 100])
def test_laws_are_below_their_type_and_above_their_data_set_in_the_convex_order(overlapping: Any, s: float, cells: int) -> None:
    """Coordinates are cut into many intervals, and the laws of these are multiplied."""
    with working_precision(200):
        kinds = (_Products(Fraction(s), (4, 12), is_told, cells).kinds(overlapping) for is_told in (True, False))
        above, least = (np.array([[float(p) for p in cell] for cell in each]) for each in kinds)
    assert len(above) <= max(cells, 27)
    cuts = np.concatenate([[-np.inf], np.arange(37) * s / 36, [np.inf]])
    near, far = np.diff(laplace.cdf(cuts)), np.diff(laplace.cdf(cuts - s))
    a, b, c = overlapping
    held = [near] * a + [far] * b + [near] * c, [near] * (a + b) + [far] * c, [far] * a + [near] * (b + c)
    rows = [reduce(np.multiply.outer, laws).ravel() for laws in held]
    size = math.exp(3 * s)
    for e in (1.0, 1.2, math.exp(s)):
        tested = np.linspace(-e * size, size, 60)
        truth = stop_loss(np.stack(rows, axis=1), e, tested)
        assert (truth <= stop_loss(above, e, tested) + 1e-9 * size).all()
        assert (stop_loss(least, e, tested) <= truth + 1e-9 * size).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_larger_overlap_is_larger_in_the_convex_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 3, 3)
    pairs = [tuple(small.tolist()), tuple((small + rng.integers(0, 2, 3)).tolist())]
    with working_precision(200):
        products = _Products(Fraction(1, 2), (3, 3), True, 8_000)
        less, more = (np.array([[float(p) for p in cell] for cell in products.kinds(each)]) for each in pairs)
    for e in (1.0, 1.1, 1.5):
        tested = np.linspace(-20, 20, 200)
        assert (stop_loss(less, e, tested) <= stop_loss(more, e, tested) + 1e-9).all()


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


@pytest.mark.parametrize("m", [SYSTEMS[0], SYSTEMS[-1], *(pytest.param(m, marks=pytest.mark.slow) for m in SYSTEMS[1:-1])], ids=str)
def test_no_data_set_of_vectors_is_above_the_bound(m: Any) -> None:
    """All others hold one value; seen only as far as intervals, many more of them than the lower end has."""
    users, profile = 2_000, account(Shuffle(m, 2_000))
    epsilon = 0.95 * profile.epsilon(1e-6).low
    vectors = known(m)
    assert epsilon > 0
    delta = profile.delta(epsilon)
    reached = 0.0
    occurring = np.array(sorted({overlap(m, *three) for three in product(m.inputs, repeat=3) if three[0] != three[1]}))
    with working_precision(precision(users)):
        seen = _Products(vectors.steps[0], (1, 16), False, 2_000)
        for a, b, c in occurring[np.argsort(-_told(occurring, vectors.steps[0]))[:4]].tolist():
            value = CutBlanket(seen.kinds((a, b, c))).delta(ball(Fraction(epsilon)).exp(), users, 1e-4)
            assert value.lower() <= delta.high
            reached = max(reached, float(value.lower()))
    assert reached >= 0.97 * delta.low


@pytest.mark.parametrize(
    ("plan", "most"),
    [
        (Shuffle(BucketHeavyHitter(1 << 30, 2, 1, Fraction(1), 0), 1000), 1.01),
        pytest.param(Shuffle(BucketHeavyHitter.for_epsilon(1, 1 << 20, 24, 24), 10**5), 1.04, marks=pytest.mark.slow),
        (Shuffle(Repeat(Run(LaplaceHistogram(3, Fraction(2))), 3), 10**5), 1.01),
        (Shuffle(Repeat(Run(JLHeavyHitter.for_epsilon(1, 1 << 20, rows=4)), 2), 10**4), 1.01),
    ],
    ids=str,
)
def test_the_ends_of_shuffled_vectors_meet(plan: Shuffle, most: float) -> None:
    found = account(plan).epsilon(1e-6)
    assert 0 < found.low <= found.high <= most * found.low


def test_products_of_one_row_are_shuffled_as_the_projections_that_they_show() -> None:
    products, projections = (each(domain=4, rows=1, scale=Fraction(2)) for each in (FreshProducts, FreshProjections))
    assert account(Shuffle(products, 1000)).epsilon(1e-6) == account(Shuffle(projections, 1000)).epsilon(1e-6)


def test_few_users_have_the_bound_of_any_report() -> None:
    found = account(Shuffle(BucketHeavyHitter.for_epsilon(4, 1 << 20, 2, 2), 40)).epsilon(1e-3)
    assert found.high <= 4
    assert "clones" in found.source


@pytest.mark.parametrize("times", [2, 5])
def test_bundles_overlap_by_the_sum_of_their_reports_and_are_hidden_as_often(times: int) -> None:
    one = known(SYSTEMS[0])
    found, rng = one.repeated(times), np.random.default_rng(0)
    assert found.hidden == times * one.hidden
    assert [own for own, *_ in found.held] == [tuple(times * n for n in own) for own, *_ in one.held]
    every, chosen = np.array(one.overlaps), rng.integers(0, len(one.overlaps), (1000, times))
    for each in every[chosen].sum(axis=1):
        assert (np.array(found.overlaps) >= each).all(axis=1).any()


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
