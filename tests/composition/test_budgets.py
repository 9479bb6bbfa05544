"""Cited composition theorems, guarantees by rho and mu, and filters and odometers where what is next was chosen."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ldpaudit import Aggregate, Claim, Compose, Guarantee, PostProcess, Repeat, Shuffle, Subsample, Unsupported, account
from ldpaudit.accountants.composition import divergences as divergence, theorems as formulas
from ldpaudit.accountants.composition.filters import BudgetExceeded, Filter, Odometer, Spent, largest_rho
from ldpaudit.accountants.composition.users import UserOdometers
from ldpaudit.enclosure import Enclosure
from ldpaudit.mechanisms import Gaussian, KaryRandomizedResponse
from ldpaudit.neighbours import REPLACE_ONE, group
from tests.helpers import raises

runs = st.integers(1, 400)
lengths = st.fractions(Fraction(1, 1000), 2, max_denominator=1000)
slacks = st.sampled_from([Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**12)])
losses = st.sampled_from([Fraction(0), Fraction(1, 10**9)])


@given(runs, lengths, losses, slacks)
def test_no_formula_promises_less_than_the_worst_maps_cost(n: int, e: Fraction, d: Fraction, slack: Fraction) -> None:
    worst = account(Repeat(Guarantee(e, d), n))
    for epsilon, delta in (formulas.drv10(n, e, d, slack), formulas.kov([(n, e, d)], slack)):
        assert worst.delta(epsilon.high).high <= delta.high
    pure = account(Repeat(Guarantee(e), n))
    for epsilon in (divergence.concentrated([(n, e)], slack), divergence.renyi([(n, e)], slack)):
        assert pure.delta(epsilon.high).high <= slack
        assert epsilon.low == 0


@given(st.integers(1, 10**6), st.fractions(Fraction(1, 10**6), 1, max_denominator=10**6), slacks)
def test_the_heavy_hitters_formula_holds_under_the_added_hypothesis(n: int, e: Fraction, slack: Fraction) -> None:
    try:
        epsilon = formulas.hkr12(n, e, slack)
    except ValueError:
        return
    assert account(Repeat(Guarantee(e), n)).delta(epsilon.high).high <= slack


@pytest.mark.parametrize("slack", [Fraction(1, 10**3), Fraction(1, 10**9)])
def test_formulas_for_different_parts_promise_no_less_than_the_worst_maps_cost(slack: Fraction) -> None:
    parts = [(40, Fraction(1, 10)), (30, Fraction(1, 5)), (9, Fraction(1, 2))]
    worst = account(Compose([Repeat(Guarantee(e), n) for n, e in parts]))
    exact = worst.epsilon(slack).high
    found = {
        "kov": formulas.kov([(n, e, 0) for n, e in parts], slack)[0].high,
        "concentrated": divergence.concentrated(parts, slack).high,
        "renyi": divergence.renyi(parts, slack).high,
        "basic": formulas.basic([(n * e, 0) for n, e in parts])[0].high,
    }
    assert all(exact <= value for value in found.values()), found
    assert found["renyi"] < min(found["kov"], found["basic"])


@given(lengths, st.fractions(Fraction(101, 100), 100, max_denominator=100))
def test_a_pure_guarantee_has_at_most_a_quadratic_renyi_divergence(e: Fraction, order: Fraction) -> None:
    found = divergence.renyi_of_pure(order, e).high
    assert found <= float(order * e * e / 2) * (1 + 1e-12)
    assert found <= float(e) * (1 + 1e-12)


KINDS = [(Fraction(1, 3), Fraction(0)), (Fraction(1, 50), Fraction(1, 10**9))]
SLACK = Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("call", "hypothesis"),
    [
        (lambda: formulas.drv10(0, 1, 0, 0.1), "at least one run"),
        (lambda: formulas.drv10(3, -1, 0, 0.1), "epsilon >= 0"),
        (lambda: formulas.drv10(3, 1, 1, 0.1), "0 <= delta < 1"),
        (lambda: formulas.drv10(3, 1, 0, 0), r"slack delta in \(0, 1\)"),
        (lambda: formulas.kov([(3, float("inf"), 0)], 0.1), "finite epsilon"),
        (lambda: formulas.hkr12(1, 2, 1e-9), "epsilon' <= 1"),
        (lambda: formulas.hkr12(100, 1, 1e-9), "total epsilon below 1"),
        (lambda: formulas.hkr12(1, Fraction(1, 2), 1 - 1e-9), "ln"),
        (lambda: divergence.renyi_epsilon(1, 1, 0.1), "above 1"),
        (lambda: divergence.concentrated_epsilon(-1, 0.1), "rho >= 0"),
        (lambda: Filter(Fraction(-1)), "epsilon >= 0"),
        (lambda: Filter(Fraction(1), Fraction(1)), "delta < 1"),
        (lambda: Filter(Fraction(1), Fraction(1, 10), reserve=Fraction(1, 5)), "reserve <= delta"),
        (lambda: Filter(Fraction(1), spent=Spent(Fraction(2), Fraction(2))), "within the budget"),
        (lambda: Filter(Fraction(1)).spend(-1), "a guarantee needs"),
        (lambda: Filter(Fraction(1)).spend(math.inf), "a guarantee needs"),
        (lambda: Filter(Fraction(1)).spend(0, 0.1), "delta <= 0 now"),
        (lambda: Odometer(Fraction(2)), "slack < 1"),
        *((lambda kind=kind, draws=draws: UserOdometers.fresh(3, KINDS).epoch({kind: draws}), says) for kind, draws, says in (
            (2, [True] * 3, "for a kind below 2"), (-1, [True] * 3, "for a kind below 2"), (0, [True] * 2, "of 3 users"),
            (0, [0.5] * 3, "Booleans or integers"), (0, [0, -1, 0], "from 0 to 2\\*\\*40 draws"),
        )),
        (lambda: UserOdometers(tuple(KINDS), np.zeros((2, 1), dtype=np.int64)), "one column for each of 2"),
        (lambda: UserOdometers(tuple(KINDS), np.zeros((2, 2))), "int64 counts"),  # type: ignore[arg-type]
        (lambda: UserOdometers(tuple(KINDS), np.zeros((0, 2), dtype=np.int64)), "at least one user"),
        (lambda: UserOdometers(tuple(KINDS), np.full((1, 2), -1)), "counts from 0"),
    ],
)  # fmt: skip
def test_a_failing_hypothesis_or_what_is_no_budget_is_named(call: Callable[[], object], hypothesis: str) -> None:
    raises(ValueError, hypothesis, call)


def test_the_printed_heavy_hitters_formula_fails_where_delta_is_near_1() -> None:
    delta = 1 - Fraction(1, 10**6)
    share = Fraction(1, 2) / Fraction(28, 10**4)  # epsilon = 1/2; the square root of 8 ln(1/delta) is above 0.0028
    assert account(Guarantee(share)).delta(0.5).high > delta


RHO = Fraction(10_000, 85_402) ** 2
REFERENCE = 0.9550778212604361106519889640168  # epsilon at delta = 1e-9 of 1/8.5402**2-zCDP; from 300 bits
DIGITS = 1e-14  # of a float
SHARP = 1e-12  # relative: an order that floats find is as good as the best one to their last digits
LEAST = sys.float_info.min
NEAR = 0.02  # of an exponent, between the best order and the next one of a grid
COIN = KaryRandomizedResponse(2, Fraction(3, 4))


def from_above(found: Enclosure, truth: float, close: float = SHARP) -> bool:
    """Whether only the upper end says anything, and is the truth."""
    return found.low == 0 and truth * (1 - DIGITS) <= found.high <= truth * (1 + close)


def test_the_conversion_of_a_rho_is_the_best_of_all_orders() -> None:
    assert from_above(account(Guarantee(rho=RHO)).epsilon(Fraction(1, 10**9)), REFERENCE)
    assert from_above(account(Guarantee(rho=RHO)).delta(REFERENCE), 1e-9)


@given(rho=st.fractions(Fraction(1, 1000), 20, max_denominator=1000), epsilon=st.fractions(0, 30, max_denominator=100))
def test_no_order_converts_a_rho_better(rho: Fraction, epsilon: Fraction) -> None:
    found = account(Guarantee(rho=rho)).delta(epsilon).high
    with mpmath.workdps(40):
        r, e = (mpmath.mpf(each.numerator) / each.denominator for each in (rho, epsilon))
        orders = [1 + mpmath.mpf(2) ** (mpmath.mpf(k) / 4) for k in range(-60, 60)]
        each = [mpmath.exp((a - 1) * (a * r - e)) / (a - 1) * (1 - 1 / a) ** a for a in orders]
        assert found <= max(min(each) * (1 + SHARP), LEAST)
        # The grid's orders are 19 % apart, and an exponent is quadratic next to its least value.
        assert (mpmath.log(found) >= mpmath.log(min(1, *each)) * (1 + NEAR) - NEAR if found > LEAST else min(each) < LEAST)


@given(mu=st.fractions(Fraction(1, 10), 3, max_denominator=20), epsilon=st.fractions(0, 10, max_denominator=20))
def test_a_rho_and_a_mu_allow_what_gaussian_noise_does(mu: Fraction, epsilon: Fraction) -> None:
    truth = account(Gaussian(1 / mu)).delta(epsilon)
    assert account(Guarantee(rho=mu**2 / 2)).delta(epsilon).high >= truth.low
    worst = account(Guarantee(mu=mu)).delta(epsilon)
    assert (worst.low, worst.high) == (0.0, truth.high)


def test_rhos_add_and_so_do_squares_of_mu() -> None:
    at = Fraction(1, 10**6)
    twice = Compose([Guarantee(rho=Fraction(1, 50)), Repeat(Guarantee(rho=Fraction(1, 100)), 2)])
    assert account(twice).epsilon(at).high == account(Guarantee(rho=Fraction(1, 25))).epsilon(at).high
    both = Compose([Guarantee(mu=Fraction(3)), PostProcess(Guarantee(mu=Fraction(4)), "rounded")])
    assert account(Compose([Guarantee(mu=Fraction(3)), Guarantee(mu=Fraction(4))])).gdp().high == 5
    assert account(both).rho().high == 12.5
    assert account(both).epsilon(at).high >= account(Guarantee(mu=Fraction(5))).epsilon(at).high * (1 - SHARP)
    irrational = account(Repeat(Guarantee(mu=Fraction(1)), 2)).gdp().high
    assert Fraction(irrational) ** 2 >= 2
    assert irrational == pytest.approx(math.sqrt(2), rel=SHARP)


def test_a_part_with_a_rho_or_a_mu_composes_with_others() -> None:
    at = Fraction(1, 10**6)
    truth = account(Compose([Gaussian(Fraction(2)), COIN])).epsilon(at)
    for stated in (Guarantee(rho=Fraction(1, 8)), Guarantee(mu=Fraction(1, 2))):
        found = account(Compose([stated, COIN]), REPLACE_ONE)
        assert truth.low <= found.epsilon(at).high
        assert account(COIN).epsilon(at).low <= found.epsilon(at).low
        assert found.rho().high >= 0.125 + account(COIN).rho().low


def test_a_group_of_k_users_costs_k_times_mu_and_k_squared_times_rho() -> None:
    at = Fraction(1, 10**6)
    for one, three in ((Guarantee(rho=Fraction(1, 50)), Guarantee(rho=Fraction(9, 50))),
                       (Guarantee(mu=Fraction(1, 5)), Guarantee(mu=Fraction(3, 5)))):  # fmt: skip
        assert account(one, group(3)).epsilon(at).high == account(three).epsilon(at).high


def test_what_a_rho_and_a_mu_say_of_each_other() -> None:
    rho, mu = account(Guarantee(rho=Fraction(1, 2))), account(Guarantee(mu=Fraction(1)))
    assert (rho.rho().high, rho.renyi(3).high, rho.gdp().high, rho.epsilon(0).high) == (0.5, 1.5, math.inf, math.inf)
    assert (mu.rho().high, mu.renyi(3).high, mu.gdp().high, mu.epsilon(0).high) == (0.5, 1.5, 1.0, math.inf)
    assert mu.tradeoff(Fraction(1, 10)).high == pytest.approx(0.9)
    for nothing in (Guarantee(rho=Fraction(0)), Guarantee(mu=Fraction(0))):
        assert account(nothing).delta(0).high == 0
        assert account(Compose([nothing, COIN])).epsilon(0).high == account(COIN).epsilon(0).high


def test_extreme_rhos_are_bounded() -> None:
    for power in (-2000, 2000):
        profile = account(Guarantee(rho=Fraction(10) ** power))
        assert 0 <= profile.delta(1).high <= 1
        assert profile.epsilon(Fraction(1, 10**6)).high >= 0
    assert account(Guarantee(rho=Fraction(10) ** -2000)).delta(1).high < 1e-300


def test_no_shuffler_and_no_sum_hides_a_rho() -> None:
    for stated in (Guarantee(rho=Fraction(1, 50)), Guarantee(mu=Fraction(1, 5))):
        for plan in (Shuffle(stated, 100), Shuffle(Repeat(stated, 2), 100), Aggregate(stated, 100)):
            raises(Unsupported, None, account, plan)
    one = account(Subsample(Guarantee(mu=Fraction(1, 5)), users=10, batch=1))
    truth = account(Gaussian(Fraction(5))).delta(0).high
    assert one.delta(0).high == pytest.approx(truth / 10), "the delta of the whole, times the rate"


def test_a_guarantee_says_one_thing_and_prints_as_it_is_written() -> None:
    shown = {
        Guarantee(Fraction(1)): "Guarantee(epsilon=Fraction(1, 1), delta=Fraction(0, 1))",
        Guarantee(Fraction(1), Fraction(1, 2)): "Guarantee(epsilon=Fraction(1, 1), delta=Fraction(1, 2))",
        Guarantee(rho=Fraction(1, 2)): "Guarantee(rho=Fraction(1, 2))",
        Guarantee(mu=Fraction(1, 2)): "Guarantee(mu=Fraction(1, 2))",
    }
    for guarantee, text in shown.items():
        assert repr(guarantee) == text
        assert eval(text) == guarantee
    assert len(shown) == 4
    raises(TypeError, "epsilon needs an int, a float or a Fraction", Guarantee)
    for wrong in ({"epsilon": 1, "rho": 1}, {"rho": 1, "mu": 1}, {"rho": 1, "delta": Fraction(1, 2)}):
        raises(TypeError, "needs an epsilon, and a delta with it, or a rho, or a mu", Guarantee, **wrong)
    for name in ("epsilon", "rho", "mu"):
        raises(ValueError, f"Guarantee needs {name} >= 0", Guarantee, **{name: Fraction(-1)})


def test_whoever_reads_only_epsilon_and_delta_of_a_rho_learns_nothing() -> None:
    stated = Guarantee(rho=Fraction(1, 2))
    assert (stated.epsilon, stated.delta) == (Fraction(0), Fraction(1))
    claim = Claim("c", stated, Fraction(1), Fraction(1, 10**6), REPLACE_ONE)
    assert claim.axioms == ("a part is 1/2-zero-concentrated differentially private",)
    assert not claim.restates


parts = st.lists(st.tuples(st.fractions(0, 1, max_denominator=50), losses), max_size=12)

ROUNDING = 1e-12  # what enumeration in floats may be off by: fewer than 2**10 terms, each at most 1
DEEP = 8  # answers that are seen one after the other
ASKED = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(3, 2))


@given(parts)
def test_with_all_of_delta_kept_the_sums_decide(parts: list[tuple[Fraction, Fraction]]) -> None:
    most = Fraction(5, 10**9)
    budget = Filter(Fraction(2), most, reserve=most)
    spent = [Fraction(0), Fraction(0)]
    for e, d in parts:
        if budget.admits(e, d):
            budget = budget.spend(e, d)
            spent = [spent[0] + e, spent[1] + d]
        else:
            assert spent[0] + e > 2 or spent[1] + d > most
            raises(BudgetExceeded, "admits epsilon <=", budget.spend, e, d)
    assert [budget.spent.epsilon, budget.spent.delta] == spent
    assert spent[0] <= 2
    assert spent[1] <= most


@given(lengths, slacks, parts)
def test_what_a_filter_admits_keeps_its_budget(e: Fraction, slack: Fraction, parts: list[tuple[Fraction, Fraction]]) -> None:
    budget = Filter(e, slack)
    admitted = []
    for part in parts:
        if budget.admits(*part):
            budget = budget.spend(*part)
            admitted.append(part)
    assert budget.spent.rho == sum((x**2 / 2 for x, _ in admitted), Fraction(0))
    if admitted:
        assert account(Compose([Guarantee(*part) for part in admitted])).delta(e).high <= slack


@given(lengths, slacks)
def test_the_largest_rho_promises_the_budget_and_hardly_less(e: Fraction, slack: Fraction) -> None:
    rho = largest_rho(e, slack)
    assert float(e) * (1 - 1e-12) <= divergence.concentrated_epsilon(rho, slack).high <= float(e) * (1 + 1e-12)


@given(lengths, slacks, parts)
def test_what_remains_is_admitted_and_hardly_more_is(e: Fraction, slack: Fraction, parts: list[tuple[Fraction, Fraction]]) -> None:
    budget = Filter(e, slack)
    for part in parts:
        budget = budget.spend(*part) if budget.admits(*part) else budget
    assert budget.admits(budget.remaining)
    assert not budget.admits(budget.remaining * (1 + 1e-9) + 1e-300)


def test_many_small_guarantees_cost_less_than_their_sum() -> None:
    budget, step = Filter(Fraction(1), Fraction(1, 10**6)), Fraction(1, 200)
    while budget.admits(step):
        budget = budget.spend(step)
    assert budget.spent.epsilon > 6
    assert 3 < Odometer(Fraction(1, 10**6), Spent(Fraction(20), Fraction(1, 5))).epsilon.high < 4
    assert divergence.concentrated_epsilon(budget.spent.rho, Fraction(1, 2 * 10**6)).high <= 1  # the reserve keeps half


def outcomes(seed: int, admits: Callable[[Spent], bool]) -> Iterator[tuple[Spent, float, float, list[tuple[Spent, float]]]]:
    """All transcripts of randomized responses that an adversary chooses one after the other, until one is not admitted.

    With what is spent, the logarithms of both probabilities, and the loss after every answer.
    """
    rows: list[tuple[tuple[int, ...], Spent, float, float, list[tuple[Spent, float]]]] = [((), Spent(), 0.0, 0.0, [])]
    while rows:
        seen, spent, p, q, path = rows.pop()
        epsilon = ASKED[hash((seed, seen)) % len(ASKED)]  # it depends on every answer so far
        after = spent.after(epsilon, 0)
        if len(seen) == DEEP or not admits(after):
            yield spent, p, q, path
            continue
        truth, lie = -math.log1p(math.exp(-epsilon)), -math.log1p(math.exp(epsilon))
        for answer, (mine, yours) in enumerate([(truth, lie), (lie, truth)]):
            line = [*path, (after, p + mine - q - yours)]
            rows.append(((*seen, answer), after, p + mine, q + yours, line))


@given(st.integers(0, 10**6), st.fractions(Fraction(1, 2), 4, max_denominator=20), st.sampled_from([0.3, 0.1, 0.01]))
def test_nobody_gets_beyond_a_filter_by_choosing_after_seeing(seed: int, epsilon: Fraction, delta: float) -> None:
    budget = Filter(epsilon, Fraction(delta), reserve=Fraction(0))
    ends = list(outcomes(seed, lambda spent: budget._within(spent)))
    assert abs(sum(math.exp(p) for _, p, _, _ in ends) - 1) < ROUNDING
    beyond = sum(max(0.0, math.exp(p) - math.exp(float(epsilon) + q)) for _, p, q, _ in ends)
    assert beyond <= delta + ROUNDING


@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.3, 0.1]))
def test_an_odometer_is_never_overtaken_but_with_probability_delta(seed: int, delta: float) -> None:
    @cache
    def reading(spent: Spent) -> float:
        return Odometer(Fraction(delta), spent).epsilon.high + ROUNDING

    def overtaken(path: list[tuple[Spent, float]]) -> bool:
        return any(loss > reading(spent) for spent, loss in path)

    ends = outcomes(seed, lambda spent: True)
    assert sum(math.exp(p) for _, p, _, path in ends if overtaken(path)) <= delta + ROUNDING


@given(st.lists(st.tuples(st.sampled_from([Fraction(1, 10), Fraction(1, 2)]), losses), min_size=1, max_size=6), slacks)
def test_a_reading_is_at_most_the_sum_and_a_bound_for_what_ran(parts: list[tuple[Fraction, Fraction]], slack: Fraction) -> None:
    meter = Odometer(slack)
    for part in parts:
        meter = meter.spend(*part)
    reading = meter.epsilon
    assert reading.high <= float(sum(e for e, _ in parts)) * (1 + 1e-12)
    assert account(Compose([Guarantee(*part) for part in parts])).delta(reading.high).high <= meter.delta


@given(st.lists(st.tuples(st.lists(st.booleans(), min_size=4, max_size=4), st.lists(st.integers(0, 3), min_size=4, max_size=4)),
                max_size=6))  # fmt: skip
def test_each_user_reads_what_an_odometer_of_her_own_reads(epochs: list[tuple[list[bool], list[int]]]) -> None:
    meters, own = UserOdometers.fresh(4, KINDS, SLACK), [Odometer(SLACK)] * 4
    for changed, votes in epochs:
        meters = meters.epoch({0: changed, 1: votes})
        for user in range(4):
            for guarantee in [KINDS[0]] * changed[user] + [KINDS[1]] * votes[user]:
                own[user] = own[user].spend(*guarantee)
    assert [meters.of(user) for user in range(4)] == own
    assert meters.epsilon.tolist() == [meter.epsilon.high for meter in own]
    assert meters.epochs == len(epochs)
    assert all(meters.worst.epsilon.high >= meter.epsilon.high and meters.worst.delta >= meter.delta for meter in own)


def test_a_million_users_read_by_their_own_number_of_changes() -> None:
    changes = np.random.default_rng(0).binomial(100, 0.05, 10**6)
    before = UserOdometers.fresh(10**6, [(Fraction(1, 4), 0)])
    assert np.array_equal(before.epoch({0: changes}).epsilon, changes / 4)
    assert not before.counts.any(), "the earlier table is as it was"


def test_a_run_that_was_saved_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(1), tmp_path / "meters"
    straight = halted = UserOdometers.fresh(1000, KINDS, SLACK)
    for _ in range(5):
        draws = {0: rng.random(1000) < 0.1, 1: rng.integers(0, 3, 1000)}
        straight, halted = straight.epoch(draws), halted.epoch(draws)
        halted.save(path)
        halted = UserOdometers.load(path)
    assert np.array_equal(straight.counts, halted.counts)
    assert (straight.guarantees, straight.slack, straight.epochs) == (halted.guarantees, halted.slack, halted.epochs)
    assert [file.name for file in tmp_path.iterdir()] == ["meters"]


@pytest.mark.parametrize("change", [
    lambda b: b[:-8], lambda b: b + bytes(8), lambda b: b[:-1] + b"\x01", lambda b: b.replace(b"1/3", b"1/4"),
    lambda b: b.replace(b'"epochs": 1', b'"epochs": 0'), lambda b: b"", lambda b: b"[]\n",
    lambda b: b'{"guarantees": [["1/0", "0"]]}\n',
    lambda b: b.replace(b"user-odometers/1", b"user-odometers/9"),
])  # fmt: skip
def test_a_table_that_was_cut_or_changed_is_refused(tmp_path: Path, change: object) -> None:
    path = tmp_path / "meters"
    UserOdometers.fresh(3, KINDS, SLACK).epoch({0: [True, False, True]}).save(path)
    path.write_bytes(change(path.read_bytes()))  # type: ignore[operator]
    raises(ValueError, "needs a whole table of schema", UserOdometers.load, path)


def test_the_number_of_users_is_read_before_the_counts_are(tmp_path: Path) -> None:
    path = tmp_path / "meters"
    path.write_text(json.dumps({"users": 10**15, "guarantees": [["1", "0"]]}) + "\n")
    raises(ValueError, "needs 8000000000000000 bytes of counts", UserOdometers.load, path)
