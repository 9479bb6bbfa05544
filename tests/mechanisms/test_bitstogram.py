"""Bitstogram: its hash functions, what its server spells and names, and that its constants are what its guarantee needs."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpaudit.accountants.claims.bitstogram import detection_level
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import bitstogram
from ldpaudit.mechanisms.bitstogram import Bitstogram, SplitBitstogram
from ldpaudit.mechanisms.shared.linear_codes.gf2 import images, rank

WIDE = 1 << 64
KINDS = (Bitstogram, SplitBitstogram)


def values(held: dict[int, int], others: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Users of whom so many hold each value, and the others a random one of 64 bits each."""
    common = [np.full(count, x, dtype=np.uint64) for x, count in held.items()]
    return rng.permutation(np.concatenate([*common, rng.integers(0, WIDE, others, dtype=np.uint64)]))


def by_hand(users: int, rows: int, symbols: int, width: int) -> Decimal:
    """The count from which on a value is spelled right, in decimals, at epsilon = 1 and half of the users."""
    with localcontext() as context:
        context.prec = 50
        c, nats = (Decimal(1).exp() + 1) / (Decimal(1).exp() - 1), Decimal(8 * symbols * 2**width).ln()
        each = rows * symbols * 2
        third = 2 * c * each * nats / 3
        return Decimal(4) / 3 * (third + (third**2 + 4 * users * c**2 * each * nats).sqrt())


def test_its_detection_level_is_the_specified_number_at_a_million_users_of_64_bits() -> None:
    m = Bitstogram.for_epsilon(1, users=10**6, domain=WIDE)
    expected = by_hand(10**6, 5, 8, 8)
    assert (m.rows, m.cells, len(m.symbols)) == (5, 256, 8)
    assert f"{expected:.8f}" == "162282.55940687"
    assert detection_level(m, 10**6).low == pytest.approx(float(expected), rel=1e-15)


@pytest.mark.parametrize("users", [10**5, 10**6, 3 * 10**7])
def test_rows_and_cells_are_as_many_as_the_guarantee_needs_and_no_more(users: int) -> None:
    m = Bitstogram.for_epsilon(1, users, WIDE)
    level = by_hand(users, m.rows, 8, 8)
    fewer = by_hand(users, m.rows - 1, 8, 8)
    assert Decimal(4) ** -m.rows <= Decimal("0.025") * level / users
    assert Decimal(4) ** (1 - m.rows) > Decimal("0.025") * fewer / users
    assert m.cells / 2 < 32 * users / level <= m.cells
    assert detection_level(m, users).high < math.inf
    assert detection_level(replace(m, rows=m.rows - 1), users).low == math.inf
    assert detection_level(replace(m, cells=m.cells // 2), users).low == math.inf


@pytest.mark.parametrize("seed", range(12))
def test_a_hash_and_any_symbol_are_independent(seed: int) -> None:
    # With 8 bits every seventh matrix of full rank is not.
    m = Bitstogram(10, 256, 20, 4, 2, Fraction(3, 4), seed=seed)
    assert 0.1 < m.redrawn < 0.2
    assert all(rank(question) == len(question) == 4 for question in m.questions)
    assert np.all(m.columns(np.arange(10)))


@pytest.mark.parametrize("domain", [WIDE, 1 << 63, 1000])
def test_symbols_are_all_bits_of_a_value_once(domain: int) -> None:
    m = Bitstogram(10, domain, 2, 2, 3, Fraction(3, 4))
    assert sum(m.symbols, ()) == m.whole
    assert len(m.questions) == 2 * len(m.symbols)


def test_two_values_share_a_bucket_no_more_often_than_stated_over_all_matrices() -> None:
    m = Bitstogram(10, 32, 1, 4, 1, Fraction(3, 4))
    kept = [
        rows for rows in permutations(range(1, 32), 2)
        if all(rank((*rows, *symbol)) == 3 for symbol in m.symbols)
    ]  # fmt: skip
    together = [np.mean([int(images(rows, x)) == 0 for rows in kept]) for x in range(1, 32)]
    assert 1 - len(kept) / (31 * 30) <= m.redrawn
    assert max(together) <= m.collision < 1.0
    assert max(together) > Fraction((32 // 4) - 1, 31), "what is drawn again makes some values collide more often"


def test_a_bucket_spells_the_symbols_that_are_counted_most() -> None:
    m, rng = Bitstogram(3_000, 1 << 12, 2, 4, 3, Fraction(7, 8)), np.random.default_rng(1)
    data = rng.choice([0xABC, 0x123, 0x777, 5], 3_000)
    *answers, _ = m.answers(m.collect(data, rng))
    for row, hashed in enumerate(m.hashes):
        asked = answers[row * 4 : row * 4 + 4]
        by_cells = []
        for bucket in range(4):
            symbols = [np.argmax(each.counts_of(bucket << 3 | np.arange(8))) for each in asked]
            by_cells.append(sum(int(s) << 3 * at for at, s in enumerate(symbols)))
        own = [x for bucket, x in enumerate(by_cells) if images(hashed, x) == bucket]
        assert bitstogram._spelled(hashed, [each.counts() for each in asked], 4).tolist() == own


@pytest.mark.parametrize("kind", KINDS)
def test_a_million_users_values_of_64_bits_are_named_and_no_others(kind: Any) -> None:
    n, rng = 10**6, np.random.default_rng(2)
    m = kind.for_epsilon(1, users=n, domain=WIDE)
    level = math.ceil(detection_level(m, n).high)
    held = {0xDEADBEEFCAFEBABE: level + 50_000, 7: level}
    found = m.run(values(held, n - sum(held.values()), rng), rng)
    assert list(found) == list(held)
    assert all(abs(found[x] - count) <= m.least_count(n) for x, count in held.items())


@pytest.mark.slow
def test_values_at_13_and_16_percent_are_found_in_ten_of_ten_runs_and_no_false_one() -> None:
    n, rng = 10**6, np.random.default_rng(9)
    held = {0xDEADBEEFCAFEBABE: 163_000, 12_345: 126_000}
    for seed in range(10):
        m = Bitstogram.for_epsilon(1, users=n, domain=WIDE, seed=seed)
        assert set(m.run(values(held, n - sum(held.values()), rng), rng)) == set(held)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_named_where_every_value_is_rare(kind: Any) -> None:
    m, rng = kind.for_epsilon(1, users=20_000, domain=WIDE), np.random.default_rng(3)
    assert m.run(values({}, 20_000, rng), rng) == {}


def test_a_value_is_named_once_however_many_rows_spell_it() -> None:
    m, rng = Bitstogram.for_epsilon(4, users=50_000, domain=1 << 40), np.random.default_rng(4)
    tables = [each.counts() for each in m.answers(m.collect(np.full(50_000, 77), rng))[:-1]]
    each = len(m.symbols)
    spelled = [bitstogram._spelled(h, tables[r * each : (r + 1) * each], m.cells) for r, h in enumerate(m.hashes)]
    assert m.rows > 2
    assert all(77 in found.tolist() for found in spelled)
    assert list(m.run(np.full(50_000, 77), rng)) == [77]


def test_the_level_grows_like_the_root_of_n() -> None:
    over_root = []
    for n in (10**7, 10**9):
        m = Bitstogram(n, WIDE, 5, 256, 8, Fraction(3, 4))
        with working_precision(64):
            over_root.append(float(m.spelled_from(n)) / math.sqrt(n))
    assert 0.95 * over_root[0] < over_root[1] < over_root[0]


@pytest.mark.parametrize(
    "change",
    [{"rows": 0}, {"cells": 3}, {"cells": 0}, {"width": 0}, {"width": 25}, {"beta": 1}, {"cells": 1 << 18}, {"share": 0}],
)
def test_parameters_outside_the_domain_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Bitstogram needs"):
        replace(Bitstogram(10, 1 << 40, 3, 8, 8, Fraction(3, 4)), **change)


def test_a_domain_that_needs_no_hashing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"hashes and symbols of fewer bits than a value, got cells=.* with 12 bits"):
        Bitstogram.for_epsilon(1, users=10**6, domain=1 << 12)
