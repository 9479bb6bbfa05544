"""A sample of the containment benchmark, and that it would see a wrong number."""

import dataclasses

import pytest

from benchmarks import containment
from ldpaudit.accountants.counting.binomial_noise import ShiftProfile
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.profile import Number


@pytest.mark.parametrize("family", containment.FAMILIES)
def test_random_queries_contain_the_truth(family: str) -> None:
    found = containment.run(family, 24, seed=7)
    assert found.queries == 24
    assert found.misses == []
    assert found.exact > 5
    assert found.widest <= 1e-9


@dataclasses.dataclass(frozen=True)
class _Optimistic(ShiftProfile):
    """Promises a millionth of a millionth too much."""

    def delta(self, epsilon: Number) -> Enclosure:
        found = super().delta(epsilon)
        return Enclosure(found.low * (1 - 1e-12), found.high * (1 - 1e-12), Rigour.EXACT, found.source)


def test_a_bound_a_little_below_the_truth_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "ShiftProfile", _Optimistic)
    found = containment.run("noise", 24, seed=7)
    assert len(found.misses) > 5
    assert all("delta" in miss or "epsilon" in miss for miss in found.misses)
