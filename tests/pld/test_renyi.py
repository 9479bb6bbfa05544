"""Renyi divergences, rho and mu of profiles: closed forms, and sums over all views of small laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import mpmath
import pytest
from hypothesis import given, settings, strategies as st

from ldpaudit import Compose, Enclosure, PrivacyProfile, Repeat, Rigour, account
from ldpaudit.accountants.aggregation.coordinate import Pair, TwoCoordinates
from ldpaudit.accountants.composition.product import ProductProfile
from ldpaudit.accountants.geometric import ClosedForm
from ldpaudit.accountants.numerics.float_masses import Masses
from ldpaudit.accountants.pld.all_pairs import AllPairs, profile_of
from ldpaudit.accountants.pld.exact import ExactPLD, dominating_pair
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.profiles import AsAlone, Bracket, LargestProfile, OnePairProfile, PostProcessedProfile, SmallestBound
from ldpaudit.accountants.pld.renyi import between_orders, least, of_pairs
from ldpaudit.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, KaryRandomizedResponse, Skellam
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.profile import Number
from tests.helpers import raises

Law = Sequence[Fraction]
ORDERS = st.fractions(Fraction(101, 100), 40, max_denominator=100)
EXACT = 1e-9  # relative width of what is called exact
CURVE = 1e-3  # relative width of what is read off 256 points of a curve
FLOATS = 1e-12  # relative error of a lower end that is computed in floats


@pytest.fixture(autouse=True)
def _digits() -> None:
    mpmath.mp.dps = 40


def divergence(first: Law, second: Law, order: Fraction) -> mpmath.mpf:
    """By the definition; infinite where the second lacks a view of the first."""
    if any(p > 0 == q for p, q in zip(first, second, strict=True)):
        return mpmath.inf
    a = mpmath.mpf(order.numerator) / order.denominator
    both = [(mpmath.mpf(p.numerator) / p.denominator, mpmath.mpf(q.numerator) / q.denominator)
            for p, q in zip(first, second, strict=True) if p]  # fmt: skip
    return mpmath.log(mpmath.fsum(p**a * q ** (1 - a) for p, q in both)) / (a - 1)


def worst(laws: Sequence[Law], order: Fraction) -> mpmath.mpf:
    return max(divergence(a, b, order) for a, b in permutations(laws, 2))


def holds(found: Enclosure, truth: mpmath.mpf) -> bool:
    """Whether the truth, in 40 digits, lies inside."""
    slack = abs(truth) * mpmath.mpf(10) ** -30 if mpmath.isfinite(truth) else 0
    return bool(found.low <= truth + slack and truth - slack <= found.high)


def small_laws(inputs: int, least: int = 1) -> st.SearchStrategy[list[list[Fraction]]]:
    weights = st.integers(2, 4).flatmap(
        lambda views: st.lists(
            st.lists(st.integers(least, 30), min_size=views, max_size=views).filter(any),
            min_size=inputs, max_size=inputs, unique_by=lambda row: tuple(Fraction(w, sum(row)) for w in row),
        )
    )  # fmt: skip
    return weights.map(lambda rows: [[Fraction(w, sum(row)) for w in row] for row in rows])


class CurveAlone(PrivacyProfile):
    """A profile of which only delta is known, with room at both ends."""

    def __init__(self, profile: PrivacyProfile) -> None:
        self.profile = profile

    def delta(self, epsilon: Number) -> Enclosure:
        """A little more, and a little less."""
        found = self.profile.delta(epsilon)
        return Enclosure(found.low * 0.999, min(1.0, found.high * 1.001), Rigour.INTERVAL, found.source)


class OneCurve(CurveAlone, OnePairProfile):
    """Of one pair in both directions."""


def listed(laws: Sequence[Law]) -> FiniteProfile:
    """As accountants make it that look at the worst pairs only."""
    return FiniteProfile(tuple(ExactPLD.of(list(zip(a, b, strict=True))) for a, b in permutations(laws, 2)), "all pairs")


@given(laws=small_laws(3, least=0), order=ORDERS)
def test_the_divergence_of_finite_laws_is_exact(laws: list[list[Fraction]], order: Fraction) -> None:
    found, truth = profile_of(laws, "laws").renyi(order), worst(laws, order)
    assert holds(found, truth)
    assert found.rigour is Rigour.EXACT
    assert found.relative_width < EXACT


@settings(max_examples=settings().max_examples // 2)
@given(laws=small_laws(2), order=ORDERS)
def test_whatever_is_known_of_a_profile_its_divergence_lies_inside(laws: list[list[Fraction]], order: Fraction) -> None:
    whole, truth = listed(laws), worst(laws, order)
    each = tuple(FiniteProfile((pair,), "one direction") for pair in whole.pairs)
    for known in (
        whole,
        CurveAlone(whole),
        AsAlone(CurveAlone(whole), "alone"),
        PostProcessedProfile(whole),
        Bracket(each[0], CurveAlone(whole)),
        SmallestBound((whole, CurveAlone(whole))),
        LargestProfile(each),
        AllPairs(tuple(map(tuple, laws)), "laws"),
        ProductProfile(tuple(((pair, 1),) for pair in whole.pairs), "products"),
    ):
        assert holds(known.renyi(order), truth), known


def test_a_pair_that_is_not_listed_may_have_a_larger_divergence_than_those_with_the_largest_delta() -> None:
    """The two orders of a pair that is not symmetric, and the one pair that has the larger delta of both in both orders."""
    pairs = listed([[Fraction(1, 10), Fraction(9, 10)], [Fraction(1, 2), Fraction(1, 2)]]).pairs
    unlisted = of_pairs([((dominating_pair(pairs), 1),)], Fraction(2), "")
    found = FiniteProfile(pairs, "those with the largest delta").renyi(2)
    assert of_pairs([((pair, 1),) for pair in pairs], Fraction(2), "").high < unlisted.low
    assert unlisted.high <= found.high
    assert found.rigour is Rigour.INTERVAL


def events(laws: Sequence[Law]) -> list[tuple[Fraction, Fraction]]:
    """P and Q of the events {likelihood ratio >= r} of every two laws."""
    found = []
    for first, second in permutations(laws, 2):
        p = q = Fraction(0)
        for a, b in sorted(zip(first, second, strict=True), key=lambda each: -each[0] / each[1])[:-1]:
            p, q = p + a, q + b
            found.append((p, q))
    return found


def normal_quantile(p: Fraction) -> mpmath.mpf:
    return mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(p.numerator) / p.denominator - 1)


@settings(max_examples=settings().max_examples // 5)
@given(laws=small_laws(2))
def test_rho_and_mu_are_the_largest_over_all_orders_and_all_events(laws: list[list[Fraction]]) -> None:
    whole = profile_of(laws, "laws")
    mu = max(normal_quantile(p) - normal_quantile(q) for p, q in events(laws))
    grid = [1 + Fraction(2) ** k * j / 8 for k in range(-12, 8) for j in range(8, 16)]
    least = max(worst(laws, order) / (mpmath.mpf(order.numerator) / order.denominator) for order in grid)
    for known in (whole, CurveAlone(whole)):
        assert holds(known.gdp(), mu), known
        assert known.rho().high >= least, known
    assert whole.gdp().relative_width < EXACT
    assert whole.rho().low <= least * (1 + CURVE)
    assert whole.rho().low >= least * (1 - EXACT)
    assert whole.rho().relative_width < CURVE


def test_mu_of_several_responses_is_that_of_the_number_of_truths_and_less_than_the_root_of_the_sum_of_squares() -> None:
    p, n = Fraction(3, 4), 3
    laws = ([math.comb(n, j) * a**j * (1 - a) ** (n - j) for j in range(n + 1)] for a in (p, 1 - p))
    tails = ([sum(law[k:]) for k in range(1, n + 1)] for law in laws)
    mu = max(normal_quantile(a) - normal_quantile(b) for a, b in zip(*tails, strict=True))
    found = account(Repeat(KaryRandomizedResponse(2, p), n)).gdp()
    assert holds(found, mu)
    assert found.high <= mu * (1 + CURVE) < 0.9 * math.sqrt(n) * 2 * normal_quantile(p)


def test_rho_of_randomized_response_is_its_divergence_of_order_1() -> None:
    """The limit of the orders is not attained: KL = (p - q) log(p/q)."""
    assert holds(account(KaryRandomizedResponse(2, Fraction(3, 4))).rho(), mpmath.log(3) / 2)


@given(laws=small_laws(2), first=st.floats(0.01, 10), factor=st.floats(1.01, 8))
def test_no_order_between_two_has_more_than_their_chord_allows(laws: list[list[Fraction]], first: float, factor: float) -> None:
    whole = profile_of(laws, "laws")
    found = {t: whole.renyi(1 + Fraction(t)) for t in (first, first * factor)}
    most = -between_orders(first, first * factor, found)[0]
    for share in (Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(4, 5), Fraction(1)):
        order = 1 + Fraction(first) + share * (Fraction(first * factor) - Fraction(first))
        assert Fraction(whole.renyi(order).low) / order <= most


def test_where_the_chord_is_highest_at_an_order_the_bound_is_what_is_known_there() -> None:
    found = {t: Enclosure(high, high, Rigour.EXACT, "") for t, high in ((1.0, 4.0), (2.0, 5.0))}
    assert between_orders(1.0, 2.0, found)[0] == -2  # with 6 t - 2 through both, (6 t - 2)/(t (1 + t)) turns at 1


@given(
    delta=st.floats(0.001, 0.9), epsilon=st.floats(0, 5), order=ORDERS, share=st.floats(0.001, 0.999), halvings=st.integers(2, 60)
)
def test_no_event_of_a_delta_tells_less_than_the_least(
    delta: float, epsilon: float, order: Fraction, share: float, halvings: int
) -> None:
    """However roughly the event is searched for that tells least."""
    q = mpmath.mpf(share) * (1 - mpmath.mpf(delta)) / mpmath.exp(epsilon)
    p, a = delta + mpmath.exp(epsilon) * q, mpmath.mpf(order.numerator) / order.denominator
    told = mpmath.log(p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)) / (a - 1)
    assert least(delta, epsilon, order, halvings) <= told
    assert least(delta, epsilon, order) >= least(delta, epsilon, order, halvings) * (1 - EXACT)


def _response(a: mpmath.mpf) -> mpmath.mpf:
    p, q = mpmath.mpf(3) / 5, mpmath.mpf(1) / 10
    return mpmath.log(p**a * q ** (1 - a) + q**a * p ** (1 - a) + 3 * q) / (a - 1)


def _gaussian(a: mpmath.mpf) -> mpmath.mpf:
    return a * 5 / (2 * mpmath.mpf(9) / 4)


def _laplace(a: mpmath.mpf, s: mpmath.mpf) -> mpmath.mpf:
    def moment(y: mpmath.mpf) -> mpmath.mpf:
        return mpmath.exp(-a * abs(y) + (a - 1) * abs(y - s)) / 2

    return mpmath.log(mpmath.quad(moment, [-mpmath.inf, 0, s / 2, s, mpmath.inf])) / (a - 1)


def _discrete(a: mpmath.mpf, k: int, law: Callable[[int], mpmath.mpf]) -> mpmath.mpf:
    """Of a law on the integers that falls fast, up to a factor, and its shift."""
    views, whole = range(-400, 401), mpmath.fsum(law(y) for y in range(-400, 401))
    return mpmath.log(mpmath.fsum(law(y) ** a * law(y - k) ** (1 - a) for y in views) / whole) / (a - 1)


def _geometric(y: int) -> mpmath.mpf:
    return mpmath.mpf(2) ** -abs(y)


def _bell(y: int, over: int = 8) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(y * y) / over)


F, RESPONSE, GAUSSIAN = Fraction, KaryRandomizedResponse(5, Fraction(3, 5)), Gaussian(Fraction(3, 2), (1, -2))
CLOSED_FORMS: dict[str, tuple[Callable[[], PrivacyProfile], Callable[[mpmath.mpf], mpmath.mpf]]] = {
    "randomized response": (lambda: account(RESPONSE), _response),
    "gaussian": (lambda: account(GAUSSIAN), _gaussian),
    "composition": (lambda: account(Compose([Repeat(RESPONSE, 3), GAUSSIAN])), lambda a: 3 * _response(a) + _gaussian(a)),
    "laplace": (lambda: account(Laplace(F(1, 2), F(0), F(1))), lambda a: _laplace(a, mpmath.mpf(2))),
    "histogram": (lambda: account(LaplaceHistogram(k=4, scale=F(2))), lambda a: 2 * _laplace(a, mpmath.mpf(1) / 2)),
    "narrow discrete gaussian": (lambda: account(DiscreteGaussian(F(3, 10), (1, -2))),
                                 lambda a: sum(_discrete(a, k, lambda y: _bell(10 * y, 18)) for k in (1, -2))),
    "discrete gaussian": (lambda: account(DiscreteGaussian(F(2), (3,))), lambda a: _discrete(a, 3, _bell)),
    "discrete laplace": (lambda: account(DiscreteLaplace(F(1, 2), (2, -1))),
                         lambda a: sum(_discrete(a, k, _geometric) for k in (2, -1))),
    "discrete laplace in closed form": (lambda: ClosedForm(7, F(1, 2), "a shift of seven"), lambda a: _discrete(a, 7, _geometric)),
}  # fmt: skip
"""Divergences by another route: a closed form, or the sum or the integral of the definition."""


@pytest.mark.parametrize("name", CLOSED_FORMS)
@pytest.mark.parametrize("order", [Fraction(1001, 1000), Fraction(5, 3), Fraction(2), Fraction(19, 2)])
def test_a_known_law_has_the_divergence_of_its_formula(name: str, order: Fraction) -> None:
    make, truth = CLOSED_FORMS[name]
    found = make().renyi(order)
    assert holds(found, truth(mpmath.mpf(order.numerator) / order.denominator))
    assert found.rigour is Rigour.EXACT
    assert found.relative_width < EXACT


def test_a_product_in_one_order_is_no_upper_end() -> None:
    """Of ten bits, each of which tells more in one order than in the other."""
    one, other = listed([[Fraction(1, 10), Fraction(9, 10)], [Fraction(1, 2), Fraction(1, 2)]]).pairs
    both = of_pairs([((one, 10),), ((other, 10),)], Fraction(2), "").high
    assert both == pytest.approx(10 * of_pairs([((one, 1),), ((other, 1),)], Fraction(2), "").high, rel=1e-12)
    for pair in (one, other):
        assert ProductProfile((((pair, 10),),), "in one order").renyi(2).rigour is Rigour.INTERVAL
    assert ProductProfile((((one, 10),), ((other, 10),)), "in both orders").renyi(2).high >= both
    assert ProductProfile((((one, 10), (other, 10)),), "the order does not matter").renyi(2).rigour is Rigour.EXACT


def test_a_curve_of_one_pair_is_read_from_both_sides() -> None:
    exact = account(Laplace(Fraction(1), Fraction(0), Fraction(1)))
    curve = OneCurve(exact)
    for order in (Fraction(3, 2), Fraction(4)):
        found = curve.renyi(order)
        assert found.low <= exact.renyi(order).low
        assert exact.renyi(order).high <= found.high
        assert found.relative_width < 0.01  # delta itself is known to two thousandths


@pytest.mark.parametrize(("change", "rho"), [((1,), Fraction(1, 2)), ((1, -1), Fraction(1)), ((3,), Fraction(9, 2))])
@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(1, 4)])
def test_rho_of_discrete_gaussian_noise_is_half_the_square_of_the_change(
    change: tuple[int, ...], rho: Fraction, sigma: Fraction
) -> None:
    found = account(DiscreteGaussian(sigma, change)).rho()
    assert rho / sigma**2 in found
    assert found.relative_width < EXACT
    assert account(DiscreteGaussian(sigma, change)).renyi(2).high / 2 >= found.low


def test_mu_of_gaussian_noise_is_the_distance() -> None:
    found = account(Gaussian(Fraction(5), (3, -4)))
    assert 1 in found.gdp()
    assert Fraction(1, 2) in found.rho()
    for alpha in (Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2)):
        error = mpmath.ncdf(normal_quantile(1 - alpha) - 1)
        assert holds(found.tradeoff(alpha), error)
        assert found.tradeoff(alpha).relative_width < CURVE


def test_the_least_error_of_a_test_is_that_of_randomized_response() -> None:
    profile = account(KaryRandomizedResponse(2, Fraction(3, 4)))
    for alpha, error in ((Fraction(1, 8), Fraction(5, 8)), (Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 6))):
        assert error in profile.tradeoff(alpha)
    assert (profile.tradeoff(0).low, profile.tradeoff(0).high) == (1.0, 1.0)
    assert profile.tradeoff(1).high == 0.0
    for outside in (-1, 1.5):
        raises(ValueError, "0 <= alpha <= 1", profile.tradeoff, outside)


def test_views_that_one_input_never_shows_make_everything_infinite() -> None:
    profile = profile_of([[Fraction(1, 2), Fraction(1, 2), Fraction(0)], [Fraction(0), Fraction(1, 2), Fraction(1, 2)]], "laws")
    for found in (profile.renyi(2), profile.rho(), profile.gdp(), CurveAlone(profile).rho()):
        assert found.high == math.inf
    assert profile.renyi(2).low == profile.rho().low == profile.gdp().low == math.inf


def test_the_divergence_of_infinite_order_is_epsilon_and_orders_are_above_1() -> None:
    profile = account(KaryRandomizedResponse(2, Fraction(3, 4)))
    assert profile.renyi(math.inf) == profile.epsilon(0)
    for order in (1, 0.5, math.nan):
        raises(ValueError, "order above 1", profile.renyi, order)


def test_of_unbounded_losses_without_a_formula_nothing_is_said_from_above() -> None:
    profile = account(Skellam(Fraction(100)))
    normal = 2 / (2 * 100)  # of normal noise of this variance; Skellam's tails are heavier
    assert profile.renyi(2).high == profile.rho().high == profile.gdp().high == math.inf
    assert profile.renyi(2).low == pytest.approx(normal, rel=0.01)
    assert profile.gdp().low == pytest.approx(0.1, rel=0.01)


@given(
    p=st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=20),
    q=st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=20),
    n=st.integers(0, 6),
    order=ORDERS,
)
def test_coordinates_in_floats_bound_the_divergence_from_below(p: Fraction, q: Fraction, n: int, order: Fraction) -> None:
    """A coin of each of two probabilities added to fair coins; and the reversed pair beside it."""
    first, second = (Masses.binomial(n, Fraction(1, 2)).plus(Masses.counts((1 - each, each))) for each in (p, q))

    def law(head: Fraction) -> list[Fraction]:
        fair = [Fraction(math.comb(n, k), 2**n) for k in range(n + 1)]
        return [(1 - head) * a + head * b for a, b in zip([*fair, Fraction(0)], [Fraction(0), *fair], strict=True)]

    truth = divergence(law(p), law(q), order) + divergence(law(q), law(p), order)
    pair = Pair.of(first, second)
    low = TwoCoordinates(pair, pair.reversed).renyi_low(order)
    assert low <= max(truth, 0)
    assert low >= truth * (1 - EXACT) - FLOATS * float(order / (order - 1))
