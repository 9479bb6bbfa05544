"""The replacement bound is above every data set, and next to the worst one where users are many."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any
from unittest.mock import Mock

import flint
import numpy as np
import pytest

from ldpaudit import Compose, Guarantee, Mechanism, Plan, Repeat, Run, Shuffle, Subsample
from ldpaudit.accountants import account, bassily_smith, count_mean_sketch, local_hashing, rappor
from ldpaudit.accountants.numerics.balls import as_ball, ball
from ldpaudit.accountants.numerics.spread import spread
from ldpaudit.accountants.pld.own_law import table
from ldpaudit.accountants.shuffling import bloom, products, randomizers
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.accountants.shuffling.bounds import BlanketBound
from ldpaudit.accountants.shuffling.clones import Clones
from ldpaudit.accountants.shuffling.replaced import Replacement, of_any_map, replacement
from ldpaudit.accountants.shuffling.spreads import without_spreads
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import Channel, HadamardResponse, Laplace, LocalHashing, SampledAnswer, SubsetSelection, UnaryEncoding
from ldpaudit.mechanisms.bassily_smith import BassilySmith, ProjectedBassilySmith
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from ldpaudit.mechanisms.longitudinal_unary import LongitudinalUnary
from ldpaudit.mechanisms.one_bit import DBitFlip, OneBitMean
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from tests.helpers import typed
from tests.oracles import shuffle as oracle

Row = Sequence[Fraction]


def random_channel(rng: np.random.Generator) -> list[Row]:
    inputs, views = (int(k) for k in rng.integers(2, 4, size=2))
    weights = rng.integers(1, 12, size=(inputs, views)).tolist()
    return [[Fraction(w, sum(row)) for w in row] for row in weights]


def worst_of(rows: Sequence[Row], pair: tuple[int, ...], others: tuple[int, ...], e: Fraction) -> Fraction:
    """User 1 holds the first of two inputs, or the second."""
    laws = oracle.channel(rows)
    first, second = (oracle.shuffled(laws[x] for x in (mine, *others)) for mine in pair)
    return oracle.divergence(first, second, e)


def positive_mean(laws: Sequence[dict[Fraction, Fraction]]) -> Fraction:
    """Of the sum of independent variables; in integers."""
    step = math.lcm(*(w.denominator for law in laws for w in law))
    unit = math.lcm(*(q.denominator for law in laws for q in law.values()))
    sums = {0: 1}
    for law in laws:
        every = product(sums.items(), law.items())
        sums = oracle.law_of((total + int(w * step), ways * int(q * unit)) for (total, ways), (w, q) in every)
    return Fraction(sum(max(total, 0) * ways for total, ways in sums.items()), step * unit ** len(laws))


def terms(first: Row, second: Row, other: Row, e: Fraction) -> dict[Fraction, Fraction]:
    return oracle.law_of(((r1 - e * r2) / r, r) for r1, r2, r in zip(first, second, other, strict=True))


def types_of(rows: Sequence[Row]) -> Iterator[Blanket]:
    """Of a channel, all of whose inputs anybody may hold."""
    for x1, x2 in permutations(range(len(rows)), 2):
        yield from (Blanket.of(zip(rows[x1], rows[x2], row, strict=True)) for row in rows)


def replaced(rows: Sequence[Row]) -> Replacement:
    found = replacement(types_of(rows), sum((min(column) for column in zip(*rows, strict=True)), Fraction(0)))
    assert found is not None
    return found


def bound(found: Replacement, e: Fraction, users: int) -> float:
    with working_precision(precision(users)):
        return float(found.delta(ball(e), users))


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 200))])
def test_the_bound_is_above_every_data_set(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    rows, users = random_channel(rng), 5 if seed < 8 else 2 + seed % 5
    found = replaced(rows)
    ratios = (Fraction(1), Fraction(11, 10), Fraction(3, 2))
    for e, worst in zip(ratios, oracle.worst(oracle.channel(rows), users, *ratios), strict=True):
        assert worst <= bound(found, e, users)


@pytest.mark.parametrize("gamma", [Fraction(1, 300), Fraction(1, 20), Fraction(1, 5), Fraction(9, 10)], ids=str)
@pytest.mark.parametrize("users", [2, 3, 5, 80, 2000])
def test_the_sum_over_users_who_are_passed_is_that_of_its_terms(
    gamma: Fraction, users: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the mean falls exponentially with the users who are left, and where it is only log-convex; or all may be passed."""
    means: dict[str, Callable[[int], flint.arb]] = {
        "exponential": lambda m: (-flint.arb(m) / 50).exp() / 3, "convex": lambda m: 1 / flint.arb(3 * m) ** 2
    }  # fmt: skip
    for name, mean in means.items():
        monkeypatch.setattr(Replacement, "means", lambda *_, mean=mean: lambda _, numbers: list(map(mean, numbers)))
        with working_precision(precision(users)):
            found = Replacement((), gamma).delta(ball(1), users)
            chances = [ball(gamma) * ball(1 - gamma) ** (users - 1 - left) for left in range(1, users)]
            total = sum((chance * mean(left) for left, chance in enumerate(chances, 1)), ball((1 - gamma) ** (users - 1)) * mean(1))
        near = 1.08 if gamma < Fraction(1, 100) else 1.00002 if name == "exponential" else 1.01 if users == 2000 else 1.1
        assert total.lower() <= found <= total * near


def covers(found: Replacement, rows: Sequence[Row], users: int, e: Fraction) -> bool:
    """Whether no assignment of inputs to others has a larger mean of terms than the bound allows any."""
    with working_precision(200):
        (most,) = found.means(ball(e))(users, (users,))
        laws = {(x1, x2): [terms(rows[x1], rows[x2], row, e) for row in rows] for x1, x2 in permutations(range(len(rows)), 2)}
        return all(
            ball(positive_mean([each[x] for x in others]) / users) <= most
            for each in laws.values()
            for others in combinations_with_replacement(range(len(rows)), users)
        )


def stop_loss(law: Iterable[tuple[Fraction, Fraction, Fraction]], e: Fraction, c: Fraction) -> Fraction:
    return sum((max(r1 - e * r2 - c * r, Fraction(0)) for r1, r2, r in law), Fraction(0))


def leaves_out(found: Replacement, rows: Sequence[Row], e: Fraction) -> list[tuple[int, int, int]]:
    """Triples of inputs whose law is smaller in the convex order than none of the types."""
    inputs = range(len(rows))

    def values(each: Blanket) -> list[tuple[Fraction, Fraction, Fraction]]:
        return [(Fraction(r1), Fraction(r2), Fraction(r)) for r1, r2, r in each.cells]  # type: ignore[arg-type]

    types = [values(each) for each in found.types if isinstance(each, Blanket)]
    # Piecewise linear functions of c: one that is above the other at its own corners is above it everywhere.
    tops = [{c: stop_loss(cells, e, c) for c in {(r1 - e * r2) / r for r1, r2, r in cells}} for cells in types]
    left: dict[Blanket, tuple[int, int, int]] = {}
    for x1, x2 in permutations(inputs, 2):
        for x in inputs:
            left.setdefault(Blanket.of(zip(rows[x1], rows[x2], rows[x], strict=True)), (x1, x2, x))
    return [
        triple
        for law, triple in left.items()
        if not any(all(stop_loss(values(law), e, c) <= most for c, most in top.items()) for top in tops)
    ]


def binomial_sum(p: float, m: int, q: float, rest: int) -> np.ndarray:
    counts = [np.array([math.comb(k, j) * r**j * (1 - r) ** (k - j) for j in range(k + 1)]) for r, k in ((p, m), (q, rest))]
    return np.convolve(counts[0], counts[1])


@pytest.mark.parametrize("users", [40, pytest.param(150, marks=pytest.mark.slow)])
def test_among_many_users_it_is_above_all_data_sets_of_a_channel_and_near_the_worst_one(users: int) -> None:
    """Three inputs, of which the view is a bit: the counts of ones, in floats."""
    ones, e = (Fraction(1, 4), Fraction(3, 5), Fraction(9, 20)), Fraction(6, 5)
    rows = [[1 - p, p] for p in ones]
    worst = 0.0
    for a in range(users):
        for b in range(users - a):
            law = np.convolve(binomial_sum(0.25, a, 0.6, b), binomial_sum(0.45, users - 1 - a - b, 0.5, 0))
            laws = [np.convolve(law, [1 - float(p), float(p)]) for p in ones]
            worst = max(worst, *(float(np.maximum(p - float(e) * q, 0).sum()) for p, q in permutations(laws, 2)))
    found = bound(replaced(rows), e, users)
    assert worst * (1 - 1e-12) <= found <= 1.5 * worst


UNARY = LongitudinalUnary(3, Fraction(1, 4), Fraction(1, 5), Fraction(4, 5), Fraction(2, 5), 3)
UNEVEN = Channel([[Fraction(p, 5) for p in row] for row in ((3, 1, 1), (1, 2, 2), (1, 3, 1))])
SIX_ROWS = [[1 + i * j % 5 + 3 * (i == j) for j in range(5)] for i in range(6)]
SIX = Channel([[Fraction(p, sum(row)) for p in row] for row in SIX_ROWS])
BITS = Repeat(KaryRandomizedResponse(2, Fraction(622459, 10**6)), 5)
TWO = Compose(KaryRandomizedResponse(k, Fraction(p, 10**6)) for k, p in ((2, 731059), (4, 475367)))
MILLION: list[tuple[Any, float]] = [
    (UnaryEncoding(k=4, p=Fraction(1, 2), q=Fraction(27, 100)), 1.001), (SubsetSelection(k=12, d=3, p=Fraction(2, 3)), 1.001),
    (HadamardResponse(k=5, p=Fraction(3, 4)), 1.001), (SampledAnswer(8, Fraction(1, 4)), 1.001),
    (KaryRandomizedResponse(k=5, p=Fraction(1, 2)), 1.001),
    (PermanentRappor(4, 1, Fraction(1, 2), 9), 1.005),  # of whose values all but one have one signature
]
SKETCH = HadamardCountMeanSketch(width=4, hashes=3, p=Fraction(3, 4), domain=20)  # more values than have their types listed
NEAR: list[tuple[Plan, float, float | None]] = [
    *((Shuffle(m, 10**6), most, None) for m, most in MILLION), *((Shuffle(SKETCH, users), 1.003, None) for users in (1000, 10**5)),
    (Shuffle(Rappor(3, 1, Fraction(0), Fraction(1, 10), Fraction(1, 3), domain=3), 1000), 1.005, None),
    # Of its inputs the second one hides the other two least if user 1 changes from the last to the first.
    (Shuffle(SIX, 1000), 1.005, None), (Shuffle(Repeat(SIX, 2), 10**4), 1.001, None),
    (Shuffle(Compose([SIX, UNEVEN]), 10**4), 1.001, None),
    (Shuffle(Repeat(TruncatedGeometric(6, Fraction(2, 3)), 3), 10**4), 2.5, None),  # whose types are too many
    (Shuffle(UNEVEN, 1000), 1.005, None), (Shuffle(Repeat(UNEVEN, 3), 10**4), 1.005, None),
    (Shuffle(Repeat(KaryRandomizedResponse(4, Fraction(13, 16)), 3), 10**4), 1.005, None),  # 156 users' bundles are blanket
    (Shuffle(Repeat(KaryRandomizedResponse.for_epsilon(Fraction(1, 4), 2), 12), 10**5), 1.01, None),
    (Shuffle(Repeat(UNARY, 3), 10**4), 1.003, None),  # of more than 5,000 kinds
    # On the saddle point of the largest law another one's integral is larger, which is less on its own.
    (Shuffle(Repeat(PermanentRappor.for_epsilon(2, bits=4, hashes=1, domain=9), 3), 10**4), 1.003, None),
    # What is expected another program found, in floats; of linear hashes, for an arithmetic progression, which they hide least.
    (Shuffle(LocalHashing.for_epsilon(1, 4, 100), 10**6), 1.08, 0.0022158),
    (Shuffle(BITS, 10**6), 1.002, 0.0041184), (Shuffle(TWO, 10**6), 1.002, 0.0048893),
    (Subsample(Shuffle(KaryRandomizedResponse(3, Fraction(57612, 100000)), 10**4), 10**6, 10**4), 1.002, 0.00022159),
]  # fmt: skip


@pytest.mark.few(6)
@pytest.mark.parametrize(("plan", "most", "expected"), NEAR, ids=lambda each: str(each)[:60])
def test_the_two_ends_of_epsilon_are_near_each_other_among_many_users(plan: Plan, most: float, expected: float | None) -> None:
    found = account(plan).epsilon(1e-6)
    assert 0 < found.low <= found.high <= most * found.low
    assert expected is None or found.low == pytest.approx(expected, rel=1e-4)


WEIGHTS = [[Fraction(1) + Fraction((i * j + i + j) % 7, 7) + 2 * (i == j) for j in range(20)] for i in range(20)]
TWENTY = [[weight / sum(row) for weight in row] for row in WEIGHTS]
FLOATS = [
    (DBitFlip.for_epsilon(2, 32, 4), 0.00138606, 0.00138629),
    (DBitFlip.for_epsilon(2, 10, 3), 0.0024157, 0.0024160),
    (OneBitMean.for_epsilon(2), 0.0069997, 0.0069997),
    (Geometric.for_epsilon(2, 10), 0.0058302, 0.0058307),
    (TruncatedGeometric.for_epsilon(2, 10), 0.0058302, 0.0058307),
    (Channel(TWENTY), 0.0015500, 0.0015503),
    (PermanentRappor(16, 2, Fraction(1, 2), 64), 0.022753, 0.022755),
]
"""What a program in floats found, which shares no code with this one; among a million users, at delta = 1e-6."""
ROUNDED = 1.5e-4
"""Relative: its numbers are rounded, and certified ones may be a part in ten thousand wider."""


@pytest.mark.parametrize(("m", "low", "high"), FLOATS, ids=lambda each: str(each)[:40])
def test_the_ends_are_where_floats_found_them(m: Mechanism, low: float, high: float) -> None:
    found = account(Shuffle(m, 10**6)).epsilon(1e-6)
    assert found.low == pytest.approx(low, rel=ROUNDED)
    assert low * (1 - ROUNDED) <= found.high <= high * (1 + ROUNDED)  # what it had without phases


TYPES = [
    UnaryEncoding(k=4, p=Fraction(1, 2), q=Fraction(1, 3)), SampledAnswer(2, Fraction(1, 2)),
    SubsetSelection(k=5, d=2, p=Fraction(3, 5)), HadamardResponse(k=4, p=Fraction(3, 4)), DBitFlip(k=4, d=2, p=Fraction(2, 3)),
    DBitFlip(k=3, d=3, p=Fraction(2, 3)), DBitFlip(k=2, d=1, p=Fraction(2, 3)), OneBitMean(Fraction(1, 4), Fraction(2, 3)),
    OneBitMean(Fraction(1, 4), Fraction(3, 4), Fraction(1, 10), reports=2), TruncatedGeometric(bound=3, alpha=Fraction(1, 2)),
    TruncatedGeometric(bound=6, alpha=Fraction(4, 5)), PermanentRappor(bits=4, hashes=2, f=Fraction(1, 2), domain=8),
    PermanentRappor(bits=4, hashes=3, f=Fraction(2, 3), domain=7),
    Rappor(bits=4, hashes=2, f=Fraction(1, 2), p=Fraction(1, 5), q=Fraction(3, 4), reports=1, domain=6),
    Rappor(bits=3, hashes=2, f=Fraction(1, 2), p=Fraction(1, 4), q=Fraction(3, 4), reports=2, domain=5),
]  # fmt: skip


@pytest.mark.parametrize(
    ("m", "most"), [*((m, 16) for m in TYPES), *((m, 0) for m in TYPES if isinstance(m, Rappor | PermanentRappor))], ids=str
)
def test_the_types_of_a_mechanism_cover_all_its_inputs(m: Mechanism, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that the bound does not list: other inputs than the two or three that it is made of, or too many to compare."""
    monkeypatch.setattr(rappor, "_DIFFERENT", most)
    found = account(Shuffle(m, 5)).bound.replaced  # type: ignore[attr-defined]
    rows = [list(law.values()) for law in table(m, m.inputs).values()]
    for e in (Fraction(1), Fraction(6, 5)):
        mixed = isinstance(m, SampledAnswer | OneBitMean)  # laws that are none of the types, but mixtures of them
        if found.types and not mixed:
            assert not leaves_out(found, rows, e)
        if mixed or len(rows) * len(rows[0]) <= 50:
            assert covers(found, rows, 2 if len(rows[0]) > 6 else 3, e)


SKETCHES = [
    CountMeanSketch(width=2, hashes=2, p=Fraction(2, 3), domain=4),
    CountMeanSketch(width=3, hashes=1, p=Fraction(3, 4), domain=5),
    HadamardCountMeanSketch(width=4, hashes=2, p=Fraction(2, 3), domain=4),
    HadamardCountMeanSketch(width=2, hashes=3, p=Fraction(2, 3), domain=2),
]


@pytest.mark.parametrize("m", SKETCHES, ids=str)
def test_a_sketch_is_bounded_as_if_no_values_collided_and_from_below_as_they_do(
    m: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound of large sketches, whose laws are not listed, of small ones; among these some values always share a bucket."""
    monkeypatch.setattr(count_mean_sketch, "of_mechanism", lambda *_: None)
    found = account(Shuffle(m, 3)).bound  # type: ignore[attr-defined]
    rows = [list(law.values()) for law in table(m, m.inputs).values()]
    inputs = list(m.inputs)
    for e in (Fraction(1), Fraction(6, 5)):
        assert covers(found.replaced, rows, 2, e)
        (truth,) = oracle.worst(oracle.laws(m), 3, e)
        with working_precision(precision(3)):
            above = max(float(each.delta(ball(e), 3, 1e-9).upper()) for each in found.blankets)
            assert truth <= above * (1 + 1e-12)
            for each in found.data_sets:
                attained = worst_of(rows, tuple(map(inputs.index, each.pair)), (inputs.index(each.other),) * 2, e)
                assert each.blanket.delta(ball(e), 3, 1e-9).contains(ball(attained))


ROWS = [
    (BassilySmith(2, Fraction(2, 3)), [(1, 1), (-1, -1), (1, -1), (0, Fraction(1, 2))]),
    (ProjectedBassilySmith(3, 4, Fraction(2, 3), 0), range(4)),
    (ProjectedBassilySmith(4, 3, Fraction(3, 4), 2), range(3)),
]


@pytest.mark.parametrize(("m", "inputs"), ROWS, ids=str)
def test_the_kinds_of_a_row_cover_all_columns(m: Mechanism, inputs: Sequence[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also columns between those of which the types are made; and words that differ in a part of the rows only."""
    monkeypatch.setattr(bassily_smith, "of_mechanism", lambda *_: None)
    found = account(Shuffle(m, 2)).bound.replaced  # type: ignore[attr-defined]
    rows = [[p for _, p in sorted(m.law(x).items())] for x in inputs]
    signs = [i for i, x in enumerate(inputs) if isinstance(x, int) or 0 not in x]  # type: ignore[operator]
    first, second = (each.cells for each in found.types)
    for e in (Fraction(1), Fraction(11, 10), Fraction(3, 2)):
        assert covers(found, rows, 3, e)
        corners = {(r1 - e * r2) / r for r1, r2, r in (*first, *second)}
        tops = {c: (stop_loss(first, e, c), stop_loss(second, e, c)) for c in corners}
        for x1, x2 in permutations(signs, 2):
            for x in signs:
                law = list(zip(rows[x1], rows[x2], rows[x], strict=True))
                below = {c: stop_loss(law, e, c) for c in corners}
                parts = (Fraction(k, 12) for k in range(13))
                assert any(all(below[c] <= q * a + (1 - q) * b for c, (a, b) in tops.items()) for q in parts)


def test_a_large_sketch_is_bounded_from_both_sides() -> None:
    found = account(Shuffle(CountMeanSketch.for_epsilon(4, 1024, 65536), 10**6)).epsilon(1e-6)
    assert 0.028197 <= found.low <= found.high <= 0.0282275  # by another program: from random rows on, to no collisions
    other = account(Shuffle(HadamardCountMeanSketch.for_epsilon(4, 1024, 65536), 10**6)).epsilon(1e-6)
    assert found.low / 2 <= other.low <= other.high <= 1.001 * other.low


REACHED = [(10**3, Fraction(3)), (10**6, Fraction(1, 10)), (10**9, Fraction(1))]
REST = [each for each in product((10**3, 10**6, 10**9), (Fraction(1, 10), Fraction(1), Fraction(3))) if each not in REACHED]


@pytest.mark.parametrize(("users", "epsilon0"), [*REACHED, *(pytest.param(*each, marks=pytest.mark.slow) for each in REST)])
def test_any_map_costs_at_least_what_randomized_responses_cost_and_at_most_the_clones(epsilon0: Fraction, users: int) -> None:
    """Binary and ternary response with this epsilon are such maps."""
    e = Fraction(math.exp(epsilon0)) * (1 - Fraction(1, 10**9))  # of an epsilon that is no larger
    high = account(Shuffle(Guarantee(epsilon0), users)).epsilon(1e-6).high
    for k in (2, 3):
        m = KaryRandomizedResponse(k, e / (e + k - 1))
        assert account(Shuffle(m, users)).delta(high).low <= 1e-6
    with working_precision(precision(users)):
        assert Clones(epsilon0).delta(Fraction(high) * Fraction(99, 100), users) >= 1e-6


def test_laws_of_any_map_are_laws_of_mean_one() -> None:
    with working_precision(200):
        for each in of_any_map(flint.arb(1)).types:
            assert isinstance(each, Blanket)
            for masses in zip(*each.cells, strict=True):
                assert abs(sum(masses) - 1) < 1e-50


def test_a_law_that_another_user_never_has_is_refused() -> None:
    cells = [(Fraction(1, 2), Fraction(0), Fraction(0)), (Fraction(1, 2), Fraction(1), Fraction(1))]
    assert replacement([Blanket.of(cells)], Fraction(1, 2)) is None


def test_at_delta_zero_a_sample_costs_what_one_report_of_it_does() -> None:
    """All views are the one with the largest ratio."""
    m = KaryRandomizedResponse(3, Fraction(1, 2))
    found = account(Subsample(Shuffle(m, 20), 200, 20)).epsilon(0)
    assert found.low == pytest.approx(math.log(1 + (2 - 1) / 10), rel=1e-12)
    assert found.relative_width < 1e-12


@pytest.mark.parametrize(
    ("runs", "users"),
    [([KaryRandomizedResponse(2, Fraction(3, 5))] * 2, 3),
     ([KaryRandomizedResponse(2, Fraction(2, 3)), KaryRandomizedResponse(3, Fraction(1, 2))], 2),
     ([KaryRandomizedResponse(3, Fraction(1, 2))] * 2, 2)], ids=["two bits", "a bit and a digit", "two digits"],
)  # fmt: skip
@pytest.mark.parametrize("most", [1000, 3])
def test_no_data_set_of_bundles_is_above_their_replacement_by_enumeration(
    runs: list[KaryRandomizedResponse], users: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others hold any two values, user 1 perhaps the same in one of the runs; also where kinds are spread, or not told apart."""
    for name in ("_MOST_CELLS", "_KNOTS"):
        monkeypatch.setattr(products, name, min(most, getattr(products, name)))
    tables = [[list(law.values()) for law in table(m, m.inputs).values()] for m in runs]
    rows = [[p * q for p in first for q in second] for first in tables[0] for second in tables[1]]
    bundle = account(Shuffle(Compose(runs), users))
    replaced_bundles = bundle.bound.replaced  # type: ignore[attr-defined]
    ratios = (Fraction(1), Fraction(6, 5), Fraction(2))
    for e, worst in zip(ratios, oracle.worst(oracle.channel(rows), users, *ratios), strict=True):
        assert worst <= bound(replaced_bundles, e, users)
        found = bundle.delta(math.log(e))
        assert found.low <= worst * (1 + Fraction(1, 10**12))
        assert worst <= found.high * (1 + 1e-12)


def exceeding(types: Iterable[Blanket], rows: Sequence[Row], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Triples of inputs, user 1's perhaps alike, of which a convex function of both ratios has a larger mean than of types."""
    triples = product(range(len(rows)), repeat=3)
    laws = {Blanket.of(zip(*(rows[x] for x in each), strict=True)).cells: each for each in triples}
    found = set()
    for a, b, c in rng.integers(-9, 10, size=(200, 3)).tolist():

        def mean(cells: Iterable[tuple[Any, ...]], a: int = a, b: int = b, c: int = c) -> Fraction:
            return sum((max(a * r1 + b * r2 + c * r, Fraction(0)) for r1, r2, r in cells), Fraction(0))

        most = max(mean(each.cells) for each in types)
        found |= {triple for law, triple in laws.items() if mean(law) > most}
    return sorted(found)


@pytest.mark.parametrize("most", [0, 24])
@pytest.mark.parametrize("m", [ProjectedBassilySmith(rows, 5, Fraction(2, 3), 0) for rows in (3, 7)], ids=str)
def test_overlaps_of_words_cover_all_that_a_report_of_a_bundle_tells(m: Any, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The overlaps that occur, and any of words that differ in no more rows."""
    monkeypatch.setattr(bassily_smith, "_MOST_OVERLAPS", most)
    types = account(Shuffle(m, 1000)).bound.replaced.runs  # type: ignore[attr-defined]
    rows = [[p for _, p in sorted(m.law(x).items())] for x in m.inputs]
    assert not exceeding(types, rows, np.random.default_rng(0))
    assert all(sum(each) <= 1 for each in bassily_smith._overlaps(m.public))


@pytest.mark.few(1)
@pytest.mark.parametrize(("g", "prime"), [(2, 5), (3, 7)])
def test_reports_that_match_three_hashes_are_of_two_extreme_kinds(g: int, prime: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the prime is too large to count them."""
    m = LocalHashing(g=g, p=Fraction(3, 4), domain=prime, prime=prime)
    rows = [list(law.values()) for law in table(m, m.inputs).values()]
    for most in (prime, 0):
        monkeypatch.setattr(local_hashing, "_MOST_COUNTED", most)
        types = account(Shuffle(m, 1000)).bound.replaced.types  # type: ignore[attr-defined]
        assert not [each for each in exceeding(types, rows, np.random.default_rng(0)) if each[0] != each[1]]


@pytest.mark.parametrize(("g", "prime"), [(2, 5), (3, 7), (4, 11)])
def test_three_residues_are_alike_as_often_as_all_functions_of_all_values_say(g: int, prime: int) -> None:
    hashes = np.array([[(a * x + b) % prime % g for x in range(prime)] for a, b in product(range(prime), repeat=2)])
    counts = [int((np.ptp(hashes[:, each], axis=1) == 0).sum()) for each in combinations(range(prime), 3)]
    m = LocalHashing(g, Fraction(3, 4), prime, prime)
    assert local_hashing._three_alike(m) == (Fraction(min(counts), prime**2), Fraction(max(counts), prime**2))


@pytest.mark.parametrize("prime", [101, 251])
def test_no_three_values_are_hashed_alike_more_often_than_those_in_arithmetic_progression(prime: int) -> None:
    for g in (3, 4, 5, 8, 31, prime - 1):
        most, sizes = local_hashing._counted(prime, g)[1], local_hashing._sizes(prime, g)
        assert most == local_hashing._progression_alike(prime, g)
        # The longer a shortest vector, the fewer are alike: what is said of several lines holds without the progression, too.
        several = sum(count * Fraction(local_hashing._several_lines(prime, size)) for size, count in sizes if size)
        assert most <= max(several / prime**2, local_hashing._progression_alike(prime, g))
        for c in range(2, prime):
            lattice = [((u, c * u % prime), (u, c * u % prime - prime)) for u in range(-prime + 1, prime)]
            norms = sorted(max(0, *w) - min(0, *w) for two in lattice for w in two)
            for size, _ in sizes:
                if size * norms[1] > prime:
                    assert sum(size - norm for norm in norms if norm < size) <= local_hashing._several_lines(prime, size)


@pytest.mark.parametrize("g", [3, 4, 8])
def test_short_vectors_of_a_large_lattice_leave_no_more_points_than_the_bound(g: int) -> None:
    prime, u = 100_003, np.arange(-33_335, 33_336)
    m = prime // g + 1
    for long in range(g, 20):
        for short in (n for n in range(1, long) if math.gcd(n, long) == 1):
            first = long * pow(short, -1, prime) * u % prime
            norms = [np.maximum(np.maximum(u, v), 0) - np.minimum(np.minimum(u, v), 0) for v in (first, first - prime)]
            found = sum(int(np.maximum(m - each, 0).sum()) for each in norms)
            assert 0.9 < found * g / m**2 <= local_hashing._several_lines(prime, m) * g / m**2 < 1.6


@pytest.mark.parametrize("g", [2, 3, 4, 16])
def test_what_a_report_of_local_hashing_costs_in_a_crowd_is_known(g: int) -> None:
    found = account(Shuffle(LocalHashing.for_epsilon(1, g, domain=10**6), 10**6)).epsilon(1e-6)
    assert found.low <= found.high < 1.0001 * found.low


def test_three_moments_of_bundles_with_many_types_are_those_of_the_types_that_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, users = Compose([KaryRandomizedResponse(3, Fraction(1, 2)), *[KaryRandomizedResponse(2, Fraction(2, 3))] * 2]), 10**5
    listed = account(Shuffle(plan, users)).bound.replaced  # type: ignore[attr-defined]
    monkeypatch.setattr(products, "_MOST_TYPES", 0)
    found = account(Shuffle(plan, users)).bound.replaced  # type: ignore[attr-defined]
    assert found.gamma == listed.gamma
    for e in (Fraction(1001, 1000), Fraction(101, 100), Fraction(11, 10)):
        assert 0.985 <= bound(found, e, users) / bound(listed, e, users) <= 1.002  # by phases up to some percent less


def test_a_type_is_left_out_only_where_others_tell_no_less_in_any_bundle() -> None:
    """Whatever other runs multiply its ratios by: the largest means of positive parts are those of mixtures of types that stay."""
    bound = account(Shuffle(TruncatedGeometric(3, Fraction(1, 2)), 100)).bound  # type: ignore[attr-defined]
    known: Replacement | None = bound.known[0]
    types, _ = products._of_one_run(known, Fraction(3))
    stay = without_spreads(types, 1000)
    assert set(stay) < set(types)
    assert len(stay) <= len(types) / 2

    def means(each: Blanket) -> list[float]:
        first, second, p = np.array([[float(each) for each in cell] for cell in each.cells]).T
        numbers = product((0, 1, 3), (0, 1, 2), (-3, -1, -0.2, 0, 0.3, 1, 4))
        return [float((a * first - b * second - c * p).clip(0).sum()) for a, b, c in numbers]

    above = np.array([means(each) for each in stay]).T
    for each in set(types) - set(stay):
        assert oracle.short_of_mixtures(np.array(means(each)), above) < 1e-12


def test_what_is_no_spread_of_a_type_leaves_it_in() -> None:
    """By however little it is none, which floats do not see."""
    far, near = (Blanket.of([(p, 1 - p, Fraction(1, 2)), (1 - p, p, Fraction(1, 2))]) for p in (Fraction(9, 10), Fraction(2, 3)))
    lopsided = Blanket.of([(Fraction(1, 10), Fraction(1, 5), Fraction(1, 10)), (Fraction(9, 10), Fraction(4, 5), Fraction(9, 10))])
    assert without_spreads((near, far), 8) == (far,)
    assert without_spreads((lopsided, far), 8) == (lopsided, far)
    wide, high = (Blanket.of([(u, v, Fraction(1, 2)), (1 - u, 1 - v, Fraction(1, 2))]) for u, v in (
        (Fraction(1, 10), Fraction(1, 2)), (Fraction(1, 2), Fraction(2, 5))))
    mixed = Blanket.of([(r1 / 2, r2 / 2, b / 2) for each in (wide, high) for r1, r2, b in each.cells])  # type: ignore[misc]
    assert without_spreads((wide, mixed, high), 8) == (wide, high)
    p, q, little = Fraction(9, 10), Fraction(1, 10), Fraction(1, 10**14)
    other = Blanket.of([(p + little, q + little, Fraction(1, 2)), (q - little, p - little, Fraction(1, 2))])
    assert without_spreads((other, far), 8) == (other, far)


def test_bundles_of_types_that_stay_are_bounded_as_those_of_all_are(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Shuffle(Repeat(TruncatedGeometric(3, Fraction(1, 2)), 3), 10**6)
    whole = account(plan).epsilon(1e-6)
    monkeypatch.setattr(products, "_QUICK_KINDS", 0)
    assert account(plan).epsilon(1e-6).high == pytest.approx(whole.high, rel=1e-4)
    monkeypatch.setattr(products, "_MOST_COMPARED", 500)
    assert account(plan).epsilon(1e-6).high == pytest.approx(whole.high, rel=1e-4)
    monkeypatch.setattr(products, "_MANY_USERS", 10**7)
    assert account(plan).epsilon(1e-6).high > 1.3 * whole.high


@pytest.mark.parametrize("times", [5, 9])
def test_bundles_that_stand_for_others_have_no_fewer_runs_of_any_type(times: int) -> None:
    bound = account(Shuffle(KaryRandomizedResponse(4, Fraction(1, 3)), 1000)).bound  # type: ignore[attr-defined]
    types, _ = products._of_one_run(bound.replaced, Fraction(1))
    found = list(map(Counter, products._covering([(types, times)])))
    assert len(found) < math.comb(times + len(types) - 1, times)
    for choice in combinations_with_replacement(types, times):
        runs = Counter(choice)
        assert any(all(other[kind] >= n for kind, n in runs.items()) for other in found)


@pytest.mark.parametrize("m", [
    KaryRandomizedResponse(4, Fraction(1, 3)), SampledAnswer(3, Fraction(1, 4)), TruncatedGeometric(2, Fraction(1, 2)),
    UnaryEncoding.optimized(Fraction(1, 2), 3), Laplace(Fraction(2)),
])  # fmt: skip
def test_bundles_have_no_fewer_kinds_than_pairs_of_runs_tell(m: Mechanism) -> None:
    for each in account(Shuffle(m, 1000)).bound.data_sets:  # type: ignore[attr-defined]
        for times in (1, 2, 3, 6):
            runs = (each.blanket,) * times
            assert products._fewest_kinds(runs) <= len(products._ratios(runs)[0])


def test_bundles_that_floats_cannot_compare_stand_for_themselves() -> None:
    bound = account(Shuffle(SampledAnswer(7, Fraction(1, 10)), 3)).bound  # type: ignore[attr-defined]
    types, _ = products._of_one_run(bound.replaced, Fraction(1))
    assert len(products._covering([(types, 300)])) == math.comb(300 + len(types) - 1, 300)


@pytest.mark.few(2)
@pytest.mark.parametrize(("m", "users"), [
    (KaryRandomizedResponse.for_epsilon(Fraction(1, 2), 2), 100), (KaryRandomizedResponse.for_epsilon(Fraction(1, 2), 7), 10**4),
    (UnaryEncoding.optimized(Fraction(1, 2), 3), 100), (TruncatedGeometric(3, Fraction(85, 100)), 10**4),
], ids=str)  # fmt: skip
def test_bundles_of_reports_of_which_epsilon0_is_known_cost_no_less_than_those_of_any_such_mechanism(m: Any, users: int) -> None:
    epsilon0 = Fraction(account(m).epsilon(0).high)
    known, unknown = (account(Shuffle(Repeat(each, 3), users)).epsilon(1e-6) for each in (m, Guarantee(epsilon0)))
    assert known.low <= unknown.high
    once = account(Shuffle(Compose([m, Guarantee(epsilon0)]), users)).epsilon(1e-6)
    assert account(Shuffle(Repeat(m, 2), users)).epsilon(1e-6).low <= once.high


def test_bundles_of_guarantees_cost_little_more_than_those_of_binary_response_and_less_than_a_whole_one() -> None:
    guarantee, binary = Guarantee(Fraction(1, 2)), KaryRandomizedResponse.for_epsilon(Fraction(1, 2), 2)
    found, least, whole = (
        account(Shuffle(each, 10**5)).epsilon(1e-6) for each in (Repeat(guarantee, 3), Repeat(binary, 3), Guarantee(Fraction(3, 2)))
    )
    assert least.low < found.high < 1.01 * least.high < 0.6 * whole.high
    blanket = account(Shuffle(Repeat(guarantee, 3), 10**5)).bound.replaced.gamma  # type: ignore[attr-defined]
    assert float(blanket) == pytest.approx(math.exp(-1.5))


@pytest.mark.parametrize("few", [0, 40])
def test_bundles_of_a_mechanism_with_many_inputs_are_known_as_those_of_any_map_where_its_types_are_not_listed(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(randomizers, "_MOST_TYPED", few)
    found = account(Shuffle(Repeat(KaryRandomizedResponse(3, Fraction(1, 2)), 2), 1000)).epsilon(1e-6)
    listed = account(Shuffle(Repeat(Channel("1/2, 1/4, 1/4; 1/4, 1/2, 1/4; 1/4, 1/4, 1/2"), 2), 1000)).epsilon(1e-6)
    assert found.low <= listed.high < (2 if few == 0 else 1.1) * found.high
    assert listed.low <= found.high


def test_bundles_with_too_many_types_are_bounded_as_any_report_and_from_below_by_data_sets() -> None:
    m = KaryRandomizedResponse(4, Fraction(3, 10))
    many, epsilon0 = account(Shuffle(Repeat(m, 24), 10**6)), Fraction(account(Repeat(m, 24)).epsilon(0).high)
    any_map = account(Shuffle(Guarantee(epsilon0), 10**6))
    at = any_map.epsilon(1e-6).high
    assert many.delta(at).high == pytest.approx(any_map.delta(at).high, rel=1e-9)
    assert many.delta(account(Shuffle(m, 10**6)).epsilon(1e-6).high).low > 1e-6


def test_a_few_bundles_are_bounded_by_clones_or_alone() -> None:
    """Where too few users draw from the blanket there is no replacement; a bound of 0 would be wrong."""
    plan = Repeat(KaryRandomizedResponse(2, Fraction(3, 4)), 4)
    found = account(Shuffle(plan, 3)).delta(0.1)
    assert 0 < found.low <= found.high <= account(plan).delta(0.1).high


def test_too_far_out_in_a_tail_for_replacement_the_clones_still_bound_delta() -> None:
    filters = Rappor(bits=8, hashes=1, f=Fraction(1, 4), p=Fraction(1, 4), q=Fraction(3, 4), domain=65536)
    found = account(Shuffle(Compose([Run(filters), Run(KaryRandomizedResponse(2, Fraction(4, 5)))]), 10**6))
    for epsilon in (0.1, 1, 2, 2.7):
        assert found.delta(epsilon).high < 1e-200
    bundle: Any = account(Shuffle(Repeat(KaryRandomizedResponse(3, Fraction(1, 2)), 2), 40)).bound  # type: ignore[attr-defined]
    assert bundle.high(Fraction(2), 1e-4) == 0, "two reports alone cost 2 ln 2, which replacement does not know"


def test_a_blanket_is_made_of_every_two_sizes_of_signatures_and_every_overlap() -> None:
    signatures = [frozenset(each) for size in (1, 2, 3) for each in combinations(range(5), size)]
    kinds = {(len(a), len(b), len(a & b)) for a, b in permutations(signatures, 2)}
    assert len(bloom.blankets(5, 3, ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 3), Fraction(2, 3)))) or ()) == len(kinds) == 19


def test_values_that_are_spread_to_fewer_keep_their_mean_and_have_larger_positive_parts() -> None:
    rng = np.random.default_rng(0)
    w, p = rng.standard_normal(2000), rng.dirichlet(np.ones(2000))
    knots, masses = spread(w, p, products._KNOTS)
    assert len(knots) <= products._KNOTS + 2
    assert masses.sum() == pytest.approx(1, rel=1e-12)
    assert masses @ knots == pytest.approx(p @ w, rel=1e-9)
    for c in np.quantile(w, np.linspace(0, 1, 50)):
        exactly = p @ np.maximum(w - c, 0)
        assert exactly * (1 - 1e-12) <= masses @ np.maximum(knots - c, 0) <= 1.01 * exactly + 1e-4


def test_ratios_that_are_taken_for_one_in_every_run_are_off_by_less_than_is_said() -> None:
    little, rare = Fraction(49, 10**11), Fraction(1, 1000)
    run = Blanket.of([(1 - rare, 1 - rare, 1 - rare), (rare * (1 + little), rare * (1 - little), rare)])
    law = products.ProductType((run,) * 12).terms(flint.arb(1))
    largest = float((1 + little) ** 12 - (1 - little) ** 12)
    assert len(law.values) == 1
    assert 1e-8 < largest <= law.values[0]


def test_the_probabilities_of_kinds_that_become_one_are_summed_as_exactly_as_a_law_in_floats_needs() -> None:
    tenths = np.full(20_000, 0.1)
    assert products._summed(np.r_[0, 1, tenths.astype(int)], np.r_[0.2, 0.3, tenths]).tolist() == pytest.approx(
        [float(20_000 * Fraction(0.1) + Fraction(0.2)), 0.3], rel=1e-15
    )


def test_of_too_many_bundles_those_are_tried_that_tell_most(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Compose([UnaryEncoding(3, Fraction(3, 4), Fraction(1, 4)), UnaryEncoding(3, Fraction(2, 3), Fraction(1, 5))])
    bound = typed(BlanketBound, account(Shuffle(plan, 1000)).bound)  # type: ignore[attr-defined]
    monkeypatch.setattr(products, "_MOST_SETS", 2)
    fewer = typed(BlanketBound, account(Shuffle(Compose(plan.parts[::-1]), 1000)).bound)  # type: ignore[attr-defined]

    def told(blanket: Blanket) -> float:
        return sum(float(as_ball(r1) - as_ball(r2)) ** 2 / float(b) for r1, r2, b in blanket.cells)

    every = sorted(told(each.blanket) for each in bound.data_sets)
    assert len(every) > 2
    assert [told(each.blanket) for each in fewer.data_sets] == pytest.approx(every[:-3:-1])


def test_a_bundle_that_nobody_hides_lists_nothing() -> None:
    """Three hundred reports of which each user sends all, whose probabilities are fractions of thousands of digits."""
    found = account(Shuffle(Repeat(SubsetSelection(6, 5, Fraction(15, 16)), 300), 10**4))
    assert not isinstance(found.bound, BlanketBound)  # type: ignore[attr-defined]
    alone = account(Repeat(SubsetSelection(6, 5, Fraction(15, 16)), 300)).epsilon(1e-6).high
    assert found.epsilon(1e-6).high == pytest.approx(alone, rel=1e-9)


def test_of_long_bundles_that_all_others_may_hold_one_with_too_many_kinds_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = Mock(side_effect=products._ratios)
    monkeypatch.setattr(products, "_ratios", looked_at)
    _, sets = account(Shuffle(ProjectedBassilySmith(70, 5, Fraction(3, 4), 3), 100)).bound.known  # type: ignore[attr-defined]
    assert list(products._sets([(sets, 100)], 100))
    seen = {call.args[0] for call in looked_at.call_args_list if len(call.args[0]) == 100}
    assert sum(len(products._ratios(runs)[0]) > products._MOST_KINDS for runs in seen) == 1


def test_kinds_of_a_bundle_that_are_too_many_are_not_told_apart_from_below() -> None:
    """Twenty reports of four kinds have 1,771 kinds of bundles."""
    rows = [[7, 2, 3, 5], [3, 23, 2, 13], [3, 5, 29, 17], [11, 7, 3, 31]]
    bundle = Repeat(Run(Channel([[Fraction(weight, sum(row)) for weight in row] for row in rows])), 20)
    found = account(Shuffle(bundle, 10**6)).epsilon(1e-6)
    assert 20 < found.low < found.high <= account(bundle).epsilon(0).high


NEARLY_TRUE = {digits: 1 - Fraction(1, 10**digits) for digits in (200, 320)}


@pytest.mark.parametrize(
    "plan",
    [Shuffle(UnaryEncoding(k=4, p=Fraction(1, 2), q=1 - NEARLY_TRUE[320]), 10**6),
     Shuffle(Repeat(KaryRandomizedResponse(3, NEARLY_TRUE[200]), 2), 10**6),
     Subsample(Shuffle(Guarantee(Fraction(800)), 10), 100, 10),
     Subsample(Shuffle(KaryRandomizedResponse(3, NEARLY_TRUE[320]), 10), 100, 10)],
)  # fmt: skip
def test_what_floats_do_not_hold_is_bounded_without_replacement(plan: Plan) -> None:
    """Ratios of a bundle's laws, terms of a sample and masses of 1e-320 overflow: what is left is no more than alone."""
    found = account(plan)
    alone = found.epsilon(0).high
    assert 700 < alone < 1500
    for delta in (0.05, 1e-6, 1e-300):
        at = found.epsilon(delta)
        assert 0 <= at.low <= at.high <= alone
        assert at.high > 700
    for epsilon in (0, 1, 600):
        assert found.delta(epsilon).high > 0.09
