"""Whole systems in one run: the theorem, its level, and what its audits find."""

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, strategies as st
from scipy import optimize, stats

import ldpaudit as ldp
from benchmarks.one_run import CASES, DELTA, REPLACED, SEEDS, VECTORS, Case, in_order, vector_sum
from ldpaudit.attacks.blackbox.one_run import audit_one_run, audit_scores
from ldpaudit.attacks.bounds import one_run
from ldpaudit.attacks.bounds.binomial import BinomialTest
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.level import bound_of
from ldpaudit.errors import ImplementationError, Unsupported
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from tests.helpers import raises, some

ROUNDED = 2 * one_run.ROUNDING
PROGRAMMED = 1e-6
"""What the linear program is solved to, of its largest number."""


def p_value(right: int, guesses: int, canaries: int, share: float, epsilon: float, spent: float = 0.0) -> float:
    return float(one_run.p_values(right, guesses - right, canaries, share, epsilon, spent))


def most_right(guesses: int, slack: float, epsilon: float, right: int) -> float:
    """The largest probability of so many right guesses: a linear program in their law, as the recursion restricts it."""
    n, grows = guesses, math.exp(epsilon)
    rows = np.zeros((n + 1, 2 * n + 1))
    for k in range(n):
        rows[k, [k + 1, k, n + 1 + k]] = k + 1, -grows * (n - k), -1
    rows[n, n + 1 :] = 1
    wanted = -(np.arange(2 * n + 1) >= right).astype(float) * (np.arange(2 * n + 1) <= n)
    total = (np.arange(2 * n + 1) <= n).astype(float)[None]
    found = optimize.linprog(wanted, rows, np.append(np.zeros(n), slack), total, [1])
    assert found.success
    return -float(found.fun)


@pytest.mark.parametrize(
    ("guesses", "slack", "epsilon"), [(1, 0.1, 0.0), (5, 0.05, 0.5), (8, 0.06, 1.0), (12, 0.6, 0.2), (20, 0.01, 2.0)]
)
def test_the_bound_is_the_worst_law_of_right_guesses(guesses: int, slack: float, epsilon: float) -> None:
    for right in range(1, guesses + 1):
        found, largest = p_value(right, guesses, guesses, slack / guesses, epsilon), most_right(guesses, slack, epsilon, right)
        if right / guesses > 1 / (1 + math.exp(-epsilon)):
            assert found == pytest.approx(largest, rel=PROGRAMMED, abs=PROGRAMMED)
        assert found >= largest - PROGRAMMED


@pytest.mark.parametrize(("canaries", "guesses", "sides", "right"), [
    (1, 1, 2, 1), (2, 1, 2, 1), (2, 2, 2, 2), (3, 2, 2, 2), (3, 3, 2, 2), (3, 3, 2, 3), (2, 1, 1, 1), (4, 2, 1, 2),
])  # fmt: skip
def test_no_private_system_does_better_and_one_does_as_well(canaries: int, guesses: int, sides: int, right: int) -> None:
    # A linear program in the probability of each answer on each outcome of the coins, and in what delta pays for.
    delta, grows = 0.02, math.exp(0.3)
    coins = list(itertools.product((1, -1), repeat=canaries))
    said = [y for y in itertools.product((1, 0, -1)[: 1 + sides], repeat=canaries) if np.count_nonzero(y) == guesses]
    pairs = [(a, b) for a, x in enumerate(coins) for b, y in enumerate(coins) if np.not_equal(x, y).sum() == 1]
    n = len(coins) * len(said)
    limits = np.zeros((len(pairs) * (len(said) + 1), n + len(pairs) * len(said)))
    rows = iter(limits)
    for k, (a, b) in enumerate(pairs):
        paid = n + k * len(said)
        for y in range(len(said)):
            next(rows)[[a * len(said) + y, b * len(said) + y, paid + y]] = 1, -grows, -1
        next(rows)[paid : paid + len(said)] = 1
    most = np.tile([0.0] * len(said) + [delta], len(pairs))
    total = np.zeros((len(coins), limits.shape[1]))
    total[:, :n] = np.repeat(np.eye(len(coins)), len(said), axis=1)
    wins = np.array([[np.sum((np.array(y) == x) & (np.array(y) != 0)) >= right for y in said] for x in coins])
    wanted = np.append(wins.ravel() / -len(coins), np.zeros(limits.shape[1] - n))
    found = optimize.linprog(wanted, limits, most, total, np.ones(len(coins)))
    assert found.success
    bound = p_value(right, guesses, canaries, delta * sides / 2, 0.3)
    assert -found.fun <= bound + PROGRAMMED
    if sides == 2:
        assert bound == pytest.approx(-found.fun, rel=PROGRAMMED)


def tight_law(guesses: int, canaries: int, delta: float, epsilon: float, right: int) -> np.ndarray[Any, Any]:
    """How many guesses are right in the system that attains the bound."""
    share = 1 / (1 + math.exp(-epsilon))
    law = stats.binom.pmf(np.arange(guesses + 1), guesses, share)
    tail = law[right:].sum()
    more = canaries * delta / (right * law[right])
    assert more * tail <= 1
    found: np.ndarray[Any, Any] = law * np.where(np.arange(guesses + 1) >= right, 1 + more * (1 - tail), 1 - more * tail)
    return found


@pytest.mark.parametrize(("canaries", "guesses", "right"), [(3, 3, 2), (3, 3, 3), (4, 2, 2), (4, 3, 3)])
def test_a_private_system_attains_the_bound(canaries: int, guesses: int, right: int) -> None:
    delta, epsilon = 0.01, 0.5
    law = tight_law(guesses, canaries, delta, epsilon, right)
    sides = list(itertools.product((0, 1), repeat=canaries))
    chosen, answers = itertools.combinations(range(canaries), guesses), list(itertools.product((0, 1), repeat=guesses))
    outputs = [(guessed, said) for guessed in chosen for said in answers]

    def probability(coins: tuple[int, ...], output: Any) -> float:
        guessed, said = output
        k = sum(coins[i] == x for i, x in zip(guessed, said, strict=True))
        return float(law[k]) / math.comb(guesses, k) / math.comb(canaries, guesses)

    worst = max(
        sum(max(probability(a, y) - math.exp(epsilon) * probability(b, y), 0) for y in outputs)
        for a in sides
        for b in sides
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    )
    assert worst == pytest.approx(delta, rel=1e-9)
    assert law[right:].sum() == pytest.approx(p_value(right, guesses, canaries, delta, epsilon), rel=ROUNDED)


@pytest.mark.parametrize(("canaries", "delta"), [(100, 0.0), (100, 1e-4), (1000, 1e-3)])
def test_the_level_holds_for_systems_that_attain_the_bound(canaries: int, delta: float) -> None:
    epsilon, test = 1.0, one_run.OneRunTest(delta, 0.05)
    k = np.arange(canaries + 1)
    refuted = one_run.p_values(k, canaries - k, canaries, delta, epsilon) <= test.alpha
    least = int(np.argmax(refuted))
    assert refuted[least:].all()
    assert [test.refutes(Counts(k, canaries - k, canaries), epsilon) for k in (least - 1, least, canaries)] == [False, True, True]
    assert 0.02 < tight_law(canaries, canaries, delta, epsilon, least)[least:].sum() <= 0.05


def test_the_level_holds_where_the_output_decides_how_many_are_guessed() -> None:
    # The worst system guesses one number nearly always, and another one rarely, where it spends all of delta.
    alpha, canaries, spent, reached = 0.05, 300, one_run.SPENT_ON_DELTA, []
    for epsilon, delta in itertools.product((0.0, 0.7, 2.0), (1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3)):
        guesses, share = np.arange(1, canaries + 1), 1 / (1 + math.exp(-epsilon))
        below, right = np.zeros_like(guesses), guesses + 1  # the p-values fall: the fewest right ones that refute, by halving
        while (right - below > 1).any():
            middle = np.minimum((below + right) // 2, guesses)
            refuted = one_run.p_values(middle, guesses - middle, canaries, delta, epsilon, spent) <= alpha
            below, right = np.where(refuted, below, middle), np.where(refuted, middle, right)
        right, guesses = right[right <= guesses], guesses[right <= guesses]
        tails = stats.binom.sf(right - 1, guesses, share)
        paid = canaries * delta * tails * (1 - tails) / (right * stats.binom.pmf(right, guesses, share))
        reached.append(tails.max() + paid.max())
    assert 0.98 * alpha < max(reached) <= alpha


@given(st.integers(1, 200), st.integers(0, 200), st.floats(0, 4), st.sampled_from([0.0, 1e-6, 1e-3]), st.sampled_from([0.0, 0.1]))
def test_p_values_fall_with_right_guesses_and_grow_with_epsilon_and_delta(
    guesses: int, more: int, epsilon: float, delta: float, spent: float
) -> None:
    canaries = guesses + more
    values = np.array([p_value(v, guesses, canaries, delta, epsilon, spent) for v in range(guesses + 1)])
    assert values[0] == 1
    assert (np.diff(values) <= 1e-12).all()
    for other in (
        [p_value(v, guesses, canaries, delta, epsilon + 0.1, spent) for v in range(guesses + 1)],
        [p_value(v, guesses, canaries, delta + 1e-4, epsilon, spent) for v in range(guesses + 1)],
        [p_value(v, guesses, canaries + 1, delta, epsilon, spent) for v in range(guesses + 1)],
    ):
        assert (np.array(other) >= values * (1 - 1e-9)).all()


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from([0.0, 1e-7, 1e-4]), st.sampled_from([0.0, 0.1]))
def test_the_bound_is_where_the_p_value_crosses_alpha(right: int, wrong: int, delta: float, spent: float) -> None:
    test, counts = one_run.OneRunTest(delta, 0.05, spent if delta else 0.0), Counts(right, wrong, 700)
    bound = test.epsilon_lower(counts)
    assert test.p_value(counts, bound + 1e-6) > 0.05 * (1 - 1e-6)
    assert not bound or test.p_value(counts, bound - 1e-9) <= 0.05 * (1 + 1e-6)
    if not delta:
        assert bound == BinomialTest(2, 0.05).epsilon_lower(counts)


@pytest.mark.parametrize(
    ("right", "wrong", "epsilon"), [(9, 1, 0.5), (990, 10, 3.0), (60_000, 40_000, 0.4), (900_000, 100_000, 2.19), (4000, 0, 0.0)]
)
def test_numbers_contain_those_of_ball_arithmetic(right: int, wrong: int, epsilon: float) -> None:
    guesses, delta = right + wrong, 1e-7
    with_bits, ctx.prec = ctx.prec, 300
    try:
        q = 1 / (1 + (-arb(epsilon)).exp())
        tail = arb(0)
        mass = term = arb.bin_uiui(guesses, right) * q**right * (1 - q) ** wrong
        for k in range(right, guesses + 1):
            tail += term
            term *= (q / (1 - q)) * (guesses - k) / (k + 1)
            if term < mass * arb(2) ** -80:
                break
        exact = float(tail + guesses * arb(delta) * tail * (1 - tail) / (right * mass))
    finally:
        ctx.prec = with_bits
    found = p_value(right, guesses, guesses, delta, epsilon)
    assert exact <= found <= exact * (1 + ROUNDED) or found == 1 or exact < 1e-290


def test_it_is_sharper_than_the_published_bound() -> None:
    def published(m: int, r: int, v: int, epsilon: float, delta: float) -> float:  # Steinke, Nasr, Jagielski 2023, Theorem 5.2
        law = stats.binom(r, 1 / (1 + math.exp(-epsilon)))
        gains = (law.sf(v - 1 - i) - law.sf(v - 1) for i in range(1, v + 1))
        return float(law.sf(v - 1) + 2 * m * delta * max(gain / i for i, gain in enumerate(gains, 1)))

    for m, r, v, epsilon, delta in ((1000, 1000, 800, 1.2, 1e-5), (1000, 100, 95, 2.0, 1e-4), (100_000, 1000, 990, 3.0, 1e-6)):
        assert p_value(v, r, m, delta, epsilon) < published(m, r, v, epsilon, delta)


@pytest.mark.few(8)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_broken_system_is_refuted_and_a_sound_one_is_not(case: Case) -> None:
    claimed = case.claimed
    refuted = [each.epsilon_lower > claimed for each in case.audits(SEEDS if case.sound else SEEDS[:3])]
    assert sum(refuted) <= 1 if case.sound else all(refuted)  # of sound ones at most 5 % are


def test_the_local_model_in_order_is_told_as_by_as_many_runs() -> None:
    m, users = KaryRandomizedResponse.for_epsilon(1, k=2), 6_000
    system, canaries = in_order(ldp.Shuffle(m, users)), [(0, 1)] * users
    found = audit_one_run(system, canaries, epsilon=0.9, **REPLACED)
    assert found.guesses == users
    assert found.refutes(0.9)
    assert not found.refutes(1.0)
    assert found.trials == 2 * users


def test_evidence_gives_its_bound_again() -> None:
    for guesses, spent in ((None, one_run.SPENT_ON_DELTA), ((100, 50), 0.0), ((60, 0), 0.0)):
        found = audit_one_run(vector_sum(2), VECTORS, epsilon=1, delta=DELTA, guesses=guesses)
        counts = Counts(found.right, found.guesses - found.right, len(VECTORS))
        sides = found.event.count("means") if guesses is None else sum(n > 0 for n in guesses)
        assert found.one_run
        assert (found.directions, found.trials) == (sides, 2 * len(VECTORS))
        assert bound_of(found) == found.epsilon_lower
        assert found.epsilon_lower == one_run.OneRunTest(DELTA * sides / 2, 1 - 0.95, spent).epsilon_lower(counts)
        assert (some(found.p_value) <= 0.05) == found.refutes(1)


def test_scores_and_guesses_that_are_given_need_one_run() -> None:
    runs: list[int] = []

    def system(users: list[int]) -> list[int]:
        runs.append(len(users))
        return users

    found = audit_one_run(system, range(200), scores=lambda output, canaries: np.isin(canaries, output), guesses=100)
    assert len(runs) == 1
    assert (found.guesses, found.trials, found.seed) == (100, 200, None)
    assert found.epsilon_lower == BinomialTest(2, 1 - 0.95).epsilon_lower(Counts(100, 0, 200)) or found.right < 100


NUMBERS, LETTERS = range(60), [f"{chr(97 + i // 8)}{chr(97 + i % 8)}z" for i in range(60)]
POINTS = [tuple(row) for row in np.eye(60, dtype=int).tolist()]
INNER = "the inner product with the output"
FORMS: dict[str, tuple[Callable[[list[Any]], Any], Any, str]] = {
    "text": (" ".join, LETTERS, "the count in the text"),
    "bytes": (lambda users: " ".join(users).encode(), LETTERS, "the count in the text"),
    "a set": (frozenset, LETTERS, "the count in the output"),
    "a table": (lambda users: {word: users.count(word) / 2 for word in LETTERS}, LETTERS, "the number beside it"),
    "a table in JSON": (lambda users: json.dumps({n: users.count(n) for n in NUMBERS}), NUMBERS, "the number beside it"),
    "pairs": (lambda users: [(word, users.count(word)) for word in LETTERS], LETTERS, "the number beside it"),
    "pairs of those who are there": (lambda users: {(word, 0.0) for word in users}, LETTERS, "the count in the output"),
    "an array": (lambda users: np.bincount(users, minlength=60) * 0.5, NUMBERS, "the number at its index"),
    "a vector": (lambda users: np.sum(users, axis=0), POINTS, INNER),
    "rows": (lambda users: np.sum(users, axis=0) - np.ones((3, 60)), POINTS, f"{INNER}, of the sum of the reports"),
    "prefixes": (lambda users: {word[:2] for word in users}, LETTERS, "the length of the longest prefix in the output"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_output_is_looked_into(form: str) -> None:
    system, canaries, measure = FORMS[form]
    found = audit_one_run(system, canaries)
    assert found.right == found.guesses == 60
    assert found.event.startswith(f"{measure} of 60 canaries: ")


def test_the_direction_of_a_measure_is_learned() -> None:
    words = {f"word {i}" for i in range(300)}
    found = audit_one_run(lambda users: sorted(words - set(users)), sorted(words))
    assert found.right == found.guesses == 300
    assert "minus the" in found.event


@given(st.integers(1, 60), st.data())
def test_scores_of_another_s_run_are_counted_from_both_ends(n: int, data: st.DataObject) -> None:
    scores = data.draw(st.permutations(range(n)))
    held = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    most = data.draw(st.integers(0, n))
    least = data.draw(st.integers(0 if most else 1, n - most))
    if most + least == 0:
        return
    found = audit_scores(scores, held, (most, least))
    right = sum(held[i] == (scores[i] >= n - most) for i in range(n) if scores[i] >= n - most or scores[i] < least)
    assert (found.right, found.guesses, found.measured) == (right, most + least, n)
    assert found.directions == (most > 0) + (least > 0)


@pytest.mark.parametrize(("change", "error", "words"), [
    ({"canaries": []}, ValueError, "1 to 10000000 canaries, got 0"),
    ({"neighbours": "user-level"}, ValueError, "add-remove or replace-one, got user-level"),
    ({"neighbours": "replace-one"}, ValueError, "pairs of values as canaries that are replaced, got 'a'"),
    ({"guesses": 4}, ValueError, "1 to 3 guesses, in all or as a pair, got 4"),
    ({"guesses": (-1, 2)}, ValueError, "got \\(-1, 2\\)"),
    ({"learning": 0}, ValueError, "learning >= 1, got 0"),
    ({"delta": 1}, ValueError, "delta < 1, got 1"),
    ({"system": 3}, TypeError, "a system that can be called, or one with a method run, got int"),
    ({"system": lambda users: None}, ImplementationError, "got None"),
    ({"system": lambda users: 1 / 0}, ImplementationError, "ZeroDivisionError"),
    ({"system": lambda users: Fraction}, Unsupported, "scores are needed"),
    ({"scores": lambda output, canaries: [1]}, ValueError, "3 scores that are numbers"),
])  # fmt: skip
def test_what_is_wrong_is_said(change: dict[str, Any], error: type[Exception], words: str) -> None:
    given: dict[str, Any] = {"system": lambda users: users, "canaries": ["a", "b", "c"], **change}
    raises(error, words, audit_one_run, **given)
    raises(ValueError, "True and False", audit_scores, [1, 2], [0.5, 1], 1)
