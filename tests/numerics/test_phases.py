"""Phases of the transforms of many laws: bounds by them are above every assignment of laws to values, by enumeration."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Self

import flint
import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import linprog

from ldpaudit.accountants.numerics import largest_positive_part as module, phases
from ldpaudit.accountants.numerics.float_laws import FloatLaws, Law
from ldpaudit.accountants.numerics.largest_positive_part import _Integrand
from ldpaudit.accountants.numerics.phases import Floats, _cosines, _means, turning
from ldpaudit.accountants.numerics.quotient_integrals import COARSE, FINE, _by_blocks, integrals
from ldpaudit.core.working_precision import working_precision

LEAST = 1e-9  # relative error of the enumeration


@dataclass(frozen=True)
class TwoLaws:
    """On whole numbers, moved: one, and its mirror image or another; and a contour that is not the best one."""

    m: int
    laws: Floats
    rise: float
    theta: float

    @classmethod
    def of(cls, seed: int) -> Self:
        """Sums whose mean is up to 2.5 standard deviations below 0."""
        rng = np.random.default_rng(seed)
        m, most = int(rng.choice([6, 12, 30, 60, 150])), int(rng.integers(1, 4))
        law = rng.dirichlet(np.full(2 * most + 1, 0.6))
        laws = np.array([law, rng.dirichlet(np.full(2 * most + 1, 0.6)) if seed % 2 else law[::-1]])
        values = np.arange(-most, most + 1)
        second = float((laws @ values**2 - (laws @ values) ** 2).max())
        rise = float(rng.uniform(0.2, 2.5)) * math.sqrt(second / m)
        theta = (rise + math.sqrt(rise**2 + 8 * second / m)) / (2 * second) * math.exp(rng.uniform(-0.4, 0.4))
        return cls(m, laws, rise, theta)

    @property
    def values(self) -> Floats:
        """Of the mean -rise."""
        whole = np.arange(self.laws.shape[1]) - self.laws.shape[1] // 2
        return np.asarray(whole - (self.laws @ whole)[:, None] - self.rise)

    def ends(self, *numbers: int) -> list[float]:
        """Logarithms of the bounds."""
        w = self.values[None]
        with np.errstate(all="ignore"):
            found = integrals(w, np.abs(w), self.laws[None], np.array([self.theta]), self.rise, numbers, FINE)
        return list(map(float, found[:, 0]))

    def ends_by_transforms(self, *numbers: int) -> list[float]:
        """The same of whole transforms."""
        return self._by_transforms(lambda some: [float(each.log()) for each in some.ends(numbers)[0]])

    def ends_with_noise(self, *numbers: int) -> list[float]:
        """The same with noise on the sum, and without phases."""
        return self._by_transforms(lambda some: (some._with_noise(some.by_moduli(numbers)) + math.log(float(some.unit))).tolist())

    def ends_by_moduli(self, *numbers: int) -> list[float]:
        """The same of neither."""
        return self._by_transforms(lambda some: (some.by_moduli(numbers).max(axis=1) + math.log(float(some.unit))).tolist())

    def _by_transforms(self, ends: Callable[[_Integrand], list[float]]) -> list[float]:
        with working_precision(200):
            both, scale = zip(self.values.tolist(), self.laws.tolist(), strict=True), float(np.abs(self.values).max())
            laws = [Law.of([(flint.arb(v), flint.arb(p)) for v, p in zip(*each, strict=True)]) for each in both]
            return ends(_Integrand(laws, FloatLaws.of(laws, scale), scale, self.m, self.theta * scale))

    def worst(self, m: int) -> float:
        """The logarithm of the largest expected positive part, of all m + 1 assignments."""
        powers: list[list[Floats]] = [[np.ones(1)], [np.ones(1)]]
        for law, each in zip(self.laws, powers, strict=True):
            for _ in range(m):
                each.append(np.convolve(each[-1], law))
        found = 0.0
        for i in range(m + 1):
            sums = np.convolve(powers[0][i], powers[1][m - i])
            least = i * self.values[0, 0] + (m - i) * self.values[1, 0]
            found = max(found, float((least + np.arange(len(sums))).clip(0) @ sums))
        return math.log(found)


@pytest.mark.parametrize("seed", [15, 28, 57, 62, 136, 146, 190, 218, *range(8)])
@pytest.mark.parametrize("ends", [TwoLaws.ends, TwoLaws.ends_by_transforms, TwoLaws.ends_with_noise])
def test_bounds_are_above_every_assignment_of_two_laws(ends: Callable[..., list[float]], seed: int) -> None:
    """By the enumeration of all sums; the first of these are below it if means, or odd moments, are taken for those of one law."""
    some = TwoLaws.of(seed)
    assert some.worst(some.m) <= ends(some, some.m)[0] + LEAST


@pytest.mark.parametrize("seed", [13, 31, 45, 66, 173, 183, *range(8)])
@pytest.mark.parametrize("ends", [TwoLaws.ends, TwoLaws.ends_by_transforms, TwoLaws.ends_with_noise])
def test_chords_between_two_numbers_are_above_every_assignment(ends: Callable[..., list[float]], seed: int) -> None:
    """Of which the first are below it if each number has a band of phases of its own."""
    some = TwoLaws.of(seed)
    few = max(2, int(some.m * 0.6))
    middle = (some.m + few) // 2
    first, last = ends(some, some.m, few)
    assert some.worst(middle) <= first + (last - first) * (some.m - middle) / (some.m - few) + LEAST


@pytest.mark.parametrize(("many", "few"), [(300, 100), (30, 10), (12, 4)])
def test_a_number_of_values_is_bounded_no_better_beside_a_larger_one(many: int, few: int) -> None:
    """Of two values, whose transform comes back, so that much of the integral is beyond where moments bound it."""
    w, law, theta = np.array([[[-1.2, 0.8]]]), np.array([[[0.5, 0.5]]]), np.array([0.3])
    both, *each = (integrals(w, np.abs(w), law, theta, 0.2, some, COARSE)[:, 0] for some in ((many, few), (many,), (few,)))
    assert both == pytest.approx(np.concatenate(each), rel=LEAST)


def test_noise_takes_more_than_it_adds_where_values_are_on_a_lattice() -> None:
    """Of many sums of values of which two are likely."""
    gained = [some.ends_by_moduli(some.m)[0] - some.ends_with_noise(some.m)[0] for some in map(TwoLaws.of, range(40))]
    assert max(gained) > 0.02
    assert sum(each > 0 for each in gained) > 20


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(12))
def test_noise_on_a_lattice_is_integrated(seed: int) -> None:
    """By a fine rule, over some periods, for each law of the sum."""
    some = TwoLaws.of(seed)
    u, truth = np.linspace(0, 40, 400_001), []
    for values, law in zip(some.values, some.laws, strict=True):
        s, moment = some.theta + 1j * u, law @ np.exp(some.theta * values)
        moduli = np.abs(np.exp(np.multiply.outer(1j * u, values)) @ (law * np.exp(some.theta * values))) / moment
        # of one of the sizes that a lattice's two likeliest values give
        sizes = module._NOISE * np.arange(1, len(law))
        noise = np.abs(np.sinh(np.multiply.outer(sizes, s)) / np.multiply.outer(sizes, s))
        truth.append(some.m * math.log(moment) + np.log(trapezoid(noise * moduli**some.m / np.abs(s) ** 2, u) / math.pi))
    found = some.ends_with_noise(some.m)[0]
    gaps = found - np.max(truth, axis=0)
    assert ((gaps > -1e-4) & (gaps < 0.05)).any() or found == math.inf


@pytest.mark.parametrize("seed", range(12))
def test_no_assignment_that_counts_turns_a_phase_beyond_the_band(seed: int) -> None:
    """Of one law, or of five: values of two of these, and as many of either as have a mean gap in an interval."""
    rng = np.random.default_rng(seed)
    laws, many, (low, high) = (1, 5)[seed % 2], int(rng.choice([2, 8, 40, 300])), ((0.0, 0.01), (0.004, 0.02))[seed % 4 // 3]
    gaps = np.array([0, 0.004, 0.012, 0.05, 1.0])[:laws]
    tilted, left = rng.dirichlet(np.full(4, 0.7), size=laws), 0.6 * rng.normal(size=(laws, 4)) / math.sqrt(many)
    left -= (tilted * left).sum(axis=1, keepdims=True)
    means = 2 / many * (1 + 0.1 * rng.normal(size=(laws, 1)))
    numbers, edges = (many, max(1, int(many * rng.uniform(0.8, 1))))[:laws], np.linspace(0, 5, 400)
    turns = turning(means + left, np.abs(left), tilted, left)
    parts = _cosines(_means(gaps, turns[:-1], low, high), float(turns[-1].max()), 1.0, numbers, edges)
    u = edges[:-1] + np.diff(edges) * rng.uniform(size=(20, 1))
    angles = [np.angle(np.exp(1j * np.multiply.outer(u, v)) @ p) + u * mean for v, p, mean in zip(left, tilted, means, strict=True)]
    for number in numbers:
        for (gap, turn), (more, other) in product(zip(gaps, angles, strict=True), repeat=2):
            for mean in (low, (low + high) / 2, high):
                share = (mean - gap) / (more - gap) if more > gap else 0.0
                if 0 <= share <= 1 and low <= (1 - share) * gap + share * more <= high:
                    phase = number * ((1 - share) * turn + share * other) - 2 * np.arctan(u)
                    assert (np.cos(phase).clip(0) <= parts + LEAST).all()
    assert parts.min() < 0.9 or laws > 1


@pytest.mark.parametrize("seed", range(12))
def test_the_largest_mean_where_the_mean_gap_lies_between_two_numbers_is_that_of_a_linear_program(seed: int) -> None:
    """Of a few laws, of which some lose nothing; with few corners it is a bound."""
    rng = np.random.default_rng(seed)
    gaps, values = np.append(0.0, rng.exponential(size=7) * (rng.uniform(size=7) < 0.8)), rng.normal(size=(3, 8))
    low, high = np.sort(rng.uniform(0, gaps.max(), size=2)) * (seed % 3 > 0, 1)
    above = np.array([-gaps, gaps]), np.array([-low, high])
    truth = [-linprog(-each, *above, np.ones((1, 8)), [1.0]).fun for each in values]
    assert _means(gaps, values, float(low), float(high)) == pytest.approx(truth, abs=LEAST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phases, "_CORNERS", 1)
        assert (_means(gaps, values, float(low), float(high)) >= np.array(truth) - LEAST).all()


@pytest.mark.parametrize("seed", range(12))
def test_beyond_an_end_a_transform_is_bounded_by_blocks(seed: int) -> None:
    """Of laws on many values, of which some are on a grid, and on two."""
    rng = np.random.default_rng(seed)
    values = ((rng.normal(size=(2, 60))), np.tile(np.arange(60.0), (2, 1)), rng.normal(size=(2, 2)))[seed % 3]
    masses = rng.dirichlet(np.full(values.shape[1], (1.0, 0.1)[seed % 2]), size=2)
    m, ends = int(10 ** rng.uniform(0, 3.7)), rng.uniform(0.5, 2, size=2) / np.sqrt((masses * values**2).sum(axis=1))
    with np.errstate(all="ignore"):
        found = _by_blocks(values, np.zeros_like(values), masses, m, ends)
    for v, p, end, bound in zip(values, masses, ends, found, strict=True):
        u = end * np.geomspace(1, 30, 12_001)
        moduli = np.abs(np.exp(1j * np.multiply.outer(u, v)) @ p)
        assert float(trapezoid(moduli**m / u**2, u)) <= bound * (1 + 1e-3)
