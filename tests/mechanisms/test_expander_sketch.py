"""PrivateExpanderSketch: its code, its graph of names, and what it finds, against what is derived of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ldpaudit.mechanisms.expander_sketch import ExpanderSketch, Lists, clusters, frequent
from ldpaudit.mechanisms.shared.linear_codes.gf2 import images, rank
from ldpaudit.mechanisms.shared.linear_codes.reed_solomon import _over, _times, interpolated, symbol

MANY = 10**6
M12 = replace(ExpanderSketch.for_epsilon(1, MANY, 1 << 64), coordinates=12)
elements = st.integers(0, 255)


def product_of_polynomials(one: int, other: int) -> int:
    """Over GF(2), modulo x^8 + x^4 + x^3 + x^2 + 1."""
    found = 0
    for bit in range(8):
        found ^= (one << bit) * (other >> bit & 1)
    for bit in range(14, 7, -1):
        found ^= (0x11D << (bit - 8)) * (found >> bit & 1)
    return found


@given(a=elements, b=elements)
def test_the_field_s_product_is_that_of_polynomials(a: int, b: int) -> None:
    found = _times(np.array(a), np.array(b))
    assert int(found) == product_of_polynomials(a, b)
    assert not b or int(_over(found, np.array(b))) == a


@given(x=st.integers(0, (1 << 64) - 1), points=st.sets(st.integers(0, 20), min_size=8, max_size=8))
def test_any_eight_symbols_determine_eight_bytes(x: int, points: set[int]) -> None:
    chosen = sorted(points)
    symbols = [int(images(symbol(m, 64), np.array([x], dtype=np.uint64))[0]) for m in chosen]
    assert symbols[0] == _polynomial_at(x, chosen[0])
    assert interpolated(np.array([chosen]), np.array([symbols])).tolist() == [x]


def _polynomial_at(x: int, point: int) -> int:
    """By Horner's rule, at the generator to a power."""
    at, found = 1, 0
    for _ in range(point):
        at = product_of_polynomials(at, 2)
    for byte in reversed(x.to_bytes(8, "little")):
        found = product_of_polynomials(found, at) ^ byte
    return found


@pytest.mark.parametrize("seed", range(5))
def test_what_is_asked_are_independent_bits_of_the_value(seed: int) -> None:
    for question in replace(M12, seed=seed).questions:
        assert rank(question) == len(question) == 20


def test_of_twelve_coordinates_any_nine_hang_together() -> None:
    for lost in combinations(range(12), 3):
        left = set(range(12)) - set(lost)
        seen, edge = {min(left)}, {min(left)}
        while edge:
            edge = {(m + step) % 12 for m in edge for step in (1, 5, -1, -5)} & left - seen
            seen |= edge
        assert seen == left


def test_two_values_with_one_name_are_told_apart_by_symbols_and_other_names() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 1 << 64, 200, dtype=np.uint64)
    names = images(M12.questions[0], drawn) & 15
    values = drawn[names == names[0]][:2]
    cells = np.array([images(question, values) for question in M12.questions])
    tables = (np.bincount(each, minlength=1 << 20).astype(np.float64) for each in cells)
    lists = Lists.linked((frequent(table, 1) for table in tables), 4, (1, 5), 20)
    found = {tuple(cluster[m] for m in range(12)) for cluster in clusters(lists, set()) if len(cluster) == 12}
    assert found == {tuple(each) for each in cells.T.tolist()}


def test_the_threshold_and_the_chance_to_be_found_are_as_derived() -> None:
    c, share = 1 / np.tanh(0.5), 0.5 / 12
    spread = c * np.sqrt(MANY / share)
    threshold = spread * stats.norm.isf(2.0**-20)
    assert M12.threshold(MANY) == pytest.approx(50493.3521511312, rel=1e-12)
    assert M12.threshold(MANY) == pytest.approx(threshold, rel=1e-12)
    missed = stats.norm.cdf((threshold - 65_000) / spread)
    assert M12.found(65_000, MANY) == pytest.approx(0.984838539260565, rel=1e-12)
    assert M12.found(65_000, MANY) == pytest.approx(stats.binom.cdf(3, 12, missed), rel=1e-12)


def test_coordinates_are_the_fewest_that_find_all_that_many_hold() -> None:
    m = ExpanderSketch.for_epsilon(1, MANY, 1 << 64)
    assert (m.coordinates, round(m.found_from(MANY) / MANY, 4)) == (14, 0.0692)
    fewer = replace(m, coordinates=13)
    assert stats.binom.sf(13 - 9, 13, 0.1) > 0.025 * fewer.found_from(MANY) / MANY
    assert stats.binom.sf(14 - 9, 14, 0.1) <= 0.025 * m.found_from(MANY) / MANY


def test_what_many_hold_is_named_with_its_count_and_nothing_else() -> None:
    m, rng = M12, np.random.default_rng(1)
    heavy, holders = rng.integers(0, 1 << 64, 3, dtype=np.uint64), [150_000, 120_000, 90_000]
    rest = rng.integers(0, 1 << 64, MANY - sum(holders), dtype=np.uint64)
    named = m.run(np.concatenate([np.repeat(heavy, holders), rest]), rng)
    assert list(named) == heavy.tolist()
    assert all(abs(named[x] - f) < m.least_count(MANY) for x, f in zip(heavy.tolist(), holders, strict=True))


@pytest.mark.slow
def test_values_are_found_as_often_as_derived() -> None:
    rng, often = np.random.default_rng(2), {65_000: 0, 55_000: 0}
    for seed in range(100):
        x, y = rng.integers(0, 1 << 64, 2, dtype=np.uint64)
        rest = rng.integers(0, 1 << 64, MANY - 120_000, dtype=np.uint64)
        data = np.concatenate([np.repeat([x, y], [65_000, 55_000]).astype(np.uint64), rest])
        named = replace(M12, seed=seed).run(data, rng)
        often[65_000] += int(x) in named
        often[55_000] += int(y) in named
        assert set(named) <= {int(x), int(y)}
    for holders, times in often.items():
        assert stats.binomtest(times, 100, M12.found(holders, MANY)).pvalue > 1e-4


def test_a_domain_of_too_few_bits_for_the_cells_is_refused() -> None:
    with pytest.raises(ValueError, match=r"needs domain > 524288 for names of 4 bits, got domain=524288"):
        ExpanderSketch(MANY, 1 << 19, 12, Fraction(3, 4))
