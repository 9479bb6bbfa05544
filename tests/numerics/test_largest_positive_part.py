"""The largest expected positive part among assignments of laws: above all of them, and close to the largest."""

from __future__ import annotations

from itertools import combinations_with_replacement

import flint
import numpy as np
import pytest

from ldpaudit.accountants.numerics import largest_positive_part as module
from ldpaudit.accountants.numerics.largest_positive_part import Law, largest_positive_part
from ldpaudit.accountants.numerics.positive_part import positive_part
from ldpaudit.accountants.numerics.rare_values import PointMass
from ldpaudit.core.working_precision import working_precision

Atoms = list[PointMass]


def random_law(rng: np.random.Generator, mean: float) -> Atoms:
    """Some values of either sign, with this mean."""
    size = int(rng.integers(2, 6))
    masses = rng.dirichlet(np.ones(size))
    values = rng.normal(size=size) * 10 ** rng.uniform(-2, 2)
    values += mean - masses @ values
    balls = [flint.arb(float(p)) for p in masses]
    total = sum(balls, flint.arb(0))
    return [(flint.arb(float(v)), p / total) for v, p in zip(values, balls, strict=True)]


def enumerated(laws: tuple[Atoms, ...]) -> float:
    sums = np.zeros(1)
    chances = np.ones(1)
    for law in laws:
        sums = np.add.outer(sums, [float(v) for v, _ in law]).ravel()
        chances = np.multiply.outer(chances, [float(p) for _, p in law]).ravel()
    return float(np.maximum(sums, 0) @ chances)


@pytest.mark.parametrize("seed", range(30))
def test_it_is_above_every_assignment_however_coarse_the_intervals(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    with working_precision(200):
        laws = [random_law(rng, mean) for mean in -rng.uniform(0, 0.5, size=int(rng.integers(1, 4)))]
        m = int(rng.integers(1, 6))
        found = float(largest_positive_part(list(map(Law.of, laws)), m))
        monkeypatch.setattr(module, "_FINE", 512)
        coarse = float(largest_positive_part(list(map(Law.of, laws)), m))
    worst = max(enumerated(each) for each in combinations_with_replacement(laws, m))
    assert worst <= found * (1 + 1e-12)
    assert worst <= coarse * (1 + 1e-12)


@pytest.mark.parametrize("m", [50, 1000, 10**6, 10**9])
@pytest.mark.parametrize("seed", range(6))
def test_far_in_a_tail_it_is_within_a_percent_of_the_largest_of_alike_values(seed: int, m: int) -> None:
    """All laws have one mean, as in a shuffle: that of the sum is five of its largest standard deviations below 0."""
    rng = np.random.default_rng(seed)
    with working_precision(300):
        laws = [random_law(rng, 0.0) for _ in range(3)]
        deviations = [float(sum((v * v * p for v, p in law), flint.arb(0)).sqrt()) for law in laws]
        mean = -5 * max(deviations) / m**0.5
        laws = [[(v + mean, p) for v, p in law] for law in laws]
        found = largest_positive_part(list(map(Law.of, laws)), m)
        alike = [positive_part(law, m, 1e-6) for law in laws]
    assert all(each.lower() <= found for each in alike)
    if m >= 10**6:
        assert found <= max(float(each.upper()) for each in alike) * 1.01


def test_without_positive_values_it_is_zero() -> None:
    with working_precision(100):
        assert largest_positive_part([Law.of([(flint.arb(v), flint.arb(1))]) for v in (-1, 0)], 5) == 0


@pytest.mark.parametrize("value", ["1e-400", "1e250", "1e400"])
def test_where_floats_do_not_hold_the_values_nothing_is_said(value: str) -> None:
    with working_precision(100):
        law = Law.of([(flint.arb(value), flint.arb(1) / 4), (-flint.arb(value), flint.arb(3) / 4)])
        assert largest_positive_part([law], 5) == flint.arb("inf")
