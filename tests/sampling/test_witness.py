"""The data sets behind the lower ends of a trie's delta: their exact laws attain these ends."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from ldpaudit import account
from ldpaudit.mechanisms.trie_heavy_hitter import TrieHeavyHitter
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.plan import Run


def hockey_stick(p: dict[Any, Fraction], q: dict[Any, Fraction], c: Fraction) -> Fraction:
    return sum((max(Fraction(0), chance - c * q.get(view, Fraction(0))) for view, chance in p.items()), Fraction(0))


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.3, 1.0, 3.0, math.inf])
@pytest.mark.parametrize(
    "m",
    [
        TrieHeavyHitter(users=81, batch=9, threshold=5, levels=1),
        TrieHeavyHitter(users=220, batch=219, threshold=112, levels=1),  # at 0.01 the remove direction is the worse one
        TrieHeavyHitter(users=40, batch=9, threshold=3, levels=2, unit=2),
        TrieHeavyHitter(users=60, batch=40, threshold=12, levels=1),
        TrieHeavyHitter(users=9, batch=9, threshold=3, levels=2),
        TrieHeavyHitter(users=30, batch=20, threshold=4, levels=2, words=2),
        TrieHeavyHitter(users=20, batch=5, threshold=3, levels=2, counts=1),
    ],
    ids=repr,
)
def test_the_witness_attains_the_lower_end_of_delta(m: TrieHeavyHitter, epsilon: float, relation: Any) -> None:
    profile = account(m, relation)
    witness = profile.witness(epsilon)
    assert witness is not None
    assert witness.plan == Run(m)
    first, second = (dict(m.law(data.counts).items()) for data in witness.pair)
    sizes = sorted(data.users for data in witness.pair)
    assert sizes == ([m.users, m.users] if relation == REPLACE_ONE else [m.users, m.users + 1])
    # Where epsilon is infinite only views count that the other data set never shows: e**600 is as good.
    reached = hockey_stick(first, second, Fraction(math.exp(min(epsilon, 600.0))))
    assert reached >= Fraction(profile.delta(epsilon).low) * (1 - Fraction(1, 10**12))


def test_what_never_releases_anything_has_no_witness() -> None:
    for counts in (0, 1):
        m = TrieHeavyHitter(users=9, batch=3, threshold=4, levels=1, counts=counts)
        assert account(m).delta(0.0).high == 0
        assert account(m).witness(0.0) is None
