"""HEAVYTHRESH: what it does, line by line, and its accountant against all streams, adversaries and transcripts."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import flint
import numpy as np
import pytest
from scipy import stats

from ldpaudit.accountants import heavy_thresh
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.exact import product as enumerated
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms._heavy import Histogram, extremes, sentinel_needs
from ldpaudit.mechanisms._thresh import Levels, thresholds
from ldpaudit.mechanisms._thresh_pair import Play
from ldpaudit.mechanisms.heavy_thresh import HeavyThresh, HeavyThreshRepaired
from ldpaudit.profile import PrivacyProfile

F = Fraction
HALF = F(1, 2)
HALVES = Levels(HALF, HALF, HALF, HALF)


@dataclass(frozen=True)
class Toy(HeavyThresh):
    """Thresholds and noise levels that are chosen: printed ones need hundreds of rounds, too many for enumeration."""

    noise: Levels = HALVES

    @property
    def levels(self) -> Levels:
        return self.noise


@dataclass(frozen=True)
class ToyRepaired(HeavyThreshRepaired):
    noise: Levels = HALVES

    @property
    def levels(self) -> Levels:
        return self.noise


def toy(kind: type[Any], epochs: int, rounds: int, epsilon: Fraction, noise: tuple[Fraction, Fraction, Fraction],
        domain: int, rows: int, start: int, seed: int = 0) -> Any:  # fmt: skip
    return kind(2, epochs, rounds, epsilon, HALF, 2, domain, 1, start, rows, seed, Levels(*noise, HALF))


def account(m: HeavyThresh) -> PrivacyProfile:
    """The accountant itself: a toy redefines the noise levels, so that it is asked by name."""
    return heavy_thresh.profile(m)


@cache
def floats(m: HeavyThresh, held: Histogram) -> tuple[float, ...]:
    return tuple(map(float, column(m, held)))


@cache
def histograms(domain: int, rounds: int) -> list[Histogram]:
    held = (Counter(each) for each in combinations_with_replacement(range(domain), rounds))
    return [tuple(sorted(each.items())) for each in held]


class User(NamedTuple):
    """One user, line by line; the counters are what was spent. The reference is a vector, times the root of w."""

    reference: tuple[float, ...]
    votes_spent: Fraction = F(0)
    estimates_spent: Fraction = F(0)

    @classmethod
    def fresh(cls, m: HeavyThresh) -> User:
        return cls(tuple(m.start * math.sqrt(m.rows) for _ in range(m.rows)))


@cache
def column(m: HeavyThresh, held: Histogram) -> tuple[Fraction, ...]:
    """Phi p, times the root of w."""
    return tuple(F(sum(c * int(m.public.signs(j, v)) for v, c in held), m.rounds) for j in range(m.rows))


def allows(m: HeavyThresh, counter: Fraction, level: Fraction) -> bool:
    return counter + level <= m.epsilon / 4 if isinstance(m, HeavyThreshRepaired) else counter < m.epsilon / 4


def vote(m: HeavyThresh, user: User, held: Histogram, t: int) -> tuple[bool, User]:
    top = math.floor(math.log2(m.epochs))
    apart = max(abs(x - r) for x, r in zip(floats(m, held), user.reference, strict=True))
    exceeded = [b for b in range(-1, top + 1) if apart > 2 * (b + 1) * float(m.levels.step)]
    yes = bool(exceeded) and allows(m, user.votes_spent, m.a) and t % 2 ** (top - max(exceeded)) == 0
    return yes, user._replace(votes_spent=user.votes_spent + m.a) if yes else user


def estimate(m: HeavyThresh, user: User, held: Histogram) -> tuple[tuple[Fraction, ...], User]:
    """What is reported of: a vector of zeros without budget."""
    user = user._replace(reference=floats(m, held))
    if not allows(m, user.estimates_spent, m.b):
        return (F(0),) * m.rows, user
    return column(m, held), user._replace(estimates_spent=user.estimates_spent + m.b)


def yes_chance(m: HeavyThresh) -> Fraction:
    """``e**a / (e**a + 1)``."""
    return m.vote_coin if m.a > 0 else 1 - m.vote_coin


def signs(m: HeavyThresh, x: tuple[Fraction, ...]) -> list[Fraction]:
    """Probability of +1 in each row, ``(1 + root(w) x_j tanh(b/2)) / 2``."""
    return [(1 + entry * (2 * m.estimate_coin - 1)) / 2 for entry in x]


def report_ratio(m: HeavyThresh, x: tuple[Fraction, ...], y: tuple[Fraction, ...]) -> float:
    pairs = list(zip(signs(m, x), signs(m, y), strict=True))
    return float(max(max(p / q, (1 - p) / (1 - q)) for p, q in pairs))


def worst_ratio(m: HeavyThresh) -> float:
    """Largest likelihood ratio over all pairs of streams, all updates and all that may be published."""
    yes = float(yes_chance(m))
    coin = max(yes / (1 - yes), (1 - yes) / yes)
    ratio = cache(lambda x, y: report_ratio(m, x, y))

    @cache
    def worst(v: User, w: User, t: int) -> float:
        if t > m.epochs:
            return 1.0
        found = 0.0
        for (first, v1, x, v2), (second, w1, y, w2) in product(moves(v, t), moves(w, t)):
            rest = max(worst(v1, w1, t + 1), ratio(x, y) * worst(v2, w2, t + 1))
            found = max(found, (coin if first != second else 1.0) * rest)
        return found

    @cache
    def moves(user: User, t: int) -> list[tuple[bool, User, tuple[Fraction, ...], User]]:
        found = []
        for held in histograms(m.domain, m.rounds):
            said, after = vote(m, user, held, t)
            found.append((said, after, *estimate(m, after, held)))
        return found

    return worst(User.fresh(m), User.fresh(m), 1)


def toys(number: int, seed: int) -> Iterator[HeavyThresh]:
    """Noise levels of both signs, budgets of no vote to all, thresholds from always to never exceeded, words that cancel."""
    rng = random.Random(seed)
    for index in range(number):
        kind = Toy if index % 3 else ToyRepaired
        a, b = F(rng.choice([1, 2, 3, 5, 8]), 8), F(rng.choice([1, 2, 3, 5, 8]), 8)
        if kind is Toy and index % 7 == 1:
            a = -a
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
    assert m.least_rows == pytest.approx(20698.6, abs=0.05)


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
    with pytest.raises(Unsupported, match="all signs of the matrix"):
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


def test_the_repaired_one_refuses_noise_that_is_not_positive() -> None:
    with pytest.raises(ValueError, match="needs a > 0"):
        HeavyThreshRepaired(2_000, 2, 100, F(1), F(1, 20), 100, domain=2)


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
