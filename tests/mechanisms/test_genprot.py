"""GenProt: its law by listing all coins, its cost by listing all public draws, its utility, and what it is built on."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ldpaudit import Enclosure, Mechanism, Rigour, Unsupported, account, certify, strategies
from ldpaudit.accountants import genprot as accountant
from ldpaudit.accountants.claims import genprot as claims
from ldpaudit.accountants.claims.sentence import Standing
from ldpaudit.files.deployment import loads
from ldpaudit.mechanisms import Channel, GenProt, GenProtBit, KaryRandomizedResponse
from ldpaudit.mechanisms.genprot import chance
from ldpaudit.mechanisms.shared.approximate_randomizers import LeakyResponse, ShiftedBinomial
from tests.helpers import deployment, raises
from tests.oracles.shuffle import law_of
from tests.samples import around, fits

QUARTER = Fraction(1, 4)
RESPONSE = GenProt(KaryRandomizedResponse(2, Fraction(3, 5)), QUARTER, 3)
LEAKY = GenProt(LeakyResponse(2, Fraction(11, 20), Fraction(1, 10)), QUARTER, 3)
SHIFTED = GenProt.of_binomial(QUARTER, 6, 3, bottom=0)
THREE_BASES = (RESPONSE, LEAKY, SHIFTED)


def transcripts(m: GenProt, x: int) -> Iterator[tuple[tuple[int, ...], int, Fraction]]:
    """All public draws, all coins and all choices: the draws, the position sent, and the probability."""
    _, public, accepted = m.table
    for drawn in product(range(len(public)), repeat=m.slots):
        seen = math.prod((public[i] for i in drawn), start=Fraction(1))
        for coins in product((False, True), repeat=m.slots):
            said = [accepted[x][i] if coin else 1 - accepted[x][i] for i, coin in zip(drawn, coins, strict=True)]
            heard = [t for t, coin in enumerate(coins) if coin] or list(range(m.slots))
            for position in heard:
                yield drawn, position, seen * math.prod(said, start=Fraction(1)) / len(heard)


def whole_law(m: GenProt, x: int) -> dict[tuple[int, ...], Fraction]:
    return law_of(((*drawn, position), p) for drawn, position, p in transcripts(m, x))


@pytest.mark.parametrize("m", THREE_BASES, ids=str)
def test_the_law_is_that_of_all_coins_and_choices(m: GenProt) -> None:
    for x in m.inputs:
        assert dict(m.law(x).items()) == whole_law(m, x)


@pytest.mark.parametrize("m", [*THREE_BASES, replace(LEAKY, slots=2), replace(RESPONSE, bottom=1)], ids=str)
def test_epsilon_is_the_largest_loss_of_all_transcripts_and_delta_is_that_of_fresh_draws_or_the_worst(m: GenProt) -> None:
    laws = {x: whole_law(m, x) for x in m.inputs}
    pairs = list(permutations(m.inputs, 2))
    worst = max(laws[x][view] / laws[other][view] for x, other in pairs for view in laws[x])
    found = account(m).epsilon(0)
    assert found.rigour is Rigour.EXACT
    assert around(found, math.log(worst))
    for epsilon in (0.0, found.high / 3):
        gains = {pair: {v: laws[pair[0]][v] - Fraction(math.exp(epsilon)) * laws[pair[1]][v] for v in laws[0]} for pair in pairs}
        fresh = max(sum(max(gain, Fraction(0)) for gain in each.values()) for each in gains.values())
        every = list(product(range(len(m.table.public)), repeat=m.slots))
        given = max(delta_given(m, drawn, gains[pair]) for pair in pairs for drawn in every)
        for profile, value in ((account(m), fresh), (accountant.worst_draws(m), given)):
            delta = profile.delta(epsilon)
            assert (delta.low, delta.high) == pytest.approx((float(value), float(value)), rel=1e-12)


def delta_given(m: GenProt, drawn: tuple[int, ...], gains: dict[tuple[int, ...], Fraction]) -> Fraction:
    seen = math.prod((m.table.public[i] for i in drawn), start=Fraction(1))
    return sum((max(gains[*drawn, t], Fraction(0)) for t in range(m.slots)), Fraction(0)) / seen


@pytest.mark.parametrize(("found", "value"), [
    (claims.box_of_any(QUARTER, 5), 1.8370699706982006),
    (claims.box_of_any(QUARTER, 20), 1.9993404858218963),
    (account(GenProt.of_response(QUARTER, 2, 20)).epsilon(0), 0.49999604484532258),
    (account(GenProt.of_response(QUARTER, 2, 5, bottom=0)).epsilon(0), 0.48940196837453588),
    (account(GenProt.of_binomial(QUARTER, 8, 4, bottom=0)).epsilon(0), 0.41705545492763986),
    (claims.distance(GenProt.of_binomial(QUARTER, 8, 4, bottom=0)), 0.2255859375),
    (claims.distance(GenProt.of_response(QUARTER, 2, 5, bottom=0)), 0.007772062610724763),
    (claims.distance(GenProt.of_response(QUARTER, 2, 20, bottom=0)), 2.0**-19 * math.tanh(0.125)),
])  # fmt: skip
def test_the_specified_numbers_are_found(found: Enclosure, value: float) -> None:
    assert found.low == pytest.approx(value, rel=1e-14)
    assert found.high == pytest.approx(value, rel=1e-14)


def test_the_form_with_one_bit_costs_what_is_specified_on_any_base() -> None:
    assert claims.bit_of_any(QUARTER).high == pytest.approx(1.37797, abs=5e-6)
    for m in (GenProtBit.of_response(QUARTER, 2), GenProtBit(LeakyResponse(3, Fraction(2, 5), QUARTER), QUARTER)):
        answers = m.table.accepted.values()
        losses = [math.log(p / q) for a, b in permutations(answers, 2) for p, q in zip(a, b, strict=True)]
        losses += [math.log((1 - p) / (1 - q)) for a, b in permutations(answers, 2) for p, q in zip(a, b, strict=True)]
        assert account(m).epsilon(0).high == pytest.approx(max(losses), rel=1e-12)
        assert account(m).epsilon(0).high < claims.bit_of_any(QUARTER).high


@given(st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20), st.lists(st.tuples(
    st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20), st.integers(1, 3)), min_size=1, max_size=3))  # fmt: skip
def test_the_probability_of_a_position_by_the_integral_is_that_by_the_count(
    own: Fraction, others: list[tuple[Fraction, int]]
) -> None:
    alone = tuple(p for p, times in others for _ in range(times))
    assert accountant.position(own, others) == chance(own, alone)
    rest, times = others[0]
    assert accountant.beside_equals(own, rest, times + 1) == chance(own, (rest,) * times)
    raised = (alone[0] + Fraction(1, 100), *alone[1:])
    assert chance(own, raised) < chance(own, alone) < chance(own + Fraction(1, 100), alone), "monotone in every draw"


@given(strategies.channels(inputs=3, views=3), st.integers(2, 4))
def test_no_base_costs_more_than_the_box_of_its_probabilities_or_of_its_clip_interval(
    rows: list[list[Fraction]], slots: int
) -> None:
    m = GenProt(Channel(rows), QUARTER, slots)
    found = account(m).epsilon(0).high
    assert found <= math.log(accountant.box(m.lowest, m.highest, slots)) * (1 + 1e-12)
    assert found <= claims.box_of_any(QUARTER, slots).high
    assert math.exp(-0.5) / 2 <= m.lowest <= m.highest <= math.exp(0.5) / 2


def test_the_box_rises_with_the_number_of_draws_to_eight_epsilon_and_never_to_ten() -> None:
    found = [claims.box_of_any(QUARTER, slots).high for slots in (2, 3, 5, 7, 20, 100, 500)]
    assert found == sorted(found)
    assert found[-1] == pytest.approx(2.0, abs=1e-12)
    assert claims.box_of_any(Fraction(1, 100), 400).high == pytest.approx(0.08, rel=1e-9)


def test_where_choices_of_the_draws_are_too_many_the_exact_value_lies_between_one_kind_and_the_box(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = 0
    for m in (GenProt.of_binomial(QUARTER, 12, 3), GenProt.of_response(QUARTER, 3, 5), SHIFTED):
        exact = account(m).epsilon(0)
        with monkeypatch.context() as few:
            few.setattr(accountant, "_MOST_WORK", 0)
            rough = account(m)
        assert exact.rigour is Rigour.EXACT
        assert rough.epsilon(0).low <= exact.low <= exact.high <= rough.epsilon(0).high
        assert rough.delta(0.1).low <= account(m).delta(0.1).low
        assert account(m).delta(0.1).high <= rough.delta(0.1).high
        kept += rough.epsilon(0).rigour is Rigour.EXACT
        assert rough.epsilon(0).low > 0.8 * exact.low
    assert kept == 1, "of randomized response both ends meet"


def test_many_draws_are_accounted_without_listing_them() -> None:
    found = account(GenProt.of_response(QUARTER, 2, 512)).epsilon(0)
    assert found.rigour is Rigour.EXACT
    assert found.high == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("m", THREE_BASES, ids=str)
def test_the_law_of_the_report_is_that_of_all_transcripts(m: GenProt) -> None:
    for x in m.inputs:
        assert law_of((m.table.outputs[drawn[position]], p) for drawn, position, p in transcripts(m, x)) == m.reported(x)


SKEWED = Channel("1/2, 1/3, 1/6; 1/5, 2/5, 2/5")
"""Of which only some ratios are clipped, and not as many up as down."""


@pytest.mark.parametrize("m", [GenProtBit(LEAKY.base, QUARTER), GenProtBit(SKEWED, QUARTER, bottom=0)], ids=str)
def test_an_accepted_draw_of_the_form_with_one_bit_has_the_law_that_it_says(m: GenProtBit) -> None:
    for x in m.inputs:
        heard = {y: p for (y, bit), p in m.law(x).items() if bit}
        whole = sum(heard.values())
        assert whole == m.acceptance(x)
        assert (whole == Fraction(1, 2)) is (m.base is not SKEWED or x == m.bottom)
        assert {m.table.outputs[y]: p / whole for y, p in heard.items()} == m.reported(x)


def test_where_nothing_is_clipped_the_distance_is_two_to_the_one_minus_t_times_that_of_the_public_law() -> None:
    for slots in (2, 7, 20):
        m = GenProt.of_response(QUARTER, 3, slots, bottom=2)
        law, public = (dict(m.base.law(x).items()) for x in (0, 2))
        apart = sum(abs(law[y] - public[y]) for y in law) / 2
        assert claims.distance(m).low == pytest.approx(float(Fraction(2, 2**slots) * apart), rel=1e-12)
        assert claims.nothing_accepted(m).high == 2.0**-slots


def test_the_whole_system_counts_as_the_base_does() -> None:
    data, rng = [0] * 30_000 + [1] * 10_000, np.random.default_rng(3)
    m = GenProt(KaryRandomizedResponse(2, Fraction(3, 5)), QUARTER, 12)
    deviation = math.sqrt(40_000 * 0.24) / 0.2
    assert abs(m.run(data, rng)[1] - 10_000) < 5 * deviation
    halved = GenProtBit(m.base, QUARTER).run(data, rng)
    assert abs(halved[1] - 10_000) < 5 * 2 * deviation
    assert halved.sum() == pytest.approx(40_000, abs=5 * 200)
    assert m.truth([0, 1, 1]).tolist() == [1, 2]


def test_what_leaks_is_no_more_likely_to_be_accepted_than_refused() -> None:
    outputs, _, accepted = LEAKY.table
    shown = {y: (accepted[0][i], accepted[1][i]) for i, y in enumerate(outputs)}
    assert shown[2] == shown[3] == (Fraction(1, 2), Fraction(1, 2))
    assert account(LEAKY.base).epsilon(0).high == math.inf
    assert account(LEAKY).epsilon(0).high < 0.5


def test_nothing_is_accepted_as_often_as_by_the_input_that_accepts_least() -> None:
    one = GenProtBit(SKEWED, QUARTER, bottom=0)
    chances = [sum((p for (_, bit), p in one.law(x).items() if not bit), Fraction(0)) ** 3 for x in one.inputs]
    found = claims.nothing_accepted(GenProt(SKEWED, QUARTER, 3, bottom=0))
    assert min(chances) < found.low <= max(chances) <= found.high


def test_a_ratio_is_clipped_where_it_passes_e_to_two_epsilon_on_either_side() -> None:
    inside, outside = Fraction(1648, 1000), Fraction(1649, 1000)  # e**(1/2) = 1.6487
    for ratio, kept in ((inside, True), (1 / inside, True), (outside, False), (1 / outside, False)):
        p = ratio / (1 + ratio)
        m = GenProt(KaryRandomizedResponse(2, max(p, 1 - p)), QUARTER, 2, bottom=1)
        (above, below) = m.table.accepted[0]
        assert ((above, below) == (max(ratio, 1 / ratio) / 2, min(ratio, 1 / ratio) / 2)) is kept
        assert ((above, below) == (Fraction(1, 2), Fraction(1, 2))) is not kept


def test_a_user_sends_as_many_bits_as_positions_need() -> None:
    assert [replace(RESPONSE, slots=slots).bits for slots in (2, 3, 4, 5, 20, 512)] == [1, 2, 2, 3, 5, 9]


@pytest.mark.parametrize("base", [ShiftedBinomial(6), LeakyResponse(3, Fraction(1, 2), Fraction(1, 5))], ids=str)
def test_a_base_draws_from_its_law_and_estimates_without_bias(base: Mechanism) -> None:
    rng = np.random.default_rng(5)
    for x in base.inputs:
        law = dict(base.law(x).items())
        assert sum(law.values()) == 1
        assert fits(Counter(np.asarray(base.sample(x, 50_000, rng)).tolist()), law)
        mean = sum((float(p) * base.estimate(np.array([y])) for y, p in law.items()), np.zeros(len(base.inputs)))
        assert mean == pytest.approx([float(x == each) for each in base.inputs], abs=1e-12)


def test_the_leaking_response_has_the_epsilon_and_delta_that_it_is_made_for() -> None:
    base = LeakyResponse.for_epsilon(QUARTER, 2, Fraction(1, 100))
    found = account(base).delta(QUARTER)
    assert found.low == pytest.approx(0.01, rel=1e-14)
    assert found.high == 0.01
    assert account(base).delta(0.249).low > 0.01


def test_a_base_of_too_many_inputs_is_refused() -> None:
    raises(Unsupported, "more than 1024 inputs", account, GenProt.of_response(QUARTER, 10**9, 3))


DEPLOYED = deployment(
    'kind = "genprot"\nepsilon = "1/4"\nk = 2\nslots = 5\nleak = "1/1000"',
    'id = "ten"\nepsilon = "5/2"\n[[claims]]\nid = "two"\nepsilon = "1/2"',
)


@pytest.mark.slow
def test_a_deployment_file_names_the_base_by_its_parameters_and_the_claim_is_proved() -> None:
    whole = loads(DEPLOYED)
    assert whole.claims[0].plan.mechanism == GenProt.of_response(QUARTER, 2, 5, Fraction(1, 1000))  # type: ignore[attr-defined]
    assert [claim.verdict.name for claim in certify(whole, seed=1, trials=2_000).claims] == ["PROVED", "PROVED"]


def test_where_a_hypothesis_fails_nothing_is_claimed() -> None:
    few, loud = (claims.printed(claims.Setting(e, slots, k=2)) for e, slots in ((QUARTER, 6), (Fraction(3, 10), 20)))
    assert {each.standing for each in (*few[:4], *loud[:4])} == {Standing.OUTSIDE}


@pytest.mark.parametrize("given_", [{}, {"k": 2, "trials": 8}, {"trials": 8, "leak": Fraction(1, 2)}])
def test_a_setting_names_one_base(given_: dict[str, Any]) -> None:
    raises(ValueError, "needs k, with a leak or without, or trials", claims.Setting, QUARTER, 7, **given_)


def test_a_constructor_hands_on_what_an_absent_user_holds() -> None:
    assert {m.bottom for m in (GenProtBit.of_binomial(QUARTER, 6, bottom=1), GenProt.of_binomial(QUARTER, 6, 3, bottom=1))} == {1}
