"""Two-sided geometric noise against its own law, summed over a window wide enough, and against the closed form."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import flint
import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from ldpaudit import Enclosure, Rigour, account
from ldpaudit.accountants.geometric import ClosedForm
from ldpaudit.accountants.pld.finite import FiniteProfile
from ldpaudit.mechanisms import Geometric, KaryRandomizedResponse, TruncatedGeometric
from tests.oracles.pairs import noise
from tests.samples import matches, meet

ALPHAS = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20)


def summed(m: Geometric, epsilon: Fraction, window: int = 400) -> tuple[flint.arb, flint.arb]:
    """delta of the untruncated law over all pairs of inputs, summed over a window, and the most that lies outside it."""
    with flint.ctx.workprec(256):
        grow = flint.arb(flint.fmpq(epsilon.numerator, epsilon.denominator)).exp()
        chances = {z: flint.arb(flint.fmpq(*noise(z, m.alpha).as_integer_ratio())) for z in range(window + m.bound + 1)}
        worst = flint.arb(0)
        for x, other in permutations(m.inputs, 2):
            views = range(-window, window + 1)
            parts = (flint.arb(0).max(chances[abs(y - x)] - grow * chances[abs(y - other)]) for y in views)
            worst = worst.max(sum(parts, flint.arb(0)))
        return worst, 2 * flint.arb(flint.fmpq(*m.alpha.as_integer_ratio())) ** (window - m.bound)


@pytest.mark.parametrize(("bound", "alpha"), [(1, Fraction(1, 3)), (3, Fraction(1, 2)), (4, Fraction(7, 9)), (6, Fraction(1, 5))])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 10), Fraction(1), Fraction(9, 4)])
def test_delta_is_that_of_the_untruncated_law_over_all_pairs_of_inputs(bound: int, alpha: Fraction, epsilon: Fraction) -> None:
    m = Geometric(bound, alpha)
    truth, outside = summed(m, epsilon)
    found = account(m).delta(epsilon)
    assert found.rigour is Rigour.EXACT
    assert not flint.arb(found.high) < truth - outside
    assert not flint.arb(found.low) > truth + outside


@given(bound=st.integers(1, 12), alpha=ALPHAS)
def test_truncation_changes_no_loss_and_no_probability_of_one(bound: int, alpha: Fraction) -> None:
    whole, cut = account(Geometric(bound, alpha)), account(TruncatedGeometric(bound, alpha))
    assert isinstance(whole, FiniteProfile)
    assert isinstance(cut, FiniteProfile)
    assert whole.pairs == cut.pairs


@given(
    bound=st.integers(1, 12),
    alpha=ALPHAS,
    share=st.fractions(0, Fraction(6, 5), max_denominator=50),
    delta=st.fractions(0, 1, max_denominator=1000).filter(lambda d: d < 1),
)
@example(bound=10, alpha=Fraction(38, 41), share=Fraction(1), delta=Fraction(3, 10))  # attained far from t = 0
def test_the_closed_form_agrees_with_the_list_of_losses(bound: int, alpha: Fraction, share: Fraction, delta: Fraction) -> None:
    listed, closed = account(Geometric(bound, alpha)), ClosedForm(bound, alpha, "the closed form")
    epsilon = float(share) * listed.epsilon(0).high

    def same(a: Enclosure, b: Enclosure) -> bool:
        return meet(a, b) and b.high - b.low <= 1e-15 * b.high + 1e-300

    assert same(listed.delta(epsilon), closed.delta(epsilon))
    assert same(listed.epsilon(delta), closed.epsilon(delta))
    assert same(listed.epsilon(0), closed.epsilon(0))


@pytest.mark.parametrize("bound", [100, 101, 10**6])
def test_epsilon_is_what_was_asked_for_at_every_bound(bound: int) -> None:
    for m in (Geometric.for_epsilon(1, bound), TruncatedGeometric.for_epsilon(1, bound)):
        found = account(m).epsilon(0)
        assert found.low <= 1 <= found.high + 1e-15
        assert found.high <= 1
        assert found.relative_width < 1e-15


def test_an_alpha_next_to_one_costs_next_to_nothing() -> None:
    m = Geometric(101, 1 - Fraction(2, 1 << 53))
    assert account(m).epsilon(0).relative_width < 1e-15
    assert account(m).epsilon(0).high == pytest.approx(202 / 2**53, rel=1e-12)


def test_on_one_bit_the_truncated_form_is_binary_randomized_response() -> None:
    m = TruncatedGeometric(1, Fraction(2, 5))
    same = KaryRandomizedResponse(2, 1 / (1 + m.alpha))
    for x in (0, 1):
        assert dict(m.law(x).items()) == dict(same.law(x).items())


@pytest.mark.parametrize("alpha", [Fraction(1, 3), Fraction(1, 2), Fraction(7, 10), Geometric.for_epsilon(1, 100).alpha])
def test_the_untruncated_sampler_matches_its_law(alpha: Fraction) -> None:
    size, m = 40_000, Geometric(2, alpha)
    seen = Counter((m.sample(1, size, np.random.default_rng(5)) - 1).tolist())
    assert matches(seen, {z: noise(z, alpha) for z in range(-600, 601)})


def test_truncation_makes_the_estimate_no_worse() -> None:
    rng, data = np.random.default_rng(6), [0] * 50 + [4] * 50
    whole, cut = Geometric(4, Fraction(4, 5)), TruncatedGeometric(4, Fraction(4, 5))
    errors = [np.std([m.run(data, rng)[0] for _ in range(300)]) for m in (whole, cut)]
    assert errors[1] < errors[0]
