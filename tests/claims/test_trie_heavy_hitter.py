"""What the TrieHH paper prints: its table, its theorems and lemmas, and how often words are found."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldpaudit.accountants.claims.sentence import Printed, Standing
from ldpaudit.accountants.claims.trie_heavy_hitter import (
    accuracy,
    claimed_epsilon,
    lemma_1,
    missed,
    room,
)
from ldpaudit.mechanisms.shared.trie.one_round import Data
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.studies import tables
from tests.claims.test_literature import printed_at


def law(m: TrieHeavyHitter, x: Data) -> dict[Any, Fraction]:
    return dict(m.law(x).items())


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


@pytest.mark.parametrize(
    ("n", "theta", "least"), [(10**4, 10, 2.6), (10**6, 12, 2.8), (10**8, 14, 3.1), (10**10, 16, 3.4)]
)
def test_the_batch_may_be_larger_at_the_guarantee_of_table_1(n: int, theta: int, least: float) -> None:
    printed_batch, largest = room(TrieHeavyHitter(n, math.isqrt(n), theta, 1), Fraction(1, 300 * n))
    assert least < largest / printed_batch < least + 0.1


all_printed = partial(printed_at, "trie_heavy_hitter")


def claims_of(m: TrieHeavyHitter, where: str) -> list[Printed]:
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
    assert all(h.holds for h in claims_of(m, "TRIEHH Lemma 1")[0].hypotheses[1:4])


HOLDS, FAILS = Standing.HOLDS, Standing.FAILS
ROUNDED = ((10_584, HOLDS), (10_585, FAILS), (31_622, FAILS), (31_623, HOLDS), (118_272, HOLDS), (118_273, FAILS))
"""delta(10) = 8/(7 10!) = 1/(300 * 10,584), and delta(11) = 1/(300 * 118,272); from sqrt(10) 10^4 on, the nearest is 11."""


@pytest.mark.parametrize(("n", "nearest"), ROUNDED)
def test_corollary_1_s_theta_suffices_for_its_proof_where_it_is_rounded_up(n: int, nearest: Standing) -> None:
    rows = {p.reading: p.standing for p in claims_of(TrieHeavyHitter(n, 100, 10, 1), "TRIEHH Corollary 1, proof")}
    assert rows == {"log10(n) + 6 is rounded up": Standing.HOLDS, "log10(n) + 6 is rounded to the nearest integer": nearest}


def test_the_trie_keeps_corollary_1_s_promise_where_its_proof_fails() -> None:
    rounded = TrieHeavyHitter(20_000, 142, 10, 1)
    promise = claims_of(rounded, "TRIEHH Corollary 1")[0]
    assert (promise.standing, promise.reading) == (Standing.HOLDS, "log10(n) + 6 is rounded to the nearest integer")
    assert promise.claimed == pytest.approx(math.log(1 + 1 / (math.sqrt(20_000) / 10 - 1)))


SETTINGS = (TrieHeavyHitter(2_000, 200, 10, 1), TrieHeavyHitter(900, 300, 20, 2, unit=3))


@pytest.mark.parametrize("m", SETTINGS, ids=str)
def test_a_word_is_found_as_often_as_proposition_1_says(m: TrieHeavyHitter) -> None:
    rng, runs = np.random.default_rng(8), 150
    for claim in accuracy(m):
        data = claim.data(rng)
        lost = sum(claim.error(data, m.run(data, rng)) > claim.alpha for _ in range(runs))
        assert 0.01 < claim.beta < 0.9
        assert stats.binomtest(lost, runs, claim.beta).pvalue > 1e-6
        held = max(Counter(data).values())
        assert float(missed(m, held)) == pytest.approx(claim.beta)


def test_with_a_shared_prefix_a_word_is_found_more_often() -> None:
    m = TrieHeavyHitter(20, 10, 3, 2)
    alone: Data = (((), 14), (("ab",), 6))
    shared: Data = (((), 10), (("ab",), 6), (("ac",), 4))
    found = [sum((p for view, p in law(m, x).items() if "ab" in view), Fraction(0)) for x in (alone, shared)]
    assert found[0] == 1 - missed(m, 6)
    assert found[1] > found[0]
