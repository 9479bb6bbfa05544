"""Several messages replaced in one shuffle: the bound against samples of the multiset, and a count that tells nearly as much."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import flint
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy import stats

from ldpaudit import Mechanism, account
from ldpaudit.accountants.composition.compose import compose
from ldpaudit.accountants.counting.counter import HitCounter, cells
from ldpaudit.accountants.counting.hits import ComposedHits, MergedHits
from ldpaudit.accountants.counting.one_shuffle import (
    OneShuffle,
    _compound_poisson,
    _independence,
    _jumps,
    _mixture,
    _rounded_up,
)
from ldpaudit.accountants.shuffled_hadamard import replaced_elements
from ldpaudit.accountants.shuffling.hidden_message import HiddenTuple, Seen
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import HadamardRangeQueries, ShuffledHadamard, SparseStatisticalQueries

F = Fraction
LEVEL = 1e-6
"""Of tests on samples with fixed seeds."""


def rank(rows: Sequence[int]) -> int:
    left, found = list(rows), 0
    while left:
        if pivot := left.pop():
            found, low = found + 1, pivot & -pivot
            left = [row ^ pivot if row & low else row for row in left]
    return found


def pattern_law(rows: Sequence[int], p: float) -> NDArray[np.float64]:
    """Which of the rows a random message speaks for, by bit mask: inclusion and exclusion over independent rows."""
    size = 1 << len(rows)
    within = [p ** rank([row for i, row in enumerate(rows) if mask >> i & 1]) for mask in range(size)]
    exact = [
        sum((-1) ** (other ^ mask).bit_count() * within[other] for other in range(size) if other & mask == mask)
        for mask in range(size)
    ]
    law = np.maximum(np.array(exact), 0)
    return np.asarray(law / law.sum(), dtype=np.float64)


def ways(counts: NDArray[np.float64], rows: Sequence[int]) -> NDArray[np.float64]:
    """Ways to choose a message for each of two or three rows, all different."""

    def together(*chosen: int) -> NDArray[np.float64]:
        mask = sum(1 << row for row in chosen)
        return np.asarray(sum(counts[:, each] for each in range(counts.shape[1]) if each & mask == mask))

    if len(rows) == 2:
        a, b = rows
        return together(a) * together(b) - together(a, b)
    pairs = sum(together(*pair) * together(*set(rows) - set(pair)) for pair in combinations(rows, 2))
    return np.asarray(math.prod((together(row) for row in rows), start=np.ones(len(counts))) - pairs + 2 * together(*rows))


def sampled_delta(first: list[int], second: list[int], p: float, messages: int, epsilon: float) -> tuple[float, float]:
    """Delta of the whole multiset and its standard error, from samples with the first rows' messages."""
    rng, size, k = np.random.default_rng(11), 200_000, len(first)
    law = pattern_law(first + second, p)
    counts = rng.multinomial(messages, law, size).astype(float)
    for i in range(k):
        own = np.array([q if mask >> i & 1 else 0.0 for mask, q in enumerate(law.tolist())])
        counts += rng.multinomial(1, own / own.sum(), size)
    ratio = ways(counts, range(k, 2 * k)) / ways(counts, range(k))
    gain = np.maximum(0, 1 - math.exp(epsilon) * ratio)
    return float(gain.mean()), float(gain.std() / math.sqrt(size))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("first", "second", "tau", "messages"),
    [pytest.param([1, 2], [4, 8], 9, 100_000, marks=pytest.mark.slow), ([1, 2], [3, 4], 9, 100_000),
     ([1, 2, 4], [3, 5, 6], 13, 2_400_000), pytest.param([1, 2, 3], [4, 5, 6], 13, 2_400_000, marks=pytest.mark.slow),
     pytest.param([1, 2, 3], [8, 16, 32], 13, 2_400_000, marks=pytest.mark.slow)],
)  # fmt: skip
def test_the_whole_multiset_tells_no_more_than_the_bound_whatever_rows_depend_on_each_other(
    first: list[int], second: list[int], tau: int, messages: int
) -> None:
    bound = OneShuffle(messages, F(1, 2**tau), len(first))
    for epsilon in (0.0, 0.1, 0.2):
        truth, error = sampled_delta(first, second, 2.0**-tau, messages, epsilon)
        assert truth - 5 * error <= bound.delta(epsilon).high <= 1.25 * truth + 5 * error


@pytest.mark.parametrize(("users", "k", "apart"), [
    (1 << 12, 3, 1.09), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1 << 20, 3, 1.002), (1 << 20, 10, 1.02))),
])  # fmt: skip
def test_k_messages_in_one_shuffle_cost_about_what_k_shuffles_cost(users: int, k: int, apart: float) -> None:
    m = ShuffledHadamard.as_printed(1, 1e-6, users, 1 << 20, k)
    alone = ComposedHits(users * m.rho, m.hit, k)
    for delta in (1e-3, 1e-6, 1e-30):
        found, separate = OneShuffle(users * m.rho, m.hit, k).epsilon(delta), alone.epsilon(delta)
        assert separate.low <= found.high <= apart * separate.high


def test_the_smaller_of_the_two_bounds_is_taken() -> None:
    rare, common = ShuffledHadamard(10**6, 1 << 10, 20, 400, 10), ShuffledHadamard(100, 1 << 10, 3, 400, 10)
    for m, together in ((rare, True), (common, False)):
        found = replaced_elements(m, m.k).delta(0.5)
        assert ("together" in found.source) == together
        assert found.high <= OneShuffle(m.users * m.rho, m.hit, m.k).delta(0.5).high
    one = HiddenTuple(4 * 10**8, rare.hit, Seen.ALL, "")
    assert replaced_elements(rare, 1).delta(1) == replace(one.delta(1), source=replaced_elements(rare, 1).delta(1).source)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "m", [OneShuffle(360 * 10**6, F(1, 2**20), 10), OneShuffle(100_000, F(1, 512), 2),
          pytest.param(OneShuffle(10**24, F(1, 2**70), 40), marks=pytest.mark.slow)],
)  # fmt: skip
def test_epsilon_of_delta_keeps_delta_and_delta_falls(m: OneShuffle) -> None:
    for delta in (0.03, 1e-6, 1e-100):
        found = m.epsilon(delta).high
        if math.isfinite(found):
            assert m.delta(found).high <= delta * 1.01
            assert m.delta(found * 1.1).high < m.delta(found).high
    assert m.delta(0).low == m.epsilon(0.1).low == 0
    assert m.epsilon(0).high == math.inf


@pytest.mark.parametrize(
    "m", [OneShuffle(1, F(1, 2), 2), OneShuffle(50, F(1, 64), 3), OneShuffle(10**6, F(1, 4), 3), OneShuffle(10**12, F(1, 2**6), 16)]
)
def test_where_rows_overlap_often_or_few_messages_speak_for_one_nothing_is_claimed(m: OneShuffle) -> None:
    assert m.delta(0.01).high == 1
    assert m.epsilon(1e-9).high == math.inf


def test_eta_covers_a_count_below_l_and_overlaps_that_are_left_out() -> None:
    m, spent = OneShuffle(300_000, F(1, 1024), 3), 1e-4
    found = _mixture(m, spent)
    assert found is not None
    single = 1 / 1024 - 2 / 1024**2
    least = max(count for count in range(293) if 3 * stats.binom.cdf(count - 1, 300_000, single) <= float(found.eta))
    lowered = [float(each) - float(found.terms[-1][1]) for _, each in found.terms]
    lowest = round(3 / lowered[-2])
    assert lowered[-1] == 0
    assert all(abs(each * lowest - round(each * lowest)) < 1e-6 for each in lowered)
    assert 0.9 * least <= lowest <= least, "l, of which eta says what it may"
    weights = [float(w) for w, _ in found.terms]
    assert found.usual == float(found.terms[weights.index(max(weights))][1]) < float(found.terms[0][1])
    kept = sum(float(w) * math.exp(-each) for (w, _), each in zip(found.terms, lowered, strict=True))
    factor, _ = _independence(m)
    assert kept == pytest.approx(float(factor) * (300_003 / 300_001) ** 3, rel=1e-4)


@pytest.mark.parametrize("m", [OneShuffle(300_000, F(1, 1024), 3), OneShuffle(10**6, F(1, 256), 8)])
def test_overlaps_are_a_sum_of_jumps_and_more_than_those_of_independent_rows(m: OneShuffle) -> None:
    with working_precision(192):
        jumps = [(size, float(rate)) for size, rate in _jumps(m)]
        law = [float(mass) for mass in _compound_poisson(_jumps(m), 400)]
    rng, k, p = np.random.default_rng(2), m.replaced, float(m.hit)
    assert jumps[0][0] == min(k, 3)
    assert jumps[0][1] == pytest.approx((m.messages + k) * math.comb(k, 2) * p * p)
    drawn = np.sum([size * rng.poisson(rate, 100_000) for size, rate in jumps], axis=0)
    for value in (0, 6, 30, 60):
        assert stats.binomtest(int((drawn <= value).sum()), 100_000, min(1.0, sum(law[: value + 1]))).pvalue > LEVEL
    hits = stats.binom.pmf(range(k + 1), k, p)
    twice = rng.multinomial(m.messages, hits, 20_000)[:, 2:] @ np.arange(2, k + 1)
    assert twice.mean() < drawn.mean()
    assert np.quantile(twice, 0.999) <= np.quantile(drawn, 0.999)


@given(st.lists(st.floats(1e-9, 1), min_size=1, max_size=30))
def test_rounding_up_keeps_all_mass_and_never_lowers_a_tail(masses: list[float]) -> None:
    found = _rounded_up([flint.arb(mass) for mass in masses])
    assert math.isclose(sum(float(mass) for _, mass in found), sum(masses), rel_tol=1e-12)
    for value in range(len(masses)):
        assert sum(float(mass) for at, mass in found if at >= value) >= sum(masses[value:]) * (1 - 1e-12)


@pytest.mark.parametrize(("messages", "k", "tau"), [(300, 2, 4), (2000, 3, 6)])
def test_multinomial_counts_have_at_most_c_times_the_density_of_poisson_counts(messages: int, k: int, tau: int) -> None:
    total, p = messages + k, 2.0**-tau
    factor, _ = _independence(OneShuffle(messages, F(1, 2**tau), k))
    rng = np.random.default_rng(4)
    law = np.array([p] * (2 * k) + [1 - 2 * k * p])
    near = rng.multinomial(total, law, 2_000)
    wide = np.abs(near[:, :-1] + rng.integers(-15, 16, (2_000, 2 * k)))
    counts = np.concatenate([near[:, :-1], wide[wide.sum(axis=1) <= total]])
    whole = np.column_stack([counts, total - counts.sum(axis=1)])
    ratio = stats.multinomial.logpmf(whole, total, law) - stats.poisson.logpmf(counts, total * p).sum(axis=1)
    assert ratio.max() <= math.log(float(factor))
    assert ratio.max() >= math.log(float(factor)) - 0.02, "and hardly less: the constant is nearly attained"
    c = math.exp(1 / (12 * (messages + 1))) / math.sqrt(1 - 2 * k * p - 1 / (messages + 1))
    assert float(factor) == pytest.approx(c, rel=1e-12), "of step 6 nothing is seen"


@pytest.mark.parametrize("counter", [HitCounter(40, F(1, 3)), HitCounter(9, F(4, 5))], ids=str)
def test_a_message_that_hits_has_the_count_over_its_mean_as_ratio(counter: HitCounter) -> None:
    n, p, found = counter.fewer, float(counter.gamma), cells(counter)
    for y, here, there, ratio in zip(counter.edges(), found.shifted, found.plain, found.ratios, strict=False):
        assert float(here) == pytest.approx(stats.binom.pmf(y - 1, n - 1, p), rel=1e-9)
        assert float(there) == pytest.approx(stats.binom.pmf(y, n, p), rel=1e-9)
        assert float(ratio) == pytest.approx(y / (n * p), rel=1e-12)
    assert float(found.below[0]) == 0
    assert float(found.below[1]) == pytest.approx((1 - p) ** n, rel=1e-9)
    assert found.ends == (True, True)


BITS = 3
"""Length of an index: rows 1 to 7."""

Kind = tuple[bool, ...]
"""Which rows a message speaks for."""


@cache
def kinds(tau: int, element: int) -> dict[Kind, float]:
    """Law of the kind of a message of this row, or of a random one for row 0: of all tuples of indices in its kernel."""
    found: Counter[Kind] = Counter()
    for message in product(range(1 << BITS), repeat=tau):
        spoken = tuple(all((index & row).bit_count() % 2 == 0 for index in message) for row in range(1, 1 << BITS))
        if element == 0 or spoken[element - 1]:
            found[spoken] += 1
    return {kind: n / found.total() for kind, n in found.items()}


def multisets(tau: int, elements: list[int]) -> dict[tuple[Kind, ...], float]:
    """Law of the multiset of kinds of one message of each of these rows."""
    law: dict[tuple[Kind, ...], float] = {(): 1.0}
    for element in elements:
        grown: dict[tuple[Kind, ...], float] = defaultdict(float)
        for seen, p in law.items():
            for kind, q in kinds(tau, element).items():
                grown[tuple(sorted((*seen, kind)))] += p * q
        law = grown
    return law


@pytest.mark.parametrize(("tau", "blanket", "first", "second", "shared", "users"), [
    (3, 4, (1,), (2,), (), 1),
    (3, 3, (1,), (2,), (3,), 1),  # the three rows depend on each other
    (3, 1, (1,), (2,), (3,), 2),
    (3, 3, (1, 2), (4, 7), (), 1),
    (4, 2, (1, 2), (4, 5), (6,), 1),
    (4, 1, (1, 2), (3, 4), (), 2),
])  # fmt: skip
def test_it_is_below_the_divergence_of_all_messages(
    tau: int, blanket: int, first: tuple[int, ...], second: tuple[int, ...], shared: tuple[int, ...], users: int
) -> None:
    rest = [0] * blanket + [*shared] * users + [*second] * (users - 1)
    ours, theirs = multisets(tau, [*rest, *first]), multisets(tau, [*rest, *second])
    bound = MergedHits(users, blanket, Fraction(1, 1 << tau), len(first), len(shared))
    assert bound.delta(0).low > 0.1
    for epsilon in (0.0, 0.1, 0.3, 0.8, 1.5):
        truth = sum(max(p - math.exp(epsilon) * theirs.get(seen, 0.0), 0.0) for seen, p in ours.items())
        found = bound.delta(epsilon).low
        of_cells = compose(bound.occurring[0], "cells of the counted messages").delta(epsilon).low
        assert 0.9 * found <= of_cells <= truth * (1 + 1e-12)
        assert found <= truth * (1 + 1e-12)
        least = bound.epsilon(found).low if found else 0.0
        assert least <= epsilon * (1 + 1e-4)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "m",
    [HadamardRangeQueries.as_printed(1, 1e-6, users=10**6, side=1024),
     HadamardRangeQueries(users=10**6, side=1024, tau=20, rho=376),
     pytest.param(SparseStatisticalQueries(10**6, queries=10**4, k=32, changed=16, tau=20, rho=2000), marks=pytest.mark.slow),
     ShuffledHadamard(10**6, 1024, 20, 2000, 32)],
)  # fmt: skip
def test_several_replaced_messages_are_known_to_a_percent(m: Mechanism) -> None:
    found = account(m).epsilon(1e-6)
    assert found.high <= 1.01 * found.low


@pytest.mark.parametrize(("first", "second"), [([1], [2]), ([1, 2], [4, 8]), ([1, 2], [3, 4]), ([1, 2, 4], [3, 5, 6])])
def test_a_random_message_speaks_for_elements_of_one_side_no_more_often_than_is_said(first: list[int], second: list[int]) -> None:
    p, k = 1 / 64, len(first)
    law = pattern_law(first + second, p).tolist()
    truth = [sum(q for mask, q in enumerate(law) if bool(mask >> k) is theirs and mask) for theirs in (False, True)]
    of_first, of_second = map(float, MergedHits(10, 100, F(1, 64), k, 0)._chances)
    assert truth[0] <= of_first * (1 + 1e-12) < k * p
    assert truth[1] <= of_second * (1 + 1e-12) <= k * p * (1 + 1e-12)


def test_views_that_one_data_set_alone_has_are_more_than_any_epsilon_allows() -> None:
    few = MergedHits(10, 20, Fraction(1, 32), 2, 0)
    sure = few.delta(math.inf).low
    assert 0 < sure <= few.delta(1e5).low <= few.delta(1e3).low <= few.delta(1).low
    assert few.epsilon(sure * 0.99).low == math.inf
    assert few.epsilon(sure * 1.01).low < 100
    assert few.epsilon(0).low == math.inf


def test_messages_that_overlap_too_often_tell_nothing() -> None:
    assert MergedHits(10, 100, Fraction(1, 2), 1, 0).delta(0).low == 0
    assert MergedHits(10, 100, Fraction(1, 64), 1, 33).epsilon(0.01).low == 0
    assert MergedHits(10, 100, Fraction(1, 64), 1, 33).epsilon(0).low == 0
