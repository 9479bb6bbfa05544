"""Shuffled k-ary response and shuffled RAPPOR, one message per user: exact privacy, parameters, errors; the worst binary data."""

import math
import re
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import flint
import numpy as np
import pytest
from scipy import stats

from ldpaudit import Mechanism, Repeat, Shuffle, Unsupported, account
from ldpaudit.accountants import randomized_response, unary_encoding
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf
from ldpaudit.accountants.numerics.deviations import expected_largest
from ldpaudit.accountants.shuffling.binary import _parabola, _Search, survivors, worst
from ldpaudit.accountants.shuffling.binary_data_set import Comb, TiltedResponse
from ldpaudit.accountants.shuffling.blanket import Blanket, precision
from ldpaudit.accountants.shuffling.bounds import BlanketBound
from ldpaudit.accountants.shuffling.frequencies import Frequencies
from ldpaudit.accountants.shuffling.randomizers import MatchedLaws, independent
from ldpaudit.accountants.shuffling.theorems import bbgn19_gamma
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import KaryRandomizedResponse, UnaryEncoding
from tests.helpers import raises, some, typed
from tests.oracles import shuffle as oracle
from tests.oracles.sums import outcomes, summed

F = Fraction


draws, flips = KaryRandomizedResponse.with_uniform_draw, UnaryEncoding.flips
HALF, QUARTER = F(1, 2), F(1, 4)
EXACT = [
    (draws(HALF, 2), 2, F(2), F(3, 16)),
    (draws(HALF, 2), 3, F(2), F(9, 64)),
    (draws(HALF, 3), 3, F(2), F(41, 216)),
    (draws(HALF, 3), 4, F(2), F(7, 48)),
    (flips(QUARTER, 3), 2, F(2), oracle.worst(oracle.laws(flips(QUARTER, 3)), 2, F(2))[0]),
    (draws(HALF, 3), 3, F(3, 2), F(29, 108)),
    (flips(QUARTER, 2), 2, F(2), F(89, 256)),
    (flips(QUARTER, 2), 3, F(2), F(1079, 4096)),
]


@pytest.mark.parametrize(("m", "users", "ratio", "delta"), EXACT, ids=str)
def test_the_exact_delta_of_few_users_over_all_data_is_in_the_enclosure(
    m: Mechanism, users: int, ratio: Fraction, delta: Fraction
) -> None:
    assert oracle.worst(oracle.laws(m), users, ratio) == [delta]
    found = account(Shuffle(m, users)).delta(math.log(ratio))
    for end in (found.low, found.high):
        assert end == pytest.approx(float(delta), rel=1e-12), "every data set is listed"
    assert "above: every" in found.source


def test_with_more_than_three_values_not_every_data_set_is_listed() -> None:
    m = draws(HALF, 4)
    (truth,) = oracle.worst(oracle.laws(m), 3, F(2))
    found = account(Shuffle(m, 3)).delta(math.log(2))
    assert found.low * (1 - 1e-12) <= truth <= found.high * (1 + 1e-12)
    assert "the blanket" in found.source


def of_blanket(m: Mechanism, users: int) -> Fraction:
    """delta at e**epsilon = 2 where the blanket is the part of R(x) that does not depend on x, R(x) = g R0 + (1 - g) T(x)."""
    match m:
        case KaryRandomizedResponse():
            matched = typed(BlanketBound, randomized_response.shuffled(m, users))
            (blanket,) = matched.blankets
        case UnaryEncoding():
            patterns = independent((1 - m.q, m.q), 2)
            bound = MatchedLaws((0, 1), patterns, {1: m.p / m.q, 0: (1 - m.p) / (1 - m.q)}, complete=False).bound(users)
            (blanket,) = bound.blankets
    with working_precision(precision(users)):
        value = blanket.delta(ball(F(2)), users, 1e-15)
        return F(float(value)).limit_denominator(10**5)


@pytest.mark.parametrize(
    ("m", "users", "delta"),
    [(draws(HALF, 3), 4, F(95, 648)), (flips(QUARTER, 2), 2, F(299, 768)), (flips(QUARTER, 2), 3, F(6401, 18432))], ids=str,
)  # fmt: skip
def test_the_blanket_of_both_is_what_its_formula_says(m: Mechanism, users: int, delta: Fraction) -> None:
    assert of_blanket(m, users) == delta
    assert oracle.worst(oracle.laws(m), users, F(2))[0] <= delta
    assert account(Shuffle(m, users)).delta(math.log(2)).high <= delta * (1 + 1e-12)


def coin_told(q: Fraction, users: int, epsilon: Fraction) -> float:
    """delta of RAPPOR where user 1 tells whether the report is blanket: (1 - g) of T(1), T(2) among blankets."""
    g, law, both = q / (1 - q), (1 - q, q), product((0, 1), repeat=2)
    cells = [(law[second] * first, law[first] * second, g * law[first] * law[second]) for first, second in both]
    with working_precision(precision(users)):
        return float((1 - ball(g)) * Blanket.of(cells).delta(ball(epsilon).exp(), users, 1e-9))


def test_telling_the_coin_costs_rappor_a_hundredth_of_its_flips() -> None:
    told = F("0.0084235")
    assert coin_told(told, 10**6, F(1)) == pytest.approx(1e-9, rel=5e-3)
    found = unary_encoding.for_privacy(1, F(1, 10**9), 10**6, 10**4)
    assert 0.985 * told < found.q < 0.995 * told
    assert account(Shuffle(found, 10**6)).delta(1).high <= 1e-9
    # The upper end of delta is good to .7 %, by which it moves up and down where the contours of its integral change.
    assert account(Shuffle(flips(found.q * F(999, 1000), 10**4), 10**6)).delta(1).high > 1e-9


TABLE = [
    (10**6, 64, 1, F(1, 10**9), 0.019189, 0.0046102, 434.0, 212.0, 17.65, 8.53),
    (10**6, 16, 1, F(1, 10**6), 0.0032499, 0.00068242, 146.7, 67.8, None, None),
]
"""users, values, epsilon, delta; gamma printed and with the coin told, which is at most 1 % above the least; the bound of the
expected error that takes every value's variance for the worst one's, and standard deviations of the estimate of a value that
nobody holds, of both."""


def of_one_variance(errors: Frequencies) -> float:
    with working_precision(128):
        return float(expected_largest(errors.worst_variance, errors.values)) / float(errors.on - errors.off)


@pytest.mark.parametrize(("users", "k", "epsilon", "delta", *("printed", "told", "most", "least", "wide", "small")), TABLE)
def test_the_printed_draws_of_randomized_response_are_four_times_what_is_needed(
    users: int, k: int, epsilon: int, delta: Fraction, printed: float, told: float, most: float, least: float,
    wide: float | None, small: float | None,
) -> None:  # fmt: skip
    paper = KaryRandomizedResponse.shuffled_as_printed(epsilon, delta, users, k)
    ours = randomized_response.for_privacy(epsilon, delta, users, k)
    gammas = [float(k * m.lie) for m in (paper, ours)]
    assert gammas[0] == pytest.approx(printed, rel=1e-4)
    assert gammas[0] == pytest.approx(bbgn19_gamma(k, users, epsilon, delta).high, rel=1e-12)
    assert 0.99 * told < gammas[1] <= told * 1.0001
    errors = [randomized_response.errors(m, users) for m in (paper, ours)]
    for each, value, deviation in zip(errors, (most, least), (wide, small), strict=True):
        assert 0.99 * value < of_one_variance(each) < 1.0005 * value
        assert each.expected_error().high < 0.65 * value
        assert deviation is None or each.deviation(0).high == pytest.approx(deviation, rel=6e-3)
    assert account(Shuffle(paper, users)).delta(epsilon).high < float(delta) / 1e6


@pytest.mark.parametrize(
    ("users", "k", "epsilon", "delta", "told", "error", "closed_error"),
    [(10**6, 10**4, F(1), F(1, 10**9), 0.0084235, 418.8, 785.7),
     (10**8, 10**6, F(1), F(1, 10**10), 0.00090553, 1628.8, 2941),
     (10**5, 10**3, F(1, 2), F(1, 10**8), 0.043196, 283.2, 712.9)],
)  # fmt: skip
def test_rappor_s_error_is_no_more_than_with_the_coin_told_and_half_of_that_in_closed_form(
    users: int, k: int, epsilon: Fraction, delta: Fraction, told: float, error: float, closed_error: float
) -> None:
    ours = unary_encoding.for_privacy(epsilon, delta, users, k)
    paper = UnaryEncoding.shuffled_in_closed_form(epsilon, delta, users, k)
    assert 0.94 * told < ours.q < told
    # A centred Poisson law of mean n q has larger moments than n coins, so its bound is the larger one.
    assert 0.94 * error < unary_encoding.errors(ours, users).expected_error().high < error
    assert 0.9 * closed_error < unary_encoding.errors(paper, users).expected_error().high < closed_error
    share = paper.q**2 / (1 - paper.q) / (ours.q**2 / (1 - ours.q))
    assert 10 < share < 20
    assert account(Shuffle(paper, users)).delta(epsilon).high < delta


def test_telling_the_coin_costs_randomized_response_twice_its_draws_where_values_are_many() -> None:
    gamma, k, users = F("0.672"), 10**4, 10**6
    cells = [(F(1), F(0), gamma / k), (F(0), F(1), gamma / k)]
    with working_precision(precision(users)):
        told = float((1 - ball(gamma)) * Blanket.of(cells).delta(ball(F(1)).exp(), users, 1e-9))
    assert told == pytest.approx(1e-9, rel=0.02)
    assert randomized_response.for_privacy(1, F(1, 10**9), users, k).lie * k == pytest.approx(0.31087, rel=1e-3)


def test_randomized_response_needs_fewer_draws_than_where_the_coin_is_told_and_reaches_what_seemed_out_of_reach() -> None:
    for users, k, epsilon, delta, told in ((10**6, 10**4, F(1), F(1, 10**9), 0.672), (10**5, 10**3, F(1, 2), F(1, 10**8), 1)):
        raises(ValueError, "needs gamma < 1, which takes", KaryRandomizedResponse.shuffled_as_printed, epsilon, delta, users, k)
        m = randomized_response.for_privacy(epsilon, delta, users, k)
        assert m.k * m.lie < told / 1.9
        found = account(Shuffle(m, users)).delta(epsilon)
        assert 0.999 * delta < found.low <= found.high <= delta, "data attain it"


def test_the_worst_data_for_the_error_are_all_alike() -> None:
    m = randomized_response.errors(draws(F(1, 100), 64), 10**6)
    assert m.worst_variance == m.variance(10**6) > 60 * m.variance(10**6 // 64) / 2
    assert m.variance(10) > m.variance(0)
    symmetric = unary_encoding.errors(flips(F(1, 100), 64), 10**6)
    assert symmetric.worst_variance == symmetric.variance(0) == symmetric.variance(7)


@pytest.mark.parametrize("m", [draws(F(1, 10), 20), flips(F(1, 20), 20)], ids=str)
@pytest.mark.parametrize("alike", [True, False])
def test_simulated_errors_are_below_their_bounds_and_not_far_where_data_are_all_alike(m: Mechanism, alike: bool) -> None:
    users = 20_000
    data = {0: users} if alike else dict.fromkeys(range(20), users // 20)
    truth = np.array([data.get(x, 0) for x in range(20)])
    module = randomized_response if isinstance(m, KaryRandomizedResponse) else unary_encoding
    bounds: Frequencies = module.errors(m, users)
    rng = np.random.default_rng(4)
    off = np.array([np.abs(Shuffle(m, users).run(data, rng) - truth).max() for _ in range(400)])
    assert off.mean() < bounds.expected_error().high
    assert np.mean(off > bounds.error(F(1, 20)).high) <= 0.05
    if alike:
        assert off.mean() > 0.5 * bounds.expected_error().high


@pytest.mark.parametrize(
    "m", [draws(F(1, 5), 3), draws(F(4, 5), 3), flips(F(1, 10), 2), UnaryEncoding(2, F(1, 2), F(1, 5))], ids=str
)
def test_no_data_have_a_larger_expected_error_than_its_bound_nor_exceed_the_other_more_often(m: Any) -> None:
    users, values = 4, len(m.inputs)
    module = randomized_response if isinstance(m, KaryRandomizedResponse) else unary_encoding
    bounds: Frequencies = module.errors(m, users)
    for data in combinations_with_replacement(range(values), users):
        means = [data.count(j) * bounds.on + (users - data.count(j)) * bounds.off for j in range(values)]
        off = [(p, max(abs(c - mean) for c, mean in zip(counts, means, strict=True)) / (bounds.on - bounds.off))
               for counts, p in summed(outcomes(m, x) for x in data).items()]  # fmt: skip
        assert sum(p for p, _ in off) == 1
        assert sum(p * far for p, far in off) <= bounds.expected_error().high
        for beta in (F(1, 2), F(1, 20)):
            assert sum(p for p, far in off if far > bounds.error(beta).high) <= beta


def test_the_error_of_randomized_response_with_many_values_is_the_heaviest_value_s_and_no_logarithm_s() -> None:
    users, values = 10**6, 10**4
    errors = randomized_response.errors(draws(F("0.31087"), values), users)
    normal = errors.deviation(users).high
    assert math.sqrt(2 / math.pi) * normal < errors.expected_error().high < 1.13 * normal
    assert of_one_variance(errors) > 4 * errors.expected_error().high


def test_a_plan_runs_on_a_list_or_on_counts_of_a_million_users() -> None:
    plan, rng = Shuffle(flips(F(1, 100), 1000), 10**6), np.random.default_rng(2)
    data = np.zeros(10**6, dtype=np.int64)
    data[:1000] = 7
    bound = unary_encoding.errors(flips(F(1, 100), 1000), 10**6).error(F(1, 10**6)).high
    for given in (data, {0: 10**6 - 1000, 7: 1000}):
        found = plan.run(given, rng)
        assert np.abs(found - np.bincount(data, minlength=1000)).max() < bound


@pytest.mark.parametrize(
    ("data", "message"),
    [([0, 1], "needs 3 users, got 2"), ({0: 4}, "needs 3 users, got 4"), ([0, 1, 9], "needs an input among"),
     ({0: 4, 1: -1}, "a number of users >= 0 for each input, got -1 for 1"), ({0: 3.0}, "got 3.0 for 0")],
)  # fmt: skip
def test_what_is_no_data_of_the_users_is_refused_in_a_line(data: object, message: str) -> None:
    raises(ValueError, message, Shuffle(draws(HALF, 4), 3).run, data, np.random.default_rng(0))


def test_what_cannot_be_run_says_why() -> None:
    rng = np.random.default_rng(0)
    raises(Unsupported, "the views of one mechanism", Shuffle(Repeat(draws(HALF, 4), 2), 3).run, [0, 1, 2], rng)
    raises(Unsupported, r"2\*\*63 users", Shuffle(draws(HALF, 4), 1 << 63).run, {0: 1 << 63}, rng)
    raises(Unsupported, "values are too many", Shuffle(draws(HALF, 1 << 40), 1).run, {0: 1}, rng)


@pytest.mark.parametrize(
    ("epsilon", "delta", "users", "message"),
    [(2, F(1, 100), 10**6, "0 < epsilon <= 1"), (1, 0, 10**6, "0 < delta < 1"),
     (1, F(1, 10**6), 10, "users or more, got users=10")],
)  # fmt: skip
def test_closed_forms_refuse_what_they_are_not_about(epsilon: int, delta: Fraction, users: int, message: str) -> None:
    for make in (KaryRandomizedResponse.shuffled_as_printed, UnaryEncoding.shuffled_in_closed_form):
        refused = raises(ValueError, message, make, epsilon, delta, users, 4)
        for least in map(int, re.findall(r"takes (\d+) users", str(refused))):
            make(epsilon, delta, least, 4)
            raises(ValueError, f"takes {least} users or more, got users={least - 1}", make, epsilon, delta, least - 1, 4)


def test_a_goal_that_only_noise_without_an_answer_keeps_is_refused() -> None:
    for find in (randomized_response.for_privacy, unary_encoding.for_privacy):
        raises(ValueError, "out of reach", find, 0, F(1, 10**12), 10, 4)
        raises(ValueError, "delta > 0", find, 1, 0, 10, 4)


@pytest.mark.parametrize("p", [F(3, 5), F(19, 20), F(2980, 2981)])
@pytest.mark.parametrize("users", [2, 5, 30])
def test_a_binary_data_set_s_divergence_is_exact_and_its_bound_is_above(p: Fraction, users: int) -> None:
    with flint.ctx.workprec(220):
        for share in (F(0), F(1, 30), F(1, 3), F(19, 20)):
            e = 1 + share * (p / (1 - p) - 1)
            truths, tilt = oracle.binary(p, users, e), TiltedResponse(p, ball(e))
            for t in {0, users // 3, users - 1}:
                found = tilt.value(t, users - 1)
                assert found.overlaps(ball(truths[t]))
                assert found.rad() < 1e-15 * found.mid()
            for first, last in ((0, users - 1), (users // 2, users - 1), (users - 1, users - 1)):
                assert tilt.bound(first, last, users - 1) >= ball(max(truths[first : last + 1]))


def test_a_binary_data_set_of_a_thousand_million_agrees_with_binomial_tails() -> None:
    n, p, epsilon = 10**9, F(3, 4), F(1, 20_000)
    with flint.ctx.workprec(300):
        e = ball(epsilon).exp()
        u, v = ball(p) - e * ball(1 - p), e * ball(p) - ball(1 - p)
        tilt = TiltedResponse(p, e)
        x = tilt.cutoff(n - 1, n - 1)
        found = tilt.value(n - 1, n - 1)
        pmf = binomial_pmf(n - 1, p, x - 1)
    tail_probability = stats.binom.sf(x - 1, n - 1, 0.75)
    assert math.isclose(float(found), float(u * pmf) - float(v - u) * tail_probability, rel_tol=1e-4)


@pytest.mark.parametrize("users", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("epsilon0", [1, 4, 8])
def test_the_worst_binary_data_set_is_found_among_any_number_of_users(users: int, epsilon0: int) -> None:
    m = KaryRandomizedResponse.for_epsilon(epsilon0, 2)
    sigma = math.sqrt(users * float(m.p * (1 - m.p)))
    with flint.ctx.workprec(260):
        found = worst(m.p, ball(F(4 / sigma)).exp(), users, 1e-10)
    assert found.low.rad() < 1e-12 * found.low.mid()
    assert found.high < found.low * (1 + 1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("epsilon0", "users", "epsilon"), [(1, 400, F(1, 5)), (4, 600, F(1)), (8, 900, F(3)), (4, 500, F(0)), (1, 1500, F(1, 100))]
)
def test_no_number_of_ones_is_worse_than_the_worst(
    epsilon0: int, users: int, epsilon: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the search begins with a bad one."""
    m, others = KaryRandomizedResponse.for_epsilon(epsilon0, 2), users - 1
    with flint.ctx.workprec(220):
        tilt = TiltedResponse(m.p, ball(epsilon).exp())
        top = max((tilt.value(t, others) for t in range(users)), key=float)
        found, roughly = (worst(m.p, ball(epsilon).exp(), users, tolerance) for tolerance in (1e-10, 1e-5))
    assert found.low.overlaps(top)
    assert top.lower() <= found.high <= top.upper() * (1 + 1e-9)
    assert top.lower() <= roughly.high <= top.upper() * (1 + 2e-3)
    monkeypatch.setattr(_Search, "promising", lambda search: [0])
    with flint.ctx.workprec(220):
        assert worst(m.p, ball(epsilon).exp(), users, 1e-5).high >= top.lower()


@pytest.mark.parametrize(("epsilon0", "users", "epsilon"), [(1, 400, F(1, 5)), (4, 900, F(2)), (8, 5000, F(4)), (4, 500, F(0))])
def test_the_bound_of_u_over_a_range_is_by_its_pieces_and_exceeds_every_u(epsilon0: int, users: int, epsilon: Fraction) -> None:
    m, others, half = KaryRandomizedResponse.for_epsilon(epsilon0, 2), users - 1, F(1, 16)
    with flint.ctx.workprec(220):
        tilt = TiltedResponse(m.p, ball(epsilon).exp())
        found = some(Comb.of(tilt, users // 2, users // 2 + 20, others))
        highest, curve = found.highest().upper(), abs(found.u(flint.arb(0, 1), 2)).upper()
        middles = [ball((2 * i + 1) * half - 1) for i in range(16)]
        values, slopes = ([found.u(psi, d) for psi in middles] for d in (0, 1))
        by_pieces = [(value + abs(slope) * ball(half)).upper() for value, slope in zip(values, slopes, strict=True)]
        assert max(by_pieces) < highest
        for t in (users // 2, users // 2 + 7, users // 2 + 20):
            one = some(Comb.of(tilt, t, t, others))
            sharp, grid = one.highest().upper(), [one.u(ball(F(i, 50))) for i in range(-50, 51)]
            assert max(grid) < min(highest, sharp)
            assert sharp < max(grid) + 2 * max(abs(a - b) for a, b in pairwise(grid)) * 50 / 16 + curve * ball(half) ** 2
            # A point's u, by powers, is that of the range around it, by exponentials.
            assert all(one.u(ball(F(i, 7)) + flint.arb(0, 2**-30)).contains(one.u(ball(F(i, 7)))) for i in (-7, -2, 5))


@pytest.mark.parametrize(("epsilon0", "users", "epsilon"), [
    (1, 10**6, F(1, 350)), (4, 10**6, F(6, 250)), (8, 10**6, F(9, 40)), (8, 10**7, F(3, 50)), (4, 10**5, F(0)),
])  # fmt: skip
def test_no_number_of_ones_that_is_sifted_out_is_worse_than_what_it_was_held_against(
    epsilon0: int, users: int, epsilon: Fraction
) -> None:
    m, others = KaryRandomizedResponse.for_epsilon(epsilon0, 2), users - 1
    sifted = 0
    with flint.ctx.workprec(220):
        tilt = TiltedResponse(m.p, ball(epsilon).exp())
        for first in (0, users // 3, users - 200, users - 50):
            ts = range(first, first + 50)
            truths = {t: tilt.value(t, others) for t in ts}
            ranked = sorted(truths.values(), key=float)
            for most in (ranked[20].upper(), ranked[-1].lower() * (1 - flint.arb(2) ** -40)):
                found = some(survivors(tilt, ts, others, most))
                left, rest = found
                assert all(truths[t] <= most * rest for t in set(ts) - set(left.tolist()))
                assert rest <= 1
                assert {t for t in ts if truths[t] > most} <= set(left.tolist()) <= set(ts)
                assert all(truths[t] > most * (1 - 1e-9) for t in left.tolist())
                sifted += len(ts) - len(left)
    assert sifted > 200


@pytest.mark.parametrize(("epsilon0", "users", "epsilon"), [(1, 1000, F(1, 10)), (4, 10**5, F(3, 10))])
def test_the_parabola_is_above_u_and_touches_it_about_where_it_is_largest(epsilon0: int, users: int, epsilon: Fraction) -> None:
    m, others = KaryRandomizedResponse.for_epsilon(epsilon0, 2), users - 1
    with flint.ctx.workprec(220):
        tilt = TiltedResponse(m.p, ball(epsilon).exp())
        for t in (0, others // 2, others):
            comb: Any = Comb.of(tilt, t, t, others)
            bounds, top = _parabola(tilt, comb, t, others, comb.u(flint.arb(0, 1), 2), flint.arb(1)), tilt.top(t, others)
            for place, close in (((0.02 - top) % 1, 3e-5), ((-0.02 - top) % 1, 3e-5), *((i / 14, 0.02) for i in range(1, 14))):
                truth = float(max(comb.u(flint.arb(-place)), comb.u(flint.arb(1 - place))))
                assert truth <= bounds(np.array([place]))[0] <= truth * (1 + close)
            assert tilt.bound(t, t, others) < tilt.value(t, others) * 1.005
