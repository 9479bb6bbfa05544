"""HEAVYTHRESH: its parameters, what it costs with printed ones, and what its centre publishes."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldpaudit.accountants import heavy_thresh
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.exact import product as enumerated
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh, HeavyThreshRepaired
from ldpaudit.mechanisms.shared.voting.heavy_thresh import extremes, least_rows
from ldpaudit.mechanisms.shared.voting.heavy_thresh_worst_pair import _are_few
from ldpaudit.mechanisms.shared.voting.thresh import Levels
from tests.oracles.heavy_thresh import (
    Toy,
    User,
    account,
    estimate,
    signs,
    vote,
    yes_chance,
)

F = Fraction
HALF = F(1, 2)


TENTH = F(1, 10)
LARGE = HeavyThresh(10**5, 100, 1000, TENTH, F(1, 20), 10**5, domain=1000, start=0)
LARGER = HeavyThresh(10**6, 100, 10**5, F(1), F(1, 20), 10**6, domain=1000)


def test_the_parameters_are_those_of_the_formulas() -> None:
    n, t, d, ell, delta, w = 1e5, 100, 1000, 1000, 0.05, 2e6
    step = math.sqrt(2 * math.log(16 * w * n * t / delta) / ell)
    noise = math.sqrt(2 * math.log(16 * d * t / delta) / n)
    assert float(LARGE.levels.step) == pytest.approx(step, rel=1e-12)
    assert float(LARGE.b) == pytest.approx(2 * math.atanh(noise / math.log2(t) / step), rel=1e-12)
    assert float(LARGE.least_b) == pytest.approx(2 * math.atanh(noise / 15 / step), rel=1e-12)
    u = math.sqrt(2 * n * math.log(10 * t / delta)) / n
    assert float(LARGE.least_a) == pytest.approx(math.log((1 + u) / (1 - u)), rel=1e-12)
    found = (LARGE.a, LARGE.least_a, LARGE.levels.step, LARGE.b, LARGE.least_b)
    assert [round(float(x), 6) for x in found] == [0.058047, 0.028149, 0.269796, 0.020744, 0.009188]
    assert (LARGE.votes, LARGE.estimates, LARGE.highest_level, LARGE.rows) == (1, 2, 2, 2 * 10**6)


@pytest.mark.parametrize(
    ("m", "value", "rigour"),
    [
        (LARGE, 0.157583, Rigour.EXACT),
        (replace(LARGE, start=-1), 0.041488, Rigour.EXACT),
        (LARGER, 0.779371, Rigour.EXACT),
        # Whether a thousand words cancel in each of 2e7 rows is not decided.
        (replace(LARGER, start=0), 0.815545, Rigour.INTERVAL),
    ],
)
def test_printed_parameters_cost_what_two_votes_and_estimates_more_or_less_do(
    m: HeavyThresh, value: float, rigour: Rigour
) -> None:
    found = account(m).epsilon(0)
    assert (round(found.high, 6), found.rigour) == (value, rigour)
    assert found.low == pytest.approx(value if rigour is Rigour.EXACT else 0.779371, abs=1e-6)


def test_the_fewest_rows_are_those_that_the_printed_error_needs() -> None:
    m = HeavyThresh(20_000, 16, 5_000, F(4), F(1, 20), 20_000, domain=8)
    assert least_rows(m.sizes) == pytest.approx(20698.6, abs=0.05)


def test_a_pair_s_profile_is_that_of_its_bits_and_of_reports_that_are_seldom_seen() -> None:
    p = F(math.exp(0.1) / (math.exp(0.1) + 1))
    found = heavy_thresh.of_counts(p, 6, p, Counter({HALF: 3}))
    coin = [(p, 1 - p), (1 - p, p)]
    seldom = [(p / 2, (1 - p) / 2), ((1 - p) / 2, p / 2), (HALF, HALF)]
    oracle = FiniteProfile((ExactPLD.of(enumerated([(coin, 6), (seldom, 3)])),), "")
    for epsilon, value in ((0.3, 0.0209610), (0.0, 0.1087653)):
        assert found.delta(epsilon).high == pytest.approx(value, abs=5e-8)
        assert same(found.delta(epsilon), oracle.delta(epsilon))
    assert found.epsilon(0).high == pytest.approx(0.9)
    assert same(found.epsilon(0.01), oracle.epsilon(0.01))


def same(one: Enclosure, other: Enclosure) -> bool:
    return one.low <= other.high and other.low <= one.high and one.high - one.low <= 1e-12 * one.high


def whole_system(m: HeavyThresh, data: np.ndarray[Any, Any], rng: np.random.Generator) -> list[list[float]]:
    """Line by line, with floats; `data` by user, epoch and word."""
    users = [User.fresh(m) for _ in data]
    yes, published, current = float(yes_chance(m)), list[list[float]](), [-1.0] * m.domain
    columns = m.public.signs(np.arange(m.rows)[:, None], np.arange(m.domain))
    for t in range(1, m.epochs + 1):
        held = [tuple((v, int(c)) for v, c in enumerate(row[t - 1]) if c) for row in data]
        votes = 0
        for i, user in enumerate(users):
            said, users[i] = vote(m, user, held[i], t)
            votes += rng.random() < (yes if said else 1 - yes)
        if votes / len(users) > 1 - yes + float(m.levels.margin):
            sums = np.zeros(m.domain)
            for i, user in enumerate(users):
                x, users[i] = estimate(m, user, held[i])
                j = int(rng.integers(m.rows))
                sums += (1 if rng.random() < float(signs(m, (x[j],))[0]) else -1) * columns[j]
            current = (sums / len(users) / float(2 * m.estimate_coin - 1)).tolist()
        published.append(current)
    return published


@pytest.mark.parametrize(
    ("start", "rows", "noise"), [(-1, 4, (2, 1)), (0, 40, (2, 1)), (-1, 1, (2, 1)), (0, 4, (1, 4))]
)
def test_a_run_is_distributed_as_the_pseudocode_says(start: int, rows: int, noise: tuple[int, int]) -> None:
    levels = Levels(F(noise[0]), F(noise[1]), F(1, 20), TENTH)
    m = Toy(20, 4, 3, F(16), HALF, 20, 3, 1, start, rows, 1, levels)
    rng = np.random.default_rng(3)
    kinds = [[3, 0, 0], [0, 3, 0], [1, 1, 1], [0, 1, 2]]
    data = np.array([[kinds[k] for k in ks] for ks in [(0, 0, 1, 2)] * 9 + [(1, 1, 3, 0)] * 5 + [(3, 2, 0, 1)] * 6])
    theirs = np.round([whole_system(m, data, rng) for _ in range(100)], 9)
    ours = np.round([m.run(data.transpose(1, 0, 2), rng) for _ in range(100)], 9)
    for t, v in product(range(m.epochs), range(3)):
        assert stats.ks_2samp(ours[:, t, v], theirs[:, t, v]).pvalue > 1e-4
    changed = [np.count_nonzero(np.diff(x[:, :, 0], axis=1)) for x in (ours, theirs)]
    assert abs(changed[0] - changed[1]) < 5 * math.sqrt(300 / 2)
    assert m.truth(data.transpose(1, 0, 2))[0] == pytest.approx(np.array([27 + 0, 15 + 6, 12]) / 60)


def test_the_centre_makes_of_transcripts_what_a_run_publishes() -> None:
    m = Toy(40, 3, 2, F(40), HALF, 40, 3, 1, -1, 64, 0, Levels(HALF, HALF, F(1, 8), F(1, 18)))
    views = np.zeros((40, 3, 3), dtype=np.int64)
    views[:, :, 1] = -1
    no = float(1 - m.vote_coin)
    enough = math.floor(40 * (no + 1 / 18)) + 1
    views[: enough - 1, 0, 0] = views[:enough, 1, 0] = 1
    rows, told = np.arange(40), np.where(np.arange(40) % 3 == 0, -1, 1)
    views[:, 1, 1], views[:, 1, 2] = rows, told
    columns = m.public.signs(rows[:, None], np.arange(3))
    second = told @ columns / 40 / float(2 * m.estimate_coin - 1)
    published = m.estimate(views.reshape(40, -1))
    assert np.all(published[0] == -1)
    assert published[1] == pytest.approx(second)
    assert published[2] == pytest.approx(second)


def test_distances_of_histograms_are_those_of_all_rows() -> None:
    rng = np.random.default_rng(0)
    m = HeavyThresh(1_000, 4, 500, F(1), F(1, 20), 1_000, domain=40, rows=150_000)
    table = m.public.signs(np.arange(150_000)[:, None], np.arange(40)).astype(int)
    for size in (1, 2, 12, 40):
        counts = rng.multinomial(500, np.ones(size) / size) * rng.choice([-1, 1], size)
        sums = table[:, :size] @ counts
        assert extremes(m.public, tuple(enumerate(counts.tolist()))) == (sums.min(), sums.max())


def test_what_is_no_input_is_refused() -> None:
    m = HeavyThresh(10_000, 4, 3, F(1), F(1, 20), 10_000, domain=5)
    good = (0, 1, ((0, 1), (4, 2)), [[2, 3]])
    m.require_input((good, (0, 1, 0, 1)))
    for stream, updates in [(good[1:], (0, 1, 0, 1)), (good, (0, 1, 2, 1)), ((0, 1, 2, 5), (0,) * 4),
                            ((0, 1, 2, ((0, 2),)), (0,) * 4), ((0, 1, 2, ((0, 1), (0, 2))), (0,) * 4),
                            ((0, 1, 2, ((0, 4), (1, -1))), (0,) * 4), ((None,) * 4, (0,) * 4)]:  # fmt: skip
        with pytest.raises(ValueError, match="4 histograms of 3 of 5 words"):
            m.require_input((stream, updates))
    sound = np.tile([1, 1, 1, 0, 0], (4, 10_000, 1))
    for data in (sound[:3], sound[:, :5], 2 * sound, np.concatenate([sound, sound])):
        with pytest.raises(ValueError, match="needs"):
            m.run(data, np.random.default_rng(0))
    with pytest.raises(Unsupported, match="every sign of the matrix"):
        LARGER.run([], np.random.default_rng(0))


@pytest.mark.parametrize("change", [
    {"users": 0}, {"epochs": 1}, {"rounds": 0}, {"delta": F(0)}, {"delta": F(1)}, {"epsilon": F(0)}, {"smallest": 10_001},
    {"smallest": 5_001, "subgroups": 2}, {"start": 1}, {"start": -2}, {"domain": 1}, {"rows": -1}, {"seed": -1},
    {"rounds": 10**6},
])  # fmt: skip
def test_parameters_outside_the_domain_are_refused(change: dict[str, Any]) -> None:
    sound: dict[str, Any] = {
        "users": 10_000, "epochs": 4, "rounds": 10, "epsilon": F(1), "delta": HALF, "smallest": 5_000, "domain": 4,
    }  # fmt: skip
    HeavyThresh(**sound)
    with pytest.raises(ValueError, match="need"):
        HeavyThresh(**{**sound, **change})


@pytest.mark.parametrize("kind", [HeavyThresh, HeavyThreshRepaired])
def test_a_noise_level_that_would_publish_votes_reversed_is_refused(kind: type[HeavyThresh]) -> None:
    with pytest.raises(ValueError, match="needs a > 0, got a=-"):
        kind(2_000, 2, 100, F(1), F(1, 20), 100, domain=2)


@pytest.mark.parametrize("seed", range(8))
def test_the_repaired_one_costs_three_quarters_of_its_claim(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.choice([10**4, 10**5])
    m = HeavyThreshRepaired(n, rng.choice([5, 16, 100]), rng.choice([100, 1000]), F(rng.randint(1, 80), 20), F(1, 20), n, 8,
                            start=rng.choice([-1, 0]), rows=1000)  # fmt: skip
    assert account(m).epsilon(0).high <= 3 * m.epsilon / 4


class Epochs:
    """Users' histograms of a mixture that changes once, made one epoch after the other."""

    def __init__(self, m: HeavyThresh, seed: int) -> None:
        self.m, self.seed = m, seed

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        rng, first = np.random.default_rng(self.seed), np.arange(1, self.m.domain + 1) / (self.m.domain * (self.m.domain + 1) / 2)
        for t in range(self.m.epochs):
            yield rng.multinomial(self.m.rounds, first if t < self.m.epochs // 2 else first[::-1], self.m.users)


def test_estimates_follow_a_change() -> None:
    m = HeavyThresh(20_000, 8, 15_000, F(4), F(1, 20), 20_000, domain=6)
    data = Epochs(m, 5)
    found = m.run(data, np.random.default_rng(1))
    off = np.abs(found - m.truth(data)).max(axis=1)
    assert off.max() < 0.12
    assert np.abs(found[-1] - found[0]).max() > 0.15


@pytest.mark.slow
def test_a_thousand_epochs_of_a_hundred_thousand_users_take_less_than_two_minutes() -> None:
    import time

    m = HeavyThresh(10**5, 1000, 10_000, F(4), F(1, 20), 10**5, domain=8)
    began = time.process_time()
    found = m.run((np.random.default_rng(t).multinomial(10_000, np.ones(8) / 8, 10**5) for t in range(1000)),
                  np.random.default_rng(1))  # fmt: skip
    assert found.shape == (1000, 8)
    assert time.process_time() - began < 120


def test_whether_histograms_are_few_is_known_without_their_number() -> None:
    for rounds, domain in product((1, 2, 5, 40), (2, 3, 9, 100)):
        number = math.comb(rounds + domain - 1, domain - 1)
        assert [_are_few(rounds, domain, most) for most in (number - 1, number, number + 1)] == [False, True, True]
    # The number itself has 600,000 digits, and takes minutes.
    assert not _are_few(10**6, 10**6, 1 << 10)
