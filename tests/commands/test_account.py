"""``ldpaudit account`` and ``risk``: what they answer."""

import json
import math
import re
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

import ldpaudit as ldp
from ldpaudit import Enclosure, Rigour, account, load
from ldpaudit.certificates.risk import percent, percent_up, risk
from tests.helpers import fails_in_one_line, run, stdout


def test_account_answers_with_an_enclosure_says_how_wide_it_is_and_whether_a_claim_is_kept() -> None:
    answer = json.loads(run("account", "randomized_response", "k=3", "epsilon=1", "--format", "json").stdout)
    assert answer["low"] <= 1 <= answer["high"]
    assert answer["rigour"] == "EXACT"
    assert (answer["at"], answer["at_number"], answer["at_exact"]) == ("delta", 0.0, "0")
    assert "delta(epsilon=0.5)" in run("account", "randomized_response", "k=3", "epsilon=1", "--epsilon", "1/2").stdout
    common = ("account", "randomized_response", "k=5", "epsilon=1", "--shuffle", "100")
    shown = run(*common, "--delta", "1e-6").stdout.splitlines()[1]
    answer = json.loads(run(*common, "--delta", "1e-6", "--format", "json").stdout)
    assert answer["rigour"] == "INTERVAL"
    (ratio,) = re.findall(r"INTERVAL, high/low = ([0-9.]+)$", shown)
    assert 0 <= float(ratio) - answer["high"] / answer["low"] < 1e-5
    assert "high/low" not in run("account", "randomized_response", "k=5", "epsilon=1").stdout
    common = ("account", "randomized_response", "k=2", "p=3/4", "--shuffle", "1000")
    assert "(0.5, 1e-06) is kept" in run(*common, "--epsilon", "1/2", "--delta", "1e-6").stdout
    assert "(0.1, 1e-06) is not kept" in run(*common, "--epsilon", "1/10", "--delta", "1e-6").stdout
    answer = json.loads(run(*common, "--epsilon", "1/10", "--delta", "1e-6", "--format", "json").stdout)
    assert answer["kept"] is False


def test_account_prints_a_renyi_divergence_a_rho_and_a_mu_and_answers_for_published_ones() -> None:
    common = ("account", "gaussian", "sigma=2", "--repeat", "4")
    assert "renyi(order=3) in [1.5, 1.5], EXACT" in run(*common, "--renyi", "3").stdout
    assert "rho in [0.5, 0.5], EXACT" in run(*common, "--zcdp").stdout
    answer = json.loads(run("account", "gaussian", "sigma=2", "--gdp", "--format", "json").stdout)
    assert (answer["asked"], answer["low"], answer["high"], answer["rigour"]) == ("mu", 0.5, 0.5, "EXACT")
    answer = json.loads(run(*common, "--renyi", "3/2", "--format", "json").stdout)
    assert (answer["asked"], answer["at"], answer["at_exact"], answer["high"]) == ("renyi", "order", "3/2", 0.75)
    for wrong, why in (
        (("--renyi", "1"), "an order above 1, got 1"), (("--gdp", "--zcdp"), "stands alone"),
        (("--zcdp", "--delta", "1e-6"), "stands alone"),
    ):
        fails_in_one_line(run(*common, *wrong), why)
    assert "epsilon(delta=1e-06) in [0, 0.899935" in run("account", "guarantee", "rho=1/50", "--delta", "1e-6").stdout
    assert "mu in [0, 2]" in run("account", "guarantee", "mu=1", "--repeat", "4", "--gdp").stdout
    says = "needs (epsilon, delta) or (rho) or (mu), got (rho, epsilon)"
    fails_in_one_line(run("account", "guarantee", "rho=1", "epsilon=1"), says)


def test_account_composes_what_deployment_files_claim() -> None:
    composed = ("--compose", "attribution-event", "--compose", "epochs-budget:lifetime")
    once, report = run("account", *composed).stdout, load("attribution-event").claims[0].plan
    assert once.startswith(f"Compose([Repeat({report}, 1), Repeat(Repeat(KaryRandomizedResponse(")
    assert run("account", *composed, "--times", "1", "--times", "1").stdout == once
    assert run("account", *composed, "--times", "2", "--times", "1").stdout.startswith(f"Compose([Repeat({report}, 2)")
    fails_in_one_line(run("account", *composed, "--times", "2"), "needs --times once for each --compose, 2, got 1")
    fails_in_one_line(run("account", "--compose", "epochs-budget:lifetimes"), "did you mean 'lifetime'?")
    for options in (["--times", "2"], ["--compose", "epochs-budget"]):
        fails_in_one_line(run("account", "laplace", *options), "account needs a mechanism, or --compose FILE with --times for each")


def test_account_draws_users_whose_number_may_be_written_as_a_power() -> None:
    shuffled = run("account", "randomized_response", "k=2", "p=3/4", "--shuffle", "100", "--subsample", "1000", "--delta", "1e-6")
    assert shuffled.stdout.startswith("Subsample(Shuffle(")
    done = run("account", "randomized_response", "k=2", "p=3/4", "--subsample", "1000", "--format", "json")
    assert json.loads(done.stdout)["high"] == pytest.approx(math.log1p(0.002))
    common = ("account", "randomized_response", "k=2", "p=3/4", "--delta", "1e-6")
    assert run(*common, "--shuffle", "1e3").stdout == run(*common, "--shuffle", "1000").stdout != ""
    assert run(*common, "--repeat", "2**3").stdout == run(*common, "--repeat", "8").stdout != ""
    fails_in_one_line(run(*common, "--shuffle", "1e-3"), "needs an integer, got '1e-3'")


COMPARED = ("account", "randomized_response", "epsilon=1", "k=3", "--shuffle", "1e6", "--delta", "1e-6", "--compare")


def test_published_bounds_are_compared_in_one_table_of_80_columns_and_as_data() -> None:
    lines = run(*COMPARED).stdout.splitlines()
    table = lines[lines.index("") + 1 :]
    assert max(map(len, table)) <= 80
    assert sum(line.rstrip().endswith("holds") for line in table) >= 5
    assert "conjecture: nobody has proved it, so it certifies nothing." in table
    assert table[-1] == "EFMRTT19 closed form (2019) needs 0 < epsilon0 <= 1/2, got epsilon0=1.0."
    answer = json.loads(run(*COMPARED, "--format", "json").stdout)
    rows = {row["name"]: row for row in answer["published"]}
    assert rows["FMT21 closed form"]["over_certified"] == pytest.approx(rows["FMT21 closed form"]["epsilon"] / answer["high"])
    assert rows["EFMRTT19 closed form"]["epsilon"] is None
    assert rows["FMT22 stronger clones"]["standing"] == "conjecture"
    fails_in_one_line(run("account", "randomized_response", "k=2", "p=3/4", "--epsilon", "1", "--compare"), "--delta alone")


@pytest.mark.parametrize(("question", "at", "number"), [
    ("--epsilon=1e999", "epsilon=1e+999", "inf"), ("--epsilon=1e4096*1e4096", "epsilon=1e+8192", "inf"),
    ("--delta=1e-4096*1e-1096", "delta=1e-5192", 0.0),
])  # fmt: skip
def test_a_question_beyond_all_floats_is_answered(question: str, at: str, number: float | str) -> None:
    asked = ["account", "randomized_response", "k=2", "epsilon=1", question]
    done, data = run(*asked), run(*asked, "--format", "json")
    assert (done.returncode, data.returncode) == (0, 0), done.stderr + data.stderr
    assert f"({at}) in [" in done.stdout
    answer = json.loads(data.stdout)
    assert (answer["given"], answer["at_number"]) == (at, number)


COMMON = ("risk", "randomized_response", "k=2", "p=3/4")


def test_risk_is_a_sentence_and_a_table_of_80_columns_and_never_less_than_the_upper_ends() -> None:
    shown = stdout(run(*COMMON, "--repeat", "10"))
    told, table = shown.split("\n\n")
    sentences = " ".join(told.split())
    assert "An adversary who sees one run" in sentences
    assert "at most 75 % (a coin has 50 %), and is never more than 75 % sure" in sentences
    assert "An adversary who sees 10 runs" in sentences
    assert max(map(len, shown.splitlines())) <= 80
    assert len(table.strip().splitlines()) == 7
    fails_in_one_line(run("risk", "nothing"), "needs one of")
    sentence = risk(account(ldp.Guarantee(Fraction(1), Fraction(1, 1000)))).sentence("one report")
    assert "at most 73.133 % (a coin" in sentence
    assert "may become certain of an input" in sentence
    assert "100 %" not in sentence


def test_risk_is_data_too_whose_numbers_are_enclosures_and_shuffling_is_part_of_the_plan() -> None:
    (one, many) = json.loads(run(*COMMON, "--repeat", "10", "--format", "json").stdout)
    assert one["guess"]["low"] <= 0.75 <= one["guess"]["high"]
    assert [each["false_positive"] for each in one["true_positive"]] == [0.01, 0.001]
    assert [each["prior"] for each in one["posterior"]] == [0.01, 0.1, 0.5]
    assert many["guess"]["low"] > one["guess"]["high"]
    ((alone,), (shuffled,)) = (json.loads(run(*COMMON, *more, "--format", "json").stdout) for more in ((), ("--shuffle", "3")))
    assert shuffled["plan"].startswith("Shuffle(")
    assert shuffled["guess"]["high"] < alone["guess"]["low"]


@given(st.floats(0, 1), st.floats(0, 1))
def test_chances_are_shown_outward_unless_both_ends_are_one_number_to_a_reader(a: float, b: float) -> None:
    chance = Enclosure(min(a, b), max(a, b), Rigour.INTERVAL, "")
    low, _, high = percent(chance).removesuffix(" %").partition(" to ")
    if chance.relative_width < 1e-12:
        return
    assert Fraction(low) <= Fraction(chance.low) * 100
    assert Fraction(high or low) >= Fraction(chance.high) * 100
    assert Fraction(percent_up(chance).removesuffix(" %")) >= Fraction(chance.high) * 100


@pytest.mark.parametrize(("low", "high", "shown"), [
    (0.75, 0.75, "75 %"),
    (0.7499999999999999, 0.7500000000000001, "75 %"),
    (0.7310585786300048, 0.7310585786300049, "73.105 to 73.106 %"),
    (0.5, 1.0, "50 to 100 %"),
    (0.9999997186621898, 0.99999971866219, "99.9999718 to 99.9999719 %"),
    (0.0, 1e-9, "0 to 1.0001e-7 %"),
])  # fmt: skip
def test_a_chance_reads_as_a_person_would_write_it(low: float, high: float, shown: str) -> None:
    assert percent(Enclosure(low, high, Rigour.INTERVAL, "")) == shown
