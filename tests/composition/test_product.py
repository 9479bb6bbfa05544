"""Exact sums of coins, public hash functions, and profiles of independent parts."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product as cartesian

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from ldpaudit import Repeat, Rigour, account
from ldpaudit.accountants.composition import product as accounting
from ldpaudit.accountants.pld.exact import ExactPLD, ProductPair
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.attacks.shared.odds import CERTAIN, count_losses, look_up
from ldpaudit.mechanisms import LongitudinalUnary, Rappor
from ldpaudit.mechanisms.shared import independent_bits as mechanisms
from ldpaudit.mechanisms.shared.coins import bernoulli
from ldpaudit.mechanisms.shared.hashing import PRIME, buckets, coefficients
from tests.helpers import raises, typed
from tests.oracles.pairs import joint
from tests.samples import meet

SAMPLE = 20_000
LEVEL = 1e-6


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 600), Fraction(2**40 - 1, 2**40), Fraction(129, 512)])
def test_a_coin_is_not_rounded_to_its_first_digit(p: Fraction) -> None:
    count = 4_000_003
    ones = np.count_nonzero(bernoulli(p, count, np.random.default_rng(1)))
    assert abs(ones - count * float(p)) <= 5 * np.sqrt(count * float(p * (1 - p))) + 1


def test_coins_have_the_shape_that_is_asked_for() -> None:
    rng = np.random.default_rng(1)
    for shape in ((3, 5), (0,), 7, (2, 0)):
        for p in (Fraction(0), Fraction(1, 2), Fraction(1)):
            coins = bernoulli(p, shape, rng)
            assert coins.shape == np.empty(shape).shape
            assert p == Fraction(1, 2) or (coins == bool(p)).all()
            coins[...] = True  # it may be written to


@pytest.mark.few(3)
@pytest.mark.parametrize("digits", [1, 3, 62])
@pytest.mark.parametrize(("n", "p"), [(5, Fraction(1, 3)), (7, Fraction(1, 4)), (6, Fraction(9, 10)), (3, Fraction(0))])
def test_heads_are_binomial_however_few_digits_are_drawn_at_once(digits: int, n: int, p: Fraction) -> None:
    drawn = mechanisms._inverted(n, p, SAMPLE, np.random.default_rng(1), digits)
    expected = SAMPLE * np.array([float(w) for w in mechanisms.binomial_law(n, p)])
    seen = np.bincount(drawn, minlength=n + 1)
    assert not seen[expected == 0].any()
    statistic = np.sum((seen - expected)[expected > 0] ** 2 / expected[expected > 0])
    assert stats.chi2.sf(statistic, n) > LEVEL


def test_heads_of_more_coins_than_one_table_holds() -> None:
    drawn = mechanisms.heads(1000, Fraction(1, 5), SAMPLE, np.random.default_rng(2))
    assert drawn.mean() == pytest.approx(200, abs=6 * np.sqrt(160 / SAMPLE))
    assert drawn.var() == pytest.approx(160, rel=0.1)


def test_a_hash_function_is_what_its_formula_says() -> None:
    a, b = coefficients(5)
    values = [0, 1, 2, PRIME - 1]
    expected = [[(int(a[j]) * x + int(b[j])) % PRIME % 7 for j in range(5)] for x in values]
    assert buckets(values, 5, 7).tolist() == expected
    assert buckets(values, 3, 7).tolist() == [row[:3] for row in expected], "more functions change none"
    assert ((a > 0) & (a < PRIME) & (b >= 0) & (b < PRIME)).all()


def test_hash_values_and_pairs_of_them_are_about_uniform() -> None:
    width = 8
    pairs = Counter(zip(*buckets([17, 4711], 40_000, width).tolist(), strict=True))
    expected = 40_000 / width**2
    statistic = sum((pairs[cell] - expected) ** 2 / expected for cell in cartesian(range(width), repeat=2))
    assert stats.chi2.sf(statistic, width**2 - 1) > LEVEL


def test_the_hash_functions_are_splitmix64_from_seed_0() -> None:
    # The generator's published first outputs.
    outputs = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    a, b = coefficients(2)
    assert a.tolist() == [1 + z % (PRIME - 1) for z in outputs[0::2]]
    assert b.tolist() == [z % PRIME for z in outputs[1::2]]


epsilons, deltas = st.floats(0, 4), st.fractions(0, Fraction(99, 100))
parts = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4).filter(
    lambda atoms: sum(p for p, _ in atoms) > 0 and sum(q for _, q in atoms) > 0
)


def law(atoms: list[tuple[int, int]]) -> list[tuple[Fraction, Fraction]]:
    totals = [sum(side) for side in zip(*atoms, strict=True)]
    return [(Fraction(p, totals[0]), Fraction(q, totals[1])) for p, q in atoms]


def enumerated(pair: ProductPair) -> FiniteProfile:
    return FiniteProfile((ExactPLD.of(joint(*(part for part, times in pair for _ in range(times)))),), "enumeration")


@given(one=parts, other=parts, times=st.integers(0, 3), epsilon=epsilons, delta=deltas)
def test_a_product_is_what_enumeration_says(
    one: list[tuple[int, int]], other: list[tuple[int, int]], times: int, epsilon: float, delta: Fraction
) -> None:
    pair = [(law(one), times), (law(other), 1)]
    ours, truth = accounting.product_profile([pair], "product"), enumerated(pair)
    assert ours.delta(epsilon) == FiniteProfile(truth.pairs, "product").delta(epsilon)
    assert ours.epsilon(delta) == FiniteProfile(truth.pairs, "product").epsilon(delta)


@given(one=parts, other=parts, times=st.integers(1, 3), epsilon=epsilons, delta=deltas)
def test_a_product_too_large_to_multiply_out_is_composed(
    one: list[tuple[int, int]], other: list[tuple[int, int]], times: int, epsilon: float, delta: Fraction
) -> None:
    pair = [(law(one), times), (law(other), 2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounting, "LIMIT", 0)
        ours, truth = accounting.product_profile([pair], "composed"), enumerated(pair)
    assert isinstance(ours, accounting.ProductProfile)
    for e, t in ((ours.delta(epsilon), truth.delta(epsilon)), (ours.epsilon(delta), truth.epsilon(delta))):
        assert meet(e, t)
        assert e.high <= max(t.high * (1 + 1e-9), t.high + 1e-12)


def test_a_report_of_many_bits_is_known_to_six_digits() -> None:
    m = Rappor(128, 2, Fraction(1, 2), p=Fraction(1, 2), q=Fraction(3, 4), reports=32)
    at, whole = account(m).delta(2), account(m).epsilon(1e-6)
    assert 0.27490763 <= at.low <= at.high <= 0.27490780
    assert whole.relative_width < 1e-5
    assert account(Repeat(m, 3)).delta(4).relative_width < 1e-5


def test_at_delta_0_all_bits_tell_together() -> None:
    m = Rappor(64, 2, Fraction(1, 2), p=Fraction(1, 4), q=Fraction(3, 4), reports=64)
    profile = typed(accounting.ProductProfile, account(m))
    one, zero = m.bit_law(1), m.bit_law(0)
    ratio = max(a / b for a, b in zip(one, zero, strict=True)) * max(b / a for a, b in zip(one, zero, strict=True))
    pure = profile.epsilon(0)
    assert pure.rigour is Rigour.EXACT
    assert pure.low == pytest.approx(2 * math.log(ratio), rel=1e-12)
    assert pure.relative_width < 1e-15
    assert profile.delta(pure.high).high == 0


def test_losses_of_counts_are_logarithms_of_the_laws_ratio() -> None:
    m = Rappor(4, 1, Fraction(1, 3), p=Fraction(1, 4), q=Fraction(4, 5), reports=6)
    expected = [math.log(one / zero) for one, zero in zip(m.bit_law(1), m.bit_law(0), strict=True)]
    assert count_losses(6, (1 - m.f / 2, m.f / 2), (m.q, m.p)) == pytest.approx(expected)


def test_losses_of_counts_that_never_occur_are_none_and_certain_ones_finite() -> None:
    zero, one = Fraction(0), Fraction(1)
    kept = Fraction(3, 4), Fraction(1, 4)
    assert count_losses(2, kept, (one, zero)) == pytest.approx([-math.log(3), math.nan, math.log(3)], nan_ok=True)
    assert count_losses(1, (one, zero), (one, zero)).tolist() == [-CERTAIN, CERTAIN]
    raises(ValueError, "counts from 0 to 1", look_up, count_losses(1, (one, zero), (one, zero)), [0, -1])


def test_long_fractions_are_not_multiplied_out_and_cost_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    m = replace(LongitudinalUnary.optimized(2, k=4), reports=6)
    exact = account(m)
    monkeypatch.setattr(accounting, "_LIMIT_BITS", 1 << 9)
    enclosed = typed(accounting.ProductProfile, account(m))
    assert not isinstance(exact, accounting.ProductProfile)
    for epsilon in (0, 1, 1.9):
        ours, truth = enclosed.delta(epsilon), exact.delta(epsilon)
        assert meet(ours, truth)
        assert ours.high == pytest.approx(truth.high, rel=1e-9)
