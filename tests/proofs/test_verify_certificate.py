"""The program that checks proofs without us: never below the truth, small, alone, and deaf to everything but the format."""

import ast
import hashlib
import json
import math
import random
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path
from typing import Any

import mpmath
import pytest

from benchmarks import forged_proofs
from benchmarks.random_proofs import is_valid
from ldpaudit import Aggregate, Compose, Enclosure, Mechanism, Plan, Repeat, Rigour, Run, Shuffle, account, certify
from ldpaudit.certificates import ledger, verify_certificate as checker
from ldpaudit.certificates.proof import prove
from ldpaudit.errors import Contradiction, Unsupported
from ldpaudit.files.bundled import ids
from ldpaudit.files.deployment import load, loads
from ldpaudit.mechanisms import BinomialNoise, Channel, CountMeanSketch, DBitFlip, DiscreteLaplace, UnaryEncoding, stems
from ldpaudit.mechanisms.discrete_gaussian import DiscreteGaussian
from ldpaudit.mechanisms.geometric import Geometric, TruncatedGeometric
from ldpaudit.mechanisms.hadamard_response import HadamardResponse
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from ldpaudit.mechanisms.randomized_response import KaryRandomizedResponse
from ldpaudit.mechanisms.rappor import PermanentRappor, Rappor
from ldpaudit.mechanisms.subset_selection import SubsetSelection
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, Neighbours, group
from ldpaudit.proofs import randomized_response
from ldpaudit.report.html import page
from tests.helpers import COIN, ROOT, deployment, python, slow, stdout
from tests.oracles import shuffle as oracle
from tests.oracles.shuffle import divergence
from tests.zoo import zoo

FILE = Path(checker.__file__)
RESPONSE = {"word": "randomized_response", "k": 3, "p": "1/2"}
Rows = list[list[Fraction]]
OF_THREE, ONE_OF_FOUR = KaryRandomizedResponse(3, Fraction(1, 2)), UnaryEncoding(4, Fraction(9, 10), Fraction(1, 10))


def proof(plan: Any, epsilon: object, delta: object = 0, **changed: Any) -> dict[str, Any]:
    said = {"schema": "ldpaudit.proof/1", "plan": plan, "relation": "replace-one", "says": "private", "witness": {}}
    return said | {"epsilon": str(epsilon), "delta": str(delta)} | changed


def test_a_proof_of_several_reports_rests_on_composition_whether_they_are_alike_or_not() -> None:
    twice, two = {"word": "repeat", "of": RESPONSE, "times": 2}, {"word": "compose", "of": [RESPONSE, {**RESPONSE, "k": 4}]}
    for plan, rests in ((RESPONSE, set()), (twice, {"composition"}), (two, {"composition"})):
        assert checker.check(proof(plan, 3))[1] == rests


def delta_of(plan: Any, e: Fraction, witness: dict[str, Any]) -> Fraction:
    """What the program computes at the epsilon whose power e is."""
    checker.check(proof(RESPONSE, 2))  # nothing is spent yet
    return Fraction(checker.delta_at(plan, "replace-one", Fraction(math.log(e)), e, witness, set()))


def random_rows(rng: random.Random, inputs: int, views: int, least: int = 1) -> Rows:
    weights = [[max(0, rng.randint(least, 9)) for _ in range(views - 1)] + [rng.randint(1, 9)] for _ in range(inputs)]
    return [[Fraction(w, sum(row)) for w in row] for row in weights]


def channel(rows: Rows) -> dict[str, Any]:
    return {"word": "channel", "rows": [[str(p) for p in row] for row in rows]}


def composed(rows: Rows, inputs: tuple[int, ...]) -> dict[Any, Fraction]:
    views = product(range(len(rows[0])), repeat=len(inputs))
    return {ys: math.prod((rows[x][y] for x, y in zip(inputs, ys, strict=True)), start=Fraction(1)) for ys in views}


@pytest.mark.parametrize("seed", range(12))
def test_a_shuffle_of_few_users_never_costs_more_than_is_computed_whatever_the_others_hold(seed: int) -> None:
    rng = random.Random(seed)
    inputs, users = rng.randint(2, 3), rng.randint(2, 4)
    rows, e = random_rows(rng, inputs, rng.randint(2, 3)), Fraction(rng.randint(10, 30), 10)
    (truth,) = oracle.worst(oracle.channel(rows), users, e)
    found = delta_of({"word": "shuffle", "of": channel(rows), "users": users}, e, {"digits": 20, "step": "1/64"})
    assert truth <= found


@pytest.mark.parametrize("seed", range(12))
def test_a_composition_never_costs_more_than_is_computed_and_on_its_own_lattice_no_less(seed: int) -> None:
    rng = random.Random(seed)
    inputs, times, e = rng.randint(2, 3), rng.randint(2, 3), Fraction(rng.randint(10, 25), 10)
    rows = random_rows(rng, inputs, rng.randint(2, 3), -3 * (seed % 2))  # half of them with views that an input never shows
    ends = list(product(range(inputs), repeat=times))
    truth = max(divergence(composed(rows, x), composed(rows, y), e) for x in ends for y in ends)
    plan = {"word": "repeat", "of": channel(rows), "times": times}
    assert truth <= delta_of(plan, e, {"digits": 30, "ratio": "257/256"})
    k, p = rng.randint(2, 4), Fraction(rng.randint(5, 8), 10)
    r = p * (k - 1) / (1 - p)
    response = [[p if x == y else (1 - p) / (k - 1) for y in range(k)] for x in range(k)]
    exact = max(divergence(composed(response, (0,) * times), composed(response, (1,) * times), e), Fraction(0))
    of = {"word": "repeat", "of": {"word": "randomized_response", "k": k, "p": str(p)}, "times": times}
    assert exact <= delta_of(of, e, {"digits": 30, "ratio": str(r)}) <= exact + Fraction(1, 10**9)


def heads(probabilities: Iterable[Fraction]) -> dict[Any, Fraction]:
    """Law of how many of these coins fall heads."""
    law: dict[Any, Fraction] = {0: Fraction(1)}
    for p in probabilities:
        law = {i: law.get(i, Fraction(0)) * (1 - p) + law.get(i - 1, Fraction(0)) * p for i in range(len(law) + 1)}
    return law


def times(one: dict[Any, Fraction], two: dict[Any, Fraction]) -> dict[Any, Fraction]:
    return {(x, y): p * q for (x, p), (y, q) in product(one.items(), two.items())}


@pytest.mark.parametrize("seed", range(12))
def test_counts_of_few_users_bits_never_cost_more_than_is_computed_whatever_the_others_hold(seed: int) -> None:
    rng = random.Random(seed)
    users, e = rng.randint(1, 5), Fraction(rng.randint(10, 30), 10)
    p, q = Fraction(rng.randint(1, 9), 10), Fraction(rng.randint(1, 9), 10)
    pairs = []  # of one count, whatever the others hold
    for ones in range(users):
        held = [p] * ones + [q] * (users - 1 - ones)
        pairs += [(heads([p, *held]), heads([q, *held])), (heads([q, *held]), heads([p, *held]))]
    coarse: dict[str, Any] = {"digits": 30, "starts": [0], "ratio": "1025/1024"}
    fine = coarse | {"starts": list(range(users))}
    one_bit = {"word": "bits", "p": str(p), "q": str(q), "only_here": 1, "only_there": 0}
    single = {"word": "sum", "of": one_bit, "users": users}
    truth = max(divergence(first, second, e) for first, second in pairs)
    assert truth <= delta_of(single, e, fine) <= truth + Fraction(1, 10**9)
    assert truth <= delta_of(single, e, coarse)
    double = {**single, "of": one_bit | {"only_there": 1}}
    both = max(divergence(times(a, c), times(b, d), e) for (a, b), (c, d) in product(pairs, repeat=2))
    assert both <= delta_of(double, e, fine) <= both * Fraction(3, 2)  # one pair for all of what others hold
    response = {"word": "shuffle", "of": {"word": "randomized_response", "k": 2, "p": str(p)}, "users": users}
    truth = max(oracle.binary(p, users, e))
    assert truth <= delta_of(response, e, fine) <= truth + Fraction(1, 10**9)


@pytest.mark.parametrize("seed", range(7))
def test_a_composition_of_shuffles_of_few_users_never_costs_more_than_is_computed(seed: int) -> None:
    rng = random.Random(seed)
    users, e, rows = rng.randint(2, 3), Fraction(rng.randint(10, 25), 10), random_rows(rng, 2, rng.randint(2, 3))
    laws = oracle.channel(rows)
    pairs = [(oracle.shuffled([one, *held]), oracle.shuffled([other, *held]))
             for held in combinations_with_replacement(laws, users - 1) for one, other in permutations(laws)]  # fmt: skip
    truth = max(divergence(times(a, c), times(b, d), e) for (a, b), (c, d) in product(pairs, repeat=2))
    plan = {"word": "repeat", "of": {"word": "shuffle", "of": channel(rows), "users": users}, "times": 2}
    assert truth <= delta_of(plan, e, {"digits": 20, "step": "1/64", "ratio": "65/64"})


@pytest.mark.parametrize("seed", range(6))
def test_binomial_noise_on_a_lattice_costs_what_its_cells_do(seed: int) -> None:
    rng = random.Random(seed)
    plan = {"word": "binomial", "coins": rng.randint(1, 60), "gamma": f"{rng.randint(1, 9)}/10", "change": rng.randint(1, 4)}
    e = Fraction(rng.randint(10, 30), 10)
    exact = delta_of(plan, e, {})
    assert exact <= delta_of(plan, e, {"digits": 30}) <= exact + Fraction(1, 10**18)


@pytest.mark.parametrize("seed", range(8))
def test_discrete_gaussian_noise_costs_what_its_law_does_alone_and_on_counts(seed: int) -> None:
    rng = random.Random(seed)
    variance, change = Fraction(rng.randint(1, 60), rng.choice([1, 4, 20])), rng.randint(1, 3)
    e, far = Fraction(rng.randint(10, 30), 10), 10 + int(16 * variance)
    with mpmath.workdps(70):
        twice = mpmath.mpf(2 * variance.numerator) / variance.denominator
        heights = {z: int(10**60 * mpmath.exp(-z * z / twice)) for z in range(-far, far)}
    law = {z: Fraction(height, sum(heights.values())) for z, height in heights.items()}
    near, moved = Fraction(1, 10**21), {z + change: p for z, p in law.items()}
    truth, alone = divergence(law, moved, e), {"word": "discrete_gaussian", "variance": str(variance), "change": change}
    assert truth - near <= delta_of(alone, e, {"digits": 30}) <= truth + near
    users, p, q = rng.randint(1, 3), Fraction(rng.randint(5, 9), 10), Fraction(rng.randint(1, 4), 10)
    one_bit = {"word": "bits", "p": str(p), "q": str(q), "only_here": 1, "only_there": 0}
    plan = {"word": "sum", "of": one_bit, "users": users, "discrete_gaussian": [str(variance)]}
    worst = Fraction(0)
    for held in ([p] * ones + [q] * (users - 1 - ones) for ones in range(users)):
        sums = []
        for own in (p, q):
            every = product(heads([own, *held]).items(), law.items())
            sums.append(oracle.law_of((heads_up + z, mass * height) for (heads_up, mass), (z, height) in every))
        worst = max(worst, divergence(sums[0], sums[1], e), divergence(sums[1], sums[0], e))
    assert worst - near <= delta_of(plan, e, {"digits": 30, "starts": list(range(users))}) <= worst + near


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(40)])
def test_masses_of_discrete_gaussian_noise_are_bounded_from_above_by_narrow_bounds_and_by_wide_ones(
    variance: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mpmath.workdps(60):
        twice = mpmath.mpf(2 * variance.numerator) / variance.denominator
        heights = [int(10**50 * mpmath.exp(-z * z / twice)) for z in range(200)]
    total, exponential = 2 * sum(heights) - heights[0], checker.exponential
    monkeypatch.setattr(checker, "on_lattice", lambda points, beyond, digits: (dict(points), beyond))
    for slack in (Fraction(1, 10**40), Fraction(1, 10**4)):
        monkeypatch.setattr(checker, "exponential", lambda x, s=slack: (exponential(x)[0] * (1 - s), exponential(x)[1] * (1 + s)))
        masses, beyond = checker.gaussian(variance, 12)
        shares = {z: Fraction(heights[abs(z)], total) for z in range(-199, 200)}
        assert all(shares[z] <= mass <= shares[z] * (1 + 4 * slack) + Fraction(1, 10**12) for z, mass in masses.items())
        assert 0 < sum(share for z, share in shares.items() if z not in masses) <= beyond < Fraction(1, 10**11)


@pytest.mark.parametrize("seed", range(40))
def test_all_that_is_rounded_or_cut_counts_against_the_claim(seed: int) -> None:
    """With twelve digits: heads of many coins are cut, those of few only rounded, and those of fair ones neither."""
    rng, unit = random.Random(seed), 10**12
    n, gamma = [(rng.randint(30, 60), Fraction(rng.randint(1, 29), 30)), (rng.randint(2, 6), Fraction(rng.randint(3, 7), 11)),
                (3, Fraction(1, 2))][seed % 3]  # fmt: skip
    hidden = checker.on_lattice([(0, 1 - gamma), (1, gamma)], Fraction(0), 12) * n
    exact, known = heads([gamma] * n), dict(enumerate(hidden.masses, hidden.first))
    assert sum(max(Fraction(0), p * unit - known.get(i, 0)) for i, p in exact.items()) <= hidden.beyond
    assert seed % 3 == 0 or hidden.beyond == 0
    p, q, c = Fraction(rng.randint(0, 9), 9), Fraction(rng.randint(0, 9), 9), Fraction(rng.randint(7, 20), 7)
    change = rng.randint(1, 3)
    here, there = ({i: exact.get(i, Fraction(0)) * (1 - r) + exact.get(i - change, Fraction(0)) * r for i in range(n + change + 1)}
                   for r in (p, q))  # fmt: skip
    assert divergence(here, there, c) <= checker.told(p, q, change, hidden, c)


def test_laplace_noise_is_refuted_below_its_delta_and_composed_is_bounded_nearly_exactly() -> None:
    plan = {"word": "repeat", "of": {"word": "laplace", "change": "1/2"}, "times": 20}
    known = account(Repeat(Laplace(Fraction(2)), 20)).epsilon(Fraction(1, 10**6))
    witness = {"digits": 30, "ratio": str(Fraction(129, 128) ** 2)}
    assert is_valid(proof(plan, Fraction(known.high) * Fraction(1001, 1000), "1/1000000", witness=witness))
    assert not is_valid(proof(plan, Fraction(known.low) * Fraction(9999, 10000), "1/1000000", witness=witness))
    plan = {"word": "laplace", "change": "2"}  # at epsilon 1 delta is 1 - exp(-1/2) = .39346934...
    for delta, below in (("0.393469", True), ("0.393470", False)):
        assert is_valid(proof(plan, 1, delta, says="not private")) is below
        assert is_valid(proof(plan, 1, delta)) is not below


@pytest.mark.parametrize("epsilon", [0, Fraction(1, 10**30), Fraction(1, 3), 1, Fraction(709, 10), 20_000])
def test_the_bounds_of_an_exponential_hold_it_and_are_narrow(epsilon: int | Fraction) -> None:
    low, high = checker.exponential(Fraction(epsilon))
    with mpmath.workprec(60_000):
        value = mpmath.exp(mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator)
        assert mpmath.mpf(low.numerator) / low.denominator <= value <= mpmath.mpf(high.numerator) / high.denominator
    assert high - low <= high / 10**45 * max(1, 10)


def is_unbounded(plan: Plan) -> bool:
    """Whether it has noise without an epsilon at delta 0."""
    return "Binomial" in str(plan) or "Gaussian" in str(plan)


def leaves() -> Iterator[tuple[Plan, Neighbours]]:
    """One plan of each word, and what is made of them."""
    half, users = Fraction(1, 2), 1000
    response = KaryRandomizedResponse(5, half)
    local: list[Mechanism] = [response, SubsetSelection(6, 2, half), HadamardResponse(5, Fraction(2, 3)),
                              DBitFlip(4, 2, Fraction(3, 4)), UnaryEncoding(4, Fraction(3, 4), Fraction(1, 4)),
                              UnaryEncoding(100, half, Fraction(1, 3)), Rappor(8, 2, half, Fraction(1, 4), Fraction(3, 4)),
                              PermanentRappor(8, 1, half), TruncatedGeometric(3, half), Geometric(3, half),
                              DiscreteLaplace(half, (2, -1)), Laplace(Fraction(2)), LaplaceHistogram(3, Fraction(2))]  # fmt: skip
    for m in local:
        yield Run(m), REPLACE_ONE
    yield Run(UnaryEncoding(4, half, Fraction(1, 4))), ADD_REMOVE
    yield Run(LaplaceHistogram(3, Fraction(2))), ADD_REMOVE
    yield Repeat(response, 30), REPLACE_ONE
    yield Run(response), group(3)
    yield Compose([Repeat(response, 3), SubsetSelection(6, 2, half), Laplace(Fraction(2))]), REPLACE_ONE
    yield Repeat(UnaryEncoding(4, half, Fraction(1, 4)), 5), ADD_REMOVE
    yield Shuffle(response, users), REPLACE_ONE
    yield Shuffle(UnaryEncoding(9, Fraction(19833, 20000), Fraction(167, 20000)), 1000 * users), REPLACE_ONE
    yield Shuffle(HadamardResponse(5, Fraction(2, 3)), users), REPLACE_ONE
    yield Run(BinomialNoise(400)), REPLACE_ONE
    yield Run(BinomialNoise(10**5, Fraction(1, 3), (-3,))), REPLACE_ONE
    yield Run(DiscreteGaussian(Fraction(7, 2), (2,))), REPLACE_ONE
    yield Run(DiscreteGaussian(Fraction(9), (1, -1))), REPLACE_ONE
    yield Aggregate(ONE_OF_FOUR, 20, [DiscreteGaussian(Fraction(2))]), REPLACE_ONE
    yield Aggregate(ONE_OF_FOUR, 1, [DiscreteGaussian(Fraction(2))] * 2), ADD_REMOVE
    yield Aggregate(ONE_OF_FOUR, 200), ADD_REMOVE
    yield Aggregate(ONE_OF_FOUR, 60), REPLACE_ONE
    yield Aggregate(response, users), REPLACE_ONE
    yield Shuffle(KaryRandomizedResponse(2, Fraction(3, 4)), users), REPLACE_ONE


@pytest.mark.parametrize(("plan", "neighbours"), [slow(*s) if "users=1000000)" in str(s) else s for s in leaves()], ids=str)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000)])
def test_what_the_accountants_say_of_every_word_is_valid_and_just_below_it_nothing_is(
    plan: Plan, neighbours: Neighbours, delta: Fraction
) -> None:
    if (isinstance(plan, Shuffle | Aggregate) or is_unbounded(plan)) and delta == 0:
        return
    known = account(plan, neighbours).epsilon(delta)
    valid = prove(plan, neighbours, None, delta, known)
    assert is_valid(valid.record)
    assert known.low <= valid.epsilon <= Fraction(known.high) * Fraction(101, 100)
    assert not is_valid(valid.record | {"epsilon": str(Fraction(known.low) * Fraction(999_999, 1_000_000))})


@pytest.mark.parametrize(
    ("plan", "neighbours"), [each for each in leaves() if isinstance(each[0], Run) and not is_unbounded(each[0])], ids=str
)
def test_what_is_refuted_is_refuted_by_the_program_and_nothing_that_holds(plan: Plan, neighbours: Neighbours) -> None:
    known = account(plan, neighbours).epsilon(0)
    below, above = Fraction(known.low) * Fraction(99, 100), Fraction(known.high) * Fraction(101, 100)
    valid = prove(plan, neighbours, below, Fraction(0), known)
    assert valid.record["says"] == "not private"
    assert is_valid(valid.record)
    assert not is_valid(valid.record | {"epsilon": str(above)})


@pytest.mark.parametrize("inputs", [200, slow(10**9)])
def test_every_small_law_of_the_zoo_is_what_its_word_says(inputs: int) -> None:
    words: Counter[str] = Counter()
    for m in (m for name in stems() for m in zoo(name).small if len(m.inputs) <= inputs):
        try:
            found = prove(Run(m), m.relations[0], None, Fraction(1, 2), Enclosure(0.0, 700.0, Rigour.INTERVAL, "any"))
        except Unsupported:
            continue
        words[found.record["plan"]["word"]] += 1
    assert words.keys() >= {"channel", "randomized_response", "subset_selection", "hadamard_response", "bits", "discrete_laplace"}


def test_a_word_with_one_wrong_cell_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    m = KaryRandomizedResponse(4, Fraction(1, 2))
    monkeypatch.setattr(randomized_response, "leaf", lambda m, relation: {**RESPONSE, "k": m.k, "p": "11/20"})
    with pytest.raises(Contradiction, match=r"k=4.*'randomized_response'.*0 and 1"):
        prove(Run(m), REPLACE_ONE, None, Fraction(0), account(m).epsilon(0))


@pytest.mark.parametrize("plan", [
    Run(OF_THREE), Repeat(OF_THREE, 9), Shuffle(OF_THREE, 60), Run(BinomialNoise(5000)), Run(DiscreteGaussian(Fraction(30), (2,))),
    Shuffle(KaryRandomizedResponse(2, Fraction(3, 4)), 30), Aggregate(ONE_OF_FOUR, 100),
    slow(Aggregate(ONE_OF_FOUR, 1000)),
    Aggregate(ONE_OF_FOUR, 40, [DiscreteGaussian(Fraction(3)), DiscreteGaussian(Fraction(2))]),
], ids=str)  # fmt: skip
def test_no_mutant_of_a_proof_is_valid(plan: Plan) -> None:
    relation = ADD_REMOVE if isinstance(plan, Aggregate) else REPLACE_ONE  # one count
    valid = prove(plan, relation, None, Fraction(1, 1000), account(plan, relation).epsilon(Fraction(1, 1000)))
    valid = replace(valid, record=forged_proofs.at_its_limit(valid.record))
    forged = [*forged_proofs.stronger(valid.record), *forged_proofs.certificates(valid.record)]
    assert not [name for name, record in forged if forged_proofs.valid(record)]
    assert forged_proofs.valid(valid.record)


OF_BITS = {"word": "bits", "p": "3/4", "q": "1/4", "only_here": 1, "only_there": 1}
BITS_OF_MANY: dict[str, Any] = {"word": "sum", "of": OF_BITS, "users": 1000}


def test_no_sum_is_counted_bit_by_bit_that_is_another_view_of_the_reports() -> None:
    """Of a matrix each user fills one row; a report that is left out is in no count; and a sketch's rows are not alike."""
    m = ONE_OF_FOUR
    known, said = Enclosure(0.1, 64.0, Rigour.INTERVAL, "any"), []
    for plan in (Aggregate(m, 9), Aggregate(m, 9, most_ones=2), Aggregate(CountMeanSketch(4, 2, Fraction(3, 4), 4), 9)):
        said.append(prove(plan, REPLACE_ONE, None, Fraction(1, 10**6), known).record["plan"]["word"])
    assert said == ["sum", "shuffle", "shuffle"]
    with pytest.raises(Unsupported, match="sketches of many users"):
        prove(Shuffle(CountMeanSketch(1024, 16, Fraction(3, 4)), 9), REPLACE_ONE, None, Fraction(1, 10**6), known)


def test_a_number_that_a_rule_does_not_reach_comes_with_the_delta_that_it_does_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[Fraction(weight, 8) for weight in row] for row in ((4, 2, 2), (2, 4, 2), (1, 2, 5))]
    plan, delta = Shuffle(Channel(rows), 300), Fraction(1, 1000)
    monkeypatch.setattr("ldpaudit.certificates.proof._WORK", 10**6)
    with pytest.raises(Unsupported, match=r"does not reach the number: delta may be 0.00[0-9]*, which is above 0.001"):
        prove(plan, REPLACE_ONE, None, delta, account(plan).epsilon(delta))


def test_groups_and_numbers_beyond_the_limits_have_no_proof_and_earlier_work_hinders_none(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"word": "repeat", "of": BITS_OF_MANY, "times": 1}
    witness = {"digits": 30, "ratio": "129/128", "starts": list(range(0, 1000, 100))}
    assert is_valid(proof(runs, 1, "1/1000", witness=witness))
    assert not is_valid(proof(runs, 1, "1/1000", witness=witness, relation="group-of-1"))
    assert is_valid(proof({"word": "discrete_laplace", "alpha": "1/2", "change": 300}, 207, "0.9"))
    twice, digits = {"word": "repeat", "of": RESPONSE, "times": 2}, (11, 12, 400, 401)
    assert [is_valid(proof(twice, "1.3", "1/9", witness={"digits": n, "ratio": "2"})) for n in digits] == [False, True, True, False]
    monkeypatch.setattr(checker, "spent", 10**12)
    assert prove(Run(OF_THREE), REPLACE_ONE, None, Fraction(1, 7), account(OF_THREE).epsilon(Fraction(1, 7)))
    far = Repeat(DiscreteLaplace(Fraction(1, 2), (5000,)), 2)
    with pytest.raises(Unsupported, match="takes no such numbers"):
        prove(far, REPLACE_ONE, Fraction(1), Fraction(1, 7), Enclosure(0.1, 0.2, Rigour.INTERVAL, "any"))


HOSTILE = {
    "counts of many users": {"word": "repeat", "of": BITS_OF_MANY | {"users": 10**10}, "times": 10**17},
    "wide noise": {"word": "discrete_gaussian", "variance": 10**10, "change": 1},
    "many noises": BITS_OF_MANY | {"users": 2, "discrete_gaussian": ["1000000"] * 100},
    "many coins": {"word": "compose", "of": [{"word": "binomial", "coins": 10**10, "gamma": "1/3", "change": 10**5}] * 9},
    "a long power": {"word": "repeat", "of": {"word": "repeat", "of": RESPONSE, "times": 10**17 + 1}, "times": 10**17},
    "coprime times": {"word": "compose", "of": [{"word": "repeat", "of": RESPONSE, "times": t} for t in (10**9, 10**9 + 7)]},
    "far noise": {"word": "discrete_laplace", "alpha": "99999999/100000000", "change": 1000},
    "deep": None,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_plan_is_refused_and_does_not_keep_the_program_busy(name: str) -> None:
    plan: Any = HOSTILE[name]
    if plan is None:
        plan = RESPONSE
        for _ in range(300):
            plan = {"word": "repeat", "of": plan, "times": 2}
    with pytest.raises(checker.Invalid):
        checker.check(proof(plan, 1, "1/1000", witness={"digits": 400, "ratio": "1000001/1000000", "starts": [0, 1]}), 10**6)


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return python("-I", "-S", str(FILE), *map(str, arguments), cwd=cwd)


def test_the_program_needs_the_standard_library_alone_and_fits_into_450_lines() -> None:
    text = FILE.read_text()
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    assert names | {str(node.module) for node in imports if isinstance(node, ast.ImportFrom)} == {
        "decimal", "fractions", "json", "math", "sys"
    }  # fmt: skip
    assert len(text.splitlines()) <= 450


BITS = deployment(
    COIN.replace('p = "3/4"', 'rho = "2/(1+exp(8))"'),
    'id = "one-bit"\nepsilon = 8\n[[claims]]\nid = "bit-vector"\nepsilon = 8\nunit = "user-day"',
    more="[contribution]\nreports = 8\n",
)


def test_a_stranger_checks_a_certificate_with_python_alone_and_one_without_a_proof_is_neither(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(certify(loads(BITS), trials=1000).to_json())
    shown = stdout(run("c.json", cwd=tmp_path))
    assert "VALID    c.json: one-bit, PROVED: (8.000000008, 0)-differentially private" in shown
    assert "VALID    c.json: bit-vector, REFUTED: not (8, 0)-differentially private" in shown
    (tmp_path / "c.json").write_text(certify(load("apple-quicktype"), trials=1000).to_json())
    assert {line.split("c.json")[0] for line in stdout(run("c.json", cwd=tmp_path), 1).splitlines()} == {"NO PROOF "}


A_FLOAT = json.dumps(proof(RESPONSE, 2)).replace('"2"', "2.5")


@pytest.mark.parametrize("noise", [
    {"variance": "1/2", "change": 0}, {"variance": "0", "change": 1}, {"variance": "-1", "change": 1},
    {"variance": "x", "change": 1}, {"coins": 0, "gamma": "1/2", "change": 1}, {"coins": 9, "gamma": "2", "change": 1},
    {"coins": 9, "gamma": "1/2", "change": 0}, {"coins": 9, "gamma": "1/2", "change": 1, "more": 1},
], ids=str)  # fmt: skip
def test_nothing_is_said_of_noise_that_is_none_or_hides_what_never_changes(noise: dict[str, Any]) -> None:
    plan = {"word": "binomial" if "coins" in noise else "discrete_gaussian", **noise}
    for each in (plan, {"word": "repeat", "of": plan, "times": 3}):
        for says in ("private", "not private"):
            assert not is_valid(proof(each, 20, 0, says=says))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"a": 1, "a": 2}', "[" * 100_000, "\u0000", A_FLOAT])
def test_a_file_that_is_no_proof_is_invalid_in_one_line(content: str, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(content)
    done = run("p.json", "missing.json", cwd=tmp_path)
    assert [line.split()[:2] for line in stdout(done, 1).splitlines()] == [["INVALID", "p.json:"], ["INVALID", "missing.json:"]]
    assert not done.stderr


def test_the_page_names_the_program_and_its_digest_and_no_file_prints_control_characters(tmp_path: Path) -> None:
    data = json.loads((certificate := certify(load("enpa-vaccine-status"), trials=1000)).to_json())
    data["claims"][0]["id"] = "\x1b[2J\nVALID"
    (tmp_path / "c.json").write_text(json.dumps(data))
    done = run("c.json", cwd=tmp_path)
    assert "\x1b" not in done.stdout
    assert all(line.startswith(("VALID    c.json", "NO PROOF", "         ")) for line in done.stdout.splitlines())
    texts = hashlib.sha256(FILE.read_bytes()).hexdigest(), "python -I -S verify_certificate.py enpa-vaccine-status.json"
    assert all(text in page(certificate) for text in texts)
    assert [run(*given, cwd=tmp_path).returncode for given in ([], ["--help"], ["-h"])] == [2, 0, 2]


ADMISSIONS = dict.fromkeys((
    "apple-safari-autoplay", "chrome-topics-v1", "chrome-topics-v2", "dap-hedge", "dap-histogram-5", "dap-histogram-6-5",
    "dap-histogram-7", "enpa-prio", "enpa-prio-notification", "enpa-vaccine-status", "firefox-newtab-interests",
    "libprio-discrete-laplace", "private-aggregation", "shuffled-dictionary", "shuffled-randomized-response", "shuffled-rappor",
    "w3c-attribution",
), 1)  # fmt: skip
"""How many theorems from the literature that no machine checked the proofs of a deployment may rest on: it only falls."""


def test_the_page_of_proofs_has_a_row_for_each_claim_and_no_more_admissions_than_there_were() -> None:
    lines = (ROOT / "docs/proofs.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ") and "/" in line.split(" | ")[0]]
    files = [load(name) for name in ids()]
    assert [row[0] for row in rows] == [f"{file.id}/{claim.id}" for file in files for claim in file.claims]
    admitted: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        admitted[row[0].split("/")[0]] |= set(row[-1].split(", ")) & set(ledger.ENUMERATED)
    assert {name: len(each) for name, each in admitted.items() if len(each) > ADMISSIONS.get(name, 0)} == {}
    assert f"Admissions: {sum(map(len, admitted.values()))}. " in lines[-1]


@pytest.mark.slow
def test_the_page_of_proofs_says_what_is_proved_of_the_bundled_deployments() -> None:
    assert (ROOT / "docs/proofs.md").read_text() == ledger.page(ids()), "ldpaudit prove --ledger > docs/proofs.md"
