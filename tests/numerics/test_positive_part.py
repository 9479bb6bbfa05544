"""What the shuffle accountant computes with: the contour, the sum over answers, float estimates and the search that they guide."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from unittest.mock import Mock

import flint
import numpy as np
import pytest

from ldpaudit import Mechanism, Shuffle, account
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.numerics.certified_search import certified_crossing, close_in, guided
from ldpaudit.accountants.numerics.positive_part import Contour, _enumerated, _in_floats, positive_part
from ldpaudit.accountants.numerics.shifted_sum import ShiftedSum
from ldpaudit.accountants.numerics.trapezoid import Pairs, _sine, _visible, chosen_nodes, tail
from ldpaudit.accountants.shuffling.blanket import Blanket, _Walk, float_estimate, precision, two_answers
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import KaryRandomizedResponse, Rappor, UnaryEncoding
from tests.helpers import some

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


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("deviations", [-6, -2.5, -0.1, 0, 1])
def test_one_contour_serves_all_numbers_that_are_added_to_a_sum(seed: int, deviations: float) -> None:
    with working_precision(200):
        n, mean = 2000, sum((v * p for v, p in atoms(seed)), flint.arb(0))
        law = [(v - mean, p) for v, p in atoms(seed)]
        total = ShiftedSum(tuple(law), n)
        for near in (0.98, 1, 1.01):  # the first number's contour serves the next ones
            c = flint.arb(near * deviations * math.sqrt(n * float(sum((v * v * p for v, p in law), flint.arb(0)))))
            found, truth = total.positive_part(c, 1e-3), positive_part([(v + c / n, p) for v, p in law], n, 1e-4)
            assert (found is not None) or truth.rad() > 1e-4 * truth.mid()
            assert found is None or (found.rad() <= 1e-3 * found.mid() and found.overlaps(truth))
        assert len(total._lines) <= 2


@pytest.mark.parametrize("held", [0, 1])
@pytest.mark.parametrize("epsilon", [F(1, 100), F(1, 20), F(1, 5)])
def test_where_all_others_hold_one_of_user_1s_values_delta_is_that_of_a_shifted_sum(held: int, epsilon: Fraction) -> None:
    laws = [F(1, 2), F(1, 4), F(1, 8), F(31, 256), F(1, 256)], [F(1, 8), F(1, 4), F(1, 2), F(1, 8), F(0)]
    blanket = Blanket.of(zip(*laws, laws[held], strict=True))
    with working_precision(precision(1000)):
        e, alike = ball(epsilon).exp(), blanket.alike(1000)
        assert alike is not None
        found, truth = alike(e, 1e-3), blanket.delta(e, 1000, 1e-7)
        assert found is not None
        assert found.rad() <= 1e-3 * found.mid()
        assert found.overlaps(truth)
    third = Blanket.of(zip(*laws, [F(1, 5)] * 5, strict=True))
    assert third.alike(1000) is None


FEW = (((3, -2), 5), ((1, -1), 6), ((2, 0, -1), 7), ((F(5, 3), F(1, 3), F(-1, 3), -1), 5), ((4, -1, -1, 1, 2), 4), ((1,), 2),
       ((1, F(-599, 600)), 2))  # fmt: skip
"""Values of a law, some of whose sums are 0 or nearly 0, and how many are added up."""


@pytest.mark.parametrize(("values", "n"), FEW)
@pytest.mark.parametrize("off", [F(0), F(1, 1000), F(-1, 1000)])
@pytest.mark.parametrize("tolerance", [0, 1e-9])
def test_a_sum_of_few_is_what_rationals_say_of_ties(values: tuple[Fraction, ...], n: int, off: Fraction, tolerance: float) -> None:
    law = [(F(v) + off, F(i + 2, sum(range(2, len(values) + 2)))) for i, v in enumerate(values)]
    drawn = [(sum((v for v, _ in each), F(0)), math.prod(p for _, p in each)) for each in product(law, repeat=n)]
    truth = sum((max(F(0), total) * chance for total, chance in drawn), F(0))
    with flint.ctx.workprec(128):
        room = flint.arb(0, abs(float(off)) * 1.01)
        atoms = [(ball(v - off) + room, ball(p)) for v, p in law]
        found = some(_in_floats(atoms, n, tolerance) if tolerance and not off else _enumerated(atoms, n))
        assert found.contains(flint.fmpq(truth.numerator, truth.denominator))
        assert found.rad() < (n * 2e-3 if off else 1e-30 if not tolerance else 1e-10 * found) or len(law) == 1


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
def test_the_nodes_that_are_not_evaluated_hold_no_more_than_the_bound(n: int, h: float, values: tuple[float, ...]) -> None:
    w, saddle = np.array(values), 0.3
    p = np.array([0.3, 0.2, *[0.5 / (len(w) - 2)] * (len(w) - 2)])
    k = np.arange(1, 60_000)
    held = 2 * h * np.abs(p @ np.exp(1j * np.outer(w, h * k))) ** n / (saddle**2 + (h * k) ** 2)
    for allowed in (1e-1, 1e-4, 1e-9):
        nodes, bound = chosen_nodes(Pairs.of(w, p, n), h, saddle, allowed)
        assert held.sum() - held[np.array(nodes, dtype=int) - 1].sum() <= bound
        assert bound < held.sum() + 1 / saddle**2


@pytest.mark.parametrize("steps", [0.05, 0.3, 1.7])
def test_peaks_between_nodes_that_are_bounded_together_are_not_missed(steps: float) -> None:
    w, p, n, saddle = np.array([-1.0, 1.0, 0.3]), np.array([0.5, 0.499, 0.001]), 300, 0.2
    k = np.arange(1, 1025)
    phi = np.exp(1j * np.multiply.outer(steps * k, w)) @ p
    held = 2 * steps * np.abs(phi) ** n / (saddle**2 + (steps * k) ** 2)
    for allowed in (1e-2, 1e-4):
        nodes, bound = _visible(Pairs.of(w, p, n), steps, saddle, len(k), allowed)
        assert held.sum() - held[np.array(nodes, dtype=int) - 1].sum() <= bound <= allowed
        assert len(nodes) < 100


def test_of_thousands_of_values_the_pairs_that_say_most_are_looked_at() -> None:
    weights = np.random.default_rng(1).random(3000)
    values, masses = np.arange(3000.0), weights / weights.sum()
    some, all_ = Pairs.of(values, masses, 5), masses.max() * np.sort(masses)[-400:-1] * 5
    assert len(some.kappas) < 600
    assert some.kappas.min() >= all_.min() * (1 - 1e-5)


def test_the_series_of_a_sine_is_below_it_and_near() -> None:
    x = np.linspace(0, math.pi / 2, 10_001)
    assert (_sine(x) <= np.sin(x) + 1e-15).all()
    assert (_sine(x) >= np.sin(x) * (1 - 2e-4)).all()


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
                phi = sum((float(b) * flint.acb(0, near * float(a)).exp() for a, b in zip(w, p, strict=True)), flint.acb(0))
                exact = -n * (abs(phi) / sum(flint.arb(float(b)) for b in p)).log()
            assert fall <= exact + ROUNDING
            if gap is None and exact < 40:
                assert fall >= exact * (1 - 1e-2) - 1e-2


def test_rare_values_may_be_thousands() -> None:
    rng, n, chance = np.random.default_rng(5), 10, 1e-9
    values = rng.normal(size=2000)
    with working_precision(256):
        atoms = [(flint.arb(v), flint.arb(chance)) for v in values.tolist()] + [(flint.arb(-1e-4), flint.arb(1 - 2000 * chance))]
        found = positive_part(atoms, n, 1e-3)
        # Of n values, all but one are the usual one in nearly all sums that are positive.
        expected = n * chance * (np.maximum(values - 9e-4, 0).sum())
        assert abs(float(found.mid()) / expected - 1) < 1e-3
        assert float(found.rad()) < 1e-3 * expected


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
    top, delta = account(m).epsilon(0).high, F(1, 10**9)
    counted = Mock(side_effect=lambda value, epsilon, tolerance: value(F(epsilon), tolerance))
    below, above = bound.estimates()
    low = some(guided(partial(counted, bound.low), delta, top, 1e-7, below, -1.0))
    high = some(guided(partial(counted, bound.high), delta, top, 1e-7, above, 1.0))
    assert counted.call_count <= 8
    assert bound.low(F(low), 1e-7) > ball(delta)
    assert bound.high(F(high), 1e-7) <= ball(delta)
    for value, found in ((bound.low, low), (bound.high, high)):
        ends = certified_crossing(partial(counted, value), delta, top, 1e-7)
        assert ends[0] * (1 - WIDE) <= found <= ends[1] * (1 + WIDE) <= ends[0] * (1 + WIDE) ** 2


@pytest.mark.parametrize("far", [0.5, 5.0])
def test_numbers_that_mislead_a_search_cost_it_some_halvings(far: float) -> None:
    """As do balls that are wider beyond some place, which a line through two points leads to again and again."""
    misleading = Mock(side_effect=lambda x: (x >= 0.3001, x - 0.3 if x >= 0.3001 else -far))
    good, bad = close_in(misleading, 1.0, 0.0)
    assert bad < 0.3001 <= good < bad * (1 + 2.0**-33)
    assert misleading.call_count < 100


@pytest.mark.parametrize("off", [2.0, 0.3, -0.3, -1.5])
def test_an_estimate_that_is_off_by_a_factor_leads_there(off: float) -> None:
    low, high = (some(guided(bell, F(1, 10**6), 3.0, 1e-9, lambda e: off - 100 * e**2, side)) for side in (-1.0, 1.0))
    assert low < math.sqrt(-math.log(1e-6) / 100) < high < low * (1 + WIDE)


@pytest.mark.parametrize("steep", [250, 900])
def test_an_estimate_that_is_too_steep_leads_there_in_a_few_looks(steep: int) -> None:
    """As what is found tells how steep it is: what it is wrong by at one place alone leads nearer and nearer, by small steps."""
    for side in (-1.0, 1.0):
        looks = Mock(side_effect=bell)
        found = some(guided(looks, F(1, 10**6), 3.0, 1e-9, lambda e: 0.5 - steep * e**2, side))
        assert found == pytest.approx(math.sqrt(-math.log(1e-6) / 100), rel=WIDE)
        assert looks.call_count <= 7


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_what_is_nowhere_above_delta_is_found_to_be_so_whatever_the_estimate_says(side: float) -> None:
    assert guided(lambda e, t: bell(e, t) / 10**7, F(1, 10**6), 3.0, 1e-9, lambda e: -12 - 100 * e**2, side) == 0


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
    lambda e: 1e4 - 1e3 * e,  # far above the logarithm of 1
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
