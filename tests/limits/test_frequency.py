"""Limits of frequency estimation: the specification's numbers, and each step against enumeration of small cases."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from ldpaudit.accountants.limits import accurate, calculators, central, intermediate, large_sample, small_sample
from ldpaudit.accountants.limits.accurate import Guarantee, _largest_term, _of_accurate, largest_shared, weight
from ldpaudit.accountants.limits.information import largest_of_private
from ldpaudit.core.working_precision import working_precision
from ldpaudit.enclosure import Rigour
from ldpaudit.profile import Number
from ldpaudit.registry import parameters_of
from tests.helpers import fails_in_one_line, raises, run, some

F = Fraction
LN2 = F(math.nextafter(math.log(2), 1))
ROUNDING = 1e-9
QUARTER = F(1, 4)


def as_found(name: str, *given: Any, **named: Any) -> float:
    found = calculators()[name](*given, **named)
    assert found.low == found.high
    assert found.rigour is Rigour.INTERVAL
    assert found.source.startswith("vacuous: ") is (found.low == 0)
    return float(found.low)


@pytest.mark.parametrize(("n", "values", "printed", "sharpened"), [
    (10**4, 2**20, 0, 1), (10**4, 2**32, 1, 2), (10**4, 2**64, 2, 5), (10**6, 2**64, 2, 3), (10**4, 2**256, 12, 22),
])  # fmt: skip
def test_few_users_cannot_tell_many_values_apart(n: int, values: int, printed: int, sharpened: int) -> None:
    assert 2 * as_found("small_sample.error_as_printed", n, values, 1, 1e-9, shuffled=1) == printed
    assert 2 * as_found("small_sample.error", n, values, 1, 1e-9, shuffled=1) == sharpened
    at_a_bit = [as_found("small_sample.error_as_printed", users, 256, LN2) for users in (2, 3, 4, 5, 10**6)]
    assert at_a_bit == [1, 1.5, 2, 2, 2], "four users of 256 values are too few"


@pytest.mark.parametrize(("n", "values", "epsilon", "delta", "printed", "sharpened"), [
    (10**6, 10**6, 1, 1e-9, 3.5, (6.5, 7.5)),
    pytest.param(10**8, 10**6, 1, 1e-10, 8.5, (14.0, 15.0), marks=pytest.mark.slow),
    (10**8, 10**8, 1, F(1, 10**19), 18.0, (18.0, 50.0)),
    (10**6, 10**4, 1, 1e-9, 0.0, (0.0, 0.0)),
])  # fmt: skip
def test_many_users_err_by_about_the_fourth_root_of_their_number(
    n: int, values: int, epsilon: float, delta: float | Fraction, printed: float, sharpened: tuple[float, float]
) -> None:
    assert as_found("intermediate.error_as_printed", n, values, epsilon, delta) == printed
    assert as_found("intermediate.error_as_printed", 10**10, 10**10, 1, F(1, 10**23)) == 69
    assert sharpened[0] <= as_found("intermediate.error", n, values, epsilon, delta, shuffled=1) <= sharpened[1]


@pytest.mark.few(3)
@pytest.mark.parametrize(("n", "values", "epsilon", "error"), [
    (10**4, 100, 1, 177.0), (2000, 1024, 0.5, 233.5), (10**6, 10**4, 1, 3153.0), (10**8, 10**6, 1, 40352.0),
    (10**5, 1000, 0.5, 1723.0), (10**6, 100, 1, 1869.5), (10**6, 100, 4, 36.5),
])  # fmt: skip
def test_local_users_err_by_more_than_the_root_of_their_number(n: int, values: int, epsilon: float, error: float) -> None:
    assert as_found("intermediate.error", n, values, epsilon) == error


def test_fewer_active_users_are_no_harder_where_values_are_many() -> None:
    for active, error in ((10**6, 1869.5), (10**6 // 4, 926.5), (10**6 // 16, 456.5)):
        assert error <= as_found("large_sample.error_of_active", 10**6, active, 100, 1) <= error + 0.5
    assert as_found("large_sample.error", 10**6, 100, 1) == 1869.5
    for halvings, error in enumerate((8.5, 5.5, 3.5)):
        given = (10**8, 10**8 >> halvings, 10**6, 1, 1e-10)
        assert as_found("large_sample.error_of_active_as_printed", *given) == error
    assert as_found("large_sample.error_of_active_as_printed", 10**8, 10**8, 10**5, 1, 1e-10) == 0


def test_nothing_is_known_where_values_are_held_by_very_many_shuffled_users() -> None:
    assert as_found("large_sample.error", 10**8, 10**5, 1, 1e-10, shuffled=1) == 0
    assert as_found("large_sample.error_of_active_as_printed", 10**10, 10**9, 10**6, 1, 1e-12) == 0


@pytest.mark.parametrize(("n", "values", "epsilon", "delta", "error", "reached"), [
    (10**6, 10**4, 1, 1e-9, 4.0, 19.58), (10**8, 10**6, 1, 1e-10, 6.5, 28.79), (10**5, 10**3, 0.5, 1e-8, 6.5, 29.94),
])  # fmt: skip
def test_a_curator_errs_by_a_few_users(n: int, values: int, epsilon: float, delta: float, error: float, reached: float) -> None:
    assert as_found("central.error", n, values, epsilon, delta) == error
    found = central.laplace_error(values, epsilon)
    assert error < found.low
    assert found.high == pytest.approx(reached, abs=0.006)


def test_packing_by_hand() -> None:
    assert [as_found("central.error", n, 16, LN2, 0, F(49, 100)) for n in (1, 2, 3, 9)] == [0.5, 1, 1.5, 1.5]
    assert as_found("central.error", 9, 16, LN2, 0, F(499999, 10**6)) == 1.5, "16 * (1/8) * (1 - beta) is just above 1"
    assert as_found("central.error", 9, 4, LN2, 0, QUARTER) == 0.5
    assert as_found("central.error", 9, 16, LN2, F(1, 20), QUARTER) == 1, "16 (3/16 - 3/80) > 1 > 16 (3/32 - 7/160)"
    assert as_found("central.error", 9, 4, 0, F(1, 100), QUARTER) == 4.5, "4 (3/4 - 9/100) > 1"


def test_the_largest_of_laplace_noises_is_on_average_as_stated() -> None:
    noise = np.random.default_rng(3).laplace(scale=2 / 0.5, size=(200_000, 3))
    largest = np.abs(noise).max(axis=1)
    assert abs(largest.mean() - central.laplace_error(3, 0.5).low) < 5 * largest.std() / math.sqrt(len(largest))


@pytest.mark.parametrize("beta", [F(0), F(1, 10), QUARTER])
@pytest.mark.parametrize(("n", "error"), [(60, F(1)), (60, F(5, 2)), (1001, F(8))])
def test_laws_that_share_more_cannot_be_told_apart_by_counts(n: int, error: Fraction, beta: Fraction) -> None:
    share, more = float(largest_shared(n, error, beta)), math.floor(2 * error) + 1
    held = (n - more) // 2
    assert affinity(held, more, share) * affinity(n - held - more, more, share) >= math.sqrt(1 - float(1 - 2 * beta) ** 2)
    assert distance(n, held, more, share) < 1 - 2 * beta + ROUNDING
    assert share < 1


def affinity(held: int, more: int, share: float) -> float:
    counts = np.arange(held + more + 1)
    return float(np.sqrt(binom.pmf(counts, held, 1 - share) * binom.pmf(counts, held + more, 1 - share)).sum())


def distance(n: int, held: int, more: int, share: float) -> float:
    """Total variation of the three counts, for t and t + l holders."""
    laws = []
    for t in (held, held + more):
        laws.append(np.multiply.outer(binom.pmf(range(n + 1), t, 1 - share), binom.pmf(range(n + 1), n - t, 1 - share)))
    return float(np.abs(laws[0] - laws[1]).sum() / 2)


@pytest.mark.parametrize("more", [1, 2, 2_000])
@pytest.mark.parametrize("eta", [1e-9, 0.3, 0.5, 0.999, 1 - 2**-28, 1 - 2**-52])
def test_the_largest_term_is_found_for_the_most_users_too(eta: float, more: int) -> None:
    for holders in (2**39, 10**6, 3):
        odds, (found, _) = F(eta) / (1 - F(eta)), _largest_term(holders, more, eta)

        def rises(c: int, odds: Fraction = odds, holders: int = holders) -> bool:
            return (odds * (holders - c)) ** 2 > (c + 1) * (c + more + 1)

        nearest = max(1, holders // 10**9)
        assert found - nearest < 0 or rises(found - nearest - 1)
        assert found + nearest >= holders or not rises(found + nearest)


def test_the_most_users_are_answered_where_the_error_may_almost_always_be_exceeded() -> None:
    assert as_found("large_sample.error", 2**40, 4, 0, F(1, 10**9), F(49, 100)) >= 0
    # Counts of some 10,000 shared messages are nearly normal, of which the affinity of means l apart is exp(-l**2/(8 variance)).
    unlikely, more, held = 1 - (1 - 2 * 0.49) ** 2, 3, 2**39
    assert float(largest_shared(2**40, F(1), F(49, 100))) == pytest.approx(-(more**2) / (2 * math.log(unlikely) * held), rel=1e-3)


def test_the_largest_share_is_nearly_the_limit() -> None:
    for n, error, share in ((10**8, 14, 2.924e-5), (10**4, 5, 0.04045)):
        assert float(largest_shared(n, F(error), QUARTER)) == pytest.approx(share, rel=1e-3, abs=0)
    assert largest_shared(10, F(5), QUARTER) == 1


@pytest.mark.parametrize("missed", [F(1, 20), F(1, 2)])
@pytest.mark.parametrize(("users", "values", "error"), [(6, 3, F(1, 2)), (9, 3, F(1)), (12, 2, F(2)), (8, 4, F(3, 2))])
def test_a_hidden_value_stands_out_as_often_as_it_has_to(users: int, values: int, error: Fraction, missed: Fraction) -> None:
    w = some(weight(users, values, error, missed))
    chances = [float(w + (1 - w) / values), *[float((1 - w) / values)] * (values - 1)]
    seen = sum(
        multinomial.pmf(counts, users, chances)
        for counts in product(range(users + 1), repeat=values)
        if sum(counts) == users and counts[0] - max(counts[1:]) > 2 * error
    )
    assert 1 - missed <= seen


def test_a_value_cannot_stand_out_by_more_than_all_users() -> None:
    assert weight(10, 3, F(5), QUARTER) is None
    assert weight(1000, 10**4, F(501), QUARTER) is None
    assert float(weight(10**8, 10**6, F(14), F(1, 20)) or 0) == pytest.approx(1.158e-6, rel=1e-3, abs=0)


def channels(values: int, outputs: int, rng: np.random.Generator) -> Any:
    """A random randomizer: a row for each value."""
    return rng.dirichlet([0.3] * outputs, size=values) * 0.9 + 0.1 / outputs


def uniform_or_true(rng: np.random.Generator) -> Any:
    """Randomized response."""
    values, lie = int(rng.integers(2, 40)), float(rng.uniform(0.1, 1))
    return lie / values + (1 - lie) * np.eye(values)


def private(p: Any, epsilon: float) -> float:
    """The least delta at an epsilon, over all pairs of values."""
    return float(max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a in p for b in p))


def told(p: Any, w: float) -> float:
    """Bits that a message tells of V, where its user holds V with probability w."""
    q = p.mean(axis=0)
    mixed = w * p + (1 - w) * q
    return float((mixed * np.log2(mixed / q)).sum(axis=1).mean())


@pytest.mark.parametrize(("holders", "more", "eta"), [(0, 3, F(1, 2)), (7, 1, F(2, 3)), (7, 3, F(1, 50)), (40, 5, F(9, 10))])
def test_the_affinity_is_that_of_the_numbers_of_messages_that_are_not_shared(holders: int, more: int, eta: Fraction) -> None:
    few, many = (binom.pmf(range(holders + more + 1), each, float(1 - eta)) for each in (holders, holders + more))
    with working_precision(96):
        assert float(accurate._affinity(holders, more, eta)) == pytest.approx(np.sqrt(few * many).sum(), rel=1e-12)


def test_likelihood_ratios_are_seldom_large_and_messages_tell_no_more_than_that_allows() -> None:
    rng, tight = np.random.default_rng(8), 0.0
    for trial in range(300):
        p = channels(int(rng.integers(2, 9)), int(rng.integers(2, 9)), rng) if trial % 2 else uniform_or_true(rng)
        values, epsilon, w = len(p), float(rng.uniform(0, 3)), float(rng.uniform(0, 1))
        delta, q = private(p, epsilon), p.mean(axis=0)
        seldom = float(np.minimum(p, q).sum(axis=1).mean())

        def above(s: float, p: Any = p, q: Any = q) -> float:
            return float((p * (p / q >= s)).sum(axis=1).mean())

        for s in (1.0, 1.5, 2.0, 4.0):
            assert above(s) <= seldom * (1 + math.exp(epsilon) / s) + delta + ROUNDING
        assert above(2 * math.exp(epsilon)) <= 2 * delta + ROUNDING
        guarantee = Guarantee(F(math.exp(epsilon) * (1 + ROUNDING)), F(delta))
        with working_precision(96):
            most = float(_of_accurate(values, guarantee, F(w), max(F(0), F(seldom) - F(1, values) + F(ROUNDING))))
        assert told(p, w) <= most
        tight = max(tight, told(p, w) / most)
    assert tight > 0.2, "a bound that is never near says nothing of a mistake"


@pytest.mark.parametrize("values", [2, 5, 40, 2000])
@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(4)])
@pytest.mark.parametrize("w", [F(1), F(1, 50)])
def test_subset_selection_tells_most_of_all_private_messages(values: int, epsilon: Fraction, w: Fraction) -> None:
    ratio, share = math.exp(epsilon), np.arange(1, values) / values
    least = 1 / (1 + share * (ratio - 1))

    def bits(t: Any) -> Any:
        return (1 + t) * np.log2(1 + t)

    of_subsets = (share * bits(float(w) * (ratio * least - 1)) + (1 - share) * bits(float(w) * (least - 1))).max()
    with working_precision(96):
        found = float(largest_of_private(values, epsilon, w))
    assert found == pytest.approx(of_subsets, rel=1e-5, abs=1e-15)
    rng = np.random.default_rng(1)
    for _ in range(20):
        p = channels(min(values, 40), 4, rng)
        p = p / p.sum(axis=1, keepdims=True)
        spread = math.log((p.max(axis=0) / p.min(axis=0)).max())
        with working_precision(96):
            assert told(p, float(w)) <= float(largest_of_private(len(p), F(spread), w)) + ROUNDING


@pytest.mark.parametrize("epsilon", [F(0), F(1, 10**300), F(100)])
def test_nobody_tells_more_than_a_value_s_bits(epsilon: Fraction) -> None:
    with working_precision(96):
        found = largest_of_private(2**20, epsilon, F(1))
        assert 0 <= float(found) <= 20 + ROUNDING
        assert (found > 19) is (epsilon > 1)


Error = Callable[..., Any]


@pytest.mark.parametrize("error", [small_sample.error, intermediate.error, large_sample.error])
def test_more_privacy_and_certainty_and_values_are_harder(error: Error) -> None:
    base = error(300, 2**8, 1).low
    assert base > 0
    assert error(300, 2**8, F(1, 2)).low > base
    assert error(300, 2**8, 1, beta=F(1, 10)).low > base
    assert error(300, 2**9, 1).low > base


def test_every_calculator_takes_numbers_alone() -> None:
    for name, calculator in calculators().items():
        assert {each.annotation for each in parameters_of(calculator).values()} <= {int, Number}, name


def test_a_limit_is_asked_for_and_refused_in_a_line() -> None:
    done = run("limit", "intermediate.error", "users=10**4", "values=100", "epsilon=1")
    assert done.stdout == "intermediate.error: [177, 177] (INTERVAL: Fano's inequality, many users)\n"
    fails_in_one_line(run("limit", "intermediate.error", "users=10**4", "values=1", "epsilon=1"), "values >= 2")


@pytest.mark.parametrize("epsilon", [0, 1e-300, 100])
@pytest.mark.parametrize("delta", [5e-324, 1 - 2**-53])
def test_extreme_guarantees_are_answered(epsilon: float, delta: float) -> None:
    for n in (1, 2**40):
        assert 1 / 3 <= calculators()["shuffle.local_probability"](n, F(1, 3), epsilon, delta).high <= 1
        assert as_found("small_sample.error_as_printed", n, 1000, epsilon, delta, shuffled=1) >= 0
        assert as_found("intermediate.error_as_printed", n, 1000, epsilon, delta) >= 0
        assert as_found("central.error", n, 1000, epsilon, delta) >= 0


@pytest.mark.parametrize(
    "change", [{"users": 0}, {"users": 2**41}, {"beta": F(1, 2)}, {"epsilon": 101}, {"delta": 1}, {"shuffled": 2}]
)
def test_out_of_domain_is_an_error(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"users": 5, "values": 2, "epsilon": 1, "delta": 0, "beta": QUARTER, "shuffled": 0}
    raises(ValueError, "a limit of frequencies needs", intermediate.error, **given | change)
    raises(ValueError, "active <= users", large_sample.error_of_active, 5, 6, 2, 1)
