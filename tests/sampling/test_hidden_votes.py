"""Tries over several rounds: what other users' prefixes tell, and own votes that stay hidden, against enumeration in rationals."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats

from ldpaudit.accountants.sampling import crowd, hidden_votes
from ldpaudit.accountants.sampling.crowd import Crowd, Row
from ldpaudit.accountants.sampling.thresholded import FixedBatch, PoissonBatch, Sampling
from ldpaudit.accountants.sampling.trie import ThresholdProfile
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from tests.helpers import some
from tests.oracles.shuffle import law_of
from tests.oracles.trie import partitions
from tests.sampling.test_trie import votes

Atom = tuple[Fraction, Fraction]  # P's mass, and the density of the user's law
RATIOS = [Fraction(x, 8) for x in (1, 3, 5, 7, 8, 9, 11, 14, 20, 40)]


def density(groups: tuple[int, ...], batch: int, theta: int, most: Fraction) -> tuple[list[tuple[tuple[int, ...], Atom]], Fraction]:
    """Numbers of votes, P's mass and xi there, where densities are cut off at `most`; and what is lost."""
    left = sum(groups) - batch + 1
    drawn = votes(groups, batch)
    found: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    lost = Fraction(0)
    for before, mass in votes(groups, batch - 1).items():
        off = [i for i, (w, j) in enumerate(zip(groups, before, strict=True)) if j != theta - 1 and w > j]
        share = Fraction(sum(groups[i] - before[i] for i in off), left)
        part = min(Fraction(1), most * share)
        lost += mass * (1 - part)
        for i in off:
            after = tuple(j + (i == k) for k, j in enumerate(before))
            found[after] += mass * part * Fraction(groups[i] - before[i], left) / share
    return [(j, (mass, found[j] / mass)) for j, mass in drawn.items()], lost


def told(atoms: list[Atom], c: Fraction) -> Fraction:
    """E(X - c)_+."""
    return sum((mass * max(Fraction(0), x - c) for mass, x in atoms), Fraction(0))


def released(law: dict[tuple[int, ...], Fraction], theta: int) -> dict[tuple[bool, ...], Fraction]:
    return law_of((tuple(v >= theta for v in j), mass) for j, mass in law.items())


SMALL = [(n, m, theta) for n in range(3, 7) for m in range(2, n + 1) for theta in range(2, m + 1)]


@pytest.mark.parametrize(("n", "m", "theta"), SMALL)
def test_samples_without_the_user_have_the_density_that_the_theorem_says(n: int, m: int, theta: int) -> None:
    for groups, most in product(partitions(n), (Fraction(3, 2), Fraction(100))):
        atoms, lost = density(groups, m, theta, most)
        without, user = released(votes(groups, m), theta), released(votes(groups, m - 1), theta)
        assert sum(mass * x for _, (mass, x) in atoms) + lost == 1
        assert 2 * m > n or lost <= crowd.lost(Crowd(theta, m, theta, n), m, float(most))
        for c in RATIOS:
            seen = sum(max(Fraction(0), r - c * without.get(t, 0)) for t, r in user.items())
            assert seen <= told([atom for _, atom in atoms], c) + lost
        for j, (_, x) in atoms:
            verge = Fraction(sum(w - v for w, v in zip(groups, j, strict=True) if v == theta - 1), n - m + 1)
            critical = Fraction(theta * sum(v == theta for v in j), m)
            assert x <= (1 - critical) * (min(1 / (1 - verge), most) if verge < 1 else most)


@pytest.mark.parametrize(("n", "m", "theta"), [each for each in SMALL if each[0] < 6])
def test_own_votes_stay_hidden(n: int, m: int, theta: int) -> None:
    for w, kappa in product(range(n), (Fraction(3, 2), Fraction(100))):
        chance = {j: Fraction(math.comb(w, j) * math.comb(n - w, m - j), math.comb(n, m)) for j in range(m + 1)}
        with_user = {j + 1: Fraction(math.comb(w, j) * math.comb(n - w, m - 1 - j), math.comb(n, m - 1)) for j in range(m)}
        for others, outcome in product(partitions(n - w), (range(theta), range(theta, m + 1))):
            own = sum(chance[j] for j in outcome)
            if own == 0:
                continue
            ratio = sum(with_user.get(j, Fraction(0)) for j in outcome) / own
            without: dict[tuple[bool, ...], Fraction] = defaultdict(Fraction)
            user: dict[tuple[bool, ...], Fraction] = defaultdict(Fraction)
            atoms, lost = [], Fraction(0)
            for j in outcome:
                if m - j > n - w:
                    continue
                for t, mass in released(votes(others, m - j), theta).items():
                    without[t] += chance[j] * mass
                    user[t] += with_user.get(j, Fraction(0)) * mass
                moved = sum(with_user.get(i, Fraction(0)) - ratio * chance[i] for i in outcome if i > j)
                assert 0 <= moved <= chance[j] * Fraction(m - j, m)
                if chance[j] == 0 or moved == 0:
                    atoms.append((chance[j], ratio))
                    continue
                part, gone = density(others, m - j, theta, kappa)
                atoms += [(chance[j] * mass, ratio + moved / chance[j] * (x - 1)) for _, (mass, x) in part]
                lost += moved * gone
            for c in RATIOS:
                seen = sum(max(Fraction(0), user[t] - c * ratio * mass) for t, mass in without.items())
                assert seen <= told(atoms, c * ratio) + lost


def moments(n: int, m: int, theta: int, w: int, groups: int, rates: list[float], most: float) -> list[float]:
    """Logarithms of E exp(rate (xi - 1)) where this many prefixes have w users each: by discrete transforms."""
    size = 4 << m.bit_length()
    p, angles = m / n, np.exp(-2j * np.pi * np.arange(size) / size)
    masses = np.array([math.comb(w, j) * p**j * (1 - p) ** (w - j) for j in range(w + 1)])
    verge, critical = masses[theta - 1], masses[theta]
    rest = np.where(np.isin(np.arange(w + 1), (theta - 1, theta)), 0.0, masses)
    of_rest, alone = np.polyval(rest[::-1], angles), np.exp((n - groups * w) * np.log(1 - p + p * angles))
    total, found = 0.0, np.zeros(len(rates))
    for i in range(min(groups, m // (theta - 1)) + 1):
        for k in range(min(groups - i, (m - i * (theta - 1)) // theta) + 1):
            left = m - i * (theta - 1) - k * theta
            ways = math.lgamma(groups + 1) - math.lgamma(i + 1) - math.lgamma(k + 1) - math.lgamma(groups - i - k + 1)
            nats = ways + i * math.log(verge) + k * math.log(critical)
            chance = math.exp(nats) * float(np.mean(of_rest ** (groups - i - k) * alone * angles ** (-left % size)).real)
            share, own = i * (w - theta + 1) / (n - m + 1), (w - theta + 1) / (n - m + 1)
            sent = (m - i * (theta - 1) - k * theta) * min(most, 1 / max(1e-9, 1 - share))
            sent += i * (theta - 1) * min(most, 1 / max(1e-9, 1 - share + own))
            total += chance
            found += chance * np.exp(np.array(rates) * (sent / m - 1))
    return [float(x) for x in np.log(found / total)]


@pytest.mark.parametrize(("n", "m", "theta"), [(4000, 150, 4), (4000, 200, 8), (5000, 300, 12)])
@pytest.mark.parametrize("size", [0.8, 1.0])
def test_moments_of_others_prefixes_are_below_their_bound(n: int, m: int, theta: int, size: float) -> None:
    w = max(theta, round(size * theta * n / m))
    rates = [0.5, 1.5, 4.0]
    others = Crowd(theta, m, 9 * m // 10, 19 * n // 20)
    bounds = [crowd.log_moment(others, rate, 1, 2.0) for rate in rates] + [crowd.log_moment_back(others, rate, 1) for rate in rates]
    truth = moments(n, m, theta, w, n // w, rates + [-rate for rate in rates], 2.0)
    assert all(0 <= low <= high < math.inf for low, high in zip(truth, bounds, strict=True))
    if size == 1:
        assert bounds[1] < 4 * truth[1]


@pytest.mark.parametrize(("rate", "verge", "most", "tau", "skew"), [
    (0.3, 0.13, 1.9, 10.0, 0.01), (1.0, 0.13, 1.9, 10.0, 0.01), (4.0, 0.13, 1.9, 10.0, 0.01), (0.17, 0.275, 1.6, 4.84, 6 / 41),
])  # fmt: skip
def test_the_cosh_bounds_the_quotient(rate: float, verge: float, most: float, tau: float, skew: float) -> None:
    out = skew * rate
    c, left, rho = crowd._curvature(rate, verge, most, tau, out), 1 - verge, crowd._BENT
    rng = np.random.default_rng(1)
    near = verge + 0.05 * rng.standard_normal((2, 20_000))
    share, critical = np.concatenate([rng.random((2, 20_000)), rng.random((2, 20_000)) * 0.6, near], axis=1).clip(0, 1)
    d, x = share - critical, share - verge
    density = (1 - critical) * np.minimum(1 / np.maximum(1 - share, 1e-9), most) - 1
    exponent = rate * (density - d / left) - out * np.where(share <= 1 - 1 / most, 0.0, -share)
    bound = np.log1p(c / tau**2 * (2 * np.cosh(tau * (rho * d + x / rho)) - 2))
    assert (exponent <= bound + 1e-12).all()
    assert skew > 0.1 or c < 1.2 * rate / 4 / left**2


@pytest.mark.parametrize("rate", [0.3, 1.0, 4.0])
def test_the_cosh_bounds_the_tangent(rate: float) -> None:
    verge, tau = 0.13, 10.0
    left = 1 - verge
    c = crowd._tangents_curvature(rate / left**2, tau)
    share, critical = np.random.default_rng(2).random((2, 50_000))
    x, y = share - verge, critical - verge
    exponent = rate * (1 - (1 - critical) * (1 / left + x / left**2)) + rate * (share - critical) / left
    assert (exponent <= np.log1p(c / tau**2 * (2 * np.cosh(tau * (x + y)) - 2)) + 1e-12).all()
    assert ((1 - critical) * (1 / left + x / left**2) <= (1 - critical) / (1 - share) + 1e-12).all()


@pytest.mark.parametrize("nats", [1e-4, 0.01, 0.1, 1.0])
def test_what_few_own_votes_leave_to_others_is_bounded_on_average(nats: float) -> None:
    for n, m, w, theta in ((400, 40, 60, 2), (400, 40, 150, 0), (10_000, 100, 300, 5), (30, 15, 4, 1)):
        j = np.arange(theta, w + 1)
        masses, mean = stats.hypergeom.pmf(j, n, w, m), m * w / n
        truth = float(masses @ np.exp(nats * np.maximum(0.0, mean - j)) / masses.sum())
        assert truth <= crowd._of_few_own_votes(nats, mean) <= crowd._of_few_own_votes(nats, 2 * mean)


def test_what_floats_cannot_tell_is_no_bound() -> None:
    assert crowd._of_few_own_votes(800.0, 1.0) == math.inf
    assert crowd._curvature(5000.0, 0.1, 3.0, 2000.0, 0.0) == math.inf
    assert crowd._ends(800.0, 1.0, 2000.0) == math.inf
    assert crowd.log_moment(Crowd(4, 400_000, 300_000, 4_000_000), 900.0, 3, 2.0) > 0


@pytest.mark.parametrize("sampling", [FixedBatch(900, 90), FixedBatch(4000, 40), PoissonBatch(700, Fraction(1, 9))])
@pytest.mark.parametrize("theta", [1, 2, 5])
def test_all_numbers_of_holders_are_in_the_polygon(sampling: Sampling, theta: int) -> None:
    for last in (sampling.users + 1, sampling.users // 2):
        x, y = hidden_votes._outer(sampling, theta, last)
        for w in range(min(last, sampling.users + 1)):
            more, fewer = (float(each) for each in sampling.release(w, theta))
            sides = [each for each in pairwise(zip(x, y, strict=True)) if each[0][0] <= fewer <= each[1][0]]
            above = min(a + (b - a) * (fewer - u) / (v - u) if v > u else max(a, b) for (u, a), (v, b) in sides)
            assert more <= above * (1 + 1e-9)


def silent(n: int, m: int, theta: int, w: int, groups: int, rounds: int, c: Row) -> tuple[Row, Row]:
    """E(X - c)_+ and E(1 - cX)_+ of what is released of prefixes of w users each, in rounds in which the user does not vote."""
    size, q = 4 << m.bit_length(), m / (n + 1)
    angles = np.exp(-2j * np.pi * np.arange(size) / size)

    def law(drawn: int, alive: int) -> Row:
        p = m / n
        masses = [math.comb(w, j) * p**j * (1 - p) ** (w - j) for j in range(w + 1)]
        missed, passed = np.polyval(masses[:theta][::-1], angles), np.polyval([*masses[:theta - 1 : -1], *[0.0] * theta], angles)
        alone = np.exp((n - alive * w) * np.log(1 - p + p * angles))
        turned = alone * angles ** (-drawn % size)
        found = [math.comb(alive, k) * float(np.mean(passed**k * missed ** (alive - k) * turned).real) for k in range(alive + 1)]
        return np.maximum(np.array(found) / sum(found), 0.0)

    there, back = [np.maximum(1 - c, 0.0)] * (groups + 1), [np.maximum(1 - c, 0.0)] * (groups + 1)
    for _ in range(rounds):
        steps = []
        for alive in range(groups + 1):
            chances, ratios = law(m, alive), 1 - q + q * law(m - 1, alive) / np.maximum(law(m, alive), 1e-300)
            kept = [k for k in range(alive + 1) if chances[k] > 1e-13]
            steps.append((
                sum(chances[k] * ratios[k] * np.interp(c / ratios[k], c, there[k]) for k in kept),
                sum(chances[k] * np.interp(c * ratios[k], c, back[k]) for k in kept),
            ))  # fmt: skip
        there, back = [list(each) for each in zip(*steps, strict=True)]
    return there[groups], back[groups]


def test_a_user_who_never_votes_is_told_by_no_more_than_the_bound() -> None:
    n, m, theta, w, rounds = 4000, 200, 5, 90, 3
    c = np.exp(np.linspace(-4 * m / n, 4 * m / n, 801))
    found = some(hidden_votes.crowded(FixedBatch(n, m), theta, rounds, 1e-5))
    there, back = silent(n, m, theta, w, n // w, rounds, c)
    inner = slice(200, 600)  # at the ends the oracle's chords stop
    assert (there <= hidden_votes._told(found, c) + found.lost)[inner].all()
    assert (back <= hidden_votes._told_back(found, c) + found.lost)[inner].all()


def test_the_worst_two_prefixes_are_found_in_both_directions() -> None:
    sampling, theta, n = PoissonBatch(400, Fraction(1, 20)), 3, 400
    curves = some(hidden_votes.curves(sampling, theta, 2, Fraction(1, 4), 1e-6))
    pairs = [tuple(float(each) for each in sampling.release(w, theta)) for w in range(theta - 1, n + 1)]
    more, fewer = np.array(pairs).T
    for epsilon in (Fraction(1, 100), Fraction(1, 40), Fraction(1, 8)):
        c = math.exp(epsilon)
        for curve, held, seen in ((curves[0], more, fewer), (curves[1], fewer, more)):
            both = np.maximum(np.multiply.outer(held, held) - c * np.multiply.outer(seen, seen), 0)
            both += np.maximum(np.multiply.outer(held, 1 - held) - c * np.multiply.outer(seen, 1 - seen), 0)
            both += np.maximum(1 - held - c * (1 - seen), 0)[:, None]
            assert both.max() * (1 - 1e-9) <= curve.at(epsilon) <= both.max() * 1.005 + 1e-9


SETTINGS = [
    # tight.md's setting, and others: users, batch, theta, rounds, delta, and how far apart the ends may be
    (FixedBatch(10**6, 1000), 12, 10, 1e-8, 1.03),
    (FixedBatch(10**6, 1000), 16, 10, 1e-8, 1.065),
    (FixedBatch(10**8, 20_000), 7, 5, 1e-6, 1.005),
    (FixedBatch(10**6, 30_000), 4, 10, 1e-4, 1.002),
    (PoissonBatch(10**7, Fraction(7, 10**4)), 21, 2, 1e-7, 1.006),
    (PoissonBatch(10**8, Fraction(1, 100)), 23, 3, 1e-5, 1.004),
]


@pytest.mark.few(3)
@pytest.mark.parametrize(("sampling", "theta", "rounds", "delta", "ratio"), SETTINGS)
def test_the_ends_of_a_trie_meet(sampling: Sampling, theta: int, rounds: int, delta: float, ratio: float) -> None:
    profile = ThresholdProfile(sampling, theta, rounds, ADD_REMOVE)
    found = profile.epsilon(delta)
    assert 1 < found.high / found.low < ratio
    assert profile.delta(found.high).high <= delta


@pytest.mark.parametrize("sampling", [FixedBatch(10**6, 30_000), PoissonBatch(10**6, Fraction(3, 100))])
def test_one_user_replaced_costs_what_one_less_and_one_more_cost(sampling: Sampling) -> None:
    one = ThresholdProfile(sampling, 8, 3, REPLACE_ONE)
    change = ThresholdProfile(sampling.without_one(), 8, 3, ADD_REMOVE)
    found, added = one.epsilon(1e-6), change.epsilon(1e-6)
    assert added.low <= found.high < added.high + 1.2 * float(sampling.rate)
    assert math.isfinite(one.delta(600.0).high)


def test_where_hidden_votes_are_not_bounded_well_they_count_as_shown() -> None:
    profile = ThresholdProfile(FixedBatch(10_000, 3_000), 4, 2, ADD_REMOVE)
    assert profile.delta(1.0).high < 0.02  # 0.51 where they are hidden
    assert profile.epsilon(0.012).high < 1.26
