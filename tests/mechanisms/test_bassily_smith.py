"""The Bassily-Smith randomizer: its numbers by enumeration, whole vectors, the public matrix, the oracle."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from ldpaudit import Guarantee, PrivacyProfile, Rigour, Shuffle, account
from ldpaudit.accountants import bassily_smith
from ldpaudit.accountants.claims import bassily_smith as claims
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile, law_atoms
from ldpaudit.mechanisms import BassilySmith, ProjectedBassilySmith
from ldpaudit.mechanisms.bassily_smith import RowSign
from ldpaudit.mechanisms.shared.projections.public_columns import Projection
from ldpaudit.neighbours import ADD_REMOVE
from ldpaudit.studies.literature import measure
from tests.oracles.shuffle import worst
from tests.samples import fits, same_number

F = Fraction
ONE = BassilySmith.for_epsilon(1, rows=16)
SIX_AGREE = ((1,) * 16, (1,) * 6 + (-1,) * 10)


def listed(m: RowSign, x: object, y: object) -> PrivacyProfile:
    """Of all views, one by one, from x to y only."""
    return FiniteProfile((ExactPLD.of(law_atoms(m.law(x), m.law(y))),), "all views")


def test_a_report_on_a_word_has_a_variance_of_c_squared_minus_1_and_the_mean_x() -> None:
    mean, square = [F(0)] * 16, F(0)
    u = SIX_AGREE[1]
    for (j, s), p in ONE.law(u).items():
        z = ONE.scale * s  # root(w) z_j, over w
        mean[j] += 16 * p * z
        square += p * (z * u[j]) ** 2
    assert mean == list(u)
    assert square - 1 == ONE.variance
    assert float(ONE.variance) == pytest.approx(3.682694, abs=5e-7)
    assert claims.own_variance(claims.EXAMPLES[0].mechanism).low == pytest.approx(3.682694, abs=5e-7)


def test_the_total_variation_of_two_vectors_is_the_share_of_rows_in_which_they_differ_of_the_coin_s() -> None:
    found = bassily_smith.of_pair(ONE, *SIX_AGREE).delta(0)
    assert found.high == pytest.approx(F(10, 16) * math.tanh(0.5), rel=1e-15)
    assert found.high == pytest.approx(0.2888232, abs=5e-8)
    assert same_number(found, listed(ONE, *SIX_AGREE).delta(0))


@pytest.mark.parametrize(("order", "value"), [(0, 0.3798855), (1, 0.6201145)])
def test_an_absent_user_is_told_from_one_who_is_there_by_less_than_epsilon(order: int, value: float) -> None:
    x, y = ((1,) * 16, None) if order == 0 else (None, (1,) * 16)
    assert listed(ONE, x, y).epsilon(0).high == pytest.approx(value, abs=5e-8)
    both = account(ONE, ADD_REMOVE)
    assert both.epsilon(0).high == pytest.approx(0.6201145, abs=5e-8)
    for epsilon in (0.0, 0.2, 0.37, 0.5):
        assert both.delta(epsilon).high >= listed(ONE, x, y).delta(epsilon).low
    assert both.delta(0.2).high == max(listed(ONE, *each).delta(0.2).high for each in ((x, y), (y, x)))


def test_rows_merged_by_their_entries_give_what_all_views_give() -> None:
    m = BassilySmith(5, F(4, 5))
    vectors = [(1, F(1, 2), 0, F(-1, 3), -1), (F(1, 3), F(1, 2), 1, -1, -1), (0,) * 5, None]
    for x, y in product(vectors, repeat=2):
        merged = bassily_smith.of_pair(m, x, y)
        for epsilon in (0.0, 0.3, 1.0):
            assert merged.delta(epsilon).high == max(listed(m, *pair).delta(epsilon).high for pair in ((x, y), (y, x)))


def test_no_two_vectors_are_told_apart_better_than_only_ones_and_only_minus_ones() -> None:
    m, rng = BassilySmith(3, F(4, 5)), np.random.default_rng(4)
    worst = account(m)
    for _ in range(60):
        x, y = ([F(int(v), 4) for v in rng.integers(-4, 5, 3)] for _ in range(2))
        for epsilon in (0.0, 0.4, 1.2):
            assert bassily_smith.of_pair(m, x, y).delta(epsilon).low <= worst.delta(epsilon).high


def test_the_largest_share_is_that_of_all_pairs_and_else_an_interval_of_the_same_epsilon() -> None:
    m = ProjectedBassilySmith(90, 20, F(3, 4), seed=1)
    columns = m.public.signs(np.arange(90)[:, None], np.arange(20))
    most = max(int((columns[:, u] != columns[:, v]).sum()) for u, v in product(range(20), repeat=2))
    assert bassily_smith.largest_share(m.public) == (F(most, 90), True)
    assert account(m).delta(0).high == pytest.approx(most / 90 * 0.5, rel=1e-15)
    wide = ProjectedBassilySmith(1 << 12, 1 << 10, F(3, 4))
    assert account(wide).epsilon(0) == account(m).epsilon(0)
    assert account(wide).delta(0).rigour is Rigour.INTERVAL
    assert 0.25 < account(wide).delta(0).low < 0.27
    assert account(wide).delta(0).high == 0.5


@pytest.mark.parametrize(("rows", "domain"), [(1, 2), (63, 3), (64, 3), (65, 7), (1000, 5)])
def test_the_public_matrix_is_the_same_bit_by_bit_and_packed(rows: int, domain: int) -> None:
    public = Projection(rows, domain, seed=6)
    table = public.signs(np.arange(rows)[:, None], np.arange(domain))
    assert set(np.unique(table)) <= {-1, 1}
    for u, v in product(range(domain), repeat=2):
        assert public.differing(u, v) == int((table[:, u] != table[:, v]).sum())
    weights = {v: (-1) ** v * (v + 1) for v in range(domain)}
    sums = table.astype(int) @ np.array(list(weights.values()))
    assert public.range_of(weights) == (sums.min(), sums.max())
    assert sorted(public.patterns().tolist()) == sorted(map(list, {tuple(row) for row in table.tolist()}))


def test_in_long_columns_the_words_that_are_furthest_apart_are_those_of_the_first_quarter_million_rows() -> None:
    assert Projection(1 << 20, 5, seed=0).apart() == Projection(1 << 18, 5, seed=0).apart() == (1, 2)


def test_the_signs_are_even_and_those_of_two_words_rows_and_seeds_independent() -> None:
    rows, several = 1 << 14, np.arange(6)
    tables = [Projection(rows, 6, seed).signs(np.arange(rows)[:, None], several).astype(int) for seed in (0, 1)]
    sums = [tables[0].sum(axis=0), tables[0].T @ tables[0] - rows * np.eye(6), tables[0].T @ tables[1],
            tables[0][1:].T @ tables[0][:-1], tables[0][64:].T @ tables[0][:-64]]  # fmt: skip
    assert max(np.abs(each).max() for each in sums) < 5 * math.sqrt(rows)


def test_the_oracle_is_unbiased_over_matrices_and_as_accurate_as_is_derived() -> None:
    # The mean squared error over matrices and coins: (c^2 - p - (1-p)/w)/n + sum of the others' p^2/w.
    n, w, data, rng = 200, 50, np.repeat([0, 1, 2], [100, 60, 40]), np.random.default_rng(1)
    errors = []
    for seed in range(1500):
        m = ProjectedBassilySmith.for_epsilon(1, rows=w, domain=3, seed=seed)
        errors.append((m.run(data, rng)[0] - 100) / n)
    c2 = float(m.scale**2)
    mse = (c2 - 0.5 - 0.5 / w) / n + (0.3**2 + 0.2**2) / w
    assert abs(np.mean(errors)) < 5 * math.sqrt(mse / 1500)
    assert np.mean(np.square(errors)) == pytest.approx(mse, rel=0.2)


def test_the_sign_of_an_entry_between_the_ends_is_exact() -> None:
    m = BassilySmith(2, F(3, 4))
    views = m.sample((F(1, 2), 0), 40_000, np.random.default_rng(2))
    assert fits(Counter(map(tuple, views.tolist())), dict(m.law((F(1, 2), 0)).items()))


def test_the_claims_see_a_bias_and_a_variance_that_are_not_as_they_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    m = claims.EXAMPLES[0].mechanism
    assert claims.largest_bias(m).high == 0
    monkeypatch.setattr(RowSign, "scale", property(lambda m: 1 / m.theta + F(1, 100)))
    assert claims.largest_bias(m).low == pytest.approx(float(m.theta) / 100)
    assert claims.own_variance(m).low > 3.69


def test_no_word_s_estimate_is_off_by_more_than_is_derived() -> None:
    setting, _ = claims.SIMULATED
    (claim,) = claims.accuracy(setting)
    c, log = 1 / math.tanh(0.5), math.log(4 * 20 * 20)
    assert claim.alpha == pytest.approx(2_000 * (c * math.sqrt(2 * log / 2_000) + math.sqrt(2 * log / 40_000)))
    found = measure(setting, claim, 30, seed=1)
    assert found.failures == 0
    assert found.upper > claim.alpha / 5


def test_a_million_rows_are_never_listed() -> None:
    m = ProjectedBassilySmith.for_epsilon(F(1, 2), rows=2 * 10**7, domain=1000)
    assert account(m).epsilon(0).high == pytest.approx(0.5)
    assert m.law(3).size == 4 * 10**7
    assert m.sample(3, 5, np.random.default_rng(0)).shape == (5, 2)


SHUFFLED: list[tuple[RowSign, list[Any], int]] = [
    *((ProjectedBassilySmith(rows, words, F(2, 3), seed), list(range(words)), users)
      for rows, words, seed in ((3, 4, 0), (4, 3, 2), (2, 5, 1)) for users in (2, 3)),
    *((BassilySmith(2, F(2, 3)), [(1, 1), (-1, -1), (1, -1), (0, F(1, 2))], users) for users in (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize(("m", "inputs", "users"), SHUFFLED, ids=str)
def test_rows_that_users_draw_are_hidden_by_a_shuffler_as_all_data_sets_say(
    m: RowSign, inputs: list[Any], users: int, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not listed:
        monkeypatch.setattr(bassily_smith, "of_mechanism", lambda *_: None)
    ratios = F(11, 10), F(3, 2)
    profile, alone = account(Shuffle(m, users)), account(m)
    for ratio, truth in zip(ratios, worst([dict(m.law(x).items()) for x in inputs], users, *ratios), strict=True):
        found = profile.delta(math.log(ratio))
        assert 0.9 * float(truth) <= found.low <= float(truth) * (1 + 1e-9)
        assert float(truth) * (1 - 1e-9) <= found.high < alone.delta(math.log(ratio)).high


def test_among_a_million_users_a_vector_costs_what_binary_response_does() -> None:
    found = account(Shuffle(BassilySmith.for_epsilon(2, 1024), 10**6)).epsilon(1e-6)
    assert 0.0069997 <= found.low <= found.high <= 0.0070008


def test_the_shuffled_oracle_of_drawn_rows_is_known_better_than_by_its_epsilon_alone() -> None:
    m = ProjectedBassilySmith.for_epsilon(2, rows=4096, domain=64)
    found, clones = (account(Shuffle(plan, 10_000)).epsilon(F(1, 10**6)) for plan in (m, Guarantee(F(2))))
    assert 0.4 * found.high < found.low < found.high < 0.9 * clones.high
