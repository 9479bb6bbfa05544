"""Two data sets through a shuffler: the attack, with the accountant's witness and without."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import starmap
from typing import Any

import numpy as np
import pytest

import ldpaudit as ldp
from benchmarks.shuffled_attacks import SYSTEMS, TRIALS
from benchmarks.summed_attacks import measured
from ldpaudit import Certificate, Mechanism, Plan, Repeat, Run, Shuffle, account
from ldpaudit.attacks.games import shuffled
from ldpaudit.attacks.games.game import Target
from ldpaudit.attacks.games.sources import Planned
from ldpaudit.attacks.range_queries import drawn, elements_apart, merged_groups, shares_of
from ldpaudit.certificates.certify import verify
from ldpaudit.errors import ImplementationError, Unsupported
from ldpaudit.evidence import Mode
from ldpaudit.mechanisms import HadamardRangeQueries, HadamardResponse, KaryRandomizedResponse, SubsetSelection, UnaryEncoding
from ldpaudit.neighbours import ADD_REMOVE
from ldpaudit.profile import DataSet, Witness
from ldpaudit.report import html, text
from tests.helpers import ROOT, raises, run, slow, some, stdout
from tests.oracles import shuffle as oracle
from tests.oracles.hadamard import Oracle

F = Fraction
EXAMPLE = ROOT / "deployments" / "shuffled-dictionary.toml"
DRAWS = 40_000
OFF = 5 / math.sqrt(DRAWS)
"""A probability is this close to its frequency, but once in a million."""
REACHED = 0.9
"""The part of the exact epsilon that the evidence is to show at the default budget."""


def witness_of(plan: Plan, delta: float) -> Witness:
    profile = account(plan)
    return some(profile.witness(profile.epsilon(delta).low))


def scores_have_laws(game: Target, laws: Sequence[Mapping[Any, F]]) -> None:
    """A game's scores are the log-likelihood ratios of views of these two laws, and as frequent."""
    scores = {view: round(math.log(p / laws[1][view]), 6) for view, p in laws[0].items()}
    wanted = [oracle.law_of((score, float(law[view])) for view, score in scores.items()) for law in laws]
    for side in (0, 1):
        found = Counter(np.round(game.draw(side, DRAWS, np.random.default_rng(side)), 6).tolist())
        assert set(found) <= set(wanted[side])
        assert all(abs(found[score] / DRAWS - share) < OFF for score, share in wanted[side].items())


def test_a_data_set_says_what_it_holds() -> None:
    data = DataSet.of({2: 1, 0: 3000, 1: 0})
    assert (str(data), data.users) == ("3,000 users hold 0, 1 user holds 2", 3001)
    for counts in (((0, 0),), ((0, 1), (0, 2))):
        raises(ValueError, "DataSet needs", DataSet, counts)


def test_a_witness_s_data_sets_differ_in_one_user() -> None:
    plan, one = Shuffle(KaryRandomizedResponse(2, F(3, 4)), 3), DataSet.of({0: 3})
    assert Witness(plan, (one, DataSet.of({0: 2, 1: 1})), "").values == (0, 1)
    for other in (one, DataSet.of({0: 1, 1: 2}), DataSet.of({0: 2})):
        raises(ValueError, "differ in one user", Witness, plan, (one, other), "")


@pytest.mark.few(2)
@pytest.mark.parametrize(("m", "pair"), [
    (KaryRandomizedResponse(3, F(1, 2)), ({0: 1, 2: 3}, {1: 1, 2: 3})),
    (KaryRandomizedResponse(4, F(1, 2)), ({0: 4}, {0: 3, 1: 1})),
    (HadamardResponse(3, F(3, 4)), ({0: 1, 1: 2}, {1: 3})),
    (UnaryEncoding(2, F(2, 3), F(1, 5)), ({0: 3}, {0: 2, 1: 1})),
    (UnaryEncoding(4, F(2, 3), F(1, 5)), ({0: 1, 3: 2}, {1: 1, 3: 2})),
], ids=str)  # fmt: skip
def test_where_all_others_are_alike_scores_are_the_log_likelihood_ratios_of_multisets(
    m: Mechanism, pair: tuple[dict[int, int], dict[int, int]]
) -> None:
    channel = dict(zip(m.inputs, oracle.laws(m), strict=True))
    laws = [oracle.shuffled([channel[x] for x, n in data.items() for _ in range(n)]) for data in pair]
    users = sum(pair[0].values())
    witness = Witness(Shuffle(m, users), (DataSet.of(pair[0]), DataSet.of(pair[1])), "the multiset")
    for code in (None, m, lambda x, size, rng: m.sample(x, size, rng)):
        (game,) = shuffled.games(Shuffle(m, users), None, code, 0.0, witness)
        scores_have_laws(game, laws)


MANY_VALUES = Shuffle(KaryRandomizedResponse.for_epsilon(9, 4096), 10**4)
COMPARED: list[tuple[Shuffle, float, float, int, bool]] = [
    (MANY_VALUES, 1e-2, REACHED, 200_000, True),
    (Shuffle(KaryRandomizedResponse.for_epsilon(7, 2), 10**4), 1e-2, 0.7, 200_000, True),
    (Shuffle(KaryRandomizedResponse.for_epsilon(2, 2), 6), 1e-2, 0.9, 200_000, True),
    (Shuffle(KaryRandomizedResponse.for_epsilon(2, 3), 6), 1e-2, 0.9, 200_000, True),
    (Shuffle(HadamardResponse.for_epsilon(3, 5), 20), 1e-2, 0.8, 200_000, True),
    (Shuffle(UnaryEncoding.symmetric(11, 10**4), 10**6), 1e-2, 0.8, 200_000, True),
    (MANY_VALUES, 1e-2, 0.85, 50_000, False),
    (Shuffle(UnaryEncoding.symmetric(4, 100), 8), 1e-2, 0.5, 50_000, False),
    (Shuffle(Repeat(KaryRandomizedResponse.for_epsilon(1, 2), 2), 2), 1e-2, 0.3, 10_000, False),
    (Shuffle(KaryRandomizedResponse.for_epsilon(1, 2), 1), 0.0, 0.9, 50_000, False),
]
LONGER: list[tuple[Shuffle, float, float, int, bool]] = [
    (Shuffle(KaryRandomizedResponse.for_epsilon(12, 4096), 10**6), 1e-2, 0.8, 200_000, True),
    (Shuffle(SubsetSelection.for_epsilon(4, 100, 20), 8), 1e-2, 0.4, 50_000, False),
    (Shuffle(Repeat(KaryRandomizedResponse.for_epsilon(1, 2), 2), 5), 1e-2, 0.3, 50_000, False),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("plan", "delta", "reached", "trials", "given"), [*COMPARED, *starmap(slow, LONGER)], ids=str)
def test_audits_with_the_witness_and_without_come_close_to_what_is_certified_and_never_above(
    plan: Shuffle, delta: float, reached: float, trials: int, given: bool
) -> None:
    exact, witness = account(plan).epsilon(delta), witness_of(plan, delta) if given else None
    options: dict[str, Any] = {"trials": trials, "confidence": 0.999, "witness": witness, "seed": 0 if given else 3}
    evidence = ldp.audit(plan, epsilon=exact.high, delta=delta, **options)
    assert witness is None or evidence.pair == witness.pair
    assert reached * (exact.low if given else exact.high) < evidence.epsilon_lower <= exact.high


def twice_as_loud(x: int, size: int, rng: np.random.Generator) -> Any:
    return KaryRandomizedResponse.for_epsilon(4, k=3).sample(x, size, rng)


def one_report(x: int) -> int:
    return int(KaryRandomizedResponse.for_epsilon(4, k=3).sample(x, 1, np.random.default_rng())[0])


@pytest.mark.few(1)
@pytest.mark.parametrize(("code", "trials", "given"), [
    (twice_as_loud, 40_000, True), (one_report, 3_000, False),
    slow(twice_as_loud, 40_000, False), slow(one_report, 3_000, True),
])  # fmt: skip
def test_shuffled_code_that_is_louder_than_declared_is_refuted(code: Any, trials: int, given: bool) -> None:
    plan = Shuffle(KaryRandomizedResponse.for_epsilon(2, k=3), 6)
    exact, witness = account(plan).epsilon(1e-2), witness_of(plan, 1e-2) if given else None
    options: dict[str, Any] = {"epsilon": exact.high, "delta": 1e-2, "trials": trials, "confidence": 0.999, "witness": witness}
    assert ldp.audit(plan, implementation=code, **options).epsilon_lower > exact.high
    assert ldp.audit(plan, **options).epsilon_lower <= exact.high


def test_reports_that_the_declared_mechanism_never_makes_are_an_error() -> None:
    plan = Shuffle(KaryRandomizedResponse.for_epsilon(2, k=3), 6)
    with pytest.raises(ImplementationError, match="0 to 2, got 3"):
        ldp.audit(plan, implementation=lambda x, size, rng: np.full(size, 3), epsilon=1.0, delta=1e-2, trials=2_000)


def test_as_many_views_are_drawn_as_their_reports_allow() -> None:
    m = SubsetSelection.for_epsilon(4, 100, 20)
    assert shuffled.views_within(Shuffle(m, 10**6), None, 10**6) == shuffled.REPORTS // 10**6
    for k in (3, 10**6):
        assert shuffled.views_within(Shuffle(UnaryEncoding.symmetric(4, k), 10**6), None, 10**6) == 10**6
    raises(Unsupported, "16 views", ldp.audit, Shuffle(m, 10**8), epsilon=1.0)
    raises(Unsupported, "replace-one", ldp.audit, Shuffle(UnaryEncoding.symmetric(4, 3), 5), epsilon=1.0, neighbours=ADD_REMOVE)


def test_the_witness_of_another_plan_is_refused() -> None:
    m = KaryRandomizedResponse.for_epsilon(2, k=3)
    raises(ValueError, "needs a witness of", ldp.audit, Shuffle(m, 7), witness=witness_of(Shuffle(m, 6), 1e-2))
    raises(ValueError, "needs a witness of", ldp.audit, Run(m), witness=witness_of(Shuffle(m, 6), 1e-2))


@pytest.mark.slow
def test_a_shuffled_deployment_is_measured_within_a_tenth_and_its_certificate_shows_the_witness() -> None:
    certificate = ldp.certify(EXAMPLE)
    question, claim = certificate.claims
    for record in (question, claim):
        evidence, enclosure, witness = some(record.evidence), some(record.enclosure), some(record.witness)
        assert enclosure.low > 2
        assert REACHED * enclosure.high < evidence.epsilon_lower <= enclosure.high
        assert evidence.pair == witness.data_sets
        assert witness.data_sets == ("1 user holds 0, 9,999 users hold 2", "1 user holds 1, 9,999 users hold 2")
    assert claim.verdict.record == "holds"
    page = html.page(certificate)
    for shown in (*question.witness.data_sets, question.witness.event):  # type: ignore[union-attr]
        assert shown in page
        assert shown in text.witness(question)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert verify(certificate) == []
    other = question.model_copy(update={"witness": claim.witness.model_copy(update={"first": (("0", 10_000),)})})  # type: ignore[union-attr]
    assert any("witness is" in each for each in verify(certificate.model_copy(update={"claims": (other, claim)})))


DECLARED = Shuffle(KaryRandomizedResponse.for_epsilon(2, k=3), 6)


@pytest.mark.parametrize(("epsilon", "code"), [("2", 0), ("1/100", 1)])
def test_the_command_audits_a_shuffled_plan(epsilon: str, code: int) -> None:
    done = run("audit", f"{__name__}:DECLARED", "--epsilon", epsilon, "--delta", "1/100", "--trials", "20000")
    assert shuffled.EVENT in stdout(done, code)


def test_a_certificate_without_a_witness_is_written_as_before_there_were_any() -> None:
    certificate = ldp.certify(ROOT / "deployments" / "enpa-notification.toml", trials=2_000)
    assert all("witness" not in claim for claim in json.loads(certificate.to_json())["claims"])


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_attacks_on_ten_thousand_users_reach_nine_tenths_of_epsilon_and_never_more_than_all(name: str) -> None:
    exact, found = measured(*SYSTEMS[name], TRIALS)
    assert 0.9 * exact.low < found.epsilon_lower < exact.high


@pytest.mark.parametrize(
    ("m", "most"),
    [(HadamardRangeQueries(3, 4, 1, 2), 2), (HadamardRangeQueries(2, 4, 2, 1), 2), (HadamardRangeQueries(2, 8, 2, 1), 3)],
    ids=str,
)
def test_what_messages_show_of_several_nodes_is_what_all_tuples_of_indices_show(m: HadamardRangeQueries, most: int) -> None:
    shown = Oracle(m.oracle.domain, m.tau)
    first, second = elements_apart(m, most)
    assert len(first) == len(second) == most
    for held in range(2 * m.oracle.domain):
        messages = shown.codewords[held] if held else range(len(shown.tuples))
        kinds = Counter(tuple(any(i in shown.codewords[e] for e in each) for each in (first, second)) for i in messages)
        shares = [F(kinds[kind], len(messages)) for kind in ((True, False), (False, True), (True, True), (False, False))]
        assert shares_of(first, second, (held,) if held else (), m.hit) == tuple(shares)
    for x in m.inputs:
        groups = merged_groups(m, x, most)
        assert sum(number for number, _ in groups) == m.users * (m.rho + m.k)
        mean = [sum(number * float(shares[kind]) for number, shares in groups) for kind in range(4)]
        found = drawn(groups, 40_000, np.random.default_rng(x))
        assert found.mean(axis=0) == pytest.approx(mean, abs=5 * found.std(axis=0).max() / 200)


@pytest.mark.slow
def test_the_audit_of_one_oracle_tells_values_apart_by_all_their_nodes_together_but_code_by_its_views() -> None:
    m = HadamardRangeQueries(1_000, 64, tau=10, rho=40)
    exact = account(m).epsilon(1e-2)
    asked: dict[str, Any] = {"delta": 1e-2, "trials": 200_000, "mode": Mode.FIXED}
    found, of_code = ldp.audit(m, **asked), ldp.audit(m, implementation=m, **asked)
    assert 0.8 * exact.low < found.epsilon_lower < exact.high
    assert "any of 6 nodes" in found.event
    assert 0 < of_code.epsilon_lower < found.epsilon_lower
    assert not any("any of" in game.event for game in Planned(m, implementation=m).games())
