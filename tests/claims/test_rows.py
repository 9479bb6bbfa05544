"""Rows whose numbers can be found in a second way: expectations, costs, groups of users, other data."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from ldpaudit.accountants.claims import bucket_heavy_hitter, hashtogram, shuffled_count_min, sign_oracle, thresh, trie_heavy_hitter
from ldpaudit.accountants.claims.sentence import Printed, Standing
from ldpaudit.accountants.numerics.hypergeometric import hypergeometric_upper
from ldpaudit.mechanisms import Hashtogram, ShuffledCountMin, SignOracle
from tests.claims.test_literature import claims_of


def about(stem: str, where: str, words: str) -> list[Printed]:
    return [each for each in claims_of(stem) if each.where == where and words in each.sentence]


@pytest.mark.parametrize("lead", [bucket_heavy_hitter.lemma_4_6_lead, bucket_heavy_hitter.theorem_4_8_lead])
def test_no_data_that_meet_the_condition_have_a_larger_sum_of_squares_than_one_other_value(lead: bucket_heavy_hitter.Lead) -> None:
    s = replace(bucket_heavy_hitter.EXAMPLES[1], users=10**7)
    count = bucket_heavy_hitter.least_count(s, lead, bucket_heavy_hitter.one_other)
    assert count is not None
    most = bucket_heavy_hitter.one_other(s, count)
    rng = np.random.default_rng(2)
    met = 0
    for held in rng.integers(s.users // 4, s.users, 400).tolist():
        parts = rng.multinomial(s.users - held, rng.dirichlet([0.05] * (s.domain - 1)))
        squares = Fraction(int((parts.astype(object) ** 2).sum()))
        if held >= lead(s, squares).high:
            met += 1
            assert squares <= most
    assert met > 30
    assert most == (s.users - count) ** 2
    assert not count - 1 >= lead(s, bucket_heavy_hitter.one_other(s, count - 1)).high


def test_an_estimate_of_the_sign_oracle_is_unbiased_when_all_columns_and_coins_are_listed() -> None:
    m = SignOracle(users=5, domain=8, p=Fraction(3, 4))
    assert sign_oracle.largest_bias(m).high == 0
    mu = -m.agreement
    for held, asked in product(range(8), repeat=2):
        signs = [(-1) ** bin(r & (held ^ asked)).count("1") for r in range(1, 8)]
        mean = sum(Fraction(sign) for sign in signs) / 7
        assert (mu + mean) / (1 + mu) == (held == asked)


def test_a_bias_is_seen_where_a_formula_takes_off_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = SignOracle(users=5, domain=8, p=Fraction(3, 4))
    table = Hashtogram(users=100, domain=64, cells=8, groups=3, p=Fraction(3, 4))
    assert hashtogram.largest_bias(table).high == 0
    monkeypatch.setattr(SignOracle, "agreement", Fraction(0))
    assert sign_oracle.largest_bias(oracle).low == pytest.approx(1 / 7)
    monkeypatch.setattr(hashtogram, "averages", lambda _: (Fraction(1), Fraction(0)))
    assert hashtogram.largest_bias(table).low > 0


def test_the_hashtogram_s_answer_is_the_count_on_average_over_seeds() -> None:
    m = Hashtogram(users=40, domain=16, cells=4, groups=1, p=Fraction(3, 4))
    data, rng = np.repeat([3, 5], [30, 10]), np.random.default_rng(0)
    answers = np.array([
        each.query(each.run(data, rng), np.array([3]))[0] for each in (replace(m, seed=seed) for seed in range(3000))
    ])  # fmt: skip
    assert abs(answers.mean() - 30) < 5 * answers.std() / np.sqrt(len(answers))


def test_grouposition_holds_for_any_number_of_users_and_not_by_much_where_delta_is_large() -> None:
    for k in (1, 5, 100, 2000):
        assert all(each.holds for each in sign_oracle.grouposition(Fraction(1, 10), k, Fraction(1, 10**6)))
    tight, _ = sign_oracle.grouposition(Fraction(1, 10), 100, Fraction(1, 2))
    assert tight.holds
    assert tight.looseness < 20


def test_of_the_worst_reports_of_a_group_epsilon_is_known_to_ten_digits() -> None:
    _, row = sign_oracle.grouposition(Fraction(1, 10), 1000, Fraction(1, 10**6))
    assert row.claimed == pytest.approx(21.6225814, abs=1e-7)
    assert row.found.low <= 19.344671447993044 <= row.found.high
    assert row.found.relative_width < 1e-10


def test_what_a_user_sends_is_as_long_as_the_numbers_of_cells_and_answers_say() -> None:
    m = ShuffledCountMin(users=10, domain=4, rows=3, buckets=5, gamma=Fraction(1, 4))
    assert shuffled_count_min.message_bits(m).low == 4 == (15 - 1).bit_length()
    assert shuffled_count_min.cells_read(m).low == 3
    assert sign_oracle.report_bits(SignOracle(users=5, domain=8, p=Fraction(3, 4))).low == 1
    rows = [*about("shuffled_count_min", "GGKPV Lemma 4.9", "(1)"), *about("shuffled_count_min", "GGKPV Lemma 4.9", "(3)")]
    assert len(rows) == 6
    assert all(each.standing is Standing.HOLDS for each in rows)


def test_a_count_of_the_sketch_never_needs_more_bits_than_it_is_given() -> None:
    m = ShuffledCountMin(users=4, domain=2, rows=1, buckets=2, gamma=Fraction(1, 2))
    (space,) = (each for each in shuffled_count_min.printed(shuffled_count_min.Setting.of(m)) if "(2)" in each.sentence)
    assert space.found.low == 2 * 4, "a user may send a cell twice, so that it counts to 8"


def test_the_mean_changes_as_often_as_theorem_4_3_allows_and_by_more_than_its_error() -> None:
    made = []
    for m in thresh.SIMULATED:
        allowed = thresh.allowed_changes(m)
        for claim in thresh.accuracy(m):
            stream = claim.data(np.random.default_rng(0))
            pays = stream.changes + ("repaired" in claim.where)
            assert pays < allowed
            assert pays + 1 >= min(allowed, m.epochs)
            assert stream.changes == 0 or np.ptp(stream.average) > thresh.error_bound(m)
            assert ("vacuous" in claim.sentence) == (np.ptp(stream.average) / 2 <= claim.alpha)
            made.append(stream.changes)
    assert sorted(made) == [0, 0, 1, 1, 2, 2, 5, 5, 6, 6, *[15] * 6]
    assert thresh.allowed_changes(thresh.EXAMPLES[0]) > 6


def test_of_all_prefixes_that_lemma_2_is_about_the_most_held_one_is_found_most_easily() -> None:
    n, m, theta = 400, 20, 5
    tails = [float(hypergeometric_upper(n + 1, w + 1, m, theta)) for w in range(n // m + 1)]
    assert tails == sorted(tails)
    for s in trie_heavy_hitter.EXAMPLES:
        (each,) = (each for each in trie_heavy_hitter._lemmas(s) if each.where == "TRIEHH Lemma 2")
        assert f"W={s.users // s.batch} others" in each.sentence


def test_an_estimate_of_algorithm_2_is_below_the_truth_unless_every_row_s_blanket_reaches_its_mean() -> None:
    printed, kept = about("shuffled_count_min", "GGKPV Section 1", "n=1000, tau=1")
    assert (printed.standing, kept.standing) == (Standing.FAILS, Standing.HOLDS)
    rate = Fraction(1, 50)
    m = ShuffledCountMin(1000, 16, 1, 2000, rate)
    below = sum((rate**k * (1 - rate) ** (1000 - k) * math.comb(1000, k) for k in range(20)), Fraction(0))
    assert printed.found.low <= below <= printed.found.high
    rng, runs = np.random.default_rng(3), 2_000
    low = sum(float(m.run(np.full(1000, 7), rng)[7]) < 1000 for _ in range(runs))
    assert stats.binomtest(low, runs, float(below)).pvalue > 1e-6
    usual, _ = about("shuffled_count_min", "GGKPV Section 1", "n=1000000, tau=11")
    assert usual.found.low > 0.9995, "about 1 - 2**-11: a blanket is below its mean in half of all cases"
