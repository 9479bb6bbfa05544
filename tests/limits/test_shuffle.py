"""What a shuffled guarantee says of the local one, and what selection needs: against enumeration, protocols and known costs."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from ldpaudit import Enclosure, Rigour, Shuffle, account
from ldpaudit.accountants.limits import shuffle
from ldpaudit.accountants.limits.information import LocalView, corners, points
from ldpaudit.accountants.limits.selection import selection_success, selection_users, sharpened_users
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import KaryRandomizedResponse
from tests.oracles.pairs import excess, heads

F = Fraction
LN2 = F(math.nextafter(math.log(2), 1))
"""A float above ln 2; the enumeration is at a ratio of exactly 2, and the two differ by 1e-16."""
NEAR = 1e-11
"""Relative: how close to a* its two ends are, and LN2 to ln 2."""
DIGITS = 1e-4
"""Numbers of the specification are given to four or five digits."""


def divergence(n: int, p: Fraction, a: Fraction) -> Fraction:
    """The larger of the two orders, at a ratio of 2."""
    others, second = heads(n - 1, p), heads(n, p)
    first = [(1 - a) * x + a * y for x, y in zip([*others, F(0)], [F(0), *others], strict=True)]
    return max(excess(zip(*order, strict=True), 2) for order in ((first, second), (second, first)))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("p", [F(1, 1000), F(1, 10), F(1, 3), F(9, 10)])
@pytest.mark.parametrize("delta", [F(1, 10**6), F(1, 16)])
def test_the_largest_probability_is_that_of_all_counts(n: int, p: Fraction, delta: Fraction) -> None:
    found = shuffle.local_probability(n, p, LN2, delta)
    assert divergence(n, p, F(found.low) - (F(found.low) - p) * F(NEAR)) <= delta
    assert found.high == 1 or divergence(n, p, F(found.high) * (1 + F(NEAR))) > delta
    assert found.high - found.low <= NEAR


@pytest.mark.parametrize(("n", "epsilon", "delta", "mean", "value"), [
    (10**6, 1, 1e-9, F(1, 1000), 8.604e-4), (10**6, 1, 1e-9, F(1, 10), 0.03521), (10**6, 1, 1e-9, F(1), 0.18017),
    (10**6, 1, 1e-9, F(30), 0.7724), (10**6, 1, 1e-9, F(60), 1.0), (10**5, 0.5, 1e-8, F(1), 0.08111),
])  # fmt: skip
def test_the_largest_probability_among_many_users(n: int, epsilon: float, delta: float, mean: Fraction, value: float) -> None:
    found = shuffle.local_probability(n, mean / n, epsilon, delta)
    assert found.high == pytest.approx(value, rel=DIGITS, abs=0)
    assert found.high - found.low <= NEAR
    assert found.high <= min(1.0, math.exp(epsilon) * float(mean) + delta)


@pytest.mark.parametrize(("users", "k"), [(2, 2), (2, 10), (60, 3), (4000, 10)])
def test_no_event_of_a_shuffled_mechanism_is_likelier_than_its_guarantee_allows(users: int, k: int) -> None:
    m = KaryRandomizedResponse.for_epsilon(3, k=k)
    lie = (1 - m.p) / (k - 1)
    profile = account(Shuffle(m, users))
    for epsilon in (0.1, 1.5):
        delta = profile.delta(epsilon).high
        if 0 < delta < 1:
            assert shuffle.local_probability(users, lie, epsilon, delta).high >= m.p
            assert shuffle.information(users, k, epsilon, delta).high >= bits(m)
            for local_delta in (delta, (1 + delta) / 2):
                local = shuffle.local_epsilon(users, epsilon, delta, local_delta)
                assert m.p - math.exp(local.high) * lie <= local_delta + NEAR


def bits(m: KaryRandomizedResponse) -> float:
    p, q = float(m.p), float((1 - m.p) / (m.k - 1))
    return p * math.log2(p * m.k) + (m.k - 1) * q * math.log2(q * m.k)


def test_what_is_allowed_rises_with_the_chance_and_its_quotient_falls() -> None:
    known = points(LocalView(10**4, F(1), F(1, 10**9)))
    assert all(a <= b and a / p >= b / q for (p, a), (q, b) in pairwise(known))
    assert known[-1][1] == 1


def test_the_corners_lie_above_what_is_allowed_between_points() -> None:
    view = LocalView(10**4, F(1), F(1, 10**9))
    for (p, a), (q, b) in list(pairwise(corners(view)))[::7]:
        for share in (F(1, 4), F(1, 2), F(3, 4)):
            assert view.least(p + share * (q - p)) <= a + share * (b - a)
    view, p = LocalView(10**9, F(1, 1000), F(1, 10**6)), F(2 * 10**4, 10**9)
    assert p < view.least(p) <= view.most(p) <= view.least(p) * (1 + F(1, 10**9)), "also where the mean is 20,000"


@pytest.mark.parametrize("users", [1, 10, 10**4])
def test_the_local_guarantee_is_at_most_the_printed_one_and_at_least_the_shuffled_one(users: int) -> None:
    printed = shuffle.local_epsilon_as_printed(users, 1)
    assert printed.low <= 1 + math.log(users) <= printed.high
    lows = []
    for local_delta in (F(1, 1000), F(1, 100), F(1, 10)):
        found = shuffle.local_epsilon(users, 1, F(1, 1000), local_delta)
        assert found.high <= printed.high
        lows.append(found.low)
    assert lows == sorted(lows, reverse=True)
    assert lows[0] > 1 - 10 * NEAR


def test_a_larger_local_delta_saves_more_than_a_nat_among_a_hundred_million_users() -> None:
    found = shuffle.local_epsilon(10**8, 1, 1e-10, 1e-4)
    assert shuffle.local_epsilon_as_printed(10**8, 1).low == pytest.approx(19.421, rel=DIGITS, abs=0)
    assert 18.152 - math.log(1.03) < found.high < 18.152 + 1e-3
    assert found.high - found.low < math.log(1.03)


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_the_rarest_events_count_where_no_larger_delta_is_allowed(n: int) -> None:
    delta = F(1, 10**9)
    slope = math.e + (float(delta) + math.e - 1) * (n - 1)  # a* next to p = 0
    assert shuffle.local_epsilon(n, 1, delta, delta).high >= math.log(slope) - NEAR


def test_a_message_tells_half_of_the_printed_bits() -> None:
    found, printed = (f(10**4, 2**64, 1, 1e-9).high for f in (shuffle.information, shuffle.information_as_printed))
    assert printed == pytest.approx(15.730, rel=DIGITS, abs=0)
    assert 8.654 / 1.03 < found < 8.654 + 1e-3
    assert shuffle.information(10**6, 16, 1, 1e-9).high == pytest.approx(4, rel=1e-9, abs=0)


def test_without_delta_a_shuffled_message_is_as_private_as_the_protocol() -> None:
    local = math.log2(math.e)  # Lemma 3.8 at delta = 0, which the sharper bound is below
    assert shuffle.information(10**6, 1024, 1, 0).high < local / 8


@pytest.mark.parametrize(("call", "message"), [
    (lambda: shuffle.local_probability(5, F(0), 1, F(1, 2)), "0 < chance < 1"),
    (lambda: shuffle.local_probability(5, F(1, 2), 1, 0), "delta > 0"),
    (lambda: shuffle.local_epsilon(5, 1, F(1, 2), F(1, 4)), "delta <= local_delta"),
    (lambda: shuffle.local_epsilon_as_printed(0, 1), "users"),
    (lambda: shuffle.information(5, 1, 1, F(1, 2)), "values"),
    (lambda: selection_users(1, F(1, 2), 1), "two candidates"),
    (lambda: selection_users(8, F(1), 1), "named < 1"),
    (lambda: selection_users(1 << 12, F(1, 2), 0), "without information"),
    (lambda: selection_users(8, F(1, 2), 1, 0, 2), "shuffled"),
    (lambda: sharpened_users(8, F(1), 1, F(1, 9)), "named < 1"),
    (lambda: sharpened_users(8, F(1, 2), 1, 0), "delta > 0"),
    (lambda: selection_success(0, 8, 1), "users >= 1"),
    (lambda: selection_success(5, 8, 1, error=F(1, 2)), "error"),
    (lambda: selection_success(5, 8, -1), "epsilon"),
])  # fmt: skip
def test_out_of_domain_is_an_error(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_bound_of_one_event_is_the_one_of_the_proof(k: int) -> None:
    n, p, delta = 5, F(1, 3), F(1, 50)
    law = heads(n - 1, p)
    with working_precision(96):
        found = Enclosure.of(LocalView(n, F(0), delta).at_least(p, k), source="the accountant")
        low = Enclosure.of(LocalView(n, F(0), delta).at_most(p, k), source="the accountant")
    assert p + delta / law[k - 1] in found
    assert p + delta / law[k] in low


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
    (64, F(1, 3), F(1, 10**12), 14, 55), pytest.param(10**4, F(1, 3), F(1, 10**9), 2717, 4926, marks=pytest.mark.slow),
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
