"""Systems that sum reports and add noise, with known mistakes, each refuted at the defaults; and systems seen by their outputs.

A system is a callable, of which the audit knows nothing but what it returns. What is computed from the noisy sum alone is no
mistake, and is not refuted.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ldpaudit as ldp
from ldpaudit import Aggregate, Plan, Repeat, Run, Shuffle, account, audit
from ldpaudit.adapters.callables import resolve_system
from ldpaudit.adapters.outputs import WEAKER, Outputs
from ldpaudit.errors import ImplementationError
from ldpaudit.mechanisms import DiscreteGaussian, DiscreteLaplace, Rappor, SampledAnswer, ShuffledCountMin, UnaryEncoding
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.range_queries import CountMinRangeQueries, HadamardRangeQueries, RangeQueries
from ldpaudit.mechanisms.shuffled_binary_sums import ShuffledBinarySums
from ldpaudit.mechanisms.shuffled_hadamard import ShuffledHadamard
from ldpaudit.mechanisms.shuffled_heavy_hitters import ShuffledHeavyHitters
from ldpaudit.mechanisms.shuffled_quantiles import ShuffledQuantiles
from ldpaudit.mechanisms.shuffled_selection import ShuffledSelection
from ldpaudit.mechanisms.sparse_statistical_queries import SparseStatisticalQueries
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours
from ldpaudit.profile import DataSet
from tests.helpers import raises, slow

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


def both_rounds_have_the_same_noise(data: list[Data], size: int, rng: np.random.Generator) -> Counts:
    """Their difference has none."""
    shared = noise(size, rng)
    return np.column_stack([summed(each, size, rng) + shared for each in data])


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


@pytest.mark.few(3)
@pytest.mark.parametrize(("system", "plan", "delta", "neighbours"), [
    pytest.param(summed, PLAN, 1e-2, REPLACE_ONE, id="the_honest_aggregator_adds_nothing"),
    pytest.param(lambda x, size, rng: summed(x, size, rng) + NOISE.noise(size, rng)[:, None], PLAN, 1e-2, REPLACE_ONE,
                 id="one_noise_serves_all_coordinates"),
    (both_rounds_have_the_same_noise, Repeat(PLAN, 2), 1e-2, REPLACE_ONE),
    slow(each_of_two_aggregators_adds_half_the_variance, PLAN, 1e-2, REPLACE_ONE),
    (a_count_is_published_before_noise_too, PLAN, 1e-2, REPLACE_ONE),
    (the_number_of_empty_reports_is_published, PLAN, 1e-2, ADD_REMOVE),
    *(slow(cut, replace(LAPLACE, change=(1, -1)), 0, REPLACE_ONE) for cut in (large_noise_is_cut_off, large_noise_is_drawn_again)),
])  # fmt: skip
def test_broken_systems_are_refuted_at_the_defaults(system: System, plan: Plan, delta: float, neighbours: Neighbours) -> None:
    exact = account(plan, neighbours).epsilon(delta)
    data: Any = ROUNDS if isinstance(plan, Repeat) else ABSENT if neighbours == ADD_REMOVE else DATA
    assert ldp.audit(system, inputs=data, epsilon=exact.high, delta=delta).epsilon_lower > exact.high


def test_half_the_flips_are_refuted_at_the_defaults_beside_noise() -> None:
    plan = Aggregate(UnaryEncoding.flips(F(1, 20), 8), 1000, [DiscreteLaplace(F(4, 5))])
    exact = account(plan).epsilon(1e-2)
    assert (
        ldp.audit(plan, implementation=UnaryEncoding.flips(F(1, 40), 8), epsilon=exact.high, delta=1e-2).epsilon_lower
        > exact.high
    )


COMPUTED: dict[str, Callable[[Counts], Any]] = {
    "as_described": lambda noisy: noisy,
    "wraps_around": lambda noisy: noisy % FIELD,
    "counters_are_packed": lambda noisy: noisy @ [1, 64],  # a negative count borrows from the next one
    "is_clamped": lambda noisy: np.clip(noisy, 0, USERS),
}


@pytest.mark.parametrize(("system", "plan"), [
    pytest.param(lambda x, size, rng: as_described(x, size, rng) % 16, PLAN, id="a field too small: useless, and as private"),
    *(slow(lambda x, size, rng, of=of: of(as_described(x, size, rng)), PLAN, id=name) for name, of in COMPUTED.items()),
    slow(summed, Aggregate(BITS, USERS), id="without_noise"),
    slow(lambda rounds, size, rng: np.column_stack([as_described(x, size, rng) for x in rounds]), Repeat(PLAN, 2),
         id="each_round_has_its_own_noise"),
])  # fmt: skip
def test_what_is_computed_from_the_noisy_sum_is_not_refuted(system: System, plan: Plan) -> None:
    exact = account(plan).epsilon(1e-2)
    data: Any = ROUNDS if isinstance(plan, Repeat) else DATA
    found = ldp.audit(system, inputs=data, epsilon=exact.high, delta=1e-2, trials=LEAST, confidence=0.999)
    assert found.epsilon_lower <= exact.high


@pytest.mark.few(1)
@pytest.mark.parametrize("reduced", [True, False])
def test_a_share_that_is_not_reduced_tells_the_value(reduced: bool) -> None:
    """Uniform in the field, it tells nothing; added over the integers, it is 0 for 0 alone, and the modulus for 1 alone."""

    def share(x: int, size: int, rng: np.random.Generator) -> Counts:
        shares = x + rng.integers(0, FIELD, size)
        return shares % FIELD if reduced else shares

    claimed = 0.1 if reduced else 4.0
    found = ldp.audit(share, inputs=[0, 1], epsilon=claimed, confidence=0.999, trials=LEAST if reduced else 300_000)
    assert (found.epsilon_lower > claimed) != reduced


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


@pytest.mark.few(5)
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


@pytest.mark.slow
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
    raises(ValueError, "data sets that differ in one user", Outputs.of, ShuffledBinarySums(2, 3, Fraction(1, 4)), data, neighbour)


@pytest.mark.parametrize("target", [lambda data, rng: data, 3, Shuffle(KaryRandomizedResponse(2, Fraction(2, 3)), 2).plan])
def test_what_has_no_run_is_no_system(target: Callable[..., Any]) -> None:
    raises(TypeError, r"a system with run\(data, rng\)", Outputs.of, target, [0], [1])


@pytest.mark.parametrize("attribute", ["fair", "Sum"])
def test_a_function_or_a_class_is_no_system_to_audit_by_name(attribute: str) -> None:
    with pytest.raises(ImplementationError, match=r"a system with a method run\(data, rng\), got"):
        resolve_system(f"tests.broken_callables:{attribute}")


def test_outputs_of_changing_shape_are_an_error() -> None:
    class Growing:
        def run(self, data: list[int], rng: np.random.Generator) -> Any:
            return np.zeros(rng.integers(1, 4))

    raises(ImplementationError, "outputs of one shape", audit, Outputs.of(Growing(), [0], [1]), epsilon=1.0, trials=1000)
