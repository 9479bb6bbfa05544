"""Systems that name the values that many hold: what is judged of them, of TrieHH, and of the Laplace noise of the others."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from ldpaudit.accountants.claims import bitstogram, heavy_hitters, laplace, tree_histogram
from ldpaudit.accountants.claims.laplace import Setting
from ldpaudit.accountants.claims.sentence import Printed, Standing
from ldpaudit.accountants.claims.trie_heavy_hitter import accuracy, claimed_epsilon, lemma_1, missed, room
from ldpaudit.accountants.numerics.precision import narrow
from ldpaudit.mechanisms import LaplaceHistogram, TrieHeavyHitter
from ldpaudit.mechanisms.shared.trie.one_round import Data
from ldpaudit.studies import tables
from ldpaudit.studies.literature import measure
from tests.claims.test_literature import claims_of, printed_at
from tests.mechanisms.test_trie_heavy_hitter import law

SYSTEMS = ("tree_histogram", "bitstogram")


@pytest.mark.parametrize("stem", SYSTEMS)
def test_two_signs_take_twice_the_bits_and_find_less(stem: str) -> None:
    one, two = (
        [each for each in claims_of(stem) if ("two signs" in each.variant) is split and "are named" in each.sentence]
        for split in (False, True)
    )
    assert all(a.found.high < b.found.low for a, b in zip(one, two, strict=True))
    assert [each.found.low for each in claims_of(stem) if each.sentence == "bits that a user sends"] == [1, 2] * 4


@pytest.mark.parametrize(("room", "least", "most"), [(tree_histogram, 0.92, 0.96), (bitstogram, 1.1, 1.4)])
def test_over_three_decades_of_users_levels_grow_as_the_rate_and_without_a_code_a_little_more(
    room: Any, least: float, most: float
) -> None:
    settings = [room.Setting(Fraction(1), n, 1 << 64) for n in (10**6, 10**9)]
    few, many = (room.detection_level(s.mechanism, s.users).high / room.rate(s) for s in settings)
    assert least < many / few < most, "Bitstogram has a row more each time that n grows sixteenfold"


@pytest.mark.parametrize("room", [tree_histogram, bitstogram])
def test_what_is_promised_is_kept_in_simulations(room: Any) -> None:
    s = room.SIMULATED[0]
    missing, error = room.accuracy(s)
    rng = np.random.default_rng(1)
    data = missing.data(rng)
    assert len(data) == s.users
    assert np.count_nonzero(data == s.domain - 1) >= missing.alpha
    for _ in range(3):
        named = s.mechanism.run(data, rng)
        assert missing.error(data, named) <= missing.alpha
        assert error.error(data, named) <= error.alpha


def test_too_few_users_are_promised_nothing() -> None:
    s = tree_histogram.Setting(Fraction(1, 10), 1_000, 1 << 64)
    assert tree_histogram.detection_level(s.mechanism, 1_000).low > 1_000
    assert tree_histogram.accuracy(s) == ()
    for changed in ({"words": 2}, {"batch": 9}, {"users": 10**9}):
        assert accuracy(replace(SETTINGS[0], **changed)) == (), "nor more than one word, too small a batch, or too long a run"


def test_rows_are_enough_where_they_miss_a_value_with_half_of_beta_just_so() -> None:
    m = bitstogram.EXAMPLES[0].mechanism
    share = Fraction(narrow(lambda: m.spelled_from(10**6), "").low) / 10**6
    found = [bitstogram.found_from(replace(m, beta=2 * part / (share * 4**m.rows)), 10**6) for part in (1, 1 - Fraction(1, 10**9))]
    assert found[0] < math.inf == found[1]


def test_errors_are_those_of_values_not_named_and_of_values_named() -> None:
    data = np.array([5, 5, 5, 9, 9, (1 << 64) - 1], dtype=np.uint64)
    assert heavy_hitters.largest_missing(data, {5: 1.0}) == 2
    assert heavy_hitters.largest_missing(data, {5: 1.0, 9: 0.0, (1 << 64) - 1: 7.0}) == 0
    assert heavy_hitters.largest_error(data, {5: 1.0, 9: 2.5, 77: 0.25}) == 2
    assert heavy_hitters.largest_error(data, {(1 << 64) - 1: 4.0}) == 3
    assert heavy_hitters.largest_error(data, {}) == 0


def test_table_1_is_theorem_1_to_all_printed_digits_and_loose() -> None:
    for row in tables.load("triehh_table_1").rows:
        values = dict(row.parameters)
        m = TrieHeavyHitter(*(int(values[name]) for name in ("users", "batch", "threshold", "levels")))
        assert float(f"{claimed_epsilon(m).high:.{len(row.printed.split('.')[1])}f}") == float(row.printed)
    m = TrieHeavyHitter(10**8, 10**4, 14, 1)
    rows = [p for p in all_printed(m) if p.where == "TRIEHH Table 1"]
    assert [p.claimed for p in rows] == [Fraction("0.0014")] * 2
    (exact,) = (p.found for p in rows if "more or less" in p.sentence)
    assert 3 < 0.0014 / exact.high < 8


@pytest.mark.parametrize(("n", "theta", "least"), [(10**4, 10, 2.6), (10**6, 12, 2.8), (10**8, 14, 3.1), (10**10, 16, 3.4)])
def test_the_batch_may_be_larger_at_the_guarantee_of_table_1(n: int, theta: int, least: float) -> None:
    printed_batch, largest = room(TrieHeavyHitter(n, math.isqrt(n), theta, 1), Fraction(1, 300 * n))
    assert least < largest / printed_batch < least + 0.1


all_printed = partial(printed_at, "trie_heavy_hitter")


def printed_in(m: TrieHeavyHitter, where: str) -> list[Printed]:
    return [p for p in all_printed(m) if p.where == where]


def test_lemma_1_fails_on_a_trie_that_needs_most_votes_for_one_prefix() -> None:
    # 9 of the others hold b, all else c: whoever sees only b grow knows that it had 7 votes or more.
    m = TrieHeavyHitter(users=36, batch=9, threshold=3, levels=1)
    data: Data = ((("b",), 9), (("c",), 27))
    more: Data = ((("b",), 10), (("c",), 27))
    view = frozenset({"b"})
    ratio = law(m, more)[view] / law(m, data)[view]
    found = lemma_1(m, 9)
    assert found.low <= ratio <= found.high
    assert Fraction(9, 9 - 3) < Fraction(5, 3) < ratio
    assert all(h.holds for h in printed_in(m, "TRIEHH Lemma 1")[0].hypotheses[1:4])


HOLDS, FAILS = Standing.HOLDS, Standing.FAILS
ROUNDED = ((10_584, HOLDS), (10_585, FAILS), (31_622, FAILS), (31_623, HOLDS), (118_272, HOLDS), (118_273, FAILS))
"""delta(10) = 8/(7 10!) = 1/(300 * 10,584), and delta(11) = 1/(300 * 118,272); from sqrt(10) 10^4 on, the nearest is 11."""


@pytest.mark.parametrize(("n", "nearest"), ROUNDED)
def test_corollary_1_s_theta_suffices_for_its_proof_where_it_is_rounded_up(n: int, nearest: Standing) -> None:
    rows = {p.reading: p.standing for p in printed_in(TrieHeavyHitter(n, 100, 10, 1), "TRIEHH Corollary 1, proof")}
    assert rows == {"log10(n) + 6 is rounded up": Standing.HOLDS, "log10(n) + 6 is rounded to the nearest integer": nearest}


def test_the_trie_keeps_corollary_1_s_promise_where_its_proof_fails() -> None:
    promise = printed_in(TrieHeavyHitter(20_000, 142, 10, 1), "TRIEHH Corollary 1")[0]
    assert (promise.standing, promise.reading) == (Standing.HOLDS, "log10(n) + 6 is rounded to the nearest integer")
    assert promise.claimed == pytest.approx(math.log(1 + 1 / (math.sqrt(20_000) / 10 - 1)))


SETTINGS = (TrieHeavyHitter(2_000, 200, 10, 1), TrieHeavyHitter(900, 300, 20, 2, unit=3))


@pytest.mark.parametrize("m", SETTINGS, ids=str)
def test_a_word_is_found_as_often_as_proposition_1_says(m: TrieHeavyHitter) -> None:
    for claim in accuracy(m):
        lost = measure(m, claim, 150, seed=8).failures
        assert 0.01 < claim.beta < 0.9
        assert stats.binomtest(lost, 150, claim.beta).pvalue > 1e-6
        held = max(Counter(claim.data(np.random.default_rng(8))).values())
        assert float(missed(m, held)) == pytest.approx(claim.beta)


def test_with_a_shared_prefix_a_word_is_found_more_often() -> None:
    m = TrieHeavyHitter(20, 10, 3, 2)
    alone: Data = (((), 14), (("ab",), 6))
    shared: Data = (((), 10), (("ab",), 6), (("ac",), 4))
    found = [sum((p for view, p in law(m, x).items() if "ab" in view), Fraction(0)) for x in (alone, shared)]
    assert found[0] == 1 - missed(m, 6)
    assert found[1] > found[0]


def test_theorem_2_10_is_judged_on_both_sides_of_n_b_where_a_float_can_say_it() -> None:
    few, many = (tuple(laplace.theorem_2_10(Setting(Fraction(1), Fraction(1), n, Fraction(1, 20)))) for n in (100, 10**6))
    assert [each.sentence.split(" b, ", 1)[1] for each in few[:-1]] == ["T <= n b", "T <= n b, at its end", "T > n b"]
    assert [math.log(each.claimed) for each in few[:-1]] == pytest.approx([-25 / 6, -100 / 6, -400 / 6])
    assert len(many) == 2
    assert math.log(many[0].claimed) == pytest.approx(-20, abs=0.01)


def test_the_tail_of_one_noise_is_below_what_is_found_of_it() -> None:
    *one_side, both = laplace.theorem_2_10(laplace.EXAMPLES[0])
    for each, reach in zip(one_side, (Fraction(1, 2), Fraction(1), Fraction(4)), strict=True):
        assert f"T={reach} b" in each.sentence
        assert math.exp(-reach) / 2 <= each.found.high <= each.claimed
    assert math.exp(-math.sqrt(6) * math.log(40)) <= both.found.high


def test_a_sum_of_noises_exceeds_t_beta_no_more_often_than_found() -> None:
    s, rng = laplace.EXAMPLES[3], np.random.default_rng(11)
    sums = np.abs(rng.standard_gamma(s.users, 10**5) - rng.standard_gamma(s.users, 10**5))
    rate = np.mean(sums > math.sqrt(6 * s.users) * math.log(2 / s.beta))
    assert rate <= tuple(laplace.theorem_2_10(s))[-1].found.high <= s.beta
    assert rate > 0.15, "so that a T_beta which is too large is seen"


@pytest.mark.parametrize("given", [{"users": 0}, {"beta": Fraction(1)}, {"epsilon": Fraction(0)}])
def test_a_setting_out_of_range_is_refused(given: dict[str, Fraction]) -> None:
    usual = {"epsilon": Fraction(1), "sensitivity": Fraction(1), "users": 3, "beta": Fraction(1, 2)}
    with pytest.raises(ValueError, match=r"needs|epsilon"):
        Setting(**{**usual, **given})  # type: ignore[arg-type]


def test_the_naive_histogram_is_private_where_one_entry_changes_and_costs_twice_as_much_where_a_value_is_replaced() -> None:
    s = laplace.Setting(Fraction(1), Fraction(1), 1000, Fraction(1, 20), 50)
    one, pure, at_one = laplace.naive_histogram(s)
    assert s.histogram == LaplaceHistogram(50, Fraction(1))
    assert one.standing is Standing.HOLDS
    assert one.found.low == one.found.high == 1
    assert pure.standing is at_one.standing is Standing.VARIANT
    assert pure.found.low == pure.found.high == 2
    assert at_one.found.high == pytest.approx(0.24183667535920822, rel=1e-15)
    # By hand: two coordinates; given one's loss, the other's delta is known.
    inside = integrate.quad(lambda loss: math.exp(-(1 - loss) / 2) / 4 * -math.expm1((1 - loss - 1) / 2), 0, 1)[0]
    assert at_one.found.high == pytest.approx(inside - math.expm1(-0.5) / 2, rel=1e-9)
