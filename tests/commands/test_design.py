"""``ldpaudit design``: what it answers."""

from __future__ import annotations

import json
from decimal import Decimal

from tests.helpers import fails_in_one_line, run

COMMON = ("design", "randomized_response", "k=3", "--epsilon", "1/2", "--delta", "1e-6", "--shuffle", "1e3")


def test_an_answer_says_what_is_certified_at_it_and_next_to_it() -> None:
    plan, best, at, beyond, *_ = run(*COMMON).stdout.splitlines()
    assert plan.startswith("Shuffle(KaryRandomizedResponse(k=3, p=")
    value = best.removeprefix("epsilon = ").removesuffix(" is the largest found that keeps (0.5, 1e-06)")
    assert at.startswith(f"at {value}: delta(epsilon=0.5) in [")
    assert beyond.startswith(f"at {Decimal(value) + Decimal('0.00001')}: ")
    assert beyond.endswith(("which does not keep it", "which is not shown to keep it"))


def test_an_answer_is_data_too() -> None:
    answer = json.loads(run(*COMMON, "--format", "json").stdout)
    assert answer["asked"] == "epsilon"
    assert answer["high"] <= answer["delta"] < answer["refused"]["high"]
    assert answer["number"] == float(answer["value"]) < answer["refused"]["number"] == float(answer["refused"]["value"])
    assert (answer["delta"], answer["delta_exact"]) == (1e-6, "1/1000000")


def test_the_help_explains_by_examples() -> None:
    shown = run("design", "--help").stdout
    assert shown.count("   ldpaudit design ") == 9
    assert max(map(len, shown.splitlines())) <= 80


def test_a_question_that_has_no_answer_is_one_line() -> None:
    fails_in_one_line(run("design", "laplace", "low=0", "high=1", "--epsilon", "0"), "out of reach")
    fails_in_one_line(run("design", "randomized_response", "--epsilon", "1"), "without one of")
