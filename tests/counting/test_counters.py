"""Noisy counters: masses of cells, laws that dominate or are shown, totals, against independent routes."""

import math
import time
from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from scipy import special

from ldpaudit import Rigour, account
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.accountants.counting.compose import PRECISION, CountersProfile, LowerTotal, UpperTotal
from ldpaudit.accountants.counting.count_min import largest, replaced
from ldpaudit.accountants.counting.counter import AnyCounter, CounterTotal, NoisyCounter, Remainder, cells, dominating, shown
from ldpaudit.accountants.numerics.binomial import binomial_upper
from ldpaudit.accountants.numerics.binomial_ranges import masses
from ldpaudit.accountants.pld import lattice
from ldpaudit.mechanisms import ShuffledBinarySums, ShuffledCountMin
from ldpaudit.neighbours import ADD_REMOVE
from tests.helpers import at_most, some
from tests.oracles.pairs import heads
from tests.oracles.shuffle import law_of

F = Fraction


@pytest.mark.parametrize(("n", "gamma"), [(10**12, F(1, 2)), (10**12, F(1, 1000)), (10**9, F(1, 100)), (10**15, F(1, 7))])
def test_masses_of_cells_are_differences_of_tails(n: int, gamma: Fraction) -> None:
    sigma, mean = math.sqrt(n * gamma * (1 - gamma)), n * float(gamma)
    with flint.ctx.workprec(144):
        for z, part in ((-30, 3), (-8, 48), (-0.7, 48), (0.01, 40), (8, 50), (35, 3)):
            start, width = round(mean + z * sigma), int(sigma / part)
            edges = [start, start + width, start + 2 * width + 1]
            for found, a, b in zip(masses(n, gamma, edges), edges, edges[1:], strict=False):
                tails = binomial_upper(n, gamma, a) - binomial_upper(n, gamma, b)
                assert found.overlaps(tails)
                assert found.rel_accuracy_bits() > 50


@pytest.mark.parametrize("counter", [
    NoisyCounter(40, F(1, 3), 2), NoisyCounter(50, F(1, 5), 1, 1), NoisyCounter(9, F(4, 5), 0, 1), NoisyCounter(60, F(1, 3), 17),
    CounterTotal(60, F(1, 4), 51),
], ids=str)  # fmt: skip
def test_cells_of_a_short_law_are_its_counts(counter: AnyCounter) -> None:
    found, there, back = cells(counter), heads(counter.n, counter.gamma), heads(counter.fewer, counter.gamma)
    for y, p, q, g in zip(counter.edges(), found.shifted, found.plain, found.ratios, strict=False):
        a, b = there[y - counter.shift], back[y]
        for value, exact in ((p, a), (q, b), (g, a / b)):
            with flint.ctx.workprec(400):
                assert value.contains(flint.arb(flint.fmpq(exact.numerator, exact.denominator)))


def composed(n: int, gamma: Fraction, shift: int, rows: int) -> CountersProfile:
    """A count of each row up and one down, never enumerated."""
    parts = [NoisyCounter(n, gamma, shift), NoisyCounter(n, 1 - gamma, shift)]
    with flint.ctx.workprec(PRECISION):
        return CountersProfile(
            ((LowerTotal(tuple((shown(c), rows) for c in parts)), UpperTotal(tuple((dominating(c), rows) for c in parts))),), ""
        )


@pytest.mark.parametrize("others", [0, 2])
def test_many_pairs_share_what_may_be_spent_on_enumeration(others: int) -> None:
    """Two counters of four users are enumerated alone, and enclosed beside pairs of sixteen and more."""
    n, gamma = 4, F(1, 7)
    alone = replaced(n, gamma, ((1, 1), (-1, 1)))
    wide = [pair for k in range(others) for pair in replaced(n, gamma, ((1, 16), (-1, 16 + k)))]
    found = largest(n, gamma, [*alone, *wide]).delta(0.5)
    assert found.rigour is (Rigour.INTERVAL if others else Rigour.EXACT)
    assert found.high >= largest(n, gamma, alone).delta(0.5).low


@pytest.mark.few(1)
@pytest.mark.parametrize(("n", "gamma", "shift"), [(10**7, F(7, 100), 1), (10**12, F(1, 10**6), 3)])
def test_one_counter_on_the_lattice_encloses_the_exact_shift(n: int, gamma: Fraction, shift: int) -> None:
    counter, exact = NoisyCounter(n, gamma, shift), ShiftProfile(n, gamma, shift)
    reversed_counter = NoisyCounter(n, 1 - gamma, shift)
    with flint.ctx.workprec(PRECISION):
        ours = CountersProfile(
            tuple((LowerTotal(((shown(c), 1),)), UpperTotal(((dominating(c), 1),))) for c in (counter, reversed_counter)), ""
        )
    for delta in (1e-3, 1e-40, 1e-300):
        found, truth = ours.epsilon(delta), exact.epsilon(delta)
        assert found.low <= truth.low <= truth.high <= found.high <= found.low * 1.02
    for epsilon in (0.0, exact.epsilon(1e-9).high):
        found, truth = ours.delta(epsilon), exact.delta(epsilon)
        assert found.low <= truth.low <= truth.high <= found.high <= found.low * 1.01


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize(("n", "counters", "gamma"), [(1000, 4000, F(1, 20)), (5000, 300, F(1, 3)), (10**5, 500, F(9, 10))])
def test_the_loss_of_all_counters_is_within_eta_of_their_total(n: int, counters: int, gamma: Fraction, exchanged: bool) -> None:
    found = some(Remainder(n, gamma, counters, exchanged).at(12.0))
    eta, rare = float(found[0]), float(found[1])
    rng, g = np.random.default_rng(1), float(gamma)
    y = rng.binomial(n - exchanged, g, (300, counters)).astype(float)
    losses = np.sum(math.log(1 - g) - np.log1p(-y / n), axis=1)
    t, a, b = y.sum(axis=1), n * counters, (n - 1) * counters
    total = (np.array([math.lgamma(a + 1) - math.lgamma(b + 1)]) - special.gammaln(a - t + 1) + special.gammaln(b - t + 1))
    total = total + counters * math.log(1 - g)
    beyond = (total - losses if exchanged else losses - total) - eta
    assert beyond.max() <= 1e-6, "the floats' own error at this many coins"
    assert rare < 1e-4
    assert eta < 0.2 * losses.std()


@pytest.mark.slow
def test_totals_and_single_counters_enclose_the_same_number() -> None:
    n, gamma, many = 50_000, F(1, 10), 3000
    counter, total = NoisyCounter(n, gamma, 0, 1), CounterTotal(n * many, gamma, (n - 1) * many)
    with flint.ctx.workprec(PRECISION):
        for exchanged in (False, True):
            event = LowerTotal(((shown(total, exchanged), 1),))
            single = UpperTotal(((dominating(counter, exchanged), many),))
            whole = UpperTotal(((dominating(total, exchanged), 1),), Remainder(n, gamma, many, exchanged))
            one, other = (CountersProfile(((event, above),), "") for above in (single, whole))
            for delta in (1e-2, 1e-5):
                assert one.epsilon(delta).low == pytest.approx(other.epsilon(delta).low, rel=1e-9)
                ends = one.epsilon(delta).high, other.epsilon(delta).high
                assert one.epsilon(delta).low <= min(ends) <= max(ends) < one.epsilon(delta).low * 1.04


@pytest.mark.parametrize("exchanged", [False, True])
def test_cells_whose_mass_may_be_0_leave_the_total_a_number(exchanged: bool) -> None:
    """Nine counters of six coins, one coin less for a user who leaves; truth by enumerating ratios of rationals."""
    gamma = F(1, 4)
    more, fewer = heads(6, gamma), [*heads(5, gamma), F(0)]
    p, q = (fewer, more) if exchanged else (more, fewer)
    ratios: dict[Fraction, Fraction] = {F(1): F(1)}  # Q over P
    for _ in range(9):
        every = product(ratios.items(), zip(p, q, strict=True))
        ratios = law_of((ratio * theirs / ours, mass * ours) for (ratio, mass), (ours, theirs) in every if ours)
    counter = NoisyCounter(6, gamma, 0, 1)
    with flint.ctx.workprec(PRECISION):
        found = CountersProfile(
            ((LowerTotal(((shown(counter, exchanged), 9),)), UpperTotal(((dominating(counter, exchanged), 9),))),), ""
        )
    for epsilon in (0.0, 0.25, 1.0):
        truth = sum(float(mass) * max(0.0, 1 - math.exp(epsilon) * float(ratio)) for ratio, mass in ratios.items())
        at = found.delta(epsilon)
        assert at.low * (1 - 1e-12) <= truth <= at.high * (1 + 1e-12)
        assert at.high < at.low * 1.05


@pytest.mark.parametrize("values", [2, 2**21])
@pytest.mark.parametrize("epsilon", [13.091905622916972, 20.0, 700.0])
def test_next_to_the_largest_loss_a_lattice_that_would_be_too_long_is_made_for_a_smaller_tilt(values: int, epsilon: float) -> None:
    profile = account(ShuffledBinarySums(users=10**9, values=values, gamma=F(1, 10**12)), ADD_REMOVE)
    nobody_else = math.exp(-1e-3)  # nobody's blanket holds the user's label: the infinite-loss mass
    found = profile.delta(epsilon)
    assert found.low <= found.high < found.low * (1 + 1e-9)
    assert found.high == pytest.approx(nobody_else, rel=1e-8)


def test_where_no_lattice_is_short_enough_delta_is_at_most_one(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = composed(1000, F(1, 3), 1, 2).delta(0.1)
    monkeypatch.setattr(lattice, "_LONGEST", 1)
    blind = composed(1000, F(1, 3), 1, 2)
    assert blind.delta(0.1).low <= truth.low <= truth.high <= blind.delta(0.1).high == 1
    assert blind.epsilon(0.01).low == 0
    assert math.isinf(blind.epsilon(0.01).high)


@pytest.mark.slow
def test_counters_of_rare_messages_at_large_epsilons_take_seconds() -> None:
    with at_most(20, time.process_time):  # seconds: five; each of the three took half a minute
        assert account(ShuffledBinarySums(10**9, 100, F(1, 10**6)), ADD_REMOVE).delta(1.0).high < 1e-70
        assert account(ShuffledCountMin(10**9, 2**20, 10, 100, 1 - F(1, 10**12), held=3)).delta(700.0).low > 0.9
        account(ShuffledCountMin(2**62, 2**62, 4096, 2**63, F(1, 10**12)), ADD_REMOVE)
