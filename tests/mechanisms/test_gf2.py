"""Linear algebra over GF(2), public words and heaviest codewords, against trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit.mechanisms.shared.linear_codes import codeword_weights
from ldpaudit.mechanisms.shared.linear_codes.gf2 import images, independent, kernel, nonzero, solve, span, words

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


def test_every_pair_of_small_vectors_has_the_products_of_its_sum() -> None:
    rows = nonzero(0, np.arange(6), BITS).tolist()
    for x, y in product(range(2**BITS), repeat=2):
        assert times(rows, x ^ y) == tuple(a ^ b for a, b in zip(times(rows, x), times(rows, y), strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_the_kernel_is_what_every_row_sends_to_0(seed: int) -> None:
    rows = [*nonzero(seed, np.arange(3), 7).tolist(), 0]
    rows.append(rows[0] ^ rows[1])
    basis = kernel(rows, 7)
    inside = {x for x in range(1 << 7) if not images(rows, x)}
    assert {int(x) for x in span(basis)} == inside
    assert 1 << len(basis) == len(inside)
    assert kernel([], 3) == [1, 2, 4]
