"""Several messages replaced in one shuffle: the bound against samples of the multiset, and a count that tells nearly as much."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import flint
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ldpaudit import Mechanism, account
from ldpaudit.accountants.composition.compose import compose
from ldpaudit.accountants.counting.counter import HitCounter, cells
from ldpaudit.accountants.counting.dependent_rows import DependentRows
from ldpaudit.accountants.counting.hits import ComposedHits, MergedHits
from ldpaudit.accountants.counting.one_shuffle import OneShuffle, _crowded
from ldpaudit.accountants.shuffled_hadamard import replaced_elements
from ldpaudit.accountants.shuffling.hidden_message import HiddenTuple, Seen
from ldpaudit.mechanisms import HadamardRangeQueries, ShuffledHadamard, SparseStatisticalQueries
from tests.helpers import slow, some
from tests.oracles.shuffle import shuffled

F = Fraction


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
    [slow([1, 2], [4, 8], 9, 100_000), ([1, 2], [3, 4], 9, 100_000),
     ([1, 2, 4], [3, 5, 6], 5, 3000), slow([1, 2, 3], [4, 5, 6], 5, 3000),
     slow([1, 2, 4], [3, 5, 7], 4, 3000), slow([1, 2, 3], [8, 16, 32], 13, 2_400_000)],
)  # fmt: skip
def test_the_whole_multiset_tells_no_more_than_the_bound_whatever_rows_depend_on_each_other(
    first: list[int], second: list[int], tau: int, messages: int
) -> None:
    bound = OneShuffle(messages, F(1, 2**tau), len(first))
    for epsilon in (0.0, 0.1, 0.2):
        truth, error = sampled_delta(first, second, 2.0**-tau, messages, epsilon)
        assert truth - 5 * error <= bound.delta(epsilon).high <= 1.15 * truth + 5 * error


@pytest.mark.parametrize(("users", "k", "apart"), [(1 << 12, 3, 1.0001), slow(1 << 20, 3, 1.0001), slow(1 << 20, 10, 1.0001)])
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
          slow(OneShuffle(10**24, F(1, 2**70), 40))],
)  # fmt: skip
def test_epsilon_of_delta_keeps_delta_and_delta_falls(m: OneShuffle) -> None:
    for delta, room in ((0.03, 1e-4), (1e-6, 1e-4), (1e-100, 0.1)):
        found = m.epsilon(delta).high
        if math.isfinite(found):
            assert m.delta(found).high <= delta * (1 + room)
            assert m.delta(found * 1.1).high < m.delta(found).high
    assert m.delta(20).high <= m.delta(1).high
    assert m.delta(0).low == m.epsilon(0.1).low == 0
    assert m.epsilon(0).high == math.inf


def test_a_delta_at_epsilon_0_is_known_where_it_is_small() -> None:
    """What may be spent is then far more than delta, and less is tried."""
    assert OneShuffle(10**9, F(1, 256), 2).delta(0).high < 1e-3


@pytest.mark.parametrize(
    "m", [OneShuffle(1, F(1, 2), 2), OneShuffle(50, F(1, 64), 3), OneShuffle(10**6, F(1, 4), 3), OneShuffle(10**12, F(1, 2**6), 16),
          OneShuffle(10**12, F(1, 2**40), 129)],
)  # fmt: skip
def test_where_rows_overlap_often_or_few_messages_speak_for_one_nothing_is_claimed(m: OneShuffle) -> None:
    assert m.delta(0.01).high == 1
    assert m.epsilon(1e-9).high == math.inf


ROWS = [[1, 2, 3], [1, 2, 4, 7], [1, 2, 3, 4], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7], [1, 2, 4, 8, 3, 12, 15, 5]]


@pytest.mark.parametrize("rows", ROWS, ids=str)
@pytest.mark.parametrize("tau", [1, 2, 5])
def test_dependences_of_rows_have_no_sign_and_are_no_more_than_counted(rows: list[int], tau: int) -> None:
    p, k, law = 2.0**-tau, len(rows), pattern_law(rows, 2.0**-tau)
    sums = dict.fromkeys((0.1, 1.0, 2.0), 0.0)
    for mask in range(1, 1 << k):
        inside = [i for i in range(k) if mask >> i & 1]
        r, s = rank([rows[i] for i in inside]), len(inside)
        c = sum(float(q) * math.prod((each >> i & 1) - p for i in inside) for each, q in enumerate(law))
        free = any(rank([rows[j] for j in inside if j != i]) < r for i in inside)
        assert -1e-12 <= c <= (0 if free else p**r) + 1e-12
        sums = {x: total + c * x**s for x, total in sums.items()}
    found = DependentRows(100, F(1, 1 << tau), k)
    for x, total in sums.items():
        assert total <= float(found.shared(flint.arb(x))) * (1 + 1e-9)
    moved = sum(abs(q - math.prod(p if each >> i & 1 else 1 - p for i in range(k))) for each, q in enumerate(law))
    assert moved <= 2.5 * k * (k - 1) * p * p
    assert moved <= float(found.shared(flint.arb(2))) * (1 + 1e-9)


@pytest.mark.parametrize(("rows", "tau", "messages", "size"), [
    ([1, 2, 3], 2, 12, 13), ([1, 2, 3], 3, 8, 9), ([1, 2, 4, 7], 3, 20, 21), ([1, 2, 3, 4], 3, 20, 21), ([1, 2, 3, 4], 4, 60, 32),
])  # fmt: skip
def test_no_event_is_likelier_than_the_series_says(rows: list[int], tau: int, messages: int, size: int) -> None:
    k, p, counts = len(rows), 2.0**-tau, np.arange(size)
    one_message = np.zeros((size,) * k)
    for mask, q in enumerate(pattern_law(rows, p)):
        one_message[tuple(mask >> i & 1 for i in range(k))] += q
    law = np.fft.ifftn(np.fft.fftn(one_message) ** messages).real
    along = [np.reshape(counts, [-1 if i == j else 1 for j in range(k)]) for i in range(k)]
    independent = math.prod((stats.binom.pmf(n, messages, p) for n in along), start=np.ones((size,) * k))
    likely = independent > 1e-14
    rest = np.where(likely, law - independent, 0)
    found = DependentRows(messages, F(1, 1 << tau), k)
    assert np.sum(rest[likely] ** 2 / independent[likely]) ** 0.5 <= float(sum(found.terms, flint.arb(0)))
    for degree in (1, 2, 3):
        norm, sure = map(float, some(found.left_out(degree, 30.0)))
        away = np.abs(counts - messages * p) / (messages * p * (1 - p)) + 1e-12
        weights = np.array([float(found.weight(flint.arb(each), degree)) - 1 for each in away])
        more = rest - independent * sum(weights[n] for n in along)
        for least in (0.0, 1e-4, 1e-2, 0.1, 1.0):
            event = likely & (more > least * independent)
            assert more[event].sum() <= norm * independent[event].sum() ** 0.5 + sure + 1e-12


@pytest.mark.parametrize(("messages", "tau"), [(9, 1), (12, 2), (30, 4)])
def test_means_of_products_of_messages_are_bounded_by_their_recurrence(messages: int, tau: int) -> None:
    p, found = 2.0**-tau, DependentRows(messages, F(1, 1 << tau), 3)
    share = float(found.shared(flint.arb(1)))
    for count in range(messages + 1):
        hits = np.poly1d([1 / p, 1]) ** count * np.poly1d([-1 / (1 - p), 1]) ** (messages - count)
        away, largest = flint.arb(abs(count / messages - p) / (p * (1 - p)) + 1e-12), 0.0
        for a in range(1, 7):
            ways = math.comb(messages, a)
            grown = float(found.weight(away, a) - (found.weight(away, a - 1) if a > 1 else 1)) * 3
            largest = max(largest, (abs(hits.coeffs[::-1][a]) / ways) ** (1 / a))
            assert grown >= ways * (share * largest**3) ** a * (1 - 1e-6) - 1e-300


@pytest.mark.parametrize(("messages", "tau", "k"), [(300, 4, 2), (3000, 5, 3)])
@pytest.mark.parametrize("spent", [1e-3, 1e-6])
def test_messages_for_two_rows_are_few_beside_those_for_one(messages: int, tau: int, k: int, spent: float) -> None:
    p, m, pairs = 2.0**-tau, messages + 1 - k, math.comb(k, 2)
    crowded = some(_crowded(OneShuffle(messages, F(1, 1 << tau), k), spent))
    n = np.arange(max(1, stats.binom.ppf(1e-11, m, p)), stats.binom.ppf(1 - 1e-11, m, p))
    first, second = n[:, None], n[None, :]
    likely = stats.binom.pmf(first, m, p) * stats.binom.pmf(second, m, p)
    truth = sum(
        float(q * np.sum(likely * stats.hypergeom.sf(np.floor(crowded[0] / pairs * first * second - own), m, first, second)))
        for own, q in enumerate(stats.binom.pmf(np.arange(k + 1), k, p))
    )
    assert 0 < pairs * truth <= float(crowded[1]) <= 1.001 * spent


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
def kinds(tau: int, element: int) -> dict[Kind, Fraction]:
    """Law of the kind of a message of this row, or of a random one for row 0: of all tuples of indices in its kernel."""
    found: Counter[Kind] = Counter()
    for message in product(range(1 << BITS), repeat=tau):
        spoken = tuple(all((index & row).bit_count() % 2 == 0 for index in message) for row in range(1, 1 << BITS))
        if element == 0 or spoken[element - 1]:
            found[spoken] += 1
    return {kind: Fraction(n, found.total()) for kind, n in found.items()}


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
    ours, theirs = (shuffled(kinds(tau, element) for element in (*rest, *own)) for own in (first, second))
    bound = MergedHits(users, blanket, Fraction(1, 1 << tau), len(first), len(shared))
    assert bound.delta(0).low > 0.1
    for epsilon in (0.0, 0.1, 0.3, 0.8, 1.5):
        truth = sum(max(float(p) - math.exp(epsilon) * float(theirs.get(seen, 0)), 0.0) for seen, p in ours.items())
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
     slow(SparseStatisticalQueries(10**6, queries=10**4, k=32, changed=16, tau=20, rho=2000)),
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
