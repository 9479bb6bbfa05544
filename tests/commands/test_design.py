"""``ldpaudit design``: what it answers."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest

from ldpaudit import Enclosure, Rigour, Shuffle
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.report import counting as report
from ldpaudit.studies.design import Goal
from ldpaudit.studies.frequencies import Protocol
from tests.helpers import fails_in_one_line, run

COMMON = ("design", "randomized_response", "k=3", "--epsilon", "1/2", "--delta", "1e-6", "--shuffle", "1e3")


def test_an_answer_says_what_is_certified_at_it_and_next_to_it_as_data_too() -> None:
    plan, best, at, beyond, *_ = run(*COMMON).stdout.splitlines()
    assert plan.startswith("Shuffle(KaryRandomizedResponse(k=3, p=")
    value = best.removeprefix("epsilon = ").removesuffix(" is the largest found that keeps (0.5, 1e-06)")
    assert at.startswith(f"at {value}: delta(epsilon=0.5) in [")
    assert beyond.startswith(f"at {Decimal(value) + Decimal('0.00001')}: ")
    assert beyond.endswith(("which does not keep it", "which is not shown to keep it"))
    answer = json.loads(run(*COMMON, "--format", "json").stdout)
    assert answer["asked"] == "epsilon"
    assert answer["high"] <= answer["delta"] < answer["refused"]["high"]
    assert answer["number"] == float(answer["value"]) < answer["refused"]["number"] == float(answer["refused"]["value"])
    assert (answer["delta"], answer["delta_exact"]) == (1e-6, "1/1000000")


def test_the_help_explains_by_examples_and_what_is_no_question_is_one_line() -> None:
    shown = run("design", "--help").stdout
    assert shown.count("   ldpaudit design ") == 13
    assert max(map(len, shown.splitlines())) <= 80
    fails_in_one_line(run("design", "laplace", "low=0", "high=1", "--epsilon", "0"), "out of reach")
    fails_in_one_line(run("design", "randomized_response", "--epsilon", "1"), "or all but one that is to be found (epsilon,")


COUNTED = ("design", "frequencies", "users=30", "values=2", "--epsilon", "1", "--delta", "1e-1")


def test_protocols_that_count_values_are_listed_the_least_error_first_and_need_nothing_else() -> None:
    title, head, *rows, note = run(*COUNTED).stdout.splitlines()
    assert title == "2 values counted among 30 users, each protocol with the least noise found that keeps (1, 0.1)"
    errors = [float(row.split()[0]) for row in rows]
    assert (len(errors), errors) == (3, sorted(errors))
    assert [row.rsplit("  ", 1)[1].split("(")[0] for row in rows].count("Shuffle") == 2
    assert (head.split()[0], note.split(":")[0]) == ("error", "error at most")
    fails_in_one_line(run("design", "frequencies", "users=10", "--epsilon", "1"), "frequencies: needs (users, values)")
    fails_in_one_line(run(*COUNTED, "--repeat", "2"), "needs no --shuffle, --aggregate or --repeat")


def test_protocols_that_count_values_are_data_too() -> None:
    goal, error = Goal(Fraction(1), Fraction(1, 1000)), Enclosure(0.0, 12.5, Rigour.INTERVAL, "a bound")
    protocol = Protocol(Shuffle(KaryRandomizedResponse(4, Fraction(1, 2)), 100), error, Fraction(1), 2)
    assert json.loads(json.dumps(report.frequencies_as_data(goal, 100, 4, [protocol]))) == {
        "epsilon": 1.0, "delta": 0.001, "users": 100, "values": 4,
        "protocols": [{
            "plan": "Shuffle(KaryRandomizedResponse(k=4, p=1/2), users=100)", "messages": 1.0, "bits a message": 2,
            "error": {"high": 12.5, "rigour": "INTERVAL", "source": "a bound"},
        }],
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("users", "delta", "epsilon", "value"), [
    ("1e2", "1e-3", "1", 3.9374), ("1e3", "1e-3", "1", 7.997), ("1e5", "1e-9", "0.3", 10.05),
])  # fmt: skip
def test_the_epsilon_of_summed_reports_is_found(users: str, delta: str, epsilon: str, value: float) -> None:
    common = ("design", "unary_encoding", "k=8", "constructor=symmetric", "--epsilon", epsilon, "--delta", delta)
    found = json.loads(run(*common, "--aggregate", users, "--format", "json").stdout)
    assert float(found["value"]) == pytest.approx(value, rel=0.015)
    assert "Aggregate(" in found["plan"]
    fails_in_one_line(run(*common, "--aggregate", users, "--shuffle", "9"), "give --shuffle or --aggregate")


SUMMED = ("design", "aggregate", "values=2", "--epsilon", "1", "--delta", "1e-2")


def test_ways_of_adding_noise_to_a_sum_are_listed_the_least_error_first_or_the_users_that_are_needed() -> None:
    title, head, *rows, note, _ = run(*SUMMED, "users=50").stdout.splitlines()
    assert title == "2 values counted by a sum, each way with the least noise found that keeps (1, 0.01)"
    errors = [float(row.split()[0]) for row in rows]
    assert (len(errors), errors) == (4, sorted(errors))
    assert (head.split()[0], note.split(":")[0]) == ("error", "error at most")
    fails_in_one_line(run(*SUMMED), "aggregate: needs (users, values, aggregators)")
    fails_in_one_line(run(*SUMMED, "users=200", "--aggregate", "9"), "needs no --shuffle, --aggregate or --repeat")


@pytest.mark.slow  # that the study finds them, and about the fewest, tests/road/test_design.py says
def test_with_an_error_the_users_that_are_needed_are_found_as_data_too() -> None:
    data = json.loads(run(*SUMMED, "error=1/4", "aggregators=1", "--format", "json").stdout)
    assert (data["values"], [each["aggregators"] for each in data["ways"]].count(1)) == (2, 3)
    assert all(each["error"]["high"] <= each["users"] / 4 for each in data["ways"])
    users = [each["users"] for each in data["ways"]]
    assert users == sorted(users)
