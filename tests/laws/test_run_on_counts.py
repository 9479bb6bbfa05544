"""What `run_on_counts` promises: the law of `run`, from how many users hold each input."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ldpaudit import Mechanism, Shuffle, Unsupported
from ldpaudit.mechanisms import ShuffledBinarySums, ShuffledSelection, UnaryEncoding
from tests.helpers import raises
from tests.zoo import ONE_EACH

COUNTED = [
    "BassilySmith", "ProjectedBassilySmith", "BucketHeavyHitter", "JLHeavyHitter", "FreshProjections", "FreshProducts",
    "MemoizedBit", "MemoizedResponse", "MemoizedDBitFlip", "LolohaStream", "OneBitMean", "SampledAnswer", "KaryRandomizedResponse",
    "UnaryEncoding", "ShuffledBinarySums", "ShuffledSelection",
]  # fmt: skip
"""Systems with a `run` of their own that depends on nothing but how many users hold each input."""
RUNS, USERS = 200, 20
LEVEL = 1e-7
"""Two samples of one law are told apart at this level once in ten million; the seeds are fixed anyway."""


def held(m: Mechanism) -> dict[Any, int]:
    users = m.users if isinstance(m, ShuffledBinarySums | ShuffledSelection) else USERS
    return {m.inputs[0]: users - users // 3, m.inputs[-1]: users // 3}


REFUSED = [m for m in ONE_EACH if type(m).run is not Mechanism.run and type(m).__name__ not in COUNTED]


@pytest.mark.parametrize("m", REFUSED, ids=str)
def test_counts_are_refused_where_a_system_runs_in_a_way_of_its_own(m: Mechanism) -> None:
    raises(Unsupported, r"has its own run.*\Z", m.run_on_counts, held(m), np.random.default_rng(0))


@pytest.mark.few(17)
@pytest.mark.parametrize("m", [m for m in ONE_EACH if m not in REFUSED], ids=str)
def test_a_run_on_counts_has_the_law_of_a_run(m: Mechanism) -> None:
    counts = held(m)
    one = _runs(lambda rng: m.run([x for x, users in counts.items() for _ in range(users)], rng), 1)
    other = _runs(lambda rng: m.run_on_counts(counts, rng), 2)
    assert one.shape == other.shape
    for first, second in zip(_looks(one), _looks(other), strict=True):
        assert stats.ks_2samp(first, second).pvalue > LEVEL


@pytest.mark.parametrize("m", [m for m in ONE_EACH if m not in REFUSED], ids=str)
@pytest.mark.parametrize("users", ["none", "too many", "of no value"])
def test_a_run_on_counts_refuses_what_a_run_does(m: Mechanism, users: str) -> None:
    x, most = m.inputs[0], min(getattr(m, "users", USERS), 10**4)
    if users == "of no value":
        x = (-1,) if isinstance(x, tuple) else -1
    data = [x] * {"none": 0, "too many": most + 1, "of no value": most}[users]
    try:
        m.run(data, np.random.default_rng(0))
    except ValueError:
        raises(ValueError, r"\A.*(needs|users).*\Z", m.run_on_counts, {x: len(data)} if data else {}, np.random.default_rng(0))


def _runs(run: Callable[[np.random.Generator], Any], seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.array([np.ravel(run(rng)) for _ in range(RUNS)])


def _looks(runs: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Numbers of which a law is made: single estimates, how they hang together, and how large they are; rounded alike."""
    found = runs[:, 0], runs[:, -1], runs[:, 0] - runs[:, -1], runs.sum(axis=1), np.square(runs).sum(axis=1)
    return tuple(np.round(each, 6) for each in found)


class Rounded(UnaryEncoding):
    """Somebody's own way to run it."""

    def run(self, data: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.round(super().run(data, rng))


class Both(Rounded):
    """And on counts."""

    def run_on_counts(self, counts: Any, rng: np.random.Generator) -> NDArray[np.float64]:
        return np.round(UnaryEncoding.run_on_counts(self, counts, rng))


def test_a_class_with_a_run_of_its_own_inherits_nobody_s_run_on_counts() -> None:
    parameters, rng = (3, Fraction(3, 4), Fraction(1, 4)), np.random.default_rng(0)
    assert len(Rounded(*parameters).run([0, 1], rng)) == len(Both(*parameters).run_on_counts({0: 2}, rng)) == 3
    for refused in (Rounded(*parameters).run_on_counts, Shuffle(Rounded(*parameters), 2).run):
        raises(Unsupported, "has its own run", refused, {0: 1, 1: 1}, rng)


@pytest.mark.parametrize("m", [m for m in ONE_EACH if m.model != "local"], ids=str)
def test_what_holds_all_users_data_already_is_not_run_by_each_of_them(m: Mechanism) -> None:
    counts = held(m)
    with pytest.raises(Unsupported, match=f"a mechanism for one user, but this one is {m.model}"):
        Shuffle(m, sum(counts.values())).run(counts, np.random.default_rng(0))
