"""Sums without the reports that have too many ones, against brute force over all data sets and outcomes."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from ldpaudit import Aggregate, Mechanism, Repeat, Unsupported, account, audit
from ldpaudit.accountants.aggregation.filtered import left_out
from ldpaudit.accountants.rappor import summands as of_rappor
from ldpaudit.accountants.unary_encoding import summands
from ldpaudit.attacks.games import summed as game
from ldpaudit.attacks.games.stems import attack_on
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms import BinomialNoise, CountMeanSketch, DiscreteLaplace, Geometric, PermanentRappor, Rappor, UnaryEncoding
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, group
from ldpaudit.profile import DataSet, Witness
from tests.aggregation.test_exchanged import noise_of
from tests.attacks.test_shuffled import DRAWS, OFF
from tests.helpers import raises, some
from tests.oracles.shuffle import law_of
from tests.oracles.sums import Outcomes, neighbouring, summed, together, worst, worst_of_both
from tests.samples import near

F = Fraction
ROUNDED = F(1, 10**12)
"""Of floats."""
RUNS, SURE = 4000, 5
"""Runs of a system; a mean is within 5 standard errors but once in a million."""
ratios = st.sampled_from([F(1), F(6, 5), F(3, 2), F(5), F(40)])


def filtered(m: Mechanism, most: int) -> Any:
    """The mechanism whose reports are counted where they are accepted, and are nothing else where they are not."""

    def law(x: Any) -> Outcomes:
        return law_of(((*y, 1) if sum(y) <= most else (0,) * (len(y) + 1), p) for y, p in m.law(x).items())

    return SimpleNamespace(summed="vector", inputs=m.inputs, law=law)


@given(
    st.sampled_from([(F(3, 4), F(1, 4)), (F(1, 2), F(1, 100)), (F(9, 10), F(1, 1000)), (F(99, 100), F(1, 50))]),
    st.integers(1, 3), st.integers(1, 2), ratios, st.booleans(), st.booleans(),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
@example((F(1, 2), F(1, 100)), 3, 2, F(3, 2), False, False)
@example((F(1, 2), F(1, 100)), 3, 2, F(3, 2), True, False)
def test_a_filtered_sum_costs_what_brute_force_over_all_data_sets_and_outcomes_finds(
    bits: tuple[Fraction, Fraction], users: int, most: int, x: Fraction, deletion: bool, noisy: bool
) -> None:
    m, relation = UnaryEncoding(3, *bits), ADD_REMOVE if deletion else REPLACE_ONE
    noise = (BinomialNoise(1, F(1, 3)),) * (noisy and users < 3)
    added = together(noise_of(1, F(1, 3), 3), {(0,): F(1)}) if noise else None  # the number of accepted reports has none
    truth = worst(filtered(m, most), users, x, deletion, added)
    found = account(Aggregate(m, users, noise, most), relation).delta(math.log(x))
    slack = users * left_out(summands(m, relation), most)
    assert near(found, truth, ROUNDED)
    assert found.high - found.low <= (2 + x) * slack + ROUNDED, "no further apart than what the filter may change"
    assert found.high <= account(m, relation).delta(math.log(x)).high


@pytest.mark.parametrize("x", [F(1), F(2), F(20)])
def test_rounds_are_filtered_one_by_one(x: Fraction) -> None:
    m, most = UnaryEncoding(3, F(9, 10), F(1, 50)), 1
    truth = worst_of_both(neighbouring(filtered(m, most), 2), neighbouring(filtered(m, most), 2), x)
    found, whole = (account(Repeat(plan, 2)).delta(math.log(x)) for plan in (Aggregate(m, 2, (), most), Aggregate(m, 2)))
    assert near(found, truth, ROUNDED)
    if found.low > 0:
        assert float(whole.low - found.low) == pytest.approx(float(4 * left_out(summands(m, REPLACE_ONE), most)), rel=1e-9)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("m", [UnaryEncoding(4, F(3, 4), F(1, 5)), PermanentRappor(6, 2, F(1, 3), domain=9)], ids=str)
def test_the_chance_of_too_many_ones_is_that_of_the_input_with_the_most(m: UnaryEncoding | PermanentRappor, most: int) -> None:
    known = some(summands(m, REPLACE_ONE) if isinstance(m, UnaryEncoding) else of_rappor(m, REPLACE_ONE))
    exact = max(sum(p for y, p in m.law(x).items() if sum(y) > most) for x in m.inputs)
    assert exact <= left_out(known, most) <= exact * (1 + ROUNDED)


def test_a_filter_that_accepts_all_changes_nothing_and_a_lenient_one_little() -> None:
    m, delta = UnaryEncoding.flips(F(1, 150), 64), 1e-6
    whole, all_, most, some = (account(Aggregate(m, 10**4, (), ones)).epsilon(delta) for ones in (None, 64, 16, 11))
    assert all_ == whole
    assert whole.low * 0.999 < most.low < whole.low <= whole.high < most.high < 1.001 * whole.high
    assert some.low < most.low < most.high < some.high
    profile = account(Aggregate(m, 10**4, (), 11))
    assert profile.delta(some.high).high <= delta < profile.delta(some.high * 0.9999).high
    assert profile.delta(F(some.high) + F(1, 10**17)).high == profile.delta(some.high).high  # the float below, not the one above
    assert 0 < F(profile.delta(0.2).low) <= F(profile.whole.delta(0.2).low) - profile.chance  # type: ignore[attr-defined]
    highs = [profile.delta(epsilon).high for epsilon in (0, 0.5, 1, 2, 4, 8)]
    assert highs == sorted(highs, reverse=True), "it does not grow where the bound does"
    assert account(Aggregate(m, 10**4, (), 1)).epsilon(delta).high == account(m).epsilon(delta).high
    assert most.high < account(Aggregate(m, 10**4, (), 16), group(2)).epsilon(delta).high < 3 * most.high


def test_at_delta_0_a_filter_hides_nothing_of_reports_whose_telling_ones_it_accepts() -> None:
    m = UnaryEncoding(5, F(3, 4), F(1, 5))
    assert account(Aggregate(m, 3, (), 1)).epsilon(0) == account(m).epsilon(0)
    bits = PermanentRappor(6, 2, F(1, 2), domain=9)
    few, enough = (account(Aggregate(bits, 3, (), most)).epsilon(0) for most in (1, 2))
    assert (few.low, few.high) == (0, enough.high)
    assert enough == account(bits).epsilon(0)
    noisy = account(Aggregate(m, 3, [BinomialNoise(9, F(1, 2))], 1)).epsilon(0)
    assert (noisy.low, noisy.high) == (0, account(m).epsilon(0).high)


def test_accepted_reports_are_drawn_as_they_are() -> None:
    m, most, rng = UnaryEncoding(3, F(3, 4), F(1, 4)), 1, np.random.default_rng(5)
    counts = {0: 30, 2: 10}
    found = np.array([Aggregate(m, 40, (), most).run(counts, rng) for _ in range(RUNS)])
    wanted, variance = np.zeros(3), np.zeros(3)
    for x, users in counts.items():
        law = [((np.array(y) - float(m.q)) / float(m.p - m.q), float(p)) for y, p in m.law(x).items() if sum(y) <= most]
        mean = sum((p * y for y, p in law), np.zeros(3))
        wanted += users * mean
        variance += users * (sum((p * y**2 for y, p in law), np.zeros(3)) - mean**2)
    assert np.all(np.abs(found.mean(axis=0) - wanted) < SURE * np.sqrt(variance / RUNS))
    assert np.all(np.abs(found.var(axis=0) / variance - 1) < SURE * math.sqrt(4 / RUNS))


@pytest.mark.parametrize(
    "m",
    [KaryRandomizedResponse(3, F(1, 2)), Geometric(3, F(1, 2)), CountMeanSketch(4, 3, F(2, 3), 5),
     Rappor(4, 1, F(1, 2), F(1, 4), F(3, 4), 2, domain=4)], ids=str,
)  # fmt: skip
def test_only_reports_of_bits_are_filtered(m: Mechanism) -> None:
    plan = Aggregate(m, 4, (), 2)
    raises(Unsupported, "leaving out reports with many ones is accounted for where reports are independent bits", account, plan)
    with pytest.raises(Unsupported, match="reports with many ones are left out where they are rows of bits"):
        plan.run({m.inputs[0]: 4}, np.random.default_rng(0))


def test_a_filter_has_a_number() -> None:
    m = UnaryEncoding(3, F(3, 4), F(1, 4))
    assert str(Aggregate(m, 9, (), 2)).endswith("users=9, most_ones=2)")
    for most in (0, -1):
        raises(ValueError, "Aggregate needs 1 <= most_ones", Aggregate, m, 9, most_ones=most)
    raises(Unsupported, "at most 1073741824 bits", Aggregate(m, 10**9, (), 2).run, {0: 10**9}, np.random.default_rng(0))


@pytest.mark.parametrize("m", [UnaryEncoding(4, F(2, 3), F(1, 5)), PermanentRappor(5, 2, F(1, 2), domain=3)], ids=str)
@pytest.mark.parametrize("most", [1, 2])
def test_sums_from_which_reports_are_left_out_are_drawn_as_they_are(m: Mechanism, most: int) -> None:
    x, y, *_ = attack_on(m).pair
    third = next(z for z in m.inputs if z not in (x, y))
    plan = Aggregate(m, 3, (), most)
    witness = Witness(plan, (DataSet.of({x: 2, third: 1}), DataSet.of({x: 1, y: 1, third: 1})), "the sum")
    bits = some(game._summands(m, [x, y, third], most))
    places = tuple(bits.at)[:2]
    reports = [
        law_of((tuple(row[place] if sum(row) <= most else 0 for place in places), p) for row, p in m.law(own).items())
        for own in (x, x, third)
    ]
    drawn = np.column_stack(game.Dependent(some(bits.together), witness, places).draw(0, DRAWS, np.random.default_rng(3)))
    found = Counter(map(tuple, drawn.tolist()))
    assert all(abs(found[outcome] / DRAWS - share) < OFF for outcome, share in summed(reports).items())


FLIPS = UnaryEncoding.flips(F(1, 50), 8)


@pytest.mark.few(1)
@pytest.mark.parametrize("code", [None, lambda x, size, rng: FLIPS.sample(x, size, rng)])
def test_the_audit_of_a_filtered_sum_comes_close_to_what_is_certified_and_not_above(code: Any) -> None:
    for plan in (Aggregate(FLIPS, 50, (), 3), Aggregate(FLIPS, 50, [DiscreteLaplace(F(1, 2))], 3), Aggregate(FLIPS, 1, (), 3)):
        exact = account(plan).epsilon(1e-2)
        found = audit(plan, implementation=code, delta=1e-2, trials=200_000, mode=Mode.FIXED, confidence=0.999).epsilon_lower
        assert 0.6 * exact.low < found <= exact.high
    with pytest.raises(Unsupported, match="no attack on sums of this mechanism's reports"):
        audit(Aggregate(KaryRandomizedResponse(3, F(1, 2)), 4, (), 2))


def test_a_witness_is_of_the_plan_also_where_no_report_is_left_out() -> None:
    plan = Aggregate(FLIPS, 50, (), 8)
    assert some(account(plan).witness(0.5)).plan == plan
