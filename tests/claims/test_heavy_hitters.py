"""Systems that name the values that many hold: what is judged of them, and the exact error of what they are built on."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ldpaudit.accountants.claims import bitstogram, heavy_hitters, tree_histogram
from tests.claims.test_literature import claims_of

SYSTEMS = ("tree_histogram", "bitstogram")


@pytest.mark.parametrize("stem", SYSTEMS)
def test_two_signs_take_twice_the_bits_and_find_less(stem: str) -> None:
    one, two = (
        [each for each in claims_of(stem) if ("two signs" in each.variant) is split and "are named" in each.sentence]
        for split in (False, True)
    )
    assert all(a.found.high < b.found.low for a, b in zip(one, two, strict=True))
    bits = [each.found.low for each in claims_of(stem) if each.sentence == "bits that a user sends"]
    assert bits == [1, 2] * 4


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


def test_errors_are_those_of_values_not_named_and_of_values_named() -> None:
    data = np.array([5, 5, 5, 9, 9, (1 << 64) - 1], dtype=np.uint64)
    assert heavy_hitters.largest_missing(data, {5: 1.0}) == 2
    assert heavy_hitters.largest_missing(data, {5: 1.0, 9: 0.0, (1 << 64) - 1: 7.0}) == 0
    assert heavy_hitters.largest_error(data, {5: 1.0, 9: 2.5, 77: 0.25}) == 2
    assert heavy_hitters.largest_error(data, {(1 << 64) - 1: 4.0}) == 3
    assert heavy_hitters.largest_error(data, {}) == 0
