"""Public questions that are answered by signs: linear algebra over GF(2), hash functions, codes, names, and all constants."""

import math
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from ldpaudit.accountants.claims.bitstogram import detection_level
from ldpaudit.mechanisms import Bitstogram, bitstogram
from ldpaudit.mechanisms.expander_sketch import ExpanderSketch, Lists, clusters, frequent
from ldpaudit.mechanisms.shared.linear_codes import codeword_weights
from ldpaudit.mechanisms.shared.linear_codes.gf2 import images, independent, kernel, nonzero, rank, solve, span, words
from ldpaudit.mechanisms.shared.linear_codes.reed_solomon import _over, _times, interpolated, symbol
from ldpaudit.mechanisms.shared.public_questions.questions import Asked, PartitionedSign, SplitSigns
from ldpaudit.mechanisms.shared.public_questions.server_queries import Decoding, Question
from tests.helpers import raises

BITS = 5
matrices = st.lists(st.integers(1, 2**BITS - 1), min_size=1, max_size=8)


def times(rows: list[int], x: int) -> tuple[int, ...]:
    return tuple((row & x).bit_count() % 2 for row in rows)


@given(rows=matrices, data=st.data())
def test_elimination_finds_a_solution_exactly_where_there_is_one(rows: list[int], data: st.DataObject) -> None:
    target = tuple(data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows))))
    solutions = [x for x in range(2**BITS) if times(rows, x) == target]
    found = solve(rows, target, BITS)
    assert (found is None) == (not solutions)
    assert found is None or found in solutions


@pytest.mark.parametrize(("rank", "bits"), [(1, 1), (3, 3), (4, 9), (12, 40), (31, 31)])
def test_the_rows_of_a_hash_function_are_independent(rank: int, bits: int) -> None:
    for start in range(20):
        sums = span(independent(seed=start, start=1_000 * start, count=rank, bits=bits)[:12])
        assert len(np.unique(sums)) == len(sums)


def test_images_and_spans_are_products_and_sums() -> None:
    rows = [0b1011, 0b0110, 0b1000]
    assert [times(rows, x) for x in range(16)] == [
        tuple(int(image) >> t & 1 for t in range(3)) for image in images(rows, np.arange(16))
    ]
    for r, total in enumerate(span(rows).tolist()):
        chosen = [row for t, row in enumerate(rows) if r >> t & 1]
        assert total == int(np.bitwise_xor.reduce(np.array([0, *chosen])))


def test_full_rank_matrices_send_a_vector_to_zero_as_often_as_stated() -> None:
    bits, rank, draws = 4, 2, 4_000
    to_zero = sum(images(independent(seed, 0, rank, bits), 0b0110) == 0 for seed in range(draws))
    expected = (2 ** (bits - rank) - 1) / (2**bits - 1)
    assert to_zero / draws == pytest.approx(expected, abs=6 * np.sqrt(expected / draws))


def test_public_words_depend_on_seed_and_index_only_and_look_uniform() -> None:
    index = np.arange(200_000)
    first = words(3, index)
    assert np.array_equal(first[77], words(3, 77))
    assert np.array_equal(words(3, index[::-1]), first[::-1])
    assert not np.any(first == words(4, index))
    for bit in range(64):
        assert np.mean(first >> np.uint64(bit) & np.uint64(1)) == pytest.approx(0.5, abs=0.006)
    vectors = nonzero(1, index, 3)
    assert np.bincount(vectors, minlength=8) / len(index) == pytest.approx(np.array([0] + [1 / 7] * 7), abs=0.005)


@pytest.mark.parametrize("below", [2, 3, 20, 32])
@given(rows=st.lists(st.integers(1, 31), min_size=1, max_size=12).map(tuple))
def test_the_heaviest_codeword_is_found(rows: tuple[int, ...], below: int) -> None:
    weights = [sum(times(list(rows), x)) for x in range(1, below)]
    vector, weight, exact = codeword_weights.heaviest(rows, 5, below)
    assert exact
    assert weight == max(weights) == weights[vector - 1]


@pytest.mark.parametrize("seed", range(4))
def test_local_search_finds_a_word_that_is_nearly_the_heaviest(seed: int) -> None:
    rows = tuple(nonzero(seed, np.arange(200), 14).tolist())
    _, best, _ = codeword_weights.heaviest(rows, 14, 1 << 14)
    vector, weight = codeword_weights._searched(rows, 14, 1 << 14)
    assert weight == sum(times(list(rows), vector))
    assert best - 3 <= weight <= best


@pytest.mark.parametrize("seed", range(5))
def test_the_kernel_is_what_every_row_sends_to_0(seed: int) -> None:
    rows = [*nonzero(seed, np.arange(3), 7).tolist(), 0]
    rows.append(rows[0] ^ rows[1])
    basis = kernel(rows, 7)
    inside = {x for x in range(1 << 7) if not images(rows, x)}
    assert {int(x) for x in span(basis)} == inside
    assert 1 << len(basis) == len(inside)
    assert kernel([], 3) == [1, 2, 4]


QUESTIONS: tuple[Question, ...] = ((0b0011, 0b0101), (1 << 63, 0b1000, 0b1001))


@dataclass(frozen=True)
class Two(Asked):
    """Two questions about 64 bits; nothing is named."""

    title = "two questions"

    users: int
    domain: int = 1 << 64
    p: Fraction = Fraction(3, 4)
    seed: int = 0
    index: int = 0

    @property
    def questions(self) -> tuple[Question, ...]:
        return QUESTIONS

    def decoding(self, users: int) -> Decoding:
        return self.counted([], 0.0)


@dataclass(frozen=True)
class Parted(PartitionedSign, Two):
    share: Fraction = Fraction(1, 2)


@dataclass(frozen=True)
class Both(SplitSigns, Two):
    q: Fraction = Fraction(2, 3)


class Small(Both):
    @property
    def questions(self) -> tuple[Question, ...]:
        return (self.whole,)


KINDS = (Parted, Both)


@pytest.mark.parametrize("kind", KINDS)
def test_no_sign_is_the_same_for_all_values(kind: type[Asked]) -> None:
    m = kind(users=1 << 40)  # type: ignore[call-arg]
    assert np.all(m.columns(np.arange(20_000)))  # type: ignore[attr-defined]


def test_a_sign_is_that_of_the_cell_in_the_users_column() -> None:
    m, x = Parted(users=5_000), np.random.default_rng(0).integers(0, 1 << 64, 5_000, dtype=np.uint64)
    index = np.arange(5_000)
    views = np.stack([index, m.signs(x, index)], axis=-1)
    groups = m.groups(index)
    for group, each in enumerate(m.answers(views)):
        pairs = zip(images(each.question, x[groups == group]).tolist(), each.columns.tolist(), strict=True)
        odd = [((cell & r) % (1 << 64)).bit_count() % 2 for cell, r in pairs]
        assert each.signs.tolist() == [1 - 2 * one for one in odd]


@pytest.mark.parametrize("kind", KINDS)
@given(index=st.integers(0, (1 << 40) - 1), domain=st.integers((1 << 63) + 1, 1 << 64))
def test_two_values_have_opposite_signs_in_all_that_a_user_tells(kind: type[Asked], index: int, domain: int) -> None:
    m = kind(users=1 << 40, domain=domain, index=index)  # type: ignore[call-arg]
    first, second = m.apart  # type: ignore[attr-defined]
    assert all(x in m.inputs for x in (first, second))
    laws = [m.law(x) for x in (first, second)]
    views = list(laws[0].views())
    assert laws[1].probability(max(views, key=laws[0].probability)) == min(map(laws[1].probability, views))
    assert sum(map(laws[0].probability, views)) == 1


@pytest.mark.parametrize("domain", [2, 3, 5, 9, 11, 23, 64])
def test_the_typical_values_have_each_pair_of_signs_that_some_value_has_once(domain: int) -> None:
    for index in range(8):
        m = Small(users=1 << 40, domain=domain, index=index)
        signs = m.signs(np.arange(domain), np.full(domain, index))
        assert sorted(map(tuple, signs[list(m.typical)].tolist())) == sorted(set(map(tuple, signs.tolist())))


def test_values_of_64_bits_have_four_typical_ones_wherever_two_columns_differ() -> None:
    for index in range(50):
        m = Both(users=1 << 40, index=index)
        assert len({str(list(m.law(x).items())) for x in m.typical}) == len(m.typical) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_counts_of_cells_are_unbiased_over_seeds(kind: type[Asked]) -> None:
    data = np.array([5] * 300 + [(1 << 63) + 8] * 100 + [77] * 200, dtype=np.uint64)
    rng, found = np.random.default_rng(3), []
    for seed in range(300):
        m = kind(users=600, seed=seed)  # type: ignore[call-arg]
        told = m.answers(m.collect(data, rng))
        found.append([*told[0].counts(), *told[1].counts(), *told[2].counts_of([5, (1 << 63) + 8, 6])])
    truth = [*(np.bincount(images(q, data), minlength=1 << len(q)) for q in QUESTIONS), np.array([300, 100, 0])]
    mean, off = np.mean(found, axis=0), np.std(found, axis=0) / len(found) ** 0.5
    assert np.all(np.abs(mean - np.concatenate(truth)) < 4.5 * off)


def test_values_on_both_sides_of_half_the_domain_keep_their_bits() -> None:
    m = Parted(users=10)
    values = [1, (1 << 63) + 3, (1 << 64) - 1]
    assert [int(v) % (1 << 64) for v in m._vectors(values)] == values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("x", [-1, 1 << 64, "7", 0.5, None, (7,)], ids=str)
def test_what_is_no_value_of_a_domain_that_no_list_holds_is_refused_at_once(kind: type[Asked], x: object) -> None:
    m = kind(users=5)  # type: ignore[call-arg]
    raises(ValueError, r"needs an input among \{0, 1, \.\.\., 18446744073709551615\}, got", m.require_input, x)
    m.require_input(np.int64(1 << 61))


@pytest.mark.parametrize("kind", KINDS)
def test_data_with_what_is_no_value_are_refused_also_where_no_array_holds_them(kind: type[Asked]) -> None:
    m = kind(users=5)  # type: ignore[call-arg]
    for data in ([3, -1], [3, 1 << 64], [(1 << 64) - 1, -1]):
        raises(ValueError, "needs inputs in range", m.run, data, np.random.default_rng(0))


WIDE = 1 << 64


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
    kept = [rows for rows in permutations(range(1, 32), 2) if all(rank((*rows, *symbol)) == 3 for symbol in m.symbols)]
    together = [np.mean([int(images(rows, x)) == 0 for rows in kept]) for x in range(1, 32)]
    assert 1 - len(kept) / (31 * 30) <= m.redrawn
    assert max(together) <= m.collision < 1.0
    assert max(together) > Fraction((32 // 4) - 1, 31), "what is drawn again makes some values collide more often"


def test_a_bucket_spells_the_symbols_that_are_counted_most() -> None:
    m, rng = Bitstogram(3_000, 1 << 12, 2, 4, 3, Fraction(7, 8)), np.random.default_rng(1)
    *answers, _ = m.answers(m.collect(rng.choice([0xABC, 0x123, 0x777, 5], 3_000), rng))
    for row, hashed in enumerate(m.hashes):
        asked = answers[row * 4 : row * 4 + 4]
        by_cells = []
        for bucket in range(4):
            symbols = [np.argmax(each.counts_of(bucket << 3 | np.arange(8))) for each in asked]
            by_cells.append(sum(int(s) << 3 * at for at, s in enumerate(symbols)))
        own = [x for bucket, x in enumerate(by_cells) if images(hashed, x) == bucket]
        assert bitstogram._spelled(hashed, [each.counts() for each in asked], 4).tolist() == own


def test_a_value_is_named_once_however_many_rows_spell_it() -> None:
    m, rng = Bitstogram.for_epsilon(4, users=50_000, domain=1 << 40), np.random.default_rng(4)
    tables = [each.counts() for each in m.answers(m.collect(np.full(50_000, 77), rng))[:-1]]
    each = len(m.symbols)
    spelled = [bitstogram._spelled(h, tables[r * each : (r + 1) * each], m.cells) for r, h in enumerate(m.hashes)]
    assert m.rows > 2
    assert all(77 in found.tolist() for found in spelled)
    assert list(m.run(np.full(50_000, 77), rng)) == [77]


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


def test_two_values_with_one_name_are_told_apart_by_symbols_and_other_names() -> None:
    drawn = np.random.default_rng(0).integers(0, 1 << 64, 200, dtype=np.uint64)
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
