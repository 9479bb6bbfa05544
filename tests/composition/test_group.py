"""Where a group of users is replaced: as many independent runs, beside convolutions in rationals and published values."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from ldpaudit import Rigour, account, audit, strategies
from ldpaudit.accountants.claims.published import published
from ldpaudit.accountants.composition.theorems import advanced_grouposition, grouposition, kov
from ldpaudit.derivation import derive
from ldpaudit.errors import DeploymentError, Unsupported
from ldpaudit.files.deployment import loads
from ldpaudit.groups import of_one_user
from ldpaudit.mechanism import Law, Mechanism
from ldpaudit.mechanisms import KaryRandomizedResponse, SignOracle
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE, USER_LEVEL, Neighbours, group
from ldpaudit.plan import Compose, Guarantee, Plan, PostProcess, Repeat, Run, Shuffle, Subsample, as_plan
from tests.helpers import COIN, deployment, raises, some
from tests.oracles import shuffle as oracle
from tests.oracles.pairs import excess, joint
from tests.samples import around
from tests.zoo import SMALL, zoo

RARE = Fraction(1, 10**6)
RESPONSE = KaryRandomizedResponse.for_epsilon


@dataclass(frozen=True)
class FreshSign(Mechanism):
    """A public sign, fair and fresh in every report, and the value's product with it, kept with probability p."""

    p: Fraction
    title = "fresh public sign"

    @property
    def inputs(self) -> Sequence[int]:
        return 0, 1

    def sample(self, x: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        raise NotImplementedError

    def law(self, x: int) -> Law:
        # Where the sign is 1 both inputs have one answer, else opposite ones.
        views = [(sign, answer) for sign in (0, 1) for answer in (0, 1)]
        return Law(lambda y: (self.p if y[1] == y[0] * x else 1 - self.p) / 2, lambda: views, 4)

    def estimate(self, views: Any) -> NDArray[np.float64]:
        raise NotImplementedError


@dataclass(frozen=True)
class Channel(FreshSign):
    """Any channel: a row of probabilities for each input."""

    p: tuple[tuple[Fraction, ...], ...]  # type: ignore[assignment]

    @property
    def inputs(self) -> Sequence[int]:
        return range(len(self.p))

    def law(self, x: int) -> Law:
        return Law(lambda y: self.p[x][y], lambda: range(len(self.p[x])), len(self.p[x]))


def convolved(m: Mechanism, users: int, delta: Fraction) -> float:
    """Epsilon of a group by convolution of the losses e, 0 and -e of two inputs, in rationals."""
    there, back = dict(m.law(m.inputs[0]).items()), dict(m.law(m.inputs[1]).items())
    ratio = max(there[y] / back[y] for y in there)
    law = {step: sum((p for y, p in there.items() if p / back[y] == ratio**step), Fraction(0)) for step in (-1, 0, 1)}
    total = {0: Fraction(1)}
    for _ in range(users):
        total = {
            s: sum((total.get(s - step, Fraction(0)) * p for step, p in law.items()), Fraction(0))
            for s in range(min(total) - 1, max(total) + 2)
        }
    above = below = Fraction(0)
    found = Fraction(1)
    for s in range(users, 0, -1):
        above, below = above + total[s], below + total[s] / ratio**s
        found = max(found, (above - delta) / below)
    return float(math.log(found.numerator) - math.log(found.denominator))


@pytest.mark.parametrize(
    ("target", "users", "epsilon"),
    [(RESPONSE(1, 2), 100, 83.530701678483612), (RESPONSE(1, 2), 1000, 591.07965045423898),
     (RESPONSE(Fraction(1, 10), 2), 1000, 19.344671447993044), (RESPONSE(1, 4), 100, 62.899045613765715),
     (FreshSign(RESPONSE(1, 2).p), 100, 53.001818575347510), (SignOracle.for_epsilon(1, 10, 8), 100, 83.530701678483612),
     (RESPONSE(1, 2), 1, 0.99999863), (RESPONSE(1, 2), 10, 9.99997707), (RESPONSE(Fraction(1, 10), 2), 1, 0.09999810),
     (RESPONSE(Fraction(1, 10), 2), 10, 0.99937091), (RESPONSE(Fraction(1, 10), 2), 100, 4.77456759)],
     ids=lambda value: str(value) if isinstance(value, Mechanism) else None,
)  # fmt: skip
def test_the_epsilon_of_a_group_is_the_published_one(target: Mechanism, users: int, epsilon: float) -> None:
    found = account(target, group(users)).epsilon(RARE)
    assert found.rigour is Rigour.EXACT
    half_a_digit = 5e-9 if len(str(epsilon)) < 12 else 1e-13 * epsilon
    assert found.low == pytest.approx(epsilon, abs=half_a_digit)


@pytest.mark.parametrize("m", [RESPONSE(1, 2), RESPONSE(1, 4), RESPONSE(Fraction(1, 10), 3), FreshSign(Fraction(3, 4))], ids=str)
@pytest.mark.parametrize("delta", [RARE, Fraction(1, 10)])
def test_the_epsilon_of_a_group_is_that_of_a_convolution_in_rationals(m: Mechanism, delta: Fraction) -> None:
    for users in (1, 2, 30):
        found = account(m, group(users)).epsilon(delta)
        assert found.low * (1 - 1e-12) <= convolved(m, users, delta) <= found.high * (1 + 1e-12)


def test_no_reports_of_that_epsilon_are_worse_for_a_group_than_binary_randomized_response() -> None:
    worst, binary = account(Repeat(Guarantee(Fraction(1)), 50)), account(RESPONSE(1, 2), group(50))
    for epsilon in (0.0, 10.0, 40.0):
        most = worst.delta(epsilon).high
        assert most == pytest.approx(binary.delta(epsilon).high, rel=1e-9)
        for other in (RESPONSE(1, 4), FreshSign(RESPONSE(1, 2).p)):
            assert account(other, group(50)).delta(epsilon).high < most


def test_where_no_pair_of_inputs_is_the_worst_the_worst_choice_of_a_pair_for_each_user_is_enclosed() -> None:
    # Inputs 0 and 1 have the larger loss, 0 and 2 the larger distance in variation.
    rows = ((Fraction(1, 2), Fraction(1, 2)), (Fraction(99, 100), Fraction(1, 100)), (Fraction(1, 10), Fraction(9, 10)))
    skewed = ((Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)), (Fraction(1, 10), Fraction(7, 10), Fraction(1, 5)),
              (Fraction(2, 5), Fraction(59, 100), Fraction(1, 100)))  # fmt: skip
    for law in (rows, skewed):
        profile = account(Channel(law), group(2))
        for epsilon in (0.0, 0.5, 1.0, 2.0):
            pairs = [list(zip(*pair, strict=True)) for pair in permutations(law, 2)]
            truth = max(excess(joint(*both), Fraction(math.exp(epsilon))) for both in product(pairs, repeat=2))
            assert around(profile.delta(epsilon), truth)
    assert account(Channel(skewed), group(2)).delta(1.0).rigour is Rigour.INTERVAL


@pytest.mark.parametrize("m", [m for m in SMALL if m.model == "local" and REPLACE_ONE in m.relations], ids=str)
def test_a_group_of_one_user_is_that_user(m: Mechanism) -> None:
    assert account(m, group(1)).delta(0.5) == account(m, REPLACE_ONE).delta(0.5)


@given(strategies.channels(), st.integers(1, 12))
def test_a_larger_group_is_never_harder_to_tell_apart(rows: list[list[Fraction]], users: int) -> None:
    m = Channel(tuple(map(tuple, rows)))
    assert account(m, group(users)).delta(0.5).low <= account(m, group(users + 1)).delta(0.5).high


MIXED: list[tuple[Plan, str]] = [
    (Shuffle(RESPONSE(1, 2), 9), "a Shuffle mixes them"), (Subsample(RESPONSE(1, 2), 9, 3), "a Subsample mixes them"),
    (Repeat(Shuffle(RESPONSE(1, 2), 9), 2), "a Shuffle mixes them"), (Run(zoo("shuffled_hadamard").small[0]), "is shuffled"),
    (Run(zoo("thresh_repaired").small[0]), "is interactive"), (Run(zoo("trie_heavy_hitter").small[0]), "is sampled"),
]  # fmt: skip


@pytest.mark.parametrize(("plan", "reason"), MIXED, ids=lambda value: type(value).__name__)
def test_an_attack_on_a_group_needs_independent_reports(plan: Plan, reason: str) -> None:
    with pytest.raises(Unsupported, match=f"^.*: a group of users is as many runs only .*; .*{reason}$"):
        audit(plan, epsilon=1.0, neighbours=group(3))


@pytest.mark.parametrize("m", [KaryRandomizedResponse(2, Fraction(3, 4)), KaryRandomizedResponse(3, Fraction(1, 2))], ids=str)
@pytest.mark.parametrize("users", [3, 4])
def test_of_mixed_reports_a_group_costs_no_more_than_its_users_one_after_the_other(m: Mechanism, users: int) -> None:
    """Against all pairs of data sets that differ in two users at most, listed."""
    channel, found = oracle.laws(m), account(Shuffle(m, users), group(2))
    everybody = [sorted(each) for each in combinations_with_replacement(range(len(channel)), users)]
    views = {tuple(each): oracle.shuffled([channel[x] for x in each]) for each in everybody}
    near = [(a, b) for a, b in permutations(views, 2) if (Counter(a) - Counter(b)).total() <= 2]
    for exp_epsilon in (Fraction(1), Fraction(6, 5), Fraction(2)):
        truth = max(oracle.divergence(views[a], views[b], exp_epsilon) for a, b in near)
        delta = found.delta(math.log(exp_epsilon))
        assert delta.low <= truth * (1 + Fraction(1, 10**12)) <= delta.high * (1 + 2e-12)
        once = account(Shuffle(m, users)).delta(math.log(exp_epsilon) / 2).high
        assert delta.high == pytest.approx(min(1, (1 + math.sqrt(exp_epsilon)) * once), rel=1e-9)
        if 0 < delta.high < 1:
            assert math.log(exp_epsilon) - 1e-9 <= found.epsilon(delta.high).high <= math.log(exp_epsilon) + 1e-3


@pytest.mark.parametrize("plan", [Shuffle(RESPONSE(1, 2), 900), Run(zoo("shuffled_hadamard").small[0])], ids=str)
def test_a_larger_group_of_users_whose_reports_are_mixed_costs_more(plan: Plan) -> None:
    one, two, nine = (account(plan, group(users)).epsilon(RARE) for users in (1, 2, 9))
    assert one == account(plan, REPLACE_ONE).epsilon(RARE)
    assert 2 * one.high <= two.high <= 9 / 2 * two.high <= nine.high
    assert nine.high <= 9 * account(plan, REPLACE_ONE).epsilon(0).high * (1 + 1e-15)
    assert one.low == two.low == nine.low


def test_several_reports_of_each_user_of_a_group_are_as_many_runs() -> None:
    one = as_plan(RESPONSE(1, 3))
    day = PostProcess(Compose([one, Repeat(one, 2)]), "a mean")
    assert of_one_user(day, group(4)) == (Repeat(day, 4), REPLACE_ONE)
    assert of_one_user(day, ADD_REMOVE) == (day, ADD_REMOVE)
    assert account(Repeat(one, 3), group(4)).epsilon(RARE) == account(one, group(12)).epsilon(RARE)


def test_the_proof_of_a_report_is_a_proof_of_a_group_as_many_times() -> None:
    plan, relation = of_one_user(as_plan(RESPONSE(1, 3)), group(7))
    assert relation == REPLACE_ONE
    assert derive(plan, relation.kind).epsilon.high == pytest.approx(7, rel=1e-12)


DEPLOYED = deployment(COIN, 'id = "family"\nepsilon = "log(3) * 4"\nneighbours = "group-of-4"', "group")


def test_a_deployment_file_names_a_group_and_its_certificate_is_checked_again() -> None:
    import ldpaudit as ldp
    from ldpaudit.certificates.certify import certify, verify

    whole = loads(DEPLOYED)
    assert whole.claims[0].neighbours == group(4)
    found = certify(whole, seed=1, trials=2_000)
    (claim,) = found.claims
    assert claim.neighbours == "group-of-4"
    assert claim.verdict.name == "PROVED"
    assert verify(ldp.Certificate.from_json(found.to_json())) == []


@pytest.mark.parametrize("name", ["group-of-0", "group-of-", "group-of-1.5", "group", "pairs", "replace-two", "group-of-٣"])
def test_what_names_no_relation_is_an_error_that_names_those_there_are(name: str) -> None:
    raises(ValueError, "group", Neighbours.named, name)
    raises(DeploymentError, r"claims\.0.*neighbours", loads, DEPLOYED.replace("group-of-4", name))


@pytest.mark.parametrize("arguments", [{"kind": "group"}, {"kind": "group", "users": True}, {"kind": "replace-one", "users": 2}])
def test_a_group_has_users_and_no_other_relation_has_and_its_name_names_it(arguments: dict[str, Any]) -> None:
    for relation in (REPLACE_ONE, ADD_REMOVE, USER_LEVEL, *map(group, (1, 7, 10**9))):
        assert Neighbours.named(str(relation)) == relation
    raises(ValueError, "needs 1 <= users", Neighbours, **arguments)


@pytest.mark.parametrize(
    ("epsilon", "stated"),
    [(Fraction(1), (5.7565218, 21.6225814, 102.5652177, 666.2258136)),
     (Fraction(1, 10), (0.5306522, 1.7122581, 5.7565218, 21.6225814))],
)  # fmt: skip
def test_advanced_grouposition_is_the_published_formula_and_its_proof_gives_no_more(
    epsilon: Fraction, stated: tuple[float, ...]
) -> None:
    for users, value in zip((1, 10, 100, 1000), stated, strict=True):
        assert advanced_grouposition(users, epsilon, RARE).high == pytest.approx(value, abs=5e-8)
        least = grouposition(users, epsilon, RARE).high
        assert account(Repeat(Guarantee(epsilon), users)).epsilon(RARE).high <= least <= min(value + 1e-7, users * epsilon + 1e-9)
        assert kov([(users, epsilon, 0)], RARE)[0].high <= least
    assert grouposition(1000, epsilon, RARE).high < advanced_grouposition(1000, epsilon, RARE).high - 1e-3


def test_published_bounds_of_a_group_stand_beside_its_certified_epsilon() -> None:
    plan = as_plan(RESPONSE(1, 4))
    rows = {row.name: row for row in published(plan, RARE, account(plan, group(100)).epsilon(RARE), group(100))}
    printed = some(rows["BNS18 advanced grouposition"].printed)
    assert printed.claimed == pytest.approx(102.5652177, abs=1e-6)
    assert printed.holds
    assert {"KOV15 closed form", "DKMMN06 basic composition"} <= set(rows)
