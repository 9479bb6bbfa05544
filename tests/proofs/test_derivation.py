"""What a plan's proofs imply; and what a proof that concludes nothing does not."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from sympy import Integer, Rational, Symbol

from ldpaudit import Repeat, Run, certify, derivation
from ldpaudit.errors import Contradiction, Unsupported
from ldpaudit.files.deployment import loads
from ldpaudit.mechanisms import KaryRandomizedResponse
from ldpaudit.proofs import _kernel, randomized_response
from ldpaudit.proofs._algebra import nonnegative, share
from ldpaudit.proofs._kernel import Law, Noise, Part, Theorem
from ldpaudit.proofs._parameters import bit, response as answers
from ldpaudit.proofs._steps import Steps
from tests.helpers import raises

M = KaryRandomizedResponse(4, Fraction(1, 2))
KNOWN, APART, _, RATIO = answers()
K, P, LIE = KNOWN["fields"]["k"], KNOWN["fields"]["p"], APART["y is neither"][1]
DEPLOYMENT = """
schema = "ldpaudit.deployment/1"
id = "rr"
title = "RR"
mechanism = {kind = "randomized_response", k = 4, p = "1/2"}
claims = [{id = "one", epsilon = "log(3)", delta = 0, neighbours = "replace-one", unit = "report", source = "a test"}]
"""


@pytest.fixture
def _unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    for remembered in ("_run", "_checked"):
        monkeypatch.setattr(derivation, remembered, cache(getattr(derivation, remembered).__wrapped__))


def response(*parts: Any, **more: Any) -> Theorem:
    """A theorem that randomized response costs what these parts do."""
    return Theorem(mechanism="KaryRandomizedResponse", sentence="k-ary randomized response", parts=parts, **{**KNOWN, **more})


def steps() -> Steps:
    t = Steps("k-ary randomized response is 0-LDP")
    t.equal(1, 1, "a step")
    return t


def cost(law: Law, ratio: Any = 1, times: Any = 1) -> Theorem:
    """It costs log(ratio), says a law in k, p and a lie's share."""
    return response(Part(ratio, [law], times))


def one_direction() -> Theorem:
    """Two of one kind may not be matched with one of the other: log(729/25) for log(225), in the first edition."""
    quarter, third = Rational(1, 4), Rational(1, 3)
    up, down = Rational(9, 8), Rational(4, 3)
    return response(Part(up, [bit(quarter, third)], 2, down), Part(down, [bit(third, quarter)], 1, up))


def never_together() -> Theorem:
    """Attained at s = 1 and at s = 0: log 4 for log(9/4), in the first edition."""
    (s,) = share("s")
    laws = (bit(P * kept + LIE * (1 - kept), LIE, "y = x", "else") for kept in (s, 1 - s))
    return response(*(Part(RATIO, [law, {name: (b, a) for name, (a, b) in law.items()}]) for law in laws), worst={s: 1}, tight="")


def fewer_parts(relation: str = "replace-one") -> Theorem:
    """What all parts cost is not stated beside them: there is no part for an answer, or for other neighbours' alone."""
    return response(*([] if relation == "replace-one" else [Part(1, [APART])]), relation=relation)


def hidden_pole() -> Theorem:
    (x,) = nonnegative("x")
    return response(Part(1, [{"any": (1, 1)}]), identities={"but at 1": ((x**2 - 1) / (x - 1), x + 1)})


def wrong_branch() -> Theorem:
    (x,), p = nonnegative("x"), Symbol("p")
    known = {"fields": {"p": (1 + x) / (2 + x)}, "recover": {x: -1 / (1 - p) + 2}}
    return response(Part(1, [{"any": (1, 1)}]), **known)


def appended() -> Theorem:
    t = response(Part(RATIO, [APART]))
    object.__setattr__(t, "parts", [Part(Integer(1), [{"any": (1, 1)}])])
    return t


def patched() -> Theorem:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "at_most", lambda *given: "true")
        return cost(APART)


ALIKE = "y is one of the two"
FALSE: dict[str, Callable[[], Any]] = {
    "no cost": response,
    "a lemma": steps,
    "a case is dropped": lambda: cost({"y is neither": (K - 2, LIE, LIE)}),
    "a law of one cell": lambda: cost({"any": (1, 1)}),
    "equal inputs": lambda: cost({"y = x": (P, P), "y is another": (1 - P, 1 - P)}),
    "a loss of 0": lambda: response(Noise(Integer(0), Integer(0))),
    "cells that are not told apart": lambda: cost({ALIKE: (P + LIE, P + LIE), "y is neither": (K - 2, LIE, LIE)}),
    "a coin of its own": lambda: cost(bit(Rational(1, 2), Rational(1, 2))),
    "a law of another mechanism": lambda: cost(bit(Rational(2, 3), Rational(1, 3)), 2),
    "a negative number of parts": lambda: cost({"any": (1, 1)}, 3, -1),
    "a number of parts that may be 0": lambda: cost({"any": (1, 1)}, 3, Symbol("k") - 4),
    "one direction": one_direction,
    "never attained together": never_together,
    "a sum of fewer parts": fewer_parts,
    "a sum for other neighbours": lambda: fewer_parts("add-remove"),
    "a hidden pole": hidden_pole,
    "a wrong branch": wrong_branch,
    "a part by hand": appended,
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
    raises(Unsupported, "", derivation.derive, Run(M), "replace-one")


def test_only_a_theorem_about_the_whole_plan_says_that_no_epsilon_is_smaller() -> None:
    assert derivation.derive(Run(M), "replace-one").tight
    assert not derivation.derive(Repeat(Run(M), 2), "replace-one").tight
