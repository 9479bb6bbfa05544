"""The kernel rejects false steps; most of these are false."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
import sympy

from ldpaudit.errors import ProofError
from ldpaudit.proofs._algebra import at_most, below, equal, nonnegative, positive, share
from ldpaudit.proofs._hypotheses import HYPOTHESES
from ldpaudit.proofs._kernel import Noise, Part, Theorem, named
from ldpaudit.proofs._parameters import bit, both, coin, ends, larger, plain, response
from ldpaudit.proofs._steps import Steps
from tests.helpers import ROOT

X, Y = positive("x", "y")
Z, W = nonnegative("z", "w")
S, R = share("s", "r")
KNOWN, P, ODDS = coin()  # a probability of at least 1/2, whose odds are parametrized; and the odds in fields
KEPT = bit(P, 1 - P, "kept", "flipped")
QUARTER, THIRD = sympy.Rational(1, 4), sympy.Rational(1, 3)


def theorem(*parts: Any, known: Mapping[str, Any] = KNOWN, **more: Any) -> Theorem:
    return Theorem(mechanism="M", sentence="a mechanism", parts=parts, **{**known, **more})


def test_a_true_equality_and_a_true_inequality_whose_sign_is_visible_are_steps() -> None:
    assert equal((X + 1) ** 2, X**2 + 2 * X + 1, "binomial") == "(x + 1)**2 = x**2 + 2*x + 1: binomial"
    assert at_most(X / (X + Y), 1, "a share").endswith(" <= 1: a share")
    assert at_most(0, X * Y, "a product of positives")
    assert below(0, X + Z, "above 0")
    assert not below(0, Z, "0, perhaps")


def test_a_false_equality_is_rejected_with_what_is_left_over() -> None:
    with pytest.raises(ProofError) as caught:
        equal((X + 1) ** 2, X**2 + 1, "freshman's dream")
    assert caught.value.step == "freshman's dream"
    assert caught.value.remainder == 2 * X


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (X, Y),
        (X + Y, X),
        (1, X),
        ((X + Y) / X, 1),
        (X * Y, -X * Y),
        (1 / X, 1 / (X + Y)),
        (THIRD, sympy.Rational(333, 1000)),
        (1, S),
        (S + R, 1),
        (S, R),
        (1 - S, sympy.Rational(99, 100)),
    ],
)
def test_a_false_inequality_is_rejected(left: object, right: object) -> None:
    with pytest.raises(ProofError):
        at_most(left, right, "false")


def test_a_true_inequality_whose_sign_is_not_visible_is_rejected_too() -> None:
    with pytest.raises(ProofError):
        at_most(2 * X * Y, X**2 + Y**2, "true, but by a square")


def test_a_share_lies_between_0_and_1() -> None:
    for left, right in ((S, 1), (S * R, S), (0, (1 - S) * R), (1 / (3 - S), sympy.Rational(1, 2))):
        assert at_most(left, right, "a share")


def test_only_what_is_affine_in_a_share_is_read_off_its_ends() -> None:
    with pytest.raises(ProofError, match="not affine"):
        at_most(0, (2 * S - 1) ** 2 - sympy.Rational(1, 2), "true at the ends, false between")


@pytest.mark.parametrize("expression", [1 / Z, Z / Z**2, 1 / (Z * Y), 1 / (Z - Y), 1 / (Y - 1), Y / (Z * Y + Z), 1 / S], ids=str)
def test_a_denominator_that_may_vanish_is_rejected(expression: Any) -> None:
    with pytest.raises(ProofError, match="which may vanish"):
        equal(expression, expression, "division by zero")
    assert equal(1 / (Z + Y), 1 / (Y + Z), "a positive part keeps a sum from vanishing")


def test_floats_roots_and_symbols_of_unknown_range_are_rejected() -> None:
    for expression in (0.1 * X, sympy.sqrt(X), sympy.exp(X), sympy.pi * X, sympy.Symbol("x") + X, named("p")):
        with pytest.raises(ProofError):
            at_most(0, expression, "not rational")


def test_a_parametrization_must_be_inverse() -> None:
    with pytest.raises(ProofError):
        theorem(Part(1, [{"any": (1, 1)}]), known={"fields": {"p": 1 / (1 + X)}, "recover": {X: named("p")}})


@pytest.mark.parametrize("too_little", [1, THIRD + named("p"), named("p") / (2 - named("p")), 1 / ODDS], ids=str)
def test_a_cost_below_one_of_its_cells_or_below_1_is_rejected(too_little: Any) -> None:
    with pytest.raises(ProofError):
        theorem(Part(too_little, [KEPT]))
    with pytest.raises(ProofError):
        theorem(Part(ODDS, [KEPT], back=too_little))
    with pytest.raises(ProofError, match="nothing differs"):
        theorem(Part(1 / ODDS, [{"nothing is told": (1, 1)}]))


@pytest.mark.parametrize(
    "law",
    [
        {},
        {"kept": (P, 1 - P)},
        {"flipped": (1 - P, P)},
        {"kept": (P, P), "flipped": (1 - P, P)},
        {"kept": (2, P, 1 - P), "flipped": (1 - P, P)},
        {"kept": (P, 1 - P), "flipped": (1 - P, P), "a third": (1 - P, 1 - P)},
        {"kept": (2 * P, 1 - P), "flipped": (1 - 2 * P, P)},
        {"kept": (P, 1 - P), "more": (-1, P, P), "flipped": (1, P)},
    ],
    ids=["no cell", "one dropped", "the other dropped", "not the second", "counted twice", "too much", "below 0", "count"],
)
def test_cells_that_are_not_a_law_on_either_input_are_rejected(law: Any) -> None:
    with pytest.raises(ProofError):
        theorem(Part(ODDS * 1000, [law]))


def test_a_theorem_without_a_part_or_a_part_without_a_law_concludes_nothing() -> None:
    for parts in ((), (Part(ODDS, []),)):
        with pytest.raises(ProofError, match="without a"):
            theorem(*parts)


def test_both_directions_of_a_pair_cost_the_same() -> None:
    gap, rest = positive("gap", "rest")
    q, p = 1 / (1 + gap + rest), (1 + gap) / (1 + gap + rest)
    one, zero = named("p") / named("q"), (1 - named("q")) / (1 - named("p"))
    known = {"fields": {"p": p, "q": q}, "recover": {gap: one - 1, rest: (1 - named("p")) / named("q")}}
    here, twice, there = Part(one, [bit(p, q)], 1, zero), Part(one, [bit(p, q)], 2, zero), Part(zero, [bit(q, p)], 1, one)
    for parts in ((here,), (there,), (twice, there)):
        with pytest.raises(ProofError, match="exchanged"):
            theorem(*parts, known=known)
    assert theorem(here, there, known=known).statement == "a mechanism is private with epsilon = log(p*(1 - q)/(q*(1 - p)))"


def test_one_direction_s_powers_are_compared_exactly() -> None:
    one_way, other = bit(QUARTER, THIRD), bit(THIRD, QUARTER)
    up, down = sympy.Rational(9, 8), sympy.Rational(4, 3)
    two, one = Part(up, [one_way], 2, down), Part(down, [other], 1, up)
    with pytest.raises(ProofError, match="exchanged"):  # two exchanged cost log(16/9) together
        theorem(two, one)
    assert theorem(two, Part(down, [other], 2, up)).statement.endswith("2*log(3/2)")


def test_parametrizations_that_proofs_share_cover_their_ranges_and_nothing_else() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)
    known, apart, alike, ratio = response("g")
    answers = theorem(Part(ratio, [apart, alike]), known=known)
    assert answers.bound({"g": 4, "p": half}) == [(Fraction(1), Fraction(3), False)]
    assert answers.bound({"g": 4, "p": Fraction(1, 5)}) is None
    regimes = []
    for by_ones in (True, False):
        known, a, b, ratio = ends("a", "b", by_ones)
        regimes.append(theorem(Part(ratio, [bit(b, a), bit(a, b)]), known=known))
        with pytest.raises(ProofError):
            theorem(Part(larger(not by_ones, named("a"), named("b")), [bit(b, a), bit(a, b)]), known=known)
    for low, high, covered in ((third, half, [True, False]), (half, Fraction(2, 3), [False, True]), (half, third, [False, False])):
        assert [t.bound({"a": low, "b": high}) is not None for t in regimes] == covered


def test_the_statement_s_bound_is_the_one_that_was_checked() -> None:
    assert theorem(Part(1000 * ODDS, [KEPT], 3)).statement == "a mechanism is private with epsilon = 3*log(1000*p/(1 - p))"
    mixed = theorem(Part(ODDS, [KEPT]), Noise(2 / named("b"), 1 / X), known=both(KNOWN, plain({"b": X})))
    assert mixed.statement == "a mechanism is private with epsilon = log(p/(1 - p)) + 2/b"


def test_no_less_is_said_only_of_a_bound_that_a_view_attains() -> None:
    with pytest.raises(ProofError, match="attains"):
        theorem(Part(2 * ODDS, [KEPT]), tight="")
    assert theorem(Part(ODDS, [KEPT]), tight="").statement.endswith(", and no less")
    assert theorem(Part(ODDS, [KEPT]), tight="where it is so").statement.endswith(", and no less where it is so")
    with pytest.raises(ProofError, match="attains"):
        theorem(Part(ODDS, [KEPT]), Part(2 * ODDS, [KEPT]), tight="")


def test_a_view_that_never_happens_attains_nothing() -> None:
    (never,) = nonnegative("never")
    with pytest.raises(ProofError, match="attains"):
        theorem(Part(2 * ODDS, [{"none": (0 * never, 2 * P, 1 - P), **KEPT}]), tight="")
    with pytest.raises(ProofError, match="attains"):
        theorem(Part(2, [{"none": (0, 0), "any": (1, 1)}]), tight="")


def test_a_number_with_noise_costs_by_how_much_it_changes() -> None:
    known = plain({"scale": X})
    for nats, change in ((1 / named("scale"), 2 / X), (0, 1 / X), (1 / named("scale"), -1 / X), (1 / named("scale"), Z / X)):
        with pytest.raises(ProofError):
            theorem(Noise(nats, change), known=known)
    exact = theorem(Noise(1 / named("scale"), S / X), known=known, worst={S: 1}, tight="")
    assert exact.statement == "a mechanism is private with epsilon = 1/scale, and no less"
    assert exact.bound({"scale": Fraction(3)}) == [(Fraction(1), Fraction(1, 3), True)]
    with pytest.raises(ProofError, match="attains"):
        theorem(Noise(1 / named("scale"), S / X), known=known, worst={S: Fraction(1, 2)}, tight="")


def test_one_assignment_is_for_all_parts() -> None:
    def told(kept: Any) -> Any:
        return bit(P * kept + (1 - kept) / 2, (1 - P) * kept + (1 - kept) / 2)

    assert theorem(Part(ODDS, [KEPT]), Part(ODDS, [told(S)]), worst={S: 1}, tight="")
    for worst in ({S: 1}, {S: 0}):
        with pytest.raises(ProofError, match="attains"):
            theorem(Part(ODDS, [told(S)]), Part(ODDS, [told(1 - S)]), worst=worst, tight="")


@pytest.mark.parametrize("worst", [{S: 2}, {S: -1}, {X: 0}, {next(iter(KNOWN["recover"])): 1}, {S: sympy.pi / 4}], ids=str)
def test_an_assignment_is_of_open_symbols_within_their_range(worst: Any) -> None:
    with pytest.raises(ProofError, match="out of its range"):
        theorem(Part(ODDS, [KEPT]), worst=worst, tight="")


@pytest.mark.parametrize("times", [0, -1, Fraction(1, 10)])
def test_a_cost_counts_a_whole_number_of_times(times: Any) -> None:
    with pytest.raises(ProofError, match="where a whole number above 0 is needed"):
        theorem(Part(ODDS, [KEPT], times))
    with pytest.raises(ProofError, match="whole numbers of times"):
        theorem(Part(ODDS, [KEPT], named("p") * 2)).bound({"p": Fraction(3, 4)})


def test_a_share_is_at_most_1() -> None:
    law = bit(QUARTER + S / 2, QUARTER)
    t = theorem(Part(3, [law]), known=plain({"gamma": S}))
    assert t.bound({"gamma": Fraction(1)}) is not None
    assert t.bound({"gamma": Fraction(3)}) is None


def test_a_bound_is_exact_and_only_given_where_the_theorem_covers_the_parameters() -> None:
    t = theorem(Part(ODDS, [KEPT]))
    assert t.bound({"p": Fraction(3, 4)}) == [(Fraction(1), Fraction(3), False)]
    assert t.bound({"p": Fraction(1, 2)}) == [(Fraction(1), Fraction(1), False)]
    assert t.bound({"p": Fraction(1, 3)}) is None
    with pytest.raises(ProofError, match="no value"):
        t.bound({"q": Fraction(3, 4)})
    assert t.at(object()) is None, "it is about its mechanism only"


def test_a_theorem_takes_no_hypothesis_that_no_test_compares_with_the_code() -> None:
    assert theorem(Part(ODDS, [KEPT]), assumes=("public",)).assumes == (HYPOTHESES["public"][0],)
    with pytest.raises(ProofError, match="which no test compares with the code"):
        theorem(Part(ODDS, [KEPT]), assumes=("it is private",))
    for _, test in HYPOTHESES.values():
        file, name = test.split("::")
        assert f"def {name}(" in (ROOT / file).read_text()


def test_steps_on_paper_are_checked_and_cover_nothing() -> None:
    t = Steps("everything is private")
    t.at_most(S, 1, "a share")
    with pytest.raises(ProofError):
        t.equal(S, 1, "false")
    t.admit("a step", "a book")
    assert (len(t.steps), t.admissions, t.statement, t.at(object())) == (1, ["a step (a book)"], "everything is private", None)
