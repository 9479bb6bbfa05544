"""Whole systems in one run: the theorem, its level, and what its audits find."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import ldpaudit as ldp
from ldpaudit.attacks.blackbox.one_run import audit_one_run, audit_scores
from ldpaudit.attacks.bounds import one_run
from ldpaudit.attacks.bounds.binomial import BinomialTest
from ldpaudit.attacks.bounds.counts import Counts
from ldpaudit.attacks.bounds.level import bound_of
from ldpaudit.errors import ImplementationError, Unsupported
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch
from ldpaudit.mechanisms.gaussian import Gaussian
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter

ROUNDED = 2 * one_run.ROUNDING
PROGRAMMED = 1e-6
"""What the linear program is solved to, of its largest number."""
SEEDS = range(6)


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
def test_the_bound_is_the_value_of_a_linear_program(guesses: int, slack: float, epsilon: float) -> None:
    for right in range(1, guesses + 1):
        found, largest = p_value(right, guesses, guesses, slack / guesses, epsilon), most_right(guesses, slack, epsilon, right)
        if right / guesses > 1 / (1 + math.exp(-epsilon)):
            assert found == pytest.approx(largest, rel=PROGRAMMED, abs=PROGRAMMED)
        assert found >= largest - PROGRAMMED


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
    refuted = [test.refutes(Counts(k, canaries - k, canaries), epsilon) for k in range(canaries + 1)]
    least = refuted.index(True)
    assert all(refuted[least:])
    law = tight_law(canaries, canaries, delta, epsilon, least)
    assert 0.02 < law[least:].sum() <= 0.05


@given(
    st.lists(st.tuples(st.integers(1, 300), st.floats(0.01, 1), st.floats(0.01, 1)), min_size=1, max_size=6),
    st.floats(0, 3),
    st.sampled_from([1e-6, 1e-4, 1e-2]),
)
def test_the_level_holds_where_the_output_decides_how_many_are_guessed(
    kinds: list[tuple[int, float, float]], epsilon: float, delta: float
) -> None:
    # Each number of guesses has a probability and a part of the delta, and its right guesses the worst law that these allow.
    alpha, canaries, reached = 0.05, 300, 0.0
    total, parts = sum(p for _, p, _ in kinds), sum(d for _, _, d in kinds)
    for guesses, p, d in kinds:
        counts = np.arange(guesses + 1)
        values = one_run.p_values(counts, guesses - counts, canaries, delta, epsilon, one_run.SPENT_ON_DELTA)
        if (values > alpha).all():
            continue
        right = int(np.argmax(values <= alpha))
        p, d = p / total, d / parts
        worst = p_value(right, guesses, canaries, delta * d / p, epsilon)  # of this many guesses, delta is so much larger
        reached += p * worst
    assert reached <= alpha * (1 + ROUNDED)


def test_a_number_of_guesses_that_luck_decides_would_break_the_level_of_a_fixed_one() -> None:
    # Guesses of both kinds are at their own thresholds, and delta is spent where it is worth most.
    alpha, canaries, delta, epsilon = 0.05, 1000, 2e-3, 0.0
    many = [p_value(v, 1000, canaries, delta, epsilon) for v in range(1001)]
    few = [p_value(v, 1000, canaries, delta, epsilon, one_run.SPENT_ON_DELTA) for v in range(1001)]
    assert [p <= alpha for p in few].index(True) >= [p <= alpha for p in many].index(True)


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


# Systems, sound ones and broken ones. A sound one is audited at its certified epsilon.

WORDS = ["".join(letters) for letters in itertools.product("abcdefgh", repeat=3)]
OTHERS = [word for word in ("sun", "sea", "sky") for _ in range(700)]
TRIE = TrieHeavyHitter(users=len(OTHERS), batch=300, threshold=6, levels=3)
SKETCH = ldp.Shuffle(CountMeanSketch.for_epsilon(2, width=64, hashes=8, domain=1024), users=512)
PAIRS = [(2 * i, 2 * i + 1) for i in range(512)]
SUM = ldp.Aggregate(KaryRandomizedResponse.for_epsilon(3, k=1024), users=512)
FOUR = ldp.Shuffle(KaryRandomizedResponse.for_epsilon(2, k=4), users=512)
NOISE = Gaussian(sigma=Fraction(4), change=(1,))
VECTORS = [tuple((v / np.linalg.norm(v)).tolist()) for v in np.random.default_rng(0).normal(size=(200, 2000))]
DELTA = 1e-4


def trie(threshold: int = TRIE.threshold, first: bool = False) -> Callable[[Any, np.random.Generator], Any]:
    """As many users as there are; or a server that samples those who registered first."""

    def run(users: list[str], rng: np.random.Generator) -> Any:
        asked = users[: TRIE.batch] if first else users
        return replace(TRIE, users=len(asked), threshold=threshold).run(asked, rng)

    return run


def histogram(users: list[Any], rng: np.random.Generator, least: int = 25, noisy: bool = True) -> str:
    """A server's answer: counts with Laplace noise of scale 1 on those that somebody holds, if they are large."""
    counts = {word: n + (rng.laplace() if noisy else 0.0) for word, n in Counter(users).items()}
    return json.dumps({word: round(n, 2) for word, n in counts.items() if n >= least})


def vector_sum(sigma: float) -> Callable[[Any, np.random.Generator], Any]:
    return lambda users, rng: np.sum(users, axis=0) + rng.normal(0, sigma, len(VECTORS[0]))


def claimed(case: tuple[Any, ...]) -> float:
    """The epsilon that is claimed: a number, or what is certified of a plan."""
    return float(case[-1]) if isinstance(case[-1], int | float) else ldp.account(case[-1]).epsilon(DELTA).high


class Exact:
    """What a plan estimates, without any noise."""

    def __init__(self, plan: Any) -> None:
        self.mechanism = plan.plan.mechanism

    def run(self, users: list[int]) -> Any:
        return self.mechanism.truth(np.array(users))


def in_order(plan: Any) -> Callable[[Any, np.random.Generator], Any]:
    """Reports that nobody shuffles."""
    return lambda users, rng: [plan.plan.mechanism.sample(x, 1, rng)[0].tolist() for x in users]


def told(output: Any, pairs: Any) -> list[float]:
    """Whether the user's report of a sketch has the bit of either value."""
    sketch: Any = SKETCH.plan
    bits = ((row[1 + sketch.mechanism.bucket(x, row[0])] for x in pair) for row, pair in zip(output, pairs, strict=True))
    return [first - second for first, second in bits]


REPLACED: dict[str, Any] = {"neighbours": "replace-one"}
SOUND: dict[str, tuple[Any, Any, Any, dict[str, Any], Any]] = {
    "TrieHH": (trie(), WORDS, OTHERS, {}, TRIE),
    "a shuffled sketch": (SKETCH, PAIRS, (), REPLACED, SKETCH),
    "a sum of labels": (SUM, PAIRS, (), REPLACED, SUM),
    "a sum of vectors": (vector_sum(4), VECTORS, (), {}, NOISE),
    "a server": (histogram, WORDS, OTHERS, {}, 1.0),
}
BROKEN: dict[str, tuple[Any, Any, Any, dict[str, Any], Any]] = {
    "TrieHH with threshold 1": (trie(1), WORDS, OTHERS[:300], {}, 2),
    "TrieHH that samples the first": (trie(1, first=True), WORDS, OTHERS, {}, TRIE),
    "a sketch without noise": (Exact(SKETCH), PAIRS, (), REPLACED, SKETCH),
    "a sketch that is not shuffled": (in_order(SKETCH), PAIRS, (), {**REPLACED, "scores": told}, SKETCH),
    "a sum of labels without noise": (Exact(SUM), PAIRS, (), REPLACED, 2),
    "reports in the order of users": (in_order(FOUR), [(0, 1)] * 512, (), REPLACED, FOUR),
    "a sum of vectors with an eighth of the noise": (vector_sum(0.5), VECTORS, (), {}, NOISE),
    "a server that shows who is alone": (partial(histogram, least=0), WORDS, OTHERS, {}, 1.0),
    "a server without noise": (partial(histogram, least=0, noisy=False), WORDS, (), {}, 3),
}


def bounds(case: tuple[Any, Any, Any, dict[str, Any], Any]) -> list[float]:
    system, canaries, others, options, _ = case
    return [audit_one_run(system, canaries, others, delta=DELTA, seed=seed, **options).epsilon_lower for seed in SEEDS]


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_system_is_not_refuted(name: str) -> None:
    assert sum(bound > claimed(SOUND[name]) for bound in bounds(SOUND[name])) <= 1  # at most 5 % are


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_system_is_refuted(name: str) -> None:
    assert min(bounds(BROKEN[name])) > claimed(BROKEN[name])


def test_the_local_model_in_order_is_told_as_by_as_many_runs() -> None:
    m, users = KaryRandomizedResponse.for_epsilon(1, k=2), 20_000
    system, canaries = in_order(ldp.Shuffle(m, users)), [(0, 1)] * users
    found = audit_one_run(system, canaries, epsilon=0.9, **REPLACED)
    assert found.guesses == users
    assert found.refutes(0.9)
    assert not found.refutes(1.0)
    assert found.trials == 2 * users


def test_evidence_gives_its_bound_again() -> None:
    for guesses in (None, (100, 50)):
        found = audit_one_run(vector_sum(2), VECTORS, epsilon=1, delta=DELTA, guesses=guesses)
        assert found.one_run
        assert bound_of(found) == found.epsilon_lower
        assert found.p_value is not None
        assert (found.p_value <= 0.05) == found.refutes(1)


def test_scores_and_guesses_that_are_given_need_one_run() -> None:
    runs: list[int] = []

    def system(users: list[int]) -> list[int]:
        runs.append(len(users))
        return users

    found = audit_one_run(system, range(200), scores=lambda output, canaries: np.isin(canaries, output), guesses=100)
    assert len(runs) == 1
    assert (found.guesses, found.trials, found.seed) == (100, 200, None)
    assert found.epsilon_lower == BinomialTest(2, 1 - 0.95).epsilon_lower(Counts(100, 0, 200)) or found.right < 100


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


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
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
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], error: type[Exception], words: str) -> None:
    given: dict[str, Any] = {"system": lambda users: users, "canaries": ["a", "b", "c"], **change}
    with pytest.raises(error, match=words):
        audit_one_run(**given)
    with pytest.raises(ValueError, match="True and False"):
        audit_scores([1, 2], [0.5, 1], 1)
