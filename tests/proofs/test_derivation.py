"""What a plan's proofs imply; and what a proof that concludes nothing does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from sympy import Expr, Integer, Rational, Symbol

from ldpaudit import derivation
from ldpaudit.certificates.certify import certify
from ldpaudit.errors import Contradiction, Unsupported
from ldpaudit.files.deployment import loads
from ldpaudit.mechanisms import KaryRandomizedResponse
from ldpaudit.plan import Repeat, Run
from ldpaudit.proofs import randomized_response
from ldpaudit.proofs._kernel import Lemma, Theorem
from ldpaudit.proofs._laws import Factor, Law

M = KaryRandomizedResponse(4, Fraction(1, 2))
DEPLOYMENT = """
schema = "ldpaudit.deployment/1"
id = "rr"
title = "RR"
mechanism = {kind = "randomized_response", k = 4, p = "1/2"}
claims = [{id = "one", epsilon = "log(3)", delta = 0, neighbours = "replace-one", unit = "report", source = "a test"}]
"""


@pytest.fixture
def _unchecked() -> Iterator[None]:
    derivation._checked.cache_clear()
    yield
    derivation._checked.cache_clear()


def response(relation: str = "replace-one") -> tuple[Theorem, Expr, Expr, Expr, Expr]:
    """A theorem about randomized response that concludes nothing yet; answers, p, a lie's share, and the ratio in fields."""
    t = Theorem(mechanism="KaryRandomizedResponse", sentence="k-ary randomized response", relation=relation)
    return (t, *t.response())


def lemma() -> Lemma:
    t = Lemma(sentence="k-ary randomized response is 0-LDP")
    t.equal(1, 1, "a step")
    return t


def cost(law: Callable[..., Law], ratio: Any = 1, times: Any = 1) -> Theorem:
    """It costs log(ratio), says a law in k, p and a lie's share."""
    t, k, p, lie, _ = response()
    t.costs(ratio, law(k, p, lie), times=times)
    return t


def one_direction() -> Theorem:
    """Two of one kind may not be matched with one of the other: log(729/25) for log(225), in the first edition."""
    t, *_ = response()
    quarter, third = Rational(1, 4), Rational(1, 3)
    one_way, other = {"a": (quarter, third), "b": (1 - quarter, 1 - third)}, {"a": (third, quarter), "b": (1 - third, 1 - quarter)}
    for ratio, law in ((Rational(9, 8), one_way), (Rational(9, 8), one_way), (Rational(4, 3), other)):
        t.costs(ratio, law)
    return t


def never_together() -> Theorem:
    """Attained at s = 1 and at s = 0: log 4 for log(9/4), in the first edition."""
    t, _, p, lie, ratio = response()
    (s,) = t.share("s")
    for at in (0, 1):
        kept = s if at else 1 - s
        law = {"y = x": (p * kept + lie * (1 - kept), lie), "else": (1 - p * kept - lie * (1 - kept), 1 - lie)}
        t.costs(ratio, law, {name: (b, a) for name, (a, b) in law.items()}, at={s: at})
    t.attained("at s = 1 and at s = 0")
    return t


def loss_of_0() -> Theorem:
    t, *_ = response()
    t.loses(Integer(0), Integer(1), 0, 0)
    return t


def fewer_parts(relation: str = "replace-one") -> Theorem:
    parts, k, p, lie, ratio = response(relation)
    parts.costs(ratio, {"y = x": (p, lie), "y = x'": (lie, p), "y is neither": (k - 2, lie, lie)})
    t, *_ = response()
    t.assume("an answer costs as much")
    t.sums(Integer(0), parts, [] if relation == "replace-one" else [(1, Integer(0))])
    return t


def hidden_pole() -> Theorem:
    t, *_ = response()
    (x,) = t.nonnegative("x")
    t.equal((x**2 - 1) / (x - 1), x + 1, "but at 1")
    return cost(lambda k, p, lie: {"any": (1, 1)})


def wrong_branch() -> Theorem:
    t = Theorem(mechanism="KaryRandomizedResponse", sentence="k-ary randomized response")
    (x,), p = t.nonnegative("x"), t.parameter("p")
    t.parametrize({"p": (1 + x) / (2 + x)}, {x: -1 / (1 - p) + 2})
    return t


def appended() -> Theorem:
    t, *_ = response()
    t.factors.append(Factor(Integer(1), Integer(1), ((), ()), attained=True, both_ways=True))
    return t


def patched() -> Theorem:
    t, k, p, lie, _ = response()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Theorem, "holds", lambda *given: True)
        t.costs(1, {"y = x": (p, lie), "y = x'": (lie, p), "y is neither": (k - 2, lie, lie)})
    return t


ALIKE = "y is one of the two"
FALSE: dict[str, Callable[[], Any]] = {
    "no cost": lambda: response()[0],
    "a lemma": lemma,
    "a case is dropped": lambda: cost(lambda k, p, lie: {"y is neither": (k - 2, lie, lie)}),
    "a law of one cell": lambda: cost(lambda k, p, lie: {"any": (1, 1)}),
    "equal inputs": lambda: cost(lambda k, p, lie: {"y = x": (p, p), "y is another": (1 - p, 1 - p)}),
    "a loss of 0": loss_of_0,
    "cells that are not told apart": lambda: cost(
        lambda k, p, lie: {ALIKE: (p + lie, p + lie), "y is neither": (k - 2, lie, lie)}
    ),
    "a coin of its own": lambda: cost(lambda k, p, lie: {"heads": (Rational(1, 2),) * 2, "tails": (Rational(1, 2),) * 2}),
    "a law of another mechanism": lambda: cost(
        lambda k, p, lie: {"1": (Rational(2, 3), Rational(1, 3)), "0": (Rational(1, 3), Rational(2, 3))}, 2
    ),
    "a negative number of parts": lambda: cost(lambda k, p, lie: {"any": (1, 1)}, 3, -1),
    "a number of parts that may be 0": lambda: cost(lambda k, p, lie: {"any": (1, 1)}, 3, Symbol("k") - 4),
    "one direction": one_direction,
    "never attained together": never_together,
    "a sum of fewer parts": fewer_parts,
    "a sum for other neighbours": lambda: fewer_parts("add-remove"),
    "a hidden pole": hidden_pole,
    "a wrong branch": wrong_branch,
    "a factor by hand": appended,
    "a patched kernel": patched,
}
"""Proofs that randomized response costs less than it does, or nothing; most of them a kernel of before accepted."""


@pytest.mark.usefixtures("_unchecked")
@pytest.mark.parametrize("name", FALSE)
def test_a_false_proof_states_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused step by step, or what it states contradicts what the law costs, which is an error that names both."""
    monkeypatch.setattr(randomized_response, "prove", lambda: (FALSE[name](),))
    contradicted = ""
    try:
        (claim,) = certify(loads(DEPLOYMENT, "rr.toml"), trials=1000).claims
    except Contradiction as error:
        contradicted = str(error)
    if contradicted:
        assert "k-ary randomized response is private with epsilon = " in contradicted
        return
    assert not claim.proofs
    assert "theorem" not in claim.reason  # what another program checks is true without it
    with pytest.raises(Unsupported):
        derivation.derive(Run(M), "replace-one")


def test_only_a_theorem_about_the_whole_plan_says_that_no_epsilon_is_smaller() -> None:
    assert derivation.derive(Run(M), "replace-one").tight
    assert not derivation.derive(Repeat(Run(M), 2), "replace-one").tight
