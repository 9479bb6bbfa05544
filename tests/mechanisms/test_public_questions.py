"""Linear algebra over GF(2), and users who answer public questions by signs: against trying everything."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit.mechanisms.shared.linear_codes import codeword_weights
from ldpaudit.mechanisms.shared.linear_codes.gf2 import images, independent, kernel, nonzero, solve, span, words
from ldpaudit.mechanisms.shared.public_questions.questions import Asked, PartitionedSign, SplitSigns
from ldpaudit.mechanisms.shared.public_questions.server_queries import Decoding, Question

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
        share = np.mean(first >> np.uint64(bit) & np.uint64(1))
        assert share == pytest.approx(0.5, abs=0.006)
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


class Two(Asked):
    """Two questions about 64 bits; nothing is named."""

    title = "two questions"

    @property
    def questions(self) -> tuple[Question, ...]:
        return QUESTIONS

    def decoding(self, users: int) -> Decoding:
        return self.counted([], 0.0)


@dataclass(frozen=True)
class Parted(PartitionedSign, Two):
    users: int
    domain: int = 1 << 64
    p: Fraction = Fraction(3, 4)
    share: Fraction = Fraction(1, 2)
    seed: int = 0
    index: int = 0


@dataclass(frozen=True)
class Both(SplitSigns, Two):
    users: int
    domain: int = 1 << 64
    p: Fraction = Fraction(3, 4)
    q: Fraction = Fraction(2, 3)
    seed: int = 0
    index: int = 0


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
    top = max(views, key=laws[0].probability)
    assert laws[1].probability(top) == min(map(laws[1].probability, views))
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


def test_some_cells_are_counted_as_all_are() -> None:
    m, rng = Parted(users=3_000), np.random.default_rng(4)
    told = m.answers(m.collect(rng.integers(0, 1 << 64, 3_000, dtype=np.uint64), rng))
    for each in told[:2]:
        assert np.allclose(each.counts(), each.counts_of(np.arange(1 << each.rank)))


def test_values_on_both_sides_of_half_the_domain_keep_their_bits() -> None:
    m = Parted(users=10)
    values = [1, (1 << 63) + 3, (1 << 64) - 1]
    assert [int(v) % (1 << 64) for v in m._vectors(values)] == values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("x", [-1, 1 << 64, "7", 0.5, None, (7,)], ids=str)
def test_what_is_no_value_of_a_domain_that_no_list_holds_is_refused_at_once(kind: type[Asked], x: object) -> None:
    m = kind(users=5)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"needs an input among \{0, 1, \.\.\., 18446744073709551615\}, got"):
        m.require_input(x)
    m.require_input(np.int64(1 << 61))


@pytest.mark.parametrize("kind", KINDS)
def test_data_with_what_is_no_value_are_refused_also_where_no_array_holds_them(kind: type[Asked]) -> None:
    m = kind(users=5)  # type: ignore[call-arg]
    for data in ([3, -1], [3, 1 << 64], [(1 << 64) - 1, -1]):
        with pytest.raises(ValueError, match="needs inputs in range"):
            m.run(data, np.random.default_rng(0))
