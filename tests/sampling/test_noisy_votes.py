"""The pairs of laws behind noisy votes: whole, and each direction above all pairs that occur in it."""

from __future__ import annotations

from fractions import Fraction

import flint
import pytest

from ldpaudit.accountants.sampling.noisy_votes import NoisyVotes
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours


def votes(users: int, batch: int, relation: Neighbours) -> NoisyVotes:
    return NoisyVotes(users, batch, Fraction(3, 5), 1, 2, relation)


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize(("users", "batch"), [(9, 8), (9, 9), (12, 4)])
def test_all_of_both_laws_is_listed(users: int, batch: int, relation: Neighbours) -> None:
    each = votes(users, batch, relation)
    for pair in (*each.dominating(), *each.missing_vote(), *each.one_apart(2)):
        assert sum((mass for _, mass in pair.atoms), pair.infinite) == 1
        assert sum(mass / ratio for ratio, mass in pair.atoms) <= 1


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize(("users", "batch"), [(9, 8), (9, 9), (12, 4)])
def test_in_either_direction_no_pair_that_occurs_costs_more_than_the_dominating_one(
    users: int, batch: int, relation: Neighbours
) -> None:
    each = votes(users, batch, relation)
    most = each.dominating()
    pairs = [each.one_apart(holders) for holders in range(users)]
    for c in (Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(3), Fraction(9)):
        at = flint.arb(flint.fmpq(c.numerator, c.denominator))
        for direction in (0, -1):
            bound = most[direction].delta_ball(at)
            deltas = [pair[direction].delta_ball(at) for pair in pairs]
            assert not any(found > bound for found in deltas)
            assert c > 1.1 or max(float(found.mid()) for found in deltas) > 0.3 * float(bound.mid())


@pytest.mark.parametrize("least", [2, 3])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_one_value_alone_shows_no_more_than_both(relation: Neighbours, least: int) -> None:
    each = NoisyVotes(12, 4, Fraction(3, 5), 1, least, relation)
    for seen, whole in zip(each.alone(), each.one_apart(0), strict=False):
        for c in (1, 2, 5):
            assert seen.delta_ball(flint.arb(c)) <= whole.delta_ball(flint.arb(c)) + 1e-12  # the two may be equal
    assert (max(float(pair.delta_ball(flint.arb(2)).mid()) for pair in each.alone()) > 0) == (least == 2)
