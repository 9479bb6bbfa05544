"""THRESH and HEAVYTHRESH: what they do, line by line, and what they cost, against all transcripts, streams and adversaries."""

import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import flint
import numpy as np
import pytest
from scipy import stats

from ldpaudit import Enclosure, PrivacyProfile, Rigour, Unsupported
from ldpaudit.accountants import heavy_thresh, thresh
from ldpaudit.accountants.bassily_smith import seen
from ldpaudit.accountants.composition.coins import TwoCoins
from ldpaudit.accountants.pld.exact import ExactPLD, product as enumerated
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.mechanisms import HeavyThresh, HeavyThreshRepaired, Thresh
from ldpaudit.mechanisms.shared.voting.heavy_thresh import extremes, sentinel_needs
from ldpaudit.mechanisms.shared.voting.heavy_thresh_worst_pair import _are_few
from ldpaudit.mechanisms.shared.voting.thresh import Levels, thresholds
from ldpaudit.mechanisms.shared.voting.thresh_groups import Counts, Group
from ldpaudit.mechanisms.shared.voting.thresh_worst_pair import Play
from tests.helpers import at_most, raises
from tests.oracles import voting
from tests.oracles.voting import HALF
from tests.samples import meet


def toys(number: int, seed: int) -> list[Thresh]:
    """Noise levels of both signs, budgets of no vote to all, thresholds from always to never exceeded."""
    rng, found = random.Random(seed), list[Thresh]()
    for index in range(number):
        kind = voting.Toy if index % 3 else voting.ToyRepaired
        epochs = rng.choice([1, 2, 3, 3, 4])
        least = 1 if kind is voting.ToyRepaired else -2
        a, b = (Fraction(rng.choice([k for k in range(least, 9) if k]), 8) for _ in range(2))
        step = Fraction(rng.choice([1, 2, 3, 5, 9]), 16)
        found.append(kind(
            2, epochs, rounds=1 if epochs == 4 else 2, epsilon=Fraction(rng.choice([2, 5, 9, 16]), 4), delta=HALF,
            smallest=2, start=rng.choice([-1, -1, 0]), noise=Levels(a, b, step, HALF),
        ))  # fmt: skip
    return found


TOYS = toys(45, seed=5)


def account(m: Any) -> PrivacyProfile:
    """The accountant itself: a toy redefines the noise levels, so that it is asked by name."""
    return heavy_thresh.profile(m) if isinstance(m, HeavyThresh) else thresh.profile(m)


def test_the_toys_cover_exact_and_enclosed_budgets_of_every_kind() -> None:
    rigour = [account(m).epsilon(0).rigour for m in TOYS]
    assert min(rigour.count(Rigour.EXACT), rigour.count(Rigour.INTERVAL)) >= 5
    assert {m.common for m in TOYS} == {0, 1}
    assert {min(m.votes, 2) for m in TOYS} == {min(m.estimates, 2) for m in TOYS} == {0, 1, 2}
    assert max(account(m).epsilon(0).high for m in TOYS if account(m).epsilon(0).rigour is Rigour.EXACT) > 2


def streams(m: Thresh) -> list[tuple[int, ...]]:
    return list(product(range(m.rounds + 1), repeat=m.epochs))


@pytest.mark.parametrize("m", TOYS, ids=str)
def test_what_a_user_publishes_is_what_the_pseudocode_says(m: Thresh) -> None:
    rng, yes = random.Random(str(m)), voting.yes_chance(m)
    for stream in rng.sample(streams(m), min(8, len(streams(m)))):
        updates = tuple(rng.randint(0, 1) for _ in stream)
        user, chances = voting.User.fresh(m), list[Fraction]()
        for t, (held, update) in enumerate(zip(stream, updates, strict=True), 1):
            said, user = voting.vote(m, user, held, t)
            sent, user = voting.estimate(m, user, held) if update else ((Fraction(0),), user)
            chances += [yes if said else 1 - yes, *voting.plus(m, sent)]
        assert m.chances(Play(stream, updates)) == chances
        assert sum(p for _, p in m.law(Play(stream, updates)).items()) == 1


def whole_system(m: Any, epochs: Any, told: Callable[[Any], Any], read: Callable[[Any], Any], rng: np.random.Generator) -> Any:
    """Algorithm 1, line by line, with floats: what users hold in each epoch, what a report tells, what is read of the mean."""
    users = [voting.User.fresh(m) for _ in epochs[0]]
    yes, published, current = float(voting.yes_chance(m)), [], 0 * read(0.0) - 1
    for t, held in enumerate(epochs, 1):
        votes, total = 0, 0.0
        for i, user in enumerate(users):
            said, users[i] = voting.vote(m, user, held[i], t)
            votes += rng.random() < (yes if said else 1 - yes)
        if votes / len(users) > 1 - yes + float(m.levels.margin):
            for i, user in enumerate(users):
                sent, users[i] = voting.estimate(m, user, held[i])
                total = total + told(sent)
            current = read(total / len(users))
        published.append(current)
    return published


RUNS = 120
"""Runs of whole systems; the limits below are of this number."""


@pytest.mark.parametrize("noise", [(Fraction(2), Fraction(1)), pytest.param((Fraction(3, 2), -HALF), marks=pytest.mark.slow)])
def test_a_run_is_distributed_as_the_pseudocode_says(noise: tuple[Fraction, Fraction]) -> None:
    levels = Levels(*noise, Fraction(1, 20), Fraction(1, 10))
    m = voting.Toy(20, epochs=4, rounds=3, epsilon=Fraction(16), delta=HALF, smallest=20, noise=levels)
    rng = np.random.default_rng(3)
    data = np.array([[3, 3, 0, 1]] * 9 + [[0, 0, 1, 3]] * 5 + [[2, 1, 3, 0]] * 6)
    low, high = (float(voting.plus(m, (Fraction(mean),))[0]) for mean in (0, 1))

    def told(sent: Any) -> bool:
        return rng.random() < float(voting.plus(m, sent)[0])

    system = partial(whole_system, m, data.T.tolist(), told, lambda mean: (mean - low) / (high - low), rng)
    theirs = np.round([system() for _ in range(RUNS)], 9)
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
    m = voting.Toy(40, 3, rounds=2, epsilon=Fraction(40), delta=HALF, smallest=40, noise=noise)
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
    with at_most(20, time.process_time):  # seconds: four or five, and about a minute step by step
        m = Thresh(10**6, 1000, 10**6, Fraction(700), Fraction(1, 10**9), 10**6)
        bound = getattr(thresh.profile(m), end)
        found = bound.epsilon(5e-324)
        assert bound.delta(found.high).high <= 5e-324 <= bound.delta(found.low * (1 - 1e-9)).high
        assert found.high < found.low * (1 + 1e-9)


FEW = Levels(Fraction(3), Fraction(2), Fraction(1, 20), Fraction(1, 8))
"""Few users vote in part of the epochs."""
MEANS = np.array([[0.3, 0.3], [0.5, 0.3], [0.5, 0.8], [0.4, 0.8], [0.0, 1.0], [0.5, 0.5]])


@pytest.mark.parametrize("m", [
    pytest.param(voting.Toy(40, 6, 12, Fraction(30), HALF, 10, noise=FEW), marks=pytest.mark.slow),
    voting.Toy(40, 6, 12, Fraction(8), HALF, 10, start=0, noise=FEW),
], ids=str)
def test_users_of_a_group_publish_in_law_what_they_do_one_by_one(m: voting.Toy) -> None:
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


F = Fraction


def heavy_toys(number: int, seed: int) -> Iterator[HeavyThresh]:
    """Noise levels, budgets of no vote to all, thresholds from always to never exceeded, words that cancel."""
    rng = random.Random(seed)
    for index in range(number):
        kind = voting.HeavyToy if index % 3 else voting.HeavyToyRepaired
        a, b = F(rng.choice([1, 2, 3, 5, 8]), 8), F(rng.choice([1, 2, 3, 5, 8]), 8)
        rounds = rng.choice([1, 2, 2])
        yield voting.heavy_toy(kind, rng.choice([2, 3, 3, 4]), rounds, F(rng.choice([2, 4, 5, 9]), 4),
                  (a, b, F(rng.choice([1, 3, 5, 7, 11, 17]), 34)), rng.choice([2, 3, 3]), rng.choice([1, 2, 4]),
                  rng.choice([-1, 0]), rng.randrange(50))  # fmt: skip


SHORT = [
    voting.heavy_toy(voting.HeavyToyRepaired, epochs, rounds, F(4), (HALF, b, step), 2, 2, 0)
    for epochs, rounds, b, step in (
        (3, 5, F(3, 8), F(1, 4)), (3, 4, HALF, F(3, 10)), (2, 6, HALF, F(13, 20)), (3, 2, HALF, F(1, 9)),
    )
]
"""Two votes and reports in few epochs, of two columns; of the last one, both streams vote first, and counters hide moves."""
HEAVY = [*heavy_toys(40, seed=2), *SHORT]


@pytest.mark.parametrize("m", [*TOYS, *HEAVY], ids=str)
def test_epsilon_is_that_of_all_streams_all_updates_and_all_transcripts(m: Any) -> None:
    with flint.ctx.workprec(256):
        truth = flint.arb(flint.fmpq(*voting.worst_ratio(m).as_integer_ratio())).log()
    found = account(m).epsilon(0)
    slack = 1e-12 * max(1.0, found.high) if m in HEAVY else 0.0  # whose coins are rounded
    assert found.low - slack <= truth <= found.high + slack
    assert found.rigour is Rigour.INTERVAL or found.high - found.low <= 1e-15 * found.high
    if m in TOYS and float(truth) >= found.high * (1 - 1e-12):
        assert found.rigour is Rigour.EXACT, "where the bound is attained, the pair that attains it is found"


def pairs_of(m: Any) -> Any:
    """Pairs of some streams: of only zeros and ones an epoch, and others; of histograms also the pair that is named."""
    if m in TOYS:
        return product([stream for stream in streams(m) if set(stream) <= {0, m.rounds}] + streams(m)[1::7], repeat=2)
    held, rng = voting.histograms(m.domain, m.rounds), random.Random(1)
    pairs = [tuple([*rng.choices(held, k=m.epochs)] for _ in range(2)) for _ in range(8)]
    named = tuple([((x, m.rounds),) if isinstance(x, int) else x for x in play.stream] for play in m.inputs)
    return [*pairs, named, named[::-1]]


FEW_EPOCHS = [m for m in TOYS if m.epochs <= 3][:6] + [m for m in HEAVY if m.epochs <= 3 and m.rows <= 2][:8] + SHORT


@pytest.mark.parametrize("m", FEW_EPOCHS, ids=str)
def test_delta_is_that_of_all_streams_and_of_adversaries_who_adapt(m: Any) -> None:
    for ratio in (F(1), F(5, 4), F(3)):
        worst = max(voting.worst_delta(m, one, other, ratio) for one, other in pairs_of(m))
        found = account(m).delta(math.log(ratio))
        assert found.low - 1e-12 <= worst <= found.high + 1e-12
        assert m in HEAVY or found.rigour is Rigour.INTERVAL or worst == pytest.approx(found.high, abs=1e-12)


def test_the_toys_of_histograms_cover_exact_and_enclosed_budgets_of_every_kind() -> None:
    found = [account(m).epsilon(0) for m in HEAVY]
    assert sum(e.rigour is Rigour.EXACT for e in found) >= 24
    assert sum(e.rigour is Rigour.INTERVAL for e in found) >= 3
    assert {m.common for m in HEAVY} == {0, 1}
    assert {m.beginning.quiet is None for m in HEAVY} == {True, False}
    assert {min(m.votes, 2) for m in HEAVY} == {min(m.estimates, 2) for m in HEAVY} == {0, 1, 2}
    assert max(e.high for e in found if e.rigour is Rigour.EXACT) > 1.5


def test_a_vote_and_an_estimate_in_one_epoch_cost_less_than_in_two() -> None:
    found = [account(m).epsilon(0) for m in SHORT]
    spent = [float(2 * m.a + 2 * m.b) for m in SHORT]
    assert [e.high < most * 0.96 for e, most in zip(found, spent, strict=True)] == [True, True, True, False]
    assert [e.low >= 0.95 * e.high for e in found] == [True, True, True, False]


def test_a_first_threshold_that_no_histogram_exceeds_tells_no_vote() -> None:
    """Three epochs of 300 samples: a first vote would need a row sum of 391, two votes 782 of two histograms."""
    m = HeavyThreshRepaired(2_000, 3, 300, F(3), F(1, 20), 2_000, domain=3, start=0, rows=4)
    assert (m.changes > m.rounds).tolist() == [True, False, True]
    theta = float(2 * m.estimate_coin - 1)
    farthest = math.log1p(theta * (1 - 196 / 300)) - math.log1p(-theta)  # of a report 98 samples from the other one
    found = account(m).epsilon(0)
    assert found.high == pytest.approx(float(2 * m.a + m.b) + farthest, rel=1e-9)
    assert found.high - found.low <= 1e-12
    # Two of one sample are 3 apart in no row.
    few = voting.heavy_toy(voting.HeavyToy, 3, 1, F(5, 4), (F(1, 4), F(3, 8), F(5, 4)), 2, 2, 0)
    assert few.changes.tolist() == [6, 3, 6]
    assert account(few).epsilon(0).high == pytest.approx(math.log(voting.worst_ratio(few)), rel=1e-12)


def cancelling(kind: type[Any], epochs: int, noise: tuple[Fraction, Fraction], rows: int, domain: int, start: int) -> Any:
    """Two of the words have opposite signs in every row, so that half of each is silence."""
    for seed in range(2000):
        m = voting.heavy_toy(kind, epochs, 2, F(1), (*noise, F(1, 34)), domain, rows, start, seed)
        apart = [m.public.differing(u, v) for u in range(domain) for v in range(u)]
        if max(apart) == rows and min(apart) > 0:
            return m
    raise AssertionError("no such seed")


TENTH = F(1, 10)


@pytest.mark.parametrize(("kind", "epochs", "noise", "rows", "domain", "start", "value"), [
    (voting.HeavyToy, 8, (TENTH, TENTH), 4, 3, 0, 0.9),
    (voting.HeavyToy, 8, (TENTH, TENTH), 4, 3, -1, 0.7),
    (voting.HeavyToyRepaired, 8, (TENTH, TENTH), 4, 3, 0, 0.6),
    (voting.HeavyToy, 4, (TENTH, TENTH), 2, 3, -1, 0.6),
    (voting.HeavyToy, 5, (F(1, 5), F(3, 10)), 2, 3, -1, 0.7),
    (voting.HeavyToy, 5, (F(1, 5), F(3, 10)), 2, 3, 0, 1.1),
])  # fmt: skip
def test_small_machines_cost_what_the_formula_says(
    kind: type[Any], epochs: int, noise: tuple[Fraction, Fraction], rows: int, domain: int, start: int, value: float
) -> None:
    m = cancelling(kind, epochs, noise, rows, domain, start)
    found = account(m).epsilon(0)
    assert found.rigour is Rigour.EXACT
    assert found.high == pytest.approx(value, rel=1e-12)
    if epochs <= 5:
        assert math.log(voting.worst_ratio(m)) == pytest.approx(value, rel=1e-12)


def test_where_the_first_estimate_would_have_to_be_of_a_quiet_stream_the_ends_enclose_it() -> None:
    m = cancelling(voting.HeavyToy, 4, (TENTH, TENTH), 2, 3, 0)
    found, truth = account(m).epsilon(0), math.log(voting.worst_ratio(m))
    assert found.rigour is Rigour.INTERVAL
    assert found.low < truth < found.high


@pytest.mark.parametrize("m", [m for m in HEAVY if m.rounds == 1 and m.rows <= 2 and m.domain**m.epochs < 27][:4], ids=str)
def test_no_transcript_of_any_two_streams_under_any_updates_is_likelier_by_more(m: HeavyThresh) -> None:
    streams = list(product(range(m.domain), repeat=m.epochs))
    worst = 1.0
    for updates in product((0, 1), repeat=m.epochs):
        tables = np.array([[float(p) for _, p in m.law(Play(stream, updates)).items()] for stream in streams])
        worst = max(worst, float((tables[:, None] / tables).max()))
    found = account(m).epsilon(0)
    assert found.low - 1e-12 <= math.log(worst) <= found.high + 1e-12
    assert voting.worst_ratio(m) == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize("m", HEAVY[::3], ids=str)
def test_what_a_user_of_histograms_publishes_is_what_the_pseudocode_says(m: HeavyThresh) -> None:
    rng = random.Random(str(m))
    for _ in range(8):
        stream = tuple(rng.choices(voting.histograms(m.domain, m.rounds), k=m.epochs))
        updates = tuple(rng.choices((0, 1), k=m.epochs))
        user, view, chance, law = voting.User.fresh(m), list[int](), F(1), m.law(Play(stream, updates))
        for t, (held, update) in enumerate(zip(stream, updates, strict=True), 1):
            yes, user = voting.vote(m, user, held, t)
            shown, row, sign = rng.randint(0, 1), rng.randrange(m.rows), rng.choice([-1, 1])
            chance *= voting.yes_chance(m) if yes == bool(shown) else 1 - voting.yes_chance(m)
            if update:
                x, user = voting.estimate(m, user, held)
                up = voting.plus(m, x)[row]
                chance *= (up if sign > 0 else 1 - up) / m.rows
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


@pytest.mark.parametrize(("m", "value", "rigour"), [
    (LARGE, 0.157583, Rigour.EXACT),
    (replace(LARGE, start=-1), 0.041488, Rigour.EXACT),
    (LARGER, 0.779371, Rigour.EXACT),
    # Whether a thousand words cancel in each of 2e7 rows is not decided.
    (replace(LARGER, start=0), 0.815545, Rigour.INTERVAL),
])  # fmt: skip
def test_printed_parameters_cost_what_two_votes_and_estimates_more_or_less_do(m: HeavyThresh, value: float, rigour: Rigour) -> None:
    found = account(m).epsilon(0)
    assert (round(found.high, 6), found.rigour) == (value, rigour)
    assert found.low == pytest.approx(value if rigour is Rigour.EXACT else 0.779371, abs=1e-6)


def test_a_pair_s_profile_is_that_of_its_bits_and_of_reports_that_are_seldom_seen() -> None:
    p = F(math.exp(0.1) / (math.exp(0.1) + 1))
    found = heavy_thresh.transcript(p, 6, [(seen(p, HALF), 3)], 3)
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


@pytest.mark.few(2)
@pytest.mark.parametrize(("start", "rows", "noise"), [(-1, 4, (2, 1)), (0, 40, (2, 1)), (-1, 1, (2, 1)), (0, 4, (1, 4))])
def test_a_run_of_histograms_is_distributed_as_the_pseudocode_says(start: int, rows: int, noise: tuple[int, int]) -> None:
    levels = Levels(F(noise[0]), F(noise[1]), F(1, 20), TENTH)
    m = voting.HeavyToy(20, 4, 3, F(16), HALF, 20, 3, 1, start, rows, 1, levels)
    rng = np.random.default_rng(3)
    kinds = [[3, 0, 0], [0, 3, 0], [1, 1, 1], [0, 1, 2]]
    data = np.array([[kinds[k] for k in ks] for ks in [(0, 0, 1, 2)] * 9 + [(1, 1, 3, 0)] * 5 + [(3, 2, 0, 1)] * 6])
    columns = m.public.signs(np.arange(m.rows)[:, None], np.arange(m.domain))
    epochs = [[tuple((v, int(c)) for v, c in enumerate(row[t]) if c) for row in data] for t in range(m.epochs)]

    def told(sent: Any) -> Any:
        j = int(rng.integers(m.rows))
        return (1 if rng.random() < float(voting.plus(m, (sent[j],))[0]) else -1) * columns[j]

    system = partial(whole_system, m, epochs, told, lambda mean: mean / float(2 * m.estimate_coin - 1) * np.ones(m.domain), rng)
    theirs = np.round([system() for _ in range(100)], 9)
    ours = np.round([m.run(data.transpose(1, 0, 2), rng) for _ in range(100)], 9)
    for t, v in product(range(m.epochs), range(3)):
        assert stats.ks_2samp(ours[:, t, v], theirs[:, t, v]).pvalue > 1e-4
    changed = [np.count_nonzero(np.diff(x[:, :, 0], axis=1)) for x in (ours, theirs)]
    assert abs(changed[0] - changed[1]) < 5 * math.sqrt(300 / 2)
    assert m.truth(data.transpose(1, 0, 2))[0] == pytest.approx(np.array([27 + 0, 15 + 6, 12]) / 60)


def test_the_centre_makes_of_transcripts_of_histograms_what_a_run_publishes() -> None:
    m = voting.HeavyToy(40, 3, 2, F(40), HALF, 40, 3, 1, -1, 64, 0, Levels(HALF, HALF, F(1, 8), F(1, 18)))
    views = np.zeros((40, 3, 3), dtype=np.int64)
    views[:, :, 1] = -1
    no = float(1 - m.vote_coin)
    enough = math.floor(40 * (no + 1 / 18)) + 1
    views[: enough - 1, 0, 0] = views[:enough, 1, 0] = 1
    rows, told = np.arange(40), np.where(np.arange(40) % 3 == 0, -1, 1)
    views[:, 1, 1], views[:, 1, 2] = rows, told
    second = told @ m.public.signs(rows[:, None], np.arange(3)) / 40 / float(2 * m.estimate_coin - 1)
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


def test_histograms_are_rows_or_pairs_and_matrices_beyond_memory_are_refused() -> None:
    m = HeavyThresh(10_000, 4, 3, F(1), F(1, 20), 10_000, domain=5)
    good = (0, 1, ((0, 1), (4, 2)), [[2, 3]])
    m.require_input((good, (0, 1, 0, 1)))
    raises(Unsupported, "every sign of the matrix", LARGER.run, [], np.random.default_rng(0))


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
    assert np.abs(found - m.truth(data)).max() < 0.12
    assert np.abs(found[-1] - found[0]).max() > 0.15


@pytest.mark.slow
def test_a_thousand_epochs_of_a_hundred_thousand_users_take_less_than_two_minutes() -> None:
    m = HeavyThresh(10**5, 1000, 10_000, F(4), F(1, 20), 10**5, domain=8)
    with at_most(120, time.process_time):
        found = m.run((np.random.default_rng(t).multinomial(10_000, np.ones(8) / 8, 10**5) for t in range(1000)),
                      np.random.default_rng(1))  # fmt: skip
        assert found.shape == (1000, 8)


def test_whether_histograms_are_few_is_known_without_their_number() -> None:
    for rounds, domain in product((1, 2, 5, 40), (2, 3, 9, 100)):
        number = math.comb(rounds + domain - 1, domain - 1)
        assert [_are_few(rounds, domain, most) for most in (number - 1, number, number + 1)] == [False, True, True]
    # The number itself has 600,000 digits, and takes minutes.
    assert not _are_few(10**6, 10**6, 1 << 10)
