"""Lattices, pairs from curves, and dominating pairs, against enumeration in rationals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product
from unittest.mock import Mock, patch

import flint
import pytest
from hypothesis import given, settings, strategies as st

from ldpaudit import Compose, Enclosure, PrivacyProfile, Repeat, Rigour, account
from ldpaudit.accountants.composition import plan as composition
from ldpaudit.accountants.composition.compose import LatticeProfile, compose
from ldpaudit.accountants.laplace import OneCoordinate
from ldpaudit.accountants.numerics.balls import ball
from ldpaudit.accountants.pld import tilt as points_of, total as total_law
from ldpaudit.accountants.pld.curve import dominated_curve, dominating_curve
from ldpaudit.accountants.pld.distribution import BallPLD, Loss
from ldpaudit.accountants.pld.exact import ExactPLD, dominating_pair
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.accountants.pld.hockey_stick import HockeyStick
from ldpaudit.accountants.pld.lattice import BITS, LatticePLD
from ldpaudit.accountants.pld.profiles import Bracket, UpperEnd
from ldpaudit.accountants.pld.total import common_step
from ldpaudit.core.working_precision import working_precision
from ldpaudit.mechanisms import Gaussian, Laplace, LaplaceHistogram
from ldpaudit.profile import Number
from tests.composition.test_plan import assert_meets, enumerated, rr


@st.composite
def rational_pairs(draw: st.DrawFn) -> ExactPLD:
    """A pair of laws on two to four views, which may show one view that the other law never shows."""
    size = draw(st.integers(2, 4))
    weights = st.lists(st.integers(1, 20), min_size=size, max_size=size)
    ps, qs = draw(weights), draw(weights)
    if draw(st.booleans()):
        qs[0] = 0
    return ExactPLD.of((Fraction(p, sum(ps)), Fraction(q, sum(qs))) for p, q in zip(ps, qs, strict=True)).complete()


@given(
    groups=st.dictionaries(rational_pairs(), st.integers(1, 4), min_size=1, max_size=3),
    points=st.sampled_from([16, 64, 512]),
    few=st.sampled_from([4, 64]),
    share=st.lists(st.floats(0, 1.1), min_size=3, max_size=3),
    delta=st.sampled_from([0.3, 1e-3, 1e-9]),
)
def test_however_coarse_the_lattice_it_encloses_the_enumeration(
    groups: dict[ExactPLD, int], points: int, few: int, share: list[float], delta: float
) -> None:
    pairs = [pair for pair, times in groups.items() for _ in range(times)]
    if math.prod(len(pair.atoms) for pair in pairs) > 20_000:
        pairs, groups = pairs[:3], dict.fromkeys(pairs[:3], 1)
        pairs = list(groups)
    truth, top = enumerated(pairs), sum(max(0.0, math.log(pair.atoms[0][0])) for pair in pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(total_law, "LATTICE_POINTS", points)
        patch.setattr(total_law, "POWER_POINTS", points)
        patch.setattr(total_law, "MOST_POINTS", few)
        patch.setattr(points_of, "MOST_POINTS", few)
        found = LatticeProfile(tuple(groups.items()), "on a coarse lattice")
        for each in share:
            assert_meets(found.delta(each * top), truth.delta(each * top))
        assert_meets(found.epsilon(delta), truth.epsilon(delta))


def test_only_opposite_losses_in_a_pair_equal_to_its_reversed_pair_are_coins() -> None:
    """Symmetric with four losses; with two opposite losses, but not symmetric; symmetric, with two and 0."""
    half = Fraction(1, 2)
    four = dominating_pair([ExactPLD.of([(half, half / 4), (Fraction(1, 8), Fraction(1, 16)), (Fraction(3, 8), half)])])
    skew = ExactPLD.of([(half, half / 3), (half / 2, half * 3 / 2), (half / 2, half * 0)]).complete()
    coin = dominating_pair([ExactPLD.of([(half, half / 4), (half / 4, half), (half * 3 / 4, half * 3 / 4)])])
    assert skew.losses[0] == -skew.losses[-1]
    assert [len(pair.losses) for pair in (four, skew, coin)] == [5, 2, 3]
    assert [pair.is_coin for pair in (four, skew, coin)] == [False, False, True]
    for pair in (four, skew, coin):
        for epsilon in (0.0, 0.5, 2.0):
            assert_meets(compose(((pair, 3),), "x").delta(epsilon), enumerated([pair] * 3).delta(epsilon))


def test_a_few_thousand_losses_are_enumerated_and_an_epsilon_is_known_to_some_floats() -> None:
    """66 * 56 total losses, which no lattice holds exactly."""
    three = ExactPLD.of((Fraction(p, 130), Fraction(q, 120)) for p, q in ((41, 30), (50, 43), (39, 47))).complete()
    four = ExactPLD.of((Fraction(p, 200), Fraction(q, 150)) for p, q in ((41, 30), (50, 43), (39, 47), (70, 30))).complete()
    groups = ((three, 10), (four, 5))
    found = compose(groups, "x").epsilon(1e-6)
    assert found.rigour is Rigour.EXACT
    assert found.relative_width < 8e-15
    assert_meets(found, LatticeProfile(groups, "x").epsilon(1e-6))


@pytest.mark.parametrize(("runs", "made"), [(10, True), (100, False)])
def test_no_lattice_is_made_of_runs_of_which_next_to_no_views_are_listed(runs: int, made: bool) -> None:
    """A half of each run's: of a hundred runs less than delta."""
    law = BallPLD(((flint.arb(1), flint.arb(0.3)), (flint.arb(-1), flint.arb(0.2))), flint.arb(0), Fraction(1, 2))
    truth = compose(((law, runs),), "x").epsilon(1e-6)
    whole = total_law.TotalLoss.known_at
    with patch.object(total_law.TotalLoss, "known_at", autospec=True, side_effect=whole) as looked:
        found = LatticeProfile(((law, runs),), "x").epsilon(1e-6)
    assert looked.called == made == (truth.low > 0)
    assert (found.low, found.high) == pytest.approx((truth.low, truth.high), rel=1e-4)


def test_where_no_precision_decides_whether_delta_covers_the_infinite_losses_nothing_is_claimed() -> None:
    """At delta equal to the infinite-loss mass the largest finite loss is epsilon; a hair below, it is infinite."""
    tenth = Fraction(1, 10)
    law = ExactPLD.of([(tenth, 0 * tenth), (tenth * 6, tenth * 3), (tenth * 3, tenth * 7)]).complete()
    groups = LatticeProfile(((law, 2),), "x")
    mass = 1 - (1 - tenth) ** 2
    tied, below = groups.epsilon(mass), groups.epsilon(mass * (1 - Fraction(1, 10**12)))
    assert tied.low <= 2 * math.log(2) <= tied.high
    assert below.low == math.inf


def test_a_fine_lattice_is_narrow() -> None:
    ratios = (Fraction(11, 10), Fraction(13, 12))
    found = account(Compose([Repeat(rr(ratio, k), 200) for ratio in ratios for k in (2, 3)]))
    at = found.epsilon(1e-6)
    assert at.rigour is Rigour.INTERVAL
    assert at.relative_width < 1e-4
    assert found.delta(at.high).relative_width < 1e-3


@given(st.lists(st.integers(0, 10**6), min_size=5, max_size=40), st.floats(-0.5, 2), st.floats(0.05, 0.9))
def test_what_a_lower_bound_rounds_off_is_the_mean_of_z_less_a_smooth_part(weights: list[int], epsilon: float, w: float) -> None:
    tilt, scale = 3, 10**9
    masses = flint.fmpz_poly([(1 << BITS) // scale * each for each in [*weights, 1]])
    law = LatticePLD(Loss(nats=Fraction(1, 16)), Fraction(tilt), -4, masses, 0, 0, flint.arb(0))
    expected = 0.0
    for i, weight in enumerate([*weights, 1], -4):
        u = i / 16 - epsilon
        z = -math.expm1(-u)
        smooth = 0 if z < 0 else z**2 * (2 * w - z) / w**2 if z <= w else z
        expected += weight / scale * math.exp(-tilt * u) * (max(z, 0) - smooth)
    found = HockeyStick(law, flint.arb(0))._rounded_off(ball(Fraction(epsilon)), ball(Fraction(w)))
    assert float(found) == pytest.approx(expected, rel=1e-6, abs=1e-15)


def test_multiples_of_one_loss_are_composed_exactly() -> None:
    parts = [rr(2), rr(4), rr(8, 3), rr(16)]
    delta = account(Compose([Repeat(m, 30) for m in parts])).delta(30.0)
    assert delta.rigour is Rigour.EXACT
    assert delta.relative_width < 1e-9
    # The same law as a polynomial in the number of doublings, with integer weights.
    law, scale = flint.fmpz_poly([1]), 1
    for m, j in zip(parts, (1, 2, 3, 4), strict=True):
        ratio, rest = 2**j, m.k - 2
        one = flint.fmpz_poly([1] + [0] * (j - 1) + [rest] + [0] * (j - 1) + [ratio])
        law, scale = law * one**30, scale * (ratio + rest + 1) ** 30
    atoms = [(Fraction(int(law[i]), scale), Fraction(int(law[i]), scale * 2 ** (i - 300))) for i in range(300, 601)]
    assert_meets(delta, FiniteProfile((ExactPLD.of(atoms),), "integers").delta(30.0))


@pytest.mark.parametrize(
    ("ratios", "base"),
    [((4, 8), Fraction(2)), ((Fraction(9, 4), Fraction(27, 8)), Fraction(3, 2)),
     ((Fraction(2, 3), Fraction(9, 4)), Fraction(3, 2)), ((2, 3), None), ((Fraction(3, 2), Fraction(4, 3)), None),
     ((Fraction(2**128 + 1, 2**128), 2), None)],
)  # fmt: skip
def test_a_step_is_found_where_all_ratios_are_powers(ratios: tuple[Fraction, ...], base: Fraction | None) -> None:
    found = common_step(Loss(Fraction(ratio)) for ratio in ratios)
    assert (found.ratio if found else None) == base


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer points of lattices: a fraction of the time, and bounds that are a little wider."""
    monkeypatch.setattr(total_law, "LATTICE_POINTS", 1 << 12)
    monkeypatch.setattr(total_law, "POWER_POINTS", 1 << 12)


@pytest.mark.usefixtures("_quick")
def test_two_laplace_coordinates_are_the_histogram_with_two() -> None:
    truth = account(LaplaceHistogram(k=3, scale=Fraction(2)))
    curve = OneCoordinate(Fraction(1, 2), "one coordinate")
    upper, lower = compose(((dominating_curve(curve), 2),), "two"), compose(((dominated_curve(curve), 2),), "two")
    composed = account(Repeat(Laplace(scale=Fraction(2)), 2))
    assert composed.delta(0.3).low <= truth.delta(0.3).high
    assert truth.delta(0.3).low <= composed.delta(0.3).high <= truth.delta(0.3).high * (1 + 1e-12)
    for epsilon in (0.3, 0.9):
        exact = truth.delta(epsilon)
        assert exact.high <= upper.delta(epsilon).high <= exact.high * 1.01
        assert exact.low * 0.98 <= lower.delta(epsilon).low <= exact.low


@pytest.mark.usefixtures("_quick")
def test_what_is_known_of_the_pairs_that_occur_bounds_their_composition_from_below(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Repeat(rr(3), 2)
    monkeypatch.setattr(composition, "account", lambda *_: OneCoordinate(Fraction(1, 2), "one coordinate"))
    found, truth = composition.profile(plan).delta(0.3), account(LaplaceHistogram(k=3, scale=Fraction(2))).delta(0.3)
    assert truth.low * 0.98 <= found.low <= truth.low <= found.high <= truth.low * 1.01
    monkeypatch.setattr(composition, "account", lambda *_: Bracket(account(rr(3)), account(rr(4))))
    found = composition.profile(plan).delta(0.3)
    assert found.low == account(Repeat(rr(3), 2)).delta(0.3).low
    assert found.high == account(Repeat(rr(4), 2)).delta(0.3).high


@settings(max_examples=5)
@given(st.fractions(Fraction(1, 100), 8, max_denominator=100), st.floats(0, 1.2))
def test_a_curve_lies_between_its_two_laws(pure: Fraction, share: float) -> None:
    curve, epsilon = OneCoordinate(pure, "one coordinate"), share * float(pure)
    truth = curve.delta(epsilon)
    assert compose(((dominating_curve(curve), 1),), "upper").delta(epsilon).high >= truth.low
    assert compose(((dominated_curve(curve), 1),), "lower").delta(epsilon).low <= truth.high


def test_a_curve_of_few_points_knows_small_deltas_to_a_small_factor() -> None:
    curve = account(Gaussian(Fraction(1)))
    at = curve.epsilon(1e-12).high
    with working_precision(128):
        assert 1e-12 * (1 - 1e-9) < dominating_curve(curve, 64).delta_ball(ball(Fraction(at)).exp()) < 1e-11


@pytest.mark.parametrize("runs", [20, 1000])
def test_a_curve_is_looked_at_where_as_many_runs_need_it(runs: int) -> None:
    curve, truth = account(Gaussian(Fraction(10))), account(Repeat(Gaussian(Fraction(10)), runs)).epsilon(1e-6)
    some, one = (compose(((dominating_curve(curve, 64, each), runs),), "runs").epsilon(1e-6) for each in (runs, 1))
    assert truth.high < some.high
    assert some.high - truth.high < (one.high - truth.high) / 1.5


def test_a_curve_that_was_looked_at_roughly_is_looked_at_further_as_if_it_had_not_been() -> None:
    law = account(Gaussian(Fraction(1)))
    looks = Mock(side_effect=lambda epsilon: law.delta(epsilon).high)
    curve = UpperEnd(looks, lambda delta: law.epsilon(delta or 1e-30).high)
    dominating_curve(curve, 20)
    first = {call.args[0] for call in looks.call_args_list}
    looks.reset_mock()
    found = dominating_curve(curve, 50)
    assert looks.call_count == 30
    assert first.isdisjoint(call.args[0] for call in looks.call_args_list)
    assert found == dominating_curve(replace(curve), 50)
    assert dominating_curve(curve, 30) == dominating_curve(replace(curve), 30)


@dataclass(frozen=True)
class _Noisy(PrivacyProfile):
    """A curve whose ends are not convex, and which promises nothing."""

    def delta(self, epsilon: Number) -> Enclosure:
        bump = 1 + 1e-3 * math.sin(1e3 * float(epsilon))
        high = 0.0 if epsilon >= 1 else 0.1 * (1 - float(epsilon)) ** 2 * bump
        return Enclosure(0.9 * high, high, Rigour.FLOAT, "noise")


def test_upper_ends_that_are_not_convex_are_raised_until_they_are() -> None:
    pair = dominating_curve(_Noisy())
    assert all(mass > 0 for _, mass in pair.atoms)
    for i in range(100):
        assert compose(((pair, 1),), "x").delta(i / 100).high >= 0.1 * (1 - i / 100) ** 2 * 0.99


@pytest.mark.parametrize("times", [Fraction(11, 10), Fraction(3, 2), Fraction(10)])
def test_masses_of_a_loose_curve_add_up_to_one(times: Fraction) -> None:
    law = FiniteProfile((ExactPLD.of((Fraction(p, 10), Fraction(q, 10)) for p, q in ((6, 2), (2, 2), (2, 6))),), "x")

    def more(epsilon: Number) -> float:
        return min(1.0, float(times) * law.delta(epsilon).high)

    pair = dominating_curve(UpperEnd(more, lambda delta: law.epsilon(delta / times).high), 40)
    assert sum((mass for _, mass in pair.atoms), pair.infinite) == 1
    assert sum((mass / ratio for ratio, mass in pair.atoms), pair.infinite) == 1
    for epsilon in (0.0, 0.01, 0.3, 1.0, 1.09):
        assert law.delta(epsilon).high <= compose(((pair, 1),), "x").delta(epsilon).high <= more(epsilon) * 1.001


def test_a_curve_is_not_looked_at_closely_where_an_upper_end_rises_above_what_is_known_at_less() -> None:
    rising = Mock(side_effect=lambda e: 1e-3 * (1 - e / 0.3) ** 2 + 1e-20 if e < 0.3 else math.exp(30 * (0.3 - e)))
    assert dominating_curve(UpperEnd(rising, lambda delta: 2.0), 40).infinite <= 1e-20
    assert sum(call.args[0] < 0.3 for call in rising.call_args_list) > 15


@given(st.data())
def test_a_dominating_pair_has_the_largest_divergence_of_its_pairs_and_their_reversed_pairs(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 4))
    weights = st.lists(st.integers(1, 20), min_size=size, max_size=size)
    laws = [data.draw(weights) for _ in range(3)]
    pairs = {
        ExactPLD.of((Fraction(a, sum(x)), Fraction(b, sum(y))) for a, b in zip(x, y, strict=True))
        for x, y in permutations(laws, 2)
    }
    dominating, whole = dominating_pair(list(pairs)), FiniteProfile(tuple(pairs), "all")
    assert sum((mass for _, mass in dominating.atoms), dominating.infinite) == 1
    assert sum((mass / ratio for ratio, mass in dominating.atoms), dominating.infinite) == 1
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
        assert enumerated([dominating]).delta(epsilon).high == whole.delta(epsilon).high


def test_the_listed_sums_of_runs_are_all_sequences_of_losses() -> None:
    law = ExactPLD(((Fraction(3), Fraction(3, 10)), (Fraction(1), Fraction(1, 2)), (Fraction(1, 5), Fraction(1, 5))), Fraction(0))
    with working_precision(128):
        tilted = points_of.Tilted(law, Fraction(1, 2))
        sums: dict[str, flint.arb] = {}
        for views in product(range(3), repeat=4):
            loss = sum((tilted.losses[view] for view in views), flint.arb(0)).str(10, radius=False)
            chance = math.prod((tilted.masses[view] for view in views), start=flint.arb(1))
            sums[loss] = sums.get(loss, flint.arb(0)) + chance
        listed = tilted.points(4)
        assert len(listed) == tilted.values(4) == len(sums)
        for found, mass in listed:
            assert mass.overlaps(sums[found.str(10, radius=False)])


def test_a_loss_that_is_large_and_next_to_never_seen_makes_no_lattice_coarse() -> None:
    """A thousand runs, with it and without, at a delta that its probability is far below."""
    near, rare = [(301, 300), (299, 300), (505, 500), (495, 500), (8400, 8405), (8405, 8400)], Fraction(1, 10**28)
    rest = (1 - 151 * rare) / sum(p for p, _ in near)
    far = [(150 * rare, rare), (rare, 150 * rare)]
    with_it, without = (
        compose(((ExactPLD.of([*((p * share, q * share) for p, q in near), *more]), 1000),), "runs")
        for share, more in ((rest, far), (rest / (1 - 151 * rare), []))
    )
    found, alone = with_it.epsilon(1e-6), without.epsilon(1e-6)
    assert found.high <= 1.0001 * found.low
    assert found.low == pytest.approx(alone.low, rel=1e-4)
    assert (seen := with_it.delta(found.low)).high <= 1.001 * seen.low
