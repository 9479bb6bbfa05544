"""Shuffled count-min: its accountant against the pseudocode played out, the system end to end, what its paper prints."""

import math
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import flint
import numpy as np
import pytest
from scipy import stats

from ldpaudit import Neighbours, Rigour, Unsupported, account, literature
from ldpaudit.accountants.claims import shuffled_count_min as sentences
from ldpaudit.accountants.claims.sentence import Printed
from ldpaudit.accountants.counting.count_min import added, largest, replaced, worst_added, worst_replaced
from ldpaudit.accountants.counting.counter import NoisyCounter
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.derivation import proofs_of
from ldpaudit.mechanisms import OneSidedShuffledCountMin, ShuffledCountMin
from ldpaudit.mechanisms.shuffled_count_min import Held
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.studies.literature import measure
from tests.oracles.shuffle import law_of
from tests.samples import SEEDED_LEVEL, meet, same_law

F = Fraction
EPSILONS = (0.0, 0.1, 0.7, 2.0)

Table = dict[tuple[int, ...], Fraction]


def played(m: ShuffledCountMin, data: tuple[Held | None, ...]) -> Table:
    """Law of how often each cell was sent: Algorithm 2, user by user, coin by coin."""
    places = list(product(range(m.rows), range(m.buckets)))
    law: Table = {(0,) * len(places): F(1)}
    for held in data:
        if held is None:
            continue
        own = [(t, int(m.hashes(x, t))) for x in ((held,) if isinstance(held, int) else held) for t in range(m.rows)]
        law = {tuple(c + own.count(place) for c, place in zip(y, places, strict=True)): p for y, p in law.items()}
        for i in range(len(places)):
            coin = ((0, 1 - m.gamma), (1, m.gamma))
            law = law_of(((*y[:i], y[i] + up, *y[i + 1 :]), p * q) for y, p in law.items() for up, q in coin)
    return law


def pair_of(there: Table, back: Table) -> ExactPLD:
    return ExactPLD.of((there.get(y, F(0)), back.get(y, F(0))) for y in there.keys() | back.keys())


TINY = (
    ShuffledCountMin(1, 3, 1, 2, F(1, 3)), ShuffledCountMin(6, 4, 1, 2, F(1, 4)), ShuffledCountMin(5, 3, 1, 3, F(2, 3)),
    ShuffledCountMin(3, 5, 2, 2, F(2, 5), seed=1), ShuffledCountMin(3, 4, 1, 2, F(1, 3), held=2),
    ShuffledCountMin(2, 4, 1, 3, F(3, 5), held=2, seed=2),
)


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=str)
@pytest.mark.parametrize("m", TINY, ids=str)
def test_the_accountant_is_what_the_pseudocode_costs(m: ShuffledCountMin, relation: Neighbours) -> None:
    held = list(m.inputs)
    others = tuple(held[i % len(held)] for i in range(m.users - 1))
    laws = {x: played(m, (x, *others)) for x in [*held, None]}
    inputs = [(x, y) for x in held for y in held if x != y] if relation == REPLACE_ONE else [(x, None) for x in held]
    pairs = {pair_of(*order) for x, y in inputs for order in ((laws[x], laws[y]), (laws[y], laws[x]))}
    truth, profile = FiniteProfile(tuple(pairs), "played"), account(m, relation)
    for epsilon in EPSILONS:
        found, exact = profile.delta(epsilon), truth.delta(epsilon)
        assert meet(found, exact)
        if relation == REPLACE_ONE or m.held == 1:
            assert found.rigour is Rigour.EXACT
            assert found.high <= exact.high * (1 + 1e-12)


def test_what_the_other_users_hold_does_not_matter() -> None:
    m = ShuffledCountMin(3, 4, 1, 2, F(1, 3), held=2)
    laws = ((played(m, ((0, 1), *others)), played(m, ((2,), *others))) for others in product([(), (0,), (2, 3)], repeat=2))
    assert len({FiniteProfile((pair_of(there, back),), "").delta(0.3).high for there, back in laws}) == 1


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE], ids=str)
@pytest.mark.parametrize(("n", "gamma"), [(3, F(1, 5)), (4, F(1, 2)), (3, F(9, 10))])
def test_no_hash_functions_cost_more_than_those_that_collide(n: int, gamma: Fraction, relation: Neighbours) -> None:
    worst = worst_replaced(n, gamma, 3, 1) if relation == REPLACE_ONE else worst_added(n, gamma, 3, 1, 4)
    for up, down in product([cells for cells in product(range(4), repeat=2) if sum(cells) <= 3], repeat=2):
        moves = Counter([*up, *(-d for d in down)])
        if relation == ADD_REMOVE:
            moves = Counter(up)
        shifts = tuple((shift, times) for shift, times in moves.items() if shift)
        pairs = replaced(n, gamma, shifts) if relation == REPLACE_ONE else added(n, gamma, shifts, 4)
        if not shifts:
            continue
        found = largest(n, gamma, pairs)
        for epsilon in EPSILONS:
            assert found.delta(epsilon).low <= worst.delta(epsilon).high * (1 + 1e-12)


@pytest.mark.slow
def test_a_trillion_users_are_accounted_down_to_1e_minus_300() -> None:
    m = ShuffledCountMin.as_printed(1, F(1, 10**300), 10**12, 2**20)
    found = account(m).epsilon(1e-300)
    assert 0.045 < found.low < found.high < found.low * 1.001
    assert account(m).delta(found.high).low <= 1e-300


def literal(m: ShuffledCountMin, data: list[int], values: list[int], rng: np.random.Generator) -> list[float]:
    """Algorithm 2, message by message."""
    seen: Counter[tuple[int, int]] = Counter()
    for x in data:
        seen.update((t, int(m.hashes(x, t))) for t in range(m.rows))
        coins = rng.random((m.rows, m.buckets)) < float(m.gamma)
        seen.update(zip(*(part.tolist() for part in np.nonzero(coins)), strict=True))
    return [min(seen[t, int(m.hashes(v, t))] for t in range(m.rows)) - float(m.gamma * m.users) for v in values]


def test_a_run_has_the_law_of_the_pseudocode() -> None:
    m, data, rng = ShuffledCountMin(6, 5, 2, 4, F(1, 3)), [0, 0, 0, 1, 4, 4], np.random.default_rng(2)
    runs = np.array([m.run(data, rng) for _ in range(500)])
    played_out = np.array([literal(m, data, list(range(5)), rng) for _ in range(500)])
    assert all(same_law(column, other, SEEDED_LEVEL) for column, other in zip(runs.T, played_out.T, strict=True))


def test_a_view_has_the_law_of_its_cells_and_total() -> None:
    m = ShuffledCountMin(5, 9, 2, 30, F(1, 4))
    (first, _), rng = m.apart.pair, np.random.default_rng(3)
    for x, own in ((first, 1), (None, 0)):
        views = m.sample(x, 40_000, rng)
        coins = m.users - (x is None)
        place = m.watched.index((0, int(m.hashes(first, 0))))
        assert stats.chisquare(
            np.bincount(views[:, place] - own, minlength=coins + 1), 40_000 * stats.binom.pmf(np.arange(coins + 1), coins, 0.25)
        ).pvalue > SEEDED_LEVEL  # fmt: skip
        rest = coins * (m.rows * m.buckets - len(m.watched))
        assert abs(views[:, -1].mean() - rest / 4) < 6 * math.sqrt(rest * 3 / 16 / 40_000)


def test_the_one_sided_variant_never_underestimates_and_costs_the_same() -> None:
    m = OneSidedShuffledCountMin(500, 20, 3, 1000, F(1, 100))
    data, rng = np.arange(500) % 20, np.random.default_rng(4)
    assert np.all(np.array([m.run(data, rng) for _ in range(50)]) >= m.truth(data))
    two_sided = ShuffledCountMin(500, 20, 3, 1000, F(1, 100))
    assert np.any(np.array([two_sided.run(data, rng) for _ in range(50)]) < m.truth(data))
    assert account(m).epsilon(1e-3) == account(two_sided).epsilon(1e-3)


def test_users_hold_several_values_or_none() -> None:
    m = ShuffledCountMin(4, 6, 3, 5000, F(1, 10**6), held=2)
    data = [[0, 1], [1, -1], [-1, -1], [5, 1]]
    assert m.truth(data).tolist() == [1, 3, 0, 0, 0, 1]
    assert np.round(m.run(data, np.random.default_rng(0))).tolist() == [1, 3, 0, 0, 0, 1]


def test_a_domain_too_large_to_list_is_queried() -> None:
    m = ShuffledCountMin(1000, 2**40, 10, 2000, F(1, 1000))
    data = np.repeat([2**39 + 1, 7], [900, 100])
    with pytest.raises(Unsupported, match="query some"):
        m.run(data, np.random.default_rng(0))
    found = m.query(data, [7, 2**39 + 1, 3], np.random.default_rng(0))
    assert np.all(np.abs(found - [100, 900, 0]) <= 4)
    one_row = replace(m, rows=1)
    for value in range(8, 20):  # asked one by one, so that what the others hold is in no cell that is drawn
        assert abs(float(one_row.query(data, value, np.random.default_rng(1)))) <= 4


@pytest.mark.slow
def test_a_million_users_run_in_ten_seconds() -> None:
    m = ShuffledCountMin(10**6, 2**20, 21, 2 * 10**6, F(1, 10))
    data, start = np.random.default_rng(0).integers(0, 2**20, 10**6), time.process_time()
    found = m.run(data, np.random.default_rng(1))
    assert time.process_time() - start < 10
    assert np.abs(found - m.truth(data)).max() <= sentences.blanket_error(m, F(1, 100), m.rows * m.buckets)


def test_the_score_of_many_coins_is_that_of_few() -> None:
    from ldpaudit.attacks.shared.counters import _long, counter_loss

    y = np.arange(40, 160)
    for first, second in (((2000, 2), (2000, 0)), ((2000, 1), (1999, 0)), ((2000, 0), (1990, 0)), ((2000, 0), (2000, 3))):
        assert np.allclose(counter_loss(first, second, 0.05)(y), _long(y.astype(float), first, second, 0.05), atol=1e-5)


def of(claims: tuple[Printed, ...], words: str) -> list[bool | None]:
    return [claim.holds for claim in claims if words in f"{claim.where}: {claim.sentence}"]


def test_the_printed_gamma_is_the_formula() -> None:
    m = ShuffledCountMin.as_printed(F(1, 2), 1e-9, 10**9, 1000, held=3)
    formula = 90 * (11 * 3) ** 2 * math.log(2 * 11 * 3 / 1e-9) / (10**9 / 4)
    assert float(m.gamma) == pytest.approx(formula, rel=1e-14)
    assert (m.rows, m.buckets) == (11, 6 * 10**9)
    assert sentences.printed_epsilon(m, F(1e-9)).high == pytest.approx(0.5, rel=1e-12)


def test_claims_are_judged_at_the_delta_that_is_given() -> None:
    deltas = F(1, 10**6), F(1, 10**3)
    settings = [sentences.Setting.as_printed(F(1), delta, 20_000, 2) for delta in deltas]
    strict, lax = next(sentences._privacy(settings[0].mechanism, deltas[0])), sentences.printed(settings[1])[0]
    for delta, claim in zip(deltas, (strict, lax), strict=True):
        assert f"epsilon at delta={float(delta):g}" in claim.sentence
        assert claim.claimed == pytest.approx(1, rel=1e-9)
    assert lax.found.high < strict.found.high
    (asked,) = literature.settings("shuffled_count_min", {"epsilon": 1, "delta": F(1, 10**3), "users": 10**6, "domain": 2**10})
    assert asked == sentences.Setting.as_printed(F(1), F(1, 10**3), 10**6, 2**10)


def test_lemma_4_10_fails_for_more_heads_than_tails() -> None:
    m = sentences.EXAMPLES[3].mechanism
    claims = sentences.printed(sentences.EXAMPLES[3])
    assert m.gamma * m.users >= 90 * m.rows**2 * math.log(2 * m.rows * 10**6)
    assert of(claims, "a set replaced") == [False]
    assert of(claims, "Lemma 4.12") == [False]
    assert all("gamma <= 1/2" in str(claim) for claim in claims if "a set replaced" in str(claim))


@pytest.mark.slow
def test_users_who_leave_are_seen_in_the_cells_that_they_did_not_touch() -> None:
    # All 4.2e10 counts lose a coin each, and that tells more than the 21 that lose a message.
    m = ShuffledCountMin.as_printed(1, 1e-6, 10**9, 2**20)
    found = account(m, ADD_REMOVE).epsilon(1e-6)
    mu = math.sqrt(m.rows * m.buckets * m.gamma / (m.users * (1 - m.gamma)))  # as if it were normal noise
    assert 4 * mu < found.low < found.high < 5 * mu
    assert found.high < 1, "with this many users the claim holds, though"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("users", "domain", "held", "epsilon", "delta", "ratio"),
    [(10**7, 2**20, 1, 1, 1e-6, (900, 960)), (10**9, 2**20, 1, 1, 1e-9, (740, 790)),
     (10**9, 2**10, 4, F(1, 2), 1e-6, (540, 580))],
)  # fmt: skip
def test_the_printed_noise_is_hundreds_of_times_what_is_enough(
    users: int, domain: int, held: int, epsilon: Any, delta: float, ratio: tuple[float, float]
) -> None:
    m = ShuffledCountMin.as_printed(epsilon, delta, users, domain, held)
    enough = sentences.sufficient_gamma(m, epsilon, delta)
    assert worst_replaced(users, enough, held, m.rows).epsilon(delta).high <= epsilon
    assert worst_replaced(users, enough * F(99, 100), held, m.rows).epsilon(delta).low > epsilon
    assert ratio[0] < m.gamma / enough < ratio[1]


def test_a_simulation_keeps_what_lemma_4_8_promises() -> None:
    m = ShuffledCountMin(2000, 64, 7, 8000, F(1, 20), held=2)
    betas = [promise.beta for promise in sentences.accuracy(sentences.Setting.of(m))]
    assert betas == pytest.approx([0.05 + 2**-7, 0.05 + 64 * 2**-7])
    for promise in sentences.accuracy(sentences.Setting.of(m)):
        found = measure(m, promise, 100, seed=5, confidence=1 - SEEDED_LEVEL)
        assert found.holds is not False
        assert found.upper > promise.alpha / 20
    assert sentences.accuracy(sentences.Setting.of(replace(m, users=10**9))) == ()


def test_the_theorems_are_about_the_code() -> None:
    statements = [proof.statement for proof in proofs_of("shuffled_count_min")]
    assert len(statements) == 3
    odds, y, silent = F(3, 7), 4, 9
    n, gamma = y + 2 + silent, 1 / (1 + odds)
    for shift, ratio in ((1, odds * (y + 2) / (n - y - 1)), (2, odds**2 * (y + 2) * (y + 1) / ((silent + 1) * (silent + 2)))):
        assert (NoisyCounter(n, gamma, shift) .ratio(y + 2) .contains(flint.arb(flint.fmpq(ratio.numerator, ratio.denominator))))


def test_the_pair_of_sets_is_searched_where_sets_are_few() -> None:
    m = ShuffledCountMin(4, 5, 2, 2, F(1, 3), held=2)
    best = max(sum(t * s * s for s, t in m.shifts(*pair)) for pair in combinations(m.inputs, 2))
    assert m.apart.certain
    assert sum(t * s * s for s, t in m.shifts(*m.apart.pair)) == best
    assert not ShuffledCountMin(4, 100, 2, 2, F(1, 3), held=2).apart.certain


def test_a_user_who_is_added_holds_what_is_seen_best() -> None:
    m = ShuffledCountMin(4, 2, 2, 2, F(1, 3), held=2)
    assert sum(t * s for s, t in m.shifts(m.apart.pair[0], None)) == m.rows * m.held


def test_a_view_estimates_the_counts_of_its_two_values() -> None:
    m = ShuffledCountMin(100, 50, 3, 400, F(1, 10**7))
    for x, truth in zip(m.apart.pair, ([1, 0], [0, 1]), strict=True):
        assert np.round(m.estimate(m.sample(x, 20, np.random.default_rng(0)))).tolist() == [truth] * 20


def test_a_claim_about_sets_that_cannot_be_disjoint_is_not_refuted_by_them() -> None:
    m = ShuffledCountMin(30, 3, 1, 4, F(99, 100), held=2)
    claims = {c.sentence: c for c in sentences.printed(sentences.Setting.of(m)) if "any hash functions" in c.sentence}
    assert all(not c.attained and c.holds is None for c in claims.values())
    assert claims
