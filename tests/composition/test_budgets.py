"""Filters against their budgets and odometers, of one user or of many, against their readings, where what is next was chosen."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit.accountants import account
from ldpaudit.accountants.composition.divergences import concentrated_epsilon
from ldpaudit.accountants.composition.filters import BudgetExceeded, Filter, Odometer, Spent, largest_rho
from ldpaudit.accountants.composition.users import UserOdometers
from ldpaudit.plan import Compose, Guarantee

lengths = st.fractions(Fraction(1, 1000), 2, max_denominator=1000)
slacks = st.sampled_from([Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**12)])
losses = st.sampled_from([Fraction(0), Fraction(1, 10**9)])
parts = st.lists(st.tuples(st.fractions(0, 1, max_denominator=50), losses), max_size=12)

ROUNDING = 1e-12  # what enumeration in floats may be off by: fewer than 2**10 terms, each at most 1
DEEP = 8  # answers that are seen one after the other

Choice = Callable[[tuple[int, ...]], Fraction]


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
            with pytest.raises(BudgetExceeded, match="admits epsilon <="):
                budget.spend(e, d)
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
    assert float(e) * (1 - 1e-12) <= concentrated_epsilon(rho, slack).high <= float(e) * (1 + 1e-12)


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
    assert budget.spent.epsilon > 10
    assert 3 < Odometer(Fraction(1, 10**6), Spent(Fraction(20), Fraction(1, 5))).epsilon.high < 4
    assert concentrated_epsilon(budget.spent.rho, Fraction(1, 2 * 10**6)).high <= 1  # the reserve keeps half


def choices(seed: int) -> Choice:
    """What an adversary asks next: it depends on every answer so far."""
    lengths = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(3, 2))
    return lambda seen: lengths[hash((seed, seen)) % len(lengths)]


def outcomes(seed: int, admits: Callable[[Spent], bool]) -> Iterator[tuple[Spent, float, float, list[tuple[Spent, float]]]]:
    """All transcripts of randomized responses that an adversary chooses one after the other, until one is not admitted.

    With what is spent, the logarithms of both probabilities, and the loss after every answer.
    """
    choose = choices(seed)
    rows: list[tuple[tuple[int, ...], Spent, float, float, list[tuple[Spent, float]]]] = [((), Spent(), 0.0, 0.0, [])]
    while rows:
        seen, spent, p, q, path = rows.pop()
        epsilon = choose(seen)
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


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Filter(Fraction(-1)), "epsilon >= 0"),
        (lambda: Filter(Fraction(1), Fraction(1)), "delta < 1"),
        (lambda: Filter(Fraction(1), Fraction(1, 10), reserve=Fraction(1, 5)), "reserve <= delta"),
        (lambda: Filter(Fraction(1), spent=Spent(Fraction(2), Fraction(2))), "within the budget"),
        (lambda: Filter(Fraction(1)).spend(-1), "a guarantee needs"),
        (lambda: Filter(Fraction(1)).spend(math.inf), "a guarantee needs"),
        (lambda: Filter(Fraction(1)).spend(0, 0.1), "delta <= 0 now"),
        (lambda: Odometer(Fraction(2)), "slack < 1"),
    ],
)
def test_what_is_required_is_named(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


KINDS = [(Fraction(1, 3), Fraction(0)), (Fraction(1, 50), Fraction(1, 10**9))]
SLACK = Fraction(1, 10**6)


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
    with pytest.raises(ValueError, match="needs a whole table of schema"):
        UserOdometers.load(path)


def test_the_number_of_users_is_read_before_the_counts_are(tmp_path: Path) -> None:
    path = tmp_path / "meters"
    path.write_text(json.dumps({"users": 10**15, "guarantees": [["1", "0"]]}) + "\n")
    with pytest.raises(ValueError, match="needs 8000000000000000 bytes of counts"):
        UserOdometers.load(path)


@pytest.mark.parametrize(("kind", "draws", "message"), [
    (2, [True] * 3, "for a kind below 2"), (-1, [True] * 3, "for a kind below 2"), (0, [True] * 2, "of 3 users"),
    (0, [0.5] * 3, "Booleans or integers"), (0, [0, -1, 0], "from 0 to 2\\*\\*40 draws"),
])  # fmt: skip
def test_an_epoch_that_fits_nobody_is_refused(kind: int, draws: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UserOdometers.fresh(3, KINDS).epoch({kind: draws})


@pytest.mark.parametrize(("counts", "message"), [
    (np.zeros((2, 1), dtype=np.int64), "one column for each of 2"), (np.zeros((2, 2)), "int64 counts"),
    (np.zeros((0, 2), dtype=np.int64), "at least one user"), (np.full((1, 2), -1), "counts from 0"),
])  # fmt: skip
def test_what_is_no_table_is_refused(counts: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UserOdometers(tuple(KINDS), counts)
