"""A mechanism that users write: nothing that is known of a bundled one is known of its subclass, only what its own law says."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pytest

import ldpaudit as ldp
from ldpaudit.accountants.pld import own_law
from ldpaudit.derivation import derive
from ldpaudit.errors import ImplementationError, Unsupported
from ldpaudit.files.deployment import Deployment
from ldpaudit.mechanism import Law, Mechanism, Views
from ldpaudit.mechanisms import KaryRandomizedResponse, Laplace, stem
from ldpaudit.mechanisms.channel import Channel, channel_of
from ldpaudit.neighbours import ADD_REMOVE, REPLACE_ONE
from ldpaudit.plan import Plan, Repeat, Run, Shuffle
from tests.helpers import raises, raises_a_line

PARENT = KaryRandomizedResponse(3, Fraction(9, 10))


class Reporter(KaryRandomizedResponse):
    """It shows its input."""

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> Views:
        return np.full(size, x)


class LyingLaw(KaryRandomizedResponse):
    """A parameter of its law means something else."""

    @property
    def lie(self) -> Fraction:
        return Fraction(0)


class LyingLaplace(Laplace):
    def sample(self, x: Any, size: int, rng: np.random.Generator) -> Views:
        return np.full(size, x)


class Halves(Reporter):
    """It shows its input half of the time, any value otherwise; and says so."""

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> Views:
        return np.where(rng.random(size) < 0.5, x, rng.integers(0, self.k, size))

    def law(self, x: Any) -> Law:
        return Law(lambda y: Fraction(1, 6) + Fraction(int(y == x), 2), lambda: range(self.k), self.k)


class HalvesNoMore(Halves):
    """The law that it inherits is one of another sample."""

    sample = Reporter.sample


class HalfALaw(Halves):
    def law(self, x: Any) -> Law:
        return Law(lambda y: Fraction(1, 6), lambda: range(self.k), self.k)


class Renamed(KaryRandomizedResponse):
    """It changes a word."""

    title = "ours"


class Wrapper(Mechanism):
    """A mechanism of ours in one of somebody's."""

    title = "wrapped"
    inputs = PARENT.inputs
    def sample(self, x: Any, size: int, rng: np.random.Generator) -> Views:
        return PARENT.sample(x, size, rng)

    def law(self, x: Any) -> Law:
        return PARENT.law(x)

    def estimate(self, views: Views) -> Any:
        return PARENT.estimate(views)

    def __str__(self) -> str:
        return "Wrapper"


class Stranger(Mechanism):
    title = "what nothing is known of"
    inputs = range(2)

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> Views:
        return np.full(size, x)

    def estimate(self, views: Views) -> Any:
        return views

    def __str__(self) -> str:
        return "Stranger"


STAGES: list[Callable[[Plan], object]] = [
    lambda plan: ldp.account(plan), lambda plan: ldp.account(Repeat(plan, 4)),
    lambda plan: ldp.account(Shuffle(plan, 100)), lambda plan: derive(plan, "replace-one"),
    lambda plan: ldp.audit(plan, trials=1000),
]
LIARS: list[Mechanism] = [
    Reporter(3, Fraction(9, 10)), LyingLaw(3, Fraction(9, 10)), LyingLaplace.for_epsilon(1), HalvesNoMore(3, Fraction(9, 10)),
    Renamed(3, Fraction(9, 10)), Stranger(),
]  # fmt: skip


@pytest.mark.parametrize("stage", STAGES, ids=["account", "repeat", "shuffle", "derive", "audit"])
@pytest.mark.parametrize("m", LIARS, ids=lambda m: type(m).__name__)
def test_a_subclass_inherits_no_accountant_proof_or_attack(m: Mechanism, stage: Callable[[Plan], object]) -> None:
    if isinstance(m, Stranger) and stage is STAGES[-1]:
        assert ldp.audit(m, trials=1000).epsilon_lower > 1  # its samples are all that is needed
        return
    raises_a_line(Unsupported, f"{type(m).__name__}: it is (a subclass of|not)", stage, Run(m))


@dataclass(frozen=True)
class Told(Mechanism):
    """It states no law, and shows its input three times out of four."""

    title = "what only its samples say anything of"
    inputs = range(2)

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> Views:
        return np.where(rng.random(size) < 0.75, x, 1 - x)

    def estimate(self, views: Views) -> Any:
        return views


def test_a_mechanism_without_a_law_is_audited_by_its_samples_and_the_other_stages_say_what_to_add() -> None:
    found = ldp.audit(Told(), trials=40_000, seed=1)
    assert 1 < found.epsilon_lower < np.log(3)
    assert found == ldp.audit(Run(Told()), trials=40_000, seed=1)
    for stage in STAGES[:-1]:
        raises(Unsupported, r"^Told: .* add a method law\(x\), and its accountant, .* follow from it$", stage, Run(Told()))
    with pytest.raises(Unsupported, match="any two inputs of a mechanism are compared, but add-remove relates only some of them"):
        ldp.audit(Shuffler(), trials=1000)


@pytest.mark.parametrize(("m", "verdict"), [(Halves(3, Fraction(9, 10)), "PROVED"), (Told(), "UNDECIDED")], ids=["law", "no law"])
def test_a_class_of_ones_own_is_certified_by_what_is_known_of_it(m: Mechanism, verdict: str) -> None:
    plan = Run(m)
    claim = ldp.Claim("one", plan, Fraction(3, 2), Fraction(0), REPLACE_ONE, "report", "")
    made = ldp.certify(Deployment("own", "own", "", (), plan, (claim,), None, ""), trials=5000)
    assert made.verdict == verdict
    assert made.claims[0].evidence is not None
    assert all("add a method law(x)" in line for line in made.claims[0].unsupported)


class Shuffler(Told):
    relations = (ADD_REMOVE,)


def test_the_refusal_names_the_class_and_what_to_write_in_place_of_a_subclass() -> None:
    for each in (Reporter(3, Fraction(9, 10)), LyingLaw, Renamed):
        raises(Unsupported, r"a subclass of KaryRandomizedResponse, .* Wrap one in a Mechanism .* `channel`", stem, each)
    wrapped = Wrapper()
    assert ldp.account(wrapped).epsilon(0).high == pytest.approx(ldp.account(PARENT).epsilon(0).high)
    assert ldp.account(channel_of(PARENT)).epsilon(0).high == pytest.approx(ldp.account(PARENT).epsilon(0).high)
    assert ldp.audit(wrapped, trials=20_000, seed=1).epsilon_lower > 1


def test_a_finite_law_of_ones_own_is_accounted_attacked_and_proved_entry_by_entry() -> None:
    m = Halves(3, Fraction(9, 10))
    found = ldp.account(m).epsilon(0)
    assert found.low <= float(np.log(4)) <= found.high < 1.3863
    assert ldp.account(Repeat(m, 5)).epsilon(0).high == pytest.approx(5 * found.high)
    assert ldp.account(Shuffle(m, 1000)).epsilon(1e-6).high < found.low
    assert 1.2 < ldp.audit(m, trials=40_000, seed=1).epsilon_lower < found.high
    proof = derive(Run(m), "replace-one")
    assert proof.epsilon.low <= float(np.log(4)) <= proof.epsilon.high < 1.3863
    assert proof.tight
    assert proof.assumes == ("the views of Halves have the law that it states, and its inputs are those that it lists",)
    raises(Unsupported, "not user-level", derive, Run(m), "user-level")
    other = Run(HalfALaw(3, Fraction(9, 10)))
    raises(Unsupported, r"the proof of its law fails: .* no law", derive, other, "replace-one")


@dataclass(frozen=True)
class Telling(Mechanism):
    """Two views that Python takes for equal."""

    views: tuple[Any, Any]
    title = "telling"
    inputs = (0, 1)

    def law(self, x: int) -> Law:
        return Law(lambda y: Fraction(1), lambda: (self.views[x],), 1)

    def sample(self, x: int, size: int, rng: np.random.Generator) -> list[Any]:
        return [self.views[x]] * size

    def estimate(self, views: Any) -> Any:
        return np.zeros(2)


@pytest.mark.parametrize("views", [(0.0, -0.0), (1, True), (1, 1.0), ((0, 1), (False, 1)), (frozenset({1}), frozenset({1.0}))])
def test_views_that_are_equal_and_look_different_are_no_one_view(views: tuple[Any, Any]) -> None:
    raises(ImplementationError, "its law needs views that Python can distinguish", ldp.account, Telling(views))
    raises(Unsupported, "views that Python can distinguish", derive, Run(Telling(views)), "replace-one")
    assert ldp.account(Telling((views[0], views[0]))).epsilon(0).high == 0
    assert ldp.account(Telling((1, np.int64(1)))).epsilon(0).high == 0


def test_a_law_that_is_none_is_an_error_and_not_waited_for() -> None:
    raises(ImplementationError, r"on input 0: its law needs .* got 3 of sum 0.5", ldp.account, HalfALaw(3, Fraction(9, 10)))
    raises(ImplementationError, "a law of size 3 needs at most that many views", ldp.account, Endless(3, Fraction(9, 10)))
    with pytest.raises(ImplementationError, match="a probability of its law needs a number of at most 131072 bits, got one of"):
        ldp.account(Long(3, Fraction(9, 10)))


def test_a_law_of_as_many_ratios_as_may_be_is_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_law, "_MOST_RATIOS", 18)  # of six pairs, with three views
    assert own_law.profile(KaryRandomizedResponse(3, Fraction(1, 2)), REPLACE_ONE).epsilon(0).high == pytest.approx(np.log(2))


@pytest.mark.parametrize("m", [Channel("3/4, 1/4; 1/4, 3/4"), Wrapper()], ids=str)
def test_one_object_s_own_method_is_no_method_of_its_class(m: Mechanism) -> None:
    object.__setattr__(m, "sample", lambda x, size, rng: np.full(size, x))
    raises(Unsupported, r"its sample is not that of its class|it is not a mechanism of", ldp.account, m)


class Endless(Halves):
    def law(self, x: Any) -> Law:
        return Law(lambda y: Fraction(1, self.k), count, self.k)


class Long(Halves):
    def law(self, x: Any) -> Law:
        rare = Fraction(1, 7**200_000)
        return Law(lambda y: rare if y == x else (1 - rare) / (self.k - 1), lambda: range(self.k), self.k)
