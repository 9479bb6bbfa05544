"""Two data sets through sums, of numbers and with noise too, and through compositions of sums: the attack, its event and power."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product, starmap
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import ldpaudit as ldp
from benchmarks.summed_attacks import DELTAS, FLIPS, NOISES as ADDED, SYSTEMS, measured
from ldpaudit import Aggregate, Claim, Compose, Mechanism, Plan, Repeat, Shuffle, Unsupported, account
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.level import bound_of, level_test
from ldpaudit.attacks.games import shuffled, sources, summed
from ldpaudit.attacks.games.two_inputs import Aim
from ldpaudit.certificates.certify import Case
from ldpaudit.errors import ImplementationError
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms import BinomialNoise, CountMeanSketch, DiscreteLaplace, Gaussian, GaussianReport, Laplace, UnaryEncoding
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.mechanisms.rounded_gaussian import RoundedGaussian
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import DataSet, Witness
from tests.attacks.test_shuffled import DRAWS, OFF, scores_have_laws
from tests.helpers import raises, slow, some
from tests.oracles import shuffle as oracle, sums

F = Fraction
Q = F(1, 20)
NOISY = UnaryEncoding.flips(Q, 8)


def witness_of(plan: Plan, epsilon: float, neighbours: Neighbours | None = None) -> Witness:
    return some(account(plan, neighbours).witness(epsilon))


def law_of(m: Mechanism, own: Any, others: DataSet) -> sums.Outcomes:
    reports = [own, *(x for x, users in others.counts for _ in range(users))]
    return sums.summed({y if isinstance(y, tuple) else (y,): p for y, p in m.law(x).items()} for x in reports)


COINS = BinomialNoise(2, F(1, 3))


def noise_law(noise: Any, coordinates: int) -> sums.Outcomes:
    one = {y: p for y, p in noise.law((0,)).items() if p}
    return {tuple(y for (y,) in each): math.prod(one[y] for y in each) for each in product(one, repeat=coordinates)}


@pytest.mark.parametrize(("m", "values", "others", "noise"), [
    (UnaryEncoding(2, F(2, 3), F(1, 5)), (0, 1), {0: 2}, []),
    (UnaryEncoding(3, F(2, 3), F(1, 5)), (0, 2), {0: 1, 1: 1, 2: 1}, []),
    (UnaryEncoding(3, F(2, 3), F(1, 5)), (0, None), {0: 1, 1: 1}, []),
    (PermanentRappor(5, 2, F(1, 2), domain=3), (0, 1), {2: 2}, []),
    (UnaryEncoding(2, F(2, 3), F(1, 5)), (0, 1), {}, [COINS, COINS]),
    (UnaryEncoding(2, F(2, 3), F(1, 5)), (0, 1), {0: 2}, [COINS, COINS]),
    (Rappor(2, 1, F(1, 2), F(1, 4), F(3, 4), 2, domain=2), (0, 1), {0: 1}, []),
    (TruncatedGeometric(2, F(1, 2)), (0, 2), {0: 1, 1: 2}, []),
    (TruncatedGeometric(3, F(1, 3)), (0, 3), {3: 2}, [COINS]),
], ids=str)  # fmt: skip
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


@pytest.mark.few(3)
@pytest.mark.parametrize(("plan", "delta", "neighbours", "reached"), [
    (Aggregate(UnaryEncoding.flips(F(1, 150), 8), 10**4), 1e-2, None, 0.75),
    slow(Aggregate(UnaryEncoding.flips(F(1, 1000), 8), 10**4), 1e-3, None, 0.8),
    (Aggregate(UnaryEncoding.flips(F(1, 1000), 8), 10**4), 1e-2, ADD_REMOVE, 0.85),
    (Aggregate(UnaryEncoding(8, F(1, 2), F(1, 150)), 10**3), 1e-2, None, 0.7),
    (Aggregate(UnaryEncoding.flips(F(1, 4), 3), 3), 1e-3, None, 0.95),
    (Aggregate(PermanentRappor(16, 2, F(1, 50)), 10**4), 1e-2, None, 0.85),
    slow(Aggregate(Repeat(UnaryEncoding.flips(F(1, 1000), 8), 2), 10**4), 1e-2, None, 0.85),
    (Aggregate(KaryRandomizedResponse(4, F(3, 4)), 100), 1e-2, None, 0.8),
    (Aggregate(Rappor(8, 1, F(1, 10), F(1, 100), F(99, 100), 2, domain=8), 100), 1e-2, None, 0.8),
    (Aggregate(Geometric(8, F(9, 10)), 20), 1e-2, None, 0.85),
    slow(Aggregate(Geometric(8, F(9, 10)), 20, [DiscreteLaplace(F(4, 5))]), 1e-2, None, 0.85),
    (Aggregate(Laplace(F(2), F(-1), F(1)), 20), 1e-2, None, 0.85),
    slow(Aggregate(TruncatedGeometric(8, F(9, 10)), 20), 1e-2, None, 0.8),
    slow(Aggregate(SubsetSelection(6, 2, F(9, 10)), 200), 1e-2, None, 0.75),
    (Aggregate(SubsetSelection(6, 2, F(9, 10)), 200, [DiscreteLaplace(F(4, 5))]), 1e-2, None, 0.75),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("given", [True, slow(False)])
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
    raises(Unsupported, "16 views", ldp.audit, Aggregate(NOISY, 10**7), implementation=exactly, epsilon=1.0)
    for plan, why in (
        (Aggregate(CountMeanSketch(4, 2, F(3, 4), 64), 9), "no attack on sums of this mechanism's reports"),
        (Aggregate(ldp.Compose([NOISY, UnaryEncoding.flips(Q / 2, 8)]), 9), "a sum needs the reports of one mechanism"),
    ):
        raises(Unsupported, why, ldp.audit, plan, epsilon=1.0)
    raises(Unsupported, "replace-one", ldp.audit, Aggregate(PermanentRappor(8, 1, F(1, 2)), 9), epsilon=1.0, neighbours=ADD_REMOVE)


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


@pytest.mark.parametrize(("code", "users"), [
    (half_the_flips, 100),
    slow(half_the_flips, 1000),
    (sometimes_in_the_clear, 100),
    (one_coin_for_all_bits, 100),
    (one_coin_for_all_bits, 1000),
    (one_uniform_number_for_all_bits, 100),
    (one_uniform_number_for_all_bits, 1000),
])  # fmt: skip
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


@pytest.mark.few(2)
@pytest.mark.parametrize(("epsilon", "neighbours", "code", "recorded"), [
    (F(3, 2), REPLACE_ONE, None, "holds"),
    slow(None, REPLACE_ONE, None, "holds"),
    (F(1, 10), REPLACE_ONE, None, "refuted"),
    (F(3, 2), ADD_REMOVE, None, "holds"),
    (F(13, 10), REPLACE_ONE, half_the_flips, "refuted"),
])  # fmt: skip
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
    reports = [oracle.law_of((y[:2], p) for y, p in sums.outcomes(m, x).items()) for x in (0, 0, 2)]
    law = sums.summed([*reports, noise_law(COINS, 2)])
    summands = some(summed._summands(m, [0, 1, 2], None))
    together = some(summands.together)
    drawn = np.column_stack(summed.Dependent(together, witness, (0, 1)).draw(0, DRAWS, np.random.default_rng(3)))
    found = Counter(map(tuple, drawn.tolist()))
    assert all(abs(found[outcome] / DRAWS - share) < OFF for outcome, share in law.items())
    for x in (0, 1, 2):
        rows = together(x, (0, 1))
        for i, place in enumerate((0, 1)):
            assert summands.at[place][x].chances[1] == pytest.approx(sum(share for row, share in rows.items() if row[i]))


SURE = 1 - 1e-4
"""Confidence of a bound that is below the truth in all of 60 audits, but once in 160."""
NOISES = list(ADDED.values())
ONCE = [Aggregate(FLIPS, 10**4, noise) for noise in NOISES]
SUM, NUMBERS = Aggregate(FLIPS, 10**3), Aggregate(Geometric(8, F(9, 10)), 20)
PLAYED: list[tuple[Plan, bool]] = [
    *((one, False) for one in ONCE), (ONCE[4], True), (Repeat(ONCE[0], 2), True),
    (Compose([SUM, Aggregate(FLIPS, 10**3, NOISES[0])]), False), (Compose([NUMBERS, UnaryEncoding.flips(F(1, 4), 3)]), False),
    (Compose([Aggregate(NOISY, 4), Shuffle(KaryRandomizedResponse(3, F(1, 2)), 4)]), False), (Repeat(Repeat(SUM, 2), 2), False),
]  # fmt: skip
MORE: list[tuple[Plan, bool]] = [
    (Repeat(ONCE[0], 2), False), *((Repeat(one, 2), True) for one in ONCE[1:]),
    (Compose([SUM, NUMBERS, NUMBERS]), False), (Repeat(Compose([SUM, NUMBERS]), 2), False),
]  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize(("plan", "given"), [*PLAYED, *starmap(slow, MORE)], ids=str)
def test_audits_of_noisy_and_composed_sums_come_close_to_what_is_certified_and_never_above(plan: Plan, given: bool) -> None:
    """Also where rounds are repeated as wholes: each is summed by itself, and has noise of its own."""
    exact = account(plan).epsilon(1e-2)
    options: dict[str, Any] = {"epsilon": exact.high, "delta": 1e-2, "mode": Mode.FIXED, "trials": 150_000, "confidence": 0.999}
    evidence = ldp.audit(plan, witness=witness_of(plan, exact.low) if given else None, **options)
    assert 0.65 * exact.low < evidence.epsilon_lower <= exact.high


@pytest.mark.slow
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_with_ten_million_views_nine_tenths_are_reached(name: str, delta: float) -> None:
    exact, found = measured(SYSTEMS[name], delta)
    share = 0.88 if name == "one-hot + discrete Laplace" else 0.9  # its score is not the likelihood ratio
    assert share * exact.low < found.epsilon_lower
    assert bound_of(replace(found, confidence=SURE)) < exact.high


FIFTIETH = UnaryEncoding.flips(F(1, 50), 4)


@pytest.mark.few(1)
@pytest.mark.parametrize(("m", "users", "share"), [
    (FIFTIETH, 1, 0.7), (KaryRandomizedResponse(4, F(19, 20)), 50, 0.5), slow(FIFTIETH, 50, 0.7),
])  # fmt: skip
def test_a_sum_with_noise_is_not_attacked_as_if_it_had_none(m: Mechanism, users: int, share: float) -> None:
    """One honest client beside an aggregator's noise was once audited as its report, and a true claim refuted."""
    plan = Aggregate(m, users, [DiscreteLaplace(F(1, 2))])
    exact = account(plan).epsilon(1e-2)
    for code in (None, m, lambda x, size, rng: m.sample(x, size, rng)):
        found = ldp.audit(plan, implementation=code, epsilon=exact.high, delta=1e-2, trials=200_000, confidence=0.999)
        assert share * exact.low < found.epsilon_lower <= exact.high
    assert account(Aggregate(plan.plan, users)).epsilon(1e-2).low > 1.5 * exact.high, "so that it matters"


def test_shares_that_are_drawn_one_by_one_are_drawn_in_fewer_views() -> None:
    plan = Aggregate(NOISY, 100, [DiscreteGaussian(F(8)).of_shares(1000, 1000)])
    assert summed.views_within(plan, None, 10**6) == 20_000
    raises(Unsupported, "shares of noise", summed.views_within, Aggregate(NOISY, 100, [*plan.noise] * 1300), None, 10**6)


LAWS: list[tuple[Plan, float]] = [
    (Aggregate(UnaryEncoding.flips(F(1, 150), 8), 1000), 1.5),
    (Aggregate(Repeat(UnaryEncoding.flips(F(1, 150), 8), 2), 1000), 2.0),
    (Aggregate(Geometric(3, F(1, 2)), 2), 0.9),
    (Aggregate(Geometric(3, F(1, 2)), 10**6), 0.001),
    (Aggregate(Geometric(3, F(1, 2)), 100, [DiscreteLaplace(F(9, 10))]), 0.1),
    (Aggregate(Geometric(40, F(99, 100)), 2, [DiscreteGaussian(F(9))]), 0.3),
    (Aggregate(Repeat(Geometric(3, F(1, 2)), 5), 100), 0.2),
    *((Aggregate(Laplace(F(2), F(-1, 3), F(1)), users), e) for users, e in ((2, 0.3), (16, 0.1), (17, 0.1), (10**6, 1e-4))),
    (Aggregate(GaussianReport(F(2), F(-1, 3), F(1)), 100), 0.05),
    (Aggregate(TruncatedGeometric(3, F(1, 2)), 3), 0.5),
    (Aggregate(TruncatedGeometric(3, F(1, 2)), 10**6), 0.0015),
]
OF_GROUPS, OF_POINTS = 2e-3, 1e-4
"""A law of scores is listed in 1,024 groups, so that its delta is this much less; of real numbers at 64 points within a deviation,
each with the density in its middle, which is this much off."""


@pytest.mark.parametrize(("plan", "epsilon"), LAWS, ids=str)
def test_the_law_of_scores_that_chooses_the_event_is_that_of_the_views_and_attains_the_certified_delta(
    plan: Aggregate, epsilon: float
) -> None:
    found, games = 0.0, summed.games(plan, None, None, 0.01, None)
    exchanged = summed.games(plan, None, None, 0.01, Witness(plan, games[0].pair[::-1], games[0].event))
    for game in (*games, *exchanged):
        whole = some(game.law)
        laws = whole.first, whole.second
        for side, law in enumerate(laws):
            far = (1 - 2 * side) * whole.scores > epsilon
            found = max(found, float(law[far].sum() - math.exp(epsilon) * laws[1 - side][far].sum()))
            views = game.draw(side, DRAWS, np.random.default_rng(side))
            for score in whole.scores[np.searchsorted(np.cumsum(law), [0.1, 0.5, 0.9])]:
                assert abs(np.mean(views >= score) - law[whole.scores >= score].sum()) < OFF
    exact = account(plan).delta(epsilon)
    assert (1 - OF_GROUPS) * exact.low < found < exact.high * (1 + OF_POINTS)


@pytest.mark.few(1)
@pytest.mark.parametrize("m", [Geometric(2, F(1, 2)), Laplace(F(1)), TruncatedGeometric(2, F(1, 2))], ids=str)
def test_a_tight_claim_about_a_sum_of_numbers_is_refuted_no_more_often_than_stated(m: Mechanism) -> None:
    plan, delta, alpha, views, runs = Aggregate(m, 3), 0.01, 0.1, 1_000, 300
    exact = account(plan).epsilon(delta)
    assert exact.high < exact.low * (1 + 1e-6), "the claim is tight"
    played = [(game, game.law.choose(Aim(delta, alpha, views))) for game in summed.games(plan, None, None, delta, None) if game.law]
    game, rule = next((game, choice.rule) for game, choice in played if choice.promise == max(each.promise for _, each in played))
    test = level_test(Mode.FIXED, 2, delta, rule.directions, alpha, ())
    counted = [game.measure([rule], views, np.random.default_rng(seed))[0] for seed in range(runs)]
    refuted = sum(test.refutes(Counts(right, wrong, views), exact.high) for right, wrong in counted)
    assert runs * alpha / 4 < refuted <= stats.binom.isf(1e-3, runs, alpha)


def real(scale: float) -> Any:
    return lambda x, size, rng: rng.laplace(x, scale, size)


LITTLE: list[Any] = [
    (Geometric(2, F(4, 5)), 10, Geometric(2, F(4, 5)), Geometric(2, F(3, 5))),
    # whose sums lie beyond all that are declared
    slow(TruncatedGeometric(9, F(1, 2)), 2_000, TruncatedGeometric(9, F(1, 2)), TruncatedGeometric(9, F(1, 5))),
    (Laplace(F(2)), 10, real(2.0), real(1.0)),
    (TruncatedGeometric(4, F(4, 5)), 10, TruncatedGeometric(4, F(4, 5)), lambda x, size, rng: np.full(size, x)),
]


@pytest.mark.parametrize(("trials", "share"), [(50_000, 0.5), slow(200_000, 0.6)])
@pytest.mark.parametrize(("m", "users", "code", "wrong"), LITTLE, ids=lambda value: getattr(value, "__name__", str(value)))
def test_code_that_adds_too_little_noise_to_numbers_is_refuted_and_what_is_described_is_not(
    m: Mechanism, users: int, code: Any, wrong: Any, trials: int, share: float
) -> None:
    plan = Aggregate(m, users)
    exact = account(plan).epsilon(1e-2)
    options: dict[str, Any] = {"epsilon": 1.2 * exact.low, "delta": 1e-2, "trials": trials}
    assert ldp.audit(plan, implementation=wrong, **options).epsilon_lower > 1.2 * exact.low
    found = ldp.audit(plan, implementation=code, mode=Mode.FIXED, **options).epsilon_lower
    assert share * exact.low < found <= exact.high


def test_normal_noise_on_bits_shows_a_little_more_than_the_same_noise_rounded() -> None:
    """What is rounded is computed from what is not; at a deviation of 8 the two differ by less than a hundredth."""
    bits = UnaryEncoding.flips(F(1, 150), 8)
    exact = account(Aggregate(bits, 10**4, [RoundedGaussian(F(8))])).epsilon(1e-2)
    found = ldp.audit(Aggregate(bits, 10**4, [Gaussian(F(8))]), delta=1e-2, trials=10**6, mode=Mode.FIXED)
    assert 0.85 * exact.low < found.epsilon_lower < 1.01 * exact.high


def test_noise_that_spreads_over_millions_of_points_is_not_played() -> None:
    for m, noise, why in (
        (NOISY, DiscreteLaplace(1 - F(1, 10**8)), "spreads over"),
        (NOISY, Gaussian(F(1, 10**6)), "spreads over"),
        (Geometric(2, 1 - F(1, 10**8)), None, "spreads over"),
        (Geometric(1 << 30, F(1, 2)), None, "spreads over"),
        (TruncatedGeometric(1 << 11, F(1, 2)), None, "more than 1025 values"),
    ):
        plan = Aggregate(m, 9, [] if noise is None else [noise])
        raises(Unsupported, why, ldp.audit, plan, epsilon=1.0)


def test_parts_of_a_composition_are_told_apart_together_and_repetitions_are_compositions() -> None:
    asked: dict[str, Any] = {"delta": 1e-2, "trials": 50_000, "mode": Mode.FIXED}
    twice, both = ldp.audit(Repeat(NUMBERS, 2), **asked), ldp.audit(Compose([NUMBERS, NUMBERS]), **asked)
    assert twice.epsilon_lower == pytest.approx(both.epsilon_lower, rel=0.1)
    assert ldp.audit(NUMBERS, **asked).epsilon_lower < 0.8 * both.epsilon_lower
    assert both.pair == twice.pair
    pair = ldp.audit(Compose([NUMBERS, SUM]), **asked).pair
    others = "1 user holds 0, 999 users hold 7", "1,000 users hold 7"
    assert pair == (f"20 users hold 0; {others[0]}", f"19 users hold 0, 1 user holds 8; {others[1]}")

    def louder(x: Any, size: int, rng: np.random.Generator) -> Any:
        return Geometric(8, F(4, 5)).sample(x, size, rng)

    exact = account(Compose([NUMBERS, NUMBERS])).epsilon(1e-2)
    found = ldp.audit(Compose([NUMBERS, NUMBERS]), implementation=louder, epsilon=exact.high, delta=1e-2)
    assert found.epsilon_lower > exact.high
    assert sources.views_within(Compose([NUMBERS, SUM]), None, 10**6) == 10**6
    assert sources.views_within(Compose([Aggregate(NOISY, 10**4)] * 2), exactly, 10**6) == shuffled.REPORTS // 10**4 // 2
    raises(Unsupported, "4096 sums or shuffles", ldp.audit, Repeat(Compose([SUM, NUMBERS]), 2048))
    raises(Unsupported, "even 16 views", ldp.audit, Compose([Aggregate(NOISY, 10**6)] * 2), implementation=exactly, epsilon=1.0)
