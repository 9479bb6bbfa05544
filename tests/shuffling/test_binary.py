"""Shuffled binary randomized response: its data sets are exact, and none is worse than the worst."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import flint
import pytest
from scipy import stats

from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf
from ldpaudit.accountants.shuffling.binary import _Search, survivors, worst
from ldpaudit.accountants.shuffling.binary_data_set import Comb, TiltedResponse
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests.oracles import shuffle as oracle

F = Fraction


@pytest.mark.parametrize("p", [F(3, 5), F(19, 20), F(2980, 2981)])
@pytest.mark.parametrize("users", [2, 5, 30])
def test_a_binary_data_set_s_divergence_is_exact_and_its_bound_is_above(p: Fraction, users: int) -> None:
    with flint.ctx.workprec(220):
        for share in (F(0), F(1, 30), F(1, 3), F(19, 20)):
            e = 1 + share * (p / (1 - p) - 1)
            truths, tilt = oracle.binary(p, users, e), TiltedResponse(p, ball(e))
            for t in {0, users // 3, users - 1}:
                found = tilt.value(t, users - 1)
                assert found.overlaps(ball(truths[t]))
                assert found.rad() < 1e-15 * found.mid()
            for first, last in ((0, users - 1), (users // 2, users - 1), (users - 1, users - 1)):
                assert tilt.bound(first, last, users - 1) >= ball(max(truths[first : last + 1]))


def test_a_binary_data_set_of_a_thousand_million_agrees_with_binomial_tails() -> None:
    n, p, epsilon = 10**9, F(3, 4), F(1, 20_000)
    with flint.ctx.workprec(300):
        e = ball(epsilon).exp()
        u, v = ball(p) - e * ball(1 - p), e * ball(p) - ball(1 - p)
        tilt = TiltedResponse(p, e)
        x = tilt.cutoff(n - 1, n - 1)
        found = tilt.value(n - 1, n - 1)
        pmf = binomial_pmf(n - 1, p, x - 1)
    tail_probability = stats.binom.sf(x - 1, n - 1, 0.75)
    assert math.isclose(float(found), float(u * pmf) - float(v - u) * tail_probability, rel_tol=1e-4)


@pytest.mark.parametrize("users", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("epsilon0", [1, 4, 8])
def test_the_worst_binary_data_set_is_found_among_any_number_of_users(users: int, epsilon0: int) -> None:
    m = KaryRandomizedResponse.for_epsilon(epsilon0, 2)
    sigma = math.sqrt(users * float(m.p * (1 - m.p)))
    with flint.ctx.workprec(260):
        found = worst(m.p, ball(F(4 / sigma)).exp(), users, 1e-10)
    assert found.low.rad() < 1e-12 * found.low.mid()
    assert found.high < found.low * (1 + 1e-9)


@pytest.mark.parametrize(
    ("epsilon0", "users", "epsilon"), [(1, 400, F(1, 5)), (4, 600, F(1)), (8, 900, F(3)), (4, 500, F(0)), (1, 1500, F(1, 100))]
)
def test_no_number_of_ones_is_worse_than_the_worst(
    epsilon0: int, users: int, epsilon: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the search begins with a bad one."""
    m, others = KaryRandomizedResponse.for_epsilon(epsilon0, 2), users - 1
    with flint.ctx.workprec(220):
        tilt = TiltedResponse(m.p, ball(epsilon).exp())
        top = max((tilt.value(t, others) for t in range(users)), key=float)
        found, roughly = (worst(m.p, ball(epsilon).exp(), users, tolerance) for tolerance in (1e-10, 1e-5))
    assert found.low.overlaps(top)
    assert top.lower() <= found.high <= top.upper() * (1 + 1e-9)
    assert top.lower() <= roughly.high <= top.upper() * (1 + 2e-3)
    monkeypatch.setattr(_Search, "promising", lambda search: [0])
    with flint.ctx.workprec(220):
        assert worst(m.p, ball(epsilon).exp(), users, 1e-5).high >= top.lower()


@pytest.mark.parametrize(("epsilon0", "users", "epsilon"), [(1, 400, F(1, 5)), (4, 900, F(2)), (8, 5000, F(4)), (4, 500, F(0))])
def test_the_bound_of_u_over_a_range_is_by_its_pieces_and_exceeds_every_u(epsilon0: int, users: int, epsilon: Fraction) -> None:
    m, others, half = KaryRandomizedResponse.for_epsilon(epsilon0, 2), users - 1, F(1, 16)
    with flint.ctx.workprec(220):
        tilt = TiltedResponse(m.p, ball(epsilon).exp())
        found = Comb.of(tilt, users // 2, users // 2 + 20, others)
        assert found is not None
        highest, curve = found.highest().upper(), abs(found.u(flint.arb(0, 1), 2)).upper()
        middles = [ball((2 * i + 1) * half - 1) for i in range(16)]
        values, slopes = ([found.u(psi, d) for psi in middles] for d in (0, 1))
        by_pieces = [(value + abs(slope) * ball(half)).upper() for value, slope in zip(values, slopes, strict=True)]
        assert max(by_pieces) < highest
        for t in (users // 2, users // 2 + 7, users // 2 + 20):
            one = Comb.of(tilt, t, t, others)
            assert one is not None
            sharp, grid = one.highest().upper(), [one.u(ball(F(i, 50))) for i in range(-50, 51)]
            assert max(grid) < min(highest, sharp)
            assert sharp < max(grid) + 2 * max(abs(a - b) for a, b in pairwise(grid)) * 50 / 16 + curve * ball(half) ** 2
            # A point's u, by powers, is that of the range around it, by exponentials.
            assert all(one.u(ball(F(i, 7)) + flint.arb(0, 2**-30)).contains(one.u(ball(F(i, 7)))) for i in (-7, -2, 5))


@pytest.mark.parametrize(
    ("epsilon0", "users", "epsilon"),
    [(1, 10**6, F(1, 350)), (4, 10**6, F(6, 250)), (8, 10**6, F(9, 40)), (8, 10**7, F(3, 50)), (4, 10**5, F(0))],
)
def test_no_number_of_ones_that_is_sifted_out_is_worse_than_what_it_was_held_against(
    epsilon0: int, users: int, epsilon: Fraction
) -> None:
    m, others = KaryRandomizedResponse.for_epsilon(epsilon0, 2), users - 1
    sifted = 0
    with flint.ctx.workprec(220):
        tilt = TiltedResponse(m.p, ball(epsilon).exp())
        for first in (0, users // 3, users - 200, users - 50):
            ts = range(first, first + 50)
            truths = {t: tilt.value(t, others) for t in ts}
            ranked = sorted(truths.values(), key=float)
            for most in (ranked[20].upper(), ranked[-1].lower() * (1 - flint.arb(2) ** -40)):
                found = survivors(tilt, ts, others, most)
                assert found is not None
                left, rest = found
                assert all(truths[t] <= most * rest for t in set(ts) - set(left.tolist()))
                assert rest <= 1
                assert {t for t in ts if truths[t] > most} <= set(left.tolist()) <= set(ts)
                assert all(truths[t] > most * (1 - 1e-9) for t in left.tolist())
                sifted += len(ts) - len(left)
    assert sifted > 200
