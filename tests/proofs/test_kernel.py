"""The kernel rejects false steps, and most of these are false; the exhaustive proof accepts what is true of every entry alone."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
import sympy

from ldpaudit.errors import ProofError
from ldpaudit.proofs._algebra import at_most, below, equal, nonnegative, positive, share
from ldpaudit.proofs._exhaustive import Exhaustive, prove_tables
from ldpaudit.proofs._hypotheses import HYPOTHESES
from ldpaudit.proofs._kernel import Noise, Part, Theorem, named
from ldpaudit.proofs._parameters import bit, both, coin, ends, larger, plain, response
from ldpaudit.proofs._steps import Steps
from tests.helpers import ROOT, raises, some

X, Y = positive("x", "y")
Z, W = nonnegative("z", "w")
S, R = share("s", "r")
KNOWN, P, ODDS = coin()  # a probability of at least 1/2, whose odds are parametrized; and the odds in fields
KEPT = bit(P, 1 - P, "kept", "flipped")
QUARTER, THIRD = sympy.Rational(1, 4), sympy.Rational(1, 3)


def theorem(*parts: Any, known: Mapping[str, Any] = KNOWN, **more: Any) -> Theorem:
    return Theorem(mechanism="M", sentence="a mechanism", parts=parts, **{**known, **more})


def test_a_true_equality_or_inequality_whose_sign_is_visible_is_a_step_and_what_is_left_over_is_told() -> None:
    assert equal((X + 1) ** 2, X**2 + 2 * X + 1, "binomial") == "(x + 1)**2 = x**2 + 2*x + 1: binomial"
    assert at_most(X / (X + Y), 1, "a share").endswith(" <= 1: a share")
    assert at_most(0, X * Y, "a product of positives")
    assert below(0, X + Z, "above 0")
    assert not below(0, Z, "0, perhaps")
    caught = raises(ProofError, "", equal, (X + 1) ** 2, X**2 + 1, "freshman's dream")
    assert (caught.step, caught.remainder) == ("freshman's dream", 2 * X)
    raises(ProofError, "", at_most, 2 * X * Y, X**2 + Y**2, "true, but by a square")


def test_a_false_inequality_and_a_denominator_that_may_vanish_are_rejected() -> None:
    for left, right in (
        (X, Y), (X + Y, X), (1, X), ((X + Y) / X, 1), (X * Y, -X * Y), (1 / X, 1 / (X + Y)), (1, S), (S + R, 1), (S, R),
        (THIRD, sympy.Rational(333, 1000)), (1 - S, sympy.Rational(99, 100)),
    ):  # fmt: skip
        raises(ProofError, None, at_most, left, right, "false")
    for expression in (1 / Z, Z / Z**2, 1 / (Z * Y), 1 / (Z - Y), 1 / (Y - 1), Y / (Z * Y + Z), 1 / S):
        raises(ProofError, "which may vanish", equal, expression, expression, "division by zero")
    assert equal(1 / (Z + Y), 1 / (Y + Z), "a positive part keeps a sum from vanishing")


def test_a_share_lies_between_0_and_1_and_only_what_is_affine_in_it_is_read_off_its_ends() -> None:
    for left, right in ((S, 1), (S * R, S), (0, (1 - S) * R), (1 / (3 - S), sympy.Rational(1, 2))):
        assert at_most(left, right, "a share")
    raises(ProofError, "not affine", at_most, 0, (2 * S - 1) ** 2 - sympy.Rational(1, 2), "true at the ends, false between")
    t = theorem(Part(3, [bit(QUARTER + S / 2, QUARTER)]), known=plain({"gamma": S}))
    assert t.bound({"gamma": Fraction(1)}) is not None
    assert t.bound({"gamma": Fraction(3)}) is None


def test_what_is_not_rational_of_no_known_range_or_no_inverse_or_no_law_concludes_nothing() -> None:
    for expression in (0.1 * X, sympy.sqrt(X), sympy.exp(X), sympy.pi * X, sympy.Symbol("x") + X, named("p")):
        raises(ProofError, "", at_most, 0, expression, "not rational")
    raises(ProofError, None, theorem, Part(1, [{"any": (1, 1)}]), known={"fields": {"p": 1 / (1 + X)}, "recover": {X: named("p")}})
    for parts in ((), (Part(ODDS, []),)):
        raises(ProofError, "without a", theorem, *parts)


@pytest.mark.parametrize("too_little", [1, THIRD + named("p"), named("p") / (2 - named("p")), 1 / ODDS], ids=str)
def test_a_cost_below_one_of_its_cells_or_below_1_is_rejected(too_little: Any) -> None:
    raises(ProofError, "", theorem, Part(too_little, [KEPT]))
    raises(ProofError, "", theorem, Part(ODDS, [KEPT], back=too_little))
    raises(ProofError, "nothing differs", theorem, Part(1 / ODDS, [{"nothing is told": (1, 1)}]))


@pytest.mark.parametrize(
    "law",
    [{}, {"kept": (P, 1 - P)}, {"flipped": (1 - P, P)}, {"kept": (P, P), "flipped": (1 - P, P)},
     {"kept": (2, P, 1 - P), "flipped": (1 - P, P)}, {"kept": (P, 1 - P), "flipped": (1 - P, P), "a third": (1 - P, 1 - P)},
     {"kept": (2 * P, 1 - P), "flipped": (1 - 2 * P, P)}, {"kept": (P, 1 - P), "more": (-1, P, P), "flipped": (1, P)}],
     ids=["no cell", "one dropped", "the other dropped", "not the second", "counted twice", "too much", "below 0", "count"],
)  # fmt: skip
def test_cells_that_are_not_a_law_on_either_input_are_rejected(law: Any) -> None:
    raises(ProofError, "", theorem, Part(ODDS * 1000, [law]))


def test_both_directions_of_a_pair_cost_the_same_and_powers_are_compared_exactly() -> None:
    gap, rest = positive("gap", "rest")
    q, p = 1 / (1 + gap + rest), (1 + gap) / (1 + gap + rest)
    one, zero = named("p") / named("q"), (1 - named("q")) / (1 - named("p"))
    known = {"fields": {"p": p, "q": q}, "recover": {gap: one - 1, rest: (1 - named("p")) / named("q")}}
    here, twice, there = Part(one, [bit(p, q)], 1, zero), Part(one, [bit(p, q)], 2, zero), Part(zero, [bit(q, p)], 1, one)
    for parts in ((here,), (there,), (twice, there)):
        raises(ProofError, "exchanged", theorem, *parts, known=known)
    assert theorem(here, there, known=known).statement == "a mechanism is private with epsilon = log(p*(1 - q)/(q*(1 - p)))"
    one_way, other = bit(QUARTER, THIRD), bit(THIRD, QUARTER)
    up, down = sympy.Rational(9, 8), sympy.Rational(4, 3)
    two, one = Part(up, [one_way], 2, down), Part(down, [other], 1, up)
    raises(ProofError, "exchanged", theorem, two, one)
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
        raises(ProofError, None, theorem, Part(larger(not by_ones, named("a"), named("b")), [bit(b, a), bit(a, b)]), known=known)
    for low, high, covered in ((third, half, [True, False]), (half, Fraction(2, 3), [False, True]), (half, third, [False, False])):
        assert [t.bound({"a": low, "b": high}) is not None for t in regimes] == covered


def test_a_bound_is_the_one_that_was_checked_exact_and_only_where_the_theorem_covers_the_parameters() -> None:
    assert theorem(Part(1000 * ODDS, [KEPT], 3)).statement == "a mechanism is private with epsilon = 3*log(1000*p/(1 - p))"
    mixed = theorem(Part(ODDS, [KEPT]), Noise(2 / named("b"), 1 / X), known=both(KNOWN, plain({"b": X})))
    assert mixed.statement == "a mechanism is private with epsilon = log(p/(1 - p)) + 2/b"
    t = theorem(Part(ODDS, [KEPT]))
    assert t.bound({"p": Fraction(3, 4)}) == [(Fraction(1), Fraction(3), False)]
    assert t.bound({"p": Fraction(1, 2)}) == [(Fraction(1), Fraction(1), False)]
    assert t.bound({"p": Fraction(1, 3)}) is None
    raises(ProofError, "no value", t.bound, {"q": Fraction(3, 4)})
    assert t.at(object()) is None, "it is about its mechanism only"


def test_no_less_is_said_only_of_a_bound_that_a_view_attains_which_happens() -> None:
    raises(ProofError, "attains", theorem, Part(2 * ODDS, [KEPT]), tight="")
    assert theorem(Part(ODDS, [KEPT]), tight="").statement.endswith(", and no less")
    assert theorem(Part(ODDS, [KEPT]), tight="where it is so").statement.endswith(", and no less where it is so")
    raises(ProofError, "attains", theorem, Part(ODDS, [KEPT]), Part(2 * ODDS, [KEPT]), tight="")
    (never,) = nonnegative("never")
    raises(ProofError, "attains", theorem, Part(2 * ODDS, [{"none": (0 * never, 2 * P, 1 - P), **KEPT}]), tight="")
    raises(ProofError, "attains", theorem, Part(2, [{"none": (0, 0), "any": (1, 1)}]), tight="")


def test_a_number_with_noise_costs_by_how_much_it_changes() -> None:
    known = plain({"scale": X})
    for nats, change in ((1 / named("scale"), 2 / X), (0, 1 / X), (1 / named("scale"), -1 / X), (1 / named("scale"), Z / X)):
        raises(ProofError, "", theorem, Noise(nats, change), known=known)
    exact = theorem(Noise(1 / named("scale"), S / X), known=known, worst={S: 1}, tight="")
    assert exact.statement == "a mechanism is private with epsilon = 1/scale, and no less"
    assert exact.bound({"scale": Fraction(3)}) == [(Fraction(1), Fraction(1, 3), True)]
    raises(ProofError, "attains", theorem, Noise(1 / named("scale"), S / X), known=known, worst={S: Fraction(1, 2)}, tight="")


def test_one_assignment_is_for_all_parts() -> None:
    def told(kept: Any) -> Any:
        return bit(P * kept + (1 - kept) / 2, (1 - P) * kept + (1 - kept) / 2)

    assert theorem(Part(ODDS, [KEPT]), Part(ODDS, [told(S)]), worst={S: 1}, tight="")
    for worst in ({S: 1}, {S: 0}):
        raises(ProofError, "attains", theorem, Part(ODDS, [told(S)]), Part(ODDS, [told(1 - S)]), worst=worst, tight="")


def test_a_cost_counts_a_whole_number_of_times_and_an_assignment_is_of_open_symbols_in_their_range() -> None:
    for times in (0, -1, Fraction(1, 10)):
        raises(ProofError, "where a whole number above 0 is needed", theorem, Part(ODDS, [KEPT], times))
    raises(ProofError, "whole numbers of times", theorem(Part(ODDS, [KEPT], named("p") * 2)).bound, {"p": Fraction(3, 4)})
    for worst in ({S: 2}, {S: -1}, {X: 0}, {next(iter(KNOWN["recover"])): 1}, {S: sympy.pi / 4}):
        raises(ProofError, "out of its range", theorem, Part(ODDS, [KEPT]), worst=worst, tight="")


def test_a_theorem_takes_no_hypothesis_that_no_test_compares_and_steps_on_paper_cover_nothing() -> None:
    assert theorem(Part(ODDS, [KEPT]), assumes=("public",)).assumes == (HYPOTHESES["public"][0],)
    raises(ProofError, "which no test compares with the code", theorem, Part(ODDS, [KEPT]), assumes=("it is private",))
    for _, test in HYPOTHESES.values():
        file, name = test.split("::")
        assert f"def {name}(" in (ROOT / file).read_text()
    t = Steps("everything is private")
    t.at_most(S, 1, "a share")
    raises(ProofError, "", t.equal, S, 1, "false")
    t.admit("a step", "a book")
    assert (len(t.steps), t.admissions, t.statement, t.at(object())) == (1, ["a step (a book)"], "everything is private", None)


TABLE = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 3), Fraction(2, 3)]]


@pytest.mark.parametrize("table", [
    [[Fraction(3, 4), Fraction(1, 8)], [Fraction(1, 3), Fraction(2, 3)]],
    [[Fraction(3, 4), Fraction(1, 4)], [Fraction(4, 3), Fraction(-1, 3)]],
    [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1)]],
    [[Fraction(3, 4), Fraction(1, 4)], [0.5, 0.5]],
], ids=["no sum of 1", "negative", "short", "floats"])  # fmt: skip
def test_a_row_that_is_no_law_proves_nothing(table: Any) -> None:
    raises(ProofError, "no law", prove_tables, "it", [table], "replace-one")


def test_of_several_tables_the_largest_ratio_counts_and_a_view_that_no_row_shows_changes_nothing() -> None:
    assert prove_tables("it", [[[Fraction(1), Fraction(0)], [Fraction(1, 2), Fraction(1, 2)]]], "replace-one") is None
    found = some(prove_tables("it", [[[*row, Fraction(0)] for row in TABLE]], "replace-one"))
    assert (found.ratio, found.tight) == (Fraction(8, 3), "")
    other = [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 8), Fraction(7, 8)]]
    found = some(prove_tables("it", [TABLE, other], "add-remove"))
    assert (found.ratio, found.statement) == (Fraction(4), "it is private with epsilon = log(4), and no less")
    assert len(found.steps) == 2 * (2 + 2) + 1


def test_a_ratio_of_many_digits_is_stated_by_its_length_and_an_example_that_does_not_check_not_at_all() -> None:
    wrong = Exhaustive("Channel", "it", lambda m: m.matrix, [[Fraction(1, 2), Fraction(1, 4)], [Fraction(1, 2), Fraction(1, 2)]])
    with pytest.raises(ProofError):
        _ = wrong.statement
    rows = ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 10**5000), 1 - Fraction(1, 10**5000)))
    found = some(prove_tables("a channel", (rows,), "replace-one"))
    assert found.ratio == Fraction(10**5000, 2)
    assert "log(16609 bits / 1 bits)" in found.statement
