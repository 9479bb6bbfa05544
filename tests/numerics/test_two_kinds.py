"""Tails of sums of two kinds of integers, and the numbers of holders that they do not reject."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.numerics.two_kinds import ERROR, TwoKinds, holders

NOISE = Masses.discrete_laplace(Fraction(1, 2))


def coins(users: int, p: float, q: float, noise: Masses | None = None) -> TwoKinds:
    return TwoKinds(users, {0: 1 - p, 1: p}, {0: 1 - q, 1: q}, *([] if noise is None else [noise]))


def listed(law: TwoKinds, held: int) -> tuple[int, NDArray[np.float64]]:
    """The least integer and all masses of the sum, by convolution."""
    found, first = law.noise.values, law.noise.first
    for each, times in ((law.holder, held), (law.other, law.users - held)):
        least = min(each)
        one = np.array([each.get(y, 0.0) for y in range(least, max(each) + 1)])
        for _ in range(times):
            found, first = np.convolve(found, one), first + least
    return first, found


THREE = {-1: 0.2, 0: 0.5, 1: 0.3}


@pytest.mark.parametrize(
    "law",
    [coins(1, 0.5, 0.2), coins(30, 1.0, 0.0), coins(30, 0.7, 0.01), TwoKinds(25, THREE, {0: 0.5, 2: 0.1, 1: 0.4}),
     coins(20, 0.6, 0.3, NOISE), coins(400, 0.5, 0.25)],
)  # fmt: skip
def test_tails_are_those_of_the_law_term_by_term(law: TwoKinds) -> None:
    for held in {0, law.users // 3, law.users}:
        first, masses = listed(law, held)
        tails = np.cumsum(masses[::-1])[::-1]
        assert law.at_least(held, first + np.arange(len(masses))) == pytest.approx(tails, abs=1e-12)
        assert law.at_least(held, [first - 50, first + len(masses) + 50]) == pytest.approx([1, 0], abs=1e-12)


@pytest.mark.parametrize("users", [10**5, 10**9])
def test_tails_of_many_coins_are_right_to_the_error_that_is_stated(users: int) -> None:
    p = 1 / 3
    seen = np.floor(users * p + np.sqrt(users * p * (1 - p)) * np.linspace(-6, 6, 25))
    # With one law for all, the sum is a binomial number, and scipy has its tails by the incomplete beta function.
    assert coins(users, p, p - 1e-16).at_least(users // 3, seen) == pytest.approx(stats.binom.sf(seen - 1, users, p), abs=ERROR)


@given(users=st.integers(1, 40), p=st.floats(0.3, 1), ratio=st.floats(0, 0.9), alpha=st.floats(0.001, 0.5), noisy=st.booleans())
def test_an_interval_holds_every_number_of_holders_as_often_as_it_says(
    users: int, p: float, ratio: float, alpha: float, noisy: bool
) -> None:
    law = coins(users, p, p * ratio, NOISE if noisy else None)
    for held in {0, users // 2, users}:
        first, masses = listed(law, held)
        low, high = holders(law, first + np.arange(len(masses)), alpha)
        assert masses[(held < low) | (high < held)].sum() <= alpha
        assert np.all(np.diff(low) >= 0)
        assert np.all(np.diff(high) >= 0)
        assert np.all((low >= 0) & (high <= users))


def test_intervals_from_many_reports_are_hardly_wider_than_they_have_to_be() -> None:
    users, alpha = 20_000, 0.05
    for p, q, held in ((0.5, 0.27, 700), (0.03, 0.0039, 12_000), (0.75, 0.5, 0)):
        law = coins(users, p, q)
        mean = held * p + (users - held) * q
        seen = np.arange(max(0, int(mean) - 600), int(mean) + 600)
        masses = -np.diff(law.at_least(held, np.append(seen, seen[-1] + 1)))
        low, high = holders(law, seen, alpha)
        missed = masses[(held < low) | (high < held)].sum()
        assert (0.9 if held else 0.45) * alpha <= missed <= alpha  # at 0, no interval lies too low
        assert law.estimate(np.array([masses @ seen]))[0] == pytest.approx(held, abs=1e-3)
