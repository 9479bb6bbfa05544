"""The kernel rejects false steps; most of these are false."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import sympy

from ldpaudit.errors import ProofError
from ldpaudit.proofs._kernel import Lemma, Theorem


@pytest.fixture
def t() -> Theorem:
    return Theorem(mechanism="M", sentence="a mechanism")


def coin(t: Theorem) -> Any:
    """A probability of at least 1/2, whose odds are parametrized; and the field that it is."""
    return t.coin()[0], t.parameter("p")


def test_a_true_equality_and_a_true_inequality_whose_sign_is_visible_are_steps(t: Theorem) -> None:
    x, y = t.positive("x", "y")
    t.equal((x + 1) ** 2, x**2 + 2 * x + 1, "binomial")
    t.at_most(x / (x + y), 1, "a share")
    t.at_most(0, x * y, "a product of positives")
    assert len(t.steps) == 3


def test_a_false_equality_is_rejected_with_what_is_left_over(t: Theorem) -> None:
    (x,) = t.positive("x")
    with pytest.raises(ProofError) as caught:
        t.equal((x + 1) ** 2, x**2 + 1, "freshman's dream")
    assert caught.value.step == "freshman's dream"
    assert caught.value.remainder == 2 * sympy.Symbol("x", nonnegative=True)
    assert not t.steps


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (lambda x, y: x, lambda x, y: y),
        (lambda x, y: x + y, lambda x, y: x),
        (lambda x, y: 1, lambda x, y: x),
        (lambda x, y: (x + y) / x, lambda x, y: 1),
        (lambda x, y: x * y, lambda x, y: -x * y),
        (lambda x, y: 1 / x, lambda x, y: 1 / (x + y)),
        (lambda x, y: sympy.Rational(1, 3), lambda x, y: sympy.Rational(333, 1000)),
    ],
)
def test_a_false_inequality_is_rejected(t: Theorem, left: object, right: object) -> None:
    x, y = t.positive("x", "y")
    assert callable(left)
    assert callable(right)
    with pytest.raises(ProofError):
        t.at_most(left(x, y), right(x, y), "false")
    assert not t.steps


def test_a_true_inequality_whose_sign_is_not_visible_is_rejected_too(t: Theorem) -> None:
    x, y = t.positive("x", "y")
    with pytest.raises(ProofError):
        t.at_most(2 * x * y, x**2 + y**2, "true, but by a square")


def test_a_share_lies_between_0_and_1(t: Theorem) -> None:
    share, other = t.share("m", "other")
    t.at_most(share, 1, "at most 1")
    t.at_most(share * other, share, "a share of a share")
    t.at_most(0, (1 - share) * other, "what is left")
    t.at_most(1 / (3 - share), sympy.Rational(1, 2), "in a denominator")
    for left, right in ((1, share), (share + other, 1), (share, other), (1 - share, sympy.Rational(99, 100))):
        with pytest.raises(ProofError):
            t.at_most(left, right, "false at an end")


def test_only_what_is_affine_in_a_share_is_read_off_its_ends(t: Theorem) -> None:
    (share,) = t.share("m")
    with pytest.raises(ProofError, match="not affine"):
        t.at_most(0, (2 * share - 1) ** 2 - sympy.Rational(1, 2), "true at the ends, false between")


def test_a_share_s_denominator_may_not_vanish_at_an_end(t: Theorem) -> None:
    (share,) = t.share("m")
    with pytest.raises(ProofError, match="may vanish"):
        t.at_most(0, 1 / share, "division by zero")


def test_a_denominator_that_may_vanish_is_rejected(t: Theorem) -> None:
    (x,) = t.nonnegative("x")
    (y,) = t.positive("y")
    for expression in (1 / x, x / x**2, 1 / (x * y), 1 / (x - y), 1 / (y - 1), y / (x * y + x)):
        with pytest.raises(ProofError, match="which may vanish"):
            t.equal(expression, expression, "division by zero")
    t.equal(1 / (x + y), 1 / (y + x), "a positive part keeps a sum from vanishing")


def test_floats_roots_and_unknown_symbols_are_rejected(t: Theorem) -> None:
    (x,) = t.positive("x")
    unknown = sympy.Symbol("z"), sympy.Symbol("x")
    for expression in (0.1 * x, sympy.sqrt(x), sympy.exp(x), sympy.pi * x, *(u + x for u in unknown)):
        with pytest.raises(ProofError):
            t.at_most(0, expression, "not rational")


def test_a_symbol_of_sympys_own_that_only_looks_positive_is_unknown(t: Theorem) -> None:
    t.positive("x")
    with pytest.raises(ProofError):
        t.at_most(0, sympy.Symbol("x", positive=True), "another symbol of the same name")


def test_a_symbol_is_declared_once(t: Theorem) -> None:
    t.nonnegative("x")
    with pytest.raises(ProofError, match="declared twice"):
        t.positive("x")


def test_a_parametrization_must_be_inverse(t: Theorem) -> None:
    (x,) = t.positive("x")
    with pytest.raises(ProofError):
        t.parametrize({"p": 1 / (1 + x)}, {x: t.parameter("p")})


def test_a_cost_below_one_of_its_cells_is_rejected(t: Theorem) -> None:
    p, field = coin(t)
    for too_little in (sympy.Integer(1), sympy.Rational(1, 2) + field, field / (2 - field)):
        with pytest.raises(ProofError):
            t.costs(too_little, {"kept": (p, 1 - p), "flipped": (1 - p, p)})
    with pytest.raises(ProofError):  # a cost below one
        t.costs((1 - field) / field, {"nothing is told": (1, 1)})
    assert not t.factors


@pytest.mark.parametrize(
    "law",
    [
        lambda p: {},
        lambda p: {"kept": (p, 1 - p)},
        lambda p: {"flipped": (1 - p, p)},
        lambda p: {"kept": (p, p), "flipped": (1 - p, p)},
        lambda p: {"kept": (2, p, 1 - p), "flipped": (1 - p, p)},
        lambda p: {"kept": (p, 1 - p), "flipped": (1 - p, p), "a third": (1 - p, 1 - p)},
        lambda p: {"kept": (2 * p, 1 - p), "flipped": (1 - 2 * p, p)},
        lambda p: {"kept": (p, 1 - p), "more": (-1, p, p), "flipped": (1, p)},
    ],
    ids=["no cell", "one dropped", "the other dropped", "not the second", "counted twice", "too much", "below 0", "count"],
)
def test_cells_that_are_not_a_law_on_either_input_are_rejected(t: Theorem, law: Callable[[Any], Any]) -> None:
    p, field = coin(t)
    with pytest.raises(ProofError):
        t.costs(field / (1 - field) * 1000, law(p))


def test_a_theorem_without_a_cost_or_a_cost_without_a_law_concludes_nothing(t: Theorem) -> None:
    _, field = coin(t)
    t.at_most(0, 1, "a step that is not about the mechanism")
    for conclude in (lambda: t.statement, lambda: t.bound({"p": Fraction(3, 4)}), lambda: t.costs(field / (1 - field))):
        with pytest.raises(ProofError):
            conclude()


@pytest.mark.parametrize("times", [1, 2])
def test_a_cost_in_one_direction_needs_the_other_one_as_often(t: Theorem, times: int) -> None:
    gap, rest = t.positive("gap", "rest")
    q, p = 1 / (1 + gap + rest), (1 + gap) / (1 + gap + rest)
    p_field, q_field = t.parameter("p"), t.parameter("q")
    t.parametrize({"p": p, "q": q}, {gap: p_field / q_field - 1, rest: (1 - p_field) / q_field})
    t.costs(p_field / q_field, {"1": (p, q), "0": (1 - p, 1 - q)}, times=times)
    with pytest.raises(ProofError, match="exchanged"):
        assert t.statement
    t.costs((1 - q_field) / (1 - p_field), {"1": (q, p), "0": (1 - q, 1 - p)})
    if times == 1:
        assert t.statement == "a mechanism is private with epsilon = log(p*(1 - q)/(q*(1 - p)))"
    else:
        with pytest.raises(ProofError, match="exchanged"):
            assert t.statement


def test_parametrizations_that_proofs_share_cover_their_ranges_and_nothing_else() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)
    answers, low, high = (Theorem(mechanism="M", sentence="it") for _ in range(3))
    k, p, lie, ratio = answers.response("g")
    answers.costs(ratio, {"y = x": (p, lie), "y = x'": (lie, p), "neither": (k - 2, lie, lie)})
    assert answers.bound({"g": 4, "p": half}) == [(Fraction(1), Fraction(3), False)]
    assert answers.bound({"g": 4, "p": Fraction(1, 5)}) is None
    for t, by_ones in ((low, True), (high, False)):
        (a, b), x, y = t.ends("a", "b", by_ones), t.parameter("a"), t.parameter("b")
        t.costs(y / x if by_ones else (1 - x) / (1 - y), {"1": (b, a), "0": (1 - b, 1 - a)}, {"1": (a, b), "0": (1 - a, 1 - b)})
    for ends, sums in (((third, half), (True, False)), ((half, Fraction(2, 3)), (False, True)), ((half, third), (False, False))):
        assert [t.bound(dict(zip("ab", ends, strict=True))) is not None for t in (low, high)] == list(sums)


def test_the_statement_s_bound_is_the_one_that_was_checked(t: Theorem) -> None:
    p, field = coin(t)
    t.costs(1000 * field / (1 - field), {"kept": (p, 1 - p), "flipped": (1 - p, p)}, times=3)
    assert t.statement == "a mechanism is private with epsilon = 3*log(1000*p/(1 - p))"


def test_no_less_is_said_only_of_a_bound_that_a_view_attains(t: Theorem) -> None:
    p, field = coin(t)
    t.costs(2 * field / (1 - field), {"kept": (p, 1 - p), "flipped": (1 - p, p)})
    with pytest.raises(ProofError, match="attains"):
        t.attained("by nothing")
    tight = Theorem(mechanism="M", sentence="it")
    p, field = coin(tight)
    tight.costs(field / (1 - field), {"kept": (p, 1 - p), "flipped": (1 - p, p)})
    tight.attained("kept")
    assert tight.statement.endswith(", and no less")


def test_a_view_that_never_happens_attains_nothing(t: Theorem) -> None:
    p, field = coin(t)
    (never,) = t.nonnegative("never")
    t.costs(2 * field / (1 - field), {"none": (0 * never, 2 * p, 1 - p), "kept": (p, 1 - p), "flipped": (1 - p, p)})
    with pytest.raises(ProofError, match="attains"):
        t.attained("by no view")


def test_a_loss_on_the_real_line_is_bounded_wherever_the_view_lies(t: Theorem) -> None:
    (b,), field = t.positive("b"), t.parameter("scale")
    t.parametrize({"scale": b}, {b: field})
    too_little = (1 / field, b, 0, 2), (sympy.Integer(0), b, 0, 1), (1 / field, b / 2, 0, 1), (1 / field, b, 1, 0)
    for nats, scale, low, high in too_little:
        with pytest.raises(ProofError):
            t.loses(nats, scale, low, high)
    assert not t.factors
    t.loses(1 / field, b, 0, 1)
    assert t.statement == "a mechanism is private with epsilon = 1/scale"


@pytest.mark.parametrize("scale", [0, -1])
def test_a_loss_is_that_of_a_noise_whose_scale_is_above_0(t: Theorem, scale: int) -> None:
    with pytest.raises(ProofError, match="not visibly above 0"):
        t.loses(2, sympy.Integer(scale), 0, 1)


def test_costs_in_one_direction_are_exchanged_one_for_one(t: Theorem) -> None:
    quarter, third = sympy.Rational(1, 4), sympy.Rational(1, 3)
    (s,), field = t.share("s"), t.parameter("gamma")
    t.parametrize({"gamma": s}, {s: field})
    one_way = {"a": (quarter, third), "b": (1 - quarter, 1 - third)}
    other = {"a": (third, quarter), "b": (1 - third, 1 - quarter)}
    ratio = sympy.Rational(9, 8)
    t.costs(ratio, one_way)
    t.costs(ratio, one_way)
    t.costs(sympy.Rational(4, 3), other)
    with pytest.raises(ProofError, match="with the inputs exchanged"):  # two exchanged cost log(16/9) together
        t.require()
    t.costs(sympy.Rational(4, 3), other)
    t.require()


def test_costs_that_are_attained_at_two_values_of_one_symbol_are_not_attained_together(t: Theorem) -> None:
    p, field = coin(t)
    (s,) = t.share("s")
    law = {"kept": (p, 1 - p), "flipped": (1 - p, p)}
    tied = {"kept": (p * s + (1 - s) / 2, (1 - p) * s + (1 - s) / 2), "flipped": ((1 - p) * s + (1 - s) / 2, p * s + (1 - s) / 2)}
    turned = {"kept": (p * (1 - s) + s / 2, (1 - p) * (1 - s) + s / 2), "flipped": ((1 - p) * (1 - s) + s / 2, p * (1 - s) + s / 2)}
    t.costs(field / (1 - field), law)
    t.costs(field / (1 - field), tied, at={s: 1})
    t.attained("where s is 1")
    t.costs(field / (1 - field), turned, at={s: 0})
    with pytest.raises(ProofError, match="never together"):
        t.attained("at s = 1 and at s = 0")


def test_a_sum_counts_every_factor_of_the_theorem_before(t: Theorem) -> None:
    p, field = coin(t)
    t.costs(field / (1 - field), {"kept": (p, 1 - p), "flipped": (1 - p, p)}, times=5)
    whole = Theorem(mechanism="M", sentence="all")
    (nats,) = whole.positive("nats")
    whole.parametrize({"a": nats}, {nats: whole.parameter("a")})
    with pytest.raises(ProofError):  # nothing says that a part is no less than its factor
        whole.sums(5 * whole.parameter("a"), t, [(5, nats)])
    whole.assume("log(p/(1-p)) <= a")
    t.assume("coins are independent")
    t.admit("coins are fair", "a source")
    for parts in ([], [(5, nats), (1, nats)], [(6, nats)], [(0, nats)], [(-5, nats)], [(Fraction(1, 2), nats)], [(5, -nats)]):
        with pytest.raises(ProofError):
            whole.sums(5 * whole.parameter("a"), t, parts)
    with pytest.raises(ProofError):
        Theorem(mechanism="M", sentence="all", relation="add-remove", assumes=["any"]).sums(5, t, [(5, 1)])
    whole.sums(5 * whole.parameter("a"), t, [(5, nats)])
    assert whole.statement == "all is private with epsilon = 5*a"
    assert whole.assumes == ["log(p/(1-p)) <= a", "coins are independent"]
    assert whole.admissions == ["coins are fair (a source)"]


@pytest.mark.parametrize("times", [0, -1, Fraction(1, 10)])
def test_a_cost_counts_a_whole_number_of_times(t: Theorem, times: Any) -> None:
    p, field = coin(t)
    with pytest.raises(ProofError, match="where a whole number above 0 is needed"):
        t.costs(field / (1 - field), {"kept": (p, 1 - p), "flipped": (1 - p, p)}, times=times)
    t.costs(field / (1 - field), {"kept": (p, 1 - p), "flipped": (1 - p, p)}, times=t.parameter("p") * 2)
    with pytest.raises(ProofError, match="whole numbers of times"):
        t.bound({"p": Fraction(3, 4)})


def test_fields_are_stated_once_and_a_share_is_at_most_1() -> None:
    t = Theorem(mechanism="M", sentence="shares")
    (s,), field = t.share("s"), t.parameter("gamma")
    t.parametrize({"gamma": s}, {s: field})
    quarter = sympy.Rational(1, 4)
    t.costs(3, {"a": (quarter + s / 2, quarter), "b": (1 - quarter - s / 2, 1 - quarter)})
    t.costs(3, {"a": (quarter, quarter + s / 2), "b": (1 - quarter, 1 - quarter - s / 2)})
    assert t.bound({"gamma": Fraction(1)}) is not None
    assert t.bound({"gamma": Fraction(3)}) is None
    with pytest.raises(ProofError, match="stated twice, or after a cost"):
        t.parametrize({"gamma": s / 2}, {s: 2 * field})


def test_a_bound_is_exact_and_only_given_where_the_theorem_covers_the_parameters(t: Theorem) -> None:
    p, field = coin(t)
    t.costs(field / (1 - field), {"kept": (p, 1 - p), "flipped": (1 - p, p)})
    assert t.bound({"p": Fraction(3, 4)}) == [(Fraction(1), Fraction(3), False)]
    assert t.bound({"p": Fraction(1, 2)}) == [(Fraction(1), Fraction(1), False)]
    assert t.bound({"p": Fraction(1, 3)}) is None
    with pytest.raises(ProofError, match="no value"):
        t.bound({"q": Fraction(3, 4)})


def test_a_theorem_is_about_its_mechanism_only(t: Theorem) -> None:
    assert t.at(object()) is None


def test_a_lemma_covers_nothing_and_needs_a_step() -> None:
    lemma = Lemma(sentence="everything is private")
    assert lemma.at(object()) is None
    with pytest.raises(ProofError, match="single step"):
        assert lemma.statement


def test_an_admission_is_kept(t: Theorem) -> None:
    t.admit("a step", "a book")
    assert t.admissions == ["a step (a book)"]
