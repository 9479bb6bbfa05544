"""Range queries: the nodes against explicit matrices, the costs against all multisets, and the whole system."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any

import flint
import numpy as np
import pytest

from ldpaudit import Rigour, Unsupported, account
from ldpaudit.accountants import range_queries, shuffled_heavy_hitters, shuffled_quantiles
from ldpaudit.accountants.counting.hits import ComposedHits, HiddenHits
from ldpaudit.accountants.range_queries import any_two_values
from ldpaudit.accountants.shuffling.hidden_message import Chain, HiddenTuple, Seen
from ldpaudit.certificates.proof import _by_ratio
from ldpaudit.mechanisms import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shared.dyadic_ranges.nodes import Grid
from ldpaudit.profile import Number
from ldpaudit.studies.design import Goal, design
from tests.helpers import raises, slow
from tests.oracles.hadamard import Oracle
from tests.oracles.pairs import excess, heads, joint
from tests.oracles.shuffle import divergence, laws
from tests.samples import around, meet, same_law

TWO = math.log(2)
F = Fraction


def boxes_of(grid: Grid) -> list[list[tuple[int, int]]]:
    lines = [(a, b) for a in range(grid.side) for b in range(a, grid.side)]
    return [list(box) for box in product(lines, repeat=grid.dimensions)]


def matrix(grid: Grid) -> flint.fmpq_mat:
    columns = [grid.column(value) for value in range(grid.cells)]
    return flint.fmpq_mat(grid.cells, grid.cells, [int(n in column) for n in range(grid.cells) for column in columns])


@pytest.mark.parametrize("grid", [Grid(2), Grid(7), Grid(8), Grid(13), Grid(64), Grid(4, 2), Grid(3, 2), Grid(2, 3)], ids=str)
def test_a_row_is_the_query_times_the_inverse_of_the_matrix_of_columns(grid: Grid) -> None:
    inverse = matrix(grid).inv()
    assert all(abs(entry) <= 1 for entry in inverse.entries())
    for box in boxes_of(grid)[:: 1 + grid.cells // 20]:
        inside = [all(a <= x <= b for x, (a, b) in zip(grid.coordinates(v), box, strict=True)) for v in range(grid.cells)]
        found = flint.fmpq_mat(1, grid.cells, [int(each) for each in inside]) * inverse
        assert {node: int(sign.p) for node, sign in enumerate(found.entries()) if sign != 0} == grid.row(box)


@pytest.mark.parametrize("grid", [Grid(b) for b in (2, 3, 8, 11, 12, 47, 48, 63)] + [Grid(4, 2), Grid(3, 2), Grid(5, 2)], ids=str)
def test_the_most_nodes_of_columns_rows_and_differences_are_attained(grid: Grid) -> None:
    columns = [set(grid.column(value)) for value in range(grid.cells)]
    assert max(map(len, columns)) == grid.most_nodes == grid.sizes(np.arange(grid.cells)).max()
    assert max(len(a - b) for a in columns for b in columns) == grid.most_replaced == len(grid.levels)
    assert max(len(grid.row(box)) for box in boxes_of(grid)) == grid.most_terms
    starting = [box for box in boxes_of(grid) if all(a == 0 for a, _ in box)]
    assert max(len(grid.row(box)) for box in starting) == grid.most_prefix_terms


@pytest.mark.parametrize("grid", [Grid(13), Grid(8), Grid(5, 2), Grid(4, 3)], ids=str)
def test_counts_of_nodes_answer_every_box_exactly(grid: Grid) -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, grid.cells, 300)
    points = np.array([grid.coordinates(v) for v in values.tolist()])
    boxes = np.sort(rng.integers(0, grid.side, (60, grid.dimensions, 2)), axis=2)
    truth = [np.all((points >= box[:, 0]) & (points <= box[:, 1]), axis=1).sum() for box in boxes]
    held = grid.held(values)
    assert np.array_equal(grid.values(points), values)
    assert grid.totals(held.astype(float), boxes).tolist() == truth
    assert [held[list(grid.column(v))].min() >= 1 for v in values.tolist()] == [True] * 300
    for level in grid.levels:
        own = Counter(grid.nodes_at(values, level).tolist())
        assert all(own[node] == held[node] for node in own if node >= 0)
        assert all(grid.level_of(node) == level for node in own if node >= 0)


def worst(oracle: Oracle, number: int, columns: list[tuple[int, ...]], users: int) -> float:
    """Over all pairs of values and all data of the others, by all multisets of messages, at e^epsilon = 2."""
    others = [sum(chosen, ()) for chosen in combinations_with_replacement(columns, users - 1)]
    pairs = list(combinations(columns, 2))
    return max(oracle.pair(number, rest, a, b).delta(TWO).low for rest in others for a, b in pairs)


@pytest.mark.parametrize(
    ("m", "domain", "columns", "exact"),
    [(HadamardRangeQueries(1, 2, 1, 1), 2, [(1, 2), (2, 3)], F(1, 4)),
     (HadamardRangeQueries(2, 2, 1, 1), 2, [(1, 2), (2, 3)], F(9, 64)),
     (HadamardRangeQueries(1, 2, 1, 1), 4, [(1, 2), (2, 5)], F(25, 128)),
     (RangeQueries(2, 2, 1, 1), 2, [(1,), (3,)], F(5, 32))],
)  # fmt: skip
def test_two_values_cost_what_all_multisets_say(m: Any, domain: int, columns: list[tuple[int, ...]], exact: Fraction) -> None:
    found = worst(Oracle(domain, m.tau), m.users * m.rho, columns, m.users)
    ours = account(m).delta(TWO)
    assert found == pytest.approx(float(exact), rel=1e-12)
    assert ours.low <= float(exact) * (1 + 1e-12) <= ours.high * (1 + 2e-12)


def test_four_values_of_one_oracle_cost_no_more_than_the_chain_and_what_all_multisets_say() -> None:
    m, columns = HadamardRangeQueries(1, 4, 1, 1), [(1, 2, 4), (2, 4, 5), (3, 4, 5), (4, 5, 6)]
    assert [m.oracle.elements(m.grid.column(v)) for v in range(4)] == columns
    profile, oracle = account(m), Oracle(4, 1)
    assert oracle.pair(1, (), columns[0], columns[3]).delta(TWO).low == pytest.approx(11 / 32, rel=1e-12)
    for epsilon in (0.0, 0.4, TWO, 2.0):
        found = max(oracle.pair(1, (), a, b).delta(epsilon).low for a, b in combinations(columns, 2))
        assert profile.delta(epsilon).low <= found * (1 + 1e-12)
        assert found <= profile.delta(epsilon).high


def merged(atoms: Iterable[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Views of one likelihood ratio, taken together."""
    return [(p, q) for _, p, q in _by_ratio((1, p, q) for p, q in atoms)]


@pytest.mark.parametrize(("users", "dimensions"), [(1, 1), (2, 1), (5, 1), (1, 2), (2, 2), (1, 3), slow(4, 2), slow(2, 3)])
def test_boxes_in_one_two_and_three_dimensions_cost_what_all_multisets_say(users: int, dimensions: int) -> None:
    """One oracle a width: over all data of all users, the multisets of all oracles together, at e^epsilon = 2."""
    m = RangeQueries(users, 2, 1, 1, dimensions)

    @cache
    def seen(level: tuple[int, ...], others: tuple[int, ...], a: int, b: int) -> list[tuple[Fraction, Fraction]]:
        oracle = Oracle(m.oracle(level).domain, m.tau)
        law = oracle.blanket(users * m.rho)
        for e in others:
            law = oracle.plus(law, e)
        first, second = oracle.plus(law, a), oracle.plus(law, b)
        return merged((first.get(v, F(0)), second.get(v, F(0))) for v in set(first) | set(second))

    def element(level: tuple[int, ...], value: int) -> int:
        place = int(m.grid.places(np.array([value]), level)[0])
        return m.oracle(level).elements(() if place < 0 else (place,))[0]

    worst = F(0)
    for rest in combinations_with_replacement(range(m.grid.cells), users - 1):
        for a, b in permutations(range(m.grid.cells), 2):
            atoms = [(F(1), F(1))]
            for level in m.grid.levels:
                held = tuple(sorted(element(level, other) for other in rest))
                each = seen(level, held, element(level, a), element(level, b))
                atoms = merged((p * r, q * s) for p, q in atoms for r, s in each)
            worst = max(worst, excess(atoms, 2))
    found = account(m).delta(TWO)
    assert around(found, worst)
    assert found.high <= 2 * worst


@pytest.mark.parametrize(
    ("m", "exact"),
    [(CountMinRangeQueries(4, 2, 1, 50, F(1, 4)), F(81, 256)), (CountMinRangeQueries(6, 4, 1, 50, F(1, 2)), F(93265, 262144))],
    ids=str,
)
def test_a_sketch_with_injective_hashes_costs_what_enumeration_says(m: CountMinRangeQueries, exact: Fraction) -> None:
    assert m.colliding_rows == 0
    found = account(m).delta(TWO)
    assert found.low <= exact <= found.high
    assert found.high - found.low < 1e-12
    assert max(divergence(a, b, F(2)) for a, b in permutations(laws(m), 2)) == exact


def direct(messages: int, p: Fraction, shuffles: int, ratio: Fraction) -> Fraction:
    """All pairs of counts, shuffle by shuffle."""
    m = messages + 1
    law = heads(m, p)
    once = [(i * law[i] * law[j] / (m * p), j * law[i] * law[j] / (m * p)) for i, j in product(range(m + 1), repeat=2)]
    return excess(joint(*[once] * shuffles), ratio)


@pytest.mark.parametrize(("messages", "shuffles"), [(1, 1), (2, 1), (5, 1), (2, 2), (1, 3), slow(15, 2)])
@pytest.mark.parametrize("p", [F(1, 2), F(1, 4)])
def test_messages_in_one_or_several_shuffles_are_two_counters_each_and_composed_exactly(
    messages: int, shuffles: int, p: Fraction
) -> None:
    profiles = [ComposedHits(messages, p, shuffles), *([HiddenTuple(messages, p, Seen.ALL, "")] if shuffles == 1 else [])]
    for ratio, profile in product((F(1), F(2), F(7, 2)), profiles):
        found, truth = profile.delta(math.log(ratio)), direct(messages, p, shuffles, ratio)
        assert around(found, truth)
        assert found.high <= found.low * 1.001


@pytest.mark.parametrize(("messages", "tau", "shuffles"), [(1, 100, 1024), (1, 1, 400), (5, 10, 20)])
def test_what_takes_long_to_enumerate_is_enclosed_otherwise(messages: int, tau: int, shuffles: int) -> None:
    found = ComposedHits(messages, F(1, 2**tau), shuffles).delta(1)
    assert found.rigour == Rigour.INTERVAL
    assert 0 < found.low <= found.high <= 1


@pytest.mark.parametrize(("messages", "p"), [(30, F(1, 4)), (300, F(1, 16)), (10**8, F(1, 2**20))])
def test_counters_agree_with_the_integral_of_one_hidden_message(messages: int, p: Fraction) -> None:
    single, composed = HiddenTuple(messages, p, Seen.ALL, ""), ComposedHits(messages, p, 1)
    for epsilon in (0.1, 0.6):
        a, b = single.delta(epsilon), composed.delta(epsilon)
        assert meet(b, a)
        assert b.high <= a.high * 1.001


def test_what_hides_the_others_is_less_than_what_is_known_of_them_and_exact_where_it_can_be_computed() -> None:
    known = ComposedHits(50, F(1, 8), 1)
    exact = HiddenTuple(50, F(1, 8), Seen.SECOND, "")
    for epsilon in (0.0, 0.5, 1.0):
        assert HiddenHits(known).delta(epsilon).low <= exact.delta(epsilon).low
        assert HiddenHits(known).delta(epsilon).low >= (1 - 1 / 8) * known.delta(epsilon + 0.14).low
    assert HiddenHits(known).epsilon(0.05).low <= exact.epsilon(0.05).low
    assert HiddenHits(known).epsilon(0.05).low > 0.4


@pytest.mark.parametrize("m", [RangeQueries(2, 4, 1, 1), RangeQueries(2, 3, 2, 1)], ids=str)
def test_several_oracles_of_two_users_cost_what_their_views_say_or_more_and_no_more_than_the_bound(m: RangeQueries) -> None:
    profile, (first, second) = account(m), laws(m)
    for epsilon in (0.0, TWO, 1.5):
        assert around(profile.delta(epsilon), divergence(first, second, F(math.exp(epsilon))), F(1, 10**12))


def test_one_oracle_needs_as_many_messages_for_ten_levels_as_each_of_ten_oracles_and_the_chain_ten_times_as_many() -> None:
    p = F(1, 1 << 20)
    at = [ComposedHits(round(hits * 2**20), p, 10).delta(1) for hits in (359, 356)]
    assert at[0].high <= 1e-6 < at[1].low
    shared = [HadamardRangeQueries(10**6, 1024, 20, rho) for rho in (377, 376)]
    assert account(shared[0]).delta(1).high <= 1e-6 < account(shared[1]).delta(1).high
    chain = [Chain(HiddenTuple(rho * 10**6, p, Seen.ALL, ""), 10, "") for rho in (3768, 3760)]
    assert chain[0].delta(1).high <= 1e-6 < chain[1].delta(1).high
    assert HadamardRangeQueries.as_printed(1, 1e-6, 10**6, 1024).rho == 74982
    printed = CountMinRangeQueries.as_printed(1, 1e-6, 10**10, 16, F(1, 10), dimensions=2)  # tau = log2(2 * 256 * 10), k = 5**2
    assert (printed.rows, printed.buckets) == (13, 50 * 10**10)


@pytest.mark.slow
@pytest.mark.parametrize(("stem", "sizes", "rho"), [
    ("range_queries", {"users": 10**6, "side": 1024, "tau": 20}, 376),
    ("shuffled_heavy_hitters", {"users": 2**20, "domain": 1024, "tau": 20, "threshold": 1}, 359),
])  # fmt: skip
def test_the_least_noise_is_found_by_a_certified_search(stem: str, sizes: dict[str, int], rho: int) -> None:
    answer = design(stem, sizes, Goal(F(1), F(1, 10**6)))
    assert (answer.parameter, answer.value, answer.is_tight) == ("rho", rho, True)


def test_any_two_values_of_a_sketch_cost_no_more_than_the_bound() -> None:
    m = CountMinRangeQueries(300, 32, 2, 5000, F(1, 5))
    assert m.colliding_rows == 0
    profile, bound = account(m), any_two_values(m)
    assert profile.delta(0.5).low <= bound.delta(0.5).high <= 1.3 * profile.delta(0.5).low
    crowded = CountMinRangeQueries(300, 32, 2, 7, F(1, 5))
    assert crowded.colliding_rows == 2
    assert any_two_values(crowded).delta(0.5).high > bound.delta(0.5).high


@pytest.mark.few(1)
@pytest.mark.parametrize("m", [RangeQueries(3, 5, 2, 2), HadamardRangeQueries(3, 5, 2, 2)], ids=str)
def test_run_has_the_joint_law_of_the_analyzer_on_everybodys_messages(m: Any) -> None:
    rng, data, level = np.random.default_rng(5), [0, 1, 1], m.grid.levels[0]
    each_width = isinstance(m, RangeQueries)
    oracle, asked = (m.oracle(level), [level]) if each_width else (m.oracle, [])
    ours = [m.run(data, rng)[m.grid.nodes_of(level) if each_width else slice(None)] for _ in range(500)]
    messages = (np.concatenate([m.randomize(x, *asked, rng) for x in data]) for _ in range(500))
    assert same_law(ours, [oracle.estimate(sent)[: len(ours[0])] for sent in messages])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "m",
    [RangeQueries(2000, 100, 8, 20), HadamardRangeQueries(2000, 9, 8, 20, 2),
     slow(HadamardRangeQueries(2000, 100, 8, 20)), slow(RangeQueries(2000, 9, 8, 20, 2)),
     CountMinRangeQueries(2000, 9, 9, 40000, F(1, 100), 2)],
    ids=str,
)  # fmt: skip
def test_what_is_asked_for_alone_and_what_is_asked_of_a_whole_run_have_the_same_mean_and_spread(m: Any) -> None:
    rng = np.random.default_rng(3)
    data, box = rng.integers(0, m.grid.cells, m.users), [[(2, 7)] * m.dimensions]
    alone = np.array([m.ask(data, box, rng)[0] for _ in range(150)])
    whole = np.array([m.query(m.run(data, rng), box)[0] for _ in range(150)])
    truth = m.query(m.truth(data), box)[0]
    spread = max(alone.std(), whole.std())
    assert abs(alone.mean() - whole.mean()) < 6 * spread / math.sqrt(75)
    assert 0.7 < alone.std() / whole.std() < 1.4
    if m.unbiased:
        assert abs(whole.mean() - truth) < 6 * spread / math.sqrt(150)


def test_a_grid_of_a_thousand_by_a_thousand_and_a_line_of_2_40_values_answer_boxes() -> None:
    rng = np.random.default_rng(1)
    plane, data = RangeQueries(10**5, 1 << 10, 17, 300, 2), rng.integers(0, 1 << 10, (10**5, 2))
    box = [[(100, 899), (200, 700)]]
    truth = np.sum((data[:, 0] >= 100) & (data[:, 0] <= 899) & (data[:, 1] >= 200) & (data[:, 1] <= 700))
    assert abs(plane.ask(data, box, rng)[0] - truth) < 6 * math.sqrt(300 * plane.grid.most_terms)
    line = RangeQueries(1000, 1 << 20, 10, 20, 2)
    assert abs(line.ask(np.full(1000, 5), [[(0, 9), (0, 9)]], rng)[0] - 1000) < 400


def test_users_in_many_dimensions_are_compared_in_a_bounded_search() -> None:
    m = CountMinRangeQueries(2, 100, 10, 3, Fraction(1, 10**6), 4, 2)
    assert m.inputs[0] == 0 < m.inputs[1] < m.grid.cells


def test_a_run_that_would_list_too_much_is_refused() -> None:
    with pytest.raises(Unsupported, match="ask for few boxes"):
        HadamardRangeQueries(10**6, 1 << 20, 20, 20_000).run(np.ones(10**6, dtype=int), np.random.default_rng(0))
    raises(Unsupported, "ask for some boxes", RangeQueries(10**6, 1 << 30, 20, 20).run, [1] * 10**3, np.random.default_rng(0))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("epsilon", "make"),
    [(F(2), lambda epsilon, delta: range_queries.for_privacy(epsilon, delta, 50, 2)),
     (F(1, 2), lambda epsilon, delta: shuffled_quantiles.for_privacy(epsilon, delta, 1000, 2)),
     (F(2), lambda epsilon, delta: shuffled_heavy_hitters.for_privacy(epsilon, delta, 100, 4))],
)  # fmt: skip
def test_for_privacy_has_the_fewest_blanket_messages_that_are_certified_to_be_enough(
    epsilon: Fraction, make: Callable[[Number, Number], Any]
) -> None:
    delta = F(1, 10**4)
    m = make(epsilon, delta)
    assert account(m).delta(epsilon).high <= delta < account(replace(m, rho=m.rho - 1)).delta(epsilon).high
    assert 2**m.tau >= m.users > 2 ** (m.tau - 1)


def test_where_the_share_is_below_every_float_the_lower_bound_is_zero() -> None:
    profile = account(RangeQueries(users=2, side=2, tau=1, rho=1, dimensions=12))
    for delta in (5e-324, 1e-6, 1 - 2.0**-53):
        assert profile.epsilon(delta).low == 0
    assert profile.epsilon(0).low == math.inf
