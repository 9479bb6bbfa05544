"""Hadamard response: its bit tricks against the matrix."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import hadamard

from ldpaudit import account
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity, transform
from ldpaudit.proofs.hadamard_response import prove
from tests.helpers import proved


def test_parity_is_that_of_the_one_bits() -> None:
    values = [0, 1, 2, 3, 7, (1 << 62) - 1, 1 << 61, (1 << 40) + 5]
    assert parity(values).tolist() == [bool(v.bit_count() % 2) for v in values]


@pytest.mark.parametrize("n", [1, 2, 16])
def test_the_transform_is_the_matrix(n: int) -> None:
    vector = np.arange(n) ** 2.0 + 1
    assert transform(vector).tolist() == (hadamard(n) @ vector).tolist()


@pytest.mark.parametrize("k", [2, 3, 4, 7, 8, 15])
def test_a_column_supports_a_value_where_its_row_is_plus_one(k: int) -> None:
    m = HadamardResponse(k, Fraction(3, 4))
    matrix = hadamard(m.columns)
    assert m.columns // 2 <= k < m.columns
    for x in m.inputs:
        assert (m.supports(np.arange(m.columns), x) == (matrix[x + 1] == 1)).all()
        assert matrix[x + 1].sum() == 0


def test_columns_beyond_any_table_are_sampled() -> None:
    k = (1 << 62) - 1
    m, rng = HadamardResponse.for_epsilon(1.0, k), np.random.default_rng(1)
    for x in (0, k - 1):
        views = m.sample(x, 200_000, rng)
        assert views.min() >= 0
        assert np.mean(m.supports(views, x)) == pytest.approx(float(m.p), abs=0.006)
        assert np.mean(m.supports(views, 1)) == pytest.approx(0.5, abs=0.006)
        assert np.mean(views / 2.0**62) == pytest.approx(0.5, abs=0.006)


def test_the_proof_proves_what_the_accountant_finds() -> None:
    (proof,) = proved(prove)
    m = HadamardResponse(5, Fraction(7, 9))
    assert proof.at(m) == [(Fraction(1), Fraction(7, 2), False)]
    assert account(m).epsilon(0).low == pytest.approx(np.log(3.5))


@pytest.mark.parametrize(("k", "p"), [(1, 0.6), (1 << 62, 0.6), (3, 0.4), (3, 1)])
def test_parameters_outside_the_domain_are_refused(k: int, p: float) -> None:
    with pytest.raises(ValueError, match="needs"):
        HadamardResponse(k, Fraction(p))
