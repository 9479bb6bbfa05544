"""THRESH: what it does, line by line, and what it costs, against all transcripts, streams, adversaries and users one by one."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import numpy as np
import pytest
from scipy import stats

from ldpaudit.accountants import thresh
from ldpaudit.accountants.composition.coins import TwoCoins
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.exact import product as enumerated
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanisms.shared.voting.thresh import Levels
from ldpaudit.mechanisms.shared.voting.thresh_groups import Counts, Group
from ldpaudit.mechanisms.shared.voting.thresh_worst_pair import Play
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.profile import PrivacyProfile
from tests.oracles.voting import (
    HALF,
    Toy,
    ToyRepaired,
    User,
    estimate,
    plus,
    vote,
    worst_delta,
    worst_ratio,
    yes_chance,
)
from tests.samples import meet


def toys(number: int, seed: int) -> list[Thresh]:
    """Noise levels of both signs, budgets of no vote to all, thresholds from always to never exceeded."""
    rng, found = random.Random(seed), list[Thresh]()
    for index in range(number):
        kind = Toy if index % 3 else ToyRepaired
        epochs = rng.choice([1, 2, 3, 3, 4])
        least = 1 if kind is ToyRepaired else -2
        a, b = (Fraction(rng.choice([k for k in range(least, 9) if k]), 8) for _ in range(2))
        step = Fraction(rng.choice([1, 2, 3, 5, 9]), 16)
        found.append(kind(
            2, epochs, rounds=1 if epochs == 4 else 2, epsilon=Fraction(rng.choice([2, 5, 9, 16]), 4), delta=HALF,
            smallest=2, start=rng.choice([-1, -1, 0]), noise=Levels(a, b, step, HALF),
        ))  # fmt: skip
    return found


TOYS = toys(45, seed=5)


def account(m: Thresh) -> PrivacyProfile:
    """The accountant itself: a toy redefines the noise levels, so that it is asked by name."""
    return thresh.profile(m)


def test_the_toys_cover_exact_and_enclosed_budgets_of_every_kind() -> None:
    rigour = [account(m).epsilon(0).rigour for m in TOYS]
    assert min(rigour.count(Rigour.EXACT), rigour.count(Rigour.INTERVAL)) >= 5
    assert {m.common for m in TOYS} == {0, 1}
    assert {min(m.votes, 2) for m in TOYS} == {min(m.estimates, 2) for m in TOYS} == {0, 1, 2}
    assert max(account(m).epsilon(0).high for m in TOYS if account(m).epsilon(0).rigour is Rigour.EXACT) > 2


def streams(m: Thresh) -> list[tuple[int, ...]]:
    return list(product(range(m.rounds + 1), repeat=m.epochs))


@pytest.mark.parametrize("m", TOYS, ids=str)
def test_epsilon_is_that_of_all_streams_all_updates_and_all_transcripts(m: Thresh) -> None:
    with flint.ctx.workprec(256):
        truth = flint.arb(flint.fmpq(*worst_ratio(m).as_integer_ratio())).log()
    found = account(m).epsilon(0)
    assert found.low <= truth <= found.high
    assert found.rigour is Rigour.INTERVAL or found.high - found.low <= 1e-15 * found.high
    if float(truth) >= found.high * (1 - 1e-12):
        assert found.rigour is Rigour.EXACT, "where the bound is attained, the pair that attains it is found"


@pytest.mark.parametrize("m", [m for m in TOYS if m.epochs <= 3][:6], ids=str)
def test_delta_is_that_of_all_streams_and_of_adversaries_who_adapt(m: Thresh) -> None:
    # Streams of only ones and zeros an epoch, and some others; all pairs of these.
    users = [stream for stream in streams(m) if set(stream) <= {0, m.rounds}] + streams(m)[1::7]
    for ratio in (Fraction(1), Fraction(5, 4), Fraction(3)):
        worst = max(worst_delta(m, v, w, ratio) for v, w in product(users, repeat=2))
        found = account(m).delta(math.log(ratio))
        assert found.low - 1e-12 <= worst <= found.high + 1e-12
        assert found.rigour is Rigour.INTERVAL or worst == pytest.approx(found.high, abs=1e-12)


@pytest.mark.parametrize("m", TOYS, ids=str)
def test_what_a_user_publishes_is_what_the_pseudocode_says(m: Thresh) -> None:
    rng, yes = random.Random(str(m)), yes_chance(m)
    for stream in rng.sample(streams(m), min(8, len(streams(m)))):
        updates = tuple(rng.randint(0, 1) for _ in stream)
        user, chances = User.fresh(m), list[Fraction]()
        for t, (held, update) in enumerate(zip(stream, updates, strict=True), 1):
            said, user = vote(m, user, held, t)
            sent, user = estimate(m, user, held) if update else ((Fraction(0),), user)
            chances += [yes if said else 1 - yes, *plus(m, sent)]
        assert m.chances(Play(stream, updates)) == chances
        assert sum(p for _, p in m.law(Play(stream, updates)).items()) == 1


def whole_system(m: Thresh, data: np.ndarray[Any, Any], rng: np.random.Generator) -> list[float]:
    """Algorithm 1, line by line, with floats."""
    users = [User.fresh(m) for _ in data]
    yes, published, current = float(yes_chance(m)), list[float](), -1.0
    low, high = (float(plus(m, (Fraction(mean),))[0]) for mean in (0, 1))
    for t, held in enumerate(data.T.tolist(), 1):
        votes = bits = 0
        for i, user in enumerate(users):
            said, users[i] = vote(m, user, held[i], t)
            votes += rng.random() < (yes if said else 1 - yes)
        if votes / len(users) > 1 - yes + float(m.levels.margin):
            for i, user in enumerate(users):
                sent, users[i] = estimate(m, user, held[i])
                bits += rng.random() < float(plus(m, sent)[0])
            current = (bits / len(users) - low) / (high - low)
        published.append(current)
    return published


RUNS = 120
"""Runs of whole systems; the limits below are of this number."""


@pytest.mark.parametrize("noise", [(Fraction(2), Fraction(1)), pytest.param((Fraction(3, 2), -HALF), marks=pytest.mark.slow)])
def test_a_run_is_distributed_as_the_pseudocode_says(noise: tuple[Fraction, Fraction]) -> None:
    levels = Levels(*noise, Fraction(1, 20), Fraction(1, 10))
    m = Toy(20, epochs=4, rounds=3, epsilon=Fraction(16), delta=HALF, smallest=20, noise=levels)
    rng = np.random.default_rng(3)
    data = np.array([[3, 3, 0, 1]] * 9 + [[0, 0, 1, 3]] * 5 + [[2, 1, 3, 0]] * 6)
    theirs = np.round([whole_system(m, data, rng) for _ in range(RUNS)], 9)
    ours = np.round([m.run(data, rng) for _ in range(RUNS)], 9)
    for t in range(m.epochs):
        assert stats.ks_2samp(ours[:, t], theirs[:, t]).pvalue > 1e-4
        changed = [np.count_nonzero(x[:, t] != (x[:, t - 1] if t else -1)) for x in (ours, theirs)]
        assert abs(changed[0] - changed[1]) < 5 * math.sqrt(RUNS / 2)
    bits = np.array([[[1] * c + [0] * (3 - c) for c in row] for row in data.tolist()])
    assert m.truth(bits) == pytest.approx(m.truth(data))
    assert m.truth(data)[0] == pytest.approx((27 + 12) / 60)
    assert np.array_equal(m.run(bits, np.random.default_rng(1)), m.run(data, np.random.default_rng(1)))


def test_the_centre_makes_of_transcripts_what_a_run_publishes() -> None:
    noise = Levels(HALF, HALF, HALF / 4, HALF / 9)
    m = Toy(40, 3, rounds=2, epsilon=Fraction(40), delta=HALF, smallest=40, noise=noise)
    views = np.zeros((40, 6), dtype=np.int64)
    no, high = float(1 - m.vote_coin), float(m.estimate_coin)
    enough = math.floor(40 * (no + 1 / 18)) + 1
    views[: enough - 1, 0] = views[:enough, 2] = views[:7, 3] = 1
    second = (7 / 40 - (1 - high)) / (2 * high - 1)
    assert m.estimate(views) == pytest.approx([-1, second, second])


COINS = [(0, 0), (0, 3), (2, 0), (1, 1), (3, 4), (6, 5)]


@pytest.mark.parametrize(("m", "n"), COINS)
@pytest.mark.parametrize(("first", "second"), [(0.6, 0.9), (0.75, 0.75), (0.5, 0.7), (0.99, 0.501)])
def test_two_coins_are_their_enumeration(m: int, n: int, first: float, second: float) -> None:
    p, q = Fraction(first), Fraction(second)
    atoms = enumerated([([(p, 1 - p), (1 - p, p)], m), ([(q, 1 - q), (1 - q, q)], n)])
    ours, oracle = TwoCoins(p, m, q, n, ""), FiniteProfile((ExactPLD.of(atoms),), "")
    queries = [(ours.delta(e), oracle.delta(e)) for e in (0, 0.1, 0.5, 1.0, 3.0, math.inf)]
    queries += [(ours.epsilon(d), oracle.epsilon(d)) for d in (0, 1e-300, 1e-9, 0.01, 0.3, 0.9)]
    for found, truth in queries:
        assert meet(found, truth)
        assert found.high - found.low <= 1e-12 * found.high


def test_a_long_stream_is_printed_in_a_line() -> None:
    assert len(repr(Thresh(10_000, 64, 23_500, Fraction(1, 4), Fraction(1, 20), 10_000).inputs[0])) < 200


@pytest.mark.parametrize("end", ["high", pytest.param("low", marks=pytest.mark.slow)])
def test_an_epsilon_that_is_hundreds_of_newton_steps_away_is_found_in_seconds(end: str) -> None:
    start = time.process_time()
    m = Thresh(10**6, 1000, 10**6, Fraction(700), Fraction(1, 10**9), 10**6)
    bound = getattr(thresh.profile(m), end)
    found = bound.epsilon(5e-324)
    assert bound.delta(found.high).high <= 5e-324 <= bound.delta(found.low * (1 - 1e-9)).high
    assert found.high < found.low * (1 + 1e-9)
    assert time.process_time() - start < 20  # seconds: four or five, and about a minute step by step


FEW = Levels(Fraction(3), Fraction(2), Fraction(1, 20), Fraction(1, 8))
"""Few users vote in part of the epochs."""
MEANS = np.array([[0.3, 0.3], [0.5, 0.3], [0.5, 0.8], [0.4, 0.8], [0.0, 1.0], [0.5, 0.5]])


@pytest.mark.parametrize("m", [
    pytest.param(Toy(40, 6, 12, Fraction(30), HALF, 10, noise=FEW), marks=pytest.mark.slow),
    Toy(40, 6, 12, Fraction(8), HALF, 10, start=0, noise=FEW),
], ids=str)
def test_users_of_a_group_publish_in_law_what_they_do_one_by_one(m: Toy) -> None:
    theirs, ours = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        data = np.concatenate([rng.binomial(m.rounds, MEANS[:, group], (size, m.epochs)) for group, size in enumerate((10, 30))])
        theirs.append(m.run(data, rng))
        ours.append(m.run_on_means(MEANS, (0.25, 0.75), np.random.default_rng(seed + 1000)))
    for epoch in range(m.epochs):
        assert stats.ks_2samp([each[epoch] for each in theirs], [each[epoch] for each in ours]).pvalue > 1e-3
    changed = [np.count_nonzero(np.diff(runs, axis=1)) / 150 for runs in (theirs, ours)]
    assert abs(changed[0] - changed[1]) < 5 * math.sqrt(m.epochs / 150)


@pytest.mark.parametrize(("rounds", "mean"), [(10**6, 0.3), (50, 0.02), (7, 0.0), (7, 1.0)])
def test_the_law_of_counts_is_binomial(rounds: int, mean: float) -> None:
    law = Counts.of(rounds, mean)
    assert law.chances == pytest.approx(stats.binom.pmf(law.values, rounds, mean), rel=1e-9, abs=1e-30)
    references = np.array([0, int(rounds * mean), rounds])
    for change in (1, 3, 300):
        oracle = [stats.binom.cdf(r - change, rounds, mean) + stats.binom.sf(r + change - 1, rounds, mean) for r in references]
        assert law.far(references, change) == pytest.approx(oracle, abs=1e-11)


def test_no_user_is_lost_and_none_casts_more_votes_than_it_may() -> None:
    rng, group, law = np.random.default_rng(0), Group.fresh(10**9, 0, 2), Counts.of(1000, 0.5)
    for epoch in range(9):
        group.vote(law, 40, rng)
        if epoch % 3 == 1:
            assert group.update(law, 40, rng).sum() == 10**9
        else:
            group.settle()
        assert group.cast.sum() == 10**9
        assert len(group.cast) <= 3
    assert group.cast[2] > 10**8


def test_who_votes_has_drawn_a_count_that_is_far_from_its_reference() -> None:
    rng, law = np.random.default_rng(1), Counts.of(10, 0.5)
    group = Group.fresh(10**5, 5, 3)
    voted = group.vote(law, 3, rng)
    drawn = group.update(law, 3, rng)
    assert group.users[1].sum() == voted
    assert group.users[1][3:8].sum() == 0
    assert group.users[0][[0, 1, 2, 8, 9, 10]].sum() == 0
    assert drawn / 10**5 == pytest.approx(law.chances, abs=0.02)
