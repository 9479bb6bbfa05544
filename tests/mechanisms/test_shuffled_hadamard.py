"""Shuffled Hadamard response line by line and against all multisets, and the heavy hitters that are found by its prefixes."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from ldpaudit import Rigour, Unsupported, account, audit
from ldpaudit.accountants.claims import shuffled_heavy_hitters as claims
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.accountants.claims.shuffled_hadamard import Setting, reach
from ldpaudit.accountants.counting.hits import ComposedHits
from ldpaudit.accountants.pld.finite import channel_profile
from ldpaudit.accountants.shuffled_hadamard import known_others
from ldpaudit.accountants.shuffling.hidden_message import Chain, HiddenTuple, Seen
from ldpaudit.derivation import proofs_of
from ldpaudit.mechanisms.shared.linear_codes import kernels
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard, Values
from ldpaudit.mechanisms.shuffled_heavy_hitters import Ask, ShuffledHeavyHitters
from ldpaudit.neighbours import ADD_REMOVE
from tests.helpers import raises, slow
from tests.oracles.hadamard import Oracle
from tests.oracles.shuffle import divergence
from tests.samples import SEEDED_LEVEL, around, matches, meet, same_law, same_number
from tests.zoo.shuffled_hadamard import DELTA, TWO as PRINTED

EPSILONS = (0.0, 0.3, 0.9, 2.0)


def parity_of(row: int, x: int) -> int:
    return (row & x).bit_count() % 2


@pytest.mark.parametrize(("rows", "bits"), [(1, 2), (3, 3), (2, 5), (7, 4)])
def test_kernels_are_found_by_elimination(rows: int, bits: int) -> None:
    matrices = np.random.default_rng(0).integers(0, 1 << bits, (200, rows))
    found = kernels.members(matrices, bits)
    for x in range(1, 1 << bits):
        assert found[x] == sum(all(not parity_of(row, x) for row in matrix) for matrix in matrices.tolist())
    assert found[0] == 0


@pytest.mark.parametrize(("rows", "bits"), [(1, 1), (3, 2), (2, 4), (9, 6)])
def test_the_law_of_the_kernels_dimension_has_the_right_mean_number_of_elements(rows: int, bits: int) -> None:
    law = kernels.dimension_law(rows, bits)
    assert sum(law) == 1
    assert sum(p * (2**d - 1) for d, p in enumerate(law)) == Fraction(2**bits - 1, 2**rows)


def made(asked: Any, elements: Any, numbers: Any, others: int, rows: int, rng: np.random.Generator, bits: int = 4) -> Any:
    """Of random matrices: so many of any rows, and so many whose rows all have an element in their kernel."""
    drawn = [rng.integers(0, 1 << bits, rows) for _ in range(others)]
    drawn += [rng.choice([z for z in range(1 << bits) if not parity_of(z, e)], rows) for e in np.repeat(elements, numbers).tolist()]
    return kernels.members(np.array(drawn), bits)[asked]


@pytest.mark.parametrize(("draw", "elements", "numbers", "others"), [
    (lambda rng: kernels.random_members(4, 2, 3, rng), [], [], 4),
    (lambda rng: kernels.random_members_with(np.array([3, 4]), np.array([2, 1]), 2, 3, rng), [3, 4], [2, 1], 0),
])  # fmt: skip
def test_random_kernels_have_the_joint_law_of_those_of_random_matrices_that_have_an_element_where_it_is_given(
    draw: Callable[..., Any], elements: list[int], numbers: list[int], others: int
) -> None:
    rng, given = np.random.default_rng(1), (np.arange(8), np.array(elements, dtype=np.int64), np.array(numbers, dtype=np.int64))
    drawn = [draw(rng) for _ in range(900)]
    written, more = ([made(*given, n, 2, rng, 3) for _ in range(900)] for n in (others, others + 1))
    assert same_law(drawn, written)
    assert not same_law(drawn, more)


def test_a_users_tuples_lie_in_the_codewords_of_her_elements_and_the_others_anywhere() -> None:
    m = ShuffledHadamard(users=5, domain=4, tau=3, rho=2, k=2)
    rng, seen = np.random.default_rng(3), Counter[int]()
    for _ in range(500):
        messages = m.randomize((1,), rng)
        assert messages.shape == (4, 3)
        assert not any(parity_of(z, 2) for z in messages[0].tolist()), "value 1 is row 2"
        assert not any(parity_of(z, 5) for z in messages[1].tolist()), "the first row that stands for no value is 5"
        seen.update(messages[0].tolist())
    assert set(seen) == {0, 1, 4, 5}
    assert stats.chisquare(list(seen.values())).pvalue > SEEDED_LEVEL


@pytest.mark.parametrize("m", [ShuffledHadamard(3, 8, 2, 3), ShuffledHadamard(4, 4, 3, 2, k=2)], ids=str)
def test_all_three_analyzers_count_alike(m: ShuffledHadamard) -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        messages = np.concatenate([m.randomize(int(rng.integers(m.domain)), rng) for _ in range(m.users)])
        tally = m.tally(messages)
        assert np.array_equal(tally, m.tally_as_printed(messages))
        assert [m.speaking(messages, v) for v in range(m.domain)] == tally.tolist()
        assert np.array_equal(m.estimate(rng.permutation(messages)), m.debias(tally, m.users))


@pytest.mark.parametrize("data", [[0, 0, 1], [(0, 1), (), (2,)]], ids=str)
def test_run_has_the_joint_law_of_the_analyzer_on_everybodys_messages(data: list[Values]) -> None:
    m = ShuffledHadamard(users=3, domain=4, tau=2, rho=2, k=1 if data == [0, 0, 1] else 2)
    rng = np.random.default_rng(5)
    literal = [m.estimate(np.concatenate([m.randomize(x, rng) for x in data])) for _ in range(900)]
    assert same_law([m.run(data, rng) for _ in range(900)], literal)


def test_a_million_users_are_estimated_within_what_theorem_4_3_prints() -> None:
    s = Setting(Fraction(1), Fraction(1, 10**6), 10**6, 1 << 12)
    data = np.minimum(np.random.default_rng(0).geometric(0.01, s.users) - 1, s.domain - 1)
    found = s.mechanism.run(data, np.random.default_rng(1))
    assert np.abs(found - np.bincount(data, minlength=s.domain)).max() <= reach(s.mechanism, s.beta, s.domain).high


def test_values_of_users_may_come_as_rows_or_as_tuples() -> None:
    m = ShuffledHadamard(3, 8, 3, 1, k=2)
    assert m.truth([(1, 2), (2,), ()]).tolist() == [0, 1, 2, 0, 0, 0, 0, 0]
    assert m.truth(np.array([[1, 2], [2, 3]])).tolist() == [0, 1, 2, 1, 0, 0, 0, 0]
    assert m.truth([5, 5]).tolist() == [0, 0, 0, 0, 0, 2, 0, 0]


@pytest.mark.parametrize("m", [
    ShuffledHadamard(2, 2, 1, 2), ShuffledHadamard(3, 2, 1, 1), ShuffledHadamard(6, 2, 1, 1), ShuffledHadamard(2, 2, 2, 1),
    ShuffledHadamard(2, 4, 1, 1),
], ids=str)  # fmt: skip
def test_all_multisets_of_all_data_sets_cost_no_more_and_the_worst_no_less(m: ShuffledHadamard) -> None:
    oracle, profile = Oracle(m.domain, m.tau), account(m)
    elements = (1, 2, 3) if m.users > 3 else range(1, 2 * m.domain)
    others = list(combinations_with_replacement(elements, m.users - 1))
    if m.users > 3:
        others = [o for o in others if len(set(o)) == 1 or Counter(o)[3] == 2]
    profiles = [oracle.pair(m.users * m.rho, o, (1,), (2,)) for o in others]
    for epsilon in EPSILONS:
        truths = [p.delta(epsilon) for p in profiles]
        found = profile.delta(epsilon)
        assert all(truth.low <= found.high for truth in truths)
        assert found.low <= max(truth.high for truth in truths)


@pytest.mark.parametrize("m", [ShuffledHadamard(3, 2, 1, 1), ShuffledHadamard(2, 4, 1, 2), ShuffledHadamard(2, 2, 2, 1)], ids=str)
def test_a_view_tells_inputs_0_and_1_apart_as_well_as_all_messages(m: ShuffledHadamard) -> None:
    everybody = Oracle(m.domain, m.tau).pair(m.users * m.rho, (3,) * (m.users - 1), (1,), (2,))
    view = channel_profile(m, [0, 1])
    for epsilon in EPSILONS:
        assert same_number(view.delta(epsilon), everybody.delta(epsilon))


@pytest.mark.parametrize("m", [ShuffledHadamard(1, 2, 1, 6), ShuffledHadamard(1, 2, 2, 3), ShuffledHadamard(1, 4, 1, 4)], ids=str)
def test_with_the_others_messages_known_the_profile_is_that_of_all_multisets(m: ShuffledHadamard) -> None:
    everybody = Oracle(m.domain, m.tau).pair(m.rho, (), (1,), (2,))
    for epsilon in EPSILONS:
        ours, truth = known_others(m).delta(epsilon), everybody.delta(epsilon)
        assert ours.rigour is Rigour.EXACT
        assert meet(ours, truth)


def test_k_messages_replaced_at_once_cost_no_more_than_one_by_one() -> None:
    m = ShuffledHadamard(users=1, domain=4, tau=1, rho=3, k=2)
    everybody = Oracle(4, 1).pair(m.rho, (), (1, 2), (4, 7))
    worse = [everybody.delta(e).low > account(m).delta(e).low for e in EPSILONS]
    assert all(everybody.delta(e).low <= account(m).delta(e).high for e in EPSILONS)
    assert any(worse), "two messages tell more than one"


def test_of_independent_rows_the_numbers_of_messages_are_independent() -> None:
    m = ShuffledHadamard(users=2, domain=16, tau=2, rho=4, k=2)
    total, p, rng, firsts, seconds = 2 * (4 + 2), 1 / 4, np.random.default_rng(9), (1, 2), (4, 8)
    own, other = stats.binom.pmf(np.arange(-1, total), total - 1, p), stats.binom.pmf(np.arange(total + 1), total, p)
    seen = Counter[tuple[int, ...]]()
    for _ in range(3_000):
        messages = np.concatenate([m.randomize((0, 1), rng), m.randomize((), rng)]).tolist()
        seen[tuple(sum(not any(parity_of(z, e) for z in t) for t in messages) for e in (*firsts, *seconds))] += 1
    for places, laws in (((0, 1), (own, own)), ((0, 2), (own, other)), ((2, 3), (other, other)), ((0, 3), (own, other))):
        for split in (3, 4, 5):
            both = sum(n for counts, n in seen.items() if all(counts[place] >= split for place in places))
            assert stats.binomtest(both, 3_000, float(np.prod([law[split:].sum() for law in laws]))).pvalue > SEEDED_LEVEL
    assert account(m).delta(0.3).low >= ComposedHits(total - 1, m.hit, 2).delta(0.3).low


@pytest.mark.parametrize("m", [ShuffledHadamard(2, 2, 1, 2), ShuffledHadamard(4, 4, 2, 1, k=2)], ids=str)
@pytest.mark.parametrize("x", [0, 1, None])
def test_the_sampler_matches_the_law_of_several_users(m: ShuffledHadamard, x: int | None) -> None:
    size = 20_000
    seen = Counter(tuple(view) for view in m.sample(x, size, np.random.default_rng(6)).tolist())
    law = {view: m.law(x).probability(view) for view in seen}
    assert all(law.values())
    assert matches(seen, law)


@pytest.mark.parametrize("seen", Seen)
@pytest.mark.parametrize(("messages", "tau"), [(0, 1), (1, 3), (40, 1), (500, 4), (547_000, 10), (10**12, 3)])
@pytest.mark.parametrize("share", [0.0, 0.8, 5.0])
def test_the_integral_and_the_sum_agree(seen: Seen, messages: int, tau: int, share: float) -> None:
    hidden = HiddenTuple(messages, Fraction(1, 1 << tau), seen, "")
    epsilon = Fraction(share * math.sqrt(2 / (1 + messages / 2**tau)))
    with flint.ctx.workprec(256):
        if messages < 10**12 or tau > 20:
            assert hidden.integral(epsilon).overlaps(hidden.total(epsilon))
        found = hidden.value(epsilon)
        assert found >= 0
        assert found.rad() <= 1e-9 * found.mid() + flint.arb(2) ** -1000


def test_it_is_the_expectation_of_the_ratio_of_two_counts() -> None:
    messages, p, epsilon = 3_000, 1 / 64, 0.4
    x = np.arange(200)
    first, second = stats.binom.pmf(x, messages, p), stats.binom.pmf(x, messages + 1, p)
    gain = np.maximum(0, 1 - math.exp(epsilon) * x[None, :] / (1 + x[:, None]))
    found = HiddenTuple(messages, Fraction(1, 64), Seen.ALL, "")
    assert found.delta(Fraction(epsilon)).high == pytest.approx(first @ gain @ second, rel=1e-9)
    exceeds = first @ (1 + x[:, None] > math.exp(epsilon) * x[None, :]) @ second
    assert found.exceeds(Fraction(epsilon)).high == pytest.approx(exceeds, rel=1e-9)


@pytest.mark.parametrize(("m", "delta"), [
    (ShuffledHadamard.as_printed(1, 1e-6, 1 << 10, 256), 1e-6), (ShuffledHadamard.as_printed(0.5, 1e-9, 1 << 20, 256), 1e-300),
    (ShuffledHadamard(10**6, 256, 8, 10**6), 1e-12), (ShuffledHadamard(100, 256, 9, 7), 0.3), (PRINTED, DELTA),
])  # fmt: skip
def test_epsilon_of_delta_is_where_delta_is_reached(m: ShuffledHadamard, delta: float) -> None:
    profile = account(m)
    epsilon = profile.epsilon(delta)
    assert profile.delta(epsilon.high).high <= delta
    assert profile.delta(epsilon.low).high >= delta
    assert epsilon.relative_width <= 2 * float(m.hit)
    assert profile.delta(math.inf).low <= profile.delta(epsilon.high).low


def test_where_many_messages_hide_it_epsilon_is_looked_for_next_to_what_it_is() -> None:
    found = HiddenTuple(10**6, Fraction(1, 50), Seen.ALL, "")
    assert found.estimate(Fraction(1, 10**6)) == pytest.approx(found.epsilon(1e-6).high, rel=0.02)


def test_below_the_chance_that_nothing_speaks_for_the_other_input_no_epsilon_is_enough() -> None:
    m = ShuffledHadamard(users=50, domain=4, tau=6, rho=3)
    alone = (1 - m.hit) ** (m.users * m.rho + 1)
    for profile in (account(m), known_others(m)):
        assert profile.epsilon(float(alone) * 0.999).low == math.inf
        assert profile.epsilon(float(alone) * 1.001).high < math.inf
    assert float(alone) == pytest.approx(account(m).delta(math.inf).low, rel=1e-12)


@given(excess=st.floats(0.001, 3), k=st.integers(1, 6), messages=st.integers(0, 300), tau=st.integers(1, 6))
def test_the_chain_is_the_sum_of_its_steps(excess: float, k: int, messages: int, tau: int) -> None:
    single = HiddenTuple(messages, Fraction(1, 1 << tau), Seen.ALL, "")
    step = single.delta(Fraction(excess)).high
    total = sum(math.exp(i * excess) * step for i in range(k))
    assert Chain(single, k, "").delta(k * Fraction(excess)).high == pytest.approx(min(1, total), rel=1e-9)


def test_an_absent_user_is_told_by_the_number_of_messages() -> None:
    m = ShuffledHadamard(4, 4, 2, 3)
    profile = account(m, ADD_REMOVE)
    assert profile.delta(40).low == 1
    assert profile.epsilon(0.999).low == math.inf
    assert {int(v.sum()) for x in (0, None) for v in m.sample(x, 5, np.random.default_rng(0))} == {16, 12}
    assert audit(m, neighbours=ADD_REMOVE, trials=2_000, seed=1).epsilon_lower > 5


def test_what_the_proofs_admit_and_what_they_say_of_the_code() -> None:
    assert [bool(p.admissions) for p in proofs_of("shuffled_hadamard")] == [False, False, False, True, True]
    p, x, users = 2.0**-PRINTED.tau, 300, 1000
    cell = x + (PRINTED.rho * users + PRINTED.k * users - x) * p
    assert PRINTED.debias(np.array([cell]), users)[0] == pytest.approx(x, rel=1e-12)
    for element in range(8):
        assert sum(PRINTED.shares(element)) == 1
        assert all(p >= 0 for p in PRINTED.shares(element))


TWO = math.log(2)
F = Fraction


@pytest.mark.parametrize(("rho", "exact"), [(1, F(15, 32)), (2, F(83, 256))])
def test_four_values_cost_what_all_multisets_of_both_lengths_say(rho: int, exact: Fraction) -> None:
    m, oracles = ShuffledHeavyHitters(1, 4, 1, rho, 1), (Oracle(2, 1), Oracle(4, 1))

    def law(x: int) -> dict[Any, Fraction]:
        parts = [o.plus(o.blanket(rho), (x >> (1 - i)) + 1) for i, o in enumerate(oracles)]
        return {(a, b): p * q for (a, p), (b, q) in product(*(part.items() for part in parts))}

    laws = [law(x) for x in range(4)]
    deltas = {(i, j): divergence(laws[i], laws[j], F(2)) for i, j in permutations(range(4), 2)}
    assert max(deltas.values()) == deltas[m.inputs] == exact
    found = account(m).delta(TWO)
    assert around(found, exact)
    assert found.relative_width < 1e-9


@pytest.mark.parametrize(
    ("bits", "delta", "printed", "enough", "few"),
    [(10, F(1, 10**6), 69915, 359, 358), slow(14, F(1, 10**9), 190522, 850, 846), slow(20, F(1, 10**10), 432250, 1401, 1375)],
)  # fmt: skip
def test_composed_lengths_need_a_small_part_of_the_messages_that_the_divided_promise_asks_for(
    bits: int, delta: Fraction, printed: int, enough: int, few: int
) -> None:
    m = ShuffledHeavyHitters.as_printed(1, delta, 1 << 20, 1 << bits)
    assert (m.rho, m.tau, m.bits) == (printed, 20, bits)
    assert account(ShuffledHeavyHitters(1 << 20, 1 << bits, 20, enough, 1)).delta(1).high <= delta
    assert ComposedHits(few << 20, m.hit, bits).delta(1).low > delta
    assert account(m).delta(1).high <= delta


def test_what_is_simulated_is_the_most_users_of_a_value_not_named_and_the_largest_error_of_one_named() -> None:
    s = claims.Setting(F(1), F(1, 10**6), 1 << 14, 1 << 5)
    missing, error = claims.accuracy(s)
    counts = np.bincount(held := missing.data(np.random.default_rng(1)), minlength=s.domain)
    assert (len(counts), counts.sum()) == (s.domain, s.users)
    assert missing.error(held, {}) == counts.max()
    assert missing.error(held, dict.fromkeys(np.flatnonzero(counts > counts[3]), 0.0)) == counts[3]
    assert error.error(held, {0: counts[0] - 2.0, 3: counts[3] + 5.0}) == 5
    assert (missing.alpha, error.alpha) == (s.mechanism.threshold, s.mechanism.threshold / 2)


def within(m: ShuffledHeavyHitters, holders: dict[int, int], noise: dict[str, float]) -> tuple[Ask, list[set[str]]]:
    """Estimates that are off by chosen numbers, and what is kept of each length when these are asked for."""
    kept: list[set[str]] = []

    def ask(length: int, asked: Any) -> Any:
        counts = Counter[int]()
        for value, number in holders.items():
            counts[value >> (m.bits - length)] += number
        names = [format(prefix, f"0{length}b") for prefix in asked.tolist()]
        found = np.array([counts[p] + noise.get(name, 0.0) for p, name in zip(asked.tolist(), names, strict=True)])
        kept.append({name for name, estimate in zip(names, found, strict=True) if 2 * estimate >= m.threshold})
        return found

    return ask, kept


def test_prefixes_are_kept_from_half_of_the_threshold_on() -> None:
    m = ShuffledHeavyHitters(users=100, domain=16, tau=4, rho=1, threshold=48)
    ask, kept = within(m, {0b0011: 40, 0b0101: 25, 0b1100: 30, 0b1101: 5}, {"11": -9, "0100": 7})
    assert m.search(ask) == {0b0011: 40, 0b1100: 30, 0b0101: 25}
    assert kept == [{"0", "1"}, {"00", "01", "11"}, {"001", "010", "110"}, {"0011", "0101", "1100"}]


def test_errors_of_half_of_the_threshold_keep_all_prefixes_and_of_a_quarter_at_most_4_n_over_t() -> None:
    m = ShuffledHeavyHitters(users=64, domain=1 << 10, tau=4, rho=1, threshold=32)
    names = ["".join(name) for length in range(1, 11) for name in product("01", repeat=length)]
    holders = {1000: 32, 0: 16, 511: 16}
    ask, kept = within(m, holders, {name: -8.0 if int(name, 2) == 1000 >> (10 - len(name)) else 8.0 for name in names})
    assert set(m.search(ask)) >= {1000}
    assert max(map(len, kept)) <= m.most_kept == 8
    ask, kept = within(m, holders, dict.fromkeys(names, m.threshold / 2))
    raises(Unsupported, "16 prefixes of 4 bits are kept, more than 8", m.search, ask)
    assert [len(each) for each in kept] == [2, 4, 8, 16]


@pytest.mark.few(1)
@pytest.mark.parametrize(("asked", "elements", "numbers", "others"), [
    ([3, 5, 6], [], [], 3), ([3, 5, 6], [6, 8], [1, 1], 1), ([5, 7, 2], [2, 5, 15], [1, 1, 1], 0),
])  # fmt: skip
def test_few_vectors_have_the_joint_law_of_all_in_kernels_that_hold_several(
    asked: list[int], elements: list[int], numbers: list[int], others: int
) -> None:
    rng = np.random.default_rng(4)
    given = (np.array(asked), np.array(elements, dtype=np.int64), np.array(numbers, dtype=np.int64), others, 2)
    ways = kernels.random_members_of_few, made, kernels.random_members_among
    few, written, all_listed = ([way(*given, rng) for _ in range(1_000)] for way in ways)
    assert same_law(few, written)
    assert same_law(few, all_listed)
    assert not same_law([kernels.random_members_of_few(*given[:3], others + 2, 2, rng) for _ in range(1_000)], written)


def test_run_has_the_joint_law_of_the_search_on_everybodys_messages() -> None:
    m, rng, data = ShuffledHeavyHitters(3, 8, 3, 2, 2), np.random.default_rng(5), [5, 5, 2]

    def literal() -> Any:
        messages = [np.concatenate([m.randomize(x, length, rng) for x in data]) for length in (1, 2, 3)]
        return outcome(lambda: m.search(lambda length, asked: m.oracle(length).estimate(messages[length - 1])[asked]))

    def outcome(found: Any) -> list[float]:
        try:
            return [round(found().get(x, -99.0), 6) for x in (5, 2, 4)]
        except Unsupported:
            return [-100.0] * 3

    assert same_law([outcome(lambda: m.run(data, rng)) for _ in range(400)], [literal() for _ in range(400)])


def test_estimates_of_what_is_asked_for_are_unbiased_and_as_exact_as_the_bound_says() -> None:
    m, rng = ShuffledHeavyHitters(4000, 1 << 12, 12, 60, 4000), np.random.default_rng(6)
    values, numbers = np.array([7, 9, 4000]), np.array([2500, 1000, 500])
    asked, truth = np.array([0, 1, 7, 250]), np.array([3500.0, 0.0, 0.0, 500.0])
    found = np.array([m.asked_of(values, numbers, 8, asked, rng) for _ in range(400)])
    assert np.all(np.abs(found.mean(axis=0) - truth) < 6 * found.std(axis=0) / 20)
    off = np.abs(found - truth).max(axis=1)
    assert np.mean(off > m.error_of_asked(F(1, 2))) < 0.1
    assert m.error_of_asked(F(1, 2)) < 3 * np.quantile(off, 0.9)
    assert m.error_of_asked(F(1, 2)) < m.error_of_all(F(1, 2))


@pytest.mark.parametrize(("users", "bits"), [(10**5, 14), slow(10**6, 20), slow(10**6, 40)])
def test_many_users_have_all_their_heavy_hitters_named_and_few_others(users: int, bits: int) -> None:
    m, rng = ShuffledHeavyHitters.with_few_kept(users, 1 << bits, 20, 1500), np.random.default_rng(7)
    assert m.threshold >= 4 * m.error_of_asked(F(1, 10)) > m.threshold - 5
    data = rng.integers(0, m.domain, m.users)
    data[: 2 * m.threshold] = np.repeat([m.domain - 1, m.domain // 3], m.threshold)
    found, truth = m.run(data, rng), m.truth(data)
    assert set(found) >= set(truth) == {m.domain - 1, m.domain // 3}
    assert len(found) <= 4
    assert max(abs(found[x] - count) for x, count in truth.items()) < m.threshold / 4
    assert m.run(rng.integers(0, m.domain, m.users), rng) == {}


def estimated_high(m: ShuffledHeavyHitters, holders: int) -> Fraction:
    """Chance that so many holders are estimated at T/2 or more: all numbers of messages of the others, one by one."""
    others, p = (m.rho + 1) * m.users - holders, m.hit
    return sum(
        (math.comb(others, c) * p**c * (1 - p) ** (others - c) for c in range(others + 1)
         if 2 * (c + holders - (m.rho + 1) * m.users * p) >= m.threshold * (1 - p)), F(0),
    )  # fmt: skip


def test_chances_that_prefixes_are_kept_or_lost_are_those_of_all_numbers_of_messages() -> None:
    m = ShuffledHeavyHitters(12, 16, 2, 2, 5)
    exact = [estimated_high(m, c) for c in range(13)]
    assert exact == sorted(exact)
    for c, truth in enumerate(exact):
        assert float(claims.kept(m, c).mid()) == pytest.approx(float(truth), rel=1e-9)
    lengths = sum(min(1 << length, 2) for length in (1, 2, 3, 4))
    assert float(claims.lost(m).mid()) == pytest.approx(float(lengths * (1 - exact[5])), rel=1e-9)
    largest = max(float(exact[c]) / c for c in range(1, 13))
    assert 16 * exact[0] + 12 * largest <= claims.few_expected(m).high <= 16 * exact[0] + 12 * F(2, 5) + F(1, 10**9)


def test_the_sketch_of_the_appendix_holds_for_the_oracles_own_noise_and_not_for_any_noise_that_it_allows() -> None:
    s = claims.EXAMPLES[1]
    assert s.mechanism.threshold >= 2 * s.mechanism.error_of_all(s.beta) > s.mechanism.threshold - 1
    rows = claims.printed(s)
    own, any_noise = (row for row in rows if "n/T" in row.sentence and "T is four" not in row.variant)
    assert (own.standing, own.holds, any_noise.standing, any_noise.holds) == (Standing.VARIANT, True, Standing.VARIANT, False)
    assert any_noise.found.low == 1 << 14
    assert not any(row.standing in (Standing.FAILS, Standing.OPEN) for row in rows)
    sketches = claims.printed(claims.EXAMPLES[3])[0]
    assert "Algorithm 2" in sketches.reading
    assert sketches.standing is Standing.HOLDS


def test_values_past_the_last_are_never_named() -> None:
    m = ShuffledHeavyHitters(users=50, domain=5, tau=3, rho=1, threshold=1)
    seen: dict[int, list[int]] = {}

    def ask(length: int, asked: Any) -> Any:
        seen[length] = asked.tolist()
        return np.full(len(asked), 25.0)

    assert set(m.search(ask)) == set(range(5))
    assert seen == {1: [0, 1], 2: [0, 1, 2], 3: [0, 1, 2, 3, 4]}
