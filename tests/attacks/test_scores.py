"""Scores of functions of unknown make: what a few views tell of many cells is told, and nothing else is."""

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from ldpaudit import audit
from ldpaudit.attacks.blackbox import target
from ldpaudit.attacks.blackbox.choosing import Candidate, _moved, surest
from ldpaudit.attacks.blackbox.counts import FeatureCounts
from ldpaudit.attacks.blackbox.encoding import encode
from ldpaudit.attacks.blackbox.scores import NOTHING, posteriors, ramps, ratios, sightings
from ldpaudit.attacks.blackbox.weights import parity_ratio, ramp_ratio, shared_ratios
from ldpaudit.attacks.bounds.binomial import epsilon_lower
from ldpaudit.attacks.games.two_inputs import GROUPS, Prospect, ScoreLaw, ThresholdRule
from ldpaudit.evidence import Form, Mode
from ldpaudit.mechanisms import BucketHeavyHitter, CountMeanSketch, HadamardCountMeanSketch, Laplace, LaplaceHistogram
from ldpaudit.mechanisms.shared.linear_codes.hadamard import parity
from ldpaudit.workers.experiment import Experiment, Reading

VIEWS = 20_000
SURE = 0.99
"""Confidence where a bound must not exceed the truth: such a test fails by luck for one seed in a hundred."""


def test_a_ramp_is_the_loss_of_laplace_noise() -> None:
    rng = np.random.default_rng(1)
    cells = np.linspace(-0.5, 1.5, 31)
    first, second = (
        np.bincount(np.searchsorted(cells, x + rng.laplace(scale=0.5, size=VIEWS)), minlength=32).astype(float) for x in (0, 1)
    )
    ratio = ramp_ratio(first, second, cells)
    middles = np.concatenate([[-1], (cells[1:] + cells[:-1]) / 2, [2]])
    assert np.abs(ratio - np.clip(2 * (1 - 2 * middles), -2, 2)).max() < 0.3
    assert np.all(np.diff(ratio) <= 1e-12)
    assert np.allclose(ramp_ratio(second, first, cells), -ratio)


def test_there_is_no_ramp_between_fewer_than_two_numbers_or_beyond_all() -> None:
    counts = np.array([5.0, 7.0])
    assert not ramp_ratio(counts, counts[::-1], np.array([1.0])).any()
    assert not ramp_ratio(np.ones(3), np.arange(3.0), np.array([0.0, np.finfo(np.float64).max])).any()
    assert np.isfinite(ramp_ratio(np.ones(3), np.arange(3.0), np.array([2**62, 2**62 + 1]))).all()


def coefficient(x: int, size: int, rng: np.random.Generator) -> Any:
    """A noisy coefficient of a transform and its index, in lists and in tuples at random."""
    index = rng.integers(0, 8, size)
    bit = parity(index & x) ^ (rng.random(size) < 1 / (1 + math.exp(3)))
    rows = zip(index.tolist(), bit.astype(int).tolist(), (rng.random(size) < 0.5).tolist(), strict=True)
    return [[i, b] if listed else (i, b) for i, b, listed in rows]


def test_each_score_of_reports_of_two_forms_has_a_name_of_its_own() -> None:
    rng = np.random.default_rng(4)
    book = FeatureCounts.of([encode(coefficient(x, 300, rng), 300, x) for x in (0, 1)])
    assert len(book.shapes) == 2
    for make in (ratios, ramps, posteriors, sightings):
        names = [score.name for score in make(book, 0, 1)]
        assert len(set(names)) == len(names)


def test_what_reports_of_two_forms_show_together_is_refuted_by_the_first_event() -> None:
    for seed in range(2):
        evidence = audit(coefficient, inputs=[0, 1], epsilon=1.0, trials=6_000, seed=seed)
        assert evidence.refutes(1.0)
        assert evidence.trials < 1_000


def test_a_parity_is_found_for_each_side_of_a_coin() -> None:
    rng = np.random.default_rng(2)
    bias, sides, patterns = 0.6, 8, 32
    sets = rng.integers(1, patterns, (2, sides))
    odd = rng.choice([-1, 1], (2, sides))  # some sets are made odd
    tables = []
    for own, sign in zip(sets, odd, strict=True):
        side, bits = rng.integers(0, sides, 4_000), rng.integers(0, patterns, 4_000)
        kept = rng.random(4_000) < (1 + bias * sign[side] * np.where(parity(bits & own[side]), -1, 1)) / 2
        tables.append(np.bincount((side * patterns + bits)[kept], minlength=sides * patterns + 1).astype(float))
    ratio = parity_ratio(tables[0], tables[1], sides)
    every = np.arange(patterns)
    signs = [
        np.array([sign * np.where(parity(every & s), -1, 1) for s, sign in zip(*each, strict=True)])
        for each in zip(sets, odd, strict=True)
    ]
    loss = (np.log1p(bias * signs[0]) - np.log1p(bias * signs[1])).ravel()
    assert np.abs(ratio[:-1] - loss).max() < 0.3
    assert ratio[-1] == 0


def test_what_cells_share_is_believed_whole_and_what_luck_does_is_not() -> None:
    rng = np.random.default_rng(3)
    truth = np.repeat([1.0, -1.0, 0.0], [10, 10, 180])
    total = np.full(200, 150)
    first = rng.binomial(total, 1 / (1 + np.exp(-truth))).astype(float)
    (ratio,) = shared_ratios([first], [total - first])
    raw = np.log(first) - np.log(total - first)
    assert np.abs(ratio[:20] - truth[:20]).max() < 0.15 < np.abs(raw[:20] - truth[:20]).max()
    assert np.abs(ratio[20:]).mean() < 0.03 < 0.1 < np.abs(raw[20:]).mean()
    assert np.ptp(ratio[:10]) < 0.1 < np.ptp(raw[:10])


def test_a_doubtful_cell_counts_as_little_as_it_would_win() -> None:
    often = np.array([500.0, 500, 500, 0, 0, 0, 100, 100, 3])
    (odds,) = shared_ratios([often], [np.array([0.0, 0, 0, 500, 500, 500, 100, 100, 0])])
    assert 0 < odds[8] < 4 < 6 < odds[:3].min()
    assert odds[3:6].max() < -6


def test_an_event_moves_with_the_scores_and_takes_in_what_they_have_become_sure_of() -> None:
    first, second = np.array([3.0, 3, 3, 1, 0]), np.array([-3.0, -3, 0, 0, 0])
    trial = Candidate((0, 1), NOTHING, first, second, refitted=True)
    event = ThresholdRule(2.0, -2.0)
    assert _moved(event, trial, first / 2, second / 2) == ThresholdRule(1.0, -0.75)
    assert _moved(event, trial, first, np.array([-3.0, -3, -2.5, 0, 0])) == ThresholdRule(2.0, -2.0)
    assert _moved(event, trial, np.zeros(5), np.zeros(5)) == event


@pytest.mark.parametrize("luck", [0.05, 1e-3, 1e-7, 1e-15])
@pytest.mark.parametrize("guesses", [*range(1, 60), 10**4])
def test_what_is_not_looked_at_would_promise_nothing(guesses: int, luck: float) -> None:
    right = np.arange(guesses + 1.0)
    promised = Prospect(0.0, 0.05, 10**9, luck).bound(right, np.full(guesses + 1, guesses), 10**4, np.array(0.0))
    sure = epsilon_lower(right, guesses - right, 10**4, np.zeros(guesses + 1), luck)
    assert not promised[sure == 0].any()
    assert np.all(promised[sure > 1e-3] > 0)


SAMPLERS: dict[str, tuple[float, Callable[[float], Any], tuple[Any, Any], int, float]] = {
    "Laplace noise": (5, Laplace.for_epsilon, (Fraction(0), Fraction(1)), 26_000, 0.94),
    "noise on each count": (2, lambda e: LaplaceHistogram.for_epsilon(e, k=8), (0, 1), 30_000, 0.92),
    "two noisy bits": (2, lambda e: BucketHeavyHitter.for_epsilon(e, domain=1 << 20, rows=2, trials=1), (2, 0), 30_000, 0.92),
    "noisy bits of a public hash": (2, lambda e: CountMeanSketch.for_epsilon(e, width=8, hashes=8, domain=50), (0, 3), 20_000, 0.9),
    "noisier bits of it": (1, lambda e: CountMeanSketch.for_epsilon(e, width=8, hashes=8, domain=50), (0, 3), 21_000, 0.9),
    "a noisy coefficient of it": (
        2, lambda e: HadamardCountMeanSketch.for_epsilon(e, width=16, hashes=32, domain=100), (0, 3), 20_000, 0.9,
    ),
}


@pytest.mark.parametrize("kind", SAMPLERS)
def test_a_function_of_unknown_make_shows_most_of_its_epsilon_on_few_views(kind: str) -> None:
    exact, make, pair, trials, share = SAMPLERS[kind]
    function: Callable[..., Any] = make(exact).sample
    options: dict[str, Any] = {"trials": trials, "confidence": SURE, "reading": Reading(Form.CANONICAL), "mode": Mode.FIXED}
    assert share * exact <= audit(function, inputs=list(pair), **options).epsilon_lower <= exact


@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize("users", [1, 2])
def test_what_is_learned_is_the_same_in_another_process(kind: str, users: int) -> None:
    exact, make, pair, _, _ = SAMPLERS[kind]
    experiment = Experiment(4_000, 0.95, seed=1)
    learned = target.target(make(exact).sample, list(pair), experiment, Reading(Form.CANONICAL, users)).target
    drawn = [t.draw(0, 200, np.random.default_rng(2)) for t in (learned, pickle.loads(pickle.dumps(learned)))]
    assert drawn[0].tolist() == drawn[1].tolist()
    assert drawn[0].any()


def test_more_is_learned_where_more_tells_more_or_a_score_told_nothing_yet() -> None:
    def remaining(function: Callable[..., Any], inputs: list[int], seed: int = 1) -> int:
        return target.target(function, inputs, Experiment(VIEWS, 0.95, seed)).remaining

    coarse = CountMeanSketch.for_epsilon(0.5, width=8, hashes=8, domain=50)
    sketch = HadamardCountMeanSketch.for_epsilon(1, width=16, hashes=32, domain=100)
    sigma = math.e / (1 + math.e)
    assert remaining(lambda x, size, rng: (rng.random(size) < sigma) == x, [0, 1]) >= 0.84 * VIEWS
    assert max(remaining(sketch.sample, [0, 3]), *(remaining(coarse.sample, [0, 3], seed) for seed in range(2))) <= 0.71 * VIEWS


def test_a_law_of_a_sum_of_scores_is_a_convolution_and_groups_count_all_views_from_their_least_score_up() -> None:
    one = ScoreLaw(np.array([2.0, 0.0, -1.0]), np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6]))
    for runs in (1, 2, 3, 5):
        found = one.times(runs)
        for score in (-5.0, -1.0, 0.0, 1.0, 3.0, 10.0):
            for law, each in ((found.first, one.first), (found.second, one.second)):
                of_runs = [math.prod(each[list(i)]) for i in product(range(3), repeat=runs) if one.scores[list(i)].sum() >= score]
                assert law[found.scores >= score].sum() == pytest.approx(sum(of_runs))
    impossible = ScoreLaw(np.array([np.inf, -np.inf]), np.array([1.0, 0.0]), np.array([0.0, 1.0])).plus(one)
    assert impossible.first[impossible.scores == np.inf].sum() == impossible.second[impossible.scores == -np.inf].sum() == 1
    rng = np.random.default_rng(0)
    many = ScoreLaw(rng.normal(size=5_000), rng.dirichlet(np.ones(5_000)), rng.dirichlet(np.ones(5_000)))
    grouped = many.grouped()
    assert len(grouped.scores) == GROUPS
    for score in grouped.scores[::100]:
        assert grouped.first[grouped.scores >= score].sum() == pytest.approx(many.first[many.scores >= score].sum())
        assert grouped.second[grouped.scores >= score].sum() == pytest.approx(many.second[many.scores >= score].sum())


@pytest.mark.parametrize(("counts", "first"), [
    ([(200, 200), (360, 40), (200, 200), (40, 360)], {1, 3}),
    ([(40, 360), (200, 200), (360, 40), (200, 200)], {0, 2}),
    # That a rare report is seen three times or never may be luck; that another one is seen 600 times or 400 is not.
    ([(3, 500, 497), (0, 500, 500), (1, 600, 399), (1, 400, 599)], {2, 3}),
    ([(30, 500, 470), (0, 500, 500), (1, 600, 399), (1, 400, 599)], {0, 1}),
])  # fmt: skip
def test_the_inputs_whose_reports_differ_most_for_sure_come_first_of_all(counts: list[tuple[int, ...]], first: set[int]) -> None:
    reports = [np.repeat(np.arange(len(each)), each) for each in counts]
    found = surest(FeatureCounts.of([encode(each, len(each), x) for x, each in enumerate(reports)]))
    assert sorted(found) == [0, 1, 2, 3]
    assert set(found[:2]) == first
