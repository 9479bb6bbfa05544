"""The count mean sketches at Apple's parameters, and collisions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from ldpaudit import account
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanisms import count_mean_sketch
from ldpaudit.mechanisms.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch

DEPLOYED = [
    (CountMeanSketch.for_epsilon(4, 1024, 65536), 4),
    (CountMeanSketch.for_epsilon(2, 256, 65536), 2),
    (CountMeanSketch.for_epsilon(8, 1024, 65536), 8),
    (HadamardCountMeanSketch.for_epsilon(4, 32768, 1024), 4),
]


@pytest.mark.parametrize(("m", "epsilon"), DEPLOYED, ids=str)
def test_apples_parameters_cost_the_epsilon_that_they_are_made_from(m: CountMeanSketch, epsilon: int) -> None:
    exact = account(m).epsilon(0)
    assert exact.rigour is Rigour.EXACT
    assert epsilon * (1 - 1e-12) <= exact.low <= exact.high <= epsilon


@pytest.mark.parametrize(("m", "epsilon"), DEPLOYED, ids=str)
def test_collisions_leave_delta_enclosed_to_one_part_in_width(m: CountMeanSketch, epsilon: int) -> None:
    delta = account(m).delta(epsilon / 2)
    assert delta.rigour is (Rigour.INTERVAL if m.apart.collisions else Rigour.EXACT)
    assert delta.high * (1 - 1 / m.width) <= delta.low <= delta.high
    assert delta.low > 0


@pytest.mark.parametrize(
    "m", [CountMeanSketch(4, 5, Fraction(3, 4), 9), HadamardCountMeanSketch(2, 3, Fraction(3, 4), 5)], ids=str
)
def test_the_pair_that_collides_least_is_found_where_all_are_searched(m: CountMeanSketch) -> None:
    table = m.buckets(range(m.domain)).tolist()
    alike = {pair: sum(a == b for a, b in zip(*(table[x] for x in pair), strict=True))
             for pair in combinations(m.inputs, 2)}  # fmt: skip
    assert m.apart.certain
    assert m.apart.collisions == Fraction(min(alike.values()), m.hashes) == Fraction(alike[m.apart.pair], m.hashes)


def test_values_that_always_collide_are_not_told_apart() -> None:
    m = next(m for m in (HadamardCountMeanSketch(2, 1, Fraction(3, 4), d) for d in range(2, 9)))
    table = m.buckets(range(m.domain)).ravel()
    expected = np.log(3) if len(set(table.tolist())) > 1 else 0
    assert account(m).epsilon(0).high == pytest.approx(expected)


@pytest.mark.parametrize(("m", "epsilon"), DEPLOYED[1:2], ids=str)
def test_a_deployed_sketch_keeps_each_coordinate_with_probability_p(
    m: CountMeanSketch, epsilon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, x = 4_000, 7
    monkeypatch.setattr(count_mean_sketch, "_BLOCK", 3 * m.width)  # many blocks, the last one not whole
    views = m.sample(x, size, np.random.default_rng(1))
    assert views.shape == (size, 1 + m.width)
    assert views.dtype == np.uint16
    own = np.zeros((size, m.width), dtype=bool)
    own[np.arange(size), m.buckets(x)[views[:, 0]]] = True
    for chosen, p in ((own, m.p), (~own, 1 - m.p)):
        n = np.count_nonzero(chosen)
        ones = np.count_nonzero(views[:, 1:][chosen])
        assert abs(ones - n * float(p)) <= 6 * np.sqrt(n * float(p * (1 - p)))
    assert len(np.unique(views[:, 0])) > 0.9 * size * (1 - size / m.hashes / 2)


@pytest.mark.parametrize(
    "m", [CountMeanSketch(64, 512, Fraction(99, 100), 50), HadamardCountMeanSketch(64, 512, Fraction(99, 100), 50)]
)
def test_the_hash_functions_that_are_used_leave_the_counts_nearly_alone(m: CountMeanSketch) -> None:
    data = np.repeat(np.arange(50), np.arange(50))
    counts = np.arange(50)
    error = m.truth(data) - counts
    assert np.abs(error.mean()) < 1
    assert np.abs(error).max() < 6 * np.sqrt(np.sum(counts**2) / m.width / m.hashes)


def test_it_refuses_parameters_outside_their_domain() -> None:
    with pytest.raises(ValueError, match="power of two"):
        HadamardCountMeanSketch(6, 2, Fraction(3, 4))
    with pytest.raises(ValueError, match="1/2 < p < 1"):
        CountMeanSketch(6, 2, Fraction(1, 2))
    with pytest.raises(ValueError, match="1 <= hashes"):
        CountMeanSketch(6, 0, Fraction(3, 4))
