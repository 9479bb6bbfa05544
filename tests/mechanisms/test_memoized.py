"""Bits and responses that are kept value by value: against an enumeration of all pairs of streams, and the numbers of peers."""

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from ldpaudit import Repeat, Rigour, Run, Unsupported, account, audit
from ldpaudit.accountants import local_hashing
from ldpaudit.accountants.composition import memoized_answers, memoized_bits
from ldpaudit.accountants.composition.memoized_answers import MemoizedAnswers
from ldpaudit.accountants.composition.memoized_bits import MOST_EPOCHS, MemoizedNoise, lifetime_epsilon
from ldpaudit.accountants.memoized_bit import kept, repeated, same_pattern
from ldpaudit.attacks.games.stems import attack_on
from ldpaudit.mechanisms import KaryRandomizedResponse, LolohaStream, MemoizedBit, MemoizedDBitFlip, MemoizedResponse
from ldpaudit.mechanisms.memoized_bit import Stream, all_streams
from ldpaudit.mechanisms.memoized_response import Memoizing, over_epochs
from ldpaudit.neighbours import SAME_PATTERN, USER_LEVEL
from tests.samples import around, meet

HALF = Fraction(1, 2)
BIT = MemoizedBit(2, HALF, HALF, Fraction(3, 4))
SLACK = 1e-9


def all_laws(m: MemoizedBit) -> list[list[Fraction]]:
    """Of all streams, up to the names of values."""
    return [[m.law(x).probability(y) for y in product((0, 1), repeat=m.epochs)] for x in all_streams(m.epochs)]


@pytest.mark.parametrize("m", [
    MemoizedBit(4, HALF, HALF, Fraction(3, 4)), MemoizedBit(4, Fraction(9, 10), Fraction(1, 20), Fraction(19, 20)),
    MemoizedBit(3, Fraction(9, 10), Fraction(1, 20), Fraction(4, 5)), MemoizedBit(3, Fraction(0), Fraction(1, 5), Fraction(1, 3)),
    MemoizedBit(4, Fraction(19, 20), Fraction(1, 3), Fraction(2, 3)), MemoizedBit(1, HALF, HALF, Fraction(3, 4)),
    MemoizedBit(2, Fraction(9, 10), Fraction(13, 20), Fraction(9, 10)), MemoizedBit(3, HALF, Fraction(2, 5), Fraction(19, 20)),
    *(MemoizedBit(3, lost, Fraction(1, 3**999), Fraction(9, 10)) for lost in map(Fraction, ("0", "1e-6", "1e-400"))),
], ids=str)  # fmt: skip
def test_no_two_streams_are_told_apart_better_than_the_lifetime_s_epsilon_and_some_are_as_well(m: MemoizedBit) -> None:
    found = lifetime_epsilon(MemoizedNoise(m.f / 2, m.p, m.q), m.epochs)
    ratio = max(max(seen) / min(seen) for seen in zip(*all_laws(m), strict=True))  # which may be beyond floats
    truth = math.log(ratio.numerator) - math.log(ratio.denominator)
    assert found.low - SLACK <= truth <= found.high + SLACK
    assert found.high - found.low < SLACK
    assert account(m).epsilon(0).low == pytest.approx(truth, abs=SLACK)


@pytest.mark.parametrize("m", [
    MemoizedBit(3, Fraction(0), Fraction(1, 5), Fraction(1, 3)), MemoizedBit(4, HALF, HALF, Fraction(3, 4)),
    MemoizedBit(4, Fraction(1, 10), Fraction(2, 5), Fraction(5, 6)),
    *(pytest.param(m, marks=pytest.mark.slow)
      for m in (MemoizedBit(5, Fraction(4, 5), Fraction(1, 3), Fraction(2, 3)), MemoizedBit(5, HALF, HALF, Fraction(3, 4)))),
], ids=str)  # fmt: skip
def test_a_few_epochs_cost_what_the_worst_of_all_streams_do(m: MemoizedBit) -> None:
    laws, found = np.array(all_laws(m), dtype=np.float64), account(m)
    for epsilon in (0.0, found.epsilon(0).high / 3, found.epsilon(0).high * 0.8):
        truth = max(np.maximum(law - math.exp(epsilon) * laws, 0.0).sum(axis=1).max() for law in laws)
        assert around(found.delta(epsilon), float(truth))
        assert found.delta(epsilon).rigour is Rigour.EXACT


def test_a_search_agrees_with_the_closed_form_where_values_that_never_repeat_are_the_least_likely() -> None:
    noise = MemoizedNoise(Fraction(1, 4), HALF, Fraction(3, 4))
    for epochs in (1, 2, 12, 30):
        searched, closed = memoized_bits._searched(noise, epochs), lifetime_epsilon(noise, epochs)
        assert meet(searched, closed)
        assert searched.high - searched.low < SLACK


def test_between_streams_of_the_same_pattern_memoization_costs_what_is_published() -> None:
    assert same_pattern(BIT, [1]).epsilon(0).high == pytest.approx(0.3364722, abs=5e-8)
    assert same_pattern(BIT, [7]).epsilon(0).high == pytest.approx(1.0780460, abs=5e-8)
    assert kept(BIT).high == pytest.approx(1.0986123, abs=5e-8)
    assert same_pattern(BIT, [1, 1]).epsilon(0).high == pytest.approx(0.67294, abs=5e-6)
    assert same_pattern(BIT, [3, 2]).epsilon(0).high == pytest.approx(
        same_pattern(BIT, [3]).epsilon(0).high + same_pattern(BIT, [2]).epsilon(0).high, abs=SLACK)  # fmt: skip


@pytest.mark.parametrize("times", [1, 2, 3])
def test_where_ones_tell_more_than_zeros_a_value_costs_most_where_all_reports_are_ones(times: int) -> None:
    f, p, q = Fraction(1, 5), Fraction(1, 10), Fraction(3, 5)
    m = MemoizedBit(2, f, p, q)

    def told(ratio: Fraction) -> Fraction:
        return ((1 - f / 2) + f / 2 * ratio**times) / (f / 2 + (1 - f / 2) * ratio**times)

    ones, zeros = 1 / told(q / p), told((1 - q) / (1 - p))
    assert ones > zeros
    assert same_pattern(m, [times]).epsilon(0).high == pytest.approx(math.log(ones), rel=1e-12)
    # At delta above 0 too, against all words of reports of both inputs.
    laws = [[sum(kept * math.prod(c if y else 1 - c for y in word) for kept, c in zip(shares, (p, q), strict=True))
             for word in product((0, 1), repeat=times)] for shares in ((1 - f / 2, f / 2), (f / 2, 1 - f / 2))]  # fmt: skip
    found = same_pattern(m, [times]).delta(0.25)
    truth = max(sum(max(0.0, a - math.exp(0.25) * b) for a, b in zip(x, y, strict=True)) for x, y in (laws, laws[::-1]))
    assert around(found, truth)


def test_against_any_pattern_memoization_costs_more_and_ever_more() -> None:
    assert account(BIT).epsilon(0).high == pytest.approx(0.73237, abs=5e-6)
    month, year = (account(MemoizedBit(epochs, HALF, HALF, Fraction(3, 4))).epsilon(0) for epochs in (30, 365))
    # All zeros, under a value of bit 0 held throughout and under 30 values of bit 1.
    assert month.low == pytest.approx(math.log((0.75 * 0.5**30 + 0.25 * 0.25**30) / 0.3125**30), abs=SLACK)
    assert year.low > 12 * month.low
    # All ones, under one value of bit 1 and under 30 of them: even streams of equal bits are told apart.
    ones = math.log((0.75 * 0.75**30 + 0.25 * 0.5**30) / 0.6875**30)
    assert ones == pytest.approx(2.3227, abs=5e-5)
    assert month.low > ones


def test_the_profile_of_two_streams_is_that_of_their_laws() -> None:
    m = MemoizedBit(4, HALF, HALF, Fraction(3, 4))
    streams = ((0,) * 4, (1, 3, 5, 7), (1,) * 4, (0, 2, 4, 6))
    for epsilon in (0.0, 0.5, 1.0):
        laws = [[m.law(x).probability(y) for y in product((0, 1), repeat=4)] for x in streams]
        deltas = [
            sum(max(0.0, float(p) - math.exp(epsilon) * float(q)) for p, q in zip(a, b, strict=True))
            for i in (0, 2) for a, b in ((laws[i], laws[i + 1]), (laws[i + 1], laws[i]))
        ]  # fmt: skip
        assert repeated(m).delta(epsilon).low == pytest.approx(max(deltas), abs=SLACK)


def test_what_cannot_be_searched_is_refused() -> None:
    with pytest.raises(Unsupported, match=f"searched up to {MOST_EPOCHS} epochs, got 401"):
        account(MemoizedBit(401, Fraction(9, 10), Fraction(1, 20), Fraction(19, 20)))


F = Fraction
EPSILONS = (0.0, 0.3, 1.0, 2.5)


def pattern(x: Stream) -> Stream:
    """For each epoch, the first one that holds the same value."""
    return tuple(x.index(value) for value in x)


@cache
def laws(m: Memoizing) -> dict[Stream, np.ndarray[Any, np.dtype[np.float64]]]:
    """Of all streams of which every value is kept, in floats."""
    views = list(m.law(m.inputs[0]).views())
    return {x: np.array([float(law.probability(y)) for y in views]) for x in kept_streams(m) for law in [m.law(x)]}


def largest(m: Memoizing, pairs: Iterable[tuple[Stream, Stream]], epsilon: float) -> float:
    """The largest delta among pairs of streams."""
    return max(float(np.maximum(laws(m)[x] - math.exp(epsilon) * laws(m)[y], 0).sum()) for x, y in pairs)


def kept_streams(m: Memoizing) -> list[Stream]:
    """All streams of which every value is kept."""
    return [x for x in product(range(m.k), repeat=m.epochs) if len(set(x)) <= m.values]


EXACT: list[MemoizedResponse | MemoizedDBitFlip] = [
    MemoizedResponse(3, 3, F(1, 2)), MemoizedResponse(2, 3, F(9, 10)), MemoizedResponse(2, 4, F(1, 4)),
    MemoizedDBitFlip(3, 3, 1, F(9, 10)),
]  # fmt: skip
WIDE: list[MemoizedResponse | MemoizedDBitFlip] = [
    MemoizedResponse(3, 4, F(2, 5), 2), MemoizedDBitFlip(2, 4, 1, F(9, 10)), MemoizedDBitFlip(2, 3, 2, F(2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("m", [*EXACT, *WIDE], ids=str)
def test_against_any_stream_the_delta_of_all_pairs_is_enclosed_and_where_all_values_fit_it_is_one_number(m: Any) -> None:
    profile, pairs = account(m), list(permutations(kept_streams(m), 2))
    for epsilon in EPSILONS:
        found, truth = profile.delta(epsilon), largest(m, pairs, epsilon)
        assert found.low - 1e-12 <= truth <= found.high + 1e-12
        assert (found.rigour is Rigour.EXACT) == (m in EXACT)
    assert found.low == pytest.approx(truth, abs=1e-12), "the mass that no epsilon covers is that of the lower end"


@pytest.mark.parametrize("m", [*EXACT, *WIDE], ids=str)
def test_between_streams_of_one_pattern_the_profile_is_that_of_all_pairs(m: Any) -> None:
    profile = account(m, SAME_PATTERN)
    pairs = [(x, y) for x, y in permutations(kept_streams(m), 2) if pattern(x) == pattern(y)]
    for epsilon in EPSILONS:
        assert profile.delta(epsilon).high == pytest.approx(largest(m, pairs, epsilon), abs=1e-12)


def test_one_kept_answer_costs_one_report_whatever_streams_are_compared() -> None:
    m = MemoizedResponse.for_epsilon(2, k=7, epochs=365, values=1)
    assert account(m).epsilon(0).high == account(m.report).epsilon(0).high
    assert account(m).delta(1).high == account(m.report).delta(1).high


def test_of_two_kept_answers_no_epsilon_is_enough_and_a_year_of_them_tells_nearly_everything() -> None:
    year = account(MemoizedResponse.for_epsilon(1, k=100, epochs=365))
    assert year.epsilon(F(1, 2)).low == math.inf
    assert year.delta(50).low > 1 - 1e-15


@pytest.mark.parametrize("m", [MemoizedResponse(4, 3, F(3, 5)), MemoizedDBitFlip(4, 3, 2, F(4, 5))], ids=str)
def test_the_attack_shows_kept_reports_on_either_relation(m: Any) -> None:
    assert audit(m, epsilon=2.0, neighbours=USER_LEVEL, seed=1).epsilon_lower > 2
    alike = audit(m, neighbours=SAME_PATTERN, trials=200_000, seed=1)
    truth = account(m, SAME_PATTERN).epsilon(0).high
    assert 0.6 * truth < alike.epsilon_lower <= truth


@pytest.mark.parametrize(("x", "shown"), [
    ((0, 1, 0, 2, 1), (0, 1, 0, 0, 0)), ((2, 2, 1, 2, 1), (2, 2, 1, 2, 1)), ((1, 0, 2, 1, 0), (1, 0, 0, 0, 0)),
])  # fmt: skip
def test_a_user_who_comes_to_one_value_more_keeps_showing_the_one_before(x: Stream, shown: Stream) -> None:
    m = MemoizedResponse(5, 3, F(3, 4), 2)
    assert m.kept_stream(x) == shown
    views = m.sample(x, 2_000, np.random.default_rng(0))
    for first, second in permutations(range(5), 2):
        assert np.all(views[:, first] == views[:, second]) == (shown[first] == shown[second])


@pytest.mark.parametrize("m", [MemoizedResponse(3, 4, F(4, 5), 2), MemoizedDBitFlip(3, 4, 2, F(4, 5), 2)], ids=str)
def test_a_run_counts_whose_report_is_shown_in_each_epoch(m: Any) -> None:
    data = np.concatenate([np.tile([1, 0, 1], (3_000, 1)), np.tile([2, 3, 0], (1_000, 1))])
    assert m.truth(data).tolist() == [[0, 3000, 1000, 0], [3000, 0, 0, 1000], [0, 3000, 0, 1000]]
    found = np.mean([m.run(data, np.random.default_rng(seed)) for seed in range(20)], axis=0)
    assert np.abs(found - m.truth(data)).max() < 5 * 150 / math.sqrt(20) * 2


def test_more_bits_than_are_enumerated_are_refused() -> None:
    with pytest.raises(Unsupported, match="compared by at most 256 bits, got 258"):
        account(MemoizedDBitFlip(200, 200, 129, F(3, 4)), SAME_PATTERN)
    with pytest.raises(Unsupported, match="its reports over epochs are analysed only for memoized"):
        over_epochs(MemoizedResponse(2, 2, F(3, 4)), 3, None)


def test_clients_of_several_answers_cost_what_all_their_answers_do() -> None:
    client = MemoizedResponse(4, 4, F(3, 4), 3)
    found = account(Repeat(Run(client), 2), SAME_PATTERN).delta(3)
    answers = account(Repeat(Run(client.report), 6)).delta(3)
    assert (found.low, found.high) == (answers.low, answers.high)
    assert found.rigour is Rigour.EXACT


def likelihoods(noise: MemoizedAnswers, y: tuple[int, ...], streams: list[Stream]) -> list[Fraction]:
    """Of a transcript under each stream, but for a common factor, by all that may be memoized of the values held."""
    def likelihood(x: Stream) -> Fraction:
        held, total = sorted(set(x)), F(0)
        for drawn in product(range(noise.g), repeat=len(held)):
            chance = math.prod((noise.p if m == c else noise.q for c, m in zip(held, drawn, strict=True)), start=F(1))
            total += chance * noise.u ** sum(drawn[held.index(c)] == told for c, told in zip(x, y, strict=True))
        return total

    return [likelihood(x) for x in streams]


@pytest.mark.parametrize(("g", "p", "u", "epochs"), [
    (2, F(3, 4), F(3), 1), (2, F(3, 4), F(1), 3), (2, F(3, 4), F(9), 6), (2, F(9, 10), F(2), 5), (3, F(1, 2), F(4), 3),
    (4, F(1, 2), F(3), 2),
])  # fmt: skip
def test_memoized_answers_with_fresh_noise_cost_what_all_transcripts_of_all_streams_do(
    g: int, p: Fraction, u: Fraction, epochs: int
) -> None:
    noise, streams = MemoizedAnswers(g, p, u), list(product(range(g), repeat=epochs))
    worst = max(max(each) / min(each) for each in (likelihoods(noise, y, streams) for y in streams))
    found, wide = memoized_answers.lifetime_epsilon(noise, epochs), memoized_answers._enclosed(noise, epochs, g)
    assert found.low - 1e-15 <= math.log(worst) <= found.high + 1e-15
    assert 0 <= found.low <= found.high < found.low + 1e-12
    assert meet(wide, found)


def test_what_memoized_answers_cost_grows_for_ever_by_half_a_fresh_answer_an_epoch() -> None:
    noise = MemoizedAnswers(2, F(3, 4), F(3))
    searched, enclosed = memoized_answers.lifetime_epsilon(noise, 60), memoized_answers.lifetime_epsilon(noise, 1000)
    assert memoized_answers.lifetime_epsilon(noise, 80).low - searched.high == pytest.approx(10 * math.log(3), rel=1e-9)
    assert 500 * math.log(3) - 1 < enclosed.low < enclosed.high < 500 * math.log(3) + 1


HASHED = [LolohaStream(3, 2, F(3, 4), F(2, 3), 3, 3), LolohaStream(2, 3, F(1, 2), F(3, 5), 3, 5),
          LolohaStream(3, 3, F(1, 2), F(3, 4), 2, 3), LolohaStream(1, 2, F(2, 3), F(2, 3), 2, 2),
          LolohaStream(2, 2, F(3, 4), F(2, 3), 4, 5), LolohaStream(2, 3, F(3, 5), F(3, 4), 4, 7)]  # fmt: skip


@cache
def all_functions(m: LolohaStream) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Laws of all streams: by stream, function and transcript."""
    laws, told = map(m.law, product(range(m.domain), repeat=m.epochs)), list(product(range(m.g), repeat=m.epochs))
    functions = list(product(range(m.prime), repeat=2))
    return np.array([[[float(law.probability((*f, *y))) for y in told] for f in functions] for law in laws])


def against_any(m: LolohaStream, epsilon: float) -> float:
    """The largest delta of all pairs of streams, the function being public."""
    laws = all_functions(m)
    return float(np.maximum(laws[:, None] - math.exp(epsilon) * laws, 0).sum(axis=(2, 3)).max())


@pytest.mark.parametrize("m", HASHED, ids=str)
def test_against_any_stream_all_functions_and_pairs_are_enclosed(m: LolohaStream, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = account(m)
    monkeypatch.setattr(local_hashing, "_MOST_LISTED", 0)
    wide = account(m)
    for e in EPSILONS:
        truth = against_any(m, e)
        assert exact.delta(e).rigour is Rigour.EXACT or m.domain > 3
        assert all(around(each.delta(e), truth) for each in (exact, wide)), (e, truth)
    top, pure = math.log(float((all_functions(m).max(axis=0) / all_functions(m).min(axis=0)).max())), exact.epsilon(0)
    assert (pure.low, pure.high) == pytest.approx((top, top), rel=1e-12)


@pytest.mark.parametrize(("m", "shares"), [
    (LolohaStream(4, 2, F(3, 5), F(9, 10), 2, 3), (0.3, 0.6, 0.9)), (LolohaStream(3, 3, F(2, 5), F(19, 20), 3, 3), (0.9, 0.95)),
    (LolohaStream(4, 3, F(2, 5), F(9, 10), 2, 5), ()),
], ids=str)  # fmt: skip
def test_streams_of_values_in_turn_are_hidden_by_equal_answers_and_little_else(m: LolohaStream, shares: tuple[float, ...]) -> None:
    noise = MemoizedAnswers(m.g, m.p1, m.p2 * (m.g - 1) / (1 - m.p2))
    bound = local_hashing._one_answer(m, noise, KaryRandomizedResponse(m.g, m.p2))
    lost = -math.log(noise.q**2 if m.domain < m.g else m.p1 * noise.q ** (m.g - 1))
    assert bound.delta(lost - 1e-6).high == 1 > bound.delta(lost + 1e-6).high
    assert all(bound.delta(lost + e).high >= against_any(m, lost + e) for e in (1e-6, 0.5, 1, 2, 3))
    assert bound.delta(bound.epsilon(1e-3).high).high == pytest.approx(1e-3, rel=1e-6)
    for e in (share * account(m).epsilon(0).high for share in shares):
        assert local_hashing._in_turn(m).delta(e).low == pytest.approx(against_any(m, e), rel=1e-9)


def test_streams_of_a_month_are_known_to_differ_as_much_as_any_two_do() -> None:
    for m, ratio in ((LolohaStream.for_epsilon(1, 2, 100, 30), 1.001), (LolohaStream.for_epsilon(4, 3, 100, 20), 1.00002)):
        assert (found := account(m).epsilon(1e-6)).low < found.high < ratio * found.low
    assert account(LolohaStream.for_epsilon(1, 2, 100, 365)).epsilon(1e-6).high == pytest.approx(173.591, abs=1e-3)


@pytest.mark.parametrize("m", HASHED, ids=str)
def test_where_hash_values_repeat_alike_the_profile_is_that_of_all_functions_and_of_all_such_pairs(m: LolohaStream) -> None:
    streams, shown = list(product(range(m.domain), repeat=m.epochs)), attack_on(m, SAME_PATTERN).pair
    truth = dict.fromkeys(EPSILONS, 0.0)
    for (a, b), laws in zip(product(range(m.prime), repeat=2), m.prime**2 * all_functions(m).swapaxes(0, 1), strict=True):
        alike = {x: pattern(tuple((a * value + b) % m.prime % m.g for value in x)) for x in streams}
        same = np.array([[alike[x] == alike[y] for y in streams] for x in streams])
        for e in EPSILONS:
            truth[e] = max(truth[e], float(np.maximum(laws[:, None] - math.exp(e) * laws, 0).sum(axis=2)[same].max()))
        assert alike[shown[0]] == alike[shown[1]], "what an audit shows is no other pair"
    assert [account(m, SAME_PATTERN).delta(e).high for e in EPSILONS] == pytest.approx(list(truth.values()), abs=1e-12)


def test_many_epochs_cost_what_few_memoized_answers_do_where_hash_values_repeat_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    m = LolohaStream.for_epsilon(2, 3, domain=100, epochs=6)
    exact = account(m, SAME_PATTERN)
    monkeypatch.setattr(local_hashing, "_MOST_SHARES", 0)
    wide = account(m, SAME_PATTERN)
    for e in EPSILONS:
        assert wide.delta(e).low <= exact.delta(e).low <= exact.delta(e).high < wide.delta(e).high
    for epochs in (60, 90):
        found = account(replace(m, epochs=epochs), SAME_PATTERN).epsilon(0)
        assert 5.99 < found.low <= found.high == pytest.approx(6)
