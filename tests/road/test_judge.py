"""The judge's table, row by row."""

import ast
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from ldpaudit import Claim, Compose, Enclosure, Evidence, Guarantee, Repeat, Rigour, Run
from ldpaudit.errors import Contradiction
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import REPLACE_ONE
from ldpaudit.verdict import Derivation, Outcome, Proof, judge
from tests.helpers import ROOT, raises

RESPONSE = Run(KaryRandomizedResponse(k=2, p=Fraction(3, 4)))
CLAIM = Claim("c", RESPONSE, Fraction(1), Fraction(0), REPLACE_ONE)


def checked(proved: Fraction, admissions: tuple[str, ...] = (), theorem: str = "a theorem", tight: bool = False) -> Derivation:
    """A checked theorem that gives this epsilon."""
    return Derivation(theorem, Enclosure.of(proved, source="the proof"), 1, (), admissions, tight)


def valid_proof(epsilon: Fraction, delta: Fraction = Fraction(0), private: bool = True) -> Proof:
    """What a program without the accountants found, reduced to what the judge asks."""
    return Proof({"says": "private" if private else "not private"}, epsilon, delta, "a sentence")


def enclosure(low: float, high: float, rigour: Rigour = Rigour.INTERVAL) -> Enclosure:
    return Enclosure(low, high, rigour, "a theorem")


def evidence(epsilon: float, delta: float = 0.0, trials: int = 1000, guesses: int = 100) -> Evidence:
    return Evidence(epsilon, delta, 0.95, trials, trials, guesses, guesses, (0, 1), "{y = x}", 2, 0)


def claimed(epsilon: float = 1, delta: Fraction = Fraction(0), **more: str) -> Claim:
    return replace(CLAIM, epsilon=Fraction(epsilon), delta=delta, **more)  # type: ignore[arg-type]


TENTH, ONE, FLOAT = Fraction(1, 10), Fraction(1), Rigour.FLOAT
BOUND, BELOW, THEOREM = enclosure(0.9, 1.0), enclosure(0.8, 0.9), checked(ONE)
TABLE: dict[str, list[tuple[Any, ...]]] = {
    "a rigorous lower bound above the claim refutes it": [
        (CLAIM, [enclosure(1.1, 1.2)], [], [], None, Outcome.REFUTED, "false for these parameters")],
    "evidence above the claim refutes it": [
        (CLAIM, [enclosure(0.5, 1.2)], [evidence(1.1)], [], None, Outcome.REFUTED, "less private")],
    "a bound and a proof prove the claim": [(CLAIM, [BOUND], [evidence(0.9)], [], valid_proof(ONE), Outcome.PROVED, "")],
    "a theorem that no other program checked for these parameters is told and proves nothing": [
        (CLAIM, [BOUND], [], [THEOREM], None, Outcome.BOUNDED, "; theorem: a theorem$")],
    "a proof of less than the claim does not prove it": [
        (CLAIM, [BOUND], [], [], proof, Outcome.BOUNDED, "")
        for proof in (valid_proof(Fraction(11, 10)), valid_proof(ONE, TENTH), valid_proof(ONE, private=False))],
    "a refuted claim tells that another program refutes it too": [
        (CLAIM, [enclosure(1.1, 1.2)], [], [], valid_proof(ONE, private=False), Outcome.REFUTED,
         "; checked by another program: a sentence$")],
    "a proof of a larger delta than the claim's contradicts no bound": [
        (CLAIM, [BOUND], [], [], valid_proof(Fraction(4, 5), TENTH), Outcome.BOUNDED, "")],
    "a bound alone bounds the claim": [(CLAIM, [BOUND], [], [checked(Fraction(2))], None, Outcome.BOUNDED, "")],
    "otherwise the claim is undecided": [
        (CLAIM, [enclosure(0.9, 1.1)], [evidence(0.95)], [], None, Outcome.UNDECIDED, r"lies in \[0.9, 1.1.*\], and the samples"),
        (CLAIM, [], [], [THEOREM], None, Outcome.UNDECIDED, "no certified bound is known, and nothing was sampled")],
    "evidence at a smaller delta than the claim's says nothing of its certified bound": [
        (claimed(4, TENTH), [BOUND], [evidence(1.1, delta=0.05)], [], None, Outcome.BOUNDED, "")],
    "evidence at a smaller delta does not refute a claim that allows more": [
        (claimed(delta=TENTH), [], [evidence(2.0, delta=0.05)], [], None, Outcome.UNDECIDED, ""),
        (claimed(delta=TENTH), [], [evidence(2.0, delta=0.1)], [], None, Outcome.REFUTED, "")],
    "what is computed from the claim is assumed and never proved": [
        (claimed(taken="p is for_epsilon(1)'s"), [BOUND], [], [THEOREM], None, Outcome.ASSUMED,
         r"assuming that p is for_epsilon\(1\)'s; so the claim itself is assumed$")],
    "a proof that no epsilon is smaller contradicts a bound that is smaller at delta 0 alone": [
        (claimed(delta=TENTH), [BELOW], [], [checked(ONE, tight=True)], None, Outcome.BOUNDED, ""),
        (CLAIM, [BELOW], [], [THEOREM], None, Outcome.BOUNDED, "")],
    "a float enclosure contradicts none and never decides": [
        (CLAIM, [BELOW, enclosure(0.95, 1.0, FLOAT)], [], [], None, Outcome.BOUNDED, ""),
        (CLAIM, [enclosure(0.5, 0.6, FLOAT)], [], [THEOREM], None, Outcome.UNDECIDED, ""),
        (CLAIM, [enclosure(5.0, 6.0, FLOAT)], [], [], None, Outcome.UNDECIDED, "")],
    "a claim is read to a relative slack": [
        (CLAIM, [enclosure(1 + 5e-10, 1 + 6e-10)], [], [], None, Outcome.BOUNDED, ""),
        (CLAIM, [enclosure(1 + 2e-9, 1 + 3e-9)], [], [], None, Outcome.REFUTED, "")],
    "an admission is part of the reason": [
        (CLAIM, [BOUND], [], [checked(ONE, ("a step (a book)",))], None, Outcome.BOUNDED, r"admitting a step \(a book\)")],
}  # fmt: skip
CONTRADICTIONS: dict[str, tuple[Any, ...]] = {
    "a valid proof below a certified lower bound": (
        [BOUND], [], valid_proof(Fraction(4, 5)), r"'verify_certificate.py' gives epsilon <= 0\.8"),
    "a theorem below a certified lower bound": (
        [Enclosure(0.9, 1.0, Rigour.INTERVAL, "an enclosure")], [checked(Fraction(0), theorem="a proof")], None,
        r"'an enclosure' gives epsilon >= 0\.9, but 'a proof' gives epsilon <= 0;"),
    "a bound below what is proved to be the smallest": ([BELOW], [checked(ONE, tight=True)], None, "internal error"),
    "two enclosures that do not meet": ([BELOW, enclosure(0.95, 1.0)], [], None, "internal error"),
}  # fmt: skip


@pytest.mark.parametrize("law", TABLE)
def test_a_verdict_is_that_of_the_table(law: str) -> None:
    for claim, enclosures, seen, theorems, proof, outcome, says in TABLE[law]:
        verdict = judge(claim, enclosures, seen, theorems, proof=proof)
        assert verdict.outcome is outcome
        assert re.search(says, verdict.reason)


@pytest.mark.parametrize("law", CONTRADICTIONS)
def test_a_contradiction_is_an_internal_error_that_names_both(law: str) -> None:
    enclosures, theorems, proof, says = CONTRADICTIONS[law]
    raises(Contradiction, says, judge, CLAIM, enclosures, [], theorems, proof=proof)


@pytest.mark.parametrize("epsilon", [1, 4])
@pytest.mark.parametrize(("enclosures", "proofs"), [([BOUND], []), ([], [THEOREM])])
def test_evidence_above_what_is_certified_says_that_the_code_differs(
    epsilon: int, enclosures: list[Enclosure], proofs: list[Derivation]
) -> None:
    verdict = judge(claimed(epsilon), enclosures, [evidence(1.1)], proofs)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.code_differs
    assert "the code is not what is described" in verdict.reason
    assert "a theorem" not in verdict.reason
    assert not judge(claimed(epsilon), enclosures, [evidence(1.0)], proofs).code_differs
    floats = [enclosure(0.9, 1.0, FLOAT)]
    assert not judge(claimed(4), floats, [evidence(1.1)], []).code_differs, "a float bound says nothing of the code"


def test_a_theorem_covers_a_claim_by_its_upper_end() -> None:
    for high, covers in ((1.0, True), (1.1, False)):
        assert replace(THEOREM, epsilon=enclosure(0.9, high)).covers(CLAIM) is covers


def test_what_rests_on_a_guarantee_is_assumed_and_never_proved() -> None:
    guarantee = Guarantee(ONE)
    for plan, restates in ((guarantee, True), (Repeat(guarantee, 2), False), (Compose([RESPONSE, guarantee]), False)):
        verdict = judge(replace(CLAIM, plan=plan), [BOUND], [], [THEOREM])
        assert verdict.outcome is Outcome.ASSUMED
        assert "assuming that a part is 1-differentially private" in verdict.reason
        assert ("so the claim itself is assumed" in verdict.reason) == restates
    assert judge(replace(CLAIM, plan=guarantee), [enclosure(1.1, 1.2)], [], []).outcome is Outcome.REFUTED


@pytest.mark.parametrize("seen", [[], [evidence(0.0, guesses=0)], [evidence(0.0, trials=9)]])
def test_deployed_code_that_no_audit_could_refute_leaves_the_claim_undecided(seen: list[Evidence]) -> None:
    assert judge(CLAIM, [BOUND], seen, [THEOREM]).outcome is Outcome.BOUNDED
    verdict = judge(CLAIM, [BOUND], seen, [THEOREM], audited=True)
    assert verdict.outcome is Outcome.UNDECIDED
    assert "the deployed code was not tested" in verdict.reason
    assert judge(CLAIM, [BOUND], [evidence(0.0, trials=10)], [THEOREM], audited=True).outcome is Outcome.BOUNDED
    large = judge(claimed(10**4), [BOUND], [evidence(0.0)], [], audited=True)  # so large that no number of views refutes it
    assert large.outcome is Outcome.UNDECIDED
    assert large.reason.endswith("whatever the code does")


@pytest.mark.parametrize("bound", [0.5, 1.0, 1 + 5e-10, 1 + 2e-9, 2.0])
def test_evidence_refutes_an_epsilon_just_where_it_refutes_a_claim_of_it(bound: float) -> None:
    refuted = bound > 1 + 1e-9
    assert evidence(bound).refutes(CLAIM) == refuted
    assert [evidence(bound).refutes(epsilon) for epsilon in (Fraction(1), 1.0, 1)] == [refuted] * 3


def test_evidence_says_itself_whether_it_refutes_and_nobody_else_does() -> None:
    for file in (ROOT / "ldpaudit").rglob("*.py"):
        if {"accountants", "attacks", "proofs"} & set(file.relative_to(ROOT).parts) or file.name == "evidence.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Compare) and any(isinstance(op, ast.Gt | ast.GtE | ast.Lt | ast.LtE) for op in node.ops):
                compared = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
                assert "epsilon_lower" not in compared, f"{file.name}:{node.lineno} compares an evidence's bound"


def test_a_question_has_no_verdict() -> None:
    raises(ValueError, "needs a claim with an epsilon", judge, replace(CLAIM, epsilon=None), [], [], [])
