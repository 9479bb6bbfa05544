"""Local hashing: what its accountant takes from structure, by enumeration over small fields."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from ldpaudit import account
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.local_hashing import MERSENNE, LocalHashing
from ldpaudit.proofs.local_hashing import prove
from tests.helpers import proved

FIELDS = [(2, 2), (2, 3), (3, 5), (5, 5), (4, 7), (6, 11)]


@pytest.mark.parametrize(("g", "prime"), FIELDS)
def test_every_two_values_collide_as_often_as_stated(g: int, prime: int) -> None:
    m = LocalHashing(g, Fraction(5, 6), domain=prime, prime=prime)
    functions = list(product(range(prime), repeat=2))
    for x, other in permutations(m.inputs, 2):
        alike = sum((a * x + b) % prime % g == (a * other + b) % prime % g for a, b in functions)
        assert Fraction(alike, prime**2) == m.collision


def test_two_values_collide_as_often_as_stated_in_the_deployed_field() -> None:
    m, rng = LocalHashing.optimal(2.0, domain=10**6), np.random.default_rng(1)
    views = m.sample(3, 400_000, rng)
    a, b = views[:, 0], views[:, 1]
    assert m.prime == MERSENNE
    assert np.mean(m.hash(a, b, 3) == m.hash(a, b, 999_999)) == pytest.approx(float(m.collision), abs=0.004)


@pytest.mark.parametrize("x", [0, 1, MERSENNE - 1])
def test_a_view_names_the_hash_with_probability_p(x: int) -> None:
    m, rng = LocalHashing(5, Fraction(3, 5), domain=MERSENNE), np.random.default_rng(2)
    views = m.sample(x, 400_000, rng)
    assert np.mean(m.supports(views, x)) == pytest.approx(0.6, abs=0.004)
    exact = [(a * x + b) % MERSENNE % 5 == y for a, b, y in views[:1000].tolist()]  # in integers that cannot overflow
    assert exact == m.supports(views[:1000], x).tolist()


def test_the_law_of_the_deployed_field_is_given_by_structure() -> None:
    m = LocalHashing(3, Fraction(1, 2), domain=10)
    law = m.law(4)
    assert law.size == MERSENNE**2 * 3
    assert sum(law.probability((10**9, 7, y)) for y in range(3)) == Fraction(1, MERSENNE**2)
    with pytest.raises(Unsupported, match="enumerated"):
        law.items()


def test_the_number_of_hash_values_is_the_one_of_the_paper() -> None:
    assert [LocalHashing.optimal(e, 4).g for e in (0.1, 1, 2, 5)] == [2, 4, 8, 149]
    assert LocalHashing.binary(3, 4).g == 2


def test_the_proof_proves_what_the_accountant_finds() -> None:
    (proof,) = proved(prove)
    m = LocalHashing(7, Fraction(4, 9), domain=12)
    assert proof.at(m) == [(Fraction(1), m.p / m.lie, False)]
    assert account(m).epsilon(0).low == pytest.approx(np.log(4 * 6 / 5))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"g": 1}, "2 <= g"), ({"g": 12}, "g <= 11"), ({"domain": 12}, "domain <= 11"), ({"prime": 12}, "prime number"),
     ({"p": Fraction(1, 4)}, "1/g <= p"), ({"p": 1}, "p < 1"), ({"prime": 1 << 31}, "prime <= 2147483647")],
)
def test_parameters_outside_the_domain_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(LocalHashing(3, Fraction(1, 2), domain=5, prime=11), **change)


def test_an_epsilon_that_needs_more_hash_values_than_the_field_has_is_refused() -> None:
    with pytest.raises(ValueError, match="epsilon <= 21"):
        LocalHashing.optimal(22, 4)
