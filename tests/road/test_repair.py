"""A refutation that can be acted on: what is said to hold holds, and the command finds what keeps the claim."""

from __future__ import annotations

import re
import shlex
from fractions import Fraction

import pytest

from ldpaudit.accountants import account
from ldpaudit.certificates.exhibits import Repair, repair
from ldpaudit.files.deployment import Deployment, load, loads
from tests.helpers import ROOT, run

FILE = """\
schema = "ldpaudit.deployment/1"
id = "t"
[mechanism]
{mechanism}
[[claims]]
id = "c"
epsilon = "{epsilon}"
delta = "{delta}"
neighbours = "{neighbours}"
"""
TRIE = 'kind = "trie_heavy_hitter"\nusers = 10_000\nthreshold = 10\nlevels = 8\nbatch = 300'
RESPONSE = 'kind = "randomized_response"\nk = 5\nrho = "2/(1+exp(8))"'


def asked(mechanism: str, epsilon: str, delta: str = "0", neighbours: str = "replace-one") -> tuple[Deployment, Repair]:
    whole = loads(FILE.format(mechanism=mechanism, epsilon=epsilon, delta=delta, neighbours=neighbours))
    return whole, repair(whole, whole.claims[0])


def number(pattern: str, found: Repair) -> Fraction:
    (value,) = re.findall(pattern, " ".join(found.sentences))
    return Fraction(value)


@pytest.mark.parametrize(("epsilon", "delta"), [("8", "0"), ("8", "1/1000"), ("1/2", "1/3")])
def test_the_nearest_claims_hold_as_they_are_printed_and_hardly_less_does(epsilon: str, delta: str) -> None:
    whole, found = asked(RESPONSE, epsilon, delta)
    profile, claim = account(whole.plan), whole.claims[0]
    wanted = number(r"delta an epsilon of ([0-9.e-]+)", found)
    assert profile.epsilon(claim.delta).high <= wanted * (1 + Fraction(1, 10**9))
    assert profile.epsilon(claim.delta).low > wanted * (1 - Fraction(1, 10**5))
    allowed = number(r"epsilon a delta of ([0-9.e-]+)", found)
    assert profile.delta(Fraction(epsilon)).high <= allowed
    assert profile.delta(Fraction(epsilon)).low > allowed * (1 - Fraction(1, 10**5))


def test_where_no_epsilon_holds_it_says_below_which_delta_and_what_holds_above_it() -> None:
    whole, found = asked(TRIE, "2", neighbours="add-remove")
    profile = account(whole.plan)
    below = number(r"below delta = ([0-9.e-]+) no epsilon", found)
    assert profile.epsilon(below * Fraction(999, 1000)).low == float("inf")
    above, epsilon = (number(pattern, found) for pattern in (r"at delta = ([0-9.e-]+),", r"epsilon is at most ([0-9.e-]+)"))
    assert above > below
    assert profile.epsilon(above).high <= epsilon
    assert "at this delta" not in " ".join(found.sentences)


@pytest.mark.parametrize("name", ["attribution-navigation", "apple-lookup-hints"])
def test_the_command_of_a_claim_that_fails_finds_what_keeps_it(name: str) -> None:
    whole = load(ROOT / f"deployments/{name}.toml")
    (claim,) = (c for c in whole.claims if c.expect in ("refuted", "undecided"))
    found = repair(whole, claim)
    verb, *words = shlex.split(found.command)
    assert verb == "ldpaudit"
    done = run(*words)
    assert done.returncode == 0, done.stderr
    (value,) = re.findall(r"^epsilon = ([0-9.]+) is the largest found that keeps \(", done.stdout, re.MULTILINE)
    assert f"epsilon = {value} is the largest" in found.answer
    assert f"that keeps ({float(claim.epsilon or 0):g}, {float(claim.delta):g})" in done.stdout


def test_no_command_is_offered_for_another_relation_than_the_one_it_answers_for() -> None:
    bits = 'kind = "unary_encoding"\nk = 2\nrho = "1/(1+exp(8))"'
    one_bit, vector = (asked(bits, "8", neighbours=relation)[1] for relation in ("add-remove", "replace-one"))
    assert one_bit.command == ""
    assert vector.command.startswith("ldpaudit design unary_encoding k=2")


def test_a_batch_is_found_for_a_trie_that_no_epsilon_keeps() -> None:
    _, found = asked(TRIE, "1", neighbours="add-remove")
    assert found.command == "ldpaudit design trie_heavy_hitter users=10000 threshold=10 levels=8 --epsilon 1"
    assert found.answer.startswith("batch = ")


def test_what_is_out_of_reach_has_no_command() -> None:
    _, found = asked(RESPONSE, "0")
    assert found.sentences
    assert (found.command, found.answer) == ("", "")


def test_a_repair_is_told_in_lines_the_command_last() -> None:
    _, found = asked(RESPONSE, "8")
    assert found.lines == (*found.sentences, f"{found.answer}: {found.command}")
    assert Repair(("a",)).lines == ("a",)
