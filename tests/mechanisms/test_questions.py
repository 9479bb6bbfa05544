"""Users who answer public questions with randomized signs: columns, laws and counts, against the definitions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpaudit.mechanisms.shared.linear_codes.gf2 import images
from ldpaudit.mechanisms.shared.public_questions.questions import Asked, PartitionedSign, SplitSigns
from ldpaudit.mechanisms.shared.public_questions.server_queries import Decoding, Question

QUESTIONS: tuple[Question, ...] = ((0b0011, 0b0101), (1 << 63, 0b1000, 0b1001))


class Two(Asked):
    """Two questions about 64 bits; nothing is named."""

    title = "two questions"

    @property
    def questions(self) -> tuple[Question, ...]:
        return QUESTIONS

    def decoding(self, users: int) -> Decoding:
        return self.counted([], 0.0)


@dataclass(frozen=True)
class Parted(PartitionedSign, Two):
    users: int
    domain: int = 1 << 64
    p: Fraction = Fraction(3, 4)
    share: Fraction = Fraction(1, 2)
    seed: int = 0
    index: int = 0


@dataclass(frozen=True)
class Both(SplitSigns, Two):
    users: int
    domain: int = 1 << 64
    p: Fraction = Fraction(3, 4)
    q: Fraction = Fraction(2, 3)
    seed: int = 0
    index: int = 0


class Small(Both):
    @property
    def questions(self) -> tuple[Question, ...]:
        return (self.whole,)


KINDS = (Parted, Both)


@pytest.mark.parametrize("kind", KINDS)
def test_no_sign_is_the_same_for_all_values(kind: type[Asked]) -> None:
    m = kind(users=1 << 40)  # type: ignore[call-arg]
    assert np.all(m.columns(np.arange(20_000)))  # type: ignore[attr-defined]


def test_a_sign_is_that_of_the_cell_in_the_users_column() -> None:
    m, x = Parted(users=5_000), np.random.default_rng(0).integers(0, 1 << 64, 5_000, dtype=np.uint64)
    index = np.arange(5_000)
    views = np.stack([index, m.signs(x, index)], axis=-1)
    groups = m.groups(index)
    for group, each in enumerate(m.answers(views)):
        pairs = zip(images(each.question, x[groups == group]).tolist(), each.columns.tolist(), strict=True)
        odd = [((cell & r) % (1 << 64)).bit_count() % 2 for cell, r in pairs]
        assert each.signs.tolist() == [1 - 2 * one for one in odd]


@pytest.mark.parametrize("kind", KINDS)
@given(index=st.integers(0, (1 << 40) - 1), domain=st.integers((1 << 63) + 1, 1 << 64))
def test_two_values_have_opposite_signs_in_all_that_a_user_tells(kind: type[Asked], index: int, domain: int) -> None:
    m = kind(users=1 << 40, domain=domain, index=index)  # type: ignore[call-arg]
    first, second = m.apart  # type: ignore[attr-defined]
    assert all(x in m.inputs for x in (first, second))
    laws = [m.law(x) for x in (first, second)]
    views = list(laws[0].views())
    top = max(views, key=laws[0].probability)
    assert laws[1].probability(top) == min(map(laws[1].probability, views))
    assert sum(map(laws[0].probability, views)) == 1


@pytest.mark.parametrize("domain", [2, 3, 5, 9, 11, 23, 64])
def test_the_typical_values_have_each_pair_of_signs_that_some_value_has_once(domain: int) -> None:
    for index in range(8):
        m = Small(users=1 << 40, domain=domain, index=index)
        signs = m.signs(np.arange(domain), np.full(domain, index))
        assert sorted(map(tuple, signs[list(m.typical)].tolist())) == sorted(set(map(tuple, signs.tolist())))


def test_values_of_64_bits_have_four_typical_ones_wherever_two_columns_differ() -> None:
    for index in range(50):
        m = Both(users=1 << 40, index=index)
        assert len({str(list(m.law(x).items())) for x in m.typical}) == len(m.typical) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_counts_of_cells_are_unbiased_over_seeds(kind: type[Asked]) -> None:
    data = np.array([5] * 300 + [(1 << 63) + 8] * 100 + [77] * 200, dtype=np.uint64)
    rng, found = np.random.default_rng(3), []
    for seed in range(300):
        m = kind(users=600, seed=seed)  # type: ignore[call-arg]
        told = m.answers(m.collect(data, rng))
        found.append([*told[0].counts(), *told[1].counts(), *told[2].counts_of([5, (1 << 63) + 8, 6])])
    truth = [*(np.bincount(images(q, data), minlength=1 << len(q)) for q in QUESTIONS), np.array([300, 100, 0])]
    mean, off = np.mean(found, axis=0), np.std(found, axis=0) / len(found) ** 0.5
    assert np.all(np.abs(mean - np.concatenate(truth)) < 4.5 * off)


def test_some_cells_are_counted_as_all_are() -> None:
    m, rng = Parted(users=3_000), np.random.default_rng(4)
    told = m.answers(m.collect(rng.integers(0, 1 << 64, 3_000, dtype=np.uint64), rng))
    for each in told[:2]:
        assert np.allclose(each.counts(), each.counts_of(np.arange(1 << each.rank)))


def test_values_on_both_sides_of_half_the_domain_keep_their_bits() -> None:
    m = Parted(users=10)
    values = [1, (1 << 63) + 3, (1 << 64) - 1]
    assert [int(v) % (1 << 64) for v in m._vectors(values)] == values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("x", [-1, 1 << 64, "7", 0.5, None, (7,)], ids=str)
def test_what_is_no_value_of_a_domain_that_no_list_holds_is_refused_at_once(kind: type[Asked], x: object) -> None:
    m = kind(users=5)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"needs an input among \{0, 1, \.\.\., 18446744073709551615\}, got"):
        m.require_input(x)
    m.require_input(np.int64(1 << 61))


@pytest.mark.parametrize("kind", KINDS)
def test_data_with_what_is_no_value_are_refused_also_where_no_array_holds_them(kind: type[Asked]) -> None:
    m = kind(users=5)  # type: ignore[call-arg]
    for data in ([3, -1], [3, 1 << 64], [(1 << 64) - 1, -1]):
        with pytest.raises(ValueError, match="needs inputs in range"):
            m.run(data, np.random.default_rng(0))
