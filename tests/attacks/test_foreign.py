"""Code in place of a mechanism: its views are read as they come, or the audit says that the code is not what is declared."""

from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest

from benchmarks import hostile
from ldpaudit import Plan, Repeat, Shuffle, account, audit
from ldpaudit.attacks.games.foreign import Foreign
from ldpaudit.attacks.games.plans import by_its_numbers
from ldpaudit.attacks.games.stems import attack_on
from ldpaudit.errors import ImplementationError, Unsupported
from ldpaudit.mechanism import ENUMERABLE, Law, Mechanism, Rows
from ldpaudit.mechanisms import Channel, KaryRandomizedResponse, ShuffledBinarySums, SubsetSelection, UnaryEncoding, stem
from ldpaudit.mechanisms.laplace import Laplace, LaplaceHistogram
from tests.helpers import raises, raises_a_line
from tests.zoo import AT_ONE, SMALL, delta_of

FOUR, LOUD = (KaryRandomizedResponse.for_epsilon(epsilon, k=4) for epsilon in (1, 4))
REAL = Laplace.for_epsilon(1)
PLANS = (FOUR, Repeat(FOUR, 3), Shuffle(FOUR, 10))
Code = Callable[..., Any]
ONE_TYPE = r"needs views of one type, got (bool|int), and (int|bool) on input"


def own(m: Mechanism) -> Code:
    """The mechanism's own sampler, as a stranger's function would be."""
    return lambda x, size, rng: m.sample(x, size, rng)


def found(plan: Plan | Mechanism, code: Code, **options: Any) -> Any:
    return audit(plan, implementation=code, **{"epsilon": 1.0, "trials": 3_000, "seed": 1, **options})


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize(("code", "says"), [
    (lambda x: 10 + x, r"on input [03]: needs views that the declared law has, 0 to 3, got 1[03]"),
    (lambda x, size, rng: np.full(size, 1000 * (x + 1)), r"0 to 3, got [14]000"),
    (lambda x: "yes" if x else "no", r"needs views of whole numbers, as the declared law has, got str: \['(yes|no)'"),
    (lambda x, size, rng: np.full(size, np.nan if x else np.inf), r"whole numbers, .* got float: \[(nan|inf)"),
    (lambda x, size, rng: LOUD.sample(x, size, rng) + 1, "0 to 3, got 4"),
    (lambda x, size, rng: FOUR.sample(x, size, rng) + 1e-9 * x, "whole numbers, .* got float"),
    (lambda x, size, rng: FOUR.sample(x, size, rng).astype(str), "whole numbers, .* got str_"),
    (lambda x, size, rng: FOUR.sample(x, size, rng).astype(np.longdouble), "whole numbers, .* got longdouble"),
    (lambda x, size, rng: FOUR.sample(x, size, rng)[:, None], r"of shape \(\d+,\), got \(\d+, 1\)"),
    (lambda x: 2**64 + x, r"below 2\*\*63"),
    (lambda x, size, rng: np.full(size, 1, dtype=bool if x else int), ONE_TYPE),
    (lambda x, size, rng: np.full(size, 1, dtype=np.bool_ if x else int), ONE_TYPE),
])  # fmt: skip
def test_a_view_that_the_law_does_not_have_is_an_error(plan: Plan | Mechanism, code: Code, says: str) -> None:
    raises_a_line(ImplementationError, says, found, plan, code)


@pytest.mark.parametrize("views", [[0, True, 1], [0, 1.0, 1], [0, "1", 1], [0, None, 1], [0, Fraction(1), 1], [[0], [1], [1]]])
def test_a_view_of_another_type_among_the_others_is_an_error(views: list[Any]) -> None:
    raises(ImplementationError, None, Foreign(FOUR, FOUR, [0, 3]).held, views, 3, 0)


@pytest.mark.parametrize("views", [[0, 1, 3], (0, np.int8(1), np.uint64(3)), np.array([0, 1, 3], dtype=object)])
def test_numbers_of_one_type_are_read_however_they_are_put_together(views: Any) -> None:
    assert Foreign(FOUR, FOUR, [0, 3]).held(views, 3, 0).tolist() == [0, 1, 3]


def test_bits_that_are_booleans_throughout_are_bits() -> None:
    m = UnaryEncoding.symmetric(1, k=4)
    claimed = account(m).epsilon(0).high
    assert 0 < found(m, lambda x, size, rng: m.sample(x, size, rng) > 0, epsilon=claimed).epsilon_lower <= claimed


@pytest.mark.parametrize("view", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("plan", [REAL, Repeat(REAL, 2), LaplaceHistogram.for_epsilon(1, k=3)], ids=str)
def test_a_report_that_is_no_finite_number_is_an_error(plan: Plan | Mechanism, view: float) -> None:
    shape = (3,) if isinstance(plan, LaplaceHistogram) else ()
    with pytest.raises(ImplementationError, match="needs views that the declared law has, finite numbers, got"):
        found(plan, lambda x, size, rng: np.full((size, *shape), view))


REFUTED: list[tuple[Plan | Mechanism, Code]] = [
    *((plan, lambda x, size, rng: np.full(size, 3 - x)) for plan in PLANS),  # it answers the other way round
    # by views that the attack takes for neither input
    (FOUR, lambda x, size, rng: np.full(size, 1 + (x > 0))),
    (FOUR, lambda x, size, rng: (LOUD.sample(x, size, rng) + 1) % 4),
    *(
        (plan, code)
        for plan in (REAL, Repeat(REAL, 2))
        for code in (  # far from all declared numbers
            lambda x, size, rng: np.full(size, 1000.0 * (x + 1)),
            lambda x, size, rng: x + np.ones(size),
            lambda x, size, rng: Laplace.for_epsilon(4).sample(x, size, rng) - 1000,
        )
    ),
]


@pytest.mark.parametrize(("plan", "code"), REFUTED)
def test_answers_that_the_declared_score_does_not_look_for_are_refuted(plan: Plan | Mechanism, code: Code) -> None:
    assert found(plan, code).epsilon_lower > 1


def test_a_view_that_neither_of_the_two_inputs_has_is_an_error() -> None:
    half = Fraction(1, 2)
    m = Channel(((half, half, 0, 0), (half, 0, half, 0), (half, 0, 0, half)))
    pair = attack_on(m, delta=0.4).pair
    (unseen,) = (y for y in range(4) if not any(m.matrix[x][y] for x in pair))
    with pytest.raises(ImplementationError, match=f"on {pair[0]} or {pair[1]}, got {unseen}"):
        audit(m, implementation=lambda x, size, rng: np.full(size, unseen), delta=0.4, epsilon=1.0, trials=1000)


@pytest.mark.parametrize(("m", "wrong"), [
    (SubsetSelection.for_epsilon(1, 6, 2), lambda views: views | (np.arange(6) == 3)),
    (UnaryEncoding.symmetric(1, k=4), lambda views: views * 2),
    (ShuffledBinarySums(4, 3, Fraction(1, 2)), lambda views: -views),
])  # fmt: skip
def test_rows_that_are_impossible_as_a_whole_are_not_passed_over(m: Mechanism, wrong: Callable[[Any], Any]) -> None:
    def code(x: Any, size: int, rng: np.random.Generator) -> Any:
        return wrong(m.sample(x, size, rng))

    raises(ImplementationError, "needs views that the declared law has", found, m, code, epsilon=50.0, delta=0.9)


@pytest.mark.parametrize("m", [m for m in [*SMALL, *AT_ONE] if getattr(m, "view_length", 1) < 100], ids=str)
def test_what_a_mechanism_samples_is_what_its_law_has(m: Mechanism) -> None:
    inputs = list(islice(m.inputs, 2))
    for x in inputs:
        code = Foreign(m, own(m), inputs)
        assert np.array_equal(code.sample(x, 300, np.random.default_rng(3)), m.sample(x, 300, np.random.default_rng(3)))
        assert not code.odd


HONEST = [m for m in AT_ONE if "Trie" not in type(m).__name__]
OF_EACH_STEM = {stem(m): m for m in HONEST}.values()


@pytest.mark.few(23)
@pytest.mark.parametrize("m", [m if m in OF_EACH_STEM else pytest.param(m, marks=pytest.mark.slow) for m in HONEST], ids=str)
def test_an_honest_implementation_is_no_error_and_not_refuted(m: Mechanism) -> None:
    delta = delta_of(m)
    claimed = account(m).epsilon(delta).high
    evidence = audit(m, implementation=own(m), epsilon=claimed, delta=delta, trials=3_000, confidence=1 - 1e-9, seed=4)
    assert evidence.epsilon_lower <= claimed


def law_of(m: Mechanism) -> Law | None:
    try:
        return m.law(next(iter(m.inputs)))
    except Unsupported:
        return None


@pytest.mark.parametrize("m", [m for m in [*SMALL, *AT_ONE] if "Trie" not in type(m).__name__], ids=str)
def test_a_law_that_is_too_long_to_be_listed_says_what_its_numbers_may_be(m: Mechanism) -> None:
    law = law_of(m)
    if law is None:
        assert np.issubdtype(np.asarray(m.sample(m.inputs[0], 1, np.random.default_rng(0))).dtype, np.number)
        return
    views = law.views()
    assert isinstance(views, range | Rows) or law.size <= ENUMERABLE
    if isinstance(views, Rows) and law.size <= 2_000:
        listed = np.array(list(views))
        assert len(listed) == law.size
        assert views.have(listed).all()
        outside = listed + (np.array([r[-1] - r[0] for r in views.columns]) + 1)
        assert not views.have(outside).any()


def test_a_row_is_among_others_by_each_number_and_by_all_of_them() -> None:
    signs = Rows((range(2), range(-1, 2, 2)), lambda rows: rows[:, 0] * rows[:, 1] <= 0, lambda: [(0, -1), (0, 1), (1, -1)])
    rows = np.array([[0, 1], [1, 1], [1, 0], [2, 1], [0, -1], [0, -3]])
    assert signs.within(rows).tolist() == [True, True, False, False, True, False]
    assert signs.have(rows).tolist() == [True, False, False, False, True, False]


class Words(Mechanism):
    """Binary response in words, with a law of its own."""

    title = "words"
    inputs = (0, 1)

    def sample(self, x: Any, size: int, rng: np.random.Generator) -> Any:
        return [("no", "yes")[x ^ int(rng.random() < 0.25)] for _ in range(size)]

    def law(self, x: Any) -> Law:
        chances = {("no", "yes")[x]: Fraction(3, 4), ("yes", "no")[x]: Fraction(1, 4)}
        return Law(chances.__getitem__, lambda: chances, 2)

    def estimate(self, views: Any) -> Any:
        raise NotImplementedError

    def __str__(self) -> str:
        return "words"


def test_words_are_held_to_the_law_of_whoever_wrote_them() -> None:
    m = Words()
    assert 0.5 < audit(m, epsilon=1.1, trials=3_000).epsilon_lower < np.log(3)
    assert found(m, own(m), epsilon=1.1).epsilon_lower < np.log(3)
    for code in (lambda x: ("No", "yes")[x], lambda x: x, lambda x: ["no", "yes"]):
        raises(ImplementationError, "needs views that the declared law has", found, m, code)


@pytest.mark.parametrize("m", [m for m in SMALL if "TrieHeavyHitter" in type(m).__name__], ids=str)
@pytest.mark.parametrize("shown", [*(frozenset({each}) for each in ("zzz", 7, ("a", True), ("zz", 1))), "yes", 1, ()])
def test_a_trie_of_prefixes_that_nobody_holds_is_an_error(m: Mechanism, shown: Any) -> None:
    def code(x: Any, size: int, rng: np.random.Generator) -> Any:
        views = np.empty(size, dtype=object)
        views[:] = [shown] * size
        return views

    raises(ImplementationError, "a view is a frozenset of prefixes that somebody holds", found, m, code, delta=0.1)


@pytest.mark.parametrize("m", [FOUR, REAL, AT_ONE[0]], ids=str)
def test_no_hostile_code_gets_a_certificate(m: Mechanism) -> None:
    claimed, delta = account(m).epsilon(delta_of(m)).high, float(delta_of(m))
    code = hostile.ways(m, audit(m, delta=delta, trials=200).pair)
    cells = {name: hostile.certified(m, claimed, delta, 3_000, each) for name, each in code.items()}
    assert set(cells) <= set(hostile.COLUMNS)
    assert set(cells.values()) <= {"refuted", "error"}


def test_the_matrix_has_a_green_cell_where_honest_code_is_certified() -> None:
    assert hostile.certified(FOUR, account(FOUR).epsilon(0).high, 0.0, 3_000, own(FOUR)) == "GREEN"


def test_what_is_added_up_by_fixed_weights_differs_where_a_view_does() -> None:
    m = UnaryEncoding.symmetric(1, k=6)
    score = by_its_numbers(m, attack_on(m)).score
    rows = np.array([[int(bit) for bit in f"{number:06b}"] for number in range(64)])
    assert len(set(score(rows).tolist())) == 64


