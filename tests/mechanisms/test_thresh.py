"""THRESH: what it does, line by line, and its accountant against all transcripts, streams and adversaries."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import numpy as np
import pytest
from scipy import stats

from ldpaudit.accountants import thresh
from ldpaudit.accountants.composition.two_coins import TwoCoins
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.exact import product as enumerated
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.shared.voting.thresh import Levels
from ldpaudit.mechanisms.shared.voting.thresh_worst_pair import Play
from ldpaudit.mechanisms.thresh import Thresh
from ldpaudit.mechanisms.thresh_repaired import ThreshRepaired
from ldpaudit.profile import PrivacyProfile

HALF = Fraction(1, 2)
HALVES = Levels(HALF, HALF, HALF, HALF)


@dataclass(frozen=True)
class Toy(Thresh):
    """Thresholds and noise levels that are chosen: printed ones need hundreds of rounds, too many for enumeration."""

    noise: Levels = HALVES

    @property
    def levels(self) -> Levels:
        return self.noise


@dataclass(frozen=True)
class ToyRepaired(ThreshRepaired):
    noise: Levels = HALVES

    @property
    def levels(self) -> Levels:
        return self.noise


class Pseudocode:
    """One user, line by line as printed; repaired, the counter is checked with what it is about to grow by."""

    def __init__(self, m: Thresh, stream: tuple[int, ...]) -> None:
        self.m, self.stream = m, stream
        self.votes_spent = self.estimates_spent = self.mean = Fraction(0)
        self.reference = Fraction(m.start)
        self.top = math.floor(math.log2(m.epochs))

    def copy(self) -> Pseudocode:
        other = Pseudocode(self.m, self.stream)
        other.__dict__.update(self.__dict__)
        return other

    def allows(self, counter: Fraction, level: Fraction) -> bool:
        if isinstance(self.m, ThreshRepaired):
            return counter + level <= self.m.epsilon / 4
        return counter < self.m.epsilon / 4

    def vote(self, t: int) -> bool:
        self.mean = Fraction(self.stream[t - 1], self.m.rounds)
        change = abs(self.mean - self.reference)
        exceeded = [b for b in range(-1, self.top + 1) if change > 2 * (b + 1) * self.m.levels.step]
        yes = bool(exceeded) and self.allows(self.votes_spent, self.m.a) and t % 2 ** (self.top - max(exceeded)) == 0
        if yes:
            self.votes_spent += self.m.a
        return yes

    def estimate(self) -> Fraction:
        """The mean that is sent, and 0 without budget; a global update it is that asks for it."""
        self.reference = self.mean
        if not self.allows(self.estimates_spent, self.m.b):
            return Fraction(0)
        self.estimates_spent += self.m.b
        return self.mean


def yes_chance(m: Thresh) -> Fraction:
    """``e**a / (e**a + 1)``."""
    return m.vote_coin if m.a > 0 else 1 - m.vote_coin


def one_chance(m: Thresh, mean: Fraction) -> Fraction:
    """``(1 + mean (e**b - 1)) / (e**b + 1)``."""
    high = m.estimate_coin if m.b > 0 else 1 - m.estimate_coin
    return 1 - high + mean * (2 * high - 1)


def worst_ratio(m: Thresh, v: Pseudocode, w: Pseudocode, t: int = 1) -> Fraction:
    """Largest likelihood ratio of what is published from epoch t on, over all updates."""
    if t > m.epochs:
        return Fraction(1)
    v, w, yes = v.copy(), w.copy(), yes_chance(m)
    voted = max(yes / (1 - yes), (1 - yes) / yes) if v.vote(t) != w.vote(t) else Fraction(1)
    stays = worst_ratio(m, v, w, t + 1)
    x, y = one_chance(m, v.estimate()), one_chance(m, w.estimate())
    return voted * max(stays, max(x / y, (1 - x) / (1 - y)) * worst_ratio(m, v, w, t + 1))


def worst_delta(m: Thresh, v: Pseudocode, w: Pseudocode, p: Fraction, q: Fraction, t: int = 1) -> Fraction:
    """Largest sum of (P - Q)+ over transcripts, for adversaries who decide on each update by all that is before it."""
    if t > m.epochs:
        return max(p - q, Fraction(0))
    v, w, yes = v.copy(), w.copy(), yes_chance(m)
    first, second = v.vote(t), w.vote(t)
    branches = [(p, q)]
    if first != second:
        x, y = (yes, 1 - yes) if first else (1 - yes, yes)
        branches = [(p * x, q * y), (p * (1 - x), q * (1 - y))]
    updated = v.copy(), w.copy()
    x, y = (one_chance(m, user.estimate()) for user in updated)
    total = Fraction(0)
    for p, q in branches:
        stays = worst_delta(m, v, w, p, q, t + 1)
        one, zero = (p * x, q * y), (p * (1 - x), q * (1 - y))
        total += max(stays, sum((worst_delta(m, *updated, *bit, t + 1) for bit in (one, zero)), Fraction(0)))
    return total


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


def streams(m: Thresh) -> list[tuple[int, ...]]:
    return list(product(range(m.rounds + 1), repeat=m.epochs))


def test_the_toys_cover_exact_and_enclosed_budgets_of_every_kind() -> None:
    rigour = [account(m).epsilon(0).rigour for m in TOYS]
    assert min(rigour.count(Rigour.EXACT), rigour.count(Rigour.INTERVAL)) >= 5
    assert {m.common for m in TOYS} == {0, 1}
    assert {min(m.votes, 2) for m in TOYS} == {min(m.estimates, 2) for m in TOYS} == {0, 1, 2}
    assert max(account(m).epsilon(0).high for m in TOYS if account(m).epsilon(0).rigour is Rigour.EXACT) > 2


@pytest.mark.parametrize("m", [*TOYS[:20], *(pytest.param(m, marks=pytest.mark.slow) for m in TOYS[20:])], ids=str)
def test_epsilon_is_that_of_all_streams_all_updates_and_all_transcripts(m: Thresh) -> None:
    pairs = product([Pseudocode(m, stream) for stream in streams(m)], repeat=2)
    worst = max(worst_ratio(m, v, w) for v, w in pairs)
    with flint.ctx.workprec(256):
        truth = flint.arb(flint.fmpq(worst.numerator, worst.denominator)).log()
    found = account(m).epsilon(0)
    assert found.low <= truth <= found.high
    assert found.rigour is Rigour.INTERVAL or found.high - found.low <= 1e-15 * found.high
    if float(truth) >= found.high * (1 - 1e-12):
        assert found.rigour is Rigour.EXACT, "where the bound is attained, the pair that attains it is found"


@pytest.mark.parametrize("m", [m for m in TOYS if m.epochs <= 3][:10], ids=str)
def test_delta_is_that_of_all_streams_and_of_adversaries_who_adapt(m: Thresh) -> None:
    users = [Pseudocode(m, stream) for stream in streams(m)]
    # Streams of only ones and zeros an epoch, and some others; all pairs of these.
    users = [user for user in users if set(user.stream) <= {0, m.rounds}] + users[1::7]
    for ratio in (Fraction(1), Fraction(5, 4), Fraction(3)):
        worst = max(worst_delta(m, v, w, Fraction(1), ratio) for v, w in product(users, repeat=2))
        found = account(m).delta(math.log(ratio))
        assert found.low - 1e-12 <= worst <= found.high + 1e-12
        assert found.rigour is Rigour.INTERVAL or worst == pytest.approx(found.high, abs=1e-12)


@pytest.mark.parametrize("m", TOYS, ids=str)
def test_what_a_user_publishes_is_what_the_pseudocode_says(m: Thresh) -> None:
    rng = random.Random(str(m))
    for stream in rng.sample(streams(m), min(8, len(streams(m)))):
        updates = tuple(rng.randint(0, 1) for _ in stream)
        user, chances = Pseudocode(m, stream), list[Fraction]()
        for t, update in enumerate(updates, 1):
            yes = yes_chance(m)
            chances.append(yes if user.vote(t) else 1 - yes)
            chances.append(one_chance(m, user.estimate() if update else Fraction(0)))
        assert m.chances(Play(stream, updates)) == chances
        assert sum(p for _, p in m.law(Play(stream, updates)).items()) == 1


def whole_system(m: Thresh, data: np.ndarray[Any, Any], rng: np.random.Generator) -> list[float]:
    """Algorithm 1, line by line, with floats."""
    users = [Pseudocode(m, tuple(row.tolist())) for row in data]
    yes, published, current = float(yes_chance(m)), list[float](), -1.0
    high, low = float(one_chance(m, Fraction(1))), float(one_chance(m, Fraction(0)))
    for t in range(1, m.epochs + 1):
        votes = sum(rng.random() < (yes if user.vote(t) else 1 - yes) for user in users)
        if votes / len(users) > 1 - yes + float(m.levels.margin):
            bits = sum(rng.random() < float(one_chance(m, user.estimate())) for user in users)
            current = (bits / len(users) - low) / (high - low)
        published.append(current)
    return published


@pytest.mark.parametrize("noise", [(Fraction(2), Fraction(1)), (Fraction(3, 2), -HALF)])
def test_a_run_is_distributed_as_the_pseudocode_says(noise: tuple[Fraction, Fraction]) -> None:
    levels = Levels(*noise, Fraction(1, 20), Fraction(1, 10))
    m = Toy(20, epochs=4, rounds=3, epsilon=Fraction(16), delta=HALF, smallest=20, noise=levels)
    rng = np.random.default_rng(3)
    data = np.array([[3, 3, 0, 1]] * 9 + [[0, 0, 1, 3]] * 5 + [[2, 1, 3, 0]] * 6)
    theirs = np.round([whole_system(m, data, rng) for _ in range(300)], 9)
    ours = np.round([m.run(data, rng) for _ in range(300)], 9)
    for t in range(m.epochs):
        assert stats.ks_2samp(ours[:, t], theirs[:, t]).pvalue > 1e-4
        changed = [np.count_nonzero(x[:, t] != (x[:, t - 1] if t else -1)) for x in (ours, theirs)]
        assert abs(changed[0] - changed[1]) < 5 * math.sqrt(300 / 2)
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
        assert found.low <= truth.high
        assert truth.low <= found.high
        assert found.high - found.low <= 1e-12 * found.high


def test_what_is_no_input_is_refused() -> None:
    m: Mechanism = Thresh(10_000, 64, 23_500, Fraction(1, 4), Fraction(1, 20), 10_000)
    x = m.inputs[0]
    assert len(repr(x)) < 200
    short, two, negative = (x.stream, x.updates[1:]), (x.stream, (2, *x.updates[1:])), ((-1, *x.stream[1:]), x.updates)
    for wrong in (None, 3, x.stream, short, two, negative):
        with pytest.raises(ValueError, match="counts from 0 to 23500"):
            m.law(wrong)
    for data in ([], [[1] * 64], np.full((10_000, 64), 23_501)):
        with pytest.raises(ValueError, match="of 10000 users"):
            m.run(data, np.random.default_rng(0))


@pytest.mark.parametrize("change", [
    {"users": 0}, {"epochs": 0}, {"rounds": 0}, {"delta": Fraction(0)}, {"delta": Fraction(1)},
    {"epsilon": Fraction(0)}, {"smallest": 101}, {"smallest": 51, "subgroups": 2}, {"start": 1}, {"start": -2},
])  # fmt: skip
def test_parameters_outside_the_domain_are_refused(change: dict[str, Any]) -> None:
    sound: dict[str, Any] = {
        "users": 100, "epochs": 4, "rounds": 10, "epsilon": Fraction(1), "delta": HALF, "smallest": 50,
    }  # fmt: skip
    Thresh(**sound)
    with pytest.raises(ValueError, match="need"):
        Thresh(**{**sound, **change})


def test_an_epsilon_that_is_hundreds_of_newton_steps_away_is_found_in_seconds() -> None:
    start = time.perf_counter()
    m = Thresh(10**6, 1000, 10**6, Fraction(700), Fraction(1, 10**9), 10**6)
    for bound in (thresh.profile(m).low, thresh.profile(m).high):  # type: ignore[attr-defined]
        found = bound.epsilon(5e-324)
        assert bound.delta(found.high).high <= 5e-324 <= bound.delta(found.low * (1 - 1e-9)).high
        assert found.high < found.low * (1 + 1e-9)
    assert time.perf_counter() - start < 20  # seconds: four or five, and about a minute step by step
