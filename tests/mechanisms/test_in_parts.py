"""Systems over data in parts have the law of their own run on all parts' users, one after the other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from scipy import stats

from ldpaudit.core.partitions import Counts, Partition
from ldpaudit.errors import Unsupported
from ldpaudit.mechanisms import BucketHeavyHitter, GlpsHeavyHitter, Hashtogram, ShuffledHeavyHitters, SignOracle
from ldpaudit.mechanisms.bitstogram import Bitstogram, SplitBitstogram
from ldpaudit.mechanisms.expander_sketch import ExpanderSketch, SplitExpanderSketch
from ldpaudit.mechanisms.jl_heavy_hitter import FreshProducts, FreshProjections, JLHeavyHitter
from ldpaudit.mechanisms.prefix_extending import PrefixExtending, SignPrefixExtending
from ldpaudit.mechanisms.shared.in_parts import total
from ldpaudit.mechanisms.shared.public_questions.server_queries import Cells, Children, Tables
from ldpaudit.mechanisms.tree_histogram import HashedAnswers, HashedTreeHistogram, SplitTreeHistogram, TreeHistogram
from ldpaudit.workers.experiment import Execution
from ldpaudit.workers.runs import run
from tests.helpers import UnpluggedError, raises
from tests.samples import LEVEL, answered, once

USERS = [{5: 40, 1: 7}, {2: 1}, {5: 30, 9: 12, 2: 10}]
"""By parts, how many users hold each value."""
PARTS = [Counts.of(each) for each in USERS]
DATA = np.concatenate([np.repeat(part.values, part.holders) for part in PARTS])


def number(found: Any) -> float:
    """One number of what was found: of all named values their sum, of a table an entry."""
    return float(sum(found.values())) if isinstance(found, dict) else float(np.ravel(found)[5])


def alike(m: Any, runs: int) -> None:
    """Fail where the two ways do not have one law."""
    rng = np.random.default_rng(2)
    ways: tuple[Callable[[], Any], ...] = (lambda: m.run(DATA, rng), lambda: once(m, PARTS, rng))
    alone, parted = ([number(way()) for _ in range(runs)] for way in ways)
    assert stats.ks_2samp(alone, parted).pvalue > LEVEL
    assert 0.55 < np.std(alone) / np.std(parted) < 1.8


SIGNS: list[Any] = [SignOracle(120, 11, Fraction(3, 4)), Hashtogram(150, 1 << 20, cells=8, groups=3, p=Fraction(3, 4))]


@pytest.mark.parametrize("m", SIGNS, ids=lambda m: type(m).__name__)
def test_signs_are_those_of_all_users_one_after_the_other(m: Any) -> None:
    truthful = replace(m, p=1 - Fraction(1, 10**15))
    for seed in range(3):
        alone, parted = truthful.run(DATA, np.random.default_rng(seed)), once(truthful, PARTS, np.random.default_rng(seed))
        np.testing.assert_allclose(parted, alone, rtol=1e-12, atol=1e-9)
    alike(m, 100)


ASKED = [
    TreeHistogram(120, 1 << 64, width=8, p=Fraction(3, 4)), SplitTreeHistogram(120, 16, 2, Fraction(3, 4), Fraction(2, 3)),
    Bitstogram(120, 1 << 64, 2, 4, 8, Fraction(3, 4)),
    SplitBitstogram(120, 1 << 20, 1, 4, 8, Fraction(3, 4), Fraction(2, 3)),
    ExpanderSketch(120, 1 << 16, coordinates=7, p=Fraction(3, 4), name=2),
    SplitExpanderSketch(120, 1 << 16, 7, Fraction(3, 4), Fraction(2, 3), name=1),
]  # fmt: skip
HASHED = HashedTreeHistogram(120, 16, 2, g=3, p=Fraction(3, 4))
"""Every user draws a hash function, so that not even coins that fall as the truth give the same counts twice."""


def certain(m: Any) -> Any:
    """The system with coins that always fall as the truth, who is asked what being public."""
    sure = 1 - Fraction(1, 10**15)
    return replace(m, p=sure, q=sure) if hasattr(m, "q") else replace(m, p=sure)


def wanted(m: Any, ask: Any) -> list[Any]:
    """Counts by all users' reports together, and by parts, of coins that fall as the truth."""
    views = m.reports(m._vectors(DATA), np.arange(len(DATA)) + 3, np.random.default_rng(0))
    parts = [m.answer((ask, 3 + start), part, np.random.default_rng(1)) for start, part in zip((0, 47, 48), PARTS, strict=True)]
    return [ask.of(m.answers(views)), ask.counts_from(total(parts), m.answers(views[:0]))]


@pytest.mark.parametrize("m", ASKED, ids=lambda m: type(m).__name__)
def test_counts_of_public_questions_add_up_over_parts(m: Any) -> None:
    last = len(m.questions)
    for ask in (Cells(last, np.array([5, 2, 7])), Children(0, np.arange(2), 2), Tables((0, 1))):
        alone, parted = wanted(certain(m), ask)
        np.testing.assert_allclose(parted, alone, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("m", [*ASKED[1:2], HASHED], ids=lambda m: type(m).__name__)
def test_so_do_those_of_noisy_answers(m: Any) -> None:
    rng, ask = np.random.default_rng(0), Cells(len(m.questions), np.array([5]))
    firsts = [[(ask, (first + start) % m.users) for start in (0, 47, 48)] for first in rng.integers(m.users, size=60).tolist()]
    parted = [answered(m, PARTS, rng, questions)[0] for questions in firsts]
    alone = [ask.of(m.answers(m.collect(DATA, rng)))[0] for _ in range(60)]
    assert stats.ks_2samp(parted, alone).pvalue > LEVEL
    assert 0.55 < np.std(parted) / np.std(alone) < 1.8


LAPLACE = [
    BucketHeavyHitter(16, rows=5, trials=2, scale=Fraction(3)), GlpsHeavyHitter(16, 3, rows=3, buckets=4, scale=Fraction(2)),
    JLHeavyHitter(16, rows=32, scale=Fraction(2)), FreshProjections(16, rows=4, scale=Fraction(2)),
    FreshProducts(16, rows=4, scale=Fraction(2)),
]  # fmt: skip


@pytest.mark.parametrize("m", LAPLACE, ids=lambda m: type(m).__name__)
def test_sums_of_noisy_reports_are_those_of_all_users(m: Any) -> None:
    quiet = replace(m, scale=Fraction(1, 10**9))
    alone, parted = quiet.run(DATA, np.random.default_rng(0)), run(quiet, Partition(tuple(PARTS)), seed=1)
    if isinstance(alone, dict):
        assert parted.keys() == alone.keys()
        alone, parted = list(alone.values()), list(parted.values())
    np.testing.assert_allclose(parted, alone, atol=1e-5)
    for part in PARTS[::2]:
        rng, held = np.random.default_rng(2), quiet.answer((), part, np.random.default_rng(1))
        noise = np.array([m.answer((), part, rng) for _ in range(400)]) - held
        # Of a count or a measurement: a Laplace noise per user, of which the variance is twice the square of the scale.
        assert np.mean(noise**2) == pytest.approx(2 * float(m.scale) ** 2 * part.users, rel=0.15)


def test_shuffled_messages_are_counted_part_by_part() -> None:
    m = ShuffledHeavyHitters(users=100, domain=16, tau=3, rho=2, threshold=50)

    def found(way: Callable[[], Any]) -> float:
        try:
            return float(way().get(5, 0.0))
        except Unsupported:  # where luck keeps too many prefixes
            return -1.0

    rng = np.random.default_rng(2)
    ways = (lambda: m.run(DATA, rng), lambda: once(m, PARTS, rng))
    laws = [[found(way) for _ in range(40)] for way in ways]
    assert stats.ks_2samp(*laws).pvalue > LEVEL
    assert len(set(laws[1])) > 10


SYSTEMS: list[Any] = [
    *(kind.for_epsilon(4, users=100, domain=1 << 12, top=4, width=3) for kind in (PrefixExtending, SignPrefixExtending)),
    *LAPLACE, *(replace(m, users=100) for m in (*ASKED, HASHED, *SIGNS)),
    ShuffledHeavyHitters(users=100, domain=16, tau=14, rho=1, threshold=25),
]  # fmt: skip


@pytest.mark.parametrize("m", SYSTEMS, ids=lambda m: type(m).__name__)
def test_every_system_goes_on_from_its_checkpoint_bit_by_bit(m: Any, tmp_path: Any) -> None:
    m = replace(m, p=Fraction(999, 1000)) if hasattr(m, "questions") and not isinstance(m, HashedAnswers) else m
    data, told = Partition.of_counts([{str(x): n for x, n in part.items()} for part in USERS]), list[int]()
    alone, stop = run(m, data, 3), Mock(side_effect=UnpluggedError)
    raises(UnpluggedError, None, run, m, data, 3, Execution(checkpoint=tmp_path / "run", progress=stop))
    again = run(m, data, 3, Execution(checkpoint=tmp_path / "run", progress=lambda answers, _: told.append(answers)))
    assert told[0] == 2
    assert repr(again) == repr(alone)


@pytest.mark.parametrize("m", SYSTEMS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("value", [-1, 1 << 64, "word", 2.5])
def test_what_is_no_value_of_a_system_is_refused_in_a_line(m: Any, value: Any) -> None:
    held = Partition((Counts.of({value: 1, 5: 99}),))
    raises(ValueError, r"needs (an input|inputs|integers|values|at least one user)", run, m, held)


def test_more_users_than_a_system_has_places_for_are_refused() -> None:
    for m in SYSTEMS[-3:]:
        raises(ValueError, r"needs .*users.*200", run, m, Partition.of_counts([{5: 200}]))


@pytest.mark.parametrize("kind", [TreeHistogram, SplitBitstogram, ExpanderSketch])
def test_systems_that_name_values_name_the_frequent_ones_over_parts_too(kind: Any) -> None:
    m = kind.for_epsilon(6, users=30_000, domain=1 << 24, **({"name": 3} if kind is ExpanderSketch else {}))
    parts = [{777: 9000, 1_234_567: 1000}, {1_234_567: 9000}, {1000 + 3 * i: 1 for i in range(11_000)}]
    data = Partition.of_counts(parts)
    alone = run(m, data, seed=1)
    assert list(alone) == [777, 1_234_567] or list(alone) == [1_234_567, 777]
    assert all(abs(alone[x] - held) <= m.least_count(30_000) for x, held in ((777, 9000), (1_234_567, 10_000)))
    with ThreadPoolExecutor(2) as pool:
        assert run(m, data, 1, Execution(pool)) == alone


@pytest.mark.parametrize("m", [*ASKED, HASHED, *SIGNS], ids=lambda m: type(m).__name__)
def test_users_of_different_parts_have_different_public_vectors(m: Any) -> None:
    questions = next(m.centre([part.users for part in PARTS], np.random.default_rng(0)))
    places = [each[1] if isinstance(each, tuple) else each for each in questions]
    assert [(place - places[0]) % m.users for place in places] == [0, 47, 48]


def test_a_checkpoint_tells_systems_apart_whose_parameters_are_printed_alike(tmp_path: Any) -> None:
    m, other = (replace(SIGNS[0], users=100, p=Fraction(3, 4) + Fraction(i, 1 << 60)) for i in (1, 2))
    data = Partition(tuple(PARTS))
    assert str(other) == str(m)
    run(m, data, 0, Execution(checkpoint=tmp_path / "run"))
    raises(ValueError, "needs the checkpoint of this run", run, other, data, 0, Execution(checkpoint=tmp_path / "run"))
