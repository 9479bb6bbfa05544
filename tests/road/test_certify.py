"""The main road, end to end."""

import json
import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import ldpaudit as ldp
from ldpaudit.certificates.certificate import Certificate
from ldpaudit.certificates.certify import claim_seed, verify
from ldpaudit.certificates.exhibits import exhibits
from ldpaudit.certificates.parallel import ask, certify_all
from ldpaudit.certificates.risk import Risk, risk
from ldpaudit.derivation import derive
from ldpaudit.files.deployment import load, loads
from ldpaudit.report import html
from ldpaudit.report.text import plain, sight, summary
from ldpaudit.verdict import Outcome, judge
from tests.helpers import COIN, ROOT, deployment, raises, slow, some

FOLDER = ROOT / "deployments"
TRIALS = 20_000
FILE = deployment(COIN.replace('"3/4"', "{true}"), 'id = "c"\nepsilon = {claimed}', "example", "{implementation}\n")


def deployed(true: int = 1, claimed: object = 1, implementation: str = "") -> str:
    """A file whose probabilities are stated, not computed from a claim."""
    table = f'[implementation]\ncallable = "{implementation}"' if implementation else ""
    p = ldp.mechanisms.KaryRandomizedResponse.for_epsilon(true, k=2).p
    return FILE.format(true=f'"{p}"', claimed=claimed, implementation=table)


@cache
def certify(true: int = 1, claimed: object = 1, implementation: str = "", seed: int = 0, trials: int = TRIALS) -> Certificate:
    return ldp.certify(loads(deployed(true, claimed, implementation)), seed=seed, trials=trials)


def leaky(x: int, size: int, rng: np.random.Generator) -> object:
    """Declared at epsilon = 1, coded at 2."""
    return ldp.mechanisms.KaryRandomizedResponse.for_epsilon(2, k=2).sample(x, size, rng)


def test_a_true_claim_is_proved() -> None:
    certificate = certify()
    assert certificate.verdict is Outcome.PROVED
    (claim,) = certificate.claims
    assert some(claim.enclosure).high == 1.0
    assert claim.proofs[0].steps > 0
    assert claim.evidence is not None
    assert claim.evidence.detectable is not None
    sentence = claim.evidence.read().resolution
    assert sentence.startswith("on this event alone, an epsilon of")
    assert sentence == claim.evidence.resolution
    assert sentence in sight(claim)
    assert sentence in html.page(certificate)


def test_a_false_claim_is_refuted_and_a_question_answered_also_of_code_that_makes_one_report_a_call() -> None:
    (claim,) = certify(true=2).claims
    assert claim.verdict is Outcome.REFUTED
    assert "false for these parameters" in claim.reason
    assert certify(implementation="tests.road.forgeries:honest").verdict is Outcome.PROVED
    (claim,) = certify(true=2, claimed='"?"').claims
    assert claim.verdict is Outcome.PROVED
    assert claim.asked
    assert claim.reason.startswith("epsilon <= 2 by")


def test_of_code_that_is_measured_above_what_is_certified_no_bound_proof_or_risk_is_said_whatever_is_claimed() -> None:
    certificate = certify(claimed=4, implementation=f"{__name__}:leaky")
    (claim,) = certificate.claims
    assert claim.verdict is Outcome.REFUTED
    assert "the code is not what is described" in claim.reason
    assert (claim.enclosure, claim.proofs, claim.risk, claim.certified) == (None, (), None, "-")
    assert exhibits(certificate)["c"].curve == ()
    page = html.page(certificate, exhibits(certificate))
    assert "k-ary randomized response: log" not in page
    assert "What the numbers mean for a user" not in page
    assert verify(Certificate.from_json(certificate.to_json())) == []


def test_that_the_code_differs_makes_no_claim_false_and_is_on_record_nowhere() -> None:
    text = deployed(claimed=4, implementation=f"{__name__}:leaky")
    for claimed, false in ((text.replace("epsilon = 4", "epsilon = 1.01"), True), (text, False)):
        certificate = ldp.certify(loads(f'{claimed}expect = "refuted"'), trials=TRIALS)
        (claim,) = certificate.claims
        assert claim.code_differs
        assert ("This is false." in plain(claim)) is false
        assert claim.as_recorded is false
        assert "The code is not what is described: " in " ".join(summary([certificate]))


@pytest.mark.parametrize("code", [f"{__name__}:leaky", "tests.road.forgeries:honest"])
def test_code_that_too_few_views_tested_leaves_the_claim_undecided(code: str) -> None:
    certificate = certify(implementation=code, trials=16)
    assert certificate.verdict is Outcome.UNDECIDED
    assert "16 views are too few to refute the claim, whatever the code does" in certificate.claims[0].reason
    assert verify(certificate) == []
    assert certify(trials=16).verdict is Outcome.PROVED


def in_the_clear(x: int, size: int, rng: np.random.Generator) -> object:
    return np.full(size, x)


@pytest.mark.parametrize("delta", ["0", "1/10"])
@pytest.mark.parametrize("trials", [16, 24, 28, 32, 50, 60])
def test_no_number_of_views_shows_an_answer_in_the_clear_to_be_private(trials: int, delta: str) -> None:
    assert clear(delta, trials) in (Outcome.REFUTED, Outcome.UNDECIDED)


def clear(delta: str, trials: int) -> Outcome:
    """The verdict on code that tells the value itself."""
    text = deployed(implementation=f"{__name__}:in_the_clear")
    (claim,) = ldp.certify(loads(f'{text}delta = "{delta}"'), trials=trials).claims
    return claim.verdict


def test_code_is_refuted_at_the_claims_delta_whichever_way_that_rounds() -> None:
    assert [clear(delta, 2_000) for delta in ("1e-5", "1e-6", "1/3", "1e-12")] == [Outcome.REFUTED] * 4


def test_a_claim_of_the_epsilon_that_the_parameters_are_computed_from_is_assumed() -> None:
    text = deployed().replace("p = ", "epsilon = 1 # ")
    certificate = ldp.certify(loads(text), trials=TRIALS)
    assert certificate.verdict is Outcome.ASSUMED
    assert certificate.claims[0].reason.endswith("so the claim itself is assumed")
    assert "0 of 1 claims hold, 0 do not, 0 are undecided, 1 rest on assumptions" in summary([certificate])[0]
    assert verify(certificate) == []
    assert ldp.certify(loads(text.replace("epsilon = 1\n", "epsilon = 1.5\n")), trials=TRIALS).verdict is Outcome.PROVED


COMPUTED = """
schema = "ldpaudit.deployment/1"
id = "computed"
{tables}
[[claims]]
id = "c"
epsilon = {claimed}
{about}
"""
RESPONSE = '[mechanism]\nkind = "randomized_response"\nepsilon = 1\nk = 3\n'
KEPT = f"{RESPONSE}[contribution]\nmemoized = true\n[epochs]\ncount = 9\nwindow = 3\nwindow_answers = 3\nlifetime_answers = 9\n"


@pytest.mark.parametrize(("tables", "claimed", "about"), [
    (f"{RESPONSE}[shuffle]\nusers = 20", "1", ""),
    (RESPONSE, "2", 'neighbours = "group-of-2"'),
    (RESPONSE, "1.0000000000000002", ""),
    (KEPT, "3", 'unit = "window"\nneighbours = "same-pattern"'),
    slow('[mechanism]\nkind = "one_bit"\nepsilon = 1\ngamma = "1/5"\n[contribution]\nmemoized = true', "1", 'unit = "lifetime"'),
    ('[mechanism]\nkind = "sign_oracle"\nepsilon = 1\nusers = 9\ndomain = 4\n[shuffle]\nusers = 9', "1", ""),
])  # fmt: skip
def test_a_claim_that_is_computed_from_is_assumed_of_groups_streams_and_idle_shufflers(
    tables: str, claimed: str, about: str
) -> None:
    (claim,) = ldp.certify(loads(COMPUTED.format(tables=tables, claimed=claimed, about=about)), trials=TRIALS).claims
    assert claim.verdict is Outcome.ASSUMED


def test_what_follows_from_a_guarantee_is_assumed_and_an_answer_says_so() -> None:
    certificate = ldp.certify("apple-lookup-hints", trials=TRIALS)
    assert [claim.verdict for claim in certificate.claims] == [Outcome.ASSUMED, Outcome.ASSUMED, Outcome.UNDECIDED]
    assert certificate.claims[0].assumptions == ("a part is 4-differentially private",)
    page = html.page(certificate, exhibits(certificate))
    for said in ("assumed, not shown", "If the assumption is true, an", "assumed at most 8", "(user-day, as assumed)"):
        assert said in page
    assert "certified at most" not in page
    undecided = certificate.claims[2]
    assert undecided.assumptions == ("a part is 4-differentially private",)
    assert "epsilon lies in [0, 8], assuming that a part is 4-differentially private, and nothing was sampled" in undecided.reason
    assert page.count("If the assumption is true, an adversary who sees") == len(certificate.claims)
    assert "Assuming that a part is 4-differentially private, at this delta an epsilon of 8 holds" in page
    assert [claim.outcome for claim in certificate.claims] == ["answered, ASSUMED", "ASSUMED", "UNDECIDED"]


def test_of_a_mechanism_without_a_finite_epsilon_a_claim_and_a_question_say_so_in_words() -> None:
    claims = "".join(f'[[claims]]\nid = "{name}"\nepsilon = {epsilon}\n' for name, epsilon in (("made", "8"), ("asked", '"?"')))
    mechanism = 'mechanism = {kind = "channel", matrix = [[1, 0], [0, 1]]}'
    text = f'schema = "ldpaudit.deployment/1"\nid = "a"\nsources = []\n{mechanism}\n{claims}'
    certificate = ldp.certify(loads(text), trials=1000)
    made, asked = certificate.claims
    assert made.reason.startswith("the claim is false for these parameters: no finite epsilon holds, by")
    assert (asked.verdict, asked.outcome) == (Outcome.BOUNDED, "answered: infinite")
    assert asked.reason.startswith("no finite epsilon holds below delta = 1, by")
    assert "1 questions are answered." in summary([certificate])[0]
    assert not any("No answer is certified" in line for line in summary([certificate]))


def test_the_same_seed_gives_the_same_certificate_and_a_claims_depends_on_its_names_only() -> None:
    assert certify(seed=5).to_json() == certify.__wrapped__(seed=5).to_json()
    assert certify(seed=5).claims[0].evidence != certify(seed=6).claims[0].evidence
    assert claim_seed(1, "d", "c") == claim_seed(1, "d", "c")
    assert len({claim_seed(s, d, c) for s in (0, 1) for d in ("d", "e") for c in ("c", "f")}) == 8


def test_a_certificate_reads_back_as_it_was_written_with_infinities_and_exact_numbers_beside_floats(tmp_path: Path) -> None:
    certificate = certify()
    (tmp_path / "c.json").write_text(certificate.to_json())
    again = Certificate.load(tmp_path / "c.json")
    assert (again, again.digest) == (certificate, certificate.digest)
    assert verify(again) == []
    infinite = some(again.claims[0].enclosure).model_copy(update={"high": float("inf")})
    assert type(infinite).model_validate(infinite.model_dump(mode="json")) == infinite
    assert json.loads(again.to_json())["schema"] == "ldpaudit.certificate/1"
    claim = json.loads(certify(claimed='"ln(3)"').to_json())["claims"][0]
    assert claim["epsilon_number"] == float(Fraction(claim["epsilon"])) == pytest.approx(1.0986122886681098, rel=1e-15)
    assert (claim["delta"], claim["delta_number"]) == ("0", 0.0)
    asked = json.loads(certify(claimed='"?"').to_json())["claims"][0]
    assert asked["epsilon"] is None
    assert "epsilon_number" not in asked


def test_what_a_profile_means_for_a_user_stands_beside_the_claim_exactly_and_as_a_number() -> None:
    said = json.loads(certify().to_json())["claims"][0]["risk"]
    assert said["guess"]["low"] <= 1 / (1 + math.exp(-1)) <= said["guess"]["high"]
    for key, each in [*(("false_positive", e) for e in said["true_positive"]), *(("prior", e) for e in said["posterior"])]:
        assert each[f"{key}_number"] == float(Fraction(each[key]))
        assert each["low"] <= each["high"]
    assert [each["false_positive"] for each in said["true_positive"]] == ["1/100", "1/1000"]
    (claim,) = certify().claims
    kept = Risk.of(some(claim.risk))
    assert kept == risk(ldp.account(ldp.mechanisms.KaryRandomizedResponse.for_epsilon(1, k=2)))
    assert kept.record == claim.risk


def test_a_page_shows_every_claim_with_the_risks_that_the_certificate_says_and_needs_nothing_else() -> None:
    certificate = certify()
    (claim,) = certificate.claims
    risk_of = some(claim.risk)
    other = risk_of.model_copy(update={"guess": risk_of.guess.model_copy(update={"low": 0.875, "high": 0.875})})
    told = certificate.model_copy(update={"claims": (claim.model_copy(update={"risk": other}),)})
    assert "87.5\N{NO-BREAK SPACE}%" in html.page(told, exhibits(told))
    page = html.page(certify(true=2))
    assert "REFUTED" in page
    assert "claimed 1" in page
    assert "http" not in page.replace("http-equiv", "")


def test_proofs_put_together_add_up_along_a_plan() -> None:
    m = ldp.mechanisms.KaryRandomizedResponse.for_epsilon(Fraction(1, 2), k=3)
    three = derive(ldp.Repeat(m, 3), "replace-one")
    assert 1.5 in three.epsilon or three.epsilon.high == pytest.approx(1.5, rel=1e-12)
    both = derive(ldp.PostProcess(ldp.Compose([m, ldp.Repeat(m, 2)]), "sum"), "replace-one")
    assert both.epsilon == three.epsilon
    assert "post-processing never increases epsilon" in both.theorem
    raises(ldp.Unsupported, "", derive, ldp.Guarantee(Fraction(1)), "replace-one")


def test_any_number_of_processes_gives_the_same_certificates() -> None:
    files = [FOLDER / "enpa-notification.toml", FOLDER / "attribution-event.toml"]
    alone = [ldp.certify(f, trials=2_000).to_json() for f in files]
    for jobs in (1, 2):
        found = certify_all([ask(f) for f in files], 0, 2_000, 0.999, jobs)
        assert [c.to_json() for c in found if isinstance(c, Certificate)] == alone


LONG = (
    "dap-hedge", "dap-histogram-5", "dap-histogram-6-5", "dap-histogram-7", "enpa-prio", "enpa-prio-notification",
    "ipa-binomial", "shuffled-dictionary", "shuffled-randomized-response", "shuffled-rappor",
)  # fmt: skip
"""Bundled deployments whose risks and proofs take seconds; in the main run their bounds alone are judged."""
FILES = sorted(FOLDER.glob("*.toml"))


@pytest.mark.few(6)
@pytest.mark.parametrize("name", LONG)
def test_the_bounds_of_a_long_bundled_deployment_decide_its_claims_as_recorded(name: str) -> None:
    for claim in (each for each in load(name).claims if each.epsilon is not None):
        bound = ldp.account(claim.plan, claim.neighbours).epsilon(claim.delta)
        assert judge(claim, [bound], [], []).outcome is (Outcome.REFUTED if claim.expect == "refuted" else Outcome.BOUNDED)


@pytest.mark.few(20)
@pytest.mark.parametrize("file", [slow(f) if f.stem in LONG else f for f in FILES], ids=lambda f: f.stem)
def test_every_bundled_deployment_comes_out_as_recorded(file: Path) -> None:
    certificate = ldp.certify(file, trials=2_000)
    for claim in certificate.claims:
        assert claim.as_recorded, f"{claim.id}: {claim.verdict}, {claim.reason}"
        assert claim.asked or claim.expect, "a bundled claim records its verdict"
    assert verify(certificate) == []
