"""The Bucket mechanism: its accountant against other computations, the system end to end, and what its paper prints."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import flint
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ldpaudit import Rigour, account, judge
from ldpaudit.accountants.claims import bucket_heavy_hitter
from ldpaudit.accountants.claims.bucket_heavy_hitter import Setting, whatever_the_vectors
from ldpaudit.accountants.claims.laplace import noise_tail
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates
from ldpaudit.accountants.laplace import OneCoordinate, TwoCoordinates
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.derivation import proofs_of
from ldpaudit.mechanisms.bucket_heavy_hitter import BucketHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.verdict import Outcome
from tests.samples import SEEDED_LEVEL, meet

SMALL = Setting(Fraction(9, 10), Fraction(1, 10**6), Fraction(1, 20), 2**20, 10**8)
LARGE = Setting(Fraction(1, 2), Fraction(1, 10**9), Fraction(1, 100), 2**32, 10**9)
ODD = Setting(Fraction(1, 10), Fraction(1, 10**12), Fraction(1, 20), 10**6, 10**10)


@pytest.mark.parametrize(("domain", "seed"), [(32, 0), (32, 1), (20, 0), (20, 3), (17, 5)])
def test_the_cost_is_that_of_the_pair_whose_bits_differ_most(domain: int, seed: int) -> None:
    m = BucketHeavyHitter(domain, 5, 3, Fraction(4), seed)
    bits = m.hashes(np.arange(domain)).astype(int)
    replaced = max(int(np.sum(bits[x] != bits[y])) for x, y in permutations(range(domain), 2))
    added = max(int(np.sum(bits[x])) for x in range(domain))
    for relation, differ in ((REPLACE_ONE, replaced), (ADD_REMOVE, added)):
        assert account(m, relation).epsilon(0).high == pytest.approx(differ / 4, rel=1e-15)
        first, second, weight, known = m.apart(relation == ADD_REMOVE)
        assert (weight, known) == (differ, True)
        assert np.sum(bits[first] != (0 if second is None else bits[second])) == differ
    assert replaced == added or domain < 32


def test_some_public_vectors_cost_all_coordinates_and_none_costs_more() -> None:
    m = BucketHeavyHitter(2, 4, 3, Fraction(6))  # with one bit a value all vectors are alike
    ours, worst = account(m).epsilon(0.01), whatever_the_vectors(m).epsilon(0.01)
    assert (ours.low, ours.high) == (worst.low, worst.high)


def test_where_not_all_words_are_weighed_the_cost_is_enclosed() -> None:
    m = BucketHeavyHitter(1 << 30, 8, 4, Fraction(20))
    profile = account(m)
    assert isinstance(profile, Bracket)
    found = profile.epsilon(1e-3)
    assert found.rigour is Rigour.INTERVAL
    assert 0 < found.low < found.high == whatever_the_vectors(m).epsilon(1e-3).high


def test_hash_functions_are_linear_and_take_both_values_evenly() -> None:
    m = BucketHeavyHitter(1 << 40, 30, 7, Fraction(1), seed=2)
    x, y = np.random.default_rng(0).integers(0, m.domain, (2, 500))
    assert np.array_equal(m.hashes(x ^ y), m.hashes(x) ^ m.hashes(y))
    assert not m.hashes(0).any()
    assert m.hashes(x).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("heavy", [0, 1, 777_777])
def test_the_heavy_hitter_is_found_where_noise_and_others_are_few(heavy: int) -> None:
    m = BucketHeavyHitter.as_printed(50, Fraction(1, 100), Fraction(1, 20), 10**6)
    data = np.concatenate([np.full(6_000, heavy), np.random.default_rng(1).integers(0, 10**6, 4_000)])
    assert m.heavy_hitter(m.run(data, np.random.default_rng(2)), users=10_000) == heavy


def test_a_vote_goes_to_the_most_frequent_of_what_the_trials_name_and_to_none_where_all_systems_are_infeasible() -> None:
    m = BucketHeavyHitter(6, 12, 4, Fraction(1), seed=1)  # so many rows that every system has at most one solution

    def counts(*values: int) -> NDArray[np.float64]:
        bits = [m.hashes(x).reshape(m.trials, m.rows)[trial] for trial, x in enumerate(values)]
        return np.concatenate(bits).astype(np.float64)

    assert m.heavy_hitter(counts(2, 5, 5, 1), users=1) == 5
    assert m.heavy_hitter(counts(5, 2, 5, 2), users=1) == 2
    assert m.heavy_hitter(counts(7, 7, 7, 3), users=1) == 3, "7 is no value"
    assert m.heavy_hitter(counts(7, 7, 7, 7), users=1) is None
    one_bit = BucketHeavyHitter(2, 2, 3, Fraction(1))  # both vectors of a trial are 1
    assert one_bit.heavy_hitter(np.array([1.0, 0.0] * 3), users=1) is None


def test_theorem_4_8_is_met_where_its_condition_is() -> None:
    s = Setting(Fraction(9, 10), Fraction(1, 10), Fraction(3, 10), 4, 200_000)
    assert bucket_heavy_hitter.least_users(s) < s.users
    data, rng = np.full(s.users, 2), np.random.default_rng(3)
    found = [s.mechanism.heavy_hitter(s.mechanism.run_in_law(data, rng), s.users) for _ in range(50)]
    assert found.count(2) == 50


@pytest.mark.parametrize(
    ("setting", "replaced", "any_vectors", "noise"),
    [(ODD, (3.21, 3.22), (2.45, 2.47), (2.40, 2.41)),
     pytest.param(SMALL, (3.50, 3.51), (2.65, 2.67), (2.49, 2.50), marks=pytest.mark.slow),
     pytest.param(LARGE, (2.48, 2.49), (2.48, 2.49), (2.39, 2.40), marks=pytest.mark.slow)],
)  # fmt: skip
def test_theorem_4_3_holds_for_either_relation_and_claims_more_than_twice_the_noise_it_needs(
    setting: Setting, replaced: tuple[float, float], any_vectors: tuple[float, float], noise: tuple[float, float]
) -> None:
    literal, values, anything, absent, *whole = bucket_heavy_hitter.theorem_4_3(setting)
    assert literal.found.high == 0, "no two users' histograms are neighbours, read literally"
    assert values.holds
    assert absent.holds
    assert replaced[0] < values.looseness < replaced[1]
    assert any_vectors[0] < anything.looseness < any_vectors[1]
    assert all(each.holds and each.looseness > values.looseness for each in whole[:1]), "noise for whole numbers is more"
    enough = bucket_heavy_hitter.sufficient_scale(setting)
    assert noise[0] < float(setting.mechanism.scale) / enough.high < noise[1]
    assert enough.relative_width < 1e-5


def test_theorem_4_3_is_not_blamed_for_trials_that_are_rounded_up_from_nearly_none() -> None:
    # 8 ln(1/beta) is 8e-6, and one trial is sent: the formula's noise is about 350 times too small for it.
    rare = Setting(Fraction(9, 10), Fraction(1, 100), 1 - Fraction(1, 10**6), 4, 10**6)
    _, *rows = bucket_heavy_hitter.theorem_4_3(rare)
    assert [each.holds for each in rows[:2]] == [False, False]
    assert {each.standing for each in rows[:3]} == {Standing.VARIANT}
    assert [each.standing for each in rows[3:]] == [Standing.HOLDS, Standing.HOLDS, Standing.VARIANT]


def test_the_judge_bounds_theorem_4_3_for_both_relations() -> None:
    for claim in bucket_heavy_hitter.claims(SMALL):
        enclosure = account(claim.plan, claim.neighbours).epsilon(claim.delta)
        assert judge(claim, [enclosure], [], []).outcome is Outcome.BOUNDED


def test_rounding_rows_and_trials_up_outruns_the_printed_noise() -> None:
    assert (SMALL.mechanism.rows, SMALL.mechanism.trials) == (24, 24)
    assert SMALL.mechanism.scale < bucket_heavy_hitter.printed_scale(SMALL, 576).low
    product = math.log2(12 * 2**20) * 8 * math.log(20)
    assert float(SMALL.mechanism.scale) == pytest.approx(math.sqrt(8 * product * math.log(10**6)) / 0.9, rel=1e-12)


def test_the_constant_of_lemma_4_5_is_twice_what_it_is_said_to_be_where_it_is_used() -> None:
    bound, proved, printed = bucket_heavy_hitter.lemma_4_5(2)
    assert (bound.holds, proved.holds) == (True, False)
    assert 2 * proved.found.low > 4, "C_2 (2c/t^2) <= 4 (c/t^2), says the proof of Lemma 4.6"
    assert printed.holds is False
    for k in range(4, 40, 2):
        assert [claim.holds for claim in bucket_heavy_hitter.lemma_4_5(k)] == [True, True, False]
        assert 0.9 < bucket_heavy_hitter.lemma_4_5(k)[0].looseness ** -1 <= 1, "Stirling's formula is all that it loses"


@pytest.mark.parametrize("squares", [Fraction(0), Fraction(10**12), Fraction(10**14)])
@pytest.mark.parametrize("setting", [SMALL, LARGE, ODD])
def test_lemmas_4_6_and_4_7_and_theorem_4_8_hold_though_not_as_proved(setting: Setting, squares: Fraction) -> None:
    found = (
        bucket_heavy_hitter.lemma_4_6(setting, squares),
        bucket_heavy_hitter.lemma_4_7(setting),
        bucket_heavy_hitter.theorem_4_8(setting, squares),
    )
    assert all(printed.holds for printed in found)


@pytest.mark.parametrize("s", bucket_heavy_hitter.EXAMPLES[1:], ids=str)
def test_the_data_of_a_simulation_meet_theorem_4_8_s_condition_and_a_rarer_heavy_hitter_does_not(s: Setting) -> None:
    found = []
    for claim in bucket_heavy_hitter.accuracy(s):
        data = claim.data(np.random.default_rng(3))
        assert len(data) == s.users
        counts = np.bincount(data, minlength=s.domain)
        squares = Fraction(int((counts.astype(object) ** 2).sum() - counts[data[0]] ** 2))
        least = bucket_heavy_hitter.theorem_4_8_lead(s, squares).high
        assert least <= counts[data[0]]
        found.append((squares, counts[data[0]] < least + 1 + least / 1000))
    (none, _), *others = found
    assert none == 0
    assert all(squares > 0 and rare for squares, rare in others)
    assert len({squares for squares, _ in found}) == 3, "no others, others held evenly, and one other value"


def test_the_condition_of_theorem_4_8_needs_millions_of_users() -> None:
    assert bucket_heavy_hitter.least_users(SMALL) == 18_592_880
    assert "not met" in str(bucket_heavy_hitter.theorem_4_8(replace(SMALL, users=10**6)))


@pytest.mark.parametrize(("users", "reach"), [(1, 2.0), (1, 9.0), (7, 20.0), (500, 120.0)])
def test_the_noise_exceeds_chernoffs_bound_no_more_often(users: int, reach: float) -> None:
    rng = np.random.default_rng(5)
    sums = np.abs(rng.standard_gamma(users, 400_000) - rng.standard_gamma(users, 400_000))
    bound = float(noise_tail(users, flint.arb(reach)))
    seen = int(np.count_nonzero(sums > reach))
    assert stats.binom.sf(seen - 1, 400_000, min(bound, 1)) > SEEDED_LEVEL


def test_the_proofs_bound_both_relations_by_all_coordinates() -> None:
    replaced, present = proofs_of("bucket_heavy_hitter")
    m = BucketHeavyHitter(64, 6, 2, Fraction(7, 3))
    assert replaced.at(m) == present.at(m) == [(Fraction(12), Fraction(3, 7), True)]
    assert (replaced.relation, present.relation) == ("replace-one", "add-remove")


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 7), Fraction(1, 2), 1 - Fraction(1, 10**6)])
@pytest.mark.parametrize("step", [Fraction(1, 1000), Fraction(1, 3), Fraction(5), Fraction(40)])
def test_one_and_two_coordinates_are_the_closed_forms(step: Fraction, share: Fraction) -> None:
    for count, closed in ((1, OneCoordinate(step, "")), (2, TwoCoordinates(2 * step, ""))):
        epsilon = share * count * step
        ours, truth = LaplaceCoordinates(count, step, "").delta(epsilon), closed.delta(epsilon)
        assert meet(ours, truth)
        assert ours.high <= ours.low * (1 + 1e-14)
