"""The judge's table, a row a test."""

from __future__ import annotations

import ast
from dataclasses import replace
from fractions import Fraction

import pytest

from ldpaudit.claim import Claim
from ldpaudit.enclosure import Enclosure, Rigour
from ldpaudit.errors import Contradiction
from ldpaudit.evidence import Evidence
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import REPLACE_ONE
from ldpaudit.plan import Compose, Guarantee, Repeat, Run
from ldpaudit.verdict import Derivation, Outcome, Proof, judge
from tests.helpers import ROOT

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


def test_a_rigorous_lower_bound_above_the_claim_refutes_it() -> None:
    verdict = judge(CLAIM, [enclosure(1.1, 1.2)], [], [])
    assert verdict.outcome is Outcome.REFUTED
    assert "false for these parameters" in verdict.reason


def test_evidence_above_the_claim_refutes_it() -> None:
    verdict = judge(CLAIM, [enclosure(0.5, 1.2)], [evidence(1.1)], [])
    assert verdict.outcome is Outcome.REFUTED
    assert "less private" in verdict.reason


def test_a_bound_and_a_proof_prove_the_claim() -> None:
    assert judge(CLAIM, [enclosure(0.9, 1.0)], [evidence(0.9)], [], proof=valid_proof(Fraction(1))).outcome is Outcome.PROVED


def test_a_theorem_that_no_other_program_checked_for_these_parameters_is_told_and_proves_nothing() -> None:
    verdict = judge(CLAIM, [enclosure(0.9, 1.0)], [], [checked(Fraction(1))])
    assert verdict.outcome is Outcome.BOUNDED
    assert verdict.reason.endswith("; theorem: a theorem")


@pytest.mark.parametrize(
    "valid",
    [valid_proof(Fraction(11, 10)), valid_proof(Fraction(1), Fraction(1, 10)), valid_proof(Fraction(1), private=False)],
)
def test_a_proof_of_less_than_the_claim_does_not_prove_it(valid: Proof) -> None:
    assert judge(CLAIM, [enclosure(0.9, 1.0)], [], [], proof=valid).outcome is Outcome.BOUNDED


def test_a_refuted_claim_tells_that_another_program_refutes_it_too() -> None:
    verdict = judge(CLAIM, [enclosure(1.1, 1.2)], [], [], proof=valid_proof(Fraction(1), private=False))
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.reason.endswith("; checked by another program: a sentence")


def test_a_valid_proof_below_a_certified_lower_bound_is_an_internal_error() -> None:
    with pytest.raises(Contradiction, match=r"'verify_certificate.py' gives epsilon <= 0\.8"):
        judge(CLAIM, [enclosure(0.9, 1.0)], [], [], proof=valid_proof(Fraction(4, 5)))
    judge(CLAIM, [enclosure(0.9, 1.0)], [], [], proof=valid_proof(Fraction(4, 5), Fraction(1, 10)))


def test_a_bound_alone_bounds_the_claim() -> None:
    assert judge(CLAIM, [enclosure(0.9, 1.0)], [], [checked(Fraction(2))]).outcome is Outcome.BOUNDED


def test_otherwise_the_claim_is_undecided() -> None:
    assert judge(CLAIM, [enclosure(0.9, 1.1)], [evidence(0.95)], []).outcome is Outcome.UNDECIDED
    assert judge(CLAIM, [], [], [checked(Fraction(1))]).outcome is Outcome.UNDECIDED


@pytest.mark.parametrize("claimed", [1, 4])
@pytest.mark.parametrize(("enclosures", "proofs"), [([enclosure(0.9, 1.0)], []), ([], [checked(Fraction(1))])])
def test_evidence_above_what_is_certified_says_that_the_code_is_not_what_is_described_whatever_is_claimed(
    claimed: int, enclosures: list[Enclosure], proofs: list[Derivation]
) -> None:
    claim = replace(CLAIM, epsilon=Fraction(claimed))
    verdict = judge(claim, enclosures, [evidence(1.1)], proofs)
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.code_differs
    assert "the code is not what is described" in verdict.reason
    assert "a theorem" not in verdict.reason
    assert not judge(claim, enclosures, [evidence(1.0)], proofs).code_differs


def test_evidence_at_a_smaller_delta_than_the_claims_says_nothing_of_its_certified_bound() -> None:
    claim = replace(CLAIM, epsilon=Fraction(4), delta=Fraction(1, 10))
    assert judge(claim, [enclosure(0.9, 1.0)], [evidence(1.1, delta=0.05)], []).outcome is Outcome.BOUNDED


def test_a_float_bound_says_nothing_of_the_code() -> None:
    claim = replace(CLAIM, epsilon=Fraction(4))
    assert not judge(claim, [enclosure(0.9, 1.0, Rigour.FLOAT)], [evidence(1.1)], []).code_differs


def test_what_rests_on_a_guarantee_is_assumed_and_never_proved() -> None:
    guarantee = Guarantee(Fraction(1))
    for plan, restates in ((guarantee, True), (Repeat(guarantee, 2), False), (Compose([RESPONSE, guarantee]), False)):
        verdict = judge(replace(CLAIM, plan=plan), [enclosure(0.9, 1.0)], [], [checked(Fraction(1))])
        assert verdict.outcome is Outcome.ASSUMED
        assert "assuming that a part is 1-differentially private" in verdict.reason
        assert ("so the claim itself is assumed" in verdict.reason) == restates
    assert judge(replace(CLAIM, plan=guarantee), [enclosure(1.1, 1.2)], [], []).outcome is Outcome.REFUTED


def test_what_is_computed_from_the_claim_is_assumed_and_never_proved() -> None:
    verdict = judge(replace(CLAIM, taken="p is for_epsilon(1)'s"), [enclosure(0.9, 1.0)], [], [checked(Fraction(1))])
    assert verdict.outcome is Outcome.ASSUMED
    assert verdict.reason.endswith("assuming that p is for_epsilon(1)'s; so the claim itself is assumed")


@pytest.mark.parametrize("seen", [[], [evidence(0.0, guesses=0)], [evidence(0.0, trials=9)]])
def test_deployed_code_that_no_audit_could_refute_leaves_the_claim_undecided(seen: list[Evidence]) -> None:
    known = [enclosure(0.9, 1.0)], seen, [checked(Fraction(1))]
    assert judge(CLAIM, *known).outcome is Outcome.BOUNDED
    verdict = judge(CLAIM, *known, audited=True)
    assert verdict.outcome is Outcome.UNDECIDED
    assert "the deployed code was not tested" in verdict.reason


def test_a_claim_so_large_that_no_number_of_views_refutes_it_is_undecided_of_deployed_code() -> None:
    claim = replace(CLAIM, epsilon=Fraction(10**4))
    verdict = judge(claim, [enclosure(0.9, 1.0)], [evidence(0.0)], [], audited=True)
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.reason.endswith("whatever the code does")


def test_deployed_code_that_an_audit_could_have_refuted_is_decided_by_what_is_known_of_the_mechanism() -> None:
    verdict = judge(CLAIM, [enclosure(0.9, 1.0)], [evidence(0.0, trials=10)], [checked(Fraction(1))], audited=True)
    assert verdict.outcome is Outcome.BOUNDED


def test_a_proof_below_a_certified_lower_bound_is_an_internal_error_that_names_both() -> None:
    with pytest.raises(Contradiction, match=r"'an enclosure' gives epsilon >= 0\.9, but 'a proof' gives epsilon <= 0;"):
        judge(CLAIM, [Enclosure(0.9, 1.0, Rigour.INTERVAL, "an enclosure")], [], [checked(Fraction(0), theorem="a proof")])


def test_a_proof_that_no_epsilon_is_smaller_contradicts_a_bound_that_is_smaller_at_delta_0_alone() -> None:
    tight = checked(Fraction(1), tight=True)
    with pytest.raises(Contradiction, match="internal error"):
        judge(CLAIM, [enclosure(0.8, 0.9)], [], [tight])
    assert judge(replace(CLAIM, delta=Fraction(1, 10)), [enclosure(0.8, 0.9)], [], [tight]).outcome is Outcome.BOUNDED
    assert judge(CLAIM, [enclosure(0.8, 0.9)], [], [checked(Fraction(1))]).outcome is Outcome.BOUNDED


def test_two_enclosures_of_one_number_that_do_not_meet_are_an_internal_error() -> None:
    with pytest.raises(Contradiction):
        judge(CLAIM, [enclosure(0.8, 0.9), enclosure(0.95, 1.0)], [], [])
    floats = [enclosure(0.8, 0.9), enclosure(0.95, 1.0, Rigour.FLOAT)]
    assert judge(CLAIM, floats, [], []).outcome is Outcome.BOUNDED


def test_a_float_enclosure_never_decides() -> None:
    assert judge(CLAIM, [enclosure(0.5, 0.6, Rigour.FLOAT)], [], [checked(Fraction(1))]).outcome is Outcome.UNDECIDED
    assert judge(CLAIM, [enclosure(5.0, 6.0, Rigour.FLOAT)], [], []).outcome is Outcome.UNDECIDED


def test_a_claim_is_read_to_a_relative_slack() -> None:
    assert judge(CLAIM, [enclosure(1 + 5e-10, 1 + 6e-10)], [], []).outcome is Outcome.BOUNDED
    assert judge(CLAIM, [enclosure(1 + 2e-9, 1 + 3e-9)], [], []).outcome is Outcome.REFUTED


def test_evidence_at_a_smaller_delta_does_not_refute_a_claim_that_allows_more() -> None:
    generous = Claim("c", CLAIM.plan, CLAIM.epsilon, Fraction(1, 10), REPLACE_ONE)
    assert judge(generous, [], [evidence(2.0, delta=0.05)], []).outcome is Outcome.UNDECIDED
    assert judge(generous, [], [evidence(2.0, delta=0.1)], []).outcome is Outcome.REFUTED


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


def test_an_admission_is_part_of_the_reason() -> None:
    proved = judge(CLAIM, [enclosure(0.9, 1.0)], [], [checked(Fraction(1), ("a step (a book)",))])
    assert "admitting a step (a book)" in proved.reason


def test_a_question_has_no_verdict() -> None:
    question = Claim("c", CLAIM.plan, None, Fraction(0), REPLACE_ONE)
    with pytest.raises(ValueError, match="needs a claim with an epsilon"):
        judge(question, [], [], [])
