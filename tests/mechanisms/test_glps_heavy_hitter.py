"""GLPS-HH: the matrix by its definition, the cost by all pairs, the recovery by simulation, and what its paper prints."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import flint
import numpy as np
import pytest
from scipy import stats

from ldpaudit import Rigour, account
from ldpaudit.accountants.claims import glps_heavy_hitter
from ldpaudit.accountants.claims.glps_heavy_hitter import Setting, any_matrix, least_count, sufficient_scale
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.accountants.composition.laplace_vector import LaplaceCoordinates
from ldpaudit.accountants.glps_heavy_hitter import any_seed
from ldpaudit.accountants.pld.profiles import Bracket
from ldpaudit.mechanisms.glps_heavy_hitter import GlpsHeavyHitter, printed_scale, printed_sizes
from ldpaudit.mechanisms.shared.projections import noisy_column, signed_buckets
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from tests.samples import SEEDED_LEVEL

F = Fraction
USUAL = F(1), F(1, 10**6)
SMALL = [
    GlpsHeavyHitter(32, 2, 3, 4, F(4)), GlpsHeavyHitter(20, 2, 2, 2, F(4), seed=3), GlpsHeavyHitter(17, 2, 1, 16, F(2), seed=1),
    GlpsHeavyHitter(8, 1, 2, 8, F(3)), GlpsHeavyHitter(16, 1, 2, 1, F(3)), GlpsHeavyHitter(2, 1, 1, 2, F(1)),
]  # fmt: skip
LARGE = GlpsHeavyHitter(1 << 20, 16, 3, 256, F(66))


def shifts(m: GlpsHeavyHitter, x: int, y: int) -> tuple[int, int]:
    differ = np.abs(m.column(x) - m.column(y))
    return int(np.sum(differ == 1)), int(np.sum(differ == 2))


@pytest.mark.parametrize("m", SMALL, ids=str)
def test_a_column_has_in_one_bucket_of_each_row_a_sign_and_the_bits_that_turn_it(m: GlpsHeavyHitter) -> None:
    for x in range(m.domain):
        column = m.column(x).reshape(m.rows, m.buckets, m.bits + 1)
        for row, vectors in enumerate(map(m.matrix.vectors, range(m.rows))):
            answers = [bin(vector & x).count("1") % 2 for vector in vectors]
            bucket = sum(bit << i for i, bit in enumerate(answers)) % m.buckets
            sign = (-1) ** answers[-1]
            assert column[row, bucket].tolist() == [sign, *(sign * (-1) ** (x >> i & 1) for i in range(m.bits))]
        assert np.count_nonzero(column) == m.touched


@pytest.mark.parametrize("m", SMALL, ids=str)
def test_the_cost_is_that_of_the_worst_of_all_pairs_and_at_delta_0_of_the_furthest(m: GlpsHeavyHitter) -> None:
    pairs = {shifts(m, x, y) for x, y in combinations(range(m.domain), 2)}
    profiles = [LaplaceCoordinates(once, 1 / m.scale, "", doubled=twice) for once, twice in pairs]
    found = account(m)
    for epsilon in (F(0), F(1, 3), F(2)):
        ours, all_pairs = found.delta(epsilon), [profile.delta(epsilon) for profile in profiles]
        assert ours.rigour is Rigour.EXACT
        assert max(each.low for each in all_pairs) <= ours.high
        assert ours.low <= max(each.high for each in all_pairs)
    assert found.epsilon(0).high == pytest.approx(max(once + 2 * twice for once, twice in pairs) / float(m.scale), rel=1e-15)
    assert account(m, ADD_REMOVE).epsilon(0).high == pytest.approx(m.touched / float(m.scale), rel=1e-15)


@pytest.mark.parametrize("m", [*SMALL, LARGE], ids=str)
def test_a_pair_is_of_its_kind_and_no_seed_costs_more_than_the_bound(m: GlpsHeavyHitter) -> None:
    for kind in m.apart()[0]:
        x, y = m.pair(kind)
        assert 0 <= min(x, y) <= max(x, y) < m.domain
        assert shifts(m, x, y) == (kind.once, kind.twice)
        assert kind.total <= 2 * m.touched
    for delta in (0, F(1, 10**6)):
        assert account(m).epsilon(delta).high <= any_seed(m).epsilon(delta).high


def test_where_not_all_pairs_are_compared_those_of_few_ones_and_of_few_zeros_decide() -> None:
    m = GlpsHeavyHitter(1 << 40, 4, 3, 16, F(400))
    kinds, known = m.apart()
    assert known
    assert max(kind.twice for kind in kinds) > 110, "three rows shared, of 41 measurements each"
    assert all(shifts(m, *m.pair(kind)) == (kind.once, kind.twice) for kind in kinds)
    assert account(m).epsilon(1e-6).rigour is Rigour.EXACT
    assert account(m).epsilon(1e-6).high < any_seed(m).epsilon(1e-6).low


def test_where_others_may_be_worse_the_cost_is_enclosed_by_a_pair_and_a_bound() -> None:
    m = GlpsHeavyHitter(1 << 40, 4, 3, 1 << 12, F(400))
    profile, found = account(m), account(m).epsilon(1e-6)
    assert isinstance(profile, Bracket)
    assert found.rigour is Rigour.INTERVAL
    assert 0 < found.low < found.high < any_seed(m).epsilon(1e-6).low
    assert found.high < 1.3 * found.low


@pytest.mark.parametrize("weighed", [1, 3, 20, 50])
@pytest.mark.parametrize(("bits", "rows", "buckets"), [(7, 1, 4), (8, 2, 2), (9, 2, 4), (10, 3, 8), (6, 2, 64)])
def test_no_pair_is_further_apart_than_those_found_and_what_may_be_beyond(
    bits: int, rows: int, buckets: int, weighed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs, against the search where there are too many of them."""
    undecided = 0
    for seed in range(8):
        matrix = signed_buckets.SignedBuckets(bits, rows, buckets, seed)
        truth, _ = signed_buckets.furthest(matrix)
        with monkeypatch.context() as patch:
            patch.setattr(signed_buckets, "ENUMERATED", 0)
            patch.setattr(signed_buckets, "_WEIGHED", weighed)
            patch.setattr(signed_buckets, "_TRIED", 1)
            patch.setattr(signed_buckets, "_KINDS", seed % 2)  # or all kinds that are open become one
            found, beyond = signed_buckets.furthest.__wrapped__(matrix)
        assert all(any(p.total >= kind.total and p.twice >= kind.twice for p in found + beyond) for kind in truth)
        assert all(any(p.total >= kind.total and p.twice >= kind.twice for p in truth) for kind in found)
        undecided += bool(beyond)
    assert weighed > 1 or undecided, "with no differences of few ones something is left open"


def test_the_worst_cost_of_the_printed_noise_and_the_least_noise_for_every_seed() -> None:
    scale = printed_scale(*USUAL, F(16_128))
    assert LARGE.measurements == 16_128
    assert float(scale) == pytest.approx(1335.1151389415, rel=1e-12)
    assert LaplaceCoordinates(126, 1 / scale, "").epsilon(1e-6).high == pytest.approx(0.0277578760618913, rel=1e-14)
    seeds, matrices = any_seed(LARGE).delta(1), any_matrix(LARGE.touched, LARGE.scale).delta(1)
    assert (seeds.low, seeds.high) == (matrices.low, matrices.high)
    least = sufficient_scale(*USUAL, LARGE.touched)
    assert F("65.206841414290429") in least
    assert least.relative_width < 1e-12


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_the_least_noise_of_a_replaced_value_is_twice_that_of_an_absent_user(relation: Neighbours) -> None:
    enough = sufficient_scale(*USUAL, 63, relation).high
    assert enough == pytest.approx(65.206841414290429 / (1 if relation == REPLACE_ONE else 2), rel=1e-12)
    kept = account(replace(LARGE, scale=F(enough)), relation).epsilon(USUAL[1]).high
    assert kept == pytest.approx(1, rel=1e-12) if relation == ADD_REMOVE else 0.7 < kept < 0.9


def test_the_printed_parameters_are_the_paper_s_rounded_up() -> None:
    sparsity, measurements = printed_sizes(*USUAL, F(1, 20), 10**6, 1 << 20)
    by_hand = ((1 / np.log(20)) * np.sqrt(1e6 / (np.log(2**20) * np.log(1e6)))) ** (2 / 3)
    assert float(sparsity) == pytest.approx(by_hand, rel=1e-14) == pytest.approx(8.348, abs=1e-3)
    assert float(measurements) == pytest.approx(by_hand * np.log(2**20 / by_hand), rel=1e-14) == pytest.approx(98.0, abs=0.05)
    assert float(printed_scale(*USUAL, measurements)) == pytest.approx(104.08, abs=5e-3)
    m = GlpsHeavyHitter.as_printed(*USUAL, F(1, 20), 10**6, 1 << 20)
    assert (m.sparsity, m.rows, m.buckets, m.measurements) == (9, 1, 8, 168)
    assert m.scale == printed_scale(*USUAL, F(168)) >= printed_scale(*USUAL, measurements)
    few = GlpsHeavyHitter.as_printed(F(1), F(9, 10), F(1, 2), 10**3, 1 << 7)
    assert few.buckets <= 1 << few.bits


def test_the_values_recovered_in_law_have_the_law_of_those_recovered() -> None:
    m = GlpsHeavyHitter(8, 2, 1, 4, F(3, 2))
    rng = np.random.default_rng(4)
    data = [1] * 60 + [6] * 30
    runs = [[run(data, rng) for _ in range(500)] for run in (m.run, m.run_in_law)]
    for value in (1, 6):
        one, other = ([found.get(value, 0.0) for found in several] for several in runs)
        assert stats.ks_2samp(one, other).pvalue > SEEDED_LEVEL
    sums = [m.estimate(m.sample(1, 120, rng)) for _ in range(400)]
    assert np.mean(sums, axis=0) == pytest.approx(120 * m.column(1), abs=6 * 1.5 * np.sqrt(2 * 120 / 400))


def test_the_noise_of_run_is_drawn_for_every_user_though_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noisy_column, "_CHUNK", 32)
    m = GlpsHeavyHitter(2, 2, 1, 1, F(1))
    sums = np.array([m.run([1] * 101, np.random.default_rng(i)).get(1, np.nan) for i in range(600)])
    # Two measurements of 101 noises each, of variance 2; their mean is the estimate where 1 is named.
    assert np.nanvar(sums) == pytest.approx(101, rel=0.35)
    assert np.isnan(sums).mean() < 0.01


def test_users_are_given_one_by_one_or_counted() -> None:
    values = np.random.default_rng(2).integers(0, LARGE.domain, 300)
    held, times = np.unique(values, return_counts=True)
    counted = dict(zip(held.tolist(), times.tolist(), strict=True))
    assert np.array_equal(LARGE.truth(values), LARGE.truth(counted))
    assert np.array_equal(LARGE.truth(values), sum(LARGE.column(x) for x in values.tolist()))
    ours, theirs = (LARGE.run_in_law(data, np.random.default_rng(3)) for data in (values, counted))
    assert ours == theirs


@pytest.mark.parametrize("domain", [100, 1 << 20, 10**9, 1 << 62])
def test_without_noise_a_few_values_are_recovered_exactly_by_falling_count(domain: int) -> None:
    m = GlpsHeavyHitter(domain, 6, 3, 64, F(1))
    rng = np.random.default_rng(5)
    values = {100: [99, 7, 50, 31, 2]}.get(domain, rng.integers(0, domain, 5).tolist())
    held = {x: 1000 - 7 * i for i, x in enumerate(values)}
    found = m.decode(m.truth(held))
    assert list(found)[:5] == values
    assert list(found.values())[:5] == pytest.approx([float(n) for n in held.values()])
    assert list(found.values())[5:] == pytest.approx([0.0] * (len(found) - 5), abs=1e-9), "an empty bucket spells 0"
    assert m.heavy_hitter(found) == next(iter(held))
    assert m.heavy_hitter({}) is None
    assert m.heavy_hitter({7: 2.0, 3: 2.0}) == 3


def test_no_more_values_are_recovered_than_sparsity_and_none_outside_the_domain() -> None:
    m = GlpsHeavyHitter(33, 3, 1, 8, F(100))
    for seed in range(200):
        found = m.run_in_law([4] * 10, np.random.default_rng(seed))
        assert len(found) <= 3
        assert all(x < 33 for x in found)
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_what_shares_a_bucket_with_a_frequent_value_is_found_once_that_is_taken_off() -> None:
    m = GlpsHeavyHitter(1 << 10, 2, 1, 2, F(1))
    bucket = [x for x in range(1 << 10) if m.matrix.places(0, np.array([x]))[0][0] == 0]
    found = m.decode(m.truth({bucket[3]: 1000, bucket[200]: 100}))
    assert set(found) == {bucket[3], bucket[200]}
    assert found[bucket[200]] == pytest.approx(100, rel=0.5)


def test_an_estimate_is_exact_where_fewer_than_half_of_the_rows_hold_another_value() -> None:
    m = GlpsHeavyHitter(1 << 10, 2, 3, 4, F(1))
    places = np.stack([m.matrix.places(row, np.arange(m.domain))[0] for row in range(3)])
    shared = (places == places[:, :1]).sum(axis=0)
    for other in np.flatnonzero(shared == 1)[:20].tolist():
        measured = m.truth({0: 10, other: 1000}).reshape(m.matrix.shape)
        assert m.matrix.estimates(measured, np.array([0, other])) == pytest.approx([10, 1000])


def heavy_data(users: int, shares: tuple[float, ...], rng: np.random.Generator) -> tuple[list[int], dict[int, int]]:
    """Values held by these shares of the users, and 2000 others that the rest hold evenly."""
    values = rng.choice(LARGE.domain, 2000 + len(shares), replace=False).tolist()
    held = {x: int(share * users) for x, share in zip(values, shares, strict=False)}
    rest = (users - sum(held.values())) // 2000
    return list(held), held | dict.fromkeys(values[len(shares) :], rest)


def test_with_the_least_noise_what_65_of_1000_of_a_hundred_million_users_hold_is_found() -> None:
    runs = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values, data = heavy_data(10**8, (0.065,) * 5, rng)
        runs += set(values) <= set(replace(LARGE, seed=seed).run_in_law(data, rng))
    assert runs == 40


def test_a_row_spells_a_value_of_the_stated_count_at_least_three_times_in_four() -> None:
    m = replace(LARGE, rows=1, scale=F(22))
    users = 10**8
    count = int(least_count(m, users)) + 1
    assert 16 * users / m.buckets < count < users / 10
    missed = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        each = replace(m, seed=seed)
        data = {5: count, **{int(x): (users - count) // 12 for x in 6 + rng.choice(10**6, 12, replace=False)}}
        noise = rng.standard_gamma(users, (2, m.measurements))
        measured = each.truth(data) + 22.0 * (noise[0] - noise[1])
        missed += 5 not in each.matrix.named(measured.reshape(each.matrix.shape))
    assert stats.binom.sf(missed - 1, 300, 0.25) > SEEDED_LEVEL
    assert missed > 0


def test_a_sum_of_noises_exceeds_its_bound_no_more_often() -> None:
    rng, users = np.random.default_rng(6), 50
    m = replace(LARGE, scale=F(2))
    largest = 2 * np.abs(rng.standard_gamma(users, (20_000, 21)) - rng.standard_gamma(users, (20_000, 21))).max(axis=1)
    for reach in (50.0, 70.0):
        bound = float(glps_heavy_hitter.misses(m, users, flint.arb(reach)))
        assert stats.binom.sf(int(np.sum(largest > reach)) - 1, 20_000, min(bound, 1)) > SEEDED_LEVEL


@pytest.mark.parametrize(("users", "says"), [(10**6, False), (10**8, True)])
def test_theorem_4_2_says_nothing_among_a_million_users(users: int, says: bool) -> None:
    setting = Setting(F(9, 10), F(1, 10**6), F(1, 20), 1 << 20, users)
    _, both, *_ = glps_heavy_hitter.theorem_4_2(setting)
    assert both.holds is says
    assert both.standing is Standing.VARIANT
    sparsity, measurements = map(float, setting.sizes)
    noise = np.sqrt(sparsity * measurements) * np.log(measurements * 20) * np.sqrt(users * np.log(1e6)) / 0.9
    assert both.found.high == pytest.approx(2 * users / np.sqrt(sparsity) + noise, rel=1e-12)


@pytest.mark.parametrize("s", glps_heavy_hitter.SIMULATED, ids=str)
def test_in_a_simulation_s_data_only_the_most_frequent_value_is_no_error(s: Setting) -> None:
    (claim,) = glps_heavy_hitter.accuracy(s)
    data = claim.data(np.random.default_rng(3))
    assert sum(data.values()) == s.users
    first, *others = sorted(data, key=lambda x: -data[x])
    assert claim.beta == pytest.approx(0.3)
    assert claim.error(data, {first: 2.0, others[0]: 1.0}) == 0
    for wrong in ({others[0]: 1.0, first: 0.5}, {}, {next(x for x in range(s.domain) if x not in data): 1.0}):
        assert claim.alpha < claim.error(data, wrong) <= data[first]
    assert claim.alpha < s.users / 4


def test_the_more_frequent_of_two_values_leads_by_more_than_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glps_heavy_hitter, "_OTHERS", 1)
    (claim,) = glps_heavy_hitter.accuracy(glps_heavy_hitter.SIMULATED[0])
    fewer, more = sorted(claim.data(np.random.default_rng(3)).values())
    assert claim.alpha < more - fewer < claim.alpha + 3


@pytest.mark.parametrize("basis", [[0b0110], [0b1001, 0b0110, 0b1100], [0b000001, 0b000011, 0b111000, 0b110010]])
def test_the_difference_that_is_tried_has_the_most_ones_of_all_that_share_buckets_and_signs(basis: list[int]) -> None:
    sums = {0}
    for vector in basis:
        sums |= {each ^ vector for each in sums}
    found = signed_buckets._heavy(basis, 6)
    assert found in sums
    assert found.bit_count() == max(map(int.bit_count, sums))
