"""Two data sets through a sum: the attack, with the accountant's witness and without, and what it must and must not refute."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ldpaudit as ldp
from benchmarks.summed_attacks import DELTAS, FLIPS, SYSTEMS, measured
from benchmarks.summed_attacks import NOISES as ADDED
from ldpaudit import Aggregate, Repeat, Unsupported, account
from ldpaudit.attacks.bounds.level import bound_of
from ldpaudit.attacks.games import shuffled, summed
from ldpaudit.certificates.certify import Case
from ldpaudit.claim import Claim
from ldpaudit.errors import ImplementationError
from ldpaudit.evidence import Mode
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.binomial_noise import BinomialNoise
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from ldpaudit.mechanisms.laplace import Laplace
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.plan import Plan
from ldpaudit.profile import DataSet, Witness
from tests.attacks.test_shuffled import DRAWS, OFF, scores_have_laws
from tests.oracles import sums

F = Fraction
Q = F(1, 20)
NOISY = UnaryEncoding.flips(Q, 8)


def witness_of(plan: Plan, epsilon: float, neighbours: Neighbours | None = None) -> Witness:
    found = account(plan, neighbours).witness(epsilon)
    assert found is not None
    return found


def law_of(m: Mechanism, own: Any, others: DataSet) -> sums.Outcomes:
    reports = [own, *(x for x, users in others.counts for _ in range(users))]
    return sums.summed({y if isinstance(y, tuple) else (y,): p for y, p in m.law(x).items()} for x in reports)


COINS = BinomialNoise(2, F(1, 3))


def noise_law(noise: Any, coordinates: int) -> sums.Outcomes:
    one = {y: p for y, p in noise.law((0,)).items() if p}
    return {tuple(y for (y,) in each): math.prod(one[y] for y in each) for each in product(one, repeat=coordinates)}


@pytest.mark.parametrize(
    ("m", "values", "others", "noise"),
    [
        (UnaryEncoding(2, F(2, 3), F(1, 5)), (0, 1), {0: 2}, []),
        (UnaryEncoding(3, F(2, 3), F(1, 5)), (0, 2), {0: 1, 1: 1, 2: 1}, []),
        (UnaryEncoding(3, F(2, 3), F(1, 5)), (0, None), {0: 1, 1: 1}, []),
        (PermanentRappor(5, 2, F(1, 2), domain=3), (0, 1), {2: 2}, []),
        (UnaryEncoding(2, F(2, 3), F(1, 5)), (0, 1), {}, [COINS, COINS]),
        (UnaryEncoding(2, F(2, 3), F(1, 5)), (0, 1), {0: 2}, [COINS, COINS]),
        (Rappor(2, 1, F(1, 2), F(1, 4), F(3, 4), 2, domain=2), (0, 1), {0: 1}, []),
        (TruncatedGeometric(2, F(1, 2)), (0, 2), {0: 1, 1: 2}, []),
        (TruncatedGeometric(3, F(1, 3)), (0, 3), {3: 2}, [COINS]),
    ],
    ids=str,
)
def test_scores_are_the_log_likelihood_ratios_of_sums_with_noise_on_every_coordinate(
    m: Mechanism, values: tuple[Any, Any], others: dict[Any, int], noise: list[Any]
) -> None:
    held = [Counter({own: 1}) if own is not None else Counter() for own in values]
    pair = DataSet.of(Counter(others) + held[0]), DataSet.of(Counter(others) + held[1])
    added = [noise_law(each, m.view_length) for each in noise]
    laws = [sums.summed([law_of(m, own, DataSet.of(others)), *added]) for own in values]
    plan = Aggregate(m, 1 + sum(others.values()), noise)
    for code in (None, lambda x, size, rng: m.sample(x, size, rng)):
        game, *_ = summed.games(plan, None, code, 0.0, Witness(plan, pair, "the sum"))
        scores_have_laws(game, laws)


@pytest.mark.parametrize(
    ("plan", "delta", "neighbours", "reached"),
    [
        (Aggregate(UnaryEncoding.flips(F(1, 150), 8), 10**4), 1e-2, None, 0.75),
        (Aggregate(UnaryEncoding.flips(F(1, 1000), 8), 10**4), 1e-3, None, 0.8),
        (Aggregate(UnaryEncoding.flips(F(1, 1000), 8), 10**4), 1e-2, ADD_REMOVE, 0.85),
        (Aggregate(UnaryEncoding(8, F(1, 2), F(1, 150)), 10**3), 1e-2, None, 0.7),
        (Aggregate(UnaryEncoding.flips(F(1, 4), 3), 3), 1e-3, None, 0.95),
        (Aggregate(PermanentRappor(16, 2, F(1, 50)), 10**4), 1e-2, None, 0.85),
        (Aggregate(Repeat(UnaryEncoding.flips(F(1, 1000), 8), 2), 10**4), 1e-2, None, 0.85),
        (Aggregate(KaryRandomizedResponse(4, F(3, 4)), 100), 1e-2, None, 0.8),
        (Aggregate(Rappor(8, 1, F(1, 10), F(1, 100), F(99, 100), 2, domain=8), 100), 1e-2, None, 0.8),
        (Aggregate(Geometric(8, F(9, 10)), 20), 1e-2, None, 0.85),
        (Aggregate(Geometric(8, F(9, 10)), 20, [DiscreteLaplace(F(4, 5))]), 1e-2, None, 0.85),
        (Aggregate(Laplace(F(2), F(-1), F(1)), 20), 1e-2, None, 0.85),
        (Aggregate(TruncatedGeometric(8, F(9, 10)), 20), 1e-2, None, 0.8),
        (Aggregate(SubsetSelection(6, 2, F(9, 10)), 200), 1e-2, None, 0.75),
        (Aggregate(SubsetSelection(6, 2, F(9, 10)), 200, [DiscreteLaplace(F(4, 5))]), 1e-2, None, 0.75),
    ],
    ids=str,
)
@pytest.mark.parametrize("given", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_audits_of_sums_come_close_to_what_is_certified_and_never_above(
    plan: Aggregate, delta: float, neighbours: Neighbours | None, reached: float, given: bool
) -> None:
    exact = account(plan, neighbours).epsilon(delta)
    witness = account(plan, neighbours).witness(exact.low) if given else None
    options: dict[str, Any] = {"epsilon": exact.high, "neighbours": neighbours, "witness": witness, "mode": Mode.FIXED}
    evidence = ldp.audit(plan, delta=delta, trials=400_000, seed=1, confidence=0.999, **options)
    assert reached * exact.low < evidence.epsilon_lower <= exact.high
    if witness is not None:
        assert evidence.pair == witness.pair


def test_the_same_seed_draws_the_same_sums() -> None:
    plans = Aggregate(NOISY, 100), Aggregate(KaryRandomizedResponse(4, F(3, 4)), 100, [COINS])
    first, again = ([ldp.audit(plan, delta=1e-2, trials=1_000, seed=1) for plan in plans] for _ in range(2))
    assert first == again


def test_a_million_users_cost_what_their_counts_cost() -> None:
    for k in (8, 10**6):
        plan = Aggregate(UnaryEncoding.flips(F(1, 1000), k), 10**6)
        assert summed.views_within(plan, None, 10**6) == 10**6
        assert summed.views_within(plan, UnaryEncoding.flips(F(1, 2000), k), 10**6) == 10**6
    exact = account(plan).epsilon(1e-2)
    assert 0.5 * exact.low < ldp.audit(plan, epsilon=exact.high, delta=1e-2).epsilon_lower < exact.high
    for m in (Geometric(3, F(1, 2)), Laplace(F(1)), TruncatedGeometric(3, F(1, 2))):
        assert summed.views_within(Aggregate(m, 10**6), None, 10**6) == 10**6


def test_as_many_views_are_drawn_as_their_reports_allow() -> None:
    assert summed.views_within(Aggregate(NOISY, 10**4), exactly, 10**6) == shuffled.REPORTS // 10**4
    with pytest.raises(Unsupported, match="16 views"):
        ldp.audit(Aggregate(NOISY, 10**7), implementation=exactly, epsilon=1.0)
    for plan, why in (
        (Aggregate(CountMeanSketch(4, 2, F(3, 4), 64), 9), "no attack on sums of this mechanism's reports"),
        (Aggregate(ldp.Compose([NOISY, UnaryEncoding.flips(Q / 2, 8)]), 9), "a sum needs the reports of one mechanism"),
    ):
        with pytest.raises(Unsupported, match=why):
            ldp.audit(plan, epsilon=1.0)
    with pytest.raises(Unsupported, match="replace-one"):
        ldp.audit(Aggregate(PermanentRappor(8, 1, F(1, 2)), 9), epsilon=1.0, neighbours=ADD_REMOVE)


Code = Callable[[Any, int, np.random.Generator], NDArray[np.int8]]


def exactly(x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    return NOISY.sample(x, size, rng)


def half_the_flips(x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    return UnaryEncoding.flips(Q / 2, 8).sample(x, size, rng)


def sometimes_in_the_clear(x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    bits, clear = NOISY.sample(x, size, rng), rng.random(size) < 1 / 8
    bits[clear] = np.arange(8) == x
    return bits


def one_coin_for_all_bits(x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    flips = (rng.random(size) < float(Q)).astype(np.int8)
    return np.asarray((np.arange(8) == x).astype(np.int8) ^ flips[:, None])


def one_uniform_number_for_all_bits(x: Any, size: int, rng: np.random.Generator) -> NDArray[np.int8]:
    bound = np.where(np.arange(8) == x, 1 - float(Q), float(Q))
    return (rng.random(size)[:, None] < bound).astype(np.int8)


@pytest.mark.parametrize(
    ("code", "users"),
    [
        (half_the_flips, 100),
        pytest.param(half_the_flips, 1000, marks=pytest.mark.slow),
        (sometimes_in_the_clear, 100),
        (one_coin_for_all_bits, 100),
        (one_coin_for_all_bits, 1000),
        (one_uniform_number_for_all_bits, 100),
        (one_uniform_number_for_all_bits, 1000),
    ],
)
def test_clients_that_report_too_much_are_refuted_at_the_defaults(code: Code, users: int) -> None:
    plan = Aggregate(NOISY, users)
    exact = account(plan).epsilon(1e-2)
    assert ldp.audit(plan, implementation=code, epsilon=exact.high, delta=1e-2).epsilon_lower > exact.high


def test_half_the_flips_among_a_hundred_thousand_users_are_refuted_where_the_code_is_a_mechanism() -> None:
    m = UnaryEncoding.flips(F(1, 150), 8)
    plan = Aggregate(m, 10**5)
    for witness in (None, witness_of(plan, account(plan).epsilon(1e-3).low)):
        exact = account(plan).epsilon(1e-3)
        options: dict[str, Any] = {"epsilon": exact.high, "delta": 1e-3, "witness": witness}
        assert ldp.audit(plan, implementation=UnaryEncoding.flips(F(1, 300), 8), **options).epsilon_lower > exact.high
        assert ldp.audit(plan, implementation=m, trials=200_000, **options).epsilon_lower <= exact.high


def one_by_one(x: int) -> list[int]:
    return [int(bit) for bit in one_coin_for_all_bits(x, 1, _COINS)[0]]


_COINS = np.random.default_rng(5)


@pytest.mark.parametrize(("code", "refuted"), [(exactly, False), (one_by_one, True)])
def test_code_is_sampled_as_it_comes(code: Any, refuted: bool) -> None:
    plan = Aggregate(NOISY, 100)
    exact = account(plan).epsilon(1e-2)
    found = ldp.audit(plan, implementation=code, epsilon=exact.high, delta=1e-2, trials=3000)
    assert (found.epsilon_lower > exact.high) == refuted


def test_reports_that_the_declared_mechanism_never_makes_are_an_error() -> None:
    with pytest.raises(ImplementationError, match="views that the declared law has"):
        ldp.audit(Aggregate(NOISY, 9), implementation=lambda x, size, rng: np.full((size, 8), 2), epsilon=1.0, delta=1e-2)


@pytest.mark.parametrize(
    ("epsilon", "neighbours", "code", "recorded"),
    [
        (F(3, 2), REPLACE_ONE, None, "holds"),
        (None, REPLACE_ONE, None, "holds"),
        (F(1, 10), REPLACE_ONE, None, "refuted"),
        (F(3, 2), ADD_REMOVE, None, "holds"),
        (F(13, 10), REPLACE_ONE, half_the_flips, "refuted"),
    ],
)
def test_a_claim_about_a_sum_is_judged_with_evidence_a_witness_and_a_proof(
    epsilon: Fraction | None, neighbours: Neighbours, code: Any, recorded: str
) -> None:
    plan = Aggregate(NOISY, 200)
    case = Case(Claim("a", plan, epsilon, F(1, 100), neighbours), code, 5, 100_000, 0.95)
    found = case.measured()
    record = case.record(found)
    assert record.verdict.record == recorded
    assert all("standalone checker" in line for line in record.unsupported)
    assert record.witness is not None
    assert found.pair == case.witness.pair if case.witness else False
    assert case.measured_again(found) == []
    assert record.code_differs == (code is not None)
    if code is None:
        assert record.enclosure is not None
        (proof,) = record.proofs
        assert proof.theorem.endswith("post-processing never increases epsilon")
        assert recorded == "refuted" or 0.75 * record.enclosure.low < found.epsilon_lower <= record.enclosure.high


@pytest.mark.parametrize(
    "m", [KaryRandomizedResponse(3, F(1, 2)), SubsetSelection(5, 2, F(3, 4)), SubsetSelection(4, 3, F(4, 5))], ids=str
)
def test_numbers_of_a_report_that_depend_on_each_other_are_drawn_together(m: Mechanism) -> None:
    plan = Aggregate(m, 3, [COINS])
    witness = Witness(plan, (DataSet.of({0: 2, 2: 1}), DataSet.of({0: 1, 1: 1, 2: 1})), "the sum")
    reports: list[dict[tuple[int, ...], F]] = [defaultdict(F) for _ in range(3)]
    for table, x in zip(reports, (0, 0, 2), strict=True):
        for y, p in m.law(x).items():
            table[tuple(int(y == i) if m.summed == "one-hot" else int(y[i]) for i in (0, 1))] += p
    law = sums.summed([*reports, noise_law(COINS, 2)])
    summands = summed._summands(m, [0, 1, 2], None)
    assert summands is not None
    assert summands.together is not None
    drawn = np.column_stack(summed.Dependent(summands.together, witness, (0, 1)).draw(0, DRAWS, np.random.default_rng(3)))
    found = Counter(map(tuple, drawn.tolist()))
    assert all(abs(found[outcome] / DRAWS - share) < OFF for outcome, share in law.items())
    for x in (0, 1, 2):
        rows = summands.together(x, (0, 1))
        for i, place in enumerate((0, 1)):
            assert summands.at[place][x].chances[1] == pytest.approx(sum(share for row, share in rows.items() if row[i]))


SURE = 1 - 1e-4
"""Confidence of a bound that is below the truth in all of 60 audits, but once in 160."""
NOISES = list(ADDED.values())
PLAYED = [*((noise, 1, False) for noise in NOISES), (NOISES[4], 1, True), (NOISES[0], 2, True)]
MORE = [(NOISES[0], 2, False), *((noise, 2, True) for noise in NOISES[1:])]


@pytest.mark.parametrize(
    ("noise", "rounds", "given"), [*PLAYED, *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE)]
)
def test_audits_of_sums_with_noise_come_close_to_what_is_certified_and_never_above(noise: Any, rounds: int, given: bool) -> None:
    """Also where rounds are repeated as wholes: each is summed by itself, and has noise of its own."""
    one = Aggregate(FLIPS, 10**4, noise)
    whole = one if rounds == 1 else Repeat(one, rounds)
    exact = account(whole).epsilon(1e-2)
    options: dict[str, Any] = {"epsilon": exact.high, "delta": 1e-2, "mode": Mode.FIXED, "trials": 150_000, "confidence": 0.999}
    evidence = ldp.audit(whole, witness=witness_of(whole, exact.low) if given else None, **options)
    assert 0.65 * exact.low < evidence.epsilon_lower <= exact.high


@pytest.mark.slow
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_with_ten_million_views_nine_tenths_are_reached(name: str, delta: float) -> None:
    exact, found = measured(name, delta)
    share = 0.88 if name == "one-hot + discrete Laplace" else 0.9  # its score is not the likelihood ratio
    assert share * exact.low < found.epsilon_lower
    assert bound_of(replace(found, confidence=SURE)) < exact.high


@pytest.mark.parametrize("users", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_a_sum_with_noise_is_not_attacked_as_if_it_had_none(users: int) -> None:
    """One honest client beside an aggregator's noise was once audited as its report, and a true claim refuted."""
    plan = Aggregate(UnaryEncoding.flips(F(1, 50), 4), users, [DiscreteLaplace(F(1, 2))])
    exact = account(plan).epsilon(1e-2)
    for code in (None, lambda x, size, rng: UnaryEncoding.flips(F(1, 50), 4).sample(x, size, rng)):
        found = ldp.audit(plan, implementation=code, epsilon=exact.high, delta=1e-2, trials=200_000, confidence=0.999)
        assert 0.7 * exact.low < found.epsilon_lower <= exact.high
    without = account(Aggregate(plan.plan, users)).epsilon(1e-2)
    assert without.low > 1.5 * exact.high, "so that it matters"


def test_noise_of_one_hot_reports_and_of_code_is_played() -> None:
    m = KaryRandomizedResponse(4, F(19, 20))
    plan = Aggregate(m, 50, [DiscreteLaplace(F(1, 2))])
    exact = account(plan).epsilon(1e-2)
    for code in (None, m, lambda x, size, rng: m.sample(x, size, rng)):
        found = ldp.audit(plan, implementation=code, epsilon=exact.high, delta=1e-2, trials=200_000, confidence=0.999)
        assert 0.5 * exact.high < found.epsilon_lower <= exact.high


def test_shares_that_are_drawn_one_by_one_are_drawn_in_fewer_views() -> None:
    plan = Aggregate(NOISY, 100, [DiscreteGaussian(F(8)).of_shares(1000, 1000)])
    assert summed.views_within(plan, None, 10**6) == 20_000
    with pytest.raises(Unsupported, match="shares of noise"):
        summed.views_within(Aggregate(NOISY, 100, [*plan.noise] * 1300), None, 10**6)
