"""What a claim may count besides a report and a day: periods and relays' days; and questions whose answer is infinite."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpaudit import account, certify
from ldpaudit.certificates.certify import impossible, verify
from ldpaudit.certificates.exhibits import exhibits
from ldpaudit.errors import DeploymentError
from ldpaudit.files.deployment import load, loads
from ldpaudit.files.starter import starter
from ldpaudit.files.tables import ContributionTable, duration, spoken
from ldpaudit.mechanisms.channel import Channel
from ldpaudit.neighbours import REPLACE_ONE
from ldpaudit.plan import Repeat, Run
from ldpaudit.report import html
from ldpaudit.report.agreement import Standing, compared
from ldpaudit.report.record import record
from ldpaudit.report.text import plain, summary
from ldpaudit.verdict import Outcome
from tests.helpers import within
from tests.road.test_deployment import CITED
from tests.road.test_records import certificate, field, typed
from tests.road.test_sheet import sheet


@pytest.mark.parametrize(("text", "seconds", "words"), [
    ("PT10M", 600, "10 minutes"), ("PT24H", 86_400, "1 day"), ("P1W", 604_800, "1 week"), ("P1DT12H", 129_600, "36 hours"),
    ("PT90S", 90, "90 seconds"),
])  # fmt: skip
def test_a_duration_is_read_and_spoken(text: str, seconds: int, words: str) -> None:
    assert (duration(text), spoken(text)) == (seconds, words)


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "PT0S", "10 minutes", "PT1.5H", "P1M", "P\u0661D", "pt10m", "PT10M ",
                                  "P1W2D"])  # fmt: skip
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="needs a duration such as PT10M"):
        duration(text)


@pytest.mark.parametrize(("reports", "period", "per_day", "daily"), [
    (1, "PT10M", None, 144), (2, "PT10M", 16, 16), (1, "PT7H", None, 4), (3, "P1W", None, 3), (3, "P1D", None, 3),
    (1, "PT10M", 500, 144),
])  # fmt: skip
def test_a_day_has_as_many_reports_as_its_periods_and_no_more_than_the_day_s_limit(
    reports: int, period: str, per_day: int | None, daily: int
) -> None:
    given = {"reports": reports, "period": period, "per_day": per_day}
    assert ContributionTable.model_validate(given).daily == daily


PERIODS = CITED.replace("[mechanism]", '[contribution]\nreports = 2\nperiod = "PT6H"\nper_day = 5\n[mechanism]').replace(
    'id = "asked"', 'id = "asked"\nunit = "UNIT"'
)


@pytest.mark.parametrize(("unit", "runs"), [("report", 1), ("relay-day", 1), ("user-period", 2), ("user-day", 5)])
def test_a_unit_counts_its_reports(unit: str, runs: int) -> None:
    whole = loads(PERIODS.replace("UNIT", unit))
    once = whole.plan
    assert whole.claims[1].plan == (once if runs == 1 else Repeat(once, runs))
    assert [each.unit for each in whole.units] == ["report", "user-period", "user-day"]


def test_a_claim_per_period_needs_one() -> None:
    with pytest.raises(DeploymentError, match="a claim per user-period needs a period in"):
        loads(PERIODS.replace("UNIT", "user-period").replace('period = "PT6H"\n', ""))
    with pytest.raises(DeploymentError, match=r"contribution\.period: needs a duration such as PT10M, .* got '6h'"):
        loads(PERIODS.replace("UNIT", "report").replace("PT6H", "6h"))


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
    assert asked.witness is not None
    assert (asked.witness.first, asked.witness.second) == ((("0", 1),), (("1", 1),))
    assert asked.witness.event == "views 0 have probability 18/25 in the first, and are impossible in the second"
    assert plain(asked).endswith("The certificate answers: no epsilon is enough.")
    assert "1 questions are answered." in summary([made])[0]
    assert verify(made) == []
    page = html.page(made, exhibits(made))
    assert "below delta = 0.72, by" in page
    assert "answered: infinite" in page
    assert not made.claims[0].infinite, "a claim is refuted, and not answered"


def test_an_infinite_answer_is_a_decision(tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(FOR_EVER)
    assert within(tmp_path, "certify", "f.toml", "--trials", "100", "--require-decision").returncode == 0


def test_an_infinite_answer_that_rests_on_an_assumption_is_assumed() -> None:
    text = CITED.replace('kind = "randomized_response"\nk = 4\np = "1/2"', 'kind = "gaussian_report"\nsigma = 1')
    text = text.replace("[mechanism]", '[sampler]\nlaw = "float"\n[mechanism]').replace('"one"]', '"one", "sampler"]')
    asked = certify(loads(text), trials=100).claims[1]
    assert (asked.verdict, asked.infinite, asked.witness) == (Outcome.ASSUMED, True, None)


def test_the_witness_of_an_infinite_answer_is_the_likeliest_and_nothing_is_shown_where_there_is_none() -> None:
    channel = Channel("1/2, 1/4, 1/4, 0; 0, 1/2, 1/4, 1/4; 1/4, 1/4, 1/4, 1/4")
    found = impossible(Run(channel), REPLACE_ONE)
    assert found is not None
    assert found.values == (0, 1)
    assert found.event == "views 0 have probability 1/2 in the first, and are impossible in the second"
    assert account(channel).delta(float("inf")).low == pytest.approx(0.5)
    assert impossible(Run(Channel("1/2, 1/2; 1/4, 3/4")), REPLACE_ONE) is None
    system = loads(starter("trie_heavy_hitter", "")).plan
    assert impossible(system, REPLACE_ONE) is None, "two of its data sets may differ in several users"
