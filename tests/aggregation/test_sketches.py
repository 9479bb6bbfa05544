"""Sums of sketches against brute force over all data sets and outcomes, and what follows from the definitions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from ldpaudit import Aggregate, Repeat, Shuffle, Unsupported, account, audit
from ldpaudit.accountants.aggregation.coordinate import Floats
from ldpaudit.accountants.aggregation.hidden_place import HiddenPlace, hides
from ldpaudit.accountants.aggregation.rows import Rows, ToldRows
from ldpaudit.accountants.count_mean_sketch import summands
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.mechanisms import BinomialNoise, CountMeanSketch, DiscreteLaplace, HadamardCountMeanSketch, UnaryEncoding
from ldpaudit.mechanisms.shared.independent_bits import binomial_law
from ldpaudit.neighbours import REPLACE_ONE
from tests.aggregation.test_exchanged import noise_of
from tests.helpers import raises, some, typed
from tests.oracles.shuffle import law_of
from tests.oracles.sums import Outcomes, divergence, neighbouring, outcomes, summed, worst, worst_of_both
from tests.samples import near

F = Fraction
Sketch = CountMeanSketch | HadamardCountMeanSketch
ROUNDED = F(1, 10**12)
"""Of floats."""
RUNS, SURE = 2000, 5
"""Runs of a system; a mean is within 5 standard errors, and a variance of so many runs, but once in a million."""
ratios = st.sampled_from([F(1), F(6, 5), F(3, 2), F(3), F(20)])
chances = st.sampled_from([F(3, 5), F(2, 3), F(9, 10)])


def told(m: CountMeanSketch, users: int, rounds: int = 1, noise: tuple[BinomialNoise, ...] = ()) -> ToldRows:
    """The upper end where the rows are told, even if another bound is less."""
    return ToldRows(account(Repeat(m, rounds)), users, rounds, noise, typed(Rows, summands(m, REPLACE_ONE)))


sketches = st.builds(CountMeanSketch, st.integers(2, 3), st.just(2), chances, domain=st.just(2)) | st.builds(
    CountMeanSketch, st.just(2), st.just(2), chances, domain=st.just(3)
)
signs = st.builds(HadamardCountMeanSketch, st.just(2), st.just(2), chances, st.integers(2, 4))


@given(sketches | signs, st.integers(1, 3), ratios, st.sampled_from([0, 1]))
@settings(max_examples=32, deadline=None)
@example(HadamardCountMeanSketch(2, 2, F(11, 20), 3), 1, F(1), 1)
@example(CountMeanSketch(2, 2, F(9, 10), domain=2), 3, F(20), 0)  # one row does not tell the two values apart
@example(CountMeanSketch(3, 2, F(2, 3), domain=2), 2, F(3, 2), 1)
def test_a_sum_costs_what_brute_force_over_all_data_sets_and_outcomes_says(m: Sketch, users: int, x: Fraction, trials: int) -> None:
    """Each of the upper ends holds by itself."""
    noise = (BinomialNoise(1, F(1, 3)),) * trials
    truth = worst(m, users, x, noise=noise_of(1, F(1, 3), m.cells) if trials else None)
    assert near(account(Aggregate(m, users, noise)).delta(math.log(x)), truth, ROUNDED)
    assert isinstance(m, HadamardCountMeanSketch) or truth <= told(m, users, noise=noise).delta(math.log(x)).high + ROUNDED


def diverging(m: Sketch, alone: Floats, held: tuple[int, ...], x: float, values: Iterable[int]) -> float:
    """The largest divergence of two of these values, in floats: where others hold some, and are added to this law of all cells."""

    def added(law: Floats, value: int) -> Floats:
        moved = (float(p) * np.roll(law, y, axis=range(m.cells)) for y, p in outcomes(m, value).items())
        return sum(moved, np.zeros_like(law))

    law = reduce(added, held, alone)
    return max(float(np.maximum(added(law, a) - x * added(law, b), 0).sum()) for a, b in permutations(values, 2))


def hidden(m: Sketch, users: int) -> HiddenPlace:
    """The upper end where user 1's place is not told, even if another bound is less."""
    added, noise = summands(m, REPLACE_ONE), Masses.binomial(8, F(1, 2))
    place = some((added.counts if isinstance(added, Rows) else added).place)
    assert hides(place, noise)
    return HiddenPlace(account(m), place, users, noise)


LISTED = np.array([float(p) for p in binomial_law(8, F(1, 2))])


@pytest.mark.parametrize(("m", "users"), [
    (CountMeanSketch(2, 2, F(3, 4), 3), 3), (CountMeanSketch(3, 1, F(3, 4), 3), 4), (CountMeanSketch(2, 2, F(9, 10), 2), 4),
    (CountMeanSketch(2, 1, F(51, 100), 2), 20), (HadamardCountMeanSketch(2, 2, F(3, 4), 3), 3),
    (HadamardCountMeanSketch(2, 2, F(9, 10), 2), 4), (HadamardCountMeanSketch(2, 1, F(51, 100), 2), 20),
], ids=str)  # fmt: skip
def test_noise_that_hides_a_place_costs_what_brute_force_over_all_data_sets_finds(m: Sketch, users: int) -> None:
    alone = reduce(np.multiply.outer, [np.pad(LISTED, (users, users))] * m.cells)
    bound, profile = hidden(m, users), account(Aggregate(m, users, [BinomialNoise(8, F(1, 2))]))
    for x in (1.0, 1.02, 1.25):
        held = combinations_with_replacement(m.inputs, users - 1)
        truth = max(diverging(m, alone, each, x, m.inputs) for each in held)
        assert 0.8 * truth - 1e-9 <= profile.delta(math.log(x)).low <= truth * (1 + 1e-9) + 1e-15
        assert truth <= bound._high(math.log(x)) + 1e-12


@pytest.mark.parametrize("coins", [0, 3])
@pytest.mark.parametrize("m", [
    CountMeanSketch(2, 2, F(3, 4), 2), CountMeanSketch(3, 1, F(3, 4), 3), CountMeanSketch(4, 1, F(3, 5), 5),
    HadamardCountMeanSketch(2, 2, F(3, 4), 2), HadamardCountMeanSketch(4, 1, F(2, 3), 4),
], ids=str)  # fmt: skip
def test_a_place_that_noise_and_so_many_coins_hide_costs_little_less_than_is_certified(m: Sketch, coins: int) -> None:
    step = 1 if isinstance(m, CountMeanSketch) else 2
    fair = np.zeros(step * coins + 1)
    fair[::step] = [float(p) for p in binomial_law(coins, F(1, 2))]
    laws = np.pad(np.convolve(LISTED, fair), 2), np.pad(LISTED, (2, 2 + step * coins))
    seen = m.buckets(m.apart.pair) if m.width > 2 and step == 1 else range(m.cells)
    alone = reduce(np.multiply.outer, [laws[cell not in seen] for cell in range(m.cells)])
    bound = hidden(m, 9)
    place = bound._place(coins)
    for x in (1.0, 1.1, 1.25):
        found, truth = bound._value(place, x) - place[-1], diverging(m, alone, (), x, m.apart.pair)
        assert truth - place[-1] <= found <= 1.01 * truth
        assert place[-1] < 0.02


@pytest.mark.parametrize(("m", "cells"), [(CountMeanSketch(4, 3, F(3, 4), 3), 6), (HadamardCountMeanSketch(4, 3, F(3, 4), 3), 12)])
def test_every_cell_has_as_many_coins_as_are_said_but_for_the_chance_that_is(
    m: Sketch, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HiddenPlace, "_place", lambda _, coins: coins)
    chances, least = zip(*hidden(m, 301)._places, strict=True)
    law = binomial_law(300, F(1, 2) / (m.hashes if cells == 6 else cells))
    assert least[-1] == 0
    for chance, coins in zip(chances[1:], least, strict=False):
        assert cells * sum(law[:coins]) <= chance < cells * sum(law[: coins + 1])


def projections(m: Sketch) -> list[list[int]]:
    """Factors of the cells in the difference of user 1's two values, and in the count of the first one where it is seen."""
    rows = [(int(a), int(b)) for a, b in m.buckets(m.apart.pair).T]
    if isinstance(m, HadamardCountMeanSketch):
        return [[((-1) ** (a & y).bit_count() - (-1) ** (b & y).bit_count()) // 2 for a, b in rows for y in range(m.width)]]
    first, second = ([int(a != b and y == (a, b)[which]) for a, b in rows for y in range(m.width)] for which in (0, 1))
    return [[x - y for x, y in zip(first, second, strict=True)], first]


def weights(m: Sketch) -> list[int]:
    """Of all cells, those that tell the two values apart the best, in the normal limit, if all others hold the first."""
    laws = [outcomes(m, value) for value in m.apart.pair]
    (seen, chances), (others, moved) = ((np.array([*law], dtype=float), np.array([*map(float, law.values())])) for law in laws)
    covariance = np.cov(seen.T, aweights=chances, bias=True)
    best = np.linalg.solve(covariance, chances @ seen - moved @ others)
    return [round(float(weight)) for weight in best * (12 / np.abs(best).max())]


@pytest.mark.parametrize("noise", [(), (BinomialNoise(2, F(1, 3)),)], ids=["clear", "noisy"])
@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardCountMeanSketch])
@pytest.mark.parametrize("size", [(4, 2, 3), (2, 3, 2)], ids=str)
@pytest.mark.parametrize(("p", "x"), [(F(3, 4), F(5, 4)), (F(3, 5), F(3, 2)), (F(19, 20), F(3))], ids=str)
def test_the_lower_end_is_what_the_difference_of_the_values_cells_or_their_sum_shows_or_a_weighted_sum_of_all(
    size: tuple[int, int, int], kind: type[CountMeanSketch], noise: tuple[BinomialNoise, ...], p: Fraction, x: Fraction
) -> None:
    """Among sizes: a third value that collides in a row, rows where both buckets are not the first one, rows that tell nothing."""
    width, hashes, domain = size
    m, users, coins = kind(width, hashes, p, domain), 3, noise_of(2, F(1, 3), 1)
    truth = F(0)
    for factors in [*projections(m), *([] if noise else [weights(m)])]:

        def projected(law: Outcomes, factors: list[int] = factors) -> Outcomes:
            return law_of(((sum(c * z for c, z in zip(factors, y, strict=True)),), p) for y, p in law.items())

        laws = [projected(outcomes(m, value)) for value in m.inputs]
        added: list[Outcomes] = [{(c * z,): p for (z,), p in coins.items()} for c in factors if c and noise]
        is_weighed = max(map(abs, factors)) > 1
        for held in [(laws[m.apart.pair[0]],) * (users - 1)] if is_weighed else combinations_with_replacement(laws, users - 1):
            first, second = (summed([laws[own], *held, *added]) for own in m.apart.pair)
            truth = max(truth, divergence(first, second, x), divergence(second, first, x))
    found = account(Aggregate(m, users, noise)).delta(math.log(x)).low
    assert found == pytest.approx(float(truth), rel=1e-9) or (noise and found > truth)


@pytest.mark.parametrize("rounds", [1, 3])
def test_ranges_have_the_chances_of_the_least_number_of_users_in_a_row_of_all_rounds(rounds: int) -> None:
    m, others = CountMeanSketch(2, 3, F(3, 4), domain=3), 40
    profile = typed(ToldRows, told(m, others + 1, rounds))
    law = binomial_law(others, F(1, 3))
    starts = [least for _, least in profile._ranges]
    for (chance, least), end in zip(profile._ranges, [others + 1, *starts], strict=False):
        exact = sum(law[least:]) ** rounds - sum(law[end:]) ** rounds
        assert exact <= chance <= exact * (1 + ROUNDED)
    assert starts[-1] == 0
    assert len(starts) > 3


@pytest.mark.parametrize("x", [F(1), F(3, 2), F(4)])
def test_two_rounds_of_sketches_cost_at_least_what_is_certified_and_at_most(x: Fraction) -> None:
    m = CountMeanSketch(2, 2, F(3, 4), domain=2)
    truth = worst_of_both(neighbouring(m, 2), neighbouring(m, 2), x)
    assert near(account(Repeat(Aggregate(m, 2), 2)).delta(math.log(x)), truth, ROUNDED)
    assert truth <= told(m, 2, 2).delta(math.log(x)).high + ROUNDED


def test_a_sketch_of_one_hash_function_costs_what_noisy_bits_do() -> None:
    both = CountMeanSketch(16, 1, F(9, 10), 40), UnaryEncoding.flips(F(1, 10), 16)
    sketch, bits = (account(Aggregate(m, 2000)).epsilon(1e-6) for m in both)
    assert 0.998 * bits.low < sketch.low <= bits.high <= sketch.high < 1.0002 * bits.high


def test_the_row_is_told_where_rows_are_few_and_the_reports_are_shuffled_where_they_are_many() -> None:
    few, many = (CountMeanSketch.for_epsilon(4, 256, hashes, 100) for hashes in (2, 64))
    shuffled, found = (account(plan(few, 1000)).epsilon(1e-6) for plan in (Shuffle, Aggregate))
    assert found.low < found.high < 0.6 * shuffled.low
    shuffled, found = (account(plan(many, 10**5)).epsilon(1e-6) for plan in (Shuffle, Aggregate))
    assert found.low < found.high == shuffled.high
    weak = account(Aggregate(CountMeanSketch.for_epsilon(1, 256, 64, 100), 10**5)).epsilon(1e-6)
    assert weak.low < weak.high < 1.14 * weak.low


@pytest.mark.slow
def test_noise_hides_what_reports_tell_and_users_hide_more() -> None:
    m, noise = CountMeanSketch.for_epsilon(4, 16, 4, 40), DiscreteLaplace(F(9, 10))
    plans = Aggregate(m, 200), Aggregate(m, 200, [noise]), Aggregate(m, 2000, [noise])
    clear, noisy, more = (account(plan).epsilon(1e-4) for plan in plans)
    assert 0 < more.low < more.high < noisy.high < clear.high
    assert noisy.low < clear.low
    assert noisy.high <= account(DiscreteLaplace(F(9, 10), (1, -1))).epsilon(1e-4).high


@pytest.mark.parametrize("m", [CountMeanSketch(4, 3, F(2, 3), 5), HadamardCountMeanSketch(4, 3, F(2, 3), 5)], ids=str)
def test_a_sum_hides_nothing_at_delta_0(m: Sketch) -> None:
    pure, local = account(Aggregate(m, 7)).epsilon(0), account(m).epsilon(0)
    assert (pure.low, pure.high) == (local.low, local.high)
    assert account(Aggregate(m, 7, [DiscreteLaplace(F(1, 2))])).epsilon(0).high <= local.high
    if isinstance(m, CountMeanSketch):
        rows = told(m, 7)
        assert rows.epsilon(0) == rows.bound.epsilon(0)
        assert not rows._known, "what it costs with a row told is not asked for"


@pytest.mark.few(1)
@pytest.mark.parametrize("m", [CountMeanSketch(4, 3, F(3, 4), 5), HadamardCountMeanSketch(4, 3, F(3, 4), 5)], ids=str)
def test_a_noisy_run_adds_noise_to_every_cell(m: Sketch) -> None:
    counts, rng, noise = {0: 30, 1: 10}, np.random.default_rng(2), BinomialNoise(400, F(1, 3))
    plans = Aggregate(m, 40), Aggregate(m, 40, [noise])
    clear, noisy = (np.array([plan.run(counts, rng) for _ in range(RUNS)]) for plan in plans)
    added = m.width / (m.width - 1) / float(2 * m.p - 1)  # to the estimate, by one to a value's cell in one row
    cells = 1 if isinstance(m, CountMeanSketch) else m.width
    wanted = clear.var(axis=0) + added**2 * m.hashes * cells * float(noise.variance)
    assert np.all(np.abs(noisy.var(axis=0) / wanted - 1) < SURE * math.sqrt(4 / RUNS))
    assert np.all(np.abs(noisy.mean(axis=0) - clear.mean(axis=0)) < SURE * np.sqrt(2 * wanted / RUNS))


def test_sums_of_sketches_are_not_audited() -> None:
    raises(Unsupported, "no attack on sums of this mechanism's reports", audit, Aggregate(CountMeanSketch(4, 3, F(2, 3), 5), 9))
