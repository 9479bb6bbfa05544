"""What selection needs: the published numbers, the bound against a protocol, and information against enumeration."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldpaudit.accountants.limits.selection import selection_success, selection_users, sharpened_users
from ldpaudit.enclosure import Rigour

F = Fraction


def needed(candidates: int, named: float, bits: float) -> int:
    return math.ceil((named * math.log2(2 * candidates) - 1) / bits)


@pytest.mark.parametrize(("candidates", "users"), [(64, 14), (1024, 261), (1 << 14, 4499)])
def test_the_shuffled_model_needs_about_as_many_users_as_candidates(candidates: int, users: int) -> None:
    found = selection_users(candidates, F(1, 3), 1, F(1, 10**12), shuffled=1)
    assert found == pytest.approx(users, rel=1e-3, abs=0)
    bits = (1 + (1 + math.log(found)) * math.log2(math.e)) / candidates + 2e-12
    assert found == needed(candidates, 1 / 3, bits)


@pytest.mark.parametrize(("candidates", "users"), [(64, 96), (1024, 2805), (1 << 14, 65306)])
def test_the_local_model_needs_more(candidates: int, users: int) -> None:
    found = selection_users(candidates, F(9, 20), 1)
    assert found == pytest.approx(users, rel=1e-3, abs=0)
    assert found == needed(candidates, 0.45, math.log2(math.e) / candidates)
    assert abs(selection_users(candidates, F(9, 20), 2) - found / 2) <= 1


def test_a_million_candidates_need_hundreds_of_thousands_of_users() -> None:
    assert selection_users(1 << 20, F(1, 3), 1, F(1, 10**12), shuffled=1) == pytest.approx(3.05e5, rel=0.01)
    assert selection_users(1 << 20, F(9, 20), 1) == pytest.approx(6.1e6, rel=0.01)


@pytest.mark.parametrize(("candidates", "named", "delta", "printed", "needed"), [
    (64, F(1, 3), F(1, 10**12), 14, 55), (10**4, F(1, 3), F(1, 10**9), 2717, 4926),
])  # fmt: skip
def test_the_sharper_local_guarantee_needs_about_twice_as_many_users(
    candidates: int, named: Fraction, delta: Fraction, printed: int, needed: int
) -> None:
    assert selection_users(candidates, named, 1, delta, shuffled=1) == printed
    assert needed <= sharpened_users(candidates, named, 1, delta) <= needed * 1.08


def test_four_users_by_hand() -> None:
    assert selection_users(4, F(2, 3), math.nextafter(math.log(2), 1)) == 4
    assert sharpened_users(4, F(1, 3), 1, F(1, 10)) == 1


def test_no_simulated_selector_succeeds_more_often() -> None:
    # Each user answers one random question by randomized response; the question with the largest sum is named.
    users, candidates, epsilon, rng = 300, 256, 0.5, np.random.default_rng(5)
    bound = selection_success(users, candidates, F(1, 2))
    assert bound.rigour is Rigour.INTERVAL
    assert bound.high < 1
    truth, right, runs = math.exp(epsilon) / (1 + math.exp(epsilon)), 0, 400
    for _ in range(runs):
        best, asked = rng.integers(candidates), rng.integers(candidates, size=users)
        answers = np.where(asked == best, 1, rng.integers(0, 2, users))
        told = np.where(rng.random(users) < truth, answers, 1 - answers)
        sums = np.bincount(asked, weights=2 * told - 1, minlength=candidates)
        right += int(np.argmax(sums)) == best
    assert right / runs < bound.high


def test_more_privacy_more_candidates_and_fewer_users_are_harder() -> None:
    base = selection_success(500, 1 << 12, 1)
    assert selection_success(500, 1 << 12, F(1, 2)).high < base.high
    assert selection_success(500, 1 << 14, 1).high < base.high
    assert selection_success(400, 1 << 12, 1).high < base.high
    assert selection_success(500, 1 << 12, 1, F(1, 10**6)).high > base.high


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: selection_users(1, F(1, 2), 1), "two candidates"),
        (lambda: selection_users(8, F(1), 1), "named < 1"),
        (lambda: selection_users(1 << 12, F(1, 2), 0), "without information"),
        (lambda: selection_users(8, F(1, 2), 1, 0, 2), "shuffled"),
        (lambda: sharpened_users(8, F(1), 1, F(1, 9)), "named < 1"),
        (lambda: sharpened_users(8, F(1, 2), 1, 0), "delta > 0"),
        (lambda: selection_success(0, 8, 1), "users >= 1"),
        (lambda: selection_success(5, 8, 1, error=F(1, 2)), "error"),
        (lambda: selection_success(5, 8, -1), "epsilon"),
    ],
)
def test_out_of_domain_is_an_error(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
