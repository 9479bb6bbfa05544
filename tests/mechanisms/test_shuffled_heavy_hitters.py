"""Heavy hitters by prefixes: the cost against all multisets, the search against chosen noise, and the whole system."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from ldpaudit import account
from ldpaudit.accountants.claims import shuffled_heavy_hitters as claims
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.accountants.counting.hits import ComposedHits
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.shared.linear_codes.kernels import members, random_members_among, random_members_of_few
from ldpaudit.mechanisms.shuffled_heavy_hitters import Ask, ShuffledHeavyHitters
from ldpaudit.studies.design import Goal, design
from tests.oracles.hadamard import Oracle
from tests.oracles.shuffle import divergence
from tests.samples import around, same_law

TWO = math.log(2)
F = Fraction


@pytest.mark.parametrize(("rho", "exact"), [(1, F(15, 32)), (2, F(83, 256))])
def test_four_values_cost_what_all_multisets_of_both_lengths_say(rho: int, exact: Fraction) -> None:
    m, oracles = ShuffledHeavyHitters(1, 4, 1, rho, 1), (Oracle(2, 1), Oracle(4, 1))

    def law(x: int) -> dict[Any, Fraction]:
        parts = [o.plus(o.blanket(rho), (x >> (1 - i)) + 1) for i, o in enumerate(oracles)]
        return {(a, b): p * q for (a, p), (b, q) in product(*(part.items() for part in parts))}

    laws = [law(x) for x in range(4)]
    deltas = {(i, j): divergence(laws[i], laws[j], F(2)) for i, j in permutations(range(4), 2)}
    assert max(deltas.values()) == deltas[m.inputs] == exact
    found = account(m).delta(TWO)
    assert around(found, exact)
    assert found.relative_width < 1e-9


@pytest.mark.parametrize(
    ("bits", "delta", "printed", "enough", "few"),
    [(10, F(1, 10**6), 69915, 359, 358), *(pytest.param(*each, marks=pytest.mark.slow)
     for each in ((14, F(1, 10**9), 190522, 850, 846), (20, F(1, 10**10), 432250, 1401, 1375)))],
)  # fmt: skip
def test_composed_lengths_need_a_small_part_of_the_messages_that_the_divided_promise_asks_for(
    bits: int, delta: Fraction, printed: int, enough: int, few: int
) -> None:
    m = ShuffledHeavyHitters.as_printed(1, delta, 1 << 20, 1 << bits)
    assert (m.rho, m.tau, m.bits) == (printed, 20, bits)
    assert account(ShuffledHeavyHitters(1 << 20, 1 << bits, 20, enough, 1)).delta(1).high <= delta
    assert ComposedHits(few << 20, m.hit, bits).delta(1).low > delta
    assert account(m).delta(1).high <= delta


@pytest.mark.slow
def test_the_least_noise_is_found_by_a_certified_search() -> None:
    answer = design("shuffled_heavy_hitters", {"users": 2**20, "domain": 1024, "tau": 20, "threshold": 1}, Goal(F(1), F(1, 10**6)))
    assert (answer.parameter, answer.value, answer.is_tight) == ("rho", 359, True)


def within(m: ShuffledHeavyHitters, holders: dict[int, int], noise: dict[str, float]) -> tuple[Ask, list[set[str]]]:
    """Estimates that are off by chosen numbers, and what is kept of each length when these are asked for."""
    kept: list[set[str]] = []

    def ask(length: int, asked: Any) -> Any:
        counts = Counter[int]()
        for value, number in holders.items():
            counts[value >> (m.bits - length)] += number
        names = [format(prefix, f"0{length}b") for prefix in asked.tolist()]
        found = np.array([counts[p] + noise.get(name, 0.0) for p, name in zip(asked.tolist(), names, strict=True)])
        kept.append({name for name, estimate in zip(names, found, strict=True) if 2 * estimate >= m.threshold})
        return found

    return ask, kept


def test_prefixes_are_kept_from_half_of_the_threshold_on() -> None:
    m = ShuffledHeavyHitters(users=100, domain=16, tau=4, rho=1, threshold=48)
    ask, kept = within(m, {0b0011: 40, 0b0101: 25, 0b1100: 30, 0b1101: 5}, {"11": -9, "0100": 7})
    assert m.search(ask) == {0b0011: 40, 0b1100: 30, 0b0101: 25}
    names = [{"0", "1"}, {"00", "01", "11"}, {"001", "010", "110"}, {"0011", "0101", "1100"}]
    assert kept == names


def test_errors_of_half_of_the_threshold_keep_all_prefixes_and_of_a_quarter_at_most_4_n_over_t() -> None:
    m = ShuffledHeavyHitters(users=64, domain=1 << 10, tau=4, rho=1, threshold=32)
    names = ["".join(name) for length in range(1, 11) for name in product("01", repeat=length)]
    holders = {1000: 32, 0: 16, 511: 16}
    ask, kept = within(m, holders, {name: -8.0 if int(name, 2) == 1000 >> (10 - len(name)) else 8.0 for name in names})
    assert set(m.search(ask)) >= {1000}
    assert max(map(len, kept)) <= m.most_kept == 8
    ask, kept = within(m, holders, dict.fromkeys(names, m.threshold / 2))
    with pytest.raises(Unsupported, match="16 prefixes of 4 bits are kept, more than 8"):
        m.search(ask)
    assert [len(each) for each in kept] == [2, 4, 8, 16]


def made(asked: Any, elements: Any, numbers: Any, others: int, rows: int, rng: np.random.Generator, bits: int = 4) -> Any:
    """The same from matrices, written out."""
    every = range(1 << bits)
    drawn = [rng.integers(0, 1 << bits, rows) for _ in range(others)]
    for e in np.repeat(elements, numbers).tolist():
        drawn.append(rng.choice([z for z in every if (z & e).bit_count() % 2 == 0], rows))
    return members(np.array(drawn), bits)[asked]


@pytest.mark.parametrize(
    ("asked", "elements", "numbers", "others"),
    [([3, 5, 6], [], [], 3), ([3, 5, 6], [6, 8], [1, 1], 1), ([5, 7, 2], [2, 5, 15], [1, 1, 1], 0)],
)
def test_few_vectors_have_the_joint_law_of_all_in_kernels_that_hold_several(
    asked: list[int], elements: list[int], numbers: list[int], others: int
) -> None:
    rng = np.random.default_rng(4)
    given = (np.array(asked), np.array(elements, dtype=np.int64), np.array(numbers, dtype=np.int64), others, 2)
    few, written, all_listed = (
        [f(*given, rng) for _ in range(1_000)] for f in (random_members_of_few, made, random_members_among)
    )
    assert same_law(few, written)
    assert same_law(few, all_listed)
    assert not same_law([random_members_of_few(*given[:3], others + 2, 2, rng) for _ in range(1_000)], written)


def test_run_has_the_joint_law_of_the_search_on_everybodys_messages() -> None:
    m, rng, data = ShuffledHeavyHitters(3, 8, 3, 2, 2), np.random.default_rng(5), [5, 5, 2]

    def literal() -> Any:
        messages = [np.concatenate([m.randomize(x, length, rng) for x in data]) for length in (1, 2, 3)]
        return outcome(lambda: m.search(lambda length, asked: m.oracle(length).estimate(messages[length - 1])[asked]))

    def ours() -> Any:
        return outcome(lambda: m.run(data, rng))

    def outcome(found: Any) -> list[float]:
        try:
            return [round(found().get(x, -99.0), 6) for x in (5, 2, 4)]
        except Unsupported:
            return [-100.0] * 3

    assert same_law([ours() for _ in range(400)], [literal() for _ in range(400)])


def test_estimates_of_what_is_asked_for_are_unbiased_and_as_exact_as_the_bound_says() -> None:
    m, rng = ShuffledHeavyHitters(4000, 1 << 12, 12, 60, 4000), np.random.default_rng(6)
    values, numbers = np.array([7, 9, 4000]), np.array([2500, 1000, 500])
    asked, truth = np.array([0, 1, 7, 250]), np.array([3500.0, 0.0, 0.0, 500.0])
    found = np.array([m.asked_of(values, numbers, 8, asked, rng) for _ in range(400)])
    assert np.all(np.abs(found.mean(axis=0) - truth) < 6 * found.std(axis=0) / 20)
    off = np.abs(found - truth).max(axis=1)
    assert np.mean(off > m.error_of_asked(F(1, 2))) < 0.1
    assert m.error_of_asked(F(1, 2)) < 3 * np.quantile(off, 0.9)
    assert m.error_of_asked(F(1, 2)) < m.error_of_all(F(1, 2))


@pytest.mark.parametrize(
    ("users", "bits"), [(10**5, 14), *(pytest.param(10**6, bits, marks=pytest.mark.slow) for bits in (20, 40))]
)
def test_many_users_have_all_their_heavy_hitters_named_and_few_others(users: int, bits: int) -> None:
    m, rng = ShuffledHeavyHitters.with_few_kept(users, 1 << bits, 20, 1500), np.random.default_rng(7)
    assert m.threshold >= 4 * m.error_of_asked(F(1, 10)) > m.threshold - 5
    data = rng.integers(0, m.domain, m.users)
    data[: 2 * m.threshold] = np.repeat([m.domain - 1, m.domain // 3], m.threshold)
    found, truth = m.run(data, rng), m.truth(data)
    assert set(found) >= set(truth) == {m.domain - 1, m.domain // 3}
    assert len(found) <= 4
    assert max(abs(found[x] - count) for x, count in truth.items()) < m.threshold / 4
    assert m.run(rng.integers(0, m.domain, m.users), rng) == {}


def estimated_high(m: ShuffledHeavyHitters, holders: int) -> Fraction:
    """Chance that so many holders are estimated at T/2 or more: all numbers of messages of the others, one by one."""
    others, p = (m.rho + 1) * m.users - holders, m.hit
    return sum(
        (math.comb(others, c) * p**c * (1 - p) ** (others - c) for c in range(others + 1)
         if 2 * (c + holders - (m.rho + 1) * m.users * p) >= m.threshold * (1 - p)), F(0),
    )  # fmt: skip


def test_chances_that_prefixes_are_kept_or_lost_are_those_of_all_numbers_of_messages() -> None:
    m = ShuffledHeavyHitters(12, 16, 2, 2, 5)
    exact = [estimated_high(m, c) for c in range(13)]
    assert exact == sorted(exact)
    for c, truth in enumerate(exact):
        assert float(claims.kept(m, c).mid()) == pytest.approx(float(truth), rel=1e-9)
    lengths = sum(min(1 << length, 2) for length in (1, 2, 3, 4))
    assert float(claims.lost(m).mid()) == pytest.approx(float(lengths * (1 - exact[5])), rel=1e-9)
    largest = max(float(exact[c]) / c for c in range(1, 13))
    assert 16 * exact[0] + 12 * largest <= claims.few_expected(m).high <= 16 * exact[0] + 12 * F(2, 5) + F(1, 10**9)


def test_the_sketch_of_the_appendix_holds_for_the_oracles_own_noise_and_not_for_any_noise_that_it_allows() -> None:
    s = claims.EXAMPLES[1]
    assert s.mechanism.threshold >= 2 * s.mechanism.error_of_all(s.beta) > s.mechanism.threshold - 1
    rows = claims.printed(s)
    own, any_noise = (row for row in rows if "n/T" in row.sentence and "T is four" not in row.variant)
    assert (own.standing, own.holds, any_noise.standing, any_noise.holds) == (Standing.VARIANT, True, Standing.VARIANT, False)
    assert any_noise.found.low == 1 << 14
    assert not any(row.standing in (Standing.FAILS, Standing.OPEN) for row in rows)
    sketches = claims.printed(claims.EXAMPLES[3])[0]
    assert "Algorithm 2" in sketches.reading
    assert sketches.standing is Standing.HOLDS


def test_values_past_the_last_are_never_named() -> None:
    m = ShuffledHeavyHitters(users=50, domain=5, tau=3, rho=1, threshold=1)
    seen: dict[int, list[int]] = {}

    def ask(length: int, asked: Any) -> Any:
        seen[length] = asked.tolist()
        return np.full(len(asked), 25.0)

    assert set(m.search(ask)) == set(range(5))
    assert seen == {1: [0, 1], 2: [0, 1, 2], 3: [0, 1, 2, 3, 4]}
