"""HEAVYTHRESH's accountant against all streams, adversaries and transcripts of small machines."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import numpy as np
import pytest

from ldpaudit.enclosure import Rigour
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh
from ldpaudit.mechanisms.shared.voting.heavy_thresh import sentinel_needs
from ldpaudit.mechanisms.shared.voting.thresh import thresholds
from ldpaudit.mechanisms.shared.voting.thresh_worst_pair import Play
from tests.oracles.heavy_thresh import (
    Toy,
    ToyRepaired,
    User,
    account,
    estimate,
    histograms,
    signs,
    toy,
    vote,
    worst_ratio,
    yes_chance,
)

F = Fraction
HALF = F(1, 2)


def toys(number: int, seed: int) -> Iterator[HeavyThresh]:
    """Noise levels, budgets of no vote to all, thresholds from always to never exceeded, words that cancel."""
    rng = random.Random(seed)
    for index in range(number):
        kind = Toy if index % 3 else ToyRepaired
        a, b = F(rng.choice([1, 2, 3, 5, 8]), 8), F(rng.choice([1, 2, 3, 5, 8]), 8)
        rounds = rng.choice([1, 2, 2])
        yield toy(kind, rng.choice([2, 3, 3, 4]), rounds, F(rng.choice([2, 4, 5, 9]), 4),
                  (a, b, F(rng.choice([1, 3, 5, 7, 11, 17]), 34)), rng.choice([2, 3, 3]), rng.choice([1, 2, 4]),
                  rng.choice([-1, 0]), rng.randrange(50))  # fmt: skip


TOYS = list(toys(40, seed=2))




@pytest.mark.parametrize("m", TOYS, ids=str)
def test_epsilon_is_that_of_all_streams_all_updates_and_all_transcripts(m: HeavyThresh) -> None:
    truth, found = math.log(worst_ratio(m)), account(m).epsilon(0)
    slack = 1e-12 * max(1.0, found.high)
    assert found.low - slack <= truth <= found.high + slack
    if found.rigour is Rigour.EXACT:
        assert found.high - found.low <= 1e-15 * found.high


def test_the_toys_cover_exact_and_enclosed_budgets_of_every_kind() -> None:
    found = [account(m).epsilon(0) for m in TOYS]
    assert sum(e.rigour is Rigour.EXACT for e in found) >= 24
    assert sum(e.rigour is Rigour.INTERVAL for e in found) >= 3
    assert {m.common for m in TOYS} == {0, 1}
    assert {m.beginning.quiet is None for m in TOYS} == {True, False}
    assert {min(m.votes, 2) for m in TOYS} == {min(m.estimates, 2) for m in TOYS} == {0, 1, 2}
    assert max(e.high for e in found if e.rigour is Rigour.EXACT) > 1.5


def cancelling(kind: type[Any], epochs: int, noise: tuple[Fraction, Fraction], rows: int, domain: int, start: int) -> Any:
    """Two of the words have opposite signs in every row, so that half of each is silence."""
    for seed in range(2000):
        m = toy(kind, epochs, 2, F(1), (*noise, F(1, 34)), domain, rows, start, seed)
        apart = [m.public.differing(u, v) for u in range(domain) for v in range(u)]
        if max(apart) == rows and min(apart) > 0:
            return m
    raise AssertionError("no such seed")


TENTH = F(1, 10)


@pytest.mark.parametrize(
    ("kind", "epochs", "noise", "rows", "domain", "start", "value"),
    [
        (Toy, 8, (TENTH, TENTH), 4, 3, 0, 0.9),
        (Toy, 8, (TENTH, TENTH), 4, 3, -1, 0.7),
        (ToyRepaired, 8, (TENTH, TENTH), 4, 3, 0, 0.6),
        (Toy, 4, (TENTH, TENTH), 2, 3, -1, 0.6),
        (Toy, 5, (F(1, 5), F(3, 10)), 2, 3, -1, 0.7),
        (Toy, 5, (F(1, 5), F(3, 10)), 2, 3, 0, 1.1),
    ],
)
def test_small_machines_cost_what_the_formula_says(
    kind: type[Any], epochs: int, noise: tuple[Fraction, Fraction], rows: int, domain: int, start: int, value: float
) -> None:
    m = cancelling(kind, epochs, noise, rows, domain, start)
    found = account(m).epsilon(0)
    assert found.rigour is Rigour.EXACT
    assert found.high == pytest.approx(value, rel=1e-12)
    if epochs <= 5:
        assert math.log(worst_ratio(m)) == pytest.approx(value, rel=1e-12)


def test_where_the_first_estimate_would_have_to_be_of_a_quiet_stream_the_ends_enclose_it() -> None:
    m = cancelling(Toy, 4, (TENTH, TENTH), 2, 3, 0)
    found, truth = account(m).epsilon(0), math.log(worst_ratio(m))
    assert found.rigour is Rigour.INTERVAL
    assert found.low < truth < found.high


@pytest.mark.parametrize("m", [m for m in TOYS if m.epochs <= 3 and m.rows <= 2 and m.rounds == 1][:4], ids=str)
def test_no_transcript_of_any_two_streams_under_any_updates_is_likelier_by_more(m: HeavyThresh) -> None:
    streams = list(product(range(m.domain), repeat=m.epochs))
    worst = 1.0
    for updates in product((0, 1), repeat=m.epochs):
        tables = np.array([[float(p) for _, p in m.law(Play(stream, updates)).items()] for stream in streams])
        worst = max(worst, float((tables[:, None] / tables).max()))
    found = account(m).epsilon(0)
    assert found.low - 1e-12 <= math.log(worst) <= found.high + 1e-12
    assert worst_ratio(m) == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize("m", [m for m in TOYS if m.epochs <= 3 and m.rows <= 2][:8], ids=str)
def test_delta_is_that_of_all_streams_and_of_adversaries_who_adapt(m: HeavyThresh) -> None:
    for ratio in (F(1), F(5, 4), F(3)):
        worst = worst_delta(m, float(ratio))
        found = account(m).delta(math.log(ratio))
        assert found.low - 1e-12 <= worst <= found.high + 1e-12


def worst_delta(m: HeavyThresh, ratio: float) -> float:
    """Largest sum of (P - Q)+ over transcripts, for some pairs, and adversaries who decide by all that is before."""
    yes, rng = float(yes_chance(m)), random.Random(1)
    held = histograms(m.domain, m.rounds)
    pairs = [tuple([*rng.choices(held, k=m.epochs)] for _ in range(2)) for _ in range(20)]
    pairs.append(tuple([((x, m.rounds),) if isinstance(x, int) else x for x in play.stream] for play in m.inputs))

    def worst(v: User, w: User, one: Any, other: Any, p: float, q: float, t: int) -> float:
        if t > m.epochs:
            return max(p - q, 0.0)
        (first, v1), (second, w1) = vote(m, v, one[t - 1], t), vote(m, w, other[t - 1], t)
        branches = [(p, q)]
        if first != second:
            a, b = (yes, 1 - yes) if first else (1 - yes, yes)
            branches = [(p * a, q * b), (p * (1 - a), q * (1 - b))]
        (x, v2), (y, w2) = estimate(m, v1, one[t - 1]), estimate(m, w1, other[t - 1])
        rows = Counter(zip(map(float, signs(m, x)), map(float, signs(m, y)), strict=True))
        total = 0.0
        for p0, q0 in branches:
            stays = worst(v1, w1, one, other, p0, q0, t + 1)
            seen = [(n / m.rows * u, n / m.rows * s) for (c, d), n in rows.items() for u, s in ((c, d), (1 - c, 1 - d))]
            total += max(stays, sum(worst(v2, w2, one, other, p0 * u, q0 * s, t + 1) for u, s in seen))
        return total

    fresh = User.fresh(m)
    return max(worst(fresh, fresh, one, other, 1.0, ratio, 1) for one, other in pairs)


@pytest.mark.parametrize("m", TOYS[::3], ids=str)
def test_what_a_user_publishes_is_what_the_pseudocode_says(m: HeavyThresh) -> None:
    rng = random.Random(str(m))
    for _ in range(8):
        stream = tuple(rng.choices(histograms(m.domain, m.rounds), k=m.epochs))
        updates = tuple(rng.choices((0, 1), k=m.epochs))
        user, view, chance, law = User.fresh(m), list[int](), F(1), m.law(Play(stream, updates))
        for t, (held, update) in enumerate(zip(stream, updates, strict=True), 1):
            yes, user = vote(m, user, held, t)
            shown, row, sign = rng.randint(0, 1), rng.randrange(m.rows), rng.choice([-1, 1])
            chance *= yes_chance(m) if yes == bool(shown) else 1 - yes_chance(m)
            if update:
                x, user = estimate(m, user, held)
                plus = signs(m, x)[row]
                chance *= (plus if sign > 0 else 1 - plus) / m.rows
            view += [shown, row, sign] if update else [shown, -1, 0]
        assert law.probability(tuple(view)) == chance


def test_the_sentinel_is_compared_exactly() -> None:
    for rows, rounds, step, epochs in product((1, 2, 4, 7), (1, 3), (F(1, 7), F(3, 8), F(1), F(5, 4)), (2, 5, 8)):
        tops = thresholds(epochs, rounds, step)
        for t, need in enumerate(sentinel_needs(epochs, rounds, step, rows).tolist(), 1):
            threshold = tops[(t & -t).bit_length() - 1]
            with flint.ctx.workprec(256):
                edge = flint.arb(flint.fmpq(threshold.numerator, threshold.denominator)) - rounds * flint.arb(rows).sqrt()
                assert need > edge or need - 1 < edge
                assert not need <= edge - flint.arb("1e-60")
                assert need - 1 <= edge + flint.arb("1e-60")
