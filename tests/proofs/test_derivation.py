"""What a plan's proofs imply; and what a proof that concludes nothing does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from ldpaudit import derivation
from ldpaudit.certificates.certify import certify
from ldpaudit.errors import Unsupported
from ldpaudit.files.deployment import loads
from ldpaudit.mechanisms import KaryRandomizedResponse
from ldpaudit.plan import Repeat, Run
from ldpaudit.proofs import randomized_response
from ldpaudit.proofs._kernel import Lemma, Theorem

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


def without_costs() -> tuple[Theorem, ...]:
    t = Theorem(mechanism="KaryRandomizedResponse", sentence="k-ary randomized response")
    t.parametrize({}, {})
    t.equal(1, 1, "a step")
    return (t,)


def lemma() -> tuple[Lemma, ...]:
    t = Lemma(sentence="k-ary randomized response is 0-LDP")
    t.equal(1, 1, "a step")
    return (t,)


def dropped_case() -> tuple[Theorem, ...]:
    t = without_costs()[0]
    k, p = t.parameter("k"), t.parameter("p")
    excess, more = t.nonnegative("excess", "more")
    t.parametrize({"k": 2 + more, "p": (1 + excess) / (2 + excess + more)}, {excess: p * (k - 1) / (1 - p) - 1, more: k - 2})
    lie = 1 / (2 + excess + more)
    t.costs(1, {"y is neither": (more, lie, lie)})
    return (t,)


@pytest.mark.usefixtures("_unchecked")
@pytest.mark.parametrize("prove", [without_costs, lemma, dropped_case])
def test_a_proof_that_concludes_nothing_proves_nothing(prove: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomized_response, "prove", prove)
    with pytest.raises(Unsupported):
        derivation.derive(Run(M), "replace-one")
    (claim,) = certify(loads(DEPLOYMENT, "rr.toml"), trials=1000).claims
    assert not claim.proofs
    assert "theorem" not in claim.reason  # what another program checks is true without it


def test_only_a_theorem_about_the_whole_plan_says_that_no_epsilon_is_smaller() -> None:
    assert derivation.derive(Run(M), "replace-one").tight
    assert not derivation.derive(Repeat(Run(M), 2), "replace-one").tight
