"""Systems that sum reports and add noise, with the mistakes that they are known for: each is refuted at the defaults.

A system is a callable, of which the audit knows nothing but what it returns. What is computed from the noisy sum alone is no
mistake, and is not refuted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ldpaudit as ldp
from ldpaudit import Aggregate, Repeat, account
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.discrete_laplace import DiscreteLaplace
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.plan import Plan

F = Fraction
Counts = NDArray[np.int64]
Data = dict[Any, int]
System = Callable[[Any, int, np.random.Generator], Counts]
BITS = UnaryEncoding.flips(F(1, 50), 2)
USERS = 50
NOISE = DiscreteGaussian(F(4))
LAPLACE = DiscreteLaplace(F(1, 2))
PLAN = Aggregate(BITS, USERS, [NOISE])
DATA = [{0: USERS}, {0: USERS - 1, 1: 1}]
ROUNDS = [DATA, DATA[::-1]]
"""User 1's value changes from one round to the next."""
ABSENT = [{0: USERS}, {0: USERS - 1, None: 1}]
KINDS = np.array([view for view, _ in BITS.law(0).items()])
LEAST, FIELD = 20_000, 251


def kinds(data: Data, size: int, rng: np.random.Generator) -> Counts:
    """How often each of the four reports occurs."""
    laws = {x: [float(p) for _, p in BITS.law(x).items()] for x in data}
    return np.asarray(sum(rng.multinomial(users, laws[x], size) for x, users in data.items()))


def summed(data: Data, size: int, rng: np.random.Generator) -> Counts:
    return np.asarray(kinds(data, size, rng) @ KINDS)


def noise(size: int, rng: np.random.Generator, of: Any = NOISE) -> Counts:
    return np.asarray(of.noise(2 * size, rng).reshape(size, 2))


def as_described(data: Data, size: int, rng: np.random.Generator) -> Counts:
    return summed(data, size, rng) + noise(size, rng)


def the_honest_aggregator_adds_nothing(data: Data, size: int, rng: np.random.Generator) -> Counts:
    return summed(data, size, rng)


def one_noise_serves_all_coordinates(data: Data, size: int, rng: np.random.Generator) -> Counts:
    return summed(data, size, rng) + NOISE.noise(size, rng)[:, None]


def both_rounds_have_the_same_noise(data: list[Data], size: int, rng: np.random.Generator) -> Counts:
    """Their difference has none."""
    shared = noise(size, rng)
    return np.column_stack([summed(each, size, rng) + shared for each in data])


def each_round_has_its_own_noise(data: list[Data], size: int, rng: np.random.Generator) -> Counts:
    return np.column_stack([as_described(each, size, rng) for each in data])


def each_of_two_aggregators_adds_half_the_variance(data: Data, size: int, rng: np.random.Generator) -> Counts:
    """And the other one is not honest."""
    return summed(data, size, rng) + noise(size, rng, replace(NOISE, sigma=NOISE.sigma * F(2**-0.5)))


def a_count_is_published_before_noise_too(data: Data, size: int, rng: np.random.Generator) -> Counts:
    clear = summed(data, size, rng)
    return np.column_stack([clear + noise(size, rng), clear[:, 0]])


def the_number_of_empty_reports_is_published(data: Data, size: int, rng: np.random.Generator) -> Counts:
    each = kinds(data, size, rng)
    return np.column_stack([each @ KINDS + noise(size, rng), each @ ~KINDS.any(axis=1)])


def large_noise_is_cut_off(data: Data, size: int, rng: np.random.Generator) -> Counts:
    return np.asarray(np.array([data[0], USERS - data[0]]) + np.clip(noise(size, rng, LAPLACE), -10, 10))


def large_noise_is_drawn_again(data: Data, size: int, rng: np.random.Generator) -> Counts:
    drawn = LAPLACE.noise(3 * size, rng)
    return np.asarray(np.array([data[0], USERS - data[0]]) + drawn[np.abs(drawn) <= 10][: 2 * size].reshape(size, 2))


@pytest.mark.parametrize(
    ("system", "plan", "delta", "neighbours"),
    [
        (the_honest_aggregator_adds_nothing, PLAN, 1e-2, REPLACE_ONE),
        (one_noise_serves_all_coordinates, PLAN, 1e-2, REPLACE_ONE),
        (both_rounds_have_the_same_noise, Repeat(PLAN, 2), 1e-2, REPLACE_ONE),
        pytest.param(each_of_two_aggregators_adds_half_the_variance, PLAN, 1e-2, REPLACE_ONE, marks=pytest.mark.slow),
        (a_count_is_published_before_noise_too, PLAN, 1e-2, REPLACE_ONE),
        (the_number_of_empty_reports_is_published, PLAN, 1e-2, ADD_REMOVE),
        (large_noise_is_cut_off, replace(LAPLACE, change=(1, -1)), 0, REPLACE_ONE),
        pytest.param(large_noise_is_drawn_again, replace(LAPLACE, change=(1, -1)), 0, REPLACE_ONE, marks=pytest.mark.slow),
    ],
)
def test_broken_systems_are_refuted_at_the_defaults(
    system: System, plan: Plan, delta: float, neighbours: Neighbours
) -> None:
    exact = account(plan, neighbours).epsilon(delta)
    data: Any = ROUNDS if isinstance(plan, Repeat) else ABSENT if neighbours == ADD_REMOVE else DATA
    assert ldp.audit(system, inputs=data, epsilon=exact.high, delta=delta).epsilon_lower > exact.high


def test_half_the_flips_are_refuted_at_the_defaults_beside_noise() -> None:
    m = UnaryEncoding.flips(F(1, 20), 8)
    plan = Aggregate(m, 1000, [DiscreteLaplace(F(4, 5))])
    exact = account(plan).epsilon(1e-2)
    assert (
        ldp.audit(plan, implementation=UnaryEncoding.flips(F(1, 40), 8), epsilon=exact.high, delta=1e-2).epsilon_lower
        > exact.high
    )


def wraps_around(data: Data, size: int, rng: np.random.Generator) -> Counts:
    return as_described(data, size, rng) % FIELD


def wraps_around_early(data: Data, size: int, rng: np.random.Generator) -> Counts:
    """A field too small for the sum: useless, and as private."""
    return as_described(data, size, rng) % 16


def counters_are_packed(data: Data, size: int, rng: np.random.Generator) -> Counts:
    """A negative count borrows from the next one."""
    return np.asarray(as_described(data, size, rng) @ [1, 64])


def is_clamped(data: Data, size: int, rng: np.random.Generator) -> Counts:
    return np.clip(as_described(data, size, rng), 0, USERS)


@pytest.mark.parametrize(
    ("system", "plan"),
    [
        (wraps_around_early, PLAN),
        (counters_are_packed, PLAN),
        *(pytest.param(system, PLAN, marks=pytest.mark.slow) for system in (as_described, wraps_around, is_clamped)),
        pytest.param(summed, Aggregate(BITS, USERS), marks=pytest.mark.slow),
        pytest.param(each_round_has_its_own_noise, Repeat(PLAN, 2), marks=pytest.mark.slow),
    ],
)
def test_what_is_computed_from_the_noisy_sum_is_not_refuted(system: System, plan: Plan) -> None:
    exact = account(plan).epsilon(1e-2)
    data: Any = ROUNDS if isinstance(plan, Repeat) else DATA
    found = ldp.audit(system, inputs=data, epsilon=exact.high, delta=1e-2, trials=LEAST, confidence=0.999)
    assert found.epsilon_lower <= exact.high


@pytest.mark.parametrize("reduced", [True, False])
def test_a_share_that_is_not_reduced_tells_the_value(reduced: bool) -> None:
    """Uniform in the field, it tells nothing; added over the integers, it is 0 for 0 alone, and the modulus for 1 alone."""

    def share(x: int, size: int, rng: np.random.Generator) -> Counts:
        shares = x + rng.integers(0, FIELD, size)
        return shares % FIELD if reduced else shares

    claimed = 0.1 if reduced else 4.0
    found = ldp.audit(share, inputs=[0, 1], epsilon=claimed, confidence=0.999, trials=LEAST if reduced else 300_000)
    assert (found.epsilon_lower > claimed) != reduced
