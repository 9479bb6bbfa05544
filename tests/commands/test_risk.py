"""``ldpaudit risk``: what it answers, and how chances are rounded."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpaudit as ldp
from ldpaudit.accountants import account
from ldpaudit.certificates.risk import percent, percent_up, risk
from ldpaudit.enclosure import Enclosure, Rigour
from tests.helpers import fails_in_one_line, run

COMMON = ("risk", "randomized_response", "k=2", "p=3/4")


def test_risk_is_a_sentence_and_a_table_of_80_columns() -> None:
    done = run(*COMMON, "--repeat", "10")
    assert done.returncode == 0, done.stderr
    told, table = done.stdout.split("\n\n")
    sentences = " ".join(told.split())
    assert "An adversary who sees one run" in sentences
    assert "at most 75 % (a coin has 50 %), and is never more than 75 % sure" in sentences
    assert "An adversary who sees 10 runs" in sentences
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert len(table.strip().splitlines()) == 7


def test_risk_is_data_too_and_its_numbers_are_enclosures() -> None:
    (one, many) = json.loads(run(*COMMON, "--repeat", "10", "--format", "json").stdout)
    assert one["guess"]["low"] <= 0.75 <= one["guess"]["high"]
    assert [each["false_positive"] for each in one["true_positive"]] == [0.01, 0.001]
    assert [each["prior"] for each in one["posterior"]] == [0.01, 0.1, 0.5]
    assert many["guess"]["low"] > one["guess"]["high"]


def test_shuffling_is_part_of_the_plan_whose_risk_is_asked() -> None:
    ((alone,), (shuffled,)) = (json.loads(run(*COMMON, *more, "--format", "json").stdout) for more in ((), ("--shuffle", "3")))
    assert shuffled["plan"].startswith("Shuffle(")
    assert shuffled["guess"]["high"] < alone["guess"]["low"]


def test_what_is_no_mechanism_is_an_error_of_one_line() -> None:
    fails_in_one_line(run("risk", "nothing"), "needs one of")


@given(st.floats(0, 1), st.floats(0, 1))
def test_chances_are_shown_outward_unless_both_ends_are_one_number_to_a_reader(a: float, b: float) -> None:
    chance = Enclosure(min(a, b), max(a, b), Rigour.INTERVAL, "")
    low, high = _numbers(percent(chance))
    if chance.relative_width < 1e-12:
        return
    assert low <= Fraction(chance.low) * 100
    assert high >= Fraction(chance.high) * 100
    assert Fraction(percent_up(chance).removesuffix(" %")) >= Fraction(chance.high) * 100


def _numbers(text: str) -> tuple[Fraction, Fraction]:
    low, _, high = text.removesuffix(" %").partition(" to ")
    return Fraction(low), Fraction(high or low)


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.75, 0.75, "75 %"),
        (0.7499999999999999, 0.7500000000000001, "75 %"),
        (0.7310585786300048, 0.7310585786300049, "73.105 to 73.106 %"),
        (0.5, 1.0, "50 to 100 %"),
        (0.9999997186621898, 0.99999971866219, "99.9999718 to 99.9999719 %"),
        (0.0, 1e-9, "0 to 1.0001e-7 %"),
    ],
)
def test_a_chance_reads_as_a_person_would_write_it(low: float, high: float, shown: str) -> None:
    assert percent(Enclosure(low, high, Rigour.INTERVAL, "")) == shown


def test_a_sentence_never_says_less_than_the_upper_ends() -> None:
    sentence = risk(account(ldp.Guarantee(Fraction(1), Fraction(1, 1000)))).sentence("one report")
    assert "at most 73.133 % (a coin" in sentence
    assert "may become certain of an input" in sentence
    assert "100 %" not in sentence
