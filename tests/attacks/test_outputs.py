"""Audits of whole systems, for whoever sees only what they return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ldpaudit import account, audit
from ldpaudit.adapters.callables import resolve_system
from ldpaudit.adapters.outputs import WEAKER, Outputs
from ldpaudit.errors import ImplementationError
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.rappor import Rappor
from ldpaudit.mechanisms.sampled_answer import SampledAnswer
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.mechanisms.shuffled_count_min import ShuffledCountMin
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.mechanisms.shuffled_selection import ShuffledSelection
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from ldpaudit.plan import Run, Shuffle
from ldpaudit.profile import DataSet

USERS, DELTA = 16, 0.05
SYSTEMS: list[tuple[Any, Any, Any]] = [
    (ShuffledBinarySums(USERS, 3, Fraction(1, 4)), 0, 1),
    (ShuffledHadamard(USERS, 4, tau=3, rho=3, k=1), 0, 1),
    (ShuffledCountMin(USERS, 8, rows=2, buckets=8, gamma=Fraction(1, 4)), 0, 1),
    (RangeQueries(USERS, 4, tau=3, rho=3), 0, 3),
    (HadamardRangeQueries(USERS, 4, tau=3, rho=3), 0, 3),
    (CountMinRangeQueries(USERS, 4, rows=2, buckets=8, gamma=Fraction(1, 4)), 0, 3),
    (ShuffledHeavyHitters(USERS, 4, tau=4, rho=2, threshold=8), 0, 3),
    (ShuffledQuantiles(USERS, 4, tau=3, rho=3), 0.1, 0.9),
    (SparseStatisticalQueries(USERS, 4, k=1, changed=1, tau=3, rho=3), (0,), (1,)),
    (ShuffledSelection(USERS, 3, coins=2), (), (0, 1, 2)),
    (Shuffle(SampledAnswer(3, Fraction(1, 2)), USERS), (), (0, 1, 2)),
    (Shuffle(KaryRandomizedResponse(3, Fraction(2, 3)), USERS), 0, 1),
    (Shuffle(Rappor(8, 1, Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), domain=8), USERS), 0, 1),
]


@dataclass(frozen=True)
class Noiseless:
    """Returns what it should estimate."""

    system: Any

    def run(self, data: Any, rng: np.random.Generator) -> Any:
        return getattr(self.system, "plan", Run(self.system)).mechanism.truth(data)


def neighbours(x: Any, other: Any) -> tuple[list[Any], list[Any]]:
    """Half of the users hold either input, and one of them holds the first or the second."""
    others = [x] * (USERS // 2) + [other] * (USERS // 2 - 1)
    return [x, *others], [other, *others]


def name(system: tuple[Any, Any, Any]) -> str:
    return str(system[0]).partition("(")[0] + str(system[0])[-20:]


@pytest.mark.parametrize("system", SYSTEMS, ids=name)
def test_a_system_without_noise_is_refuted_by_its_outputs_at_the_default_budget(system: tuple[Any, Any, Any]) -> None:
    m, x, other = system
    data, neighbour = neighbours(x, other)
    pair = Outputs.of(m, data, neighbour).pair
    found = audit(Outputs(Noiseless(m), pair), epsilon=3.0, delta=DELTA, seed=1)
    assert found.epsilon_lower > 3
    assert found.event.startswith(WEAKER)
    assert found.pair == pair


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS, ids=name)
def test_what_a_system_returns_shows_no_more_than_its_messages_cost(system: tuple[Any, Any, Any]) -> None:
    m, x, other = system
    found = audit(Outputs.of(m, *neighbours(x, other)), epsilon=5.0, delta=DELTA, trials=1500, confidence=1 - 1e-6, seed=1)
    assert found.epsilon_lower <= account(m).epsilon(DELTA).high


def test_what_is_seen_of_outputs_is_what_two_shifted_counts_show() -> None:
    m = ShuffledBinarySums(USERS, 2, Fraction(1, 4))
    truth = account(m).epsilon(DELTA).low
    found = audit(Outputs.of(m, *neighbours(0, 1)), epsilon=5.0, delta=DELTA, trials=10_000, seed=1)
    assert 0.6 * truth < found.epsilon_lower < truth  # its estimates are its messages but for a constant


def test_the_order_of_users_and_the_form_of_a_data_set_do_not_matter() -> None:
    m = ShuffledBinarySums(4, 3, Fraction(1, 4))
    listed, counted = Outputs.of(m, [0, 1, 0, 2], [2, 1, 1, 0]), Outputs.of(m, {0: 2, 1: 1, 2: 1}, {1: 2, 0: 1, 2: 1})
    assert listed == counted
    assert listed.inputs == (DataSet.of({0: 2, 1: 1, 2: 1}), DataSet.of({0: 1, 1: 2, 2: 1}))
    runs = [each(each.inputs[0], 3, np.random.default_rng(0)) for each in (listed, counted)]
    assert np.array_equal(*runs)


def test_of_a_user_who_is_there_or_not_the_larger_data_set_stands_first() -> None:
    m = KaryRandomizedResponse(2, Fraction(2, 3))
    assert Outputs.of(m, [0], [0, 1]).pair == (DataSet.of({0: 1, 1: 1}), DataSet.of({0: 1}))


@pytest.mark.parametrize(("data", "neighbour"), [([0, 0], [1, 1]), ([0, 0], [0, 0]), ([0, 0, 0], [1]), ([0, 0], [])])
def test_data_sets_that_do_not_differ_in_one_user_are_refused(data: list[int], neighbour: list[int]) -> None:
    with pytest.raises(ValueError, match="data sets that differ in one user"):
        Outputs.of(ShuffledBinarySums(2, 3, Fraction(1, 4)), data, neighbour)


@pytest.mark.parametrize("target", [lambda data, rng: data, 3, Shuffle(KaryRandomizedResponse(2, Fraction(2, 3)), 2).plan])
def test_what_has_no_run_is_no_system(target: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"a system with run\(data, rng\)"):
        Outputs.of(target, [0], [1])


@pytest.mark.parametrize("attribute", ["fair", "Sum"])
def test_a_function_or_a_class_is_no_system_to_audit_by_name(attribute: str) -> None:
    with pytest.raises(ImplementationError, match=r"a system with a method run\(data, rng\), got"):
        resolve_system(f"tests.broken_callables:{attribute}")


def test_outputs_of_changing_shape_are_an_error() -> None:
    class Growing:
        def run(self, data: list[int], rng: np.random.Generator) -> Any:
            return np.zeros(rng.integers(1, 4))

    with pytest.raises(ImplementationError, match="outputs of one shape"):
        audit(Outputs.of(Growing(), [0], [1]), epsilon=1.0, trials=1000)
