"""What a claim may count besides a report and a day: periods, epochs with their budgets, relays' days; and infinite answers."""

import math
from pathlib import Path

import pytest

from ldpaudit import Repeat, Run, account, certify
from ldpaudit.certificates.certify import impossible, verify
from ldpaudit.certificates.exhibits import exhibits
from ldpaudit.errors import DeploymentError
from ldpaudit.files.deployment import load, loads
from ldpaudit.files.starter import starter
from ldpaudit.files.tables import ContributionTable, duration, spoken
from ldpaudit.mechanisms.channel import Channel
from ldpaudit.neighbours import REPLACE_ONE, SAME_PATTERN
from ldpaudit.report import html
from ldpaudit.report.agreement import Standing, compared
from ldpaudit.report.record import record
from ldpaudit.report.text import plain, summary
from ldpaudit.verdict import Outcome
from tests.helpers import ROOT, deployment, raises, some, within
from tests.road.test_deployment import CITED
from tests.road.test_records import certificate, field, typed
from tests.road.test_sheet import sheet


def test_a_duration_is_read_and_spoken_and_anything_else_is_none() -> None:
    spelled = {"PT10M": (600, "10 minutes"), "PT24H": (86_400, "1 day"), "P1W": (604_800, "1 week"), "PT90S": (90, "90 seconds"),
               "P1DT12H": (129_600, "36 hours")}  # fmt: skip
    assert {text: (duration(text), spoken(text)) for text in spelled} == spelled
    for text in ("", "P", "PT", "P1DT", "PT0S", "10 minutes", "PT1.5H", "P1M", "P\u0661D", "pt10m", "PT10M ", "P1W2D"):
        raises(ValueError, "needs a duration such as PT10M", duration, text)


def test_a_day_has_as_many_reports_as_its_periods_and_no_more_than_the_day_s_limit() -> None:
    for reports, period, per_day, daily in ((1, "PT10M", None, 144), (2, "PT10M", 16, 16), (1, "PT7H", None, 4),
                                            (3, "P1W", None, 3), (3, "P1D", None, 3), (1, "PT10M", 500, 144)):  # fmt: skip
        given = {"reports": reports, "period": period, "per_day": per_day}
        assert ContributionTable.model_validate(given).daily == daily


PERIODS = CITED.replace("[mechanism]", '[contribution]\nreports = 2\nperiod = "PT6H"\nper_day = 5\n[mechanism]').replace(
    'id = "asked"', 'id = "asked"\nunit = "UNIT"'
)


def test_a_unit_counts_its_reports_and_a_claim_per_period_needs_one() -> None:
    for unit, runs in (("report", 1), ("relay-day", 1), ("user-period", 2), ("user-day", 5)):
        whole = loads(PERIODS.replace("UNIT", unit))
        assert whole.claims[1].plan == (whole.plan if runs == 1 else Repeat(whole.plan, runs))
        assert [each.unit for each in whole.units] == ["report", "user-period", "user-day"]
    without = PERIODS.replace("UNIT", "user-period").replace('period = "PT6H"\n', "")
    raises(DeploymentError, "a claim per user-period needs a period in", loads, without)
    wrong = PERIODS.replace("UNIT", "report").replace("PT6H", "6h")
    raises(DeploymentError, r"contribution\.period: needs a duration such as PT10M, .* got '6h'", loads, wrong)


def test_periods_stand_on_the_sheet_and_in_records() -> None:
    found = sheet(load("private-aggregation"))["Unit of privacy"]
    assert found.certified[:3] == (
        "One report: epsilon at most 128.", "One user and 10 minutes: epsilon at most 128.",
        "One user and day: epsilon at most 2048.",
    )  # fmt: skip
    assert "Reports of a user and day: at most 1 in 10 minutes, 16 a day." in found.stated
    made = certificate(typed(loads(PERIODS.replace("UNIT", "user-period"))))
    loss = field(record(made, "asked"), "deployment.privacy_loss")
    assert loss["privacy_unit"] == "User-6-hours-level"
    assert "Contribution: 2 a user and 6 hours. At most 5 a day." in loss["privacy_unit_details"]
    relays = certificate(typed(loads(PERIODS.replace("UNIT", "relay-day"))))
    assert field(record(relays, "asked"), "deployment.privacy_loss.privacy_unit") == "Relay-day-level"


def test_a_record_s_period_is_the_file_s() -> None:
    says = {"privacy_loss": {"privacy_unit": "User-10-minutes-level", "privacy_parameters": {"epsilon": 128}}}
    lines = {line.field: line for line in compared({"deployment": says}, load("private-aggregation"))}
    assert lines["privacy_unit"].standing is lines["epsilon"].standing is Standing.AGREES
    says["privacy_loss"]["privacy_unit"] = "User-20-minutes-level"
    lines = {line.field: line for line in compared({"deployment": says}, load("private-aggregation"))}
    assert lines["privacy_unit"].standing is Standing.OPEN


FOR_EVER = CITED.replace('kind = "randomized_response"\nk = 4\np = "1/2"', 'kind = "channel"\nmatrix = "18/25, 7/25; 0, 1"')


def test_an_infinite_answer_is_an_answer_with_the_delta_below_which_it_holds_and_its_witness() -> None:
    made = certify(loads(FOR_EVER), trials=100)
    asked = made.claims[1]
    assert (asked.verdict, asked.outcome, asked.infinite) == (Outcome.BOUNDED, "answered: infinite", True)
    assert asked.reason.startswith("no finite epsilon holds below delta = 0.72, by ")
    witness = some(asked.witness)
    assert (witness.first, witness.second) == ((("0", 1),), (("1", 1),))
    assert witness.event == "views 0 have probability 18/25 in the first, and are impossible in the second"
    assert plain(asked).endswith("The certificate answers: no epsilon is enough.")
    assert "1 questions are answered." in summary([made])[0]
    assert verify(made) == []
    page = html.page(made, exhibits(made))
    assert "below delta = 0.72, by" in page
    assert "answered: infinite" in page
    assert not made.claims[0].infinite, "a claim is refuted, and not answered"


def test_an_infinite_answer_is_a_decision_and_assumed_where_it_rests_on_an_assumption(tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(FOR_EVER)
    assert within(tmp_path, "certify", "f.toml", "--trials", "100", "--require-decision").returncode == 0
    text = CITED.replace('kind = "randomized_response"\nk = 4\np = "1/2"', 'kind = "gaussian_report"\nsigma = 1')
    text = text.replace("[mechanism]", '[sampler]\nlaw = "float"\n[mechanism]').replace('"one"]', '"one", "sampler"]')
    asked = certify(loads(text), trials=100).claims[1]
    assert (asked.verdict, asked.infinite, asked.witness) == (Outcome.ASSUMED, True, None)


def test_the_witness_of_an_infinite_answer_is_the_likeliest_and_nothing_is_shown_where_there_is_none() -> None:
    channel = Channel("1/2, 1/4, 1/4, 0; 0, 1/2, 1/4, 1/4; 1/4, 1/4, 1/4, 1/4")
    found = some(impossible(Run(channel), REPLACE_ONE))
    assert found.values == (0, 1)
    assert found.event == "views 0 have probability 1/2 in the first, and are impossible in the second"
    assert account(channel).delta(float("inf")).low == pytest.approx(0.5)
    assert impossible(Run(Channel("1/2, 1/2; 1/4, 3/4")), REPLACE_ONE) is None
    system = loads(starter("trie_heavy_hitter", "")).plan
    assert impossible(system, REPLACE_ONE) is None, "two of its data sets may differ in several users"


FILE = ROOT / "deployments" / "epochs-budget.toml"


def test_a_window_and_a_lifetime_cost_the_answers_that_their_budgets_admit_and_need_epochs() -> None:
    claims = {claim.id: account(claim.plan).epsilon(0).high for claim in load(FILE).claims}
    assert claims == pytest.approx({"report": 0.1, "window": 1.0, "lifetime": 6.0}, abs=1e-9)
    text = FILE.read_text()
    start, end = text.index("[epochs]"), text.index("[[claims]]")
    raises(DeploymentError, r"a claim per window needs a table \[epochs\]", loads, text[:start] + text[end:])


@pytest.mark.parametrize(("old", "new", "window", "lifetime"), [
    ("window_answers = 10", "window_answers = 40", 3.0, 6.0), ("lifetime_answers = 60", "lifetime_answers = 500", 1.0, 12.5),
    ("count = 365", "count = 4", 0.4, 0.4), ("lifetime_answers = 60", "lifetime_answers = 7", 0.7, 0.7),
    ("count = 365", "count = 35", 1.0, 1.5), ("count = 365", "count = 55", 1.0, 2.0),
])  # fmt: skip
def test_no_answer_is_counted_that_cannot_come(old: str, new: str, window: float, lifetime: float) -> None:
    claims = {claim.id: account(claim.plan).epsilon(0).high for claim in loads(FILE.read_text().replace(old, new)).claims}
    assert (claims["window"], claims["lifetime"]) == pytest.approx((window, lifetime), abs=1e-9)


KEPT = FILE.with_name("epochs-memoized.toml")


def test_kept_answers_cost_their_values_where_these_repeat_alike_and_are_otherwise_of_any_two_streams() -> None:
    costs = {claim.id: account(claim.plan, claim.neighbours).epsilon(0).high for claim in load(KEPT).claims}
    expected = {"report": 0.5, "window-same-pattern": 1.5, "lifetime-same-pattern": 1.5, "lifetime": math.inf}
    assert costs == pytest.approx(expected)
    text = KEPT.read_text().replace('neighbours = "same-pattern"\n', "")
    assert [str(claim.neighbours) for claim in loads(text).claims] == ["replace-one"] + ["user-level"] * 3


@pytest.mark.parametrize(("old", "new", "values"), [
    ("values = 3", "values = 300", (8, 8)), ("values = 3\n", "", (8, 8)), ("window_answers = 10", "window_answers = 2", (2, 3)),
    ("lifetime_answers = 60", "lifetime_answers = 1", (1, 1)),
    ("memoized = true", "memoized = true\nreports = 2", (3, 3)),
])  # fmt: skip
def test_no_more_values_are_kept_than_answers_and_values_there_are(old: str, new: str, values: tuple[int, int]) -> None:
    claims = {claim.id: claim for claim in loads(KEPT.read_text().replace(old, new)).claims}
    found = [account(claims[f"{unit}-same-pattern"].plan, SAME_PATTERN).epsilon(0).high for unit in ("window", "lifetime")]
    assert found == pytest.approx([value / 2 for value in values])


ANSWERED = 'kind = "randomized_response"\nepsilon = "1/2"\nk = 8'
BIT = 'kind = "memoized_bit"\nepochs = 1\nf = "1/2"\np = "1/2"\nq = "3/4"'


@pytest.mark.parametrize(("mechanism", "budget", "whole"), [
    (f"{BIT}\n[contribution]\nreports = 2", "", "MemoizedBit(epochs=120, f=1/2, p=1/2, q=3/4)"),
    ('kind = "one_bit"\nvariant = "dbitflip"\nk = 8\nd = 2\np = "3/4"', "values = 3\n",
     "MemoizedDBitFlip(epochs=60, k=8, d=2, p=3/4, values=3)"),
    ('kind = "loloha"\ng = 3\np1 = "1/2"\np2 = "2/3"\ndomain = 8', "",
     "LolohaStream(epochs=60, g=3, p1=1/2, p2=2/3, domain=8, prime=2147483647)"),
])  # fmt: skip
def test_other_clients_that_keep_what_they_drew_are_named_too(mechanism: str, budget: str, whole: str) -> None:
    text = KEPT.read_text().replace(ANSWERED, mechanism).replace("values = 3\n", budget)
    text = text.replace("reports = 2\n\n[contribution]", "reports = 2")
    (claim,) = (claim for claim in loads(text).claims if claim.id == "lifetime")
    assert str(claim.plan) == whole


REPORT = deployment("{mechanism}", 'id = "report"\nepsilon = 2', more="[contribution]\nmemoized = true\n{epochs}\n")
KEEPS = 'kind = "rappor"\nbits = 8\nhashes = 2\nf = "1/2"\np = "1/4"\nq = "3/4"'
BUDGET = "[epochs]\ncount = 9\nwindow = 3\nwindow_answers = 2\nlifetime_answers = 4"


@pytest.mark.parametrize(("mechanism", "epochs", "says"), [
    (KEEPS, "", ""),
    (ANSWERED, BUDGET, ""),
    (ANSWERED, "", r"contribution\.memoized: memoized = true needs a mechanism that memoizes, or a table \[epochs\]"),
    ('kind = "laplace"\nepsilon = 1\nlow = 0\nhigh = 1', "", "needs a mechanism that memoizes"),
    ('kind = "rappor"\nvariant = "permanent"\nbits = 8\nhashes = 2\nf = "1/2"', "", "memoizes, .* got PermanentRappor"),
    (KEEPS, BUDGET, r"contribution\.memoized: memoized = true beside \[epochs\]: Rappor"),
])  # fmt: skip
def test_a_client_that_is_said_to_keep_answers_is_one_that_does(mechanism: str, epochs: str, says: str) -> None:
    text = REPORT.format(mechanism=mechanism, epochs=epochs)
    if says:
        raises(DeploymentError, says, loads, text)
        return
    assert loads(text).claims == loads(text.replace("memoized = true", "").replace(epochs, "")).claims


@pytest.mark.parametrize(("old", "new", "says"), [
    ("[contribution]\nmemoized = true", "", "the key `values` needs memoized = true"),
    (ANSWERED, ANSWERED.replace("randomized_response", "subset_selection"), "over epochs are analysed only for memoized"),
    (ANSWERED, BIT, "without a budget of values"),
    (ANSWERED, 'kind = "guarantee"\nepsilon = "1/2"', "needs a mechanism that memoizes"),
    ("values = 3", "values = 0", "epochs.values"),
])  # fmt: skip
def test_what_is_not_known_memoized_is_refused(old: str, new: str, says: str) -> None:
    text = KEPT.read_text()
    assert old in text
    raises(DeploymentError, says, loads, text.replace(old, new))
