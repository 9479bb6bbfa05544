"""Users drawn without replacement: the theorem's bound against every data set, and where one is drawn, the truth."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit import account
from ldpaudit.enclosure import Rigour
from ldpaudit.errors import Unsupported
from ldpaudit.mechanism import Mechanism
from ldpaudit.mechanisms.channel import Channel
from ldpaudit.mechanisms.laplace import Laplace
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.neighbours import ADD_REMOVE
from ldpaudit.plan import Shuffle, Subsample
from tests.oracles import shuffle as oracle

F = Fraction


ROUNDED = 1e-15
"""By how much delta may be larger at an epsilon that was rounded down to a float."""


def worst(m: Mechanism, users: int, batch: int, exp_epsilon: Fraction) -> Fraction:
    """The largest divergence over all data sets, the views of all batches listed."""
    channel, size = oracle.laws(m), len(m.inputs)

    def view(data: tuple[int, ...]) -> dict[tuple[object, ...], Fraction]:
        law: dict[tuple[object, ...], Fraction] = {}
        batches = list(combinations(data, batch))
        for drawn in batches:
            for y, p in oracle.shuffled([channel[x] for x in drawn]).items():
                law[y] = law.get(y, F(0)) + p / len(batches)
        return law

    found = F(0)
    for others in combinations_with_replacement(range(size), users - 1):
        views = [view((x, *others)) for x in range(size)]
        for one, two in product(views, repeat=2):
            found = max(found, oracle.divergence(one, two, exp_epsilon))
    return found


@pytest.mark.parametrize(
    ("m", "users", "batch"),
    [
        (KaryRandomizedResponse(2, F(3, 4)), 4, 2),
        (KaryRandomizedResponse(2, F(9, 10)), 5, 3),
        (KaryRandomizedResponse(3, F(2, 3)), 3, 2),
        (Channel([[F(1, 9), F(5, 9), F(1, 3)], [F(1, 2), F(1, 4), F(1, 4)]]), 4, 3),
        (Channel([[F(1, 10), F(9, 10)], [F(3, 7), F(4, 7)], [F(2, 3), F(1, 3)]]), 4, 2),
    ],
    ids=str,
)
@pytest.mark.parametrize("exp_epsilon", [F(1), F(11, 10), F(3, 2), F(2)])
def test_no_data_set_costs_more(m: Mechanism, users: int, batch: int, exp_epsilon: Fraction) -> None:
    truth = worst(m, users, batch, exp_epsilon)
    found = account(Subsample(Shuffle(m, batch), users, batch)).delta(math.log(exp_epsilon))
    assert found.low <= truth + ROUNDED
    assert truth <= found.high * (1 + 1e-12)
    assert found.rigour is Rigour.INTERVAL
    assert found.high <= max(batch * truth, F(batch, users))


@pytest.mark.parametrize("m", [KaryRandomizedResponse(3, F(2, 3)), SubsetSelection(4, 2, F(3, 4))], ids=str)
@pytest.mark.parametrize("exp_epsilon", [F(1), F(11, 10), F(3, 2)])
def test_where_one_user_is_drawn_it_is_the_truth(m: Mechanism, exp_epsilon: Fraction) -> None:
    found = account(Subsample(m, 3, 1)).delta(math.log(exp_epsilon))
    assert found.rigour is Rigour.EXACT
    assert abs(worst(m, 3, 1, exp_epsilon) - F(found.high)) <= 1e-14


@given(st.integers(2, 10**9), st.floats(1e-12, 0.5), st.fractions(F(51, 100), F(99, 100), max_denominator=100))
def test_epsilon_is_where_delta_is_reached(users: int, delta: float, p: Fraction) -> None:
    profile = account(Subsample(KaryRandomizedResponse(2, p), users, 1))
    found = profile.epsilon(delta)
    assert found.relative_width < 1e-9 or found.high < 1e-15
    assert profile.delta(found.high).low <= delta * (1 + 1e-9)
    assert found.low == 0 or profile.delta(found.low).high >= delta * (1 - 1e-9)


@given(st.integers(10, 10**6), st.floats(0.0, 2.0))
def test_drawing_never_costs_and_a_smaller_share_costs_less(users: int, epsilon: float) -> None:
    m = Laplace.for_epsilon(2)
    whole, tenth, third = account(m), *(account(Subsample(m, n, 1)) for n in (users, users // 3))
    assert tenth.delta(epsilon).high <= third.delta(epsilon).high <= whole.delta(epsilon).high
    assert account(Subsample(m, 1, 1)).delta(epsilon) == whole.delta(epsilon)


def test_reports_that_are_not_shuffled_tell_who_was_drawn() -> None:
    m = KaryRandomizedResponse(2, F(3, 4))
    with pytest.raises(Unsupported, match="shuffled together"):
        account(Subsample(m, 10, 2))
    with pytest.raises(Unsupported, match="shuffled together"):
        account(Subsample(Shuffle(m, 3), 10, 2))
    with pytest.raises(Unsupported, match="replace-one"):
        account(Subsample(m, 10, 1), ADD_REMOVE)


def test_a_sample_of_shuffled_numbers_with_laplace_noise_is_bounded_from_both_sides() -> None:
    """It once ended in an error of a hash, for its laws are balls."""
    shuffle = Shuffle(Laplace(F(1)), 10**6)
    found, whole = (account(plan).delta(0.0005) for plan in (Subsample(shuffle, 10**7, 10**6), shuffle))
    assert 0 < found.low < found.high < whole.low
