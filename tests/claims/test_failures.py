"""Every failure says where it begins, where the proof breaks and what holds instead; where it begins is computed again."""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import ceil, factorial, isqrt

import numpy as np
import pytest
from scipy.stats import binom, laplace, norm

from benchmarks.literature import MATTER
from ldpaudit import account
from ldpaudit.accountants.claims import bucket_heavy_hitter, glps_heavy_hitter, jl_heavy_hitter, subset_selection, thresh
from ldpaudit.accountants.claims.sentence import Failure, Printed, Standing
from ldpaudit.mechanisms import Thresh, TrieHeavyHitter
from tests.claims.test_literature import PAGE, printed_at
from tests.claims.test_witnesses import WITNESSES, claims_at, constant
from tests.oracles.shuffle import binary

F = Fraction
EPSILON, MILLIONTH, TWENTIETH = F(999, 1000), F(1, 10**6), F(1, 20)
SHORT = 240
"""Characters of a sentence that is read in passing."""
ULP = F(1, 10**5)
"""One unit in the last digit of the deltas that are named."""


def failing(*stems: str) -> Iterator[Printed]:
    """What fails at the settings of the witnesses; that every sentence that fails has one is held beside these."""
    for command in dict.fromkeys(w["command"] for w in WITNESSES):
        if not stems or command.split()[2] in stems:
            yield from (claim for claim in claims_at(command) if claim.standing is Standing.FAILS)


def failures(*stems: str, where: str = "") -> set[Failure]:
    return {claim.failure for claim in failing(*stems) if claim.failure and where in claim.where}


def test_every_failure_says_in_three_short_sentences_where_it_begins_where_the_proof_breaks_and_what_holds_instead() -> None:
    for claim in failing():
        assert claim.failure is not None, str(claim)
        for sentence in (claim.failure.begins, claim.failure.breaks, claim.failure.instead):
            assert re.fullmatch(r"\S.*[^.]\.", sentence), sentence
            assert not re.search(r"[.?!] [A-Z]", sentence), f"one sentence: {sentence}"
            assert len(sentence) <= SHORT, sentence


def test_what_falls_with_another_statement_names_one_that_fails_by_itself() -> None:
    alone = {claim.where for claim in failing() if claim.failure and not claim.failure.rests_on}
    others = {claim.failure.rests_on for claim in failing() if claim.failure} - {""}
    assert others == {bucket_heavy_hitter.THEOREM_2_5}
    assert others <= alone


def test_the_page_starts_with_five_statements_that_fail_and_why() -> None:
    start = PAGE.split("## How to read it", maxsplit=1)[0]
    assert list(dict.fromkeys(re.findall(r"^\*\*(.+?)\*\*", start, re.MULTILINE))) == list(MATTER)
    assert len(MATTER) == 5
    told = {claim.where: claim.failure.told for claim in failing() if claim.failure and not claim.failure.rests_on}
    assert all(told[place] in start for place in MATTER)


def test_a_statement_that_falls_with_another_is_counted_and_listed_once() -> None:
    alone = PAGE.split("## What fails", maxsplit=1)[1].split("\n\n", maxsplit=3)[2]
    assert "HKR12 Theorem 2.5" in alone
    assert not any(f"| {place}" in alone for place in ("HKR12 Theorem 4.1", "HKR12 Theorem 4.3"))


COMPUTED = {
    "0.99715", "0.99674", "0.99838", "0.99859", "0.98941", "0.99275", "0.99526", "0.6761", "1.3521", "2.0045", "1.0003", "12.537",
    "0.6106", "0.2212", "0.4694", "0.1875", "0.140625",
}  # fmt: skip
"""The numbers that are computed again below."""


def test_every_number_that_a_beginning_names_to_some_digits_is_computed_again() -> None:
    assert {number for each in failures() for number in re.findall(r"\d+\.\d{4,}|\d\d\.\d{3}", each.begins)} == COMPUTED


# Where failures begin: every number that a sentence names, and what is computed of it.


def by_bits(which: str, delta: Fraction) -> bool | None:
    rows = bucket_heavy_hitter.theorem_4_3(bucket_heavy_hitter.Setting(EPSILON, delta, F(7, 8), 4, 10**6))
    return next(r for r in rows if r.sentence.endswith(which) and "whole" in r.reading).holds


def by_measurements(delta: Fraction) -> bool | None:
    rows = glps_heavy_hitter.theorem_4_1(glps_heavy_hitter.Setting(EPSILON, delta, MILLIONTH, 64, 1000))
    return next(r for r in rows if r.reading.endswith("noise for them")).holds


def lemma_3_1(reading: str, epsilon: Fraction, delta: Fraction, domain: int) -> bool | None:
    rows = jl_heavy_hitter.lemma_3_1(jl_heavy_hitter.Setting(epsilon, delta, TWENTIETH, domain, 2))
    return next(r for r in rows if r.reading == reading and r.sentence.endswith("two values, this public matrix")).holds


ONSETS: dict[str, Callable[[Fraction], bool | None]] = {
    "0.99715": lambda delta: bucket_heavy_hitter.theorem_2_5(EPSILON, delta, 12).holds,
    "0.99838": partial(by_bits, "two values, any public vectors"),
    "0.99859": partial(by_bits, "two values, these public vectors"),
    "0.98941": by_measurements,
    "0.99275": lambda delta: lemma_3_1(jl_heavy_hitter.ONE, EPSILON, delta, 10),
}
"""Deltas from which on the claim is certified to fail, and one unit below which it is certified to hold."""


@pytest.mark.parametrize("named", ONSETS)
def test_at_the_delta_that_is_named_the_claim_fails_and_just_below_it_holds(named: str) -> None:
    assert any(named in each.begins for each in failures("bucket_heavy_hitter", "glps_heavy_hitter", "jl_heavy_hitter"))
    assert ONSETS[named](F(named)) is False
    assert ONSETS[named](F(named) - ULP) is True


def test_the_products_are_certified_to_fail_at_the_delta_that_is_named_and_are_open_below() -> None:
    named = F("0.99526")
    assert any("0.99526 at the latest" in each.begins for each in failures("jl_heavy_hitter"))
    assert [lemma_3_1(jl_heavy_hitter.PRODUCTS, EPSILON, delta, 10) for delta in (named, named - ULP)] == [False, None]


def one_minus_delta(times: int, epsilon: float, delta: float) -> float:
    """Of randomized responses that Theorem 2.5 allows, by two binomial tails."""
    share = epsilon / np.sqrt(8 * times * -np.log(delta))
    truth = 1 / (1 + np.exp(-share))
    most = np.floor((epsilon / share + times) / 2)  # answers for the first input whose loss is at most epsilon
    return float(binom.cdf(most, times, truth) + np.exp(epsilon) * binom.sf(most, times, 1 - truth))


def test_two_binomial_tails_find_where_theorem_2_5_begins_to_fail_and_a_normal_law_its_limit() -> None:
    for delta, fails in ((0.99715, True), (0.99714, False)):
        assert (one_minus_delta(12, 0.999, delta) < 1 - delta) is fails
    (failure,) = failures("bucket_heavy_hitter", where=bucket_heavy_hitter.THEOREM_2_5)
    limit = float(re.findall(r"\d\.\d+", failure.begins)[-1])
    for delta, fails in ((limit, True), (limit - 1e-5, False)):
        mean = 1 / np.sqrt(-8 * np.log(delta))
        exceeds = norm.cdf(mean / 2 - 1 / mean) - np.e * norm.cdf(-mean / 2 - 1 / mean) > delta
        assert exceeds == fails
        assert (one_minus_delta(10**6, 1 - 1e-9, delta) < 1 - delta) is fails


def test_fresh_noise_fails_first_at_three_values_and_one_projection_holds_there() -> None:
    nine = F(9, 10)
    holds = {n: lemma_3_1(jl_heavy_hitter.FRESH, nine, MILLIONTH, n) for n in (2, 3, 4, 16)}
    assert holds == {2: True, 3: False, 4: False, 16: False}
    for reading in (jl_heavy_hitter.ONE, jl_heavy_hitter.PRODUCTS):
        assert lemma_3_1(reading, nine, MILLIONTH, 3) is True
        assert lemma_3_1(reading, nine, MILLIONTH, 10) is True


def test_votes_alone_refute_theorem_4_1_between_the_epsilons_that_are_named() -> None:
    (failure,) = failures("thresh")
    first, last = re.findall(r"\d\.\d{4}", failure.begins)
    unit = F(1, 10**4)
    for epsilon, assumed, refuted in (
        (F(first) - unit, False, True), (F(first), True, True), (F(last), True, True), (F(last) + unit, True, False),
    ):  # fmt: skip
        for start in (-1, 0):
            m = Thresh(800, 6, 190, epsilon, TWENTIETH, 800, start=start)
            assert m.votes == 1
            assert thresh.assumption(m).holds is assumed
            assert (m.differing_votes * m.a > epsilon) is refuted
            assert account(m).epsilon(0).low >= 2 * float(m.a)


def test_theorem_1_of_triehh_holds_is_open_and_fails_where_it_is_said() -> None:
    standings = {}
    for theta in range(10, 16):
        rows = printed_at("trie_heavy_hitter", TrieHeavyHitter(10**4, 100, theta, 1))
        (standings[theta],) = (
            row.standing.value for row in rows if row.where == "TRIEHH Theorem 1" and "more or less" in row.sentence
        )
    assert standings == {10: "holds", 11: "holds", 12: "open", 13: "open", 14: "open", 15: "FAILS"}
    (failure,) = failures("trie_heavy_hitter", where="Theorem 1")
    assert re.findall(r"\d+(?!\d* and L)", failure.begins)[-4:] == ["11", "12", "14", "15"]
    m, delta = TrieHeavyHitter(10**4, 100, 10, 1), F(8, 7 * factorial(10))
    assert account(m).epsilon(delta).high <= 0.0373 < account(m).epsilon(delta).high + 1e-4


def test_the_step_of_corollary_1_fails_from_the_number_of_users_that_is_named() -> None:
    delta = F(8, 7 * factorial(10))  # Theorem 1's at theta = 10
    (failure,) = failures("trie_heavy_hitter", where="Corollary 1")
    n = int(re.findall(r"\d+", failure.begins)[-1])
    assert isqrt(n) > 100
    assert F(1, 300 * (n - 1)) >= delta > F(1, 300 * n)
    for users in (10**4, n, 20_000, 10**5, 10**6 + 1, 10**9 + 1):
        theta = len(str(users - 1)) + 6
        assert F(theta - 2, (theta - 3) * factorial(theta)) <= F(1, 300 * users)


@pytest.mark.parametrize(("k", "exponent", "value"), [(2, "proof", "2.0045"), (4, "proof", "1.0003"), (2, "printed", "12.537")])
def test_the_constants_of_lemma_4_5_are_those_that_are_named(k: int, exponent: str, value: str) -> None:
    assert any(value in each.begins for each in failures("bucket_heavy_hitter", where="Lemma 4.5"))
    low, _ = constant({"k": k, "exponent": exponent, "root": {2: "2.50662827", 4: "3.54490769"}[k]})
    assert F(value) <= low < F(value) + F(1, 10 ** len(value.split(".")[1]))


def test_a_laplace_report_s_ratio_is_above_its_half_more_often_than_delta_and_what_holds_instead_holds() -> None:
    (failure,) = failures("laplace", where="Theorem 3.3")
    below, delta = laplace.cdf(0.25), laplace.cdf(0.25) - np.exp(0.5) * laplace.cdf(0.25, loc=1)
    assert [f"{x:.4f}" for x in (below, delta)] == re.findall(r"0\.\d{4}", failure.begins)
    for half in (0.05, 0.25, 0.5, 2.0):  # of noise for 2 half, the ratio at x is e^(2 half (1 - 2 x)) on [0, 1]
        delta = 1 - np.exp(-half / 2)
        assert 1 - np.exp(-half / 2) / 2 > delta
        for epsilon in (half / 4, half / 3, 0.9 * half):
            above = laplace.cdf((1 - epsilon / half) / 2, scale=1 / (2 * half))
            assert above <= (1 - np.exp(epsilon / 2 - half)) / (1 - np.exp(-epsilon))


@pytest.mark.parametrize("gamma", [F(1, 50), F(1, 7), F(1, 10**5)])
def test_a_blanket_is_below_its_mean_with_the_probability_that_is_named_and_at_every_gamma(gamma: Fraction) -> None:
    (failure,) = failures("shuffled_count_min", where="Section 1")
    short = binom.cdf(ceil(gamma * 1000) - 1, 1000, float(gamma))
    assert short > 0.01
    assert gamma != F(1, 50) or f"{short:.4f}" in failure.begins


def test_two_users_hide_less_than_three_by_enumeration() -> None:
    (failure,) = failures("subset_selection", where="Lemma 3.19")
    found = [max(binary(F(3, 4), n, F(2))[:: n - 1]) for n in (2, 3)]  # where all others hold one value
    assert [str(float(delta)) for delta in found] == re.findall(r"0\.\d{3,}", failure.begins)
    (row,) = subset_selection.printed(subset_selection.Setting(users=3, active=2))
    assert (row.found.low, row.claimed) == pytest.approx(tuple(map(float, found)), rel=1e-12)
