"""What the shuffle accountant computes with, and the numbers that others have published."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product

import flint
import numpy as np
import pytest
from scipy import stats

from ldpaudit.accountants import account
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.binomial import binomial_pmf
from ldpaudit.accountants.numerics.certified_search import certified_crossing, guided
from ldpaudit.accountants.numerics.positive_part import Contour, _enumerated
from ldpaudit.accountants.numerics.trapezoid import Pairs, chosen_nodes, tail
from ldpaudit.accountants.shuffling import theorems as formulas
from ldpaudit.accountants.shuffling.binary import survivors, worst
from ldpaudit.accountants.shuffling.binary_data_set import Comb, TiltedResponse
from ldpaudit.accountants.shuffling.blanket import _Walk, float_estimate, precision, two_answers
from ldpaudit.accountants.shuffling.clones import CloneProfile, Clones
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import Rappor
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.plan import Guarantee, Shuffle
from tests.oracles import shuffle as oracle

F = Fraction
ROUNDING = 1e-6
"""Nats: probabilities that are floats sum to 1 up to 1e-16, and ten thousand million of them are multiplied."""
WIDE = 1e-4  # relative: what the widths of the balls around a lattice's delta are in epsilon
LATTICE = 2e-3
"""Relative: what the contour leaves open where the sum's values lie on a lattice, the worst that can happen to it."""


def atoms(seed: int) -> list[tuple[flint.arb, flint.arb]]:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 5))
    values = [flint.arb(float(v)) for v in rng.normal(size=size)] + [flint.arb(-1.5)]
    weights = rng.integers(1, 20, size + 1)
    return [(v, ball(F(int(w), int(weights.sum())))) for v, w in zip(values, weights, strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_the_contour_encloses_what_enumeration_finds(seed: int) -> None:
    with flint.ctx.workprec(200):
        law, n = atoms(seed), 1 + seed % 8
        if any(v > 0 for v, _ in law):
            exact, contour = _enumerated(law, n), Contour.of(law, n)
            assert contour.value(1e-6).overlaps(exact)
            assert exact <= contour.ceiling()


FEW = (((3, -2), 5), ((1, -1), 6), ((2, 0, -1), 7), ((F(5, 3), F(1, 3), F(-1, 3), -1), 5), ((4, -1, -1, 1, 2), 4), ((1,), 2))
"""Values of a law, some of whose sums are 0, and how many are added up."""


@pytest.mark.parametrize(("values", "n"), FEW)
@pytest.mark.parametrize("off", [F(0), F(1, 1000), F(-1, 1000)])
def test_a_sum_of_few_is_what_rationals_say_with_its_ties(values: tuple[Fraction, ...], n: int, off: Fraction) -> None:
    law = [(F(v) + off, F(i + 2, sum(range(2, len(values) + 2)))) for i, v in enumerate(values)]
    drawn = [(sum((v for v, _ in each), F(0)), math.prod(p for _, p in each)) for each in product(law, repeat=n)]
    truth = sum((max(F(0), total) * chance for total, chance in drawn), F(0))
    with flint.ctx.workprec(128):
        room = flint.arb(0, abs(float(off)) * 1.01)
        found = _enumerated([(ball(v - off) + room, ball(p)) for v, p in law], n)
        assert found.contains(flint.fmpq(truth.numerator, truth.denominator))
        assert found.rad() < (1e-30 if not off else n * 2e-3) or len(law) == 1


@pytest.mark.parametrize(("gamma", "users"), [(F(1, 3), 30_000), (F(1, 50), 300_000), (F(9, 10), 20_000)])
@pytest.mark.parametrize("shift", [F(0), F(1, 50), F(1, 8)])
def test_the_contour_and_the_sum_over_answers_agree(gamma: Fraction, users: int, shift: Fraction) -> None:
    with flint.ctx.workprec(256):
        b = ball(gamma / 3)
        high, low = (ball(F(1, 2)) - ball(shift), b), (-ball(F(1, 2)) - ball(shift), 2 * b)
        law = [(high[0] / b, b), (low[0] / (2 * b), 2 * b), (flint.arb(0), 1 - 3 * b)]
        contour = Contour.of(law, users).value(1e-8) / users
        walk = _Walk(high, low).sum(users - 1, 3 * b, 0, 1e-12)
        assert walk.overlaps(contour)
        assert two_answers(high, low, 1 - 3 * b, users, 1e-10).overlaps(walk)
        assert contour.rad() < LATTICE * contour.mid()


def test_the_sum_over_answers_may_start_late_and_stop_early() -> None:
    with flint.ctx.workprec(256):
        for gamma, users in ((F(1, 50), 40), (F(1, 3), 300)):
            b = ball(gamma / 2)
            high, low = (ball(F(3, 5)), b), (ball(F(-4, 5)), b)
            whole = _Walk(high, low).sum(users - 1, 2 * b, 0, 1e-40)
            for first in (1, 2, users // 4):
                for tolerance in (1e-1, 1e-6):
                    assert _Walk(high, low).sum(users - 1, 2 * b, first, tolerance).contains(whole)


@pytest.mark.parametrize(("n", "h"), [(30, 0.2), (400, 0.05), (5000, 0.02)])
@pytest.mark.parametrize("values", [(1.0, -1.0, 0.0), (1.0, -1.03, 0.0), (1.0, -0.6, 0.0), (0.9, -1.0, 0.1, -0.2)])
def test_the_nodes_left_out_hold_no_more_than_the_bound(n: int, h: float, values: tuple[float, ...]) -> None:
    w = np.array(values)
    p = np.array([0.3, 0.2, *[0.5 / (len(w) - 2)] * (len(w) - 2)])
    for first in (5, 60, 400):
        t = h * np.arange(first, 100_000)
        held = np.abs(p @ np.exp(1j * np.outer(w, t))) ** n
        assert 2 * h * float(np.sum(held / t**2)) <= tail(Pairs.of(w, p, n), h, first, 0.0)


@pytest.mark.parametrize(("n", "h"), [(30, 0.2), (400, 0.05), (5000, 0.02)])
@pytest.mark.parametrize("values", [(1.0, -1.0, 0.0), (1.0, -1.03, 0.0), (1.0, -0.6, 0.0), (0.9, -1.0, 0.1, -0.2)])
def test_the_nodes_that_are_not_evaluated_hold_no_more_than_the_bound(
    n: int, h: float, values: tuple[float, ...]
) -> None:
    w, saddle = np.array(values), 0.3
    p = np.array([0.3, 0.2, *[0.5 / (len(w) - 2)] * (len(w) - 2)])
    k = np.arange(1, 60_000)
    held = 2 * h * np.abs(p @ np.exp(1j * np.outer(w, h * k))) ** n / (saddle**2 + (h * k) ** 2)
    for allowed in (1e-1, 1e-4, 1e-9):
        nodes, bound = chosen_nodes(Pairs.of(w, p, n), h, saddle, allowed)
        assert held.sum() - held[np.array(nodes, dtype=int) - 1].sum() <= bound
        assert bound < held.sum() + 1 / saddle**2


@pytest.mark.parametrize("n", [10**4, 10**6, 10**9, 10**11])
@pytest.mark.parametrize("chosen", [None, 0, 1])
def test_the_fall_of_a_transform_is_never_overstated_nor_by_much_understated(n: int, chosen: int | None) -> None:
    rng = np.random.default_rng(n)
    # Two values that matter, and a third one whose period is about twice theirs.
    p, w = np.array([0.6, 0.4 - 1e-13, 1e-13]), np.array([-0.3, 0.2, 0.7 + 0.1 / math.sqrt(n)])
    pairs = Pairs.of(w, p, n)
    period, scale = 2 * math.pi / 0.5, 1 / math.sqrt(n * 0.24)
    gap = None if chosen is None else float(pairs.gaps[chosen])
    t = period * rng.integers(1, 3000, 40) + scale * rng.uniform(-9, 9, 40)
    t = np.asarray(t if gap is None else 2 * math.pi / gap * rng.integers(1, 3000, 40), dtype=np.float64)
    for width in (0.0, scale):
        for point, fall in zip(t, pairs.falls(t, math.inf, width, chosen), strict=True):
            with flint.ctx.workprec(200):
                off = math.remainder(float(point), period)
                near = flint.arb(float(point)) - math.copysign(min(width, abs(off)), off)
                phi = sum(
                    (float(b) * flint.acb(0, near * float(a)).exp() for a, b in zip(w, p, strict=True)), flint.acb(0)
                )
                exact = -n * (abs(phi) / sum(flint.arb(float(b)) for b in p)).log()
            assert fall <= exact + ROUNDING
            if gap is None and exact < 40:
                assert fall >= exact * (1 - 1e-2) - 1e-2


def test_a_sum_that_is_positive_where_all_but_one_value_are_unseen_by_floats_is_enclosed() -> None:
    with flint.ctx.workprec(300):
        p = [ball(F(1, 10)), ball(F(3, 10)), ball(F(6, 10))]
        law = [(flint.arb(v), w) for v, w in zip((1, -(10**5), -2 * 10**5), p, strict=True)]
        exact, contour = _enumerated(law, 30), Contour.of(law, 30)
        assert not len(Pairs.of(np.array([5e-6, -0.5, -1.0]), np.array([1.0, 0.0, 0.0]), 30).gaps)
        assert contour.value(1e-6).overlaps(exact)
        assert contour.value(1e-6) <= contour.ceiling()


ESTIMATED: list[tuple[Mechanism, int]] = [
    (KaryRandomizedResponse.for_epsilon(1, 10), 10**6),
    (KaryRandomizedResponse.for_epsilon(8, 10), 10**9),
    (UnaryEncoding.symmetric(4, 100), 10**9),
    (Rappor(32, 2, F(1, 2), F(1, 4), F(3, 4)), 10**4),
]


@pytest.mark.parametrize(("m", "users"), ESTIMATED, ids=str)
def test_a_float_estimate_is_about_what_it_estimates(m: Mechanism, users: int) -> None:
    found = account(Shuffle(m, users)).bound  # type: ignore[attr-defined]
    for delta in (1e-6, 1e-9, 1e-80):
        for blanket in (found.blankets[0], found.data_sets[0].blanket):
            about = float_estimate(blanket, users)
            low, high = 0.0, float(account(m).epsilon(0).low)
            for _ in range(40):
                middle = (low + high) / 2
                low, high = (middle, high) if about(middle) > math.log(delta) else (low, middle)
            with flint.ctx.workprec(precision(users)):
                there = blanket.delta(ball(F(high)).exp(), users, 1e-6)
            assert math.isclose(float(there.log()), math.log(delta), abs_tol=10 * LATTICE)


@pytest.mark.parametrize(("m", "users"), [*ESTIMATED[:3], pytest.param(*ESTIMATED[3], marks=pytest.mark.slow)], ids=str)
def test_a_float_estimate_saves_looks_and_the_ends_stay_where_they_are(m: Mechanism, users: int) -> None:
    bound = account(Shuffle(m, users)).bound  # type: ignore[attr-defined]
    top, looked = account(m).epsilon(0).high, [0]

    def counted(value: Callable[[Fraction, float], flint.arb]) -> Callable[[float, float], flint.arb]:
        def look(epsilon: float, tolerance: float) -> flint.arb:
            looked[0] += 1
            return value(F(epsilon), tolerance)

        return look

    delta = F(1, 10**9)
    below, above = bound.estimates()
    low = guided(counted(bound.low), delta, top, 1e-7, below, -1.0)
    high = guided(counted(bound.high), delta, top, 1e-7, above, 1.0)
    assert looked[0] <= 8
    assert low is not None
    assert high is not None
    assert bound.low(F(low), 1e-7) > ball(delta)
    assert bound.high(F(high), 1e-7) <= ball(delta)
    for value, found in ((bound.low, low), (bound.high, high)):
        ends = certified_crossing(counted(value), delta, top, 1e-7)
        assert ends[0] * (1 - WIDE) <= found <= ends[1] * (1 + WIDE)


@pytest.mark.parametrize("off", [2.0, 0.3, -0.3, -1.5])
def test_an_estimate_that_is_off_by_a_factor_leads_there(off: float) -> None:
    ends = [guided(bell, F(1, 10**6), 3.0, 1e-9, lambda e: off - 100 * e**2, side) for side in (-1.0, 1.0)]
    assert ends[0] is not None
    assert ends[1] is not None
    assert ends[0] < math.sqrt(-math.log(1e-6) / 100) < ends[1] < ends[0] * (1 + WIDE)


def bell(epsilon: float, tolerance: float) -> flint.arb:
    """A value that falls as one of a normal law does, and a ball around it."""
    return (flint.arb(-100) * flint.arb(epsilon) ** 2).exp() * flint.arb(1, 1e-5)


WRONG: list[Callable[[float], float]] = [
    lambda e: -100 * e**2,  # this one is right
    lambda e: -50 * e**2 - 3,
    lambda e: -120 * e,
    lambda e: -1.0 - e,
    lambda e: -100 * e**2 + math.sin(1e6 * e),
    lambda e: -60.0,
    lambda e: math.inf,
    lambda e: -math.inf,
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_estimate_costs_looks_and_never_certainty(wrong: Callable[[float], float]) -> None:
    delta = F(1, 10**6)
    low, high = (guided(bell, delta, 3.0, 1e-9, wrong, side) for side in (-1.0, 1.0))
    assert low is None or bell(low, 0) > ball(delta)
    assert high is None or (bell(high, 0) <= ball(delta) and high <= 3)
    if low is not None and high is not None:
        assert low < math.sqrt(-math.log(1e-6) / 100) < high


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


@pytest.mark.parametrize(
    ("epsilon0", "users", "epsilon"), [(1, 400, F(1, 5)), (4, 600, F(1)), (8, 900, F(3)), (4, 500, F(0))]
)
def test_no_number_of_ones_is_worse_than_the_worst(epsilon0: int, users: int, epsilon: Fraction) -> None:
    m, others = KaryRandomizedResponse.for_epsilon(epsilon0, 2), users - 1
    with flint.ctx.workprec(220):
        tilt = TiltedResponse(m.p, ball(epsilon).exp())
        top = max((tilt.value(t, others) for t in range(users)), key=float)
        found = worst(m.p, ball(epsilon).exp(), users, 1e-10)
    assert found.low.overlaps(top)
    assert top.lower() <= found.high <= top.upper() * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon0", "users", "epsilon"), [(1, 400, F(1, 5)), (4, 900, F(2)), (8, 5000, F(4)), (4, 500, F(0))])
def test_the_bound_of_u_over_a_range_is_by_its_pieces_and_exceeds_every_u(epsilon0: int, users: int, epsilon: Fraction) -> None:
    m, others, half = KaryRandomizedResponse.for_epsilon(epsilon0, 2), users - 1, F(1, 16)
    with flint.ctx.workprec(220):
        tilt = TiltedResponse(m.p, ball(epsilon).exp())
        found = Comb.of(tilt, users // 2, users // 2 + 20, others)
        assert found is not None
        highest, curve = found.highest().upper(), abs(found.u(flint.arb(0, 1), 2)).upper()
        middles = [ball((2 * i + 1) * half - 1) for i in range(16)]
        values, slopes = ([found.u(psi, d) for psi in middles] for d in (0, 1))
        by_pieces = [(value + abs(slope) * ball(half)).upper() for value, slope in zip(values, slopes, strict=True)]
        assert max(by_pieces) < highest
        for t in (users // 2, users // 2 + 7, users // 2 + 20):
            one = Comb.of(tilt, t, t, others)
            assert one is not None
            sharp, grid = one.highest().upper(), [one.u(ball(F(i, 50))) for i in range(-50, 51)]
            assert max(grid) < min(highest, sharp)
            assert sharp < max(grid) + 2 * max(abs(a - b) for a, b in pairwise(grid)) * 50 / 16 + curve * ball(half) ** 2
            # A point's u, by powers, is that of the range around it, by exponentials.
            assert all(one.u(ball(F(i, 7)) + flint.arb(0, 2**-30)).contains(one.u(ball(F(i, 7)))) for i in (-7, -2, 5))


@pytest.mark.parametrize(
    ("epsilon0", "users", "epsilon"),
    [(1, 10**6, F(1, 350)), (4, 10**6, F(6, 250)), (8, 10**6, F(9, 40)), (8, 10**7, F(3, 50)), (4, 10**5, F(0))],
)
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
                found = survivors(tilt, ts, others, most)
                assert found is not None
                left, rest = found
                assert all(truths[t] <= most * rest for t in set(ts) - set(left.tolist()))
                assert rest <= 1
                assert {t for t in ts if truths[t] > most} <= set(left.tolist()) <= set(ts)
                assert all(truths[t] > most * (1 - 1e-9) for t in left.tolist())
                sifted += len(ts) - len(left)
    assert sifted > 200


CASES = [(F(1, 4), 10**4, 1e-6), (F(1, 2), 10**6, 1e-9), (F(1), 10**5, 1e-6), (F(4), 10**7, 1e-9)]


@pytest.mark.parametrize(("epsilon0", "users", "delta"), CASES)
def test_published_closed_forms_are_above_what_is_certified(epsilon0: Fraction, users: int, delta: float) -> None:
    def certified(epsilon: float) -> float:
        return float(Clones(epsilon0).delta(F(epsilon), users, 1e-6).abs_lower())

    closed = [formulas.fmt21(epsilon0, users, delta).high]
    if epsilon0 <= F(1, 2):
        closed.append(formulas.efmrtt19(epsilon0, users, delta).high)
    for epsilon in closed:
        assert certified(epsilon) <= delta
    for epsilon in (closed[0], closed[0] / 4):
        for formula in (formulas.bbgn19_hoeffding, formulas.bbgn19_bennett):
            if epsilon < epsilon0:
                assert formula(epsilon0, users, epsilon).high >= certified(epsilon)
                m = KaryRandomizedResponse.for_epsilon(epsilon0, 10)
                assert formula(epsilon0, users, epsilon, 10).high >= account(Shuffle(m, users)).delta(epsilon).low
    bennett = formulas.epsilon_of(
        lambda e: formulas.bbgn19_bennett(epsilon0, users, min(e, float(epsilon0) * 0.99)), 0.9
    )
    assert bennett.high > 0


BROKEN: list[tuple[Callable[[], object], str]] = [
    (lambda: formulas.efmrtt19(1, 10**6, 1e-6), "epsilon0 <= 1/2"),
    (lambda: formulas.efmrtt19(F(1, 4), 999, 1e-6), "n >= 1000"),
    (lambda: formulas.efmrtt19(F(1, 4), 10**6, F(1, 2)), "delta <= 1/100"),
    (lambda: formulas.fmt21(8, 10**4, 1e-6), r"epsilon0 <= log\(n / \(16 log\(2/delta\)\)\)"),
    (lambda: formulas.bbgn19_hoeffding(1, 10, 0), "0 < epsilon"),
    (lambda: formulas.bbgn19_bennett(1, 10, 1), "epsilon < epsilon0"),
    (lambda: formulas.bbgn19_gamma(10, 100, F(1, 10), 1e-6), "gamma <= 1"),
]


@pytest.mark.parametrize(("call", "hypothesis"), BROKEN)
def test_a_published_theorem_says_which_hypothesis_fails(call: Callable[[], object], hypothesis: str) -> None:
    with pytest.raises(ValueError, match=hypothesis):
        call()


def test_enough_uniform_draws_are_enough() -> None:
    gamma = formulas.bbgn19_gamma(4, 10**5, F(1, 2), 1e-6).high
    m = KaryRandomizedResponse.with_uniform_draw(gamma, 4)
    assert account(Shuffle(m, 10**5)).delta(F(1, 2)).high <= 1e-6


def test_the_stronger_clone_never_certifies() -> None:
    found = formulas.stronger_clone_conjecture(1, 1000, F(1, 10))
    assert found.rigour is Rigour.FLOAT
    assert found.high < Clones(F(1)).delta(F(1, 10), 1000)
    m = KaryRandomizedResponse.for_epsilon(1, 2)
    assert account(Shuffle(m, 1000)).delta(F(1, 10)).high < found.high  # for the binary mechanism it is a theorem


ENPA = {
    10**4: (0.53, 7.67, 7.98, 8.00, 8.00, 8.00),
    10**5: (0.01, 0.25, 0.46, 0.66, 0.84, 1.02),
    10**6: (0.01, 0.04, 0.10, 0.15, 0.19, 0.23),
    10**7: (0.01, 0.01, 0.03, 0.04, 0.06, 0.07),
}
"""White paper, figure 2: shuffled epsilon for epsilon0 = 8, delta = 1e-1 to 1e-6."""
ENPA_FIVE_BINS_REFUTED = {
    10**4: (True, False, False, False, False, False),
    10**5: (False, True, True, True, True, True),
    10**6: (False, True, True, True, True, True),
    10**7: (False, False, True, True, True, True),
}
"""Where the figure is read for a one-hot report of five bins, a data set exceeds it."""


@pytest.mark.parametrize("users", [10**4, *(pytest.param(users, marks=pytest.mark.slow) for users in (10**5, 10**6, 10**7))])
def test_enpa_s_figure_holds_for_one_flipped_bit_and_not_for_five_bins(users: int) -> None:
    bit, bins = (account(Shuffle(KaryRandomizedResponse.for_epsilon(8, k), users)) for k in (2, 5))
    for column, epsilon in enumerate(ENPA[users]):
        delta = F(1, 10 ** (column + 1))
        assert bit.delta(epsilon).high <= delta
        assert (bins.delta(epsilon).low > delta) == ENPA_FIVE_BINS_REFUTED[users][column]


@pytest.mark.parametrize(("epsilon0", "epsilon"), [(F(5), 0.317), (F(13, 2), 0.906), (F(7), 1.528)])
def test_the_draft_s_rows_hold_for_any_shuffled_report(epsilon0: Fraction, epsilon: float) -> None:
    """The first two only by replacement: clones show more than they print."""
    users, delta = 10**5, F(1, 10**9)
    for plan in (UnaryEncoding.symmetric(epsilon0, 100), Guarantee(epsilon0)):
        assert account(Shuffle(plan, users)).delta(epsilon).high <= delta
    assert (CloneProfile(epsilon0, users).delta(epsilon).low > delta) == (epsilon0 < 7)
