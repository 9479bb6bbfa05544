"""Sums that are drawn: estimates from a sum of reports, with the noise of aggregators and without."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ldpaudit import Aggregate, Mechanism, Unsupported
from ldpaudit.accountants import randomized_response, unary_encoding
from ldpaudit.attacks.games.stems import listed
from ldpaudit.mechanisms import BinomialNoise, DiscreteLaplace, PolyaNoise, RoundedGaussian, Skellam, UnaryEncoding
from ldpaudit.mechanisms.count_mean_sketch import Sketch
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.geometric import TruncatedGeometric
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests.oracles.sums import as_summed
from tests.zoo import SMALL

RUNS, SURE = 2000, 5
"""Runs of a system; a mean is within 5 standard errors, and a variance of so many runs, but once in a million."""
SUMMED = [m for m in SMALL if m.summed and not isinstance(m, TruncatedGeometric)]


@pytest.mark.parametrize("m", SUMMED, ids=str)
def test_an_estimate_is_one_from_the_sum_of_the_views(m: Mechanism) -> None:
    views = np.concatenate([m.sample(x, 7, np.random.default_rng(1)) for x in (m.inputs[0], m.inputs[-1])])
    rows = np.array([as_summed(m, tuple(view) if np.ndim(view) else view) for view in views], dtype=np.float64)
    assert m.estimate_from_sum(rows.sum(axis=0), 14) == pytest.approx(m.estimate(views), abs=1e-9)
    if isinstance(m, Sketch):  # each of its numbers moves the first count by as much, or not at all
        moved = [abs(float(m.estimate_from_sum(one, 0)[0])) for one in np.eye(rows.shape[1])]
        assert sorted(filter(None, moved)) == pytest.approx([m.weight] * m.noises)


def test_what_has_no_sum_has_no_estimate_from_one() -> None:
    with pytest.raises(Unsupported, match="they have no sum"):
        HadamardResponse.for_epsilon(1, k=4).estimate_from_sum(np.zeros(4), 1)
    with pytest.raises(Unsupported, match="no unbiased estimate is linear"):
        Aggregate(TruncatedGeometric(3, Fraction(1, 2)), 2).run([0, 1], np.random.default_rng(0))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "m", [UnaryEncoding(3, Fraction(2, 3), Fraction(1, 5)), KaryRandomizedResponse(3, Fraction(1, 2))], ids=str
)
def test_a_noisy_run_is_unbiased_and_adds_every_noise_to_every_coordinate(m: Mechanism) -> None:
    counts, rng = {0: 30, 1: 10}, np.random.default_rng(2)
    noise = [DiscreteLaplace(Fraction(4, 5)), BinomialNoise(180, Fraction(1, 3)), DiscreteGaussian(Fraction(6))]  # alike
    clear, noisy = (np.array([plan.run(counts, rng) for _ in range(RUNS)]) for plan in (Aggregate(m, 40), Aggregate(m, 40, noise)))
    scale = m.estimate_from_sum(np.ones(1), 0).item()
    added = scale**2 * float(sum(each.variance for each in noise))
    wanted = clear.var(axis=0) + added
    known: Any = unary_encoding if isinstance(m, UnaryEncoding) else randomized_response
    errors = [known.errors(m, 40).deviation(held, sum(each.variance for each in noise)).high for held in (30, 10, 0)]
    assert np.all(np.abs(noisy.var(axis=0) / np.square(errors) - 1) < SURE * math.sqrt(4 / RUNS)), "the standard errors"
    assert np.all(np.abs(noisy.mean(axis=0) - [30, 10, 0]) < SURE * np.sqrt(wanted / RUNS))
    assert np.all(np.abs(noisy.var(axis=0) / wanted - 1) < SURE * math.sqrt(4 / RUNS))
    drawn = np.corrcoef((noisy - noisy.mean(axis=0)).T)
    reports = np.cov(clear.T) / np.sqrt(np.outer(wanted, wanted))
    assert np.all(np.abs(drawn - reports)[~np.eye(3, dtype=bool)] < SURE * math.sqrt(2 / RUNS)), ("noises are independent")


@pytest.mark.parametrize(
    ("noise", "exact"),
    [(DiscreteLaplace(Fraction(4, 5)), True), (BinomialNoise(90, Fraction(1, 3)), True), (Skellam(Fraction(7)), True),
     *((PolyaNoise(Fraction(9, 10), Fraction(shape)), True) for shape in ("1/100", "1/2", "1", "3/2", "10000")),
     *((made(Fraction(sigma)), False) for made in (DiscreteGaussian, RoundedGaussian) for sigma in ("1/9", "1/3", "1/2", "3"))],
     ids=str,
)  # fmt: skip
def test_the_variance_of_noise_is_that_of_its_law_or_just_above(noise: Any, exact: bool) -> None:
    start, masses = listed(noise, 1)
    at = np.arange(start, start + len(masses))
    mean = masses @ at
    variance = masses @ (at - mean) ** 2
    assert mean == pytest.approx(float(noise.mean), abs=1e-9)
    assert variance <= float(noise.variance) * (1 + 1e-9)
    if exact or noise.sigma >= 3:
        assert variance == pytest.approx(float(noise.variance), rel=1e-9)
