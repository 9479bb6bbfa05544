"""Shuffled Hadamard response: what it does, line by line; its accountant against all multisets."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ldpaudit import account, audit
from ldpaudit.accountants.claims.shuffled_hadamard import Setting, reach
from ldpaudit.accountants.counting.hits import ComposedHits
from ldpaudit.accountants.pld.finite import channel_profile
from ldpaudit.accountants.shuffled_hadamard import known_others
from ldpaudit.accountants.shuffling.hidden_message import Chain, HiddenTuple, Seen
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanisms.shared.linear_codes.kernels import dimension_law, members, random_members, random_members_with
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard, Values
from ldpaudit.neighbours import ADD_REMOVE
from ldpaudit.proofs.shuffled_hadamard import prove
from tests.helpers import proved
from tests.oracles.hadamard import Oracle
from tests.samples import matches, meet, same_law, same_number
from tests.zoo.shuffled_hadamard import DELTA, TWO

EPSILONS = (0.0, 0.3, 0.9, 2.0)
LEVEL = 1e-6
"""Of tests on samples with fixed seeds."""


def product(row: int, x: int) -> int:
    return (row & x).bit_count() % 2


@pytest.mark.parametrize(("rows", "bits"), [(1, 2), (3, 3), (2, 5), (7, 4)])
def test_kernels_are_found_by_elimination(rows: int, bits: int) -> None:
    matrices = np.random.default_rng(0).integers(0, 1 << bits, (200, rows))
    found = members(matrices, bits)
    for x in range(1, 1 << bits):
        assert found[x] == sum(all(not product(row, x) for row in matrix) for matrix in matrices.tolist())
    assert found[0] == 0


@pytest.mark.parametrize(("rows", "bits"), [(1, 1), (3, 2), (2, 4), (9, 6)])
def test_the_law_of_the_kernels_dimension_has_the_right_mean_number_of_elements(rows: int, bits: int) -> None:
    law = dimension_law(rows, bits)
    assert sum(law) == 1
    assert sum(p * (2**d - 1) for d, p in enumerate(law)) == Fraction(2**bits - 1, 2**rows)


def test_random_kernels_have_the_joint_law_of_those_of_random_matrices() -> None:
    rng, number, rows, bits = np.random.default_rng(1), 4, 2, 3
    drawn = [random_members(number, rows, bits, rng) for _ in range(900)]
    made = [members(rng.integers(0, 1 << bits, (number, rows)), bits) for _ in range(900)]
    assert same_law(drawn, made)
    assert not same_law(drawn, [members(rng.integers(0, 1 << bits, (number + 1, rows)), bits) for _ in range(900)])


def test_random_kernels_with_a_given_element_have_it_and_are_as_those_of_matrices_that_do() -> None:
    rng, rows, bits, elements = np.random.default_rng(2), 2, 3, np.array([3, 4])
    drawn = [random_members_with(elements, np.array([2, 1]), rows, bits, rng) for _ in range(900)]
    assert all(found[3] >= 2 and found[4] >= 1 for found in drawn)

    def made() -> Any:
        matrices = [rng.choice([z for z in range(1 << bits) if not product(z, e)], rows) for e in (3, 3, 4)]
        return members(np.array(matrices), bits)

    assert same_law(drawn, [made() for _ in range(900)])


def test_a_users_tuples_lie_in_the_codewords_of_her_elements_and_the_others_anywhere() -> None:
    m = ShuffledHadamard(users=5, domain=4, tau=3, rho=2, k=2)
    rng, seen = np.random.default_rng(3), Counter[int]()
    for _ in range(500):
        messages = m.randomize((1,), rng)
        assert messages.shape == (4, 3)
        assert not any(product(z, 2) for z in messages[0].tolist()), "value 1 is row 2"
        assert not any(product(z, 5) for z in messages[1].tolist()), "the first row that stands for no value is 5"
        seen.update(messages[0].tolist())
    assert set(seen) == {0, 1, 4, 5}
    assert stats.chisquare(list(seen.values())).pvalue > LEVEL


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


@pytest.mark.parametrize(
    "m",
    [ShuffledHadamard(2, 2, 1, 2), ShuffledHadamard(3, 2, 1, 1), ShuffledHadamard(6, 2, 1, 1),
     ShuffledHadamard(2, 2, 2, 1), ShuffledHadamard(2, 4, 1, 1)],
    ids=str,
)  # fmt: skip
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
        seen[tuple(sum(not any(product(z, e) for z in t) for t in messages) for e in (*firsts, *seconds))] += 1
    for places, laws in (((0, 1), (own, own)), ((0, 2), (own, other)), ((2, 3), (other, other)), ((0, 3), (own, other))):
        for split in (3, 4, 5):
            both = sum(n for counts, n in seen.items() if all(counts[place] >= split for place in places))
            assert stats.binomtest(both, 3_000, float(np.prod([law[split:].sum() for law in laws]))).pvalue > LEVEL
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
    from scipy.stats import binom

    messages, p, epsilon = 3_000, 1 / 64, 0.4
    x = np.arange(200)
    first, second = binom.pmf(x, messages, p), binom.pmf(x, messages + 1, p)
    gain = np.maximum(0, 1 - math.exp(epsilon) * x[None, :] / (1 + x[:, None]))
    found = HiddenTuple(messages, Fraction(1, 64), Seen.ALL, "")
    assert found.delta(Fraction(epsilon)).high == pytest.approx(first @ gain @ second, rel=1e-9)
    exceeds = first @ (1 + x[:, None] > math.exp(epsilon) * x[None, :]) @ second
    assert found.exceeds(Fraction(epsilon)).high == pytest.approx(exceeds, rel=1e-9)


@pytest.mark.parametrize(
    ("m", "delta"),
    [(ShuffledHadamard.as_printed(1, 1e-6, 1 << 10, 256), 1e-6), (ShuffledHadamard.as_printed(0.5, 1e-9, 1 << 20, 256), 1e-300),
     (ShuffledHadamard(10**6, 256, 8, 10**6), 1e-12), (ShuffledHadamard(100, 256, 9, 7), 0.3), (TWO, DELTA)],
)  # fmt: skip
def test_epsilon_of_delta_is_where_delta_is_reached(m: ShuffledHadamard, delta: float) -> None:
    profile = account(m)
    epsilon = profile.epsilon(delta)
    assert profile.delta(epsilon.high).high <= delta
    assert profile.delta(epsilon.low).high >= delta
    assert epsilon.relative_width <= 2 * float(m.hit)
    assert profile.delta(math.inf).low <= profile.delta(epsilon.high).low


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
    totals = {int(v.sum()) for x in (0, None) for v in m.sample(x, 5, np.random.default_rng(0))}
    assert totals == {16, 12}
    assert audit(m, neighbours=ADD_REMOVE, trials=2_000, seed=1).epsilon_lower > 5


def test_what_the_proofs_admit_and_what_they_say_of_the_code() -> None:
    found = proved(prove)
    assert [bool(p.admissions) for p in found] == [False, False, False, True, True]
    p, x, users = 2.0**-TWO.tau, 300, 1000
    assert TWO.debias(np.array([x + (TWO.rho * users + TWO.k * users - x) * p]), users)[0] == pytest.approx(x, rel=1e-12)
    for element in range(8):
        assert sum(TWO.shares(element)) == 1
        assert all(p >= 0 for p in TWO.shares(element))
