"""Lower bounds for one bit: against every transcript of few users, against each other, and at scale."""

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from ldpaudit.accountants.limits import hsu
from ldpaudit.accountants.limits.posterior import best_windows, best_windows_of_many, response
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Enclosure, Rigour

F = Fraction
ROUNDING = 1e-12
"""The brute force below is in floats."""
ERRORS = [F(e) for e in ("0", "1/2", "1", "2", "37/10")]


@cache
def transcripts(n: int, epsilon: float, delta: float = 0.0) -> tuple[tuple[float, ...], ...]:
    """For every combination of n users' messages: P[n1 = j, messages], j = 0..n, for uniform bits.

    A message is the revealed bit or the randomized one.
    """
    p = 1 / (1 + math.exp(-epsilon))
    truth, lie = (1 - delta) * p, (1 - delta) * (1 - p)
    told = [(delta, 0.0), (0.0, delta), (truth, lie), (lie, truth)]
    rows = []
    for messages in product(told, repeat=n):
        law = np.ones(1)
        for zero, one in messages:
            law = np.convolve(law, [zero / 2, one / 2])
        rows.append(tuple(law.tolist()))
    return tuple(rows)


def heavy_hitter_risk(n: int, error: float, epsilon: float, delta: float = 0.0) -> float:
    total = 0.0
    for law in transcripts(n, epsilon, delta):
        name_zero = sum(w for j, w in enumerate(law) if 2 * j - n > error)
        name_one = sum(w for j, w in enumerate(law) if n - 2 * j > error)
        total += min(name_zero, name_one)
    return total


def frequency_risk(n: int, error: float, epsilon: float, delta: float = 0.0) -> float:
    kept = 0.0
    for law in transcripts(n, epsilon, delta):
        guesses = np.arange(-2 * n, 4 * n) / 2
        kept += max(sum(w for j, w in enumerate(law) if abs(j - guess) <= error) for guess in guesses)
    return 1 - kept


def assert_is(found: Enclosure, truth: float) -> None:
    assert found.rigour is Rigour.EXACT
    assert found.low - ROUNDING <= truth <= found.high + ROUNDING
    assert found.high - found.low <= ROUNDING


@pytest.mark.few(20)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("n", [1, 2, 3, 6, pytest.param(7, marks=pytest.mark.slow)])
def test_the_bayes_risk_is_that_of_all_transcripts(n: int, error: Fraction, epsilon: float) -> None:
    assert_is(hsu.heavy_hitter_failure(n, error, epsilon), heavy_hitter_risk(n, float(error), epsilon))
    if n <= 6:
        assert_is(hsu.frequency_failure(n, error, epsilon), frequency_risk(n, float(error), epsilon))


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("n", [2, 5, 6])
def test_no_bound_exceeds_what_the_strongest_channel_allows(n: int, epsilon: float, delta: float) -> None:
    for error in ERRORS:
        truth = heavy_hitter_risk(n, float(error), epsilon, delta)
        found = hsu.heavy_hitter_failure(n, error, epsilon, delta)
        assert found.low - ROUNDING <= truth <= found.high + ROUNDING
        assert found.low >= (1 - delta) ** n * hsu.heavy_hitter_failure(n, error, epsilon).low - ROUNDING
    # Le Cam's prior is another one: its bound is one on the worst data set.
    worst = max(fails(n, 0, epsilon, delta, data) for data in range(n + 1))
    assert hsu.le_cam_failure(n, 0, epsilon, delta).low <= worst + ROUNDING


def fails(n: int, error: float, epsilon: float, delta: float, ones: int) -> float:
    """How often the majority of all messages is wrong by more than `error`, on a data set with so many ones."""
    p = delta + (1 - delta) / (1 + math.exp(-epsilon))
    law = np.ones(1)
    for user in range(n):
        law = np.convolve(law, [1 - p, p] if user < ones else [p, 1 - p])
    wrong_one, wrong_zero = n - 2 * ones > error, 2 * ones - n > error
    return float(sum(w for s, w in enumerate(law) if (2 * s > n and wrong_one) or (2 * s <= n and wrong_zero)))


def test_theorem_3_3_holds_with_alpha_above_the_root_of_n_and_beta_a_tenth() -> None:
    for n in (100, 1_000, 10_000, 40_001):
        assert hsu.heavy_hitter_error(n, 0.1, 0.5) >= 1.0 * math.sqrt(n)


@pytest.mark.parametrize("n", [50, 51, 400])
def test_the_error_is_the_last_that_is_ruled_out(n: int) -> None:
    least = hsu.heavy_hitter_error(n, 0.1, 1.0)
    assert least > 0
    assert hsu.heavy_hitter_failure(n, least - 1, 1.0).low > 0.1
    assert hsu.heavy_hitter_failure(n, least, 1.0).high <= 0.1


def test_an_error_that_nobody_can_make_is_not_ruled_out() -> None:
    assert hsu.heavy_hitter_failure(10, 10, 0.1).high == 0
    assert hsu.heavy_hitter_error(10, 0.499, 0.1) == 0


@pytest.mark.parametrize("error", [1, 4, 9])
def test_berry_esseen_says_no_more_than_the_exact_risk(error: int) -> None:
    for epsilon in (0.1, 0.5):
        exact, closed = hsu.frequency_failure(300, error, epsilon), hsu.berry_esseen_failure(300, error, epsilon)
        assert exact.high - 0.2 <= closed.low <= exact.high


def test_revealed_bits_only_weaken_berry_esseen() -> None:
    bounds = [hsu.berry_esseen_failure(10**6, 100, 0.5, delta).low for delta in (0, 1e-7, 1e-3, 0.5, 0.99)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] > 0


def test_le_cam_sees_the_factor_one_over_epsilon_that_a_uniform_prior_misses() -> None:
    n, error = 10**6, 10**4  # ten roots of n
    assert hsu.le_cam_failure(n, error, 0.1).low > 0.2
    assert hsu.berry_esseen_failure(n, error, 0.1).high < 1e-10
    assert hsu.le_cam_failure(n, error, 4.0).high == 0


def test_limits_survive_a_delta_that_reveals_many() -> None:
    assert hsu.le_cam_failure(10**6, 300, 0.5, F(1, 10)).low > 0.1
    assert hsu.heavy_hitter_failure(10**4, 30, 0.5, F(1, 10)).low > 0.1
    assert hsu.heavy_hitter_error(100, 0.1, 0.5, F(1, 10)) > 5
    assert hsu.frequency_failure(10**4, 30, 0.5, F(1, 10)).low > 0.4
    assert hsu.frequency_failure(10**9, 10**4, 0.5, F(1, 10**6)).low > 0.4


@pytest.mark.parametrize("epsilon", [F(0), F(1, 2), F(2)])
@pytest.mark.parametrize("n", [60, 61, 150])
def test_the_closed_form_of_many_users_encloses_what_is_enumerated(n: int, epsilon: Fraction) -> None:
    with working_precision(96):
        for window in (1, 2, 7, 30):
            truth, found = best_windows(n, epsilon, window), best_windows_of_many(n, *response(epsilon), window)
            assert found.lower() <= truth <= found.upper()
            assert found.upper() - found.lower() < 4 * math.exp(float(epsilon)) / n
            beside = [best_windows_of_many(m, *response(epsilon), window) for m in (n - n % 2, n + n % 2)]
            assert all(found.lower() <= each.lower() and each.upper() <= found.upper() for each in beside)


def test_many_users_are_answered_next_to_the_normal_law() -> None:
    for n in (1501, 10**5, 10**9, 2**70):
        for epsilon in (0.5, 1.0, 4.0):
            sigma = math.sqrt(n * math.exp(epsilon)) / (1 + math.exp(epsilon))
            found = hsu.frequency_failure(n, F(int(sigma)) + F(1, 4), epsilon)
            assert found.rigour is Rigour.INTERVAL
            assert found.high - found.low < max(4 * math.exp(epsilon) / n, 1e-12)
            assert (found.low + found.high) / 2 == pytest.approx(math.erfc(math.sqrt(0.5)), abs=1 / sigma)
            assert found.high >= hsu.berry_esseen_failure(n, F(int(sigma)), epsilon).low


@pytest.mark.parametrize("delta", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_revealed_bits_are_averaged_over(n: int, delta: float) -> None:
    for error in ERRORS:
        truth = frequency_risk(n, float(error), 1.0, delta)
        found = hsu.frequency_failure(n, error, 1, delta)
        assert found.low - ROUNDING <= truth <= found.high + ROUNDING
        assert found.low >= (1 - delta) ** n * hsu.frequency_failure(n, error, 1).low - ROUNDING


@pytest.mark.parametrize("change", [{"users": 0}, {"error": -1}, {"epsilon": -1}, {"delta": 1}])
def test_parameters_outside_the_domain_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="a limit needs"):
        hsu.le_cam_failure(**({"users": 5, "error": 0, "epsilon": 1, "delta": 0} | change))


def truths(n: int, epsilon: float) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], list[int]]:
    """The joint law of n uniform bits and their randomized responses, a row per data set; and the numbers of ones."""
    p = 1 / (1 + math.exp(-epsilon))
    lists = list(product((0, 1), repeat=n))
    law = [[math.prod(p if x == y else 1 - p for x, y in zip(a, b, strict=True)) / 2**n for b in lists] for a in lists]
    return np.array(law), [sum(a) for a in lists]


@pytest.mark.parametrize("error", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_deterministic_algorithm_of_few_users_fails_less(n: int, error: int) -> None:
    law, ones = truths(n, 1.0)
    names_one = (np.arange(2**2**n)[:, None] >> np.arange(2**n)) & 1  # every map from reports to a value
    few, many = ([row for row, k in enumerate(ones) if side * (n - 2 * k) > error] for side in (1, -1))
    one_fails, zero_fails = law[few].sum(axis=0), law[many].sum(axis=0)
    average = names_one @ one_fails + (1 - names_one) @ zero_fails
    assert average.min() == pytest.approx(hsu.heavy_hitter_failure(n, error, 1).low, abs=ROUNDING)


@pytest.mark.parametrize("error", [F(0), F(1, 2), F(1)])
@pytest.mark.parametrize("n", [1, 2])
def test_no_deterministic_estimate_of_few_users_fails_less(n: int, error: Fraction) -> None:
    law, ones = truths(n, 1.0)
    guesses = [k / 2 for k in range(2 * n + 1)]
    far = [[row for row, k in enumerate(ones) if abs(k - guess) > error] for guess in guesses]
    missed = np.array([[law[rows, y].sum() for rows in far] for y in range(2**n)])
    average = min(sum(missed[y, g] for y, g in enumerate(chosen)) for chosen in product(range(len(guesses)), repeat=2**n))
    assert average == pytest.approx(hsu.frequency_failure(n, error, 1).low, abs=ROUNDING)
