"""The best test between neighbours, from a profile alone: against closed forms, and against all tests of finite laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import flint
import pytest
from hypothesis import example, given, strategies as st

import ldpaudit as ldp
from ldpaudit import Enclosure, PrivacyProfile, Rigour, Shuffle, account
from ldpaudit.accountants.pld.exact import ExactPLD
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.trade_off import TradeOff, guess_between_two, posterior
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import Gaussian, KaryRandomizedResponse, Laplace
from ldpaudit.profile import Number
from tests.helpers import raises, some

SHARP = 1e-6  # relative width where the ends must meet: the search stops 1e-7 nats from the corner or the tangent
RATES = st.fractions(Fraction(1, 10_000), Fraction(1, 2), max_denominator=10_000)
Law = Sequence[Fraction]


def best_test(first: Law, second: Law, rate: Fraction) -> Fraction:
    """Neyman and Pearson: the views in the order of their ratio, the last one by a coin."""
    found, left = Fraction(0), rate
    for p, q in sorted(zip(first, second, strict=True), key=lambda each: -each[0] / each[1]):
        share = min(Fraction(1), left / q)
        found, left = found + share * p, left - share * q
    return found


def profile_of(laws: Sequence[Law]) -> FiniteProfile:
    pairs = {ExactPLD.of(list(zip(a, b, strict=True))) for a, b in permutations(laws, 2)}
    return FiniteProfile(tuple(pairs), "all pairs")


def laws(inputs: int, views: int) -> st.SearchStrategy[list[list[Fraction]]]:
    weights = st.lists(st.integers(1, 30), min_size=views, max_size=views)
    return st.lists(weights, min_size=inputs, max_size=inputs, unique_by=tuple).map(
        lambda rows: [[Fraction(w, sum(row)) for w in row] for row in rows]
    )


@given(p=st.fractions(Fraction(51, 100), Fraction(99, 100), max_denominator=100), k=st.integers(2, 6), rate=RATES)
@example(p=Fraction(99, 100), k=2, rate=Fraction(1, 1000))
@example(p=Fraction(99, 100), k=2, rate=Fraction(1, 10))
def test_the_best_test_of_randomized_response_is_its_closed_form(p: Fraction, k: int, rate: Fraction) -> None:
    """One straight piece of slope p/q up to the false-positive rate q, then 1, then q/p."""
    q = (1 - p) / (k - 1)
    truth = rate * p / q if rate <= q else p + rate - q if rate <= 1 - p else 1 - (1 - rate) * q / p
    profile = account(KaryRandomizedResponse(k, p))
    assert truth in TradeOff(profile).at(rate)
    assert p / (p + q) in posterior(profile, Fraction(1, 2))
    assert (1 + p - q) / 2 in guess_between_two(profile)
    if rate <= q:
        assert TradeOff(profile).at(rate).relative_width < SHARP


@given(
    scale=st.fractions(Fraction(1, 20), 20, max_denominator=100),
    rate=st.fractions(Fraction(1, 10_000), Fraction(4, 10), max_denominator=10_000),
)
@example(scale=Fraction(1, 10), rate=Fraction(1, 100))
@example(scale=Fraction(1, 10), rate=Fraction(1, 1000))
@example(scale=Fraction(10), rate=Fraction(1, 100))
def test_the_best_test_of_laplace_noise_is_its_closed_form(scale: Fraction, rate: Fraction) -> None:
    """P(x + b L > t) at two inputs at distance 1: e^(1/b) a, then 1 - e^(-1/b)/(4 a), then 1 - e^(-1/b) (1 - a)."""
    found = TradeOff(account(Laplace(scale=scale, low=Fraction(0), high=Fraction(1)))).at(rate)
    with working_precision(200):
        ratio, a = flint.arb(flint.fmpq((1 / scale).numerator, (1 / scale).denominator)).exp(), flint.arb(
            flint.fmpq(rate.numerator, rate.denominator)
        )
        truth = ratio * a if a <= 1 / ratio / 2 else 1 - 1 / (4 * ratio * a)
        assert found.low <= truth
        assert truth <= found.high
    assert found.relative_width < SHARP


@given(table=laws(2, 4), rate=RATES, prior=st.sampled_from([Fraction(1, 100), Fraction(1, 10), Fraction(1, 2)]))
def test_no_test_of_two_finite_laws_is_better_and_the_best_is_enclosed(
    table: list[list[Fraction]], rate: Fraction, prior: Fraction
) -> None:
    profile, (a, b) = profile_of(table), table
    assert max(best_test(a, b, rate), best_test(b, a, rate)) in TradeOff(profile).at(rate)
    assert (1 + sum(abs(x - y) for x, y in zip(a, b, strict=True)) / 2) / 2 in guess_between_two(profile)
    most = max(max(x / y, y / x) for x, y in zip(a, b, strict=True))
    assert prior * most / (prior * most + 1 - prior) in posterior(profile, prior)


@given(table=laws(4, 3), rate=RATES)
def test_with_many_pairs_the_best_test_over_all_of_them_is_enclosed(table: list[list[Fraction]], rate: Fraction) -> None:
    assert max(best_test(a, b, rate) for a, b in permutations(table, 2)) in TradeOff(profile_of(table)).at(rate)


class Widened(PrivacyProfile):
    """Another profile, known less well."""

    def __init__(self, inner: PrivacyProfile, by: float) -> None:
        self.inner, self.by = inner, by

    def delta(self, epsilon: Number) -> Enclosure:
        found = self.inner.delta(epsilon)
        return Enclosure(found.low * (1 - self.by), min(found.high * (1 + self.by), 1.0), Rigour.INTERVAL, "widened")


@pytest.mark.parametrize("by", [1e-9, 1e-4, 0.01, 0.3])
def test_a_wider_profile_gives_a_wider_enclosure_of_the_same_truth(by: float) -> None:
    rate, p, q = Fraction(1, 100), Fraction(3, 4), Fraction(1, 4)
    found = TradeOff(Widened(account(KaryRandomizedResponse(2, p)), by)).at(rate)
    assert rate * p / q in found
    assert found.high <= float(rate * p / q) * (1 + 1e-12) + by
    assert found.low > 0.01


@pytest.mark.parametrize("by", [1e-3, 1e-5, 1e-6])
def test_the_best_test_is_known_to_about_an_eighth_of_the_root_of_what_the_profile_is(by: float) -> None:
    found = TradeOff(Widened(account(Gaussian(Fraction(1))), by)).at(Fraction(1, 100))
    assert found.high - found.low < math.sqrt(by) / 8


class Misled(Widened):
    """A profile whose estimate is that of another one."""

    def about(self) -> Callable[[float], float]:
        return lambda epsilon: 0.5 / (1 + epsilon)


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 4)])
def test_a_wrong_estimate_costs_width_and_never_certainty(rate: Fraction) -> None:
    m = KaryRandomizedResponse.for_epsilon(2, 2)
    truth, found = TradeOff(account(m)).at(rate), TradeOff(Misled(account(m), 0.0)).at(rate)
    assert found.low <= truth.low
    assert truth.high <= found.high


@pytest.mark.parametrize("k", [2, 3])
def test_shuffled_answers_have_an_estimate_that_is_about_their_delta(k: int) -> None:
    profile = account(Shuffle(KaryRandomizedResponse.for_epsilon(1, k), 10_000))
    about = some(profile.about())
    for epsilon in (0.0, 0.02, 0.1):
        assert about(epsilon) == pytest.approx(profile.delta(epsilon).high, rel=0.02)


@pytest.mark.slow
def test_an_estimate_finds_the_best_test_among_shuffled_answers_in_fewer_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = account(Shuffle(KaryRandomizedResponse.for_epsilon(1, 3), 10_000))
    with_estimate, without = TradeOff(profile), TradeOff(profile)
    found = with_estimate.at(Fraction(1, 100))
    monkeypatch.setattr(type(profile), "about", lambda _: None)
    plain = without.at(Fraction(1, 100))
    assert found.high == pytest.approx(plain.high, rel=1e-3)
    assert found.low == pytest.approx(plain.low, rel=1e-3)
    assert len(with_estimate.deltas) < len(without.deltas)


def test_nothing_is_promised_from_below_where_only_a_guarantee_is_known() -> None:
    profile = account(ldp.Guarantee(Fraction(1), Fraction(1, 1000)))
    assert Fraction(1, 100) in TradeOff(profile).at(Fraction(1, 100))
    assert TradeOff(profile).at(Fraction(1, 100)).high >= math.e / 100 + 1 / 1000
    assert guess_between_two(profile).low == 0.5
    assert posterior(profile, Fraction(1, 2)).high == 1.0


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1), Fraction(-1)])
def test_a_false_positive_rate_that_no_test_has_is_refused(rate: Fraction) -> None:
    raises(ValueError, "needs 0 < rate < 1", TradeOff(account(ldp.Guarantee(Fraction(1)))).at, rate)
