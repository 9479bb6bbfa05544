"""Any shuffled report: clones and replacement bound it, and published theorems are held against them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from ldpaudit.accountants import account
from ldpaudit.accountants.shuffling import theorems as formulas
from ldpaudit.accountants.shuffling.clones import CloneProfile, Clones
from ldpaudit.enclosure import Rigour
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.unary_encoding import UnaryEncoding
from ldpaudit.plan import Guarantee, Shuffle

F = Fraction

CASES = [(F(1, 4), 10**4, 1e-6), (F(1, 2), 10**6, 1e-9), (F(1), 10**5, 1e-6), (F(4), 10**7, 1e-9)]


@pytest.mark.parametrize(("epsilon0", "users", "delta"), CASES)
def test_published_closed_forms_are_above_what_is_certified(epsilon0: Fraction, users: int, delta: float) -> None:
    def certified(epsilon: float) -> float:
        return float(Clones(epsilon0).delta(F(epsilon), users, 1e-6).abs_lower())

    closed = [formulas.fmt21(epsilon0, users, delta).high]
    if epsilon0 <= F(1, 2):
        closed.append(formulas.efmrtt19(epsilon0, users, delta).high)
    for epsilon in closed:
        assert certified(epsilon) <= delta
    for epsilon in (closed[0], closed[0] / 4):
        for formula in (formulas.bbgn19_hoeffding, formulas.bbgn19_bennett):
            if epsilon < epsilon0:
                assert formula(epsilon0, users, epsilon).high >= certified(epsilon)
                m = KaryRandomizedResponse.for_epsilon(epsilon0, 10)
                assert formula(epsilon0, users, epsilon, 10).high >= account(Shuffle(m, users)).delta(epsilon).low
    bennett = formulas.epsilon_of(
        lambda e: formulas.bbgn19_bennett(epsilon0, users, min(e, float(epsilon0) * 0.99)), 0.9
    )
    assert bennett.high > 0


BROKEN: list[tuple[Callable[[], object], str]] = [
    (lambda: formulas.efmrtt19(1, 10**6, 1e-6), "epsilon0 <= 1/2"),
    (lambda: formulas.efmrtt19(F(1, 4), 999, 1e-6), "n >= 1000"),
    (lambda: formulas.efmrtt19(F(1, 4), 10**6, F(1, 2)), "delta <= 1/100"),
    (lambda: formulas.fmt21(8, 10**4, 1e-6), r"epsilon0 <= log\(n / \(16 log\(2/delta\)\)\)"),
    (lambda: formulas.bbgn19_hoeffding(1, 10, 0), "0 < epsilon"),
    (lambda: formulas.bbgn19_bennett(1, 10, 1), "epsilon < epsilon0"),
    (lambda: formulas.bbgn19_gamma(10, 100, F(1, 10), 1e-6), "gamma <= 1"),
]


@pytest.mark.parametrize(("call", "hypothesis"), BROKEN)
def test_a_published_theorem_says_which_hypothesis_fails(call: Callable[[], object], hypothesis: str) -> None:
    with pytest.raises(ValueError, match=hypothesis):
        call()


def test_enough_uniform_draws_are_enough() -> None:
    gamma = formulas.bbgn19_gamma(4, 10**5, F(1, 2), 1e-6).high
    m = KaryRandomizedResponse.with_uniform_draw(gamma, 4)
    assert account(Shuffle(m, 10**5)).delta(F(1, 2)).high <= 1e-6


def test_the_stronger_clone_never_certifies() -> None:
    found = formulas.stronger_clone_conjecture(1, 1000, F(1, 10))
    assert found.rigour is Rigour.FLOAT
    assert found.high < Clones(F(1)).delta(F(1, 10), 1000)
    m = KaryRandomizedResponse.for_epsilon(1, 2)
    assert account(Shuffle(m, 1000)).delta(F(1, 10)).high < found.high  # for the binary mechanism it is a theorem


ENPA = {
    10**4: (0.53, 7.67, 7.98, 8.00, 8.00, 8.00),
    10**5: (0.01, 0.25, 0.46, 0.66, 0.84, 1.02),
    10**6: (0.01, 0.04, 0.10, 0.15, 0.19, 0.23),
    10**7: (0.01, 0.01, 0.03, 0.04, 0.06, 0.07),
}
"""White paper, figure 2: shuffled epsilon for epsilon0 = 8, delta = 1e-1 to 1e-6."""
ENPA_FIVE_BINS_REFUTED = {
    10**4: (True, False, False, False, False, False),
    10**5: (False, True, True, True, True, True),
    10**6: (False, True, True, True, True, True),
    10**7: (False, False, True, True, True, True),
}
"""Where the figure is read for a one-hot report of five bins, a data set exceeds it."""


@pytest.mark.parametrize("users", [10**4, *(pytest.param(users, marks=pytest.mark.slow) for users in (10**5, 10**6, 10**7))])
def test_enpa_s_figure_holds_for_one_flipped_bit_and_not_for_five_bins(users: int) -> None:
    bit, bins = (account(Shuffle(KaryRandomizedResponse.for_epsilon(8, k), users)) for k in (2, 5))
    for column, epsilon in enumerate(ENPA[users]):
        delta = F(1, 10 ** (column + 1))
        assert bit.delta(epsilon).high <= delta
        assert (bins.delta(epsilon).low > delta) == ENPA_FIVE_BINS_REFUTED[users][column]


@pytest.mark.parametrize(("epsilon0", "epsilon"), [(F(5), 0.317), (F(13, 2), 0.906), (F(7), 1.528)])
def test_the_draft_s_rows_hold_for_any_shuffled_report(epsilon0: Fraction, epsilon: float) -> None:
    """The first two only by replacement: clones show more than they print."""
    users, delta = 10**5, F(1, 10**9)
    for plan in (UnaryEncoding.symmetric(epsilon0, 100), Guarantee(epsilon0)):
        assert account(Shuffle(plan, users)).delta(epsilon).high <= delta
    assert (CloneProfile(epsilon0, users).delta(epsilon).low > delta) == (epsilon0 < 7)
